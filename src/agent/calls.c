/* A round that the model has finished: its items in order, the gateway's calls run, what was held back given out.
 * Thread: the loop's; calls run in fibers of their own, which have ended when this returns. */
#include "rounds.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/banned.h"

/* ---- running calls ---- */

struct batch {
  struct run *run;
  size_t next;      /* the slot to look at next */
  unsigned running; /* helpers */
  struct mf_fiber *owner;
};

/* The next call that nobody has begun; NULL: none. */
static struct slot *take_call(struct batch *b)
{
  while (b->next < b->run->slot_n) {
    struct slot *s = &b->run->slots[b->next++];
    if (s->call && !s->is_refused)
      return s;
  }
  return NULL;
}

static enum mf_code work(struct batch *b, struct mf_fiber *self)
{
  struct slot *s;
  enum mf_code code = MF_OK;
  while (!code && (s = take_call(b)))
    code = mf_gateway_call_run(s->call, self);
  return code;
}

/* A helper that is cancelled has a batch that is cancelled. */
static void help(void *user)
{
  struct batch *b = user;
  enum mf_code code = work(b, mf_fiber_self(b->run->t.agent->loop));
  (void)code;
  b->running--;
  mf_fiber_wake(b->owner);
}

#define HELPERS_MAX 64u

/* The turn's own fiber works too, so that one call needs no other, and a helper that cannot be started is only slower.
 */
static bool run_calls(struct run *run, size_t call_n)
{
  struct mf_fiber *helpers[HELPERS_MAX];
  struct batch b = { .run = run, .owner = run->t.self };
  size_t helper_n = 0, want = MF_MIN(call_n, (size_t)run->t.agent->config.concurrent_calls);
  while (helper_n < HELPERS_MAX && helper_n + 1 < want &&
         mf_fiber_start(run->t.agent->loop, help, &b, 0, &helpers[helper_n], NULL) == MF_OK) {
    helper_n++;
    b.running++;
  }
  enum mf_code code = work(&b, run->t.self);
  while (!code && b.running > 0)
    code = mf_fiber_wait(run->t.self, 0);
  for (size_t i = 0; i < helper_n && code; i++)
    mf_fiber_cancel(helpers[i]);
  for (size_t i = 0; i < helper_n; i++)
    mf_fiber_join(run->t.self, helpers[i]);
  return code ? run_cancel(run) : true;
}

/* ---- a round's calls ---- */

static struct mf_tool_call call_of(const struct slot *s, const struct mf_acc_item *item)
{
  return (struct mf_tool_call){ mf_str_of(s->id), item->call_id, item->name, item->arguments, s->index };
}

/* How many there are. Those over max_tool_calls are refused here. */
static size_t open_calls(struct run *run)
{
  size_t n = 0;
  uint64_t max = run->t.r->max_tool_calls;
  for (size_t i = 0; i < run->slot_n; i++) {
    struct slot *s = &run->slots[i];
    if (s->kind != SLOT_GATEWAY)
      continue;
    const struct mf_tool_call call = call_of(s, slot_item(run, s));
    s->call = mf_gateway_call_new(&run->t.agent->tools, s->binding, &call);
    n++;
    if (run->dispatched < max) {
      run->dispatched++;
      run->t.agent->stats.gateway_calls++;
      continue;
    }
    char text[80];
    int len = snprintf(text, sizeof(text), "UserError: Reached tool call limit of %llu", (unsigned long long)max);
    s->is_refused = true;
    mf_gateway_call_refuse(s->call, (struct mf_str){ text, (size_t)len });
  }
  return n;
}

static bool start_call(struct run *run, struct slot *s)
{
  struct mf_err err = { 0 };
  const struct mf_event_sink sink = deliver_sink(run);
  if (!run->sink)
    return true;
  s->is_added = true;
  return deliver_begin(run) && deliver_check(run, mf_gateway_call_emit_start(s->call, &sink, &err), &err);
}

static bool end_call(struct run *run, struct slot *s)
{
  struct mf_err err = { 0 };
  const struct mf_event_sink sink = deliver_sink(run);
  if (!run->sink)
    return true;
  if (!s->is_added && !start_call(run, s))
    return false;
  s->is_done = true;
  return deliver_check(run, mf_gateway_call_emit_end(s->call, &sink, &err), &err);
}

static bool show_client(struct run *run, struct slot *s)
{
  struct mf_err err = { 0 };
  const struct mf_event_sink sink = deliver_sink(run);
  const struct mf_tool_call call = call_of(s, slot_item(run, s));
  if (!run->sink)
    return true;
  s->is_done = true;
  return deliver_begin(run) &&
         deliver_check(run, mf_tool_emit_client(s->binding, run->t.toolset, &call, &sink, &err), &err);
}

/* Everything that the client has not seen of one item. */
static bool show(struct run *run, struct slot *s)
{
  struct mf_str json;
  switch (s->kind) {
  case SLOT_GATEWAY:
    return s->is_done || end_call(run, s);
  case SLOT_CLIENT:
    return s->is_done || show_client(run, s);
  case SLOT_PLAIN:
  case SLOT_UNNAMED:
    json = slot_item(run, s)->json;
    return slot_json(run, s, FORM_DONE, &json) && deliver_rest(run, s, json);
  }
  return true;
}

/* The leading run: the first gateway call and those that follow it without a gap. Its opening events go out before it
 * is executed, unless something that is held back comes before it. */
static bool start_leading(struct run *run, size_t *ret_from, size_t *ret_to)
{
  size_t from = 0;
  while (from < run->slot_n && run->slots[from].kind != SLOT_GATEWAY && run->slots[from].kind != SLOT_CLIENT)
    from++;
  size_t to = from;
  while (to < run->slot_n && run->slots[to].kind == SLOT_GATEWAY)
    to++;
  *ret_from = from;
  *ret_to = to;
  if (from == to)
    return true;
  for (size_t i = 0; i < from; i++)
    if (!show(run, &run->slots[i]))
      return false;
  for (size_t i = from; i < to; i++)
    if (!start_call(run, &run->slots[i]))
      return false;
  return true;
}

static bool play(struct run *run)
{
  size_t call_n = open_calls(run), from = 0, to = 0;
  if (!start_leading(run, &from, &to))
    return false;
  if (call_n > 0 && !run_calls(run, call_n))
    return false;
  for (size_t i = from; i < to; i++)
    if (!end_call(run, &run->slots[i]))
      return false;
  for (size_t i = 0; i < run->slot_n; i++)
    if (!show(run, &run->slots[i]))
      return false;
  return true;
}

/* ---- what is kept ---- */

static bool keep(struct run *run, struct turn_items *l, const struct mf_store_item *item)
{
  size_t max = run->t.agent->config.retained_max;
  if (turn_items_add(l, max, item, NULL) == MF_OK)
    return true;
  return run_fail_limit(run, 500, "retained response exceeded %zu bytes", max);
}

/* The model ran out of tokens inside the call: nobody can answer it, and no server could read it again. */
static bool is_unfinished(const struct mf_acc_item *item)
{
  static const struct mf_json_limits limits = { .bytes_max = SIZE_MAX, .depth_max = 1024 };
  mf_auto_json struct mf_json *doc = NULL;
  if (mf_json_parse(item->json, &limits, &doc, NULL) != MF_OK)
    return false;
  const struct mf_json_val *status = mf_json_get(mf_json_root(doc), "status");
  return mf_json_type_of(status) == MF_JSON_STR && mf_str_is(mf_json_str(status), "incomplete");
}

static bool keep_output(struct run *run, struct slot *s)
{
  const struct mf_acc_item *item = slot_item(run, s);
  struct mf_store_item kept = { .id = mf_str_of(s->id), .is_public = true };
  mf_auto_buf struct mf_buf text;
  mf_buf_init(&text, run->t.agent->config.event_max);
  struct mf_json_writer w;
  mf_jw_init(&w, &text, false);
  switch (s->kind) {
  case SLOT_PLAIN:
  case SLOT_UNNAMED:
    kept.json = item->json;
    kept.is_gateway_code = s->is_call && is_unfinished(item); /* shown, and never replayed */
    return slot_json(run, s, FORM_RESPONSE, &kept.json) && keep(run, &run->t.outputs, &kept);
  case SLOT_GATEWAY:
    kept.id = mf_gateway_call_item_id(s->call);
    kept.is_gateway_code = true;
    mf_gateway_call_write_item(s->call, &w);
    break;
  case SLOT_CLIENT: {
    const struct mf_tool_call call = call_of(s, item);
    mf_tool_write_client_item(s->binding, run->t.toolset, &call, "completed", &w);
    break;
  }
  }
  if (w.code)
    return run_fail_limit(run, 500, "an item exceeded %zu bytes", text.max);
  kept.json = mf_buf_str(&text);
  return keep(run, &run->t.outputs, &kept);
}

/* The model's call as it made it. */
static bool keep_call(struct run *run, struct slot *s)
{
  const struct mf_acc_item *item = slot_item(run, s);
  struct mf_store_item kept = { .id = mf_str_of(s->id), .json = item->json, .is_input = true };
  return slot_json(run, s, FORM_OPEN, &kept.json) && keep(run, &run->t.inputs, &kept);
}

static bool keep_result(struct run *run, struct slot *s)
{
  mf_auto_buf struct mf_buf text;
  mf_buf_init(&text, run->t.agent->config.event_max);
  struct mf_json_writer w;
  mf_jw_init(&w, &text, false);
  mf_jw_obj(&w);
  mf_jw_kstrz(&w, "type", "function_call_output");
  mf_jw_kstr(&w, "call_id", slot_item(run, s)->call_id);
  mf_jw_kstr(&w, "output", mf_gateway_call_output(s->call));
  mf_jw_obj_end(&w);
  if (w.code)
    return run_fail_limit(run, 500, "the output of a tool exceeded %zu bytes", text.max);
  const struct mf_store_item kept = { .json = mf_buf_str(&text), .is_input = true };
  return keep(run, &run->t.inputs, &kept);
}

/* ---- the round ---- */

/* Items that no event told of come last. */
static void add_missing(struct run *run)
{
  run->item_n = mf_acc_items(run->acc, &run->items);
  for (size_t i = 0; i < run->item_n; i++) {
    struct slot *s = slot_find(run, run->items[i].upstream_index);
    s = s ? s : slot_add(run, &run->items[i]);
    s->item = i;
  }
  for (size_t i = 0; i < run->slot_n; i++)
    if (run->slots[i].kind == SLOT_UNNAMED)
      slot_name(&run->slots[i], run, slot_item(run, &run->slots[i]));
}

/* After a failure nobody answers a call: those that the client has not seen are dropped, so that the indices of what is
 * left stay dense. */
static bool settle_failed(struct run *run)
{
  uint32_t index = (uint32_t)run->t.outputs.item_n;
  for (size_t i = 0; i < run->slot_n; i++) {
    struct slot *s = &run->slots[i];
    if (s->kind == SLOT_GATEWAY || s->kind == SLOT_CLIENT || (s->is_call && s->is_held))
      continue;
    s->index = index++;
    if (!show(run, s) || !keep_output(run, s))
      return false;
  }
  return true;
}

static bool check_withheld(struct run *run)
{
  for (size_t i = 0; i < run->slot_n; i++) {
    struct slot *s = &run->slots[i];
    if (!s->is_call || !s->binding.is_withheld)
      continue;
    struct mf_str name = slot_item(run, s)->name;
    return run_fail(run, 502, "tool_error", "tool_error",
                    "tool error: the model called '%.*s', which no tool search has loaded yet",
                    (int)MF_MIN(name.len, 64u), name.ptr);
  }
  return true;
}

bool round_settle(struct run *run, bool *ret_client, size_t *ret_gateway)
{
  add_missing(run);
  if (run->state == MF_UPSTREAM_FAILED || run->state == MF_UPSTREAM_OPEN)
    return settle_failed(run);
  if (!check_withheld(run) || !play(run))
    return false;
  for (size_t i = 0; i < run->slot_n; i++) {
    struct slot *s = &run->slots[i];
    *ret_client = *ret_client || (s->is_call && s->kind != SLOT_GATEWAY);
    *ret_gateway += s->kind == SLOT_GATEWAY;
    if ((s->kind == SLOT_GATEWAY && !keep_call(run, s)) || !keep_output(run, s))
      return false;
  }
  for (size_t i = 0; i < run->slot_n; i++)
    if (run->slots[i].kind == SLOT_GATEWAY && !keep_result(run, &run->slots[i]))
      return false;
  return true;
}

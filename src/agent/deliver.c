/* Events to the client: numbers, indices and ids of our own, and what has to wait for its turn. An upstream event is
 * neither parsed nor written a second time where its members can be taken as they are. Thread: the loop's. */
#include "members.h"
#include "rounds.h"

#include "base/banned.h"

/* ---- one event ---- */

static bool fail_event(struct run *run)
{
  return run_fail_limit(run, 500, "stream event exceeded %zu bytes", run->t.agent->config.event_max);
}

static enum mf_code put(struct mf_buf *b, struct mf_str s)
{
  return mf_buf_append_str(b, s);
}

/* A type is a word, but it is upstream's: it may be anything. */
static enum mf_code put_type(struct mf_buf *b, struct mf_str type)
{
  struct mf_json_writer w;
  mf_jw_init(&w, b, false);
  mf_jw_str(&w, type);
  return w.code;
}

/* Some microseconds are all that an event may cost, and printf takes a good part of one. */
static enum mf_code put_number(struct mf_buf *b, struct mf_str key, uint64_t n)
{
  char digits[20];
  size_t at = sizeof(digits);
  do
    digits[--at] = (char)('0' + n % 10);
  while (n /= 10);
  enum mf_code code = put(b, key);
  return code ? code : mf_buf_append(b, digits + at, sizeof(digits) - at);
}

static enum mf_code put_event(struct run *run, struct mf_str type, int64_t index, struct mf_str members)
{
  struct mf_buf *b = &run->frame;
  mf_buf_truncate(b, 0);
  enum mf_code code = put(b, MF_STR("{\"type\":"));
  if (!code)
    code = put_type(b, type);
  if (!code)
    code = put_number(b, MF_STR(",\"sequence_number\":"), run->sequence);
  if (!code && index >= 0)
    code = put_number(b, MF_STR(",\"output_index\":"), (uint64_t)index);
  if (!code)
    code = put(b, members);
  return code ? code : put(b, MF_STR("}"));
}

bool deliver(struct run *run, struct mf_str type, int64_t index, struct mf_str members)
{
  if (!run->sink)
    return true;
  if (run->is_over)
    return false;
  if (put_event(run, type, index, members) != MF_OK)
    return fail_event(run);
  run->sequence++;
  if (run->sink->event(run->sink->user, type, mf_buf_str(&run->frame), NULL) != MF_OK)
    return run_cancel(run);
  return true;
}

static enum mf_code emit(void *user, const char *type, int64_t output_index, struct mf_str members, struct mf_err *err)
{
  return deliver(user, mf_str_of(type), output_index, members) ? MF_OK : MF_E_CANCELLED;
}

struct mf_event_sink deliver_sink(struct run *run)
{
  return (struct mf_event_sink){ run, emit };
}

bool deliver_check(struct run *run, enum mf_code code, const struct mf_err *err)
{
  if (!code || run->is_over)
    return !code;
  if (code == MF_E_LIMIT)
    return fail_event(run);
  return run_fail(run, 500, "server_error", "server_error", "Internal server error");
}

/* {"type":"error","sequence_number","status","error":{…}} as the contract has it; OpenAI's own types want code, message
 * and param beside them. */
void deliver_error(struct run *run)
{
  const struct mf_api_error *e = &run->ret->error;
  mf_auto_buf struct mf_buf text;
  mf_buf_init(&text, 16384);
  struct mf_json_writer w;
  mf_jw_init(&w, &text, false);
  mf_api_error_write(e, &w);
  enum mf_code code = w.code;

  struct mf_buf *b = &run->frame;
  mf_buf_truncate(b, 0);
  if (!code)
    code = mf_buf_printf(b, "{\"type\":\"error\",\"sequence_number\":%llu,\"status\":%d,",
                         (unsigned long long)run->sequence, e->status);
  if (!code) /* {"error":{…}} without its brackets */
    code = put(b, (struct mf_str){ text.ptr + 1, text.len - 2 });
  mf_buf_truncate(&text, 0);
  mf_jw_init(&w, &text, false);
  mf_jw_obj(&w);
  mf_jw_kstrz(&w, "code", e->code);
  mf_jw_kstrz(&w, "message", e->message);
  mf_jw_kstrz(&w, "param", e->has_param ? e->param : NULL);
  mf_jw_obj_end(&w);
  code = code ? code : w.code;
  if (!code)
    code = put(b, MF_STR(","));
  if (!code)
    code = put(b, (struct mf_str){ text.ptr + 1, text.len - 1 });
  if (code)
    return;
  run->sequence++;
  if (run->sink->event(run->sink->user, MF_STR("error"), mf_buf_str(b), NULL) == MF_OK)
    run->ret->is_sent = true;
  else
    run->ret->end = MF_TURN_CANCELLED;
}

/* ---- the beginning ---- */

static bool deliver_lifecycle(struct run *run, struct mf_str type, const struct mf_json_val *response)
{
  struct mf_buf *b = &run->members;
  mf_buf_truncate(b, 0);
  if (put(b, MF_STR(",\"response\":")) != MF_OK)
    return fail_event(run);
  bool ok = response ? payload_write_lifecycle(run, response, b) : payload_write(run, "in_progress", b);
  return ok && deliver(run, type, -1, mf_buf_str(b));
}

static bool deliver_created(struct run *run, const struct mf_json_val *response)
{
  if (run->sent_created)
    return true;
  run->sent_created = true;
  return deliver_lifecycle(run, MF_STR("response.created"), response);
}

static bool deliver_in_progress(struct run *run, const struct mf_json_val *response)
{
  if (run->sent_in_progress)
    return true;
  run->sent_in_progress = true;
  return deliver_lifecycle(run, MF_STR("response.in_progress"), response);
}

bool deliver_begin(struct run *run)
{
  return !run->sink || (deliver_created(run, NULL) && deliver_in_progress(run, NULL));
}

/* ---- what waits ---- */

struct held_head {
  size_t type_len, members_len;
};

static bool hold(struct run *run, struct slot *s, struct mf_str type, struct mf_str members)
{
  const struct held_head h = { type.len, members.len };
  size_t before = s->held.len;
  enum mf_code code = mf_buf_append(&s->held, &h, sizeof(h));
  if (!code)
    code = put(&s->held, type);
  if (!code)
    code = put(&s->held, members);
  run->held_bytes += s->held.len - before;
  if (code || run->held_bytes > run->t.agent->config.event_max)
    return run_fail_limit(run, 500, "events that wait for a tool exceeded %zu bytes", run->t.agent->config.event_max);
  return true;
}

static bool hold_or_deliver(struct run *run, struct slot *s, struct mf_str type, struct mf_str members)
{
  return s->is_held ? hold(run, s, type, members) : deliver(run, type, s->index, members);
}

static bool release(struct run *run, struct slot *s)
{
  size_t at = 0;
  while (at < s->held.len) {
    struct held_head h;
    memcpy(&h, s->held.ptr + at, sizeof(h));
    const char *type = s->held.ptr + at + sizeof(h);
    at += sizeof(h) + h.type_len + h.members_len;
    if (!deliver(run, (struct mf_str){ type, h.type_len }, s->index,
                 (struct mf_str){ type + h.type_len, h.members_len }))
      return false;
  }
  run->held_bytes -= s->held.len;
  mf_buf_done(&s->held);
  s->is_held = false;
  return true;
}

/* ---- items that upstream did not open or close ---- */

/* The members of an item that has just been opened. */
static void write_opening(struct mf_json_writer *w, const struct mf_json_val *item)
{
  static const struct {
    const char *key;
    struct mf_str value;
  } rows[] = {
    { "status", MF_STR("\"in_progress\"") }, { "content", MF_STR("[]") }, { "summary", MF_STR("[]") },
    { "arguments", MF_STR("\"\"") },         { "input", MF_STR("\"\"") }, { "code", MF_STR("\"\"") },
    { "outputs", MF_STR("null") },
  };
  mf_jw_obj(w);
  struct mf_json_iter it = mf_json_iter(item);
  while (mf_json_next(&it)) {
    if (memchr(it.key.ptr, 0, it.key.len))
      continue;
    mf_jw_key(w, it.key.ptr);
    size_t i = 0;
    while (i < MF_ARRAY_N(rows) && !mf_str_is(it.key, rows[i].key))
      i++;
    if (i < MF_ARRAY_N(rows) && mf_json_type_of(it.val) != MF_JSON_NULL)
      mf_jw_raw(w, rows[i].value);
    else
      mf_jw_val(w, it.val);
  }
  mf_jw_obj_end(w);
}

static bool add_opening(struct run *run, struct slot *s, struct mf_str json)
{
  static const struct mf_json_limits limits = { .bytes_max = SIZE_MAX, .depth_max = 1024 };
  mf_auto_json struct mf_json *doc = NULL;
  mf_auto_buf struct mf_buf text;
  mf_buf_init(&text, run->t.agent->config.event_max);
  if (mf_json_parse(json, &limits, &doc, NULL) != MF_OK)
    return run_fail(run, 500, "server_error", "server_error", "Internal server error");
  struct mf_json_writer w;
  enum mf_code code = put(&text, MF_STR(",\"item\":"));
  mf_jw_init(&w, &text, false);
  write_opening(&w, mf_json_root(doc));
  if (code || w.code)
    return fail_event(run);
  s->is_added = true;
  return hold_or_deliver(run, s, MF_STR("response.output_item.added"), mf_buf_str(&text));
}

bool deliver_rest(struct run *run, struct slot *s, struct mf_str json)
{
  if (!run->sink)
    return true;
  if (!deliver_begin(run))
    return false;
  s->is_held = s->is_held && s->held.len > 0;
  if (s->is_held && !release(run, s))
    return false;
  if (!s->is_added && !add_opening(run, s, json))
    return false;
  if (s->is_done)
    return true;
  s->is_done = true;
  mf_buf_truncate(&run->members, 0);
  if (put(&run->members, MF_STR(",\"item\":")) != MF_OK || put(&run->members, json) != MF_OK)
    return fail_event(run);
  return deliver(run, MF_STR("response.output_item.done"), s->index, mf_buf_str(&run->members));
}

/* ---- upstream events ---- */

static bool deliver_item_event(struct run *run, const struct mf_acc_event *e, struct mf_str data)
{
  struct slot *s = slot_find(run, e->item->upstream_index);
  s = s ? s : slot_add(run, e->item);
  if (s->kind == SLOT_UNNAMED)
    slot_name(s, run, e->item);
  if (s->kind == SLOT_GATEWAY || s->kind == SLOT_CLIENT)
    return true;
  struct mf_str json = e->item->json;
  if ((e->opens || e->closes || !s->is_added) && !slot_json(run, s, e->closes ? FORM_DONE : FORM_OPEN, &json))
    return false;
  if (!e->opens && !s->is_added && !add_opening(run, s, json))
    return false;
  s->is_added = true;
  s->is_done = s->is_done || e->closes;
  struct mf_str item = e->opens || e->closes ? json : (struct mf_str){ 0 };
  mf_buf_truncate(&run->members, 0);
  if (members_write(&run->members, mf_json_root(e->doc), data, mf_str_of(s->id), item) != MF_OK)
    return fail_event(run);
  return hold_or_deliver(run, s, e->type, mf_buf_str(&run->members));
}

/* What is not of an open item: unknown, or too late. Its index, if any, is one of this round, and is left out where the
 * id says otherwise. */
static bool deliver_other(struct run *run, const struct mf_acc_event *e, struct mf_str data)
{
  const struct mf_json_val *root = mf_json_root(e->doc), *id = mf_json_get(root, "item_id");
  struct slot *s = e->has_index ? slot_find(run, e->upstream_index) : NULL;
  if (s && (s->kind == SLOT_GATEWAY || s->kind == SLOT_CLIENT))
    return true;
  if (s && id && (mf_json_type_of(id) != MF_JSON_STR || !mf_str_is(mf_json_str(id), s->id)))
    s = NULL;
  mf_buf_truncate(&run->members, 0);
  if (members_write(&run->members, root, data, (struct mf_str){ 0 }, (struct mf_str){ 0 }) != MF_OK)
    return fail_event(run);
  return s ? hold_or_deliver(run, s, e->type, mf_buf_str(&run->members))
           : deliver(run, e->type, -1, mf_buf_str(&run->members));
}

bool deliver_upstream(struct run *run, const struct mf_acc_event *e, struct mf_str data)
{
  const struct mf_json_val *response = e->doc ? mf_json_get(mf_json_root(e->doc), "response") : NULL;
  if (mf_json_type_of(response) != MF_JSON_OBJ)
    response = NULL;
  if (mf_str_is(e->type, "response.created"))
    return run->round > 0 || deliver_created(run, response);
  if (mf_str_is(e->type, "response.in_progress"))
    return run->round > 0 || (deliver_created(run, response) && deliver_in_progress(run, response));
  if (e->verdict != MF_ACC_DELIVER)
    return true;
  if (!deliver_begin(run))
    return false;
  if (e->item)
    return deliver_item_event(run, e, data);
  return deliver_other(run, e, data);
}

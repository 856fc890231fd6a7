/* The items of the round that is under way: whose they are, their place in `output`, their id, their form. Thread: the
 * loop's. */
#include "rounds.h"

#include <stdlib.h>

#include "base/banned.h"

static const struct mf_json_limits item_limits = { .bytes_max = SIZE_MAX, .depth_max = 1024 };

struct slot *slot_find(struct run *run, uint32_t upstream_index)
{
  /* Events speak of the newest item, as a rule. */
  for (size_t i = run->slot_n; i-- > 0;)
    if (run->slots[i].upstream_index == upstream_index)
      return &run->slots[i];
  return NULL;
}

static enum slot_kind kind_of(struct mf_tool_binding b)
{
  if (b.executor == MF_TOOL_GATEWAY)
    return SLOT_GATEWAY;
  return mf_tool_is_plain(b) ? SLOT_PLAIN : SLOT_CLIENT;
}

static bool has_id(const struct turn_items *l, struct mf_str id)
{
  for (size_t i = 0; i < l->item_n; i++)
    if (mf_str_eq(l->items[i].id, id))
      return true;
  return false;
}

/* Upstream may use an id again in each round; in one response it names one item. The gateway's calls of earlier rounds
 * are among the inputs. */
static void set_id(struct run *run, struct slot *s, struct mf_str id)
{
  s->is_renamed = has_id(&run->t.outputs, id) || (s->is_call && has_id(&run->t.inputs, id)) ||
                  (id.len > 0 && memchr(id.ptr, 0, id.len));
  if (!s->is_renamed) {
    s->id = mf_xasprintf("%.*s", MF_STR_ARG(id));
    return;
  }
  const char *end = memchr(id.ptr, '_', MF_MIN(id.len, (size_t)MF_ID_PREFIX_MAX - 1));
  char prefix[MF_ID_PREFIX_MAX + 1] = "item_";
  if (end) {
    size_t n = (size_t)(end - id.ptr) + 1;
    memcpy(prefix, id.ptr, n);
    prefix[n] = 0;
  }
  s->id = mf_xmalloc(MF_ID_N);
  mf_id_new(prefix, s->id);
}

struct slot *slot_add(struct run *run, const struct mf_acc_item *item)
{
  if (run->slot_n == run->slot_cap) {
    run->slot_cap = run->slot_cap ? run->slot_cap * 2 : 8;
    run->slots = mf_xrealloc(run->slots, run->slot_cap * sizeof(*run->slots));
  }
  struct slot *s = &run->slots[run->slot_n];
  *s = (struct slot){
    .kind = SLOT_PLAIN,
    .upstream_index = item->upstream_index,
    .index = (uint32_t)(run->t.outputs.item_n + run->slot_n),
    .is_call = mf_str_is(item->type, "function_call"),
    .is_reasoning = mf_str_is(item->type, "reasoning"),
  };
  run->slot_n++;
  mf_buf_init(&s->held, SIZE_MAX / 4);
  mf_buf_init(&s->shown, run->t.agent->config.event_max);
  set_id(run, s, item->id);
  if (s->is_call && item->name.len == 0)
    s->kind = SLOT_UNNAMED;
  else if (s->is_call)
    slot_name(s, run, item);
  run->is_holding = run->is_holding || s->kind != SLOT_PLAIN;
  s->is_held = run->is_holding;
  return s;
}

void slot_name(struct slot *s, const struct run *run, const struct mf_acc_item *item)
{
  if (item->name.len == 0)
    return;
  s->binding = mf_toolset_bind(run->t.toolset, item->name);
  s->kind = kind_of(s->binding);
}

void slots_clear(struct run *run)
{
  for (size_t i = 0; i < run->slot_n; i++) {
    free(run->slots[i].id);
    mf_gateway_call_free(run->slots[i].call);
    mf_buf_done(&run->slots[i].held);
    mf_buf_done(&run->slots[i].shown);
  }
  run->slot_n = run->item_n = run->held_bytes = 0;
  run->is_holding = false;
}

/* The members that a reasoning item, or a call, has in a response; upstream leaves some out. */
static void write_rest(struct mf_json_writer *w, const struct mf_json_val *item, bool is_reasoning, enum slot_form form)
{
  static const struct {
    const char *key, *otherwise;
    enum slot_form from;
    bool is_reasoning;
  } rows[] = {
    { "summary", "[]", FORM_DONE, true },
    { "content", "[]", FORM_RESPONSE, true },
    { "encrypted_content", "null", FORM_RESPONSE, true },
    { "status", "null", FORM_RESPONSE, true },
    { "status", "\"completed\"", FORM_DONE, false },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++)
    if (rows[i].is_reasoning == is_reasoning && form >= rows[i].from && !mf_json_get(item, rows[i].key)) {
      mf_jw_key(w, rows[i].key);
      mf_jw_raw(w, mf_str_of(rows[i].otherwise));
    }
}

bool slot_json(struct run *run, struct slot *s, enum slot_form form, struct mf_str *json)
{
  bool is_filled = form != FORM_OPEN && (s->is_reasoning || s->is_call);
  if (!s->is_renamed && !is_filled)
    return true;
  mf_auto_json struct mf_json *doc = NULL;
  if (mf_json_parse(*json, &item_limits, &doc, NULL) != MF_OK)
    return run_fail(run, 500, "server_error", "server_error", "Internal server error");
  struct mf_json_writer w;
  mf_buf_truncate(&s->shown, 0);
  mf_jw_init(&w, &s->shown, false);
  mf_jw_obj(&w);
  struct mf_json_iter it = mf_json_iter(mf_json_root(doc));
  while (mf_json_next(&it)) {
    mf_jw_key_str(&w, it.key);
    if (s->is_renamed && mf_str_is(it.key, "id"))
      mf_jw_strz(&w, s->id);
    else
      mf_jw_val(&w, it.val);
  }
  if (is_filled)
    write_rest(&w, mf_json_root(doc), s->is_reasoning, form);
  mf_jw_obj_end(&w);
  if (w.code)
    return run_fail_limit(run, 500, "an item exceeded %zu bytes", s->shown.max);
  *json = mf_buf_str(&s->shown);
  return true;
}

const struct mf_acc_item *slot_item(const struct run *run, const struct slot *s)
{
  return &run->items[s->item];
}

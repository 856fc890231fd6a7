/* How a turn begins: what was said before, the tools in force, and `input` as the model is given it. Thread: the
 * loop's, in the turn's fiber. Neighbours: storage, tools; item.c (forms), pending.c (open calls). */
#include "item.h"
#include "pending.h"
#include "references.h"
#include "turn-internal.h"

#include "base/log.h"
#include "base/time.h"
#include "base/utf8.h"
#include "base/banned.h"

#define REQUEST_ERROR "invalid_request_error"
/* A stored item is nested as deep as the request was that brought it, and stands in an array of ours. */
#define DEPTH_MAX 512u
/* An item of a tool becomes a text within a text for the model, with more escapes. */
#define GROWTH ((size_t)2)

static bool fail_server(const struct turn *t, const char *what, const struct mf_err *err, struct mf_api_error *e)
{
  mf_log_request(MF_LOG_ERROR, t->id, "%s: %s", what, err->msg);
  return mf_api_fail(e, 500, "server_error", "server_error", NULL, "Internal server error");
}

static bool fail_size(struct mf_api_error *e)
{
  return mf_api_fail(e, 413, REQUEST_ERROR, "body_too_large", NULL,
                     "the conversation is too large; begin a new one with less input");
}

/* ---- what was said before ---- */

static enum mf_code append_json(struct mf_buf *out, struct mf_str json)
{
  enum mf_code code = MF_OK;
  if (out->len > 1)
    code = mf_buf_append_str(out, MF_STR(","));
  return code ? code : mf_buf_append_str(out, json);
}

/* The chain's items as one array. Gateway-made interpreter items are for people: the call and its output, which the
 * model has seen in their place, are stored as inputs. */
static bool parse_items(const struct turn *t, const struct mf_store_response *r, struct mf_json **ret,
                        struct mf_api_error *e)
{
  struct mf_err err = { 0 };
  mf_auto_buf struct mf_buf text;
  mf_buf_init(&text, (size_t)MF_STORE_BYTES_MAX * 2);
  enum mf_code code = mf_buf_append_str(&text, MF_STR("["));
  for (size_t i = 0; i < r->item_n && !code; i++)
    if (!r->items[i].is_gateway_code)
      code = append_json(&text, r->items[i].json);
  if (!code)
    code = mf_buf_append_str(&text, MF_STR("]"));
  const struct mf_json_limits limits = { .bytes_max = text.max, .depth_max = DEPTH_MAX };
  if (code)
    return fail_size(e);
  return mf_json_parse(mf_buf_str(&text), &limits, ret, &err) == MF_OK || fail_server(t, "a stored item", &err, e);
}

/* {"tools":…,"tool_choice":…} as the parent had them in force. */
static bool parse_tools(struct turn *t, const struct mf_store_response *r, struct mf_api_error *e)
{
  struct mf_err err = { 0 };
  mf_auto_buf struct mf_buf text;
  mf_buf_init(&text, (size_t)MF_STORE_BYTES_MAX * 2);
  struct mf_json_writer w;
  mf_jw_init(&w, &text, false);
  mf_jw_obj(&w);
  mf_jw_key(&w, "tools");
  mf_jw_raw(&w, r->tools.len ? r->tools : MF_STR("null"));
  mf_jw_key(&w, "tool_choice");
  mf_jw_raw(&w, r->tool_choice.len ? r->tool_choice : MF_STR("null"));
  mf_jw_obj_end(&w);
  const struct mf_json_limits limits = { .bytes_max = text.max, .depth_max = DEPTH_MAX };
  if (w.code)
    return fail_size(e);
  return mf_json_parse(mf_buf_str(&text), &limits, &t->inherited, &err) == MF_OK ||
         fail_server(t, "stored tools", &err, e);
}

static bool fail_load(const struct turn *t, enum mf_code code, const struct mf_err *err, struct mf_api_error *e)
{
  struct mf_str id = t->r->previous_id;
  if (code == MF_E_NOT_FOUND)
    return mf_api_fail(e, 404, "not_found", "not_found", NULL, "storage error: not found: Response with id '%.*s'",
                       (int)mf_utf8_prefix(id, 200), id.ptr);
  return code == MF_E_LIMIT ? fail_size(e) : fail_server(t, "history", err, e);
}

/* *ret: the array of the chain's items. */
static bool load_past(struct turn *t, struct mf_json **ret, struct mf_api_error *e)
{
  struct mf_err err = { 0 };
  struct mf_stored *stored = NULL;
  enum mf_code code = mf_storage_get_history(t->agent->storage, t->self, t->r->previous_id, &stored, &err);
  if (code)
    return fail_load(t, code, &err, e);
  const struct mf_store_response *r = mf_stored_response(stored);
  bool is_ok = parse_items(t, r, ret, e) && parse_tools(t, r, e);
  mf_stored_free(stored);
  return is_ok;
}

/* ---- tools ---- */

/* What the client's own searches have found may be called. */
static bool load_found(struct mf_toolset *tools, const struct mf_json_val *items, struct mf_api_error *e)
{
  struct mf_json_iter it = mf_json_iter(mf_json_type_of(items) == MF_JSON_ARR ? items : NULL);
  while (mf_json_next(&it))
    if (mf_str_is(item_text(it.val, "type"), "tool_search_output") &&
        !mf_toolset_load(tools, mf_json_get(it.val, "tools"), e))
      return false;
  return true;
}

static const struct mf_json_val *inherited(const struct turn *t, const char *key)
{
  const struct mf_json_val *v = t->inherited ? mf_json_get(mf_json_root(t->inherited), key) : NULL;
  return mf_json_type_of(v) == MF_JSON_NULL ? NULL : v;
}

static bool choose(struct turn *t, struct mf_api_error *e)
{
  t->choice = t->r->choice;
  if (t->choice)
    return mf_toolset_check_choice(t->toolset, t->choice, e);
  /* The parent's choice may name what this request no longer declares; the client has not said it. */
  struct mf_api_error ignored;
  t->choice = inherited(t, "tool_choice");
  if (t->choice && !mf_toolset_check_choice(t->toolset, t->choice, &ignored))
    t->choice = NULL;
  return true;
}

static bool make_tools(struct turn *t, const struct mf_json_val *past, struct mf_api_error *e)
{
  t->tools = t->r->tools ? t->r->tools : inherited(t, "tools");
  return mf_toolset_new(&t->agent->tools, t->tools, &t->toolset, e) && load_found(t->toolset, past, e) &&
         load_found(t->toolset, t->sent, e) && choose(t, e);
}

/* ---- input ---- */

static enum mf_code append_model(struct turn *t, const struct mf_json_val *item)
{
  size_t was = t->input.len;
  enum mf_code code = was > 0 ? mf_buf_append_str(&t->input, MF_STR(",")) : MF_OK;
  struct mf_json_writer w;
  mf_jw_init(&w, &t->input, false);
  w.code = code;
  if (!item_write_model(item, &w) || w.code)
    mf_buf_truncate(&t->input, was);
  return w.code;
}

/* An id that is ours is not in the item itself: the model has never seen it. */
static enum mf_code keep(struct turn *t, const struct mf_json_val *item)
{
  const struct item_kind *k = item_kind_of(item);
  if (!k)
    return MF_OK;
  char made[MF_ID_N];
  struct mf_str id = item_text(item, "id");
  if (id.len == 0) {
    mf_id_new(item_class_of(k) == ITEM_MESSAGE ? "msg_" : "item_", made);
    id = mf_str_of(made);
  }
  mf_auto_buf struct mf_buf text;
  mf_buf_init(&text, MF_STORE_BYTES_MAX);
  struct mf_json_writer w;
  mf_jw_init(&w, &text, false);
  item_write_stored(item, &w);
  const struct mf_store_item stored = { .id = id, .json = mf_buf_str(&text), .is_input = true, .is_public = true };
  return w.code ? w.code : turn_items_add(&t->inputs, MF_STORE_BYTES_MAX, &stored, NULL);
}

static enum mf_code add_text(struct turn *t, struct mf_str text)
{
  mf_auto_buf struct mf_buf json;
  mf_buf_init(&json, MF_STORE_BYTES_MAX);
  struct mf_json_writer w;
  mf_jw_init(&w, &json, false);
  mf_jw_obj(&w);
  mf_jw_kstrz(&w, "type", "message");
  mf_jw_kstrz(&w, "role", "user");
  mf_jw_kstr(&w, "content", text);
  mf_jw_obj_end(&w);
  enum mf_code code = w.code;
  if (!code && t->input.len > 0)
    code = mf_buf_append_str(&t->input, MF_STR(","));
  if (!code)
    code = mf_buf_append_str(&t->input, mf_buf_str(&json));
  char id[MF_ID_N];
  mf_id_new("msg_", id);
  const struct mf_store_item stored = {
    .id = mf_str_of(id), .json = mf_buf_str(&json), .is_input = true, .is_public = true
  };
  return code ? code : turn_items_add(&t->inputs, MF_STORE_BYTES_MAX, &stored, NULL);
}

static enum mf_code write_input(struct turn *t, const struct mf_json_val *past)
{
  enum mf_code code = MF_OK;
  struct mf_json_iter it = mf_json_iter(past);
  while (!code && mf_json_next(&it))
    code = append_model(t, it.val);
  if (code)
    return code;
  if (mf_json_type_of(t->sent) == MF_JSON_STR)
    return add_text(t, mf_json_str(t->sent));
  it = mf_json_iter(t->sent);
  while (!code && mf_json_next(&it)) {
    code = append_model(t, it.val);
    if (!code)
      code = keep(t, it.val);
  }
  return code;
}

/* ---- the door ---- */

static bool begin(struct turn *t, struct mf_json **past, struct mf_api_error *e)
{
  const struct mf_json_val *items = NULL;
  if (t->r->previous_id.len > 0) {
    if (!load_past(t, past, e))
      return false;
    items = mf_json_root(*past);
  }
  if (!references_resolve(t, e) || !make_tools(t, items, e))
    return false;
  /* Without a history nobody knows which calls are open; the model server judges. */
  if (items && !pending_check(items, t->sent, e))
    return false;
  if (write_input(t, items))
    return fail_size(e);
  t->begun = t->input.len;
  t->inputs.bytes = 0;
  return true;
}

bool turn_begin(struct turn *t, struct mf_api_error *e)
{
  mf_id_new("resp_", t->id);
  t->created_at = mf_wall_ms() / 1000;
  mf_buf_init(&t->input, GROWTH * (MF_STORE_BYTES_MAX + t->r->bytes + t->agent->config.retained_max));
  mf_auto_json struct mf_json *past = NULL;
  return begin(t, &past, e);
}

void turn_done(struct turn *t)
{
  turn_items_done(&t->inputs);
  turn_items_done(&t->outputs);
  mf_toolset_free(t->toolset);
  mf_json_free(t->inherited);
  mf_json_free(t->resolved);
  mf_buf_done(&t->input);
  t->toolset = NULL;
  t->inherited = t->resolved = NULL;
  t->tools = t->choice = t->sent = NULL;
}

enum mf_code turn_input_add(struct turn *t, const struct mf_json_val *item, struct mf_err *err)
{
  size_t was = t->input.len, max = t->agent->config.retained_max;
  enum mf_code code = append_model(t, item);
  if (!code && t->input.len - t->begun <= max)
    return MF_OK;
  mf_buf_truncate(&t->input, was);
  return mf_fail(err, code ? code : MF_E_LIMIT, 0, "the items of a response exceeded %zu bytes", max);
}

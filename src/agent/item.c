/* Input items: a table of their types, checks, and the forms in which they are stored and shown to the model.
 * Thread: any. */
#include "item.h"

#include <stdio.h>

#include "base/utf8.h"

#include "base/banned.h"

#define REQUEST_ERROR "invalid_request_error"
#define TEXT_MAX ((size_t)64 << 20)

/* Members of the names that are ours are never taken from anybody else. */
#define PRIVATE_PREFIX "_agentic_"

enum { STR = 1u << MF_JSON_STR, ARR = 1u << MF_JSON_ARR, OBJ = 1u << MF_JSON_OBJ };

struct member {
  const char *key;
  unsigned types;
  const char *what; /* in the message of a wrong type */
};
struct item_kind {
  const char *type;
  enum item_class cls;
  const char *pair; /* of a call: the type of its output; of an output: of its call */
  struct member required[3];
};

#define CALL_ID                                                                                                        \
  {                                                                                                                    \
    "call_id", STR, "a string"                                                                                         \
  }
static const struct item_kind kinds[] = {
  { "message",
    ITEM_MESSAGE,
    NULL,
    { { "role", STR, "a string" }, { "content", STR | ARR, "a string or a list of content parts" } } },
  { "reasoning", ITEM_REASONING, NULL, { { 0 } } },
  { "function_call",
    ITEM_CALL,
    "function_call_output",
    { CALL_ID, { "name", STR, "a string" }, { "arguments", STR, "a string" } } },
  { "function_call_output",
    ITEM_OUTPUT,
    "function_call",
    { CALL_ID, { "output", STR | ARR, "a string or a list of content parts" } } },
  { "custom_tool_call",
    ITEM_CALL,
    "custom_tool_call_output",
    { CALL_ID, { "name", STR, "a string" }, { "input", STR, "a string" } } },
  { "custom_tool_call_output",
    ITEM_OUTPUT,
    "custom_tool_call",
    { CALL_ID, { "output", STR | ARR, "a string or a list of content parts" } } },
  { "shell_call", ITEM_CALL, "shell_call_output", { CALL_ID, { "action", OBJ, "an object" } } },
  { "shell_call_output", ITEM_OUTPUT, "shell_call", { CALL_ID, { "output", ARR, "a list" } } },
  { "tool_search_call", ITEM_CALL, "tool_search_output", { CALL_ID, { "arguments", OBJ | STR, "an object" } } },
  { "tool_search_output", ITEM_OUTPUT, "tool_search_call", { CALL_ID, { "tools", ARR, "a list" } } },
  { "code_interpreter_call", ITEM_CODE, NULL, { { "id", STR, "a string" } } },
  { "compaction", ITEM_UNSUPPORTED, NULL, { { 0 } } },
  { "compaction_trigger", ITEM_UNSUPPORTED, NULL, { { 0 } } },
  { "item_reference", ITEM_REFERENCE, NULL, { { "id", STR, "a string" } } },
};

static const char *const roles[] = { "user", "assistant", "system", "developer" };

struct mf_str item_text(const struct mf_json_val *obj, const char *key)
{
  const struct mf_json_val *v = mf_json_type_of(obj) == MF_JSON_OBJ ? mf_json_get(obj, key) : NULL;
  return mf_json_type_of(v) == MF_JSON_STR ? mf_json_str(v) : (struct mf_str){ 0 };
}

const struct item_kind *item_kind_of(const struct mf_json_val *item)
{
  if (mf_json_type_of(item) != MF_JSON_OBJ)
    return NULL;
  if (!mf_json_get(item, "type"))
    return mf_json_get(item, "role") ? &kinds[0] : NULL;
  struct mf_str type = item_text(item, "type");
  for (size_t i = 0; i < MF_ARRAY_N(kinds); i++)
    if (mf_str_is(type, kinds[i].type))
      return &kinds[i];
  return NULL;
}

enum item_class item_class_of(const struct item_kind *k)
{
  return k->cls;
}

const char *item_type_of(const struct item_kind *k)
{
  return k->type;
}

bool item_answers(const struct item_kind *output, const struct item_kind *call)
{
  return output->pair && call->cls == ITEM_CALL && strcmp(output->pair, call->type) == 0;
}

const char *item_call_type_of(const struct item_kind *output)
{
  return output->pair;
}

/* ---- checks ---- */

static bool invalid(struct mf_api_error *e, const char *at, const char *text)
{
  return mf_api_fail(e, 400, REQUEST_ERROR, REQUEST_ERROR, NULL, "invalid request: %s: %s", at, text);
}

static bool check_required(const struct item_kind *k, const struct mf_json_val *item, const char *at,
                           struct mf_api_error *e)
{
  for (size_t i = 0; i < MF_ARRAY_N(k->required) && k->required[i].key; i++) {
    const struct member *m = &k->required[i];
    const struct mf_json_val *v = mf_json_get(item, m->key);
    if (!v)
      return mf_api_fail_json(e, at, "missing field `%s`", m->key);
    if (m->types & (1u << mf_json_type_of(v)))
      continue;
    char where[80];
    snprintf(where, sizeof(where), "%s.%s", at, m->key);
    return mf_api_fail_type(e, v, m->what, where);
  }
  return true;
}

/* One part of a message's content or of an output. */
static bool check_part(const struct mf_json_val *part, const char *whose, const char *at, struct mf_api_error *e)
{
  static const char *const with_text[] = { "input_text", "output_text", "text" };
  if (mf_json_type_of(part) != MF_JSON_OBJ)
    return mf_api_fail_type(e, part, "a content part", at);
  const struct mf_json_val *type = mf_json_get(part, "type");
  if (!type)
    return mf_api_fail_json(e, at, "missing field `type`");
  char where[100];
  snprintf(where, sizeof(where), "%s.type", at);
  if (mf_json_type_of(type) != MF_JSON_STR)
    return mf_api_fail_type(e, type, "a string", where);
  struct mf_str name = mf_json_str(type);
  const char *key = mf_str_is(name, "refusal") ? "refusal" : NULL;
  for (size_t i = 0; i < MF_ARRAY_N(with_text); i++)
    if (mf_str_is(name, with_text[i]))
      key = "text";
  if (!key && mf_str_is(name, "input_image"))
    return true;
  if (!key)
    return mf_api_fail(e, 400, REQUEST_ERROR, REQUEST_ERROR, NULL,
                       "invalid request: %s: %s content part type `%.*s` is not supported by the typed Responses "
                       "executor; provide input_text or input_image content instead",
                       at, whose, (int)mf_utf8_prefix(name, 120), name.ptr);
  const struct mf_json_val *text = mf_json_get(part, key);
  if (!text)
    return mf_api_fail_json(e, at, "missing field `%s`", key);
  snprintf(where, sizeof(where), "%s.%s", at, key);
  return mf_json_type_of(text) == MF_JSON_STR || mf_api_fail_type(e, text, "a string", where);
}

static bool check_parts(const struct mf_json_val *parts, const char *whose, const char *at, struct mf_api_error *e)
{
  struct mf_json_iter it = mf_json_iter(mf_json_type_of(parts) == MF_JSON_ARR ? parts : NULL);
  for (size_t i = 0; mf_json_next(&it); i++) {
    char where[80];
    snprintf(where, sizeof(where), "%s[%zu]", at, i);
    if (!check_part(it.val, whose, where, e))
      return false;
  }
  return true;
}

static bool check_message(const struct mf_json_val *item, const char *at, struct mf_api_error *e)
{
  struct mf_str role = item_text(item, "role");
  const struct mf_json_val *content = mf_json_get(item, "content");
  char where[80];
  bool is_known = false;
  for (size_t i = 0; i < MF_ARRAY_N(roles); i++)
    is_known = is_known || mf_str_is(role, roles[i]);
  snprintf(where, sizeof(where), "%s.role", at);
  if (!is_known)
    return mf_api_fail_json(e, where,
                            "unknown variant `%.*s`, expected one of `user`, `assistant`, `system`, `developer`",
                            (int)mf_utf8_prefix(role, 120), role.ptr);
  snprintf(where, sizeof(where), "%s.content", at);
  if (mf_json_type_of(content) == MF_JSON_ARR && mf_json_len(content) == 0)
    return invalid(e, where, "a message must contain at least one content part");
  return check_parts(content, "message", where, e);
}

static bool is_null(const struct mf_json_val *v)
{
  return mf_json_type_of(v) == MF_JSON_NULL;
}

static bool check_reasoning(const struct mf_json_val *item, const char *at, struct mf_api_error *e)
{
  static const char *const lists[] = { "content", "summary" };
  char where[100];
  for (size_t i = 0; i < MF_ARRAY_N(lists); i++) {
    const struct mf_json_val *list = mf_json_get(item, lists[i]);
    snprintf(where, sizeof(where), "%s.%s", at, lists[i]);
    if (!is_null(list) && mf_json_type_of(list) != MF_JSON_ARR)
      return mf_api_fail_type(e, list, "a list of parts", where);
    struct mf_json_iter it = mf_json_iter(list);
    for (size_t k = 0; mf_json_next(&it); k++) {
      snprintf(where, sizeof(where), "%s.%s[%zu]", at, lists[i], k);
      if (mf_json_type_of(it.val) != MF_JSON_OBJ)
        return mf_api_fail_type(e, it.val, "a part", where);
      if (mf_json_type_of(mf_json_get(it.val, "text")) != MF_JSON_STR)
        return mf_api_fail_json(e, where, "missing field `text`");
    }
  }
  if (!is_null(mf_json_get(item, "encrypted_content")) && mf_json_len(mf_json_get(item, "content")) == 0)
    return mf_api_fail(e, 400, REQUEST_ERROR, REQUEST_ERROR, NULL,
                       "invalid request: reasoning item contains encrypted state without plaintext reasoning content "
                       "and cannot be replayed to vLLM");
  return true;
}

static bool check_supported(const struct item_kind *k, const char *at, struct mf_api_error *e)
{
  char param[80];
  snprintf(param, sizeof(param), "%s.type", at);
  return mf_api_fail(e, 400, REQUEST_ERROR, "unsupported_parameter", param,
                     "invalid request: %s: '%s' items are not supported by this server; send the conversation itself",
                     at, k->type);
}

bool item_check(const struct mf_json_val *item, size_t index, struct mf_api_error *e)
{
  char at[40], where[60];
  snprintf(at, sizeof(at), "input[%zu]", index);
  if (mf_json_type_of(item) != MF_JSON_OBJ)
    return mf_api_fail_type(e, item, "an input item", at);
  const struct mf_json_val *type = mf_json_get(item, "type");
  const struct item_kind *k = item_kind_of(item);
  snprintf(where, sizeof(where), "%s.type", at);
  if (!type && !k)
    return mf_api_fail_json(e, at, "missing field `type`");
  if (type && mf_json_type_of(type) != MF_JSON_STR)
    return mf_api_fail_type(e, type, "a string", where);
  if (!k)
    return true;
  if (!check_required(k, item, at, e))
    return false;
  switch (k->cls) {
  case ITEM_MESSAGE:
    return check_message(item, at, e);
  case ITEM_REASONING:
    return check_reasoning(item, at, e);
  case ITEM_OUTPUT:
    /* A shell's output has a form of its own, which goes to the model as a text. */
    snprintf(where, sizeof(where), "%s.output", at);
    return strcmp(k->type, "shell_call_output") == 0 || check_parts(mf_json_get(item, "output"), k->type, where, e);
  case ITEM_UNSUPPORTED:
    return check_supported(k, at, e);
  case ITEM_CALL:
  case ITEM_CODE:
  case ITEM_REFERENCE:
    break;
  }
  return true;
}

/* ---- forms ---- */

void item_write_stored(const struct mf_json_val *item, struct mf_json_writer *w)
{
  mf_jw_obj(w);
  if (!mf_json_get(item, "type"))
    mf_jw_kstrz(w, "type", "message");
  struct mf_json_iter it = mf_json_iter(item);
  while (mf_json_next(&it)) {
    if (mf_str_starts(it.key, PRIVATE_PREFIX))
      continue;
    mf_jw_key_str(w, it.key);
    mf_jw_val(w, it.val);
  }
  mf_jw_obj_end(w);
}

static enum mf_code join_texts(const struct mf_json_val *content, struct mf_buf *out)
{
  struct mf_json_iter it = mf_json_iter(mf_json_type_of(content) == MF_JSON_ARR ? content : NULL);
  enum mf_code code = MF_OK;
  for (bool is_first = true; !code && mf_json_next(&it);) {
    if (mf_json_type_of(it.val) != MF_JSON_OBJ || mf_json_type_of(mf_json_get(it.val, "text")) != MF_JSON_STR)
      continue;
    if (!is_first)
      code = mf_buf_append_str(out, MF_STR("\n"));
    if (!code)
      code = mf_buf_append_str(out, item_text(it.val, "text"));
    is_first = false;
  }
  return code;
}

/* One text, no summary, nothing encrypted: what a model server can read that has not made it. */
static bool write_reasoning(const struct mf_json_val *item, struct mf_json_writer *w)
{
  mf_auto_buf struct mf_buf text;
  mf_buf_init(&text, TEXT_MAX);
  enum mf_code code = join_texts(mf_json_get(item, "content"), &text);
  if (code && !w->code)
    w->code = code;
  if (!code && text.len == 0)
    return false;
  mf_jw_obj(w);
  mf_jw_kstrz(w, "type", "reasoning");
  if (item_text(item, "id").len)
    mf_jw_kstr(w, "id", item_text(item, "id"));
  mf_jw_key(w, "content");
  mf_jw_arr(w);
  mf_jw_obj(w);
  mf_jw_kstrz(w, "type", "reasoning_text");
  mf_jw_kstr(w, "text", mf_buf_str(&text));
  mf_jw_obj_end(w);
  mf_jw_arr_end(w);
  mf_jw_key(w, "summary");
  mf_jw_arr(w);
  mf_jw_arr_end(w);
  mf_jw_kstrz(w, "encrypted_content", NULL);
  mf_jw_key(w, "status");
  mf_jw_val(w, mf_json_get(item, "status"));
  mf_jw_obj_end(w);
  return true;
}

bool item_write_model(const struct mf_json_val *item, struct mf_json_writer *w)
{
  const struct item_kind *k = item_kind_of(item);
  if (!k || k->cls == ITEM_UNSUPPORTED || k->cls == ITEM_REFERENCE)
    return false;
  if (k->cls == ITEM_REASONING)
    return write_reasoning(item, w);
  if (!mf_tool_write_model_item(item, w))
    item_write_stored(item, w);
  return true;
}

/* Reads a request of the Responses API as far as a scenario needs it. */
#include "ask.h"
#include "base/banned.h"

enum { DEPTH_MAX = 256, BYTES_MAX = 64 << 20, VALUE_BYTES_MAX = 16 << 20 };

/* ---- the request ---- */

/* A string, or the last text among an array of parts. */
static struct mf_str text_of(const struct mf_json_val *v)
{
  struct mf_str found = { "", 0 };
  if (mf_json_type_of(v) == MF_JSON_STR)
    return mf_json_str(v);
  struct mf_json_iter it = mf_json_iter(v);
  while (mf_json_type_of(v) == MF_JSON_ARR && mf_json_next(&it)) {
    const struct mf_json_val *text = mf_json_get(it.val, "text");
    if (mf_json_type_of(text) == MF_JSON_STR)
      found = mf_json_str(text);
  }
  return found;
}

static bool member_is(const struct mf_json_val *v, const char *key, const char *wanted)
{
  const struct mf_json_val *member = mf_json_get(v, key);
  return mf_json_type_of(member) == MF_JSON_STR && mf_str_is(mf_json_str(member), wanted);
}

static void read_items(struct mf_model_ask *a, const struct mf_json_val *items)
{
  bool was_output = false;
  struct mf_json_iter it = mf_json_iter(items);
  while (mf_json_next(&it)) {
    bool is_output =
        member_is(it.val, "type", "function_call_output") || member_is(it.val, "type", "custom_tool_call_output");
    if (is_output) {
      a->last_output = text_of(mf_json_get(it.val, "output"));
      a->turn_outputs += !was_output;
    } else if (member_is(it.val, "role", "user")) {
      a->last_user_text = text_of(mf_json_get(it.val, "content"));
      a->turn_outputs = 0;
    }
    was_output = is_output;
  }
}

enum mf_code mf_model_ask_parse(struct mf_str body, struct mf_model_ask *ret, struct mf_err *err)
{
  const struct mf_json_limits limits = { .bytes_max = BYTES_MAX, .depth_max = DEPTH_MAX };
  *ret = (struct mf_model_ask){ .last_user_text = { "", 0 }, .last_output = { "", 0 }, .model = { "", 0 } };
  enum mf_code code = mf_json_parse(body, &limits, &ret->doc, err);
  if (code)
    return code;
  ret->root = mf_json_root(ret->doc);
  if (mf_json_type_of(ret->root) != MF_JSON_OBJ)
    return mf_fail(err, MF_E_INPUT, 0, "the body must be an object");
  const struct mf_json_val *model = mf_json_get(ret->root, "model"), *stream = mf_json_get(ret->root, "stream");
  const struct mf_json_val *input = mf_json_get(ret->root, "input");
  if (mf_json_type_of(model) == MF_JSON_STR)
    ret->model = mf_json_str(model);
  ret->streams = mf_json_type_of(stream) == MF_JSON_BOOL && mf_json_bool(stream);
  if (mf_json_type_of(input) == MF_JSON_STR)
    ret->last_user_text = mf_json_str(input);
  else if (mf_json_type_of(input) == MF_JSON_ARR)
    read_items(ret, input);
  return MF_OK;
}

void mf_model_ask_done(struct mf_model_ask *a)
{
  mf_json_free(a->doc);
  a->doc = NULL;
}

static bool contains(struct mf_str text, struct mf_str part)
{
  return part.len == 0 || (text.len >= part.len && memmem(text.ptr, text.len, part.ptr, part.len));
}

bool mf_model_ask_fits(const struct mf_model_ask *a, const struct mf_model_round *r)
{
  if (r->match_model.ptr && !mf_str_eq(r->match_model, a->model))
    return false;
  return !r->match_contains.ptr || contains(a->last_user_text, r->match_contains) ||
         contains(a->last_output, r->match_contains);
}

/* ---- placeholders ---- */

static enum mf_code put_value(struct mf_str value, bool in_json, struct mf_buf *out)
{
  if (!in_json)
    return mf_buf_append_str(out, value);
  mf_auto_buf struct mf_buf quoted;
  mf_buf_init(&quoted, VALUE_BYTES_MAX);
  struct mf_json_writer w;
  mf_jw_init(&w, &quoted, false);
  mf_jw_str(&w, value);
  return w.code ? w.code : mf_buf_append(out, quoted.ptr + 1, quoted.len - 2);
}

/* A member of the last output; strings as their text, others as JSON. */
static enum mf_code put_member(const struct mf_model_ask *a, struct mf_str name, bool in_json, struct mf_buf *out)
{
  const struct mf_json_limits limits = { .bytes_max = BYTES_MAX, .depth_max = DEPTH_MAX };
  mf_auto_json struct mf_json *doc = NULL;
  if (mf_json_parse(a->last_output, &limits, &doc, NULL) || mf_json_type_of(mf_json_root(doc)) != MF_JSON_OBJ)
    return MF_OK;
  struct mf_json_iter it = mf_json_iter(mf_json_root(doc));
  while (mf_json_next(&it)) {
    if (!mf_str_eq(it.key, name))
      continue;
    if (mf_json_type_of(it.val) == MF_JSON_STR)
      return put_value(mf_json_str(it.val), in_json, out);
    mf_auto_buf struct mf_buf text;
    mf_buf_init(&text, VALUE_BYTES_MAX);
    struct mf_json_writer w;
    mf_jw_init(&w, &text, false);
    mf_jw_val(&w, it.val);
    return w.code ? w.code : put_value(mf_buf_str(&text), in_json, out);
  }
  return MF_OK;
}

/* *ret_known: it was one of ours. */
static enum mf_code put_placeholder(const struct mf_model_ask *a, struct mf_str name, bool in_json, bool *ret_known,
                                    struct mf_buf *out)
{
  static const char member[] = "last_tool_output.";
  *ret_known = true;
  if (mf_str_is(name, "last_tool_output"))
    return put_value(a->last_output, in_json, out);
  if (mf_str_is(name, "last_user_text"))
    return put_value(a->last_user_text, in_json, out);
  if (mf_str_is(name, "model"))
    return put_value(a->model, in_json, out);
  if (mf_str_starts(name, member))
    return put_member(a, (struct mf_str){ name.ptr + sizeof(member) - 1, name.len - (sizeof(member) - 1) }, in_json,
                      out);
  *ret_known = false;
  return MF_OK;
}

enum mf_code mf_model_ask_fill(const struct mf_model_ask *a, struct mf_str text, bool in_json, struct mf_buf *out)
{
  enum mf_code code = MF_OK;
  while (!code && text.len > 0) {
    const char *open = memmem(text.ptr, text.len, "{{", 2);
    size_t before = open ? (size_t)(open - text.ptr) : text.len;
    code = mf_buf_append(out, text.ptr, before);
    text = (struct mf_str){ text.ptr + before, text.len - before };
    if (code || !open)
      break;
    const char *close = memmem(text.ptr, text.len, "}}", 2);
    bool is_known = false;
    if (close)
      code =
          put_placeholder(a, (struct mf_str){ text.ptr + 2, (size_t)(close - text.ptr) - 2 }, in_json, &is_known, out);
    size_t used = is_known ? (size_t)(close - text.ptr) + 2 : 1;
    if (!code && !is_known)
      code = mf_buf_append(out, text.ptr, 1); /* one brace: the next may begin a placeholder */
    text = (struct mf_str){ text.ptr + used, text.len - used };
  }
  return code;
}

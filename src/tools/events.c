/* Events of a call, and what several kinds need to read its arguments. */
#include "kind.h"

#include "base/banned.h"

/* Whatever a call may hold was within the limits of an upstream response; escaping makes six bytes of one. */
#define MEMBERS_MAX ((size_t)128 << 20)
#define ARGUMENTS_MAX ((size_t)64 << 20)
#define ARGUMENTS_DEPTH_MAX 128u

enum mf_code tool_emit(const struct mf_event_sink *sink, const char *type, uint32_t output_index, members_fn *fn,
                       const void *user, struct mf_err *err)
{
  mf_auto_buf struct mf_buf text;
  mf_buf_init(&text, MEMBERS_MAX);
  struct mf_json_writer w;
  mf_jw_init(&w, &text, false);
  mf_jw_obj(&w);
  fn(user, &w);
  mf_jw_obj_end(&w);
  if (w.code)
    return mf_fail(err, w.code, 0, "event %s: %s", type,
                   w.code == MF_E_LIMIT ? "larger than an event may be" : "cannot be written");
  /* {"a":1} → ,"a":1 */
  mf_buf_truncate(&text, text.len - 1);
  if (text.len > 1)
    text.ptr[0] = ',';
  else
    mf_buf_truncate(&text, 0);
  return sink->emit(sink->user, type, output_index, mf_buf_str(&text), err);
}

struct text_event {
  struct mf_str item_id, text;
  const char *key;
};

static void write_text(const void *user, struct mf_json_writer *w)
{
  const struct text_event *x = user;
  mf_jw_kstr(w, "item_id", x->item_id);
  if (x->key)
    mf_jw_kstr(w, x->key, x->text);
}

enum mf_code tool_emit_text(const struct mf_event_sink *sink, const char *type, uint32_t output_index,
                            struct mf_str item_id, const char *key, struct mf_str text, struct mf_err *err)
{
  const struct text_event x = { item_id, text, key };
  return tool_emit(sink, type, output_index, write_text, &x, err);
}

struct mf_json *tool_parse(struct mf_str text)
{
  const struct mf_json_limits limits = { ARGUMENTS_MAX, ARGUMENTS_DEPTH_MAX };
  struct mf_json *doc = NULL;
  return mf_json_parse(text, &limits, &doc, NULL) == MF_OK ? doc : NULL;
}

struct mf_str tool_argument(struct mf_str arguments, const char *key, struct mf_json **doc)
{
  *doc = tool_parse(arguments);
  const struct mf_json_val *root = *doc ? mf_json_root(*doc) : NULL;
  const struct mf_json_val *v = mf_json_type_of(root) == MF_JSON_OBJ ? mf_json_get(root, key) : NULL;
  return mf_json_type_of(v) == MF_JSON_STR ? mf_json_str(v) : arguments;
}

/* The members of an upstream event that go on to the client, taken from its text: it was parsed once to be understood,
 * and most events (a delta) need no second writing. Thread: any. */
#include "members.h"

#include "base/banned.h"

static bool is_ours(struct mf_str key)
{
  return mf_str_is(key, "type") || mf_str_is(key, "sequence_number") || mf_str_is(key, "output_index");
}

/* ---- by the text ---- */

/* All of these are given one line of JSON that a parser has accepted: an object. */
static const char *skip_space(const char *p, const char *end)
{
  while (p < end && (*p == ' ' || *p == '\t'))
    p++;
  return p;
}

/* p is at the opening quote; returns what follows the closing one. */
static const char *skip_string(const char *p, const char *end)
{
  for (p++; p < end; p++) {
    p = memchr(p, '"', (size_t)(end - p));
    if (!p)
      return end;
    size_t slashes = 0;
    while (p[-1 - (ptrdiff_t)slashes] == '\\')
      slashes++;
    if (slashes % 2 == 0)
      return p + 1;
  }
  return end;
}

static const char *skip_value(const char *p, const char *end)
{
  unsigned depth = 0;
  while (p < end) {
    switch (*p) {
    case '"':
      p = skip_string(p, end);
      if (depth == 0)
        return p;
      continue;
    case '{':
    case '[':
      depth++;
      break;
    case '}':
    case ']':
      if (depth == 0)
        return p; /* of a number, true, false, null */
      if (--depth == 0)
        return p + 1;
      break;
    case ',':
    case ' ':
    case '\t':
      if (depth == 0)
        return p;
      break;
    default:
      break;
    }
    p++;
  }
  return end;
}

static enum mf_code put(struct mf_buf *out, const char *from, const char *to)
{
  return mf_buf_append(out, from, (size_t)(to - from));
}

static enum mf_code put_id(struct mf_buf *out, struct mf_str id)
{
  struct mf_json_writer w;
  mf_jw_init(&w, out, false);
  mf_jw_str(&w, id);
  return w.code;
}

/* False: a key that is spelled with an escape, which has to be understood first. */
static bool splice(struct mf_buf *out, struct mf_str data, struct mf_str id, struct mf_str item, enum mf_code *code)
{
  const char *end = data.ptr + data.len;
  const char *p = skip_space(skip_space(data.ptr, end) + 1, end);
  *code = MF_OK;
  while (p < end && *p == '"' && !*code) {
    const char *from = p;
    const char *key_end = skip_string(p, end);
    struct mf_str key = { from + 1, (size_t)(key_end - from) - 2 };
    if (memchr(key.ptr, '\\', key.len))
      return false;
    const char *value = skip_space(skip_space(key_end, end) + 1, end);
    p = skip_value(value, end);
    if (!is_ours(key)) {
      bool is_id = id.len > 0 && mf_str_is(key, "item_id"), is_item = item.len > 0 && mf_str_is(key, "item");
      *code = mf_buf_append(out, ",", 1);
      if (!*code)
        *code = put(out, from, is_id || is_item ? value : p);
      if (!*code && is_id)
        *code = put_id(out, id);
      if (!*code && is_item)
        *code = mf_buf_append_str(out, item);
    }
    p = skip_space(p, end);
    if (p < end && *p == ',')
      p = skip_space(p + 1, end);
  }
  return true;
}

/* ---- by the values ---- */

static enum mf_code write(struct mf_buf *out, const struct mf_json_val *root, struct mf_str id, struct mf_str item)
{
  struct mf_json_writer w;
  size_t before = out->len;
  mf_jw_init(&w, out, false);
  mf_jw_obj(&w);
  struct mf_json_iter it = mf_json_iter(root);
  while (mf_json_next(&it)) {
    /* A key with a NUL is none that anybody knows. */
    if (is_ours(it.key) || (it.key.len > 0 && memchr(it.key.ptr, 0, it.key.len)))
      continue;
    mf_jw_key(&w, it.key.ptr);
    if (id.len > 0 && mf_str_is(it.key, "item_id"))
      mf_jw_str(&w, id);
    else if (item.len > 0 && mf_str_is(it.key, "item"))
      mf_jw_raw(&w, item);
    else
      mf_jw_val(&w, it.val);
  }
  mf_jw_obj_end(&w);
  if (w.code)
    return w.code;
  /* {"a":1} → ,"a":1 */
  mf_buf_truncate(out, out->len - 1);
  if (out->len > before + 1)
    out->ptr[before] = ',';
  else
    mf_buf_truncate(out, before);
  return MF_OK;
}

enum mf_code members_write(struct mf_buf *out, const struct mf_json_val *root, struct mf_str data, struct mf_str id,
                           struct mf_str item)
{
  size_t before = out->len;
  enum mf_code code;
  /* An event is one line, JSON need not be. */
  bool is_line = !memchr(data.ptr, '\n', data.len) && !memchr(data.ptr, '\r', data.len);
  if (is_line && splice(out, data, id, item, &code))
    return code;
  mf_buf_truncate(out, before);
  return write(out, root, id, item);
}

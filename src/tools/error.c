/* An error as a client of the API sees it. */
#include "tools/tools.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"
#include "base/banned.h"

void mf_api_error_write(const struct mf_api_error *e, struct mf_json_writer *w)
{
  mf_jw_obj(w);
  mf_jw_key(w, "error");
  mf_jw_obj(w);
  mf_jw_kstrz(w, "message", e->message);
  mf_jw_kstrz(w, "type", e->type);
  mf_jw_kstrz(w, "code", e->code);
  if (e->has_param)
    mf_jw_kstrz(w, "param", e->param);
  mf_jw_obj_end(w);
  mf_jw_obj_end(w);
}

/* snprintf cuts between bytes. What it left of the last character goes too. */
static void trim(char *text, size_t size, int wanted)
{
  if (wanted < 0 || (size_t)wanted < size)
    return;
  size_t n = strlen(text), from = n;
  while (from > 0 && n - from < 4 && ((unsigned char)text[from - 1] & 0xc0) == 0x80)
    from--;
  if (from == 0)
    return;
  from--; /* the first byte of the last character */
  if (!mf_utf8_is_valid((struct mf_str){ text + from, n - from }))
    text[from] = 0;
}

bool mf_api_fail(struct mf_api_error *e, int status, const char *type, const char *code, const char *param,
                 const char *fmt, ...)
{
  *e = (struct mf_api_error){ .status = status, .type = type, .code = code, .has_param = param != NULL };
  if (param)
    trim(e->param, sizeof(e->param), snprintf(e->param, sizeof(e->param), "%s", param));
  va_list ap;
  va_start(ap, fmt);
  trim(e->message, sizeof(e->message), vsnprintf(e->message, sizeof(e->message), fmt, ap));
  va_end(ap);
  return false;
}

bool mf_api_fail_json(struct mf_api_error *e, const char *at, const char *fmt, ...)
{
  char text[480];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof(text), fmt, ap);
  va_end(ap);
  return mf_api_fail(e, 400, "invalid_request_error", "invalid_request_error", NULL, "json error: %s at %s", text, at);
}

void mf_api_value_words(const struct mf_json_val *v, char *ret, size_t n)
{
  switch (mf_json_type_of(v)) {
  case MF_JSON_NULL:
    snprintf(ret, n, "null");
    return;
  case MF_JSON_BOOL:
    snprintf(ret, n, "boolean `%s`", mf_json_bool(v) ? "true" : "false");
    return;
  case MF_JSON_NUM: {
    struct mf_str s = mf_json_num_text(v);
    snprintf(ret, n, "number `%.*s`", (int)MF_MIN(s.len, (size_t)40), s.ptr);
    return;
  }
  case MF_JSON_STR: {
    struct mf_str s = mf_json_str(v);
    snprintf(ret, n, "string \"%.*s\"", (int)mf_utf8_prefix(s, 60), s.ptr);
    return;
  }
  case MF_JSON_ARR:
    snprintf(ret, n, "sequence");
    return;
  case MF_JSON_OBJ:
    snprintf(ret, n, "map");
    return;
  }
}

bool mf_api_fail_type(struct mf_api_error *e, const struct mf_json_val *v, const char *what, const char *at)
{
  char words[120];
  mf_api_value_words(v, words, sizeof(words));
  return mf_api_fail_json(e, at, "invalid type: %s, expected %s", words, what);
}

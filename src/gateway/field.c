/* Values of header fields that have parameters. RFC 9110 §5.6.6, RFC 2045 §5.1. Thread: any. */
#include "field.h"

#include <strings.h>

#include "base/banned.h"

enum { VALUE_N = 128 }; /* of a parameter that is only compared */

static bool is_space(char c)
{
  return c == ' ' || c == '\t';
}

static struct mf_str trim(struct mf_str s)
{
  while (s.len > 0 && is_space(s.ptr[0]))
    s = (struct mf_str){ s.ptr + 1, s.len - 1 };
  while (s.len > 0 && is_space(s.ptr[s.len - 1]))
    s.len--;
  return s;
}

static struct mf_str skip(struct mf_str s, size_t n)
{
  return n > 0 ? (struct mf_str){ s.ptr + n, s.len - n } : s;
}

bool mf_gw_field_is(struct mf_str s, const char *z)
{
  return s.len == strlen(z) && (s.len == 0 || strncasecmp(s.ptr, z, s.len) == 0);
}

struct mf_str mf_gw_field_head(struct mf_str *field)
{
  const char *semi = field->len ? memchr(field->ptr, ';', field->len) : NULL;
  size_t n = semi ? (size_t)(semi - field->ptr) : field->len;
  struct mf_str head = trim((struct mf_str){ field->ptr, n });
  *field = skip(*field, n);
  return head;
}

/* From the first quote on. */
static enum mf_gw_field take_quoted(struct mf_str *field, char *ret, size_t n)
{
  struct mf_str s = skip(*field, 1);
  size_t at = 0, out = 0;
  while (at < s.len && s.ptr[at] != '"') {
    if (s.ptr[at] == '\\' && at + 1 < s.len && (s.ptr[at + 1] == '"' || s.ptr[at + 1] == '\\'))
      at++;
    if (out + 1 >= n)
      return MF_GW_FIELD_BAD;
    ret[out++] = s.ptr[at++];
  }
  ret[out] = 0;
  *field = skip(s, at < s.len ? at + 1 : at);
  return at < s.len ? MF_GW_FIELD_PARAM : MF_GW_FIELD_BAD;
}

static enum mf_gw_field take_bare(struct mf_str *field, char *ret, size_t n)
{
  size_t at = 0;
  while (at < field->len && field->ptr[at] != ';' && field->ptr[at] != '"' && !is_space(field->ptr[at]))
    at++;
  if (at == 0 || at >= n)
    return MF_GW_FIELD_BAD;
  memcpy(ret, field->ptr, at);
  ret[at] = 0;
  *field = skip(*field, at);
  return MF_GW_FIELD_PARAM;
}

enum mf_gw_field mf_gw_field_next(struct mf_str *field, struct mf_str *ret_name, char *ret_value, size_t n)
{
  struct mf_str s = trim(*field);
  if (s.len > 0 && s.ptr[0] != ';')
    return MF_GW_FIELD_BAD;
  while (s.len > 0 && s.ptr[0] == ';') /* RFC 9110 lets one be empty */
    s = trim(skip(s, 1));
  if (s.len == 0) {
    *field = s;
    return MF_GW_FIELD_END;
  }
  const char *equals = memchr(s.ptr, '=', s.len);
  size_t name_n = equals ? (size_t)(equals - s.ptr) : 0;
  *ret_name = (struct mf_str){ s.ptr, name_n };
  for (size_t i = 0; i < name_n; i++)
    if (s.ptr[i] <= ' ' || s.ptr[i] >= 0x7f || strchr("()<>@,;:\\\"/[]?", s.ptr[i]))
      return MF_GW_FIELD_BAD;
  if (name_n == 0)
    return MF_GW_FIELD_BAD;
  *field = skip(s, name_n + 1);
  return field->len > 0 && field->ptr[0] == '"' ? take_quoted(field, ret_value, n) : take_bare(field, ret_value, n);
}

enum mf_gw_type mf_gw_field_type(struct mf_str content_type, const char *wanted)
{
  struct mf_str rest = content_type, name;
  char value[VALUE_N];
  if (!mf_gw_field_is(mf_gw_field_head(&rest), wanted))
    return MF_GW_TYPE_OTHER;
  for (;;) {
    enum mf_gw_field got = mf_gw_field_next(&rest, &name, value, sizeof(value));
    if (got == MF_GW_FIELD_END)
      return MF_GW_TYPE_OK;
    if (got == MF_GW_FIELD_BAD)
      return MF_GW_TYPE_BAD;
    if (mf_gw_field_is(name, "charset") && strcasecmp(value, "utf-8") != 0 && strcasecmp(value, "utf8") != 0)
      return MF_GW_TYPE_CHARSET;
  }
}

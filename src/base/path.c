/* Names from outside: the check, and showing them safely. Thread: any. */
#include "base/path.h"

#include "base/utf8.h"
#include "utf8-internal.h"
#include "base/banned.h"

enum { NAME_MAX_BYTES = 1023, PART_MAX_BYTES = 255, PARTS_MAX = 16 };

/* NULL when the part is fine, else what is wrong with it. */
static const char *part_fault(struct mf_str part)
{
  if (part.len == 0)
    return "has an empty part";
  if (mf_str_is(part, ".") || mf_str_is(part, ".."))
    return "has a '.' or '..' part";
  if (part.len > PART_MAX_BYTES)
    return "has a part of more than 255 bytes";
  return NULL;
}

static const char *name_fault(struct mf_str name)
{
  if (name.len == 0)
    return "is empty";
  if (name.len > NAME_MAX_BYTES)
    return "has more than 1023 bytes";
  if (name.ptr[0] == '/')
    return "is not relative";
  if (!mf_utf8_is_valid(name))
    return "is not valid UTF-8";

  size_t start = 0;
  unsigned parts = 0;
  for (size_t i = 0; i <= name.len; i++) {
    unsigned char c = i < name.len ? (unsigned char)name.ptr[i] : '/';
    /* U+0080 to U+009F steer terminals like the controls below 0x20 */
    if (c < 0x20 || c == 0x7f || (c == 0xc2 && (unsigned char)name.ptr[i + 1] < 0xa0))
      return "has a control character";
    if (c != '/')
      continue;
    const char *fault = part_fault((struct mf_str){ name.ptr + start, i - start });
    if (fault)
      return fault;
    if (++parts > PARTS_MAX)
      return "has more than 16 parts";
    start = i + 1;
  }
  return NULL;
}

enum mf_code mf_name_check(struct mf_str name, const char *what, struct mf_err *err)
{
  const char *fault = name_fault(name);
  if (!fault)
    return MF_OK;
  char shown[120];
  mf_escape(name, shown, sizeof(shown));
  return mf_fail(err, MF_E_INPUT, 0, "%s: the name '%s' %s", what, shown, fault);
}

/* Whether the character may be shown as it is. */
static bool is_plain(struct mf_str c)
{
  unsigned char b = (unsigned char)c.ptr[0];
  if (c.len == 1)
    return b >= 0x20 && b != 0x7f && b != '\'' && b != '"' && b != '\\';
  return !(b == 0xc2 && (unsigned char)c.ptr[1] < 0xa0);
}

void mf_escape(struct mf_str s, char *ret, size_t n)
{
  static const char hex[] = "0123456789abcdef";
  const struct mf_str mark = MF_STR("\xe2\x80\xa6");
  if (n == 0)
    return;

  /* `cut` is the last place where the mark still fits. */
  size_t at = 0, cut = 0, i = 0;
  while (i < s.len) {
    struct mf_str rest = { s.ptr + i, s.len - i };
    struct mf_utf8_step step = mf_utf8_step(rest);
    bool plain = step.kind == MF_UTF8_CHAR && is_plain((struct mf_str){ rest.ptr, step.n });
    size_t need = plain ? step.n : 4u * step.n;
    if (at + need >= n)
      break;
    for (unsigned k = 0; k < step.n; k++) {
      unsigned char b = (unsigned char)rest.ptr[k];
      if (plain) {
        ret[at++] = (char)b;
      } else {
        ret[at++] = '\\';
        ret[at++] = 'x';
        ret[at++] = hex[b >> 4];
        ret[at++] = hex[b & 15];
      }
    }
    i += step.n;
    if (at + mark.len < n)
      cut = at;
  }
  if (i < s.len) {
    at = cut;
    if (at + mark.len < n) {
      memcpy(ret + at, mark.ptr, mark.len);
      at += mark.len;
    }
  }
  ret[at] = 0;
}

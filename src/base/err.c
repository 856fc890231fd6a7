/* mf_err: filling and prefixing errors, and the allocations that cannot fail. Thread: any. */
#include "base/err.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

static const char *const code_names[MF_CODE_N] = {
  [MF_OK] = "ok",
  [MF_E_INPUT] = "input",
  [MF_E_LIMIT] = "limit",
  [MF_E_TIMEOUT] = "timeout",
  [MF_E_NOT_FOUND] = "not_found",
  [MF_E_EXISTS] = "exists",
  [MF_E_GONE] = "gone",
  [MF_E_CAPACITY] = "capacity",
  [MF_E_CANCELLED] = "cancelled",
  [MF_E_UNAVAILABLE] = "unavailable",
  [MF_E_SYS] = "sys",
  [MF_E_INTERNAL] = "internal",
};

/* snprintf cuts at a byte. A message ends up in JSON, so a character that was cut in the middle is dropped. */
static void drop_cut_char(char *msg, size_t n)
{
  size_t len = strnlen(msg, n);
  if (len + 1 < n)
    return;

  size_t start = len;
  while (start > 0 && len - start < 4 && ((unsigned char)msg[start - 1] & 0xc0) == 0x80)
    start--;
  if (start == 0)
    return;
  unsigned char lead = (unsigned char)msg[start - 1];
  size_t need = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  if (len - (start - 1) < need)
    msg[start - 1] = 0;
}

/* Joins the parts; what does not fit is left out. */
static void join(char *ret, size_t n, const char *a, const char *b, const char *c)
{
  const char *const parts[] = { a, b, c };
  size_t at = 0;
  for (unsigned i = 0; i < MF_ARRAY_N(parts); i++) {
    size_t len = strnlen(parts[i], n - 1 - at);
    memcpy(ret + at, parts[i], len);
    at += len;
  }
  ret[at] = 0;
  drop_cut_char(ret, n);
}

enum mf_code mf_fail(struct mf_err *err, enum mf_code code, int sys, const char *fmt, ...)
{
  if (!err)
    return code;

  /* Formatted aside because an argument may be err->msg itself. */
  char text[sizeof(err->msg)];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof(text), fmt, ap);
  va_end(ap);

  /* strerrordesc_np takes no lock and no memory, so this works in a child between fork and exec. */
  const char *desc = sys ? strerrordesc_np(sys) : "";
  join(err->msg, sizeof(err->msg), text, sys ? ": " : "", desc ? desc : "unknown error");
  err->code = code;
  err->sys = sys;
  return code;
}

enum mf_code mf_wrap(struct mf_err *err, enum mf_code code, const char *fmt, ...)
{
  if (!err)
    return code;

  char prefix[sizeof(err->msg)], inner[sizeof(err->msg)];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(prefix, sizeof(prefix), fmt, ap);
  va_end(ap);

  /* When the level below was given no mf_err, this one still says what failed. */
  if (err->code == MF_OK) {
    err->code = code;
    err->sys = 0;
    err->msg[0] = 0;
  }
  memcpy(inner, err->msg, sizeof(inner));
  inner[sizeof(inner) - 1] = 0;
  join(err->msg, sizeof(err->msg), prefix, inner[0] ? ": " : "", inner);
  return err->code;
}

const char *mf_code_name(enum mf_code code)
{
  return (unsigned)code < MF_CODE_N ? code_names[code] : "unknown";
}

static MF_NORETURN void die_of_memory(size_t n)
{
  fprintf(stderr, "mayfly: out of memory (%zu bytes)\n", n);
  abort();
}

void *mf_xmalloc(size_t n)
{
  void *p = malloc(n ? n : 1);
  if (!p)
    die_of_memory(n);
  return p;
}

void *mf_xcalloc(size_t n, size_t size)
{
  void *p = n && size ? calloc(n, size) : calloc(1, 1);
  if (!p)
    die_of_memory(size && n > SIZE_MAX / size ? SIZE_MAX : n * size);
  return p;
}

void *mf_xrealloc(void *p, size_t n)
{
  void *q = realloc(p, n ? n : 1);
  if (!q)
    die_of_memory(n);
  return q;
}

char *mf_xstrdup(const char *s)
{
  size_t n = strlen(s) + 1;
  return memcpy(mf_xmalloc(n), s, n);
}

char *mf_xasprintf(const char *fmt, ...)
{
  char *s = NULL;
  va_list ap;
  va_start(ap, fmt);
  int n = vasprintf(&s, fmt, ap);
  va_end(ap);
  if (n < 0)
    die_of_memory(0);
  return s;
}

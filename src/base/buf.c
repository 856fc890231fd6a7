/* mf_buf: a growable byte buffer with a maximum. Thread: one owner at a time. */
#include "base/buf.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include "base/banned.h"

/* What ptr names while nothing is allocated (cap == 0). It is never written through. */
static const char empty[1] = "";

void mf_buf_init(struct mf_buf *b, size_t max)
{
  /* One byte is kept for the NUL, so that cap cannot overflow. */
  *b = (struct mf_buf){ .ptr = (char *)empty, .max = MF_MIN(max, (size_t)PTRDIFF_MAX - 1) };
}

void mf_buf_done(struct mf_buf *b)
{
  if (b->cap)
    free(b->ptr);
  mf_buf_init(b, b->max);
}

/* Makes room for n more bytes and a NUL. Running out of memory is a limit too: these sizes come from requests. */
static enum mf_code reserve(struct mf_buf *b, size_t n)
{
  if (n > b->max || b->len > b->max - n)
    return MF_E_LIMIT;
  size_t need = b->len + n + 1;
  if (need <= b->cap)
    return MF_OK;

  size_t cap = MF_MAX(2 * b->cap, (size_t)256); /* cap is at most PTRDIFF_MAX */
  cap = MF_MIN(MF_MAX(cap, need), b->max + 1);
  char *p = realloc(b->cap ? b->ptr : NULL, cap);
  if (!p)
    return MF_E_LIMIT;
  if (!b->cap)
    p[0] = 0;
  b->ptr = p;
  b->cap = cap;
  return MF_OK;
}

enum mf_code mf_buf_append(struct mf_buf *b, const void *p, size_t n)
{
  if (n == 0)
    return MF_OK;
  /* The bytes may be a part of this buffer, which moves when it grows. */
  const char *from = p;
  bool own = b->cap && (uintptr_t)from >= (uintptr_t)b->ptr && (uintptr_t)from < (uintptr_t)b->ptr + b->cap;
  size_t at = own ? (size_t)(from - b->ptr) : 0;

  enum mf_code code = reserve(b, n);
  if (code)
    return code;
  memmove(b->ptr + b->len, own ? b->ptr + at : from, n);
  b->len += n;
  b->ptr[b->len] = 0;
  return MF_OK;
}

enum mf_code mf_buf_append_str(struct mf_buf *b, struct mf_str s)
{
  return mf_buf_append(b, s.ptr, s.len);
}

enum mf_code mf_buf_printf(struct mf_buf *b, const char *fmt, ...)
{
  char small[256];
  va_list ap, again;
  va_start(ap, fmt);
  va_copy(again, ap);
  int n = vsnprintf(small, sizeof(small), fmt, ap);
  va_end(ap);

  enum mf_code code = n < 0 ? MF_E_INPUT : MF_OK;
  if (!code && (size_t)n < sizeof(small)) {
    code = mf_buf_append(b, small, (size_t)n);
  } else if (!code) {
    code = reserve(b, (size_t)n);
    if (!code) {
      vsnprintf(b->ptr + b->len, (size_t)n + 1, fmt, again);
      b->len += (size_t)n;
    }
  }
  va_end(again);
  return code;
}

void mf_buf_truncate(struct mf_buf *b, size_t len)
{
  assert(len <= b->len);
  b->len = len;
  if (b->cap)
    b->ptr[len] = 0;
}

void mf_buf_consume(struct mf_buf *b, size_t n)
{
  assert(n <= b->len);
  if (n == 0)
    return;
  b->len -= n;
  memmove(b->ptr, b->ptr + n, b->len);
  b->ptr[b->len] = 0;
}

char *mf_buf_take(struct mf_buf *b, size_t *ret_len)
{
  char *p = b->cap ? b->ptr : mf_xcalloc(1, 1);
  if (ret_len)
    *ret_len = b->len;
  mf_buf_init(b, b->max);
  return p;
}

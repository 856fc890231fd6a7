/* The byte queue of a connection. */
#include "bytes.h"

#include <assert.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/banned.h"

enum { KEEP_BYTES = 2048, FIRST_BYTES = 1024 };

void mf_http_bytes_append(struct mf_http_bytes *b, const void *p, size_t n)
{
  if (n == 0)
    return;
  if (b->off + b->len + n > b->cap) {
    if (b->off > 0)
      memmove(b->ptr, b->ptr + b->off, b->len);
    b->off = 0;
    if (b->len + n > b->cap) {
      b->cap = MF_MAX(MF_MAX(b->cap + b->cap / 2, (size_t)FIRST_BYTES), b->len + n);
      b->ptr = mf_xrealloc(b->ptr, b->cap);
    }
  }
  memcpy(b->ptr + b->off + b->len, p, n);
  b->len += n;
}

void mf_http_bytes_consume(struct mf_http_bytes *b, size_t n)
{
  assert(n <= b->len);
  b->off += n;
  b->len -= n;
  if (b->len > 0)
    return;
  b->off = 0;
  if (b->cap > KEEP_BYTES)
    mf_http_bytes_done(b);
}

void mf_http_bytes_done(struct mf_http_bytes *b)
{
  free(b->ptr);
  *b = (struct mf_http_bytes){ 0 };
}

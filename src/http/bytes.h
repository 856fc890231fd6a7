/* A byte queue: appended at the end, taken from the front. Whoever appends keeps it bounded. */
#ifndef MF_HTTP_BYTES_H
#define MF_HTTP_BYTES_H

#include "base/str.h"

struct mf_http_bytes {
  char *ptr;
  size_t off, len, cap; /* the bytes are ptr[off .. off + len) */
};

static inline struct mf_str mf_http_bytes_str(const struct mf_http_bytes *b)
{
  return (struct mf_str){ b->ptr ? b->ptr + b->off : NULL, b->len };
}
void mf_http_bytes_append(struct mf_http_bytes *b, const void *p, size_t n);
/* Memory is given back when it becomes empty, so that an idle connection holds next to nothing. */
void mf_http_bytes_consume(struct mf_http_bytes *b, size_t n);
void mf_http_bytes_done(struct mf_http_bytes *b);

#endif

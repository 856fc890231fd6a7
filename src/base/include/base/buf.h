/* mf_buf: owned, growable, always NUL-terminated, and born with a maximum.
 *
 * Invariants: ptr is never NULL and ptr[len] == 0; len <= max. An append that would pass max changes nothing
 * and returns MF_E_LIMIT. Thread: one owner at a time. */
#ifndef MF_BASE_BUF_H
#define MF_BASE_BUF_H

#include "base/err.h"
#include "base/str.h"

struct mf_buf {
  char *ptr;
  size_t len, cap, max;
};

void mf_buf_init(struct mf_buf *b, size_t max);
void mf_buf_done(struct mf_buf *b); /* fine on a zeroed struct */
#define mf_auto_buf MF_CLEANUP(mf_buf_done)

MF_MUST_USE enum mf_code mf_buf_append(struct mf_buf *b, const void *p, size_t n);
MF_MUST_USE enum mf_code mf_buf_append_str(struct mf_buf *b, struct mf_str s);
MF_MUST_USE enum mf_code mf_buf_printf(struct mf_buf *b, const char *fmt, ...) MF_PRINTF(2, 3);
void mf_buf_truncate(struct mf_buf *b, size_t len); /* len must be <= b->len */
/* Removes the first n bytes. */
void mf_buf_consume(struct mf_buf *b, size_t n);
/* Passes the NUL-terminated bytes to the caller (release with free) and leaves b empty with the same max. */
char *mf_buf_take(struct mf_buf *b, size_t *ret_len);
static inline struct mf_str mf_buf_str(const struct mf_buf *b)
{
  return (struct mf_str){ b->ptr, b->len };
}

#endif

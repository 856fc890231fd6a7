/* mf_str: a borrowed run of bytes. Parsers take and return these; nobody frees one. */
#ifndef MF_BASE_STR_H
#define MF_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct mf_str {
  const char *ptr; /* may be NULL when len is 0; not NUL-terminated */
  size_t len;
};

#define MF_STR(lit) ((struct mf_str){ "" lit, sizeof(lit) - 1 })
#define MF_STR_ARG(s) (int)(s).len, (s).ptr /* for "%.*s" */

static inline struct mf_str mf_str_of(const char *z)
{
  return (struct mf_str){ z, z ? strlen(z) : 0 };
}
static inline bool mf_str_eq(struct mf_str a, struct mf_str b)
{
  return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}
static inline bool mf_str_is(struct mf_str a, const char *z)
{
  return mf_str_eq(a, mf_str_of(z));
}
static inline bool mf_str_starts(struct mf_str a, const char *z)
{
  size_t n = strlen(z);
  return a.len >= n && memcmp(a.ptr, z, n) == 0;
}

#endif

/* Compiler attributes, spelled once, and the automatic-release idiom.
 *
 * Declare with an mf_auto_* release, work, then *take* the value out as the last step. */
#ifndef MF_BASE_COMPILER_H
#define MF_BASE_COMPILER_H

#include <stdlib.h>

#define MF_MUST_USE __attribute__((warn_unused_result))
#define MF_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define MF_NORETURN __attribute__((noreturn))
#define MF_UNUSED __attribute__((unused))
#define MF_CLEANUP(fn) __attribute__((cleanup(fn)))

#define MF_ARRAY_N(a) (sizeof(a) / sizeof((a)[0]))
#define MF_MIN(a, b) ((a) < (b) ? (a) : (b))
#define MF_MAX(a, b) ((a) > (b) ? (a) : (b))

static inline void mf_free_ptr(void *p)
{
  free(*(void **)p);
}
#define mf_auto_free MF_CLEANUP(mf_free_ptr)

#endif

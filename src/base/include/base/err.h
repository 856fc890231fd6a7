/* Errors: a stable code for programs, one sentence for people.
 *
 * A function that can fail returns enum mf_code and takes `struct mf_err *err` last; err may be NULL
 * and is untouched on success. Library rooms return errors, edges log them. What a *guest* does is
 * never an mf_err: a traceback or a timeout is the result of a successful run. */
#ifndef MF_BASE_ERR_H
#define MF_BASE_ERR_H

#include "base/compiler.h"

enum mf_code {
  MF_OK = 0,
  MF_E_INPUT,       /* the caller's request is wrong */
  MF_E_LIMIT,       /* a bound was reached */
  MF_E_TIMEOUT,     /* a deadline passed */
  MF_E_NOT_FOUND,   /* no such thing */
  MF_E_EXISTS,      /* it is there already */
  MF_E_GONE,        /* the peer or the object has ended */
  MF_E_CAPACITY,    /* no free permit; try again later */
  MF_E_CANCELLED,   /* the one who asked does not want it any more */
  MF_E_UNAVAILABLE, /* this machine cannot do it (missing kernel feature, runtime not set up) */
  MF_E_SYS,         /* a system call failed: see sys */
  MF_E_INTERNAL,    /* a broken promise of our own */
  MF_CODE_N
};

struct mf_err {
  enum mf_code code;
  int sys;       /* errno at the point of failure, or 0 */
  char msg[400]; /* inline: works after fork and without memory */
};

/* Fills `err` (when not NULL) and returns `code`, so that failing is one line. With sys != 0 the text of
 * errno is appended. Thread: any. */
enum mf_code mf_fail(struct mf_err *err, enum mf_code code, int sys, const char *fmt, ...) MF_PRINTF(4, 5);

/* Prefixes what this level was doing: "start run: mount root: …". Returns err's code, or `code` when err is
 * NULL. Thread: any. */
enum mf_code mf_wrap(struct mf_err *err, enum mf_code code, const char *fmt, ...) MF_PRINTF(3, 4);

/* The lower-case name of a code ("input", "limit" …), for logs and JSON. */
const char *mf_code_name(enum mf_code code);

/* Allocation of small fixed things: ends the process on failure. Anything sized by a request has a limit of
 * its own and goes through mf_buf. */
void *mf_xmalloc(size_t n) __attribute__((malloc, returns_nonnull));
void *mf_xcalloc(size_t n, size_t size) __attribute__((malloc, returns_nonnull));
void *mf_xrealloc(void *p, size_t n) __attribute__((returns_nonnull));
char *mf_xstrdup(const char *s) __attribute__((malloc, returns_nonnull));
char *mf_xasprintf(const char *fmt, ...) MF_PRINTF(1, 2);

#endif

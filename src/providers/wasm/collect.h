/* The files that a call handed over, adopted without holding up the loop. */
#ifndef MF_WASM_COLLECT_H
#define MF_WASM_COLLECT_H

#include "loop/loop.h"
#include "sandbox/sandbox.h"

/* What came so far; all owned. Start with a zeroed struct. */
struct mf_offers {
  struct mf_offered_file *files;
  char **names; /* behind files[i].name */
  unsigned n, room;
  uint64_t bytes;   /* of those with content, as told */
  uint64_t left_n;  /* not kept here, but there */
  uint64_t other_n; /* no files */
};

/* Takes the descriptor (-1: withheld; MF_OFFERED_LOST). Only so many are kept as a result can list; the rest is
 * counted. False: more with content than the limits allow for, so the sender is not ours. */
bool mf_offers_add(struct mf_offers *o, const struct mf_sandbox_limits *limits, struct mf_str name, uint64_t size,
                   int fd);
void mf_offers_done(struct mf_offers *o);

struct mf_collect_call {
  struct mf_offers *offers;
  int job_fd; /* holds the inputs; -1: there are none */
  const struct mf_sandbox_limits *limits;
  struct mf_sandbox_result *result;
};

/* Few enough that adopting them takes no longer than starting a thread. */
bool mf_offers_are_small(const struct mf_offers *o);
/* At once. MF_E_*: the inputs cannot be read; nothing was adopted. Thread: any. */
MF_MUST_USE enum mf_code mf_collect_files(const struct mf_collect_call *c);

struct mf_collect_job;
/* On a thread; then done(user, code) once from the loop, and the mf_collect_job is gone. Until then what `c` points to
 * is lent to that thread. MF_E_SYS: no thread. Thread: the loop's. */
MF_MUST_USE enum mf_code mf_collect_files_start(struct mf_loop *loop, const struct mf_collect_call *c,
                                                void (*done)(void *user, enum mf_code code), void *user,
                                                struct mf_collect_job **ret, struct mf_err *err);
void mf_collect_files_stop(struct mf_collect_job *job); /* it ends soon, with what it has */

#endif

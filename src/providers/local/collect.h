/* The files of a run that has ended, collected without holding up the loop. */
#ifndef MF_LOCAL_COLLECT_H
#define MF_LOCAL_COLLECT_H

#include "loop/loop.h"
#include "sandbox/sandbox.h"
#include "tempdir.h"

struct mf_collect;

struct mf_collect_spec {
  int dir_fd; /* the work directory; every process of the run is dead */
  int job_fd; /* the job with the inputs; -1: there are none */
  const struct mf_sandbox_limits *limits;
  struct mf_sandbox_result *result; /* artifacts and refusals go into it */
  struct mf_tempdir remove;         /* removed afterwards; MF_TEMPDIR_NULL: nothing */
};

/* True when the directory holds so little that collecting it takes no longer than starting a thread. Thread: any. */
bool mf_collect_is_small(int dir_fd);

/* Collects at once; takes `remove`. MF_E_SYS, MF_E_INPUT: not, or not all. Blocks for up to 5 s. Thread: any. */
MF_MUST_USE enum mf_code mf_collect_now(struct mf_collect_spec *spec);

/* Collects on a thread of its own, then calls done(user, what mf_collect_now says) once from the loop; the mf_collect
 * is gone by then. Until then what the spec points to is lent to that thread, and neither the loop nor anything of it
 * may be freed. MF_OK: took `remove`. MF_E_SYS: no thread; nothing was taken. Thread: the loop's. */
MF_MUST_USE enum mf_code mf_collect_start(struct mf_loop *loop, const struct mf_collect_spec *spec,
                                          void (*done)(void *user, enum mf_code code), void *user,
                                          struct mf_collect **ret, struct mf_err *err);
/* Makes it end soon, with what it has. Idempotent. Thread: the loop's. */
void mf_collect_stop(struct mf_collect *c);

#endif

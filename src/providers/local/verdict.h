/* The verdict: what the end of a run means. A pure function, so that a table can test it. */
#ifndef MF_LOCAL_VERDICT_H
#define MF_LOCAL_VERDICT_H

#include "sandbox/frames.h"
#include "sandbox/sandbox.h"

struct mf_verdict {
  enum mf_run_status status;
  enum mf_run_reason reason;
  bool has_exit_code;
  int exit_code;          /* 0..255 */
  int signal;             /* 0 when not ended by one of its own making */
  const char *diagnostic; /* a constant; "" unless the machinery failed */
};

#define MF_DIAG_CRASHED "the sandbox worker failed"
#define MF_DIAG_SUPERVISOR_ENDED "sandbox supervisor ended"

/* `finished` comes from our own supervisor, but its word fields come from the guest: every value is range-checked and
 * a forged one can only change what the guest's own result says. Thread: any. */
void mf_verdict_of(const struct mf_sup_finished *finished, const struct mf_sandbox_limits *limits,
                   struct mf_verdict *ret);

#endif

/* The verdict: what the end of a call means. A pure function, so that a table can test it. */
#ifndef MF_WASM_VERDICT_H
#define MF_WASM_VERDICT_H

#include "frames.h"
#include "sandbox/sandbox.h"

struct mf_wasm_verdict {
  enum mf_run_status status;
  enum mf_run_reason reason;
  bool has_exit_code;
  int exit_code; /* 0..255 */
  int signal;    /* what an ordinary process would have ended by; 0: none */
};

#define MF_WASM_DIAG_CRASHED "the sandbox worker failed"
#define MF_WASM_DIAG_SILENT "the sandbox worker did not answer"
#define MF_WASM_DIAG_FILES "files could not be collected"

/* `done` has passed mf_worker_parse; its word is the guest's, and a forged one can only change what its own result
 * says. Thread: any. */
void mf_wasm_verdict_of(const struct mf_worker_done *done, struct mf_wasm_verdict *ret);

#endif

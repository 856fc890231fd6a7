/* The five host functions as mayfly_prepare sees them: a clock and randomness that are the same in every build, so that
 * the snapshot is. What it writes is for whoever builds: stderr. */
#ifndef MF_WASM_TOOL_BUILD_HOST_H
#define MF_WASM_TOOL_BUILD_HOST_H

#include <stdint.h>

#include <wasmtime.h>

#include "base/err.h"

struct mf_build_host {
  uint64_t clock_calls_n; /* each call is a microsecond later: a guest that waits for a later time ends */
  uint64_t random_state;
};

/* Defines them in `linker`. `host` must outlive every instance made with it. */
MF_MUST_USE enum mf_code mf_build_host_define(wasmtime_linker_t *linker, struct mf_build_host *host,
                                              struct mf_err *err);

/* `code` with the words of whichever of the two there is; releases both. */
enum mf_code mf_wasmtime_fail(struct mf_err *err, enum mf_code code, const char *what, wasmtime_error_t *error,
                              wasm_trap_t *trap);

#endif

/* What `mayfly doctor` says of the wasm provider, as rows like those of the local one. */
#ifndef MF_CLI_DOCTOR_WASM_H
#define MF_CLI_DOCTOR_WASM_H

#include "providers/providers.h"

#define MF_WASM_ROWS_MAX 5

struct mf_wasm_diagnosis {
  struct mf_probe_row rows[MF_WASM_ROWS_MAX];
  unsigned row_n;
  bool is_built;
  bool has_runtime; /* `runtime` is filled */
  struct mf_wasm_runtime_info runtime;
};
/* Looks for the runtime, starts one worker for real and runs a program in it. Thread: any, with no loop running. */
void mf_wasm_diagnose(const struct mf_wasm_config *config, struct mf_wasm_diagnosis *ret);

#endif

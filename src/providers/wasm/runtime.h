/* The runtime folder: where it is, what its manifest says, its code as a sealed descriptor. The public part is in
 * wasm.h. */
#ifndef MF_WASM_RUNTIME_H
#define MF_WASM_RUNTIME_H

#include "wasm/wasm.h"

/* mf_wasm_find_runtime, where `program` is not this one. */
MF_MUST_USE enum mf_code mf_wasm_find_runtime_of(const char *program, const char *explicit_path, char **ret,
                                                 struct mf_err *err);

/* Copies the guest's code into a sealed memfd while its digest is made, so that nobody can change what was verified:
 * workers map this descriptor and nothing else, and share its pages. MF_E_UNAVAILABLE: no such file, another length or
 * digest than the manifest has. Thread: any; takes some milliseconds. */
MF_MUST_USE enum mf_code mf_wasm_load_code(const char *runtime_dir, int *ret_fd, struct mf_wasm_runtime_info *ret_info,
                                           struct mf_err *err);

#endif

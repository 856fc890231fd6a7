/* Places beside the binary, and what the runtime's manifest says. The public part is in local.h. */
#ifndef MF_LOCAL_RUNTIME_H
#define MF_LOCAL_RUNTIME_H

#include "local/local.h"

/* The folder of the zygote module: `explicit_path`, else "zygote" beside `program` (NULL: this one), else
 * ../lib/mayfly/zygote. MF_E_UNAVAILABLE when none holds boot.py. *ret malloc'ed, absolute. */
MF_MUST_USE enum mf_code mf_local_find_zygote(const char *program, const char *explicit_path, char **ret,
                                              struct mf_err *err);

/* mf_local_find_runtime, where `program` is not this one. */
MF_MUST_USE enum mf_code mf_local_find_runtime_of(const char *program, const char *explicit_path, char **ret,
                                                  struct mf_err *err);

#endif

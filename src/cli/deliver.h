/* Artifacts into a directory: all or nothing, each file atomically, no symbolic link followed below the directory. */
#ifndef MF_CLI_DELIVER_H
#define MF_CLI_DELIVER_H

#include "sandbox/sandbox.h"

/* Says early that `dir` cannot take files: it is something else than a directory, or not ours to write. */
MF_MUST_USE enum mf_code mf_deliver_check(const char *dir, struct mf_err *err);

/* Writes every artifact of `r` below `dir`, which is made when absent. First all content goes into files without a
 * name; only when everything is on disk do they get their names, existing files being replaced. On an error before
 * that, nothing is left behind. Consumes the artifacts' descriptors. */
MF_MUST_USE enum mf_code mf_deliver(const char *dir, struct mf_sandbox_result *r, struct mf_err *err);

#endif

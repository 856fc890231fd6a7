/* Artifacts into a directory: all or nothing, each file atomically, no symbolic link followed below the directory. */
#ifndef MF_CLI_DELIVER_H
#define MF_CLI_DELIVER_H

#include "sandbox/sandbox.h"

/* Says early that `dir` cannot take files: it is something else than a directory, or not ours to write. */
MF_MUST_USE enum mf_code mf_deliver_check(const char *dir, struct mf_err *err);

/* The first artifact of `r` whose name below `dir` is taken, as a path for a person; NULL: none is. malloc'ed. */
char *mf_deliver_taken(const char *dir, const struct mf_sandbox_result *r);
/* The first name of a folder below `dir` ("DIR/mayfly-out-1" …) that does not exist. malloc'ed. */
char *mf_deliver_aside(const char *dir);

/* Writes every artifact of `r` below `dir`, which is made when absent. First all content goes into files without a
 * name; only when everything is on disk do they get their names. An existing file is replaced with `may_replace`, else
 * it is an error (MF_E_INPUT). On an error nothing is left behind but what has its name already. Consumes the
 * artifacts' descriptors. */
MF_MUST_USE enum mf_code mf_deliver(const char *dir, bool may_replace, struct mf_sandbox_result *r, struct mf_err *err);

#endif

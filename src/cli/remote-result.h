/* A task of a server as a result of our own: what it says is checked as a guest's word is. */
#ifndef MF_CLI_REMOTE_RESULT_H
#define MF_CLI_REMOTE_RESULT_H

#include "remote.h"
#include "sandbox/sandbox.h"

/* `task` has ended. The artifacts have names (valid, different ones), sizes and digests, but no content yet: fd -1.
 * MF_E_UNAVAILABLE: this is no result. */
MF_MUST_USE enum mf_code mf_remote_result(const struct mf_json_val *task, struct mf_sandbox_result **ret,
                                          struct mf_err *err);
/* Fetches what the artifacts hold: size and SHA-256 must be what `task` said. */
MF_MUST_USE enum mf_code mf_remote_fetch(struct mf_remote *r, struct mf_fiber *self, const struct mf_json_val *task,
                                         struct mf_sandbox_result *result, struct mf_err *err);

#endif

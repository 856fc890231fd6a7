/* Holds a result to the limits that were asked for, whatever its provider did: what is retained of a guest is bounded
 * here, once for all providers. Thread: any. */
#ifndef MF_INTERPRETER_RETAINED_H
#define MF_INTERPRETER_RETAINED_H

#include "sandbox/sandbox.h"

void mf_retained_apply(struct mf_sandbox_result *r, const struct mf_sandbox_limits *limits);

#endif

/* What holds a worker: the process gives up everything that it does not need. Thread: the worker's first, while it is
 * the only one, but for the last. */
#ifndef MF_WASM_WORKER_CONFINE_H
#define MF_WASM_WORKER_CONFINE_H

#include "base/err.h"
#include "base/hash.h"
#include "frames.h"

/* Dies with its parent, has no other descriptors than its own, joins its control group and looks whether it is there.
 */
MF_MUST_USE enum mf_code mf_worker_attach(const struct mf_worker_config *config, struct mf_err *err);

/* No privileges, no core, few descriptors, no new process. Before any code of the guest is mapped. Adds to *layers. */
MF_MUST_USE enum mf_code mf_worker_limit(const struct mf_worker_config *config, uint32_t *layers, struct mf_err *err);

/* Which of its pages this process has written: a descriptor to read that from later, when opening would not be allowed
 * any more, and which does not tell physical addresses; -1: there is none. Before mf_worker_limit. */
int mf_worker_pagemap(void);

/* The system calls that a loaded worker needs, and no other: any other one ends the process. For all threads. */
MF_MUST_USE enum mf_code mf_worker_seal(uint32_t *layers, char ret_sha256[MF_SHA256_HEX_N], struct mf_err *err);

#endif

/* The system call filter of every guest: an allow-list compiled to BPF once, outside, and handed to the zygote. */
#ifndef MF_LOCAL_SYSCALLS_H
#define MF_LOCAL_SYSCALLS_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

/* Appends the BPF program (8-byte instructions) to *ret. With shared_anon_ok false mmap(MAP_SHARED|MAP_ANONYMOUS) is
 * refused, since without a memory cgroup nothing counts it. Thread: any. */
MF_MUST_USE enum mf_code mf_seccomp_program(bool shared_anon_ok, struct mf_buf *ret, struct mf_err *err);

#endif

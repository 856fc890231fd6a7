/* The system call filter of every guest, compiled to BPF outside and handed to the zygote: an allow-list in two parts.
 *
 * To convert and compile the list takes the kernel a third of a millisecond. So the zygote puts it on itself once, and
 * every child inherits it: that is the base, which still lets through what a child needs for setting up its sandbox.
 * The last part is a few dozen instructions about exactly those calls, and each child puts it on at the end. The kernel
 * asks both and does what is stricter (seccomp(2)). */
#ifndef MF_LOCAL_SYSCALLS_H
#define MF_LOCAL_SYSCALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* Append a BPF program (8-byte instructions) to *ret. With shared_anon_ok false mmap(MAP_SHARED|MAP_ANONYMOUS) is
 * refused, since without a memory cgroup nothing counts it. Thread: any. */
MF_MUST_USE enum mf_code mf_seccomp_base(bool shared_anon_ok, struct mf_buf *ret, struct mf_err *err);
MF_MUST_USE enum mf_code mf_seccomp_last(struct mf_buf *ret, struct mf_err *err);

/* What setting up needs and a guest is not given: the base allows it, the last part does this instead. clone and prctl
 * are among them too, with rules of their own. */
struct mf_seccomp_setup {
  int nr;
  uint32_t action; /* SECCOMP_RET_* with its data */
};
size_t mf_seccomp_setup(const struct mf_seccomp_setup **ret);

#endif

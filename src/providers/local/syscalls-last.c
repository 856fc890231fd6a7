/* The last part of the guest's filter: see syscalls.h. Everything that it does not name is left to the base, which has
 * also refused the system calls of other architectures. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "syscalls.h"

#include "base/banned.h"

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

#define DO_ERRNO(n) (SECCOMP_RET_ERRNO | ((n)&SECCOMP_RET_DATA))

/* A trap becomes EPERM and a word to the user: see syscalls.c. */
static const struct mf_seccomp_setup setup[] = {
  { SYS_mount, SECCOMP_RET_TRAP },
  { SYS_umount2, SECCOMP_RET_TRAP },
  { SYS_unshare, SECCOMP_RET_TRAP },
  { SYS_setns, SECCOMP_RET_TRAP },
  { SYS_capset, SECCOMP_RET_TRAP },
  { SYS_seccomp, DO_ERRNO(EPERM) },
  { SYS_landlock_create_ruleset, DO_ERRNO(EPERM) },
  { SYS_landlock_restrict_self, DO_ERRNO(EPERM) },
  { SYS_landlock_add_rule, DO_ERRNO(ENOSYS) },
};

static const unsigned prctls[] = { PR_SET_NAME,     PR_GET_NAME,         PR_SET_VMA,     PR_GET_DUMPABLE,
                                   PR_CAPBSET_READ, PR_GET_NO_NEW_PRIVS, PR_GET_SECCOMP, PR_SET_TIMERSLACK };

/* fork-like: no flag but these and the exit signal */
#define FORKISH (CLONE_VM | CLONE_VFORK | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | CLONE_PARENT_SETTID | 0x7fu)
/* thread-like: CLONE_THREAD, and none that makes a namespace, hides from a tracer or changes the parent. (The bit of
 * CLONE_NEWTIME is in the exit signal's byte: clone does not take it.) */
#define NEVER                                                                                                          \
  ((unsigned)CLONE_NEWNS | (unsigned)CLONE_NEWCGROUP | (unsigned)CLONE_NEWUTS | (unsigned)CLONE_NEWIPC |               \
   (unsigned)CLONE_NEWUSER | (unsigned)CLONE_NEWPID | (unsigned)CLONE_NEWNET | (unsigned)CLONE_PARENT |                \
   (unsigned)CLONE_PTRACE | (unsigned)CLONE_UNTRACED | (unsigned)CLONE_PIDFD)

size_t mf_seccomp_setup(const struct mf_seccomp_setup **ret)
{
  *ret = setup;
  return MF_ARRAY_N(setup);
}

struct program {
  struct sock_filter f[128];
  size_t n;
};

static void add(struct program *p, uint16_t code, uint32_t k, uint8_t jt, uint8_t jf)
{
  p->f[p->n++] = (struct sock_filter){ code, jt, jf, k };
}

static void load(struct program *p, size_t offset)
{
  add(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void ret(struct program *p, uint32_t action)
{
  add(p, BPF_RET | BPF_K, action, 0, 0);
}

/* The low half of an argument: prctl's option is an int, a limit's number too, and clone looks at no more of its flags
 * either. */
static void load_low(struct program *p, size_t i)
{
  size_t at = offsetof(struct seccomp_data, args) + i * sizeof(uint64_t);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  load(p, at);
#else
  load(p, at + 4);
#endif
}

static void load_high(struct program *p, size_t i)
{
  size_t at = offsetof(struct seccomp_data, args) + i * sizeof(uint64_t);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  load(p, at + 4);
#else
  load(p, at);
#endif
}

/* RLIMIT_CORE stays 1, which keeps the host from being handed a guest's memory (child.c); 0 would not. To set it is
 * done without the kernel, since that no core is ever written is what such a program wants. Its value can be read; both
 * at once is refused, for there would be no old value. */
static void add_core_limit(struct program *p)
{
#ifdef SYS_setrlimit
  add(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_setrlimit, 0, 4);
  load_low(p, 0);
  add(p, BPF_JMP | BPF_JEQ | BPF_K, RLIMIT_CORE, 0, 1);
  ret(p, DO_ERRNO(0));
  ret(p, SECCOMP_RET_ALLOW);
#endif
  add(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_prlimit64, 0, 13);
  load_low(p, 1);
  add(p, BPF_JMP | BPF_JEQ | BPF_K, RLIMIT_CORE, 0, 10);
  load_low(p, 2);
  add(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2);
  load_high(p, 2);
  add(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 6, 0);
  load_low(p, 3);
  add(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3);
  load_high(p, 3);
  add(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1);
  ret(p, DO_ERRNO(0));
  ret(p, DO_ERRNO(EPERM));
  ret(p, SECCOMP_RET_ALLOW);
}

static void add_prctl(struct program *p)
{
  enum { N = MF_ARRAY_N(prctls) };
  add(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, N + 3);
  load_low(p, 0);
  for (unsigned i = 0; i < N; i++)
    add(p, BPF_JMP | BPF_JEQ | BPF_K, prctls[i], (uint8_t)(N - i), 0);
  ret(p, DO_ERRNO(ENOSYS));
  ret(p, SECCOMP_RET_ALLOW);
}

static void add_clone(struct program *p)
{
  add(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 6);
  load_low(p, 0);
  add(p, BPF_JMP | BPF_JSET | BPF_K, ~(uint32_t)FORKISH, 0, 3);
  add(p, BPF_ALU | BPF_AND | BPF_K, NEVER | CLONE_THREAD, 0, 0);
  add(p, BPF_JMP | BPF_JEQ | BPF_K, CLONE_THREAD, 1, 0);
  ret(p, DO_ERRNO(ENOSYS));
  ret(p, SECCOMP_RET_ALLOW);
}

enum mf_code mf_seccomp_last(struct mf_buf *out, struct mf_err *err)
{
  struct program p = { .n = 0 };
  load(&p, offsetof(struct seccomp_data, nr));
  for (size_t i = 0; i < MF_ARRAY_N(setup); i++) {
    add(&p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)setup[i].nr, 0, 1);
    ret(&p, setup[i].action);
  }
  add_prctl(&p);
  /* the number has been replaced by nobody: prctl's own branch ends in a verdict */
  add_clone(&p);
  add_core_limit(&p);
  ret(&p, SECCOMP_RET_ALLOW);
  enum mf_code code = mf_buf_append(out, p.f, p.n * sizeof *p.f);
  return code == MF_OK ? MF_OK : mf_fail(err, code, 0, "the seccomp filter is too long");
}

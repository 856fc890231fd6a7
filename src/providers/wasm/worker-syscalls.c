/* The system calls of a loaded worker: messages, its memory, its clock, sealed copies of files. Thread: any. */
#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/fd.h"
#include "worker-confine.h"
#include "base/banned.h"

/* What none of them has is a path, a process, an address or another process's id. */
static const char *const allowed[] = {
  /* messages, and the job's descriptor */
  "recvmsg",
  "sendmsg",
  "ppoll",
  "read",
  "pread64",
  "lseek",
  "close",
  /* files that go up */
  "memfd_create",
  "write",
  "ftruncate",
  /* memory: without PROT_EXEC, see below */
  "munmap",
  "madvise",
  "mremap",
  "brk",
  /* threads that are there already */
  "futex",
  "sched_yield",
  "gettid",
  "getpid",
  "set_robust_list",
  "rseq",
  "membarrier",
  /* time */
  "clock_gettime",
  "clock_nanosleep",
  "timerfd_settime",
  "restart_syscall",
  /* traps are signals */
  "rt_sigreturn",
  "rt_sigprocmask",
  "rt_sigaction",
  "sigaltstack",
  /* chance; the end */
  "getrandom",
  "exit",
  "exit_group",
};

static int allow(scmp_filter_ctx c, const char *name)
{
  int nr = seccomp_syscall_resolve_name(name);
  if (nr == __NR_SCMP_ERROR || nr < 0)
    return 0; /* this machine has none of that name */
  return seccomp_rule_add(c, SCMP_ACT_ALLOW, nr, 0);
}

static int add_rules(scmp_filter_ctx c)
{
  int e = 0;
  for (size_t i = 0; !e && i < MF_ARRAY_N(allowed); i++)
    e = allow(c, allowed[i]);
  /* All code is mapped by now. */
  if (!e)
    e = seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
  if (!e)
    e = seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
  if (!e)
    e = seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1, SCMP_A1(SCMP_CMP_EQ, F_ADD_SEALS));
  return e;
}

static enum mf_code digest(scmp_filter_ctx c, char ret_sha256[MF_SHA256_HEX_N], struct mf_err *err)
{
  mf_auto_close int fd = -1;
  enum mf_code code = mf_memfd("bpf", &fd, err);
  if (code != MF_OK)
    return code;
  int e = seccomp_export_bpf(c, fd);
  if (e)
    return mf_fail(err, MF_E_SYS, -e, "write the system call filter");
  char bytes[65536];
  ssize_t n = pread(fd, bytes, sizeof(bytes), 0);
  if (n <= 0 || n == (ssize_t)sizeof(bytes))
    return mf_fail(err, MF_E_INTERNAL, 0, "the system call filter has a length that cannot be");
  mf_sha256_of((struct mf_str){ bytes, (size_t)n }, ret_sha256);
  return MF_OK;
}

static enum mf_code load(scmp_filter_ctx c, char ret_sha256[MF_SHA256_HEX_N], struct mf_err *err)
{
  int e = seccomp_attr_set(c, SCMP_FLTATR_CTL_TSYNC, 1); /* the other thread too */
  if (!e)
    e = add_rules(c);
  if (e)
    return mf_fail(err, MF_E_SYS, -e, "write the system call filter");
  enum mf_code code = digest(c, ret_sha256, err);
  if (code != MF_OK)
    return code;
  /* From here on not even an ordinary user's process limit is left. */
  const struct rlimit none = { 0, 0 };
  if (setrlimit(RLIMIT_NPROC, &none) != 0)
    return mf_fail(err, MF_E_SYS, errno, "limit processes");
  e = seccomp_load(c);
  return e ? mf_fail(err, MF_E_SYS, -e, "load the system call filter") : MF_OK;
}

enum mf_code mf_worker_seal(uint32_t *layers, char ret_sha256[MF_SHA256_HEX_N], struct mf_err *err)
{
  scmp_filter_ctx c = seccomp_init(SCMP_ACT_KILL_PROCESS);
  if (!c)
    return mf_fail(err, MF_E_SYS, ENOMEM, "make the system call filter");
  enum mf_code code = load(c, ret_sha256, err);
  seccomp_release(c);
  if (code == MF_OK)
    *layers |= MF_WORKER_SECCOMP;
  return code;
}

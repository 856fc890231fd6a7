/* The base of the guest's filter: which system calls are allowed, which are refused with a word about it, which do not
 * exist.
 *
 * - Allowed: what CPython, numpy, pandas, matplotlib and openpyxl use, with processes and threads (tables below).
 * - Known to be dangerous: SECCOMP_RET_TRAP. The zygote module's SIGSYS handler turns the trap into EPERM and tells the
 *   supervisor in words which call it was (runtime/zygote/hint.c). A program that was exec'ed has no such handler and
 *   dies of SIGSYS: closed all the same.
 * - Refused: EPERM.
 * - Everything else: ENOSYS, so that the C library falls back to an older call.
 * Pointers cannot be examined by a filter: rules look at numbers only (seccomp(2)). */
#include "syscalls.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"

#include "base/banned.h"

/* clang-format off */
static const char *const allowed[] = {
  /* files */
  "read", "write", "readv", "writev", "pread64", "pwrite64", "preadv", "pwritev", "preadv2", "pwritev2", "open", "openat",
  "openat2", "close", "close_range", "creat", "stat", "fstat", "lstat", "newfstatat", "statx", "statfs", "fstatfs",
  "access", "faccessat", "faccessat2", "readlink", "readlinkat", "lseek", "dup", "dup2", "dup3", "flock",
  "ftruncate", "truncate", "fallocate", "fadvise64", "copy_file_range",
  "sendfile", "getdents", "getdents64", "getcwd", "chdir", "fchdir", "mkdir", "mkdirat", "rmdir", "unlink", "unlinkat",
  "rename", "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat", "chmod", "fchmod", "fchmodat", "umask",
  "utime", "utimes", "utimensat", "futimesat",
  /* memory (mmap has its own rules) */
  "munmap", "mprotect", "mremap", "madvise", "brk", "msync", "mincore", "membarrier",
  /* signals and timers */
  "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigtimedwait", "rt_sigpending", "rt_sigsuspend", "sigaltstack",
  "restart_syscall", "pause", "alarm", "getitimer", "setitimer", "kill", "tgkill", "tkill", "timer_create",
  "timer_settime", "timer_gettime", "timer_getoverrun", "timer_delete", "timerfd_create", "timerfd_settime",
  "timerfd_gettime", "clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep", "gettimeofday", "time", "times",
  /* processes and threads (clone has its own rules, in the last part) */
  "exit", "exit_group", "futex", "futex_waitv", "set_robust_list", "get_robust_list", "set_tid_address", "rseq",
  "arch_prctl", "fork", "vfork", "execve", "wait4", "waitid", "setpgid", "setsid", "getpgrp", "getpgid", "getsid",
  "getpid", "getppid", "gettid", "getuid", "geteuid", "getgid", "getegid", "getresuid", "getresgid", "getgroups",
  "sched_yield", "sched_getaffinity", "sched_setaffinity", "sched_getparam", "sched_getscheduler",
  "sched_get_priority_max", "sched_get_priority_min", "getcpu", "getpriority", "capget", "uname", "sysinfo",
  "getrlimit", "getrusage", "getrandom", "pidfd_open", "pidfd_send_signal",
  /* waiting */
  "pipe", "pipe2", "poll", "ppoll", "select", "pselect6", "epoll_create", "epoll_create1", "epoll_ctl", "epoll_wait",
  "epoll_pwait", "epoll_pwait2", "eventfd", "eventfd2", "signalfd4",
  /* AF_UNIX sockets (the family is checked at socket and socketpair) */
  "bind", "listen", "accept", "accept4", "connect", "sendto", "recvfrom", "sendmsg", "recvmsg", "sendmmsg", "recvmmsg",
  "shutdown", "getsockname", "getpeername", "getsockopt",
};

/* Refused with EPERM and a word to the user: calls that no library makes by the way. */
static const char *const dangerous[] = {
  "pivot_root", "chroot", "fsopen", "fsconfig", "fsmount", "fspick", "open_tree", "move_mount",
  "mount_setattr", "ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd", "bpf",
  "io_uring_setup", "io_uring_enter", "io_uring_register", "keyctl", "add_key", "request_key", "userfaultfd",
  "perf_event_open", "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "reboot", "swapon",
  "swapoff", "acct", "quotactl", "quotactl_fd", "syslog", "settimeofday", "clock_settime", "sethostname",
  "setdomainname", "iopl", "ioperm", "vhangup", "name_to_handle_at", "open_by_handle_at",
  "fanotify_init", "fanotify_mark", "shmget", "shmat", "shmctl", "msgget", "msgsnd", "msgrcv", "semget", "semop",
  "semtimedop", "semctl", "mq_open",
};

/* Refused with EPERM: what a well-meaning library may try (a copy that keeps the owner, a lower priority). */
static const char *const refused[] = {
  "chown", "fchown", "lchown", "fchownat", "setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid",
  "setgroups", "setfsuid", "setfsgid", "setpriority", "sched_setscheduler", "sched_setparam", "sched_setattr",
  "ioprio_set", "personality", "clock_adjtime", "adjtimex", "modify_ldt", "lookup_dcookie", "nfsservctl", "execveat",
};
/* clang-format on */

/* Done without the kernel: all that a guest can write lies in memory, and of a file of the image these would make the
 * host's disk flush, a thousand times a second. */
static const char *const needless[] = { "fsync", "fdatasync", "sync_file_range" };

/* Without a memory cgroup the memory behind a shared anonymous mapping is counted by nobody; neither is memfd_create,
 * which stays ENOSYS in every case: a memfd is also a writable place that can be executed. */
static int add_mmap(scmp_filter_ctx c, bool shared_anon_ok)
{
  if (shared_anon_ok)
    return seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 0);
  const unsigned both = MAP_SHARED | MAP_ANONYMOUS;
  const unsigned fine[] = { 0, MAP_SHARED, MAP_ANONYMOUS };
  int r = 0;
  for (size_t i = 0; i < MF_ARRAY_N(fine) && r == 0; i++)
    r = seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1, SCMP_A3(SCMP_CMP_MASKED_EQ, both, fine[i]));
  if (r == 0)
    r = seccomp_rule_add(c, SCMP_ACT_ERRNO(ENOMEM), SCMP_SYS(mmap), 1, SCMP_A3(SCMP_CMP_MASKED_EQ, both, both));
  return r;
}

/* A pipe or an empty file in the work directory is harmless (os.mkfifo); a device is not. */
static int add_mknod(scmp_filter_ctx c)
{
  /* clang-format off */
  static const struct { const char *name; unsigned mode_arg; } calls[] = { { "mknod", 1 }, { "mknodat", 2 } };
  static const struct { unsigned type; bool is_fine; } types[] = {
    { 0, true }, { S_IFREG, true }, { S_IFIFO, true }, { S_IFSOCK, true }, { S_IFCHR, false }, { S_IFBLK, false },
  };
  /* clang-format on */
  int r = 0;
  for (size_t i = 0; i < MF_ARRAY_N(calls); i++) {
    int nr = seccomp_syscall_resolve_name(calls[i].name);
    for (size_t k = 0; k < MF_ARRAY_N(types) && nr >= 0 && r == 0; k++)
      r = seccomp_rule_add(c, types[k].is_fine ? SCMP_ACT_ALLOW : SCMP_ACT_TRAP, nr, 1,
                           SCMP_CMP(calls[i].mode_arg, SCMP_CMP_MASKED_EQ, S_IFMT, types[k].type));
  }
  return r;
}

/* The image is shared by all: a lease on a file of it (F_SETLEASE) would make others wait for it, and a watch on a
 * folder (F_NOTIFY) would tell what they read. */
static int add_fcntl(scmp_filter_ctx c)
{
  /* clang-format off */
  static const int fine[] = {
    F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK, F_SETLK, F_SETLKW, F_SETOWN, F_GETOWN, F_SETSIG, F_GETSIG,
    F_SETOWN_EX, F_GETOWN_EX, F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW, F_DUPFD_CLOEXEC, F_SETPIPE_SZ, F_GETPIPE_SZ,
    F_ADD_SEALS, F_GET_SEALS, F_GET_RW_HINT, F_SET_RW_HINT, F_GET_FILE_RW_HINT, F_SET_FILE_RW_HINT,
  };
  /* clang-format on */
  static const int refused_commands[] = { F_SETLEASE, F_GETLEASE, F_NOTIFY };
  int r = 0;
  for (size_t i = 0; i < MF_ARRAY_N(fine) && r == 0; i++)
    r = seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1, SCMP_A1_32(SCMP_CMP_EQ, (unsigned)fine[i]));
  for (size_t i = 0; i < MF_ARRAY_N(refused_commands) && r == 0; i++)
    r = seccomp_rule_add(c, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(fcntl), 1,
                         SCMP_A1_32(SCMP_CMP_EQ, (unsigned)refused_commands[i]));
  return r;
}

/* Only socket filters are refused: programs for the kernel's BPF machine. Without a memory cgroup what lies in a socket
 * is counted by nobody, so its room stays as it is, and the caller is none the wiser. */
static int add_setsockopt(scmp_filter_ctx c, bool memory_is_counted)
{
  static const unsigned programs[] = { SO_ATTACH_FILTER, SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_CBPF,
                                       SO_ATTACH_REUSEPORT_EBPF };
  int r = seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(setsockopt), 1, SCMP_A2_32(SCMP_CMP_GT, 60));
  for (unsigned option = 0; option <= 60 && r == 0; option++) {
    uint32_t action = SCMP_ACT_ALLOW;
    for (size_t i = 0; i < MF_ARRAY_N(programs); i++) {
      if (programs[i] == option)
        action = SCMP_ACT_ERRNO(EPERM);
    }
    if (option == SO_SNDBUF && !memory_is_counted)
      action = SCMP_ACT_ERRNO(0);
    r = seccomp_rule_add(c, action, SCMP_SYS(setsockopt), 1, SCMP_A2_32(SCMP_CMP_EQ, option));
  }
  return r;
}

static int add_conditional(scmp_filter_ctx c)
{
  int r = seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1, SCMP_A0_32(SCMP_CMP_EQ, AF_UNIX));
  if (r == 0)
    r = seccomp_rule_add(c, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 1, SCMP_A0_32(SCMP_CMP_NE, AF_UNIX));
  if (r == 0)
    r = seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(socketpair), 1, SCMP_A0_32(SCMP_CMP_EQ, AF_UNIX));
  if (r == 0)
    r = seccomp_rule_add(c, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socketpair), 1, SCMP_A0_32(SCMP_CMP_NE, AF_UNIX));
  /* another process's limits are not ours to change */
  if (r == 0)
    r = seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1, SCMP_A0_32(SCMP_CMP_EQ, 0));
  if (r == 0)
    r = seccomp_rule_add(c, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(prlimit64), 1, SCMP_A0_32(SCMP_CMP_NE, 0));
  if (r == 0)
    r = seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(setrlimit), 0);
  static const unsigned long ioctls[] = { TCGETS, TIOCGWINSZ, FIOCLEX, FIONCLEX, FIONREAD, FIONBIO };
  for (size_t i = 0; i < MF_ARRAY_N(ioctls) && r == 0; i++)
    r = seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1, SCMP_A1_32(SCMP_CMP_EQ, (unsigned)ioctls[i]));
  return r;
}

/* A name that this libseccomp does not know cannot be reached by the filter's allow-list either: skip it. */
static int add_all(scmp_filter_ctx c, uint32_t action, const char *const *names, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    int nr = seccomp_syscall_resolve_name(names[i]);
    if (nr == __NR_SCMP_ERROR || nr < 0)
      continue;
    int r = seccomp_rule_add(c, action, nr, 0);
    if (r != 0)
      return r;
  }
  return 0;
}

/* The rules about these are in the last part. */
static int add_setup(scmp_filter_ctx c)
{
  const struct mf_seccomp_setup *calls;
  size_t n = mf_seccomp_setup(&calls);
  int r = seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(clone), 0);
  if (r == 0)
    r = seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 0);
  for (size_t i = 0; i < n && r == 0; i++)
    r = seccomp_rule_add(c, SCMP_ACT_ALLOW, calls[i].nr, 0);
  return r;
}

enum mf_code mf_seccomp_base(bool shared_anon_ok, struct mf_buf *ret, struct mf_err *err)
{
  scmp_filter_ctx c = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
  if (!c)
    return mf_fail(err, MF_E_INTERNAL, 0, "seccomp_init");
  /* 32-bit and x32 calls: the same numbers mean other things there, so none is let through */
  int r = seccomp_attr_set(c, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));
  if (r == 0)
    r = seccomp_attr_set(c, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* a binary tree: fewer instructions a call */
  if (r == 0)
    r = add_all(c, SCMP_ACT_ALLOW, allowed, MF_ARRAY_N(allowed));
  if (r == 0)
    r = add_all(c, SCMP_ACT_TRAP, dangerous, MF_ARRAY_N(dangerous));
  if (r == 0)
    r = add_all(c, SCMP_ACT_ERRNO(EPERM), refused, MF_ARRAY_N(refused));
  if (r == 0)
    r = add_all(c, SCMP_ACT_ERRNO(0), needless, MF_ARRAY_N(needless));
  if (r == 0)
    r = add_mmap(c, shared_anon_ok);
  if (r == 0)
    r = add_fcntl(c);
  if (r == 0)
    r = add_setsockopt(c, shared_anon_ok);
  if (r == 0)
    r = add_setup(c);
  if (r == 0)
    r = add_mknod(c);
  if (r == 0)
    r = add_conditional(c);
  mf_auto_close int fd = -1;
  enum mf_code code = MF_OK;
  if (r != 0) {
    code = mf_fail(err, MF_E_INTERNAL, -r, "build the seccomp filter");
  } else if ((code = mf_memfd("bpf", &fd, err)) == MF_OK && (r = seccomp_export_bpf(c, fd)) != 0) {
    code = mf_fail(err, MF_E_INTERNAL, -r, "export the seccomp filter");
  }
  seccomp_release(c);
  if (code != MF_OK)
    return code;
  if (lseek(fd, 0, SEEK_SET) < 0)
    return mf_fail(err, MF_E_SYS, errno, "read the seccomp filter");
  char chunk[8192];
  for (ssize_t n; (n = read(fd, chunk, sizeof chunk)) != 0;) {
    if (n < 0)
      return mf_fail(err, MF_E_SYS, errno, "read the seccomp filter");
    code = mf_buf_append(ret, chunk, (size_t)n);
    if (code != MF_OK)
      return mf_fail(err, code, 0, "the seccomp filter is too long");
  }
  return MF_OK;
}

/* Attempts: each layer of the sandbox, made once for real in a process that ends at once.
 *
 * The calls are those of the outer sandbox and of the children (clone3 with the namespace flags, a new mount over a
 * temporary file system, pivot_root), so that what fails here would fail there. Nothing of the machine is changed: all
 * mounts are in a namespace that dies with the process. */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "confine/cgroup.h"

#include "base/banned.h"

#define WAIT_MS 10000

static void fail_at(struct mf_attempt *a, const char *step, int sys)
{
  a->ok = false;
  a->sys = sys;
  snprintf(a->step, sizeof(a->step), "%s", step);
}

/* ---- namespaces; these run inside them ---- */

static bool write_text(const char *path, const char *text)
{
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0)
    return false;
  size_t n = strlen(text);
  bool ok = write(fd, text, n) == (ssize_t)n;
  int sys = errno;
  close(fd);
  errno = sys;
  return ok;
}

struct ids {
  unsigned uid, gid;
};

/* The order of user_namespaces(7): without privileges setgroups must be given up before gid_map. */
static bool map_user(struct mf_attempt *a, const struct ids *outer)
{
  char uid[48], gid[48];
  snprintf(uid, sizeof(uid), "0 %u 1", outer->uid);
  snprintf(gid, sizeof(gid), "0 %u 1", outer->gid);
  if (!write_text("/proc/self/uid_map", uid) || !write_text("/proc/self/setgroups", "deny") ||
      !write_text("/proc/self/gid_map", gid)) {
    fail_at(a, "map user", errno);
    return false;
  }
  return true;
}

/* A private place to mount on: any folder of the root will do, since nobody else sees it. */
static const char *mount_place(struct mf_attempt *a, const char *options)
{
  static const char *const places[] = { "/tmp", "/mnt", "/var", "/dev" };
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
    fail_at(a, "mount private", errno);
    return NULL;
  }
  for (size_t i = 0; i < MF_ARRAY_N(places); i++) {
    if (mount("tmpfs", places[i], "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options) == 0)
      return places[i];
    if (errno != ENOENT && errno != ENOTDIR)
      break;
  }
  fail_at(a, "mount tmpfs", errno);
  return NULL;
}

static void try_mount(struct mf_attempt *a)
{
  const char *place = mount_place(a, "size=1m,mode=755");
  char file[64];
  if (!place)
    return;
  snprintf(file, sizeof(file), "%s/probe", place);
  int fd = open(file, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0)
    fail_at(a, "mount tmpfs", errno);
  else
    snprintf(a->note, sizeof(a->note), "a private tmpfs was mounted");
}

static void try_net(struct mf_attempt *a)
{
  /* 192.0.2.0/24 is for documentation (RFC 5737): in an empty namespace there is no way even there. */
  struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9), .sin_addr = { htonl(0xc0000201) } };
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0 && errno == EAFNOSUPPORT) {
    snprintf(a->note, sizeof(a->note), "an empty one was made");
    return;
  }
  if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
    fail_at(a, "unshare network", fd < 0 ? errno : EISCONN);
  else
    snprintf(a->note, sizeof(a->note), "an empty one was made: %s", strerrordesc_np(errno));
}

static void try_uts(struct mf_attempt *a)
{
  char name[65] = "";
  if (sethostname("mayfly-probe", 12) != 0 || gethostname(name, sizeof(name)) != 0)
    fail_at(a, "unshare uts", errno);
  else if (strcmp(name, "mayfly-probe") != 0)
    fail_at(a, "unshare uts", EPERM);
  else
    snprintf(a->note, sizeof(a->note), "it has a host name of its own");
}

static void try_pid(struct mf_attempt *a)
{
  if (getpid() != 1)
    fail_at(a, "unshare pid", EINVAL);
  else
    snprintf(a->note, sizeof(a->note), "its first process is number 1");
}

static void try_ipc(struct mf_attempt *a)
{
  snprintf(a->note, sizeof(a->note), "made");
}

static void try_user(struct mf_attempt *a)
{
  if (geteuid() != 0)
    fail_at(a, "map user", EPERM);
  else
    snprintf(a->note, sizeof(a->note), "made, and our user is its root");
}

static void try_proc(struct mf_attempt *a)
{
  const char *place = mount_place(a, "size=1m,mode=755");
  char dir[64], self[80];
  if (!place)
    return;
  snprintf(dir, sizeof(dir), "%s/proc", place);
  if (mkdir(dir, 0755) != 0) {
    fail_at(a, "mount tmpfs", errno);
    return;
  }
  const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY;
  bool small = mount("proc", dir, "proc", flags, "subset=pid,hidepid=invisible") == 0; /* Linux 5.8 */
  if (!small && mount("proc", dir, "proc", flags, NULL) != 0) {
    fail_at(a, "mount proc", errno);
    return;
  }
  snprintf(self, sizeof(self), "%s/1/status", dir);
  if (access(self, R_OK) != 0)
    fail_at(a, "mount proc", errno);
  else
    snprintf(a->note, sizeof(a->note),
             small ? "a new one shows its own processes only" : "a new one could be mounted, without subset=pid");
}

static void try_pivot(struct mf_attempt *a)
{
  const char *place = mount_place(a, "size=1m,mode=755");
  if (!place)
    return;
  if (chdir(place) != 0 || syscall(SYS_pivot_root, ".", ".") != 0 || umount2(".", MNT_DETACH) != 0 || chdir("/") != 0)
    fail_at(a, "pivot root", errno);
  else if (access("/proc", F_OK) == 0) /* our root is an empty tmpfs now */
    fail_at(a, "pivot root", EEXIST);
  else
    snprintf(a->note, sizeof(a->note), "the old root is gone");
}

static void try_pages(struct mf_attempt *a)
{
  if (mount_place(a, "huge=always,size=8m"))
    snprintf(a->note, sizeof(a->note), "a tmpfs of huge pages was mounted");
  else
    fail_at(a, "huge pages", a->sys);
}

/* ---- without namespaces ---- */

static bool set_nnp(struct mf_attempt *a)
{
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
    return true;
  fail_at(a, "no_new_privs", errno);
  return false;
}

static void try_nnp(struct mf_attempt *a)
{
  if (set_nnp(a))
    snprintf(a->note, sizeof(a->note), "set");
}

/* Inside a user namespace, where we have them all. */
static void try_caps(struct mf_attempt *a)
{
  for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++) {
    if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0) {
      fail_at(a, "drop capabilities", errno);
      return;
    }
  }
  struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
  struct __user_cap_data_struct none[2] = { { 0 } }, now[2] = { { ~0u, ~0u, ~0u }, { ~0u, ~0u, ~0u } };
  if (syscall(SYS_capset, &head, none) != 0 || syscall(SYS_capget, &head, now) != 0)
    fail_at(a, "drop capabilities", errno);
  else if (now[0].permitted || now[1].permitted || now[0].effective || now[1].effective)
    fail_at(a, "drop capabilities", 0);
  else
    snprintf(a->note, sizeof(a->note), "all dropped");
}

static void try_rlimit(struct mf_attempt *a)
{
  static const struct {
    int what;
    rlim_t value;
  } rows[] = { { RLIMIT_CORE, 0 }, { RLIMIT_NOFILE, 64 }, { RLIMIT_NPROC, 16 }, { RLIMIT_FSIZE, 1 << 20 } };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    struct rlimit set = { rows[i].value, rows[i].value }, now;
    if (setrlimit((__rlimit_resource_t)rows[i].what, &set) != 0 ||
        getrlimit((__rlimit_resource_t)rows[i].what, &now) != 0) {
      fail_at(a, "rlimits", errno);
      return;
    }
    if (now.rlim_max != rows[i].value) {
      fail_at(a, "rlimits", 0);
      return;
    }
  }
  snprintf(a->note, sizeof(a->note), "lowered");
}

static void try_seccomp(struct mf_attempt *a)
{
  struct sock_filter code[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = { MF_ARRAY_N(code), code };
  if (!set_nnp(a))
    return;
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
    fail_at(a, "seccomp", errno);
  else if (syscall(SYS_getppid) != -1 || errno != EPERM)
    fail_at(a, "seccomp", 0);
  else
    snprintf(a->note, sizeof(a->note), "a filter was installed and refused a call");
}

#ifndef LANDLOCK_CREATE_RULESET_VERSION
#define LANDLOCK_CREATE_RULESET_VERSION (1U << 0)
#endif

static void try_landlock(struct mf_attempt *a)
{
  const struct landlock_ruleset_attr attr = { .handled_access_fs = LANDLOCK_ACCESS_FS_READ_FILE };
  long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (abi < 1) {
    fail_at(a, "landlock", errno);
    return;
  }
  int fd = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
  if (fd < 0 || !set_nnp(a) || syscall(SYS_landlock_restrict_self, fd, 0) != 0) {
    fail_at(a, "landlock", errno);
    return;
  }
  if (open("/proc/self/status", O_RDONLY | O_CLOEXEC) >= 0 || errno != EACCES)
    fail_at(a, "landlock", 0);
  else
    snprintf(a->note, sizeof(a->note), "ABI %ld%s", abi,
             abi >= 6 ? ", with scopes for signals and sockets" : " (6 would also fence signals: Linux 6.12)");
}

static void try_pidfd(struct mf_attempt *a)
{
  int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
  if (fd < 0 || syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0) != 0)
    fail_at(a, "pidfd", errno);
  else
    snprintf(a->note, sizeof(a->note), "opened and signalled");
}

static void try_memfd(struct mf_attempt *a)
{
  int fd = memfd_create("probe", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0 || write(fd, "x", 1) != 1 || fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW) != 0)
    fail_at(a, "memfd", errno);
  else if (write(fd, "y", 1) == 1)
    fail_at(a, "memfd", 0);
  else
    snprintf(a->note, sizeof(a->note), "made and sealed");
}

static void try_openat2(struct mf_attempt *a)
{
  struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };
  int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root < 0 || syscall(SYS_openat2, root, ".", &how, sizeof(how)) < 0)
    fail_at(a, "openat2", errno);
  else if (syscall(SYS_openat2, root, "..", &how, sizeof(how)) >= 0 || errno != EXDEV)
    fail_at(a, "openat2", 0);
  else
    snprintf(a->note, sizeof(a->note), "stayed beneath its directory");
}

static void try_close_range(struct mf_attempt *a)
{
  if (syscall(SYS_close_range, 1000000u, ~0u, 0u) != 0)
    fail_at(a, "close_range", errno);
  else
    snprintf(a->note, sizeof(a->note), "there");
}

static void try_cgroup(struct mf_attempt *a)
{
  struct mf_err why = { 0 };
  const struct mf_cgroup_options options = {
    .slot_n = 1, .memory_bytes = MF_MEMORY_BYTES_MIN, .pids = 16, .probe_join = true
  };
  struct mf_cgroup *cg = mf_cgroup_new(&options, &why);
  enum mf_cgroup_kind kind = mf_cgroup_kind(cg);
  const char *pids = mf_cgroup_has_pids(cg) ? " and processes" : "";
  switch (kind) {
  case MF_CGROUP_NONE:
    fail_at(a, "cgroup", why.sys);
    snprintf(a->note, sizeof(a->note), "%.240s", why.msg[0] ? why.msg : "none can be made");
    break;
  case MF_CGROUP_V1:
    snprintf(a->note, sizeof(a->note), "v1 groups limit memory%s", pids);
    break;
  case MF_CGROUP_V2:
    snprintf(a->note, sizeof(a->note), "v2, delegated to us: groups limit memory%s", pids);
    break;
  }
  mf_cgroup_free(cg);
}

/* ---- running one ---- */

struct attempt_row {
  uint64_t flags; /* namespaces, beside the user namespace; with NEWUSER alone or more: mapped first */
  const char *step;
  void (*run)(struct mf_attempt *a);
};

static const struct attempt_row attempt_rows[MF_ATTEMPT_N] = {
  [MF_ATTEMPT_USER] = { CLONE_NEWUSER, "unshare user", try_user },
  [MF_ATTEMPT_PID] = { CLONE_NEWUSER | CLONE_NEWPID, "unshare pid", try_pid },
  [MF_ATTEMPT_MOUNT] = { CLONE_NEWUSER | CLONE_NEWNS, "unshare mount", try_mount },
  [MF_ATTEMPT_NET] = { CLONE_NEWUSER | CLONE_NEWNET, "unshare network", try_net },
  [MF_ATTEMPT_IPC] = { CLONE_NEWUSER | CLONE_NEWIPC, "unshare ipc", try_ipc },
  [MF_ATTEMPT_UTS] = { CLONE_NEWUSER | CLONE_NEWUTS, "unshare uts", try_uts },
  [MF_ATTEMPT_PROC] = { CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS, "unshare pid", try_proc },
  [MF_ATTEMPT_PIVOT] = { CLONE_NEWUSER | CLONE_NEWNS, "unshare mount", try_pivot },
  [MF_ATTEMPT_NNP] = { 0, "fork", try_nnp },
  [MF_ATTEMPT_CAPS] = { CLONE_NEWUSER, "unshare user", try_caps },
  [MF_ATTEMPT_RLIMIT] = { 0, "fork", try_rlimit },
  [MF_ATTEMPT_SECCOMP] = { 0, "fork", try_seccomp },
  [MF_ATTEMPT_LANDLOCK] = { 0, "fork", try_landlock },
  [MF_ATTEMPT_PIDFD] = { 0, "fork", try_pidfd },
  [MF_ATTEMPT_MEMFD] = { 0, "fork", try_memfd },
  [MF_ATTEMPT_OPENAT2] = { 0, "fork", try_openat2 },
  [MF_ATTEMPT_CLOSE_RANGE] = { 0, "fork", try_close_range },
  [MF_ATTEMPT_CGROUP] = { 0, "fork", try_cgroup },
  [MF_ATTEMPT_PAGES] = { CLONE_NEWUSER | CLONE_NEWNS, "unshare mount", try_pages },
};

MF_NORETURN static void be_attempt(const struct attempt_row *row, const struct ids *outer, int out)
{
  struct mf_attempt a = { .ok = true };
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (row->flags == 0 || map_user(&a, outer))
    row->run(&a);
  (void)!write(out, &a, sizeof(a));
  _exit(0);
}

static pid_t start(const struct attempt_row *row, const struct ids *outer, int out)
{
  pid_t pid;
  if (row->flags == 0) {
    pid = fork();
  } else {
    struct clone_args args = { .flags = row->flags, .exit_signal = SIGCHLD };
    pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
  }
  if (pid == 0)
    be_attempt(row, outer, out);
  return pid;
}

void mf_attempt(enum mf_attempt_kind kind, struct mf_attempt *ret)
{
  const struct attempt_row *row = &attempt_rows[kind];
  const struct ids outer = { geteuid(), getegid() };
  int pipe_fds[2];

  *ret = (struct mf_attempt){ .ok = true };
  if (pipe2(pipe_fds, O_CLOEXEC) != 0) {
    fail_at(ret, "pipe", errno);
    return;
  }
  mf_auto_close int in = pipe_fds[0], out = pipe_fds[1];
  pid_t pid = start(row, &outer, out);
  if (pid < 0) {
    fail_at(ret, row->step, errno);
    return;
  }
  mf_close_ptr(&out);

  struct pollfd p = { .fd = in, .events = POLLIN };
  int ready;
  do
    ready = poll(&p, 1, WAIT_MS);
  while (ready < 0 && errno == EINTR);
  struct mf_attempt got;
  if (ready == 1 && read(in, &got, sizeof(got)) == (ssize_t)sizeof(got))
    *ret = got;
  else
    fail_at(ret, row->step, ready == 0 ? ETIMEDOUT : EPROTO); /* it hung, or a signal ended it */
  kill(pid, SIGKILL);
  while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
    ;
}

/* A guest's own sandbox. Runs in the forked child, before any code of the user's: each step either holds or ends the
 * child with the step's name. The order matters: cgroup first (everything after is counted), mounts before the user
 * namespace (mounts belong to the outer one, so the guest can never undo them), id maps through the host's /proc, then
 * capabilities, Landlock, seccomp: each takes away what the one before still needed. */
#include "zygote-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Landlock as of ABI 6; the headers of the build machine may be older (landlock(7)). */
struct ll_ruleset {
  uint64_t fs, net, scoped;
};
#define LL_EXECUTE (1ull << 0)
#define LL_WRITE_FILE (1ull << 1)
#define LL_READ_FILE (1ull << 2)
#define LL_READ_DIR (1ull << 3)
#define LL_REFER (1ull << 13)
#define LL_TRUNCATE (1ull << 14)
#define LL_IOCTL_DEV (1ull << 15)
#define LL_FS_V1 ((1ull << 13) - 1)

struct setup {
  const struct zygote *z;
  int proc;      /* the host's /proc */
  uint32_t done; /* layers that hold */
};

__attribute__((noreturn)) static void fail(const char *step)
{
  zyg_fatal(ZYG_CONTROL_FD, MF_CHILD_FAILED, step, errno);
}

static bool wants(const struct setup *s, uint32_t layer, const char *step)
{
  if (s->z->config.fail_layers & layer) {
    errno = EPERM;
    fail(step);
  }
  return (s->z->config.layers & layer) != 0;
}

/* The inherited descriptors down to what a guest has: 0, 1, 2, its control socket, for a moment the host's /proc. */
static void set_up_fds(struct setup *s, const struct zyg_child_fds *fds)
{
  int control = fcntl(fds->control, F_DUPFD_CLOEXEC, ZYG_CONTROL_FD);
  int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (control != ZYG_CONTROL_FD)
    _exit(113); /* nobody to tell */
  if (null < 0 || dup2(null, 0) < 0 || dup2(fds->out, 1) < 0 || dup2(fds->err, 2) < 0)
    fail("descriptors");
  int proc = fcntl(ZYG_PROC_FD, F_DUPFD_CLOEXEC, ZYG_CONTROL_FD + 1);
  if (proc < 0 || syscall(SYS_close_range, 3u, (unsigned)ZYG_CONTROL_FD - 1, 0u) != 0 ||
      syscall(SYS_close_range, (unsigned)proc + 1, ~0u, 0u) != 0)
    fail("close_range");
  s->proc = proc;
}

static int write_at(int dir, const char *path, const char *text)
{
  int fd = openat(dir, path, O_WRONLY | O_CLOEXEC);
  if (fd < 0)
    return -1;
  ssize_t n = write(fd, text, strlen(text));
  int error = errno;
  close(fd);
  errno = error;
  return n == (ssize_t)strlen(text) ? 0 : -1;
}

static void join_cgroup(struct setup *s, const struct zyg_child_fds *fds)
{
  for (int i = 0; i < 2; i++) {
    if (fds->cgroup[i] < 0)
      continue;
    if (write(fds->cgroup[i], "0", 1) < 0)
      fail("join cgroup");
    s->done |= MF_LAYER_CGROUP;
  }
}

static void unshare_namespaces(struct setup *s)
{
  int flags = 0;
  if (wants(s, MF_LAYER_MOUNT, "unshare mount"))
    flags |= CLONE_NEWNS;
  if (wants(s, MF_LAYER_IPC, "unshare ipc"))
    flags |= CLONE_NEWIPC;
  if (wants(s, MF_LAYER_UTS, "unshare uts"))
    flags |= CLONE_NEWUTS;
  (void)wants(s, MF_LAYER_NET, "unshare network"); /* the zygote forked us in the network namespace of our slot */
  if (flags && unshare(flags) != 0)
    fail("unshare");
  /* /proc/self/cgroup shall not name the host's groups; not a wall, so it may be missing */
  if (flags)
    (void)unshare(CLONE_NEWCGROUP);
  s->done |= s->z->config.layers & (MF_LAYER_MOUNT | MF_LAYER_IPC | MF_LAYER_UTS | MF_LAYER_NET | MF_LAYER_PID);
}

/* One tmpfs holds all that a guest can write; /tmp and /dev/shm are links into it. */
static void mount_work(const struct setup *s)
{
  static const char *const dirs[] = { "/mnt/data", "/mnt/tmp", "/mnt/shm", "/mnt/task", "/mnt/mpl" };
  char options[96], from[96], to[96];
  snprintf(options, sizeof options, "size=%llu,nr_inodes=%u,mode=755", (unsigned long long)s->z->config.disk_bytes,
           s->z->config.disk_inodes);
  if (mount("tmpfs", "/mnt", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options) != 0)
    fail("mount work directory");
  for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
    if (mkdir(dirs[i], 0755) != 0)
      fail("mount work directory");
  }
  for (unsigned i = 0; i < s->z->mpl_n; i++) {
    snprintf(from, sizeof from, "/opt/mpl/%s", s->z->mpl_names[i]);
    snprintf(to, sizeof to, "/mnt/mpl/%s", s->z->mpl_names[i]);
    if (symlink(from, to) != 0)
      fail("mount work directory");
  }
  if (chdir("/mnt/data") != 0)
    fail("chdir");
}

/* Only this namespace's processes, nothing of the kernel's. A host that masks its own /proc forbids it, and then the
 * zygote's must not show through; a sandbox without one still works (the receipt says so). */
static void mount_proc(struct setup *s)
{
  if (!(s->z->config.layers & MF_LAYER_PROC))
    return;
  bool forbidden = (s->z->config.fail_layers & MF_LAYER_PROC) != 0; /* as a test has it */
  if (!forbidden &&
      mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, "subset=pid,hidepid=invisible") == 0)
    s->done |= MF_LAYER_PROC;
  else if (umount2("/proc", MNT_DETACH) != 0 && errno != EINVAL)
    fail("mount proc");
}

static void enter_user_namespace(struct setup *s)
{
  if (!wants(s, MF_LAYER_USER, "unshare user"))
    return;
  (void)write_at(s->proc, "self/oom_score_adj", "1000"); /* the first to go when the host is short of memory */
  if (unshare(CLONE_NEWUSER) != 0)
    fail("unshare user");
  if (write_at(s->proc, "self/uid_map", "1000 0 1") != 0 || write_at(s->proc, "self/setgroups", "deny") != 0 ||
      write_at(s->proc, "self/gid_map", "1000 0 1") != 0)
    fail("map user");
  s->done |= MF_LAYER_USER;
}

static void set_rlimits(struct setup *s)
{
  if (!wants(s, MF_LAYER_RLIMIT, "rlimits"))
    return;
  const struct {
    int what;
    rlim_t value;
  } rows[] = {
    /* clang-format off */
    { RLIMIT_CORE, 1 }, /* 0 still starts the host's core_pattern program, with our memory; 1 never does (core(5)) */
    { RLIMIT_FSIZE, s->z->config.disk_bytes },
    { RLIMIT_MEMLOCK, 65536 },
    { RLIMIT_MSGQUEUE, 0 },
    { RLIMIT_SIGPENDING, 1024 }, /* timers too; also counted for the user outside, whom all guests share */
    { RLIMIT_NICE, 0 },
    { RLIMIT_RTPRIO, 0 },
    /* clang-format on */
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct rlimit r = { rows[i].value, rows[i].value }, old;
    /* never above what the host allows us */
    if (getrlimit((unsigned)rows[i].what, &old) == 0 && old.rlim_max < r.rlim_max)
      r.rlim_cur = r.rlim_max = old.rlim_max;
    if (setrlimit((unsigned)rows[i].what, &r) != 0)
      fail("rlimits");
  }
  s->done |= MF_LAYER_RLIMIT;
}

/* After READY, which sends a descriptor: a user's descriptors in flight are counted together, and held against the
 * limit of whoever sends the next. What guests may hold must stay below what the machinery may. */
static void limit_files(const struct setup *s)
{
  struct rlimit r;
  if (!(s->done & MF_LAYER_RLIMIT))
    return;
  if (getrlimit(RLIMIT_NOFILE, &r) != 0)
    fail("rlimits");
  rlim_t half = r.rlim_max / 2;
  r.rlim_cur = r.rlim_max = half < s->z->config.files ? half : s->z->config.files;
  if (setrlimit(RLIMIT_NOFILE, &r) != 0)
    fail("rlimits");
}

static void drop_capabilities(struct setup *s)
{
  if (!wants(s, MF_LAYER_CAPS, "drop capabilities"))
    return;
  for (int i = 0; i <= s->z->last_cap; i++) {
    if (prctl(PR_CAPBSET_DROP, i, 0, 0, 0) != 0 && errno != EINVAL)
      fail("drop capabilities");
  }
  (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
  struct __user_cap_data_struct none[2];
  memset(none, 0, sizeof none);
  if (syscall(SYS_capset, &head, none) != 0)
    fail("drop capabilities");
  s->done |= MF_LAYER_CAPS;
}

static void allow_beneath(int ruleset, const char *path, uint64_t access)
{
  struct landlock_path_beneath_attr rule = { .allowed_access = access };
  rule.parent_fd = open(path, O_PATH | O_CLOEXEC);
  if (rule.parent_fd < 0) {
    if (errno == ENOENT)
      return; /* not every image has every folder */
    fail("landlock");
  }
  if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0)
    fail("landlock");
  close(rule.parent_fd);
}

/* A second wall behind the mounts: read everywhere, execute only the image's programs and libraries, write only below
 * /mnt; no TCP at all; signals and abstract sockets only among the guest's own processes. */
static void restrict_landlock(struct setup *s)
{
  if (!wants(s, MF_LAYER_LANDLOCK, "landlock"))
    return;
  int abi = s->z->landlock_abi;
  if (abi <= 0) {
    errno = ENOSYS;
    fail("landlock");
  }
  uint64_t fs = LL_FS_V1 | (abi >= 2 ? LL_REFER : 0) | (abi >= 3 ? LL_TRUNCATE : 0) | (abi >= 5 ? LL_IOCTL_DEV : 0);
  struct ll_ruleset attr = { .fs = fs, .net = abi >= 4 ? 3 : 0, .scoped = abi >= 6 ? 3 : 0 };
  size_t size = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
  int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
  if (ruleset < 0)
    fail("landlock");
  allow_beneath(ruleset, "/", LL_READ_FILE | LL_READ_DIR);
  allow_beneath(ruleset, "/opt/python", LL_EXECUTE | LL_READ_FILE | LL_READ_DIR);
  allow_beneath(ruleset, "/usr/lib", LL_EXECUTE | LL_READ_FILE | LL_READ_DIR);
  allow_beneath(ruleset, "/lib", LL_EXECUTE | LL_READ_FILE | LL_READ_DIR);
  allow_beneath(ruleset, "/lib64", LL_EXECUTE | LL_READ_FILE | LL_READ_DIR);
  allow_beneath(ruleset, "/mnt", fs & ~(LL_EXECUTE | LL_IOCTL_DEV));
  allow_beneath(ruleset, "/dev/null", LL_READ_FILE | LL_WRITE_FILE | (fs & LL_TRUNCATE));
  if (syscall(SYS_landlock_restrict_self, ruleset, 0) != 0)
    fail("landlock");
  close(ruleset);
  s->done |= MF_LAYER_LANDLOCK | (abi >= 6 ? MF_LAYER_LANDLOCK_SCOPE : 0);
}

static void install_seccomp(struct setup *s)
{
  if (wants(s, MF_LAYER_NNP, "no_new_privs")) {
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
      fail("no_new_privs");
    s->done |= MF_LAYER_NNP;
  }
  restrict_landlock(s);
  bool filter = wants(s, MF_LAYER_SECCOMP, "seccomp");
  if (zyg_hint_install() != 0)
    fail("sigaction");
  close(s->proc);
  if (!filter)
    return;
  struct sock_fprog program = s->z->last; /* the base has been on since the zygote's birth */
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
    fail("seccomp");
  s->done |= MF_LAYER_SECCOMP;
}

static void tell_ready(const struct setup *s, int work)
{
  struct mf_child_ready r = { .type = MF_CHILD_READY, .layers = s->done, .landlock_abi = s->z->landlock_abi };
  if (zyg_send_fds(ZYG_CONTROL_FD, &r, sizeof r, &work, 1) != 0)
    _exit(114); /* the supervisor has gone, and so shall we */
}

static uint32_t has_files(void)
{
  int fd = open("/mnt/data", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return 1; /* let the collector find out */
  char buf[1024];
  long n = syscall(SYS_getdents64, fd, buf, sizeof buf);
  close(fd);
  /* "." and ".." take 24 bytes each */
  return n != 48;
}

void zyg_after_fork(struct zygote *z)
{
  PyOS_AfterFork_Child();
  z->is_own_fork = false;
}

void zyg_child_main(struct zygote *z, const struct zyg_child_fds *fds)
{
  struct setup s = { .z = z };
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
    _exit(115);
  /* a process group is not fenced by a pid namespace: kill(0) must not reach the zygote */
  (void)setsid();
  /* the group's descriptors are closed with the rest, so join before */
  join_cgroup(&s, fds);
  set_up_fds(&s, fds);
  zyg_after_fork(z);
  signal(SIGCHLD, SIG_DFL);
  sigprocmask(SIG_SETMASK, &z->mask, NULL);

  unshare_namespaces(&s);
  mount_work(&s);
  mount_proc(&s);
  int work = open("/mnt/data", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (work < 0)
    fail("open work directory");
  enter_user_namespace(&s);
  set_rlimits(&s);
  drop_capabilities(&s);
  install_seccomp(&s);
  (void)prctl(PR_SET_NAME, "python");

  PyObject *r = z->prepare ? PyObject_CallNoArgs(z->prepare) : NULL;
  if (z->prepare && !r) {
    errno = EINVAL;
    fail("prepare");
  }
  Py_XDECREF(r);
  if (fds->prefault)
    zyg_hot_fetch(z);
  tell_ready(&s, work);
  close(work);
  limit_files(&s);

  struct zyg_job job;
  const char *step = NULL;
  int error = zyg_job_receive(&job, &step);
  if (error == 0 && (error = zyg_job_limits(&job)) != 0)
    step = "limits";
  if (error != 0) {
    errno = -error;
    fail(step);
  }
  struct mf_child_word word = { .type = MF_CHILD_WORD };
  pid_t first = getpid();
  zyg_script_run(z, &job, &word);
  fflush(NULL);
  if (getpid() != first)
    _exit(word.exit_code); /* a fork of the program's, which came to the end of the file: not ours to speak of */
  word.has_files = has_files();
  struct rusage ru;
  if (getrusage(RUSAGE_CHILDREN, &ru) == 0)
    word.children_cpu_us = zyg_cpu_us(&ru);
  (void)send(ZYG_CONTROL_FD, &word, sizeof word, MSG_NOSIGNAL);
  _exit(word.exit_code);
}

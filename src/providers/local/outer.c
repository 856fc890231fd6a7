/* The outer sandbox: one process tree per zygote.
 *
 *   supervisor ── init (PID 1 of the new namespaces: mounts, drops to the sandbox's user, reaps) ── zygote (python)
 *
 * The init is cloned straight into its namespaces, so killing it ends everything below for certain
 * (pid_namespaces(7)). Its id maps are written by the supervisor, because root may map a user that it is not. Mounts
 * come first, while the init still has the outer user's right to walk to the runtime; then it becomes the sandbox's
 * user. */
#include "outer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <grp.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "syscalls.h"

#include "base/banned.h"

/* The host user of every sandbox when we are root: too high to collide with an account or a common subuid range. */
#define SANDBOX_UID 1835401217u

/* A process id that no guest's first processes can have: OpenSSL tells a fork by its pid, so a zygote and a guest with
 * equal pids (in different namespaces) would share random numbers. */
#define ZYGOTE_PID 31000

struct outer_child {
  const struct mf_outer_spec *spec;
  int sock;      /* to the supervisor */
  int config;    /* memfd for the zygote */
  int gate;      /* a byte arrives when the id maps are written */
  int host_proc; /* O_PATH of the supervisor's /proc: the zygote writes its children's id maps through it */
  int cgroup[2];
};

/* Everything below here runs in the new process: no memory is allocated, a failure is a frame and the end. */
MF_NORETURN static void give_up(const struct outer_child *c, const char *step, int error)
{
  struct mf_zyg_fatal f = { .type = MF_ZYG_FATAL, .error = error };
  snprintf(f.step, sizeof f.step, "%s", step);
  snprintf(f.text, sizeof f.text, "%s: %s", step, strerror(error));
  (void)send(c->sock, &f, sizeof f, MSG_NOSIGNAL);
  _exit(1);
}

/* Flags that a remount must repeat, since a less privileged mount namespace may not drop them (mount_namespaces(7)). */
static unsigned long kept_flags(const char *path)
{
  struct statfs f;
  if (statfs(path, &f) != 0)
    return 0;
  unsigned long r = 0;
  if (f.f_flags & ST_NOSUID)
    r |= MS_NOSUID;
  if (f.f_flags & ST_NODEV)
    r |= MS_NODEV;
  if (f.f_flags & ST_NOEXEC)
    r |= MS_NOEXEC;
  if (f.f_flags & ST_NOATIME)
    r |= MS_NOATIME;
  if (f.f_flags & ST_NODIRATIME)
    r |= MS_NODIRATIME;
  if (f.f_flags & ST_RELATIME)
    r |= MS_RELATIME;
  return r;
}

struct bind {
  const char *from; /* host path, or NULL for the rootfs itself */
  const char *to;   /* below the rootfs */
  unsigned long flags;
};

/* Data first: what is mounted, in order. Device nodes cannot be made in a user namespace, so the host's are bound. */
static void mount_binds(const struct outer_child *c)
{
  const struct mf_outer_spec *s = c->spec;
  const struct bind binds[] = {
    { s->rootfs, "", MS_NOSUID | MS_NODEV | MS_RDONLY },
    { s->zygote_dir, "/opt/mayfly", MS_NOSUID | MS_NODEV | MS_RDONLY },
    { "/dev/null", "/dev/null", MS_NOSUID | MS_NOEXEC },
    { "/dev/zero", "/dev/zero", MS_NOSUID | MS_NOEXEC | MS_RDONLY },
    { "/dev/random", "/dev/random", MS_NOSUID | MS_NOEXEC | MS_RDONLY },
    { "/dev/urandom", "/dev/urandom", MS_NOSUID | MS_NOEXEC | MS_RDONLY },
  };
  char to[4096];
  for (size_t i = 0; i < MF_ARRAY_N(binds); i++) {
    snprintf(to, sizeof to, "%s%s", s->rootfs, binds[i].to);
    if (mount(binds[i].from, to, NULL, MS_BIND | MS_REC, NULL) != 0)
      give_up(c, "mount root", errno);
  }
  for (size_t i = MF_ARRAY_N(binds); i-- > 0;) { /* the root last: its read-only flag must not stop the others */
    snprintf(to, sizeof to, "%s%s", s->rootfs, binds[i].to);
    if (mount(NULL, to, NULL, MS_BIND | MS_REMOUNT | binds[i].flags | kept_flags(to), NULL) != 0)
      give_up(c, "remount root", errno);
  }
}

static void become_root_of_sandbox(const struct outer_child *c)
{
  /* setgroups is denied in the rootless case, where there is nothing to drop that the kernel would let us drop */
  if (setgroups(0, NULL) != 0 && errno != EPERM)
    give_up(c, "setgroups", errno);
  if (setresgid(0, 0, 0) != 0 || setresuid(0, 0, 0) != 0)
    give_up(c, "map user", errno);
  /* a change of ids clears both (prctl(2)) */
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
    give_up(c, "pdeathsig", errno);
  (void)prctl(PR_SET_DUMPABLE, 1);
}

/* Returns whether /proc could be mounted: a container that masks its own forbids it (mount_too_revealing in the
 * kernel), and a sandbox without /proc still works. */
static void mount_all(const struct outer_child *c)
{
  char path[4096];
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
    give_up(c, "mount private", errno);
  mount_binds(c);
  if (c->spec->config.layers & MF_LAYER_PROC) {
    snprintf(path, sizeof path, "%s/proc", c->spec->rootfs);
    if (mount("proc", path, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0 && errno != EPERM)
      give_up(c, "mount proc", errno);
  }
  /* pivot_root(".", ".") stacks the old root on the new one, whence it is detached: pivot_root(2), NOTES */
  if (chdir(c->spec->rootfs) != 0 || syscall(SYS_pivot_root, ".", ".") != 0)
    give_up(c, "pivot root", errno);
  if (umount2(".", MNT_DETACH) != 0 || chdir("/") != 0)
    give_up(c, "pivot root", errno);
}

static void mount_private(const struct outer_child *c)
{
  if (mount("tmpfs", "/mnt", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=64m,nr_inodes=4096,mode=755") != 0)
    give_up(c, "mount tmpfs", errno);
  static const char *const dirs[] = { "/mnt/data", "/mnt/tmp", "/mnt/shm", "/mnt/task", "/mnt/mpl" };
  for (size_t i = 0; i < MF_ARRAY_N(dirs); i++) {
    if (mkdir(dirs[i], 0755) != 0)
      give_up(c, "mount tmpfs", errno);
  }
}

MF_NORETURN static void exec_zygote(const struct outer_child *c)
{
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
    give_up(c, "pdeathsig", errno);
  for (int i = 0; i < 2; i++) {
    if (c->cgroup[i] >= 0 && write(c->cgroup[i], "0", 1) < 0)
      give_up(c, "join cgroup", errno);
  }
  mount_private(c);
  /* descriptors: 0 null, 1 and 2 null, 3 socket, 4 config, 5 the host's /proc, and nothing else */
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0)
    give_up(c, "open /dev/null", errno);
  int high[3] = { fcntl(c->sock, F_DUPFD_CLOEXEC, 64), fcntl(c->config, F_DUPFD_CLOEXEC, 64),
                  fcntl(c->host_proc, F_DUPFD_CLOEXEC, 64) };
  for (int i = 0; i < 3; i++) {
    if (high[i] < 0 || dup2(null, i) < 0)
      give_up(c, "descriptors", errno);
  }
  for (int i = 0; i < 3; i++) {
    if (dup2(high[i], 3 + i) < 0)
      give_up(c, "descriptors", errno);
  }
  if (syscall(SYS_close_range, 6u, ~0u, 0u) != 0)
    give_up(c, "close_range", errno);
  if (setsid() < 0 && errno != EPERM)
    give_up(c, "setsid", errno);
  umask(022);
  if (chdir("/mnt/data") != 0)
    give_up(c, "chdir", errno);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  for (int sig = 1; sig < NSIG; sig++)
    signal(sig, SIG_DFL);
  const char *python = c->spec->python_path;
  /* -P: no folder of a guest on sys.path while the zygote imports; -s: no user site; -B: no .pyc beside its files */
  const char *const argv[] = { python, "-s", "-P", "-B", "-X", "utf8", "/opt/mayfly/boot.py", NULL };
  /* clang-format off */
  const char *const envp[] = {
    "HOME=/mnt/data", "PATH=/opt/python/bin", "LANG=C.UTF-8", "PYTHONUTF8=1", "PYTHONDONTWRITEBYTECODE=1",
    "PYTHONNOUSERSITE=1", "MPLBACKEND=Agg", "MPLCONFIGDIR=/mnt/mpl", "OPENBLAS_NUM_THREADS=1", "OMP_NUM_THREADS=1",
    "MKL_NUM_THREADS=1", "NUMEXPR_NUM_THREADS=1", "MALLOC_ARENA_MAX=1", "TERM=dumb", NULL,
  };
  /* clang-format on */
  execve(python, (char *const *)argv, (char *const *)envp);
  /* the socket is close-on-exec no more, so the frame still goes out */
  struct outer_child moved = *c;
  moved.sock = 3;
  give_up(&moved, "exec python", errno);
}

/* PID 1: reaps, and ends with the zygote. Ending PID 1 ends the namespace. */
MF_NORETURN static void be_init(pid_t zygote)
{
  (void)syscall(SYS_close_range, 0u, ~0u, 0u);
  (void)prctl(PR_SET_NAME, "mayfly-init");
  for (;;) {
    int status;
    pid_t pid = waitpid(-1, &status, 0);
    if (pid == zygote || (pid < 0 && errno == ECHILD))
      _exit(0);
  }
}

/* fork with a chosen pid, so that the zygote's is no guest's; plain fork where the kernel will not. */
static pid_t fork_zygote(void)
{
  pid_t want = ZYGOTE_PID;
  struct clone_args a = { .exit_signal = SIGCHLD, .set_tid = (uintptr_t)&want, .set_tid_size = 1 };
  long pid = syscall(SYS_clone3, &a, sizeof a);
  if (pid >= 0)
    return (pid_t)pid;
  /* use up the low numbers that every guest's first process would get */
  for (int i = 0; i < 16; i++) {
    pid_t p = fork();
    if (p == 0)
      _exit(0);
    if (p > 0)
      waitpid(p, NULL, 0);
  }
  return fork();
}

MF_NORETURN static void be_outer(const struct outer_child *c)
{
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
    give_up(c, "pdeathsig", errno);
  char byte;
  if (read(c->gate, &byte, 1) != 1)
    _exit(1); /* the supervisor ended, or told why itself */
  setsid();
  if (sethostname("sandbox", 7) != 0)
    give_up(c, "unshare uts", errno);
  mount_all(c);
  become_root_of_sandbox(c);
  pid_t zygote = fork_zygote();
  if (zygote < 0)
    give_up(c, "fork zygote", errno);
  if (zygote == 0)
    exec_zygote(c);
  be_init(zygote);
}

static enum mf_code write_map(pid_t pid, const char *name, const char *text, struct mf_err *err)
{
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
  mf_auto_close int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0)
    return mf_fail(err, MF_E_SYS, errno, "open %s", path);
  return mf_write_all(fd, text, strlen(text), err);
}

static enum mf_code write_maps(pid_t pid, struct mf_err *err)
{
  unsigned inside[2] = { geteuid(), getegid() };
  if (geteuid() == 0)
    inside[0] = inside[1] = SANDBOX_UID;
  for (;;) {
    char uid[64], gid[64];
    snprintf(uid, sizeof uid, "0 %u 1", inside[0]);
    snprintf(gid, sizeof gid, "0 %u 1", inside[1]);
    enum mf_code code = write_map(pid, "uid_map", uid, err);
    if (code == MF_OK) {
      /* Without CAP_SETGID the kernel asks for this first (user_namespaces(7)); with it the init must still be able
       * to drop root's supplementary groups. */
      if (inside[0] == geteuid())
        code = write_map(pid, "setgroups", "deny", err);
      return code == MF_OK ? write_map(pid, "gid_map", gid, err) : code;
    }
    if (inside[0] == geteuid())
      return code;
    inside[0] = geteuid(); /* root without capabilities, as in a container: map ourselves */
    inside[1] = getegid();
  }
}

struct step_flag {
  uint64_t flag;
  uint32_t layer;
  const char *step;
};
/* clang-format off */
static const struct step_flag namespaces[] = {
  { CLONE_NEWUSER, MF_LAYER_USER, "unshare user" },   { CLONE_NEWPID, MF_LAYER_PID, "unshare pid" },
  { CLONE_NEWNS, MF_LAYER_MOUNT, "unshare mount" },   { CLONE_NEWNET, MF_LAYER_NET, "unshare network" },
  { CLONE_NEWIPC, MF_LAYER_IPC, "unshare ipc" },      { CLONE_NEWUTS, MF_LAYER_UTS, "unshare uts" },
};
/* clang-format on */

/* Which of the namespaces it was that could not be made: clone3 tells only that one failed. */
static const char *which_namespace(int *ret_error)
{
  uint64_t flags = 0;
  for (size_t i = 0; i < MF_ARRAY_N(namespaces); i++) {
    flags |= namespaces[i].flag;
    struct clone_args a = { .flags = flags, .exit_signal = SIGCHLD };
    long pid = syscall(SYS_clone3, &a, sizeof a);
    if (pid == 0)
      _exit(0);
    if (pid < 0) {
      *ret_error = errno;
      return namespaces[i].step;
    }
    waitpid((pid_t)pid, NULL, 0);
  }
  return "clone";
}

static void tell_fatal(int sock, const char *step, int error)
{
  struct mf_zyg_fatal f = { .type = MF_ZYG_FATAL, .error = error };
  snprintf(f.step, sizeof f.step, "%s", step);
  snprintf(f.text, sizeof f.text, "%s: %s", step, strerror(error));
  (void)send(sock, &f, sizeof f, MSG_NOSIGNAL);
}

static enum mf_code make_config(const struct mf_outer_spec *spec, int *ret_fd, struct mf_err *err)
{
  mf_auto_buf struct mf_buf bpf;
  mf_buf_init(&bpf, 1u << 16);
  enum mf_code code = mf_seccomp_base(spec->config.shared_anon_ok != 0, &bpf, err);
  const size_t base = bpf.len;
  if (code == MF_OK)
    code = mf_seccomp_last(&bpf, err);
  if (code != MF_OK)
    return code;
  mf_auto_close int fd = -1;
  code = mf_memfd("zygote-config", &fd, err);
  if (code != MF_OK)
    return code;
  struct mf_zygote_config config = spec->config;
  config.version = MF_FRAMES_VERSION;
  config.bpf_base_n = (uint32_t)(base / 8);
  config.bpf_last_n = (uint32_t)((bpf.len - base) / 8);
  code = mf_write_all(fd, &config, sizeof config, err);
  if (code == MF_OK)
    code = mf_write_all(fd, bpf.ptr, bpf.len, err);
  if (code != MF_OK)
    return code;
  if (lseek(fd, 0, SEEK_SET) < 0)
    return mf_fail(err, MF_E_SYS, errno, "rewind the zygote's configuration");
  *ret_fd = mf_take_fd(&fd);
  return MF_OK;
}

enum mf_code mf_outer_seccomp_sha256(int shared_anon_ok, char ret_hex[65], struct mf_err *err)
{
  mf_auto_buf struct mf_buf bpf;
  mf_buf_init(&bpf, 1u << 16);
  enum mf_code code = mf_seccomp_base(shared_anon_ok != 0, &bpf, err);
  if (code == MF_OK)
    code = mf_seccomp_last(&bpf, err);
  if (code == MF_OK)
    mf_sha256_of(mf_buf_str(&bpf), ret_hex);
  return code;
}

enum mf_code mf_outer_start(const struct mf_outer_spec *spec, struct mf_pidref *ret_init, int *ret_sock,
                            struct mf_err *err)
{
  int pair[2], gate[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    return mf_fail(err, MF_E_SYS, errno, "socketpair");
  mf_auto_close int ours = pair[0], theirs = pair[1];
  if (pipe2(gate, O_CLOEXEC) != 0)
    return mf_fail(err, MF_E_SYS, errno, "pipe");
  mf_auto_close int gate_r = gate[0], gate_w = gate[1];
  mf_auto_close int config = -1;
  enum mf_code code = make_config(spec, &config, err);
  if (code != MF_OK)
    return code;
  mf_auto_close int host_proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (host_proc < 0)
    return mf_fail(err, MF_E_UNAVAILABLE, errno, "open /proc");
  mf_auto_close int cg0 = spec->cgroup_procs[0] ? open(spec->cgroup_procs[0], O_WRONLY | O_CLOEXEC) : -1;
  mf_auto_close int cg1 = spec->cgroup_procs[1] ? open(spec->cgroup_procs[1], O_WRONLY | O_CLOEXEC) : -1;
  code = mf_fd_set_nonblock(ours, err);
  if (code != MF_OK)
    return code;

  uint64_t flags = CLONE_PIDFD;
  const char *forced = NULL;
  for (size_t i = 0; i < MF_ARRAY_N(namespaces); i++) {
    flags |= namespaces[i].flag;
    if (spec->config.fail_layers & namespaces[i].layer && !forced)
      forced = namespaces[i].step;
  }
  int pidfd = -1;
  struct clone_args a = { .flags = flags, .pidfd = (uintptr_t)&pidfd, .exit_signal = SIGCHLD };
  long pid = -1;
  int error = EPERM;
  if (!forced) {
    pid = syscall(SYS_clone3, &a, sizeof a);
    error = errno;
  }
  if (pid == 0) {
    mf_close_ptr(&gate_w);
    const struct outer_child c = {
      .spec = spec, .sock = theirs, .config = config, .gate = gate_r, .host_proc = host_proc, .cgroup = { cg0, cg1 }
    };
    be_outer(&c);
  }
  if (pid < 0) {
    const char *step = forced ? forced : which_namespace(&error);
    tell_fatal(theirs, step, error);
    *ret_init = MF_PIDREF_NULL;
    *ret_sock = mf_take_fd(&ours);
    return MF_OK;
  }
  struct mf_err map_err;
  if (write_maps((pid_t)pid, &map_err) != MF_OK)
    tell_fatal(theirs, "map user", map_err.sys); /* the gate's end of file ends the child */
  else if (write(gate_w, "g", 1) != 1)
    tell_fatal(theirs, "map user", errno);
  *ret_init = (struct mf_pidref){ .pid = (pid_t)pid, .fd = pidfd };
  *ret_sock = mf_take_fd(&ours);
  return MF_OK;
}

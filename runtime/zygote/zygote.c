/* The module `_mayfly` and the zygote's loop: receive FORK, make a child, reap. After serve() has been called only C
 * code runs in the zygote itself, so that its memory stays as the checkpoint has it. */
#include "zygote-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FILTER_MAX 4096u

struct kid {
  pid_t pid;
  uint32_t slot;
  int32_t what;
};

struct table {
  struct kid kids[2 * ZYG_SLOTS];
  int net[ZYG_SLOTS]; /* each slot's network namespace; 0: not made yet */
};

void zyg_fatal(int sock, uint32_t type, const char *step, int error)
{
  struct mf_zyg_fatal f = { .type = type, .error = error };
  snprintf(f.step, sizeof f.step, "%s", step);
  snprintf(f.text, sizeof f.text, "%s: %s", step, strerror(error));
  (void)send(sock, &f, sizeof f, MSG_NOSIGNAL);
  _exit(112);
}

static uint64_t now_us(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

static struct zygote *zygote_of(PyObject *module)
{
  return PyModule_GetState(module);
}

/* ---- configure() ---- */

static int read_exact(int fd, void *p, size_t n)
{
  for (char *at = p; n > 0;) {
    ssize_t k = read(fd, at, n);
    if (k <= 0)
      return -1;
    at += k;
    n -= (size_t)k;
  }
  return 0;
}

static int read_program(uint32_t n, struct sock_fprog *ret)
{
  if (n == 0 || n > FILTER_MAX)
    return -1;
  ret->len = (unsigned short)n;
  ret->filter = calloc(n, sizeof *ret->filter);
  return ret->filter ? read_exact(ZYG_CONFIG_FD, ret->filter, n * sizeof *ret->filter) : -1;
}

static int read_config(struct zygote *z)
{
  if (read_exact(ZYG_CONFIG_FD, &z->config, sizeof z->config) != 0 || z->config.version != MF_FRAMES_VERSION ||
      read_program(z->config.bpf_base_n, &z->base) != 0 || read_program(z->config.bpf_last_n, &z->last) != 0)
    return -1;
  close(ZYG_CONFIG_FD);
  return 0;
}

static PyObject *configure(PyObject *self, PyObject *unused)
{
  (void)unused;
  struct zygote *z = zygote_of(self);
  for (int fd = ZYG_SOCKET_FD; fd <= ZYG_PROC_FD; fd++)
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
  if (read_config(z) != 0)
    zyg_fatal(ZYG_SOCKET_FD, MF_ZYG_FATAL, "zygote configuration", EPROTO);
  long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
  z->landlock_abi = abi > 0 ? (int)abi : 0;
  /* for tests: as on a kernel whose Landlock has no scopes (Debian 12's 6.1 has ABI 2) */
  if ((z->config.fail_layers & MF_LAYER_LANDLOCK_SCOPE) && z->landlock_abi > 2)
    z->landlock_abi = 2;
  z->last_cap = 63;
  for (int i = 0; i <= 63; i++) {
    if (prctl(PR_CAPBSET_READ, i, 0, 0, 0) < 0) {
      z->last_cap = i - 1;
      break;
    }
  }
  zyg_warm_malloc_begin();
  return Py_BuildValue("{s:O,s:O,s:O}", "data", z->config.data ? Py_True : Py_False, "warm",
                       z->config.warm ? Py_True : Py_False, "checkpoint", z->config.checkpoint ? Py_True : Py_False);
}

/* fatal(step, text): the boot script could not get ready. */
static PyObject *fatal(PyObject *self, PyObject *args)
{
  (void)self;
  const char *step, *text;
  if (!PyArg_ParseTuple(args, "ss", &step, &text))
    return NULL;
  struct mf_zyg_fatal f = { .type = MF_ZYG_FATAL, .error = 0 };
  snprintf(f.step, sizeof f.step, "%s", step);
  snprintf(f.text, sizeof f.text, "%s", text);
  (void)send(ZYG_SOCKET_FD, &f, sizeof f, MSG_NOSIGNAL);
  _exit(112);
}

/* ---- the loop ---- */

static struct kid *find_kid(struct table *t, pid_t pid)
{
  for (size_t i = 0; i < 2 * ZYG_SLOTS; i++) {
    if (t->kids[i].pid == pid)
      return &t->kids[i];
  }
  return NULL;
}

static void remember(struct table *t, pid_t pid, uint32_t slot, int32_t what)
{
  struct kid *k = find_kid(t, 0);
  if (k)
    *k = (struct kid){ pid, slot, what };
}

static void reap(struct table *t)
{
  for (;;) {
    int status;
    struct rusage ru;
    pid_t pid = wait4(-1, &status, WNOHANG | __WALL, &ru);
    if (pid <= 0)
      return;
    struct kid *k = find_kid(t, pid);
    if (!k)
      continue;
    struct mf_zyg_exited e = { .type = MF_ZYG_EXITED, .slot = k->slot, .what = k->what, .status = status };
    e.cpu_us = zyg_cpu_us(&ru);
    k->pid = 0;
    if (send(ZYG_SOCKET_FD, &e, sizeof e, MSG_NOSIGNAL) < 0)
      _exit(0);
  }
}

/* Sends FORKED with its descriptors, which are closed here in every case. */
static void tell_forked(uint32_t slot, int error, uint64_t began_us, int *fds, unsigned fd_n)
{
  struct mf_zyg_forked f = { .type = MF_ZYG_FORKED, .slot = slot, .error = error };
  f.fork_us = (uint32_t)(now_us() - began_us);
  if (zyg_send_fds(ZYG_SOCKET_FD, &f, sizeof f, fds, error == 0 ? fd_n : 0) != 0)
    _exit(0);
  zyg_close_all(fds, fd_n);
}

struct plumbing {
  int control[2], out[2], err[2];
};

static int open_plumbing(struct plumbing *p)
{
  memset(p, -1, sizeof *p);
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, p->control) != 0 || pipe2(p->out, O_CLOEXEC) != 0 ||
      pipe2(p->err, O_CLOEXEC) != 0)
    return -errno;
  return 0;
}

/* A new pid namespace for the next child: unshare works once, so we come back to our own first. */
static int fresh_pid_namespace(const struct zygote *z)
{
  if (setns(z->pidns_fd, CLONE_NEWPID) != 0 || unshare(CLONE_NEWPID) != 0)
    return -errno;
  return 0;
}

/* Whether a socket with a name is in the network namespace that we are in, or it cannot be seen. A row of proc(5)'s
 * net/unix has seven fields, and behind them the name where there is one. */
static bool has_named_sockets(void)
{
  char text[1024];
  unsigned rows = 0, fields = 0;
  bool in_field = false;
  int fd = openat(ZYG_PROC_FD, "self/net/unix", O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return true;
  ssize_t n;
  while ((n = read(fd, text, sizeof(text))) > 0)
    for (ssize_t i = 0; i < n && fields <= 7; i++) {
      bool is_space = text[i] == ' ' || text[i] == '\n';
      fields += !is_space && !in_field && rows > 0; /* the first row is the heading */
      in_field = !is_space;
      if (text[i] == '\n') {
        rows++;
        fields = 0;
      }
    }
  close(fd);
  return n < 0 || rows == 0 || fields > 7;
}

/* The next child is born in the network namespace of its slot: with one for all, /proc/self/net/unix would show each
 * guest the others' sockets. The next one of the slot takes it over; to make and remove one each time would cost more
 * than all the rest. Nothing of a guest stays in it, but for sockets in a cycle of messages, which the kernel finds a
 * moment after its end: while there are any the slot gets another. */
static int enter_slot_network(struct table *t, uint32_t slot)
{
  if (t->net[slot] > 0) {
    if (setns(t->net[slot], CLONE_NEWNET) != 0)
      return -errno;
    if (!has_named_sockets())
      return 0;
    close(t->net[slot]);
    t->net[slot] = 0;
  }
  if (unshare(CLONE_NEWNET) != 0)
    return -errno;
  int fd = openat(ZYG_PROC_FD, "self/ns/net", O_RDONLY | O_CLOEXEC);
  /* out of the way of a guest's control socket; without room for it the next child gets a new one */
  int kept = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, ZYG_CONTROL_FD + 100) : -1;
  if (fd >= 0)
    close(fd);
  t->net[slot] = kept > 0 ? kept : 0;
  return 0;
}

static void fork_child(struct zygote *z, struct table *t, void *stacks, const struct mf_zyg_fork *f, int cgroup[2])
{
  uint32_t slot = f->slot;
  uint64_t began = now_us();
  struct plumbing p;
  int error = open_plumbing(&p);
  if (error == 0 && z->config.layers & MF_LAYER_NET)
    error = enter_slot_network(t, slot);
  if (error == 0 && z->config.layers & MF_LAYER_PID)
    error = fresh_pid_namespace(z);
  pid_t init = error == 0 ? zyg_nsinit_start(stacks, slot) : -1;
  if (error == 0 && init < 0)
    error = -errno;
  pid_t guest = error == 0 ? _Fork() : -1;
  if (guest == 0) {
    const struct zyg_child_fds fds = { p.control[1], p.out[1], p.err[1], { cgroup[0], cgroup[1] }, f->prefault != 0 };
    zyg_child_main(z, &fds);
  }
  if (error == 0 && guest < 0)
    error = -errno;
  int fds[5] = { -1, -1, p.control[0], p.out[0], p.err[0] };
  if (init > 0)
    remember(t, init, slot, 1);
  if (guest > 0)
    remember(t, guest, slot, 0);
  if (error == 0) {
    fds[0] = (int)syscall(SYS_pidfd_open, guest, 0);
    fds[1] = (int)syscall(SYS_pidfd_open, init, 0);
    if (fds[0] < 0 || fds[1] < 0)
      error = -errno;
  }
  if (error != 0 && init > 0)
    kill(init, SIGKILL);
  int inner[] = { p.control[1], p.out[1], p.err[1] };
  zyg_close_all(inner, 3);
  tell_forked(slot, -error, began, fds, 5);
}

static void on_sigchld(int sig)
{
  (void)sig; /* only to end ppoll */
}

static bool receive_fork(struct mf_zyg_fork *f, int cgroup[2])
{
  unsigned fd_n;
  cgroup[0] = cgroup[1] = -1;
  ssize_t n = zyg_receive_fds(ZYG_SOCKET_FD, f, sizeof *f, cgroup, 2, &fd_n);
  if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
    _exit(0); /* the supervisor has gone */
  return n == sizeof *f && f->type == MF_ZYG_FORK && f->slot < ZYG_SLOTS;
}

__attribute__((noreturn)) static void loop(struct zygote *z, struct table *t, void *stacks)
{
  for (;;) {
    struct pollfd p = { ZYG_SOCKET_FD, POLLIN, 0 };
    int r = ppoll(&p, 1, NULL, &z->mask);
    reap(t);
    if (r <= 0 || !p.revents)
      continue;
    struct mf_zyg_fork f;
    int cgroup[2];
    if (receive_fork(&f, cgroup))
      fork_child(z, t, stacks, &f, cgroup);
    zyg_close_all(cgroup, 2);
  }
}

/* An unlinked file on a tmpfs of our own with huge pages where the kernel has them. -1 with a note. */
static int checkpoint_file(char *note, size_t note_n)
{
  static const char place[] = "/mnt/checkpoint";
  int fd = -1;
  if (mkdir(place, 0700) != 0 || (mount("tmpfs", place, "tmpfs", MS_NOSUID | MS_NODEV, "huge=always,mode=700") != 0 &&
                                  mount("tmpfs", place, "tmpfs", MS_NOSUID | MS_NODEV, "mode=700") != 0)) {
    snprintf(note, note_n, "mount tmpfs: %s", strerror(errno));
    return -1;
  }
  fd = open(place, O_TMPFILE | O_RDWR | O_CLOEXEC, 0444);
  if (fd < 0)
    snprintf(note, note_n, "O_TMPFILE: %s", strerror(errno));
  (void)umount2(place, MNT_DETACH);
  (void)rmdir(place);
  return fd;
}

static bool checkpoint(const struct zygote *z, char *note, size_t note_n)
{
  if (z->config.checkpoint == 0) {
    snprintf(note, note_n, "switched off");
    return false;
  }
  int fd = checkpoint_file(note, note_n);
  sigset_t all, old;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &old);
  int error = fd < 0 ? -ENOTSUP : zyg_checkpoint(ZYG_PROC_FD, fd, note, note_n);
  sigprocmask(SIG_SETMASK, &old, NULL);
  if (error != 0 && z->config.checkpoint == 2)
    zyg_fatal(ZYG_SOCKET_FD, MF_ZYG_FATAL, "checkpoint", -error);
  return error == 0;
}

/* What most small programs do first, for the hot pages: those without the data stack, and those with. */
#define HOT_PROGRAM                                                                                                    \
  "import sys, json, math, re\n"                                                                                       \
  "x = [i * i for i in range(10)]\n"                                                                                   \
  "d = {'a': sum(x), 'b': f'{math.pi:.2f}'}\n"                                                                         \
  "print(1)\nprint(d, json.dumps(d))\n"
static const char hot_program[] = HOT_PROGRAM;
static const char hot_data_program[] =
    HOT_PROGRAM "import numpy as np, pandas as pd\n"
                "rng = np.random.default_rng(0)\n"
                "df = pd.DataFrame({'k': rng.integers(0, 50, 1000), 'v': rng.random(1000)})\n"
                "print(df.groupby('k').v.agg(['mean', 'sum', 'count']).head(3))\n";

/* Shared with the PID 1s that we clone, but never with a guest: they would be a way to each other. */
static void *shared_area(size_t bytes)
{
  void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED || madvise(p, bytes, MADV_DONTFORK) != 0)
    zyg_fatal(ZYG_SOCKET_FD, MF_ZYG_FATAL, "zygote memory", errno);
  return p;
}

/* rehearse(prepare, finish, gc_collect, split): runs a small program some times as guests will. */
static PyObject *rehearse(PyObject *self, PyObject *args)
{
  struct zygote *z = zygote_of(self);
  if (!PyArg_ParseTuple(args, "OO!OO", &z->prepare, &PyTuple_Type, &z->finish, &z->gc_collect, &z->split))
    return NULL;
  Py_INCREF(z->prepare);
  Py_INCREF(z->finish);
  Py_INCREF(z->gc_collect);
  Py_INCREF(z->split);
  PyObject *machinery = PyImport_ImportModule("importlib.machinery");
  z->builtins = PyImport_ImportModule("builtins");
  z->source_loader = machinery ? PyObject_GetAttrString(machinery, "SourceFileLoader") : NULL;
  z->name_closed = PyUnicode_InternFromString("closed");
  z->name_flush = PyUnicode_InternFromString("flush");
  if (!z->builtins || !z->source_loader || !z->name_closed || !z->name_flush)
    return NULL;
  return zyg_script_rehearse(z, hot_program, z->config.warm ? 20 : 1);
}

/* serve(mpl_names, began_us), after rehearse: never returns in the zygote. */
static PyObject *serve(PyObject *self, PyObject *args)
{
  struct zygote *z = zygote_of(self);
  PyObject *mpl;
  unsigned long long began;
  if (!PyArg_ParseTuple(args, "O!K", &PyTuple_Type, &mpl, &began))
    return NULL;
  for (Py_ssize_t i = 0; i < PyTuple_Size(mpl) && z->mpl_n < 8; i++) {
    const char *name = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(mpl, i), NULL);
    if (!name)
      return NULL;
    snprintf(z->mpl_names[z->mpl_n++], sizeof z->mpl_names[0], "%s", name);
  }
  z->pidns_fd = openat(ZYG_PROC_FD, "self/ns/pid", O_RDONLY | O_CLOEXEC);
  if (z->pidns_fd < 0)
    zyg_fatal(ZYG_SOCKET_FD, MF_ZYG_FATAL, "open pid namespace", errno);
  void *stacks = shared_area((size_t)ZYG_SLOTS * 4096u);
  struct table *t = shared_area(sizeof *t);
  if (zyg_script_detach() != 0)
    zyg_fatal(ZYG_SOCKET_FD, MF_ZYG_FATAL, "audit hook", EINVAL);
  if (z->config.warm)
    zyg_warm_pools_tidy();
  zyg_warm_malloc_tidy();

  struct mf_zyg_ready ready = { .type = MF_ZYG_READY, .version = MF_FRAMES_VERSION };
  struct sigaction sa = { .sa_handler = on_sigchld };
  sigaction(SIGCHLD, &sa, NULL);
  sigset_t chld;
  sigemptyset(&chld);
  sigaddset(&chld, SIGCHLD);
  sigprocmask(SIG_BLOCK, &chld, &z->mask);
  /* once and for all: children do the other half, and the zygote runs no more Python */
  z->is_own_fork = true;
  PyOS_BeforeFork();
  ready.checkpointed = checkpoint(z, ready.checkpoint_note, sizeof ready.checkpoint_note);
  if (z->config.warm)
    zyg_hot_learn(z, z->config.data ? hot_data_program : hot_program, ready.checkpointed != 0);
  if ((z->config.layers & MF_LAYER_SECCOMP) && syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &z->base) != 0)
    zyg_fatal(ZYG_SOCKET_FD, MF_ZYG_FATAL, "seccomp", errno);
  ready.python_hex = (uint32_t)Py_Version;
  ready.warm_us = now_us() - began;
  if (send(ZYG_SOCKET_FD, &ready, sizeof ready, MSG_NOSIGNAL) < 0)
    _exit(0);
  loop(z, t, stacks);
}

/* is_own_fork(): whether the fork hooks are being called for a fork of the zygote's, and not for a guest's. */
static PyObject *is_own_fork(PyObject *self, PyObject *unused)
{
  (void)unused;
  return PyBool_FromLong(zygote_of(self)->is_own_fork);
}

/* call_hooks(list): each, whatever became of the one before, as the interpreter calls the hooks of a fork. */
static PyObject *call_hooks(PyObject *self, PyObject *list)
{
  (void)self;
  if (!PyList_Check(list))
    return PyErr_Format(PyExc_TypeError, "call_hooks: not a list");
  for (Py_ssize_t i = 0; i < PyList_Size(list); i++)
    zyg_call_quietly(PyList_GetItem(list, i));
  Py_RETURN_NONE;
}

/* now_us(): for serve's last argument */
static PyObject *py_now_us(PyObject *self, PyObject *unused)
{
  (void)self;
  (void)unused;
  return PyLong_FromUnsignedLongLong(now_us());
}

static PyMethodDef methods[] = {
  { "configure", configure, METH_NOARGS, "Reads the configuration; returns {data, warm, checkpoint}." },
  { "call_hooks", call_hooks, METH_O, "Calls each of a list; what one raises is shown and ignored." },
  { "fake_fork", zyg_warm_fake_fork, METH_NOARGS, "Runs the fork hooks without forking." },
  { "immortal", zyg_warm_immortal, METH_O, "Makes all objects reachable from a list immortal." },
  { "fatal", fatal, METH_VARARGS, "Tells the supervisor what failed and exits." },
  { "is_own_fork", is_own_fork, METH_NOARGS, "Whether the fork hooks are called for a fork of the zygote's own." },
  { "now_us", py_now_us, METH_NOARGS, "The monotonic clock in microseconds." },
  { "rehearse", rehearse, METH_VARARGS, "Runs a small program as guests will." },
  { "serve", serve, METH_VARARGS, "Forks guests until the supervisor goes." },
  { NULL, NULL, 0, NULL },
};

static struct PyModuleDef module = {
  PyModuleDef_HEAD_INIT,
  .m_name = "_mayfly",
  .m_size = sizeof(struct zygote),
  .m_methods = methods,
};

PyMODINIT_FUNC PyInit__mayfly(void);
PyMODINIT_FUNC PyInit__mayfly(void)
{
  return PyModule_Create(&module);
}

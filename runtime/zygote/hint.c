/* Words about what the sandbox refused: "network is disabled: example.com:443". Two sources, both inside the guest and
 * so both untrusted and capped: a C audit hook (an event says what the program is about to try) and the SIGSYS handler
 * (a system call that the filter traps). A forged hint can only mislead the program's own author. */
#include "zygote-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define HINTS_MAX 32u

/* Exported by CPython since 3.8, but not part of the limited API's headers. */
typedef int (*audit_fn)(const char *event, PyObject *args, void *user);
extern int PySys_AddAuditHook(audit_fn hook, void *user);

/* A guest is one process with one of these; a signal handler can reach nothing else. */
static struct {
  unsigned sent;
  bool network_told;
} state;

static void send_hint(const char *text, size_t n)
{
  if (state.sent >= HINTS_MAX)
    return;
  state.sent++;
  struct mf_child_hint h = { .type = MF_CHILD_HINT, .kind = MF_HINT_DENIED };
  h.len = (uint32_t)(n < sizeof h.text ? n : sizeof h.text);
  memcpy(h.text, text, h.len);
  int saved = errno;
  (void)send(ZYG_CONTROL_FD, &h, sizeof h, MSG_DONTWAIT | MSG_NOSIGNAL);
  errno = saved;
}

__attribute__((format(printf, 1, 2))) static void hint(const char *fmt, ...)
{
  char text[MF_TEXT_MAX + 1];
  va_list ap;
  va_start(ap, fmt);
  int n = vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  if (n > 0)
    send_hint(text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

/* ---- system calls ---- */

struct call_word {
  int nr;
  const char *text;
};
/* clang-format off */
#define CALL(name) { SYS_##name, #name }
static const struct call_word call_words[] = { /* the calls that src/providers/local/syscalls.c traps */
  CALL(mount), CALL(umount2), CALL(pivot_root), CALL(chroot), CALL(fsopen), CALL(fsconfig), CALL(fsmount),
  CALL(fspick), CALL(open_tree), CALL(move_mount), CALL(mount_setattr), CALL(unshare), CALL(setns), CALL(ptrace),
  CALL(process_vm_readv), CALL(process_vm_writev), CALL(kcmp), CALL(pidfd_getfd), CALL(bpf), CALL(io_uring_setup),
  CALL(io_uring_enter), CALL(io_uring_register), CALL(keyctl), CALL(add_key), CALL(request_key), CALL(userfaultfd),
  CALL(perf_event_open), CALL(kexec_load), CALL(kexec_file_load), CALL(init_module), CALL(finit_module),
  CALL(delete_module), CALL(reboot), CALL(swapon), CALL(swapoff), CALL(acct), CALL(quotactl), CALL(quotactl_fd),
  CALL(syslog), CALL(settimeofday), CALL(clock_settime), CALL(sethostname), CALL(setdomainname), CALL(mknodat),
  CALL(capset), CALL(vhangup), CALL(name_to_handle_at), CALL(open_by_handle_at), CALL(fanotify_init),
  CALL(fanotify_mark), CALL(shmget), CALL(shmat), CALL(shmctl), CALL(msgget), CALL(msgsnd), CALL(msgrcv), CALL(semget),
  CALL(semop), CALL(semtimedop), CALL(semctl), CALL(mq_open),
#ifdef SYS_mknod
  CALL(mknod), CALL(iopl), CALL(ioperm),
#endif
};
/* clang-format on */

/* Async-signal-safe: no stdio. The trapped call returns -EPERM, as if the filter had said so. */
static void on_sigsys(int sig, siginfo_t *info, void *context)
{
  (void)sig;
  ucontext_t *u = context;
#if defined(__x86_64__)
  u->uc_mcontext.gregs[REG_RAX] = -EPERM;
#elif defined(__aarch64__)
  u->uc_mcontext.regs[0] = (unsigned long long)-EPERM;
#endif
  for (size_t i = 0; i < sizeof call_words / sizeof *call_words; i++) {
    if (call_words[i].nr != info->si_syscall)
      continue;
    static const char tail[] = ": this system call is not allowed in the sandbox";
    char text[96];
    size_t n = strlen(call_words[i].text);
    memcpy(text, call_words[i].text, n);
    memcpy(text + n, tail, sizeof tail - 1);
    send_hint(text, n + sizeof tail - 1);
    return;
  }
}

int zyg_hint_install(void)
{
  struct sigaction sa = { .sa_sigaction = on_sigsys, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK };
  sigemptyset(&sa.sa_mask);
  return sigaction(SIGSYS, &sa, NULL);
}

/* ---- audit events ---- */

/* The text of an exact str or bytes; a user's subclass could run code here. */
static const char *text_of(PyObject *o, Py_ssize_t *ret_n)
{
  char *bytes = NULL;
  const char *p = NULL;
  if (o && PyUnicode_CheckExact(o)) {
    p = PyUnicode_AsUTF8AndSize(o, ret_n);
  } else if (o && PyBytes_CheckExact(o) && PyBytes_AsStringAndSize(o, &bytes, ret_n) == 0) {
    p = bytes;
  }
  if (!p)
    PyErr_Clear();
  return p;
}

static PyObject *arg_at(PyObject *args, Py_ssize_t i)
{
  if (!args || !PyTuple_Check(args) || i >= PyTuple_Size(args))
    return NULL;
  return PyTuple_GetItem(args, i);
}

static bool is_local_family(PyObject *family)
{
  /* socket.AF_UNIX is an IntEnum member: an int, though not exactly */
  if (!family || !PyLong_Check(family))
    return false;
  long v = PyLong_AsLong(family);
  if (v == -1 && PyErr_Occurred())
    PyErr_Clear();
  return v == AF_UNIX;
}

static void tell_network(PyObject *host_object, PyObject *port)
{
  Py_ssize_t host_n = 0;
  const char *host = text_of(host_object, &host_n);
  if (!host)
    return;
  state.network_told = true;
  Py_ssize_t n = 0;
  long number = -1;
  const char *service = NULL;
  if (port && PyLong_CheckExact(port)) {
    number = PyLong_AsLong(port);
    if (number == -1 && PyErr_Occurred())
      PyErr_Clear();
  } else if (port) {
    service = text_of(port, &n);
  }
  if (number > 0)
    hint("network is disabled: %.*s:%ld", (int)(host_n > 180 ? 180 : host_n), host, number);
  else if (service)
    hint("network is disabled: %.*s:%.*s", (int)(host_n > 160 ? 160 : host_n), host, (int)(n > 20 ? 20 : n), service);
  else
    hint("network is disabled: %.*s", (int)(host_n > 200 ? 200 : host_n), host);
}

/* (host, port, …) */
static void on_lookup(PyObject *args)
{
  tell_network(arg_at(args, 0), arg_at(args, 1));
}

/* (socket, address): an address of AF_INET and AF_INET6 is a tuple, one of AF_UNIX is not */
static void on_connect(PyObject *args)
{
  PyObject *address = arg_at(args, 1);
  if (address && PyTuple_Check(address))
    tell_network(arg_at(address, 0), arg_at(address, 1));
}

/* (self, host, port) of http.client.connect */
static void on_http(PyObject *args)
{
  tell_network(arg_at(args, 1), arg_at(args, 2));
}

/* (self, family, type, proto): the call that is refused, but it says nothing about where to */
static void on_socket(PyObject *args)
{
  PyObject *family = arg_at(args, 1);
  if (state.network_told || !family || is_local_family(family) || !PyLong_Check(family))
    return;
  long v = PyLong_AsLong(family);
  if (v == -1) { /* of a descriptor that is there already, of whatever family: socket.socket(fileno=…) */
    PyErr_Clear();
    return;
  }
  state.network_told = true;
  const char *name = v == AF_INET ? "AF_INET" : v == AF_INET6 ? "AF_INET6" : v == AF_NETLINK ? "AF_NETLINK" : NULL;
  if (name)
    hint("network is disabled: socket(%s)", name);
  else
    hint("network is disabled: socket of family %ld", v);
}

/* Where execvp would look: the path of a program, or of the one of this name in the image. */
static bool program_path(const char *name, char *ret, size_t n)
{
  int len = snprintf(ret, n, "%s%s", strchr(name, '/') ? "" : "/opt/python/bin/", name);
  return len > 0 && (size_t)len < n;
}

static void tell_program(PyObject *what)
{
  Py_ssize_t n = 0;
  const char *name = text_of(what, &n);
  int saved = errno;
  char path[4096];
  if (name && strlen(name) == (size_t)n && (!program_path(name, path, sizeof path) || access(path, X_OK) != 0)) {
    if (strcmp(name, "/bin/sh") == 0)
      hint("program not available: /bin/sh (the sandbox has no shell; sys.executable can be started)");
    else if (access(path, F_OK) == 0) /* a script or binary of the program's own: no place is writable and executable */
      hint("program cannot be executed: %.120s (only the image's programs can; run a script with sys.executable)",
           name);
    else
      hint("program not available: %.200s", name);
  }
  errno = saved;
}

/* (executable, args, cwd, env) */
static void on_popen(PyObject *args)
{
  tell_program(arg_at(args, 0));
}

static void on_system(PyObject *args)
{
  (void)args;
  hint("program not available: /bin/sh (the sandbox has no shell; sys.executable can be started)");
}

static bool is_writable_place(const char *path)
{
  static const char *const places[] = { "/mnt/data", "/mnt/tmp",    "/mnt/shm",    "/mnt/task",
                                        "/mnt/mpl",  "/tmp",        "/dev/shm",    "/dev/null",
                                        "/dev/fd",   "/dev/stdout", "/dev/stderr", "/proc/self/fd" };
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    size_t n = strlen(places[i]);
    if (strncmp(path, places[i], n) == 0 && (path[n] == 0 || path[n] == '/'))
      return true;
  }
  return false;
}

static void tell_write(PyObject *what)
{
  Py_ssize_t n = 0;
  const char *path = text_of(what, &n);
  if (path && path[0] == '/' && !is_writable_place(path))
    hint("write outside the work directory: %.180s", path);
}

/* (path, mode, flags): flags are open(2)'s in every case */
static void on_open(PyObject *args)
{
  PyObject *flags = arg_at(args, 2);
  if (!flags || !PyLong_CheckExact(flags))
    return;
  long v = PyLong_AsLong(flags);
  if (v == -1 && PyErr_Occurred())
    PyErr_Clear();
  else if (v & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND))
    tell_write(arg_at(args, 0));
}

/* (path, …) */
static void on_change(PyObject *args)
{
  tell_write(arg_at(args, 0));
}

/* (from, to, …) */
static void on_change_to(PyObject *args)
{
  tell_write(arg_at(args, 1));
}

struct event_row {
  const char *name;
  void (*fn)(PyObject *args);
};
static const struct event_row events[] = {
  { "open", on_open },
  { "os.exec", on_popen },
  { "os.link", on_change_to },
  { "os.mkdir", on_change },
  { "os.posix_spawn", on_popen },
  { "os.remove", on_change },
  { "os.rename", on_change_to },
  { "os.rmdir", on_change },
  { "os.symlink", on_change_to },
  { "os.system", on_system },
  { "os.truncate", on_change },
  { "socket.__new__", on_socket },
  { "socket.connect", on_connect },
  { "socket.getaddrinfo", on_lookup },
  { "socket.gethostbyname", on_lookup },
  { "socket.sendto", on_connect },
  { "http.client.connect", on_http },
  { "subprocess.Popen", on_popen },
};

static int on_audit(const char *event, PyObject *args, void *user)
{
  (void)user;
  /* the first letter sorts out nearly all of them */
  char c = event[0];
  if (c != 'o' && c != 's' && c != 'h')
    return 0;
  for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
    if (strcmp(event, events[i].name) != 0)
      continue;
    PyObject *type, *value, *tb;
    PyErr_Fetch(&type, &value, &tb);
    events[i].fn(args);
    PyErr_Restore(type, value, tb);
    return 0;
  }
  return 0;
}

int zyg_hint_install_audit(void)
{
  return PySys_AddAuditHook(on_audit, NULL);
}

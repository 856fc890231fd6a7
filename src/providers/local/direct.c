/* Running the host's Python without a sandbox: see direct.h for what this is for. */
#include "direct.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/pidref.h"
#include "base/time.h"
#include "confine/spawn.h"
#include "base/banned.h"

#define WORD_FD 3
#define READ_MAX 65536u
/* Reads after the end of the process: what it left in the pipe, not what a runaway descendant goes on writing. */
#define DRAIN_READS_MAX 32

/* Sets the limits, runs the script as __main__, and says by one letter on descriptor 3 why an uncaught exception ended
 * it. Runs before any of the user's code and leaves no name of its own behind in __main__. */
static const char wrapper[] =
    "import sys\n"
    "def _run():\n"
    "    import errno, linecache, os, resource, traceback, types\n"
    "    path, name, memory, cpu_s, fsize, scripts, display_last = sys.argv[1:8]\n"
    "    os.set_inheritable(3, False)\n"
    "    def limit(which, soft, hard):\n"
    "        ceiling = resource.getrlimit(which)[1]\n"
    "        if ceiling != resource.RLIM_INFINITY:\n"
    "            soft, hard = min(soft, ceiling), min(hard, ceiling)\n"
    "        resource.setrlimit(which, (soft, hard))\n"
    "    limit(resource.RLIMIT_CORE, 0, 0)\n"
    "    limit(resource.RLIMIT_DATA, int(memory), int(memory))\n"
    "    limit(resource.RLIMIT_FSIZE, int(fsize), int(fsize))\n"
    "    if int(cpu_s):\n"
    "        limit(resource.RLIMIT_CPU, int(cpu_s), int(cpu_s) + 1)\n"
    "    main = types.ModuleType('__main__')\n"
    "    main.__file__ = path\n"
    "    main.__builtins__ = __builtins__\n"
    "    sys.modules['__main__'] = main\n"
    "    sys.argv = [name] + sys.argv[8:]\n"
    "    sys.path[0] = scripts\n"
    "    import figures\n"
    "    if display_last == '1':\n"
    "        import display\n"
    "    sys.path[0] = os.getcwd()\n"
    "    for module in 'display', 'figures': # what the program finds under these names shall be its own\n"
    "        sys.modules.pop(module, None)\n"
    "    figures.expect(os.getcwd())\n"
    "    def hook(kind, value, tb):\n"
    "        while tb is not None and tb.tb_frame.f_code.co_filename == '<string>':\n"
    "            tb = tb.tb_next\n"
    "        word = b'E'\n"
    "        if issubclass(kind, MemoryError):\n"
    "            word = b'M'\n"
    "        elif issubclass(kind, OSError) and value.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):\n"
    "            word = b'D'\n"
    "        try:\n"
    "            os.write(3, word)\n"
    "        except OSError:\n"
    "            pass\n"
    "        traceback.print_exception(kind, value.with_traceback(tb), tb)\n"
    "    sys.excepthook = hook\n"
    "    with open(path, 'rb') as f:\n"
    "        source = f.read()\n"
    "    linecache.cache[name] = (len(source), None, source.decode().splitlines(True), name)\n"
    "    code = last = None\n"
    "    try:\n"
    "        if display_last == '1':\n"
    "            code, last = display.split(source, name)\n"
    "    except SyntaxError as e:\n"
    "        raise e.with_traceback(None)\n"
    "    except Exception:\n"
    "        pass\n"
    "    exec(code or compile(source, name, 'exec'), main.__dict__)\n"
    "    if last:\n"
    "        exec(last, main.__dict__)\n"
    "_run()\n";

struct stream {
  struct mf_direct *direct;
  int fd;
  struct mf_watch *watch;
  bool is_stderr;
};

struct mf_direct {
  const struct mf_direct_events *events;
  void *user;
  struct mf_tempdir dir;
  struct mf_pidref process;
  struct mf_watch *process_watch;
  struct stream streams[2];
  int word_fd;
  struct mf_timer *timer; /* first "started", then the wall clock */
  bool is_started;
  enum mf_kill_cause killed;
  uint64_t start_ns, wall_ms;
  char *buffer;
};

/* ---- the directory ---- */

static enum mf_code fill_dir(const struct mf_direct *d, const struct mf_job *job, struct mf_err *err)
{
  enum mf_code code = mf_tempdir_write(&d->dir, MF_STR("task/main.py"), job->source, err);
  for (unsigned i = 0; code == MF_OK && i < job->file_n; i++) {
    mf_auto_free char *name = mf_xasprintf("data/%.*s", MF_STR_ARG(job->files[i].name));
    code = mf_tempdir_write(&d->dir, mf_str_of(name), job->files[i].data, err);
  }
  return code;
}

static enum mf_code make_dir(struct mf_direct *d, const struct mf_job *job, struct mf_err *err)
{
  static const char *const parts[] = { "data", "task", "tmp" };
  enum mf_code code = mf_tempdir_make(&d->dir, err);
  for (size_t i = 0; code == MF_OK && i < MF_ARRAY_N(parts); i++)
    if (mkdirat(d->dir.fd, parts[i], 0700) != 0)
      code = mf_fail(err, MF_E_SYS, errno, "make folder '%s/%s'", d->dir.path, parts[i]);
  return code == MF_OK ? fill_dir(d, job, err) : code;
}

/* ---- the process ---- */

/* A NULL-ended list of strings for exec; owns them. */
struct strings {
  char **v;
  size_t n;
};

static void add_string(struct strings *s, char *taken)
{
  s->v = mf_xrealloc(s->v, (s->n + 2) * sizeof(*s->v));
  s->v[s->n++] = taken;
  s->v[s->n] = NULL;
}

static void strings_done(struct strings *s)
{
  for (size_t i = 0; i < s->n; i++)
    free(s->v[i]);
  free(s->v);
}
#define auto_strings MF_CLEANUP(strings_done)

static void list_argv(const struct mf_direct *d, const struct mf_direct_spec *spec, const struct mf_job *job,
                      struct strings *s)
{
  add_string(s, mf_xstrdup(spec->runtime->host_python));
  add_string(s, mf_xstrdup("-sB"));
  add_string(s, mf_xstrdup("-c"));
  add_string(s, mf_xstrdup(wrapper));
  add_string(s, mf_xasprintf("%s/task/main.py", d->dir.path));
  add_string(s, mf_xasprintf("%.*s", MF_STR_ARG(job->name)));
  add_string(s, mf_xasprintf("%llu", (unsigned long long)spec->limits->memory_bytes));
  add_string(s, mf_xasprintf("%llu", (unsigned long long)(spec->limits->cpu_ms + 999) / 1000));
  add_string(s, mf_xasprintf("%llu", (unsigned long long)spec->file_bytes_max));
  add_string(s, mf_xstrdup(spec->scripts));
  add_string(s, mf_xstrdup(job->display_last ? "1" : "0"));
  for (unsigned i = 0; i < job->argv_n; i++)
    add_string(s, mf_xasprintf("%.*s", MF_STR_ARG(job->argv[i])));
}

/* As inside the sandbox, and nothing of the host's own environment, which may hold secrets. */
static void list_env(const struct mf_direct *d, const struct mf_direct_spec *spec, struct strings *s)
{
  static const char *const fixed[] = {
    "PATH=/usr/local/bin:/usr/bin:/bin",
    "LANG=C.UTF-8",
    "PYTHONUTF8=1",
    "PYTHONDONTWRITEBYTECODE=1",
    "MPLBACKEND=Agg",
    "OMP_NUM_THREADS=1",
    "OPENBLAS_NUM_THREADS=1",
  };
  for (size_t i = 0; i < MF_ARRAY_N(fixed); i++)
    add_string(s, mf_xstrdup(fixed[i]));
  add_string(s, mf_xasprintf("HOME=%s/tmp", d->dir.path));
  add_string(s, mf_xasprintf("TMPDIR=%s/tmp", d->dir.path));
  add_string(s, mf_xasprintf("MPLCONFIGDIR=%s/tmp", d->dir.path));
  add_string(s, mf_xasprintf("MATPLOTLIBRC=%s/opt/mpl/matplotlibrc", spec->rootfs));
  add_string(s, mf_xasprintf("XDG_DATA_HOME=%s/usr/share", spec->rootfs)); /* matplotlib looks for fonts there */
  if (spec->runtime->site_packages[0])
    add_string(s, mf_xasprintf("PYTHONPATH=%s%s", spec->rootfs, spec->runtime->site_packages));
}

static int plan_actions(posix_spawn_file_actions_t *a, const struct mf_direct *d, const int out[3])
{
  mf_auto_free char *data = mf_xasprintf("%s/data", d->dir.path);
  int e = posix_spawn_file_actions_addopen(a, 0, "/dev/null", O_RDONLY, 0);
  for (int i = 0; i < 3 && !e; i++)
    e = posix_spawn_file_actions_adddup2(a, out[i], i + 1);
  if (!e)
    e = posix_spawn_file_actions_addclosefrom_np(a, WORD_FD + 1);
  if (!e)
    e = posix_spawn_file_actions_addchdir_np(a, data);
  return e;
}

static int spawn_python(const struct mf_direct *d, char **argv, char **envp, const int out[3], pid_t *ret)
{
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attr;
  int e = posix_spawn_file_actions_init(&actions);
  if (e)
    return e;
  e = posix_spawnattr_init(&attr);
  if (!e) {
    e = plan_actions(&actions, d, out);
    if (!e)
      e = mf_spawn_plan_attr(&attr);
    if (!e)
      e = posix_spawn(ret, argv[0], &actions, &attr, argv, envp);
    posix_spawnattr_destroy(&attr);
  }
  posix_spawn_file_actions_destroy(&actions);
  return e;
}

/* Our end first and non-blocking, the process's end above the standard descriptors. */
static enum mf_code make_pipe(int *ret_ours, int *ret_theirs, struct mf_err *err)
{
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0)
    return mf_fail(err, MF_E_SYS, errno, "make a pipe");
  *ret_ours = fds[0];
  *ret_theirs = fcntl(fds[1], F_DUPFD_CLOEXEC, 16);
  int sys = errno;
  close(fds[1]);
  if (*ret_theirs < 0)
    return mf_fail(err, MF_E_SYS, sys, "move a descriptor");
  return mf_fd_set_nonblock(*ret_ours, err);
}

static enum mf_code start_process(struct mf_direct *d, const struct mf_direct_spec *spec, const struct mf_job *job,
                                  struct mf_err *err)
{
  int theirs[3] = { -1, -1, -1 };
  int *ours[3] = { &d->streams[0].fd, &d->streams[1].fd, &d->word_fd };
  enum mf_code code = MF_OK;
  for (int i = 0; i < 3 && code == MF_OK; i++)
    code = make_pipe(ours[i], &theirs[i], err);
  if (code == MF_OK) {
    auto_strings struct strings argv = { 0 };
    auto_strings struct strings envp = { 0 };
    list_argv(d, spec, job, &argv);
    list_env(d, spec, &envp);
    pid_t pid = 0;
    int e = spawn_python(d, argv.v, envp.v, theirs, &pid);
    if (e)
      code = mf_fail(err, MF_E_UNAVAILABLE, e, "execute '%s'", spec->runtime->host_python);
    else
      code = mf_pidref_open(&d->process, pid, err); /* our child, not reaped: the pid is still its own */
  }
  for (int i = 0; i < 3; i++)
    mf_close_ptr(&theirs[i]);
  return code;
}

/* ---- events ---- */

/* Reads what is there; true when there may be more. */
static bool read_some(struct stream *s)
{
  struct mf_direct *d = s->direct;
  ssize_t n = read(s->fd, d->buffer, READ_MAX);
  if (n < 0 && errno == EINTR)
    return true;
  if (n > 0) {
    d->events->output(d->user, s->is_stderr, (struct mf_str){ d->buffer, (size_t)n });
    return true;
  }
  if (n == 0 || errno != EAGAIN) {
    s->watch = mf_watch_free(s->watch);
    mf_close_ptr(&s->fd);
  }
  return false;
}

static void on_stream(void *user, unsigned events)
{
  (void)read_some(user);
}

static void kill_group(const struct mf_direct *d)
{
  /* The leader is not reaped yet, so its number still names its own group. */
  if (d->process.pid > 0)
    (void)kill(-d->process.pid, SIGKILL);
}

static uint32_t uncaught_word(const struct mf_direct *d)
{
  char word = 0;
  if (read(d->word_fd, &word, 1) != 1)
    return MF_UNCAUGHT_NONE;
  switch (word) {
  case 'M':
    return MF_UNCAUGHT_MEMORY;
  case 'D':
    return MF_UNCAUGHT_DISK;
  default:
    return MF_UNCAUGHT_EXCEPTION;
  }
}

static void note_usage(struct mf_sup_finished *f, const struct rusage *use)
{
  f->cpu_us = (uint64_t)(use->ru_utime.tv_sec + use->ru_stime.tv_sec) * 1000000u +
              (uint64_t)(use->ru_utime.tv_usec + use->ru_stime.tv_usec);
  f->memory_peak_bytes = (uint64_t)use->ru_maxrss * 1024u;
}

static void note_status(struct mf_direct *d, int status, struct mf_sup_finished *f)
{
  if (WIFEXITED(status)) {
    f->exit_code = WEXITSTATUS(status);
    f->uncaught = f->exit_code == 0 ? (uint32_t)MF_UNCAUGHT_NONE : uncaught_word(d);
    f->by_word = 1; /* as the sandbox's word: from the guest's own process */
  } else if (WIFSIGNALED(status)) {
    f->signal = WTERMSIG(status);
  }
}

static void on_process_ended(void *user, unsigned events)
{
  struct mf_direct *d = user;
  uint64_t end_ns = mf_now_ns();
  d->process_watch = mf_watch_free(d->process_watch);
  mf_timer_disarm(d->timer);
  kill_group(d);
  for (int i = 0; i < 2; i++)
    for (int reads = 0; d->streams[i].fd >= 0 && reads < DRAIN_READS_MAX && read_some(&d->streams[i]); reads++)
      ;

  struct mf_sup_finished f = {
    .type = MF_SUP_FINISHED,
    .killed = d->killed,
    .exit_code = -1,
    .has_files = 1,
    .begun = 1,
    .wall_us = (end_ns - d->start_ns) / 1000,
  };
  struct rusage use;
  int status = -1;
  pid_t got;
  do
    got = wait4(d->process.pid, &status, 0, &use); /* it has ended: no wait */
  while (got < 0 && errno == EINTR);
  if (got > 0) {
    note_status(d, status, &f);
    note_usage(&f, &use);
  }
  mf_pidref_done(&d->process);
  int data = openat(d->dir.fd, "data", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  d->events->finished(d->user, &f, data);
  d->events->reaped(d->user); /* d is gone after it */
}

static void on_timer(void *user)
{
  struct mf_direct *d = user;
  if (d->is_started) {
    mf_direct_kill(d, MF_KILL_WALL);
    return;
  }
  d->is_started = true;
  mf_timer_arm(d->timer, d->start_ns + d->wall_ms * MF_NS_PER_MS);
  d->events->started(d->user);
}

/* ---- life ---- */

static enum mf_code watch_all(struct mf_direct *d, struct mf_loop *loop, struct mf_err *err)
{
  enum mf_code code = mf_timer_new(loop, on_timer, d, &d->timer, err);
  for (int i = 0; i < 2 && code == MF_OK; i++)
    code = mf_watch_new(loop, d->streams[i].fd, MF_WATCH_READ, on_stream, &d->streams[i], &d->streams[i].watch, err);
  if (code == MF_OK)
    code = mf_watch_new(loop, d->process.fd, MF_WATCH_READ, on_process_ended, d, &d->process_watch, err);
  return code;
}

enum mf_code mf_direct_start(struct mf_loop *loop, const struct mf_direct_spec *spec, const struct mf_job *job,
                             const struct mf_direct_events *events, void *user, struct mf_direct **ret,
                             struct mf_err *err)
{
  if (!spec->runtime->host_python[0])
    return mf_fail(err, MF_E_UNAVAILABLE, 0, "the runtime names no host Python, so nothing runs without a sandbox");
  struct mf_direct *d = mf_xcalloc(1, sizeof(*d));
  d->events = events;
  d->user = user;
  d->process = MF_PIDREF_NULL;
  d->dir = MF_TEMPDIR_NULL;
  d->word_fd = -1;
  d->wall_ms = spec->limits->wall_ms;
  d->buffer = mf_xmalloc(READ_MAX);
  for (int i = 0; i < 2; i++)
    d->streams[i] = (struct stream){ .direct = d, .fd = -1, .is_stderr = i == 1 };
  enum mf_code code = make_dir(d, job, err);
  d->start_ns = mf_now_ns();
  if (code == MF_OK)
    code = start_process(d, spec, job, err);
  if (code == MF_OK)
    code = watch_all(d, loop, err);
  if (code != MF_OK) {
    mf_direct_free(d);
    return mf_wrap(err, code, "run without a sandbox");
  }
  mf_timer_arm(d->timer, 0);
  *ret = d;
  return MF_OK;
}

void mf_direct_kill(struct mf_direct *d, enum mf_kill_cause cause)
{
  if (d->killed == MF_KILL_NONE)
    d->killed = cause;
  kill_group(d);
}

void mf_direct_take_dir(struct mf_direct *d, struct mf_tempdir *ret)
{
  *ret = d->dir;
  d->dir = MF_TEMPDIR_NULL;
}

struct mf_direct *mf_direct_free(struct mf_direct *d)
{
  if (!d)
    return NULL;
  d->process_watch = mf_watch_free(d->process_watch);
  d->timer = mf_timer_free(d->timer);
  for (int i = 0; i < 2; i++) {
    d->streams[i].watch = mf_watch_free(d->streams[i].watch);
    mf_close_ptr(&d->streams[i].fd);
  }
  mf_close_ptr(&d->word_fd);
  if (d->process.pid > 0) {
    kill_group(d);
    while (waitpid(d->process.pid, NULL, 0) < 0 && errno == EINTR)
      ; /* killed just now */
    mf_pidref_done(&d->process);
  }
  mf_tempdir_remove(&d->dir);
  free(d->buffer);
  free(d);
  return NULL;
}

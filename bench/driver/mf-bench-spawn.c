/* Measures one command line as a caller sees it: from posix_spawn until its output has ended and it is reaped. In C, so
 * that the peers that are programs carry no cost of the measuring side.
 *
 *   mf-bench-spawn PROGRAM ARG…
 *   commands: once; rate RUNNING MS */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "answer.h"
#include "base/fd.h"
#include "base/num.h"
#include "base/time.h"

#include "base/banned.h"

#define OUT_BYTES_MAX 65536
#define RUN_MS_MAX 120000

struct child {
  pid_t pid; /* 0: none */
  int out;
  uint64_t begin_ns, end_ns;
  struct mf_buf text;
};

struct spawner {
  char **argv;
  int null_fd, err_fd; /* err_fd: a memfd with what the last child wrote to standard error */
  struct child children[MF_BENCH_RUNNING_MAX];
};

/* ---- one child ---- */

static enum mf_code begin_child(struct spawner *s, struct child *c, struct mf_err *err)
{
  extern char **environ;
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attr;
  int pipe_fds[2];

  if (pipe2(pipe_fds, O_CLOEXEC) < 0)
    return mf_fail(err, MF_E_SYS, errno, "pipe");
  (void)!ftruncate(s->err_fd, 0);
  (void)lseek(s->err_fd, 0, SEEK_SET);
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, s->null_fd, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, pipe_fds[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, s->err_fd, STDERR_FILENO);
  posix_spawnattr_init(&attr); /* a process group of its own, so that a run which hangs can be ended with its helpers */
  posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attr, 0);

  c->begin_ns = mf_now_ns();
  int failed = posix_spawn(&c->pid, s->argv[0], &files, &attr, s->argv, environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attr);
  close(pipe_fds[1]);
  if (failed) {
    c->pid = 0;
    close(pipe_fds[0]);
    return mf_fail(err, MF_E_SYS, failed, "start %s", s->argv[0]);
  }
  c->out = pipe_fds[0];
  mf_buf_init(&c->text, OUT_BYTES_MAX);
  return MF_OK;
}

/* The tail of standard error, which tells more than an exit status. */
static void read_complaint(struct spawner *s, char *ret, size_t n)
{
  off_t size = lseek(s->err_fd, 0, SEEK_END);
  off_t from = size > (off_t)n - 1 ? size - ((off_t)n - 1) : 0;
  ssize_t got = pread(s->err_fd, ret, n - 1, from);
  ret[got > 0 ? got : 0] = 0;
}

static enum mf_code end_child(struct spawner *s, struct child *c, struct mf_err *err)
{
  int status = 0;
  char complaint[200];

  mf_close_ptr(&c->out);
  while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
    ;
  c->end_ns = mf_now_ns();
  c->pid = 0;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return MF_OK;
  read_complaint(s, complaint, sizeof(complaint));
  return mf_fail(err, MF_E_INTERNAL, 0, "ended with %s %d: %s", WIFEXITED(status) ? "exit code" : "signal",
                 WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), complaint);
}

static void kill_children(struct spawner *s)
{
  for (unsigned i = 0; i < MF_BENCH_RUNNING_MAX; i++) {
    struct child *c = &s->children[i];
    if (!c->pid)
      continue;
    kill(-c->pid, SIGKILL);
    (void)end_child(s, c, NULL);
    mf_buf_done(&c->text);
  }
}

/* ---- several at a time ---- */

/* Reads what is there. *ret_ended: the output has come to its end. */
static enum mf_code read_output(struct child *c, bool *ret_ended, struct mf_err *err)
{
  char chunk[4096];
  ssize_t n = read(c->out, chunk, sizeof(chunk));
  if (n < 0 && errno != EINTR)
    return mf_fail(err, MF_E_SYS, errno, "read its output");
  *ret_ended = n == 0;
  return n > 0 ? mf_buf_append(&c->text, chunk, (size_t)n) : MF_OK;
}

/* Waits until some child has something to say; *ret is the one that has ended, or NULL. */
static enum mf_code wait_child(struct spawner *s, struct child **ret, struct mf_err *err)
{
  struct pollfd fds[MF_BENCH_RUNNING_MAX];
  struct child *of[MF_BENCH_RUNNING_MAX];
  unsigned n = 0;
  *ret = NULL;
  for (unsigned i = 0; i < MF_BENCH_RUNNING_MAX; i++) {
    if (!s->children[i].pid)
      continue;
    of[n] = &s->children[i];
    fds[n++] = (struct pollfd){ .fd = s->children[i].out, .events = POLLIN };
  }
  int ready = poll(fds, n, RUN_MS_MAX);
  if (ready == 0)
    return mf_fail(err, MF_E_TIMEOUT, 0, "no answer within %d s", RUN_MS_MAX / 1000);
  if (ready < 0)
    return errno == EINTR ? MF_OK : mf_fail(err, MF_E_SYS, errno, "poll");
  for (unsigned i = 0; i < n; i++) {
    bool ended = false;
    if (!fds[i].revents)
      continue;
    enum mf_code code = read_output(of[i], &ended, err);
    if (code != MF_OK)
      return code;
    if (ended) {
      *ret = of[i];
      return end_child(s, of[i], err);
    }
  }
  return MF_OK;
}

static struct child *free_child(struct spawner *s)
{
  for (unsigned i = 0; i < MF_BENCH_RUNNING_MAX; i++)
    if (!s->children[i].pid)
      return &s->children[i];
  return NULL;
}

/* ---- commands ---- */

static enum mf_code do_once(struct spawner *s, struct mf_err *err)
{
  struct child *c = &s->children[0], *ended = NULL;
  enum mf_code code = begin_child(s, c, err);
  while (code == MF_OK && !ended)
    code = wait_child(s, &ended, err);
  if (code == MF_OK) {
    struct mf_answer a;
    mf_answer_begin(&a);
    mf_jw_kf64(&a.w, "ms", (double)(c->end_ns - c->begin_ns) / 1e6);
    mf_jw_kstr(&a.w, "out", mf_buf_str(&c->text));
    mf_answer_send(&a);
  }
  if (ended)
    mf_buf_done(&c->text);
  return code;
}

static enum mf_code do_rate(struct spawner *s, uint64_t running, uint64_t ms, struct mf_err *err)
{
  enum mf_code code = MF_OK;
  uint64_t begin_ns = mf_now_ns(), until_ns = begin_ns + ms * MF_NS_PER_MS, last_ns = begin_ns, done_n = 0, flying = 0;
  do {
    while (code == MF_OK && flying < running && mf_now_ns() < until_ns) {
      code = begin_child(s, free_child(s), err);
      flying += code == MF_OK;
    }
    struct child *ended = NULL;
    if (code == MF_OK && flying > 0)
      code = wait_child(s, &ended, err);
    if (code == MF_OK && ended) {
      last_ns = ended->end_ns;
      mf_buf_done(&ended->text);
      flying--;
      done_n++;
    }
  } while (code == MF_OK && flying > 0);
  if (code == MF_OK) {
    struct mf_answer a;
    mf_answer_begin(&a);
    mf_jw_kf64(&a.w, "perSecond", last_ns > begin_ns ? (double)done_n / ((double)(last_ns - begin_ns) / 1e9) : 0);
    mf_jw_ku64(&a.w, "runs", done_n);
    mf_answer_send(&a);
  }
  return code;
}

static enum mf_code take_command(struct spawner *s, char *line, struct mf_err *err)
{
  char *w[3];
  unsigned n = mf_words(line, w, MF_ARRAY_N(w));
  uint64_t running = 0, ms = 0;
  if (n == 1 && strcmp(w[0], "once") == 0)
    return do_once(s, err);
  if (n != 3 || strcmp(w[0], "rate") != 0)
    return mf_fail(err, MF_E_INPUT, 0, "expected: once, or rate RUNNING MS");
  enum mf_code code = mf_parse_u64(mf_str_of(w[1]), "RUNNING", 1, MF_BENCH_RUNNING_MAX, &running, err);
  if (code == MF_OK)
    code = mf_parse_u64(mf_str_of(w[2]), "MS", 1, MF_BENCH_RATE_MS_MAX, &ms, err);
  return code == MF_OK ? do_rate(s, running, ms, err) : code;
}

int main(int argc, char **argv)
{
  static struct spawner s; /* large, and this program's only state */
  struct mf_err err = { 0 };
  char line[256];
  if (argc < 2) {
    fprintf(stderr, "usage: mf-bench-spawn PROGRAM ARG…\n");
    return 2;
  }
  s.argv = argv + 1;
  s.null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (s.null_fd < 0 || mf_memfd("complaints", &s.err_fd, &err) != MF_OK) {
    mf_answer_error(s.null_fd < 0 ? "open /dev/null" : err.msg);
    return 1;
  }
  struct mf_answer a;
  mf_answer_begin(&a);
  mf_jw_kbool(&a.w, "ready", true);
  mf_answer_send(&a);
  while (fgets(line, sizeof(line), stdin)) {
    line[strcspn(line, "\n")] = 0;
    err = (struct mf_err){ 0 };
    if (take_command(&s, line, &err) != MF_OK) {
      kill_children(&s);
      mf_answer_error(err.msg);
    }
  }
  kill_children(&s);
  return 0;
}

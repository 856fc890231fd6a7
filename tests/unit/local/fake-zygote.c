/* See fake-zygote.h. */
#include "unit.h"

#include "fake-zygote.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/time.h"
#include "base/banned.h"

#define MB (1ull << 20)

static struct rig *rig; /* the hooks have no argument of their own */

static pid_t start_sleeper(void)
{
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails must leave nothing */
    syscall(SYS_close_range, 3u, ~0u, 0u);
    for (;;)
      pause();
  }
  return pid;
}

static int open_pidfd(pid_t pid)
{
  int fd = (int)syscall(SYS_pidfd_open, pid, 0);
  assert_true(fd >= 0);
  return fd;
}

static void pair_of(int type, int ret[2])
{
  assert_int_equal(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ret), 0);
}

/* ---- hooks ---- */

static enum mf_code fake_outer_start(const struct mf_outer_spec *spec, struct mf_pidref *ret_init, int *ret_sock,
                                     struct mf_err *err)
{
  if (rig->fail_start)
    return mf_fail(err, MF_E_SYS, EAGAIN, "clone");
  struct rig_zygote *z = &rig->zygotes[rig_zygote_n(rig)];
  assert_true(z < rig->zygotes + RIG_ZYGOTES);
  int pair[2];
  pair_of(SOCK_SEQPACKET | SOCK_NONBLOCK, pair);
  *z = (struct rig_zygote){ .is_used = true, .data = spec->config.data, .init = start_sleeper(), .sock = pair[1] };
  *ret_init = (struct mf_pidref){ z->init, open_pidfd(z->init) };
  *ret_sock = pair[0];
  return MF_OK;
}

static enum mf_code fake_sha256(int shared_anon_ok, char ret_hex[65], struct mf_err *err)
{
  memset(ret_hex, 'a', 64);
  ret_hex[64] = '\0';
  return MF_OK;
}

static void real_kill(const struct mf_pidref *init)
{
  assert_int_equal(mf_pidref_signal(init, SIGKILL, NULL), MF_OK);
}

static const struct mf_supervisor_hooks hooks = { fake_outer_start, fake_sha256, real_kill };

/* ---- the played world ---- */

static void send_fds(int sock, const void *p, size_t n, const int *fds, unsigned fd_n)
{
  struct mf_err err;
  enum mf_code code = mf_send_msg(sock, p, n, fds, fd_n, &err);
  if (code != MF_OK && code != MF_E_GONE)
    fail_msg("%s", err.msg);
}

static void answer_fork(struct rig_child *c)
{
  int control[2], out[2], err[2];
  pair_of(SOCK_SEQPACKET, control);
  assert_int_equal(pipe2(out, O_CLOEXEC | O_NONBLOCK), 0);
  assert_int_equal(pipe2(err, O_CLOEXEC | O_NONBLOCK), 0);
  assert_int_equal(fcntl(control[1], F_SETFL, O_NONBLOCK), 0);
  c->is_forked = true;
  c->init = start_sleeper();
  c->guest = start_sleeper();
  c->control = control[1];
  c->out = out[1];
  c->err = err[1];
  int fds[5] = { open_pidfd(c->guest), open_pidfd(c->init), control[0], out[0], err[0] };
  const struct mf_zyg_forked forked = { .type = MF_ZYG_FORKED, .slot = c->slot };
  send_fds(rig->zygotes[c->zygote].sock, &forked, sizeof forked, fds, 5);
  for (int i = 0; i < 5; i++)
    close(fds[i]);
}

static void tell_ready(struct rig_child *c)
{
  int dir = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const struct mf_child_ready ready = { .type = MF_CHILD_READY, .layers = 0x3fff, .landlock_abi = 6 };
  send_fds(c->control, &ready, sizeof ready, &dir, 1);
  close(dir);
}

static void receive_forks(struct rig *r, unsigned zi)
{
  struct rig_zygote *z = &r->zygotes[zi];
  struct mf_zyg_fork f;
  int fds[MF_FDS_MAX];
  unsigned fd_n;
  size_t n;
  while (z->sock >= 0 && mf_recv_msg(z->sock, &f, sizeof f, &n, fds, &fd_n, NULL) == MF_OK) {
    assert_int_equal(n, sizeof f);
    assert_int_equal(f.type, MF_ZYG_FORK);
    assert_int_equal(fd_n, 0); /* no control groups in these tests */
    struct rig_child *c = r->children;
    while (c->is_used)
      c++;
    assert_true(c < r->children + RIG_CHILDREN);
    *c = (struct rig_child){ .is_used = true,
                             .zygote = zi,
                             .slot = f.slot,
                             .prefault = f.prefault,
                             .control = -1,
                             .out = -1,
                             .err = -1,
                             .job = -1 };
    z->fork_n++;
  }
}

static void close_child(struct rig_child *c)
{
  mf_close_ptr(&c->control);
  mf_close_ptr(&c->out);
  mf_close_ptr(&c->err);
  mf_close_ptr(&c->job);
}

static void report_exit(struct rig_child *c, int32_t what, int32_t status)
{
  const struct mf_zyg_exited e = {
    .type = MF_ZYG_EXITED, .slot = c->slot, .what = what, .status = status, .cpu_us = 1500
  };
  if (rig->zygotes[c->zygote].sock >= 0)
    send_fds(rig->zygotes[c->zygote].sock, &e, sizeof e, NULL, 0);
}

/* The supervisor killed the init: guest and init are gone, as in a real namespace. */
static void follow_kills(struct rig_child *c)
{
  if (!c->is_forked || c->is_gone || rig->hold_exits)
    return;
  bool zygote_dead = rig->zygotes[c->zygote].is_dead;
  if (zygote_dead)
    kill(c->init, SIGKILL);
  if (waitpid(c->init, NULL, zygote_dead ? 0 : WNOHANG) != c->init)
    return;
  if (c->guest > 0) {
    kill(c->guest, SIGKILL);
    waitpid(c->guest, NULL, 0);
    report_exit(c, 0, SIGKILL);
  }
  c->is_gone = true;
  close_child(c);
  report_exit(c, 1, SIGKILL);
}

static void receive_job(struct rig_child *c)
{
  int fds[MF_FDS_MAX];
  unsigned fd_n;
  size_t n;
  if (c->control < 0 || c->job >= 0 ||
      mf_recv_msg(c->control, &c->frame, sizeof c->frame, &n, fds, &fd_n, NULL) != MF_OK)
    return;
  assert_int_equal(n, sizeof c->frame);
  assert_int_equal(c->frame.type, MF_CHILD_JOB);
  assert_int_equal(fd_n, 1);
  c->job = fds[0];
}

static void play_zygote(struct rig *r, unsigned i)
{
  struct rig_zygote *z = &r->zygotes[i];
  /* its init is a child of ours in this test, so the supervisor's waitid may have been first */
  if (!z->is_dead && (waitpid(z->init, NULL, WNOHANG) != 0)) {
    z->is_dead = true;
    mf_close_ptr(&z->sock);
  }
  if (z->is_dead)
    return;
  if (!r->hold_zygotes && !z->is_ready) {
    z->is_ready = true;
    const struct mf_zyg_ready ready = {
      .type = MF_ZYG_READY, .version = MF_FRAMES_VERSION, .python_hex = 0x030c01f0, .checkpointed = 1
    };
    send_fds(z->sock, &ready, sizeof ready, NULL, 0);
  }
  receive_forks(r, i);
}

static void play_child(struct rig *r, struct rig_child *c)
{
  if (!c->is_forked && !r->hold_forks && !r->zygotes[c->zygote].is_dead) {
    answer_fork(c);
    if (!r->hold_ready)
      tell_ready(c);
  }
  receive_job(c);
  follow_kills(c);
}

static void read_frames(struct rig *r)
{
  static char buf[sizeof(struct mf_sup_output) + MF_CHUNK_MAX];
  int fds[MF_FDS_MAX];
  unsigned fd_n;
  size_t n;
  while (r->sock >= 0 && !r->is_deaf && mf_recv_msg(r->sock, buf, sizeof buf, &n, fds, &fd_n, NULL) == MF_OK) {
    assert_true(r->frame_n < RIG_FRAMES);
    struct rig_frame *f = &r->frames[r->frame_n++];
    *f = (struct rig_frame){ .n = n, .fd = fd_n > 0 ? fds[0] : -1 };
    memcpy(&f->type, buf, sizeof f->type);
    size_t head = MF_MIN(n, sizeof f->fatal); /* the largest but for output */
    memcpy(&f->ready, buf, head);
    if (f->type != MF_SUP_READY && f->type != MF_SUP_FATAL)
      memcpy(&f->id, buf + 8, sizeof f->id); /* every other frame has its id there */
    if (f->type == MF_SUP_OUTPUT) {
      assert_int_equal(n, sizeof f->output + f->output.len);
      f->bytes = mf_xmalloc(f->output.len + 1);
      memcpy(f->bytes, buf + sizeof f->output, f->output.len);
    }
  }
}

static void stop_loop(void *user)
{
  mf_loop_stop(((struct rig *)user)->loop);
}

void rig_step(struct rig *r)
{
  struct mf_err err;
  for (unsigned i = 0; i < rig_zygote_n(r); i++)
    play_zygote(r, i);
  for (unsigned i = 0; i < RIG_CHILDREN; i++) {
    if (r->children[i].is_used)
      play_child(r, &r->children[i]);
  }
  if (!r->has_ended) {
    assert_ok(mf_loop_defer(r->loop, stop_loop, r, &err), &err);
    assert_ok(mf_loop_run(r->loop, &err), &err);
    r->has_ended = r->sup->is_ending;
  }
  read_frames(r);
  usleep(500);
}

void rig_idle(struct rig *r)
{
  for (int i = 0; i < 60; i++)
    rig_step(r);
}

/* ---- life ---- */

void rig_config(struct mf_supervisor_config *c)
{
  *c = (struct mf_supervisor_config){
    .version = MF_FRAMES_VERSION,
    .max_running = 4,
    .start_stdlib = 1,
    .default_memory_bytes = 1024 * MB,
    .default_pids = 64,
  };
  snprintf(c->rootfs, sizeof c->rootfs, "/nowhere");
  snprintf(c->zygote_dir, sizeof c->zygote_dir, "/nowhere");
  snprintf(c->python_path, sizeof c->python_path, "/nowhere");
  struct mf_err err;
  assert_ok(mf_supervisor_config_check(c, &err), &err);
}

static struct rig *new_rig(const struct mf_supervisor_config *c, bool fail_start)
{
  struct mf_err err;
  struct rig *r = mf_xcalloc(1, sizeof *r);
  rig = r;
  r->fail_start = fail_start;
  int pair[2];
  pair_of(SOCK_SEQPACKET, pair);
  assert_int_equal(fcntl(pair[0], F_SETFL, O_NONBLOCK), 0);
  r->sock = pair[0];
  assert_ok(mf_loop_new(&r->loop, &err), &err);
  r->sup = mf_supervisor_new(r->loop, c, &hooks, pair[1]);
  return r;
}

struct rig *rig_new(const struct mf_supervisor_config *c)
{
  return new_rig(c, false);
}

struct rig *rig_new_failing(const struct mf_supervisor_config *c)
{
  return new_rig(c, true);
}

struct rig *rig_new_ready(const struct mf_supervisor_config *c)
{
  struct rig *r = rig_new(c);
  rig_until(r, rig_count(r, MF_SUP_READY, 0) == 1);
  return r;
}

void rig_free(struct rig *r)
{
  mf_close_ptr(&r->sock);
  mf_supervisor_free(r->sup);
  mf_loop_free(r->loop);
  for (unsigned i = 0; i < RIG_CHILDREN; i++) {
    struct rig_child *c = &r->children[i];
    if (c->is_forked && !c->is_gone) {
      kill(c->init, SIGKILL);
      waitpid(c->init, NULL, 0);
      if (c->guest > 0) {
        kill(c->guest, SIGKILL);
        waitpid(c->guest, NULL, 0);
      }
    }
    if (c->is_used)
      close_child(c);
  }
  for (unsigned i = 0; i < RIG_ZYGOTES; i++) {
    struct rig_zygote *z = &r->zygotes[i];
    if (!z->is_used)
      continue;
    mf_close_ptr(&z->sock);
    if (!z->is_dead)
      waitpid(z->init, NULL, 0);
  }
  for (unsigned i = 0; i < r->frame_n; i++) {
    mf_close_ptr(&r->frames[i].fd);
    free(r->frames[i].bytes);
  }
  free(r);
  rig = NULL;
}

/* ---- as the provider ---- */

struct mf_sup_start rig_spec(uint64_t id)
{
  return (struct mf_sup_start){
    .type = MF_SUP_START,
    .runtime = 1,
    .id = id,
    .wall_ms = 60000,
    .memory_bytes = 1024 * MB + id * 4096,
    .stdout_bytes = MB,
    .stderr_bytes = MB,
    .pids = 64,
  };
}

void rig_start_spec(struct rig *r, const struct mf_sup_start *spec)
{
  struct mf_err err;
  int job;
  assert_ok(mf_memfd("job", &job, &err), &err);
  send_fds(r->sock, spec, sizeof *spec, &job, 1);
  close(job);
}

void rig_start(struct rig *r, uint64_t id)
{
  struct mf_sup_start spec = rig_spec(id);
  rig_start_spec(r, &spec);
}

void rig_cancel(struct rig *r, uint64_t id)
{
  const struct mf_sup_cancel f = { .type = MF_SUP_CANCEL, .id = id };
  send_fds(r->sock, &f, sizeof f, NULL, 0);
}

unsigned rig_count(const struct rig *r, uint32_t type, uint64_t id)
{
  unsigned n = 0;
  for (unsigned i = 0; i < r->frame_n; i++)
    n += r->frames[i].type == type && r->frames[i].id == id;
  return n;
}

const struct rig_frame *rig_wait(struct rig *r, uint32_t type, uint64_t id)
{
  rig_until(r, rig_count(r, type, id) > 0);
  assert_int_equal(rig_count(r, type, id), 1);
  for (unsigned i = 0; i < r->frame_n; i++) {
    if (r->frames[i].type == type && r->frames[i].id == id)
      return &r->frames[i];
  }
  return NULL;
}

size_t rig_output(const struct rig *r, uint64_t id, uint32_t is_stderr, unsigned *ret_dropped)
{
  size_t n = 0;
  *ret_dropped = 0;
  for (unsigned i = 0; i < r->frame_n; i++) {
    const struct rig_frame *f = &r->frames[i];
    if (f->type != MF_SUP_OUTPUT || f->id != id || f->output.is_stderr != is_stderr)
      continue;
    n += f->output.len;
    *ret_dropped += f->output.dropped;
  }
  return n;
}

/* ---- as a zygote ---- */

unsigned rig_zygote_n(const struct rig *r)
{
  unsigned n = 0;
  while (n < RIG_ZYGOTES && r->zygotes[n].is_used)
    n++;
  return n;
}

struct rig_zygote *rig_zygote(struct rig *r, unsigned i)
{
  rig_until(r, rig_zygote_n(r) > i);
  return &r->zygotes[i];
}

void rig_zygote_send(struct rig_zygote *z, const void *frame, size_t n)
{
  send_fds(z->sock, frame, n, NULL, 0);
}

void rig_zygote_die(struct rig_zygote *z)
{
  kill(z->init, SIGKILL);
  mf_close_ptr(&z->sock);
}

/* ---- as a child ---- */

static struct rig_child *find_child(struct rig *r, uint64_t id)
{
  for (unsigned i = 0; i < RIG_CHILDREN; i++) {
    struct rig_child *c = &r->children[i];
    if (c->is_used && c->job >= 0 && c->frame.memory_bytes == 1024 * MB + id * 4096)
      return c;
  }
  return NULL;
}

struct rig_child *rig_child_of(struct rig *r, uint64_t id)
{
  rig_until(r, find_child(r, id));
  return find_child(r, id);
}

struct rig_child *rig_child_at(struct rig *r, unsigned i)
{
  assert_true(i < RIG_CHILDREN);
  rig_until(r, r->children[i].is_used);
  return &r->children[i];
}

void rig_say(struct rig_child *c, const void *frame, size_t n)
{
  send_fds(c->control, frame, n, NULL, 0);
}

void rig_begin(struct rig_child *c)
{
  const uint32_t begin = MF_CHILD_BEGIN;
  rig_say(c, &begin, sizeof begin);
}

void rig_word(struct rig_child *c, int32_t exit_code)
{
  const struct mf_child_word word = { .type = MF_CHILD_WORD, .exit_code = exit_code };
  rig_say(c, &word, sizeof word);
}

void rig_exit(struct rig *r, struct rig_child *c, int32_t status)
{
  kill(c->guest, SIGKILL);
  waitpid(c->guest, NULL, 0);
  c->guest = 0;
  mf_close_ptr(&c->control);
  report_exit(c, 0, status);
}

struct rig_child *rig_run(struct rig *r, uint64_t id)
{
  rig_start(r, id);
  struct rig_child *c = rig_child_of(r, id);
  rig_begin(c);
  rig_wait(r, MF_SUP_STARTED, id);
  return c;
}

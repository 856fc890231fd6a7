/* One worker seen from outside: its birth, the frames, its end.
 *
 * It runs what a stranger wrote, and a guest that broke out of WebAssembly owns it: a frame that does not fit in form
 * or order ends it. Nothing that it says is kept beyond the run that it was given. */
#include "provider.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "base/time.h"
#include "confine/spawn.h"
#include "wasm/abi.h"
#include "base/banned.h"

/* Frames handled in one turn of the loop, so that a flood of output leaves room for everything else. */
#define FRAMES_PER_TURN 64
#define WORKER_PIDS 16u
/* What a worker maps as data besides the guest: its stack, the engine, copies of files that go up. */
#define DATA_OVERHEAD_BYTES (192ull << 20)

static void on_sock(void *user, unsigned events);
static void on_proc_ended(void *user, unsigned events);

/* ---- the end ---- */

static void close_sock(struct worker *k)
{
  k->sock_watch = mf_watch_free(k->sock_watch);
  mf_close_ptr(&k->sock);
}

static void try_clean(struct worker *k)
{
  struct wasm *w = k->wasm;
  if (w->cgroup && mf_cgroup_slot_release(w->cgroup, k->slot, k->clean_tries++, NULL) != MF_OK) {
    k->deadline_ns = wasm_after_ms(w->seam.times.clean_ms);
    wasm_arm(w, k->deadline_ns);
    return;
  }
  k->state = WORKER_NONE;
  k->deadline_ns = 0;
  wasm_kick(w); /* somebody may wait for the place */
}

/* Pauses double while workers keep failing. */
static void back_off(struct wasm *w)
{
  unsigned shift = MF_MIN(w->start_fail_n, 16u);
  w->start_fail_n++;
  w->retry_ns = wasm_after_ms(MF_MIN(w->seam.times.backoff_min_ms << shift, w->seam.times.backoff_max_ms));
}

/* The process is gone, or there never was one. Events of its run come from inside. */
static void on_gone(struct worker *k)
{
  struct wasm *w = k->wasm;
  struct wasm_run *r = k->run;
  close_sock(k);
  k->proc_watch = mf_watch_free(k->proc_watch);
  k->state = WORKER_CLEANING;
  k->clean_tries = 0;
  if (k->has_failed) {
    k->has_failed = false;
    w->down = k->why;
    back_off(w);
    if (w->state == WASM_PROBING)
      wasm_fail_first(w, &k->why);
  }
  if (r)
    wasm_run_on_lost(r, true);
  try_clean(k);
}

/* A worker has nothing to tidy up, so it is always ended in this one way. It cannot have made a process: the control
 * group allows for few, the filter for none. */
void worker_kill(struct worker *k)
{
  if (k->state == WORKER_NONE || k->state == WORKER_LEAVING || k->state == WORKER_CLEANING)
    return;
  close_sock(k);
  k->state = WORKER_LEAVING;
  k->deadline_ns = wasm_after_ms(k->wasm->seam.times.reap_ms);
  if (k->proc.fd >= 0) {
    (void)mf_pidref_signal(&k->proc, SIGKILL, NULL);
    wasm_arm(k->wasm, k->deadline_ns);
  } else {
    k->deadline_ns = 0;
    wasm_kick(k->wasm); /* nothing to wait for; but not inside a call from above */
  }
}

static void fail_start(struct worker *k, const struct mf_err *why)
{
  k->has_failed = true;
  k->why = *why;
  worker_kill(k);
}

static bool is_starting(const struct worker *k)
{
  return k->state == WORKER_JOINING || k->state == WORKER_LOADING;
}

static void on_end_of_file(struct worker *k)
{
  if (is_starting(k)) {
    struct mf_err why = { 0 };
    (void)mf_fail(&why, MF_E_UNAVAILABLE, 0, "the WebAssembly worker ended before it was ready");
    fail_start(k, &why);
  } else {
    worker_kill(k);
  }
}

/* ---- birth ---- */

static enum mf_code fill_config(struct worker *k, uint64_t data_bytes, struct mf_worker_config *ret, int cgroup_fds[2],
                                struct mf_err *err)
{
  struct wasm *w = k->wasm;
  *ret = (struct mf_worker_config){ .version = MF_WORKER_VERSION, .abi = MF_GUEST_ABI, .parent_pid = getpid() };
  if (w->cgroup) {
    enum mf_code code = mf_cgroup_slot_join(w->cgroup, k->slot, cgroup_fds, &ret->cgroup_n, err);
    if (code == MF_OK)
      code = mf_cgroup_slot_limit(w->cgroup, k->slot, data_bytes, WORKER_PIDS, err);
    if (code != MF_OK)
      return code;
    if (ret->cgroup_n > 0)
      mf_cgroup_slot_tail(w->cgroup, k->slot, ret->cgroup_tail, sizeof(ret->cgroup_tail));
  }
  if (!w->cgroup || mf_cgroup_kind(w->cgroup) == MF_CGROUP_NONE)
    ret->data_bytes = data_bytes + DATA_OVERHEAD_BYTES;
  return MF_OK;
}

static enum mf_code spawn(struct worker *k, uint64_t data_bytes, struct mf_err *err)
{
  struct wasm *w = k->wasm;
  struct mf_worker_config config;
  int cgroup_fds[2] = { -1, -1 };
  enum mf_code code = fill_config(k, data_bytes, &config, cgroup_fds, err);
  if (code == MF_OK)
    code = w->seam.spawn(w->seam.user, w->program, &config, w->code_fd, cgroup_fds, &k->proc, &k->sock, err);
  if (code == MF_OK)
    code = mf_watch_new(w->loop, k->sock, MF_WATCH_READ, on_sock, k, &k->sock_watch, err);
  if (code == MF_OK && k->proc.fd >= 0)
    code = mf_watch_new(w->loop, k->proc.fd, MF_WATCH_READ, on_proc_ended, k, &k->proc_watch, err);
  return code;
}

void worker_spawn(struct worker *k, uint64_t data_bytes)
{
  struct wasm *w = k->wasm;
  struct mf_err err = { 0 };
  assert(k->state == WORKER_NONE && !k->run);
  k->proc = MF_PIDREF_NULL;
  k->sock = -1;
  k->is_silent = k->was_short = k->has_failed = false;
  k->calls_n = 0;
  k->layers = 0;
  k->data_bytes = data_bytes;
  k->state = WORKER_JOINING;
  k->deadline_ns = wasm_after_ms(w->seam.times.ready_ms);
  wasm_arm(w, k->deadline_ns);
  w->started_n++;
  if (spawn(k, data_bytes, &err) != MF_OK) {
    const char *words = mf_fd_shortage(err.sys); /* without the path and the step that it met: they do not matter */
    if (words)
      (void)mf_fail(&err, MF_E_UNAVAILABLE, 0, "%s", words);
    (void)mf_wrap(&err, MF_E_UNAVAILABLE, "start a WebAssembly worker");
    fail_start(k, &err);
  }
}

/* ---- frames out ---- */

static bool send_go(struct worker *k)
{
  const struct mf_worker_hello f = { .type = MF_WORKER_GO, .version = MF_WORKER_VERSION };
  return mf_send_msg(k->sock, &f, sizeof(f), NULL, 0, NULL) == MF_OK;
}

bool worker_call(struct worker *k, struct wasm_run *r)
{
  struct wasm *w = k->wasm;
  assert(k->state == WORKER_IDLE);
  if (w->cgroup && mf_cgroup_slot_limit(w->cgroup, k->slot, pool_need_bytes(w, r), WORKER_PIDS, NULL) != MF_OK) {
    worker_kill(k);
    return false;
  }
  const struct mf_worker_call f = {
    .type = MF_WORKER_CALL,
    .stop_on_output = r->limits.output_policy == MF_OUTPUT_STOP,
    .serial = r->serial,
    .wall_ns = r->limits.wall_ms * MF_NS_PER_MS,
    .fuel = r->limits.fuel,
    .memory_bytes = MF_MIN(MF_MAX(r->limits.memory_bytes, MF_WASM_GUEST_MEMORY_MIN), MF_WASM_GUEST_MEMORY_MAX),
    .stdout_bytes = r->raw_left[0],
    .stderr_bytes = r->raw_left[1],
    .artifact_bytes = r->limits.artifact_bytes,
    .artifact_count = r->limits.artifact_count,
  };
  if (mf_send_msg(k->sock, &f, sizeof(f), &r->job_fd, 1, NULL) != MF_OK) {
    worker_kill(k);
    return false;
  }
  k->state = WORKER_BUSY;
  k->calls_n++;
  w->calls_n++;
  k->deadline_ns = 0; /* the run has one */
  wasm_run_on_sent(r, k);
  return true;
}

/* ---- frames in ---- */

/* Whether this process can open nothing now, and so cannot ask the kernel: words about it, or NULL. */
static const char *shortage(const struct worker *k)
{
  mf_auto_close int fd = fcntl(k->sock, F_DUPFD_CLOEXEC, 0);
  return fd < 0 ? mf_fd_shortage(errno) : NULL;
}

static bool on_hello(struct worker *k)
{
  struct wasm *w = k->wasm;
  if (k->state != WORKER_JOINING)
    return false;
  /* It says that it is in its group; the kernel is asked too, before anything of the guest's is in its memory. */
  if (w->cgroup && k->proc.fd >= 0 && !mf_cgroup_slot_holds(w->cgroup, k->slot, k->proc.pid)) {
    struct mf_err why = { 0 };
    const char *words = shortage(k);
    if (words)
      (void)mf_fail(&why, MF_E_UNAVAILABLE, 0, "start a WebAssembly worker: %s", words);
    else
      (void)mf_fail(&why, MF_E_UNAVAILABLE, 0, "the WebAssembly worker is not in its control group");
    fail_start(k, &why);
    return true;
  }
  if (!send_go(k))
    return false;
  k->state = WORKER_LOADING;
  return true;
}

static bool on_ready(struct worker *k, const struct mf_worker_ready *f)
{
  struct wasm *w = k->wasm;
  if (k->state != WORKER_LOADING)
    return false;
  k->layers = f->layers;
  mf_escape(mf_str_of(f->seccomp_sha256), k->seccomp_sha256, sizeof(k->seccomp_sha256));
  k->state = WORKER_IDLE;
  k->ready_ns = k->idle_ns = mf_now_ns();
  k->deadline_ns = 0;
  w->start_fail_n = 0;
  w->retry_ns = 0;
  pool_assign(w);
  wasm_kick(w); /* when it is to retire */
  return true;
}

static bool on_fatal(struct worker *k, const struct mf_worker_fatal *f)
{
  char text[2 * MF_WORKER_TEXT_MAX];
  struct mf_err why = { 0 };
  if (!is_starting(k))
    return false;
  mf_escape(mf_str_of(f->text), text, sizeof(text));
  (void)mf_fail(&why, MF_E_UNAVAILABLE, 0, "the WebAssembly worker cannot start: %s", text);
  fail_start(k, &why);
  return true;
}

static bool on_done(struct worker *k, const struct mf_worker_done *f)
{
  struct wasm *w = k->wasm;
  struct wasm_run *r = k->run;
  bool is_late = !r->began_ns && f->end != MF_END_MEMORY && f->end != MF_END_BROKEN && f->end != MF_END_FUEL;
  if (is_late) /* it cannot have run what it never began */
    return false;
  bool leaves = f->end == MF_END_BROKEN || k->calls_n >= w->config.calls_max || r->cancel_asked;
  if (leaves) {
    worker_kill(k);
  } else {
    k->state = WORKER_IDLE;
    k->idle_ns = mf_now_ns();
  }
  wasm_run_on_done(r, f, leaves);
  if (!leaves && w->state != WASM_CLOSING)
    pool_assign(w);
  wasm_kick(w);
  return true;
}

static bool on_call_frame(struct worker *k, const struct mf_worker_msg *m, int *fd)
{
  struct wasm_run *r = k->run;
  if (k->state != WORKER_BUSY || m->serial != r->serial)
    return false;
  const struct mf_str tail = { m->tail, m->tail_n };
  if (m->type == MF_WORKER_BEGAN)
    return wasm_run_on_began(r);
  if (m->type == MF_WORKER_OUTPUT)
    return wasm_run_on_output(r, m->u.output.is_stderr != 0, tail, m->u.output.dropped != 0);
  if (m->type == MF_WORKER_FILE)
    return wasm_run_on_file(r, tail, m->u.file.size, mf_take_fd(fd));
  return on_done(k, &m->u.done);
}

static bool on_message(struct worker *k, const struct mf_worker_msg *m, int *fd)
{
  switch (m->type) {
  case MF_WORKER_HELLO:
    return on_hello(k);
  case MF_WORKER_READY:
    return on_ready(k, &m->u.ready);
  case MF_WORKER_FATAL:
    return on_fatal(k, &m->u.fatal);
  case MF_WORKER_BEGAN:
  case MF_WORKER_OUTPUT:
  case MF_WORKER_FILE:
  case MF_WORKER_DONE:
    return on_call_frame(k, m, fd);
  case MF_WORKER_GO:
  case MF_WORKER_CALL:
    break;
  }
  return false;
}

static void take_frame(struct worker *k, const void *p, size_t n, unsigned fd_n, int *fd)
{
  struct mf_worker_msg m;
  if (mf_worker_parse(p, n, fd_n, &m) && on_message(k, &m, fd))
    return;
  mf_log(MF_LOG_WARN, "a WebAssembly worker sent what it should not, and was ended");
  on_end_of_file(k);
}

void worker_on_frame(struct worker *k, const void *p, size_t n, int fds[], unsigned fd_n)
{
  int none = -1;
  take_frame(k, p, n, fd_n, fd_n > 0 ? &fds[0] : &none);
  for (unsigned i = 0; i < fd_n; i++)
    mf_close_ptr(&fds[i]);
}

/* Its file is lost, and only that. */
static void on_short(struct worker *k, size_t n)
{
  int lost = MF_OFFERED_LOST;
  if (!k->was_short)
    mf_log(MF_LOG_WARN, "a file of a WebAssembly run is lost: %s", mf_fd_shortage(EMFILE));
  k->was_short = true;
  take_frame(k, k->wasm->frame, n, 1, &lost);
}

/* Handles what is there; true when there may be more. An event may close the socket meanwhile. */
static bool pump(struct worker *k)
{
  for (unsigned i = 0; i < FRAMES_PER_TURN && k->sock >= 0; i++) {
    int fds[MF_FDS_MAX];
    unsigned fd_n = 0;
    size_t n = 0;
    struct mf_err err = { 0 };
    enum mf_code code = mf_recv_msg(k->sock, k->wasm->frame, MF_WORKER_FRAME_MAX, &n, fds, &fd_n, &err);
    if (code == MF_OK) {
      worker_on_frame(k, k->wasm->frame, n, fds, fd_n);
    } else if (code == MF_E_INPUT && err.sys == EMFILE) {
      on_short(k, n);
    } else if (code == MF_E_CAPACITY) {
      return false;
    } else {
      on_end_of_file(k); /* or more than a frame may have */
      return false;
    }
  }
  return k->sock >= 0;
}

static void on_sock(void *user, unsigned events)
{
  (void)pump(user);
}

static void on_proc_ended(void *user, unsigned events)
{
  struct worker *k = user;
  /* What it said before it ended is still in the socket; the end of file comes last. */
  while (pump(k))
    ;
  on_end_of_file(k);
  int status;
  if (!mf_spawn_reap(&k->proc, &status))
    mf_pidref_done(&k->proc); /* cannot be: the pidfd is readable when it has ended */
  on_gone(k);
}

/* ---- time ---- */

void worker_tick(struct worker *k, uint64_t now_ns)
{
  struct wasm_run *r = k->run;
  int status;
  if (k->state == WORKER_LEAVING && (k->proc.fd < 0 || (!k->proc_watch && mf_spawn_reap(&k->proc, &status)))) {
    on_gone(k);
    return;
  }
  if (k->state == WORKER_BUSY && r->deadline_ns && now_ns >= r->deadline_ns) {
    k->is_silent = true;
    worker_kill(k);
    return;
  }
  if (!k->deadline_ns || now_ns < k->deadline_ns)
    return;
  k->deadline_ns = 0;
  if (is_starting(k)) {
    struct mf_err why = { 0 };
    (void)mf_fail(&why, MF_E_UNAVAILABLE, 0, "the WebAssembly worker was not ready after %llu s",
                  (unsigned long long)((k->wasm->seam.times.ready_ms + 999) / 1000));
    fail_start(k, &why);
  } else if (k->state == WORKER_CLEANING) {
    try_clean(k);
  } else if (k->state == WORKER_LEAVING && r) {
    wasm_run_on_lost(r, false); /* it sleeps in the kernel: the answer is owed, the place is not free */
  }
}

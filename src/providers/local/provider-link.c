/* The link to the supervisor: its birth, the frames, its death and its successor.
 *
 * The supervisor is ours, but it reads what guests send: a frame that does not fit is dropped and counted, and ids,
 * lengths and texts are checked again here. */
#include "provider.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "base/time.h"
#include "confine/spawn.h"
#include "supervisor-spawn.h"
#include "base/banned.h"

/* Frames handled in one turn of the loop, so that a flood of output leaves room for everything else. */
#define FRAMES_PER_TURN 64
#define FRAME_BYTES_MAX (sizeof(struct mf_sup_output) + MF_CHUNK_MAX)

static void on_sock(void *user, unsigned events);
static void on_sup_ended(void *user, unsigned events);

size_t link_frame_max(void)
{
  return FRAME_BYTES_MAX;
}

/* ---- birth and death ---- */

void link_close_sock(struct local *l)
{
  l->sock_watch = mf_watch_free(l->sock_watch);
  mf_close_ptr(&l->sock);
  l->is_broken = false;
}

void link_kill(struct local *l)
{
  if (l->sup.fd >= 0)
    (void)mf_pidref_signal(&l->sup, SIGKILL, NULL);
}

/* The next supervisor comes after a pause that doubles while they keep dying. */
static void enter_gap(struct local *l)
{
  l->link = LINK_GAP;
  l->link_deadline_ns = local_after_ms(l->backoff_ms);
  l->backoff_ms = MF_MIN(l->backoff_ms * 2, l->seam.times.backoff_max_ms);
  if (!l->gap_until_ns)
    l->gap_until_ns = local_after_ms(l->seam.times.gap_ms);
  local_arm(l, l->link_deadline_ns);
}

static bool is_first(const struct local *l)
{
  return !l->is_ready_due && !l->is_ready_done;
}

void link_open(struct local *l)
{
  struct mf_err err = { 0 };
  l->has_told_fatal = l->lacks_layer = false;
  l->sup = MF_PIDREF_NULL;
  enum mf_code code = l->seam.spawn(l->seam.user, l->program, &l->config, &l->sup, &l->sock, &err);
  if (code == MF_OK)
    code = mf_watch_new(l->loop, l->sock, MF_WATCH_READ, on_sock, l, &l->sock_watch, &err);
  if (code == MF_OK && l->sup.fd >= 0)
    code = mf_watch_new(l->loop, l->sup.fd, MF_WATCH_READ, on_sup_ended, l, &l->sup_watch, &err);
  if (code != MF_OK) {
    l->down = err;
    link_close_sock(l);
    link_kill(l);
    if (is_first(l))
      local_fail_first(l);
    else
      enter_gap(l);
    return;
  }
  l->link = LINK_STARTING;
  l->link_deadline_ns = local_after_ms(l->seam.times.ready_ms);
  local_arm(l, l->link_deadline_ns);
}

void link_down(struct local *l, const char *why)
{
  link_close_sock(l);
  link_kill(l);
  if (l->link == LINK_CLOSING || l->link == LINK_FAILED || l->link == LINK_DIRECT)
    return;
  if (!l->has_told_fatal)
    (void)mf_fail(&l->down, MF_E_UNAVAILABLE, 0, "%s", why);
  if (is_first(l)) {
    local_fail_first(l);
    return;
  }
  mf_log(MF_LOG_WARN, "%s; starting another one in %llu ms", l->down.msg, (unsigned long long)l->backoff_ms);
  enter_gap(l);
  l->info.supervisor_pid = l->info.zygote_stdlib_pid = l->info.zygote_data_pid = 0;
  l->info.pool_stdlib = l->info.pool_data = 0;

  /* All sandboxes died with it. Starts from inside these events are queued behind the ones that wait already. */
  struct local_run *next;
  for (struct local_run *r = l->first; r; r = next) {
    next = r->next;
    if (r->state == RUN_QUEUED)
      r->deadline_ns = l->gap_until_ns;
    else if (r->state == RUN_LINGER)
      run_release(r);
    else if (r->state != RUN_COLLECTING) /* that one ended before, and needs no supervisor any more */
      run_end(r, MF_RUN_FAILED, MF_REASON_WORKER_CRASH, MF_DIAG_SUPERVISOR_ENDED);
  }
  local_kick(l);
}

/* ---- frames in ---- */

static void bad_frame(struct local *l)
{
  if (l->bad_frame_n++ == 0)
    mf_log(MF_LOG_WARN, "dropped a malformed frame of the sandbox supervisor");
}

static bool take_frame(const void *p, size_t n, void *to, size_t size)
{
  if (n != size)
    return false;
  memcpy(to, p, size); /* the buffer is bytes: a copy has the right alignment and type */
  return true;
}

/* A text in a frame, up to its NUL or end, made safe to print. */
static void take_text(const char *text, size_t max, char *ret, size_t n)
{
  mf_escape((struct mf_str){ text, strnlen(text, max) }, ret, n);
}

static bool on_ready(struct local *l, const void *p, size_t n)
{
  struct mf_sup_ready f;
  if (l->link != LINK_STARTING || !take_frame(p, n, &f, sizeof(f)))
    return false;
  if (f.version != MF_FRAMES_VERSION)
    return false;                                          /* cannot be: it is this very program */
  f.checkpoint_note[sizeof(f.checkpoint_note) - 1] = '\0'; /* escaped already, by the supervisor */
  l->told = f;
  take_text(f.seccomp_sha256, sizeof(f.seccomp_sha256), l->told.seccomp_sha256, sizeof(l->told.seccomp_sha256));
  l->info.layers = f.layers;
  l->info.landlock_abi = f.landlock_abi;
  l->info.memory_control = f.memory_control;
  l->info.pids_control = f.pids_control;
  l->info.python_hex = f.python_hex;
  l->info.checkpointed = f.checkpointed != 0;
  snprintf(l->info.checkpoint_note, sizeof(l->info.checkpoint_note), "%s", f.checkpoint_note);
  l->info.supervisor_pid = l->sup.pid;
  l->link = LINK_UP;
  l->gap_until_ns = 0;
  if (is_first(l)) {
    l->is_ready_due = true;
    l->ready_code = MF_OK;
    /* What a provider left that was killed together with its supervisor; not on the way of the first answer. */
    mf_cgroup_sweeper_begin(&l->sweeper, local_after_ms(l->seam.times.sweep_ms));
    local_kick(l);
  }
  link_flush(l);
  return true;
}

/* "cannot build the sandbox: unshare user: Operation not permitted; REMEDY". The text may name the step and the error
 * by itself. Where all is too long, the remedy is cut rather than the reason. */
static void word_fatal(const struct mf_zyg_fatal *f, struct mf_err *ret)
{
  char step[128], text[400], remedy[512];
  take_text(f->step, sizeof(f->step), step, sizeof(step));
  take_text(f->text, sizeof(f->text), text, sizeof(text));
  int sys = f->error > 0 ? f->error : 0;
  mf_local_remedy(step, sys, remedy, sizeof(remedy));
  bool has_step = step[0] && strncmp(text, step, strlen(step)) == 0;
  const char *words = sys ? strerrordesc_np(sys) : NULL;
  bool has_words = words && strstr(text, words);
  const char *between = !has_step && step[0] && text[0] ? ": " : "";
  const char *stop = remedy[0] ? "; " : "";
  char reason[300];
  struct mf_err err = { 0 };
  (void)mf_fail(&err, MF_E_UNAVAILABLE, has_words ? 0 : sys, "cannot build the sandbox: %s%s%.180s",
                has_step ? "" : step, between, text);
  snprintf(reason, sizeof(reason), "%.*s", (int)sizeof(reason) - 1, err.msg);
  (void)mf_fail(ret, MF_E_UNAVAILABLE, 0, "%s%s%s", reason, stop, remedy);
  ret->sys = sys;
}

static bool on_fatal(struct local *l, const void *p, size_t n)
{
  struct mf_zyg_fatal f;
  if (!take_frame(p, n, &f, sizeof(f)))
    return false;
  char step[sizeof(f.step) + 1] = "";
  memcpy(step, f.step, sizeof(f.step));
  /* What only ran short now would be made the next time. */
  bool is_short = f.error == ENOMEM || f.error == EAGAIN || f.error == EMFILE || f.error == ENFILE;
  l->lacks_layer = !is_short && mf_local_is_layer_step(step);
  word_fatal(&f, &l->down);
  l->has_told_fatal = true; /* the end of file is next */
  return true;
}

static bool on_started(struct local *l, const void *p, size_t n)
{
  struct mf_sup_started f;
  if (!take_frame(p, n, &f, sizeof(f)))
    return false;
  struct local_run *r = run_find(l, f.id);
  if (r)
    run_on_started(r, f.from_pool != 0);
  return true;
}

static bool on_output(struct local *l, const void *p, size_t n)
{
  struct mf_sup_output f;
  if (n < sizeof(f))
    return false;
  memcpy(&f, p, sizeof(f));
  if (f.len != n - sizeof(f) || f.len > MF_CHUNK_MAX)
    return false;
  struct local_run *r = run_find(l, f.id);
  if (r)
    run_on_output(r, f.is_stderr != 0, (struct mf_str){ (const char *)p + sizeof(f), f.len }, f.dropped != 0);
  return true;
}

static bool on_hint(struct local *l, const void *p, size_t n)
{
  struct mf_sup_hint f;
  if (!take_frame(p, n, &f, sizeof(f)) || f.len > sizeof(f.text))
    return false;
  struct local_run *r = run_find(l, f.id);
  if (r)
    run_on_hint(r, (struct mf_str){ f.text, f.len });
  return true;
}

static bool on_finished(struct local *l, const void *p, size_t n, int *dir_fd)
{
  struct mf_sup_finished f;
  if (!take_frame(p, n, &f, sizeof(f)))
    return false;
  if (!f.crashed)
    l->backoff_ms = l->seam.times.backoff_min_ms; /* this one works */
  struct local_run *r = run_find(l, f.id);
  if (r)
    run_on_finished(r, &f, mf_take_fd(dir_fd));
  return true;
}

static bool on_reaped(struct local *l, const void *p, size_t n)
{
  struct mf_sup_reaped f;
  if (!take_frame(p, n, &f, sizeof(f)))
    return false;
  struct local_run *r = run_find(l, f.id);
  if (r)
    run_on_reaped(r);
  return true;
}

static bool on_stats(struct local *l, const void *p, size_t n)
{
  struct mf_sup_stats f;
  if (!take_frame(p, n, &f, sizeof(f)))
    return false;
  l->info.zygote_stdlib_pid = f.zygote_stdlib_pid;
  l->info.zygote_data_pid = f.zygote_data_pid;
  l->info.pool_stdlib = f.pool_stdlib;
  l->info.pool_data = f.pool_data;
  l->info.busy = f.busy;
  l->info.zygote_restarts = f.zygote_restarts;
  l->info.forks = f.forks;
  l->info.idle_private_bytes = f.idle_private_bytes;
  local_answer_asks(l, f.id);
  return true;
}

void link_on_frame(struct local *l, const void *p, size_t n, int fds[], unsigned fd_n)
{
  uint32_t type = 0;
  bool is_good = n >= sizeof(type);
  if (is_good)
    memcpy(&type, p, sizeof(type));
  switch (type) {
  case MF_SUP_READY:
    is_good = on_ready(l, p, n);
    break;
  case MF_SUP_FATAL:
    is_good = on_fatal(l, p, n);
    break;
  case MF_SUP_STARTED:
    is_good = on_started(l, p, n);
    break;
  case MF_SUP_OUTPUT:
    is_good = on_output(l, p, n);
    break;
  case MF_SUP_HINT:
    is_good = on_hint(l, p, n);
    break;
  case MF_SUP_FINISHED: {
    int none = -1;
    is_good = on_finished(l, p, n, fd_n > 0 ? &fds[0] : &none);
    break;
  }
  case MF_SUP_REAPED:
    is_good = on_reaped(l, p, n);
    break;
  case MF_SUP_STATS:
    is_good = on_stats(l, p, n);
    break;
  default: /* START and CANCEL go the other way */
    is_good = false;
    break;
  }
  for (unsigned i = 0; i < fd_n; i++)
    mf_close_ptr(&fds[i]);
  if (!is_good)
    bad_frame(l);
}

/* Reaps a supervisor that has ended. */
static void reap(struct local *l)
{
  if (l->sup.fd < 0 || !mf_pidref_is_dead(&l->sup))
    return;
  l->sup_watch = mf_watch_free(l->sup_watch);
  if (!mf_spawn_reap(&l->sup, &l->sup_status))
    mf_pidref_done(&l->sup);
  local_kick(l);
}

static void on_end_of_file(struct local *l)
{
  l->sup_status = -1;
  bool is_known = l->sup.fd >= 0;
  reap(l);
  char why[128] = MF_DIAG_SUPERVISOR_ENDED, words[64];
  if (is_known && l->sup.fd < 0) {
    mf_spawn_status_words(l->sup_status, words, sizeof(words));
    snprintf(why, sizeof(why), MF_DIAG_SUPERVISOR_ENDED " (%s)", words);
  }
  link_down(l, why);
}

/* Handles what is there; true when there may be more. An event may close the link meanwhile. */
static bool pump(struct local *l)
{
  for (unsigned i = 0; i < FRAMES_PER_TURN && l->sock >= 0; i++) {
    int fds[MF_FDS_MAX];
    unsigned fd_n = 0;
    size_t n = 0;
    struct mf_err err = { 0 };
    enum mf_code code = mf_recv_msg(l->sock, l->frame, FRAME_BYTES_MAX, &n, fds, &fd_n, &err);
    if (code == MF_OK) {
      link_on_frame(l, l->frame, n, fds, fd_n);
    } else if (code == MF_E_INPUT && err.sys == EMFILE) {
      fds[0] = MF_OFFERED_LOST; /* the files of a run are lost, and only that */
      link_on_frame(l, l->frame, n, fds, 1);
    } else if (code == MF_E_INPUT) {
      bad_frame(l);
    } else if (code == MF_E_CAPACITY) {
      return false;
    } else {
      on_end_of_file(l);
      return false;
    }
  }
  return l->sock >= 0;
}

static void on_sock(void *user, unsigned events)
{
  struct local *l = user;
  if (events & MF_WATCH_READ)
    (void)pump(l);
  if ((events & MF_WATCH_WRITE) && l->sock >= 0)
    link_flush(l);
}

static void on_sup_ended(void *user, unsigned events)
{
  struct local *l = user;
  /* What it said before it ended is still in the socket; the end of file comes last. */
  while (pump(l))
    ;
  if (l->sock >= 0)
    on_end_of_file(l); /* somebody else holds its end open */
  reap(l);
}

/* ---- frames out ---- */

static enum mf_code send_start(struct local_run *r)
{
  const struct mf_sup_start f = {
    .type = MF_SUP_START,
    .runtime = r->route,
    .id = r->id,
    .wall_ms = r->limits.wall_ms,
    .cpu_ms = r->limits.cpu_ms,
    .memory_bytes = r->limits.memory_bytes,
    /* A character more than the cap, so that one which the cap cuts in two is known as a whole character here. */
    .stdout_bytes = r->limits.stdout_bytes + 4,
    .stderr_bytes = r->limits.stderr_bytes + 4,
    .pids = r->limits.pids,
    .stop_on_output = r->limits.output_policy == MF_OUTPUT_STOP,
  };
  return mf_send_msg(r->local->sock, &f, sizeof(f), &r->job_fd, 1, NULL);
}

static enum mf_code flush_run(struct local_run *r)
{
  struct local *l = r->local;
  if (r->state == RUN_QUEUED && !r->cancel_asked) {
    enum mf_code code = send_start(r);
    if (code != MF_OK)
      return code;
    r->state = RUN_SENT;
    if (r->file_n == 0)
      mf_close_ptr(&r->job_fd);
    r->deadline_ns = local_after_ms(l->seam.times.silence_ms);
    local_arm(l, r->deadline_ns);
  } else if (r->state == RUN_SENT && (r->cancel_asked || r->is_over_output) && !r->cancel_sent) {
    const struct mf_sup_cancel f = { .type = MF_SUP_CANCEL, .id = r->id };
    enum mf_code code = mf_send_msg(l->sock, &f, sizeof(f), NULL, 0, NULL);
    if (code != MF_OK)
      return code;
    r->cancel_sent = true;
  }
  return MF_OK;
}

static enum mf_code flush_ask(struct local *l, struct info_ask *ask)
{
  const struct mf_sup_cancel f = { .type = MF_SUP_STATS, .id = ask->id };
  if (ask->is_sent)
    return MF_OK;
  enum mf_code code = mf_send_msg(l->sock, &f, sizeof(f), NULL, 0, NULL);
  ask->is_sent = code == MF_OK;
  return code;
}

void link_flush(struct local *l)
{
  if (l->link != LINK_UP || l->sock < 0)
    return;
  enum mf_code code = MF_OK;
  for (struct local_run *r = l->first; r && code == MF_OK; r = r->next)
    code = flush_run(r);
  for (struct info_ask *ask = l->asks; ask && code == MF_OK; ask = ask->next)
    code = flush_ask(l, ask);
  mf_watch_set(l->sock_watch, MF_WATCH_READ | (code == MF_E_CAPACITY ? MF_WATCH_WRITE : 0u));
  /* A peer that has ended shows as end of file, after all that it said. */
  if (code != MF_OK && code != MF_E_CAPACITY && code != MF_E_GONE) {
    l->is_broken = true;
    local_kick(l);
  }
}

/* ---- time ---- */

void link_tick(struct local *l, uint64_t now_ns)
{
  if (l->is_broken) {
    link_down(l, "sandbox supervisor cannot be reached");
  } else if (l->link == LINK_STARTING && now_ns >= l->link_deadline_ns) {
    char why[128];
    snprintf(why, sizeof(why), "the sandbox was not ready after %llu s",
             (unsigned long long)((l->seam.times.ready_ms + 999) / 1000));
    link_down(l, why);
  } else if (l->link == LINK_GAP && now_ns >= l->link_deadline_ns && l->sup.fd < 0) {
    mf_cgroup_sweeper_begin(&l->sweeper, now_ns); /* its processes died with it, its cgroups did not */
    mf_cgroup_sweeper_tick(&l->sweeper, now_ns);
    link_open(l);
  }
}

uint64_t link_next_ns(const struct local *l)
{
  switch (l->link) {
  case LINK_STARTING:
    return l->link_deadline_ns;
  case LINK_GAP:
    return l->sup.fd < 0 ? l->link_deadline_ns : UINT64_MAX; /* its end is an event of its own */
  case LINK_CLOSING:
    return l->link_deadline_ns;
  case LINK_UP:
  case LINK_FAILED:
  case LINK_DIRECT:
    break;
  }
  return UINT64_MAX;
}

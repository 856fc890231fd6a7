/* One run: what comes up about it becomes events and, at the end, one result. */
#include "provider.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "base/fd.h"
#include "base/time.h"
#include "layers.h"
#include "base/banned.h"

#define DIAG_FILES_LATE "files were not collected: a process of the sandbox had not ended"
#define DIAG_FILES_FAILED "files could not be collected"

/* ---- life ---- */

static void link_in(struct local *l, struct local_run *r)
{
  r->prev = l->last;
  *(l->last ? &l->last->next : &l->first) = r;
  l->last = r;
  l->run_n++;
}

static void unlink_run(struct local *l, struct local_run *r)
{
  *(r->prev ? &r->prev->next : &l->first) = r->next;
  *(r->next ? &r->next->prev : &l->last) = r->prev;
  l->run_n--;
}

enum mf_code run_new(struct local *l, const struct mf_sandbox_spec *spec, const struct mf_sandbox_events *events,
                     void *user, struct local_run **ret, struct mf_err *err)
{
  mf_auto_close int job_fd = -1;
  enum mf_code code = mf_job_write(spec, &job_fd, err);
  if (code != MF_OK)
    return mf_wrap(err, code, "start run");
  struct local_run *r = mf_xcalloc(1, sizeof(*r));
  r->base.provider = &l->base;
  r->local = l;
  r->id = ++l->next_id;
  r->state = RUN_QUEUED;
  r->events = events;
  r->user = user;
  r->limits = spec->limits;
  r->route = mf_route_of(spec);
  r->job_fd = mf_take_fd(&job_fd);
  r->file_n = spec->file_n;
  r->out = mf_output_new(spec->limits.stdout_bytes);
  r->err = mf_output_new(spec->limits.stderr_bytes);
  r->result = mf_sandbox_result_new();
  r->dir_fd = -1;
  link_in(l, r);
  *ret = r;
  return MF_OK;
}

struct local_run *run_find(struct local *l, uint64_t id)
{
  for (struct local_run *r = l->first; r; r = r->next)
    if (r->id == id)
      return r;
  return NULL;
}

/* What a finished run does not need any more. */
static void drop_parts(struct local_run *r)
{
  mf_output_free(r->out);
  mf_output_free(r->err);
  r->out = r->err = NULL;
  mf_sandbox_result_free(r->result);
  r->result = NULL;
  mf_close_ptr(&r->job_fd);
  mf_close_ptr(&r->dir_fd);
}

void run_free(struct local_run *r)
{
  assert(!r->collect); /* its thread would go on in what is freed here */
  unlink_run(r->local, r);
  r->direct = mf_direct_free(r->direct);
  drop_parts(r);
  free(r);
}

static void tell_released(const struct mf_sandbox_events *events, void *user)
{
  if (events->released)
    events->released(user);
}

void run_release(struct local_run *r)
{
  const struct mf_sandbox_events *events = r->events;
  void *user = r->user;
  run_free(r);
  tell_released(events, user);
}

void run_note_spec(struct local_run *r, const struct mf_sandbox_spec *spec)
{
  mf_receipt_fill_from_spec(&r->result->receipt, spec);
  r->result->receipt.limits.fuel = 0; /* nothing counts it here */
}

/* ---- the receipt ---- */

static void fill_receipt(struct local_run *r)
{
  const struct local *l = r->local;
  struct mf_receipt *to = &r->result->receipt;
  snprintf(to->provider, sizeof(to->provider), "local");
  snprintf(to->runtime_id, sizeof(to->runtime_id), "%s", l->runtime.id);
  snprintf(to->runtime_digest, sizeof(to->runtime_digest), "%s", l->runtime.digest);
  snprintf(to->python_version, sizeof(to->python_version), "%s", l->runtime.python_version);
  if (r->state == RUN_QUEUED || r->direct) {
    /* Nothing held it: it never began, or nothing could. */
    snprintf(to->isolation, sizeof(to->isolation), "none");
    snprintf(to->memory_control, sizeof(to->memory_control), "%s", r->direct ? "rlimit" : "none");
    snprintf(to->start, sizeof(to->start), "%s", r->direct ? "cold" : "");
    return;
  }
  bool is_full = (l->told.layers & MF_LAYERS_FULL) == MF_LAYERS_FULL;
  snprintf(to->isolation, sizeof(to->isolation), is_full ? "full" : "degraded");
  mf_layers_words(l->told.layers, l->told.landlock_abi, to->layers, sizeof(to->layers));
  to->landlock_abi = l->told.layers & MF_LAYER_LANDLOCK ? l->told.landlock_abi : 0;
  snprintf(to->seccomp_sha256, sizeof(to->seccomp_sha256), "%s", l->told.seccomp_sha256);
  snprintf(to->memory_control, sizeof(to->memory_control), "%s", mf_memory_control_name(l->told.memory_control));
}

/* ---- the end ---- */

static void finish_output(struct local_run *r, bool is_stderr)
{
  struct mf_sandbox_result *result = r->result;
  struct mf_output *o = is_stderr ? r->err : r->out;
  struct mf_str tail = { NULL, 0 };
  mf_output_finish(o, &tail);
  if (tail.len > 0 && r->events->output)
    r->events->output(r->user, is_stderr, tail);
  *(is_stderr ? &result->err_truncated : &result->out_truncated) = mf_output_is_truncated(o);
  mf_output_take(o, is_stderr ? &result->err : &result->out);
}

/* Gives the result away. With `is_free` the place is given back first, so that the receiver can start the next run from
 * inside `finished`; else it waits for REAPED. */
static void complete(struct local_run *r, const struct mf_verdict *v, const char *note, bool is_free)
{
  struct mf_sandbox_result *result = r->result;
  fill_receipt(r);
  r->state = RUN_LINGER; /* a cancel from inside the output event comes too late */
  r->deadline_ns = 0;
  finish_output(r, false);
  finish_output(r, true);
  result->status = v->status;
  result->reason = v->reason;
  result->has_exit_code = v->has_exit_code;
  result->exit_code = v->exit_code;
  result->signal = v->signal;
  snprintf(result->diagnostic, sizeof(result->diagnostic), "%s", v->diagnostic[0] ? v->diagnostic : note);
  /* Without the supervisor's measure ours is near enough: it only adds the way of one frame. */
  if (r->finished.wall_us == 0 && r->started_ns)
    r->finished.wall_us = (mf_now_ns() - r->started_ns) / 1000;
  result->duration_us = r->finished.wall_us;
  result->duration_ms = (r->finished.wall_us + 500) / 1000;
  result->cpu_ms = (r->finished.cpu_us + 500) / 1000;
  result->memory_peak_bytes = r->finished.memory_peak_bytes;

  const struct mf_sandbox_events *events = r->events;
  void *user = r->user;
  r->result = NULL;
  if (is_free)
    run_free(r);
  else
    drop_parts(r);
  events->finished(user, result);
  if (is_free)
    tell_released(events, user);
}

/* Past its cap under the policy "stop" the program is at its end, whether we or the supervisor stopped it or it ended
 * by itself meanwhile; only what came from elsewhere (deadline, memory, a cancel) is stronger. */
static bool is_ended_by_output(const struct local_run *r)
{
  if (r->limits.output_policy != MF_OUTPUT_STOP || r->finished.crashed)
    return false;
  if (!mf_output_is_truncated(r->out) && !mf_output_is_truncated(r->err))
    return false;
  return r->finished.killed == MF_KILL_NONE || (r->finished.killed == MF_KILL_CANCEL && !r->cancel_asked);
}

static void complete_as_told(struct local_run *r, const char *note, bool is_free)
{
  struct mf_verdict v;
  mf_verdict_of(&r->finished, &r->limits, &v);
  if (is_ended_by_output(r))
    v = (struct mf_verdict){ .status = MF_RUN_LIMIT, .reason = MF_REASON_OUTPUT, .diagnostic = "" };
  complete(r, &v, note, is_free);
}

void run_end(struct local_run *r, enum mf_run_status status, enum mf_run_reason reason, const char *diagnostic)
{
  /* A direct run still has its process; a sandbox without its supervisor has none. */
  bool is_free = r->state == RUN_QUEUED || (!r->direct && r->local->sock < 0);
  const struct mf_verdict v = { .status = status, .reason = reason, .diagnostic = diagnostic };
  complete(r, &v, "", is_free);
}

void run_settle(struct local_run *r)
{
  bool is_free = !r->direct && r->local->sock < 0;
  if (r->state == RUN_COLLECTING)
    mf_collect_stop(r->collect); /* its end is an event of its own */
  else if (r->state == RUN_DRAINING)
    complete_as_told(r, DIAG_FILES_LATE, is_free);
  else if (r->state != RUN_LINGER)
    run_end(r, MF_RUN_CANCELLED, MF_REASON_CANCELLED, "");
  else if (is_free)
    run_release(r);
}

/* ---- what comes up ---- */

void run_on_started(struct local_run *r, bool from_pool)
{
  if (r->state != RUN_SENT || r->started_ns)
    return;
  r->started_ns = mf_now_ns();
  snprintf(r->result->receipt.start, sizeof(r->result->receipt.start), from_pool ? "pool" : "fork");
  if (!r->direct && !r->cancel_asked) {
    r->deadline_ns = local_after_ms(r->limits.wall_ms + r->local->seam.times.grace_ms);
    local_arm(r->local, r->deadline_ns);
  }
  if (r->events->started)
    r->events->started(r->user);
}

void run_on_output(struct local_run *r, bool is_stderr, struct mf_str raw, bool is_dropped)
{
  if (r->state != RUN_SENT)
    return;
  struct mf_output *o = is_stderr ? r->err : r->out;
  struct mf_str text = { NULL, 0 };
  mf_output_feed(o, raw, &text);
  if (is_dropped)
    mf_output_drop(o);
  /* Repair can make text longer than its bytes, so the cap is ours to hold as well as the supervisor's. */
  if (mf_output_is_truncated(o) && r->limits.output_policy == MF_OUTPUT_STOP && !r->is_over_output) {
    r->is_over_output = true;
    run_stop(r, MF_KILL_OUTPUT);
  }
  if (text.len > 0 && r->events->output)
    r->events->output(r->user, is_stderr, text);
}

void run_on_hint(struct local_run *r, struct mf_str text)
{
  if (r->state == RUN_SENT || r->state == RUN_DRAINING)
    mf_sandbox_result_deny(r->result, text);
}

void run_on_finished(struct local_run *r, const struct mf_sup_finished *f, int dir_fd)
{
  mf_auto_close int fd = dir_fd;
  if (r->state != RUN_SENT)
    return;
  r->finished = *f;
  /* Without the guest's word the directory may hold anything; with inputs it surely does. */
  bool has_files = f->has_files || !f->by_word || r->file_n > 0;
  if (f->crashed || !has_files || fd < 0) {
    char note[160] = "";
    if (has_files && !f->crashed && dir_fd == MF_OFFERED_LOST)
      snprintf(note, sizeof(note), "%s: %s", DIAG_FILES_FAILED, mf_fd_shortage(EMFILE));
    complete_as_told(r, note, false);
    return;
  }
  /* Processes that outlive the first one could swap files under the collection. */
  r->state = RUN_DRAINING;
  r->dir_fd = mf_take_fd(&fd);
  r->deadline_ns = local_after_ms(r->local->seam.times.reap_ms);
  local_arm(r->local, r->deadline_ns);
}

static const char *collect_note(enum mf_code code)
{
  return code == MF_OK ? "" : DIAG_FILES_FAILED; /* the error may name a file of the guest's */
}

static void on_collected(void *user, enum mf_code code)
{
  struct local_run *r = user;
  struct local *l = r->local;
  r->collect = NULL;
  complete_as_told(r, collect_note(code), true);
  if (l->link == LINK_CLOSING)
    local_kick(l);
}

/* Many files take a while, and the loop has other runs to serve: a thread collects them. A few are collected at once,
 * which is sooner than a thread begins. Of a direct run its whole directory is to be removed besides. */
static void collect(struct local_run *r)
{
  struct mf_collect_spec spec = {
    .dir_fd = r->dir_fd,
    .job_fd = r->file_n > 0 ? r->job_fd : -1,
    .limits = &r->limits,
    .result = r->result,
    .remove = MF_TEMPDIR_NULL,
  };
  if (r->direct || !mf_collect_is_small(r->dir_fd)) {
    if (r->direct)
      mf_direct_take_dir(r->direct, &spec.remove);
    r->state = RUN_COLLECTING;
    r->deadline_ns = 0;
    if (mf_collect_start(r->local->loop, &spec, on_collected, r, &r->collect, NULL) == MF_OK)
      return;
  }
  complete_as_told(r, collect_note(mf_collect_now(&spec)), true);
}

void run_on_reaped(struct local_run *r)
{
  switch (r->state) {
  case RUN_QUEUED:
    return; /* nothing was asked for yet */
  case RUN_SENT: {
    /* The supervisor lost its result: one is owed all the same. */
    const struct mf_verdict v = { MF_RUN_FAILED, MF_REASON_WORKER_CRASH, .diagnostic = MF_DIAG_CRASHED };
    complete(r, &v, "", true);
    return;
  }
  case RUN_DRAINING:
    collect(r);
    return;
  case RUN_COLLECTING: /* it was said before */
    return;
  case RUN_LINGER:
    run_release(r);
    return;
  }
}

/* ---- what goes down ---- */

static void direct_started(void *user)
{
  run_on_started(user, false);
}

static void direct_output(void *user, bool is_stderr, struct mf_str raw)
{
  run_on_output(user, is_stderr, raw, false);
}

static void direct_finished(void *user, const struct mf_sup_finished *f, int dir_fd)
{
  run_on_finished(user, f, dir_fd);
}

static void direct_reaped(void *user)
{
  struct local_run *r = user;
  struct local *l = r->local;
  run_on_reaped(r);
  if (l->link == LINK_CLOSING)
    local_kick(l);
}

static const struct mf_direct_events direct_events = {
  .started = direct_started,
  .output = direct_output,
  .finished = direct_finished,
  .reaped = direct_reaped,
};

enum mf_code run_start_direct(struct local_run *r, struct mf_err *err)
{
  struct local *l = r->local;
  struct mf_job job = { 0 };
  const struct mf_direct_spec spec = {
    .rootfs = l->rootfs,
    .scripts = l->config.zygote_dir,
    .runtime = &l->runtime,
    .limits = &r->limits,
    .file_bytes_max = l->config.disk_bytes,
  };
  enum mf_code code = mf_job_map(r->job_fd, &job, err);
  if (code == MF_OK)
    code = mf_direct_start(l->loop, &spec, &job, &direct_events, r, &r->direct, err);
  mf_job_done(&job);
  if (code != MF_OK)
    return code;
  r->state = RUN_SENT;
  return MF_OK;
}

void run_stop(struct local_run *r, enum mf_kill_cause cause)
{
  struct local *l = r->local;
  switch (r->state) {
  case RUN_QUEUED:
    local_kick(l);
    return;
  case RUN_SENT:
    if (r->direct) {
      mf_direct_kill(r->direct, cause);
      return;
    }
    r->deadline_ns = local_after_ms(l->seam.times.grace_ms);
    local_arm(l, r->deadline_ns);
    link_flush(l);
    return;
  case RUN_DRAINING: /* it has ended: the result stays what it is */
  case RUN_COLLECTING:
  case RUN_LINGER:
    return;
  }
}

/* ---- time ---- */

static void tick_queued(struct local_run *r, uint64_t now_ns)
{
  struct local *l = r->local;
  struct mf_err err = { 0 };
  if (r->cancel_asked) {
    run_end(r, MF_RUN_CANCELLED, MF_REASON_CANCELLED, "");
  } else if (l->link == LINK_FAILED || (l->link != LINK_UP && r->deadline_ns && now_ns >= r->deadline_ns)) {
    err = l->down; /* `down` may change inside the event */
    run_end(r, MF_RUN_FAILED, MF_REASON_UNAVAILABLE, err.msg);
  } else if (l->link == LINK_DIRECT && run_start_direct(r, &err) != MF_OK) {
    run_end(r, MF_RUN_FAILED, MF_REASON_UNAVAILABLE, err.msg);
  }
}

void runs_tick(struct local *l, uint64_t now_ns)
{
  struct local_run *next;
  for (struct local_run *r = l->first; r; r = next) {
    next = r->next;
    if (r->state == RUN_QUEUED) {
      tick_queued(r, now_ns);
    } else if (r->deadline_ns && now_ns >= r->deadline_ns) {
      r->deadline_ns = 0;
      if (r->state == RUN_DRAINING) {
        complete_as_told(r, DIAG_FILES_LATE, false);
      } else if (r->state == RUN_SENT) {
        /* It answers nothing any more, and every other run of it is lost with this one. */
        link_down(l, "sandbox supervisor did not answer");
        return;
      }
    }
  }
}

uint64_t runs_next_ns(const struct local *l)
{
  uint64_t least = UINT64_MAX;
  for (const struct local_run *r = l->first; r; r = r->next)
    if (r->deadline_ns)
      least = MF_MIN(least, r->deadline_ns);
  return least;
}

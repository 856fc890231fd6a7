/* One run: what comes up about it becomes events and, at the end, one result. */
#include "provider.h"

#include <assert.h>
#include <stdio.h>

#include "base/fd.h"
#include "base/time.h"
#include "sandbox/job.h"
#include "base/banned.h"

#define SENT_MAX 3u /* workers that a run is given, while none of them begins */

/* ---- life ---- */

static void link_in(struct wasm *w, struct wasm_run *r)
{
  r->prev = w->last;
  *(w->last ? &w->last->next : &w->first) = r;
  w->last = r;
}

static void unlink_run(struct wasm *w, struct wasm_run *r)
{
  *(r->prev ? &r->prev->next : &w->first) = r->next;
  *(r->next ? &r->next->prev : &w->last) = r->prev;
  if (!r->is_probe)
    w->run_n--;
}

enum mf_code wasm_run_new(struct wasm *w, const struct mf_sandbox_spec *spec, const struct mf_sandbox_events *events,
                          void *user, struct wasm_run **ret, struct mf_err *err)
{
  mf_auto_close int job_fd = -1;
  enum mf_code code = mf_job_write(spec, &job_fd, err);
  if (code != MF_OK)
    return mf_wrap(err, code, "start run");
  struct wasm_run *r = mf_xcalloc(1, sizeof(*r));
  r->base.provider = &w->base;
  r->wasm = w;
  r->serial = ++w->next_serial;
  r->state = RUN_QUEUED;
  r->events = events;
  r->user = user;
  r->limits = spec->limits;
  if (r->limits.fuel == 0)
    r->limits.fuel = w->config.default_fuel;
  r->raw_left[0] = spec->limits.stdout_bytes + MF_WORKER_SPARE_BYTES;
  r->raw_left[1] = spec->limits.stderr_bytes + MF_WORKER_SPARE_BYTES;
  r->start_ns = mf_now_ns();
  r->job_fd = mf_take_fd(&job_fd);
  r->file_n = spec->file_n;
  r->out = mf_output_new(spec->limits.stdout_bytes);
  r->err = mf_output_new(spec->limits.stderr_bytes);
  r->result = mf_sandbox_result_new();
  link_in(w, r);
  w->run_n++;
  *ret = r;
  return MF_OK;
}

void wasm_run_note_spec(struct wasm_run *r, const struct mf_sandbox_spec *spec)
{
  struct mf_receipt *to = &r->result->receipt;
  mf_receipt_fill_from_spec(to, spec);
  to->limits.fuel = r->limits.fuel; /* what was counted */
}

/* What a finished run does not need any more. */
static void drop_parts(struct wasm_run *r)
{
  mf_output_free(r->out);
  mf_output_free(r->err);
  r->out = r->err = NULL;
  mf_sandbox_result_free(r->result);
  r->result = NULL;
  mf_offers_done(&r->offers);
  mf_close_ptr(&r->job_fd);
}

void wasm_run_free(struct wasm_run *r)
{
  assert(!r->collect); /* its thread would go on in what is freed here */
  if (r->worker)
    r->worker->run = NULL;
  unlink_run(r->wasm, r);
  drop_parts(r);
  free(r);
}

static void tell_released(const struct mf_sandbox_events *events, void *user)
{
  if (events->released)
    events->released(user);
}

void wasm_run_release(struct wasm_run *r)
{
  const struct mf_sandbox_events *events = r->events;
  void *user = r->user;
  wasm_run_free(r);
  tell_released(events, user);
}

/* ---- the receipt ---- */

static void note_layers(const struct worker *k, struct mf_receipt *to)
{
  static const struct {
    uint32_t bit;
    const char *word;
  } words[] = { { MF_WORKER_SECCOMP, "seccomp" }, { MF_WORKER_NNP, "no_new_privs" }, { MF_WORKER_RLIMIT, "rlimit" } };
  size_t at = (size_t)snprintf(to->layers, sizeof(to->layers), "wasm,fuel");
  for (size_t i = 0; i < MF_ARRAY_N(words); i++) {
    if (k->layers & words[i].bit)
      at += (size_t)snprintf(to->layers + at, sizeof(to->layers) - at, ",%s", words[i].word);
  }
  if (k->layers & MF_WORKER_CGROUP)
    (void)snprintf(to->layers + at, sizeof(to->layers) - at, ",%s", pool_memory_control(k->wasm));
  bool is_full = (k->layers & MF_WORKER_LAYERS_FULL) == MF_WORKER_LAYERS_FULL;
  snprintf(to->isolation, sizeof(to->isolation), is_full ? "full" : "degraded");
  snprintf(to->seccomp_sha256, sizeof(to->seccomp_sha256), "%s", k->seccomp_sha256);
  snprintf(to->memory_control, sizeof(to->memory_control), "%s", pool_memory_control(k->wasm));
  snprintf(to->start, sizeof(to->start), "%s", k->ready_ns > k->run->start_ns ? "cold" : "pool");
}

static void note_runtime(struct wasm_run *r)
{
  struct mf_receipt *to = &r->result->receipt;
  snprintf(to->provider, sizeof(to->provider), "wasm");
  snprintf(to->runtime_id, sizeof(to->runtime_id), "%s", r->wasm->runtime.id);
  snprintf(to->runtime_digest, sizeof(to->runtime_digest), "%s", r->wasm->runtime.digest);
  snprintf(to->python_version, sizeof(to->python_version), "%s", r->wasm->runtime.python_version);
  if (to->isolation[0])
    return;
  snprintf(to->isolation, sizeof(to->isolation), "none"); /* it never began, so nothing held it */
  snprintf(to->memory_control, sizeof(to->memory_control), "none");
}

/* ---- the end ---- */

static void finish_output(struct wasm_run *r, bool is_stderr)
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

static void note_usage(const struct wasm_run *r, struct mf_sandbox_result *to)
{
  uint64_t wall_us = r->done.wall_us;
  /* Without the worker's measure ours is near enough: it only adds the way of one frame. */
  if (wall_us == 0 && r->began_ns)
    wall_us = (mf_now_ns() - r->began_ns) / 1000;
  to->duration_us = wall_us;
  to->duration_ms = (wall_us + 500) / 1000;
  to->cpu_ms = (r->done.cpu_us + 500) / 1000;
  to->memory_peak_bytes = r->done.memory_bytes;
  to->fuel = MF_MIN(r->done.fuel_used, r->limits.fuel); /* a worker may say anything */
}

/* Gives the result away. Without a worker the place is given back first, so that the receiver can start the next run
 * from inside `finished`; else it waits for the worker's end. */
static void complete(struct wasm_run *r, const struct mf_wasm_verdict *v, const char *diagnostic)
{
  struct mf_sandbox_result *result = r->result;
  note_runtime(r);
  r->state = RUN_LINGER; /* a cancel from inside the output event comes too late */
  r->deadline_ns = 0;
  finish_output(r, false);
  finish_output(r, true);
  result->status = v->status;
  result->reason = v->reason;
  result->has_exit_code = v->has_exit_code;
  result->exit_code = v->exit_code;
  result->signal = v->signal;
  snprintf(result->diagnostic, sizeof(result->diagnostic), "%s", diagnostic);
  note_usage(r, result);

  const struct mf_sandbox_events *events = r->events;
  void *user = r->user;
  bool is_free = !r->worker;
  r->result = NULL;
  if (is_free)
    wasm_run_free(r);
  else
    drop_parts(r);
  events->finished(user, result);
  if (is_free)
    tell_released(events, user);
}

/* Past its cap under the policy "stop" the program is at its end, whether it was stopped or ended by itself meanwhile;
 * only what came from elsewhere (deadline, fuel, memory, a cancel) is stronger. */
static bool is_ended_by_output(const struct wasm_run *r, const struct mf_wasm_verdict *v)
{
  if (r->limits.output_policy != MF_OUTPUT_STOP)
    return false;
  if (!mf_output_is_truncated(r->out) && !mf_output_is_truncated(r->err))
    return false;
  return v->reason == MF_REASON_EXIT || v->reason == MF_REASON_EXCEPTION || v->reason == MF_REASON_SIGNAL;
}

static const struct mf_wasm_verdict over_output = { .status = MF_RUN_LIMIT, .reason = MF_REASON_OUTPUT };

static void complete_as_told(struct wasm_run *r, const char *note)
{
  struct mf_wasm_verdict v;
  mf_wasm_verdict_of(&r->done, &v);
  if (is_ended_by_output(r, &v))
    v = over_output;
  complete(r, &v, v.reason == MF_REASON_WORKER_CRASH ? MF_WASM_DIAG_CRASHED : note);
}

void wasm_run_end_queued(struct wasm_run *r, enum mf_run_status status, enum mf_run_reason reason,
                         const char *diagnostic)
{
  const struct mf_wasm_verdict v = { .status = status, .reason = reason };
  complete(r, &v, diagnostic);
}

static void leave_worker(struct wasm_run *r)
{
  r->worker->run = NULL;
  r->worker = NULL;
}

/* The worker is gone without a word about this run: it was killed, by us or by somebody else. */
static struct mf_wasm_verdict verdict_of_loss(const struct wasm_run *r, const char **ret_diagnostic)
{
  const struct worker *k = r->worker;
  struct mf_cgroup *cg = r->wasm->cgroup;
  *ret_diagnostic = "";
  if (r->cancel_asked)
    return (struct mf_wasm_verdict){ .status = MF_RUN_CANCELLED, .reason = MF_REASON_CANCELLED };
  if (r->is_over_output)
    return over_output;
  if (cg && mf_cgroup_slot_oom_kills(cg, k->slot) > 0)
    return (struct mf_wasm_verdict){ .status = MF_RUN_LIMIT, .reason = MF_REASON_MEMORY };
  *ret_diagnostic = k->is_silent ? MF_WASM_DIAG_SILENT : MF_WASM_DIAG_CRASHED;
  return (struct mf_wasm_verdict){ .status = MF_RUN_FAILED, .reason = MF_REASON_WORKER_CRASH };
}

/* Nothing of the program has run: its worker was dead or dying when CALL was sent, or in the hands of the program
 * before, and was ended for what it sent. Another one may take it; not for ever, since a job that ends its worker would
 * end them all. */
static bool may_go_again(const struct wasm_run *r, const struct mf_wasm_verdict *v)
{
  const struct worker *k = r->worker;
  return !r->began_ns && v->reason == MF_REASON_WORKER_CRASH && !k->is_silent && r->sent_n < SENT_MAX &&
         r->wasm->state != WASM_CLOSING;
}

static void go_again(struct wasm_run *r)
{
  leave_worker(r);
  r->state = RUN_QUEUED;
  r->deadline_ns = 0;
  wasm_kick(r->wasm);
}

void wasm_run_on_lost(struct wasm_run *r, bool is_gone)
{
  const char *diagnostic = "";
  if (r->state == RUN_LINGER) {
    if (is_gone)
      wasm_run_release(r);
    return;
  }
  if (r->state == RUN_COLLECTING) { /* its thread ends it */
    if (is_gone)
      leave_worker(r);
    return;
  }
  assert(r->state == RUN_SENT);
  struct mf_wasm_verdict v = verdict_of_loss(r, &diagnostic);
  if (is_gone && may_go_again(r, &v)) {
    go_again(r);
    return;
  }
  if (is_gone)
    leave_worker(r);
  complete(r, &v, diagnostic);
}

/* ---- its files ---- */

static void on_collected(void *user, enum mf_code code)
{
  struct wasm_run *r = user;
  struct wasm *w = r->wasm;
  r->collect = NULL;
  complete_as_told(r, code == MF_OK ? "" : MF_WASM_DIAG_FILES);
  wasm_kick(w); /* closing may wait for it */
}

void wasm_run_stop_collecting(struct wasm_run *r)
{
  if (r->collect)
    mf_collect_files_stop(r->collect);
}

static void collect(struct wasm_run *r)
{
  r->offers.left_n += r->done.file_left_n;
  r->offers.other_n = r->done.file_other_n;
  const char *note = r->done.files_failed ? MF_WASM_DIAG_FILES : "";
  if (r->offers.n == 0 && r->offers.left_n == 0 && r->offers.other_n == 0) {
    complete_as_told(r, note);
    return;
  }
  const struct mf_collect_call c = {
    .offers = &r->offers, .job_fd = r->file_n > 0 ? r->job_fd : -1, .limits = &r->limits, .result = r->result
  };
  if (!mf_offers_are_small(&r->offers)) {
    r->state = RUN_COLLECTING;
    r->deadline_ns = 0;
    if (mf_collect_files_start(r->wasm->loop, &c, on_collected, r, &r->collect, NULL) == MF_OK)
      return;
  }
  if (mf_collect_files(&c) != MF_OK)
    note = MF_WASM_DIAG_FILES;
  complete_as_told(r, note);
}

/* ---- what comes up ---- */

void wasm_run_on_sent(struct wasm_run *r, struct worker *k)
{
  r->state = RUN_SENT;
  r->worker = k;
  k->run = r;
  note_layers(k, &r->result->receipt);
  r->deadline_ns = wasm_after_ms(r->wasm->seam.times.silence_ms);
  wasm_arm(r->wasm, r->deadline_ns);
  r->sent_n++;
}

bool wasm_run_on_began(struct wasm_run *r)
{
  if (r->state != RUN_SENT || r->began_ns)
    return false;
  r->began_ns = mf_now_ns();
  if (r->file_n == 0)
    mf_close_ptr(&r->job_fd); /* else collecting compares with the inputs */
  r->deadline_ns = wasm_after_ms(r->limits.wall_ms + r->wasm->seam.times.grace_ms);
  wasm_arm(r->wasm, r->deadline_ns);
  if (r->events->started)
    r->events->started(r->user);
  return true;
}

bool wasm_run_on_output(struct wasm_run *r, bool is_stderr, struct mf_str raw, bool is_dropped)
{
  /* Its own worker counts, and never sends more than it was allowed, nor anything after it has said that it dropped. */
  if (r->state != RUN_SENT || !r->began_ns || r->frame_n > 0 || r->has_dropped[is_stderr] ||
      raw.len > r->raw_left[is_stderr])
    return false;
  r->raw_left[is_stderr] -= raw.len;
  r->has_dropped[is_stderr] = is_dropped;
  struct mf_output *o = is_stderr ? r->err : r->out;
  struct mf_str text = { NULL, 0 };
  mf_output_feed(o, raw, &text);
  if (is_dropped)
    mf_output_drop(o);
  /* Repair can make text longer than its bytes, so the cap is ours to hold as well as the worker's. A worker that knows
   * it itself, by its own count, says DONE. */
  bool is_known = is_dropped || r->raw_left[is_stderr] < MF_WORKER_SPARE_BYTES;
  if (mf_output_is_truncated(o) && !is_known && r->limits.output_policy == MF_OUTPUT_STOP && !r->is_over_output) {
    r->is_over_output = true;
    worker_kill(r->worker);
  }
  if (text.len > 0 && r->events->output)
    r->events->output(r->user, is_stderr, text);
  return true;
}

bool wasm_run_on_file(struct wasm_run *r, struct mf_str name, uint64_t size, int fd_)
{
  mf_auto_close int fd = fd_;
  if (r->state != RUN_SENT || !r->began_ns || ++r->frame_n > MF_WORKER_FILES_MAX)
    return false;
  return mf_offers_add(&r->offers, &r->limits, name, size, mf_take_fd(&fd));
}

void wasm_run_on_done(struct wasm_run *r, const struct mf_worker_done *done, bool leaves)
{
  assert(r->state == RUN_SENT);
  r->done = *done;
  if (!leaves)
    leave_worker(r);
  collect(r);
}

/* Running: one fiber for each task that has its place, from the queue to the end.
 *
 * The place (running_n) is given back when the program has ended, and not when its end is saved: the next one starts
 * meanwhile. Thread: the loop's. */
#include <stdlib.h>

#include "base/log.h"
#include "base/time.h"
#include "tasks-internal.h"
#include "base/banned.h"

/* A provider that is down is asked again: 4 times in about 4 s, and a minute long when it has no place. */
enum { UNAVAILABLE_TRIES = 4, CAPACITY_TRIES = 60, BACKOFF_MAX_MS = 1000 };

/* ---- who starts ---- */

bool tasks_may_start(const struct mf_tasks *t)
{
  return !t->is_draining && !t->is_paused && t->running_n < t->config.running_max &&
         t->ending_n < t->config.running_max + 4 && t->unsaved_n < t->config.queue_max + t->config.running_max;
}

/* ---- before ---- */

enum step { STEP_RUN, STEP_BACK, STEP_CANCELLED, STEP_GONE };

/* The database first: what it has as queued would run again after a restart. */
static enum step mark_running(struct task *k, struct mf_fiber *self)
{
  struct mf_tasks *t = k->tasks;
  struct mf_err err = { 0 };
  if (k->is_cancel_asked)
    return STEP_CANCELLED;
  if (!k->is_marked) {
    uint64_t now_ms = tasks_now_ms(t);
    if (t->is_draining)
      return STEP_BACK;
    if (t->parts.storage) {
      unsigned tries = 0;
      enum mf_code code;
      do
        code = mf_storage_start_task(t->parts.storage, self, mf_str_of(k->id), now_ms, &err);
      while (tasks_again(code, self, &tries));
      if (code == MF_E_NOT_FOUND)
        return STEP_GONE;
      if (code && !k->is_cancel_asked) {
        mf_log(MF_LOG_WARN, "task %s cannot start yet: %s", k->id, err.msg);
        return STEP_BACK;
      }
    }
    k->is_marked = true;
    k->started_ms = now_ms;
  }
  if (k->is_cancel_asked)
    return STEP_CANCELLED;
  k->state = MF_TASK_RUNNING;
  task_announce(k);
  return STEP_RUN;
}

static enum mf_code load_code(struct task *k, struct mf_fiber *self, struct mf_err *err)
{
  struct mf_tasks *t = k->tasks;
  if (k->code)
    return MF_OK;
  struct mf_stored_tasks *rows = NULL;
  unsigned tries = 0;
  enum mf_code code;
  do
    code = mf_storage_get_task(t->parts.storage, self, mf_str_of(k->owner), mf_str_of(k->id), &rows, err);
  while (tasks_again(code, self, &tries));
  if (!code)
    code = task_json_read_request(k, mf_stored_task(rows, 0)->request, true, err);
  mf_stored_tasks_free(rows);
  return code;
}

/* Inputs on disk are read for the time of the run, but for those that are in memory yet. */
static enum mf_code load_inputs(struct task *k, struct mf_fiber *self, struct mf_sandbox_file *files,
                                struct mf_err *err)
{
  struct mf_tasks *t = k->tasks;
  for (unsigned i = 0; i < k->input_n; i++) {
    struct task_input *in = &k->inputs[i];
    if (in->data.len < in->ref.size_bytes) {
      unsigned tries = 0;
      enum mf_code code;
      mf_buf_done(&in->data);
      do
        code = mf_files_read(t->parts.files, self, mf_str_of(k->id), &in->ref, &in->data, err);
      while (tasks_again(code, self, &tries));
      if (code)
        return code;
    }
    files[i] = (struct mf_sandbox_file){ mf_str_of(in->name), mf_buf_str(&in->data) };
  }
  return MF_OK;
}

static void drop_inputs(struct task *k)
{
  task_leave_to_disk(k);
  if (k->tasks->parts.storage) {
    free(k->code);
    k->code = NULL;
    k->code_n = 0;
  }
}

/* ---- the run ---- */

static void on_started(void *user)
{
  struct task *k = user;
  k->has_started = true;
}

/* What passes the limit is not kept by the result either. */
static void on_output(void *user, bool is_stderr, struct mf_str text)
{
  struct task *k = user;
  if (mf_buf_append_str(is_stderr ? &k->err : &k->out, text) == MF_OK)
    task_announce(k);
}

static void prepare(struct task *k, const struct mf_sandbox_limits *l)
{
  mf_buf_done(&k->out);
  mf_buf_done(&k->err);
  mf_buf_init(&k->out, l->stdout_bytes);
  mf_buf_init(&k->err, l->stderr_bytes);
}

static struct mf_sandbox_spec spec_of(const struct task *k, const struct mf_sandbox_file *files)
{
  struct mf_sandbox_spec s = { .source = { k->code, k->code_n }, .files = files, .file_n = k->input_n };
  s.source_name = mf_str_of(k->source_name);
  mf_sandbox_limits_default(&s.limits);
  s.limits.wall_ms = k->timeout_ms;
  s.limits.memory_bytes = (uint64_t)k->memory_mb << 20;
  s.display_last_expression = k->display_last_expression;
  return s;
}

/* Whether the provider should be asked once more: nothing of the program has run. */
static bool is_worth_another(const struct task *k, enum mf_code code, const struct mf_sandbox_result *r, unsigned tries)
{
  if (code == MF_E_CAPACITY)
    return tries < CAPACITY_TRIES;
  return !code && r->reason == MF_REASON_UNAVAILABLE && !k->has_started && tries < UNAVAILABLE_TRIES;
}

static enum mf_code ask_executor(struct task *k, struct mf_fiber *self, const struct mf_sandbox_spec *spec,
                                 struct mf_sandbox_result **ret, struct mf_err *err)
{
  const struct mf_executor_options options = {
    .is_patient = true, .keeps_cancelled = true, .started = on_started, .output = on_output, .user = k
  };
  uint64_t backoff_ms = k->tasks->backoff_ms;
  for (unsigned tries = 1;; tries++) {
    enum mf_code code = mf_executor_run_with(k->tasks->parts.executor, self, spec, &options, ret, err);
    if (!is_worth_another(k, code, *ret, tries))
      return code;
    mf_sandbox_result_free(*ret);
    *ret = NULL;
    if (mf_fiber_sleep(self, backoff_ms * MF_NS_PER_MS) != MF_OK)
      return MF_E_CANCELLED;
    backoff_ms = MF_MIN(backoff_ms * 2, (uint64_t)BACKOFF_MAX_MS);
  }
}

static enum mf_task_state state_of(const struct mf_sandbox_result *r)
{
  static const enum mf_task_state states[MF_RUN_STATUS_N] = {
    [MF_RUN_SUCCEEDED] = MF_TASK_SUCCEEDED, [MF_RUN_FAILED] = MF_TASK_FAILED, [MF_RUN_TIMED_OUT] = MF_TASK_TIMED_OUT,
    [MF_RUN_CANCELLED] = MF_TASK_CANCELLED, [MF_RUN_LIMIT] = MF_TASK_FAILED,
  };
  return states[r->status];
}

/* Why a run that nobody let end has not: its owner said so, or the server stops. */
static void say_cancelled(const struct task *k, struct task_outcome *o)
{
  o->state = k->is_cancel_asked ? MF_TASK_CANCELLED : MF_TASK_FAILED;
  o->reason = k->is_cancel_asked ? "cancelled" : "interrupted";
}

static void say_result(const struct task *k, enum mf_code code, struct task_outcome *o)
{
  const struct mf_sandbox_result *r = o->result;
  o->has_run = r && (k->has_started || code == MF_OK);
  if (code == MF_E_CANCELLED && (!r || r->status == MF_RUN_CANCELLED)) {
    say_cancelled(k, o);
  } else if (!r) {
    *o = (struct task_outcome){ .state = MF_TASK_FAILED, .reason = "unavailable" };
  } else {
    o->state = state_of(r);
    o->reason = mf_run_reason_name(r->reason == MF_REASON_CAPACITY ? MF_REASON_UNAVAILABLE : r->reason);
  }
}

/* Followers have seen it: also where the provider's last word came late or never. */
static void keep_live_text(struct task *k, struct task_outcome *o)
{
  if (k->out.len + k->err.len > 0 && !o->result)
    o->result = mf_sandbox_result_new();
  struct mf_buf *live[] = { &k->out, &k->err };
  for (unsigned i = 0; o->result && i < MF_ARRAY_N(live); i++) {
    struct mf_buf *text = i == 0 ? &o->result->out : &o->result->err, spare = *live[i];
    if (live[i]->len > text->len) {
      *live[i] = *text;
      *text = spare;
    }
  }
}

static void execute(struct task *k, struct mf_fiber *self, struct task_outcome *o)
{
  struct mf_err err = { 0 };
  struct mf_sandbox_file *files = mf_xcalloc(k->input_n + 1, sizeof(*files));
  enum mf_code code = load_code(k, self, &err);
  if (!code)
    code = load_inputs(k, self, files, &err);
  if (code) {
    mf_log(MF_LOG_WARN, "task %s: what it needs cannot be read: %s", k->id, err.msg);
    *o = (struct task_outcome){ .state = MF_TASK_FAILED, .reason = "disk" };
  } else {
    struct mf_sandbox_spec spec = spec_of(k, files);
    prepare(k, &spec.limits);
    code = ask_executor(k, self, &spec, &o->result, &err);
    say_result(k, code, o);
    if (code && code != MF_E_CANCELLED) /* what is said of a spec may name its files */
      mf_log(MF_LOG_WARN, "task %s: not run: %s", k->id, code == MF_E_INPUT ? "its spec was refused" : err.msg);
    keep_live_text(k, o);
  }
  free(files);
  drop_inputs(k);
}

static void count_time(struct mf_tasks *t, const struct mf_sandbox_result *r)
{
  if (r)
    t->run_ms = t->run_ms ? (t->run_ms * 7 + r->duration_ms) / 8 : r->duration_ms;
}

/* ---- the fiber ---- */

static void run_to_end(struct task *k, struct mf_fiber *self, bool is_cancelled)
{
  struct mf_tasks *t = k->tasks;
  struct task_outcome o = { .state = MF_TASK_CANCELLED, .reason = "cancelled" };
  if (!is_cancelled)
    execute(k, self, &o);
  count_time(t, o.result);
  k->is_ending = true;
  t->running_n--;
  t->ending_n++;
  tasks_dispatch(t);
  task_end(k, self, &o);
  t->ending_n--;
}

void tasks_put_back(struct task *k)
{
  struct mf_tasks *t = k->tasks;
  t->running_n--;
  k->state = MF_TASK_QUEUED;
  task_queue_push_front(&t->queue, k);
  tasks_pause(t);
}

static void run(void *user)
{
  struct task *k = user;
  struct mf_tasks *t = k->tasks;
  struct mf_fiber *self = k->runner;
  enum step step = mark_running(k, self);
  switch (step) {
  case STEP_RUN:
  case STEP_CANCELLED:
    run_to_end(k, self, step == STEP_CANCELLED);
    break;
  case STEP_BACK:
    tasks_put_back(k);
    break;
  case STEP_GONE: /* removed by another process */
    t->running_n--;
    tasks_remove_files(t, self, k->id);
    tasks_drop(t, k);
    break;
  }
  k->runner = NULL;
  task_announce(k);
  task_unref(k);
  t->runner_n--;
  if (t->closer)
    mf_fiber_wake(t->closer);
  tasks_dispatch(t);
}

bool tasks_start_runner(struct mf_tasks *t, struct task *k)
{
  struct mf_err err = { 0 };
  if (mf_fiber_start(t->parts.loop, run, k, 0, &k->runner, &err) != MF_OK) {
    mf_log(MF_LOG_WARN, "task %s cannot start yet: %s", k->id, err.msg);
    k->runner = NULL;
    return false;
  }
  mf_fiber_detach(k->runner);
  task_ref(k);
  t->runner_n++;
  return true;
}

void tasks_dispatch(struct mf_tasks *t)
{
  while (t->queue.n > 0 && tasks_may_start(t)) {
    struct task *k = task_queue_pop(&t->queue);
    t->running_n++;
    if (!tasks_start_runner(t, k)) {
      tasks_put_back(k);
      return;
    }
  }
}

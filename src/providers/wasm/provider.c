/* The wasm provider's instance: birth, the vtable, the one timer, closing. */
#include "provider.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/time.h"
#include "base/banned.h"

#define START_FAILS_MAX 3u /* in a row, and runs do not wait any longer */
#define CLOSE_MS 5000u
#define PROBE_WALL_MS 30000u
#define WORKER_PIDS 16u

static const struct mf_provider_ops wasm_ops;

static struct wasm *wasm_of(const struct mf_provider *p)
{
  return (struct wasm *)(uintptr_t)p; /* base is the first member */
}

/* ---- time ---- */

uint64_t wasm_after_ms(uint64_t ms)
{
  return mf_now_ns() + ms * MF_NS_PER_MS;
}

void wasm_arm(struct wasm *w, uint64_t deadline_ns)
{
  if (deadline_ns >= w->armed_ns)
    return;
  w->armed_ns = deadline_ns;
  mf_timer_arm(w->timer, deadline_ns);
}

void wasm_kick(struct wasm *w)
{
  wasm_arm(w, 0);
}

void mf_wasm_times_default(struct mf_wasm_times *ret)
{
  *ret = (struct mf_wasm_times){
    .ready_ms = 30000,
    .silence_ms = 20000,
    .grace_ms = 10000,
    .reap_ms = 5000,
    .idle_ms = 10000,
    .backoff_min_ms = 100,
    .backoff_max_ms = 5000,
    .clean_ms = 20,
  };
}

/* ---- being ready ---- */

static void report_ready(struct wasm *w, enum mf_code code)
{
  if (w->is_ready_done)
    return;
  w->is_ready_done = true;
  struct mf_err err = w->down; /* a copy: the receiver may close us */
  w->ready(w->ready_user, code, code == MF_OK ? NULL : &err);
}

void wasm_fail_first(struct wasm *w, const struct mf_err *why)
{
  w->state = WASM_FAILED;
  w->down = *why;
  w->down.code = MF_E_UNAVAILABLE;
  wasm_kick(w);
}

static void probe_finished(void *user, struct mf_sandbox_result *result)
{
  struct wasm *w = user;
  bool is_good = result->status == MF_RUN_SUCCEEDED && result->out.len == 0 && result->err.len == 0;
  if (w->state == WASM_PROBING && is_good) {
    w->state = WASM_UP;
  } else if (w->state == WASM_PROBING) {
    struct mf_err why = { 0 };
    (void)mf_fail(&why, MF_E_UNAVAILABLE, 0,
                  "the WebAssembly runtime cannot run a first program (it ended as '%s', reason '%s'%s%s); make the "
                  "runtime anew with scripts/setup-wasm-runtime",
                  mf_run_status_name(result->status), mf_run_reason_name(result->reason),
                  result->diagnostic[0] ? ": " : "", result->diagnostic);
    wasm_fail_first(w, &why);
  }
  mf_sandbox_result_free(result);
  if (w->state == WASM_UP)
    report_ready(w, MF_OK);
}

static const struct mf_sandbox_events probe_events = { .finished = probe_finished };

static enum mf_code start_probe(struct wasm *w, struct mf_err *err)
{
  struct mf_sandbox_spec spec = { .source = MF_STR("pass\n") };
  mf_sandbox_limits_default(&spec.limits);
  spec.limits.wall_ms = PROBE_WALL_MS;
  struct wasm_run *r = NULL;
  enum mf_code code = wasm_run_new(w, &spec, &probe_events, w, &r, err);
  if (code != MF_OK)
    return code;
  r->is_probe = true;
  w->run_n--;
  return MF_OK;
}

/* ---- the vtable ---- */

static enum mf_code wasm_start(struct mf_provider *p, const struct mf_sandbox_spec *spec,
                               const struct mf_sandbox_events *events, void *user, struct mf_run **ret,
                               struct mf_err *err)
{
  struct wasm *w = wasm_of(p);
  if (w->state == WASM_CLOSING)
    return mf_fail(err, MF_E_UNAVAILABLE, 0, "the sandbox provider is closing");
  if (w->state == WASM_FAILED)
    return mf_fail(err, MF_E_UNAVAILABLE, 0, "%s", w->down.msg);
  if (w->run_n >= w->config.max_running)
    return mf_fail(err, MF_E_CAPACITY, 0, "all %u sandbox places are taken", w->config.max_running);
  struct wasm_run *r = NULL;
  enum mf_code code = wasm_run_new(w, spec, events, user, &r, err);
  if (code != MF_OK)
    return code;
  pool_assign(w);
  if (r->state == RUN_QUEUED)
    wasm_kick(w);
  /* After it is on its way: hashing is not on the path of the answer. */
  wasm_run_note_spec(r, spec);
  *ret = &r->base;
  return MF_OK;
}

static void wasm_cancel(struct mf_run *run)
{
  struct wasm_run *r = (struct wasm_run *)run; /* base is the first member */
  if (r->cancel_asked)
    return;
  r->cancel_asked = true;
  if (r->state == RUN_SENT)
    worker_kill(r->worker);
  else if (r->state == RUN_QUEUED)
    wasm_kick(r->wasm);
  /* else it has ended: the result stays what it is */
}

static void wasm_close(struct mf_provider *p, void (*closed)(void *user), void *user)
{
  struct wasm *w = wasm_of(p);
  if (w->state == WASM_CLOSING)
    return;
  w->state = WASM_CLOSING;
  w->closed = closed;
  w->closed_user = user;
  w->close_ns = wasm_after_ms(CLOSE_MS);
  for (struct wasm_run *r = w->first; r; r = r->next) {
    if (r->state != RUN_COLLECTING)
      r->cancel_asked = true;
    wasm_run_stop_collecting(r);
  }
  for (unsigned i = 0; i < w->config.max_running; i++)
    worker_kill(&w->workers[i]);
  wasm_kick(w);
}

static unsigned wasm_busy(const struct mf_provider *p)
{
  return wasm_of(p)->run_n;
}

static const struct mf_provider_ops wasm_ops = {
  .name = "wasm",
  .caps = MF_CAP_FILES | MF_CAP_FUEL | MF_CAP_MEMORY,
  .start = wasm_start,
  .cancel = wasm_cancel,
  .close = wasm_close,
  .busy = wasm_busy,
};

/* ---- the end ---- */

static void free_wasm(struct wasm *w)
{
  while (w->first)
    wasm_run_release(w->first);
  for (unsigned i = 0; w->workers && i < w->config.max_running; i++) {
    struct worker *k = &w->workers[i];
    mf_watch_free(k->sock_watch);
    mf_watch_free(k->proc_watch);
    mf_close_ptr(&k->sock);
    mf_pidref_done(&k->proc);
  }
  mf_cgroup_free(w->cgroup);
  mf_timer_free(w->timer);
  mf_close_ptr(&w->code_fd);
  free(w->workers);
  free(w->frame);
  free(w->program);
  free(w);
}

static bool is_waiting(struct wasm *w)
{
  bool waits = false, collects = false;
  for (unsigned i = 0; i < w->config.max_running; i++)
    waits = waits || w->workers[i].state == WORKER_LEAVING;
  for (const struct wasm_run *r = w->first; r; r = r->next)
    collects = collects || r->collect; /* its thread was told to stop; its end is an event */
  if (collects)
    return true;
  /* A process that outlives its SIGKILL for so long is left to the kernel, since `closed` is owed. */
  if (!waits || mf_now_ns() >= w->close_ns)
    return false;
  wasm_arm(w, w->close_ns);
  return true;
}

static void close_step(struct wasm *w)
{
  if (!w->is_ready_done) {
    (void)mf_fail(&w->down, MF_E_GONE, 0, "the sandbox provider was closed before it was ready");
    report_ready(w, MF_E_GONE);
  }
  if (is_waiting(w))
    return;
  for (struct wasm_run *r = w->first, *next; r; r = next) {
    next = r->next; /* a receiver cannot start another run, so the list only gets shorter */
    if (r->state == RUN_SENT)
      wasm_run_on_lost(r, true);
    else if (r->state == RUN_QUEUED) /* closed from inside an event, after its turn */
      wasm_run_end_queued(r, MF_RUN_CANCELLED, MF_REASON_CANCELLED, "");
  }
  /* A short command may end before it was time to sweep. Nobody waits for what is busy: it is of others. */
  if (w->sweeper.due_ns)
    (void)mf_cgroup_sweeper_close(&w->sweeper, mf_now_ns());
  void (*closed)(void *user) = w->closed;
  void *user = w->closed_user;
  free_wasm(w);
  closed(user);
}

/* ---- what is due ---- */

static void tick_runs(struct wasm *w)
{
  bool is_pausing = w->start_fail_n >= START_FAILS_MAX && mf_now_ns() < w->retry_ns;
  bool gives_up = w->state == WASM_FAILED || is_pausing;
  for (struct wasm_run *r = w->first, *next; r; r = next) {
    next = r->next;
    if (r->state != RUN_QUEUED)
      continue;
    struct mf_err why = w->down; /* a copy: it may change inside the event */
    if (r->cancel_asked)
      wasm_run_end_queued(r, MF_RUN_CANCELLED, MF_REASON_CANCELLED, "");
    else if (gives_up)
      wasm_run_end_queued(r, MF_RUN_FAILED, MF_REASON_UNAVAILABLE, why.msg);
  }
}

static void tick_workers(struct wasm *w, uint64_t now_ns)
{
  for (unsigned i = 0; i < w->config.max_running; i++)
    worker_tick(&w->workers[i], now_ns);
}

static void arm_next(struct wasm *w)
{
  for (unsigned i = 0; i < w->config.max_running; i++)
    if (w->workers[i].deadline_ns)
      wasm_arm(w, w->workers[i].deadline_ns);
  for (const struct wasm_run *r = w->first; r; r = r->next)
    if (r->deadline_ns)
      wasm_arm(w, r->deadline_ns);
  if (w->sweeper.due_ns && w->state != WASM_CLOSING) /* closing has its own time for it */
    wasm_arm(w, w->sweeper.due_ns);
}

static void service(void *user)
{
  struct wasm *w = user;
  w->armed_ns = UINT64_MAX;
  tick_workers(w, mf_now_ns());
  tick_runs(w);
  if (w->state == WASM_FAILED)
    report_ready(w, w->down.code != MF_OK ? w->down.code : MF_E_UNAVAILABLE);
  if (w->state == WASM_CLOSING) {
    arm_next(w);
    close_step(w); /* w may be gone */
    return;
  }
  pool_settle(w, mf_now_ns());
  mf_cgroup_sweeper_tick(&w->sweeper, mf_now_ns());
  arm_next(w);
}

/* ---- birth ---- */

static enum mf_code check_config(const struct mf_wasm_config *c, struct mf_err *err)
{
  if (c->max_running < 1 || c->max_running > 256)
    return mf_fail(err, MF_E_INPUT, 0, "max_running: expected 1 to 256, got %u", c->max_running);
  if (c->calls_max < 1)
    return mf_fail(err, MF_E_INPUT, 0, "calls_max: expected 1 at least, got 0");
  if (c->default_fuel < 1)
    return mf_fail(err, MF_E_INPUT, 0, "default_fuel: expected 1 at least, got 0");
  return MF_OK;
}

static void find_cgroup(struct wasm *w)
{
  const struct mf_cgroup_options o = {
    .slot_n = w->config.max_running,
    .memory_bytes = w->config.worker_memory_bytes,
    .pids = WORKER_PIDS,
    .without_parent = true,
    .probe_join = true,
  };
  w->cgroup = mf_cgroup_new(&o, NULL);
}

static enum mf_code take_code(struct wasm *w, int code_fd, struct mf_err *err)
{
  if (code_fd < 0)
    return MF_OK;
  w->code_fd = fcntl(code_fd, F_DUPFD_CLOEXEC, 0);
  return w->code_fd < 0 ? mf_fail(err, MF_E_SYS, errno, "keep the guest's code") : MF_OK;
}

enum mf_code mf_wasm_new_with(struct mf_loop *loop, const struct mf_wasm_config *config,
                              const struct mf_wasm_runtime_info *runtime, int code_fd, const struct mf_wasm_seam *seam,
                              void (*ready)(void *user, enum mf_code code, const struct mf_err *err), void *user,
                              struct mf_provider **ret, struct mf_err *err)
{
  enum mf_code code = check_config(config, err);
  if (code != MF_OK)
    return code;
  struct wasm *w = mf_xcalloc(1, sizeof(*w));
  w->base.ops = &wasm_ops;
  w->loop = loop;
  w->seam = *seam;
  w->sweeper = (struct mf_cgroup_sweeper){ seam->sweep, seam->user, .pause_ms = MF_CGROUP_SWEEP_PAUSE_MS };
  w->config = *config;
  w->config.program = w->config.runtime_dir = NULL; /* borrowed by this call only */
  w->config.ready_workers = MF_MIN(config->ready_workers, config->max_running);
  w->program = config->program ? mf_xstrdup(config->program) : NULL;
  w->runtime = *runtime;
  w->need_bytes = config->worker_memory_bytes;
  w->code_fd = -1;
  w->ready = ready;
  w->ready_user = user;
  w->armed_ns = UINT64_MAX;
  w->frame = mf_xmalloc(MF_WORKER_FRAME_MAX);
  w->workers = mf_xcalloc(config->max_running, sizeof(*w->workers));
  for (unsigned i = 0; i < config->max_running; i++)
    w->workers[i] = (struct worker){ .wasm = w, .slot = i, .proc = MF_PIDREF_NULL, .sock = -1 };
  code = take_code(w, code_fd, err);
  if (code == MF_OK)
    code = mf_timer_new(loop, service, w, &w->timer, err);
  if (code == MF_OK)
    code = start_probe(w, err);
  if (code != MF_OK) {
    free_wasm(w);
    return code;
  }
  if (config->use_cgroup)
    find_cgroup(w);
  /* not on the way of the first answer */
  mf_cgroup_sweeper_begin(&w->sweeper, wasm_after_ms(MF_CGROUP_SWEEP_PAUSE_MS));
  wasm_kick(w);
  *ret = &w->base;
  return MF_OK;
}

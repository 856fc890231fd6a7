/* mf_executor: permits, and the job that keeps one until the provider's place is free again.
 *
 * A job has two owners: the fiber that waits for the result, and the provider, which still owes events. Whoever leaves
 * last frees it, so a caller may go while its sandbox dies. Thread: the loop's. Neighbours: retained.c holds results to
 * their limits. */
#include "interpreter/executor.h"

#include <assert.h>
#include <stdlib.h>

#include "base/time.h"
#include "base/utf8.h"
#include "executor-internal.h"
#include "retained.h"
#include "base/banned.h"

/* Longer than any provider's own deadlines, which know more: these are for one that has stopped answering. */
enum { START_MS = 120000, GRACE_MS = 30000, CANCEL_MS = 30000, REAP_MS = 2000 };

/* One who waits for a permit that is on its way back. Lives on its fiber's stack. */
struct asker {
  struct mf_fiber *fiber;
  struct asker *next;
  bool has_permit;
};

struct mf_executor {
  struct mf_provider *provider;
  struct mf_executor_times times;
  struct mf_executor_stats stats;
  unsigned dying;       /* sandboxes that have finished and still have their permit */
  unsigned lent;        /* programs of patient callers */
  struct asker *askers; /* first come, first served; never more than dying and lent together */
  unsigned asker_n;
  struct asker *patient; /* the same behind them, and any number of them */
};

struct job {
  struct mf_executor *executor;
  struct mf_fiber *fiber;           /* NULL: nobody waits any more */
  struct mf_run *run;               /* NULL after `finished` */
  struct mf_sandbox_result *result; /* between `finished` and the fiber */
  struct mf_sandbox_limits limits;
  struct mf_executor_options options;
  uint64_t deadline_ns; /* of what is waited for now */
  bool is_started, is_released;
};

static uint64_t after_ms(uint64_t ms)
{
  return mf_now_ns() + ms * MF_NS_PER_MS;
}

/* ---- life ---- */

enum mf_code mf_executor_new(struct mf_loop *loop, struct mf_provider *provider, unsigned permits,
                             struct mf_executor **ret, struct mf_err *err)
{
  if (permits == 0)
    return mf_fail(err, MF_E_INPUT, 0, "an executor needs at least one permit");
  struct mf_executor *e = mf_xcalloc(1, sizeof(*e));
  *e = (struct mf_executor){
    .provider = provider,
    .times = { START_MS, GRACE_MS, CANCEL_MS, REAP_MS },
    .stats = { .permits = permits },
  };
  *ret = e;
  return MF_OK;
}

void mf_executor_free(struct mf_executor *e)
{
  if (!e)
    return;
  assert(e->stats.busy == 0 && e->stats.waiting == 0);
  free(e);
}

void mf_executor_set_times(struct mf_executor *e, const struct mf_executor_times *times)
{
  e->times = *times;
}

struct mf_executor_stats mf_executor_stats(const struct mf_executor *e)
{
  return e->stats;
}

static void count_result(struct mf_executor *e, const struct mf_sandbox_result *r)
{
  e->stats.by_status[r->status]++;
  e->stats.by_reason[r->reason]++;
  e->stats.seconds_us_total += r->duration_us;
}

/* ---- permits ---- */

static void give_back(struct mf_executor *e)
{
  struct asker **from = e->askers ? &e->askers : &e->patient, *a = *from;
  if (!a) {
    e->stats.busy--;
    return;
  }
  e->asker_n -= from == &e->askers;
  *from = a->next;
  e->stats.waiting++;
  a->has_permit = true;
  mf_fiber_wake(a->fiber);
}

static void join_askers(struct asker **list, struct asker *a)
{
  while (*list)
    list = &(*list)->next;
  *list = a;
}

static void leave_askers(struct asker **list, struct asker *a)
{
  while (*list != a)
    list = &(*list)->next;
  *list = a->next;
}

/* It came, and the one who asked does not want it any more. */
static void return_permit(struct mf_executor *e)
{
  e->stats.waiting--;
  give_back(e);
}

static enum mf_code fail_cancelled(struct mf_err *err)
{
  return mf_fail(err, MF_E_CANCELLED, 0, "the run was cancelled before it began");
}

static enum mf_code refuse_permit(struct mf_executor *e, struct mf_err *err)
{
  e->stats.refused++;
  return mf_fail(err, MF_E_CAPACITY, 0, "all %u permits are taken", e->stats.permits);
}

/* As long as it takes. */
static enum mf_code wait_patiently(struct mf_executor *e, struct mf_fiber *self, struct mf_err *err)
{
  struct asker a = { .fiber = self };
  join_askers(&e->patient, &a);
  enum mf_code code = MF_OK;
  while (!a.has_permit && code != MF_E_CANCELLED)
    code = mf_fiber_wait(self, 0);
  if (code != MF_E_CANCELLED)
    return MF_OK;
  if (a.has_permit)
    return_permit(e);
  else
    leave_askers(&e->patient, &a);
  return fail_cancelled(err);
}

/* Who is in a hurry does not wait for a permit that another one in a hurry uses. One whose program has ended is only on
 * its way back: a caller that asks again as soon as it has its answer is not refused because of its own last call. One
 * that a patient caller has is worth a moment, too: they would take every permit that comes back. */
static enum mf_code wait_shortly(struct mf_executor *e, struct mf_fiber *self, struct mf_err *err)
{
  if (e->asker_n >= e->dying + e->lent)
    return refuse_permit(e, err);
  struct asker a = { .fiber = self };
  join_askers(&e->askers, &a);
  e->asker_n++;
  uint64_t deadline_ns = after_ms(e->times.reap_ms);
  enum mf_code code = MF_OK;
  while (!a.has_permit && code != MF_E_CANCELLED && mf_now_ns() < deadline_ns)
    code = mf_fiber_wait(self, deadline_ns);
  if (a.has_permit && code != MF_E_CANCELLED)
    return MF_OK;
  if (a.has_permit) {
    return_permit(e);
  } else {
    leave_askers(&e->askers, &a);
    e->asker_n--;
  }
  return code == MF_E_CANCELLED ? fail_cancelled(err) : refuse_permit(e, err);
}

static enum mf_code take_permit(struct mf_executor *e, struct mf_fiber *self, bool is_patient, struct mf_err *err)
{
  if (e->stats.busy < e->stats.permits) { /* then nobody waits */
    e->stats.busy++;
    e->stats.waiting++;
    return MF_OK;
  }
  return is_patient ? wait_patiently(e, self, err) : wait_shortly(e, self, err);
}

/* ---- events of the provider ---- */

static void on_started(void *user)
{
  struct job *j = user;
  if (!j->fiber)
    return;
  j->is_started = true;
  j->deadline_ns = after_ms(j->limits.wall_ms + j->executor->times.grace_ms);
  if (j->options.started)
    j->options.started(j->options.user);
  mf_fiber_wake(j->fiber);
}

static void on_output(void *user, bool is_stderr, struct mf_str text)
{
  struct job *j = user;
  if (j->fiber && j->options.output)
    j->options.output(j->options.user, is_stderr, text);
}

static void on_finished(void *user, struct mf_sandbox_result *result)
{
  struct job *j = user;
  j->run = NULL;
  j->executor->dying++;
  j->executor->lent -= j->options.is_patient;
  if (!j->fiber) { /* its end was counted when the caller left */
    mf_sandbox_result_free(result);
    return;
  }
  mf_retained_apply(result, &j->limits);
  count_result(j->executor, result);
  j->result = result;
  mf_fiber_wake(j->fiber);
}

static void on_released(void *user)
{
  struct job *j = user;
  assert(!j->run && !j->is_released);
  j->is_released = true;
  j->executor->dying--;
  give_back(j->executor);
  if (!j->fiber)
    free(j);
}

static const struct mf_sandbox_events events = {
  .started = on_started,
  .output = on_output,
  .finished = on_finished,
  .released = on_released,
};

/* ---- a run ---- */

static struct mf_sandbox_result *make_result(const struct mf_sandbox_spec *spec, enum mf_run_status status,
                                             enum mf_run_reason reason, const char *diagnostic)
{
  struct mf_sandbox_result *r = mf_sandbox_result_new();
  r->status = status;
  r->reason = reason;
  memcpy(r->diagnostic, diagnostic, mf_utf8_prefix(mf_str_of(diagnostic), sizeof(r->diagnostic) - 1));
  mf_receipt_fill_from_spec(&r->receipt, spec);
  return r;
}

/* The caller goes; the permit does when the place is free. */
static void leave(struct job *j)
{
  j->fiber = NULL;
  j->executor->stats.waiting--;
  if (j->is_released)
    free(j);
}

static enum mf_code end_cancelled(struct job *j, struct mf_fiber *self, struct mf_sandbox_result **ret,
                                  struct mf_err *err)
{
  if (j->run) {
    mf_sandbox_cancel(j->run);
    uint64_t deadline_ns = after_ms(j->executor->times.cancel_ms);
    mf_fiber_shield(self);
    while (j->run && mf_fiber_wait(self, deadline_ns) == MF_OK)
      ;
    mf_fiber_unshield(self);
  }
  if (j->run) { /* it may never say how it ended */
    j->executor->stats.by_status[MF_RUN_CANCELLED]++;
    j->executor->stats.by_reason[MF_REASON_CANCELLED]++;
  }
  if (j->options.keeps_cancelled)
    *ret = j->result;
  else
    mf_sandbox_result_free(j->result);
  leave(j);
  return mf_fail(err, MF_E_CANCELLED, 0, "the run was cancelled");
}

/* The provider has stopped answering: what it may have of the output is lost, and the caller waits no longer. */
static struct mf_sandbox_result *give_up(struct job *j, const struct mf_sandbox_spec *spec)
{
  struct mf_sandbox_result *r =
      j->is_started ? make_result(spec, MF_RUN_TIMED_OUT, MF_REASON_WALL_TIME, "the sandbox gave no result in time")
                    : make_result(spec, MF_RUN_FAILED, MF_REASON_WORKER_CRASH, "the sandbox did not start in time");
  count_result(j->executor, r);
  mf_sandbox_cancel(j->run);
  leave(j);
  return r;
}

static enum mf_code wait_for_result(struct job *j, struct mf_fiber *self, const struct mf_sandbox_spec *spec,
                                    struct mf_sandbox_result **ret, struct mf_err *err)
{
  while (!j->result) {
    enum mf_code code = mf_fiber_wait(self, j->deadline_ns);
    if (code == MF_E_CANCELLED)
      return end_cancelled(j, self, ret, err);
    if (!j->result && mf_now_ns() >= j->deadline_ns) {
      *ret = give_up(j, spec);
      return MF_OK;
    }
  }
  *ret = j->result;
  leave(j);
  return MF_OK;
}

/* What the provider says instead of starting: the caller asked for nothing wrong, so it is a result like any other. */
static enum mf_code refuse(struct mf_executor *e, const struct mf_sandbox_spec *spec, const struct mf_err *why,
                           struct mf_sandbox_result **ret, struct mf_err *err)
{
  if (why->code == MF_E_CAPACITY)
    e->stats.refused++;
  if (why->code == MF_E_CAPACITY || why->code == MF_E_INPUT)
    return mf_fail(err, why->code, 0, "%s", why->msg);
  enum mf_run_reason reason = why->code == MF_E_UNAVAILABLE ? MF_REASON_UNAVAILABLE : MF_REASON_WORKER_CRASH;
  *ret = make_result(spec, MF_RUN_FAILED, reason, why->msg);
  count_result(e, *ret);
  return MF_OK;
}

enum mf_code mf_executor_run_with(struct mf_executor *e, struct mf_fiber *self, const struct mf_sandbox_spec *spec,
                                  const struct mf_executor_options *options, struct mf_sandbox_result **ret,
                                  struct mf_err *err)
{
  static const struct mf_executor_options none = { .is_patient = false };
  options = options ? options : &none;
  if (options->keeps_cancelled)
    *ret = NULL;
  if (mf_fiber_is_cancelled(self))
    return fail_cancelled(err);
  enum mf_code code = take_permit(e, self, options->is_patient, err);
  if (code)
    return code;
  struct job *j = mf_xcalloc(1, sizeof(*j));
  *j = (struct job){ .executor = e, .fiber = self, .limits = spec->limits, .options = *options };
  struct mf_err why = { 0 };
  if (mf_sandbox_start(e->provider, spec, &events, j, &j->run, &why) != MF_OK) {
    free(j);
    return_permit(e);
    return refuse(e, spec, &why, ret, err);
  }
  e->lent += options->is_patient;
  j->deadline_ns = after_ms(e->times.start_ms);
  return wait_for_result(j, self, spec, ret, err);
}

enum mf_code mf_executor_run(struct mf_executor *e, struct mf_fiber *self, const struct mf_sandbox_spec *spec,
                             struct mf_sandbox_result **ret, struct mf_err *err)
{
  return mf_executor_run_with(e, self, spec, NULL, ret, err);
}

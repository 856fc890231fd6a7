/* The executor over a provider that does only what the test says, step by step. */
#include "unit.h"

#include <stdlib.h>

#include "base/time.h"
#include "executor-internal.h"
#include "base/banned.h"

/* ---- a provider of the test's ---- */

enum { FAKE_RUNS_MAX = 32 };

struct fake_run {
  struct mf_run base;
  const struct mf_sandbox_events *events;
  void *user;
  bool is_cancelled, is_finished;
  /* In the automatic mode: turns of the loop until the next event. */
  unsigned started_in, finished_in, released_in;
};
struct fake {
  struct mf_provider base;
  struct mf_loop *loop;
  struct fake_run *runs[FAKE_RUNS_MAX]; /* that have a place */
  unsigned start_n, busy, cancel_n;
  enum mf_code refusal;
  unsigned auto_seed; /* not 0: runs go on by themselves */
};

static unsigned draw(unsigned *seed, unsigned n)
{
  *seed = *seed * 1103515245u + 12345u;
  return (*seed >> 16) % n;
}

static void started(struct fake_run *r)
{
  r->events->started(r->user);
}

static void finish(struct fake_run *r, enum mf_run_status status, enum mf_run_reason reason, const char *out)
{
  struct mf_sandbox_result *result = mf_sandbox_result_new();
  result->status = status;
  result->reason = reason;
  result->duration_us = 1000;
  mf_buf_init(&result->out, 1u << 20);
  assert_int_equal(mf_buf_append_str(&result->out, mf_str_of(out)), MF_OK);
  r->is_finished = true;
  r->events->finished(r->user, result);
}

static void release(struct fake_run *r)
{
  struct fake *f = (struct fake *)r->base.provider;
  for (unsigned i = 0; i < FAKE_RUNS_MAX; i++)
    if (f->runs[i] == r)
      f->runs[i] = NULL;
  f->busy--;
  const struct mf_sandbox_events *events = r->events;
  void *user = r->user;
  free(r);
  events->released(user);
}

static void on_turn(void *user)
{
  struct fake_run *r = user;
  if (r->started_in && --r->started_in == 0 && !r->is_finished)
    started(r);
  if (r->finished_in && --r->finished_in == 0)
    finish(r, r->is_cancelled ? MF_RUN_CANCELLED : MF_RUN_SUCCEEDED,
           r->is_cancelled ? MF_REASON_CANCELLED : MF_REASON_EXIT, "x");
  if (r->is_finished && --r->released_in == 0)
    release(r);
  else
    assert_int_equal(mf_loop_defer(((struct fake *)r->base.provider)->loop, on_turn, r, NULL), MF_OK);
}

static enum mf_code fake_start(struct mf_provider *p, const struct mf_sandbox_spec *spec,
                               const struct mf_sandbox_events *events, void *user, struct mf_run **ret,
                               struct mf_err *err)
{
  struct fake *f = (struct fake *)p;
  if (f->refusal)
    return mf_fail(err, f->refusal, 0, "the fake says no");
  unsigned at = 0;
  while (f->runs[at])
    at++;
  struct fake_run *r = mf_xcalloc(1, sizeof(*r));
  *r = (struct fake_run){ .base = { p }, .events = events, .user = user };
  f->runs[at] = r;
  f->start_n++;
  f->busy++;
  *ret = &r->base;
  if (f->auto_seed) {
    r->started_in = 1 + draw(&f->auto_seed, 3);
    r->finished_in = r->started_in + draw(&f->auto_seed, 6);
    r->released_in = 1 + draw(&f->auto_seed, 5);
    return mf_loop_defer(f->loop, on_turn, r, err);
  }
  return MF_OK;
}

static void fake_cancel(struct mf_run *run)
{
  struct fake_run *r = (struct fake_run *)run;
  struct fake *f = (struct fake *)run->provider;
  assert_false(r->is_finished); /* the pointer would be dead */
  r->is_cancelled = true;
  f->cancel_n++;
  if (f->auto_seed && r->finished_in > 2)
    r->finished_in = 1 + draw(&f->auto_seed, 2);
}

static unsigned fake_busy(const struct mf_provider *p)
{
  return ((const struct fake *)p)->busy;
}

static const struct mf_provider_ops fake_ops = {
  .name = "fake", .start = fake_start, .cancel = fake_cancel, .busy = fake_busy
};

/* ---- callers ---- */

struct caller {
  struct fixture *fx;
  struct mf_fiber *fiber; /* NULL when it has ended */
  struct mf_sandbox_spec spec;
  enum mf_code code;
  struct mf_err err;
  struct mf_sandbox_result *result;
  bool has_returned;
  const struct mf_executor_options *options; /* NULL: in a hurry */
  char seen[64];                             /* live: "started", ">text", "!text" */
};

struct fixture {
  struct fake fake;
  struct mf_loop *loop;
  struct mf_timer *timer;
  struct mf_executor *executor;
  unsigned turns;
};

static void set_up(struct fixture *fx, unsigned permits)
{
  struct mf_err err = { 0 };
  *fx = (struct fixture){ .fake = { .base = { &fake_ops } } };
  assert_ok(mf_loop_new(&fx->loop, &err), &err);
  fx->fake.loop = fx->loop;
  assert_ok(mf_executor_new(fx->loop, &fx->fake.base, permits, &fx->executor, &err), &err);
}

static void tear_down(struct fixture *fx)
{
  assert_int_equal(fx->fake.busy, 0);
  assert_int_equal(mf_executor_stats(fx->executor).busy, 0);
  mf_executor_free(fx->executor);
  fx->timer = mf_timer_free(fx->timer);
  mf_loop_free(fx->loop);
}

/* Lets everything happen that can happen now. */
static void on_settle(void *user)
{
  struct fixture *fx = user;
  if (fx->turns-- > 1)
    assert_int_equal(mf_loop_defer(fx->loop, on_settle, fx, NULL), MF_OK);
  else
    mf_loop_stop(fx->loop);
}

static void settle(struct fixture *fx)
{
  struct mf_err err = { 0 };
  fx->turns = 8;
  assert_int_equal(mf_loop_defer(fx->loop, on_settle, fx, NULL), MF_OK);
  assert_ok(mf_loop_run(fx->loop, &err), &err);
}

static void call(void *user)
{
  struct caller *c = user;
  c->code = c->options ? mf_executor_run_with(c->fx->executor, c->fiber, &c->spec, c->options, &c->result, &c->err)
                       : mf_executor_run(c->fx->executor, c->fiber, &c->spec, &c->result, &c->err);
  c->has_returned = true;
  c->fiber = NULL;
}

static void start(struct fixture *fx, struct caller *c)
{
  struct mf_err err = { 0 };
  *c = (struct caller){ .fx = fx, .spec = { .source = MF_STR("print(1)") } };
  mf_sandbox_limits_default(&c->spec.limits);
  assert_ok(mf_fiber_start(fx->loop, call, c, 0, &c->fiber, &err), &err);
  mf_fiber_detach(c->fiber);
}

static void done(struct caller *c)
{
  assert_true(c->has_returned);
  mf_sandbox_result_free(c->result);
  c->result = NULL;
}

/* ---- tests ---- */

static void a_run_from_start_to_release(void **state)
{
  struct fixture fx;
  set_up(&fx, 2);
  struct caller c;
  start(&fx, &c);
  settle(&fx);
  assert_int_equal(fx.fake.start_n, 1);
  assert_false(c.has_returned);
  started(fx.fake.runs[0]);
  settle(&fx);
  assert_false(c.has_returned);
  struct mf_executor_stats s = mf_executor_stats(fx.executor);
  assert_int_equal(s.permits, 2);
  assert_int_equal(s.busy, 1);
  assert_int_equal(s.waiting, 1);

  finish(fx.fake.runs[0], MF_RUN_SUCCEEDED, MF_REASON_EXIT, "1\n");
  settle(&fx);
  assert_true(c.has_returned);
  assert_ok(c.code, &c.err);
  assert_int_equal(c.result->status, MF_RUN_SUCCEEDED);
  assert_string_equal(c.result->out.ptr, "1\n");
  /* The answer is out; the permit is not back before the sandbox is gone. */
  s = mf_executor_stats(fx.executor);
  assert_int_equal(s.busy, 1);
  assert_int_equal(s.waiting, 0);
  assert_int_equal(s.by_status[MF_RUN_SUCCEEDED], 1);
  assert_int_equal(s.by_reason[MF_REASON_EXIT], 1);
  assert_int_equal(s.seconds_us_total, 1000);
  release(fx.fake.runs[0]);
  assert_int_equal(mf_executor_stats(fx.executor).busy, 0);
  done(&c);
  tear_down(&fx);
}

/* Finished and released in the same turn, before the caller runs again. */
static void released_before_the_caller_looks(void **state)
{
  struct fixture fx;
  set_up(&fx, 1);
  struct caller c;
  start(&fx, &c);
  settle(&fx);
  finish(fx.fake.runs[0], MF_RUN_FAILED, MF_REASON_EXCEPTION, "");
  release(fx.fake.runs[0]);
  assert_int_equal(mf_executor_stats(fx.executor).busy, 0);
  assert_int_equal(mf_executor_stats(fx.executor).waiting, 1);
  settle(&fx);
  assert_ok(c.code, &c.err);
  assert_int_equal(c.result->reason, MF_REASON_EXCEPTION);
  done(&c);
  tear_down(&fx);
}

static void saturation_is_refused_at_once(void **state)
{
  struct fixture fx;
  set_up(&fx, 3);
  struct caller c[3], late;
  for (unsigned i = 0; i < 3; i++)
    start(&fx, &c[i]);
  settle(&fx);
  start(&fx, &late);
  settle(&fx);
  assert_true(late.has_returned);
  assert_int_equal(late.code, MF_E_CAPACITY);
  assert_null(late.result);
  assert_int_equal(fx.fake.start_n, 3); /* the provider was not asked */
  assert_int_equal(mf_executor_stats(fx.executor).refused, 1);

  /* Finished is not enough, but its permit is on its way: one caller waits for it, and only one. */
  finish(fx.fake.runs[1], MF_RUN_SUCCEEDED, MF_REASON_EXIT, "");
  settle(&fx);
  assert_true(c[1].has_returned);
  start(&fx, &late);
  settle(&fx);
  assert_false(late.has_returned);
  assert_int_equal(fx.fake.start_n, 3);
  struct caller later;
  start(&fx, &later);
  settle(&fx);
  assert_int_equal(later.code, MF_E_CAPACITY);

  release(fx.fake.runs[1]);
  start(&fx, &later); /* comes before the one that waits runs again, and does not take its permit */
  settle(&fx);
  assert_int_equal(later.code, MF_E_CAPACITY);
  assert_false(late.has_returned);
  assert_int_equal(fx.fake.start_n, 4);
  assert_int_equal(mf_executor_stats(fx.executor).refused, 3);
  for (unsigned i = 0; i < 3; i++) {
    finish(fx.fake.runs[i], MF_RUN_SUCCEEDED, MF_REASON_EXIT, "");
    release(fx.fake.runs[i]);
  }
  settle(&fx);
  for (unsigned i = 0; i < 3; i++)
    done(&c[i]);
  done(&late);
  tear_down(&fx);
}

/* Who waits for a permit may be cancelled, before it comes and after, and gives up when the sandbox never dies. */
static void waiting_for_a_permit_ends(void **state)
{
  struct fixture fx;
  set_up(&fx, 1);
  struct caller c, first, second;
  start(&fx, &c);
  settle(&fx);
  finish(fx.fake.runs[0], MF_RUN_SUCCEEDED, MF_REASON_EXIT, "");
  settle(&fx);
  start(&fx, &first);
  settle(&fx);
  mf_fiber_cancel(first.fiber);
  settle(&fx);
  assert_int_equal(first.code, MF_E_CANCELLED);

  start(&fx, &second);
  settle(&fx);
  release(fx.fake.runs[0]);
  mf_fiber_cancel(second.fiber); /* it has the permit, and has not heard of it */
  settle(&fx);
  assert_int_equal(second.code, MF_E_CANCELLED);
  assert_int_equal(fx.fake.start_n, 1);
  assert_int_equal(mf_executor_stats(fx.executor).busy, 0);
  assert_int_equal(mf_executor_stats(fx.executor).refused, 0);
  done(&c);

  mf_executor_set_times(fx.executor, &(struct mf_executor_times){ 3600000, 3600000, 3600000, 1 });
  start(&fx, &c);
  settle(&fx);
  finish(fx.fake.runs[0], MF_RUN_SUCCEEDED, MF_REASON_EXIT, "");
  start(&fx, &first);
  while (!first.has_returned)
    settle(&fx);
  assert_int_equal(first.code, MF_E_CAPACITY);
  release(fx.fake.runs[0]);
  settle(&fx);
  done(&c);
  tear_down(&fx);
}

static void a_provider_that_does_not_start(void **state)
{
  static const struct {
    enum mf_code refusal, code;
    enum mf_run_reason reason;
  } rows[] = {
    { MF_E_CAPACITY, MF_E_CAPACITY, 0 },
    { MF_E_INPUT, MF_E_INPUT, 0 },
    { MF_E_UNAVAILABLE, MF_OK, MF_REASON_UNAVAILABLE },
    { MF_E_SYS, MF_OK, MF_REASON_WORKER_CRASH },
    { MF_E_INTERNAL, MF_OK, MF_REASON_WORKER_CRASH },
  };
  struct fixture fx;
  set_up(&fx, 1);
  for (unsigned i = 0; i < MF_ARRAY_N(rows); i++) {
    struct caller c;
    fx.fake.refusal = rows[i].refusal;
    start(&fx, &c);
    settle(&fx);
    assert_true(c.has_returned);
    assert_int_equal(c.code, rows[i].code);
    if (rows[i].code == MF_OK) {
      assert_int_equal(c.result->status, MF_RUN_FAILED);
      assert_int_equal(c.result->reason, rows[i].reason);
      assert_string_equal(c.result->diagnostic, "the fake says no");
      assert_int_equal(c.result->out.len, 0);
      assert_int_equal(strlen(c.result->receipt.code_sha256), 64);
    } else {
      assert_string_equal(c.err.msg, "the fake says no");
    }
    done(&c);
    assert_int_equal(mf_executor_stats(fx.executor).busy, 0);
  }
  struct mf_executor_stats s = mf_executor_stats(fx.executor);
  assert_int_equal(s.refused, 1);
  assert_int_equal(s.by_reason[MF_REASON_UNAVAILABLE], 1);
  assert_int_equal(s.by_reason[MF_REASON_WORKER_CRASH], 2);

  /* A spec that no provider would see. */
  struct caller c;
  fx.fake.refusal = MF_OK;
  start(&fx, &c);
  c.spec.source = MF_STR("\xff");
  settle(&fx);
  assert_int_equal(c.code, MF_E_INPUT);
  assert_int_equal(fx.fake.start_n, 0);
  done(&c);
  tear_down(&fx);
}

static void a_crash_is_a_result(void **state)
{
  struct fixture fx;
  set_up(&fx, 1);
  struct caller c;
  start(&fx, &c);
  settle(&fx);
  started(fx.fake.runs[0]);
  finish(fx.fake.runs[0], MF_RUN_FAILED, MF_REASON_WORKER_CRASH, "so far");
  settle(&fx);
  assert_ok(c.code, &c.err);
  assert_int_equal(c.result->reason, MF_REASON_WORKER_CRASH);
  assert_int_equal(mf_executor_stats(fx.executor).by_reason[MF_REASON_WORKER_CRASH], 1);
  release(fx.fake.runs[0]);
  done(&c);
  tear_down(&fx);
}

/* ---- cancel, at each moment of a run ---- */

static void assert_cancelled(struct caller *c)
{
  assert_true(c->has_returned);
  assert_int_equal(c->code, MF_E_CANCELLED);
  assert_null(c->result);
}

static void cancelled_before_it_began(void **state)
{
  struct fixture fx;
  set_up(&fx, 1);
  struct caller c;
  start(&fx, &c);
  mf_fiber_cancel(c.fiber);
  settle(&fx);
  assert_cancelled(&c);
  assert_int_equal(fx.fake.start_n, 0);
  tear_down(&fx);
}

static void cancelled_while_it_starts(void **state)
{
  struct fixture fx;
  set_up(&fx, 1);
  struct caller c;
  start(&fx, &c);
  settle(&fx);
  mf_fiber_cancel(c.fiber);
  settle(&fx);
  assert_int_equal(fx.fake.cancel_n, 1);
  assert_false(c.has_returned); /* the sandbox is not gone */
  started(fx.fake.runs[0]);     /* it was on its way */
  settle(&fx);
  assert_false(c.has_returned);
  finish(fx.fake.runs[0], MF_RUN_CANCELLED, MF_REASON_CANCELLED, "");
  settle(&fx);
  assert_cancelled(&c);
  assert_int_equal(mf_executor_stats(fx.executor).busy, 1);
  assert_int_equal(mf_executor_stats(fx.executor).by_status[MF_RUN_CANCELLED], 1);
  release(fx.fake.runs[0]);
  tear_down(&fx);
}

static void cancelled_while_it_runs(void **state)
{
  struct fixture fx;
  set_up(&fx, 1);
  struct caller c;
  start(&fx, &c);
  settle(&fx);
  started(fx.fake.runs[0]);
  settle(&fx);
  mf_fiber_cancel(c.fiber);
  mf_fiber_cancel(c.fiber);
  settle(&fx);
  assert_int_equal(fx.fake.cancel_n, 1);
  /* It ended by itself meanwhile: cancelled all the same, counted as what it was. */
  finish(fx.fake.runs[0], MF_RUN_SUCCEEDED, MF_REASON_EXIT, "late");
  release(fx.fake.runs[0]);
  settle(&fx);
  assert_cancelled(&c);
  assert_int_equal(mf_executor_stats(fx.executor).by_status[MF_RUN_SUCCEEDED], 1);
  tear_down(&fx);
}

static void cancelled_in_the_turn_it_finished(void **state)
{
  struct fixture fx;
  set_up(&fx, 1);
  struct caller c;
  start(&fx, &c);
  settle(&fx);
  finish(fx.fake.runs[0], MF_RUN_SUCCEEDED, MF_REASON_EXIT, "");
  mf_fiber_cancel(c.fiber);
  settle(&fx);
  assert_cancelled(&c);
  assert_int_equal(fx.fake.cancel_n, 0);
  release(fx.fake.runs[0]);
  tear_down(&fx);
}

static void cancelled_while_its_sandbox_dies(void **state)
{
  struct fixture fx;
  set_up(&fx, 1);
  struct caller c, next;
  start(&fx, &c);
  settle(&fx);
  finish(fx.fake.runs[0], MF_RUN_SUCCEEDED, MF_REASON_EXIT, "");
  settle(&fx);
  assert_ok(c.code, &c.err); /* it has its result; what it does now is not ours */
  done(&c);
  start(&fx, &next);
  settle(&fx);
  assert_false(next.has_returned); /* its permit comes when the sandbox is gone */
  assert_int_equal(fx.fake.start_n, 1);
  release(fx.fake.runs[0]);
  settle(&fx);
  assert_int_equal(fx.fake.start_n, 2);
  finish(fx.fake.runs[0], MF_RUN_SUCCEEDED, MF_REASON_EXIT, "");
  release(fx.fake.runs[0]);
  settle(&fx);
  done(&next);
  tear_down(&fx);
}

/* ---- a provider that stops answering ---- */

static void on_stop(void *user)
{
  struct fixture *fx = user;
  mf_loop_stop(fx->loop);
}

static void wait_for_return(struct fixture *fx, struct caller *c)
{
  struct mf_err err = { 0 };
  if (!fx->timer)
    assert_ok(mf_timer_new(fx->loop, on_stop, fx, &fx->timer, &err), &err);
  for (unsigned i = 0; !c->has_returned; i++) {
    assert_true(i < 30000);
    mf_timer_arm(fx->timer, mf_now_ns() + MF_NS_PER_MS);
    assert_ok(mf_loop_run(fx->loop, &err), &err);
  }
}

static void silence_before_the_start(void **state)
{
  struct fixture fx;
  set_up(&fx, 1);
  mf_executor_set_times(fx.executor, &(struct mf_executor_times){ 1, 3600000, 1 });
  struct caller c;
  start(&fx, &c);
  wait_for_return(&fx, &c);
  assert_ok(c.code, &c.err);
  assert_int_equal(c.result->status, MF_RUN_FAILED);
  assert_int_equal(c.result->reason, MF_REASON_WORKER_CRASH);
  assert_string_equal(c.result->diagnostic, "the sandbox did not start in time");
  assert_int_equal(fx.fake.cancel_n, 1);
  assert_int_equal(mf_executor_stats(fx.executor).busy, 1); /* kept, since it may run yet */
  /* What comes late is nobody's. */
  started(fx.fake.runs[0]);
  finish(fx.fake.runs[0], MF_RUN_SUCCEEDED, MF_REASON_EXIT, "late");
  assert_int_equal(mf_executor_stats(fx.executor).busy, 1);
  release(fx.fake.runs[0]);
  assert_int_equal(mf_executor_stats(fx.executor).by_status[MF_RUN_SUCCEEDED], 0);
  assert_int_equal(mf_executor_stats(fx.executor).by_reason[MF_REASON_WORKER_CRASH], 1);
  done(&c);
  tear_down(&fx);
}

static void silence_after_the_wall_time(void **state)
{
  struct fixture fx;
  set_up(&fx, 1);
  mf_executor_set_times(fx.executor, &(struct mf_executor_times){ 3600000, 1, 1 });
  struct caller c;
  start(&fx, &c);
  c.spec.limits.wall_ms = 1;
  settle(&fx);
  started(fx.fake.runs[0]);
  wait_for_return(&fx, &c);
  assert_ok(c.code, &c.err);
  assert_int_equal(c.result->status, MF_RUN_TIMED_OUT);
  assert_int_equal(c.result->reason, MF_REASON_WALL_TIME);
  assert_int_equal(c.result->out.len, 0);
  assert_int_equal(fx.fake.cancel_n, 1);
  assert_int_equal(mf_executor_stats(fx.executor).busy, 1);
  finish(fx.fake.runs[0], MF_RUN_CANCELLED, MF_REASON_CANCELLED, "");
  release(fx.fake.runs[0]);
  done(&c);
  tear_down(&fx);
}

static void silence_after_a_cancel(void **state)
{
  struct fixture fx;
  set_up(&fx, 1);
  mf_executor_set_times(fx.executor, &(struct mf_executor_times){ 3600000, 3600000, 1 });
  struct caller c;
  start(&fx, &c);
  settle(&fx);
  mf_fiber_cancel(c.fiber);
  wait_for_return(&fx, &c);
  assert_cancelled(&c);
  assert_int_equal(mf_executor_stats(fx.executor).by_status[MF_RUN_CANCELLED], 1);
  assert_int_equal(mf_executor_stats(fx.executor).busy, 1);
  finish(fx.fake.runs[0], MF_RUN_CANCELLED, MF_REASON_CANCELLED, "");
  release(fx.fake.runs[0]);
  assert_int_equal(mf_executor_stats(fx.executor).by_status[MF_RUN_CANCELLED], 1);
  tear_down(&fx);
}

/* ---- limits ---- */

static void a_provider_that_returns_too_much(void **state)
{
  struct fixture fx;
  set_up(&fx, 1);
  struct caller c;
  start(&fx, &c);
  c.spec.limits.stdout_bytes = 4;
  c.spec.limits.output_policy = MF_OUTPUT_STOP;
  settle(&fx);
  finish(fx.fake.runs[0], MF_RUN_SUCCEEDED, MF_REASON_EXIT, "123456");
  release(fx.fake.runs[0]);
  settle(&fx);
  assert_string_equal(c.result->out.ptr, "1234");
  assert_true(c.result->out_truncated);
  assert_int_equal(c.result->status, MF_RUN_LIMIT);
  assert_int_equal(mf_executor_stats(fx.executor).by_reason[MF_REASON_OUTPUT], 1);
  done(&c);
  tear_down(&fx);
}

/* ---- patience ---- */

static const struct mf_executor_options patient = { .is_patient = true };

static void start_patient(struct fixture *fx, struct caller *c)
{
  start(fx, c);
  c->options = &patient;
}

/* Behind everybody who is in a hurry, and among themselves in their order. */
static void patient_callers_wait(void **state)
{
  struct fixture fx;
  set_up(&fx, 1);
  struct caller c, first, second, hurry;
  start(&fx, &c);
  settle(&fx);
  start_patient(&fx, &first);
  start_patient(&fx, &second);
  settle(&fx);
  assert_false(first.has_returned);
  assert_int_equal(mf_executor_stats(fx.executor).refused, 0);
  start(&fx, &hurry); /* refused at once, as ever: a program uses the permit */
  settle(&fx);
  assert_int_equal(hurry.code, MF_E_CAPACITY);

  finish(fx.fake.runs[0], MF_RUN_SUCCEEDED, MF_REASON_EXIT, "c");
  settle(&fx);
  done(&c);
  start(&fx, &hurry); /* now the permit is on its way, and it comes first */
  settle(&fx);
  release(fx.fake.runs[0]);
  settle(&fx);
  assert_int_equal(fx.fake.start_n, 2);
  finish(fx.fake.runs[0], MF_RUN_SUCCEEDED, MF_REASON_EXIT, "hurry");
  release(fx.fake.runs[0]);
  settle(&fx);
  assert_string_equal(hurry.result->out.ptr, "hurry");
  done(&hurry);

  assert_int_equal(fx.fake.start_n, 3);
  finish(fx.fake.runs[0], MF_RUN_SUCCEEDED, MF_REASON_EXIT, "first");
  release(fx.fake.runs[0]);
  settle(&fx);
  assert_string_equal(first.result->out.ptr, "first");
  done(&first);
  finish(fx.fake.runs[0], MF_RUN_SUCCEEDED, MF_REASON_EXIT, "second");
  release(fx.fake.runs[0]);
  settle(&fx);
  done(&second);
  tear_down(&fx);
}

/* Many patient callers do not shut out one in a hurry. */
static void a_permit_of_a_patient_caller_is_waited_for(void **state)
{
  struct fixture fx;
  set_up(&fx, 1);
  struct caller c, next, hurry, late;
  start_patient(&fx, &c);
  settle(&fx);
  start_patient(&fx, &next);
  settle(&fx);
  start(&fx, &hurry);
  settle(&fx);
  assert_false(hurry.has_returned);
  start(&fx, &late); /* there is one such permit, and it is promised */
  settle(&fx);
  assert_int_equal(late.code, MF_E_CAPACITY);
  finish(fx.fake.runs[0], MF_RUN_SUCCEEDED, MF_REASON_EXIT, "c");
  release(fx.fake.runs[0]);
  settle(&fx);
  finish(fx.fake.runs[0], MF_RUN_SUCCEEDED, MF_REASON_EXIT, "hurry");
  release(fx.fake.runs[0]);
  settle(&fx);
  assert_string_equal(hurry.result->out.ptr, "hurry");
  finish(fx.fake.runs[0], MF_RUN_SUCCEEDED, MF_REASON_EXIT, "next");
  release(fx.fake.runs[0]);
  settle(&fx);
  assert_string_equal(next.result->out.ptr, "next");
  done(&c);
  done(&next);
  done(&hurry);

  /* Not for ever. */
  mf_executor_set_times(fx.executor, &(struct mf_executor_times){ 3600000, 3600000, 3600000, 1 });
  start_patient(&fx, &c);
  settle(&fx);
  start(&fx, &hurry);
  wait_for_return(&fx, &hurry);
  assert_int_equal(hurry.code, MF_E_CAPACITY);
  finish(fx.fake.runs[0], MF_RUN_SUCCEEDED, MF_REASON_EXIT, "");
  release(fx.fake.runs[0]);
  settle(&fx);
  done(&c);
  tear_down(&fx);
}

static void patience_ends_with_a_cancel(void **state)
{
  struct fixture fx;
  set_up(&fx, 1);
  struct caller c, first, second;
  start(&fx, &c);
  settle(&fx);
  start_patient(&fx, &first);
  start_patient(&fx, &second);
  settle(&fx);
  mf_fiber_cancel(first.fiber);
  settle(&fx);
  assert_int_equal(first.code, MF_E_CANCELLED);
  finish(fx.fake.runs[0], MF_RUN_SUCCEEDED, MF_REASON_EXIT, "");
  release(fx.fake.runs[0]);
  mf_fiber_cancel(second.fiber); /* it has the permit, and has not heard of it */
  settle(&fx);
  assert_int_equal(second.code, MF_E_CANCELLED);
  assert_int_equal(fx.fake.start_n, 1);
  assert_int_equal(mf_executor_stats(fx.executor).busy, 0);
  done(&c);
  tear_down(&fx);
}

/* ---- live events ---- */

static void see(struct caller *c, const char *what)
{
  size_t n = strlen(c->seen);
  snprintf(c->seen + n, sizeof(c->seen) - n, "%s", what);
}

static void see_started(void *user)
{
  see(user, "started");
}

static void see_output(void *user, bool is_stderr, struct mf_str text)
{
  char piece[16];
  snprintf(piece, sizeof(piece), "%c%.*s", is_stderr ? '!' : '>', MF_STR_ARG(text));
  see(user, piece);
}

static void live_events(void **state)
{
  struct fixture fx;
  set_up(&fx, 1);
  struct caller c;
  struct mf_executor_options options = { .started = see_started, .output = see_output, .user = &c };
  start(&fx, &c);
  c.options = &options;
  settle(&fx);
  struct fake_run *r = fx.fake.runs[0];
  started(r);
  r->events->output(r->user, false, MF_STR("a"));
  r->events->output(r->user, true, MF_STR("b"));
  assert_string_equal(c.seen, "started>a!b");
  mf_fiber_cancel(c.fiber);
  settle(&fx);
  r->events->output(r->user, false, MF_STR("c")); /* while it dies */
  assert_string_equal(c.seen, "started>a!b>c");
  finish(r, MF_RUN_CANCELLED, MF_REASON_CANCELLED, "");
  settle(&fx);
  assert_cancelled(&c);
  release(r);
  tear_down(&fx);
}

static void nothing_is_told_after_the_return(void **state)
{
  struct fixture fx;
  set_up(&fx, 1);
  mf_executor_set_times(fx.executor, &(struct mf_executor_times){ 3600000, 3600000, 1 });
  struct caller c;
  struct mf_executor_options options = { .started = see_started, .output = see_output, .user = &c };
  start(&fx, &c);
  c.options = &options;
  settle(&fx);
  mf_fiber_cancel(c.fiber);
  wait_for_return(&fx, &c);
  struct fake_run *r = fx.fake.runs[0];
  started(r);
  r->events->output(r->user, false, MF_STR("late"));
  assert_string_equal(c.seen, "");
  finish(r, MF_RUN_CANCELLED, MF_REASON_CANCELLED, "");
  release(r);
  done(&c);
  tear_down(&fx);
}

/* For who wants to know what came out of it nevertheless. */
static void the_result_of_a_cancelled_run(void **state)
{
  static const struct mf_executor_options options = { .keeps_cancelled = true };
  struct fixture fx;
  set_up(&fx, 1);
  struct caller c;
  start(&fx, &c);
  c.options = &options;
  settle(&fx);
  mf_fiber_cancel(c.fiber);
  settle(&fx);
  finish(fx.fake.runs[0], MF_RUN_CANCELLED, MF_REASON_CANCELLED, "so far");
  release(fx.fake.runs[0]);
  settle(&fx);
  assert_int_equal(c.code, MF_E_CANCELLED);
  assert_string_equal(c.result->out.ptr, "so far");
  done(&c);

  start(&fx, &c);
  c.options = &options;
  mf_fiber_cancel(c.fiber); /* before it began there is none */
  settle(&fx);
  assert_int_equal(c.code, MF_E_CANCELLED);
  assert_null(c.result);
  done(&c);
  tear_down(&fx);
}

/* ---- many drops ---- */

enum { DROPS = 1000, AT_ONCE = 8 };

static void a_thousand_drops(void **state)
{
  struct fixture fx;
  set_up(&fx, AT_ONCE);
  fx.fake.auto_seed = 4711;
  unsigned seed = 42, code_n[MF_CODE_N] = { 0 }, dropped = 0;
  static struct caller c[AT_ONCE];
  while (dropped < DROPS) {
    for (unsigned i = 0; i < AT_ONCE; i++) {
      if (c[i].has_returned || !c[i].fx) {
        if (c[i].fx) {
          code_n[c[i].code]++;
          done(&c[i]);
        }
        start(&fx, &c[i]);
      } else if (draw(&seed, 4) == 0) {
        dropped += !mf_fiber_is_cancelled(c[i].fiber);
        mf_fiber_cancel(c[i].fiber);
      }
    }
    fx.turns = 1 + draw(&seed, 3);
    struct mf_err err = { 0 };
    assert_int_equal(mf_loop_defer(fx.loop, on_settle, &fx, NULL), MF_OK);
    assert_ok(mf_loop_run(fx.loop, &err), &err);
    assert_true(mf_executor_stats(fx.executor).busy <= AT_ONCE);
    /* Not given back early; one that was handed on may not be used yet. That none is lost is seen at the end. */
    assert_true(mf_executor_stats(fx.executor).busy >= fx.fake.busy);
  }
  for (unsigned i = 0; i < 8; i++)
    settle(&fx);
  for (unsigned i = 0; i < AT_ONCE; i++) {
    code_n[c[i].code]++;
    done(&c[i]);
    c[i].fx = NULL;
  }
  assert_int_equal(code_n[MF_E_CANCELLED], dropped);
  assert_true(code_n[MF_OK] > 0);
  struct mf_executor_stats s = mf_executor_stats(fx.executor);
  assert_int_equal(s.busy, 0);
  assert_int_equal(s.waiting, 0);
  uint64_t ended = 0;
  for (unsigned i = 0; i < MF_RUN_STATUS_N; i++)
    ended += s.by_status[i];
  assert_int_equal(ended, fx.fake.start_n);

  /* And it still works. */
  struct caller last;
  start(&fx, &last);
  settle(&fx);
  settle(&fx);
  assert_ok(last.code, &last.err);
  done(&last);
  settle(&fx);
  tear_down(&fx);
}

static void no_permit_at_all(void **state)
{
  struct mf_executor *e = NULL;
  struct mf_err err = { 0 };
  assert_int_equal(mf_executor_new(NULL, NULL, 0, &e, &err), MF_E_INPUT);
  assert_null(e);
  mf_executor_free(NULL);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_run_from_start_to_release),
    cmocka_unit_test(released_before_the_caller_looks),
    cmocka_unit_test(saturation_is_refused_at_once),
    cmocka_unit_test(waiting_for_a_permit_ends),
    cmocka_unit_test(a_provider_that_does_not_start),
    cmocka_unit_test(a_crash_is_a_result),
    cmocka_unit_test(cancelled_before_it_began),
    cmocka_unit_test(cancelled_while_it_starts),
    cmocka_unit_test(cancelled_while_it_runs),
    cmocka_unit_test(cancelled_in_the_turn_it_finished),
    cmocka_unit_test(cancelled_while_its_sandbox_dies),
    cmocka_unit_test(silence_before_the_start),
    cmocka_unit_test(silence_after_the_wall_time),
    cmocka_unit_test(silence_after_a_cancel),
    cmocka_unit_test(a_provider_that_returns_too_much),
    cmocka_unit_test(patient_callers_wait),
    cmocka_unit_test(a_permit_of_a_patient_caller_is_waited_for),
    cmocka_unit_test(patience_ends_with_a_cancel),
    cmocka_unit_test(live_events),
    cmocka_unit_test(nothing_is_told_after_the_return),
    cmocka_unit_test(the_result_of_a_cancelled_run),
    cmocka_unit_test(a_thousand_drops),
    cmocka_unit_test(no_permit_at_all),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

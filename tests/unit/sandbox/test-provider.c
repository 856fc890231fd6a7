/* The calls that go down to a provider, against one that only pretends. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "sandbox/sandbox.h"

struct fake {
  struct mf_provider base;
  struct mf_loop *loop;
  unsigned started, cancelled, busy;
  bool is_full, hangs, closed;
};

struct fake_run {
  struct mf_run base;
  const struct mf_sandbox_events *events;
  void *user;
  enum mf_run_status status;
};

static void finish_run(void *user)
{
  struct fake_run *run = user;
  struct fake *fake = (struct fake *)run->base.provider;
  struct mf_sandbox_result *r = mf_sandbox_result_new();
  r->status = run->status;
  r->reason = run->status == MF_RUN_CANCELLED ? MF_REASON_CANCELLED : MF_REASON_EXIT;
  fake->busy--;
  run->events->finished(run->user, r);
  free(run);
}

static enum mf_code fake_start(struct mf_provider *p, const struct mf_sandbox_spec *spec,
                               const struct mf_sandbox_events *events, void *user, struct mf_run **ret,
                               struct mf_err *err)
{
  struct fake *fake = (struct fake *)p;
  if (fake->is_full)
    return mf_fail(err, MF_E_CAPACITY, 0, "no free place");
  fake->started++;
  fake->busy++;
  struct fake_run *run = mf_xcalloc(1, sizeof(*run));
  *run = (struct fake_run){ .base = { p }, .events = events, .user = user, .status = MF_RUN_SUCCEEDED };
  *ret = &run->base;
  if (!fake->hangs)
    return mf_loop_defer(fake->loop, finish_run, run, err);
  return MF_OK;
}

static void fake_cancel(struct mf_run *base)
{
  struct fake_run *run = (struct fake_run *)base;
  struct fake *fake = (struct fake *)base->provider;
  if (fake->cancelled++ > 0)
    return;
  run->status = MF_RUN_CANCELLED;
  assert_int_equal(mf_loop_defer(fake->loop, finish_run, run, NULL), MF_OK);
}

static void fake_close(struct mf_provider *p, void (*closed)(void *user), void *user)
{
  ((struct fake *)p)->closed = true;
  closed(user);
}

static uint32_t fake_caps(const struct mf_provider *p)
{
  return MF_CAP_FILES | MF_CAP_FUEL;
}

static unsigned fake_busy(const struct mf_provider *p)
{
  return ((const struct fake *)p)->busy;
}

static const struct mf_provider_ops fake_ops = {
  .name = "fake",
  .caps = MF_CAP_FILES | MF_CAP_THREADS,
  .start = fake_start,
  .cancel = fake_cancel,
  .close = fake_close,
  .instance_caps = fake_caps,
  .busy = fake_busy,
};

static struct fake make_fake(void)
{
  struct fake fake = { .base = { &fake_ops } };
  assert_int_equal(mf_loop_new(&fake.loop, NULL), MF_OK);
  return fake;
}

static struct mf_sandbox_spec make_spec(void)
{
  struct mf_sandbox_spec spec = { .source = MF_STR("print(1)") };
  mf_sandbox_limits_default(&spec.limits);
  return spec;
}

static void ignore_result(void *user, struct mf_sandbox_result *result)
{
  (void)user;
  mf_sandbox_result_free(result);
}

static void test_a_bad_spec_never_arrives(void **state)
{
  struct fake fake = make_fake();
  static const struct mf_sandbox_events events = { .finished = ignore_result };
  struct mf_sandbox_spec spec = make_spec();
  spec.source = MF_STR("\xff");
  struct mf_run *run = NULL;
  struct mf_err err;
  assert_int_equal(mf_sandbox_start(&fake.base, &spec, &events, NULL, &run, &err), MF_E_INPUT);
  assert_string_equal(err.msg, "source: is not valid UTF-8");
  assert_null(run);
  assert_int_equal(fake.started, 0);
  mf_loop_free(fake.loop);
}

static void test_run_sync(void **state)
{
  struct fake fake = make_fake();
  struct mf_sandbox_spec spec = make_spec();
  for (int i = 0; i < 3; i++) {
    struct mf_sandbox_result *r = NULL;
    assert_int_equal(mf_sandbox_run_sync(fake.loop, &fake.base, &spec, &r, NULL), MF_OK);
    assert_int_equal(r->status, MF_RUN_SUCCEEDED);
    assert_int_equal(fake.cancelled, 0);
    mf_sandbox_result_free(r);
  }
  assert_int_equal(mf_provider_busy(&fake.base), 0);
  mf_loop_free(fake.loop);
}

static void test_run_sync_without_a_place(void **state)
{
  struct fake fake = make_fake();
  fake.is_full = true;
  struct mf_sandbox_spec spec = make_spec();
  struct mf_sandbox_result *r = NULL;
  struct mf_err err;
  assert_int_equal(mf_sandbox_run_sync(fake.loop, &fake.base, &spec, &r, &err), MF_E_CAPACITY);
  assert_string_equal(err.msg, "no free place");
  assert_null(r);
  mf_loop_free(fake.loop);
}

static void stop_loop(void *user)
{
  mf_loop_stop(user);
}

/* A signal handler stops the loop while a run is under way: the run is cancelled and its result still arrives. */
static void test_run_sync_is_interrupted(void **state)
{
  struct fake fake = make_fake();
  fake.hangs = true;
  struct mf_sandbox_spec spec = make_spec();
  struct mf_sandbox_result *r = NULL;
  assert_int_equal(mf_loop_defer(fake.loop, stop_loop, fake.loop, NULL), MF_OK);
  assert_int_equal(mf_sandbox_run_sync(fake.loop, &fake.base, &spec, &r, NULL), MF_OK);
  assert_int_equal(r->status, MF_RUN_CANCELLED);
  assert_int_equal(fake.cancelled, 1);
  mf_sandbox_result_free(r);
  mf_loop_free(fake.loop);
}

static void note_closed(void *user)
{
  (*(int *)user)++;
}

static void test_wrappers(void **state)
{
  struct fake fake = make_fake();
  /* An instance never has what its kind has not. */
  assert_int_equal(mf_provider_caps(&fake.base), MF_CAP_FILES);
  struct mf_provider_ops plain = fake_ops;
  plain.instance_caps = NULL;
  fake.base.ops = &plain;
  assert_int_equal(mf_provider_caps(&fake.base), MF_CAP_FILES | MF_CAP_THREADS);
  fake.busy = 3;
  assert_int_equal(mf_provider_busy(&fake.base), 3);
  int closed = 0;
  mf_provider_close(&fake.base, note_closed, &closed);
  assert_true(fake.closed);
  assert_int_equal(closed, 1);
  mf_loop_free(fake.loop);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_bad_spec_never_arrives),
    cmocka_unit_test(test_run_sync),
    cmocka_unit_test(test_run_sync_without_a_place),
    cmocka_unit_test(test_run_sync_is_interrupted),
    cmocka_unit_test(test_wrappers),
  };
  return cmocka_run_group_tests_name("provider", tests, NULL, NULL);
}

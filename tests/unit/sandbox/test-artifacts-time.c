/* Collecting ends after five seconds. The clock is this file's: the linker puts __wrap_mf_now_ns in mf_now_ns's place.
 */
#include "unit.h"

#include <string.h>

#include "base/time.h"
#include "collect.h"

struct test_clock {
  uint64_t now_ns, step_ns;
};

static struct test_clock *get_clock(void)
{
  static struct test_clock clock = { .now_ns = 1 };
  return &clock;
}

/* The name is the linker's choice. */
uint64_t __wrap_mf_now_ns(void); /* NOLINT(cert-dcl37-c) */
uint64_t __wrap_mf_now_ns(void)  /* NOLINT(cert-dcl37-c) */
{
  struct test_clock *clock = get_clock();
  clock->now_ns += clock->step_ns;
  return clock->now_ns;
}

static struct mf_sandbox_result *collect_with_step(const struct tree *t, uint64_t step_ms)
{
  get_clock()->step_ns = step_ms * MF_NS_PER_MS;
  struct mf_sandbox_result *r = collect_tree(t, NULL, NULL, 0);
  get_clock()->step_ns = 0;
  return r;
}

#define NOTE "collecting took more than 5 seconds: the rest was not looked at"

static void test_time(void **state)
{
  struct tree t;
  tree_make(&t);
  tree_text(&t, "a", "x");
  tree_text(&t, "b", "x");
  tree_text(&t, "c", "x");
  tree_folder(&t, "d");
  tree_text(&t, "d/e", "x");

  struct mf_sandbox_result *r = collect_with_step(&t, 1);
  assert_int_equal(r->artifact_n, 4);
  assert_int_equal(r->rejected_n, 0);
  mf_sandbox_result_free(r);

  /* Whenever the time runs out, what was complete is kept and the note is there. */
  unsigned fewer = 0;
  for (uint64_t step_ms = 100; step_ms <= 10000; step_ms += 50) {
    r = collect_with_step(&t, step_ms);
    assert_true(r->artifact_n <= 4);
    if (r->artifact_n < 4) {
      assert_int_equal(r->rejected_n, 1);
      assert_string_equal(find_reason(r, "."), NOTE);
      fewer++;
    }
    mf_sandbox_result_free(r);
  }
  assert_true(fewer > 0);
  r = collect_with_step(&t, 10000);
  assert_int_equal(r->artifact_n, 0);
  mf_sandbox_result_free(r);
  tree_remove(&t);
}

static void test_unchanged_input_in_time(void **state)
{
  struct tree t;
  tree_make(&t);
  tree_text(&t, "a", "x");
  const struct mf_sandbox_file input = { MF_STR("a"), MF_STR("x") };
  struct mf_sandbox_limits limits;
  mf_sandbox_limits_default(&limits);
  for (uint64_t step_ms = 100; step_ms <= 6000; step_ms += 100) {
    get_clock()->step_ns = step_ms * MF_NS_PER_MS;
    struct mf_sandbox_result *r = collect_tree(&t, &limits, &input, 1);
    assert_int_equal(r->artifact_n, 0); /* never taken for new because there was no time to look */
    assert_true(r->rejected_n == 0 || strcmp(find_reason(r, "."), NOTE) == 0);
    mf_sandbox_result_free(r);
  }
  get_clock()->step_ns = 0;
  tree_remove(&t);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_time),
    cmocka_unit_test(test_unchanged_input_in_time),
  };
  return cmocka_run_group_tests_name("artifacts in time", tests, NULL, NULL);
}

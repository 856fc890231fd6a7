/* Limits: defaults, ceilings, and the message that names the member. */
#include "unit.h"

#include "sandbox/sandbox.h"

static void test_defaults(void **state)
{
  struct mf_sandbox_limits l;
  mf_sandbox_limits_default(&l);
  assert_int_equal(l.wall_ms, 60000);
  assert_int_equal(l.cpu_ms, 0);
  assert_int_equal(l.memory_bytes, 1073741824);
  assert_int_equal(l.pids, 64);
  assert_int_equal(l.fuel, 0);
  assert_int_equal(l.stdout_bytes, 1048576);
  assert_int_equal(l.stderr_bytes, 1048576);
  assert_int_equal(l.artifact_bytes, 20971520);
  assert_int_equal(l.artifact_count, 256);
  assert_int_equal(l.output_policy, MF_OUTPUT_TRUNCATE);
  assert_int_equal(mf_sandbox_limits_check(&l, NULL), MF_OK);
}

static void refuse(const struct mf_sandbox_limits *l, const char *text)
{
  struct mf_err err = { .code = MF_OK };
  assert_int_equal(mf_sandbox_limits_check(l, &err), MF_E_INPUT);
  assert_int_equal(err.code, MF_E_INPUT);
  assert_string_equal(err.msg, text);
}

static void test_out_of_range(void **state)
{
  struct mf_sandbox_limits l;
#define WITH(member, value, text)                                                                                      \
  mf_sandbox_limits_default(&l);                                                                                       \
  l.member = (value);                                                                                                  \
  refuse(&l, text)
  WITH(wall_ms, 0, "limit wall_ms: must be from 1 to 3600000, got 0");
  WITH(wall_ms, MF_WALL_MS_MAX + 1, "limit wall_ms: must be from 1 to 3600000, got 3600001");
  WITH(wall_ms, UINT64_MAX, "limit wall_ms: must be from 1 to 3600000, got 18446744073709551615");
  WITH(cpu_ms, MF_CPU_MS_MAX + 1, "limit cpu_ms: must be from 0 to 86400000, got 86400001");
  WITH(memory_bytes, MF_MEMORY_BYTES_MIN - 1,
       "limit memory_bytes: must be from 67108864 to 1099511627776, got 67108863");
  WITH(memory_bytes, MF_MEMORY_BYTES_MAX + 1,
       "limit memory_bytes: must be from 67108864 to 1099511627776, got 1099511627777");
  WITH(pids, 0, "limit pids: must be from 1 to 4096, got 0");
  WITH(pids, 4097, "limit pids: must be from 1 to 4096, got 4097");
  WITH(stdout_bytes, MF_OUTPUT_BYTES_MAX + 1, "limit stdout_bytes: must be from 0 to 16777216, got 16777217");
  WITH(stderr_bytes, MF_OUTPUT_BYTES_MAX + 1, "limit stderr_bytes: must be from 0 to 16777216, got 16777217");
  WITH(artifact_bytes, MF_ARTIFACT_BYTES_MAX + 1, "limit artifact_bytes: must be from 0 to 20971520, got 20971521");
  WITH(artifact_count, 257, "limit artifact_count: must be from 0 to 256, got 257");
  WITH(output_policy, (enum mf_output_policy)7, "limit output_policy: unknown value 7");
}

static void test_edges_are_fine(void **state)
{
  struct mf_sandbox_limits l = {
    .wall_ms = 1,
    .memory_bytes = MF_MEMORY_BYTES_MIN,
    .pids = 1,
    .output_policy = MF_OUTPUT_STOP,
  };
  assert_int_equal(mf_sandbox_limits_check(&l, NULL), MF_OK);
  l = (struct mf_sandbox_limits){
    .wall_ms = MF_WALL_MS_MAX,
    .cpu_ms = MF_CPU_MS_MAX,
    .memory_bytes = MF_MEMORY_BYTES_MAX,
    .pids = MF_PIDS_MAX,
    .fuel = UINT64_MAX,
    .stdout_bytes = MF_OUTPUT_BYTES_MAX,
    .stderr_bytes = MF_OUTPUT_BYTES_MAX,
    .artifact_bytes = MF_ARTIFACT_BYTES_MAX,
    .artifact_count = MF_ARTIFACT_COUNT_MAX,
  };
  assert_int_equal(mf_sandbox_limits_check(&l, NULL), MF_OK);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_defaults),
    cmocka_unit_test(test_out_of_range),
    cmocka_unit_test(test_edges_are_fine),
  };
  return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}

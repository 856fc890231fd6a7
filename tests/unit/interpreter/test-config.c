/* [code_interpreter]: defaults, ceilings, what must fit together, permits, the limits of a call. */
#include "unit.h"

#include "interpreter/executor.h"
#include "base/banned.h"

static struct mf_interpreter_config defaults(void)
{
  struct mf_interpreter_config c;
  mf_interpreter_config_default(&c);
  return c;
}

static void assert_refused(const struct mf_interpreter_config *c, const char *text)
{
  struct mf_err err = { 0 };
  assert_int_equal(mf_interpreter_config_check(c, &err), MF_E_INPUT);
  assert_string_equal(err.msg, text);
}

static void assert_taken(const struct mf_interpreter_config *c)
{
  struct mf_err err = { 0 };
  assert_ok(mf_interpreter_config_check(c, &err), &err);
}

static void the_defaults(void **state)
{
  struct mf_interpreter_config c = defaults();
  assert_false(c.enabled);
  assert_int_equal(c.max_source_bytes, 65536);
  assert_int_equal(c.execution_wall_time_seconds, 10);
  assert_int_equal(c.max_fuel, 10000000000);
  assert_int_equal(c.max_guest_memory_bytes, 128ull << 20);
  assert_int_equal(c.max_stdout_bytes, 65536);
  assert_int_equal(c.max_stderr_bytes, 65536);
  assert_int_equal(c.max_concurrent_guests, 2);
  assert_int_equal(c.max_aggregate_guest_memory_bytes, 256ull << 20);
  assert_int_equal(c.max_worker_memory_bytes, 1ull << 30);
  assert_int_equal(c.max_aggregate_worker_memory_bytes, 2ull << 30);
  assert_taken(&c);
  assert_int_equal(mf_interpreter_permits(&c, 256), 2);
}

static void zero_is_refused_everywhere(void **state)
{
  static const struct {
    const char *key;
    size_t offset;
  } rows[] = {
#define ROW(key) { #key, offsetof(struct mf_interpreter_config, key) }
    ROW(max_source_bytes),
    ROW(execution_wall_time_seconds),
    ROW(max_fuel),
    ROW(max_guest_memory_bytes),
    ROW(max_stdout_bytes),
    ROW(max_stderr_bytes),
    ROW(max_concurrent_guests),
    ROW(max_aggregate_guest_memory_bytes),
    ROW(max_worker_memory_bytes),
    ROW(max_aggregate_worker_memory_bytes),
  };
  for (unsigned i = 0; i < MF_ARRAY_N(rows); i++) {
    struct mf_interpreter_config c = defaults();
    memset((char *)&c + rows[i].offset, 0, sizeof(uint64_t));
    char text[120];
    snprintf(text, sizeof(text), "code_interpreter.%s must be greater than 0", rows[i].key);
    assert_refused(&c, text);
  }
}

static void ceilings(void **state)
{
  struct mf_interpreter_config c = defaults();
  c.max_source_bytes = 524288;
  assert_taken(&c);
  c.max_source_bytes = 524289;
  assert_refused(&c, "code_interpreter.max_source_bytes (524289) exceeds its ceiling of 524288");

  c = defaults();
  c.max_stdout_bytes = 2097152 - 65536;
  assert_taken(&c);
  c.max_stdout_bytes++;
  assert_refused(&c,
                 "code_interpreter.max_stdout_bytes (2031617) and code_interpreter.max_stderr_bytes (65536) together "
                 "exceed the ceiling of 2097152");
  /* A sum that wraps is not small. */
  c.max_stdout_bytes = c.max_stderr_bytes = UINT64_MAX / 2 + 1;
  struct mf_err err = { 0 };
  assert_int_equal(mf_interpreter_config_check(&c, &err), MF_E_INPUT);

  c = defaults();
  c.max_concurrent_guests = UINT64_MAX >> 3;
  assert_taken(&c);
  c.max_concurrent_guests++;
  assert_refused(&c, "code_interpreter.max_concurrent_guests (2305843009213693952) exceeds its ceiling of "
                     "2305843009213693951");
}

static void what_must_fit_together(void **state)
{
  struct mf_interpreter_config c = defaults();
  c.max_guest_memory_bytes = c.max_aggregate_guest_memory_bytes;
  assert_taken(&c);
  c.max_guest_memory_bytes++;
  assert_refused(&c, "code_interpreter.max_guest_memory_bytes (268435457) exceeds "
                     "code_interpreter.max_aggregate_guest_memory_bytes (268435456)");

  c = defaults();
  c.max_worker_memory_bytes = c.max_guest_memory_bytes;
  assert_refused(&c, "code_interpreter.max_worker_memory_bytes (134217728) must exceed "
                     "code_interpreter.max_guest_memory_bytes (134217728)");
  c.max_worker_memory_bytes++;
  assert_taken(&c);

  c = defaults();
  c.max_aggregate_worker_memory_bytes = c.max_worker_memory_bytes;
  assert_taken(&c);
  c.max_aggregate_worker_memory_bytes--;
  assert_refused(&c, "code_interpreter.max_worker_memory_bytes (1073741824) exceeds "
                     "code_interpreter.max_aggregate_worker_memory_bytes (1073741823)");
}

static void permits(void **state)
{
  static const struct {
    uint64_t guests, guest, guest_all, worker, worker_all;
    unsigned provider_max, permits;
  } rows[] = {
    { 2, 128, 256, 1024, 2048, 256, 2 },    /* the defaults' proportions */
    { 100, 128, 256, 1024, 99999, 256, 2 }, /* guests' memory */
    { 100, 1, 99999, 1000, 3999, 256, 3 },  /* workers' memory, rounded down */
    { 100, 1, 99999, 2, 99999, 5, 5 },      /* the provider */
    { 7, 1, 99999, 2, 99999, 256, 7 },      /* the number itself */
    { UINT64_MAX >> 3, 1, UINT64_MAX, 2, UINT64_MAX, UINT32_MAX, UINT32_MAX },
    { 2, 128, 256, 1024, 2048, 0, 0 },
  };
  for (unsigned i = 0; i < MF_ARRAY_N(rows); i++) {
    struct mf_interpreter_config c = defaults();
    c.max_concurrent_guests = rows[i].guests;
    c.max_guest_memory_bytes = rows[i].guest;
    c.max_aggregate_guest_memory_bytes = rows[i].guest_all;
    c.max_worker_memory_bytes = rows[i].worker;
    c.max_aggregate_worker_memory_bytes = rows[i].worker_all;
    assert_taken(&c);
    assert_int_equal(mf_interpreter_permits(&c, rows[i].provider_max), rows[i].permits);
  }
}

static void limits_of_a_call(void **state)
{
  struct mf_interpreter_config c = defaults();
  struct mf_sandbox_limits l;
  struct mf_err err = { 0 };
  mf_interpreter_limits(&c, &l);
  assert_ok(mf_sandbox_limits_check(&l, &err), &err);
  assert_int_equal(l.wall_ms, 10000);
  assert_int_equal(l.memory_bytes, 1ull << 30);
  assert_int_equal(l.fuel, 10000000000);
  assert_int_equal(l.stdout_bytes, 65536);
  assert_int_equal(l.stderr_bytes, 65536);
  assert_int_equal(l.artifact_count, 0);
  assert_int_equal(l.artifact_bytes, 0);
  assert_int_equal(l.output_policy, MF_OUTPUT_STOP);

  /* Whatever the configuration allows is a spec that a provider takes. */
  c.execution_wall_time_seconds = UINT64_MAX;
  c.max_guest_memory_bytes = 1;
  c.max_worker_memory_bytes = 2;
  assert_taken(&c);
  mf_interpreter_limits(&c, &l);
  assert_ok(mf_sandbox_limits_check(&l, &err), &err);
  assert_int_equal(l.wall_ms, 3600000);
  assert_int_equal(l.memory_bytes, 64ull << 20);
  c.max_worker_memory_bytes = c.max_aggregate_worker_memory_bytes = UINT64_MAX;
  assert_taken(&c);
  mf_interpreter_limits(&c, &l);
  assert_ok(mf_sandbox_limits_check(&l, &err), &err);
}

/* Where the provider has a guest in a worker, a program's memory is the guest's. */
static void limits_of_a_guest(void **state)
{
  struct mf_interpreter_config c = defaults();
  struct mf_sandbox_limits l;
  c.guest_ceiling_bytes = 4ull << 30;
  mf_interpreter_limits(&c, &l);
  assert_int_equal(l.memory_bytes, 128ull << 20);
  assert_int_equal(l.fuel, 10000000000);
  c.max_guest_memory_bytes = 1;
  mf_interpreter_limits(&c, &l);
  assert_int_equal(l.memory_bytes, MF_MEMORY_BYTES_MIN);
  c.max_guest_memory_bytes = 5ull << 30;
  mf_interpreter_limits(&c, &l);
  assert_int_equal(l.memory_bytes, 4ull << 30);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_defaults),      cmocka_unit_test(zero_is_refused_everywhere),
    cmocka_unit_test(ceilings),          cmocka_unit_test(what_must_fit_together),
    cmocka_unit_test(permits),           cmocka_unit_test(limits_of_a_call),
    cmocka_unit_test(limits_of_a_guest),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What is retained of a guest is within the limits, whatever a provider returned. */
#include "unit.h"

#include "retained.h"
#include "base/banned.h"

static struct mf_sandbox_result *result_of(const char *out, size_t out_n, const char *err)
{
  struct mf_sandbox_result *r = mf_sandbox_result_new();
  mf_buf_init(&r->out, 1u << 20);
  mf_buf_init(&r->err, 1u << 20);
  assert_int_equal(mf_buf_append(&r->out, out, out_n), MF_OK);
  assert_int_equal(mf_buf_append_str(&r->err, mf_str_of(err)), MF_OK);
  return r;
}

static struct mf_sandbox_limits limits_of(uint64_t out, uint64_t err, enum mf_output_policy policy)
{
  return (struct mf_sandbox_limits){ .stdout_bytes = out, .stderr_bytes = err, .output_policy = policy };
}

static void what_fits_stays(void **state)
{
  struct mf_sandbox_result *r = result_of("hello", 5, "w");
  const struct mf_sandbox_limits l = limits_of(5, 1, MF_OUTPUT_STOP);
  mf_retained_apply(r, &l);
  assert_string_equal(r->out.ptr, "hello");
  assert_string_equal(r->err.ptr, "w");
  assert_false(r->out_truncated || r->err_truncated);
  assert_int_equal(r->status, MF_RUN_SUCCEEDED);
  mf_sandbox_result_free(r);

  r = mf_sandbox_result_new(); /* one that never had any text */
  mf_retained_apply(r, &l);
  assert_int_equal(r->out.len + r->err.len, 0);
  mf_sandbox_result_free(r);
}

static void too_much_is_cut_on_a_character(void **state)
{
  struct mf_sandbox_result *r = result_of("ab\xe2\x98\x95\xe2\x98\x95", 8, "0123456789");
  const struct mf_sandbox_limits l = limits_of(6, 4, MF_OUTPUT_TRUNCATE);
  mf_retained_apply(r, &l);
  assert_string_equal(r->out.ptr, "ab\xe2\x98\x95");
  assert_string_equal(r->err.ptr, "0123");
  assert_true(r->out_truncated && r->err_truncated);
  assert_int_equal(r->status, MF_RUN_SUCCEEDED); /* truncated, but left to run */
  mf_sandbox_result_free(r);
}

static void what_is_not_utf8_is_repaired(void **state)
{
  struct mf_sandbox_result *r = result_of("a\xff"
                                          "b\0c",
                                          5, "");
  const struct mf_sandbox_limits l = limits_of(100, 100, MF_OUTPUT_STOP);
  mf_retained_apply(r, &l);
  assert_int_equal(r->out.len, 7);
  assert_memory_equal(r->out.ptr,
                      "a\xef\xbf\xbd"
                      "b\0c",
                      7);
  assert_false(r->out_truncated);
  mf_sandbox_result_free(r);

  r = result_of("a\xff\xff", 3, "");
  const struct mf_sandbox_limits tight = limits_of(5, 0, MF_OUTPUT_STOP);
  mf_retained_apply(r, &tight);
  assert_string_equal(r->out.ptr, "a\xef\xbf\xbd");
  assert_true(r->out_truncated);
  assert_int_equal(r->status, MF_RUN_LIMIT);
  assert_int_equal(r->reason, MF_REASON_OUTPUT);
  mf_sandbox_result_free(r);
}

static void stopped_by_output(void **state)
{
  static const struct {
    enum mf_run_status status;
    enum mf_run_reason reason;
    bool changes;
  } rows[] = {
    { MF_RUN_SUCCEEDED, MF_REASON_EXIT, true },       { MF_RUN_FAILED, MF_REASON_EXIT, true },
    { MF_RUN_FAILED, MF_REASON_EXCEPTION, true },     { MF_RUN_FAILED, MF_REASON_WORKER_CRASH, false },
    { MF_RUN_FAILED, MF_REASON_SIGNAL, false },       { MF_RUN_TIMED_OUT, MF_REASON_WALL_TIME, false },
    { MF_RUN_CANCELLED, MF_REASON_CANCELLED, false }, { MF_RUN_LIMIT, MF_REASON_MEMORY, false },
  };
  const struct mf_sandbox_limits l = limits_of(2, 2, MF_OUTPUT_STOP);
  for (unsigned i = 0; i < MF_ARRAY_N(rows); i++) {
    struct mf_sandbox_result *r = result_of("12345", 5, "");
    r->status = rows[i].status;
    r->reason = rows[i].reason;
    mf_retained_apply(r, &l);
    assert_int_equal(r->out.len, 2);
    assert_int_equal(r->status, rows[i].changes ? MF_RUN_LIMIT : rows[i].status);
    assert_int_equal(r->reason, rows[i].changes ? MF_REASON_OUTPUT : rows[i].reason);
    mf_sandbox_result_free(r);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(what_fits_stays),
    cmocka_unit_test(too_much_is_cut_on_a_character),
    cmocka_unit_test(what_is_not_utf8_is_repaired),
    cmocka_unit_test(stopped_by_output),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

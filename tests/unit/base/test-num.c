/* The parser of whole numbers. */
#include "unit.h"

#include <string.h>

#include "base/num.h"
#include "base/banned.h"

static void accepts(void **state)
{
  static const struct {
    const char *text;
    uint64_t min, max, value;
  } rows[] = {
    { "0", 0, 0, 0 },
    { "1", 1, 1, 1 },
    { "60000", 1, 60000, 60000 },
    { "007", 0, 10, 7 },
    { "18446744073709551615", 0, UINT64_MAX, UINT64_MAX },
    { "000000000000000000000000000018446744073709551615", 0, UINT64_MAX, UINT64_MAX },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    uint64_t v = 77;
    struct mf_err err = { 0 };
    assert_ok(mf_parse_u64(mf_str_of(rows[i].text), "n", rows[i].min, rows[i].max, &v, &err), &err);
    assert_true(v == rows[i].value);
  }
}

static void refuses(void **state)
{
  static const struct {
    const char *text;
    uint64_t min, max;
  } rows[] = {
    { "", 0, UINT64_MAX },
    { " 1", 0, UINT64_MAX },
    { "1 ", 0, UINT64_MAX },
    { "+1", 0, UINT64_MAX },
    { "-1", 0, UINT64_MAX },
    { "-0", 0, UINT64_MAX },
    { "1.0", 0, UINT64_MAX },
    { "1e3", 0, UINT64_MAX },
    { "0x10", 0, UINT64_MAX },
    { "1_000", 0, UINT64_MAX },
    { "١", 0, UINT64_MAX },
    { "inf", 0, UINT64_MAX },
    { "0", 1, 10 },
    { "11", 1, 10 },
    { "1\n", 0, UINT64_MAX },
    { "99999", 0, 65535 },
    { "18446744073709551616", 0, UINT64_MAX },
    { "18446744073709551620", 0, UINT64_MAX },
    { "99999999999999999999999999", 0, UINT64_MAX },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    uint64_t v = 77;
    assert_int_equal(mf_parse_u64(mf_str_of(rows[i].text), "n", rows[i].min, rows[i].max, &v, NULL), MF_E_INPUT);
    assert_int_equal(v, 77);
  }
  uint64_t v = 77;
  assert_int_equal(mf_parse_u64(MF_STR("1\0"), "n", 0, 9, &v, NULL), MF_E_INPUT);
}

static void the_error_names_range_and_text(void **state)
{
  struct mf_err err = { 0 };
  uint64_t v;
  assert_int_equal(mf_parse_u64(MF_STR("x"), "--timeout", 1, 60000, &v, &err), MF_E_INPUT);
  assert_string_equal(err.msg, "--timeout: expected a whole number from 1 to 60000, got 'x'");
  assert_int_equal(mf_parse_u64(MF_STR("\x1b[1m"), "n", 1, 2, &v, &err), MF_E_INPUT);
  assert_string_equal(err.msg, "n: expected a whole number from 1 to 2, got '\\x1b[1m'");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(accepts),
    cmocka_unit_test(refuses),
    cmocka_unit_test(the_error_names_range_and_text),
  };
  return cmocka_run_group_tests_name("base/num", tests, NULL, NULL);
}

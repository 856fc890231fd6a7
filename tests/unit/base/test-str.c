/* mf_str: comparing borrowed bytes. */
#include "unit.h"

#include "base/str.h"
#include "base/banned.h"

static void comparisons(void **state)
{
  const struct mf_str null = { NULL, 0 };
  assert_true(mf_str_eq(MF_STR("a\0b"), MF_STR("a\0b")));
  assert_false(mf_str_eq(MF_STR("a\0b"), MF_STR("a\0c")));
  assert_false(mf_str_is(MF_STR("a\0b"), "a"));
  assert_true(mf_str_is(MF_STR("abc"), "abc"));
  assert_true(mf_str_eq(null, MF_STR("")));
  assert_true(mf_str_is(null, ""));
  assert_true(mf_str_is(mf_str_of(NULL), ""));
  assert_true(mf_str_starts(MF_STR("abc"), "ab"));
  assert_true(mf_str_starts(MF_STR("abc"), ""));
  assert_false(mf_str_starts(MF_STR("ab"), "abc"));
  assert_false(mf_str_starts(null, "a"));
}

int main(void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test(comparisons) };
  return cmocka_run_group_tests_name("base/str", tests, NULL, NULL);
}

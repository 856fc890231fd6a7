/* Tables with a row for each value of an enum: every code has a name of its own. */
#include "unit.h"

#include <ctype.h>
#include <string.h>

#include "base/banned.h"

static void every_code_has_a_name(void **state)
{
  for (int code = 0; code < MF_CODE_N; code++) {
    const char *name = mf_code_name((enum mf_code)code);
    assert_non_null(name);
    assert_string_not_equal(name, "unknown");
    assert_true(name[0] != 0);
    for (const char *c = name; *c; c++)
      assert_true(islower((unsigned char)*c) || *c == '_');
  }
}

static void no_two_codes_share_a_name(void **state)
{
  for (int a = 0; a < MF_CODE_N; a++)
    for (int b = 0; b < a; b++)
      assert_string_not_equal(mf_code_name((enum mf_code)a), mf_code_name((enum mf_code)b));
}

/* Names are part of the API: logs and JSON carry them. A renamed one fails here. */
static void names_are_stable(void **state)
{
  static const struct {
    enum mf_code code;
    const char *name;
  } rows[] = {
    { MF_OK, "ok" },
    { MF_E_INPUT, "input" },
    { MF_E_LIMIT, "limit" },
    { MF_E_TIMEOUT, "timeout" },
    { MF_E_NOT_FOUND, "not_found" },
    { MF_E_EXISTS, "exists" },
    { MF_E_GONE, "gone" },
    { MF_E_CAPACITY, "capacity" },
    { MF_E_CANCELLED, "cancelled" },
    { MF_E_UNAVAILABLE, "unavailable" },
    { MF_E_SYS, "sys" },
    { MF_E_INTERNAL, "internal" },
  };
  assert_int_equal(MF_ARRAY_N(rows), MF_CODE_N);
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++)
    assert_string_equal(mf_code_name(rows[i].code), rows[i].name);
}

static void a_code_from_elsewhere_is_unknown(void **state)
{
  assert_string_equal(mf_code_name(MF_CODE_N), "unknown");
  assert_string_equal(mf_code_name((enum mf_code) - 1), "unknown");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_code_has_a_name),
    cmocka_unit_test(no_two_codes_share_a_name),
    cmocka_unit_test(names_are_stable),
    cmocka_unit_test(a_code_from_elsewhere_is_unknown),
  };
  return cmocka_run_group_tests_name("base/tables", tests, NULL, NULL);
}

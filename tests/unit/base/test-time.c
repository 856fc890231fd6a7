/* The clocks and their text. */
#include "unit.h"

#include <string.h>
#include <time.h>

#include "base/time.h"
#include "base/banned.h"

static void monotonic_never_goes_back(void **state)
{
  uint64_t last = mf_now_ns();
  for (int i = 0; i < 10000; i++) {
    uint64_t now = mf_now_ns();
    assert_true(now >= last);
    last = now;
  }
}

static void wall_is_the_wall(void **state)
{
  time_t before = time(NULL);
  uint64_t ms = mf_wall_ms();
  time_t after = time(NULL);
  /* time() may read a coarser clock, so it can lag behind by less than a second. */
  assert_in_range(ms / 1000, (uint64_t)before, (uint64_t)after + 1);
}

static void formats_rfc_3339(void **state)
{
  static const struct {
    uint64_t ms;
    const char *text;
  } rows[] = {
    { 0, "1970-01-01T00:00:00.000Z" },
    { 1, "1970-01-01T00:00:00.001Z" },
    { 951782399999, "2000-02-28T23:59:59.999Z" },
    { 951782400000, "2000-02-29T00:00:00.000Z" },
    { 1767323045678, "2026-01-02T03:04:05.678Z" },
    { 253402300799999, "9999-12-31T23:59:59.999Z" },
    { 253402300800000, "9999-12-31T23:59:59.999Z" },
    { UINT64_MAX, "9999-12-31T23:59:59.999Z" },
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    char text[32];
    mf_wall_format(rows[i].ms, text);
    assert_string_equal(text, rows[i].text);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(monotonic_never_goes_back),
    cmocka_unit_test(wall_is_the_wall),
    cmocka_unit_test(formats_rfc_3339),
  };
  return cmocka_run_group_tests_name("base/time", tests, NULL, NULL);
}

/* Generated ids: form, time, difference. */
#include "unit.h"

#include "base/ids.h"
#include "base/time.h"
#include "base/banned.h"

static void has_the_form_of_rfc_9562(void **state)
{
  /* The example of RFC 9562, A.6: 2022-02-22 14:22:22.00 GMT-05:00, rand_a 0xCC3, rand_b 0x18C4DC0C0C07398F. */
  static const unsigned char random[10] = { 0x0c, 0xc3, 0x18, 0xc4, 0xdc, 0x0c, 0x0c, 0x07, 0x39, 0x8f };
  char text[MF_UUID_N];
  mf_uuid7_of(0x017f22e279b0ull, random, text);
  assert_string_equal(text, "017f22e2-79b0-7cc3-98c4-dc0c0c07398f");

  /* Version and variant stand above whatever the random bits were. */
  static const unsigned char ones[10] = { 255, 255, 255, 255, 255, 255, 255, 255, 255, 255 }, zeros[10] = { 0 };
  mf_uuid7_of(UINT64_MAX, ones, text);
  assert_string_equal(text, "ffffffff-ffff-7fff-bfff-ffffffffffff");
  mf_uuid7_of(0, zeros, text);
  assert_string_equal(text, "00000000-0000-7000-8000-000000000000");
}

static void has_prefix_and_time(void **state)
{
  uint64_t before = mf_wall_ms();
  char id[MF_ID_N];
  mf_id_new("resp_", id);
  uint64_t after = mf_wall_ms();
  assert_memory_equal(id, "resp_", 5);
  assert_int_equal(strlen(id), 5 + 36);
  assert_int_equal(id[5 + 14], '7');
  uint64_t ms = 0;
  for (const char *c = id + 5; c < id + 5 + 13; c++) {
    if (*c == '-')
      continue;
    const char *digit = strchr("0123456789abcdef", *c);
    assert_non_null(digit);
    ms = ms * 16 + (uint64_t)(digit - "0123456789abcdef");
  }
  assert_true(ms >= before && ms <= after);

  mf_id_new("a_prefix_of_16b_", id);
  assert_int_equal(strlen(id), MF_ID_N - 1);
}

static void differs(void **state)
{
  enum { N = 200 };
  static char ids[N][MF_ID_N];
  for (int i = 0; i < N; i++) {
    mf_id_new("", ids[i]);
    for (int k = 0; k < i; k++)
      assert_string_not_equal(ids[i], ids[k]);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(has_the_form_of_rfc_9562),
    cmocka_unit_test(has_prefix_and_time),
    cmocka_unit_test(differs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

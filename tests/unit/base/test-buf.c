/* mf_buf: its invariants hold in every state. */
#include "unit.h"

#include <string.h>

#include "base/buf.h"
#include "base/banned.h"

static void check(const struct mf_buf *b, const char *text)
{
  assert_non_null(b->ptr);
  assert_int_equal(b->len, strlen(text));
  assert_int_equal(b->ptr[b->len], 0);
  assert_string_equal(b->ptr, text);
  assert_true(b->len <= b->max);
}

static void starts_empty(void **state)
{
  mf_auto_buf struct mf_buf b;
  mf_buf_init(&b, 10);
  check(&b, "");
  assert_true(mf_str_is(mf_buf_str(&b), ""));
  mf_buf_truncate(&b, 0);
  mf_buf_consume(&b, 0);
  check(&b, "");
}

static void done_is_fine_on_zeroed_and_twice(void **state)
{
  struct mf_buf b = { 0 };
  mf_buf_done(&b);
  assert_int_equal(mf_buf_append(&b, "x", 1), MF_E_LIMIT);
  mf_buf_init(&b, 5);
  assert_int_equal(mf_buf_append(&b, "x", 1), MF_OK);
  mf_buf_done(&b);
  mf_buf_done(&b);
  check(&b, "");
  assert_int_equal(mf_buf_append(&b, "again", 5), MF_OK);
  check(&b, "again");
  mf_buf_done(&b);
}

static void over_the_maximum_changes_nothing(void **state)
{
  mf_auto_buf struct mf_buf b;
  mf_buf_init(&b, 5);
  assert_int_equal(mf_buf_append(&b, "123456", 6), MF_E_LIMIT);
  check(&b, "");
  assert_int_equal(mf_buf_append(&b, "123", 3), MF_OK);
  assert_int_equal(mf_buf_append(&b, "456", 3), MF_E_LIMIT);
  assert_int_equal(mf_buf_printf(&b, "%d", 456), MF_E_LIMIT);
  check(&b, "123");
  assert_int_equal(mf_buf_append(&b, "45", 2), MF_OK);
  check(&b, "12345");
  assert_int_equal(mf_buf_append(&b, "6", 1), MF_E_LIMIT);
  assert_int_equal(mf_buf_append(&b, NULL, 0), MF_OK);
  assert_int_equal(mf_buf_append(&b, "x", SIZE_MAX), MF_E_LIMIT);
  check(&b, "12345");
}

static void grows_to_the_maximum_exactly(void **state)
{
  enum { N = 100000 };
  mf_auto_buf struct mf_buf b;
  mf_buf_init(&b, N);
  for (int i = 0; i < N; i++) {
    char c = (char)('a' + i % 26);
    assert_int_equal(mf_buf_append(&b, &c, 1), MF_OK);
  }
  assert_int_equal(b.len, N);
  assert_true(b.cap <= N + 1);
  assert_int_equal(b.ptr[N], 0);
  assert_int_equal(b.ptr[12345], 'a' + 12345 % 26);
  assert_int_equal(mf_buf_append(&b, "x", 1), MF_E_LIMIT);
}

static void no_maximum_at_all(void **state)
{
  mf_auto_buf struct mf_buf b;
  mf_buf_init(&b, SIZE_MAX);
  assert_int_equal(mf_buf_append(&b, "abc", 3), MF_OK);
  check(&b, "abc");
  assert_int_equal(mf_buf_append(&b, "x", SIZE_MAX - 2), MF_E_LIMIT);
  check(&b, "abc");
}

static void keeps_nul_bytes(void **state)
{
  mf_auto_buf struct mf_buf b;
  mf_buf_init(&b, 10);
  assert_int_equal(mf_buf_append_str(&b, MF_STR("a\0b")), MF_OK);
  assert_int_equal(b.len, 3);
  assert_memory_equal(b.ptr, "a\0b", 4);
}

static void appends_a_part_of_itself(void **state)
{
  mf_auto_buf struct mf_buf b;
  mf_buf_init(&b, 1000);
  assert_int_equal(mf_buf_append(&b, "abcdef", 6), MF_OK);
  for (int i = 0; i < 5; i++)
    assert_int_equal(mf_buf_append(&b, b.ptr + 1, b.len - 1), MF_OK);
  assert_int_equal(b.len, 161);
  assert_memory_equal(b.ptr, "abcdefbcdefbcdefbcdef", 21);
}

static void printf_short_and_long(void **state)
{
  mf_auto_buf struct mf_buf b;
  mf_buf_init(&b, 4000);
  assert_int_equal(mf_buf_printf(&b, "%s=%d;", "n", 12), MF_OK);
  check(&b, "n=12;");
  for (int width = 250; width <= 260; width++) {
    mf_buf_truncate(&b, 5);
    assert_int_equal(mf_buf_printf(&b, "%*d", width, 7), MF_OK);
    assert_int_equal(b.len, 5 + width);
    assert_int_equal(b.ptr[b.len - 1], '7');
    assert_int_equal(b.ptr[b.len], 0);
  }
}

static void truncate_and_consume(void **state)
{
  mf_auto_buf struct mf_buf b;
  mf_buf_init(&b, 100);
  assert_int_equal(mf_buf_append(&b, "hello world", 11), MF_OK);
  mf_buf_consume(&b, 6);
  check(&b, "world");
  mf_buf_truncate(&b, 3);
  check(&b, "wor");
  mf_buf_consume(&b, 3);
  check(&b, "");
}

static void take_leaves_it_empty(void **state)
{
  mf_auto_buf struct mf_buf b;
  mf_buf_init(&b, 4);
  size_t n = 99;
  mf_auto_free char *nothing = mf_buf_take(&b, &n);
  assert_string_equal(nothing, "");
  assert_int_equal(n, 0);
  assert_int_equal(mf_buf_append(&b, "abcd", 4), MF_OK);
  mf_auto_free char *text = mf_buf_take(&b, &n);
  assert_string_equal(text, "abcd");
  assert_int_equal(n, 4);
  check(&b, "");
  assert_int_equal(b.max, 4);
  assert_int_equal(mf_buf_append(&b, "12345", 5), MF_E_LIMIT);
  assert_int_equal(mf_buf_append(&b, "1234", 4), MF_OK);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(starts_empty),
    cmocka_unit_test(done_is_fine_on_zeroed_and_twice),
    cmocka_unit_test(over_the_maximum_changes_nothing),
    cmocka_unit_test(grows_to_the_maximum_exactly),
    cmocka_unit_test(no_maximum_at_all),
    cmocka_unit_test(keeps_nul_bytes),
    cmocka_unit_test(appends_a_part_of_itself),
    cmocka_unit_test(printf_short_and_long),
    cmocka_unit_test(truncate_and_consume),
    cmocka_unit_test(take_leaves_it_empty),
  };
  return cmocka_run_group_tests_name("base/buf", tests, NULL, NULL);
}

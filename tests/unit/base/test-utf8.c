/* UTF-8: each row is what Python's bytes.decode("utf-8", "replace") gives. */
#include "unit.h"

#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"
#include "base/banned.h"

#define R "\xef\xbf\xbd"

static const struct {
  struct mf_str in;
  const char *out; /* NULL: the same */
  size_t out_n;
} rows[] = {
#define SAME(s)                                                                                                        \
  {                                                                                                                    \
    MF_STR(s), NULL, 0                                                                                                 \
  }
#define FIX(s, t)                                                                                                      \
  {                                                                                                                    \
    MF_STR(s), t, sizeof(t) - 1                                                                                        \
  }
  SAME(""),
  SAME("plain ASCII of more than eight bytes"),
  SAME("a\0b"),
  SAME("\x7f\xc2\x80\xdf\xbf"),
  SAME("\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf"),
  SAME("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"),
  SAME("☕ 周一 −3℃ 𝄞"),
  FIX("\x80", R),
  FIX("\xbf\x80", R R),
  FIX("a\xff"
      "b",
      "a" R "b"),
  FIX("\xc0\xaf", R R), /* overlong '/' */
  FIX("\xc1\xbf", R R),
  FIX("\xe0\x80\xaf", R R R), /* overlong '/' */
  FIX("\xe0\x9f\xbf", R R R),
  FIX("\xf0\x80\x80\xaf", R R R R),
  FIX("\xf0\x8f\xbf\xbf", R R R R),
  FIX("\xed\xa0\x80", R R R), /* a surrogate */
  FIX("\xed\xbf\xbf", R R R),
  FIX("\xf4\x90\x80\x80", R R R R), /* above U+10FFFF */
  FIX("\xf5\x80\x80\x80", R R R R),
  FIX("\xfe\xff", R R),
  FIX("\xc3", R), /* cut at the end */
  FIX("\xe2\x98", R),
  FIX("\xf0\x9d\x84", R),
  FIX("\xe2\x98"
      "x",
      R "x"), /* cut in the middle: one mark for the maximal part */
  FIX("\xf0\x9d\x84"
      "\xe2\x98\x95",
      R "☕"),
  FIX("\xf0\x9d"
      "\xf0\x9d\x84\x9e",
      R "𝄞"),
  FIX("\xe2\xe2\x98\x95", R "☕"),
  FIX("\xc3\xc3\xa9", R "é"),
  FIX("\xe0\xa0"
      "\xe0\xa0\x80",
      R "\xe0\xa0\x80"),
  FIX("12345678\x80"
      "12345678",
      "12345678" R "12345678"),
  FIX("1234567\xc3", "1234567" R),
  FIX("\xf0\x80\xe2\x98", R R R),
};

static void validity(void **state)
{
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++)
    assert_int_equal(mf_utf8_is_valid(rows[i].in), rows[i].out == NULL);
  assert_true(mf_utf8_is_valid((struct mf_str){ NULL, 0 }));
}

/* Feeds `in` in chunks of `step` bytes. */
static void repair(struct mf_str in, size_t step, struct mf_buf *out)
{
  struct mf_utf8_repair r = { .held_n = 0 };
  for (size_t i = 0; i < in.len; i += step) {
    struct mf_str chunk = { in.ptr + i, MF_MIN(step, in.len - i) };
    assert_int_equal(mf_utf8_repair_feed(&r, chunk, out), MF_OK);
    assert_true(mf_utf8_is_valid(mf_buf_str(out)));
    assert_true(r.held_n <= 3);
  }
  assert_int_equal(mf_utf8_repair_finish(&r, out), MF_OK);
}

static void repair_is_the_same_in_any_chunks(void **state)
{
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++)
    for (size_t step = 1; step <= rows[i].in.len + 1; step++) {
      mf_auto_buf struct mf_buf out;
      mf_buf_init(&out, 1000);
      repair(rows[i].in, step, &out);
      struct mf_str want = rows[i].out ? (struct mf_str){ rows[i].out, rows[i].out_n } : rows[i].in;
      assert_int_equal(out.len, want.len);
      assert_memory_equal(out.ptr, want.len ? want.ptr : "", want.len);
    }
}

static void nothing_is_held_back_once_it_is_decided(void **state)
{
  struct mf_utf8_repair r = { .held_n = 0 };
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, 100);
  assert_int_equal(mf_utf8_repair_feed(&r, MF_STR("ab\xe2\x98"), &out), MF_OK);
  assert_string_equal(out.ptr, "ab");
  assert_int_equal(mf_utf8_repair_feed(&r, MF_STR(""), &out), MF_OK);
  assert_string_equal(out.ptr, "ab");
  assert_int_equal(mf_utf8_repair_feed(&r, MF_STR("\x95"), &out), MF_OK);
  assert_string_equal(out.ptr, "ab☕");
  assert_int_equal(mf_utf8_repair_finish(&r, &out), MF_OK);
  assert_string_equal(out.ptr, "ab☕");
}

/* "ab" and many three-byte characters, cut by caps that fall on each remainder. */
static void limit_keeps_whole_characters(void **state)
{
  mf_auto_buf struct mf_buf in;
  mf_buf_init(&in, 1000);
  assert_int_equal(mf_buf_append_str(&in, MF_STR("ab")), MF_OK);
  for (int i = 0; i < 100; i++)
    assert_int_equal(mf_buf_append_str(&in, MF_STR("☕")), MF_OK);
  assert_int_equal(in.len, 302);
  for (size_t max = 0; max < in.len; max++)
    for (size_t step = 1; step <= in.len; step = step * 2 + 1) {
      struct mf_utf8_repair r = { .held_n = 0 };
      mf_auto_buf struct mf_buf out;
      mf_buf_init(&out, max);
      enum mf_code code = MF_OK;
      for (size_t i = 0; i < in.len && !code; i += step)
        code = mf_utf8_repair_feed(&r, (struct mf_str){ in.ptr + i, MF_MIN(step, in.len - i) }, &out);
      assert_int_equal(code, MF_E_LIMIT);
      size_t want = max < 2 ? max : 2 + (max - 2) / 3 * 3;
      assert_int_equal(out.len, want);
      assert_memory_equal(out.ptr, in.ptr, want);
    }
}

static void a_mark_that_does_not_fit_is_left_out(void **state)
{
  struct mf_utf8_repair r = { .held_n = 0 };
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, 4);
  assert_int_equal(mf_utf8_repair_feed(&r, MF_STR("ab\xff"), &out), MF_E_LIMIT);
  assert_string_equal(out.ptr, "ab");
  mf_buf_truncate(&out, 0);
  assert_int_equal(mf_utf8_repair_feed(&r, MF_STR("ab\xe2"), &out), MF_OK);
  assert_int_equal(mf_utf8_repair_finish(&r, &out), MF_E_LIMIT);
  assert_string_equal(out.ptr, "ab");
}

static void prefix(void **state)
{
  const struct mf_str s = MF_STR("aé☕𝄞"); /* 1 + 2 + 3 + 4 bytes */
  static const size_t want[] = { 0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10 };
  for (size_t max = 0; max < MF_ARRAY_N(want); max++)
    assert_int_equal(mf_utf8_prefix(s, max), want[max]);
  assert_int_equal(mf_utf8_prefix((struct mf_str){ NULL, 0 }, 0), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(validity),
    cmocka_unit_test(repair_is_the_same_in_any_chunks),
    cmocka_unit_test(nothing_is_held_back_once_it_is_decided),
    cmocka_unit_test(limit_keeps_whole_characters),
    cmocka_unit_test(a_mark_that_does_not_fit_is_left_out),
    cmocka_unit_test(prefix),
  };
  return cmocka_run_group_tests_name("base/utf8", tests, NULL, NULL);
}

/* Guest bytes to text: repair, cap, cut on a character boundary, flag. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "sandbox/sandbox.h"

/* Feeds `raw` in chunks and returns the text; what is streamed must add up to what is kept. */
static struct mf_buf feed_all(struct mf_str raw, uint64_t cap, size_t chunk_n, bool *ret_truncated)
{
  struct mf_output *o = mf_output_new(cap);
  struct mf_buf live, text;
  mf_buf_init(&live, cap);
  struct mf_str fresh;
  for (size_t at = 0; at < raw.len; at += chunk_n) {
    mf_output_feed(o, (struct mf_str){ raw.ptr + at, MF_MIN(chunk_n, raw.len - at) }, &fresh);
    assert_true(mf_utf8_is_valid(fresh));
    assert_int_equal(mf_buf_append_str(&live, fresh), MF_OK);
  }
  mf_output_finish(o, &fresh);
  assert_int_equal(mf_buf_append_str(&live, fresh), MF_OK);
  *ret_truncated = mf_output_is_truncated(o);
  mf_output_take(o, &text);
  mf_output_free(o);
  assert_true(mf_str_eq(mf_buf_str(&live), mf_buf_str(&text)));
  assert_true(mf_utf8_is_valid(mf_buf_str(&text)));
  assert_true(text.len <= cap);
  assert_int_equal(text.ptr[text.len], 0);
  mf_buf_done(&live);
  return text;
}

static void expect(struct mf_str raw, uint64_t cap, struct mf_str want, bool want_truncated)
{
  static const size_t chunks[] = { 1, 2, 3, 5, 4096, 1u << 20 };
  for (size_t i = 0; i < MF_ARRAY_N(chunks); i++) {
    bool truncated;
    struct mf_buf text = feed_all(raw, cap, chunks[i], &truncated);
    assert_int_equal(text.len, want.len);
    assert_true(mf_str_eq(mf_buf_str(&text), want));
    assert_int_equal(truncated, want_truncated);
    mf_buf_done(&text);
  }
}

static void test_small(void **state)
{
  expect(MF_STR(""), 10, MF_STR(""), false);
  expect(MF_STR(""), 0, MF_STR(""), false);
  expect(MF_STR("a"), 0, MF_STR(""), true);
  expect(MF_STR("hello\n"), 6, MF_STR("hello\n"), false);
  expect(MF_STR("hello\n"), 5, MF_STR("hello"), true);
  expect(MF_STR("a\0b"), 10, MF_STR("a\0b"), false);
}

static void test_repair(void **state)
{
  expect(MF_STR("a\xff"
                "b"),
         10,
         MF_STR("a\xef\xbf\xbd"
                "b"),
         false);
  expect(MF_STR("\xe2\x98"), 10, MF_STR("\xef\xbf\xbd"), false); /* cut at the end */
  expect(MF_STR("\xe2\x98"
                "a"),
         10,
         MF_STR("\xef\xbf\xbd"
                "a"),
         false);
  expect(MF_STR("\xed\xa0\x80"), 10, MF_STR("\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"), false); /* a surrogate */
  expect(MF_STR("\xf0\x9f\x98\x80!"), 10, MF_STR("\xf0\x9f\x98\x80!"), false);
  /* The replacement itself has three bytes and is never cut in two. */
  expect(MF_STR("ab\xff"), 4, MF_STR("ab"), true);
  expect(MF_STR("ab\xff"), 5, MF_STR("ab\xef\xbf\xbd"), false);
  expect(MF_STR("ab\xe2\x98"), 4, MF_STR("ab"), true);
}

/* After the cut nothing more is taken, although a shorter character would still fit: the text stays a prefix. */
static void test_stays_a_prefix(void **state)
{
  expect(MF_STR("ab\xe2\x98\x95"
                "cd"),
         4, MF_STR("ab"), true);
}

/* reports.md, case 6: "ab" and N times U+2615, no newline. */
static void test_case_6(void **state)
{
  static const struct {
    size_t n;
    uint64_t cap;
    size_t want;
    bool truncated;
  } rows[] = {
    { 100000, 1048576, 300002, false }, { 400000, 65536, 65534, true },   { 400000, 1048576, 1048574, true },
    { 100000, 300002, 300002, false },  { 100000, 300001, 299999, true },
  };
  static const char cup[] = { '\xe2', '\x98', '\x95' };
  static const size_t chunks[] = { 1000, 4096, 65536, 1u << 22 };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    struct mf_str raw = { NULL, 2 + 3 * rows[i].n };
    char *p = malloc(raw.len);
    p[0] = 'a';
    p[1] = 'b';
    for (size_t k = 0; k < rows[i].n; k++)
      memcpy(p + 2 + 3 * k, cup, sizeof(cup));
    raw.ptr = p;
    for (size_t k = 0; k < MF_ARRAY_N(chunks); k++) {
      bool truncated;
      struct mf_buf text = feed_all(raw, rows[i].cap, chunks[k], &truncated);
      assert_int_equal(text.len, rows[i].want);
      assert_int_equal(truncated, rows[i].truncated);
      assert_memory_equal(text.ptr, p, text.len); /* so no U+FFFD */
      mf_buf_done(&text);
    }
    free(p);
  }
}

/* A feeder with a raw cap of its own: the half character at its cut is forgotten, not repaired. */
static void test_drop(void **state)
{
  struct mf_output *o = mf_output_new(7);
  struct mf_str fresh;
  mf_output_feed(o, MF_STR("abcd\xf0\x9f\x98"), &fresh);
  assert_true(mf_str_is(fresh, "abcd"));
  assert_false(mf_output_is_truncated(o));
  mf_output_drop(o);
  assert_true(mf_output_is_truncated(o));
  mf_output_feed(o, MF_STR("x"), &fresh);
  assert_int_equal(fresh.len, 0);
  mf_output_finish(o, &fresh);
  assert_int_equal(fresh.len, 0);
  struct mf_buf text;
  mf_output_take(o, &text);
  assert_string_equal(text.ptr, "abcd");
  mf_buf_done(&text);
  mf_output_free(o);
}

/* Memory is bounded by the cap however much is fed, and a flood of single bytes costs no more than it must. */
static void test_flood_is_bounded(void **state)
{
  struct mf_output *o = mf_output_new(1000);
  char *junk = malloc(1u << 20);
  memset(junk, 0xff, 1u << 20);
  for (int i = 0; i < 256; i++)
    mf_output_feed(o, (struct mf_str){ junk, 1u << 20 }, NULL);
  for (int i = 0; i < 1000000; i++)
    mf_output_feed(o, (struct mf_str){ "a", 1 }, NULL);
  mf_output_finish(o, NULL);
  assert_true(mf_output_is_truncated(o));
  struct mf_buf text;
  mf_output_take(o, &text);
  assert_int_equal(text.len, 999);
  assert_true(text.cap <= 1001);
  mf_buf_done(&text);
  mf_output_free(o);
  free(junk);
}

static void test_take_leaves_nothing(void **state)
{
  struct mf_output *o = mf_output_new(10);
  mf_output_feed(o, MF_STR("abc"), NULL);
  struct mf_buf text;
  mf_output_take(o, &text);
  struct mf_str fresh;
  mf_output_feed(o, MF_STR("def"), &fresh);
  assert_int_equal(fresh.len, 0);
  assert_string_equal(text.ptr, "abc");
  mf_buf_done(&text);
  mf_output_free(o);
  mf_output_free(NULL);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_small),
    cmocka_unit_test(test_repair),
    cmocka_unit_test(test_stays_a_prefix),
    cmocka_unit_test(test_case_6),
    cmocka_unit_test(test_drop),
    cmocka_unit_test(test_flood_is_bounded),
    cmocka_unit_test(test_take_leaves_nothing),
  };
  return cmocka_run_group_tests_name("output", tests, NULL, NULL);
}

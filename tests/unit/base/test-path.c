/* Names from outside, and showing them. */
#include "unit.h"

#include <string.h>

#include "base/path.h"
#include "base/utf8.h"
#include "base/banned.h"

static void good_names(void **state)
{
  static const char *const names[] = {
    "a",
    "data.csv",
    "d/e/f.txt",
    ".hidden",
    "...",
    "a..b",
    "..a",
    "a.",
    "with space",
    "quote'\"\\back",
    "~",
    "-rf",
    "周一/最高气温.png",
    "1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16",
    "\xc2\xa0", /* the first after the controls */
  };
  for (size_t i = 0; i < MF_ARRAY_N(names); i++) {
    struct mf_err err = { 0 };
    assert_ok(mf_name_check(mf_str_of(names[i]), "file", &err), &err);
  }
}

static void bad_names(void **state)
{
  static const struct {
    struct mf_str name;
    const char *msg;
  } rows[] = {
    { MF_STR(""), "file: the name '' is empty" },
    { MF_STR("/etc/passwd"), "file: the name '/etc/passwd' is not relative" },
    { MF_STR("."), "file: the name '.' has a '.' or '..' part" },
    { MF_STR(".."), "file: the name '..' has a '.' or '..' part" },
    { MF_STR("a/.."), "file: the name 'a/..' has a '.' or '..' part" },
    { MF_STR("../a"), "file: the name '../a' has a '.' or '..' part" },
    { MF_STR("a/./b"), "file: the name 'a/./b' has a '.' or '..' part" },
    { MF_STR("a//b"), "file: the name 'a//b' has an empty part" },
    { MF_STR("a/"), "file: the name 'a/' has an empty part" },
    { MF_STR("a\0b"), "file: the name 'a\\x00b' has a control character" },
    { MF_STR("a\nb"), "file: the name 'a\\x0ab' has a control character" },
    { MF_STR("a\x7f"), "file: the name 'a\\x7f' has a control character" },
    /* clang-format off */
    { MF_STR("\xc2\x9b" "2J"), "file: the name '\\xc2\\x9b2J' has a control character" },
    /* clang-format on */
    { MF_STR("a\xff"), "file: the name 'a\\xff' is not valid UTF-8" },
    { MF_STR("\xc0\xae\xc0\xae/a"), "file: the name '\\xc0\\xae\\xc0\\xae/a' is not valid UTF-8" },
    { MF_STR("\xed\xa0\x80"), "file: the name '\\xed\\xa0\\x80' is not valid UTF-8" },
    { MF_STR("1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17"),
      "file: the name '1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17' has more than 16 parts" },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    struct mf_err err = { 0 };
    assert_int_equal(mf_name_check(rows[i].name, "file", &err), MF_E_INPUT);
    assert_string_equal(err.msg, rows[i].msg);
  }
}

static void lengths(void **state)
{
  char name[1025];
  memset(name, 'a', sizeof(name));
  assert_int_equal(mf_name_check((struct mf_str){ name, 255 }, "file", NULL), MF_OK);
  assert_int_equal(mf_name_check((struct mf_str){ name, 256 }, "file", NULL), MF_E_INPUT);
  name[255] = name[511] = name[767] = '/';
  assert_int_equal(mf_name_check((struct mf_str){ name, 1023 }, "file", NULL), MF_OK);
  assert_int_equal(mf_name_check((struct mf_str){ name, 1024 }, "file", NULL), MF_E_INPUT);
}

static void escapes(void **state)
{
  static const struct {
    struct mf_str in;
    size_t n;
    const char *out;
  } rows[] = {
    { MF_STR("plain ☕"), 100, "plain ☕" },
    { MF_STR("a'b\"c\\d"), 100, "a\\x27b\\x22c\\x5cd" },
    { MF_STR("\0\x1b\x7f"), 100, "\\x00\\x1b\\x7f" },
    { MF_STR("\xc2\x9b"
             "1m"),
      100, "\\xc2\\x9b1m" }, /* the one-character form of ESC [ */
    { MF_STR("\xc2\xa0"), 100, "\xc2\xa0" },
    { MF_STR("\xe2\x98"), 100, "\\xe2\\x98" },
    { MF_STR("abc"), 4, "abc" },
    { MF_STR("abcd"), 4, "…" },
    { MF_STR("abcde"), 5, "a…" },
    { MF_STR("abcdefgh"), 7, "abc…" },
    { MF_STR("a\xff"
             "bcdef"),
      8, "a…" },
    { MF_STR("☕☕☕"), 9, "☕…" },
    { MF_STR("abc"), 3, "" },
    { MF_STR("abc"), 1, "" },
    { MF_STR(""), 1, "" },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    char out[128];
    memset(out, '#', sizeof(out));
    mf_escape(rows[i].in, out, rows[i].n);
    assert_string_equal(out, rows[i].out);
    for (size_t k = rows[i].n; k < sizeof(out); k++)
      assert_int_equal(out[k], '#');
  }
  char untouched = '#';
  mf_escape(MF_STR("abc"), &untouched, 0);
  assert_int_equal(untouched, '#');
}

/* Whatever the bytes and the room, the outcome is valid text of printable characters. */
static void escaped_text_is_always_valid(void **state)
{
  char in[64], out[80];
  uint32_t seed = 1;
  for (int round = 0; round < 20000; round++) {
    for (size_t i = 0; i < sizeof(in); i++) {
      seed = seed * 1664525 + 1013904223;
      in[i] = (char)(seed >> 24);
    }
    size_t n = seed % sizeof(out) + 1;
    mf_escape((struct mf_str){ in, (seed >> 8) % sizeof(in) }, out, n);
    assert_true(strlen(out) < n);
    assert_true(mf_utf8_is_valid(mf_str_of(out)));
    for (const char *c = out; *c; c++)
      assert_true((unsigned char)*c >= 0x20 && *c != 0x7f);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(good_names),
    cmocka_unit_test(bad_names),
    cmocka_unit_test(lengths),
    cmocka_unit_test(escapes),
    cmocka_unit_test(escaped_text_is_always_valid),
  };
  return cmocka_run_group_tests_name("base/path", tests, NULL, NULL);
}

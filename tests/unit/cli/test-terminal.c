/* What of a stranger's text a terminal may see. */
#include "unit.h"

#include <string.h>

#include "terminal.h"

struct row {
  const char *in, *out;
};

static const struct row rows[] = {
  { "plain\ttext\r\n", "plain\ttext\r\n" },
  { "gr\xc3\xbc\xc3\x9f \xe4\xba\x8c \xf0\x9f\x8d\x8e \xc2\xa0\xc2\xbb",
    "gr\xc3\xbc\xc3\x9f \xe4\xba\x8c \xf0\x9f\x8d\x8e \xc2\xa0\xc2\xbb" },
  /* Colours pass and are ended. */
  { "\x1b[31mred", "\x1b[31mred\x1b[0m" },
  { "\x1b[31mred\x1b[0m\n", "\x1b[31mred\x1b[0m\n" },
  { "\x1b[31mred\x1b[m\n", "\x1b[31mred\x1b[m\n" },
  { "\x1b[m\x1b[1;38;5;208m\x1b[38:2::1:2:3mx", "\x1b[m\x1b[1;38;5;208m\x1b[38:2::1:2:3mx\x1b[0m" },
  /* The clipboard, the title, the screen, a question that the terminal would answer. */
  { "\x1b]52;c;ZXZpbA==\x07", "\\x1b]52;c;ZXZpbA==\\x07" },
  { "\x1b]0;title\x1b\\", "\\x1b]0;title\\x1b\\" },
  { "\x1b[2J\x1b[H", "\\x1b[2J\\x1b[H" },
  { "\x1b[6n\x1b[?1049h\x1b[>4m\x1bP+q\x1b"
    "c",
    "\\x1b[6n\\x1b[?1049h\\x1b[>4m\\x1bP+q\\x1bc" },
  { "\x1b\x1b[31m\x1b[\x1b[32m", "\\x1b\x1b[31m\\x1b[\x1b[32m\x1b[0m" },
  { "\x1b[3\n1m", "\\x1b[3\n1m" },
  { "\x1b[00000000000000000000000000000000000000000m", "\\x1b[00000000000000000000000000000000000000000m" },
  /* The same in one byte of Latin-1, as two of UTF-8. */
  { "\xc2\x9b"
    "31m \xc2\x9d"
    "52;c;\xc2\x9c",
    "\\x9b31m \\x9d52;c;\\x9c" },
  { "\x1b\xc2\x9b\x1b[1\xc2\xa9", "\\x1b\\x9b\\x1b[1\xc2\xa9" },
  { "\a\b\v\f\x0e\x0f\x7f", "\\x07\\x08\\x0b\\x0c\\x0e\\x0f\\x7f" },
  /* What never ended. */
  { "x\x1b", "x\\x1b" },
  { "x\x1b[1;", "x\\x1b[1;" },
};

static void feed(struct mf_terminal *t, const char *p, size_t n, struct mf_buf *out)
{
  assert_int_equal(mf_terminal_feed(t, (struct mf_str){ p, n }, out), MF_OK);
}

static void shows_what_is_text(void **state)
{
  (void)state;
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    size_t n = strlen(rows[i].in);
    /* In one piece, and cut at each place: what passes does not depend on how it comes. */
    for (size_t cut = 0; cut <= n; cut++) {
      struct mf_terminal t = { 0 };
      struct mf_buf out;
      mf_buf_init(&out, n * MF_TERMINAL_GROWTH + MF_TERMINAL_END_MAX);
      feed(&t, rows[i].in, cut, &out);
      feed(&t, rows[i].in + cut, n - cut, &out);
      assert_int_equal(mf_terminal_end(&t, &out), MF_OK);
      assert_string_equal(out.ptr, rows[i].out);
      mf_buf_done(&out);
    }
  }
}

/* Whatever bytes come: nothing but text and colours goes out, and no more than was promised. */
static void lets_nothing_else_pass(void **state)
{
  (void)state;
  static const char alphabet[] = "\x1b\x1b\x1b[[[1;m]\x07\n";
  uint32_t seed = 1;
  for (unsigned round = 0; round < 2000; round++) {
    char in[64];
    for (size_t i = 0; i < sizeof(in); i++) {
      seed = seed * 1664525u + 1013904223u;
      in[i] = alphabet[(seed >> 16) % (sizeof(alphabet) - 1)];
    }
    struct mf_terminal t = { 0 };
    struct mf_buf out;
    mf_buf_init(&out, sizeof(in) * MF_TERMINAL_GROWTH + MF_TERMINAL_END_MAX);
    feed(&t, in, sizeof(in), &out);
    assert_int_equal(mf_terminal_end(&t, &out), MF_OK);
    for (size_t i = 0; i < out.len; i++) {
      assert_true(out.ptr[i] >= 0x20 || out.ptr[i] == '\n' || out.ptr[i] == 0x1b);
      if (out.ptr[i] != 0x1b)
        continue;
      assert_int_equal(out.ptr[i + 1], '[');
      size_t n = strspn(out.ptr + i + 2, "0123456789;:");
      assert_int_equal(out.ptr[i + 2 + n], 'm');
    }
    mf_buf_done(&out);
  }
}

static void a_full_buffer_is_told(void **state)
{
  (void)state;
  struct mf_terminal t = { 0 };
  struct mf_buf out;
  mf_buf_init(&out, 3);
  assert_int_equal(mf_terminal_feed(&t, MF_STR("\a"), &out), MF_E_LIMIT);
  mf_buf_done(&out);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(shows_what_is_text),
    cmocka_unit_test(lets_nothing_else_pass),
    cmocka_unit_test(a_full_buffer_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

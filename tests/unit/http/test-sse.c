/* Server-sent events: what is written is read; the reader against the rules of the standard, cut at every byte. */
#include "unit.h"

#include <stdbool.h>
#include <stdlib.h>

#include "http/sse.h"
#include "base/banned.h"

/* Events as text: [type|data] one after the other, with line breaks shown as / . */
static void show(struct mf_sse_reader *r, struct mf_buf *out)
{
  struct mf_sse_event e;
  while (mf_sse_next(r, &e)) {
    size_t at = out->len;
    assert_int_equal(mf_buf_printf(out, "[%.*s|%.*s]", MF_STR_ARG(e.event), MF_STR_ARG(e.data)), MF_OK);
    for (; at < out->len; at++)
      if (out->ptr[at] == '\n')
        out->ptr[at] = '/';
  }
}

static void feed(struct mf_sse_reader *r, const char *p, size_t n)
{
  struct mf_err err = { 0 };
  /* A copy of its own, so that a read past the chunk is seen. */
  char *copy = mf_xmalloc(n);
  memcpy(copy, p, n);
  assert_ok(mf_sse_feed(r, (struct mf_str){ copy, n }, &err), &err);
  free(copy);
}

static void check_pieces(const char *in, size_t n, size_t a, size_t b, const char *want)
{
  struct mf_sse_reader *r = mf_sse_reader_new(1000);
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, 10000);
  feed(r, in, a);
  show(r, &out);
  feed(r, in + a, b - a);
  show(r, &out);
  feed(r, in + b, n - b);
  show(r, &out);
  mf_sse_finish(r);
  show(r, &out);
  mf_sse_finish(r);
  show(r, &out);
  assert_string_equal(out.ptr, want);
  mf_sse_reader_free(r);
}

/* Whole, cut at every two places, and byte by byte without looking in between. */
static void check(const char *in, const char *want)
{
  size_t n = strlen(in);
  for (size_t a = 0; a <= n; a++)
    for (size_t b = a; b <= n; b++)
      check_pieces(in, n, a, b, want);

  struct mf_sse_reader *r = mf_sse_reader_new(1000);
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, 10000);
  for (size_t i = 0; i < n; i++) {
    feed(r, in + i, 1);
    if (i % 7 == 0)
      show(r, &out);
  }
  mf_sse_finish(r);
  show(r, &out);
  assert_string_equal(out.ptr, want);
  mf_sse_reader_free(r);
}

static void line_ends(void **state)
{
  check("event: a\ndata: 1\n\nevent: b\ndata: 2\n\n", "[a|1][b|2]");
  check("event: a\r\ndata: 1\r\n\r\nevent: b\r\ndata: 2\r\n\r\n", "[a|1][b|2]");
  check("event: a\rdata: 1\r\revent: b\rdata: 2\r\r", "[a|1][b|2]");
  check("event: a\r\ndata: 1\n\r\ndata: 2\r\n\rdata: 3\n\n", "[a|1][|2][|3]");
}

static void fields(void **state)
{
  check("data\n\ndata:\n\ndata: \n\n", "[|][|][|]");
  check("data:x\n\ndata: x\n\ndata:  x \n\n", "[|x][|x][| x ]");
  check("data: a:b: c\n\n", "[|a:b: c]");
  check("data: 1\ndata: 2\ndata\ndata: 4\n\n", "[|1/2//4]");
  check("data: 1\nevent: late\n\ndata: 2\n\n", "[late|1][|2]");
  check("event: a\nevent: b\ndata: 1\n\nevent\ndata: 2\n\n", "[b|1][|2]");
  check("id: 7\nretry: 10\nother: x\n Data: y\nDATA: z\ndata : w\ndata: 1\n\n", "[|1]");
  check("data: [DONE]\n\n", "[|[DONE]]");
}

static void comments_and_empty_events(void **state)
{
  check(": keep-alive\n\n:\n\ndata: 1\n: in between\ndata: 2\n\n", "[|1/2]");
  check("\n\n\ndata: 1\n\n\n\n\n", "[|1]");
  check("event: a\n\ndata: 1\n\n", "[|1]"); /* a type without data is no event and does not last */
  check("", "");
  check("\r", "");
}

static void the_end_of_the_input(void **state)
{
  check("data: 1\n", "[|1]");
  check("event: a\ndata: 1", "[a|1]");
  check("data: 1\n\nevent: a", "[|1]");
  check("data: 1\n\ndata", "[|1][|]");
  check("data: 1\r", "[|1]");
}

static void byte_order_mark(void **state)
{
  check("\xef\xbb\xbf"
        "data: 1\n\n\xef\xbb\xbf"
        "data: 2\n\n",
        "[|1]");
  check("\xef\xbb\xbf", "");
  check("\xef\xbb"
        "data: 1\n\ndata: 2\n\n",
        "[|2]");
}

static void bytes_pass_unchanged(void **state)
{
  static const char in[] = "data: \0\xff\xc3\t\x01\n\n";
  struct mf_sse_reader *r = mf_sse_reader_new(100);
  feed(r, in, sizeof(in) - 1);
  struct mf_sse_event e;
  assert_true(mf_sse_next(r, &e));
  assert_int_equal(e.data.len, 5);
  assert_memory_equal(e.data.ptr, "\0\xff\xc3\t\x01", 5);
  assert_false(mf_sse_next(r, &e));
  mf_sse_reader_free(r);
}

/* ---- bounds ---- */

static void fill(struct mf_buf *b, size_t n)
{
  static const char block[1024] = { 0 };
  for (; n > 0; n -= MF_MIN(n, sizeof(block)))
    assert_int_equal(mf_buf_append(b, block, MF_MIN(n, sizeof(block))), MF_OK);
}

/* A line of exactly line_max bytes is read, one more is not; in pieces of `step`. */
static void check_line(size_t line_max, size_t n, size_t step, bool fits)
{
  mf_auto_buf struct mf_buf in;
  mf_buf_init(&in, n + 100);
  assert_int_equal(mf_buf_append_str(&in, MF_STR("data: 1\n\ndata:")), MF_OK);
  fill(&in, n - 5);
  memset(in.ptr + in.len - (n - 5), 'x', n - 5);
  assert_int_equal(mf_buf_append_str(&in, MF_STR("\n\ndata: 3\n\n")), MF_OK);

  struct mf_sse_reader *r = mf_sse_reader_new(line_max);
  struct mf_sse_event e;
  struct mf_err err = { 0 };
  enum mf_code code = MF_OK;
  unsigned seen = 0;
  for (size_t at = 0; at < in.len && code == MF_OK; at += step) {
    code = mf_sse_feed(r, (struct mf_str){ in.ptr + at, MF_MIN(step, in.len - at) }, &err);
    while (mf_sse_next(r, &e))
      if (++seen == 2)
        assert_int_equal(e.data.len, n - 5);
  }
  assert_int_equal(code, fits ? MF_OK : MF_E_LIMIT);
  assert_int_equal(seen, fits ? 3 : 1);
  if (!fits) {
    /* For ever. */
    assert_int_equal(mf_sse_feed(r, MF_STR("\n\ndata: 4\n\n"), &err), MF_E_LIMIT);
    assert_int_equal(mf_sse_feed(r, MF_STR(""), NULL), MF_E_LIMIT);
    mf_sse_finish(r);
    assert_false(mf_sse_next(r, &e));
    assert_non_null(strstr(err.msg, "exceeded"));
  }
  mf_sse_reader_free(r);
}

static void a_long_line(void **state)
{
  static const size_t steps[] = { 1, 7, 16384, SIZE_MAX / 2 };
  for (size_t i = 0; i < MF_ARRAY_N(steps); i++) {
    check_line(1000, 1000, steps[i], true);
    check_line(1000, 1001, steps[i], false);
  }
  check_line(16 * 1024 * 1024, 16 * 1024 * 1024, 16384, true);
  check_line(16 * 1024 * 1024, 16 * 1024 * 1024 + 1, 16384, false);
}

/* Many lines are bounded as one is: their data is one event's. */
static void a_long_event(void **state)
{
  struct mf_sse_reader *r = mf_sse_reader_new(100);
  struct mf_sse_event e;
  for (int i = 0; i < 10; i++) /* 10 * 9 and the breaks: 99 */
    assert_int_equal(mf_sse_feed(r, MF_STR("data: 123456789\n"), NULL), MF_OK);
  assert_int_equal(mf_sse_feed(r, MF_STR("\n"), NULL), MF_OK);
  assert_true(mf_sse_next(r, &e));
  assert_int_equal(e.data.len, 99);
  for (int i = 0; i < 10; i++)
    assert_int_equal(mf_sse_feed(r, MF_STR("data: 123456789\n"), NULL), MF_OK);
  assert_int_equal(mf_sse_feed(r, MF_STR("data: 1\n\n"), NULL), MF_E_LIMIT);
  assert_false(mf_sse_next(r, &e));
  mf_sse_reader_free(r);

  /* Comments are not kept. */
  r = mf_sse_reader_new(100);
  for (int i = 0; i < 100000; i++)
    assert_int_equal(mf_sse_feed(r, MF_STR(": nothing to say\n"), NULL), MF_OK);
  assert_false(mf_sse_next(r, &e));
  mf_sse_reader_free(r);
}

/* Linear in the input, whatever the line ends: this would take hours otherwise. */
static void many_lines_in_one_chunk(void **state)
{
  enum { N = 4 * 1024 * 1024 };
  char *in = mf_xmalloc(N);
  struct mf_sse_event e;
  for (int kind = 0; kind < 2; kind++) {
    memset(in, kind ? '\r' : '\n', N);
    struct mf_sse_reader *r = mf_sse_reader_new(100);
    feed(r, in, N);
    assert_false(mf_sse_next(r, &e));
    mf_sse_reader_free(r);
  }
  for (size_t i = 0; i + 8 <= N; i += 8)
    memcpy(in + i, "data:1\r\r", 8);
  struct mf_sse_reader *r = mf_sse_reader_new(100);
  feed(r, in, N);
  size_t n = 0;
  while (mf_sse_next(r, &e))
    n++;
  assert_int_equal(n, N / 8);
  mf_sse_reader_free(r);
  free(in);
}

/* ---- writing ---- */

static void written_exactly(void **state)
{
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, 1000);
  assert_int_equal(mf_sse_write(&out, MF_STR("response.created"), MF_STR("{\"a\":1}")), MF_OK);
  assert_int_equal(mf_sse_write(&out, (struct mf_str){ 0 }, MF_STR("[DONE]")), MF_OK);
  assert_int_equal(mf_sse_write(&out, MF_STR("e"), (struct mf_str){ 0 }), MF_OK);
  assert_string_equal(out.ptr, "event: response.created\ndata: {\"a\":1}\n\ndata: [DONE]\n\nevent: e\ndata: \n\n");
}

static void what_cannot_be_written(void **state)
{
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, 20);
  assert_int_equal(mf_sse_write(&out, MF_STR("a"), MF_STR("1")), MF_OK);
  assert_int_equal(out.len, 18);
  assert_int_equal(mf_sse_write(&out, (struct mf_str){ 0 }, MF_STR("2")), MF_E_LIMIT);
  assert_string_equal(out.ptr, "event: a\ndata: 1\n\n"); /* nothing of it */
  mf_buf_truncate(&out, 0);
  assert_int_equal(mf_sse_write(&out, MF_STR("a"), MF_STR("1\n2")), MF_E_INPUT);
  assert_int_equal(mf_sse_write(&out, MF_STR("a"), MF_STR("1\r")), MF_E_INPUT);
  assert_int_equal(mf_sse_write(&out, MF_STR("a\nb"), MF_STR("1")), MF_E_INPUT);
  assert_int_equal(out.len, 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(line_ends),
    cmocka_unit_test(fields),
    cmocka_unit_test(comments_and_empty_events),
    cmocka_unit_test(the_end_of_the_input),
    cmocka_unit_test(byte_order_mark),
    cmocka_unit_test(bytes_pass_unchanged),
    cmocka_unit_test(a_long_line),
    cmocka_unit_test(a_long_event),
    cmocka_unit_test(many_lines_in_one_chunk),
    cmocka_unit_test(written_exactly),
    cmocka_unit_test(what_cannot_be_written),
  };
  return cmocka_run_group_tests_name("http/sse", tests, NULL, NULL);
}

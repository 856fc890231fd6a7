/* Bodies of requests: the same bytes whatever the pieces, and an end that nobody can argue about. */
#include "unit.h"

#include "body.h"
#include "base/banned.h"

/* Decodes `text` offered in pieces of `step` bytes into room of `room` bytes. Returns how many bytes of it were taken.
 */
static size_t decode(struct mf_http_body *b, const char *text, size_t step, size_t room, char *out, size_t *ret_n,
                     enum mf_code *ret_code)
{
  size_t all = strlen(text), at = 0, end = 0, n = 0;
  *ret_code = MF_OK;
  while (*ret_code == MF_OK && !mf_http_body_is_done(b) && (at < end || end < all)) {
    if (at == end)
      end = MF_MIN(end + step, all);
    size_t used = 0, got = 0;
    *ret_code = mf_http_body_decode(b, (struct mf_str){ text + at, end - at }, &used, out + n, room, &got, NULL);
    at += used;
    n += got;
  }
  *ret_n = n;
  return at;
}

static struct mf_http_body chunks(void)
{
  struct mf_http_body b;
  mf_http_body_init(&b, &(struct mf_http_head){ .is_chunked = true });
  return b;
}

static void test_length(void **state)
{
  struct mf_http_body b;
  mf_http_body_init(&b, &(struct mf_http_head){ .content_length = 5 });
  assert_false(mf_http_body_is_done(&b));
  char out[16];
  size_t n;
  enum mf_code code;
  assert_int_equal(decode(&b, "helloGET /", 2, 3, out, &n, &code), 5);
  assert_int_equal(code, MF_OK);
  assert_int_equal(n, 5);
  assert_memory_equal(out, "hello", 5);
  assert_true(mf_http_body_is_done(&b));
  mf_http_body_init(&b, &(struct mf_http_head){ 0 });
  assert_true(mf_http_body_is_done(&b));
}

static void test_chunks_in_pieces(void **state)
{
  static const char text[] = "5;a=\"b\"\r\nhello\r\n0A\r\n0123456789\r\n1\r\n!\r\n000;x\r\nTrailer: v\r\nB:\r\n\r\n";
  static const char body[] = "hello0123456789!";
  for (size_t step = 1; step <= sizeof(text); step++)
    for (size_t room = 1; room < sizeof(body) + 1; room++) {
      struct mf_http_body b = chunks();
      char all[200], out[64];
      snprintf(all, sizeof(all), "%sGET /", text);
      size_t n;
      enum mf_code code;
      assert_int_equal(decode(&b, all, step, room, out, &n, &code), sizeof(text) - 1);
      assert_int_equal(code, MF_OK);
      assert_true(mf_http_body_is_done(&b));
      assert_int_equal(n, sizeof(body) - 1);
      assert_memory_equal(out, body, n);
    }
}

static void test_throwing_away(void **state)
{
  struct mf_http_body b = chunks();
  size_t used = 0, n = 0;
  struct mf_str in = MF_STR("5\r\nhello\r\n3\r\nabc\r\n0\r\n\r\n");
  assert_int_equal(mf_http_body_decode(&b, in, &used, NULL, SIZE_MAX, &n, NULL), MF_OK);
  assert_int_equal(used, in.len);
  assert_int_equal(n, 8);
  assert_true(mf_http_body_is_done(&b));
}

static void test_bad_chunks(void **state)
{
  static const char *const bad[] = {
    "x\r\n",
    "\r\n",
    "5 \r\nhello",
    " 5\r\nhello",
    "5\nhello",
    "5\rXhello",
    "+5\r\nhello",
    "0x5\r\nhello",
    "1000000000000000\r\nhello", /* sixteen digits */
    "5\r\nhelloX",
    "5\r\nhello\n",
    "5\r\nhello\rX",
    "5;a\nb\r\nhello",
    "5;a\x01\r\nhello",
    "5;a\rb\r\nhello",
    "0\r\n\n",
    "0\r\n\rX",
    "0\r\nA\r\n\r\n",
    "0\r\nA : b\r\n\r\n",
    "0\r\nA: b\n\r\n",
    "0\r\nA: b\r\n c\r\n\r\n",
    "0\r\n: b\r\n\r\n",
  };
  for (size_t i = 0; i < MF_ARRAY_N(bad); i++)
    for (size_t step = 1; step < 30; step++) {
      struct mf_http_body b = chunks();
      char out[64];
      size_t n;
      enum mf_code code;
      decode(&b, bad[i], step, sizeof(out), out, &n, &code);
      if (code != MF_E_INPUT)
        fail_msg("accepted in pieces of %zu: %s", step, bad[i]);
    }
}

static void test_overhead_is_bounded(void **state)
{
  /* A byte of data for every eighty of framing. */
  struct mf_http_body b = chunks();
  char chunk[128];
  memset(chunk, 'a', sizeof(chunk));
  chunk[0] = '1';
  chunk[1] = ';';
  chunk[80] = chunk[83] = '\r';
  chunk[81] = chunk[84] = '\n';
  enum mf_code code = MF_OK;
  size_t sent = 0;
  while (!code && sent < (1u << 20)) {
    size_t used = 0, n = 0;
    code = mf_http_body_decode(&b, (struct mf_str){ chunk, 85 }, &used, NULL, SIZE_MAX, &n, NULL);
    sent += 85;
  }
  assert_int_equal(code, MF_E_INPUT);
  /* Chunks of one byte without extensions are silly, and allowed. */
  b = chunks();
  for (unsigned i = 0; i < 100000; i++) {
    size_t used = 0, n = 0;
    assert_int_equal(mf_http_body_decode(&b, MF_STR("1\r\nx\r\n"), &used, NULL, SIZE_MAX, &n, NULL), MF_OK);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_length),     cmocka_unit_test(test_chunks_in_pieces),    cmocka_unit_test(test_throwing_away),
    cmocka_unit_test(test_bad_chunks), cmocka_unit_test(test_overhead_is_bounded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Heads of requests: where they end, what they mean, what is refused, in whatever pieces they come. The table of
 * refusals over the wire is in tests/integration/http-torture.py. */
#include "unit.h"

#include <stdlib.h>

#include "request.h"
#include "base/banned.h"

/* Scans text as it grows by `step` bytes; the outcome and how many bytes were there then. */
static enum mf_http_scanned scan_growing(const char *text, size_t step, size_t *ret_at, size_t *ret_n,
                                         struct mf_http_refusal *refusal)
{
  struct mf_http_scan s = { 0 };
  size_t all = strlen(text);
  enum mf_http_scanned scanned = MF_HTTP_SCAN_MORE;
  for (size_t at = 0; scanned == MF_HTTP_SCAN_MORE && at < all;) {
    at = MF_MIN(at + step, all);
    scanned = mf_http_head_scan(&s, (struct mf_str){ text, at }, ret_n, refusal);
    *ret_at = at;
  }
  return scanned;
}

static struct mf_http_head *parse(const char *text, struct mf_http_refusal *refusal)
{
  struct mf_http_scan s = { 0 };
  size_t n = 0;
  *refusal = (struct mf_http_refusal){ 0 };
  enum mf_http_scanned scanned = mf_http_head_scan(&s, mf_str_of(text), &n, refusal);
  assert_int_not_equal(scanned, MF_HTTP_SCAN_MORE);
  return scanned == MF_HTTP_SCAN_DONE ? mf_http_head_parse((struct mf_str){ text, n }, refusal) : NULL;
}

static struct mf_http_head *parse_good(const char *text)
{
  struct mf_http_refusal refusal;
  struct mf_http_head *h = parse(text, &refusal);
  if (!h) {
    fail_msg("refused with %d: %s", refusal.status, text);
    abort(); /* fail_msg does not come back, but its header does not tell the compiler */
  }
  return h;
}

static void assert_str(struct mf_str s, const char *z)
{
  if (!mf_str_is(s, z))
    fail_msg("expected '%s', got '%.*s'", z, MF_STR_ARG(s));
}

static void assert_refused(const char *text, int status, const char *why)
{
  struct mf_http_refusal refusal;
  struct mf_http_head *h = parse(text, &refusal);
  assert_null(h);
  assert_int_equal(refusal.status, status);
  assert_string_equal(refusal.why, why);
}

static void test_scan_ends_at_the_empty_line(void **state)
{
  static const char text[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\nGET /next";
  for (size_t step = 1; step < sizeof(text); step++) {
    struct mf_http_refusal refusal;
    size_t at, n = 0;
    assert_int_equal(scan_growing(text, step, &at, &n, &refusal), MF_HTTP_SCAN_DONE);
    assert_int_equal(n, strlen("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  }
}

static void test_scan_sees_faults_with_their_line(void **state)
{
  struct mf_http_refusal refusal;
  size_t at, n;
  assert_int_equal(scan_growing("\x16\x03\x01", 1, &at, &n, &refusal), MF_HTTP_SCAN_REFUSED);
  assert_int_equal(at, 1);
  assert_int_equal(scan_growing("GET / HTTP/1.1\nHost: x\r\n\r\n", 1, &at, &n, &refusal), MF_HTTP_SCAN_REFUSED);
  assert_int_equal(at, strlen("GET / HTTP/1.1\n"));
  assert_int_equal(scan_growing("GET / HTTP/3.0\r\nHost: x\r\n\r\n", 1, &at, &n, &refusal), MF_HTTP_SCAN_REFUSED);
  assert_int_equal(at, strlen("GET / HTTP/3.0\r\n"));
  assert_int_equal(refusal.status, 505);
  assert_int_equal(scan_growing("GET / HTTP/1.1\r\nHost: x\r\n y\r\n\r\n", 1, &at, &n, &refusal), MF_HTTP_SCAN_REFUSED);
  assert_int_equal(at, strlen("GET / HTTP/1.1\r\nHost: x\r\n y\r\n"));
}

/* A head of exactly so many bytes. */
static char *head_of(size_t n)
{
  static const char start[] = "GET / HTTP/1.1\r\nHost: x\r\nA: ";
  char *text = mf_xmalloc(n + 1);
  memset(text, 'a', n);
  memcpy(text, start, sizeof(start) - 1);
  memcpy(text + n - 4, "\r\n\r\n", 5);
  return text;
}

static void test_scan_is_bounded(void **state)
{
  struct mf_http_refusal refusal = { 0 };
  size_t at, n = 0;
  char *text = head_of(MF_HTTP_HEAD_MAX);
  assert_int_equal(scan_growing(text, 4096, &at, &n, &refusal), MF_HTTP_SCAN_DONE);
  assert_int_equal(n, MF_HTTP_HEAD_MAX);
  free(text);
  text = head_of(MF_HTTP_HEAD_MAX + 1);
  assert_int_equal(scan_growing(text, 4096, &at, &n, &refusal), MF_HTTP_SCAN_REFUSED);
  assert_int_equal(refusal.status, 431);
  free(text);
}

static void test_head_is_understood(void **state)
{
  struct mf_http_head *h =
      parse_good("\r\nPOST /a%20b/c?d=e?f HTTP/1.1\r\nhost: Example.com:80\r\nX: \t a b \t\r\nEmpty:\r\n"
                 "X: second\r\nContent-Length: 0012\r\nExpect: 100-Continue\r\n\r\n");
  assert_str(h->method, "POST");
  assert_str(h->path, "/a%20b/c");
  assert_str(h->query, "d=e?f");
  assert_int_equal(h->header_n, 6);
  assert_str(h->headers[0].name, "host");
  assert_str(mf_http_head_find(h, "HOST"), "Example.com:80");
  assert_str(mf_http_head_find(h, "x"), "a b");
  assert_str(mf_http_head_find(h, "empty"), "");
  assert_non_null(mf_http_head_find(h, "empty").ptr);
  assert_null(mf_http_head_find(h, "absent").ptr);
  assert_int_equal(h->content_length, 12);
  assert_true(h->keep_alive && h->expects_continue);
  assert_false(h->is_chunked || h->is_http_1_0 || h->is_head);
  mf_http_head_free(h);
}

static void test_keep_alive(void **state)
{
  static const struct {
    const char *text;
    bool keep;
  } cases[] = {
    { "GET / HTTP/1.1\r\nHost: x\r\n\r\n", true },
    { "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", false },
    { "GET / HTTP/1.1\r\nHost: x\r\nConnection: a, CLOSE , b\r\n\r\n", false },
    { "GET / HTTP/1.1\r\nHost: x\r\nConnection: a\r\nConnection: close\r\n\r\n", false },
    { "GET / HTTP/1.1\r\nHost: x\r\nConnection: closed\r\n\r\n", true },
    { "GET / HTTP/1.0\r\n\r\n", false },
    { "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true },
    { "GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", false },
  };
  for (size_t i = 0; i < MF_ARRAY_N(cases); i++) {
    struct mf_http_head *h = parse_good(cases[i].text);
    if (h->keep_alive != cases[i].keep)
      fail_msg("keep_alive of: %s", cases[i].text);
    mf_http_head_free(h);
  }
}

static void test_targets(void **state)
{
  static const struct {
    const char *text, *path, *query;
  } cases[] = {
    { "GET http://h HTTP/1.1\r\nHost: h\r\n\r\n", "/", "" },
    { "GET http://h?q HTTP/1.1\r\nHost: h\r\n\r\n", "/", "q" },
    { "GET HTTPS://H:1/p?q HTTP/1.1\r\nHost: h:1\r\n\r\n", "/p", "q" },
    { "GET http://[::1]/p HTTP/1.0\r\n\r\n", "/p", "" },
    { "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", "*", "" },
    { "GET //p HTTP/1.1\r\nHost: h\r\n\r\n", "//p", "" },
    { "GET /? HTTP/1.1\r\nHost: h\r\n\r\n", "/", "" },
    { "FROB /x HTTP/1.1\r\nHost: h\r\n\r\n", "/x", "" },
  };
  for (size_t i = 0; i < MF_ARRAY_N(cases); i++) {
    struct mf_http_refusal refusal;
    struct mf_http_head *h = parse(cases[i].text, &refusal);
    if (!h) {
      fail_msg("refused (%s): %s", refusal.why, cases[i].text);
      return;
    }
    assert_str(h->path, cases[i].path);
    assert_str(h->query, cases[i].query);
    mf_http_head_free(h);
  }
}

static void test_refusals_say_why(void **state)
{
  assert_refused("GET / HTTP/1.1\r\n\r\n", 400, "missing Host");
  assert_refused("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400, "more than one Host");
  assert_refused("GET / HTTP/1.1\r\nHost: a,b/\r\n\r\n", 400, "malformed Host");
  assert_refused("GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", 400, "malformed Host");
  assert_refused("GET / HTTP/1.1\r\nHost: a:b\r\n\r\n", 400, "malformed Host");
  assert_refused("GET http://a/ HTTP/1.1\r\nHost: b\r\n\r\n", 400, "Host differs from the request target");
  assert_refused("GET x HTTP/1.1\r\nHost: a\r\n\r\n", 400, "malformed request");
  assert_refused("GET /#x HTTP/1.1\r\nHost: a\r\n\r\n", 400, "malformed request line");
  assert_refused("GET / HTTP/1.1\r\nHost: a\r\n\tb: c\r\n\r\n", 400, "folded header fields are not allowed");
  assert_refused("GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400, "malformed header field");
  assert_refused("GET / HTTP/1.1\r\nHost: a\n\r\n", 400, "lines must end with CRLF");
  assert_refused("GET / HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n", 417, "unknown expectation");
  assert_refused("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 400,
                 "the only transfer coding here is chunked");
  assert_refused("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400,
                 "Transfer-Encoding in an HTTP/1.0 request");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_scan_ends_at_the_empty_line),
    cmocka_unit_test(test_scan_sees_faults_with_their_line),
    cmocka_unit_test(test_scan_is_bounded),
    cmocka_unit_test(test_head_is_understood),
    cmocka_unit_test(test_keep_alive),
    cmocka_unit_test(test_targets),
    cmocka_unit_test(test_refusals_say_why),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

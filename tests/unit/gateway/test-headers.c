/* Which headers pass through. */
#include "unit.h"

#include "headers.h"
#include "base/banned.h"

#define H(name, value)                                                                                                 \
  {                                                                                                                    \
    { name, sizeof(name) - 1 },                                                                                        \
    {                                                                                                                  \
      value, sizeof(value) - 1                                                                                         \
    }                                                                                                                  \
  }

static const struct mf_http_header from_client[] = {
  H("Host", "gateway"),
  H("Authorization", "Bearer x"),
  H("X-API-Key", "x"),
  H("Cookie", "id=1"),
  H("Content-Type", "application/json"),
  H("Content-Length", "2"),
  H("Connection", "close, X-Private"),
  H("connection", "x-other"),
  H("X-Private", "1"),
  H("x-OTHER", "1"),
  H("TE", "trailers"),
  H("Expect", "100-continue"),
  H("Proxy-Authorization", "Basic x"),
  H("Upgrade", "h2c"),
  H("X-Kept", "1"),
  H("X-Kept", "2"),
};

static void expect_names(const struct mf_http_header *h, size_t n, const char *const *names, size_t name_n)
{
  assert_int_equal(n, name_n);
  for (size_t i = 0; i < n; i++)
    assert_true(mf_str_is(h[i].name, names[i]));
}

static void test_to_upstream(void **state)
{
  struct mf_http_header out[32];
  static const char *const all[] = { "Authorization", "X-API-Key", "Cookie", "Content-Type", "X-Kept", "X-Kept" };
  size_t n = mf_gw_headers_to_upstream(from_client, MF_ARRAY_N(from_client), true, out, MF_ARRAY_N(out));
  expect_names(out, n, all, MF_ARRAY_N(all));
  static const char *const open[] = { "Content-Type", "X-Kept", "X-Kept" };
  n = mf_gw_headers_to_upstream(from_client, MF_ARRAY_N(from_client), false, out, MF_ARRAY_N(out));
  expect_names(out, n, open, MF_ARRAY_N(open));
  assert_int_equal(mf_gw_headers_to_upstream(from_client, MF_ARRAY_N(from_client), true, out, 2), 2);
}

static void test_to_client(void **state)
{
  static const struct mf_http_header in[] = {
    H("Content-Type", "text/html"),
    H("Content-Length", "5"),
    H("Transfer-Encoding", "chunked"),
    H("Keep-Alive", "timeout=5"),
    H("Access-Control-Allow-Origin", "*"),
    H("access-control-allow-credentials", "true"),
    H("Retry-After", "3"),
    H("x-request-id", "up_1"),
  };
  struct mf_http_header out[32];
  static const char *const kept[] = { "Content-Type", "Retry-After", "x-request-id" };
  size_t n = mf_gw_headers_to_client(in, MF_ARRAY_N(in), out, MF_ARRAY_N(out));
  expect_names(out, n, kept, MF_ARRAY_N(kept));
  assert_true(mf_str_is(mf_gw_headers_find(out, n, "RETRY-after")->value, "3"));
  assert_null(mf_gw_headers_find(out, n, "retry"));
}

int main(void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test(test_to_upstream), cmocka_unit_test(test_to_client) };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What every request meets: unknown paths and methods, CORS, foreign hosts; readiness, metrics, the document. */
#include "house.h"

#include "base/banned.h"

static void expect(struct house *h, const struct ask *a, int status, const char *line, const char *text)
{
  struct reply r;
  house_ask(h, a, &r);
  assert_int_equal(r.code, MF_OK);
  if (r.status != status)
    fail_msg("%s %s: %d %s", a->method, a->path, r.status, r.body.ptr);
  if (line && !reply_has(&r, line))
    fail_msg("no '%s' in\n%s", line, r.head);
  if (!strstr(r.body.ptr, text))
    fail_msg("no '%s' in %s", text, r.body.ptr);
  assert_non_null(strstr(r.head, "x-request-id: req_"));
  reply_done(&r);
}

#define ASK(m, p, ...)                                                                                                 \
  &(const struct ask)                                                                                                  \
  {                                                                                                                    \
    .method = m, .path = p, __VA_ARGS__                                                                                \
  }

static void test_unknown(void **state)
{
  struct house h;
  house_open(&h, &(struct mf_gateway_config){ 0 });
  expect(&h, ASK("GET", "/nothing"), 404, NULL,
         "{\"error\":{\"message\":\"Unknown request URL: GET /nothing.\",\"type\":\"invalid_request_error\","
         "\"param\":null,\"code\":\"unknown_url\"}}");
  expect(&h, ASK("PUT", "/v1/responses/x"), 405, "Allow: GET, HEAD, DELETE, OPTIONS", "method_not_allowed");
  expect(&h, ASK("GET", "/v1/responses"), 405, "Allow: POST, OPTIONS", "method_not_allowed");
  expect(&h, ASK("TRACE", "/health"), 405, "Allow: GET, HEAD, OPTIONS", "method_not_allowed");
  expect(&h, ASK("OPTIONS", "/v1/responses"), 204, "Allow: POST, OPTIONS", "");
  expect(&h, ASK("OPTIONS", "/nothing"), 404, NULL, "unknown_url");
  expect(&h, ASK("GET", "/openapi.json"), 404, NULL, "does not publish");
  house_close(&h);
}

static void test_cors(void **state)
{
  static const char *const origins[] = { "https://app.example" };
  static const char *const keys[] = { "k" };
  struct house h;
  struct reply r;
  house_open(
      &h, &(struct mf_gateway_config){ .cors_origins = origins, .cors_origin_n = 1, .api_keys = keys, .api_key_n = 1 });
  /* The preflight comes without the key. */
  const struct ask preflight = { .method = "OPTIONS",
                                 .path = "/v1/responses",
                                 .headers = { "Origin", "https://app.example", "Access-Control-Request-Method", "POST",
                                              "Access-Control-Request-Headers", "authorization, x-odd" } };
  house_ask(&h, &preflight, &r);
  assert_int_equal(r.status, 204);
  assert_true(reply_has(&r, "Access-Control-Allow-Origin: https://app.example"));
  assert_true(reply_has(&r, "Access-Control-Allow-Methods: POST, OPTIONS"));
  assert_true(reply_has(&r, "Access-Control-Allow-Headers: authorization, x-odd"));
  assert_true(reply_has(&r, "Vary: Origin"));
  reply_done(&r);
  /* An error can be read by the page, too. */
  expect(&h, ASK("POST", "/v1/responses", .headers = { "Origin", "https://app.example" }), 401,
         "Access-Control-Allow-Origin: https://app.example", "missing bearer token");
  house_ask(&h, ASK("GET", "/health", .headers = { "Origin", "https://evil.example" }), &r);
  assert_int_equal(r.status, 200);
  assert_null(strstr(r.head, "Access-Control"));
  assert_true(reply_has(&r, "Vary: Origin"));
  reply_done(&r);
  house_close(&h);

  house_open(&h, &(struct mf_gateway_config){ 0 });
  house_ask(&h, &preflight, &r);
  assert_int_equal(r.status, 204);
  assert_null(strstr(r.head, "Access-Control"));
  reply_done(&r);
  house_close(&h);
}

static void test_host(void **state)
{
  struct house h;
  house_open(&h, &(struct mf_gateway_config){ .check_host = true });
  expect(&h, ASK("GET", "/health"), 200, NULL, "");
  expect(&h, ASK("GET", "/health", .headers = { "Host", "evil.example:80" }), 403, NULL, "'evil.example:80'");
  expect(&h, ASK("POST", "/v1/responses", .body = "json ok", .headers = { "Origin", "https://evil.example" }), 403,
         NULL, "'https://evil.example'");
  expect(&h, ASK("OPTIONS", "/v1/responses", .headers = { "Origin", "null" }), 403, NULL, "foreign_origin");
  assert_int_equal(fake_turns.started, 0);
  house_close(&h);
}

static void test_ready(void **state)
{
  struct house h;
  house_open(&h, &(struct mf_gateway_config){ .openai_api_key = "upstream-key" });
  expect(&h, ASK("GET", "/ready"), 200, NULL, "");
  assert_non_null(strstr(h.saw, "Authorization: Bearer upstream-key"));
  h.health_status = 500;
  expect(&h, ASK("GET", "/ready"), 503, NULL, "");
  h.health_status = 204;
  expect(&h, ASK("HEAD", "/ready"), 200, NULL, "");
  assert_int_equal(h.health_n, 3);
  h.health_status = 0; /* hangs: the answer is "no" after 2 s, and the probe is over */
  expect(&h, ASK("GET", "/ready"), 503, NULL, "");
  h.health_status = 200;
  expect(&h, ASK("GET", "/ready"), 200, NULL, "");
  house_close(&h);

  house_open(&h, &(struct mf_gateway_config){ .skip_llm_ready_check = true });
  h.health_status = 500;
  expect(&h, ASK("GET", "/ready"), 200, NULL, "");
  assert_int_equal(h.health_n, 0);
  house_close(&h);
}

/* While a probe runs the others get the last answer. */
struct second {
  struct house *h;
  struct mf_timer *timer;
  struct mf_http_call *call;
  unsigned done;
  int status;
};

static void ask_second(void *user)
{
  struct second *s = user;
  struct mf_fiber *self = mf_fiber_self(s->h->loop);
  mf_auto_free char *url = mf_xasprintf("%s/ready", s->h->base);
  const struct mf_http_request request = { .url = url };
  while (s->h->health_n == 0)
    if (mf_fiber_sleep(self, 1000000) != MF_OK)
      break;
  if (mf_http_call_open(s->h->client, self, &request, &s->call, NULL) == MF_OK) {
    s->status = mf_http_call_status(s->call);
    mf_http_call_close(s->call);
  }
  s->done = 1;
}

static void test_one_probe(void **state)
{
  struct house h;
  house_open(&h, &(struct mf_gateway_config){ 0 });
  h.health_status = 0;
  struct second s = { .h = &h };
  assert_int_equal(mf_fiber_start(h.loop, ask_second, &s, 0, NULL, NULL), MF_OK);
  expect(&h, ASK("GET", "/ready"), 503, NULL, "");
  assert_int_equal(s.done, 1); /* it had its answer before the first */
  assert_int_equal(s.status, 503);
  assert_int_equal(h.health_n, 1);
  house_close(&h);
}

static void test_metrics(void **state)
{
  struct house h;
  house_open(&h, &(struct mf_gateway_config){ 0 });
  assert_int_equal(house_status(&h, ASK("GET", "/secret-path")), 404);
  assert_int_equal(house_status(&h, ASK("GET", "/v1/responses/secret-id")), 404);
  assert_int_equal(house_status(&h, ASK("POST", "/v1/responses", .body = "stream ok")), 200);
  struct reply r;
  house_ask(&h, ASK("GET", "/metrics"), &r);
  assert_int_equal(r.status, 200);
  assert_true(reply_has(&r, "Content-Type: text/plain; version=0.0.4; charset=utf-8"));
  static const char *const lines[] = {
    "mayfly_build_info{version=\"1.2.3\"} 1\n",
    "mayfly_http_requests_total{method=\"GET\",route=\"/v1/responses/{id}\",status=\"404\"} 1\n",
    "mayfly_http_requests_total{method=\"\",route=\"\",status=\"404\"} 1\n",
    "mayfly_http_requests_total{method=\"POST\",route=\"/v1/responses\",status=\"200\"} 1\n",
    "mayfly_http_request_seconds_bucket{method=\"POST\",route=\"/v1/responses\",le=\"+Inf\"} 1\n",
    "mayfly_http_request_seconds_count{method=\"POST\",route=\"/v1/responses\"} 1\n",
    "mayfly_http_requests_in_flight 1\n",
    "mayfly_turns_total{end=\"response\"} 1\n",
    "mayfly_first_event_seconds_bucket{le=\"+Inf\"} 1\n",
    "mayfly_first_event_seconds_count 1\n",
    "mayfly_ready 0\n",
  };
  for (size_t i = 0; i < MF_ARRAY_N(lines); i++)
    if (!strstr(r.body.ptr, lines[i]))
      fail_msg("no %s in\n%s", lines[i], r.body.ptr);
  assert_null(strstr(r.body.ptr, "secret"));
  reply_done(&r);
  house_close(&h);
}

static void test_document(void **state)
{
  struct house h;
  house_open(&h, &(struct mf_gateway_config){ .openapi_docs = true });
  expect(&h, ASK("GET", "/openapi.json"), 200, "Content-Type: application/json", "\"version\": \"1.2.3\"");
  house_close(&h);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_unknown),  cmocka_unit_test(test_cors),      cmocka_unit_test(test_host),
    cmocka_unit_test(test_ready),    cmocka_unit_test(test_one_probe), cmocka_unit_test(test_metrics),
    cmocka_unit_test(test_document),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

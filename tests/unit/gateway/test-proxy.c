/* The raw proxy: what goes to upstream, what comes back, and what upstream can do wrong. */
#include "house.h"

#include "base/banned.h"

#define CHAT(text, ...)                                                                                                \
  &(const struct ask)                                                                                                  \
  {                                                                                                                    \
    .method = "POST", .path = "/v1/chat/completions", .body = text, __VA_ARGS__                                        \
  }

static bool saw(const struct house *h, const char *line)
{
  const char *at = strstr(h->saw, line);
  return at && (at == h->saw || at[-1] == '\n') && at[strlen(line)] == '\n';
}

static void test_passes_on(void **state)
{
  struct house h;
  struct reply r;
  house_open(&h, &(struct mf_gateway_config){ 0 });
  house_ask(
      &h, CHAT("{\"x\": 1 }", .headers = { "X-Kept", "1", "Authorization", "Bearer mine", "Content-Type", "text/odd" }),
      &r);
  assert_int_equal(r.status, 200);
  assert_string_equal(r.body.ptr, "{\"from\":\"upstream\"}");
  assert_true(reply_has(&r, "Retry-After: 9"));
  assert_true(reply_has(&r, "X-Request-Id: up_1"));
  assert_true(reply_has(&r, "Content-Length: 19"));
  assert_null(strstr(r.head, "Access-Control"));
  assert_string_equal(h.saw_body, "{\"x\": 1 }");
  assert_true(saw(&h, "POST /v1/chat/completions?"));
  assert_true(saw(&h, "X-Kept: 1"));
  assert_true(saw(&h, "Authorization: Bearer mine"));
  assert_true(saw(&h, "Content-Type: text/odd"));
  reply_done(&r);

  assert_int_equal(house_status(&h, &(const struct ask){ .method = "GET", .path = "/v1/models?a=b%20c" }), 200);
  assert_true(saw(&h, "GET /v1/models?a=b%20c"));
  assert_int_equal(
      house_status(&h, &(const struct ask){ .method = "POST", .path = "/v1/completions", .body = "limit" }), 429);
  assert_int_equal(house_status(&h, &(const struct ask){ .method = "POST", .path = "/v1/responses", .body = "proxy" }),
                   200);
  assert_true(saw(&h, "POST /v1/responses?"));
  assert_string_equal(h.saw_body, "proxy");
  assert_int_equal(fake_turns.started, 0);
  house_ask(&h, &(const struct ask){ .method = "HEAD", .path = "/v1/models" }, &r);
  assert_int_equal(r.status, 200);
  assert_int_equal(r.body.len, 0);
  reply_done(&r);
  house_close(&h);
}

static void test_events(void **state)
{
  struct house h;
  struct reply r;
  house_open(&h, &(struct mf_gateway_config){ 0 });
  house_ask(&h, CHAT("events"), &r);
  assert_int_equal(r.code, MF_OK);
  assert_int_equal(r.status, 200);
  assert_true(reply_has(&r, "X-Accel-Buffering: no"));
  assert_true(reply_has(&r, "Content-Type: text/event-stream"));
  assert_string_equal(r.body.ptr, "data: 1\n\n");
  reply_done(&r);
  house_close(&h);
}

/* Whose key goes upstream. */
static void test_keys(void **state)
{
  static const char *const keys[] = { "gateway-key" };
  struct house h;
  house_open(&h, &(struct mf_gateway_config){ .openai_api_key = "upstream-key" });
  assert_int_equal(house_status(&h, CHAT("x")), 200);
  assert_true(saw(&h, "Authorization: Bearer upstream-key"));
  assert_int_equal(house_status(&h, CHAT("x", .headers = { "Authorization", "Bearer mine" })), 200);
  assert_true(saw(&h, "Authorization: Bearer mine"));
  assert_null(strstr(h.saw, "upstream-key"));
  assert_int_equal(house_status(&h, CHAT("x", .headers = { "Authorization", "Basic bWluZQ==" })), 200);
  assert_true(saw(&h, "Authorization: Bearer upstream-key"));
  assert_null(strstr(h.saw, "Basic"));
  house_close(&h);

  house_open(&h, &(struct mf_gateway_config){ .openai_api_key = "upstream-key", .api_keys = keys, .api_key_n = 1 });
  assert_int_equal(house_status(&h, CHAT("x")), 401);
  assert_int_equal(
      house_status(&h, CHAT("x", .headers = { "Authorization", "Bearer gateway-key", "X-Api-Key", "gateway-key" })),
      200);
  assert_true(saw(&h, "Authorization: Bearer upstream-key"));
  assert_null(strstr(h.saw, "gateway-key"));
  house_close(&h);

  house_open(&h, &(struct mf_gateway_config){ .api_keys = keys, .api_key_n = 1 });
  assert_int_equal(house_status(&h, CHAT("x", .headers = { "Authorization", "Bearer gateway-key" })), 200);
  assert_null(strstr(h.saw, "Authorization"));
  house_close(&h);
}

static void expect_error(struct house *h, const char *body, int status, const char *text)
{
  struct reply r;
  house_ask(h, CHAT(body), &r);
  assert_int_equal(r.status, status);
  assert_string_equal(r.body.ptr, text);
  reply_done(&r);
}

#define UNAVAILABLE                                                                                                    \
  "{\"error\":{\"message\":\"LLM unavailable\",\"type\":\"api_error\",\"param\":null,\"code\":\"llm_unavailable\"}}"
#define TIMED_OUT                                                                                                      \
  "{\"error\":{\"message\":\"LLM timeout\",\"type\":\"api_error\",\"param\":null,\"code\":\"llm_timeout\"}}"

static void test_failures(void **state)
{
  struct house h;
  struct reply r;
  house_open(&h, &(struct mf_gateway_config){ 0 });
  expect_error(&h, "reset", 502, UNAVAILABLE);
  h.agent.config.chunk_timeout_ms = 50;
  expect_error(&h, "hang", 504, TIMED_OUT);
  h.agent.config.chunk_timeout_ms = 0;
  house_ask(&h, CHAT("events cut"), &r);
  assert_int_equal(r.status, 200);
  assert_int_equal(r.code, MF_E_GONE); /* the client sees that it was cut */
  assert_string_equal(r.body.ptr, "data: 1\n\n");
  reply_done(&r);
  h.agent.config.llm_api_base = "http://127.0.0.1:1";
  expect_error(&h, "x", 502, UNAVAILABLE);
  assert_int_equal(h.agent.stats.upstream_errors, 3);
  house_close(&h);
}

/* A client that stops reading stops upstream. */
static void test_back_pressure(void **state)
{
  struct house h;
  struct reply r;
  house_open(&h, &(struct mf_gateway_config){ 0 });
  house_ask(&h, CHAT("events flood", .leave_after = 1 << 20, .holds = &h.flooded), &r);
  assert_true(r.body.len >= 1 << 20);
  assert_true(h.flooded < 64u << 20);
  reply_done(&r);
  house_close(&h); /* returns: upstream's flood has ended, because its client has left */
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_passes_on), cmocka_unit_test(test_events),        cmocka_unit_test(test_keys),
    cmocka_unit_test(test_failures),  cmocka_unit_test(test_back_pressure),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

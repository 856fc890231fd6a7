/* POST /v1/responses: a turn as JSON, as events, as an error, as upstream's answer; clients that leave or read slowly.
 */
#include "house.h"

#include "base/banned.h"

#define POST(text, ...)                                                                                                \
  &(const struct ask)                                                                                                  \
  {                                                                                                                    \
    .method = "POST", .path = "/v1/responses", .body = text, __VA_ARGS__                                               \
  }

static void expect_post(struct house *h, const char *body, int status, const char *header, const char *text)
{
  struct reply r;
  house_ask(h, POST(body), &r);
  assert_int_equal(r.code, MF_OK);
  assert_int_equal(r.status, status);
  if (!reply_has(&r, header))
    fail_msg("no '%s' in\n%s", header, r.head);
  assert_string_equal(r.body.ptr, text);
  reply_done(&r);
}

static void test_answers(void **state)
{
  struct house h;
  house_open(&h, &(struct mf_gateway_config){ 0 });
  expect_post(&h, "json ok", 200, "Content-Type: application/json", "{\"id\":\"resp_1\",\"object\":\"response\"}");
  expect_post(&h, "json early", 404, "Content-Type: application/json",
              "{\"error\":{\"message\":\"no such parent\",\"type\":\"not_found\",\"code\":\"not_found\"}}");
  expect_post(&h, "bad", 400, "Content-Type: application/json",
              "{\"error\":{\"message\":\"bad from the start\",\"type\":\"invalid_request_error\","
              "\"code\":\"invalid_value\",\"param\":\"tools[0].type\"}}");
  expect_post(&h, "json verbatim", 429, "retry-after: 7", "slow down");
  expect_post(&h, "json verbatim impossible", 502, "Content-Type: application/json",
              "{\"error\":{\"message\":\"LLM unavailable\",\"type\":\"api_error\",\"param\":null,"
              "\"code\":\"llm_unavailable\"}}");
  house_close(&h);
}

static void test_streams(void **state)
{
  struct house h;
  house_open(&h, &(struct mf_gateway_config){ 0 });
  expect_post(&h, "stream ok", 200, "Content-Type: text/event-stream; charset=utf-8",
              "event: response.created\ndata: {\"sequence_number\":0}\n\n"
              "event: response.completed\ndata: {\"sequence_number\":1}\n\ndata: [DONE]\n\n");
  expect_post(&h, "stream ok", 200, "Cache-Control: no-cache",
              "event: response.created\ndata: {\"sequence_number\":0}\n\n"
              "event: response.completed\ndata: {\"sequence_number\":1}\n\ndata: [DONE]\n\n");
  expect_post(&h, "stream late", 200, "X-Accel-Buffering: no",
              "event: response.created\ndata: {\"sequence_number\":0}\n\n"
              "event: error\ndata: {\"type\":\"error\"}\n\ndata: [DONE]\n\n");
  expect_post(&h, "stream early", 404, "Content-Type: application/json",
              "{\"error\":{\"message\":\"no such parent\",\"type\":\"not_found\",\"code\":\"not_found\"}}");
  house_close(&h);
}

/* Upstream's id of the request stays, and ours has another name. */
static void test_request_ids(void **state)
{
  struct house h;
  struct reply r;
  house_open(&h, &(struct mf_gateway_config){ 0 });
  house_ask(&h, POST("json ok"), &r);
  assert_non_null(strstr(r.head, "x-request-id: req_"));
  reply_done(&r);
  house_ask(&h, POST("json verbatim"), &r);
  assert_true(reply_has(&r, "x-request-id: up_1"));
  assert_non_null(strstr(r.head, "x-mayfly-request-id: req_"));
  reply_done(&r);
  house_close(&h);
}

static void test_whose_key(void **state)
{
  static const char *const keys[] = { "gateway-key" };
  struct house h;
  house_open(&h, &(struct mf_gateway_config){ 0 });
  assert_int_equal(house_status(&h, POST("json ok", .headers = { "Authorization", "Bearer mine" })), 200);
  assert_string_equal(fake_turns.bearer, "mine");
  assert_int_equal(house_status(&h, POST("json ok", .headers = { "Authorization", "Basic bWluZQ==" })), 200);
  assert_string_equal(fake_turns.bearer, "");
  house_close(&h);

  house_open(&h, &(struct mf_gateway_config){ .api_keys = keys, .api_key_n = 1 });
  assert_int_equal(house_status(&h, POST("json ok")), 401);
  assert_int_equal(house_status(&h, POST("json ok", .headers = { "Authorization", "Bearer mine" })), 401);
  assert_int_equal(fake_turns.started, 0);
  assert_int_equal(house_status(&h, POST("json ok", .headers = { "Authorization", "Bearer gateway-key" })), 200);
  assert_int_equal(fake_turns.started, 1);
  assert_string_equal(fake_turns.bearer, "");
  house_close(&h);
}

static void test_large_body(void **state)
{
  static char body[2000];
  struct house h;
  memset(body, 'x', sizeof(body) - 1);
  house_open(&h, &(struct mf_gateway_config){ .http = { .body_bytes_max = 1000 } });
  expect_post(&h, body, 413, "Content-Type: application/json",
              "{\"error\":{\"message\":\"request body too large\",\"type\":\"api_error\",\"param\":null,"
              "\"code\":\"body_too_large\"}}");
  assert_int_equal(fake_turns.started, 0);
  house_close(&h);
}

static void settle(struct house *h, const unsigned *what, unsigned n)
{
  /* Any later request gives the loop the turns that the cancelled fiber needs. */
  for (unsigned i = 0; i < 1000 && *what < n; i++)
    assert_int_equal(house_status(h, &(const struct ask){ .path = "/health" }), 200);
  assert_int_equal(*what, n);
}

static void test_client_leaves(void **state)
{
  struct house h;
  struct reply r;
  house_open(&h, &(struct mf_gateway_config){ 0 });
  house_ask(&h, POST("stream hang", .leave_after = 10), &r);
  assert_int_equal(r.status, 200);
  reply_done(&r);
  settle(&h, &fake_turns.ended, 1);
  assert_int_equal(h.agent.stats.by_end[MF_TURN_CANCELLED], 1);
  house_close(&h);
}

/* A client that takes nothing holds the turn in its sink; what was made meanwhile is bounded. */
static void test_slow_reader(void **state)
{
  struct house h;
  struct reply r;
  house_open(&h, &(struct mf_gateway_config){ 0 });
  house_ask(&h, POST("stream flood", .leave_after = 1 << 20, .holds = &fake_turns.events), &r);
  assert_true(r.body.len >= 1 << 20);
  reply_done(&r);
  settle(&h, &fake_turns.ended, 1);
  assert_true(fake_turns.sink_code == MF_E_GONE || fake_turns.sink_code == MF_E_CANCELLED);
  assert_true(fake_turns.events < 4096); /* 32 MiB */
  house_close(&h);
}

/* A turn that does not end is cancelled at the deadline. */
static void on_stopped(void *user)
{
  struct house *h = user;
  h->stopped++;
  mf_loop_stop(h->loop);
}

struct stopper {
  struct house *h;
  struct mf_timer *timer;
};

static void stop_now(void *user)
{
  struct stopper *s = user;
  if (fake_turns.started == 0) { /* not there yet */
    mf_timer_arm(s->timer, 0);
    return;
  }
  mf_gateway_stop(s->h->gateway, 1, on_stopped, s->h);
}

static void test_stop(void **state)
{
  struct house h;
  struct reply r;
  house_open(&h, &(struct mf_gateway_config){ 0 });
  struct stopper s = { .h = &h };
  assert_int_equal(mf_timer_new(h.loop, stop_now, &s, &s.timer, NULL), MF_OK);
  mf_timer_arm(s.timer, 0);
  house_ask(&h, POST("json hang"), &r);
  assert_int_equal(r.status, 503);
  reply_done(&r);
  house_run_until(&h, &h.stopped, 1);
  assert_int_equal(fake_turns.ended, 1);
  mf_timer_free(s.timer);
  mf_gateway_free(h.gateway);
  h.gateway = NULL;
  house_close(&h);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_answers),     cmocka_unit_test(test_streams),    cmocka_unit_test(test_request_ids),
    cmocka_unit_test(test_whose_key),   cmocka_unit_test(test_large_body), cmocka_unit_test(test_client_leaves),
    cmocka_unit_test(test_slow_reader), cmocka_unit_test(test_stop),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What upstream may do wrong, and what the client hears of it. */
#include "harness.h"

#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "base/banned.h"

#define CI "'tools':[{'type':'code_interpreter','container':{'type':'auto'}}]"
#define CALL(code) "{'name':'code_interpreter','arguments':{'code':'" code "'}}"
#define ASK "{'model':'m','input':'hi'," CI "}"
#define ASK_STREAM "{'model':'m','input':'hi','stream':true," CI "}"

static void expect_error(const struct bench *b, int status, const char *type, const char *code, const char *message)
{
  assert_int_equal(b->result.end, MF_TURN_ERROR);
  assert_int_equal(b->result.error.status, status);
  assert_string_equal(b->result.error.type, type);
  assert_string_equal(b->result.error.code, code);
  if (!strstr(b->result.error.message, message))
    fail_msg("'%s' is not in '%s'", message, b->result.error.message);
}

/* The last event of a stream is the error itself, in both forms. */
static void expect_error_event(const struct bench *b, int status, const char *type, const char *code,
                               const char *message)
{
  expect_error(b, status, type, code, message);
  assert_true(b->result.is_sent);
  char number[16];
  snprintf(number, sizeof(number), "%d", status);
  assert_string_equal(event_at(b, b->event_n - 1, "type"), "error");
  assert_string_equal(event_at(b, b->event_n - 1, "status"), number);
  assert_string_equal(event_at(b, b->event_n - 1, "error.type"), type);
  assert_string_equal(event_at(b, b->event_n - 1, "error.code"), code);
  assert_string_equal(event_at(b, b->event_n - 1, "code"), code);
  assert_string_equal(event_at(b, b->event_n - 1, "message"), b->result.error.message);
}

static void expect_failed(struct bench *b)
{
  assert_string_equal(payload_at(b, "status"), "failed");
  assert_true(strlen(payload_at(b, "error.code")) > 0);
  assert_true(strlen(payload_at(b, "error.message")) > 0);
  assert_string_equal(payload_at(b, "completed_at"), "null");
  assert_false(bench_is_stored(b, NULL));
  if (b->event_n > 0)
    assert_string_equal(b->events[b->event_n - 1].type, "response.failed");
}

/* ---- before the first event ---- */

static void test_refuse(void **state)
{
  struct bench b;
  bench_open(&b, "{'rounds':[{'text':'x','fault':'refuse'}],'loop':true}");
  bench_run(&b, ASK);
  expect_error(&b, 502, "upstream_error", "upstream_error", "LLM unavailable");
  bench_run(&b, ASK_STREAM);
  expect_error_event(&b, 502, "upstream_error", "upstream_error", "LLM unavailable");
  expect_types(&b, "error");
  assert_int_equal(b.agent.stats.upstream_errors, 2);
  assert_int_equal(b.agent.stats.by_end[MF_TURN_ERROR], 2);
  bench_close(&b);
}

static void test_nobody_there(void **state)
{
  struct bench b;
  bench_open(&b, "{'rounds':[{'text':'x'}]}");
  b.agent.config.llm_api_base = "http://127.0.0.1:1";
  bench_run(&b, ASK);
  expect_error(&b, 502, "upstream_error", "upstream_error", "LLM unavailable");
  b.agent.config.llm_api_base = "no such thing";
  bench_run(&b, ASK_STREAM);
  expect_error_event(&b, 502, "upstream_error", "upstream_error", "LLM unavailable");
  bench_close(&b);
}

static bool has_header(const struct bench *b, const char *name, const char *value)
{
  for (size_t i = 0; i < b->result.upstream_header_n; i++)
    if (strncasecmp(b->result.upstream_headers[i].name.ptr, name, strlen(name)) == 0 &&
        b->result.upstream_headers[i].name.len == strlen(name))
      return !value || mf_str_is(b->result.upstream_headers[i].value, value);
  return false;
}

/* Its answer goes to the client as it is, but for what belongs to the connection. */
static void test_verbatim(void **state)
{
  struct bench b;
  bench_open(&b, "{'rounds':[{'status':429,'headers':{'Retry-After':'7','X-Request-Id':'r1','Keep-Alive':'timeout=5'},"
                 "'body':{'error':{'message':'slow'}}}],'loop':true}");
  bench_run(&b, ASK);
  assert_int_equal(b.result.end, MF_TURN_VERBATIM);
  assert_int_equal(b.result.upstream_status, 429);
  assert_string_equal(b.result.upstream_body.ptr, "{\"error\":{\"message\":\"slow\"}}");
  assert_true(has_header(&b, "retry-after", "7"));
  assert_true(has_header(&b, "x-request-id", "r1"));
  assert_true(has_header(&b, "content-type", "application/json"));
  static const char *const hop_by_hop[] = { "connection", "keep-alive", "transfer-encoding", "content-length" };
  for (size_t i = 0; i < MF_ARRAY_N(hop_by_hop); i++)
    assert_false(has_header(&b, hop_by_hop[i], NULL));
  bench_run(&b, ASK_STREAM);
  expect_error_event(&b, 429, "upstream_error", "upstream_error",
                     "LLM request failed (429 Too Many Requests): {\"error\":{\"message\":\"slow\"}}");
  bench_close(&b);
}

static void test_redirect(void **state)
{
  struct bench b;
  bench_open(&b, "{'rounds':[{'status':307,'headers':{'Location':'http://127.0.0.1:1/'},'body':''}],'loop':true}");
  bench_run(&b, ASK);
  assert_int_equal(b.result.end, MF_TURN_VERBATIM);
  assert_int_equal(b.result.upstream_status, 307);
  bench_run(&b, ASK_STREAM);
  expect_error_event(&b, 307, "upstream_error", "upstream_error", "LLM request failed (307 Temporary Redirect)");
  bench_close(&b);
}

static void test_large_error_body(void **state)
{
  struct bench b;
  mf_auto_free char *large = mf_xcalloc(1, (2u << 20) + 1);
  memset(large, 'x', 2u << 20);
  mf_auto_free char *scenario = mf_xasprintf("{'rounds':[{'status':500,'body':'%s'}],'loop':true}", large);
  bench_open(&b, scenario);
  bench_run(&b, ASK);
  expect_error(&b, 502, "upstream_error", "response_resource_limit_exceeded", "exceeded 1048576 bytes");
  bench_close(&b);
}

/* ---- in the middle ---- */

static void test_hang(void **state)
{
  struct bench b;
  bench_open(&b, "{'rounds':[{'text':'Hello there, this is a text','fault':'hang'}],'loop':true}");
  b.agent.config.chunk_timeout_ms = 50;
  bench_run(&b, ASK);
  expect_error(&b, 504, "upstream_error", "upstream_error", "LLM timeout");
  bench_run(&b, ASK_STREAM);
  expect_error_event(&b, 504, "upstream_error", "upstream_error", "LLM timeout");
  assert_string_equal(b.events[0].type, "response.created");
  assert_false(bench_is_stored(&b, NULL));
  bench_close(&b);
}

/* Cut or reset: a failed response, never a completed one; what was open is closed. */
static void test_cut(void **state)
{
  static const char *const faults[] = { "cut", "reset_mid_event" };
  for (size_t i = 0; i < MF_ARRAY_N(faults); i++) {
    struct bench b;
    mf_auto_free char *scenario =
        mf_xasprintf("{'rounds':[{'text':'Hello there, this is a text','fault':'%s'}],'loop':true}", faults[i]);
    bench_open(&b, scenario);
    bench_run(&b, ASK_STREAM);
    expect_failed(&b);
    assert_string_equal(payload_at(&b, "error.message"), "upstream stream ended without a terminal event");
    bench_run(&b, ASK);
    if (i == 0)
      expect_error(&b, 400, "invalid_request_error", "invalid_request_error", "json error: ");
    else
      expect_error(&b, 502, "upstream_error", "upstream_error", "LLM unavailable");
    bench_close(&b);
  }
}

/* The calls of a round that was cut are not run. */
static void test_cut_call(void **state)
{
  struct bench b;
  bench_open(&b, "{'rounds':[{'events':["
                 "{'type':'response.output_item.added','output_index':0,'item':{'type':'function_call','id':'fc_1',"
                 "'call_id':'c1','name':'code_interpreter','arguments':'','status':'in_progress'}},"
                 "{'type':'response.output_item.done','output_index':0,'item':{'type':'function_call','id':'fc_1',"
                 "'call_id':'c1','name':'code_interpreter','arguments':'{}','status':'completed'}},"
                 "{'type':'response.output_item.added','output_index':1,'item':{'type':'message','id':'msg_1',"
                 "'role':'assistant','status':'in_progress','content':[]}}]}]}");
  bench_run(&b, ASK_STREAM);
  expect_failed(&b);
  expect_types(&b, "created in_progress output_item.added output_item.done failed");
  assert_string_equal(payload_at(&b, "output.0.id"), "msg_1");
  assert_string_equal(payload_at(&b, "output.0.status"), "incomplete");
  assert_int_equal(b.fake.start_n, 0);
  bench_close(&b);
}

static void test_html(void **state)
{
  struct bench b;
  bench_open(&b, "{'rounds':[{'text':'x','fault':'html'}],'loop':true}");
  bench_run(&b, ASK);
  expect_error(&b, 400, "invalid_request_error", "invalid_request_error", "json error: ");
  bench_run(&b, ASK_STREAM);
  expect_failed(&b);
  expect_types(&b, "created in_progress failed");
  bench_close(&b);
}

static void test_huge_line(void **state)
{
  struct bench b;
  bench_open(&b, "{'rounds':[{'text':'x','fault':'huge_line'}],'loop':true}");
  b.agent.config.upstream_line_max = 1u << 20;
  bench_run(&b, ASK_STREAM);
  expect_error_event(&b, 502, "upstream_error", "response_resource_limit_exceeded",
                     "upstream SSE line exceeded 1048576 bytes");
  b.agent.config.upstream_json_max = 1u << 20;
  bench_run(&b, ASK);
  expect_error(&b, 502, "upstream_error", "response_resource_limit_exceeded",
               "upstream JSON body exceeded 1048576 bytes");
  bench_close(&b);
}

/* What it calls its answer is not what counts. */
static void test_wrong_type(void **state)
{
  static const char *const faults[] = { "wrong_type", "no_done", "crlf" };
  for (size_t i = 0; i < MF_ARRAY_N(faults); i++) {
    struct bench b;
    mf_auto_free char *scenario =
        mf_xasprintf("{'rounds':[{'text':'Hello','fault':'%s','split':'every 7 bytes'}],'loop':true}", faults[i]);
    bench_open(&b, scenario);
    bench_run(&b, ASK_STREAM);
    assert_string_equal(payload_at(&b, "status"), "completed");
    assert_string_equal(payload_at(&b, "output.0.content.0.text"), "Hello");
    bench_run(&b, ASK);
    assert_string_equal(payload_at(&b, "output.0.content.0.text"), "Hello");
    bench_close(&b);
  }
}

static void test_retained(void **state)
{
  struct bench b;
  mf_auto_free char *large = mf_xcalloc(1, 40001);
  memset(large, 'x', 40000);
  mf_auto_free char *scenario = mf_xasprintf("{'rounds':[{'text':'%s'}],'loop':true}", large);
  bench_open(&b, scenario);
  b.agent.config.retained_max = 30000;
  bench_run(&b, ASK);
  expect_error(&b, 500, "server_error", "response_resource_limit_exceeded", "30000 bytes");
  bench_run(&b, ASK_STREAM);
  expect_error_event(&b, 500, "server_error", "response_resource_limit_exceeded", "30000 bytes");
  b.agent.config.retained_max = 1u << 20;
  b.agent.config.event_max = 30000;
  bench_run(&b, ASK_STREAM);
  expect_error_event(&b, 500, "server_error", "response_resource_limit_exceeded", "exceeded 30000 bytes");
  bench_close(&b);
}

static void test_contradiction(void **state)
{
  struct bench b;
  bench_open(&b, "{'rounds':[{'events':["
                 "{'type':'response.output_item.added','output_index':0,'item':{'type':'message','id':'msg_1'}},"
                 "{'type':'response.output_item.added','output_index':0,'item':{'type':'message','id':'msg_2'}}]}]}");
  bench_run(&b, ASK_STREAM);
  expect_error_event(&b, 502, "upstream_error", "upstream_error", "conflicting item opening at output_index 0");
  bench_close(&b);
}

/* ---- what the response says of itself ---- */

static void test_failed(void **state)
{
  static const char scenario[] = "{'rounds':[{'calls':[" CALL(
      "print(1)") "]},{'events':[{'type':'response.failed','response':{'id':'r','status':"
                  "'failed','output':[],'error':{'code':'server_error','message':'bad'},'usage':{'input_tokens':10,"
                  "'output_tokens':5,'total_tokens':15}}}]}],'pick':'turn'}";
  struct bench b;
  bench_open(&b, scenario);
  for (int i = 0; i < 2; i++) {
    bench_run(&b, i ? ASK_STREAM : ASK);
    expect_failed(&b);
    assert_string_equal(payload_at(&b, "error.message"), "bad");
    assert_string_equal(payload_at(&b, "output.0.outputs.0.logs"), "1\n");
    assert_string_equal(payload_at(&b, "usage.total_tokens"), "30");
  }
  bench_close(&b);
}

/* An error that clients could not read becomes one. */
static void test_failed_words(void **state)
{
  struct bench b;
  bench_open(&b, "{'rounds':[{'body':{'status':'failed','output':[],'error':{'code':500,'x':1}}},"
                 "{'body':{'error':'out of memory'}}]}");
  bench_run(&b, ASK);
  expect_failed(&b);
  assert_string_equal(payload_at(&b, "error.code"), "server_error");
  assert_string_equal(payload_at(&b, "error.x"), "1");
  bench_run(&b, ASK);
  expect_failed(&b);
  assert_string_equal(payload_at(&b, "error.message"), "out of memory");
  bench_close(&b);
}

/* Upstream's error event ends the response, too. */
static void test_error_event(void **state)
{
  struct bench b;
  bench_open(&b, "{'rounds':[{'events':[{'type':'error','code':'rate_limit_exceeded','message':'later','param':null}]"
                 "}]}");
  bench_run(&b, ASK_STREAM);
  expect_failed(&b);
  assert_string_equal(payload_at(&b, "error.code"), "rate_limit_exceeded");
  bench_close(&b);
}

/* The calls of an incomplete round still run; there is no other round. */
static void test_incomplete(void **state)
{
  static const char item[] = "{'type':'function_call','id':'fc_1','call_id':'c1','name':'code_interpreter',"
                             "'arguments':'{\\'code\\':\\'print(5)\\'}','status':'completed'}";
  mf_auto_free char *scenario =
      mf_xasprintf("{'rounds':[{'events':[{'type':'response.output_item.done','output_index':0,'item':%s},"
                   "{'type':'response.incomplete','response':{'status':'incomplete','output':[%s],"
                   "'incomplete_details':{'reason':'max_output_tokens'}}}]}],'loop':true}",
                   item, item);
  struct bench b;
  bench_open(&b, scenario);
  for (int i = 0; i < 2; i++) {
    bench_run(&b, i ? ASK_STREAM : ASK);
    assert_string_equal(payload_at(&b, "status"), "incomplete");
    assert_string_equal(payload_at(&b, "incomplete_details.reason"), "max_output_tokens");
    assert_string_equal(payload_at(&b, "output.0.outputs.0.logs"), "5\n");
    assert_true(bench_is_stored(&b, NULL));
    assert_int_equal(bench_seen_n(&b), (size_t)i + 1);
  }
  assert_string_equal(b.events[b.event_n - 1].type, "response.incomplete");
  bench_close(&b);
}

/* A second round that is refused: what was done before is lost in JSON, and stays seen in a stream. */
static void test_second_round(void **state)
{
  struct bench b;
  bench_open(&b, "{'rounds':[{'calls':[" CALL("print(1)") "]},{'status':500,'body':{'error':{'message':'boom'}}}],"
                                                          "'pick':'turn'}");
  bench_run(&b, ASK);
  assert_int_equal(b.result.end, MF_TURN_VERBATIM);
  assert_int_equal(b.result.upstream_status, 500);
  bench_run(&b, ASK_STREAM);
  expect_error_event(&b, 500, "upstream_error", "upstream_error", "LLM request failed (500 Internal Server Error): ");
  assert_int_equal(b.event_n, 10);
  assert_false(bench_is_stored(&b, NULL));
  bench_close(&b);
}

/* ---- storing ---- */

/* The database's file is gone: no terminal event says otherwise. */
static void test_cannot_store(void **state)
{
  char path[] = "/tmp/mf-turn-XXXXXX";
  struct bench b;
  struct mf_err err = { 0 };
  bench_open(&b, "{'rounds':[{'text':'x'}],'loop':true}");
  struct mf_storage *good = b.agent.storage;
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  assert_ok(mf_storage_open(b.loop, b.pool, path, &b.agent.storage, &err), &err);
  assert_int_equal(unlink(path), 0);
  bench_run(&b, ASK);
  expect_error(&b, 500, "server_error", "server_error", "failed to persist response");
  bench_run(&b, ASK_STREAM);
  expect_error_event(&b, 500, "server_error", "server_error", "failed to persist response");
  expect_types(&b, "created in_progress output_item.added content_part.added output_text.delta output_text.done "
                   "content_part.done output_item.done error");
  mf_storage_close(b.agent.storage);
  b.agent.storage = good;
  static const char *const beside[] = { "-wal", "-shm" };
  for (size_t i = 0; i < MF_ARRAY_N(beside); i++) {
    mf_auto_free char *name = mf_xasprintf("%s%s", path, beside[i]);
    unlink(name);
  }
  bench_close(&b);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_refuse),        cmocka_unit_test(test_nobody_there),     cmocka_unit_test(test_verbatim),
    cmocka_unit_test(test_redirect),      cmocka_unit_test(test_large_error_body), cmocka_unit_test(test_hang),
    cmocka_unit_test(test_cut),           cmocka_unit_test(test_cut_call),         cmocka_unit_test(test_html),
    cmocka_unit_test(test_huge_line),     cmocka_unit_test(test_wrong_type),       cmocka_unit_test(test_retained),
    cmocka_unit_test(test_contradiction), cmocka_unit_test(test_failed),           cmocka_unit_test(test_failed_words),
    cmocka_unit_test(test_error_event),   cmocka_unit_test(test_incomplete),       cmocka_unit_test(test_second_round),
    cmocka_unit_test(test_cannot_store),
  };
  return cmocka_run_group_tests_name("agent/faults", tests, NULL, NULL);
}

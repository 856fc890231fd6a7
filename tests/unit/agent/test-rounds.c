/* Rounds: what goes to the client, what is kept, when it ends. */
#include "harness.h"

#include <stdlib.h>

#include "base/banned.h"

#define CI "'tools':[{'type':'code_interpreter','container':{'type':'auto'}}]"
#define CALL(code) "{'name':'code_interpreter','arguments':{'code':'" code "'}}"
#define F "{'type':'function','name':'f','parameters':{'type':'object','properties':{}}}"
#define MIXED_TOOLS "'tools':[{'type':'code_interpreter','container':{'type':'auto'}}," F "]"

#define TEXT_EVENTS                                                                                                    \
  "output_item.added content_part.added output_text.delta output_text.done content_part.done output_item.done"
#define CI_START                                                                                                       \
  "output_item.added code_interpreter_call.in_progress code_interpreter_call_code.delta "                              \
  "code_interpreter_call_code.done code_interpreter_call.interpreting"
#define CI_END "code_interpreter_call.completed output_item.done"
#define F_EVENTS "output_item.added function_call_arguments.delta function_call_arguments.done output_item.done"

#define expect_at(b, path, want) assert_string_equal(payload_at(b, path), want)

/* The body of the n-th request that the model has had. */
static char *asked(struct bench *b, size_t n)
{
  mf_auto_json struct mf_json *doc = bench_seen(b);
  const struct mf_json_val *body = mf_json_get(mf_json_at(mf_json_get(mf_json_root(doc), "requests"), n), "body");
  assert_non_null(body);
  struct mf_buf text;
  struct mf_json_writer w;
  mf_buf_init(&text, 1u << 26);
  mf_jw_init(&w, &text, false);
  mf_jw_val(&w, body);
  return mf_buf_take(&text, NULL);
}

/* Stream and JSON alike: the terminal response, the reply and what GET gives are one object. */
static void expect_stored(struct bench *b)
{
  mf_auto_buf struct mf_buf stored = { 0 };
  assert_true(bench_is_stored(b, &stored));
  assert_string_equal(stored.ptr, b->result.payload.ptr);
  if (b->event_n == 0)
    return;
  mf_auto_free char *want = mf_xasprintf("\"response\":%s}", stored.ptr);
  const char *last = b->events[b->event_n - 1].json;
  assert_true(strlen(last) > strlen(want));
  assert_string_equal(last + strlen(last) - strlen(want), want);
}

static void test_text(void **state)
{
  struct bench b;
  bench_open(&b, "{'rounds':[{'text':'Hello'},{'text':'Hello'}]}");
  bench_run(&b, "{'model':'m','input':'hi'}");
  expect_at(&b, "status", "completed");
  expect_at(&b, "output.0.content.0.text", "Hello");
  expect_at(&b, "model", "m");
  expect_at(&b, "usage.total_tokens", "15");
  expect_at(&b, "parallel_tool_calls", "true");
  expect_at(&b, "tools", "[]");
  expect_at(&b, "tool_choice", "auto");
  expect_at(&b, "conversation_id", "null");
  expect_at(&b, "store", "true");
  assert_true(strlen(payload_at(&b, "completed_at")) >= 10);
  assert_int_equal(b.event_n, 0);
  expect_stored(&b);

  bench_run(&b, "{'model':'m','input':'hi','stream':true,'store':true}");
  expect_types(&b, "created in_progress " TEXT_EVENTS " completed");
  expect_stored(&b);
  bench_close(&b);
}

/* The contract's members come first, in its order; each of OpenAI's is there, and none twice. */
static void test_members(void **state)
{
  static const char *const first[] = { "id",
                                       "object",
                                       "created_at",
                                       "model",
                                       "status",
                                       "output",
                                       "usage",
                                       "incomplete_details",
                                       "error",
                                       "previous_response_id",
                                       "conversation_id",
                                       "instructions" };
  static const char *const others[] = { "frequency_penalty", "presence_penalty",
                                        "background",        "completed_at",
                                        "max_output_tokens", "max_tool_calls",
                                        "metadata",          "parallel_tool_calls",
                                        "prompt_cache_key",  "reasoning",
                                        "safety_identifier", "store",
                                        "temperature",       "text",
                                        "tool_choice",       "tools",
                                        "top_logprobs",      "top_p",
                                        "truncation" };
  const struct mf_json_limits limits = { SIZE_MAX, 64 };
  struct bench b;
  bench_open(&b, "{'rounds':[{'text':'a'}]}");
  bench_run(&b, "{'model':'m','input':'hi','temperature':0.25,'parallel_tool_calls':false,'metadata':{'k':'v'},"
                "'instructions':'be brief','user':'u1','tool_choice':'none','tools':[{'type':'function','name':'f'}]}");
  mf_auto_json struct mf_json *doc = NULL;
  assert_int_equal(mf_json_parse(mf_buf_str(&b.result.payload), &limits, &doc, NULL), MF_OK);
  struct mf_json_iter it = mf_json_iter(mf_json_root(doc));
  for (size_t i = 0; i < MF_ARRAY_N(first); i++) {
    assert_true(mf_json_next(&it));
    assert_true(mf_str_is(it.key, first[i]));
  }
  for (size_t i = 0; i < MF_ARRAY_N(others); i++)
    if (!mf_json_get(mf_json_root(doc), others[i]))
      fail_msg("%s is missing", others[i]);
  expect_at(&b, "temperature", "0.25");
  expect_at(&b, "parallel_tool_calls", "false");
  expect_at(&b, "metadata.k", "v");
  expect_at(&b, "instructions", "be brief");
  expect_at(&b, "user", "u1");
  expect_at(&b, "tool_choice", "none");
  expect_at(&b, "tools.0", "{\"type\":\"function\",\"name\":\"f\",\"parameters\":null,\"strict\":null}");
  bench_close(&b);
}

static void test_seven_events(void **state)
{
  struct bench b;
  bench_open(&b, "{'rounds':[{'reasoning':'think','calls':[" CALL("print(42)") "]},{'text':'It is 42'}]}");
  bench_run(&b, "{'model':'m','input':'hi','stream':true," CI "}");
  expect_types(&b, "created in_progress "
                   "output_item.added content_part.added reasoning_text.delta reasoning_text.done content_part.done "
                   "output_item.done " CI_START " " CI_END " " TEXT_EVENTS " completed");
  expect_at(&b, "output.1.type", "code_interpreter_call");
  expect_at(&b, "output.1.outputs.0.logs", "42\n");
  expect_at(&b, "output.1.status", "completed");
  expect_at(&b, "output.2.type", "message");
  expect_at(&b, "usage.total_tokens", "30");
  expect_at(&b, "usage.input_tokens_details.cache_write_tokens", "0");
  expect_at(&b, "tools.0.container.type", "auto");
  assert_string_equal(event_at(&b, 10, "delta"), "print(42)");
  expect_stored(&b);

  mf_auto_free char *first = asked(&b, 0);
  mf_auto_free char *second = asked(&b, 1);
  assert_string_equal(json_at(first, "tools.0.name"), "code_interpreter");
  assert_string_equal(json_at(second, "input.1.type"), "reasoning");
  assert_string_equal(json_at(second, "input.2.type"), "function_call");
  assert_string_equal(json_at(second, "input.3.type"), "function_call_output");
  assert_string_equal(json_at(second, "input.3.output"),
                      "{\"status\":\"completed\",\"stdout\":\"42\\n\",\"stderr\":\"\"}");
  assert_string_equal(json_at(second, "input.4"), "");
  mf_auto_json struct mf_json *seen = bench_seen(&b);
  assert_int_equal(mf_json_len(mf_json_get(mf_json_root(seen), "requests")), 2);
  bench_close(&b);
}

/* Two calls side by side: both begin before either ends, and run at the same time. */
static void test_adjacent(void **state)
{
  struct bench b;
  bench_open(&b, "{'rounds':[{'calls':[" CALL("print(1)") "," CALL("raise") "]},{'text':'ok'}]}");
  bench_run(&b, "{'model':'m','input':'hi','stream':true," CI "}");
  expect_types(&b, "created in_progress " CI_START " " CI_START " " CI_END " " CI_END " " TEXT_EVENTS " completed");
  assert_int_equal(b.fake.busy_max, 2);
  expect_at(&b, "output.0.outputs.0.logs", "1\n");
  expect_at(&b, "output.1.status", "failed");
  assert_string_equal(event_at(&b, 12, "type"), "response.code_interpreter_call.completed");
  assert_string_equal(event_at(&b, 12, "output_index"), "0");
  assert_string_equal(event_at(&b, 14, "output_index"), "1");
  mf_auto_free char *second = asked(&b, 1);
  assert_string_equal(json_at(second, "input.1.type"), "function_call");
  assert_string_equal(json_at(second, "input.2.type"), "function_call");
  assert_string_equal(json_at(second, "input.3.type"), "function_call_output");
  assert_string_equal(json_at(second, "input.4.type"), "function_call_output");
  bench_close(&b);
}

static void test_bounded(void **state)
{
  struct bench b;
  bench_open(&b, "{'rounds':[{'calls':[" CALL("print(1)") "," CALL("print(2)") "," CALL("print(3)") "," CALL(
                     "print(4)") "," CALL("print(5)") "]},{'text':'ok'}]}");
  b.agent.config.concurrent_calls = 2;
  bench_run(&b, "{'model':'m','input':'hi'," CI "}");
  assert_int_equal(b.fake.start_n, 5);
  assert_int_equal(b.fake.busy_max, 2);
  expect_at(&b, "output.4.outputs.0.logs", "5\n");
  bench_close(&b);
}

/* A call of the client's ends the turn, after the gateway's own calls of that round. */
static void test_mixed(void **state)
{
  static const char scenario[] = "{'rounds':[{'text':'mid','calls':[{'name':'f','arguments':{}}," CALL(
      "print(1)") ",{'name':'f','arguments':{}}," CALL("print(2)") "]}],'loop':true}";
  struct bench b;
  bench_open(&b, scenario);
  bench_run(&b, "{'model':'m','input':'hi','stream':true," MIXED_TOOLS "}");
  expect_types(&b, "created in_progress " TEXT_EVENTS " " F_EVENTS " " CI_START " " CI_END " " F_EVENTS " " CI_START
                   " " CI_END " completed");
  expect_at(&b, "status", "completed");
  expect_at(&b, "output.3.type", "function_call");
  expect_at(&b, "output.4.outputs.0.logs", "2\n");
  assert_int_equal(bench_seen_n(&b), 1);
  bench_run(&b, "{'model':'m','input':'hi'," MIXED_TOOLS "}");
  expect_at(&b, "output.1.type", "function_call");
  expect_at(&b, "output.2.type", "code_interpreter_call");
  expect_at(&b, "output.4.outputs.0.logs", "2\n");
  bench_close(&b);
}

/* A custom call comes before the gateway's: nothing of the latter is seen before it is over. */
static void test_custom_first(void **state)
{
  struct bench b;
  bench_open(&b, "{'rounds':[{'calls':[{'name':'c','arguments':{'input':'x'}}," CALL("print(1)") "]}]}");
  bench_run(&b, "{'model':'m','input':'hi','stream':true,'tools':[{'type':'code_interpreter','container':{'type':"
                "'auto'}},{'type':'custom','name':'c'}]}");
  expect_types(&b, "created in_progress output_item.added custom_tool_call_input.delta custom_tool_call_input.done "
                   "output_item.done " CI_START " " CI_END " completed");
  expect_at(&b, "output.0.type", "custom_tool_call");
  expect_at(&b, "output.0.input", "x");
  expect_at(&b, "status", "completed");
  bench_close(&b);
}

static void test_undeclared(void **state)
{
  struct bench b;
  bench_open(&b, "{'rounds':[{'calls':[{'name':'ghost','arguments':{'a':1}}]}]}");
  bench_run(&b, "{'model':'m','input':'hi','stream':true," CI "}");
  expect_types(&b, "created in_progress " F_EVENTS " completed");
  expect_at(&b, "output.0.name", "ghost");
  bench_close(&b);
}

/* What the model makes of its arguments never fails the response. */
static void test_bad_arguments(void **state)
{
  struct bench b;
  bench_open(&b, "{'rounds':[{'calls':[{'name':'code_interpreter','arguments':'nonsense'}]},{'text':'ok'}]}");
  bench_run(&b, "{'model':'m','input':'hi','stream':true," CI "}");
  expect_types(&b, "created in_progress " CI_START " " CI_END " " TEXT_EVENTS " completed");
  expect_at(&b, "output.0.status", "failed");
  expect_at(&b, "output.0.code", "");
  mf_auto_free char *second = asked(&b, 1);
  assert_string_equal(json_at(second, "input.2.output"),
                      "{\"error\":\"code_interpreter arguments must be valid JSON\"}");
  bench_close(&b);
}

static void test_rounds_max(void **state)
{
  struct bench b;
  bench_open(&b, "{'rounds':[{'calls':[" CALL("print(1)") "]}],'loop':true}");
  bench_run(&b, "{'model':'m','input':'hi'," CI "}");
  expect_at(&b, "status", "incomplete");
  expect_at(&b, "incomplete_details.reason", "gateway tool execution exceeded 10 rounds");
  expect_at(&b, "output.9.type", "code_interpreter_call");
  expect_at(&b, "output.10", "");
  expect_at(&b, "usage.input_tokens", "100");
  assert_int_equal(bench_seen_n(&b), 10);
  expect_stored(&b);
  b.agent.config.rounds_max = 2;
  bench_run(&b, "{'model':'m','input':'hi','stream':true," CI "}");
  expect_types(&b, "created in_progress " CI_START " " CI_END " " CI_START " " CI_END " incomplete");
  bench_close(&b);
}

static void test_max_tool_calls(void **state)
{
  struct bench b;
  bench_open(&b, "{'rounds':[{'calls':[" CALL("print(1)") "," CALL("print(2)") "]},{'text':'ok'}]}");
  bench_run(&b, "{'model':'m','input':'hi','stream':true,'max_tool_calls':1," CI "}");
  expect_types(&b, "created in_progress " CI_START " " CI_START " " CI_END " " CI_END " " TEXT_EVENTS " completed");
  assert_int_equal(b.fake.start_n, 1);
  expect_at(&b, "output.1.status", "failed");
  expect_at(&b, "max_tool_calls", "1");
  mf_auto_free char *second = asked(&b, 1);
  assert_string_equal(json_at(second, "input.4.output"), "UserError: Reached tool call limit of 1");
  assert_string_equal(json_at(second, "tools"), "");
  bench_close(&b);
}

/* Nothing is offered any more, and the model calls all the same: it is told again, until rounds_max. */
static void test_max_tool_calls_ignored(void **state)
{
  struct bench b;
  bench_open(&b, "{'rounds':[{'calls':[" CALL("print(1)") "]}],'loop':true}");
  bench_run(&b, "{'model':'m','input':'hi','max_tool_calls':1," CI "}");
  expect_at(&b, "status", "incomplete");
  assert_int_equal(b.fake.start_n, 1);
  bench_close(&b);
}

static void test_continuation(void **state)
{
  struct bench b;
  bench_open(&b, "{'rounds':[{'calls':[" CALL("print(7)") "]},{'text':'seven'},{'text':'again'}]}");
  bench_run(&b, "{'model':'m','input':'hi'," CI "}");
  expect_stored(&b);
  mf_auto_free char *body =
      mf_xasprintf("{'model':'m','input':'more','stream':true,'previous_response_id':'%s'}", b.result.id);
  mf_auto_free char *parent = mf_xstrdup(b.result.id);
  bench_run(&b, body);
  expect_at(&b, "previous_response_id", parent);
  assert_string_equal(event_at(&b, 0, "response.previous_response_id"), parent);
  expect_at(&b, "tools.0.type", "code_interpreter");
  mf_auto_free char *third = asked(&b, 2);
  static const char *const types[] = { "message", "function_call", "function_call_output", "message", "message", "" };
  for (size_t i = 0; i < MF_ARRAY_N(types); i++) {
    char path[40];
    snprintf(path, sizeof(path), "input.%zu.type", i);
    assert_string_equal(json_at(third, path), types[i]);
  }
  bench_close(&b);
}

static void test_not_stored(void **state)
{
  struct bench b;
  bench_open(&b, "{'rounds':[{'text':'a'}]}");
  bench_run(&b, "{'model':'m','input':'hi','store':false," CI "}");
  expect_at(&b, "store", "false");
  assert_false(bench_is_stored(&b, NULL));
  bench_close(&b);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_text),
    cmocka_unit_test(test_members),
    cmocka_unit_test(test_seven_events),
    cmocka_unit_test(test_adjacent),
    cmocka_unit_test(test_bounded),
    cmocka_unit_test(test_mixed),
    cmocka_unit_test(test_custom_first),
    cmocka_unit_test(test_undeclared),
    cmocka_unit_test(test_bad_arguments),
    cmocka_unit_test(test_rounds_max),
    cmocka_unit_test(test_max_tool_calls),
    cmocka_unit_test(test_continuation),
    cmocka_unit_test(test_max_tool_calls_ignored),
    cmocka_unit_test(test_not_stored),
  };
  return cmocka_run_group_tests_name("agent/rounds", tests, NULL, NULL);
}

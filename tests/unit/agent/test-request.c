/* What a request may say: a table of bodies and what is said of them. */
#include "turns.h"

#include "base/banned.h"

#define BASE "{'model':'m','input':'x'"
#define BAD "invalid_request_error"

/* JSON that no reader should have to guess about. The place is a line and a column. */
static void bodies_that_are_no_json(void **state)
{
  static const struct {
    const char *body, *starts, *has;
  } rows[] = {
    { "", "json error: ", "empty" },
    { "{not json", "json error: line 1, column 2", "" },
    { "{'model':'m','input':'x'", "json error: line 1, column ", "" },
    { "{'model':'m','input':'x'} x", "json error: line 1, column ", "" },
    { "{'model':'m','input':'x','model':'n'}", "json error: line 1, column ", "duplicate key 'model'" },
    { "{'model':'m','input':[{'role':'user','content':'x','role':'system'}]}", "json error: ", "duplicate key 'role'" },
    { "{'model':'m','input':'\xff'}", "json error: line 1, column ", "" },
    { "{'model':'m','input':'\\ud800'}", "json error: line 1, column ", "" },
    { "{'model':'m','input':'x','temperature':NaN}", "json error: line 1, column ", "" },
    { "[1]", "json error: invalid type: sequence, expected a request object at the top", "" },
    { "'x'", "json error: invalid type: string \"x\", expected a request object at the top", "" },
  };
  struct world *w = *state;
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    struct mf_api_error e = { 0 };
    assert_null(request_of(w, rows[i].body, &e));
    if (strncmp(e.message, rows[i].starts, strlen(rows[i].starts)) != 0 || !strstr(e.message, rows[i].has))
      fail_msg("%s: %s", rows[i].body, e.message);
    assert_int_equal(e.status, 400);
    assert_string_equal(e.code, BAD);
    assert_false(e.has_param);
  }
}

static void a_million_brackets(void **state)
{
  struct world *w = *state;
  size_t n = 1000 * 1000;
  mf_auto_free char *body = mf_xmalloc(n + 1);
  struct mf_api_error e = { 0 };
  struct mf_turn_request *r = NULL;
  memset(body, '[', n);
  assert_false(mf_turn_request_new(&w->agent, (struct mf_str){ body, n }, &r, &e));
  assert_string_equal(e.message, "json error: line 1, column 257: nested deeper than 256 levels");
  assert_int_equal(e.status, 400);
}

/* Bodies that are refused for what a field says. */
static void fields(void **state)
{
  static const struct {
    const char *body, *message;
  } rows[] = {
    { "{'input':'x'}", "json error: missing field `model`" },
    { "{}", "json error: missing field `model`" },
    { "{'model':'m'}", "json error: missing field `input`" },
    { "{'model':1,'input':'x'}", "json error: invalid type: number `1`, expected a string at model" },
    { "{'model':null,'input':'x'}", "json error: invalid type: null, expected a string at model" },
    { "{'model':'m','input':5}",
      "json error: invalid type: number `5`, expected a string or a list of input items at input" },
    { "{'model':'m','input':null}",
      "json error: invalid type: null, expected a string or a list of input items at input" },
    { BASE ",'stream':'yes'}", "json error: invalid type: string \"yes\", expected a boolean at stream" },
    { BASE ",'store':0}", "json error: invalid type: number `0`, expected a boolean at store" },
    { BASE ",'temperature':'hot'}", "json error: invalid type: string \"hot\", expected a number at temperature" },
    { BASE ",'max_output_tokens':1.5}",
      "json error: invalid type: number `1.5`, expected a whole number at max_output_tokens" },
    { BASE ",'max_output_tokens':-1}",
      "json error: invalid type: number `-1`, expected a whole number at max_output_tokens" },
    { BASE ",'metadata':[]}", "json error: invalid type: sequence, expected an object at metadata" },
    { BASE ",'include':'all'}", "json error: invalid type: string \"all\", expected a list of strings at include" },
    { BASE ",'include':['a',1]}", "json error: invalid type: number `1`, expected a string at include[1]" },
    { BASE ",'instructions':{}}", "json error: invalid type: map, expected a string at instructions" },
    { BASE ",'parallel_tool_calls':1}",
      "json error: invalid type: number `1`, expected a boolean at parallel_tool_calls" },
    { BASE ",'previous_response_id':7}",
      "json error: invalid type: number `7`, expected a string at previous_response_id" },
    { BASE ",'conversation':{'id':'conv_1'}}", "json error: invalid type: map, expected a string at conversation" },
    { BASE ",'tools':{}}", "json error: invalid type: map, expected a list of tools at tools" },
    { BASE ",'multi_agent':{'max_concurrent_subagents':1}}", "json error: missing field `enabled` at multi_agent" },
    { BASE ",'conversation':'conv_a','previous_response_id':'resp_b'}",
      "invalid request: provide only one of conversation_id or previous_response_id" },
    { BASE ",'tools':[{'type':'function','name':''}]}", "json error: tool name must not be empty at tools[0].name" },
    { BASE ",'tools':[{'type':'code_interpreter'}]}", "json error: missing field `container` at tools[0]" },
    { BASE ",'tools':[{'type':'code_interpreter'}],'store':false}",
      "json error: missing field `container` at tools[0]" },
    { BASE ",'tool_choice':'bogus'}",
      "json error: unknown variant `bogus`, expected one of `auto`, `none`, `required`, "
      "`function`, `custom` at tool_choice" },
    { BASE ",'tool_choice':{'type':'custom','name':'c'}}",
      "tool error: invalid tool config: tool_choice selects custom tool 'c', but no matching custom tool is declared" },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++)
    refused_turn(*state, rows[i].body, 400, BAD, NULL, rows[i].message);
}

/* What is not served is never left out in silence. */
static void what_is_not_served(void **state)
{
  static const struct {
    const char *body, *param, *message;
  } rows[] = {
    { BASE ",'conversation':'conv_1'}", "conversation",
      "invalid request: conversation is not supported by this server; use previous_response_id" },
    { BASE ",'conversation_id':'conv_1'}", "conversation_id",
      "invalid request: conversation_id is not supported by this server; use previous_response_id" },
    { BASE ",'multi_agent':{'enabled':true}}", "multi_agent",
      "invalid request: multi_agent is not supported by this server; leave it out, or set enabled to false" },
    { BASE ",'context_management':[{'type':'compaction','compact_threshold':9}]}", "context_management",
      "invalid request: context_management is not supported by this server; leave it out" },
    { BASE ",'prompt':{'id':'p'}}", "prompt",
      "invalid request: prompt is not supported by this server; send instructions and input" },
    { "{'model':'m','input':[{'type':'compaction_trigger'}]}", "input[0].type",
      "invalid request: input[0]: 'compaction_trigger' items are not supported by this server; send the conversation "
      "itself" },
    { "{'model':'m','store':false,'input':[{'role':'user','content':'x'},{'type':'compaction','encrypted_content':'s'}]"
      "}",
      "input[1].type",
      "invalid request: input[1]: 'compaction' items are not supported by this server; send the conversation itself" },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++)
    refused_turn(*state, rows[i].body, 400, "unsupported_parameter", rows[i].param, rows[i].message);
  refused_turn(*state, BASE ",'tools':[{'type':'web_search'}]}", 400, "invalid_value", "tools[0].type",
               "invalid request: tools[0].type: 'web_search' tools are not supported by this server; supported are "
               "'function', 'custom', 'namespace', 'tool_search', 'shell', 'code_interpreter'");
  refused_turn(*state, BASE ",'previous_response_id':''}", 400, BAD, "previous_response_id",
               "invalid request: previous_response_id must not be empty");
}

static void max_tool_calls(void **state)
{
  static const struct {
    const char *value, *code, *message;
  } rows[] = {
    { "0", "integer_below_min_value",
      "Invalid 'max_tool_calls': integer below minimum value. Expected a value >= 1, but got 0 instead." },
    { "-3", "integer_below_min_value",
      "Invalid 'max_tool_calls': integer below minimum value. Expected a value >= 1, but got -3 instead." },
    { "-99999999999999999999999999", "integer_below_min_value",
      "Invalid 'max_tool_calls': integer below minimum value. Expected a value >= 1, but got "
      "-99999999999999999999999999 instead." },
    { "4294967296", "integer_above_max_value",
      "Invalid 'max_tool_calls': integer above maximum value. Expected a value <= 4294967295, but got 4294967296 "
      "instead." },
    { "18446744073709551617", "integer_above_max_value",
      "Invalid 'max_tool_calls': integer above maximum value. Expected a value <= 4294967295, but got "
      "18446744073709551617 instead." },
    { "1.5", "invalid_type", "Invalid type for 'max_tool_calls': expected an integer, but got number `1.5` instead." },
    { "1e3", "invalid_type", "Invalid type for 'max_tool_calls': expected an integer, but got number `1e3` instead." },
    { "'3'", "invalid_type", "Invalid type for 'max_tool_calls': expected an integer, but got string \"3\" instead." },
    { "true", "invalid_type",
      "Invalid type for 'max_tool_calls': expected an integer, but got boolean `true` instead." },
  };
  struct world *w = *state;
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    mf_auto_free char *body = mf_xasprintf(BASE ",'max_tool_calls':%s}", rows[i].value);
    refused_turn(w, body, 400, rows[i].code, "max_tool_calls", rows[i].message);
  }
  struct mf_api_error e;
  struct mf_turn_request *r = request_of(w, BASE ",'max_tool_calls':4294967295}", &e);
  assert_true(r && r->max_tool_calls == UINT32_MAX);
  mf_turn_request_free(r);
  r = request_of(w, BASE ",'max_tool_calls':null}", &e);
  assert_true(r && r->max_tool_calls == UINT64_MAX);
  mf_turn_request_free(r);
}

/* One input item each. */
static void items(void **state)
{
#define MESSAGE_PART(type)                                                                                             \
  "message content part type `" type "` is not supported by the typed Responses executor; provide input_text or "      \
  "input_image content instead"
  static const struct {
    const char *item, *message;
  } rows[] = {
    { "5", "json error: invalid type: number `5`, expected an input item at input[0]" },
    { "'x'", "json error: invalid type: string \"x\", expected an input item at input[0]" },
    { "{}", "json error: missing field `type` at input[0]" },
    { "{'content':'x'}", "json error: missing field `type` at input[0]" },
    { "{'type':3}", "json error: invalid type: number `3`, expected a string at input[0].type" },
    { "{'type':'message','content':'x'}", "json error: missing field `role` at input[0]" },
    { "{'role':'user'}", "json error: missing field `content` at input[0]" },
    { "{'role':'user','content':null}",
      "json error: invalid type: null, expected a string or a list of content parts at input[0].content" },
    { "{'role':'tool','content':'x'}", "json error: unknown variant `tool`, expected one of `user`, `assistant`, "
                                       "`system`, `developer` at input[0].role" },
    { "{'role':'user','content':[]}",
      "invalid request: input[0].content: a message must contain at least one content part" },
    { "{'role':'user','content':[{'type':'input_file','file_id':'f'}]}",
      "invalid request: input[0].content[0]: " MESSAGE_PART("input_file") },
    { "{'role':'user','content':[{'type':'input_text','text':'x'},{'type':'weird'}]}",
      "invalid request: input[0].content[1]: " MESSAGE_PART("weird") },
    { "{'role':'user','content':['x']}",
      "json error: invalid type: string \"x\", expected a content part at input[0].content[0]" },
    { "{'role':'user','content':[{'text':'x'}]}", "json error: missing field `type` at input[0].content[0]" },
    { "{'role':'user','content':[{'type':'input_text'}]}", "json error: missing field `text` at input[0].content[0]" },
    { "{'role':'user','content':[{'type':'input_text','text':1}]}",
      "json error: invalid type: number `1`, expected a string at input[0].content[0].text" },
    { "{'type':'reasoning','id':'rs_1','summary':[],'encrypted_content':'zzz'}",
      "invalid request: reasoning item contains encrypted state without plaintext reasoning content and cannot be "
      "replayed to vLLM" },
    { "{'type':'reasoning','content':'x'}",
      "json error: invalid type: string \"x\", expected a list of parts at input[0].content" },
    { "{'type':'reasoning','summary':[],'content':[{'type':'reasoning_text'}]}",
      "json error: missing field `text` at input[0].content[0]" },
    { "{'type':'function_call','name':'f','arguments':'{}'}", "json error: missing field `call_id` at input[0]" },
    { "{'type':'function_call','call_id':'c','name':'f','arguments':{}}",
      "json error: invalid type: map, expected a string at input[0].arguments" },
    { "{'type':'function_call_output','call_id':'c'}", "json error: missing field `output` at input[0]" },
    { "{'type':'function_call_output','call_id':'c','output':1}",
      "json error: invalid type: number `1`, expected a string or a list of content parts at input[0].output" },
    { "{'type':'function_call_output','call_id':'c','output':[{'type':'input_file','file_id':'f'}]}",
      "invalid request: input[0].output[0]: function_call_output content part type `input_file` is not supported by "
      "the "
      "typed Responses executor; provide input_text or input_image content instead" },
    { "{'type':'item_reference'}", "json error: missing field `id` at input[0]" },
    { "{'type':'custom_tool_call','call_id':'c','name':'f'}", "json error: missing field `input` at input[0]" },
    { "{'type':'tool_search_output','call_id':'c'}", "json error: missing field `tools` at input[0]" },
    { "{'type':'tool_search_output','call_id':'c','tools':[{'type':'function'}]}",
      "json error: missing field `name` at tools[0]" },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    mf_auto_free char *body = mf_xasprintf("{'model':'m','input':[%s]}", rows[i].item);
    refused_turn(*state, body, 400, BAD, NULL, rows[i].message);
  }
}

/* Who serves it. */
static void raw_or_not(void **state)
{
#define FN "{'type':'function','name':'f'}"
  static const struct {
    const char *body;
    bool is_proxy;
  } rows[] = {
    { BASE "}", false },
    { BASE ",'store':true}", false },
    { BASE ",'store':null}", false },
    { BASE ",'store':false}", true },
    { BASE ",'store':false,'foo':[1,2,{'bar':null}],'prompt':{'id':'p'},'background':true}", true },
    { BASE ",'store':false,'tools':[]}", true },
    { BASE ",'store':false,'tools':[" FN "]}", true },
    { BASE ",'store':false,'tools':[" FN ",{'type':'code_interpreter','container':{'type':'auto'}}]}", false },
    { BASE ",'store':false,'tools':[{'type':'custom','name':'c'}]}", false },
    { BASE ",'store':false,'previous_response_id':'resp_1'}", false },
    { BASE ",'store':false,'previous_response_id':null}", true },
    { BASE ",'store':false,'multi_agent':{'enabled':false}}", true },
    { BASE ",'store':false,'context_management':[]}", true },
    { "{'model':'m','store':false,'input':[{'type':'weird_item'},{'role':'user','content':[]}]}", true },
    { "{'model':'m','store':false,'input':[{'type':'tool_search_output','call_id':'c','tools':[]}]}", false },
    { "{'model':'m','store':false,'input':[{'type':'item_reference','id':'msg_1'}]}", false },
  };
  struct world *w = *state;
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    struct mf_api_error e = { 0 };
    struct mf_turn_request *r = request_of(w, rows[i].body, &e);
    if (!r)
      fail_msg("%s: %s", rows[i].body, e.message);
    if (mf_turn_request_is_proxy(r) != rows[i].is_proxy)
      fail_msg("%s: is_proxy %d", rows[i].body, !rows[i].is_proxy);
    assert_true(mf_str_is(mf_turn_request_model(r), "m"));
    assert_false(mf_turn_request_is_stream(r));
    mf_turn_request_free(r);
  }
  struct mf_api_error e = { 0 };
  struct mf_turn_request *r = request_of(w, BASE ",'stream':true}", &e);
  assert_true(r && mf_turn_request_is_stream(r));
  mf_turn_request_free(r);
}

/* Unsupported tools may be ignored by configuration; then the raw proxy is none either. */
static void ignored_tools(void **state)
{
  struct world *w = *state;
  w->agent.tools.ignore_unsupported = true;
  struct mf_api_error e = { 0 };
  struct mf_turn_request *r = request_of(w, BASE ",'store':false,'tools':[{'type':'image_generation'}]}", &e);
  assert_true(r && !mf_turn_request_is_proxy(r));
  mf_turn_request_free(r);
  w->agent.tools.ignore_unsupported = false;
}

int main(void)
{
  static struct world w;
  world_open(&w);
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_prestate(bodies_that_are_no_json, &w),
    cmocka_unit_test_prestate(a_million_brackets, &w),
    cmocka_unit_test_prestate(fields, &w),
    cmocka_unit_test_prestate(what_is_not_served, &w),
    cmocka_unit_test_prestate(max_tool_calls, &w),
    cmocka_unit_test_prestate(items, &w),
    cmocka_unit_test_prestate(raw_or_not, &w),
    cmocka_unit_test_prestate(ignored_tools, &w),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  world_close(&w);
  return failed;
}

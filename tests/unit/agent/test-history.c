/* How a turn begins: what the model is given after what was said before, inherited tools, open calls, what is kept. */
#include "turns.h"

#include "base/banned.h"

#define BAD "invalid_request_error"
#define GO(id, input) "{'model':'m','previous_response_id':'" id "','input':" input "}"
#define UP(input) "{'model':'m','stream':false,'input':" input "}"
#define FN                                                                                                             \
  "{'type':'function','name':'f','description':'d','parameters':{'type':'object','properties':{}},'strict':true}"
#define SAID "{'type':'message','role':'user','content':'hi'}"

/* A chain: resp_text, resp_call after it, which waits for call_1 (f), call_2 (custom) and call_3 (shell). */
static void prepare(struct world *w)
{
  const struct past_item text[] = {
    { SAID, true },
    { "{'type':'reasoning','id':'rs_1','summary':[{'type':'summary_text','text':'s'}],'encrypted_content':'zzz',"
      "'content':[{'type':'reasoning_text','text':'a'},{'type':'reasoning_text','text':'b'}]}" },
    { "{'type':'reasoning','id':'rs_2','summary':[{'type':'summary_text','text':'only'}],'content':[]}" },
    { "{'type':'web_search_call','id':'ws_1','status':'completed'}" },
    { "{'type':'message','id':'msg_1','role':'assistant','status':'completed','content':[{'type':'output_text',"
      "'text':'Hello','annotations':[],'logprobs':[]}]}" },
  };
  store(w, "resp_text", "", "", "", text, MF_ARRAY_N(text));
  const struct past_item calls[] = {
    { "{'type':'message','role':'user','content':'call'}", true },
    { "{'type':'function_call','id':'fc_1','call_id':'call_1','name':'f','arguments':'{}','status':'completed'}" },
    { "{'type':'custom_tool_call','id':'ctc_2','call_id':'call_2','name':'c','input':'a','status':'completed'}" },
    { "{'type':'shell_call','id':'sh_3','call_id':'call_3','action':{'commands':['ls']},'status':'completed'}" },
  };
  store(w, "resp_call", "resp_text", "[" FN "]", "'required'", calls, MF_ARRAY_N(calls));
  /* A round of the gateway's own: the pair is for the model, the item for people. */
  const struct past_item code[] = {
    { SAID, true },
    { "{'type':'function_call','id':'fc_9','call_id':'call_9','name':'code_interpreter','arguments':'{}'}", true,
      true },
    { "{'type':'function_call_output','call_id':'call_9','output':'9'}", true, true },
    { "{'type':'code_interpreter_call','id':'ci_9','code':'','status':'completed','outputs':[]}", false, false, true },
    { "{'type':'code_interpreter_call','id':'ci_native','container_id':'cntr_1','code':'1','status':'completed',"
      "'outputs':[{'type':'image','url':'u'}]}" },
  };
  store(w, "resp_code", "", "[{'type':'code_interpreter','container':{'type':'auto'}}]", "", code, MF_ARRAY_N(code));
  const struct past_item one[] = {
    { SAID, true },
    { "{'type':'function_call','id':'fc_1','call_id':'call_0','name':'f','arguments':'{}'}" },
  };
  store(w, "resp_one", "", "[" FN "]", "", one, MF_ARRAY_N(one));
  /* call_0 was answered, and a later response counts from call_0 again. */
  const struct past_item again[] = {
    { "{'type':'function_call_output','call_id':'call_0','output':'1'}", true },
    { "{'type':'function_call','id':'fc_2','call_id':'call_0','name':'f','arguments':'{}'}" },
  };
  store(w, "resp_again", "resp_one", "", "", again, MF_ARRAY_N(again));
}

#define TEXT_PAST                                                                                                      \
  SAID ",{'type':'reasoning','id':'rs_1','content':[{'type':'reasoning_text','text':'a\\nb'}],'summary':[],"           \
       "'encrypted_content':null,'status':null},"                                                                      \
       "{'type':'message','id':'msg_1','role':'assistant','status':'completed','content':[{'type':'output_text',"      \
       "'text':'Hello','annotations':[],'logprobs':[]}]}"

static void what_was_said_before(void **state)
{
  struct world *w = *state;
  sends(w, GO("resp_text", "'and?'"), UP("[" TEXT_PAST ",{'type':'message','role':'user','content':'and?'}]"));
  sends(w, GO("resp_text", "[]"), UP("[" TEXT_PAST "]"));
  /* Instructions are of one turn only; the history is there without being stored again. */
  sends(w, "{'model':'m','store':false,'previous_response_id':'resp_text','input':'x','instructions':'be brief'}",
        "{'model':'m','stream':false,'instructions':'be brief','input':[" TEXT_PAST
        ",{'type':'message','role':'user','content':'x'}]}");
}

static void gateway_items_are_for_people(void **state)
{
  struct world *w = *state;
  struct mf_api_error e = { 0 };
  struct turn t;
  struct mf_turn_request *r = request_of(w, GO("resp_code", "'x'"), &e);
  assert_non_null(r);
  assert_true(begin_turn(w, r, &t, &e));
  mf_auto_free char *want = quoted(
      SAID ",{'type':'function_call','id':'fc_9','call_id':'call_9','name':'code_interpreter','arguments':'{}'},"
           "{'type':'function_call_output','call_id':'call_9','output':'9'},"
           "{'type':'code_interpreter_call','id':'ci_native','container_id':'cntr_1','code':'1','status':'completed',"
           "'outputs':[{'type':'image','url':'u'}]},{'type':'message','role':'user','content':'x'}");
  assert_string_equal(t.input.ptr, want);
  /* The declaration was inherited. */
  assert_true(mf_toolset_has_gateway(t.toolset));
  turn_done(&t);
  /* It fails as a fresh one where the interpreter is off. */
  w->agent.tools.executor = NULL;
  assert_false(begin_turn(w, r, &t, &e));
  assert_string_equal(e.message, "tool error: invalid tool config: code_interpreter is disabled by operator "
                                 "configuration or its embedded runtime is not ready");
  assert_int_equal(e.status, 400);
  turn_done(&t);
  w->agent.tools.executor = (struct mf_executor *)w;
  mf_turn_request_free(r);
}

#define ANSWERS                                                                                                        \
  "{'type':'function_call_output','call_id':'call_1','output':'1'},"                                                   \
  "{'type':'custom_tool_call_output','call_id':'call_2','output':'2'},"                                                \
  "{'type':'shell_call_output','call_id':'call_3','output':[{'stdout':'3'}]}"

static void answers_and_inheritance(void **state)
{
  struct world *w = *state;
  /* Tools and choice of the parent; the client's own kinds of calls as the model knows them. */
  sends(w, GO("resp_call", "[" ANSWERS "]"),
        "{'model':'m','stream':false,'tools':[" FN "],'tool_choice':'required','input':[" TEXT_PAST
        ",{'type':'message','role':'user','content':'call'},"
        "{'type':'function_call','id':'fc_1','call_id':'call_1','name':'f','arguments':'{}','status':'completed'},"
        "{'type':'function_call','id':'fc_2','call_id':'call_2','name':'c','arguments':'{\\'input\\':\\'a\\'}','status'"
        ":'completed'},"
        "{'type':'function_call','id':'fc_3','call_id':'call_3','name':'shell','arguments':'{\\'commands\\':[\\'ls\\']}"
        "','status':'completed"
        "'},"
        "{'type':'function_call_output','call_id':'call_1','output':'1'},"
        "{'type':'function_call_output','call_id':'call_2','output':'2'},"
        "{'type':'function_call_output','call_id':'call_3','output':'[{\\'stdout\\':\\'3\\'}]'}]}");
  /* Its own tools win, also an empty list; its own choice too. */
  sends(w,
        "{'model':'m','previous_response_id':'resp_one','tools':[],'input':[{'type':'function_call_output',"
        "'call_id':'call_0','output':'1'}]}",
        UP("[" SAID ",{'type':'function_call','id':'fc_1','call_id':'call_0','name':'f','arguments':'{}'},"
           "{'type':'function_call_output','call_id':'call_0','output':'1'}]"));
  /* A call_id that is used again, once it was answered. */
  sends(w, GO("resp_again", "[{'type':'function_call_output','call_id':'call_0','output':'2'}]"),
        UP("[" SAID ",{'type':'function_call','id':'fc_1','call_id':'call_0','name':'f','arguments':'{}'},"
           "{'type':'function_call_output','call_id':'call_0','output':'1'},"
           "{'type':'function_call','id':'fc_2','call_id':'call_0','name':'f','arguments':'{}'},"
           "{'type':'function_call_output','call_id':'call_0','output':'2'}]"));
}

/* A parent's choice of a tool that is not declared any more is not the client's mistake. */
static void an_inherited_choice_may_not_fit(void **state)
{
  struct world *w = *state;
  const struct past_item items[] = { { SAID, true } };
  store(w, "resp_choice", "", "[{'type':'custom','name':'c'}]", "{'type':'custom','name':'c'}", items, 1);
  sends(w, "{'model':'m','previous_response_id':'resp_choice','tools':[" FN "],'input':[]}",
        "{'model':'m','stream':false,'tools':[" FN "],'input':[" SAID "]}");
  refused_turn(
      w, "{'model':'m','previous_response_id':'resp_text','tool_choice':{'type':'custom','name':'c'},'input':'x'}", 400,
      BAD, NULL,
      "tool error: invalid tool config: tool_choice selects custom tool 'c', but no matching custom tool is "
      "declared");
}

static void open_calls(void **state)
{
#define OUT(type, id) "{'type':'" type "','call_id':'" id "','output':'x'}"
  static const struct {
    const char *body, *code, *param, *message;
  } rows[] = {
    { GO("resp_one", "'no output'"), NULL, "input", "No tool output found for function call call_0." },
    { GO("resp_one", "[]"), NULL, "input", "No tool output found for function call call_0." },
    { GO("resp_call", "[" OUT("function_call_output", "call_1") "]"), NULL, "input",
      "No tool output found for function call call_2." },
    { GO("resp_one", "[" OUT("function_call_output", "call_x") "]"), BAD, NULL,
      "invalid request: function_call_output references call_id 'call_x' without a pending call" },
    { GO("resp_text", "[" OUT("function_call_output", "call_0") "]"), BAD, NULL,
      "invalid request: function_call_output references call_id 'call_0' without a pending call" },
    { GO("resp_one", "[" OUT("function_call_output", "call_0") "," OUT("function_call_output", "call_0") "]"), BAD,
      NULL, "invalid request: duplicate function_call_output for call_id 'call_0'" },
    { GO("resp_one", "[" OUT("custom_tool_call_output", "call_0") "]"), BAD, NULL,
      "invalid request: custom_tool_call_output references call_id 'call_0', but the pending call is not a "
      "custom_tool_call" },
    { GO("resp_one", "[" OUT("function_call_output", "") "]"), BAD, NULL,
      "invalid request: input[0]: function_call_output must have a call_id that is not empty" },
    /* The first of two faults, in the order of the request. */
    { GO("resp_one", "[" OUT("function_call_output", "call_z") "," OUT("function_call_output", "call_a") "]"), BAD,
      NULL, "invalid request: function_call_output references call_id 'call_z' without a pending call" },
    /* Calls that come with the request are calls, too; and an answer comes after its call. */
    { GO("resp_text", "[{'type':'function_call','call_id':'call_n','name':'f','arguments':'{}'}]"), NULL, "input",
      "No tool output found for function call call_n." },
    { GO("resp_text", "[" OUT("function_call_output",
                              "call_n") ",{'type':'function_call','call_id':'call_n','name':'f','arguments':'{}'}]"),
      BAD, NULL, "invalid request: function_call_output references call_id 'call_n' without a pending call" },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++)
    refused_turn(*state, rows[i].body, 400, rows[i].code, rows[i].param, rows[i].message);
  /* Without a history nobody can know. */
  sends(*state, "{'model':'m','input':[" OUT("function_call_output", "call_q") "]}",
        UP("[" OUT("function_call_output", "call_q") "]"));
  sends(*state,
        GO("resp_text", "[{'type':'function_call','call_id':'call_n','name':'f','arguments':'{}'}," OUT(
                            "function_call_output", "call_n") "]"),
        UP("[" TEXT_PAST ",{'type':'function_call','call_id':'call_n','name':'f','arguments':'{}'}," OUT(
            "function_call_output", "call_n") "]"));
}

/* Many calls with ids that a client made up: the time must not grow with the square of their number. */
static void many_calls(void **state)
{
  enum { N = 20000 };
  struct world *w = *state;
  mf_auto_buf struct mf_buf body;
  mf_buf_init(&body, 16u << 20);
  assert_int_equal(mf_buf_printf(&body, "{'model':'m','previous_response_id':'resp_text','input':["), MF_OK);
  for (int i = 0; i < N; i++)
    assert_int_equal(mf_buf_printf(&body, "{'type':'function_call','call_id':'c%d','name':'f','arguments':'{}'},", i),
                     MF_OK);
  for (int i = N; i-- > 0;)
    assert_int_equal(
        mf_buf_printf(&body, "{'type':'function_call_output','call_id':'c%d','output':''}%s", i, i ? "," : "]}"),
        MF_OK);
  struct mf_api_error e = { 0 };
  struct turn t;
  struct mf_turn_request *r = request_of(w, body.ptr, &e);
  assert_non_null(r);
  if (!begin_turn(w, r, &t, &e))
    fail_msg("%s", e.message);
  assert_int_equal(t.inputs.item_n, 2 * N);
  turn_done(&t);
  mf_turn_request_free(r);
}

static void storage_errors(void **state)
{
  struct world *w = *state;
  refused_turn(w, GO("resp_missing", "'x'"), 404, "not_found", NULL,
               "storage error: not found: Response with id 'resp_missing'");
  const struct past_item broken[] = { { "{broken", true } };
  store(w, "resp_broken", "", "", "", broken, 1);
  refused_turn(w, GO("resp_broken", "'x'"), 500, "server_error", NULL, "Internal server error");
  store(w, "resp_broken_tools", "", "[", "", NULL, 0);
  refused_turn(w, GO("resp_broken_tools", "'x'"), 500, "server_error", NULL, "Internal server error");
}

/* tool_search: what the client has found may be called, also in later turns. */
static void found_tools(void **state)
{
#define SEARCH "{'type':'tool_search','execution':'client'}"
#define LATE "{'type':'function','name':'late','defer_loading':true}"
  struct world *w = *state;
  const struct past_item items[] = {
    { SAID, true },
    { "{'type':'tool_search_call','id':'tsc_1','call_id':'call_s','execution':'client','arguments':{'query':'q'}}" },
  };
  store(w, "resp_search", "", "[" SEARCH "," LATE "]", "", items, MF_ARRAY_N(items));
  struct mf_api_error e = { 0 };
  struct turn t;
  const struct mf_str late = MF_STR("late");
  static const char answer[] =
      GO("resp_search", "[{'type':'tool_search_output','call_id':'call_s','tools':[" LATE "]}]");
  struct mf_turn_request *r = request_of(w, answer, &e);
  assert_non_null(r);
  if (!begin_turn(w, r, &t, &e))
    fail_msg("%s", e.message);
  assert_false(mf_toolset_bind(t.toolset, late).is_withheld);
  mf_auto_free char *call = quoted("{'type':'function_call','id':'fc_1','call_id':'call_s','name':'tool_search',"
                                   "'arguments':'{\\'query\\':\\'q\\'}'}");
  if (!strstr(t.input.ptr, call))
    fail_msg("%s", t.input.ptr);
  turn_done(&t);
  mf_turn_request_free(r);

  const struct past_item found[] = {
    { "{'type':'tool_search_output','call_id':'call_s','tools':[" LATE "]}", true },
  };
  store(w, "resp_found", "resp_search", "[" SEARCH "," LATE "]", "", found, 1);
  r = request_of(w, GO("resp_found", "'x'"), &e);
  assert_true(r && begin_turn(w, r, &t, &e));
  assert_false(mf_toolset_bind(t.toolset, late).is_withheld);
  turn_done(&t);
  mf_turn_request_free(r);

  refused_turn(w,
               GO("resp_search", "[{'type':'tool_search_output','call_id':'call_s','tools':[{'type':'function','name':"
                                 "'late','description':'other','defer_loading':true}]}]"),
               400, BAD, NULL,
               "tool error: invalid tool config: tool_search_output changes the declaration of tool 'late'");
  refused_turn(w, GO("resp_search", "'x'"), 400, NULL, "input", "No tool output found for function call call_s.");
}

/* Some clients refer to what was said, item by item. */
static void references(void **state)
{
#define REF(id) "{'type':'item_reference','id':'" id "'}"
  struct world *w = *state;
  sends(w,
        "{'model':'m','store':false,'input':[{'role':'user','content':'hi'}," REF("rs_1") "," REF("rs_2") "," REF(
            "msg_1") "," REF("ci_9") "," REF("ci_native") ",{'role':'user','content':'and?'}]}",
        UP("[" TEXT_PAST ",{'type':'code_interpreter_call','id':'ci_native','container_id':'cntr_1','code':'1',"
           "'status':'completed','outputs':[{'type':'image','url':'u'}]},"
           "{'type':'message','role':'user','content':'and?'}]"));
  /* Of two items of one id the newer one; and it is the client's own answer that it refers to. */
  sends(w, "{'model':'m','input':[" REF("fc_1") ",{'type':'function_call_output','call_id':'call_0','output':'o'}]}",
        UP("[{'type':'function_call','id':'fc_1','call_id':'call_0','name':'f','arguments':'{}'},"
           "{'type':'function_call_output','call_id':'call_0','output':'o'}]"));
  refused_turn(w, "{'model':'m','input':[" REF("msg_1") "," REF("msg_missing") "]}", 404, "not_found", NULL,
               "storage error: not found: Item with id 'msg_missing'");
  /* The model's side of a gateway call is nobody's to refer to. */
  refused_turn(w, "{'model':'m','input':[" REF("fc_9") "]}", 404, "not_found", NULL,
               "storage error: not found: Item with id 'fc_9'");
  mf_auto_buf struct mf_buf many;
  mf_buf_init(&many, 1u << 20);
  assert_int_equal(mf_buf_printf(&many, "{'model':'m','input':["), MF_OK);
  for (unsigned i = 0; i < MF_STORE_REFERENCES_MAX; i++)
    assert_int_equal(mf_buf_printf(&many, REF("msg_1") ","), MF_OK);
  assert_int_equal(mf_buf_printf(&many, REF("msg_1") "]}"), MF_OK);
  refused_turn(w, many.ptr, 413, "body_too_large", NULL, "the items that are referred to are too many or too large");
}

/* What is stored of the input: as it was sent, with a type, under an id. */
static void what_is_kept(void **state)
{
  static const struct {
    const char *input, *id, *json;
  } rows[] = {
    { "'hi'", "msg_", SAID },
    { "[{'role':'user','content':'hi'}]", "msg_", SAID },
    { "[{'role':'assistant','content':'hi','status':null}]", "msg_",
      "{'type':'message','role':'assistant','content':'hi','status':null}" },
    { "[{'type':'weird'},{'type':'function_call_output','call_id':'c','output':'o','_agentic_item_kind':'output'}]",
      "item_", "{'type':'function_call_output','call_id':'c','output':'o'}" },
    { "[{'type':'code_interpreter_call','id':'ci_1','container_id':'k','code':'1','status':'failed','outputs':[],"
      "'_agentic_code_interpreter_origin':'gateway'}]",
      "ci_1",
      "{'type':'code_interpreter_call','id':'ci_1','container_id':'k','code':'1','status':'failed','outputs':[]}" },
    { "[{'type':'custom_tool_call','id':'ctc_1','call_id':'c','name':'n','input':'\\u0000','a\\u0000b':1}]", "ctc_1",
      "{'type':'custom_tool_call','id':'ctc_1','call_id':'c','name':'n','input':'\\u0000','a\\u0000b':1}" },
  };
  struct world *w = *state;
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    struct mf_api_error e = { 0 };
    struct turn t;
    mf_auto_free char *body = mf_xasprintf("{'model':'m','input':%s}", rows[i].input), *json = quoted(rows[i].json);
    struct mf_turn_request *r = request_of(w, body, &e);
    assert_true(r && begin_turn(w, r, &t, &e));
    assert_int_equal(t.inputs.item_n, 1);
    const struct mf_store_item *item = &t.inputs.items[0];
    assert_true(mf_str_starts(item->id, rows[i].id));
    assert_string_equal(item->json.ptr, json);
    assert_true(item->is_input && item->is_public && !item->is_gateway_code);
    turn_done(&t);
    mf_turn_request_free(r);
  }
}

/* Items of the rounds count against retained_max, what the client sent does not. */
static void bounds(void **state)
{
  struct world *w = *state;
  w->agent.config.retained_max = 300;
  struct mf_api_error e = { 0 };
  struct mf_err err = { 0 };
  struct turn t;
  mf_auto_free char *body = mf_xasprintf("{'model':'m','input':'%0500d'}", 1);
  struct mf_turn_request *r = request_of(w, body, &e);
  assert_true(r && begin_turn(w, r, &t, &e));
  mf_auto_json struct mf_json *item = NULL, *hidden = NULL;
  mf_auto_free char *json = quoted("{'type':'function_call_output','call_id':'c','output':'0123456789'}"),
                    *unknown = quoted("{'type':'mcp_list_tools','id':'mcpl_1'}");
  item = parsed(mf_str_of(json));
  hidden = parsed(mf_str_of(unknown));
  enum mf_code code = MF_OK;
  unsigned n = 0;
  while (!(code = turn_input_add(&t, mf_json_root(item), &err)))
    n++;
  assert_int_equal(code, MF_E_LIMIT);
  assert_string_equal(err.msg, "the items of a response exceeded 300 bytes");
  assert_int_equal(n, 4);
  size_t was = t.input.len;
  assert_true(was - t.begun <= 300);
  /* What the model is not shown costs nothing, and a refused item leaves nothing. */
  assert_ok(turn_input_add(&t, mf_json_root(hidden), &err), &err);
  assert_int_equal(t.input.len, was);
  mf_auto_free char *array = mf_xasprintf("[%s]", t.input.ptr);
  mf_json_free(parsed(mf_str_of(array)));

  const struct mf_store_item stored = { .id = MF_STR("fc_1"), .json = mf_str_of(json) };
  for (n = 0; !turn_items_add(&t.inputs, 300, &stored, &err);)
    n++;
  assert_int_equal(n, 2);
  assert_int_equal(t.inputs.item_n, 3);
  turn_done(&t);
  mf_turn_request_free(r);
  w->agent.config.retained_max = 1u << 20;
}

int main(void)
{
  static struct world w;
  world_open(&w);
  prepare(&w);
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_prestate(what_was_said_before, &w),
    cmocka_unit_test_prestate(gateway_items_are_for_people, &w),
    cmocka_unit_test_prestate(answers_and_inheritance, &w),
    cmocka_unit_test_prestate(an_inherited_choice_may_not_fit, &w),
    cmocka_unit_test_prestate(open_calls, &w),
    cmocka_unit_test_prestate(many_calls, &w),
    cmocka_unit_test_prestate(storage_errors, &w),
    cmocka_unit_test_prestate(found_tools, &w),
    cmocka_unit_test_prestate(references, &w),
    cmocka_unit_test_prestate(what_is_kept, &w),
    cmocka_unit_test_prestate(bounds, &w),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  world_close(&w);
  return failed;
}

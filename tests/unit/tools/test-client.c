/* Calls that the client executes: items, events, and what comes back. */
#include "set.h"

#include "base/banned.h"

#define TOOLS                                                                                                          \
  "[{'type':'custom','name':'c'},{'type':'shell','environment':{'type':'local'}},"                                     \
  "{'type':'tool_search','execution':'client'},{'type':'namespace','name':'n','tools':["                               \
  "{'type':'function','name':'m'},{'type':'custom','name':'k'}]}]"

static struct mf_tool_call call_of(const char *name, char *arguments)
{
  return (struct mf_tool_call){ MF_STR("fc_x1"), MF_STR("call_1"), mf_str_of(name), mf_str_of(arguments), 3 };
}

static void item(const char *name, const char *arguments, const char *want)
{
  struct set s;
  set_env(&s);
  set_declare(&s, TOOLS);
  mf_auto_free char *json = quoted(arguments);
  struct mf_tool_call call = call_of(name, json);
  mf_auto_buf struct mf_buf text;
  mf_buf_init(&text, 1u << 16);
  struct mf_json_writer w;
  mf_jw_init(&w, &text, false);
  mf_tool_write_client_item(mf_toolset_bind(s.tools, call.name), s.tools, &call, "completed", &w);
  assert_int_equal(w.code, MF_OK);
  assert_json(&text, want);
  set_done(&s);
}

static void events(const char *name, const char *arguments, const char *want)
{
  struct set s;
  set_env(&s);
  set_declare(&s, TOOLS);
  mf_auto_free char *json = quoted(arguments);
  struct mf_tool_call call = call_of(name, json);
  mf_auto_buf struct mf_buf lines;
  mf_buf_init(&lines, 1u << 16);
  struct mf_event_sink sink = lines_sink(&lines);
  struct mf_err err = { 0 };
  assert_ok(mf_tool_emit_client(mf_toolset_bind(s.tools, call.name), s.tools, &call, &sink, &err), &err);
  assert_json(&lines, want);
  set_done(&s);
}

static void items(void **state)
{
  item("c", "{'input':'a b'}",
       "{'type':'custom_tool_call','id':'ctc_x1','call_id':'call_1','name':'c','input':'a b','status':'completed'}");
  /* A model that does not know the form gives the text itself. */
  item("c", "a b",
       "{'type':'custom_tool_call','id':'ctc_x1','call_id':'call_1','name':'c','input':'a b','status':'completed'}");
  item("agentic_ns__n__k", "{'input':''}",
       "{'type':'custom_tool_call','id':'ctc_x1','call_id':'call_1','namespace':'n','name':'k','input':'',"
       "'status':'completed'}");
  item("agentic_ns__n__m", "{ }",
       "{'type':'function_call','id':'fc_x1','call_id':'call_1','namespace':'n','name':'m','arguments':'{ }',"
       "'status':'completed'}");
  item("undeclared", "{}",
       "{'type':'function_call','id':'fc_x1','call_id':'call_1','name':'undeclared','arguments':'{}',"
       "'status':'completed'}");
  item("shell", "{'commands':['ls','pwd',7],'timeout_ms':5000}",
       "{'type':'shell_call','id':'sh_x1','call_id':'call_1','action':{'commands':['ls','pwd'],'timeout_ms':5000,"
       "'max_output_length':null},'status':'completed'}");
  item("shell", "{'commands':'ls'}",
       "{'type':'shell_call','id':'sh_x1','call_id':'call_1','action':{'commands':['ls'],'timeout_ms':null,"
       "'max_output_length':null},'status':'completed'}");
  item("shell", "[broken",
       "{'type':'shell_call','id':'sh_x1','call_id':'call_1','action':{'commands':[],'timeout_ms':null,"
       "'max_output_length':null},'status':'completed'}");
  item("tool_search", "{'query':'q'}",
       "{'type':'tool_search_call','id':'tsc_x1','call_id':'call_1','execution':'client','arguments':{'query':'q'},"
       "'status':'completed'}");
  item("tool_search", "q",
       "{'type':'tool_search_call','id':'tsc_x1','call_id':'call_1','execution':'client','arguments':'q',"
       "'status':'completed'}");
}

static void event_sequences(void **state)
{
  events("c", "{'input':'a'}",
         "response.output_item.added 3 {'item':{'type':'custom_tool_call','id':'ctc_x1','call_id':'call_1','name':'c',"
         "'input':'','status':'in_progress'}}\n"
         "response.custom_tool_call_input.delta 3 {'item_id':'ctc_x1','delta':'a'}\n"
         "response.custom_tool_call_input.done 3 {'item_id':'ctc_x1','input':'a'}\n"
         "response.output_item.done 3 {'item':{'type':'custom_tool_call','id':'ctc_x1','call_id':'call_1','name':'c',"
         "'input':'a','status':'completed'}}\n");
  events("agentic_ns__n__m", "{}",
         "response.output_item.added 3 {'item':{'type':'function_call','id':'fc_x1','call_id':'call_1','namespace':'n',"
         "'name':'m','arguments':'','status':'in_progress'}}\n"
         "response.function_call_arguments.delta 3 {'item_id':'fc_x1','delta':'{}'}\n"
         "response.function_call_arguments.done 3 {'item_id':'fc_x1','name':'m','arguments':'{}'}\n"
         "response.output_item.done 3 {'item':{'type':'function_call','id':'fc_x1','call_id':'call_1','namespace':'n',"
         "'name':'m','arguments':'{}','status':'completed'}}\n");
  events("shell", "{'commands':['a','b']}",
         "response.output_item.added 3 {'item':{'type':'shell_call','id':'sh_x1','call_id':'call_1','action':"
         "{'commands':[],'timeout_ms':null,'max_output_length':null},'status':'in_progress'}}\n"
         "response.shell_call_command.added 3 {'item_id':'sh_x1','command_index':0,'command':''}\n"
         "response.shell_call_command.delta 3 {'item_id':'sh_x1','command_index':0,'delta':'a'}\n"
         "response.shell_call_command.done 3 {'item_id':'sh_x1','command_index':0,'command':'a'}\n"
         "response.shell_call_command.added 3 {'item_id':'sh_x1','command_index':1,'command':''}\n"
         "response.shell_call_command.delta 3 {'item_id':'sh_x1','command_index':1,'delta':'b'}\n"
         "response.shell_call_command.done 3 {'item_id':'sh_x1','command_index':1,'command':'b'}\n"
         "response.output_item.done 3 {'item':{'type':'shell_call','id':'sh_x1','call_id':'call_1','action':"
         "{'commands':['a','b'],'timeout_ms':null,'max_output_length':null},'status':'completed'}}\n");
  events("tool_search", "{}",
         "response.output_item.added 3 {'item':{'type':'tool_search_call','id':'tsc_x1','call_id':'call_1','execution':"
         "'client','arguments':{},'status':'in_progress'}}\n"
         "response.output_item.done 3 {'item':{'type':'tool_search_call','id':'tsc_x1','call_id':'call_1','execution':"
         "'client','arguments':{},'status':'completed'}}\n");
}

/* want NULL: not an item of these kinds. */
static void comes_back(const char *item_json, const char *want)
{
  mf_auto_json struct mf_json *doc = parsed(item_json);
  mf_auto_buf struct mf_buf text;
  mf_buf_init(&text, 1u << 16);
  struct mf_json_writer w;
  mf_jw_init(&w, &text, false);
  assert_int_equal(mf_tool_write_model_item(mf_json_root(doc), &w), want != NULL);
  assert_int_equal(w.code, MF_OK);
  if (want)
    assert_string_equal(text.ptr, want);
  else
    assert_int_equal(text.len, 0);
}

static void what_the_client_sends_back(void **state)
{
  comes_back("{'type':'function_call','call_id':'c','name':'f','arguments':'{}'}", NULL);
  comes_back("{'type':'function_call_output','call_id':'c','output':'x'}", NULL);
  comes_back("'text'", NULL);
  comes_back("{'type':'function_call','id':'fc_1','call_id':'c','name':'m','namespace':'n','arguments':'{}'}",
             "{\"type\":\"function_call\",\"id\":\"fc_1\",\"call_id\":\"c\",\"name\":\"agentic_ns__n__m\","
             "\"arguments\":\"{}\"}");
  comes_back("{'type':'custom_tool_call','id':'ctc_1','call_id':'c','name':'c','input':'a\\nb','status':'completed'}",
             "{\"type\":\"function_call\",\"id\":\"fc_1\",\"call_id\":\"c\",\"name\":\"c\","
             "\"arguments\":\"{\\\"input\\\":\\\"a\\\\nb\\\"}\",\"status\":\"completed\"}");
  comes_back("{'type':'custom_tool_call_output','call_id':'c','output':'x'}",
             "{\"type\":\"function_call_output\",\"call_id\":\"c\",\"output\":\"x\"}");
  comes_back("{'type':'shell_call','id':'sh_1','call_id':'c','action':{'commands':['ls'],'timeout_ms':null}}",
             "{\"type\":\"function_call\",\"id\":\"fc_1\",\"call_id\":\"c\",\"name\":\"shell\","
             "\"arguments\":\"{\\\"commands\\\":[\\\"ls\\\"]}\"}");
  comes_back("{'type':'shell_call_output','call_id':'c','output':[{'stdout':'x'}]}",
             "{\"type\":\"function_call_output\",\"call_id\":\"c\",\"output\":\"[{\\\"stdout\\\":\\\"x\\\"}]\"}");
  comes_back("{'type':'tool_search_call','call_id':'c','arguments':{'query':'q'}}",
             "{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"tool_search\","
             "\"arguments\":\"{\\\"query\\\":\\\"q\\\"}\"}");
  comes_back("{'type':'tool_search_output','call_id':'c','tools':[]}",
             "{\"type\":\"function_call_output\",\"call_id\":\"c\",\"output\":\"{\\\"tools\\\":[]}\"}");
}

static enum mf_code refuse(void *user, const char *type, int64_t output_index, struct mf_str members,
                           struct mf_err *err)
{
  (*(unsigned *)user)++;
  return mf_fail(err, MF_E_GONE, 0, "the reader has gone");
}

static void a_sink_that_fails_ends_it(void **state)
{
  struct set s;
  set_env(&s);
  set_declare(&s, TOOLS);
  unsigned n = 0;
  char none[] = "{}";
  struct mf_tool_call call = call_of("c", none);
  struct mf_event_sink sink = { &n, refuse };
  struct mf_err err = { 0 };
  assert_int_equal(mf_tool_emit_client(mf_toolset_bind(s.tools, call.name), s.tools, &call, &sink, &err), MF_E_GONE);
  assert_int_equal(n, 1);
  set_done(&s);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(items),
    cmocka_unit_test(event_sequences),
    cmocka_unit_test(what_the_client_sends_back),
    cmocka_unit_test(a_sink_that_fails_ends_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

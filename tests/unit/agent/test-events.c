/* Each event type: what it does to its item, what its verdict is, and how an item looks that was never done. */
#include "stream.h"

#include "base/banned.h"

static struct mf_acc *lenient(void)
{
  return mf_acc_new(false, RETAINED_MAX);
}

/* ---- items put together from deltas ---- */

struct kind {
  const char *opening;   /* the item */
  const char *events[6]; /* members of events that speak of it */
  const char *assembled;
};

static const struct kind kinds[] = {
  { "{'type':'message','id':'i','role':'assistant','status':'in_progress','content':[]}",
    { "'type':'response.content_part.added','content_index':0,'part':{'type':'output_text','text':''}",
      "'type':'response.output_text.delta','content_index':0,'delta':'a'",
      "'type':'response.output_text.delta','content_index':0,'delta':'b\\n'",
      "'type':'response.output_text.delta','content_index':1,'delta':'c'" },
    "{'type':'message','id':'i','role':'assistant','status':'incomplete','content':[{'type':'output_text','text':'"
    "ab\\n',"
    "'annotations':[]},{'type':'output_text','text':'c','annotations':[]}]}" },
  { "{'type':'message','id':'i','status':'in_progress','content':[]}",
    { "'type':'response.refusal.delta','content_index':0,'delta':'no'",
      "'type':'response.refusal.done','content_index':0,'refusal':'no!'" },
    "{'type':'message','id':'i','status':'incomplete','content':[{'type':'refusal','refusal':'no!'}]}" },
  { "{'type':'message','id':'i','status':'in_progress','content':[]}",
    { "'type':'response.content_part.added','content_index':0,'part':{'type':'output_text','text':''}",
      "'type':'response.content_part.done','content_index':0,'part':{'type':'output_text','text':'x','annotations':[1]"
      "}",
      "'type':'response.content_part.added','content_index':1,'part':{'type':'output_audio','data':'AA'}" },
    "{'type':'message','id':'i','status':'incomplete','content':[{'type':'output_text','text':'x','annotations':[1]},"
    "{'type':'output_audio','data':'AA'}]}" },
  { "{'type':'reasoning','id':'i','summary':[],'content':null}",
    { "'type':'response.reasoning_part.added','content_index':0,'part':{'type':'reasoning_text','text':''}",
      "'type':'response.reasoning_text.delta','content_index':0,'delta':'r'",
      "'type':'response.reasoning_text.done','content_index':0,'text':'r'",
      "'type':'response.reasoning_part.done','content_index':0,'part':{'type':'reasoning_text','text':'r'}",
      "'type':'response.reasoning_summary_text.delta','summary_index':0,'delta':'s'",
      "'type':'response.reasoning_summary_text.done','summary_index':0,'text':'s'" },
    "{'type':'reasoning','id':'i','content':[{'type':'reasoning_text','text':'r'}],"
    "'summary':[{'type':'summary_text','text':'s'}]}" },
  { "{'type':'reasoning','id':'i','summary':[]}",
    { "'type':'response.reasoning_summary_part.added','summary_index':0,'part':{'type':'summary_text','text':''}",
      "'type':'response.reasoning_summary_part.done','summary_index':0,'part':{'type':'summary_text','text':'s'}" },
    "{'type':'reasoning','id':'i','summary':[{'type':'summary_text','text':'s'}]}" },
  { "{'type':'function_call','id':'i','call_id':'c','name':'f','arguments':'','status':'in_progress'}",
    { "'type':'response.function_call_arguments.delta','delta':'{'",
      "'type':'response.function_call_arguments.delta','delta':'}'",
      "'type':'response.function_call_arguments.done','arguments':'{}'" },
    "{'type':'function_call','id':'i','call_id':'c','name':'f','status':'incomplete','arguments':'{}'}" },
  { "{'type':'custom_tool_call','id':'i','call_id':'c','name':'f','input':''}",
    { "'type':'response.custom_tool_call_input.delta','delta':'in'",
      "'type':'response.custom_tool_call_input.done','input':'in'" },
    "{'type':'custom_tool_call','id':'i','call_id':'c','name':'f','input':'in'}" },
  { "{'type':'shell_call','id':'i','action':{'timeout_ms':5,'commands':[]},'status':'in_progress'}",
    { "'type':'response.shell_call_command.added','command_index':0,'command':''",
      "'type':'response.shell_call_command.delta','command_index':0,'delta':'ls'",
      "'type':'response.shell_call_command.done','command_index':0,'command':'ls'",
      "'type':'response.shell_call_command.added','command_index':1,'command':'pw'",
      "'type':'response.shell_call_command.delta','command_index':1,'delta':'d'" },
    "{'type':'shell_call','id':'i','status':'incomplete','action':{'timeout_ms':5,'commands':['ls','pwd']}}" },
  { "{'type':'mcp_call','id':'i','server_label':'s','arguments':''}",
    { "'type':'response.mcp_call.in_progress'", "'type':'response.mcp_call_arguments.delta','delta':'{}'",
      "'type':'response.mcp_call_arguments.done','arguments':'{}'", "'type':'response.mcp_call.completed'",
      "'type':'response.mcp_call.failed'" },
    "{'type':'mcp_call','id':'i','server_label':'s','arguments':'{}'}" },
  { "{'type':'mcp_tool_call','id':'i','arguments':''}",
    { "'type':'response.mcp_call_arguments.delta','delta':'{}'" },
    "{'type':'mcp_tool_call','id':'i','arguments':'{}'}" },
  { "{'type':'mcp_list_tools','id':'i','tools':[]}",
    { "'type':'response.mcp_list_tools.in_progress'", "'type':'response.mcp_list_tools.completed'",
      "'type':'response.mcp_list_tools.failed'" },
    "{'type':'mcp_list_tools','id':'i','tools':[]}" },
  { "{'type':'code_interpreter_call','id':'i','code':'','status':'in_progress','outputs':null}",
    { "'type':'response.code_interpreter_call.in_progress'",
      "'type':'response.code_interpreter_call_code.delta','delta':'1'",
      "'type':'response.code_interpreter_call_code.done','code':'1'",
      "'type':'response.code_interpreter_call.interpreting'", "'type':'response.code_interpreter_call.completed'" },
    "{'type':'code_interpreter_call','id':'i','status':'incomplete','outputs':null,'code':'1'}" },
  { "{'type':'web_search_call','id':'i','status':'in_progress'}",
    { "'type':'response.web_search_call.in_progress'", "'type':'response.web_search_call.searching'",
      "'type':'response.web_search_call.completed'" },
    "{'type':'web_search_call','id':'i','status':'incomplete'}" },
  { "{'type':'file_search_call','id':'i','status':'in_progress'}",
    { "'type':'response.file_search_call.searching'", "'type':'response.file_search_call.completed'" },
    "{'type':'file_search_call','id':'i','status':'incomplete'}" },
  { "{'type':'never_heard_of','id':'i','status':'in_progress','x':[1.50]}",
    { "'type':'response.never_heard_of.happening','x':1" },
    "{'type':'never_heard_of','id':'i','status':'incomplete','x':[1.50]}" },
};

static void open_item(struct mf_acc *a, const char *item)
{
  mf_auto_free char *text =
      mf_xasprintf("{'type':'response.output_item.added','sequence_number':2,'output_index':0,'item':%s}", item);
  struct mf_acc_event e = feed(a, text);
  assert_int_equal(e.verdict, MF_ACC_DELIVER);
  assert_true(e.opens && !e.closes && e.has_index && e.upstream_index == 0);
  assert_non_null(e.item);
  assert_str(e.item->id, "i");
  assert_true(e.item->saw_added && !e.item->saw_done && !e.item->is_done);
}

static void assembles_every_kind(void **state)
{
  for (size_t k = 0; k < MF_ARRAY_N(kinds); k++)
    for (int strict = 0; strict < 2; strict++) {
      struct mf_acc *a = mf_acc_new(strict, RETAINED_MAX);
      begin(a);
      open_item(a, kinds[k].opening);
      for (unsigned i = 0; i < MF_ARRAY_N(kinds[k].events) && kinds[k].events[i]; i++) {
        /* The done text that differs from its deltas is for lenient only. */
        if (strict && strstr(kinds[k].events[i], "no!"))
          continue;
        mf_auto_free char *text =
            mf_xasprintf("{'sequence_number':%u,'output_index':0,'item_id':'i',%s}", i + 3, kinds[k].events[i]);
        struct mf_acc_event e = feed(a, text);
        assert_int_equal(e.verdict, MF_ACC_DELIVER);
        assert_true(e.has_index && e.upstream_index == 0 && e.item && !e.opens && !e.closes);
      }
      if (!strict || !strstr(kinds[k].assembled, "no!"))
        assert_json(item_at(a, 0)->json, kinds[k].assembled);
      assert_int_equal(mf_acc_state(a), MF_UPSTREAM_OPEN);
      mf_acc_free(a);
    }
}

static void takes_the_done_item_as_it_is(void **state)
{
  struct mf_acc *a = lenient();
  open_item(a, "{'type':'function_call','id':'i','call_id':'c','name':'f','arguments':''}");
  struct mf_acc_event e =
      feed(a, "{'type':'response.function_call_arguments.delta','output_index':0,'item_id':'i','delta':'{\\\"a'}");
  assert_json(e.item->arguments, "{'a");
  assert_str(e.item->name, "f");
  assert_str(e.item->call_id, "c");
  e = feed(a,
           "{'type':'response.output_item.done','output_index':0,'item':{'extra':1.0,'type':'function_call','id':'i',"
           "'call_id':'c','name':'f','arguments':'{\\\"a\\\":1}'}}");
  assert_true(e.closes && !e.opens && e.item->is_done && e.item->saw_done);
  assert_json(e.item->arguments, "{'a':1}");
  assert_str(e.item->json, "{\"extra\":1.0,\"type\":\"function_call\",\"id\":\"i\",\"call_id\":\"c\",\"name\":\"f\","
                           "\"arguments\":\"{\\\"a\\\":1}\"}");
  assert_str(item_at(a, 0)->json,
             "{\"extra\":1.0,\"type\":\"function_call\",\"id\":\"i\",\"call_id\":\"c\",\"name\":\"f\","
             "\"arguments\":\"{\\\"a\\\":1}\"}");
  mf_acc_free(a);
}

/* ---- lifecycle ---- */

static void ends_by_every_terminal_event(void **state)
{
  static const struct {
    const char *event;
    enum mf_upstream_state state;
    const char *error, *incomplete;
  } rows[] = {
    { "{'type':'response.completed','response':{'status':'completed','error':null}}", MF_UPSTREAM_COMPLETED, "", "" },
    { "{'type':'response.incomplete','response':{'status':'incomplete','incomplete_details':{'reason':'x'}}}",
      MF_UPSTREAM_INCOMPLETE, "", "{'reason':'x'}" },
    { "{'type':'response.failed','response':{'status':'failed','error':{'code':'c','message':'m'}}}",
      MF_UPSTREAM_FAILED, "{'code':'c','message':'m'}", "" },
    { "{'type':'response.cancelled','response':{'status':'cancelled'}}", MF_UPSTREAM_FAILED, "", "" },
    { "{'type':'response.done','response':{'status':'completed'}}", MF_UPSTREAM_COMPLETED, "", "" },
    { "{'type':'response.done','response':{}}", MF_UPSTREAM_COMPLETED, "", "" },
    { "{'type':'response.done','response':{'status':'failed'}}", MF_UPSTREAM_FAILED, "", "" },
    { "{'type':'response.completed'}", MF_UPSTREAM_COMPLETED, "", "" },
    { "{'type':'error','code':'c','message':'m','param':null,'sequence_number':1}", MF_UPSTREAM_FAILED,
      "{'code':'c','message':'m','param':null}", "" },
    { "{'type':'error','error':{'message':'m'}}", MF_UPSTREAM_FAILED, "{'message':'m'}", "" },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    struct mf_acc *a = lenient();
    struct mf_acc_event e = feed(a, rows[i].event);
    assert_int_equal(e.verdict, MF_ACC_TERMINAL);
    assert_int_equal(mf_acc_state(a), rows[i].state);
    assert_json(mf_acc_error(a), rows[i].error);
    assert_json(mf_acc_incomplete(a), rows[i].incomplete);
    /* What comes later changes nothing. */
    e = feed(a, "{'type':'response.failed','response':{'status':'failed','error':{'code':'late'}}}");
    assert_int_equal(e.verdict, MF_ACC_SWALLOW);
    e = feed(a, "{'type':'response.output_item.added','output_index':0,'item':{'type':'message','id':'late'}}");
    assert_int_equal(e.verdict, MF_ACC_SWALLOW);
    mf_acc_end(a);
    assert_int_equal(mf_acc_state(a), rows[i].state);
    assert_json(mf_acc_error(a), rows[i].error);
    assert_int_equal(item_n(a), 0);
    mf_acc_free(a);
  }
}

static void fails_when_the_stream_is_cut(void **state)
{
  struct mf_acc *a = lenient();
  begin(a);
  open_item(a, "{'type':'message','id':'i','status':'in_progress','content':[]}");
  feed(a, "{'type':'response.output_text.delta','output_index':0,'item_id':'i','content_index':0,'delta':'cu'}");
  struct mf_acc_event e = { 0 };
  struct mf_err err = { 0 };
  assert_ok(mf_acc_feed(a, (struct mf_str){ 0 }, MF_STR("[DONE]"), &e, &err), &err);
  assert_int_equal(e.verdict, MF_ACC_SWALLOW);
  assert_int_equal(mf_acc_state(a), MF_UPSTREAM_OPEN);
  mf_acc_end(a);
  assert_int_equal(mf_acc_state(a), MF_UPSTREAM_FAILED);
  assert_json(mf_acc_error(a), "{'code':'server_error','message':'upstream stream ended without a terminal event'}");
  assert_false(item_at(a, 0)->is_done);
  assert_json(item_at(a, 0)->json, "{'type':'message','id':'i','status':'incomplete','content':[{'type':'output_text',"
                                   "'text':'cu','annotations':[]}]}");
  mf_acc_free(a);
}

static void keeps_the_response_of_the_terminal_event(void **state)
{
  struct mf_acc *a = lenient();
  struct mf_acc_event e = feed(a, "{'type':'response.queued','response':{'id':'r','status':'queued','n':1.0}}");
  assert_int_equal(e.verdict, MF_ACC_SWALLOW);
  assert_null(mf_acc_response(a));
  feed(a, "{'type':'response.completed','response':{'id':'r','output':[{'type':'message','id':'m'}],'z':{}}}");
  feed(a, "{'type':'response.completed','response':{'id':'late'}}");
  const struct mf_json_val *r = mf_acc_response(a);
  assert_non_null(mf_json_get(r, "z"));
  assert_str(mf_json_str(mf_json_get(r, "id")), "r");
  mf_acc_free(a);
}

/* ---- what is passed on ---- */

static void passes_unknown_events_on(void **state)
{
  struct mf_acc *a = lenient();
  struct mf_acc_event e = feed(a, "{'type':'keepalive','sequence_number':-1}");
  assert_int_equal(e.verdict, MF_ACC_DELIVER);
  e = feed(a, "{'type':'response.foo.bar','output_index':3}");
  assert_int_equal(e.verdict, MF_ACC_DELIVER);
  assert_true(e.has_index && e.upstream_index == 3 && !e.item);
  assert_str(e.type, "response.foo.bar");
  assert_non_null(e.doc);
  /* The name of the line, when the data have none. */
  struct mf_err err = { 0 };
  assert_ok(mf_acc_feed(a, MF_STR("x.y"), MF_STR("{}"), &e, &err), &err);
  assert_str(e.type, "x.y");
  assert_int_equal(e.verdict, MF_ACC_DELIVER);
  /* The data's own wins. */
  assert_ok(mf_acc_feed(a, MF_STR("x.y"), MF_STR("{\"type\":\"a.b\"}"), &e, &err), &err);
  assert_str(e.type, "a.b");
  mf_acc_free(a);
}

static void ignores_what_is_no_event(void **state)
{
  static const char *const texts[] = { "", "not json", "[]", "7", "{}", "{'type':7}", "{'type':'a','type':'b'}", "{" };
  struct mf_acc *a = lenient();
  for (size_t i = 0; i < MF_ARRAY_N(texts); i++)
    assert_int_equal(feed(a, texts[i]).verdict, MF_ACC_SWALLOW);
  assert_int_equal(mf_acc_state(a), MF_UPSTREAM_OPEN);
  mf_acc_free(a);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(assembles_every_kind),
    cmocka_unit_test(takes_the_done_item_as_it_is),
    cmocka_unit_test(ends_by_every_terminal_event),
    cmocka_unit_test(fails_when_the_stream_is_cut),
    cmocka_unit_test(keeps_the_response_of_the_terminal_event),
    cmocka_unit_test(passes_unknown_events_on),
    cmocka_unit_test(ignores_what_is_no_event),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

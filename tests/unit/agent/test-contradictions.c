/* What does not fit: refused by both, ignored by lenient, put right by new indexes and ids; and bounds. */
#include "stream.h"

#include "base/banned.h"

#define ADDED(index, item) "{'type':'response.output_item.added','output_index':" index ",'item':" item "}"
#define DONE(index, item) "{'type':'response.output_item.done','output_index':" index ",'item':" item "}"
#define MESSAGE(id, text) "{'type':'message','id':'" id "','content':[{'type':'output_text','text':'" text "'}]}"

static struct mf_acc *lenient(void)
{
  return mf_acc_new(false, RETAINED_MAX);
}

/* ---- refused by both ---- */

static void refuses_contradictions(void **state)
{
  static const struct {
    const char *events[4];
    const char *text; /* of the error of the last one */
  } rows[] = {
    { { ADDED("0", "{'type':'message','id':'a'}"),
        "{'type':'response.output_text.done','output_index':0,'item_id':'a','content_index':0,'text':'x'}",
        DONE("0", MESSAGE("a", "y")) },
      "message completion contradicts a completed content part" },
    { { ADDED("0", "{'type':'message','id':'a'}"),
        "{'type':'response.content_part.done','output_index':0,'item_id':'a','content_index':0,'part':{"
        "'type':'output_text','text':'x'}}",
        DONE("0", MESSAGE("a", "y")) },
      "message completion contradicts a completed content part" },
    { { ADDED("0", "{'type':'message','id':'a'}"),
        "{'type':'response.output_text.done','output_index':0,'item_id':'a','content_index':0,'text':'x',"
        "'logprobs':[{'token':'x','logprob':-1}]}",
        DONE("0", "{'type':'message','id':'a','content':[{'type':'output_text','text':'x','logprobs':[{'token':'x',"
                  "'logprob':-2}]}]}") },
      "message completion contradicts a completed content part" },
    { { ADDED("0", "{'type':'function_call','id':'a','call_id':'c'}"),
        "{'type':'response.function_call_arguments.done','output_index':0,'item_id':'a','arguments':'{}'}",
        DONE("0", "{'type':'function_call','id':'a','call_id':'c','arguments':'[]'}") },
      "function_call completion contradicts its completed arguments" },
    { { ADDED("0", "{'type':'function_call','id':'a','call_id':'c'}"),
        DONE("0", "{'type':'function_call','id':'a','call_id':'d'}") },
      "another call_id" },
    { { ADDED("0", "{'type':'function_call','id':'a','name':'f'}"),
        DONE("0", "{'type':'function_call','id':'a','name':'g'}") },
      "another name" },
    { { ADDED("0", "{'type':'code_interpreter_call','id':'a'}"),
        "{'type':'response.code_interpreter_call_code.done','output_index':0,'item_id':'a','code':'1'}",
        DONE("0", "{'type':'code_interpreter_call','id':'a','code':'2'}") },
      "code_interpreter_call completion contradicts its completed code" },
    { { ADDED("0", "{'type':'message','id':'a'}"), DONE("0", "{'type':'reasoning','id':'a'}") },
      "message became reasoning" },
    { { ADDED("0", "{'type':'message','id':'a'}"), ADDED("0", "{'type':'message','id':'b'}") },
      "conflicting item opening at output_index 0" },
    { { ADDED("0", "{'type':'message','id':'a'}"), ADDED("0", "{'type':'reasoning','id':'a'}") },
      "conflicting item opening at output_index 0" },
    { { ADDED("0", "{'type':'message','id':'a'}"), DONE("0", MESSAGE("a", "x")), DONE("0", MESSAGE("a", "x")) },
      "repeated completion of the item at output_index 0" },
    { { DONE("4", "{'type':'message','id':'a'}"), DONE("4", "{'type':'message'}") },
      "repeated completion of the item at output_index 4" },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    struct mf_acc *a = lenient();
    unsigned k = 0;
    for (; k + 1 < MF_ARRAY_N(rows[i].events) && rows[i].events[k + 1]; k++)
      feed(a, rows[i].events[k]);
    refused(a, rows[i].events[k], rows[i].text);
    mf_acc_free(a);
  }
}

static void takes_equal_logprobs(void **state)
{
  /* The same numbers and members, written and ordered otherwise; nothing on one side contradicts nothing. */
  static const char *const done[] = { "[{'logprob':-1.0,'token':'x'}]", "[]", "null" };
  for (size_t i = 0; i < MF_ARRAY_N(done); i++) {
    struct mf_acc *a = lenient();
    feed(a, ADDED("0", "{'type':'message','id':'a'}"));
    feed(a, "{'type':'response.output_text.done','output_index':0,'item_id':'a','content_index':0,'text':'x',"
            "'logprobs':[{'token':'x','logprob':-1}]}");
    mf_auto_free char *text = mf_xasprintf(
        DONE("0", "{'type':'message','id':'a','content':[{'type':'output_text','text':'x','logprobs':%s}]}"), done[i]);
    assert_true(feed(a, text).closes);
    mf_acc_free(a);
  }
}

/* ---- ignored ---- */

static void ignores_what_does_not_fit(void **state)
{
  static const char *const events[] = {
    "{'type':'response.output_text.delta','output_index':0,'item_id':'b','content_index':0,'delta':'?'}",
    "{'type':'response.output_text.delta','output_index':1,'item_id':'b','content_index':0,'delta':'?'}",
    "{'type':'response.output_text.delta','item_id':'b','content_index':0,'delta':'?'}",
    "{'type':'response.output_text.delta','output_index':0,'item_id':'a','content_index':-1,'delta':'?'}",
    "{'type':'response.output_text.delta','output_index':0,'item_id':'a','content_index':0,'delta':7}",
    "{'type':'response.output_text.delta','output_index':0,'item_id':'a','content_index':0}",
    "{'type':'response.code_interpreter_call_code.delta','output_index':0,'item_id':'a','delta':'?'}",
    "{'type':'response.web_search_call.searching','output_index':7,'item_id':'w'}",
    "{'type':'response.output_text.done','output_index':0,'item_id':'a','content_index':0}",
    "{'type':'response.content_part.added','output_index':0,'item_id':'a','content_index':0,'part':1}",
    "{'type':'response.output_item.added','output_index':1,'item':[]}",
    "{'type':'response.output_item.done','output_index':1}",
    ADDED("0", "{'type':'message','id':'a','content':'again'}"),
  };
  struct mf_acc *a = lenient();
  feed(a, ADDED("0", "{'type':'message','id':'a','content':[]}"));
  feed(a, "{'type':'response.output_text.delta','output_index':0,'item_id':'a','content_index':0,'delta':'x'}");
  for (size_t i = 0; i < MF_ARRAY_N(events); i++) {
    if (feed(a, events[i]).verdict != MF_ACC_SWALLOW)
      fail_msg("delivered: %s", events[i]);
  }
  assert_json(item_at(a, 0)->json,
              "{'type':'message','id':'a','content':[{'type':'output_text','text':'x','annotations':[]}]}");

  /* A text that is done takes no more, and the part stands by it. */
  feed(a, "{'type':'response.output_text.done','output_index':0,'item_id':'a','content_index':0,'text':'xy'}");
  static const char *const late[] = {
    "{'type':'response.output_text.delta','output_index':0,'item_id':'a','content_index':0,'delta':'?'}",
    "{'type':'response.output_text.done','output_index':0,'item_id':'a','content_index':0,'text':'?'}",
    "{'type':'response.content_part.done','output_index':0,'item_id':'a','content_index':0,'part':{'text':'?'}}",
  };
  for (size_t i = 0; i < MF_ARRAY_N(late); i++)
    assert_int_equal(feed(a, late[i]).verdict, MF_ACC_SWALLOW);
  assert_true(feed(a, DONE("0", MESSAGE("a", "xy"))).closes);
  assert_int_equal(feed(a, late[0]).verdict, MF_ACC_SWALLOW);
  assert_int_equal(item_n(a), 1);
  mf_acc_free(a);
}

static void finds_items_by_what_there_is(void **state)
{
  struct mf_acc *a = lenient();
  feed(a, "{'type':'response.output_item.added','item':{'type':'message','id':'a','content':[]}}");
  /* The only one that is open. */
  assert_int_equal(feed(a, "{'type':'response.output_text.delta','delta':'1'}").verdict, MF_ACC_DELIVER);
  feed(a, ADDED("7", "{'type':'message','id':'b','content':[]}"));
  assert_int_equal(feed(a, "{'type':'response.output_text.delta','delta':'?'}").verdict, MF_ACC_SWALLOW);
  assert_int_equal(feed(a, "{'type':'response.output_text.delta','item_id':'a','delta':'2'}").verdict, MF_ACC_DELIVER);
  struct mf_acc_event e = feed(a, "{'type':'response.output_text.delta','output_index':7,'delta':'3'}");
  assert_int_equal(e.upstream_index, 7);
  assert_json(item_at(a, 0)->json,
              "{'type':'message','id':'a','content':[{'type':'output_text','text':'12','annotations':[]}]}");
  assert_json(item_at(a, 1)->json,
              "{'type':'message','id':'b','content':[{'type':'output_text','text':'3','annotations':[]}]}");
  mf_acc_free(a);
}

/* ---- put right ---- */

static void keys_repeated_indexes_and_ids_anew(void **state)
{
  struct mf_acc *a = lenient();
  feed(a, ADDED("0", "{'type':'reasoning','id':'same'}"));
  feed(a, DONE("0", "{'type':'reasoning','id':'same'}"));
  struct mf_acc_event e = feed(a, ADDED("0", "{'type':'message','id':'same'}"));
  assert_true(e.opens && e.upstream_index == 1);
  assert_true(mf_str_starts(e.item->id, "msg_"));
  assert_int_equal(e.item->id.len, 4 + 36);
  e = feed(a, "{'type':'response.output_text.delta','output_index':0,'item_id':'same','delta':'x'}");
  assert_int_equal(e.upstream_index, 1);
  e = feed(a, DONE("0", MESSAGE("same", "x")));
  assert_true(e.closes && e.upstream_index == 1);
  mf_auto_free char *json = mf_xasprintf("{\"type\":\"message\",\"id\":\"%.*s\",\"content\":[{\"type\":\"output_text\","
                                         "\"text\":\"x\"}]}",
                                         MF_STR_ARG(e.item->id));
  assert_str(e.item->json, json);
  /* Upstream's real 1 has to make way. */
  assert_int_equal(feed(a, ADDED("1", "{'type':'message','id':'c'}")).upstream_index, 2);
  assert_int_equal(feed(a, ADDED("4294967295", "{'type':'message','id':'d'}")).upstream_index, UINT32_MAX);
  feed(a, DONE("4294967295", "{'type':'message','id':'d'}"));
  /* Behind the last there is no more: the first gap. */
  assert_int_equal(feed(a, ADDED("4294967295", "{'type':'message','id':'e'}")).upstream_index, 3);
  assert_int_equal(item_n(a), 5);
  for (unsigned i = 0; i < 4; i++)
    assert_int_equal(item_at(a, i)->upstream_index, i);
  mf_acc_free(a);
}

static void makes_missing_ids(void **state)
{
  static const struct {
    const char *type, *prefix;
  } rows[] = {
    { "message", "msg_" },          { "reasoning", "rs_" },
    { "function_call", "fc_" },     { "code_interpreter_call", "ci_" },
    { "web_search_call", "ws_" },   { "file_search_call", "fs_" },
    { "mcp_call", "mcp_" },         { "mcp_list_tools", "mcpl_" },
    { "custom_tool_call", "ctc_" }, { "shell_call", "sh_" },
    { "compaction", "cmp_" },       { "never_heard_of", "item_" },
  };
  static const char *const ids[] = { "", "'id':'',", "'id':null,", "'id':5," };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++)
    for (size_t k = 0; k < MF_ARRAY_N(ids); k++) {
      struct mf_acc *a = lenient();
      mf_auto_free char *added = mf_xasprintf(ADDED("0", "{%s'type':'%s'}"), ids[k], rows[i].type);
      struct mf_acc_event e = feed(a, added);
      assert_true(mf_str_starts(e.item->id, rows[i].prefix));
      assert_int_equal(e.item->id.len, strlen(rows[i].prefix) + 36);
      mf_auto_free char *json = mf_xasprintf("{\"id\":\"%.*s\",\"type\":\"%s\"}", MF_STR_ARG(e.item->id), rows[i].type);
      assert_str(e.item->json, json);
      /* An id that comes later is too late. */
      mf_auto_free char *done = mf_xasprintf(DONE("0", "{'id':'later','type':'%s'}"), rows[i].type);
      e = feed(a, done);
      assert_true(e.closes);
      assert_str(e.item->json, json);
      mf_acc_free(a);
    }
}

static void takes_a_done_item_that_was_never_opened(void **state)
{
  struct mf_acc *a = lenient();
  struct mf_acc_event e = feed(a, DONE("2", "{'type':'message','id':'a'}"));
  assert_true(e.closes && !e.opens && e.upstream_index == 2);
  assert_true(e.item->is_done && e.item->saw_done && !e.item->saw_added);
  mf_acc_free(a);
}

static void loses_no_item_of_the_terminal_event(void **state)
{
  struct mf_acc *a = lenient();
  feed(a, ADDED("0", "{'type':'reasoning','id':'a'}"));
  feed(a, DONE("0", "{'type':'reasoning','id':'a','n':1}"));
  feed(a, ADDED("1", "{'type':'message','id':'b','status':'in_progress'}"));
  feed(a, "{'type':'response.completed','response':{'status':'completed','output':["
          "{'type':'reasoning','id':'new_id','n':2},"         /* known: what was streamed stays */
          "{'type':'message','id':'b','status':'completed'}," /* never done: this is its completion */
          "{'type':'function_call','id':'f','call_id':'c','name':'g','arguments':'{}'},"
          "{'type':'message','id':'','status':'completed'},7]}}");
  assert_int_equal(item_n(a), 4);
  assert_json(item_at(a, 0)->json, "{'type':'reasoning','id':'a','n':1}");
  assert_json(item_at(a, 1)->json, "{'type':'message','id':'b','status':'completed'}");
  assert_true(item_at(a, 1)->is_done && item_at(a, 1)->saw_added && !item_at(a, 1)->saw_done);
  const struct mf_acc_item *call = item_at(a, 2);
  assert_true(call->is_done && !call->saw_added && !call->saw_done && call->upstream_index == 2);
  assert_str(call->name, "g");
  assert_str(call->call_id, "c");
  assert_str(call->arguments, "{}");
  assert_true(mf_str_starts(item_at(a, 3)->id, "msg_"));
  mf_acc_free(a);

  /* A call is known by its call_id; another one of the same type is another one. */
  a = lenient();
  feed(a, DONE("0", "{'type':'function_call','id':'x','call_id':'1','arguments':'a'}"));
  feed(a, "{'type':'response.completed','response':{'output':["
          "{'type':'function_call','id':'y','call_id':'2','arguments':'b'},"
          "{'type':'function_call','id':'z','call_id':'1','arguments':'a'}]}}");
  assert_int_equal(item_n(a), 2);
  assert_str(item_at(a, 0)->call_id, "1");
  assert_str(item_at(a, 1)->call_id, "2");
  mf_acc_free(a);
}

/* vLLM has new ids and new call ids in its terminal event: nothing is called twice because of that. */
static void doubles_no_call_of_the_terminal_event(void **state)
{
  struct mf_acc *a = lenient();
  feed(a, DONE("0", "{'type':'function_call','id':'a','call_id':'1','name':'f','arguments':'{ }'}"));
  feed(a, DONE("1", "{'type':'function_call','id':'b','call_id':'2','name':'g','arguments':'{}'}"));
  feed(a, DONE("2", "{'type':'function_call','id':'c','call_id':'3','name':'f','arguments':'{}'}"));
  feed(a, "{'type':'response.completed','response':{'status':'completed','output':["
          "{'type':'function_call','id':'x','call_id':'7','name':'f','arguments':'{}'},"
          "{'type':'function_call','id':'y','call_id':'8','name':'g','arguments':'{}'},"
          "{'type':'function_call','id':'z','call_id':'9','name':'f','arguments':'{}'},"
          "{'type':'function_call','id':'w','call_id':'10','name':'h','arguments':'{}'}]}}");
  assert_int_equal(item_n(a), 4);
  for (unsigned i = 0; i < 3; i++)
    assert_true(item_at(a, i)->saw_done);
  assert_str(item_at(a, 0)->call_id, "1");
  assert_str(item_at(a, 0)->arguments, "{ }");
  assert_str(item_at(a, 3)->call_id, "10"); /* a call of which nothing was said before */
  mf_acc_free(a);
}

static void says_completed_of_an_item_left_open(void **state)
{
  struct mf_acc *a = lenient();
  feed(a, ADDED("0", "{'type':'message','id':'a','status':'in_progress'}"));
  feed(a, "{'type':'response.completed','response':{'output':[]}}");
  assert_false(item_at(a, 0)->is_done);
  assert_json(item_at(a, 0)->json, "{'type':'message','id':'a','status':'completed'}");
  mf_acc_free(a);
}

/* ---- strict ---- */

static void is_strict_about_order_and_fields(void **state)
{
#define CREATED "{'type':'response.created','sequence_number':0,'response':{'status':'in_progress'}}"
#define PROGRESS "{'type':'response.in_progress','sequence_number':1,'response':{'status':'in_progress'}}"
#define OPENED                                                                                                         \
  "{'type':'response.output_item.added','sequence_number':2,'output_index':0,'item':{'type':'message','id':'a'}}"
  static const struct {
    const char *events[5];
    const char *text;
  } rows[] = {
    { { "{'type':'response.in_progress','sequence_number':0,'response':{'status':'in_progress'}}" },
      "before response.created" },
    { { CREATED, "{'type':'response.created','sequence_number':1,'response':{'status':'in_progress'}}" },
      "a second time" },
    { { CREATED, "{'type':'response.output_item.added','sequence_number':1,'output_index':0,'item':{}}" },
      "before response.in_progress" },
    { { CREATED, PROGRESS, "{'type':'response.in_progress','sequence_number':2,'response':{'status':'in_progress'}}" },
      "a second time" },
    { { CREATED, "{'type':'keepalive'}" }, "sequence_number is missing" },
    { { CREATED, "{'type':'keepalive','sequence_number':0}" }, "sequence_number does not grow" },
    { { CREATED, "not json" }, "upstream event" },
    { { CREATED, "[DONE]" }, "[DONE] before a terminal event" },
    { { CREATED, "{'type':'response.in_progress','sequence_number':1,'response':{'status':'completed'}}" },
      "response.status is 'completed'" },
    { { CREATED, PROGRESS, "{'type':'response.completed','sequence_number':2,'response':{'status':'failed'}}" },
      "response.status is 'failed'" },
    { { CREATED, PROGRESS, "{'type':'response.completed','sequence_number':2}" }, "response is not an object" },
    { { CREATED, PROGRESS, OPENED,
        "{'type':'response.completed','sequence_number':3,'response':{'status':'completed','output':[]}}" },
      "an item is still open" },
    { { CREATED, PROGRESS,
        "{'type':'response.output_item.added','sequence_number':2,'output_index':0,'item':{'type':'message'}}" },
      "item.id or item.type is missing" },
    { { CREATED, PROGRESS,
        "{'type':'response.output_item.done','sequence_number':2,'output_index':0,'item':{'type':'message','id':'a'}"
        "}" },
      "never opened" },
    { { CREATED, PROGRESS, OPENED,
        "{'type':'response.output_item.done','sequence_number':3,'output_index':0,'item':{'type':'message','id':'b'}"
        "}" },
      "another id" },
    { { CREATED, PROGRESS, OPENED,
        "{'type':'response.output_item.added','sequence_number':3,'output_index':0,'item':{'type':'message','id':'a'}"
        "}" },
      "conflicting item opening" },
    { { CREATED, PROGRESS, OPENED,
        "{'type':'response.output_item.added','sequence_number':3,'output_index':1,'item':{'type':'message','id':'a'}"
        "}" },
      "conflicting item opening" },
    { { CREATED, PROGRESS, OPENED,
        "{'type':'response.output_text.delta','sequence_number':3,'output_index':0,'content_index':0,'delta':'x'}" },
      "item_id is missing" },
    { { CREATED, PROGRESS, OPENED,
        "{'type':'response.output_text.delta','sequence_number':3,'output_index':0,'item_id':'b','content_index':0,"
        "'delta':'x'}" },
      "no such open item" },
    { { CREATED, PROGRESS, OPENED,
        "{'type':'response.output_text.delta','sequence_number':3,'output_index':1,'item_id':'a','content_index':0,"
        "'delta':'x'}" },
      "no such open item" },
    { { CREATED, PROGRESS, OPENED,
        "{'type':'response.code_interpreter_call_code.delta','sequence_number':3,'output_index':0,'item_id':'a',"
        "'delta':'x'}" },
      "the item is a message" },
    { { CREATED, PROGRESS, OPENED,
        "{'type':'response.output_text.delta','sequence_number':3,'output_index':0,'item_id':'a','content_index':0,"
        "'delta':'x'}",
        "{'type':'response.output_text.done','sequence_number':4,'output_index':0,'item_id':'a','content_index':0,"
        "'text':'y'}" },
      "not what its deltas were" },
    { { CREATED, PROGRESS,
        "{'type':'response.completed','sequence_number':2,'response':{'status':'completed','output':[]}}",
        "{'type':'keepalive','sequence_number':3}" },
      "after the terminal event" },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    struct mf_acc *a = mf_acc_new(true, RETAINED_MAX);
    unsigned k = 0;
    for (; k + 1 < MF_ARRAY_N(rows[i].events) && rows[i].events[k + 1]; k++)
      feed(a, rows[i].events[k]);
    refused(a, rows[i].events[k], rows[i].text);
    mf_acc_free(a);
  }

  struct mf_acc *a = mf_acc_new(true, RETAINED_MAX);
  struct mf_acc_event e = { 0 };
  struct mf_err err = { 0 };
  assert_int_equal(mf_acc_feed(a, MF_STR("other"), MF_STR("{\"type\":\"keepalive\",\"sequence_number\":0}"), &e, &err),
                   MF_E_INPUT);
  assert_non_null(strstr(err.msg, "not that of its data"));
  mf_acc_free(a);
}

/* ---- bounds ---- */

static void bounds_what_it_keeps(void **state)
{
  enum { MAX = 20000 };
  struct mf_acc_event e = { 0 };
  struct mf_err err = { 0 };
  enum mf_code code = MF_OK;
  struct mf_acc *a = mf_acc_new(false, MAX);
  feed(a, ADDED("0", "{'type':'message','id':'a','content':[]}"));
  unsigned n = 0;
  for (; !code && n < MAX; n++)
    code = try_feed(a, "{'type':'response.output_text.delta','output_index':0,'delta':'0123456789'}", &e, &err);
  assert_int_equal(code, MF_E_LIMIT);
  assert_string_equal(err.msg, "the upstream response is larger than 20000 bytes");
  assert_true(n > 1500 && n <= MAX / 10);
  assert_int_equal(mf_acc_state(a), MF_UPSTREAM_FAILED);
  mf_acc_free(a);

  /* Items and parts without any text weigh something, too. */
  for (size_t i = 0; i < 2; i++) {
    a = mf_acc_new(false, MAX);
    feed(a, ADDED("0", "{'type':'message','id':'a'}"));
    code = MF_OK;
    for (n = 1; !code && n < MAX; n++) {
      mf_auto_free char *text =
          i == 0
              ? mf_xasprintf("{'type':'response.output_item.done','output_index':%u,'item':{}}", n)
              : mf_xasprintf("{'type':'response.output_text.delta','output_index':0,'content_index':%u,'delta':''}", n);
      code = try_feed(a, text, &e, &err);
    }
    assert_int_equal(code, MF_E_LIMIT);
    assert_true(n < 200);
    mf_acc_free(a);
  }

  /* What deltas took is given back when the item is done: many long ones one after another are no more than their sum.
   */
  a = mf_acc_new(false, MAX);
  for (n = 0; n < 5; n++) {
    char text[2400], filler[2001];
    memset(filler, 'x', 2000);
    filler[2000] = 0;
    snprintf(text, sizeof(text), "{'type':'response.output_item.added','output_index':%u,'item':{'type':'message'}}",
             n);
    feed(a, text);
    snprintf(text, sizeof(text), "{'type':'response.output_text.delta','output_index':%u,'delta':'%s'}", n, filler);
    feed(a, text);
    snprintf(text, sizeof(text),
             "{'type':'response.output_item.done','output_index':%u,'item':{'type':'message','content':['%s']}}", n,
             filler);
    feed(a, text);
  }
  mf_acc_free(a);
}

static struct mf_str json_of_item(const struct mf_acc *a, size_t i)
{
  const struct mf_acc_item *items = NULL;
  assert_true(i < mf_acc_items(a, &items));
  return items[i].json;
}

/* What does not fit is no item, or leaves the one that it would have completed as it was: both are shown to the client,
 * in a response that has failed. */
static void keeps_items_whole_at_the_bound(void **state)
{
  enum { MAX = 3200 };
  struct mf_acc_event e = { 0 };
  struct mf_err err = { 0 };
  char filler[3001];
  memset(filler, 'x', sizeof(filler) - 1);
  filler[sizeof(filler) - 1] = 0;
  struct mf_acc *a = mf_acc_new(false, MAX);
  feed(a, ADDED("0", "{'type':'message','id':'a','content':[]}"));
  mf_auto_free char *opens = mf_xasprintf(
      "{'type':'response.output_item.added','output_index':1,'item':{'type':'message','id':'b','content':['%s']}}",
      filler);
  assert_int_equal(try_feed(a, opens, &e, &err), MF_E_LIMIT);
  assert_int_equal(item_n(a), 1);
  mf_acc_free(a);

  a = mf_acc_new(false, MAX);
  feed(a, ADDED("0", "{'type':'message','id':'a','content':[]}"));
  mf_auto_free char *completes = mf_xasprintf(
      "{'type':'response.output_item.done','output_index':0,'item':{'type':'message','id':'a','content':['%s']}}",
      filler);
  assert_int_equal(try_feed(a, completes, &e, &err), MF_E_LIMIT);
  assert_int_equal(item_n(a), 1);
  struct mf_str json = json_of_item(a, 0);
  assert_int_equal(json.len, strlen("{'type':'message','id':'a','content':[]}"));
  assert_memory_equal(json.ptr, "{\"type\":\"message\",\"id\":\"a\",\"content\":[]}", json.len);
  mf_acc_free(a);
}

static void bounds_items_and_depth(void **state)
{
  struct mf_acc_event e = { 0 };
  struct mf_err err = { 0 };
  struct mf_acc *a = mf_acc_new(false, 64u << 20);
  enum mf_code code = MF_OK;
  unsigned n = 0;
  for (; !code && n < 5000; n++)
    code = try_feed(a, "{'type':'response.output_item.done','item':{'type':'x'}}", &e, &err);
  assert_int_equal(code, MF_E_LIMIT);
  assert_int_equal(n, 1025);
  assert_int_equal(item_n(a), 1024);
  mf_acc_free(a);

  a = lenient();
  char deep[1200] = "{'type':'x','y':";
  size_t at = strlen(deep);
  memset(deep + at, '[', 300);
  memset(deep + at + 300, ']', 300);
  snprintf(deep + at + 600, sizeof(deep) - at - 600, "}");
  assert_int_equal(try_feed(a, deep, &e, &err), MF_E_LIMIT);
  mf_acc_free(a);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(refuses_contradictions),
    cmocka_unit_test(takes_equal_logprobs),
    cmocka_unit_test(ignores_what_does_not_fit),
    cmocka_unit_test(finds_items_by_what_there_is),
    cmocka_unit_test(keys_repeated_indexes_and_ids_anew),
    cmocka_unit_test(makes_missing_ids),
    cmocka_unit_test(takes_a_done_item_that_was_never_opened),
    cmocka_unit_test(loses_no_item_of_the_terminal_event),
    cmocka_unit_test(doubles_no_call_of_the_terminal_event),
    cmocka_unit_test(says_completed_of_an_item_left_open),
    cmocka_unit_test(is_strict_about_order_and_fields),
    cmocka_unit_test(bounds_what_it_keeps),
    cmocka_unit_test(keeps_items_whole_at_the_bound),
    cmocka_unit_test(bounds_items_and_depth),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

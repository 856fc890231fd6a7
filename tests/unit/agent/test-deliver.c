/* What a stream of upstream becomes: numbers, indices, ids, what has to wait, what upstream left out. */
#include "harness.h"

#include <stdlib.h>

#include "base/banned.h"

#define CI "'tools':[{'type':'code_interpreter','container':{'type':'auto'}}]"
#define ASK_STREAM "{'model':'m','input':'hi','stream':true," CI "}"
#define CI_START                                                                                                       \
  "output_item.added code_interpreter_call.in_progress code_interpreter_call_code.delta "                              \
  "code_interpreter_call_code.done code_interpreter_call.interpreting"
#define CI_END "code_interpreter_call.completed output_item.done"

#define ADDED(index, item) "{'type':'response.output_item.added','output_index':" index ",'item':" item "},"
#define DONE(index, item) "{'type':'response.output_item.done','output_index':" index ",'item':" item "},"
#define MESSAGE(id, content)                                                                                           \
  "{'type':'message','id':'" id "','role':'assistant','status':'completed','content':[" content "]}"
#define OPEN_MESSAGE(id) "{'type':'message','id':'" id "','role':'assistant','status':'in_progress','content':[]}"
#define OUT(text) "{'type':'output_text','text':'" text "','annotations':[]}"
#define CALL(id, name, arguments)                                                                                      \
  "{'type':'function_call','id':'" id "','call_id':'call_" id "','name':'" name "','arguments':'" arguments            \
  "','status':'completed'}"
#define DELTA(index, id, text)                                                                                         \
  "{'type':'response.output_text.delta','output_index':" index ",'item_id':'" id "','content_index':0,'delta':'" text  \
  "'},"
#define CREATED                                                                                                        \
  "{'type':'response.created','response':{'id':'r','status':'in_progress','model':'real','created_at':5,"              \
  "'output':[],'temperature':0.5}},"
#define COMPLETED(output) "{'type':'response.completed','response':{'status':'completed','output':[" output "]}}"
#define SCENARIO(events) "{'rounds':[{'events':[" events "]}],'loop':true}"

static void play(struct bench *b, const char *scenario, const char *body, const char *types)
{
  bench_open(b, scenario);
  bench_run(b, body);
  expect_types(b, types);
}

/* The first events are upstream's, with our ids; what it did not say is there all the same. */
static void test_lifecycle(void **state)
{
  struct bench b;
  play(&b, SCENARIO(CREATED CREATED "{'type':'response.queued','response':{'id':'r'}}," COMPLETED("")), ASK_STREAM,
       "created in_progress completed");
  assert_string_equal(event_at(&b, 0, "response.id"), b.result.id);
  assert_string_equal(event_at(&b, 0, "response.model"), "real");
  assert_string_equal(event_at(&b, 0, "response.temperature"), "0.5");
  assert_string_equal(event_at(&b, 0, "response.created_at"), "5");
  assert_string_equal(event_at(&b, 0, "response.parallel_tool_calls"), "true");
  assert_string_equal(event_at(&b, 0, "response.tool_choice"), "auto");
  assert_string_equal(event_at(&b, 0, "response.tools.0.type"), "code_interpreter");
  assert_string_equal(event_at(&b, 0, "response.conversation_id"), "null");
  assert_string_equal(event_at(&b, 1, "response.status"), "in_progress");
  bench_close(&b);

  play(&b, SCENARIO(ADDED("0", OPEN_MESSAGE("m1")) DONE("0", MESSAGE("m1", OUT("a"))) CREATED COMPLETED("")),
       ASK_STREAM, "created in_progress output_item.added output_item.done completed");
  bench_close(&b);
}

/* Keys: type, sequence_number, output_index, then upstream's own order; everything else as it was written. */
static void test_keys(void **state)
{
  struct bench b;
  play(&b,
       "{'rounds':[{'events':['data: {\\'item\\' : {\\'id\\':\\'m1\\',\\'type\\':\\'message\\'},\\'output_index\\':3, "
       "\\'sequence_number\\':-5,\\'type\\':\\'response.output_item.added\\', \\'n\\': 1.10e2}\\n\\n',"
       "'data: {\\'x\\':[1,\\'\\\\u00e9\\\\n\\'],\\'type\\':\\'response.new_thing\\',\\'item_id\\':\\'m1\\'}\\n\\n',"
       "'data: {\\'ty\\\\u0070e\\':\\'response.other\\'}\\n\\n',"
       "'data: {\\ndata: \\'type\\':\\'response.output_item.done\\',\\ndata: \\'output_index\\':3,\\'item\\':"
       "{\\'id\\':\\'m1\\',\\'type\\':\\'message\\'}}\\n\\n']}]}",
       ASK_STREAM, "created in_progress output_item.added new_thing other output_item.done failed");
  const char *const want[] = {
    "{\"type\":\"response.output_item.added\",\"sequence_number\":2,\"output_index\":0,\"item\" : {\"id\":\"m1\","
    "\"type\":\"message\"},\"n\": 1.10e2}",
    "{\"type\":\"response.new_thing\",\"sequence_number\":3,\"output_index\":0,\"x\":[1,\"\\u00e9\\n\"],\"item_id\":"
    "\"m1\"}",
    "{\"type\":\"response.other\",\"sequence_number\":4}",
    "{\"type\":\"response.output_item.done\",\"sequence_number\":5,\"output_index\":0,\"item\":{\"id\":\"m1\",\"type\":"
    "\"message\"}}",
  };
  for (size_t i = 0; i < MF_ARRAY_N(want); i++)
    assert_string_equal(b.events[i + 2].json, want[i]);
  bench_close(&b);
}

/* keepalive, unknown events and items come through; an index that upstream left gaps in is dense. */
static void test_unknown(void **state)
{
  struct bench b;
  play(&b,
       SCENARIO(CREATED "{'type':'keepalive'}," ADDED(
           "7", "{'type':'novelty','id':'n1','a':1}") "{'type':'response.novelty.glow','output_index':7,'item_id':'n1',"
                                                      "'warm':true}," DONE("7", "{'type':'novelty','id':'n1','a':2}")
                                                          ADDED("4", OPEN_MESSAGE("m1"))
                                                              DONE("4", MESSAGE("m1", OUT("a"))) COMPLETED("")),
       ASK_STREAM,
       "created in_progress keepalive output_item.added novelty.glow output_item.done output_item.added "
       "output_item.done completed");
  assert_string_equal(event_at(&b, 4, "warm"), "true");
  assert_string_equal(event_at(&b, 6, "output_index"), "1");
  assert_string_equal(payload_at(&b, "output.0.a"), "2");
  bench_close(&b);
}

/* Items that only the terminal event tells of, that were never opened, that were never closed. */
static void test_left_out(void **state)
{
  struct bench b;
  play(&b,
       SCENARIO(DONE("0", MESSAGE("m1", OUT("one"))) ADDED("1", OPEN_MESSAGE("m2"))
                    COMPLETED(MESSAGE("m1", OUT("one")) "," MESSAGE("m2", OUT("two")) "," MESSAGE("m3", OUT("three")))),
       ASK_STREAM,
       "created in_progress output_item.added output_item.done output_item.added output_item.done output_item.added "
       "output_item.done completed");
  assert_string_equal(event_at(&b, 2, "item.content"), "[]");
  assert_string_equal(event_at(&b, 2, "item.status"), "in_progress");
  assert_string_equal(event_at(&b, 5, "item.content.0.text"), "two");
  assert_string_equal(event_at(&b, 7, "item.content.0.text"), "three");
  bench_close(&b);
}

/* What follows a gateway's call in the same round waits for it, whole and in order. */
static void test_held(void **state)
{
  static const char scenario[] = "{'rounds':[{'events':[" ADDED("0", CALL("fc_1", "code_interpreter", ""))
      ADDED("1", OPEN_MESSAGE("m1")) DELTA("1", "m1", "a") DONE("0", CALL("fc_1", "code_interpreter", "{}"))
          DELTA("1", "m1", "b") DONE("1", MESSAGE("m1", OUT("ab"))) COMPLETED("") "]},{'text':'end'}]}";
  struct bench b;
  play(&b, scenario, ASK_STREAM,
       "created in_progress " CI_START " " CI_END
       " output_item.added output_text.delta output_text.delta output_item.done output_item.added content_part.added "
       "output_text.delta output_text.done content_part.done output_item.done completed");
  assert_string_equal(payload_at(&b, "output.1.content.0.text"), "ab");
  bench_close(&b);

  /* What was open before goes on as it comes. */
  static const char before[] =
      "{'rounds':[{'events':[" ADDED("0", OPEN_MESSAGE("m1")) ADDED("1", CALL("fc_1", "code_interpreter", ""))
          DELTA("0", "m1", "a") DONE("1", CALL("fc_1", "code_interpreter", "{}")) DONE("0", MESSAGE("m1", OUT("a")))
              COMPLETED("") "]},{'events':[" COMPLETED("") "]}]}";
  play(&b, before, ASK_STREAM,
       "created in_progress output_item.added output_text.delta output_item.done " CI_START " " CI_END " completed");
  bench_close(&b);
}

/* Whatever else speaks of a call that is not seen is not seen either. */
static void test_suppressed(void **state)
{
  static const char scenario[] = "{'rounds':[{'events':[" ADDED(
      "0", CALL("fc_1", "code_interpreter", "")) "{'type':'response.new','output_index':0,'item_id':'fc_1'}"
                                                 "," DONE("0", CALL("fc_1", "code_interpreter",
                                                                    "{}")) "{'type':'response.new','output_"
                                                                           "index':0,'item_id':'fc_1'}"
                                                                           "," COMPLETED("") "]},{'events':"
                                                                                             "[" COMPLETED("") "]}]}";
  struct bench b;
  play(&b, scenario, ASK_STREAM, "created in_progress " CI_START " " CI_END " completed");
  bench_close(&b);
}

/* However much has to wait, it is bounded. */
static void test_held_bound(void **state)
{
  mf_auto_free char *large = mf_xcalloc(1, 60001);
  memset(large, 'x', 60000);
  mf_auto_free char *scenario = mf_xasprintf("{'rounds':[{'events':[" ADDED("0", CALL("fc_1", "code_interpreter", ""))
                                                 ADDED("1", OPEN_MESSAGE("m1")) DELTA("1", "m1", "%s")
                                                     DELTA("1", "m1", "%s") COMPLETED("") "]}]}",
                                             large, large);
  struct bench b;
  bench_open(&b, scenario);
  b.agent.config.event_max = 100000;
  bench_run(&b, ASK_STREAM);
  assert_int_equal(b.result.end, MF_TURN_ERROR);
  assert_string_equal(b.result.error.code, "response_resource_limit_exceeded");
  expect_types(&b, "created in_progress error");
  bench_close(&b);
}

/* A call that says its name only at its end: it is not known before whose it is. */
static void test_unnamed(void **state)
{
  static const char scenario[] =
      "{'rounds':[{'events':[" ADDED("0", "{'type':'function_call','id':'fc_1','call_id':'call_fc_1','arguments':''}")
          ADDED("1", "{'type':'function_call','id':'fc_2','call_id':'call_fc_2','arguments':''}")
              DONE("0", CALL("fc_1", "code_interpreter", "{}")) DONE("1", CALL("fc_2", "f", "{}")) COMPLETED("") "]}]}";
  struct bench b;
  play(&b, scenario, ASK_STREAM,
       "created in_progress " CI_START " " CI_END " output_item.added output_item.done completed");
  assert_string_equal(payload_at(&b, "output.0.id"), "ci_1");
  assert_string_equal(payload_at(&b, "output.1.name"), "f");
  bench_close(&b);
}

/* An id that upstream uses again in every round names one item of the response. */
static void test_same_ids(void **state)
{
  static const char scenario[] = "{'rounds':[{'events':[" ADDED("0", OPEN_MESSAGE("m_1")) DONE("0",
                                                                                               MESSAGE("m_1", OUT("a")))
      DONE("1", CALL("fc_1", "code_interpreter", "{}")) COMPLETED("") "]},{'events':[" ADDED(
          "0",
          OPEN_MESSAGE("m_1")) "{'type':'response.new_thing','output_index':0,'item_id':'m_1'}," DONE("0",
                                                                                                      MESSAGE("m_1",
                                                                                                              OUT("b")))
          DONE("1", CALL("fc_1", "code_interpreter", "{}")) COMPLETED("") "]},{'text':'end'}]}";
  struct bench b;
  bench_open(&b, scenario);
  bench_run(&b, ASK_STREAM);
  assert_string_equal(payload_at(&b, "output.0.id"), "m_1");
  assert_int_equal(strncmp(payload_at(&b, "output.2.id"), "m_", 2), 0);
  assert_string_not_equal(payload_at(&b, "output.2.id"), "m_1");
  assert_string_equal(payload_at(&b, "output.2.content.0.text"), "b");
  assert_string_equal(payload_at(&b, "output.1.id"), "ci_1");
  assert_int_equal(strncmp(payload_at(&b, "output.3.id"), "ci_", 3), 0);
  assert_string_not_equal(payload_at(&b, "output.3.id"), "ci_1");
  bench_close(&b);
}

/* Upstream's own code_interpreter_call is not ours to run. */
static void test_native(void **state)
{
#define NATIVE(status, outputs)                                                                                        \
  "{'type':'code_interpreter_call','id':'ci_up','container_id':'cntr_up','code':'1','status':'" status                 \
  "','outputs':" outputs "}"
  struct bench b;
  play(&b,
       SCENARIO(
           ADDED("0", "{'type':'code_interpreter_call','id':'ci_up','container_id':'cntr_up','code':'',"
                      "'status':'in_progress','outputs':null}") "{'type':'response.code_interpreter_call."
                                                                "interpreting','output_index':0,'item_id':'ci_up'"
                                                                "}," DONE("0", NATIVE("completed",
                                                                                      "[{'type':'image','url':'u'}]"))
                                                                    COMPLETED("")),
       ASK_STREAM,
       "created in_progress output_item.added code_interpreter_call.interpreting output_item.done completed");
  assert_string_equal(payload_at(&b, "output.0.outputs.0.url"), "u");
  assert_string_equal(payload_at(&b, "output.0.id"), "ci_up");
  assert_int_equal(b.fake.start_n, 0);
  bench_close(&b);
}

/* Calls that the client sees in a form of their own. */
static void test_client_kinds(void **state)
{
  static const char body[] =
      "{'model':'m','input':'hi','stream':true,'tools':[{'type':'shell','environment':{'type':'local'}},"
      "{'type':'namespace','name':'ns','description':'d','tools':[{'type':'function','name':'g','parameters':{}}]}]}";
  struct bench b;
  bench_open(&b, "{'rounds':[{'calls':[{'name':'shell','arguments':{'commands':['ls']}},"
                 "{'name':'agentic_ns__ns__g','arguments':{}}]}]}");
  bench_run(&b, body);
  assert_string_equal(payload_at(&b, "status"), "completed");
  assert_string_equal(payload_at(&b, "output.0.type"), "shell_call");
  assert_string_equal(payload_at(&b, "output.1.name"), "g");
  assert_string_equal(payload_at(&b, "output.1.namespace"), "ns");
  bench_close(&b);
}

/* A function that the model was not offered yet. */
static void test_withheld(void **state)
{
  static const char body[] =
      "{'model':'m','input':'hi','stream':%s,'tools':[{'type':'tool_search','execution':'client'},"
      "{'type':'function','name':'later','parameters':{},'defer_loading':true}]}";
  struct bench b;
  bench_open(&b, "{'rounds':[{'calls':[{'name':'later','arguments':{}}]}],'loop':true}");
  for (int i = 0; i < 2; i++) {
    mf_auto_free char *text = mf_xasprintf(body, i ? "true" : "false");
    bench_run(&b, text);
    assert_int_equal(b.result.end, MF_TURN_ERROR);
    assert_int_equal(b.result.error.status, 502);
    assert_string_equal(b.result.error.type, "tool_error");
    assert_int_equal(b.result.is_sent, i);
  }
  bench_close(&b);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_lifecycle),  cmocka_unit_test(test_keys),         cmocka_unit_test(test_unknown),
    cmocka_unit_test(test_left_out),   cmocka_unit_test(test_held),         cmocka_unit_test(test_held_bound),
    cmocka_unit_test(test_suppressed), cmocka_unit_test(test_unnamed),      cmocka_unit_test(test_same_ids),
    cmocka_unit_test(test_native),     cmocka_unit_test(test_client_kinds), cmocka_unit_test(test_withheld),
  };
  return cmocka_run_group_tests_name("agent/deliver", tests, NULL, NULL);
}

/* Streams that no server would send: random events about few ids and indices, right ones and wrong ones. Whatever comes
 * out is a stream in which everything holds (check_stream), or an error in its place. */
#include "harness.h"

#include <stdlib.h>

#include "base/banned.h"

enum { STREAMS = 200, EVENTS_MAX = 24 };

static uint32_t seed = 1;

static unsigned draw(unsigned n)
{
  seed = seed * 1103515245u + 12345u;
  return (seed >> 16) % n;
}

static const char *pick(const char *const *words, size_t n)
{
  return words[draw((unsigned)n)];
}
#define PICK(words) pick(words, MF_ARRAY_N(words))

static const char *const ids[] = { "a_1", "a_2", "fc_1", "", "m" };
static const char *const types[] = { "message",   "function_call", "function_call",
                                     "reasoning", "novelty",       "code_interpreter_call" };
static const char *const names[] = { "code_interpreter", "code_interpreter", "f", "c", "ghost", "" };
static const char *const arguments[] = { "", "{}", "no", "{\\'code\\':\\'print(1)\\'}" };
static const char *const statuses[] = { "completed", "completed", "incomplete", "failed" };

static void add_item(struct mf_buf *b)
{
  enum mf_code code;
  const char *type = PICK(types), *id = PICK(ids);
  if (strcmp(type, "function_call") == 0)
    code = mf_buf_printf(b, "{'type':'%s','id':'%s','call_id':'c%u','name':'%s','arguments':'%s'}", type, id, draw(3),
                         PICK(names), PICK(arguments));
  else if (strcmp(type, "message") == 0)
    code = mf_buf_printf(b, "{'type':'%s','id':'%s','role':'assistant','content':[{'type':'output_text','text':'%s'}]}",
                         type, id, draw(2) ? "t" : "");
  else
    code = mf_buf_printf(b, "{'type':'%s','id':'%s'}", type, id);
  assert_int_equal(code, MF_OK);
}

static void add_text(struct mf_buf *b, const char *text)
{
  assert_int_equal(mf_buf_append_str(b, mf_str_of(text)), MF_OK);
}

static void add_event(struct mf_buf *b)
{
  static const char *const of_item[] = { "output_item.added", "output_item.added", "output_item.done" };
  static const char *const of_text[] = { "output_text.delta", "function_call_arguments.delta", "reasoning_text.delta",
                                         "novelty.glow", "code_interpreter_call.interpreting" };
  static const char *const lifecycle[] = { "created", "in_progress", "queued" };
  switch (draw(8)) {
  case 0:
    assert_int_equal(mf_buf_printf(b, "{'type':'response.%s','response':{'id':'r'}}", PICK(lifecycle)), MF_OK);
    return;
  case 1:
  case 2:
  case 3:
  case 4:
    assert_int_equal(mf_buf_printf(b, "{'type':'response.%s','output_index':%u,'item':", PICK(of_item), draw(4)),
                     MF_OK);
    add_item(b);
    add_text(b, "}");
    return;
  default:
    assert_int_equal(mf_buf_printf(b,
                                   "{'type':'response.%s','output_index':%u,'item_id':'%s','content_index':0,"
                                   "'delta':'d'}",
                                   PICK(of_text), draw(4), PICK(ids)),
                     MF_OK);
  }
}

static void add_end(struct mf_buf *b)
{
  const char *status = PICK(statuses);
  assert_int_equal(mf_buf_printf(b, "{'type':'response.%s','response':{'status':'%s','output':[", status, status),
                   MF_OK);
  for (unsigned i = draw(3); i > 0; i--) {
    add_item(b);
    add_text(b, i > 1 ? "," : "");
  }
  add_text(b, "]}}");
}

static void make(struct mf_buf *b)
{
  mf_buf_init(b, 1u << 20);
  add_text(b, "{'rounds':[");
  for (unsigned round = 1 + draw(3); round > 0; round--) {
    add_text(b, "{'events':[");
    for (unsigned i = draw(EVENTS_MAX); i > 0; i--) {
      add_event(b);
      add_text(b, ",");
    }
    if (draw(8))
      add_end(b);
    else
      add_text(b, "{'type':'keepalive'}");
    add_text(b, round > 1 ? "]}," : "]}");
  }
  add_text(b, "],'loop':true}");
}

static void test_random(void **state)
{
  static const char body[] = "{'model':'m','input':'hi','stream':%s,'tools':[{'type':'code_interpreter','container':"
                             "{'type':'auto'}},{'type':'custom','name':'c'},{'type':'function','name':'f'}]}";
  unsigned ends[MF_TURN_END_N] = { 0 };
  for (int i = 0; i < STREAMS; i++) {
    mf_auto_buf struct mf_buf scenario = { 0 };
    struct bench b;
    make(&scenario);
    bench_open(&b, scenario.ptr);
    b.agent.config.rounds_max = 3;
    for (int k = 0; k < 2; k++) {
      mf_auto_free char *text = mf_xasprintf(body, k ? "false" : "true");
      bench_run(&b, text);
      ends[b.result.end]++;
      assert_true(b.result.end == MF_TURN_RESPONSE || b.result.end == MF_TURN_ERROR);
    }
    bench_close(&b);
  }
  /* Both happen: the streams are not all refused, nor all taken. */
  assert_true(ends[MF_TURN_RESPONSE] > STREAMS / 4);
  assert_true(ends[MF_TURN_ERROR] > 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test(test_random) };
  return cmocka_run_group_tests_name("agent/random", tests, NULL, NULL);
}

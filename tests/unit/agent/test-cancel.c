/* A client that goes away: at each stage the turn ends as cancelled, the model's connection is closed, no sandbox is
 * left and nothing is stored. bench_run returns only when every place of the provider is free again. */
#include "harness.h"

#include <stdlib.h>

#include "base/banned.h"

#define CI "'tools':[{'type':'code_interpreter','container':{'type':'auto'}}]"
#define CALL(code) "{'name':'code_interpreter','arguments':{'code':'" code "'}}"
#define ASK "{'model':'m','input':'hi'," CI "}"
#define ASK_STREAM "{'model':'m','input':'hi','stream':true," CI "}"

static void expect_cancelled(struct bench *b)
{
  assert_int_equal(b->result.end, MF_TURN_CANCELLED);
  assert_int_equal(b->fake.busy, 0);
  if (b->result.id[0])
    assert_false(bench_is_stored(b, NULL));
}

/* While the model says nothing. */
static void test_waiting(void **state)
{
  struct bench b;
  bench_open(&b, "{'rounds':[{'text':'Hello there','fault':'hang'}],'loop':true}");
  b.cancel_after_ms = 20;
  bench_run(&b, ASK);
  expect_cancelled(&b);
  bench_run(&b, ASK_STREAM);
  expect_cancelled(&b);
  bench_close(&b);
}

/* While calls run: all of them are ended. */
static void test_running(void **state)
{
  struct bench b;
  bench_open(&b, "{'rounds':[{'calls':[" CALL("hang") "," CALL("hang") "," CALL("print(1)") "]}],'loop':true}");
  b.cancel_when_guest_runs = true;
  bench_run(&b, ASK);
  expect_cancelled(&b);
  assert_true(b.fake.start_n > 0);
  bench_run(&b, ASK_STREAM);
  expect_cancelled(&b);
  assert_true(b.fake.cancel_n > 0);
  assert_int_equal(b.agent.stats.by_end[MF_TURN_CANCELLED], 2);
  bench_close(&b);
}

/* When some of the calls have ended and one goes on. */
static void test_one_left(void **state)
{
  struct bench b;
  bench_open(&b, "{'rounds':[{'calls':[" CALL("print(1)") "," CALL("hang") "]}],'loop':true}");
  b.cancel_after_ms = 50;
  bench_run(&b, ASK);
  expect_cancelled(&b);
  assert_int_equal(b.fake.start_n, 2);
  assert_int_equal(b.fake.cancel_n, 1);
  bench_close(&b);
}

/* At each event of a turn of two rounds, and with a sink that fails there instead. */
static void test_each_event(void **state)
{
  struct bench b;
  bench_open(&b, "{'rounds':[{'calls':[" CALL("print(1)") "," CALL("print(2)") "]},{'text':'ok'}],'pick':'turn'}");
  bench_run(&b, ASK_STREAM);
  assert_int_equal(b.result.end, MF_TURN_RESPONSE);
  size_t n = b.event_n;
  assert_true(n > 20);
  for (size_t at = 1; at < n; at++) {
    b.cancel_after_events = at;
    bench_run(&b, ASK_STREAM);
    expect_cancelled(&b);
    assert_int_equal(b.event_n, at);
    b.cancel_after_events = 0;
    b.break_after_events = at;
    bench_run(&b, ASK_STREAM);
    assert_int_equal(b.result.end, MF_TURN_CANCELLED);
    assert_int_equal(b.event_n, at);
    b.break_after_events = 0;
  }
  /* With the last one it is stored, and the client has seen that it is. */
  b.cancel_after_events = n;
  bench_run(&b, ASK_STREAM);
  assert_true(bench_is_stored(&b, NULL));
  bench_close(&b);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_waiting),
    cmocka_unit_test(test_running),
    cmocka_unit_test(test_one_left),
    cmocka_unit_test(test_each_event),
  };
  return cmocka_run_group_tests_name("agent/cancel", tests, NULL, NULL);
}

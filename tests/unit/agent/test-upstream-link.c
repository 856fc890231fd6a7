/* The connection to the model, seen from its end: used again, closed when the client goes, held up by a slow reader. */
#include "unit.h"

#include <stdlib.h>

#include "agent/turn.h"
#include "base/time.h"
#include "base/banned.h"

#define TERMINAL "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[]}}\n\n"

enum { FLOOD_BYTES = 64 << 20, HELD_MAX = 8 << 20 };

struct link {
  struct mf_loop *loop;
  struct mf_http_server *server;
  struct mf_http_client *client;
  struct mf_interpreter_config interpreter;
  struct mf_agent agent;
  char base[64];
  /* the model's side */
  bool floods;
  size_t sent, sent_before, cancelled_n, peer_n;
  char peers[8][64];
  /* the client's side */
  struct mf_fiber *fiber;
  struct mf_turn_result result;
  bool is_blocked; /* the reader takes nothing */
  bool is_looking;
  size_t event_n, turn_n;
};

/* ---- the model ---- */

static enum mf_code put(struct link *l, struct mf_http_exchange *x, struct mf_str s)
{
  l->sent += s.len;
  return mf_http_write(x, s, NULL);
}

static void serve(void *user, struct mf_http_exchange *x, struct mf_fiber *self)
{
  static const struct mf_http_header type = { { "Content-Type", 12 }, { "text/event-stream", 17 } };
  struct link *l = user;
  size_t i = 0;
  while (i < l->peer_n && strcmp(l->peers[i], mf_http_peer(x)) != 0)
    i++;
  if (i == l->peer_n && l->peer_n < MF_ARRAY_N(l->peers))
    snprintf(l->peers[l->peer_n++], sizeof(l->peers[0]), "%s", mf_http_peer(x));

  char event[4096];
  memset(event, 'x', sizeof(event));
  static const char head[] = "data: {\"type\":\"response.novelty\",\"x\":\"", tail[] = "\"}\n\n";
  memcpy(event, head, sizeof(head) - 1);
  memcpy(event + sizeof(event) - (sizeof(tail) - 1), tail, sizeof(tail) - 1);
  mf_auto_buf struct mf_buf body = { 0 };
  enum mf_code code = mf_http_read_body(x, 1u << 20, &body, NULL);
  if (!code)
    code = mf_http_begin(x, 200, &type, 1, NULL);
  while (!code && l->floods && l->sent < FLOOD_BYTES) {
    code = put(l, x, (struct mf_str){ event, sizeof(event) });
    if (!code)
      code = mf_fiber_sleep(self, 0);
  }
  if (!code)
    code = put(l, x, MF_STR(TERMINAL));
  /* The end comes in a packet of its own, as it does from servers that write event by event. */
  if (!code)
    code = mf_fiber_sleep(self, 0);
  if (!code)
    code = put(l, x, MF_STR("data: [DONE]\n\n"));
  if (!code)
    code = mf_http_end(x, NULL);
  l->cancelled_n += mf_fiber_is_cancelled(self);
}

/* ---- the client ---- */

static enum mf_code take(void *user, struct mf_str type, struct mf_str json, struct mf_err *err)
{
  struct link *l = user;
  l->event_n++;
  enum mf_code code = MF_OK;
  while (l->is_blocked && !code)
    code = mf_fiber_wait(l->fiber, 0);
  return code;
}

static void turns(void *user)
{
  struct link *l = user;
  struct mf_api_error e;
  const struct mf_turn_sink sink = { l, take };
  l->fiber = mf_fiber_self(l->loop);
  for (size_t i = 0; i < l->turn_n; i++) {
    struct mf_turn_request *r = NULL;
    mf_turn_result_done(&l->result);
    if (mf_turn_request_new(
            &l->agent,
            MF_STR("{\"model\":\"m\",\"input\":\"hi\",\"stream\":true,\"store\":false,\"tools\":[{\"type\":"
                   "\"custom\",\"name\":\"c\"}]}"),
            &r, &e))
      mf_turn_run(&l->agent, l->fiber, r, (struct mf_str){ 0 }, &sink, &l->result);
    mf_turn_request_free(r);
  }
  l->fiber = NULL;
}

/* ---- life ---- */

static void link_open(struct link *l)
{
  struct mf_err err = { 0 };
  *l = (struct link){ .turn_n = 1 };
  const struct mf_http_server_config config = { .host = "127.0.0.1" };
  assert_ok(mf_loop_new(&l->loop, &err), &err);
  assert_ok(mf_http_client_new(l->loop, &l->client, &err), &err);
  assert_ok(mf_http_server_new(l->loop, &config, serve, l, &l->server, &err), &err);
  snprintf(l->base, sizeof(l->base), "http://127.0.0.1:%u", mf_http_server_port(l->server));
  mf_interpreter_config_default(&l->interpreter);
  l->agent = (struct mf_agent){ .loop = l->loop,
                                .client = l->client,
                                .tools = { .interpreter = &l->interpreter, .loop = l->loop } };
  mf_agent_config_default(&l->agent.config);
  l->agent.config.llm_api_base = l->base;
}

static void stop(void *user)
{
  mf_loop_stop(((struct link *)user)->loop);
}

static void link_close(struct link *l)
{
  struct mf_err err = { 0 };
  mf_turn_result_done(&l->result);
  mf_http_client_free(l->client);
  mf_http_server_stop(l->server, mf_now_ns(), stop, l);
  assert_ok(mf_loop_run(l->loop, &err), &err);
  mf_http_server_free(l->server);
  mf_loop_free(l->loop);
}

/* Until the turns are over and the model has nothing to do. */
static void watch(void *user)
{
  struct link *l = user;
  if (!l->fiber && !l->is_looking && mf_http_server_stats(l->server).requests == 0)
    mf_loop_stop(l->loop);
  else
    assert_int_equal(mf_loop_defer(l->loop, watch, l, NULL), MF_OK);
}

static void link_run(struct link *l)
{
  struct mf_err err = { 0 };
  struct mf_fiber *f = NULL;
  assert_ok(mf_fiber_start(l->loop, turns, l, 0, &f, &err), &err);
  mf_fiber_detach(f);
  l->fiber = f;
  assert_int_equal(mf_loop_defer(l->loop, watch, l, NULL), MF_OK);
  assert_ok(mf_loop_run(l->loop, &err), &err);
}

/* ---- tests ---- */

static void test_used_again(void **state)
{
  struct link l;
  link_open(&l);
  l.turn_n = 10;
  link_run(&l);
  assert_int_equal(l.result.end, MF_TURN_RESPONSE);
  assert_int_equal(l.agent.stats.by_end[MF_TURN_RESPONSE], 10);
  assert_int_equal(l.peer_n, 1);
  link_close(&l);
}

/* Once nothing has moved for a while, the reader goes. */
static void look(void *user)
{
  struct link *l = user;
  if (l->sent != l->sent_before || l->sent == 0) {
    l->sent_before = l->sent;
    return;
  }
  if (l->fiber)
    mf_fiber_cancel(l->fiber);
}

static void looker(void *user)
{
  struct link *l = user;
  struct mf_fiber *self = mf_fiber_self(l->loop);
  while (l->fiber && mf_fiber_sleep(self, 50 * MF_NS_PER_MS) == MF_OK)
    look(l);
  l->is_looking = false;
}

/* A reader that stops reading stops the model; when it goes, the model's connection goes. */
static void test_slow_reader(void **state)
{
  struct link l;
  struct mf_err err = { 0 };
  link_open(&l);
  l.floods = l.is_blocked = l.is_looking = true;
  /* It begins after the turn. */
  assert_ok(mf_fiber_start(l.loop, looker, &l, 0, NULL, &err), &err);
  link_run(&l);
  assert_int_equal(l.result.end, MF_TURN_CANCELLED);
  assert_int_equal(l.event_n, 1);
  assert_int_equal(l.cancelled_n, 1);
  assert_true(l.sent < HELD_MAX);
  link_close(&l);
}

/* The same one, reading: everything comes. */
static void test_flood(void **state)
{
  struct link l;
  link_open(&l);
  l.floods = true;
  link_run(&l);
  assert_int_equal(l.result.end, MF_TURN_RESPONSE);
  assert_int_equal(l.event_n, FLOOD_BYTES / 4096 + 3);
  assert_int_equal(l.cancelled_n, 0);
  link_close(&l);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_used_again),
    cmocka_unit_test(test_slow_reader),
    cmocka_unit_test(test_flood),
  };
  return cmocka_run_group_tests_name("agent/upstream-link", tests, NULL, NULL);
}

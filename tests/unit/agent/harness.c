/* See harness.h. */
#include "harness.h"

#include <stdlib.h>

#include "base/time.h"
#include "base/banned.h"

enum { PERMITS = 8, BODY_MAX = 32 << 20 };

static char *quoted(const char *text)
{
  char *copy = mf_xstrdup(text);
  for (char *p = copy; *p; p++)
    if (*p == '\'')
      *p = '"';
  return copy;
}

static struct mf_json *parsed(struct mf_str text)
{
  const struct mf_json_limits limits = { SIZE_MAX, 256 };
  struct mf_err err = { 0 };
  struct mf_json *doc = NULL;
  assert_ok(mf_json_parse(text, &limits, &doc, &err), &err);
  return doc;
}

/* ---- life ---- */

void bench_open(struct bench *b, const char *scenario)
{
  struct mf_err err = { 0 };
  *b = (struct bench){ 0 };
  assert_ok(mf_loop_new(&b->loop, &err), &err);
  assert_ok(mf_pool_new(b->loop, 2, 64, &b->pool, &err), &err);
  assert_ok(mf_storage_open(b->loop, b->pool, "sqlite::memory:", &b->storage, &err), &err);
  assert_ok(mf_http_client_new(b->loop, &b->client, &err), &err);
  mf_auto_free char *text = quoted(scenario);
  const struct mf_model_config model = { .scenario = mf_str_of(text) };
  assert_ok(mf_model_new(b->loop, &model, &b->model, &err), &err);
  snprintf(b->base, sizeof(b->base), "http://127.0.0.1:%u", mf_model_port(b->model));
  fake_init(&b->fake, b->loop);
  assert_ok(mf_executor_new(b->loop, &b->fake.base, PERMITS, &b->executor, &err), &err);
  mf_interpreter_config_default(&b->interpreter);
  b->interpreter.enabled = true;
  b->agent = (struct mf_agent){
    .loop = b->loop,
    .client = b->client,
    .storage = b->storage,
    .tools = { .executor = b->executor, .interpreter = &b->interpreter, .interpreter_built = true, .loop = b->loop },
  };
  mf_agent_config_default(&b->agent.config);
  b->agent.config.llm_api_base = b->base;
}

static void forget(struct bench *b)
{
  for (size_t i = 0; i < b->event_n; i++) {
    free(b->events[i].type);
    free(b->events[i].json);
  }
  b->event_n = 0;
  mf_turn_result_done(&b->result);
  mf_turn_request_free(b->request);
  b->request = NULL;
}

static void stopped(void *user)
{
  mf_loop_stop(((struct bench *)user)->loop);
}

void bench_close(struct bench *b)
{
  struct mf_err err = { 0 };
  forget(b);
  free(b->events);
  assert_int_equal(b->fake.busy, 0);
  assert_int_equal(mf_executor_stats(b->executor).busy, 0);
  mf_http_client_free(b->client);
  mf_model_stop(b->model, mf_now_ns(), stopped, b);
  assert_ok(mf_loop_run(b->loop, &err), &err);
  mf_model_free(b->model);
  mf_executor_free(b->executor);
  mf_storage_close(b->storage);
  mf_pool_free(b->pool);
  mf_loop_free(b->loop);
}

/* ---- a turn ---- */

static enum mf_code take_event(void *user, struct mf_str type, struct mf_str json, struct mf_err *err)
{
  struct bench *b = user;
  if (b->break_after_events && b->event_n >= b->break_after_events)
    return mf_fail(err, MF_E_GONE, 0, "the reader has gone");
  if (b->event_n == b->event_cap) {
    b->event_cap = b->event_cap ? b->event_cap * 2 : 64;
    b->events = mf_xrealloc(b->events, b->event_cap * sizeof(*b->events));
  }
  b->events[b->event_n++] =
      (struct event){ mf_xasprintf("%.*s", MF_STR_ARG(type)), mf_xasprintf("%.*s", MF_STR_ARG(json)) };
  if (b->cancel_after_events && b->event_n == b->cancel_after_events)
    mf_fiber_cancel(b->fiber);
  /* As a connection whose buffer is full. */
  return mf_fiber_sleep(b->fiber, 0);
}

static void turn(void *user)
{
  struct bench *b = user;
  const struct mf_turn_sink sink = { b, take_event };
  b->fiber = mf_fiber_self(b->loop);
  mf_turn_run(&b->agent, b->fiber, b->request, MF_STR("sk-client"),
              mf_turn_request_is_stream(b->request) ? &sink : NULL, &b->result);
  b->fiber = NULL;
  b->is_running = false;
}

static void watch(void *user)
{
  struct bench *b = user;
  if (b->cancel_when_guest_runs && b->fake.busy > 0 && b->fiber)
    mf_fiber_cancel(b->fiber);
  if (!b->is_running && b->fake.busy == 0)
    mf_loop_stop(b->loop);
  else
    assert_int_equal(mf_loop_defer(b->loop, watch, b, NULL), MF_OK);
}

static void on_time(void *user)
{
  struct bench *b = user;
  if (b->fiber)
    mf_fiber_cancel(b->fiber);
}

void bench_run(struct bench *b, const char *body)
{
  struct mf_err err = { 0 };
  mf_auto_free char *text = quoted(body);
  forget(b);
  if (!mf_turn_request_new(&b->agent, mf_str_of(text), &b->request, &b->refusal))
    fail_msg("the request is refused: %s", b->refusal.message);
  struct mf_timer *timer = NULL;
  assert_ok(mf_timer_new(b->loop, on_time, b, &timer, &err), &err);
  if (b->cancel_after_ms)
    mf_timer_arm(timer, mf_now_ns() + b->cancel_after_ms * MF_NS_PER_MS);
  b->is_running = true;
  assert_ok(mf_fiber_start(b->loop, turn, b, 0, NULL, &err), &err);
  assert_int_equal(mf_loop_defer(b->loop, watch, b, NULL), MF_OK);
  assert_ok(mf_loop_run(b->loop, &err), &err);
  mf_timer_free(timer);
  if (mf_turn_request_is_stream(b->request) && b->result.end != MF_TURN_CANCELLED &&
      (b->result.end != MF_TURN_ERROR || b->result.is_sent))
    check_stream(b->events, b->event_n, "code_interpreter");
}

/* ---- looking ---- */

struct errand {
  struct bench *b;
  struct mf_buf *out;
  enum mf_code code;
};

static void fetch_seen(void *user)
{
  struct errand *x = user;
  struct mf_fiber *self = mf_fiber_self(x->b->loop);
  mf_auto_free char *url = mf_xasprintf("%s/_scenario/requests", x->b->base);
  const struct mf_http_request req = { .url = url };
  struct mf_http_call *call = NULL;
  x->code = mf_http_call_open(x->b->client, self, &req, &call, NULL);
  if (!x->code)
    x->code = mf_http_call_read_all(call, self, BODY_MAX, x->out, NULL);
  mf_http_call_close(call);
  mf_loop_stop(x->b->loop);
}

static void fetch_stored(void *user)
{
  struct errand *x = user;
  struct mf_stored *stored = NULL;
  x->code =
      mf_storage_get_response(x->b->storage, mf_fiber_self(x->b->loop), mf_str_of(x->b->result.id), &stored, NULL);
  if (!x->code && x->out) {
    mf_buf_init(x->out, BODY_MAX);
    x->code = mf_buf_append_str(x->out, mf_stored_response(stored)->payload);
  }
  mf_stored_free(stored);
  mf_loop_stop(x->b->loop);
}

static enum mf_code run_errand(struct bench *b, mf_fiber_fn *fn, struct mf_buf *out)
{
  struct mf_err err = { 0 };
  struct errand x = { b, out, MF_OK };
  assert_ok(mf_fiber_start(b->loop, fn, &x, 0, NULL, &err), &err);
  assert_ok(mf_loop_run(b->loop, &err), &err);
  return x.code;
}

struct mf_json *bench_seen(struct bench *b)
{
  mf_auto_buf struct mf_buf text = { 0 };
  assert_int_equal(run_errand(b, fetch_seen, &text), MF_OK);
  return parsed(mf_buf_str(&text));
}

size_t bench_seen_n(struct bench *b)
{
  mf_auto_json struct mf_json *doc = bench_seen(b);
  return mf_json_len(mf_json_get(mf_json_root(doc), "requests"));
}

bool bench_is_stored(struct bench *b, struct mf_buf *payload)
{
  enum mf_code code = run_errand(b, fetch_stored, payload);
  assert_true(code == MF_OK || code == MF_E_NOT_FOUND);
  return code == MF_OK;
}

const char *json_at(const char *json, const char *path)
{
  static char shown[4096];
  mf_auto_json struct mf_json *doc = parsed(mf_str_of(json));
  const struct mf_json_val *v = mf_json_root(doc);
  shown[0] = 0;
  while (v && *path) {
    char key[64];
    size_t n = strcspn(path, ".");
    snprintf(key, sizeof(key), "%.*s", (int)n, path);
    path += n + (path[n] == '.');
    v = mf_json_type_of(v) == MF_JSON_ARR ? mf_json_at(v, strtoul(key, NULL, 10)) : mf_json_get(v, key);
  }
  if (!v)
    return shown;
  if (mf_json_type_of(v) == MF_JSON_STR) {
    snprintf(shown, sizeof(shown), "%.*s", MF_STR_ARG(mf_json_str(v)));
    return shown;
  }
  mf_auto_buf struct mf_buf text;
  mf_buf_init(&text, 1u << 24);
  struct mf_json_writer w;
  mf_jw_init(&w, &text, false);
  mf_jw_val(&w, v);
  snprintf(shown, sizeof(shown), "%s", text.ptr);
  return shown;
}

const char *payload_at(struct bench *b, const char *path)
{
  assert_int_equal(b->result.end, MF_TURN_RESPONSE);
  return json_at(b->result.payload.ptr, path);
}

const char *event_at(const struct bench *b, size_t i, const char *path)
{
  assert_true(i < b->event_n);
  return json_at(b->events[i].json, path);
}

void expect_types(const struct bench *b, const char *want)
{
  mf_auto_buf struct mf_buf got;
  mf_buf_init(&got, 1u << 20);
  for (size_t i = 0; i < b->event_n; i++) {
    const char *type = b->events[i].type;
    type += strncmp(type, "response.", 9) == 0 ? 9 : 0;
    assert_int_equal(mf_buf_printf(&got, "%s%s", i ? " " : "", type), MF_OK);
  }
  assert_string_equal(got.ptr, want);
}

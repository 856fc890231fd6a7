/* The loop of a turn: has the model asked and the round settled, decides whether to ask again, and ends the turn.
 * Thread: the loop's, in the fiber of whoever wants the response. */
#include "rounds.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/banned.h"

#define RETAINED_MAX ((size_t)8 << 20)
#define WIRE_MAX ((size_t)16 << 20)
#define SMALL_MAX ((size_t)64 << 10)

void mf_agent_config_default(struct mf_agent_config *c)
{
  *c = (struct mf_agent_config){
    .chunk_timeout_ms = 600000,
    .retained_max = RETAINED_MAX,
    .upstream_json_max = WIRE_MAX,
    .upstream_line_max = WIRE_MAX,
    .event_max = WIRE_MAX,
    .rounds_max = 10,
    .concurrent_calls = 5,
  };
}

void mf_turn_result_done(struct mf_turn_result *r)
{
  mf_buf_done(&r->payload);
  mf_buf_done(&r->upstream_body);
  free(r->upstream_headers);
  *r = (struct mf_turn_result){ 0 };
}

/* ---- how a turn ends early ---- */

static bool run_end(struct run *run, enum mf_turn_end end)
{
  if (!run->is_over)
    run->ret->end = end;
  run->is_over = true;
  return false;
}

bool run_cancel(struct run *run)
{
  return run_end(run, MF_TURN_CANCELLED);
}

bool run_verbatim(struct run *run)
{
  return run_end(run, MF_TURN_VERBATIM);
}

bool run_fail(struct run *run, int status, const char *type, const char *code, const char *fmt, ...)
{
  if (run->is_over)
    return false;
  char text[sizeof(run->ret->error.message)];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof(text), fmt, ap);
  va_end(ap);
  mf_api_fail(&run->ret->error, status, type, code, NULL, "%s", text);
  return run_end(run, MF_TURN_ERROR);
}

bool run_fail_limit(struct run *run, int status, const char *fmt, ...)
{
  char text[sizeof(run->ret->error.message)];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof(text), fmt, ap);
  va_end(ap);
  return run_fail(run, status, status == 502 ? "upstream_error" : "server_error", "response_resource_limit_exceeded",
                  "%s", text);
}

/* ---- rounds ---- */

static bool add_input(struct run *run, struct mf_str json)
{
  static const struct mf_json_limits limits = { .bytes_max = SIZE_MAX, .depth_max = 1024 };
  struct mf_err err = { 0 };
  mf_auto_json struct mf_json *doc = NULL;
  enum mf_code code = mf_json_parse(json, &limits, &doc, &err);
  if (!code)
    code = turn_input_add(&run->t, mf_json_root(doc), &err);
  if (code == MF_E_LIMIT)
    return run_fail_limit(run, 500, "retained response exceeded %zu bytes", run->t.agent->config.retained_max);
  return code ? run_fail(run, 500, "server_error", "server_error", "Internal server error") : true;
}

/* The round's items, then what its calls gave. */
static bool next_input(struct run *run, size_t gateway_n)
{
  for (size_t i = 0; i < run->slot_n; i++) {
    struct slot *s = &run->slots[i];
    struct mf_str json = slot_item(run, s)->json;
    if (!slot_json(run, s, FORM_OPEN, &json) || !add_input(run, json))
      return false;
  }
  const struct turn_items *l = &run->t.inputs;
  for (size_t i = l->item_n - gateway_n; i < l->item_n; i++)
    if (!add_input(run, l->items[i].json))
      return false;
  return true;
}

static bool play_rounds(struct run *run)
{
  const struct mf_agent_config *c = &run->t.agent->config;
  for (;; run->round++) {
    bool has_client = false;
    size_t gateway_n = 0;
    run->acc = mf_acc_new(false, c->retained_max);
    if (!ask(run))
      return false;
    const struct mf_usage usage = mf_acc_usage(run->acc);
    mf_usage_add(&run->usage, &usage);
    run->state = mf_acc_state(run->acc);
    if (!round_settle(run, &has_client, &gateway_n))
      return false;
    if (run->state != MF_UPSTREAM_COMPLETED || has_client || gateway_n == 0)
      return true;
    if (++run->gateway_rounds >= c->rounds_max) {
      run->state = MF_UPSTREAM_INCOMPLETE;
      run->is_too_many = true;
      return true;
    }
    if (!next_input(run, gateway_n))
      return false;
    ask_leave(run);
    slots_clear(run);
    mf_acc_free(run->acc);
    run->acc = NULL;
  }
}

/* ---- the end ---- */

static bool finish(struct run *run)
{
  static const struct {
    const char *status;
    struct mf_str event;
  } ends[] = {
    [MF_UPSTREAM_OPEN] = { "failed", MF_STR("response.failed") },
    [MF_UPSTREAM_COMPLETED] = { "completed", MF_STR("response.completed") },
    [MF_UPSTREAM_INCOMPLETE] = { "incomplete", MF_STR("response.incomplete") },
    [MF_UPSTREAM_FAILED] = { "failed", MF_STR("response.failed") },
  };
  struct mf_turn_result *ret = run->ret;
  if (!payload_write(run, ends[run->state].status, &ret->payload))
    return false;
  bool is_kept = run->state == MF_UPSTREAM_COMPLETED || run->state == MF_UPSTREAM_INCOMPLETE;
  if (run->t.r->is_store && is_kept && !payload_store(run))
    return false;
  if (run->sink) {
    if (!deliver_begin(run))
      return false;
    mf_buf_truncate(&run->members, 0);
    enum mf_code code = mf_buf_append_str(&run->members, MF_STR(",\"response\":"));
    if (!code)
      code = mf_buf_append_str(&run->members, mf_buf_str(&ret->payload));
    if (code)
      return run_fail_limit(run, 500, "stream event exceeded %zu bytes", run->t.agent->config.event_max);
    if (!deliver(run, ends[run->state].event, -1, mf_buf_str(&run->members)))
      return false;
  }
  ret->end = MF_TURN_RESPONSE;
  return true;
}

static void run_init(struct run *run)
{
  const struct mf_agent_config *c = &run->t.agent->config;
  mf_buf_init(&run->frame, c->event_max);
  mf_buf_init(&run->members, c->event_max);
  mf_buf_init(&run->ret->payload, c->event_max);
  mf_buf_init(&run->ret->upstream_body, SMALL_MAX);
}

static void run_done(struct run *run)
{
  mf_http_call_close(run->call);
  slots_clear(run);
  free(run->slots);
  mf_acc_free(run->acc);
  mf_buf_done(&run->frame);
  mf_buf_done(&run->members);
  turn_done(&run->t);
}

void mf_turn_run(struct mf_agent *agent, struct mf_fiber *self, const struct mf_turn_request *r, struct mf_str bearer,
                 const struct mf_turn_sink *sink, struct mf_turn_result *ret)
{
  *ret = (struct mf_turn_result){ 0 };
  struct run run = {
    .t = { .agent = agent, .self = self, .r = r, .bearer = bearer },
    .sink = sink,
    .ret = ret,
  };
  run_init(&run);
  agent->stats.requests++;
  /* Until here nothing was sent, so that an error is an ordinary HTTP one. */
  if (!turn_begin(&run.t, &ret->error)) {
    ret->end = mf_fiber_is_cancelled(self) ? MF_TURN_CANCELLED : MF_TURN_ERROR;
  } else {
    memcpy(ret->id, run.t.id, sizeof(ret->id));
    if (play_rounds(&run) && finish(&run))
      ask_leave(&run);
    if (ret->end == MF_TURN_ERROR && sink)
      deliver_error(&run);
  }
  agent->stats.by_end[ret->end]++;
  run_done(&run);
}

/* The door agent/turn.h without an agent: a turn does what the request's body says. */
#include "fake-turn.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/banned.h"

struct fake_turns fake_turns;

struct mf_turn_request {
  char *text;
};

void mf_agent_config_default(struct mf_agent_config *c)
{
  *c = (struct mf_agent_config){ .event_max = 1 << 20 };
}

bool mf_turn_request_new(const struct mf_agent *agent, struct mf_str body, struct mf_turn_request **ret,
                         struct mf_api_error *e)
{
  if (mf_str_starts(body, "bad"))
    return mf_api_fail(e, 400, "invalid_request_error", "invalid_value", "tools[0].type", "bad from the start");
  *ret = mf_xcalloc(1, sizeof(**ret));
  (*ret)->text = mf_xasprintf("%.*s", MF_STR_ARG(body));
  return true;
}

void mf_turn_request_free(struct mf_turn_request *r)
{
  if (r)
    free(r->text);
  free(r);
}

static bool says(const struct mf_turn_request *r, const char *word)
{
  return strstr(r->text, word) != NULL;
}

bool mf_turn_request_is_stream(const struct mf_turn_request *r)
{
  return says(r, "stream");
}

bool mf_turn_request_is_proxy(const struct mf_turn_request *r)
{
  return says(r, "proxy");
}

struct mf_str mf_turn_request_model(const struct mf_turn_request *r)
{
  return MF_STR("m");
}

static enum mf_code emit(const struct mf_turn_sink *sink, struct mf_str type, struct mf_str json)
{
  enum mf_code code = sink->event(sink->user, type, json, NULL);
  if (code)
    fake_turns.sink_code = code;
  else
    fake_turns.events++;
  return code;
}

static void verbatim(struct mf_turn_result *t, int status)
{
  t->end = MF_TURN_VERBATIM;
  t->upstream_status = status;
  t->upstream_header_n = 3;
  t->upstream_headers = mf_xcalloc(3, sizeof(*t->upstream_headers));
  t->upstream_headers[0] = (struct mf_http_header){ MF_STR("content-type"), MF_STR("text/plain") };
  t->upstream_headers[1] = (struct mf_http_header){ MF_STR("retry-after"), MF_STR("7") };
  t->upstream_headers[2] = (struct mf_http_header){ MF_STR("x-request-id"), MF_STR("up_1") };
  if (mf_buf_append_str(&t->upstream_body, MF_STR("slow down")))
    abort();
}

static void stream(struct mf_fiber *self, const struct mf_turn_request *r, const struct mf_turn_sink *sink,
                   struct mf_turn_result *t)
{
  if (emit(sink, MF_STR("response.created"), MF_STR("{\"sequence_number\":0}")))
    return;
  if (says(r, "late")) {
    (void)emit(sink, MF_STR("error"), MF_STR("{\"type\":\"error\"}"));
    t->end = MF_TURN_ERROR;
    t->is_sent = true;
    return;
  }
  if (says(r, "hang")) {
    while (mf_fiber_wait(self, 0) != MF_E_CANCELLED)
      continue;
    t->end = MF_TURN_CANCELLED;
    return;
  }
  static char block[8192];
  memset(block, 'x', sizeof(block));
  while (says(r, "flood"))
    if (emit(sink, MF_STR("x"), (struct mf_str){ block, sizeof(block) })) {
      t->end = MF_TURN_CANCELLED;
      return;
    }
  (void)emit(sink, MF_STR("response.completed"), MF_STR("{\"sequence_number\":1}"));
}

void mf_turn_run(struct mf_agent *agent, struct mf_fiber *self, const struct mf_turn_request *r, struct mf_str bearer,
                 const struct mf_turn_sink *sink, struct mf_turn_result *t)
{
  *t = (struct mf_turn_result){ .end = MF_TURN_RESPONSE };
  mf_buf_init(&t->payload, 4096);
  mf_buf_init(&t->upstream_body, 4096);
  fake_turns.started++;
  snprintf(fake_turns.bearer, sizeof(fake_turns.bearer), "%.*s", MF_STR_ARG(bearer));
  if (mf_buf_append_str(&t->payload, MF_STR("{\"id\":\"resp_1\",\"object\":\"response\"}")))
    abort();
  if (says(r, "early")) {
    t->end = MF_TURN_ERROR;
    (void)mf_api_fail(&t->error, 404, "not_found", "not_found", NULL, "no such parent");
  } else if (says(r, "verbatim")) {
    verbatim(t, says(r, "impossible") ? 999 : 429);
  } else if (sink) {
    stream(self, r, sink, t);
  } else if (says(r, "hang")) {
    while (mf_fiber_wait(self, 0) != MF_E_CANCELLED)
      continue;
    t->end = MF_TURN_CANCELLED;
  }
  agent->stats.by_end[t->end]++;
  fake_turns.ended++;
}

void mf_turn_result_done(struct mf_turn_result *t)
{
  mf_buf_done(&t->payload);
  mf_buf_done(&t->upstream_body);
  free(t->upstream_headers);
}

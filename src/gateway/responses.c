/* POST /v1/responses: a turn, as JSON or as events. Thread: the loop's; in the request's fiber. */
#include <assert.h>

#include "base/log.h"
#include "base/time.h"
#include "headers.h"
#include "http/sse.h"
#include "reply.h"
#include "base/banned.h"

/* Where the events of one turn go. */
struct stream {
  struct mf_gw_request *r;
  struct mf_buf frame;
  enum mf_code code; /* the first failure of the client's side */
};

static enum mf_code begin(struct mf_gw_request *r)
{
  static const struct mf_http_header headers[] = {
    { { "Content-Type", 12 }, { "text/event-stream; charset=utf-8", 32 } },
    { { "Cache-Control", 13 }, { "no-cache", 8 } },
    { { "X-Accel-Buffering", 17 }, { "no", 2 } },
  };
  mf_gw_histogram_add(&r->g->metrics.first_event, mf_now_ns() - r->start_ns);
  return mf_gw_begin(r, 200, headers, MF_ARRAY_N(headers));
}

/* The headers wait for the first event, so that what is found before it is a plain HTTP error. A client that reads
 * slowly holds this call, and with it the turn's upstream. */
static enum mf_code on_event(void *user, struct mf_str type, struct mf_str json, struct mf_err *err)
{
  struct stream *s = user;
  if (!mf_http_has_begun(s->r->x))
    s->code = begin(s->r);
  mf_buf_truncate(&s->frame, 0);
  if (!s->code)
    s->code = mf_sse_write(&s->frame, type, json);
  if (!s->code)
    s->code = mf_http_write(s->r->x, mf_buf_str(&s->frame), err);
  return s->code;
}

static enum mf_code end(struct mf_gw_request *r)
{
  enum mf_code code = mf_http_has_begun(r->x) ? MF_OK : begin(r);
  if (!code)
    code = mf_http_write(r->x, MF_STR("data: [DONE]\n\n"), NULL);
  return code ? code : mf_http_end(r->x, NULL);
}

/* Upstream's own answer. One that HTTP cannot carry is its failure. */
static enum mf_code pass_on(struct mf_gw_request *r, const struct mf_turn_result *t)
{
  struct mf_http_header headers[MF_GW_HEADERS_MAX - 16];
  size_t n = mf_gw_headers_to_client(t->upstream_headers, t->upstream_header_n, headers, MF_ARRAY_N(headers));
  enum mf_code code = mf_gw_respond(r, t->upstream_status, headers, n, mf_buf_str(&t->upstream_body));
  if (code == MF_E_INPUT)
    code = mf_gw_refuse(r, 502, "api_error", "llm_unavailable", "LLM unavailable");
  return code;
}

static enum mf_code deliver(struct mf_gw_request *r, bool is_stream, const struct mf_turn_result *t)
{
  switch (t->end) {
  case MF_TURN_RESPONSE:
    return is_stream ? end(r) : mf_gw_json(r, 200, mf_buf_str(&t->payload));
  case MF_TURN_ERROR:
    if (t->is_sent)
      return end(r);
    if (!mf_http_has_begun(r->x))
      return mf_gw_error(r, &t->error);
    return MF_E_GONE; /* the events could not be delivered: the answer is left without its end */
  case MF_TURN_VERBATIM:
    return pass_on(r, t);
  case MF_TURN_CANCELLED:
  case MF_TURN_END_N:
    break;
  }
  return MF_E_CANCELLED;
}

static enum mf_code run(struct mf_gw_request *r, const struct mf_turn_request *request)
{
  struct mf_gateway *g = r->g;
  struct stream s = { .r = r };
  mf_buf_init(&s.frame, g->parts.agent->config.event_max + MF_GW_FRAME_SLACK);
  const struct mf_turn_sink sink = { &s, on_event };
  bool is_stream = mf_turn_request_is_stream(request);
  struct mf_str bearer = { NULL, 0 }, authorization = mf_http_header(r->x, "authorization");
  if (mf_gw_bearer_is_clients(&g->access, authorization))
    bearer = mf_gw_bearer(authorization);
  struct mf_turn_result t = { 0 };
  mf_turn_run(g->parts.agent, r->self, request, bearer, is_stream ? &sink : NULL, &t);
  mf_buf_done(&s.frame);
  enum mf_code code = s.code ? s.code : deliver(r, is_stream, &t);
  mf_turn_result_done(&t);
  return code;
}

enum mf_code mf_gw_post_response(struct mf_gw_request *r)
{
  mf_auto_buf struct mf_buf body = { 0 };
  if (!mf_gw_has_llm(r->g))
    return mf_gw_refuse_no_llm(r);
  enum mf_code code = mf_http_read_body(r->x, r->g->body_max, &body, NULL);
  if (code)
    return mf_gw_refuse_body(r, code);
  struct mf_turn_request *request = NULL;
  struct mf_api_error error;
  if (!mf_turn_request_new(r->g->parts.agent, mf_buf_str(&body), &request, &error))
    return mf_gw_error(r, &error);
  if (mf_turn_request_is_proxy(request)) {
    mf_turn_request_free(request);
    return mf_gw_proxy(r, "POST", &body);
  }
  mf_buf_done(&body); /* the request has its own copy, and a turn can be long */
  code = run(r, request);
  mf_turn_request_free(request);
  return code;
}

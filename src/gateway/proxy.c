/* The raw proxy: the client's bytes to the model server, and its answer as it is. Thread: the loop's; in the request's
 * fiber. */
#include "base/log.h"
#include "base/num.h"
#include "headers.h"
#include "reply.h"
#include "base/banned.h"

static enum mf_code refuse(struct mf_gw_request *r, enum mf_code code, const struct mf_err *err)
{
  if (code == MF_E_CANCELLED)
    return code;
  r->g->parts.agent->stats.upstream_errors++;
  mf_log_request(MF_LOG_WARN, r->id, "LLM server: %s", err->msg);
  if (code == MF_E_TIMEOUT)
    return mf_gw_refuse(r, 504, "api_error", "llm_timeout", "LLM timeout");
  return mf_gw_refuse(r, 502, "api_error", "llm_unavailable", "LLM unavailable");
}

/* The length that upstream promised; SIZE_MAX when it did not, or not in a number. */
static size_t promised(const struct mf_http_call *call)
{
  uint64_t n;
  struct mf_str length = mf_http_call_header(call, "content-length");
  return mf_parse_u64(length, "content-length", 0, SIZE_MAX - 1, &n, NULL) == MF_OK ? (size_t)n : SIZE_MAX;
}

/* A short answer in one piece, so that one that upstream cuts is a 502 and not half an answer. */
static enum mf_code pass_whole(struct mf_gw_request *r, struct mf_http_call *call, int status,
                               const struct mf_http_header *headers, size_t header_n)
{
  mf_auto_buf struct mf_buf body = { 0 };
  struct mf_err err = { 0 };
  enum mf_code code = mf_http_call_read_all(call, r->self, MF_GW_PROXY_WHOLE, &body, &err);
  if (code)
    return refuse(r, code, &err);
  return mf_gw_respond(r, status, headers, header_n, mf_buf_str(&body));
}

/* Piece by piece: each is written before the next is read, so a slow reader slows upstream down. */
static enum mf_code pass_stream(struct mf_gw_request *r, struct mf_http_call *call, int status,
                                const struct mf_http_header *headers, size_t header_n)
{
  enum mf_code code = mf_gw_begin(r, status, headers, header_n);
  if (code || mf_str_is(mf_http_method(r->x), "HEAD"))
    return code ? code : mf_http_end(r->x, NULL);
  for (;;) {
    struct mf_str piece;
    code = mf_http_call_read(call, r->self, &piece, NULL);
    if (code)
      return code; /* without an end the client sees that it was cut */
    if (piece.len == 0)
      return mf_http_end(r->x, NULL);
    code = mf_http_write(r->x, piece, NULL);
    if (code)
      return code;
  }
}

static enum mf_code pass(struct mf_gw_request *r, struct mf_http_call *call)
{
  struct mf_http_header headers[MF_GW_HEADERS_MAX - 16];
  const struct mf_http_header *in;
  size_t in_n = mf_http_call_headers(call, &in);
  size_t n = mf_gw_headers_to_client(in, in_n, headers, MF_ARRAY_N(headers) - 1);
  int status = mf_http_call_status(call);
  bool is_sse = mf_str_starts(mf_http_call_header(call, "content-type"), "text/event-stream");
  if (is_sse && !mf_gw_headers_find(headers, n, "x-accel-buffering"))
    headers[n++] = (struct mf_http_header){ MF_STR("X-Accel-Buffering"), MF_STR("no") };
  bool is_head = mf_str_is(mf_http_method(r->x), "HEAD");
  enum mf_code code = !is_head && promised(call) <= MF_GW_PROXY_WHOLE ? pass_whole(r, call, status, headers, n)
                                                                      : pass_stream(r, call, status, headers, n);
  /* A status or a field that HTTP cannot carry. */
  const struct mf_err why = { .msg = "an answer that cannot be passed on" };
  return code == MF_E_INPUT && !mf_http_has_begun(r->x) ? refuse(r, MF_E_GONE, &why) : code;
}

/* Whose token goes upstream: the client's own, else the configured one. A key of this gateway never does. */
static size_t upstream_headers(const struct mf_gw_request *r, struct mf_str configured, struct mf_http_header *out,
                               size_t max)
{
  const struct mf_http_header *in;
  size_t in_n = mf_http_headers(r->x, &in);
  struct mf_str authorization = mf_http_header(r->x, "authorization");
  bool is_own = mf_gw_bearer_is_clients(&r->g->access, authorization);
  bool has_bearer = is_own && mf_gw_bearer(authorization).len > 0;
  bool keep = is_own && (has_bearer || configured.len == 0);
  size_t n = mf_gw_headers_to_upstream(in, in_n, keep, out, max - 1);
  if (!keep && configured.len > 0)
    out[n++] = (struct mf_http_header){ MF_STR("Authorization"), configured };
  return n;
}

enum mf_code mf_gw_proxy(struct mf_gw_request *r, const char *method, struct mf_buf *body)
{
  const struct mf_agent *agent = r->g->parts.agent;
  struct mf_str path = mf_http_path(r->x), query = mf_http_query(r->x);
  mf_auto_free char *url = mf_xasprintf("%s%.*s%s%.*s", agent->config.llm_api_base, MF_STR_ARG(path),
                                        query.len ? "?" : "", MF_STR_ARG(query));
  mf_auto_free char *key = agent->config.api_key ? mf_xasprintf("Bearer %s", agent->config.api_key) : NULL;
  struct mf_http_header headers[MF_GW_HEADERS_MAX];
  struct mf_http_request request = { .method = method,
                                     .url = url,
                                     .headers = headers,
                                     .body = mf_buf_str(body),
                                     .idle_ms = agent->config.chunk_timeout_ms };
  request.header_n = upstream_headers(r, mf_str_of(key), headers, MF_ARRAY_N(headers));
  struct mf_http_call *call = NULL;
  struct mf_err err = { 0 };
  enum mf_code code = mf_http_call_open(agent->client, r->self, &request, &call, &err);
  mf_buf_done(body); /* an answer can be long */
  if (code)
    return refuse(r, code, &err);
  code = pass(r, call);
  mf_http_call_close(call);
  return code;
}

/* ---- routes ---- */

enum mf_code mf_gw_proxy_get(struct mf_gw_request *r)
{
  struct mf_buf none = { 0 };
  return mf_gw_has_llm(r->g) ? mf_gw_proxy(r, "GET", &none) : mf_gw_refuse_no_llm(r);
}

enum mf_code mf_gw_proxy_post(struct mf_gw_request *r)
{
  mf_auto_buf struct mf_buf body = { 0 };
  if (!mf_gw_has_llm(r->g))
    return mf_gw_refuse_no_llm(r);
  enum mf_code code = mf_http_read_body(r->x, r->g->body_max, &body, NULL);
  return code ? mf_gw_refuse_body(r, code) : mf_gw_proxy(r, "POST", &body);
}

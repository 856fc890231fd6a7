/* Answers: each carries the request's id and what CORS asks for. Thread: the loop's. */
#include "reply.h"

#include <stdarg.h>
#include <stdio.h>

#include "headers.h"
#include "base/log.h"
#include "base/banned.h"

/* ---- heads ---- */

static struct mf_http_header field(const char *name, struct mf_str value)
{
  return (struct mf_http_header){ mf_str_of(name), value };
}

/* What a page of another origin may read beside the body. */
static const char exposed[] = "x-request-id, x-mayfly-request-id, retry-after, location, idempotent-replayed, etag, "
                              "content-disposition, content-range, accept-ranges";

/* The caller's fields, and ours. */
static size_t complete(struct mf_gw_request *r, const struct mf_http_header *headers, size_t header_n,
                       struct mf_http_header out[MF_GW_HEADERS_MAX])
{
  size_t n = MF_MIN(header_n, (size_t)MF_GW_HEADERS_MAX - 16);
  if (n > 0)
    memcpy(out, headers, n * sizeof(*out));
  /* Upstream's own id of the request is its answer's; ours then has another name. */
  bool is_taken = mf_gw_headers_find(headers, header_n, "x-request-id") != NULL;
  out[n++] = field(is_taken ? "x-mayfly-request-id" : "x-request-id", mf_str_of(r->id));
  if (r->cors.len > 0) {
    out[n++] = field("Access-Control-Allow-Origin", r->cors);
    out[n++] = field("Access-Control-Expose-Headers", mf_str_of(exposed));
  }
  if (r->g->access.origin_n > 0 && !r->g->access.any_origin)
    out[n++] = field("Vary", MF_STR("Origin"));
  return n;
}

enum mf_code mf_gw_respond(struct mf_gw_request *r, int status, const struct mf_http_header *headers, size_t header_n,
                           struct mf_str body)
{
  struct mf_http_header all[MF_GW_HEADERS_MAX];
  size_t n = complete(r, headers, header_n, all);
  enum mf_code code = mf_http_respond(r->x, status, all, n, body, NULL);
  if (mf_http_has_begun(r->x))
    r->status = status;
  return code;
}

enum mf_code mf_gw_begin(struct mf_gw_request *r, int status, const struct mf_http_header *headers, size_t header_n)
{
  struct mf_http_header all[MF_GW_HEADERS_MAX];
  size_t n = complete(r, headers, header_n, all);
  enum mf_code code = mf_http_begin(r->x, status, all, n, NULL);
  if (code == MF_OK)
    r->status = status;
  return code;
}

enum mf_code mf_gw_begin_sized(struct mf_gw_request *r, int status, const struct mf_http_header *headers,
                               size_t header_n, uint64_t body_bytes)
{
  struct mf_http_header all[MF_GW_HEADERS_MAX];
  size_t n = complete(r, headers, header_n, all);
  enum mf_code code = mf_http_begin_sized(r->x, status, all, n, body_bytes, NULL);
  if (code == MF_OK)
    r->status = status;
  return code;
}

enum mf_code mf_gw_json(struct mf_gw_request *r, int status, struct mf_str body)
{
  const struct mf_http_header type = field("Content-Type", MF_STR("application/json"));
  return mf_gw_respond(r, status, &type, 1, body);
}

/* ---- errors ---- */

void mf_gw_write_error(struct mf_buf *out, const char *type, const char *code, const char *param, const char *message)
{
  struct mf_json_writer w;
  mf_jw_init(&w, out, false);
  mf_jw_obj(&w);
  mf_jw_key(&w, "error");
  mf_jw_obj(&w);
  mf_jw_kstrz(&w, "message", message);
  mf_jw_kstrz(&w, "type", type);
  mf_jw_kstrz(&w, "param", param);
  mf_jw_kstrz(&w, "code", code);
  mf_jw_obj_end(&w);
  mf_jw_obj_end(&w);
}

enum mf_code mf_gw_error(struct mf_gw_request *r, const struct mf_api_error *e)
{
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, MF_GW_ERROR_MAX);
  struct mf_json_writer w;
  mf_jw_init(&w, &out, false);
  mf_api_error_write(e, &w);
  return mf_gw_json(r, e->status, mf_buf_str(&out));
}

enum mf_code mf_gw_refuse(struct mf_gw_request *r, int status, const char *type, const char *code, const char *fmt, ...)
{
  char message[1024];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(message, sizeof(message), fmt, ap);
  va_end(ap);
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, MF_GW_ERROR_MAX);
  mf_gw_write_error(&out, type, code, NULL, message);
  const struct mf_http_header headers[] = {
    field("Content-Type", MF_STR("application/json")),
    status == 405 ? field("Allow", mf_str_of(r->match.allow)) : field("WWW-Authenticate", MF_STR("Bearer")),
  };
  return mf_gw_respond(r, status, headers, status == 401 || status == 405 ? 2 : 1, mf_buf_str(&out));
}

enum mf_code mf_gw_refuse_no_llm(struct mf_gw_request *r)
{
  return mf_gw_refuse(r, 503, "server_error", "llm_not_configured",
                      "This server has no LLM server and serves the task API (/v1/tasks) only: start it with "
                      "--llm-api-base URL.");
}

enum mf_code mf_gw_refuse_body(struct mf_gw_request *r, enum mf_code code)
{
  if (code == MF_E_LIMIT)
    return mf_gw_refuse(r, 413, "api_error", "body_too_large", "request body too large");
  if (code == MF_E_TIMEOUT)
    return mf_gw_refuse(r, 408, "invalid_request_error", "request_timeout", "the request body took too long");
  if (code == MF_E_INPUT)
    return mf_gw_refuse(r, 400, "invalid_request_error", "invalid_request_error", "malformed chunked body");
  return code;
}

enum mf_code mf_gw_refuse_storage(struct mf_gw_request *r, enum mf_code code, const struct mf_err *err)
{
  if (code == MF_E_CANCELLED)
    return code;
  struct mf_api_error e;
  if (code == MF_E_NOT_FOUND) {
    (void)mf_api_fail(&e, 404, "not_found", "not_found", NULL, "storage error: %s", err->msg);
    return mf_gw_error(r, &e);
  }
  if (code == MF_E_LIMIT) { /* nothing is wrong with storage */
    (void)mf_api_fail(&e, 500, "server_error", "response_resource_limit_exceeded", NULL, "storage error: %s", err->msg);
    return mf_gw_error(r, &e);
  }
  mf_log_request(MF_LOG_ERROR, r->id, "storage: %s", err->msg);
  if (code == MF_E_CAPACITY)
    return mf_gw_refuse(r, 503, "server_error", "server_error", "too many requests wait for storage; try again later");
  return mf_gw_refuse(r, 500, "server_error", "server_error", "Internal server error");
}

/* ---- what never reached a route ---- */

void mf_gw_refused_header(void *user, struct mf_http_header *ret)
{
  struct mf_gateway *g = ((struct mf_gw_door *)user)->g;
  mf_id_new("req_", g->refusal_id);
  *ret = field("x-request-id", mf_str_of(g->refusal_id));
}

void mf_gw_refused_body(void *user, int status, const char *message, struct mf_buf *ret)
{
  struct mf_gateway *g = ((struct mf_gw_door *)user)->g;
  const char *type = status < 500 ? "invalid_request_error" : "server_error";
  if (status == 413)
    mf_gw_write_error(ret, "api_error", "body_too_large", NULL, message);
  else
    mf_gw_write_error(ret, type, type, NULL, message);
  mf_gw_metrics_refusal(&g->metrics, status);
  mf_log_request(MF_LOG_INFO, g->refusal_id, "refused status=%d reason=\"%s\"", status, message);
}

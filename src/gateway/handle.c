/* One request on its way: host, route, key, handler; what it was is counted and logged. Thread: the loop's. */
#include <stdio.h>

#include "base/log.h"
#include "base/path.h"
#include "base/time.h"
#include "reply.h"
#include "base/banned.h"

static enum mf_code refuse_host(struct mf_gw_request *r, struct mf_str host, struct mf_str origin)
{
  char shown[120];
  bool is_host = !mf_gw_host_is_local(host);
  mf_escape(is_host ? host : origin, shown, sizeof(shown));
  return mf_gw_refuse(r, 403, "invalid_request_error", is_host ? "foreign_host" : "foreign_origin",
                      is_host
                          ? "This server listens on the loopback address and does not answer for the host '%s'. Use "
                            "http://127.0.0.1 or http://localhost, or bind the server to another address and give "
                            "it API keys."
                          : "This server listens on the loopback address and does not answer pages of '%s'. Add "
                            "the origin to the CORS origins if that page may run code here.",
                      shown);
}

/* OPTIONS of a known path. Browsers send it without the key, before a request that would have one. */
static enum mf_code preflight(struct mf_gw_request *r)
{
  struct mf_str wanted = mf_http_header(r->x, "access-control-request-headers");
  struct mf_http_header headers[5];
  size_t n = 0;
  headers[n++] = (struct mf_http_header){ MF_STR("Allow"), mf_str_of(r->match.allow) };
  if (r->cors.len > 0 && mf_http_header(r->x, "access-control-request-method").len > 0) {
    headers[n++] = (struct mf_http_header){ MF_STR("Access-Control-Allow-Methods"), mf_str_of(r->match.allow) };
    headers[n++] = (struct mf_http_header){ MF_STR("Access-Control-Max-Age"), MF_STR("600") };
    if (wanted.len > 0)
      headers[n++] = (struct mf_http_header){ MF_STR("Access-Control-Allow-Headers"), wanted };
    headers[n++] = (struct mf_http_header){ MF_STR("Vary"), MF_STR("Access-Control-Request-Headers") };
  }
  return mf_gw_respond(r, 204, headers, n, MF_STR(""));
}

static enum mf_code refuse_path(struct mf_gw_request *r)
{
  char method[24], path[240];
  mf_escape(mf_http_method(r->x), method, sizeof(method));
  mf_escape(mf_http_path(r->x), path, sizeof(path));
  if (r->match.knows_path)
    return mf_gw_refuse(r, 405, "invalid_request_error", "method_not_allowed", "Not allowed to %s on %s. Allowed: %s.",
                        method, path, r->match.allow);
  return mf_gw_refuse(r, 404, "invalid_request_error", "unknown_url", "Unknown request URL: %s %s.", method, path);
}

/* *ret_answered: it may not, and was told so. */
static enum mf_code check_key(struct mf_gw_request *r, bool is_local, bool *ret_answered)
{
  const struct mf_gw_asker asker = { r->route->auth, is_local, mf_http_header(r->x, "authorization") };
  enum mf_gw_verdict verdict;
  struct mf_err err = { 0 };
  enum mf_code code = mf_gw_authorize(&r->g->access, r->self, &asker, &verdict, r->owner, &err);
  *ret_answered = true;
  if (code)
    return mf_gw_refuse_storage(r, code, &err);
  switch (verdict) {
  case MF_GW_NO_TOKEN:
    return mf_gw_refuse(r, 401, "authentication_error", "missing_bearer_token", "missing bearer token");
  case MF_GW_BAD_TOKEN:
    return mf_gw_refuse(r, 401, "authentication_error", "invalid_token", "invalid bearer token");
  case MF_GW_PASS:
    break;
  }
  *ret_answered = false;
  return MF_OK;
}

static enum mf_code serve(struct mf_gw_request *r, bool is_local)
{
  struct mf_gateway *g = r->g;
  struct mf_str host = mf_http_header(r->x, "host"), origin = mf_http_header(r->x, "origin");
  struct mf_str method = mf_http_method(r->x);
  mf_gw_route_find(method, mf_http_path(r->x), &r->match);
  r->route = r->match.route;
  r->cors = mf_gw_cors(&g->access, origin);
  if (!is_local && !mf_gw_host_passes(&g->access, host, origin))
    return refuse_host(r, host, origin);
  if (r->match.knows_path && mf_str_is(method, "OPTIONS"))
    return preflight(r);
  if (!r->route)
    return refuse_path(r);
  bool is_answered;
  enum mf_code code = check_key(r, is_local, &is_answered);
  if (code || is_answered)
    return code;
  if (r->match.is_malformed)
    return mf_gw_refuse(r, 400, "invalid_request_error", "invalid_value",
                        "The id in the path must be at most %d bytes of percent-encoded UTF-8 without control "
                        "characters.",
                        MF_GW_ARG_MAX);
  return r->route->handler(r);
}

/* A client's own method is not ours to log. */
static const char *known_method(struct mf_str method)
{
  static const char *const methods[] = { "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS" };
  for (size_t i = 0; i < MF_ARRAY_N(methods); i++)
    if (mf_str_is(method, methods[i]))
      return methods[i];
  return "other";
}

void mf_gw_handle(void *user, struct mf_http_exchange *x, struct mf_fiber *self)
{
  const struct mf_gw_door *door = user;
  struct mf_gw_request r = { .g = door->g, .x = x, .self = self, .start_ns = mf_now_ns() };
  mf_id_new("req_", r.id);
  enum mf_code code = serve(&r, door->is_local);
  if (code && code != MF_E_GONE && code != MF_E_CANCELLED && !mf_http_has_begun(x)) {
    mf_log_request(MF_LOG_ERROR, r.id, "no answer could be made (%s)", mf_code_name(code));
    code = mf_gw_refuse(&r, 500, "server_error", "server_error", "Internal server error");
  }

  const struct mf_gw_route *routes;
  size_t n = mf_gw_routes(&routes), i = r.route ? (size_t)(r.route - routes) : MF_GW_ROUTES_MAX;
  uint64_t ns = mf_now_ns() - r.start_ns;
  mf_gw_metrics_request(&r.g->metrics, i, r.status, ns, code == MF_OK);
  mf_log_request(MF_LOG_INFO, r.id, "method=%s route=%s status=%d ms=%llu.%03u complete=%s",
                 known_method(mf_http_method(x)), i < n ? routes[i].path : "none", r.status,
                 (unsigned long long)(ns / 1000000), (unsigned)(ns / 1000 % 1000), code == MF_OK ? "true" : "false");
}

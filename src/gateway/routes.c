/* The table of routes, and how a request finds its row. Thread: any. */
#include "routes.h"

#include "gateway-internal.h"
#include "query.h"
#include "base/banned.h"

static const struct mf_gw_route routes[] = {
  { "GET", "/health", MF_GW_ANYONE, mf_gw_get_health },
  { "GET", "/ready", MF_GW_ANYONE, mf_gw_get_ready },
  { "GET", "/metrics", MF_GW_ANYONE, mf_gw_get_metrics },
  { "GET", "/openapi.json", MF_GW_ANYONE, mf_gw_get_openapi },
  { "POST", "/v1/responses", MF_GW_CLIENT, mf_gw_post_response },
  { "GET", "/v1/responses/{id}", MF_GW_OWNER, mf_gw_get_response },
  { "DELETE", "/v1/responses/{id}", MF_GW_OWNER, mf_gw_delete_response },
  { "GET", "/v1/responses/{id}/input_items", MF_GW_OWNER, mf_gw_get_input_items },
  { "POST", "/v1/responses/{id}/cancel", MF_GW_OWNER, mf_gw_cancel_response },
  { "POST", "/v1/tasks", MF_GW_OWNER, mf_gw_post_task },
  { "GET", "/v1/tasks", MF_GW_OWNER, mf_gw_list_tasks },
  { "GET", "/v1/tasks/{taskId}", MF_GW_OWNER, mf_gw_get_task },
  { "DELETE", "/v1/tasks/{taskId}", MF_GW_OWNER, mf_gw_delete_task },
  { "POST", "/v1/tasks/{taskId}/cancel", MF_GW_OWNER, mf_gw_cancel_task },
  { "GET", "/v1/tasks/{taskId}/events", MF_GW_OWNER, mf_gw_get_task_events },
  { "GET", "/v1/tasks/{taskId}/artifacts/{artifactId}", MF_GW_OWNER, mf_gw_get_task_artifact },
  { "POST", "/v1/chat/completions", MF_GW_CLIENT, mf_gw_proxy_post },
  { "POST", "/v1/completions", MF_GW_CLIENT, mf_gw_proxy_post },
  { "GET", "/v1/models", MF_GW_CLIENT, mf_gw_proxy_get },
};
_Static_assert(MF_ARRAY_N(routes) <= MF_GW_ROUTES_MAX, "metrics.h has a place for each route");

size_t mf_gw_routes(const struct mf_gw_route **ret)
{
  *ret = routes;
  return MF_ARRAY_N(routes);
}

/* The segment up to the next slash; *s goes on behind it. */
static struct mf_str next_segment(struct mf_str *s)
{
  const char *slash = s->len ? memchr(s->ptr, '/', s->len) : NULL;
  struct mf_str segment = { s->ptr, slash ? (size_t)(slash - s->ptr) : s->len };
  size_t used = segment.len + (slash ? 1 : 0);
  *s = (struct mf_str){ s->ptr + used, s->len - used };
  return segment;
}

/* Segments are compared as they were sent, so that an encoded slash never makes a new one. */
static bool path_fits(const char *pattern, struct mf_str path, struct mf_str ret_args[MF_GW_ARGS_MAX])
{
  size_t arg_n = 0;
  struct mf_str rest = mf_str_of(pattern);
  if (!mf_str_starts(path, "/") || path.ptr[path.len - 1] == '/')
    return false;
  while (rest.len > 0 && path.len > 0) {
    struct mf_str want = next_segment(&rest), got = next_segment(&path);
    if (mf_str_starts(want, "{") && got.len > 0 && arg_n < MF_GW_ARGS_MAX)
      ret_args[arg_n++] = got;
    else if (!mf_str_eq(want, got))
      return false;
  }
  return rest.len == 0 && path.len == 0;
}

static void append(struct mf_gw_match *m, const char *text)
{
  size_t at = strlen(m->allow), n = MF_MIN(strlen(text), sizeof(m->allow) - at - 1);
  memcpy(m->allow + at, text, n);
  m->allow[at + n] = 0;
}

static void allow(struct mf_gw_match *m, const char *method)
{
  if (m->allow[0])
    append(m, ", ");
  append(m, method);
  if (strcmp(method, "GET") == 0)
    append(m, ", HEAD");
}

void mf_gw_route_find(struct mf_str method, struct mf_str path, struct mf_gw_match *ret)
{
  *ret = (struct mf_gw_match){ 0 };
  struct mf_str args[MF_GW_ARGS_MAX] = { 0 };
  struct mf_str wanted = mf_str_is(method, "HEAD") ? MF_STR("GET") : method;
  for (size_t i = 0; i < MF_ARRAY_N(routes); i++) {
    struct mf_str found[MF_GW_ARGS_MAX] = { 0 };
    if (!path_fits(routes[i].path, path, found))
      continue;
    ret->knows_path = true;
    memcpy(args, found, sizeof(args));
    allow(ret, routes[i].method);
    if (mf_str_is(wanted, routes[i].method))
      ret->route = &routes[i];
  }
  if (ret->knows_path)
    allow(ret, "OPTIONS");
  for (size_t i = 0; i < MF_GW_ARGS_MAX; i++)
    if (args[i].len > 0 && !mf_gw_decode(args[i], false, ret->args[i], sizeof(ret->args[i])))
      ret->is_malformed = true;
}

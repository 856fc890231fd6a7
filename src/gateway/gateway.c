/* The gateway's life. Thread: the loop's. */
#include "gateway-internal.h"

#include "openapi.h"
#include "tasks.h"
#include "base/banned.h"

static void destroy(struct mf_gateway *g)
{
  mf_http_server_free(g->local.server);
  mf_http_server_free(g->main.server);
  mf_gw_access_done(&g->access);
  mf_buf_done(&g->openapi);
  free(g->version);
  free(g);
}

enum mf_code mf_gateway_new(const struct mf_gateway_config *config, const struct mf_gateway_parts *parts,
                            struct mf_gateway **ret, struct mf_err *err)
{
  struct mf_gateway *g = mf_xcalloc(1, sizeof(*g));
  struct mf_http_server_config http = config->http;
  g->parts = *parts;
  g->main = (struct mf_gw_door){ .g = g };
  g->local = (struct mf_gw_door){ .g = g, .is_local = true };
  g->version = mf_xstrdup(config->version ? config->version : "");
  g->body_max = http.body_bytes_max ? http.body_bytes_max : MF_GW_BODY_MAX;
  /* Each handler has its own bound; this is the server's, above all of them. */
  http.body_bytes_max = parts->tasks ? MF_MAX(g->body_max, (size_t)MF_GW_TASK_BODY_MAX) : g->body_max;
  /* What waits for a slow reader is kept twice, here and in the response that may be stored. */
  if (!http.write_high_bytes)
    http.write_high_bytes = MF_GW_WRITE_HIGH;
  http.error_header = mf_gw_refused_header;
  http.error_body = mf_gw_refused_body;
  g->http = http;
  g->http.host = g->http.unix_path = g->http.tls_cert = g->http.tls_key = NULL; /* borrowed, and not of every door */
  mf_gw_access_init(&g->access, config, parts->agent->storage);
  mf_gw_ready_init(&g->ready, parts->agent, config->skip_llm_ready_check || !mf_gw_has_llm(g));
  enum mf_code code = config->openapi_docs ? mf_gw_openapi_write(g->version, &g->openapi, err) : MF_OK;
  if (!code)
    code = mf_http_server_new(parts->loop, &http, mf_gw_handle, &g->main, &g->main.server, err);
  if (code) {
    destroy(g);
    return code;
  }
  *ret = g;
  return MF_OK;
}

uint16_t mf_gateway_port(const struct mf_gateway *g)
{
  return mf_http_server_port(g->main.server);
}

enum mf_code mf_gateway_listen_local(struct mf_gateway *g, const char *path, struct mf_err *err)
{
  struct mf_http_server_config http = g->http;
  http.unix_path = path;
  http.own_user_only = true;
  return mf_http_server_new(g->parts.loop, &http, mf_gw_handle, &g->local, &g->local.server, err);
}

/* The probe may outlive the request that started it. */
static void on_server_stopped(void *user)
{
  struct mf_gateway *g = user;
  if (--g->stopping_n == 0)
    mf_gw_ready_stop(&g->ready, g->stopped, g->stopped_user);
}

void mf_gateway_stop(struct mf_gateway *g, uint64_t deadline_ns, void (*stopped)(void *user), void *user)
{
  g->stopped = stopped;
  g->stopped_user = user;
  if (g->stopping_n == 0) /* else it is only another deadline */
    g->stopping_n = g->local.server ? 2 : 1;
  if (g->local.server)
    mf_http_server_stop(g->local.server, deadline_ns, on_server_stopped, g);
  mf_http_server_stop(g->main.server, deadline_ns, on_server_stopped, g);
}

void mf_gateway_free(struct mf_gateway *g)
{
  if (g)
    destroy(g);
}

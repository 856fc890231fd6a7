/* What the files of the gateway share: the gateway itself, and one request on its way through. Thread: the loop's. */
#ifndef MF_GATEWAY_INTERNAL_H
#define MF_GATEWAY_INTERNAL_H

#include "access.h"
#include "bulk.h"
#include "gateway/gateway.h"
#include "interpreter/tasks.h" /* MF_TASK_OWNER_MAX */
#include "metrics.h"
#include "ready.h"
#include "routes.h"

enum {
  MF_GW_ERROR_MAX = 64 * 1024,    /* an error as JSON */
  MF_GW_BODY_MAX = 10 << 20,      /* of a request, unless configured */
  MF_GW_WRITE_HIGH = 64 << 10,    /* a writer waits above it */
  MF_GW_PAGE_SLACK = 64 * 1024,   /* what a list adds to its items */
  MF_GW_FRAME_SLACK = 4096,       /* what a frame adds to its event */
  MF_GW_METRICS_MAX = 1 << 20,    /* the text of /metrics */
  MF_GW_PROXY_WHOLE = 256 * 1024, /* an upstream answer of known length up to this is sent in one piece */
  MF_GW_HEADERS_MAX = 256 + 16,   /* upstream's (http/client.h), and ours */
};

/* Where requests come in: the user of an HTTP server's handler. */
struct mf_gw_door {
  struct mf_gateway *g;
  struct mf_http_server *server; /* NULL: not open */
  bool is_local;                 /* the own Unix socket, where only our user comes */
};

struct mf_gateway {
  struct mf_gateway_parts parts;
  struct mf_http_server_config http; /* of a door, without its address */
  struct mf_gw_door main, local;
  unsigned stopping_n; /* doors that are not closed yet */
  struct mf_gw_access access;
  struct mf_gw_metrics metrics;
  struct mf_gw_ready ready;
  struct mf_gw_bulk bulk, answers; /* of tasks: large submissions, large answers */
  size_t body_max;
  char *version;
  struct mf_buf openapi;    /* empty: not served */
  char refusal_id[MF_ID_N]; /* of the last request that the server itself refused */
  void (*stopped)(void *user);
  void *stopped_user;
};

struct mf_gw_request {
  struct mf_gateway *g;
  struct mf_http_exchange *x;
  struct mf_fiber *self;
  const struct mf_gw_route *route; /* NULL: none */
  struct mf_gw_match match;        /* its ids, and what the path allows */
  char id[MF_ID_N];
  uint64_t start_ns;
  int status;         /* as answered; 0: not yet */
  struct mf_str cors; /* what Access-Control-Allow-Origin says; empty: nothing */
  /* Whose tasks it sees: "key_…" of a stored key, "cfg_" and 16 digits of a configured one, "local" on the own Unix
   * socket, "" where no keys are asked for. */
  char owner[MF_TASK_OWNER_MAX + 1];
};

/* The handler of the servers: user is the door. */
void mf_gw_handle(void *user, struct mf_http_exchange *x, struct mf_fiber *self);

/* The handlers of routes.c. Each answers, or returns why the client cannot be answered. */
mf_gw_handler mf_gw_post_response, mf_gw_get_response, mf_gw_delete_response, mf_gw_get_input_items,
    mf_gw_cancel_response, mf_gw_proxy_post, mf_gw_proxy_get, mf_gw_get_health, mf_gw_get_ready, mf_gw_get_metrics,
    mf_gw_get_openapi, mf_gw_post_task, mf_gw_list_tasks, mf_gw_get_task, mf_gw_delete_task, mf_gw_cancel_task,
    mf_gw_get_task_events, mf_gw_get_task_artifact;

/* Whether there is an LLM server to ask. */
static inline bool mf_gw_has_llm(const struct mf_gateway *g)
{
  return g->parts.agent->config.llm_api_base != NULL;
}

/* Forwards the request with these bytes, which are released here, and upstream's answer as it is. */
enum mf_code mf_gw_proxy(struct mf_gw_request *r, const char *method, struct mf_buf *body);

#endif

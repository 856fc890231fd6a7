/* The gateway: HTTP routes, authentication, validation, errors, and the projection of turns to JSON and SSE.
 *
 * Thread: the loop's. It knows storage, agent and executor through their doors, and no concrete provider. */
#ifndef MF_GATEWAY_GATEWAY_H
#define MF_GATEWAY_GATEWAY_H

#include "agent/turn.h"
#include "http/server.h"
#include "interpreter/tasks.h"

struct mf_gateway_config {
  struct mf_http_server_config http; /* body_bytes_max: of a request body; error_body is set by the gateway */
  /* Keys of clients: when there is one, here or in storage, every /v1 route needs one as bearer, and it is never
   * forwarded. */
  const char *const *api_keys;
  size_t api_key_n;
  /* The key for upstream. Alone (no api_keys) it also guards everything about a stored response. */
  const char *openai_api_key;
  const char *const *cors_origins; /* "*": any */
  size_t cors_origin_n;
  bool check_host; /* bound to loopback: refuse a foreign Host or Origin */
  bool skip_llm_ready_check;
  bool openapi_docs; /* serve /openapi.json */
  const char *version;
};
/* Everything is borrowed, and outlives the gateway. executor and what the provider says are for /metrics; NULL: off.
 * tasks, with the files and the pool that it was made with: NULL: /v1/tasks answers 503. An agent whose
 * config.llm_api_base is NULL: what needs the LLM server answers 503. */
struct mf_gateway_parts {
  struct mf_loop *loop;
  struct mf_agent *agent;
  struct mf_executor *executor;
  struct mf_provider *provider;
  struct mf_tasks *tasks;
  struct mf_files *files;
  struct mf_pool *pool;
};
struct mf_gateway;
/* Copies config's strings, listens. Errors: those of mf_http_server_new. */
MF_MUST_USE enum mf_code mf_gateway_new(const struct mf_gateway_config *config, const struct mf_gateway_parts *parts,
                                        struct mf_gateway **ret, struct mf_err *err);
uint16_t mf_gateway_port(const struct mf_gateway *g); /* 0 for a Unix socket */
/* Listens on this Unix socket too: a door for our own user (root is let in as well), who needs no key there. Once,
 * before the gateway stops. Errors: those of mf_http_server_new; the gateway goes on without. */
MF_MUST_USE enum mf_code mf_gateway_listen_local(struct mf_gateway *g, const char *path, struct mf_err *err);
/* As mf_http_server_stop: stops accepting, lets requests run until deadline_ns, then cancels them; `stopped` once. */
void mf_gateway_stop(struct mf_gateway *g, uint64_t deadline_ns, void (*stopped)(void *user), void *user);
void mf_gateway_free(struct mf_gateway *g); /* after stopped; NULL is fine */

#endif

/* One turn: a checked request, rounds with the upstream, tools, one response. A turn runs in its caller's fiber.
 *
 * request.c (body → mf_turn_request), history.c (continuation: what the model is given), upstream.c (what is POSTed),
 * rounds.c (the loop), ask.c (one round's answer), calls.c (the gateway's calls of a round), deliver.c (events to the
 * client), payload.c (the public response object). Events go to the sink as they happen; in JSON mode there is none.
 *
 * Thread: the loop's. Cancelling the fiber cancels the upstream request and the sandboxes; then nothing is stored. */
#ifndef MF_AGENT_TURN_H
#define MF_AGENT_TURN_H

#include "agent/accumulator.h"
#include "base/ids.h"
#include "http/client.h"
#include "storage/storage.h"
#include "tools/tools.h"

struct mf_agent_config {
  const char *llm_api_base;  /* without /v1 and without a last slash */
  const char *api_key;       /* for upstream, when the client has no bearer of its own; NULL: none */
  uint64_t chunk_timeout_ms; /* between upstream's chunks, also before its head; 0: none */
  size_t retained_max;       /* of a response that is kept: items, arguments, outputs; default 8 MiB */
  size_t upstream_json_max;  /* 16 MiB */
  size_t upstream_line_max;  /* of upstream's SSE; 16 MiB */
  size_t event_max;          /* an event to the client; 16 MiB */
  unsigned rounds_max;       /* rounds with gateway calls; 10 */
  unsigned concurrent_calls; /* gateway calls of one request at once; 5 */
};
void mf_agent_config_default(struct mf_agent_config *c); /* llm_api_base stays NULL */

/* By how a turn has ended. */
enum mf_turn_end {
  MF_TURN_RESPONSE,  /* payload holds the public response object; status completed, incomplete or failed */
  MF_TURN_ERROR,     /* error; is_sent: the sink has had it as its last event */
  MF_TURN_VERBATIM,  /* JSON mode: upstream's own non-2xx answer: status, headers and body */
  MF_TURN_CANCELLED, /* the fiber was cancelled */
  MF_TURN_END_N
};
struct mf_turn_stats {
  uint64_t requests, rounds, gateway_calls, upstream_errors, by_end[MF_TURN_END_N];
};
/* What turns work with. Everything is borrowed, and outlives every turn. */
struct mf_agent {
  struct mf_loop *loop;
  struct mf_http_client *client;
  struct mf_storage *storage;
  struct mf_tools_env tools;
  struct mf_agent_config config;
  struct mf_turn_stats stats;
};

struct mf_turn_request; /* parsed and checked */
/* body: the client's bytes, which are copied. False: *e, before anything is sent upstream. Tool declarations are
 * checked here, inherited ones in mf_turn_run. */
bool mf_turn_request_new(const struct mf_agent *agent, struct mf_str body, struct mf_turn_request **ret,
                         struct mf_api_error *e);
void mf_turn_request_free(struct mf_turn_request *r); /* NULL is fine */
bool mf_turn_request_is_stream(const struct mf_turn_request *r);
/* Nothing in it needs the gateway: the caller forwards the original bytes and upstream's answer as they are. */
bool mf_turn_request_is_proxy(const struct mf_turn_request *r);
struct mf_str mf_turn_request_model(const struct mf_turn_request *r); /* for metrics and logs of a known model only */

/* How a stream is delivered: one whole event at a time, with its sequence_number. `event` may wait (a slow reader). A
 * failure ends the turn. */
struct mf_turn_sink {
  void *user;
  enum mf_code (*event)(void *user, struct mf_str type, struct mf_str json, struct mf_err *err);
};
struct mf_turn_result {
  enum mf_turn_end end;
  char id[MF_ID_N];
  struct mf_buf payload;
  struct mf_api_error error;
  bool is_sent;
  int upstream_status;
  struct mf_buf upstream_body;
  struct mf_http_header *upstream_headers; /* owned, without hop-by-hop ones */
  size_t upstream_header_n;
};
/* bearer: the client's own token for upstream; empty: agent->config.api_key. sink: exactly when the request is a
 * stream. Fills *ret, which mf_turn_result_done releases. */
void mf_turn_run(struct mf_agent *agent, struct mf_fiber *self, const struct mf_turn_request *r, struct mf_str bearer,
                 const struct mf_turn_sink *sink, struct mf_turn_result *ret);
void mf_turn_result_done(struct mf_turn_result *r);

#endif

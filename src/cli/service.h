/* The gateway with all it stands on: provider, executor, storage, upstream client, agent. `serve` and `demo` start one.
 *
 * Thread: the loop's. Nothing but this names a concrete provider to the gateway. */
#ifndef MF_CLI_SERVICE_H
#define MF_CLI_SERVICE_H

#include "config/config.h"
#include "loop/loop.h"

struct mf_service;

struct mf_service_events {
  /* It listens. An error ends the service. */
  enum mf_code (*ready)(void *user, unsigned port, struct mf_err *err);
  /* Everything is closed, and the service may be freed. MF_OK, MF_E_CANCELLED: it was asked to stop before it was
   * ready; else why it could not start. */
  void (*ended)(void *user, enum mf_code code, const struct mf_err *err);
};

/* Starts the provider's processes, which know no secret, then loads the secrets into c and hides them in `in`. Then, as
 * the loop runs: the provider's probe, one program, the LLM server's /health (unless it is to be skipped), and
 * listening. What goes wrong is told by `ended`. c, in and events are borrowed until then. */
MF_MUST_USE enum mf_code mf_service_new(struct mf_loop *loop, struct mf_config *c, struct mf_config_input *in,
                                        const struct mf_service_events *events, void *user, struct mf_service **ret,
                                        struct mf_err *err);
/* Stops accepting, lets requests run for drain_ms, cancels them, closes everything. Once; `ended` follows. */
void mf_service_stop(struct mf_service *s, uint64_t drain_ms);
/* After `ended`, when the loop does not run. NULL is fine. */
void mf_service_free(struct mf_service *s);
/* Whether `mayfly key` has stored any, revoked or not. Once ready. */
bool mf_service_has_stored_key(const struct mf_service *s);
/* "local, 2 programs at a time, isolation full" or "off". Once ready. */
void mf_service_words(const struct mf_service *s, char *ret, size_t n);

#endif

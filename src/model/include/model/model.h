/* The scripted model: an HTTP server that speaks the Responses API from a scenario, for tests, the demo and benchmarks.
 *
 * A scenario is JSON: {"rounds": […]} or {"scenarios": {"NAME": {"rounds": […]}, …}}; docs/rooms/model.md tells what a
 * round may hold. Each request gets the next round of its conversation. Nothing is sent anywhere, and nobody is asked
 * who they are: it belongs on a loopback address. Thread: the loop's. */
#ifndef MF_MODEL_MODEL_H
#define MF_MODEL_MODEL_H

#include "base/err.h"
#include "base/str.h"
#include "loop/loop.h"

struct mf_model;

struct mf_model_config {
  struct mf_str scenario; /* the text; copied */
  const char *host;       /* NULL: 127.0.0.1 */
  uint16_t port;          /* 0: any; see mf_model_port */
};

/* MF_E_INPUT: the scenario is wrong (the message names the place, as in "rounds[2].fault"), or the address is;
 * MF_E_EXISTS: somebody listens there. */
MF_MUST_USE enum mf_code mf_model_new(struct mf_loop *loop, const struct mf_model_config *config, struct mf_model **ret,
                                      struct mf_err *err);
uint16_t mf_model_port(const struct mf_model *m);
/* Stops accepting, lets replies run until deadline_ns, then ends them; `stopped` once, from the loop. */
void mf_model_stop(struct mf_model *m, uint64_t deadline_ns, void (*stopped)(void *user), void *user);
void mf_model_free(struct mf_model *m); /* after stopped, or when nobody ever connected; NULL is fine */

#endif

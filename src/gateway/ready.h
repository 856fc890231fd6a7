/* Readiness: storage answers within 1 s, and the model server's /health within 2 s more. One probe at a time; who comes
 * meanwhile gets the last answer, which is "no" at first. Thread: the loop's. */
#ifndef MF_GATEWAY_READY_H
#define MF_GATEWAY_READY_H

#include "agent/turn.h"

struct mf_gw_ready {
  struct mf_agent *agent;
  bool skip_llm;
  bool is_ready;          /* the last answer */
  struct mf_fiber *probe; /* NULL: none runs */
  struct mf_fiber *asker; /* who started it and waits for it */
  uint64_t deadline_ns;   /* of the step that it is at */
  bool is_told;           /* the log has the reason of the present "no" */
  bool must_stop;
  void (*ended)(void *user); /* when it was stopped */
  void *user;
};
void mf_gw_ready_init(struct mf_gw_ready *y, struct mf_agent *agent, bool skip_llm);
/* MF_E_CANCELLED: the asker has left. */
MF_MUST_USE enum mf_code mf_gw_ready_ask(struct mf_gw_ready *y, struct mf_fiber *self, bool *ret);
/* Ends a probe that runs; `ended` once, from the loop or at once when there is none. */
void mf_gw_ready_stop(struct mf_gw_ready *y, void (*ended)(void *user), void *user);

#endif

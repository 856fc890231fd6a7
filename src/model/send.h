/* Sends a reply in the pieces, with the delays and with the fault that its round asks for. From a fiber. */
#ifndef MF_MODEL_SEND_H
#define MF_MODEL_SEND_H

#include "http/server.h"
#include "scenario.h"

MF_MUST_USE enum mf_code mf_model_send(struct mf_http_exchange *x, struct mf_fiber *self,
                                       const struct mf_model_round *r, struct mf_str body, bool is_events,
                                       struct mf_err *err);

#endif

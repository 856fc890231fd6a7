/* A round as a Responses object and as the stream of its events. Thread: any. */
#ifndef MF_MODEL_REPLY_H
#define MF_MODEL_REPLY_H

#include "ask.h"

enum { MF_MODEL_REPLY_MAX = 64 << 20 };

/* Appends the complete body of the reply: JSON, or events when the request streams. The fault NO_DONE leaves out
 * "[DONE]"; other faults are the sender's. *ret_is_events says which it is. */
MF_MUST_USE enum mf_code mf_model_reply_write(const struct mf_model_round *r, const struct mf_model_ask *a,
                                              struct mf_buf *out, bool *ret_is_events, struct mf_err *err);

#endif

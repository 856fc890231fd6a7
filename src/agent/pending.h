/* The calls that a client has to answer before it may go on. Private to this room. */
#ifndef MF_AGENT_PENDING_H
#define MF_AGENT_PENDING_H

#include "tools/tools.h"

/* past: the array of the history's items. input: the request's (a string has no items). False: *e. */
bool pending_check(const struct mf_json_val *past, const struct mf_json_val *input, struct mf_api_error *e);

#endif

/* item_reference: an item that is stored already, by its id. Private to this room. */
#ifndef MF_AGENT_REFERENCES_H
#define MF_AGENT_REFERENCES_H

#include "turn-internal.h"

/* Fills t->sent: the request's input, or, where it has references, a copy with the items in their places (owned by
 * t->resolved). False: *e. */
bool references_resolve(struct turn *t, struct mf_api_error *e);

#endif

/* The members of an upstream event that go on to the client. Private to this room. */
#ifndef MF_AGENT_MEMBERS_H
#define MF_AGENT_MEMBERS_H

#include "json/json.h"

/* Appends ",\"k\":v…": all members of an event but type, sequence_number and output_index, with `id` in place of what
 * item_id says and `item` in place of the item, where these are not empty. data is the event's text, which was parsed
 * to root. MF_E_LIMIT of out. */
MF_MUST_USE enum mf_code members_write(struct mf_buf *out, const struct mf_json_val *root, struct mf_str data,
                                       struct mf_str id, struct mf_str item);

#endif

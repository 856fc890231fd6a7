/* mf_stored: what was loaded, in memory of its own. One thread at a time. */
#ifndef MF_STORAGE_STORED_H
#define MF_STORAGE_STORED_H

#include "storage/storage.h"

struct mf_stored *stored_new(void);
/* The response to fill; its items are added by stored_add. */
struct mf_store_response *stored_response(struct mf_stored *h);
/* Copies; false without memory. */
MF_MUST_USE bool stored_copy(struct mf_stored *h, struct mf_str s, struct mf_str *ret);
void stored_add(struct mf_stored *h, const struct mf_store_item *item); /* its strings are stored_copy's */

#endif

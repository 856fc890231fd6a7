/* mf_stored: a response and items that were loaded, in memory of their own. One thread at a time. */
#ifndef MF_STORAGE_STORED_H
#define MF_STORAGE_STORED_H

#include "storage/storage.h"
#include "texts.h"

struct mf_stored {
  struct mf_store_response response; /* its strings, and those of its items, are in texts */
  struct mf_store_item *items;
  size_t item_cap;
  struct texts texts;
};

struct mf_stored *stored_new(void);
void stored_add(struct mf_stored *h, const struct mf_store_item *item);

#endif

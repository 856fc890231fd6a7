/* mf_stored: see stored.h. */
#include "stored.h"

#include <stdlib.h>

#include "base/banned.h"

struct mf_stored *stored_new(void)
{
  return mf_xcalloc(1, sizeof(struct mf_stored));
}

void mf_stored_free(struct mf_stored *h)
{
  if (!h)
    return;
  texts_done(&h->texts);
  free(h->items);
  free(h);
}

const struct mf_store_response *mf_stored_response(const struct mf_stored *h)
{
  return &h->response;
}

void stored_add(struct mf_stored *h, const struct mf_store_item *item)
{
  struct mf_store_response *r = &h->response;
  if (r->item_n == h->item_cap) {
    h->item_cap = MF_MAX(h->item_cap * 2, (size_t)16);
    h->items = mf_xrealloc(h->items, h->item_cap * sizeof(*h->items));
    r->items = h->items;
  }
  h->items[r->item_n++] = *item;
}

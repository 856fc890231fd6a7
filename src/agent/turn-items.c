/* What a turn will store: owned copies, in order, within a bound. Thread: any. */
#include "turn-internal.h"

#include "base/banned.h"

/* What an item weighs without its texts: a list of empty ones is not free. */
#define ITEM_WEIGHT ((size_t)64)

static struct mf_str copy(struct mf_str s)
{
  char *p = mf_xmalloc(s.len + 1);
  if (s.len > 0)
    memcpy(p, s.ptr, s.len);
  p[s.len] = 0;
  return (struct mf_str){ p, s.len };
}

enum mf_code turn_items_add(struct turn_items *l, size_t bytes_max, const struct mf_store_item *item,
                            struct mf_err *err)
{
  size_t weight = ITEM_WEIGHT + item->id.len + item->json.len;
  if (weight > bytes_max || l->bytes > bytes_max - weight)
    return mf_fail(err, MF_E_LIMIT, 0, "the items of a response exceeded %zu bytes", bytes_max);
  if (l->item_n == l->item_cap) {
    l->item_cap = l->item_cap ? l->item_cap * 2 : 8;
    l->items = mf_xrealloc(l->items, l->item_cap * sizeof(*l->items));
  }
  struct mf_store_item *own = &l->items[l->item_n++];
  *own = *item;
  own->id = copy(item->id);
  own->json = copy(item->json);
  l->bytes += weight;
  return MF_OK;
}

void turn_items_done(struct turn_items *l)
{
  for (size_t i = 0; i < l->item_n; i++) {
    free((char *)l->items[i].id.ptr);
    free((char *)l->items[i].json.ptr);
  }
  free(l->items);
  *l = (struct turn_items){ 0 };
}

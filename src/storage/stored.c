/* mf_stored: texts in chunks, so that a history of many small items costs few allocations. */
#include "stored.h"

#include <stdlib.h>

#include "base/banned.h"

enum { CHUNK_BYTES = 16 * 1024 };

struct chunk {
  struct chunk *next;
  size_t used, size;
  char bytes[];
};

struct mf_stored {
  struct mf_store_response response;
  struct mf_store_item *items;
  size_t item_cap;
  struct chunk *chunks; /* the first one has room */
};

struct mf_stored *stored_new(void)
{
  return mf_xcalloc(1, sizeof(struct mf_stored));
}

void mf_stored_free(struct mf_stored *h)
{
  if (!h)
    return;
  while (h->chunks) {
    struct chunk *c = h->chunks;
    h->chunks = c->next;
    free(c);
  }
  free(h->items);
  free(h);
}

struct mf_store_response *stored_response(struct mf_stored *h)
{
  return &h->response;
}

const struct mf_store_response *mf_stored_response(const struct mf_stored *h)
{
  return &h->response;
}

static struct chunk *add_chunk(struct mf_stored *h, size_t size)
{
  struct chunk *c = malloc(sizeof(*c) + size);
  if (!c)
    return NULL;
  *c = (struct chunk){ .size = size };
  /* One that is full already goes behind the one that has room. */
  struct chunk **at = h->chunks && size > CHUNK_BYTES ? &h->chunks->next : &h->chunks;
  c->next = *at;
  *at = c;
  return c;
}

bool stored_copy(struct mf_stored *h, struct mf_str s, struct mf_str *ret)
{
  *ret = (struct mf_str){ "", 0 };
  if (s.len == 0)
    return true;
  struct chunk *c = h->chunks;
  if (!c || c->size - c->used < s.len)
    c = add_chunk(h, MF_MAX(s.len, (size_t)CHUNK_BYTES));
  if (!c)
    return false;
  char *to = c->bytes + c->used;
  memcpy(to, s.ptr, s.len);
  c->used += s.len;
  *ret = (struct mf_str){ to, s.len };
  return true;
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

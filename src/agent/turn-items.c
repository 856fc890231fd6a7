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

void turn_write_reasoning(struct mf_str json, struct mf_json_writer *w)
{
  static const struct {
    const char *key, *otherwise;
  } rows[] = { { "summary", "[]" }, { "encrypted_content", "null" }, { "status", "null" } };
  static const struct mf_json_limits limits = { .bytes_max = SIZE_MAX, .depth_max = 1024 };
  mf_auto_json struct mf_json *doc = NULL;
  enum mf_code code = mf_json_parse(json, &limits, &doc, NULL);
  if (code) {
    w->code = code;
    return;
  }
  const struct mf_json_val *root = mf_json_root(doc);
  mf_jw_obj(w);
  struct mf_json_iter it = mf_json_iter(root);
  while (mf_json_next(&it)) {
    mf_jw_key_str(w, it.key);
    mf_jw_val(w, it.val);
  }
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++)
    if (!mf_json_get(root, rows[i].key)) {
      mf_jw_key(w, rows[i].key);
      mf_jw_raw(w, mf_str_of(rows[i].otherwise));
    }
  mf_jw_obj_end(w);
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

/* input_items: what the model was given for a response, as a list in pages. Thread: any. */
#ifndef MF_GATEWAY_ITEMS_H
#define MF_GATEWAY_ITEMS_H

#include "storage/storage.h"
#include "tools/tools.h"

enum { MF_GW_CURSOR_MAX = 256, MF_GW_PAGE_DEFAULT = 20, MF_GW_PAGE_MAX = 100 };

struct mf_gw_page {
  unsigned limit;
  bool is_ascending;
  char after[MF_GW_CURSOR_MAX + 1]; /* an item's id; empty: from the start */
};
/* False: *e. Parameters of other names are left alone. */
bool mf_gw_page_parse(struct mf_str query, struct mf_gw_page *ret, struct mf_api_error *e);

/* The list object. `history` has the items of the whole chain, the last own_n of them are the response's; shown are the
 * public ones of those before, then its own inputs. Each gets an id, and a message the form that OpenAI's types
 * promise. False: *e (an unknown cursor, a list that does not fit). */
bool mf_gw_items_write(const struct mf_store_response *history, size_t own_n, const struct mf_gw_page *page,
                       struct mf_buf *out, struct mf_api_error *e);

#endif

/* input_items: what the model was given for a response, as a list in pages. Thread: any. */
#include "items.h"

#include <stdio.h>

#include "base/num.h"
#include "query.h"
#include "base/banned.h"

enum { ITEM_DEPTH_MAX = 512 };

/* ---- the page ---- */

static bool fail_param(struct mf_api_error *e, const char *param, const char *code, const char *expected,
                       const char *value)
{
  return mf_api_fail(e, 400, "invalid_request_error", code, param, "Invalid '%s': expected %s, got '%s'.", param,
                     expected, value);
}

static bool parse_limit(enum mf_gw_param has, const char *text, struct mf_gw_page *ret, struct mf_api_error *e)
{
  uint64_t limit;
  if (has == MF_GW_PARAM_ABSENT)
    return true;
  if (has == MF_GW_PARAM_BAD || mf_parse_u64(mf_str_of(text), "limit", 1, MF_GW_PAGE_MAX, &limit, NULL))
    return fail_param(e, "limit", "invalid_value", "a whole number from 1 to 100",
                      has == MF_GW_PARAM_BAD ? "something else" : text);
  ret->limit = (unsigned)limit;
  return true;
}

static bool parse_order(enum mf_gw_param has, const char *text, struct mf_gw_page *ret, struct mf_api_error *e)
{
  ret->is_ascending = has == MF_GW_PARAM_OK && strcmp(text, "asc") == 0;
  if (has == MF_GW_PARAM_ABSENT || ret->is_ascending || (has == MF_GW_PARAM_OK && strcmp(text, "desc") == 0))
    return true;
  return fail_param(e, "order", "invalid_value", "'asc' or 'desc'", has == MF_GW_PARAM_BAD ? "something else" : text);
}

bool mf_gw_page_parse(struct mf_str query, struct mf_gw_page *ret, struct mf_api_error *e)
{
  char text[64] = "";
  *ret = (struct mf_gw_page){ .limit = MF_GW_PAGE_DEFAULT };
  if (!parse_limit(mf_gw_query_get(query, "limit", text, sizeof(text)), text, ret, e) ||
      !parse_order(mf_gw_query_get(query, "order", text, sizeof(text)), text, ret, e))
    return false;
  if (mf_gw_query_get(query, "after", ret->after, sizeof(ret->after)) == MF_GW_PARAM_BAD)
    return fail_param(e, "after", "invalid_value", "the id of an item", "something else");
  return true;
}

/* ---- one item ---- */

static bool str_is(const struct mf_json_val *v, const char *z)
{
  return mf_json_type_of(v) == MF_JSON_STR && mf_str_is(mf_json_str(v), z);
}

static void write_content(struct mf_json_writer *w, const struct mf_json_val *content, bool is_assistant)
{
  mf_jw_key(w, "content");
  if (mf_json_type_of(content) != MF_JSON_STR) {
    mf_jw_val(w, content);
    return;
  }
  mf_jw_arr(w);
  mf_jw_obj(w);
  mf_jw_kstrz(w, "type", is_assistant ? "output_text" : "input_text");
  mf_jw_kstr(w, "text", mf_json_str(content));
  if (is_assistant) {
    mf_jw_key(w, "annotations");
    mf_jw_raw(w, MF_STR("[]"));
  }
  mf_jw_obj_end(w);
  mf_jw_arr_end(w);
}

/* Clients send messages in short forms: without a type, with a text in place of parts. */
static void write_item(struct mf_json_writer *w, const struct mf_json_val *item, struct mf_str id)
{
  const struct mf_json_val *type = mf_json_get(item, "type");
  bool is_message = type ? str_is(type, "message") : mf_json_get(item, "role") != NULL;
  mf_jw_obj(w);
  mf_jw_kstr(w, "id", id);
  if (!type && is_message)
    mf_jw_kstrz(w, "type", "message");
  if (is_message && !mf_json_get(item, "status"))
    mf_jw_kstrz(w, "status", "completed");
  struct mf_json_iter it = mf_json_iter(item);
  while (mf_json_next(&it)) {
    if (mf_str_is(it.key, "id"))
      continue;
    if (is_message && mf_str_is(it.key, "content")) {
      write_content(w, it.val, str_is(mf_json_get(item, "role"), "assistant"));
      continue;
    }
    mf_jw_key_str(w, it.key);
    mf_jw_val(w, it.val);
  }
  mf_jw_obj_end(w);
}

/* ---- the list ---- */

/* Where an item stands in its chain does not change, so what came without an id is called by its place. */
static struct mf_str id_of(const struct mf_store_item *item, size_t place, char made[32])
{
  if (item->id.len > 0)
    return item->id;
  return (struct mf_str){ made, (size_t)snprintf(made, 32, "item_%zu", place) };
}

static bool is_shown(const struct mf_store_response *h, size_t i, size_t own_n)
{
  const struct mf_store_item *item = &h->items[i];
  return item->is_public && (i < h->item_n - own_n || item->is_input);
}

/* The list's items in its order: shown ones only. Returns their places; *ret_n how many. */
static size_t *arrange(const struct mf_store_response *h, size_t own_n, bool is_ascending, size_t *ret_n)
{
  size_t *places = mf_xmalloc((h->item_n + 1) * sizeof(*places));
  size_t n = 0;
  for (size_t i = 0; i < h->item_n; i++) {
    size_t place = is_ascending ? i : h->item_n - 1 - i;
    if (is_shown(h, place, own_n))
      places[n++] = place;
  }
  *ret_n = n;
  return places;
}

static bool find_start(const struct mf_store_response *h, const size_t *places, size_t n, const char *after,
                       size_t *ret, struct mf_api_error *e)
{
  char made[32];
  *ret = 0;
  if (!after[0])
    return true;
  for (size_t i = 0; i < n; i++)
    if (mf_str_is(id_of(&h->items[places[i]], places[i], made), after)) {
      *ret = i + 1;
      return true;
    }
  return mf_api_fail(e, 404, "invalid_request_error", NULL, "after", "No item with id '%s' found.", after);
}

static void write_stored(struct mf_json_writer *w, const struct mf_store_item *item, struct mf_str id)
{
  const struct mf_json_limits limits = { item->json.len, ITEM_DEPTH_MAX };
  mf_auto_json struct mf_json *doc = NULL;
  if (mf_json_parse(item->json, &limits, &doc, NULL) || mf_json_type_of(mf_json_root(doc)) != MF_JSON_OBJ)
    mf_jw_raw(w, item->json);
  else
    write_item(w, mf_json_root(doc), id);
}

static void write_edge(struct mf_json_writer *w, const char *key, const struct mf_store_response *h,
                       const size_t *place)
{
  char made[32];
  mf_jw_key(w, key);
  if (place)
    mf_jw_str(w, id_of(&h->items[*place], *place, made));
  else
    mf_jw_null(w);
}

bool mf_gw_items_write(const struct mf_store_response *history, size_t own_n, const struct mf_gw_page *page,
                       struct mf_buf *out, struct mf_api_error *e)
{
  size_t n, from;
  mf_auto_free size_t *places = arrange(history, MF_MIN(own_n, history->item_n), page->is_ascending, &n);
  if (!find_start(history, places, n, page->after, &from, e))
    return false;
  size_t to = MF_MIN(n, from + page->limit);
  struct mf_json_writer w;
  mf_jw_init(&w, out, false);
  mf_jw_obj(&w);
  mf_jw_kstrz(&w, "object", "list");
  mf_jw_key(&w, "data");
  mf_jw_arr(&w);
  for (size_t i = from; i < to; i++) {
    char made[32];
    const struct mf_store_item *item = &history->items[places[i]];
    write_stored(&w, item, id_of(item, places[i], made));
  }
  mf_jw_arr_end(&w);
  write_edge(&w, "first_id", history, from < to ? &places[from] : NULL);
  write_edge(&w, "last_id", history, from < to ? &places[to - 1] : NULL);
  mf_jw_kbool(&w, "has_more", to < n);
  mf_jw_obj_end(&w);
  return w.code ? mf_api_fail(e, 500, "server_error", "response_resource_limit_exceeded", NULL,
                              "the list of input items exceeded its limit; ask for fewer with 'limit'")
                : true;
}

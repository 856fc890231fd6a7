/* item_reference, as some clients send what was said before: each is replaced by the stored item. Thread: the loop's,
 * in the turn's fiber. Neighbours: storage; history.c, which sees no reference any more. */
#include "references.h"
#include "item.h"

#include "base/log.h"
#include "base/banned.h"

#define REQUEST_ERROR "invalid_request_error"
#define DEPTH_MAX 512u

static bool is_reference(const struct mf_json_val *item)
{
  const struct item_kind *k = item_kind_of(item);
  return k && item_class_of(k) == ITEM_REFERENCE;
}

static size_t count(const struct mf_json_val *input)
{
  size_t n = 0;
  struct mf_json_iter it = mf_json_iter(mf_json_type_of(input) == MF_JSON_ARR ? input : NULL);
  while (mf_json_next(&it))
    n += is_reference(it.val);
  return n;
}

static bool fail_size(struct mf_api_error *e)
{
  return mf_api_fail(e, 413, REQUEST_ERROR, "body_too_large", NULL,
                     "the items that are referred to are too many or too large");
}

static bool fail_server(const struct turn *t, const struct mf_err *err, struct mf_api_error *e)
{
  mf_log_request(MF_LOG_ERROR, t->id, "references: %s", err->msg);
  return mf_api_fail(e, 500, "server_error", "server_error", NULL, "Internal server error");
}

static bool load(const struct turn *t, size_t n, struct mf_stored **ret, struct mf_api_error *e)
{
  if (n > MF_STORE_REFERENCES_MAX)
    return fail_size(e);
  mf_auto_free struct mf_str *ids = mf_xcalloc(n, sizeof(*ids));
  size_t i = 0;
  struct mf_json_iter it = mf_json_iter(t->r->input);
  while (mf_json_next(&it))
    if (is_reference(it.val))
      ids[i++] = item_text(it.val, "id");
  struct mf_err err = { 0 };
  enum mf_code code = mf_storage_get_items(t->agent->storage, t->self, ids, n, ret, &err);
  if (code == MF_E_NOT_FOUND)
    return mf_api_fail(e, 404, "not_found", "not_found", NULL, "storage error: %s", err.msg);
  if (code)
    return code == MF_E_LIMIT ? fail_size(e) : fail_server(t, &err, e);
  return true;
}

/* The gateway's own interpreter items are for people; their place stays empty, as in a history. */
static enum mf_code write_all(const struct turn *t, const struct mf_store_response *found, struct mf_buf *out)
{
  struct mf_json_writer w;
  mf_jw_init(&w, out, false);
  mf_jw_arr(&w);
  size_t i = 0;
  struct mf_json_iter it = mf_json_iter(t->r->input);
  while (!w.code && mf_json_next(&it)) {
    if (!is_reference(it.val)) {
      mf_jw_val(&w, it.val);
      continue;
    }
    if (!found->items[i].is_gateway_code)
      mf_jw_raw(&w, found->items[i].json);
    i++;
  }
  mf_jw_arr_end(&w);
  return w.code;
}

bool references_resolve(struct turn *t, struct mf_api_error *e)
{
  t->sent = t->r->input;
  size_t n = count(t->r->input);
  if (n == 0)
    return true;
  struct mf_stored *stored = NULL;
  if (!load(t, n, &stored, e))
    return false;
  mf_auto_buf struct mf_buf text;
  mf_buf_init(&text, 2 * ((size_t)MF_STORE_BYTES_MAX + t->r->bytes));
  enum mf_code code = write_all(t, mf_stored_response(stored), &text);
  mf_stored_free(stored);
  if (code)
    return fail_size(e);
  struct mf_err err = { 0 };
  const struct mf_json_limits limits = { .bytes_max = text.max, .depth_max = DEPTH_MAX };
  if (mf_json_parse(mf_buf_str(&text), &limits, &t->resolved, &err))
    return fail_server(t, &err, e);
  t->sent = mf_json_root(t->resolved);
  return true;
}

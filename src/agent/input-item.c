/* A stored input item as GET …/input_items shows it. Thread: any. Neighbours: item.c. */
#include "agent/turn.h"
#include "item.h"

#include "base/banned.h"

static void write_content(const struct mf_json_val *item, const struct mf_json_val *content, struct mf_json_writer *w)
{
  mf_jw_key(w, "content");
  if (mf_json_type_of(content) != MF_JSON_STR) {
    mf_jw_val(w, content);
    return;
  }
  bool is_output = mf_str_is(item_text(item, "role"), "assistant");
  mf_jw_arr(w);
  mf_jw_obj(w);
  mf_jw_kstrz(w, "type", is_output ? "output_text" : "input_text");
  mf_jw_kstr(w, "text", mf_json_str(content));
  if (is_output) {
    mf_jw_key(w, "annotations");
    mf_jw_arr(w);
    mf_jw_arr_end(w);
  }
  mf_jw_obj_end(w);
  mf_jw_arr_end(w);
}

static void write_item(const struct mf_json_val *item, struct mf_str id, struct mf_json_writer *w)
{
  const struct item_kind *k = item_kind_of(item);
  bool is_message = k && item_class_of(k) == ITEM_MESSAGE, has_status = false;
  mf_jw_obj(w);
  mf_jw_kstr(w, "type", item_text(item, "type"));
  mf_jw_kstr(w, "id", id);
  struct mf_json_iter it = mf_json_iter(item);
  while (mf_json_next(&it)) {
    bool is_status = mf_str_is(it.key, "status");
    if (mf_str_is(it.key, "type") || mf_str_is(it.key, "id") || (is_status && mf_json_type_of(it.val) == MF_JSON_NULL))
      continue;
    has_status = has_status || is_status;
    if (is_message && mf_str_is(it.key, "content")) {
      write_content(item, it.val, w);
    } else {
      mf_jw_key_str(w, it.key);
      mf_jw_val(w, it.val);
    }
  }
  if (!has_status)
    mf_jw_kstrz(w, "status", "completed");
  mf_jw_obj_end(w);
}

enum mf_code mf_turn_write_input_item(const struct mf_store_item *item, struct mf_json_writer *w, struct mf_err *err)
{
  mf_auto_json struct mf_json *doc = NULL;
  const struct mf_json_limits limits = { .bytes_max = item->json.len, .depth_max = 512 };
  enum mf_code code = mf_json_parse(item->json, &limits, &doc, err);
  if (code)
    return mf_wrap(err, code, "a stored item");
  write_item(mf_json_root(doc), item->id, w);
  return w->code ? mf_fail(err, w->code, 0, "the list of items is too large") : MF_OK;
}

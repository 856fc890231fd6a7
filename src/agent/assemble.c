/* Items as JSON: with the id that they have here, and, where upstream never finished one, put together from its parts.
 */
#include "acc-internal.h"

#include "base/banned.h"

/* Keys are C strings for the writer; one with a NUL in it, which no real item has, is left out. */
static bool write_key(struct mf_json_writer *w, struct mf_str key)
{
  if (memchr(key.ptr, 0, key.len))
    return false;
  mf_jw_key(w, key.ptr);
  return true;
}

void acc_write_item(struct mf_json_writer *w, const struct mf_json_val *item, struct mf_str id)
{
  if (acc_has_str(item, "id") && mf_str_eq(acc_get_str(item, "id"), id)) {
    mf_jw_val(w, item);
    return;
  }
  mf_jw_obj(w);
  if (!mf_json_get(item, "id"))
    mf_jw_kstr(w, "id", id);
  struct mf_json_iter it = mf_json_iter(item);
  while (mf_json_next(&it)) {
    if (mf_str_is(it.key, "id"))
      mf_jw_kstr(w, "id", id);
    else if (write_key(w, it.key))
      mf_jw_val(w, it.val);
  }
  mf_jw_obj_end(w);
}

static bool has_group(const struct acc_item *it, enum part_group group)
{
  for (size_t i = 0; i < it->part_n; i++)
    if (it->parts[i].group == group)
      return true;
  return false;
}

static void write_part(struct mf_json_writer *w, const struct acc_part *p)
{
  if (p->is_done || !p->type || !p->field) {
    if (p->json.len > 0)
      mf_jw_raw(w, mf_buf_str(&p->json));
    return;
  }
  mf_jw_obj(w);
  mf_jw_kstrz(w, "type", p->type);
  mf_jw_kstr(w, p->field, mf_buf_str(&p->text));
  if (strcmp(p->type, "output_text") == 0) {
    mf_jw_key(w, "annotations");
    mf_jw_arr(w);
    mf_jw_arr_end(w);
  }
  mf_jw_obj_end(w);
}

static void write_list(struct mf_json_writer *w, const struct acc_item *it, enum part_group group, const char *key)
{
  mf_jw_key(w, key);
  mf_jw_arr(w);
  for (size_t i = 0; i < it->part_n; i++) {
    if (it->parts[i].group != group)
      continue;
    if (group == PART_COMMAND && it->parts[i].field)
      mf_jw_str(w, mf_buf_str(&it->parts[i].text));
    else if (group != PART_COMMAND)
      write_part(w, &it->parts[i]);
  }
  mf_jw_arr_end(w);
}

/* A shell call's commands are one level further down, beside its timeout. */
static void write_action(struct mf_json_writer *w, const struct acc_item *it, const struct mf_json_val *action)
{
  mf_jw_key(w, "action");
  mf_jw_obj(w);
  struct mf_json_iter m = mf_json_iter(action);
  while (mf_json_type_of(action) == MF_JSON_OBJ && mf_json_next(&m))
    if (!mf_str_is(m.key, "commands") && write_key(w, m.key))
      mf_jw_val(w, m.val);
  write_list(w, it, PART_COMMAND, "commands");
  mf_jw_obj_end(w);
}

bool acc_item_assemble(struct acc_item *it, const char *status)
{
  static const struct mf_json_limits limits = { .bytes_max = SIZE_MAX, .depth_max = 1024 };
  mf_auto_json struct mf_json *doc = NULL;
  if (mf_json_parse(mf_buf_str(&it->json), &limits, &doc, NULL))
    return false;
  const struct mf_json_val *opening = mf_json_root(doc);
  const struct acc_part *field = acc_part_find(it, PART_FIELD, 0);
  bool has_field = field && field->field;

  mf_buf_truncate(&it->assembled, 0);
  struct mf_json_writer w;
  mf_jw_init(&w, &it->assembled, false);
  mf_jw_obj(&w);
  struct mf_json_iter m = mf_json_iter(opening);
  while (mf_json_next(&m)) {
    if ((has_group(it, PART_CONTENT) && mf_str_is(m.key, "content")) ||
        (has_group(it, PART_SUMMARY) && mf_str_is(m.key, "summary")) ||
        (has_group(it, PART_COMMAND) && mf_str_is(m.key, "action")) || (has_field && mf_str_is(m.key, field->field)))
      continue;
    if (!write_key(&w, m.key))
      continue;
    if (mf_str_is(m.key, "status"))
      mf_jw_strz(&w, status);
    else
      mf_jw_val(&w, m.val);
  }
  if (has_group(it, PART_CONTENT))
    write_list(&w, it, PART_CONTENT, "content");
  if (has_group(it, PART_SUMMARY))
    write_list(&w, it, PART_SUMMARY, "summary");
  if (has_group(it, PART_COMMAND))
    write_action(&w, it, mf_json_get(opening, "action"));
  if (has_field)
    mf_jw_kstr(&w, field->field, mf_buf_str(&field->text));
  mf_jw_obj_end(&w);
  return w.code == MF_OK;
}

/* Parts: the texts of an item while it is open, from part, delta and done events. What contradicts the item or comes
 * twice is ignored (lenient) or refused (strict); the text of a done event stands above its deltas. */
#include "acc-internal.h"

#include "base/banned.h"

struct acc_part *acc_part_find(const struct acc_item *it, enum part_group group, uint32_t index)
{
  /* Most events speak of the newest part. */
  for (size_t i = it->part_n; i-- > 0;)
    if (it->parts[i].group == group && it->parts[i].index == index)
      return &it->parts[i];
  return NULL;
}

static enum mf_code part_new(struct mf_acc *a, struct acc_item *it, enum part_group group, uint32_t index,
                             struct acc_part **ret, struct mf_err *err)
{
  if (it->part_n == ACC_PARTS_MAX)
    return mf_fail(err, MF_E_LIMIT, 0, "an upstream item has more than %d parts", ACC_PARTS_MAX);
  enum mf_code code = acc_charge(a, sizeof(struct acc_part), err);
  if (code)
    return code;
  if (it->part_n == it->part_cap) {
    it->part_cap = it->part_cap ? it->part_cap * 2 : 1;
    it->parts = mf_xrealloc(it->parts, it->part_cap * sizeof(*it->parts));
  }
  size_t at = it->part_n;
  while (at > 0 &&
         (it->parts[at - 1].group > group || (it->parts[at - 1].group == group && it->parts[at - 1].index > index)))
    at--;
  memmove(it->parts + at + 1, it->parts + at, (it->part_n - at) * sizeof(*it->parts));
  it->part_n++;
  struct acc_part *p = &it->parts[at];
  *p = (struct acc_part){ .group = group, .index = index };
  mf_buf_init(&p->text, a->max);
  mf_buf_init(&p->json, a->max);
  mf_buf_init(&p->logprobs, a->max);
  *ret = p;
  return MF_OK;
}

void acc_parts_drop(struct mf_acc *a, struct acc_item *it)
{
  for (size_t i = 0; i < it->part_n; i++) {
    acc_drop(a, &it->parts[i].text);
    acc_drop(a, &it->parts[i].json);
    acc_drop(a, &it->parts[i].logprobs);
  }
  a->used -= it->part_n * sizeof(struct acc_part);
  free(it->parts);
  it->parts = NULL;
  it->part_n = it->part_cap = 0;
}

/* ---- equality of logprobs ---- */

enum { LOGPROBS_DEPTH = 8 };

static bool is_nothing(const struct mf_json_val *v)
{
  enum mf_json_type type = mf_json_type_of(v);
  return type == MF_JSON_NULL || (type == MF_JSON_ARR && mf_json_len(v) == 0);
}

/* Members are looked for in the same order first, so that equal values, which is what is to be expected, take linear
 * time. Callers have small stacks; what differs only deeper down than any logprobs are is not looked at. */
static bool is_equal(const struct mf_json_val *x, const struct mf_json_val *y, unsigned depth_left)
{
  enum mf_json_type type = mf_json_type_of(x);
  if (type != mf_json_type_of(y))
    return false;
  switch (type) {
  case MF_JSON_NULL:
    return true;
  case MF_JSON_BOOL:
    return mf_json_bool(x) == mf_json_bool(y);
  case MF_JSON_STR:
    return mf_str_eq(mf_json_str(x), mf_json_str(y));
  case MF_JSON_NUM: {
    double f = 0, g = 0;
    return mf_str_eq(mf_json_num_text(x), mf_json_num_text(y)) ||
           (mf_json_f64(x, &f) && mf_json_f64(y, &g) && !(f < g) && !(f > g));
  }
  case MF_JSON_ARR:
  case MF_JSON_OBJ:
    break;
  }
  if (depth_left == 0)
    return true;
  if (mf_json_len(x) != mf_json_len(y))
    return false;
  struct mf_json_iter i = mf_json_iter(x), k = mf_json_iter(y);
  while (mf_json_next(&i) && mf_json_next(&k)) {
    const struct mf_json_val *other = k.val;
    if (type == MF_JSON_OBJ && !mf_str_eq(i.key, k.key))
      other = memchr(i.key.ptr, 0, i.key.len) ? NULL : mf_json_get(y, i.key.ptr);
    if (!other || !is_equal(i.val, other, depth_left - 1))
      return false;
  }
  return true;
}

/* What is missing on one side contradicts nothing. */
static bool logprobs_agree(const struct acc_part *p, const struct mf_json_val *logprobs)
{
  if (p->logprobs.len == 0 || is_nothing(logprobs))
    return true;
  static const struct mf_json_limits limits = { .bytes_max = SIZE_MAX, .depth_max = 1024 };
  mf_auto_json struct mf_json *doc = NULL;
  return mf_json_parse(mf_buf_str(&p->logprobs), &limits, &doc, NULL) != MF_OK ||
         is_equal(mf_json_root(doc), logprobs, LOGPROBS_DEPTH);
}

static enum mf_code keep_logprobs(struct mf_acc *a, struct acc_part *p, const struct mf_json_val *of,
                                  struct mf_err *err)
{
  const struct mf_json_val *logprobs = mf_json_get(of, "logprobs");
  return is_nothing(logprobs) ? MF_OK : acc_set_val(a, &p->logprobs, logprobs, err);
}

/* ---- events ---- */

/* The text of a part object, whatever its type calls it. */
static bool part_text(const struct mf_json_val *part, const char **ret_field, struct mf_str *ret)
{
  static const char *const fields[] = { "text", "refusal" };
  for (size_t i = 0; i < MF_ARRAY_N(fields); i++)
    if (acc_has_str(part, fields[i])) {
      *ret_field = fields[i];
      *ret = acc_get_str(part, fields[i]);
      return true;
    }
  return false;
}

/* The types that can be put together again from a text; another part is kept as it came. */
static const char *part_type(const struct mf_json_val *part)
{
  static const char *const types[] = { "output_text", "refusal", "reasoning_text", "summary_text" };
  for (size_t i = 0; i < MF_ARRAY_N(types); i++)
    if (mf_str_is(acc_get_str(part, "type"), types[i]))
      return types[i];
  return NULL;
}

static enum mf_code part_added(struct mf_acc *a, struct acc_part *p, bool is_new, const struct mf_json_val *root,
                               struct mf_acc_event *e, struct mf_err *err)
{
  const struct mf_json_val *part = mf_json_get(root, "part");
  if (mf_json_type_of(part) != MF_JSON_OBJ)
    return acc_complain(a, e, err, "%.*s: part is not an object", MF_STR_ARG(e->type));
  if (!is_new)
    return acc_complain(a, e, err, "%.*s: the part is open already", MF_STR_ARG(e->type));
  struct mf_str text = { 0 };
  p->type = part_type(part);
  enum mf_code code = acc_set_val(a, &p->json, part, err);
  if (!code && part_text(part, &p->field, &text))
    code = acc_set(a, &p->text, text, err);
  return code;
}

static enum mf_code part_done(struct mf_acc *a, struct acc_part *p, const struct mf_json_val *root,
                              struct mf_acc_event *e, struct mf_err *err)
{
  const struct mf_json_val *part = mf_json_get(root, "part");
  if (mf_json_type_of(part) != MF_JSON_OBJ)
    return acc_complain(a, e, err, "%.*s: part is not an object", MF_STR_ARG(e->type));
  if (p->is_done)
    return acc_complain(a, e, err, "%.*s: the part is done already", MF_STR_ARG(e->type));
  const char *field = NULL;
  struct mf_str text = { 0 };
  bool has_text = part_text(part, &field, &text);
  bool must_agree = p->is_text_done || (a->strict && p->text.len > 0);
  if (has_text && must_agree && !mf_str_eq(text, mf_buf_str(&p->text)))
    return acc_complain(a, e, err, "%.*s: the part is not what its text was", MF_STR_ARG(e->type));
  p->is_done = true;
  p->type = part_type(part);
  enum mf_code code = acc_set_val(a, &p->json, part, err);
  if (!code && has_text) {
    p->field = field;
    code = acc_set(a, &p->text, text, err);
  }
  return code ? code : keep_logprobs(a, p, part, err);
}

static enum mf_code text_delta(struct mf_acc *a, struct acc_part *p, const struct event_row *row,
                               const struct mf_json_val *root, struct mf_acc_event *e, struct mf_err *err)
{
  if (!acc_has_str(root, "delta"))
    return acc_complain(a, e, err, "%.*s: delta is not a string", MF_STR_ARG(e->type));
  if (p->is_text_done || p->is_done)
    return acc_complain(a, e, err, "%.*s: the text is done already", MF_STR_ARG(e->type));
  p->type = row->part_type;
  p->field = row->field;
  return acc_add(a, &p->text, acc_get_str(root, "delta"), err);
}

static enum mf_code text_done(struct mf_acc *a, struct acc_part *p, const struct event_row *row,
                              const struct mf_json_val *root, struct mf_acc_event *e, struct mf_err *err)
{
  struct mf_str text = acc_get_str(root, row->field);
  if (!acc_has_str(root, row->field))
    return acc_complain(a, e, err, "%.*s: %s is not a string", MF_STR_ARG(e->type), row->field);
  if (p->is_text_done || p->is_done)
    return acc_complain(a, e, err, "%.*s: the text is done already", MF_STR_ARG(e->type));
  if (a->strict && p->text.len > 0 && !mf_str_eq(text, mf_buf_str(&p->text)))
    return acc_complain(a, e, err, "%.*s: the text is not what its deltas were", MF_STR_ARG(e->type));
  p->is_text_done = true;
  p->type = row->part_type;
  p->field = row->field;
  enum mf_code code = acc_set(a, &p->text, text, err);
  return code ? code : keep_logprobs(a, p, root, err);
}

enum mf_code acc_part_event(struct mf_acc *a, struct acc_item *it, const struct event_row *row,
                            const struct mf_json_val *root, struct mf_acc_event *e, struct mf_err *err)
{
  if (!event_fits_item(row, mf_buf_str(&it->type)))
    return acc_complain(a, e, err, "%.*s: the item is a %.*s", MF_STR_ARG(e->type), MF_STR_ARG(it->pub.type));
  uint32_t index = 0;
  if (row->index_key && !acc_get_index(root, row->index_key, &index) &&
      (a->strict || mf_json_get(root, row->index_key)))
    return acc_complain(a, e, err, "%.*s: %s is not an index", MF_STR_ARG(e->type), row->index_key);

  struct acc_part *p = acc_part_find(it, row->group, index);
  bool is_new = !p;
  if (is_new) {
    enum mf_code code = part_new(a, it, row->group, index, &p, err);
    if (code)
      return code;
  }
  switch (row->class) {
  case EVENT_PART_ADDED:
    return part_added(a, p, is_new, root, e, err);
  case EVENT_PART_DONE:
    return part_done(a, p, root, e, err);
  case EVENT_DELTA:
    return text_delta(a, p, row, root, e, err);
  case EVENT_TEXT_ADDED:
    if (!is_new)
      return acc_complain(a, e, err, "%.*s: the text is open already", MF_STR_ARG(e->type));
    p->field = row->field;
    return acc_set(a, &p->text, acc_get_str(root, row->field), err);
  case EVENT_TEXT_DONE:
    return text_done(a, p, row, root, e, err);
  case EVENT_UNKNOWN:
  case EVENT_KEEPALIVE:
  case EVENT_LIFECYCLE:
  case EVENT_TERMINAL:
  case EVENT_ERROR:
  case EVENT_ITEM_ADDED:
  case EVENT_ITEM_DONE:
  case EVENT_PROGRESS:
    break;
  }
  return mf_fail(err, MF_E_INTERNAL, 0, "%s is no event of a part", row->name);
}

/* ---- completion ---- */

static enum mf_code check_list(const struct mf_acc *a, const struct acc_item *it, enum part_group group,
                               const struct mf_json_val *list, const char *what, struct mf_err *err)
{
  for (size_t i = 0; i < it->part_n; i++) {
    const struct acc_part *p = &it->parts[i];
    if (p->group != group || !(p->is_text_done || p->is_done) || !p->field)
      continue;
    const struct mf_json_val *part = mf_json_at(list, p->index);
    if (!part && !a->strict)
      continue;
    if (!part || (acc_has_str(part, p->field) && !mf_str_eq(acc_get_str(part, p->field), mf_buf_str(&p->text))) ||
        !logprobs_agree(p, mf_json_get(part, "logprobs")))
      return mf_fail(err, MF_E_INPUT, 0, "%s completion contradicts a completed content part", what);
  }
  return MF_OK;
}

enum mf_code acc_parts_check(const struct mf_acc *a, const struct acc_item *it, const struct mf_json_val *item,
                             struct mf_err *err)
{
  if (mf_str_is(mf_buf_str(&it->type), "message"))
    return check_list(a, it, PART_CONTENT, mf_json_get(item, "content"), "message", err);
  if (mf_str_is(mf_buf_str(&it->type), "reasoning")) {
    /* Servers leave the text of reasoning out of the done item, or shorten it; only strict minds. */
    if (!a->strict)
      return MF_OK;
    enum mf_code code = check_list(a, it, PART_CONTENT, mf_json_get(item, "content"), "reasoning", err);
    return code ? code : check_list(a, it, PART_SUMMARY, mf_json_get(item, "summary"), "reasoning", err);
  }
  const struct acc_part *p = acc_part_find(it, PART_FIELD, 0);
  if (p && p->is_text_done && acc_has_str(item, p->field) &&
      !mf_str_eq(acc_get_str(item, p->field), mf_buf_str(&p->text)))
    return mf_fail(err, MF_E_INPUT, 0, "%.*s completion contradicts its completed %s", MF_STR_ARG(it->pub.type),
                   p->field);
  return MF_OK;
}

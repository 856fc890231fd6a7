/* Items: which one an event speaks of, opening, completion, and what only the terminal event tells of. */
#include "acc-internal.h"

#include "base/ids.h"
#include "base/banned.h"

/* ---- ids ---- */

static const char *prefix_of(struct mf_str type)
{
  static const struct {
    const char *type, *prefix;
  } rows[] = {
    { "message", "msg_" },
    { "reasoning", "rs_" },
    { "function_call", "fc_" },
    { "function_call_output", "fco_" },
    { "code_interpreter_call", "ci_" },
    { "web_search_call", "ws_" },
    { "file_search_call", "fs_" },
    { "mcp_call", "mcp_" },
    { "mcp_tool_call", "mcp_" },
    { "mcp_list_tools", "mcpl_" },
    { "mcp_approval_request", "mcpr_" },
    { "custom_tool_call", "ctc_" },
    { "shell_call", "sh_" },
    { "local_shell_call", "lsh_" },
    { "image_generation_call", "ig_" },
    { "computer_call", "cu_" },
    { "compaction", "cmp_" },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++)
    if (mf_str_is(type, rows[i].type))
      return rows[i].prefix;
  return "item_";
}

static bool is_id_taken(const struct mf_acc *a, struct mf_str id)
{
  for (size_t i = 0; i < a->item_n; i++)
    if (mf_str_eq(mf_buf_str(&a->items[i]->id), id))
      return true;
  return false;
}

/* ---- life ---- */

static struct acc_item *item_new(const struct mf_acc *a)
{
  struct acc_item *it = mf_xcalloc(1, sizeof(*it));
  struct mf_buf *const bufs[] = { &it->type,    &it->id,   &it->upstream_id, &it->json,
                                  &it->call_id, &it->name, &it->arguments };
  for (size_t i = 0; i < MF_ARRAY_N(bufs); i++)
    mf_buf_init(bufs[i], a->max);
  mf_buf_init(&it->assembled, SIZE_MAX);
  return it;
}

void acc_item_free(struct acc_item *it)
{
  struct mf_buf *const bufs[] = { &it->type,    &it->id,   &it->upstream_id, &it->json,
                                  &it->call_id, &it->name, &it->arguments,   &it->assembled };
  for (size_t i = 0; i < MF_ARRAY_N(bufs); i++)
    mf_buf_done(bufs[i]);
  for (size_t i = 0; i < it->part_n; i++) {
    mf_buf_done(&it->parts[i].text);
    mf_buf_done(&it->parts[i].json);
    mf_buf_done(&it->parts[i].logprobs);
  }
  free(it->parts);
  free(it);
}

void acc_item_refresh(struct acc_item *it)
{
  it->pub.type = mf_buf_str(&it->type);
  it->pub.id = mf_buf_str(&it->id);
  it->pub.json = mf_buf_str(&it->json);
  it->pub.call_id = mf_buf_str(&it->call_id);
  it->pub.name = mf_buf_str(&it->name);
  const struct acc_part *p = acc_part_find(it, PART_FIELD, 0);
  bool is_live = p && p->field && strcmp(p->field, "arguments") == 0;
  it->pub.arguments = mf_buf_str(is_live ? &p->text : &it->arguments);
}

void acc_event_names(struct mf_acc_event *e, const struct acc_item *it)
{
  e->item = &it->pub;
  e->has_index = true;
  e->upstream_index = it->pub.upstream_index;
}

/* ---- looking ---- */

struct acc_item *acc_find_open(struct mf_acc *a, bool has_index, uint32_t index, struct mf_str id)
{
  struct acc_item *found = NULL;
  size_t open_n = 0;
  for (size_t i = a->item_n; i-- > 0;) {
    struct acc_item *it = a->items[i];
    if (it->pub.is_done)
      continue;
    open_n++;
    struct mf_str own = mf_buf_str(&it->upstream_id);
    bool is_same_id = id.len > 0 && mf_str_eq(own, id);
    if (has_index && it->has_raw_index && it->raw_index == index) {
      /* Two names that disagree: one of them is wrong, and the text would go to a stranger. */
      return id.len == 0 || own.len == 0 || is_same_id ? it : NULL;
    }
    if (is_same_id || (!has_index && id.len == 0))
      found = it;
  }
  /* With no name at all it can only be the one that is open. */
  return id.len == 0 && open_n != 1 ? NULL : found;
}

/* The same item, done before. One of another type is another item, which has to make do with a used index or id. */
static const struct acc_item *find_done(const struct mf_acc *a, bool has_index, uint32_t index, struct mf_str id,
                                        struct mf_str type)
{
  for (size_t i = a->item_n; i-- > 0;) {
    const struct acc_item *it = a->items[i];
    bool is_same_id = (has_index && id.len == 0) || mf_str_eq(mf_buf_str(&it->upstream_id), id);
    bool is_same_index = has_index ? it->has_raw_index && it->raw_index == index : id.len > 0;
    if (it->pub.is_done && is_same_id && is_same_index && mf_str_eq(mf_buf_str(&it->type), type))
      return it;
  }
  return NULL;
}

/* The wanted index when it is free, else the one behind all others, else the first gap. */
static bool free_index(const struct mf_acc *a, bool has_wanted, uint32_t wanted, uint32_t *ret)
{
  bool is_taken = !has_wanted;
  for (size_t i = 0; i < a->item_n && !is_taken; i++)
    is_taken = a->items[i]->pub.upstream_index == wanted;
  if (!is_taken) {
    *ret = wanted;
    return true;
  }
  uint32_t last = a->item_n > 0 ? a->items[a->item_n - 1]->pub.upstream_index : 0;
  if (a->item_n == 0 || last < UINT32_MAX) {
    *ret = a->item_n == 0 ? 0 : last + 1;
    return true;
  }
  for (uint32_t i = 0; i < a->item_n; i++)
    if (a->items[i]->pub.upstream_index != i) {
      *ret = i;
      return true;
    }
  return false;
}

/* ---- opening ---- */

static enum mf_code set_members(struct mf_acc *a, struct acc_item *it, const struct mf_json_val *item,
                                struct mf_err *err)
{
  struct {
    struct mf_buf *buf;
    const char *key;
  } const rows[] = { { &it->call_id, "call_id" }, { &it->name, "name" }, { &it->arguments, "arguments" } };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    if (!acc_has_str(item, rows[i].key))
      continue;
    enum mf_code code = acc_set(a, rows[i].buf, acc_get_str(item, rows[i].key), err);
    if (code)
      return code;
  }
  /* Written aside first: the id may be a generated one, of another length than upstream's. */
  mf_auto_buf struct mf_buf json;
  mf_buf_init(&json, a->max);
  struct mf_json_writer w;
  mf_jw_init(&w, &json, false);
  acc_write_item(&w, item, mf_buf_str(&it->id));
  if (w.code)
    return mf_fail(err, w.code, 0, "an item is larger than %zu bytes", a->max);
  return acc_set(a, &it->json, mf_buf_str(&json), err);
}

static void insert(struct mf_acc *a, struct acc_item *it)
{
  if (a->item_n == a->item_cap) {
    a->item_cap = a->item_cap ? a->item_cap * 2 : 4;
    a->items = mf_xrealloc(a->items, a->item_cap * sizeof(struct acc_item *));
  }
  size_t at = a->item_n;
  while (at > 0 && a->items[at - 1]->pub.upstream_index > it->pub.upstream_index)
    at--;
  memmove(a->items + at + 1, a->items + at, (a->item_n - at) * sizeof(struct acc_item *));
  a->items[at] = it;
  a->item_n++;
}

/* One that does not fit never becomes an item. */
static enum mf_code item_open(struct mf_acc *a, bool has_raw, uint32_t raw, const struct mf_json_val *item,
                              struct acc_item **ret, struct mf_err *err)
{
  if (a->item_n == ACC_ITEMS_MAX)
    return mf_fail(err, MF_E_LIMIT, 0, "the upstream response has more than %d items", ACC_ITEMS_MAX);
  enum mf_code code = acc_charge(a, sizeof(struct acc_item), err);
  if (code)
    return code;
  uint32_t index = 0;
  if (!free_index(a, has_raw, raw, &index))
    return mf_fail(err, MF_E_INTERNAL, 0, "no free output index");

  struct mf_str type = acc_get_str(item, "type"), id = acc_get_str(item, "id");
  char generated[MF_ID_N];
  struct mf_str used_id = id;
  if (id.len == 0 || is_id_taken(a, id)) {
    mf_id_new(prefix_of(type), generated);
    used_id = mf_str_of(generated);
  }

  struct acc_item *it = item_new(a);
  it->pub.upstream_index = index;
  it->has_raw_index = has_raw;
  it->raw_index = raw;
  code = acc_set(a, &it->type, type, err);
  if (!code)
    code = acc_set(a, &it->upstream_id, id, err);
  if (!code)
    code = acc_set(a, &it->id, used_id, err);
  if (!code)
    code = set_members(a, it, item, err);
  if (code) {
    acc_item_free(it);
    return code;
  }
  acc_item_refresh(it);
  insert(a, it);
  *ret = it;
  return MF_OK;
}

/* ---- completion ---- */

static enum mf_code item_complete(struct mf_acc *a, struct acc_item *it, const struct mf_json_val *item,
                                  struct mf_err *err)
{
  struct mf_str type = acc_get_str(item, "type"), id = acc_get_str(item, "id"), own = mf_buf_str(&it->upstream_id);
  if (!mf_str_eq(type, mf_buf_str(&it->type)))
    return mf_fail(err, MF_E_INPUT, 0, "item completion contradicts its opening: %.*s became %.*s",
                   MF_STR_ARG(it->pub.type), MF_STR_ARG(type));
  /* Some servers make a new id for the done item, or leave it out; the one that the client knows stays. */
  if (a->strict && !mf_str_eq(id, own))
    return mf_fail(err, MF_E_INPUT, 0, "item completion contradicts its opening: another id");
  struct mf_str call_id = acc_get_str(item, "call_id");
  if (call_id.len > 0 && it->call_id.len > 0 && !mf_str_eq(call_id, mf_buf_str(&it->call_id)))
    return mf_fail(err, MF_E_INPUT, 0, "item completion contradicts its opening: another call_id");
  struct mf_str name = acc_get_str(item, "name");
  if (name.len > 0 && it->name.len > 0 && !mf_str_eq(name, mf_buf_str(&it->name)))
    return mf_fail(err, MF_E_INPUT, 0, "item completion contradicts its opening: another name");
  enum mf_code code = acc_parts_check(a, it, item, err);
  if (code)
    return code;

  /* Arguments that only the deltas told of. */
  const struct acc_part *p = acc_part_find(it, PART_FIELD, 0);
  if (p && p->field && strcmp(p->field, "arguments") == 0 && !acc_has_str(item, "arguments"))
    code = acc_set(a, &it->arguments, mf_buf_str(&p->text), err);
  acc_parts_drop(a, it);
  if (!code)
    code = set_members(a, it, item, err);
  it->pub.is_done = code == MF_OK;
  acc_item_refresh(it);
  return code;
}

/* ---- events ---- */

/* The item that an event brings. */
struct brought {
  const struct mf_json_val *item;
  struct mf_str id, type;
  bool has_index;
  uint32_t index;
};

static enum mf_code read_item(struct mf_acc *a, const struct mf_json_val *root, struct brought *ret,
                              struct mf_acc_event *e, struct mf_err *err)
{
  const struct mf_json_val *item = mf_json_get(root, "item");
  *ret = (struct brought){ .item = item, .id = acc_get_str(item, "id"), .type = acc_get_str(item, "type") };
  ret->has_index = acc_get_index(root, "output_index", &ret->index);
  if (mf_json_type_of(item) != MF_JSON_OBJ)
    return acc_complain(a, e, err, "%.*s: item is not an object", MF_STR_ARG(e->type));
  if (a->strict && (!ret->has_index || !acc_has_str(item, "id") || ret->type.len == 0))
    return acc_complain(a, e, err, "%.*s: output_index, item.id or item.type is missing", MF_STR_ARG(e->type));
  return MF_OK;
}

enum mf_code acc_item_added(struct mf_acc *a, const struct mf_json_val *root, struct mf_acc_event *e,
                            struct mf_err *err)
{
  struct brought b;
  enum mf_code code = read_item(a, root, &b, e, err);
  if (code || e->verdict == MF_ACC_SWALLOW)
    return code;

  for (size_t i = 0; i < a->item_n; i++) {
    const struct acc_item *it = a->items[i];
    bool is_same_id = mf_str_eq(mf_buf_str(&it->upstream_id), b.id);
    bool is_same_index = b.has_index && it->has_raw_index && it->raw_index == b.index;
    if (a->strict && (is_same_index || (is_same_id && b.id.len > 0)))
      return mf_fail(err, MF_E_INPUT, 0, "conflicting item opening at output_index %u", b.index);
    if (it->pub.is_done || !is_same_index)
      continue;
    if (!is_same_id || !mf_str_eq(mf_buf_str(&it->type), b.type))
      return mf_fail(err, MF_E_INPUT, 0, "conflicting item opening at output_index %u", b.index);
    acc_event_names(e, it);
    return acc_complain(a, e, err, "the item at output_index %u is open already", b.index);
  }

  struct acc_item *it = NULL;
  code = item_open(a, b.has_index, b.index, b.item, &it, err);
  if (code)
    return code;
  it->pub.saw_added = true;
  e->opens = true;
  acc_event_names(e, it);
  return MF_OK;
}

enum mf_code acc_item_done(struct mf_acc *a, const struct mf_json_val *root, struct mf_acc_event *e, struct mf_err *err)
{
  struct brought b;
  enum mf_code code = read_item(a, root, &b, e, err);
  if (code || e->verdict == MF_ACC_SWALLOW)
    return code;

  /* A done item's id may be new, so that the index alone decides where there is one. */
  struct acc_item *it = acc_find_open(a, b.has_index, b.index, b.has_index ? (struct mf_str){ 0 } : b.id);
  if (!it && b.id.len > 0)
    it = acc_find_open(a, false, 0, b.id);
  if (!it) {
    if (find_done(a, b.has_index, b.index, b.id, b.type))
      return mf_fail(err, MF_E_INPUT, 0, "repeated completion of the item at output_index %u", b.index);
    if (a->strict)
      return mf_fail(err, MF_E_INPUT, 0, "completion of an item that was never opened at output_index %u", b.index);
    code = item_open(a, b.has_index, b.index, b.item, &it, err);
    if (code)
      return code;
  }
  code = item_complete(a, it, b.item, err);
  if (code)
    return code;
  it->pub.saw_done = true;
  e->closes = true;
  acc_event_names(e, it);
  return MF_OK;
}

/* ---- the terminal event ---- */

enum match { MATCH_ID, MATCH_CALL, MATCH_TYPE, MATCH_N };

static bool is_match(const struct acc_item *it, const struct mf_json_val *item, enum match how)
{
  struct mf_str call_id = acc_get_str(item, "call_id"), own = mf_buf_str(&it->call_id);
  if (!mf_str_eq(acc_get_str(item, "type"), mf_buf_str(&it->type)))
    return false;
  switch (how) {
  case MATCH_ID:
    return it->upstream_id.len > 0 && mf_str_eq(acc_get_str(item, "id"), mf_buf_str(&it->upstream_id));
  case MATCH_CALL:
    return call_id.len > 0 && mf_str_eq(call_id, own);
  case MATCH_TYPE:
    /* Servers make new ids for the terminal event, vLLM for one, which makes new call ids too. In order, an item of the
     * same type is the same, and so is a call of the same function. The client has been told of the first ids. */
    return call_id.len == 0 || own.len == 0 ||
           (it->pub.is_done && mf_str_eq(acc_get_str(item, "name"), mf_buf_str(&it->name)));
  case MATCH_N:
    break;
  }
  return false;
}

static enum mf_code merge_match(struct mf_acc *a, const struct mf_json_val *output, enum match how, bool *merged,
                                bool *taken, size_t known_n, struct acc_item **known, struct mf_err *err)
{
  struct mf_json_iter at = mf_json_iter(output);
  for (size_t k = 0; mf_json_next(&at); k++) {
    for (size_t i = 0; i < known_n && !merged[k]; i++) {
      if (taken[i] || !is_match(known[i], at.val, how))
        continue;
      merged[k] = taken[i] = true;
      enum mf_code code = known[i]->pub.is_done ? MF_OK : item_complete(a, known[i], at.val, err);
      if (code)
        return code;
    }
  }
  return MF_OK;
}

enum mf_code acc_merge_output(struct mf_acc *a, const struct mf_json_val *output, struct mf_err *err)
{
  size_t n = mf_json_len(output), known_n = a->item_n;
  if (mf_json_type_of(output) != MF_JSON_ARR || n == 0)
    return MF_OK;
  if (n > ACC_ITEMS_MAX)
    return mf_fail(err, MF_E_LIMIT, 0, "the upstream response has more than %d items", ACC_ITEMS_MAX);
  mf_auto_free bool *merged = mf_xcalloc(n, sizeof(bool));
  mf_auto_free bool *taken = mf_xcalloc(known_n + 1, sizeof(bool));
  /* The items' array grows and is reordered below. */
  mf_auto_free struct acc_item **known = mf_xcalloc(known_n + 1, sizeof(struct acc_item *));
  if (known_n > 0)
    memcpy(known, a->items, known_n * sizeof(struct acc_item *));

  struct mf_json_iter at = mf_json_iter(output);
  for (size_t k = 0; mf_json_next(&at); k++)
    merged[k] = mf_json_type_of(at.val) != MF_JSON_OBJ;
  enum mf_code code = MF_OK;
  for (enum match how = MATCH_ID; how < MATCH_N && !code; how++)
    code = merge_match(a, output, how, merged, taken, known_n, known, err);

  at = mf_json_iter(output);
  for (uint32_t k = 0; !code && mf_json_next(&at); k++) {
    if (merged[k])
      continue;
    struct acc_item *it = NULL;
    code = item_open(a, true, k, at.val, &it, err);
    if (!code)
      code = item_complete(a, it, at.val, err);
  }
  return code;
}

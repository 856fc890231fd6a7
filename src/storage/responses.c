/* Responses, their items and chains: the calls, and what each is in SQL. Thread: the calls are the loop's, what has a
 * db is a worker's. */
#include "op.h"

#include <stdlib.h>

#include "base/path.h"
#include "stored.h"
#include "base/banned.h"

/* What an item weighs besides its text, so that very many empty ones are not free. */
enum { ITEM_OVERHEAD = 64 };

static enum mf_code too_large(const char *what, struct mf_str id, struct mf_err *err)
{
  char shown[200];
  mf_escape(id, shown, sizeof(shown));
  return mf_fail(err, MF_E_LIMIT, 0, "%s '%s' exceeds %u bytes", what, shown, MF_STORE_BYTES_MAX);
}

/* ---- checks ---- */

/* Adds up to just above the limit, so that no sum wraps. */
static void add_bytes(uint64_t *sum, size_t n)
{
  *sum = MF_MIN(*sum + MF_MIN((uint64_t)n, (uint64_t)MF_STORE_BYTES_MAX + 1), (uint64_t)MF_STORE_BYTES_MAX + 1);
}

static uint64_t weigh_items(const struct mf_store_response *r)
{
  uint64_t sum = 0;
  for (size_t i = 0; i < r->item_n; i++) {
    add_bytes(&sum, r->items[i].id.len);
    add_bytes(&sum, r->items[i].json.len);
    add_bytes(&sum, ITEM_OVERHEAD);
  }
  return sum;
}

static enum mf_code check_response(const struct mf_store_response *r, struct mf_err *err)
{
  if (r->id.len == 0)
    return mf_fail(err, MF_E_INPUT, 0, "a response to store needs an id");
  if (r->created_at > INT64_MAX)
    return mf_fail(err, MF_E_INPUT, 0, "a response to store has no sensible time");
  uint64_t sum = weigh_items(r);
  const struct mf_str others[] = { r->id, r->previous_id, r->payload, r->tools, r->tool_choice, r->instructions };
  for (unsigned i = 0; i < MF_ARRAY_N(others); i++)
    add_bytes(&sum, others[i].len);
  return sum > MF_STORE_BYTES_MAX ? too_large("response", r->id, err) : MF_OK;
}

/* ---- put ---- */

static enum mf_code find(struct db *d, enum sql sql, struct mf_str id, sqlite3_int64 *ret_key, struct mf_err *err)
{
  enum mf_code code = db_find(d, sql, id, ret_key, err);
  return !code && !*ret_key ? db_not_found("Response", id, err) : code;
}

static enum mf_code add_response(struct db *d, const struct mf_store_response *r, sqlite3_int64 previous_key,
                                 struct mf_err *err)
{
  sqlite3_stmt *st;
  enum mf_code code = db_begin(d, SQL_ADD_RESPONSE, &st, err);
  if (code)
    return code;
  db_bind_str(st, 1, r->id);
  if (previous_key)
    sqlite3_bind_int64(st, 2, previous_key);
  sqlite3_bind_int64(st, 3, (sqlite3_int64)r->created_at);
  sqlite3_bind_int64(st, 4, (sqlite3_int64)weigh_items(r));
  db_bind_str(st, 5, r->payload);
  db_bind_str(st, 6, r->tools);
  db_bind_str(st, 7, r->tool_choice);
  db_bind_str(st, 8, r->instructions);
  int rc = sqlite3_step(st);
  if (rc == SQLITE_CONSTRAINT_UNIQUE) {
    char shown[200];
    mf_escape(r->id, shown, sizeof(shown));
    code = mf_fail(err, MF_E_EXISTS, 0, "conflict: Response with id '%s' is already stored", shown);
  } else if (rc != SQLITE_DONE) {
    code = db_fail(d, rc, err);
  }
  db_end(st);
  return code;
}

static enum mf_code add_item(struct db *d, sqlite3_int64 response_key, const struct mf_store_item *item,
                             struct mf_err *err)
{
  sqlite3_stmt *st;
  bool row;
  enum mf_code code = db_begin(d, SQL_ADD_ITEM, &st, err);
  if (code)
    return code;
  sqlite3_bind_int64(st, 1, response_key);
  db_bind_str(st, 2, item->id);
  sqlite3_bind_int(st, 3, item->is_input);
  sqlite3_bind_int(st, 4, item->is_public);
  sqlite3_bind_int(st, 5, item->is_gateway_code);
  db_bind_str(st, 6, item->json);
  code = db_step(d, st, &row, err);
  db_end(st);
  return code;
}

struct put_op {
  struct op op;
  const struct mf_store_response *response;
};

static enum mf_code put(struct db *d, struct op *op, struct mf_err *err)
{
  const struct mf_store_response *r = ((struct put_op *)op)->response;
  /* A parent that was deleted after its history was read is a parent all the same. */
  sqlite3_int64 previous_key = 0;
  enum mf_code code = r->previous_id.len ? find(d, SQL_FIND_ANY, r->previous_id, &previous_key, err) : MF_OK;
  if (!code)
    code = add_response(d, r, previous_key, err);
  sqlite3_int64 key = code ? 0 : sqlite3_last_insert_rowid(d->sqlite);
  for (size_t i = 0; !code && i < r->item_n; i++)
    code = add_item(d, key, &r->items[i], err);
  return code;
}

enum mf_code mf_storage_put_response(struct mf_storage *s, struct mf_fiber *self, const struct mf_store_response *r,
                                     struct mf_err *err)
{
  static const struct op_kind kind = { .doing = "store a response", .is_write = true, .apply = put };
  enum mf_code code = check_response(r, err);
  struct put_op op = { { .kind = &kind }, r };
  return code ? code : storage_run(s, self, &op.op, err);
}

/* ---- delete ---- */

/* Removes one that nobody needs and, by that, perhaps its parents. Each round removes a row, so it ends. */
static enum mf_code purge(struct db *d, sqlite3_int64 key, struct mf_err *err)
{
  enum mf_code code = MF_OK;
  while (key && !code) {
    sqlite3_stmt *st;
    bool row = false, more = false;
    code = db_begin(d, SQL_PURGE, &st, err);
    if (code)
      return code;
    sqlite3_bind_int64(st, 1, key);
    code = db_step(d, st, &row, err);
    key = row ? sqlite3_column_int64(st, 0) : 0; /* 0 for NULL, too */
    if (row)
      code = db_step(d, st, &more, err);
    db_end(st);
  }
  return code;
}

struct delete_op {
  struct op op;
  struct mf_str id;
};

static enum mf_code delete_one(struct db *d, struct op *op, struct mf_err *err)
{
  struct mf_str id = ((struct delete_op *)op)->id;
  sqlite3_int64 key = 0;
  sqlite3_stmt *st;
  bool row;
  enum mf_code code = find(d, SQL_FIND_LIVE, id, &key, err);
  if (!code)
    code = db_begin(d, SQL_BURY, &st, err);
  if (code)
    return code;
  sqlite3_bind_int64(st, 1, key);
  code = db_step(d, st, &row, err);
  db_end(st);
  return code ? code : purge(d, key, err);
}

enum mf_code mf_storage_delete_response(struct mf_storage *s, struct mf_fiber *self, struct mf_str id,
                                        struct mf_err *err)
{
  static const struct op_kind kind = {
    .doing = "delete a response", .is_write = true, .apply = delete_one, .reserve = RESERVE_ALL
  };
  struct delete_op op = { { .kind = &kind }, id };
  return storage_run(s, self, &op.op, err);
}

/* ---- load ---- */

static enum mf_code load_response(struct db *d, struct mf_str id, struct mf_stored *h, sqlite3_int64 *ret_key,
                                  struct mf_err *err)
{
  sqlite3_stmt *st;
  bool row;
  enum mf_code code = db_begin(d, SQL_GET_RESPONSE, &st, err);
  if (code)
    return code;
  db_bind_str(st, 1, id);
  code = db_step(d, st, &row, err);
  if (!code && !row)
    code = db_not_found("Response", id, err);
  if (!code) {
    struct mf_store_response *r = &h->response;
    *ret_key = sqlite3_column_int64(st, 0);
    r->created_at = (uint64_t)sqlite3_column_int64(st, 2);
    struct mf_str *const texts[] = { &r->payload, &r->tools, &r->tool_choice, &r->instructions };
    code = texts_load_id(&h->texts, st, 7, &r->id, err);
    if (!code)
      code = texts_load_id(&h->texts, st, 1, &r->previous_id, err);
    for (int i = 0; i < (int)MF_ARRAY_N(texts) && !code; i++)
      code = texts_load(&h->texts, d, st, i + 3, texts[i], err);
  }
  db_end(st);
  return code;
}

/* The row that a statement stands on. */
static enum mf_code load_item(struct db *d, sqlite3_stmt *st, struct mf_stored *h, struct mf_err *err)
{
  struct mf_store_item item = {
    .is_input = sqlite3_column_int(st, 1),
    .is_public = sqlite3_column_int(st, 2),
    .is_gateway_code = sqlite3_column_int(st, 3),
  };
  enum mf_code code = texts_load_id(&h->texts, st, 0, &item.id, err);
  if (!code)
    code = texts_load(&h->texts, d, st, 4, &item.json, err);
  if (!code)
    stored_add(h, &item);
  return code;
}

static enum mf_code load_items(struct db *d, sqlite3_int64 key, struct mf_stored *h, struct mf_err *err)
{
  sqlite3_stmt *st;
  bool row = true;
  enum mf_code code = db_begin(d, SQL_GET_ITEMS, &st, err);
  if (code)
    return code;
  sqlite3_bind_int64(st, 1, key);
  while (!code && row) {
    code = db_step(d, st, &row, err);
    if (!code && row)
      code = load_item(d, st, h, err);
  }
  db_end(st);
  return code;
}

/* The keys of a chain, newest first; malloc'ed. */
static enum mf_code load_chain(struct db *d, sqlite3_int64 key, struct mf_str id, sqlite3_int64 **ret, unsigned *ret_n,
                               struct mf_err *err)
{
  sqlite3_stmt *st;
  bool row = true;
  enum mf_code code = db_begin(d, SQL_GET_CHAIN, &st, err);
  if (code)
    return code;
  sqlite3_bind_int64(st, 1, key);
  sqlite3_bind_int(st, 2, MF_STORE_DEPTH_MAX + 1); /* one more, to see that there are more */
  sqlite3_int64 *keys = NULL;
  unsigned n = 0, cap = 0;
  uint64_t bytes = 0;
  while (!code && row) {
    code = db_step(d, st, &row, err);
    if (code || !row)
      break;
    if (n == cap) {
      cap = MF_MAX(cap * 2, 16u);
      keys = mf_xrealloc(keys, cap * sizeof(*keys));
    }
    keys[n++] = sqlite3_column_int64(st, 0);
    add_bytes(&bytes, (size_t)sqlite3_column_int64(st, 1));
  }
  db_end(st);
  if (!code && n > MF_STORE_DEPTH_MAX)
    code = mf_fail(err, MF_E_LIMIT, 0, "the history has more than %u responses", MF_STORE_DEPTH_MAX);
  if (!code && bytes > MF_STORE_BYTES_MAX)
    code = too_large("the history of response", id, err);
  if (code) {
    free(keys);
    return code;
  }
  *ret = keys;
  *ret_n = n;
  return MF_OK;
}

struct load_op {
  struct op op;
  struct mf_str id;
  const struct mf_str *ids; /* items by id */
  size_t id_n;
  struct mf_stored *loaded;
};

static void drop_loaded(struct op *op)
{
  struct load_op *o = (struct load_op *)op;
  mf_stored_free(o->loaded);
  o->loaded = NULL;
}

static enum mf_code load_payload(struct db *d, struct op *op, struct mf_err *err)
{
  struct load_op *o = (struct load_op *)op;
  sqlite3_int64 key = 0;
  o->loaded = stored_new();
  return load_response(d, o->id, o->loaded, &key, err);
}

static enum mf_code load_whole(struct db *d, struct op *op, struct mf_err *err)
{
  struct load_op *o = (struct load_op *)op;
  sqlite3_int64 key = 0;
  o->loaded = stored_new();
  enum mf_code code = load_response(d, o->id, o->loaded, &key, err);
  return code ? code : load_items(d, key, o->loaded, err);
}

static enum mf_code load_history(struct db *d, struct op *op, struct mf_err *err)
{
  struct load_op *o = (struct load_op *)op;
  mf_auto_free sqlite3_int64 *keys = NULL;
  sqlite3_int64 key = 0;
  unsigned n = 0;
  o->loaded = stored_new();
  enum mf_code code = load_response(d, o->id, o->loaded, &key, err);
  if (!code)
    code = load_chain(d, key, o->id, &keys, &n, err);
  while (!code && n > 0)
    code = load_items(d, keys[--n], o->loaded, err);
  return code;
}

/* ---- items by id ---- */

static enum mf_code find_item(struct db *d, struct mf_str id, struct mf_stored *h, struct mf_err *err)
{
  sqlite3_stmt *st;
  bool row;
  enum mf_code code = db_begin(d, SQL_GET_ITEM, &st, err);
  if (code)
    return code;
  db_bind_str(st, 1, id);
  code = db_step(d, st, &row, err);
  if (!code)
    code = row ? load_item(d, st, h, err) : db_not_found("Item", id, err);
  db_end(st);
  return code;
}

static enum mf_code load_by_id(struct db *d, struct op *op, struct mf_err *err)
{
  struct load_op *o = (struct load_op *)op;
  struct mf_stored *h = o->loaded = stored_new();
  uint64_t sum = 0;
  enum mf_code code = MF_OK;
  for (size_t i = 0; i < o->id_n && !code; i++) {
    code = find_item(d, o->ids[i], h, err);
    /* Looked at after each one, because one item may be asked for many times. */
    if (!code)
      add_bytes(&sum, h->response.items[i].json.len + ITEM_OVERHEAD);
    if (!code && sum > MF_STORE_BYTES_MAX)
      code = mf_fail(err, MF_E_LIMIT, 0, "the items that are asked for exceed %u bytes", MF_STORE_BYTES_MAX);
  }
  return code;
}

/* ---- the calls ---- */

static enum mf_code load(struct mf_storage *s, struct mf_fiber *self, struct load_op *o, struct mf_stored **ret,
                         struct mf_err *err)
{
  enum mf_code code = storage_run(s, self, &o->op, err);
  if (!code)
    *ret = o->loaded;
  return code;
}

enum mf_code mf_storage_get_response(struct mf_storage *s, struct mf_fiber *self, struct mf_str id,
                                     struct mf_stored **ret, struct mf_err *err)
{
  static const struct op_kind kind = { .doing = "load a response", .apply = load_whole, .drop = drop_loaded };
  struct load_op o = { .op = { .kind = &kind }, .id = id };
  return load(s, self, &o, ret, err);
}

enum mf_code mf_storage_get_payload(struct mf_storage *s, struct mf_fiber *self, struct mf_str id,
                                    struct mf_stored **ret, struct mf_err *err)
{
  static const struct op_kind kind = { .doing = "load a response", .apply = load_payload, .drop = drop_loaded };
  struct load_op o = { .op = { .kind = &kind }, .id = id };
  return load(s, self, &o, ret, err);
}

enum mf_code mf_storage_get_history(struct mf_storage *s, struct mf_fiber *self, struct mf_str id,
                                    struct mf_stored **ret, struct mf_err *err)
{
  static const struct op_kind kind = { .doing = "load a history", .apply = load_history, .drop = drop_loaded };
  struct load_op o = { .op = { .kind = &kind }, .id = id };
  return load(s, self, &o, ret, err);
}

enum mf_code mf_storage_get_items(struct mf_storage *s, struct mf_fiber *self, const struct mf_str *ids, size_t id_n,
                                  struct mf_stored **ret, struct mf_err *err)
{
  static const struct op_kind kind = { .doing = "load items", .apply = load_by_id, .drop = drop_loaded };
  struct load_op o = { .op = { .kind = &kind }, .ids = ids, .id_n = id_n };
  if (id_n > MF_STORE_REFERENCES_MAX)
    return mf_fail(err, MF_E_LIMIT, 0, "more than %u items are asked for", MF_STORE_REFERENCES_MAX);
  return load(s, self, &o, ret, err);
}

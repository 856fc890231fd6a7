/* What each operation is in SQL. Thread: a worker. Neighbours: transaction.c calls these inside transactions. */
#include "op.h"

#include <stdlib.h>

#include "base/path.h"
#include "base/utf8.h"
#include "stored.h"
#include "base/banned.h"

/* What an item weighs besides its text, so that very many empty ones are not free. */
enum { ITEM_OVERHEAD = 64 };

static enum mf_code not_found(struct mf_str id, struct mf_err *err)
{
  char shown[200];
  mf_escape(id, shown, sizeof(shown));
  return mf_fail(err, MF_E_NOT_FOUND, 0, "not found: Response with id '%s'", shown);
}

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

enum mf_code op_check(const struct op *op, struct mf_err *err)
{
  const struct mf_store_response *r = op->response;
  if (op->kind == OP_ITEMS && op->id_n > MF_STORE_REFERENCES_MAX)
    return mf_fail(err, MF_E_LIMIT, 0, "more than %u items are asked for", MF_STORE_REFERENCES_MAX);
  if (op->kind != OP_PUT)
    return MF_OK;
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
  sqlite3_stmt *st;
  bool row;
  enum mf_code code = db_begin(d, sql, &st, err);
  if (code)
    return code;
  db_bind_str(st, 1, id);
  code = db_step(d, st, &row, err);
  if (!code && row)
    *ret_key = sqlite3_column_int64(st, 0);
  else if (!code)
    code = not_found(id, err);
  db_end(st);
  return code;
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

static enum mf_code put(struct db *d, const struct mf_store_response *r, struct mf_err *err)
{
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

static enum mf_code delete_one(struct db *d, struct mf_str id, struct mf_err *err)
{
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

/* ---- load ---- */

static struct mf_str column(sqlite3_stmt *st, int at)
{
  /* The text first: its length is that of the conversion. */
  const char *text = (const char *)sqlite3_column_text(st, at);
  return (struct mf_str){ text, text ? (size_t)sqlite3_column_bytes(st, at) : 0 };
}

static enum mf_code no_memory(struct mf_err *err)
{
  return mf_fail(err, MF_E_LIMIT, 0, "out of memory for a stored response");
}

/* SQLite notices a damaged page only where its own structure is hurt. The texts that are put are UTF-8 (ids may be
 * anything). */
static enum mf_code copy_text(struct db *d, sqlite3_stmt *st, int at, struct mf_stored *h, struct mf_str *ret,
                              struct mf_err *err)
{
  struct mf_str text = column(st, at);
  if (!mf_utf8_is_valid(text))
    return db_fail(d, SQLITE_CORRUPT, err);
  return stored_copy(h, text, ret) ? MF_OK : no_memory(err);
}

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
    code = not_found(id, err);
  if (!code) {
    struct mf_store_response *r = stored_response(h);
    *ret_key = sqlite3_column_int64(st, 0);
    r->created_at = (uint64_t)sqlite3_column_int64(st, 2);
    struct mf_str *const texts[] = { &r->payload, &r->tools, &r->tool_choice, &r->instructions };
    if (!stored_copy(h, id, &r->id) || !stored_copy(h, column(st, 1), &r->previous_id))
      code = no_memory(err);
    for (int i = 0; i < (int)MF_ARRAY_N(texts) && !code; i++)
      code = copy_text(d, st, i + 3, h, texts[i], err);
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
  if (!stored_copy(h, column(st, 0), &item.id))
    return no_memory(err);
  enum mf_code code = copy_text(d, st, 4, h, &item.json, err);
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

static enum mf_code load(struct db *d, struct op *op, struct mf_err *err)
{
  struct mf_stored *h = stored_new();
  sqlite3_int64 key = 0;
  enum mf_code code = load_response(d, op->id, h, &key, err);
  if (!code && op->kind == OP_GET) {
    code = load_items(d, key, h, err);
  } else if (!code && op->kind == OP_HISTORY) {
    mf_auto_free sqlite3_int64 *keys = NULL;
    unsigned n = 0;
    code = load_chain(d, key, op->id, &keys, &n, err);
    while (!code && n > 0)
      code = load_items(d, keys[--n], h, err);
  }
  if (code) {
    mf_stored_free(h);
    return code;
  }
  op->loaded = h;
  return MF_OK;
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
  if (!code && !row) {
    char shown[200];
    mf_escape(id, shown, sizeof(shown));
    code = mf_fail(err, MF_E_NOT_FOUND, 0, "not found: Item with id '%s'", shown);
  } else if (!code) {
    code = load_item(d, st, h, err);
  }
  db_end(st);
  return code;
}

static enum mf_code load_by_id(struct db *d, struct op *op, struct mf_err *err)
{
  struct mf_stored *h = stored_new();
  uint64_t sum = 0;
  enum mf_code code = MF_OK;
  for (size_t i = 0; i < op->id_n && !code; i++) {
    code = find_item(d, op->ids[i], h, err);
    /* Looked at after each one, because one item may be asked for many times. */
    if (!code)
      add_bytes(&sum, stored_response(h)->items[i].json.len + ITEM_OVERHEAD);
    if (!code && sum > MF_STORE_BYTES_MAX)
      code = mf_fail(err, MF_E_LIMIT, 0, "the items that are asked for exceed %u bytes", MF_STORE_BYTES_MAX);
  }
  if (code) {
    mf_stored_free(h);
    return code;
  }
  op->loaded = h;
  return MF_OK;
}

/* ---- all of them ---- */

void op_apply(struct db *d, struct op *op)
{
  switch (op->kind) {
  case OP_PUT:
    op->code = put(d, op->response, &op->err);
    return;
  case OP_DELETE:
    op->code = delete_one(d, op->id, &op->err);
    return;
  case OP_GET:
  case OP_PAYLOAD:
  case OP_HISTORY:
    op->code = load(d, op, &op->err);
    return;
  case OP_ITEMS:
    op->code = load_by_id(d, op, &op->err);
    return;
  case OP_PING:
    op->code = db_run(d, SQL_PING, &op->err);
    return;
  }
}

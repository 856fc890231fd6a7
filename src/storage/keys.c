/* API keys: the calls, and what each is in SQL. Thread: the calls are the loop's, what has a db is a worker's. */
#include "storage/tasks.h"

#include <stdlib.h>

#include "op.h"
#include "texts.h"
#include "base/hash.h"
#include "base/banned.h"

struct mf_stored_keys {
  struct mf_store_key *keys;
  size_t n, cap;
  struct texts texts;
};

void mf_stored_keys_free(struct mf_stored_keys *k)
{
  if (!k)
    return;
  texts_done(&k->texts);
  free(k->keys);
  free(k);
}

size_t mf_stored_keys_n(const struct mf_stored_keys *k)
{
  return k->n;
}

const struct mf_store_key *mf_stored_key(const struct mf_stored_keys *k, size_t i)
{
  return &k->keys[i];
}

struct key_op {
  struct op op;
  const struct mf_store_key *key; /* put */
  struct mf_str id;               /* the others */
  uint64_t revoked_ms;
  struct mf_stored_keys *loaded;
  bool is_any;
};

static void drop_loaded(struct op *op)
{
  struct key_op *o = (struct key_op *)op;
  mf_stored_keys_free(o->loaded);
  o->loaded = NULL;
}

/* ---- rows ---- */

static enum mf_code load_key(struct db *d, sqlite3_stmt *st, struct mf_stored_keys *k, struct mf_err *err)
{
  struct mf_store_key key = { .created_ms = (uint64_t)sqlite3_column_int64(st, 3),
                              .revoked_ms = (uint64_t)sqlite3_column_int64(st, 4) };
  struct mf_str *const texts[] = { &key.id, &key.name, &key.sha256 };
  for (int i = 0; i < (int)MF_ARRAY_N(texts); i++) {
    enum mf_code code = texts_load(&k->texts, d, st, i, texts[i], err);
    if (code)
      return code;
  }
  if (k->n == k->cap) {
    k->cap = MF_MAX(k->cap * 2, (size_t)4);
    k->keys = mf_xrealloc(k->keys, k->cap * sizeof(*k->keys));
  }
  k->keys[k->n++] = key;
  return MF_OK;
}

/* The rows of a statement, whose id (if it takes one) is o's. */
static enum mf_code load_keys(struct db *d, enum sql sql, struct key_op *o, struct mf_err *err)
{
  sqlite3_stmt *st;
  bool row = true;
  o->loaded = mf_xcalloc(1, sizeof(*o->loaded));
  enum mf_code code = db_begin(d, sql, &st, err);
  if (code)
    return code;
  if (sqlite3_bind_parameter_count(st) > 0)
    db_bind_str(st, 1, o->id);
  while (!code && row) {
    code = db_step(d, st, &row, err);
    if (!code && row)
      code = load_key(d, st, o->loaded, err);
  }
  db_end(st);
  return code;
}

static enum mf_code load(struct mf_storage *s, struct mf_fiber *self, struct key_op *o, struct mf_stored_keys **ret,
                         struct mf_err *err)
{
  enum mf_code code = storage_run(s, self, &o->op, err);
  if (!code)
    *ret = o->loaded;
  return code;
}

/* ---- put and revoke ---- */

static enum mf_code put(struct db *d, struct op *op, struct mf_err *err)
{
  const struct mf_store_key *k = ((struct key_op *)op)->key;
  sqlite3_stmt *st;
  enum mf_code code = db_begin(d, SQL_ADD_KEY, &st, err);
  if (code)
    return code;
  db_bind_str(st, 1, k->id);
  db_bind_str(st, 2, k->name);
  db_bind_str(st, 3, k->sha256);
  db_bind_u64(st, 4, k->created_ms);
  db_bind_u64(st, 5, k->revoked_ms);
  int rc = sqlite3_step(st);
  if (rc == SQLITE_CONSTRAINT_UNIQUE)
    code = mf_fail(err, MF_E_EXISTS, 0, "conflict: the id of this API key is stored already");
  else if (rc != SQLITE_DONE)
    code = db_fail(d, rc, err);
  db_end(st);
  return code;
}

enum mf_code mf_storage_put_key(struct mf_storage *s, struct mf_fiber *self, const struct mf_store_key *k,
                                struct mf_err *err)
{
  static const struct op_kind kind = { .doing = "store an API key", .is_write = true, .apply = put };
  if (k->id.len == 0 || k->sha256.len != MF_SHA256_HEX_N - 1)
    return mf_fail(err, MF_E_INPUT, 0, "an API key to store needs an id and a digest");
  if (k->created_ms > INT64_MAX || k->revoked_ms > INT64_MAX)
    return mf_fail(err, MF_E_INPUT, 0, "an API key to store has no sensible times");
  struct key_op o = { .op = { .kind = &kind }, .key = k };
  return storage_run(s, self, &o.op, err);
}

static enum mf_code revoke(struct db *d, struct op *op, struct mf_err *err)
{
  struct key_op *o = (struct key_op *)op;
  sqlite3_stmt *st;
  int n = 0;
  enum mf_code code = db_begin(d, SQL_REVOKE_KEY, &st, err);
  if (code)
    return code;
  db_bind_str(st, 1, o->id);
  db_bind_u64(st, 2, o->revoked_ms);
  code = db_change(d, st, &n, err);
  if (!code && n == 0)
    code = db_not_found("API key", o->id, err);
  return code;
}

enum mf_code mf_storage_revoke_key(struct mf_storage *s, struct mf_fiber *self, struct mf_str id, uint64_t revoked_ms,
                                   struct mf_err *err)
{
  static const struct op_kind kind = {
    .doing = "revoke an API key", .is_write = true, .apply = revoke, .reserve = RESERVE_ALL
  };
  if (revoked_ms == 0 || revoked_ms > INT64_MAX)
    return mf_fail(err, MF_E_INPUT, 0, "an API key is revoked at no sensible time");
  struct key_op o = { .op = { .kind = &kind }, .id = id, .revoked_ms = revoked_ms };
  return storage_run(s, self, &o.op, err);
}

/* ---- load ---- */

static enum mf_code list(struct db *d, struct op *op, struct mf_err *err)
{
  return load_keys(d, SQL_LIST_KEYS, (struct key_op *)op, err);
}

enum mf_code mf_storage_list_keys(struct mf_storage *s, struct mf_fiber *self, struct mf_stored_keys **ret,
                                  struct mf_err *err)
{
  static const struct op_kind kind = { "list API keys", false, list, drop_loaded };
  struct key_op o = { .op = { .kind = &kind } };
  return load(s, self, &o, ret, err);
}

static enum mf_code find(struct db *d, struct op *op, struct mf_err *err)
{
  struct key_op *o = (struct key_op *)op;
  sqlite3_stmt *st;
  bool row;
  enum mf_code code = load_keys(d, SQL_GET_KEY, o, err);
  if (!code)
    code = db_begin(d, SQL_HAS_ANY_KEY, &st, err);
  if (code)
    return code;
  code = db_step(d, st, &row, err);
  if (!code)
    o->is_any = row && sqlite3_column_int(st, 0) != 0;
  db_end(st);
  return code;
}

enum mf_code mf_storage_find_key(struct mf_storage *s, struct mf_fiber *self, struct mf_str id,
                                 struct mf_stored_keys **ret, bool *ret_any, struct mf_err *err)
{
  static const struct op_kind kind = { "find an API key", false, find, drop_loaded };
  struct key_op o = { .op = { .kind = &kind }, .id = id };
  enum mf_code code = load(s, self, &o, ret, err);
  if (!code)
    *ret_any = o.is_any;
  return code;
}

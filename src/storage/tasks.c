/* Tasks: the calls, and what each is in SQL. Thread: the calls are the loop's, what has a db is a worker's. */
#include "storage/tasks.h"

#include <stdlib.h>

#include "op.h"
#include "stored-tasks.h"
#include "base/banned.h"

/* A transaction holds up every other writer. What expires is overwritten, and the log has all of it once more. */
enum { EXPIRE_MAX = 64, EXPIRE_BYTES = 1 << 20, FORGET_MAX = 500 };

/* What every operation here needs and loads, in one. */
struct task_op {
  struct op op;
  const struct mf_store_task *task; /* what is written; else its id and owner say which */
  struct mf_str id, owner;
  int state; /* LIST: -1 for all */
  uint64_t at_ms;
  unsigned limit;
  const struct mf_store_end *end; /* FINISH */
  uint64_t file_bytes;            /* DELETE */
  struct mf_stored_tasks *loaded;
  int changed_n;
  bool is_there;
};

static void drop_loaded(struct op *op)
{
  struct task_op *o = (struct task_op *)op;
  mf_stored_tasks_free(o->loaded);
  o->loaded = NULL;
}

static struct mf_stored_tasks *loaded_new(struct task_op *o)
{
  o->loaded = stored_tasks_new();
  return o->loaded;
}

/* ---- rows ---- */

/* The key of the task that o names; *ret_state may be NULL. */
static enum mf_code find_task(struct db *d, const struct task_op *o, sqlite3_int64 *ret_key, int *ret_state,
                              struct mf_err *err)
{
  sqlite3_stmt *st;
  bool row;
  enum mf_code code = db_begin(d, SQL_FIND_TASK, &st, err);
  if (code)
    return code;
  db_bind_str(st, 1, o->id);
  db_bind_str(st, 2, o->owner);
  code = db_step(d, st, &row, err);
  if (!code && !row)
    code = db_not_found("Task", o->id, err);
  if (!code) {
    *ret_key = sqlite3_column_int64(st, 0);
    if (ret_state)
      *ret_state = sqlite3_column_int(st, 1);
  }
  db_end(st);
  return code;
}

/* A text, or the removal of one (text NULL), beside a task. */
static enum mf_code change_text(struct db *d, enum sql sql, sqlite3_int64 key, const struct mf_str *text,
                                struct mf_err *err)
{
  sqlite3_stmt *st;
  enum mf_code code = db_begin(d, sql, &st, err);
  if (code)
    return code;
  sqlite3_bind_int64(st, 1, key);
  if (text)
    db_bind_str(st, 2, *text);
  return db_change(d, st, NULL, err);
}

/* ---- put ---- */

/* One or none. */
static enum mf_code load_repeated(struct db *d, struct task_op *o, struct mf_str owner, struct mf_str idempotency_key,
                                  struct mf_err *err)
{
  sqlite3_stmt *st;
  enum mf_code code = db_begin(d, SQL_FIND_REPEATED, &st, err);
  if (code)
    return code;
  db_bind_str(st, 1, owner);
  db_bind_str(st, 2, idempotency_key);
  return stored_tasks_load_all(loaded_new(o), d, st, err);
}

static enum mf_code find_repeated(struct db *d, struct task_op *o, struct mf_err *err)
{
  enum mf_code code = load_repeated(d, o, o->task->owner, o->task->idempotency_key, err);
  if (code)
    return code;
  if (o->loaded->n == 0)
    return mf_fail(err, MF_E_INTERNAL, 0, "the id of a new task is there already");
  return mf_fail(err, MF_E_EXISTS, 0, "conflict: this idempotency key was used before");
}

static enum mf_code add_task(struct db *d, struct task_op *o, struct mf_err *err)
{
  const struct mf_store_task *t = o->task;
  sqlite3_stmt *st;
  enum mf_code code = db_begin(d, SQL_ADD_TASK, &st, err);
  if (code)
    return code;
  const struct mf_str texts[] = { t->id, t->owner, t->idempotency_key, t->fingerprint };
  for (int i = 0; i < (int)MF_ARRAY_N(texts); i++)
    db_bind_str(st, 1 + i, texts[i]);
  sqlite3_bind_int(st, 5, (int)t->state);
  db_bind_u64(st, 6, t->created_ms);
  db_bind_u64(st, 7, t->started_ms);
  db_bind_u64(st, 8, t->input_bytes);
  db_bind_u64(st, 9, t->request.len);
  int rc = sqlite3_step(st);
  if (rc != SQLITE_DONE && rc != SQLITE_CONSTRAINT_UNIQUE)
    code = db_fail(d, rc, err);
  db_end(st);
  return rc == SQLITE_CONSTRAINT_UNIQUE ? find_repeated(d, o, err) : code;
}

static enum mf_code put(struct db *d, struct op *op, struct mf_err *err)
{
  struct task_op *o = (struct task_op *)op;
  enum mf_code code = add_task(d, o, err);
  if (code)
    return code;
  return change_text(d, SQL_ADD_TASK_REQUEST, sqlite3_last_insert_rowid(d->sqlite), &o->task->request, err);
}

static enum mf_code check_task(const struct mf_store_task *t, struct mf_err *err)
{
  if (t->id.len == 0)
    return mf_fail(err, MF_E_INPUT, 0, "a task to store needs an id");
  if (t->state != MF_TASK_QUEUED && t->state != MF_TASK_RUNNING)
    return mf_fail(err, MF_E_INPUT, 0, "a task to store has ended already");
  if (t->created_ms > INT64_MAX || t->started_ms > INT64_MAX || t->input_bytes > INT64_MAX)
    return mf_fail(err, MF_E_INPUT, 0, "a task to store has no sensible times and sizes");
  const struct mf_str texts[] = { t->id, t->owner, t->idempotency_key, t->fingerprint, t->request };
  size_t left = MF_STORE_BYTES_MAX;
  for (unsigned i = 0; i < MF_ARRAY_N(texts); i++) {
    if (texts[i].len > left)
      return mf_fail(err, MF_E_LIMIT, 0, "a task to store exceeds %u bytes", MF_STORE_BYTES_MAX);
    left -= texts[i].len;
  }
  return MF_OK;
}

enum mf_code mf_storage_put_task(struct mf_storage *s, struct mf_fiber *self, const struct mf_store_task *t,
                                 struct mf_stored_tasks **ret_other, struct mf_err *err)
{
  static const struct op_kind kind = { "store a task", true, put, drop_loaded };
  enum mf_code code = check_task(t, err);
  if (code)
    return code;
  struct task_op o = { .op = { .kind = &kind }, .task = t };
  code = storage_run(s, self, &o.op, err);
  if (code == MF_E_EXISTS)
    *ret_other = o.loaded;
  return code;
}

/* ---- start and finish ---- */

static enum mf_code start(struct db *d, struct op *op, struct mf_err *err)
{
  struct task_op *o = (struct task_op *)op;
  sqlite3_stmt *st;
  int n = 0;
  enum mf_code code = db_begin(d, SQL_START_TASK, &st, err);
  if (code)
    return code;
  db_bind_str(st, 1, o->id);
  db_bind_u64(st, 2, o->at_ms);
  code = db_change(d, st, &n, err);
  if (!code && n == 0)
    code = db_not_found("queued Task", o->id, err);
  return code;
}

enum mf_code mf_storage_start_task(struct mf_storage *s, struct mf_fiber *self, struct mf_str id, uint64_t started_ms,
                                   struct mf_err *err)
{
  /* What was acknowledged must not wait for room until it is forgotten: it begins, and says how it ends. */
  static const struct op_kind kind = {
    .doing = "start a task", .is_write = true, .apply = start, .reserve = RESERVE_HALF
  };
  struct task_op o = { .op = { .kind = &kind }, .id = id, .at_ms = started_ms };
  return storage_run(s, self, &o.op, err);
}

static enum mf_code add_file(struct db *d, sqlite3_int64 key, const struct mf_store_file *f, struct mf_err *err)
{
  sqlite3_stmt *st;
  enum mf_code code = db_begin(d, SQL_ADD_TASK_FILE, &st, err);
  if (code)
    return code;
  sqlite3_bind_int64(st, 1, key);
  db_bind_str(st, 2, mf_str_of(f->sha256));
  /* Without a pointer it would be NULL and not empty. */
  sqlite3_bind_blob64(st, 3, f->content.len ? f->content.ptr : "", f->content.len, SQLITE_STATIC);
  return db_change(d, st, NULL, err);
}

static uint64_t file_bytes_of(const struct mf_store_end *e)
{
  uint64_t bytes = 0;
  for (size_t i = 0; i < e->file_n; i++)
    bytes += e->files[i].content.len;
  return bytes;
}

static enum mf_code finish(struct db *d, struct op *op, struct mf_err *err)
{
  const struct task_op *o = (struct task_op *)op;
  const struct mf_store_end *e = o->end;
  sqlite3_stmt *st;
  bool row, more = false;
  enum mf_code code = db_begin(d, SQL_FINISH_TASK, &st, err);
  if (code)
    return code;
  db_bind_str(st, 1, o->id);
  sqlite3_bind_int(st, 2, (int)e->state);
  db_bind_u64(st, 3, e->finished_ms);
  db_bind_u64(st, 4, e->expires_ms);
  db_bind_u64(st, 5, e->artifact_bytes);
  db_bind_u64(st, 6, e->result.len);
  db_bind_u64(st, 7, file_bytes_of(e));
  code = db_step(d, st, &row, err);
  sqlite3_int64 key = !code && row ? sqlite3_column_int64(st, 0) : 0;
  if (!code && row)
    code = db_step(d, st, &more, err);
  db_end(st);
  if (!code && !key)
    code = db_not_found("unfinished Task", o->id, err);
  if (!code)
    code = change_text(d, SQL_ADD_TASK_RESULT, key, &e->result, err);
  for (size_t i = 0; !code && i < e->file_n; i++)
    code = add_file(d, key, &e->files[i], err);
  return code;
}

enum mf_code mf_storage_finish_task(struct mf_storage *s, struct mf_fiber *self, struct mf_str id,
                                    const struct mf_store_end *end, struct mf_err *err)
{
  static const struct op_kind plain = { .doing = "finish a task", .is_write = true, .apply = finish };
  static const struct op_kind with_reserve = {
    .doing = "finish a task", .is_write = true, .apply = finish, .reserve = RESERVE_HALF
  };
  const bool may_use_reserve = end->file_n == 0 || end->was_shown;
  if (end->state <= MF_TASK_RUNNING || end->state >= MF_TASK_STATE_N)
    return mf_fail(err, MF_E_INPUT, 0, "a task cannot end in that state");
  if (end->finished_ms > INT64_MAX || end->expires_ms > INT64_MAX || end->artifact_bytes > INT64_MAX)
    return mf_fail(err, MF_E_INPUT, 0, "a finished task has no sensible times and sizes");
  if (end->result.len > MF_STORE_BYTES_MAX || file_bytes_of(end) > MF_STORE_BYTES_MAX - end->result.len)
    return mf_fail(err, MF_E_LIMIT, 0, "the end of a task exceeds %u bytes", MF_STORE_BYTES_MAX);
  struct task_op o = { .op = { .kind = may_use_reserve ? &with_reserve : &plain }, .id = id, .end = end };
  return storage_run(s, self, &o.op, err);
}

/* ---- load ---- */

/* Runs what loads; *ret is written on success only. */
static enum mf_code load(struct mf_storage *s, struct mf_fiber *self, struct task_op *o, struct mf_stored_tasks **ret,
                         struct mf_err *err)
{
  enum mf_code code = storage_run(s, self, &o->op, err);
  if (!code)
    *ret = o->loaded;
  return code;
}

static enum mf_code repeated(struct db *d, struct op *op, struct mf_err *err)
{
  struct task_op *o = (struct task_op *)op;
  enum mf_code code = load_repeated(d, o, o->owner, o->id, err);
  if (!code && o->loaded->n == 0)
    code = mf_fail(err, MF_E_NOT_FOUND, 0, "no task has this idempotency key");
  return code;
}

enum mf_code mf_storage_repeated_task(struct mf_storage *s, struct mf_fiber *self, struct mf_str owner,
                                      struct mf_str idempotency_key, struct mf_stored_tasks **ret, struct mf_err *err)
{
  static const struct op_kind kind = { "look for a repeated task", false, repeated, drop_loaded };
  struct task_op o = { .op = { .kind = &kind }, .id = idempotency_key, .owner = owner };
  return load(s, self, &o, ret, err);
}

static enum mf_code get(struct db *d, struct op *op, struct mf_err *err)
{
  struct task_op *o = (struct task_op *)op;
  sqlite3_stmt *st;
  enum mf_code code = db_begin(d, SQL_GET_TASK, &st, err);
  if (code)
    return code;
  db_bind_str(st, 1, o->id);
  db_bind_str(st, 2, o->owner);
  code = stored_tasks_load_all(loaded_new(o), d, st, err);
  return !code && o->loaded->n == 0 ? db_not_found("Task", o->id, err) : code;
}

enum mf_code mf_storage_get_task(struct mf_storage *s, struct mf_fiber *self, struct mf_str owner, struct mf_str id,
                                 struct mf_stored_tasks **ret, struct mf_err *err)
{
  static const struct op_kind kind = { "load a task", false, get, drop_loaded };
  struct task_op o = { .op = { .kind = &kind }, .id = id, .owner = owner };
  return load(s, self, &o, ret, err);
}

static enum mf_code list(struct db *d, struct op *op, struct mf_err *err)
{
  struct task_op *o = (struct task_op *)op;
  sqlite3_int64 key = INT64_MAX;
  sqlite3_stmt *st;
  enum mf_code code = o->id.len ? find_task(d, o, &key, NULL, err) : MF_OK;
  if (!code)
    code = db_begin(d, SQL_LIST_TASKS, &st, err);
  if (code)
    return code;
  db_bind_str(st, 1, o->owner);
  sqlite3_bind_int64(st, 2, key);
  sqlite3_bind_int(st, 3, o->state);
  sqlite3_bind_int64(st, 4, (sqlite3_int64)o->limit + 1); /* one more, to see that there are more */
  db_bind_u64(st, 5, o->at_ms);
  return stored_tasks_load_all(loaded_new(o), d, st, err);
}

enum mf_code mf_storage_list_tasks(struct mf_storage *s, struct mf_fiber *self, struct mf_str owner,
                                   struct mf_str after, enum mf_task_state state, uint64_t now_ms, unsigned limit,
                                   struct mf_stored_tasks **ret, bool *ret_more, struct mf_err *err)
{
  static const struct op_kind kind = { "list tasks", false, list, drop_loaded };
  struct task_op o = { .op = { .kind = &kind },
                       .id = after,
                       .owner = owner,
                       .state = state == MF_TASK_STATE_N ? -1 : (int)state,
                       .at_ms = now_ms,
                       .limit = limit };
  enum mf_code code = load(s, self, &o, ret, err);
  if (code)
    return code;
  *ret_more = o.loaded->n > limit;
  o.loaded->n = MF_MIN(o.loaded->n, (size_t)limit);
  return MF_OK;
}

static enum mf_code unfinished(struct db *d, struct op *op, struct mf_err *err)
{
  struct task_op *o = (struct task_op *)op;
  sqlite3_int64 key = 0;
  sqlite3_stmt *st;
  enum mf_code code = o->id.len ? db_find(d, SQL_FIND_TASK_ANY, o->id, &key, err) : MF_OK;
  if (!code && o->id.len && !key)
    code = db_not_found("Task", o->id, err);
  if (!code)
    code = db_begin(d, SQL_UNFINISHED_TASKS, &st, err);
  if (code)
    return code;
  sqlite3_bind_int64(st, 1, key);
  sqlite3_bind_int64(st, 2, o->limit);
  return stored_tasks_load_all(loaded_new(o), d, st, err);
}

enum mf_code mf_storage_unfinished_tasks(struct mf_storage *s, struct mf_fiber *self, struct mf_str after,
                                         unsigned limit, struct mf_stored_tasks **ret, struct mf_err *err)
{
  static const struct op_kind kind = { "load unfinished tasks", false, unfinished, drop_loaded };
  struct task_op o = { .op = { .kind = &kind }, .id = after, .limit = limit };
  return load(s, self, &o, ret, err);
}

static enum mf_code is_kept(struct db *d, struct op *op, struct mf_err *err)
{
  struct task_op *o = (struct task_op *)op;
  sqlite3_int64 found = 0;
  enum mf_code code = db_find(d, SQL_IS_TASK_KEPT, o->id, &found, err);
  o->is_there = found != 0;
  return code;
}

enum mf_code mf_storage_task_is_kept(struct mf_storage *s, struct mf_fiber *self, struct mf_str id, bool *ret,
                                     struct mf_err *err)
{
  static const struct op_kind kind = { .doing = "look for a task", .apply = is_kept };
  struct task_op o = { .op = { .kind = &kind }, .id = id };
  enum mf_code code = storage_run(s, self, &o.op, err);
  if (!code)
    *ret = o.is_there;
  return code;
}

/* ---- the end of them ---- */

/* The keys of those that are due, until there are limit of them or their texts are large. */
static enum mf_code find_due(struct db *d, const struct task_op *o, sqlite3_int64 keys[EXPIRE_MAX], unsigned *ret_n,
                             struct mf_err *err)
{
  sqlite3_stmt *st;
  bool row = true;
  uint64_t bytes = 0;
  enum mf_code code = db_begin(d, SQL_DUE_TASKS, &st, err);
  if (code)
    return code;
  db_bind_u64(st, 1, o->at_ms);
  sqlite3_bind_int64(st, 2, o->limit);
  for (*ret_n = 0; !code && row && *ret_n < EXPIRE_MAX && bytes < EXPIRE_BYTES;) {
    code = db_step(d, st, &row, err);
    if (code || !row)
      break;
    keys[(*ret_n)++] = sqlite3_column_int64(st, 0);
    bytes += (uint64_t)sqlite3_column_int64(st, 1);
  }
  db_end(st);
  return code;
}

static enum mf_code expire_one(struct db *d, sqlite3_int64 key, struct mf_stored_tasks *t, struct mf_err *err)
{
  sqlite3_stmt *st;
  enum mf_code code = change_text(d, SQL_DROP_TASK_REQUEST, key, NULL, err);
  if (!code)
    code = change_text(d, SQL_DROP_TASK_RESULT, key, NULL, err);
  if (!code)
    code = change_text(d, SQL_DROP_TASK_FILES, key, NULL, err);
  if (!code)
    code = db_begin(d, SQL_EXPIRE_TASK, &st, err);
  if (code)
    return code;
  sqlite3_bind_int64(st, 1, key);
  return stored_tasks_load_all(t, d, st, err);
}

static enum mf_code expire(struct db *d, struct op *op, struct mf_err *err)
{
  struct task_op *o = (struct task_op *)op;
  sqlite3_int64 keys[EXPIRE_MAX];
  unsigned n = 0;
  enum mf_code code = find_due(d, o, keys, &n, err);
  loaded_new(o);
  for (unsigned i = 0; i < n && !code; i++)
    code = expire_one(d, keys[i], o->loaded, err);
  return code;
}

enum mf_code mf_storage_expire_tasks(struct mf_storage *s, struct mf_fiber *self, uint64_t now_ms, unsigned limit,
                                     struct mf_stored_tasks **ret, struct mf_err *err)
{
  static const struct op_kind kind = { "expire tasks", true, expire, drop_loaded, .reserve = RESERVE_ALL };
  struct task_op o = { .op = { .kind = &kind },
                       .at_ms = MF_MIN(now_ms, (uint64_t)INT64_MAX),
                       .limit = MF_MIN(limit, (unsigned)EXPIRE_MAX) };
  return load(s, self, &o, ret, err);
}

static enum mf_code forget(struct db *d, struct op *op, struct mf_err *err)
{
  struct task_op *o = (struct task_op *)op;
  sqlite3_stmt *st;
  enum mf_code code = db_begin(d, SQL_FORGET_TASKS, &st, err);
  if (code)
    return code;
  db_bind_u64(st, 1, o->at_ms);
  sqlite3_bind_int(st, 2, FORGET_MAX);
  return db_change(d, st, &o->changed_n, err);
}

enum mf_code mf_storage_forget_tasks(struct mf_storage *s, struct mf_fiber *self, uint64_t before_ms,
                                     struct mf_err *err)
{
  static const struct op_kind kind = {
    .doing = "forget tasks", .is_write = true, .apply = forget, .reserve = RESERVE_ALL
  };
  enum mf_code code;
  struct task_op o;
  do {
    o = (struct task_op){ .op = { .kind = &kind }, .at_ms = MF_MIN(before_ms, (uint64_t)INT64_MAX) };
    code = storage_run(s, self, &o.op, err);
  } while (!code && o.changed_n == FORGET_MAX);
  return code;
}

static enum mf_code delete_one(struct db *d, struct op *op, struct mf_err *err)
{
  struct task_op *o = (struct task_op *)op;
  sqlite3_int64 key = 0;
  int state = 0;
  sqlite3_stmt *st;
  enum mf_code code = find_task(d, o, &key, &state, err);
  if (!code && state <= MF_TASK_RUNNING)
    code = mf_fail(err, MF_E_INPUT, 0, "the task has not ended");
  if (!code)
    code = db_begin(d, SQL_DELETE_TASK, &st, err);
  if (code)
    return code;
  sqlite3_bind_int64(st, 1, key);
  bool row, more;
  code = db_step(d, st, &row, err);
  if (!code && row) {
    o->file_bytes = (uint64_t)sqlite3_column_int64(st, 0);
    code = db_step(d, st, &more, err); /* to its end */
  }
  db_end(st);
  return code;
}

enum mf_code mf_storage_delete_task(struct mf_storage *s, struct mf_fiber *self, struct mf_str owner, struct mf_str id,
                                    uint64_t *ret_file_bytes, struct mf_err *err)
{
  static const struct op_kind kind = {
    .doing = "delete a task", .is_write = true, .apply = delete_one, .reserve = RESERVE_ALL
  };
  struct task_op o = { .op = { .kind = &kind }, .id = id, .owner = owner };
  enum mf_code code = storage_run(s, self, &o.op, err);
  if (!code)
    *ret_file_bytes = o.file_bytes;
  return code;
}

/* mf_stored_tasks: see stored-tasks.h. */
#include "stored-tasks.h"

#include <stdlib.h>

#include "base/banned.h"

struct mf_stored_tasks *stored_tasks_new(void)
{
  return mf_xcalloc(1, sizeof(struct mf_stored_tasks));
}

void mf_stored_tasks_free(struct mf_stored_tasks *t)
{
  if (!t)
    return;
  texts_done(&t->texts);
  free(t->tasks);
  free(t);
}

size_t mf_stored_tasks_n(const struct mf_stored_tasks *t)
{
  return t->n;
}

const struct mf_store_task *mf_stored_task(const struct mf_stored_tasks *t, size_t i)
{
  return &t->tasks[i];
}

enum { REQUEST_AT = 13, RESULT_AT = 14 }; /* where a statement has them at all */

/* The row that st stands on. */
static enum mf_code load_row(struct mf_stored_tasks *t, struct db *d, sqlite3_stmt *st, struct mf_err *err)
{
  int columns = sqlite3_column_count(st), state = sqlite3_column_int(st, 4);
  if (state < 0 || state >= MF_TASK_STATE_N)
    return db_fail(d, SQLITE_CORRUPT, err);
  struct mf_store_task task = {
    .state = (enum mf_task_state)state,
    .is_expired = sqlite3_column_int(st, 5),
    .created_ms = (uint64_t)sqlite3_column_int64(st, 6),
    .started_ms = (uint64_t)sqlite3_column_int64(st, 7),
    .finished_ms = (uint64_t)sqlite3_column_int64(st, 8),
    .expires_ms = (uint64_t)sqlite3_column_int64(st, 9),
    .input_bytes = (uint64_t)sqlite3_column_int64(st, 10),
    .artifact_bytes = (uint64_t)sqlite3_column_int64(st, 11),
    .file_bytes = (uint64_t)sqlite3_column_int64(st, 12),
  };
  struct mf_str *const ids[] = { &task.id, &task.owner, &task.idempotency_key, &task.fingerprint };
  enum mf_code code = MF_OK;
  for (int i = 0; i < (int)MF_ARRAY_N(ids) && !code; i++)
    code = texts_load_id(&t->texts, st, i, ids[i], err);
  if (!code && columns > REQUEST_AT)
    code = texts_load(&t->texts, d, st, REQUEST_AT, &task.request, err);
  if (!code && columns > RESULT_AT)
    code = texts_load(&t->texts, d, st, RESULT_AT, &task.result, err);
  if (code)
    return code;
  if (t->n == t->cap) {
    t->cap = MF_MAX(t->cap * 2, (size_t)4);
    t->tasks = mf_xrealloc(t->tasks, t->cap * sizeof(*t->tasks));
  }
  t->tasks[t->n++] = task;
  t->text_bytes += task.request.len + task.result.len;
  return MF_OK;
}

enum mf_code stored_tasks_load_all(struct mf_stored_tasks *t, struct db *d, sqlite3_stmt *st, struct mf_err *err)
{
  bool row = true;
  enum mf_code code = MF_OK;
  while (!code && row && t->text_bytes < MF_STORE_BYTES_MAX) {
    code = db_step(d, st, &row, err);
    if (!code && row)
      code = load_row(t, d, st, err);
  }
  db_end(st);
  return code;
}

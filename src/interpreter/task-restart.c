/* What an earlier process left: its queued tasks wait again, in their order; those that ran have failed.
 * Thread: the loop's. */
#include <stdlib.h>

#include "base/log.h"
#include "tasks-internal.h"
#include "base/banned.h"

enum { BATCH_N = 16 }; /* with their requests, of 1 MiB and more */

enum mf_code task_of_row(struct mf_tasks *t, const struct mf_store_task *row, struct task **ret, struct mf_err *err)
{
  char id[MF_ID_N];
  if (row->id.len >= sizeof(id))
    return mf_fail(err, MF_E_INTERNAL, 0, "a stored task has an id of %zu bytes", row->id.len);
  memcpy(id, row->id.ptr, row->id.len);
  id[row->id.len] = 0;
  struct task *k = task_new(t, id, row->owner);
  free(k->idempotency_key);
  k->idempotency_key = mf_xasprintf("%.*s", MF_STR_ARG(row->idempotency_key));
  memcpy(k->fingerprint, row->fingerprint.ptr, MF_MIN(row->fingerprint.len, sizeof(k->fingerprint) - 1));
  k->state = row->state;
  k->is_expired = row->is_expired;
  k->created_ms = row->created_ms;
  k->started_ms = row->started_ms;
  k->finished_ms = row->finished_ms;
  k->expires_ms = row->expires_ms;
  k->input_bytes = row->input_bytes;
  k->artifact_bytes = row->artifact_bytes;
  mf_buf_init(&k->result, row->result.len);
  enum mf_code code = mf_buf_append_str(&k->result, row->result);
  if (code) {
    task_unref(k);
    return mf_fail(err, code, 0, "a stored result is too large");
  }
  *ret = k;
  return MF_OK;
}

/* Into the table. A request that cannot be read any more is no reason not to start: that task has failed. */
static enum mf_code take_up(struct mf_tasks *t, const struct mf_store_task *row, struct mf_err *err)
{
  struct task *k = NULL;
  enum mf_code code = task_of_row(t, row, &k, err);
  if (code)
    return code;
  struct mf_err why = { 0 };
  k->is_marked = k->state == MF_TASK_RUNNING;
  if (task_json_read_request(k, row->request, row->request.len <= TASKS_CODE_KEPT_MAX, &why) != MF_OK) {
    mf_log(MF_LOG_ERROR, "%s", why.msg);
    k->is_marked = true;
  }
  task_table_add(&t->table, k);
  task_unref(k);
  return MF_OK;
}

static enum mf_code take_up_all(struct mf_tasks *t, struct mf_fiber *self, struct mf_err *err)
{
  char after[MF_ID_N] = "";
  for (;;) {
    struct mf_stored_tasks *rows = NULL;
    enum mf_code code = mf_storage_unfinished_tasks(t->parts.storage, self, mf_str_of(after), BATCH_N, &rows, err);
    size_t n = code ? 0 : mf_stored_tasks_n(rows);
    for (size_t i = 0; !code && i < n; i++)
      code = take_up(t, mf_stored_task(rows, i), err);
    if (!code && n > 0)
      memcpy(after, t->table.newest->id, sizeof(after));
    mf_stored_tasks_free(rows);
    if (code || n == 0)
      return code;
  }
}

static void sort_out(struct mf_tasks *t, struct mf_fiber *self)
{
  unsigned queued_n = 0, interrupted_n = 0;
  struct task *next;
  for (struct task *k = t->table.oldest; k; k = next) {
    next = k->newer;
    if (k->is_marked) {
      struct task_outcome o = { .state = MF_TASK_FAILED, .reason = "interrupted" };
      task_end(k, self, &o); /* may drop it, and others that have ended; `next` has not */
      interrupted_n++;
    } else {
      task_queue_push(&t->queue, k);
      queued_n++;
    }
  }
  if (queued_n + interrupted_n > 0)
    mf_log(MF_LOG_INFO, "tasks of an earlier run: %u wait again, %u were interrupted", queued_n, interrupted_n);
}

enum mf_code tasks_restart(struct mf_tasks *t, struct mf_fiber *self, struct mf_err *err)
{
  uint64_t file_bytes = 0;
  enum mf_code code = mf_storage_file_bytes(t->parts.storage, self, &file_bytes, err);
  if (!code)
    code = take_up_all(t, self, err);
  if (code)
    return code;
  tasks_note_small(t, file_bytes);
  sort_out(t, self);
  tasks_sweep(t, self, true);
  return MF_OK;
}

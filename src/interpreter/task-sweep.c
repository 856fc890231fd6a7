/* Cleaning up, time and again: ends that could not be saved, what has expired, what can be forgotten, folders of
 * nobody. Thread: the loop's, in a fiber of its own. */
#include "base/log.h"
#include "base/time.h"
#include "tasks-internal.h"
#include "base/banned.h"

enum { BATCH_N = 64, FOLDERS_EVERY = 20 };

/* ---- ends that the database did not take ---- */

void tasks_save_unsaved(struct mf_tasks *t, struct mf_fiber *self)
{
  while (t->unsaved) {
    struct task *k = t->unsaved;
    task_ref(k);
    bool is_saved = task_save(k, self);
    task_unref(k);
    if (!is_saved)
      return;
  }
  tasks_dispatch(t);
}

/* ---- expiry ---- */

/* In the database, and with it whatever is in memory of these tasks. */
static bool expire_batch(struct mf_tasks *t, struct mf_fiber *self, uint64_t now_ms)
{
  struct mf_stored_tasks *rows = NULL;
  struct mf_err err = { 0 };
  if (mf_storage_expire_tasks(t->parts.storage, self, now_ms, BATCH_N, &rows, &err) != MF_OK) {
    mf_log(MF_LOG_WARN, "expired tasks cannot be cleaned up now: %s", err.msg);
    return false;
  }
  size_t n = mf_stored_tasks_n(rows);
  for (size_t i = 0; i < n; i++) {
    struct task *k = task_table_find(&t->table, mf_stored_task(rows, i)->id);
    char id[MF_ID_N] = "";
    memcpy(id, mf_stored_task(rows, i)->id.ptr, MF_MIN(mf_stored_task(rows, i)->id.len, sizeof(id) - 1));
    if (k) {
      k->is_expired = true;
      tasks_drop(t, k);
    }
    tasks_give_small(t, mf_stored_task(rows, i)->file_bytes);
    tasks_remove_files(t, self, id);
    t->stats.expired++;
  }
  mf_stored_tasks_free(rows);
  return n > 0;
}

static void expire_stored(struct mf_tasks *t, struct mf_fiber *self, uint64_t now_ms)
{
  struct mf_err err = { 0 };
  while (expire_batch(t, self, now_ms))
    ;
  uint64_t before_ms = now_ms > t->config.remember_ms ? now_ms - t->config.remember_ms : 0;
  if (mf_storage_forget_tasks(t->parts.storage, self, before_ms, &err) != MF_OK)
    mf_log(MF_LOG_WARN, "old tasks cannot be forgotten now: %s", err.msg);
}

/* Without a database an expired one stays as its id and times. */
static void expire_in_memory(struct mf_tasks *t, uint64_t now_ms)
{
  struct task *next;
  for (struct task *k = t->table.oldest; k; k = next) {
    next = k->newer;
    if (!task_has_ended(k) || now_ms < k->expires_ms)
      continue;
    task_announce(k);
    if (k->ref_n > 1) /* somebody looks at it, perhaps in a worker: he leaves, and the next round finds it */
      continue;
    if (!k->is_expired) {
      k->is_expired = true;
      task_strip(k);
      t->memory_bytes -= k->held_bytes;
      k->held_bytes = 0;
      t->stats.expired++;
      tasks_recount_ended(t, k);
    }
    if (now_ms >= k->expires_ms + t->config.remember_ms)
      tasks_drop(t, k);
  }
}

/* ---- folders ---- */

static bool is_kept(void *user, struct mf_fiber *self, struct mf_str task_id)
{
  struct mf_tasks *t = user;
  bool is_known = true; /* where the database does not say, nothing is removed */
  if (tasks_is_draft(t, task_id) || task_table_find(&t->table, task_id))
    return true;
  return mf_storage_task_is_kept(t->parts.storage, self, task_id, &is_known, NULL) != MF_OK || is_known;
}

/* ---- the rounds ---- */

void tasks_sweep(struct mf_tasks *t, struct mf_fiber *self, bool with_folders)
{
  struct mf_err err = { 0 };
  uint64_t now_ms = tasks_now_ms(t);
  if (!t->parts.storage) {
    expire_in_memory(t, now_ms);
    return;
  }
  tasks_save_unsaved(t, self);
  expire_stored(t, self, now_ms);
  if (with_folders && mf_files_sweep(t->parts.files, self, is_kept, t, &err) != MF_OK)
    mf_log(MF_LOG_WARN, "folders of tasks cannot be swept now: %s", err.msg);
}

void tasks_sweep_forever(void *user)
{
  struct mf_tasks *t = user;
  struct mf_fiber *self = mf_fiber_self(t->parts.loop);
  while (mf_fiber_sleep(self, t->config.sweep_ms * MF_NS_PER_MS) == MF_OK)
    tasks_sweep(t, self, t->parts.storage && ++t->sweep_n % FOLDERS_EVERY == 0);
}

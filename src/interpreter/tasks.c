/* mf_tasks: life, finding a task, and the calls that look at one, end one or list them.
 *
 * A task that has not ended is always in the table; the database is what survives. One that has ended is in the
 * database, and in the table as long as it was used lately. Without a database the table is all there is.
 * Thread: the loop's. Neighbours: task-draft.c submits, task-run.c runs, task-end.c ends, task-sweep.c cleans up. */
#include "interpreter/tasks.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/path.h"
#include "base/time.h"
#include "tasks-internal.h"
#include "base/banned.h"

enum { CANCEL_WAIT_MS = 5000, PAUSE_MS = 1000, AGAIN_MAX = 200, AGAIN_MS = 5, BACKOFF_MS = 250 };

/* ---- life ---- */

void mf_tasks_config_default(struct mf_tasks_config *c)
{
  *c = (struct mf_tasks_config){
    .queue_max = 1000, .retention_ms = 3600000, .remember_ms = 86400000, .sweep_ms = 30000
  };
}

static unsigned machine_memory_mb(void)
{
  uint64_t pages = (uint64_t)sysconf(_SC_PHYS_PAGES), page = (uint64_t)sysconf(_SC_PAGESIZE);
  return (unsigned)MF_MAX((pages * page) >> 20, (uint64_t)MF_TASK_MEMORY_MB_MIN);
}

static void on_resume(void *user)
{
  struct mf_tasks *t = user;
  t->is_paused = false;
  tasks_dispatch(t);
}

void tasks_pause(struct mf_tasks *t)
{
  if (t->is_paused)
    return;
  t->is_paused = true;
  mf_timer_arm(t->resume, mf_now_ns() + PAUSE_MS * MF_NS_PER_MS);
}

static void fill_config(struct mf_tasks *t)
{
  struct mf_tasks_config *c = &t->config;
  if (c->running_max == 0)
    c->running_max = mf_executor_stats(t->parts.executor).permits;
  unsigned machine_mb = machine_memory_mb();
  if (c->memory_mb_max == 0 || c->memory_mb_max > machine_mb)
    c->memory_mb_max = machine_mb;
  c->memory_mb_max = MF_MAX(c->memory_mb_max, MF_TASK_MEMORY_MB_MIN);
  if (c->sweep_ms == 0)
    c->sweep_ms = 1;
}

static void free_tasks(struct mf_tasks *t)
{
  while (t->queue.n > 0)
    (void)task_queue_pop(&t->queue);
  while (t->unsaved) {
    struct task *k = t->unsaved;
    t->unsaved = k->unsaved_next;
    task_unref(k);
  }
  while (t->table.oldest)
    tasks_drop(t, t->table.oldest);
  if (t->parts.files)
    tasks_give_small(t, t->small_bytes);
  task_table_done(&t->table);
  mf_timer_free(t->resume);
  free(t);
}

enum mf_code mf_tasks_new(const struct mf_tasks_config *config, const struct mf_tasks_parts *parts,
                          struct mf_fiber *self, struct mf_tasks **ret, struct mf_err *err)
{
  assert(!parts->storage == !parts->files);
  struct mf_tasks *t = mf_xcalloc(1, sizeof(*t));
  t->config = *config;
  t->parts = *parts;
  t->backoff_ms = BACKOFF_MS;
  fill_config(t);
  task_table_init(&t->table);
  enum mf_code code = mf_timer_new(parts->loop, on_resume, t, &t->resume, err);
  if (!code && parts->storage)
    code = tasks_restart(t, self, err);
  if (!code)
    code = mf_fiber_start(parts->loop, tasks_sweep_forever, t, 0, &t->sweeper, err);
  if (code) {
    free_tasks(t);
    return mf_wrap(err, code, "start the task service");
  }
  tasks_dispatch(t);
  *ret = t;
  return MF_OK;
}

static void wait_for_runners(struct mf_tasks *t, struct mf_fiber *self, uint64_t deadline_ns)
{
  while (t->runner_n > 0 && (deadline_ns == 0 || mf_now_ns() < deadline_ns))
    (void)!mf_fiber_wait(self, deadline_ns);
}

static void cancel_runners(struct mf_tasks *t)
{
  for (struct task *k = t->table.oldest; k; k = k->newer)
    if (k->runner && !k->is_ending)
      mf_fiber_cancel(k->runner);
}

void mf_tasks_drain(struct mf_tasks *t)
{
  t->is_draining = true;
}

void mf_tasks_close(struct mf_tasks *t, struct mf_fiber *self, uint64_t deadline_ns)
{
  if (!t)
    return;
  mf_tasks_drain(t);
  t->is_closing = true;
  t->closer = self;
  mf_fiber_shield(self);
  mf_fiber_cancel(t->sweeper);
  mf_fiber_join(self, t->sweeper);
  wait_for_runners(t, self, MF_MAX(deadline_ns, 1u));
  cancel_runners(t);
  wait_for_runners(t, self, 0);
  tasks_save_unsaved(t, self);
  t->is_closed = true;
  for (struct task *k = t->table.oldest; k; k = k->newer)
    task_announce(k);
  while (t->call_n > 0 || t->runner_n > 0)
    (void)!mf_fiber_wait(self, 0);
  assert(!t->drafts);
  mf_fiber_unshield(self);
  free_tasks(t);
}

void tasks_enter(struct mf_tasks *t)
{
  t->call_n++;
}

void tasks_leave(struct mf_tasks *t)
{
  t->call_n--;
  if (t->closer)
    mf_fiber_wake(t->closer);
}

struct mf_tasks_stats mf_tasks_stats(const struct mf_tasks *t)
{
  struct mf_tasks_stats s = t->stats;
  s.queued = t->queue.n;
  s.running = t->running_n;
  s.files_bytes = t->parts.files ? mf_files_used(t->parts.files) : t->memory_bytes;
  return s;
}

uint64_t tasks_now_ms(const struct mf_tasks *t)
{
  return t->config.now_ms ? t->config.now_ms(t->config.clock) : mf_wall_ms();
}

bool tasks_again(enum mf_code code, struct mf_fiber *self, unsigned *tries)
{
  if (code != MF_E_CAPACITY || ++*tries > AGAIN_MAX)
    return false;
  mf_fiber_shield(self);
  (void)!mf_fiber_sleep(self, AGAIN_MS * MF_NS_PER_MS);
  mf_fiber_unshield(self);
  return true;
}

void tasks_offload(struct mf_tasks *t, struct mf_fiber *self, void (*fn)(void *user), void *user)
{
  if (!t->parts.pool || mf_pool_run(t->parts.pool, self, fn, user, NULL) != MF_OK)
    fn(user);
}

/* ---- finding ---- */

static enum mf_code fail_unknown(struct mf_str id, struct mf_err *err)
{
  char shown[80];
  mf_escape(id, shown, sizeof(shown));
  return mf_fail(err, MF_E_NOT_FOUND, 0, "there is no task '%s'", shown);
}

/* Only what could be one of ours is looked for. */
static bool is_task_id(struct mf_str id)
{
  if (!mf_str_starts(id, "task_") || id.len != strlen("task_") + MF_UUID_N - 1)
    return false;
  for (size_t i = strlen("task_"); i < id.len; i++)
    if (!strchr("0123456789abcdef-", id.ptr[i]) || id.ptr[i] == 0)
      return false;
  return true;
}

enum mf_code tasks_check_kept(const struct task *k, struct mf_err *err)
{
  uint64_t now_ms = tasks_now_ms(k->tasks);
  if (k->is_expired || (k->expires_ms > 0 && now_ms >= k->expires_ms)) {
    char at[32];
    mf_wall_format(k->expires_ms, at);
    return mf_fail(err, MF_E_GONE, 0, "task '%s' expired at %s: its inputs, artifacts and result are deleted", k->id,
                   at);
  }
  return k->is_gone ? fail_unknown(mf_str_of(k->id), err) : MF_OK;
}

static enum mf_code load(struct mf_tasks *t, struct mf_fiber *self, struct mf_str owner, struct mf_str id,
                         struct task **ret, struct mf_err *err)
{
  struct mf_stored_tasks *rows = NULL;
  enum mf_code code = mf_storage_get_task(t->parts.storage, self, owner, id, &rows, err);
  if (code == MF_E_NOT_FOUND)
    return fail_unknown(id, err);
  if (code)
    return code;
  code = task_of_row(t, mf_stored_task(rows, 0), ret, err);
  mf_stored_tasks_free(rows);
  return code;
}

/* From the database. What has not ended is in the table: where it is not, it has just been added or has just left. */
static enum mf_code find_stored(struct mf_tasks *t, struct mf_fiber *self, struct mf_str owner, struct mf_str id,
                                struct task **ret, bool *ret_look_again, struct mf_err *err)
{
  struct task *k = NULL;
  enum mf_code code = load(t, self, owner, id, &k, err);
  if (code)
    return code;
  *ret_look_again = task_table_find(&t->table, id) || !task_has_ended(k);
  if (*ret_look_again) {
    task_unref(k);
    return MF_OK;
  }
  k->is_saved = true;
  if (!k->is_expired) {
    task_table_add(&t->table, k);
    tasks_keep_ended(t, k);
  }
  *ret = k;
  return MF_OK;
}

enum mf_code tasks_find(struct mf_tasks *t, struct mf_fiber *self, struct mf_str owner, struct mf_str id,
                        struct task **ret, struct mf_err *err)
{
  enum { TRIES = 3 };
  struct task *k = NULL;
  if (!is_task_id(id))
    return fail_unknown(id, err);
  for (unsigned i = 0; i < TRIES && !k; i++) {
    bool look_again = false;
    k = task_table_find(&t->table, id);
    if (k && (k->is_hidden || !mf_str_is(owner, k->owner)))
      return fail_unknown(id, err);
    if (k) {
      task_ref(k);
      if (k->is_in_ended && t->parts.storage)
        tasks_keep_ended(t, k);
    } else if (!t->parts.storage) {
      return fail_unknown(id, err);
    } else {
      enum mf_code code = find_stored(t, self, owner, id, &k, &look_again, err);
      if (code)
        return code;
    }
  }
  if (!k)
    return mf_fail(err, MF_E_UNAVAILABLE, 0, "the task is about to change; try again");
  enum mf_code code = tasks_check_kept(k, err);
  if (code)
    task_unref(k);
  else
    *ret = k;
  return code;
}

/* ---- get ---- */

/* Waits for the end. MF_E_CANCELLED: of the caller. */
static enum mf_code wait_for_end(struct task *k, struct mf_fiber *self, uint64_t deadline_ns, struct mf_err *err)
{
  while (!task_has_ended(k) && !k->is_gone && !k->tasks->is_closed) {
    if (deadline_ns > 0 && mf_now_ns() >= deadline_ns)
      break;
    if (task_wait(k, self, deadline_ns) == MF_E_CANCELLED)
      return mf_fail(err, MF_E_CANCELLED, 0, "waiting for the task was cancelled");
  }
  return MF_OK;
}

static enum mf_code show(const struct task *k, struct mf_buf *ret, struct mf_err *err)
{
  struct mf_buf out;
  struct mf_json_writer w;
  mf_buf_init(&out, TASK_JSON_MAX);
  mf_jw_init(&w, &out, false);
  if (task_has_ended(k))
    mf_jw_raw(&w, mf_buf_str(&k->result));
  else
    task_json_write(k, &w);
  if (w.code) {
    mf_buf_done(&out);
    return mf_fail(err, w.code, 0, "the task is too large to be shown");
  }
  *ret = out;
  return MF_OK;
}

enum mf_code mf_tasks_get(struct mf_tasks *t, struct mf_fiber *self, struct mf_str owner, struct mf_str id,
                          uint64_t deadline_ns, struct mf_buf *ret, struct mf_err *err)
{
  struct task *k = NULL;
  tasks_enter(t);
  enum mf_code code = tasks_find(t, self, owner, id, &k, err);
  if (!code && deadline_ns > 0)
    code = wait_for_end(k, self, deadline_ns, err);
  if (!code)
    code = tasks_check_kept(k, err);
  if (!code)
    code = show(k, ret, err);
  if (k)
    task_unref(k);
  tasks_leave(t);
  return code;
}

/* ---- cancel and delete ---- */

/* One that waits ends here and now. One that runs is told, and ends by itself. */
static void cancel_task(struct task *k, struct mf_fiber *self)
{
  struct mf_tasks *t = k->tasks;
  if (task_has_ended(k) || k->is_ending || k->is_gone)
    return;
  k->is_cancel_asked = true;
  if (k->is_queued) {
    struct task_outcome o = { .state = MF_TASK_CANCELLED, .reason = "cancelled" };
    task_queue_remove(&t->queue, k);
    task_end(k, self, &o);
  } else if (k->runner) {
    mf_fiber_cancel(k->runner);
  }
}

enum mf_code mf_tasks_cancel(struct mf_tasks *t, struct mf_fiber *self, struct mf_str owner, struct mf_str id,
                             struct mf_err *err)
{
  struct task *k = NULL;
  tasks_enter(t);
  enum mf_code code = tasks_find(t, self, owner, id, &k, err);
  if (!code) {
    cancel_task(k, self);
    /* It is decided; mostly it takes milliseconds until the program is gone and that can be seen. */
    code = wait_for_end(k, self, mf_now_ns() + CANCEL_WAIT_MS * MF_NS_PER_MS, err);
    task_unref(k);
  }
  tasks_leave(t);
  return code;
}

static enum mf_code delete_ended(struct mf_tasks *t, struct mf_fiber *self, struct task *k, struct mf_err *err)
{
  enum mf_code code = MF_OK;
  uint64_t file_bytes = 0;
  if (k->is_gone)
    return tasks_check_kept(k, err);
  if (!task_has_ended(k))
    return mf_fail(err, MF_E_GONE, 0, "the server is stopping");
  if (t->parts.storage) {
    if (!task_save(k, self))
      return mf_fail(err, MF_E_UNAVAILABLE, 0, "the task's end could not be stored yet");
    unsigned tries = 0;
    do
      code = mf_storage_delete_task(t->parts.storage, self, mf_str_of(k->owner), mf_str_of(k->id), &file_bytes, err);
    while (tasks_again(code, self, &tries));
    if (code == MF_E_NOT_FOUND && !k->is_gone)
      code = MF_OK; /* another process was faster */
  }
  if (code)
    return code;
  if (t->parts.files)
    tasks_give_small(t, file_bytes);
  tasks_remove_files(t, self, k->id);
  if (!k->is_gone)
    tasks_drop(t, k);
  return MF_OK;
}

enum mf_code mf_tasks_delete(struct mf_tasks *t, struct mf_fiber *self, struct mf_str owner, struct mf_str id,
                             struct mf_err *err)
{
  struct task *k = NULL;
  tasks_enter(t);
  enum mf_code code = tasks_find(t, self, owner, id, &k, err);
  if (!code) {
    /* Half a removal helps nobody: it is brought to its end although the client has gone. */
    mf_fiber_shield(self);
    cancel_task(k, self);
    code = wait_for_end(k, self, 0, err);
    if (!code)
      code = delete_ended(t, self, k, err);
    mf_fiber_unshield(self);
    task_unref(k);
  }
  tasks_leave(t);
  return code;
}

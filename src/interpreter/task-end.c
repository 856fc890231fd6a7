/* The end of a task: its artifacts (task-artifacts.c), the result as JSON, the database, and only then everybody who
 * waits. Thread: the loop's. */
#include <stdlib.h>

#include "base/log.h"
#include "tasks-internal.h"
#include "base/banned.h"

/* ---- the result ---- */

struct writing {
  const struct task *task;
  const struct task_outcome *outcome;
  char (*ids)[MF_ID_N];
  struct mf_buf out;
  enum mf_code code;
};

static void write_result(void *user)
{
  struct writing *w = user;
  struct mf_json_writer jw;
  mf_buf_init(&w->out, TASK_JSON_MAX);
  mf_jw_init(&jw, &w->out, false);
  task_json_write_end(w->task, w->outcome, (const char(*)[MF_ID_N])w->ids, &jw);
  w->code = jw.code;
}

static void make_result(struct task *k, struct mf_fiber *self, struct task_outcome *o)
{
  enum { LONG_TEXT = 65536 };
  const struct mf_sandbox_result *r = o->result;
  struct writing w = { .task = k, .outcome = o };
  unsigned n = r ? r->artifact_n : 0;
  w.ids = mf_xcalloc(n + 1, sizeof(*w.ids));
  for (unsigned i = 0; i < n; i++)
    mf_id_new("artifact_", w.ids[i]);
  if (r && r->out.len + r->err.len > LONG_TEXT)
    tasks_offload(k->tasks, self, write_result, &w);
  else
    write_result(&w);
  free(w.ids);
  mf_buf_done(&k->result);
  k->result = w.out;
}

/* ---- saving ---- */

static void join_unsaved(struct task *k)
{
  struct task **at = &k->tasks->unsaved;
  while (*at)
    at = &(*at)->unsaved_next;
  *at = k;
  k->unsaved_next = NULL;
  k->tasks->unsaved_n++;
  task_ref(k);
}

static void leave_unsaved(struct task *k)
{
  struct task **at = &k->tasks->unsaved;
  while (*at && *at != k)
    at = &(*at)->unsaved_next;
  if (!*at)
    return;
  *at = k->unsaved_next;
  k->tasks->unsaved_n--;
  task_unref(k);
}

/* How it ended is in the members of the task already. */
static enum mf_code save(struct task *k, struct mf_fiber *self, enum mf_task_state state, bool *ret_is_full)
{
  struct mf_tasks *t = k->tasks;
  struct mf_err err = { 0 };
  unsigned tries = 0;
  enum mf_code code;
  if (!t->parts.storage)
    return MF_OK;
  mf_auto_free struct mf_store_file *files = mf_xcalloc(k->file_n + 1, sizeof(*files));
  for (unsigned i = 0; i < k->file_n; i++) {
    memcpy(files[i].sha256, k->files[i].sha256, sizeof(files[i].sha256));
    files[i].content = mf_buf_str(&k->files[i].data);
  }
  const struct mf_store_end end = { .state = state,
                                    .finished_ms = k->finished_ms,
                                    .expires_ms = k->expires_ms,
                                    .artifact_bytes = k->artifact_bytes,
                                    .result = mf_buf_str(&k->result),
                                    .files = files,
                                    .file_n = k->file_n,
                                    .was_shown = !k->is_ending };
  do
    code = mf_storage_finish_task(t->parts.storage, self, mf_str_of(k->id), &end, &err);
  while (tasks_again(code, self, &tries));
  *ret_is_full = tasks_is_full(code, &err);
  if (!code || code == MF_E_NOT_FOUND)
    task_settle_small(k, code == MF_OK);
  else if (!*ret_is_full || k->file_n == 0 || !k->is_ending) /* else it is tried without its files */
    mf_log(MF_LOG_ERROR, "task %s: its end cannot be stored now: %s", k->id, err.msg);
  return code;
}

bool task_save(struct task *k, struct mf_fiber *self)
{
  if (k->is_saved)
    return true;
  bool is_full = false;
  mf_fiber_shield(self);
  enum mf_code code = save(k, self, k->state, &is_full);
  mf_fiber_unshield(self);
  if (code && code != MF_E_NOT_FOUND)
    return false;
  if (k->is_saved) /* by another fiber meanwhile */
    return true;
  k->is_saved = true;
  task_ref(k);
  leave_unsaved(k);
  if (!k->is_gone)
    tasks_keep_ended(k->tasks, k);
  task_unref(k);
  return true;
}

void tasks_remove_files(struct mf_tasks *t, struct mf_fiber *self, const char *id)
{
  struct mf_err err = { 0 };
  unsigned tries = 0;
  enum mf_code code = MF_OK;
  if (!t->parts.files)
    return;
  do
    code = mf_files_remove(t->parts.files, self, mf_str_of(id), &err);
  while (tasks_again(code, self, &tries));
  if (code) /* the sweep finds it */
    mf_log(MF_LOG_WARN, "task %s: its files cannot be removed now: %s", id, err.msg);
}

/* ---- all of it ---- */

static void log_end(const struct task *k, const struct task_outcome *o)
{
  const struct mf_sandbox_result *r = o->result;
  mf_log(MF_LOG_INFO, "task %s %s: %s, %llu ms, %u inputs of %llu bytes, %u artifacts of %llu bytes, provider %s",
         k->id, task_state_name(o->state), o->reason, (unsigned long long)(r ? r->duration_ms : 0), k->input_n,
         (unsigned long long)k->input_bytes, r ? r->artifact_n : 0, (unsigned long long)k->artifact_bytes,
         r && r->receipt.provider[0] ? r->receipt.provider : "none");
  if (r && r->diagnostic[0])
    mf_log(MF_LOG_WARN, "task %s: %s", k->id, r->diagnostic);
}

static void count_end(struct mf_tasks_stats *s, const struct task_outcome *o)
{
  unsigned i = 0;
  while (i < MF_REASON_N && strcmp(o->reason, mf_run_reason_name((enum mf_run_reason)i)) != 0)
    i++;
  s->by_state[o->state]++;
  s->by_reason[i]++;
}

static void forget_live(struct task *k)
{
  mf_buf_done(&k->out);
  mf_buf_done(&k->err);
  mf_buf_init(&k->out, 0);
  mf_buf_init(&k->err, 0);
  task_inputs_free(k->inputs, k->input_n); /* what is asked of them from now on is in the result */
  k->inputs = NULL;
  k->input_n = 0;
  if (!k->tasks->parts.files) {
    k->held_bytes -= k->input_bytes;
    k->tasks->memory_bytes -= k->input_bytes;
  }
  free(k->code);
  k->code = NULL;
  k->code_n = 0;
}

/* The database has it, or will not: then nobody ever asks. */
static bool is_known(struct task *k, struct mf_fiber *self)
{
  while (k->is_storing)
    (void)task_wait(k, self, 0);
  return !k->is_refused;
}

static enum mf_code make_and_save(struct task *k, struct mf_fiber *self, struct task_outcome *o)
{
  bool is_full = false;
  make_result(k, self, o);
  enum mf_code code = save(k, self, o->state, &is_full);
  if (!is_full || k->file_n == 0)
    return code;
  task_reject_small(k, o); /* without them there is a reserve */
  make_result(k, self, o);
  return save(k, self, o->state, &is_full);
}

void task_end(struct task *k, struct mf_fiber *self, struct task_outcome *o)
{
  struct mf_tasks *t = k->tasks;
  task_ref(k);
  mf_fiber_shield(self);
  k->is_ending = true;
  k->finished_ms = tasks_now_ms(t);
  if (!is_known(k, self)) {
    mf_fiber_unshield(self);
    mf_sandbox_result_free(o->result);
    o->result = NULL;
    task_unref(k);
    return;
  }
  k->expires_ms = k->finished_ms + t->config.retention_ms;
  task_keep_artifacts(k, self, o);
  enum mf_code code = make_and_save(k, self, o);
  mf_fiber_unshield(self);
  log_end(k, o);
  mf_sandbox_result_free(o->result);
  o->result = NULL;
  k->state = o->state;
  k->is_ending = false;
  count_end(&t->stats, o);
  forget_live(k);
  if (code == MF_E_NOT_FOUND) { /* ended or removed by another process: that one's word counts */
    tasks_drop(t, k);
  } else if (code) {
    join_unsaved(k);
  } else {
    k->is_saved = true;
    tasks_keep_ended(t, k);
  }
  task_announce(k);
  task_unref(k);
}

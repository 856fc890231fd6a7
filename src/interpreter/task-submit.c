/* Submitting: a draft and a request become a task.
 *
 * The order: a place (among the running, or in the queue), the database, and only then anybody may know. One that has
 * its place among the running need not wait for the disk: it runs meanwhile, and its end waits for the database.
 * Thread: the loop's. */
#include <stdio.h>
#include <stdlib.h>

#include "base/path.h"
#include "base/utf8.h"
#include "task-draft.h"
#include "base/banned.h"

/* ---- the request ---- */

static enum mf_code check_key(struct mf_str key, struct mf_task_fault *fault, struct mf_err *err)
{
  bool is_fine = key.len <= MF_TASK_IDEMPOTENCY_KEY_MAX;
  for (size_t i = 0; is_fine && i < key.len; i++)
    is_fine = key.ptr[i] >= 0x20 && key.ptr[i] <= 0x7e;
  if (is_fine)
    return MF_OK;
  (void)!mf_fail(err, MF_E_INPUT, 0, "the idempotency key must have 1 to %u printable ASCII characters",
                 MF_TASK_IDEMPOTENCY_KEY_MAX);
  return task_blame(fault, MF_E_INPUT, "invalid_value", "Idempotency-Key");
}

static enum mf_code check_limits(const struct mf_tasks *t, const struct mf_task_request *r, struct mf_task_fault *fault,
                                 struct mf_err *err)
{
  unsigned max_mb = t->config.memory_mb_max;
  if (r->timeout_ms < 1 || r->timeout_ms > MF_TASK_TIMEOUT_MS_MAX) {
    (void)!mf_fail(err, MF_E_INPUT, 0, "limits.timeoutMs must be from 1 to %u", MF_TASK_TIMEOUT_MS_MAX);
    return task_blame(fault, MF_E_INPUT, "invalid_value", "limits.timeoutMs");
  }
  if (r->memory_mb == 0 || (r->memory_mb >= MF_TASK_MEMORY_MB_MIN && r->memory_mb <= max_mb))
    return MF_OK;
  (void)!mf_fail(err, MF_E_INPUT, 0, "limits.memoryMb must be from %u to %u here, got %u", MF_TASK_MEMORY_MB_MIN,
                 max_mb, r->memory_mb);
  return task_blame(fault, MF_E_INPUT, r->memory_mb > max_mb ? "integer_above_max_value" : "integer_below_min_value",
                    "limits.memoryMb");
}

/* All of it as the provider will see it: what is wrong here is one of two names that are the same to a person. */
static enum mf_code check_spec(const struct mf_task_draft *d, const struct mf_task_request *r,
                               struct mf_task_fault *fault, struct mf_err *err)
{
  if (r->code.len > MF_SOURCE_BYTES_MAX || !mf_utf8_is_valid(r->code) ||
      (r->code.len > 0 && memchr(r->code.ptr, 0, r->code.len))) {
    (void)!mf_fail(err, MF_E_INPUT, 0, "code must be UTF-8 without NUL, of at most %u bytes", MF_SOURCE_BYTES_MAX);
    return task_blame(fault, MF_E_INPUT, "invalid_value", "code");
  }
  struct mf_sandbox_file *files = mf_xcalloc(d->input_n + 1, sizeof(*files));
  struct mf_sandbox_spec spec = { .source = r->code, .files = files, .file_n = d->input_n };
  mf_sandbox_limits_default(&spec.limits);
  for (unsigned i = 0; i < d->input_n; i++) /* sizes only */
    files[i] = (struct mf_sandbox_file){ mf_str_of(d->inputs[i].name), { NULL, d->inputs[i].ref.size_bytes } };
  enum mf_code code = mf_sandbox_spec_check(&spec, err);
  free(files);
  return code ? task_blame(fault, MF_E_INPUT, "duplicate_name", "files") : MF_OK;
}

static enum mf_code check_source_name(struct mf_str name, struct mf_task_fault *fault, struct mf_err *err)
{
  if (name.len == 0)
    return MF_OK;
  enum mf_code code = mf_name_check(name, "source_name", err);
  if (!code && memchr(name.ptr, '/', name.len))
    code = mf_fail(err, MF_E_INPUT, 0, "source_name must be a file name without folders");
  return code ? task_blame(fault, MF_E_INPUT, "invalid_value", "source_name") : MF_OK;
}

static enum mf_code check(const struct mf_task_draft *d, const struct mf_task_request *r, struct mf_str key,
                          struct mf_task_fault *fault, struct mf_err *err)
{
  if (d->tasks->is_closing)
    return mf_fail(err, MF_E_GONE, 0, "the server is stopping");
  enum mf_code code = check_key(key, fault, err);
  if (!code)
    code = check_limits(d->tasks, r, fault, err);
  if (!code)
    code = check_source_name(r->source_name, fault, err);
  if (!code)
    code = check_spec(d, r, fault, err);
  return code;
}

static void fingerprint(const struct task *k, struct mf_str code, char ret[MF_SHA256_HEX_N])
{
  char line[128];
  struct mf_sha256 *h = mf_sha256_new();
  int n = snprintf(line, sizeof(line), "%llu %u %d %zu %u\n", (unsigned long long)k->timeout_ms, k->memory_mb,
                   k->display_last_expression, code.len, k->input_n);
  mf_sha256_update(h, line, (size_t)n);
  mf_sha256_update(h, k->source_name, strlen(k->source_name) + 1);
  mf_sha256_update(h, code.ptr, code.len);
  for (unsigned i = 0; i < k->input_n; i++) { /* a name has no control characters */
    mf_sha256_update(h, k->inputs[i].name, strlen(k->inputs[i].name) + 1);
    mf_sha256_update(h, k->inputs[i].ref.sha256, MF_SHA256_HEX_N);
  }
  mf_sha256_finish(h, ret);
}

/* Takes the inputs of the draft. */
static struct task *make_task(struct mf_task_draft *d, const struct mf_task_request *r, struct mf_str key)
{
  struct mf_tasks *t = d->tasks;
  struct task *k = task_new(t, d->id, mf_str_of(d->owner));
  free(k->idempotency_key);
  k->idempotency_key = mf_xasprintf("%.*s", (int)key.len, key.ptr ? key.ptr : "");
  k->created_ms = tasks_now_ms(t);
  k->timeout_ms = r->timeout_ms;
  k->memory_mb = r->memory_mb ? r->memory_mb : MF_MIN(MF_TASK_MEMORY_MB_DEFAULT, t->config.memory_mb_max);
  k->display_last_expression = r->display_last_expression;
  snprintf(k->source_name, sizeof(k->source_name), "%.*s", (int)r->source_name.len,
           r->source_name.len ? r->source_name.ptr : "");
  k->inputs = d->inputs;
  k->input_n = d->input_n;
  k->input_bytes = d->bytes;
  k->held_bytes = t->parts.files ? 0 : d->bytes;
  d->inputs = NULL;
  d->input_n = 0;
  d->bytes = 0;
  fingerprint(k, r->code, k->fingerprint);
  return k;
}

/* ---- places ---- */

enum place { PLACE_NONE, PLACE_RUNNING, PLACE_QUEUE };

/* About until an eighth of the queue is through. */
static unsigned retry_s(const struct mf_tasks *t)
{
  enum { MAX_S = 60 };
  uint64_t ms = (t->queue.n + 1ull) * t->run_ms / MF_MAX(t->config.running_max, 1u) / 8;
  return (unsigned)MF_MIN(ms / 1000 + 1, (uint64_t)MAX_S);
}

static bool has_place(const struct mf_tasks *t, struct mf_str owner)
{
  const struct mf_task_draft *d = t->drafts;
  while (d && !(d->has_place && mf_str_is(owner, d->owner)))
    d = d->next;
  return d || task_queue_of(&t->queue, owner) > 0;
}

/* One key does not fill the queue for all others: an eighth is left to those who have nothing in it. */
static bool has_room(const struct mf_tasks *t, struct mf_str owner)
{
  unsigned max = t->config.queue_max;
  if (owner.len > 0 && has_place(t, owner))
    max -= max / 8;
  return t->queue.n + t->submitting_n < max;
}

bool mf_tasks_has_room(const struct mf_tasks *t, struct mf_str owner, unsigned *ret_retry_s)
{
  if ((t->queue.n == 0 && tasks_may_start(t)) || has_room(t, owner))
    return true;
  *ret_retry_s = retry_s(t);
  return false;
}

static enum place take_place(struct mf_task_draft *d)
{
  struct mf_tasks *t = d->tasks;
  if (t->queue.n == 0 && tasks_may_start(t)) {
    t->running_n++;
    return PLACE_RUNNING;
  }
  if (!has_room(t, mf_str_of(d->owner)))
    return PLACE_NONE;
  d->has_place = true;
  t->submitting_n++;
  return PLACE_QUEUE;
}

static void give_place(struct mf_task_draft *d, enum place place)
{
  struct mf_tasks *t = d->tasks;
  d->has_place = false;
  t->running_n -= place == PLACE_RUNNING;
  t->submitting_n -= place == PLACE_QUEUE;
  tasks_dispatch(t);
}

/* ---- submitting ---- */

static enum mf_code fail_reused(struct mf_err *err)
{
  return mf_fail(err, MF_E_EXISTS, 0, "this idempotency key was used with another request");
}

static enum mf_code replay(const char *fingerprint_then, struct mf_str id, const struct task *k,
                           struct mf_task_submitted *ret, struct mf_err *err)
{
  if (strcmp(fingerprint_then, k->fingerprint) != 0 || id.len >= sizeof(ret->id))
    return fail_reused(err);
  *ret = (struct mf_task_submitted){ .is_replay = true };
  memcpy(ret->id, id.ptr, id.len);
  return MF_OK;
}

/* Among those in memory, which without a database is all of them. */
static struct task *find_same_key(const struct mf_tasks *t, const struct task *k)
{
  if (!k->idempotency_key[0])
    return NULL;
  for (struct task *i = t->table.newest; i; i = i->older)
    if (i != k && strcmp(i->idempotency_key, k->idempotency_key) == 0 && strcmp(i->owner, k->owner) == 0)
      return i;
  return NULL;
}

/* One that is being submitted (or NULL) can be seen soon, or is gone. */
static enum mf_code wait_until_known(struct task *k, struct mf_fiber *self, struct mf_err *err)
{
  enum mf_code code = MF_OK;
  if (!k)
    return MF_OK;
  task_ref(k);
  while (k->is_hidden && !k->is_gone && code != MF_E_CANCELLED)
    code = task_wait(k, self, 0);
  task_unref(k);
  return code == MF_E_CANCELLED ? mf_fail(err, code, 0, "waiting for a task of the same key was cancelled") : MF_OK;
}

/* The database may have it before its own submission goes on here. */
static enum mf_code replay_row(struct mf_tasks *t, struct mf_fiber *self, const struct mf_stored_tasks *rows,
                               const struct task *k, struct mf_task_submitted *ret, struct mf_err *err)
{
  const struct mf_store_task *then = mf_stored_task(rows, 0);
  mf_auto_free char *fingerprint_then = mf_xasprintf("%.*s", MF_STR_ARG(then->fingerprint));
  enum mf_code code = wait_until_known(task_table_find(&t->table, then->id), self, err);
  return code ? code : replay(fingerprint_then, then->id, k, ret, err);
}

static enum mf_code put_row(struct mf_tasks *t, struct mf_fiber *self, const struct mf_store_task *row, struct task *k,
                            struct mf_task_submitted *ret, struct mf_err *err)
{
  struct mf_stored_tasks *other = NULL;
  unsigned tries = 0;
  enum mf_code code;
  do
    code = mf_storage_put_task(t->parts.storage, self, row, &other, err);
  while (tasks_again(code, self, &tries));
  if (code == MF_E_EXISTS && other)
    code = replay_row(t, self, other, k, ret, err);
  mf_stored_tasks_free(other);
  return code;
}

/* No place for a new task: but it may be one that was submitted before. */
static enum mf_code replay_or_refuse(struct mf_tasks *t, struct mf_fiber *self, const struct task *k,
                                     struct mf_task_submitted *ret, unsigned *ret_retry_s, struct mf_err *err)
{
  struct mf_stored_tasks *rows = NULL;
  enum mf_code code = MF_E_NOT_FOUND;
  if (k->idempotency_key[0] && t->parts.storage)
    code = mf_storage_repeated_task(t->parts.storage, self, mf_str_of(k->owner), mf_str_of(k->idempotency_key), &rows,
                                    err);
  if (!code) {
    code = replay_row(t, self, rows, k, ret, err);
    mf_stored_tasks_free(rows);
    return code;
  }
  t->stats.refused++;
  *ret_retry_s = retry_s(t);
  return mf_fail(err, MF_E_CAPACITY, 0, "the queue is full: %u tasks wait; try again in %u s", t->queue.n,
                 *ret_retry_s);
}

/* A program that may be a replay must not run twice. */
static void start_early(struct task *k)
{
  struct mf_tasks *t = k->tasks;
  if (k->state == MF_TASK_RUNNING && !k->idempotency_key[0] && !t->is_closing)
    k->is_storing = tasks_start_runner(t, k);
}

/* The runner sees how it went; a program that nobody will know of is ended first. */
static void end_early(struct task *k, struct mf_fiber *self, bool is_refused)
{
  k->is_storing = false;
  k->is_refused = is_refused;
  task_announce(k);
  if (!is_refused)
    return;
  mf_fiber_shield(self);
  if (k->runner)
    mf_fiber_cancel(k->runner);
  while (k->runner)
    (void)task_wait(k, self, 0);
  mf_fiber_unshield(self);
}

/* The database has it, or has one of the same key (ret->is_replay). */
static enum mf_code store(struct mf_tasks *t, struct mf_fiber *self, struct task *k, struct mf_str source,
                          bool *ret_early, struct mf_task_submitted *ret, struct mf_err *err)
{
  if (!t->parts.storage)
    return MF_OK;
  struct mf_json_writer w;
  mf_auto_buf struct mf_buf request;
  mf_buf_init(&request, TASK_JSON_MAX);
  mf_jw_init(&w, &request, false);
  task_json_write_request(k, source, &w);
  if (w.code)
    return mf_fail(err, w.code, 0, "the request is too large");
  const struct mf_store_task row = {
    .id = mf_str_of(k->id),
    .owner = mf_str_of(k->owner),
    .idempotency_key = mf_str_of(k->idempotency_key),
    .fingerprint = mf_str_of(k->fingerprint),
    .state = k->state,
    .created_ms = k->created_ms,
    .started_ms = k->started_ms,
    .input_bytes = k->input_bytes,
    .request = mf_buf_str(&request),
  };
  start_early(k);
  *ret_early = k->is_storing;
  enum mf_code code = put_row(t, self, &row, k, ret, err);
  if (*ret_early)
    end_early(k, self, code != MF_OK);
  return code;
}

static void keep_code(struct task *k, struct mf_str source)
{
  if (k->tasks->parts.storage && k->state == MF_TASK_QUEUED && source.len > TASKS_CODE_KEPT_MAX)
    return;
  k->code = mf_xmalloc(source.len + 1);
  if (source.len > 0)
    memcpy(k->code, source.ptr, source.len);
  k->code_n = source.len;
}

static void enlist(struct mf_tasks *t, struct task *k, enum place place, bool is_early)
{
  k->is_hidden = false;
  task_announce(k);
  t->stats.submitted++;
  if (place == PLACE_QUEUE) {
    t->submitting_n--;
    task_leave_to_disk(k);
    task_queue_push(&t->queue, k);
    tasks_dispatch(t);
    return;
  }
  if (!is_early && !tasks_start_runner(t, k))
    tasks_put_back(k);
  if (k->runner && t->is_closing)
    mf_fiber_cancel(k->runner); /* it came while the others were being ended */
}

/* k is hidden in the table while the database takes it. */
static enum mf_code submit(struct mf_task_draft *d, struct mf_fiber *self, struct task *k, struct mf_str source,
                           struct mf_task_submitted *ret, unsigned *ret_retry_s, struct mf_task_fault *fault,
                           struct mf_err *err)
{
  struct mf_tasks *t = d->tasks;
  /* Those that come while the first is being stored need no places; where it fails they go on by themselves. */
  enum mf_code code = wait_until_known(find_same_key(t, k), self, err);
  if (code)
    return code;
  const struct task *same = find_same_key(t, k);
  if (same && !same->is_hidden)
    return replay(same->fingerprint, mf_str_of(same->id), k, ret, err);
  enum place place = take_place(d);
  if (place == PLACE_NONE)
    return replay_or_refuse(t, self, k, ret, ret_retry_s, err);
  if (place == PLACE_RUNNING) {
    k->state = MF_TASK_RUNNING;
    k->started_ms = k->created_ms;
    k->is_marked = true;
  }
  k->is_hidden = true;
  task_table_add(&t->table, k);
  *ret = (struct mf_task_submitted){ .is_replay = false };
  memcpy(ret->id, k->id, sizeof(ret->id));
  keep_code(k, source);
  bool is_early = false;
  if (place == PLACE_QUEUE)
    code = task_draft_to_disk(d, self, k->inputs, k->input_n, fault, err);
  if (!code)
    code = store(t, self, k, source, &is_early, ret, err);
  if (!code && !ret->is_replay) {
    enlist(t, k, place, is_early);
    return MF_OK;
  }
  tasks_drop(t, k);
  give_place(d, is_early ? PLACE_NONE : place); /* its runner gave it back */
  if (code == MF_E_CAPACITY)
    *ret_retry_s = 1;
  return code;
}

enum mf_code mf_tasks_submit(struct mf_tasks *t, struct mf_fiber *self, struct mf_task_draft *d,
                             const struct mf_task_request *r, struct mf_str idempotency_key,
                             struct mf_task_submitted *ret, unsigned *ret_retry_s, struct mf_task_fault *fault,
                             struct mf_err *err)
{
  enum mf_code code = mf_task_draft_file_end(d, self, fault, err);
  if (!code)
    code = check(d, r, idempotency_key, fault, err);
  if (code) {
    mf_task_draft_free(d, self);
    return code;
  }
  struct task *k = make_task(d, r, idempotency_key);
  code = submit(d, self, k, r->code, ret, ret_retry_s, fault, err);
  if ((code || ret->is_replay) && d->has_folder)
    tasks_remove_files(t, self, d->id);
  if ((code || ret->is_replay) && k->held_bytes > 0) { /* refused before it came into the table */
    t->memory_bytes -= k->held_bytes;
    k->held_bytes = 0;
  }
  task_unref(k);
  task_draft_drop(d);
  return code;
}

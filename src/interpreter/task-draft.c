/* A task that is being submitted: its inputs arrive one after the other, and at last the request that makes it a task.
 *
 * The order at the end: a place (among the running, or in the queue), the database, and only then anybody may know.
 * Thread: the loop's. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/path.h"
#include "base/utf8.h"
#include "tasks-internal.h"
#include "base/banned.h"

struct mf_task_draft {
  struct mf_tasks *tasks;
  struct mf_task_draft *prev, *next;
  char id[MF_ID_N];
  char *owner;
  struct task_input *inputs;
  unsigned input_n;
  uint64_t bytes;
  struct mf_buf head; /* of the file that arrives now */
  struct mf_file_put *put;
  bool is_open, has_folder;
};

/* ---- life ---- */

struct mf_task_draft *mf_task_draft_new(struct mf_tasks *t, struct mf_str owner)
{
  struct mf_task_draft *d = mf_xcalloc(1, sizeof(*d));
  d->tasks = t;
  assert(owner.len <= MF_TASK_OWNER_MAX);
  d->owner = mf_xasprintf("%.*s", (int)owner.len, owner.ptr ? owner.ptr : "");
  mf_id_new("task_", d->id);
  mf_buf_init(&d->head, CSV_HINT_HEAD_N + 1);
  d->next = t->drafts;
  if (d->next)
    d->next->prev = d;
  t->drafts = d;
  tasks_enter(t);
  return d;
}

struct mf_str mf_task_draft_id(const struct mf_task_draft *d)
{
  return mf_str_of(d->id);
}

bool tasks_is_draft(const struct mf_tasks *t, struct mf_str id)
{
  const struct mf_task_draft *d = t->drafts;
  while (d && !mf_str_is(id, d->id))
    d = d->next;
  return d != NULL;
}

/* Without its files and inputs, which are somebody else's by now or gone. */
static void free_draft(struct mf_task_draft *d)
{
  struct mf_tasks *t = d->tasks;
  *(d->prev ? &d->prev->next : &t->drafts) = d->next;
  if (d->next)
    d->next->prev = d->prev;
  mf_buf_done(&d->head);
  free(d->owner);
  free(d);
  tasks_leave(t);
}

void mf_task_draft_free(struct mf_task_draft *d, struct mf_fiber *self)
{
  if (!d)
    return;
  mf_file_put_abort(d->put, self);
  if (d->has_folder)
    tasks_remove_files(d->tasks, self, d->id);
  if (!d->tasks->parts.files)
    d->tasks->memory_bytes -= d->bytes;
  task_inputs_free(d->inputs, d->input_n);
  free_draft(d);
}

/* ---- inputs ---- */

static enum mf_code blame(struct mf_task_fault *fault, enum mf_code code, const char *fault_code, const char *param)
{
  snprintf(fault->param, sizeof(fault->param), "%s", param);
  snprintf(fault->code, sizeof(fault->code), "%s", fault_code);
  return code;
}

static enum mf_code blame_file(struct mf_task_fault *fault, enum mf_code code, const char *fault_code, unsigned i,
                               const char *member)
{
  char param[40];
  snprintf(param, sizeof(param), "files[%u].%s", i, member);
  return blame(fault, code, fault_code, param);
}

/* What the disk says is nobody's fault; that it is full has a word of its own. */
static enum mf_code blame_store(struct mf_task_fault *fault, enum mf_code code, const struct mf_err *err)
{
  bool is_full = code == MF_E_LIMIT || (err && (err->sys == ENOSPC || err->sys == EDQUOT));
  return blame(fault, code, is_full ? "storage_full" : code == MF_E_CAPACITY ? "busy" : "unavailable", "");
}

static enum mf_code check_name(const struct mf_task_draft *d, struct mf_str name, struct mf_task_fault *fault,
                               struct mf_err *err)
{
  if (d->input_n == MF_INPUT_COUNT_MAX) {
    (void)!mf_fail(err, MF_E_INPUT, 0, "files: more than the limit of %u", MF_INPUT_COUNT_MAX);
    return blame(fault, MF_E_INPUT, "array_above_max_length", "files");
  }
  if (mf_name_check(name, "input file", err) != MF_OK)
    return blame_file(fault, MF_E_INPUT, "invalid_value", d->input_n, "name");
  for (unsigned i = 0; i < d->input_n; i++)
    if (mf_str_is(name, d->inputs[i].name)) {
      char shown[120];
      mf_escape(name, shown, sizeof(shown));
      (void)!mf_fail(err, MF_E_INPUT, 0, "two input files have the name '%s'", shown);
      return blame_file(fault, MF_E_INPUT, "duplicate_name", d->input_n, "name");
    }
  return MF_OK;
}

static enum mf_code start_put(struct mf_task_draft *d, struct mf_fiber *self, struct mf_task_fault *fault,
                              struct mf_err *err)
{
  unsigned tries = 0;
  enum mf_code code = MF_OK;
  if (!d->tasks->parts.files)
    return MF_OK;
  d->has_folder = true;
  do
    code = mf_file_put_new(d->tasks->parts.files, self, mf_str_of(d->id), &d->put, err);
  while (tasks_again(code, self, &tries));
  return code ? blame_store(fault, code, err) : MF_OK;
}

enum mf_code mf_task_draft_file(struct mf_task_draft *d, struct mf_fiber *self, struct mf_str name,
                                struct mf_task_fault *fault, struct mf_err *err)
{
  enum mf_code code = d->is_open ? mf_task_draft_file_end(d, self, fault, err) : MF_OK;
  if (!code)
    code = check_name(d, name, fault, err);
  if (!code)
    code = start_put(d, self, fault, err);
  if (code)
    return code;
  d->inputs = mf_xrealloc(d->inputs, (d->input_n + 1) * sizeof(*d->inputs));
  d->inputs[d->input_n] = (struct task_input){ .name = mf_xasprintf("%.*s", MF_STR_ARG(name)) };
  mf_buf_init(&d->inputs[d->input_n].data, MF_INPUT_BYTES_MAX);
  d->input_n++;
  d->is_open = true;
  mf_buf_truncate(&d->head, 0);
  return MF_OK;
}

static enum mf_code keep_data(struct mf_task_draft *d, struct mf_fiber *self, struct mf_str data, struct mf_err *err)
{
  struct mf_tasks *t = d->tasks;
  unsigned tries = 0;
  enum mf_code code;
  if (!t->parts.files) {
    if (t->memory_bytes + data.len > TASKS_MEMORY_BYTES_MAX)
      return mf_fail(err, MF_E_LIMIT, 0, "the memory for files is full");
    code = mf_buf_append_str(&d->inputs[d->input_n - 1].data, data);
    t->memory_bytes += code ? 0 : data.len;
    return code ? mf_fail(err, code, 0, "the input is too large") : MF_OK;
  }
  do
    code = mf_file_put_write(d->put, self, data, err);
  while (tasks_again(code, self, &tries));
  return code;
}

enum mf_code mf_task_draft_data(struct mf_task_draft *d, struct mf_fiber *self, struct mf_str data,
                                struct mf_task_fault *fault, struct mf_err *err)
{
  assert(d->is_open);
  if (data.len > MF_INPUT_BYTES_MAX - d->bytes) {
    (void)!mf_fail(err, MF_E_LIMIT, 0, "the input files have more than %u bytes in all", MF_INPUT_BYTES_MAX);
    return blame_file(fault, MF_E_LIMIT, "file_too_large", d->input_n - 1, "content");
  }
  enum mf_code code = keep_data(d, self, data, err);
  if (code)
    return blame_store(fault, code, err);
  d->bytes += data.len;
  d->inputs[d->input_n - 1].ref.size_bytes += data.len;
  size_t room = d->head.max - d->head.len;
  return mf_buf_append(&d->head, data.ptr, MF_MIN(data.len, room));
}

enum mf_code mf_task_draft_file_end(struct mf_task_draft *d, struct mf_fiber *self, struct mf_task_fault *fault,
                                    struct mf_err *err)
{
  if (!d->is_open)
    return MF_OK;
  d->is_open = false;
  struct task_input *in = &d->inputs[d->input_n - 1];
  if (d->put) {
    struct mf_file_put *put = d->put;
    d->put = NULL;
    enum mf_code code = mf_file_put_finish(put, self, &in->ref, err);
    if (code)
      return blame_store(fault, code, err);
  } else {
    mf_sha256_of(mf_buf_str(&in->data), in->ref.sha256);
  }
  in->hint = csv_hint_of(mf_str_of(in->name), mf_buf_str(&d->head), d->head.len <= CSV_HINT_HEAD_N);
  return MF_OK;
}

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
  return blame(fault, MF_E_INPUT, "invalid_value", "Idempotency-Key");
}

static enum mf_code check_limits(const struct mf_tasks *t, const struct mf_task_request *r, struct mf_task_fault *fault,
                                 struct mf_err *err)
{
  unsigned max_mb = t->config.memory_mb_max;
  if (r->timeout_ms < 1 || r->timeout_ms > MF_TASK_TIMEOUT_MS_MAX) {
    (void)!mf_fail(err, MF_E_INPUT, 0, "limits.timeoutMs must be from 1 to %u", MF_TASK_TIMEOUT_MS_MAX);
    return blame(fault, MF_E_INPUT, "invalid_value", "limits.timeoutMs");
  }
  if (r->memory_mb == 0 || (r->memory_mb >= MF_TASK_MEMORY_MB_MIN && r->memory_mb <= max_mb))
    return MF_OK;
  (void)!mf_fail(err, MF_E_INPUT, 0, "limits.memoryMb must be from %u to %u here, got %u", MF_TASK_MEMORY_MB_MIN,
                 max_mb, r->memory_mb);
  return blame(fault, MF_E_INPUT, r->memory_mb > max_mb ? "integer_above_max_value" : "integer_below_min_value",
               "limits.memoryMb");
}

/* All of it as the provider will see it: what is wrong here is one of two names that are the same to a person. */
static enum mf_code check_spec(const struct mf_task_draft *d, const struct mf_task_request *r,
                               struct mf_task_fault *fault, struct mf_err *err)
{
  if (r->code.len > MF_SOURCE_BYTES_MAX || !mf_utf8_is_valid(r->code) ||
      (r->code.len > 0 && memchr(r->code.ptr, 0, r->code.len))) {
    (void)!mf_fail(err, MF_E_INPUT, 0, "code must be UTF-8 without NUL, of at most %u bytes", MF_SOURCE_BYTES_MAX);
    return blame(fault, MF_E_INPUT, "invalid_value", "code");
  }
  struct mf_sandbox_file *files = mf_xcalloc(d->input_n + 1, sizeof(*files));
  struct mf_sandbox_spec spec = { .source = r->code, .files = files, .file_n = d->input_n };
  mf_sandbox_limits_default(&spec.limits);
  for (unsigned i = 0; i < d->input_n; i++) /* sizes only */
    files[i] = (struct mf_sandbox_file){ mf_str_of(d->inputs[i].name), { NULL, d->inputs[i].ref.size_bytes } };
  enum mf_code code = mf_sandbox_spec_check(&spec, err);
  free(files);
  return code ? blame(fault, MF_E_INPUT, "duplicate_name", "files") : MF_OK;
}

static enum mf_code check_source_name(struct mf_str name, struct mf_task_fault *fault, struct mf_err *err)
{
  if (name.len == 0)
    return MF_OK;
  enum mf_code code = mf_name_check(name, "source_name", err);
  if (!code && memchr(name.ptr, '/', name.len))
    code = mf_fail(err, MF_E_INPUT, 0, "source_name must be a file name without folders");
  return code ? blame(fault, MF_E_INPUT, "invalid_value", "source_name") : MF_OK;
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

/* One key does not fill the queue for all others: an eighth is left to those who have nothing in it. */
static bool has_room(const struct mf_tasks *t, struct mf_str owner)
{
  unsigned max = t->config.queue_max;
  if (owner.len > 0 && task_queue_of(&t->queue, owner) > 0)
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

static enum place take_place(struct mf_tasks *t, const char *owner)
{
  if (t->queue.n == 0 && tasks_may_start(t)) {
    t->running_n++;
    return PLACE_RUNNING;
  }
  if (!has_room(t, mf_str_of(owner)))
    return PLACE_NONE;
  t->submitting_n++;
  return PLACE_QUEUE;
}

static void give_place(struct mf_tasks *t, enum place place)
{
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
static const struct task *find_same_key(const struct mf_tasks *t, const struct task *k)
{
  if (!k->idempotency_key[0])
    return NULL;
  for (const struct task *i = t->table.newest; i; i = i->older)
    if (i != k && strcmp(i->idempotency_key, k->idempotency_key) == 0 && strcmp(i->owner, k->owner) == 0)
      return i;
  return NULL;
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
  if (code == MF_E_EXISTS && other) {
    const struct mf_store_task *then = mf_stored_task(other, 0);
    mf_auto_free char *fingerprint_then = mf_xasprintf("%.*s", MF_STR_ARG(then->fingerprint));
    code = replay(fingerprint_then, then->id, k, ret, err);
  }
  mf_stored_tasks_free(other);
  return code;
}

/* The database has it, or has one of the same key (ret->is_replay). */
static enum mf_code store(struct mf_tasks *t, struct mf_fiber *self, struct task *k, struct mf_str source,
                          struct mf_task_submitted *ret, struct mf_err *err)
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
  return put_row(t, self, &row, k, ret, err);
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

static void enlist(struct mf_tasks *t, struct task *k, enum place place)
{
  k->is_hidden = false;
  t->stats.submitted++;
  if (place == PLACE_QUEUE) {
    t->submitting_n--;
    task_queue_push(&t->queue, k);
    tasks_dispatch(t);
  } else if (tasks_start_runner(t, k) && t->is_closing) {
    mf_fiber_cancel(k->runner); /* it came while the others were being ended */
  }
}

/* k is hidden in the table while the database takes it. */
static enum mf_code submit(struct mf_tasks *t, struct mf_fiber *self, struct task *k, struct mf_str source,
                           struct mf_task_submitted *ret, unsigned *ret_retry_s, struct mf_err *err)
{
  const struct task *same = find_same_key(t, k);
  if (same && !same->is_hidden)
    return replay(same->fingerprint, mf_str_of(same->id), k, ret, err);
  enum place place = take_place(t, k->owner);
  if (place == PLACE_NONE) {
    t->stats.refused++;
    *ret_retry_s = retry_s(t);
    return mf_fail(err, MF_E_CAPACITY, 0, "the queue is full: %u tasks wait; try again in %u s", t->queue.n,
                   *ret_retry_s);
  }
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
  enum mf_code code = store(t, self, k, source, ret, err);
  if (!code && !ret->is_replay) {
    enlist(t, k, place);
    return MF_OK;
  }
  tasks_drop(t, k);
  give_place(t, place);
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
  code = submit(t, self, k, r->code, ret, ret_retry_s, err);
  if ((code || ret->is_replay) && d->has_folder)
    tasks_remove_files(t, self, d->id);
  if ((code || ret->is_replay) && k->held_bytes > 0) { /* refused before it came into the table */
    t->memory_bytes -= k->held_bytes;
    k->held_bytes = 0;
  }
  task_unref(k);
  free_draft(d);
  return code;
}

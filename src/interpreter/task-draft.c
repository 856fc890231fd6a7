/* A task that is being submitted: its inputs arrive one after the other. Thread: the loop's. Neighbour: task-submit.c
 * makes it a task. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/path.h"
#include "task-draft.h"
#include "base/banned.h"

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

void task_draft_drop(struct mf_task_draft *d)
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
  task_draft_drop(d);
}

/* ---- inputs ---- */

enum mf_code task_blame(struct mf_task_fault *fault, enum mf_code code, const char *fault_code, const char *param)
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
  return task_blame(fault, code, fault_code, param);
}

/* What the disk says is nobody's fault; that it is full has a word of its own. */
static enum mf_code blame_store(struct mf_task_fault *fault, enum mf_code code, const struct mf_err *err)
{
  bool is_full = code == MF_E_LIMIT || (err && (err->sys == ENOSPC || err->sys == EDQUOT));
  return task_blame(fault, code, is_full ? "storage_full" : code == MF_E_CAPACITY ? "busy" : "unavailable", "");
}

static enum mf_code check_name(const struct mf_task_draft *d, struct mf_str name, struct mf_task_fault *fault,
                               struct mf_err *err)
{
  if (d->input_n == MF_INPUT_COUNT_MAX) {
    (void)!mf_fail(err, MF_E_INPUT, 0, "files: more than the limit of %u", MF_INPUT_COUNT_MAX);
    return task_blame(fault, MF_E_INPUT, "array_above_max_length", "files");
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

enum mf_code mf_task_draft_file(struct mf_task_draft *d, struct mf_fiber *self, struct mf_str name,
                                struct mf_task_fault *fault, struct mf_err *err)
{
  enum mf_code code = d->is_open ? mf_task_draft_file_end(d, self, fault, err) : MF_OK;
  if (!code)
    code = check_name(d, name, fault, err);
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

static enum mf_code write_put(struct mf_file_put *put, struct mf_fiber *self, struct mf_str data, struct mf_err *err)
{
  unsigned tries = 0;
  enum mf_code code;
  do
    code = mf_file_put_write(put, self, data, err);
  while (tasks_again(code, self, &tries));
  return code;
}

/* From now on the file that arrives goes to the disk, with what is here of it. */
static enum mf_code start_put(struct mf_task_draft *d, struct mf_fiber *self, struct mf_err *err)
{
  struct task_input *in = &d->inputs[d->input_n - 1];
  unsigned tries = 0;
  enum mf_code code;
  d->has_folder = true;
  do
    code = mf_file_put_new(d->tasks->parts.files, self, mf_str_of(d->id), &d->put, err);
  while (tasks_again(code, self, &tries));
  if (!code)
    code = write_put(d->put, self, mf_buf_str(&in->data), err);
  mf_buf_done(&in->data);
  mf_buf_init(&in->data, MF_INPUT_BYTES_MAX);
  return code;
}

/* Small inputs need no disk until it is known that their task has to wait. */
static enum mf_code keep_data(struct mf_task_draft *d, struct mf_fiber *self, struct mf_str data, struct mf_err *err)
{
  struct mf_tasks *t = d->tasks;
  enum mf_code code = MF_OK;
  if (t->parts.files && (d->put || d->bytes + data.len > TASKS_INPUTS_KEPT_MAX)) {
    if (!d->put)
      code = start_put(d, self, err);
    return code ? code : write_put(d->put, self, data, err);
  }
  if (!t->parts.files && t->memory_bytes + data.len > TASKS_MEMORY_BYTES_MAX)
    return mf_fail(err, MF_E_LIMIT, 0, "the memory for files is full");
  code = mf_buf_append_str(&d->inputs[d->input_n - 1].data, data);
  t->memory_bytes += code || t->parts.files ? 0 : data.len;
  return code ? mf_fail(err, code, 0, "the input is too large") : MF_OK;
}

static enum mf_code finish_put(struct mf_file_put *put, struct mf_fiber *self, struct task_input *in,
                               struct mf_err *err)
{
  enum mf_code code = mf_file_put_finish(put, self, &in->ref, err);
  in->is_on_disk = code == MF_OK;
  return code;
}

/* What is in memory only goes to the disk: the task will wait, and a restart must find all of it. */
enum mf_code task_draft_to_disk(struct mf_task_draft *d, struct mf_fiber *self, struct task_input *inputs, unsigned n,
                                struct mf_task_fault *fault, struct mf_err *err)
{
  struct mf_files *files = d->tasks->parts.files;
  enum mf_code code = MF_OK;
  for (unsigned i = 0; files && i < n && !code; i++) {
    struct mf_file_put *put = NULL;
    unsigned tries = 0;
    if (inputs[i].is_on_disk)
      continue;
    d->has_folder = true;
    do
      code = mf_file_put_new(files, self, mf_str_of(d->id), &put, err);
    while (tasks_again(code, self, &tries));
    if (!code)
      code = write_put(put, self, mf_buf_str(&inputs[i].data), err);
    if (!code)
      code = finish_put(put, self, &inputs[i], err);
    else
      mf_file_put_abort(put, self);
  }
  return code ? blame_store(fault, code, err) : MF_OK;
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
    enum mf_code code = finish_put(put, self, in, err);
    if (code)
      return blame_store(fault, code, err);
  } else {
    mf_sha256_of(mf_buf_str(&in->data), in->ref.sha256);
  }
  in->hint = csv_hint_of(mf_str_of(in->name), mf_buf_str(&d->head), d->head.len <= CSV_HINT_HEAD_N);
  return MF_OK;
}

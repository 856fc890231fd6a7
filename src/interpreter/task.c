/* A task: life, and waiting for it. */
#include "tasks-internal.h"

#include <assert.h>
#include <stdlib.h>

#include "base/fd.h"
#include "base/banned.h"

static const char *const state_names[MF_TASK_STATE_N] = {
  [MF_TASK_QUEUED] = "queued", [MF_TASK_RUNNING] = "running",     [MF_TASK_SUCCEEDED] = "succeeded",
  [MF_TASK_FAILED] = "failed", [MF_TASK_TIMED_OUT] = "timed_out", [MF_TASK_CANCELLED] = "cancelled",
};

const char *task_state_name(enum mf_task_state s)
{
  return state_names[s];
}

struct task *task_new(struct mf_tasks *t, const char *id, struct mf_str owner)
{
  struct task *k = mf_xcalloc(1, sizeof(*k));
  k->tasks = t;
  k->ref_n = 1;
  assert(strlen(id) < sizeof(k->id));
  memcpy(k->id, id, strlen(id) + 1);
  k->owner = mf_xasprintf("%.*s", MF_STR_ARG(owner));
  k->idempotency_key = mf_xstrdup("");
  mf_buf_init(&k->out, 0);
  mf_buf_init(&k->err, 0);
  mf_buf_init(&k->result, 0);
  return k;
}

void task_ref(struct task *k)
{
  k->ref_n++;
}

void task_leave_to_disk(struct task *k)
{
  for (unsigned i = 0; k->tasks->parts.files && i < k->input_n; i++) {
    mf_buf_done(&k->inputs[i].data);
    mf_buf_init(&k->inputs[i].data, 0);
  }
}

void task_inputs_free(struct task_input *inputs, unsigned n)
{
  for (unsigned i = 0; i < n; i++) {
    free(inputs[i].name);
    mf_buf_done(&inputs[i].data);
  }
  free(inputs);
}

void task_files_free(struct task *k)
{
  for (unsigned i = 0; i < k->file_n; i++)
    mf_buf_done(&k->files[i].data);
  free(k->files);
  k->files = NULL;
  k->file_n = 0;
}

void task_strip(struct task *k)
{
  free(k->code);
  k->code = NULL;
  k->code_n = 0;
  task_inputs_free(k->inputs, k->input_n);
  k->inputs = NULL;
  k->input_n = 0;
  mf_buf_done(&k->out);
  mf_buf_done(&k->err);
  mf_buf_done(&k->result);
  mf_buf_init(&k->out, 0);
  mf_buf_init(&k->err, 0);
  mf_buf_init(&k->result, 0);
  mf_json_free(k->doc);
  k->doc = NULL;
  for (unsigned i = 0; i < k->kept_n; i++) {
    free(k->kept[i].path);
    mf_close_ptr(&k->kept[i].fd);
  }
  free(k->kept);
  k->kept = NULL;
  k->kept_n = 0;
  task_files_free(k);
}

void task_unref(struct task *k)
{
  if (--k->ref_n > 0)
    return;
  assert(!k->waiters && !k->is_queued && !k->is_in_table && !k->is_in_ended);
  task_strip(k);
  mf_buf_done(&k->out);
  mf_buf_done(&k->err);
  mf_buf_done(&k->result);
  free(k->owner);
  free(k->idempotency_key);
  free(k);
}

bool task_has_ended(const struct task *k)
{
  return k->state >= MF_TASK_SUCCEEDED;
}

size_t task_bytes(const struct task *k)
{
  size_t n = k->code_n + k->out.cap + k->err.cap + k->result.cap * (k->doc ? 2 : 1);
  for (unsigned i = 0; i < k->input_n; i++)
    n += k->inputs[i].data.cap;
  for (unsigned i = 0; i < k->kept_n; i++)
    n += k->kept[i].size_bytes;
  for (unsigned i = 0; i < k->file_n; i++)
    n += k->files[i].data.cap;
  return n;
}

void task_announce(struct task *k)
{
  for (struct task_waiter *w = k->waiters; w; w = w->next)
    mf_fiber_wake(w->fiber);
}

enum mf_code task_wait(struct task *k, struct mf_fiber *self, uint64_t deadline_ns)
{
  struct task_waiter w = { self, k->waiters }, **at = &k->waiters;
  k->waiters = &w;
  enum mf_code code = mf_fiber_wait(self, deadline_ns);
  while (*at != &w)
    at = &(*at)->next;
  *at = w.next;
  return code;
}

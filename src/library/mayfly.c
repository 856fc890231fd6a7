/* The three calls for any thread: each is a function that runs in a fiber of the engine. */
#include "mayfly.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/time.h"
#include "engine.h"
#include "result.h"

#include "base/banned.h"

_Static_assert(MAYFLY_ID_N >= MF_ID_N, "an id fits");

enum { RUNNING_DEFAULT = 2, QUEUE_DEFAULT = 1000 };

struct mayfly {
  struct mf_engine *engine;
};

/* ---- errors ---- */

static enum mayfly_code public_code(enum mf_code code)
{
  switch (code) {
  case MF_OK:
    return MAYFLY_OK;
  case MF_E_INPUT:
  case MF_E_LIMIT:
    return MAYFLY_E_INPUT;
  case MF_E_NOT_FOUND:
    return MAYFLY_E_NOT_FOUND;
  case MF_E_GONE:
    return MAYFLY_E_GONE;
  case MF_E_CAPACITY:
    return MAYFLY_E_BUSY;
  case MF_E_TIMEOUT:
  case MF_E_EXISTS:
  case MF_E_CANCELLED:
  case MF_E_UNAVAILABLE:
  case MF_E_SYS:
  case MF_E_INTERNAL:
  case MF_CODE_N:
    break;
  }
  return MAYFLY_E_UNAVAILABLE;
}

static enum mayfly_code tell(enum mf_code code, const struct mf_err *err, const char *param, struct mayfly_error *e)
{
  enum mayfly_code answer = public_code(code);
  if (answer == MAYFLY_OK || !e)
    return answer;
  e->code = answer;
  snprintf(e->param, sizeof(e->param), "%s", param);
  snprintf(e->message, sizeof(e->message), "%s", err->msg);
  return answer;
}

/* ---- life ---- */

static const char *first_of(const char *a, const char *b, const char *c)
{
  if (a && *a)
    return a;
  return b && *b ? b : c;
}

enum mayfly_code mayfly_open(const struct mayfly_options *options, struct mayfly **ret, struct mayfly_error *e)
{
  const struct mayfly_options none = { 0 };
  const struct mayfly_options *o = options ? options : &none;
  enum mf_provider_kind kind;
  struct mf_err err = { 0 };
  enum mf_code code = mf_provider_kind_find(first_of(o->provider, NULL, "local"), &kind, &err);
  if (code)
    return tell(code, &err, "provider", e);
  const char *env = kind == MF_PROVIDER_WASM ? "MAYFLY_WASM_RUNTIME" : "MAYFLY_RUNTIME";
  const char *runtime = first_of(o->runtime, getenv(env), NULL);
  struct mf_engine_config config = {
    .kind = kind,
    .program = mf_xstrdup(first_of(o->program, getenv("MAYFLY_PROGRAM"), MAYFLY_PROGRAM)),
    .runtime = runtime ? mf_xstrdup(runtime) : NULL,
    .running_max = o->running_max ? o->running_max : RUNNING_DEFAULT,
    .queue_max = o->queue_max ? o->queue_max : QUEUE_DEFAULT,
  };
  struct mf_engine *engine = NULL;
  mf_log_set_level(MF_LOG_WARN); /* this library's own log: the terminal is another program's */
  code = mf_engine_new(&config, &engine, &err);
  if (code)
    return tell(code, &err, "", e);
  *ret = mf_xcalloc(1, sizeof(**ret));
  (*ret)->engine = engine;
  return MAYFLY_OK;
}

void mayfly_close(struct mayfly *m)
{
  if (!m)
    return;
  mf_engine_free(m->engine);
  free(m);
}

/* ---- submit ---- */

struct submit {
  const struct mayfly_request *request;
  struct mf_task_submitted done;
  struct mf_task_fault fault;
};

static enum mf_code add_file(struct mf_task_draft *d, struct mf_fiber *self, const struct mayfly_request *q, size_t i,
                             struct mf_task_fault *fault, struct mf_err *err)
{
  const struct mayfly_file *f = &q->files[i];
  enum mf_code code = mf_task_draft_file(d, self, mf_str_of(f->name ? f->name : ""), fault, err);
  if (!code && !f->data && f->size > 0) {
    snprintf(fault->param, sizeof(fault->param), "files[%zu].data", i);
    return mf_fail(err, MF_E_INPUT, 0, "%s: missing", fault->param);
  }
  if (!code)
    code = mf_task_draft_data(d, self, (struct mf_str){ f->data, f->size }, fault, err);
  return code ? code : mf_task_draft_file_end(d, self, fault, err);
}

static enum mf_code submit(void *user, struct mf_tasks *tasks, struct mf_fiber *self, struct mf_err *err)
{
  struct submit *s = user;
  const struct mayfly_request *q = s->request;
  struct mf_task_request r;
  unsigned retry_s = 0;
  mf_task_request_default(&r);
  if (!q->code || (!q->files && q->file_n > 0)) {
    snprintf(s->fault.param, sizeof(s->fault.param), "%s", q->code ? "files" : "code");
    return mf_fail(err, MF_E_INPUT, 0, "%s: missing", s->fault.param);
  }
  r.code = mf_str_of(q->code);
  r.display_last_expression = q->display_last_expression != 0;
  if (q->timeout_ms)
    r.timeout_ms = q->timeout_ms;
  if (q->memory_mb)
    r.memory_mb = q->memory_mb;
  struct mf_task_draft *d = mf_task_draft_new(tasks, MF_STR(""));
  for (size_t i = 0; i < q->file_n; i++) {
    enum mf_code code = add_file(d, self, q, i, &s->fault, err);
    if (code) {
      mf_task_draft_free(d, self);
      return code;
    }
  }
  return mf_tasks_submit(tasks, self, d, &r, MF_STR(""), &s->done, &retry_s, &s->fault, err);
}

enum mayfly_code mayfly_submit(struct mayfly *m, const struct mayfly_request *request, char ret_id[MAYFLY_ID_N],
                               struct mayfly_error *e)
{
  struct submit s = { .request = request };
  struct mf_err err = { 0 };
  enum mf_code code = mf_engine_call(m->engine, submit, &s, &err);
  if (!code)
    snprintf(ret_id, MAYFLY_ID_N, "%s", s.done.id);
  return tell(code, &err, s.fault.param, e);
}

/* ---- get, cancel, delete ---- */

struct ask {
  struct mf_str id;
  uint64_t deadline_ns;
  struct mf_buf json;
};

static enum mf_code get(void *user, struct mf_tasks *tasks, struct mf_fiber *self, struct mf_err *err)
{
  struct ask *a = user;
  return mf_tasks_get(tasks, self, MF_STR(""), a->id, a->deadline_ns, &a->json, err);
}

static enum mf_code cancel(void *user, struct mf_tasks *tasks, struct mf_fiber *self, struct mf_err *err)
{
  struct ask *a = user;
  return mf_tasks_cancel(tasks, self, MF_STR(""), a->id, err);
}

static enum mf_code delete_one(void *user, struct mf_tasks *tasks, struct mf_fiber *self, struct mf_err *err)
{
  struct ask *a = user;
  return mf_tasks_delete(tasks, self, MF_STR(""), a->id, err);
}

enum mayfly_code mayfly_get(struct mayfly *m, const char *id, unsigned wait_ms, struct mayfly_result **ret,
                            struct mayfly_error *e)
{
  struct ask a = { .id = mf_str_of(id), .deadline_ns = wait_ms ? mf_now_ns() + wait_ms * MF_NS_PER_MS : 0 };
  struct mf_err err = { 0 };
  mf_buf_init(&a.json, 0);
  enum mf_code code = mf_engine_call(m->engine, get, &a, &err);
  if (!code) {
    struct mayfly_result *r = mf_library_result(&a.json);
    if (r)
      *ret = r;
    else
      code = mf_fail(&err, MF_E_INTERNAL, 0, "the task cannot be read");
  }
  mf_buf_done(&a.json);
  return tell(code, &err, "", e);
}

enum mayfly_code mayfly_cancel(struct mayfly *m, const char *id, struct mayfly_error *e)
{
  struct ask a = { .id = mf_str_of(id) };
  struct mf_err err = { 0 };
  return tell(mf_engine_call(m->engine, cancel, &a, &err), &err, "", e);
}

enum mayfly_code mayfly_delete(struct mayfly *m, const char *id, struct mayfly_error *e)
{
  struct ask a = { .id = mf_str_of(id) };
  struct mf_err err = { 0 };
  return tell(mf_engine_call(m->engine, delete_one, &a, &err), &err, "", e);
}

/* ---- artifacts ---- */

struct fetch {
  struct mf_str id, artifact_id;
  struct mf_task_artifact artifact; /* to be released where the call was MF_OK */
};

static enum mf_code fetch(void *user, struct mf_tasks *tasks, struct mf_fiber *self, struct mf_err *err)
{
  struct fetch *f = user;
  return mf_tasks_artifact(tasks, self, MF_STR(""), f->id, f->artifact_id, &f->artifact, err);
}

/* In the caller's thread: it is memory that is read. */
static enum mf_code read_whole(const struct mf_task_artifact *a, void **ret, size_t *ret_size, struct mf_err *err)
{
  size_t size = (size_t)a->ref.size_bytes;
  mf_auto_free char *data = mf_xmalloc(size + 1);
  for (size_t at = 0; at < size;) {
    ssize_t n = pread(a->fd, data + at, size - at, (off_t)at);
    if (n <= 0)
      return mf_fail(err, MF_E_SYS, 0, "read the artifact");
    at += (size_t)n;
  }
  data[size] = 0;
  *ret = data;
  *ret_size = size;
  data = NULL;
  return MF_OK;
}

enum mayfly_code mayfly_artifact(struct mayfly *m, const char *id, const char *artifact_id, void **ret,
                                 size_t *ret_size, struct mayfly_error *e)
{
  struct fetch f = { .id = mf_str_of(id), .artifact_id = mf_str_of(artifact_id) };
  struct mf_err err = { 0 };
  enum mf_code code = mf_engine_call(m->engine, fetch, &f, &err);
  if (!code) {
    code = read_whole(&f.artifact, ret, ret_size, &err);
    mf_task_artifact_done(&f.artifact);
  }
  return tell(code, &err, "", e);
}

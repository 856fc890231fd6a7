/* A task of a server for a person's eyes. */
#include "task-show.h"

#include "cli.h"
#include "outcome.h"
#include "remote-result.h"
#include "remote-task.h"
#include "report.h"

#include "base/banned.h"

enum { CANCEL_MS = 5000 };

static void say_files(const char *id, const struct mf_sandbox_result *r)
{
  if (r->artifact_n > 0)
    mf_say("%u file%s: 'mayfly fetch %s'", r->artifact_n, r->artifact_n == 1 ? "" : "s", id);
}

/* The words about an ended task whose output is on its way to the console. */
static int show_end(struct mf_session *s, const char *id, const struct mf_json_val *task, bool json)
{
  struct mf_sandbox_result *r = NULL;
  struct mf_err err = { 0 };
  if (mf_remote_result(task, &r, &err))
    return mf_session_fail(s, &err);
  int status = mf_result_exit_status(r);
  if (s->signal && r->status == MF_RUN_CANCELLED)
    status = 128 + s->signal;
  if (json) {
    int printed = mf_session_print(task);
    status = printed ? printed : status;
  } else {
    if (mf_outcome_has_words(r))
      mf_console_new_line(s->console);
    mf_outcome_words(r, &r->receipt.limits);
    say_files(id, r);
  }
  mf_sandbox_result_free(r);
  return status;
}

static void show_text(struct mf_session *s, const struct mf_json_val *task, const char *key, bool is_stderr)
{
  const struct mf_json_val *v = mf_json_get(task, key);
  if (mf_json_type_of(v) == MF_JSON_STR)
    mf_console_write(s->console, is_stderr, mf_json_str(v));
}

int mf_task_show(struct mf_session *s, const struct mf_json_val *task, bool json)
{
  const struct mf_json_val *id = mf_json_get(task, "taskId");
  struct mf_err err = { .msg = "the server's answer is not a task" };
  if (mf_json_type_of(id) != MF_JSON_STR || !mf_remote_is_id(mf_json_str(id)))
    return mf_session_fail(s, &err);
  mf_auto_free char *name = mf_xasprintf("%.*s", MF_STR_ARG(mf_json_str(id)));
  if (!json) {
    show_text(s, task, "stdout", false);
    show_text(s, task, "stderr", true);
    if (!mf_session_drain(s))
      return mf_session_fail(s, &err);
  }
  if (mf_remote_has_ended(task))
    return show_end(s, name, task, json);
  if (json)
    return mf_session_print(task);
  uint64_t place = 0;
  mf_console_new_line(s->console);
  if (mf_json_u64(mf_json_get(task, "queuePosition"), &place))
    mf_say("%s is queued, number %llu", name, (unsigned long long)place);
  else
    mf_say("%s is %.*s", name, MF_STR_ARG(mf_remote_status(task)));
  return 0;
}

static enum mf_code cancel(struct mf_session *s, const char *id, struct mf_json **ret, struct mf_err *err)
{
  mf_fiber_shield(s->self);
  enum mf_code code = mf_remote_cancel(s->remote, s->self, id, NULL, err);
  if (!code)
    code = mf_remote_get(s->remote, s->self, id, CANCEL_MS, ret, err);
  mf_fiber_unshield(s->self);
  return code;
}

int mf_task_follow(struct mf_session *s, const char *id, bool json, bool cancels)
{
  mf_auto_json struct mf_json *task = NULL;
  struct mf_err err = { 0 };
  struct mf_follow f = { .remote = s->remote, .id = id, .console = json ? NULL : s->console };
  enum mf_code code = mf_remote_follow(&f, s->self, &task, &err);
  bool is_cancelled = code == MF_E_CANCELLED && cancels;
  if (is_cancelled)
    code = cancel(s, id, &task, &err);
  if (code || (!json && !is_cancelled && !mf_session_drain(s)))
    return mf_session_fail(s, &err);
  mf_console_progress_end(s->console);
  return s->broken_sys ? mf_session_fail(s, &err) : show_end(s, id, mf_json_root(task), json);
}

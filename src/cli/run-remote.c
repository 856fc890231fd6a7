/* One program by a server of this user that runs already. Where nobody has named a server, whatever goes wrong before
 * something was printed only means that a sandbox of our own does it. */
#include "run.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "remote-result.h"
#include "remote-task.h"
#include "session.h"

#include "base/banned.h"

enum { CANCEL_MS = 5000, ANSWER_MS = 5000 }; /* a server that hangs: sooner by a sandbox of our own */

struct remote_run {
  const struct mf_run_args *args;
  const struct mf_sandbox_spec *spec;
  bool may_fall_back; /* nobody named the server */
  bool fell_back;
  char id[MF_REMOTE_ID_N];
  struct mf_json *task; /* after its end */
  struct mf_sandbox_result *result;
};

/* The way back to a sandbox of our own; what was printed cannot be taken back. */
static int fall_back(struct mf_session *s, struct remote_run *r, const struct mf_follow *f, const struct mf_err *err)
{
  if (!r->may_fall_back || s->signal || s->broken_sys || f->shown[0] || f->shown[1])
    return mf_session_fail(s, err);
  mf_console_progress_end(s->console);
  if (r->id[0] && !f->is_lost) { /* nobody would take what it gives */
    mf_fiber_shield(s->self);
    (void)!mf_remote_cancel(s->remote, s->self, r->id, NULL, NULL);
    mf_fiber_unshield(s->self);
  }
  if (isatty(STDERR_FILENO) == 1) /* a person may wonder; a script gets what it always got */
    mf_say("%s: it runs in a sandbox of its own", err->msg);
  r->fell_back = true;
  return MF_EXIT_OURS;
}

/* After a signal, or when nobody reads: the task must not go on. What it has become is shown as any result. */
static enum mf_code cancel(struct mf_session *s, struct remote_run *r, struct mf_err *err)
{
  mf_fiber_shield(s->self);
  enum mf_code code = mf_remote_cancel(s->remote, s->self, r->id, NULL, err);
  if (!code)
    code = mf_remote_get(s->remote, s->self, r->id, CANCEL_MS, &r->task, err);
  mf_fiber_unshield(s->self);
  return code;
}

static enum mf_code take_result(struct mf_session *s, struct remote_run *r, struct mf_err *err)
{
  const struct mf_json_val *task = mf_json_root(r->task);
  enum mf_code code = mf_remote_result(task, &r->result, err);
  if (!code && r->result->status != MF_RUN_CANCELLED)
    code = mf_remote_fetch(s->remote, s->self, task, r->result, err);
  return code;
}

static int conclude(struct mf_session *s, struct remote_run *r)
{
  const struct mf_outcome outcome = { .form = &r->args->form,
                                      .result = r->result,
                                      .limits = &r->spec->limits,
                                      .task_id = r->id,
                                      .signal = s->signal,
                                      .console = s->console };
  return mf_outcome(&outcome);
}

static int work(struct mf_session *s)
{
  struct remote_run *r = s->user;
  struct mf_err err = { 0 };
  struct mf_follow f = { .remote = s->remote, .id = r->id, .wall_ms = r->spec->limits.wall_ms };
  f.console = r->args->form.json ? NULL : s->console;
  mf_console_progress(s->console, "starting", 0);
  enum mf_code code =
      mf_remote_submit(s->remote, s->self, r->spec, r->may_fall_back ? ANSWER_MS : 0, r->id, NULL, &err);
  if (code)
    return fall_back(s, r, &f, &err);
  code = mf_remote_follow(&f, s->self, &r->task, &err);
  if (code == MF_E_CANCELLED)
    code = cancel(s, r, &err);
  if (!code && !s->signal && !s->broken_sys && !mf_session_drain(s))
    code = mf_fail(&err, MF_E_CANCELLED, 0, "cancelled");
  if (!code)
    code = take_result(s, r, &err);
  if (code)
    return fall_back(s, r, &f, &err);
  mf_console_progress_end(s->console);
  return s->broken_sys ? mf_session_fail(s, &err) : conclude(s, r);
}

/* *ret_place: the server that is to do it. False: none; *ret_exit then says what was wrong, or is 0. */
static bool find_server(const struct mf_run_args *a, const struct mf_sandbox_spec *spec, struct mf_remote_place *ret,
                        int *ret_exit)
{
  const char *where = mf_remote_where(a->server);
  struct mf_err err = { 0 };
  bool can = !a->is_special && mf_remote_can_run(spec);
  *ret_exit = 0;
  if (strcmp(where, "off") == 0 || (!can && strcmp(where, "auto") == 0))
    return false;
  if (strcmp(where, "auto") == 0)
    return mf_remote_find_local(ret, &err) == MF_OK;
  enum mf_code code = mf_remote_find(where, ret, &err);
  if (!code && can)
    return true;
  if (!code)
    mf_fail(
        &err, MF_E_INPUT, 0,
        "--server (MAYFLY_SERVER): a task of a server has no arguments, no options but --timeout (to %u), --memory and "
        "--display-last",
        MF_REMOTE_WALL_MS_MAX);
  mf_say("%s", err.msg);
  mf_remote_place_done(ret);
  *ret_exit = MF_EXIT_OURS;
  return false;
}

bool mf_run_remote(const struct mf_run_args *a, const struct mf_sandbox_spec *spec, int *ret_exit)
{
  struct mf_remote_place place = { 0 };
  struct remote_run r = { .args = a, .spec = spec };
  r.may_fall_back = strcmp(mf_remote_where(a->server), "auto") == 0;
  int status;
  if (!find_server(a, spec, &place, &status)) {
    *ret_exit = status;
    return status != 0;
  }
  struct mf_err err = { 0 };
  enum mf_code code = mf_session_run(&place, work, &r, &status, &err);
  mf_sandbox_result_free(r.result);
  mf_json_free(r.task);
  if (r.fell_back || (code && r.may_fall_back))
    return false;
  if (code)
    mf_say("%s", err.msg);
  *ret_exit = code ? MF_EXIT_OURS : status;
  return true;
}

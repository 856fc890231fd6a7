/* A command's talk with a server. */
#include "session.h"

#include <errno.h>
#include <signal.h>

#include "cli.h"
#include "sandbox/sandbox.h"

#include "base/banned.h"

enum { JSON_BYTES_MAX = 256 << 20 };

static void on_signal(void *user, int sig)
{
  struct mf_session *s = user;
  s->signal = sig;
  if (s->self)
    mf_fiber_cancel(s->self);
}

static void on_broken(void *user, int sys)
{
  struct mf_session *s = user;
  s->broken_sys = sys;
  if (s->self)
    mf_fiber_cancel(s->self);
}

static void on_drained(void *user)
{
  struct mf_session *s = user;
  if (s->self)
    mf_fiber_wake(s->self);
}

static void live(void *user)
{
  struct mf_session *s = user;
  s->exit = s->work(s);
  mf_fiber_detach(s->self);
  s->self = NULL;
  mf_loop_stop(s->stage.loop);
}

static enum mf_code run(struct mf_session *s, struct mf_remote_place *place, struct mf_err *err)
{
  static const struct mf_console_events events = { on_broken, on_drained };
  enum mf_code code = mf_stage_init(&s->stage, on_signal, s, err);
  if (!code)
    code = mf_console_new(s->stage.loop, MF_OUTPUT_BYTES_MAX, &events, s, &s->console, err);
  if (!code)
    code = mf_remote_new(s->stage.loop, place, &s->remote, err);
  if (!code)
    code = mf_fiber_start(s->stage.loop, live, s, 0, &s->self, err);
  return code ? code : mf_loop_run(s->stage.loop, err);
}

enum mf_code mf_session_run(struct mf_remote_place *place, int (*work)(struct mf_session *s), void *user, int *ret_exit,
                            struct mf_err *err)
{
  struct mf_session s = { .work = work, .user = user, .exit = MF_EXIT_OURS };
  enum mf_code code = run(&s, place, err);
  if (!code)
    *ret_exit = s.exit;
  mf_remote_place_done(place);
  if (!s.self) { /* else the loop broke, and things are open: the process ends now */
    mf_remote_free(s.remote);
    mf_console_free(s.console);
  }
  mf_stage_done(&s.stage, s.self != NULL);
  return code;
}

bool mf_session_drain(struct mf_session *s)
{
  mf_console_progress_end(s->console);
  mf_console_end(s->console);
  while (!mf_console_is_drained(s->console) && !s->signal && !s->broken_sys)
    (void)!mf_fiber_wait(s->self, 0);
  return !s->signal && !s->broken_sys;
}

int mf_session_fail(struct mf_session *s, const struct mf_err *err)
{
  mf_console_progress_end(s->console);
  if (s->signal)
    return 128 + s->signal;
  if (s->broken_sys == EPIPE)
    return 128 + SIGPIPE;
  mf_console_new_line(s->console);
  if (s->broken_sys)
    mf_say("standard output: %s", strerror(s->broken_sys));
  else
    mf_say("%s", err->msg);
  return MF_EXIT_OURS;
}

int mf_session_print(const struct mf_json_val *v)
{
  struct mf_json_writer w;
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, JSON_BYTES_MAX);
  mf_jw_init(&w, &out, false);
  mf_jw_val(&w, v);
  if (w.code || mf_buf_append(&out, "\n", 1)) {
    mf_say("the answer is too large for JSON");
    return MF_EXIT_OURS;
  }
  return mf_print_exit(mf_buf_str(&out));
}

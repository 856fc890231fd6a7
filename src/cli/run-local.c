/* One program in one sandbox of our own: one loop, one provider, one run. */
#include "run.h"

#include <errno.h>
#include <signal.h>

#include "stage.h"

#include "base/banned.h"

struct run_state {
  const struct mf_run_args *args;
  const struct mf_sandbox_spec *spec;
  struct mf_stage stage;
  struct mf_console *console;
  struct mf_provider *provider; /* NULL when closed */
  struct mf_run *run;           /* NULL when none is under way */
  struct mf_sandbox_result *result;
  struct mf_err err; /* why there is no result */
  bool failed;
  int signal;     /* that asked us to end */
  int broken_sys; /* standard output failed so; 0: it did not */
  bool closing;
};

static void on_closed(void *user)
{
  struct run_state *s = user;
  s->provider = NULL;
  mf_loop_stop(s->stage.loop);
}

static void close_now(void *user)
{
  struct run_state *s = user;
  mf_provider_close(s->provider, on_closed, s);
}

/* Ends the loop by way of the provider, from a fresh call: the provider may be in the middle of one of its own. */
static void close_later(struct run_state *s)
{
  if (s->closing)
    return;
  s->closing = true;
  mf_console_progress_end(s->console);
  if (mf_loop_defer(s->stage.loop, close_now, s, NULL) != MF_OK)
    mf_loop_stop(s->stage.loop);
}

static void give_up(struct run_state *s, const struct mf_err *err)
{
  s->failed = true;
  s->err = *err;
  close_later(s);
}

static void close_when_written(struct run_state *s)
{
  if (s->result && mf_console_is_drained(s->console))
    close_later(s);
}

static void on_drained(void *user)
{
  close_when_written(user);
}

static void on_broken(void *user, int sys)
{
  struct run_state *s = user;
  s->broken_sys = sys;
  if (s->run)
    mf_sandbox_cancel(s->run);
}

static void on_started(void *user)
{
  struct run_state *s = user;
  mf_console_progress(s->console, "running", s->spec->limits.wall_ms);
}

static void on_output(void *user, bool is_stderr, struct mf_str text)
{
  struct run_state *s = user;
  if (!s->args->form.json)
    mf_console_write(s->console, is_stderr, text);
}

static void on_finished(void *user, struct mf_sandbox_result *result)
{
  struct run_state *s = user;
  s->run = NULL;
  s->result = result;
  mf_console_progress_end(s->console);
  mf_console_end(s->console);
  close_when_written(s);
}

static const struct mf_sandbox_events run_events = { on_started, on_output, on_finished };
static const struct mf_console_events console_events = { on_broken, on_drained };

static void on_ready(void *user, enum mf_code code, const struct mf_err *err)
{
  struct run_state *s = user;
  struct mf_err why = { 0 };

  if (s->closing)
    return;
  if (code != MF_OK) {
    give_up(s, err);
    return;
  }
  if (mf_sandbox_start(s->provider, s->spec, &run_events, s, &s->run, &why) != MF_OK)
    give_up(s, &why);
}

static void on_signal(void *user, int sig)
{
  struct run_state *s = user;
  s->signal = sig;
  if (s->run)
    mf_sandbox_cancel(s->run);
  else
    close_later(s); /* not begun yet, or waiting for a reader that does not read */
}

static enum mf_code run_loop(struct run_state *s, struct mf_err *err)
{
  /* Repaired text can be three times the raw bytes but never more than the limit; one byte of slack for each. */
  size_t kept_max = (size_t)MF_MAX(s->spec->limits.stdout_bytes, s->spec->limits.stderr_bytes) + 4096;

  enum mf_code code = mf_stage_init(&s->stage, on_signal, s, err);
  if (code == MF_OK)
    code = mf_console_new(s->stage.loop, kept_max, &console_events, s, &s->console, err);
  if (code == MF_OK) {
    mf_console_progress(s->console, "starting", 0);
    code = mf_provider_new(s->stage.loop, &s->args->provider, on_ready, s, &s->provider, err);
  }
  if (code == MF_OK)
    code = mf_loop_run(s->stage.loop, err);
  return code;
}

static void run_state_done(struct run_state *s)
{
  mf_sandbox_result_free(s->result);
  mf_console_free(s->console);
  mf_stage_done(&s->stage, s->provider != NULL);
}

int mf_run_local(const struct mf_run_args *a, const struct mf_sandbox_spec *spec)
{
  struct run_state s = { .args = a, .spec = spec };
  struct mf_err err = { 0 };
  int status = MF_EXIT_OURS;

  enum mf_code code = run_loop(&s, &err);
  if (s.console)
    mf_console_progress_end(s.console);
  if (code != MF_OK)
    mf_say("%s", err.msg);
  else if (s.broken_sys == EPIPE)
    status = 128 + SIGPIPE;
  else if (s.broken_sys)
    mf_say("standard output: %s", strerror(s.broken_sys));
  else if (s.result && !(s.signal && !mf_console_is_drained(s.console)))
    status = mf_outcome(&(struct mf_outcome){
        .form = &a->form, .result = s.result, .limits = &spec->limits, .signal = s.signal, .console = s.console });
  else if (s.signal) /* before there was a result, or before its output found a reader */
    status = 128 + s.signal;
  else if (s.failed)
    mf_say("%s%s", s.err.msg, s.err.code == MF_E_UNAVAILABLE ? " (see 'mayfly doctor')" : "");
  run_state_done(&s);
  return status;
}

/* The verdict over a run's end. Order matters: what the supervisor did to the run comes before what the run said, and
 * a failure of the machinery before what the guest's processes returned. */
#include "verdict.h"

#include <signal.h>

#include "base/banned.h"

static void set(struct mf_verdict *v, enum mf_run_status status, enum mf_run_reason reason)
{
  v->status = status;
  v->reason = reason;
}

static void set_crashed(struct mf_verdict *v)
{
  *v = (struct mf_verdict){ .status = MF_RUN_FAILED, .reason = MF_REASON_WORKER_CRASH, .diagnostic = MF_DIAG_CRASHED };
}

static bool is_exit_code(int32_t code)
{
  return code >= 0 && code <= 255;
}

/* A run that the supervisor ended has neither an exit code nor a signal of its own: the SIGKILL was ours. */
static bool judge_kill(const struct mf_sup_finished *f, struct mf_verdict *v)
{
  switch ((enum mf_kill_cause)f->killed) {
  case MF_KILL_NONE:
    return false;
  case MF_KILL_WALL:
    set(v, MF_RUN_TIMED_OUT, MF_REASON_WALL_TIME);
    return true;
  case MF_KILL_CPU:
    set(v, MF_RUN_LIMIT, MF_REASON_CPU);
    return true;
  case MF_KILL_MEMORY:
    set(v, MF_RUN_LIMIT, MF_REASON_MEMORY);
    return true;
  case MF_KILL_OUTPUT:
    set(v, MF_RUN_LIMIT, MF_REASON_OUTPUT);
    return true;
  case MF_KILL_CANCEL:
    set(v, MF_RUN_CANCELLED, MF_REASON_CANCELLED);
    return true;
  }
  set_crashed(v); /* a cause that we do not know */
  return true;
}

static void judge_word(const struct mf_sup_finished *f, struct mf_verdict *v)
{
  if (!is_exit_code(f->exit_code)) {
    set_crashed(v);
    return;
  }
  v->has_exit_code = true;
  v->exit_code = f->exit_code;
  /* a part of the program was ended for its memory, and the rest could not do without it */
  if (f->oom_kills > 0 && f->exit_code != 0) {
    set(v, MF_RUN_LIMIT, MF_REASON_MEMORY);
    return;
  }
  switch (f->uncaught) {
  case MF_UNCAUGHT_MEMORY:
    set(v, MF_RUN_LIMIT, MF_REASON_MEMORY);
    return;
  case MF_UNCAUGHT_DISK:
    set(v, MF_RUN_LIMIT, MF_REASON_DISK);
    return;
  case MF_UNCAUGHT_PIDS:
    set(v, MF_RUN_LIMIT, MF_REASON_PIDS);
    return;
  case MF_UNCAUGHT_EXCEPTION:
    set(v, f->exit_code == 0 ? MF_RUN_SUCCEEDED : MF_RUN_FAILED,
        f->exit_code == 0 ? MF_REASON_EXIT : MF_REASON_EXCEPTION);
    return;
  default: /* the word is the guest's: an unknown value says nothing */
    set(v, f->exit_code == 0 ? MF_RUN_SUCCEEDED : MF_RUN_FAILED, MF_REASON_EXIT);
    return;
  }
}

static void judge_signal(const struct mf_sup_finished *f, const struct mf_sandbox_limits *limits, struct mf_verdict *v)
{
  v->signal = f->signal;
  if (f->signal == SIGKILL && f->oom_kills > 0)
    set(v, MF_RUN_LIMIT, MF_REASON_MEMORY);
  else if (f->signal == SIGXCPU)
    set(v, MF_RUN_LIMIT, MF_REASON_CPU);
  else if (f->signal == SIGKILL && limits->cpu_ms > 0 && f->cpu_us / 1000 >= limits->cpu_ms)
    set(v, MF_RUN_LIMIT, MF_REASON_CPU); /* the hard end of RLIMIT_CPU is a SIGKILL (getrlimit(2)) */
  else if (f->signal == SIGXFSZ)
    set(v, MF_RUN_LIMIT, MF_REASON_DISK);
  else
    set(v, MF_RUN_FAILED, MF_REASON_SIGNAL);
}

void mf_verdict_of(const struct mf_sup_finished *f, const struct mf_sandbox_limits *limits, struct mf_verdict *ret)
{
  struct mf_verdict v = { .diagnostic = "" };
  if (judge_kill(f, &v)) {
    /* decided */
  } else if (f->crashed) {
    set_crashed(&v);
  } else if (f->by_word) {
    judge_word(f, &v);
  } else if (f->signal > 0 && f->signal <= 64) {
    judge_signal(f, limits, &v);
  } else if (f->signal == 0 && is_exit_code(f->exit_code)) {
    v.has_exit_code = true;
    v.exit_code = f->exit_code;
    set(&v, f->exit_code == 0 ? MF_RUN_SUCCEEDED : MF_RUN_FAILED, MF_REASON_EXIT);
  } else {
    set_crashed(&v);
  }
  *ret = v;
}

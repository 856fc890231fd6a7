/* The verdict over a run's end, row by row. */
#include "unit.h"

#include <signal.h>

#include "verdict.h"
#include "base/banned.h"

#define NO_CODE (-1)

struct row {
  const char *what;
  struct mf_sup_finished f;
  enum mf_run_status status;
  enum mf_run_reason reason;
  int exit_code; /* NO_CODE: none */
  int signal;
  uint64_t cpu_ms; /* the limit */
};

/* What the supervisor did to it. */
static const struct row kill_rows[] = {
  { "wall time",
    { .killed = MF_KILL_WALL, .signal = SIGKILL, .exit_code = -1 },
    MF_RUN_TIMED_OUT,
    MF_REASON_WALL_TIME,
    NO_CODE,
    0,
    0 },
  { "wall time beats its word",
    { .killed = MF_KILL_WALL, .by_word = 1, .exit_code = 0 },
    MF_RUN_TIMED_OUT,
    MF_REASON_WALL_TIME,
    NO_CODE,
    0,
    0 },
  { "cancel",
    { .killed = MF_KILL_CANCEL, .signal = SIGKILL, .exit_code = -1 },
    MF_RUN_CANCELLED,
    MF_REASON_CANCELLED,
    NO_CODE,
    0,
    0 },
  { "cancel before it began",
    { .killed = MF_KILL_CANCEL, .exit_code = -1 },
    MF_RUN_CANCELLED,
    MF_REASON_CANCELLED,
    NO_CODE,
    0,
    0 },
  { "output",
    { .killed = MF_KILL_OUTPUT, .signal = SIGKILL, .exit_code = -1 },
    MF_RUN_LIMIT,
    MF_REASON_OUTPUT,
    NO_CODE,
    0,
    0 },
  { "memory",
    { .killed = MF_KILL_MEMORY, .signal = SIGKILL, .exit_code = -1 },
    MF_RUN_LIMIT,
    MF_REASON_MEMORY,
    NO_CODE,
    0,
    0 },
  { "cpu", { .killed = MF_KILL_CPU, .signal = SIGKILL, .exit_code = -1 }, MF_RUN_LIMIT, MF_REASON_CPU, NO_CODE, 0, 0 },
  { "unknown cause",
    { .killed = 99, .exit_code = 0, .by_word = 1 },
    MF_RUN_FAILED,
    MF_REASON_WORKER_CRASH,
    NO_CODE,
    0,
    0 },
};

/* What it said of itself. */
static const struct row word_rows[] = {
  { "exit 0", { .by_word = 1, .exit_code = 0 }, MF_RUN_SUCCEEDED, MF_REASON_EXIT, 0, 0, 0 },
  { "exit 3", { .by_word = 1, .exit_code = 3 }, MF_RUN_FAILED, MF_REASON_EXIT, 3, 0, 0 },
  { "exit 255", { .by_word = 1, .exit_code = 255 }, MF_RUN_FAILED, MF_REASON_EXIT, 255, 0, 0 },
  { "exception",
    { .by_word = 1, .exit_code = 1, .uncaught = MF_UNCAUGHT_EXCEPTION },
    MF_RUN_FAILED,
    MF_REASON_EXCEPTION,
    1,
    0,
    0 },
  { "exception but exit 0",
    { .by_word = 1, .exit_code = 0, .uncaught = MF_UNCAUGHT_EXCEPTION },
    MF_RUN_SUCCEEDED,
    MF_REASON_EXIT,
    0,
    0,
    0 },
  { "MemoryError keeps its code",
    { .by_word = 1, .exit_code = 1, .uncaught = MF_UNCAUGHT_MEMORY },
    MF_RUN_LIMIT,
    MF_REASON_MEMORY,
    1,
    0,
    0 },
  { "no space left",
    { .by_word = 1, .exit_code = 1, .uncaught = MF_UNCAUGHT_DISK },
    MF_RUN_LIMIT,
    MF_REASON_DISK,
    1,
    0,
    0 },
  { "cannot fork",
    { .by_word = 1, .exit_code = 1, .uncaught = MF_UNCAUGHT_PIDS },
    MF_RUN_LIMIT,
    MF_REASON_PIDS,
    1,
    0,
    0 },
  { "a descendant was killed for memory, it went on",
    { .by_word = 1, .exit_code = 0, .oom_kills = 1 },
    MF_RUN_SUCCEEDED,
    MF_REASON_EXIT,
    0,
    0,
    0 },
  { "a descendant was killed for memory, it failed for that",
    { .by_word = 1, .exit_code = 1, .uncaught = MF_UNCAUGHT_EXCEPTION, .oom_kills = 1 },
    MF_RUN_LIMIT,
    MF_REASON_MEMORY,
    1,
    0,
    0 },
  { "forged uncaught",
    { .by_word = 1, .exit_code = 2, .uncaught = 4000000000u },
    MF_RUN_FAILED,
    MF_REASON_EXIT,
    2,
    0,
    0 },
  { "forged code", { .by_word = 1, .exit_code = 256 }, MF_RUN_FAILED, MF_REASON_WORKER_CRASH, NO_CODE, 0, 0 },
  { "forged negative code",
    { .by_word = 1, .exit_code = INT32_MIN },
    MF_RUN_FAILED,
    MF_REASON_WORKER_CRASH,
    NO_CODE,
    0,
    0 },
};

/* How its first process ended. */
static const struct row status_rows[] = {
  { "os._exit(0)", { .exit_code = 0 }, MF_RUN_SUCCEEDED, MF_REASON_EXIT, 0, 0, 0 },
  { "os._exit(7)", { .exit_code = 7 }, MF_RUN_FAILED, MF_REASON_EXIT, 7, 0, 0 },
  { "a word's field without a word",
    { .exit_code = 1, .uncaught = MF_UNCAUGHT_MEMORY },
    MF_RUN_FAILED,
    MF_REASON_EXIT,
    1,
    0,
    0 },
  { "abort", { .exit_code = -1, .signal = SIGABRT }, MF_RUN_FAILED, MF_REASON_SIGNAL, NO_CODE, SIGABRT, 0 },
  { "segfault", { .exit_code = -1, .signal = SIGSEGV }, MF_RUN_FAILED, MF_REASON_SIGNAL, NO_CODE, SIGSEGV, 0 },
  { "kill -9 of itself", { .exit_code = -1, .signal = SIGKILL }, MF_RUN_FAILED, MF_REASON_SIGNAL, NO_CODE, SIGKILL, 0 },
  { "real-time signal", { .exit_code = -1, .signal = 64 }, MF_RUN_FAILED, MF_REASON_SIGNAL, NO_CODE, 64, 0 },
  { "OOM kill",
    { .exit_code = -1, .signal = SIGKILL, .oom_kills = 1 },
    MF_RUN_LIMIT,
    MF_REASON_MEMORY,
    NO_CODE,
    SIGKILL,
    0 },
  { "segfault after a descendant's OOM kill",
    { .exit_code = -1, .signal = SIGSEGV, .oom_kills = 1 },
    MF_RUN_FAILED,
    MF_REASON_SIGNAL,
    NO_CODE,
    SIGSEGV,
    0 },
  { "SIGXCPU", { .exit_code = -1, .signal = SIGXCPU }, MF_RUN_LIMIT, MF_REASON_CPU, NO_CODE, SIGXCPU, 1000 },
  { "hard end of RLIMIT_CPU",
    { .exit_code = -1, .signal = SIGKILL, .cpu_us = 1000000 },
    MF_RUN_LIMIT,
    MF_REASON_CPU,
    NO_CODE,
    SIGKILL,
    1000 },
  { "kill -9 of itself with CPU left",
    { .exit_code = -1, .signal = SIGKILL, .cpu_us = 999000 },
    MF_RUN_FAILED,
    MF_REASON_SIGNAL,
    NO_CODE,
    SIGKILL,
    1000 },
  { "SIGXFSZ", { .exit_code = -1, .signal = SIGXFSZ }, MF_RUN_LIMIT, MF_REASON_DISK, NO_CODE, SIGXFSZ, 0 },
  { "nothing known", { .exit_code = -1 }, MF_RUN_FAILED, MF_REASON_WORKER_CRASH, NO_CODE, 0, 0 },
  { "impossible signal", { .exit_code = -1, .signal = 65 }, MF_RUN_FAILED, MF_REASON_WORKER_CRASH, NO_CODE, 0, 0 },
  { "negative signal", { .exit_code = 0, .signal = -9 }, MF_RUN_FAILED, MF_REASON_WORKER_CRASH, NO_CODE, 0, 0 },
  { "machinery", { .crashed = 1, .exit_code = 0, .by_word = 1 }, MF_RUN_FAILED, MF_REASON_WORKER_CRASH, NO_CODE, 0, 0 },
  { "cancelled before the machinery failed",
    { .crashed = 1, .killed = MF_KILL_CANCEL, .exit_code = -1 },
    MF_RUN_CANCELLED,
    MF_REASON_CANCELLED,
    NO_CODE,
    0,
    0 },
};

static void check_row(const struct row *row)
{
  struct mf_sandbox_limits limits;
  mf_sandbox_limits_default(&limits);
  limits.cpu_ms = row->cpu_ms;
  struct mf_verdict v;
  mf_verdict_of(&row->f, &limits, &v);
  if (v.status != row->status || v.reason != row->reason)
    fail_msg("%s: got %s/%s, expected %s/%s", row->what, mf_run_status_name(v.status), mf_run_reason_name(v.reason),
             mf_run_status_name(row->status), mf_run_reason_name(row->reason));
  if (v.has_exit_code != (row->exit_code != NO_CODE) || (v.has_exit_code && v.exit_code != row->exit_code))
    fail_msg("%s: exit code %d (%s)", row->what, v.exit_code, v.has_exit_code ? "there" : "none");
  if (v.signal != row->signal)
    fail_msg("%s: signal %d, expected %d", row->what, v.signal, row->signal);
  assert_string_equal(v.diagnostic, v.reason == MF_REASON_WORKER_CRASH ? MF_DIAG_CRASHED : "");
}

static void judges_what_was_done_to_it(void **state)
{
  for (size_t i = 0; i < MF_ARRAY_N(kill_rows); i++)
    check_row(&kill_rows[i]);
}

static void judges_its_word(void **state)
{
  for (size_t i = 0; i < MF_ARRAY_N(word_rows); i++)
    check_row(&word_rows[i]);
}

static void judges_its_wait_status(void **state)
{
  for (size_t i = 0; i < MF_ARRAY_N(status_rows); i++)
    check_row(&status_rows[i]);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(judges_what_was_done_to_it),
    cmocka_unit_test(judges_its_word),
    cmocka_unit_test(judges_its_wait_status),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

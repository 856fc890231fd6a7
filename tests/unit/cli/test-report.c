/* Exit statuses, words and task ids. */
#include "unit.h"

#include <signal.h>
#include <string.h>

#include "report.h"

struct row {
  enum mf_run_status status;
  enum mf_run_reason reason;
  int exit_code; /* -1: none */
  int signal;
  int want;
};

static const struct row rows[] = {
  { MF_RUN_SUCCEEDED, MF_REASON_EXIT, 0, 0, 0 },
  { MF_RUN_FAILED, MF_REASON_EXIT, 3, 0, 3 },
  { MF_RUN_FAILED, MF_REASON_EXIT, 255, 0, 255 },
  { MF_RUN_FAILED, MF_REASON_EXCEPTION, 1, 0, 1 },
  { MF_RUN_FAILED, MF_REASON_EXCEPTION, 0, 0, 1 }, /* failed is never 0 */
  { MF_RUN_FAILED, MF_REASON_SIGNAL, -1, SIGSEGV, 139 },
  { MF_RUN_FAILED, MF_REASON_SIGNAL, -1, SIGABRT, 134 },
  { MF_RUN_TIMED_OUT, MF_REASON_WALL_TIME, -1, 0, 124 },
  { MF_RUN_LIMIT, MF_REASON_MEMORY, -1, 0, 137 },
  { MF_RUN_LIMIT, MF_REASON_MEMORY, 1, 0, 137 }, /* a MemoryError that nobody caught */
  { MF_RUN_LIMIT, MF_REASON_CPU, -1, SIGKILL, 152 },
  { MF_RUN_LIMIT, MF_REASON_CPU, -1, 0, 152 },
  { MF_RUN_LIMIT, MF_REASON_OUTPUT, -1, 0, 1 },
  { MF_RUN_LIMIT, MF_REASON_DISK, 1, 0, 1 },
  { MF_RUN_LIMIT, MF_REASON_DISK, 7, 0, 7 },
  { MF_RUN_LIMIT, MF_REASON_DISK, -1, SIGXFSZ, 153 },
  { MF_RUN_LIMIT, MF_REASON_PIDS, -1, 0, 1 },
  { MF_RUN_LIMIT, MF_REASON_FUEL, -1, 0, 1 },
  { MF_RUN_CANCELLED, MF_REASON_CANCELLED, -1, 0, 130 },
  { MF_RUN_FAILED, MF_REASON_CAPACITY, -1, 0, 125 },
  { MF_RUN_FAILED, MF_REASON_WORKER_CRASH, -1, 0, 125 },
  { MF_RUN_FAILED, MF_REASON_UNAVAILABLE, -1, 0, 125 },
};

static void exit_statuses(void **state)
{
  (void)state;
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    struct mf_sandbox_result r = { .status = rows[i].status, .reason = rows[i].reason, .signal = rows[i].signal };
    r.has_exit_code = rows[i].exit_code >= 0;
    r.exit_code = r.has_exit_code ? rows[i].exit_code : 0;
    if (mf_result_exit_status(&r) != rows[i].want)
      fail_msg("row %zu: %d, not %d", i, mf_result_exit_status(&r), rows[i].want);
  }
}

static const char *words_of(enum mf_run_status status, enum mf_run_reason reason, int sig)
{
  static char text[400];
  struct mf_sandbox_result r = { .status = status, .reason = reason, .signal = sig };
  struct mf_sandbox_limits l;
  mf_sandbox_limits_default(&l);
  l.wall_ms = 1000;
  memcpy(r.diagnostic, "gone", 5);
  mf_result_words(&r, &l, text, sizeof(text));
  return text;
}

static void words(void **state)
{
  (void)state;
  assert_string_equal(words_of(MF_RUN_SUCCEEDED, MF_REASON_EXIT, 0), "");
  assert_string_equal(words_of(MF_RUN_FAILED, MF_REASON_EXCEPTION, 0), "");
  assert_string_equal(words_of(MF_RUN_TIMED_OUT, MF_REASON_WALL_TIME, 0), "timed out after 1000 ms");
  assert_string_equal(words_of(MF_RUN_LIMIT, MF_REASON_MEMORY, 0), "stopped: over the memory limit of 1024 MB");
  assert_string_equal(words_of(MF_RUN_FAILED, MF_REASON_SIGNAL, SIGSEGV), "ended by signal 11 SIGSEGV");
  assert_string_equal(words_of(MF_RUN_FAILED, MF_REASON_WORKER_CRASH, 0), "worker_crash: gone");
  for (int reason = 0; reason < MF_REASON_N; reason++) {
    bool own = reason == MF_REASON_EXIT || reason == MF_REASON_EXCEPTION;
    assert_int_equal(words_of(MF_RUN_FAILED, (enum mf_run_reason)reason, 9)[0] == '\0', own);
  }
}

static void task_ids(void **state)
{
  (void)state;
  char a[MF_TASK_ID_N], b[MF_TASK_ID_N];
  struct mf_err err = { 0 };
  assert_ok(mf_task_id(a, &err), &err);
  assert_ok(mf_task_id(b, &err), &err);
  assert_int_equal(strlen(a), 29);
  assert_memory_equal(a, "task_", 5);
  assert_int_equal(strspn(a + 5, "0123456789abcdefghijklmnopqrstuvwxyz"), 24);
  assert_string_not_equal(a, b);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(exit_statuses),
    cmocka_unit_test(words),
    cmocka_unit_test(task_ids),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

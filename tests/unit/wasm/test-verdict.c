/* What the end of a call means, and which frames of a worker have the right form. */
#include "unit.h"

#include <signal.h>

#include "frames.h"
#include "sandbox/frames.h"
#include "verdict.h"
#include "wasm/abi.h"
#include "base/banned.h"

static void every_end_has_its_verdict(void **state)
{
  static const struct {
    const char *what;
    uint32_t end;
    int32_t word;
    uint32_t is_full;
    enum mf_run_status status;
    enum mf_run_reason reason;
    int exit_code; /* -1: none */
    int signal;
  } rows[] = {
    { "exit 0", MF_END_WORD, MF_GUEST_WORD(0, 0), 0, MF_RUN_SUCCEEDED, MF_REASON_EXIT, 0, 0 },
    { "exit 3", MF_END_WORD, MF_GUEST_WORD(3, 0), 0, MF_RUN_FAILED, MF_REASON_EXIT, 3, 0 },
    { "exit 255", MF_END_WORD, MF_GUEST_WORD(255, 0), 1, MF_RUN_FAILED, MF_REASON_EXIT, 255, 0 },
    { "exception", MF_END_WORD, MF_GUEST_WORD(1, MF_UNCAUGHT_EXCEPTION), 0, MF_RUN_FAILED, MF_REASON_EXCEPTION, 1, 0 },
    { "exception after memory was full", MF_END_WORD, MF_GUEST_WORD(1, MF_UNCAUGHT_EXCEPTION), 1, MF_RUN_FAILED,
      MF_REASON_EXCEPTION, 1, 0 },
    { "exception and 0", MF_END_WORD, MF_GUEST_WORD(0, MF_UNCAUGHT_EXCEPTION), 0, MF_RUN_SUCCEEDED, MF_REASON_EXIT, 0,
      0 },
    { "MemoryError", MF_END_WORD, MF_GUEST_WORD(1, MF_UNCAUGHT_MEMORY), 0, MF_RUN_LIMIT, MF_REASON_MEMORY, 1, 0 },
    { "ENOSPC", MF_END_WORD, MF_GUEST_WORD(1, MF_UNCAUGHT_DISK), 0, MF_RUN_LIMIT, MF_REASON_DISK, 1, 0 },
    { "no such word", MF_END_WORD, MF_GUEST_WORD(1, 77), 0, MF_RUN_FAILED, MF_REASON_EXIT, 1, 0 },
    { "all bits", MF_END_WORD, -1, 0, MF_RUN_FAILED, MF_REASON_EXIT, 255, 0 },
    { "fuel", MF_END_FUEL, 0, 0, MF_RUN_LIMIT, MF_REASON_FUEL, -1, 0 },
    { "wall", MF_END_WALL, 0, 0, MF_RUN_TIMED_OUT, MF_REASON_WALL_TIME, -1, 0 },
    { "output", MF_END_OUTPUT, 0, 0, MF_RUN_LIMIT, MF_REASON_OUTPUT, -1, 0 },
    { "no room for the job", MF_END_MEMORY, 0, 0, MF_RUN_LIMIT, MF_REASON_MEMORY, -1, 0 },
    { "fault", MF_END_FAULT, 0, 0, MF_RUN_FAILED, MF_REASON_SIGNAL, -1, SIGSEGV },
    { "abort", MF_END_ABORT, 0, 0, MF_RUN_FAILED, MF_REASON_SIGNAL, -1, SIGABRT },
    { "abort without memory", MF_END_ABORT, 0, 1, MF_RUN_LIMIT, MF_REASON_MEMORY, -1, 0 },
    { "broken", MF_END_BROKEN, 0, 0, MF_RUN_FAILED, MF_REASON_WORKER_CRASH, -1, 0 },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    const struct mf_worker_done d = { .end = rows[i].end, .word = rows[i].word, .is_memory_full = rows[i].is_full };
    struct mf_wasm_verdict v;
    mf_wasm_verdict_of(&d, &v);
    if (v.status != rows[i].status || v.reason != rows[i].reason || v.signal != rows[i].signal ||
        v.has_exit_code != (rows[i].exit_code >= 0) || (v.has_exit_code && v.exit_code != rows[i].exit_code))
      fail_msg("%s: %s/%s exit %d signal %d", rows[i].what, mf_run_status_name(v.status), mf_run_reason_name(v.reason),
               v.has_exit_code ? v.exit_code : -1, v.signal);
  }
}

/* ---- frames ---- */

static void a_good_frame_is_understood(void **state)
{
  struct mf_worker_msg m;
  struct {
    struct mf_worker_output head;
    char text[5];
  } out = { { .type = MF_WORKER_OUTPUT, .is_stderr = 1, .serial = 7, .len = 5 }, "hello" };
  assert_true(mf_worker_parse(&out, sizeof(out.head) + 5, 0, &m));
  assert_int_equal(m.type, MF_WORKER_OUTPUT);
  assert_int_equal(m.serial, 7);
  assert_int_equal(m.tail_n, 5);
  assert_memory_equal(m.tail, "hello", 5);

  const struct mf_worker_done done = { .type = MF_WORKER_DONE, .serial = 9, .end = MF_END_FUEL };
  assert_true(mf_worker_parse(&done, sizeof(done), 0, &m));
  assert_int_equal(m.serial, 9);
  assert_int_equal(m.u.done.end, MF_END_FUEL);
}

static void a_frame_of_another_form_is_refused(void **state)
{
  struct mf_worker_msg m;
  char bytes[256] = { 0 };
  for (uint32_t type = 0; type < 64; type++) {
    memcpy(bytes, &type, sizeof(type));
    for (size_t n = 0; n < 8; n++) /* too short for any of them */
      assert_false(mf_worker_parse(bytes, n, 0, &m));
  }
  static const uint32_t down[] = { 0, MF_WORKER_GO, MF_WORKER_CALL, MF_WORKER_DONE + 1, UINT32_MAX };
  for (size_t i = 0; i < MF_ARRAY_N(down); i++) {
    memcpy(bytes, &down[i], sizeof(down[i]));
    for (size_t n = 4; n < sizeof(bytes); n++)
      assert_false(mf_worker_parse(bytes, n, 0, &m));
  }
}

static void refuse(const void *p, size_t n, unsigned fd_n, const char *what)
{
  struct mf_worker_msg m;
  if (mf_worker_parse(p, n, fd_n, &m))
    fail_msg("was understood: %s", what);
}

static void a_frame_with_wrong_numbers_is_refused(void **state)
{
  const struct mf_worker_hello hello = { .type = MF_WORKER_HELLO, .version = MF_WORKER_VERSION + 1 };
  refuse(&hello, sizeof(hello), 0, "another version");
  struct mf_worker_ready ready = { .type = MF_WORKER_READY };
  memset(ready.seccomp_sha256, 'a', sizeof(ready.seccomp_sha256));
  refuse(&ready, sizeof(ready), 0, "a digest without an end");
  struct mf_worker_fatal fatal = { .type = MF_WORKER_FATAL };
  memset(fatal.text, 'a', sizeof(fatal.text));
  refuse(&fatal, sizeof(fatal), 0, "a text without an end");

  struct {
    struct mf_worker_output head;
    char text[8];
  } out = { { .type = MF_WORKER_OUTPUT, .len = 9 }, "12345678" };
  refuse(&out, sizeof(out.head) + 8, 0, "a length past the message");
  out.head.len = 7;
  refuse(&out, sizeof(out.head) + 8, 0, "a length before its end");
  out.head.len = UINT32_MAX;
  refuse(&out, sizeof(out.head) + 8, 0, "a huge length");
  out.head = (struct mf_worker_output){ .type = MF_WORKER_OUTPUT };
  refuse(&out, sizeof(out.head), 0, "no output at all");
  out.head = (struct mf_worker_output){ .type = MF_WORKER_OUTPUT, .len = 8, .is_stderr = 2 };
  refuse(&out, sizeof(out.head) + 8, 0, "a third stream");
  out.head.is_stderr = 0;
  refuse(&out, sizeof(out.head) + 8, 1, "output with a descriptor");

  struct {
    struct mf_worker_file head;
    char name[MF_WORKER_NAME_MAX + 1];
  } file = { { .type = MF_WORKER_FILE, .name_n = MF_WORKER_NAME_MAX + 1 }, "" };
  refuse(&file, sizeof(file.head) + MF_WORKER_NAME_MAX + 1, 1, "a name that is too long");
  file.head.name_n = 3;
  refuse(&file, sizeof(file.head) + 3, 2, "two descriptors");

  struct mf_worker_done done = { .type = MF_WORKER_DONE, .end = MF_END_N };
  refuse(&done, sizeof(done), 0, "an end that there is not");
  done = (struct mf_worker_done){ .type = MF_WORKER_DONE, .wall_us = UINT64_MAX };
  refuse(&done, sizeof(done), 0, "a wall time of ages");
  done = (struct mf_worker_done){ .type = MF_WORKER_DONE, .cpu_us = UINT64_MAX };
  refuse(&done, sizeof(done), 0, "a processor time of ages");
  done = (struct mf_worker_done){ .type = MF_WORKER_DONE, .memory_bytes = (4ull << 30) + 1 };
  refuse(&done, sizeof(done), 0, "more memory than there can be");
  done = (struct mf_worker_done){ .type = MF_WORKER_DONE };
  refuse(&done, sizeof(done), 1, "an end with a descriptor");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_end_has_its_verdict),
    cmocka_unit_test(a_good_frame_is_understood),
    cmocka_unit_test(a_frame_of_another_form_is_refused),
    cmocka_unit_test(a_frame_with_wrong_numbers_is_refused),
  };
  return cmocka_run_group_tests_name("wasm verdict", tests, NULL, NULL);
}

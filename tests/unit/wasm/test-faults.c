/* The provider against workers that fail, lie, or are never born. */
#include "unit.h"

#include <errno.h>
#include <unistd.h>

#include "descriptors.h"
#include "fake-worker.h"
#include "wasm/abi.h"
#include "base/banned.h"

/* ---- workers that fail ---- */

static void a_worker_that_dies_ends_its_run_and_no_other(void **state)
{
  struct fake f;
  fake_init(&f);
  fake_open_up(&f);
  const struct mf_sandbox_spec spec = fake_spec("x");
  struct fake_run *r = fake_start(&f, &spec);
  uint64_t serial = fake_take_call(&f, 0);
  fake_send_began(&f, 0, serial);
  fake_send_output(&f, 0, serial, false, "so far", false);
  fake_die(&f, 0);
  UNTIL(&f, r->released_n == 1);
  assert_ended(r, MF_RUN_FAILED, MF_REASON_WORKER_CRASH, MF_WASM_DIAG_CRASHED);
  assert_string_equal(r->result->out.ptr, "so far");
  assert_string_equal(r->result->receipt.isolation, "full");
  assert_int_equal(mf_provider_busy(f.provider), 0);
  UNTIL(&f, f.spawn_n == 2);
  fake_get_ready(&f, 1);
  assert_works(&f, 1);
  fake_close(&f);
}

static void a_worker_that_dies_before_it_begins_costs_its_run_nothing(void **state)
{
  struct fake f;
  fake_init(&f);
  fake_open_up(&f);
  struct mf_sandbox_file file = { .name = MF_STR("in.txt"), .data = MF_STR("input") };
  struct mf_sandbox_spec spec = fake_spec("x");
  spec.files = &file;
  spec.file_n = 1;
  struct fake_run *r = fake_start(&f, &spec);
  (void)fake_take_call(&f, 0);
  fake_die(&f, 0);
  UNTIL(&f, f.spawn_n == 2);
  assert_int_equal(r->finished_n, 0);
  assert_int_equal(mf_provider_busy(f.provider), 1);
  fake_get_ready(&f, 1);
  uint64_t serial = fake_take_call(&f, 1);
  fake_send_began(&f, 1, serial);
  struct mf_worker_done done = fake_done(serial);
  fake_send_done(&f, 1, &done);
  UNTIL(&f, r->released_n == 1);
  assert_ended(r, MF_RUN_SUCCEEDED, MF_REASON_EXIT, "");
  assert_int_equal(r->started_n, 1);
  fake_close(&f);
}

static void words_of_the_run_before_cost_the_next_one_its_worker_only(void **state)
{
  struct fake f;
  fake_init(&f);
  fake_open_up(&f);
  const struct mf_sandbox_spec spec = fake_spec("x");
  struct fake_run *r = fake_start(&f, &spec);
  uint64_t serial = fake_take_call(&f, 0);
  fake_send_output(&f, 0, serial - 1, false, "of the one before", false);
  UNTIL(&f, f.spawn_n == 2);
  fake_get_ready(&f, 1);
  serial = fake_take_call(&f, 1);
  fake_send_began(&f, 1, serial);
  const struct mf_worker_done done = fake_done(serial);
  fake_send_done(&f, 1, &done);
  UNTIL(&f, r->released_n == 1);
  assert_ended(r, MF_RUN_SUCCEEDED, MF_REASON_EXIT, "");
  assert_int_equal(r->result->out.len, 0);
  fake_close(&f);
}

static void a_run_that_ends_its_workers_ends(void **state)
{
  struct fake f;
  fake_init(&f);
  fake_open_up(&f);
  const struct mf_sandbox_spec spec = fake_spec("x");
  struct fake_run *r = fake_start(&f, &spec);
  for (unsigned i = 0; i < 3; i++) {
    assert_int_equal(r->finished_n, 0);
    (void)fake_take_call(&f, i);
    fake_die(&f, i);
    UNTIL(&f, f.spawn_n == i + 2);
    fake_get_ready(&f, i + 1);
  }
  UNTIL(&f, r->released_n == 1);
  assert_ended(r, MF_RUN_FAILED, MF_REASON_WORKER_CRASH, MF_WASM_DIAG_CRASHED);
  assert_int_equal(r->started_n, 0);
  assert_works(&f, 3);
  fake_close(&f);
}

static void a_worker_gone_before_it_begins_and_a_cancel(void **state)
{
  struct fake f;
  fake_init(&f);
  fake_open_up(&f);
  const struct mf_sandbox_spec spec = fake_spec("x");
  struct fake_run *r = fake_start(&f, &spec);
  (void)fake_take_call(&f, 0);
  fake_die(&f, 0);
  UNTIL(&f, f.spawn_n == 2); /* it waits again */
  mf_sandbox_cancel(r->run);
  UNTIL(&f, r->released_n == 1);
  assert_ended(r, MF_RUN_CANCELLED, MF_REASON_CANCELLED, "");
  fake_get_ready(&f, 1);
  assert_works(&f, 1);
  fake_close(&f);
}

static void a_broken_worker_is_replaced(void **state)
{
  struct fake f;
  fake_init(&f);
  fake_open_up(&f);
  const struct mf_sandbox_spec spec = fake_spec("x");
  struct fake_run *r = fake_start(&f, &spec);
  uint64_t serial = fake_take_call(&f, 0);
  struct mf_worker_done done = fake_done(serial);
  done.end = MF_END_BROKEN;
  fake_send_done(&f, 0, &done);
  UNTIL(&f, r->released_n == 1);
  assert_ended(r, MF_RUN_FAILED, MF_REASON_WORKER_CRASH, MF_WASM_DIAG_CRASHED);
  UNTIL(&f, fake_is_gone(&f, 0) && f.spawn_n == 2);
  fake_get_ready(&f, 1);
  assert_works(&f, 1);
  fake_close(&f);
}

static void a_silent_worker_is_given_up(void **state)
{
  struct fake f;
  fake_init(&f);
  fake_open_up(&f);
  struct wasm *w = (struct wasm *)f.provider;
  w->seam.times.silence_ms = 1;
  const struct mf_sandbox_spec spec = fake_spec("x");
  struct fake_run *r = fake_start(&f, &spec);
  UNTIL(&f, r->released_n == 1); /* no BEGAN */
  assert_ended(r, MF_RUN_FAILED, MF_REASON_WORKER_CRASH, MF_WASM_DIAG_SILENT);

  w->seam.times.silence_ms = 20000;
  w->seam.times.grace_ms = 1;
  UNTIL(&f, f.spawn_n == 2);
  fake_get_ready(&f, 1);
  struct mf_sandbox_spec quick = fake_spec("x");
  quick.limits.wall_ms = 1;
  r = fake_start(&f, &quick);
  uint64_t serial = fake_take_call(&f, 1);
  fake_send_began(&f, 1, serial);
  UNTIL(&f, r->released_n == 1); /* no DONE */
  assert_ended(r, MF_RUN_FAILED, MF_REASON_WORKER_CRASH, MF_WASM_DIAG_SILENT);
  fake_close(&f);
}

/* ---- workers that lie ---- */

enum lie {
  LIE_SHORT,
  LIE_UNKNOWN,
  LIE_DOWNWARD,
  LIE_OTHER_SERIAL,
  LIE_BEGAN_TWICE,
  LIE_OUTPUT_FIRST,
  LIE_DONE_FIRST,
  LIE_TOO_MUCH_OUTPUT,
  LIE_OUTPUT_AFTER_DROP,
  LIE_OUTPUT_AFTER_FILE,
  LIE_FILE_FIRST,
  LIE_TOO_MANY_FILES,
  LIE_READY_AGAIN,
  LIE_FATAL_LATE,
  LIE_N
};

static void tell(struct fake *f, unsigned i, uint64_t serial, enum lie lie)
{
  static const char junk[3] = "abc";
  const uint32_t unknown[16] = { 77 };
  const struct mf_worker_call down = { .type = MF_WORKER_CALL, .serial = serial };
  const struct mf_worker_fatal fatal = { .type = MF_WORKER_FATAL };
  const struct mf_worker_done done = fake_done(serial);
  switch (lie) {
  case LIE_SHORT:
    fake_send(f, i, junk, sizeof(junk), -1);
    return;
  case LIE_UNKNOWN:
    fake_send(f, i, unknown, sizeof(unknown), -1);
    return;
  case LIE_DOWNWARD:
    fake_send(f, i, &down, sizeof(down), -1);
    return;
  case LIE_OTHER_SERIAL:
    fake_send_began(f, i, serial - 1);
    return;
  case LIE_BEGAN_TWICE:
    fake_send_began(f, i, serial);
    fake_send_began(f, i, serial);
    return;
  case LIE_OUTPUT_FIRST:
    fake_send_output(f, i, serial, false, "x", false);
    return;
  case LIE_DONE_FIRST:
    fake_send_done(f, i, &done);
    return;
  case LIE_TOO_MUCH_OUTPUT:
    fake_send_began(f, i, serial);
    fake_send_output(f, i, serial, false, "0123456789", false);
    return;
  case LIE_OUTPUT_AFTER_DROP:
    fake_send_began(f, i, serial);
    fake_send_output(f, i, serial, false, "0", true);
    fake_send_output(f, i, serial, false, "1", false);
    return;
  case LIE_OUTPUT_AFTER_FILE:
    fake_send_began(f, i, serial);
    fake_send_file(f, i, serial, "a", "b");
    fake_send_output(f, i, serial, false, "1", false);
    return;
  case LIE_FILE_FIRST:
    fake_send_file(f, i, serial, "a", "b");
    return;
  case LIE_TOO_MANY_FILES:
    fake_send_began(f, i, serial);
    fake_send_file(f, i, serial, "a", "b");
    fake_send_file(f, i, serial, "b", "b");
    fake_send_file(f, i, serial, "c", "b"); /* the limit is 2 */
    return;
  case LIE_READY_AGAIN:
    fake_send_ready(f, i);
    return;
  case LIE_FATAL_LATE:
    fake_send(f, i, &fatal, sizeof(fatal), -1);
    return;
  case LIE_N:
    break;
  }
}

static void a_worker_that_lies_is_ended_and_only_its_run_with_it(void **state)
{
  struct fake f;
  fake_init(&f);
  fake_open_up(&f);
  struct mf_sandbox_spec spec = fake_spec("x");
  spec.limits.stdout_bytes = 4;
  spec.limits.artifact_count = 2;
  unsigned i = 0;
  for (unsigned lie = 0; lie < LIE_N; lie++) {
    struct fake_run *r = fake_start(&f, &spec);
    do { /* before BEGAN others are tried */
      uint64_t serial = fake_take_call(&f, i);
      tell(&f, i, serial, lie);
      UNTIL(&f, fake_is_gone(&f, i) && f.spawn_n == i + 2);
      fake_get_ready(&f, ++i);
      UNTIL(&f, r->released_n == 1 || fake_has_frame(&f, i));
    } while (r->released_n == 0);
    assert_ended(r, MF_RUN_FAILED, MF_REASON_WORKER_CRASH, MF_WASM_DIAG_CRASHED);
    assert_int_equal(r->result->artifact_n, 0);
  }
  assert_works(&f, i);
  fake_close(&f);
}

static void an_idle_worker_that_speaks_is_ended(void **state)
{
  struct fake f;
  fake_init(&f);
  fake_open_up(&f);
  fake_send_output(&f, 0, 1, false, "nobody asked", false);
  UNTIL(&f, fake_is_gone(&f, 0) && f.spawn_n == 2);
  fake_get_ready(&f, 1);
  assert_works(&f, 1);
  fake_close(&f);
}

static void a_forged_end_hurts_its_own_result_only(void **state)
{
  struct fake f;
  fake_init(&f);
  fake_open_up(&f);
  const struct mf_sandbox_spec spec = fake_spec("x");
  struct fake_run *r = fake_start(&f, &spec);
  uint64_t serial = fake_take_call(&f, 0);
  fake_send_began(&f, 0, serial);
  struct mf_worker_done done = fake_done(serial);
  done.word = -1;
  done.fuel_used = UINT64_MAX;
  done.file_left_n = done.file_other_n = UINT32_MAX;
  fake_send_done(&f, 0, &done);
  UNTIL(&f, r->released_n == 1);
  assert_ended(r, MF_RUN_FAILED, MF_REASON_EXIT, "");
  assert_int_equal(r->result->exit_code, 255);
  assert_int_equal(r->result->fuel, f.config.default_fuel); /* more than it had it cannot have used */
  assert_works(&f, 0);
  fake_close(&f);
}

/* ---- too few descriptors ---- */

#define SHORT "too many open files; raise this process's limit (ulimit -n)"

static void without_descriptors_it_is_not_the_worker(void **state)
{
  struct fake f;
  fake_init(&f);
  fake_open_up(&f);
  const struct mf_sandbox_spec spec = fake_spec("x");
  struct fake_run *a = fake_start(&f, &spec), *none;
  uint64_t serial = fake_take_call(&f, 0);
  f.refuses_spawn = true;
  f.spawn_sys = EMFILE;
  struct fake_run *b = fake_start(&f, &spec); /* needs another worker */
  UNTIL(&f, b->released_n == 1);
  assert_ended(b, MF_RUN_FAILED, MF_REASON_UNAVAILABLE, "start a WebAssembly worker: " SHORT);

  struct rlimit old = leave_descriptors(0);
  struct mf_err err = { 0 };
  enum mf_code code = fake_try(&f, &spec, &none, &err);
  give_descriptors(&old);
  assert_int_equal(code, MF_E_UNAVAILABLE);
  assert_string_equal(err.msg, "start run: " SHORT);

  fake_send_began(&f, 0, serial);
  const struct mf_worker_done done = fake_done(serial);
  fake_send_done(&f, 0, &done);
  UNTIL(&f, a->released_n == 1);
  assert_ended(a, MF_RUN_SUCCEEDED, MF_REASON_EXIT, "");
  fake_close(&f);
}

static void a_file_without_room_is_lost_and_nothing_else(void **state)
{
  struct fake f;
  fake_init(&f);
  fake_open_up(&f);
  const struct mf_sandbox_spec spec = fake_spec("x");
  struct fake_run *r = fake_start(&f, &spec);
  uint64_t serial = fake_take_call(&f, 0);
  fake_send_began(&f, 0, serial);
  UNTIL(&f, r->started_n == 1);
  fake_send_file(&f, 0, serial, "a.txt", "a");
  fake_send_file(&f, 0, serial, "b.txt", "b");
  const struct mf_worker_done done = fake_done(serial);
  fake_send_done(&f, 0, &done);
  struct rlimit old = leave_descriptors(0);
  UNTIL(&f, r->released_n == 1);
  give_descriptors(&old);
  assert_ended(r, MF_RUN_SUCCEEDED, MF_REASON_EXIT, "");
  assert_int_equal(r->result->artifact_n, 0);
  assert_int_equal(r->result->rejected_n, 2);
  assert_string_equal(r->result->rejected[0].path, "a.txt");
  assert_string_equal(r->result->rejected[0].reason, "cannot be read (Too many open files)");
  assert_works(&f, 0); /* the same worker */
  fake_close(&f);
}

/* ---- birth ---- */

static void a_worker_that_cannot_start_is_the_reason(void **state)
{
  struct fake f;
  fake_init(&f);
  fake_open(&f);
  UNTIL(&f, f.spawn_n == 1);
  const struct mf_worker_fatal fatal = { .type = MF_WORKER_FATAL, .sys = 1, "drop capabilities: \x1b[31mno" };
  fake_send(&f, 0, &fatal, sizeof(fatal), -1);
  UNTIL(&f, f.ready_n == 1);
  assert_int_equal(f.ready_code, MF_E_UNAVAILABLE);
  assert_non_null(strstr(f.ready_err.msg, "cannot start: drop capabilities: \\x1b[31mno"));
  const struct mf_sandbox_spec spec = fake_spec("x");
  struct fake_run *none;
  struct mf_err err;
  assert_int_equal(fake_try(&f, &spec, &none, &err), MF_E_UNAVAILABLE);
  fake_close(&f);
}

static void a_probe_that_fails_is_the_reason(void **state)
{
  struct fake f;
  fake_init(&f);
  fake_open(&f);
  UNTIL(&f, f.spawn_n == 1);
  fake_get_ready(&f, 0);
  uint64_t serial = fake_take_call(&f, 0);
  fake_send_began(&f, 0, serial);
  struct mf_worker_done done = fake_done(serial);
  done.end = MF_END_ABORT;
  fake_send_done(&f, 0, &done);
  UNTIL(&f, f.ready_n == 1);
  assert_int_equal(f.ready_code, MF_E_UNAVAILABLE);
  assert_non_null(strstr(f.ready_err.msg, "reason 'signal'"));
  fake_close(&f);
}

static void no_process_at_all_is_the_reason(void **state)
{
  struct fake f;
  fake_init(&f);
  f.refuses_spawn = true;
  fake_open(&f);
  UNTIL(&f, f.ready_n == 1);
  assert_int_equal(f.ready_code, MF_E_UNAVAILABLE);
  assert_non_null(strstr(f.ready_err.msg, "refused by the test"));
  fake_close(&f);
}

static void later_failures_are_tried_again_and_runs_do_not_wait_for_ever(void **state)
{
  struct fake f;
  fake_init(&f);
  f.config.ready_workers = 0;
  f.seam.times.backoff_min_ms = f.seam.times.backoff_max_ms = 60000;
  fake_open_up(&f);
  struct wasm *w = (struct wasm *)f.provider;
  fake_die(&f, 0);
  struct mf_wasm_info info;
  do {
    fake_slice(&f);
    mf_wasm_info(f.provider, &info);
  } while (info.workers > 0);
  w->start_fail_n = 2; /* two have failed already */
  const struct mf_sandbox_spec spec = fake_spec("x");
  struct fake_run *r = fake_start(&f, &spec);
  UNTIL(&f, f.spawn_n == 2);
  fake_die(&f, 1);
  UNTIL(&f, r->released_n == 1);
  assert_ended(r, MF_RUN_FAILED, MF_REASON_UNAVAILABLE, "the WebAssembly worker ended before it was ready");

  w->retry_ns = 0; /* the pause is over */
  r = fake_start(&f, &spec);
  UNTIL(&f, f.spawn_n == 3);
  fake_get_ready(&f, 2);
  uint64_t serial = fake_take_call(&f, 2);
  fake_send_began(&f, 2, serial);
  const struct mf_worker_done done = fake_done(serial);
  fake_send_done(&f, 2, &done);
  UNTIL(&f, r->released_n == 1);
  assert_ended(r, MF_RUN_SUCCEEDED, MF_REASON_EXIT, "");
  fake_close(&f);
}

static void a_call_that_needs_more_memory_gets_a_worker_that_has_it(void **state)
{
  struct fake f;
  fake_init(&f);
  f.config.max_running = 1;
  fake_open_up(&f);
  uint64_t before = f.worker_config.data_bytes;
  assert_true(before >= f.config.worker_memory_bytes);
  struct mf_sandbox_spec spec = fake_spec("x");
  spec.limits.memory_bytes = 3ull << 30;
  struct fake_run *r = fake_start(&f, &spec);
  UNTIL(&f, fake_is_gone(&f, 0) && f.spawn_n == 2);
  assert_true(f.worker_config.data_bytes >= (3ull << 30) + MF_WASM_WORKER_OVERHEAD_BYTES);
  fake_get_ready(&f, 1);
  struct mf_worker_call call;
  fake_take(&f, 1, MF_WORKER_CALL, &call, sizeof(call), NULL);
  assert_int_equal(call.memory_bytes, 3ull << 30);
  fake_send_began(&f, 1, call.serial);
  const struct mf_worker_done done = fake_done(call.serial);
  fake_send_done(&f, 1, &done);
  UNTIL(&f, r->released_n == 1);
  fake_close(&f);
}

static void wrong_settings_are_refused(void **state)
{
  struct fake f;
  fake_init(&f);
  const struct mf_wasm_runtime_info info = { .id = "x" };
  struct mf_wasm_config c = f.config;
  struct mf_err err;
  c.max_running = 0;
  assert_int_equal(mf_wasm_new_with(f.loop, &c, &info, -1, &f.seam, NULL, NULL, &f.provider, &err), MF_E_INPUT);
  c.max_running = 257;
  assert_int_equal(mf_wasm_new_with(f.loop, &c, &info, -1, &f.seam, NULL, NULL, &f.provider, &err), MF_E_INPUT);
  c = f.config;
  c.calls_max = 0;
  assert_int_equal(mf_wasm_new_with(f.loop, &c, &info, -1, &f.seam, NULL, NULL, &f.provider, &err), MF_E_INPUT);
  c = f.config;
  c.default_fuel = 0;
  assert_int_equal(mf_wasm_new_with(f.loop, &c, &info, -1, &f.seam, NULL, NULL, &f.provider, &err), MF_E_INPUT);
  f.ready_n = 1; /* nobody promised one */
  fake_close(&f);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_worker_that_dies_ends_its_run_and_no_other),
    cmocka_unit_test(a_worker_that_dies_before_it_begins_costs_its_run_nothing),
    cmocka_unit_test(words_of_the_run_before_cost_the_next_one_its_worker_only),
    cmocka_unit_test(a_run_that_ends_its_workers_ends),
    cmocka_unit_test(a_worker_gone_before_it_begins_and_a_cancel),
    cmocka_unit_test(a_broken_worker_is_replaced),
    cmocka_unit_test(a_silent_worker_is_given_up),
    cmocka_unit_test(a_worker_that_lies_is_ended_and_only_its_run_with_it),
    cmocka_unit_test(an_idle_worker_that_speaks_is_ended),
    cmocka_unit_test(a_forged_end_hurts_its_own_result_only),
    cmocka_unit_test(without_descriptors_it_is_not_the_worker),
    cmocka_unit_test(a_file_without_room_is_lost_and_nothing_else),
    cmocka_unit_test(a_worker_that_cannot_start_is_the_reason),
    cmocka_unit_test(a_probe_that_fails_is_the_reason),
    cmocka_unit_test(no_process_at_all_is_the_reason),
    cmocka_unit_test(later_failures_are_tried_again_and_runs_do_not_wait_for_ever),
    cmocka_unit_test(a_call_that_needs_more_memory_gets_a_worker_that_has_it),
    cmocka_unit_test(wrong_settings_are_refused),
  };
  return cmocka_run_group_tests_name("wasm provider, faults", tests, NULL, NULL);
}

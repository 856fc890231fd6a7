/* The provider against workers that are played by the test. Those that fail: test-faults.c. */
#include "unit.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"
#include "fake-worker.h"
#include "sandbox/frames.h"
#include "sandbox/job.h"
#include "wasm/abi.h"
#include "base/banned.h"

/* ---- a normal life ---- */

static void runs_a_program(void **state)
{
  struct fake f;
  fake_init(&f);
  fake_open_up(&f);
  struct mf_sandbox_spec spec = fake_spec("print('hi')");
  spec.limits.memory_bytes = 128u << 20;
  struct fake_run *r = fake_start(&f, &spec);
  assert_int_equal(mf_provider_busy(f.provider), 1);

  struct mf_worker_call call;
  mf_auto_close int job_fd = -1;
  fake_take(&f, 0, MF_WORKER_CALL, &call, sizeof(call), &job_fd);
  assert_int_equal(call.wall_ns, spec.limits.wall_ms * 1000000);
  assert_int_equal(call.fuel, f.config.default_fuel);
  assert_int_equal(call.memory_bytes, 128u << 20);
  assert_int_equal(call.stdout_bytes, spec.limits.stdout_bytes + 4);
  assert_int_equal(call.stderr_bytes, spec.limits.stderr_bytes + 4);
  assert_int_equal(call.artifact_bytes, spec.limits.artifact_bytes);
  assert_int_equal(call.artifact_count, spec.limits.artifact_count);
  assert_int_equal(call.stop_on_output, 0);
  struct mf_job job;
  struct mf_err err;
  assert_ok(mf_job_map(job_fd, &job, &err), &err);
  assert_true(mf_str_eq(job.source, spec.source));
  mf_job_done(&job);

  fake_send_began(&f, 0, call.serial);
  fake_send_output(&f, 0, call.serial, false, "h", false);
  fake_send_output(&f, 0, call.serial, true, "warn\n", false);
  UNTIL(&f, r->output_n == 2);
  assert_int_equal(r->started_n, 1);
  fake_send_output(&f, 0, call.serial, false, "i\n", false);
  struct mf_worker_done done = fake_done(call.serial);
  done.word = MF_GUEST_WORD(1, MF_UNCAUGHT_EXCEPTION);
  fake_send_done(&f, 0, &done);
  UNTIL(&f, r->released_n == 1);
  assert_ended(r, MF_RUN_FAILED, MF_REASON_EXCEPTION, "");
  assert_string_equal(r->result->out.ptr, "hi\n");
  assert_string_equal(r->result->err.ptr, "warn\n");
  assert_int_equal(r->result->exit_code, 1);
  assert_int_equal(r->result->duration_us, 12345);
  assert_int_equal(r->result->cpu_ms, 7);
  assert_int_equal(r->result->memory_peak_bytes, 32u << 20);
  assert_int_equal(r->result->fuel, 1000);
  assert_int_equal(mf_provider_busy(f.provider), 0);
  fake_close(&f);
}

static void the_receipt_says_what_was_seen(void **state)
{
  struct fake f;
  fake_init(&f);
  fake_open_up(&f);
  assert_works(&f, 0);
  const struct mf_receipt *got = &f.runs[0].result->receipt;
  assert_string_equal(got->provider, "wasm");
  assert_string_equal(got->isolation, "full");
  assert_string_equal(got->layers, "wasm,fuel,seccomp,no_new_privs,rlimit");
  assert_string_equal(got->seccomp_sha256, "c0ffee");
  assert_string_equal(got->memory_control, "rlimit");
  assert_string_equal(got->runtime_id, "python-wasm-test");
  assert_string_equal(got->runtime_digest, "sha256:00");
  assert_string_equal(got->python_version, "3.13.5");
  assert_string_equal(got->start, "pool");
  assert_int_equal(got->limits.fuel, f.config.default_fuel);
  char code_sha256[MF_SHA256_HEX_N];
  mf_sha256_of(MF_STR("print(1)"), code_sha256);
  assert_string_equal(got->code_sha256, code_sha256);
  assert_int_equal(mf_provider_caps(f.provider), MF_CAP_FILES | MF_CAP_FUEL | MF_CAP_MEMORY);
  fake_close(&f);
}

static void starts_more_workers_when_needed_and_no_more_than_places(void **state)
{
  struct fake f;
  fake_init(&f);
  fake_open_up(&f);
  const struct mf_sandbox_spec spec = fake_spec("x");
  struct fake_run *a = fake_start(&f, &spec), *b = fake_start(&f, &spec), *none = NULL;
  struct mf_err err;
  assert_int_equal(fake_try(&f, &spec, &none, &err), MF_E_CAPACITY);
  UNTIL(&f, f.spawn_n == 2);
  fake_get_ready(&f, 1);
  for (unsigned i = 0; i < 2; i++) {
    uint64_t serial = fake_take_call(&f, i);
    fake_send_began(&f, i, serial);
    const struct mf_worker_done done = fake_done(serial);
    fake_send_done(&f, i, &done);
  }
  UNTIL(&f, a->released_n == 1 && b->released_n == 1);
  assert_string_equal(a->result->receipt.start, "pool");
  assert_string_equal(b->result->receipt.start, "cold");
  struct mf_wasm_info info;
  mf_wasm_info(f.provider, &info);
  assert_int_equal(info.workers, 2);
  assert_int_equal(info.busy, 0);
  assert_int_equal(info.started_n, 2);
  assert_int_equal(info.calls_n, 3); /* with the probe */
  assert_string_equal(info.memory_control, "rlimit");
  fake_close(&f);
}

static void an_idle_worker_that_nobody_needs_ends(void **state)
{
  struct fake f;
  fake_init(&f);
  f.seam.times.idle_ms = 1;
  fake_open_up(&f);
  const struct mf_sandbox_spec spec = fake_spec("x");
  struct fake_run *a = fake_start(&f, &spec), *b = fake_start(&f, &spec);
  UNTIL(&f, f.spawn_n == 2);
  fake_get_ready(&f, 1);
  for (unsigned i = 0; i < 2; i++) {
    uint64_t serial = fake_take_call(&f, i);
    fake_send_began(&f, i, serial);
    const struct mf_worker_done done = fake_done(serial);
    fake_send_done(&f, i, &done);
  }
  UNTIL(&f, a->released_n == 1 && b->released_n == 1);
  UNTIL(&f, fake_is_gone(&f, 0) || fake_is_gone(&f, 1));
  struct mf_wasm_info info;
  for (unsigned i = 0; i < 20; i++)
    fake_slice(&f);
  mf_wasm_info(f.provider, &info);
  assert_int_equal(info.workers, 1); /* the ready one stays */
  fake_close(&f);
}

static void a_worker_is_replaced_after_its_calls(void **state)
{
  struct fake f;
  fake_init(&f);
  f.config.calls_max = 2; /* the probe is one */
  fake_open_up(&f);
  assert_works(&f, 0);
  UNTIL(&f, fake_is_gone(&f, 0) && f.spawn_n == 2);
  fake_get_ready(&f, 1);
  assert_works(&f, 1);
  fake_close(&f);
}

static void a_run_from_inside_finished_takes_the_same_worker(struct fake_run *r)
{
  if (r->fake->run_n < 2) {
    const struct mf_sandbox_spec spec = fake_spec("again");
    (void)fake_start(r->fake, &spec);
  }
}

static void the_place_is_free_inside_finished(void **state)
{
  struct fake f;
  fake_init(&f);
  f.config.max_running = 1;
  fake_open_up(&f);
  const struct mf_sandbox_spec spec = fake_spec("x");
  struct fake_run *a = fake_start(&f, &spec);
  a->on_finished = a_run_from_inside_finished_takes_the_same_worker;
  for (unsigned n = 0; n < 2; n++) {
    uint64_t serial = fake_take_call(&f, 0);
    fake_send_began(&f, 0, serial);
    const struct mf_worker_done done = fake_done(serial);
    fake_send_done(&f, 0, &done);
  }
  UNTIL(&f, f.run_n == 2 && f.runs[1].released_n == 1);
  assert_int_equal(f.spawn_n, 1);
  fake_close(&f);
}

/* ---- limits ---- */

static void past_the_cap_a_run_is_cut_or_stopped(void **state)
{
  struct fake f;
  fake_init(&f);
  fake_open_up(&f);
  struct mf_sandbox_spec spec = fake_spec("x");
  spec.limits.stdout_bytes = 4;
  struct fake_run *a = fake_start(&f, &spec);
  uint64_t serial = fake_take_call(&f, 0);
  fake_send_began(&f, 0, serial);
  fake_send_output(&f, 0, serial, false, "12345678", true);
  struct mf_worker_done done = fake_done(serial);
  fake_send_done(&f, 0, &done);
  UNTIL(&f, a->released_n == 1);
  assert_ended(a, MF_RUN_SUCCEEDED, MF_REASON_EXIT, "");
  assert_string_equal(a->result->out.ptr, "1234");
  assert_true(a->result->out_truncated);

  spec.limits.output_policy = MF_OUTPUT_STOP;
  struct fake_run *b = fake_start(&f, &spec);
  struct mf_worker_call call;
  fake_take(&f, 0, MF_WORKER_CALL, &call, sizeof(call), NULL);
  assert_int_equal(call.stop_on_output, 1);
  fake_send_began(&f, 0, call.serial);
  fake_send_output(&f, 0, call.serial, false, "12345678", true);
  done = fake_done(call.serial);
  done.end = MF_END_OUTPUT;
  fake_send_done(&f, 0, &done);
  UNTIL(&f, b->released_n == 1);
  assert_ended(b, MF_RUN_LIMIT, MF_REASON_OUTPUT, "");
  assert_works(&f, 0); /* the same worker */
  fake_close(&f);
}

/* The worker counts bytes itself, so it ends the call by itself, and stays. */
static void a_few_bytes_past_the_cap_cost_no_worker(void **state)
{
  static const struct {
    const char *first, *second, *want;
  } rows[] = {
    { "1234", "5", "1234" },
    { "12345678", "", "1234" },
    { "123\xf0", "\x9f\x98\x80", "123" },
    { "12\xf0\x9f\x98", "", "12" },
  };
  struct fake f;
  fake_init(&f);
  fake_open_up(&f);
  struct mf_sandbox_spec spec = fake_spec("x");
  spec.limits.stdout_bytes = 4;
  spec.limits.output_policy = MF_OUTPUT_STOP;
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    struct fake_run *r = fake_start(&f, &spec);
    uint64_t serial = fake_take_call(&f, 0);
    fake_send_began(&f, 0, serial);
    fake_send_output(&f, 0, serial, false, rows[i].first, false);
    if (rows[i].second[0])
      fake_send_output(&f, 0, serial, false, rows[i].second, false);
    struct mf_worker_done done = fake_done(serial);
    done.end = MF_END_OUTPUT;
    fake_send_done(&f, 0, &done);
    UNTIL(&f, r->released_n == 1);
    assert_ended(r, MF_RUN_LIMIT, MF_REASON_OUTPUT, "");
    assert_string_equal(r->result->out.ptr, rows[i].want);
    assert_true(r->result->out_truncated);
  }
  assert_int_equal(f.spawn_n, 1);
  assert_works(&f, 0);
  fake_close(&f);
}

static void repaired_text_past_its_cap_stops_the_run_too(void **state)
{
  struct fake f;
  fake_init(&f);
  fake_open_up(&f);
  struct mf_sandbox_spec spec = fake_spec("x");
  spec.limits.stdout_bytes = 8;
  spec.limits.output_policy = MF_OUTPUT_STOP;
  struct fake_run *r = fake_start(&f, &spec);
  uint64_t serial = fake_take_call(&f, 0);
  fake_send_began(&f, 0, serial);
  fake_send_output(&f, 0, serial, false, "\xff\xff\xff\xff", false); /* 12 bytes of U+FFFD */
  UNTIL(&f, r->released_n == 1);
  assert_ended(r, MF_RUN_LIMIT, MF_REASON_OUTPUT, "");
  assert_true(fake_is_gone(&f, 0));
  fake_close(&f);
}

/* ---- files ---- */

static void files_become_artifacts(void **state)
{
  struct fake f;
  fake_init(&f);
  fake_open_up(&f);
  static const struct mf_sandbox_file input = { MF_STR("in.txt"), MF_STR("input") };
  struct mf_sandbox_spec spec = fake_spec("x");
  spec.files = &input;
  spec.file_n = 1;
  struct fake_run *r = fake_start(&f, &spec);
  uint64_t serial = fake_take_call(&f, 0);
  fake_send_began(&f, 0, serial);
  fake_send_file(&f, 0, serial, "b.txt", "bee");
  fake_send_file(&f, 0, serial, "in.txt", "input"); /* as it was */
  fake_send_file(&f, 0, serial, "a/c.csv", "x,y\n");
  fake_send_file(&f, 0, serial, "../up", "no");
  fake_send_file(&f, 0, serial, "b.txt", "twice");
  fake_send_file(&f, 0, serial, "late", NULL);
  struct mf_worker_done done = fake_done(serial);
  done.file_left_n = 2;
  fake_send_done(&f, 0, &done);
  UNTIL(&f, r->released_n == 1);
  assert_ended(r, MF_RUN_SUCCEEDED, MF_REASON_EXIT, "");
  const struct mf_sandbox_result *got = r->result;
  assert_int_equal(got->artifact_n, 2);
  assert_string_equal(got->artifacts[0].path, "a/c.csv");
  assert_string_equal(got->artifacts[1].path, "b.txt");
  assert_int_equal(got->artifacts[1].size_bytes, 3);
  char sha256[MF_SHA256_HEX_N], text[8] = "";
  mf_sha256_of(MF_STR("bee"), sha256);
  assert_string_equal(got->artifacts[1].sha256, sha256);
  assert_int_equal(read(got->artifacts[1].fd, text, sizeof(text)), 3);
  assert_string_equal(text, "bee");
  assert_int_equal(got->rejected_n, 4);
  assert_string_equal(got->rejected[0].path, "../up");
  assert_string_equal(got->rejected[1].path, "b.txt");
  assert_string_equal(got->rejected[2].path, "late");
  assert_string_equal(got->rejected[3].path, "\xe2\x80\xa6 and 2 more");
  fake_close(&f);
}

static void many_files_are_collected_on_a_thread_while_the_worker_goes_on(void **state)
{
  struct fake f;
  fake_init(&f);
  fake_open_up(&f);
  const struct mf_sandbox_spec spec = fake_spec("x");
  struct fake_run *a = fake_start(&f, &spec);
  uint64_t serial = fake_take_call(&f, 0);
  fake_send_began(&f, 0, serial);
  for (unsigned i = 0; i < 40; i++) {
    char name[16];
    snprintf(name, sizeof(name), "f%02u", i);
    fake_send_file(&f, 0, serial, name, name);
    fake_slice(&f);
  }
  const struct mf_worker_done done = fake_done(serial);
  fake_send_done(&f, 0, &done);
  assert_works(&f, 0);
  UNTIL(&f, a->released_n == 1);
  assert_int_equal(a->result->artifact_n, 40);
  fake_close(&f);
}

/* ---- cancel and close ---- */

static void cancel_ends_the_worker_and_frees_the_place(void **state)
{
  struct fake f;
  fake_init(&f);
  fake_open_up(&f);
  const struct mf_sandbox_spec spec = fake_spec("x");
  struct fake_run *r = fake_start(&f, &spec);
  uint64_t serial = fake_take_call(&f, 0);
  fake_send_began(&f, 0, serial);
  UNTIL(&f, r->started_n == 1);
  mf_sandbox_cancel(r->run);
  mf_sandbox_cancel(r->run);
  assert_int_equal(r->finished_n, 0); /* never inside the call */
  UNTIL(&f, r->released_n == 1);
  assert_ended(r, MF_RUN_CANCELLED, MF_REASON_CANCELLED, "");
  UNTIL(&f, fake_is_gone(&f, 0) && f.spawn_n == 2);
  fake_get_ready(&f, 1);
  assert_works(&f, 1);
  fake_close(&f);
}

static void a_waiting_run_can_be_cancelled(void **state)
{
  struct fake f;
  fake_init(&f);
  fake_open(&f);
  const struct mf_sandbox_spec spec = fake_spec("x");
  struct fake_run *r = fake_start(&f, &spec); /* before there is a worker */
  mf_sandbox_cancel(r->run);
  UNTIL(&f, r->released_n == 1);
  assert_ended(r, MF_RUN_CANCELLED, MF_REASON_CANCELLED, "");
  assert_string_equal(r->result->receipt.isolation, "none");
  fake_close(&f);
}

static void closing_ends_what_runs_and_waits(void **state)
{
  unsigned fds = fake_open_fds();
  struct fake f;
  fake_init(&f);
  fake_open_up(&f);
  const struct mf_sandbox_spec spec = fake_spec("x");
  struct fake_run *a = fake_start(&f, &spec), *b = fake_start(&f, &spec);
  uint64_t serial = fake_take_call(&f, 0);
  fake_send_began(&f, 0, serial);
  UNTIL(&f, a->started_n == 1);
  fake_close(&f); /* checks that both have ended and were released */
  (void)b;
  assert_int_equal(fake_open_fds(), fds);
}

static void note_closed(void *user)
{
  struct fake *f = user;
  f->closed_n++;
  f->provider = NULL;
}

static void close_inside(struct fake_run *r)
{
  mf_provider_close(r->fake->provider, note_closed, r->fake);
}

static void closing_inside_an_event_ends_those_that_wait_too(void **state)
{
  struct fake f;
  fake_init(&f);
  f.config.ready_workers = 0;
  f.seam.times.idle_ms = 1;
  fake_open_up(&f);
  UNTIL(&f, fake_is_gone(&f, 0)); /* no worker whose end would be waited for */
  fake_slice(&f);
  const struct mf_sandbox_spec spec = fake_spec("x");
  struct fake_run *waits = fake_start(&f, &spec), *last = fake_start(&f, &spec);
  last->on_finished = close_inside;
  mf_sandbox_cancel(last->run);
  UNTIL(&f, last->finished_n == 1);
  fake_close(&f); /* checks that both have ended and were released */
  assert_int_equal(f.closed_n, 1);
  (void)waits;
}

/* A provider and its workers that were killed together left their groups to the next one. */
static void sweeps_when_it_has_begun(void **state)
{
  struct fake f;
  fake_init(&f);
  f.sweep_busy_n = 2; /* their processes are about to end */
  fake_open_up(&f);
  UNTIL(&f, f.sweep_n == 3);
  assert_works(&f, 0);
  fake_close(&f);
  assert_int_equal(f.sweep_n, 3);
}

static void closing_sweeps_what_was_due_and_waits_for_nobody(void **state)
{
  struct fake f;
  fake_init(&f);
  f.sweep_busy_n = UINT32_MAX;
  fake_open(&f);
  fake_close(&f);
  assert_true(f.sweep_n > 0);
}

static void closing_before_ready_says_so(void **state)
{
  struct fake f;
  fake_init(&f);
  fake_open(&f);
  fake_close(&f);
  assert_int_equal(f.ready_code, MF_E_GONE);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(runs_a_program),
    cmocka_unit_test(the_receipt_says_what_was_seen),
    cmocka_unit_test(starts_more_workers_when_needed_and_no_more_than_places),
    cmocka_unit_test(an_idle_worker_that_nobody_needs_ends),
    cmocka_unit_test(a_worker_is_replaced_after_its_calls),
    cmocka_unit_test(the_place_is_free_inside_finished),
    cmocka_unit_test(past_the_cap_a_run_is_cut_or_stopped),
    cmocka_unit_test(a_few_bytes_past_the_cap_cost_no_worker),
    cmocka_unit_test(repaired_text_past_its_cap_stops_the_run_too),
    cmocka_unit_test(files_become_artifacts),
    cmocka_unit_test(many_files_are_collected_on_a_thread_while_the_worker_goes_on),
    cmocka_unit_test(cancel_ends_the_worker_and_frees_the_place),
    cmocka_unit_test(a_waiting_run_can_be_cancelled),
    cmocka_unit_test(closing_ends_what_runs_and_waits),
    cmocka_unit_test(closing_inside_an_event_ends_those_that_wait_too),
    cmocka_unit_test(sweeps_when_it_has_begun),
    cmocka_unit_test(closing_sweeps_what_was_due_and_waits_for_nobody),
    cmocka_unit_test(closing_before_ready_says_so),
  };
  return cmocka_run_group_tests_name("wasm provider", tests, NULL, NULL);
}

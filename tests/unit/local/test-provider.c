/* The provider against a supervisor that is played by the test. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "descriptors.h"
#include "fake.h"
#include "tempdir.h"
#include "base/banned.h"

static void assert_ended(const struct fake_run *r, enum mf_run_status status, enum mf_run_reason reason,
                         const char *diagnostic)
{
  assert_int_equal(r->finished_n, 1);
  if (r->result->status != status || r->result->reason != reason)
    fail_msg("got %s/%s, expected %s/%s", mf_run_status_name(r->result->status), mf_run_reason_name(r->result->reason),
             mf_run_status_name(status), mf_run_reason_name(reason));
  if (!strstr(r->result->diagnostic, diagnostic) || (!diagnostic[0] && r->result->diagnostic[0]))
    fail_msg("diagnostic '%s', expected '%s'", r->result->diagnostic, diagnostic);
}

static void assert_out(const struct fake_run *r, const char *out, const char *err)
{
  assert_string_equal(r->result->out.ptr, out);
  assert_string_equal(r->result->err.ptr, err);
}

/* A run that succeeds at once: the provider works. */
static void assert_works(struct fake *f)
{
  const struct mf_sandbox_spec spec = fake_spec("print(1)");
  struct fake_run *r = fake_start(f, &spec);
  uint64_t id = fake_take_start(f);
  fake_send_started(f, id, true);
  const struct mf_sup_finished end = fake_finished(id);
  fake_send_finished(f, &end, -1);
  fake_send_reaped(f, id);
  unsigned busy = mf_provider_busy(f->provider);
  UNTIL(f, r->finished_n > 0 && mf_provider_busy(f->provider) < busy);
  assert_ended(r, MF_RUN_SUCCEEDED, MF_REASON_EXIT, "");
}

/* ---- a normal life ---- */

static void runs_a_program(void **state)
{
  struct fake f;
  fake_init(&f);
  fake_open_up(&f);
  struct mf_sandbox_spec spec = fake_spec("import numpy\nprint('hi')");
  spec.source_name = MF_STR("job.py");
  spec.limits.cpu_ms = 1500;
  struct fake_run *r = fake_start(&f, &spec);

  struct mf_sup_start start;
  mf_auto_close int job_fd = -1;
  fake_take(&f, MF_SUP_START, &start, sizeof(start), &job_fd);
  assert_int_equal(start.runtime, MF_ROUTE_DATA);
  assert_int_equal(start.wall_ms, spec.limits.wall_ms);
  assert_int_equal(start.cpu_ms, 1500);
  assert_int_equal(start.memory_bytes, spec.limits.memory_bytes);
  assert_int_equal(start.stdout_bytes, spec.limits.stdout_bytes + 4);
  assert_int_equal(start.stderr_bytes, spec.limits.stderr_bytes + 4);
  assert_int_equal(start.pids, spec.limits.pids);
  assert_int_equal(start.stop_on_output, 0);
  struct mf_job job;
  struct mf_err err;
  assert_ok(mf_job_map(job_fd, &job, &err), &err);
  assert_true(mf_str_eq(job.source, spec.source));
  assert_true(mf_str_is(job.name, "job.py"));
  mf_job_done(&job);

  fake_send_started(&f, start.id, true);
  fake_send_started(&f, start.id, false); /* once is enough */
  fake_send_output(&f, start.id, false, "h", false);
  fake_send_output(&f, start.id, true, "warn\n", false);
  UNTIL(&f, r->output_n == 2);
  assert_int_equal(r->started_n, 1);
  fake_send_output(&f, start.id, false, "i\n", false);
  const struct mf_sup_hint hint = { .type = MF_SUP_HINT, .len = 19, .id = start.id, .text = "network is disabled" };
  fake_send(&f, &hint, sizeof(hint), -1);
  fake_send(&f, &hint, sizeof(hint), -1);
  struct mf_sup_finished end = fake_finished(start.id);
  end.exit_code = 1;
  end.uncaught = MF_UNCAUGHT_EXCEPTION;
  fake_send_finished(&f, &end, -1);
  UNTIL(&f, r->finished_n > 0);
  assert_ended(r, MF_RUN_FAILED, MF_REASON_EXCEPTION, "");
  assert_out(r, "hi\n", "warn\n");
  assert_true(r->result->has_exit_code);
  assert_int_equal(r->result->exit_code, 1);
  assert_int_equal(r->result->duration_us, 12345);
  assert_int_equal(r->result->duration_ms, 12);
  assert_int_equal(r->result->cpu_ms, 7);
  assert_int_equal(r->result->memory_peak_bytes, 1 << 20);
  assert_int_equal(r->result->denied_n, 1);
  assert_string_equal(r->result->denied[0], "network is disabled");

  /* The place is free only when every process of it is gone. */
  assert_int_equal(mf_provider_busy(f.provider), 1);
  assert_int_equal(r->released_n, 0);
  fake_send_reaped(&f, start.id);
  UNTIL(&f, r->released_n == 1);
  assert_int_equal(mf_provider_busy(f.provider), 0);
  fake_close(&f);
}

static void the_receipt_says_what_was_seen(void **state)
{
  struct fake f;
  fake_init(&f);
  fake_open_up(&f);
  assert_works(&f);
  const struct mf_receipt *got = &f.runs[0].result->receipt;
  assert_string_equal(got->provider, "local");
  assert_string_equal(got->isolation, "full");
  assert_string_equal(got->layers, "user,pid,mount,network,ipc,uts,proc,landlock:7,landlock_scope,seccomp,"
                                   "no_new_privs,capabilities,rlimits,cgroup");
  assert_string_equal(got->seccomp_sha256, "c0ffee");
  assert_int_equal(got->landlock_abi, 7);
  assert_string_equal(got->memory_control, "cgroup2");
  assert_string_equal(got->runtime_id, "python-test");
  assert_string_equal(got->runtime_digest, "sha256:00");
  assert_string_equal(got->python_version, "3.12.1");
  assert_string_equal(got->start, "pool");
  char code_sha256[MF_SHA256_HEX_N];
  mf_sha256_of(MF_STR("print(1)"), code_sha256);
  assert_string_equal(got->code_sha256, code_sha256);

  uint32_t caps = mf_provider_caps(f.provider);
  assert_true(caps & MF_CAP_NUMPY);
  assert_false(caps & MF_CAP_PANDAS); /* not in this runtime */
  assert_true(caps & MF_CAP_MEMORY);
  fake_close(&f);
}

/* A character in two frames is one character; bytes past the cap are cut before the character they split. */
static void output_is_whole_characters(void **state)
{
  struct fake f;
  fake_init(&f);
  fake_open_up(&f);
  struct mf_sandbox_spec spec = fake_spec("");
  spec.limits.stdout_bytes = 8;
  spec.limits.stderr_bytes = 4;
  struct fake_run *r = fake_start(&f, &spec);
  uint64_t id = fake_take_start(&f);
  fake_send_started(&f, id, false);
  fake_send_output(&f, id, false, "ab\xe2\x98", false);
  UNTIL(&f, r->out.len == 2);
  fake_send_output(&f, id, false, "\x95\xe2\x98\x95\xe2", true); /* 8 + 1 bytes, the rest dropped */
  fake_send_output(&f, id, true, "x\xffy", false);               /* repaired, this is 5 bytes */
  fake_send_output(&f, id, true, "", true);
  const struct mf_sup_finished end = fake_finished(id);
  fake_send_finished(&f, &end, -1);
  UNTIL(&f, r->finished_n > 0);
  assert_ended(r, MF_RUN_SUCCEEDED, MF_REASON_EXIT, ""); /* the policy is to cut */
  assert_out(r, "ab\xe2\x98\x95\xe2\x98\x95", "x\xef\xbf\xbd");
  assert_true(r->result->out_truncated);
  assert_true(r->result->err_truncated);
  fake_close(&f);
}

static void an_unfinished_character_comes_with_the_end(void **state)
{
  struct fake f;
  fake_init(&f);
  fake_open_up(&f);
  const struct mf_sandbox_spec spec = fake_spec("");
  struct fake_run *r = fake_start(&f, &spec);
  uint64_t id = fake_take_start(&f);
  fake_send_output(&f, id, false, "a\xe2\x98", false);
  const struct mf_sup_finished end = fake_finished(id);
  fake_send_finished(&f, &end, -1);
  fake_send_output(&f, id, false, "too late", false);
  UNTIL(&f, r->finished_n > 0);
  assert_out(r, "a\xef\xbf\xbd", "");
  assert_false(r->result->out_truncated);
  assert_string_equal(r->result->receipt.start, ""); /* it never said that it started */
  fake_close(&f);
}

static void stops_at_the_output_cap(void **state)
{
  struct fake f;
  fake_init(&f);
  fake_open_up(&f);
  struct mf_sandbox_spec spec = fake_spec("");
  spec.limits.stdout_bytes = 4;
  spec.limits.output_policy = MF_OUTPUT_STOP;
  struct fake_run *r = fake_start(&f, &spec);
  struct mf_sup_start start;
  int fd;
  fake_take(&f, MF_SUP_START, &start, sizeof(start), &fd);
  close(fd);
  assert_int_equal(start.stop_on_output, 1);
  fake_send_started(&f, start.id, true);
  /* Within the raw cap of the supervisor, but past the cap of the text. */
  fake_send_output(&f, start.id, false, "\xff\xff", false);
  struct mf_sup_cancel cancel;
  fake_take(&f, MF_SUP_CANCEL, &cancel, sizeof(cancel), NULL);
  assert_int_equal(cancel.id, start.id);
  struct mf_sup_finished end = fake_finished(start.id);
  end.killed = MF_KILL_CANCEL;
  end.by_word = 0;
  fake_send_finished(&f, &end, -1);
  UNTIL(&f, r->finished_n > 0);
  assert_ended(r, MF_RUN_LIMIT, MF_REASON_OUTPUT, "");
  assert_false(r->result->has_exit_code);
  assert_out(r, "\xef\xbf\xbd", "");

  /* One that ends by itself just past the cap gets the same, one that ran out of time does not. */
  struct fake_run *by_itself = fake_start(&f, &spec);
  uint64_t id = fake_take_start(&f);
  fake_send_output(&f, id, false, "12345", false);
  end = fake_finished(id);
  fake_send_finished(&f, &end, -1);
  fake_send_reaped(&f, start.id);
  fake_send_reaped(&f, id);
  UNTIL(&f, by_itself->finished_n > 0 && mf_provider_busy(f.provider) == 0);
  assert_ended(by_itself, MF_RUN_LIMIT, MF_REASON_OUTPUT, "");
  fake_take(&f, MF_SUP_CANCEL, &cancel, sizeof(cancel), NULL);

  struct fake_run *late = fake_start(&f, &spec);
  id = fake_take_start(&f);
  fake_send_output(&f, id, false, "12345", false);
  end = fake_finished(id);
  end.killed = MF_KILL_WALL;
  fake_send_finished(&f, &end, -1);
  UNTIL(&f, late->finished_n > 0);
  assert_ended(late, MF_RUN_TIMED_OUT, MF_REASON_WALL_TIME, "");
  fake_close(&f);
}

/* ---- files ---- */

static void put(const struct mf_tempdir *dir, const char *name, const char *data)
{
  struct mf_err err;
  assert_ok(mf_tempdir_write(dir, mf_str_of(name), mf_str_of(data), &err), &err);
}

static void files_wait_for_the_reap(void **state)
{
  struct fake f;
  struct mf_tempdir dir;
  struct mf_err err;
  assert_ok(mf_tempdir_make(&dir, &err), &err);
  fake_init(&f);
  fake_open_up(&f);
  const struct mf_sandbox_spec spec = fake_spec("");
  struct fake_run *r = fake_start(&f, &spec);
  uint64_t id = fake_take_start(&f);
  fake_send_started(&f, id, true);
  put(&dir, "early.txt", "1");
  struct mf_sup_finished end = fake_finished(id);
  end.has_files = 1;
  fake_send_finished(&f, &end, dir.fd);
  assert_false(fake_has_frame(&f)); /* some turns of the loop */
  assert_int_equal(r->finished_n, 0);
  /* A process that is not dead yet can still change things: what counts is what is there at the end. */
  put(&dir, "sub/late.csv", "x\n2\n");
  unlinkat(dir.fd, "early.txt", 0);
  fake_send_reaped(&f, id);
  UNTIL(&f, r->finished_n > 0);
  assert_int_equal(mf_provider_busy(f.provider), 0);
  assert_ended(r, MF_RUN_SUCCEEDED, MF_REASON_EXIT, "");
  assert_int_equal(r->result->artifact_n, 1);
  assert_string_equal(r->result->artifacts[0].path, "sub/late.csv");
  assert_int_equal(r->result->artifacts[0].size_bytes, 4);
  fake_close(&f);
  mf_tempdir_remove(&dir);
}

/* With inputs the directory is looked at whatever the guest says; the unchanged ones are left out. */
static void inputs_are_not_artifacts(void **state)
{
  struct fake f;
  struct mf_tempdir dir;
  struct mf_err err;
  assert_ok(mf_tempdir_make(&dir, &err), &err);
  fake_init(&f);
  fake_open_up(&f);
  const struct mf_sandbox_file files[] = {
    { MF_STR("same.csv"), MF_STR("a\n1\n") },
    { MF_STR("changed.csv"), MF_STR("b\n1\n") },
  };
  struct mf_sandbox_spec spec = fake_spec("");
  spec.files = files;
  spec.file_n = 2;
  struct fake_run *r = fake_start(&f, &spec);
  uint64_t id = fake_take_start(&f);
  fake_send_started(&f, id, true);
  put(&dir, "same.csv", "a\n1\n");
  put(&dir, "changed.csv", "b\n2\n");
  const struct mf_sup_finished end = fake_finished(id); /* has_files 0: a lie */
  fake_send_finished(&f, &end, dir.fd);
  fake_send_reaped(&f, id);
  UNTIL(&f, r->finished_n > 0);
  assert_int_equal(r->result->artifact_n, 1);
  assert_string_equal(r->result->artifacts[0].path, "changed.csv");
  assert_int_equal(r->result->receipt.input_n, 2);
  fake_close(&f);
  mf_tempdir_remove(&dir);
}

/* Without the guest's word (killed, os._exit) nobody says that there are no files. */
static void files_of_a_killed_run_are_kept(void **state)
{
  struct fake f;
  struct mf_tempdir dir;
  struct mf_err err;
  assert_ok(mf_tempdir_make(&dir, &err), &err);
  put(&dir, "partial.txt", "half");
  fake_init(&f);
  fake_open_up(&f);
  const struct mf_sandbox_spec spec = fake_spec("");
  struct fake_run *r = fake_start(&f, &spec);
  uint64_t id = fake_take_start(&f);
  struct mf_sup_finished end = fake_finished(id);
  end.by_word = 0;
  end.killed = MF_KILL_WALL;
  fake_send_finished(&f, &end, dir.fd);
  fake_send_reaped(&f, id);
  UNTIL(&f, r->finished_n > 0);
  assert_ended(r, MF_RUN_TIMED_OUT, MF_REASON_WALL_TIME, "");
  assert_int_equal(r->result->artifact_n, 1);
  fake_close(&f);
  mf_tempdir_remove(&dir);
}

/* The process of the provider has no descriptor left when the files come. */
static void files_without_room_are_lost_and_nothing_else(void **state)
{
  struct fake f;
  struct mf_tempdir dir;
  struct mf_err err;
  assert_ok(mf_tempdir_make(&dir, &err), &err);
  put(&dir, "a.txt", "1");
  fake_init(&f);
  fake_open_up(&f);
  const struct mf_sandbox_spec spec = fake_spec("");
  struct fake_run *r = fake_start(&f, &spec);
  uint64_t id = fake_take_start(&f);
  struct mf_sup_finished end = fake_finished(id);
  end.has_files = 1;
  fake_send_started(&f, id, true);
  fake_send_finished(&f, &end, dir.fd);
  fake_send_reaped(&f, id);
  const struct rlimit before = leave_descriptors(0);
  UNTIL(&f, r->released_n > 0);
  give_descriptors(&before);
  assert_ended(r, MF_RUN_SUCCEEDED, MF_REASON_EXIT,
               "files could not be collected: too many open files; raise this process's limit (ulimit -n)");
  assert_int_equal(r->result->artifact_n, 0);
  fake_close(&f);
  mf_tempdir_remove(&dir);
}

static void a_reap_that_does_not_come_costs_the_files(void **state)
{
  struct fake f;
  struct mf_tempdir dir;
  struct mf_err err;
  assert_ok(mf_tempdir_make(&dir, &err), &err);
  put(&dir, "a.txt", "1");
  fake_init(&f);
  f.seam.times.reap_ms = 20;
  fake_open_up(&f);
  const struct mf_sandbox_spec spec = fake_spec("");
  struct fake_run *r = fake_start(&f, &spec);
  uint64_t id = fake_take_start(&f);
  struct mf_sup_finished end = fake_finished(id);
  end.has_files = 1;
  fake_send_finished(&f, &end, dir.fd);
  UNTIL(&f, r->finished_n > 0);
  assert_ended(r, MF_RUN_SUCCEEDED, MF_REASON_EXIT, "files were not collected");
  assert_int_equal(r->result->artifact_n, 0);
  assert_int_equal(mf_provider_busy(f.provider), 1);
  fake_send_reaped(&f, id);
  UNTIL(&f, mf_provider_busy(f.provider) == 0);
  fake_close(&f);
  mf_tempdir_remove(&dir);
}

/* ---- places ---- */

static void places_are_bounded(void **state)
{
  struct fake f;
  fake_init(&f);
  fake_open_up(&f);
  const struct mf_sandbox_spec spec = fake_spec("");
  struct fake_run *first = fake_start(&f, &spec), *ignored = NULL;
  fake_start(&f, &spec);
  struct mf_err err = { 0 };
  assert_int_equal(fake_try(&f, &spec, &ignored, &err), MF_E_CAPACITY);
  assert_non_null(strstr(err.msg, "2 sandbox places"));
  uint64_t id = fake_take_start(&f);
  const struct mf_sup_finished end = fake_finished(id);
  fake_send_finished(&f, &end, -1);
  UNTIL(&f, first->finished_n > 0);
  assert_int_equal(fake_try(&f, &spec, &ignored, &err), MF_E_CAPACITY); /* not reaped yet */
  fake_send_reaped(&f, id);
  UNTIL(&f, mf_provider_busy(f.provider) == 1);
  fake_start(&f, &spec);
  fake_close(&f);
}

static void start_next(struct fake_run *r)
{
  const struct mf_sandbox_spec spec = fake_spec("next");
  struct fake_run *next = NULL;
  struct mf_err err;
  assert_ok(fake_try(r->fake, &spec, &next, &err), &err);
}

/* With one place, the receiver of a result that waited for the reap can start the next run from inside. */
static void finished_can_start_the_next(void **state)
{
  struct fake f;
  struct mf_tempdir dir;
  struct mf_err err;
  assert_ok(mf_tempdir_make(&dir, &err), &err);
  fake_init(&f);
  f.config.max_running = 1;
  fake_open_up(&f);
  const struct mf_sandbox_spec spec = fake_spec("");
  struct fake_run *r = fake_start(&f, &spec);
  r->on_finished = start_next;
  uint64_t id = fake_take_start(&f);
  struct mf_sup_finished end = fake_finished(id);
  end.has_files = 1;
  fake_send_finished(&f, &end, dir.fd);
  fake_send_reaped(&f, id);
  UNTIL(&f, r->finished_n > 0);
  assert_true(fake_take_start(&f) != id);
  fake_close(&f);
  mf_tempdir_remove(&dir);
}

/* A socket that takes only a few frames: the others follow as the supervisor reads. */
static void a_full_socket_delays_only(void **state)
{
  struct fake f;
  fake_init(&f);
  f.config.max_running = 48;
  f.send_buffer = 1;
  fake_open_up(&f);
  const struct mf_sandbox_spec spec = fake_spec("");
  for (unsigned i = 0; i < 48; i++)
    fake_start(&f, &spec);
  for (unsigned i = 0; i < 48; i++)
    mf_sandbox_cancel(f.runs[i].run);
  /* Those that were not sent yet are cancelled here; the others are asked to end, each once. */
  uint64_t sent[48];
  unsigned sent_n = 0, cancel_n = 0;
  while (fake_has_frame(&f)) {
    union {
      struct mf_sup_start start;
      struct mf_sup_cancel cancel;
    } in;
    int fds[MF_FDS_MAX];
    unsigned fd_n = 0;
    size_t n = 0;
    struct mf_err err;
    assert_ok(mf_recv_msg(f.sock, &in, sizeof(in), &n, fds, &fd_n, &err), &err);
    if (in.start.type == MF_SUP_START) {
      close(fds[0]);
      sent[sent_n++] = in.start.id;
    } else {
      assert_int_equal(in.cancel.type, MF_SUP_CANCEL);
      assert_int_equal(in.cancel.id, sent[cancel_n++]);
    }
  }
  assert_true(sent_n > 0 && sent_n < 48);
  assert_int_equal(cancel_n, sent_n);
  for (unsigned i = 0; i < sent_n; i++) {
    struct mf_sup_finished end = fake_finished(sent[i]);
    end.killed = MF_KILL_CANCEL;
    fake_send_finished(&f, &end, -1);
    fake_send_reaped(&f, sent[i]);
  }
  UNTIL(&f, mf_provider_busy(f.provider) == 0);
  for (unsigned i = 0; i < 48; i++)
    assert_ended(&f.runs[i], MF_RUN_CANCELLED, MF_REASON_CANCELLED, "");
  fake_close(&f);
}

/* ---- cancel ---- */

static void cancel_self(struct fake_run *r)
{
  mf_sandbox_cancel(r->run);
  mf_sandbox_cancel(r->run);
}

static void cancels_before_it_was_sent(void **state)
{
  struct fake f;
  fake_init(&f);
  fake_open(&f); /* not ready yet */
  const struct mf_sandbox_spec spec = fake_spec("");
  struct fake_run *r = fake_start(&f, &spec), *other = fake_start(&f, &spec);
  cancel_self(r);
  assert_int_equal(r->finished_n, 0); /* never from inside */
  UNTIL(&f, r->finished_n > 0);
  assert_ended(r, MF_RUN_CANCELLED, MF_REASON_CANCELLED, "");
  assert_string_equal(r->result->receipt.isolation, "none");
  assert_int_equal(mf_provider_busy(f.provider), 1);
  /* The one that waits runs when the supervisor is there. */
  assert_false(fake_has_frame(&f));
  fake_send_ready(&f);
  uint64_t id = fake_take_start(&f);
  const struct mf_sup_finished end = fake_finished(id);
  fake_send_finished(&f, &end, -1);
  UNTIL(&f, other->finished_n > 0);
  assert_ended(other, MF_RUN_SUCCEEDED, MF_REASON_EXIT, "");
  assert_false(fake_has_frame(&f));
  fake_close(&f);
}

static void cancels_from_inside_an_event(void **state)
{
  struct fake f;
  fake_init(&f);
  fake_open_up(&f);
  const struct mf_sandbox_spec spec = fake_spec("");
  struct fake_run *r = fake_start(&f, &spec), *other = fake_start(&f, &spec);
  r->on_started = cancel_self;
  other->on_output = cancel_self;
  uint64_t id = fake_take_start(&f), other_id = fake_take_start(&f);
  fake_send_started(&f, id, true);
  struct mf_sup_cancel cancel;
  fake_take(&f, MF_SUP_CANCEL, &cancel, sizeof(cancel), NULL);
  assert_int_equal(cancel.id, id);
  fake_send_output(&f, other_id, false, "x", false);
  fake_take(&f, MF_SUP_CANCEL, &cancel, sizeof(cancel), NULL);
  assert_int_equal(cancel.id, other_id);
  struct mf_sup_finished end = fake_finished(id);
  end.killed = MF_KILL_CANCEL;
  fake_send_finished(&f, &end, -1);
  end = fake_finished(other_id); /* it had ended before the cancel came */
  fake_send_finished(&f, &end, -1);
  UNTIL(&f, r->finished_n > 0 && other->finished_n > 0);
  assert_ended(r, MF_RUN_CANCELLED, MF_REASON_CANCELLED, "");
  assert_ended(other, MF_RUN_SUCCEEDED, MF_REASON_EXIT, "");
  fake_close(&f);
}

static void a_cancel_after_the_end_changes_nothing(void **state)
{
  struct fake f;
  struct mf_tempdir dir;
  struct mf_err err;
  assert_ok(mf_tempdir_make(&dir, &err), &err);
  fake_init(&f);
  fake_open_up(&f);
  const struct mf_sandbox_spec spec = fake_spec("");
  struct fake_run *r = fake_start(&f, &spec);
  uint64_t id = fake_take_start(&f);
  struct mf_sup_finished end = fake_finished(id);
  end.has_files = 1;
  fake_send_finished(&f, &end, dir.fd);
  assert_false(fake_has_frame(&f));
  cancel_self(r);
  assert_false(fake_has_frame(&f)); /* nothing to ask for */
  fake_send_reaped(&f, id);
  UNTIL(&f, r->finished_n > 0);
  assert_ended(r, MF_RUN_SUCCEEDED, MF_REASON_EXIT, "");
  fake_close(&f);
  mf_tempdir_remove(&dir);
}

/* ---- the supervisor dies ---- */

static void survives_its_supervisor(void **state)
{
  struct fake f;
  struct mf_tempdir dir;
  struct mf_err err;
  assert_ok(mf_tempdir_make(&dir, &err), &err);
  fake_init(&f);
  f.config.max_running = 4;
  fake_open_up(&f);
  UNTIL(&f, f.sweep_n == 1); /* what others left */
  f.sweep_busy_n = 3;
  const struct mf_sandbox_spec spec = fake_spec("");
  struct fake_run *running = fake_start(&f, &spec), *draining = fake_start(&f, &spec),
                  *finished = fake_start(&f, &spec);
  uint64_t ids[3];
  for (unsigned i = 0; i < 3; i++)
    ids[i] = fake_take_start(&f);
  fake_send_started(&f, ids[0], true);
  fake_send_output(&f, ids[0], false, "so far", false);
  struct mf_sup_finished end = fake_finished(ids[1]);
  end.has_files = 1;
  fake_send_finished(&f, &end, dir.fd);
  end = fake_finished(ids[2]);
  fake_send_finished(&f, &end, -1);
  UNTIL(&f, finished->finished_n > 0 && running->out.len > 0);
  assert_int_equal(mf_provider_busy(f.provider), 3);
  fake_die(&f);
  UNTIL(&f, running->finished_n > 0 && draining->finished_n > 0);
  assert_ended(running, MF_RUN_FAILED, MF_REASON_WORKER_CRASH, "sandbox supervisor ended");
  assert_out(running, "so far", "");
  assert_ended(draining, MF_RUN_FAILED, MF_REASON_WORKER_CRASH, "sandbox supervisor ended");
  assert_int_equal(mf_provider_busy(f.provider), 0);

  /* A start right after just works: it waits for the successor. */
  struct fake_run *waiting = fake_start(&f, &spec);
  UNTIL(&f, f.spawn_n == 2);
  assert_true(f.sweep_n >= 2);
  assert_int_equal(waiting->finished_n, 0);
  fake_send_ready(&f);
  uint64_t id = fake_take_start(&f);
  end = fake_finished(id);
  fake_send_finished(&f, &end, -1);
  UNTIL(&f, waiting->finished_n > 0);
  assert_ended(waiting, MF_RUN_SUCCEEDED, MF_REASON_EXIT, "");
  assert_int_equal(f.ready_n, 1);
  UNTIL(&f, f.sweep_n == 5); /* until nothing is busy any more */
  assert_works(&f);
  fake_close(&f);
  mf_tempdir_remove(&dir);
}

/* The successor dies too, again and again: a start is refused after its time, and the way back stays open. */
static void a_long_gap_refuses_starts(void **state)
{
  struct fake f;
  fake_init(&f);
  f.seam.times.gap_ms = 50;
  f.seam.times.backoff_max_ms = 2;
  fake_open_up(&f);
  f.refuses_spawn = true;
  fake_die(&f);
  UNTIL(&f, f.spawn_n > 1);
  const struct mf_sandbox_spec spec = fake_spec("");
  struct fake_run *waiting = NULL, *ignored = NULL;
  struct mf_err err = { 0 };
  if (fake_try(&f, &spec, &waiting, &err) == MF_OK) {
    UNTIL(&f, waiting->finished_n > 0);
    assert_ended(waiting, MF_RUN_FAILED, MF_REASON_UNAVAILABLE, "refused by the test");
  }
  UNTIL(&f, f.spawn_n > 3);
  while (fake_try(&f, &spec, &ignored, &err) == MF_OK)
    UNTIL(&f, ignored->finished_n > 0);
  assert_int_equal(fake_try(&f, &spec, &ignored, &err), MF_E_UNAVAILABLE);
  assert_non_null(strstr(err.msg, "refused by the test"));
  f.refuses_spawn = false;
  UNTIL(&f, f.sock >= 0);
  fake_send_ready(&f);
  UNTIL(&f, fake_try(&f, &spec, &waiting, &err) == MF_OK);
  fake_take_start(&f);
  fake_close(&f);
}

/* It lives but says nothing: the run is over, the supervisor is replaced. */
static void replaces_a_silent_supervisor(void **state)
{
  struct fake f;
  fake_init(&f);
  f.seam.times.silence_ms = 20;
  fake_open_up(&f);
  const struct mf_sandbox_spec spec = fake_spec("");
  struct fake_run *r = fake_start(&f, &spec);
  UNTIL(&f, r->finished_n > 0);
  assert_ended(r, MF_RUN_FAILED, MF_REASON_WORKER_CRASH, "sandbox supervisor ended");
  UNTIL(&f, f.spawn_n == 2);
  fake_close(&f);
}

static void replaces_one_that_ignores_a_cancel(void **state)
{
  struct fake f;
  fake_init(&f);
  f.seam.times.grace_ms = 20;
  fake_open_up(&f);
  const struct mf_sandbox_spec spec = fake_spec("");
  struct fake_run *r = fake_start(&f, &spec);
  fake_send_started(&f, fake_take_start(&f), true);
  UNTIL(&f, r->started_n > 0);
  mf_sandbox_cancel(r->run);
  UNTIL(&f, r->finished_n > 0);
  assert_ended(r, MF_RUN_FAILED, MF_REASON_WORKER_CRASH, "sandbox supervisor ended");
  UNTIL(&f, f.spawn_n == 2);
  fake_close(&f);
}

/* A run's wall time is the supervisor's to end; past it and the grace, the supervisor does not do its work. */
static void replaces_one_that_forgets_a_deadline(void **state)
{
  struct fake f;
  fake_init(&f);
  f.seam.times.grace_ms = 20;
  fake_open_up(&f);
  struct mf_sandbox_spec spec = fake_spec("");
  spec.limits.wall_ms = 1;
  struct fake_run *r = fake_start(&f, &spec);
  fake_send_started(&f, fake_take_start(&f), true);
  UNTIL(&f, r->finished_n > 0);
  assert_ended(r, MF_RUN_FAILED, MF_REASON_WORKER_CRASH, "sandbox supervisor ended");
  assert_true(r->result->duration_us > 0);
  fake_close(&f);
}

/* ---- the first start ---- */

static void require_refuses_with_the_remedy(void **state)
{
  struct fake f;
  fake_init(&f);
  fake_open(&f);
  const struct mf_sandbox_spec spec = fake_spec("");
  struct fake_run *early = fake_start(&f, &spec), *ignored = NULL;
  fake_send_fatal(&f, "unshare user", 1);
  UNTIL(&f, f.ready_n > 0 && early->finished_n > 0);
  assert_int_equal(f.ready_code, MF_E_UNAVAILABLE);
  assert_non_null(strstr(f.ready_err.msg, "unshare user: while testing"));
  assert_non_null(strstr(f.ready_err.msg, "Operation not permitted"));
  assert_null(strchr(f.ready_err.msg, '\n'));
  char remedy[512];
  mf_local_remedy("unshare user", 1, remedy, sizeof(remedy));
  remedy[40] = '\0'; /* the end of a long one may be cut */
  assert_non_null(strstr(f.ready_err.msg, remedy));
  assert_ended(early, MF_RUN_FAILED, MF_REASON_UNAVAILABLE, "unshare user");
  struct mf_err err = { 0 };
  assert_int_equal(fake_try(&f, &spec, &ignored, &err), MF_E_UNAVAILABLE);
  assert_non_null(strstr(err.msg, "unshare user"));
  assert_int_equal(f.spawn_n, 1); /* what is missing does not come back by trying */
  fake_close(&f);
}

/* A failure that says nothing about what this machine can do. */
static void assert_prefer_refuses(struct fake *f, const char *words)
{
  UNTIL(f, f->ready_n > 0);
  assert_int_equal(f->ready_code, MF_E_UNAVAILABLE);
  assert_non_null(strstr(f->ready_err.msg, words));
  const struct mf_sandbox_spec spec = fake_spec("");
  struct fake_run *ignored = NULL;
  assert_int_equal(fake_try(f, &spec, &ignored, NULL), MF_E_UNAVAILABLE);
  fake_close(f);
}

static void open_prefer(struct fake *f)
{
  fake_init(f);
  f->config.isolation = MF_ISOLATION_PREFER;
  /* With a host Python it could go on without a sandbox. */
  snprintf(f->runtime.host_python, sizeof(f->runtime.host_python), "/bin/true");
}

static void prefer_needs_a_missing_layer(void **state)
{
  struct fake f;
  open_prefer(&f);
  f.seam.times.ready_ms = 20;
  fake_open(&f);
  assert_prefer_refuses(&f, "not ready after");

  open_prefer(&f);
  fake_open(&f);
  fake_die(&f);
  assert_prefer_refuses(&f, "sandbox supervisor ended");

  open_prefer(&f);
  f.refuses_spawn = true;
  fake_open(&f);
  UNTIL(&f, f.ready_n > 0);
  assert_int_equal(f.ready_code, MF_E_SYS);
  fake_close(&f);

  static const struct {
    const char *step;
    int error;
  } others[] = {
    { "zygote", 0 },           { "prepare", 0 },           { "fork", EAGAIN },
    { "exec python", ENOENT }, { "unshare user", EAGAIN }, { "mount proc", ENOMEM },
  };
  for (size_t i = 0; i < MF_ARRAY_N(others); i++) {
    open_prefer(&f);
    fake_open(&f);
    fake_send_fatal(&f, others[i].step, others[i].error);
    assert_prefer_refuses(&f, "while testing");
  }
}

static void prefer_goes_on_without(void **state)
{
  struct fake f;
  fake_init(&f);
  f.config.isolation = MF_ISOLATION_PREFER;
  fake_open(&f);
  fake_send_fatal(&f, "unshare user", 1);
  UNTIL(&f, f.ready_n > 0);
  assert_int_equal(f.ready_code, MF_OK);
  assert_false(mf_provider_caps(f.provider) & MF_CAP_DENIED);
  /* This runtime names no host Python. */
  const struct mf_sandbox_spec spec = fake_spec("");
  struct fake_run *ignored = NULL;
  struct mf_err err = { 0 };
  assert_int_equal(fake_try(&f, &spec, &ignored, &err), MF_E_UNAVAILABLE);
  assert_int_equal(mf_provider_busy(f.provider), 0);
  fake_close(&f);
}

static void an_early_end_is_told(void **state)
{
  struct fake f;
  fake_init(&f);
  fake_open(&f);
  fake_die(&f);
  UNTIL(&f, f.ready_n > 0);
  assert_int_equal(f.ready_code, MF_E_UNAVAILABLE);
  assert_non_null(strstr(f.ready_err.msg, "sandbox supervisor ended"));
  fake_close(&f);

  fake_init(&f);
  f.seam.times.ready_ms = 20;
  fake_open(&f);
  UNTIL(&f, f.ready_n > 0);
  assert_int_equal(f.ready_code, MF_E_UNAVAILABLE);
  assert_non_null(strstr(f.ready_err.msg, "not ready after"));
  fake_close(&f);

  fake_init(&f);
  f.refuses_spawn = true;
  fake_open(&f);
  UNTIL(&f, f.ready_n > 0);
  assert_non_null(strstr(f.ready_err.msg, "refused by the test"));
  fake_close(&f);
}

static void checks_its_configuration(void **state)
{
  struct fake f;
  fake_init(&f);
  struct mf_provider *p = NULL;
  struct mf_err err;
  f.config.max_running = 0;
  assert_int_equal(mf_local_new_with(f.loop, &f.config, "/z", &f.runtime, &f.seam, NULL, NULL, &p, &err), MF_E_INPUT);
  f.config.max_running = 257;
  assert_int_equal(mf_local_new_with(f.loop, &f.config, "/z", &f.runtime, &f.seam, NULL, NULL, &p, &err), MF_E_INPUT);
  f.config.max_running = 1;
  f.config.pool_data = 65;
  assert_int_equal(mf_local_new_with(f.loop, &f.config, "/z", &f.runtime, &f.seam, NULL, NULL, &p, &err), MF_E_INPUT);
  f.config.pool_data = 0;
  char path[MF_SUP_PATH_MAX + 1];
  memset(path, '/', sizeof(path) - 1);
  path[MF_SUP_PATH_MAX] = '\0';
  assert_int_equal(mf_local_new_with(f.loop, &f.config, path, &f.runtime, &f.seam, NULL, NULL, &p, &err), MF_E_INPUT);
  assert_null(p);
  assert_int_equal(f.spawn_n, 0);
  fake_close(&f);
}

/* ---- malformed frames ---- */

static void drops_malformed_frames(void **state)
{
  struct fake f;
  fake_init(&f);
  fake_open_up(&f);
  const struct mf_sandbox_spec spec = fake_spec("");
  struct fake_run *r = fake_start(&f, &spec);
  uint64_t id = fake_take_start(&f);
  fake_send_started(&f, id, true);
  UNTIL(&f, r->started_n > 0);
  mf_auto_close int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  unsigned fds = fake_open_fds();

  /* Every type, with every small size: none of these is a whole frame of its type with this id in its place. */
  char bytes[sizeof(struct mf_sup_ready) + 8];
  for (uint32_t type = 0; type < 16; type++)
    for (size_t n = 1; n <= sizeof(bytes); n += 3) {
      memset(bytes, 0xa5, sizeof(bytes));
      memcpy(bytes, &type, sizeof(type));
      fake_send(&f, bytes, n, n % 2 ? null_fd : -1);
    }
  /* Lengths that lie. */
  struct mf_sup_output output = { .type = MF_SUP_OUTPUT, .id = id, .len = 1 };
  fake_send(&f, &output, sizeof(output), -1);
  output.len = UINT32_MAX;
  fake_send(&f, &output, sizeof(output), -1);
  const struct mf_sup_hint hint = { .type = MF_SUP_HINT, .id = id, .len = MF_TEXT_MAX + 1 };
  fake_send(&f, &hint, sizeof(hint), -1);
  /* One that is larger than any. */
  size_t huge_n = sizeof(output) + MF_CHUNK_MAX + 1;
  char *huge = mf_xcalloc(1, huge_n);
  output.len = MF_CHUNK_MAX + 1;
  memcpy(huge, &output, sizeof(output));
  fake_send(&f, huge, huge_n, -1);
  free(huge);
  /* Frames for nobody, and with descriptors that they should not have. */
  struct mf_sup_finished end = fake_finished(id + 1000);
  fake_send_finished(&f, &end, null_fd);
  fake_send_reaped(&f, id + 1000);
  fake_send_ready(&f);

  assert_int_equal(r->finished_n, 0);
  fake_send_output(&f, id, false, "fine", false);
  end = fake_finished(id);
  fake_send_finished(&f, &end, null_fd); /* not a directory, but no files either */
  fake_send_finished(&f, &end, null_fd);
  UNTIL(&f, r->finished_n > 0);
  assert_out(r, "fine", "");
  assert_int_equal(r->result->denied_n, 0);
  fake_send_reaped(&f, id);
  fake_send_reaped(&f, id);
  UNTIL(&f, mf_provider_busy(f.provider) == 0);
  assert_int_equal(fake_open_fds(), fds);
  assert_works(&f);
  fake_close(&f);
}

/* REAPED without FINISHED: the run ends all the same. */
static void a_lost_result_is_a_crash(void **state)
{
  struct fake f;
  fake_init(&f);
  fake_open_up(&f);
  const struct mf_sandbox_spec spec = fake_spec("");
  struct fake_run *r = fake_start(&f, &spec);
  fake_send_reaped(&f, fake_take_start(&f));
  UNTIL(&f, r->finished_n > 0);
  assert_ended(r, MF_RUN_FAILED, MF_REASON_WORKER_CRASH, MF_DIAG_CRASHED);
  assert_int_equal(mf_provider_busy(f.provider), 0);
  assert_works(&f);
  fake_close(&f);
}

static void a_crashed_worker_is_told_in_our_words(void **state)
{
  struct fake f;
  fake_init(&f);
  fake_open_up(&f);
  const struct mf_sandbox_spec spec = fake_spec("");
  struct fake_run *r = fake_start(&f, &spec);
  uint64_t id = fake_take_start(&f);
  struct mf_sup_finished end = fake_finished(id);
  end.crashed = 1;
  memcpy(end.text, "never shown", 12);
  fake_send_finished(&f, &end, -1);
  UNTIL(&f, r->finished_n > 0);
  assert_ended(r, MF_RUN_FAILED, MF_REASON_WORKER_CRASH, MF_DIAG_CRASHED);
  fake_close(&f);
}

/* ---- info ---- */

static void on_info(void *user, const struct mf_local_info *info)
{
  struct fake *f = user;
  f->info_n++;
  f->info = *info;
}

static void tells_of_the_supervisor(void **state)
{
  struct fake f;
  fake_init(&f);
  fake_open(&f);
  mf_local_info(f.provider, on_info, &f); /* before anything is known */
  assert_int_equal(f.info_n, 0);
  UNTIL(&f, f.info_n == 1);
  assert_int_equal(f.info.layers, 0);
  fake_send_ready(&f);
  UNTIL(&f, f.ready_n > 0);
  mf_local_info(f.provider, on_info, &f);
  mf_local_info(f.provider, on_info, &f);
  for (unsigned i = 0; i < 2; i++) {
    struct mf_sup_cancel ask;
    fake_take(&f, MF_SUP_STATS, &ask, sizeof(ask), NULL);
    const struct mf_sup_stats stats = { .type = MF_SUP_STATS,
                                        .id = ask.id,
                                        .busy = i,
                                        .pool_stdlib = 3,
                                        .pool_data = 4,
                                        .zygote_restarts = 5,
                                        .forks = 6,
                                        .zygote_stdlib_pid = 7,
                                        .zygote_data_pid = 8,
                                        .idle_private_bytes = 9 };
    fake_send(&f, &stats, sizeof(stats), -1);
    UNTIL(&f, f.info_n == 2 + i);
    assert_int_equal(f.info.busy, i);
  }
  assert_int_equal(f.info.layers, (1u << 14) - 1);
  assert_int_equal(f.info.landlock_abi, 7);
  assert_int_equal(f.info.memory_control, MF_MEMORY_CGROUP2);
  assert_true(f.info.checkpointed);
  assert_string_equal(f.info.checkpoint_note, "as \"auto\"");
  assert_int_equal(f.info.pool_stdlib, 3);
  assert_int_equal(f.info.pool_data, 4);
  assert_int_equal(f.info.zygote_restarts, 5);
  assert_int_equal(f.info.forks, 6);
  assert_int_equal(f.info.zygote_stdlib_pid, 7);
  assert_int_equal(f.info.zygote_data_pid, 8);
  assert_int_equal(f.info.idle_private_bytes, 9);

  mf_local_info(f.provider, on_info, &f);
  fake_die(&f); /* the answer is owed all the same */
  UNTIL(&f, f.info_n == 4);
  assert_int_equal(f.info.zygote_data_pid, 0);
  mf_local_info(f.provider, on_info, &f);
  fake_close(&f);
  assert_int_equal(f.info_n, 5);
}

/* ---- closing ---- */

/* A provider and its supervisor that were killed together left their groups to the next one. */
static void sweeps_when_it_has_begun(void **state)
{
  struct fake f;
  fake_init(&f);
  f.sweep_busy_n = 2; /* their processes are about to end */
  fake_open_up(&f);
  UNTIL(&f, f.sweep_n == 3);
  assert_works(&f);
  assert_int_equal(f.sweep_n, 3);
  fake_close(&f);
}

static void closing_ends_what_runs(void **state)
{
  struct fake f;
  struct mf_tempdir dir;
  struct mf_err err;
  assert_ok(mf_tempdir_make(&dir, &err), &err);
  fake_init(&f);
  f.config.max_running = 3;
  fake_open_up(&f);
  f.sweep_busy_n = 2;
  const struct mf_sandbox_spec spec = fake_spec("");
  struct fake_run *running = fake_start(&f, &spec), *draining = fake_start(&f, &spec);
  uint64_t id = fake_take_start(&f);
  fake_send_output(&f, id, false, "so far", false);
  struct mf_sup_finished end = fake_finished(fake_take_start(&f));
  end.has_files = 1;
  fake_send_finished(&f, &end, dir.fd);
  UNTIL(&f, running->out.len > 0);
  fake_start(&f, &spec); /* its START may not even be read */
  fake_close(&f);
  assert_int_equal(f.closed_n, 1);
  assert_int_equal(f.sweep_n, 3);
  assert_int_equal(running->finished_n, 1);
  assert_int_equal(draining->finished_n, 1);
  mf_tempdir_remove(&dir);
}

static void on_closed_inside(void *user)
{
  struct fake *f = user;
  f->closed_n++;
  f->provider = NULL;
}

static void close_inside(struct fake_run *r)
{
  struct fake_run *ignored = NULL;
  struct mf_err err = { 0 };
  const struct mf_sandbox_spec spec = fake_spec("");
  mf_provider_close(r->fake->provider, on_closed_inside, r->fake);
  assert_int_equal(r->fake->closed_n, 0);
  assert_int_equal(fake_try(r->fake, &spec, &ignored, &err), MF_E_UNAVAILABLE);
}

static void closes_from_inside_any_event(void **state)
{
  for (unsigned where = 0; where < 4; where++) {
    struct fake f;
    fake_init(&f);
    fake_open_up(&f);
    const struct mf_sandbox_spec spec = fake_spec("");
    struct fake_run *r = fake_start(&f, &spec), *other = fake_start(&f, &spec);
    r->on_started = where == 0 ? close_inside : NULL;
    r->on_output = where == 1 ? close_inside : NULL;
    r->on_finished = where >= 2 ? close_inside : NULL;
    uint64_t id = fake_take_start(&f);
    fake_send_started(&f, id, true);
    fake_send_output(&f, id, false, "x", false);
    const struct mf_sup_finished end = fake_finished(id);
    if (where == 3)
      fake_die(&f);
    else
      fake_send_finished(&f, &end, -1);
    UNTIL(&f, f.closed_n > 0);
    assert_ended(r,
                 where < 2    ? MF_RUN_CANCELLED
                 : where == 2 ? MF_RUN_SUCCEEDED
                              : MF_RUN_FAILED,
                 where < 2    ? MF_REASON_CANCELLED
                 : where == 2 ? MF_REASON_EXIT
                              : MF_REASON_WORKER_CRASH,
                 where == 3 ? "sandbox supervisor ended" : "");
    assert_int_equal(other->finished_n, 1);
    fake_close(&f);
    assert_int_equal(f.closed_n, 1);
  }
}

static void closing_before_ready_still_tells(void **state)
{
  struct fake f;
  fake_init(&f);
  fake_open(&f);
  const struct mf_sandbox_spec spec = fake_spec("");
  struct fake_run *r = fake_start(&f, &spec);
  fake_close(&f);
  assert_int_equal(f.ready_n, 1);
  assert_int_equal(f.ready_code, MF_E_GONE);
  assert_int_equal(r->finished_n, 1);
}

static void leaves_no_descriptor(void **state)
{
  unsigned before = fake_open_fds();
  struct fake f;
  fake_init(&f);
  fake_open_up(&f);
  for (unsigned i = 0; i < 8; i++)
    assert_works(&f);
  fake_close(&f);
  assert_int_equal(fake_open_fds(), before);
}

int main(void)
{
  signal(SIGPIPE, SIG_IGN);
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(runs_a_program),
    cmocka_unit_test(the_receipt_says_what_was_seen),
    cmocka_unit_test(output_is_whole_characters),
    cmocka_unit_test(an_unfinished_character_comes_with_the_end),
    cmocka_unit_test(stops_at_the_output_cap),
    cmocka_unit_test(files_wait_for_the_reap),
    cmocka_unit_test(inputs_are_not_artifacts),
    cmocka_unit_test(files_of_a_killed_run_are_kept),
    cmocka_unit_test(files_without_room_are_lost_and_nothing_else),
    cmocka_unit_test(a_reap_that_does_not_come_costs_the_files),
    cmocka_unit_test(places_are_bounded),
    cmocka_unit_test(finished_can_start_the_next),
    cmocka_unit_test(a_full_socket_delays_only),
    cmocka_unit_test(cancels_before_it_was_sent),
    cmocka_unit_test(cancels_from_inside_an_event),
    cmocka_unit_test(a_cancel_after_the_end_changes_nothing),
    cmocka_unit_test(survives_its_supervisor),
    cmocka_unit_test(a_long_gap_refuses_starts),
    cmocka_unit_test(replaces_a_silent_supervisor),
    cmocka_unit_test(replaces_one_that_ignores_a_cancel),
    cmocka_unit_test(replaces_one_that_forgets_a_deadline),
    cmocka_unit_test(require_refuses_with_the_remedy),
    cmocka_unit_test(prefer_needs_a_missing_layer),
    cmocka_unit_test(prefer_goes_on_without),
    cmocka_unit_test(an_early_end_is_told),
    cmocka_unit_test(checks_its_configuration),
    cmocka_unit_test(drops_malformed_frames),
    cmocka_unit_test(a_lost_result_is_a_crash),
    cmocka_unit_test(a_crashed_worker_is_told_in_our_words),
    cmocka_unit_test(tells_of_the_supervisor),
    cmocka_unit_test(sweeps_when_it_has_begun),
    cmocka_unit_test(closing_ends_what_runs),
    cmocka_unit_test(closes_from_inside_any_event),
    cmocka_unit_test(closing_before_ready_still_tells),
    cmocka_unit_test(leaves_no_descriptor),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

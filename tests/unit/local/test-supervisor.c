/* The supervisor's protocol: what a provider is told, whatever zygotes and children do. */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fake-zygote.h"
#include "sandbox/sandbox.h"
#include "base/banned.h"

static struct rig *ready_rig(void)
{
  struct mf_supervisor_config c;
  rig_config(&c);
  return rig_new_ready(&c);
}

/* Exactly one FINISHED, then exactly one REAPED, and the place is free. */
static const struct mf_sup_finished *ends_once(struct rig *r, uint64_t id)
{
  rig_wait(r, MF_SUP_REAPED, id);
  const struct rig_frame *f = rig_wait(r, MF_SUP_FINISHED, id);
  rig_idle(r);
  assert_int_equal(rig_count(r, MF_SUP_FINISHED, id), 1);
  assert_int_equal(rig_count(r, MF_SUP_REAPED, id), 1);
  assert_int_equal(f->n, sizeof f->finished);
  return &f->finished;
}

static unsigned open_fds(void)
{
  DIR *d = opendir("/proc/self/fd");
  assert_non_null(d);
  unsigned n = 0;
  while (readdir(d))
    n++;
  closedir(d);
  return n;
}

/* ---- before READY ---- */

static void ready_comes_once_and_after_a_child(void **state)
{
  struct mf_supervisor_config c;
  rig_config(&c);
  struct rig *r = rig_new(&c);
  r->hold_zygotes = r->hold_forks = r->hold_ready = true;
  rig_idle(r);
  assert_int_equal(r->frame_n, 0);
  r->hold_zygotes = false;
  rig_until(r, r->children[0].is_used);
  rig_idle(r);
  assert_int_equal(r->frame_n, 0);
  r->hold_forks = r->hold_ready = false;
  const struct rig_frame *f = rig_wait(r, MF_SUP_READY, 0);
  assert_int_equal(f->n, sizeof f->ready);
  assert_int_equal(f->ready.version, MF_FRAMES_VERSION);
  assert_int_equal(f->ready.layers, 0x3fff);
  assert_int_equal(f->ready.landlock_abi, 6);
  assert_int_equal(f->ready.python_hex, 0x030c01f0);
  assert_int_equal(f->ready.checkpointed, 1);
  assert_int_equal(f->ready.memory_control, MF_MEMORY_WATCHDOG);
  assert_int_equal(f->ready.pids_control, 0);
  assert_int_equal(strlen(f->ready.seccomp_sha256), 64);
  rig_idle(r);
  assert_int_equal(r->frame_n, 1);
  assert_int_equal(rig_zygote(r, 0)->fork_n, 1);
  rig_free(r);
}

static const struct mf_zyg_fatal *fatal_of(struct rig *r)
{
  rig_until(r, r->has_ended);
  rig_until(r, rig_count(r, MF_SUP_FATAL, 0) == 1);
  assert_int_equal(r->frame_n, 1);
  return &r->frames[0].fatal;
}

static void fatal_of_a_zygote_is_passed_on(void **state)
{
  struct mf_supervisor_config c;
  rig_config(&c);
  struct rig *r = rig_new(&c);
  r->hold_zygotes = true;
  struct mf_zyg_fatal f = { .type = MF_ZYG_FATAL, .error = EPERM };
  snprintf(f.step, sizeof f.step, "unshare user");
  memset(f.text, 'x', sizeof f.text); /* without an end */
  f.text[3] = '\n';
  rig_zygote_send(rig_zygote(r, 0), &f, sizeof f);
  const struct mf_zyg_fatal *got = fatal_of(r);
  assert_string_equal(got->step, "unshare user");
  assert_int_equal(got->error, EPERM);
  assert_memory_equal(got->text, "xxx?xxx", 7);
  assert_int_equal(strlen(got->text), sizeof f.text - 1);
  rig_free(r);
}

static void a_zygote_that_ends_is_fatal(void **state)
{
  struct mf_supervisor_config c;
  rig_config(&c);
  struct rig *r = rig_new(&c);
  r->hold_zygotes = true;
  rig_zygote_die(rig_zygote(r, 0));
  assert_string_equal(fatal_of(r)->step, "zygote");
  rig_free(r);
}

static void a_child_that_fails_is_fatal(void **state)
{
  struct mf_supervisor_config c;
  rig_config(&c);
  struct rig *r = rig_new(&c);
  r->hold_ready = true;
  struct rig_child *child = rig_child_at(r, 0);
  rig_until(r, child->is_forked);
  struct mf_zyg_fatal f = { .type = MF_CHILD_FAILED, .error = ENOSYS };
  snprintf(f.step, sizeof f.step, "landlock");
  snprintf(f.text, sizeof f.text, "landlock: Function not implemented");
  rig_say(child, &f, sizeof f);
  const struct mf_zyg_fatal *got = fatal_of(r);
  assert_string_equal(got->step, "landlock");
  assert_int_equal(got->error, ENOSYS);
  rig_free(r);
}

static void a_start_that_fails_is_fatal(void **state)
{
  struct mf_supervisor_config c;
  rig_config(&c);
  struct rig *r = rig_new_failing(&c);
  const struct mf_zyg_fatal *got = fatal_of(r);
  assert_string_equal(got->step, "start zygote");
  assert_int_equal(got->error, EAGAIN);
  rig_free(r);
}

static void another_version_is_fatal(void **state)
{
  struct mf_supervisor_config c;
  rig_config(&c);
  struct rig *r = rig_new(&c);
  r->hold_zygotes = true;
  const struct mf_zyg_ready ready = { .type = MF_ZYG_READY, .version = MF_FRAMES_VERSION + 1 };
  rig_zygote_send(rig_zygote(r, 0), &ready, sizeof ready);
  assert_string_equal(fatal_of(r)->step, "zygote version");
  rig_free(r);
}

/* ---- ends of a run ---- */

static void a_run_ends_by_its_word(void **state)
{
  struct rig *r = ready_rig();
  struct rig_child *c = rig_run(r, 7);
  assert_int_equal(rig_wait(r, MF_SUP_STARTED, 7)->started.from_pool, 1);
  assert_int_equal(c->frame.pids, 64);
  assert_int_equal(c->frame.use_rlimit_data, 1); /* no memory group counts */
  assert_int_equal(write(c->out, "hello", 5), 5);
  assert_int_equal(write(c->err, "oh", 2), 2);
  r->hold_exits = true;
  const struct mf_child_word word = { .type = MF_CHILD_WORD,
                                      .exit_code = 3,
                                      .uncaught = MF_UNCAUGHT_EXCEPTION,
                                      .has_files = 5,
                                      .children_cpu_us = UINT64_MAX };
  rig_say(c, &word, sizeof word);
  const struct rig_frame *f = rig_wait(r, MF_SUP_FINISHED, 7);
  assert_int_equal(f->finished.killed, MF_KILL_NONE);
  assert_int_equal(f->finished.by_word, 1);
  assert_int_equal(f->finished.exit_code, 3);
  assert_int_equal(f->finished.signal, 0);
  assert_int_equal(f->finished.uncaught, MF_UNCAUGHT_EXCEPTION);
  assert_int_equal(f->finished.has_files, 1);
  assert_int_equal(f->finished.crashed, 0);
  assert_int_equal(f->finished.begun, 1);
  assert_true(f->fd >= 0); /* the work directory */
  /* a child may claim what it likes, but not more than the machine has */
  assert_true(f->finished.cpu_us <= f->finished.wall_us * r->sup->cpu_n + 1000000);
  unsigned dropped;
  assert_int_equal(rig_output(r, 7, 0, &dropped), 5);
  assert_int_equal(dropped, 0);
  assert_int_equal(rig_output(r, 7, 1, &dropped), 2);
  /* the answer does not wait for the reap, and the place is not free before it */
  rig_idle(r);
  assert_int_equal(rig_count(r, MF_SUP_REAPED, 7), 0);
  r->hold_exits = false;
  ends_once(r, 7);
  rig_free(r);
}

static void a_run_ends_without_a_word(void **state)
{
  struct rig *r = ready_rig();
  struct rig_child *c = rig_run(r, 1);
  assert_int_equal(write(c->out, "bye", 3), 3);
  rig_exit(r, c, 9 << 8);
  const struct mf_sup_finished *f = ends_once(r, 1);
  assert_int_equal(f->by_word, 0);
  assert_int_equal(f->exit_code, 9);
  assert_int_equal(f->signal, 0);
  assert_int_equal(f->has_files, 1);
  unsigned dropped;
  assert_int_equal(rig_output(r, 1, 0, &dropped), 3);
  rig_free(r);
}

static void a_run_ends_by_a_signal(void **state)
{
  struct rig *r = ready_rig();
  rig_exit(r, rig_run(r, 1), SIGSEGV | 0x80);
  const struct mf_sup_finished *f = ends_once(r, 1);
  assert_int_equal(f->signal, SIGSEGV);
  assert_int_equal(f->exit_code, -1);
  assert_int_equal(f->killed, MF_KILL_NONE);
  rig_free(r);
}

static void sigxcpu_is_the_processor_limit(void **state)
{
  struct rig *r = ready_rig();
  struct mf_sup_start spec = rig_spec(1);
  spec.cpu_ms = 5000;
  rig_start_spec(r, &spec);
  struct rig_child *c = rig_child_of(r, 1);
  rig_begin(c);
  rig_wait(r, MF_SUP_STARTED, 1);
  rig_exit(r, c, SIGXCPU);
  assert_int_equal(ends_once(r, 1)->killed, MF_KILL_CPU);
  /* without a limit of ours it is a signal like any other */
  rig_exit(r, rig_run(r, 2), SIGXCPU);
  assert_int_equal(ends_once(r, 2)->killed, MF_KILL_NONE);
  rig_free(r);
}

static void a_word_beats_the_exit_that_follows(void **state)
{
  struct rig *r = ready_rig();
  struct rig_child *c = rig_run(r, 1);
  rig_word(c, 4);
  rig_exit(r, c, 0); /* both are there when the supervisor looks */
  const struct mf_sup_finished *f = ends_once(r, 1);
  assert_int_equal(f->by_word, 1);
  assert_int_equal(f->exit_code, 4);
  rig_free(r);
}

static void a_word_before_the_begin(void **state)
{
  struct rig *r = ready_rig();
  rig_start(r, 1);
  rig_word(rig_child_of(r, 1), 1);
  const struct mf_sup_finished *f = ends_once(r, 1);
  assert_int_equal(f->by_word, 1);
  assert_int_equal(f->begun, 0);
  assert_int_equal(f->wall_us, 0);
  assert_int_equal(rig_count(r, MF_SUP_STARTED, 1), 0);
  rig_free(r);
}

static void the_wall_clock_ends_a_run(void **state)
{
  struct rig *r = ready_rig();
  struct mf_sup_start spec = rig_spec(1);
  spec.wall_ms = 50;
  rig_start_spec(r, &spec);
  struct rig_child *c = rig_child_of(r, 1);
  rig_begin(c);
  rig_wait(r, MF_SUP_STARTED, 1);
  assert_int_equal(write(c->out, "partial", 7), 7);
  const struct mf_sup_finished *f = ends_once(r, 1);
  assert_int_equal(f->killed, MF_KILL_WALL);
  assert_int_equal(f->by_word, 0);
  assert_true(f->wall_us >= 50000);
  assert_true(c->is_gone);
  unsigned dropped;
  assert_int_equal(rig_output(r, 1, 0, &dropped), 7);
  rig_free(r);
}

/* The clock starts with the user's code, however long the start took. */
static void the_wall_clock_waits_for_the_begin(void **state)
{
  struct rig *r = ready_rig();
  struct mf_sup_start spec = rig_spec(1);
  spec.wall_ms = 1;
  rig_start_spec(r, &spec);
  struct rig_child *c = rig_child_of(r, 1);
  rig_idle(r);
  assert_int_equal(rig_count(r, MF_SUP_FINISHED, 1), 0);
  rig_begin(c);
  assert_int_equal(ends_once(r, 1)->killed, MF_KILL_WALL);
  rig_free(r);
}

static void a_descendant_that_holds_the_pipe_is_not_waited_for(void **state)
{
  struct rig *r = ready_rig();
  struct rig_child *c = rig_run(r, 1);
  int held = fcntl(c->out, F_DUPFD_CLOEXEC, 3);
  assert_int_equal(write(c->out, "x", 1), 1);
  rig_word(c, 0);
  const struct mf_sup_finished *f = ends_once(r, 1);
  assert_int_equal(f->by_word, 1);
  unsigned dropped;
  assert_int_equal(rig_output(r, 1, 0, &dropped), 1);
  close(held);
  rig_free(r);
}

/* ---- cancel, in each state ---- */

static void check_cancelled(struct rig *r, uint64_t id, bool begun)
{
  rig_cancel(r, id);
  const struct mf_sup_finished *f = ends_once(r, id);
  assert_int_equal(f->killed, MF_KILL_CANCEL);
  assert_int_equal(f->begun, begun);
  assert_int_equal(f->crashed, 0);
  /* a second time, and a run that never was: nothing */
  unsigned n = r->frame_n;
  rig_cancel(r, id);
  rig_cancel(r, 999);
  rig_idle(r);
  assert_int_equal(r->frame_n, n);
}

static void cancel_while_the_zygote_starts(void **state)
{
  struct mf_supervisor_config c;
  rig_config(&c);
  struct rig *r = rig_new(&c);
  r->hold_zygotes = true;
  rig_start(r, 1);
  rig_idle(r);
  check_cancelled(r, 1, false);
  rig_free(r);
}

static void cancel_while_forking(void **state)
{
  struct rig *r = ready_rig();
  rig_run(r, 1); /* takes the only child */
  r->hold_forks = true;
  rig_start(r, 2);
  rig_until(r, r->children[1].is_used);
  check_cancelled(r, 2, false);
  /* the child that comes too late serves the next run */
  r->hold_forks = false;
  rig_until(r, mf_lane_count(&r->sup->lanes[0], MF_SLOT_IDLE) == 1);
  rig_run(r, 3);
  assert_int_equal(rig_wait(r, MF_SUP_STARTED, 3)->started.from_pool, 1);
  rig_free(r);
}

static void cancel_while_preparing(void **state)
{
  struct rig *r = ready_rig();
  rig_run(r, 1);
  r->hold_ready = true;
  rig_start(r, 2);
  rig_until(r, mf_lane_count(&r->sup->lanes[0], MF_SLOT_PREPARING) == 1);
  check_cancelled(r, 2, false);
  rig_free(r);
}

static void cancel_while_starting(void **state)
{
  struct rig *r = ready_rig();
  rig_start(r, 1);
  rig_child_of(r, 1);
  check_cancelled(r, 1, false);
  rig_free(r);
}

static void cancel_while_busy(void **state)
{
  struct rig *r = ready_rig();
  struct rig_child *c = rig_run(r, 1);
  check_cancelled(r, 1, true);
  assert_true(c->is_gone);
  rig_free(r);
}

static void cancel_after_the_end_changes_nothing(void **state)
{
  struct rig *r = ready_rig();
  struct rig_child *c = rig_run(r, 1);
  r->hold_exits = true;
  rig_word(c, 0);
  rig_wait(r, MF_SUP_FINISHED, 1);
  rig_cancel(r, 1);
  rig_idle(r);
  r->hold_exits = false;
  assert_int_equal(ends_once(r, 1)->killed, MF_KILL_NONE);
  rig_free(r);
}

/* ---- output ---- */

static struct rig_child *capped_run(struct rig *r, uint64_t cap, uint32_t stop)
{
  struct mf_sup_start spec = rig_spec(1);
  spec.stdout_bytes = cap;
  spec.stop_on_output = stop;
  rig_start_spec(r, &spec);
  struct rig_child *c = rig_child_of(r, 1);
  rig_begin(c);
  rig_wait(r, MF_SUP_STARTED, 1);
  return c;
}

static void output_past_the_cap_is_dropped_and_told_once(void **state)
{
  struct rig *r = ready_rig();
  struct rig_child *c = capped_run(r, 10, 0);
  unsigned dropped;
  assert_int_equal(write(c->out, "0123456789", 10), 10);
  rig_until(r, rig_output(r, 1, 0, &dropped) == 10);
  assert_int_equal(dropped, 0); /* exactly the cap is not too much */
  for (int i = 0; i < 5; i++) {
    assert_int_equal(write(c->out, "more", 4), 4);
    assert_int_equal(write(c->err, "e", 1), 1);
    rig_idle(r);
  }
  assert_int_equal(rig_output(r, 1, 0, &dropped), 10);
  assert_int_equal(dropped, 1);
  assert_int_equal(rig_output(r, 1, 1, &dropped), 5);
  assert_int_equal(dropped, 0);
  rig_word(c, 0);
  assert_int_equal(ends_once(r, 1)->killed, MF_KILL_NONE);
  rig_free(r);
}

static void output_past_the_cap_stops_the_run(void **state)
{
  struct rig *r = ready_rig();
  struct rig_child *c = capped_run(r, 10, 1);
  assert_int_equal(write(c->out, "0123456789ab", 12), 12);
  const struct mf_sup_finished *f = ends_once(r, 1);
  assert_int_equal(f->killed, MF_KILL_OUTPUT);
  unsigned dropped;
  assert_int_equal(rig_output(r, 1, 0, &dropped), 10);
  assert_int_equal(dropped, 1);
  assert_true(c->is_gone);
  rig_free(r);
}

/* Whether the last bytes or the word are read first must not matter. */
static void output_past_the_cap_counts_after_the_word(void **state)
{
  struct rig *r = ready_rig();
  struct rig_child *c = capped_run(r, 10, 1);
  mf_child_set_reading(&r->sup->slots[c->slot], false);
  assert_int_equal(write(c->out, "0123456789ab", 12), 12);
  rig_word(c, 0);
  assert_int_equal(ends_once(r, 1)->killed, MF_KILL_OUTPUT);
  rig_free(r);
}

static void no_output_at_all_allowed(void **state)
{
  struct rig *r = ready_rig();
  struct rig_child *c = capped_run(r, 0, 0);
  assert_int_equal(write(c->out, "x", 1), 1);
  rig_word(c, 0);
  ends_once(r, 1);
  unsigned dropped;
  assert_int_equal(rig_output(r, 1, 0, &dropped), 0);
  assert_int_equal(dropped, 1);
  rig_free(r);
}

/* A provider that does not read: the guest waits in its write, our memory stays bounded, and nothing is lost. */
static void a_deaf_provider_stops_the_pipes(void **state)
{
  struct rig *r = ready_rig();
  struct mf_sup_start spec = rig_spec(1);
  spec.stdout_bytes = 64u << 20;
  rig_start_spec(r, &spec);
  struct rig_child *c = rig_child_of(r, 1);
  rig_begin(c);
  rig_wait(r, MF_SUP_STARTED, 1);
  r->is_deaf = true;
  static char block[4096];
  size_t written = 0;
  unsigned idle_n = 0;
  while (idle_n < 50) {
    ssize_t n = write(c->out, block, sizeof block);
    idle_n = n > 0 ? 0 : idle_n + 1;
    written += n > 0 ? (size_t)n : 0;
    if (n <= 0)
      rig_step(r);
    assert_true(written < 16u << 20);
    assert_true(r->sup->out.output_bytes <= MF_SUPQ_OUTPUT_MAX + MF_CHUNK_MAX + sizeof(struct mf_sup_output));
  }
  assert_false(mf_supq_has_room(&r->sup->out));
  /* the end comes while there is no room: killed at once, told when the provider reads again */
  rig_word(c, 0);
  rig_until(r, c->is_gone);
  rig_idle(r);
  assert_int_equal(rig_count(r, MF_SUP_FINISHED, 1), 0);
  r->is_deaf = false;
  ends_once(r, 1);
  unsigned dropped;
  assert_int_equal(rig_output(r, 1, 0, &dropped), written);
  assert_int_equal(dropped, 0);
  rig_free(r);
}

/* ---- hostile children ---- */

static void malformed_frames_are_dropped(void **state)
{
  struct rig *r = ready_rig();
  struct rig_child *c = rig_run(r, 1);
  static const char big[4096] = { 1 };
  const struct mf_child_ready ready = { .type = MF_CHILD_READY };
  struct mf_child_hint hint = { .type = MF_CHILD_HINT, .kind = MF_HINT_DENIED, .len = MF_TEXT_MAX + 1 };
  const struct mf_zyg_fatal failed = { .type = MF_CHILD_FAILED };
  const struct mf_child_word word = { .type = MF_CHILD_WORD };
  const uint32_t unknown[4] = { 77, 1, 2, 3 }, begin = MF_CHILD_BEGIN;
  rig_say(c, "x", 1);
  rig_say(c, big, sizeof big);
  rig_say(c, unknown, sizeof unknown);
  rig_say(c, &ready, sizeof ready);
  rig_say(c, &begin, sizeof begin);
  rig_say(c, &failed, sizeof failed);
  rig_say(c, &word, sizeof word - 1);
  rig_say(c, &hint, sizeof hint);
  hint.len = 0;
  rig_say(c, &hint, sizeof hint);
  hint.len = 3;
  hint.kind = 9;
  rig_say(c, &hint, sizeof hint);
  hint.kind = MF_HINT_DENIED;
  rig_say(c, &hint, sizeof hint - 4);
  rig_idle(r);
  assert_int_equal(rig_count(r, MF_SUP_FINISHED, 1), 0);
  assert_int_equal(rig_count(r, MF_SUP_HINT, 1), 0);
  assert_int_equal(rig_count(r, MF_SUP_STARTED, 1), 1);
  const struct mf_child_word odd = { .type = MF_CHILD_WORD, .exit_code = -1, .uncaught = 99 };
  rig_say(c, &odd, sizeof odd);
  const struct mf_sup_finished *f = ends_once(r, 1);
  assert_int_equal(f->exit_code, 255);
  assert_int_equal(f->uncaught, MF_UNCAUGHT_NONE);
  rig_free(r);
}

static void hints_are_counted(void **state)
{
  struct rig *r = ready_rig();
  struct rig_child *c = rig_run(r, 1);
  struct mf_child_hint hint = { .type = MF_CHILD_HINT, .kind = MF_HINT_DENIED, .len = MF_TEXT_MAX };
  memset(hint.text, 'h', sizeof hint.text);
  for (unsigned i = 0; i < 2 * MF_DENIED_MAX; i++) {
    rig_say(c, &hint, sizeof hint);
    rig_step(r);
  }
  rig_word(c, 0);
  ends_once(r, 1);
  assert_int_equal(rig_count(r, MF_SUP_HINT, 1), MF_DENIED_MAX);
  rig_free(r);
}

static void descriptors_that_come_along_are_closed(void **state)
{
  struct rig *r = ready_rig();
  struct rig_child *c = rig_run(r, 1);
  unsigned before = open_fds();
  const struct mf_child_hint hint = { .type = MF_CHILD_HINT, .kind = MF_HINT_DENIED, .len = 1, .text = "x" };
  int fds[MF_FDS_MAX + 1];
  for (int i = 0; i <= (int)MF_FDS_MAX; i++)
    fds[i] = STDERR_FILENO;
  for (int i = 0; i < 20; i++) {
    assert_int_equal(mf_send_msg(c->control, &hint, sizeof hint, fds, MF_FDS_MAX, NULL), MF_OK);
    rig_step(r);
  }
  rig_idle(r);
  assert_int_equal(open_fds(), before);
  rig_word(c, 0);
  ends_once(r, 1);
  rig_free(r);
}

/* One child floods its socket; another's word is heard all the same, and the flooder's too in the end. */
static void a_flood_does_not_starve_the_others(void **state)
{
  struct rig *r = ready_rig();
  struct rig_child *flooder = rig_run(r, 1);
  struct rig_child *other = rig_run(r, 2);
  const uint32_t junk[4] = { 55, 0, 0, 0 };
  bool was_paused = false;
  for (int i = 0; i < 200; i++) {
    while (mf_send_msg(flooder->control, junk, sizeof junk, NULL, 0, NULL) == MF_OK)
      ;
    if (i == 100)
      rig_word(other, 0);
    rig_step(r);
    was_paused = was_paused || r->sup->slots[flooder->slot].is_flooding;
  }
  assert_true(was_paused);
  ends_once(r, 2);
  const struct mf_child_word word = { .type = MF_CHILD_WORD, .exit_code = 6 };
  rig_until(r, mf_send_msg(flooder->control, &word, sizeof word, NULL, 0, NULL) == MF_OK);
  assert_int_equal(ends_once(r, 1)->exit_code, 6);
  rig_free(r);
}

static void a_child_that_closes_its_socket_runs_on(void **state)
{
  struct rig *r = ready_rig();
  struct rig_child *c = rig_run(r, 1);
  mf_close_ptr(&c->control);
  rig_idle(r);
  assert_int_equal(rig_count(r, MF_SUP_FINISHED, 1), 0);
  assert_int_equal(write(c->out, "still here", 10), 10);
  rig_exit(r, c, 0);
  const struct mf_sup_finished *f = ends_once(r, 1);
  assert_int_equal(f->by_word, 0);
  assert_int_equal(f->exit_code, 0);
  rig_free(r);
}

/* Its pidfd says that it has ended, but the zygote never says how. */
static void an_end_that_nobody_explains(void **state)
{
  struct rig *r = ready_rig();
  struct rig_child *c = rig_run(r, 1);
  kill(c->guest, SIGKILL);
  mf_close_ptr(&c->control);
  const struct mf_sup_finished *f = ends_once(r, 1);
  assert_int_equal(f->crashed, 1);
  assert_int_equal(f->exit_code, -1);
  rig_free(r);
}

/* ---- zygotes ---- */

static void a_zygote_that_crashes_is_replaced(void **state)
{
  struct rig *r = ready_rig();
  struct rig_child *c = rig_run(r, 1);
  struct rig_child *done = rig_run(r, 2);
  r->hold_exits = true;
  rig_word(done, 0); /* said, but not yet heard */
  rig_zygote_die(rig_zygote(r, 0));
  r->hold_exits = false;
  const struct mf_sup_finished *f = ends_once(r, 1);
  assert_int_equal(f->crashed, 1);
  assert_int_equal(f->begun, 1);
  assert_string_equal(f->text, "worker crashed");
  assert_int_equal(ends_once(r, 2)->by_word, 1);
  assert_true(c->is_gone);
  rig_run(r, 3);
  assert_int_equal(rig_zygote_n(r), 2);
  rig_word(rig_child_of(r, 3), 0);
  ends_once(r, 3);
  assert_int_equal(r->sup->zygote_restarts, 1);
  rig_free(r);
}

static void a_run_waits_for_a_zygote_that_comes_back(void **state)
{
  struct rig *r = ready_rig();
  r->hold_forks = true;
  rig_run(r, 1);
  rig_start(r, 2);
  rig_until(r, r->children[1].is_used);
  rig_zygote_die(rig_zygote(r, 0));
  ends_once(r, 1);
  assert_int_equal(rig_count(r, MF_SUP_FINISHED, 2), 0);
  r->hold_forks = false;
  rig_begin(rig_child_of(r, 2));
  rig_word(rig_child_of(r, 2), 0);
  const struct mf_sup_finished *f = ends_once(r, 2);
  assert_int_equal(f->by_word, 1);
  assert_int_equal(rig_wait(r, MF_SUP_STARTED, 2)->started.from_pool, 0);
  rig_free(r);
}

/* A second runtime starts when first needed; when it cannot, its runs are told why. */
static void a_zygote_that_cannot_start_fails_its_runs(void **state)
{
  struct rig *r = ready_rig();
  r->hold_zygotes = true;
  struct mf_sup_start spec = rig_spec(1);
  spec.runtime = 2;
  rig_start_spec(r, &spec);
  struct rig_zygote *data = rig_zygote(r, 1);
  assert_int_equal(data->data, 1);
  rig_idle(r);
  assert_int_equal(rig_count(r, MF_SUP_FINISHED, 1), 0);
  struct mf_zyg_fatal fatal = { .type = MF_ZYG_FATAL };
  snprintf(fatal.text, sizeof fatal.text, "import numpy: not found");
  rig_zygote_send(data, &fatal, sizeof fatal);
  const struct mf_sup_finished *f = ends_once(r, 1);
  assert_int_equal(f->crashed, 1);
  assert_string_equal(f->text, "import numpy: not found");
  assert_int_equal(rig_zygote_n(r), 2); /* nobody needs it now */
  r->hold_zygotes = false;
  spec.id = 2;
  spec.memory_bytes += 4096;
  rig_start_spec(r, &spec);
  rig_begin(rig_child_of(r, 2));
  rig_word(rig_child_of(r, 2), 0);
  assert_int_equal(ends_once(r, 2)->by_word, 1);
  /* the first runtime never noticed */
  rig_word(rig_run(r, 3), 0);
  ends_once(r, 3);
  rig_free(r);
}

static void an_old_zygote_is_replaced(void **state)
{
  struct mf_supervisor_config c;
  rig_config(&c);
  c.zygote_max_forks = 2;
  struct rig *r = rig_new_ready(&c);
  struct rig_child *first = rig_run(r, 1);
  rig_run(r, 2); /* its second fork */
  rig_until(r, rig_zygote_n(r) == 2);
  /* the new one is READY: it forks, the old one lives on for its children */
  struct rig_child *third = rig_run(r, 3);
  assert_int_equal(third->zygote, 1);
  rig_idle(r);
  assert_false(rig_zygote(r, 0)->is_dead);
  rig_word(first, 0);
  ends_once(r, 1);
  assert_false(rig_zygote(r, 0)->is_dead);
  rig_word(rig_child_of(r, 2), 0);
  ends_once(r, 2);
  rig_until(r, rig_zygote(r, 0)->is_dead);
  rig_word(third, 0);
  ends_once(r, 3);
  assert_int_equal(r->sup->zygote_restarts, 0);
  rig_free(r);
}

/* The old one crashes while the new one still imports: that one takes over, and no third is started. */
static void the_next_zygote_takes_over(void **state)
{
  struct mf_supervisor_config c;
  rig_config(&c);
  c.zygote_max_forks = 1;
  struct rig *r = rig_new(&c);
  rig_until(r, rig_zygote(r, 0)->is_ready);
  r->hold_zygotes = true;
  rig_wait(r, MF_SUP_READY, 0);
  rig_until(r, rig_zygote_n(r) == 2);
  rig_run(r, 1);
  rig_zygote_die(rig_zygote(r, 0));
  assert_int_equal(ends_once(r, 1)->crashed, 1);
  rig_start(r, 2);
  rig_idle(r);
  assert_int_equal(rig_count(r, MF_SUP_FINISHED, 2), 0);
  assert_int_equal(rig_zygote_n(r), 2);
  r->hold_zygotes = false;
  rig_begin(rig_child_of(r, 2));
  assert_int_equal(rig_child_of(r, 2)->zygote, 1);
  rig_word(rig_child_of(r, 2), 0);
  assert_int_equal(ends_once(r, 2)->by_word, 1);
  rig_free(r);
}

static void a_zygote_that_says_nonsense(void **state)
{
  struct rig *r = ready_rig();
  struct rig_child *c = rig_run(r, 1);
  struct rig_zygote *z = rig_zygote(r, 0);
  const struct mf_zyg_exited far = { .type = MF_ZYG_EXITED, .slot = 1u << 30, .what = 0 };
  const struct mf_zyg_exited idle = { .type = MF_ZYG_EXITED, .slot = c->slot + 1, .what = 1 };
  const struct mf_zyg_exited odd = { .type = MF_ZYG_EXITED, .slot = c->slot, .what = 5 };
  const struct mf_zyg_forked forked = { .type = MF_ZYG_FORKED, .slot = c->slot };
  const struct mf_zyg_ready again = { .type = MF_ZYG_READY, .version = 99 };
  rig_zygote_send(z, &far, sizeof far);
  rig_zygote_send(z, &idle, sizeof idle);
  rig_zygote_send(z, &odd, sizeof odd);
  rig_zygote_send(z, &forked, sizeof forked);
  rig_zygote_send(z, &again, sizeof again);
  rig_zygote_send(z, "x", 1);
  rig_idle(r);
  assert_int_equal(rig_count(r, MF_SUP_FINISHED, 1), 0);
  rig_word(c, 0);
  ends_once(r, 1);
  rig_free(r);
}

/* ---- places and pools ---- */

static void no_more_than_the_places(void **state)
{
  struct rig *r = ready_rig();
  for (uint64_t id = 1; id <= 4; id++)
    rig_run(r, id);
  rig_start(r, 5);
  const struct mf_sup_finished *f = ends_once(r, 5);
  assert_int_equal(f->crashed, 1);
  assert_string_equal(f->text, "no free place");
  /* a place is free when its run is reaped, not when it is finished */
  r->hold_exits = true;
  rig_word(rig_child_of(r, 1), 0);
  rig_wait(r, MF_SUP_FINISHED, 1);
  rig_start(r, 6);
  assert_string_equal(ends_once(r, 6)->text, "no free place");
  r->hold_exits = false;
  ends_once(r, 1);
  rig_run(r, 7);
  rig_free(r);
}

static void nonsense_from_the_provider(void **state)
{
  struct rig *r = ready_rig();
  struct mf_sup_start spec = rig_spec(1);
  spec.runtime = 3;
  rig_start_spec(r, &spec);
  assert_int_equal(ends_once(r, 1)->crashed, 1);
  spec = rig_spec(2);
  assert_int_equal(mf_send_msg(r->sock, &spec, sizeof spec, NULL, 0, NULL), MF_OK); /* without a job */
  assert_int_equal(ends_once(r, 2)->crashed, 1);
  assert_int_equal(mf_send_msg(r->sock, &spec, sizeof spec - 8, NULL, 0, NULL), MF_OK);
  assert_int_equal(mf_send_msg(r->sock, "x", 1, NULL, 0, NULL), MF_OK);
  unsigned n = r->frame_n;
  rig_idle(r);
  assert_int_equal(r->frame_n, n);
  /* an id that is in use already is not answered twice */
  struct rig_child *c = rig_run(r, 3);
  rig_start(r, 3);
  rig_idle(r);
  rig_word(c, 0);
  ends_once(r, 3);
  rig_free(r);
}

static void the_pool_is_kept_full_when_nothing_runs(void **state)
{
  struct mf_supervisor_config c;
  rig_config(&c);
  c.pool_stdlib = 2;
  struct rig *r = rig_new_ready(&c);
  const struct mf_lane *lane = &r->sup->lanes[0];
  rig_until(r, mf_lane_count(lane, MF_SLOT_IDLE) == 2);
  rig_idle(r);
  assert_int_equal(rig_zygote(r, 0)->fork_n, 2);
  assert_int_equal(r->sup->forks, 2);
  assert_int_equal(rig_child_at(r, 0)->prefault, 1);
  struct rig_child *first = rig_run(r, 1);
  assert_true(first == rig_child_at(r, 0)); /* the oldest */
  rig_word(first, 0);
  ends_once(r, 1);
  rig_until(r, mf_lane_count(lane, MF_SLOT_IDLE) == 2);
  assert_int_equal(r->sup->forks, 3);
  /* one that dies in the pool is made up for */
  kill(rig_child_at(r, 1)->init, SIGKILL);
  rig_until(r, r->sup->forks == 4 && mf_lane_count(lane, MF_SLOT_IDLE) == 2);
  rig_free(r);
}

static void a_child_that_fails_after_ready_costs_a_run_after_two_tries(void **state)
{
  struct rig *r = ready_rig();
  rig_run(r, 1);
  r->hold_ready = true;
  rig_start(r, 2);
  struct mf_zyg_fatal f = { .type = MF_CHILD_FAILED, .error = ENOMEM };
  snprintf(f.step, sizeof f.step, "mount work directory");
  snprintf(f.text, sizeof f.text, "mount work directory: Cannot allocate memory");
  for (unsigned i = 1; i <= 2; i++) {
    struct rig_child *c = rig_child_at(r, i);
    rig_until(r, c->is_forked);
    assert_int_equal(rig_count(r, MF_SUP_FINISHED, 2), 0);
    rig_say(c, &f, sizeof f);
  }
  const struct mf_sup_finished *fin = ends_once(r, 2);
  assert_int_equal(fin->crashed, 1);
  assert_string_equal(fin->text, "mount work directory: Cannot allocate memory");
  r->hold_ready = false;
  rig_run(r, 3);
  rig_free(r);
}

static void a_fork_that_fails_is_tried_again(void **state)
{
  struct rig *r = ready_rig();
  rig_run(r, 1);
  r->hold_forks = true;
  rig_start(r, 2);
  struct rig_child *c = rig_child_at(r, 1);
  const struct mf_zyg_forked forked = { .type = MF_ZYG_FORKED, .slot = c->slot, .error = EAGAIN };
  rig_zygote_send(rig_zygote(r, 0), &forked, sizeof forked);
  rig_until(r, r->children[2].is_used);
  c->is_used = false; /* it never was */
  c->is_gone = true;
  r->hold_forks = false;
  rig_begin(rig_child_of(r, 2));
  rig_word(rig_child_of(r, 2), 0);
  assert_int_equal(ends_once(r, 2)->by_word, 1);
  rig_free(r);
}

static void stats(void **state)
{
  struct rig *r = ready_rig();
  rig_run(r, 1);
  const struct mf_sup_cancel ask = { .type = MF_SUP_STATS, .id = 42 };
  assert_int_equal(mf_send_msg(r->sock, &ask, sizeof ask, NULL, 0, NULL), MF_OK);
  const struct rig_frame *f = rig_wait(r, MF_SUP_STATS, 42);
  assert_int_equal(f->stats.busy, 1);
  assert_int_equal(f->stats.pool_stdlib, 0);
  assert_int_equal(f->stats.forks, 1);
  assert_int_equal(f->stats.zygote_data_pid, 0);
  rig_free(r);
}

/* ---- the end ---- */

static void the_providers_end_ends_everything(void **state)
{
  struct rig *r = ready_rig();
  struct rig_child *c = rig_run(r, 1);
  rig_start(r, 2);
  mf_close_ptr(&r->sock);
  rig_until(r, r->has_ended);
  pid_t init = rig_zygote(r, 0)->init;
  mf_supervisor_free(r->sup);
  /* its namespace was waited for: the process is no more, not even as a zombie */
  assert_int_equal(kill(init, 0), -1);
  assert_int_equal(errno, ESRCH);
  r->zygotes[0].is_dead = true;
  assert_false(c->is_gone);
  r->sup = NULL;
  rig_free(r);
}

static void nothing_is_left_open(void **state)
{
  struct rig *r = ready_rig();
  rig_word(rig_run(r, 1000), 0);
  ends_once(r, 1000);
  rig_free(r);
  unsigned before = open_fds();
  r = ready_rig();
  for (uint64_t id = 1; id <= 10; id++) {
    struct rig_child *c = rig_run(r, id);
    if (id % 3 == 0)
      rig_exit(r, c, 0);
    else if (id % 3 == 1)
      rig_word(c, 0);
    else
      rig_cancel(r, id);
    ends_once(r, id);
    assert_int_equal(r->sup->run_n, 0);
  }
  rig_run(r, 11); /* one is still busy at the end */
  rig_free(r);
  assert_int_equal(open_fds(), before);
}

static void configurations(void **state)
{
  struct mf_supervisor_config c, good;
  rig_config(&good);
  c = good;
  c.version++;
  assert_int_equal(mf_supervisor_config_check(&c, NULL), MF_E_INPUT);
  c = good;
  c.max_running = 0;
  assert_int_equal(mf_supervisor_config_check(&c, NULL), MF_E_INPUT);
  c.max_running = 257;
  assert_int_equal(mf_supervisor_config_check(&c, NULL), MF_E_INPUT);
  c = good;
  c.pool_data = 65;
  assert_int_equal(mf_supervisor_config_check(&c, NULL), MF_E_INPUT);
  c = good;
  memset(c.rootfs, 'x', sizeof c.rootfs);
  assert_int_equal(mf_supervisor_config_check(&c, NULL), MF_E_INPUT);
  c = good;
  c.python_path[0] = '\0';
  assert_int_equal(mf_supervisor_config_check(&c, NULL), MF_E_INPUT);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(ready_comes_once_and_after_a_child),
    cmocka_unit_test(fatal_of_a_zygote_is_passed_on),
    cmocka_unit_test(a_zygote_that_ends_is_fatal),
    cmocka_unit_test(a_child_that_fails_is_fatal),
    cmocka_unit_test(a_start_that_fails_is_fatal),
    cmocka_unit_test(another_version_is_fatal),
    cmocka_unit_test(a_run_ends_by_its_word),
    cmocka_unit_test(a_run_ends_without_a_word),
    cmocka_unit_test(a_run_ends_by_a_signal),
    cmocka_unit_test(sigxcpu_is_the_processor_limit),
    cmocka_unit_test(a_word_beats_the_exit_that_follows),
    cmocka_unit_test(a_word_before_the_begin),
    cmocka_unit_test(the_wall_clock_ends_a_run),
    cmocka_unit_test(the_wall_clock_waits_for_the_begin),
    cmocka_unit_test(a_descendant_that_holds_the_pipe_is_not_waited_for),
    cmocka_unit_test(cancel_while_the_zygote_starts),
    cmocka_unit_test(cancel_while_forking),
    cmocka_unit_test(cancel_while_preparing),
    cmocka_unit_test(cancel_while_starting),
    cmocka_unit_test(cancel_while_busy),
    cmocka_unit_test(cancel_after_the_end_changes_nothing),
    cmocka_unit_test(output_past_the_cap_is_dropped_and_told_once),
    cmocka_unit_test(output_past_the_cap_stops_the_run),
    cmocka_unit_test(output_past_the_cap_counts_after_the_word),
    cmocka_unit_test(no_output_at_all_allowed),
    cmocka_unit_test(a_deaf_provider_stops_the_pipes),
    cmocka_unit_test(malformed_frames_are_dropped),
    cmocka_unit_test(hints_are_counted),
    cmocka_unit_test(descriptors_that_come_along_are_closed),
    cmocka_unit_test(a_flood_does_not_starve_the_others),
    cmocka_unit_test(a_child_that_closes_its_socket_runs_on),
    cmocka_unit_test(an_end_that_nobody_explains),
    cmocka_unit_test(a_zygote_that_crashes_is_replaced),
    cmocka_unit_test(a_run_waits_for_a_zygote_that_comes_back),
    cmocka_unit_test(a_zygote_that_cannot_start_fails_its_runs),
    cmocka_unit_test(an_old_zygote_is_replaced),
    cmocka_unit_test(the_next_zygote_takes_over),
    cmocka_unit_test(a_zygote_that_says_nonsense),
    cmocka_unit_test(no_more_than_the_places),
    cmocka_unit_test(nonsense_from_the_provider),
    cmocka_unit_test(the_pool_is_kept_full_when_nothing_runs),
    cmocka_unit_test(a_child_that_fails_after_ready_costs_a_run_after_two_tries),
    cmocka_unit_test(a_fork_that_fails_is_tried_again),
    cmocka_unit_test(stats),
    cmocka_unit_test(the_providers_end_ends_everything),
    cmocka_unit_test(nothing_is_left_open),
    cmocka_unit_test(configurations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

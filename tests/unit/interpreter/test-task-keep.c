/* What is kept and for how long: restarts, expiry, quotas, a database that takes nothing, closing. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/time.h"
#include "rig.h"
#include "base/banned.h"

static void finish_all(struct rig *r)
{
  while (r->runs)
    fake_finish(r, r->runs, MF_RUN_SUCCEEDED, MF_REASON_EXIT, "", NULL);
}

static void wait_for_ends(struct rig *r, unsigned n)
{
  for (;;) {
    const struct mf_tasks_stats st = mf_tasks_stats(r->tasks);
    unsigned ended = 0;
    for (unsigned i = MF_TASK_SUCCEEDED; i < MF_TASK_STATE_N; i++)
      ended += (unsigned)st.by_state[i];
    if (ended >= n)
      return;
    rig_settle(r);
  }
}

/* ---- expiry ---- */

static void an_hour_and_a_day(struct rig *r)
{
  static const char *const files[] = { "f", "content", NULL };
  struct mf_task_submitted s;
  struct mf_buf text;
  struct mf_task_cursor c = { 0 };
  struct mf_task_event e;
  struct mf_task_artifact a;
  assert_ok(rig_try_submit_files(r, "me", "x", "key", files, &s), &r->err);
  r->clock_ms += 3 * r->config.retention_ms; /* it runs on: the hour begins at the end */
  tasks_sweep(r->tasks, r->self, true);
  assert_status(r, "me", s.id, "running");
  fake_finish(r, rig_run_of(r, "x"), MF_RUN_SUCCEEDED, MF_REASON_EXIT, "", "made");
  wait_for_ends(r, 1);
  r->clock_ms += r->config.retention_ms - 1;
  tasks_sweep(r->tasks, r->self, true);
  assert_status(r, "me", s.id, "succeeded");
  assert_true(mf_tasks_stats(r->tasks).files_bytes > 0);
  r->clock_ms++;
  for (unsigned swept = 0; swept < 2; swept++) { /* gone at once, also before anybody cleans up */
    assert_int_equal(rig_get(r, "me", s.id, 0, &text), MF_E_GONE);
    assert_non_null(strstr(r->err.msg, "expired at 2026-01-01T04:00:00.000Z"));
    assert_int_equal(rig_cancel(r, "me", s.id), MF_E_GONE);
    assert_int_equal(mf_tasks_next(r->tasks, r->self, MF_STR("me"), mf_str_of(s.id), &c, 1, &e, &r->err), MF_E_GONE);
    assert_int_equal(
        mf_tasks_artifact(r->tasks, r->self, MF_STR("me"), mf_str_of(s.id), MF_STR("artifact_x"), &a, &r->err),
        MF_E_GONE);
    assert_int_equal(rig_get(r, "you", s.id, 0, &text), MF_E_NOT_FOUND);
    assert_ok(mf_tasks_list(r->tasks, r->self, MF_STR("me"), MF_STR(""), MF_TASK_STATE_N, 9, &text, &r->err), &r->err);
    assert_string_equal(text.ptr,
                        "{\"object\":\"list\",\"data\":[],\"has_more\":false,\"first_id\":null,\"last_id\":null}");
    mf_buf_done(&text);
    tasks_sweep(r->tasks, r->self, false);
  }
  assert_int_equal(mf_tasks_stats(r->tasks).expired, 1);
  assert_int_equal(mf_tasks_stats(r->tasks).files_bytes, 0);
  if (r->dir[0])
    assert_int_equal(rig_folder_n(r), 0);
  struct mf_task_submitted again;
  assert_ok(rig_try_submit_files(r, "me", "x", "key", files, &again), &r->err); /* its key is remembered */
  assert_string_equal(again.id, s.id);
  r->clock_ms += r->config.remember_ms;
  tasks_sweep(r->tasks, r->self, false);
  assert_int_equal(rig_get(r, "me", s.id, 0, &text), MF_E_NOT_FOUND);
  assert_int_equal(r->tasks->table.n, 0);
}

static void more_than_memory_holds(struct rig *r)
{
  char first[MF_ID_N];
  struct mf_buf text;
  r->is_auto = true;
  memcpy(first, rig_submit(r, "", "x").id, sizeof(first));
  for (unsigned i = 0; i < TASKS_ENDED_MAX + 50; i++) {
    wait_for_ends(r, i + 1);
    rig_submit(r, "", "x");
  }
  wait_for_ends(r, TASKS_ENDED_MAX + 51);
  assert_true(r->tasks->ended_n <= TASKS_ENDED_MAX);
  assert_int_equal(rig_get(r, "", first, 0, &text), MF_E_NOT_FOUND);
}

static void the_oldest_go_without_a_database(void **state)
{
  const struct rig r = rig_default();
  rig_run_in_memory(&r, more_than_memory_holds);
}

/* ---- quotas ---- */

static void room_for_files_is_full(struct rig *r)
{
  static const char *const files[] = { "f", "0123456789", NULL };
  struct mf_task_submitted s, waiting;
  /* One that runs at once needs no room for its small input; one that waits does. */
  assert_ok(rig_try_submit_files(r, "", "x", "", files, &s), &r->err);
  assert_int_equal(mf_tasks_stats(r->tasks).files_bytes, 0);
  assert_ok(rig_try_submit_files(r, "", "q", "", files, &waiting), &r->err);
  assert_int_equal(rig_try_submit_files(r, "", "y", "", files, &s), MF_E_LIMIT);
  assert_string_equal(r->fault.code, "storage_full");
  assert_int_equal(mf_tasks_stats(r->tasks).files_bytes, 10);
  assert_int_equal(r->tasks->submitting_n, 0);
  /* What comes out finds no room either: the text is kept, and the file is told of. */
  struct fake_run *f = rig_run_of(r, "x");
  assert_string_equal(f->inputs.ptr, "f=0123456789;");
  fake_finish(r, f, MF_RUN_SUCCEEDED, MF_REASON_EXIT, "text", "a file of more than five bytes");
  f = rig_run_of(r, "q");
  assert_string_equal(f->inputs.ptr, "f=0123456789;");
  fake_finish(r, f, MF_RUN_SUCCEEDED, MF_REASON_EXIT, "", NULL);
  wait_for_ends(r, 2);
  assert_int_equal(mf_tasks_stats(r->tasks).by_state[MF_TASK_FAILED], 1);
  const struct task *k = r->tasks->table.oldest;
  assert_status(r, "", k->id, "failed");
  assert_member(r, "", k->id, "reason", "\"disk\"");
  assert_member(r, "", k->id, "stdout", "\"text\"");
  assert_member(r, "", k->id, "artifacts", "[]");
  assert_member(r, "", k->id, "rejectedArtifacts",
                "[{\"path\":\"out/made.txt\",\"reason\":\"the server's room for files is full\"}]");
  assert_ok(rig_delete(r, "", waiting.id), &r->err);
  assert_int_equal(mf_tasks_stats(r->tasks).files_bytes, 0);
  assert_ok(rig_try_submit_files(r, "", "y", "", files, &s), &r->err); /* there is room again */
  fake_finish(r, rig_run_of(r, "y"), MF_RUN_SUCCEEDED, MF_REASON_EXIT, "", "five!");
  wait_for_ends(r, 3);
  assert_status(r, "", s.id, "succeeded");
  assert_int_equal(mf_tasks_stats(r->tasks).files_bytes, 5);
}

static void test_room_for_files_is_full(void **state)
{
  struct rig r = rig_default();
  r.files_max = 15;
  r.config.running_max = 1;
  rig_run_on_disk(&r, room_for_files_is_full);
}

/* ---- a full disk ---- */

/* During an upload, and while results are collected: said clearly, and all of it works again with some room. */
static void the_disk_is_full(struct rig *r)
{
  enum { LARGE = 600000 };
  char *large = mf_xmalloc(LARGE + 1);
  memset(large, 'x', LARGE);
  large[LARGE] = 0;
  const char *files[] = { "f", large, NULL };
  struct mf_task_submitted s, other;
  assert_ok(rig_try_submit_files(r, "me", "x", "", files, &s), &r->err);
  rig_run_of(r, "x");
  int fd = rig_fill_disk(r);
  assert_int_equal(rig_try_submit_files(r, "me", "y", "", files, &other), MF_E_UNAVAILABLE);
  assert_string_equal(r->fault.code, "storage_full");
  assert_int_equal(rig_folder_n(r), 1);
  fake_finish(r, rig_run_of(r, "x"), MF_RUN_SUCCEEDED, MF_REASON_EXIT, "text", large);
  wait_for_ends(r, 1);
  assert_status(r, "me", s.id, "failed");
  assert_member(r, "me", s.id, "reason", "\"disk\"");
  assert_member(r, "me", s.id, "stdout", "\"text\"");
  assert_member(r, "me", s.id, "rejectedArtifacts",
                "[{\"path\":\"out/made.txt\",\"reason\":\"the server's room for files is full\"}]");
  rig_free_disk(fd);
  tasks_sweep(r->tasks, r->self, true);
  assert_int_equal(r->tasks->unsaved_n, 0);
  assert_ok(rig_try_submit_files(r, "me", "y", "", files, &other), &r->err);
  fake_finish(r, rig_run_of(r, "y"), MF_RUN_SUCCEEDED, MF_REASON_EXIT, "", "made");
  wait_for_ends(r, 2);
  assert_status(r, "me", other.id, "succeeded");
  rig_restart(r);
  assert_status(r, "me", s.id, "failed");
  assert_ok(rig_delete(r, "me", s.id), &r->err);
  assert_ok(rig_delete(r, "me", other.id), &r->err);
  assert_int_equal(mf_tasks_stats(r->tasks).files_bytes, 0);
  assert_int_equal(rig_folder_n(r), 0);
  free(large);
}

static void test_the_disk_is_full(void **state)
{
  const struct rig r = rig_default();
  if (!rig_run_on_small_disk(&r, "3m", the_disk_is_full)) {
    print_message("# this user cannot mount a file system\n");
    skip();
  }
}

/* ---- a database that takes nothing ---- */

static void the_end_cannot_be_stored(struct rig *r)
{
  struct mf_task_submitted s = rig_submit(r, "me", "x");
  struct mf_buf text;
  r->tasks->config.queue_max = 1;
  rig_run_of(r, "x");
  rig_move_database(r, true);
  fake_finish(r, rig_run_of(r, "x"), MF_RUN_SUCCEEDED, MF_REASON_EXIT, "text", NULL);
  wait_for_ends(r, 1);
  assert_int_equal(r->tasks->unsaved_n, 1);
  assert_status(r, "me", s.id, "succeeded"); /* shown from memory */
  assert_member(r, "me", s.id, "stdout", "\"text\"");
  struct mf_task_submitted other;
  assert_int_equal(rig_try_submit(r, "me", "y", "", &other), MF_E_UNAVAILABLE);
  assert_int_equal(rig_delete(r, "me", s.id), MF_E_UNAVAILABLE);
  tasks_sweep(r->tasks, r->self, false);
  assert_int_equal(r->tasks->unsaved_n, 1);
  rig_move_database(r, false);
  tasks_sweep(r->tasks, r->self, false);
  assert_int_equal(r->tasks->unsaved_n, 0);
  rig_restart(r);
  assert_status(r, "me", s.id, "succeeded");
  assert_member(r, "me", s.id, "stdout", "\"text\"");
  assert_ok(rig_delete(r, "me", s.id), &r->err);
  assert_int_equal(rig_get(r, "me", s.id, 0, &text), MF_E_NOT_FOUND);
}

/* It waits on, and starts when the database is back. */
static void the_start_cannot_be_stored(struct rig *r)
{
  r->config.running_max = 1;
  rig_restart(r);
  rig_submit(r, "me", "first");
  struct mf_task_submitted s = rig_submit(r, "me", "second");
  struct fake_run *f = rig_run_of(r, "first");
  rig_move_database(r, true);
  fake_finish(r, f, MF_RUN_SUCCEEDED, MF_REASON_EXIT, "", NULL);
  RIG_UNTIL(r, r->tasks->is_paused);
  assert_status(r, "me", s.id, "queued");
  assert_member(r, "me", s.id, "queuePosition", "1");
  assert_int_equal(r->start_n, 1);
  rig_move_database(r, false);
  rig_run_of(r, "second");
  assert_status(r, "me", s.id, "running");
}

#define ON_DISK(name)                                                                                                  \
  static void test_##name(void **state)                                                                                \
  {                                                                                                                    \
    const struct rig r = rig_default();                                                                                \
    rig_run_on_disk(&r, name);                                                                                         \
  }
ON_DISK(the_end_cannot_be_stored)
ON_DISK(the_start_cannot_be_stored)

/* ---- closing and restarting ---- */

static void closed_in_order(struct rig *r)
{
  struct mf_task_submitted running, waiting;
  r->config.running_max = 1;
  rig_restart(r);
  running = rig_submit(r, "me", "running");
  waiting = rig_submit(r, "me", "waiting");
  fake_print(rig_run_of(r, "running"), false, "so far");
  rig_restart(r);
  assert_status(r, "me", running.id, "failed");
  assert_member(r, "me", running.id, "reason", "\"interrupted\"");
  assert_member(r, "me", running.id, "stdout", "\"so far\"");
  fake_finish(r, rig_run_of(r, "waiting"), MF_RUN_SUCCEEDED, MF_REASON_EXIT, "", NULL);
  wait_for_ends(r, 1);
  assert_status(r, "me", waiting.id, "succeeded");
}

/* A server that stops takes tasks, and starts none. */
static void drained(struct rig *r)
{
  struct mf_task_submitted running = rig_submit(r, "me", "running"), waiting;
  struct fake_run *f = rig_run_of(r, "running");
  mf_tasks_drain(r->tasks);
  waiting = rig_submit(r, "me", "waiting");
  assert_member(r, "me", waiting.id, "queuePosition", "1");
  fake_finish(r, f, MF_RUN_SUCCEEDED, MF_REASON_EXIT, "", NULL);
  wait_for_ends(r, 1);
  assert_status(r, "me", running.id, "succeeded");
  rig_settle(r);
  assert_status(r, "me", waiting.id, "queued");
  assert_int_equal(r->start_n, 1);
  rig_restart(r);
  fake_finish(r, rig_run_of(r, "waiting"), MF_RUN_SUCCEEDED, MF_REASON_EXIT, "", NULL);
  wait_for_ends(r, 1);
  assert_status(r, "me", waiting.id, "succeeded");
}

/* All that was asked for survives. */
static void asked_before_a_restart(struct rig *r)
{
  struct mf_task_request request;
  struct mf_task_submitted s;
  r->config.running_max = 1;
  rig_restart(r);
  rig_submit(r, "", "first");
  mf_task_request_default(&request);
  request.code = MF_STR("second");
  request.source_name = MF_STR("b.py");
  request.timeout_ms = 1234;
  request.memory_mb = 99;
  request.display_last_expression = true;
  struct mf_task_draft *d = mf_task_draft_new(r->tasks, MF_STR(""));
  assert_ok(mf_task_draft_file(d, r->self, MF_STR("a.csv"), &r->fault, &r->err), &r->err);
  assert_ok(mf_task_draft_data(d, r->self, MF_STR("x;y\n1;2\n"), &r->fault, &r->err), &r->err);
  assert_ok(mf_tasks_submit(r->tasks, r->self, d, &request, MF_STR(""), &s, &r->retry_s, &r->fault, &r->err), &r->err);
  char *before = rig_member(r, "", s.id, "inputs");
  rig_restart(r);
  struct fake_run *f = rig_run_of(r, "second");
  assert_string_equal(f->source_name, "b.py");
  assert_int_equal(f->limits.wall_ms, 1234);
  assert_int_equal(f->limits.memory_bytes, 99u << 20);
  assert_true(f->display_last_expression);
  assert_string_equal(f->inputs.ptr, "a.csv=x;y\n1;2\n;");
  assert_member(r, "", s.id, "inputs", before);
  free(before);
}

static void closed_while_a_hundred_wait(struct rig *r)
{
  r->config.running_max = 1;
  rig_restart(r);
  for (unsigned i = 0; i < 100; i++)
    rig_submit(r, i % 2 ? "a" : "b", "x");
  rig_run_of(r, "x");
  rig_close(r, mf_now_ns() + 1000000);
  assert_int_equal(r->start_n, 1);
  assert_null(r->runs);
  rig_open(r);
  unsigned left = r->dir[0] ? 99 : 0;
  const struct mf_tasks_stats st = mf_tasks_stats(r->tasks);
  assert_int_equal(st.queued + st.running, left);
  r->is_auto = true;
  finish_all(r);
  wait_for_ends(r, left);
  assert_int_equal(mf_tasks_stats(r->tasks).by_state[MF_TASK_SUCCEEDED], left);
}

static void test_closed_while_a_hundred_wait(void **state)
{
  const struct rig r = rig_default();
  rig_run_both(&r, closed_while_a_hundred_wait);
}
ON_DISK(closed_in_order)
ON_DISK(drained)
ON_DISK(asked_before_a_restart)

/* A process that is killed: what runs and waits is known to nobody but the database. */
enum { KILLED_N = 40 };

static void submit_and_tell(struct rig *r)
{
  static const char *const files[] = { "f", "content", NULL };
  char path[128];
  snprintf(path, sizeof(path), "%s/ids", r->dir);
  int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
  char *code = mf_xcalloc(1, 40000); /* too long to be kept in memory */
  memset(code, '#', 39999);
  for (unsigned i = 0; i < KILLED_N; i++) {
    struct mf_task_submitted s;
    if (rig_try_submit_files(r, i % 2 ? "a" : "b", i % 3 ? "x" : code, "", files, &s) == MF_OK)
      (void)!write(fd, s.id, MF_ID_N);
    if (i == KILLED_N / 2)
      fake_finish(r, rig_run_of(r, code), MF_RUN_SUCCEEDED, MF_REASON_EXIT, "", "made");
  }
  /* Something that belongs to nobody. */
  struct mf_task_draft *d = mf_task_draft_new(r->tasks, MF_STR("a"));
  (void)!mf_task_draft_file(d, r->self, MF_STR("f"), &r->fault, &r->err);
  for (unsigned i = 0; i < 2; i++) /* too much to be kept in memory */
    (void)!mf_task_draft_data(d, r->self, (struct mf_str){ code, 39999 }, &r->fault, &r->err);
  (void)!mf_task_draft_file_end(d, r->self, &r->fault, &r->err);
  kill(getpid(), SIGKILL);
}

static void after_the_kill(struct rig *r)
{
  static char ids[KILLED_N][MF_ID_N];
  char path[128];
  snprintf(path, sizeof(path), "%s/ids", r->dir);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  assert_int_equal(read(fd, ids, sizeof(ids)), sizeof(ids));
  close(fd);
  /* The draft's is swept, and the two that ran at once left none but for what one of them made. */
  assert_in_range(rig_folder_n(r), KILLED_N - 2, KILLED_N - 1);
  unsigned interrupted = (unsigned)mf_tasks_stats(r->tasks).by_state[MF_TASK_FAILED];
  assert_in_range(interrupted, 1, 8);
  r->is_auto = true;
  finish_all(r);
  RIG_UNTIL(r, mf_tasks_stats(r->tasks).queued + mf_tasks_stats(r->tasks).running + r->tasks->ending_n == 0);
  unsigned by_state[3] = { 0 };
  for (unsigned i = 0; i < KILLED_N; i++) {
    char *status = rig_member(r, i % 2 ? "a" : "b", ids[i], "status");
    char *reason = rig_member(r, i % 2 ? "a" : "b", ids[i], "reason");
    by_state[0] += strcmp(status, "\"succeeded\"") == 0;
    by_state[1] += strcmp(status, "\"failed\"") == 0 && strcmp(reason, "\"interrupted\"") == 0;
    free(status);
    free(reason);
  }
  assert_int_equal(by_state[0] + by_state[1], KILLED_N); /* none is lost */
  assert_int_equal(by_state[1], interrupted);
  r->clock_ms += r->config.retention_ms;
  tasks_sweep(r->tasks, r->self, true);
  assert_int_equal(rig_folder_n(r), 0);
  assert_int_equal(mf_tasks_stats(r->tasks).files_bytes, 0);
}

static void test_killed(void **state)
{
  const struct rig r = rig_default();
  rig_run_killed(&r, submit_and_tell, after_the_kill);
}

static void test_an_hour_and_a_day(void **state)
{
  const struct rig r = rig_default();
  rig_run_both(&r, an_hour_and_a_day);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_an_hour_and_a_day),
    cmocka_unit_test(the_oldest_go_without_a_database),
    cmocka_unit_test(test_room_for_files_is_full),
    cmocka_unit_test(test_the_disk_is_full),
    cmocka_unit_test(test_the_end_cannot_be_stored),
    cmocka_unit_test(test_the_start_cannot_be_stored),
    cmocka_unit_test(test_closed_in_order),
    cmocka_unit_test(test_drained),
    cmocka_unit_test(test_asked_before_a_restart),
    cmocka_unit_test(test_closed_while_a_hundred_wait),
    cmocka_unit_test(test_killed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

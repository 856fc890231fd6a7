/* A task that has its place runs while the database takes it: nobody sees it before, and nothing is left of one that
 * the database refuses. */
#include "rig.h"

#include <sqlite3.h>
#include <stdio.h>

#include "base/banned.h"

struct submitting {
  struct rig *r;
  struct mf_fiber *fiber;
  const char *owner, *key;
  struct mf_task_submitted ret;
  struct mf_task_fault fault;
  struct mf_err err;
  enum mf_code code;
  bool is_done;
};

static void submit_in_fiber(void *user)
{
  struct submitting *s = user;
  struct mf_task_request request;
  unsigned retry_s = 0;
  mf_task_request_default(&request);
  request.code = MF_STR("file:made");
  struct mf_task_draft *d = mf_task_draft_new(s->r->tasks, mf_str_of(s->owner));
  s->code =
      mf_tasks_submit(s->r->tasks, s->fiber, d, &request, mf_str_of(s->key), &s->ret, &retry_s, &s->fault, &s->err);
  s->is_done = true;
}

static void start_submitting_of(struct rig *r, struct submitting *s, const char *owner, const char *key)
{
  *s = (struct submitting){ .r = r, .owner = owner, .key = key };
  assert_ok(mf_fiber_start(r->loop, submit_in_fiber, s, 0, &s->fiber, &r->err), &r->err);
}

static void start_submitting(struct rig *r, struct submitting *s, const char *key)
{
  start_submitting_of(r, s, "me", key);
}

static void end_submitting(struct rig *r, struct submitting *s)
{
  RIG_UNTIL(r, s->is_done);
  mf_fiber_join(r->self, s->fiber);
}

static void path_of(const struct rig *r, const char *name, char ret[128])
{
  snprintf(ret, 128, "%s/%s", r->dir, name);
}

/* Another process writes: until the end of it the database takes nothing. */
static sqlite3 *hold_database(const struct rig *r)
{
  char path[128];
  sqlite3 *db = NULL;
  path_of(r, "db", path);
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
  return db;
}

static void let_go(sqlite3 *db)
{
  assert_int_equal(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void runs_while_it_is_stored(struct rig *r)
{
  struct submitting s;
  struct mf_buf text;
  sqlite3 *db = hold_database(r);
  start_submitting(r, &s, "");
  struct fake_run *f = rig_run_of(r, "file:made");
  fake_start_code(f);
  fake_finish(r, f, MF_RUN_SUCCEEDED, MF_REASON_EXIT, "text", "made");
  rig_settle(r);
  assert_false(s.is_done); /* it has ended, but nothing is acknowledged, and nothing can be seen */
  assert_int_equal(rig_get(r, "me", r->tasks->table.newest->id, 0, &text), MF_E_NOT_FOUND);
  assert_int_equal(mf_tasks_stats(r->tasks).submitted, 0);
  let_go(db);
  end_submitting(r, &s);
  assert_ok(s.code, &s.err);
  RIG_UNTIL(r, mf_tasks_stats(r->tasks).by_state[MF_TASK_SUCCEEDED] == 1);
  assert_member(r, "me", s.ret.id, "stdout", "\"text\"");
  assert_int_equal(r->start_n, 1);
  assert_int_equal(mf_tasks_stats(r->tasks).running, 0);
  rig_restart(r);
  assert_status(r, "me", s.ret.id, "succeeded");
}

/* The key may be one that was used: only the database knows, and a program runs once for it. */
static void waits_where_it_may_be_a_replay(struct rig *r)
{
  struct submitting s;
  sqlite3 *db = hold_database(r);
  start_submitting(r, &s, "a key");
  rig_settle(r);
  assert_int_equal(r->start_n, 0);
  let_go(db);
  r->is_auto = true;
  end_submitting(r, &s);
  assert_ok(s.code, &s.err);
  RIG_UNTIL(r, mf_tasks_stats(r->tasks).by_state[MF_TASK_SUCCEEDED] == 1);
  assert_int_equal(r->start_n, 1);
}

/* Places that are being filled count as those that are filled: one of eight is left to the others. */
static void a_key_that_wants_it_all_at_once(struct rig *r)
{
  enum { N = 12, RUNNING = 1, QUEUE = 8 };
  struct submitting s[N], other;
  unsigned taken_n = 0;
  r->config.running_max = RUNNING;
  r->config.queue_max = QUEUE;
  rig_restart(r);
  sqlite3 *db = hold_database(r);
  for (unsigned i = 0; i < N; i++)
    start_submitting(r, &s[i], "");
  rig_settle(r);
  start_submitting_of(r, &other, "you", "");
  rig_settle(r);
  let_go(db);
  for (unsigned i = 0; i < N; i++) {
    end_submitting(r, &s[i]);
    assert_true(s[i].code == MF_OK || s[i].code == MF_E_CAPACITY);
    taken_n += s[i].code == MF_OK;
  }
  end_submitting(r, &other);
  assert_ok(other.code, &other.err);
  assert_int_equal(taken_n, RUNNING + QUEUE - QUEUE / 8);
}

/* ---- the same key meanwhile ---- */

static void have_two_places(struct rig *r)
{
  r->config.running_max = 1;
  r->config.queue_max = 1;
  rig_restart(r);
}

static void start_repetitions(struct rig *r, struct submitting s[3])
{
  for (unsigned i = 0; i < 3; i++)
    start_submitting(r, &s[i], "a key");
  rig_settle(r);
}

/* They need no places: of these there are two. */
static void repetitions_wait_for_the_first(struct rig *r)
{
  struct submitting s[3];
  struct mf_buf text;
  have_two_places(r);
  sqlite3 *db = hold_database(r);
  start_repetitions(r, s);
  assert_int_equal(r->tasks->submitting_n, 0);
  assert_int_equal(r->tasks->table.n, 1);
  let_go(db);
  r->is_auto = true;
  for (unsigned i = 0; i < 3; i++) {
    end_submitting(r, &s[i]);
    assert_ok(s[i].code, &s[i].err);
    assert_int_equal(s[i].ret.is_replay, i > 0);
    assert_string_equal(s[i].ret.id, s[0].ret.id);
  }
  RIG_UNTIL(r, mf_tasks_stats(r->tasks).by_state[MF_TASK_SUCCEEDED] == 1);
  assert_int_equal(r->start_n, 1);
  assert_ok(rig_get(r, "me", s[0].ret.id, 0, &text), &r->err);
  mf_buf_done(&text);
}

static void a_repetition_that_is_cancelled(struct rig *r)
{
  struct submitting s[3];
  have_two_places(r);
  sqlite3 *db = hold_database(r);
  start_repetitions(r, s);
  mf_fiber_cancel(s[1].fiber);
  end_submitting(r, &s[1]);
  assert_int_equal(s[1].code, MF_E_CANCELLED);
  let_go(db);
  r->is_auto = true;
  end_submitting(r, &s[0]);
  end_submitting(r, &s[2]);
  assert_ok(s[0].code, &s[0].err);
  assert_string_equal(s[2].ret.id, s[0].ret.id);
  RIG_UNTIL(r, mf_tasks_stats(r->tasks).by_state[MF_TASK_SUCCEEDED] == 1);
}

/* The database has it, its own submission has not gone on yet, and there is no place: the id can be asked for. */
static void a_repetition_that_only_the_database_knows(struct rig *r)
{
  struct submitting first, again, other;
  have_two_places(r);
  start_submitting(r, &first, "a key");
  end_submitting(r, &first);
  assert_ok(first.code, &first.err);
  start_submitting(r, &other, "");
  end_submitting(r, &other);
  assert_ok(other.code, &other.err);
  struct task *k = task_table_find(&r->tasks->table, mf_str_of(first.ret.id));
  char key = k->idempotency_key[0];
  k->idempotency_key[0] = 0; /* the database alone finds it by its key */
  k->is_hidden = true;
  start_submitting(r, &again, "a key");
  for (unsigned i = 0; i < 50; i++)
    rig_settle(r);
  assert_false(again.is_done);
  k->is_hidden = false;
  k->idempotency_key[0] = key;
  task_announce(k);
  end_submitting(r, &again);
  assert_ok(again.code, &again.err);
  assert_true(again.ret.is_replay);
  assert_string_equal(again.ret.id, first.ret.id);
}

static void assert_nothing_is_left(struct rig *r)
{
  assert_int_equal(r->tasks->table.n, 0);
  assert_int_equal(r->tasks->runner_n, 0);
  assert_int_equal(r->tasks->ending_n, 0);
  assert_int_equal(r->tasks->unsaved_n, 0);
  assert_int_equal(mf_tasks_stats(r->tasks).running, 0);
  assert_int_equal(mf_tasks_stats(r->tasks).submitted, 0);
  assert_int_equal(mf_tasks_stats(r->tasks).files_bytes, 0);
  assert_int_equal(rig_folder_n(r), 0);
  assert_int_equal(mf_executor_stats(r->executor).busy, 0);
}

static void one_that_is_refused_is_ended(struct rig *r)
{
  struct submitting s;
  r->is_auto = true;
  rig_move_database(r, true);
  for (unsigned i = 1; i <= 20; i++) {
    start_submitting(r, &s, "");
    end_submitting(r, &s);
    assert_int_equal(s.code, MF_E_UNAVAILABLE);
    assert_non_null(strstr(s.err.msg, "was removed or replaced while it was in use"));
    RIG_UNTIL(r, mf_executor_stats(r->executor).busy == 0);
    assert_nothing_is_left(r);
    assert_int_equal(r->start_n, i);
  }
  rig_move_database(r, false);
  start_submitting(r, &s, "");
  end_submitting(r, &s);
  assert_ok(s.code, &s.err);
  RIG_UNTIL(r, mf_tasks_stats(r->tasks).by_state[MF_TASK_SUCCEEDED] == 1);
}

/* Where the first of a key fails, the others say the same for themselves. */
static void repetitions_of_one_that_is_refused(struct rig *r)
{
  struct submitting s[3];
  rig_move_database(r, true);
  start_repetitions(r, s);
  for (unsigned i = 0; i < 3; i++) {
    end_submitting(r, &s[i]);
    assert_int_equal(s[i].code, MF_E_UNAVAILABLE);
  }
  assert_int_equal(r->tasks->submitting_n, 0);
  assert_nothing_is_left(r);
  assert_int_equal(r->start_n, 0);
  rig_move_database(r, false);
}

/* The end of the service comes while it is being stored: it ends as one that was interrupted, or is not there. */
static void the_service_closes_meanwhile(struct rig *r)
{
  struct submitting s;
  sqlite3 *db = hold_database(r);
  start_submitting(r, &s, "");
  (void)rig_run_of(r, "file:made");
  r->tasks->is_draining = true;
  let_go(db);
  end_submitting(r, &s);
  assert_ok(s.code, &s.err);
  rig_restart(r);
  assert_status(r, "me", s.ret.id, "failed");
  assert_member(r, "me", s.ret.id, "reason", "\"interrupted\"");
}

#define ON_DISK(name)                                                                                                  \
  static void test_##name(void **state)                                                                                \
  {                                                                                                                    \
    const struct rig r = rig_default();                                                                                \
    rig_run_on_disk(&r, name);                                                                                         \
  }
ON_DISK(runs_while_it_is_stored)
ON_DISK(waits_where_it_may_be_a_replay)
ON_DISK(a_key_that_wants_it_all_at_once)
ON_DISK(repetitions_wait_for_the_first)
ON_DISK(a_repetition_that_is_cancelled)
ON_DISK(a_repetition_that_only_the_database_knows)
ON_DISK(repetitions_of_one_that_is_refused)
ON_DISK(one_that_is_refused_is_ended)
ON_DISK(the_service_closes_meanwhile)

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_runs_while_it_is_stored),
    cmocka_unit_test(test_waits_where_it_may_be_a_replay),
    cmocka_unit_test(test_a_key_that_wants_it_all_at_once),
    cmocka_unit_test(test_repetitions_wait_for_the_first),
    cmocka_unit_test(test_a_repetition_that_is_cancelled),
    cmocka_unit_test(test_a_repetition_that_only_the_database_knows),
    cmocka_unit_test(test_repetitions_of_one_that_is_refused),
    cmocka_unit_test(test_one_that_is_refused_is_ended),
    cmocka_unit_test(test_the_service_closes_meanwhile),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

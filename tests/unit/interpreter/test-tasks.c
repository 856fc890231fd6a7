/* The task service: submitting, waiting, cancelling, the queue, who sees what. In memory and on disk. */
#include <stdlib.h>
#include <unistd.h>

#include "base/time.h"
#include "rig.h"
#include "base/banned.h"

/* ---- the ordinary way ---- */

static void a_task_from_submit_to_result(struct rig *r)
{
  static const char *const files[] = { "a.csv", "x;y\n1;2\n", "sub/empty", "", NULL };
  struct mf_task_submitted s;
  assert_ok(rig_try_submit_files(r, "me", "print(1)", "", files, &s), &r->err);
  struct fake_run *f = rig_run_of(r, "print(1)");
  assert_string_equal(f->inputs.ptr, "a.csv=x;y\n1;2\n;sub/empty=;");
  assert_int_equal(f->limits.wall_ms, 60000);
  assert_int_equal(f->limits.stdout_bytes, 1u << 20);
  assert_int_equal(f->limits.artifact_bytes, 20u << 20);
  assert_int_equal(f->limits.output_policy, MF_OUTPUT_TRUNCATE);
  assert_status(r, "me", s.id, "running");
  assert_member(r, "me", s.id, "reason", "null");
  assert_member(r, "me", s.id, "usage", "null");
  assert_member(r, "me", s.id, "receipt", "null");
  assert_member(r, "me", s.id, "finishedAt", "null");
  assert_member(r, "me", s.id, "startedAt", "\"2026-01-01T00:00:00.000Z\"");
  fake_start_code(f);
  fake_print(f, false, "1");
  fake_print(f, true, "warn");
  assert_member(r, "me", s.id, "stdout", "\"1\"");
  assert_member(r, "me", s.id, "stderr", "\"warn\"");
  r->clock_ms += 1500;
  fake_finish(r, f, MF_RUN_SUCCEEDED, MF_REASON_EXIT, "1\n", "made");
  struct mf_buf text;
  assert_ok(rig_get(r, "me", s.id, 60000, &text), &r->err); /* waits for the end */
  mf_buf_done(&text);
  assert_status(r, "me", s.id, "succeeded");
  assert_member(r, "me", s.id, "reason", "\"exit\"");
  assert_member(r, "me", s.id, "exitCode", "0");
  assert_member(r, "me", s.id, "signal", "null");
  assert_member(r, "me", s.id, "stdout", "\"1\\n\"");
  assert_member(r, "me", s.id, "stderr", "\"warn\""); /* was seen live */
  assert_member(r, "me", s.id, "finishedAt", "\"2026-01-01T00:00:01.500Z\"");
  assert_member(r, "me", s.id, "expiresAt", "\"2026-01-01T01:00:01.500Z\"");
  assert_member(r, "me", s.id, "usage", "{\"durationMs\":5,\"cpuMs\":0,\"memoryMb\":null}");
  assert_member(r, "me", s.id, "queuePosition", "");
  char *inputs = rig_member(r, "me", s.id, "inputs");
  assert_non_null(strstr(inputs, "{\"name\":\"a.csv\",\"sizeBytes\":8,\"sha256\":\""));
  assert_non_null(strstr(inputs, "\"encodingGuess\":\"utf-8\",\"delimiter\":\";\",\"bom\":false}"));
  assert_non_null(strstr(inputs, "\"encodingGuess\":null,\"delimiter\":null,\"bom\":null}"));
  free(inputs);
  struct mf_tasks_stats st = mf_tasks_stats(r->tasks);
  assert_int_equal(st.submitted, 1);
  assert_int_equal(st.by_state[MF_TASK_SUCCEEDED], 1);
  assert_int_equal(st.running, 0);
  assert_int_equal(st.queued, 0);
}

static char *artifact_id_of(struct rig *r, const char *id)
{
  char *list = rig_member(r, "me", id, "artifacts");
  const char *at = strstr(list, "\"artifactId\":\"");
  assert_non_null(at);
  at += strlen("\"artifactId\":\"");
  char *ret = mf_xasprintf("%.*s", (int)strcspn(at, "\""), at);
  char *url = mf_xasprintf("\"url\":\"/v1/tasks/%s/artifacts/%s\"", id, ret);
  assert_non_null(strstr(list, url));
  free(url);
  free(list);
  return ret;
}

static void an_artifact(struct rig *r)
{
  struct mf_task_artifact a;
  struct mf_task_submitted s = rig_submit(r, "me", "x");
  assert_int_equal(
      mf_tasks_artifact(r->tasks, r->self, MF_STR("me"), mf_str_of(s.id), MF_STR("artifact_1"), &a, &r->err),
      MF_E_NOT_FOUND);
  fake_finish(r, rig_run_of(r, "x"), MF_RUN_FAILED, MF_REASON_EXCEPTION, "", "content of it");
  RIG_UNTIL(r, mf_tasks_stats(r->tasks).by_state[MF_TASK_FAILED] == 1);
  assert_member(r, "me", s.id, "reason", "\"exception\"");
  assert_member(r, "me", s.id, "exitCode", "1");
  char *artifact_id = artifact_id_of(r, s.id), content[64] = "";
  assert_ok(mf_tasks_artifact(r->tasks, r->self, MF_STR("me"), mf_str_of(s.id), mf_str_of(artifact_id), &a, &r->err),
            &r->err);
  assert_string_equal(a.path, "out/made.txt");
  assert_string_equal(a.mime_type, "text/plain");
  assert_int_equal(a.ref.size_bytes, strlen("content of it"));
  assert_int_equal(pread(a.fd, content, sizeof(content), 0), strlen("content of it"));
  assert_string_equal(content, "content of it");
  mf_task_artifact_done(&a);
  assert_int_equal(
      mf_tasks_artifact(r->tasks, r->self, MF_STR("you"), mf_str_of(s.id), mf_str_of(artifact_id), &a, &r->err),
      MF_E_NOT_FOUND);
  assert_int_equal(mf_tasks_artifact(r->tasks, r->self, MF_STR("me"), mf_str_of(s.id), MF_STR("../../db"), &a, &r->err),
                   MF_E_NOT_FOUND);
  free(artifact_id);
}

/* What a provider says of a run, and what the task says of it. */
static void ends(struct rig *r)
{
  static const struct {
    enum mf_run_status status;
    enum mf_run_reason reason;
    const char *state, *words;
  } rows[] = {
    { MF_RUN_TIMED_OUT, MF_REASON_WALL_TIME, "\"timed_out\"", "\"wall_time\"" },
    { MF_RUN_LIMIT, MF_REASON_MEMORY, "\"failed\"", "\"memory\"" },
    { MF_RUN_FAILED, MF_REASON_SIGNAL, "\"failed\"", "\"signal\"" },
    { MF_RUN_FAILED, MF_REASON_WORKER_CRASH, "\"failed\"", "\"worker_crash\"" },
    { MF_RUN_FAILED, MF_REASON_CAPACITY, "\"failed\"", "\"unavailable\"" },
  };
  for (unsigned i = 0; i < MF_ARRAY_N(rows); i++) {
    struct mf_task_submitted s = rig_submit(r, "", "x");
    struct fake_run *f = rig_run_of(r, "x");
    fake_start_code(f);
    fake_finish(r, f, rows[i].status, rows[i].reason, "kept", NULL);
    struct mf_buf text;
    assert_ok(rig_get(r, "", s.id, 60000, &text), &r->err);
    mf_buf_done(&text);
    assert_member(r, "", s.id, "status", rows[i].state);
    assert_member(r, "", s.id, "reason", rows[i].words);
    assert_member(r, "", s.id, "stdout", "\"kept\"");
  }
}

/* ---- waiting ---- */

struct waiting {
  struct rig *r;
  const char *id;
  struct mf_fiber *fiber;
  uint64_t deadline_ns;
  enum mf_code code;
  struct mf_buf text;
  struct mf_err err;
  bool is_done;
};

static void wait_in_fiber(void *user)
{
  struct waiting *w = user;
  w->code = mf_tasks_get(w->r->tasks, w->fiber, MF_STR("me"), mf_str_of(w->id), w->deadline_ns, &w->text, &w->err);
  w->is_done = true;
}

static void start_waiting(struct rig *r, struct waiting *w, const char *id, uint64_t ms)
{
  *w = (struct waiting){ .r = r, .id = id, .deadline_ns = mf_now_ns() + ms * MF_NS_PER_MS };
  assert_ok(mf_fiber_start(r->loop, wait_in_fiber, w, 0, &w->fiber, &r->err), &r->err);
}

static void those_who_wait(struct rig *r)
{
  struct mf_task_submitted s = rig_submit(r, "me", "x");
  struct waiting w[3];
  start_waiting(r, &w[0], s.id, 3600000);
  start_waiting(r, &w[1], s.id, 3600000);
  start_waiting(r, &w[2], s.id, 1);
  RIG_UNTIL(r, w[2].is_done);
  assert_ok(w[2].code, &w[2].err); /* the deadline came: as it is now */
  assert_non_null(strstr(w[2].text.ptr, "\"status\":\"running\""));
  mf_fiber_cancel(w[1].fiber); /* its client has gone: that ends the wait, and nothing else */
  RIG_UNTIL(r, w[1].is_done);
  assert_int_equal(w[1].code, MF_E_CANCELLED);
  assert_false(w[0].is_done);
  assert_status(r, "me", s.id, "running");
  fake_finish(r, rig_run_of(r, "x"), MF_RUN_SUCCEEDED, MF_REASON_EXIT, "", NULL);
  RIG_UNTIL(r, w[0].is_done);
  assert_non_null(strstr(w[0].text.ptr, "\"status\":\"succeeded\""));
  for (unsigned i = 0; i < 3; i++) {
    mf_fiber_join(r->self, w[i].fiber);
    mf_buf_done(&w[i].text);
  }
}

/* ---- cancelling ---- */

static void cancelled_while_it_waits(struct rig *r)
{
  r->config.running_max = 1;
  rig_restart(r);
  rig_submit(r, "me", "first");
  struct mf_task_submitted s = rig_submit(r, "me", "second");
  assert_status(r, "me", s.id, "queued");
  assert_member(r, "me", s.id, "queuePosition", "1");
  assert_ok(rig_cancel(r, "me", s.id), &r->err);
  assert_status(r, "me", s.id, "cancelled");
  assert_member(r, "me", s.id, "reason", "\"cancelled\"");
  assert_member(r, "me", s.id, "startedAt", "null");
  assert_member(r, "me", s.id, "usage", "null");
  assert_member(r, "me", s.id, "exitCode", "null");
  assert_ok(rig_cancel(r, "me", s.id), &r->err); /* twice is fine */
  fake_finish(r, rig_run_of(r, "first"), MF_RUN_SUCCEEDED, MF_REASON_EXIT, "", NULL);
  rig_settle(r);
  assert_int_equal(r->start_n, 1);
  assert_int_equal(mf_tasks_stats(r->tasks).by_state[MF_TASK_CANCELLED], 1);
}

static void cancelled_while_it_runs(struct rig *r)
{
  struct mf_task_submitted s = rig_submit(r, "me", "x");
  struct fake_run *f = rig_run_of(r, "x");
  fake_start_code(f);
  fake_print(f, false, "so far");
  assert_ok(rig_cancel(r, "me", s.id), &r->err);
  assert_status(r, "me", s.id, "cancelled");
  assert_member(r, "me", s.id, "stdout", "\"so far\"");
  assert_ok(rig_cancel(r, "me", s.id), &r->err);
  assert_int_equal(mf_tasks_stats(r->tasks).by_state[MF_TASK_CANCELLED], 1);
}

static void cancelled_after_the_end(struct rig *r)
{
  struct mf_task_submitted s = rig_submit(r, "me", "x");
  fake_finish(r, rig_run_of(r, "x"), MF_RUN_SUCCEEDED, MF_REASON_EXIT, "", NULL);
  RIG_UNTIL(r, mf_tasks_stats(r->tasks).by_state[MF_TASK_SUCCEEDED] == 1);
  assert_ok(rig_cancel(r, "me", s.id), &r->err);
  assert_status(r, "me", s.id, "succeeded");
  assert_int_equal(mf_tasks_stats(r->tasks).by_state[MF_TASK_CANCELLED], 0);
}

/* The program has ended by itself, and nobody has heard of it. */
static void cancelled_in_the_turn_it_ended(struct rig *r)
{
  struct mf_task_submitted s = rig_submit(r, "me", "x");
  fake_finish(r, rig_run_of(r, "x"), MF_RUN_SUCCEEDED, MF_REASON_EXIT, "done", NULL);
  assert_ok(rig_cancel(r, "me", s.id), &r->err);
  assert_status(r, "me", s.id, "succeeded");
  const struct mf_tasks_stats st = mf_tasks_stats(r->tasks);
  assert_int_equal(st.by_state[MF_TASK_SUCCEEDED] + st.by_state[MF_TASK_CANCELLED], 1);
}

static void a_thousand_random_cancels(struct rig *r)
{
  enum { N = 1000, AT_ONCE = 20 };
  static char ids[N][MF_ID_N];
  unsigned seed = 99, n = 0, cancel_n = 0;
  r->is_auto = true;
  r->config.queue_max = 2000;
  rig_restart(r);
  while (n < N) {
    for (unsigned i = 0; i < AT_ONCE && n < N; i++, n++) {
      char owner[4] = { (char)('a' + n % 3), 0 };
      memcpy(ids[n], rig_submit(r, owner, n % 5 == 0 ? "file:" : n % 5 == 1 ? "wait:" : "x").id, sizeof(ids[n]));
    }
    for (unsigned i = 0; i < AT_ONCE; i++) {
      seed = seed * 1103515245u + 12345u;
      unsigned at = n - 1 - (seed >> 16) % AT_ONCE;
      char owner[4] = { (char)('a' + at % 3), 0 };
      assert_ok(rig_cancel(r, owner, ids[at]), &r->err);
      cancel_n++;
      if ((seed >> 24) % 4 == 0)
        assert_int_equal(mf_fiber_sleep(r->self, 0), MF_OK);
    }
  }
  assert_true(cancel_n >= N);
  for (unsigned i = 1; i < N; i += 5) /* those that would go on for ever */
    assert_ok(rig_cancel(r, (char[]){ (char)('a' + i % 3), 0 }, ids[i]), &r->err);
  RIG_UNTIL(r, mf_tasks_stats(r->tasks).queued + mf_tasks_stats(r->tasks).running + r->tasks->ending_n == 0);
  const struct mf_tasks_stats st = mf_tasks_stats(r->tasks);
  assert_int_equal(st.by_state[MF_TASK_SUCCEEDED] + st.by_state[MF_TASK_CANCELLED], N);
  assert_true(st.by_state[MF_TASK_CANCELLED] >= N / 5);
  for (unsigned i = 0; i < N; i++) {
    char owner[4] = { (char)('a' + i % 3), 0 }, *status = rig_member(r, owner, ids[i], "status");
    assert_true(strcmp(status, "\"succeeded\"") == 0 || strcmp(status, "\"cancelled\"") == 0);
    free(status);
  }
  assert_int_equal(r->tasks->runner_n, 0);
  assert_null(r->runs);
}

/* ---- the queue ---- */

static void owners_take_turns(struct rig *r)
{
  r->config.running_max = 1;
  rig_restart(r);
  rig_submit(r, "a", "a0");
  struct mf_task_submitted a1 = rig_submit(r, "a", "a1"), a2 = rig_submit(r, "a", "a2"), b1 = rig_submit(r, "b", "b1");
  assert_member(r, "a", a1.id, "queuePosition", "1");
  assert_member(r, "b", b1.id, "queuePosition", "2");
  assert_member(r, "a", a2.id, "queuePosition", "3");
  static const char *const order[] = { "a0", "a1", "b1", "a2" };
  for (unsigned i = 0; i < MF_ARRAY_N(order); i++) {
    struct fake_run *f = rig_run_of(r, order[i]);
    assert_null(f->next); /* one at a time */
    assert_ptr_equal(r->runs, f);
    fake_finish(r, f, MF_RUN_SUCCEEDED, MF_REASON_EXIT, "", NULL);
    RIG_UNTIL(r, mf_tasks_stats(r->tasks).by_state[MF_TASK_SUCCEEDED] == i + 1);
  }
}

static void a_full_queue(struct rig *r)
{
  struct mf_task_submitted s;
  unsigned retry_s = 0;
  r->config.running_max = 1;
  r->config.queue_max = 2;
  rig_restart(r);
  assert_true(mf_tasks_has_room(r->tasks, MF_STR("a"), &retry_s));
  rig_submit(r, "a", "x0");
  rig_submit(r, "a", "x1");
  rig_submit(r, "a", "x2");
  assert_false(mf_tasks_has_room(r->tasks, MF_STR("a"), &retry_s));
  assert_in_range(retry_s, 1, 60);
  static const char *const files[] = { "f", "content", NULL };
  r->retry_s = 0;
  assert_int_equal(rig_try_submit_files(r, "a", "x3", "", files, &s), MF_E_CAPACITY);
  assert_in_range(r->retry_s, 1, 60);
  assert_int_equal(mf_tasks_stats(r->tasks).refused, 1);
  assert_int_equal(mf_tasks_stats(r->tasks).files_bytes, 0); /* nothing of it is left */
  if (r->dir[0])
    assert_int_equal(rig_folder_n(r), 0);
  fake_finish(r, rig_run_of(r, "x0"), MF_RUN_SUCCEEDED, MF_REASON_EXIT, "", NULL);
  rig_run_of(r, "x1");
  rig_submit(r, "a", "x3");
}

/* One key that fills the queue leaves a place to others. */
static void a_key_that_wants_it_all(struct rig *r)
{
  struct mf_task_submitted s;
  r->config.running_max = 1;
  r->config.queue_max = 16;
  rig_restart(r);
  rig_submit(r, "a", "x");
  for (unsigned i = 0; i < 14; i++)
    rig_submit(r, "a", "x");
  assert_int_equal(rig_try_submit(r, "a", "x", "", &s), MF_E_CAPACITY);
  rig_submit(r, "b", "x");
  rig_submit(r, "c", "x");
  assert_int_equal(rig_try_submit(r, "d", "x", "", &s), MF_E_CAPACITY);
}

/* ---- idempotency ---- */

enum { LARGE = 70000 }; /* more than is kept beside the disk */

/* A text of that many of these letters; the caller frees. */
static char *large_text(char letter)
{
  char *text = mf_xmalloc(LARGE + 1);
  memset(text, letter, LARGE);
  text[LARGE] = 0;
  return text;
}

/* Whoever asks again for what is known needs no place, also where the task has left memory. */
static void the_same_key_when_the_queue_is_full(struct rig *r)
{
  struct mf_task_submitted first, again;
  r->config.running_max = 1;
  r->config.queue_max = 1;
  rig_restart(r);
  assert_ok(rig_try_submit(r, "a", "x", "key", &first), &r->err);
  fake_finish(r, rig_run_of(r, "x"), MF_RUN_SUCCEEDED, MF_REASON_EXIT, "", NULL);
  RIG_UNTIL(r, mf_tasks_stats(r->tasks).by_state[MF_TASK_SUCCEEDED] == 1);
  if (r->dir[0])
    rig_restart(r); /* now the database alone has it */
  rig_submit(r, "b", "x0");
  rig_submit(r, "b", "x1");
  assert_int_equal(rig_try_submit(r, "a", "y", "", &again), MF_E_CAPACITY);
  assert_int_equal(rig_try_submit(r, "a", "y", "another key", &again), MF_E_CAPACITY);
  assert_ok(rig_try_submit(r, "a", "x", "key", &again), &r->err);
  assert_true(again.is_replay);
  assert_string_equal(again.id, first.id);
  assert_int_equal(rig_try_submit(r, "a", "y", "key", &again), MF_E_EXISTS);
  assert_int_equal(rig_try_submit(r, "b", "x", "key", &again), MF_E_CAPACITY); /* a key of another's */
}

static void the_same_key_again(struct rig *r)
{
  mf_auto_free char *one = large_text('1'), *two = large_text('2');
  const char *const files[] = { "f", one, NULL }, *const others[] = { "f", two, NULL };
  struct mf_task_submitted first, again;
  assert_ok(rig_try_submit_files(r, "me", "x", "key", files, &first), &r->err);
  assert_false(first.is_replay);
  assert_ok(rig_try_submit_files(r, "me", "x", "key", files, &again), &r->err);
  assert_true(again.is_replay);
  assert_string_equal(again.id, first.id);
  assert_int_equal(rig_try_submit_files(r, "me", "y", "key", files, &again), MF_E_EXISTS);
  assert_int_equal(rig_try_submit_files(r, "me", "x", "key", others, &again), MF_E_EXISTS);
  assert_int_equal(rig_try_submit(r, "me", "x", "key", &again), MF_E_EXISTS);
  assert_ok(rig_try_submit_files(r, "you", "x", "key", files, &again), &r->err); /* a key of another's */
  assert_false(again.is_replay);
  RIG_UNTIL(r, r->start_n == 2);
  rig_settle(r);
  assert_int_equal(r->start_n, 2);
  if (r->dir[0])
    assert_int_equal(rig_folder_n(r), 2);
  /* After the end, too. */
  while (r->runs)
    fake_finish(r, r->runs, MF_RUN_SUCCEEDED, MF_REASON_EXIT, "", NULL);
  RIG_UNTIL(r, mf_tasks_stats(r->tasks).by_state[MF_TASK_SUCCEEDED] == 2);
  assert_ok(rig_try_submit_files(r, "me", "x", "key", files, &again), &r->err);
  assert_true(again.is_replay);
  if (r->dir[0]) { /* and after a restart */
    rig_restart(r);
    assert_ok(rig_try_submit_files(r, "me", "x", "key", files, &again), &r->err);
    assert_true(again.is_replay);
    assert_string_equal(again.id, first.id);
    assert_int_equal(rig_try_submit(r, "me", "x", "key", &again), MF_E_EXISTS);
    assert_int_equal(rig_folder_n(r), 2);
  }
}

struct submitting {
  struct rig *r;
  struct mf_fiber *fiber;
  struct mf_task_submitted ret;
  struct mf_task_fault fault;
  struct mf_err err;
  enum mf_code code, shown;
  bool is_done;
};

static void submit_in_fiber(void *user)
{
  struct submitting *s = user;
  struct mf_task_request request;
  struct mf_buf text;
  unsigned retry_s = 0;
  mf_task_request_default(&request);
  struct mf_task_draft *d = mf_task_draft_new(s->r->tasks, MF_STR("me"));
  mf_auto_free char *large = large_text('1');
  assert_ok(mf_task_draft_file(d, s->fiber, MF_STR("f"), &s->fault, &s->err), &s->err);
  assert_ok(mf_task_draft_data(d, s->fiber, mf_str_of(large), &s->fault, &s->err), &s->err);
  s->code = mf_tasks_submit(s->r->tasks, s->fiber, d, &request, MF_STR("key"), &s->ret, &retry_s, &s->fault, &s->err);
  s->shown = mf_tasks_get(s->r->tasks, s->fiber, MF_STR("me"), mf_str_of(s->ret.id), 0, &text, &s->err);
  mf_buf_done(&text);
  s->is_done = true;
}

/* A client that did not wait for its own answer: one task, whoever comes first. */
static void the_same_key_at_the_same_time(struct rig *r)
{
  enum { N = 20 };
  struct submitting s[N];
  unsigned replay_n = 0;
  r->is_auto = true;
  for (unsigned i = 0; i < N; i++) {
    s[i] = (struct submitting){ .r = r };
    assert_ok(mf_fiber_start(r->loop, submit_in_fiber, &s[i], 0, &s[i].fiber, &r->err), &r->err);
  }
  for (unsigned i = 0; i < N; i++) {
    RIG_UNTIL(r, s[i].is_done);
    mf_fiber_join(r->self, s[i].fiber);
    assert_ok(s[i].code, &s[i].err);
    assert_ok(s[i].shown, &s[i].err); /* whoever has the id can look at it */
    assert_string_equal(s[i].ret.id, s[0].ret.id);
    replay_n += s[i].ret.is_replay;
  }
  assert_int_equal(replay_n, N - 1);
  RIG_UNTIL(r, mf_tasks_stats(r->tasks).by_state[MF_TASK_SUCCEEDED] == 1);
  assert_int_equal(r->start_n, 1);
  assert_int_equal(mf_tasks_stats(r->tasks).submitted, 1);
  assert_int_equal(r->tasks->submitting_n, 0);
  assert_int_equal(mf_tasks_stats(r->tasks).running, 0);
  if (r->dir[0])
    assert_int_equal(rig_folder_n(r), 1);
}

/* ---- who sees what ---- */

static void another_owner(struct rig *r)
{
  struct mf_buf text;
  struct mf_task_cursor c = { 0 };
  struct mf_task_event e;
  struct mf_task_submitted s = rig_submit(r, "me", "x");
  rig_run_of(r, "x");
  for (unsigned i = 0; i < 2; i++) { /* while it runs, and after the end */
    assert_int_equal(rig_get(r, "you", s.id, 0, &text), MF_E_NOT_FOUND);
    assert_int_equal(rig_cancel(r, "you", s.id), MF_E_NOT_FOUND);
    assert_int_equal(rig_delete(r, "you", s.id), MF_E_NOT_FOUND);
    assert_int_equal(rig_get(r, "", s.id, 0, &text), MF_E_NOT_FOUND);
    assert_int_equal(mf_tasks_next(r->tasks, r->self, MF_STR("you"), mf_str_of(s.id), &c, 1, &e, &r->err),
                     MF_E_NOT_FOUND);
    if (i > 0)
      break;
    assert_status(r, "me", s.id, "running");
    fake_finish(r, rig_run_of(r, "x"), MF_RUN_SUCCEEDED, MF_REASON_EXIT, "", NULL);
    RIG_UNTIL(r, mf_tasks_stats(r->tasks).by_state[MF_TASK_SUCCEEDED] == 1);
  }
  static const char *const ids[] = { "",
                                     "x",
                                     "task_",
                                     "task_../../../../../../../../../etc/passwd",
                                     "task_00000000-0000-0000-0000-000000000000",
                                     "task_00000000-0000-0000-0000-00000000000\n" };
  for (unsigned i = 0; i < MF_ARRAY_N(ids); i++)
    assert_int_equal(rig_get(r, "me", ids[i], 0, &text), MF_E_NOT_FOUND);
}

static unsigned count(const char *text, const char *what)
{
  unsigned n = 0;
  for (const char *at = text; (at = strstr(at, what)); at++)
    n++;
  return n;
}

static void lists(struct rig *r)
{
  struct mf_buf text;
  char ids[5][MF_ID_N], expected[300];
  r->config.running_max = 1;
  rig_restart(r);
  for (unsigned i = 0; i < 5; i++) {
    r->clock_ms++;
    memcpy(ids[i], rig_submit(r, i == 2 ? "you" : "me", "x").id, MF_ID_N);
  }
  assert_ok(mf_tasks_list(r->tasks, r->self, MF_STR("me"), MF_STR(""), MF_TASK_STATE_N, 3, &text, &r->err), &r->err);
  assert_int_equal(count(text.ptr, "\"taskId\""), 3);
  snprintf(expected, sizeof(expected), "\"has_more\":true,\"first_id\":\"%s\",\"last_id\":\"%s\"}", ids[4], ids[1]);
  assert_non_null(strstr(text.ptr, expected));
  assert_null(strstr(text.ptr, "stdout"));
  mf_buf_done(&text);
  assert_ok(mf_tasks_list(r->tasks, r->self, MF_STR("me"), mf_str_of(ids[1]), MF_TASK_STATE_N, 3, &text, &r->err),
            &r->err);
  snprintf(expected, sizeof(expected), "\"has_more\":false,\"first_id\":\"%s\",\"last_id\":\"%s\"}", ids[0], ids[0]);
  assert_non_null(strstr(text.ptr, expected));
  mf_buf_done(&text);
  assert_ok(mf_tasks_list(r->tasks, r->self, MF_STR("me"), MF_STR(""), MF_TASK_QUEUED, 100, &text, &r->err), &r->err);
  assert_int_equal(count(text.ptr, "\"status\":\"queued\",\"queuePosition\":"), 3);
  mf_buf_done(&text);
  assert_ok(mf_tasks_list(r->tasks, r->self, MF_STR("nobody"), MF_STR(""), MF_TASK_STATE_N, 100, &text, &r->err),
            &r->err);
  assert_string_equal(text.ptr,
                      "{\"object\":\"list\",\"data\":[],\"has_more\":false,\"first_id\":null,\"last_id\":null}");
  mf_buf_done(&text);
  assert_int_equal(
      mf_tasks_list(r->tasks, r->self, MF_STR("me"), mf_str_of(ids[2]), MF_TASK_STATE_N, 3, &text, &r->err),
      MF_E_NOT_FOUND);
}

/* ---- deleting ---- */

static void deleted(struct rig *r)
{
  static const char *const files[] = { "f", "content", NULL };
  struct mf_task_submitted running, waiting, ended;
  struct mf_buf text;
  r->config.running_max = 1;
  rig_restart(r);
  assert_ok(rig_try_submit_files(r, "me", "ended", "", files, &ended), &r->err);
  fake_finish(r, rig_run_of(r, "ended"), MF_RUN_SUCCEEDED, MF_REASON_EXIT, "", "made");
  assert_ok(rig_get(r, "me", ended.id, 60000, &text), &r->err);
  mf_buf_done(&text);
  assert_ok(rig_try_submit_files(r, "me", "running", "", files, &running), &r->err);
  assert_ok(rig_try_submit_files(r, "me", "waiting", "", files, &waiting), &r->err);
  rig_run_of(r, "running");
  const char *ids[] = { waiting.id, running.id, ended.id };
  for (unsigned i = 0; i < MF_ARRAY_N(ids); i++) {
    assert_ok(rig_delete(r, "me", ids[i]), &r->err);
    assert_int_equal(rig_get(r, "me", ids[i], 0, &text), MF_E_NOT_FOUND);
    assert_int_equal(rig_delete(r, "me", ids[i]), MF_E_NOT_FOUND);
    assert_int_equal(rig_cancel(r, "me", ids[i]), MF_E_NOT_FOUND);
  }
  rig_settle(r);
  assert_null(r->runs);
  assert_int_equal(mf_tasks_stats(r->tasks).files_bytes, 0);
  assert_int_equal(r->tasks->table.n, 0);
  if (r->dir[0])
    assert_int_equal(rig_folder_n(r), 0);
}

static void deleted_under_one_who_waits(struct rig *r)
{
  struct mf_task_submitted s = rig_submit(r, "me", "x");
  struct waiting w;
  rig_run_of(r, "x");
  start_waiting(r, &w, s.id, 3600000);
  rig_settle(r);
  assert_ok(rig_delete(r, "me", s.id), &r->err);
  RIG_UNTIL(r, w.is_done);
  /* It saw the end, or nothing any more. */
  assert_true(w.code == MF_E_NOT_FOUND || w.code == MF_OK);
  mf_fiber_join(r->self, w.fiber);
  mf_buf_done(&w.text);
}

/* ---- a provider in trouble ---- */

static void a_provider_that_comes_back(struct rig *r)
{
  static const enum mf_code refusals[] = { MF_E_UNAVAILABLE, MF_E_CAPACITY };
  for (unsigned i = 0; i < MF_ARRAY_N(refusals); i++) {
    r->refusal = refusals[i];
    r->refusal_n = 3;
    struct mf_task_submitted s = rig_submit(r, "", "x");
    fake_finish(r, rig_run_of(r, "x"), MF_RUN_SUCCEEDED, MF_REASON_EXIT, "", NULL);
    RIG_UNTIL(r, mf_tasks_stats(r->tasks).by_state[MF_TASK_SUCCEEDED] == i + 1);
    assert_status(r, "", s.id, "succeeded");
  }
}

static void a_provider_that_stays_away(struct rig *r)
{
  r->refusal = MF_E_UNAVAILABLE;
  r->refusal_n = UINT32_MAX;
  struct mf_task_submitted s = rig_submit(r, "", "x");
  RIG_UNTIL(r, mf_tasks_stats(r->tasks).by_state[MF_TASK_FAILED] == 1);
  assert_status(r, "", s.id, "failed");
  assert_member(r, "", s.id, "reason", "\"unavailable\"");
  r->tasks->backoff_ms = 60000; /* one that waits for another try can be cancelled */
  s = rig_submit(r, "", "y");
  rig_settle(r);
  assert_status(r, "", s.id, "running");
  assert_ok(rig_cancel(r, "", s.id), &r->err);
  assert_status(r, "", s.id, "cancelled");
  r->refusal_n = 0;
}

/* A call of the gateway has all permits: tasks wait for them behind it. */
static void behind_others(struct rig *r)
{
  r->config.running_max = 3; /* one more than there are permits */
  rig_restart(r);
  rig_submit(r, "", "a");
  rig_submit(r, "", "b");
  struct mf_task_submitted c = rig_submit(r, "", "c");
  rig_run_of(r, "a");
  rig_run_of(r, "b");
  assert_int_equal(r->start_n, 2);
  assert_status(r, "", c.id, "running");
  fake_finish(r, rig_run_of(r, "a"), MF_RUN_SUCCEEDED, MF_REASON_EXIT, "", NULL);
  fake_finish(r, rig_run_of(r, "c"), MF_RUN_SUCCEEDED, MF_REASON_EXIT, "", NULL);
  fake_finish(r, rig_run_of(r, "b"), MF_RUN_SUCCEEDED, MF_REASON_EXIT, "", NULL);
  RIG_UNTIL(r, mf_tasks_stats(r->tasks).by_state[MF_TASK_SUCCEEDED] == 3);
}

/* ---- what a submit refuses ---- */

static void refused_inputs(struct rig *r)
{
  struct mf_task_submitted s;
  static const struct {
    const char *files[5], *param, *code;
  } rows[] = {
    { { "../a", "", NULL }, "files[0].name", "invalid_value" },
    { { "", "", NULL }, "files[0].name", "invalid_value" },
    { { "a", "", "a", "", NULL }, "files[1].name", "duplicate_name" },
    { { "a", "", "a/b", "", NULL }, "files", "duplicate_name" },
    { { "\xc3\xa4", "", "a\xcc\x88", "", NULL }, "files", "duplicate_name" },
  };
  for (unsigned i = 0; i < MF_ARRAY_N(rows); i++) {
    assert_int_equal(rig_try_submit_files(r, "", "x", "", rows[i].files, &s), MF_E_INPUT);
    assert_string_equal(r->fault.param, rows[i].param);
    assert_string_equal(r->fault.code, rows[i].code);
  }
  static const char *const keys[] = { "a\nb", "\xc3\xa4", "\x7f" };
  for (unsigned i = 0; i < MF_ARRAY_N(keys); i++) {
    assert_int_equal(rig_try_submit(r, "", "x", keys[i], &s), MF_E_INPUT);
    assert_string_equal(r->fault.param, "Idempotency-Key");
  }
  rig_settle(r);
  assert_int_equal(r->start_n, 0);
  assert_int_equal(r->tasks->table.n, 0);
  assert_int_equal(mf_tasks_stats(r->tasks).files_bytes, 0);
  if (r->dir[0])
    assert_int_equal(rig_folder_n(r), 0);
}

static enum mf_code submit_request(struct rig *r, const struct mf_task_request *request, struct mf_task_submitted *ret)
{
  struct mf_task_draft *d = mf_task_draft_new(r->tasks, MF_STR(""));
  r->fault = (struct mf_task_fault){ 0 };
  return mf_tasks_submit(r->tasks, r->self, d, request, MF_STR(""), ret, &r->retry_s, &r->fault, &r->err);
}

static void memory_of_this_machine(struct rig *r)
{
  struct mf_task_submitted s;
  struct mf_task_request request;
  r->config.memory_mb_max = 200;
  rig_restart(r);
  mf_task_request_default(&request);
  request.code = MF_STR("x");
  request.memory_mb = 201;
  assert_int_equal(submit_request(r, &request, &s), MF_E_INPUT);
  assert_string_equal(r->fault.param, "limits.memoryMb");
  request.memory_mb = 200;
  assert_ok(submit_request(r, &request, &s), &r->err);
  assert_int_equal(rig_run_of(r, "x")->limits.memory_bytes, 200u << 20);
  request.code = MF_STR("y");
  request.memory_mb = 0; /* what there is, when that is less than the default */
  request.display_last_expression = true;
  assert_ok(submit_request(r, &request, &s), &r->err);
  assert_int_equal(rig_run_of(r, "y")->limits.memory_bytes, 200u << 20);
  assert_true(rig_run_of(r, "y")->display_last_expression);
}

static void inputs_of_the_largest_size_and_one_more(struct rig *r)
{
  enum { PIECE = 1u << 20 };
  char *piece = mf_xcalloc(1, PIECE);
  struct mf_task_request request;
  struct mf_task_submitted s;
  mf_task_request_default(&request);
  struct mf_task_draft *d = mf_task_draft_new(r->tasks, MF_STR(""));
  assert_ok(mf_task_draft_file(d, r->self, MF_STR("a"), &r->fault, &r->err), &r->err);
  for (unsigned i = 0; i < MF_INPUT_BYTES_MAX / PIECE; i++)
    assert_ok(mf_task_draft_data(d, r->self, (struct mf_str){ piece, PIECE }, &r->fault, &r->err), &r->err);
  assert_ok(mf_task_draft_file(d, r->self, MF_STR("b"), &r->fault, &r->err), &r->err);
  assert_int_equal(mf_task_draft_data(d, r->self, (struct mf_str){ piece, 1 }, &r->fault, &r->err), MF_E_LIMIT);
  assert_string_equal(r->fault.param, "files[1].content");
  assert_string_equal(r->fault.code, "file_too_large");
  assert_int_equal(mf_tasks_stats(r->tasks).files_bytes, MF_INPUT_BYTES_MAX);
  assert_ok(mf_tasks_submit(r->tasks, r->self, d, &request, MF_STR(""), &s, &r->retry_s, &r->fault, &r->err), &r->err);
  struct fake_run *f = rig_run_of(r, "");
  assert_string_equal(f->inputs.ptr, "b=;"); /* the other is more than the fake looks at */
  fake_finish(r, f, MF_RUN_SUCCEEDED, MF_REASON_EXIT, "", NULL);
  free(piece);
}

#define BOTH(name)                                                                                                     \
  static void test_##name(void **state)                                                                                \
  {                                                                                                                    \
    const struct rig r = rig_default();                                                                                \
    rig_run_both(&r, name);                                                                                            \
  }
BOTH(a_task_from_submit_to_result)
BOTH(an_artifact)
BOTH(ends)
BOTH(those_who_wait)
BOTH(cancelled_while_it_waits)
BOTH(cancelled_while_it_runs)
BOTH(cancelled_after_the_end)
BOTH(cancelled_in_the_turn_it_ended)
BOTH(a_thousand_random_cancels)
BOTH(owners_take_turns)
BOTH(a_full_queue)
BOTH(a_key_that_wants_it_all)
BOTH(the_same_key_again)
BOTH(the_same_key_when_the_queue_is_full)
BOTH(the_same_key_at_the_same_time)
BOTH(another_owner)
BOTH(lists)
BOTH(deleted)
BOTH(deleted_under_one_who_waits)
BOTH(a_provider_that_comes_back)
BOTH(a_provider_that_stays_away)
BOTH(behind_others)
BOTH(refused_inputs)
BOTH(memory_of_this_machine)
BOTH(inputs_of_the_largest_size_and_one_more)

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_task_from_submit_to_result),
    cmocka_unit_test(test_an_artifact),
    cmocka_unit_test(test_ends),
    cmocka_unit_test(test_those_who_wait),
    cmocka_unit_test(test_cancelled_while_it_waits),
    cmocka_unit_test(test_cancelled_while_it_runs),
    cmocka_unit_test(test_cancelled_after_the_end),
    cmocka_unit_test(test_cancelled_in_the_turn_it_ended),
    cmocka_unit_test(test_a_thousand_random_cancels),
    cmocka_unit_test(test_owners_take_turns),
    cmocka_unit_test(test_a_full_queue),
    cmocka_unit_test(test_a_key_that_wants_it_all),
    cmocka_unit_test(test_the_same_key_again),
    cmocka_unit_test(test_the_same_key_when_the_queue_is_full),
    cmocka_unit_test(test_the_same_key_at_the_same_time),
    cmocka_unit_test(test_another_owner),
    cmocka_unit_test(test_lists),
    cmocka_unit_test(test_deleted),
    cmocka_unit_test(test_deleted_under_one_who_waits),
    cmocka_unit_test(test_a_provider_that_comes_back),
    cmocka_unit_test(test_a_provider_that_stays_away),
    cmocka_unit_test(test_behind_others),
    cmocka_unit_test(test_refused_inputs),
    cmocka_unit_test(test_memory_of_this_machine),
    cmocka_unit_test(test_inputs_of_the_largest_size_and_one_more),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

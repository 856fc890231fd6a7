/* Following tasks: what comes, in which order, and that every position can be taken up again. */
#include <stdlib.h>

#include "base/time.h"
#include "rig.h"
#include "base/banned.h"

/* ---- a follower ---- */

struct told {
  char types[400]; /* "status:queued stdout …" */
  struct mf_buf out, err, data;
  unsigned artifact_n;
};

static void told_init(struct told *t)
{
  *t = (struct told){ .types = "" };
  mf_buf_init(&t->out, 4u << 20);
  mf_buf_init(&t->err, 4u << 20);
  mf_buf_init(&t->data, 4u << 20);
}

static void told_done(struct told *t)
{
  mf_buf_done(&t->out);
  mf_buf_done(&t->err);
  mf_buf_done(&t->data);
}

static void note_word(struct told *t, const char *word)
{
  size_t n = strlen(t->types);
  if (n + strlen(word) + 2 < sizeof(t->types))
    snprintf(t->types + n, sizeof(t->types) - n, "%s%s", n ? " " : "", word);
}

static void note(struct told *t, const struct mf_task_event *e)
{
  const struct mf_json_limits limits = { .bytes_max = TASK_JSON_MAX, .depth_max = 16 };
  struct mf_json *doc = NULL;
  char word[80];
  assert_int_equal(mf_json_parse(mf_buf_str(&e->json), &limits, &doc, NULL), MF_OK);
  const struct mf_json_val *root = mf_json_root(doc);
  if (strcmp(e->type, "status") == 0) {
    snprintf(word, sizeof(word), "status:%.*s", MF_STR_ARG(mf_json_str(mf_json_get(root, "status"))));
    note_word(t, word);
    mf_buf_truncate(&t->data, 0);
    assert_int_equal(mf_buf_append_str(&t->data, mf_buf_str(&e->json)), MF_OK);
  } else if (strcmp(e->type, "artifact") == 0) {
    note_word(t, e->type);
    t->artifact_n++;
    assert_non_null(mf_json_get(root, "artifactId"));
  } else {
    note_word(t, e->type);
    assert_int_equal(
        mf_buf_append_str(strcmp(e->type, "stderr") == 0 ? &t->err : &t->out, mf_json_str(mf_json_get(root, "text"))),
        MF_OK);
  }
  mf_json_free(doc);
}

/* Everything that is there now behind *c; true: that was the end. */
static bool follow(struct rig *r, const char *id, struct mf_task_cursor *c, struct told *t)
{
  for (;;) {
    struct mf_task_event e;
    assert_ok(mf_tasks_next(r->tasks, r->self, MF_STR("me"), mf_str_of(id), c, 1, &e, &r->err), &r->err);
    bool is_last = e.is_last, is_nothing = !e.type;
    if (e.type)
      note(t, &e);
    mf_buf_done(&e.json);
    if (is_last || is_nothing)
      return is_last;
  }
}

/* ---- tests ---- */

static void in_their_order(struct rig *r)
{
  struct mf_task_cursor c = { 0 };
  struct told t;
  told_init(&t);
  r->config.running_max = 1;
  rig_restart(r);
  rig_submit(r, "me", "first");
  struct mf_task_submitted s = rig_submit(r, "me", "x");
  assert_false(follow(r, s.id, &c, &t));
  assert_string_equal(t.types, "status:queued");
  assert_non_null(strstr(t.data.ptr, "\"queuePosition\":1"));
  fake_finish(r, rig_run_of(r, "first"), MF_RUN_SUCCEEDED, MF_REASON_EXIT, "", NULL);
  struct fake_run *f = rig_run_of(r, "x");
  assert_false(follow(r, s.id, &c, &t));
  fake_start_code(f);
  fake_print(f, false, "one ");
  assert_false(follow(r, s.id, &c, &t));
  fake_print(f, true, "two");
  fake_print(f, false, "three");
  assert_false(follow(r, s.id, &c, &t));
  assert_string_equal(t.types, "status:queued status:running stdout stdout stderr");
  fake_finish(r, f, MF_RUN_SUCCEEDED, MF_REASON_EXIT, "one three\n", "made");
  RIG_UNTIL(r, mf_tasks_stats(r->tasks).by_state[MF_TASK_SUCCEEDED] == 2);
  assert_true(follow(r, s.id, &c, &t));
  assert_string_equal(t.types, "status:queued status:running stdout stdout stderr stdout artifact status:succeeded");
  assert_string_equal(t.out.ptr, "one three\n");
  assert_string_equal(t.err.ptr, "two");
  assert_non_null(strstr(t.data.ptr, "\"reason\":\"exit\""));
  assert_non_null(strstr(t.data.ptr, "\"expiresAt\":\""));
  assert_null(strstr(t.data.ptr, "stdout\":\""));
  /* Whoever comes back to the end is told that it was the end. */
  struct mf_task_event e;
  assert_ok(mf_tasks_next(r->tasks, r->self, MF_STR("me"), mf_str_of(s.id), &c, 0, &e, &r->err), &r->err);
  assert_null(e.type);
  assert_true(e.is_last);
  mf_buf_done(&e.json);
  told_done(&t);
}

/* From every position, while it runs and after its end, the joined text is the same. */
static void from_every_position(struct rig *r)
{
  enum { N = 24 };
  static const char text[] = "a\xc3\xa4\xe2\x98\x95 and so on";
  char whole[N * sizeof(text)] = "";
  struct mf_task_cursor all[4 * N], c = { 0 };
  struct told t, so_far[4 * N];
  unsigned n = 0;
  struct mf_task_submitted s = rig_submit(r, "me", "x");
  struct fake_run *f = rig_run_of(r, "x");
  fake_start_code(f);
  told_init(&t);
  for (unsigned i = 0; i < N; i++) {
    fake_print(f, i % 3 == 0, text);
    if (i % 3)
      memcpy(whole + strlen(whole), text, sizeof(text));
    all[n] = c;
    told_init(&so_far[n]);
    assert_int_equal(mf_buf_append_str(&so_far[n].out, mf_buf_str(&t.out)), MF_OK);
    assert_int_equal(mf_buf_append_str(&so_far[n].err, mf_buf_str(&t.err)), MF_OK);
    n++;
    assert_false(follow(r, s.id, &c, &t));
  }
  fake_finish(r, f, MF_RUN_SUCCEEDED, MF_REASON_EXIT, whole, "made");
  RIG_UNTIL(r, mf_tasks_stats(r->tasks).by_state[MF_TASK_SUCCEEDED] == 1);
  assert_true(follow(r, s.id, &c, &t));
  assert_string_equal(t.out.ptr, whole);
  for (unsigned restarted = 0; restarted <= (r->dir[0] ? 1u : 0u); restarted++) {
    if (restarted)
      rig_restart(r);
    for (unsigned i = 0; i < n; i++) {
      struct mf_task_cursor again;
      struct told more;
      char id[MF_TASK_CURSOR_N];
      mf_task_cursor_write(&all[i], id);
      assert_ok(mf_task_cursor_parse(mf_str_of(id), &again, &r->err), &r->err);
      assert_int_equal(again.statuses, all[i].statuses);
      assert_int_equal(again.out_bytes, all[i].out_bytes);
      assert_int_equal(again.err_bytes, all[i].err_bytes);
      assert_int_equal(again.artifacts, all[i].artifacts);
      told_init(&more);
      assert_true(follow(r, s.id, &again, &more));
      assert_int_equal(more.artifact_n, 1);
      char *out = mf_xasprintf("%s%s", so_far[i].out.ptr, more.out.ptr);
      char *error = mf_xasprintf("%s%s", so_far[i].err.ptr, more.err.ptr);
      assert_string_equal(out, t.out.ptr);
      assert_string_equal(error, t.err.ptr);
      free(out);
      free(error);
      told_done(&more);
    }
  }
  for (unsigned i = 0; i < n; i++)
    told_done(&so_far[i]);
  told_done(&t);
}

/* A cursor of the client's own making shows nothing that is not there, and cuts no character. */
static void strange_positions(struct rig *r)
{
  struct mf_task_submitted s = rig_submit(r, "me", "x");
  fake_finish(r, rig_run_of(r, "x"), MF_RUN_SUCCEEDED, MF_REASON_EXIT, "\xe2\x98\x95!", "made");
  RIG_UNTIL(r, mf_tasks_stats(r->tasks).by_state[MF_TASK_SUCCEEDED] == 1);
  static const struct {
    struct mf_task_cursor c;
    const char *types, *out;
  } rows[] = {
    { { 0, 1, 0, 0 }, "stdout artifact status:succeeded", "!" },
    { { 0, 3, 0, 0 }, "stdout artifact status:succeeded", "!" },
    { { 2, 99, 99, 9 }, "status:succeeded", "" },
    { { 3, 0, 0, 0 }, "stdout artifact", "\xe2\x98\x95!" },
    { { 9, UINT64_MAX, 0, UINT32_MAX }, "", "" },
  };
  for (unsigned i = 0; i < MF_ARRAY_N(rows); i++) {
    struct mf_task_cursor c = rows[i].c;
    struct told t;
    told_init(&t);
    assert_true(follow(r, s.id, &c, &t));
    assert_string_equal(t.types, rows[i].types);
    assert_string_equal(t.out.ptr, rows[i].out);
    told_done(&t);
  }
}

static void text_larger_than_a_piece(struct rig *r)
{
  enum { N = 300000 };
  char *text = mf_xmalloc(N + 1);
  for (unsigned i = 0; i < N; i += 3)
    memcpy(text + i, "\xe2\x98\x95", 3);
  text[N] = 0;
  struct mf_task_cursor c = { 0 };
  struct told t;
  told_init(&t);
  struct mf_task_submitted s = rig_submit(r, "me", "x");
  fake_finish(r, rig_run_of(r, "x"), MF_RUN_SUCCEEDED, MF_REASON_EXIT, text, NULL);
  RIG_UNTIL(r, mf_tasks_stats(r->tasks).by_state[MF_TASK_SUCCEEDED] == 1);
  assert_true(follow(r, s.id, &c, &t));
  assert_string_equal(t.types, "stdout stdout stdout stdout stdout status:succeeded");
  assert_string_equal(t.out.ptr, text);
  told_done(&t);
  free(text);
}

/* ---- waiting for the next one ---- */

struct follower {
  struct rig *r;
  const char *id;
  struct mf_fiber *fiber;
  struct told told;
  enum mf_code code;
  bool is_done;
};

static void follow_in_fiber(void *user)
{
  struct follower *f = user;
  struct mf_task_cursor c = { 0 };
  struct mf_task_event e = { 0 };
  do {
    f->code = mf_tasks_next(f->r->tasks, f->fiber, MF_STR("me"), mf_str_of(f->id), &c, 0, &e, NULL);
    if (f->code)
      break;
    if (e.type)
      note(&f->told, &e);
    mf_buf_done(&e.json);
  } while (!e.is_last);
  f->is_done = true;
}

static void many_who_follow(struct rig *r)
{
  enum { N = 20 };
  struct follower f[N];
  struct mf_task_submitted s = rig_submit(r, "me", "x");
  struct fake_run *run = rig_run_of(r, "x");
  for (unsigned i = 0; i < N; i++) {
    f[i] = (struct follower){ .r = r, .id = s.id };
    told_init(&f[i].told);
    assert_ok(mf_fiber_start(r->loop, follow_in_fiber, &f[i], 0, &f[i].fiber, &r->err), &r->err);
  }
  rig_settle(r);
  fake_start_code(run);
  for (unsigned i = 0; i < 5; i++) {
    fake_print(run, false, "tick ");
    rig_settle(r);
    assert_int_equal(f[i].told.out.len, 5 * (i + 1)); /* at once, and not at the end */
    mf_fiber_cancel(f[N - 1 - i].fiber);              /* some lose interest */
  }
  fake_finish(r, run, MF_RUN_SUCCEEDED, MF_REASON_EXIT, "tick tick tick tick tick ", NULL);
  for (unsigned i = 0; i < N; i++) {
    RIG_UNTIL(r, f[i].is_done);
    mf_fiber_join(r->self, f[i].fiber);
    assert_int_equal(f[i].code, i < N - 5 ? MF_OK : MF_E_CANCELLED);
    if (i < N - 5)
      assert_string_equal(f[i].told.out.ptr, "tick tick tick tick tick ");
    told_done(&f[i].told);
  }
}

static void closed_under_one_who_follows(struct rig *r)
{
  r->config.running_max = 1;
  rig_restart(r);
  rig_submit(r, "me", "first");
  struct mf_task_submitted s = rig_submit(r, "me", "x");
  struct follower f = { .r = r, .id = s.id };
  told_init(&f.told);
  assert_ok(mf_fiber_start(r->loop, follow_in_fiber, &f, 0, &f.fiber, &r->err), &r->err);
  rig_settle(r);
  rig_close(r, 1);
  assert_true(f.is_done);
  assert_int_equal(f.code, MF_E_GONE);
  mf_fiber_join(r->self, f.fiber);
  told_done(&f.told);
}

/* ---- cursors ---- */

static void cursors_that_are_none(void **state)
{
  static const char *const rows[] = {
    "",          "1",       "1.2.3",    "1.2.3.4.5",        "1.2.3.",
    ".1.2.3",    "a.0.0.0", "-1.0.0.0", "4294967296.0.0.0", "0.99999999999999999999.0.0",
    "0x1.0.0.0", " 1.0.0.0"
  };
  struct mf_task_cursor c;
  struct mf_err err;
  for (unsigned i = 0; i < MF_ARRAY_N(rows); i++)
    assert_int_equal(mf_task_cursor_parse(mf_str_of(rows[i]), &c, &err), MF_E_INPUT);
  assert_ok(mf_task_cursor_parse(MF_STR("3.4294967295.0.7"), &c, &err), &err);
  assert_int_equal(c.statuses, 3);
  assert_int_equal(c.out_bytes, 4294967295);
  assert_int_equal(c.artifacts, 7);
}

#define BOTH(name)                                                                                                     \
  static void test_##name(void **state)                                                                                \
  {                                                                                                                    \
    const struct rig r = rig_default();                                                                                \
    rig_run_both(&r, name);                                                                                            \
  }
BOTH(in_their_order)
BOTH(from_every_position)
BOTH(strange_positions)
BOTH(text_larger_than_a_piece)
BOTH(many_who_follow)
BOTH(closed_under_one_who_follows)

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_in_their_order),    cmocka_unit_test(test_from_every_position),
    cmocka_unit_test(test_strange_positions), cmocka_unit_test(test_text_larger_than_a_piece),
    cmocka_unit_test(test_many_who_follow),   cmocka_unit_test(test_closed_under_one_who_follows),
    cmocka_unit_test(cursors_that_are_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Where artifacts are kept: small ones in the database, others on the disk. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "rig.h"
#include "base/banned.h"

static char *text_of(char c, size_t n)
{
  char *text = mf_xmalloc(n + 1);
  memset(text, c, n);
  text[n] = 0;
  return text;
}

/* Runs a task that leaves these, to its end as it is shown. */
static struct mf_task_submitted run(struct rig *r, const char *code, const char *const *artifacts)
{
  struct mf_buf text;
  struct mf_task_submitted s = rig_submit(r, "me", code);
  fake_finish_with(r, rig_run_of(r, code), MF_RUN_SUCCEEDED, MF_REASON_EXIT, "", artifacts);
  assert_ok(rig_get(r, "me", s.id, 60000, &text), &r->err);
  mf_buf_done(&text);
  return s;
}

static void assert_artifact(struct rig *r, const char *id, const char *path, const char *expected)
{
  struct mf_buf got = { 0 };
  assert_ok(rig_artifact(r, "me", id, path, &got), &r->err);
  assert_int_equal(got.len, strlen(expected));
  assert_memory_equal(got.ptr, expected, got.len);
  mf_buf_done(&got);
}

static uint64_t in_database(struct rig *r)
{
  uint64_t bytes = 0;
  assert_ok(mf_storage_file_bytes(r->storage, r->self, &bytes, &r->err), &r->err);
  return bytes;
}

static uint64_t used(const struct rig *r)
{
  return mf_tasks_stats(r->tasks).files_bytes;
}

/* ---- where ---- */

static void around_the_bound(struct rig *r)
{
  static const struct {
    size_t bytes;
    bool is_small;
  } rows[] = { { 0, true }, { 1, true }, { 65535, true }, { 65536, true }, { 65537, false }, { 1000000, false } };
  uint64_t small = 0, all = 0;
  unsigned folders = 0;
  struct mf_task_submitted tasks[MF_ARRAY_N(rows)];
  char *texts[MF_ARRAY_N(rows)];
  for (unsigned i = 0; i < MF_ARRAY_N(rows); i++) {
    texts[i] = text_of((char)('a' + i), rows[i].bytes);
    const char *const artifacts[] = { texts[i], NULL };
    tasks[i] = run(r, "x", artifacts);
    all += rows[i].bytes;
    small += rows[i].is_small ? rows[i].bytes : 0;
    folders += !rows[i].is_small;
    assert_int_equal(in_database(r), small);
    assert_int_equal(used(r), all);
    assert_int_equal(rig_folder_n(r), folders);
  }
  for (unsigned round = 0; round < 2; round++) {
    for (unsigned i = 0; i < MF_ARRAY_N(rows); i++)
      assert_artifact(r, tasks[i].id, "out/made.txt", texts[i]);
    rig_restart(r); /* what is there is found and counted again */
    assert_int_equal(used(r), all);
  }
  for (unsigned i = 0; i < MF_ARRAY_N(rows); i++) {
    assert_ok(rig_delete(r, "me", tasks[i].id), &r->err);
    all -= rows[i].bytes;
    assert_int_equal(used(r), all);
    free(texts[i]);
  }
  assert_int_equal(in_database(r), 0);
  assert_int_equal(rig_folder_n(r), 0);
}

/* The bound is for all of a task's; a content that is there twice counts once. */
static void several_of_one_task(struct rig *r)
{
  char *a = text_of('a', 40000), *b = text_of('b', 30000), *c = text_of('c', 25536);
  const char *const artifacts[] = { a, b, c, a, "", b, NULL };
  struct mf_task_submitted s = run(r, "x", artifacts);
  assert_int_equal(in_database(r), 65536);
  assert_int_equal(used(r), 95536);
  assert_int_equal(rig_folder_n(r), 1);
  for (unsigned i = 0; artifacts[i]; i++) {
    char path[40] = "out/made.txt";
    if (i > 0)
      snprintf(path, sizeof(path), "out/made-%u.txt", i);
    assert_artifact(r, s.id, path, artifacts[i]);
  }
  r->clock_ms += r->config.retention_ms;
  tasks_sweep(r->tasks, r->self, true);
  assert_int_equal(in_database(r), 0);
  assert_int_equal(used(r), 0);
  assert_int_equal(rig_folder_n(r), 0);
  free(a);
  free(b);
  free(c);
}

/* What an earlier version has put on the disk is found there. */
static void small_ones_on_the_disk(struct rig *r)
{
  static const char *const artifacts[] = { "content", NULL };
  struct mf_file_ref ref;
  struct mf_file_put *put = NULL;
  struct mf_task_submitted s = run(r, "x", artifacts);
  rig_close(r, 1);
  rig_sql(r, "DELETE FROM task_files; UPDATE tasks SET file_bytes = 0");
  rig_open(r);
  struct mf_buf got = { 0 };
  assert_int_equal(rig_artifact(r, "me", s.id, "out/made.txt", &got), MF_E_NOT_FOUND);
  assert_ok(mf_file_put_new(r->files, r->self, mf_str_of(s.id), &put, &r->err), &r->err);
  assert_ok(mf_file_put_write(put, r->self, MF_STR("content"), &r->err), &r->err);
  assert_ok(mf_file_put_finish(put, r->self, &ref, &r->err), &r->err);
  assert_artifact(r, s.id, "out/made.txt", "content");
  assert_ok(rig_delete(r, "me", s.id), &r->err);
  assert_int_equal(used(r), 0);
}

/* ---- no room ---- */

/* The quota is one for both. */
static void the_quota(struct rig *r)
{
  static const char *const ten[] = { "0123456789", NULL }, *const both[] = { "abcdef", "g", NULL };
  struct mf_task_submitted first = run(r, "x", ten), second = run(r, "x", both);
  assert_status(r, "me", second.id, "failed");
  assert_member(r, "me", second.id, "reason", "\"disk\"");
  assert_member(r, "me", second.id, "rejectedArtifacts",
                "[{\"path\":\"out/made.txt\",\"reason\":\"the server's room for files is full\"}]");
  assert_artifact(r, second.id, "out/made-1.txt", "g");
  assert_int_equal(used(r), 11);
  assert_ok(rig_delete(r, "me", first.id), &r->err);
  assert_int_equal(used(r), 1);
  struct mf_task_submitted third = run(r, "x", ten);
  assert_status(r, "me", third.id, "succeeded");
  assert_int_equal(used(r), 11);
}

/* The end is stored without them, for which there is a reserve. */
static void a_full_disk(struct rig *r)
{
  char *small = text_of('s', 65536);
  const char *const artifacts[] = { small, "t", NULL };
  struct mf_task_submitted s = rig_submit(r, "me", "x");
  struct fake_run *f = rig_run_of(r, "x");
  rig_settle(r);
  int fd = rig_fill_disk(r);
  fake_finish_with(r, f, MF_RUN_SUCCEEDED, MF_REASON_EXIT, "text", artifacts);
  RIG_UNTIL(r, mf_tasks_stats(r->tasks).by_state[MF_TASK_FAILED] == 1);
  assert_int_equal(r->tasks->unsaved_n, 0);
  assert_int_equal(used(r), 0);
  rig_restart(r);
  assert_status(r, "me", s.id, "failed");
  assert_member(r, "me", s.id, "reason", "\"disk\"");
  assert_member(r, "me", s.id, "stdout", "\"text\"");
  assert_member(r, "me", s.id, "artifacts", "[]");
  assert_member(r, "me", s.id, "rejectedArtifacts",
                "[{\"path\":\"out/made-1.txt\",\"reason\":\"the server's room for files is full\"},"
                "{\"path\":\"out/made.txt\",\"reason\":\"the server's room for files is full\"}]");
  rig_free_disk(fd);
  const struct mf_task_submitted again = run(r, "y", artifacts);
  assert_artifact(r, again.id, "out/made.txt", small);
  assert_artifact(r, again.id, "out/made-1.txt", "t");
  free(small);
}

static void on_small_disk(void (*body)(struct rig *r))
{
  const struct rig r = rig_default();
  if (!rig_run_on_small_disk(&r, "32m", body)) {
    print_message("# this user cannot mount a file system\n");
    skip();
  }
}

static void test_a_full_disk(void **state)
{
  on_small_disk(a_full_disk);
}

/* ---- a database that takes nothing for a while ---- */

/* Until then they are in memory, and can be had. */
static void not_stored_yet(struct rig *r)
{
  static const char *const artifacts[] = { "content", "", "content", NULL };
  struct mf_task_submitted s = rig_submit(r, "me", "x");
  struct fake_run *f = rig_run_of(r, "x");
  rig_settle(r);
  rig_move_database(r, true);
  fake_finish_with(r, f, MF_RUN_SUCCEEDED, MF_REASON_EXIT, "", artifacts);
  RIG_UNTIL(r, r->tasks->unsaved_n == 1);
  assert_artifact(r, s.id, "out/made.txt", "content");
  assert_artifact(r, s.id, "out/made-1.txt", "");
  assert_int_equal(used(r), 7);
  rig_move_database(r, false);
  tasks_sweep(r->tasks, r->self, false);
  assert_int_equal(r->tasks->unsaved_n, 0);
  assert_int_equal(task_table_find(&r->tasks->table, mf_str_of(s.id))->file_n, 0); /* not there twice */
  for (unsigned i = 0; i < 2; i++) {
    assert_artifact(r, s.id, "out/made.txt", "content");
    assert_artifact(r, s.id, "out/made-1.txt", "");
    assert_artifact(r, s.id, "out/made-2.txt", "content");
    assert_int_equal(used(r), 7);
    assert_int_equal(in_database(r), 7);
    rig_restart(r);
  }
}

/* They were shown: the reserve is for them too, and for what waits behind them. */
static void not_stored_yet_and_a_full_disk(struct rig *r)
{
  char *small = text_of('s', 65536);
  const char *const artifacts[] = { small, NULL }, *const none[] = { NULL };
  struct mf_task_submitted s = rig_submit(r, "me", "x"), behind = rig_submit(r, "me", "y");
  struct fake_run *x = rig_run_of(r, "x"), *y = rig_run_of(r, "y");
  rig_settle(r);
  rig_move_database(r, true);
  fake_finish_with(r, x, MF_RUN_SUCCEEDED, MF_REASON_EXIT, "text", artifacts);
  RIG_UNTIL(r, r->tasks->unsaved_n == 1);
  fake_finish_with(r, y, MF_RUN_SUCCEEDED, MF_REASON_EXIT, "more", none);
  RIG_UNTIL(r, r->tasks->unsaved_n == 2);
  int fd = rig_fill_disk(r);
  rig_move_database(r, false);
  rig_restart(r);
  assert_artifact(r, s.id, "out/made.txt", small);
  assert_member(r, "me", s.id, "stdout", "\"text\"");
  assert_member(r, "me", behind.id, "stdout", "\"more\"");
  assert_int_equal(used(r), 65536);
  close(fd);
  free(small);
}

static void test_not_stored_yet_and_a_full_disk(void **state)
{
  on_small_disk(not_stored_yet_and_a_full_disk);
}

/* Another process has removed the task meanwhile: its files are nobody's. */
static void nobody_wants_them(struct rig *r)
{
  static const char *const artifacts[] = { "content", NULL };
  rig_submit(r, "me", "x");
  struct fake_run *f = rig_run_of(r, "x");
  rig_settle(r);
  rig_sql(r, "DELETE FROM tasks");
  fake_finish_with(r, f, MF_RUN_SUCCEEDED, MF_REASON_EXIT, "", artifacts);
  RIG_UNTIL(r, r->tasks->running_n + r->tasks->ending_n == 0);
  assert_int_equal(used(r), 0);
  assert_int_equal(in_database(r), 0);
}

#define ON_DISK(body)                                                                                                  \
  static void test_##body(void **state)                                                                                \
  {                                                                                                                    \
    const struct rig r = rig_default();                                                                                \
    rig_run_on_disk(&r, body);                                                                                         \
  }
ON_DISK(around_the_bound)
ON_DISK(several_of_one_task)
ON_DISK(small_ones_on_the_disk)
ON_DISK(not_stored_yet)
ON_DISK(nobody_wants_them)

static void test_the_quota(void **state)
{
  struct rig r = rig_default();
  r.files_max = 15;
  rig_run_on_disk(&r, the_quota);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_around_the_bound),
    cmocka_unit_test(test_several_of_one_task),
    cmocka_unit_test(test_small_ones_on_the_disk),
    cmocka_unit_test(test_the_quota),
    cmocka_unit_test(test_a_full_disk),
    cmocka_unit_test(test_not_stored_yet),
    cmocka_unit_test(test_not_stored_yet_and_a_full_disk),
    cmocka_unit_test(test_nobody_wants_them),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

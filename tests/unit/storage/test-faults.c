/* What goes wrong around a database: each is a clear error, and what was acknowledged is there when it is over. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "storage/tasks.h"
#include "base/banned.h"

struct fixture {
  struct harness h;
  char *folder, *path;
};

static int set_up(void **state)
{
  struct fixture *f = mf_xcalloc(1, sizeof(*f));
  f->folder = harness_folder();
  f->path = mf_xasprintf("%s/m.db", f->folder);
  *state = f;
  return 0;
}

static int tear_down(void **state)
{
  struct fixture *f = *state;
  if (f->h.loop)
    harness_close(&f->h);
  free(f->path);
  harness_remove(f->folder);
  free(f);
  return 0;
}

static void open_ok(struct fixture *f)
{
  assert_ok(harness_open(&f->h, f->path), &f->h.err);
}

static enum mf_code put_sized(struct harness *h, const char *id, size_t bytes)
{
  char *text = mf_xmalloc(bytes + 1);
  memset(text, 'x', bytes);
  const struct mf_store_item items[] = { { .json = { text, bytes } } };
  const struct mf_store_response r = { .id = mf_str_of(id), .payload = mf_str_of(id), .items = items, .item_n = 1 };
  enum mf_code code = harness_put(h, &r);
  free(text);
  return code;
}

static void put_ok(struct fixture *f, const char *id)
{
  assert_ok(put_sized(&f->h, id, 100), &f->h.err);
}

static bool has(struct harness *h, const char *id)
{
  struct mf_stored *s = NULL;
  bool ok = harness_get(h, id, &s) == MF_OK && mf_str_is(mf_stored_response(s)->payload, id);
  mf_stored_free(s);
  return ok;
}

static void assert_refused(struct fixture *f, const char *path, const char *text)
{
  mf_auto_free char *expected = mf_xasprintf("database '%s' %s", path, text);
  assert_int_equal(harness_open(&f->h, path), MF_E_UNAVAILABLE);
  assert_null(f->h.storage);
  assert_string_equal(f->h.err.msg, expected);
  harness_close(&f->h);
}

static void write_file(const char *path, const char *bytes, size_t n)
{
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, n, file), n);
  assert_int_equal(fclose(file), 0);
}

static void run_sql(const char *path, const char *sql)
{
  sqlite3 *db = NULL;
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* ---- opening ---- */

static void places_where_no_database_can_be(void **state)
{
  struct fixture *f = *state;
  char *missing = mf_xasprintf("%s/no/m.db", f->folder), *text = mf_xasprintf("%s/no", f->folder);
  char *words = mf_xasprintf("cannot be created: there is no folder '%s'; make it first", text);
  assert_refused(f, missing, words);
  assert_int_not_equal(access(text, F_OK), 0); /* it was not made */
  free(missing);
  free(text);
  free(words);

  assert_refused(f, f->folder, "is not a regular file; name another one");
  assert_int_equal(mkfifo(f->path, 0600), 0);
  assert_refused(f, f->path, "is not a regular file; name another one");
  assert_int_equal(unlink(f->path), 0);
  assert_int_equal(symlink("/nonexistent/x", f->path), 0);
  assert_refused(f, f->path, "cannot be created through a link: No such file or directory");
}

static void files_that_are_not_ours(void **state)
{
  struct fixture *f = *state;
  char junk[8192];
  memset(junk, 'j', sizeof(junk));
  write_file(f->path, junk, sizeof(junk));
  assert_refused(f, f->path, "is not an SQLite database; name another file, or restore a backup");
  assert_int_equal(unlink(f->path), 0);

  run_sql(f->path, "CREATE TABLE responses (id TEXT); INSERT INTO responses VALUES ('theirs')");
  assert_refused(f, f->path, "belongs to another program and was left as it is; name another file");
  run_sql(f->path, "INSERT INTO responses VALUES ('theirs, too')");
  struct stat st;
  char *wal = mf_xasprintf("%s-wal", f->path);
  assert_int_not_equal(stat(wal, &st), 0); /* not even the journal's mode was changed */
  free(wal);
  assert_int_equal(unlink(f->path), 0);

  write_file(f->path, "", 0); /* an empty file is a new database */
  open_ok(f);
  put_ok(f, "a");
}

static void a_newer_schema(void **state)
{
  struct fixture *f = *state;
  open_ok(f);
  put_ok(f, "a");
  harness_close(&f->h);
  run_sql(f->path, "PRAGMA user_version = 99");
  assert_refused(f, f->path,
                 "was written by a newer Mayfly (schema 99, this one knows 4); use that version, or name another file");
  run_sql(f->path, "PRAGMA user_version = 4");
  open_ok(f);
  assert_true(has(&f->h, "a"));
}

/* A file of the first schema is brought up to date, with what is in it. */
static void an_older_schema(void **state)
{
  static const char newer[] =
      "DROP TABLE task_files; DROP TABLE task_requests; DROP TABLE task_results; DROP TABLE tasks; DROP TABLE api_keys;"
      "DROP INDEX items_id;";
  struct fixture *f = *state;
  open_ok(f);
  put_ok(f, "a");
  harness_close(&f->h);
  run_sql(f->path, newer);
  run_sql(f->path, "PRAGMA user_version = 1");
  open_ok(f);
  assert_true(has(&f->h, "a"));
  harness_close(&f->h);
  run_sql(f->path, newer); /* all of it is there again, or this fails */
}

/* A child that opens the file when the pipe's other end is closed, and puts a response into it. */
static pid_t start_migrating(struct fixture *f, unsigned number, const int gate[2])
{
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid != 0)
    return pid;
  close(gate[1]);
  char id[20], byte;
  snprintf(id, sizeof(id), "child%u", number);
  (void)!read(gate[0], &byte, 1);
  struct harness h;
  enum mf_code code = harness_open(&h, f->path);
  if (!code)
    code = put_sized(&h, id, 10);
  if (code)
    fprintf(stderr, "%s: %s\n", id, h.err.msg);
  _exit(code ? 1 : 0);
}

/* Several that open a new file at the same time: one waits for the other, and none takes it for a stranger's. */
static void two_that_migrate(void **state)
{
  struct fixture *f = *state;
  enum { CHILDREN = 4, ROUNDS = 8 };
  for (unsigned round = 0; round < ROUNDS; round++) {
    pid_t children[CHILDREN];
    int gate[2];
    assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
    for (unsigned i = 0; i < CHILDREN; i++)
      children[i] = start_migrating(f, i, gate);
    close(gate[0]);
    close(gate[1]);
    for (unsigned i = 0; i < CHILDREN; i++) {
      int status = -1;
      assert_int_equal(waitpid(children[i], &status, 0), children[i]);
      assert_int_equal(status, 0);
    }
    open_ok(f);
    for (unsigned i = 0; i < CHILDREN; i++) {
      char id[20];
      snprintf(id, sizeof(id), "child%u", i);
      assert_true(has(&f->h, id));
    }
    harness_close(&f->h);
    assert_int_equal(unlink(f->path), 0); /* the journal went with the last connection */
  }
}

/* ---- damage ---- */

static void a_damaged_file(void **state)
{
  struct fixture *f = *state;
  open_ok(f);
  put_ok(f, "a");
  assert_ok(put_sized(&f->h, "b", 50000), &f->h.err);
  harness_close(&f->h);
  struct stat st;
  assert_int_equal(stat(f->path, &st), 0);
  /* All but the first page, which says that it is a database of ours. */
  int fd = open(f->path, O_WRONLY | O_CLOEXEC);
  assert_true(fd >= 0);
  char junk[4096];
  memset(junk, 0xa5, sizeof(junk));
  for (off_t at = 4096; at < st.st_size; at += 4096)
    assert_int_equal(pwrite(fd, junk, sizeof(junk), at), sizeof(junk));
  close(fd);

  open_ok(f); /* nothing is read that is damaged */
  struct mf_stored *s = NULL;
  assert_int_equal(harness_get(&f->h, "a", &s), MF_E_UNAVAILABLE);
  assert_null(s);
  assert_non_null(strstr(f->h.err.msg, "load a response: database '"));
  assert_non_null(strstr(f->h.err.msg, "is damaged; stop Mayfly, keep a copy, then restore a backup"));
  assert_int_equal(put_sized(&f->h, "c", 10), MF_E_UNAVAILABLE);
  assert_non_null(strstr(f->h.err.msg, "is damaged"));
  assert_int_equal(harness_delete(&f->h, "a"), MF_E_UNAVAILABLE);
  assert_int_equal(harness_ping(&f->h), MF_E_UNAVAILABLE);
}

/* SQLite itself sees nothing wrong with these. */
static void a_damaged_text(void **state)
{
  struct fixture *f = *state;
  open_ok(f);
  put_ok(f, "a");
  put_ok(f, "b");
  harness_close(&f->h);
  run_sql(f->path, "UPDATE responses SET payload = CAST(x'7bff7d' AS TEXT) WHERE id = 'a'");
  open_ok(f);
  struct mf_stored *s = NULL;
  assert_int_equal(harness_get(&f->h, "a", &s), MF_E_UNAVAILABLE);
  assert_null(s);
  assert_non_null(strstr(f->h.err.msg, "is damaged; stop Mayfly, keep a copy"));
  assert_true(has(&f->h, "b"));
}

static void a_cut_file(void **state)
{
  struct fixture *f = *state;
  open_ok(f);
  put_ok(f, "a");
  harness_close(&f->h);
  assert_int_equal(truncate(f->path, 4096), 0);
  /* Found when it is opened or when it is used. */
  enum mf_code code = harness_open(&f->h, f->path);
  struct mf_stored *s = NULL;
  if (code == MF_OK)
    code = harness_get(&f->h, "a", &s);
  assert_int_equal(code, MF_E_UNAVAILABLE);
  assert_non_null(strstr(f->h.err.msg, "is damaged"));
}

/* ---- others ---- */

static void a_file_that_is_taken_away(void **state)
{
  struct fixture *f = *state;
  open_ok(f);
  put_ok(f, "a");
  char *aside = mf_xasprintf("%s.aside", f->path);
  assert_int_equal(rename(f->path, aside), 0);
  /* It could be written to yet, and would be lost. */
  assert_int_equal(put_sized(&f->h, "b", 10), MF_E_UNAVAILABLE);
  assert_non_null(strstr(f->h.err.msg, "was removed or replaced while it was in use; put it back, or restart Mayfly"));
  assert_int_equal(harness_ping(&f->h), MF_E_UNAVAILABLE);
  write_file(f->path, "", 0);
  assert_int_equal(put_sized(&f->h, "b", 10), MF_E_UNAVAILABLE);
  assert_int_equal(rename(aside, f->path), 0);
  free(aside);
  put_ok(f, "c");
  assert_int_equal(harness_ping(&f->h), MF_OK);
  assert_true(has(&f->h, "a"));
  assert_false(has(&f->h, "b"));
}

static void a_database_that_another_has_locked(void **state)
{
  struct fixture *f = *state;
  open_ok(f);
  put_ok(f, "a");
  sqlite3 *other = NULL;
  assert_int_equal(sqlite3_open(f->path, &other), SQLITE_OK);
  assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
  assert_int_equal(put_sized(&f->h, "b", 10), MF_E_UNAVAILABLE);
  assert_non_null(strstr(f->h.err.msg, "is locked by another process; end that one, or try again"));
  assert_true(has(&f->h, "a")); /* readers do not mind */
  assert_int_equal(harness_ping(&f->h), MF_OK);
  assert_int_equal(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
  put_ok(f, "b");
  assert_int_equal(sqlite3_close(other), SQLITE_OK);
}

/* ---- file systems ---- */

static void in_small_file_system(struct fixture *f, const char *options, void (*fn)(void *user))
{
  if (!harness_in_small_file_system(f->folder, options, fn, f)) {
    print_message("# this user cannot mount a file system\n");
    skip();
  }
}

/* For the child, which has no test framework. */
#define CHECK(expression)                                                                                              \
  do {                                                                                                                 \
    if (!(expression)) {                                                                                               \
      fprintf(stderr, "line %d: %s: %s\n", __LINE__, #expression, f->h.err.msg);                                       \
      _exit(1);                                                                                                        \
    }                                                                                                                  \
  } while (0)

static void fill_and_free(void *user)
{
  struct fixture *f = user;
  CHECK(harness_open(&f->h, f->path) == MF_OK);
  char filler[300], id[20];
  snprintf(filler, sizeof(filler), "%s/filler", f->folder);
  int fd = open(filler, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  CHECK(fd >= 0);
  unsigned stored = 0, failed = 0;
  /* Until the disk is full, then some more. */
  while (failed < 5) {
    snprintf(id, sizeof(id), "r%u", stored);
    enum mf_code code = put_sized(&f->h, id, 20000);
    if (code == MF_OK) {
      CHECK(failed == 0);
      stored++;
      continue;
    }
    CHECK(code == MF_E_UNAVAILABLE);
    CHECK(strstr(f->h.err.msg, "store a response: database '"));
    CHECK(strstr(f->h.err.msg, "cannot grow: the disk is full; free some space; what was acknowledged before is safe"));
    CHECK(!has(&f->h, id));
    if (failed++ == 0) { /* what is left goes, too */
      char block[512] = "";
      while (write(fd, block, sizeof(block)) > 0)
        ;
    }
  }
  CHECK(stored > 10);
  for (unsigned i = 0; i < stored; i++) {
    snprintf(id, sizeof(id), "r%u", i);
    CHECK(has(&f->h, id)); /* reading goes on */
  }
  harness_close(&f->h);
  /* It opens on a full disk, and works again when there is room. */
  CHECK(harness_open(&f->h, f->path) == MF_OK);
  CHECK(ftruncate(fd, 0) == 0);
  close(fd);
  CHECK(unlink(filler) == 0);
  for (unsigned i = 0; i < stored; i++) {
    snprintf(id, sizeof(id), "r%u", i);
    CHECK(has(&f->h, id));
  }
  CHECK(mount(NULL, f->folder, NULL, MS_REMOUNT, "size=8m") == 0);
  CHECK(put_sized(&f->h, "more", 20000) == MF_OK);
  CHECK(has(&f->h, "more"));
  harness_close(&f->h);
}

static void a_full_disk(void **state)
{
  in_small_file_system(*state, "size=2m", fill_and_free);
}

static void create_on_full(void *user)
{
  struct fixture *f = user;
  char filler[300], block[512] = "";
  snprintf(filler, sizeof(filler), "%s/filler", f->folder);
  int fd = open(filler, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  while (write(fd, block, sizeof(block)) > 0)
    ;
  CHECK(harness_open(&f->h, f->path) == MF_E_UNAVAILABLE);
  CHECK(strstr(f->h.err.msg, "the disk is full; free some space"));
  harness_close(&f->h);
}

static void a_new_database_on_a_full_disk(void **state)
{
  in_small_file_system(*state, "size=64k", create_on_full);
}

/* ---- what a full disk takes all the same ---- */

static off_t reserve_bytes(struct fixture *f)
{
  struct stat st;
  char *path = mf_xasprintf("%s-reserve", f->path);
  CHECK(stat(path, &st) == 0);
  free(path);
  return st.st_size;
}

static enum mf_code put_task(struct fixture *f, struct mf_fiber *self, unsigned number)
{
  char id[20];
  struct mf_stored_tasks *other = NULL;
  snprintf(id, sizeof(id), "t%u", number);
  const struct mf_store_task t = { .id = mf_str_of(id), .request = MF_STR("{}") };
  return mf_storage_put_task(f->h.storage, self, &t, &other, &f->h.err);
}

static enum mf_code finish_task(struct fixture *f, struct mf_fiber *self, const char *id, size_t result_bytes)
{
  char *result = mf_xcalloc(1, result_bytes);
  const struct mf_store_end end = {
    .state = MF_TASK_FAILED, .finished_ms = 1, .expires_ms = 2, .result = { result, result_bytes }
  };
  enum mf_code code = mf_storage_finish_task(f->h.storage, self, mf_str_of(id), &end, &f->h.err);
  free(result);
  return code;
}

static enum mf_code finish_with_file(struct fixture *f, struct mf_fiber *self, const char *id, size_t bytes,
                                     uint64_t expires_ms)
{
  static const char content[300000];
  const struct mf_store_file file = { "f", { content, bytes } };
  const struct mf_store_end end = {
    .state = MF_TASK_SUCCEEDED, .expires_ms = expires_ms, .result = MF_STR("{}"), .files = &file, .file_n = 1
  };
  return mf_storage_finish_task(f->h.storage, self, mf_str_of(id), &end, &f->h.err);
}

static size_t expire(struct fixture *f, struct mf_fiber *self)
{
  struct mf_stored_tasks *t = NULL;
  CHECK(mf_storage_expire_tasks(f->h.storage, self, 2, 10, &t, &f->h.err) == MF_OK);
  size_t n = mf_stored_tasks_n(t);
  mf_stored_tasks_free(t);
  return n;
}

static void fill_disk(int fd)
{
  static const char block[512];
  while (write(fd, block, sizeof(block)) > 0)
    ;
}

static void end_tasks_on_full(void *user)
{
  struct fixture *f = user;
  struct mf_fiber *self = mf_fiber_self(f->h.loop);
  char filler[300], id[20];
  snprintf(filler, sizeof(filler), "%s/filler", f->folder);
  int fd = open(filler, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const off_t whole = reserve_bytes(f);
  CHECK(fd >= 0 && whole > 0);
  unsigned n = 0;
  for (; put_task(f, self, n) == MF_OK; n++)
    if (n >= 30)
      fill_disk(fd);
  CHECK(n > 30 && f->h.err.code == MF_E_UNAVAILABLE && f->h.err.sys == ENOSPC);
  CHECK(reserve_bytes(f) == whole); /* new tasks do not get it, nor do files */
  CHECK(finish_with_file(f, self, "t0", 300000, 0) == MF_E_UNAVAILABLE && f->h.err.sys == ENOSPC);
  CHECK(reserve_bytes(f) == whole);
  /* What was acknowledged begins, and ends. */
  CHECK(mf_storage_start_task(f->h.storage, self, MF_STR("t0"), 1, &f->h.err) == MF_OK);
  CHECK(reserve_bytes(f) == whole / 2);
  CHECK(finish_task(f, self, "t0", 300000) == MF_OK);
  CHECK(reserve_bytes(f) == whole / 2);
  CHECK(finish_task(f, self, "t1", 100) == MF_OK);
  /* Others take what is left of it; the other half is for what makes room. */
  fill_disk(fd);
  unsigned ended = 2;
  for (; ended < 30; ended++) {
    snprintf(id, sizeof(id), "t%u", ended);
    if (finish_task(f, self, id, 300000))
      break;
  }
  CHECK(ended < 30 && f->h.err.sys == ENOSPC);
  CHECK(reserve_bytes(f) == whole / 2);
  size_t expired = 0;
  for (size_t some; (some = expire(f, self)) > 0;)
    expired += some;
  CHECK(expired == ended);
  CHECK(reserve_bytes(f) < whole / 2);
  /* With room it is there again. */
  CHECK(ftruncate(fd, 0) == 0);
  close(fd);
  CHECK(put_task(f, self, 100000) == MF_OK);
  CHECK(reserve_bytes(f) == whole);
}

/* However many: what one of them writes into the log must not be too much for the rest of it. */
static void remove_tasks_on_full(void *user)
{
  enum { TASK_N = 120, SOME = 40 };
  struct fixture *f = user;
  struct mf_fiber *self = mf_fiber_self(f->h.loop);
  char filler[300], id[20];
  snprintf(filler, sizeof(filler), "%s/filler", f->folder);
  for (unsigned i = 0; i < TASK_N; i++) {
    snprintf(id, sizeof(id), "t%u", i);
    CHECK(put_task(f, self, i) == MF_OK);
    CHECK(finish_with_file(f, self, id, 60000, i < SOME ? 0 : 2) == MF_OK);
  }
  run_sql(f->path, "PRAGMA wal_checkpoint(TRUNCATE)");
  int fd = open(filler, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  CHECK(fd >= 0);
  fill_disk(fd);
  for (unsigned i = 0; i < SOME; i++) {
    uint64_t bytes = 0;
    snprintf(id, sizeof(id), "t%u", i);
    CHECK(mf_storage_delete_task(f->h.storage, self, MF_STR(""), mf_str_of(id), &bytes, &f->h.err) == MF_OK);
    CHECK(bytes == 60000);
  }
  size_t expired = 0;
  for (size_t some; (some = expire(f, self)) > 0;)
    expired += some;
  CHECK(expired == TASK_N - SOME);
  close(fd);
}

static void use_reserve_to_remove(void *user)
{
  struct fixture *f = user;
  CHECK(harness_open(&f->h, f->path) == MF_OK);
  harness_call(&f->h, remove_tasks_on_full, f);
  harness_close(&f->h);
}

static void tasks_are_removed_on_a_full_disk(void **state)
{
  in_small_file_system(*state, "size=48m", use_reserve_to_remove);
}

static void use_reserve(void *user)
{
  struct fixture *f = user;
  CHECK(harness_open(&f->h, f->path) == MF_OK);
  harness_call(&f->h, end_tasks_on_full, f);
  harness_close(&f->h);
}

static void tasks_end_and_expire_on_a_full_disk(void **state)
{
  in_small_file_system(*state, "size=32m", use_reserve);
}

static void go_read_only(void *user)
{
  struct fixture *f = user;
  CHECK(harness_open(&f->h, f->path) == MF_OK);
  CHECK(put_sized(&f->h, "a", 10) == MF_OK);
  harness_close(&f->h);
  CHECK(mount(NULL, f->folder, NULL, MS_REMOUNT | MS_RDONLY, NULL) == 0);
  CHECK(harness_open(&f->h, f->path) == MF_E_UNAVAILABLE);
  CHECK(strstr(f->h.err.msg, "cannot be written: the file or its file system is read-only; make both writable"));
  harness_close(&f->h);
  char *other = mf_xasprintf("%s/new.db", f->folder);
  CHECK(harness_open(&f->h, other) == MF_E_UNAVAILABLE);
  CHECK(strstr(f->h.err.msg, "cannot be created in '"));
  CHECK(strstr(f->h.err.msg, "Read-only file system"));
  harness_close(&f->h);
  free(other);
  CHECK(mount(NULL, f->folder, NULL, MS_REMOUNT, NULL) == 0);
  CHECK(harness_open(&f->h, f->path) == MF_OK);
  CHECK(has(&f->h, "a"));
  harness_close(&f->h);
}

static void a_read_only_file_system(void **state)
{
  in_small_file_system(*state, "size=2m", go_read_only);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
  const struct CMUnitTest tests[] = {
    TEST(places_where_no_database_can_be),
    TEST(files_that_are_not_ours),
    TEST(a_newer_schema),
    TEST(an_older_schema),
    TEST(two_that_migrate),
    TEST(a_damaged_file),
    TEST(a_damaged_text),
    TEST(a_cut_file),
    TEST(a_file_that_is_taken_away),
    TEST(a_database_that_another_has_locked),
    TEST(a_full_disk),
    TEST(a_new_database_on_a_full_disk),
    TEST(tasks_end_and_expire_on_a_full_disk),
    TEST(tasks_are_removed_on_a_full_disk),
    TEST(a_read_only_file_system),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

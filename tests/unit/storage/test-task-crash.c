/* A process that takes tasks with files through their lives is killed at any moment, again and again. What it said is
 * true afterwards, files are whole, and after a sweep the folders are those of the tasks that are kept. */
#include "unit.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crash.h"
#include "files-internal.h"
#include "harness.h"
#include "storage/tasks.h"
#include "base/banned.h"

enum { ROUNDS = 50, WRITERS = 6, CONTENT_MAX = 400000, FAR_MS = 1000000 };

/* Said after: put, finished, removed. 'r' before: between the two either is right. */
static const char letters[] = "PFrR";
enum { PUT = 1, FINISHED = 2, REMOVING = 4, REMOVED = 8 };

struct place {
  char *folder, *database, *files;
};

struct store {
  struct harness h;
  struct mf_files *files;
  struct mf_fiber *self;
  struct mf_err err;
};

static bool store_open(struct store *s, const struct place *at)
{
  *s = (struct store){ 0 };
  return harness_open(&s->h, at->database) == MF_OK &&
         mf_files_open(s->h.pool, at->files, 1u << 30, &s->files, &s->err) == MF_OK;
}

static void store_close(struct store *s)
{
  mf_files_close(s->files);
  harness_close(&s->h);
}

/* What a task has follows from its number: an input, and an artifact when it has ended well. */
static void id_of(unsigned number, char ret[32])
{
  snprintf(ret, 32, "task_%08x", number);
}

static struct mf_str content_of(unsigned number, bool is_artifact, char *buf)
{
  unsigned seed = crash_mix(number * 2 + is_artifact + 1);
  size_t n = seed % (seed % 13 == 0 ? CONTENT_MAX : 3000);
  for (size_t i = 0; i < n; i++)
    buf[i] = (char)(seed + i * 7 + i / 256);
  return (struct mf_str){ buf, n };
}

/* ---- the child ---- */

struct writing {
  struct store *store;
  int out;
  unsigned round, writer;
  char *buf;
};

static void must(enum mf_code code, const struct mf_err *err)
{
  if (code == MF_OK)
    return;
  fprintf(stderr, "%s\n", err->msg);
  _exit(2);
}

static void put_file(struct writing *w, struct mf_fiber *self, unsigned number, bool is_artifact)
{
  struct mf_file_put *p = NULL;
  struct mf_file_ref ref;
  struct mf_err err = { 0 };
  char id[32];
  id_of(number, id);
  struct mf_str content = content_of(number, is_artifact, w->buf);
  must(mf_file_put_new(w->store->files, self, mf_str_of(id), &p, &err), &err);
  for (size_t at = 0; at < content.len; at += 50000) {
    struct mf_str piece = { content.ptr + at, MF_MIN(content.len - at, (size_t)50000) };
    must(mf_file_put_write(p, self, piece, &err), &err);
  }
  must(mf_file_put_finish(p, self, &ref, &err), &err);
}

static void remove_files(struct writing *w, struct mf_fiber *self, struct mf_str id)
{
  struct mf_err err = { 0 };
  must(mf_files_remove(w->store->files, self, id, &err), &err);
}

static void live(struct writing *w, struct mf_fiber *self, unsigned number)
{
  struct mf_storage *s = w->store->h.storage;
  struct mf_stored_tasks *tasks = NULL;
  struct mf_err err = { 0 };
  char id_text[32];
  id_of(number, id_text);
  struct mf_str id = mf_str_of(id_text);
  unsigned fate = number % 8;
  struct mf_store_task t = { .id = id, .fingerprint = id, .created_ms = number + 1, .request = id };

  put_file(w, self, number, false);
  must(mf_storage_put_task(s, self, &t, &tasks, &err), &err);
  crash_say(w->out, 'P', number);
  must(mf_storage_start_task(s, self, id, 1, &err), &err);
  put_file(w, self, number, true);
  const struct mf_store_file small = { "small", id };
  const struct mf_store_end end = { .state = MF_TASK_SUCCEEDED,
                                    .finished_ms = 2,
                                    .expires_ms = fate == 0 ? 1 : FAR_MS,
                                    .artifact_bytes = 3,
                                    .result = id,
                                    .files = &small,
                                    .file_n = 1 };
  must(mf_storage_finish_task(s, self, id, &end, &err), &err);
  crash_say(w->out, 'F', number);
  if (fate > 1)
    return;
  crash_say(w->out, 'r', number);
  if (fate == 0) { /* any that has expired, not only this one */
    must(mf_storage_expire_tasks(s, self, 1, 10, &tasks, &err), &err);
    for (size_t i = 0; i < mf_stored_tasks_n(tasks); i++)
      remove_files(w, self, mf_stored_task(tasks, i)->id);
    mf_stored_tasks_free(tasks);
  } else {
    uint64_t file_bytes = 0;
    must(mf_storage_delete_task(s, self, (struct mf_str){ 0 }, id, &file_bytes, &err), &err);
    remove_files(w, self, id);
    crash_say(w->out, 'R', number);
  }
}

static void write_on(void *user)
{
  struct writing *w = user;
  for (unsigned i = 0;; i++)
    live(w, mf_fiber_self(w->store->h.loop), w->round << 20 | w->writer << 16 | i);
}

static void lead_writers(void *user)
{
  struct writing *all = user;
  struct mf_loop *loop = all->store->h.loop;
  struct mf_fiber *fibers[WRITERS];
  for (unsigned i = 0; i < WRITERS; i++)
    if (mf_fiber_start(loop, write_on, &all[i], 0, &fibers[i], NULL))
      _exit(2);
  for (unsigned i = 0; i < WRITERS; i++)
    mf_fiber_join(mf_fiber_self(loop), fibers[i]);
}

static void be_child(void *user, unsigned round, int out)
{
  struct store s;
  struct writing all[WRITERS];
  if (!store_open(&s, user))
    _exit(2);
  if (round % 2)
    s.files->dir.has_tmpfile = false; /* with temporary names */
  for (unsigned i = 0; i < WRITERS; i++)
    all[i] = (struct writing){ &s, out, round, i, mf_xmalloc(CONTENT_MAX) };
  harness_call(&s.h, lead_writers, all);
}

/* ---- the parent ---- */

struct looking {
  struct store *store;
  const struct place *place;
  const struct crash_ledger *ledger;
  unsigned from;
  char *buf;
};

/* As a server does it at its start. */
static void end_unfinished(struct store *s)
{
  struct mf_stored_tasks *t = NULL;
  size_t n;
  do {
    assert_ok(mf_storage_unfinished_tasks(s->h.storage, s->self, MF_STR(""), 7, &t, &s->err), &s->err);
    n = mf_stored_tasks_n(t);
    for (size_t i = 0; i < n; i++) {
      const struct mf_store_task *u = mf_stored_task(t, i);
      assert_true(mf_str_eq(u->request, u->id));
      const struct mf_store_end end = {
        .state = MF_TASK_FAILED, .finished_ms = 2, .expires_ms = FAR_MS, .result = u->id
      };
      assert_ok(mf_storage_finish_task(s->h.storage, s->self, u->id, &end, &s->err), &s->err);
    }
    mf_stored_tasks_free(t);
  } while (n > 0);
}

static bool is_kept(void *user, struct mf_fiber *self, struct mf_str task_id)
{
  struct store *s = user;
  bool kept = true;
  assert_ok(mf_storage_task_is_kept(s->h.storage, self, task_id, &kept, &s->err), &s->err);
  return kept;
}

static enum mf_code read_file(struct looking *l, unsigned number, bool is_artifact)
{
  struct store *s = l->store;
  struct mf_buf got;
  struct mf_str content = content_of(number, is_artifact, l->buf);
  struct mf_file_ref ref = { .size_bytes = content.len };
  char id[32];
  id_of(number, id);
  mf_sha256_of(content, ref.sha256);
  enum mf_code code = mf_files_read(s->files, s->self, mf_str_of(id), &ref, &got, &s->err);
  if (code == MF_OK) { /* it compares the digest */
    assert_int_equal(got.len, content.len);
    mf_buf_done(&got);
  }
  return code;
}

/* It is there exactly where the end is that it came with. */
static void check_small_file(struct store *s, const char *id, bool is_there)
{
  struct mf_buf got = { 0 };
  enum mf_code code = mf_storage_task_file(s->h.storage, s->self, mf_str_of(id), "small", &got, &s->err);
  assert_int_equal(code, is_there ? MF_OK : MF_E_NOT_FOUND);
  if (is_there)
    assert_string_equal(got.ptr, id);
  mf_buf_done(&got);
}

static void check_row(struct looking *l, const struct crash_row *row)
{
  struct store *s = l->store;
  struct mf_stored_tasks *t = NULL;
  char id[32];
  id_of(row->number, id);
  enum mf_code code = mf_storage_get_task(s->h.storage, s->self, MF_STR(""), mf_str_of(id), &t, &s->err);
  bool is_there = code == MF_OK && !mf_stored_task(t, 0)->is_expired;
  assert_true(code == MF_OK || code == MF_E_NOT_FOUND);
  assert_false(is_there && row->said & REMOVED);
  /* One that is done with may be expired by another's sweep before it says so itself. */
  bool may_be_gone = row->said & REMOVING || row->number % 8 == 0;
  assert_true(is_there || may_be_gone);
  assert_int_equal(read_file(l, row->number, false), is_there ? MF_OK : MF_E_NOT_FOUND);
  if (is_there) {
    enum mf_task_state state = mf_stored_task(t, 0)->state;
    assert_true(state == MF_TASK_SUCCEEDED || (state == MF_TASK_FAILED && !(row->said & FINISHED)));
    assert_true(mf_str_is(mf_stored_task(t, 0)->result, id));
    if (state == MF_TASK_SUCCEEDED)
      assert_ok(read_file(l, row->number, true), &s->err);
    assert_int_equal(mf_stored_task(t, 0)->file_bytes, state == MF_TASK_SUCCEEDED ? strlen(id) : 0);
    check_small_file(s, id, state == MF_TASK_SUCCEEDED);
  } else {
    check_small_file(s, id, false);
  }
  mf_stored_tasks_free(t);
}

/* Bytes of all files in a task's folder; each has the name of a whole one. */
static uint64_t weigh_folder(const char *path)
{
  uint64_t bytes = 0;
  DIR *dir = opendir(path);
  assert_non_null(dir);
  for (struct dirent *e; (e = readdir(dir)) != NULL;) {
    struct stat st;
    if (e->d_name[0] == '.' && strlen(e->d_name) <= 2)
      continue;
    assert_int_equal(strlen(e->d_name), MF_SHA256_HEX_N - 1);
    assert_int_equal(fstatat(dirfd(dir), e->d_name, &st, 0), 0);
    bytes += (uint64_t)st.st_size;
  }
  closedir(dir);
  return bytes;
}

/* Folders and rows agree, and so does the count. */
static void check_folders(struct looking *l)
{
  struct store *s = l->store;
  unsigned folders = 0, kept = 0;
  uint64_t bytes = 0;
  DIR *dir = opendir(l->place->files);
  assert_non_null(dir);
  for (struct dirent *e; (e = readdir(dir)) != NULL;) {
    if (!mf_str_starts(mf_str_of(e->d_name), "task_"))
      continue;
    mf_auto_free char *path = mf_xasprintf("%s/%s", l->place->files, e->d_name);
    assert_true(is_kept(s, s->self, mf_str_of(e->d_name)));
    bytes += weigh_folder(path);
    folders++;
  }
  closedir(dir);
  assert_int_equal(mf_files_used(s->files), bytes);

  char after[40] = "";
  for (bool more = true; more;) {
    struct mf_stored_tasks *t = NULL;
    assert_ok(mf_storage_list_tasks(s->h.storage, s->self, MF_STR(""), mf_str_of(after), MF_TASK_STATE_N, 0, 100, &t,
                                    &more, &s->err),
              &s->err);
    size_t n = mf_stored_tasks_n(t);
    kept += (unsigned)n;
    if (n)
      snprintf(after, sizeof(after), "%.*s", MF_STR_ARG(mf_stored_task(t, n - 1)->id));
    mf_stored_tasks_free(t);
  }
  assert_int_equal(folders, kept);
}

static void look(void *user)
{
  struct looking *l = user;
  struct store *s = l->store;
  s->self = mf_fiber_self(s->h.loop);
  end_unfinished(s);
  assert_ok(mf_files_sweep(s->files, s->self, is_kept, s, &s->err), &s->err);
  for (unsigned i = l->from; i < l->ledger->n; i++)
    check_row(l, &l->ledger->rows[i]);
  check_folders(l);
}

static void look_at_all(const struct place *at, const struct crash_ledger *ledger, unsigned from)
{
  struct store s;
  struct looking l = { &s, at, ledger, from, mf_xmalloc(CONTENT_MAX) };
  if (!store_open(&s, at))
    fail_msg("%s%s", s.h.err.msg, s.err.msg);
  harness_call(&s.h, look, &l);
  store_close(&s);
  free(l.buf);
}

static void killed_at_any_moment(void **state)
{
  struct place at = { .folder = harness_folder() };
  at.database = mf_xasprintf("%s/m.db", at.folder);
  at.files = mf_xasprintf("%s/files", at.folder);
  struct crash_ledger ledger = { .letters = letters };
  unsigned seed = (unsigned)getpid();
  for (unsigned round = 0; round < ROUNDS; round++) {
    unsigned from = ledger.n;
    seed = crash_mix(seed + round);
    crash_round(&ledger, round, seed, be_child, &at);
    look_at_all(&at, &ledger, from);
  }
  look_at_all(&at, &ledger, 0);
  print_message("# %u acknowledged in %u lives\n", ledger.n, ROUNDS);
  assert_true(ledger.n > ROUNDS);
  crash_ledger_done(&ledger);
  free(at.database);
  free(at.files);
  harness_remove(at.folder);
}

int main(void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test(killed_at_any_moment) };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tasks in the database: each test is a fiber, over a file and in memory. */
#include "unit.h"

#include <sqlite3.h>
#include <stdlib.h>

#include "harness.h"
#include "storage/tasks.h"
#include "base/banned.h"

enum { T0 = 1000000 };

struct fixture {
  struct harness h;
  struct mf_fiber *self;
  char *folder, *path;
  bool in_memory;
  struct mf_err err;
  void (*body)(struct fixture *f);
};

static void run_body(void *user)
{
  struct fixture *f = user;
  f->self = mf_fiber_self(f->h.loop);
  f->body(f);
}

static void in_fiber(struct fixture *f, void (*body)(struct fixture *f))
{
  f->body = body;
  harness_call(&f->h, run_body, f);
}

static void set_up(struct fixture *f, bool in_memory)
{
  *f = (struct fixture){ .folder = harness_folder(), .in_memory = in_memory };
  f->path = in_memory ? mf_xstrdup(":memory:") : mf_xasprintf("%s/m.db", f->folder);
  assert_ok(harness_open(&f->h, f->path), &f->h.err);
}

static void tear_down(struct fixture *f)
{
  harness_close(&f->h);
  free(f->path);
  harness_remove(f->folder);
}

static void reopen(struct fixture *f)
{
  harness_close(&f->h);
  assert_ok(harness_open(&f->h, f->path), &f->h.err);
}

static void both_ways(void (*body)(struct fixture *f))
{
  for (int in_memory = 0; in_memory < 2; in_memory++) {
    struct fixture f;
    set_up(&f, in_memory);
    in_fiber(&f, body);
    tear_down(&f);
  }
}

static struct mf_store_task task_of(const char *id, const char *owner)
{
  return (struct mf_store_task){ .id = mf_str_of(id),
                                 .owner = mf_str_of(owner),
                                 .fingerprint = MF_STR("f1"),
                                 .created_ms = T0,
                                 .input_bytes = 7,
                                 .request = MF_STR("{\"code\":\"print(1)\"}") };
}

static void put(struct fixture *f, const char *id, const char *owner)
{
  struct mf_store_task t = task_of(id, owner);
  struct mf_stored_tasks *other = NULL;
  assert_ok(mf_storage_put_task(f->h.storage, f->self, &t, &other, &f->err), &f->err);
  assert_null(other);
}

static enum mf_code finish(struct fixture *f, const char *id, enum mf_task_state state, uint64_t expires_ms)
{
  const struct mf_store_end end = { .state = state,
                                    .finished_ms = T0 + 20,
                                    .expires_ms = expires_ms,
                                    .artifact_bytes = 9,
                                    .result = MF_STR("{\"stdout\":\"1\"}") };
  return mf_storage_finish_task(f->h.storage, f->self, mf_str_of(id), &end, &f->err);
}

static void finish_ok(struct fixture *f, const char *id, uint64_t expires_ms)
{
  assert_ok(finish(f, id, MF_TASK_SUCCEEDED, expires_ms), &f->err);
}

/* One whose small files are another matter. */
static enum mf_code delete (struct fixture *f, const char *owner, const char *id) {
  uint64_t file_bytes = 1; enum mf_code code = mf_storage_delete_task(f->h.storage, f->self, mf_str_of(owner),
                                                                      mf_str_of(id), &file_bytes, &f->err);
  assert_int_equal(file_bytes, code ? 1 : 0);
  return code;
}

static enum mf_code get(struct fixture *f, const char *owner, const char *id, struct mf_stored_tasks **ret)
{
  return mf_storage_get_task(f->h.storage, f->self, mf_str_of(owner), mf_str_of(id), ret, &f->err);
}

/* The ids of tasks, joined; frees them. */
static void assert_ids(struct mf_stored_tasks *t, const char *expected)
{
  struct mf_buf all;
  mf_buf_init(&all, 1u << 16);
  for (size_t i = 0; i < mf_stored_tasks_n(t); i++)
    assert_int_equal(mf_buf_printf(&all, "%s%.*s", i ? " " : "", MF_STR_ARG(mf_stored_task(t, i)->id)), MF_OK);
  assert_string_equal(all.ptr, expected);
  mf_buf_done(&all);
  mf_stored_tasks_free(t);
}

static bool kept(struct fixture *f, const char *id)
{
  bool ret = false;
  assert_ok(mf_storage_task_is_kept(f->h.storage, f->self, mf_str_of(id), &ret, &f->err), &f->err);
  return ret;
}

static unsigned count(struct fixture *f, const char *table)
{
  sqlite3 *db = NULL;
  sqlite3_stmt *st = NULL;
  char sql[100];
  snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", table);
  assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
  assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_step(st), SQLITE_ROW);
  unsigned n = (unsigned)sqlite3_column_int(st, 0);
  sqlite3_finalize(st);
  sqlite3_close(db);
  return n;
}

/* ---- one task ---- */

static void live(struct fixture *f)
{
  put(f, "a", "alice");
  struct mf_stored_tasks *t = NULL;
  assert_ok(get(f, "alice", "a", &t), &f->err);
  const struct mf_store_task *got = mf_stored_task(t, 0);
  assert_int_equal(mf_stored_tasks_n(t), 1);
  assert_true(mf_str_is(got->id, "a") && mf_str_is(got->owner, "alice") && mf_str_is(got->fingerprint, "f1"));
  assert_true(mf_str_is(got->request, "{\"code\":\"print(1)\"}"));
  assert_int_equal(got->idempotency_key.len, 0);
  assert_int_equal(got->result.len, 0);
  assert_int_equal(got->state, MF_TASK_QUEUED);
  assert_false(got->is_expired);
  assert_int_equal(got->created_ms, T0);
  assert_int_equal(got->started_ms + got->finished_ms + got->expires_ms + got->artifact_bytes, 0);
  assert_int_equal(got->input_bytes, 7);
  mf_stored_tasks_free(t);

  assert_ok(mf_storage_start_task(f->h.storage, f->self, MF_STR("a"), T0 + 10, &f->err), &f->err);
  assert_int_equal(mf_storage_start_task(f->h.storage, f->self, MF_STR("a"), T0 + 11, &f->err), MF_E_NOT_FOUND);
  assert_int_equal(mf_storage_start_task(f->h.storage, f->self, MF_STR("z"), T0 + 11, &f->err), MF_E_NOT_FOUND);
  assert_ok(finish(f, "a", MF_TASK_FAILED, T0 + 30), &f->err);
  assert_int_equal(finish(f, "a", MF_TASK_SUCCEEDED, T0 + 31), MF_E_NOT_FOUND);
  assert_int_equal(finish(f, "z", MF_TASK_SUCCEEDED, T0 + 31), MF_E_NOT_FOUND);

  assert_ok(get(f, "alice", "a", &t), &f->err);
  got = mf_stored_task(t, 0);
  assert_int_equal(got->state, MF_TASK_FAILED);
  assert_int_equal(got->started_ms, T0 + 10);
  assert_int_equal(got->finished_ms, T0 + 20);
  assert_int_equal(got->expires_ms, T0 + 30);
  assert_int_equal(got->artifact_bytes, 9);
  assert_true(mf_str_is(got->result, "{\"stdout\":\"1\"}"));
  mf_stored_tasks_free(t);

  /* One that starts at once, and one that ends without having started. */
  struct mf_store_task running = task_of("b", "alice");
  struct mf_stored_tasks *other = NULL;
  running.state = MF_TASK_RUNNING;
  running.started_ms = T0 + 1;
  assert_ok(mf_storage_put_task(f->h.storage, f->self, &running, &other, &f->err), &f->err);
  assert_int_equal(mf_storage_start_task(f->h.storage, f->self, MF_STR("b"), T0 + 11, &f->err), MF_E_NOT_FOUND);
  finish_ok(f, "b", T0 + 30);
  put(f, "c", "alice");
  assert_ok(finish(f, "c", MF_TASK_CANCELLED, T0 + 30), &f->err);
}

static void the_life_of_a_task(void **state)
{
  both_ways(live);
}

static void refuse(struct fixture *f)
{
  struct mf_stored_tasks *other = NULL;
  struct mf_store_task bad[5];
  for (unsigned i = 0; i < MF_ARRAY_N(bad); i++)
    bad[i] = task_of("x", "");
  bad[0].id = MF_STR("");
  bad[1].state = MF_TASK_FAILED;
  bad[2].created_ms = UINT64_MAX;
  bad[3].input_bytes = UINT64_MAX;
  bad[4].started_ms = UINT64_MAX;
  for (unsigned i = 0; i < MF_ARRAY_N(bad); i++)
    assert_int_equal(mf_storage_put_task(f->h.storage, f->self, &bad[i], &other, &f->err), MF_E_INPUT);
  struct mf_store_task large = task_of("x", "");
  large.request.len = SIZE_MAX;
  assert_int_equal(mf_storage_put_task(f->h.storage, f->self, &large, &other, &f->err), MF_E_LIMIT);
  put(f, "a", "");
  assert_int_equal(finish(f, "a", MF_TASK_RUNNING, 1), MF_E_INPUT);
  assert_int_equal(finish(f, "a", MF_TASK_STATE_N, 1), MF_E_INPUT);
  assert_int_equal(finish(f, "a", MF_TASK_FAILED, UINT64_MAX), MF_E_INPUT);
  const struct mf_store_file huge = { .content = { "x", MF_STORE_BYTES_MAX } };
  const struct mf_store_end ends[] = {
    { .state = MF_TASK_FAILED, .result = { "x", (size_t)MF_STORE_BYTES_MAX + 1 } },
    { .state = MF_TASK_FAILED, .result = MF_STR("x"), .files = &huge, .file_n = 1 },
  };
  for (unsigned i = 0; i < MF_ARRAY_N(ends); i++)
    assert_int_equal(mf_storage_finish_task(f->h.storage, f->self, MF_STR("a"), &ends[i], &f->err), MF_E_LIMIT);
  /* An id twice is a broken promise of the caller's; nothing of the first one is changed. */
  struct mf_store_task again = task_of("a", "bob");
  assert_int_equal(mf_storage_put_task(f->h.storage, f->self, &again, &other, &f->err), MF_E_INTERNAL);
  assert_null(other);
  finish_ok(f, "a", T0 + 30);
}

static void what_cannot_be_stored(void **state)
{
  both_ways(refuse);
}

/* ---- owners ---- */

static void keep_apart(struct fixture *f)
{
  put(f, "a", "alice");
  put(f, "b", "bob");
  put(f, "n", "");
  finish_ok(f, "a", T0 + 30);
  struct mf_stored_tasks *t = NULL;
  assert_int_equal(get(f, "bob", "a", &t), MF_E_NOT_FOUND);
  assert_string_equal(f->err.msg, "not found: Task with id 'a'");
  assert_int_equal(get(f, "", "a", &t), MF_E_NOT_FOUND);
  assert_int_equal(get(f, "alice", "n", &t), MF_E_NOT_FOUND);
  assert_int_equal(get(f, "alice\n", "a", &t), MF_E_NOT_FOUND);
  assert_null(t);
  assert_int_equal(delete (f, "bob", "a"), MF_E_NOT_FOUND);
  bool more = true;
  assert_int_equal(mf_storage_list_tasks(f->h.storage, f->self, MF_STR("bob"), MF_STR("a"), MF_TASK_STATE_N, 0, 9, &t,
                                         &more, &f->err),
                   MF_E_NOT_FOUND);
  assert_ok(mf_storage_list_tasks(f->h.storage, f->self, MF_STR("bob"), MF_STR(""), MF_TASK_STATE_N, 0, 9, &t, &more,
                                  &f->err),
            &f->err);
  assert_false(more);
  assert_ids(t, "b");
  assert_ok(get(f, "alice", "a", &t), &f->err);
  mf_stored_tasks_free(t);
}

static void another_owner_sees_nothing(void **state)
{
  both_ways(keep_apart);
}

/* ---- idempotency ---- */

static enum mf_code put_keyed(struct fixture *f, const char *id, const char *owner, struct mf_stored_tasks **ret)
{
  struct mf_store_task t = task_of(id, owner);
  t.idempotency_key = MF_STR("once");
  *ret = NULL;
  return mf_storage_put_task(f->h.storage, mf_fiber_self(f->h.loop), &t, ret, &f->err);
}

static void repeat(struct fixture *f)
{
  struct mf_stored_tasks *other;
  assert_ok(put_keyed(f, "a", "alice", &other), &f->err);
  assert_int_equal(put_keyed(f, "a2", "alice", &other), MF_E_EXISTS);
  assert_true(mf_str_is(mf_stored_task(other, 0)->fingerprint, "f1"));
  assert_int_equal(mf_stored_task(other, 0)->request.len, 0);
  assert_ids(other, "a");
  assert_ok(put_keyed(f, "b", "bob", &other), &f->err); /* each owner has its own */
  /* Expired it counts yet; deleted it does not. */
  finish_ok(f, "a", T0 + 30);
  struct mf_stored_tasks *t = NULL;
  assert_ok(mf_storage_expire_tasks(f->h.storage, f->self, T0 + 30, 10, &t, &f->err), &f->err);
  assert_ids(t, "a");
  assert_int_equal(put_keyed(f, "a3", "alice", &other), MF_E_EXISTS);
  assert_true(mf_stored_task(other, 0)->is_expired);
  assert_ids(other, "a");
  assert_ok(delete (f, "alice", "a"), &f->err);
  assert_ok(put_keyed(f, "a4", "alice", &other), &f->err);
}

static void a_key_is_used_once(void **state)
{
  both_ways(repeat);
}

enum { RACERS = 40 };

struct race {
  struct fixture *f;
  unsigned won, lost;
  char winner[20];
};
struct racer {
  struct race *race;
  char id[20];
};

static void be_racer(void *user)
{
  struct racer *r = user;
  struct mf_stored_tasks *other;
  if (put_keyed(r->race->f, r->id, "alice", &other) == MF_OK) {
    r->race->won++;
    memcpy(r->race->winner, r->id, sizeof(r->id));
    return;
  }
  assert_int_equal(mf_stored_tasks_n(other), 1);
  assert_true(mf_str_is(mf_stored_task(other, 0)->id, r->race->winner));
  mf_stored_tasks_free(other);
  r->race->lost++;
}

static void race(struct fixture *f)
{
  struct race race = { .f = f };
  struct racer racers[RACERS];
  struct mf_fiber *fibers[RACERS];
  for (unsigned i = 0; i < RACERS; i++) {
    racers[i].race = &race;
    snprintf(racers[i].id, sizeof(racers[i].id), "t%u", i);
    assert_ok(mf_fiber_start(f->h.loop, be_racer, &racers[i], 0, &fibers[i], &f->err), &f->err);
  }
  for (unsigned i = 0; i < RACERS; i++)
    mf_fiber_join(f->self, fibers[i]);
  assert_int_equal(race.won, 1);
  assert_int_equal(race.lost, RACERS - 1);
}

static void many_with_one_key(void **state)
{
  both_ways(race);
}

/* ---- lists ---- */

static void assert_page(struct fixture *f, const char *after, enum mf_task_state state, unsigned limit,
                        const char *expected, bool expected_more)
{
  struct mf_stored_tasks *t = NULL;
  bool more = !expected_more;
  assert_ok(mf_storage_list_tasks(f->h.storage, f->self, MF_STR("alice"), mf_str_of(after), state, 0, limit, &t, &more,
                                  &f->err),
            &f->err);
  for (size_t i = 0; i < mf_stored_tasks_n(t); i++)
    assert_int_equal(mf_stored_task(t, i)->request.len + mf_stored_task(t, i)->result.len, 0);
  assert_ids(t, expected);
  assert_int_equal(more, expected_more);
}

static void list(struct fixture *f)
{
  assert_page(f, "", MF_TASK_STATE_N, 10, "", false);
  put(f, "a", "alice");
  put(f, "b", "alice");
  put(f, "x", "bob");
  put(f, "c", "alice");
  put(f, "d", "alice");
  assert_page(f, "", MF_TASK_STATE_N, 10, "d c b a", false);
  assert_page(f, "", MF_TASK_STATE_N, 4, "d c b a", false);
  assert_page(f, "", MF_TASK_STATE_N, 3, "d c b", true);
  assert_page(f, "b", MF_TASK_STATE_N, 3, "a", false);
  assert_page(f, "a", MF_TASK_STATE_N, 3, "", false);
  finish_ok(f, "a", T0 + 30);
  finish_ok(f, "c", T0 + 40);
  assert_page(f, "", MF_TASK_SUCCEEDED, 1, "c", true);
  assert_page(f, "c", MF_TASK_SUCCEEDED, 1, "a", false);
  assert_page(f, "", MF_TASK_QUEUED, 10, "d b", false);
  assert_page(f, "", MF_TASK_FAILED, 10, "", false);
  /* An expired one is not shown, also before it is swept, but it is still a place to go on from. */
  struct mf_stored_tasks *t = NULL;
  bool more = true;
  assert_ok(mf_storage_list_tasks(f->h.storage, f->self, MF_STR("alice"), MF_STR(""), MF_TASK_STATE_N, T0 + 30, 3, &t,
                                  &more, &f->err),
            &f->err);
  assert_ids(t, "d c b");
  assert_false(more);
  assert_ok(mf_storage_expire_tasks(f->h.storage, f->self, T0 + 40, 10, &t, &f->err), &f->err);
  assert_ids(t, "a c");
  assert_page(f, "", MF_TASK_STATE_N, 10, "d b", false);
  assert_page(f, "c", MF_TASK_STATE_N, 10, "b", false);
}

static void pages(void **state)
{
  both_ways(list);
}

/* ---- restart ---- */

static void leave_unfinished(struct fixture *f)
{
  put(f, "a", "alice");
  put(f, "b", "bob");
  put(f, "c", "alice");
  put(f, "d", "alice");
  assert_ok(mf_storage_start_task(f->h.storage, f->self, MF_STR("a"), T0 + 1, &f->err), &f->err);
  finish_ok(f, "c", T0 + 30);
}

static void find_unfinished(struct fixture *f)
{
  struct mf_stored_tasks *t = NULL;
  assert_ok(mf_storage_unfinished_tasks(f->h.storage, f->self, MF_STR(""), 2, &t, &f->err), &f->err);
  assert_int_equal(mf_stored_task(t, 0)->state, MF_TASK_RUNNING);
  assert_int_equal(mf_stored_task(t, 1)->state, MF_TASK_QUEUED);
  assert_true(mf_str_is(mf_stored_task(t, 1)->request, "{\"code\":\"print(1)\"}"));
  assert_true(mf_str_is(mf_stored_task(t, 1)->owner, "bob"));
  assert_ids(t, "a b");
  assert_ok(mf_storage_unfinished_tasks(f->h.storage, f->self, MF_STR("b"), 2, &t, &f->err), &f->err);
  assert_ids(t, "d");
  assert_ok(mf_storage_unfinished_tasks(f->h.storage, f->self, MF_STR("d"), 2, &t, &f->err), &f->err);
  assert_ids(t, "");
  assert_int_equal(mf_storage_unfinished_tasks(f->h.storage, f->self, MF_STR("z"), 2, &t, &f->err), MF_E_NOT_FOUND);
  /* Behind one that has ended meanwhile. */
  assert_ok(finish(f, "a", MF_TASK_FAILED, T0 + 30), &f->err);
  assert_ok(mf_storage_unfinished_tasks(f->h.storage, f->self, MF_STR("a"), 9, &t, &f->err), &f->err);
  assert_ids(t, "b d");
  assert_ok(get(f, "alice", "c", &t), &f->err);
  mf_stored_tasks_free(t);
}

static void a_restart(void **state)
{
  struct fixture f;
  set_up(&f, false);
  in_fiber(&f, leave_unfinished);
  reopen(&f);
  in_fiber(&f, find_unfinished);
  tear_down(&f);
}

/* Two processes over one file, such as a server and a command that makes a key; here two opens. */
static void see_the_other(struct fixture *f)
{
  struct mf_storage *two = NULL;
  assert_ok(mf_storage_open(f->h.loop, f->h.pool, f->path, &two, &f->err), &f->err);
  put(f, "a", "alice");
  struct mf_stored_tasks *t = NULL;
  assert_ok(mf_storage_get_task(two, f->self, MF_STR("alice"), MF_STR("a"), &t, &f->err), &f->err);
  mf_stored_tasks_free(t);
  struct mf_store_task b = task_of("b", "alice");
  b.idempotency_key = MF_STR("once");
  assert_ok(mf_storage_put_task(two, f->self, &b, &t, &f->err), &f->err);
  struct mf_stored_tasks *other;
  assert_int_equal(put_keyed(f, "b2", "alice", &other), MF_E_EXISTS);
  assert_ids(other, "b");
  const struct mf_store_end end = { .state = MF_TASK_CANCELLED, .result = MF_STR("{}") };
  assert_ok(mf_storage_finish_task(two, f->self, MF_STR("a"), &end, &f->err), &f->err);
  assert_int_equal(finish(f, "a", MF_TASK_SUCCEEDED, T0), MF_E_NOT_FOUND);
  mf_storage_close(two);
}

static void two_opens_of_one_file(void **state)
{
  struct fixture f;
  set_up(&f, false);
  in_fiber(&f, see_the_other);
  tear_down(&f);
}

/* ---- the end of them ---- */

static void expire(struct fixture *f)
{
  struct mf_stored_tasks *t = NULL;
  static const char *const ids[] = { "a", "b", "c", "d", "e" };
  for (unsigned i = 0; i < MF_ARRAY_N(ids); i++) {
    put(f, ids[i], "alice");
    if (i < 4)
      finish_ok(f, ids[i], T0 + 100 - i);
  }
  assert_ok(mf_storage_expire_tasks(f->h.storage, f->self, T0 + 96, 10, &t, &f->err), &f->err);
  assert_ids(t, "");
  assert_true(kept(f, "d") && kept(f, "e"));
  assert_ok(mf_storage_expire_tasks(f->h.storage, f->self, T0 + 99, 2, &t, &f->err), &f->err);
  assert_true(mf_stored_task(t, 0)->is_expired);
  assert_int_equal(mf_stored_task(t, 0)->artifact_bytes, 9);
  mf_stored_tasks_free(t);
  assert_true(kept(f, "a") && kept(f, "b") && !kept(f, "c") && !kept(f, "d"));
  assert_ok(get(f, "alice", "d", &t), &f->err);
  const struct mf_store_task *d = mf_stored_task(t, 0);
  assert_true(d->is_expired);
  assert_int_equal(d->request.len + d->result.len, 0);
  assert_int_equal(d->expires_ms, T0 + 97);
  mf_stored_tasks_free(t);
  assert_ok(mf_storage_expire_tasks(f->h.storage, f->self, T0 + 99, 2, &t, &f->err), &f->err);
  assert_ids(t, "b");
  assert_ok(mf_storage_expire_tasks(f->h.storage, f->self, UINT64_MAX, 9, &t, &f->err), &f->err);
  assert_ids(t, "a");
  if (!f->in_memory) {
    assert_int_equal(count(f, "task_requests"), 1);
    assert_int_equal(count(f, "task_results"), 0);
  }
  assert_true(kept(f, "e")); /* it has not ended */

  assert_ok(mf_storage_forget_tasks(f->h.storage, f->self, T0 + 98, &f->err), &f->err);
  assert_int_equal(get(f, "alice", "c", &t), MF_E_NOT_FOUND);
  assert_int_equal(get(f, "alice", "d", &t), MF_E_NOT_FOUND);
  assert_ok(get(f, "alice", "b", &t), &f->err);
  mf_stored_tasks_free(t);
  assert_ok(mf_storage_forget_tasks(f->h.storage, f->self, UINT64_MAX, &f->err), &f->err);
  assert_int_equal(get(f, "alice", "a", &t), MF_E_NOT_FOUND);
  assert_ok(get(f, "alice", "e", &t), &f->err);
  mf_stored_tasks_free(t);
  assert_false(kept(f, "a"));
}

static void expiry(void **state)
{
  both_ways(expire);
}

enum { CROWD = 1300 };

static void forget_many(struct fixture *f)
{
  char id[20];
  for (unsigned i = 0; i < CROWD; i++) {
    snprintf(id, sizeof(id), "t%u", i);
    put(f, id, "alice");
    finish_ok(f, id, T0 + 30);
  }
  /* In small batches, whatever is asked for. */
  size_t n = 0, all = 0, largest = 0;
  do {
    struct mf_stored_tasks *t = NULL;
    assert_ok(mf_storage_expire_tasks(f->h.storage, f->self, T0 + 30, CROWD, &t, &f->err), &f->err);
    n = mf_stored_tasks_n(t);
    all += n;
    largest = MF_MAX(largest, n);
    mf_stored_tasks_free(t);
  } while (n > 0);
  assert_int_equal(all, CROWD);
  assert_true(largest < CROWD);
  assert_ok(mf_storage_forget_tasks(f->h.storage, f->self, T0 + 30, &f->err), &f->err);
  for (unsigned i = 0; i < CROWD; i++) {
    struct mf_stored_tasks *t = NULL;
    snprintf(id, sizeof(id), "t%u", i);
    assert_int_equal(get(f, "alice", id, &t), MF_E_NOT_FOUND);
  }
}

static void a_crowd_expires(void **state)
{
  struct fixture f;
  set_up(&f, true);
  in_fiber(&f, forget_many);
  tear_down(&f);
}

/* What expires is overwritten: not too much of it at a time. */
static void expire_large(struct fixture *f)
{
  enum { N = 6, BYTES = 700000 };
  char *text = mf_xcalloc(1, BYTES), id[20];
  for (unsigned i = 0; i < N; i++) {
    snprintf(id, sizeof(id), "t%u", i);
    put(f, id, "alice");
    const struct mf_store_file file = { "f", { text, BYTES / 2 } };
    const struct mf_store_end end = { .state = MF_TASK_SUCCEEDED,
                                      .finished_ms = T0,
                                      .expires_ms = T0 + 1,
                                      .result = { text, BYTES / 2 },
                                      .files = &file,
                                      .file_n = 1 };
    assert_ok(mf_storage_finish_task(f->h.storage, f->self, mf_str_of(id), &end, &f->err), &f->err);
  }
  free(text);
  unsigned rounds = 0;
  for (size_t n = 1, all = 0; n > 0; rounds++) {
    struct mf_stored_tasks *t = NULL;
    assert_ok(mf_storage_expire_tasks(f->h.storage, f->self, T0 + 1, 10, &t, &f->err), &f->err);
    n = mf_stored_tasks_n(t);
    all += n;
    mf_stored_tasks_free(t);
    assert_true(n > 0 || all == N);
  }
  assert_int_equal(rounds, N / 2 + 1);
}

static void large_ones_expire_in_small_batches(void **state)
{
  both_ways(expire_large);
}

static void delete_tasks(struct fixture *f)
{
  struct mf_stored_tasks *t = NULL;
  put(f, "a", "alice");
  assert_int_equal(delete (f, "alice", "a"), MF_E_INPUT);
  assert_ok(mf_storage_start_task(f->h.storage, f->self, MF_STR("a"), T0, &f->err), &f->err);
  assert_int_equal(delete (f, "alice", "a"), MF_E_INPUT);
  finish_ok(f, "a", T0 + 30);
  assert_ok(delete (f, "alice", "a"), &f->err);
  assert_int_equal(delete (f, "alice", "a"), MF_E_NOT_FOUND);
  assert_int_equal(get(f, "alice", "a", &t), MF_E_NOT_FOUND);
  assert_false(kept(f, "a"));
  if (!f->in_memory) {
    assert_int_equal(count(f, "task_requests"), 0);
    assert_int_equal(count(f, "task_results"), 0);
  }
}

static void deletion(void **state)
{
  both_ways(delete_tasks);
}

/* ---- small files ---- */

static const char two_names[2][MF_SHA256_HEX_N] = {
  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
  "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
};

/* "a\0b" and an empty one. */
static enum mf_code finish_with_files(struct fixture *f, const char *id, uint64_t expires_ms)
{
  struct mf_store_file files[2] = { { .content = { "a\0b", 3 } }, { .content = MF_STR("") } };
  for (unsigned i = 0; i < 2; i++)
    memcpy(files[i].sha256, two_names[i], sizeof(two_names[i]));
  const struct mf_store_end end = { .state = MF_TASK_SUCCEEDED,
                                    .finished_ms = T0,
                                    .expires_ms = expires_ms,
                                    .artifact_bytes = 3,
                                    .result = MF_STR("{}"),
                                    .files = files,
                                    .file_n = 2 };
  return mf_storage_finish_task(f->h.storage, f->self, mf_str_of(id), &end, &f->err);
}

static enum mf_code file_of(struct fixture *f, const char *id, const char *sha256, struct mf_buf *ret)
{
  return mf_storage_task_file(f->h.storage, f->self, mf_str_of(id), sha256, ret, &f->err);
}

static void assert_files(struct fixture *f, const char *id, bool are_there)
{
  for (unsigned i = 0; i < 2; i++) {
    struct mf_buf content = { 0 };
    assert_int_equal(file_of(f, id, two_names[i], &content), are_there ? MF_OK : MF_E_NOT_FOUND);
    if (are_there) {
      assert_int_equal(content.len, i == 0 ? 3 : 0);
      assert_memory_equal(content.ptr, "a\0b", content.len);
    }
    mf_buf_done(&content);
  }
}

static uint64_t all_file_bytes(struct fixture *f)
{
  uint64_t bytes = 1;
  assert_ok(mf_storage_file_bytes(f->h.storage, f->self, &bytes, &f->err), &f->err);
  return bytes;
}

static void small_files(struct fixture *f)
{
  static const char *const ids[] = { "a", "b", "c" };
  struct mf_stored_tasks *t = NULL;
  struct mf_buf content = { 0 };
  uint64_t deleted_bytes = 0;
  assert_int_equal(all_file_bytes(f), 0);
  for (unsigned i = 0; i < MF_ARRAY_N(ids); i++) {
    put(f, ids[i], "alice");
    assert_ok(finish_with_files(f, ids[i], T0 + 30 + i), &f->err);
    assert_files(f, ids[i], true);
  }
  /* Of one that has ended already nothing is added, and another's are not this one's. */
  assert_int_equal(finish_with_files(f, "a", T0), MF_E_NOT_FOUND);
  assert_int_equal(file_of(f, "d", two_names[0], &content), MF_E_NOT_FOUND);
  assert_int_equal(file_of(f, "a", "cc", &content), MF_E_NOT_FOUND);
  assert_null(content.ptr);
  assert_ok(get(f, "alice", "a", &t), &f->err);
  assert_int_equal(mf_stored_task(t, 0)->file_bytes, 3);
  mf_stored_tasks_free(t);
  assert_int_equal(all_file_bytes(f), 9);
  /* They go with their task, and whoever removes it learns how much that was, once. */
  assert_ok(mf_storage_expire_tasks(f->h.storage, f->self, T0 + 30, 9, &t, &f->err), &f->err);
  assert_int_equal(mf_stored_task(t, 0)->file_bytes, 3);
  assert_ids(t, "a");
  assert_files(f, "a", false);
  assert_int_equal(all_file_bytes(f), 6);
  for (unsigned i = 0; i < 2; i++) {
    assert_ok(
        mf_storage_delete_task(f->h.storage, f->self, MF_STR("alice"), mf_str_of(ids[i]), &deleted_bytes, &f->err),
        &f->err);
    assert_int_equal(deleted_bytes, i == 0 ? 0 : 3);
    assert_files(f, ids[i], false);
  }
  assert_files(f, "c", true);
  assert_int_equal(all_file_bytes(f), 3);
  if (!f->in_memory)
    assert_int_equal(count(f, "task_files"), 2);
}

static void small_files_come_and_go_with_their_task(void **state)
{
  both_ways(small_files);
}

/* One name twice: nothing of that end is stored. */
static void refuse_twice(struct fixture *f)
{
  struct mf_buf content = { 0 };
  struct mf_store_file files[2] = { { .content = MF_STR("x") }, { .content = MF_STR("y") } };
  for (unsigned i = 0; i < 2; i++)
    memcpy(files[i].sha256, two_names[0], sizeof(two_names[0]));
  const struct mf_store_end end = { .state = MF_TASK_SUCCEEDED, .result = MF_STR("{}"), .files = files, .file_n = 2 };
  put(f, "a", "alice");
  assert_int_equal(mf_storage_finish_task(f->h.storage, f->self, MF_STR("a"), &end, &f->err), MF_E_INTERNAL);
  assert_int_equal(file_of(f, "a", two_names[0], &content), MF_E_NOT_FOUND);
  assert_int_equal(all_file_bytes(f), 0);
  assert_ok(finish_with_files(f, "a", T0 + 30), &f->err);
}

static void an_end_is_stored_whole_or_not_at_all(void **state)
{
  both_ways(refuse_twice);
}

/* ---- damage ---- */

static void run_sql(const char *path, const char *sql)
{
  sqlite3 *db = NULL;
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void put_two(struct fixture *f)
{
  put(f, "a", "alice");
  put(f, "b", "alice");
}

static void meet_damage(struct fixture *f)
{
  struct mf_stored_tasks *t = NULL;
  assert_int_equal(get(f, "alice", "a", &t), MF_E_UNAVAILABLE);
  assert_non_null(strstr(f->err.msg, "load a task: database '"));
  assert_non_null(strstr(f->err.msg, "is damaged"));
  assert_int_equal(get(f, "alice", "b", &t), MF_E_UNAVAILABLE);
  assert_null(t);
  assert_int_equal(mf_storage_unfinished_tasks(f->h.storage, f->self, MF_STR(""), 2, &t, &f->err), MF_E_UNAVAILABLE);
  assert_null(t);
}

static void damaged_rows(void **state)
{
  struct fixture f;
  set_up(&f, false);
  in_fiber(&f, put_two);
  harness_close(&f.h);
  run_sql(f.path, "UPDATE task_requests SET json = CAST(x'7bff7d' AS TEXT) WHERE task_key = 1;"
                  "PRAGMA ignore_check_constraints = ON; UPDATE tasks SET state = -3 WHERE id = 'b'");
  assert_ok(harness_open(&f.h, f.path), &f.h.err);
  in_fiber(&f, meet_damage);
  tear_down(&f);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_life_of_a_task),
    cmocka_unit_test(what_cannot_be_stored),
    cmocka_unit_test(another_owner_sees_nothing),
    cmocka_unit_test(a_key_is_used_once),
    cmocka_unit_test(many_with_one_key),
    cmocka_unit_test(pages),
    cmocka_unit_test(a_restart),
    cmocka_unit_test(two_opens_of_one_file),
    cmocka_unit_test(expiry),
    cmocka_unit_test(a_crowd_expires),
    cmocka_unit_test(large_ones_expire_in_small_batches),
    cmocka_unit_test(deletion),
    cmocka_unit_test(small_files_come_and_go_with_their_task),
    cmocka_unit_test(an_end_is_stored_whole_or_not_at_all),
    cmocka_unit_test(damaged_rows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Responses, items, histories, deletion; many callers at once. */
#include "unit.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/utf8.h"
#include "harness.h"
#include "base/banned.h"

/* Each test runs over a file and in memory. */
struct fixture {
  struct harness h;
  char *folder, *path;
};

static void set_up_at(struct fixture *f, bool in_memory)
{
  *f = (struct fixture){ .folder = harness_folder() };
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

static struct mf_store_response response_of(const char *id, const char *previous)
{
  return (struct mf_store_response){
    .id = mf_str_of(id), .previous_id = mf_str_of(previous), .created_at = 1790000000, .payload = MF_STR("{}")
  };
}

static void put(struct fixture *f, const char *id, const char *previous, const char *item)
{
  struct mf_store_response r = response_of(id, previous);
  const struct mf_store_item items[] = { { .id = MF_STR("msg_1"), .json = mf_str_of(item), .is_public = true } };
  r.items = items;
  r.item_n = 1;
  assert_ok(harness_put(&f->h, &r), &f->h.err);
}

static void assert_str(struct mf_str s, const char *expected)
{
  if (!mf_str_is(s, expected))
    fail_msg("'%.*s' is not '%s'", MF_STR_ARG(s), expected);
}

/* The items of a history, each as its text, joined. */
static void assert_history(struct fixture *f, const char *id, const char *expected)
{
  struct mf_stored *s = NULL;
  assert_ok(harness_history(&f->h, id, &s), &f->h.err);
  const struct mf_store_response *r = mf_stored_response(s);
  assert_str(r->id, id);
  struct mf_buf all;
  mf_buf_init(&all, 1u << 20);
  for (size_t i = 0; i < r->item_n; i++)
    assert_int_equal(mf_buf_printf(&all, "%s%.*s", i ? " " : "", MF_STR_ARG(r->items[i].json)), MF_OK);
  assert_string_equal(all.ptr, expected);
  mf_buf_done(&all);
  mf_stored_free(s);
}

static void assert_gone(struct fixture *f, const char *id)
{
  struct mf_stored *s = NULL;
  char text[100];
  snprintf(text, sizeof(text), "not found: Response with id '%s'", id);
  assert_int_equal(harness_get(&f->h, id, &s), MF_E_NOT_FOUND);
  assert_string_equal(f->h.err.msg, text);
  assert_int_equal(harness_history(&f->h, id, &s), MF_E_NOT_FOUND);
  assert_null(s);
}

/* ---- what is put comes back ---- */

static void round_trip(struct fixture *f, bool in_memory)
{
  put(f, "resp_0", "", "first");
  struct mf_store_response r = response_of("resp_1", "resp_0");
  r.created_at = 1790000001;
  r.payload = MF_STR("{\"id\":\"resp_1\",\"n\":1e400,\"text\":\"\xe5\x91\xa8\"}");
  r.tools = MF_STR("[{\"type\":\"function\"}]");
  r.tool_choice = MF_STR("\"auto\"");
  r.instructions = MF_STR("\"be brief\"");
  const struct mf_store_item items[] = {
    { .id = MF_STR("msg_in"), .json = MF_STR("{\"a\":1}"), .is_input = true, .is_public = true },
    { .id = MF_STR(""), .json = MF_STR("{\"b\":2}"), .is_input = true },
    { .id = MF_STR("ci_1"), .json = MF_STR("{\"c\":3}"), .is_public = true, .is_gateway_code = true },
    { .id = MF_STR("msg_1"), .json = MF_STR(""), .is_public = true },
  };
  r.items = items;
  r.item_n = MF_ARRAY_N(items);
  assert_ok(harness_put(&f->h, &r), &f->h.err);
  if (!in_memory)
    reopen(f);

  struct mf_stored *s = NULL;
  assert_ok(harness_get(&f->h, "resp_1", &s), &f->h.err);
  const struct mf_store_response *got = mf_stored_response(s);
  assert_str(got->id, "resp_1");
  assert_str(got->previous_id, "resp_0");
  assert_int_equal(got->created_at, 1790000001);
  assert_true(mf_str_eq(got->payload, r.payload));
  assert_true(mf_str_eq(got->tools, r.tools));
  assert_true(mf_str_eq(got->tool_choice, r.tool_choice));
  assert_true(mf_str_eq(got->instructions, r.instructions));
  assert_int_equal(got->item_n, 4);
  for (unsigned i = 0; i < 4; i++) {
    assert_true(mf_str_eq(got->items[i].id, items[i].id));
    assert_true(mf_str_eq(got->items[i].json, items[i].json));
    assert_int_equal(got->items[i].is_input, items[i].is_input);
    assert_int_equal(got->items[i].is_public, items[i].is_public);
    assert_int_equal(got->items[i].is_gateway_code, items[i].is_gateway_code);
  }
  mf_stored_free(s);

  assert_ok(harness_payload(&f->h, "resp_1", &s), &f->h.err);
  assert_true(mf_str_eq(mf_stored_response(s)->payload, r.payload));
  assert_int_equal(mf_stored_response(s)->item_n, 0);
  mf_stored_free(s);
  assert_int_equal(harness_payload(&f->h, "resp_9", &s), MF_E_NOT_FOUND);

  assert_ok(harness_get(&f->h, "resp_0", &s), &f->h.err);
  assert_int_equal(mf_stored_response(s)->previous_id.len, 0);
  assert_int_equal(mf_stored_response(s)->tools.len, 0);
  mf_stored_free(s);

  assert_ok(harness_history(&f->h, "resp_1", &s), &f->h.err);
  assert_int_equal(mf_stored_response(s)->item_n, 5);
  assert_true(mf_str_eq(mf_stored_response(s)->tools, r.tools));
  mf_stored_free(s);
}

static void histories_and_branches(struct fixture *f, bool in_memory)
{
  put(f, "a", "", "A");
  put(f, "b", "a", "B");
  put(f, "c", "b", "C");
  put(f, "b2", "a", "B2");
  put(f, "c2", "b2", "C2");
  struct mf_store_response empty = response_of("d", "c"); /* a turn without items */
  assert_ok(harness_put(&f->h, &empty), &f->h.err);
  put(f, "e", "d", "E");
  assert_history(f, "a", "A");
  assert_history(f, "c", "A B C");
  assert_history(f, "c2", "A B2 C2");
  assert_history(f, "d", "A B C");
  assert_history(f, "e", "A B C E");
}

static void ids_that_repeat(struct fixture *f, bool in_memory)
{
  put(f, "a", "", "A");
  struct mf_store_response r = response_of("a", "");
  r.payload = MF_STR("another");
  assert_int_equal(harness_put(&f->h, &r), MF_E_EXISTS);
  assert_string_equal(f->h.err.msg, "conflict: Response with id 'a' is already stored");
  struct mf_stored *s = NULL;
  assert_ok(harness_get(&f->h, "a", &s), &f->h.err);
  assert_str(mf_stored_response(s)->payload, "{}");
  mf_stored_free(s);

  /* Item ids are what upstream says; put() names each of its items msg_1. Here also twice in one response. */
  const struct mf_store_item items[] = {
    { .id = MF_STR("msg_1"), .json = MF_STR("B") },
    { .id = MF_STR("msg_1"), .json = MF_STR("C") },
  };
  r = response_of("b", "a");
  r.items = items;
  r.item_n = 2;
  assert_ok(harness_put(&f->h, &r), &f->h.err);
  assert_history(f, "b", "A B C");
}

static void odd_ids(struct fixture *f, bool in_memory)
{
  static const struct mf_str ids[] = {
    MF_STR("a\0b"), MF_STR("a"), MF_STR("a\0c"), MF_STR("\xff\xfe"), MF_STR("'; DROP TABLE items; --"), MF_STR("A"),
  };
  for (unsigned i = 0; i < MF_ARRAY_N(ids); i++) {
    bool is_text = mf_utf8_is_valid(ids[i]);
    struct mf_store_response r = { .id = ids[i], .payload = is_text ? ids[i] : MF_STR("{}") };
    assert_ok(harness_put(&f->h, &r), &f->h.err);
  }
  struct mf_stored *s = NULL;
  assert_ok(harness_get(&f->h, "a", &s), &f->h.err);
  assert_int_equal(mf_stored_response(s)->payload.len, 1);
  mf_stored_free(s);
  assert_ok(harness_get(&f->h, "\xff\xfe", &s), &f->h.err);
  mf_stored_free(s);
  assert_int_equal(harness_get(&f->h, "\x1b[2J", &s), MF_E_NOT_FOUND);
  assert_string_equal(f->h.err.msg, "not found: Response with id '\\x1b[2J'");
  assert_int_equal(harness_get(&f->h, "", &s), MF_E_NOT_FOUND);

  struct mf_store_response r = response_of("", "");
  assert_int_equal(harness_put(&f->h, &r), MF_E_INPUT);
  r = response_of("x", "nowhere");
  assert_int_equal(harness_put(&f->h, &r), MF_E_NOT_FOUND);
  assert_string_equal(f->h.err.msg, "not found: Response with id 'nowhere'");
  assert_gone(f, "x");
}

/* ---- deletion ---- */

static sqlite3_int64 count(struct fixture *f, const char *table)
{
  /* Looked at from outside. */
  sqlite3 *db = NULL;
  sqlite3_stmt *st = NULL;
  char sql[100];
  snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", table);
  assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
  assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_step(st), SQLITE_ROW);
  sqlite3_int64 n = sqlite3_column_int64(st, 0);
  sqlite3_finalize(st);
  sqlite3_close(db);
  return n;
}

static void deletion(struct fixture *f, bool in_memory)
{
  put(f, "a", "", "A");
  put(f, "b", "a", "B");
  put(f, "c", "b", "C");
  assert_int_equal(harness_delete(&f->h, "b"), MF_OK);
  assert_gone(f, "b");
  assert_int_equal(harness_delete(&f->h, "b"), MF_E_NOT_FOUND);
  assert_int_equal(harness_delete(&f->h, "nowhere"), MF_E_NOT_FOUND);
  /* Children that were made before keep their history, and so do theirs. */
  assert_history(f, "c", "A B C");
  put(f, "d", "c", "D");
  assert_history(f, "d", "A B C D");
  struct mf_stored *s = NULL;
  assert_ok(harness_get(&f->h, "c", &s), &f->h.err);
  assert_str(mf_stored_response(s)->previous_id, "b");
  mf_stored_free(s);
  struct mf_store_response again = response_of("b", "");
  assert_int_equal(harness_put(&f->h, &again), MF_E_EXISTS);

  assert_int_equal(harness_delete(&f->h, "a"), MF_OK);
  assert_history(f, "d", "A B C D");
  assert_int_equal(harness_delete(&f->h, "c"), MF_OK);
  assert_history(f, "d", "A B C D");
  if (!in_memory)
    assert_int_equal(count(f, "items"), 4);
  /* Nobody needs any of it now. */
  assert_int_equal(harness_delete(&f->h, "d"), MF_OK);
  if (!in_memory) {
    assert_int_equal(count(f, "items"), 0);
    assert_int_equal(count(f, "responses"), 0);
  }
}

static void deletion_stops_at_a_branch(struct fixture *f, bool in_memory)
{
  put(f, "a", "", "A");
  put(f, "b", "a", "B");
  put(f, "c", "b", "C");
  put(f, "c2", "b", "C2");
  put(f, "z", "", "Z");
  assert_int_equal(harness_delete(&f->h, "a"), MF_OK);
  assert_int_equal(harness_delete(&f->h, "b"), MF_OK);
  assert_int_equal(harness_delete(&f->h, "c"), MF_OK);
  assert_history(f, "c2", "A B C2");
  if (!in_memory)
    assert_int_equal(count(f, "responses"), 4);
  assert_int_equal(harness_delete(&f->h, "c2"), MF_OK);
  if (!in_memory)
    assert_int_equal(count(f, "responses"), 1);
  assert_history(f, "z", "Z");
}

/* A turn that began with a history which was deleted before it ended. */
static void a_parent_that_was_deleted_meanwhile(struct fixture *f, bool in_memory)
{
  put(f, "a", "", "A");
  put(f, "b", "a", "B");
  assert_int_equal(harness_delete(&f->h, "a"), MF_OK);
  put(f, "b2", "a", "B2"); /* its items are there yet, for b */
  assert_history(f, "b2", "A B2");
  put(f, "x", "", "X");
  assert_int_equal(harness_delete(&f->h, "x"), MF_OK);
  struct mf_store_response r = response_of("y", "x");
  assert_int_equal(harness_put(&f->h, &r), MF_E_NOT_FOUND); /* they are not: it would have lost its history */
}

/* ---- bounds ---- */

static void too_large_to_put(struct fixture *f, bool in_memory)
{
  char *big = mf_xmalloc(MF_STORE_BYTES_MAX);
  memset(big, 'x', MF_STORE_BYTES_MAX);
  struct mf_store_response r = response_of("big", "");
  r.payload = (struct mf_str){ big, MF_STORE_BYTES_MAX - 3 };
  assert_ok(harness_put(&f->h, &r), &f->h.err); /* with its id exactly at the limit */
  r = response_of("bigger", "");
  r.payload = (struct mf_str){ big, MF_STORE_BYTES_MAX };
  assert_int_equal(harness_put(&f->h, &r), MF_E_LIMIT);
  assert_string_equal(f->h.err.msg, "response 'bigger' exceeds 67108864 bytes");
  assert_gone(f, "bigger");
  /* Lengths that wrap around are not small. */
  const struct mf_store_item items[] = { { .json = { big, SIZE_MAX } }, { .json = { big, 2 } } };
  r = response_of("wrapped", "");
  r.items = items;
  r.item_n = 2;
  assert_int_equal(harness_put(&f->h, &r), MF_E_LIMIT);
  free(big);
}

static void a_history_too_large_to_load(struct fixture *f, bool in_memory)
{
  enum { PART = 30 << 20 };
  char *big = mf_xmalloc(PART);
  memset(big, 'x', PART);
  const struct mf_store_item items[] = { { .json = { big, PART } } };
  static const char *const ids[] = { "", "h1", "h2", "h3" };
  for (unsigned i = 1; i < MF_ARRAY_N(ids); i++) {
    struct mf_store_response r = response_of(ids[i], ids[i - 1]);
    r.items = items;
    r.item_n = 1;
    assert_ok(harness_put(&f->h, &r), &f->h.err);
  }
  free(big);
  struct mf_stored *s = NULL;
  assert_ok(harness_history(&f->h, "h2", &s), &f->h.err);
  assert_int_equal(mf_stored_response(s)->item_n, 2);
  mf_stored_free(s);
  s = NULL;
  assert_int_equal(harness_history(&f->h, "h3", &s), MF_E_LIMIT);
  assert_string_equal(f->h.err.msg, "the history of response 'h3' exceeds 67108864 bytes");
  assert_null(s);
  assert_ok(harness_get(&f->h, "h3", &s), &f->h.err); /* it is stored all the same */
  mf_stored_free(s);
}

/* In memory, where a commit costs nothing. */
static void a_history_too_deep_to_load(void **state)
{
  struct fixture f;
  set_up_at(&f, true);
  char id[32] = "", previous[32];
  for (unsigned i = 1; i <= MF_STORE_DEPTH_MAX + 1; i++) {
    memcpy(previous, id, sizeof(id));
    snprintf(id, sizeof(id), "r%u", i);
    put(&f, id, previous, "x");
  }
  struct mf_stored *s = NULL;
  assert_ok(harness_history(&f.h, "r4096", &s), &f.h.err);
  assert_int_equal(mf_stored_response(s)->item_n, 4096);
  mf_stored_free(s);
  s = NULL;
  assert_int_equal(harness_history(&f.h, "r4097", &s), MF_E_LIMIT);
  assert_string_equal(f.h.err.msg, "the history has more than 4096 responses");
  tear_down(&f);
}

/* ---- many at once ---- */

enum { WRITERS = 50, TURNS = 20, READERS = 20 };

struct crowd {
  struct fixture *f;
  struct mf_fiber *fibers[WRITERS + READERS];
  unsigned number;
  bool is_writing;
  unsigned stored, loaded;
};
struct member {
  struct crowd *crowd;
  unsigned number;
};

static void write_turns(void *user)
{
  struct member *m = user;
  struct fixture *f = m->crowd->f;
  struct mf_fiber *self = mf_fiber_self(f->h.loop);
  char id[32], previous[32] = "", json[40];
  for (unsigned i = 0; i < TURNS; i++) {
    snprintf(id, sizeof(id), "w%u-%u", m->number, i);
    snprintf(json, sizeof(json), "%u-%u", m->number, i);
    const struct mf_store_item items[] = { { .id = MF_STR("same"), .json = mf_str_of(json) } };
    struct mf_store_response r = response_of(id, previous);
    r.items = items;
    r.item_n = 1;
    struct mf_err err = { 0 };
    assert_ok(mf_storage_put_response(f->h.storage, self, &r, &err), &err);
    m->crowd->stored++;
    /* One that fails in the middle of others' batches. */
    if (i % 5 == 0)
      assert_int_equal(mf_storage_put_response(f->h.storage, self, &r, &err), MF_E_EXISTS);
    memcpy(previous, id, sizeof(id));
  }
}

static void read_turns(void *user)
{
  struct member *m = user;
  struct fixture *f = m->crowd->f;
  struct mf_fiber *self = mf_fiber_self(f->h.loop);
  char id[32];
  while (m->crowd->is_writing) {
    for (unsigned i = 0; i < TURNS; i++) {
      struct mf_err err = { 0 };
      struct mf_stored *s = NULL;
      snprintf(id, sizeof(id), "w%u-%u", m->number, i);
      enum mf_code code = mf_storage_get_history(f->h.storage, self, mf_str_of(id), &s, &err);
      if (code == MF_E_NOT_FOUND)
        break;
      assert_ok(code, &err);
      assert_int_equal(mf_stored_response(s)->item_n, i + 1);
      mf_stored_free(s);
      m->crowd->loaded++;
    }
    assert_int_equal(mf_fiber_sleep(self, 0), MF_OK);
  }
}

static void lead_crowd(void *user)
{
  struct crowd *c = user;
  struct mf_loop *loop = c->f->h.loop;
  struct member members[WRITERS + READERS];
  c->is_writing = true;
  for (unsigned i = 0; i < WRITERS + READERS; i++) {
    members[i] = (struct member){ c, i < WRITERS ? i : i - WRITERS };
    assert_int_equal(mf_fiber_start(loop, i < WRITERS ? write_turns : read_turns, &members[i], 0, &c->fibers[i], NULL),
                     MF_OK);
  }
  for (unsigned i = 0; i < WRITERS; i++)
    mf_fiber_join(mf_fiber_self(loop), c->fibers[i]);
  c->is_writing = false;
  for (unsigned i = WRITERS; i < WRITERS + READERS; i++)
    mf_fiber_join(mf_fiber_self(loop), c->fibers[i]);
}

static void a_crowd(struct fixture *f, bool in_memory)
{
  struct crowd c = { .f = f };
  harness_call(&f->h, lead_crowd, &c);
  assert_int_equal(c.stored, WRITERS * TURNS);
  if (!in_memory)
    reopen(f);
  char id[32];
  struct mf_stored *s = NULL;
  for (unsigned i = 0; i < WRITERS; i++) {
    snprintf(id, sizeof(id), "w%u-%u", i, TURNS - 1);
    assert_ok(harness_history(&f->h, id, &s), &f->h.err);
    assert_int_equal(mf_stored_response(s)->item_n, TURNS);
    mf_stored_free(s);
  }
}

/* ---- cancel, and a pool that is full ---- */

static void put_then_note(void *user)
{
  struct fixture *f = user;
  struct mf_fiber *self = mf_fiber_self(f->h.loop);
  struct mf_store_response r = response_of("kept", "");
  struct mf_err err = { 0 };
  assert_ok(mf_storage_put_response(f->h.storage, self, &r, &err), &err);
  assert_int_equal(mf_fiber_wait(self, 0), MF_E_CANCELLED); /* as if nothing had been in between */
}

static void cancel_writer(void *user)
{
  struct fixture *f = user;
  struct mf_fiber *writer = NULL;
  assert_int_equal(mf_fiber_start(f->h.loop, put_then_note, f, 0, &writer, NULL), MF_OK);
  assert_int_equal(mf_fiber_sleep(mf_fiber_self(f->h.loop), 0), MF_OK);
  mf_fiber_cancel(writer);
  mf_fiber_join(mf_fiber_self(f->h.loop), writer);
}

static void a_cancelled_put_is_a_whole_put(struct fixture *f, bool in_memory)
{
  harness_call(&f->h, cancel_writer, f);
  struct mf_stored *s = NULL;
  assert_ok(harness_get(&f->h, "kept", &s), &f->h.err);
  mf_stored_free(s);
}

/* Items by id: the newest public one, in the order asked for, while its response is there. */
static void items_by_id(void **state)
{
  for (int in_memory = 0; in_memory < 2; in_memory++) {
    struct fixture f;
    set_up_at(&f, in_memory);
    const struct mf_store_item items[] = {
      { .id = MF_STR("in_1"), .json = MF_STR("I"), .is_input = true, .is_public = true },
      { .id = MF_STR("hidden"), .json = MF_STR("H"), .is_input = true },
      { .id = MF_STR("ci_1"), .json = MF_STR("C"), .is_public = true, .is_gateway_code = true },
    };
    struct mf_store_response r = response_of("a", "");
    r.items = items;
    r.item_n = MF_ARRAY_N(items);
    assert_ok(harness_put(&f.h, &r), &f.h.err);
    put(&f, "b", "a", "old");
    put(&f, "c", "b", "new");

    const struct mf_str ids[] = { MF_STR("msg_1"), MF_STR("ci_1"), MF_STR("in_1"), MF_STR("msg_1") };
    struct mf_stored *s = NULL;
    assert_ok(harness_items(&f.h, ids, MF_ARRAY_N(ids), &s), &f.h.err);
    const struct mf_store_response *got = mf_stored_response(s);
    assert_int_equal(got->item_n, 4);
    assert_str(got->items[0].json, "new");
    assert_str(got->items[0].id, "msg_1");
    assert_str(got->items[1].json, "C");
    assert_true(got->items[1].is_gateway_code && !got->items[1].is_input);
    assert_str(got->items[2].json, "I");
    assert_true(got->items[2].is_input && got->items[2].is_public);
    assert_str(got->items[3].json, "new");
    mf_stored_free(s);
    assert_ok(harness_items(&f.h, ids, 0, &s), &f.h.err);
    assert_int_equal(mf_stored_response(s)->item_n, 0);
    mf_stored_free(s);

    const struct mf_str hidden = MF_STR("hidden"), missing[] = { MF_STR("msg_1"), MF_STR("x") };
    assert_int_equal(harness_items(&f.h, &hidden, 1, &s), MF_E_NOT_FOUND);
    assert_int_equal(harness_items(&f.h, missing, 2, &s), MF_E_NOT_FOUND);
    assert_string_equal(f.h.err.msg, "not found: Item with id 'x'");
    static const struct mf_str many[MF_STORE_REFERENCES_MAX + 1];
    assert_int_equal(harness_items(&f.h, many, MF_ARRAY_N(many), &s), MF_E_LIMIT);

    /* What is deleted cannot be referred to, though its children still need it. */
    assert_ok(harness_delete(&f.h, "c"), &f.h.err);
    assert_ok(harness_items(&f.h, ids, 1, &s), &f.h.err);
    assert_str(mf_stored_response(s)->items[0].json, "old");
    mf_stored_free(s);
    assert_ok(harness_delete(&f.h, "a"), &f.h.err);
    assert_int_equal(harness_items(&f.h, &ids[2], 1, &s), MF_E_NOT_FOUND);
    tear_down(&f);
  }
}

static void a_full_pool(void **state)
{
  struct fixture f;
  set_up_at(&f, false);
  put(&f, "a", "", "A");
  mf_storage_close(f.h.storage);
  mf_pool_free(f.h.pool);
  assert_ok(mf_pool_new(f.h.loop, 1, 0, &f.h.pool, &f.h.err), &f.h.err); /* nothing may ever wait */
  assert_ok(mf_storage_open(f.h.loop, f.h.pool, f.path, &f.h.storage, &f.h.err), &f.h.err);
  struct mf_store_response r = response_of("b", "a");
  assert_int_equal(harness_put(&f.h, &r), MF_E_CAPACITY);
  assert_true(strlen(f.h.err.msg) > 0);
  struct mf_stored *s = NULL;
  assert_int_equal(harness_get(&f.h, "a", &s), MF_E_CAPACITY);
  assert_int_equal(harness_ping(&f.h), MF_E_CAPACITY);
  reopen(&f);
  assert_gone(&f, "b");
  assert_history(&f, "a", "A");
  tear_down(&f);
}

/* A kill is tried in test-faults.c and by the gateway's tests; a power failure is not. */
static void every_commit_may_be_synced(void **state)
{
  struct fixture f;
  set_up_at(&f, false);
  assert_ok(mf_storage_sync_every_commit(f.h.storage, &f.h.err), &f.h.err);
  put(&f, "a", "", "A");
  reopen(&f);
  assert_history(&f, "a", "A");
  tear_down(&f);
}

/* ---- the file ---- */

static void only_its_owner_reads_the_file(void **state)
{
  struct fixture f;
  mode_t before = umask(0);
  set_up_at(&f, false);
  put(&f, "a", "", "A");
  umask(before);
  static const char *const suffixes[] = { "", "-wal", "-shm" };
  for (unsigned i = 0; i < MF_ARRAY_N(suffixes); i++) {
    char *path = mf_xasprintf("%s%s", f.path, suffixes[i]);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    free(path);
  }
  assert_int_equal(harness_ping(&f.h), MF_OK);
  tear_down(&f);
}

/* Deleted texts are not left in the file. */
static void deleted_is_erased(void **state)
{
  struct fixture f;
  set_up_at(&f, false);
  put(&f, "keep", "", "kept-text");
  put(&f, "gone", "", "Very-Secret-Text");
  assert_int_equal(harness_delete(&f.h, "gone"), MF_OK);
  harness_close(&f.h); /* the journal goes into the file, and goes */
  FILE *file = fopen(f.path, "r");
  assert_non_null(file);
  static char bytes[1 << 20];
  size_t n = fread(bytes, 1, sizeof(bytes), file);
  fclose(file);
  assert_non_null(memmem(bytes, n, "kept-text", 9));
  assert_null(memmem(bytes, n, "Very-Secret-Text", 16));
  assert_ok(harness_open(&f.h, f.path), &f.h.err);
  tear_down(&f);
}

/* ---- the list ---- */

typedef void test_fn(struct fixture *f, bool in_memory);

static void run_both(void **state)
{
  test_fn *fn = (test_fn *)(uintptr_t)*state;
  for (unsigned in_memory = 0; in_memory < 2; in_memory++) {
    struct fixture f;
    set_up_at(&f, in_memory);
    fn(&f, in_memory);
    tear_down(&f);
  }
}

/* clang-format off */
#define BOTH(test) { #test, run_both, NULL, NULL, (void *)(uintptr_t)test }
/* clang-format on */

int main(void)
{
  const struct CMUnitTest tests[] = {
    BOTH(round_trip),
    BOTH(histories_and_branches),
    BOTH(ids_that_repeat),
    BOTH(odd_ids),
    BOTH(deletion),
    BOTH(deletion_stops_at_a_branch),
    BOTH(a_parent_that_was_deleted_meanwhile),
    BOTH(too_large_to_put),
    BOTH(a_history_too_large_to_load),
    BOTH(a_crowd),
    BOTH(a_cancelled_put_is_a_whole_put),
    cmocka_unit_test(a_history_too_deep_to_load),
    cmocka_unit_test(items_by_id),
    cmocka_unit_test(a_full_pool),
    cmocka_unit_test(every_commit_may_be_synced),
    cmocka_unit_test(only_its_owner_reads_the_file),
    cmocka_unit_test(deleted_is_erased),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

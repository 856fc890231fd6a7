/* A process that stores and says so is killed at any moment, again and again: what it said is true afterwards, and
 * nothing is stored in part. */
#include "unit.h"

#include <stdlib.h>
#include <unistd.h>

#include "crash.h"
#include "harness.h"
#include "base/banned.h"

enum { ROUNDS = 30, WRITERS = 8, ITEMS_MAX = 6 };

/* What a response holds follows from its number, so that the parent knows it without being told. */
struct sample {
  char id[32], payload[64];
  char texts[ITEMS_MAX][4000];
  struct mf_store_item items[ITEMS_MAX];
  struct mf_store_response response;
};

static void name(unsigned number, char ret[32])
{
  snprintf(ret, 32, "resp_%08x", number);
}

static void make_sample(struct sample *s, unsigned number)
{
  unsigned seed = crash_mix(number + 1);
  name(number, s->id);
  snprintf(s->payload, sizeof(s->payload), "{\"id\":\"%s\",\"seed\":%u}", s->id, seed);
  unsigned n = seed % (ITEMS_MAX + 1);
  for (unsigned i = 0; i < n; i++) {
    unsigned len = crash_mix(seed + i) % (sizeof(s->texts[i]) - 40);
    int head = snprintf(s->texts[i], sizeof(s->texts[i]), "{\"n\":%u,\"i\":%u,\"t\":\"", number, i);
    memset(s->texts[i] + head, 'a' + (int)(i % 26), len);
    s->items[i] = (struct mf_store_item){
      .id = MF_STR("msg_repeated"),
      .json = { s->texts[i], (size_t)head + len },
      .is_input = i % 2 == 0,
      .is_public = i % 3 == 0,
      .is_gateway_code = i % 5 == 4,
    };
  }
  s->response = (struct mf_store_response){
    .id = mf_str_of(s->id), .created_at = number, .payload = mf_str_of(s->payload), .items = s->items, .item_n = n
  };
}

/* ---- the child ---- */

struct writing {
  struct harness *h;
  int out;
  unsigned round, writer;
};

static void write_on(void *user)
{
  struct writing *w = user;
  struct mf_fiber *self = mf_fiber_self(w->h->loop);
  struct sample *s = mf_xcalloc(1, sizeof(*s));
  struct mf_err err = { 0 };
  char previous[32] = "";
  for (unsigned i = 0;; i++) {
    unsigned number = w->round << 20 | w->writer << 16 | i;
    make_sample(s, number);
    s->response.previous_id = mf_str_of(previous);
    if (mf_storage_put_response(w->h->storage, self, &s->response, &err))
      _exit(2);
    crash_say(w->out, 'S', number);
    memcpy(previous, s->id, sizeof(previous));
    if (i % 7 == 3) { /* the one before this */
      char id[32];
      name(number - 1, id);
      /* Said before and after: between the two either is right. */
      crash_say(w->out, 'd', number - 1);
      if (mf_storage_delete_response(w->h->storage, self, mf_str_of(id), &err))
        _exit(2);
      crash_say(w->out, 'D', number - 1);
    }
  }
}

static void lead_writers(void *user)
{
  struct writing *all = user;
  struct mf_fiber *fibers[WRITERS], *self = mf_fiber_self(all->h->loop);
  for (unsigned i = 0; i < WRITERS; i++)
    if (mf_fiber_start(all->h->loop, write_on, &all[i], 0, &fibers[i], NULL))
      _exit(2);
  for (unsigned i = 0; i < WRITERS; i++)
    mf_fiber_join(self, fibers[i]);
}

static void be_child(void *user, unsigned round, int out)
{
  struct harness h;
  if (harness_open(&h, user))
    _exit(2);
  struct writing all[WRITERS];
  for (unsigned i = 0; i < WRITERS; i++)
    all[i] = (struct writing){ &h, out, round, i };
  harness_call(&h, lead_writers, all);
}

/* ---- the parent ---- */

enum { STORED = 1, DELETING = 2, DELETED = 4 };
static const char letters[] = "SdD";

static void assert_as_made(const struct mf_store_response *got, struct sample *s, unsigned number)
{
  make_sample(s, number);
  const struct mf_store_response *want = &s->response;
  assert_true(mf_str_eq(got->payload, want->payload));
  assert_int_equal(got->created_at, number);
  assert_int_equal(got->item_n, want->item_n);
  for (size_t i = 0; i < want->item_n; i++) {
    assert_true(mf_str_eq(got->items[i].json, want->items[i].json));
    assert_int_equal(got->items[i].is_input, want->items[i].is_input);
    assert_int_equal(got->items[i].is_public, want->items[i].is_public);
    assert_int_equal(got->items[i].is_gateway_code, want->items[i].is_gateway_code);
  }
}

static void check(struct harness *h, const struct crash_ledger *l, unsigned from, struct sample *s)
{
  for (unsigned i = from; i < l->n; i++) {
    const struct crash_row *k = &l->rows[i];
    char id[32];
    name(k->number, id);
    struct mf_stored *got = NULL;
    enum mf_code code = harness_get(h, id, &got);
    if (k->said & DELETED || (k->said & DELETING && code)) {
      assert_int_equal(code, MF_E_NOT_FOUND);
      continue;
    }
    assert_ok(code, &h->err);
    assert_as_made(mf_stored_response(got), s, k->number);
    mf_stored_free(got);
  }
}

/* What was stored but not acknowledged any more is stored whole; the history of each writer has no gap. */
static unsigned check_ends(struct harness *h, unsigned round, struct sample *s)
{
  unsigned unsaid = 0;
  for (unsigned writer = 0; writer < WRITERS; writer++) {
    unsigned i = 0;
    char id[32];
    struct mf_stored *got = NULL;
    size_t item_n = 0;
    unsigned last = 0;
    bool any = false;
    for (unsigned missing = 0; missing < 2; i++) { /* one may be deleted, two in a row are the end */
      unsigned number = round << 20 | writer << 16 | i;
      name(number, id);
      make_sample(s, number);
      if (harness_get(h, id, &got)) {
        missing++;
        continue;
      }
      missing = 0;
      assert_as_made(mf_stored_response(got), s, number);
      mf_stored_free(got);
      last = i;
      any = true;
      unsaid++;
    }
    if (!any)
      continue;
    for (i = 0; i <= last; i++) {
      make_sample(s, round << 20 | writer << 16 | i);
      item_n += s->response.item_n;
    }
    name(round << 20 | writer << 16 | last, id);
    assert_ok(harness_history(h, id, &got), &h->err);
    assert_int_equal(mf_stored_response(got)->item_n, item_n);
    mf_stored_free(got);
  }
  return unsaid;
}

static void killed_at_any_moment(void **state)
{
  char *folder = harness_folder(), *path = mf_xasprintf("%s/m.db", folder);
  struct crash_ledger l = { .letters = letters };
  struct sample *s = mf_xcalloc(1, sizeof(*s));
  unsigned seed = (unsigned)getpid();
  for (unsigned round = 0; round < ROUNDS; round++) {
    unsigned from = l.n;
    seed = crash_mix(seed + round);
    crash_round(&l, round, seed, be_child, path);

    struct harness h;
    assert_ok(harness_open(&h, path), &h.err);
    check(&h, &l, from, s);
    check_ends(&h, round, s);
    harness_close(&h);
  }
  /* And nothing of an earlier round went in a later one. */
  struct harness h;
  assert_ok(harness_open(&h, path), &h.err);
  check(&h, &l, 0, s);
  harness_close(&h);
  print_message("# %u acknowledged in %u lives\n", l.n, ROUNDS);
  assert_true(l.n > ROUNDS);
  crash_ledger_done(&l);
  free(s);
  free(path);
  harness_remove(folder);
}

int main(void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test(killed_at_any_moment) };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

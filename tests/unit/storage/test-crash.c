/* A process that stores and says so is killed at any moment, again and again: what it said is true afterwards, and
 * nothing is stored in part. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"
#include "base/banned.h"

enum { ROUNDS = 30, WRITERS = 8, ITEMS_MAX = 6, KNOWN_MAX = 60000 };

/* What a response holds follows from its number, so that the parent knows it without being told. */
struct sample {
  char id[32], payload[64];
  char texts[ITEMS_MAX][4000];
  struct mf_store_item items[ITEMS_MAX];
  struct mf_store_response response;
};

static unsigned mix(unsigned n)
{
  n = (n ^ (n >> 16)) * 0x45d9f3bu;
  n = (n ^ (n >> 16)) * 0x45d9f3bu;
  return n ^ (n >> 16);
}

static void name(unsigned number, char ret[32])
{
  snprintf(ret, 32, "resp_%08x", number);
}

static void make_sample(struct sample *s, unsigned number)
{
  unsigned seed = mix(number + 1);
  name(number, s->id);
  snprintf(s->payload, sizeof(s->payload), "{\"id\":\"%s\",\"seed\":%u}", s->id, seed);
  unsigned n = seed % (ITEMS_MAX + 1);
  for (unsigned i = 0; i < n; i++) {
    unsigned len = mix(seed + i) % (sizeof(s->texts[i]) - 40);
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

/* An acknowledgement: 'S' and number, or 'D' and number; 10 bytes, which a pipe takes whole. */
static void say(int out, char what, unsigned number)
{
  char line[16];
  int n = snprintf(line, sizeof(line), "%c%08x\n", what, number);
  if (write(out, line, (size_t)n) != n)
    _exit(3);
}

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
    say(w->out, 'S', number);
    memcpy(previous, s->id, sizeof(previous));
    if (i % 7 == 3) { /* the one before this */
      char id[32];
      name(number - 1, id);
      /* Said before and after: between the two either is right. */
      say(w->out, 'd', number - 1);
      if (mf_storage_delete_response(w->h->storage, self, mf_str_of(id), &err))
        _exit(2);
      say(w->out, 'D', number - 1);
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

static void be_child(const char *path, unsigned round, int out)
{
  struct harness h;
  if (harness_open(&h, path))
    _exit(2);
  struct writing all[WRITERS];
  for (unsigned i = 0; i < WRITERS; i++)
    all[i] = (struct writing){ &h, out, round, i };
  harness_call(&h, lead_writers, all);
  _exit(4);
}

/* ---- the parent ---- */

enum { STORED = 1, DELETING = 2, DELETED = 4 };

struct known {
  unsigned number;
  unsigned char state;
};

struct ledger {
  struct known *rows;
  unsigned n;
};

static void note(struct ledger *l, char what, unsigned number)
{
  for (unsigned i = l->n; what != 'S' && i > 0; i--)
    if (l->rows[i - 1].number == number) {
      l->rows[i - 1].state |= what == 'd' ? DELETING : DELETED;
      return;
    }
  assert_int_equal(what, 'S');
  assert_true(l->n < KNOWN_MAX);
  l->rows[l->n++] = (struct known){ number, STORED };
}

static void kill_after(pid_t child, unsigned us)
{
  nanosleep(&(struct timespec){ .tv_nsec = us * 1000l }, NULL);
  assert_int_equal(kill(child, SIGKILL), 0);
}

/* Reads acknowledgements until the end, and kills the child a while after the first, or after its birth. */
static void read_and_kill(struct ledger *l, int in, pid_t child, unsigned us, bool is_early)
{
  char line[11] = "";
  size_t have = 0;
  bool is_killed = is_early;
  if (is_early)
    kill_after(child, us);
  for (;;) {
    ssize_t n = read(in, line + have, 10 - have);
    if (n < 0 && errno == EINTR)
      continue;
    assert_true(n >= 0);
    if (n == 0)
      break;
    have += (size_t)n;
    if (have < 10)
      continue;
    note(l, line[0], (unsigned)strtoul(line + 1, NULL, 16));
    have = 0;
    if (!is_killed) {
      kill_after(child, us);
      is_killed = true;
    }
  }
  assert_int_equal(have, 0);
  int status = -1;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(is_killed && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

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

static void check(struct harness *h, const struct ledger *l, unsigned from, struct sample *s)
{
  for (unsigned i = from; i < l->n; i++) {
    const struct known *k = &l->rows[i];
    char id[32];
    name(k->number, id);
    struct mf_stored *got = NULL;
    enum mf_code code = harness_get(h, id, &got);
    if (k->state & DELETED || (k->state & DELETING && code)) {
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
  struct ledger l = { .rows = mf_xcalloc(KNOWN_MAX, sizeof(struct known)) };
  struct sample *s = mf_xcalloc(1, sizeof(*s));
  unsigned seed = (unsigned)getpid();
  for (unsigned round = 0; round < ROUNDS; round++) {
    int fds[2];
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    fflush(stdout);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
      close(fds[0]);
      be_child(path, round, fds[1]);
    }
    close(fds[1]);
    unsigned from = l.n;
    seed = mix(seed + round);
    /* Every fifth, from the first on, while it may still be opening. */
    bool is_early = round % 5 == 0;
    read_and_kill(&l, fds[0], child, seed % (is_early ? 30000 : 60000), is_early);
    close(fds[0]);

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
  free(l.rows);
  free(s);
  free(path);
  harness_remove(folder);
}

int main(void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test(killed_at_any_moment) };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

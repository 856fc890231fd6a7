/* All recorded dialogues through the lenient accumulator: none is refused, and of those with a scripted upstream (group
 * C) the invariants of items, deltas and usage hold. Skipped, with the reason, where the recordings are not there. */
#include "stream.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"

enum { LINES_MAX = 2000, ITEMS_MAX = 64 };

struct line {
  unsigned turn;
  char role[16], kind[8], group[16], file[32], where[200];
};
struct all {
  const char *folder;
  struct line lines[LINES_MAX];
  size_t n;
  const char *reason; /* why there are none */
};

/* What the test itself knows of an item of a stream. */
struct seen {
  struct mf_buf deltas, done;
  bool has_done;
  unsigned closed_n;
};

struct outcome {
  enum mf_upstream_state state;
  struct mf_usage usage;
  size_t events_n;
};

static void note_text(struct seen *s, const struct mf_json_val *root, struct mf_str type)
{
  static const char *const fields[] = { "text", "arguments", "code", "input" };
  const struct mf_json_val *delta = mf_json_get(root, "delta");
  bool is_delta = type.len > 6 && memcmp(type.ptr + type.len - 6, ".delta", 6) == 0;
  bool is_done = type.len > 5 && memcmp(type.ptr + type.len - 5, ".done", 5) == 0;
  if (is_delta && mf_json_type_of(delta) == MF_JSON_STR)
    assert_int_equal(mf_buf_append_str(&s->deltas, mf_json_str(delta)), MF_OK);
  for (size_t i = 0; is_done && i < MF_ARRAY_N(fields); i++) {
    const struct mf_json_val *text = mf_json_get(root, fields[i]);
    if (mf_json_type_of(text) != MF_JSON_STR)
      continue;
    s->has_done = true;
    assert_int_equal(mf_buf_append_str(&s->done, mf_json_str(text)), MF_OK);
  }
}

/* Invariants 4 and 5 for one event. */
static void check_event(const struct mf_acc_event *e, struct seen *seen, size_t *opened_n)
{
  const struct mf_json_val *root = mf_json_root(e->doc);
  uint64_t index = 0;
  if (!e->item)
    return;
  assert_true(mf_json_u64(mf_json_get(root, "output_index"), &index) && index < ITEMS_MAX);
  assert_true(e->has_index && e->upstream_index == index && e->item->upstream_index == index);
  if (e->opens) {
    assert_int_equal(index, *opened_n);
    (*opened_n)++;
  }
  assert_true(e->item->saw_added);
  const struct mf_json_val *id = mf_json_get(root, "item_id");
  if (id && mf_json_str(id).len > 0)
    assert_true(mf_str_eq(mf_json_str(id), e->item->id));
  seen[index].closed_n += e->closes;
  if (!e->opens && !e->closes)
    note_text(&seen[index], root, e->type);
}

/* Invariant 6, and 10 for one round. */
static void check_terminal(const struct mf_acc *a, const struct mf_json_val *root)
{
  const struct mf_json_val *response = mf_json_get(root, "response"), *output = mf_json_get(response, "output");
  const struct mf_acc_item *items = NULL;
  size_t n = mf_acc_items(a, &items);
  if (mf_json_len(output) > 0)
    assert_int_equal(n, mf_json_len(output));
  for (size_t i = 0; i < mf_json_len(output); i++) {
    const struct mf_json_val *item = mf_json_at(output, i);
    struct mf_str id = mf_json_str(mf_json_get(item, "id"));
    assert_true(items[i].is_done);
    assert_true(mf_str_eq(items[i].type, mf_json_str(mf_json_get(item, "type"))));
    assert_true(id.len == 0 ? items[i].id.len > 0 : mf_str_eq(items[i].id, id));
  }
  uint64_t total = 0;
  if (mf_json_u64(mf_json_get(mf_json_get(response, "usage"), "total_tokens"), &total))
    assert_true(mf_acc_usage(a).total_tokens == total);
}

static void feed_stream(struct mf_acc *a, struct mf_str text, bool is_recorded, struct outcome *ret)
{
  struct seen seen[ITEMS_MAX] = { 0 };
  for (size_t i = 0; i < ITEMS_MAX; i++) {
    mf_buf_init(&seen[i].deltas, RETAINED_MAX);
    mf_buf_init(&seen[i].done, RETAINED_MAX);
  }
  size_t opened_n = 0;
  bool is_completed = false;
  struct mf_sse_reader *r = mf_sse_reader_new(16u << 20);
  struct mf_err err = { 0 };
  assert_ok(mf_sse_feed(r, text, &err), &err);
  mf_sse_finish(r);
  struct mf_sse_event sse;
  while (mf_sse_next(r, &sse)) {
    struct mf_acc_event e = { 0 };
    assert_ok(mf_acc_feed(a, sse.event, sse.data, &e, &err), &err);
    ret->events_n++;
    if (is_recorded && e.verdict == MF_ACC_DELIVER)
      check_event(&e, seen, &opened_n);
    if (e.verdict == MF_ACC_TERMINAL)
      is_completed = mf_acc_state(a) == MF_UPSTREAM_COMPLETED;
    if (is_recorded && is_completed && e.verdict == MF_ACC_TERMINAL)
      check_terminal(a, mf_json_root(e.doc));
  }
  for (size_t i = 0; i < ITEMS_MAX; i++) {
    if (is_recorded && is_completed && i < opened_n)
      assert_int_equal(seen[i].closed_n, 1);
    /* Invariant 7. */
    if (is_recorded && seen[i].has_done && seen[i].deltas.len > 0)
      assert_true(mf_str_eq(mf_buf_str(&seen[i].deltas), mf_buf_str(&seen[i].done)));
    mf_buf_done(&seen[i].deltas);
    mf_buf_done(&seen[i].done);
  }
  mf_sse_reader_free(r);
}

/* Every item is JSON with the id and type that the accumulator says, and all ids differ. */
static void check_items(const struct mf_acc *a)
{
  static const struct mf_json_limits limits = { .bytes_max = RETAINED_MAX, .depth_max = 64 };
  const struct mf_acc_item *items = NULL;
  size_t n = mf_acc_items(a, &items);
  for (size_t i = 0; i < n; i++) {
    struct mf_json *doc = NULL;
    struct mf_err err = { 0 };
    assert_ok(mf_json_parse(items[i].json, &limits, &doc, &err), &err);
    assert_true(mf_str_eq(mf_json_str(mf_json_get(mf_json_root(doc), "id")), items[i].id));
    assert_true(mf_str_eq(mf_json_str(mf_json_get(mf_json_root(doc), "type")), items[i].type));
    mf_json_free(doc);
    for (size_t k = 0; k < i; k++) {
      assert_true(items[k].upstream_index < items[i].upstream_index);
      assert_false(mf_str_eq(items[k].id, items[i].id));
    }
  }
}

static void feed_line(const struct all *all, const struct line *line, struct outcome *ret)
{
  char path[4096];
  snprintf(path, sizeof(path), "%s/%s", all->folder, line->file);
  struct mf_str text = read_whole(path);
  bool is_recorded = strcmp(line->group, "recorded") == 0 && strcmp(line->role, "upstream") == 0;
  struct mf_acc *a = mf_acc_new(false, 16u << 20);
  *ret = (struct outcome){ 0 };
  if (strcmp(line->kind, "sse") == 0) {
    feed_stream(a, text, is_recorded, ret);
  } else {
    struct mf_err err = { 0 };
    assert_ok(mf_acc_feed_json(a, text, &err), &err);
  }
  check_items(a);
  ret->state = mf_acc_state(a);
  ret->usage = mf_acc_usage(a);
  mf_acc_end(a);
  assert_int_not_equal(mf_acc_state(a), MF_UPSTREAM_OPEN);
  mf_acc_free(a);
  free((void *)text.ptr);
}

static bool must_skip(const struct all *all)
{
  if (!all->reason)
    return false;
  print_message("# %s\n", all->reason);
  return true;
}

static void digests_every_stream_and_body(void **state)
{
  struct all *all = *state;
  if (must_skip(all))
    skip();
  unsigned by_state[4] = { 0 };
  for (size_t i = 0; i < all->n; i++) {
    struct outcome o;
    print_message("# %s %s\n", all->lines[i].where, all->lines[i].file);
    feed_line(all, &all->lines[i], &o);
    by_state[o.state]++;
  }
  assert_true(by_state[MF_UPSTREAM_COMPLETED] > all->n / 2);
  assert_true(by_state[MF_UPSTREAM_INCOMPLETE] > 0);
  assert_true(by_state[MF_UPSTREAM_FAILED] > 0);
}

/* Invariant 10 over rounds: what the gateway reported is the sum of what its upstream did. */
static void sums_usage(void **state)
{
  struct all *all = *state;
  if (must_skip(all))
    skip();
  unsigned compared = 0;
  for (size_t i = 0; i < all->n; i++) {
    const struct line *line = &all->lines[i];
    /* Compaction counts its own summary calls apart. */
    if (strcmp(line->group, "recorded") != 0 || strcmp(line->role, "gateway") != 0 || strstr(line->where, "compact"))
      continue;
    struct outcome gateway;
    feed_line(all, line, &gateway);
    struct mf_usage sum = { 0 };
    unsigned rounds = 0;
    for (size_t k = i + 1; k < all->n && all->lines[k].turn == line->turn; k++) {
      struct outcome round;
      feed_line(all, &all->lines[k], &round);
      mf_usage_add(&sum, &round.usage);
      rounds++;
    }
    if (rounds == 0 || !gateway.usage.present)
      continue;
    print_message("# %s %s: %u rounds\n", line->where, line->file, rounds);
    assert_true(gateway.usage.input_tokens == sum.input_tokens);
    assert_true(gateway.usage.output_tokens == sum.output_tokens);
    assert_true(gateway.usage.total_tokens == sum.total_tokens);
    assert_true(gateway.usage.cached_tokens == sum.cached_tokens);
    assert_true(gateway.usage.reasoning_tokens == sum.reasoning_tokens);
    compared++;
  }
  assert_true(compared > 10);
}

/* The script writes into `folder`; 77 is its word for "cannot be done", with the reason. */
static void load(struct all *all, const char *script, const char *recordings)
{
  static char reason[200] = "the recordings could not be read";
  char command[9000];
  snprintf(command, sizeof(command), "python3 '%s' '%s' '%s' 2>&1", script, recordings, all->folder);
  FILE *p = popen(command, "r");
  all->reason = reason;
  if (!p)
    return;
  if (fgets(reason, sizeof(reason), p))
    reason[strcspn(reason, "\n")] = 0;
  int status = pclose(p);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
    return;
  if (status != 0) {
    fprintf(stderr, "%s: %s\n", script, reason);
    exit(1);
  }
  char path[4096];
  snprintf(path, sizeof(path), "%s/index.txt", all->folder);
  FILE *f = fopen(path, "r");
  if (!f)
    exit(1);
  struct line *at = all->lines;
  while (all->n < LINES_MAX &&
         fscanf(f, "%u %15s %7s %15s %31s %199s", &at->turn, at->role, at->kind, at->group, at->file, at->where) == 6) {
    all->n++;
    at++;
  }
  fclose(f);
  all->reason = all->n > 0 ? NULL : "the recordings are empty";
}

static void clean_up(const struct all *all)
{
  char path[4096];
  for (size_t i = 0; i < all->n; i++) {
    snprintf(path, sizeof(path), "%s/%s", all->folder, all->lines[i].file);
    unlink(path);
  }
  snprintf(path, sizeof(path), "%s/index.txt", all->folder);
  unlink(path);
  rmdir(all->folder);
}

int main(int argc, char **argv)
{
  static struct all all;
  char folder[] = "/tmp/mayfly-cassettes-XXXXXX";
  if (argc != 3 || !mkdtemp(folder))
    return 1;
  all.folder = folder;
  load(&all, argv[1], argv[2]);
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_prestate(digests_every_stream_and_body, &all),
    cmocka_unit_test_prestate(sums_usage, &all),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  clean_up(&all);
  return failed;
}

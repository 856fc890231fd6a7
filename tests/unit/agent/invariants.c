/* What holds in every stream, whatever the model said. */
#include "harness.h"

#include <stdlib.h>

#include "base/banned.h"

enum { ITEMS_MAX = 256, TEXTS_MAX = 512 };

struct seen_item {
  char id[200], type[64];
  bool is_done;
  struct mf_buf done; /* its JSON */
};

/* A text that grows by deltas: of which item, event and part. */
struct seen_text {
  char key[400];
  struct mf_buf text;
  bool is_done;
};

struct state {
  struct seen_item items[ITEMS_MAX];
  size_t item_n;
  struct seen_text texts[TEXTS_MAX];
  size_t text_n;
  char response_id[64];
  size_t at; /* the event */
  const char *type;
};

#define CHECK(s, what)                                                                                                 \
  do {                                                                                                                 \
    if (!(what))                                                                                                       \
      fail_msg("event %zu (%s): not so: %s", (s)->at, (s)->type, #what);                                               \
  } while (0)

static struct mf_str text_of(const struct mf_json_val *obj, const char *key)
{
  const struct mf_json_val *v = mf_json_get(obj, key);
  return mf_json_type_of(v) == MF_JSON_STR ? mf_json_str(v) : (struct mf_str){ 0 };
}

static void write_value(struct mf_buf *out, const struct mf_json_val *v)
{
  struct mf_json_writer w;
  mf_buf_init(out, 1u << 26);
  mf_jw_init(&w, out, false);
  mf_jw_val(&w, v);
  assert_int_equal(w.code, MF_OK);
}

static bool ends_with(const char *s, const char *end)
{
  size_t n = strlen(s), m = strlen(end);
  return n >= m && strcmp(s + n - m, end) == 0;
}

static void check_item(struct state *s, const struct mf_json_val *root, uint64_t index, const char *gateway)
{
  const struct mf_json_val *item = mf_json_get(root, "item");
  struct mf_str id = text_of(item, "id"), type = text_of(item, "type");
  CHECK(s, mf_json_type_of(item) == MF_JSON_OBJ);
  CHECK(s, id.len > 0 && type.len > 0);
  CHECK(s, !gateway || !mf_str_is(type, "function_call") || !mf_str_is(text_of(item, "name"), gateway));
  if (strcmp(s->type, "response.output_item.added") == 0) {
    CHECK(s, index == s->item_n && s->item_n < ITEMS_MAX);
    struct seen_item *it = &s->items[s->item_n++];
    snprintf(it->id, sizeof(it->id), "%.*s", MF_STR_ARG(id));
    snprintf(it->type, sizeof(it->type), "%.*s", MF_STR_ARG(type));
    for (size_t i = 0; i + 1 < s->item_n; i++)
      CHECK(s, strcmp(s->items[i].id, it->id) != 0);
    if (mf_str_is(type, "code_interpreter_call") && mf_str_is(text_of(item, "status"), "in_progress")) {
      CHECK(s, mf_json_get(item, "outputs") && mf_json_type_of(mf_json_get(item, "outputs")) == MF_JSON_NULL);
      CHECK(s, text_of(item, "code").len == 0);
    }
    return;
  }
  CHECK(s, index < s->item_n);
  struct seen_item *it = &s->items[index];
  CHECK(s, !it->is_done);
  CHECK(s, mf_str_is(id, it->id) && mf_str_is(type, it->type));
  it->is_done = true;
  write_value(&it->done, item);
}

/* Deltas, put together, are the done text. */
static void check_text(struct state *s, const struct mf_json_val *root, uint64_t index)
{
  size_t n = strlen(s->type);
  bool is_delta = ends_with(s->type, ".delta");
  if (!is_delta && !ends_with(s->type, ".done"))
    return;
  uint64_t part = 0;
  static const char *const part_keys[] = { "content_index", "summary_index", "command_index" };
  for (size_t i = 0; i < MF_ARRAY_N(part_keys); i++)
    if (mf_json_get(root, part_keys[i]))
      CHECK(s, mf_json_u64(mf_json_get(root, part_keys[i]), &part));
  char key[400];
  snprintf(key, sizeof(key), "%.*s %llu %llu", (int)(n - (is_delta ? 6 : 5)), s->type, (unsigned long long)index,
           (unsigned long long)part);
  size_t i = 0;
  while (i < s->text_n && strcmp(s->texts[i].key, key) != 0)
    i++;
  if (i == s->text_n) {
    if (!is_delta)
      return;
    CHECK(s, s->text_n < TEXTS_MAX);
    s->text_n++;
    snprintf(s->texts[i].key, sizeof(s->texts[i].key), "%s", key);
    mf_buf_init(&s->texts[i].text, 1u << 26);
  }
  struct seen_text *t = &s->texts[i];
  CHECK(s, !t->is_done);
  if (is_delta) {
    assert_int_equal(mf_buf_append_str(&t->text, text_of(root, "delta")), MF_OK);
    return;
  }
  t->is_done = true;
  static const char *const fields[] = { "text", "refusal", "arguments", "code", "input", "command" };
  for (size_t k = 0; k < MF_ARRAY_N(fields); k++)
    if (mf_json_get(root, fields[k]))
      CHECK(s, mf_str_eq(text_of(root, fields[k]), mf_buf_str(&t->text)));
}

/* Each done item is in the output as its event said; a reasoning item may have more members there. */
static void check_output(struct state *s, size_t i, const struct mf_json_val *output)
{
  const struct mf_json_limits limits = { SIZE_MAX, 256 };
  mf_auto_json struct mf_json *doc = NULL;
  assert_int_equal(mf_json_parse(mf_buf_str(&s->items[i].done), &limits, &doc, NULL), MF_OK);
  const struct mf_json_val *item = mf_json_root(doc);
  struct mf_json_iter it = mf_json_iter(item);
  while (mf_json_next(&it)) {
    mf_auto_free char *key = mf_xasprintf("%.*s", MF_STR_ARG(it.key));
    mf_auto_buf struct mf_buf said = { 0 };
    mf_auto_buf struct mf_buf kept = { 0 };
    write_value(&said, it.val);
    CHECK(s, mf_json_get(output, key));
    write_value(&kept, mf_json_get(output, key));
    if (strcmp(said.ptr, kept.ptr) != 0)
      fail_msg("output[%zu].%s is %s, but the done event said %s", i, key, kept.ptr, said.ptr);
  }
  CHECK(s, mf_json_len(item) == mf_json_len(output) || mf_str_is(text_of(item, "type"), "reasoning"));
}

static void check_terminal(struct state *s, const struct mf_json_val *response)
{
  const struct mf_json_val *output = mf_json_get(response, "output");
  CHECK(s, mf_json_type_of(output) == MF_JSON_ARR);
  CHECK(s, mf_json_len(output) == s->item_n);
  struct mf_json_iter it = mf_json_iter(output);
  for (size_t i = 0; mf_json_next(&it); i++) {
    CHECK(s, s->items[i].is_done);
    check_output(s, i, it.val);
  }
}

static void check_response(struct state *s, const struct mf_json_val *root)
{
  const struct mf_json_val *response = mf_json_get(root, "response");
  struct mf_str id = text_of(response, "id");
  CHECK(s, id.len > 0 && id.len < sizeof(s->response_id));
  if (!s->response_id[0])
    snprintf(s->response_id, sizeof(s->response_id), "%.*s", MF_STR_ARG(id));
  CHECK(s, mf_str_is(id, s->response_id));
  CHECK(s, mf_json_get(response, "previous_response_id"));
}

static void check_event(struct state *s, const struct mf_json_val *root, const char *gateway)
{
  uint64_t sequence = UINT64_MAX, index = 0;
  CHECK(s, mf_str_is(text_of(root, "type"), s->type));
  CHECK(s, mf_json_u64(mf_json_get(root, "sequence_number"), &sequence) && sequence == s->at);
  if (mf_json_get(root, "response"))
    check_response(s, root);
  if (!mf_json_get(root, "output_index"))
    return;
  CHECK(s, mf_json_u64(mf_json_get(root, "output_index"), &index));
  if (mf_json_get(root, "item") && strncmp(s->type, "response.output_item.", 21) == 0) {
    check_item(s, root, index, gateway);
    return;
  }
  CHECK(s, index < s->item_n);
  if (mf_json_get(root, "item_id"))
    CHECK(s, mf_str_is(text_of(root, "item_id"), s->items[index].id));
  /* What nobody knows may come late. */
  CHECK(s, !s->items[index].is_done || strstr(s->type, "novelty"));
  check_text(s, root, index);
}

void check_stream(const struct event *events, size_t n, const char *gateway)
{
  static const char *const terminals[] = { "response.completed", "response.incomplete", "response.failed", "error" };
  const struct mf_json_limits limits = { SIZE_MAX, 256 };
  struct state *s = mf_xcalloc(1, sizeof(*s));
  s->type = "";
  CHECK(s, n > 0);
  for (s->at = 0; s->at < n; s->at++) {
    struct mf_err err = { 0 };
    mf_auto_json struct mf_json *doc = NULL;
    s->type = events[s->at].type;
    assert_ok(mf_json_parse(mf_str_of(events[s->at].json), &limits, &doc, &err), &err);
    check_event(s, mf_json_root(doc), gateway);
    bool is_terminal = false;
    for (size_t i = 0; i < MF_ARRAY_N(terminals); i++)
      is_terminal |= strcmp(s->type, terminals[i]) == 0;
    CHECK(s, is_terminal == (s->at + 1 == n));
    bool is_error = strcmp(s->type, "error") == 0;
    if (is_terminal && !is_error)
      check_terminal(s, mf_json_get(mf_json_root(doc), "response"));
    if (s->at == 0)
      CHECK(s, is_error || strcmp(s->type, "response.created") == 0);
    if (s->at == 1)
      CHECK(s, is_error || strcmp(s->type, "response.in_progress") == 0);
  }
  for (size_t i = 0; i < s->item_n; i++)
    mf_buf_done(&s->items[i].done);
  for (size_t i = 0; i < s->text_n; i++)
    mf_buf_done(&s->texts[i].text);
  free(s);
}

/* The accumulator, fed with lines: the first byte chooses lenient or strict, events or one body, and how much may be
 * kept. Whatever comes, what it found is JSON with distinct ids in order, and a response that was refused has not
 * completed. */
#include <string.h>

#include "agent/accumulator.h"
#include "fuzz.h"
#include "base/banned.h"

static const struct mf_json_limits limits = { .bytes_max = 64u << 20, .depth_max = 1024 };

static void check_json(struct mf_str text)
{
  struct mf_json *doc = NULL;
  if (text.len == 0)
    return;
  CHECK(mf_json_parse(text, &limits, &doc, NULL) == MF_OK);
  mf_json_free(doc);
}

static void check_items(const struct mf_acc *a)
{
  const struct mf_acc_item *items = NULL;
  size_t n = mf_acc_items(a, &items);
  for (size_t i = 0; i < n; i++) {
    struct mf_json *doc = NULL;
    CHECK(mf_json_parse(items[i].json, &limits, &doc, NULL) == MF_OK);
    const struct mf_json_val *id = mf_json_get(mf_json_root(doc), "id");
    CHECK(mf_json_type_of(id) == MF_JSON_STR && mf_str_eq(mf_json_str(id), items[i].id));
    mf_json_free(doc);
    CHECK(items[i].id.len > 0);
    CHECK(!items[i].saw_done || items[i].is_done);
    for (size_t k = 0; k < i; k++) {
      CHECK(items[k].upstream_index < items[i].upstream_index);
      CHECK(!mf_str_eq(items[k].id, items[i].id));
    }
  }
}

static void check_event(const struct mf_acc *a, const struct mf_acc_event *e)
{
  CHECK((e->verdict == MF_ACC_TERMINAL) <= (mf_acc_state(a) != MF_UPSTREAM_OPEN));
  CHECK(e->verdict != MF_ACC_DELIVER || (e->doc && e->type.len > 0));
  CHECK(!(e->opens || e->closes) || (e->item && e->verdict == MF_ACC_DELIVER));
  if (e->item)
    CHECK(e->has_index && e->upstream_index == e->item->upstream_index);
}

static void feed_lines(struct mf_acc *a, const char *at, const char *end)
{
  while (at < end) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    stop = stop ? stop : end;
    enum mf_upstream_state before = mf_acc_state(a);
    struct mf_acc_event e;
    struct mf_err err = { 0 };
    enum mf_code code = mf_acc_feed(a, (struct mf_str){ 0 }, (struct mf_str){ at, (size_t)(stop - at) }, &e, &err);
    CHECK(code == err.code && (code == MF_OK || code == MF_E_INPUT || code == MF_E_LIMIT));
    if (code)
      CHECK(mf_acc_state(a) == MF_UPSTREAM_FAILED);
    else
      check_event(a, &e);
    CHECK(code || before == MF_UPSTREAM_OPEN || mf_acc_state(a) == before);
    at = stop + 1;
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  if (n == 0)
    return 0;
  struct mf_acc *a = mf_acc_new(data[0] & 1, data[0] & 4 ? 4096 : 4u << 20);
  const char *at = (const char *)data + 1, *end = (const char *)data + n;
  if (data[0] & 2) {
    enum mf_code code = mf_acc_feed_json(a, (struct mf_str){ at, (size_t)(end - at) }, NULL);
    CHECK(code == MF_OK || code == MF_E_INPUT || code == MF_E_LIMIT);
    CHECK(code == MF_OK || mf_acc_state(a) == MF_UPSTREAM_FAILED);
  } else {
    feed_lines(a, at, end);
  }
  check_items(a);
  mf_acc_end(a);
  CHECK(mf_acc_state(a) != MF_UPSTREAM_OPEN);
  check_items(a);
  check_json(mf_acc_error(a));
  check_json(mf_acc_incomplete(a));
  CHECK(mf_json_type_of(mf_acc_response(a)) == MF_JSON_OBJ || !mf_acc_response(a));
  struct mf_usage sum = mf_acc_usage(a), usage = sum;
  mf_usage_add(&sum, &usage);
  CHECK(sum.total_tokens >= usage.total_tokens);
  mf_acc_free(a);
  return 0;
}

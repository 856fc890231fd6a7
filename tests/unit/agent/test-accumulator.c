/* Whole streams and bodies: the fixtures, however they are cut; JSON bodies; sums of usage. */
#include "stream.h"

#include "base/banned.h"

static const char *fixtures;

static struct mf_str fixture(const char *name)
{
  char path[4096];
  snprintf(path, sizeof(path), "%s/%s", fixtures, name);
  return read_whole(path);
}

/* Feeds a stream in pieces of `step` bytes. */
static struct mf_acc *run(struct mf_str text, size_t step, bool strict)
{
  struct mf_acc *a = mf_acc_new(strict, RETAINED_MAX);
  struct mf_sse_reader *r = mf_sse_reader_new(1u << 20);
  struct mf_err err = { 0 };
  for (size_t at = 0; at <= text.len; at += step) {
    struct mf_str piece = { text.ptr + at, MF_MIN(step, text.len - at) };
    if (piece.len > 0)
      assert_ok(mf_sse_feed(r, piece, &err), &err);
    if (at + step > text.len)
      mf_sse_finish(r);
    struct mf_sse_event sse;
    while (mf_sse_next(r, &sse)) {
      struct mf_acc_event e = { 0 };
      assert_ok(mf_acc_feed(a, sse.event, sse.data, &e, &err), &err);
    }
  }
  mf_sse_reader_free(r);
  mf_acc_end(a);
  return a;
}

static void reads_a_native_interpreter_call(void **state)
{
  struct mf_str text = fixture("interpreter.sse");
  static const size_t steps[] = { 1, 2, 3, 7, 100, 1 << 20 };
  for (int strict = 0; strict < 2; strict++)
    for (size_t i = 0; i < MF_ARRAY_N(steps); i++) {
      struct mf_acc *a = run(text, steps[i], strict);
      assert_int_equal(mf_acc_state(a), MF_UPSTREAM_COMPLETED);
      assert_int_equal(item_n(a), 2);
      assert_str(item_at(a, 0)->json,
                 "{\"id\":\"ci_1\",\"type\":\"code_interpreter_call\",\"status\":\"completed\",\"code\":\"print('ä')\","
                 "\"container_id\":\"cntr_1\",\"outputs\":[{\"type\":\"logs\",\"logs\":\"ä\\n\"}]}");
      assert_str(item_at(a, 1)->type, "message");
      assert_true(item_at(a, 1)->is_done);
      struct mf_usage u = mf_acc_usage(a);
      assert_true(u.present && u.input_tokens == 11 && u.output_tokens == 7 && u.total_tokens == 18);
      assert_true(u.cached_tokens == 2 && u.reasoning_tokens == 3 && !u.has_cache_write);
      assert_str(mf_json_str(mf_json_get(mf_acc_response(a), "id")), "resp_1");
      mf_acc_free(a);
    }

  /* Cut anywhere before its terminal event it has failed. */
  const char *terminal = strstr(text.ptr, "event: response.completed");
  assert_non_null(terminal);
  for (size_t n = 0; n < (size_t)(terminal - text.ptr); n += 97) {
    struct mf_acc *a = run((struct mf_str){ text.ptr, n }, 1 << 20, false);
    assert_int_equal(mf_acc_state(a), MF_UPSTREAM_FAILED);
    assert_true(mf_acc_error(a).len > 0);
    mf_acc_free(a);
  }
  free((void *)text.ptr);
}

static void digests_a_sloppy_stream(void **state)
{
  struct mf_str text = fixture("sloppy.sse");
  struct mf_acc *a = run(text, 5, false);
  assert_int_equal(mf_acc_state(a), MF_UPSTREAM_INCOMPLETE);
  assert_json(mf_acc_incomplete(a), "{'reason':'max_output_tokens'}");
  assert_false(mf_acc_usage(a).present);
  assert_int_equal(item_n(a), 3);
  assert_str(item_at(a, 0)->id, "same");
  assert_str(item_at(a, 0)->type, "reasoning");
  const struct mf_acc_item *call = item_at(a, 1);
  assert_true(mf_str_starts(call->id, "fc_") && call->is_done && call->saw_added && call->saw_done);
  assert_str(call->call_id, "call_1");
  assert_json(call->arguments, "{'a':1}");
  assert_true(mf_str_starts(item_at(a, 2)->id, "msg_"));
  assert_false(item_at(a, 2)->saw_added);
  mf_acc_free(a);
  free((void *)text.ptr);
}

/* Its type would be more than one line of the client's stream. */
static void swallows_a_type_of_two_lines(void **state)
{
  static const char *const types[] = { "x\\ny", "x\\ry", "x\\r\\nevent: response.completed" };
  for (size_t i = 0; i < MF_ARRAY_N(types); i++) {
    mf_auto_free char *text = mf_xasprintf("{\"type\":\"%s\",\"sequence_number\":0}", types[i]);
    struct mf_acc_event e = { .verdict = MF_ACC_DELIVER };
    struct mf_acc *a = mf_acc_new(false, RETAINED_MAX);
    struct mf_err err = { 0 };
    assert_ok(mf_acc_feed(a, MF_STR(""), mf_str_of(text), &e, &err), &err);
    assert_int_equal(e.verdict, MF_ACC_SWALLOW);
    assert_int_equal(mf_acc_state(a), MF_UPSTREAM_OPEN);
    mf_acc_free(a);
    a = mf_acc_new(true, RETAINED_MAX);
    assert_int_equal(mf_acc_feed(a, MF_STR(""), mf_str_of(text), &e, &err), MF_E_INPUT);
    mf_acc_free(a);
  }
}

static void reads_bodies(void **state)
{
  static const struct {
    const char *body;
    enum mf_upstream_state state;
    size_t item_n;
    const char *error;
  } rows[] = {
    { "{\"id\":\"r\",\"status\":\"completed\",\"error\":null,\"output\":[{\"type\":\"message\",\"id\":\"m\"},"
      "{\"type\":\"x\",\"id\":\"m\"}]}",
      MF_UPSTREAM_COMPLETED, 2, "" },
    { "{\"id\":\"r\",\"status\":\"incomplete\",\"output\":[]}", MF_UPSTREAM_INCOMPLETE, 0, "" },
    { "{\"id\":\"r\",\"status\":\"failed\",\"output\":[],\"error\":{\"code\":\"c\"}}", MF_UPSTREAM_FAILED, 0,
      "{\"code\":\"c\"}" },
    { "{\"id\":\"r\",\"status\":\"in_progress\",\"output\":[]}", MF_UPSTREAM_FAILED, 0, "" },
    { "{\"output\":[{\"type\":\"message\"}]}", MF_UPSTREAM_COMPLETED, 1, "" },
    { "{\"error\":{\"message\":\"m\"}}", MF_UPSTREAM_FAILED, 0, "{\"message\":\"m\"}" },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    struct mf_acc *a = mf_acc_new(false, RETAINED_MAX);
    struct mf_err err = { 0 };
    assert_ok(mf_acc_feed_json(a, mf_str_of(rows[i].body), &err), &err);
    assert_int_equal(mf_acc_state(a), rows[i].state);
    assert_int_equal(item_n(a), rows[i].item_n);
    assert_str(mf_acc_error(a), rows[i].error);
    for (size_t k = 0; k < item_n(a); k++) {
      const struct mf_acc_item *item = item_at(a, k);
      assert_true(item->is_done && !item->saw_added && !item->saw_done && item->upstream_index == k);
    }
    mf_acc_free(a);
  }

  static const char *const bad[] = { "", "no json", "[]", "{}", "{\"output\":{}}", "7" };
  for (size_t i = 0; i < MF_ARRAY_N(bad); i++) {
    struct mf_acc *a = mf_acc_new(false, RETAINED_MAX);
    assert_int_equal(mf_acc_feed_json(a, mf_str_of(bad[i]), NULL), MF_E_INPUT);
    assert_int_equal(mf_acc_state(a), MF_UPSTREAM_FAILED);
    mf_acc_free(a);
  }
  struct mf_acc *a = mf_acc_new(true, RETAINED_MAX);
  assert_int_equal(mf_acc_feed_json(a, MF_STR("{\"output\":[]}"), NULL), MF_E_INPUT);
  mf_acc_free(a);
}

static struct mf_usage usage_of(const char *json)
{
  struct mf_acc *a = mf_acc_new(false, RETAINED_MAX);
  mf_auto_free char *text = mf_xasprintf("{'type':'response.completed','response':{'usage':%s}}", json);
  feed(a, text);
  struct mf_usage u = mf_acc_usage(a);
  mf_acc_free(a);
  return u;
}

static void adds_usage_without_overflow(void **state)
{
  struct mf_usage sum = { 0 }, u = usage_of("null");
  assert_false(u.present);
  mf_usage_add(&sum, &u);
  assert_false(sum.present);

  u = usage_of("{'input_tokens':3,'output_tokens':4,'input_tokens_details':{'cache_write_tokens':0}}");
  assert_true(u.present && u.total_tokens == 7 && u.has_cache_write);
  mf_usage_add(&sum, &u);
  u = usage_of("{'input_tokens':18446744073709551615,'output_tokens':1e300,'total_tokens':2.0,"
               "'input_tokens_details':{'cached_tokens':-5},'output_tokens_details':{'reasoning_tokens':'9'}}");
  assert_true(u.input_tokens == UINT64_MAX && u.output_tokens == UINT64_MAX && u.total_tokens == 2);
  assert_true(u.cached_tokens == 0 && u.reasoning_tokens == 0 && !u.has_cache_write);
  mf_usage_add(&sum, &u);
  assert_true(sum.present && sum.has_cache_write);
  assert_true(sum.input_tokens == UINT64_MAX && sum.output_tokens == UINT64_MAX && sum.total_tokens == 9);

  u = usage_of("{'input_tokens':99999999999999999999999,'output_tokens':1e999,'total_tokens':-1e999}");
  assert_true(u.input_tokens == UINT64_MAX && u.output_tokens == UINT64_MAX && u.total_tokens == 0);
}

int main(int argc, char **argv)
{
  if (argc != 2)
    return 1;
  fixtures = argv[1];
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(reads_a_native_interpreter_call), cmocka_unit_test(digests_a_sloppy_stream),
    cmocka_unit_test(swallows_a_type_of_two_lines),    cmocka_unit_test(reads_bodies),
    cmocka_unit_test(adds_usage_without_overflow),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

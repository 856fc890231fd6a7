/* A stream of events as text. */
#include "unit.h"

#include "transcript.h"

#include "base/banned.h"

/* What the events, one JSON object each, show in all. */
static void feed(struct mf_transcript *t, const char *const *events, size_t n, struct mf_buf *out)
{
  static const struct mf_json_limits limits = { .bytes_max = 65536, .depth_max = 32 };
  struct mf_err err = { 0 };
  for (size_t i = 0; i < n; i++) {
    mf_auto_json struct mf_json *event = NULL;
    assert_ok(mf_json_parse(mf_str_of(events[i]), &limits, &event, &err), &err);
    assert_ok(mf_transcript_event(t, mf_json_root(event), out, &err), &err);
  }
}

static void a_whole_turn(void **state)
{
  static const char *const events[] = {
    "{\"type\":\"response.created\",\"response\":{\"status\":\"in_progress\"}}",
    "{\"type\":\"response.reasoning_text.delta\",\"delta\":\"hm\"}",
    "{\"type\":\"response.code_interpreter_call_code.delta\",\"delta\":\"print(1)\\nprint(2)\\n\"}",
    "{\"type\":\"response.output_item.done\",\"item\":{\"type\":\"code_interpreter_call\",\"status\":\"completed\","
    "\"outputs\":[{\"type\":\"logs\",\"logs\":\"1\\n\\n2\\n\"}]}}",
    "{\"type\":\"response.output_text.delta\",\"delta\":\"It is \"}",
    "{\"type\":\"response.output_text.delta\",\"delta\":\"two.\"}",
    "{\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[1,2,3],"
    "\"usage\":{\"input_tokens\":7,\"output_tokens\":5}}}",
  };
  struct mf_transcript t;
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, 65536);
  mf_transcript_init(&t);
  feed(&t, events, MF_ARRAY_N(events), &out);
  assert_string_equal(out.ptr, "\n[the model thinks]\n  hm\n\n[the model's program]\n  print(1)\n  print(2)\n"
                               "\n[output of the sandbox]\n  1\n\n  2\n\n[the model answers]\n  It is two.\n\n"
                               "completed: 3 items, 7 tokens in, 5 out (the scripted model's own count)\n");
  assert_true(t.has_completed && t.has_run);
  assert_string_equal(t.words, "");
}

static void what_did_not_go_well(void **state)
{
  static const char *const events[] = {
    "{\"type\":\"response.output_item.done\",\"item\":{\"type\":\"code_interpreter_call\",\"status\":\"failed\","
    "\"outputs\":[]}}",
    "{\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"output\":[],\"error\":{\"message\":\"gone\"}}"
    "}",
  };
  static const char *const error[] = { "{\"type\":\"error\",\"error\":{\"message\":\"broken\"}}",
                                       "{\"type\":\"error\"}", "{}", "{\"type\":5,\"delta\":[]}",
                                       "{\"type\":\"response.output_text.delta\",\"delta\":7}" };
  struct mf_transcript t;
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, 65536);
  mf_transcript_init(&t);
  feed(&t, events, MF_ARRAY_N(events), &out);
  assert_false(t.has_completed || t.has_run);
  assert_string_equal(t.words, "the response is failed: gone");
  feed(&t, error, 1, &out);
  assert_string_equal(t.words, "the stream ended with an error: broken");
  feed(&t, error, MF_ARRAY_N(error), &out); /* nonsense is no crash */
}

static void too_much_is_an_error(void **state)
{
  static const struct mf_json_limits limits = { .bytes_max = 65536, .depth_max = 32 };
  struct mf_transcript t;
  struct mf_err err = { 0 };
  mf_auto_buf struct mf_buf out;
  mf_auto_json struct mf_json *event = NULL;
  mf_buf_init(&out, 30);
  mf_transcript_init(&t);
  assert_ok(mf_json_parse(MF_STR("{\"type\":\"response.output_text.delta\",\"delta\":\"0123456789\"}"), &limits, &event,
                          &err),
            &err);
  assert_int_equal(mf_transcript_event(&t, mf_json_root(event), &out, &err), MF_E_LIMIT);
  assert_true(out.len <= 30);
}

int main(void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test(a_whole_turn), cmocka_unit_test(what_did_not_go_well),
                                      cmocka_unit_test(too_much_is_an_error) };
  return cmocka_run_group_tests_name("cli/transcript", tests, NULL, NULL);
}

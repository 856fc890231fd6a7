/* Replies: placeholders, JSON objects, and events that build up what the object says. */
#include "unit.h"

#include "reply.h"
#include "base/banned.h"

enum { OUT_MAX = 1 << 20 };

static void filled(const char *body, const char *text, bool in_json, const char *wanted)
{
  struct mf_model_ask a;
  struct mf_err err = { 0 };
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, OUT_MAX);
  assert_ok(mf_model_ask_parse(mf_str_of(body), &a, &err), &err);
  assert_int_equal(mf_model_ask_fill(&a, mf_str_of(text), in_json, &out), MF_OK);
  assert_string_equal(out.ptr, wanted);
  mf_model_ask_done(&a);
}

static void test_placeholders(void **state)
{
  static const char body[] =
      "{\"model\":\"m\",\"input\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"ask "
      "\\\"it\\\"\"}]},"
      "{\"type\":\"function_call_output\",\"output\":\"{\\\"stdout\\\":\\\"4\\\\n2\\\",\\\"n\\\":[1, 2]}\"}]}";
  filled(body, "plain", false, "plain");
  filled(body, "{{last_user_text}} of {{model}}", false, "ask \"it\" of m");
  filled(body, "{{last_user_text}}", true, "ask \\\"it\\\"");
  filled(body, "[{{last_tool_output.stdout}}]", false, "[4\n2]");
  filled(body, "[{{last_tool_output.stdout}}]", true, "[4\\n2]");
  filled(body, "{{last_tool_output.n}}{{last_tool_output.none}}", false, "[1,2]");
  filled(body, "{{last_tool_output}}", false, "{\"stdout\":\"4\\n2\",\"n\":[1, 2]}");
  filled(body, "f\"{{x}}\" {{{model}}} {{", false, "f\"{{x}}\" {m} {{");
  filled("{\"input\":\"hi\"}", "<{{last_user_text}}{{last_tool_output}}>", false, "<hi>");
}

static char *reply_of(const char *scenario, const char *body, bool *ret_is_events)
{
  struct mf_scenario *s = NULL;
  struct mf_model_ask a;
  struct mf_err err = { 0 };
  struct mf_buf out;
  mf_buf_init(&out, OUT_MAX);
  assert_ok(mf_scenario_parse(mf_str_of(scenario), &s, &err), &err);
  assert_ok(mf_model_ask_parse(mf_str_of(body), &a, &err), &err);
  assert_ok(mf_model_reply_write(&s->scripts[0].rounds[0], &a, &out, ret_is_events, &err), &err);
  mf_model_ask_done(&a);
  mf_scenario_free(s);
  return mf_buf_take(&out, NULL);
}

static struct mf_json *parse(struct mf_str text)
{
  const struct mf_json_limits limits = { .bytes_max = OUT_MAX, .depth_max = 64 };
  struct mf_json *doc = NULL;
  struct mf_err err = { 0 };
  assert_ok(mf_json_parse(text, &limits, &doc, &err), &err);
  return doc;
}

static void test_json(void **state)
{
  bool is_events = true;
  mf_auto_free char *text =
      reply_of("{\"rounds\":[{\"text\":\"hello\",\"calls\":[{\"name\":\"f\",\"arguments\":{\"a\":1}}],"
               "\"usage\":{\"input_tokens\":7,\"output_tokens\":3}}]}",
               "{\"model\":\"m\",\"metadata\":{\"k\":\"v\"}}", &is_events);
  assert_false(is_events);
  mf_auto_json struct mf_json *doc = parse(mf_str_of(text));
  const struct mf_json_val *r = mf_json_root(doc), *output = mf_json_get(r, "output");
  assert_true(mf_str_is(mf_json_str(mf_json_get(r, "status")), "completed"));
  assert_true(mf_str_is(mf_json_str(mf_json_get(mf_json_get(r, "metadata"), "k")), "v"));
  assert_int_equal(mf_json_len(output), 2);
  const struct mf_json_val *part = mf_json_at(mf_json_get(mf_json_at(output, 0), "content"), 0);
  assert_true(mf_str_is(mf_json_str(mf_json_get(part, "text")), "hello"));
  assert_true(mf_str_is(mf_json_str(mf_json_get(mf_json_at(output, 1), "arguments")), "{\"a\":1}"));
  uint64_t total = 0;
  assert_true(mf_json_u64(mf_json_get(mf_json_get(r, "usage"), "total_tokens"), &total));
  assert_int_equal(total, 10);
}

/* Numbers without a gap, and deltas that add up without cutting a character in two. */
static void test_events(void **state)
{
  static const char wanted[] = "größer als gedacht, und größer: ÄÖÜ€€€€€€€€";
  bool is_events = false;
  char scenario[300], joined[300] = "";
  snprintf(scenario, sizeof(scenario), "{\"rounds\":[{\"text\":\"%s\",\"reasoning\":\"hm\"}]}", wanted);
  mf_auto_free char *text = reply_of(scenario, "{\"stream\":true}", &is_events);
  assert_true(is_events);
  uint64_t sequence = 0, event_n = 0, joined_n = 0;
  const char *last = NULL;
  for (const char *at = strstr(text, "data: "); at && strncmp(at, "data: [", 7) != 0; at = strstr(at + 6, "data: ")) {
    mf_auto_json struct mf_json *doc = parse((struct mf_str){ at + 6, strcspn(at + 6, "\n") });
    const struct mf_json_val *e = mf_json_root(doc);
    assert_true(mf_json_u64(mf_json_get(e, "sequence_number"), &sequence));
    assert_int_equal(sequence, event_n++);
    if (mf_str_is(mf_json_str(mf_json_get(e, "type")), "response.output_text.delta")) {
      struct mf_str delta = mf_json_str(mf_json_get(e, "delta"));
      assert_true(joined_n + delta.len < sizeof(joined));
      memcpy(joined + joined_n, delta.ptr, delta.len);
      joined_n += delta.len;
    }
    last = at;
  }
  assert_string_equal(joined, wanted);
  assert_non_null(last);
  assert_int_equal(strncmp(last, "data: {\"type\":\"response.completed\"", 34), 0);
  assert_non_null(strstr(last, "\n\ndata: [DONE]\n\n"));
}

static void test_given(void **state)
{
  bool is_events = false;
  mf_auto_free char *text =
      reply_of("{\"rounds\":[{\"events\":[{\"type\":\"a\",\"n\":1.50}]}]}", "{\"stream\":true}", &is_events);
  assert_true(is_events);
  assert_string_equal(text, "event: a\ndata: {\"type\":\"a\",\"n\":1.50}\n\ndata: [DONE]\n\n");
  mf_auto_free char *raw = reply_of("{\"rounds\":[{\"events\":[\"data: x\\n\"]}]}", "{\"stream\":true}", &is_events);
  assert_string_equal(raw, "data: x\n");
  mf_auto_free char *whole =
      reply_of("{\"rounds\":[{\"events\":[{\"type\":\"a\",\"response\":{\"id\":\"r\"}}]}]}", "{}", &is_events);
  assert_false(is_events);
  assert_string_equal(whole, "{\"id\":\"r\"}");
  mf_auto_free char *body = reply_of("{\"rounds\":[{\"body\":\"not { json\"}]}", "{\"stream\":true}", &is_events);
  assert_false(is_events);
  assert_string_equal(body, "not { json");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_placeholders),
    cmocka_unit_test(test_json),
    cmocka_unit_test(test_events),
    cmocka_unit_test(test_given),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

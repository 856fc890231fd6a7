/* Scenarios that are wrong are refused with the place; a right one gives each request its round. */
#include "unit.h"

#include "plan.h"
#include "base/banned.h"

static void refuses(const char *text, const char *part)
{
  struct mf_scenario *s = NULL;
  struct mf_err err = { 0 };
  assert_int_not_equal(mf_scenario_parse(mf_str_of(text), &s, &err), MF_OK);
  assert_null(s);
  if (!strstr(err.msg, part))
    fail_msg("'%s' is not in '%s'", part, err.msg);
}

static void test_refused(void **state)
{
  refuses("[", "line 1");
  refuses("[]", "scenario: expected an object");
  refuses("{}", "scenario.rounds");
  refuses("{\"rounds\":[]}", "1 to 1000 rounds");
  refuses("{\"rounds\":[{\"text\":\"a\"}],\"lop\":true}", "unknown member 'lop'");
  refuses("{\"rounds\":[{\"text\":\"a\"}],\"loop\":1}", "scenario.loop: expected a boolean");
  refuses("{\"rounds\":[{\"text\":\"a\"}],\"pick\":\"any\"}", "scenario.pick");
  refuses("{\"rounds\":[{\"text\":\"a\"},{}]}", "rounds[1]: has neither");
  refuses("{\"rounds\":[{\"text\":1}]}", "rounds[0].text: expected a string");
  refuses("{\"rounds\":[{\"txt\":\"a\"}]}", "rounds[0]: unknown member 'txt'");
  refuses("{\"rounds\":[{\"text\":\"a\",\"body\":{}}]}", "exclude each other");
  refuses("{\"rounds\":[{\"text\":\"a\",\"fault\":\"explode\"}]}", "rounds[0].fault: unknown fault 'explode'");
  refuses("{\"rounds\":[{\"text\":\"a\",\"status\":42}]}", "rounds[0].status");
  refuses("{\"rounds\":[{\"text\":\"a\",\"delay_ms\":-1}]}", "rounds[0].delay_ms");
  refuses("{\"rounds\":[{\"text\":\"a\",\"split\":\"every now and then\"}]}", "rounds[0].split");
  refuses("{\"rounds\":[{\"text\":\"a\",\"split\":\"every \"}]}", "rounds[0].split");
  refuses("{\"rounds\":[{\"text\":\"a\",\"split\":\"every 0 bytes\"}]}", "rounds[0].split");
  refuses("{\"rounds\":[{\"text\":\"a\",\"split\":[5,5]}]}", "rounds[0].split[1]");
  refuses("{\"rounds\":[{\"text\":\"a\",\"headers\":{\"a\":1}}]}", "rounds[0].headers");
  refuses("{\"rounds\":[{\"text\":\"a\",\"match\":{\"modle\":\"m\"}}]}", "rounds[0].match: unknown member 'modle'");
  refuses("{\"rounds\":[{\"text\":\"a\"}],\"paths\":[]}", "scenario.paths: expected an object");
  refuses("{\"rounds\":[{\"text\":\"a\"}],\"paths\":{\"v1\":{\"text\":\"a\"}}}", "paths.v1: a path begins with '/'");
  refuses("{\"rounds\":[{\"text\":\"a\"}],\"paths\":{\"/v1\":{\"txt\":\"a\"}}}", "paths./v1: unknown member 'txt'");
  refuses("{\"rounds\":[{\"calls\":[{\"name\":\"f\"}]}]}", "rounds[0].calls[0].arguments");
  refuses("{\"rounds\":[{\"calls\":[{\"arguments\":{}}]}]}", "rounds[0].calls[0].name");
  refuses("{\"rounds\":[{\"events\":[{}]}]}", "rounds[0].events[0]");
  refuses("{\"scenarios\":{}}", "scenarios: expected");
  refuses("{\"scenarios\":{\"m\":{\"rounds\":[{\"text\":\"a\"},{\"text\":2}]}}}", "scenarios.m.rounds[1].text");
}

struct fixture {
  struct mf_scenario *scenario;
  struct mf_plan *plan;
};

static struct fixture begin(const char *text)
{
  struct fixture f = { .plan = mf_plan_new() };
  struct mf_err err = { 0 };
  assert_ok(mf_scenario_parse(mf_str_of(text), &f.scenario, &err), &err);
  return f;
}

static void end(struct fixture *f)
{
  mf_plan_free(f->plan);
  mf_scenario_free(f->scenario);
}

/* The round that a request gets; -1: none; -2: no such model. */
static int next(struct fixture *f, const char *session, const char *body)
{
  struct mf_model_ask a;
  struct mf_err err = { 0 };
  size_t at = 0;
  assert_ok(mf_model_ask_parse(mf_str_of(body), &a, &err), &err);
  const struct mf_model_script *script = mf_scenario_find(f->scenario, a.model);
  enum mf_code code = script ? mf_plan_next(f->plan, script, mf_str_of(session), &a, &at, &err) : MF_OK;
  mf_model_ask_done(&a);
  if (code)
    assert_int_equal(code, MF_E_GONE);
  return !script ? -2 : code ? -1 : (int)at;
}

static void test_order(void **state)
{
  struct fixture f = begin("{\"rounds\":[{\"text\":\"a\"},{\"text\":\"b\"}]}");
  assert_int_equal(next(&f, "x", "{}"), 0);
  assert_int_equal(next(&f, "y", "{}"), 0);
  assert_int_equal(next(&f, "x", "{}"), 1);
  assert_int_equal(next(&f, "x", "{}"), -1);
  assert_int_equal(next(&f, "y", "{}"), 1);
  mf_plan_reset(f.plan);
  assert_int_equal(next(&f, "x", "{}"), 0);
  end(&f);
}

static void test_loop_and_match(void **state)
{
  struct fixture f = begin("{\"loop\":true,\"rounds\":[{\"text\":\"a\",\"match\":{\"contains\":\"rain\"}},"
                           "{\"text\":\"b\"},{\"text\":\"c\",\"match\":{\"model\":\"m\"}}]}");
  assert_int_equal(next(&f, "", "{\"model\":\"n\",\"input\":\"sun\"}"), 1);
  assert_int_equal(next(&f, "", "{\"model\":\"n\",\"input\":\"a train\"}"), 0);
  assert_int_equal(next(&f, "", "{\"model\":\"m\",\"input\":\"sun\"}"), 2);
  assert_int_equal(next(&f, "", "{\"model\":\"n\",\"input\":\"sun\"}"), 1);
  end(&f);
}

static void test_turn(void **state)
{
  struct fixture f = begin("{\"pick\":\"turn\",\"rounds\":[{\"text\":\"a\"},{\"text\":\"b\"}]}");
  static const char one[] = "{\"input\":[{\"role\":\"user\",\"content\":\"q\"},{\"type\":\"function_call\"},"
                            "{\"type\":\"function_call_output\",\"output\":\"1\"},"
                            "{\"type\":\"function_call_output\",\"output\":\"2\"}]}";
  static const char anew[] = "{\"input\":[{\"type\":\"function_call_output\",\"output\":\"1\"},"
                             "{\"role\":\"user\",\"content\":\"q\"}]}";
  static const char two[] = "{\"input\":[{\"type\":\"function_call_output\",\"output\":\"1\"},{\"type\":\"reasoning\"},"
                            "{\"type\":\"function_call_output\",\"output\":\"2\"}]}";
  assert_int_equal(next(&f, "", "{\"input\":\"q\"}"), 0);
  assert_int_equal(next(&f, "", "{\"input\":\"q\"}"), 0);
  assert_int_equal(next(&f, "", one), 1);
  assert_int_equal(next(&f, "", anew), 0);
  assert_int_equal(next(&f, "", two), -1);
  end(&f);
}

static void test_by_model(void **state)
{
  struct fixture f = begin("{\"scenarios\":{\"m\":{\"rounds\":[{\"text\":\"a\"}]},"
                           "\"n\":{\"loop\":true,\"rounds\":[{\"text\":\"a\"},{\"text\":\"b\"}]}}}");
  assert_int_equal(next(&f, "", "{\"model\":\"m\"}"), 0);
  assert_int_equal(next(&f, "", "{\"model\":\"n\"}"), 0);
  assert_int_equal(next(&f, "", "{\"model\":\"n\"}"), 1);
  assert_int_equal(next(&f, "", "{\"model\":\"m\"}"), -1);
  assert_int_equal(next(&f, "", "{\"model\":\"o\"}"), -2);
  end(&f);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_refused), cmocka_unit_test(test_order),    cmocka_unit_test(test_loop_and_match),
    cmocka_unit_test(test_turn),    cmocka_unit_test(test_by_model),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Requests: each thing that can be wrong is named. */
#include "unit.h"

#include <stdlib.h>

#include "interpreter/tasks.h"
#include "base/banned.h"

struct read {
  struct mf_json *doc;
  struct mf_task_request request;
  struct mf_task_file_text *files;
  unsigned file_n;
  struct mf_task_fault fault;
  struct mf_err err;
};

static enum mf_code read_text(const char *text, struct read *ret)
{
  const struct mf_json_limits limits = { .bytes_max = 32u << 20, .depth_max = 16 };
  *ret = (struct read){ 0 };
  assert_ok(mf_json_parse(mf_str_of(text), &limits, &ret->doc, &ret->err), &ret->err);
  return mf_task_request_parse(mf_json_root(ret->doc), &ret->request, &ret->files, &ret->file_n, &ret->fault,
                               &ret->err);
}

static void read_done(struct read *r)
{
  free(r->files);
  mf_json_free(r->doc);
}

static void the_least(void **state)
{
  struct read r;
  assert_ok(read_text("{\"language\":\"python\",\"code\":\"\"}", &r), &r.err);
  assert_int_equal(r.request.code.len, 0);
  assert_int_equal(r.request.timeout_ms, 60000);
  assert_int_equal(r.request.memory_mb, 0); /* the default */
  assert_false(r.request.display_last_expression);
  assert_int_equal(r.request.source_name.len, 0);
  assert_int_equal(r.file_n, 0);
  read_done(&r);
}

static void everything(void **state)
{
  struct read r;
  assert_ok(read_text("{\"files\":[{\"name\":\"a/b.csv\",\"content\":\"eA==\"},{\"content\":\"\",\"name\":\"c\"}],"
                      "\"language\":\"python\",\"code\":\"print(1)\",\"limits\":{\"timeoutMs\":1,\"memoryMb\":64},"
                      "\"policy\":{\"network\":\"disabled\",\"packages\":\"base\"},\"display_last_expression\":true,"
                      "\"source_name\":\"a b.py\"}",
                      &r),
            &r.err);
  assert_true(mf_str_is(r.request.code, "print(1)"));
  assert_true(mf_str_is(r.request.source_name, "a b.py"));
  assert_int_equal(r.request.timeout_ms, 1);
  assert_int_equal(r.request.memory_mb, 64);
  assert_true(r.request.display_last_expression);
  assert_int_equal(r.file_n, 2);
  assert_true(mf_str_is(r.files[0].name, "a/b.csv"));
  assert_true(mf_str_is(r.files[0].base64, "eA=="));
  assert_true(mf_str_is(r.files[1].name, "c"));
  assert_int_equal(r.files[1].base64.len, 0);
  read_done(&r);
}

#define BASE "\"language\":\"python\",\"code\":\"1\""

static void each_fault_is_named(void **state)
{
  static const struct {
    const char *text, *param, *code;
  } rows[] = {
    { "[]", "", "invalid_type" },
    { "\"x\"", "", "invalid_type" },
    { "{}", "language", "missing_required_parameter" },
    { "{\"code\":\"1\"}", "language", "missing_required_parameter" },
    { "{\"language\":\"python\"}", "code", "missing_required_parameter" },
    { "{\"language\":\"javascript\",\"code\":\"1\"}", "language", "invalid_value" },
    { "{\"language\":\"Python\",\"code\":\"1\"}", "language", "invalid_value" },
    { "{\"language\":null,\"code\":\"1\"}", "language", "invalid_type" },
    { "{\"language\":\"python\",\"code\":1}", "code", "invalid_type" },
    { "{\"language\":\"python\",\"code\":null}", "code", "invalid_type" },
    { "{\"language\":\"python\",\"code\":\"a\\u0000b\"}", "code", "invalid_value" },
    { "{" BASE ",\"stdin\":\"x\"}", "stdin", "unknown_parameter" },
    { "{" BASE ",\"\":1}", "", "unknown_parameter" },
    { "{" BASE ",\"Files\":[]}", "Files", "unknown_parameter" },
    { "{" BASE ",\"limits\":[]}", "limits", "invalid_type" },
    { "{" BASE ",\"limits\":null}", "limits", "invalid_type" },
    { "{" BASE ",\"limits\":{\"timeout_ms\":5}}", "limits.timeout_ms", "unknown_parameter" },
    { "{" BASE ",\"limits\":{\"timeoutMs\":0}}", "limits.timeoutMs", "integer_below_min_value" },
    { "{" BASE ",\"limits\":{\"timeoutMs\":-1}}", "limits.timeoutMs", "integer_below_min_value" },
    { "{" BASE ",\"limits\":{\"timeoutMs\":60001}}", "limits.timeoutMs", "integer_above_max_value" },
    { "{" BASE ",\"limits\":{\"timeoutMs\":1e9}}", "limits.timeoutMs", "integer_above_max_value" },
    { "{" BASE ",\"limits\":{\"timeoutMs\":1e999}}", "limits.timeoutMs", "integer_above_max_value" },
    { "{" BASE ",\"limits\":{\"timeoutMs\":99999999999999999999}}", "limits.timeoutMs", "integer_above_max_value" },
    { "{" BASE ",\"limits\":{\"timeoutMs\":5.5}}", "limits.timeoutMs", "invalid_type" },
    { "{" BASE ",\"limits\":{\"timeoutMs\":\"5\"}}", "limits.timeoutMs", "invalid_type" },
    { "{" BASE ",\"limits\":{\"timeoutMs\":true}}", "limits.timeoutMs", "invalid_type" },
    { "{" BASE ",\"limits\":{\"memoryMb\":63}}", "limits.memoryMb", "integer_below_min_value" },
    { "{" BASE ",\"limits\":{\"memoryMb\":1048577}}", "limits.memoryMb", "integer_above_max_value" },
    { "{" BASE ",\"limits\":{\"memoryMb\":{}}}", "limits.memoryMb", "invalid_type" },
    { "{" BASE ",\"policy\":true}", "policy", "invalid_type" },
    { "{" BASE ",\"policy\":{\"network\":\"enabled\"}}", "policy.network", "invalid_value" },
    { "{" BASE ",\"policy\":{\"network\":false}}", "policy.network", "invalid_type" },
    { "{" BASE ",\"policy\":{\"packages\":\"all\"}}", "policy.packages", "invalid_value" },
    { "{" BASE ",\"policy\":{\"egress\":1}}", "policy.egress", "unknown_parameter" },
    { "{" BASE ",\"display_last_expression\":1}", "display_last_expression", "invalid_type" },
    { "{" BASE ",\"source_name\":null}", "source_name", "invalid_type" },
    { "{" BASE ",\"files\":{}}", "files", "invalid_type" },
    { "{" BASE ",\"files\":[1]}", "files[0]", "invalid_type" },
    { "{" BASE ",\"files\":[{\"name\":\"a\",\"content\":\"\"},{\"name\":\"b\"}]}", "files[1].content",
      "missing_required_parameter" },
    { "{" BASE ",\"files\":[{\"content\":\"\"}]}", "files[0].name", "missing_required_parameter" },
    { "{" BASE ",\"files\":[{\"name\":5,\"content\":\"\"}]}", "files[0].name", "invalid_type" },
    { "{" BASE ",\"files\":[{\"name\":\"a\",\"content\":5}]}", "files[0].content", "invalid_type" },
    { "{" BASE ",\"files\":[{\"name\":\"a\",\"content\":\"\",\"mode\":7}]}", "files[0].mode", "unknown_parameter" },
    { "{" BASE ",\"files\":[{\"name\":\"\",\"content\":\"\"}]}", "files[0].name", "invalid_value" },
    { "{" BASE ",\"files\":[{\"name\":\"/etc/passwd\",\"content\":\"\"}]}", "files[0].name", "invalid_value" },
    { "{" BASE ",\"files\":[{\"name\":\"a/../b\",\"content\":\"\"}]}", "files[0].name", "invalid_value" },
    { "{" BASE ",\"files\":[{\"name\":\"a\\u0000b\",\"content\":\"\"}]}", "files[0].name", "invalid_value" },
    { "{" BASE ",\"files\":[{\"name\":\"a\\nb\",\"content\":\"\"}]}", "files[0].name", "invalid_value" },
  };
  for (unsigned i = 0; i < MF_ARRAY_N(rows); i++) {
    struct read r;
    print_message("# %s\n", rows[i].text);
    assert_int_equal(read_text(rows[i].text, &r), MF_E_INPUT);
    assert_string_equal(r.fault.param, rows[i].param);
    assert_string_equal(r.fault.code, rows[i].code);
    assert_true(r.err.msg[0] != 0);
    assert_null(r.files);
    read_done(&r);
  }
}

static void a_wrong_name_is_told_with_the_right_one(void **state)
{
  struct read r;
  assert_int_equal(read_text("{" BASE ",\"limits\":{\"timeoutMS\":5}}", &r), MF_E_INPUT);
  assert_string_equal(r.err.msg, "unknown parameter 'limits.timeoutMS'; did you mean 'limits.timeoutMs'?");
  read_done(&r);
}

static void too_many_files(void **state)
{
  struct read r;
  struct mf_buf text;
  mf_buf_init(&text, 1u << 20);
  for (unsigned n = MF_INPUT_COUNT_MAX; n <= 10000; n += 10000 - MF_INPUT_COUNT_MAX) {
    mf_buf_truncate(&text, 0);
    assert_int_equal(mf_buf_printf(&text, "{" BASE ",\"files\":["), MF_OK);
    for (unsigned i = 0; i < n; i++)
      assert_int_equal(mf_buf_printf(&text, "%s{\"name\":\"f%u\",\"content\":\"\"}", i ? "," : "", i), MF_OK);
    assert_int_equal(mf_buf_printf(&text, "]}"), MF_OK);
    enum mf_code code = read_text(text.ptr, &r);
    assert_int_equal(code, n > MF_INPUT_COUNT_MAX ? MF_E_INPUT : MF_OK);
    assert_string_equal(r.fault.param, n > MF_INPUT_COUNT_MAX ? "files" : "");
    assert_int_equal(r.file_n, n > MF_INPUT_COUNT_MAX ? 0 : n);
    read_done(&r);
  }
  mf_buf_done(&text);
}

static void code_of_the_largest_size_and_one_more(void **state)
{
  for (unsigned more = 0; more <= 1; more++) {
    struct read r;
    size_t n = MF_SOURCE_BYTES_MAX + more;
    char *code = mf_xmalloc(n + 1);
    memset(code, '#', n);
    code[n] = 0;
    char *text = mf_xasprintf("{\"language\":\"python\",\"code\":\"%s\"}", code);
    assert_int_equal(read_text(text, &r), more ? MF_E_INPUT : MF_OK);
    assert_string_equal(r.fault.param, more ? "code" : "");
    read_done(&r);
    free(text);
    free(code);
  }
}

static void a_hostile_name_of_a_member(void **state)
{
  struct read r;
  assert_int_equal(
      read_text("{" BASE ",\"a\\u0000\\n\\u001b[31m'\\ud83d\\ude00"
                "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\":1}",
                &r),
      MF_E_INPUT);
  assert_string_equal(r.fault.code, "unknown_parameter");
  assert_true(strncmp(r.fault.param, "a\\x00\\x0a\\x1b[31m\\x27", 17) == 0);
  read_done(&r);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_least),
    cmocka_unit_test(everything),
    cmocka_unit_test(each_fault_is_named),
    cmocka_unit_test(a_wrong_name_is_told_with_the_right_one),
    cmocka_unit_test(too_many_files),
    cmocka_unit_test(code_of_the_largest_size_and_one_more),
    cmocka_unit_test(a_hostile_name_of_a_member),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

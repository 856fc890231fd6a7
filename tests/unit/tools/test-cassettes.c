/* Declarations that were published with recordings of real clients. They are read from where MF_CASSETTES says. */
#include "set.h"

#include <fcntl.h>
#include <stdlib.h>

#include "base/fd.h"
#include "base/banned.h"

/* NULL: not there, and the test is skipped. */
static struct mf_json *cassette(const char *name)
{
  const char *folder = getenv("MF_CASSETTES");
  mf_auto_free char *path = mf_xasprintf("%s/%s", folder ? folder : ".", name);
  mf_auto_free char *text = NULL;
  size_t n = 0;
  if (!folder || mf_read_file(AT_FDCWD, path, 1u << 20, &text, &n, NULL) != MF_OK)
    return NULL;
  const struct mf_json_limits limits = { 1u << 20, 64 };
  struct mf_json *doc = NULL;
  struct mf_err err = { 0 };
  assert_ok(mf_json_parse((struct mf_str){ text, n }, &limits, &doc, &err), &err);
  return doc;
}

static void skip_absent(void)
{
  print_message("# the recordings are not here (MF_CASSETTES)\n");
  skip();
}

#define NAMESPACED "agentic_ns__mcp__agentic_fixture__add_numbers"

static const struct {
  const char *name;
  unsigned functions_n;      /* that the model sees */
  const char *function;      /* one of them */
  const char *refused_param; /* or: what is refused */
  const char *refused_message;
  unsigned ignoring_n; /* functions when unsupported types are ignored */
} rows[] = {
  { "codex/tools/function_tool.json", 1, "agentic_plain_echo", .ignoring_n = 1 },
  { "codex/tools/namespace_tool.json", 1, NAMESPACED, .ignoring_n = 1 },
  { "codex/tools/direct_vllm_flat_namespace_tool.json", 1, NAMESPACED, .ignoring_n = 1 },
  { "codex/tools/custom_tool.json", .refused_message = "unsupported format" },
  { "tool_calls/tools.json", 8, "get_weather", .ignoring_n = 8 },
  { "multi_agent/tools.json", 1, "get_proposal", .ignoring_n = 1 },
  { "multi_agent/mixed_tools.json", 0, "shell", "tools[0].type", "'web_search' tools are not supported", 1 },
  { "multi_agent/code_interpreter_tools.json", 0, "code_interpreter", "tools[0].type",
    "'web_search' tools are not supported", 1 },
};

static void declare(struct set *s, const struct mf_json *doc)
{
  s->tools = NULL;
  s->env.interpreter = &s->interpreter;
  if (!mf_toolset_new(&s->env, mf_json_root(doc), &s->tools, &s->error))
    s->tools = NULL;
}

static void expect_functions(const struct set *s, const char *function, unsigned n)
{
  assert_non_null(s->tools);
  mf_auto_buf struct mf_buf text;
  mf_buf_init(&text, 1u << 20);
  struct mf_json_writer w;
  mf_jw_init(&w, &text, false);
  assert_true(mf_toolset_write_upstream(s->tools, false, &w));
  const struct mf_json_limits limits = { 1u << 20, 64 };
  mf_auto_json struct mf_json *doc = NULL;
  assert_int_equal(mf_json_parse(mf_buf_str(&text), &limits, &doc, NULL), MF_OK);
  assert_int_equal(mf_json_len(mf_json_root(doc)), n);
  bool is_found = false;
  struct mf_json_iter it = mf_json_iter(mf_json_root(doc));
  while (mf_json_next(&it)) {
    static const char *const keys[] = { "type", "name", "description", "parameters", "strict" };
    assert_int_equal(mf_json_len(it.val), MF_ARRAY_N(keys));
    struct mf_json_iter member = mf_json_iter(it.val);
    for (size_t i = 0; mf_json_next(&member); i++)
      assert_true(mf_str_is(member.key, keys[i]));
    is_found = is_found || mf_str_is(mf_json_str(mf_json_get(it.val, "name")), function);
  }
  assert_true(is_found);
}

static void published_declarations(void **state)
{
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    mf_auto_json struct mf_json *doc = cassette(rows[i].name);
    if (!doc)
      skip_absent();
    struct set s;
    set_env(&s);
    declare(&s, doc);
    if (rows[i].refused_message) {
      assert_null(s.tools);
      assert_non_null(strstr(s.error.message, rows[i].refused_message));
      assert_int_equal(s.error.has_param, rows[i].refused_param != NULL);
      if (rows[i].refused_param)
        assert_string_equal(s.error.param, rows[i].refused_param);
    } else {
      expect_functions(&s, rows[i].function, rows[i].functions_n);
    }
    set_done(&s);

    s.env.ignore_unsupported = true;
    declare(&s, doc);
    if (rows[i].ignoring_n)
      expect_functions(&s, rows[i].function, rows[i].ignoring_n);
    else
      assert_null(s.tools);
    set_done(&s);
  }
}

/* A flattened member and a client that flattens by itself make the same function. */
static void flat_as_the_client_flattens(void **state)
{
  static const char *const names[] = { "codex/tools/namespace_tool.json",
                                       "codex/tools/direct_vllm_flat_namespace_tool.json" };
  for (size_t i = 0; i < MF_ARRAY_N(names); i++) {
    mf_auto_json struct mf_json *doc = cassette(names[i]);
    if (!doc)
      skip_absent();
    struct set s;
    set_env(&s);
    declare(&s, doc);
    assert_non_null(s.tools);
    struct mf_tool_binding b = mf_toolset_bind(s.tools, MF_STR(NAMESPACED));
    assert_int_equal(b.executor, MF_TOOL_CLIENT);
    assert_int_equal(mf_tool_is_plain(b), i == 1);
    set_done(&s);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(published_declarations),
    cmocka_unit_test(flat_as_the_client_flattens),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

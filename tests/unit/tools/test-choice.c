/* tool_choice: what a client may say, and what goes upstream. */
#include "set.h"

#include "base/banned.h"

#define TOOLS                                                                                                          \
  "[{'type':'function','name':'f'},{'type':'custom','name':'c'},{'type':'shell','environment':{'type':'local'}},"      \
  "{'type':'namespace','name':'n','tools':[{'type':'function','name':'m'}]},"                                          \
  "{'type':'code_interpreter','container':{'type':'auto'}}]"

static void sends(const char *choice, const char *upstream)
{
  struct set s;
  set_env(&s);
  set_declare(&s, TOOLS);
  mf_auto_json struct mf_json *doc = choice ? parsed(choice) : NULL;
  const struct mf_json_val *v = doc ? mf_json_root(doc) : NULL;
  if (!mf_toolset_check_choice(s.tools, v, &s.error))
    fail_msg("%s", s.error.message);
  mf_auto_buf struct mf_buf text;
  mf_buf_init(&text, 1u << 16);
  struct mf_json_writer w;
  mf_jw_init(&w, &text, false);
  assert_int_equal(mf_toolset_write_choice(s.tools, v, &w), upstream[0] != 0);
  assert_int_equal(w.code, MF_OK);
  assert_json(&text, upstream);
  set_done(&s);
}

static void refuses(const char *tools, const char *choice, const char *message)
{
  struct set s;
  set_env(&s);
  set_declare(&s, tools);
  mf_auto_json struct mf_json *doc = parsed(choice);
  if (mf_toolset_check_choice(s.tools, mf_json_root(doc), &s.error))
    fail_msg("accepted: %s", choice);
  assert_string_equal(s.error.message, message);
  assert_int_equal(s.error.status, 400);
  assert_string_equal(s.error.code, "invalid_request_error");
  set_done(&s);
}

static void good_choices(void **state)
{
  sends(NULL, "");
  sends("null", "");
  sends("'auto'", "");
  sends("'none'", "'none'");
  sends("'required'", "'required'");
  sends("{'type':'function','name':'f'}", "{'type':'function','name':'f'}");
  sends("{'type':'function','name':'unknown'}", "{'type':'function','name':'unknown'}");
  sends("{'function':{'name':'f'}}", "{'type':'function','name':'f'}");
  sends("{'type':'function','function':{'name':'f'}}", "{'type':'function','name':'f'}");
  sends("{'type':'function','name':'m','namespace':'n'}", "{'type':'function','name':'agentic_ns__n__m'}");
  sends("{'type':'custom','name':'c'}", "{'type':'function','name':'c'}");
  sends("{'type':'shell'}", "{'type':'function','name':'shell'}");
  sends(
      "{'type':'allowed_tools','mode':'required','tools':[{'type':'function','name':'f'},{'type':'custom','name':'c'},"
      "{'type':'code_interpreter'},{'type':'shell'}]}",
      "{'type':'allowed_tools','mode':'required','tools':[{'type':'function','name':'f'},"
      "{'type':'function','name':'c'},{'type':'function','name':'code_interpreter'},"
      "{'type':'function','name':'shell'}]}");
}

#define FORM "json error: expected tool_choice string, named tool object, or allowed_tools object at tool_choice"

static void bad_choices(void **state)
{
  refuses(TOOLS, "'bogus'",
          "json error: unknown variant `bogus`, expected one of `auto`, `none`, `required`, `function`, `custom` at "
          "tool_choice");
  refuses(TOOLS, "{'type':'code_interpreter'}", FORM);
  refuses(TOOLS, "{'type':'web_search'}", FORM);
  refuses(TOOLS, "{'type':'function'}", FORM);
  refuses(TOOLS, "{'type':'function','name':7}", FORM);
  refuses(TOOLS, "{}", FORM);
  refuses(TOOLS, "7", FORM);
  refuses(TOOLS, "[]", FORM);
  refuses(TOOLS, "{'type':'allowed_tools','tools':[]}", FORM);
  refuses(TOOLS, "{'type':'allowed_tools','mode':'auto','tools':['auto']}", FORM);
  refuses(TOOLS, "{'type':'allowed_tools','mode':'auto','tools':[{'type':'allowed_tools','mode':'auto','tools':[]}]}",
          FORM);
  refuses("[]", "{'type':'custom','name':'c'}",
          "tool error: invalid tool config: tool_choice selects custom tool 'c', but no matching custom tool is "
          "declared");
  refuses("[]", "{'type':'shell'}",
          "tool error: invalid tool config: tool_choice selects the shell tool, but no shell tool is declared");
  refuses("[]", "{'type':'allowed_tools','mode':'auto','tools':[{'type':'code_interpreter'}]}",
          "tool error: invalid tool config: tool_choice selects code_interpreter, but it is not declared");
}

/* Its form can be looked at before there are tools. */
static void form_alone(void **state)
{
  static const struct {
    const char *choice;
    bool is_good;
  } rows[] = {
    { "'auto'", true },
    { "{'type':'custom','name':'nowhere'}", true },
    { "{'type':'shell'}", true },
    { "{'type':'allowed_tools','mode':'auto','tools':[{'type':'code_interpreter'},{'type':'shell'}]}", true },
    { "{'type':'code_interpreter'}", false },
    { "{'type':'allowed_tools','mode':'auto','tools':['x']}", false },
    { "3", false },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    mf_auto_json struct mf_json *doc = parsed(rows[i].choice);
    struct mf_api_error e = { 0 };
    if (mf_toolset_check_choice(NULL, mf_json_root(doc), &e) != rows[i].is_good)
      fail_msg("%s", rows[i].choice);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test(good_choices), cmocka_unit_test(bad_choices),
                                      cmocka_unit_test(form_alone) };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Declarations: what is accepted, what the model sees of it, and the words of every refusal. */
#include "set.h"

#include <stdlib.h>

#include "base/banned.h"

static void refuses(const char *tools, const char *message)
{
  struct set s;
  set_env(&s);
  set_declare(&s, tools);
  if (s.tools)
    fail_msg("accepted: %s", tools);
  assert_string_equal(s.error.message, message);
  assert_int_equal(s.error.status, 400);
  assert_string_equal(s.error.type, "invalid_request_error");
  assert_string_equal(s.error.code, "invalid_request_error");
  assert_false(s.error.has_param);
}

static void shows(const char *tools, const char *upstream)
{
  struct set s;
  set_env(&s);
  set_declare(&s, tools);
  if (!s.tools)
    fail_msg("%s", s.error.message);
  mf_auto_buf struct mf_buf text;
  mf_buf_init(&text, 1u << 20);
  struct mf_json_writer w;
  mf_jw_init(&w, &text, false);
  assert_int_equal(mf_toolset_write_upstream(s.tools, false, &w), upstream[0] != 0);
  assert_int_equal(w.code, MF_OK);
  assert_json(&text, upstream);
  set_done(&s);
}

#define AUTO "{'type':'code_interpreter','container':{'type':'auto'}}"
#define TOOL "tool error: invalid tool config: "

static void interpreter_declarations(void **state)
{
  refuses("[{'type':'code_interpreter'}]", "json error: missing field `container` at tools[0]");
  refuses("[{'type':'code_interpreter','container':'cntr_1'}]",
          "json error: invalid type: string \"cntr_1\", expected a container object at tools[0].container");
  refuses("[{'type':'code_interpreter','container':null}]",
          "json error: invalid type: null, expected a container object at tools[0].container");
  refuses("[{'type':'code_interpreter','container':{}}]", "json error: missing field `type` at tools[0].container");
  refuses("[{'type':'code_interpreter','container':{'type':'explicit'}}]",
          "json error: unknown variant `explicit`, expected `auto` at tools[0].container");
  refuses("[{'type':'code_interpreter','container':{'type':1}}]",
          "json error: invalid type: number `1`, expected `auto` at tools[0].container");
  refuses("[{'type':'code_interpreter','container':{'type':'auto','file_ids':['f']}}]",
          "json error: unknown field `file_ids`, expected `type` at tools[0].container");
  refuses("[{'type':'code_interpreter','container':{'type':'auto','memory_limit':'4g'}}]",
          "json error: unknown field `memory_limit`, expected `type` at tools[0].container");
  refuses("[{'type':'code_interpreter','execution':'gateway'}]",
          "json error: unknown field `execution`, expected `container` at tools[0]");
  refuses("[{'type':'code_interpreter','container':{'type':'auto'},'execution':'gateway'}]",
          "json error: unknown field `execution`, expected `container` at tools[0]");
  refuses("[{'type':'code_interpreter','container':{'type':'auto'},'foo':1}]",
          "json error: unknown field `foo`, expected `container` at tools[0]");
  refuses("[" AUTO "," AUTO "]", TOOL "code_interpreter may be declared only once");
#define FIXED TOOL "fixed model-visible tool name 'code_interpreter' conflicts with another declaration"
  refuses("[" AUTO ",{'type':'function','name':'code_interpreter'}]", FIXED);
  refuses("[" AUTO ",{'type':'custom','name':'code_interpreter'}]", FIXED);
  refuses("[{'type':'function','name':'code_interpreter'}," AUTO "]", FIXED);
}

static void interpreter_availability(void **state)
{
  struct set s;
  set_env(&s);
  s.env.interpreter_built = false;
  set_declare(&s, "[" AUTO "]");
  assert_null(s.tools);
  assert_string_equal(s.error.message,
                      TOOL "code_interpreter is disabled; rebuild with the embedded-code-interpreter feature");
  /* The client's own mistake comes first. */
  set_declare(&s, "[" AUTO "," AUTO "]");
  assert_string_equal(s.error.message, TOOL "code_interpreter may be declared only once");

#define OFF TOOL "code_interpreter is disabled by operator configuration or its embedded runtime is not ready"
  set_env(&s);
  s.interpreter.enabled = false;
  set_declare(&s, "[" AUTO "]");
  assert_null(s.tools);
  assert_string_equal(s.error.message, OFF);

  set_env(&s);
  s.env.executor = NULL;
  set_declare(&s, "[" AUTO "]");
  assert_null(s.tools);
  assert_string_equal(s.error.message, OFF);
  /* A client's own function of that name needs nothing. */
  set_declare(&s, "[{'type':'function','name':'code_interpreter'}]");
  assert_non_null(s.tools);
  assert_int_equal(mf_toolset_bind(s.tools, MF_STR("code_interpreter")).executor, MF_TOOL_CLIENT);
  assert_false(mf_toolset_has_gateway(s.tools));
  assert_true(mf_toolset_only_functions(s.tools));
  set_done(&s);
}

static void other_declarations(void **state)
{
  refuses("{}", "json error: invalid type: map, expected a sequence at tools");
  refuses("['x']", "json error: invalid type: string \"x\", expected a tool object at tools[0]");
  refuses("[{}]", "json error: missing field `type` at tools[0]");
  refuses("[{'type':7}]", "json error: invalid type: number `7`, expected a tool type at tools[0]");
  refuses("[{'type':'function'}]", "json error: missing field `name` at tools[0]");
  refuses("[{'type':'function','name':''}]", "json error: tool name must not be empty at tools[0].name");
  refuses("[{'type':'function','name':'f'},{'type':'function','name':true}]",
          "json error: invalid type: boolean `true`, expected a string at tools[1].name");
  refuses("[{'type':'function','name':'a\\u0000b'}]", "json error: tool name must not contain NUL at tools[0].name");
  refuses("[{'type':'function','name':'f','description':[]}]",
          "json error: invalid type: sequence, expected a string at tools[0].description");
  refuses("[{'type':'function','name':'f','parameters':'x'}]",
          "json error: invalid type: string \"x\", expected a JSON schema at tools[0].parameters");
  refuses("[{'type':'function','name':'f','strict':'yes'}]",
          "json error: invalid type: string \"yes\", expected a boolean at tools[0].strict");
  refuses("[{'type':'custom','name':'c','format':{'type':'grammar','syntax':'lark','definition':'x'}}]", TOOL
          "custom tool 'c' uses an unsupported format; gateway normalization cannot preserve constrained decoding");
  refuses("[{'type':'shell','environment':{'type':'container_auto'}}]",
          TOOL "shell tool currently supports only environment.type='local'");
  refuses("[{'type':'shell'}]", TOOL "shell tool currently supports only environment.type='local'");
  refuses("[{'type':'tool_search'}]", TOOL "tool_search currently supports only execution='client'");
  refuses("[{'type':'function','name':'f','defer_loading':true}]",
          TOOL "tool 'f' sets defer_loading, but no tool_search tool is declared");
  refuses("[{'type':'function','name':'f'},{'type':'function','name':'f'}]",
          TOOL "function tool registry name 'f' conflicts with existing function tool");
  refuses("[{'type':'custom','name':'f'},{'type':'function','name':'f'}]",
          TOOL "function tool registry name 'f' conflicts with existing custom tool");
  refuses("[{'type':'shell','environment':{'type':'local'}},{'type':'function','name':'shell'}]",
          TOOL "function tool registry name 'shell' conflicts with existing shell tool");
  refuses("[{'type':'namespace','name':'n'}]", "json error: missing field `tools` at tools[0]");
  refuses("[{'type':'namespace','name':'n','tools':[{'type':'shell'}]}]",
          TOOL "tools[0].tools[0]: namespace 'n' may hold function and custom tools only");
  refuses("[{'type':'namespace','name':'n','tools':[{'type':'function','name':''}]}]",
          "json error: tool name must not be empty at tools[0].tools[0].name");
  refuses("[{'type':'namespace','name':'a__b','tools':[{'type':'function','name':'c'}]},"
          "{'type':'namespace','name':'a','tools':[{'type':'function','name':'b__c'}]}]",
          TOOL "namespace members 'a__b.c' and 'a.b__c' have the same model-visible name 'agentic_ns__a__b__c'");
}

static void unsupported_types(void **state)
{
  static const char *const types[] = { "web_search", "mcp", "file_search", "image_generation", "computer_use", "" };
  for (size_t i = 0; i < MF_ARRAY_N(types); i++) {
    mf_auto_free char *tools = mf_xasprintf("[{'type':'function','name':'f'},{'type':'%s'}]", types[i]);
    struct set s;
    set_env(&s);
    set_declare(&s, tools);
    assert_null(s.tools);
    assert_int_equal(s.error.status, 400);
    assert_string_equal(s.error.type, "invalid_request_error");
    assert_string_equal(s.error.code, "invalid_value");
    assert_true(s.error.has_param);
    assert_string_equal(s.error.param, "tools[1].type");
    mf_auto_free char *message = mf_xasprintf(
        "invalid request: tools[1].type: '%s' tools are not supported by this server; supported are 'function', "
        "'custom', 'namespace', 'tool_search', 'shell', 'code_interpreter'",
        types[i]);
    assert_string_equal(s.error.message, message);

    s.env.ignore_unsupported = true;
    set_declare(&s, tools);
    assert_non_null(s.tools);
    assert_false(mf_toolset_only_functions(s.tools));
    set_done(&s);
  }
}

static void what_the_model_sees(void **state)
{
  shows("[]", "");
  shows("[{'type':'function','name':'f'}]",
        "[{'type':'function','name':'f','description':null,'parameters':null,'strict':null}]");
  shows("[{'strict':true,'parameters':{'type':'object','x':1.50},'name':'f','type':'function','extra':1,"
        "'description':'d'},{'type':'function','name':'g','strict':null}]",
        "[{'type':'function','name':'f','description':'d','parameters':{'type':'object','x':1.50},'strict':true},"
        "{'type':'function','name':'g','description':null,'parameters':null,'strict':null}]");
  shows("[{'type':'custom','name':'c','description':'d','format':{'type':'text'}}]",
        "[{'type':'function','name':'c','description':'d','parameters':{'type':'object','properties':{'input':"
        "{'type':'string','description':'The whole input of the tool, as plain text.'}},'required':['input'],"
        "'additionalProperties':false},'strict':true}]");
  shows("[{'type':'namespace','name':'n','tools':[{'type':'function','name':'f','parameters':{}}]}]",
        "[{'type':'function','name':'agentic_ns__n__f','description':null,'parameters':{},'strict':null}]");
  shows("[{'type':'tool_search','execution':'client','description':'s','parameters':{'type':'object'}},"
        "{'type':'function','name':'f','defer_loading':true}]",
        "[{'type':'function','name':'tool_search','description':'s\\nCan be found: "
        "f.','parameters':{'type':'object'},'strict':null}]");
}

/* Everything that a model needs to use it, and nothing of how it is declared. */
static void the_interpreter_as_the_model_sees_it(void **state)
{
  struct set s;
  set_env(&s);
  set_declare(&s, "[{'type':'function','name':'f'}," AUTO "]");
  assert_non_null(s.tools);
  assert_true(mf_toolset_has_gateway(s.tools));
  assert_false(mf_toolset_only_functions(s.tools));
  mf_auto_buf struct mf_buf text;
  mf_buf_init(&text, 1u << 20);
  struct mf_json_writer w;
  mf_jw_init(&w, &text, false);
  assert_true(mf_toolset_write_upstream(s.tools, false, &w));
  const struct mf_json_limits limits = { 1u << 20, 16 };
  mf_auto_json struct mf_json *doc = NULL;
  assert_int_equal(mf_json_parse(mf_buf_str(&text), &limits, &doc, NULL), MF_OK);
  const struct mf_json_val *fn = mf_json_at(mf_json_root(doc), 1);
  assert_true(mf_str_is(mf_json_str(mf_json_get(fn, "type")), "function"));
  assert_true(mf_str_is(mf_json_str(mf_json_get(fn, "name")), "code_interpreter"));
  assert_true(mf_json_bool(mf_json_get(fn, "strict")));
  mf_auto_free char *description = mf_xasprintf("%.*s", MF_STR_ARG(mf_json_str(mf_json_get(fn, "description"))));
  assert_non_null(strstr(description, "print(...)"));
  assert_null(strchr(description, '\n'));
  const struct mf_json_val *parameters = mf_json_get(fn, "parameters");
  assert_true(mf_str_is(mf_json_str(mf_json_get(parameters, "type")), "object"));
  assert_false(mf_json_bool(mf_json_get(parameters, "additionalProperties")));
  assert_int_equal(mf_json_len(mf_json_get(parameters, "required")), 1);
  assert_true(mf_str_is(mf_json_str(mf_json_at(mf_json_get(parameters, "required"), 0)), "code"));
  const struct mf_json_val *code = mf_json_get(mf_json_get(parameters, "properties"), "code");
  assert_true(mf_str_is(mf_json_str(mf_json_get(code, "type")), "string"));

  /* After max_tool_calls only the client's are offered. */
  mf_buf_truncate(&text, 0);
  mf_jw_init(&w, &text, false);
  assert_true(mf_toolset_write_upstream(s.tools, true, &w));
  assert_json(&text, "[{'type':'function','name':'f','description':null,'parameters':null,'strict':null}]");
  set_done(&s);

  set_declare(&s, "[" AUTO "]");
  mf_buf_truncate(&text, 0);
  mf_jw_init(&w, &text, false);
  assert_false(mf_toolset_write_upstream(s.tools, true, &w));
  assert_int_equal(text.len, 0);
  set_done(&s);
}

static void names_are_bound(void **state)
{
  struct set s;
  set_env(&s);
  set_declare(&s,
              "[" AUTO ",{'type':'function','name':'f'},{'type':'custom','name':'c'},{'type':'tool_search',"
              "'execution':'client'},{'type':'shell','environment':{'type':'local'}},{'type':'namespace','name':'n',"
              "'tools':[{'type':'function','name':'m'}]},{'type':'function','name':'late','defer_loading':true}]");
  assert_non_null(s.tools);
  static const struct {
    const char *name;
    enum mf_tool_executor executor;
    bool is_plain, is_withheld;
  } rows[] = {
    { "code_interpreter", MF_TOOL_GATEWAY, false, false },
    { "f", MF_TOOL_CLIENT, true, false },
    { "c", MF_TOOL_CLIENT, false, false },
    { "tool_search", MF_TOOL_CLIENT, false, false },
    { "shell", MF_TOOL_CLIENT, false, false },
    { "agentic_ns__n__m", MF_TOOL_CLIENT, false, false },
    { "m", MF_TOOL_CLIENT, true, false },
    { "late", MF_TOOL_CLIENT, true, true },
    { "no_such", MF_TOOL_CLIENT, true, false },
    { "", MF_TOOL_CLIENT, true, false },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    struct mf_tool_binding b = mf_toolset_bind(s.tools, mf_str_of(rows[i].name));
    assert_int_equal(b.executor, rows[i].executor);
    assert_non_null(b.kind);
    assert_int_equal(mf_tool_is_plain(b), rows[i].is_plain);
    assert_int_equal(b.is_withheld, rows[i].is_withheld);
  }
  set_done(&s);
}

static void long_names_are_hashed(void **state)
{
  struct set s;
  set_env(&s);
  set_declare(&s, "[{'type':'namespace','name':'a_namespace_with_a_long_name','tools':[{'type':'function','name':"
                  "'and_a_member_with_a_long_name_1'},{'type':'function','name':'and_a_member_with_a_long_name_2'},"
                  "{'type':'function','name':'ééééééééééééééééééééé'}]}]");
  assert_non_null(s.tools);
  mf_auto_buf struct mf_buf text;
  mf_buf_init(&text, 1u << 20);
  struct mf_json_writer w;
  mf_jw_init(&w, &text, false);
  assert_true(mf_toolset_write_upstream(s.tools, false, &w));
  const struct mf_json_limits limits = { 1u << 20, 16 };
  mf_auto_json struct mf_json *doc = NULL;
  assert_int_equal(mf_json_parse(mf_buf_str(&text), &limits, &doc, NULL), MF_OK);
  for (size_t i = 0; i < 3; i++) {
    struct mf_str name = mf_json_str(mf_json_get(mf_json_at(mf_json_root(doc), i), "name"));
    assert_in_range(name.len, 60, 64);
    assert_true(mf_str_starts(name, "agentic_ns__a_namespace_with_a_long_name__"));
  }
  set_done(&s);
}

static void too_many(void **state)
{
  mf_auto_buf struct mf_buf tools;
  mf_buf_init(&tools, 1u << 20);
  for (unsigned i = 0; i < 1025; i++)
    assert_int_equal(mf_buf_printf(&tools, "%s{'type':'function','name':'f%u'}", i ? "," : "[", i), MF_OK);
  assert_int_equal(mf_buf_append_str(&tools, MF_STR("]")), MF_OK);
  refuses(tools.ptr, TOOL "at most 1024 tools may be declared");
}

/* ---- tool search ---- */

#define SEARCH                                                                                                         \
  "[{'type':'tool_search','execution':'client'},{'type':'function','name':'late','description':'d',"                   \
  "'defer_loading':true}]"

static bool load(struct set *s, const char *tools)
{
  mf_auto_json struct mf_json *doc = parsed(tools);
  return mf_toolset_load(s->tools, mf_json_root(doc), &s->error);
}

static void searched_tools_become_callable(void **state)
{
  struct set s;
  set_env(&s);
  set_declare(&s, SEARCH);
  assert_true(load(&s,
                   "[{'type':'function','name':'late','description':'d','defer_loading':true},"
                   "{'type':'namespace','name':'n','tools':[{'type':'function','name':'new','defer_loading':true}]}]"));
  assert_false(mf_toolset_bind(s.tools, MF_STR("late")).is_withheld);
  assert_false(mf_toolset_bind(s.tools, MF_STR("agentic_ns__n__new")).is_withheld);
  /* Again, as a longer history has it. */
  assert_true(load(&s, "[{'type':'function','name':'late','description':'d','defer_loading':true}]"));
  mf_auto_buf struct mf_buf text;
  mf_buf_init(&text, 1u << 20);
  struct mf_json_writer w;
  mf_jw_init(&w, &text, false);
  assert_true(mf_toolset_write_upstream(s.tools, false, &w));
  assert_non_null(strstr(text.ptr, "\"name\":\"late\",\"description\":\"d\",\"parameters\":null,\"strict\":null}"));
  assert_non_null(strstr(text.ptr, "\"name\":\"agentic_ns__n__new\""));
  set_done(&s);
}

/* What can be found is told by name, and not without end. */
static void a_search_names_what_it_finds(void **state)
{
  mf_auto_buf struct mf_buf tools;
  mf_buf_init(&tools, 1u << 20);
  assert_int_equal(mf_buf_append_str(&tools, MF_STR("[{'type':'tool_search','execution':'client'}")), MF_OK);
  for (unsigned i = 0; i < 900; i++)
    assert_int_equal(mf_buf_printf(&tools, ",{'type':'function','name':'function_%04u','defer_loading':true}", i),
                     MF_OK);
  assert_int_equal(mf_buf_append_str(&tools, MF_STR("]")), MF_OK);
  struct set s;
  set_env(&s);
  set_declare(&s, tools.ptr);
  assert_true(load(&s, "[{'type':'function','name':'function_0001','defer_loading':true}]"));
  mf_auto_buf struct mf_buf text;
  mf_buf_init(&text, 1u << 20);
  struct mf_json_writer w;
  mf_jw_init(&w, &text, false);
  assert_true(mf_toolset_write_upstream(s.tools, false, &w));
  assert_int_equal(w.code, MF_OK);
  assert_non_null(strstr(text.ptr, "\\nCan be found: function_0000, function_0002, "));
  assert_non_null(strstr(text.ptr, " more.\","));
  assert_true(text.len < 8192);
  set_done(&s);
}

static void a_search_must_not_change_a_tool(void **state)
{
  struct set s;
  set_env(&s);
  set_declare(&s, SEARCH);
  assert_false(load(&s, "[{'type':'function','name':'late','description':'other'}]"));
  assert_string_equal(s.error.message, TOOL "tool_search_output changes the declaration of tool 'late'");
  set_done(&s);
  set_declare(&s, SEARCH);
  assert_false(load(&s, "[{'type':'custom','name':'late'}]"));
  assert_string_equal(s.error.message, TOOL "custom tool registry name 'late' conflicts with existing function tool");
  set_done(&s);
}

/* ---- errors ---- */

static void errors_as_json(void **state)
{
  struct mf_api_error e;
  mf_auto_buf struct mf_buf text;
  mf_buf_init(&text, 1u << 16);
  struct mf_json_writer w;
  mf_jw_init(&w, &text, false);
  assert_false(mf_api_fail(&e, 404, "not_found", NULL, NULL, "no %s", "x"));
  assert_int_equal(e.status, 404);
  mf_api_error_write(&e, &w);
  assert_json(&text, "{'error':{'message':'no x','type':'not_found','code':null}}");
  mf_buf_truncate(&text, 0);
  mf_jw_init(&w, &text, false);
  assert_false(mf_api_fail(&e, 400, "t", "c", "input", "m"));
  mf_api_error_write(&e, &w);
  assert_json(&text, "{'error':{'message':'m','type':'t','code':'c','param':'input'}}");
}

static void long_messages_end_on_a_character(void **state)
{
  char long_text[1200];
  for (size_t shift = 0; shift < 3; shift++) {
    memset(long_text, 'x', shift);
    for (size_t i = shift; i + 3 < sizeof(long_text); i += 3)
      memcpy(long_text + i, "€", 3);
    long_text[sizeof(long_text) - 3] = 0;
    struct mf_api_error e;
    mf_api_fail(&e, 400, "t", "c", long_text, "%s", long_text);
    assert_in_range(strlen(e.message), sizeof(e.message) - 4, sizeof(e.message) - 1);
    assert_int_equal((strlen(e.message) - shift) % 3, 0);
    assert_int_equal((strlen(e.param) - shift) % 3, 0);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(interpreter_declarations),
    cmocka_unit_test(interpreter_availability),
    cmocka_unit_test(other_declarations),
    cmocka_unit_test(unsupported_types),
    cmocka_unit_test(what_the_model_sees),
    cmocka_unit_test(the_interpreter_as_the_model_sees_it),
    cmocka_unit_test(names_are_bound),
    cmocka_unit_test(long_names_are_hashed),
    cmocka_unit_test(too_many),
    cmocka_unit_test(searched_tools_become_callable),
    cmocka_unit_test(a_search_names_what_it_finds),
    cmocka_unit_test(a_search_must_not_change_a_tool),
    cmocka_unit_test(errors_as_json),
    cmocka_unit_test(long_messages_end_on_a_character),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

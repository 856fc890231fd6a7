/* tool_choice: what the client may say, and what goes upstream, where every tool is a function. */
#include "kind.h"

#include "base/banned.h"

enum choice { CHOICE_BAD, CHOICE_AUTO, CHOICE_WORD, CHOICE_FUNCTION, CHOICE_CUSTOM, CHOICE_SHELL, CHOICE_ALLOWED };

static struct mf_str text_of(const struct mf_json_val *obj, const char *key)
{
  const struct mf_json_val *v = mf_json_type_of(obj) == MF_JSON_OBJ ? mf_json_get(obj, key) : NULL;
  return mf_json_type_of(v) == MF_JSON_STR ? mf_json_str(v) : (struct mf_str){ 0 };
}

/* {"type":"function","name":…}, and {"function":{"name":…}} as chat completions has it. */
static struct mf_str name_of(const struct mf_json_val *choice)
{
  struct mf_str name = text_of(choice, "name");
  return name.len ? name : text_of(mf_json_get(choice, "function"), "name");
}

static enum choice choice_of(const struct mf_json_val *choice)
{
  if (mf_json_type_of(choice) == MF_JSON_NULL)
    return CHOICE_AUTO;
  if (mf_json_type_of(choice) == MF_JSON_STR) {
    struct mf_str s = mf_json_str(choice);
    return mf_str_is(s, "auto")                               ? CHOICE_AUTO
           : mf_str_is(s, "none") || mf_str_is(s, "required") ? CHOICE_WORD
                                                              : CHOICE_BAD;
  }
  if (mf_json_type_of(choice) != MF_JSON_OBJ)
    return CHOICE_BAD;
  if (!mf_json_get(choice, "type"))
    return name_of(choice).len ? CHOICE_FUNCTION : CHOICE_BAD;
  struct mf_str type = text_of(choice, "type");
  if (mf_str_is(type, "function"))
    return name_of(choice).len ? CHOICE_FUNCTION : CHOICE_BAD;
  if (mf_str_is(type, "custom"))
    return name_of(choice).len ? CHOICE_CUSTOM : CHOICE_BAD;
  if (mf_str_is(type, "shell"))
    return CHOICE_SHELL;
  return mf_str_is(type, "allowed_tools") ? CHOICE_ALLOWED : CHOICE_BAD;
}

static const struct tool_fn *custom_of(const struct mf_toolset *t, const struct mf_json_val *choice)
{
  return toolset_find_public(t, &tool_custom, text_of(choice, "namespace"), name_of(choice));
}

static bool fail_form(struct mf_api_error *e)
{
  return mf_api_fail_json(e, "tool_choice", "expected tool_choice string, named tool object, or allowed_tools object");
}

static bool check_allowed(const struct mf_toolset *t, const struct mf_json_val *choice, struct mf_api_error *e)
{
  struct mf_str mode = text_of(choice, "mode");
  const struct mf_json_val *tools = mf_json_get(choice, "tools");
  if ((!mf_str_is(mode, "auto") && !mf_str_is(mode, "required")) || mf_json_type_of(tools) != MF_JSON_ARR)
    return fail_form(e);
  struct mf_json_iter it = mf_json_iter(tools);
  while (mf_json_next(&it)) {
    /* A named tool each: words and lists have no place in a list. */
    if (mf_json_type_of(it.val) != MF_JSON_OBJ || mf_str_is(text_of(it.val, "type"), "allowed_tools"))
      return fail_form(e);
    if (mf_str_is(text_of(it.val, "type"), "code_interpreter")) {
      if (t && !toolset_find_kind(t, &tool_code_interpreter))
        return tool_config_fail(e, "tool_choice selects code_interpreter, but it is not declared");
    } else if (!mf_toolset_check_choice(t, it.val, e)) {
      return false;
    }
  }
  return true;
}

bool mf_toolset_check_choice(const struct mf_toolset *t, const struct mf_json_val *choice, struct mf_api_error *e)
{
  switch (choice_of(choice)) {
  case CHOICE_AUTO:
  case CHOICE_WORD:
  case CHOICE_FUNCTION:
    return true;
  case CHOICE_CUSTOM:
    return !t || custom_of(t, choice) ||
           tool_config_fail(e, "tool_choice selects custom tool '%.*s', but no matching custom tool is declared",
                            TOOL_SHOWN(name_of(choice)));
  case CHOICE_SHELL:
    return !t || toolset_find_kind(t, &tool_shell) ||
           tool_config_fail(e, "tool_choice selects the shell tool, but no shell tool is declared");
  case CHOICE_ALLOWED:
    return check_allowed(t, choice, e);
  case CHOICE_BAD:
    break;
  }
  if (mf_json_type_of(choice) == MF_JSON_STR)
    return mf_api_fail_json(e, "tool_choice",
                            "unknown variant `%.*s`, expected one of `auto`, `none`, `required`, `function`, `custom`",
                            TOOL_SHOWN(mf_json_str(choice)));
  return fail_form(e);
}

static void write_named(const struct mf_toolset *t, const struct mf_json_val *choice, struct mf_json_writer *w)
{
  struct mf_str name = name_of(choice), ns = text_of(choice, "namespace");
  enum choice c = choice_of(choice);
  const struct tool_fn *fn = c == CHOICE_CUSTOM  ? custom_of(t, choice)
                             : c == CHOICE_SHELL ? toolset_find_kind(t, &tool_shell)
                             : ns.len            ? toolset_find_public(t, &tool_namespace_fn, ns, name)
                                                 : NULL;
  if (mf_str_is(text_of(choice, "type"), "code_interpreter"))
    fn = toolset_find_kind(t, &tool_code_interpreter);
  mf_jw_obj(w);
  mf_jw_kstrz(w, "type", "function");
  mf_jw_kstr(w, "name", fn ? mf_str_of(fn->name) : name);
  mf_jw_obj_end(w);
}

bool mf_toolset_write_choice(const struct mf_toolset *t, const struct mf_json_val *choice, struct mf_json_writer *w)
{
  switch (choice_of(choice)) {
  case CHOICE_AUTO:
  case CHOICE_BAD: /* was refused before */
    return false;
  case CHOICE_WORD:
    mf_jw_val(w, choice);
    return true;
  case CHOICE_FUNCTION:
  case CHOICE_CUSTOM:
  case CHOICE_SHELL:
    write_named(t, choice, w);
    return true;
  case CHOICE_ALLOWED:
    break;
  }
  mf_jw_obj(w);
  mf_jw_kstrz(w, "type", "allowed_tools");
  mf_jw_kstr(w, "mode", text_of(choice, "mode"));
  mf_jw_key(w, "tools");
  mf_jw_arr(w);
  struct mf_json_iter it = mf_json_iter(mf_json_get(choice, "tools"));
  while (mf_json_next(&it))
    write_named(t, it.val, w);
  mf_jw_arr_end(w);
  mf_jw_obj_end(w);
  return true;
}

/* The tools of one request: its declarations checked, what the model sees of them, and whose each name is.
 * Thread: the loop's. Neighbours: registry.c (kinds), choice.c (tool_choice). */
#include "kind.h"

#include <stdio.h>

#include "base/banned.h"

/* Declarations come out of a request body, which has a limit; null members are added to them. */
#define TEXT_MAX ((size_t)128 << 20)

/* ---- names ---- */

const struct tool_fn *toolset_find(const struct mf_toolset *t, struct mf_str name)
{
  for (unsigned i = 0; i < t->fn_n; i++)
    if (mf_str_is(name, t->fns[i].name))
      return &t->fns[i];
  return NULL;
}

const struct tool_fn *toolset_find_kind(const struct mf_toolset *t, const struct mf_tool_kind *kind)
{
  for (unsigned i = 0; i < t->fn_n; i++)
    if (t->fns[i].kind == kind)
      return &t->fns[i];
  return NULL;
}

const struct tool_fn *toolset_find_public(const struct mf_toolset *t, const struct mf_tool_kind *kind, struct mf_str ns,
                                          struct mf_str name)
{
  for (unsigned i = 0; i < t->fn_n; i++)
    if (t->fns[i].kind == kind && mf_str_eq(ns, mf_str_of(t->fns[i].ns)) && mf_str_is(name, t->fns[i].public_name))
      return &t->fns[i];
  return NULL;
}

static bool fail_taken(const struct tool_fn *old, const struct mf_tool_kind *kind, const struct fn_spec *spec,
                       struct mf_str name, struct mf_api_error *e)
{
  if (kind == &tool_code_interpreter && old->kind == &tool_code_interpreter)
    return tool_config_fail(e, "code_interpreter may be declared only once");
  /* A built-in name cannot be moved out of the way, so the message names it and not the other declaration. */
  if (kind == &tool_code_interpreter || old->kind == &tool_code_interpreter)
    return tool_config_fail(e, "fixed model-visible tool name 'code_interpreter' conflicts with another declaration");
  if (spec->ns.len && old->ns)
    return tool_config_fail(e, "namespace members '%.*s.%.*s' and '%.*s.%.*s' have the same model-visible name '%.*s'",
                            TOOL_SHOWN(mf_str_of(old->ns)), TOOL_SHOWN(mf_str_of(old->public_name)),
                            TOOL_SHOWN(spec->ns), TOOL_SHOWN(spec->public_name), TOOL_SHOWN(name));
  return tool_config_fail(e, "%s registry name '%.*s' conflicts with existing %s", kind->label, TOOL_SHOWN(name),
                          old->kind->label);
}

/* ---- adding ---- */

static void write_optional(struct mf_json_writer *w, const char *key, const struct mf_json_val *v, struct mf_str raw)
{
  mf_jw_key(w, key);
  if (v)
    mf_jw_val(w, v);
  else if (raw.len)
    mf_jw_raw(w, raw);
  else
    mf_jw_null(w);
}

/* Every key is always there: some model servers tell a missing one from null. */
static void write_function(struct mf_json_writer *w, struct mf_str name, const struct fn_spec *spec)
{
  mf_jw_obj(w);
  mf_jw_kstrz(w, "type", "function");
  mf_jw_kstr(w, "name", name);
  if (spec->description || !spec->description_text.len)
    write_optional(w, "description", spec->description, (struct mf_str){ 0 });
  else
    mf_jw_kstr(w, "description", spec->description_text);
  write_optional(w, "parameters", spec->parameters, spec->parameters_text);
  write_optional(w, "strict", spec->strict,
                 !spec->parameters_text.len || spec->parameters ? (struct mf_str){ 0 }
                 : spec->is_strict                              ? MF_STR("true")
                                                                : MF_STR("false"));
  mf_jw_obj_end(w);
}

static char *copy(struct mf_str s)
{
  return mf_xasprintf("%.*s", MF_STR_ARG(s));
}

static bool fail_size(struct mf_api_error *e)
{
  return mf_api_fail(e, 413, "invalid_request_error", "body_too_large", NULL, "the tools are too large");
}

/* A function that was withheld and comes back from the client's search. Its text was just written again behind the
 * others, and goes. */
static bool load_again(struct mf_toolset *t, struct tool_fn *old, size_t from, struct mf_api_error *e)
{
  struct mf_str was = { t->text.ptr + old->from, old->len };
  bool is_same = mf_str_eq(was, (struct mf_str){ t->text.ptr + from, t->text.len - from });
  mf_buf_truncate(&t->text, from);
  if (!is_same)
    return tool_config_fail(e, "tool_search_output changes the declaration of tool '%.*s'",
                            TOOL_SHOWN(mf_str_of(old->name)));
  old->is_loaded = true;
  return true;
}

bool toolset_add(struct mf_toolset *t, const struct mf_tool_kind *kind, const struct fn_spec *spec,
                 struct mf_api_error *e)
{
  struct mf_str name = spec->name.len ? spec->name : spec->public_name;
  struct tool_fn *old = (struct tool_fn *)toolset_find(t, name);
  bool is_again = old && t->is_loading && old->kind == kind;
  if (old && !is_again)
    return fail_taken(old, kind, spec, name, e);
  if (t->fn_n == TOOLS_MAX)
    return tool_config_fail(e, "at most %u tools may be declared", TOOLS_MAX);

  size_t from = t->text.len;
  struct mf_json_writer w;
  mf_jw_init(&w, &t->text, false);
  write_function(&w, name, spec);
  if (w.code)
    return fail_size(e);
  if (is_again)
    return load_again(t, old, from, e);

  if (t->fn_n == t->fn_cap) {
    t->fn_cap = t->fn_cap ? t->fn_cap * 2 : 8;
    t->fns = mf_xrealloc(t->fns, t->fn_cap * sizeof(*t->fns));
  }
  t->fns[t->fn_n++] = (struct tool_fn){
    .kind = kind,
    .name = copy(name),
    .public_name = copy(spec->public_name),
    .ns = spec->ns.len ? copy(spec->ns) : NULL,
    .from = from,
    .len = t->text.len - from,
    .is_deferred = spec->is_deferred,
    .is_loaded = t->is_loading,
  };
  return true;
}

/* ---- declarations ---- */

static bool fail_unsupported(struct mf_str type, const struct tool_place *at, struct mf_api_error *e)
{
  char param[80], supported[160];
  snprintf(param, sizeof(param), "%s.type", at->text);
  tool_kind_list(supported, sizeof(supported));
  return mf_api_fail(e, 400, "invalid_request_error", "invalid_value", param,
                     "invalid request: %s: '%.*s' tools are not supported by this server; supported are %s", param,
                     TOOL_SHOWN(type), supported);
}

static bool declare(struct mf_toolset *t, const struct mf_json_val *decl, size_t index, struct mf_api_error *e)
{
  struct tool_place at;
  snprintf(at.text, sizeof(at.text), "tools[%zu]", index);
  if (!check_object(decl, "a tool object", at.text, e))
    return false;
  const struct mf_json_val *type = mf_json_get(decl, "type");
  if (!type)
    return mf_api_fail_json(e, at.text, "missing field `type`");
  if (mf_json_type_of(type) != MF_JSON_STR) {
    char words[120];
    mf_api_value_words(type, words, sizeof(words));
    return mf_api_fail_json(e, at.text, "invalid type: %s, expected a tool type", words);
  }
  const struct mf_tool_kind *kind = tool_kind_find(mf_json_str(type));
  if (kind != &tool_function)
    t->has_other = true;
  if (!kind)
    return t->env->ignore_unsupported || fail_unsupported(mf_json_str(type), &at, e);
  return kind->declare(t, decl, &at, e);
}

static bool declare_all(struct mf_toolset *t, const struct mf_json_val *tools, struct mf_api_error *e)
{
  if (!tools || mf_json_type_of(tools) == MF_JSON_NULL)
    return true;
  if (mf_json_type_of(tools) != MF_JSON_ARR) {
    char words[120];
    mf_api_value_words(tools, words, sizeof(words));
    return mf_api_fail_json(e, "tools", "invalid type: %s, expected a sequence", words);
  }
  struct mf_json_iter it = mf_json_iter(tools);
  for (size_t i = 0; mf_json_next(&it); i++)
    if (!declare(t, it.val, i, e))
      return false;
  return true;
}

/* A tool that nothing can find is a mistake of the client. */
static bool check_deferred(const struct mf_toolset *t, struct mf_api_error *e)
{
  for (unsigned i = 0; i < t->fn_n && !t->has_search; i++)
    if (t->fns[i].is_deferred)
      return tool_config_fail(e, "tool '%.*s' sets defer_loading, but no tool_search tool is declared",
                              TOOL_SHOWN(mf_str_of(t->fns[i].public_name)));
  return true;
}

/* Last, so that a client with two mistakes hears of the one that is its own. */
static bool check_interpreter(const struct mf_toolset *t, struct mf_api_error *e)
{
  if (!toolset_find_kind(t, &tool_code_interpreter))
    return true;
  if (!t->env->interpreter_built)
    return tool_config_fail(e, "code_interpreter is disabled; rebuild with the embedded-code-interpreter feature");
  if (!t->env->executor || !t->env->interpreter || !t->env->interpreter->enabled)
    return tool_config_fail(e, "code_interpreter is disabled by operator configuration or its embedded runtime is not "
                               "ready");
  return true;
}

bool mf_toolset_new(const struct mf_tools_env *env, const struct mf_json_val *tools, struct mf_toolset **ret,
                    struct mf_api_error *e)
{
  struct mf_toolset *t = mf_xcalloc(1, sizeof(*t));
  t->env = env;
  mf_buf_init(&t->text, TEXT_MAX);
  if (!declare_all(t, tools, e) || !check_deferred(t, e) || !check_interpreter(t, e)) {
    mf_toolset_free(t);
    return false;
  }
  *ret = t;
  return true;
}

bool mf_toolset_load(struct mf_toolset *t, const struct mf_json_val *tools, struct mf_api_error *e)
{
  t->is_loading = true;
  bool is_ok = declare_all(t, tools, e);
  t->is_loading = false;
  return is_ok && check_interpreter(t, e);
}

void mf_toolset_free(struct mf_toolset *t)
{
  if (!t)
    return;
  for (unsigned i = 0; i < t->fn_n; i++) {
    free(t->fns[i].name);
    free(t->fns[i].public_name);
    free(t->fns[i].ns);
  }
  free(t->fns);
  mf_buf_done(&t->text);
  free(t);
}

/* ---- questions ---- */

static bool is_offered(const struct tool_fn *fn)
{
  return !fn->is_deferred || fn->is_loaded;
}

bool mf_toolset_has_gateway(const struct mf_toolset *t)
{
  for (unsigned i = 0; i < t->fn_n; i++)
    if (t->fns[i].kind->executor == MF_TOOL_GATEWAY)
      return true;
  return false;
}

bool mf_toolset_only_functions(const struct mf_toolset *t)
{
  return !t->has_other;
}

bool mf_toolset_write_upstream(const struct mf_toolset *t, bool without_gateway, struct mf_json_writer *w)
{
  bool is_open = false;
  for (unsigned i = 0; i < t->fn_n; i++) {
    const struct tool_fn *fn = &t->fns[i];
    if (!is_offered(fn) || (without_gateway && fn->kind->executor == MF_TOOL_GATEWAY))
      continue;
    if (!is_open)
      mf_jw_arr(w);
    is_open = true;
    struct mf_str text = { t->text.ptr + fn->from, fn->len };
    if (fn->kind == &tool_search)
      tool_search_write(t, text, w);
    else
      mf_jw_raw(w, text);
  }
  if (is_open)
    mf_jw_arr_end(w);
  return is_open;
}

struct mf_tool_binding mf_toolset_bind(const struct mf_toolset *t, struct mf_str name)
{
  const struct tool_fn *fn = toolset_find(t, name);
  if (!fn)
    return (struct mf_tool_binding){ .executor = MF_TOOL_CLIENT, .kind = &tool_function };
  return (struct mf_tool_binding){ fn->kind->executor, fn->kind, !is_offered(fn) };
}

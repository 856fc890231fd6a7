/* A namespace: its members are flattened for the model, and get their two names back for the client. */
#include "kind.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/banned.h"

/* "_" and 16 digits at the end of a name that was too long. */
#define HASH_N 17u

char *tool_namespace_name(struct mf_str ns, struct mf_str name)
{
  mf_auto_free char *full = mf_xasprintf("agentic_ns__%.*s__%.*s", MF_STR_ARG(ns), MF_STR_ARG(name));
  struct mf_str s = mf_str_of(full);
  if (s.len <= TOOL_NAME_MAX)
    return mf_xasprintf("%s", full);
  return mf_xasprintf("%.*s_%016" PRIx64, (int)mf_utf8_prefix(s, TOOL_NAME_MAX - HASH_N), full,
                      tool_fnv1a(TOOL_FNV_START, s.ptr, s.len));
}

static bool declare_member(struct mf_toolset *t, struct mf_str ns, const struct mf_json_val *decl,
                           const struct tool_place *at, struct mf_api_error *e)
{
  if (!check_object(decl, "a tool object", at->text, e))
    return false;
  const struct mf_json_val *type = mf_json_get(decl, "type");
  bool is_text = mf_json_type_of(type) == MF_JSON_STR;
  bool is_custom = is_text && mf_str_is(mf_json_str(type), "custom");
  if (!is_custom && !(is_text && mf_str_is(mf_json_str(type), "function")))
    return tool_config_fail(e, "%s: namespace '%.*s' may hold function and custom tools only", at->text,
                            TOOL_SHOWN(ns));
  struct fn_spec spec;
  if (!(is_custom ? check_custom(decl, at, &spec, e) : check_function(decl, at, &spec, e)))
    return false;
  mf_auto_free char *name = tool_namespace_name(ns, spec.public_name);
  spec.name = mf_str_of(name);
  spec.ns = ns;
  return toolset_add(t, is_custom ? &tool_custom : &tool_namespace_fn, &spec, e);
}

static bool declare(struct mf_toolset *t, const struct mf_json_val *decl, const struct tool_place *at,
                    struct mf_api_error *e)
{
  struct mf_str ns;
  const struct mf_json_val *tools = mf_json_get(decl, "tools");
  if (!check_name(decl, at, &ns, e) || !check_optional(decl, "description", MF_JSON_STR, "a string", at, e))
    return false;
  if (mf_json_type_of(tools) != MF_JSON_ARR)
    return mf_api_fail_json(e, at->text,
                            tools ? "invalid type for `tools`, expected a sequence" : "missing field `tools`");
  struct mf_json_iter it = mf_json_iter(tools);
  for (size_t i = 0; mf_json_next(&it); i++) {
    struct tool_place member;
    snprintf(member.text, sizeof(member.text), "%.32s.tools[%zu]", at->text, i);
    if (!declare_member(t, ns, it.val, &member, e))
      return false;
  }
  return true;
}

const struct mf_tool_kind tool_namespace = {
  .type = "namespace",
  .label = "namespace tool",
  .executor = MF_TOOL_CLIENT,
  .declare = declare,
};

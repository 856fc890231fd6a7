/* tool_search: functions with defer_loading stay hidden until the client's search returns them (mf_toolset_load). */
#include "kind.h"

#include "base/banned.h"

static bool declare(struct mf_toolset *t, const struct mf_json_val *decl, const struct tool_place *at,
                    struct mf_api_error *e)
{
  const struct mf_json_val *execution = mf_json_get(decl, "execution");
  if (mf_json_type_of(execution) != MF_JSON_STR || !mf_str_is(mf_json_str(execution), "client"))
    return tool_config_fail(e, "tool_search currently supports only execution='client'");
  struct fn_spec spec = {
    .public_name = MF_STR("tool_search"),
    .description = mf_json_get(decl, "description"),
    .description_text = MF_STR("Finds tools that are not loaded yet; the ones found can be called afterwards."),
    .parameters = mf_json_get(decl, "parameters"),
    .parameters_text = MF_STR("{\"type\":\"object\",\"properties\":{\"query\":{\"type\":\"string\",\"description\":"
                              "\"What the tool should be able to do.\"}},\"required\":[\"query\"],"
                              "\"additionalProperties\":false}"),
    .is_strict = true,
  };
  if (!check_optional(decl, "description", MF_JSON_STR, "a string", at, e) ||
      !check_optional(decl, "parameters", MF_JSON_OBJ, "a JSON schema", at, e))
    return false;
  t->has_search = true;
  return toolset_add(t, &tool_search, &spec, e);
}

static void write_item(const struct tool_fn *fn, const struct mf_tool_call *call, const char *status, bool is_open,
                       struct mf_json_writer *w)
{
  mf_auto_json struct mf_json *doc = is_open ? NULL : tool_parse(call->arguments);
  mf_auto_free char *id = tool_id("tsc_", call);
  mf_jw_kstrz(w, "type", "tool_search_call");
  mf_jw_kstrz(w, "id", id);
  mf_jw_kstr(w, "call_id", call->call_id);
  mf_jw_kstrz(w, "execution", "client");
  mf_jw_key(w, "arguments");
  if (doc) {
    mf_jw_val(w, mf_json_root(doc));
  } else if (is_open) {
    mf_jw_obj(w);
    mf_jw_obj_end(w);
  } else {
    mf_jw_str(w, call->arguments); /* what the model wrote is no JSON; the client may still make sense of it */
  }
  mf_jw_kstrz(w, "status", status);
}

const struct mf_tool_kind tool_search = {
  .type = "tool_search",
  .label = "tool search tool",
  .executor = MF_TOOL_CLIENT,
  .declare = declare,
  .write_item = write_item,
};

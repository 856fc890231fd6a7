/* A custom tool of the client's: plain text in. The model sees a function with one string. */
#include "kind.h"

#include "base/banned.h"

static bool declare(struct mf_toolset *t, const struct mf_json_val *decl, const struct tool_place *at,
                    struct mf_api_error *e)
{
  struct fn_spec spec;
  return check_custom(decl, at, &spec, e) && toolset_add(t, &tool_custom, &spec, e);
}

static void write_item(const struct tool_fn *fn, const struct mf_tool_call *call, const char *status, bool is_open,
                       struct mf_json_writer *w)
{
  mf_auto_json struct mf_json *doc = NULL;
  mf_auto_free char *id = tool_id("ctc_", call);
  mf_jw_kstrz(w, "type", "custom_tool_call");
  mf_jw_kstrz(w, "id", id);
  mf_jw_kstr(w, "call_id", call->call_id);
  if (fn && fn->ns)
    mf_jw_kstrz(w, "namespace", fn->ns);
  mf_jw_kstr(w, "name", fn ? mf_str_of(fn->public_name) : call->name);
  mf_jw_kstr(w, "input", is_open ? MF_STR("") : tool_argument(call->arguments, "input", &doc));
  mf_jw_kstrz(w, "status", status);
}

static enum mf_code emit_middle(const struct tool_fn *fn, const struct mf_tool_call *call,
                                const struct mf_event_sink *sink, struct mf_err *err)
{
  mf_auto_json struct mf_json *doc = NULL;
  mf_auto_free char *id = tool_id("ctc_", call);
  struct mf_str input = tool_argument(call->arguments, "input", &doc), item_id = mf_str_of(id);
  enum mf_code code =
      tool_emit_text(sink, "response.custom_tool_call_input.delta", call->output_index, item_id, "delta", input, err);
  if (code)
    return code;
  return tool_emit_text(sink, "response.custom_tool_call_input.done", call->output_index, item_id, "input", input, err);
}

const struct mf_tool_kind tool_custom = {
  .type = "custom",
  .label = "custom tool",
  .executor = MF_TOOL_CLIENT,
  .declare = declare,
  .write_item = write_item,
  .emit_middle = emit_middle,
};

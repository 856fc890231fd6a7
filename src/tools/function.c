/* A function of the client's: the model sees it as it is, and upstream's own frames go to the client. */
#include "kind.h"

#include "base/banned.h"

static bool declare(struct mf_toolset *t, const struct mf_json_val *decl, const struct tool_place *at,
                    struct mf_api_error *e)
{
  struct fn_spec spec;
  return check_function(decl, at, &spec, e) && toolset_add(t, &tool_function, &spec, e);
}

static void write_item(const struct tool_fn *fn, const struct mf_tool_call *call, const char *status, bool is_open,
                       struct mf_json_writer *w)
{
  mf_jw_kstrz(w, "type", "function_call");
  mf_jw_kstr(w, "id", call->item_id);
  mf_jw_kstr(w, "call_id", call->call_id);
  if (fn && fn->ns)
    mf_jw_kstrz(w, "namespace", fn->ns);
  mf_jw_kstr(w, "name", fn ? mf_str_of(fn->public_name) : call->name);
  mf_jw_kstr(w, "arguments", is_open ? MF_STR("") : call->arguments);
  mf_jw_kstrz(w, "status", status);
}

struct done {
  const struct tool_fn *fn;
  const struct mf_tool_call *call;
};

static void write_done(const void *user, struct mf_json_writer *w)
{
  const struct done *x = user;
  mf_jw_kstr(w, "item_id", x->call->item_id);
  mf_jw_kstr(w, "name", x->fn ? mf_str_of(x->fn->public_name) : x->call->name);
  mf_jw_kstr(w, "arguments", x->call->arguments);
}

static enum mf_code emit_middle(const struct tool_fn *fn, const struct mf_tool_call *call,
                                const struct mf_event_sink *sink, struct mf_err *err)
{
  enum mf_code code = tool_emit_text(sink, "response.function_call_arguments.delta", call->output_index, call->item_id,
                                     "delta", call->arguments, err);
  if (code)
    return code;
  const struct done x = { fn, call };
  return tool_emit(sink, "response.function_call_arguments.done", call->output_index, write_done, &x, err);
}

const struct mf_tool_kind tool_function = {
  .type = "function",
  .label = "function tool",
  .executor = MF_TOOL_CLIENT,
  .is_plain = true,
  .declare = declare,
  .write_item = write_item,
  .emit_middle = emit_middle,
};

/* A function in a namespace: the same, but the model knows it by another name, so the frames are ours. */
const struct mf_tool_kind tool_namespace_fn = {
  .type = "namespace",
  .label = "namespace tool",
  .executor = MF_TOOL_CLIENT,
  .write_item = write_item,
  .emit_middle = emit_middle,
};

/* Calls that the client executes: how they look to it, and how what it sends back looks to the model. */
#include "kind.h"

#include "base/banned.h"

bool mf_tool_is_plain(struct mf_tool_binding b)
{
  return b.kind->is_plain;
}

struct item_event {
  struct mf_tool_binding b;
  const struct tool_fn *fn;
  const struct mf_tool_call *call;
  bool is_open;
};

static void write_item(const struct item_event *x, const char *status, struct mf_json_writer *w)
{
  mf_jw_obj(w);
  x->b.kind->write_item(x->fn, x->call, status, x->is_open, w);
  mf_jw_obj_end(w);
}

void mf_tool_write_client_item(struct mf_tool_binding b, const struct mf_toolset *t, const struct mf_tool_call *call,
                               const char *status, struct mf_json_writer *w)
{
  const struct item_event x = { b, toolset_find(t, call->name), call, false };
  write_item(&x, status, w);
}

static void write_member(const void *user, struct mf_json_writer *w)
{
  const struct item_event *x = user;
  mf_jw_key(w, "item");
  write_item(x, x->is_open ? "in_progress" : "completed", w);
}

enum mf_code mf_tool_emit_client(struct mf_tool_binding b, const struct mf_toolset *t, const struct mf_tool_call *call,
                                 const struct mf_event_sink *sink, struct mf_err *err)
{
  struct item_event x = { b, toolset_find(t, call->name), call, true };
  enum mf_code code = tool_emit(sink, "response.output_item.added", call->output_index, write_member, &x, err);
  if (!code && b.kind->emit_middle)
    code = b.kind->emit_middle(x.fn, call, sink, err);
  if (code)
    return code;
  x.is_open = false;
  return tool_emit(sink, "response.output_item.done", call->output_index, write_member, &x, err);
}

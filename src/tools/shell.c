/* The shell of the client's own machine: the model sees a function, the client a shell_call to run. */
#include "kind.h"

#include "base/banned.h"

static bool declare(struct mf_toolset *t, const struct mf_json_val *decl, const struct tool_place *at,
                    struct mf_api_error *e)
{
  const struct mf_json_val *environment = mf_json_get(decl, "environment");
  const struct mf_json_val *type =
      mf_json_type_of(environment) == MF_JSON_OBJ ? mf_json_get(environment, "type") : NULL;
  if (mf_json_type_of(type) != MF_JSON_STR || !mf_str_is(mf_json_str(type), "local"))
    return tool_config_fail(e, "shell tool currently supports only environment.type='local'");
  const struct fn_spec spec = {
    .public_name = MF_STR("shell"),
    .description_text = MF_STR("Runs shell commands on the user's machine and returns their output."),
    .parameters_text = MF_STR("{\"type\":\"object\",\"properties\":{\"commands\":{\"type\":\"array\",\"items\":"
                              "{\"type\":\"string\"},\"minItems\":1,\"description\":\"Commands to run, in order.\"},"
                              "\"timeout_ms\":{\"type\":\"integer\",\"description\":\"Time limit in milliseconds.\"},"
                              "\"max_output_length\":{\"type\":\"integer\",\"description\":\"Most characters of output "
                              "to return.\"}},\"required\":[\"commands\"],\"additionalProperties\":false}"),
  };
  return toolset_add(t, &tool_shell, &spec, e);
}

/* The commands as the model gave them: a list, or one string. Anything else is no command. */
static const struct mf_json_val *commands_of(const struct mf_json *doc)
{
  const struct mf_json_val *root = doc ? mf_json_root(doc) : NULL;
  const struct mf_json_val *v = mf_json_type_of(root) == MF_JSON_OBJ ? mf_json_get(root, "commands") : NULL;
  return mf_json_type_of(v) == MF_JSON_ARR || mf_json_type_of(v) == MF_JSON_STR ? v : NULL;
}

static void write_number(struct mf_json_writer *w, const struct mf_json *doc, const char *key)
{
  const struct mf_json_val *root = doc ? mf_json_root(doc) : NULL;
  const struct mf_json_val *v = mf_json_type_of(root) == MF_JSON_OBJ ? mf_json_get(root, key) : NULL;
  uint64_t n;
  mf_jw_key(w, key);
  if (mf_json_u64(v, &n))
    mf_jw_u64(w, n);
  else
    mf_jw_null(w);
}

static void write_item(const struct tool_fn *fn, const struct mf_tool_call *call, const char *status, bool is_open,
                       struct mf_json_writer *w)
{
  mf_auto_json struct mf_json *doc = is_open ? NULL : tool_parse(call->arguments);
  mf_auto_free char *id = tool_id("sh_", call);
  const struct mf_json_val *commands = commands_of(doc);
  mf_jw_kstrz(w, "type", "shell_call");
  mf_jw_kstrz(w, "id", id);
  mf_jw_kstr(w, "call_id", call->call_id);
  mf_jw_key(w, "action");
  mf_jw_obj(w);
  mf_jw_key(w, "commands");
  mf_jw_arr(w);
  if (mf_json_type_of(commands) == MF_JSON_STR)
    mf_jw_str(w, mf_json_str(commands));
  struct mf_json_iter it = mf_json_iter(mf_json_type_of(commands) == MF_JSON_ARR ? commands : NULL);
  while (mf_json_next(&it))
    if (mf_json_type_of(it.val) == MF_JSON_STR)
      mf_jw_str(w, mf_json_str(it.val));
  mf_jw_arr_end(w);
  write_number(w, doc, "timeout_ms");
  write_number(w, doc, "max_output_length");
  mf_jw_obj_end(w);
  mf_jw_kstrz(w, "status", status);
}

struct command_event {
  struct mf_str item_id, text;
  unsigned index;
  const char *key;
};

static void write_command(const void *user, struct mf_json_writer *w)
{
  const struct command_event *x = user;
  mf_jw_kstr(w, "item_id", x->item_id);
  mf_jw_ku64(w, "command_index", x->index);
  mf_jw_kstr(w, x->key, x->text);
}

static enum mf_code emit_command(const struct mf_tool_call *call, struct mf_str id, unsigned index, struct mf_str text,
                                 const struct mf_event_sink *sink, struct mf_err *err)
{
  static const struct {
    const char *type, *key;
    bool is_empty;
  } steps[] = {
    { "response.shell_call_command.added", "command", true },
    { "response.shell_call_command.delta", "delta", false },
    { "response.shell_call_command.done", "command", false },
  };
  enum mf_code code = MF_OK;
  for (size_t i = 0; i < MF_ARRAY_N(steps) && !code; i++) {
    const struct command_event x = { id, steps[i].is_empty ? MF_STR("") : text, index, steps[i].key };
    code = tool_emit(sink, steps[i].type, call->output_index, write_command, &x, err);
  }
  return code;
}

static enum mf_code emit_middle(const struct tool_fn *fn, const struct mf_tool_call *call,
                                const struct mf_event_sink *sink, struct mf_err *err)
{
  mf_auto_json struct mf_json *doc = tool_parse(call->arguments);
  mf_auto_free char *id = tool_id("sh_", call);
  const struct mf_json_val *commands = commands_of(doc);
  if (mf_json_type_of(commands) == MF_JSON_STR)
    return emit_command(call, mf_str_of(id), 0, mf_json_str(commands), sink, err);
  struct mf_json_iter it = mf_json_iter(commands);
  enum mf_code code = MF_OK;
  for (unsigned i = 0; !code && mf_json_next(&it);)
    if (mf_json_type_of(it.val) == MF_JSON_STR)
      code = emit_command(call, mf_str_of(id), i++, mf_json_str(it.val), sink, err);
  return code;
}

const struct mf_tool_kind tool_shell = {
  .type = "shell",
  .label = "shell tool",
  .executor = MF_TOOL_CLIENT,
  .declare = declare,
  .write_item = write_item,
  .emit_middle = emit_middle,
};

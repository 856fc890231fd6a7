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

enum { CATALOGUE_BYTES = 4096 };

/* "find\nCan be found: f, g.": the model cannot look for what it has never heard of. */
static enum mf_code write_description(const struct mf_toolset *t, const struct mf_json_val *said, struct mf_buf *out)
{
  enum mf_code code = mf_json_type_of(said) == MF_JSON_STR ? mf_buf_append_str(out, mf_json_str(said)) : MF_OK;
  size_t before = out->len;
  unsigned left = 0;
  for (unsigned i = 0; i < t->fn_n && !code; i++) {
    const struct tool_fn *fn = &t->fns[i];
    if (!fn->is_deferred || fn->is_loaded)
      continue;
    if (out->len - before > CATALOGUE_BYTES)
      left++;
    else
      code = mf_buf_printf(out, "%s%s", out->len == before ? (before ? "\nCan be found: " : "Can be found: ") : ", ",
                           fn->name);
  }
  if (!code && left)
    code = mf_buf_printf(out, " and %u more", left);
  return code || out->len == before ? code : mf_buf_append_str(out, MF_STR("."));
}

void tool_search_write(const struct mf_toolset *t, struct mf_str text, struct mf_json_writer *w)
{
  static const struct mf_json_limits limits = { .bytes_max = SIZE_MAX, .depth_max = 1024 };
  mf_auto_json struct mf_json *doc = NULL;
  mf_auto_buf struct mf_buf description;
  mf_buf_init(&description, text.len + (size_t)2 * CATALOGUE_BYTES);
  enum mf_code code = mf_json_parse(text, &limits, &doc, NULL);
  const struct mf_json_val *root = code ? NULL : mf_json_root(doc);
  if (!code)
    code = write_description(t, mf_json_get(root, "description"), &description);
  if (code) {
    w->code = w->code ? w->code : code;
    return;
  }
  mf_jw_obj(w);
  struct mf_json_iter it = mf_json_iter(root);
  while (mf_json_next(&it)) {
    mf_jw_key_str(w, it.key);
    if (mf_str_is(it.key, "description"))
      mf_jw_str(w, mf_buf_str(&description));
    else
      mf_jw_val(w, it.val);
  }
  mf_jw_obj_end(w);
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

/* What a client sends back of its own tools' calls, as the model knows it: function_call and function_call_output. */
#include "kind.h"

#include "base/banned.h"

#define TEXT_MAX ((size_t)64 << 20)

static struct mf_str text_of(const struct mf_json_val *obj, const char *key)
{
  const struct mf_json_val *v = mf_json_get(obj, key);
  return mf_json_type_of(v) == MF_JSON_STR ? mf_json_str(v) : (struct mf_str){ 0 };
}

/* ctc_x was made of fc_x. */
static void write_id(const struct mf_json_val *item, const char *prefix, struct mf_json_writer *w)
{
  struct mf_str id = text_of(item, "id");
  if (!id.len)
    return;
  size_t n = strlen(prefix);
  if (n == 0 || !mf_str_starts(id, prefix)) {
    mf_jw_kstr(w, "id", id);
    return;
  }
  mf_auto_free char *text = mf_xasprintf("fc_%.*s", (int)(id.len - n), id.ptr + n);
  mf_jw_kstrz(w, "id", text);
}

/* A value as the text of a string member; a string is itself. */
static void write_as_text(struct mf_json_writer *w, const char *key, const struct mf_json_val *v)
{
  if (mf_json_type_of(v) == MF_JSON_STR) {
    mf_jw_kstr(w, key, mf_json_str(v));
    return;
  }
  mf_auto_buf struct mf_buf text;
  mf_buf_init(&text, TEXT_MAX);
  struct mf_json_writer inner;
  mf_jw_init(&inner, &text, false);
  if (v)
    mf_jw_val(&inner, v);
  if (inner.code && !w->code)
    w->code = inner.code;
  mf_jw_kstr(w, key, mf_buf_str(&text));
}

/* ---- calls ---- */

static void begin_call(const struct mf_json_val *item, const char *prefix, struct mf_str name, struct mf_json_writer *w)
{
  mf_jw_obj(w);
  mf_jw_kstrz(w, "type", "function_call");
  write_id(item, prefix, w);
  mf_jw_kstr(w, "call_id", text_of(item, "call_id"));
  mf_jw_kstr(w, "name", name);
}

static void end_call(const struct mf_json_val *item, struct mf_json_writer *w)
{
  struct mf_str status = text_of(item, "status");
  if (status.len)
    mf_jw_kstr(w, "status", status);
  mf_jw_obj_end(w);
}

static void write_call(const struct mf_json_val *item, const char *prefix, struct mf_str name, struct mf_json_writer *w)
{
  begin_call(item, prefix, name, w);
  write_as_text(w, "arguments", mf_json_get(item, "arguments"));
  end_call(item, w);
}

/* `write` puts one object, which is sent as the text of the member `key`. */
static void write_object_text(struct mf_json_writer *w, const char *key, const struct mf_json_val *item,
                              void (*write)(const struct mf_json_val *item, struct mf_json_writer *w))
{
  mf_auto_buf struct mf_buf text;
  mf_buf_init(&text, TEXT_MAX);
  struct mf_json_writer inner;
  mf_jw_init(&inner, &text, false);
  mf_jw_obj(&inner);
  write(item, &inner);
  mf_jw_obj_end(&inner);
  if (inner.code && !w->code)
    w->code = inner.code;
  mf_jw_kstr(w, key, mf_buf_str(&text));
}

static void put_input(const struct mf_json_val *item, struct mf_json_writer *w)
{
  mf_jw_kstr(w, "input", text_of(item, "input"));
}

static void write_custom(const struct mf_json_val *item, struct mf_str name, struct mf_json_writer *w)
{
  begin_call(item, "ctc_", name, w);
  write_object_text(w, "arguments", item, put_input);
  end_call(item, w);
}

/* As the model wrote it: what it left out is null in the client's item. */
static void put_action(const struct mf_json_val *item, struct mf_json_writer *w)
{
  const struct mf_json_val *action = mf_json_get(item, "action");
  struct mf_json_iter it = mf_json_iter(mf_json_type_of(action) == MF_JSON_OBJ ? action : NULL);
  while (mf_json_next(&it)) {
    if (mf_json_type_of(it.val) == MF_JSON_NULL)
      continue;
    mf_jw_key_str(w, it.key);
    mf_jw_val(w, it.val);
  }
}

static void write_shell(const struct mf_json_val *item, struct mf_json_writer *w)
{
  begin_call(item, "sh_", MF_STR("shell"), w);
  write_object_text(w, "arguments", item, put_action);
  end_call(item, w);
}

/* ---- outputs ---- */

/* What a search has found. */
static void put_tools(const struct mf_json_val *item, struct mf_json_writer *w)
{
  const struct mf_json_val *tools = mf_json_get(item, "tools");
  mf_jw_key(w, "tools");
  if (mf_json_type_of(tools) == MF_JSON_ARR)
    mf_jw_val(w, tools);
  else
    mf_jw_raw(w, MF_STR("[]"));
}

static void write_found(const struct mf_json_val *item, struct mf_json_writer *w)
{
  mf_jw_obj(w);
  mf_jw_kstrz(w, "type", "function_call_output");
  mf_jw_kstr(w, "call_id", text_of(item, "call_id"));
  write_object_text(w, "output", item, put_tools);
  mf_jw_obj_end(w);
}

static void write_output(const struct mf_json_val *item, const struct mf_json_val *output, bool as_text,
                         struct mf_json_writer *w)
{
  mf_jw_obj(w);
  mf_jw_kstrz(w, "type", "function_call_output");
  mf_jw_kstr(w, "call_id", text_of(item, "call_id"));
  if (as_text || !output) {
    write_as_text(w, "output", output);
  } else {
    mf_jw_key(w, "output");
    mf_jw_val(w, output); /* text, or a list of parts that function_call_output has too */
  }
  mf_jw_obj_end(w);
}

bool mf_tool_write_model_item(const struct mf_json_val *item, struct mf_json_writer *w)
{
  if (mf_json_type_of(item) != MF_JSON_OBJ)
    return false;
  struct mf_str type = text_of(item, "type"), ns = text_of(item, "namespace"), name = text_of(item, "name");
  mf_auto_free char *flat = ns.len ? tool_namespace_name(ns, name) : NULL;
  struct mf_str model_name = flat ? mf_str_of(flat) : name;
  if (mf_str_is(type, "function_call") && flat)
    write_call(item, "", model_name, w);
  else if (mf_str_is(type, "custom_tool_call"))
    write_custom(item, model_name, w);
  else if (mf_str_is(type, "shell_call"))
    write_shell(item, w);
  else if (mf_str_is(type, "tool_search_call"))
    write_call(item, "tsc_", MF_STR("tool_search"), w);
  else if (mf_str_is(type, "custom_tool_call_output"))
    write_output(item, mf_json_get(item, "output"), false, w);
  else if (mf_str_is(type, "shell_call_output"))
    write_output(item, mf_json_get(item, "output"), true, w);
  else if (mf_str_is(type, "tool_search_output"))
    write_found(item, w);
  else
    return false;
  return true;
}

/* code_interpreter: Python that the gateway runs. Declaration, the call, its item and its seven events. */
#include "code-interpreter.h"

#include <stdio.h>

#include "base/banned.h"

#define FIXED_LOGS "Code execution failed."
/* What Python itself says of such a source; a sandbox takes none. */
#define NUL_WORDS "SyntaxError: source code string cannot contain null bytes"

/* ---- declaration ---- */

static bool only_member(const struct mf_json_val *obj, const char *first, const char *only, const char *at,
                        struct mf_api_error *e)
{
  struct mf_json_iter it = mf_json_iter(obj);
  while (mf_json_next(&it))
    if (!mf_str_is(it.key, only) && !(first && mf_str_is(it.key, first)))
      return mf_api_fail_json(e, at, "unknown field `%.*s`, expected `%s`", TOOL_SHOWN(it.key), only);
  return true;
}

static bool check_container(const struct mf_json_val *decl, const struct tool_place *place, struct mf_api_error *e)
{
  char at[80], words[120];
  snprintf(at, sizeof(at), "%s.container", place->text);
  const struct mf_json_val *container = mf_json_get(decl, "container");
  if (!container)
    return mf_api_fail_json(e, place->text, "missing field `container`");
  if (mf_json_type_of(container) != MF_JSON_OBJ) {
    mf_api_value_words(container, words, sizeof(words));
    return mf_api_fail_json(e, at, "invalid type: %s, expected a container object", words);
  }
  const struct mf_json_val *type = mf_json_get(container, "type");
  if (!only_member(container, NULL, "type", at, e))
    return false;
  if (!type)
    return mf_api_fail_json(e, at, "missing field `type`");
  if (mf_json_type_of(type) == MF_JSON_STR && mf_str_is(mf_json_str(type), "auto"))
    return true;
  if (mf_json_type_of(type) == MF_JSON_STR)
    return mf_api_fail_json(e, at, "unknown variant `%.*s`, expected `auto`", TOOL_SHOWN(mf_json_str(type)));
  mf_api_value_words(type, words, sizeof(words));
  return mf_api_fail_json(e, at, "invalid type: %s, expected `auto`", words);
}

static bool declare(struct mf_toolset *t, const struct mf_json_val *decl, const struct tool_place *at,
                    struct mf_api_error *e)
{
  const struct fn_spec spec = {
    .public_name = MF_STR("code_interpreter"),
    .description_text = MF_STR("Runs Python code in a fresh sandbox without network access and returns what it prints; "
                               "use print(...) to return text. Nothing is kept between calls."),
    .parameters_text = MF_STR("{\"type\":\"object\",\"properties\":{\"code\":{\"type\":\"string\",\"description\":"
                              "\"Python source code to run. The text that it prints is the answer.\"}},"
                              "\"required\":[\"code\"],\"additionalProperties\":false}"),
    .is_strict = true,
  };
  return only_member(decl, "type", "container", at->text, e) && check_container(decl, at, e) &&
         toolset_add(t, &tool_code_interpreter, &spec, e);
}

/* ---- a call ---- */

struct call {
  const struct mf_tools_env *env;
  char *item_id, *container_id;
  uint32_t output_index;
  struct mf_json *doc;
  struct mf_str code; /* in doc; empty when the arguments are bad */
  const char *bad;    /* what is wrong with them, or NULL */
  char bad_words[120];
  struct mf_sandbox_limits limits;
  const char *status;
  bool is_failed; /* the outputs are the fixed entry */
  struct interpreter_outcome outcome;
};

static void *call_open(const struct mf_tools_env *env, const struct mf_tool_call *call)
{
  struct call *c = mf_xcalloc(1, sizeof(*c));
  c->env = env;
  c->item_id = tool_id("ci_", call);
  c->container_id = tool_id("cntr_", call);
  c->output_index = call->output_index;
  c->status = "in_progress";
  c->bad = interpreter_arguments(call->arguments, env->interpreter->max_source_bytes, &c->doc, &c->code, c->bad_words,
                                 sizeof(c->bad_words));
  mf_interpreter_limits(env->interpreter, &c->limits);
  interpreter_outcome_init(&c->outcome, &c->limits);
  return c;
}

static void call_close(void *state)
{
  struct call *c = state;
  interpreter_outcome_done(&c->outcome);
  mf_json_free(c->doc);
  free(c->item_id);
  free(c->container_id);
  free(c);
}

static size_t output_max(const struct mf_tools_env *env)
{
  /* A byte is at most six in JSON. */
  struct mf_sandbox_limits l;
  mf_interpreter_limits(env->interpreter, &l);
  return (size_t)(l.stdout_bytes + l.stderr_bytes) * 6 + 4096;
}

static void call_fail(void *state)
{
  struct call *c = state;
  c->status = "failed";
  c->is_failed = true;
}

static void set_nul(struct call *c)
{
  c->outcome.status = "failed";
  if (mf_buf_append_str(&c->outcome.err, MF_STR(NUL_WORDS)) != MF_OK)
    c->outcome.fault = "code interpreter isolated worker failed";
}

static enum mf_code call_run(void *state, struct mf_fiber *self, struct mf_buf *out)
{
  struct call *c = state;
  if (c->bad) {
    c->outcome.fault = c->bad;
  } else if (c->code.len && memchr(c->code.ptr, 0, c->code.len)) {
    set_nul(c);
  } else {
    const struct mf_sandbox_spec spec = { .source = c->code, .limits = c->limits };
    struct mf_sandbox_result *result = NULL;
    enum mf_code code = mf_executor_run(c->env->executor, self, &spec, &result, NULL);
    if (code == MF_E_CANCELLED)
      return code;
    interpreter_outcome_set(&c->outcome, code, result, &c->limits);
    mf_sandbox_result_free(result);
  }
  struct mf_json_writer w;
  mf_jw_init(&w, out, false);
  interpreter_outcome_write(&c->outcome, &w);
  if (w.code) { /* no memory */
    mf_buf_truncate(out, 0);
    c->outcome.fault = "code interpreter isolated worker failed";
    mf_jw_init(&w, out, false);
    interpreter_outcome_write(&c->outcome, &w);
  }
  c->status = c->outcome.status;
  if (c->outcome.fault)
    call_fail(c);
  return MF_OK;
}

/* ---- item and events ---- */

static void write_logs(struct mf_json_writer *w, struct mf_str text)
{
  if (text.len == 0)
    return;
  mf_jw_obj(w);
  mf_jw_kstrz(w, "type", "logs");
  mf_jw_kstr(w, "logs", text);
  mf_jw_obj_end(w);
}

static void write_call(const struct call *c, bool is_open, struct mf_json_writer *w)
{
  mf_jw_obj(w);
  mf_jw_kstrz(w, "type", "code_interpreter_call");
  mf_jw_kstrz(w, "id", c->item_id);
  mf_jw_kstrz(w, "container_id", c->container_id);
  mf_jw_kstr(w, "code", is_open ? MF_STR("") : c->code);
  mf_jw_kstrz(w, "status", is_open ? "in_progress" : c->status);
  mf_jw_key(w, "outputs");
  if (is_open) {
    mf_jw_null(w);
  } else {
    mf_jw_arr(w);
    write_logs(w, c->is_failed ? MF_STR(FIXED_LOGS) : mf_buf_str(&c->outcome.out));
    if (!c->is_failed)
      write_logs(w, mf_buf_str(&c->outcome.err));
    mf_jw_arr_end(w);
  }
  mf_jw_obj_end(w);
}

static void write_item(const void *state, struct mf_json_writer *w)
{
  write_call(state, false, w);
}

static void write_opening(const void *user, struct mf_json_writer *w)
{
  mf_jw_key(w, "item");
  write_call(user, true, w);
}

static void write_final(const void *user, struct mf_json_writer *w)
{
  mf_jw_key(w, "item");
  write_call(user, false, w);
}

#define CI "response.code_interpreter_call"

static enum mf_code emit_start(void *state, const struct mf_event_sink *sink, struct mf_err *err)
{
  struct call *c = state;
  const struct {
    const char *type, *key;
  } steps[] = {
    { CI ".in_progress", NULL },
    { CI "_code.delta", "delta" },
    { CI "_code.done", "code" },
    { CI ".interpreting", NULL },
  };
  enum mf_code code = tool_emit(sink, "response.output_item.added", c->output_index, write_opening, c, err);
  for (size_t i = 0; i < MF_ARRAY_N(steps) && !code; i++)
    code = tool_emit_text(sink, steps[i].type, c->output_index, mf_str_of(c->item_id), steps[i].key, c->code, err);
  return code;
}

static enum mf_code emit_end(void *state, const struct mf_event_sink *sink, struct mf_err *err)
{
  struct call *c = state;
  enum mf_code code = tool_emit_text(sink, CI ".completed", c->output_index, mf_str_of(c->item_id), NULL, c->code, err);
  return code ? code : tool_emit(sink, "response.output_item.done", c->output_index, write_final, c, err);
}

static struct mf_str item_id(const void *state)
{
  return mf_str_of(((const struct call *)state)->item_id);
}

static const struct gateway_ops interpreter_gateway = {
  .open = call_open,
  .close = call_close,
  .emit_start = emit_start,
  .run = call_run,
  .fail = call_fail,
  .emit_end = emit_end,
  .write_item = write_item,
  .item_id = item_id,
  .output_max = output_max,
};

const struct mf_tool_kind tool_code_interpreter = {
  .type = "code_interpreter",
  .label = "code interpreter tool",
  .executor = MF_TOOL_GATEWAY,
  .declare = declare,
  .gateway = &interpreter_gateway,
};

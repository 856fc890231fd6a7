/* The public response object: the same in a JSON reply, a terminal event and the storage. First the members that the
 * contract has, in its order, then the rest of OpenAI's. Thread: the loop's. */
#include "rounds.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/time.h"
#include "base/banned.h"

static const struct mf_json_limits kept_limits = { .bytes_max = SIZE_MAX, .depth_max = 1024 };

#define IS(type) (1u << (type))

/* What is echoed: as the client said it, else as upstream did, else the default. */
struct echo {
  const char *key;
  const char *otherwise; /* JSON; NULL: left out */
  unsigned types;        /* values of other types are as if they had not been said */
  bool is_dropped;       /* not passed on, so what the client says of it changes nothing */
};
static const struct echo echoes[] = {
  { "frequency_penalty", "0.0", IS(MF_JSON_NUM), .is_dropped = true },
  { "max_output_tokens", "null", IS(MF_JSON_NUM) },
  { "max_tool_calls", "null", IS(MF_JSON_NUM) },
  { "metadata", "{}", IS(MF_JSON_OBJ) },
  { "parallel_tool_calls", "true", IS(MF_JSON_BOOL) },
  { "presence_penalty", "0.0", IS(MF_JSON_NUM), .is_dropped = true },
  { "prompt_cache_key", "null", IS(MF_JSON_STR) },
  { "reasoning", "{\"effort\":null,\"summary\":null}", IS(MF_JSON_OBJ) },
  { "safety_identifier", "null", IS(MF_JSON_STR) },
  { "service_tier", NULL, IS(MF_JSON_STR) },
  { "temperature", "1.0", IS(MF_JSON_NUM) },
  { "text", "{\"format\":{\"type\":\"text\"}}", IS(MF_JSON_OBJ) },
  { "top_logprobs", "0", IS(MF_JSON_NUM) },
  { "top_p", "1.0", IS(MF_JSON_NUM) },
  { "truncation", "\"disabled\"", IS(MF_JSON_STR) },
  { "user", NULL, IS(MF_JSON_STR) },
};

static void write_echo(struct mf_json_writer *w, const struct run *run, const struct echo *e,
                       const struct mf_json_val *upstream)
{
  const struct mf_json_val *v = mf_json_get(mf_json_root(run->t.r->doc), e->key);
  if (!v || e->is_dropped || !(IS(mf_json_type_of(v)) & e->types))
    v = mf_json_get(upstream, e->key);
  bool is_said = v && (IS(mf_json_type_of(v)) & e->types);
  if (!is_said && !e->otherwise)
    return;
  mf_jw_key(w, e->key);
  if (is_said)
    mf_jw_val(w, v);
  else
    mf_jw_raw(w, mf_str_of(e->otherwise));
}

/* ---- members of our own ---- */

static void write_output(struct mf_json_writer *w, const struct run *run)
{
  mf_jw_key(w, "output");
  mf_jw_arr(w);
  for (size_t i = 0; i < run->t.outputs.item_n; i++)
    mf_jw_raw(w, run->t.outputs.items[i].json);
  mf_jw_arr_end(w);
}

static void write_usage(struct mf_json_writer *w, const struct mf_usage *u)
{
  mf_jw_key(w, "usage");
  if (!u->present) {
    mf_jw_null(w);
    return;
  }
  mf_jw_obj(w);
  mf_jw_ku64(w, "input_tokens", u->input_tokens);
  mf_jw_ku64(w, "output_tokens", u->output_tokens);
  mf_jw_ku64(w, "total_tokens", u->total_tokens);
  mf_jw_key(w, "input_tokens_details");
  mf_jw_obj(w);
  mf_jw_ku64(w, "cached_tokens", u->cached_tokens);
  /* OpenAI's types have it always. */
  mf_jw_ku64(w, "cache_write_tokens", u->cache_write_tokens);
  mf_jw_obj_end(w);
  mf_jw_key(w, "output_tokens_details");
  mf_jw_obj(w);
  mf_jw_ku64(w, "reasoning_tokens", u->reasoning_tokens);
  mf_jw_obj_end(w);
  mf_jw_obj_end(w);
}

static void write_incomplete(struct mf_json_writer *w, const struct run *run, bool is_incomplete)
{
  mf_jw_key(w, "incomplete_details");
  struct mf_str said = is_incomplete && run->acc ? mf_acc_incomplete(run->acc) : (struct mf_str){ 0 };
  char reason[80];
  if (is_incomplete && run->is_too_many) {
    snprintf(reason, sizeof(reason), "gateway tool execution exceeded %u rounds", run->t.agent->config.rounds_max);
    mf_jw_obj(w);
    mf_jw_kstrz(w, "reason", reason);
    mf_jw_obj_end(w);
  } else if (said.len > 0) {
    mf_jw_raw(w, said);
  } else {
    mf_jw_null(w);
  }
}

/* Upstream's error object, with the code and the message that clients rely on. */
static void write_error(struct mf_json_writer *w, const struct run *run, bool is_failed)
{
  mf_jw_key(w, "error");
  if (!is_failed) {
    mf_jw_null(w);
    return;
  }
  mf_auto_json struct mf_json *doc = NULL;
  struct mf_str said = run->acc ? mf_acc_error(run->acc) : (struct mf_str){ 0 };
  const struct mf_json_val *e = NULL;
  if (said.len > 0 && mf_json_parse(said, &kept_limits, &doc, NULL) == MF_OK)
    e = mf_json_root(doc);
  bool is_obj = mf_json_type_of(e) == MF_JSON_OBJ;
  const struct mf_json_val *code = is_obj ? mf_json_get(e, "code") : NULL;
  const struct mf_json_val *message = is_obj ? mf_json_get(e, "message") : e;
  mf_jw_obj(w);
  mf_jw_kstr(w, "code", mf_json_type_of(code) == MF_JSON_STR ? mf_json_str(code) : MF_STR("server_error"));
  mf_jw_kstr(w, "message",
             mf_json_type_of(message) == MF_JSON_STR ? mf_json_str(message) : MF_STR("the model server failed"));
  struct mf_json_iter it = mf_json_iter(is_obj ? e : NULL);
  while (is_obj && mf_json_next(&it)) {
    if (mf_str_is(it.key, "code") || mf_str_is(it.key, "message") || memchr(it.key.ptr, 0, it.key.len))
      continue;
    mf_jw_key(w, it.key.ptr);
    mf_jw_val(w, it.val);
  }
  mf_jw_obj_end(w);
}

static void write_previous(struct mf_json_writer *w, const struct run *run)
{
  mf_jw_key(w, "previous_response_id");
  if (run->t.r->previous_id.len > 0)
    mf_jw_str(w, run->t.r->previous_id);
  else
    mf_jw_null(w);
}

static void write_instructions(struct mf_json_writer *w, const struct run *run)
{
  const struct mf_json_val *v = mf_json_get(mf_json_root(run->t.r->doc), "instructions");
  mf_jw_key(w, "instructions");
  if (v)
    mf_jw_val(w, v);
  else
    mf_jw_null(w);
}

/* A function as OpenAI shows it: with the members that its type always has. */
static void write_tool(struct mf_json_writer *w, const struct mf_json_val *tool)
{
  static const char *const always[] = { "parameters", "strict" };
  const struct mf_json_val *type = mf_json_get(tool, "type");
  if (mf_json_type_of(type) != MF_JSON_STR || !mf_str_is(mf_json_str(type), "function")) {
    mf_jw_val(w, tool);
    return;
  }
  mf_jw_obj(w);
  struct mf_json_iter it = mf_json_iter(tool);
  while (mf_json_next(&it)) {
    if (memchr(it.key.ptr, 0, it.key.len))
      continue;
    mf_jw_key(w, it.key.ptr);
    mf_jw_val(w, it.val);
  }
  for (size_t i = 0; i < MF_ARRAY_N(always); i++)
    if (!mf_json_get(tool, always[i]))
      mf_jw_kstrz(w, always[i], NULL);
  mf_jw_obj_end(w);
}

static void write_tools(struct mf_json_writer *w, const struct run *run)
{
  mf_jw_key(w, "tools");
  mf_jw_arr(w);
  struct mf_json_iter it = mf_json_iter(run->t.tools);
  while (mf_json_type_of(run->t.tools) == MF_JSON_ARR && mf_json_next(&it))
    write_tool(w, it.val);
  mf_jw_arr_end(w);
}

static void write_choice(struct mf_json_writer *w, const struct run *run)
{
  mf_jw_key(w, "tool_choice");
  if (run->t.choice && mf_json_type_of(run->t.choice) != MF_JSON_NULL)
    mf_jw_val(w, run->t.choice);
  else
    mf_jw_strz(w, "auto");
}

/* ---- the object ---- */

bool payload_write(struct run *run, const char *status, struct mf_buf *out)
{
  const struct mf_json_val *upstream = run->acc ? mf_acc_response(run->acc) : NULL;
  struct mf_json_writer w;
  mf_jw_init(&w, out, false);
  mf_jw_obj(&w);
  mf_jw_kstrz(&w, "id", run->t.id);
  mf_jw_kstrz(&w, "object", "response");
  mf_jw_ku64(&w, "created_at", run->t.created_at);
  mf_jw_kstr(&w, "model", run->t.r->model);
  mf_jw_kstrz(&w, "status", status);
  write_output(&w, run);
  /* Our own created says nothing of a round that is over already. */
  bool is_open = strcmp(status, "in_progress") == 0;
  write_usage(&w, is_open ? &(const struct mf_usage){ 0 } : &run->usage);
  write_incomplete(&w, run, strcmp(status, "incomplete") == 0);
  write_error(&w, run, strcmp(status, "failed") == 0);
  write_previous(&w, run);
  mf_jw_kstrz(&w, "conversation_id", NULL);
  write_instructions(&w, run);
  mf_jw_kbool(&w, "background", false);
  mf_jw_key(&w, "completed_at");
  if (strcmp(status, "completed") == 0)
    mf_jw_u64(&w, mf_wall_ms() / 1000);
  else
    mf_jw_null(&w);
  for (size_t i = 0; i < MF_ARRAY_N(echoes); i++)
    write_echo(&w, run, &echoes[i], upstream);
  mf_jw_kbool(&w, "store", run->t.r->is_store);
  write_choice(&w, run);
  write_tools(&w, run);
  mf_jw_obj_end(&w);
  if (w.code)
    return run_fail_limit(run, 500, "response exceeded %zu bytes", out->max);
  return true;
}

/* Beyond the echoes; what a lifecycle event may lack, and OpenAI's types want. */
static void write_missing(struct mf_json_writer *w, const struct run *run, const struct mf_json_val *response,
                          bool has_own_tools)
{
  static const struct {
    const char *key, *value;
  } rows[] = {
    { "object", "\"response\"" }, { "status", "\"in_progress\"" },  { "output", "[]" },        { "usage", "null" },
    { "error", "null" },          { "incomplete_details", "null" }, { "background", "false" },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++)
    if (!mf_json_get(response, rows[i].key)) {
      mf_jw_key(w, rows[i].key);
      mf_jw_raw(w, mf_str_of(rows[i].value));
    }
  if (!mf_json_get(response, "created_at"))
    mf_jw_ku64(w, "created_at", run->t.created_at);
  if (!mf_json_get(response, "model"))
    mf_jw_kstr(w, "model", run->t.r->model);
  if (!mf_json_get(response, "instructions"))
    write_instructions(w, run);
  for (size_t i = 0; i < MF_ARRAY_N(echoes); i++)
    if (!mf_json_get(response, echoes[i].key))
      write_echo(w, run, &echoes[i], NULL);
  if (has_own_tools || !mf_json_get(response, "tool_choice"))
    write_choice(w, run);
  if (has_own_tools || !mf_json_get(response, "tools"))
    write_tools(w, run);
}

/* What upstream says of tools is of the functions that it was told of; a client that declared something else is shown
 * what it declared. */
bool payload_write_lifecycle(struct run *run, const struct mf_json_val *response, struct mf_buf *out)
{
  bool has_own_tools = !mf_toolset_only_functions(run->t.toolset);
  struct mf_json_writer w;
  mf_jw_init(&w, out, false);
  mf_jw_obj(&w);
  mf_jw_kstrz(&w, "id", run->t.id);
  struct mf_json_iter it = mf_json_iter(response);
  while (mf_json_next(&it)) {
    if (mf_str_is(it.key, "id") || mf_str_is(it.key, "previous_response_id") || mf_str_is(it.key, "conversation_id") ||
        mf_str_is(it.key, "store") || memchr(it.key.ptr, 0, it.key.len) ||
        (has_own_tools && (mf_str_is(it.key, "tools") || mf_str_is(it.key, "tool_choice"))))
      continue;
    mf_jw_key(&w, it.key.ptr);
    mf_jw_val(&w, it.val);
  }
  write_missing(&w, run, response, has_own_tools);
  write_previous(&w, run);
  mf_jw_kstrz(&w, "conversation_id", NULL);
  mf_jw_kbool(&w, "store", run->t.r->is_store);
  mf_jw_obj_end(&w);
  if (w.code)
    return run_fail_limit(run, 500, "response exceeded %zu bytes", out->max);
  return true;
}

/* ---- storing ---- */

static bool write_value(struct mf_buf *out, const struct mf_json_val *v)
{
  mf_buf_init(out, MF_STORE_BYTES_MAX);
  if (!v)
    return true;
  struct mf_json_writer w;
  mf_jw_init(&w, out, false);
  mf_jw_val(&w, v);
  return w.code == MF_OK;
}

bool payload_store(struct run *run)
{
  struct turn *t = &run->t;
  mf_auto_buf struct mf_buf tools = { 0 };
  mf_auto_buf struct mf_buf choice = { 0 };
  mf_auto_buf struct mf_buf instructions = { 0 };
  size_t n = t->inputs.item_n + t->outputs.item_n;
  mf_auto_free struct mf_store_item *items = mf_xcalloc(n + 1, sizeof(*items));
  if (t->inputs.item_n > 0)
    memcpy(items, t->inputs.items, t->inputs.item_n * sizeof(*items));
  if (t->outputs.item_n > 0)
    memcpy(items + t->inputs.item_n, t->outputs.items, t->outputs.item_n * sizeof(*items));

  struct mf_err err = { .code = MF_E_LIMIT, .msg = "no memory" };
  enum mf_code code = MF_E_LIMIT;
  /* A choice was for the first answer: once the model has had its way after a tool, none is left to inherit. */
  bool ok = write_value(&tools, t->tools) && write_value(&choice, run->round == 0 ? t->choice : NULL) &&
            write_value(&instructions, mf_json_get(mf_json_root(t->r->doc), "instructions"));
  const struct mf_store_response kept = {
    .id = mf_str_of(t->id),
    .previous_id = t->r->previous_id,
    .created_at = t->created_at,
    .payload = mf_buf_str(&run->ret->payload),
    .tools = mf_buf_str(&tools),
    .tool_choice = mf_buf_str(&choice),
    .instructions = mf_buf_str(&instructions),
    .items = items,
    .item_n = n,
  };
  /* Once it is under way it is not interrupted: what nobody waits for any more is not begun. */
  if (mf_fiber_is_cancelled(t->self))
    return run_cancel(run);
  if (ok)
    code = mf_storage_put_response(t->agent->storage, t->self, &kept, &err);
  if (!code)
    return true;
  /* Somebody has deleted meanwhile what this one goes on from: it would have lost its history. */
  if (code == MF_E_NOT_FOUND)
    return run_fail(run, 404, "not_found", "not_found", "storage error: %s", err.msg);
  mf_log(MF_LOG_ERROR, "store response: %s", err.msg);
  return run_fail(run, 500, "server_error", "server_error", "failed to persist response");
}

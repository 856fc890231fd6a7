/* The body of POST /v1/responses: JSON, the types of its fields, what is not served, tools, input items. All of it is
 * refused before anything is sent upstream. Thread: any. Neighbours: item.c, tools. */
#include "fields.h"
#include "item.h"
#include "turn-internal.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/utf8.h"
#include "base/banned.h"

#define REQUEST_ERROR "invalid_request_error"
#define DEPTH_MAX 256u
#define TOOL_CALLS_MAX UINT32_MAX

enum {
  STR = 1u << MF_JSON_STR,
  NUM = 1u << MF_JSON_NUM,
  BOOL = 1u << MF_JSON_BOOL,
  ARR = 1u << MF_JSON_ARR,
  OBJ = 1u << MF_JSON_OBJ
};

struct field {
  const char *key;
  const char *what;
  unsigned types;
  bool is_whole; /* a number without fraction */
};
/* What goes upstream as it is, in the order in which it is written there. */
static const struct field passed[] = {
  { "instructions", "a string", STR },
  { "include", "a list of strings", ARR },
  { "temperature", "a number", NUM },
  { "top_p", "a number", NUM },
  { "max_output_tokens", "a whole number", NUM, true },
  { "truncation", "a string", STR },
  { "metadata", "an object", OBJ },
  { "text", "an object", OBJ },
  { "reasoning", "an object", OBJ },
  { "prompt_cache_key", "a string", STR },
  { "cache_salt", "a string", STR },
  { "ignore_eos", "a boolean", BOOL },
  { "parallel_tool_calls", "a boolean", BOOL },
};
/* What is for the gateway. model, input, tool_choice and max_tool_calls have checks of their own; what is in no table
 * is ignored. */
static const struct field own[] = {
  { "stream", "a boolean", BOOL },         { "store", "a boolean", BOOL },
  { "background", "a boolean", BOOL },     { "previous_response_id", "a string", STR },
  { "conversation", "a string", STR },     { "conversation_id", "a string", STR },
  { "tools", "a list of tools", ARR },     { "multi_agent", "an object", OBJ },
  { "context_management", "a list", ARR },
};

const char *request_passed_field(size_t i)
{
  return i < MF_ARRAY_N(passed) ? passed[i].key : NULL;
}

/* NULL also for null: a client that says null has not said anything. */
static const struct mf_json_val *given(const struct mf_json_val *root, const char *key)
{
  const struct mf_json_val *v = mf_json_get(root, key);
  return mf_json_type_of(v) == MF_JSON_NULL ? NULL : v;
}

static bool is_true(const struct mf_json_val *v, bool otherwise)
{
  return mf_json_type_of(v) == MF_JSON_BOOL ? mf_json_bool(v) : otherwise;
}

/* ---- types ---- */

static bool parse(struct mf_str body, struct mf_json **ret, struct mf_api_error *e)
{
  struct mf_err err = { 0 };
  const struct mf_json_limits limits = { .bytes_max = body.len, .depth_max = DEPTH_MAX };
  if (mf_json_parse(body, &limits, ret, &err) == MF_OK)
    return true;
  struct mf_str text = mf_str_of(err.msg);
  if (mf_str_starts(text, "JSON line "))
    text = (struct mf_str){ text.ptr + 5, text.len - 5 };
  return mf_api_fail(e, 400, REQUEST_ERROR, REQUEST_ERROR, NULL, "json error: %.*s", MF_STR_ARG(text));
}

static bool missing(const char *key, struct mf_api_error *e)
{
  return mf_api_fail(e, 400, REQUEST_ERROR, REQUEST_ERROR, NULL, "json error: missing field `%s`", key);
}

static bool check_fields(const struct mf_json_val *root, const struct field *f, size_t n, struct mf_api_error *e)
{
  for (size_t i = 0; i < n; i++) {
    const struct mf_json_val *v = given(root, f[i].key);
    uint64_t whole;
    if (v && (!(f[i].types & (1u << mf_json_type_of(v))) || (f[i].is_whole && !mf_json_u64(v, &whole))))
      return mf_api_fail_type(e, v, f[i].what, f[i].key);
  }
  return true;
}

static bool check_include(const struct mf_json_val *include, struct mf_api_error *e)
{
  struct mf_json_iter it = mf_json_iter(include);
  for (size_t i = 0; mf_json_next(&it); i++) {
    char at[40];
    snprintf(at, sizeof(at), "include[%zu]", i);
    if (mf_json_type_of(it.val) != MF_JSON_STR)
      return mf_api_fail_type(e, it.val, "a string", at);
  }
  return true;
}

static bool check_types(const struct mf_json_val *root, struct mf_api_error *e)
{
  if (mf_json_type_of(root) != MF_JSON_OBJ)
    return mf_api_fail_type(e, root, "a request object", "the top");
  const struct mf_json_val *model = mf_json_get(root, "model"), *input = mf_json_get(root, "input");
  if (!model)
    return missing("model", e);
  if (mf_json_type_of(model) != MF_JSON_STR)
    return mf_api_fail_type(e, model, "a string", "model");
  if (!input)
    return missing("input", e);
  if (mf_json_type_of(input) != MF_JSON_STR && mf_json_type_of(input) != MF_JSON_ARR)
    return mf_api_fail_type(e, input, "a string or a list of input items", "input");
  if (!check_fields(root, passed, MF_ARRAY_N(passed), e) || !check_fields(root, own, MF_ARRAY_N(own), e))
    return false;
  const struct mf_json_val *agents = given(root, "multi_agent");
  if (agents && mf_json_type_of(mf_json_get(agents, "enabled")) != MF_JSON_BOOL)
    return mf_api_fail_json(e, "multi_agent", "missing field `enabled`");
  return check_include(given(root, "include"), e);
}

/* ---- what is served, and by whom ---- */

static bool has_agents(const struct mf_json_val *root)
{
  const struct mf_json_val *agents = given(root, "multi_agent");
  return agents && is_true(mf_json_get(agents, "enabled"), false);
}

static bool all_functions(const struct mf_json_val *tools)
{
  struct mf_json_iter it = mf_json_iter(tools);
  while (mf_json_next(&it))
    if (!mf_str_is(item_text(it.val, "type"), "function"))
      return false;
  return true;
}

/* Items that mean something to the gateway and nothing to a model server. */
static bool has_own_items(const struct mf_json_val *input)
{
  static const char *const types[] = { "tool_search_call", "tool_search_output", "compaction", "compaction_trigger",
                                       "item_reference" };
  struct mf_json_iter it = mf_json_iter(mf_json_type_of(input) == MF_JSON_ARR ? input : NULL);
  while (mf_json_next(&it))
    for (size_t i = 0; i < MF_ARRAY_N(types); i++)
      if (mf_str_is(item_text(it.val, "type"), types[i]))
        return true;
  return false;
}

static bool may_pass_raw(const struct mf_turn_request *r, const struct mf_json_val *root)
{
  return !r->is_store && !given(root, "previous_response_id") && !has_agents(root) && !given(root, "conversation") &&
         !given(root, "conversation_id") && all_functions(r->tools) && !has_own_items(r->input) &&
         mf_json_len(given(root, "context_management")) == 0;
}

static bool unsupported(const char *param, const char *remedy, struct mf_api_error *e)
{
  return mf_api_fail(e, 400, REQUEST_ERROR, "unsupported_parameter", param,
                     "invalid request: %s is not supported by this server; %s", param, remedy);
}

/* Each of these would change the answer if it were ignored. */
static bool check_served(const struct mf_json_val *root, struct mf_api_error *e)
{
  const char *conversation = given(root, "conversation")      ? "conversation"
                             : given(root, "conversation_id") ? "conversation_id"
                                                              : NULL;
  if (conversation && given(root, "previous_response_id"))
    return mf_api_fail(e, 400, REQUEST_ERROR, REQUEST_ERROR, NULL,
                       "invalid request: provide only one of conversation_id or previous_response_id");
  if (conversation)
    return unsupported(conversation, "use previous_response_id", e);
  if (has_agents(root))
    return unsupported("multi_agent", "leave it out, or set enabled to false", e);
  if (mf_json_len(given(root, "context_management")) > 0)
    return unsupported("context_management", "leave it out", e);
  if (given(root, "prompt"))
    return unsupported("prompt", "send instructions and input", e);
  const struct mf_json_val *previous = given(root, "previous_response_id");
  if (previous && mf_json_str(previous).len == 0)
    return mf_api_fail(e, 400, REQUEST_ERROR, REQUEST_ERROR, "previous_response_id",
                       "invalid request: previous_response_id must not be empty");
  return true;
}

/* A number without fraction and exponent, whatever its size: ret is at most TOOL_CALLS_MAX + 1, and 0 for less. */
static bool whole_number(const struct mf_json_val *v, uint64_t *ret)
{
  if (mf_json_type_of(v) != MF_JSON_NUM)
    return false;
  struct mf_str s = mf_json_num_text(v);
  bool is_negative = s.len > 0 && s.ptr[0] == '-';
  uint64_t n = 0;
  for (size_t i = is_negative; i < s.len; i++) {
    if (s.ptr[i] < '0' || s.ptr[i] > '9')
      return false;
    n = MF_MIN(n * 10 + (uint64_t)(s.ptr[i] - '0'), (uint64_t)TOOL_CALLS_MAX + 1);
  }
  *ret = is_negative ? 0 : n;
  return true;
}

static bool check_tool_calls(const struct mf_json_val *v, uint64_t *ret, struct mf_api_error *e)
{
  static const char param[] = "max_tool_calls";
  *ret = UINT64_MAX;
  if (!v)
    return true;
  uint64_t n;
  char words[120];
  mf_api_value_words(v, words, sizeof(words));
  if (!whole_number(v, &n))
    return mf_api_fail(e, 400, REQUEST_ERROR, "invalid_type", param,
                       "Invalid type for '%s': expected an integer, but got %s instead.", param, words);
  struct mf_str text = mf_json_num_text(v);
  int shown = (int)MF_MIN(text.len, (size_t)40);
  if (n < 1)
    return mf_api_fail(e, 400, REQUEST_ERROR, "integer_below_min_value", param,
                       "Invalid '%s': integer below minimum value. Expected a value >= 1, but got %.*s instead.", param,
                       shown, text.ptr);
  if (n > TOOL_CALLS_MAX)
    return mf_api_fail(e, 400, REQUEST_ERROR, "integer_above_max_value", param,
                       "Invalid '%s': integer above maximum value. Expected a value <= %" PRIu32
                       ", but got %.*s instead.",
                       param, TOOL_CALLS_MAX, shown, text.ptr);
  *ret = n;
  return true;
}

/* ---- tools and input ---- */

/* Where tools are inherited, the choice has to wait for them. */
static bool check_tools(const struct mf_agent *agent, const struct mf_turn_request *r, struct mf_api_error *e)
{
  struct mf_toolset *tools = NULL;
  if (!mf_toolset_check_choice(NULL, r->choice, e) || !mf_toolset_new(&agent->tools, r->tools, &tools, e))
    return false;
  bool is_inherited = !r->tools && r->previous_id.len > 0;
  bool is_ok = is_inherited || mf_toolset_check_choice(tools, r->choice, e);
  mf_toolset_free(tools);
  return is_ok;
}

static bool check_input(const struct mf_json_val *input, struct mf_api_error *e)
{
  struct mf_json_iter it = mf_json_iter(mf_json_type_of(input) == MF_JSON_ARR ? input : NULL);
  for (size_t i = 0; mf_json_next(&it); i++)
    if (!item_check(it.val, i, e))
      return false;
  return true;
}

static bool fill(struct mf_turn_request *r, const struct mf_agent *agent, struct mf_api_error *e)
{
  const struct mf_json_val *root = mf_json_root(r->doc);
  if (!check_types(root, e))
    return false;
  r->model = mf_json_str(mf_json_get(root, "model"));
  r->input = mf_json_get(root, "input");
  r->tools = given(root, "tools");
  r->choice = given(root, "tool_choice");
  r->is_stream = is_true(given(root, "stream"), false);
  r->is_store = is_true(given(root, "store"), true);
  r->is_proxy = may_pass_raw(r, root);
  /* What goes through as it is, is for the model server to judge. */
  if (r->is_proxy)
    return true;
  if (!check_served(root, e) || !check_tool_calls(given(root, "max_tool_calls"), &r->max_tool_calls, e))
    return false;
  const struct mf_json_val *previous = given(root, "previous_response_id");
  if (previous)
    r->previous_id = mf_json_str(previous);
  return check_tools(agent, r, e) && check_input(r->input, e);
}

bool mf_turn_request_new(const struct mf_agent *agent, struct mf_str body, struct mf_turn_request **ret,
                         struct mf_api_error *e)
{
  struct mf_json *doc = NULL;
  if (!parse(body, &doc, e))
    return false;
  struct mf_turn_request *r = mf_xcalloc(1, sizeof(*r));
  r->doc = doc;
  r->bytes = body.len;
  r->max_tool_calls = UINT64_MAX;
  if (!fill(r, agent, e)) {
    mf_turn_request_free(r);
    return false;
  }
  *ret = r;
  return true;
}

void mf_turn_request_free(struct mf_turn_request *r)
{
  if (!r)
    return;
  mf_json_free(r->doc);
  free(r);
}

bool mf_turn_request_is_stream(const struct mf_turn_request *r)
{
  return r->is_stream;
}

bool mf_turn_request_is_proxy(const struct mf_turn_request *r)
{
  return r->is_proxy;
}

struct mf_str mf_turn_request_model(const struct mf_turn_request *r)
{
  return r->model;
}

/* Writes what a model would: items, and the events that build them up piece by piece. */
#include "base/ids.h"
#include "base/time.h"
#include "reply.h"
#include "base/banned.h"

enum { DELTA_BYTES = 16, ITEMS_MAX = MF_SCENARIO_CALLS_MAX + 2, ITEM_BYTES_MAX = 16 << 20 };

enum item_kind { ITEM_REASONING, ITEM_MESSAGE, ITEM_CALL };

/* How the kinds differ in a stream. */
static const struct {
  const char *part;  /* type of its one part of content; NULL: the text is a member of the item */
  const char *delta; /* names of events */
  const char *done;
  const char *field; /* of the done event */
} kinds[] = {
  [ITEM_REASONING] = { "reasoning_text", "response.reasoning_text.delta", "response.reasoning_text.done", "text" },
  [ITEM_MESSAGE] = { "output_text", "response.output_text.delta", "response.output_text.done", "text" },
  [ITEM_CALL] = { NULL, "response.function_call_arguments.delta", "response.function_call_arguments.done",
                  "arguments" },
};

struct item {
  enum item_kind kind;
  char id[MF_ID_N], call_id[MF_ID_N];
  struct mf_str name;
  struct mf_buf text;
};

struct reply {
  const struct mf_model_round *round;
  const struct mf_model_ask *ask;
  char id[MF_ID_N];
  uint64_t created_s;
  struct item items[ITEMS_MAX];
  size_t item_n;
  struct mf_buf *out;
  uint64_t sequence;
  enum mf_code code; /* the first failure sticks */
};

/* ---- what the round says ---- */

static struct item *add_item(struct reply *y, enum item_kind kind, const char *prefix)
{
  struct item *i = &y->items[y->item_n++];
  i->kind = kind;
  mf_id_new(prefix, i->id);
  mf_buf_init(&i->text, ITEM_BYTES_MAX);
  return i;
}

static void fill(struct reply *y, struct item *i, struct mf_str text, bool in_json)
{
  enum mf_code code = mf_model_ask_fill(y->ask, text, in_json, &i->text);
  y->code = y->code ? y->code : code;
}

static void add_call(struct reply *y, const struct mf_json_val *call)
{
  struct item *i = add_item(y, ITEM_CALL, "fc_");
  const struct mf_json_val *arguments = mf_json_get(call, "arguments");
  i->name = mf_json_str(mf_json_get(call, "name"));
  mf_id_new("call_", i->call_id);
  if (mf_json_type_of(arguments) == MF_JSON_STR) {
    fill(y, i, mf_json_str(arguments), true);
    return;
  }
  mf_auto_buf struct mf_buf text;
  mf_buf_init(&text, ITEM_BYTES_MAX);
  struct mf_json_writer w;
  mf_jw_init(&w, &text, false);
  mf_jw_val(&w, arguments);
  y->code = y->code ? y->code : w.code;
  fill(y, i, mf_buf_str(&text), true);
}

static void gather(struct reply *y)
{
  const struct mf_model_round *r = y->round;
  mf_id_new("resp_", y->id);
  y->created_s = mf_wall_ms() / 1000;
  if (r->reasoning)
    fill(y, add_item(y, ITEM_REASONING, "rs_"), mf_json_str(r->reasoning), false);
  if (r->text)
    fill(y, add_item(y, ITEM_MESSAGE, "msg_"), mf_json_str(r->text), false);
  struct mf_json_iter it = mf_json_iter(r->calls);
  while (r->calls && mf_json_next(&it))
    add_call(y, it.val);
}

/* ---- objects ---- */

static void write_part(struct mf_json_writer *w, const struct item *i, bool is_done)
{
  mf_jw_obj(w);
  mf_jw_kstrz(w, "type", kinds[i->kind].part);
  mf_jw_kstr(w, "text", is_done ? mf_buf_str(&i->text) : MF_STR(""));
  if (i->kind == ITEM_MESSAGE) {
    mf_jw_key(w, "annotations");
    mf_jw_raw(w, MF_STR("[]"));
    mf_jw_key(w, "logprobs");
    mf_jw_raw(w, MF_STR("[]"));
  }
  mf_jw_obj_end(w);
}

static void write_item(struct mf_json_writer *w, const struct item *i, bool is_done)
{
  static const char *const types[] = { "reasoning", "message", "function_call" };
  mf_jw_obj(w);
  mf_jw_kstrz(w, "id", i->id);
  mf_jw_kstrz(w, "type", types[i->kind]);
  mf_jw_kstrz(w, "status", is_done ? "completed" : "in_progress");
  if (i->kind == ITEM_CALL) {
    mf_jw_kstrz(w, "call_id", i->call_id);
    mf_jw_kstr(w, "name", i->name);
    mf_jw_kstr(w, "arguments", is_done ? mf_buf_str(&i->text) : MF_STR(""));
  } else {
    if (i->kind == ITEM_MESSAGE)
      mf_jw_kstrz(w, "role", "assistant");
    else {
      mf_jw_key(w, "summary");
      mf_jw_raw(w, MF_STR("[]"));
      mf_jw_kstrz(w, "encrypted_content", NULL);
    }
    mf_jw_key(w, "content");
    mf_jw_arr(w);
    if (is_done)
      write_part(w, i, true);
    mf_jw_arr_end(w);
  }
  mf_jw_obj_end(w);
}

static uint64_t usage_number(const struct mf_json_val *usage, const char *key, uint64_t otherwise)
{
  uint64_t n = 0;
  return mf_json_u64(mf_json_get(usage, key), &n) ? n : otherwise;
}

static void write_usage(struct mf_json_writer *w, const struct mf_json_val *usage)
{
  uint64_t in = usage_number(usage, "input_tokens", 10), out = usage_number(usage, "output_tokens", 5);
  mf_jw_obj(w);
  mf_jw_ku64(w, "input_tokens", in);
  mf_jw_key(w, "input_tokens_details");
  mf_jw_obj(w);
  mf_jw_ku64(w, "cache_write_tokens", usage_number(usage, "cache_write_tokens", 0));
  mf_jw_ku64(w, "cached_tokens", usage_number(usage, "cached_tokens", 0));
  mf_jw_obj_end(w);
  mf_jw_ku64(w, "output_tokens", out);
  mf_jw_key(w, "output_tokens_details");
  mf_jw_obj(w);
  mf_jw_ku64(w, "reasoning_tokens", usage_number(usage, "reasoning_tokens", 0));
  mf_jw_obj_end(w);
  mf_jw_ku64(w, "total_tokens", usage_number(usage, "total_tokens", in + out));
  mf_jw_obj_end(w);
}

/* What the request said, else a default. */
static void write_echo(struct mf_json_writer *w, const struct reply *y, const char *key, const char *otherwise)
{
  const struct mf_json_val *v = mf_json_get(y->ask->root, key);
  mf_jw_key(w, key);
  if (v && mf_json_type_of(v) != MF_JSON_NULL)
    mf_jw_val(w, v);
  else
    mf_jw_raw(w, mf_str_of(otherwise));
}

static void write_response(struct mf_json_writer *w, const struct reply *y, bool is_done)
{
  static const struct {
    const char *key, *otherwise;
  } echoes[] = {
    { "instructions", "null" },
    { "max_output_tokens", "null" },
    { "max_tool_calls", "null" },
    { "metadata", "{}" },
    { "parallel_tool_calls", "true" },
    { "previous_response_id", "null" },
    { "prompt_cache_key", "null" },
    { "reasoning", "{\"effort\":null,\"summary\":null}" },
    { "safety_identifier", "null" },
    { "service_tier", "\"default\"" },
    { "store", "true" },
    { "temperature", "1.0" },
    { "text", "{\"format\":{\"type\":\"text\"}}" },
    { "tool_choice", "\"auto\"" },
    { "tools", "[]" },
    { "top_logprobs", "0" },
    { "top_p", "1.0" },
    { "truncation", "\"disabled\"" },
    { "user", "null" },
  };
  mf_jw_obj(w);
  mf_jw_kstrz(w, "id", y->id);
  mf_jw_kstrz(w, "object", "response");
  mf_jw_ku64(w, "created_at", y->created_s);
  mf_jw_kstrz(w, "status", is_done ? "completed" : "in_progress");
  mf_jw_kbool(w, "background", false);
  mf_jw_key(w, "completed_at");
  if (is_done)
    mf_jw_u64(w, mf_wall_ms() / 1000);
  else
    mf_jw_null(w);
  mf_jw_kstrz(w, "error", NULL);
  mf_jw_kstrz(w, "incomplete_details", NULL);
  mf_jw_kstr(w, "model", y->ask->model);
  mf_jw_key(w, "output");
  mf_jw_arr(w);
  for (size_t i = 0; i < y->item_n && is_done; i++)
    write_item(w, &y->items[i], true);
  mf_jw_arr_end(w);
  for (size_t i = 0; i < MF_ARRAY_N(echoes); i++)
    write_echo(w, y, echoes[i].key, echoes[i].otherwise);
  mf_jw_key(w, "usage");
  if (is_done)
    write_usage(w, y->round->usage);
  else
    mf_jw_null(w);
  mf_jw_obj_end(w);
}

/* ---- events ---- */

static void put(struct reply *y, struct mf_str s)
{
  if (!y->code)
    y->code = mf_buf_append_str(y->out, s);
}

static void event_begin(struct reply *y, struct mf_json_writer *w, const char *type)
{
  put(y, MF_STR("event: "));
  put(y, mf_str_of(type));
  put(y, MF_STR("\ndata: "));
  mf_jw_init(w, y->out, false);
  mf_jw_obj(w);
  mf_jw_kstrz(w, "type", type);
  mf_jw_ku64(w, "sequence_number", y->sequence++);
}

static void event_end(struct reply *y, struct mf_json_writer *w)
{
  mf_jw_obj_end(w);
  y->code = y->code ? y->code : w->code;
  put(y, MF_STR("\n\n"));
}

static void put_lifecycle(struct reply *y, const char *type, bool is_done)
{
  struct mf_json_writer w;
  event_begin(y, &w, type);
  mf_jw_key(&w, "response");
  write_response(&w, y, is_done);
  event_end(y, &w);
}

static void put_item(struct reply *y, size_t at, const char *type, bool is_done)
{
  struct mf_json_writer w;
  event_begin(y, &w, type);
  mf_jw_ku64(&w, "output_index", at);
  mf_jw_key(&w, "item");
  write_item(&w, &y->items[at], is_done);
  event_end(y, &w);
}

/* The beginning of an event about an item's text. */
static void text_begin(struct reply *y, struct mf_json_writer *w, size_t at, const char *type)
{
  event_begin(y, w, type);
  mf_jw_kstrz(w, "item_id", y->items[at].id);
  mf_jw_ku64(w, "output_index", at);
  if (kinds[y->items[at].kind].part)
    mf_jw_ku64(w, "content_index", 0);
}

static void put_part(struct reply *y, size_t at, const char *type, bool is_done)
{
  struct mf_json_writer w;
  text_begin(y, &w, at, type);
  mf_jw_key(&w, "part");
  write_part(&w, &y->items[at], is_done);
  event_end(y, &w);
}

static void put_text(struct reply *y, size_t at, const char *type, const char *field, struct mf_str text)
{
  struct mf_json_writer w;
  text_begin(y, &w, at, type);
  mf_jw_kstr(&w, field, text);
  if (y->items[at].kind == ITEM_CALL && strcmp(field, "delta") != 0)
    mf_jw_kstr(&w, "name", y->items[at].name);
  if (y->items[at].kind == ITEM_MESSAGE) {
    mf_jw_key(&w, "logprobs");
    mf_jw_raw(&w, MF_STR("[]"));
  }
  event_end(y, &w);
}

/* Never inside a character. */
static size_t piece_bytes(struct mf_str text)
{
  size_t n = MF_MIN(text.len, (size_t)DELTA_BYTES);
  while (n < text.len && ((unsigned char)text.ptr[n] & 0xc0) == 0x80)
    n++;
  return n;
}

static void put_item_events(struct reply *y, size_t at)
{
  const struct item *i = &y->items[at];
  put_item(y, at, "response.output_item.added", false);
  if (kinds[i->kind].part)
    put_part(y, at, "response.content_part.added", false);
  for (struct mf_str rest = mf_buf_str(&i->text); rest.len > 0 && !y->code;) {
    size_t n = piece_bytes(rest);
    put_text(y, at, kinds[i->kind].delta, "delta", (struct mf_str){ rest.ptr, n });
    rest = (struct mf_str){ rest.ptr + n, rest.len - n };
  }
  put_text(y, at, kinds[i->kind].done, kinds[i->kind].field, mf_buf_str(&i->text));
  if (kinds[i->kind].part)
    put_part(y, at, "response.content_part.done", true);
  put_item(y, at, "response.output_item.done", true);
}

static void put_done(struct reply *y)
{
  if (y->round->fault != MF_FAULT_NO_DONE)
    put(y, MF_STR("data: [DONE]\n\n"));
}

static void put_all_events(struct reply *y)
{
  put_lifecycle(y, "response.created", false);
  put_lifecycle(y, "response.in_progress", false);
  for (size_t i = 0; i < y->item_n; i++)
    put_item_events(y, i);
  put_lifecycle(y, "response.completed", true);
  put_done(y);
}

/* ---- what the round holds ready ---- */

static void put_json(struct reply *y, const struct mf_json_val *v)
{
  struct mf_json_writer w;
  mf_jw_init(&w, y->out, false);
  mf_jw_val(&w, v);
  y->code = y->code ? y->code : w.code;
}

/* Raw text is left alone, and then nothing is added to it either. */
static void put_given_events(struct reply *y)
{
  bool has_raw = false;
  struct mf_json_iter it = mf_json_iter(y->round->events);
  while (mf_json_next(&it)) {
    if (mf_json_type_of(it.val) == MF_JSON_STR) {
      has_raw = true;
      put(y, mf_json_str(it.val));
      continue;
    }
    put(y, MF_STR("event: "));
    put(y, mf_json_str(mf_json_get(it.val, "type")));
    put(y, MF_STR("\ndata: "));
    put_json(y, it.val);
    put(y, MF_STR("\n\n"));
  }
  if (!has_raw)
    put_done(y);
}

static void put_error(struct reply *y)
{
  struct mf_json_writer w;
  mf_jw_init(&w, y->out, false);
  mf_jw_obj(&w);
  mf_jw_key(&w, "error");
  mf_jw_obj(&w);
  mf_jw_kstrz(&w, "message", "the scenario answers with an error");
  mf_jw_kstrz(&w, "type", y->round->status < 500 ? "invalid_request_error" : "server_error");
  mf_jw_kstrz(&w, "param", NULL);
  mf_jw_kstrz(&w, "code", NULL);
  mf_jw_obj_end(&w);
  mf_jw_obj_end(&w);
  y->code = y->code ? y->code : w.code;
}

/* The response in the last event that has one. */
static const struct mf_json_val *last_response(const struct mf_json_val *events)
{
  const struct mf_json_val *found = NULL;
  struct mf_json_iter it = mf_json_iter(events);
  while (mf_json_next(&it)) {
    const struct mf_json_val *v = mf_json_type_of(it.val) == MF_JSON_OBJ ? mf_json_get(it.val, "response") : NULL;
    found = v ? v : found;
  }
  return found;
}

static bool write_body(struct reply *y)
{
  const struct mf_model_round *r = y->round;
  bool streams = y->ask->streams;
  if (r->body) {
    if (mf_json_type_of(r->body) == MF_JSON_STR)
      put(y, mf_json_str(r->body));
    else
      put_json(y, r->body);
    return false;
  }
  if (r->events) {
    const struct mf_json_val *whole = streams ? NULL : last_response(r->events);
    if (whole)
      put_json(y, whole);
    else
      put_given_events(y);
    return !whole;
  }
  if (!r->text && !r->calls && !r->reasoning && r->status >= 400) {
    put_error(y);
    return false;
  }
  gather(y);
  if (streams) {
    put_all_events(y);
  } else {
    struct mf_json_writer w;
    mf_jw_init(&w, y->out, false);
    write_response(&w, y, true);
    y->code = y->code ? y->code : w.code;
  }
  return streams;
}

enum mf_code mf_model_reply_write(const struct mf_model_round *r, const struct mf_model_ask *a, struct mf_buf *out,
                                  bool *ret_is_events, struct mf_err *err)
{
  struct reply *y = mf_xcalloc(1, sizeof(*y)); /* too much for the stack of a fiber */
  y->round = r;
  y->ask = a;
  y->out = out;
  bool is_events = write_body(y);
  enum mf_code code = y->code;
  for (size_t i = 0; i < y->item_n; i++)
    mf_buf_done(&y->items[i].text);
  free(y);
  if (code)
    return mf_fail(err, code, 0, "the round's reply is too large");
  *ret_is_events = is_events;
  return MF_OK;
}

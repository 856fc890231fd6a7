#include "turns.h"

#include "base/banned.h"

void world_open(struct world *w)
{
  *w = (struct world){ 0 };
  assert_ok(harness_open(&w->h, "sqlite::memory:"), &w->h.err);
  mf_interpreter_config_default(&w->interpreter);
  w->interpreter.enabled = true;
  w->agent = (struct mf_agent){
    .loop = w->h.loop,
    .storage = w->h.storage,
    /* No run is made with the executor: it is there. */
    .tools = { .executor = (struct mf_executor *)w, .interpreter = &w->interpreter, .interpreter_built = true },
    .config = { .retained_max = 1u << 20 },
  };
}

void world_close(struct world *w)
{
  harness_close(&w->h);
}

char *quoted(const char *text)
{
  char *copy = mf_xstrdup(text);
  for (char *p = copy; *p; p++)
    if (*p == '\'')
      *p = '"';
  return copy;
}

struct mf_json *parsed(struct mf_str text)
{
  static const struct mf_json_limits limits = { .bytes_max = 64u << 20, .depth_max = 1024 };
  struct mf_json *doc = NULL;
  struct mf_err err = { 0 };
  if (mf_json_parse(text, &limits, &doc, &err))
    fail_msg("%s: %.*s", err.msg, (int)MF_MIN(text.len, (size_t)2000), text.ptr);
  return doc;
}

static const struct mf_json_val *member(const struct mf_json_val *obj, struct mf_str key)
{
  struct mf_json_iter it = mf_json_iter(obj);
  while (mf_json_next(&it))
    if (mf_str_eq(it.key, key))
      return it.val;
  return NULL;
}

bool json_equal(const struct mf_json_val *a, const struct mf_json_val *b)
{
  if (mf_json_type_of(a) != mf_json_type_of(b) || mf_json_len(a) != mf_json_len(b))
    return false;
  struct mf_json_iter it = mf_json_iter(a), other = mf_json_iter(b);
  switch (mf_json_type_of(a)) {
  case MF_JSON_NULL:
    return true;
  case MF_JSON_BOOL:
    return mf_json_bool(a) == mf_json_bool(b);
  case MF_JSON_NUM:
    return mf_str_eq(mf_json_num_text(a), mf_json_num_text(b));
  case MF_JSON_STR:
    return mf_str_eq(mf_json_str(a), mf_json_str(b));
  case MF_JSON_ARR:
    while (mf_json_next(&it) && mf_json_next(&other))
      if (!json_equal(it.val, other.val))
        return false;
    return true;
  case MF_JSON_OBJ:
    while (mf_json_next(&it)) {
      const struct mf_json_val *v = member(b, it.key);
      if (!v || !json_equal(it.val, v))
        return false;
    }
    return true;
  }
  return false;
}

struct mf_turn_request *request_of(struct world *w, const char *body, struct mf_api_error *e)
{
  mf_auto_free char *json = quoted(body);
  struct mf_turn_request *r = NULL;
  bool is_ok = mf_turn_request_new(&w->agent, mf_str_of(json), &r, e);
  assert_true(is_ok == (r != NULL));
  return r;
}

struct begun {
  struct world *w;
  struct turn *t;
  struct mf_api_error *e;
  bool is_ok;
};

static void run_begin(void *user)
{
  struct begun *b = user;
  b->t->self = mf_fiber_self(b->w->h.loop);
  b->is_ok = turn_begin(b->t, b->e);
}

bool begin_turn(struct world *w, const struct mf_turn_request *r, struct turn *t, struct mf_api_error *e)
{
  *t = (struct turn){ .agent = &w->agent, .r = r };
  struct begun b = { w, t, e, false };
  harness_call(&w->h, run_begin, &b);
  return b.is_ok;
}

void sends(struct world *w, const char *body, const char *want)
{
  struct mf_api_error e = { 0 };
  struct turn t;
  struct mf_err err = { 0 };
  struct mf_turn_request *r = request_of(w, body, &e);
  if (!r || !begin_turn(w, r, &t, &e))
    fail_msg("%s: %s", body, e.message);
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, 1u << 20);
  assert_ok(turn_write_upstream(&t, 0, false, &out, &err), &err);
  mf_auto_free char *json = quoted(want);
  mf_auto_json struct mf_json *got = parsed(mf_buf_str(&out)), *expected = parsed(mf_str_of(json));
  if (!json_equal(mf_json_root(got), mf_json_root(expected)))
    fail_msg("sent\n%s\nfor\n%s", out.ptr, json);
  turn_done(&t);
  mf_turn_request_free(r);
}

void refused_turn(struct world *w, const char *body, int status, const char *code, const char *param,
                  const char *message)
{
  struct mf_api_error e = { 0 };
  struct mf_turn_request *r = request_of(w, body, &e);
  if (r) {
    struct turn t;
    bool is_ok = begin_turn(w, r, &t, &e);
    turn_done(&t);
    mf_turn_request_free(r);
    if (is_ok)
      fail_msg("accepted: %s", body);
  }
  if (strcmp(e.message, message) != 0)
    fail_msg("%s\n  says  %s\n  not   %s", body, e.message, message);
  assert_int_equal(e.status, status);
  assert_true(code ? e.code && strcmp(e.code, code) == 0 : !e.code);
  assert_int_equal(e.has_param, param != NULL);
  if (param)
    assert_string_equal(e.param, param);
}

static struct mf_str id_in(const char *json)
{
  const char *at = strstr(json, "\"id\":\"");
  return at ? (struct mf_str){ at + 6, strcspn(at + 6, "\"") } : (struct mf_str){ 0 };
}

void store(struct world *w, const char *id, const char *previous, const char *tools, const char *choice,
           const struct past_item *items, size_t n)
{
  struct mf_store_item stored[16] = { 0 };
  char *texts[16] = { 0 };
  assert_true(n <= MF_ARRAY_N(stored));
  for (size_t i = 0; i < n; i++) {
    texts[i] = quoted(items[i].json);
    stored[i] = (struct mf_store_item){ .id = id_in(texts[i]),
                                        .json = mf_str_of(texts[i]),
                                        .is_input = items[i].is_input,
                                        .is_public = !items[i].is_hidden,
                                        .is_gateway_code = items[i].is_gateway_code };
  }
  mf_auto_free char *tools_json = quoted(tools), *choice_json = quoted(choice);
  const struct mf_store_response r = { .id = mf_str_of(id),
                                       .previous_id = mf_str_of(previous),
                                       .payload = MF_STR("{}"),
                                       .tools = mf_str_of(tools_json),
                                       .tool_choice = mf_str_of(choice_json),
                                       .items = stored,
                                       .item_n = n };
  assert_ok(harness_put(&w->h, &r), &w->h.err);
  for (size_t i = 0; i < n; i++)
    free(texts[i]);
}

/* The server: routes, and what each request gets. */
#include "base/ids.h"
#include "base/time.h"
#include "http/server.h"
#include "model/model.h"
#include "plan.h"
#include "reply.h"
#include "seen.h"
#include "send.h"
#include "base/banned.h"

enum { BODY_MAX = 64 << 20, SMALL_MAX = 65536 };

struct mf_model {
  struct mf_loop *loop;
  struct mf_http_server *server;
  struct mf_scenario *scenario;
  struct mf_plan *plan;
  struct mf_seen *seen;
};

/* ---- answers ---- */

static const struct mf_http_header json_type = { { "Content-Type", 12 }, { "application/json", 16 } };

static enum mf_code answer(struct mf_http_exchange *x, int status, const struct mf_buf *body)
{
  return mf_http_respond(x, status, &json_type, 1, mf_buf_str(body), NULL);
}

static void write_error(struct mf_buf *out, const char *type, const char *code, const char *message)
{
  struct mf_json_writer w;
  mf_jw_init(&w, out, false);
  mf_jw_obj(&w);
  mf_jw_key(&w, "error");
  mf_jw_obj(&w);
  mf_jw_kstrz(&w, "message", message);
  mf_jw_kstrz(&w, "type", type);
  mf_jw_kstrz(&w, "param", NULL);
  mf_jw_kstrz(&w, "code", code);
  mf_jw_obj_end(&w);
  mf_jw_obj_end(&w);
}

static enum mf_code refuse(struct mf_http_exchange *x, int status, const char *code, const char *message)
{
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, SMALL_MAX);
  write_error(&out, status < 500 ? "invalid_request_error" : "server_error", code, message);
  return answer(x, status, &out);
}

static void error_body(void *user, int status, const char *message, struct mf_buf *ret)
{
  write_error(ret, status < 500 ? "invalid_request_error" : "server_error", NULL, message);
}

/* ---- routes ---- */

static enum mf_code play(struct mf_model *m, struct mf_http_exchange *x, struct mf_fiber *self,
                         const struct mf_model_ask *a, struct mf_str body)
{
  struct mf_err err = { 0 };
  const struct mf_model_script *script = mf_scenario_find(m->scenario, a->model);
  struct mf_str session = mf_http_header(x, "x-scenario-session");
  size_t at = 0;
  if (!script)
    return refuse(x, 404, "model_not_found", "the scenario has no such model");
  enum mf_code code = mf_plan_next(m->plan, script, session, a, &at, &err);
  const struct mf_seen_answer seen = { .scenario = script->name, .session = session, .round = code ? -1 : (int64_t)at };
  mf_seen_add(m->seen, x, body, a->root, &seen);
  if (code)
    return refuse(x, 500, code == MF_E_GONE ? "scenario_exhausted" : "scenario_limit", err.msg);

  const struct mf_model_round *r = &script->rounds[at];
  bool is_events = false;
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, MF_MODEL_REPLY_MAX);
  code = mf_model_reply_write(r, a, &out, &is_events, &err);
  if (code)
    return refuse(x, 500, "scenario_limit", err.msg);
  return mf_model_send(x, self, r, mf_buf_str(&out), is_events, NULL);
}

typedef enum mf_code route_fn(struct mf_model *m, struct mf_http_exchange *x, struct mf_fiber *self);

static enum mf_code post_responses(struct mf_model *m, struct mf_http_exchange *x, struct mf_fiber *self)
{
  struct mf_err err = { 0 };
  mf_auto_buf struct mf_buf body = { 0 };
  enum mf_code code = mf_http_read_body(x, BODY_MAX, &body, NULL);
  if (code)
    return code; /* the server says what was wrong */
  struct mf_model_ask a;
  code = mf_model_ask_parse(mf_buf_str(&body), &a, &err);
  if (code) {
    const struct mf_seen_answer seen = { .round = -1 };
    mf_seen_add(m->seen, x, mf_buf_str(&body), NULL, &seen);
    code = refuse(x, 400, NULL, err.msg);
  } else {
    code = play(m, x, self, &a, mf_buf_str(&body));
  }
  mf_model_ask_done(&a);
  return code;
}

/* The content of the last message, whoever wrote it. */
static struct mf_str chat_text(const struct mf_model_ask *a)
{
  const struct mf_json_val *messages = mf_json_get(a->root, "messages");
  if (mf_json_type_of(messages) != MF_JSON_ARR || mf_json_len(messages) == 0)
    return MF_STR("");
  const struct mf_json_val *last = mf_json_at(messages, mf_json_len(messages) - 1);
  const struct mf_json_val *content = mf_json_type_of(last) == MF_JSON_OBJ ? mf_json_get(last, "content") : NULL;
  return mf_json_type_of(content) == MF_JSON_STR ? mf_json_str(content) : MF_STR("");
}

/* `key` is "message" or "delta". */
static void write_chat(struct mf_json_writer *w, const struct mf_model_ask *a, const char *id, const char *key)
{
  bool is_chunk = strcmp(key, "delta") == 0;
  mf_jw_obj(w);
  mf_jw_kstrz(w, "id", id);
  mf_jw_kstrz(w, "object", is_chunk ? "chat.completion.chunk" : "chat.completion");
  mf_jw_ku64(w, "created", mf_wall_ms() / 1000);
  mf_jw_kstr(w, "model", a->model);
  mf_jw_key(w, "choices");
  mf_jw_arr(w);
  mf_jw_obj(w);
  mf_jw_ku64(w, "index", 0);
  mf_jw_key(w, key);
  mf_jw_obj(w);
  mf_jw_kstrz(w, "role", "assistant");
  mf_jw_kstr(w, "content", chat_text(a));
  mf_jw_obj_end(w);
  mf_jw_kstrz(w, "finish_reason", "stop");
  mf_jw_obj_end(w);
  mf_jw_arr_end(w);
  if (!is_chunk) {
    mf_jw_key(w, "usage");
    mf_jw_raw(w, MF_STR("{\"prompt_tokens\":10,\"completion_tokens\":5,\"total_tokens\":15}"));
  }
  mf_jw_obj_end(w);
}

static enum mf_code answer_chat(struct mf_http_exchange *x, const struct mf_model_ask *a)
{
  static const struct mf_http_header events_type = { { "Content-Type", 12 }, { "text/event-stream", 17 } };
  char id[MF_ID_N];
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, MF_MODEL_REPLY_MAX);
  struct mf_json_writer w;
  mf_id_new("chatcmpl-", id);
  enum mf_code code = a->streams ? mf_buf_append_str(&out, MF_STR("data: ")) : MF_OK;
  mf_jw_init(&w, &out, false);
  write_chat(&w, a, id, a->streams ? "delta" : "message");
  code = code ? code : w.code;
  if (!code && a->streams)
    code = mf_buf_append_str(&out, MF_STR("\n\ndata: [DONE]\n\n"));
  if (code)
    return refuse(x, 500, NULL, "the echo is too large");
  return mf_http_respond(x, 200, a->streams ? &events_type : &json_type, 1, mf_buf_str(&out), NULL);
}

static enum mf_code post_chat(struct mf_model *m, struct mf_http_exchange *x, struct mf_fiber *self)
{
  struct mf_err err = { 0 };
  mf_auto_buf struct mf_buf body = { 0 };
  enum mf_code code = mf_http_read_body(x, BODY_MAX, &body, NULL);
  if (code)
    return code;
  struct mf_model_ask a;
  const struct mf_seen_answer seen = { .round = -1 };
  code = mf_model_ask_parse(mf_buf_str(&body), &a, &err);
  mf_seen_add(m->seen, x, mf_buf_str(&body), code ? NULL : a.root, &seen);
  code = code ? refuse(x, 400, NULL, err.msg) : answer_chat(x, &a);
  mf_model_ask_done(&a);
  return code;
}

/* What the scenario says of a path. The body need not be JSON. */
static enum mf_code answer_path(struct mf_model *m, struct mf_http_exchange *x, struct mf_fiber *self,
                                const struct mf_model_round *r)
{
  mf_auto_buf struct mf_buf body = { 0 };
  enum mf_code code = mf_http_read_body(x, BODY_MAX, &body, NULL);
  if (code)
    return code;
  struct mf_model_ask a;
  bool is_json = mf_model_ask_parse(mf_buf_str(&body), &a, NULL) == MF_OK;
  const struct mf_seen_answer seen = { .round = -1 };
  mf_seen_add(m->seen, x, mf_buf_str(&body), is_json ? a.root : NULL, &seen);
  bool is_events = false;
  struct mf_err err = { 0 };
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, MF_MODEL_REPLY_MAX);
  code = mf_model_reply_write(r, &a, &out, &is_events, &err);
  code =
      code ? refuse(x, 500, "scenario_limit", err.msg) : mf_model_send(x, self, r, mf_buf_str(&out), is_events, NULL);
  mf_model_ask_done(&a);
  return code;
}

static enum mf_code get_models(struct mf_model *m, struct mf_http_exchange *x, struct mf_fiber *self)
{
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, 1 << 20);
  struct mf_json_writer w;
  mf_jw_init(&w, &out, false);
  mf_jw_obj(&w);
  mf_jw_kstrz(&w, "object", "list");
  mf_jw_key(&w, "data");
  mf_jw_arr(&w);
  for (size_t i = 0; i < m->scenario->script_n; i++) {
    struct mf_str name = m->scenario->scripts[i].name;
    mf_jw_obj(&w);
    mf_jw_kstr(&w, "id", name.ptr ? name : MF_STR("scripted"));
    mf_jw_kstrz(&w, "object", "model");
    mf_jw_ku64(&w, "created", 0);
    mf_jw_kstrz(&w, "owned_by", "scenario");
    mf_jw_obj_end(&w);
  }
  mf_jw_arr_end(&w);
  mf_jw_obj_end(&w);
  return w.code ? refuse(x, 500, NULL, "the list is too large") : answer(x, 200, &out);
}

static enum mf_code get_health(struct mf_model *m, struct mf_http_exchange *x, struct mf_fiber *self)
{
  return mf_http_respond(x, 200, &json_type, 1, MF_STR("{\"status\":\"ok\"}"), NULL);
}

static enum mf_code get_requests(struct mf_model *m, struct mf_http_exchange *x, struct mf_fiber *self)
{
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, MF_SEEN_BYTES_MAX + SMALL_MAX);
  struct mf_json_writer w;
  mf_jw_init(&w, &out, false);
  mf_seen_write(m->seen, &w);
  return w.code ? refuse(x, 500, NULL, "too much was recorded") : answer(x, 200, &out);
}

static enum mf_code post_reset(struct mf_model *m, struct mf_http_exchange *x, struct mf_fiber *self)
{
  mf_seen_reset(m->seen);
  mf_plan_reset(m->plan);
  return mf_http_respond(x, 200, &json_type, 1, MF_STR("{\"status\":\"reset\"}"), NULL);
}

static const struct {
  const char *method, *path;
  route_fn *fn;
} routes[] = {
  { "POST", "/v1/responses", post_responses },
  { "POST", "/v1/chat/completions", post_chat },
  { "GET", "/v1/models", get_models },
  { "GET", "/health", get_health },
  { "GET", "/_scenario/requests", get_requests },
  { "POST", "/_scenario/reset", post_reset },
};

static void handle(void *user, struct mf_http_exchange *x, struct mf_fiber *self)
{
  struct mf_model *m = user;
  bool knows_path = false;
  const struct mf_model_round *given = mf_scenario_path(m->scenario, mf_http_path(x));
  if (given && !mf_str_starts(mf_http_path(x), "/_scenario/")) {
    (void)answer_path(m, x, self, given);
    return;
  }
  for (size_t i = 0; i < MF_ARRAY_N(routes); i++) {
    if (!mf_str_is(mf_http_path(x), routes[i].path))
      continue;
    knows_path = true;
    if (mf_str_is(mf_http_method(x), routes[i].method)) {
      (void)routes[i].fn(m, x, self); /* a client that has left needs no answer; the server knows the others */
      return;
    }
  }
  (void)(knows_path ? refuse(x, 405, NULL, "method not allowed") : refuse(x, 404, NULL, "no such route"));
}

/* ---- life ---- */

enum mf_code mf_model_new(struct mf_loop *loop, const struct mf_model_config *config, struct mf_model **ret,
                          struct mf_err *err)
{
  const struct mf_http_server_config http = {
    .host = config->host ? config->host : "127.0.0.1",
    .port = config->port,
    .body_bytes_max = BODY_MAX,
    .error_body = error_body,
  };
  struct mf_model *m = mf_xcalloc(1, sizeof(*m));
  m->loop = loop;
  m->plan = mf_plan_new();
  m->seen = mf_seen_new();
  enum mf_code code = mf_scenario_parse(config->scenario, &m->scenario, err);
  if (!code)
    code = mf_http_server_new(loop, &http, handle, m, &m->server, err);
  if (code) {
    mf_model_free(m);
    return code;
  }
  *ret = m;
  return MF_OK;
}

uint16_t mf_model_port(const struct mf_model *m)
{
  return mf_http_server_port(m->server);
}

void mf_model_stop(struct mf_model *m, uint64_t deadline_ns, void (*stopped)(void *user), void *user)
{
  mf_http_server_stop(m->server, deadline_ns, stopped, user);
}

void mf_model_free(struct mf_model *m)
{
  if (!m)
    return;
  mf_http_server_free(m->server);
  mf_plan_free(m->plan);
  mf_seen_free(m->seen);
  mf_scenario_free(m->scenario);
  free(m);
}

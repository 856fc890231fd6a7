/* A gateway, its model server and a client on one loop. */
#include "house.h"

#include <stdlib.h>

#include "base/time.h"
#include "http/server.h"
#include "base/banned.h"

enum { BODY_MAX = 64 << 20, PATIENCE_S = 60 };

/* ---- the model server ---- */

static void note(struct house *h, struct mf_http_exchange *x, struct mf_str body)
{
  struct mf_str method = mf_http_method(x), path = mf_http_path(x), query = mf_http_query(x);
  const struct mf_http_header *headers;
  size_t n = mf_http_headers(x, &headers);
  size_t at = (size_t)snprintf(h->saw, sizeof(h->saw), "%.*s %.*s?%.*s\n", MF_STR_ARG(method), MF_STR_ARG(path),
                               MF_STR_ARG(query));
  for (size_t i = 0; i < n && at < sizeof(h->saw); i++)
    at += (size_t)snprintf(h->saw + at, sizeof(h->saw) - at, "%.*s: %.*s\n", MF_STR_ARG(headers[i].name),
                           MF_STR_ARG(headers[i].value));
  snprintf(h->saw_body, sizeof(h->saw_body), "%.*s", (int)MF_MIN(body.len, sizeof(h->saw_body) - 1), body.ptr);
}

static void answer(struct mf_http_exchange *x, int status, const struct mf_http_header *headers, size_t header_n,
                   struct mf_str body)
{
  if (mf_http_respond(x, status, headers, header_n, body, NULL))
    return; /* the client has left */
}

static void answer_events(struct house *h, struct mf_http_exchange *x, struct mf_str body)
{
  static const struct mf_http_header type = { { "Content-Type", 12 }, { "text/event-stream", 17 } };
  static const char block[16384];
  enum mf_code code = mf_http_begin(x, 200, &type, 1, NULL);
  if (!code)
    code = mf_http_write(x, MF_STR("data: 1\n\n"), NULL);
  bool floods = memmem(body.ptr, body.len, "flood", 5) != NULL;
  while (!code && floods) {
    code = mf_http_write(x, (struct mf_str){ block, sizeof(block) }, NULL);
    h->flooded += code ? 0 : sizeof(block);
  }
  if (!code && !memmem(body.ptr, body.len, "cut", 3))
    code = mf_http_end(x, NULL);
}

static void wait_for_end(struct mf_fiber *self)
{
  while (mf_fiber_wait(self, 0) != MF_E_CANCELLED)
    continue;
}

static void upstream(void *user, struct mf_http_exchange *x, struct mf_fiber *self)
{
  static const struct mf_http_header fields[] = {
    { { "Content-Type", 12 }, { "application/json", 16 } },
    { { "Access-Control-Allow-Origin", 27 }, { "*", 1 } },
    { { "X-Request-Id", 12 }, { "up_1", 4 } },
    { { "Retry-After", 11 }, { "9", 1 } },
  };
  struct house *h = user;
  mf_auto_buf struct mf_buf body = { 0 };
  if (mf_http_read_body(x, BODY_MAX, &body, NULL))
    return;
  if (mf_str_is(mf_http_path(x), "/health")) {
    h->health_n++;
    note(h, x, mf_buf_str(&body));
    if (h->health_status == 0)
      wait_for_end(self);
    else
      answer(x, h->health_status, NULL, 0, MF_STR(""));
    return;
  }
  note(h, x, mf_buf_str(&body));
  if (strstr(body.ptr, "events"))
    answer_events(h, x, mf_buf_str(&body));
  else if (strstr(body.ptr, "hang"))
    wait_for_end(self);
  else if (strstr(body.ptr, "reset"))
    mf_http_abort(x);
  else
    answer(x, strstr(body.ptr, "limit") ? 429 : 200, fields, MF_ARRAY_N(fields), MF_STR("{\"from\":\"upstream\"}"));
}

/* ---- life ---- */

void house_open(struct house *h, const struct mf_gateway_config *config)
{
  struct mf_err err = { 0 };
  *h = (struct house){ .health_status = 200 };
  fake_turns = (struct fake_turns){ 0 };
  assert_ok(mf_loop_new(&h->loop, &err), &err);
  assert_ok(mf_pool_new(h->loop, 1, 16, &h->pool, &err), &err);
  assert_ok(mf_storage_open(h->loop, h->pool, "sqlite::memory:", &h->storage, &err), &err);
  assert_ok(mf_http_client_new(h->loop, &h->client, &err), &err);
  const struct mf_http_server_config up = { .host = "127.0.0.1", .body_bytes_max = BODY_MAX };
  assert_ok(mf_http_server_new(h->loop, &up, upstream, h, &h->upstream, &err), &err);
  snprintf(h->upstream_base, sizeof(h->upstream_base), "http://127.0.0.1:%u", mf_http_server_port(h->upstream));
  h->agent = (struct mf_agent){ .loop = h->loop, .client = h->client, .storage = h->storage };
  mf_agent_config_default(&h->agent.config);
  h->agent.config.llm_api_base = h->upstream_base;
  h->agent.config.api_key = config->openai_api_key;
  struct mf_gateway_config c = *config;
  c.http.host = "127.0.0.1";
  c.version = "1.2.3";
  const struct mf_gateway_parts parts = { .loop = h->loop, .agent = &h->agent };
  assert_ok(mf_gateway_new(&c, &parts, &h->gateway, &err), &err);
  snprintf(h->base, sizeof(h->base), "http://127.0.0.1:%u", mf_gateway_port(h->gateway));
}

void house_run_until(struct house *h, const unsigned *flag, unsigned n)
{
  struct mf_err err = { 0 };
  while (*flag < n)
    assert_ok(mf_loop_run(h->loop, &err), &err);
}

static void on_stopped(void *user)
{
  struct house *h = user;
  h->stopped++;
  mf_loop_stop(h->loop);
}

void house_close(struct house *h)
{
  uint64_t deadline_ns = mf_now_ns() + PATIENCE_S * MF_NS_PER_S;
  if (h->gateway) {
    h->stopped = 0;
    mf_gateway_stop(h->gateway, deadline_ns, on_stopped, h);
    house_run_until(h, &h->stopped, 1);
    mf_gateway_free(h->gateway);
  }
  h->stopped = 0;
  mf_http_server_stop(h->upstream, mf_now_ns(), on_stopped, h);
  house_run_until(h, &h->stopped, 1);
  mf_http_server_free(h->upstream);
  mf_http_client_free(h->client);
  mf_storage_close(h->storage);
  mf_pool_free(h->pool);
  mf_loop_free(h->loop);
}

/* ---- the client ---- */

struct asking {
  struct house *h;
  const struct ask *ask;
  struct reply *reply;
  unsigned done;
};

static void keep_head(struct reply *r, const struct mf_http_call *call)
{
  const struct mf_http_header *headers;
  size_t n = mf_http_call_headers(call, &headers), at = 0;
  for (size_t i = 0; i < n && at < sizeof(r->head); i++)
    at += (size_t)snprintf(r->head + at, sizeof(r->head) - at, "%.*s: %.*s\n", MF_STR_ARG(headers[i].name),
                           MF_STR_ARG(headers[i].value));
}

/* A writer that is not held would change the number for ever. */
static void hold(const uint64_t *number, struct mf_fiber *self)
{
  uint64_t before;
  do {
    before = *number;
    if (mf_fiber_sleep(self, 50 * MF_NS_PER_MS))
      return;
  } while (*number != before);
}

static void keep_body(struct asking *a, struct mf_fiber *self, struct mf_http_call *call)
{
  struct reply *r = a->reply;
  for (;;) {
    struct mf_str piece;
    r->code = mf_http_call_read(call, self, &piece, NULL);
    if (r->code || piece.len == 0)
      return;
    r->code = mf_buf_append_str(&r->body, piece);
    if (!r->code && a->ask->leave_after && r->body.len >= a->ask->leave_after && a->ask->holds)
      hold(a->ask->holds, self);
    if (r->code || (a->ask->leave_after && r->body.len >= a->ask->leave_after))
      return;
  }
}

static void run(void *user)
{
  struct asking *a = user;
  struct mf_fiber *self = mf_fiber_self(a->h->loop);
  mf_auto_free char *url = mf_xasprintf("%s%s", a->h->base, a->ask->path);
  struct mf_http_header headers[4];
  struct mf_http_request request = { .method = a->ask->method,
                                     .url = url,
                                     .headers = headers,
                                     .body = mf_str_of(a->ask->body),
                                     .idle_ms = PATIENCE_S * 1000 };
  for (size_t i = 0; i + 1 < MF_ARRAY_N(a->ask->headers) && a->ask->headers[i]; i += 2)
    headers[request.header_n++] =
        (struct mf_http_header){ mf_str_of(a->ask->headers[i]), mf_str_of(a->ask->headers[i + 1]) };
  struct mf_http_call *call = NULL;
  a->reply->code = mf_http_call_open(a->h->client, self, &request, &call, NULL);
  if (!a->reply->code) {
    a->reply->status = mf_http_call_status(call);
    keep_head(a->reply, call);
    keep_body(a, self, call);
    mf_http_call_close(call);
  }
  a->done = 1;
  mf_loop_stop(a->h->loop);
}

void house_ask(struct house *h, const struct ask *ask, struct reply *ret)
{
  struct mf_err err = { 0 };
  *ret = (struct reply){ 0 };
  mf_buf_init(&ret->body, BODY_MAX);
  struct asking a = { .h = h, .ask = ask, .reply = ret };
  assert_ok(mf_fiber_start(h->loop, run, &a, 0, NULL, &err), &err);
  house_run_until(h, &a.done, 1);
}

void reply_done(struct reply *r)
{
  mf_buf_done(&r->body);
}

int house_status(struct house *h, const struct ask *a)
{
  struct reply r;
  house_ask(h, a, &r);
  reply_done(&r);
  return r.status;
}

bool reply_has(const struct reply *r, const char *line)
{
  size_t n = strlen(line);
  for (const char *at = r->head; (at = strstr(at, line)) != NULL; at++)
    if ((at == r->head || at[-1] == '\n') && at[n] == '\n')
      return true;
  return false;
}

/* One request and its response, in a fiber of its own. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "server-internal.h"
#include "base/banned.h"

enum {
  FLUSH_BYTES = 16 * 1024, /* a stream that has written so much in one turn is sent before the turn's end */
  READ_BYTES = 32 * 1024,
};

/* ---- life ---- */

/* What the server says when the handler has said nothing. */
static void answer_for_handler(struct mf_http_exchange *x)
{
  struct mf_http_refusal why = { x->fault, x->fault_why };
  if (!why.status && x->server->is_past_deadline)
    why = (struct mf_http_refusal){ 503, "the server is stopping" };
  else if (!why.status)
    why = (struct mf_http_refusal){ 500, "internal error" };
  mf_http_response_error(x->server, &why, x->head->is_head, false, false, &x->conn->out);
}

static void run(void *user)
{
  struct mf_http_exchange *x = user;
  struct mf_http_conn *c = x->conn;
  struct mf_http_server *s = x->server;
  s->handler(s->user, x, x->fiber);

  bool keep = x->keep && x->has_ended;
  if (c->state != MF_HTTP_CONN_DEAD && !x->has_ended) {
    if (!x->has_begun && !c->is_peer_gone)
      answer_for_handler(x);
    /* A response that lasts until the connection's end looks complete to the client unless that end is an accident. */
    if (x->has_begun && x->is_until_close)
      c->must_reset = true;
  }
  if (!mf_http_body_is_done(&x->body))
    c->must_linger = true;
  c->exchange = NULL;
  s->request_n--;
  mf_http_head_free(x->head);
  free(x);
  mf_http_conn_next(c, keep);
}

bool mf_http_exchange_start(struct mf_http_conn *c, struct mf_http_head *head)
{
  struct mf_http_exchange *x = mf_xcalloc(1, sizeof(*x));
  *x = (struct mf_http_exchange){ .conn = c, .server = c->server, .head = head };
  mf_http_body_init(&x->body, head);
  if (mf_fiber_start(c->server->loop, run, x, 0, &x->fiber, NULL)) {
    mf_http_head_free(head);
    free(x);
    return false;
  }
  mf_fiber_detach(x->fiber);
  c->exchange = x;
  c->server->request_n++;
  c->server->total_requests++;
  return true;
}

void mf_http_exchange_input(struct mf_http_exchange *x)
{
  if (x->reader)
    mf_fiber_wake(x->reader);
}

void mf_http_exchange_output(struct mf_http_exchange *x)
{
  if (x->writer)
    mf_fiber_wake(x->writer);
}

void mf_http_exchange_gone(struct mf_http_exchange *x)
{
  mf_fiber_cancel(x->fiber);
  /* Another fiber of the handler's may be the one who waits. */
  mf_http_exchange_input(x);
  mf_http_exchange_output(x);
}

/* ---- the request ---- */

struct mf_str mf_http_method(const struct mf_http_exchange *x)
{
  return x->head->method;
}

struct mf_str mf_http_path(const struct mf_http_exchange *x)
{
  return x->head->path;
}

struct mf_str mf_http_query(const struct mf_http_exchange *x)
{
  return x->head->query;
}

struct mf_str mf_http_header(const struct mf_http_exchange *x, const char *name)
{
  return mf_http_head_find(x->head, name);
}

size_t mf_http_headers(const struct mf_http_exchange *x, const struct mf_http_header **ret)
{
  *ret = x->head->headers;
  return x->head->header_n;
}

const char *mf_http_peer(const struct mf_http_exchange *x)
{
  return x->conn->peer;
}

/* ---- the body ---- */

static enum mf_code fail_gone(struct mf_err *err)
{
  return mf_fail(err, MF_E_GONE, 0, "the client has left");
}

static enum mf_code fail_body(struct mf_http_exchange *x, enum mf_code code, int status, const char *why,
                              struct mf_err *err)
{
  x->fault = status;
  x->fault_why = why;
  return mf_fail(err, code, 0, "%s", why);
}

/* Decodes from what has arrived. p NULL throws it away. */
static enum mf_code take_body(struct mf_http_exchange *x, char *p, size_t n, size_t *ret_n, struct mf_err *err)
{
  struct mf_http_conn *c = x->conn;
  size_t used = 0, got = 0;
  if (mf_http_body_decode(&x->body, mf_http_bytes_str(&c->in), &used, p, n, &got, NULL))
    return fail_body(x, MF_E_INPUT, 400, "malformed chunked body", err);
  mf_http_bytes_consume(&c->in, used);
  x->body_n += got;
  if (x->body_n > x->server->config.body_bytes_max)
    return fail_body(x, MF_E_LIMIT, 413, "request body too large", err);
  *ret_n = got;
  return MF_OK;
}

/* RFC 9110 §10.1.1: not needed when the body comes without it. */
static void queue_continue(struct mf_http_exchange *x)
{
  static const char line[] = "HTTP/1.1 100 Continue\r\n\r\n";
  if (x->head->expects_continue && !x->was_continued && x->body_n == 0)
    mf_http_bytes_append(&x->conn->out, line, sizeof(line) - 1);
  x->was_continued = true;
}

/* Waits until more of the body has come. */
static enum mf_code wait_input(struct mf_http_exchange *x, struct mf_err *err)
{
  struct mf_http_conn *c = x->conn;
  if (mf_http_conn_fill(c))
    return MF_OK;
  if (c->state != MF_HTTP_CONN_DEAD && !c->had_eof) {
    queue_continue(x);
    mf_http_conn_flush(c); /* reading may have been off, because too much was waiting */
  }
  if (c->state == MF_HTTP_CONN_DEAD || c->had_eof)
    return fail_gone(err);
  struct mf_fiber *self = mf_fiber_self(x->server->loop);
  assert(self && !x->reader);
  x->reader = self;
  enum mf_code code = mf_fiber_wait(self, x->body_deadline_ns);
  x->reader = NULL;
  if (code == MF_E_TIMEOUT)
    return fail_body(x, code, 408, "the request body took too long", err);
  return code ? mf_fail(err, code, 0, "read the request body: cancelled") : MF_OK;
}

enum mf_code mf_http_read_some(struct mf_http_exchange *x, void *p, size_t n, size_t *ret_n, struct mf_err *err)
{
  assert(n > 0);
  if (x->fault)
    return mf_fail(err, MF_E_INPUT, 0, "%s", x->fault_why);
  if (!x->body_deadline_ns)
    x->body_deadline_ns = mf_now_ns() + x->server->config.body_ms * MF_NS_PER_MS;
  for (;;) {
    if (x->conn->state == MF_HTTP_CONN_DEAD)
      return fail_gone(err);
    size_t got = 0;
    enum mf_code code = x->has_begun ? MF_OK : take_body(x, p, n, &got, err);
    if (code)
      return code;
    if (got > 0 || mf_http_body_is_done(&x->body) || x->has_begun) {
      *ret_n = got;
      return MF_OK;
    }
    code = wait_input(x, err);
    if (code)
      return code;
  }
}

enum mf_code mf_http_read_body(struct mf_http_exchange *x, size_t max, struct mf_buf *ret, struct mf_err *err)
{
  mf_buf_init(ret, max);
  if (x->head->content_length > max)
    return fail_body(x, MF_E_LIMIT, 413, "request body too large", err);
  if (mf_http_body_is_done(&x->body))
    return MF_OK;
  size_t piece_n = x->head->is_chunked ? READ_BYTES : (size_t)MF_MIN(x->head->content_length, (uint64_t)READ_BYTES);
  mf_auto_free char *piece = mf_xmalloc(piece_n);
  for (;;) {
    size_t n = 0;
    enum mf_code code = mf_http_read_some(x, piece, piece_n, &n, err);
    if (code || n == 0)
      return code;
    if (mf_buf_append(ret, piece, n))
      return fail_body(x, MF_E_LIMIT, 413, "request body too large", err);
  }
}

/* The rest of the body is not wanted. What is at hand is thrown away; when that is not all of it, the connection cannot
 * be used again. */
static void settle_body(struct mf_http_exchange *x)
{
  size_t n = 0;
  while (!x->fault && !mf_http_body_is_done(&x->body) && take_body(x, NULL, SIZE_MAX, &n, NULL) == MF_OK &&
         !mf_http_body_is_done(&x->body))
    if (!mf_http_conn_fill(x->conn))
      break;
}

/* ---- the response ---- */

static enum mf_code wait_output(struct mf_http_exchange *x, struct mf_err *err)
{
  struct mf_fiber *self = mf_fiber_self(x->server->loop);
  assert(self && !x->writer);
  x->writer = self;
  enum mf_code code = mf_fiber_wait(self, 0);
  x->writer = NULL;
  return code ? mf_fail(err, code, 0, "write the response: cancelled") : MF_OK;
}

/* Queues data, piece by piece, and waits above the high-water mark. */
static enum mf_code push(struct mf_http_exchange *x, struct mf_str data, struct mf_err *err)
{
  struct mf_http_conn *c = x->conn;
  size_t high = x->server->config.write_high_bytes;
  while (data.len > 0) {
    if (c->out.len >= high)
      mf_http_conn_flush(c);
    if (c->state == MF_HTTP_CONN_DEAD)
      return fail_gone(err);
    if (c->out.len >= high) {
      enum mf_code code = wait_output(x, err);
      if (code)
        return code;
      continue;
    }
    size_t n = MF_MIN(data.len, high - c->out.len);
    if (x->is_chunked) {
      char size[24];
      mf_http_bytes_append(&c->out, size, (size_t)snprintf(size, sizeof(size), "%zx\r\n", n));
    }
    mf_http_bytes_append(&c->out, data.ptr, n);
    if (x->is_chunked)
      mf_http_bytes_append(&c->out, "\r\n", 2);
    data.ptr += n;
    data.len -= n;
  }
  return MF_OK;
}

static bool has_body(const struct mf_http_exchange *x, int status)
{
  return !x->head->is_head && status != 204 && status != 304;
}

/* Queues the head of the response. */
static enum mf_code start(struct mf_http_exchange *x, struct mf_http_response *r, struct mf_err *err)
{
  struct mf_http_conn *c = x->conn;
  if (x->has_begun)
    return mf_fail(err, MF_E_INTERNAL, 0, "the response has begun already");
  if (c->state == MF_HTTP_CONN_DEAD)
    return fail_gone(err);
  settle_body(x);
  if (c->state == MF_HTTP_CONN_DEAD)
    return fail_gone(err);
  x->keep = x->head->keep_alive && mf_http_body_is_done(&x->body) && !x->fault && !x->server->is_stopping &&
            !x->is_until_close && !mf_http_response_wants_close(r->headers, r->header_n);
  r->keep = x->keep;
  r->is_http_1_0 = x->head->is_http_1_0;
  x->has_no_body = !has_body(x, r->status);
  enum mf_code code = mf_http_response_head(x->server, r, &c->out, err);
  if (!code)
    x->has_begun = true;
  return code;
}

enum mf_code mf_http_respond(struct mf_http_exchange *x, int status, const struct mf_http_header *headers,
                             size_t header_n, struct mf_str body, struct mf_err *err)
{
  struct mf_http_response r = { .status = status,
                                .headers = headers,
                                .header_n = header_n,
                                .has_length = status != 204 && status != 304,
                                .length = body.len };
  enum mf_code code = start(x, &r, err);
  if (!code && !x->has_no_body)
    code = push(x, body, err);
  if (code)
    return code;
  x->has_ended = true;
  mf_http_conn_flush(x->conn);
  return MF_OK;
}

enum mf_code mf_http_begin(struct mf_http_exchange *x, int status, const struct mf_http_header *headers,
                           size_t header_n, struct mf_err *err)
{
  bool streams = has_body(x, status);
  x->is_until_close = streams && x->head->is_http_1_0;
  struct mf_http_response r = {
    .status = status, .headers = headers, .header_n = header_n, .is_chunked = streams && !x->head->is_http_1_0
  };
  enum mf_code code = start(x, &r, err);
  if (code) {
    x->is_until_close = false;
    return code;
  }
  x->is_chunked = r.is_chunked;
  mf_http_conn_flush_later(x->conn);
  return MF_OK;
}

enum mf_code mf_http_begin_sized(struct mf_http_exchange *x, int status, const struct mf_http_header *headers,
                                 size_t header_n, uint64_t body_bytes, struct mf_err *err)
{
  struct mf_http_response r = {
    .status = status, .headers = headers, .header_n = header_n, .has_length = true, .length = body_bytes
  };
  enum mf_code code = start(x, &r, err);
  if (code)
    return code;
  x->has_length = true;
  x->unwritten_n = x->has_no_body ? 0 : body_bytes;
  mf_http_conn_flush_later(x->conn);
  return MF_OK;
}

enum mf_code mf_http_write(struct mf_http_exchange *x, struct mf_str data, struct mf_err *err)
{
  if (!x->has_begun || x->has_ended)
    return mf_fail(err, MF_E_INTERNAL, 0, "write outside of a streamed response");
  if (x->conn->state == MF_HTTP_CONN_DEAD)
    return fail_gone(err);
  if (x->has_no_body)
    return MF_OK;
  if (x->has_length && data.len > x->unwritten_n)
    return mf_fail(err, MF_E_INTERNAL, 0, "more of a body than its length");
  enum mf_code code = push(x, data, err);
  if (code)
    return code;
  x->unwritten_n -= x->has_length ? data.len : 0;
  if (x->conn->out.len >= FLUSH_BYTES)
    mf_http_conn_flush(x->conn);
  else
    mf_http_conn_flush_later(x->conn);
  return MF_OK;
}

enum mf_code mf_http_end(struct mf_http_exchange *x, struct mf_err *err)
{
  if (!x->has_begun || x->has_ended)
    return mf_fail(err, MF_E_INTERNAL, 0, "end outside of a streamed response");
  if (x->conn->state == MF_HTTP_CONN_DEAD)
    return fail_gone(err);
  if (x->unwritten_n > 0)
    return mf_fail(err, MF_E_INTERNAL, 0, "less of a body than its length");
  if (x->is_chunked)
    mf_http_bytes_append(&x->conn->out, "0\r\n\r\n", 5);
  x->has_ended = true;
  mf_http_conn_flush(x->conn);
  return MF_OK;
}

bool mf_http_has_begun(const struct mf_http_exchange *x)
{
  return x->has_begun;
}

void mf_http_abort(struct mf_http_exchange *x)
{
  struct mf_http_conn *c = x->conn;
  mf_http_conn_flush(c);
  c->must_reset = true;
  mf_http_conn_drop(c);
}

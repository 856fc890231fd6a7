/* One call: a request, the response's head, its body in pieces. libcurl's callbacks note what came and wake the fiber
 * that waits; the fiber takes it. Two buffers change places: one is filled while the caller looks at the other. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/time.h"
#include "client-internal.h"
#include "base/banned.h"

enum {
  HIGH_BYTES = 64 * 1024, /* with more than this waiting the transfer is paused */
  HEAD_BYTES_MAX = 64 * 1024,
  HEAD_FIELDS_MAX = 256,
  KEPT_BYTES = 32 * 1024,
  CONNECT_MS = 10000,
};

struct field {
  size_t name, name_len, value, value_len; /* in head */
};

struct mf_http_call {
  struct mf_http_client *client;
  CURL *easy;
  struct curl_slist *header_list;
  char *body;
  size_t body_len;
  struct mf_fiber *waiter; /* NULL while nobody waits */
  uint64_t idle_ns;
  uint64_t active_ns; /* the last sign of life before the head is complete; 0: not connected yet */

  struct mf_buf head;
  struct field *fields;           /* until the head is complete */
  struct mf_http_header *headers; /* from then on */
  size_t field_n, field_cap;
  int status;
  bool has_head;

  struct mf_buf arriving, given; /* given: what the caller looks at */
  bool is_paused, is_over;
  enum mf_code code; /* of a call that is over, or why we ended it ourselves */
  struct mf_err why;
  char curl_says[CURL_ERROR_SIZE];
};

static void wake(struct mf_http_call *call)
{
  if (call->waiter)
    mf_fiber_wake(call->waiter);
}

/* ---- from libcurl ---- */

/* CURLOPT_PREREQFUNCTION: there is a connection; from now on silence counts. */
static int on_connected(void *user, char *ip, char *local_ip, int port, int local_port)
{
  struct mf_http_call *call = user;
  call->active_ns = mf_now_ns();
  wake(call);
  return CURL_PREREQFUNC_OK;
}

static struct mf_str trim(struct mf_str s)
{
  while (s.len > 0 && (s.ptr[0] == ' ' || s.ptr[0] == '\t'))
    s = (struct mf_str){ s.ptr + 1, s.len - 1 };
  while (s.len > 0 && strchr(" \t\r\n", s.ptr[s.len - 1]))
    s.len--;
  return s;
}

static enum mf_code add_field(struct mf_http_call *call, struct mf_str line)
{
  /* A folded line continues the field above, which is the last thing in head. */
  bool is_folded = line.ptr[0] == ' ' || line.ptr[0] == '\t';
  const char *colon = memchr(line.ptr, ':', line.len);
  if (is_folded ? call->field_n == 0 : !colon || colon == line.ptr)
    return MF_OK;
  if (is_folded) {
    struct field *f = &call->fields[call->field_n - 1];
    enum mf_code code = mf_buf_append_str(&call->head, MF_STR(" "));
    if (code == MF_OK)
      code = mf_buf_append_str(&call->head, trim(line));
    f->value_len = call->head.len - f->value;
    return code;
  }
  if (call->field_n == HEAD_FIELDS_MAX)
    return MF_E_LIMIT;
  struct mf_str name = trim((struct mf_str){ line.ptr, (size_t)(colon - line.ptr) });
  struct mf_str value = trim((struct mf_str){ colon + 1, (size_t)(line.ptr + line.len - colon - 1) });
  if (call->field_n == call->field_cap) {
    call->field_cap = call->field_cap ? call->field_cap * 2 : 16;
    call->fields = mf_xrealloc(call->fields, call->field_cap * sizeof(*call->fields));
  }
  struct field *f = &call->fields[call->field_n];
  *f = (struct field){ call->head.len, name.len, call->head.len + name.len, value.len };
  enum mf_code code = mf_buf_append_str(&call->head, name);
  if (code == MF_OK)
    code = mf_buf_append_str(&call->head, value);
  if (code == MF_OK)
    call->field_n++;
  return code;
}

/* The buffer stays where it is from now on. */
static void finish_head(struct mf_http_call *call)
{
  call->has_head = true;
  call->headers = mf_xcalloc(call->field_n + 1, sizeof(*call->headers));
  for (size_t i = 0; i < call->field_n; i++) {
    const struct field *f = &call->fields[i];
    call->headers[i].name = (struct mf_str){ call->head.ptr + f->name, f->name_len };
    call->headers[i].value = (struct mf_str){ call->head.ptr + f->value, f->value_len };
  }
  free(call->fields);
  call->fields = NULL;
  wake(call);
}

/* CURLOPT_HEADERFUNCTION: a line at a time, of each head (100, 103 and then the one that counts) and of trailers. */
static size_t on_header(char *p, size_t size, size_t n, void *user)
{
  struct mf_http_call *call = user;
  struct mf_str line = { p, size * n };
  if (call->has_head || line.len == 0)
    return line.len;

  enum mf_code code = MF_OK;
  if (mf_str_starts(line, "HTTP/")) {
    const char *space = memchr(line.ptr, ' ', line.len);
    call->active_ns = mf_now_ns();
    mf_buf_truncate(&call->head, 0);
    call->field_n = 0;
    call->status = 0;
    for (const char *c = space ? space + 1 : line.ptr; c < line.ptr + line.len && *c >= '0' && *c <= '9'; c++)
      call->status = call->status < 1000 ? call->status * 10 + (*c - '0') : call->status;
  } else if (trim(line).len > 0) {
    code = add_field(call, line);
  } else if (call->status >= 200) {
    finish_head(call);
  }
  if (code) {
    call->code = mf_fail(&call->why, MF_E_LIMIT, 0, "the response's head exceeded %d bytes or %d fields",
                         HEAD_BYTES_MAX, HEAD_FIELDS_MAX);
    return 0; /* ends the transfer */
  }
  return line.len;
}

/* CURLOPT_WRITEFUNCTION. */
static size_t on_body(char *p, size_t size, size_t n, void *user)
{
  struct mf_http_call *call = user;
  if (call->arriving.len > HIGH_BYTES) {
    call->is_paused = true;
    return CURL_WRITEFUNC_PAUSE; /* the same bytes come again later */
  }
  if (mf_buf_append(&call->arriving, p, size * n))
    return 0; /* libcurl never gives more than CURL_MAX_WRITE_SIZE at a time */
  wake(call);
  return size * n;
}

static enum mf_code code_of(const struct mf_http_call *call, CURLcode result)
{
  switch ((int)result) {
  case CURLE_OPERATION_TIMEDOUT:
    return MF_E_TIMEOUT;
  case CURLE_URL_MALFORMAT:
    return MF_E_INPUT;
  case CURLE_UNSUPPORTED_PROTOCOL: /* the URL's, or an answer that is not HTTP/1 */
    return call->active_ns ? MF_E_GONE : MF_E_INPUT;
  case CURLE_OUT_OF_MEMORY:
    return MF_E_SYS;
  default:
    return MF_E_GONE;
  }
}

void mf_http_call_finished(struct mf_http_call *call, CURLcode result)
{
  call->is_over = true;
  if (result != CURLE_OK && call->code == MF_OK)
    call->code = mf_fail(&call->why, code_of(call, result), 0, "%s",
                         call->curl_says[0] ? call->curl_says : call->client->curl->easy_strerror(result));
  /* One that ended well before its head was complete did not end well. */
  if (call->code == MF_OK && !call->has_head)
    call->code = mf_fail(&call->why, MF_E_GONE, 0, "the response has no head");
  wake(call);
}

/* ---- the request ---- */

static bool is_clean(struct mf_str s)
{
  return s.len == 0 || (!memchr(s.ptr, '\n', s.len) && !memchr(s.ptr, '\r', s.len) && !memchr(s.ptr, 0, s.len));
}

/* RFC 9110, token. */
static bool is_token(struct mf_str s)
{
  static const char *const others = "!#$%&'*+-.^_`|~";
  for (size_t i = 0; i < s.len; i++) {
    char c = s.ptr[i];
    bool alnum = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    if (!alnum && (c == 0 || !strchr(others, c)))
      return false;
  }
  return s.len > 0;
}

static bool name_is(struct mf_str name, const char *z)
{
  return name.len == strlen(z) && strncasecmp(name.ptr, z, name.len) == 0;
}

static bool is_own_affair(struct mf_str name)
{
  static const char *const own[] = { "content-length", "transfer-encoding", "connection", "expect" };
  for (size_t i = 0; i < MF_ARRAY_N(own); i++)
    if (name_is(name, own[i]))
      return true;
  return false;
}

static void add_line(struct mf_http_call *call, const char *line)
{
  struct curl_slist *list = call->client->curl->slist_append(call->header_list, line);
  if (!list)
    abort(); /* a few bytes: as mf_xmalloc */
  call->header_list = list;
}

static void add_field_line(struct mf_http_call *call, struct mf_str name, struct mf_str value)
{
  /* "Name;" is libcurl's way to say that the value is empty. */
  struct mf_str between = value.len ? MF_STR(": ") : MF_STR(";");
  mf_auto_free char *line = mf_xmalloc(name.len + between.len + value.len + 1);
  memcpy(line, name.ptr, name.len);
  memcpy(line + name.len, between.ptr, between.len);
  if (value.len > 0)
    memcpy(line + name.len + between.len, value.ptr, value.len);
  line[name.len + between.len + value.len] = 0;
  add_line(call, line);
}

static enum mf_code add_headers(struct mf_http_call *call, const struct mf_http_request *req, struct mf_err *err)
{
  bool has_encoding = false, has_type = false;
  for (size_t i = 0; i < req->header_n; i++) {
    const struct mf_http_header *h = &req->headers[i];
    if (!is_token(h->name) || !is_clean(h->value))
      return mf_fail(err, MF_E_INPUT, 0, "request header %zu cannot be sent", i);
    if (is_own_affair(h->name))
      continue;
    has_encoding |= name_is(h->name, "accept-encoding");
    has_type |= name_is(h->name, "content-type");
    add_field_line(call, h->name, trim(h->value));
  }
  if (!has_encoding)
    add_line(call, "Accept-Encoding: identity");
  /* Without a value: libcurl is not to add its own. */
  if (!has_type)
    add_line(call, "Content-Type:");
  add_line(call, "Expect:");
  return MF_OK;
}

static void set_method(struct mf_http_call *call, const char *method, struct mf_str body)
{
  const struct mf_curl *curl = call->client->curl;
  CURL *e = call->easy;
  if (strcmp(method, "HEAD") == 0) {
    curl->easy_setopt(e, CURLOPT_NOBODY, 1L);
    return;
  }
  bool expects_body = strcmp(method, "POST") == 0 || strcmp(method, "PUT") == 0 || strcmp(method, "PATCH") == 0;
  if (body.len > 0 || expects_body) {
    call->body = mf_xmalloc(body.len);
    call->body_len = body.len;
    if (body.len > 0)
      memcpy(call->body, body.ptr, body.len);
    curl->easy_setopt(e, CURLOPT_POST, 1L);
    curl->easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.len);
    curl->easy_setopt(e, CURLOPT_POSTFIELDS, call->body);
  }
  curl->easy_setopt(e, CURLOPT_CUSTOMREQUEST, method);
}

static enum mf_code set_up(struct mf_http_call *call, const struct mf_http_request *req, struct mf_err *err)
{
  const char *method = req->method ? req->method : "GET";
  if (!is_token(mf_str_of(method)) || !req->url || !is_clean(mf_str_of(req->url)))
    return mf_fail(err, MF_E_INPUT, 0, "a method or URL that cannot be sent");
  enum mf_code code = add_headers(call, req, err);
  if (code)
    return code;

  uint64_t connect_ms = req->connect_ms ? req->connect_ms : CONNECT_MS;
  const struct mf_curl *curl = call->client->curl;
  CURL *e = call->easy;
  set_method(call, method, req->body);
  curl->easy_setopt(e, CURLOPT_URL, req->url);
  if (req->unix_path)
    curl->easy_setopt(e, CURLOPT_UNIX_SOCKET_PATH, req->unix_path);
  curl->easy_setopt(e, CURLOPT_HTTPHEADER, call->header_list);
  curl->easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)MF_MIN(connect_ms, 86400000u));
  curl->easy_setopt(e, CURLOPT_PRIVATE, call);
  curl->easy_setopt(e, CURLOPT_ERRORBUFFER, call->curl_says);
  curl->easy_setopt(e, CURLOPT_PREREQFUNCTION, on_connected);
  curl->easy_setopt(e, CURLOPT_PREREQDATA, call);
  curl->easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header);
  curl->easy_setopt(e, CURLOPT_HEADERDATA, call);
  curl->easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
  curl->easy_setopt(e, CURLOPT_WRITEDATA, call);
  curl->easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
  curl->easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
  curl->easy_setopt(e, CURLOPT_PROXY, "");
  curl->easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
  curl->easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 1L);
#if LIBCURL_VERSION_NUM >= 0x075500
  curl->easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
#else
  curl->easy_setopt(e, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
#if LIBCURL_VERSION_NUM >= 0x075700
  /* A call that is cancelled while its name is looked up leaves that thread to itself instead of waiting for it. */
  curl->easy_setopt(e, CURLOPT_QUICK_EXIT, 1L);
#endif
  return MF_OK;
}

/* ---- the call ---- */

static uint64_t deadline_of(const struct mf_http_call *call, uint64_t since_ns)
{
  if (call->idle_ns == 0 || since_ns == 0)
    return 0;
  return call->idle_ns < UINT64_MAX - since_ns ? since_ns + call->idle_ns : 0;
}

/* Waits until libcurl has something to say, since_ns being when it last had. */
static enum mf_code wait_for_more(struct mf_http_call *call, struct mf_fiber *self, uint64_t since_ns)
{
  assert(!call->waiter && mf_fiber_self(mf_fiber_loop(self)) == self);
  call->waiter = self;
  enum mf_code code = mf_fiber_wait(self, deadline_of(call, since_ns));
  call->waiter = NULL;
  return code;
}

static enum mf_code fail_wait(const struct mf_http_call *call, enum mf_code code, struct mf_err *err)
{
  if (code == MF_E_TIMEOUT)
    return mf_fail(err, code, 0, "the server was silent for %llu ms",
                   (unsigned long long)(call->idle_ns / MF_NS_PER_MS));
  return mf_fail(err, code, 0, "the call was cancelled");
}

static enum mf_code fail_over(const struct mf_http_call *call, struct mf_err *err)
{
  if (err)
    *err = call->why;
  return call->code;
}

/* A body that is still going out is no silence. */
static bool has_sent_more(struct mf_http_call *call, curl_off_t *sent)
{
  curl_off_t now = 0;
  call->client->curl->easy_getinfo(call->easy, CURLINFO_SIZE_UPLOAD_T, &now);
  bool is_more = now > *sent;
  *sent = MF_MAX(now, *sent);
  return is_more;
}

static enum mf_code wait_for_head(struct mf_http_call *call, struct mf_fiber *self, struct mf_err *err)
{
  /* A small body goes out with the head. */
  curl_off_t sent = (curl_off_t)MF_MIN(call->body_len, (size_t)64 * 1024);
  while (!call->has_head && !call->is_over) {
    uint64_t since_ns = call->active_ns;
    enum mf_code code = wait_for_more(call, self, since_ns);
    if (code == MF_E_TIMEOUT && has_sent_more(call, &sent))
      call->active_ns = mf_now_ns();
    else if (code != MF_OK && (code != MF_E_TIMEOUT || call->active_ns == since_ns))
      return fail_wait(call, code, err);
  }
  return call->has_head ? MF_OK : fail_over(call, err);
}

static CURL *take_easy(struct mf_http_client *c)
{
  return c->kept_n > 0 ? c->kept[--c->kept_n] : c->curl->easy_init();
}

static void release_easy(struct mf_http_client *c, CURL *e)
{
  if (c->kept_n < MF_CLIENT_EASY_KEPT) {
    c->curl->easy_reset(e);
    c->kept[c->kept_n++] = e;
  } else {
    c->curl->easy_cleanup(e);
  }
}

enum mf_code mf_http_call_open(struct mf_http_client *c, struct mf_fiber *self, const struct mf_http_request *req,
                               struct mf_http_call **ret, struct mf_err *err)
{
  CURL *easy = take_easy(c);
  if (!easy)
    return mf_fail(err, MF_E_SYS, ENOMEM, "open HTTP call");
  struct mf_http_call *call = mf_xcalloc(1, sizeof(*call));
  call->client = c;
  call->easy = easy;
  call->idle_ns = req->idle_ms < UINT64_MAX / MF_NS_PER_MS ? req->idle_ms * MF_NS_PER_MS : 0;
  mf_buf_init(&call->head, HEAD_BYTES_MAX);
  mf_buf_init(&call->arriving, HIGH_BYTES + CURL_MAX_WRITE_SIZE + 1);
  mf_buf_init(&call->given, HIGH_BYTES + CURL_MAX_WRITE_SIZE + 1);
  c->call_n++;

  enum mf_code code = set_up(call, req, err);
  /* Nothing is sent for a fiber that is cancelled already. */
  if (code == MF_OK && mf_fiber_must_unwind(self))
    code = fail_wait(call, MF_E_CANCELLED, err);
  if (code == MF_OK && mf_http_client_start(c, easy))
    code = mf_fail(err, MF_E_SYS, ENOMEM, "open HTTP call");
  if (code == MF_OK)
    code = wait_for_head(call, self, err);
  if (code) {
    mf_http_call_close(call);
    return code;
  }
  *ret = call;
  return MF_OK;
}

int mf_http_call_status(const struct mf_http_call *call)
{
  return call->status;
}

struct mf_str mf_http_call_header(const struct mf_http_call *call, const char *name)
{
  for (size_t i = 0; i < call->field_n; i++)
    if (name_is(call->headers[i].name, name))
      return call->headers[i].value;
  return (struct mf_str){ 0 };
}

size_t mf_http_call_headers(const struct mf_http_call *call, const struct mf_http_header **ret)
{
  *ret = call->headers;
  return call->field_n;
}

/* What arrived becomes what is given; what was given makes room. */
static void change_places(struct mf_http_call *call)
{
  struct mf_buf b = call->given;
  call->given = call->arriving;
  if (b.cap > KEPT_BYTES) {
    size_t max = b.max;
    mf_buf_done(&b);
    mf_buf_init(&b, max);
  } else {
    mf_buf_truncate(&b, 0);
  }
  call->arriving = b;
}

bool mf_http_call_is_ready(const struct mf_http_call *call)
{
  return call->arriving.len > 0 || call->is_over;
}

enum mf_code mf_http_call_read(struct mf_http_call *call, struct mf_fiber *self, struct mf_str *ret, struct mf_err *err)
{
  uint64_t since_ns = call->idle_ns ? mf_now_ns() : 0;
  while (!mf_http_call_is_ready(call)) {
    enum mf_code code = wait_for_more(call, self, since_ns);
    if (code)
      return fail_wait(call, code, err);
  }
  change_places(call);
  if (call->is_paused) {
    call->is_paused = false;
    /* Calls on_body at once with what libcurl holds. */
    CURLcode result = call->client->curl->easy_pause(call->easy, CURLPAUSE_CONT);
    if (result != CURLE_OK)
      mf_http_call_finished(call, result);
  }
  if (call->given.len == 0 && call->code)
    return fail_over(call, err);
  *ret = mf_buf_str(&call->given);
  return MF_OK;
}

enum mf_code mf_http_call_read_all(struct mf_http_call *call, struct mf_fiber *self, size_t max, struct mf_buf *ret,
                                   struct mf_err *err)
{
  mf_buf_init(ret, max);
  for (;;) {
    struct mf_str piece;
    enum mf_code code = mf_http_call_read(call, self, &piece, err);
    if (code || piece.len == 0)
      return code;
    if (mf_buf_append_str(ret, piece))
      return mf_fail(err, MF_E_LIMIT, 0, "the response's body exceeded %zu bytes", max);
  }
}

void mf_http_call_close(struct mf_http_call *call)
{
  if (!call)
    return;
  assert(!call->waiter);
  struct mf_http_client *c = call->client;
  /* Of a transfer that is under way this closes the connection. Harmless for one that was never added. */
  c->curl->multi_remove_handle(c->multi, call->easy);
  release_easy(c, call->easy);
  c->curl->slist_free_all(call->header_list);
  mf_buf_done(&call->head);
  mf_buf_done(&call->arriving);
  mf_buf_done(&call->given);
  free(call->fields);
  free(call->headers);
  free(call->body);
  c->call_n--;
  free(call);
}

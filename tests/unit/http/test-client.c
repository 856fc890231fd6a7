/* The client against a server of blocking threads (peer.c). Nothing here measures how long something takes. */
#include "unit.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/time.h"
#include "http/client.h"
#include "peer.h"
#include "base/banned.h"

struct fixture {
  struct mf_loop *loop;
  struct mf_http_client *client;
  struct peer *peer;
  struct mf_fiber *fiber; /* the one that others cancel, */
  sem_t *when;            /* after this */
  sem_t has_read;
  unsigned live;
};

static int set_up(void **state)
{
  struct fixture *f = mf_xcalloc(1, sizeof(*f));
  *state = f;
  f->peer = peer_new();
  sem_init(&f->has_read, 0, 0);
  return mf_loop_new(&f->loop, NULL) || mf_http_client_new(f->loop, &f->client, NULL) ? -1 : 0;
}

static int tear_down(void **state)
{
  struct fixture *f = *state;
  /* A failed assertion left a fiber, and the loop inside its run; taking them down would hide the message. */
  if (f->live > 0)
    return 0;
  mf_http_client_free(f->client); /* closes the idle connections, which the peer's threads wait for */
  peer_free(f->peer);
  mf_loop_free(f->loop);
  sem_destroy(&f->has_read);
  free(f);
  return 0;
}

static void start(struct fixture *f, mf_fiber_fn *fn, struct mf_fiber **ret)
{
  struct mf_err err = { 0 };
  f->live++;
  assert_ok(mf_fiber_start(f->loop, fn, f, 0, ret, &err), &err);
}

static void end(struct fixture *f)
{
  if (--f->live == 0)
    mf_loop_stop(f->loop);
}

static void run(struct fixture *f)
{
  struct mf_err err = { 0 };
  assert_ok(mf_loop_run(f->loop, &err), &err);
}

/* Runs fn in a fiber until it calls end. */
static void run_fiber(void **state, mf_fiber_fn *fn)
{
  struct fixture *f = *state;
  start(f, fn, NULL);
  run(f);
}

/* Waits for another thread without holding the loop. */
static void wait_for(struct fixture *f, sem_t *sem)
{
  struct mf_fiber *self = mf_fiber_self(f->loop);
  mf_fiber_shield(self);
  while (sem_trywait(sem))
    assert_int_equal(mf_fiber_sleep(self, MF_NS_PER_MS), MF_OK);
  mf_fiber_unshield(self);
}

static enum mf_code open_request(struct fixture *f, struct mf_http_request req, const char *path,
                                 struct mf_http_call **ret, struct mf_err *err)
{
  char url[100];
  snprintf(url, sizeof(url), "http://127.0.0.1:%u%s", f->peer->port, path);
  req.url = url;
  return mf_http_call_open(f->client, mf_fiber_self(f->loop), &req, ret, err);
}

static struct mf_http_call *must_open(struct fixture *f, struct mf_http_request req, const char *path)
{
  struct mf_http_call *call = NULL;
  struct mf_err err = { 0 };
  assert_ok(open_request(f, req, path, &call, &err), &err);
  return call;
}

static struct mf_http_call *get(struct fixture *f, const char *path)
{
  return must_open(f, (struct mf_http_request){ .method = "GET" }, path);
}

static void expect_body(struct fixture *f, struct mf_http_call *call, const char *want)
{
  mf_auto_buf struct mf_buf body;
  struct mf_err err = { 0 };
  assert_ok(mf_http_call_read_all(call, mf_fiber_self(f->loop), 1000, &body, &err), &err);
  assert_string_equal(body.ptr, want);
  /* The end stays the end. */
  struct mf_str piece;
  assert_ok(mf_http_call_read(call, mf_fiber_self(f->loop), &piece, &err), &err);
  assert_int_equal(piece.len, 0);
}

static void expect_header(struct mf_http_call *call, const char *name, const char *want)
{
  struct mf_str value = mf_http_call_header(call, name);
  if (!want) {
    assert_null(value.ptr);
    return;
  }
  assert_non_null(value.ptr);
  if (!mf_str_is(value, want))
    fail_msg("%s is '%.*s', not '%s'", name, MF_STR_ARG(value), want);
}

/* ---- responses ---- */

static void fiber_lengths(void *user)
{
  struct fixture *f = user;
  static const struct {
    const char *path;
    int status;
    const char *body;
  } rows[] = {
    { "/length", 200, "hello" },     { "/chunked", 200, "hello" }, { "/until-close", 200, "hello" },
    { "/empty", 204, "" },           { "/early", 200, "ok" },      { "/redirect", 302, "else" },
    { "/encoded", 200, "not gzip" }, { "/unknown", 404, "" },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    struct mf_http_call *call = get(f, rows[i].path);
    assert_int_equal(mf_http_call_status(call), rows[i].status);
    expect_body(f, call, rows[i].body);
    mf_http_call_close(call);
  }
  struct mf_http_call *call = must_open(f, (struct mf_http_request){ .method = "HEAD" }, "/head");
  expect_header(call, "content-length", "1000");
  expect_body(f, call, "");
  mf_http_call_close(call);
  mf_http_call_close(NULL);
  end(f);
}

static void every_way_to_end_a_body(void **state)
{
  run_fiber(state, fiber_lengths);
}

static void fiber_headers(void *user)
{
  struct fixture *f = user;
  struct mf_http_call *call = get(f, "/length");
  expect_header(call, "x-one", "1");
  expect_header(call, "X-ONE", "1");
  expect_header(call, "x-empty", "");
  expect_header(call, "X-Two", "two words");
  expect_header(call, "X-Three", NULL);
  expect_header(call, "", NULL);
  const struct mf_http_header *all;
  assert_int_equal(mf_http_call_headers(call, &all), 4);
  assert_true(mf_str_is(all[0].name, "Content-Length") && mf_str_is(all[0].value, "5"));
  assert_true(mf_str_is(all[2].name, "x-empty") && all[2].value.len == 0);
  mf_http_call_close(call);

  /* Of several heads the last counts; trailers are no headers. */
  call = get(f, "/early");
  expect_header(call, "link", NULL);
  expect_header(call, "x-last", "yes");
  mf_http_call_close(call);
  call = get(f, "/chunked");
  expect_body(f, call, "hello");
  expect_header(call, "x-trailer", NULL);
  mf_http_call_close(call);
  call = get(f, "/folded");
  expect_header(call, "x-folded", "one two three");
  mf_http_call_close(call);
  end(f);
}

static void response_headers(void **state)
{
  run_fiber(state, fiber_headers);
}

static void expect_failure(struct fixture *f, struct mf_http_request req, const char *path, enum mf_code want)
{
  struct mf_http_call *call = NULL;
  struct mf_err err = { 0 };
  enum mf_code code = open_request(f, req, path, &call, &err);
  if (code != want)
    fail_msg("%s: %s (%s), not %s", path, mf_code_name(code), err.msg, mf_code_name(want));
  assert_null(call);
  assert_int_equal(err.code, want);
  assert_true(err.msg[0] != 0);
}

static void fiber_bad_heads(void *user)
{
  struct fixture *f = user;
  struct mf_http_request req = { 0 };
  expect_failure(f, req, "/nothing", MF_E_GONE);
  expect_failure(f, req, "/reset", MF_E_GONE);
  expect_failure(f, req, "/cut-head", MF_E_GONE);
  expect_failure(f, req, "/not-http", MF_E_GONE);
  expect_failure(f, req, "/many-fields", MF_E_LIMIT);
  expect_failure(f, req, "/huge-head", MF_E_LIMIT);
  /* And the client is as good as before. */
  struct mf_http_call *call = get(f, "/length");
  expect_body(f, call, "hello");
  mf_http_call_close(call);
  end(f);
}

static void a_bad_head_is_an_error(void **state)
{
  run_fiber(state, fiber_bad_heads);
}

/* What came before the cut is given out; then, and from then on, the error. */
static void fiber_cut(void *user)
{
  struct fixture *f = user;
  struct mf_fiber *self = mf_fiber_self(f->loop);
  static const struct {
    const char *path, *before;
  } rows[] = { { "/cut", "hello" }, { "/cut-chunked", "hellowor" } };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    struct mf_http_call *call = get(f, rows[i].path);
    mf_auto_buf struct mf_buf body;
    struct mf_err err = { 0 };
    assert_int_equal(mf_http_call_read_all(call, self, 1000, &body, &err), MF_E_GONE);
    assert_string_equal(body.ptr, rows[i].before);
    assert_true(err.msg[0] != 0);
    struct mf_str piece;
    assert_int_equal(mf_http_call_read(call, self, &piece, NULL), MF_E_GONE);
    mf_http_call_close(call);
  }
  end(f);
}

static void a_body_that_is_cut(void **state)
{
  run_fiber(state, fiber_cut);
}

static void fiber_pieces(void *user)
{
  struct fixture *f = user;
  struct mf_fiber *self = mf_fiber_self(f->loop);
  struct mf_http_call *call = get(f, "/gate");
  struct mf_str piece;
  struct mf_err err = { 0 };
  assert_ok(mf_http_call_read(call, self, &piece, &err), &err);
  assert_true(mf_str_is(piece, "a")); /* before the rest exists */
  sem_post(&f->peer->gate);
  assert_ok(mf_http_call_read(call, self, &piece, &err), &err);
  assert_true(mf_str_is(piece, "b"));
  assert_ok(mf_http_call_read(call, self, &piece, &err), &err);
  assert_int_equal(piece.len, 0);
  mf_http_call_close(call);
  end(f);
}

static void pieces_come_as_they_are_sent(void **state)
{
  run_fiber(state, fiber_pieces);
}

static void fiber_limit(void *user)
{
  struct fixture *f = user;
  struct mf_http_call *call = get(f, "/length");
  mf_auto_buf struct mf_buf body;
  struct mf_err err = { 0 };
  assert_int_equal(mf_http_call_read_all(call, mf_fiber_self(f->loop), 4, &body, &err), MF_E_LIMIT);
  assert_string_equal(err.msg, "the response's body exceeded 4 bytes");
  mf_http_call_close(call);
  end(f);
}

static void a_body_over_the_limit(void **state)
{
  run_fiber(state, fiber_limit);
}

/* ---- requests ---- */

static void expect_echo(struct fixture *f, struct mf_http_request req, struct mf_buf *ret)
{
  struct mf_http_call *call = must_open(f, req, "/echo?q=1");
  struct mf_err err = { 0 };
  assert_ok(mf_http_call_read_all(call, mf_fiber_self(f->loop), 4 * 1024 * 1024, ret, &err), &err);
  mf_http_call_close(call);
}

static void fiber_requests(void *user)
{
  struct fixture *f = user;
  char host[64];
  snprintf(host, sizeof(host), "\r\nHost: 127.0.0.1:%u\r\n", f->peer->port);
  struct mf_buf echo;
  expect_echo(f, (struct mf_http_request){ 0 }, &echo);
  assert_int_equal(strncmp(echo.ptr, "GET /echo?q=1 HTTP/1.1\r\n", 24), 0);
  assert_non_null(strstr(echo.ptr, host));
  assert_non_null(strstr(echo.ptr, "\r\nAccept-Encoding: identity\r\n"));
  assert_null(strcasestr(echo.ptr, "content-length"));
  assert_null(strcasestr(echo.ptr, "user-agent"));
  mf_buf_done(&echo);

  const struct mf_http_header headers[] = {
    { MF_STR("Authorization"), MF_STR("Bearer x: y") },
    { MF_STR("X-Empty"), MF_STR("") },
    { MF_STR("content-type"), MF_STR("application/json") },
    { MF_STR("Content-Length"), MF_STR("77") },
    { MF_STR("transfer-encoding"), MF_STR("chunked") },
    { MF_STR("Expect"), MF_STR("100-continue") },
    { MF_STR("Connection"), MF_STR("close") },
    { MF_STR("Accept-Encoding"), MF_STR("br") },
  };
  expect_echo(f,
              (struct mf_http_request){
                  .method = "POST", .headers = headers, .header_n = MF_ARRAY_N(headers), .body = MF_STR("{\"a\":1}") },
              &echo);
  assert_int_equal(strncmp(echo.ptr, "POST /echo?q=1 HTTP/1.1\r\n", 25), 0);
  assert_non_null(strstr(echo.ptr, "\r\nAuthorization: Bearer x: y\r\n"));
  assert_non_null(strstr(echo.ptr, "\r\nX-Empty:\r\n"));
  assert_non_null(strstr(echo.ptr, "\r\ncontent-type: application/json\r\n"));
  assert_non_null(strstr(echo.ptr, "\r\nContent-Length: 7\r\n"));
  assert_non_null(strstr(echo.ptr, "\r\nAccept-Encoding: br\r\n"));
  assert_null(strstr(echo.ptr, "identity"));
  assert_null(strcasestr(echo.ptr, "transfer-encoding"));
  assert_null(strcasestr(echo.ptr, "expect"));
  assert_null(strcasestr(echo.ptr, "connection"));
  assert_non_null(strstr(echo.ptr, "\r\n\r\n{\"a\":1}"));
  mf_buf_done(&echo);
  end(f);
}

static void what_is_sent(void **state)
{
  run_fiber(state, fiber_requests);
}

static void fiber_methods(void *user)
{
  struct fixture *f = user;
  static const struct {
    const char *method, *body, *want_length;
  } rows[] = {
    { "DELETE", "", NULL },
    { "DELETE", "x", "\r\nContent-Length: 1\r\n" },
    { "POST", "", "\r\nContent-Length: 0\r\n" },
    { "PUT", "xy", "\r\nContent-Length: 2\r\n" },
    { "GET", "xyz", "\r\nContent-Length: 3\r\n" },
    { "OPTIONS", "", NULL },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    struct mf_buf echo;
    expect_echo(f, (struct mf_http_request){ .method = rows[i].method, .body = mf_str_of(rows[i].body) }, &echo);
    assert_int_equal(strncmp(echo.ptr, rows[i].method, strlen(rows[i].method)), 0);
    if (rows[i].want_length)
      assert_non_null(strstr(echo.ptr, rows[i].want_length));
    else
      assert_null(strcasestr(echo.ptr, "content-length"));
    assert_null(strcasestr(echo.ptr, "content-type"));
    const char *body = strstr(echo.ptr, "\r\n\r\n") + 4;
    assert_string_equal(body, rows[i].body);
    mf_buf_done(&echo);
  }
  end(f);
}

static void methods(void **state)
{
  run_fiber(state, fiber_methods);
}

static void fiber_large_body(void *user)
{
  struct fixture *f = user;
  enum { N = 3 * 1024 * 1024 };
  char *body = mf_xmalloc(N);
  for (size_t i = 0; i < N; i++)
    body[i] = (char)(i * 7 + i / 1000);
  struct mf_buf echo;
  /* The caller's bytes are copied. */
  struct mf_http_request req = { .method = "POST", .body = { body, N } };
  expect_echo(f, req, &echo);
  assert_true(echo.len > N);
  assert_memory_equal(echo.ptr + echo.len - N, body, N);
  mf_buf_done(&echo);
  free(body);
  end(f);
}

static void a_large_body(void **state)
{
  run_fiber(state, fiber_large_body);
}

static void fiber_impossible(void *user)
{
  struct fixture *f = user;
  struct mf_fiber *self = mf_fiber_self(f->loop);
  static const struct mf_http_header bad[] = {
    { { "X", 1 }, { "a\r\nY: b", 7 } }, { { "X", 1 }, { "a\0b", 3 } }, { { "", 0 }, { "a", 1 } },
    { { "X Y", 3 }, { "a", 1 } },       { { "X:", 2 }, { "a", 1 } },   { { "X\n", 2 }, { "a", 1 } },
  };
  for (size_t i = 0; i < MF_ARRAY_N(bad); i++)
    expect_failure(f, (struct mf_http_request){ .headers = &bad[i], .header_n = 1 }, "/length", MF_E_INPUT);
  static const char *const methods_bad[] = { "", "GE T", "GET\r\n", "G\xc3\xa9T" };
  for (size_t i = 0; i < MF_ARRAY_N(methods_bad); i++)
    expect_failure(f, (struct mf_http_request){ .method = methods_bad[i] }, "/length", MF_E_INPUT);
  static const char *const urls[] = { NULL,
                                      "",
                                      "http://",
                                      "ftp://127.0.0.1/",
                                      "file:///etc/passwd",
                                      "http://[::1/x",
                                      "http://a b/",
                                      "http://127.0.0.1:99999/",
                                      "gopher://x/" };
  for (size_t i = 0; i < MF_ARRAY_N(urls); i++) {
    struct mf_http_call *call = NULL;
    struct mf_err err = { 0 };
    enum mf_code code = mf_http_call_open(f->client, self, &(struct mf_http_request){ .url = urls[i] }, &call, &err);
    if (code != MF_E_INPUT)
      fail_msg("%s: %s (%s)", urls[i] ? urls[i] : "NULL", mf_code_name(code), err.msg);
  }
  assert_int_equal(atomic_load(&f->peer->accepted), 0);
  end(f);
}

static void what_cannot_be_sent(void **state)
{
  run_fiber(state, fiber_impossible);
}

/* ---- connections ---- */

static void fiber_reuse(void *user)
{
  struct fixture *f = user;
  for (int i = 0; i < 5; i++) {
    struct mf_http_call *call = get(f, i % 2 ? "/chunked" : "/length");
    expect_body(f, call, "hello");
    mf_http_call_close(call);
  }
  assert_int_equal(atomic_load(&f->peer->accepted), 1);
  /* A body that was not read to its end, but has come, does no harm; one that has not costs the connection. */
  struct mf_http_call *call = get(f, "/hang-body");
  mf_http_call_close(call);
  wait_for(f, &f->peer->dropped);
  call = get(f, "/length");
  mf_http_call_close(call);
  assert_int_equal(atomic_load(&f->peer->accepted), 2);
  end(f);
}

static void connections_are_used_again(void **state)
{
  run_fiber(state, fiber_reuse);
}

static void fiber_liar(void *user)
{
  struct fixture *f = user;
  for (int i = 0; i < 20; i++) {
    struct mf_http_call *call = get(f, "/liar");
    expect_body(f, call, "hello");
    mf_http_call_close(call);
  }
  end(f);
}

static void a_kept_connection_that_was_closed(void **state)
{
  struct fixture *f = *state;
  run_fiber(state, fiber_liar);
  assert_int_equal(atomic_load(&f->peer->asked), 20);
}

static void fiber_refused(void *user)
{
  struct fixture *f = user;
  /* A port that was free a moment ago. */
  mf_auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  socklen_t n = sizeof(addr);
  assert_int_equal(bind(fd, (struct sockaddr *)&addr, n), 0);
  assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &n), 0);
  char url[100];
  snprintf(url, sizeof(url), "http://127.0.0.1:%u/", ntohs(addr.sin_port));
  struct mf_http_call *call = NULL;
  struct mf_err err = { 0 };
  struct mf_http_request req = { .url = url };
  assert_int_equal(mf_http_call_open(f->client, mf_fiber_self(f->loop), &req, &call, &err), MF_E_GONE);
  assert_non_null(strcasestr(err.msg, "connect"));
  /* Nor does a server that speaks no TLS answer https. */
  snprintf(url, sizeof(url), "https://127.0.0.1:%u/length", f->peer->port);
  assert_int_equal(mf_http_call_open(f->client, mf_fiber_self(f->loop), &req, &call, &err), MF_E_GONE);
  assert_null(call);
  end(f);
}

static void refused(void **state)
{
  run_fiber(state, fiber_refused);
}

/* A server that never accepts: its queue is full, and the kernel leaves further connections unanswered. */
static void fiber_connect_timeout(void *user)
{
  struct fixture *f = user;
  mf_auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  socklen_t n = sizeof(addr);
  assert_int_equal(bind(fd, (struct sockaddr *)&addr, n), 0);
  assert_int_equal(listen(fd, 0), 0);
  assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &n), 0);
  int fillers[8];
  for (size_t i = 0; i < MF_ARRAY_N(fillers); i++) {
    fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    (void)!connect(fillers[i], (struct sockaddr *)&addr, n);
  }
  char url[100];
  snprintf(url, sizeof(url), "http://127.0.0.1:%u/", ntohs(addr.sin_port));
  struct mf_http_call *call = NULL;
  struct mf_err err = { 0 };
  struct mf_http_request req = { .url = url, .connect_ms = 50 };
  assert_int_equal(mf_http_call_open(f->client, mf_fiber_self(f->loop), &req, &call, &err), MF_E_TIMEOUT);
  assert_true(err.msg[0] != 0);
  for (size_t i = 0; i < MF_ARRAY_N(fillers); i++)
    close(fillers[i]);
  end(f);
}

static void a_connection_that_is_not_answered(void **state)
{
  run_fiber(state, fiber_connect_timeout);
}

static void proxies_of_the_environment_are_ignored(void **state)
{
  setenv("http_proxy", "http://127.0.0.1:1", 1);
  setenv("all_proxy", "http://127.0.0.1:1", 1);
  run_fiber(state, fiber_liar);
  unsetenv("http_proxy");
  unsetenv("all_proxy");
}

/* ---- silence ---- */

static void fiber_silence(void *user)
{
  struct fixture *f = user;
  struct mf_fiber *self = mf_fiber_self(f->loop);
  expect_failure(f, (struct mf_http_request){ .idle_ms = 30 }, "/hang", MF_E_TIMEOUT);
  wait_for(f, &f->peer->dropped);
  expect_failure(f, (struct mf_http_request){ .method = "POST", .body = MF_STR("{}"), .idle_ms = 30 }, "/hang",
                 MF_E_TIMEOUT);
  wait_for(f, &f->peer->dropped);

  struct mf_http_call *call = must_open(f, (struct mf_http_request){ .idle_ms = 200 }, "/hang-body");
  mf_auto_buf struct mf_buf body;
  struct mf_err err = { 0 };
  assert_int_equal(mf_http_call_read_all(call, self, 1000, &body, &err), MF_E_TIMEOUT);
  assert_string_equal(body.ptr, "abc");
  assert_string_equal(err.msg, "the server was silent for 200 ms");
  mf_http_call_close(call);
  wait_for(f, &f->peer->dropped);

  /* A reader that comes late is not the server's silence. */
  call = must_open(f, (struct mf_http_request){ .idle_ms = 1000 }, "/length");
  assert_int_equal(mf_fiber_sleep(self, 5 * MF_NS_PER_MS), MF_OK);
  expect_body(f, call, "hello");
  mf_http_call_close(call);
  end(f);
}

static void silence_has_an_end(void **state)
{
  run_fiber(state, fiber_silence);
}

/* ---- back-pressure ---- */

static void fiber_slow_reader(void *user)
{
  struct fixture *f = user;
  struct mf_fiber *self = mf_fiber_self(f->loop);
  struct mf_http_call *call = get(f, "/big");
  /* Nobody reads: the server gets stuck. Only the kernel's buffers and ours took something. */
  wait_for(f, &f->peer->big_stalled);
  assert_true(atomic_load(&f->peer->big_sent) < PEER_BIG_BYTES / 2);

  uint64_t at = 0;
  for (;;) {
    struct mf_str piece;
    struct mf_err err = { 0 };
    assert_ok(mf_http_call_read(call, self, &piece, &err), &err);
    if (piece.len == 0)
      break;
    assert_true(piece.len <= 256 * 1024);
    for (size_t i = 0; i < piece.len; i++, at++)
      if (piece.ptr[i] != peer_big_byte(at))
        fail_msg("byte %llu is wrong", (unsigned long long)at);
    if (at / (4 << 20) != (at - piece.len) / (4 << 20))
      assert_int_equal(mf_fiber_sleep(self, MF_NS_PER_MS), MF_OK);
  }
  assert_int_equal(at, PEER_BIG_BYTES);
  mf_http_call_close(call);

  /* The connection was not harmed by the pauses. */
  call = get(f, "/length");
  expect_body(f, call, "hello");
  mf_http_call_close(call);
  assert_int_equal(atomic_load(&f->peer->accepted), 1);

  /* One that is paused can be closed. */
  call = get(f, "/big");
  wait_for(f, &f->peer->big_stalled);
  mf_http_call_close(call);
  end(f);
}

static void a_slow_reader_stops_the_server(void **state)
{
  run_fiber(state, fiber_slow_reader);
}

/* ---- cancelling ---- */

static void fiber_cancelled_before_head(void *user)
{
  struct fixture *f = user;
  expect_failure(f, (struct mf_http_request){ .idle_ms = 600000 }, "/hang", MF_E_CANCELLED);
  wait_for(f, &f->peer->dropped); /* at once, though the fiber goes on */
  unsigned asked = atomic_load(&f->peer->asked);
  expect_failure(f, (struct mf_http_request){ 0 }, "/length", MF_E_CANCELLED);
  assert_int_equal(atomic_load(&f->peer->asked), asked); /* nothing was sent */
  end(f);
}

static void fiber_cancelled_in_body(void *user)
{
  struct fixture *f = user;
  struct mf_fiber *self = mf_fiber_self(f->loop);
  struct mf_http_call *call = get(f, "/hang-body");
  struct mf_str piece;
  struct mf_err err = { 0 };
  assert_ok(mf_http_call_read(call, self, &piece, &err), &err);
  assert_true(mf_str_is(piece, "abc"));
  sem_post(&f->has_read);
  assert_int_equal(mf_http_call_read(call, self, &piece, &err), MF_E_CANCELLED);
  mf_http_call_close(call);
  wait_for(f, &f->peer->dropped);
  end(f);
}

static void fiber_cancels(void *user)
{
  struct fixture *f = user;
  wait_for(f, f->when);
  mf_fiber_cancel(f->fiber);
  end(f);
}

static void cancelling_closes_the_connection(void **state)
{
  struct fixture *f = *state;
  mf_fiber_fn *const fns[] = { fiber_cancelled_before_head, fiber_cancelled_in_body };
  sem_t *const when[] = { &f->peer->arrived, &f->has_read };
  for (size_t i = 0; i < MF_ARRAY_N(fns); i++) {
    f->when = when[i];
    start(f, fns[i], &f->fiber);
    start(f, fiber_cancels, NULL);
    run(f);
    mf_fiber_detach(f->fiber);
  }
}

/* ---- many ---- */

static void fiber_one_of_many(void *user)
{
  struct fixture *f = user;
  for (int i = 0; i < 5; i++) {
    struct mf_http_call *call = get(f, i % 2 ? "/chunked" : "/length");
    expect_body(f, call, "hello");
    mf_http_call_close(call);
  }
  end(f);
}

static void many_at_a_time(void **state)
{
  struct fixture *f = *state;
  for (int i = 0; i < 100; i++)
    start(f, fiber_one_of_many, NULL);
  run(f);
  assert_int_equal(atomic_load(&f->peer->asked), 500);
  assert_true(atomic_load(&f->peer->accepted) <= 100);
}

/* ---- a Unix socket ---- */

static void answer_peer(void *user, struct mf_http_exchange *x, struct mf_fiber *self)
{
  mf_auto_free char *text = mf_xasprintf("%s %.*s", mf_http_peer(x), MF_STR_ARG(mf_http_header(x, "host")));
  assert_int_equal(mf_http_respond(x, 200, NULL, 0, mf_str_of(text), NULL), MF_OK);
}

static void on_server_stopped(void *user)
{
  end(user);
}

static void fiber_unix_socket(void *user)
{
  struct fixture *f = user;
  struct mf_http_server *server = NULL;
  struct mf_err err = { 0 };
  char folder[] = "/tmp/mf-client-XXXXXX";
  assert_non_null(mkdtemp(folder));
  mf_auto_free char *path = mf_xasprintf("%s/s.sock", folder);
  const struct mf_http_server_config config = { .unix_path = path, .own_user_only = true };
  assert_ok(mf_http_server_new(f->loop, &config, answer_peer, f, &server, &err), &err);
  const struct mf_http_request req = { .url = "http://localhost/", .unix_path = path };
  for (unsigned i = 0; i < 2; i++) {
    struct mf_http_call *call = NULL;
    assert_ok(mf_http_call_open(f->client, mf_fiber_self(f->loop), &req, &call, &err), &err);
    expect_body(f, call, "unix localhost");
    mf_http_call_close(call);
  }
  assert_int_equal(mf_http_server_stats(server).connections, 1);

  f->live++;
  mf_http_server_stop(server, mf_now_ns(), on_server_stopped, f);
  while (f->live > 1)
    assert_int_equal(mf_fiber_sleep(mf_fiber_self(f->loop), MF_NS_PER_MS), MF_OK);
  mf_http_server_free(server);
  struct mf_http_call *call = NULL;
  assert_int_equal(mf_http_call_open(f->client, mf_fiber_self(f->loop), &req, &call, &err), MF_E_GONE);
  assert_int_equal(rmdir(folder), 0); /* the server has removed its file */
  end(f);
}

static void a_unix_socket(void **state)
{
  run_fiber(state, fiber_unix_socket);
}

static void a_client_that_was_never_used(void **state)
{
  mf_http_client_free(NULL);
}

#define CLIENT_TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
  const struct CMUnitTest tests[] = {
    CLIENT_TEST(every_way_to_end_a_body),
    CLIENT_TEST(response_headers),
    CLIENT_TEST(a_bad_head_is_an_error),
    CLIENT_TEST(a_body_that_is_cut),
    CLIENT_TEST(pieces_come_as_they_are_sent),
    CLIENT_TEST(a_body_over_the_limit),
    CLIENT_TEST(what_is_sent),
    CLIENT_TEST(methods),
    CLIENT_TEST(a_large_body),
    CLIENT_TEST(what_cannot_be_sent),
    CLIENT_TEST(connections_are_used_again),
    CLIENT_TEST(a_kept_connection_that_was_closed),
    CLIENT_TEST(refused),
    CLIENT_TEST(a_connection_that_is_not_answered),
    CLIENT_TEST(proxies_of_the_environment_are_ignored),
    CLIENT_TEST(silence_has_an_end),
    CLIENT_TEST(a_slow_reader_stops_the_server),
    CLIENT_TEST(cancelling_closes_the_connection),
    CLIENT_TEST(many_at_a_time),
    CLIENT_TEST(a_unix_socket),
    CLIENT_TEST(a_client_that_was_never_used),
  };
  return cmocka_run_group_tests_name("http/client", tests, NULL, NULL);
}

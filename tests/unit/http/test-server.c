/* The server's door: what a handler sees and may do. The client is a thread with a plain blocking socket; it gathers,
 * and the test's own thread, which is the loop's, judges. What a client can do wrong is in
 * tests/integration/http-torture.py. */
#include "unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/time.h"
#include "http/server.h"
#include "loop/loop.h"
#include "loop/work.h"
#include "base/banned.h"

enum { GOT_MAX = 4 << 20, LONG_MS = 60000 };

struct fixture {
  struct mf_loop *loop;
  struct mf_http_server *server;
  mf_http_handler *handler;
  /* What the handler saw. */
  enum mf_code codes[8];
  unsigned code_n, calls, stopped_n;
  char text[256];
  /* The client: sends `send`, then reads until the end, or leaves when `leaves`, once `may_leave` was posted. */
  pthread_t thread;
  struct mf_str send;
  bool leaves, client_is_done;
  int leave_pipe[2];
  uint16_t port;
  struct mf_buf got;
};

static void handle(void *user, struct mf_http_exchange *x, struct mf_fiber *self)
{
  struct fixture *f = user;
  f->calls++;
  f->handler(f, x, self);
}

static void saw(struct fixture *f, enum mf_code code)
{
  assert_true(f->code_n < MF_ARRAY_N(f->codes));
  f->codes[f->code_n++] = code;
}

/* ---- the client ---- */

static void on_client_done(void *user)
{
  struct fixture *f = user;
  f->client_is_done = true;
  mf_loop_stop(f->loop);
}

static int connect_to(uint16_t port)
{
  struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = { htonl(INADDR_LOOPBACK) } };
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct timeval patience = { .tv_sec = 30 };
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof(a)))
    mf_close_ptr(&fd);
  return fd;
}

static void *client(void *user)
{
  struct fixture *f = user;
  mf_auto_close int fd = connect_to(f->port);
  if (mf_write_all(fd, f->send.ptr, f->send.len, NULL) == MF_OK) {
    char piece[4096];
    ssize_t n = 1;
    if (f->leaves)
      n = read(f->leave_pipe[0], piece, 1) - 1;
    while (n > 0 && (n = read(fd, piece, sizeof(piece))) > 0)
      if (mf_buf_append(&f->got, piece, (size_t)n))
        break;
  }
  mf_close_ptr(&fd);
  mf_mailbox_post(f->loop, on_client_done, f);
  return NULL;
}

static void may_leave(struct fixture *f)
{
  assert_int_equal(write(f->leave_pipe[1], "x", 1), 1);
}

/* ---- life ---- */

static int set_up(void **state)
{
  struct fixture *f = mf_xcalloc(1, sizeof(*f));
  *state = f;
  mf_buf_init(&f->got, GOT_MAX);
  return mf_loop_new(&f->loop, NULL) ? -1 : pipe(f->leave_pipe);
}

static void on_stopped(void *user)
{
  struct fixture *f = user;
  f->stopped_n++;
  mf_loop_stop(f->loop);
}

static void stop(struct fixture *f)
{
  mf_http_server_stop(f->server, mf_now_ns() + 30 * MF_NS_PER_S, on_stopped, f);
  while (!f->stopped_n)
    assert_ok(mf_loop_run(f->loop, NULL), &(struct mf_err){ .msg = "run" });
  mf_http_server_free(f->server);
  f->server = NULL;
}

static int tear_down(void **state)
{
  struct fixture *f = *state;
  if (f->server)
    stop(f);
  close(f->leave_pipe[0]);
  close(f->leave_pipe[1]);
  mf_buf_done(&f->got);
  mf_loop_free(f->loop);
  free(f);
  return 0;
}

static void start_server(struct fixture *f, struct mf_http_server_config config, mf_http_handler *handler)
{
  struct mf_err err = { 0 };
  if (!config.unix_path)
    config.host = "127.0.0.1";
  f->handler = handler;
  assert_ok(mf_http_server_new(f->loop, &config, handle, f, &f->server, &err), &err);
  f->port = mf_http_server_port(f->server);
  assert_int_not_equal(f->port, 0);
}

/* Serves one client to its end, and until no handler runs. */
static void serve(struct fixture *f, const char *request)
{
  f->send = mf_str_of(request);
  f->client_is_done = false;
  mf_buf_truncate(&f->got, 0);
  assert_int_equal(pthread_create(&f->thread, NULL, client, f), 0);
  while (!f->client_is_done)
    assert_ok(mf_loop_run(f->loop, NULL), &(struct mf_err){ .msg = "run" });
  pthread_join(f->thread, NULL);
}

static bool got(const struct fixture *f, const char *part)
{
  return memmem(f->got.ptr, f->got.len, part, strlen(part)) != NULL;
}

static void assert_got(const struct fixture *f, const char *part)
{
  if (!got(f, part))
    fail_msg("no '%s' in: %.*s", part, (int)MF_MIN(f->got.len, (size_t)2000), f->got.ptr);
}

#define CLOSE_HEAD " / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"

/* ---- answers ---- */

static void answer_wrongly(void *user, struct mf_http_exchange *x, struct mf_fiber *self)
{
  struct fixture *f = user;
  const struct mf_http_header split = { MF_STR("A"), MF_STR("b\r\nSet-Cookie: c") };
  const struct mf_http_header bad_name = { MF_STR("A b"), MF_STR("c") };
  saw(f, mf_http_respond(x, 200, &split, 1, MF_STR("no"), NULL));
  saw(f, mf_http_begin(x, 200, &bad_name, 1, NULL));
  saw(f, mf_http_respond(x, 100, NULL, 0, MF_STR("no"), NULL));
  saw(f, mf_http_write(x, MF_STR("no"), NULL));
  saw(f, mf_http_end(x, NULL));
  assert_false(mf_http_has_begun(x));
  saw(f, mf_http_respond(x, 200, NULL, 0, MF_STR("yes"), NULL));
  assert_true(mf_http_has_begun(x));
  saw(f, mf_http_respond(x, 200, NULL, 0, MF_STR("no"), NULL));
  saw(f, mf_http_write(x, MF_STR("no"), NULL));
}

static void test_wrong_answers_are_refused(void **state)
{
  struct fixture *f = *state;
  start_server(f, (struct mf_http_server_config){ 0 }, answer_wrongly);
  serve(f, "GET" CLOSE_HEAD "\r\n");
  static const enum mf_code expected[] = { MF_E_INPUT,    MF_E_INPUT, MF_E_INPUT,    MF_E_INTERNAL,
                                           MF_E_INTERNAL, MF_OK,      MF_E_INTERNAL, MF_E_INTERNAL };
  assert_memory_equal(f->codes, expected, sizeof(expected));
  assert_got(f, "HTTP/1.1 200 OK\r\n");
  assert_got(f, "Content-Length: 3\r\n");
  assert_got(f, "\r\n\r\nyes");
  assert_false(got(f, "no") || got(f, "Cookie"));
}

static void answer_with_own_framing(void *user, struct mf_http_exchange *x, struct mf_fiber *self)
{
  const struct mf_http_header headers[] = {
    { MF_STR("Content-Length"), MF_STR("999") }, { MF_STR("transfer-encoding"), MF_STR("chunked") },
    { MF_STR("Connection"), MF_STR("close") },   { MF_STR("Date"), MF_STR("yesterday") },
    { MF_STR("X-Kept"), MF_STR("k\xc3\xa9pt") },
  };
  saw(user, mf_http_respond(x, 299, headers, MF_ARRAY_N(headers), MF_STR("body"), NULL));
}

static void test_framing_is_the_servers(void **state)
{
  struct fixture *f = *state;
  start_server(f, (struct mf_http_server_config){ 0 }, answer_with_own_framing);
  serve(f, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); /* ends, because the handler's own close is honoured */
  assert_int_equal(f->codes[0], MF_OK);
  assert_got(f, "HTTP/1.1 299 Unknown\r\n");
  assert_got(f, "Content-Length: 4\r\n");
  assert_got(f, "Connection: close\r\n");
  assert_got(f, "X-Kept: k\xc3\xa9pt\r\n");
  assert_false(got(f, "999") || got(f, "chunked") || got(f, "yesterday"));
}

struct part {
  struct fixture *f;
  struct mf_http_exchange *x;
};

static void write_part(void *user)
{
  struct part *p = user;
  saw(p->f, mf_http_write(p->x, MF_STR("from another fiber"), NULL));
}

static void answer_from_two_fibers(void *user, struct mf_http_exchange *x, struct mf_fiber *self)
{
  struct part part = { user, x };
  struct mf_fiber *other = NULL;
  saw(user, mf_http_begin(x, 200, NULL, 0, NULL));
  saw(user, mf_fiber_start(mf_fiber_loop(self), write_part, &part, 0, &other, NULL));
  mf_fiber_join(self, other);
  saw(user, mf_http_write(x, MF_STR(""), NULL)); /* not the end */
  saw(user, mf_http_write(x, MF_STR("!"), NULL));
  saw(user, mf_http_end(x, NULL));
}

static void test_a_stream_of_two_fibers(void **state)
{
  struct fixture *f = *state;
  start_server(f, (struct mf_http_server_config){ 0 }, answer_from_two_fibers);
  serve(f, "GET" CLOSE_HEAD "\r\n");
  assert_int_equal(f->code_n, 6);
  for (unsigned i = 0; i < f->code_n; i++)
    assert_int_equal(f->codes[i], MF_OK);
  assert_got(f, "Transfer-Encoding: chunked\r\n");
  assert_got(f, "\r\n\r\n12\r\nfrom another fiber\r\n1\r\n!\r\n0\r\n\r\n");
}

/* Five bytes are promised; the method says how many come. */
static void answer_sized(void *user, struct mf_http_exchange *x, struct mf_fiber *self)
{
  saw(user, mf_http_begin_sized(x, 206, NULL, 0, 5, NULL));
  saw(user, mf_http_write(x, MF_STR("abc"), NULL));
  saw(user, mf_http_write(x, MF_STR("def"), NULL)); /* one too many */
  if (!mf_str_is(mf_http_method(x), "PUT"))
    saw(user, mf_http_write(x, MF_STR("de"), NULL));
  saw(user, mf_http_end(x, NULL));
}

static void test_a_stream_with_a_length(void **state)
{
  static const struct {
    const char *request, *end;
    enum mf_code codes[5];
  } rows[] = {
    { "GET", "\r\n\r\nabcde", { MF_OK, MF_OK, MF_E_INTERNAL, MF_OK, MF_OK } },
    { "HEAD", "\r\n\r\n", { MF_OK, MF_OK, MF_OK, MF_OK, MF_OK } },
    { "PUT", "\r\n\r\nabc", { MF_OK, MF_OK, MF_E_INTERNAL, MF_E_INTERNAL } }, /* cut: fewer than its length */
  };
  struct fixture *f = *state;
  start_server(f, (struct mf_http_server_config){ 0 }, answer_sized);
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    char request[100];
    snprintf(request, sizeof(request), "%s" CLOSE_HEAD "\r\n", rows[i].request);
    f->code_n = 0;
    serve(f, request);
    for (unsigned k = 0; k < f->code_n; k++)
      assert_int_equal(f->codes[k], rows[i].codes[k]);
    assert_got(f, "Content-Length: 5\r\n");
    assert_false(got(f, "chunked"));
    size_t n = strlen(rows[i].end);
    assert_true(f->got.len > n);
    assert_string_equal(f->got.ptr + f->got.len - n, rows[i].end);
  }
}

static void answer_much(void *user, struct mf_http_exchange *x, struct mf_fiber *self)
{
  size_t n = 3 << 20;
  char *p = mf_xmalloc(n);
  memset(p, 'y', n);
  saw(user, mf_http_respond(x, 200, NULL, 0, (struct mf_str){ p, n }, NULL));
  free(p);
}

static void test_more_than_the_high_water_mark(void **state)
{
  struct fixture *f = *state;
  start_server(f, (struct mf_http_server_config){ .write_high_bytes = 1000 }, answer_much);
  serve(f, "GET" CLOSE_HEAD "\r\n");
  assert_int_equal(f->codes[0], MF_OK);
  const char *body = memmem(f->got.ptr, f->got.len, "\r\n\r\n", 4);
  assert_non_null(body);
  assert_int_equal(f->got.ptr + f->got.len - (body + 4), 3 << 20);
}

/* ---- requests ---- */

static void look(void *user, struct mf_http_exchange *x, struct mf_fiber *self)
{
  struct fixture *f = user;
  assert_ptr_equal(self, mf_fiber_self(f->loop));
  struct mf_buf body;
  saw(f, mf_http_read_body(x, 100, &body, NULL));
  const struct mf_http_header *headers;
  snprintf(f->text, sizeof(f->text), "%.*s|%.*s|%.*s|%.*s|%zu|%.*s", MF_STR_ARG(mf_http_method(x)),
           MF_STR_ARG(mf_http_path(x)), MF_STR_ARG(mf_http_query(x)), MF_STR_ARG(mf_http_header(x, "x-a")),
           mf_http_headers(x, &headers), MF_STR_ARG(mf_buf_str(&body)));
  mf_buf_done(&body);
  saw(f, strncmp(mf_http_peer(x), "127.0.0.1:", 10) == 0 ? MF_OK : MF_E_INTERNAL);
  saw(f, mf_http_respond(x, 204, NULL, 0, MF_STR("dropped"), NULL));
  struct mf_http_server_stats s = mf_http_server_stats(f->server);
  assert_int_equal(s.connections, 1);
  assert_int_equal(s.requests, 1);
  assert_int_equal(s.total_requests, 1);
}

static void test_a_handler_sees_the_request(void **state)
{
  struct fixture *f = *state;
  start_server(f, (struct mf_http_server_config){ 0 }, look);
  serve(f, "PUT /p?q HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-A: 1\r\nx-a: 2\r\nContent-Length: 5\r\n\r\nhello");
  assert_string_equal(f->text, "PUT|/p|q|1|5|hello");
  assert_int_equal(f->codes[0] | f->codes[1] | f->codes[2], MF_OK);
  assert_got(f, "HTTP/1.1 204 No Content\r\n");
  assert_false(got(f, "dropped") || got(f, "Content-Length"));
}

/* Reads, and leaves the answer to the server. */
static void read_only(void *user, struct mf_http_exchange *x, struct mf_fiber *self)
{
  struct mf_buf body;
  saw(user, mf_http_read_body(x, 8, &body, NULL));
  mf_buf_done(&body);
  char c;
  size_t n;
  if (((struct fixture *)user)->codes[0])
    saw(user, mf_http_read_some(x, &c, 1, &n, NULL)); /* does not pretend that the body has ended */
}

static void test_failed_reads_answer_themselves(void **state)
{
  static const struct {
    const char *request, *status;
    enum mf_code code;
  } cases[] = {
    { "PUT" CLOSE_HEAD "Content-Length: 9\r\n\r\n", "HTTP/1.1 413 ", MF_E_LIMIT },
    { "PUT" CLOSE_HEAD "Transfer-Encoding: chunked\r\n\r\n9\r\n123456789\r\n", "HTTP/1.1 413 ", MF_E_LIMIT },
    { "PUT" CLOSE_HEAD "Transfer-Encoding: chunked\r\n\r\n5\r\nhello!\n", "HTTP/1.1 400 ", MF_E_INPUT },
    { "PUT" CLOSE_HEAD "Content-Length: 5\r\n\r\nhell", "HTTP/1.1 408 ", MF_E_TIMEOUT },
    { "PUT" CLOSE_HEAD "Content-Length: 5\r\n\r\nhello", "HTTP/1.1 500 ", MF_OK },
  };
  struct fixture *f = *state;
  start_server(f, (struct mf_http_server_config){ .body_ms = 50 }, read_only);
  for (size_t i = 0; i < MF_ARRAY_N(cases); i++) {
    f->code_n = 0;
    serve(f, cases[i].request);
    assert_int_equal(f->codes[0], cases[i].code);
    if (cases[i].code)
      assert_int_equal(f->codes[1], MF_E_INPUT);
    assert_got(f, cases[i].status);
    assert_got(f, "Connection: close\r\n");
  }
}

/* ---- a client that leaves ---- */

static void wait_for_leaving(void *user, struct mf_http_exchange *x, struct mf_fiber *self)
{
  struct fixture *f = user;
  may_leave(f);
  saw(f, mf_fiber_sleep(self, LONG_MS * MF_NS_PER_MS));
  saw(f, mf_fiber_wait(self, 0)); /* every wait from now on */
  mf_fiber_shield(self);
  saw(f, mf_fiber_sleep(self, MF_NS_PER_MS)); /* but one that cleans up may wait */
  mf_fiber_unshield(self);
  saw(f, mf_fiber_is_cancelled(self) ? MF_OK : MF_E_INTERNAL);
}

static void read_until_leaving(void *user, struct mf_http_exchange *x, struct mf_fiber *self)
{
  struct fixture *f = user;
  may_leave(f);
  struct mf_buf body;
  saw(f, mf_http_read_body(x, 100, &body, NULL));
  mf_buf_done(&body);
  mf_fiber_shield(self);
  char c;
  size_t n;
  saw(f, mf_http_read_some(x, &c, 1, &n, NULL));
  mf_fiber_unshield(self);
}

static void write_until_leaving(void *user, struct mf_http_exchange *x, struct mf_fiber *self)
{
  struct fixture *f = user;
  static const char block[4096];
  may_leave(f);
  enum mf_code code = mf_http_begin(x, 200, NULL, 0, NULL);
  while (!code)
    code = mf_http_write(x, (struct mf_str){ block, sizeof(block) }, NULL);
  saw(f, code);
}

static void run_until_idle(struct fixture *f)
{
  /* The client has closed; the loop turns until the server has understood. */
  stop(f);
  assert_int_equal(f->stopped_n, 1);
}

static void test_leaving_while_nothing_is_written(void **state)
{
  struct fixture *f = *state;
  f->leaves = true;
  start_server(f, (struct mf_http_server_config){ 0 }, wait_for_leaving);
  serve(f, "GET" CLOSE_HEAD "\r\n");
  run_until_idle(f);
  assert_int_equal(f->code_n, 4);
  assert_int_equal(f->codes[0], MF_E_CANCELLED);
  assert_int_equal(f->codes[1], MF_E_CANCELLED);
  assert_int_equal(f->codes[2], MF_OK);
  assert_int_equal(f->codes[3], MF_OK);
}

static void test_leaving_in_the_body(void **state)
{
  struct fixture *f = *state;
  f->leaves = true;
  start_server(f, (struct mf_http_server_config){ 0 }, read_until_leaving);
  serve(f, "PUT" CLOSE_HEAD "Content-Length: 5\r\n\r\nhell");
  run_until_idle(f);
  assert_int_equal(f->code_n, 2);
  assert_true(f->codes[0] == MF_E_CANCELLED || f->codes[0] == MF_E_GONE);
  assert_int_equal(f->codes[1], MF_E_GONE); /* a shielded fiber is told as well */
}

static void test_leaving_while_written_to(void **state)
{
  struct fixture *f = *state;
  f->leaves = true;
  start_server(f, (struct mf_http_server_config){ 0 }, write_until_leaving);
  serve(f, "GET" CLOSE_HEAD "\r\n");
  run_until_idle(f);
  assert_int_equal(f->code_n, 1);
  assert_true(f->codes[0] == MF_E_CANCELLED || f->codes[0] == MF_E_GONE);
}

/* ---- beginning and end ---- */

static void test_what_cannot_begin(void **state)
{
  struct fixture *f = *state;
  struct mf_err err = { 0 };
  struct mf_http_server *s = NULL;
  struct mf_http_server_config c = { 0 };
  assert_int_equal(mf_http_server_new(f->loop, &c, handle, f, &s, &err), MF_E_INPUT);
  c = (struct mf_http_server_config){ .host = "127.0.0.1", .unix_path = "/nowhere" };
  assert_int_equal(mf_http_server_new(f->loop, &c, handle, f, &s, &err), MF_E_INPUT);
  c = (struct mf_http_server_config){ .host = "127.0.0.1", .tls_cert = "/nowhere" };
  assert_int_equal(mf_http_server_new(f->loop, &c, handle, f, &s, &err), MF_E_INPUT);
  c = (struct mf_http_server_config){ .host = "127.0.0.1", .tls_cert = "/nowhere", .tls_key = "/nowhere" };
  assert_int_equal(mf_http_server_new(f->loop, &c, handle, f, &s, &err), MF_E_INPUT);
  c = (struct mf_http_server_config){ .host = "not an address" };
  assert_int_equal(mf_http_server_new(f->loop, &c, handle, f, &s, &err), MF_E_INPUT);
  c = (struct mf_http_server_config){ .unix_path = "/nowhere/at/all" };
  assert_int_equal(mf_http_server_new(f->loop, &c, handle, f, &s, &err), MF_E_SYS);
  char path[200];
  memset(path, 'a', sizeof(path) - 1);
  path[sizeof(path) - 1] = 0;
  c = (struct mf_http_server_config){ .unix_path = path };
  assert_int_equal(mf_http_server_new(f->loop, &c, handle, f, &s, &err), MF_E_INPUT);
  assert_null(s);

  start_server(f, (struct mf_http_server_config){ 0 }, look);
  c = (struct mf_http_server_config){ .host = "127.0.0.1", .port = f->port };
  assert_int_equal(mf_http_server_new(f->loop, &c, handle, f, &s, &err), MF_E_EXISTS);
  mf_http_server_free(f->server); /* nobody ever connected: needs no stop */
  f->server = NULL;
}

static void sleep_long(void *user, struct mf_http_exchange *x, struct mf_fiber *self)
{
  struct fixture *f = user;
  mf_http_server_stop(f->server, mf_now_ns() + LONG_MS * MF_NS_PER_MS, on_stopped, f);
  /* The second call only moves the deadline, as a second signal does. */
  mf_http_server_stop(f->server, mf_now_ns(), NULL, NULL);
  saw(f, mf_fiber_sleep(self, LONG_MS * MF_NS_PER_MS));
}

static void test_a_second_stop_is_at_once(void **state)
{
  struct fixture *f = *state;
  start_server(f, (struct mf_http_server_config){ 0 }, sleep_long);
  serve(f, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  while (!f->stopped_n)
    assert_ok(mf_loop_run(f->loop, NULL), &(struct mf_err){ .msg = "run" });
  assert_int_equal(f->codes[0], MF_E_CANCELLED);
  assert_got(f, "HTTP/1.1 503 ");
  assert_int_equal(f->stopped_n, 1);
  mf_http_server_free(f->server);
  f->server = NULL;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
    TEST(test_wrong_answers_are_refused),        TEST(test_framing_is_the_servers),
    TEST(test_a_stream_of_two_fibers),           TEST(test_more_than_the_high_water_mark),
    TEST(test_a_handler_sees_the_request),       TEST(test_failed_reads_answer_themselves),
    TEST(test_leaving_while_nothing_is_written), TEST(test_leaving_in_the_body),
    TEST(test_leaving_while_written_to),         TEST(test_what_cannot_begin),
    TEST(test_a_second_stop_is_at_once),         TEST(test_a_stream_with_a_length),
  };
#undef TEST
  return cmocka_run_group_tests(tests, NULL, NULL);
}

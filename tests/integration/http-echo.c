/* A server for tests of the HTTP room: one route for each thing a handler can do. Prints "port N" (or "unix") when it
 * listens; the first SIGTERM stops it gracefully. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/num.h"
#include "base/time.h"
#include "http/server.h"
#include "loop/loop.h"
#include "base/banned.h"

enum { BODY_MAX = 1 << 20, STOP_MS = 3000 };

struct app {
  struct mf_loop *loop;
  struct mf_http_server *server;
  unsigned waiting, cancelled; /* handlers of /wait and /flood */
  uint64_t stop_ms;
};

/* A number of the query, "n=12&…" or "…&n=12". */
static uint64_t query_number(const struct mf_http_exchange *x, const char *name, uint64_t otherwise)
{
  struct mf_str q = mf_http_query(x);
  while (q.len > 0) {
    const char *amp = memchr(q.ptr, '&', q.len);
    struct mf_str part = { q.ptr, amp ? (size_t)(amp - q.ptr) : q.len };
    size_t n = strlen(name);
    uint64_t v;
    if (mf_str_starts(part, name) && part.len > n && part.ptr[n] == '=' &&
        mf_parse_u64((struct mf_str){ part.ptr + n + 1, part.len - n - 1 }, name, 0, UINT32_MAX, &v, NULL) == MF_OK)
      return v;
    q = amp ? (struct mf_str){ amp + 1, q.len - part.len - 1 } : (struct mf_str){ NULL, 0 };
  }
  return otherwise;
}

static enum mf_code answer(struct mf_http_exchange *x, int status, struct mf_str body)
{
  static const struct mf_http_header type = { { "Content-Type", 12 }, { "text/plain", 10 } };
  return mf_http_respond(x, status, &type, 1, body, NULL);
}

/* What the request was, as a server that is not fooled would tell it: method, path, query and body. */
static enum mf_code echo(struct app *a, struct mf_http_exchange *x)
{
  mf_auto_buf struct mf_buf body = { 0 }, out;
  mf_buf_init(&out, BODY_MAX + 65536);
  enum mf_code code = mf_http_read_body(x, (size_t)query_number(x, "max", BODY_MAX), &body, NULL);
  struct mf_str method = mf_http_method(x), path = mf_http_path(x), query = mf_http_query(x);
  if (!code)
    code = mf_buf_printf(&out, "%.*s %.*s [%.*s] ", MF_STR_ARG(method), MF_STR_ARG(path), MF_STR_ARG(query));
  if (!code)
    code = mf_buf_append_str(&out, mf_buf_str(&body));
  return code ? code : answer(x, 200, mf_buf_str(&out));
}

/* The body's length, read in small pieces. */
static enum mf_code count(struct app *a, struct mf_http_exchange *x)
{
  char piece[1000], text[32];
  size_t n = 0, sum = 0;
  enum mf_code code = MF_OK;
  do {
    code = mf_http_read_some(x, piece, sizeof(piece), &n, NULL);
    sum += n;
  } while (!code && n > 0);
  if (code)
    return code;
  int text_n = snprintf(text, sizeof(text), "%zu", sum);
  return answer(x, 200, (struct mf_str){ text, (size_t)text_n });
}

static enum mf_code events(struct app *a, struct mf_http_exchange *x)
{
  static const struct mf_http_header type = { { "Content-Type", 12 }, { "text/event-stream", 17 } };
  uint64_t n = query_number(x, "n", 3), cut = query_number(x, "cut", UINT32_MAX);
  enum mf_code code = mf_http_begin(x, 200, &type, 1, NULL);
  for (uint64_t i = 0; i < n && !code; i++) {
    if (i == cut)
      return MF_OK; /* without an end */
    char event[64];
    int event_n = snprintf(event, sizeof(event), "data: %llu\n\n", (unsigned long long)i);
    code = mf_http_write(x, (struct mf_str){ event, (size_t)event_n }, NULL);
  }
  return code ? code : mf_http_end(x, NULL);
}

/* Until the client leaves. */
static enum mf_code wait_for_end(struct app *a, struct mf_http_exchange *x)
{
  struct mf_fiber *self = mf_fiber_self(a->loop);
  a->waiting++;
  enum mf_code code = MF_OK;
  if (query_number(x, "begin", 0))
    code = mf_http_begin(x, 200, NULL, 0, NULL);
  while (!code)
    code = mf_fiber_wait(self, 0);
  a->waiting--;
  a->cancelled += code == MF_E_CANCELLED;
  return code;
}

/* As much as the client takes. */
static enum mf_code flood(struct app *a, struct mf_http_exchange *x)
{
  static const char block[8192];
  a->waiting++;
  enum mf_code code = mf_http_begin(x, 200, NULL, 0, NULL);
  while (!code)
    code = mf_http_write(x, (struct mf_str){ block, sizeof(block) }, NULL);
  a->waiting--;
  a->cancelled++;
  return code;
}

static enum mf_code big(struct app *a, struct mf_http_exchange *x)
{
  size_t n = (size_t)query_number(x, "n", 1000);
  char *p = mf_xmalloc(n + 1);
  memset(p, 'x', n);
  enum mf_code code = answer(x, 200, (struct mf_str){ p, n });
  free(p);
  return code;
}

static enum mf_code sleep_a_while(struct app *a, struct mf_http_exchange *x)
{
  enum mf_code code = mf_fiber_sleep(mf_fiber_self(a->loop), query_number(x, "ms", 100) * MF_NS_PER_MS);
  return code ? code : answer(x, 200, MF_STR("slept"));
}

static enum mf_code no_read(struct app *a, struct mf_http_exchange *x)
{
  return answer(x, 401, MF_STR("not read"));
}

static enum mf_code nothing(struct app *a, struct mf_http_exchange *x)
{
  return MF_OK;
}

static enum mf_code empty(struct app *a, struct mf_http_exchange *x)
{
  return mf_http_respond(x, 204, NULL, 0, MF_STR(""), NULL);
}

static enum mf_code counts(struct app *a, struct mf_http_exchange *x)
{
  struct mf_http_server_stats s = mf_http_server_stats(a->server);
  char text[200];
  int n = snprintf(text, sizeof(text),
                   "{\"waiting\":%u,\"cancelled\":%u,\"connections\":%u,\"requests\":%u,\"total\":%llu}", a->waiting,
                   a->cancelled, s.connections, s.requests, (unsigned long long)s.total_requests);
  return answer(x, 200, (struct mf_str){ text, (size_t)n });
}

static const struct {
  const char *path;
  enum mf_code (*fn)(struct app *a, struct mf_http_exchange *x);
} routes[] = {
  { "/echo", echo },           { "/count", count },     { "/events", events },
  { "/wait", wait_for_end },   { "/flood", flood },     { "/big", big },
  { "/no-read", no_read },     { "/nothing", nothing }, { "/empty", empty },
  { "/sleep", sleep_a_while }, { "/counts", counts },
};

static void handle(void *user, struct mf_http_exchange *x, struct mf_fiber *self)
{
  for (size_t i = 0; i < MF_ARRAY_N(routes); i++)
    if (mf_str_is(mf_http_path(x), routes[i].path)) {
      (void)routes[i].fn(user, x); /* an error needs no answer of ours: the server knows what to say */
      return;
    }
  (void)answer(x, 404, MF_STR("no such route"));
}

static void error_body(void *user, int status, const char *message, struct mf_buf *ret)
{
  if (mf_buf_printf(ret, "{\"status\":%d,\"message\":\"%s\"}", status, message))
    mf_buf_truncate(ret, 0);
}

static void on_stopped(void *user)
{
  struct app *a = user;
  mf_loop_stop(a->loop);
}

struct signals {
  struct app *app;
  int fd;
};

static void on_signal(void *user, unsigned events)
{
  struct signals *s = user;
  struct signalfd_siginfo info;
  if (read(s->fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
    mf_http_server_stop(s->app->server, mf_now_ns() + s->app->stop_ms * MF_NS_PER_MS, on_stopped, s->app);
}

static enum mf_code read_options(int argc, char **argv, struct mf_http_server_config *c, struct app *a)
{
  for (int i = 1; i + 1 < argc; i += 2) {
    struct mf_str value = mf_str_of(argv[i + 1]);
    uint64_t n = 0;
    if (strcmp(argv[i], "--unix") == 0)
      c->unix_path = argv[i + 1];
    else if (strcmp(argv[i], "--host") == 0)
      c->host = argv[i + 1];
    else if (strcmp(argv[i], "--cert") == 0)
      c->tls_cert = argv[i + 1];
    else if (strcmp(argv[i], "--key") == 0)
      c->tls_key = argv[i + 1];
    else if (mf_parse_u64(value, argv[i], 1, UINT32_MAX, &n, NULL))
      return MF_E_INPUT;
    else if (strcmp(argv[i], "--head-ms") == 0)
      c->head_ms = n;
    else if (strcmp(argv[i], "--body-ms") == 0)
      c->body_ms = n;
    else if (strcmp(argv[i], "--keep-alive-ms") == 0)
      c->keep_alive_ms = n;
    else if (strcmp(argv[i], "--connections") == 0)
      c->connections_max = (unsigned)n;
    else if (strcmp(argv[i], "--body-max") == 0)
      c->body_bytes_max = (size_t)n;
    else if (strcmp(argv[i], "--stop-ms") == 0)
      a->stop_ms = n;
    else
      return MF_E_INPUT;
  }
  if (c->unix_path)
    c->host = NULL;
  return MF_OK;
}

int main(int argc, char **argv)
{
  struct app a = { .stop_ms = STOP_MS };
  struct mf_http_server_config config = { .host = "127.0.0.1", .error_body = error_body };
  struct mf_err err = { 0 };
  if (argc % 2 == 0 || read_options(argc, argv, &config, &a)) {
    fprintf(stderr, "http-echo: bad options\n");
    return 2;
  }
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigprocmask(SIG_BLOCK, &set, NULL);
  struct signals signals = { .app = &a, .fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK) };
  struct mf_watch *watch = NULL;
  enum mf_code code = mf_loop_new(&a.loop, &err);
  if (!code)
    code = mf_http_server_new(a.loop, &config, handle, &a, &a.server, &err);
  if (!code)
    code = mf_watch_new(a.loop, signals.fd, MF_WATCH_READ, on_signal, &signals, &watch, &err);
  if (!code) {
    if (config.unix_path)
      printf("unix\n");
    else
      printf("port %u\n", mf_http_server_port(a.server));
    fflush(stdout);
    code = mf_loop_run(a.loop, &err);
  }
  if (code)
    fprintf(stderr, "http-echo: %s\n", err.msg);
  mf_watch_free(watch);
  mf_close_ptr(&signals.fd);
  mf_http_server_free(a.server);
  mf_loop_free(a.loop);
  return code ? 1 : 0;
}

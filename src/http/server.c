/* The server: its listener, its limits, its end. */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "server-internal.h"
#include "base/banned.h"

enum { ACCEPT_BATCH = 64, HANGUP_BATCH = 64, SHORTAGE_MS = 100 };

void mf_http_defer(struct mf_loop *loop, void (*fn)(void *user), void *user)
{
  struct mf_err err;
  if (mf_loop_defer(loop, fn, user, &err) == MF_OK)
    return;
  /* What would have been done (giving memory back, sending) cannot be left undone. */
  mf_log(MF_LOG_ERROR, "http: %s", err.msg);
  abort();
}

const char *mf_http_server_date(struct mf_http_server *s)
{
  time_t now = (time_t)(mf_wall_ms() / 1000);
  struct tm tm;
  if (now != s->date_s && gmtime_r(&now, &tm)) {
    static const char *const days[] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
    static const char *const months[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
    /* Not strftime, whose names follow the locale. */
    snprintf(s->date, sizeof(s->date), "%s, %02u %s %04u %02u:%02u:%02u GMT", days[(unsigned)tm.tm_wday % 7],
             (unsigned)tm.tm_mday % 100, months[(unsigned)tm.tm_mon % 12], (unsigned)(tm.tm_year + 1900) % 10000,
             (unsigned)tm.tm_hour % 100, (unsigned)tm.tm_min % 100, (unsigned)tm.tm_sec % 100);
    s->date_s = now;
  }
  return s->date;
}

/* ---- accepting ---- */

static void name_peer(const struct sockaddr_storage *a, char *ret, size_t n)
{
  char ip[INET6_ADDRSTRLEN] = "?";
  if (a->ss_family == AF_INET) {
    const struct sockaddr_in *in = (const struct sockaddr_in *)a;
    inet_ntop(AF_INET, &in->sin_addr, ip, sizeof(ip));
    snprintf(ret, n, "%s:%u", ip, ntohs(in->sin_port));
  } else if (a->ss_family == AF_INET6) {
    const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)a;
    inet_ntop(AF_INET6, &in->sin6_addr, ip, sizeof(ip));
    snprintf(ret, n, "[%s]:%u", ip, ntohs(in->sin6_port));
  } else {
    snprintf(ret, n, "unix");
  }
}

/* The socket's mode keeps others out already; this holds when somebody has widened it. */
static bool is_own_user(int fd)
{
  struct ucred peer = { 0 };
  socklen_t n = sizeof(peer);
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 && (peer.uid == geteuid() || peer.uid == 0);
}

static unsigned open_max(const struct mf_http_server *s)
{
  return s->config.connections_max + MF_HTTP_EXTRA_MAX;
}

static void set_accepting(struct mf_http_server *s, bool is_accepting)
{
  if (!s->accept_watch || is_accepting == s->is_accepting)
    return;
  s->is_accepting = is_accepting;
  mf_watch_set(s->accept_watch, is_accepting ? MF_WATCH_READ : 0);
}

static void on_accept(void *user, unsigned events)
{
  struct mf_http_server *s = user;
  for (unsigned i = 0; i < ACCEPT_BATCH; i++) {
    if (s->open_n >= open_max(s)) {
      set_accepting(s, false); /* until one closes; the rest waits in the kernel's queue */
      return;
    }
    struct sockaddr_storage a = { 0 };
    socklen_t n = sizeof(a);
    int fd = accept4(s->listener.fd, (struct sockaddr *)&a, &n, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
      continue;
    if (fd < 0 && errno == EAGAIN)
      return;
    if (fd >= 0 && s->config.own_user_only && !is_own_user(fd)) {
      mf_close_ptr(&fd);
      continue;
    }
    struct mf_err err = { 0 };
    char peer[64];
    name_peer(&a, peer, sizeof(peer));
    if (fd < 0 || mf_http_conn_new(s, fd, peer, s->open_n >= s->config.connections_max, &err)) {
      /* No descriptors or no memory: the listener stays readable, so it is left alone for a moment. */
      if (fd < 0)
        mf_fail(&err, MF_E_SYS, errno, "accept a connection");
      mf_log(MF_LOG_WARN, "http: %s", err.msg);
      set_accepting(s, false);
      mf_timer_arm(s->timer, mf_now_ns() + SHORTAGE_MS * MF_NS_PER_MS);
      return;
    }
  }
}

static void on_hangup(void *user, unsigned events)
{
  struct mf_http_server *s = user;
  struct epoll_event e[HANGUP_BATCH];
  int n;
  do {
    n = epoll_wait(s->hangup_epoll, e, HANGUP_BATCH, 0);
    /* A connection that one of these calls ends is given back later, from the loop. */
    for (int i = 0; i < n; i++)
      mf_http_conn_hung_up(e[i].data.ptr);
  } while (n == HANGUP_BATCH);
}

/* ---- the end ---- */

static void on_stopped(void *user)
{
  struct mf_http_server *s = user;
  if (s->stopped)
    s->stopped(s->stopped_user);
}

static void check_stopped(struct mf_http_server *s)
{
  if (!s->is_stopping || s->conn_n > 0 || s->is_stop_told)
    return;
  s->is_stop_told = true;
  mf_timer_disarm(s->timer);
  mf_http_defer(s->loop, on_stopped, s);
}

void mf_http_server_conn_closed(struct mf_http_server *s)
{
  s->open_n--;
  if (s->open_n < open_max(s))
    set_accepting(s, true);
}

void mf_http_server_conn_freed(struct mf_http_server *s)
{
  s->conn_n--;
  check_stopped(s);
}

static void for_each_conn(struct mf_http_server *s, void (*fn)(struct mf_http_conn *c))
{
  for (struct mf_http_conn *c = s->first, *next; c; c = next) {
    next = c->next;
    fn(c);
  }
}

static void on_timer(void *user)
{
  struct mf_http_server *s = user;
  if (!s->is_stopping) {
    if (s->open_n < open_max(s))
      set_accepting(s, true);
    return;
  }
  s->is_past_deadline = true;
  for_each_conn(s, mf_http_conn_kill);
}

static void stop_listening(struct mf_http_server *s)
{
  s->accept_watch = mf_watch_free(s->accept_watch);
  mf_http_listener_done(&s->listener);
}

void mf_http_server_stop(struct mf_http_server *s, uint64_t deadline_ns, void (*stopped)(void *user), void *user)
{
  if (s->is_stop_told)
    return;
  mf_timer_arm(s->timer, deadline_ns);
  if (s->is_stopping)
    return;
  s->is_stopping = true;
  s->stopped = stopped;
  s->stopped_user = user;
  stop_listening(s);
  for_each_conn(s, mf_http_conn_stop);
  check_stopped(s);
}

/* ---- life ---- */

static void set_defaults(struct mf_http_server_config *c)
{
  if (!c->connections_max)
    c->connections_max = 4096;
  if (!c->head_ms)
    c->head_ms = 10000;
  if (!c->body_ms)
    c->body_ms = 60000;
  if (!c->keep_alive_ms)
    c->keep_alive_ms = 75000;
  if (!c->stall_ms)
    c->stall_ms = 300000;
  if (!c->body_bytes_max)
    c->body_bytes_max = (size_t)10 << 20;
  if (!c->write_high_bytes)
    c->write_high_bytes = (size_t)256 << 10;
}

static enum mf_code set_up(struct mf_http_server *s, const struct mf_http_server_config *c, struct mf_err *err)
{
  enum mf_code code = MF_OK;
  if (!c->host == !c->unix_path || !c->tls_cert != !c->tls_key)
    return mf_fail(err, MF_E_INPUT, 0, "an HTTP server needs a host or a Unix path, and a key with its certificate");
  if (c->tls_cert)
    code = mf_http_tls_new(c->tls_cert, c->tls_key, &s->tls, err);
  if (!code)
    code = c->unix_path ? mf_http_listen_unix(&s->listener, c->unix_path, err)
                        : mf_http_listen_tcp(&s->listener, c->host, c->port, err);
  if (code)
    return code;
  s->hangup_epoll = epoll_create1(EPOLL_CLOEXEC);
  if (s->hangup_epoll < 0)
    return mf_fail(err, MF_E_SYS, errno, "create epoll");
  code = mf_timer_new(s->loop, on_timer, s, &s->timer, err);
  if (!code)
    code = mf_watch_new(s->loop, s->hangup_epoll, MF_WATCH_READ, on_hangup, s, &s->hangup_watch, err);
  if (!code)
    code = mf_watch_new(s->loop, s->listener.fd, MF_WATCH_READ, on_accept, s, &s->accept_watch, err);
  s->is_accepting = true;
  return code;
}

enum mf_code mf_http_server_new(struct mf_loop *loop, const struct mf_http_server_config *config,
                                mf_http_handler *handler, void *user, struct mf_http_server **ret, struct mf_err *err)
{
  struct mf_http_server *s = mf_xcalloc(1, sizeof(*s));
  s->loop = loop;
  s->config = *config;
  s->config.host = s->config.unix_path = s->config.tls_cert = s->config.tls_key = NULL;
  set_defaults(&s->config);
  s->handler = handler;
  s->user = user;
  s->listener.fd = s->hangup_epoll = -1;
  enum mf_code code = set_up(s, config, err);
  if (code) {
    mf_http_server_free(s);
    return code;
  }
  *ret = s;
  return MF_OK;
}

uint16_t mf_http_server_port(const struct mf_http_server *s)
{
  return s->listener.port;
}

struct mf_http_server_stats mf_http_server_stats(const struct mf_http_server *s)
{
  return (struct mf_http_server_stats){ s->open_n, s->request_n, s->total_requests };
}

void mf_http_server_free(struct mf_http_server *s)
{
  if (!s)
    return;
  assert(s->conn_n == 0);
  stop_listening(s);
  mf_watch_free(s->hangup_watch);
  mf_close_ptr(&s->hangup_epoll);
  mf_timer_free(s->timer);
  mf_http_tls_free(s->tls);
  free(s);
}

/* One connection: its socket, its states, its deadlines. */
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "server-internal.h"
#include "base/banned.h"

enum {
  LINGER_MS = 5000,
  LINGER_STOP_MS = 1000,
  LINGER_BYTES_MAX = 64 * 1024 * 1024,
  CLOSING_MS = 30000,      /* the last bytes to a peer that takes none */
  UNSENT_MAX = 128 * 1024, /* in the kernel, beyond what is on its way: the rest waits here, where it is counted */
};

/* ---- what is due, what is watched ---- */

static uint64_t due_ns(const struct mf_http_conn *c)
{
  const struct mf_http_server_config *f = &c->server->config;
  switch (c->state) {
  case MF_HTTP_CONN_HANDSHAKE:
  case MF_HTTP_CONN_HEAD:
    return c->since_ns + f->head_ms * MF_NS_PER_MS;
  case MF_HTTP_CONN_IDLE:
    return c->since_ns + (c->request_n > 0 ? f->keep_alive_ms : f->head_ms) * MF_NS_PER_MS;
  case MF_HTTP_CONN_BUSY:
    return c->progress_ns ? c->progress_ns + f->stall_ms * MF_NS_PER_MS : 0;
  case MF_HTTP_CONN_CLOSING:
    return c->progress_ns + MF_MIN(f->stall_ms, (uint64_t)CLOSING_MS) * MF_NS_PER_MS;
  case MF_HTTP_CONN_LINGER:
    return c->since_ns + (c->server->is_stopping ? LINGER_STOP_MS : LINGER_MS) * MF_NS_PER_MS;
  case MF_HTTP_CONN_DEAD:
    break;
  }
  return 0;
}

/* Brings watch and timer in line with the state; called after everything that may have changed it. A timer that is
 * armed too early is left alone: most deadlines move away before they come. */
static void update(struct mf_http_conn *c)
{
  if (c->state == MF_HTTP_CONN_DEAD)
    return;
  bool reads = !c->had_eof && (c->state != MF_HTTP_CONN_BUSY || c->in.len < MF_HTTP_INPUT_MAX);
  bool writes = c->out.len > 0 || c->stream.wants_write;
  mf_watch_set(c->watch, (reads ? MF_WATCH_READ : 0u) | (writes ? MF_WATCH_WRITE : 0u));
  uint64_t due = due_ns(c);
  if (due && (!c->armed_ns || c->armed_ns > due)) {
    c->armed_ns = due;
    mf_timer_arm(c->timer, due);
  }
}

static void enter(struct mf_http_conn *c, enum mf_http_conn_state state)
{
  c->state = state;
  c->since_ns = mf_now_ns();
}

/* ---- the end ---- */

static void on_free(void *user)
{
  struct mf_http_conn *c = user;
  struct mf_http_server *s = c->server;
  free(c);
  mf_http_server_conn_freed(s);
}

static void maybe_free(struct mf_http_conn *c)
{
  if (c->state != MF_HTTP_CONN_DEAD || c->exchange || c->is_flush_deferred || c->is_free_deferred)
    return;
  c->is_free_deferred = true;
  mf_http_defer(c->server->loop, on_free, c);
}

void mf_http_conn_drop(struct mf_http_conn *c)
{
  if (c->state == MF_HTTP_CONN_DEAD)
    return;
  c->state = MF_HTTP_CONN_DEAD;
  c->watch = mf_watch_free(c->watch);
  c->timer = mf_timer_free(c->timer);
  if (c->must_reset)
    mf_http_stream_reset(&c->stream);
  mf_http_stream_done(&c->stream);
  mf_http_bytes_done(&c->in);
  mf_http_bytes_done(&c->out);
  if (c->prev)
    c->prev->next = c->next;
  else
    c->server->first = c->next;
  if (c->next)
    c->next->prev = c->prev;
  mf_http_server_conn_closed(c->server);
  if (c->exchange)
    mf_http_exchange_gone(c->exchange);
  maybe_free(c);
}

/* Everything was sent in CLOSING. */
static void finish_closing(struct mf_http_conn *c)
{
  /* Closing a socket that has unread bytes, or gets some soon, resets it, and the peer may lose our answer with it. */
  if (!c->must_linger || c->must_reset || c->had_eof || c->server->is_past_deadline) {
    mf_http_conn_drop(c);
    return;
  }
  mf_http_stream_shut(&c->stream);
  enter(c, MF_HTTP_CONN_LINGER);
}

static void start_closing(struct mf_http_conn *c)
{
  enter(c, MF_HTTP_CONN_CLOSING);
  if (c->in.len > 0)
    c->must_linger = true;
  mf_http_bytes_done(&c->in);
  mf_http_conn_flush(c);
  /* What the peer has not taken by now is not waited for. */
  if (c->server->is_past_deadline)
    mf_http_conn_drop(c);
}

static void refuse(struct mf_http_conn *c, const struct mf_http_refusal *why, const struct mf_http_head *head)
{
  mf_http_response_error(c->server, why, head && head->is_head, false, false, &c->out);
  c->must_linger = true;
  start_closing(c);
}

/* ---- output ---- */

void mf_http_conn_flush(struct mf_http_conn *c)
{
  if (c->state == MF_HTTP_CONN_DEAD || c->state == MF_HTTP_CONN_HANDSHAKE)
    return;
  bool has_moved = false;
  while (c->out.len > 0) {
    struct mf_str s = mf_http_bytes_str(&c->out);
    ssize_t n = mf_http_stream_write(&c->stream, s.ptr, s.len);
    if (n == -EAGAIN)
      break;
    if (n < 0) {
      mf_http_conn_drop(c);
      return;
    }
    mf_http_bytes_consume(&c->out, (size_t)n);
    has_moved = true;
    /* A short write means that the socket is full; asking again would only say so. TLS takes a record at a time. */
    if ((size_t)n < s.len && !c->stream.ssl)
      break;
  }
  if (c->out.len == 0)
    c->progress_ns = 0;
  else if (has_moved || c->progress_ns == 0)
    c->progress_ns = mf_now_ns();
  if (c->out.len == 0 && c->state == MF_HTTP_CONN_CLOSING) {
    finish_closing(c);
    if (c->state == MF_HTTP_CONN_DEAD)
      return;
  }
  if (has_moved && c->exchange && c->out.len <= c->server->config.write_high_bytes / 2)
    mf_http_exchange_output(c->exchange);
  update(c);
}

static void on_flush(void *user)
{
  struct mf_http_conn *c = user;
  c->is_flush_deferred = false;
  mf_http_conn_flush(c);
  maybe_free(c);
}

void mf_http_conn_flush_later(struct mf_http_conn *c)
{
  if (c->is_flush_deferred || c->state == MF_HTTP_CONN_DEAD)
    return;
  c->is_flush_deferred = true;
  mf_http_defer(c->server->loop, on_flush, c);
}

/* ---- input ---- */

bool mf_http_conn_fill(struct mf_http_conn *c)
{
  if (c->state == MF_HTTP_CONN_DEAD || c->had_eof)
    return false;
  size_t room = MF_HTTP_SCRATCH_BYTES;
  if (c->state == MF_HTTP_CONN_BUSY)
    room = c->in.len < MF_HTTP_INPUT_MAX ? MF_HTTP_INPUT_MAX - c->in.len : 0;
  if (room == 0)
    return false;
  ssize_t n = mf_http_stream_read(&c->stream, c->server->scratch, room);
  if (n > 0) {
    mf_http_bytes_append(&c->in, c->server->scratch, (size_t)n);
    return true;
  }
  if (n == 0) {
    c->had_eof = true;
    mf_http_conn_hung_up(c);
  } else if (n != -EAGAIN) {
    mf_http_conn_drop(c);
  }
  update(c);
  return false;
}

static void swallow(struct mf_http_conn *c)
{
  c->lingered_n += c->in.len;
  mf_http_bytes_done(&c->in);
  if (c->lingered_n > LINGER_BYTES_MAX || (c->had_eof && c->state == MF_HTTP_CONN_LINGER))
    mf_http_conn_drop(c);
}

static void start_request(struct mf_http_conn *c, struct mf_http_head *head)
{
  struct mf_http_refusal why = { 0 };
  if (c->is_over_limit)
    why = (struct mf_http_refusal){ 503, "too many connections" };
  else if (head->content_length > c->server->config.body_bytes_max)
    why = (struct mf_http_refusal){ 413, "request body too large" };
  if (why.status) {
    refuse(c, &why, head);
    mf_http_head_free(head);
    return;
  }
  c->request_n++;
  enter(c, MF_HTTP_CONN_BUSY);
  if (!mf_http_exchange_start(c, head)) {
    refuse(c, &(struct mf_http_refusal){ 503, "out of memory" }, NULL);
    return;
  }
  /* A client that sent its request and left at once looks like one that has half-closed its socket: the handler runs to
   * its first wait, and what it can answer without waiting is sent. */
  if (c->is_peer_gone)
    mf_http_exchange_gone(c->exchange);
}

/* Goes on with what is in c->in as far as the state allows. */
static void handle_input(struct mf_http_conn *c)
{
  while ((c->state == MF_HTTP_CONN_IDLE || c->state == MF_HTTP_CONN_HEAD) && c->in.len > 0) {
    if (c->state == MF_HTTP_CONN_IDLE) {
      enter(c, MF_HTTP_CONN_HEAD);
      c->scan = (struct mf_http_scan){ 0 };
    }
    struct mf_http_refusal why = { 0 };
    struct mf_str in = mf_http_bytes_str(&c->in);
    size_t n = 0;
    enum mf_http_scanned scanned = mf_http_head_scan(&c->scan, in, &n, &why);
    if (scanned == MF_HTTP_SCAN_MORE)
      break;
    struct mf_http_head *head = NULL;
    if (scanned == MF_HTTP_SCAN_DONE)
      head = mf_http_head_parse((struct mf_str){ in.ptr, n }, &why);
    if (!head) {
      refuse(c, &why, NULL);
      break;
    }
    mf_http_bytes_consume(&c->in, n);
    start_request(c, head);
  }
  if (c->state == MF_HTTP_CONN_CLOSING || c->state == MF_HTTP_CONN_LINGER)
    swallow(c);
  else if (c->state == MF_HTTP_CONN_BUSY)
    mf_http_exchange_input(c->exchange);
  else if (c->had_eof && (c->state == MF_HTTP_CONN_IDLE || c->state == MF_HTTP_CONN_HEAD))
    start_closing(c);
}

void mf_http_conn_hung_up(struct mf_http_conn *c)
{
  c->is_peer_gone = true;
  if (c->state == MF_HTTP_CONN_BUSY && c->exchange)
    mf_http_exchange_gone(c->exchange);
}

static void shake_hands(struct mf_http_conn *c)
{
  int n = mf_http_stream_handshake(&c->stream);
  if (n == 0)
    enter(c, MF_HTTP_CONN_IDLE);
  else if (n != -EAGAIN)
    mf_http_conn_drop(c);
}

static void on_event(void *user, unsigned events)
{
  struct mf_http_conn *c = user;
  if (c->state == MF_HTTP_CONN_HANDSHAKE)
    shake_hands(c);
  if ((events & MF_WATCH_WRITE) && c->out.len > 0)
    mf_http_conn_flush(c);
  /* TLS may hold whole records that the socket will not tell of again. */
  bool again = (events & MF_WATCH_READ) || c->stream.ssl;
  while (again && c->state != MF_HTTP_CONN_DEAD && c->state != MF_HTTP_CONN_HANDSHAKE) {
    mf_http_conn_fill(c);
    if (c->state == MF_HTTP_CONN_DEAD)
      return;
    size_t had = c->in.len;
    handle_input(c);
    again = c->state != MF_HTTP_CONN_DEAD && mf_http_stream_has_pending(&c->stream) &&
            (c->state != MF_HTTP_CONN_BUSY || had < MF_HTTP_INPUT_MAX);
  }
  update(c);
}

static void on_timer(void *user)
{
  struct mf_http_conn *c = user;
  c->armed_ns = 0;
  uint64_t due = due_ns(c);
  if (due == 0 || due > mf_now_ns()) {
    update(c);
    return;
  }
  if (c->state == MF_HTTP_CONN_HEAD)
    refuse(c, &(struct mf_http_refusal){ 408, "the request head took too long" }, NULL);
  else
    mf_http_conn_drop(c);
}

/* ---- the beginning, the next request, the stop ---- */

enum mf_code mf_http_conn_new(struct mf_http_server *s, int fd, const char *peer, bool is_over_limit,
                              struct mf_err *err)
{
  struct mf_http_conn *c = mf_xcalloc(1, sizeof(*c));
  enum mf_code code = mf_http_stream_init(&c->stream, fd, s->tls, err);
  if (code) {
    free(c);
    return code;
  }
  c->server = s;
  c->is_over_limit = is_over_limit;
  size_t n = strnlen(peer, sizeof(c->peer) - 1);
  memcpy(c->peer, peer, n);
  int on = 1, unsent = UNSENT_MAX;
  /* Both fail on a Unix socket, which has neither. */
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
  code = mf_timer_new(s->loop, on_timer, c, &c->timer, err);
  if (!code)
    code = mf_watch_new(s->loop, fd, 0, on_event, c, &c->watch, err);
  /* Edge-triggered and never taken off: tells of a hang-up also while input is not read and nothing is written. */
  struct epoll_event e = { .events = EPOLLRDHUP | EPOLLET, .data.ptr = c };
  if (!code && epoll_ctl(s->hangup_epoll, EPOLL_CTL_ADD, fd, &e))
    code = mf_fail(err, MF_E_SYS, errno, "watch for hang-ups");
  if (code) {
    mf_watch_free(c->watch);
    mf_timer_free(c->timer);
    mf_http_stream_done(&c->stream);
    free(c);
    return code;
  }
  c->next = s->first;
  if (c->next)
    c->next->prev = c;
  s->first = c;
  s->conn_n++;
  s->open_n++;
  enter(c, s->tls ? MF_HTTP_CONN_HANDSHAKE : MF_HTTP_CONN_IDLE);
  update(c);
  return MF_OK;
}

void mf_http_conn_next(struct mf_http_conn *c, bool keep)
{
  assert(!c->exchange);
  if (c->state == MF_HTTP_CONN_DEAD) {
    maybe_free(c);
    return;
  }
  assert(c->state == MF_HTTP_CONN_BUSY);
  if (!keep || c->server->is_stopping) {
    start_closing(c);
    return;
  }
  enter(c, MF_HTTP_CONN_IDLE);
  do
    handle_input(c);
  while ((c->state == MF_HTTP_CONN_IDLE || c->state == MF_HTTP_CONN_HEAD) && mf_http_stream_has_pending(&c->stream) &&
         mf_http_conn_fill(c));
  update(c);
}

void mf_http_conn_stop(struct mf_http_conn *c)
{
  if (c->state == MF_HTTP_CONN_HANDSHAKE)
    mf_http_conn_drop(c);
  else if (c->state == MF_HTTP_CONN_IDLE)
    start_closing(c);
  else
    update(c); /* lingering has become shorter */
}

void mf_http_conn_kill(struct mf_http_conn *c)
{
  if (c->exchange)
    mf_fiber_cancel(c->exchange->fiber);
  else
    mf_http_conn_drop(c);
}

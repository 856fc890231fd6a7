/* See peer.h. */
#include "peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/banned.h"

/* Assertions of cmocka are for the test's own thread. */
#define MUST(what)                                                                                                     \
  do {                                                                                                                 \
    if (!(what)) {                                                                                                     \
      fprintf(stderr, "peer.c:%d: not so: %s\n", __LINE__, #what);                                                     \
      abort();                                                                                                         \
    }                                                                                                                  \
  } while (0)

struct connection {
  struct peer *peer;
  int fd;
  char in[4 * 1024 * 1024]; /* one request, and the beginning of the next */
  size_t in_n;
};

struct row {
  const char *path;
  bool (*serve)(struct connection *c, size_t request_n); /* false: close the connection */
};

static bool send_n(int fd, const char *p, size_t n)
{
  while (n > 0) {
    ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);
    if (sent < 0)
      return false;
    p += sent;
    n -= (size_t)sent;
  }
  return true;
}

static bool say(struct connection *c, const char *text)
{
  return send_n(c->fd, text, strlen(text));
}

/* ---- what a path does ---- */

static bool serve_length(struct connection *c, size_t n)
{
  return say(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-One: 1\r\nx-empty:\r\nX-Two:  two words \r\n\r\nhello");
}

static bool serve_chunked(struct connection *c, size_t n)
{
  return say(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n") &&
         say(c, "3;ext=1\r\nllo\r\n0\r\nX-Trailer: 1\r\n\r\n");
}

static bool serve_until_close(struct connection *c, size_t n)
{
  return say(c, "HTTP/1.1 200 OK\r\n\r\nhello") && false;
}

static bool serve_nothing(struct connection *c, size_t n)
{
  return false;
}

static bool serve_empty(struct connection *c, size_t n)
{
  return say(c, "HTTP/1.1 204 No Content\r\n\r\n");
}

static bool serve_head(struct connection *c, size_t n)
{
  return say(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
}

static bool serve_cut(struct connection *c, size_t n)
{
  return say(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello") && false;
}

static bool serve_cut_chunked(struct connection *c, size_t n)
{
  return say(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n8\r\nwor") && false;
}

static bool serve_cut_head(struct connection *c, size_t n)
{
  return say(c, "HTTP/1.1 200 OK\r\nContent-Le") && false;
}

static bool serve_reset(struct connection *c, size_t n)
{
  struct linger at_once = { 1, 0 };
  setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  return false;
}

/* Holds the request until the client closes. */
static bool hang(struct connection *c)
{
  char byte;
  sem_post(&c->peer->arrived);
  ssize_t n = recv(c->fd, &byte, 1, 0);
  MUST(n <= 0);
  sem_post(&c->peer->dropped);
  return false;
}

static bool serve_hang(struct connection *c, size_t n)
{
  return hang(c);
}

static bool serve_hang_body(struct connection *c, size_t n)
{
  return say(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n") && hang(c);
}

static bool serve_gate(struct connection *c, size_t n)
{
  bool ok = say(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n");
  while (sem_wait(&c->peer->gate))
    ;
  return ok && say(c, "1\r\nb\r\n0\r\n\r\n");
}

static bool serve_early(struct connection *c, size_t n)
{
  return say(c, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n") &&
         say(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Last: yes\r\n\r\nok");
}

static bool serve_folded(struct connection *c, size_t n)
{
  return say(c, "HTTP/1.1 200 OK\r\nX-Folded: one\r\n  two\r\n\tthree\r\nContent-Length: 0\r\n\r\n");
}

static bool serve_echo(struct connection *c, size_t n)
{
  char head[100];
  snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", n);
  return say(c, head) && send_n(c->fd, c->in, n);
}

static bool serve_redirect(struct connection *c, size_t n)
{
  return say(c, "HTTP/1.1 302 Found\r\nLocation: /length\r\nContent-Length: 4\r\n\r\nelse");
}

static bool serve_encoded(struct connection *c, size_t n)
{
  return say(c, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 8\r\n\r\nnot gzip");
}

static bool serve_not_http(struct connection *c, size_t n)
{
  return say(c, "SSH-2.0-OpenSSH_9.2\r\n\r\n") && false;
}

static bool serve_many_fields(struct connection *c, size_t n)
{
  bool ok = say(c, "HTTP/1.1 200 OK\r\n");
  for (int i = 0; ok && i < 300; i++)
    ok = say(c, "X: 1\r\n");
  return ok && say(c, "Content-Length: 0\r\n\r\n");
}

static bool serve_huge_head(struct connection *c, size_t n)
{
  bool ok = say(c, "HTTP/1.1 200 OK\r\n");
  char line[2000];
  snprintf(line, sizeof(line), "X-Huge: %01024d\r\n", 7);
  for (int i = 0; ok && i < 100; i++)
    ok = say(c, line);
  return ok && say(c, "Content-Length: 0\r\n\r\n");
}

/* Says that it will keep the connection, and closes it. */
static bool serve_liar(struct connection *c, size_t n)
{
  return say(c, "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello") && false;
}

static bool serve_big(struct connection *c, size_t n)
{
  struct peer *p = c->peer;
  char head[100], block[23 * 512];
  for (size_t i = 0; i < sizeof(block); i++)
    block[i] = peer_big_byte(i);
  snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", PEER_BIG_BYTES);
  if (!say(c, head))
    return false;
  for (uint64_t at = 0; at < PEER_BIG_BYTES;) {
    size_t from = (size_t)(at % 23);
    size_t want = (size_t)MF_MIN(sizeof(block) - from, PEER_BIG_BYTES - at);
    ssize_t sent = send(c->fd, block + from, want, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      at += (uint64_t)sent;
      atomic_store(&p->big_sent, at);
      continue;
    }
    if (errno != EAGAIN)
      return false;
    /* Full: does it stay so? */
    struct pollfd waits = { c->fd, POLLOUT, 0 };
    while (poll(&waits, 1, 300) == 0)
      sem_post(&p->big_stalled);
  }
  return true;
}

static const struct row rows[] = {
  { "/length", serve_length },
  { "/chunked", serve_chunked },
  { "/until-close", serve_until_close },
  { "/nothing", serve_nothing },
  { "/empty", serve_empty },
  { "/head", serve_head },
  { "/cut", serve_cut },
  { "/cut-chunked", serve_cut_chunked },
  { "/cut-head", serve_cut_head },
  { "/reset", serve_reset },
  { "/hang", serve_hang },
  { "/hang-body", serve_hang_body },
  { "/gate", serve_gate },
  { "/early", serve_early },
  { "/folded", serve_folded },
  { "/echo", serve_echo },
  { "/redirect", serve_redirect },
  { "/encoded", serve_encoded },
  { "/not-http", serve_not_http },
  { "/many-fields", serve_many_fields },
  { "/huge-head", serve_huge_head },
  { "/liar", serve_liar },
  { "/big", serve_big },
};

/* ---- the server ---- */

/* Receives until a whole request is there; its size, or 0 when the client has closed. */
static size_t receive_request(struct connection *c)
{
  for (;;) {
    c->in[c->in_n] = 0;
    const char *end = strstr(c->in, "\r\n\r\n");
    if (end) {
      const char *length = strcasestr(c->in, "\r\ncontent-length:");
      size_t n = (size_t)(end - c->in) + 4;
      if (length && length < end)
        n += strtoul(length + strlen("\r\ncontent-length:"), NULL, 10);
      MUST(n < sizeof(c->in));
      if (c->in_n >= n)
        return n;
    }
    ssize_t got = recv(c->fd, c->in + c->in_n, sizeof(c->in) - 1 - c->in_n, 0);
    if (got <= 0)
      return 0;
    c->in_n += (size_t)got;
    if (c->in[0] == 0x16)
      return 0; /* TLS, which we do not speak */
  }
}

static bool serve(struct connection *c, size_t n)
{
  const char *path = memchr(c->in, '/', n);
  size_t len = path ? strcspn(path, " ?") : 0;
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++)
    if (strlen(rows[i].path) == len && memcmp(rows[i].path, path, len) == 0)
      return rows[i].serve(c, n);
  return say(c, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
}

static void *run_connection(void *user)
{
  struct connection *c = user;
  size_t n;
  while ((n = receive_request(c)) > 0) {
    atomic_fetch_add(&c->peer->asked, 1);
    if (!serve(c, n))
      break;
    memmove(c->in, c->in + n, c->in_n - n);
    c->in_n -= n;
  }
  close(c->fd);
  free(c);
  return NULL;
}

static void *run_server(void *user)
{
  struct peer *p = user;
  for (;;) {
    int fd = accept4(p->listen_fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
      return NULL; /* shut down */
    struct connection *c = mf_xcalloc(1, sizeof(*c));
    c->peer = p;
    c->fd = fd;
    unsigned i = atomic_load(&p->accepted);
    MUST(i < PEER_CONNECTIONS_MAX);
    atomic_store(&p->accepted, i + 1); /* before anything can be answered on it */
    MUST(pthread_create(&p->connections[i], NULL, run_connection, c) == 0);
  }
}

struct peer *peer_new(void)
{
  struct peer *p = mf_xcalloc(1, sizeof(*p));
  struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  socklen_t n = sizeof(addr);
  p->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  MUST(p->listen_fd >= 0 && bind(p->listen_fd, (struct sockaddr *)&addr, n) == 0);
  MUST(listen(p->listen_fd, 256) == 0 && getsockname(p->listen_fd, (struct sockaddr *)&addr, &n) == 0);
  p->port = ntohs(addr.sin_port);
  sem_init(&p->arrived, 0, 0);
  sem_init(&p->dropped, 0, 0);
  sem_init(&p->gate, 0, 0);
  sem_init(&p->big_stalled, 0, 0);
  MUST(pthread_create(&p->thread, NULL, run_server, p) == 0);
  return p;
}

void peer_free(struct peer *p)
{
  shutdown(p->listen_fd, SHUT_RDWR);
  pthread_join(p->thread, NULL);
  close(p->listen_fd);
  for (unsigned i = 0; i < atomic_load(&p->accepted); i++)
    pthread_join(p->connections[i], NULL);
  sem_destroy(&p->arrived);
  sem_destroy(&p->dropped);
  sem_destroy(&p->gate);
  sem_destroy(&p->big_stalled);
  free(p);
}

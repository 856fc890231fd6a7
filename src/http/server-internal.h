/* What the files of the server share: server.c (listener, life cycle), conn.c (one connection), exchange.c (one request
 * in its fiber), response.c (heads of responses). Thread: the loop's.
 *
 * A connection's memory is given back from the loop, never inside a call that was made with it; until then its state
 * says DEAD. An exchange outlives its connection's socket: the handler unwinds in its own time. */
#ifndef MF_HTTP_SERVER_INTERNAL_H
#define MF_HTTP_SERVER_INTERNAL_H

#include <time.h>

#include "base/time.h"
#include "body.h"
#include "bytes.h"
#include "http/server.h"
#include "listen.h"
#include "loop/loop.h"
#include "request.h"
#include "stream.h"

enum {
  MF_HTTP_SCRATCH_BYTES = 64 * 1024, /* one read of a socket */
  MF_HTTP_INPUT_MAX = 64 * 1024,     /* what waits unread while a handler runs */
  MF_HTTP_EXTRA_MAX = 64,            /* connections over the limit, to be told so */
};

enum mf_http_conn_state {
  MF_HTTP_CONN_HANDSHAKE,
  MF_HTTP_CONN_IDLE,    /* between requests, nothing has come */
  MF_HTTP_CONN_HEAD,    /* a part of a head has */
  MF_HTTP_CONN_BUSY,    /* an exchange runs */
  MF_HTTP_CONN_CLOSING, /* sends the rest */
  MF_HTTP_CONN_LINGER,  /* our side has ended; swallows what the peer still sends, so that it can read our last words */
  MF_HTTP_CONN_DEAD,
};

struct mf_http_conn {
  struct mf_http_server *server;
  struct mf_http_conn *prev, *next;
  struct mf_http_stream stream;
  struct mf_watch *watch;
  struct mf_timer *timer;
  uint64_t armed_ns;    /* the timer's own deadline; 0: not armed. It may be earlier than what is due */
  uint64_t since_ns;    /* when the state began */
  uint64_t progress_ns; /* when the peer last took something, or the output began to wait; 0: nothing waits */
  enum mf_http_conn_state state;
  struct mf_http_bytes in, out;
  struct mf_http_scan scan;
  struct mf_http_exchange *exchange;
  size_t lingered_n;
  uint64_t request_n;
  bool is_over_limit, had_eof, is_peer_gone, must_linger, must_reset;
  bool is_flush_deferred, is_free_deferred;
  char peer[64];
};

struct mf_http_server {
  struct mf_loop *loop;
  struct mf_http_server_config config; /* numbers and error_body; the strings are not kept */
  mf_http_handler *handler;
  void *user;
  struct mf_http_listener listener;
  struct ssl_ctx_st *tls;
  struct mf_watch *accept_watch;
  int hangup_epoll;
  struct mf_watch *hangup_watch;
  struct mf_timer *timer; /* accepts again after a shortage; later the deadline of stop */
  struct mf_http_conn *first;
  unsigned conn_n; /* not given back yet */
  unsigned open_n; /* with a socket */
  unsigned request_n;
  uint64_t total_requests;
  bool is_accepting, is_stopping, is_past_deadline, is_stop_told;
  void (*stopped)(void *user);
  void *stopped_user;
  time_t date_s;
  char date[32];
  char scratch[MF_HTTP_SCRATCH_BYTES];
};

struct mf_http_exchange {
  struct mf_http_conn *conn;
  struct mf_http_server *server;
  struct mf_http_head *head;
  struct mf_http_body body;
  struct mf_fiber *fiber;
  struct mf_fiber *reader, *writer; /* who waits */
  uint64_t body_deadline_ns, body_n;
  int fault; /* what the server answers when the handler does not; 0: nothing wrong yet */
  const char *fault_why;
  uint64_t unwritten_n; /* of a streamed response that has a length */
  bool keep;            /* the connection, after this */
  bool has_length, has_begun, has_ended, is_chunked, is_until_close, has_no_body, was_continued;
};

/* ---- server.c ---- */
void mf_http_server_conn_closed(struct mf_http_server *s); /* a socket is free */
void mf_http_server_conn_freed(struct mf_http_server *s);
const char *mf_http_server_date(struct mf_http_server *s);
/* Calls fn(user) from the loop; the process ends when there is no memory to remember it. */
void mf_http_defer(struct mf_loop *loop, void (*fn)(void *user), void *user);

/* ---- conn.c ---- */
/* Takes fd, also on failure. */
MF_MUST_USE enum mf_code mf_http_conn_new(struct mf_http_server *s, int fd, const char *peer, bool is_over_limit,
                                          struct mf_err *err);
void mf_http_conn_drop(struct mf_http_conn *c);    /* closes the socket now; idempotent */
void mf_http_conn_hung_up(struct mf_http_conn *c); /* the peer has ended its side, or more */
void mf_http_conn_stop(struct mf_http_conn *c);    /* ends it when it is idle */
void mf_http_conn_kill(struct mf_http_conn *c);    /* ends it; cancels its handler */
/* Sends what can be sent. */
void mf_http_conn_flush(struct mf_http_conn *c);
void mf_http_conn_flush_later(struct mf_http_conn *c);
/* Reads once into c->in. False: nothing is there (c->had_eof: and nothing will be), or the connection is dead. */
bool mf_http_conn_fill(struct mf_http_conn *c);
/* The exchange is over and freed. */
void mf_http_conn_next(struct mf_http_conn *c, bool keep);

/* ---- exchange.c ---- */
/* Takes head. False: no memory for a fiber (head is freed). */
bool mf_http_exchange_start(struct mf_http_conn *c, struct mf_http_head *head);
void mf_http_exchange_gone(struct mf_http_exchange *x);   /* cancels the handler, wakes who waits */
void mf_http_exchange_input(struct mf_http_exchange *x);  /* c->in has more, or the end is known */
void mf_http_exchange_output(struct mf_http_exchange *x); /* c->out has room */

/* ---- response.c ---- */
struct mf_http_response {
  int status;
  const struct mf_http_header *headers;
  size_t header_n;
  bool has_length, is_chunked, keep, is_http_1_0;
  uint64_t length;
};
/* MF_E_INPUT: a status, name or value that cannot be sent; nothing was appended then. */
MF_MUST_USE enum mf_code mf_http_response_head(struct mf_http_server *s, const struct mf_http_response *r,
                                               struct mf_http_bytes *out, struct mf_err *err);
/* A whole answer of the server's own. */
void mf_http_response_error(struct mf_http_server *s, const struct mf_http_refusal *why, bool is_head, bool keep,
                            bool is_http_1_0, struct mf_http_bytes *out);
/* "Connection: close" among the caller's headers. */
bool mf_http_response_wants_close(const struct mf_http_header *headers, size_t header_n);

#endif

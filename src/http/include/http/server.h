/* HTTP/1.1 server, strict: each request is a fiber. RFC 9110, RFC 9112.
 *
 * Refused before a handler sees it: conflicting or repeated Content-Length, Content-Length with Transfer-Encoding,
 * missing or repeated Host, obs-fold, NUL, bare LF, heads over 64 KiB or 128 fields (431), bad chunks (400, closed),
 * slow heads and bodies (408: absolute deadlines). Keep-alive, pipelining (one handler at a time per connection, in
 * order), Expect: 100-continue, HEAD.
 *
 * Thread: the loop's. The functions of an exchange are called from fibers, and read and write may wait there. */
#ifndef MF_HTTP_SERVER_H
#define MF_HTTP_SERVER_H

#include "base/buf.h"
#include "base/str.h"
#include "loop/fiber.h"

struct mf_http_server;
struct mf_http_header;
struct mf_http_exchange; /* one request and its response; lives as long as the handler runs */

struct mf_http_server_config {
  const char *host;               /* numeric address or name; NULL with unix_path */
  uint16_t port;                  /* 0: any; see mf_http_server_port */
  const char *unix_path;          /* made with mode 0600; what nobody listens on is replaced, else MF_E_EXISTS */
  bool own_user_only;             /* with unix_path: who is neither our user nor root is turned away */
  const char *tls_cert, *tls_key; /* PEM files (a chain, its key); NULL: plain */
  unsigned connections_max;       /* default 4096; a few more are answered 503, the rest waits to be accepted */
  uint64_t head_ms, body_ms;      /* absolute deadlines; default 10 s, 60 s. A body's starts with its first read */
  uint64_t keep_alive_ms;         /* default 75 s */
  uint64_t stall_ms;              /* a client that takes no byte for so long is gone; default 300 s */
  size_t body_bytes_max;          /* ceiling of every read; default 10 MiB; more is 413 */
  size_t write_high_bytes;        /* per connection; a writer waits above it; default 256 KiB */
  /* How the server itself answers a bad request; *ret_body (initialised, empty) is JSON. NULL: an empty body. */
  void (*error_body)(void *user, int status, const char *message, struct mf_buf *ret_body);
  /* One more field of such an answer, asked for before its body; borrowed until the next call. NULL: none. */
  void (*error_header)(void *user, struct mf_http_header *ret);
};
struct mf_http_header {
  struct mf_str name, value;
};

/* `handler` runs in a fiber of its own. When it returns without a response the server sends 500, or after a failed read
 * of the body what that failure means (400, 408, 413). When the client goes away the fiber is cancelled (at once, also
 * while nothing is written). A client that half-closes counts as gone; what is written without waiting still reaches
 * it. */
typedef void mf_http_handler(void *user, struct mf_http_exchange *x, struct mf_fiber *self);
/* Copies config's strings. MF_E_INPUT: certificate, key, address; MF_E_EXISTS: somebody listens there. */
MF_MUST_USE enum mf_code mf_http_server_new(struct mf_loop *loop, const struct mf_http_server_config *config,
                                            mf_http_handler *handler, void *user, struct mf_http_server **ret,
                                            struct mf_err *err);
uint16_t mf_http_server_port(const struct mf_http_server *s); /* 0 for a Unix socket */
/* Stops accepting, closes idle connections, lets requests run until deadline_ns, then cancels them; `stopped` once,
 * from the loop. Called again it only moves the deadline. */
void mf_http_server_stop(struct mf_http_server *s, uint64_t deadline_ns, void (*stopped)(void *user), void *user);
void mf_http_server_free(struct mf_http_server *s); /* after stopped, or when nobody ever connected; NULL is fine */
struct mf_http_server_stats {
  unsigned connections, requests; /* now */
  uint64_t total_requests;        /* those that reached a handler */
};
struct mf_http_server_stats mf_http_server_stats(const struct mf_http_server *s);

/* ---- the request ---- */
struct mf_str mf_http_method(const struct mf_http_exchange *x);
struct mf_str mf_http_path(const struct mf_http_exchange *x);  /* percent-decoding is the caller's; without query */
struct mf_str mf_http_query(const struct mf_http_exchange *x); /* raw, without '?' */
struct mf_str mf_http_header(const struct mf_http_exchange *x, const char *name); /* first; {NULL,0} when absent */
size_t mf_http_headers(const struct mf_http_exchange *x, const struct mf_http_header **ret);
const char *mf_http_peer(const struct mf_http_exchange *x); /* "127.0.0.1:4711", "[::1]:4711", "unix" */
/* Reads the whole body (chunked or not) into *ret, which is initialised here; release it with mf_buf_done, also after
 * an error. MF_E_LIMIT: over `max` (answer 413, the connection closes cleanly); MF_E_INPUT: bad chunks; MF_E_TIMEOUT:
 * slow; MF_E_GONE or MF_E_CANCELLED: the client has left. */
MF_MUST_USE enum mf_code mf_http_read_body(struct mf_http_exchange *x, size_t max, struct mf_buf *ret,
                                           struct mf_err *err);
/* Reads some of it (at least 1 byte; 0 at the end) for streamed uploads. Once a response has begun there is nothing
 * left to read. */
MF_MUST_USE enum mf_code mf_http_read_some(struct mf_http_exchange *x, void *p, size_t n, size_t *ret_n,
                                           struct mf_err *err);

/* ---- the response ---- */
/* Content-Length, Transfer-Encoding, Date and Connection are added here; the caller's own are left out, but
 * "Connection: close" is honoured. A name or value that would break the head is MF_E_INPUT. */
MF_MUST_USE enum mf_code mf_http_respond(struct mf_http_exchange *x, int status, const struct mf_http_header *headers,
                                         size_t header_n, struct mf_str body, struct mf_err *err);
/* A streamed response: chunked (or until close for HTTP/1.0). write waits while the client reads slowly. What was
 * written leaves at the end of the loop's turn. Without end the client sees a cut response. */
MF_MUST_USE enum mf_code mf_http_begin(struct mf_http_exchange *x, int status, const struct mf_http_header *headers,
                                       size_t header_n, struct mf_err *err);
/* The same of a length that is known before: with Content-Length, also where no body is sent (HEAD). A write of more,
 * and an end before all of it (unless it is not sent), are MF_E_INTERNAL. */
MF_MUST_USE enum mf_code mf_http_begin_sized(struct mf_http_exchange *x, int status,
                                             const struct mf_http_header *headers, size_t header_n, uint64_t body_bytes,
                                             struct mf_err *err);
MF_MUST_USE enum mf_code mf_http_write(struct mf_http_exchange *x, struct mf_str data, struct mf_err *err);
MF_MUST_USE enum mf_code mf_http_end(struct mf_http_exchange *x, struct mf_err *err);
bool mf_http_has_begun(const struct mf_http_exchange *x);
/* Breaks the connection like an accident: what was written is sent if it fits, then TCP resets. The fiber is cancelled.
 */
void mf_http_abort(struct mf_http_exchange *x);

#endif

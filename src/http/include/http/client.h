/* HTTP client: libcurl's multi interface on the loop, read by fibers. Back-pressure: the transfer is paused while
 * nobody reads and more than a bounded amount (64 KiB) is waiting.
 *
 * HTTP/1.1 over http: and https: (certificates are checked against the system's). Connections are used again. No
 * redirects, no cookies, no proxies and nothing else from the environment. The program ignores SIGPIPE. Thread: the
 * loop's. */
#ifndef MF_HTTP_CLIENT_H
#define MF_HTTP_CLIENT_H

#include "base/buf.h"
#include "http/server.h" /* mf_http_header */
#include "loop/fiber.h"

struct mf_http_client;
struct mf_http_call;

/* MF_E_UNAVAILABLE: this machine has no libcurl (>= 7.80), which is loaded here. */
MF_MUST_USE enum mf_code mf_http_client_new(struct mf_loop *loop, struct mf_http_client **ret, struct mf_err *err);
void mf_http_client_free(struct mf_http_client *c); /* no call may be open; NULL is fine */

struct mf_http_request {
  const char *method; /* "GET", "POST" …; NULL: GET */
  const char *url;
  const char *unix_path; /* connect to this socket instead of the URL's host; NULL: to the host */
  /* Sent as they are. Content-Length, Transfer-Encoding, Connection and Expect are the client's own affair and left
   * out; Accept-Encoding is identity unless it is given. */
  const struct mf_http_header *headers;
  size_t header_n;
  struct mf_str body;  /* copied */
  uint64_t connect_ms; /* name, connection, TLS; 0: 10 s */
  uint64_t idle_ms;    /* between chunks, also before the head; 0: none */
};
/* Sends and waits for the response's head. MF_E_TIMEOUT (idle or connect), MF_E_GONE (refused, reset, name unknown, not
 * HTTP), MF_E_LIMIT (a head over 64 KiB), MF_E_INPUT (a URL, method or header that cannot be sent), MF_E_CANCELLED. */
MF_MUST_USE enum mf_code mf_http_call_open(struct mf_http_client *c, struct mf_fiber *self,
                                           const struct mf_http_request *req, struct mf_http_call **ret,
                                           struct mf_err *err);
/* What follows belongs to the call. */
int mf_http_call_status(const struct mf_http_call *call);
struct mf_str mf_http_call_header(const struct mf_http_call *call, const char *name); /* first; {NULL,0} when absent */
size_t mf_http_call_headers(const struct mf_http_call *call, const struct mf_http_header **ret);
/* The next piece of the body, borrowed until the next read or close; len 0 at a clean end; MF_E_GONE when it was cut,
 * MF_E_TIMEOUT when nothing came for idle_ms, MF_E_CANCELLED. What has come is given out before any of these. */
MF_MUST_USE enum mf_code mf_http_call_read(struct mf_http_call *call, struct mf_fiber *self, struct mf_str *ret,
                                           struct mf_err *err);
/* Whether a read would give something, or the end, without waiting. */
bool mf_http_call_is_ready(const struct mf_http_call *call);
/* The whole body into *ret, which is initialised here; release it with mf_buf_done, also after an error. MF_E_LIMIT:
 * over max. */
MF_MUST_USE enum mf_code mf_http_call_read_all(struct mf_http_call *call, struct mf_fiber *self, size_t max,
                                               struct mf_buf *ret, struct mf_err *err);
/* Cancels what is under way: its connection is closed at once. NULL is fine. */
void mf_http_call_close(struct mf_http_call *call);

#endif

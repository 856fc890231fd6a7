/* A connected stream socket, plain or TLS (OpenSSL over a BIO that sends without SIGPIPE). Non-blocking. */
#ifndef MF_HTTP_STREAM_H
#define MF_HTTP_STREAM_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct ssl_st;
struct ssl_ctx_st;

struct mf_http_stream {
  int fd; /* owned */
  struct ssl_st *ssl;
  bool wants_write; /* TLS must send before it can go on with what it was asked */
};

/* A server's TLS context from PEM files. */
MF_MUST_USE enum mf_code mf_http_tls_new(const char *cert, const char *key, struct ssl_ctx_st **ret,
                                         struct mf_err *err);
void mf_http_tls_free(struct ssl_ctx_st *tls); /* NULL is fine */

/* Takes fd, also on failure. tls NULL: plain. *s must not move afterwards. */
MF_MUST_USE enum mf_code mf_http_stream_init(struct mf_http_stream *s, int fd, struct ssl_ctx_st *tls,
                                             struct mf_err *err);
void mf_http_stream_done(struct mf_http_stream *s);
/* 0: done (at once when plain); -EAGAIN: later; other negative errno values: broken. */
int mf_http_stream_handshake(struct mf_http_stream *s);
/* > 0: bytes; 0: the peer has ended its side; -EAGAIN: later; other negative errno values: broken. */
ssize_t mf_http_stream_read(struct mf_http_stream *s, void *p, size_t n);
ssize_t mf_http_stream_write(struct mf_http_stream *s, const void *p, size_t n);
/* TLS holds decrypted bytes that no event of the socket will tell of. */
bool mf_http_stream_has_pending(const struct mf_http_stream *s);
/* Ends our side: what was written still arrives. */
void mf_http_stream_shut(struct mf_http_stream *s);
/* The close that follows shall look like an accident to the peer (TCP: RST). */
void mf_http_stream_reset(struct mf_http_stream *s);

#endif

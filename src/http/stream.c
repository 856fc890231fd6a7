/* Plain and TLS streams. Thread: the loop's. */
#include "stream.h"

#include <errno.h>
#include <limits.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/banned.h"

/* ---- the BIO ---- */

/* OpenSSL's own socket BIO uses write(2), and a library must not rely on SIGPIPE being ignored. */

static int bio_fd(BIO *bio)
{
  const int *fd = BIO_get_data(bio);
  return *fd;
}

static int bio_read(BIO *bio, char *p, int n)
{
  BIO_clear_retry_flags(bio);
  ssize_t got = recv(bio_fd(bio), p, (size_t)n, 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR))
    BIO_set_retry_read(bio);
  if (got == 0)
    BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  return (int)got;
}

static int bio_write(BIO *bio, const char *p, int n)
{
  BIO_clear_retry_flags(bio);
  ssize_t put = send(bio_fd(bio), p, (size_t)n, MSG_NOSIGNAL);
  if (put < 0 && (errno == EAGAIN || errno == EINTR))
    BIO_set_retry_write(bio);
  return (int)put;
}

static long bio_ctrl(BIO *bio, int cmd, long num, void *ptr)
{
  if (cmd == BIO_CTRL_EOF)
    return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
  return cmd == BIO_CTRL_FLUSH;
}

static BIO_METHOD *bio_method(void)
{
  static BIO_METHOD *method;
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&lock);
  if (!method) {
    BIO_METHOD *m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "mayfly socket");
    if (m && BIO_meth_set_read(m, bio_read) && BIO_meth_set_write(m, bio_write) && BIO_meth_set_ctrl(m, bio_ctrl))
      method = m;
    else
      BIO_meth_free(m);
  }
  pthread_mutex_unlock(&lock);
  return method;
}

/* ---- the context ---- */

static enum mf_code fail_tls(struct mf_err *err, enum mf_code code, const char *what)
{
  unsigned long e = ERR_get_error();
  const char *why = e ? ERR_reason_error_string(e) : NULL;
  ERR_clear_error();
  return mf_fail(err, code, 0, "%s: %s", what, why ? why : "unknown error");
}

static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_n, const unsigned char *in,
                           unsigned in_n, void *user)
{
  static const unsigned char ours[] = "\x08http/1.1";
  unsigned char *chosen;
  if (SSL_select_next_proto(&chosen, out_n, ours, sizeof(ours) - 1, in, in_n) != OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

enum mf_code mf_http_tls_new(const char *cert, const char *key, struct ssl_ctx_st **ret, struct mf_err *err)
{
  SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
  if (!ctx)
    return fail_tls(err, MF_E_INTERNAL, "set up TLS");
  SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
  SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE |
                               SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_id_context(ctx, (const unsigned char *)"mayfly", 6);
  SSL_CTX_set_alpn_select_cb(ctx, choose_protocol, NULL);
  enum mf_code code = MF_OK;
  if (SSL_CTX_use_certificate_chain_file(ctx, cert) != 1)
    code = fail_tls(err, MF_E_INPUT, "read the TLS certificate");
  else if (SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1)
    code = fail_tls(err, MF_E_INPUT, "read the TLS key");
  else if (SSL_CTX_check_private_key(ctx) != 1)
    code = fail_tls(err, MF_E_INPUT, "the TLS key does not fit the certificate");
  if (code) {
    SSL_CTX_free(ctx);
    return code;
  }
  *ret = ctx;
  return MF_OK;
}

void mf_http_tls_free(struct ssl_ctx_st *tls)
{
  SSL_CTX_free(tls);
}

/* ---- the stream ---- */

enum mf_code mf_http_stream_init(struct mf_http_stream *s, int fd, struct ssl_ctx_st *tls, struct mf_err *err)
{
  *s = (struct mf_http_stream){ .fd = fd };
  if (!tls)
    return MF_OK;
  BIO_METHOD *method = bio_method();
  BIO *bio = method ? BIO_new(method) : NULL;
  s->ssl = bio ? SSL_new(tls) : NULL;
  if (!s->ssl) {
    BIO_free(bio);
    mf_http_stream_done(s);
    return fail_tls(err, MF_E_INTERNAL, "set up a TLS connection");
  }
  BIO_set_data(bio, &s->fd);
  BIO_set_init(bio, 1);
  SSL_set_bio(s->ssl, bio, bio);
  SSL_set_accept_state(s->ssl);
  return MF_OK;
}

void mf_http_stream_done(struct mf_http_stream *s)
{
  SSL_free(s->ssl);
  s->ssl = NULL;
  mf_close_ptr(&s->fd);
}

/* What an SSL call that returned n <= 0 means. */
static ssize_t read_outcome(struct mf_http_stream *s, int n, int sys)
{
  int kind = SSL_get_error(s->ssl, n);
  ERR_clear_error();
  s->wants_write = kind == SSL_ERROR_WANT_WRITE;
  if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE)
    return -EAGAIN;
  if (kind == SSL_ERROR_ZERO_RETURN)
    return 0;
  return kind == SSL_ERROR_SYSCALL && sys ? -sys : -EPROTO;
}

int mf_http_stream_handshake(struct mf_http_stream *s)
{
  if (!s->ssl)
    return 0;
  errno = 0;
  int n = SSL_do_handshake(s->ssl);
  if (n == 1) {
    s->wants_write = false;
    return 0;
  }
  ssize_t outcome = read_outcome(s, n, errno);
  return outcome == 0 ? -ECONNRESET : (int)outcome;
}

ssize_t mf_http_stream_read(struct mf_http_stream *s, void *p, size_t n)
{
  if (!s->ssl) {
    ssize_t got;
    do
      got = recv(s->fd, p, n, 0);
    while (got < 0 && errno == EINTR);
    return got < 0 ? -errno : got;
  }
  errno = 0;
  int got = SSL_read(s->ssl, p, (int)MF_MIN(n, (size_t)INT_MAX));
  if (got <= 0)
    return read_outcome(s, got, errno);
  s->wants_write = false;
  return got;
}

ssize_t mf_http_stream_write(struct mf_http_stream *s, const void *p, size_t n)
{
  if (!s->ssl) {
    ssize_t put;
    do
      put = send(s->fd, p, n, MSG_NOSIGNAL);
    while (put < 0 && errno == EINTR);
    return put < 0 ? -errno : put;
  }
  errno = 0;
  int put = SSL_write(s->ssl, p, (int)MF_MIN(n, (size_t)INT_MAX));
  if (put > 0) {
    s->wants_write = false;
    return put;
  }
  ssize_t outcome = read_outcome(s, put, errno);
  return outcome == 0 ? -EPIPE : outcome;
}

bool mf_http_stream_has_pending(const struct mf_http_stream *s)
{
  return s->ssl && SSL_pending(s->ssl) > 0;
}

void mf_http_stream_shut(struct mf_http_stream *s)
{
  if (s->ssl && SSL_is_init_finished(s->ssl)) {
    SSL_shutdown(s->ssl);
    ERR_clear_error();
  }
  shutdown(s->fd, SHUT_WR);
}

void mf_http_stream_reset(struct mf_http_stream *s)
{
  struct linger l = { .l_onoff = 1, .l_linger = 0 };
  setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
}

/* A listening socket: TCP, or a Unix socket that only its owner may use. */
#ifndef MF_HTTP_LISTEN_H
#define MF_HTTP_LISTEN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"

struct mf_http_listener {
  int fd; /* -1: none */
  uint16_t port;
  char *unix_path; /* NULL: TCP */
  dev_t dev;
  ino_t ino; /* of the socket's file, so that only ours is removed */
};
MF_MUST_USE enum mf_code mf_http_listen_tcp(struct mf_http_listener *l, const char *host, uint16_t port,
                                            struct mf_err *err);
/* Mode 0600. A socket that nobody listens on is replaced; MF_E_EXISTS for a live one and for any other file. */
MF_MUST_USE enum mf_code mf_http_listen_unix(struct mf_http_listener *l, const char *path, struct mf_err *err);
/* Closes it, and removes our file. Idempotent. */
void mf_http_listener_done(struct mf_http_listener *l);

#endif

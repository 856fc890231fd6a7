/* Where a server of ours listens, told to the person and to the script that started it. */
#ifndef MF_CLI_ANNOUNCE_H
#define MF_CLI_ANNOUNCE_H

#include <stdbool.h>

#include "base/err.h"

struct mf_address {
  const char *host;      /* NULL: 127.0.0.1 */
  unsigned port;         /* 0 for a Unix socket */
  const char *unix_path; /* NULL: host and port */
  bool is_tls;
};
/* "http://127.0.0.1:9000/v1", "unix:/run/mayfly.sock". */
void mf_address_text(const struct mf_address *a, char *ret, size_t n);
/* Writes "listening on …" to standard output unless `quiet`, after the port to port_file (NULL: none), which is seen
 * whole or not at all. Fails when that file cannot be written; a server whose output nobody reads goes on. */
MF_MUST_USE enum mf_code mf_announce(const struct mf_address *a, const char *port_file, bool quiet, struct mf_err *err);

#endif

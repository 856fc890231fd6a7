/* Who may ask: keys, CORS, and hosts that are this machine. Thread: any. */
#ifndef MF_GATEWAY_ACCESS_H
#define MF_GATEWAY_ACCESS_H

#include "base/hash.h"
#include "gateway/gateway.h"
#include "routes.h"

/* A key is kept as its SHA-256, so that comparing takes as long for a near miss as for any other. */
struct mf_gw_key {
  char sha256[MF_SHA256_HEX_N];
};
struct mf_gw_access {
  struct mf_gw_key *keys; /* of clients */
  size_t key_n;
  bool has_owner;
  struct mf_gw_key owner; /* the upstream key, as a guard of what is stored */
  char **origins;
  size_t origin_n;
  bool any_origin;
  bool check_host;
};
void mf_gw_access_init(struct mf_gw_access *a, const struct mf_gateway_config *config);
void mf_gw_access_done(struct mf_gw_access *a);

/* The token of "Bearer TOKEN"; {NULL,0} for anything else. */
struct mf_str mf_gw_bearer(struct mf_str authorization);

enum mf_gw_verdict { MF_GW_PASS, MF_GW_NO_TOKEN, MF_GW_BAD_TOKEN };
enum mf_gw_verdict mf_gw_authorize(const struct mf_gw_access *a, enum mf_gw_auth auth, struct mf_str authorization);
/* Whether the client's Authorization is its own, for upstream, and not a key of this gateway. */
bool mf_gw_bearer_is_clients(const struct mf_gw_access *a);

/* What Access-Control-Allow-Origin says to this Origin; empty: nothing. Borrowed from a. */
struct mf_str mf_gw_cors(const struct mf_gw_access *a, struct mf_str origin);

/* "localhost", "x.localhost", 127.0.0.0/8 or [::1], with or without a port. */
bool mf_gw_host_is_local(struct mf_str host);
/* A web page of another host must not be able to reach a server on loopback through a person's browser, not even by a
 * name that its owner points to 127.0.0.1. Origin may be empty. */
bool mf_gw_host_passes(const struct mf_gw_access *a, struct mf_str host, struct mf_str origin);

#endif

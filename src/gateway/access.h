/* Who may ask: keys, CORS, and hosts that are this machine. Thread: the loop's; asking storage needs a fiber. */
#ifndef MF_GATEWAY_ACCESS_H
#define MF_GATEWAY_ACCESS_H

#include "base/key.h"
#include "gateway/gateway.h"
#include "interpreter/tasks.h" /* MF_TASK_OWNER_MAX */
#include "routes.h"

/* A key is kept as its SHA-256, so that comparing takes as long for a near miss as for any other. */
struct mf_gw_key {
  char sha256[MF_SHA256_HEX_N];
};
/* A stored key that storage has called valid. */
struct mf_gw_seen_key {
  struct mf_key key;
  uint64_t until_ns; /* asked again after that; 0: no key */
};
enum { MF_GW_SEEN_N = 64, MF_GW_SEEN_MS = 1000 };

struct mf_gw_access {
  struct mf_gw_key *keys; /* of clients, from the configuration */
  size_t key_n;
  struct mf_storage *storage; /* with keys of its own; NULL: none */
  bool has_stored;            /* there is one, or was before it was revoked: stays so */
  uint64_t none_until_ns;     /* until then it is believed that there is none */
  struct mf_gw_seen_key seen[MF_GW_SEEN_N];
  bool has_owner;
  struct mf_gw_key owner; /* the upstream key, as a guard of what is stored */
  char **origins;
  size_t origin_n;
  bool any_origin;
  bool check_host;
};
void mf_gw_access_init(struct mf_gw_access *a, const struct mf_gateway_config *config, struct mf_storage *storage);
void mf_gw_access_done(struct mf_gw_access *a);

/* The token of "Bearer TOKEN"; {NULL,0} for anything else. */
struct mf_str mf_gw_bearer(struct mf_str authorization);

enum mf_gw_verdict { MF_GW_PASS, MF_GW_NO_TOKEN, MF_GW_BAD_TOKEN };
struct mf_gw_asker {
  enum mf_gw_auth auth; /* what the route asks for */
  bool is_local;        /* it came by the own Unix socket */
  struct mf_str authorization;
};
/* *ret_owner: whose tasks it sees (struct mf_gw_request), "" unless MF_GW_PASS. A key that is revoked, or the first one
 * that is stored, counts within MF_GW_SEEN_MS. An error of storage when a stored key had to be looked up; when only
 * the question was whether there are any, the last answer counts. */
MF_MUST_USE enum mf_code mf_gw_authorize(struct mf_gw_access *a, struct mf_fiber *self, const struct mf_gw_asker *asker,
                                         enum mf_gw_verdict *ret, char ret_owner[MF_TASK_OWNER_MAX + 1],
                                         struct mf_err *err);
/* Whether keys of this gateway are asked for. */
bool mf_gw_has_keys(const struct mf_gw_access *a);
/* Whether the client's Authorization is its own, for upstream, and not a key of this gateway. */
bool mf_gw_bearer_is_clients(const struct mf_gw_access *a, struct mf_str authorization);

/* What Access-Control-Allow-Origin says to this Origin; empty: nothing. Borrowed from a. */
struct mf_str mf_gw_cors(const struct mf_gw_access *a, struct mf_str origin);

/* "localhost", "x.localhost", 127.0.0.0/8 or [::1], with or without a port. */
bool mf_gw_host_is_local(struct mf_str host);
/* A web page of another host must not be able to reach a server on loopback through a person's browser, not even by a
 * name that its owner points to 127.0.0.1. Origin may be empty. */
bool mf_gw_host_passes(const struct mf_gw_access *a, struct mf_str host, struct mf_str origin);

#endif

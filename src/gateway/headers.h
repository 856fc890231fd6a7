/* Headers that pass through a proxy, and those that do not (RFC 9110 §7.6.1). Thread: any. */
#ifndef MF_GATEWAY_HEADERS_H
#define MF_GATEWAY_HEADERS_H

#include "http/server.h"

/* Field names are compared without case. */
bool mf_gw_name_is(struct mf_str name, const char *z);

/* Copies the fields (borrowed) that go on to upstream: without hop-by-hop ones, those that Connection names, Host,
 * Content-Length and Expect. with_secrets: with the client's Authorization and the other places of a key. Returns how
 * many; at most max. */
size_t mf_gw_headers_to_upstream(const struct mf_http_header *in, size_t in_n, bool with_secrets,
                                 struct mf_http_header *out, size_t max);
/* Those that go back to the client: also without upstream's Access-Control-*, which would let foreign pages in. */
size_t mf_gw_headers_to_client(const struct mf_http_header *in, size_t in_n, struct mf_http_header *out, size_t max);
const struct mf_http_header *mf_gw_headers_find(const struct mf_http_header *in, size_t in_n, const char *name);

#endif

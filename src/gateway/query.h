/* Percent-decoding, and the parameters of a query. Thread: any. */
#ifndef MF_GATEWAY_QUERY_H
#define MF_GATEWAY_QUERY_H

#include "base/str.h"

/* Decodes into ret, which is NUL-terminated. False: a bad escape, a control character, bytes that are no UTF-8, or more
 * than n - 1 of them. */
bool mf_gw_decode(struct mf_str s, bool plus_is_space, char *ret, size_t n);

enum mf_gw_param { MF_GW_PARAM_ABSENT, MF_GW_PARAM_OK, MF_GW_PARAM_BAD };
/* The first parameter of that name, decoded. BAD: mf_gw_decode would not. */
enum mf_gw_param mf_gw_query_get(struct mf_str query, const char *name, char *ret, size_t n);

#endif

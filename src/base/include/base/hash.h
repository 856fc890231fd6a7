/* SHA-256 (OpenSSL) as lower-case hex. */
#ifndef MF_BASE_HASH_H
#define MF_BASE_HASH_H

#include "base/str.h"

#define MF_SHA256_HEX_N 65 /* with the NUL */

struct mf_sha256; /* a running digest */
struct mf_sha256 *mf_sha256_new(void);
void mf_sha256_update(struct mf_sha256 *h, const void *p, size_t n);
/* Writes the hex and frees h. */
void mf_sha256_finish(struct mf_sha256 *h, char ret_hex[MF_SHA256_HEX_N]);
void mf_sha256_of(struct mf_str s, char ret_hex[MF_SHA256_HEX_N]);

#endif

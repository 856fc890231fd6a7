/* API keys of this house: "mayfly_ID_SECRET". The id is public: it names the key in lists and owns its tasks. The
 * secret is shown once and kept by nobody: its SHA-256 is stored. Thread: any. */
#ifndef MF_BASE_KEY_H
#define MF_BASE_KEY_H

#include "base/hash.h"

#define MF_KEY_ID_N 29 /* "key_" and 24 characters of [0-9a-z], with the NUL */
#define MF_KEY_N 65    /* a whole key; its secret has 32 such characters, 165 bits */

struct mf_key {
  char id[MF_KEY_ID_N];
  char sha256[MF_SHA256_HEX_N]; /* of the secret */
};

/* A new key, and what is to be stored of it. Whoever shows `ret_text` wipes it afterwards. */
void mf_key_new(char ret_text[MF_KEY_N], struct mf_key *ret);
/* False: this is no key of ours. */
bool mf_key_parse(struct mf_str text, struct mf_key *ret);
/* Whether s has the form of a key's id. */
bool mf_key_is_id(struct mf_str s);
/* Compares two digests; looks at every byte, whatever the first ones say. */
bool mf_sha256_eq(const char a[MF_SHA256_HEX_N], const char b[MF_SHA256_HEX_N]);

#endif

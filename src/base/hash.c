/* SHA-256 through OpenSSL's EVP. Thread: any, one owner of a digest at a time. */
#include "base/hash.h"

#include <assert.h>
#include <openssl/evp.h>

#include "base/err.h"
#include "base/log.h"
#include "base/banned.h"

struct mf_sha256 {
  EVP_MD_CTX *ctx;
};

/* SHA-256 is in every OpenSSL; without it (or without memory) nothing here can go on. */
static void must(int ok)
{
  if (!ok) {
    mf_log(MF_LOG_ERROR, "OpenSSL cannot compute SHA-256");
    abort();
  }
}

struct mf_sha256 *mf_sha256_new(void)
{
  struct mf_sha256 *h = mf_xcalloc(1, sizeof(*h));
  h->ctx = EVP_MD_CTX_new();
  must(h->ctx != NULL && EVP_DigestInit_ex(h->ctx, EVP_sha256(), NULL));
  return h;
}

void mf_sha256_update(struct mf_sha256 *h, const void *p, size_t n)
{
  must(EVP_DigestUpdate(h->ctx, p, n));
}

void mf_sha256_finish(struct mf_sha256 *h, char ret_hex[MF_SHA256_HEX_N])
{
  static const char hex[] = "0123456789abcdef";
  unsigned char sum[EVP_MAX_MD_SIZE];
  unsigned n = 0;
  must(EVP_DigestFinal_ex(h->ctx, sum, &n));
  assert(n * 2 + 1 == MF_SHA256_HEX_N);
  char *at = ret_hex;
  for (unsigned i = 0; i < n; i++) {
    *at++ = hex[sum[i] >> 4];
    *at++ = hex[sum[i] & 15];
  }
  *at = 0;
  EVP_MD_CTX_free(h->ctx);
  free(h);
}

void mf_sha256_of(struct mf_str s, char ret_hex[MF_SHA256_HEX_N])
{
  struct mf_sha256 *h = mf_sha256_new();
  mf_sha256_update(h, s.ptr, s.len);
  mf_sha256_finish(h, ret_hex);
}

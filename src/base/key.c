/* API keys: made, and taken apart. */
#include "base/key.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/compiler.h"
#include "base/banned.h"

static const char prefix[] = "mayfly_", id_prefix[] = "key_";
static const char alphabet[] = "0123456789abcdefghijklmnopqrstuvwxyz";
enum { PREFIX_N = sizeof(prefix) - 1, ID_PREFIX_N = sizeof(id_prefix) - 1, ID_N = 24, SECRET_N = 32 };
_Static_assert(MF_KEY_N == PREFIX_N + ID_N + 1 + SECRET_N + 1, "the parts make the whole");
_Static_assert(MF_KEY_ID_N == ID_PREFIX_N + ID_N + 1, "the parts make the id");

static void random_text(char *at, size_t n)
{
  unsigned char raw[64];
  size_t used = sizeof(raw);
  for (size_t i = 0; i < n;) {
    if (used == sizeof(raw)) {
      /* A key that could be guessed would be worse than an end. */
      while (getrandom(raw, sizeof(raw), 0) != (ssize_t)sizeof(raw))
        if (errno != EINTR)
          abort();
      used = 0;
    }
    unsigned char b = raw[used++];
    if (b < 252) /* 7 × 36: no character is likelier than another */
      at[i++] = alphabet[b % 36];
  }
  explicit_bzero(raw, sizeof(raw));
}

static bool is_text(struct mf_str s, size_t n)
{
  bool is_text = s.len == n;
  for (size_t i = 0; is_text && i < n; i++)
    is_text = (s.ptr[i] >= '0' && s.ptr[i] <= '9') || (s.ptr[i] >= 'a' && s.ptr[i] <= 'z');
  return is_text;
}

void mf_key_new(char ret_text[MF_KEY_N], struct mf_key *ret)
{
  memcpy(ret_text, prefix, PREFIX_N);
  random_text(ret_text + PREFIX_N, ID_N);
  ret_text[PREFIX_N + ID_N] = '_';
  random_text(ret_text + PREFIX_N + ID_N + 1, SECRET_N);
  ret_text[MF_KEY_N - 1] = 0;
  if (!mf_key_parse((struct mf_str){ ret_text, MF_KEY_N - 1 }, ret))
    abort();
}

bool mf_key_parse(struct mf_str text, struct mf_key *ret)
{
  if (text.len != MF_KEY_N - 1 || !mf_str_starts(text, prefix) || text.ptr[PREFIX_N + ID_N] != '_')
    return false;
  struct mf_str id = { text.ptr + PREFIX_N, ID_N }, secret = { text.ptr + PREFIX_N + ID_N + 1, SECRET_N };
  if (!is_text(id, ID_N) || !is_text(secret, SECRET_N))
    return false;
  memcpy(ret->id, id_prefix, ID_PREFIX_N);
  memcpy(ret->id + ID_PREFIX_N, id.ptr, ID_N);
  ret->id[MF_KEY_ID_N - 1] = 0;
  mf_sha256_of(secret, ret->sha256);
  return true;
}

bool mf_key_is_id(struct mf_str s)
{
  return mf_str_starts(s, id_prefix) && is_text((struct mf_str){ s.ptr + ID_PREFIX_N, s.len - ID_PREFIX_N }, ID_N);
}

bool mf_sha256_eq(const char a[MF_SHA256_HEX_N], const char b[MF_SHA256_HEX_N])
{
  unsigned char diff = 0;
  for (size_t i = 0; i < MF_SHA256_HEX_N; i++)
    diff |= (unsigned char)((unsigned char)a[i] ^ (unsigned char)b[i]);
  return diff == 0;
}

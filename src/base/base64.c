/* Base64: in blocks, because an append for each three bytes would be most of the work. */
#include "base/base64.h"

#include <stdint.h>

#include "base/banned.h"

enum { BLOCK_GROUPS = 1024 }; /* groups of three bytes, four characters */

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

enum mf_code mf_base64_encode(struct mf_str in, struct mf_buf *out)
{
  char block[BLOCK_GROUPS * 4];
  while (in.len > 0) {
    size_t used = 0, n = 0;
    while (used < in.len && n < sizeof(block)) {
      size_t take = MF_MIN(in.len - used, (size_t)3);
      uint32_t v = 0;
      for (size_t k = 0; k < 3; k++)
        v = v << 8 | (k < take ? (unsigned char)in.ptr[used + k] : 0u);
      for (size_t k = 0; k < 4; k++)
        block[n++] = k <= take ? alphabet[v >> (18 - 6 * k) & 63] : '=';
      used += take;
    }
    enum mf_code code = mf_buf_append(out, block, n);
    if (code)
      return code;
    in = (struct mf_str){ in.ptr + used, in.len - used };
  }
  return MF_OK;
}

static uint32_t value_of(char c)
{
  if (c >= 'A' && c <= 'Z')
    return (uint32_t)(c - 'A');
  if (c >= 'a' && c <= 'z')
    return (uint32_t)(c - 'a') + 26;
  if (c >= '0' && c <= '9')
    return (uint32_t)(c - '0') + 52;
  return c == '+' ? 62 : c == '/' ? 63 : 64;
}

/* Four characters, the last `pad` of them being padding. False: not base64. */
static bool decode_group(const char *p, unsigned pad, char ret[3])
{
  uint32_t v = 0, bad = 0;
  for (unsigned k = 0; k < 4; k++) {
    uint32_t d = k >= 4 - pad ? 0 : value_of(p[k]);
    bad |= d & 64;
    v = v << 6 | (d & 63);
  }
  ret[0] = (char)(v >> 16 & 255);
  ret[1] = (char)(v >> 8 & 255);
  ret[2] = (char)(v & 255);
  uint32_t left_over = pad == 0 ? 0 : v & (pad == 1 ? 0xffu : 0xffffu);
  return !bad && !left_over;
}

enum mf_code mf_base64_decode(struct mf_str in, struct mf_buf *out)
{
  char block[BLOCK_GROUPS * 3];
  if (in.len % 4 != 0)
    return MF_E_INPUT;
  while (in.len > 0) {
    size_t used = 0, n = 0;
    while (used < in.len && n < sizeof(block)) {
      const char *p = in.ptr + used;
      used += 4;
      bool is_last = used == in.len;
      unsigned pad = !is_last || p[3] != '=' ? 0 : p[2] != '=' ? 1 : 2;
      if (!decode_group(p, pad, block + n))
        return MF_E_INPUT;
      n += 3 - pad;
    }
    enum mf_code code = mf_buf_append(out, block, n);
    if (code)
      return code;
    in = (struct mf_str){ in.ptr + used, in.len - used };
  }
  return MF_OK;
}

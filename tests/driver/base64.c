/* Base64: see base64.h. */
#include "base64.h"

#include <stdint.h>

#include "base/banned.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

enum mf_code mf_base64_encode(struct mf_str in, struct mf_buf *out)
{
  for (size_t i = 0; i < in.len; i += 3) {
    size_t n = MF_MIN(in.len - i, (size_t)3);
    uint32_t v = 0;
    for (size_t k = 0; k < 3; k++)
      v = v << 8 | (k < n ? (unsigned char)in.ptr[i + k] : 0u);
    char four[4];
    for (size_t k = 0; k < 4; k++)
      four[k] = k <= n ? alphabet[v >> (18 - 6 * k) & 63] : '=';
    enum mf_code code = mf_buf_append(out, four, 4);
    if (code != MF_OK)
      return code;
  }
  return MF_OK;
}

static int value_of(char c)
{
  if (c >= 'A' && c <= 'Z')
    return c - 'A';
  if (c >= 'a' && c <= 'z')
    return c - 'a' + 26;
  if (c >= '0' && c <= '9')
    return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

enum mf_code mf_base64_decode(struct mf_str in, struct mf_buf *out)
{
  if (in.len % 4 != 0)
    return MF_E_INPUT;
  for (size_t i = 0; i < in.len; i += 4) {
    unsigned pad = in.ptr[i + 3] != '=' ? 0 : in.ptr[i + 2] != '=' ? 1 : 2;
    if (pad > 0 && i + 4 != in.len)
      return MF_E_INPUT;
    uint32_t v = 0;
    for (unsigned k = 0; k < 4; k++) {
      int d = k >= 4 - pad ? 0 : value_of(in.ptr[i + k]);
      if (d < 0)
        return MF_E_INPUT;
      v = v << 6 | (uint32_t)d;
    }
    char three[3] = { (char)(v >> 16 & 255), (char)(v >> 8 & 255), (char)(v & 255) };
    enum mf_code code = mf_buf_append(out, three, 3 - pad);
    if (code != MF_OK)
      return code;
  }
  return MF_OK;
}

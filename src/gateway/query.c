/* Percent-decoding (RFC 3986 §2.1), and the parameters of a query. Thread: any. */
#include "query.h"

#include "base/utf8.h"
#include "base/banned.h"

static int hex_digit(char c)
{
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool mf_gw_decode(struct mf_str s, bool plus_is_space, char *ret, size_t n)
{
  size_t out = 0;
  for (size_t i = 0; i < s.len; i++) {
    int c = (unsigned char)s.ptr[i];
    if (c == '%') {
      int high = i + 2 < s.len ? hex_digit(s.ptr[i + 1]) : -1, low = i + 2 < s.len ? hex_digit(s.ptr[i + 2]) : -1;
      if (high < 0 || low < 0)
        return false;
      c = high * 16 + low;
      i += 2;
    } else if (c == '+' && plus_is_space) {
      c = ' ';
    }
    if (c < 0x20 || c == 0x7f || out + 1 >= n)
      return false;
    ret[out++] = (char)c;
  }
  ret[out] = 0;
  return mf_utf8_is_valid((struct mf_str){ ret, out });
}

enum mf_gw_param mf_gw_query_get(struct mf_str query, const char *name, char *ret, size_t n)
{
  size_t name_n = strlen(name);
  while (query.len > 0) {
    const char *amp = memchr(query.ptr, '&', query.len);
    struct mf_str part = { query.ptr, amp ? (size_t)(amp - query.ptr) : query.len };
    size_t used = part.len + (amp ? 1 : 0);
    query = (struct mf_str){ query.ptr + used, query.len - used };
    if (!mf_str_starts(part, name) || (part.len > name_n && part.ptr[name_n] != '='))
      continue;
    size_t skip = part.len > name_n ? name_n + 1 : name_n;
    struct mf_str value = { part.ptr + skip, part.len - skip };
    return mf_gw_decode(value, true, ret, n) ? MF_GW_PARAM_OK : MF_GW_PARAM_BAD;
  }
  return MF_GW_PARAM_ABSENT;
}

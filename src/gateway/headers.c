/* Headers that pass through a proxy, and those that do not. Thread: any. */
#include "headers.h"

#include <strings.h>

#include "base/banned.h"

static const char *const hop_by_hop[] = {
  "connection",        "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
  "transfer-encoding", "upgrade",
};
static const char *const of_the_message[] = { "host", "content-length", "expect" };
static const char *const keys[] = { "authorization", "x-api-key", "api-key", "cookie" };

bool mf_gw_name_is(struct mf_str name, const char *z)
{
  return name.len == strlen(z) && strncasecmp(name.ptr, z, name.len) == 0;
}

static bool is_among(struct mf_str name, const char *const *names, size_t n)
{
  for (size_t i = 0; i < n; i++)
    if (mf_gw_name_is(name, names[i]))
      return true;
  return false;
}

/* Whether a Connection field names it. */
static bool is_named(struct mf_str name, const struct mf_http_header *in, size_t in_n)
{
  for (size_t i = 0; i < in_n; i++) {
    if (!mf_gw_name_is(in[i].name, "connection"))
      continue;
    const char *p = in[i].value.ptr, *end = p + in[i].value.len;
    while (p < end) {
      while (p < end && (*p == ',' || *p == ' ' || *p == '\t'))
        p++;
      const char *from = p;
      while (p < end && *p != ',' && *p != ' ' && *p != '\t')
        p++;
      if ((size_t)(p - from) == name.len && name.len > 0 && strncasecmp(from, name.ptr, name.len) == 0)
        return true;
    }
  }
  return false;
}

static bool ends_here(struct mf_str name, const struct mf_http_header *in, size_t in_n)
{
  return is_among(name, hop_by_hop, MF_ARRAY_N(hop_by_hop)) || is_named(name, in, in_n);
}

size_t mf_gw_headers_to_upstream(const struct mf_http_header *in, size_t in_n, bool with_secrets,
                                 struct mf_http_header *out, size_t max)
{
  size_t n = 0;
  for (size_t i = 0; i < in_n && n < max; i++) {
    struct mf_str name = in[i].name;
    if (ends_here(name, in, in_n) || is_among(name, of_the_message, MF_ARRAY_N(of_the_message)) ||
        (!with_secrets && is_among(name, keys, MF_ARRAY_N(keys))))
      continue;
    out[n++] = in[i];
  }
  return n;
}

size_t mf_gw_headers_to_client(const struct mf_http_header *in, size_t in_n, struct mf_http_header *out, size_t max)
{
  static const char cors[] = "access-control-";
  size_t n = 0;
  for (size_t i = 0; i < in_n && n < max; i++) {
    struct mf_str name = in[i].name;
    if (ends_here(name, in, in_n) || mf_gw_name_is(name, "content-length") ||
        (name.len >= sizeof(cors) - 1 && strncasecmp(name.ptr, cors, sizeof(cors) - 1) == 0))
      continue;
    out[n++] = in[i];
  }
  return n;
}

const struct mf_http_header *mf_gw_headers_find(const struct mf_http_header *in, size_t in_n, const char *name)
{
  for (size_t i = 0; i < in_n; i++)
    if (mf_gw_name_is(in[i].name, name))
      return &in[i];
  return NULL;
}

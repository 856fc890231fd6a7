/* Who may ask: keys, CORS, and hosts that are this machine. Thread: any. */
#include "access.h"

#include <arpa/inet.h>
#include <strings.h>

#include "base/banned.h"

/* ---- life ---- */

static struct mf_gw_key key_of(struct mf_str token)
{
  struct mf_gw_key k;
  mf_sha256_of(token, k.sha256);
  return k;
}

void mf_gw_access_init(struct mf_gw_access *a, const struct mf_gateway_config *config)
{
  *a = (struct mf_gw_access){ .check_host = config->check_host };
  a->keys = mf_xcalloc(config->api_key_n + 1, sizeof(*a->keys));
  for (size_t i = 0; i < config->api_key_n; i++)
    a->keys[a->key_n++] = key_of(mf_str_of(config->api_keys[i]));
  if (config->openai_api_key) {
    a->has_owner = true;
    a->owner = key_of(mf_str_of(config->openai_api_key));
  }
  a->origins = mf_xcalloc(config->cors_origin_n + 1, sizeof(*a->origins));
  for (size_t i = 0; i < config->cors_origin_n; i++) {
    a->origins[a->origin_n++] = mf_xstrdup(config->cors_origins[i]);
    a->any_origin |= strcmp(config->cors_origins[i], "*") == 0;
  }
}

void mf_gw_access_done(struct mf_gw_access *a)
{
  for (size_t i = 0; i < a->origin_n; i++)
    free(a->origins[i]);
  free(a->origins);
  free(a->keys);
  *a = (struct mf_gw_access){ 0 };
}

/* ---- keys ---- */

struct mf_str mf_gw_bearer(struct mf_str authorization)
{
  static const char scheme[] = "Bearer ";
  size_t n = sizeof(scheme) - 1;
  if (authorization.len <= n || strncasecmp(authorization.ptr, scheme, n) != 0)
    return (struct mf_str){ NULL, 0 };
  struct mf_str token = { authorization.ptr + n, authorization.len - n };
  while (token.len > 0 && token.ptr[0] == ' ')
    token = (struct mf_str){ token.ptr + 1, token.len - 1 };
  return token.len ? token : (struct mf_str){ NULL, 0 };
}

/* Looks at every byte, whatever the first ones say. */
static bool key_eq(const struct mf_gw_key *a, const struct mf_gw_key *b)
{
  unsigned char diff = 0;
  for (size_t i = 0; i < sizeof(a->sha256); i++)
    diff |= (unsigned char)((unsigned char)a->sha256[i] ^ (unsigned char)b->sha256[i]);
  return diff == 0;
}

enum mf_gw_verdict mf_gw_authorize(const struct mf_gw_access *a, enum mf_gw_auth auth, struct mf_str authorization)
{
  bool owner_only = a->key_n == 0 && a->has_owner && auth == MF_GW_OWNER;
  if (auth == MF_GW_ANYONE || (a->key_n == 0 && !owner_only))
    return MF_GW_PASS;
  struct mf_str token = mf_gw_bearer(authorization);
  if (token.len == 0)
    return MF_GW_NO_TOKEN;
  struct mf_gw_key given = key_of(token);
  bool is_known = owner_only && key_eq(&given, &a->owner);
  for (size_t i = 0; i < a->key_n; i++)
    is_known |= key_eq(&given, &a->keys[i]);
  return is_known ? MF_GW_PASS : MF_GW_BAD_TOKEN;
}

bool mf_gw_bearer_is_clients(const struct mf_gw_access *a)
{
  return a->key_n == 0;
}

/* ---- CORS ---- */

struct mf_str mf_gw_cors(const struct mf_gw_access *a, struct mf_str origin)
{
  if (origin.len == 0)
    return (struct mf_str){ NULL, 0 };
  if (a->any_origin)
    return MF_STR("*");
  for (size_t i = 0; i < a->origin_n; i++)
    if (mf_str_is(origin, a->origins[i]))
      return mf_str_of(a->origins[i]);
  return (struct mf_str){ NULL, 0 };
}

/* ---- hosts ---- */

static bool name_is(struct mf_str s, const char *z)
{
  return s.len == strlen(z) && strncasecmp(s.ptr, z, s.len) == 0;
}

/* What follows a host: nothing, or a port. */
static bool is_port(struct mf_str s)
{
  bool is_port = s.len == 0 || s.ptr[0] == ':';
  for (size_t i = 1; is_port && i < s.len; i++)
    is_port = s.ptr[i] >= '0' && s.ptr[i] <= '9';
  return is_port;
}

bool mf_gw_host_is_local(struct mf_str host)
{
  static const char loopback[] = "[::1]";
  size_t name_n = 0;
  if (mf_str_starts(host, loopback))
    return is_port((struct mf_str){ host.ptr + sizeof(loopback) - 1, host.len - (sizeof(loopback) - 1) });
  while (name_n < host.len && host.ptr[name_n] != ':' && host.ptr[name_n] != '/')
    name_n++;
  struct mf_str name = { host.ptr, name_n };
  if (!is_port((struct mf_str){ host.ptr + name_n, host.len - name_n }))
    return false;
  static const char suffix[] = ".localhost"; /* RFC 6761 §6.3: never anything else */
  size_t n = sizeof(suffix) - 1;
  if (name_is(name, "localhost") || (name.len > n && name_is((struct mf_str){ name.ptr + name.len - n, n }, suffix)))
    return true;
  char text[INET_ADDRSTRLEN];
  struct in_addr address;
  if (name.len == 0 || name.len >= sizeof(text))
    return false;
  memcpy(text, name.ptr, name.len);
  text[name.len] = 0;
  return inet_pton(AF_INET, text, &address) == 1 && ntohl(address.s_addr) >> 24 == 127;
}

static bool origin_is_local(struct mf_str origin)
{
  static const char *const schemes[] = { "http://", "https://" };
  for (size_t i = 0; i < MF_ARRAY_N(schemes); i++)
    if (mf_str_starts(origin, schemes[i])) {
      size_t n = strlen(schemes[i]);
      return mf_gw_host_is_local((struct mf_str){ origin.ptr + n, origin.len - n });
    }
  return false;
}

bool mf_gw_host_passes(const struct mf_gw_access *a, struct mf_str host, struct mf_str origin)
{
  if (!a->check_host)
    return true;
  return mf_gw_host_is_local(host) && (origin.len == 0 || origin_is_local(origin) || mf_gw_cors(a, origin).len > 0);
}

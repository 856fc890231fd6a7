/* Who may ask: keys, CORS, and hosts that are this machine. Thread: the loop's. */
#include "access.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <strings.h>

#include "base/time.h"
#include "base/banned.h"

/* ---- life ---- */

static struct mf_gw_key key_of(struct mf_str token)
{
  struct mf_gw_key k;
  mf_sha256_of(token, k.sha256);
  return k;
}

void mf_gw_access_init(struct mf_gw_access *a, const struct mf_gateway_config *config, struct mf_storage *storage)
{
  *a = (struct mf_gw_access){ .check_host = config->check_host, .storage = storage };
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

/* Every key is looked at, whichever fits. */
static bool is_configured(const struct mf_gw_access *a, const struct mf_gw_key *given)
{
  bool is_known = false;
  for (size_t i = 0; i < a->key_n; i++)
    is_known |= mf_sha256_eq(given->sha256, a->keys[i].sha256);
  return is_known;
}

bool mf_gw_has_keys(const struct mf_gw_access *a)
{
  return a->key_n > 0 || a->has_stored;
}

bool mf_gw_bearer_is_clients(const struct mf_gw_access *a, struct mf_str authorization)
{
  struct mf_key own;
  return !mf_gw_has_keys(a) && !mf_key_parse(mf_gw_bearer(authorization), &own);
}

/* ---- stored keys ---- */

/* The place of this id, or of the one that is to be asked again first. */
static struct mf_gw_seen_key *seen_place(struct mf_gw_access *a, const char *id)
{
  struct mf_gw_seen_key *oldest = &a->seen[0];
  for (size_t i = 0; i < MF_GW_SEEN_N; i++) {
    if (strcmp(a->seen[i].key.id, id) == 0)
      return &a->seen[i];
    if (a->seen[i].until_ns < oldest->until_ns)
      oldest = &a->seen[i];
  }
  return oldest;
}

/* What storage says of an id ("": only whether there are keys). *ret is left alone when there is no such valid key. */
static enum mf_code ask_storage(struct mf_gw_access *a, struct mf_fiber *self, struct mf_str id, struct mf_key *ret,
                                struct mf_err *err)
{
  uint64_t until_ns = mf_now_ns() + MF_GW_SEEN_MS * MF_NS_PER_MS; /* counted from before the question */
  struct mf_stored_keys *keys = NULL;
  bool has_any = false;
  enum mf_code code = mf_storage_find_key(a->storage, self, id, &keys, &has_any, err);
  if (code)
    return code;
  a->has_stored |= has_any;
  if (!a->has_stored)
    a->none_until_ns = until_ns;
  if (mf_stored_keys_n(keys) == 1) {
    const struct mf_store_key *k = mf_stored_key(keys, 0);
    if (k->revoked_ms == 0 && mf_str_eq(k->id, id) && k->id.len == MF_KEY_ID_N - 1 &&
        k->sha256.len == MF_SHA256_HEX_N - 1) {
      memcpy(ret->id, k->id.ptr, k->id.len);
      memcpy(ret->sha256, k->sha256.ptr, k->sha256.len);
      ret->id[k->id.len] = ret->sha256[k->sha256.len] = 0;
      struct mf_gw_seen_key *place = seen_place(a, ret->id);
      *place = (struct mf_gw_seen_key){ *ret, until_ns };
    }
  }
  mf_stored_keys_free(keys);
  return MF_OK;
}

static enum mf_code is_stored(struct mf_gw_access *a, struct mf_fiber *self, const struct mf_key *given, bool *ret,
                              struct mf_err *err)
{
  const struct mf_gw_seen_key *seen = seen_place(a, given->id);
  struct mf_key known = { .id = "" };
  enum mf_code code = MF_OK;
  if (strcmp(seen->key.id, given->id) == 0 && mf_now_ns() < seen->until_ns)
    known = seen->key;
  else
    code = ask_storage(a, self, mf_str_of(given->id), &known, err);
  *ret = !code && known.id[0] && mf_sha256_eq(known.sha256, given->sha256);
  return code;
}

/* The last answer counts when storage has none: at the start there was one. */
static void look_for_keys(struct mf_gw_access *a, struct mf_fiber *self)
{
  struct mf_key none;
  if (a->storage && !a->has_stored && mf_now_ns() >= a->none_until_ns)
    (void)!ask_storage(a, self, MF_STR(""), &none, NULL);
}

/* ---- the verdict ---- */

/* Nobody's key that we know. One in our own form is another server's, and never a client's own for upstream. */
static enum mf_gw_verdict judge_stranger(const struct mf_gw_access *a, const struct mf_gw_asker *asker,
                                         struct mf_str token, const struct mf_gw_key *given, bool is_own_form)
{
  bool owner_only = !mf_gw_has_keys(a) && a->has_owner && asker->auth == MF_GW_OWNER;
  if (owner_only && token.len > 0 && mf_sha256_eq(given->sha256, a->owner.sha256))
    return MF_GW_PASS;
  if (!mf_gw_has_keys(a) && !owner_only && !is_own_form)
    return MF_GW_PASS;
  return token.len > 0 ? MF_GW_BAD_TOKEN : MF_GW_NO_TOKEN;
}

enum mf_code mf_gw_authorize(struct mf_gw_access *a, struct mf_fiber *self, const struct mf_gw_asker *asker,
                             enum mf_gw_verdict *ret, char ret_owner[MF_TASK_OWNER_MAX + 1], struct mf_err *err)
{
  struct mf_str token = mf_gw_bearer(asker->authorization);
  struct mf_gw_key given = { 0 };
  struct mf_key own;
  *ret = MF_GW_PASS;
  ret_owner[0] = 0;
  if (asker->auth == MF_GW_ANYONE)
    return MF_OK;

  if (token.len > 0)
    given = key_of(token);
  if (token.len > 0 && is_configured(a, &given)) {
    snprintf(ret_owner, MF_TASK_OWNER_MAX + 1, "cfg_%.16s", given.sha256);
    return MF_OK;
  }
  bool is_own_form = mf_key_parse(token, &own);
  if (a->storage && is_own_form) {
    bool is_valid = false;
    enum mf_code code = is_stored(a, self, &own, &is_valid, err);
    if (code)
      return code;
    if (is_valid) {
      snprintf(ret_owner, MF_TASK_OWNER_MAX + 1, "%s", own.id);
      return MF_OK;
    }
  }
  look_for_keys(a, self);
  if (asker->is_local)
    snprintf(ret_owner, MF_TASK_OWNER_MAX + 1, "local");
  else
    *ret = judge_stranger(a, asker, token, &given, is_own_form);
  return MF_OK;
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

/* What only makes sense together, and what would weaken something if it were passed over. Thread: any. */
#include "config-internal.h"

#include <ctype.h>
#include <stdio.h>

#include "base/path.h"

#include "base/banned.h"

static void origin_of(const struct mf_config *c, enum mf_config_id id, char ret[400])
{
  mf_config_origin(c, id, ret, 400);
}

/* Adds to an error about several keys where those that somebody set came from. */
static enum mf_code with_origins(const struct mf_config *c, enum mf_code code, struct mf_err *err)
{
  char origin[400];
  struct mf_err whole = *err;
  for (unsigned i = 0; i < MF_CONFIG_N; i++) {
    const char *path = mf_config_keys[i].path, *at = strstr(err->msg, path);
    if (!at || c->from[i] == MF_FROM_DEFAULT || isalnum((unsigned char)at[strlen(path)]) || at[strlen(path)] == '_')
      continue;
    origin_of(c, (enum mf_config_id)i, origin);
    size_t n = strlen(whole.msg);
    snprintf(whole.msg + n, sizeof(whole.msg) - n, "; %s is from: %.120s", path, origin);
  }
  *err = whole;
  return code;
}

/* ---- the LLM server's address ---- */

static enum mf_code check_base(struct mf_config *c, struct mf_err *err)
{
  char *url = c->llm_api_base, origin[400];
  if (!url)
    return MF_OK;
  origin_of(c, MF_CONFIG_LLM_API_BASE, origin);
  struct mf_str s = mf_str_of(url);
  size_t scheme = mf_str_starts(s, "http://") ? 7 : mf_str_starts(s, "https://") ? 8 : 0;
  bool is_plain = scheme && url[scheme] && url[scheme] != '/';
  for (const char *at = url; *at; at++)
    is_plain = is_plain && *at > ' ' && *at < 0x7f && !strchr("\"\\<>^`{|}", *at);
  if (!is_plain) {
    char shown[120];
    mf_escape(s, shown, sizeof(shown));
    return mf_fail(err, MF_E_INPUT, 0, "llm_api_base (%s): expected http://HOST or https://HOST, got '%s'", origin,
                   strchr(url, '@') ? "(not shown: it may hold a password)" : shown);
  }
  if (strchr(url, '@'))
    return mf_fail(err, MF_E_INPUT, 0,
                   "llm_api_base (%s): must not hold a user or a password; OPENAI_API_KEY is the place for a key",
                   origin);
  if (strpbrk(url, "?#"))
    return mf_fail(err, MF_E_INPUT, 0, "llm_api_base (%s): must not hold '?' or '#'", origin);

  while (s.len && url[s.len - 1] == '/')
    url[--s.len] = 0;
  if (s.len > scheme + 3 && strcmp(url + s.len - 3, "/v1") == 0)
    url[s.len -= 3] = 0;
  while (s.len && url[s.len - 1] == '/')
    url[--s.len] = 0;
  return MF_OK;
}

enum mf_code mf_config_check_serve(const struct mf_config *c, struct mf_err *err)
{
  if (c->llm_api_base || (c->interpreter.enabled && c->tasks_enabled))
    return MF_OK;
  return mf_fail(err, MF_E_INPUT, 0,
                 "there is nothing to serve: name an LLM server (--llm-api-base URL, LLM_API_BASE=URL, or llm_api_base "
                 "= \"URL\" in %s), or run programs (--code-interpreter) for the task API",
                 c->file_path);
}

/* ---- the rest ---- */

/* Room around a whole response for the frames that carry it. */
static enum mf_code check_wire(const struct mf_config *c, enum mf_config_id id, uint64_t wire, struct mf_err *err)
{
  uint64_t least = c->retained_bytes + MF_MAX(UINT64_C(65536), c->retained_bytes / 4);
  if (wire >= least)
    return MF_OK;
  enum mf_code code =
      mf_fail(err, MF_E_INPUT, 0, "%s (%llu) must be at least %llu, for responses.max_retained_bytes (%llu)",
              mf_config_keys[id].path, (unsigned long long)wire, (unsigned long long)least,
              (unsigned long long)c->retained_bytes);
  return with_origins(c, code, err);
}

static enum mf_code check_limits(const struct mf_config *c, struct mf_err *err)
{
  enum mf_code code = check_wire(c, MF_CONFIG_UPSTREAM_JSON, c->upstream_json_bytes, err);
  if (!code)
    code = check_wire(c, MF_CONFIG_UPSTREAM_LINE, c->upstream_line_bytes, err);
  if (!code)
    code = check_wire(c, MF_CONFIG_STREAM_EVENT, c->event_bytes, err);
  if (code)
    return code;
  code = mf_interpreter_config_check(&c->interpreter, err);
  return code ? with_origins(c, code, err) : MF_OK;
}

/* OIDC and PostgreSQL: to go on without them would leave a door open, or lose what was meant to be kept. */
static enum mf_code check_missing_features(const struct mf_config *c, struct mf_err *err)
{
  char origin[400];
  if (!c->oidc_issuer != !c->oidc_audience) {
    enum mf_config_id id = c->oidc_issuer ? MF_CONFIG_OIDC_ISSUER : MF_CONFIG_OIDC_AUDIENCE;
    origin_of(c, id, origin);
    return mf_fail(err, MF_E_INPUT, 0, "%s (%s) needs %s too", mf_config_keys[id].path, origin,
                   c->oidc_issuer ? "oidc_audience" : "oidc_issuer");
  }
  if (c->oidc_issuer) {
    origin_of(c, MF_CONFIG_OIDC_ISSUER, origin);
    return mf_fail(err, MF_E_UNAVAILABLE, 0,
                   "oidc_issuer (%s): this version cannot check OIDC tokens and does not start without the check; use "
                   "server.api_keys instead",
                   origin);
  }
  struct mf_str db = mf_str_of(c->database_url);
  if (mf_str_starts(db, "postgres:") || mf_str_starts(db, "postgresql:")) {
    origin_of(c, MF_CONFIG_DATABASE_URL, origin);
    return mf_fail(err, MF_E_UNAVAILABLE, 0,
                   "database_url (%s): this version cannot use PostgreSQL; give sqlite:///path or leave it out",
                   origin);
  }
  /* Not shown: an address of a server may hold a password. */
  if (!mf_str_starts(db, "sqlite:") && strstr(c->database_url, "://")) {
    origin_of(c, MF_CONFIG_DATABASE_URL, origin);
    return mf_fail(err, MF_E_INPUT, 0, "database_url (%s): expected sqlite:///path or a plain path", origin);
  }
  return MF_OK;
}

static enum mf_code check_listening(const struct mf_config *c, struct mf_err *err)
{
  char origin[400];
  if (!c->tls_cert == !c->tls_key)
    return MF_OK;
  enum mf_config_id id = c->tls_cert ? MF_CONFIG_TLS_CERT : MF_CONFIG_TLS_KEY;
  origin_of(c, id, origin);
  return mf_fail(err, MF_E_INPUT, 0, "%s (%s) needs %s too", mf_config_keys[id].path, origin,
                 c->tls_cert ? "server.tls_key" : "server.tls_cert");
}

enum mf_code config_check(struct mf_config *c, struct mf_err *err)
{
  if (!c->database_url)
    c->database_url = mf_xasprintf("%s/mayfly.db", c->home);
  enum mf_code code = check_base(c, err);
  if (!code)
    code = check_missing_features(c, err);
  if (!code)
    code = check_limits(c, err);
  if (!code)
    code = check_listening(c, err);
  return code;
}

bool mf_config_is_local(const struct mf_config *c)
{
  const char *h = c->host;
  if (c->unix_socket || strcmp(h, "localhost") == 0 || strcmp(h, "::1") == 0)
    return true;
  /* 127.x.y.z and nothing that only begins so, as a host name may. */
  return strncmp(h, "127.", 4) == 0 && strspn(h, "0123456789.") == strlen(h);
}

static enum mf_code check_key(const char *key, const char *name, struct mf_err *err)
{
  for (const char *at = key; at && *at; at++)
    if (*at <= ' ' || *at >= 0x7f)
      return mf_fail(err, MF_E_INPUT, 0, "%s: a key may hold only visible ASCII characters", name);
  return MF_OK;
}

enum mf_code config_check_secrets(const struct mf_config *c, struct mf_err *err)
{
  enum mf_code code = check_key(c->openai_api_key, "openai_api_key", err);
  for (size_t i = 0; !code && i < c->api_keys.n; i++)
    code = check_key(c->api_keys.items[i], "server.api_keys", err);
  return code ? with_origins(c, code, err) : MF_OK;
}

enum mf_code mf_config_check_exposed(const struct mf_config *c, bool has_stored_key, struct mf_err *err)
{
  if (mf_config_is_local(c) || c->api_keys.n || c->openai_api_key || c->insecure_no_auth || has_stored_key)
    return MF_OK;
  char origin[400], shown[80];
  origin_of(c, MF_CONFIG_HOST, origin);
  mf_escape(mf_str_of(c->host), shown, sizeof(shown));
  return mf_fail(err, MF_E_INPUT, 0,
                 "server.host %s (%s) can be reached from elsewhere, and no key is set: set MAYFLY_API_KEYS or "
                 "server.api_keys, store one with 'mayfly key create', listen on 127.0.0.1, or say --insecure-no-auth",
                 shown, origin);
}

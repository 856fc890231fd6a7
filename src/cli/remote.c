/* Which server, and requests to it. */
#include "remote.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/utf8.h"
#include "config/config.h"

#include "base/banned.h"

#define DEFAULT_BASE "http://127.0.0.1:9000"

enum {
  ANSWER_BYTES_MAX = 64 << 20,
  ERROR_BYTES_MAX = 64 << 10,
  DEPTH_MAX = 32,
  CONNECT_MS = 10000,
  IDLE_MS = 30000,
  WORDS_MAX = 240, /* of a server's own message */
};

struct mf_remote {
  struct mf_remote_place place;
  struct mf_http_client *client;
  char *authorization; /* NULL: no key */
};

/* ---- which server ---- */

void mf_remote_place_done(struct mf_remote_place *p)
{
  free(p->base);
  free(p->unix_path);
  *p = (struct mf_remote_place){ 0 };
}

/* Somebody listens there who is this user, or root. */
static bool is_served_by_us(const char *path)
{
  struct sockaddr_un a = { .sun_family = AF_UNIX };
  struct stat st;
  size_t n = strlen(path);
  if (n >= sizeof(a.sun_path) || lstat(path, &st) < 0 || !S_ISSOCK(st.st_mode) ||
      (st.st_uid != geteuid() && st.st_uid != 0))
    return false;
  memcpy(a.sun_path, path, n);
  mf_auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0 || connect(fd, (const struct sockaddr *)&a, sizeof(a)) < 0)
    return false;
  struct ucred peer = { 0 };
  socklen_t size = sizeof(peer);
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && (peer.uid == geteuid() || peer.uid == 0);
}

enum mf_code mf_remote_find_local(struct mf_remote_place *ret, struct mf_err *err)
{
  struct mf_config *home = NULL;
  enum mf_code code = mf_config_find_home(environ, &home, err);
  if (code)
    return code;
  mf_auto_free char *path = mf_config_local_socket(home);
  struct mf_err why = { 0 };
  if (mf_config_check_home(home, &why) || !is_served_by_us(path)) {
    code = mf_fail(err, MF_E_NOT_FOUND, 0, "no server of this user listens on its socket");
  } else {
    *ret = (struct mf_remote_place){ .base = mf_xstrdup("http://localhost"), .unix_path = path };
    path = NULL;
  }
  mf_config_free(home);
  return code;
}

const char *mf_remote_where(const char *said)
{
  const char *env = getenv("MAYFLY_SERVER");
  return said ? said : env && env[0] ? env : "auto";
}

/* http://HOST[:PORT][/path]: without its last slashes and "/v1", as every client of the API is given it. */
static enum mf_code take_url(const char *url, struct mf_remote_place *ret, struct mf_err *err)
{
  struct mf_str s = mf_str_of(url);
  size_t scheme = mf_str_starts(s, "http://") ? 7 : mf_str_starts(s, "https://") ? 8 : 0;
  bool is_plain = scheme && url[scheme] && url[scheme] != '/' && s.len < 2000;
  for (size_t i = 0; is_plain && i < s.len; i++)
    is_plain = url[i] > ' ' && url[i] < 0x7f && !strchr("\"\\<>^`{|}@?#", url[i]);
  if (!is_plain)
    return mf_fail(err, MF_E_INPUT, 0,
                   "--server (MAYFLY_SERVER): expected auto, unix:PATH, http://HOST or https://HOST, without user, "
                   "password and query; a key goes into MAYFLY_API_KEY");
  char *base = mf_xstrdup(url);
  while (s.len > scheme && base[s.len - 1] == '/')
    base[--s.len] = 0;
  if (s.len > scheme + 3 && strcmp(base + s.len - 3, "/v1") == 0)
    base[s.len -= 3] = 0;
  *ret = (struct mf_remote_place){ .base = base };
  return MF_OK;
}

enum mf_code mf_remote_find(const char *where, struct mf_remote_place *ret, struct mf_err *err)
{
  where = mf_remote_where(where);
  if (mf_str_starts(mf_str_of(where), "unix:") && where[5]) {
    *ret = (struct mf_remote_place){ .base = mf_xstrdup("http://localhost"), .unix_path = mf_xstrdup(where + 5) };
    return MF_OK;
  }
  if (strcmp(where, "auto") != 0)
    return take_url(where, ret, err);
  if (mf_remote_find_local(ret, NULL) == MF_OK)
    return MF_OK;
  *ret = (struct mf_remote_place){ .base = mf_xstrdup(DEFAULT_BASE), .is_guess = true };
  return MF_OK;
}

/* ---- life ---- */

static enum mf_code take_key(struct mf_remote *r, struct mf_err *err)
{
  const char *key = getenv("MAYFLY_API_KEY");
  if (!key || !key[0])
    return MF_OK;
  for (const char *at = key; *at; at++)
    if (*at <= ' ' || *at >= 0x7f)
      return mf_fail(err, MF_E_INPUT, 0, "MAYFLY_API_KEY: a key holds only visible ASCII characters");
  r->authorization = mf_xasprintf("Bearer %s", key);
  return MF_OK;
}

enum mf_code mf_remote_new(struct mf_loop *loop, struct mf_remote_place *place, struct mf_remote **ret,
                           struct mf_err *err)
{
  struct mf_remote *r = mf_xcalloc(1, sizeof(*r));
  r->place = *place;
  *place = (struct mf_remote_place){ 0 };
  enum mf_code code = take_key(r, err);
  if (!code)
    code = mf_http_client_new(loop, &r->client, err);
  if (code) {
    mf_remote_free(r);
    return code;
  }
  *ret = r;
  return MF_OK;
}

void mf_remote_free(struct mf_remote *r)
{
  if (!r)
    return;
  mf_http_client_free(r->client);
  if (r->authorization)
    explicit_bzero(r->authorization, strlen(r->authorization));
  free(r->authorization);
  mf_remote_place_done(&r->place);
  free(r);
}

/* ---- requests ---- */

static const struct {
  int status;
  enum mf_code code;
} statuses[] = {
  { 400, MF_E_INPUT }, { 404, MF_E_NOT_FOUND }, { 409, MF_E_EXISTS }, { 410, MF_E_GONE },
  { 413, MF_E_INPUT }, { 415, MF_E_INPUT },     { 422, MF_E_INPUT },  { 429, MF_E_CAPACITY },
};

static enum mf_code code_of(int status)
{
  for (size_t i = 0; i < MF_ARRAY_N(statuses); i++)
    if (statuses[i].status == status)
      return statuses[i].code;
  return MF_E_UNAVAILABLE;
}

/* What the server says of it: error.message, when the answer has one. */
static void read_words(struct mf_http_call *call, struct mf_fiber *self, char ret[WORDS_MAX + 1])
{
  static const struct mf_json_limits limits = { ERROR_BYTES_MAX, DEPTH_MAX };
  mf_auto_buf struct mf_buf body = { 0 };
  mf_auto_json struct mf_json *doc = NULL;
  ret[0] = 0;
  if (mf_http_call_read_all(call, self, ERROR_BYTES_MAX, &body, NULL) ||
      mf_json_parse(mf_buf_str(&body), &limits, &doc, NULL))
    return;
  const struct mf_json_val *message = mf_json_get(mf_json_get(mf_json_root(doc), "error"), "message");
  if (mf_json_type_of(message) != MF_JSON_STR)
    return;
  struct mf_str s = mf_json_str(message);
  snprintf(ret, WORDS_MAX + 1, "%.*s", (int)mf_utf8_prefix(s, WORDS_MAX), s.ptr);
}

static enum mf_code fail_status(struct mf_remote *r, struct mf_http_call *call, struct mf_fiber *self,
                                struct mf_err *err)
{
  char words[WORDS_MAX + 1];
  int status = mf_http_call_status(call);
  read_words(call, self, words);
  if (status == 401)
    return mf_fail(err, MF_E_UNAVAILABLE, 0, "the server wants %s ('mayfly key create'; MAYFLY_API_KEY)",
                   r->authorization ? "another API key" : "an API key");
  if (words[0])
    return mf_fail(err, code_of(status), 0, "the server says: %s", words);
  return mf_fail(err, status == 404 ? MF_E_UNAVAILABLE : code_of(status), 0, "the server answers with status %d",
                 status);
}

/* Of a socket libcurl would name a host and a port that nobody asked for. */
static enum mf_code fail_no_answer(const struct mf_remote_place *p, enum mf_code why, const char *text,
                                   struct mf_err *err)
{
  char shown[160];
  mf_escape(mf_str_of(p->unix_path ? p->unix_path : p->base), shown, sizeof(shown));
  if (p->unix_path && why == MF_E_GONE)
    return mf_fail(err, MF_E_UNAVAILABLE, 0, "no answer from %s: is a server running there?", shown);
  return mf_fail(err, MF_E_UNAVAILABLE, 0, "no answer from %s: %.160s%s", shown, text,
                 p->is_guess ? "; 'mayfly serve --code-interpreter' starts a server, --server names another" : "");
}

enum mf_code mf_remote_open(struct mf_remote *r, struct mf_fiber *self, const struct mf_remote_request *req,
                            struct mf_http_call **ret, struct mf_err *err)
{
  mf_auto_free char *url = mf_xasprintf("%s%s", r->place.base, req->path);
  struct mf_http_header headers[2];
  size_t n = 0;
  if (r->authorization)
    headers[n++] = (struct mf_http_header){ MF_STR("Authorization"), mf_str_of(r->authorization) };
  if (req->body.len > 0)
    headers[n++] = (struct mf_http_header){ MF_STR("Content-Type"), MF_STR("application/json") };
  const struct mf_http_request http = { .method = req->method,
                                        .url = url,
                                        .unix_path = r->place.unix_path,
                                        .headers = headers,
                                        .header_n = n,
                                        .body = req->body,
                                        .connect_ms = CONNECT_MS,
                                        .idle_ms = req->idle_ms ? req->idle_ms : IDLE_MS };
  struct mf_http_call *call = NULL;
  struct mf_err why = { 0 };
  enum mf_code code = mf_http_call_open(r->client, self, &http, &call, &why);
  if (code == MF_E_CANCELLED)
    return mf_fail(err, code, 0, "cancelled");
  if (code)
    return fail_no_answer(&r->place, code, why.msg, err);
  if (mf_http_call_status(call) < 200 || mf_http_call_status(call) > 299) {
    code = fail_status(r, call, self, err);
    mf_http_call_close(call);
    return code;
  }
  *ret = call;
  return MF_OK;
}

enum mf_code mf_remote_ask(struct mf_remote *r, struct mf_fiber *self, const struct mf_remote_request *req,
                           struct mf_json **ret, struct mf_err *err)
{
  static const struct mf_json_limits limits = { ANSWER_BYTES_MAX, DEPTH_MAX };
  struct mf_http_call *call = NULL;
  enum mf_code code = mf_remote_open(r, self, req, &call, err);
  if (code)
    return code;
  mf_auto_buf struct mf_buf body = { 0 };
  struct mf_err why = { 0 };
  code = mf_http_call_read_all(call, self, ANSWER_BYTES_MAX, &body, &why);
  mf_http_call_close(call);
  if (code == MF_E_CANCELLED)
    return mf_fail(err, code, 0, "cancelled");
  if (!code && mf_json_parse(mf_buf_str(&body), &limits, ret, &why) == MF_OK)
    return MF_OK;
  return mf_fail(err, MF_E_UNAVAILABLE, 0, "the server's answer: %.200s", why.msg);
}

bool mf_remote_is_id(struct mf_str s)
{
  bool is_id = s.len > 0 && s.len <= 64;
  for (size_t i = 0; is_id && i < s.len; i++) {
    char c = s.ptr[i];
    is_id = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
  }
  return is_id;
}

/* "sqlite:///abs/path?mode=rwc" and its relatives, or a plain path. */
#include "url.h"

#include "base/path.h"
#include "base/str.h"
#include "base/banned.h"

static bool is_memory_name(struct mf_str s)
{
  return mf_str_is(s, ":memory:");
}

static int hex_value(char c)
{
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Undoes percent escapes. NULL when one is broken, or hides a NUL. */
static char *unescape(struct mf_str s)
{
  char *to = mf_xmalloc(s.len + 1);
  size_t n = 0;
  for (size_t i = 0; i < s.len; i++) {
    char c = s.ptr[i];
    if (c == '%') {
      int high = i + 2 < s.len ? hex_value(s.ptr[i + 1]) : -1;
      int low = i + 2 < s.len ? hex_value(s.ptr[i + 2]) : -1;
      if (high < 0 || low < 0 || high + low == 0) {
        free(to);
        return NULL;
      }
      c = (char)(high * 16 + low);
      i += 2;
    }
    to[n++] = c;
  }
  to[n] = 0;
  return to;
}

/* The parameters that others put behind a path. Those that ask for what is done anyway are taken. */
static enum mf_code check_parameters(struct mf_str s, struct mf_err *err)
{
  if (s.len == 0 || mf_str_is(s, "mode=rwc") || mf_str_is(s, "mode=rw"))
    return MF_OK;
  char shown[100];
  mf_escape(s, shown, sizeof(shown));
  return mf_fail(err, MF_E_INPUT, 0, "database URL: '?%s' is not understood; only ?mode=rwc and ?mode=rw are", shown);
}

enum mf_code mf_storage_url_parse(const char *url, char **ret_path, struct mf_err *err)
{
  struct mf_str s = mf_str_of(url);
  if (s.len == 0)
    return mf_fail(err, MF_E_INPUT, 0, "database URL: is empty");
  if (mf_str_starts(s, "postgres:") || mf_str_starts(s, "postgresql:"))
    return mf_fail(err, MF_E_UNAVAILABLE, 0,
                   "database URL: PostgreSQL is not supported by this version; use sqlite:///path");
  if (is_memory_name(s)) {
    *ret_path = NULL;
    return MF_OK;
  }
  if (!mf_str_starts(s, "sqlite:")) {
    if (strstr(url, "://"))
      return mf_fail(err, MF_E_INPUT, 0, "database URL: must be sqlite:///path or a plain path");
    *ret_path = mf_xstrdup(url);
    return MF_OK;
  }

  s.ptr += strlen("sqlite:");
  s.len -= strlen("sqlite:");
  if (mf_str_starts(s, "//")) {
    s.ptr += 2;
    s.len -= 2;
  }
  const char *mark = s.len ? memchr(s.ptr, '?', s.len) : NULL;
  if (mark) {
    size_t n = (size_t)(mark - s.ptr);
    enum mf_code code = check_parameters((struct mf_str){ mark + 1, s.len - n - 1 }, err);
    if (code)
      return code;
    s.len = n;
  }
  if (is_memory_name(s)) {
    *ret_path = NULL;
    return MF_OK;
  }
  if (s.len == 0)
    return mf_fail(err, MF_E_INPUT, 0, "database URL: names no file");
  char *path = unescape(s);
  if (!path)
    return mf_fail(err, MF_E_INPUT, 0, "database URL: has a broken percent escape");
  *ret_path = path;
  return MF_OK;
}

/* GET /v1/tasks/{id}/artifacts/{artifactId}: the bytes of one file, which a program made: its name and its type are
 * hostile. Thread: the loop's; in the request's fiber. */
#include <inttypes.h>
#include <stdio.h>

#include "base/log.h"
#include "base/num.h"
#include "tasks.h"
#include "base/banned.h"

enum { PIECE_BYTES = 64 * 1024, NAME_MAX_BYTES = 255 };

/* ---- the name of a download ---- */

/* RFC 8187: attr-char. */
static bool is_attr_char(char c)
{
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c && strchr("!#$&+-.^_`|~", c));
}

/* What every reader of a quoted string takes for itself: no quotes, no backslashes, no percents (which some decode). */
static bool is_safe(char c)
{
  return c >= 0x20 && c < 0x7f && !strchr("\"\\%/", c);
}

void mf_gw_disposition(struct mf_str path, char ret[MF_GW_DISPOSITION_N])
{
  const char *slash = path.len ? memrchr(path.ptr, '/', path.len) : NULL;
  struct mf_str name = slash ? (struct mf_str){ slash + 1, path.len - (size_t)(slash + 1 - path.ptr) } : path;
  name.len = MF_MIN(name.len, (size_t)NAME_MAX_BYTES);
  size_t at = (size_t)snprintf(ret, MF_GW_DISPOSITION_N, "attachment; filename=\"");
  bool is_plain = true;
  for (size_t i = 0; i < name.len; i++) {
    ret[at++] = is_safe(name.ptr[i]) ? name.ptr[i] : '_';
    is_plain &= is_safe(name.ptr[i]);
  }
  at += (size_t)snprintf(ret + at, MF_GW_DISPOSITION_N - at, "\"%s", is_plain ? "" : "; filename*=UTF-8''");
  for (size_t i = 0; !is_plain && i < name.len; i++)
    at += (size_t)snprintf(ret + at, MF_GW_DISPOSITION_N - at, is_attr_char(name.ptr[i]) ? "%c" : "%%%02X",
                           (unsigned char)name.ptr[i]);
}

/* ---- conditions and ranges ---- */

static struct mf_str skip(struct mf_str s, size_t n)
{
  return (struct mf_str){ s.ptr + n, s.len - n };
}

static struct mf_str trim(struct mf_str s)
{
  while (s.len > 0 && (s.ptr[0] == ' ' || s.ptr[0] == '\t'))
    s = skip(s, 1);
  while (s.len > 0 && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t'))
    s.len--;
  return s;
}

static bool is_quoted(struct mf_str s, struct mf_str etag)
{
  return s.len == etag.len + 2 && s.ptr[0] == '"' && s.ptr[s.len - 1] == '"' &&
         mf_str_eq((struct mf_str){ s.ptr + 1, etag.len }, etag);
}

bool mf_gw_etag_matches(struct mf_str list, struct mf_str etag)
{
  list = trim(list);
  if (mf_str_is(list, "*"))
    return true;
  while (list.len > 0) {
    const char *comma = memchr(list.ptr, ',', list.len);
    struct mf_str one = { list.ptr, comma ? (size_t)(comma - list.ptr) : list.len };
    list = skip(list, one.len + (comma ? 1 : 0));
    one = trim(one);
    if (mf_str_starts(one, "W/")) /* RFC 9110 §13.1.2 compares weakly */
      one = skip(one, 2);
    if (is_quoted(one, etag))
      return true;
  }
  return false;
}

enum mf_gw_range mf_gw_range_parse(struct mf_str range, uint64_t size, uint64_t *ret_from, uint64_t *ret_n)
{
  static const char unit[] = "bytes=";
  uint64_t from = 0, to = size ? size - 1 : 0;
  if (!mf_str_starts(range, unit))
    return MF_GW_RANGE_ALL;
  struct mf_str set = trim(skip(range, sizeof(unit) - 1));
  const char *dash = set.len ? memchr(set.ptr, '-', set.len) : NULL;
  if (!dash)
    return MF_GW_RANGE_ALL;
  struct mf_str first = { set.ptr, (size_t)(dash - set.ptr) }, last = skip(set, first.len + 1);
  if ((first.len > 0 && mf_parse_u64(first, "", 0, UINT64_MAX, &from, NULL)) ||
      (last.len > 0 && mf_parse_u64(last, "", 0, UINT64_MAX, &to, NULL)) || (first.len == 0 && last.len == 0))
    return MF_GW_RANGE_ALL;
  if (first.len == 0) { /* the last so many */
    if (to == 0 || size == 0)
      return MF_GW_RANGE_NONE;
    *ret_n = MF_MIN(to, size);
    *ret_from = size - *ret_n;
    return MF_GW_RANGE_PART;
  }
  if (last.len > 0 && to < from)
    return MF_GW_RANGE_ALL; /* malformed */
  if (from >= size)
    return MF_GW_RANGE_NONE;
  *ret_from = from;
  *ret_n = MF_MIN(to, size - 1) - from + 1;
  return MF_GW_RANGE_PART;
}

/* ---- the answer ---- */

struct download {
  struct mf_gw_request *r;
  const struct mf_task_artifact *a;
  char disposition[MF_GW_DISPOSITION_N];
  char etag[MF_SHA256_HEX_N + 2];
  char range[80]; /* of Content-Range */
  struct mf_http_header headers[9];
  size_t header_n;
};

static void add(struct download *d, const char *name, const char *value)
{
  d->headers[d->header_n++] = (struct mf_http_header){ mf_str_of(name), mf_str_of(value) };
}

static void add_headers(struct download *d)
{
  mf_gw_disposition(mf_str_of(d->a->path), d->disposition);
  snprintf(d->etag, sizeof(d->etag), "\"%s\"", d->a->ref.sha256);
  add(d, "Content-Type", d->a->mime_type[0] ? d->a->mime_type : "application/octet-stream");
  add(d, "Content-Disposition", d->disposition);
  add(d, "X-Content-Type-Options", "nosniff");
  /* For a browser that shows it all the same: no scripts, no other origin's rights. */
  add(d, "Content-Security-Policy", "default-src 'none'; sandbox");
  add(d, "Cache-Control", "private, no-store");
  add(d, "Accept-Ranges", "bytes");
  add(d, "ETag", d->etag);
}

/* Piece by piece, each written before the next is read. */
static enum mf_code send(struct download *d, uint64_t from, uint64_t n)
{
  struct mf_gw_request *r = d->r;
  mf_auto_free char *piece = mf_xmalloc(PIECE_BYTES);
  while (n > 0) {
    size_t got = 0;
    struct mf_err err = { 0 };
    enum mf_code code = mf_files_pread(r->g->parts.files, r->self, d->a->fd, piece,
                                       (size_t)MF_MIN(n, (uint64_t)PIECE_BYTES), from, &got, &err);
    if (!code && got == 0)
      code = mf_fail(&err, MF_E_UNAVAILABLE, 0, "a stored file is shorter than it was");
    if (code && code != MF_E_CANCELLED)
      mf_log_request(MF_LOG_ERROR, r->id, "artifact: %s", err.msg);
    if (!code)
      code = mf_http_write(r->x, (struct mf_str){ piece, got }, NULL);
    if (code)
      return code; /* without its end the client sees that it was cut */
    from += got;
    n -= got;
  }
  return mf_http_end(r->x, NULL);
}

static enum mf_code refuse_range(struct download *d)
{
  struct mf_gw_request *r = d->r;
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, MF_GW_ERROR_MAX);
  snprintf(d->range, sizeof(d->range), "bytes */%" PRIu64, d->a->ref.size_bytes);
  mf_gw_write_error(&out, "invalid_request_error", "range_not_satisfiable", "Range",
                    "The artifact has no bytes in that range.");
  const struct mf_http_header headers[] = { { MF_STR("Content-Type"), MF_STR("application/json") },
                                            { MF_STR("Content-Range"), mf_str_of(d->range) },
                                            { MF_STR("Accept-Ranges"), MF_STR("bytes") } };
  return mf_gw_respond(r, 416, headers, MF_ARRAY_N(headers), mf_buf_str(&out));
}

static enum mf_code answer(struct download *d)
{
  struct mf_gw_request *r = d->r;
  struct mf_str etag = mf_str_of(d->a->ref.sha256);
  struct mf_str none_match = mf_http_header(r->x, "if-none-match"), if_range = mf_http_header(r->x, "if-range");
  uint64_t from = 0, n = d->a->ref.size_bytes;
  bool is_head = mf_str_is(mf_http_method(r->x), "HEAD");
  add_headers(d);
  if (none_match.ptr && mf_gw_etag_matches(none_match, etag))
    return mf_gw_respond(r, 304, d->headers, d->header_n, MF_STR(""));
  enum mf_gw_range range = MF_GW_RANGE_ALL;
  if (!is_head && (!if_range.ptr || is_quoted(trim(if_range), etag)))
    range = mf_gw_range_parse(mf_http_header(r->x, "range"), n, &from, &n);
  if (range == MF_GW_RANGE_NONE)
    return refuse_range(d);
  if (range == MF_GW_RANGE_PART) {
    snprintf(d->range, sizeof(d->range), "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, from, from + n - 1,
             d->a->ref.size_bytes);
    add(d, "Content-Range", d->range);
  }
  enum mf_code code = mf_gw_begin_sized(r, range == MF_GW_RANGE_PART ? 206 : 200, d->headers, d->header_n, n);
  if (code)
    return code;
  return is_head ? mf_http_end(r->x, NULL) : send(d, from, n);
}

enum mf_code mf_gw_get_task_artifact(struct mf_gw_request *r)
{
  enum mf_code code;
  struct mf_task_artifact a;
  struct mf_err err = { 0 };
  if (mf_gw_has_no_tasks(r, &code))
    return code;
  code = mf_tasks_artifact(r->g->parts.tasks, r->self, mf_str_of(r->owner), mf_str_of(r->match.args[0]),
                           mf_str_of(r->match.args[1]), &a, &err);
  if (code)
    return mf_gw_refuse_find(r, code, &err);
  struct download *d = mf_xcalloc(1, sizeof(*d));
  d->r = r;
  d->a = &a;
  code = answer(d);
  mf_task_artifact_done(&a);
  free(d);
  return code;
}

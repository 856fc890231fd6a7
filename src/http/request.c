/* Heads of requests: the scanner, http-parser, and the rules about framing, Host and target. */
#include "request.h"

#include <assert.h>
#include <http_parser.h>
#include <stdlib.h>
#include <strings.h>

#include "base/err.h"
#include "base/banned.h"

enum { METHOD_MAX = 32 };

/* ---- characters ---- */

static bool is_alnum(unsigned char c)
{
  return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

static bool is_token_char(unsigned char c)
{
  return is_alnum(c) || (c != 0 && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static bool is_value_char(unsigned char c)
{
  return c == '\t' || (c >= 0x20 && c != 0x7f);
}

bool mf_http_is_token(struct mf_str s)
{
  for (size_t i = 0; i < s.len; i++)
    if (!is_token_char((unsigned char)s.ptr[i]))
      return false;
  return s.len > 0;
}

bool mf_http_is_field_value(struct mf_str s)
{
  for (size_t i = 0; i < s.len; i++)
    if (!is_value_char((unsigned char)s.ptr[i]))
      return false;
  return true;
}

bool mf_http_str_is(struct mf_str s, const char *z)
{
  return s.len == strlen(z) && (s.len == 0 || strncasecmp(s.ptr, z, s.len) == 0);
}

static struct mf_str cut(struct mf_str s, size_t from, size_t to)
{
  assert(from <= to && to <= s.len);
  return (struct mf_str){ s.ptr + from, to - from };
}

static struct mf_str trim(struct mf_str s)
{
  while (s.len > 0 && (s.ptr[0] == ' ' || s.ptr[0] == '\t'))
    s = cut(s, 1, s.len);
  while (s.len > 0 && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t'))
    s.len--;
  return s;
}

/* ---- the scanner ---- */

static enum mf_http_scanned refuse(struct mf_http_refusal *r, int status, const char *why)
{
  *r = (struct mf_http_refusal){ status, why };
  return MF_HTTP_SCAN_REFUSED;
}

/* "HTTP/1.1" or "HTTP/1.0"; another version that looks like one is 505. */
static bool check_version(struct mf_str v, struct mf_http_refusal *r)
{
  if (mf_str_is(v, "HTTP/1.1") || mf_str_is(v, "HTTP/1.0"))
    return true;
  bool looks = v.len == 8 && mf_str_starts(v, "HTTP/") && v.ptr[6] == '.' && is_alnum((unsigned char)v.ptr[5]) &&
               is_alnum((unsigned char)v.ptr[7]);
  refuse(r, looks ? 505 : 400, looks ? "this server speaks HTTP/1.1" : "malformed request line");
  return false;
}

/* method SP request-target SP HTTP-version, with one space each: RFC 9112 §3 allows to be lenient here, and leniency
 * about where a target ends is what smuggling lives on. */
static bool check_request_line(struct mf_str line, struct mf_http_refusal *r)
{
  const char *first = memchr(line.ptr, ' ', line.len);
  const char *last = memrchr(line.ptr, ' ', line.len);
  if (!first || first == last) {
    refuse(r, 400, "malformed request line");
    return false;
  }
  struct mf_str method = cut(line, 0, (size_t)(first - line.ptr));
  struct mf_str target = cut(line, method.len + 1, (size_t)(last - line.ptr));
  bool ok = mf_http_is_token(method) && method.len <= METHOD_MAX && target.len > 0;
  for (size_t i = 0; ok && i < target.len; i++)
    ok = target.ptr[i] > 0x20 && target.ptr[i] < 0x7f && target.ptr[i] != '#';
  if (!ok) {
    refuse(r, 400, "malformed request line");
    return false;
  }
  return check_version(cut(line, (size_t)(last - line.ptr) + 1, line.len), r);
}

static bool check_field_line(struct mf_str line, struct mf_http_refusal *r)
{
  if (line.ptr[0] == ' ' || line.ptr[0] == '\t') {
    refuse(r, 400, "folded header fields are not allowed");
    return false;
  }
  const char *colon = memchr(line.ptr, ':', line.len);
  if (!colon || !mf_http_is_token(cut(line, 0, (size_t)(colon - line.ptr))) ||
      !mf_http_is_field_value(cut(line, (size_t)(colon - line.ptr) + 1, line.len))) {
    refuse(r, 400, "malformed header field");
    return false;
  }
  return true;
}

enum mf_http_scanned mf_http_head_scan(struct mf_http_scan *s, struct mf_str in, size_t *ret_n,
                                       struct mf_http_refusal *r)
{
  /* Something else (a TLS hello, binary junk) may never send a line end: not worth waiting for. */
  if (in.len > 0 && in.ptr[0] != '\r' && !is_token_char((unsigned char)in.ptr[0]))
    return refuse(r, 400, "malformed request line");
  size_t end = MF_MIN(in.len, (size_t)MF_HTTP_HEAD_MAX);
  while (s->seen < end) {
    const char *lf = memchr(in.ptr + s->seen, '\n', end - s->seen);
    if (!lf) {
      s->seen = end;
      break;
    }
    size_t at = (size_t)(lf - in.ptr);
    if (at == s->line || in.ptr[at - 1] != '\r')
      return refuse(r, 400, "lines must end with CRLF");
    struct mf_str line = cut(in, s->line, at - 1);
    s->line = s->seen = at + 1;
    if (line.len == 0 && s->line_n > 0) {
      *ret_n = at + 1;
      return MF_HTTP_SCAN_DONE;
    }
    if (line.len == 0) {
      if (s->had_blank)
        return refuse(r, 400, "malformed request line");
      s->had_blank = true;
      continue;
    }
    if (s->line_n == 0 ? !check_request_line(line, r) : !check_field_line(line, r))
      return MF_HTTP_SCAN_REFUSED;
    if (++s->line_n > 1 + MF_HTTP_FIELDS_MAX)
      return refuse(r, 431, "too many header fields");
  }
  if (end == MF_HTTP_HEAD_MAX)
    return refuse(r, 431, "the request head is too large");
  return MF_HTTP_SCAN_MORE;
}

/* ---- http-parser ---- */

struct parse {
  struct mf_http_head *head;
  struct mf_str target;
  bool is_complete, saw_value;
};

static int on_url(http_parser *p, const char *at, size_t n)
{
  struct parse *s = p->data;
  s->target = (struct mf_str){ at, n };
  return 0;
}

static int on_field(http_parser *p, const char *at, size_t n)
{
  struct parse *s = p->data;
  /* The whole head is passed at once, so that each name and value comes in one piece. */
  if (s->head->header_n == MF_HTTP_FIELDS_MAX || (s->head->header_n > 0 && !s->saw_value))
    return 1;
  s->head->headers[s->head->header_n++] = (struct mf_http_header){ .name = { at, n } };
  s->saw_value = false;
  return 0;
}

static int on_value(http_parser *p, const char *at, size_t n)
{
  struct parse *s = p->data;
  if (s->head->header_n == 0 || s->saw_value)
    return 1;
  s->head->headers[s->head->header_n - 1].value = trim((struct mf_str){ at, n });
  s->saw_value = true;
  return 0;
}

static int on_headers_complete(http_parser *p)
{
  struct parse *s = p->data;
  s->is_complete = true;
  /* http-parser forgets a close beside the keep-alive of an HTTP/1.0 request. */
  s->head->keep_alive = http_should_keep_alive(p) && !(p->flags & F_CONNECTION_CLOSE);
  return 1; /* the body is not http-parser's: see body.h */
}

static const http_parser_settings settings = {
  .on_url = on_url,
  .on_header_field = on_field,
  .on_header_value = on_value,
  .on_headers_complete = on_headers_complete,
};

/* http-parser knows a fixed list of methods and treats only CONNECT apart. The scanner has judged the method, and which
 * ones exist is the handler's business (405 with Allow), so it is shown GET. */
static bool run_parser(http_parser *p, struct parse *s, struct mf_str after_method)
{
  http_parser_init(p, HTTP_REQUEST);
  p->data = s;
  if (http_parser_execute(p, &settings, "GET", 3) != 3)
    return false;
  size_t n = http_parser_execute(p, &settings, after_method.ptr, after_method.len);
  return n == after_method.len && HTTP_PARSER_ERRNO(p) == HPE_OK && s->is_complete;
}

/* ---- what the fields mean ---- */

/* host [":" port] of RFC 3986 §3.2 without userinfo. Empty is allowed: a target may have no authority. */
static bool is_authority(struct mf_str s)
{
  size_t i = 0;
  if (s.len > 0 && s.ptr[0] == '[') {
    for (i = 1; i < s.len && (is_alnum((unsigned char)s.ptr[i]) || strchr(":.", s.ptr[i])); i++)
      if (s.ptr[i] == 0)
        return false;
    if (i == 1 || i == s.len || s.ptr[i++] != ']')
      return false;
  } else {
    while (i < s.len && s.ptr[i] != ':') {
      unsigned char c = (unsigned char)s.ptr[i++];
      if (!is_alnum(c) && (c == 0 || !strchr("-._~%!$&'()*+,;=", c)))
        return false;
    }
  }
  if (i < s.len && s.ptr[i++] != ':')
    return false;
  for (; i < s.len; i++)
    if (s.ptr[i] < '0' || s.ptr[i] > '9')
      return false;
  return true;
}

static const char *read_length(struct mf_str s, uint64_t *ret)
{
  uint64_t v = 0;
  /* 18 digits are an exbibyte, and cannot overflow. */
  if (s.len == 0 || s.len > 18)
    return "malformed Content-Length";
  for (size_t i = 0; i < s.len; i++) {
    if (s.ptr[i] < '0' || s.ptr[i] > '9')
      return "malformed Content-Length";
    v = v * 10 + (uint64_t)(s.ptr[i] - '0');
  }
  *ret = v;
  return NULL;
}

/* RFC 9112 §6.3, read as strictly as it can be: one way to say how long a body is, said once. */
static const char *check_framing(struct mf_http_head *h, const http_parser *p)
{
  unsigned length_n = 0, coding_n = 0;
  for (size_t i = 0; i < h->header_n; i++) {
    const struct mf_http_header *f = &h->headers[i];
    if (mf_http_str_is(f->name, "content-length")) {
      const char *why = read_length(f->value, &h->content_length);
      if (why)
        return why;
      length_n++;
    } else if (mf_http_str_is(f->name, "transfer-encoding")) {
      if (!mf_http_str_is(f->value, "chunked"))
        return "the only transfer coding here is chunked";
      coding_n++;
    }
  }
  if (length_n > 1)
    return "more than one Content-Length";
  if (coding_n > 1)
    return "more than one Transfer-Encoding";
  if (length_n && coding_n)
    return "Content-Length together with Transfer-Encoding";
  if (coding_n && h->is_http_1_0)
    return "Transfer-Encoding in an HTTP/1.0 request";
  h->is_chunked = coding_n > 0;
  if (h->is_chunked != ((p->flags & F_CHUNKED) != 0) || (length_n && p->content_length != h->content_length))
    return "unclear message length";
  return NULL;
}

static const char *check_host(const struct mf_http_head *h)
{
  unsigned n = 0;
  for (size_t i = 0; i < h->header_n; i++) {
    if (!mf_http_str_is(h->headers[i].name, "host"))
      continue;
    n++;
    if (!is_authority(h->headers[i].value))
      return "malformed Host";
  }
  if (n > 1)
    return "more than one Host";
  return n == 0 && !h->is_http_1_0 ? "missing Host" : NULL;
}

/* origin-form; absolute-form when it names the same host as Host does (RFC 9112 §3.2.2 would let it win silently, and
 * whoever routed by the other one would disagree with us); asterisk-form for OPTIONS. */
static const char *check_target(struct mf_http_head *h, struct mf_str target)
{
  static const char bad[] = "malformed request target";
  if (mf_str_is(target, "*")) {
    h->path = target;
    return mf_str_is(h->method, "OPTIONS") ? NULL : bad;
  }
  if (target.len > 0 && target.ptr[0] != '/') {
    size_t scheme = target.len > 7 && strncasecmp(target.ptr, "http://", 7) == 0    ? 7
                    : target.len > 8 && strncasecmp(target.ptr, "https://", 8) == 0 ? 8
                                                                                    : 0;
    size_t end = scheme;
    while (end < target.len && target.ptr[end] != '/' && target.ptr[end] != '?')
      end++;
    struct mf_str authority = cut(target, scheme, end);
    if (scheme == 0 || authority.len == 0 || !is_authority(authority))
      return bad;
    struct mf_str host = mf_http_head_find(h, "host");
    if (host.ptr && (host.len != authority.len || strncasecmp(host.ptr, authority.ptr, host.len) != 0))
      return "Host differs from the request target";
    target = cut(target, end, target.len);
  }
  const char *mark = target.len > 0 ? memchr(target.ptr, '?', target.len) : NULL;
  size_t path_n = mark ? (size_t)(mark - target.ptr) : target.len;
  h->path = path_n > 0 ? cut(target, 0, path_n) : MF_STR("/");
  h->query = mark ? cut(target, path_n + 1, target.len) : (struct mf_str){ NULL, 0 };
  return NULL;
}

static bool check_expect(struct mf_http_head *h)
{
  for (size_t i = 0; i < h->header_n && !h->is_http_1_0; i++) {
    if (!mf_http_str_is(h->headers[i].name, "expect"))
      continue;
    if (!mf_http_str_is(h->headers[i].value, "100-continue"))
      return false;
    h->expects_continue = true;
  }
  return true;
}

struct mf_http_head *mf_http_head_parse(struct mf_str in, struct mf_http_refusal *r)
{
  struct mf_http_head *h = mf_xcalloc(1, sizeof(*h));
  if (mf_str_starts(in, "\r\n"))
    in = cut(in, 2, in.len);
  h->bytes = mf_xcalloc(1, in.len + 1);
  memcpy(h->bytes, in.ptr, in.len);
  in.ptr = h->bytes;
  size_t line_n = 0;
  for (size_t i = 0; i < in.len; i++)
    line_n += in.ptr[i] == '\n';
  h->headers = mf_xcalloc(MF_MIN(line_n, (size_t)MF_HTTP_FIELDS_MAX) + 1, sizeof(*h->headers));

  const char *space = memchr(in.ptr, ' ', in.len);
  const char *line_end = memchr(in.ptr, '\r', in.len);
  assert(space && line_end && space < line_end);
  h->method = cut(in, 0, (size_t)(space - in.ptr));
  h->is_head = mf_str_is(h->method, "HEAD");
  h->is_http_1_0 = line_end[-1] == '0';

  http_parser p;
  struct parse s = { .head = h };
  const char *why = NULL;
  int status = 400;
  if (!run_parser(&p, &s, cut(in, h->method.len, in.len)))
    why = HTTP_PARSER_ERRNO(&p) == HPE_UNEXPECTED_CONTENT_LENGTH
              ? "Content-Length more than once, or with another length"
              : "malformed request";
  if (!why)
    why = check_framing(h, &p);
  if (!why)
    why = check_host(h);
  if (!why)
    why = check_target(h, s.target);
  if (!why && !check_expect(h)) {
    status = 417;
    why = "unknown expectation";
  }
  if (why) {
    refuse(r, status, why);
    mf_http_head_free(h);
    return NULL;
  }
  return h;
}

void mf_http_head_free(struct mf_http_head *h)
{
  if (!h)
    return;
  free(h->headers);
  free(h->bytes);
  free(h);
}

struct mf_str mf_http_head_find(const struct mf_http_head *h, const char *name)
{
  for (size_t i = 0; i < h->header_n; i++)
    if (mf_http_str_is(h->headers[i].name, name))
      return h->headers[i].value;
  return (struct mf_str){ NULL, 0 };
}

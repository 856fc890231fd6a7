/* multipart/form-data in pieces: see multipart.h.
 *
 * The delimiter is CRLF "--" boundary. A boundary holds no CR, so a match that fails can only begin again at the byte
 * that broke it: how much of the delimiter the input has ended with is all that has to be remembered. */
#include "multipart.h"

#include <stdio.h>
#include <strings.h>

#include "base/path.h"
#include "base/utf8.h"
#include "field.h"
#include "base/banned.h"

enum { PAD_MAX = 64, SHOWN_N = 80 };

enum state {
  PREAMBLE,  /* before the first delimiter */
  DELIMITER, /* behind one: "--", or padding and CRLF */
  PADDING,
  LINE_END, /* CR was there */
  DASH,     /* one of the two of the end */
  HEAD,
  CONTENT,
  EPILOGUE,
  FAILED,
};

struct mf_multipart {
  enum state state;
  char delimiter[4 + MF_MULTIPART_BOUNDARY_MAX];
  size_t delimiter_n;
  size_t matched; /* bytes of it that the input has ended with */
  unsigned part_n, pad_n;
  char head[MF_MULTIPART_HEAD_MAX];
  size_t head_n;
  char name[MF_MULTIPART_HEAD_MAX], filename[MF_MULTIPART_HEAD_MAX];
  struct mf_multipart_part part;
  struct mf_err why; /* FAILED */
};

/* ---- life ---- */

/* RFC 2046: bcharsnospace, and spaces that are not the last. */
static bool is_boundary(const char *z)
{
  size_t n = strlen(z);
  if (n == 0 || n > MF_MULTIPART_BOUNDARY_MAX || z[n - 1] == ' ')
    return false;
  for (size_t i = 0; i < n; i++) {
    char c = z[i];
    bool is_alnum = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!is_alnum && !strchr("'()+_,-./:=? ", c))
      return false;
  }
  return true;
}

static enum mf_code find_boundary(struct mf_str content_type, char ret[MF_MULTIPART_BOUNDARY_MAX + 2],
                                  struct mf_err *err)
{
  struct mf_str rest = content_type, name;
  char value[256];
  bool has_one = false;
  enum mf_gw_field got;
  (void)mf_gw_field_head(&rest);
  while ((got = mf_gw_field_next(&rest, &name, value, sizeof(value))) == MF_GW_FIELD_PARAM) {
    if (!mf_gw_field_is(name, "boundary"))
      continue;
    if (has_one || !is_boundary(value))
      return mf_fail(err, MF_E_INPUT, 0,
                     "Content-Type: expected one boundary of 1 to 70 letters, digits and '()+_,-./:=? ");
    has_one = true;
    snprintf(ret, MF_MULTIPART_BOUNDARY_MAX + 2, "%.*s", MF_MULTIPART_BOUNDARY_MAX, value);
  }
  if (got == MF_GW_FIELD_BAD || !has_one)
    return mf_fail(err, MF_E_INPUT, 0, "Content-Type: %s",
                   has_one ? "malformed parameters" : "multipart/form-data needs a boundary");
  return MF_OK;
}

enum mf_code mf_multipart_new(struct mf_str content_type, struct mf_multipart **ret, struct mf_err *err)
{
  char boundary[MF_MULTIPART_BOUNDARY_MAX + 2];
  enum mf_code code = find_boundary(content_type, boundary, err);
  if (code)
    return code;
  struct mf_multipart *m = mf_xcalloc(1, sizeof(*m));
  m->delimiter_n = 4 + strlen(boundary);
  memcpy(m->delimiter, "\r\n--", 4);
  memcpy(m->delimiter + 4, boundary, m->delimiter_n - 4);
  m->matched = 2; /* the first one needs no line before it */
  *ret = m;
  return MF_OK;
}

void mf_multipart_free(struct mf_multipart *m)
{
  free(m);
}

const struct mf_multipart_part *mf_multipart_part(const struct mf_multipart *m)
{
  return &m->part;
}

/* ---- the head of a part ---- */

struct head {
  struct mf_str disposition, type, encoding; /* {NULL, 0}: absent */
};

#define fail_part(m, err, ...) mf_wrap(err, mf_fail(err, MF_E_INPUT, 0, __VA_ARGS__), "part %u", (m)->part_n)

static bool is_clean(struct mf_str s)
{
  for (size_t i = 0; i < s.len; i++)
    if (((unsigned char)s.ptr[i] < 0x20 && s.ptr[i] != '\t') || s.ptr[i] == 0x7f)
      return false;
  return true;
}

static enum mf_code take_line(const struct mf_multipart *m, struct mf_str line, struct head *h, struct mf_err *err)
{
  const char *colon = line.len ? memchr(line.ptr, ':', line.len) : NULL;
  struct mf_str name = { line.ptr, colon ? (size_t)(colon - line.ptr) : 0 };
  if (name.len == 0 || !is_clean(line) || memchr(name.ptr, ' ', name.len) || memchr(name.ptr, '\t', name.len))
    return fail_part(m, err, "a line of its head is not 'Name: value'");
  struct mf_str value = { colon + 1, line.len - name.len - 1 };
  while (value.len > 0 && (value.ptr[0] == ' ' || value.ptr[0] == '\t'))
    value = (struct mf_str){ value.ptr + 1, value.len - 1 };
  while (value.len > 0 && (value.ptr[value.len - 1] == ' ' || value.ptr[value.len - 1] == '\t'))
    value.len--;
  struct mf_str *places[] = { &h->disposition, &h->type, &h->encoding };
  static const char *const names[] = { "content-disposition", "content-type", "content-transfer-encoding" };
  for (size_t i = 0; i < MF_ARRAY_N(names); i++)
    if (mf_gw_field_is(name, names[i])) {
      if (places[i]->ptr)
        return fail_part(m, err, "its head has %s twice", names[i]);
      *places[i] = value;
    }
  return MF_OK;
}

static int hex_digit(char c)
{
  if (c >= '0' && c <= '9')
    return c - '0';
  char lower = (char)(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* In place. only: the escapes that are meant, as two hex digits each; NULL: all, and anything else is wrong. */
static bool unescape(char *z, const char *const *only, size_t only_n)
{
  char *out = z;
  for (const char *in = z; *in; in++) {
    bool is_meant = *in == '%' && !only;
    for (size_t i = 0; *in == '%' && i < only_n; i++)
      is_meant |= strncasecmp(in + 1, only[i], 2) == 0;
    if (!is_meant) {
      *out++ = *in;
      continue;
    }
    int high = hex_digit(in[1]), low = high < 0 ? -1 : hex_digit(in[2]);
    if (low < 0 || high * 16 + low == 0)
      return false;
    *out++ = (char)(high * 16 + low);
    in += 2;
  }
  *out = 0;
  return true;
}

/* WHATWG HTML, "multipart/form-data encoding algorithm": browsers escape these three so, and nothing else. */
static const char *const browsers_escape[] = { "22", "0D", "0A" };

/* RFC 8187: UTF-8'language'percent-encoded. RFC 7578 has none of it, but some clients send it. */
static bool decode_extended(char *z)
{
  char *quote = strchr(z, '\'');
  char *text = quote ? strchr(quote + 1, '\'') : NULL;
  if (!text || quote - z != 5 || strncasecmp(z, "utf-8", 5) != 0)
    return false;
  memmove(z, text + 1, strlen(text + 1) + 1);
  return unescape(z, NULL, 0);
}

static enum mf_code take_disposition(struct mf_multipart *m, struct mf_str field, struct mf_err *err)
{
  struct mf_str name;
  bool has_name = false, has_filename = false, has_extended = false;
  char value[MF_MULTIPART_HEAD_MAX];
  enum mf_gw_field got;
  if (!mf_gw_field_is(mf_gw_field_head(&field), "form-data"))
    return fail_part(m, err, "expected 'Content-Disposition: form-data; name=…'");
  while ((got = mf_gw_field_next(&field, &name, value, sizeof(value))) == MF_GW_FIELD_PARAM) {
    bool is_name = mf_gw_field_is(name, "name"), is_filename = mf_gw_field_is(name, "filename");
    bool is_extended = mf_gw_field_is(name, "filename*");
    if ((is_name && has_name) || (is_filename && has_filename) || (is_extended && has_extended))
      return fail_part(m, err, "Content-Disposition has a parameter twice");
    if (is_extended ? !decode_extended(value) : !unescape(value, browsers_escape, MF_ARRAY_N(browsers_escape)))
      return fail_part(m, err, "filename*: expected UTF-8''NAME, percent-encoded");
    if (!mf_utf8_is_valid(mf_str_of(value)))
      return fail_part(m, err, "its names are not UTF-8");
    if (is_name)
      memcpy(m->name, value, strlen(value) + 1);
    if (is_extended || (is_filename && !has_extended))
      memcpy(m->filename, value, strlen(value) + 1);
    has_name |= is_name;
    has_filename |= is_filename;
    has_extended |= is_extended;
  }
  if (got == MF_GW_FIELD_BAD || !has_name || !m->name[0])
    return fail_part(m, err, "expected 'Content-Disposition: form-data; name=…'");
  m->part.name = mf_str_of(m->name);
  m->part.filename = has_filename || has_extended ? mf_str_of(m->filename) : (struct mf_str){ NULL, 0 };
  return MF_OK;
}

static enum mf_code check_content(const struct mf_multipart *m, const struct head *h, struct mf_err *err)
{
  static const char *const encodings[] = { "", "7bit", "8bit", "binary" };
  bool is_plain = false;
  for (size_t i = 0; i < MF_ARRAY_N(encodings); i++)
    is_plain |= mf_gw_field_is(h->encoding, encodings[i]);
  if (!is_plain) {
    char shown[SHOWN_N];
    mf_escape(h->encoding, shown, sizeof(shown));
    return fail_part(m, err, "Content-Transfer-Encoding '%s' is not for form-data: send the bytes as they are", shown);
  }
  if (h->type.len >= 10 && strncasecmp(h->type.ptr, "multipart/", 10) == 0)
    return fail_part(m, err, "it is multipart itself: give each file a part of its own");
  return MF_OK;
}

static enum mf_code parse_head(struct mf_multipart *m, struct mf_err *err)
{
  struct head h = { 0 };
  struct mf_str rest = { m->head, m->head_n };
  m->part = (struct mf_multipart_part){ 0 };
  m->name[0] = m->filename[0] = 0;
  for (;;) {
    const char *end = memmem(rest.ptr, rest.len, "\r\n", 2);
    size_t n = (size_t)(end - rest.ptr); /* the head ends with one */
    if (n == 0)
      break;
    enum mf_code code = take_line(m, (struct mf_str){ rest.ptr, n }, &h, err);
    if (code)
      return code;
    rest = (struct mf_str){ end + 2, rest.len - n - 2 };
  }
  enum mf_code code = check_content(m, &h, err);
  if (code)
    return code;
  m->part.content_type = h.type;
  return take_disposition(m, h.disposition, err);
}

/* ---- going on ---- */

static struct mf_str take(struct mf_str *in, size_t n)
{
  struct mf_str taken = { in->ptr, n };
  *in = (struct mf_str){ in->ptr + n, in->len - n };
  return taken;
}

/* How much of the input is surely content: up to where a delimiter stands or may begin. */
static size_t content_before(const struct mf_multipart *m, struct mf_str in)
{
  size_t at = 0;
  while (at < in.len) {
    const char *cr = memchr(in.ptr + at, '\r', in.len - at);
    if (!cr)
      return in.len;
    at = (size_t)(cr - in.ptr);
    if (memcmp(cr, m->delimiter, MF_MIN(in.len - at, m->delimiter_n)) == 0)
      return at;
    at++;
  }
  return at;
}

/* In front of a delimiter. True: *ret has content, which may be thrown away, or (empty) the delimiter was there. */
static bool scan(struct mf_multipart *m, struct mf_str *in, struct mf_str *ret)
{
  while (in->len > 0) {
    if (m->matched == 0) {
      size_t n = content_before(m, *in);
      if (n > 0) {
        *ret = take(in, n);
        return true;
      }
    }
    if (in->ptr[0] != m->delimiter[m->matched]) {
      *ret = (struct mf_str){ m->delimiter, m->matched };
      m->matched = 0;
      return true;
    }
    (void)take(in, 1);
    if (++m->matched == m->delimiter_n) {
      m->matched = 0;
      *ret = (struct mf_str){ NULL, 0 };
      return true;
    }
  }
  return false;
}

static enum mf_code begin_head(struct mf_multipart *m, struct mf_err *err)
{
  if (m->part_n == MF_MULTIPART_PARTS_MAX)
    return mf_fail(err, MF_E_LIMIT, 0, "more than %d parts", MF_MULTIPART_PARTS_MAX);
  m->part_n++;
  m->head_n = 0;
  m->state = HEAD;
  return MF_OK;
}

/* The rest of a delimiter's line. */
static enum mf_code step(struct mf_multipart *m, char c, struct mf_err *err)
{
  bool is_pad = c == ' ' || c == '\t';
  if (m->state == LINE_END && c == '\n')
    return begin_head(m, err);
  if (m->state == DELIMITER && c == '-')
    m->state = DASH;
  else if ((m->state == DELIMITER || m->state == PADDING) && c == '\r')
    m->state = LINE_END;
  else if ((m->state == DELIMITER || m->state == PADDING) && is_pad && ++m->pad_n <= PAD_MAX)
    m->state = PADDING;
  else if (m->state == DASH && c == '-')
    m->state = EPILOGUE;
  else
    return mf_fail(err, MF_E_INPUT, 0, "a boundary is not followed by a line's end or '--'");
  return MF_OK;
}

/* True: the head is whole. */
static bool gather(struct mf_multipart *m, struct mf_str *in)
{
  while (in->len > 0 && m->head_n < sizeof(m->head)) {
    m->head[m->head_n++] = take(in, 1).ptr[0];
    if (m->head[m->head_n - 1] != '\n')
      continue;
    bool is_empty = m->head_n == 2 && m->head[0] == '\r';
    if (is_empty || (m->head_n >= 4 && memcmp(m->head + m->head_n - 4, "\r\n\r\n", 4) == 0))
      return true;
  }
  return false;
}

static enum mf_code read_head(struct mf_multipart *m, struct mf_str *in, enum mf_multipart_event *ret,
                              struct mf_err *err)
{
  if (!gather(m, in)) {
    if (m->head_n == sizeof(m->head))
      return mf_fail(err, MF_E_LIMIT, 0, "part %u: its head is over %d bytes", m->part_n, MF_MULTIPART_HEAD_MAX);
    return MF_OK;
  }
  enum mf_code code = parse_head(m, err);
  if (code)
    return code;
  m->state = CONTENT;
  *ret = MF_MULTIPART_PART;
  return MF_OK;
}

static enum mf_code advance(struct mf_multipart *m, struct mf_str *in, enum mf_multipart_event *ret,
                            struct mf_str *ret_data, struct mf_err *err)
{
  struct mf_str data;
  enum mf_code code = MF_OK;
  switch (m->state) {
  case PREAMBLE:
    if (scan(m, in, &data) && data.len == 0)
      m->state = DELIMITER;
    break;
  case CONTENT:
    if (!scan(m, in, &data))
      break;
    *ret = data.len > 0 ? MF_MULTIPART_DATA : MF_MULTIPART_PART_END;
    *ret_data = data;
    m->state = data.len > 0 ? CONTENT : DELIMITER;
    m->pad_n = 0;
    break;
  case HEAD:
    return read_head(m, in, ret, err);
  case DELIMITER:
  case PADDING:
  case LINE_END:
  case DASH:
    code = step(m, take(in, 1).ptr[0], err);
    if (m->state == EPILOGUE)
      *ret = MF_MULTIPART_END;
    break;
  case EPILOGUE:
    (void)take(in, in->len);
    break;
  case FAILED:
    *err = m->why;
    return m->why.code;
  }
  return code;
}

enum mf_code mf_multipart_next(struct mf_multipart *m, struct mf_str *in, enum mf_multipart_event *ret,
                               struct mf_str *ret_data, struct mf_err *err)
{
  struct mf_err why = { 0 };
  *ret = MF_MULTIPART_MORE;
  *ret_data = (struct mf_str){ NULL, 0 };
  while (in->len > 0 && *ret == MF_MULTIPART_MORE) {
    enum mf_code code = advance(m, in, ret, ret_data, &why);
    if (code) {
      m->state = FAILED;
      m->why = why;
      return mf_fail(err, code, 0, "%s", why.msg);
    }
  }
  return MF_OK;
}

enum mf_code mf_multipart_finish(struct mf_multipart *m, struct mf_err *err)
{
  if (m->state == FAILED)
    return mf_fail(err, m->why.code, 0, "%s", m->why.msg);
  if (m->state == EPILOGUE)
    return MF_OK;
  return mf_fail(err, MF_E_INPUT, 0,
                 m->part_n == 0 ? "the boundary is nowhere in the body" : "the body ends before its last boundary");
}

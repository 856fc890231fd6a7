/* What a file is, told from its first bytes; its name only breaks ties between kinds of text and of ZIP.
 * Thread: any. */
#include "sandbox/sandbox.h"

#include <strings.h>

#include "base/utf8.h"

#include "base/banned.h"

#define MIME_BINARY "application/octet-stream"
#define MIME_TEXT "text/plain; charset=utf-8"

struct magic_row {
  size_t at;
  struct mf_str bytes;
  const char *type;
};

static const struct magic_row magic_rows[] = {
  { 0, { "\x89PNG\r\n\x1a\n", 8 }, "image/png" },
  { 0, { "\xff\xd8\xff", 3 }, "image/jpeg" },
  { 0, { "GIF87a", 6 }, "image/gif" },
  { 0, { "GIF89a", 6 }, "image/gif" },
  { 8, { "WEBP", 4 }, "image/webp" }, /* behind "RIFF" and a length */
  { 0, { "%PDF-", 5 }, "application/pdf" },
  { 0, { "\x1f\x8b\x08", 3 }, "application/gzip" },
  { 0, { "PAR1", 4 }, "application/vnd.apache.parquet" },
  { 0, { "ARROW1\0\0", 8 }, "application/vnd.apache.arrow.file" },
  { 0, { "SQLite format 3\0", 16 }, "application/vnd.sqlite3" },
};

/* Local file header, the end record of an empty archive, a spanned archive. */
static const struct mf_str zip_magics[] = { { "PK\3\4", 4 }, { "PK\5\6", 4 }, { "PK\7\10", 4 } };

static bool has_at(struct mf_str s, size_t at, struct mf_str bytes)
{
  return s.len >= at && s.len - at >= bytes.len && memcmp(s.ptr + at, bytes.ptr, bytes.len) == 0;
}

static bool ends_with(struct mf_str name, const char *suffix)
{
  size_t n = strlen(suffix);
  return name.len > n && strncasecmp(name.ptr + name.len - n, suffix, n) == 0;
}

static bool starts_nocase(struct mf_str s, const char *prefix)
{
  size_t n = strlen(prefix);
  return s.len >= n && strncasecmp(s.ptr, prefix, n) == 0;
}

static struct mf_str skip_bytes(struct mf_str s, size_t n)
{
  return (struct mf_str){ s.ptr + n, s.len - n };
}

static bool is_space(char c)
{
  return c == ' ' || (c >= '\t' && c <= '\r');
}

static struct mf_str skip_space(struct mf_str s)
{
  while (s.len > 0 && is_space(s.ptr[0]))
    s = skip_bytes(s, 1);
  return s;
}

/* Text is UTF-8 without control characters, save white space, backspace and the escape of coloured logs. */
static bool is_text(struct mf_str head)
{
  for (size_t i = 0; i < head.len; i++) {
    unsigned char c = (unsigned char)head.ptr[i];
    if ((c < 0x20 && !(c >= '\b' && c <= '\r') && c != 0x1b) || c == 0x7f)
      return false;
  }
  if (mf_utf8_is_valid(head))
    return true;
  /* A head that fills the whole window may end inside a character. */
  if (head.len < MF_MIME_HEAD_N)
    return false;
  for (size_t cut = 1; cut <= 3; cut++) {
    unsigned char c = (unsigned char)head.ptr[head.len - cut];
    if (c >= 0xc2 && c <= 0xf4) {
      size_t need = c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
      return cut < need && mf_utf8_is_valid((struct mf_str){ head.ptr, head.len - cut });
    }
    if (c < 0x80)
      return false;
  }
  return false;
}

/* Skips what may stand before the root element: XML declaration, comments, a doctype. Stops at anything else. */
static struct mf_str skip_prolog(struct mf_str s)
{
  for (;;) {
    s = skip_space(s);
    const char *end = starts_nocase(s, "<?")          ? "?>"
                      : starts_nocase(s, "<!--")      ? "-->"
                      : starts_nocase(s, "<!doctype") ? ">"
                                                      : NULL;
    if (end == NULL)
      return s;
    const char *hit = memmem(s.ptr, s.len, end, strlen(end));
    if (hit == NULL)
      return (struct mf_str){ s.ptr + s.len, 0 };
    s = skip_bytes(s, (size_t)(hit - s.ptr) + strlen(end));
  }
}

static bool is_tag_end(struct mf_str s, size_t at)
{
  return s.len <= at || s.ptr[at] == '>' || s.ptr[at] == '/' || is_space(s.ptr[at]);
}

static const char *sniff_text(struct mf_str name, struct mf_str head)
{
  if (mf_str_starts(head, "\xef\xbb\xbf"))
    head = skip_bytes(head, 3);
  struct mf_str body = skip_space(head);
  struct mf_str root = skip_prolog(head);
  if (mf_str_starts(root, "<svg") && is_tag_end(root, 4))
    return "image/svg+xml";
  if (starts_nocase(body, "<!doctype html") || (starts_nocase(root, "<html") && is_tag_end(root, 5)))
    return "text/html";
  if (ends_with(name, ".csv"))
    return "text/csv";
  if (ends_with(name, ".tsv"))
    return "text/tab-separated-values";
  if ((ends_with(name, ".html") || ends_with(name, ".htm")) && mf_str_starts(body, "<"))
    return "text/html";
  if (ends_with(name, ".json") && body.len > 0 && strchr("{[\"-0123456789tfnNI", body.ptr[0]) != NULL)
    return "application/json";
  return MIME_TEXT;
}

const char *mf_mime_sniff(struct mf_str name, struct mf_str head)
{
  for (size_t i = 0; i < MF_ARRAY_N(magic_rows); i++) {
    const struct magic_row *row = &magic_rows[i];
    if (has_at(head, row->at, row->bytes) && (row->at == 0 || mf_str_starts(head, "RIFF")))
      return row->type;
  }
  for (size_t i = 0; i < MF_ARRAY_N(zip_magics); i++) {
    if (has_at(head, 0, zip_magics[i]))
      return ends_with(name, ".xlsx") ? "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
                                      : "application/zip";
  }
  return is_text(head) ? sniff_text(name, head) : MIME_BINARY;
}

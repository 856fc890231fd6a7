/* Hints for CSV inputs: the encoding first, then the delimiter in a projection of the text to ASCII.
 *
 * Order of the encodings: what is marked (a byte order mark), what is strict (UTF-8, UTF-16 by its zeros), what is
 * likely (Shift JIS, GB 18030 by their commonest characters), and at last Western text, where letters above ASCII stand
 * alone. */
#include "csv-hint.h"

#include <stdint.h>
#include <stdlib.h>
#include <strings.h>

#include "base/err.h"
#include "base/utf8.h"
#include "sandbox/sandbox.h"
#include "base/banned.h"

enum encoding { UTF_8, UTF_8_SIG, UTF_16LE, UTF_16BE, SHIFT_JIS, GB18030, WINDOWS_1252, ENCODING_N };

static const char *const encoding_names[ENCODING_N] = {
  [UTF_8] = "utf-8",         [UTF_8_SIG] = "utf-8-sig", [UTF_16LE] = "utf-16le",         [UTF_16BE] = "utf-16be",
  [SHIFT_JIS] = "shift_jis", [GB18030] = "gb18030",     [WINDOWS_1252] = "windows-1252",
};

const char *csv_hint_encoding(struct mf_str name)
{
  for (unsigned i = 0; i < ENCODING_N; i++)
    if (mf_str_is(name, encoding_names[i]))
      return encoding_names[i];
  return NULL;
}

static unsigned byte_at(struct mf_str s, size_t i)
{
  return (unsigned char)s.ptr[i];
}

/* ---- the encoding ---- */

static bool is_control(unsigned c)
{
  return (c < 0x20 && !(c >= '\t' && c <= '\r') && c != 0x1b) || c == 0x7f;
}

static bool has_control(struct mf_str s)
{
  for (size_t i = 0; i < s.len; i++)
    if (is_control(byte_at(s, i)))
      return true;
  return false;
}

/* The window may end inside a character. */
static bool is_utf8(struct mf_str s, bool is_whole)
{
  for (unsigned cut = 0; cut < (is_whole ? 1u : 4u) && cut <= s.len; cut++) {
    if (mf_utf8_is_valid((struct mf_str){ s.ptr, s.len - cut }))
      return true;
  }
  return false;
}

/* UTF-16 of mostly Western text has a zero in one half of nearly every pair, and none in the other. */
static bool is_utf16(struct mf_str s, unsigned zero_at)
{
  size_t zero_n = 0, pair_n = s.len / 2;
  for (size_t i = 0; i < pair_n; i++) {
    if (byte_at(s, 2 * i + 1 - zero_at) == 0)
      return false;
    zero_n += byte_at(s, 2 * i + zero_at) == 0;
  }
  return pair_n > 0 && zero_n * 10 >= pair_n * 7;
}

struct pairs {
  size_t pair_n;   /* characters of two bytes */
  size_t common_n; /* of these, the commonest of the language */
  bool is_valid;
};

static bool is_sjis_lead(unsigned c)
{
  return (c >= 0x81 && c <= 0x9f) || (c >= 0xe0 && c <= 0xfc);
}

static struct pairs count_sjis(struct mf_str s)
{
  struct pairs p = { .is_valid = true };
  for (size_t i = 0; i < s.len; i++) {
    unsigned c = byte_at(s, i);
    if (c < 0x80 || (c >= 0xa1 && c <= 0xdf)) /* ASCII, or a kana of half width */
      continue;
    if (i + 1 == s.len)
      break;
    unsigned d = byte_at(s, ++i);
    p.is_valid = p.is_valid && is_sjis_lead(c) && d >= 0x40 && d <= 0xfc && d != 0x7f;
    p.pair_n++;
    p.common_n += c == 0x82 || c == 0x83 || (c >= 0x88 && c <= 0x97); /* kana, and kanji of the first level */
  }
  return p;
}

static struct pairs count_gb(struct mf_str s)
{
  struct pairs p = { .is_valid = true };
  for (size_t i = 0; i < s.len; i++) {
    unsigned c = byte_at(s, i);
    if (c < 0x80)
      continue;
    if (i + 1 == s.len)
      break;
    unsigned d = byte_at(s, ++i);
    if (d >= '0' && d <= '9') { /* four bytes */
      i += 2;
      continue;
    }
    p.is_valid = p.is_valid && c != 0x80 && c != 0xff && d >= 0x40 && d != 0x7f && d != 0xff;
    p.pair_n++;
    /* Hanzi of the first level, and punctuation. */
    p.common_n += d >= 0xa1 && ((c >= 0xb0 && c <= 0xd7) || c == 0xa1 || c == 0xa3);
  }
  return p;
}

/* Of the bytes above ASCII, whether most stand alone between ASCII ones, and all mean something in Windows-1252. */
static bool is_western(struct mf_str s, bool *ret_is_sure)
{
  size_t alone_n = 0, high_n = 0;
  for (size_t i = 0; i < s.len; i++) {
    unsigned c = byte_at(s, i);
    if (c < 0x80)
      continue;
    if (c == 0x81 || c == 0x8d || c == 0x8f || c == 0x90 || c == 0x9d)
      return false;
    high_n++;
    alone_n += (i == 0 || byte_at(s, i - 1) < 0x80) && (i + 1 == s.len || byte_at(s, i + 1) < 0x80);
  }
  *ret_is_sure = alone_n * 2 > high_n;
  return true;
}

static bool is_likely(struct pairs p)
{
  return p.is_valid && p.pair_n > 0 && p.common_n * 10 >= p.pair_n * 7;
}

static int encoding_of_bytes(struct mf_str s)
{
  bool is_sure = false, can_be_western = is_western(s, &is_sure);
  if (can_be_western && is_sure)
    return WINDOWS_1252;
  struct pairs sjis = count_sjis(s), gb = count_gb(s);
  if (is_likely(sjis) && (!is_likely(gb) || sjis.common_n >= gb.common_n))
    return SHIFT_JIS;
  if (is_likely(gb))
    return GB18030;
  return can_be_western ? WINDOWS_1252 : ENCODING_N;
}

static int encoding_of(struct mf_str s, bool is_whole, bool *ret_bom)
{
  *ret_bom = true;
  if (mf_str_starts(s, "\xef\xbb\xbf"))
    return is_utf8(s, is_whole) ? UTF_8_SIG : ENCODING_N;
  if (s.len >= 4 && memcmp(s.ptr, "\xff\xfe\0\0", 4) == 0)
    return ENCODING_N; /* UTF-32: nobody writes tables so */
  if (mf_str_starts(s, "\xff\xfe"))
    return UTF_16LE;
  if (mf_str_starts(s, "\xfe\xff"))
    return UTF_16BE;
  *ret_bom = false;
  if (is_utf16(s, 1))
    return UTF_16LE;
  if (is_utf16(s, 0))
    return UTF_16BE;
  if (has_control(s))
    return ENCODING_N;
  return is_utf8(s, is_whole) ? UTF_8 : encoding_of_bytes(s);
}

/* ---- the delimiter ---- */

/* The text with one byte for each character: itself where it is ASCII, else 'x'. In place of a second byte that looks
 * like a delimiter nothing is left. Returns its length. */
static size_t project(struct mf_str s, int encoding, char *ret)
{
  size_t n = 0;
  if (encoding == UTF_16LE || encoding == UTF_16BE) {
    unsigned low = encoding == UTF_16LE ? 0 : 1;
    for (size_t i = 0; i + 1 < s.len; i += 2) {
      unsigned c = byte_at(s, i + low), high = byte_at(s, i + 1 - low);
      ret[n++] = high == 0 && c < 0x80 ? (char)c : 'x';
    }
    return n;
  }
  for (size_t i = 0; i < s.len; i++) {
    unsigned c = byte_at(s, i);
    bool has_second = (encoding == SHIFT_JIS && is_sjis_lead(c)) || (encoding == GB18030 && c >= 0x81);
    ret[n++] = c < 0x80 ? (char)c : 'x';
    i += has_second;
  }
  return n;
}

static const char delimiters[] = { ',', ';', '\t', '|' };
enum { DELIMITER_N = MF_ARRAY_N(delimiters), RECORDS_MAX = 64 };

struct counts {
  unsigned of[RECORDS_MAX][DELIMITER_N];
  unsigned record_n;
};

/* Counts delimiters outside quotes, record by record. A last record that may be cut is left out, unless it is all. */
static void count_records(struct mf_str text, bool is_whole, struct counts *ret)
{
  bool is_quoted = false, is_empty = true;
  *ret = (struct counts){ .record_n = 0 };
  for (size_t i = 0; i <= text.len && ret->record_n < RECORDS_MAX; i++) {
    bool is_end = i == text.len;
    char c = is_end ? '\n' : text.ptr[i];
    if (is_end && !is_whole && ret->record_n > 0)
      break;
    if ((c == '\n' || c == '\r') && (!is_quoted || is_end)) {
      ret->record_n += !is_empty;
      is_empty = true;
      continue;
    }
    if (is_empty)
      memset(ret->of[ret->record_n], 0, sizeof(ret->of[0]));
    is_empty = false;
    is_quoted ^= c == '"';
    for (unsigned d = 0; d < DELIMITER_N; d++)
      ret->of[ret->record_n][d] += !is_quoted && c == delimiters[d];
  }
}

/* The one that is as often in nearly every record as in the first; of several, the most frequent. */
static char choose_delimiter(const struct counts *c)
{
  char best = 0;
  unsigned best_n = 0;
  for (unsigned d = 0; c->record_n > 0 && d < DELIMITER_N; d++) {
    unsigned first = c->of[0][d], same_n = 0;
    for (unsigned i = 0; i < c->record_n; i++)
      same_n += c->of[i][d] == first;
    if (first > best_n && same_n * 10 >= c->record_n * 9) {
      best = delimiters[d];
      best_n = first;
    }
  }
  return best;
}

static char delimiter_of(struct mf_str head, int encoding, bool is_whole)
{
  mf_auto_free char *text = mf_xmalloc(head.len + 1);
  mf_auto_free struct counts *counts = mf_xmalloc(sizeof(*counts));
  size_t n = project(head, encoding, text);
  count_records((struct mf_str){ text, n }, is_whole, counts);
  return choose_delimiter(counts);
}

/* ---- both ---- */

static bool ends_with(struct mf_str name, const char *suffix)
{
  size_t n = strlen(suffix);
  return name.len > n && strncasecmp(name.ptr + name.len - n, suffix, n) == 0;
}

/* By its name, or text of no other kind by its content. */
static bool is_table_like(struct mf_str name, struct mf_str head)
{
  if (ends_with(name, ".csv") || ends_with(name, ".tsv") || ends_with(name, ".txt"))
    return true;
  return strcmp(mf_mime_sniff(name, head), "text/plain; charset=utf-8") == 0;
}

struct csv_hint csv_hint_of(struct mf_str name, struct mf_str head, bool is_whole)
{
  struct csv_hint h = { .encoding = NULL };
  if (head.len > CSV_HINT_HEAD_N) {
    head.len = CSV_HINT_HEAD_N;
    is_whole = false;
  }
  if (head.len == 0 || !is_table_like(name, head))
    return h;
  int encoding = encoding_of(head, is_whole, &h.bom);
  if (encoding == ENCODING_N) {
    h.bom = false;
    return h;
  }
  h.encoding = encoding_names[encoding];
  h.delimiter = delimiter_of(head, encoding, is_whole);
  return h;
}

/* UTF-8: checking, cutting and streaming repair. Thread: any. */
#include "base/utf8.h"

#include <assert.h>
#include <stdint.h>

#include "utf8-internal.h"
#include "base/banned.h"

#define REPLACEMENT MF_STR("\xef\xbf\xbd")

/* Table 3-7 of the Unicode Standard: only the second byte's range depends on the first. */
struct mf_utf8_step mf_utf8_step(struct mf_str s)
{
  const unsigned char *p = (const unsigned char *)s.ptr;
  unsigned char lo = 0x80, hi = 0xbf, lead = p[0];
  unsigned need;
  if (lead < 0x80)
    return (struct mf_utf8_step){ MF_UTF8_CHAR, 1 };
  if (lead >= 0xc2 && lead <= 0xdf)
    need = 2;
  else if (lead >= 0xe0 && lead <= 0xef)
    need = 3;
  else if (lead >= 0xf0 && lead <= 0xf4)
    need = 4;
  else
    return (struct mf_utf8_step){ MF_UTF8_BAD, 1 };
  if (lead == 0xe0)
    lo = 0xa0; /* overlong below */
  else if (lead == 0xed)
    hi = 0x9f; /* surrogates above */
  else if (lead == 0xf0)
    lo = 0x90; /* overlong below */
  else if (lead == 0xf4)
    hi = 0x8f; /* beyond U+10FFFF above */

  for (unsigned i = 1; i < need; i++) {
    if (i >= s.len)
      return (struct mf_utf8_step){ MF_UTF8_CUT, i };
    if (p[i] < lo || p[i] > hi)
      return (struct mf_utf8_step){ MF_UTF8_BAD, i };
    lo = 0x80;
    hi = 0xbf;
  }
  return (struct mf_utf8_step){ MF_UTF8_CHAR, need };
}

/* The length of the valid prefix: whole characters only. Eight ASCII bytes go at once. */
static size_t valid_prefix(struct mf_str s)
{
  size_t i = 0;
  while (i < s.len) {
    uint64_t word;
    if (s.len - i >= sizeof(word)) {
      memcpy(&word, s.ptr + i, sizeof(word));
      if (!(word & 0x8080808080808080ull)) {
        i += sizeof(word);
        continue;
      }
    }
    struct mf_utf8_step step = mf_utf8_step((struct mf_str){ s.ptr + i, s.len - i });
    if (step.kind != MF_UTF8_CHAR)
      break;
    i += step.n;
  }
  return i;
}

bool mf_utf8_is_valid(struct mf_str s)
{
  return valid_prefix(s) == s.len;
}

size_t mf_utf8_prefix(struct mf_str s, size_t max)
{
  if (s.len <= max)
    return s.len;
  /* s.ptr[n] is the first byte that is left out: it must start a character. */
  size_t n = max;
  while (n > 0 && ((unsigned char)s.ptr[n] & 0xc0) == 0x80)
    n--;
  return n;
}

/* Appends valid text; at the limit, as many whole characters of it as fit. */
static enum mf_code append_valid(struct mf_buf *out, struct mf_str s)
{
  enum mf_code code = mf_buf_append_str(out, s);
  if (code) {
    s.len = mf_utf8_prefix(s, out->max - out->len);
    if (s.len > 0 && mf_buf_append_str(out, s) != MF_OK)
      return MF_E_LIMIT;
  }
  return code;
}

/* Completes the held character with bytes of `in`; *ret_used tells how many were taken. */
static enum mf_code feed_held(struct mf_utf8_repair *r, struct mf_str in, size_t *ret_used, struct mf_buf *out)
{
  size_t used = 0;
  while (r->held_n > 0 && used < in.len) {
    assert(r->held_n < sizeof(r->held));
    r->held[r->held_n] = (unsigned char)in.ptr[used];
    struct mf_utf8_step step = mf_utf8_step((struct mf_str){ (const char *)r->held, r->held_n + 1 });
    enum mf_code code = MF_OK;
    switch (step.kind) {
    case MF_UTF8_CUT:
      r->held_n++;
      used++;
      break;
    case MF_UTF8_CHAR:
      code = append_valid(out, (struct mf_str){ (const char *)r->held, step.n });
      r->held_n = 0;
      used++;
      break;
    case MF_UTF8_BAD:
      /* What was held is the invalid part; the byte at hand begins anew. */
      code = append_valid(out, REPLACEMENT);
      r->held_n = 0;
      break;
    }
    if (code)
      return code;
  }
  *ret_used = used;
  return MF_OK;
}

enum mf_code mf_utf8_repair_feed(struct mf_utf8_repair *r, struct mf_str in, struct mf_buf *out)
{
  size_t i = 0;
  enum mf_code code = feed_held(r, in, &i, out);
  while (!code && i < in.len) {
    struct mf_str rest = { in.ptr + i, in.len - i };
    size_t n = valid_prefix(rest);
    code = append_valid(out, (struct mf_str){ rest.ptr, n });
    i += n;
    if (code || i == in.len)
      break;

    rest = (struct mf_str){ in.ptr + i, in.len - i };
    struct mf_utf8_step step = mf_utf8_step(rest);
    i += step.n;
    if (step.kind == MF_UTF8_CUT) {
      memcpy(r->held, rest.ptr, step.n);
      r->held_n = step.n;
    } else {
      code = append_valid(out, REPLACEMENT);
    }
  }
  return code;
}

enum mf_code mf_utf8_repair_finish(struct mf_utf8_repair *r, struct mf_buf *out)
{
  if (r->held_n == 0)
    return MF_OK;
  r->held_n = 0;
  return append_valid(out, REPLACEMENT);
}

/* What of a stranger's text a terminal may see. */
#include "terminal.h"

#include <string.h>

#include "base/banned.h"

#define ESC 0x1b
#define C1_LEAD 0xc2 /* first of the two bytes of U+0080 to U+00BF */

static bool is_control(unsigned char c)
{
  return (c < 0x20 && c != '\n' && c != '\t' && c != '\r') || c == 0x7f;
}

/* Ends a run of bytes that need no look. */
static bool is_special(unsigned char c)
{
  return is_control(c) || c == C1_LEAD;
}

static enum mf_code put_shown(struct mf_buf *out, unsigned char c)
{
  static const char hex[] = "0123456789abcdef";
  const char text[4] = { '\\', 'x', hex[c >> 4], hex[c & 15] };
  return mf_buf_append(out, text, sizeof(text));
}

/* What is held turned out to be nothing that may pass: its first byte is shown, the rest is plain text. */
static enum mf_code show_held(struct mf_terminal *t, struct mf_buf *out)
{
  size_t n = t->held_n;
  t->held_n = 0;
  if (n == 0)
    return MF_OK;
  enum mf_code code = put_shown(out, (unsigned char)t->held[0]);
  return code == MF_OK ? mf_buf_append(out, t->held + 1, n - 1) : code;
}

static enum mf_code pass_held(struct mf_terminal *t, char last, struct mf_buf *out)
{
  t->held[t->held_n++] = last;
  enum mf_code code = mf_buf_append(out, t->held, t->held_n);
  t->held_n = 0;
  return code;
}

/* ESC [ m and ESC [ 0 m. */
static bool ends_colours(const struct mf_terminal *t)
{
  for (size_t i = 2; i < t->held_n; i++)
    if (t->held[i] != '0')
      return false;
  return true;
}

/* The next byte after what is held. False: it is not part of it and stands for itself. */
static bool take_held(struct mf_terminal *t, unsigned char c, struct mf_buf *out, enum mf_code *ret)
{
  if ((unsigned char)t->held[0] == C1_LEAD) {
    if (c < 0xa0) {
      t->held_n = 0;
      *ret = put_shown(out, c);
    } else {
      *ret = pass_held(t, (char)c, out);
    }
    return true;
  }
  bool is_second = t->held_n == 1;
  bool is_part = is_second ? c == '[' : (c >= '0' && c <= ';'); /* digits, ':' and ';' */
  if (is_part && t->held_n < sizeof(t->held) - 1) {
    t->held[t->held_n++] = (char)c;
    return true;
  }
  if (!is_second && c == 'm') {
    t->is_styled = !ends_colours(t);
    *ret = pass_held(t, 'm', out);
    return true;
  }
  *ret = show_held(t, out);
  return false;
}

enum mf_code mf_terminal_feed(struct mf_terminal *t, struct mf_str text, struct mf_buf *out)
{
  enum mf_code code = MF_OK;
  for (size_t i = 0; i < text.len && code == MF_OK;) {
    unsigned char c = (unsigned char)text.ptr[i];
    if (t->held_n > 0 && take_held(t, c, out, &code)) {
      i++;
    } else if (code != MF_OK) {
      break;
    } else if (c == ESC || c == C1_LEAD) {
      t->held[t->held_n++] = (char)c;
      i++;
    } else if (is_control(c)) {
      code = put_shown(out, c);
      i++;
    } else {
      size_t from = i;
      while (i < text.len && !is_special((unsigned char)text.ptr[i]))
        i++;
      code = mf_buf_append(out, text.ptr + from, i - from);
    }
  }
  return code;
}

enum mf_code mf_terminal_end(struct mf_terminal *t, struct mf_buf *out)
{
  enum mf_code code = show_held(t, out);
  if (code == MF_OK && t->is_styled)
    code = mf_buf_append_str(out, MF_STR("\x1b[0m"));
  *t = (struct mf_terminal){ 0 };
  return code;
}

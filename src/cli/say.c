/* What commands say: one-line messages on standard error, whole texts on standard output. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli.h"

#include "base/banned.h"

#define LINE_MAX_BYTES 4096

/* How many bytes at p, of n, make up a character that steers the terminal or its text's direction: a control, U+0080 to
 * U+009F, a line separator, a mark of direction. 0: none. */
static size_t steering_n(const char *p, size_t n)
{
  const unsigned char *s = (const unsigned char *)p;
  if (s[0] < 0x20 || s[0] == 0x7f)
    return 1;
  if (n >= 2 && s[0] == 0xc2 && s[1] >= 0x80 && s[1] < 0xa0)
    return 2;
  if (n < 3 || s[0] != 0xe2)
    return 0;
  bool is_mark = (s[1] == 0x80 && (s[2] == 0x8e || s[2] == 0x8f || (s[2] >= 0xa8 && s[2] <= 0xae))) ||
                 (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9);
  return is_mark ? 3 : 0;
}

void mf_say(const char *fmt, ...)
{
  char line[LINE_MAX_BYTES] = "mayfly: ";
  size_t at = strlen(line);
  va_list ap;

  va_start(ap, fmt);
  int n = vsnprintf(line + at, sizeof(line) - at - 1, fmt, ap);
  va_end(ap);
  if (n < 0)
    return;
  size_t len = MF_MIN(at + (size_t)n, sizeof(line) - 2);
  /* A message may quote what a stranger wrote (a file name, a hint of the guest): it stays one line and moves no
   * cursor. */
  for (size_t i = at; i < len; i++) {
    size_t bad_n = steering_n(line + i, len - i);
    memset(line + i, ' ', bad_n);
  }
  line[len] = '\n';
  (void)!mf_write_all(STDERR_FILENO, line, len + 1, NULL); /* nowhere to complain when this fails */
}

bool mf_print(struct mf_str text, int *ret_exit)
{
  struct mf_err err = { 0 };
  if (mf_write_all(STDOUT_FILENO, text.ptr, text.len, &err) == MF_OK)
    return true;
  if (err.sys == EPIPE || err.code == MF_E_GONE) {
    *ret_exit = 128 + SIGPIPE;
    return false;
  }
  mf_say("standard output: %s", err.msg);
  *ret_exit = MF_EXIT_OURS;
  return false;
}

int mf_print_exit(struct mf_str text)
{
  int status = 0;
  (void)mf_print(text, &status);
  return status;
}

void mf_put(struct mf_buf *out, const char *fmt, ...)
{
  char text[LINE_MAX_BYTES];
  va_list ap;

  va_start(ap, fmt);
  int n = vsnprintf(text, sizeof(text), fmt, ap);
  va_end(ap);
  if (n < 0 || (size_t)n >= sizeof(text) || mf_buf_append(out, text, (size_t)n) != MF_OK)
    abort(); /* our own texts are bounded: a larger one is a mistake in this program */
}

/* The lines between a measuring program and bench/run. */
#include "answer.h"

#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"

#include "base/banned.h"

#define ANSWER_BYTES_MAX ((size_t)256 * 1024)

void mf_answer_begin(struct mf_answer *a)
{
  mf_buf_init(&a->text, ANSWER_BYTES_MAX);
  mf_jw_init(&a->w, &a->text, false);
  mf_jw_obj(&a->w);
}

void mf_answer_send(struct mf_answer *a)
{
  struct mf_err err = { 0 };
  mf_jw_obj_end(&a->w);
  enum mf_code code = a->w.code;
  if (code == MF_OK)
    code = mf_buf_append(&a->text, "\n", 1);
  if (code == MF_OK)
    code = mf_write_all(STDOUT_FILENO, a->text.ptr, a->text.len, &err);
  mf_buf_done(&a->text);
  if (code != MF_OK) {
    fprintf(stderr, "bench: cannot answer: %s\n", err.msg[0] ? err.msg : mf_code_name(code));
    exit(1); /* bench/run has gone; the supervisor ends with this process */
  }
}

void mf_answer_error(const char *message)
{
  struct mf_answer a;
  mf_answer_begin(&a);
  mf_jw_kstrz(&a.w, "error", message);
  mf_answer_send(&a);
}

unsigned mf_words(char *line, char **words, unsigned max)
{
  unsigned n = 0;
  for (char *p = line; *p && n < max;) {
    while (*p == ' ')
      *p++ = 0;
    if (!*p)
      break;
    words[n++] = p;
    while (*p && *p != ' ')
      p++;
  }
  if (n > 0) {
    char *end = words[n - 1] + strcspn(words[n - 1], " ");
    *end = 0;
  }
  return n;
}

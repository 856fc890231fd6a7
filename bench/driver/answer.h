/* What both measuring programs speak: one command a line on standard input, one JSON object a line on standard output.
 *
 *   once WHAT…                 measure one run:    {"ms": 0.62, "out": "1\n", …}
 *   rate WHAT… RUNNING MS      keep RUNNING runs going for so long: {"perSecond": 950.2, "runs": 1426, …}
 *
 * A failure answers {"error": "…"} instead. The first line, before any command, is {"ready": true, …}. */
#ifndef MF_BENCH_ANSWER_H
#define MF_BENCH_ANSWER_H

#include "base/buf.h"
#include "json/json.h"

#define MF_BENCH_RUNNING_MAX 64u
#define MF_BENCH_RATE_MS_MAX 600000u

struct mf_answer {
  struct mf_buf text;
  struct mf_json_writer w;
};
/* begin opens the object; send closes it, writes the line and releases it, and ends the program when nobody reads. */
void mf_answer_begin(struct mf_answer *a);
void mf_answer_send(struct mf_answer *a);
void mf_answer_error(const char *message);

/* Splits a command at its spaces. Returns the number of words, at most `max`; words are NUL-terminated in place. */
unsigned mf_words(char *line, char **words, unsigned max);

#endif

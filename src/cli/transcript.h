/* A stream of the Responses API as a person likes to read it: thoughts, program, output, answer. */
#ifndef MF_CLI_TRANSCRIPT_H
#define MF_CLI_TRANSCRIPT_H

#include "base/buf.h"
#include "json/json.h"

struct mf_transcript {
  const char *section; /* what stands above the text that is being shown; NULL at first */
  bool is_new_line;
  bool has_completed; /* response.completed was seen */
  bool has_run;       /* a program of the model ended well */
  char words[400];    /* why it did not complete; "" */
};
void mf_transcript_init(struct mf_transcript *t);
/* Appends what one event shows, which may be nothing. Unknown events show nothing. */
MF_MUST_USE enum mf_code mf_transcript_event(struct mf_transcript *t, const struct mf_json_val *event,
                                             struct mf_buf *out, struct mf_err *err);

#endif

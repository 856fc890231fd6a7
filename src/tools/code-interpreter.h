/* The code interpreter's parts: declaration (code-interpreter.c), arguments and result as words (interpreter-words.c).
 * Private to this room. */
#ifndef MF_TOOLS_CODE_INTERPRETER_H
#define MF_TOOLS_CODE_INTERPRETER_H

#include "kind.h"

/* What the model wrote. NULL: *doc and *code are set. Else: the fault's words, in `words` when they hold a number. */
const char *interpreter_arguments(struct mf_str arguments, uint64_t source_max, struct mf_json **doc,
                                  struct mf_str *code, char *words, size_t words_n);

/* What a run means. `fault`: the machinery's, words for the model; status and texts are then unset. */
struct interpreter_outcome {
  const char *status; /* "completed", "failed", "incomplete" */
  const char *fault;
  struct mf_buf out, err;
};
void interpreter_outcome_init(struct interpreter_outcome *o, const struct mf_sandbox_limits *limits);
void interpreter_outcome_done(struct interpreter_outcome *o);
/* code: of mf_executor_run, not MF_E_CANCELLED; result: NULL unless MF_OK. */
void interpreter_outcome_set(struct interpreter_outcome *o, enum mf_code code, const struct mf_sandbox_result *result,
                             const struct mf_sandbox_limits *limits);
void interpreter_outcome_write(const struct interpreter_outcome *o, struct mf_json_writer *w);

#endif

/* What a person gets of a result: its files, its words or its JSON, and an exit status. */
#ifndef MF_CLI_OUTCOME_H
#define MF_CLI_OUTCOME_H

#include "console.h"
#include "sandbox/sandbox.h"

#define MF_OUTPUT_DEFAULT "mayfly-out"

struct mf_outcome_form {
  const char *output; /* where files go; NULL: MF_OUTPUT_DEFAULT, where ours are replaced */
  bool force;         /* they may replace others there */
  bool json, receipt;
};
/* Writes the artifacts, whose descriptors are used up. False: they are not where they should be, and that was said. */
bool mf_outcome_deliver(const struct mf_outcome_form *form, struct mf_sandbox_result *r);
/* Why it did not succeed, what was cut, what was refused: on standard error. */
void mf_outcome_words(const struct mf_sandbox_result *r, const struct mf_sandbox_limits *l);
bool mf_outcome_has_words(const struct mf_sandbox_result *r);

struct mf_outcome {
  const struct mf_outcome_form *form;
  struct mf_sandbox_result *result;       /* its artifacts are written: their descriptors are used up */
  const struct mf_sandbox_limits *limits; /* for the words about them */
  const char *task_id;                    /* NULL: a new one */
  int signal;                             /* that asked us to end; 0: none */
  struct mf_console *console;
};
/* Writes all of it; returns the exit status. What goes wrong is said. */
int mf_outcome(const struct mf_outcome *o);

#endif

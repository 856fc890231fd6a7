/* A result in a person's words and as an exit status. */
#ifndef MF_CLI_REPORT_H
#define MF_CLI_REPORT_H

#include "sandbox/sandbox.h"

/* The program's own code; 128 + signal; 124 at the wall-time limit; 137 at the memory limit; 152 at the processor-time
 * limit; 1 at another limit unless the program ended with a code of its own; 130 when cancelled; 125 when we failed. */
int mf_result_exit_status(const struct mf_sandbox_result *r);

/* Why it did not succeed, in a few words for "mayfly: …"; "" for what the program's own output explains. */
void mf_result_words(const struct mf_sandbox_result *r, const struct mf_sandbox_limits *limits, char *ret, size_t n);

/* "task_" and 24 random characters of [0-9a-z]. */
#define MF_TASK_ID_N 30
MF_MUST_USE enum mf_code mf_task_id(char ret[MF_TASK_ID_N], struct mf_err *err);

#endif

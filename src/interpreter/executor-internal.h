/* What only the tests of this room touch: how long the executor believes in a provider that says nothing. */
#ifndef MF_INTERPRETER_EXECUTOR_INTERNAL_H
#define MF_INTERPRETER_EXECUTOR_INTERNAL_H

#include "interpreter/executor.h"

struct mf_executor_times {
  uint64_t start_ms;  /* from the call until the user's code runs */
  uint64_t grace_ms;  /* from the end of the wall time until `finished` */
  uint64_t cancel_ms; /* from a cancel until `finished` */
  uint64_t reap_ms;   /* for who is in a hurry and waits for a permit: from `finished` until `released` */
};
void mf_executor_set_times(struct mf_executor *e, const struct mf_executor_times *times);

#endif

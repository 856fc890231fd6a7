/* What `mayfly run` was told. */
#ifndef MF_CLI_RUN_ARGS_H
#define MF_CLI_RUN_ARGS_H

#include "outcome.h"
#include "providers/providers.h"
#include "words.h"

struct mf_run_args {
  struct mf_sandbox_limits limits;
  struct mf_provider_config provider;
  enum mf_runtime_hint runtime;
  struct mf_outcome_form form; /* what to do with the result */
  const char *server;          /* --server; NULL: not said */
  const char *source;
  const char *files[MF_INPUT_COUNT_MAX + 1]; /* one more than allowed: mf_input_add refuses it by name */
  unsigned file_n;
  struct mf_str argv[MF_ARGV_COUNT_MAX];
  unsigned argv_n;
  bool display_last;
  bool is_special;                      /* an option was given that a task cannot express: needs a sandbox of its own */
  const char *only[MF_PROVIDER_KIND_N]; /* an option that was given and that only this provider has; NULL: none */
};
void mf_run_args_init(struct mf_run_args *a);

extern const struct mf_opt mf_run_opts[];
extern const struct mf_words mf_run_words; /* args: struct mf_run_args */

#endif

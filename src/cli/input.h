/* What `run` reads before anything starts: the program and its input files. Everything is bounded and checked here, so
 * that a bad word on the command line costs no sandbox. */
#ifndef MF_CLI_INPUT_H
#define MF_CLI_INPUT_H

#include "sandbox/sandbox.h"

struct mf_input {
  char *source, *source_name;
  size_t source_n;
  struct mf_sandbox_file files[MF_INPUT_COUNT_MAX]; /* name and data owned */
  const char *paths[MF_INPUT_COUNT_MAX];            /* borrowed, for messages */
  unsigned file_n;
  uint64_t bytes; /* of all files */
};
void mf_input_done(struct mf_input *in); /* fine on a zeroed struct */

/* Reads the program from `path`, "-" being standard input: UTF-8 without NUL, at most MF_SOURCE_BYTES_MAX. */
MF_MUST_USE enum mf_code mf_input_source(struct mf_input *in, const char *path, struct mf_err *err);

/* Reads one input, "FILE" or "FILE:NAME" (the last colon counts, and only when no file has the whole text as its
 * name). `arg` must outlive `in`. MF_E_INPUT: not a regular file, a bad or repeated name; MF_E_LIMIT: too much. */
MF_MUST_USE enum mf_code mf_input_add(struct mf_input *in, const char *arg, struct mf_err *err);

/* The place of the first byte that is not part of valid UTF-8, or s.len. */
size_t mf_utf8_bad_at(struct mf_str s);

/* "1.5 MiB", "312 bytes" */
void mf_size_text(uint64_t bytes, char ret[32]);

#endif

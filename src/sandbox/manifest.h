/* The manifest of a run's artifacts while it is made: what is kept, what is refused and why. Private to this room; used
 * by artifacts.c (a folder is walked) and adopt.c (files are handed over). Thread: any. */
#ifndef MF_SANDBOX_MANIFEST_H
#define MF_SANDBOX_MANIFEST_H

#include "sandbox/sandbox.h"

struct manifest {
  const struct mf_sandbox_limits *limits;
  struct mf_sandbox_file *inputs; /* sorted by name */
  unsigned input_n;
  struct mf_sandbox_result *result;
  uint64_t bytes;    /* of all artifacts so far */
  uint64_t rejected; /* listed or not */
};

/* The result has no manifest yet. What is given must outlive m. */
void manifest_init(struct manifest *m, const struct mf_sandbox_limits *limits, const struct mf_sandbox_file *inputs,
                   unsigned input_n, struct mf_sandbox_result *result);

/* NULL when the path may be the name of an artifact, else why not. */
const char *manifest_path_fault(struct mf_str path);
/* The input of that name, or NULL. */
const struct mf_sandbox_file *manifest_input(const struct manifest *m, struct mf_str path);

/* Takes the artifact's descriptor. There must be room for it. */
void manifest_keep(struct manifest *m, struct mf_str path, struct mf_artifact *artifact);
bool manifest_is_full(const struct manifest *m); /* no artifact more */
/* The first MF_REJECTED_MAX are listed, the rest counted. An empty path is the folder itself. */
void manifest_reject(struct manifest *m, struct mf_str path, const char *fmt, ...) MF_PRINTF(3, 4);
void manifest_reject_full(struct manifest *m, struct mf_str path);
void manifest_reject_too_big(struct manifest *m, struct mf_str path);

/* Says of "." what was left unseen (up to 4 notes), in place of ordinary entries where the list is full; counts
 * `unlisted` more as refused; sorts both lists; frees what m holds. */
void manifest_finish(struct manifest *m, const char *const *notes, unsigned note_n, uint64_t unlisted);

#endif

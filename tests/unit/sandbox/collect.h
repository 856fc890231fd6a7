/* What the artifact tests share: collecting a tree and looking things up in the result. */
#ifndef MF_TEST_COLLECT_H
#define MF_TEST_COLLECT_H

#include "sandbox/sandbox.h"
#include "tree.h"

/* Collects with these limits (NULL: the defaults); ends the process when the call fails or a promise of every result is
 * broken: sorted, valid names, sealed content that has the digest and size it claims, bounded lists. */
struct mf_sandbox_result *collect_tree(const struct tree *t, const struct mf_sandbox_limits *limits,
                                       const struct mf_sandbox_file *inputs, unsigned input_n);
const struct mf_artifact *find_artifact(const struct mf_sandbox_result *r, const char *path);
/* The reason of a rejected path, "" when it is not listed. */
const char *find_reason(const struct mf_sandbox_result *r, const char *path);
unsigned count_fds(void);

#endif

/* A private temporary directory: made, filled, and removed whatever a program left in it. */
#ifndef MF_LOCAL_TEMPDIR_H
#define MF_LOCAL_TEMPDIR_H

#include "base/err.h"
#include "base/str.h"

struct mf_tempdir {
  char *path; /* absolute */
  int fd;     /* -1 when unset */
};
#define MF_TEMPDIR_NULL ((struct mf_tempdir){ NULL, -1 })

/* Below TMPDIR, else /tmp; mode 0700. Its name has this process in it ("mayfly-PID-START-XXXXXX"), and its descriptor
 * holds a lock for as long as it is open: how mf_tempdir_sweep knows it. */
MF_MUST_USE enum mf_code mf_tempdir_make(struct mf_tempdir *ret, struct mf_err *err);
/* Writes a new file of mode 0600 with the folders above it. `name` has passed mf_name_check. */
MF_MUST_USE enum mf_code mf_tempdir_write(const struct mf_tempdir *d, struct mf_str name, struct mf_str data,
                                          struct mf_err *err);
/* Removes it with everything below: follows no link, goes through folders without permission and of any depth with
 * constant memory and descriptors. Best effort: a tree that changes meanwhile may stay. */
void mf_tempdir_remove(struct mf_tempdir *d);
/* Removes what processes of this user left that ended without doing it themselves (kill -9). Thread: any. */
void mf_tempdir_sweep(void);

#endif

/* Descriptors: small numbers that lead to open files; dup() makes two lead to one, with one offset. */
#ifndef MFG_FD_H
#define MFG_FD_H

#include "memfs.h"

#define MFG_FD_MAX 1024
#define MFG_FD_CWD 0x40000000 /* stands for the work directory in calls that take a folder; not a descriptor */

struct mfg_open {
  struct mfs_node *node;
  uint64_t at;
  uint32_t refs;
  __wasi_fdflags_t flags;
  bool can_read, can_write;
};

mfs_errno mfg_fd_init(void);         /* 0, 1, 2 */
struct mfg_open *mfg_fd_get(int fd); /* NULL: not open */
/* Takes over `open`, also on failure. */
mfs_errno mfg_fd_add(struct mfg_open *open, int lowest, __wasi_fd_t *ret);
struct mfg_open *mfg_fd_open(struct mfs_node *node, bool can_read, bool can_write, __wasi_fdflags_t flags);
/* The folder that a path begins at. */
mfs_errno mfg_fd_folder(int fd, struct mfs_node **ret);
/* Not in WASI, but Python has them: errno of WASI. to < 0: the lowest that is free. */
mfs_errno mfg_fd_dup(int fd, int to, int *ret);
void mfg_filestat(const struct mfs_node *node, __wasi_filestat_t *ret);

#endif

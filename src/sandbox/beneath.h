/* Opening what lies beneath a folder that a hostile program has filled: no link is followed, no mount crossed, and
 * nothing but regular files and folders is ever opened for reading. */
#ifndef MF_SANDBOX_BENEATH_H
#define MF_SANDBOX_BENEATH_H

#include <stdbool.h>
#include <sys/stat.h>

struct beneath {
  dev_t dev;       /* the file system of the top folder */
  bool no_openat2; /* seen to be missing (old kernel, seccomp) */
};

/* `name` is one entry of the open folder `dirfd` (no '/', not ".."), `seen` what fstatat told of it. Both return a
 * descriptor for reading, or -errno: -ESTALE when the entry is not the one that was seen, -EXDEV when it is on another
 * file system. A mode that denies reading to its owner is mended on the way. A path-only descriptor of the entry comes
 * first, so that a FIFO or device put in its place is never opened. */
int beneath_open_file(struct beneath *b, int dirfd, const char *name, const struct stat *seen);
int beneath_open_folder(struct beneath *b, int dirfd, const char *name, const struct stat *seen);
/* The top folder itself, from any descriptor of it. */
int beneath_open_top(struct beneath *b, int dirfd);

#endif

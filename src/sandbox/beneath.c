/* Opening beneath a hostile folder: openat2(2), or openat(2) with O_NOFOLLOW where that is missing.
 * Thread: any. Neighbour: artifacts.c. */
#include "beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

#include "base/banned.h"

static int open_or_errno(int dirfd, const char *name, int flags)
{
  int fd = openat(dirfd, name, flags | O_CLOEXEC);
  return fd < 0 ? -errno : fd;
}

/* What RESOLVE_NO_XDEV does, for one part without openat2: nothing that is the root of a mount. */
static int check_mount(const struct beneath *b, int fd)
{
  struct statx stx;
  if (statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &stx) == 0 && (stx.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0)
    return (stx.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0 ? -EXDEV : 0;
  /* Before Linux 5.8 only a folder's device tells: a file's may differ from its folder's on overlayfs. */
  struct stat st;
  if (fstat(fd, &st) != 0)
    return -errno;
  return S_ISDIR(st.st_mode) && st.st_dev != b->dev ? -EXDEV : 0;
}

/* A path-only descriptor of one entry. Of a symbolic link it is the link. */
static int open_path(struct beneath *b, int dirfd, const char *name)
{
  for (int tries = 0; !b->no_openat2 && tries < 8; tries++) {
    struct open_how how = {
      .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
      .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
    };
    int fd = (int)syscall(SYS_openat2, dirfd, name, &how, sizeof(how));
    if (fd >= 0)
      return fd;
    /* EPERM: how old container profiles answer to calls that they do not know; a path-only open never gives it. */
    if (errno == ENOSYS || errno == EPERM)
      b->no_openat2 = true;
    else if (errno != EAGAIN) /* a rename ran at the same time */
      return -errno;
  }
  mf_auto_close int fd = open_or_errno(dirfd, name, O_PATH | O_NOFOLLOW);
  if (fd < 0)
    return fd;
  int code = check_mount(b, fd);
  return code < 0 ? code : mf_take_fd(&fd);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino && (a->st_mode & S_IFMT) == (b->st_mode & S_IFMT);
}

/* Opens the entry path-only and holds it against what was seen. */
static int open_seen(struct beneath *b, int dirfd, const char *name, const struct stat *seen)
{
  mf_auto_close int fd = open_path(b, dirfd, name);
  if (fd < 0)
    return fd == -ELOOP ? -ESTALE : fd;
  struct stat st;
  if (fstat(fd, &st) != 0)
    return -errno;
  return is_same(&st, seen) ? mf_take_fd(&fd) : -ESTALE;
}

/* Gives the owner the wanted bits, so that a program cannot hide a file from a collector that is not root. Failure
 * shows itself in the open that follows. A path-only descriptor cannot be fchmod'ed, hence the magic link (proc(5)). */
static void mend_mode(int fd, mode_t mode, mode_t want)
{
  char link[40];
  if ((mode & want) == want)
    return;
  snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  (void)!fchmodat(AT_FDCWD, link, (mode & 07777) | want, 0);
}

int beneath_open_file(struct beneath *b, int dirfd, const char *name, const struct stat *seen)
{
  const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;
  mf_auto_close int path_fd = open_seen(b, dirfd, name, seen);
  if (path_fd < 0)
    return path_fd;
  char link[40];
  snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd);
  mf_auto_close int fd = open_or_errno(AT_FDCWD, link, flags);
  if (fd == -EACCES) {
    mend_mode(path_fd, seen->st_mode, S_IRUSR);
    fd = open_or_errno(AT_FDCWD, link, flags);
  }
  if (fd == -ENOENT) /* no /proc here: by name again, and the check below is what counts */
    fd = open_or_errno(dirfd, name, flags | O_NOFOLLOW);
  if (fd < 0)
    return fd == -ELOOP ? -ESTALE : fd;
  struct stat st, now;
  if (fstat(fd, &st) != 0 || fstat(path_fd, &now) != 0)
    return -errno;
  return S_ISREG(st.st_mode) && is_same(&st, &now) ? mf_take_fd(&fd) : -ESTALE;
}

/* "." of a path-only folder is the folder itself, whatever its name leads to by now. */
static int read_folder(int path_fd, mode_t mode)
{
  mend_mode(path_fd, mode, S_IRUSR | S_IXUSR);
  return open_or_errno(path_fd, ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

int beneath_open_folder(struct beneath *b, int dirfd, const char *name, const struct stat *seen)
{
  mf_auto_close int path_fd = open_seen(b, dirfd, name, seen);
  if (path_fd < 0)
    return path_fd;
  return read_folder(path_fd, seen->st_mode);
}

int beneath_open_top(struct beneath *b, int dirfd)
{
  struct stat st;
  if (fstat(dirfd, &st) != 0)
    return -errno;
  if (!S_ISDIR(st.st_mode))
    return -ENOTDIR;
  b->dev = st.st_dev;
  return read_folder(dirfd, st.st_mode);
}

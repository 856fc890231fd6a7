/* Functions of the C library that are put in the place of its own: those that know a root of descriptors given by the
 * host (there are none), the work directory (which it keeps as text), and those that tell no permissions. */
#include "fd.h"
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <wasi/libc-find-relpath.h>

#define GUEST_UID 1000

#define TICKS_PER_S 100 /* as Python takes times(2) to count where nobody tells */

/* The C library's own counts from the start of the process by the wall clock. */
clock_t clock(void)
{
  return (clock_t)mfg_clock_ns(MF_GUEST_CLOCK_CPUTIME);
}

clock_t times(struct tms *ret)
{
  *ret = (struct tms){ .tms_utime = clock() / (1000000000 / TICKS_PER_S) };
  return (clock_t)(mfg_clock_ns(MF_GUEST_CLOCK_MONOTONIC) / (1000000000 / TICKS_PER_S));
}

pid_t getpid(void)
{
  return 1;
}

int uname(struct utsname *ret)
{
  *ret =
      (struct utsname){ .sysname = "wasi", .nodename = "sandbox", .release = "0", .version = "0", .machine = "wasm32" };
  return 0;
}

static int result_of(mfs_errno error)
{
  if (error == 0)
    return 0;
  errno = error;
  return -1;
}

/* Every path begins at the work directory; an absolute one finds the root by itself. */
int __wasilibc_find_relpath(const char *path, const char **restrict prefix, char **relative, size_t relative_n)
{
  (void)relative_n;
  *prefix = "";
  *relative = (char *)(uintptr_t)path;
  return MFG_FD_CWD;
}

int __wasilibc_find_abspath(const char *path, const char **restrict prefix, const char **restrict relative)
{
  *prefix = "";
  *relative = path;
  return MFG_FD_CWD;
}

int chdir(const char *path)
{
  struct mfs_node *node;
  mfs_errno error = mfs_lookup(mfs.cwd, path, strlen(path), true, &node);
  if (error == 0 && node->type != MFS_FOLDER)
    error = __WASI_ERRNO_NOTDIR;
  if (error == 0 && !mfs_may(node, 1))
    error = __WASI_ERRNO_ACCES;
  if (error == 0) {
    node->refs++;
    mfs_unref(mfs.cwd);
    mfs.cwd = node;
  }
  return result_of(error);
}

char *getcwd(char *buf, size_t size)
{
  char path[MFS_PATH_MAX];
  if (!mfs_path_of(mfs.cwd, path, sizeof path)) {
    errno = mfs.cwd->links == 0 ? ENOENT : ENAMETOOLONG;
    return NULL;
  }
  if (!buf)
    return strdup(path);
  if (strlen(path) >= size) {
    errno = ERANGE;
    return NULL;
  }
  return memcpy(buf, path, strlen(path) + 1);
}

static mode_t mode_of(const struct mfs_node *node)
{
  static const mode_t kinds[] = {
    [MFS_FOLDER] = S_IFDIR, [MFS_FILE] = S_IFREG,  [MFS_LINK] = S_IFLNK,   [MFS_NULL] = S_IFCHR,  [MFS_ZERO] = S_IFCHR,
    [MFS_RANDOM] = S_IFCHR, [MFS_STDIN] = S_IFIFO, [MFS_STDOUT] = S_IFIFO, [MFS_STDERR] = S_IFIFO
  };
  return kinds[node->type] | node->mode;
}

static struct timespec time_of(uint64_t ns)
{
  return (struct timespec){ .tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u) };
}

static void stat_of(const struct mfs_node *node, struct stat *ret)
{
  __wasi_filestat_t st;
  mfg_filestat(node, &st);
  *ret = (struct stat){ .st_dev = st.dev,
                        .st_ino = st.ino,
                        .st_nlink = node->type == MFS_FOLDER ? 2 : st.nlink,
                        .st_mode = mode_of(node),
                        .st_uid = GUEST_UID,
                        .st_gid = GUEST_UID,
                        .st_size = (off_t)st.size,
                        .st_blksize = 4096,
                        .st_blocks = (blkcnt_t)((st.size + 511) / 512),
                        .st_atim = time_of(st.atim),
                        .st_mtim = time_of(st.mtim),
                        .st_ctim = time_of(st.ctim) };
}

int fstat(int fd, struct stat *ret)
{
  const struct mfg_open *o = mfg_fd_get(fd);
  if (!o)
    return result_of(__WASI_ERRNO_BADF);
  stat_of(o->node, ret);
  return 0;
}

static int lookup_at(int fd, const char *path, int flags, struct mfs_node **ret)
{
  struct mfs_node *base;
  mfs_errno error = mfg_fd_folder(fd, &base);
  if (error == 0)
    error = mfs_lookup(base, path, strlen(path), (flags & AT_SYMLINK_NOFOLLOW) == 0, ret);
  return result_of(error);
}

int __wasilibc_nocwd_fstatat(int fd, const char *restrict path, struct stat *restrict ret, int flags)
{
  struct mfs_node *node;
  if (lookup_at(fd, path, flags, &node) != 0)
    return -1;
  stat_of(node, ret);
  return 0;
}

int __wasilibc_nocwd_faccessat(int fd, const char *path, int mode, int flags)
{
  struct mfs_node *node;
  if (lookup_at(fd, path, flags & AT_SYMLINK_NOFOLLOW, &node) != 0)
    return -1;
  unsigned bits = (mode & R_OK ? 4u : 0u) | (mode & W_OK ? 2u : 0u) | (mode & X_OK ? 1u : 0u);
  if (mode & W_OK && node->is_fixed && node->type <= MFS_FILE)
    return result_of(__WASI_ERRNO_ROFS);
  return result_of(mfs_may(node, bits) ? 0 : __WASI_ERRNO_ACCES);
}

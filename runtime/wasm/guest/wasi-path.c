/* The calls of WASI that name a file. */
#include "fd.h"
#include "guest.h"

#include <string.h>

static mfs_errno check_open(const struct mfs_place *p, __wasi_oflags_t how, bool reads, bool writes)
{
  if (how & __WASI_OFLAGS_CREAT && how & __WASI_OFLAGS_EXCL)
    return __WASI_ERRNO_EXIST;
  bool is_folder = p->node->type == MFS_FOLDER;
  if (is_folder && (writes || how & (__WASI_OFLAGS_TRUNC | __WASI_OFLAGS_CREAT)))
    return __WASI_ERRNO_ISDIR;
  if (!is_folder && how & __WASI_OFLAGS_DIRECTORY)
    return __WASI_ERRNO_NOTDIR;
  if (p->node->type == MFS_LINK)
    return __WASI_ERRNO_LOOP;
  if (p->node->type == MFS_FILE && p->node->is_fixed && (writes || how & __WASI_OFLAGS_TRUNC))
    return __WASI_ERRNO_ROFS;
  return mfs_may(p->node, (reads ? 4u : 0u) | (writes ? 2u : 0u)) ? 0 : __WASI_ERRNO_ACCES;
}

__wasi_errno_t __wasi_path_open(__wasi_fd_t fd, __wasi_lookupflags_t lookup, const char *path, __wasi_oflags_t how,
                                __wasi_rights_t rights, __wasi_rights_t inheriting, __wasi_fdflags_t flags,
                                __wasi_fd_t *ret)
{
  (void)inheriting;
  struct mfs_node *base;
  struct mfs_place p;
  bool reads = rights & __WASI_RIGHTS_FD_READ, writes = rights & __WASI_RIGHTS_FD_WRITE;
  bool makes = how & __WASI_OFLAGS_CREAT;
  mfs_errno error = mfg_fd_folder((int)fd, &base);
  if (error == 0)
    error = mfs_walk(base, path, strlen(path),
                     lookup & __WASI_LOOKUPFLAGS_SYMLINK_FOLLOW && !(makes && how & __WASI_OFLAGS_EXCL), &p);
  if (error)
    return error;
  if (p.node) {
    error = check_open(&p, how, reads, writes);
    if (error == 0 && how & __WASI_OFLAGS_TRUNC && p.node->type == MFS_FILE)
      error = mfs_resize(p.node, 0);
  } else if (!makes) {
    error = __WASI_ERRNO_NOENT;
  } else {
    error = p.must_be_folder ? __WASI_ERRNO_ISDIR : mfs_make(&p, MFS_FILE, 0666, &p.node);
  }
  return error ? error : mfg_fd_add(mfg_fd_open(p.node, reads, writes, flags), 0, ret);
}

__wasi_errno_t __wasi_path_create_directory(__wasi_fd_t fd, const char *path)
{
  struct mfs_node *base;
  mfs_errno error = mfg_fd_folder((int)fd, &base);
  return error ? error : mfs_mkdir(base, path, strlen(path));
}

__wasi_errno_t __wasi_path_remove_directory(__wasi_fd_t fd, const char *path)
{
  struct mfs_node *base;
  mfs_errno error = mfg_fd_folder((int)fd, &base);
  return error ? error : mfs_rmdir(base, path, strlen(path));
}

__wasi_errno_t __wasi_path_unlink_file(__wasi_fd_t fd, const char *path)
{
  struct mfs_node *base;
  mfs_errno error = mfg_fd_folder((int)fd, &base);
  return error ? error : mfs_unlink(base, path, strlen(path));
}

__wasi_errno_t __wasi_path_rename(__wasi_fd_t fd, const char *path, __wasi_fd_t to_fd, const char *to)
{
  struct mfs_node *base, *to_base;
  mfs_errno error = mfg_fd_folder((int)fd, &base);
  if (error == 0)
    error = mfg_fd_folder((int)to_fd, &to_base);
  return error ? error : mfs_rename(base, path, strlen(path), to_base, to, strlen(to));
}

__wasi_errno_t __wasi_path_link(__wasi_fd_t fd, __wasi_lookupflags_t lookup, const char *path, __wasi_fd_t to_fd,
                                const char *to)
{
  struct mfs_node *base, *to_base;
  mfs_errno error = mfg_fd_folder((int)fd, &base);
  if (error == 0)
    error = mfg_fd_folder((int)to_fd, &to_base);
  bool follow = lookup & __WASI_LOOKUPFLAGS_SYMLINK_FOLLOW;
  return error ? error : mfs_link(base, path, strlen(path), follow, to_base, to, strlen(to));
}

__wasi_errno_t __wasi_path_symlink(const char *target, __wasi_fd_t fd, const char *path)
{
  struct mfs_node *base;
  mfs_errno error = mfg_fd_folder((int)fd, &base);
  return error ? error : mfs_symlink(target, strlen(target), base, path, strlen(path));
}

__wasi_errno_t __wasi_path_readlink(__wasi_fd_t fd, const char *path, uint8_t *buf, __wasi_size_t buf_n,
                                    __wasi_size_t *ret)
{
  struct mfs_node *base, *node;
  mfs_errno error = mfg_fd_folder((int)fd, &base);
  if (error == 0)
    error = mfs_lookup(base, path, strlen(path), false, &node);
  if (error == 0 && node->type != MFS_LINK)
    error = __WASI_ERRNO_INVAL;
  if (error == 0)
    *ret = mfs_read(node, 0, buf, buf_n);
  return error;
}

__wasi_errno_t __wasi_path_filestat_get(__wasi_fd_t fd, __wasi_lookupflags_t lookup, const char *path,
                                        __wasi_filestat_t *ret)
{
  struct mfs_node *base, *node;
  mfs_errno error = mfg_fd_folder((int)fd, &base);
  if (error == 0)
    error = mfs_lookup(base, path, strlen(path), lookup & __WASI_LOOKUPFLAGS_SYMLINK_FOLLOW, &node);
  if (error == 0)
    mfg_filestat(node, ret);
  return error;
}

static mfs_errno set_times(struct mfs_node *node, __wasi_timestamp_t atime, __wasi_timestamp_t mtime,
                           __wasi_fstflags_t which)
{
  if (node->is_fixed)
    return __WASI_ERRNO_ROFS;
  uint64_t now = mfg_clock_ns(MF_GUEST_CLOCK_REALTIME);
  if (which & __WASI_FSTFLAGS_ATIM)
    node->atime = atime;
  if (which & __WASI_FSTFLAGS_ATIM_NOW)
    node->atime = now;
  if (which & __WASI_FSTFLAGS_MTIM)
    node->mtime = mtime;
  if (which & __WASI_FSTFLAGS_MTIM_NOW)
    node->mtime = now;
  node->ctime = now;
  return 0;
}

__wasi_errno_t __wasi_path_filestat_set_times(__wasi_fd_t fd, __wasi_lookupflags_t lookup, const char *path,
                                              __wasi_timestamp_t atime, __wasi_timestamp_t mtime,
                                              __wasi_fstflags_t which)
{
  struct mfs_node *base, *node;
  mfs_errno error = mfg_fd_folder((int)fd, &base);
  if (error == 0)
    error = mfs_lookup(base, path, strlen(path), lookup & __WASI_LOOKUPFLAGS_SYMLINK_FOLLOW, &node);
  return error ? error : set_times(node, atime, mtime, which);
}

__wasi_errno_t __wasi_fd_filestat_set_times(__wasi_fd_t fd, __wasi_timestamp_t atime, __wasi_timestamp_t mtime,
                                            __wasi_fstflags_t which)
{
  const struct mfg_open *o = mfg_fd_get((int)fd);
  return o ? set_times(o->node, atime, mtime, which) : __WASI_ERRNO_BADF;
}

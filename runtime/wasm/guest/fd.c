/* The table of descriptors, and what is done with a whole one. */
#include "fd.h"
#include "guest.h"

#include <stdlib.h>
#include <string.h>

static struct mfg_open *table[MFG_FD_MAX];

struct mfg_open *mfg_fd_get(int fd)
{
  return fd >= 0 && fd < MFG_FD_MAX ? table[fd] : NULL;
}

struct mfg_open *mfg_fd_open(struct mfs_node *node, bool can_read, bool can_write, __wasi_fdflags_t flags)
{
  struct mfg_open *o = malloc(sizeof *o);
  if (!o)
    return NULL;
  *o = (struct mfg_open){ node, 0, 1, flags, can_read, can_write };
  node->refs++;
  return o;
}

static void unref(struct mfg_open *o)
{
  if (!o || --o->refs > 0)
    return;
  mfs_unref(o->node);
  free(o);
}

mfs_errno mfg_fd_add(struct mfg_open *open, int lowest, __wasi_fd_t *ret)
{
  if (!open)
    return __WASI_ERRNO_NOMEM;
  for (int fd = lowest; fd < MFG_FD_MAX; fd++) {
    if (!table[fd]) {
      table[fd] = open;
      *ret = (__wasi_fd_t)fd;
      return 0;
    }
  }
  unref(open);
  return __WASI_ERRNO_MFILE;
}

mfs_errno mfg_fd_init(void)
{
  static const char *const paths[] = { "dev/stdin", "dev/stdout", "dev/stderr" };
  for (int i = 0; i < 3; i++) {
    struct mfs_node *node;
    __wasi_fd_t fd;
    mfs_errno error = mfs_lookup(mfs.root, paths[i], strlen(paths[i]), true, &node);
    if (error == 0)
      error = mfg_fd_add(mfg_fd_open(node, i == 0, i != 0, 0), 0, &fd);
    if (error)
      return error;
  }
  return 0;
}

mfs_errno mfg_fd_folder(int fd, struct mfs_node **ret)
{
  if (fd == MFG_FD_CWD) {
    *ret = mfs.cwd;
    return 0;
  }
  const struct mfg_open *o = mfg_fd_get(fd);
  if (!o)
    return __WASI_ERRNO_BADF;
  if (o->node->type != MFS_FOLDER)
    return __WASI_ERRNO_NOTDIR;
  *ret = o->node;
  return 0;
}

mfs_errno mfg_fd_dup(int fd, int to, int *ret)
{
  struct mfg_open *o = mfg_fd_get(fd);
  if (!o || to >= MFG_FD_MAX)
    return __WASI_ERRNO_BADF;
  o->refs++;
  if (to < 0) {
    __wasi_fd_t got;
    mfs_errno error = mfg_fd_add(o, 0, &got);
    if (error == 0)
      *ret = (int)got;
    return error;
  }
  unref(table[to]); /* the same one, maybe: it is held twice now */
  table[to] = o;
  *ret = to;
  return 0;
}

__wasi_errno_t __wasi_fd_close(__wasi_fd_t fd)
{
  struct mfg_open *o = mfg_fd_get((int)fd);
  if (!o)
    return __WASI_ERRNO_BADF;
  table[fd] = NULL;
  unref(o);
  return 0;
}

__wasi_errno_t __wasi_fd_renumber(__wasi_fd_t fd, __wasi_fd_t to)
{
  struct mfg_open *o = mfg_fd_get((int)fd);
  if (!o || to >= MFG_FD_MAX)
    return __WASI_ERRNO_BADF;
  if (fd == to)
    return 0;
  unref(table[to]);
  table[to] = o;
  table[fd] = NULL;
  return 0;
}

static __wasi_filetype_t filetype_of(const struct mfs_node *node)
{
  switch ((enum mfs_type)node->type) {
  case MFS_FOLDER:
    return __WASI_FILETYPE_DIRECTORY;
  case MFS_FILE:
    return __WASI_FILETYPE_REGULAR_FILE;
  case MFS_LINK:
    return __WASI_FILETYPE_SYMBOLIC_LINK;
  case MFS_NULL:
  case MFS_ZERO:
  case MFS_RANDOM:
    return __WASI_FILETYPE_CHARACTER_DEVICE;
  case MFS_STDIN:
  case MFS_STDOUT:
  case MFS_STDERR:
    break; /* pipes, for which WASI has no name */
  }
  return __WASI_FILETYPE_UNKNOWN;
}

void mfg_filestat(const struct mfs_node *node, __wasi_filestat_t *ret)
{
  bool has_size = node->type == MFS_FILE || node->type == MFS_LINK;
  *ret = (__wasi_filestat_t){ .dev = 1,
                              .ino = node->ino,
                              .filetype = filetype_of(node),
                              .nlink = node->links,
                              .size = has_size ? node->n : 0,
                              .atim = node->atime,
                              .mtim = node->mtime,
                              .ctim = node->ctime };
}

__wasi_errno_t __wasi_fd_filestat_get(__wasi_fd_t fd, __wasi_filestat_t *ret)
{
  const struct mfg_open *o = mfg_fd_get((int)fd);
  if (!o)
    return __WASI_ERRNO_BADF;
  mfg_filestat(o->node, ret);
  return 0;
}

/* The C library looks at rights to tell what a descriptor may do, and whether it is a terminal, which none is. */
__wasi_errno_t __wasi_fd_fdstat_get(__wasi_fd_t fd, __wasi_fdstat_t *ret)
{
  const __wasi_rights_t data = __WASI_RIGHTS_FD_READ | __WASI_RIGHTS_FD_READDIR | __WASI_RIGHTS_FD_WRITE |
                               __WASI_RIGHTS_FD_DATASYNC | __WASI_RIGHTS_FD_ALLOCATE |
                               __WASI_RIGHTS_FD_FILESTAT_SET_SIZE;
  *ret = (__wasi_fdstat_t){ .fs_filetype = __WASI_FILETYPE_DIRECTORY,
                            .fs_rights_base = ~0ull,
                            .fs_rights_inheriting = ~0ull };
  if (fd == MFG_FD_CWD)
    return 0;
  const struct mfg_open *o = mfg_fd_get((int)fd);
  if (!o)
    return __WASI_ERRNO_BADF;
  ret->fs_filetype = filetype_of(o->node);
  ret->fs_flags = o->flags;
  if (o->node->type != MFS_FOLDER)
    ret->fs_rights_base &= ~data;
  if (o->can_read)
    ret->fs_rights_base |= __WASI_RIGHTS_FD_READ;
  if (o->can_write)
    ret->fs_rights_base |= __WASI_RIGHTS_FD_WRITE;
  return 0;
}

__wasi_errno_t __wasi_fd_fdstat_set_flags(__wasi_fd_t fd, __wasi_fdflags_t flags)
{
  struct mfg_open *o = mfg_fd_get((int)fd);
  if (!o)
    return __WASI_ERRNO_BADF;
  o->flags = flags;
  return 0;
}

__wasi_errno_t __wasi_fd_fdstat_set_rights(__wasi_fd_t fd, __wasi_rights_t base, __wasi_rights_t inheriting)
{
  (void)base;
  (void)inheriting;
  return mfg_fd_get((int)fd) ? 0 : __WASI_ERRNO_BADF;
}

/* No descriptor is given to the program by name: the C library's list of such is replaced (libc.c). */
__wasi_errno_t __wasi_fd_prestat_get(__wasi_fd_t fd, __wasi_prestat_t *ret)
{
  (void)fd;
  (void)ret;
  return __WASI_ERRNO_BADF;
}

__wasi_errno_t __wasi_fd_prestat_dir_name(__wasi_fd_t fd, uint8_t *path, __wasi_size_t path_n)
{
  (void)fd;
  (void)path;
  (void)path_n;
  return __WASI_ERRNO_BADF;
}

/* Reading and writing descriptors, listing folders. */
#include "fd.h"
#include "guest.h"

#include <string.h>

static mfs_errno readable(__wasi_fd_t fd, struct mfg_open **ret)
{
  struct mfg_open *o = mfg_fd_get((int)fd);
  if (!o || !o->can_read)
    return __WASI_ERRNO_BADF;
  *ret = o;
  return o->node->type == MFS_FOLDER ? __WASI_ERRNO_ISDIR : 0;
}

static mfs_errno read_some(struct mfs_node *node, uint64_t at, void *to, uint32_t n, uint32_t *ret)
{
  *ret = n;
  switch ((enum mfs_type)node->type) {
  case MFS_FILE:
    *ret = mfs_read(node, at, to, n);
    return 0;
  case MFS_ZERO:
    memset(to, 0, n);
    return 0;
  case MFS_RANDOM:
    return mfg_random(to, n) == 0 ? 0 : __WASI_ERRNO_IO;
  case MFS_FOLDER:
  case MFS_LINK:
  case MFS_NULL:
  case MFS_STDIN:
  case MFS_STDOUT:
  case MFS_STDERR:
    break;
  }
  *ret = 0; /* the end */
  return 0;
}

static mfs_errno read_all(struct mfs_node *node, uint64_t at, const __wasi_iovec_t *iovs, size_t iovs_n,
                          __wasi_size_t *ret)
{
  *ret = 0;
  for (size_t i = 0; i < iovs_n; i++) {
    uint32_t n;
    mfs_errno error = read_some(node, at + *ret, iovs[i].buf, iovs[i].buf_len, &n);
    if (error)
      return error;
    *ret += n;
    if (n < iovs[i].buf_len)
      break;
  }
  return 0;
}

__wasi_errno_t __wasi_fd_read(__wasi_fd_t fd, const __wasi_iovec_t *iovs, size_t iovs_n, __wasi_size_t *ret)
{
  struct mfg_open *o;
  mfs_errno error = readable(fd, &o);
  if (error == 0)
    error = read_all(o->node, o->at, iovs, iovs_n, ret);
  if (error == 0)
    o->at += *ret;
  return error;
}

__wasi_errno_t __wasi_fd_pread(__wasi_fd_t fd, const __wasi_iovec_t *iovs, size_t iovs_n, __wasi_filesize_t at,
                               __wasi_size_t *ret)
{
  struct mfg_open *o;
  mfs_errno error = readable(fd, &o);
  if (error == 0 && o->node->type != MFS_FILE)
    error = __WASI_ERRNO_SPIPE;
  return error ? error : read_all(o->node, at, iovs, iovs_n, ret);
}

static mfs_errno write_some(struct mfs_node *node, uint64_t at, const void *from, uint32_t n)
{
  int32_t done;
  switch ((enum mfs_type)node->type) {
  case MFS_FILE:
    return mfs_write(node, at, from, n);
  case MFS_STDOUT:
  case MFS_STDERR:
    done = mfg_write(node->type == MFS_STDOUT ? 1 : 2, from, n);
    return done == (int32_t)n ? 0 : __WASI_ERRNO_IO;
  case MFS_FOLDER:
  case MFS_LINK:
  case MFS_STDIN:
    return __WASI_ERRNO_BADF;
  case MFS_NULL:
  case MFS_ZERO:
  case MFS_RANDOM:
    break;
  }
  return 0;
}

/* What was written before something went wrong counts, as POSIX has it. */
static mfs_errno write_all(struct mfs_node *node, uint64_t at, const __wasi_ciovec_t *iovs, size_t iovs_n,
                           __wasi_size_t *ret)
{
  *ret = 0;
  for (size_t i = 0; i < iovs_n; i++) {
    mfs_errno error = write_some(node, at + *ret, iovs[i].buf, iovs[i].buf_len);
    if (error)
      return *ret > 0 ? 0 : error;
    *ret += iovs[i].buf_len;
  }
  return 0;
}

__wasi_errno_t __wasi_fd_write(__wasi_fd_t fd, const __wasi_ciovec_t *iovs, size_t iovs_n, __wasi_size_t *ret)
{
  struct mfg_open *o = mfg_fd_get((int)fd);
  if (!o || !o->can_write)
    return __WASI_ERRNO_BADF;
  if (o->flags & __WASI_FDFLAGS_APPEND && o->node->type == MFS_FILE)
    o->at = o->node->n;
  mfs_errno error = write_all(o->node, o->at, iovs, iovs_n, ret);
  if (error == 0)
    o->at += *ret;
  return error;
}

__wasi_errno_t __wasi_fd_pwrite(__wasi_fd_t fd, const __wasi_ciovec_t *iovs, size_t iovs_n, __wasi_filesize_t at,
                                __wasi_size_t *ret)
{
  const struct mfg_open *o = mfg_fd_get((int)fd);
  if (!o || !o->can_write)
    return __WASI_ERRNO_BADF;
  return o->node->type == MFS_FILE ? write_all(o->node, at, iovs, iovs_n, ret) : __WASI_ERRNO_SPIPE;
}

__wasi_errno_t __wasi_fd_seek(__wasi_fd_t fd, __wasi_filedelta_t by, __wasi_whence_t whence, __wasi_filesize_t *ret)
{
  struct mfg_open *o = mfg_fd_get((int)fd);
  if (!o)
    return __WASI_ERRNO_BADF;
  int64_t from = 0, to;
  if (o->node->type >= MFS_STDIN)
    return __WASI_ERRNO_SPIPE;
  if (whence == __WASI_WHENCE_CUR)
    from = (int64_t)o->at;
  else if (whence == __WASI_WHENCE_END)
    from = o->node->type == MFS_FILE ? o->node->n : 0;
  else if (whence != __WASI_WHENCE_SET)
    return __WASI_ERRNO_INVAL;
  if (__builtin_add_overflow(from, by, &to) || to < 0)
    return __WASI_ERRNO_INVAL;
  o->at = *ret = (uint64_t)to;
  return 0;
}

__wasi_errno_t __wasi_fd_tell(__wasi_fd_t fd, __wasi_filesize_t *ret)
{
  return __wasi_fd_seek(fd, 0, __WASI_WHENCE_CUR, ret);
}

__wasi_errno_t __wasi_fd_filestat_set_size(__wasi_fd_t fd, __wasi_filesize_t size)
{
  const struct mfg_open *o = mfg_fd_get((int)fd);
  if (!o)
    return __WASI_ERRNO_BADF;
  return o->node->type == MFS_FILE && o->can_write ? mfs_resize(o->node, size) : __WASI_ERRNO_INVAL;
}

__wasi_errno_t __wasi_fd_allocate(__wasi_fd_t fd, __wasi_filesize_t at, __wasi_filesize_t n)
{
  const struct mfg_open *o = mfg_fd_get((int)fd);
  uint64_t end;
  if (!o || !o->can_write)
    return __WASI_ERRNO_BADF;
  if (o->node->type != MFS_FILE)
    return __WASI_ERRNO_NODEV;
  if (__builtin_add_overflow(at, n, &end))
    return __WASI_ERRNO_FBIG;
  return end > o->node->n ? mfs_resize(o->node, end) : 0;
}

__wasi_errno_t __wasi_fd_advise(__wasi_fd_t fd, __wasi_filesize_t at, __wasi_filesize_t n, __wasi_advice_t advice)
{
  (void)at;
  (void)n;
  (void)advice;
  return mfg_fd_get((int)fd) ? 0 : __WASI_ERRNO_BADF;
}

__wasi_errno_t __wasi_fd_sync(__wasi_fd_t fd)
{
  return mfg_fd_get((int)fd) ? 0 : __WASI_ERRNO_BADF;
}

__wasi_errno_t __wasi_fd_datasync(__wasi_fd_t fd)
{
  return __wasi_fd_sync(fd);
}

/* The cookie is the number of the entry to go on from. A last record that does not fit is cut: a full buffer says that
 * there is more. */
__wasi_errno_t __wasi_fd_readdir(__wasi_fd_t fd, uint8_t *buf, __wasi_size_t buf_n, __wasi_dircookie_t cookie,
                                 __wasi_size_t *ret)
{
  const struct mfg_open *o = mfg_fd_get((int)fd);
  *ret = 0;
  if (!o)
    return __WASI_ERRNO_BADF;
  if (o->node->type != MFS_FOLDER)
    return __WASI_ERRNO_NOTDIR;
  const struct mfs_entry *e;
  while (*ret < buf_n && (e = mfs_next(o->node, cookie)) != NULL) {
    cookie = (uint64_t)e->seq + 1;
    __wasi_filestat_t st;
    mfg_filestat(e->node, &st);
    __wasi_dirent_t head = { cookie, e->node->ino, e->name_n, st.filetype };
    const void *parts[] = { &head, e->name };
    const uint32_t part_n[] = { sizeof head, e->name_n };
    for (int i = 0; i < 2; i++) {
      uint32_t n = part_n[i] < buf_n - *ret ? part_n[i] : buf_n - *ret;
      memcpy(buf + *ret, parts[i], n);
      *ret += n;
    }
  }
  return 0;
}

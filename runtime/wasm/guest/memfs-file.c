/* A file's bytes, in one piece, growing by a quarter. */
#include "memfs.h"
#include "guest.h"

#include <stdlib.h>
#include <string.h>

/* Files may take what there is, but not the last of it: Python has to be able to say so, and takes memory by the MiB.
 */
#define KEEP_FREE (2u << 20)

bool mfs_has_room(size_t n)
{
  void *volatile probe = malloc(n + KEEP_FREE); /* volatile: else the compiler takes it away and answers yes */
  bool has = probe != NULL;
  free(probe);
  return has;
}

void mfs_touch(struct mfs_node *node)
{
  node->mtime = node->ctime = mfg_clock_ns(MF_GUEST_CLOCK_REALTIME);
}

void mfs_borrow(struct mfs_node *file, const void *data, uint32_t n)
{
  if (file->owned)
    free(file->data);
  file->owned = false;
  file->data = (uint8_t *)(uintptr_t)data; /* never written through: `owned` is asked first */
  file->n = file->cap = n;
}

static uint8_t *get(const struct mfs_node *f, uint32_t cap)
{
  uint8_t *p = f->owned ? realloc(f->data, cap) : malloc(cap);
  if (p && !f->owned && f->n)
    memcpy(p, f->data, f->n < cap ? f->n : cap);
  return p;
}

/* Makes the bytes the file's own, with room for `want` in all. */
static mfs_errno own(struct mfs_node *f, uint64_t want)
{
  if (want > MFS_FILE_MAX)
    return __WASI_ERRNO_FBIG;
  if (f->owned && want <= f->cap)
    return 0;
  uint32_t exact = want ? (uint32_t)want : 1, cap = exact + exact / 4 + 32;
  if (!mfs_has_room(exact - (f->owned ? f->cap : 0)))
    return __WASI_ERRNO_NOSPC;
  uint8_t *p = get(f, cap);
  if (!p && cap > exact) {
    cap = exact;
    p = get(f, cap);
  }
  if (!p)
    return __WASI_ERRNO_NOSPC;
  f->data = p;
  f->cap = cap;
  f->owned = true;
  return 0;
}

uint32_t mfs_read(struct mfs_node *file, uint64_t at, void *to, uint32_t n)
{
  if (at >= file->n)
    return 0;
  uint32_t left = file->n - (uint32_t)at;
  n = n < left ? n : left;
  memcpy(to, file->data + at, n);
  return n;
}

mfs_errno mfs_write(struct mfs_node *file, uint64_t at, const void *from, uint32_t n)
{
  if (n == 0)
    return 0;
  if (at > MFS_FILE_MAX)
    return __WASI_ERRNO_FBIG;
  uint64_t end = at + n;
  mfs_errno error = own(file, end > file->n ? end : file->n);
  if (error)
    return error;
  if (at > file->n)
    memset(file->data + file->n, 0, (size_t)at - file->n);
  memcpy(file->data + at, from, n);
  if (end > file->n)
    file->n = (uint32_t)end;
  mfs_touch(file);
  return 0;
}

mfs_errno mfs_resize(struct mfs_node *file, uint64_t n)
{
  if (n == 0) { /* the input's bytes stay where they are; a file of our own is given back */
    mfs_borrow(file, NULL, 0);
  } else if (n > file->n) {
    mfs_errno error = own(file, n);
    if (error)
      return error;
    memset(file->data + file->n, 0, (size_t)n - file->n);
    file->n = (uint32_t)n;
  } else {
    file->n = (uint32_t)n; /* shorter: borrowed bytes may stay borrowed */
  }
  mfs_touch(file);
  return 0;
}

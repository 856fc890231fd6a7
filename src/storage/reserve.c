/* See reserve.h. */
#include "reserve.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/banned.h"

/* It holds a result of usual size; on a disk with less than FREE_BYTES it would be a part of the problem. */
enum { RESERVE_BYTES = 2 << 20, FREE_BYTES = 8 << 20, ASK_EVERY = 64 };

static void fill(struct reserve *r)
{
  struct stat st;
  struct statvfs disk;
  r->asked = 0;
  if (fstat(r->fd, &st) != 0)
    return;
  r->is_full = st.st_size == RESERVE_BYTES && st.st_blocks > 0;
  if (r->is_full || fstatvfs(r->fd, &disk) != 0 || disk.f_bavail < FREE_BYTES / disk.f_frsize)
    return;
  r->is_full = fallocate(r->fd, 0, 0, RESERVE_BYTES) == 0;
  if (!r->is_full)
    (void)!ftruncate(r->fd, 0);
}

void reserve_open(struct reserve *r, const char *database)
{
  *r = (struct reserve){ .fd = -1 };
  if (!database)
    return;
  mf_auto_free char *path = mf_xasprintf("%s-reserve", database);
  r->fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
  if (r->fd >= 0)
    fill(r);
}

void reserve_close(struct reserve *r)
{
  mf_close_ptr(&r->fd);
}

void reserve_refill(struct reserve *r)
{
  if (r->fd >= 0 && !r->is_full && ++r->asked >= ASK_EVERY)
    fill(r);
}

bool reserve_spend(struct reserve *r)
{
  if (!r->is_full)
    return false;
  r->is_full = false;
  return ftruncate(r->fd, 0) == 0;
}

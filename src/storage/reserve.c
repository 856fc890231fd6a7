/* See reserve.h. */
#include "reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/banned.h"

/* A half holds a result of usual size, or the log of a batch that expires. On a disk with less than FREE_BYTES it would
 * be a part of the problem. */
enum { RESERVE_BYTES = 4 << 20, FREE_BYTES = 16 << 20 };

static void fill(struct reserve *r)
{
  struct statvfs disk;
  if (fstatvfs(r->fd, &disk) != 0 || disk.f_bavail < FREE_BYTES / disk.f_frsize)
    return;
  if (fallocate(r->fd, 0, 0, RESERVE_BYTES) == 0) {
    r->bytes = RESERVE_BYTES;
    return;
  }
  int sys = errno;
  (void)!ftruncate(r->fd, r->bytes);
  if (sys == EOPNOTSUPP)
    reserve_close(r);
}

void reserve_open(struct reserve *r, const char *database)
{
  struct stat st;
  *r = (struct reserve){ .fd = -1 };
  if (!database)
    return;
  mf_auto_free char *path = mf_xasprintf("%s-reserve", database);
  r->fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
  if (r->fd >= 0 && (fstat(r->fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > RESERVE_BYTES))
    reserve_close(r); /* not ours */
  if (r->fd < 0)
    return;
  bool has_room = (off_t)st.st_blocks * 512 >= st.st_size; /* a copy may have lost it */
  r->bytes = has_room ? st.st_size : 0;
  reserve_refill(r);
}

void reserve_close(struct reserve *r)
{
  mf_close_ptr(&r->fd);
  r->bytes = 0;
}

void reserve_refill(struct reserve *r)
{
  if (r->fd >= 0 && r->bytes < RESERVE_BYTES)
    fill(r);
}

bool reserve_spend(struct reserve *r, enum reserve_share share)
{
  off_t left = share == RESERVE_ALL ? 0 : share == RESERVE_HALF ? RESERVE_BYTES / 2 : r->bytes;
  if (r->bytes <= left || ftruncate(r->fd, left) != 0)
    return false;
  r->bytes = left;
  return true;
}

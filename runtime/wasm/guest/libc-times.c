/* The C library's setting of times, put in the place of its own, which reads through the NULL that means "now". */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <wasi/api.h>

int __wasilibc_nocwd_utimensat(int fd, const char *path, const struct timespec times[2], int flags);

struct wanted {
  __wasi_timestamp_t times[2]; /* accessed, modified */
  __wasi_fstflags_t which;
};

static bool wanted_of(const struct timespec times[2], struct wanted *ret)
{
  static const __wasi_fstflags_t given[2] = { __WASI_FSTFLAGS_ATIM, __WASI_FSTFLAGS_MTIM };
  static const __wasi_fstflags_t now[2] = { __WASI_FSTFLAGS_ATIM_NOW, __WASI_FSTFLAGS_MTIM_NOW };
  *ret = (struct wanted){ 0 };
  for (int i = 0; i < 2; i++) {
    if (!times || times[i].tv_nsec == UTIME_NOW) {
      ret->which |= now[i];
    } else if (times[i].tv_nsec != UTIME_OMIT) {
      if (times[i].tv_nsec < 0 || times[i].tv_nsec >= 1000000000 || times[i].tv_sec < 0)
        return false;
      ret->which |= given[i];
      ret->times[i] = (__wasi_timestamp_t)times[i].tv_sec * 1000000000u + (__wasi_timestamp_t)times[i].tv_nsec;
    }
  }
  return true;
}

static int result_of(__wasi_errno_t error)
{
  if (error == 0)
    return 0;
  errno = error;
  return -1;
}

int __wasilibc_nocwd_utimensat(int fd, const char *path, const struct timespec times[2], int flags)
{
  struct wanted w;
  if (!wanted_of(times, &w))
    return result_of(__WASI_ERRNO_INVAL);
  __wasi_lookupflags_t lookup = flags & AT_SYMLINK_NOFOLLOW ? 0 : __WASI_LOOKUPFLAGS_SYMLINK_FOLLOW;
  return result_of(__wasi_path_filestat_set_times(fd, lookup, path, w.times[0], w.times[1], w.which));
}

int futimens(int fd, const struct timespec times[2])
{
  struct wanted w;
  if (!wanted_of(times, &w))
    return result_of(__WASI_ERRNO_INVAL);
  return result_of(__wasi_fd_filestat_set_times(fd, w.times[0], w.times[1], w.which));
}

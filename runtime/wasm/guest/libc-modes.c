/* Permissions of what is made. The C library's open and mkdir take them and throw them away, since WASI has no word for
 * them: calls of Python's come here first (linked with --wrap, see scripts/wasmruntime/guest.py). */
#include "memfs.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>

int __real_open(const char *path, int flags, ...);
int __real_openat(int fd, const char *path, int flags, ...);
int __real_mkdir(const char *path, mode_t mode);
int __real_mkdirat(int fd, const char *path, mode_t mode);
int __wrap_open(const char *path, int flags, ...);
int __wrap_openat(int fd, const char *path, int flags, ...);
int __wrap_mkdir(const char *path, mode_t mode);
int __wrap_mkdirat(int fd, const char *path, mode_t mode);

static void ask(mode_t mode)
{
  mfs.has_mode = true;
  mfs.mode = (uint16_t)(mode & 07777);
}

static int asked(int result)
{
  mfs.has_mode = false;
  return result;
}

static void ask_for_file(int flags, va_list rest)
{
  if (flags & O_CREAT)
    ask(va_arg(rest, mode_t));
}

int __wrap_open(const char *path, int flags, ...)
{
  va_list rest;
  va_start(rest, flags);
  ask_for_file(flags, rest);
  va_end(rest);
  return asked(__real_open(path, flags));
}

int __wrap_openat(int fd, const char *path, int flags, ...)
{
  va_list rest;
  va_start(rest, flags);
  ask_for_file(flags, rest);
  va_end(rest);
  return asked(__real_openat(fd, path, flags));
}

int __wrap_mkdir(const char *path, mode_t mode)
{
  ask(mode);
  return asked(__real_mkdir(path, mode));
}

int __wrap_mkdirat(int fd, const char *path, mode_t mode)
{
  ask(mode);
  return asked(__real_mkdirat(fd, path, mode));
}

/* Opening the folder of files: it is ours alone, and of one process at a time. See files-dir.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "files-dir.h"
#include "base/fd.h"
#include "base/time.h"
#include "base/banned.h"

static const char marker_text[] = "Files of Mayfly's tasks. Everything else in this folder is removed.\n";

enum { LOCK_MS = 2000 };

/* Empty, but for what a file system has in its root. */
static int look_for_strangers(const struct files_dir *d, bool *ret_any)
{
  int sys = 0;
  DIR *dir = files_dir_list(d);
  if (!dir)
    return errno;
  *ret_any = false;
  for (const char *name; !*ret_any && (name = files_next_name(dir, &sys)) != NULL;)
    *ret_any = !files_is_ours(name);
  closedir(dir);
  return sys;
}

/* A folder without the marker is taken only when it is empty. */
static enum mf_code make_marker(const struct files_dir *d, struct mf_err *err)
{
  bool any = true;
  int sys = look_for_strangers(d, &any);
  if (sys)
    return files_fail(d, sys, "look at the files", err);
  if (any)
    return mf_fail(err, MF_E_UNAVAILABLE, 0,
                   "folder '%s' has other things in it and was left as it is; name another one, or empty it", d->path);
  mf_auto_close int fd = openat(d->fd, FILES_MARKER, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0 || fchmod(fd, 0600) != 0)
    return files_fail(d, errno, "mark the folder of files", err);
  /* Its name is what counts; the text is for people. */
  (void)!write(fd, marker_text, sizeof(marker_text) - 1);
  return MF_OK;
}

static int open_marker(struct files_dir *d)
{
  struct stat st;
  d->marker_fd = openat(d->fd, FILES_MARKER, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (d->marker_fd < 0)
    return errno;
  return fstat(d->marker_fd, &st) == 0 && S_ISREG(st.st_mode) ? 0 : ENOTSUP;
}

/* Two processes would sweep each other's uploads, and run the same tasks. One that has just been killed may still be
 * ending. A file system that has no locks is used without. */
static enum mf_code lock_marker(const struct files_dir *d, struct mf_err *err)
{
  const uint64_t deadline_ns = mf_now_ns() + LOCK_MS * MF_NS_PER_MS;
  while (flock(d->marker_fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    if (mf_now_ns() >= deadline_ns)
      return mf_fail(err, MF_E_UNAVAILABLE, 0,
                     "folder '%s' is used by another process; end that one, or name another folder", d->path);
    nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
  }
  return MF_OK;
}

static enum mf_code take_marker(struct files_dir *d, struct mf_err *err)
{
  int sys = open_marker(d);
  if (sys == ENOENT) {
    enum mf_code code = make_marker(d, err);
    if (code)
      return code;
    sys = open_marker(d);
  }
  return sys ? files_fail(d, sys, "look at the files", err) : lock_marker(d, err);
}

static enum mf_code close_to_others(const struct files_dir *d, struct mf_err *err)
{
  struct stat st;
  if (fstat(d->fd, &st) != 0)
    return files_fail(d, errno, "look at the files", err);
  if ((st.st_mode & 0777) == 0700 || fchmod(d->fd, 0700) == 0)
    return MF_OK;
  return mf_fail(err, MF_E_UNAVAILABLE, errno, "folder '%s' is open to others; make it this user's own (mode 0700)",
                 d->path);
}

static void probe_tmpfile(struct files_dir *d)
{
  char name[FILES_STAGED_N], path[40];
  mf_auto_close int fd = openat(d->fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (fd < 0)
    return;
  snprintf(name, sizeof(name), "%s%s-probe", FILES_STAGED, d->mark);
  snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
  d->has_tmpfile = linkat(AT_FDCWD, path, d->fd, name, AT_SYMLINK_FOLLOW) == 0;
  unlinkat(d->fd, name, 0);
}

static enum mf_code open_dir(struct files_dir *d, struct mf_err *err)
{
  unsigned mark = 0;
  bool is_made = mkdir(d->path, 0700) == 0;
  if (!is_made && errno != EEXIST)
    return mf_fail(err, MF_E_UNAVAILABLE, errno, "folder '%s' for files cannot be made; check the folder it is in",
                   d->path);
  if (is_made && chmod(d->path, 0700) != 0) /* the umask may have taken too much */
    return files_fail(d, errno, "open the folder of files", err);
  d->fd = open(d->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (d->fd < 0)
    return mf_fail(err, MF_E_UNAVAILABLE, errno, "folder '%s' for files cannot be opened", d->path);
  if (getrandom(&mark, sizeof(mark), 0) != sizeof(mark))
    return mf_fail(err, MF_E_SYS, errno, "random number");
  snprintf(d->mark, sizeof(d->mark), "%08x", mark);
  enum mf_code code = take_marker(d, err);
  if (!code)
    code = close_to_others(d, err);
  if (!code)
    probe_tmpfile(d);
  return code;
}

enum mf_code files_dir_open(const char *path, struct files_dir *ret, struct mf_err *err)
{
  struct files_dir d = { .fd = -1, .marker_fd = -1, .path = mf_xstrdup(path) };
  enum mf_code code = open_dir(&d, err);
  if (code)
    files_dir_close(&d);
  else
    *ret = d;
  return code;
}

void files_dir_close(struct files_dir *d)
{
  if (!d->path)
    return;
  mf_close_ptr(&d->marker_fd);
  mf_close_ptr(&d->fd);
  free(d->path);
  d->path = NULL;
}

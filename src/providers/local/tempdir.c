/* Temporary directories of runs without a sandbox. */
#include "tempdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "confine/cgroup.h"
#include "base/banned.h"

#define PASSES_MAX 20000u
#define PREFIX "mayfly-" /* as control groups are named, so that one function reads both */
#define SUFFIX "-XXXXXX"

static const char *base_dir(void)
{
  const char *base = getenv("TMPDIR");
  return base && base[0] == '/' ? base : "/tmp";
}

enum mf_code mf_tempdir_make(struct mf_tempdir *ret, struct mf_err *err)
{
  const char *base = base_dir();
  pid_t pid = getpid();
  mf_auto_free char *path =
      mf_xasprintf("%s/" PREFIX "%d-%llu" SUFFIX, base, (int)pid, (unsigned long long)mf_cgroup_start_time(pid));
  if (!mkdtemp(path))
    return mf_fail(err, MF_E_SYS, errno, "make a temporary folder in '%s'", base);
  mf_auto_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) {
    int sys = errno;
    rmdir(path);
    return mf_fail(err, MF_E_SYS, sys, "open '%s'", path);
  }
  (void)flock(fd, LOCK_EX | LOCK_NB); /* where there are no locks a living process still keeps the sweep away */
  *ret = (struct mf_tempdir){ mf_xstrdup(path), mf_take_fd(&fd) };
  return MF_OK;
}

enum mf_code mf_tempdir_write(const struct mf_tempdir *d, struct mf_str name, struct mf_str data, struct mf_err *err)
{
  mf_auto_free char *path = mf_xasprintf("%.*s", MF_STR_ARG(name));
  for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    if (mkdirat(d->fd, path, 0700) != 0 && errno != EEXIST)
      return mf_fail(err, MF_E_SYS, errno, "make folder '%s'", path);
    *slash = '/';
  }
  mf_auto_close int fd = openat(d->fd, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0)
    return mf_fail(err, MF_E_SYS, errno, "make '%s'", path);
  return mf_write_all(fd, data.ptr, data.len, err);
}

static bool is_dots(const char *name)
{
  return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static bool is_folder(int dir, const char *name)
{
  struct stat st;
  return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* A folder's mode may keep even its owner out, and moving one changes its "..". That it failed shows later. */
static void unlock_folder(int dir, const char *name)
{
  if (fchmodat(dir, name, 0700, 0) != 0)
    return;
}

static DIR *open_folder(int dir, const char *name)
{
  mf_auto_close int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR *opened = fd >= 0 ? fdopendir(fd) : NULL;
  if (opened)
    (void)mf_take_fd(&fd);
  return opened;
}

/* Empties the folder `name` of the top: files go, folders are lifted to the top under a number, so that a tree of any
 * depth needs neither a stack nor long paths. Then the folder itself goes. Returns how much was done. */
static unsigned remove_folder(int top, const char *name, unsigned long *counter)
{
  if (!is_folder(top, name))
    return 0;
  unlock_folder(top, name);
  DIR *dir = open_folder(top, name);
  if (!dir)
    return 0;
  int fd = dirfd(dir);
  unsigned done = 0;
  struct dirent *e;
  while ((e = readdir(dir))) {
    if (is_dots(e->d_name))
      continue;
    if (unlinkat(fd, e->d_name, 0) == 0) {
      done++;
    } else if (is_folder(fd, e->d_name)) {
      char lifted[32];
      snprintf(lifted, sizeof(lifted), ".%lu", ++*counter);
      unlock_folder(fd, e->d_name);
      done += renameat(fd, e->d_name, top, lifted) == 0;
    }
  }
  closedir(dir);
  return done + (unlinkat(top, name, AT_REMOVEDIR) == 0);
}

/* One pass over the top. Returns how much was done. */
static unsigned remove_pass(int top, unsigned long *counter)
{
  DIR *dir = open_folder(top, ".");
  if (!dir)
    return 0;
  unsigned done = 0;
  struct dirent *e;
  while ((e = readdir(dir))) {
    if (is_dots(e->d_name))
      continue;
    if (unlinkat(top, e->d_name, 0) == 0)
      done++;
    else
      done += remove_folder(top, e->d_name, counter);
  }
  closedir(dir);
  return done;
}

void mf_tempdir_remove(struct mf_tempdir *d)
{
  if (d->fd >= 0) {
    /* A pass takes at least one level. What cannot go, or is made anew all the time, must not keep us here. */
    unsigned long counter = 0;
    for (unsigned pass = 0; pass < PASSES_MAX && remove_pass(d->fd, &counter) > 0; pass++)
      ;
    mf_close_ptr(&d->fd);
    (void)rmdir(d->path);
  }
  free(d->path);
  *d = MF_TEMPDIR_NULL;
}

/* ---- what others left ---- */

/* True for the name of a folder whose maker has ended, as far as this PID namespace can tell. */
static bool is_left(const char *name)
{
  char head[80];
  size_t n = strlen(name), suffix_n = strlen(SUFFIX);
  pid_t pid;
  uint64_t start;
  if (n <= suffix_n || n - suffix_n >= sizeof(head))
    return false;
  memcpy(head, name, n - suffix_n);
  head[n - suffix_n] = '\0';
  return name[n - suffix_n] == '-' && mf_cgroup_name_parse(head, &pid, &start) && mf_cgroup_start_time(pid) != start;
}

static void sweep_one(const char *base, int base_fd, const char *name)
{
  struct stat st;
  mf_auto_close int fd = openat(base_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &st) != 0 || st.st_uid != geteuid() || (st.st_mode & 07777) != 0700)
    return;
  /* Its maker may live in another PID namespace that shares the folder above. */
  if (flock(fd, LOCK_EX | LOCK_NB) != 0)
    return;
  struct mf_tempdir d = { mf_xasprintf("%s/%s", base, name), mf_take_fd(&fd) };
  mf_tempdir_remove(&d);
}

void mf_tempdir_sweep(void)
{
  const char *base = base_dir();
  DIR *dir = opendir(base);
  if (!dir)
    return;
  struct dirent *e;
  while ((e = readdir(dir)))
    if (is_left(e->d_name))
      sweep_one(base, dirfd(dir), e->d_name);
  closedir(dir);
}

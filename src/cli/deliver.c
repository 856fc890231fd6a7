/* Writing artifacts.
 *
 * A file born by O_TMPFILE has no name until linkat gives it one: killed at any moment, we leave nothing half-written.
 * Where the file system has no O_TMPFILE, a hidden name is used and removed on failure. */
#include "deliver.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#include "base/banned.h"

#define PATH_BYTES_MAX 4096
#define TEMP_NAME_N 32

struct staged {
  int fd;                 /* -1 when done with */
  char temp[TEMP_NAME_N]; /* "" for a file without a name */
};

struct delivery {
  const char *dir; /* as the person wrote it */
  int dirfd;
  bool may_replace;
  struct staged *staged;
  char **made; /* directories that we made below dirfd, parents first */
  unsigned made_n, made_cap;
  char *made_top[32]; /* and those on the way to dir itself */
  unsigned made_top_n;
};

static void temp_name(char ret[TEMP_NAME_N])
{
  uint64_t r[2] = { 0 };
  (void)!getrandom(r, sizeof(r), 0); /* a repeated name only fails with EEXIST */
  snprintf(ret, TEMP_NAME_N, ".mayfly-%016llx", (unsigned long long)(r[0] ^ r[1]));
}

enum mf_code mf_deliver_check(const char *dir, struct mf_err *err)
{
  struct stat st;
  if (dir[0] == 0)
    return mf_fail(err, MF_E_INPUT, 0, "--output: needs the name of a directory");
  if (strlen(dir) >= PATH_BYTES_MAX)
    return mf_fail(err, MF_E_INPUT, ENAMETOOLONG, "--output");
  if (stat(dir, &st) < 0)
    return errno == ENOENT ? MF_OK : mf_fail(err, MF_E_INPUT, errno, "--output %s", dir);
  if (!S_ISDIR(st.st_mode))
    return mf_fail(err, MF_E_INPUT, 0, "--output %s: is not a directory", dir);
  if (faccessat(AT_FDCWD, dir, W_OK | X_OK, AT_EACCESS) < 0)
    return mf_fail(err, MF_E_INPUT, errno, "--output %s", dir);
  return MF_OK;
}

/* Makes `dir` and what is missing above it, remembering what it made. */
static enum mf_code open_top(struct delivery *d, struct mf_err *err)
{
  char path[PATH_BYTES_MAX];
  size_t n = strlen(d->dir);

  if (n >= sizeof(path))
    return mf_fail(err, MF_E_INPUT, ENAMETOOLONG, "output directory");
  memcpy(path, d->dir, n + 1);
  for (size_t i = 1; i <= n; i++) {
    if (path[i] != '/' && path[i] != 0)
      continue;
    char kept = path[i];
    path[i] = 0;
    int sys = mkdir(path, 0777) == 0 ? 0 : errno;
    if (sys == 0) {
      if (d->made_top_n < MF_ARRAY_N(d->made_top))
        d->made_top[d->made_top_n++] = mf_xstrdup(path);
    } else if (sys != EEXIST && access(path, F_OK) < 0) { /* one that exists may say EROFS or EACCES as well */
      return mf_fail(err, MF_E_SYS, sys, "make directory %s", path);
    }
    path[i] = kept;
  }
  d->dirfd = open(d->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (d->dirfd < 0)
    return mf_fail(err, MF_E_SYS, errno, "open directory %s", d->dir);
  return MF_OK;
}

static void remember_made(struct delivery *d, const char *path, size_t n)
{
  if (d->made_n == d->made_cap) {
    d->made_cap = d->made_cap ? d->made_cap * 2 : 16;
    d->made = mf_xrealloc(d->made, d->made_cap * sizeof(*d->made));
  }
  d->made[d->made_n++] = mf_xasprintf("%.*s", (int)n, path);
}

static const char *leaf_of(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* Opens the folder that holds `path` (a valid name: no empty, "." or ".." part) one step at a time, so that no link is
 * ever followed. */
static enum mf_code open_parent(struct delivery *d, const char *path, bool make, int *ret_fd, struct mf_err *err)
{
  mf_auto_close int at = fcntl(d->dirfd, F_DUPFD_CLOEXEC, 3);
  const char *part = path, *slash;

  if (at < 0)
    return mf_fail(err, MF_E_SYS, errno, "%s/%s", d->dir, path);
  while ((slash = strchr(part, '/')) != NULL) {
    char name[256];
    size_t n = (size_t)(slash - part);
    if (n == 0 || n >= sizeof(name))
      return mf_fail(err, MF_E_INTERNAL, 0, "%s/%s: not a valid name", d->dir, path);
    memcpy(name, part, n);
    name[n] = 0;

    if (make && mkdirat(at, name, 0777) == 0)
      remember_made(d, path, (size_t)(slash - path));
    int next = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0) {
      int sys = errno;
      struct stat st;
      if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
        return mf_fail(err, MF_E_INPUT, 0, "%s/%.*s: is a symbolic link, which is not followed", d->dir,
                       (int)(slash - path), path);
      return mf_fail(err, MF_E_SYS, sys, "%s/%.*s", d->dir, (int)(slash - path), path);
    }
    mf_close_ptr(&at);
    at = next;
    part = slash + 1;
  }
  *ret_fd = mf_take_fd(&at);
  return MF_OK;
}

static enum mf_code copy_content(int from, uint64_t size, int to, const char *shown, struct mf_err *err)
{
  mf_auto_free char *chunk = mf_xmalloc(65536);
  for (uint64_t done = 0; done < size;) {
    ssize_t n = pread(from, chunk, (size_t)MF_MIN(size - done, 65536u), (off_t)done);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return mf_fail(err, MF_E_INTERNAL, n < 0 ? errno : 0, "write %s: it is shorter than its size", shown);
    struct mf_err why = { 0 };
    enum mf_code code = mf_write_all(to, chunk, (size_t)n, &why);
    if (code != MF_OK)
      return mf_fail(err, code, why.sys, "write %s", shown);
    done += (uint64_t)n;
  }
  return MF_OK;
}

static enum mf_code stage(struct delivery *d, struct mf_artifact *a, struct staged *s, struct mf_err *err)
{
  mf_auto_close int parent = -1;
  const char *leaf = leaf_of(a->path);
  struct stat st;
  enum mf_code code = open_parent(d, a->path, true, &parent, err);
  if (code != MF_OK)
    return code;
  if (fstatat(parent, leaf, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
    return mf_fail(err, MF_E_INPUT, EISDIR, "write %s/%s", d->dir, a->path);

  s->fd = openat(parent, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (s->fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL || errno == ENOENT)) {
    char name[TEMP_NAME_N];
    temp_name(name);
    s->fd = openat(parent, name, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC, 0666);
    if (s->fd >= 0)
      memcpy(s->temp, name, sizeof(name));
  }
  if (s->fd < 0)
    return mf_fail(err, MF_E_SYS, errno, "write %s/%s", d->dir, a->path);

  mf_auto_free char *shown = mf_xasprintf("%s/%s", d->dir, a->path);
  code = copy_content(a->fd, a->size_bytes, s->fd, shown, err);
  mf_close_ptr(&a->fd);
  return code;
}

static enum mf_code taken(const struct delivery *d, const char *path, struct mf_err *err)
{
  return mf_fail(err, MF_E_INPUT, 0, "%s/%s: exists already", d->dir, path);
}

/* Gives the file its name, in place of another file or not. */
static int rename_to(const struct delivery *d, int parent, const char *temp, const char *leaf)
{
  if (!d->may_replace) {
    if (renameat2(parent, temp, parent, leaf, RENAME_NOREPLACE) == 0)
      return 0;
    if (errno != EINVAL && errno != ENOSYS) /* file systems that cannot; it was looked for before */
      return -1;
  }
  return renameat(parent, temp, parent, leaf);
}

static enum mf_code publish(struct delivery *d, const struct mf_artifact *a, struct staged *s, struct mf_err *err)
{
  mf_auto_close int parent = -1;
  const char *leaf = leaf_of(a->path);
  enum mf_code code = open_parent(d, a->path, false, &parent, err);
  if (code != MF_OK)
    return code;

  if (s->temp[0] == 0) {
    char link[40];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", s->fd);
    if (linkat(AT_FDCWD, link, parent, leaf, AT_SYMLINK_FOLLOW) == 0)
      return MF_OK;
    if (errno != EEXIST)
      return mf_fail(err, MF_E_SYS, errno, "write %s/%s", d->dir, a->path);
    if (!d->may_replace)
      return taken(d, a->path, err);
    /* linkat replaces nothing, rename does. */
    temp_name(s->temp);
    if (linkat(AT_FDCWD, link, parent, s->temp, AT_SYMLINK_FOLLOW) < 0) {
      s->temp[0] = 0;
      return mf_fail(err, MF_E_SYS, errno, "write %s/%s", d->dir, a->path);
    }
  }
  if (rename_to(d, parent, s->temp, leaf) < 0) {
    code = errno == EEXIST ? taken(d, a->path, err) : mf_fail(err, MF_E_SYS, errno, "write %s/%s", d->dir, a->path);
    (void)unlinkat(parent, s->temp, 0);
    s->temp[0] = 0;
    return code;
  }
  s->temp[0] = 0;
  return MF_OK;
}

/* Removes what has no final name yet and every directory of ours that is empty again. */
static void roll_back(struct delivery *d, const struct mf_sandbox_result *r)
{
  int fd = -1;
  for (unsigned i = 0; i < r->artifact_n; i++) {
    if (d->staged[i].temp[0] == 0 || open_parent(d, r->artifacts[i].path, false, &fd, NULL) != MF_OK)
      continue;
    (void)unlinkat(fd, d->staged[i].temp, 0);
    mf_close_ptr(&fd);
  }
  for (unsigned i = d->made_n; i-- > 0;) {
    if (open_parent(d, d->made[i], false, &fd, NULL) != MF_OK)
      continue;
    (void)unlinkat(fd, leaf_of(d->made[i]), AT_REMOVEDIR);
    mf_close_ptr(&fd);
  }
  for (unsigned i = d->made_top_n; i-- > 0;)
    (void)rmdir(d->made_top[i]);
}

static void delivery_done(struct delivery *d, unsigned n)
{
  for (unsigned i = 0; i < n; i++)
    mf_close_ptr(&d->staged[i].fd);
  for (unsigned i = 0; i < d->made_n; i++)
    free(d->made[i]);
  for (unsigned i = 0; i < d->made_top_n; i++)
    free(d->made_top[i]);
  free(d->made);
  free(d->staged);
  mf_close_ptr(&d->dirfd);
}

/* True when something is there already, also where a folder should be. */
static bool is_taken(struct delivery *d, const char *path)
{
  mf_auto_close int parent = -1;
  struct mf_err err = { 0 };
  struct stat st;
  if (open_parent(d, path, false, &parent, &err) != MF_OK)
    return err.sys != ENOENT;
  return fstatat(parent, leaf_of(path), &st, AT_SYMLINK_NOFOLLOW) == 0;
}

char *mf_deliver_taken(const char *dir, const struct mf_sandbox_result *r)
{
  struct delivery d = { .dir = dir, .dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) };
  char *answer = NULL;
  for (unsigned i = 0; d.dirfd >= 0 && !answer && i < r->artifact_n; i++)
    if (is_taken(&d, r->artifacts[i].path))
      answer = mf_xasprintf("%s/%s", dir, r->artifacts[i].path);
  mf_close_ptr(&d.dirfd);
  return answer;
}

char *mf_deliver_aside(const char *dir)
{
  for (unsigned i = 1;; i++) {
    char *path = mf_xasprintf("%s/mayfly-out-%u", dir, i);
    if (faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
      return path;
    free(path);
  }
}

enum mf_code mf_deliver(const char *dir, bool may_replace, struct mf_sandbox_result *r, struct mf_err *err)
{
  struct delivery d = { .dir = dir, .dirfd = -1, .may_replace = may_replace };
  enum mf_code code = MF_OK;

  if (r->artifact_n == 0)
    return MF_OK;
  d.staged = mf_xcalloc(r->artifact_n, sizeof(*d.staged));
  for (unsigned i = 0; i < r->artifact_n; i++)
    d.staged[i].fd = -1;

  code = open_top(&d, err);
  for (unsigned i = 0; code == MF_OK && i < r->artifact_n; i++)
    code = stage(&d, &r->artifacts[i], &d.staged[i], err);
  for (unsigned i = 0; code == MF_OK && i < r->artifact_n; i++)
    code = publish(&d, &r->artifacts[i], &d.staged[i], err);
  if (code != MF_OK)
    roll_back(&d, r);
  delivery_done(&d, r->artifact_n);
  return code;
}

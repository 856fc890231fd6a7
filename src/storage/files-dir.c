/* See files-dir.h; opening is files-open.c's. */
#include "files-dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/banned.h"

static const char lost_found[] = "lost+found"; /* of a file system's root */

enum { TRIES = 4, DEPTH_MAX = 32, OPEN_FOLDER = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

/* ---- words ---- */

struct word_row {
  int sys;
  const char *text;
};

static const struct word_row words[] = {
  { ENOSPC, "the disk is full; free some space" },
  { EDQUOT, "this user's disk quota is used up; raise it, or free some space" },
  { EROFS, "the file system is read-only; make it writable" },
  { EIO, "the disk failed; look at the kernel's log" },
  { EMFILE, "too many open files; raise this process's limit (ulimit -n)" },
  { ENFILE, "too many open files on this machine; raise fs.file-max" },
  { EFBIG, "a file of that size is not allowed; raise this process's limit (ulimit -f)" },
  { EACCES, "permission denied; let this user read and write it" },
  { EPERM, "permission denied; let this user read and write it" },
  { ENOENT, "it was removed while it was in use; restart Mayfly" },
  { ENOTSUP, "something else has the name of a file; the next sweep removes it" },
  { ELOOP, "a link has the name of a file or folder; the next sweep removes it" },
  { ENOTDIR, "something else has the name of a folder; the next sweep removes it" },
};

enum mf_code files_fail(const struct files_dir *d, int sys, const char *doing, struct mf_err *err)
{
  for (unsigned i = 0; i < MF_ARRAY_N(words); i++)
    if (words[i].sys == sys)
      return mf_fail(err, MF_E_UNAVAILABLE, sys, "%s in '%s': %s", doing, d->path, words[i].text);
  return mf_fail(err, MF_E_SYS, sys, "%s in '%s'", doing, d->path);
}

/* ---- names ---- */

static bool is_task_byte(char c)
{
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
}

bool files_task_name(struct mf_str id, char ret[FILES_TASK_N])
{
  if (id.len == 0 || id.len >= FILES_TASK_N)
    return false;
  for (size_t i = 0; i < id.len; i++)
    if (!is_task_byte(id.ptr[i]))
      return false;
  memcpy(ret, id.ptr, id.len);
  ret[id.len] = 0;
  return !files_is_ours(ret);
}

bool files_is_task(const char *name)
{
  char copy[FILES_TASK_N];
  return files_task_name(mf_str_of(name), copy);
}

bool files_is_sha256(const char *name)
{
  return strlen(name) == MF_SHA256_HEX_N - 1 && strspn(name, "0123456789abcdef") == MF_SHA256_HEX_N - 1;
}

bool files_is_ours(const char *name)
{
  return strcmp(name, FILES_MARKER) == 0 || strcmp(name, lost_found) == 0;
}

static bool is_staged(const char *name)
{
  return strncmp(name, FILES_STAGED, sizeof(FILES_STAGED) - 1) == 0;
}

static bool is_staged_here(const struct files_dir *d, const char *name)
{
  return is_staged(name) && strncmp(name + sizeof(FILES_STAGED) - 1, d->mark, sizeof(d->mark) - 1) == 0;
}

/* Of what this process stages the one who writes it keeps count. */
static bool is_counted(const struct files_dir *d, const char *name)
{
  return files_is_sha256(name) || (is_staged(name) && !is_staged_here(d, name));
}

static bool is_dots(const char *name)
{
  return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* ---- reading folders ---- */

/* A folder below at; NULL with errno. */
static DIR *open_listing(int at, const char *name)
{
  int fd = openat(at, name, OPEN_FOLDER);
  if (fd < 0)
    return NULL;
  DIR *dir = fdopendir(fd);
  if (!dir)
    mf_close_ptr(&fd);
  return dir;
}

const char *files_next_name(DIR *dir, int *ret_sys)
{
  struct dirent *e;
  do {
    errno = 0;
    e = readdir(dir); /* one thread has it at a time */
  } while (e && is_dots(e->d_name));
  if (!e && errno && !*ret_sys)
    *ret_sys = errno;
  return e ? e->d_name : NULL;
}

DIR *files_dir_list(const struct files_dir *d)
{
  return open_listing(d->fd, ".");
}

/* ---- a task's folder ---- */

int files_folder_open(const struct files_dir *d, const char *task, int *ret_fd)
{
  int fd = openat(d->fd, task, OPEN_FOLDER);
  if (fd < 0)
    return errno;
  *ret_fd = fd;
  return 0;
}

int files_folder_make(const struct files_dir *d, const char *task, int *ret_fd)
{
  /* The umask may take more than it should. Nobody else can put a link in its place: DIR is ours alone. */
  if (mkdirat(d->fd, task, 0700) != 0) {
    if (errno != EEXIST)
      return errno;
  } else if (fchmodat(d->fd, task, 0700, 0) != 0) {
    return errno;
  }
  return files_folder_open(d, task, ret_fd);
}

int files_open_file(int folder, const char *sha256, int *ret_fd, uint64_t *ret_bytes)
{
  struct stat st;
  /* Without O_NONBLOCK a pipe would be waited for. */
  mf_auto_close int fd = openat(folder, sha256, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0)
    return errno == ENXIO ? ENOTSUP : errno;
  if (fstat(fd, &st) != 0)
    return errno;
  if (!S_ISREG(st.st_mode))
    return ENOTSUP;
  *ret_bytes = (uint64_t)st.st_size;
  *ret_fd = mf_take_fd(&fd);
  return 0;
}

/* In a folder that was removed meanwhile some file systems say EPERM (ext4) or ESTALE. */
static int error_in(int folder, int sys)
{
  struct stat st;
  return fstat(folder, &st) == 0 && st.st_nlink == 0 ? ENOENT : sys;
}

int files_stage(const struct files_dir *d, int folder, uint64_t number, int *ret_fd, char ret_name[FILES_STAGED_N])
{
  ret_name[0] = 0;
  if (!d->has_tmpfile)
    snprintf(ret_name, FILES_STAGED_N, "%s%s-%llu", FILES_STAGED, d->mark, (unsigned long long)number);
  mf_auto_close int fd = d->has_tmpfile
                             ? openat(folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600)
                             : openat(folder, ret_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0)
    return error_in(folder, errno);
  if (fchmod(fd, 0600) != 0) {
    int sys = errno;
    if (ret_name[0])
      unlinkat(folder, ret_name, 0);
    return sys;
  }
  *ret_fd = mf_take_fd(&fd);
  return 0;
}

int files_publish(int folder, int fd, const char *staged, const char *sha256)
{
  char path[40];
  if (staged[0]) {
    if (linkat(folder, staged, folder, sha256, 0) != 0)
      return error_in(folder, errno);
    unlinkat(folder, staged, 0);
    return 0;
  }
  snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
  return linkat(AT_FDCWD, path, folder, sha256, AT_SYMLINK_FOLLOW) == 0 ? 0 : error_in(folder, errno);
}

/* ---- all of it ---- */

static int count_folder(const struct files_dir *d, const char *task, uint64_t *bytes)
{
  int sys = 0;
  DIR *dir = open_listing(d->fd, task);
  if (!dir)
    return errno == ENOTDIR || errno == ELOOP || errno == ENOENT ? 0 : errno;
  struct stat st;
  for (const char *name; (name = files_next_name(dir, &sys)) != NULL;)
    if (is_counted(d, name) && fstatat(dirfd(dir), name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
      *bytes += (uint64_t)st.st_size;
  closedir(dir);
  return sys;
}

enum mf_code files_count(const struct files_dir *d, uint64_t *ret_bytes, struct mf_err *err)
{
  uint64_t bytes = 0;
  int sys = 0;
  DIR *dir = open_listing(d->fd, ".");
  if (!dir)
    return files_fail(d, errno, "count the files", err);
  for (const char *name; !sys && (name = files_next_name(dir, &sys)) != NULL;)
    if (files_is_task(name))
      sys = count_folder(d, name, &bytes);
  closedir(dir);
  if (sys)
    return files_fail(d, sys, "count the files", err);
  *ret_bytes = bytes;
  return MF_OK;
}

static void note(int *first, int sys)
{
  if (!*first)
    *first = sys;
}

/* A file or anything else that is no folder; *bytes grows by what is counted. */
static int remove_file(const struct files_dir *d, int folder, const char *name, uint64_t *bytes)
{
  struct stat st = { 0 };
  bool counts = bytes && is_counted(d, name) && fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
  if (unlinkat(folder, name, 0) != 0)
    return errno == ENOENT ? 0 : errno;
  if (counts && S_ISREG(st.st_mode))
    *bytes += (uint64_t)st.st_size;
  return 0;
}

static int remove_folder(const struct files_dir *d, int at, const char *name, unsigned depth, uint64_t *bytes);

/* bytes: NULL where nothing is counted, in folders that do not belong here. */
static int remove_any(const struct files_dir *d, int folder, const char *name, unsigned depth, uint64_t *bytes)
{
  int sys = remove_file(d, folder, name, bytes);
  return sys == EISDIR ? remove_folder(d, folder, name, depth, NULL) : sys;
}

/* NOLINTNEXTLINE(misc-no-recursion): not deeper than DEPTH_MAX. */
static int remove_folder(const struct files_dir *d, int at, const char *name, unsigned depth, uint64_t *bytes)
{
  int first = 0;
  if (depth >= DEPTH_MAX)
    return ENAMETOOLONG;
  DIR *dir = open_listing(at, name);
  if (!dir)
    return errno == ENOENT ? 0 : errno;
  for (const char *entry; (entry = files_next_name(dir, &first)) != NULL;)
    note(&first, remove_any(d, dirfd(dir), entry, depth + 1, bytes));
  closedir(dir);
  if (unlinkat(at, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
    note(&first, errno);
  return first;
}

int files_remove_entry(const struct files_dir *d, const char *name, uint64_t *ret_bytes)
{
  *ret_bytes = 0;
  bool is_task = files_is_task(name);
  int sys = ENOTEMPTY;
  for (unsigned tries = 0; tries < TRIES && sys == ENOTEMPTY; tries++) {
    sys = remove_folder(d, d->fd, name, 0, is_task ? ret_bytes : NULL);
    if (sys == ENOTDIR || sys == ELOOP)
      sys = remove_file(d, d->fd, name, NULL);
  }
  /* Somebody goes on putting files into it: those came later than this. */
  return sys == ENOTEMPTY ? 0 : sys;
}

int files_tidy_folder(const struct files_dir *d, const char *task, uint64_t *ret_bytes)
{
  int first = 0;
  struct stat st;
  *ret_bytes = 0;
  DIR *dir = open_listing(d->fd, task);
  if (!dir)
    return errno == ENOENT ? 0 : errno;
  for (const char *name; (name = files_next_name(dir, &first)) != NULL;) {
    bool belongs =
        is_staged_here(d, name) ||
        (files_is_sha256(name) && fstatat(dirfd(dir), name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode));
    if (!belongs)
      note(&first, remove_any(d, dirfd(dir), name, 1, ret_bytes));
  }
  closedir(dir);
  return first;
}

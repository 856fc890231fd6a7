/* A throwaway folder for tests. */
#include "tree.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void must(int ok, const char *what)
{
  if (!ok) {
    perror(what);
    abort();
  }
}

void tree_make(struct tree *t)
{
  const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  snprintf(t->path, sizeof(t->path), "%s/mf-test-XXXXXX", base);
  must(mkdtemp(t->path) != NULL, "mkdtemp");
  t->fd = open(t->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  must(t->fd >= 0, "open");
}

/* Folders are made open first, so that what a test has locked can be removed by an ordinary user. */
static int unlock_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
  (void)st;
  (void)ftw;
  if (type == FTW_D || type == FTW_DNR)
    chmod(path, 0700);
  return 0;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
  (void)st;
  (void)ftw;
  return type == FTW_DP || type == FTW_DNR ? rmdir(path) : unlink(path);
}

void tree_remove(struct tree *t)
{
  close(t->fd);
  chmod(t->path, 0700);
  nftw(t->path, unlock_entry, 32, FTW_PHYS | FTW_MOUNT);
  must(nftw(t->path, remove_entry, 32, FTW_PHYS | FTW_MOUNT | FTW_DEPTH) == 0, "remove the test folder");
}

void tree_write(const struct tree *t, const char *name, const void *p, size_t n)
{
  int fd = openat(t->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  must(fd >= 0, name);
  for (size_t at = 0; at < n;) {
    ssize_t done = write(fd, (const char *)p + at, n - at);
    must(done > 0, name);
    at += (size_t)done;
  }
  close(fd);
}

void tree_text(const struct tree *t, const char *name, const char *text)
{
  tree_write(t, name, text, strlen(text));
}

void tree_folder(const struct tree *t, const char *name)
{
  must(mkdirat(t->fd, name, 0700) == 0, name);
}

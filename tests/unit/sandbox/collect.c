/* What the artifact tests share. */
#include "collect.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/utf8.h"

#define CHECK(condition)                                                                                               \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);                                        \
      abort();                                                                                                         \
    }                                                                                                                  \
  } while (0)

static void check_artifact(const struct mf_artifact *a)
{
  CHECK(mf_name_check(mf_str_of(a->path), "path", NULL) == MF_OK);
  CHECK(a->mime_type != NULL);
  CHECK(fcntl(a->fd, F_GET_SEALS) == (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE));
  CHECK((fcntl(a->fd, F_GETFD) & FD_CLOEXEC) != 0);
  CHECK(lseek(a->fd, 0, SEEK_CUR) == 0);
  struct stat st;
  CHECK(fstat(a->fd, &st) == 0 && (uint64_t)st.st_size == a->size_bytes);
  char *content = malloc(a->size_bytes + 1);
  CHECK(content != NULL && pread(a->fd, content, a->size_bytes + 1, 0) == (ssize_t)a->size_bytes);
  char sha256[MF_SHA256_HEX_N];
  mf_sha256_of((struct mf_str){ content, a->size_bytes }, sha256);
  CHECK(strcmp(sha256, a->sha256) == 0);
  free(content);
}

static void check_result(const struct mf_sandbox_result *r, const struct mf_sandbox_limits *limits)
{
  uint64_t total = 0;
  CHECK(r->artifact_n <= limits->artifact_count);
  for (unsigned i = 0; i < r->artifact_n; i++) {
    check_artifact(&r->artifacts[i]);
    total += r->artifacts[i].size_bytes;
    CHECK(i == 0 || strcmp(r->artifacts[i - 1].path, r->artifacts[i].path) < 0);
  }
  CHECK(total <= limits->artifact_bytes);
  CHECK(r->rejected_n <= MF_REJECTED_MAX + 1);
  for (unsigned i = 0; i < r->rejected_n; i++) {
    CHECK(r->rejected[i].reason[0] != 0);
    CHECK(mf_utf8_is_valid(mf_str_of(r->rejected[i].path)));
    CHECK(mf_utf8_is_valid(mf_str_of(r->rejected[i].reason)));
  }
}

struct mf_sandbox_result *collect_tree(const struct tree *t, const struct mf_sandbox_limits *limits,
                                       const struct mf_sandbox_file *inputs, unsigned input_n)
{
  struct mf_sandbox_limits defaults;
  mf_sandbox_limits_default(&defaults);
  if (limits == NULL)
    limits = &defaults;
  struct mf_sandbox_result *r = mf_sandbox_result_new();
  struct mf_err err = { .msg = "" };
  if (mf_artifacts_collect(t->fd, limits, inputs, input_n, NULL, r, &err) != MF_OK) {
    fprintf(stderr, "collect: %s\n", err.msg);
    abort();
  }
  check_result(r, limits);
  return r;
}

const struct mf_artifact *find_artifact(const struct mf_sandbox_result *r, const char *path)
{
  for (unsigned i = 0; i < r->artifact_n; i++) {
    if (strcmp(r->artifacts[i].path, path) == 0)
      return &r->artifacts[i];
  }
  return NULL;
}

const char *find_reason(const struct mf_sandbox_result *r, const char *path)
{
  for (unsigned i = 0; i < r->rejected_n; i++) {
    if (strcmp(r->rejected[i].path, path) == 0)
      return r->rejected[i].reason;
  }
  return "";
}

unsigned count_fds(void)
{
  DIR *dir = opendir("/proc/self/fd");
  CHECK(dir != NULL);
  unsigned n = 0;
  while (readdir(dir) != NULL)
    n++;
  closedir(dir);
  return n;
}

/* One short-lived thread for each collection that takes long: as many as there are places at most, and no program's
 * files wait for those of another. */
#include "collect.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/job.h"
#include "loop/work.h"
#include "base/banned.h"

#define SMALL_ENTRIES_MAX 16u
#define SMALL_BYTES_MAX (256u << 10) /* read and hashed in well under a millisecond */

struct mf_collect {
  struct mf_collect_spec spec;
  struct mf_aside *thread;
  void (*done)(void *user, enum mf_code code);
  void *user;
};

/* ---- how much there is ---- */

static bool is_small(DIR *dir)
{
  unsigned entry_n = 0;
  uint64_t bytes = 0;
  const struct dirent *e;
  while ((e = readdir(dir))) {
    struct stat st;
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
      continue;
    if (++entry_n > SMALL_ENTRIES_MAX || fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
      return false;
    if (S_ISDIR(st.st_mode) || st.st_size < 0 || (uint64_t)st.st_size > SMALL_BYTES_MAX - bytes)
      return false;
    bytes += (uint64_t)st.st_size;
  }
  return true;
}

bool mf_collect_is_small(int dir_fd)
{
  int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
  if (!dir) {
    bool answer = errno != EACCES; /* that can be mended; all else fails the collection at once as well */
    mf_close_ptr(&fd);
    return answer;
  }
  bool answer = is_small(dir);
  closedir(dir);
  return answer;
}

/* ---- collecting ---- */

static enum mf_code collect(struct mf_collect_spec *spec, const atomic_bool *stop)
{
  struct mf_job job = { 0 };
  struct mf_err err = { 0 };
  enum mf_code code = MF_OK;
  if (spec->job_fd >= 0)
    code = mf_job_map(spec->job_fd, &job, &err);
  if (code == MF_OK)
    code = mf_artifacts_collect(spec->dir_fd, spec->limits, job.files, job.file_n, stop, spec->result, &err);
  mf_job_done(&job);
  mf_tempdir_remove(&spec->remove);
  return code;
}

enum mf_code mf_collect_now(struct mf_collect_spec *spec)
{
  return collect(spec, NULL);
}

static enum mf_code collect_aside(void *user, const atomic_bool *stop)
{
  struct mf_collect *c = user;
  return collect(&c->spec, stop);
}

static void on_done(void *user, enum mf_code code)
{
  struct mf_collect *c = user;
  void (*done)(void *user, enum mf_code code) = c->done;
  void *done_user = c->user;
  free(c);
  done(done_user, code);
}

enum mf_code mf_collect_start(struct mf_loop *loop, const struct mf_collect_spec *spec,
                              void (*done)(void *user, enum mf_code code), void *user, struct mf_collect **ret,
                              struct mf_err *err)
{
  struct mf_collect *c = mf_xcalloc(1, sizeof(*c));
  *c = (struct mf_collect){ .spec = *spec, .done = done, .user = user };
  enum mf_code code = mf_aside_start(loop, collect_aside, on_done, c, &c->thread, err);
  if (code) {
    free(c);
    return mf_wrap(err, code, "collect files");
  }
  *ret = c;
  return MF_OK;
}

void mf_collect_stop(struct mf_collect *c)
{
  mf_aside_stop(c->thread);
}

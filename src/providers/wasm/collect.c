/* Adopting the files of a call: a few at once, many on a thread of their own. */
#include "collect.h"

#include <string.h>

#include "base/fd.h"
#include "loop/work.h"
#include "sandbox/job.h"
#include "base/banned.h"

#define SMALL_BYTES_MAX (256u << 10) /* copied and hashed in well under a millisecond */

/* ---- what came ---- */

static void keep(struct mf_offers *o, struct mf_str name, uint64_t size, int fd)
{
  if (o->n == o->room) {
    o->room = o->room ? o->room * 2 : 8;
    o->files = mf_xrealloc(o->files, o->room * sizeof(*o->files));
    o->names = mf_xrealloc(o->names, o->room * sizeof(*o->names));
  }
  char *copy = mf_xmalloc(name.len + 1);
  if (name.len > 0)
    memcpy(copy, name.ptr, name.len);
  copy[name.len] = '\0';
  o->names[o->n] = copy;
  o->files[o->n++] = (struct mf_offered_file){ .name = { copy, name.len }, .size_bytes = size, .fd = fd };
}

bool mf_offers_add(struct mf_offers *o, const struct mf_sandbox_limits *limits, struct mf_str name, uint64_t size,
                   int fd_)
{
  mf_auto_close int fd = fd_;
  unsigned with_n = 0;
  for (unsigned i = 0; i < o->n; i++)
    with_n += o->files[i].fd >= 0;
  if (fd >= 0 && with_n >= limits->artifact_count)
    return false;
  if (fd < 0 && o->n - with_n >= MF_REJECTED_MAX) {
    o->left_n++;
    return true;
  }
  if (fd >= 0)
    o->bytes += MF_MIN(size, (uint64_t)MF_ARTIFACT_BYTES_MAX);
  keep(o, name, size, mf_take_fd(&fd));
  return true;
}

void mf_offers_done(struct mf_offers *o)
{
  for (unsigned i = 0; i < o->n; i++) {
    free(o->names[i]);
    mf_close_ptr(&o->files[i].fd);
  }
  free(o->files);
  free(o->names);
  *o = (struct mf_offers){ 0 };
}

bool mf_offers_are_small(const struct mf_offers *o)
{
  return o->bytes <= SMALL_BYTES_MAX && o->n <= 16;
}

/* ---- adopting ---- */

static enum mf_code adopt(const struct mf_collect_call *c, const atomic_bool *stop)
{
  struct mf_job job = { 0 };
  enum mf_code code = MF_OK;
  if (c->job_fd >= 0)
    code = mf_job_map(c->job_fd, &job, NULL);
  if (code == MF_OK)
    mf_artifacts_adopt(c->offers->files, c->offers->n, c->offers->left_n, c->offers->other_n, c->limits, job.files,
                       job.file_n, stop, c->result);
  mf_job_done(&job);
  return code;
}

enum mf_code mf_collect_files(const struct mf_collect_call *c)
{
  return adopt(c, NULL);
}

struct mf_collect_job {
  struct mf_collect_call call;
  struct mf_aside *thread;
  void (*done)(void *user, enum mf_code code);
  void *user;
};

static enum mf_code adopt_aside(void *user, const atomic_bool *stop)
{
  struct mf_collect_job *j = user;
  return adopt(&j->call, stop);
}

static void on_done(void *user, enum mf_code code)
{
  struct mf_collect_job *j = user;
  void (*done)(void *user, enum mf_code code) = j->done;
  void *done_user = j->user;
  free(j);
  done(done_user, code);
}

enum mf_code mf_collect_files_start(struct mf_loop *loop, const struct mf_collect_call *c,
                                    void (*done)(void *user, enum mf_code code), void *user,
                                    struct mf_collect_job **ret, struct mf_err *err)
{
  struct mf_collect_job *j = mf_xcalloc(1, sizeof(*j));
  *j = (struct mf_collect_job){ .call = *c, .done = done, .user = user };
  enum mf_code code = mf_aside_start(loop, adopt_aside, on_done, j, &j->thread, err);
  if (code) {
    free(j);
    return mf_wrap(err, code, "adopt files");
  }
  *ret = j;
  return MF_OK;
}

void mf_collect_files_stop(struct mf_collect_job *job)
{
  mf_aside_stop(job->thread);
}

/* mf_files: opening, reading, removing and sweeping; writing is file-put.c. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files-internal.h"
#include "base/fd.h"
#include "base/banned.h"

/* ---- life ---- */

enum mf_code mf_files_open(struct mf_pool *pool, const char *dir, uint64_t bytes_max, struct mf_files **ret,
                           struct mf_err *err)
{
  struct mf_files *f = mf_xcalloc(1, sizeof(*f));
  f->pool = pool;
  f->bytes_max = bytes_max;
  enum mf_code code = files_dir_open(dir, &f->dir, err);
  if (!code)
    code = files_count(&f->dir, &f->used, err);
  if (code)
    mf_files_close(f);
  else
    *ret = f;
  return code;
}

void mf_files_close(struct mf_files *f)
{
  if (!f)
    return;
  assert(f->busy == 0);
  files_dir_close(&f->dir);
  free(f);
}

uint64_t mf_files_used(const struct mf_files *f)
{
  return f->used;
}

enum mf_code mf_files_take(struct mf_files *f, uint64_t bytes, struct mf_err *err)
{
  if (bytes > f->bytes_max || f->used > f->bytes_max - bytes)
    return mf_fail(err, MF_E_LIMIT, 0, "files of tasks would exceed %llu bytes", (unsigned long long)f->bytes_max);
  f->used += bytes;
  return MF_OK;
}

void mf_files_note(struct mf_files *f, uint64_t bytes)
{
  f->used += bytes;
}

void mf_files_give(struct mf_files *f, uint64_t bytes)
{
  f->used -= MF_MIN(bytes, f->used);
}

/* ---- a job for a worker ---- */

struct job {
  struct mf_files *files;
  char task[FILES_TASK_N];
  const struct mf_file_ref *ref;
  int fd;
  void *to; /* pread */
  size_t n;
  uint64_t offset;
  struct mf_buf content;
  uint64_t freed_bytes;
  enum mf_code code;
  struct mf_err err;
};

static enum mf_code run(struct job *j, struct mf_fiber *self, void (*fn)(void *user), struct mf_err *err)
{
  struct mf_files *f = j->files;
  f->busy++;
  enum mf_code code = mf_pool_run(f->pool, self, fn, j, err);
  f->busy--;
  if (code)
    return code;
  mf_files_give(f, j->freed_bytes);
  if (j->code && err)
    *err = j->err;
  return j->code;
}

static void fail_job(struct job *j, int sys, const char *doing)
{
  if (sys == ENOENT)
    j->code = mf_fail(&j->err, MF_E_NOT_FOUND, 0, "there is no such file");
  else
    j->code = files_fail(&j->files->dir, sys, doing, &j->err);
}

/* ---- reading ---- */

static void fail_damaged(struct job *j)
{
  j->code =
      mf_fail(&j->err, MF_E_UNAVAILABLE, 0, "a file in '%s' is damaged: its content has changed", j->files->dir.path);
}

/* Of the right size. */
static void open_one(void *user)
{
  struct job *j = user;
  mf_auto_close int folder = -1, fd = -1;
  uint64_t bytes = 0;
  int sys = files_folder_open(&j->files->dir, j->task, &folder);
  if (!sys)
    sys = files_open_file(folder, j->ref->sha256, &fd, &bytes);
  if (sys)
    fail_job(j, sys, "open a file");
  else if (bytes != j->ref->size_bytes)
    fail_damaged(j);
  else
    j->fd = mf_take_fd(&fd);
}

static void read_content(struct job *j)
{
  size_t n = (size_t)j->ref->size_bytes;
  char sha256[MF_SHA256_HEX_N];
  mf_auto_free char *bytes = malloc(n + 1);
  if (!bytes) {
    j->code = mf_fail(&j->err, MF_E_LIMIT, 0, "out of memory for a file");
    return;
  }
  struct mf_err err = { 0 };
  enum mf_code code = mf_read_all(j->fd, bytes, n, &err);
  if (code && code != MF_E_GONE) {
    fail_job(j, err.sys, "read a file");
    return;
  }
  if (!code)
    mf_sha256_of((struct mf_str){ bytes, n }, sha256);
  if (code || strcmp(sha256, j->ref->sha256) != 0) {
    fail_damaged(j);
    return;
  }
  bytes[n] = 0;
  j->content = (struct mf_buf){ .ptr = bytes, .len = n, .cap = n + 1, .max = n };
  bytes = NULL;
}

static void read_one(void *user)
{
  struct job *j = user;
  open_one(j);
  if (!j->code)
    read_content(j);
  mf_close_ptr(&j->fd);
}

/* Names come from outside, too: what is none is not there. */
static enum mf_code job_of(struct mf_files *f, struct mf_str task_id, const struct mf_file_ref *ref, struct job *ret,
                           struct mf_err *err)
{
  *ret = (struct job){ .files = f, .ref = ref, .fd = -1 };
  bool is_name = memchr(ref->sha256, 0, sizeof(ref->sha256)) && files_is_sha256(ref->sha256);
  if (!is_name || !files_task_name(task_id, ret->task))
    return mf_fail(err, MF_E_NOT_FOUND, 0, "there is no such file");
  return MF_OK;
}

enum mf_code mf_files_read(struct mf_files *f, struct mf_fiber *self, struct mf_str task_id,
                           const struct mf_file_ref *ref, struct mf_buf *ret, struct mf_err *err)
{
  struct job j;
  enum mf_code code = job_of(f, task_id, ref, &j, err);
  if (!code && ref->size_bytes > MF_FILES_READ_MAX)
    code = mf_fail(err, MF_E_LIMIT, 0, "a file of more than %u bytes is not read whole", MF_FILES_READ_MAX);
  if (!code)
    code = run(&j, self, read_one, err);
  if (!code)
    *ret = j.content;
  return code;
}

enum mf_code mf_files_open_one(struct mf_files *f, struct mf_fiber *self, struct mf_str task_id,
                               const struct mf_file_ref *ref, int *ret_fd, struct mf_err *err)
{
  struct job j;
  enum mf_code code = job_of(f, task_id, ref, &j, err);
  if (!code)
    code = run(&j, self, open_one, err);
  if (!code)
    *ret_fd = j.fd;
  return code;
}

static void read_at(void *user)
{
  struct job *j = user;
  ssize_t n;
  do
    n = pread(j->fd, j->to, j->n, (off_t)j->offset);
  while (n < 0 && errno == EINTR);
  if (n < 0)
    fail_job(j, errno, "read a file");
  else
    j->n = (size_t)n;
}

enum mf_code mf_files_pread(struct mf_files *f, struct mf_fiber *self, int fd, void *p, size_t n, uint64_t offset,
                            size_t *ret_n, struct mf_err *err)
{
  if (offset > INT64_MAX)
    return mf_fail(err, MF_E_INPUT, 0, "a file is not that long");
  struct job j = { .files = f, .fd = fd, .to = p, .n = n, .offset = offset };
  enum mf_code code = run(&j, self, read_at, err);
  if (!code)
    *ret_n = j.n;
  return code;
}

/* ---- removing ---- */

static void remove_one(void *user)
{
  struct job *j = user;
  int sys = files_remove_entry(&j->files->dir, j->task, &j->freed_bytes);
  if (sys)
    j->code = files_fail(&j->files->dir, sys, "remove files", &j->err);
}

enum mf_code mf_files_remove(struct mf_files *f, struct mf_fiber *self, struct mf_str task_id, struct mf_err *err)
{
  struct job j = { .files = f };
  return files_task_name(task_id, j.task) ? run(&j, self, remove_one, err) : MF_OK;
}

/* ---- sweeping ---- */

enum { SWEEP_MAX = 128 };

/* Some folders at a time: a worker lists them, the fiber asks about each, a worker removes or tidies. */
struct sweep {
  struct mf_files *files;
  DIR *dir; /* NULL: not begun */
  char tasks[SWEEP_MAX][FILES_TASK_N];
  bool is_kept[SWEEP_MAX];
  unsigned n;
  uint64_t freed_bytes;
  int sys; /* the first; the sweep goes on */
};

static void note(struct sweep *s, int sys)
{
  if (!s->sys)
    s->sys = sys;
}

static void look_at_entry(struct sweep *s, const char *name)
{
  const struct files_dir *d = &s->files->dir;
  struct stat st;
  uint64_t bytes = 0;
  if (files_is_ours(name))
    return;
  bool is_folder = fstatat(d->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
  if (is_folder && files_task_name(mf_str_of(name), s->tasks[s->n]))
    s->n++;
  else
    note(s, files_remove_entry(d, name, &bytes));
}

static void list_some(void *user)
{
  struct sweep *s = user;
  s->n = 0;
  if (!s->dir)
    s->dir = files_dir_list(&s->files->dir);
  if (!s->dir) {
    note(s, errno);
    return;
  }
  int sys = 0;
  for (const char *name; s->n < SWEEP_MAX && (name = files_next_name(s->dir, &sys)) != NULL;)
    look_at_entry(s, name);
  note(s, sys);
}

static void clear_some(void *user)
{
  struct sweep *s = user;
  const struct files_dir *d = &s->files->dir;
  for (unsigned i = 0; i < s->n; i++) {
    uint64_t bytes = 0;
    note(s, s->is_kept[i] ? files_tidy_folder(d, s->tasks[i], &bytes) : files_remove_entry(d, s->tasks[i], &bytes));
    s->freed_bytes += bytes;
  }
}

static enum mf_code run_sweep(struct sweep *s, struct mf_fiber *self, mf_files_kept_fn *is_kept, void *user,
                              struct mf_err *err)
{
  struct mf_files *f = s->files;
  for (;;) {
    enum mf_code code = mf_pool_run(f->pool, self, list_some, s, err);
    if (code || s->n == 0)
      return code;
    for (unsigned i = 0; i < s->n; i++)
      s->is_kept[i] = is_kept(user, self, mf_str_of(s->tasks[i]));
    code = mf_pool_run(f->pool, self, clear_some, s, err);
    if (code)
      return code;
    mf_files_give(f, s->freed_bytes);
    s->freed_bytes = 0;
  }
}

enum mf_code mf_files_sweep(struct mf_files *f, struct mf_fiber *self, mf_files_kept_fn *is_kept, void *user,
                            struct mf_err *err)
{
  struct sweep *s = mf_xcalloc(1, sizeof(*s));
  s->files = f;
  f->busy++;
  enum mf_code code = run_sweep(s, self, is_kept, user, err);
  f->busy--;
  if (!code && s->sys)
    code = files_fail(&f->dir, s->sys, "sweep the files", err);
  if (s->dir)
    closedir(s->dir);
  free(s);
  return code;
}

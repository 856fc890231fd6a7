/* mf_file_put: what is gathered is written by a worker into a file without its name; at the end it gets it.
 *
 * Counting is the loop's: bytes are taken before they are written, and given back when it fails or when that file is
 * there already. Between two calls nobody else has a put, so that a worker may use all of it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files-internal.h"
#include "base/fd.h"
#include "base/banned.h"

enum { GATHER_BYTES = 256 * 1024, COPY_BYTES = 128 * 1024, TRIES = 4, BUSY_TRIES = 400, BUSY_NS = 5000000 };

static const char doing[] = "store a file";

struct mf_file_put {
  struct mf_files *files;
  char task[FILES_TASK_N];
  uint64_t number;
  bool is_begun;               /* there may be something on the disk */
  int fd;                      /* -1: none */
  char staged[FILES_STAGED_N]; /* "": it has no name */
  struct mf_buf gathered;
  struct mf_sha256 *hash;
  uint64_t size_bytes; /* counted in files->used */
  enum mf_code code;   /* what failed stays so */
  struct mf_err err;
};

static enum mf_code fail_put(struct mf_file_put *p, int sys)
{
  struct stat st;
  if (sys == ENOENT && fstat(p->files->dir.fd, &st) == 0 && st.st_nlink > 0)
    p->code = mf_fail(&p->err, MF_E_GONE, 0, "the files of the task were removed meanwhile");
  else
    p->code = files_fail(&p->files->dir, sys, doing, &p->err);
  return p->code;
}

static enum mf_code report(const struct mf_file_put *p, struct mf_err *err)
{
  if (err && p->code)
    *err = p->err;
  return p->code;
}

/* ---- on a worker ---- */

/* Somebody may remove the folder (of a task that was deleted) between two steps; then it is made once more. */
static int stage(struct mf_file_put *p)
{
  const struct files_dir *d = &p->files->dir;
  int sys = ENOENT;
  p->is_begun = true;
  for (unsigned i = 0; i < TRIES && sys == ENOENT; i++) {
    mf_auto_close int folder = -1;
    sys = files_folder_make(d, p->task, &folder);
    if (!sys)
      sys = files_stage(d, folder, p->number, &p->fd, p->staged);
  }
  return sys;
}

static int write_all(int fd, const char *p, size_t n)
{
  while (n > 0) {
    ssize_t done = write(fd, p, n);
    if (done < 0 && errno == EINTR)
      continue;
    if (done <= 0)
      return done < 0 ? errno : EIO;
    p += done;
    n -= (size_t)done;
  }
  return 0;
}

static void write_piece(struct mf_file_put *p, struct mf_str piece)
{
  int sys = p->fd < 0 ? stage(p) : 0;
  if (!sys && piece.len) {
    mf_sha256_update(p->hash, piece.ptr, piece.len);
    sys = write_all(p->fd, piece.ptr, piece.len);
  }
  if (sys)
    fail_put(p, sys);
}

struct job {
  struct mf_file_put *put;
  struct mf_str data;
  int source; /* -1: none; else source_bytes of it */
  uint64_t source_bytes;
  char sha256[MF_SHA256_HEX_N];
  bool is_there; /* the same content is there already */
};

static void write_data(void *user)
{
  struct job *j = user;
  struct mf_file_put *p = j->put;
  write_piece(p, mf_buf_str(&p->gathered));
  mf_buf_truncate(&p->gathered, 0);
  if (!p->code)
    write_piece(p, j->data);
}

static void copy_source(struct job *j)
{
  struct mf_file_put *p = j->put;
  mf_auto_free char *buf = mf_xmalloc(COPY_BYTES);
  uint64_t at = 0;
  while (!p->code && at < j->source_bytes) {
    ssize_t n = pread(j->source, buf, (size_t)MF_MIN(j->source_bytes - at, (uint64_t)COPY_BYTES), (off_t)at);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      p->code = mf_fail(&p->err, MF_E_SYS, errno, "read a file to store");
    else if (n == 0)
      p->code = mf_fail(&p->err, MF_E_INPUT, 0, "a file to store is shorter than was said");
    else
      write_piece(p, (struct mf_str){ buf, (size_t)n });
    at += n > 0 ? (uint64_t)n : 0;
  }
}

/* Whether that file is there and as long as it should be. */
static int check_there(int folder, const char *sha256, uint64_t size_bytes)
{
  mf_auto_close int fd = -1;
  uint64_t bytes = 0;
  int sys = files_open_file(folder, sha256, &fd, &bytes);
  return !sys && bytes != size_bytes ? ENOTSUP : sys;
}

static int publish_once(struct job *j, int folder)
{
  struct mf_file_put *p = j->put;
  int sys = files_publish(folder, p->fd, p->staged, j->sha256);
  if (sys == EEXIST) {
    j->is_there = true;
    if (p->staged[0])
      unlinkat(folder, p->staged, 0);
    sys = check_there(folder, j->sha256, p->size_bytes);
  }
  return sys;
}

static int publish(struct job *j)
{
  const struct mf_file_put *p = j->put;
  int sys = ENOENT;
  for (unsigned i = 0; i < TRIES && sys == ENOENT; i++) {
    mf_auto_close int folder = -1;
    j->is_there = false;
    sys = files_folder_make(&p->files->dir, p->task, &folder);
    if (!sys)
      sys = publish_once(j, folder);
    if (p->staged[0])
      break; /* what was staged went with the folder */
  }
  return sys;
}

/* Leaves nothing of a file that has no name yet, nor a folder that is empty. */
static void discard(void *user)
{
  struct mf_file_put *p = user;
  const struct files_dir *d = &p->files->dir;
  mf_auto_close int folder = -1;
  mf_close_ptr(&p->fd); /* first: there may be no other descriptor */
  if (p->staged[0] && files_folder_open(d, p->task, &folder) == 0)
    unlinkat(folder, p->staged, 0);
  unlinkat(d->fd, p->task, AT_REMOVEDIR);
}

static void write_and_publish(void *user)
{
  struct job *j = user;
  struct mf_file_put *p = j->put;
  write_data(j);
  if (!p->code && j->source >= 0)
    copy_source(j);
  mf_sha256_finish(p->hash, j->sha256);
  p->hash = NULL;
  /* Some file systems say only now that the disk is full. */
  if (!p->code && p->staged[0] && close(mf_take_fd(&p->fd)) != 0)
    fail_put(p, errno);
  int sys = p->code ? 0 : publish(j);
  if (sys)
    fail_put(p, sys);
  if (p->code)
    discard(p);
  mf_close_ptr(&p->fd);
}

/* ---- on the loop ---- */

static void free_put(struct mf_file_put *p)
{
  char unused[MF_SHA256_HEX_N];
  if (p->hash)
    mf_sha256_finish(p->hash, unused);
  mf_close_ptr(&p->fd);
  mf_buf_done(&p->gathered);
  p->files->busy--;
  free(p);
}

static void give_back(struct mf_file_put *p, uint64_t n)
{
  mf_files_give(p->files, n);
  p->size_bytes -= n;
}

static enum mf_code take_bytes(struct mf_file_put *p, uint64_t n)
{
  p->code = mf_files_take(p->files, n, &p->err);
  if (!p->code)
    p->size_bytes += n;
  return p->code;
}

enum mf_code mf_file_put_new(struct mf_files *f, struct mf_fiber *self, struct mf_str task_id, struct mf_file_put **ret,
                             struct mf_err *err)
{
  char task[FILES_TASK_N];
  if (!files_task_name(task_id, task))
    return mf_fail(err, MF_E_INPUT, 0, "the id of a task has 1 to %d letters, digits, '_' and '-'", FILES_TASK_N - 1);
  struct mf_file_put *p = mf_xcalloc(1, sizeof(*p));
  memcpy(p->task, task, sizeof(task));
  p->files = f;
  p->number = f->put_n++;
  p->fd = -1;
  p->hash = mf_sha256_new();
  mf_buf_init(&p->gathered, GATHER_BYTES);
  f->busy++;
  *ret = p;
  return MF_OK;
}

enum mf_code mf_file_put_write(struct mf_file_put *p, struct mf_fiber *self, struct mf_str data, struct mf_err *err)
{
  if (p->code || take_bytes(p, data.len))
    return report(p, err);
  if (mf_buf_append_str(&p->gathered, data) == MF_OK)
    return MF_OK;
  struct job j = { .put = p, .data = data, .source = -1 };
  enum mf_code code = mf_pool_run(p->files->pool, self, write_data, &j, err);
  if (code) /* it never ran */
    give_back(p, data.len);
  return code ? code : report(p, err);
}

/* The last step of what may have been a long upload does not fail because others are busy. */
static enum mf_code run_patiently(struct mf_file_put *p, struct mf_fiber *self, struct job *j, struct mf_err *err)
{
  enum mf_code code;
  unsigned tries = 0;
  do
    code = mf_pool_run(p->files->pool, self, write_and_publish, j, err);
  while (code == MF_E_CAPACITY && ++tries < BUSY_TRIES && mf_fiber_sleep(self, BUSY_NS) == MF_OK);
  return code;
}

static enum mf_code finish(struct mf_file_put *p, struct mf_fiber *self, struct job *j, struct mf_file_ref *ret,
                           struct mf_err *err)
{
  enum mf_code code = p->code;
  if (code) {
    report(p, err);
    mf_file_put_abort(p, self);
    return code;
  }
  code = run_patiently(p, self, j, err);
  if (code) { /* it never ran */
    mf_file_put_abort(p, self);
    return code;
  }
  code = report(p, err);
  if (!code) {
    ret->size_bytes = p->size_bytes;
    memcpy(ret->sha256, j->sha256, sizeof(ret->sha256));
  }
  if (code || j->is_there)
    give_back(p, p->size_bytes);
  free_put(p);
  return code;
}

enum mf_code mf_file_put_finish(struct mf_file_put *p, struct mf_fiber *self, struct mf_file_ref *ret,
                                struct mf_err *err)
{
  struct job j = { .put = p, .source = -1 };
  return finish(p, self, &j, ret, err);
}

enum mf_code mf_file_put_fd(struct mf_files *f, struct mf_fiber *self, struct mf_str task_id, int fd,
                            uint64_t size_bytes, struct mf_file_ref *ret, struct mf_err *err)
{
  struct mf_file_put *p = NULL;
  enum mf_code code = mf_file_put_new(f, self, task_id, &p, err);
  if (code)
    return code;
  struct job j = { .put = p, .source = fd, .source_bytes = size_bytes };
  (void)take_bytes(p, size_bytes); /* finish says it */
  return finish(p, self, &j, ret, err);
}

void mf_file_put_abort(struct mf_file_put *p, struct mf_fiber *self)
{
  if (!p)
    return;
  /* Nothing may be left even when the pool has no room. */
  if (p->is_begun && mf_pool_run(p->files->pool, self, discard, p, NULL))
    discard(p);
  give_back(p, p->size_bytes);
  free_put(p);
}

/* Where the artifacts of a task are kept: small ones in the database, beside the task; others on the disk; without a
 * database all in memory. Thread: the loop's. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "tasks-internal.h"
#include "base/banned.h"

/* ---- keeping ---- */

static enum mf_code keep_in_memory(struct task *k, struct mf_artifact *a, struct mf_err *err)
{
  struct mf_tasks *t = k->tasks;
  if (t->memory_bytes + a->size_bytes > TASKS_MEMORY_BYTES_MAX)
    return mf_fail(err, MF_E_LIMIT, 0, "the memory for files is full");
  t->memory_bytes += a->size_bytes;
  k->held_bytes += a->size_bytes;
  k->kept = mf_xrealloc(k->kept, (k->kept_n + 1) * sizeof(*k->kept));
  k->kept[k->kept_n++] = (struct mf_artifact){
    .path = mf_xstrdup(a->path), .size_bytes = a->size_bytes, .mime_type = a->mime_type, .fd = mf_take_fd(&a->fd)
  };
  memcpy(k->kept[k->kept_n - 1].sha256, a->sha256, sizeof(a->sha256));
  return MF_OK;
}

static enum mf_code keep_on_disk(struct task *k, struct mf_fiber *self, struct mf_artifact *a, struct mf_err *err)
{
  struct mf_file_ref ref;
  unsigned tries = 0;
  enum mf_code code;
  do
    code = mf_file_put_fd(k->tasks->parts.files, self, mf_str_of(k->id), a->fd, a->size_bytes, &ref, err);
  while (tasks_again(code, self, &tries));
  if (!code)
    memcpy(a->sha256, ref.sha256, sizeof(a->sha256));
  return code;
}

void tasks_note_small(struct mf_tasks *t, uint64_t bytes)
{
  mf_files_note(t->parts.files, bytes);
  t->small_bytes += bytes;
}

static enum mf_code take_small(struct mf_tasks *t, uint64_t bytes, struct mf_err *err)
{
  enum mf_code code = mf_files_take(t->parts.files, bytes, err);
  if (!code)
    t->small_bytes += bytes;
  return code;
}

void tasks_give_small(struct mf_tasks *t, uint64_t bytes)
{
  bytes = MF_MIN(bytes, t->small_bytes);
  t->small_bytes -= bytes;
  mf_files_give(t->parts.files, bytes);
}

void task_settle_small(struct task *k, bool are_stored)
{
  for (unsigned i = 0; !are_stored && i < k->file_n; i++)
    tasks_give_small(k->tasks, k->files[i].data.len);
  task_files_free(k);
}

static const struct task_file *find_small(const struct task *k, const char *sha256)
{
  for (unsigned i = 0; i < k->file_n; i++)
    if (strcmp(k->files[i].sha256, sha256) == 0)
      return &k->files[i];
  return NULL;
}

static bool is_small(const struct task *k, const struct mf_artifact *a)
{
  uint64_t bytes = 0;
  for (unsigned i = 0; i < k->file_n; i++)
    bytes += k->files[i].data.len;
  return find_small(k, a->sha256) || a->size_bytes <= TASKS_SMALL_FILES_MAX - bytes;
}

/* From a descriptor in memory: this does not wait. */
static enum mf_code read_whole(int fd, size_t n, struct mf_buf *ret, struct mf_err *err)
{
  mf_auto_free char *bytes = mf_xmalloc(n + 1);
  for (size_t at = 0; at < n;) {
    ssize_t got = pread(fd, bytes + at, n - at, (off_t)at);
    if (got <= 0)
      return mf_fail(err, MF_E_SYS, got < 0 ? errno : EIO, "read an artifact");
    at += (size_t)got;
  }
  bytes[n] = 0;
  *ret = (struct mf_buf){ .ptr = bytes, .len = n, .cap = n + 1, .max = n };
  bytes = NULL;
  return MF_OK;
}

static enum mf_code keep_small(struct task *k, const struct mf_artifact *a, struct mf_err *err)
{
  struct task_file f;
  if (find_small(k, a->sha256))
    return MF_OK;
  enum mf_code code = take_small(k->tasks, a->size_bytes, err);
  if (code)
    return code;
  code = read_whole(a->fd, (size_t)a->size_bytes, &f.data, err);
  if (code) {
    tasks_give_small(k->tasks, a->size_bytes);
    return code;
  }
  memcpy(f.sha256, a->sha256, sizeof(f.sha256));
  k->files = mf_xrealloc(k->files, (k->file_n + 1) * sizeof(*k->files));
  k->files[k->file_n++] = f;
  return MF_OK;
}

static enum mf_code keep(struct task *k, struct mf_fiber *self, struct mf_artifact *a, struct mf_err *err)
{
  if (!k->tasks->parts.files)
    return keep_in_memory(k, a, err);
  return is_small(k, a) ? keep_small(k, a, err) : keep_on_disk(k, self, a, err);
}

/* ---- what cannot be kept ---- */

static void reject(struct mf_sandbox_result *r, unsigned i, const char *why)
{
  struct mf_artifact *a = &r->artifacts[i];
  r->rejected = mf_xrealloc(r->rejected, (r->rejected_n + 1) * sizeof(*r->rejected));
  r->rejected[r->rejected_n++] = (struct mf_rejected_artifact){ .path = a->path, .reason = mf_xstrdup(why) };
  mf_close_ptr(&a->fd);
  memmove(a, a + 1, (r->artifact_n - i - 1) * sizeof(*a));
  r->artifact_n--;
}

bool tasks_is_full(enum mf_code code, const struct mf_err *err)
{
  return code == MF_E_LIMIT || (code && (err->sys == ENOSPC || err->sys == EDQUOT));
}

static void fail_for_room(struct task *k, struct task_outcome *o, unsigned lost_n, const char *why)
{
  mf_log(MF_LOG_WARN, "task %s: %u artifacts could not be kept: %s", k->id, lost_n, why);
  o->state = MF_TASK_FAILED;
  o->reason = "disk";
}

static const char *const no_room = "the server's room for files is full";

void task_keep_artifacts(struct task *k, struct mf_fiber *self, struct task_outcome *o)
{
  struct mf_sandbox_result *r = o->result;
  unsigned lost_n = 0;
  struct mf_err err = { 0 };
  for (unsigned i = 0; r && i < r->artifact_n;) {
    struct mf_artifact *a = &r->artifacts[i];
    err.sys = 0;
    enum mf_code code = keep(k, self, a, &err);
    if (code) {
      reject(r, i, tasks_is_full(code, &err) ? no_room : "the server could not store it");
      lost_n++;
      continue;
    }
    k->artifact_bytes += a->size_bytes;
    i++;
  }
  if (lost_n > 0)
    fail_for_room(k, o, lost_n, err.msg);
}

void task_reject_small(struct task *k, struct task_outcome *o)
{
  struct mf_sandbox_result *r = o->result;
  unsigned lost_n = 0;
  for (unsigned i = 0; i < r->artifact_n;) {
    const struct mf_artifact *a = &r->artifacts[i];
    if (!find_small(k, a->sha256)) {
      i++;
      continue;
    }
    k->artifact_bytes -= a->size_bytes;
    reject(r, i, no_room);
    lost_n++;
  }
  task_settle_small(k, false);
  fail_for_room(k, o, lost_n, "the database's disk is full");
}

/* ---- opening ---- */

static enum mf_code open_kept(const struct task *k, const struct mf_task_artifact *a, int *ret_fd, struct mf_err *err)
{
  for (unsigned i = 0; i < k->kept_n; i++)
    if (strcmp(k->kept[i].path, a->path) == 0) {
      int fd = fcntl(k->kept[i].fd, F_DUPFD_CLOEXEC, 3);
      if (fd < 0)
        return mf_fail(err, MF_E_SYS, errno, "duplicate a descriptor");
      *ret_fd = fd;
      return MF_OK;
    }
  return mf_fail(err, MF_E_INTERNAL, 0, "an artifact of task %s is lost", k->id);
}

/* Bytes in memory behind a descriptor, as those on the disk are. */
static enum mf_code open_bytes(struct mf_str bytes, int *ret_fd, struct mf_err *err)
{
  mf_auto_close int fd = -1;
  enum mf_code code = mf_memfd("artifact", &fd, err);
  if (!code)
    code = mf_write_all(fd, bytes.ptr, bytes.len, err);
  if (!code)
    *ret_fd = mf_take_fd(&fd);
  return code;
}

static enum mf_code open_stored(const struct task *k, struct mf_fiber *self, const struct mf_task_artifact *a,
                                int *ret_fd, struct mf_err *err)
{
  mf_auto_buf struct mf_buf content = { 0 };
  enum mf_code code =
      mf_storage_task_file(k->tasks->parts.storage, self, mf_str_of(k->id), a->ref.sha256, &content, err);
  if (!code && content.len != a->ref.size_bytes)
    code = mf_fail(err, MF_E_UNAVAILABLE, 0, "an artifact of task %s is damaged: its size has changed", k->id);
  return code ? code : open_bytes(mf_buf_str(&content), ret_fd, err);
}

enum mf_code task_open_artifact(const struct task *k, struct mf_fiber *self, const struct mf_task_artifact *a,
                                int *ret_fd, struct mf_err *err)
{
  if (!k->tasks->parts.files)
    return open_kept(k, a, ret_fd, err);
  const struct task_file *small = find_small(k, a->ref.sha256);
  if (small)
    return open_bytes(mf_buf_str(&small->data), ret_fd, err);
  enum mf_code code = MF_E_NOT_FOUND;
  if (a->ref.size_bytes <= TASKS_SMALL_FILES_MAX)
    code = open_stored(k, self, a, ret_fd, err);
  if (code == MF_E_NOT_FOUND)
    code = mf_files_open_one(k->tasks->parts.files, self, mf_str_of(k->id), &a->ref, ret_fd, err);
  return code;
}

/* Files of tasks on disk, but for small ones (storage/tasks.h): DIR/TASK-ID/SHA256, folders 0700, files 0600. A task's
 * files live and die with its folder; two tasks never share one. A file has its final name only when it is whole.
 *
 * A folder is made by the first file of a task, before the task is in the database; what a stop leaves in between is
 * found by mf_files_sweep. Everything here blocks for the disk and therefore runs on the worker pool, called from a
 * fiber, but for what says otherwise. Thread: the loop's. Errors: MF_E_UNAVAILABLE (disk full, quota, no permission:
 * the message is for the log and says what to do; err->sys is ENOSPC, EDQUOT, …), MF_E_SYS, MF_E_CAPACITY (the pool's
 * queue is full). A task's id is 1 to 64 letters, digits, '_' and '-': another one is MF_E_INPUT for a put, and is not
 * there for all else. */
#ifndef MF_STORAGE_FILES_H
#define MF_STORAGE_FILES_H

#include "base/buf.h"
#include "base/hash.h"
#include "loop/work.h"

struct mf_files;
/* dir: made with mode 0700 when absent (its parent must exist), and given that mode when others could enter it.
 * MF_E_UNAVAILABLE: it has other things in it (which would be swept), or another process has it open. bytes_max: of all
 * files together; over it a write is MF_E_LIMIT. Counts what is there already. May block (start-up). */
MF_MUST_USE enum mf_code mf_files_open(struct mf_pool *pool, const char *dir, uint64_t bytes_max, struct mf_files **ret,
                                       struct mf_err *err);
void mf_files_close(struct mf_files *f);          /* when no call is under way; NULL is fine */
uint64_t mf_files_used(const struct mf_files *f); /* bytes, staged ones included; no waiting */
/* For files of tasks that lie elsewhere (storage/tasks.h) and count with these; no waiting. MF_E_LIMIT: the quota. What
 * is there already is counted without a limit. */
MF_MUST_USE enum mf_code mf_files_take(struct mf_files *f, uint64_t bytes, struct mf_err *err);
void mf_files_note(struct mf_files *f, uint64_t bytes);
void mf_files_give(struct mf_files *f, uint64_t bytes);

/* A file that is being written. Its bytes count against the quota at once. */
struct mf_file_ref {
  char sha256[MF_SHA256_HEX_N];
  uint64_t size_bytes;
};
struct mf_file_put;
MF_MUST_USE enum mf_code mf_file_put_new(struct mf_files *f, struct mf_fiber *self, struct mf_str task_id,
                                         struct mf_file_put **ret, struct mf_err *err);
/* MF_E_LIMIT: the quota. Small pieces are gathered: not each call goes to the pool. After MF_E_CAPACITY the same call
 * can be made again; any other failure is final, and that of finish, too. MF_E_GONE: the task's files were removed
 * meanwhile (mf_files_remove). */
MF_MUST_USE enum mf_code mf_file_put_write(struct mf_file_put *p, struct mf_fiber *self, struct mf_str data,
                                           struct mf_err *err);
/* Gives it its name. Consumes p, also on an error. The same content twice is one file. */
MF_MUST_USE enum mf_code mf_file_put_finish(struct mf_file_put *p, struct mf_fiber *self, struct mf_file_ref *ret,
                                            struct mf_err *err);
void mf_file_put_abort(struct mf_file_put *p, struct mf_fiber *self); /* leaves nothing; NULL is fine */
/* The same for content that lies in a descriptor (an artifact): size_bytes are copied from offset 0. MF_E_INPUT: it has
 * fewer. */
MF_MUST_USE enum mf_code mf_file_put_fd(struct mf_files *f, struct mf_fiber *self, struct mf_str task_id, int fd,
                                        uint64_t size_bytes, struct mf_file_ref *ret, struct mf_err *err);

#define MF_FILES_READ_MAX (64u << 20)
/* A whole file into *ret, which is initialised here (and only on success). MF_E_NOT_FOUND: there is no such file.
 * MF_E_UNAVAILABLE: its content is not what it was (damaged). MF_E_LIMIT: larger than MF_FILES_READ_MAX. */
MF_MUST_USE enum mf_code mf_files_read(struct mf_files *f, struct mf_fiber *self, struct mf_str task_id,
                                       const struct mf_file_ref *ref, struct mf_buf *ret, struct mf_err *err);
/* A descriptor for reading, the caller's; reads of it may block: mf_files_pread. Removing the file meanwhile does not
 * end it. MF_E_NOT_FOUND, MF_E_UNAVAILABLE as above, but only the size is looked at. */
MF_MUST_USE enum mf_code mf_files_open_one(struct mf_files *f, struct mf_fiber *self, struct mf_str task_id,
                                           const struct mf_file_ref *ref, int *ret_fd, struct mf_err *err);
/* *ret_n: 0 at the end of the file. */
MF_MUST_USE enum mf_code mf_files_pread(struct mf_files *f, struct mf_fiber *self, int fd, void *p, size_t n,
                                        uint64_t offset, size_t *ret_n, struct mf_err *err);
/* Removes a task's folder with everything in it; one that is not there is fine. Of files that are put meanwhile some
 * may stay, until a sweep. */
MF_MUST_USE enum mf_code mf_files_remove(struct mf_files *f, struct mf_fiber *self, struct mf_str task_id,
                                         struct mf_err *err);
/* Removes folders of tasks that is_kept denies, and whatever else does not belong here; never follows a link. is_kept
 * is called from the fiber and may wait; true keeps. A task being submitted meanwhile must be kept by it. Goes on where
 * something cannot be removed, and then returns the first error. */
typedef bool mf_files_kept_fn(void *user, struct mf_fiber *self, struct mf_str task_id);
MF_MUST_USE enum mf_code mf_files_sweep(struct mf_files *f, struct mf_fiber *self, mf_files_kept_fn *is_kept,
                                        void *user, struct mf_err *err);

#endif

/* Files of tasks on disk: DIR/TASK-ID/SHA256, folders 0700, files 0600. A task's files live and die with its folder;
 * two tasks never share one. A file has its final name only when it is whole.
 *
 * A folder is made by the first file of a task, before the task is in the database; what a stop leaves in between is
 * found by mf_files_sweep. Everything here blocks for the disk and therefore runs on the worker pool, called from a
 * fiber, but for what says otherwise. Thread: the loop's. Errors: MF_E_UNAVAILABLE (disk full, quota, no permission:
 * the message is for the log and names what to do), MF_E_SYS, MF_E_CAPACITY (the pool's queue is full). */
#ifndef MF_STORAGE_FILES_H
#define MF_STORAGE_FILES_H

#include "base/buf.h"
#include "base/hash.h"
#include "loop/work.h"

struct mf_files;
/* dir: made with mode 0700 when absent (its parent must exist). bytes_max: of all files together; over it a write is
 * MF_E_LIMIT. Counts what is there already. May block (start-up). */
MF_MUST_USE enum mf_code mf_files_open(struct mf_pool *pool, const char *dir, uint64_t bytes_max, struct mf_files **ret,
                                       struct mf_err *err);
void mf_files_close(struct mf_files *f);          /* when no call is under way; NULL is fine */
uint64_t mf_files_used(const struct mf_files *f); /* bytes, staged ones included; no waiting */

/* A file that is being written. Its bytes count against the quota at once. */
struct mf_file_ref {
  char sha256[MF_SHA256_HEX_N];
  uint64_t size_bytes;
};
struct mf_file_put;
MF_MUST_USE enum mf_code mf_file_put_new(struct mf_files *f, struct mf_fiber *self, struct mf_str task_id,
                                         struct mf_file_put **ret, struct mf_err *err);
/* MF_E_LIMIT: the quota. Small pieces are gathered: not each call goes to the pool. */
MF_MUST_USE enum mf_code mf_file_put_write(struct mf_file_put *p, struct mf_fiber *self, struct mf_str data,
                                           struct mf_err *err);
/* Gives it its name. Consumes p, also on an error. The same content twice is one file. */
MF_MUST_USE enum mf_code mf_file_put_finish(struct mf_file_put *p, struct mf_fiber *self, struct mf_file_ref *ret,
                                            struct mf_err *err);
void mf_file_put_abort(struct mf_file_put *p, struct mf_fiber *self); /* leaves nothing; NULL is fine */
/* The same for content that lies in a descriptor (an artifact): copied from offset 0. */
MF_MUST_USE enum mf_code mf_file_put_fd(struct mf_files *f, struct mf_fiber *self, struct mf_str task_id, int fd,
                                        uint64_t size_bytes, struct mf_file_ref *ret, struct mf_err *err);

/* MF_E_NOT_FOUND: there is no such file. MF_E_UNAVAILABLE: its size is not size_bytes (damaged). */
MF_MUST_USE enum mf_code mf_files_read(struct mf_files *f, struct mf_fiber *self, struct mf_str task_id,
                                       const struct mf_file_ref *ref, struct mf_buf *ret, struct mf_err *err);
/* A descriptor for reading, the caller's; reads of it may block: mf_files_pread. */
MF_MUST_USE enum mf_code mf_files_open_one(struct mf_files *f, struct mf_fiber *self, struct mf_str task_id,
                                           const struct mf_file_ref *ref, int *ret_fd, struct mf_err *err);
MF_MUST_USE enum mf_code mf_files_pread(struct mf_files *f, struct mf_fiber *self, int fd, void *p, size_t n,
                                        uint64_t offset, size_t *ret_n, struct mf_err *err);
/* Removes a task's folder with everything in it; one that is not there is fine. */
MF_MUST_USE enum mf_code mf_files_remove(struct mf_files *f, struct mf_fiber *self, struct mf_str task_id,
                                         struct mf_err *err);
/* Removes folders of tasks that is_kept denies, and whatever else does not belong here. is_kept is called from the
 * fiber and may wait; true keeps. A task being submitted meanwhile must be kept by it. */
MF_MUST_USE enum mf_code mf_files_sweep(struct mf_files *f, struct mf_fiber *self,
                                        bool (*is_kept)(void *user, struct mf_fiber *self, struct mf_str task_id),
                                        void *user, struct mf_err *err);

#endif

/* The folder with the files of tasks, on disk: DIR/TASK-ID/SHA256. Names, opening, staging, removing; no fibers and no
 * counting, that is files.c's and file-put.c's.
 *
 * No path is ever walked: each step is one name, checked before, below a descriptor, and no link is followed. Functions
 * block; thread: any, several at a time, but for open and close. */
#ifndef MF_STORAGE_FILES_DIR_H
#define MF_STORAGE_FILES_DIR_H

#include <dirent.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"

enum { FILES_TASK_N = 65 }; /* with the NUL */
/* Says that the folder is ours: a sweep removes what it does not know, and a wrong path must not cost a home folder. */
#define FILES_MARKER "mayfly-files"
#define FILES_STAGED ".put-" /* begins the names of files being written */

struct files_dir {
  int fd, marker_fd; /* the marker is locked while it is open */
  char *path;
  char mark[9];     /* of this process: in the names of the files that it stages */
  bool has_tmpfile; /* files without a name can be made, and be given one */
};
/* MF_E_UNAVAILABLE: it cannot be made or used, another process uses it, or somebody else's things are in it. */
MF_MUST_USE enum mf_code files_dir_open(const char *path, struct files_dir *ret, struct mf_err *err);
void files_dir_close(struct files_dir *d); /* fine on one that was not opened */

/* What went wrong with the disk and what to do about it: "store a file: …". Never names a file of a task. */
enum mf_code files_fail(const struct files_dir *d, int sys, const char *doing, struct mf_err *err);

/* ---- names ---- */

/* 1..64 of A-Z a-z 0-9 _ - ; false: it is none. */
MF_MUST_USE bool files_task_name(struct mf_str id, char ret[FILES_TASK_N]);
bool files_is_task(const char *name);
bool files_is_sha256(const char *name); /* 64 lower-case hex digits */
bool files_is_ours(const char *name);   /* what DIR has besides folders of tasks */

/* ---- a task's folder; errno or 0 ---- */

int files_folder_open(const struct files_dir *d, const char *task, int *ret_fd);
/* Makes it when it is not there. */
int files_folder_make(const struct files_dir *d, const char *task, int *ret_fd);
/* A regular file. ENOTSUP: it is something else. */
int files_open_file(int folder, const char *sha256, int *ret_fd, uint64_t *ret_bytes);

/* Files being written: without a name, or as ".put-MARK-NUMBER". ENOENT: the folder has been removed. */
enum { FILES_STAGED_N = 40 };
int files_stage(const struct files_dir *d, int folder, uint64_t number, int *ret_fd, char ret_name[FILES_STAGED_N]);
/* Its name for good. EEXIST: that file is there already. ENOENT: the folder has been removed. */
int files_publish(int folder, int fd, const char *staged, const char *sha256);

/* ---- all of it ---- */

DIR *files_dir_list(const struct files_dir *d); /* NULL with errno; closedir it */
/* The next name of a listing, or NULL: the end, or an error, which goes into *sys when that is 0. One thread at a time.
 */
const char *files_next_name(DIR *dir, int *sys);
/* Bytes of whole files, and of those that an earlier process was staging. */
MF_MUST_USE enum mf_code files_count(const struct files_dir *d, uint64_t *ret_bytes, struct mf_err *err);
/* Removes whatever has that name in DIR, with all that is in it; *ret_bytes: of what files_count counts. Goes on after
 * an error, and returns the first. */
int files_remove_entry(const struct files_dir *d, const char *name, uint64_t *ret_bytes);
/* Removes what does not belong in a task's folder; what this process is staging does. */
int files_tidy_folder(const struct files_dir *d, const char *task, uint64_t *ret_bytes);

#endif

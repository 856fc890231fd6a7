/* mf_files, for its two files: files.c, and file-put.c which writes. */
#ifndef MF_STORAGE_FILES_INTERNAL_H
#define MF_STORAGE_FILES_INTERNAL_H

#include "files-dir.h"
#include "storage/files.h"

struct mf_files {
  struct mf_pool *pool;
  struct files_dir dir; /* workers use it, too; it does not change */
  uint64_t bytes_max, used;
  uint64_t put_n; /* numbers what is staged */
  unsigned busy;  /* puts and calls under way */
};

#endif

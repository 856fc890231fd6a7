/* The exports of ../abi.h. */
#include "fd.h"
#include "guest.h"

#include <stdlib.h>
#include <string.h>

#define EXPORT(name) __attribute__((export_name(#name), used))

static const struct mfg_python *python;
static void *job_bytes;
static uint32_t job_room;

EXPORT(mayfly_prepare) void mayfly_prepare(void);
EXPORT(mayfly_reserve) void *mayfly_reserve(uint32_t n);
EXPORT(mayfly_run) int32_t mayfly_run(uint32_t n);
EXPORT(mayfly_files) const struct mf_guest_files *mayfly_files(void);

void mayfly_prepare(void)
{
  if (mfs_init() != 0 || mfg_files_of_module() != 0 || mfg_fd_init() != 0)
    mfg_die("files", NULL);
  mfs_fix();
  python = mfg_python_start();
}

void *mayfly_reserve(uint32_t n)
{
  if (job_bytes || n == 0)
    return NULL; /* one program in one life */
  job_bytes = malloc(n);
  job_room = job_bytes ? n : 0;
  return job_bytes;
}

int32_t mayfly_run(uint32_t n)
{
  struct mfg_job job;
  if (!python || !job_bytes || n > job_room)
    mfg_die("run", "not prepared, or more bytes than were reserved");
  mfg_host_begin();
  const char *wrong = mfg_job_read(job_bytes, n, &job);
  if (wrong)
    mfg_die("job", wrong);
  return mfg_script_run(python, &job);
}

const struct mf_guest_files *mayfly_files(void)
{
  return mfg_files_list();
}

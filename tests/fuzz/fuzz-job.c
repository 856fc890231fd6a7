/* Job memfds: any bytes are either refused or understood within their bounds. */
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "fuzz.h"
#include "sandbox/job.h"
#include "base/banned.h"

static void check_inside(const struct mf_job *job, struct mf_str s)
{
  const char *start = job->map;
  CHECK(s.len == 0 || (s.ptr >= start && s.len <= job->map_n && (size_t)(s.ptr - start) <= job->map_n - s.len));
  if (s.len > 0)
    CHECK(memchr(s.ptr, s.ptr[s.len - 1], s.len)); /* readable to its end */
}

/* What was understood is written and read again, and is the same. */
static void check_again(const struct mf_job *job)
{
  const struct mf_sandbox_spec spec = { .source = job->source,
                                        .source_name = job->name,
                                        .argv = job->argv,
                                        .argv_n = job->argv_n,
                                        .files = job->files,
                                        .file_n = job->file_n,
                                        .display_last_expression = job->display_last };
  mf_auto_close int fd = -1;
  struct mf_job again;
  CHECK(mf_job_write(&spec, &fd, NULL) == MF_OK);
  CHECK(mf_job_map(fd, &again, NULL) == MF_OK);
  CHECK(mf_str_eq(again.source, job->source));
  CHECK(mf_str_eq(again.name, job->name.len > 0 ? job->name : MF_STR("main.py")));
  CHECK(again.argv_n == job->argv_n && again.file_n == job->file_n && again.display_last == job->display_last);
  for (unsigned i = 0; i < job->argv_n; i++)
    CHECK(mf_str_eq(again.argv[i], job->argv[i]));
  for (unsigned i = 0; i < job->file_n; i++)
    CHECK(mf_str_eq(again.files[i].name, job->files[i].name) && mf_str_eq(again.files[i].data, job->files[i].data));
  mf_job_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  mf_auto_close int fd = -1;
  CHECK(mf_memfd("fuzz", &fd, NULL) == MF_OK && mf_write_all(fd, data, n, NULL) == MF_OK);
  struct mf_job job;
  if (mf_job_map(fd, &job, NULL) != MF_OK)
    return 0;
  check_inside(&job, job.source);
  check_inside(&job, job.name);
  for (unsigned i = 0; i < job.argv_n; i++)
    check_inside(&job, job.argv[i]);
  for (unsigned i = 0; i < job.file_n; i++) {
    check_inside(&job, job.files[i].name);
    check_inside(&job, job.files[i].data);
  }
  check_again(&job);
  mf_job_done(&job);
  return 0;
}

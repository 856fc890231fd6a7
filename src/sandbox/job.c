/* Writing and reading back of job memfds. */
#include "sandbox/job.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/frames.h"
#include "base/banned.h"

#define JOB_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

/* Gathers small pieces into one writev; a piece is borrowed until the flush. */
struct gather {
  int fd;
  unsigned n;
  struct iovec iov[64];
};

static enum mf_code gather_flush(struct gather *g, struct mf_err *err)
{
  struct iovec *iov = g->iov;
  unsigned n = g->n;
  g->n = 0;
  while (n > 0) {
    ssize_t done = writev(g->fd, iov, (int)n);
    if (done < 0 && errno == EINTR)
      continue;
    if (done < 0)
      return mf_fail(err, MF_E_SYS, errno, "write the job");
    size_t left = (size_t)done;
    while (n > 0 && left >= iov->iov_len) {
      left -= iov->iov_len;
      iov++;
      n--;
    }
    if (n > 0) {
      iov->iov_base = (char *)iov->iov_base + left;
      iov->iov_len -= left;
    }
  }
  return MF_OK;
}

static enum mf_code gather_add(struct gather *g, const void *p, size_t n, struct mf_err *err)
{
  if (n == 0)
    return MF_OK;
  g->iov[g->n++] = (struct iovec){ (void *)(uintptr_t)p, n };
  return g->n == MF_ARRAY_N(g->iov) ? gather_flush(g, err) : MF_OK;
}

static enum mf_code gather_str(struct gather *g, struct mf_str s, struct mf_err *err)
{
  return gather_add(g, s.ptr, s.len, err);
}

static enum mf_code write_parts(struct gather *g, const struct mf_sandbox_spec *spec,
                                const struct mf_job_header *header, const struct mf_job_record *records,
                                struct mf_err *err)
{
  struct mf_str name = spec->source_name.len > 0 ? spec->source_name : MF_STR("main.py");
  enum mf_code code = gather_add(g, header, sizeof(*header), err);
  if (code == MF_OK)
    code = gather_str(g, spec->source, err);
  if (code == MF_OK)
    code = gather_str(g, name, err);
  for (unsigned i = 0; code == MF_OK && i < spec->argv_n; i++) {
    code = gather_add(g, records++, sizeof(*records), err);
    if (code == MF_OK)
      code = gather_str(g, spec->argv[i], err);
  }
  for (unsigned i = 0; code == MF_OK && i < spec->file_n; i++) {
    code = gather_add(g, records++, sizeof(*records), err);
    if (code == MF_OK)
      code = gather_str(g, spec->files[i].name, err);
    if (code == MF_OK)
      code = gather_str(g, spec->files[i].data, err);
  }
  return code == MF_OK ? gather_flush(g, err) : code;
}

enum mf_code mf_job_write(const struct mf_sandbox_spec *spec, int *ret_fd, struct mf_err *err)
{
  struct mf_job_header header = {
    .magic = MF_JOB_MAGIC,
    .version = MF_FRAMES_VERSION,
    .source_n = (uint32_t)spec->source.len,
    .name_n = (uint32_t)(spec->source_name.len > 0 ? spec->source_name.len : MF_STR("main.py").len),
    .argv_n = spec->argv_n,
    .file_n = spec->file_n,
    .flags = spec->display_last_expression ? MF_JOB_DISPLAY_LAST : 0,
  };
  size_t record_n = (size_t)spec->argv_n + spec->file_n;
  mf_auto_free struct mf_job_record *records = mf_xcalloc(record_n + 1, sizeof(*records));
  for (unsigned i = 0; i < spec->argv_n; i++)
    records[i] = (struct mf_job_record){ .name_n = (uint32_t)spec->argv[i].len };
  for (unsigned i = 0; i < spec->file_n; i++)
    records[spec->argv_n + i] =
        (struct mf_job_record){ .name_n = (uint32_t)spec->files[i].name.len, .data_n = spec->files[i].data.len };

  mf_auto_close int fd = -1;
  struct mf_err why = { 0 };
  enum mf_code code = mf_memfd("mayfly-job", &fd, &why);
  if (code != MF_OK) {
    const char *words = mf_fd_shortage(why.sys);
    return words ? mf_fail(err, MF_E_UNAVAILABLE, 0, "%s", words) : mf_fail(err, code, 0, "%s", why.msg);
  }
  struct gather g = { .fd = fd };
  code = write_parts(&g, spec, &header, records, err);
  if (code != MF_OK)
    return code;
  if (fcntl(fd, F_ADD_SEALS, JOB_SEALS) != 0)
    return mf_fail(err, MF_E_SYS, errno, "seal the job");
  if (lseek(fd, 0, SEEK_SET) != 0)
    return mf_fail(err, MF_E_SYS, errno, "rewind the job");
  *ret_fd = mf_take_fd(&fd);
  return MF_OK;
}

/* Takes n bytes off *rest; false when there are not so many. */
static bool take(struct mf_str *rest, uint64_t n, struct mf_str *ret)
{
  if (n > rest->len)
    return false;
  *ret = (struct mf_str){ rest->ptr, (size_t)n };
  rest->ptr += n;
  rest->len -= (size_t)n;
  return true;
}

static bool take_record(struct mf_str *rest, struct mf_str *ret_name, struct mf_str *ret_data)
{
  struct mf_str raw;
  struct mf_job_record record;
  if (!take(rest, sizeof(record), &raw))
    return false;
  memcpy(&record, raw.ptr, sizeof(record)); /* packed: may be unaligned */
  return take(rest, record.name_n, ret_name) && take(rest, record.data_n, ret_data);
}

static bool parse(struct mf_job *job)
{
  struct mf_str rest = { job->map, job->map_n };
  struct mf_str raw;
  struct mf_job_header h;
  if (!take(&rest, sizeof(h), &raw))
    return false;
  memcpy(&h, raw.ptr, sizeof(h));
  if (h.magic != MF_JOB_MAGIC || h.version != MF_FRAMES_VERSION || h.argv_n > MF_ARGV_COUNT_MAX ||
      h.file_n > MF_INPUT_COUNT_MAX || (h.flags & ~MF_JOB_DISPLAY_LAST) != 0)
    return false;
  job->display_last = (h.flags & MF_JOB_DISPLAY_LAST) != 0;
  if (!take(&rest, h.source_n, &job->source) || !take(&rest, h.name_n, &job->name))
    return false;
  job->argv = mf_xcalloc(h.argv_n + 1, sizeof(*job->argv));
  job->files = mf_xcalloc(h.file_n + 1, sizeof(*job->files));
  for (; job->argv_n < h.argv_n; job->argv_n++) {
    struct mf_str none;
    if (!take_record(&rest, &job->argv[job->argv_n], &none) || none.len != 0)
      return false;
  }
  for (; job->file_n < h.file_n; job->file_n++)
    if (!take_record(&rest, &job->files[job->file_n].name, &job->files[job->file_n].data))
      return false;
  return rest.len == 0;
}

enum mf_code mf_job_map(int fd, struct mf_job *ret, struct mf_err *err)
{
  struct stat st;
  if (fstat(fd, &st) != 0)
    return mf_fail(err, MF_E_SYS, errno, "look at the job");
  if (st.st_size < (off_t)sizeof(struct mf_job_header) || st.st_size > INT_MAX)
    return mf_fail(err, MF_E_INPUT, 0, "not a job");
  struct mf_job job = { .map_n = (size_t)st.st_size };
  job.map = mmap(NULL, job.map_n, PROT_READ, MAP_PRIVATE, fd, 0);
  if (job.map == MAP_FAILED)
    return mf_fail(err, MF_E_SYS, errno, "map the job");
  if (!parse(&job)) {
    mf_job_done(&job);
    return mf_fail(err, MF_E_INPUT, 0, "not a job");
  }
  *ret = job;
  return MF_OK;
}

void mf_job_done(struct mf_job *job)
{
  if (job->map)
    munmap(job->map, job->map_n);
  free(job->argv);
  free(job->files);
  *job = (struct mf_job){ 0 };
}

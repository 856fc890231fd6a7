/* The job as it reaches a guest: limits in the frame, everything else in a memfd that the provider wrote (frames.h).
 * The guest writes its own files, as itself and within its own limits. */
#include "zygote-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

void zyg_job_of(struct zyg_job *job, const char *source)
{
  *job = (struct zyg_job){ .source = source, .source_n = strlen(source), .argv = source, .end = source };
  snprintf(job->path, sizeof job->path, "/mnt/task/main.py");
}

static int receive(struct mf_child_job *frame, int *ret_fd)
{
  unsigned fd_n;
  ssize_t n;
  do {
    n = zyg_receive_fds(ZYG_CONTROL_FD, frame, sizeof *frame, ret_fd, 1, &fd_n);
  } while (n < 0 && errno == EINTR);
  if (n == 0)
    _exit(0); /* never needed: the pool was closed */
  return n == sizeof *frame && frame->type == MF_CHILD_JOB && fd_n == 1 ? 0 : -EPROTO;
}

static int write_file(const char *path, const char *data, uint64_t n)
{
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (fd < 0)
    return -errno;
  while (n > 0) {
    ssize_t k = write(fd, data, n > 1u << 30 ? 1u << 30 : (size_t)n);
    if (k < 0) {
      int error = errno;
      close(fd);
      return -error;
    }
    data += k;
    n -= (uint64_t)k;
  }
  return close(fd) == 0 ? 0 : -errno;
}

/* /mnt/data/<name>, with the folders on the way. The name was checked by the provider. */
static int write_input(const char *name, size_t name_n, const char *data, uint64_t n)
{
  char path[1100];
  int len = snprintf(path, sizeof path, "/mnt/data/%.*s", (int)name_n, name);
  if (len < 0 || (size_t)len >= sizeof path)
    return -ENAMETOOLONG;
  for (char *p = path + sizeof "/mnt/data"; (p = strchr(p, '/')) != NULL; p++) {
    *p = 0;
    if (mkdir(path, 0755) != 0 && errno != EEXIST)
      return -errno;
    *p = '/';
  }
  return write_file(path, data, n);
}

static bool take(const char **at, const char *end, uint64_t n, const char **ret)
{
  if ((uint64_t)(end - *at) < n)
    return false;
  *ret = *at;
  *at += n;
  return true;
}

static bool take_record(const char **at, const char *end, struct mf_job_record *rec, const char **name,
                        const char **data)
{
  const char *raw;
  if (!take(at, end, sizeof *rec, &raw))
    return false;
  memcpy(rec, raw, sizeof *rec);
  return take(at, end, rec->name_n, name) && take(at, end, rec->data_n, data);
}

void zyg_job_arg(const char **at, const char **ret, size_t *ret_n)
{
  struct mf_job_record rec;
  memcpy(&rec, *at, sizeof rec);
  *ret = *at + sizeof rec;
  *ret_n = rec.name_n;
  *at += sizeof rec + rec.name_n + rec.data_n;
}

static int unpack(struct zyg_job *job, const char *at)
{
  struct mf_job_header head;
  const char *raw, *name, *data;
  struct mf_job_record rec;
  if (!take(&at, job->end, sizeof head, &raw))
    return -EPROTO;
  memcpy(&head, raw, sizeof head);
  if (head.magic != MF_JOB_MAGIC || head.version != MF_FRAMES_VERSION || (head.flags & ~MF_JOB_DISPLAY_LAST) != 0 ||
      !take(&at, job->end, head.source_n, &job->source) || !take(&at, job->end, head.name_n, &job->name))
    return -EPROTO;
  job->source_n = head.source_n;
  job->name_n = head.name_n;
  job->display_last = (head.flags & MF_JOB_DISPLAY_LAST) != 0;
  job->argv = at;
  job->argv_n = head.argv_n;
  for (uint32_t i = 0; i < head.argv_n; i++) {
    if (!take_record(&at, job->end, &rec, &name, &data))
      return -EPROTO;
  }
  for (uint32_t i = 0; i < head.file_n; i++) {
    if (!take_record(&at, job->end, &rec, &name, &data))
      return -EPROTO;
    int error = write_input(name, rec.name_n, data, rec.data_n);
    if (error != 0)
      return error;
  }
  return 0;
}

int zyg_job_receive(struct zyg_job *job, const char **ret_step)
{
  int fd = -1;
  memset(job, 0, sizeof *job);
  *ret_step = "receive job";
  int error = receive(&job->limits, &fd);
  if (error != 0)
    return error;
  struct stat st;
  if (fstat(fd, &st) != 0 || st.st_size <= 0)
    return -EPROTO;
  void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  if (map == MAP_FAILED)
    return -errno;
  job->end = (const char *)map + st.st_size;
  *ret_step = "write inputs";
  error = unpack(job, map);
  if (error != 0)
    return error;
  /* the last part of the name, so that it lies in /mnt/task */
  const char *name = job->name;
  size_t n = job->name_n;
  for (size_t i = job->name_n; i > 0; i--) {
    if (job->name[i - 1] == '/') {
      name = job->name + i;
      n = job->name_n - i;
      break;
    }
  }
  if (n == 0 || n > 255) {
    name = "main.py";
    n = 7;
  }
  snprintf(job->path, sizeof job->path, "/mnt/task/%.*s", (int)n, name);
  *ret_step = "write source";
  return write_file(job->path, job->source, job->source_n);
}

/* What is mapped as data now, in bytes; 0 when /proc is not there. */
static uint64_t data_mapped(void)
{
  char text[128];
  int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return 0;
  ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  if (n <= 0)
    return 0;
  text[n] = 0;
  char *at = text;
  unsigned long pages = 0;
  for (int i = 0; i < 6; i++)
    pages = strtoul(at, &at, 10);
  return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static int lower(int what, uint64_t soft, uint64_t hard)
{
  struct rlimit r;
  if (getrlimit((unsigned)what, &r) != 0)
    return -errno;
  r.rlim_max = hard < r.rlim_max ? hard : r.rlim_max;
  r.rlim_cur = soft < r.rlim_max ? soft : r.rlim_max;
  return setrlimit((unsigned)what, &r) == 0 ? 0 : -errno;
}

int zyg_job_limits(const struct zyg_job *job)
{
  const struct mf_child_job *l = &job->limits;
  int error = l->pids ? lower(RLIMIT_NPROC, l->pids, l->pids) : 0;
  if (error == 0 && l->cpu_ms) {
    uint64_t s = (l->cpu_ms + 999) / 1000;
    error = lower(RLIMIT_CPU, s, s + 1); /* SIGXCPU first, SIGKILL a second later */
  }
  /* A large allocation fails as MemoryError, which tells the program's author more than a kill does. The slack covers
   * thread stacks and allocator rounding; the cgroup or the watchdog holds the real line. */
  uint64_t mapped = error == 0 && l->use_rlimit_data ? data_mapped() : 0;
  if (mapped) {
    uint64_t most = mapped + l->memory_bytes + (64ull << 20);
    error = lower(RLIMIT_DATA, most, most);
  }
  return error;
}

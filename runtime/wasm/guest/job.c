/* The bytes of a job (sandbox/frames.h): each length is checked against what is there. They lie where they were
 * written for as long as the guest lives, and the files are borrowed from them. */
#include "guest.h"
#include "memfs.h"
#include "sandbox/frames.h"

#include <stdio.h>
#include <string.h>

/* Kept for the end, when what has changed is asked. */
static struct {
  const char *at;
  uint32_t n;
} inputs;

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

void mfg_job_arg(const char **at, const char **ret, size_t *ret_n)
{
  struct mf_job_record rec;
  memcpy(&rec, *at, sizeof rec);
  *ret = *at + sizeof rec;
  *ret_n = rec.name_n;
  *at += sizeof rec + rec.name_n + (size_t)rec.data_n;
}

/* Below MFG_DATA whatever the name is: the provider checked it, this only keeps the promise. */
static const char *put_input(const char *name, size_t n, const char *data, uint64_t data_n)
{
  char path[1100];
  struct mfs_node *node;
  if (n == 0 || n > sizeof path - sizeof MFG_DATA - 1 || memchr(name, 0, n) || data_n > MFS_FILE_MAX)
    return "an input's name or size";
  int len = snprintf(path, sizeof path, MFG_DATA "/%.*s", (int)n, name);
  if (strstr(path, "/../") || (len >= 3 && strcmp(path + len - 3, "/..") == 0))
    return "an input's name";
  if (mfs_put(path, (size_t)len, data, (uint32_t)data_n, &node) != 0)
    return "an input could not be made";
  return NULL;
}

/* MFG_TASK and the last part of the name. */
static const char *put_source(struct mfg_job *job, const char *name, size_t n)
{
  for (size_t i = n; i > 0; i--) {
    if (name[i - 1] == '/') {
      name += i;
      n -= i;
      break;
    }
  }
  bool is_odd = n == 0 || n > MFS_NAME_MAX || memchr(name, 0, n) || (n <= 2 && memcmp(name, "..", n) == 0);
  struct mfs_node *node;
  snprintf(job->path, sizeof job->path, MFG_TASK "/%.*s", is_odd ? 7 : (int)n, is_odd ? "main.py" : name);
  if (job->source_n > MFS_FILE_MAX ||
      mfs_put(job->path, strlen(job->path), job->source, (uint32_t)job->source_n, &node) != 0)
    return "the source could not be made";
  return NULL;
}

const char *mfg_job_read(const void *bytes, size_t n, struct mfg_job *ret)
{
  const char *at = bytes, *raw, *source_name, *name, *data, *wrong = NULL;
  struct mf_job_header head;
  struct mf_job_record rec;
  *ret = (struct mfg_job){ .end = at + n };
  if (!take(&at, ret->end, sizeof head, &raw))
    return "too short";
  memcpy(&head, raw, sizeof head);
  if (head.magic != MF_JOB_MAGIC || head.version != MF_FRAMES_VERSION || (head.flags & ~MF_JOB_DISPLAY_LAST) != 0)
    return "of another version";
  if (!take(&at, ret->end, head.source_n, &ret->source) || !take(&at, ret->end, head.name_n, &source_name))
    return "a length";
  ret->source_n = head.source_n;
  ret->display_last = (head.flags & MF_JOB_DISPLAY_LAST) != 0;
  ret->argv = at;
  ret->argv_n = head.argv_n;
  for (uint32_t i = 0; i < head.argv_n; i++) {
    if (!take_record(&at, ret->end, &rec, &name, &data))
      return "an argument's length";
  }
  inputs.at = at;
  wrong = put_source(ret, source_name, head.name_n);
  for (uint32_t i = 0; !wrong && i < head.file_n; i++) {
    if (!take_record(&at, ret->end, &rec, &name, &data))
      return "an input's length";
    wrong = put_input(name, rec.name_n, data, rec.data_n);
    inputs.n += !wrong;
  }
  return wrong;
}

bool mfg_job_is_input(const char *name, size_t name_n, const void *data, size_t data_n)
{
  const char *at = inputs.at;
  for (uint32_t i = 0; i < inputs.n; i++) {
    struct mf_job_record rec;
    memcpy(&rec, at, sizeof rec);
    at += sizeof rec;
    const char *given = at + rec.name_n;
    if (rec.name_n == name_n && rec.data_n == data_n && memcmp(at, name, name_n) == 0 &&
        (given == data || memcmp(given, data, data_n) == 0))
      return true;
    at = given + rec.data_n;
  }
  return false;
}

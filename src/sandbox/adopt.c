/* Artifacts that a sandbox without a folder hands over, each in a descriptor. Thread: any. Neighbours: content.c
 * copies, manifest.c keeps the lists.
 *
 * Names, sizes and descriptors come from a process that hostile code may own. Only a sealed memfd is read: its bytes
 * stay what they are and reading it never waits for anybody. What is kept is a copy of ours, so that no page of it is
 * charged to the sandbox and its offset is nobody else's. */
#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/time.h"
#include "content.h"
#include "manifest.h"

#include "base/banned.h"

#define TIME_MAX_S 5u
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

struct adopter {
  struct manifest manifest;
  char *chunk;
  uint64_t deadline_ns;
  const atomic_bool *stop;
  bool is_spent, is_stopped;
};

static bool is_out_of_time(struct adopter *a)
{
  if (a->stop && atomic_load(a->stop))
    a->is_stopped = a->is_spent = true;
  if (!a->is_spent && mf_now_ns() >= a->deadline_ns)
    a->is_spent = true;
  return a->is_spent;
}

/* The size of a sealed memfd; false for any other descriptor. */
static bool sealed_size(int fd, uint64_t *ret)
{
  struct stat st;
  int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size < 0)
    return false;
  *ret = (uint64_t)st.st_size;
  return true;
}

/* Whether `folder` is the name itself or a folder on its way. */
static bool is_on_way(struct mf_str folder, struct mf_str name)
{
  return name.len >= folder.len && memcmp(name.ptr, folder.ptr, folder.len) == 0 &&
         (name.len == folder.len || name.ptr[folder.len] == '/');
}

/* Two artifacts of one name, or one that is the folder of another, cannot both be stored. */
static bool is_taken(const struct manifest *m, struct mf_str path)
{
  for (unsigned i = 0; i < m->result->artifact_n; i++) {
    struct mf_str other = mf_str_of(m->result->artifacts[i].path);
    if (is_on_way(other, path) || is_on_way(path, other))
      return true;
  }
  return false;
}

static void reject_errno(struct manifest *m, struct mf_str name, int sys)
{
  char text[80];
  manifest_reject(m, name, "cannot be read (%s)", strerror_r(sys, text, sizeof(text)));
}

static void copy_file(struct adopter *a, const struct mf_offered_file *f, uint64_t room)
{
  struct manifest *m = &a->manifest;
  struct mf_artifact artifact = { .fd = -1 };
  switch (content_copy(f->fd, f->name, room, a->deadline_ns, a->chunk, &artifact)) {
  case CONTENT_OK:
    manifest_keep(m, f->name, &artifact);
    return;
  case CONTENT_TOO_BIG:
    manifest_reject_too_big(m, f->name);
    return;
  case CONTENT_TIMEOUT:
    a->is_spent = true;
    return;
  case CONTENT_DIFFERENT:
    manifest_reject(m, f->name, "cannot be read");
    return;
  case CONTENT_FAILED:
    reject_errno(m, f->name, errno);
    return;
  }
}

static void adopt_sealed(struct adopter *a, const struct mf_offered_file *f, uint64_t size)
{
  struct manifest *m = &a->manifest;
  const struct mf_sandbox_file *input = manifest_input(m, f->name);
  if (input && input->data.len == size && content_compare(f->fd, input->data, a->deadline_ns, a->chunk) == CONTENT_OK)
    return; /* left as it was */
  uint64_t room = m->limits->artifact_bytes - m->bytes;
  if (manifest_is_full(m))
    manifest_reject_full(m, f->name);
  else if (size > room)
    manifest_reject_too_big(m, f->name);
  else
    copy_file(a, f, room);
}

static void adopt_one(struct adopter *a, const struct mf_offered_file *f)
{
  struct manifest *m = &a->manifest;
  const char *fault = manifest_path_fault(f->name);
  uint64_t size;
  if (f->name.len == 0)
    fault = "it has no name";
  if (fault)
    manifest_reject(m, f->name, "%s", fault);
  else if (is_taken(m, f->name))
    manifest_reject(m, f->name, "another file has that name");
  else if (f->fd == MF_OFFERED_LOST)
    reject_errno(m, f->name, EMFILE);
  else if (f->fd < 0 && f->size_bytes > m->limits->artifact_bytes - m->bytes)
    manifest_reject_too_big(m, f->name);
  else if (f->fd < 0)
    manifest_reject_full(m, f->name);
  else if (!sealed_size(f->fd, &size))
    manifest_reject(m, f->name, "its content is not sealed");
  else
    adopt_sealed(a, f, size);
}

void mf_artifacts_adopt(const struct mf_offered_file *files, unsigned n, uint64_t left_n, uint64_t other_n,
                        const struct mf_sandbox_limits *limits, const struct mf_sandbox_file *inputs, unsigned input_n,
                        const atomic_bool *stop, struct mf_sandbox_result *r)
{
  struct adopter a = { .stop = stop, .deadline_ns = mf_now_ns() + TIME_MAX_S * MF_NS_PER_S };
  mf_auto_free char *chunk = mf_xmalloc(CONTENT_CHUNK_N);
  a.chunk = chunk;
  manifest_init(&a.manifest, limits, inputs, input_n, r);
  for (unsigned i = 0; i < n && !is_out_of_time(&a); i++)
    adopt_one(&a, &files[i]);
  const char *notes[2];
  unsigned note_n = 0;
  if (a.is_stopped)
    notes[note_n++] = "collecting was stopped: the rest was not looked at";
  else if (a.is_spent)
    notes[note_n++] = "collecting took too long: the rest was not looked at";
  if (other_n > 0)
    notes[note_n++] = "something that is neither a file nor a folder (a symbolic link) was left out";
  manifest_finish(&a.manifest, notes, note_n, left_n);
}

/* The artifacts of a run, collected from outside after every process of it is dead.
 *
 * Whatever lies in the folder was put there by a hostile program: the walk is bounded in depth, entries, bytes and
 * time, the list of what was refused is bounded too, and one broken entry never spoils the rest. Within a folder files
 * come before subfolders, each in the order of their names, so that a full budget leaves out the same files each time.
 * Thread: any. Neighbours: beneath.c opens, content.c copies, manifest.c
 * keeps the lists. */
#include "sandbox/sandbox.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/time.h"
#include "beneath.h"
#include "content.h"
#include "manifest.h"

#include "base/banned.h"

#define DEPTH_MAX 16u /* parts of a path, as mf_name_check */
#define ENTRIES_MAX 65536u
#define TIME_MAX_S 5u
#define PATH_ROOM 1600u /* a valid path of 1023 bytes, '/', one more name of 255, and air */

struct folder {
  DIR *dir;
  char **names; /* what is left to visit, sorted */
  size_t name_n, next;
  size_t path_len; /* of its own path, without a '/' at the end */
};

struct collector {
  struct manifest manifest;
  struct beneath beneath;
  struct folder folders[DEPTH_MAX];
  unsigned folder_n;
  char path[PATH_ROOM]; /* of the entry at hand */
  size_t path_len;
  char *chunk;
  uint64_t deadline_ns;
  const atomic_bool *stop; /* NULL: nobody will */
  unsigned visited;
  bool entries_spent, time_spent, stopped;
};

/* ---- what is refused ---- */

static struct mf_str path_of(const struct collector *c)
{
  return (struct mf_str){ c->path, c->path_len };
}

static void reject_errno(struct collector *c, int sys)
{
  char text[80];
  if (sys == ESTALE || sys == ELOOP)
    manifest_reject(&c->manifest, path_of(c), "changed while it was collected");
  else if (sys == EXDEV)
    manifest_reject(&c->manifest, path_of(c), "on another file system");
  else
    manifest_reject(&c->manifest, path_of(c), "cannot be read (%s)", strerror_r(sys, text, sizeof(text)));
}

/* Says at the end what a bound left unseen. */
static void finish(struct collector *c)
{
  char entries[96], seconds[96];
  const char *notes[2];
  unsigned n = 0;
  snprintf(entries, sizeof(entries), "more than %u entries: the rest was not looked at", ENTRIES_MAX);
  snprintf(seconds, sizeof(seconds), "collecting took more than %u seconds: the rest was not looked at", TIME_MAX_S);
  if (c->entries_spent)
    notes[n++] = entries;
  if (c->stopped)
    notes[n++] = "collecting was stopped: the rest was not looked at";
  else if (c->time_spent)
    notes[n++] = seconds;
  manifest_finish(&c->manifest, notes, n, 0);
}

/* ---- paths ---- */

/* Makes the entry `name` of a folder whose path has folder_len bytes the one at hand. */
static void set_path(struct collector *c, size_t folder_len, const char *name)
{
  size_t at = folder_len, n = strlen(name);
  if (at > 0)
    c->path[at++] = '/';
  assert(at + n < sizeof(c->path)); /* folders have valid paths, and NAME_MAX is 255 */
  memcpy(c->path + at, name, n + 1);
  c->path_len = at + n;
}

/* ---- one regular file ---- */

/* True when the file is an input that the program left as it was. */
static bool is_unchanged_input(struct collector *c, int fd, const struct mf_sandbox_file *input)
{
  switch (content_compare(fd, input->data, c->deadline_ns, c->chunk)) {
  case CONTENT_OK:
    return true;
  case CONTENT_TIMEOUT:
    c->time_spent = true;
    return true;
  case CONTENT_DIFFERENT:
  case CONTENT_TOO_BIG:
  case CONTENT_FAILED: /* the copy meets the same failure and tells of it */
    return false;
  }
  return false;
}

static void collect_file(struct collector *c, int folder_fd, const char *name, const struct stat *seen)
{
  size_t name_n = strlen(name);
  if (name_n > 4 && strcasecmp(name + name_n - 4, ".pyc") == 0)
    return;
  const struct mf_sandbox_file *input = manifest_input(&c->manifest, path_of(c));
  bool maybe_input = input != NULL && seen->st_size >= 0 && (uint64_t)seen->st_size == input->data.len;
  uint64_t room = c->manifest.limits->artifact_bytes - c->manifest.bytes;
  bool too_many = manifest_is_full(&c->manifest);
  bool too_big = seen->st_size < 0 || (uint64_t)seen->st_size > room;
  mf_auto_close int fd = -1;
  /* A sparse file of a pebibyte is refused by its size, before a byte of it is read. */
  if (maybe_input || (!too_many && !too_big)) {
    fd = beneath_open_file(&c->beneath, folder_fd, name, seen);
    if (fd < 0) {
      reject_errno(c, -fd);
      return;
    }
  }
  if (maybe_input && is_unchanged_input(c, fd, input))
    return;
  if (too_many) {
    manifest_reject_full(&c->manifest, path_of(c));
    return;
  }
  if (too_big) {
    manifest_reject_too_big(&c->manifest, path_of(c));
    return;
  }

  struct mf_artifact artifact = { .fd = -1 };
  switch (content_copy(fd, (struct mf_str){ name, name_n }, room, c->deadline_ns, c->chunk, &artifact)) {
  case CONTENT_OK:
    manifest_keep(&c->manifest, path_of(c), &artifact);
    break;
  case CONTENT_TOO_BIG:
    manifest_reject_too_big(&c->manifest, path_of(c));
    break;
  case CONTENT_TIMEOUT:
    c->time_spent = true;
    break;
  case CONTENT_DIFFERENT:
  case CONTENT_FAILED:
    reject_errno(c, errno);
    break;
  }
}

/* ---- folders ---- */

static int compare_names(const void *a, const void *b)
{
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_out_of_time(struct collector *c)
{
  if (c->stop && atomic_load(c->stop))
    c->stopped = c->time_spent = true;
  if (!c->time_spent && mf_now_ns() >= c->deadline_ns)
    c->time_spent = true;
  return c->time_spent;
}

/* Reads the names of a folder until the budget of entries is spent. Returns 0 or errno. */
static int read_names(struct collector *c, struct folder *f)
{
  size_t room = 0;
  errno = 0;
  while (!is_out_of_time(c)) {
    errno = 0;
    const struct dirent *e = readdir(f->dir);
    if (e == NULL)
      break;
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
      continue;
    if (c->visited == ENTRIES_MAX) {
      c->entries_spent = true;
      errno = 0;
      break;
    }
    c->visited++;
    if (f->name_n == room) {
      room = room == 0 ? 16 : room * 2;
      f->names = mf_xrealloc(f->names, room * sizeof(*f->names));
    }
    f->names[f->name_n++] = mf_xstrdup(e->d_name);
  }
  int sys = errno;
  if (f->name_n > 0)
    qsort(f->names, f->name_n, sizeof(*f->names), compare_names);
  return sys;
}

/* Collects the files among the names at once and keeps the subfolders for later. */
static void visit_files(struct collector *c, struct folder *f)
{
  size_t kept = 0;
  for (size_t i = 0; i < f->name_n; i++) {
    char *name = f->names[i];
    struct stat st;
    bool is_folder = false;
    if (!is_out_of_time(c)) {
      set_path(c, f->path_len, name);
      const char *fault;
      if (fstatat(dirfd(f->dir), name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) != 0)
        reject_errno(c, errno == ENOENT ? ESTALE : errno);
      else if (S_ISDIR(st.st_mode) && strcmp(name, "__pycache__") == 0)
        is_folder = false;
      else if (S_ISLNK(st.st_mode))
        manifest_reject(&c->manifest, path_of(c), "symbolic link");
      else if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
        manifest_reject(&c->manifest, path_of(c), "not a regular file");
      else if ((fault = manifest_path_fault(path_of(c))) != NULL)
        manifest_reject(&c->manifest, path_of(c), "%s", fault);
      else if (S_ISDIR(st.st_mode))
        is_folder = true;
      else
        collect_file(c, dirfd(f->dir), name, &st);
    }
    if (is_folder)
      f->names[kept++] = name;
    else
      free(name);
  }
  f->name_n = kept;
}

static void leave_folder(struct collector *c)
{
  struct folder *f = &c->folders[--c->folder_n];
  for (size_t i = f->next; i < f->name_n; i++)
    free(f->names[i]);
  free(f->names);
  closedir(f->dir);
}

/* Takes fd. The folder's path is the one at hand. Returns 0 or errno. */
static int enter_folder(struct collector *c, int fd)
{
  assert(c->folder_n < DEPTH_MAX);
  DIR *dir = fdopendir(fd);
  if (dir == NULL) {
    int sys = errno;
    close(fd);
    return sys;
  }
  struct folder *f = &c->folders[c->folder_n++];
  *f = (struct folder){ .dir = dir, .path_len = c->path_len };
  int sys = read_names(c, f);
  visit_files(c, f);
  return sys;
}

static void visit_subfolder(struct collector *c, struct folder *parent, const char *name)
{
  struct stat st;
  set_path(c, parent->path_len, name);
  /* A folder at the last depth can hold nothing with a valid path. */
  if (c->folder_n == DEPTH_MAX) {
    manifest_reject(&c->manifest, path_of(c), "too deep: a path has at most %u parts", DEPTH_MAX);
    return;
  }
  if (fstatat(dirfd(parent->dir), name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) != 0 || !S_ISDIR(st.st_mode)) {
    reject_errno(c, ESTALE);
    return;
  }
  int fd = beneath_open_folder(&c->beneath, dirfd(parent->dir), name, &st);
  if (fd == -ENOENT)
    fd = -ESTALE;
  int sys = fd < 0 ? -fd : enter_folder(c, fd);
  if (sys != 0) {
    set_path(c, parent->path_len, name);
    reject_errno(c, sys);
  }
}

static void walk(struct collector *c)
{
  while (c->folder_n > 0) {
    struct folder *f = &c->folders[c->folder_n - 1];
    if (f->next == f->name_n || c->entries_spent || is_out_of_time(c)) {
      leave_folder(c);
      continue;
    }
    mf_auto_free char *name = f->names[f->next++];
    visit_subfolder(c, f, name);
  }
}

enum mf_code mf_artifacts_collect(int dirfd_, const struct mf_sandbox_limits *limits,
                                  const struct mf_sandbox_file *inputs, unsigned input_n, const atomic_bool *stop,
                                  struct mf_sandbox_result *r, struct mf_err *err)
{
  struct collector *c = mf_xcalloc(1, sizeof(*c));
  manifest_init(&c->manifest, limits, inputs, input_n, r);
  c->stop = stop;
  c->deadline_ns = mf_now_ns() + TIME_MAX_S * MF_NS_PER_S;
  c->chunk = mf_xmalloc(CONTENT_CHUNK_N);

  enum mf_code code = MF_OK;
  int fd = beneath_open_top(&c->beneath, dirfd_);
  int sys = fd < 0 ? -fd : enter_folder(c, fd);
  if (sys != 0)
    code = mf_fail(err, MF_E_SYS, sys, "read the work directory");
  walk(c);
  finish(c);
  free(c->chunk);
  free(c);
  return code;
}

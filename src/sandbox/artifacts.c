/* The artifacts of a run, collected from outside after every process of it is dead.
 *
 * Whatever lies in the folder was put there by a hostile program: the walk is bounded in depth, entries, bytes and
 * time, the list of what was refused is bounded too, and one broken entry never spoils the rest. Within a folder files
 * come before subfolders, each in the order of their names, so that a full budget leaves out the same files each time.
 * Thread: any. Neighbours: beneath.c opens, content.c copies. */
#include "sandbox/sandbox.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/time.h"
#include "base/utf8.h"
#include "beneath.h"
#include "content.h"

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
  const struct mf_sandbox_limits *limits;
  struct mf_sandbox_file *inputs; /* sorted by name */
  unsigned input_n;
  struct mf_sandbox_result *result;
  struct beneath beneath;
  struct folder folders[DEPTH_MAX];
  unsigned folder_n;
  char path[PATH_ROOM]; /* of the entry at hand */
  size_t path_len;
  char *chunk;
  uint64_t deadline_ns;
  const atomic_bool *stop; /* NULL: nobody will */
  uint64_t bytes;          /* of all artifacts so far */
  unsigned visited;
  uint64_t rejected; /* listed or not */
  bool entries_spent, time_spent, stopped;
};

/* ---- the list of what was refused ---- */

/* The entry at hand is refused. The first MF_REJECTED_MAX are listed, the rest counted. */
static void reject(struct collector *c, const char *fmt, ...) MF_PRINTF(2, 3);
static void reject(struct collector *c, const char *fmt, ...)
{
  struct mf_sandbox_result *r = c->result;
  c->rejected++;
  if (r->rejected_n >= MF_REJECTED_MAX)
    return;
  char reason[160], shown[1024];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(reason, sizeof(reason), fmt, ap);
  va_end(ap);
  struct mf_str path = { c->path, c->path_len };
  struct mf_rejected_artifact *entry = &r->rejected[r->rejected_n++];
  if (c->path_len == 0) {
    entry->path = mf_xstrdup(".");
  } else if (mf_name_check(path, "path", NULL) == MF_OK) {
    entry->path = mf_xstrdup(c->path);
  } else {
    mf_escape(path, shown, sizeof(shown));
    entry->path = mf_xstrdup(shown);
  }
  entry->reason = mf_xstrdup(reason);
}

static void reject_errno(struct collector *c, int sys)
{
  char text[80];
  if (sys == ESTALE || sys == ELOOP)
    reject(c, "changed while it was collected");
  else if (sys == EXDEV)
    reject(c, "on another file system");
  else
    reject(c, "cannot be read (%s)", strerror_r(sys, text, sizeof(text)));
}

static int compare_rejected(const void *a, const void *b)
{
  const struct mf_rejected_artifact *x = a, *y = b;
  return strcmp(x->path, y->path);
}

static void drop_last_rejected(struct mf_sandbox_result *r)
{
  struct mf_rejected_artifact *last = &r->rejected[--r->rejected_n];
  free(last->path);
  free(last->reason);
}

/* Says at the end what a bound left unseen, in place of ordinary entries where the list is full; then counts the
 * rest. */
static void finish_rejected(struct collector *c)
{
  struct mf_sandbox_result *r = c->result;
  c->path_len = 0;
  unsigned note_n = (unsigned)c->entries_spent + (unsigned)c->time_spent;
  while (r->rejected_n + note_n > MF_REJECTED_MAX)
    drop_last_rejected(r);
  if (c->entries_spent)
    reject(c, "more than %u entries: the rest was not looked at", ENTRIES_MAX);
  if (c->stopped)
    reject(c, "collecting was stopped: the rest was not looked at");
  else if (c->time_spent)
    reject(c, "collecting took more than %u seconds: the rest was not looked at", TIME_MAX_S);
  qsort(r->rejected, r->rejected_n, sizeof(*r->rejected), compare_rejected);
  if (c->rejected > r->rejected_n) {
    struct mf_rejected_artifact *entry = &r->rejected[r->rejected_n];
    entry->path = mf_xasprintf("\xe2\x80\xa6 and %" PRIu64 " more", c->rejected - r->rejected_n);
    entry->reason = mf_xstrdup("not listed one by one");
    r->rejected_n++;
  }
}

/* ---- paths and inputs ---- */

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

/* NULL when the path at hand may be the name of an artifact. */
static const char *path_fault(const struct collector *c)
{
  struct mf_str path = { c->path, c->path_len };
  if (mf_name_check(path, "path", NULL) == MF_OK)
    return NULL;
  if (!mf_utf8_is_valid(path))
    return "its name is not valid UTF-8";
  for (size_t i = 0; i < path.len; i++) {
    unsigned char b = (unsigned char)path.ptr[i];
    if (b < 0x20 || b == 0x7f || (b == 0xc2 && (unsigned char)path.ptr[i + 1] < 0xa0)) /* valid: a byte follows */
      return "its name has a control character";
  }
  return path.len > 1023 ? "its path has more than 1023 bytes" : "its path has more than 16 parts";
}

static int compare_str(struct mf_str a, struct mf_str b)
{
  int order = memcmp(a.ptr, b.ptr, MF_MIN(a.len, b.len));
  return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

static int compare_inputs(const void *a, const void *b)
{
  const struct mf_sandbox_file *x = a, *y = b;
  return compare_str(x->name, y->name);
}

static const struct mf_sandbox_file *find_input(const struct collector *c)
{
  if (c->input_n == 0)
    return NULL;
  const struct mf_sandbox_file key = { .name = { c->path, c->path_len } };
  return bsearch(&key, c->inputs, c->input_n, sizeof(*c->inputs), compare_inputs);
}

/* ---- one regular file ---- */

static void keep_artifact(struct collector *c, struct mf_artifact *artifact)
{
  struct mf_sandbox_result *r = c->result;
  artifact->path = mf_xstrdup(c->path);
  r->artifacts[r->artifact_n++] = *artifact;
  c->bytes += artifact->size_bytes;
}

static void reject_too_big(struct collector *c)
{
  reject(c, "over the size limit (%" PRIu64 " bytes for all artifacts)", c->limits->artifact_bytes);
}

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
  const struct mf_sandbox_file *input = find_input(c);
  bool maybe_input = input != NULL && seen->st_size >= 0 && (uint64_t)seen->st_size == input->data.len;
  uint64_t room = c->limits->artifact_bytes - c->bytes;
  bool too_many = c->result->artifact_n >= c->limits->artifact_count;
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
    reject(c, "over the count limit (%u artifacts)", c->limits->artifact_count);
    return;
  }
  if (too_big) {
    reject_too_big(c);
    return;
  }

  struct mf_artifact artifact = { .fd = -1 };
  switch (content_copy(fd, (struct mf_str){ name, name_n }, room, c->deadline_ns, c->chunk, &artifact)) {
  case CONTENT_OK:
    keep_artifact(c, &artifact);
    break;
  case CONTENT_TOO_BIG:
    reject_too_big(c);
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
        reject(c, "symbolic link");
      else if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
        reject(c, "not a regular file");
      else if ((fault = path_fault(c)) != NULL)
        reject(c, "%s", fault);
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
    reject(c, "too deep: a path has at most %u parts", DEPTH_MAX);
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

static int compare_artifacts(const void *a, const void *b)
{
  const struct mf_artifact *x = a, *y = b;
  return strcmp(x->path, y->path);
}

static void sort_inputs(struct collector *c, const struct mf_sandbox_file *inputs, unsigned input_n)
{
  if (input_n == 0)
    return;
  c->inputs = mf_xcalloc(input_n, sizeof(*c->inputs));
  c->input_n = input_n;
  memcpy(c->inputs, inputs, input_n * sizeof(*c->inputs));
  qsort(c->inputs, input_n, sizeof(*c->inputs), compare_inputs);
}

enum mf_code mf_artifacts_collect(int dirfd_, const struct mf_sandbox_limits *limits,
                                  const struct mf_sandbox_file *inputs, unsigned input_n, const atomic_bool *stop,
                                  struct mf_sandbox_result *r, struct mf_err *err)
{
  assert(r->artifacts == NULL && r->rejected == NULL);
  struct collector *c = mf_xcalloc(1, sizeof(*c));
  c->limits = limits;
  c->result = r;
  c->stop = stop;
  c->deadline_ns = mf_now_ns() + TIME_MAX_S * MF_NS_PER_S;
  c->chunk = mf_xmalloc(CONTENT_CHUNK_N);
  sort_inputs(c, inputs, input_n);
  r->artifacts = mf_xcalloc(limits->artifact_count + 1ull, sizeof(*r->artifacts));
  r->rejected = mf_xcalloc(MF_REJECTED_MAX + 1, sizeof(*r->rejected));

  enum mf_code code = MF_OK;
  int fd = beneath_open_top(&c->beneath, dirfd_);
  int sys = fd < 0 ? -fd : enter_folder(c, fd);
  if (sys != 0)
    code = mf_fail(err, MF_E_SYS, sys, "read the work directory");
  walk(c);
  finish_rejected(c);
  qsort(r->artifacts, r->artifact_n, sizeof(*r->artifacts), compare_artifacts);
  free(c->inputs);
  free(c->chunk);
  free(c);
  return code;
}

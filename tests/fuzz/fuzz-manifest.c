/* Files that a hostile sandbox hands over: whatever their names and descriptors are, what is kept is within the limits,
 * has names that can be stored, and no offer is forgotten. Input: how many were not offered (1 byte), flags (1 byte:
 * 1 some were no files, 2 it is stopped), then a line for each offer: a byte for its descriptor, then its name. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "sandbox/sandbox.h"
#include "base/banned.h"

#define OFFERS_MAX 200u
#define FILES_MAX 3u
#define BYTES_MAX 100u
#define HOLE 63u
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)
#define CONTENT "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ."

static const struct mf_sandbox_file input = { .name = { "in", 2 }, .data = { CONTENT, 7 } };

struct offers {
  struct mf_offered_file files[OFFERS_MAX];
  unsigned n;
  unsigned same_n; /* these may be the input as it was */
};

static int make_memfd(size_t n, int seals)
{
  int fd = -1;
  CHECK(mf_memfd("fuzz", &fd, NULL) == MF_OK);
  if (n == HOLE)
    CHECK(ftruncate(fd, (off_t)1 << 40) == 0); /* costs nothing */
  else
    CHECK(mf_write_all(fd, CONTENT, n, NULL) == MF_OK);
  CHECK(seals == 0 || fcntl(fd, F_ADD_SEALS, seals) == 0);
  return fd;
}

static void add_offer(struct offers *o, uint8_t how, struct mf_str name)
{
  static const int some_seals[] = { 0,
                                    F_SEAL_SHRINK,
                                    F_SEAL_GROW,
                                    F_SEAL_WRITE,
                                    F_SEAL_SHRINK | F_SEAL_GROW,
                                    F_SEAL_SHRINK | F_SEAL_WRITE,
                                    F_SEAL_GROW | F_SEAL_WRITE,
                                    F_SEAL_SEAL };
  size_t n = how >> 2;
  struct mf_offered_file f = { .name = name, .size_bytes = 4 * n, .fd = -1 };
  if ((how & 3) == 0)
    f.fd = make_memfd(n, SEALS);
  else if ((how & 3) == 1)
    f.fd = make_memfd(n, some_seals[n % MF_ARRAY_N(some_seals)]);
  else if ((how & 3) == 2)
    f.fd = MF_OFFERED_LOST;
  o->same_n += (how & 3) == 0 && n == input.data.len && mf_str_eq(name, input.name);
  o->files[o->n++] = f;
}

static void read_offers(struct offers *o, const char *p, size_t n)
{
  while (n > 0 && o->n < OFFERS_MAX) {
    const char *end = memchr(p, '\n', n);
    size_t line_n = end ? (size_t)(end - p) : n;
    if (line_n > 0)
      add_offer(o, (uint8_t)p[0], (struct mf_str){ p + 1, line_n - 1 });
    size_t step_n = line_n + (end != NULL);
    p += step_n;
    n -= step_n;
  }
}

static bool is_below(const char *folder, const char *path)
{
  size_t n = strlen(folder);
  return strncmp(folder, path, n) == 0 && path[n] == '/';
}

/* Whether it was handed over under this name, sealed, of this size. */
static bool was_offered(const struct offers *o, const struct mf_artifact *a)
{
  for (unsigned i = 0; i < o->n; i++) {
    const struct mf_offered_file *f = &o->files[i];
    struct stat st;
    if (f->fd >= 0 && mf_str_eq(f->name, mf_str_of(a->path)) && (fcntl(f->fd, F_GET_SEALS) & SEALS) == SEALS &&
        fstat(f->fd, &st) == 0 && (uint64_t)st.st_size == a->size_bytes)
      return true;
  }
  return false;
}

static void check_kept(const struct offers *o, const struct mf_artifact *a)
{
  struct stat st;
  CHECK(was_offered(o, a));
  CHECK(mf_name_check(mf_str_of(a->path), "path", NULL) == MF_OK);
  CHECK(strlen(a->sha256) == 64 && a->mime_type && a->mime_type[0]);
  CHECK(fstat(a->fd, &st) == 0 && (uint64_t)st.st_size == a->size_bytes && lseek(a->fd, 0, SEEK_CUR) == 0);
  char text[sizeof(CONTENT)];
  CHECK(a->size_bytes < sizeof(text) && read(a->fd, text, sizeof(text)) == (ssize_t)a->size_bytes);
  CHECK(memcmp(text, CONTENT, (size_t)a->size_bytes) == 0);
  CHECK(write(a->fd, "x", 1) == -1); /* sealed */
}

static void check_artifacts(const struct offers *o, const struct mf_sandbox_result *r)
{
  uint64_t bytes = 0;
  CHECK(r->artifact_n <= FILES_MAX);
  for (unsigned i = 0; i < r->artifact_n; i++) {
    check_kept(o, &r->artifacts[i]);
    bytes += r->artifacts[i].size_bytes;
    CHECK(i == 0 || strcmp(r->artifacts[i - 1].path, r->artifacts[i].path) < 0);
    for (unsigned j = 0; j < i; j++)
      CHECK(!is_below(r->artifacts[j].path, r->artifacts[i].path));
  }
  CHECK(bytes <= BYTES_MAX);
}

/* The number of "… and N more". */
static uint64_t read_more(const char *path)
{
  static const char before[] = "\xe2\x80\xa6 and ";
  char *end;
  CHECK(strncmp(path, before, sizeof(before) - 1) == 0);
  uint64_t n = strtoull(path + sizeof(before) - 1, &end, 10);
  CHECK(n > 0 && strcmp(end, " more") == 0);
  return n;
}

/* Returns how many it tells of. A file may be named like the entry that counts the rest; its reason is another. */
static uint64_t check_rejected(const struct mf_sandbox_result *r)
{
  uint64_t more = 0;
  unsigned n = r->rejected_n;
  if (n > 0 && strcmp(r->rejected[n - 1].reason, "not listed one by one") == 0)
    more = read_more(r->rejected[--n].path);
  CHECK(n <= MF_REJECTED_MAX);
  for (unsigned i = 0; i < n; i++) {
    CHECK(mf_utf8_is_valid(mf_str_of(r->rejected[i].path)) && r->rejected[i].path[0] && r->rejected[i].reason[0]);
    CHECK(i == 0 || strcmp(r->rejected[i - 1].path, r->rejected[i].path) <= 0);
  }
  return n + more;
}

static bool has_reason(const struct mf_sandbox_result *r, const char *words)
{
  for (unsigned i = 0; i < r->rejected_n; i++) {
    if (strcmp(r->rejected[i].path, ".") == 0 && strstr(r->rejected[i].reason, words))
      return true;
  }
  return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  if (n < 2)
    return 0;
  struct offers o = { .n = 0 };
  read_offers(&o, (const char *)data + 2, n - 2);
  struct mf_sandbox_limits limits;
  mf_sandbox_limits_default(&limits);
  limits.artifact_count = FILES_MAX;
  limits.artifact_bytes = BYTES_MAX;
  bool others = data[1] & 1;
  bool stopped = (data[1] & 2) && o.n > 0; /* where there is nothing to look at, nothing was left */
  const atomic_bool stop = (data[1] & 2) != 0;

  struct mf_sandbox_result *r = mf_sandbox_result_new();
  mf_artifacts_adopt(o.files, o.n, data[0], others ? 3 : 0, &limits, &input, 1, &stop, r);
  check_artifacts(&o, r);
  uint64_t told = r->artifact_n + check_rejected(r);
  CHECK(has_reason(r, "neither a file nor a folder") == others && has_reason(r, "was stopped") == stopped);
  /* Each is kept, refused or left as it was; the rest are those that were not offered, and what is said of ".". */
  uint64_t all = (stopped ? 0 : o.n) + data[0] + others + stopped;
  if (!has_reason(r, "took too long")) /* a machine that stood still */
    CHECK(told <= all && told + (stopped ? 0 : o.same_n) >= all);
  mf_sandbox_result_free(r);
  for (unsigned i = 0; i < o.n; i++)
    mf_close_ptr(&o.files[i].fd);
  return 0;
}

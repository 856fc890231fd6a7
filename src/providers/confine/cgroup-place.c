/* Where our own control groups are. Thread: any; no state. */
#include "confine/cgroup.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/num.h"
#include "base/str.h"
#include "cgroup-internal.h"

#include "base/banned.h"

/* ---- parsing ---- */

/* Splits off the text up to `sep`; false at the end of the input. */
static bool next_part(struct mf_str *rest, char sep, struct mf_str *ret)
{
  if (!rest->ptr)
    return false;
  const char *at = rest->len ? memchr(rest->ptr, sep, rest->len) : NULL;
  if (!at) {
    *ret = *rest;
    *rest = (struct mf_str){ NULL, 0 };
    return ret->len > 0;
  }
  size_t n = (size_t)(at - rest->ptr);
  *ret = (struct mf_str){ rest->ptr, n };
  *rest = (struct mf_str){ at + 1, rest->len - n - 1 };
  return true;
}

static bool has_word(struct mf_str list, const char *word)
{
  struct mf_str part;
  while (next_part(&list, ',', &part)) {
    if (mf_str_is(part, word))
      return true;
  }
  return false;
}

/* mountinfo writes space, tab, newline and backslash as \040 and the like (proc(5)). */
static bool unescape(struct mf_str s, char *ret, size_t n)
{
  size_t w = 0;
  for (size_t i = 0; i < s.len; i++) {
    char c = s.ptr[i];
    if (c == '\\' && i + 3 < s.len && s.ptr[i + 1] >= '0' && s.ptr[i + 1] <= '3') {
      c = (char)(((s.ptr[i + 1] - '0') << 6) | ((s.ptr[i + 2] - '0') << 3) | (s.ptr[i + 3] - '0'));
      i += 3;
    }
    if (w + 1 >= n)
      return false;
    ret[w++] = c;
  }
  ret[w] = '\0';
  return true;
}

/* The directory of group `path` in a mount of `root` at `point`. A container may see only its own group: then `root` is
 * a prefix of `path`. False when the group is not below the mount. */
static bool group_dir(const char *point, const char *root, struct mf_str path, char ret[MF_CGROUP_PATH_MAX])
{
  size_t root_n = strcmp(root, "/") == 0 ? 0 : strlen(root);
  if (path.len < root_n || memcmp(path.ptr, root, root_n) != 0)
    return false;
  path.ptr += root_n;
  path.len -= root_n;
  if (path.len > 0 && path.ptr[0] != '/')
    return false;
  while (path.len > 0 && path.ptr[path.len - 1] == '/')
    path.len--;
  if (memmem(path.ptr, path.len, "/..", 3))
    return false; /* outside our cgroup namespace */
  int n = snprintf(ret, MF_CGROUP_PATH_MAX, "%s%.*s", point, MF_STR_ARG(path));
  return n > 0 && n < MF_CGROUP_PATH_MAX;
}

/* Our group in the hierarchy of `controller` ("" for v2): the third field of a line "4:memory:/path". */
static bool own_group(const char *cgroup, const char *controller, struct mf_str *ret)
{
  struct mf_str rest = mf_str_of(cgroup), line;
  while (next_part(&rest, '\n', &line)) {
    struct mf_str id, names;
    if (!next_part(&line, ':', &id) || !next_part(&line, ':', &names) || !line.ptr)
      continue;
    bool is_it = controller[0] ? has_word(names, controller) : mf_str_is(id, "0") && names.len == 0;
    if (is_it && line.len > 0 && line.ptr[0] == '/') {
      *ret = line;
      return true;
    }
  }
  return false;
}

struct hierarchy {
  const char *fs, *controller;
  size_t offset;
};
static const struct hierarchy hierarchies[] = {
  { "cgroup2", "", offsetof(struct mf_cgroup_place, v2) },
  { "cgroup", "memory", offsetof(struct mf_cgroup_place, v1_memory) },
  { "cgroup", "pids", offsetof(struct mf_cgroup_place, v1_pids) },
};

/* "36 35 98:0 /root /point rw,noatime shared:1 - cgroup cgroup rw,memory" */
static void parse_mount(struct mf_str line, const char *cgroup, struct mf_cgroup_place *ret)
{
  struct mf_str f[5], part;
  for (int i = 0; i < 5; i++) {
    if (!next_part(&line, ' ', &f[i]))
      return;
  }
  while (next_part(&line, ' ', &part) && !mf_str_is(part, "-"))
    ;
  struct mf_str fs, source, options;
  if (!next_part(&line, ' ', &fs) || !next_part(&line, ' ', &source) || !next_part(&line, ' ', &options))
    return;
  char root[MF_CGROUP_PATH_MAX], point[MF_CGROUP_PATH_MAX];
  if (!unescape(f[3], root, sizeof root) || !unescape(f[4], point, sizeof point))
    return;
  for (size_t i = 0; i < MF_ARRAY_N(hierarchies); i++) {
    const struct hierarchy *h = &hierarchies[i];
    char *dir = (char *)ret + h->offset;
    if (dir[0] || !mf_str_is(fs, h->fs) || (h->controller[0] && !has_word(options, h->controller)))
      continue;
    struct mf_str path;
    if (own_group(cgroup, h->controller, &path) && !group_dir(point, root, path, dir))
      dir[0] = '\0';
  }
}

enum mf_code mf_cgroup_place_parse(const char *mountinfo, const char *cgroup, struct mf_cgroup_place *ret,
                                   struct mf_err *err)
{
  struct mf_cgroup_place place = { 0 };
  struct mf_str rest = mf_str_of(mountinfo), line;
  while (next_part(&rest, '\n', &line))
    parse_mount(line, cgroup, &place);
  if (!place.v2[0] && !place.v1_memory[0] && !place.v1_pids[0])
    return mf_fail(err, MF_E_UNAVAILABLE, 0, "no control group of ours is mounted");
  /* A supervisor before us may have put us into its leaf (see cgroup.c): our groups go beside that leaf. */
  char *leaf = strrchr(place.v2, '/');
  if (leaf && mf_str_starts(mf_str_of(leaf + 1), MF_CGROUP_HOST_PREFIX))
    *leaf = '\0';
  *ret = place;
  return MF_OK;
}

enum mf_code mf_cgroup_place_self(struct mf_cgroup_place *ret, struct mf_err *err)
{
  mf_auto_free char *mountinfo = NULL, *cgroup = NULL;
  size_t n;
  enum mf_code code = mf_read_file(AT_FDCWD, "/proc/self/mountinfo", 4u << 20, &mountinfo, &n, err);
  if (code == MF_OK)
    code = mf_read_file(AT_FDCWD, "/proc/self/cgroup", 1u << 20, &cgroup, &n, err);
  return code == MF_OK ? mf_cgroup_place_parse(mountinfo, cgroup, ret, err) : code;
}

unsigned mf_cgroup_count_tail(const char *cgroup, const char *tail)
{
  struct mf_str rest = mf_str_of(cgroup), line;
  size_t tail_n = strlen(tail);
  unsigned n = 0;
  while (next_part(&rest, '\n', &line)) {
    if (tail_n > 0 && line.len > tail_n && line.ptr[line.len - tail_n - 1] == '/' &&
        memcmp(line.ptr + line.len - tail_n, tail, tail_n) == 0)
      n++;
  }
  return n;
}

enum mf_code mf_cgroup_check_self(const char *tail, unsigned n, struct mf_err *err)
{
  mf_auto_free char *cgroup = NULL;
  size_t len;
  enum mf_code code = mf_read_file(AT_FDCWD, "/proc/self/cgroup", 1u << 20, &cgroup, &len, err);
  if (code != MF_OK)
    return code;
  unsigned got = mf_cgroup_count_tail(cgroup, tail);
  if (got < n)
    return mf_fail(err, MF_E_UNAVAILABLE, 0, "in %u control groups that end with '%s', not in %u", got, tail, n);
  return MF_OK;
}

bool mf_cgroup_name_parse(const char *name, pid_t *ret_pid, uint64_t *ret_start)
{
  struct mf_str rest = mf_str_of(name), pid, start, serial;
  if (!mf_str_starts(rest, MF_CGROUP_PREFIX))
    return false;
  size_t skip = strlen(mf_str_starts(rest, MF_CGROUP_HOST_PREFIX) ? MF_CGROUP_HOST_PREFIX : MF_CGROUP_PREFIX);
  rest.ptr += skip;
  rest.len -= skip;
  if (!next_part(&rest, '-', &pid) || !next_part(&rest, '-', &start))
    return false;
  uint64_t p, s, n;
  if (rest.ptr && (!next_part(&rest, '-', &serial) || rest.ptr ||
                   mf_parse_u64(serial, "number", 1, MF_CGROUP_SERIAL_MAX, &n, NULL)))
    return false;
  if (mf_parse_u64(pid, "pid", 1, INT32_MAX, &p, NULL) || mf_parse_u64(start, "start time", 1, UINT64_MAX, &s, NULL))
    return false;
  *ret_pid = (pid_t)p;
  *ret_start = s;
  return true;
}

uint64_t mf_cgroup_start_time(pid_t pid)
{
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  mf_auto_free char *text = NULL;
  size_t n;
  if (mf_read_file(AT_FDCWD, path, 4096, &text, &n, NULL) != MF_OK)
    return 0;
  /* field 22; the name in field 2 may hold anything, so count from its closing parenthesis */
  char *at = strrchr(text, ')');
  for (int field = 2; at && field < 22; field++)
    at = strchr(at + 1, ' ');
  if (!at)
    return 0;
  uint64_t v = 0;
  struct mf_str s = { at + 1, strcspn(at + 1, " \n") };
  return mf_parse_u64(s, "start time", 0, UINT64_MAX, &v, NULL) == MF_OK ? v : 0;
}

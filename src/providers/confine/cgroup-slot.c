/* The control group of one slot: made when first used, cleaned between two runs. Thread: the supervisor's.
 *
 * Reuse rather than remake: an empty group that is removed stays in the kernel for as long as a page is charged to it,
 * and thousands of such ghosts slow every later one. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "cgroup-internal.h"

#include "base/banned.h"

/* After so many refusals what is left charged is reclaimed, and after so many more the group is made anew. */
#define RECLAIM_AFTER 2u
#define REMAKE_AFTER 6u

static void group_path(const struct mf_cgroup *cg, int root, unsigned slot, char ret[MF_CGROUP_PATH_MAX + 16])
{
  snprintf(ret, MF_CGROUP_PATH_MAX + 16, "%s/%u", cg->root[root].path, slot);
}

static int put_slot(const struct mf_cgroup *cg, int root, unsigned slot, const char *file, const char *text)
{
  char path[96];
  snprintf(path, sizeof path, "%u/%s", slot, file);
  return mf_cgroup_put(cg->root[root].fd, path, text);
}

static int put_slot_u64(const struct mf_cgroup *cg, int root, unsigned slot, const char *file, uint64_t v)
{
  char text[32];
  snprintf(text, sizeof text, "%llu", (unsigned long long)v);
  return put_slot(cg, root, slot, file, text);
}

static int open_slot(const struct mf_cgroup *cg, int root, unsigned slot, const char *file, int flags)
{
  char path[96];
  snprintf(path, sizeof path, "%u/%s", slot, file);
  return openat(cg->root[root].fd, path, flags | O_CLOEXEC);
}

static bool read_counter(int fd, const char *key, uint64_t *ret)
{
  char text[1024];
  ssize_t n = fd >= 0 ? pread(fd, text, sizeof text - 1, 0) : -1;
  if (n < 0)
    return false;
  text[n] = '\0';
  return mf_cgroup_number(text, key, ret);
}

/* ---- limits ---- */

static int set_memory_v1(const struct mf_cgroup *cg, unsigned slot, uint64_t now, uint64_t bytes)
{
  static const char limit[] = "memory.limit_in_bytes", swap[] = "memory.memsw.limit_in_bytes";
  /* the kernel keeps limit <= memsw at every moment, so the order depends on the direction; memsw exists only where
   * swap is accounted */
  int error = 0;
  if (now == 0) { /* not known: start from no limit at all */
    (void)put_slot(cg, MF_CGROUP_ROOT_MEMORY, slot, swap, "-1");
    (void)put_slot(cg, MF_CGROUP_ROOT_MEMORY, slot, limit, "-1");
  } else if (bytes > now) {
    error = put_slot_u64(cg, MF_CGROUP_ROOT_MEMORY, slot, swap, bytes);
    if (error == ENOENT)
      error = 0;
  }
  if (error == 0)
    error = put_slot_u64(cg, MF_CGROUP_ROOT_MEMORY, slot, limit, bytes);
  if (error == 0 && (now == 0 || bytes <= now)) {
    error = put_slot_u64(cg, MF_CGROUP_ROOT_MEMORY, slot, swap, bytes);
    if (error == ENOENT)
      error = 0;
  }
  return error;
}

enum mf_code mf_cgroup_slot_limit(struct mf_cgroup *cg, unsigned slot, uint64_t memory_bytes, uint32_t pids,
                                  struct mf_err *err)
{
  struct mf_cgroup_group *g = &cg->groups[slot];
  if (!g->is_made)
    return MF_OK;
  if (cg->kind != MF_CGROUP_NONE && g->memory_bytes != memory_bytes) {
    int error = cg->is_v2 ? put_slot_u64(cg, MF_CGROUP_ROOT_MEMORY, slot, "memory.max", memory_bytes)
                          : set_memory_v1(cg, slot, g->memory_bytes, memory_bytes);
    if (error) {
      g->memory_bytes = 0; /* unknown: written anew next time */
      return mf_fail(err, MF_E_SYS, error, "set the memory limit of slot %u", slot);
    }
    g->memory_bytes = memory_bytes;
  }
  if (cg->has_pids && g->pids != pids) {
    int root = cg->is_v2 ? MF_CGROUP_ROOT_MEMORY : MF_CGROUP_ROOT_PIDS;
    int error = put_slot_u64(cg, root, slot, "pids.max", pids);
    if (error) {
      g->pids = 0;
      return mf_fail(err, MF_E_SYS, error, "set the process limit of slot %u", slot);
    }
    g->pids = pids;
  }
  return MF_OK;
}

/* ---- making and removing ---- */

static void close_group(struct mf_cgroup_group *g)
{
  mf_close_ptr(&g->procs[0]);
  mf_close_ptr(&g->procs[1]);
  mf_close_ptr(&g->oom);
  mf_close_ptr(&g->peak);
  mf_close_ptr(&g->cpu);
  mf_close_ptr(&g->task_n);
  mf_close_ptr(&g->usage);
}

void mf_cgroup_group_drop(struct mf_cgroup *cg, unsigned slot, int *ret_error)
{
  struct mf_cgroup_group *g = &cg->groups[slot];
  *ret_error = 0;
  if (!g->is_made)
    return;
  for (int r = 0; r < 2; r++) {
    if (cg->root[r].fd < 0)
      continue;
    char path[MF_CGROUP_PATH_MAX + 16];
    group_path(cg, r, slot, path);
    if (cg->dirs.remove(path) != 0 && errno != ENOENT)
      *ret_error = errno;
  }
  if (*ret_error)
    return; /* still in use: the descriptors stay good */
  close_group(g);
  g->is_made = false;
}

static enum mf_code make_dirs(struct mf_cgroup *cg, unsigned slot, struct mf_err *err)
{
  struct mf_cgroup_group *g = &cg->groups[slot];
  for (int r = 0; r < 2; r++) {
    if (cg->root[r].fd < 0)
      continue;
    char path[MF_CGROUP_PATH_MAX + 16];
    group_path(cg, r, slot, path);
    if (cg->dirs.make(path) != 0 && errno != EEXIST)
      return mf_fail(err, MF_E_SYS, errno, "make control group '%s'", path);
    g->procs[r] = open_slot(cg, r, slot, "cgroup.procs", O_WRONLY);
    if (g->procs[r] < 0)
      return mf_fail(err, MF_E_SYS, errno, "open cgroup.procs of '%s'", path);
  }
  return MF_OK;
}

static enum mf_code fill_group(struct mf_cgroup *cg, unsigned slot, struct mf_err *err)
{
  struct mf_cgroup_group *g = &cg->groups[slot];
  enum mf_code code = make_dirs(cg, slot, err);
  if (code != MF_OK)
    return code;
  if (cg->is_v2) {
    /* without swap, and the whole sandbox ends when one process of it is chosen; either file may be missing */
    (void)put_slot(cg, 0, slot, "memory.swap.max", "0");
    (void)put_slot(cg, 0, slot, "memory.oom.group", "1");
    g->oom = open_slot(cg, 0, slot, "memory.events", O_RDONLY);
    g->cpu = open_slot(cg, 0, slot, "cpu.stat", O_RDONLY);
    g->peak = open_slot(cg, 0, slot, "memory.peak", O_RDWR); /* writable since Linux 6.12 */
    g->peak_is_reset = g->peak >= 0;
    if (g->peak < 0)
      g->peak = open_slot(cg, 0, slot, "memory.peak", O_RDONLY);
  } else if (cg->kind == MF_CGROUP_V1) {
    (void)put_slot(cg, 0, slot, "memory.swappiness", "0"); /* the limit is of memory alone where memsw is missing */
    g->oom = open_slot(cg, 0, slot, "memory.oom_control", O_RDONLY);
    g->peak = open_slot(cg, 0, slot, "memory.max_usage_in_bytes", O_RDWR);
    g->peak_is_reset = g->peak >= 0;
  }
  if (cg->kind != MF_CGROUP_NONE)
    g->usage = open_slot(cg, 0, slot, cg->is_v2 ? "memory.current" : "memory.usage_in_bytes", O_RDONLY);
  if (cg->has_pids) /* counts zombies too, unlike cgroup.procs */
    g->task_n = open_slot(cg, cg->is_v2 ? MF_CGROUP_ROOT_MEMORY : MF_CGROUP_ROOT_PIDS, slot, "pids.current", O_RDONLY);
  if (cg->kind != MF_CGROUP_NONE && g->oom < 0)
    return mf_fail(err, MF_E_SYS, errno, "open the memory counters of slot %u", slot);
  return mf_cgroup_slot_limit(cg, slot, cg->memory_bytes, cg->pids, err);
}

static void start_counters(struct mf_cgroup_group *g)
{
  g->oom_base = g->cpu_base = 0;
  (void)read_counter(g->oom, "oom_kill", &g->oom_base);
  (void)read_counter(g->cpu, "usage_usec", &g->cpu_base);
  if (g->peak_is_reset && pwrite(g->peak, "0", 1, 0) < 0)
    g->peak_is_reset = false;
}

static enum mf_code make_group(struct mf_cgroup *cg, unsigned slot, struct mf_err *err)
{
  struct mf_cgroup_group *g = &cg->groups[slot];
  *g = (struct mf_cgroup_group){
    .is_made = true, .procs = { -1, -1 }, .oom = -1, .peak = -1, .cpu = -1, .task_n = -1, .usage = -1
  };
  enum mf_code code = fill_group(cg, slot, err);
  if (code != MF_OK) {
    int error;
    mf_cgroup_group_drop(cg, slot, &error);
    if (error) { /* cannot be: nobody has joined it. Forget it; the end will try again */
      close_group(g);
      g->is_made = false;
    }
    return code;
  }
  start_counters(g);
  return MF_OK;
}

enum mf_code mf_cgroup_slot_join(struct mf_cgroup *cg, unsigned slot, int ret_fds[2], unsigned *ret_n,
                                 struct mf_err *err)
{
  struct mf_cgroup_group *g = &cg->groups[slot];
  *ret_n = 0;
  if (!mf_cgroup_is_active(cg))
    return MF_OK;
  if (!g->is_made) {
    enum mf_code code = make_group(cg, slot, err);
    if (code != MF_OK)
      return code;
  }
  for (int r = 0; r < 2; r++) {
    if (g->procs[r] >= 0)
      ret_fds[(*ret_n)++] = g->procs[r];
  }
  return MF_OK;
}

void mf_cgroup_name(const struct mf_cgroup *cg, char *ret, size_t n)
{
  char serial[16] = "";
  if (cg->serial)
    snprintf(serial, sizeof serial, "-%u", cg->serial);
  snprintf(ret, n, MF_CGROUP_PREFIX "%d-%llu%s", (int)getpid(), (unsigned long long)mf_cgroup_start_time(getpid()),
           serial);
}

void mf_cgroup_slot_tail(const struct mf_cgroup *cg, unsigned slot, char *ret, size_t n)
{
  char name[MF_CGROUP_NAME_MAX];
  mf_cgroup_name(cg, name, sizeof name);
  snprintf(ret, n, "%s/%u", name, slot);
}

/* "cgroup.procs" has one number a line. */
static bool lists_pid(int dirfd, unsigned slot, pid_t pid)
{
  char path[96], text[4096], want[24];
  snprintf(path, sizeof path, "%u/cgroup.procs", slot);
  snprintf(want, sizeof want, "%d", (int)pid);
  if (!mf_cgroup_get(dirfd, path, text, sizeof text))
    return false;
  size_t want_n = strlen(want);
  for (const char *line = text; *line;) {
    size_t n = strcspn(line, "\n");
    if (n == want_n && memcmp(line, want, n) == 0)
      return true;
    line += n + (line[n] == '\n');
  }
  return false;
}

bool mf_cgroup_slot_holds(struct mf_cgroup *cg, unsigned slot, pid_t pid)
{
  for (int r = 0; r < 2; r++) {
    if (cg->groups[slot].procs[r] >= 0 && cg->groups[slot].is_made && !lists_pid(cg->root[r].fd, slot, pid))
      return false;
  }
  return true;
}

/* ---- counters ---- */

uint32_t mf_cgroup_slot_oom_kills(struct mf_cgroup *cg, unsigned slot)
{
  struct mf_cgroup_group *g = &cg->groups[slot];
  uint64_t v;
  if (!g->is_made || !read_counter(g->oom, "oom_kill", &v) || v < g->oom_base)
    return 0;
  return (uint32_t)MF_MIN(v - g->oom_base, (uint64_t)UINT32_MAX);
}

uint64_t mf_cgroup_slot_peak(struct mf_cgroup *cg, unsigned slot)
{
  struct mf_cgroup_group *g = &cg->groups[slot];
  uint64_t v;
  return g->is_made && read_counter(g->peak, "", &v) ? v : 0;
}

uint64_t mf_cgroup_slot_cpu_us(struct mf_cgroup *cg, unsigned slot)
{
  struct mf_cgroup_group *g = &cg->groups[slot];
  uint64_t v;
  return g->is_made && read_counter(g->cpu, "usage_usec", &v) && v > g->cpu_base ? v - g->cpu_base : 0;
}

/* ---- between two runs ---- */

static bool is_empty(const struct mf_cgroup *cg, unsigned slot)
{
  uint64_t n;
  char path[96], text[64];
  if (cg->groups[slot].task_n >= 0)
    return read_counter(cg->groups[slot].task_n, "", &n) && n == 0;
  snprintf(path, sizeof path, "%u/cgroup.procs", slot);
  return mf_cgroup_get(cg->root[cg->root[0].fd >= 0 ? 0 : 1].fd, path, text, sizeof text) && text[0] == '\0';
}

enum mf_code mf_cgroup_slot_release(struct mf_cgroup *cg, unsigned slot, unsigned tries, struct mf_err *err)
{
  struct mf_cgroup_group *g = &cg->groups[slot];
  if (!g->is_made)
    return MF_OK;
  if (!is_empty(cg, slot))
    return mf_fail(err, MF_E_CAPACITY, 0, "a process is left in the group of slot %u", slot);
  bool is_dirty = false;
  if (cg->kind != MF_CGROUP_NONE) {
    uint64_t usage = 0;
    is_dirty = read_counter(g->usage, "", &usage) && usage > cg->slack_bytes;
    if (mf_cgroup_reclaim_is_busy(cg, slot))
      return mf_fail(err, MF_E_CAPACITY, 0, "memory of the group of slot %u is being taken back", slot);
    if (is_dirty && tries >= RECLAIM_AFTER && tries < REMAKE_AFTER)
      mf_cgroup_reclaim_start(cg, slot, usage);
  }
  if (is_dirty && tries < REMAKE_AFTER)
    return mf_fail(err, MF_E_CAPACITY, 0, "memory is still charged to the group of slot %u", slot);
  /* a peak that cannot be set back would be the next run's as well */
  bool is_stale = g->peak >= 0 && !g->peak_is_reset;
  if (is_dirty || is_stale) {
    int error;
    mf_cgroup_group_drop(cg, slot, &error);
    return error ? mf_fail(err, MF_E_CAPACITY, error, "remake the group of slot %u", slot) : MF_OK;
  }
  enum mf_code code = mf_cgroup_slot_limit(cg, slot, cg->memory_bytes, cg->pids, err);
  if (code != MF_OK)
    return mf_wrap(err, MF_E_CAPACITY, "reset");
  start_counters(g);
  return MF_OK;
}

/* Control groups: finding our own, a played tree of files, and the real ones where this machine has them. */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "confine/cgroup.h"
#include "tempdir.h"
#include "base/banned.h"

#define MB (1ull << 20)

/* ---- places ---- */

#define V1_MOUNTS                                                                                                      \
  "30 1 0:25 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"                                                                   \
  "31 30 0:26 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n"                                \
  "32 30 0:27 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids\n"                                             \
  "33 30 0:28 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"

struct place_row {
  const char *what, *mountinfo, *cgroup;
  const char *v2, *memory, *pids; /* all NULL: MF_E_UNAVAILABLE */
};
static const struct place_row place_rows[] = {
  { "hybrid", V1_MOUNTS, "8:pids:/\n4:memory:/a/b\n0::/\n", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/memory/a/b",
    "/sys/fs/cgroup/pids" },
  { "pure v2", "25 1 0:22 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
    "0::/system.slice/mayfly.service\n", "/sys/fs/cgroup/system.slice/mayfly.service", "", "" },
  { "a container that sees only its group",
    "31 30 0:26 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n", "4:memory:/docker/abc/x\n", "",
    "/sys/fs/cgroup/memory/x", "" },
  { "a container's own group", "31 30 0:26 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
    "4:memory:/docker/abc\n", "", "/sys/fs/cgroup/memory", "" },
  { "a mount of another group", "31 30 0:26 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
    "4:memory:/docker/abcd\n", NULL, NULL, NULL },
  { "outside the cgroup namespace", "25 1 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/../../x\n", NULL, NULL,
    NULL },
  { "controllers together", "31 30 0:26 / /cg/cpu,memory rw - cgroup cgroup rw,cpu,memory\n", "3:cpu,memory:/j\n", "",
    "/cg/cpu,memory/j", "" },
  { "a name with a space", "25 1 0:22 / /my\\040groups rw - cgroup2 cgroup2 rw\n", "0::/a b\n", "/my groups/a b", "",
    "" },
  { "colons in the path", "25 1 0:22 / /cg rw - cgroup2 cgroup2 rw\n", "0::/a:b:c\n", "/cg/a:b:c", "", "" },
  { "beside a leaf of ours", "25 1 0:22 / /cg rw - cgroup2 cgroup2 rw\n", "0::/u/mayfly-host-12-34\n", "/cg/u", "",
    "" },
  { "nothing", "", "", NULL, NULL, NULL },
  { "cut lines", "31 30\n31 30 0:26 / /x rw\n31 30 0:26 / /x rw - cgroup2\n", "0\n0:\n0::\n0::x\n", NULL, NULL, NULL },
  { "a controller that only looks like it", "31 30 0:26 / /cg rw - cgroup cgroup rw,memory2\n", "4:memory:/\n", NULL,
    NULL, NULL },
};

static void places(void **state)
{
  for (size_t i = 0; i < MF_ARRAY_N(place_rows); i++) {
    const struct place_row *r = &place_rows[i];
    struct mf_cgroup_place p;
    struct mf_err err;
    enum mf_code code = mf_cgroup_place_parse(r->mountinfo, r->cgroup, &p, &err);
    if (!r->v2) {
      if (code != MF_E_UNAVAILABLE)
        fail_msg("%s: %d", r->what, code);
      continue;
    }
    if (code != MF_OK || strcmp(p.v2, r->v2) != 0 || strcmp(p.v1_memory, r->memory) != 0 ||
        strcmp(p.v1_pids, r->pids) != 0)
      fail_msg("%s: '%s' '%s' '%s'", r->what, p.v2, p.v1_memory, p.v1_pids);
  }
}

static void names(void **state)
{
  pid_t pid = 0;
  uint64_t start = 0;
  assert_true(mf_cgroup_name_parse("mayfly-12-345", &pid, &start));
  assert_int_equal(pid, 12);
  assert_int_equal(start, 345);
  assert_true(mf_cgroup_name_parse("mayfly-host-7-18446744073709551615", &pid, &start));
  assert_int_equal(pid, 7);
  assert_true(mf_cgroup_name_parse("mayfly-12-345-6", &pid, &start));
  assert_int_equal(pid, 12);
  assert_int_equal(start, 345);
  static const char *const wrong[] = { "",
                                       "mayfly",
                                       "mayfly-",
                                       "mayfly-1",
                                       "mayfly-1-",
                                       "mayfly-x-1",
                                       "mayfly-1-x",
                                       "mayfly-1-2-",
                                       "mayfly-1-2-0",
                                       "mayfly-1-2-256",
                                       "mayfly-1-2-3-4",
                                       "mayfly--1-2",
                                       "Mayfly-1-2",
                                       "mayfly-0-1",
                                       "mayfly-1-0",
                                       "mayfly-99999999999-1" };
  for (size_t i = 0; i < MF_ARRAY_N(wrong); i++) {
    if (mf_cgroup_name_parse(wrong[i], &pid, &start))
      fail_msg("'%s' was taken", wrong[i]);
  }
}

static void start_times(void **state)
{
  assert_true(mf_cgroup_start_time(getpid()) > 0);
  assert_int_equal(mf_cgroup_start_time(getpid()), mf_cgroup_start_time(getpid()));
  pid_t pid = fork();
  if (pid == 0)
    _exit(0);
  waitpid(pid, NULL, 0);
  assert_int_equal(mf_cgroup_start_time(pid), 0);
}

/* ---- a played tree ---- */

static struct mf_tempdir dir;
static char own[512];

static void put(const char *folder, const char *file, const char *text)
{
  char path[1200];
  snprintf(path, sizeof path, "%s/%s", folder, file);
  mf_auto_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  assert_true(fd >= 0);
  assert_ok(mf_write_all(fd, text, strlen(text), NULL), &(struct mf_err){ 0 });
}

/* Compares a file of the tree. */
static void holds(const char *group, const char *file, const char *text)
{
  char path[1200];
  mf_auto_free char *have = NULL;
  size_t n;
  struct mf_err err;
  snprintf(path, sizeof path, "%s/%s/%s", own, group, file);
  assert_ok(mf_read_file(AT_FDCWD, path, 4096, &have, &n, &err), &err);
  assert_string_equal(have, text);
}

static const char *const v2_files[][2] = {
  { "cgroup.procs", "" },
  { "cgroup.controllers", "memory pids" },
  { "memory.max", "max" },
  { "cgroup.subtree_control", "" },
  { "memory.swap.max", "max" },
  { "memory.oom.group", "0" },
  { "memory.events", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0\n" },
  { "memory.peak", "0" },
  { "memory.current", "0" },
  { "memory.reclaim", "" },
  { "pids.max", "max" },
  { "pids.current", "0" },
  { "cpu.stat", "usage_usec 100\nuser_usec 50\n" },
};

static int fake_make(const char *path)
{
  if (mkdir(path, 0755) != 0)
    return -1;
  for (size_t i = 0; i < MF_ARRAY_N(v2_files); i++)
    put(path, v2_files[i][0], v2_files[i][1]);
  return 0;
}

/* As the kernel: only without processes and without groups below. */
static int fake_remove(const char *path)
{
  char file[1200];
  struct stat st;
  snprintf(file, sizeof file, "%s/cgroup.procs", path);
  if (stat(file, &st) == 0 && st.st_size > 0) {
    errno = EBUSY;
    return -1;
  }
  for (size_t i = 0; i < MF_ARRAY_N(v2_files); i++) {
    snprintf(file, sizeof file, "%s/%s", path, v2_files[i][0]);
    (void)unlink(file);
  }
  return rmdir(path);
}

/* The rule of inner processes: a group that has some may not hand controllers down. Who moves leaves the group. */
static int fake_put(const char *path, const char *text)
{
  char procs[1200];
  struct stat st;
  snprintf(procs, sizeof procs, "%s/cgroup.procs", own);
  const char *name = strrchr(path, '/') + 1;
  bool is_own = strncmp(path, own, strlen(own)) == 0 && path + strlen(own) + 1 == name;
  if (is_own && strcmp(name, "cgroup.subtree_control") == 0 && text[0] == '+' && stat(procs, &st) == 0 &&
      st.st_size > 0)
    return EBUSY;
  int flags = strcmp(name, "cgroup.procs") == 0 ? O_APPEND : O_TRUNC;
  mf_auto_close int fd = open(path, O_WRONLY | O_CLOEXEC | flags);
  if (fd < 0)
    return errno;
  if (strcmp(name, "cgroup.procs") == 0) {
    if (dprintf(fd, "%s\n", text) < 0)
      return errno;
    if (!is_own)
      put(own, "cgroup.procs", ""); /* both live here, and both will leave */
    return 0;
  }
  return write(fd, text, strlen(text)) < 0 ? errno : 0;
}

static const struct mf_cgroup_dirs fake_dirs = { fake_make, fake_remove, fake_put };

static int make_tree(void **state)
{
  if (mf_tempdir_make(&dir, NULL) != MF_OK)
    return -1;
  snprintf(own, sizeof own, "%s/own", dir.path);
  if (fake_make(own) != 0)
    return -1;
  put(own, "cgroup.controllers", "cpu memory pids\n");
  return 0;
}

static int remove_tree(void **state)
{
  mf_tempdir_remove(&dir);
  return 0;
}

static void counts_groups_by_their_end(void **state)
{
  static const char text[] = "9:name=systemd:/\n8:pids:/a/mayfly-1-2/0\n4:memory:/mayfly-1-2/0\n3:cpu:/xmayfly-1-2/0\n"
                             "2:io:/mayfly-1-2/00\n0::/mayfly-1-2";
  assert_int_equal(mf_cgroup_count_tail(text, "mayfly-1-2/0"), 2);
  assert_int_equal(mf_cgroup_count_tail(text, "mayfly-1-2"), 1);
  assert_int_equal(mf_cgroup_count_tail(text, "mayfly-1-2/1"), 0);
  assert_int_equal(mf_cgroup_count_tail(text, ""), 0);
  assert_int_equal(mf_cgroup_count_tail("", "x"), 0);
}

static struct mf_cgroup *new_fake(struct mf_err *why)
{
  struct mf_cgroup_place place = { 0 };
  snprintf(place.v2, sizeof place.v2, "%s", own);
  const struct mf_cgroup_options o = {
    .place = &place,
    .dirs = &fake_dirs,
    .slot_n = 3,
    .memory_bytes = 64 * MB,
    .pids = 8,
  };
  return mf_cgroup_new(&o, why);
}

static const char *own_name(char ret[128])
{
  snprintf(ret, 128, "mayfly-%d-%llu", (int)getpid(), (unsigned long long)mf_cgroup_start_time(getpid()));
  return ret;
}

static unsigned entries_of(const char *path)
{
  DIR *d = opendir(path);
  assert_non_null(d);
  unsigned n = 0;
  for (struct dirent *e; (e = readdir(d));)
    n += strncmp(e->d_name, "mayfly-", 7) == 0;
  closedir(d);
  return n;
}

static void v2_limits_counters_and_reuse(void **state)
{
  struct mf_err err = { 0 };
  char name[128], group[160];
  struct mf_cgroup *cg = new_fake(&err);
  assert_int_equal(mf_cgroup_kind(cg), MF_CGROUP_V2);
  assert_true(mf_cgroup_has_pids(cg) && mf_cgroup_is_active(cg));
  holds(".", "cgroup.subtree_control", "+memory +pids");
  snprintf(group, sizeof group, "%s/1", own_name(name));

  int fds[2];
  unsigned n = 0;
  assert_ok(mf_cgroup_slot_join(cg, 1, fds, &n, &err), &err);
  assert_int_equal(n, 1);
  holds(group, "memory.max", "67108864");
  holds(group, "memory.swap.max", "0");
  holds(group, "memory.oom.group", "1");
  holds(group, "pids.max", "8");
  assert_int_equal(mf_cgroup_slot_oom_kills(cg, 1), 0);

  assert_ok(mf_cgroup_slot_limit(cg, 1, 100 * MB, 20, &err), &err);
  holds(group, "memory.max", "104857600");
  holds(group, "pids.max", "20");

  char path[1200];
  snprintf(path, sizeof path, "%s/%s", own, group);
  put(path, "memory.events", "low 0\noom 3\noom_kill 2\noom_group_kill 9\n");
  put(path, "memory.peak", "5000");
  put(path, "cpu.stat", "usage_usec 700\n");
  assert_int_equal(mf_cgroup_slot_oom_kills(cg, 1), 2);
  assert_int_equal(mf_cgroup_slot_peak(cg, 1), 5000);
  assert_int_equal(mf_cgroup_slot_cpu_us(cg, 1), 600);

  /* a process is left: not yet */
  put(path, "pids.current", "1");
  assert_int_equal(mf_cgroup_slot_release(cg, 1, 0, &err), MF_E_CAPACITY);
  put(path, "pids.current", "0");
  /* files in memory are still charged: not yet, but not for ever */
  put(path, "memory.current", "200000000");
  assert_int_equal(mf_cgroup_slot_release(cg, 1, 0, &err), MF_E_CAPACITY);
  assert_int_equal(mf_cgroup_slot_release(cg, 1, 3, &err), MF_E_CAPACITY);
  /* a thread takes them back, and until it is done nothing else happens to the group */
  for (int i = 0; i < 2000 && mf_cgroup_slot_release(cg, 1, 0, &err) != MF_OK && strstr(err.msg, "taken back"); i++)
    nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
  assert_non_null(strstr(err.msg, "still charged"));
  holds(group, "memory.reclaim", "200000000");
  assert_ok(mf_cgroup_slot_release(cg, 1, 50, &err), &err);
  assert_int_not_equal(access(path, F_OK), 0); /* it is made anew */
  assert_ok(mf_cgroup_slot_join(cg, 1, fds, &n, &err), &err);
  assert_int_equal(mf_cgroup_slot_oom_kills(cg, 1), 0);

  /* clean: the limits are as preset, the counters count from here */
  assert_ok(mf_cgroup_slot_limit(cg, 1, 32 * MB, 4, &err), &err);
  put(path, "memory.events", "oom_kill 5\n");
  assert_ok(mf_cgroup_slot_release(cg, 1, 0, &err), &err);
  holds(group, "memory.max", "67108864");
  holds(group, "pids.max", "8");
  assert_int_equal(mf_cgroup_slot_oom_kills(cg, 1), 0);
  assert_int_equal(mf_cgroup_slot_cpu_us(cg, 1), 0);

  mf_cgroup_free(cg);
  assert_int_equal(entries_of(own), 0);
}

static void v2_steps_aside_when_the_group_is_ours(void **state)
{
  struct mf_err err = { 0 };
  char text[64];
  snprintf(text, sizeof text, "%d\n%d\n", (int)getpid(), (int)getppid());
  put(own, "cgroup.procs", text);
  struct mf_cgroup *cg = new_fake(&err);
  assert_int_equal(mf_cgroup_kind(cg), MF_CGROUP_V2);
  snprintf(text, sizeof text, "mayfly-host-%d-%llu", (int)getpid(), (unsigned long long)mf_cgroup_start_time(getpid()));
  char moved[64];
  snprintf(moved, sizeof moved, "%d\n%d\n", (int)getpid(), (int)getppid());
  holds(text, "cgroup.procs", moved);
  /* the played kernel does not take them out of the leaf again, so help it before the end */
  char host[1200];
  snprintf(host, sizeof host, "%s/%s", own, text);
  put(host, "cgroup.procs", "");
  mf_cgroup_free(cg);
  holds(".", "cgroup.subtree_control", "-memory -pids");
  snprintf(moved, sizeof moved, "%d\n%d\n", (int)getppid(), (int)getpid());
  holds(".", "cgroup.procs", moved);
  assert_int_equal(entries_of(own), 0);
}

static void v2_lets_a_group_of_others_be(void **state)
{
  struct mf_err err = { 0 };
  char text[64];
  snprintf(text, sizeof text, "1\n%d\n", (int)getpid());
  put(own, "cgroup.procs", text);
  struct mf_cgroup *cg = new_fake(&err);
  assert_int_equal(mf_cgroup_kind(cg), MF_CGROUP_NONE);
  assert_false(mf_cgroup_is_active(cg));
  assert_non_null(strstr(err.msg, "hand memory and pids down"));
  holds(".", "cgroup.procs", text);
  assert_int_equal(entries_of(own), 0);
  mf_cgroup_free(cg);
}

static void nothing_delegated(void **state)
{
  struct mf_err err = { 0 };
  put(own, "cgroup.controllers", "cpu io pids memoryx\n");
  struct mf_cgroup *cg = new_fake(&err);
  assert_int_equal(mf_cgroup_kind(cg), MF_CGROUP_NONE);
  assert_non_null(strstr(err.msg, "not delegated"));
  /* all calls are fine without groups */
  int fds[2];
  unsigned n = 7;
  assert_ok(mf_cgroup_slot_join(cg, 0, fds, &n, &err), &err);
  assert_int_equal(n, 0);
  assert_ok(mf_cgroup_slot_limit(cg, 0, MB, 1, &err), &err);
  assert_ok(mf_cgroup_slot_release(cg, 0, 0, &err), &err);
  assert_int_equal(mf_cgroup_slot_peak(cg, 0), 0);
  mf_cgroup_free(cg);
  assert_int_equal(entries_of(own), 0);
}

/* ---- sweeping ---- */

static void sweeps_only_what_the_dead_left(void **state)
{
  char path[1200], alive[128];
  static const char *const left[] = { "mayfly-999999999-5", "mayfly-999999999-5/0", "mayfly-999999999-5/17",
                                      "mayfly-1-1" /* another start time than init's */, "mayfly-host-999999999-5" };
  static const char *const kept[] = { "user.slice", "mayfly-x", "mayfly-999999999-6", "mayfly-999999999-6/3" };
  for (size_t i = 0; i < MF_ARRAY_N(left); i++) {
    snprintf(path, sizeof path, "%s/%s", own, left[i]);
    assert_int_equal(mkdir(path, 0755), 0);
  }
  for (size_t i = 0; i < MF_ARRAY_N(kept); i++) {
    snprintf(path, sizeof path, "%s/%s", own, kept[i]);
    assert_int_equal(mkdir(path, 0755), 0);
  }
  snprintf(path, sizeof path, "%s/%s", own, own_name(alive));
  assert_int_equal(mkdir(path, 0755), 0);
  /* its pid looks dead from here, but its supervisor lives and holds the lock */
  snprintf(path, sizeof path, "%s/mayfly-999999999-6", own);
  mf_auto_close int locked = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  assert_int_equal(flock(locked, LOCK_EX | LOCK_NB), 0);
  /* a process is left in this one: a file keeps a directory from being removed as a process does */
  snprintf(path, sizeof path, "%s/mayfly-999999999-7", own);
  assert_int_equal(mkdir(path, 0755), 0);
  snprintf(path, sizeof path, "%s/mayfly-999999999-7/0", own);
  assert_int_equal(mkdir(path, 0755), 0);
  put(path, "busy", "");

  struct mf_cgroup_place place = { 0 };
  snprintf(place.v2, sizeof place.v2, "%s", own);
  assert_int_equal(mf_cgroup_sweep_at(&place), 1);
  for (size_t i = 0; i < MF_ARRAY_N(left); i++) {
    snprintf(path, sizeof path, "%s/%s", own, left[i]);
    if (access(path, F_OK) == 0)
      fail_msg("%s was left", left[i]);
  }
  for (size_t i = 0; i < MF_ARRAY_N(kept); i++) {
    snprintf(path, sizeof path, "%s/%s", own, kept[i]);
    if (access(path, F_OK) != 0)
      fail_msg("%s was removed", kept[i]);
  }
  snprintf(path, sizeof path, "%s/%s", own, alive);
  assert_int_equal(access(path, F_OK), 0);

  snprintf(path, sizeof path, "%s/mayfly-999999999-7/0/busy", own);
  assert_int_equal(unlink(path), 0);
  assert_int_equal(mf_cgroup_sweep_at(&place), 0);
  memset(&place, 0, sizeof place);
  assert_int_equal(mf_cgroup_sweep_at(&place), 0);
}

static unsigned sweep_counted(void *user)
{
  unsigned *n = user;
  ++*n;
  return 1; /* busy, for ever */
}

static void sweeps_again_while_groups_are_busy(void **state)
{
  unsigned n = 0;
  struct mf_cgroup_sweeper s = { .sweep = sweep_counted, .user = &n, .pause_ms = 50 };
  const uint64_t ms = 1000000;
  mf_cgroup_sweeper_tick(&s, 1000 * ms);
  assert_int_equal(n, 0); /* nothing has begun */
  mf_cgroup_sweeper_begin(&s, 1000 * ms);
  mf_cgroup_sweeper_tick(&s, 1000 * ms - 1);
  assert_int_equal(n, 0);
  uint64_t now = s.due_ns;
  for (unsigned i = 0; i < 40; i++) {
    mf_cgroup_sweeper_tick(&s, now);
    assert_int_equal(n, i + 1);
    assert_int_equal(s.due_ns - now, 50 * ms);
    now = s.due_ns;
  }
  for (unsigned i = 0; i < 3; i++) { /* now and then, for as long as it takes */
    mf_cgroup_sweeper_tick(&s, now);
    assert_int_equal(n, 41 + i);
    assert_int_equal(s.due_ns - now, 5000 * ms);
    now = s.due_ns;
  }
  /* At the end soon again, since it is waited for, and not for ever. */
  for (unsigned i = 0; i < 40; i++) {
    assert_int_equal(mf_cgroup_sweeper_close(&s, now), now + 50 * ms);
    assert_int_equal(n, 44 + i);
    assert_int_equal(mf_cgroup_sweeper_close(&s, now + 1), now + 50 * ms); /* not yet */
    now = s.due_ns;
  }
  assert_int_equal(mf_cgroup_sweeper_close(&s, now), 0);
  assert_int_equal(n, 83);

  struct mf_cgroup_sweeper none = { .sweep = NULL };
  mf_cgroup_sweeper_begin(&none, 1);
  mf_cgroup_sweeper_tick(&none, 2);
  assert_int_equal(mf_cgroup_sweeper_close(&none, 3), 0);
}

/* ---- the real ones ---- */

/* TSan's shadow is a multiple of the memory that a child touches, and it has a thread of its own: the figures of the
 * groups then tell of the sanitizer. */
#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN
#endif
#endif

static struct mf_cgroup *new_real(struct mf_err *why)
{
  const struct mf_cgroup_options o = { .slot_n = 4, .memory_bytes = 64 * MB, .pids = 16, .probe_join = true };
  return mf_cgroup_new(&o, why);
}

#ifndef UNDER_TSAN
/* As the supervisor does: the kernel gives memory back a little after the process that had it. */
static void release_slot(struct mf_cgroup *cg, unsigned slot)
{
  struct mf_err err;
  for (unsigned tries = 0; mf_cgroup_slot_release(cg, slot, tries, &err) != MF_OK; tries++) {
    if (tries == 100)
      fail_msg("%s", err.msg);
    usleep(20000);
  }
}

/* A child that joins slot 0 and touches `bytes`; returns its wait status. */
static int run_in_slot(struct mf_cgroup *cg, size_t bytes)
{
  int fds[2];
  unsigned n = 0;
  struct mf_err err;
  assert_ok(mf_cgroup_slot_join(cg, 0, fds, &n, &err), &err);
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    for (unsigned i = 0; i < n; i++) {
      if (write(fds[i], "0", 1) != 1)
        _exit(9);
    }
    char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
      _exit(8);
    for (size_t i = 0; i < bytes; i += 4096)
      p[i] = 1;
    _exit(3);
  }
  int status = 0;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  return status;
}

static void real_groups_hold(void **state)
{
  struct mf_err why = { 0 }, err;
  struct mf_cgroup_place place;
  struct mf_cgroup *cg = new_real(&why);
  if (mf_cgroup_kind(cg) == MF_CGROUP_NONE) {
    mf_cgroup_free(cg);
    print_message("# no memory control group can be made here: %s\n", why.msg);
    skip();
  }
  int status = run_in_slot(cg, 20 * MB);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 3);
  assert_int_equal(mf_cgroup_slot_oom_kills(cg, 0), 0);
  assert_true(mf_cgroup_slot_peak(cg, 0) >= 20 * MB);
  release_slot(cg, 0);
  assert_true(mf_cgroup_slot_peak(cg, 0) < 20 * MB);

  status = run_in_slot(cg, 100 * MB);
  assert_true(WIFSIGNALED(status));
  assert_int_equal(WTERMSIG(status), SIGKILL);
  assert_true(mf_cgroup_slot_oom_kills(cg, 0) >= 1);
  release_slot(cg, 0);
  assert_int_equal(mf_cgroup_slot_oom_kills(cg, 0), 0);

  /* higher, lower, and back to what is preset */
  assert_ok(mf_cgroup_slot_limit(cg, 0, 200 * MB, 16, &err), &err);
  status = run_in_slot(cg, 100 * MB);
  assert_true(WIFEXITED(status));
  release_slot(cg, 0);
  assert_ok(mf_cgroup_slot_limit(cg, 0, 32 * MB, 16, &err), &err);
  status = run_in_slot(cg, 50 * MB);
  assert_true(WIFSIGNALED(status));
  release_slot(cg, 0);
  status = run_in_slot(cg, 50 * MB);
  assert_true(WIFEXITED(status));

  char name[128], path[1200];
  assert_ok(mf_cgroup_place_self(&place, &err), &err);
  const char *base = mf_cgroup_kind(cg) == MF_CGROUP_V2 ? place.v2 : place.v1_memory;
  snprintf(path, sizeof path, "%s/%s", base, own_name(name));
  assert_int_equal(access(path, F_OK), 0);
  mf_cgroup_free(cg);
  assert_int_not_equal(access(path, F_OK), 0);
}

/* Two managers of one process do not share a name: what one removes is not the other's. */
static void two_managers_of_a_process(void **state)
{
  struct mf_err why = { 0 };
  char tails[2][128];
  struct mf_cgroup *first = new_real(&why), *second = new_real(&why);
  if (mf_cgroup_kind(first) != MF_CGROUP_V1 || mf_cgroup_kind(second) != MF_CGROUP_V1) {
    mf_cgroup_free(second);
    mf_cgroup_free(first);
    print_message("# two memory control groups cannot be made side by side here: %s\n", why.msg);
    skip();
  }
  mf_cgroup_slot_tail(first, 0, tails[0], sizeof tails[0]);
  mf_cgroup_slot_tail(second, 0, tails[1], sizeof tails[1]);
  assert_string_not_equal(tails[0], tails[1]);
  int status = run_in_slot(second, 20 * MB);
  assert_true(WIFEXITED(status));
  release_slot(second, 0);
  mf_cgroup_free(first);
  status = run_in_slot(second, 100 * MB);
  assert_true(WIFSIGNALED(status));
  release_slot(second, 0);
  mf_cgroup_free(second);
}

/* A process that joined, and whoever started it, both ask the kernel. */
static void real_membership_is_seen(void **state)
{
  struct mf_err why = { 0 }, err;
  struct mf_cgroup *cg = new_real(&why);
  if (!mf_cgroup_is_active(cg)) {
    mf_cgroup_free(cg);
    print_message("# no control group can be made here: %s\n", why.msg);
    skip();
  }
  int fds[2], gate[2], told[2];
  unsigned n = 0;
  char tail[128], byte = 0;
  assert_ok(mf_cgroup_slot_join(cg, 1, fds, &n, &err), &err);
  mf_cgroup_slot_tail(cg, 1, tail, sizeof tail);
  assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
  assert_int_equal(pipe2(told, O_CLOEXEC), 0);
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    bool before = mf_cgroup_check_self(tail, n, NULL) == MF_OK, joined = true;
    for (unsigned i = 0; i < n; i++)
      joined = joined && write(fds[i], "0", 1) == 1;
    bool after = mf_cgroup_check_self(tail, n, NULL) == MF_OK;
    close(gate[1]);
    byte = !before && joined && after ? 'y' : 'n';
    (void)!write(told[1], &byte, 1);
    (void)!read(gate[0], &byte, 1);
    _exit(0);
  }
  assert_int_equal(read(told[0], &byte, 1), 1);
  assert_int_equal(byte, 'y');
  assert_true(mf_cgroup_slot_holds(cg, 1, pid));
  assert_false(mf_cgroup_slot_holds(cg, 1, getpid()));
  for (int i = 0; i < 2; i++) {
    close(gate[i]);
    close(told[i]);
  }
  assert_int_equal(waitpid(pid, NULL, 0), pid);
  assert_false(mf_cgroup_slot_holds(cg, 1, pid));
  mf_cgroup_free(cg);
}

/* A pids group stops a bomb where the user namespace does not. */
static void real_pids_hold(void **state)
{
  struct mf_err why = { 0 }, err;
  struct mf_cgroup *cg = new_real(&why);
  if (!mf_cgroup_has_pids(cg)) {
    mf_cgroup_free(cg);
    print_message("# no pids control group can be made here: %s\n", why.msg);
    skip();
  }
  int fds[2];
  unsigned n = 0;
  assert_ok(mf_cgroup_slot_join(cg, 2, fds, &n, &err), &err);
  assert_ok(mf_cgroup_slot_limit(cg, 2, 64 * MB, 3, &err), &err);
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    for (unsigned i = 0; i < n; i++) {
      if (write(fds[i], "0", 1) != 1)
        _exit(99);
    }
    int made = 0;
    pid_t kids[8];
    for (int i = 0; i < 8; i++) {
      kids[i] = fork();
      if (kids[i] == 0)
        pause();
      made += kids[i] > 0;
    }
    for (int i = 0; i < 8; i++) {
      if (kids[i] > 0)
        kill(kids[i], SIGKILL);
    }
    while (wait(NULL) > 0)
      ;
    _exit(made);
  }
  int status = 0;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 2); /* the program itself is the third */
  release_slot(cg, 2);
  mf_cgroup_free(cg);
}
#endif

/* What a supervisor that was killed leaves is found by its name and removed. */
static void real_sweep(void **state)
{
  struct mf_err why = { 0 }, err;
  struct mf_cgroup *probe = new_real(&why);
  bool works = mf_cgroup_is_active(probe);
  mf_cgroup_free(probe);
  if (!works) {
    print_message("# no control group can be made here: %s\n", why.msg);
    skip();
  }
  pid_t pid = fork();
  assert_true(pid >= 0);
  char path[1200] = "", name[128];
  if (pid == 0) {
    struct mf_cgroup *cg = new_real(NULL);
    int fds[2];
    unsigned n;
    _exit(mf_cgroup_slot_join(cg, 1, fds, &n, NULL) == MF_OK ? 0 : 1);
  }
  uint64_t start = mf_cgroup_start_time(pid);
  int status = 0;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(status, 0);
  snprintf(name, sizeof name, "mayfly-%d-%llu", (int)pid, (unsigned long long)start);
  struct mf_cgroup_place place;
  assert_ok(mf_cgroup_place_self(&place, &err), &err);
  const char *base = place.v1_memory[0] ? place.v1_memory : place.v2;
  snprintf(path, sizeof path, "%s/%s", base, name);
  assert_true(start > 0);
  assert_int_equal(access(path, F_OK), 0);
  for (int i = 0; i < 100 && mf_cgroup_sweep(NULL) > 0; i++)
    usleep(10000);
  assert_int_not_equal(access(path, F_OK), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(places),
    cmocka_unit_test(names),
    cmocka_unit_test(start_times),
    cmocka_unit_test(counts_groups_by_their_end),
    cmocka_unit_test_setup_teardown(v2_limits_counters_and_reuse, make_tree, remove_tree),
    cmocka_unit_test_setup_teardown(v2_steps_aside_when_the_group_is_ours, make_tree, remove_tree),
    cmocka_unit_test_setup_teardown(v2_lets_a_group_of_others_be, make_tree, remove_tree),
    cmocka_unit_test_setup_teardown(nothing_delegated, make_tree, remove_tree),
    cmocka_unit_test_setup_teardown(sweeps_only_what_the_dead_left, make_tree, remove_tree),
    cmocka_unit_test(sweeps_again_while_groups_are_busy),
#ifndef UNDER_TSAN
    cmocka_unit_test(real_groups_hold),
    cmocka_unit_test(two_managers_of_a_process),
    cmocka_unit_test(real_membership_is_seen),
    cmocka_unit_test(real_pids_hold),
#endif
    cmocka_unit_test(real_sweep),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

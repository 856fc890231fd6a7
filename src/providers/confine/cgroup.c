/* The manager of control groups: finds out what works, and takes everything away at the end. Thread: the supervisor's.
 *
 * A group that one may make is not yet a group that one may use, so each step is really done once: make a group, set
 * its limits, (where in doubt) move a process in, remove it. cgroup-slot.c works with the result. */
#include "confine/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/num.h"
#include "base/str.h"
#include "cgroup-internal.h"

#include "base/banned.h"

static int make_dir(const char *path)
{
  return mkdir(path, 0755);
}

static int put_file(const char *path, const char *text)
{
  return mf_cgroup_put(AT_FDCWD, path, text);
}

/* ---- control files ---- */

int mf_cgroup_put(int dirfd, const char *path, const char *text)
{
  mf_auto_close int fd = openat(dirfd, path, O_WRONLY | O_TRUNC | O_CLOEXEC);
  if (fd < 0)
    return errno;
  return write(fd, text, strlen(text)) < 0 ? errno : 0;
}

int mf_cgroup_put_u64(int dirfd, const char *path, uint64_t v)
{
  char text[32];
  snprintf(text, sizeof text, "%llu", (unsigned long long)v);
  return mf_cgroup_put(dirfd, path, text);
}

bool mf_cgroup_get(int dirfd, const char *path, char *ret, size_t n)
{
  mf_auto_close int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return false;
  ssize_t got = read(fd, ret, n - 1);
  ret[got > 0 ? got : 0] = '\0';
  return got >= 0;
}

bool mf_cgroup_number(const char *text, const char *key, uint64_t *ret)
{
  size_t key_n = strlen(key);
  for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
    if (strncmp(line, key, key_n) != 0 || (key_n > 0 && line[key_n] != ' '))
      continue;
    const char *digits = line + key_n + (key_n > 0);
    struct mf_str s = { digits, strspn(digits, "0123456789") };
    return mf_parse_u64(s, "counter", 0, UINT64_MAX, ret, NULL) == MF_OK;
  }
  return false;
}

/* A word of a list such as cgroup.controllers. */
static bool lists_word(const char *text, const char *word)
{
  size_t n = strlen(word);
  for (const char *at = text; (at = strstr(at, word)); at += n) {
    if ((at == text || at[-1] == ' ') && (at[n] == '\0' || at[n] == ' ' || at[n] == '\n'))
      return true;
  }
  return false;
}

static bool dir_lists(const char *dir, const char *file, const char *word)
{
  char path[MF_CGROUP_PATH_MAX + 64], text[512];
  snprintf(path, sizeof path, "%s/%s", dir, file);
  return mf_cgroup_get(AT_FDCWD, path, text, sizeof text) && lists_word(text, word);
}

static int put_in(const struct mf_cgroup *cg, const char *dir, const char *file, const char *text)
{
  char path[MF_CGROUP_PATH_MAX + 64];
  snprintf(path, sizeof path, "%s/%s", dir, file);
  return cg->dirs.put(path, text);
}

static int put_pid(const struct mf_cgroup *cg, const char *dir, pid_t pid)
{
  char text[32];
  snprintf(text, sizeof text, "%d", (int)pid);
  return put_in(cg, dir, "cgroup.procs", text);
}

/* ---- the parents of the slots ---- */

static void drop_root(struct mf_cgroup *cg, int which)
{
  if (cg->root[which].fd < 0)
    return;
  /* the last guest may be between its end and its reap by an init that was just killed */
  for (int i = 0; cg->dirs.remove(cg->root[which].path) != 0 && errno == EBUSY && i < 50; i++)
    nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
  mf_close_ptr(&cg->root[which].fd);
  cg->root[which].path[0] = '\0';
}

/* Another manager of this process has the name: it holds the lock, for as long as it lives. */
static bool is_taken(int fd)
{
  return flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

static int open_root(struct mf_cgroup *cg, int which, const char *base)
{
  char *path = cg->root[which].path, name[MF_CGROUP_NAME_MAX];
  mf_cgroup_name(cg, name, sizeof name);
  if (snprintf(path, MF_CGROUP_PATH_MAX, "%s/%s", base, name) >= MF_CGROUP_PATH_MAX)
    return ENAMETOOLONG;
  if (cg->dirs.make(path) != 0 && errno != EEXIST)
    return errno;
  cg->root[which].fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (cg->root[which].fd < 0) {
    int error = errno;
    (void)cg->dirs.remove(path);
    return error;
  }
  return 0;
}

static int make_root(struct mf_cgroup *cg, int which, const char *base)
{
  /* One name in both hierarchies. */
  bool is_named = which == MF_CGROUP_ROOT_PIDS && cg->root[MF_CGROUP_ROOT_MEMORY].fd >= 0;
  for (;;) {
    int error = open_root(cg, which, base);
    if (error || !is_taken(cg->root[which].fd))
      return error;
    mf_close_ptr(&cg->root[which].fd);
    cg->root[which].path[0] = '\0';
    if (is_named || cg->serial == MF_CGROUP_SERIAL_MAX)
      return EEXIST;
    cg->serial++;
  }
}

/* ---- v2: a group with processes may not hand controllers to its children ---- */

/* True when nobody but us (and our parent, where that is the provider) lives in the group: then it is ours to arrange.
 */
static bool is_exclusive(const struct mf_cgroup *cg, const char *dir)
{
  char path[MF_CGROUP_PATH_MAX + 64], text[256];
  snprintf(path, sizeof path, "%s/cgroup.procs", dir);
  if (!mf_cgroup_get(AT_FDCWD, path, text, sizeof text) || strlen(text) + 1 >= sizeof text)
    return false;
  bool self_seen = false;
  for (const char *line = text; *line;) {
    size_t n = strspn(line, "0123456789");
    uint64_t pid;
    if (mf_parse_u64((struct mf_str){ line, n }, "pid", 0, INT32_MAX, &pid, NULL) != MF_OK)
      return false;
    if ((pid_t)pid == getpid())
      self_seen = true;
    else if (cg->without_parent || (pid_t)pid != getppid())
      return false;
    line += n;
    line += *line == '\n';
  }
  return self_seen;
}

static int enable_controllers(struct mf_cgroup *cg, const char *own)
{
  if (dir_lists(own, "cgroup.subtree_control", "memory") && dir_lists(own, "cgroup.subtree_control", "pids"))
    return 0;
  int error = put_in(cg, own, "cgroup.subtree_control", "+memory +pids");
  if (error != EBUSY)
    return error;
  if (!is_exclusive(cg, own))
    return EBUSY;
  int n = snprintf(cg->host, sizeof cg->host, "%s/" MF_CGROUP_HOST_PREFIX "%d-%llu", own, (int)getpid(),
                   (unsigned long long)mf_cgroup_start_time(getpid()));
  if (n >= (int)sizeof cg->host) {
    cg->host[0] = '\0';
    return ENAMETOOLONG;
  }
  if (cg->dirs.make(cg->host) != 0) {
    error = errno;
    cg->host[0] = '\0';
    return error;
  }
  snprintf(cg->own, sizeof cg->own, "%s", own);
  error = put_pid(cg, cg->host, getpid());
  if (error == 0 && !cg->without_parent)
    error = put_pid(cg, cg->host, getppid());
  if (error == 0)
    error = put_in(cg, own, "cgroup.subtree_control", "+memory +pids");
  cg->controllers_enabled = error == 0;
  return error;
}

static void leave_host(struct mf_cgroup *cg)
{
  if (!cg->host[0])
    return;
  if (cg->controllers_enabled)
    (void)put_in(cg, cg->own, "cgroup.subtree_control", "-memory -pids");
  if (!cg->without_parent)
    (void)put_pid(cg, cg->own, getppid());
  (void)put_pid(cg, cg->own, getpid());
  (void)cg->dirs.remove(cg->host);
  cg->host[0] = '\0';
}

/* ---- probing ---- */

/* A short-lived process moves itself in, as a guest will. */
static int probe_join(const int *fds, unsigned n)
{
  pid_t pid = fork();
  if (pid < 0)
    return errno;
  if (pid == 0) {
    for (unsigned i = 0; i < n; i++) {
      if (write(fds[i], "0", 1) < 0)
        _exit(errno & 0x7f);
    }
    _exit(0);
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
    ;
  return WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
}

/* Slot 0 is made as every slot will be, then removed again. */
static enum mf_code probe_slot(struct mf_cgroup *cg, bool join, struct mf_err *err)
{
  int fds[2], error = 0;
  unsigned n;
  enum mf_code code = mf_cgroup_slot_join(cg, 0, fds, &n, err);
  if (code == MF_OK && join) {
    int failed = probe_join(fds, n);
    if (failed)
      code = mf_fail(err, MF_E_UNAVAILABLE, failed, "join a control group");
  }
  mf_cgroup_group_drop(cg, 0, &error);
  if (code == MF_OK && error)
    code = mf_fail(err, MF_E_UNAVAILABLE, error, "remove a control group");
  return code;
}

static enum mf_code try_v2(struct mf_cgroup *cg, const struct mf_cgroup_options *o, const char *own, struct mf_err *err)
{
  if (!own[0])
    return mf_fail(err, MF_E_UNAVAILABLE, 0, "cgroup v2 is not mounted");
  if (!dir_lists(own, "cgroup.controllers", "memory") || !dir_lists(own, "cgroup.controllers", "pids"))
    return mf_fail(err, MF_E_UNAVAILABLE, 0, "cgroup v2: memory and pids are not delegated to '%s'", own);
  int error = enable_controllers(cg, own);
  if (error)
    return mf_fail(err, MF_E_UNAVAILABLE, error, "cgroup v2: hand memory and pids down from '%s'", own);
  error = make_root(cg, MF_CGROUP_ROOT_MEMORY, own);
  if (error)
    return mf_fail(err, MF_E_UNAVAILABLE, error, "cgroup v2: make a group in '%s'", own);
  cg->is_v2 = true;
  cg->kind = MF_CGROUP_V2;
  cg->has_pids = true;
  error = put_in(cg, cg->root[0].path, "cgroup.subtree_control", "+memory +pids");
  if (error)
    return mf_fail(err, MF_E_UNAVAILABLE, error, "cgroup v2: use memory and pids in '%s'", cg->root[0].path);
  return probe_slot(cg, o->probe_join, err);
}

static void undo(struct mf_cgroup *cg)
{
  drop_root(cg, MF_CGROUP_ROOT_MEMORY);
  drop_root(cg, MF_CGROUP_ROOT_PIDS);
  leave_host(cg);
  cg->kind = MF_CGROUP_NONE;
  cg->is_v2 = cg->has_pids = false;
}

/* v1: memory and pids are hierarchies of their own, and one may work without the other. */
static enum mf_code try_v1(struct mf_cgroup *cg, const struct mf_cgroup_options *o, const struct mf_cgroup_place *place,
                           struct mf_err *err)
{
  enum mf_code code = mf_fail(err, MF_E_UNAVAILABLE, 0, "cgroup v1: no memory group of ours is mounted");
  /* a group of another owner refuses at the join only, so for all but root it is tried */
  bool join = o->probe_join && geteuid() != 0;
  if (place->v1_memory[0]) {
    int error = make_root(cg, MF_CGROUP_ROOT_MEMORY, place->v1_memory);
    if (error)
      code = mf_fail(err, MF_E_UNAVAILABLE, error, "cgroup v1: make a group in '%s'", place->v1_memory);
    else {
      cg->kind = MF_CGROUP_V1;
      code = probe_slot(cg, join, err);
      if (code != MF_OK) {
        drop_root(cg, MF_CGROUP_ROOT_MEMORY);
        cg->kind = MF_CGROUP_NONE;
      }
    }
  }
  if (place->v1_pids[0] && make_root(cg, MF_CGROUP_ROOT_PIDS, place->v1_pids) == 0) {
    cg->has_pids = true;
    if (probe_slot(cg, join, NULL) != MF_OK) {
      drop_root(cg, MF_CGROUP_ROOT_PIDS);
      cg->has_pids = false;
    }
  }
  return code;
}

struct mf_cgroup *mf_cgroup_new(const struct mf_cgroup_options *o, struct mf_err *why)
{
  struct mf_cgroup *cg = mf_xcalloc(1, sizeof *cg);
  cg->dirs = o->dirs ? *o->dirs : (struct mf_cgroup_dirs){ make_dir, rmdir, put_file };
  cg->memory_bytes = o->memory_bytes;
  cg->pids = o->pids;
  cg->slot_n = o->slot_n;
  cg->without_parent = o->without_parent;
  cg->root[0].fd = cg->root[1].fd = cg->reclaim.fd = -1;
  long cpu_n = sysconf(_SC_NPROCESSORS_CONF);
  cg->slack_bytes = (4u << 20) + (uint64_t)MF_MAX(cpu_n, 1) * (256u << 10);
  cg->groups = mf_xcalloc(MF_MAX(o->slot_n, 1u), sizeof *cg->groups);

  struct mf_cgroup_place place;
  struct mf_err v2, v1;
  if (o->place)
    place = *o->place;
  else if (mf_cgroup_place_self(&place, why) != MF_OK)
    return cg;
  if (try_v2(cg, o, place.v2, &v2) == MF_OK)
    return cg;
  undo(cg);
  if (try_v1(cg, o, &place, &v1) != MF_OK)
    mf_fail(why, MF_E_UNAVAILABLE, 0, "%.180s; %.180s", v2.msg, v1.msg);
  return cg;
}

void mf_cgroup_free(struct mf_cgroup *cg)
{
  if (!cg)
    return;
  mf_cgroup_reclaim_end(cg);
  for (unsigned i = 0; i < cg->slot_n; i++) {
    int error = 0;
    for (int tries = 0; tries < 50; tries++) {
      mf_cgroup_group_drop(cg, i, &error);
      if (error != EBUSY)
        break;
      nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
    }
  }
  undo(cg);
  free(cg->groups);
  free(cg);
}

enum mf_cgroup_kind mf_cgroup_kind(const struct mf_cgroup *cg)
{
  return cg->kind;
}

bool mf_cgroup_has_pids(const struct mf_cgroup *cg)
{
  return cg->has_pids;
}

bool mf_cgroup_is_active(const struct mf_cgroup *cg)
{
  return cg->kind != MF_CGROUP_NONE || cg->has_pids;
}

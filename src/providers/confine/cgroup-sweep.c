/* What dead ones left at our place: removed, and looked for again while it is busy. */
#include "confine/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "base/time.h"
#include "cgroup-internal.h"

#include "base/banned.h"

#define SOON_MAX 40u  /* with pause_ms between them: 2 s */
#define SLOW_MS 5000u /* after those, unless it closes */

/* A directory of slots whose supervisor is dead: removed when all of it is empty. */
static bool sweep_group(int dirfd, const char *name)
{
  mf_auto_close int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0)
    return errno == ENOENT;
  /* the pid may be of another pid namespace and so only look dead: a live supervisor holds the lock */
  if (flock(fd, LOCK_EX | LOCK_NB) != 0)
    return true;
  int list_fd = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *d = list_fd >= 0 ? fdopendir(list_fd) : NULL;
  if (!d) {
    mf_close_ptr(&list_fd);
    return false;
  }
  for (struct dirent *e; (e = readdir(d));) {
    if (e->d_type == DT_DIR && e->d_name[0] != '.')
      (void)unlinkat(fd, e->d_name, AT_REMOVEDIR); /* EBUSY while a process is left */
  }
  closedir(d);
  return unlinkat(dirfd, name, AT_REMOVEDIR) == 0 || errno == ENOENT;
}

static unsigned sweep_dir(const char *path)
{
  DIR *d = path[0] ? opendir(path) : NULL;
  if (!d)
    return 0;
  unsigned busy = 0;
  for (struct dirent *e; (e = readdir(d));) {
    pid_t pid;
    uint64_t start;
    if (!mf_cgroup_name_parse(e->d_name, &pid, &start) || mf_cgroup_start_time(pid) == start)
      continue;
    bool is_host = mf_str_starts(mf_str_of(e->d_name), MF_CGROUP_HOST_PREFIX);
    bool done = sweep_group(dirfd(d), e->d_name);
    /* a leaf in which a process still lives is that process's home: it stays for as long as that */
    busy += !done && !is_host;
  }
  closedir(d);
  return busy;
}

unsigned mf_cgroup_sweep_at(const struct mf_cgroup_place *place)
{
  return sweep_dir(place->v2) + sweep_dir(place->v1_memory) + sweep_dir(place->v1_pids);
}

unsigned mf_cgroup_sweep(void *user)
{
  struct mf_cgroup_place place = { 0 };
  return mf_cgroup_place_self(&place, NULL) == MF_OK ? mf_cgroup_sweep_at(&place) : 0;
}

/* ---- again ---- */

void mf_cgroup_sweeper_begin(struct mf_cgroup_sweeper *s, uint64_t at_ns)
{
  if (!s->sweep)
    return;
  s->due_ns = at_ns;
  s->soon_left = SOON_MAX;
}

void mf_cgroup_sweeper_tick(struct mf_cgroup_sweeper *s, uint64_t now_ns)
{
  if (!s->due_ns || now_ns < s->due_ns)
    return;
  s->due_ns = 0;
  bool is_over = s->is_closing && s->soon_left == 0;
  if (is_over || s->sweep(s->user) == 0)
    return;
  /* On a busy machine the last process of a group can take long to end: then it is looked for now and then. */
  s->due_ns = now_ns + (s->soon_left > 0 ? s->pause_ms : SLOW_MS) * MF_NS_PER_MS;
  if (s->soon_left > 0)
    s->soon_left--;
}

uint64_t mf_cgroup_sweeper_close(struct mf_cgroup_sweeper *s, uint64_t now_ns)
{
  if (!s->is_closing) {
    s->is_closing = true;
    mf_cgroup_sweeper_begin(s, now_ns);
  }
  mf_cgroup_sweeper_tick(s, now_ns);
  return s->due_ns;
}

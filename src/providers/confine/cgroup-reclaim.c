/* Takes back what a run left charged to its group. Thread: the supervisor's, and one of its own.
 *
 * The kernel frees page after page and name after name before the write returns: a second for a hundred megabytes of
 * looked-up names. Nobody else shall wait for that, so a thread does it, one group at a time. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "cgroup-internal.h"

#include "base/banned.h"

static void *reclaim_main(void *user)
{
  struct mf_cgroup_reclaim *r = user;
  (void)!write(r->fd, r->text, strlen(r->text)); /* what is left is seen in the group's usage */
  atomic_store(&r->is_done, true);
  return NULL;
}

static void end_thread(struct mf_cgroup_reclaim *r)
{
  (void)pthread_join(r->thread, NULL);
  mf_close_ptr(&r->fd);
  r->is_started = false;
}

static bool is_busy(struct mf_cgroup_reclaim *r)
{
  if (r->is_started && atomic_load(&r->is_done))
    end_thread(r);
  return r->is_started;
}

bool mf_cgroup_reclaim_is_busy(struct mf_cgroup *cg, unsigned slot)
{
  return is_busy(&cg->reclaim) && cg->reclaim.slot == slot;
}

void mf_cgroup_reclaim_start(struct mf_cgroup *cg, unsigned slot, uint64_t usage)
{
  struct mf_cgroup_reclaim *r = &cg->reclaim;
  char path[96];
  if (is_busy(r))
    return; /* with another group: this one asks again, or is made anew */
  snprintf(path, sizeof path, "%u/%s", slot, cg->is_v2 ? "memory.reclaim" : "memory.force_empty");
  r->fd = openat(cg->root[MF_CGROUP_ROOT_MEMORY].fd, path, O_WRONLY | O_CLOEXEC);
  if (r->fd < 0)
    return;
  r->slot = slot;
  snprintf(r->text, sizeof r->text, "%llu", (unsigned long long)(cg->is_v2 ? usage : 0));
  atomic_store(&r->is_done, false);
  sigset_t all, old;
  sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are for the loop */
  r->is_started = pthread_create(&r->thread, NULL, reclaim_main, r) == 0;
  (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
  if (!r->is_started)
    mf_close_ptr(&r->fd);
}

void mf_cgroup_reclaim_end(struct mf_cgroup *cg)
{
  if (!cg->reclaim.is_started)
    return;
  (void)pthread_cancel(cg->reclaim.thread); /* the signal ends the write early */
  end_thread(&cg->reclaim);
}

/* Spawning and reaping of processes of the house: the mayfly program again, under another name, with an empty
 * environment and nothing inherited but the descriptors that it is given. */
#ifndef MF_CONFINE_SPAWN_H
#define MF_CONFINE_SPAWN_H

#include <spawn.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/pidref.h"

/* A session of its own, no signal blocked, every signal's action the default. Returns 0 or errno. Thread: any. */
int mf_spawn_plan_attr(posix_spawnattr_t *attr);

#define MF_SPAWN_FDS_MAX 8u

struct mf_spawn_spec {
  const char *program; /* the file; NULL: this very program */
  const char *argv0;   /* what it is called, and its only argument */
  const int *fds;      /* become 3, 4, … there; borrowed */
  unsigned fd_n;       /* at most MF_SPAWN_FDS_MAX */
  bool has_stderr;     /* it keeps our standard error; else that is /dev/null like the other two */
};

/* Executes it in a session of its own. *ret is our child, to be reaped with mf_spawn_reap. MF_E_SYS.
 * Thread: any (posix_spawn shares no lock with the child). */
MF_MUST_USE enum mf_code mf_spawn(const struct mf_spawn_spec *spec, struct mf_pidref *ret, struct mf_err *err);

/* Puts a configuration into a new descriptor, offset 0. */
MF_MUST_USE enum mf_code mf_spawn_config_fd(const void *config, size_t n, int *ret_fd, struct mf_err *err);
/* A SOCK_SEQPACKET pair: *ret_ours is non-blocking, *ret_theirs blocks. */
MF_MUST_USE enum mf_code mf_spawn_socket(int *ret_ours, int *ret_theirs, struct mf_err *err);

/* Reaps a child of ours that has ended and releases `p`; false when it still runs. *ret_status as wait(2), -1 when
 * another one reaped it. */
bool mf_spawn_reap(struct mf_pidref *p, int *ret_status);

/* "exit status 3", "signal 9": for messages about a process of ours. */
void mf_spawn_status_words(int status, char *ret, size_t n);

#endif

/* The parts of mf_local_probe: single attempts in short-lived processes, and the whole through a supervisor. */
#ifndef MF_LOCAL_PROBE_H
#define MF_LOCAL_PROBE_H

#include <stdbool.h>

#include "local/local.h"

/* What an attempt found. Crosses a pipe, so it has no pointers. */
struct mf_attempt {
  bool ok;
  int sys;       /* errno of the step that failed */
  char step[48]; /* that step, in the words of mf_local_remedy */
  char note[300];
};

enum mf_attempt_kind {
  MF_ATTEMPT_USER,
  MF_ATTEMPT_PID,
  MF_ATTEMPT_MOUNT,
  MF_ATTEMPT_NET,
  MF_ATTEMPT_IPC,
  MF_ATTEMPT_UTS,
  MF_ATTEMPT_PROC,
  MF_ATTEMPT_PIVOT,
  MF_ATTEMPT_NNP,
  MF_ATTEMPT_CAPS,
  MF_ATTEMPT_RLIMIT,
  MF_ATTEMPT_SECCOMP,
  MF_ATTEMPT_LANDLOCK,
  MF_ATTEMPT_PIDFD,
  MF_ATTEMPT_MEMFD,
  MF_ATTEMPT_OPENAT2,
  MF_ATTEMPT_CLOSE_RANGE,
  MF_ATTEMPT_CGROUP, /* ok: a group limits memory and processes */
  MF_ATTEMPT_PAGES,
  MF_ATTEMPT_N
};

/* Really does it, in a process of its own that is gone when this returns (at the latest after 10 s). The process must
 * be single-threaded. */
void mf_attempt(enum mf_attempt_kind kind, struct mf_attempt *ret);

/* Starts a provider as `config` says with isolation "require" and runs print(1). ret->note: what was seen. Runs a loop
 * of its own. *ret_info is what the supervisor told, zeroed when it did not come so far. */
void mf_probe_whole(const struct mf_local_config *config, struct mf_attempt *ret, struct mf_local_info *ret_info);

#endif

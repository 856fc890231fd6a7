/* Birth of the supervisor: the mayfly program (for itself: this one again), under another name, with an empty
 * environment and two descriptors. */
#ifndef MF_LOCAL_SUPERVISOR_SPAWN_H
#define MF_LOCAL_SUPERVISOR_SPAWN_H

#include "base/err.h"
#include "base/pidref.h"
#include "supervisor-config.h"

/* Executes `program` (NULL: /proc/self/exe, this very program) as "mayfly-supervisor" in a session of its own, so that
 * a terminal's Ctrl-C reaches only us and the runs end in order. It inherits standard error for its log, /dev/null for
 * the rest, the configuration on 3 and its end of the socket on 4, and nothing else: no environment, no other
 * descriptor. It ends when our end of the socket closes, also by our death.
 *
 * Thread: any (posix_spawn shares no lock with the child). *ret_sock is non-blocking and the caller's; *ret_sup is our
 * child, to be reaped with mf_spawn_reap. */
MF_MUST_USE enum mf_code mf_spawn_supervisor(const char *program, const struct mf_supervisor_config *config,
                                             struct mf_pidref *ret_sup, int *ret_sock, struct mf_err *err);

#endif

/* A process is a pidfd: immune to pid reuse, pollable (readable when it has ended). */
#ifndef MF_BASE_PIDREF_H
#define MF_BASE_PIDREF_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct mf_pidref {
  pid_t pid; /* in our pid namespace; 0 when unset */
  int fd;    /* pidfd, owned; -1 when unset */
};
#define MF_PIDREF_NULL ((struct mf_pidref){ 0, -1 })

/* Takes `pidfd` (consumed) and learns its pid from /proc/self/fdinfo. MF_E_GONE when it is not visible or dead. */
MF_MUST_USE enum mf_code mf_pidref_from_fd(struct mf_pidref *ret, int pidfd, struct mf_err *err);
MF_MUST_USE enum mf_code mf_pidref_open(struct mf_pidref *ret, pid_t pid, struct mf_err *err);
void mf_pidref_done(struct mf_pidref *p);
/* A process that has ended already is success. */
enum mf_code mf_pidref_signal(const struct mf_pidref *p, int sig, struct mf_err *err);
bool mf_pidref_is_dead(const struct mf_pidref *p);

#endif

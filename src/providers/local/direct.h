/* Isolation "none": the host's Python in a private temporary directory, for development and tests on machines where the
 * sandbox cannot be built. It protects nothing; the receipt says so.
 *
 * Speaks to the provider as the supervisor does: output, finished, reaped. */
#ifndef MF_LOCAL_DIRECT_H
#define MF_LOCAL_DIRECT_H

#include "sandbox/job.h"
#include "local/local.h"
#include "sandbox/frames.h"
#include "tempdir.h"

struct mf_direct;

struct mf_direct_events {
  void (*started)(void *user);
  void (*output)(void *user, bool is_stderr, struct mf_str raw);
  /* dir_fd is the receiver's. `reaped` follows at once. */
  void (*finished)(void *user, const struct mf_sup_finished *f, int dir_fd);
  void (*reaped)(void *user); /* the receiver frees the mf_direct inside or after this call */
};

struct mf_direct_spec {
  const char *rootfs;  /* for its site-packages */
  const char *scripts; /* the folder of display.py and figures.py */
  const struct mf_runtime_info *runtime;
  const struct mf_sandbox_limits *limits;
  uint64_t file_bytes_max; /* RLIMIT_FSIZE */
};

/* Starts a program. Everything given is copied or used up inside; events come from the loop. `events` must outlive
 * it. Errors: MF_E_UNAVAILABLE (no host Python), MF_E_SYS. */
MF_MUST_USE enum mf_code mf_direct_start(struct mf_loop *loop, const struct mf_direct_spec *spec,
                                         const struct mf_job *job, const struct mf_direct_events *events, void *user,
                                         struct mf_direct **ret, struct mf_err *err);
/* Ends the process group; the events follow. The first cause stays. */
void mf_direct_kill(struct mf_direct *d, enum mf_kill_cause cause);
/* Gives the directory away, once the process has ended: removing it may take seconds, which is not for the loop. */
void mf_direct_take_dir(struct mf_direct *d, struct mf_tempdir *ret);
/* Kills what is left, removes the directory. NULL is fine; returns NULL. No events any more. */
struct mf_direct *mf_direct_free(struct mf_direct *d);

#endif

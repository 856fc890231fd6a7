/* The outer sandbox: a zygote's home. Starts `python boot.py` as a grandchild inside new user, pid, mount, net, ipc
 * and uts namespaces on the runtime's read-only root, with an empty environment but for the guest's own variables,
 * as an unprivileged user, below a tiny init that dies with us. */
#ifndef MF_LOCAL_OUTER_H
#define MF_LOCAL_OUTER_H

#include "base/err.h"
#include "base/pidref.h"
#include "sandbox/frames.h"

struct mf_outer_spec {
  const char *rootfs;          /* the runtime's root directory */
  const char *zygote_dir;      /* bound read-only at /opt/mayfly */
  const char *python_path;     /* inside the rootfs */
  const char *cgroup_procs[2]; /* cgroup.procs paths that the zygote joins, or NULL */
  struct mf_zygote_config config;
};

/* Thread: a single-threaded process (the supervisor). Returns at once: *ret_init is the init of the new pid namespace
 * (killing it kills the zygote and all its children), *ret_sock our end of the zygote's socket (non-blocking).
 * Everything that fails later arrives on the socket as MF_ZYG_FATAL with the step's name, then end of file.
 * Steps: "unshare user", "unshare pid", "unshare mount", "unshare network", "unshare ipc", "unshare uts", "map user",
 * "mount root", "mount proc", "pivot root", "exec python", … The exact list is in outer.c. */
MF_MUST_USE enum mf_code mf_outer_start(const struct mf_outer_spec *spec, struct mf_pidref *ret_init, int *ret_sock,
                                        struct mf_err *err);

/* The SHA-256 of the seccomp program that holds every child, both parts in a row, for the receipt. */
MF_MUST_USE enum mf_code mf_outer_seccomp_sha256(int shared_anon_ok, char ret_hex[65], struct mf_err *err);

#endif

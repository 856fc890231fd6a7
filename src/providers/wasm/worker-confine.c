/* A worker's control group, user and resource limits. */
#include "worker-confine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "confine/cgroup.h"
#include "base/banned.h"

/* The user of every worker when we are root: too high to collide with an account or a common subuid range. */
#define WORKER_UID 1835401218u
#define FILE_BYTES_MAX (64ull << 20) /* more than all artifacts of a call */
#define FILES_MAX 512u               /* also bounds those on their way to the provider, for all workers together */

/* The parent may have ended before this; then nobody would ever send the signal. */
static enum mf_code die_with_parent(const struct mf_worker_config *config, struct mf_err *err)
{
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
    return mf_fail(err, MF_E_SYS, errno, "ask for the parent's death");
  if (getppid() != config->parent_pid)
    return mf_fail(err, MF_E_GONE, 0, "the parent has ended");
  return MF_OK;
}

enum mf_code mf_worker_attach(const struct mf_worker_config *config, struct mf_err *err)
{
  enum mf_code code = die_with_parent(config, err);
  if (code != MF_OK)
    return code;
  for (unsigned i = 0; i < config->cgroup_n; i++) {
    if (write(MF_WORKER_CGROUP_FD + (int)i, "0", 1) != 1)
      return mf_fail(err, MF_E_SYS, errno, "join the control group");
  }
  if (syscall(SYS_close_range, (unsigned)MF_WORKER_CGROUP_FD, ~0u, 0u) != 0)
    return mf_fail(err, MF_E_SYS, errno, "close what is not ours");
  if (config->cgroup_n > 0)
    return mf_cgroup_check_self(config->cgroup_tail, config->cgroup_n, err);
  return MF_OK;
}

/* Whether it shows where a page is in the machine's memory is decided by who opened it, whoever reads it later. */
int mf_worker_pagemap(void)
{
  const cap_value_t admin = CAP_SYS_ADMIN;
  int fd = -1;
  cap_t c = cap_get_proc();
  if (c && cap_set_flag(c, CAP_EFFECTIVE, 1, &admin, CAP_CLEAR) == 0 && cap_set_proc(c) == 0)
    fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  cap_free(c);
  return fd;
}

static enum mf_code set_limit(int which, uint64_t n, const char *name, struct mf_err *err)
{
  struct rlimit r;
  if (getrlimit((__rlimit_resource_t)which, &r) != 0)
    return mf_fail(err, MF_E_SYS, errno, "read the limit of %s", name);
  r.rlim_cur = r.rlim_max = MF_MIN((rlim_t)n, r.rlim_max); /* it is never raised: the host may have a lower one */
  if (setrlimit((__rlimit_resource_t)which, &r) != 0)
    return mf_fail(err, MF_E_SYS, errno, "limit %s", name);
  return MF_OK;
}

static enum mf_code drop_user(struct mf_err *err)
{
  if (geteuid() == 0) {
    if (setgroups(0, NULL) != 0 || setresgid(WORKER_UID, WORKER_UID, WORKER_UID) != 0 ||
        setresuid(WORKER_UID, WORKER_UID, WORKER_UID) != 0)
      return mf_fail(err, MF_E_SYS, errno, "become an ordinary user");
  }
  cap_t none = cap_init();
  int failed = none ? cap_set_proc(none) : -1;
  int sys = errno;
  cap_free(none);
  return failed ? mf_fail(err, MF_E_SYS, sys, "drop capabilities") : MF_OK;
}

enum mf_code mf_worker_limit(const struct mf_worker_config *config, uint32_t *layers, struct mf_err *err)
{
  enum mf_code code = drop_user(err);
  if (code == MF_OK)
    code = die_with_parent(config, err); /* another user: the kernel forgets it (prctl(2)) */
  if (code != MF_OK)
    return code;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return mf_fail(err, MF_E_SYS, errno, "refuse new privileges");
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
    return mf_fail(err, MF_E_SYS, errno, "refuse to be traced");
  *layers |= MF_WORKER_NNP;
  const struct {
    int which;
    uint64_t n;
    const char *name;
  } rows[] = {
    { RLIMIT_CORE, 0, "core files" },
    { RLIMIT_NOFILE, FILES_MAX, "descriptors" },
    { RLIMIT_FSIZE, FILE_BYTES_MAX, "file sizes" },
    { RLIMIT_DATA, config->data_bytes, "data" },
  };
  for (size_t i = 0; code == MF_OK && i < MF_ARRAY_N(rows); i++) {
    if (rows[i].which != RLIMIT_DATA || rows[i].n > 0)
      code = set_limit(rows[i].which, rows[i].n, rows[i].name, err);
  }
  if (code == MF_OK)
    *layers |= MF_WORKER_RLIMIT;
  if (config->cgroup_n > 0)
    *layers |= MF_WORKER_CGROUP;
  return code;
}

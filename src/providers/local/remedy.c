/* From a failed step to what a person can do about it: the exact commands.
 *
 * A step fails with the same EPERM for very different reasons, so the machine's settings are asked in the order in
 * which they are certain: a sysctl that says "no" is the reason; a filter around us may be; a guess comes last. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "local/local.h"
#include "machine.h"
#include "sandbox/frames.h"

#include "base/banned.h"

/* ---- the remedies ---- */

static void say_container(const struct mf_machine *m, char *ret, size_t n)
{
  switch (m->container) {
  case MF_CONTAINER_KUBERNETES:
    snprintf(
        ret, n,
        "the pod's default profiles forbid namespaces and mounts; in the pod: hostUsers: false; in the container's "
        "securityContext: seccompProfile: {type: Unconfined}, appArmorProfile: {type: Unconfined}, "
        "procMount: Unmasked");
    break;
  case MF_CONTAINER_PODMAN:
    snprintf(ret, n,
             "the container's default profiles forbid namespaces or mounts: "
             "podman run --security-opt seccomp=unconfined --security-opt apparmor=unconfined "
             "--security-opt unmask=ALL …");
    break;
  case MF_CONTAINER_NONE:
    snprintf(ret, n,
             "a seccomp filter around this process forbids namespaces or mounts: start mayfly outside of it, or, if "
             "this is a container, with: docker run --security-opt seccomp=unconfined "
             "--security-opt apparmor=unconfined --security-opt systempaths=unconfined …");
    break;
  case MF_CONTAINER_DOCKER:
  case MF_CONTAINER_OTHER:
    snprintf(ret, n,
             "Docker's default seccomp and AppArmor profiles forbid namespaces and mounts: "
             "docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined "
             "--security-opt systempaths=unconfined …");
    break;
  }
}

static void say_masked_proc(const struct mf_machine *m, char *ret, size_t n)
{
  const char *how = m->container == MF_CONTAINER_KUBERNETES ? "procMount: Unmasked in the container's securityContext "
                                                              "(needs hostUsers: false in the pod)"
                    : m->container == MF_CONTAINER_PODMAN   ? "podman run --security-opt unmask=ALL …"
                                                            : "docker run --security-opt systempaths=unconfined …";
  snprintf(ret, n, "parts of /proc are masked (%s), so that no new /proc can be mounted: %s", m->proc_mask, how);
}

static void say_apparmor(const struct mf_machine *m, char *ret, size_t n)
{
  snprintf(ret, n,
           "Ubuntu's AppArmor restricts unprivileged user namespaces: "
           "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0; or, for this program only: "
           "printf 'abi <abi/4.0>,\\nprofile mayfly %s flags=(unconfined) {\\n  userns,\\n}\\n' "
           "| sudo tee /etc/apparmor.d/mayfly && sudo apparmor_parser -r /etc/apparmor.d/mayfly",
           m->program);
}

static void say_sysctl(const char *name, const char *value, char *ret, size_t n)
{
  snprintf(ret, n, "sudo sysctl -w %s=%s (to keep it: echo '%s = %s' | sudo tee /etc/sysctl.d/90-mayfly.conf)", name,
           value, name, value);
}

static void say_chroot(char *ret, size_t n)
{
  snprintf(ret, n,
           "this process runs in a chroot, where Linux makes no user namespaces: enter the folder as a container "
           "instead: sudo systemd-nspawn -D DIR, or: sudo unshare --mount sh -c 'mount --rbind DIR DIR && cd DIR && "
           "mkdir -p .old && pivot_root . .old && exec sh'");
}

/* ---- the steps ---- */

enum family {
  FAMILY_NAMESPACE, /* making one */
  FAMILY_MOUNT,     /* needs capabilities in our user namespace */
  FAMILY_PROC,
  FAMILY_SECCOMP,
  FAMILY_LANDLOCK,
  FAMILY_CGROUP,
  FAMILY_RUNTIME,
  FAMILY_SYSCALL, /* one system call of a newer kernel */
  FAMILY_PAGES,
  FAMILY_LIMITS,
};

struct step_row {
  const char *prefix; /* the first row whose prefix the step has */
  enum family family;
  uint32_t layer;      /* FAMILY_NAMESPACE */
  const char *sysctl;  /* FAMILY_NAMESPACE: its limit */
  const char *feature; /* what the kernel must have been built with, or from which version it has it */
};

static const struct step_row step_rows[] = {
  { "unshare user", FAMILY_NAMESPACE, MF_LAYER_USER, "user.max_user_namespaces", "CONFIG_USER_NS=y" },
  { "unshare pid", FAMILY_NAMESPACE, MF_LAYER_PID, "user.max_pid_namespaces", "CONFIG_PID_NS=y" },
  { "unshare mount", FAMILY_NAMESPACE, MF_LAYER_MOUNT, "user.max_mnt_namespaces", "CONFIG_NAMESPACES=y" },
  { "unshare net", FAMILY_NAMESPACE, MF_LAYER_NET, "user.max_net_namespaces", "CONFIG_NET_NS=y" },
  { "unshare ipc", FAMILY_NAMESPACE, MF_LAYER_IPC, "user.max_ipc_namespaces", "CONFIG_IPC_NS=y" },
  { "unshare uts", FAMILY_NAMESPACE, MF_LAYER_UTS, "user.max_uts_namespaces", "CONFIG_UTS_NS=y" },
  { "unshare", FAMILY_NAMESPACE, MF_LAYER_USER, "user.max_user_namespaces", "CONFIG_NAMESPACES=y" },
  { "clone", FAMILY_NAMESPACE, MF_LAYER_USER, "user.max_user_namespaces", "Linux 5.3 and CONFIG_USER_NS=y" },
  { "map user", FAMILY_MOUNT, 0, NULL, "CONFIG_USER_NS=y" },
  { "mount proc", FAMILY_PROC, 0, NULL, "CONFIG_PROC_FS=y" },
  { "mount", FAMILY_MOUNT, 0, NULL, "CONFIG_TMPFS=y" },
  { "remount", FAMILY_MOUNT, 0, NULL, "CONFIG_TMPFS=y" },
  { "pivot root", FAMILY_MOUNT, 0, NULL, "CONFIG_NAMESPACES=y" },
  { "pivot_root", FAMILY_MOUNT, 0, NULL, "CONFIG_NAMESPACES=y" },
  { "setgroups", FAMILY_MOUNT, 0, NULL, "CONFIG_USER_NS=y" },
  { "seccomp", FAMILY_SECCOMP, 0, NULL, "CONFIG_SECCOMP_FILTER=y" },
  { "landlock", FAMILY_LANDLOCK, 0, NULL, "Linux 5.13 with CONFIG_SECURITY_LANDLOCK=y" },
  { "join cgroup", FAMILY_CGROUP, 0, NULL, "CONFIG_MEMCG=y and CONFIG_CGROUP_PIDS=y" },
  { "cgroup", FAMILY_CGROUP, 0, NULL, "CONFIG_MEMCG=y and CONFIG_CGROUP_PIDS=y" },
  { "exec python", FAMILY_RUNTIME, 0, NULL, NULL },
  { "runtime", FAMILY_RUNTIME, 0, NULL, NULL },
  { "font", FAMILY_RUNTIME, 0, NULL, NULL },
  { "no_new_privs", FAMILY_SYSCALL, 0, NULL, "Linux 3.5" },
  { "drop capabilities", FAMILY_SYSCALL, 0, NULL, "prctl(2) and capset(2) for a process that gives up its rights" },
  { "rlimits", FAMILY_LIMITS, 0, NULL, NULL },
  { "memfd", FAMILY_SYSCALL, 0, NULL, "Linux 3.17" },
  { "pidfd", FAMILY_SYSCALL, 0, NULL, "Linux 5.3" },
  { "openat2", FAMILY_SYSCALL, 0, NULL, "Linux 5.6" },
  { "close_range", FAMILY_SYSCALL, 0, NULL, "Linux 5.9" },
  { "huge pages", FAMILY_PAGES, 0, NULL, "CONFIG_TRANSPARENT_HUGEPAGE=y" },
};

static const struct step_row *find_step(const char *step)
{
  for (size_t i = 0; i < MF_ARRAY_N(step_rows); i++)
    if (strncmp(step, step_rows[i].prefix, strlen(step_rows[i].prefix)) == 0)
      return &step_rows[i];
  return NULL;
}

static bool is_refusal(int sys)
{
  return sys == EPERM || sys == EACCES;
}

/* Docker answers EPERM, and ENOSYS for clone3 so that the C library falls back to clone. */
static bool filter_may_be_it(const struct mf_machine *m, int sys)
{
  return m->seccomp_mode == 2 && (is_refusal(sys) || sys == ENOSYS);
}

/* Reasons that hold for all that needs a user namespace and the capabilities in it. False when none is known. */
static bool say_userns(const struct mf_machine *m, int sys, char *ret, size_t n)
{
  if (m->zero_namespaces & MF_LAYER_USER) {
    say_sysctl("user.max_user_namespaces", "15000", ret, n);
    return true;
  }
  if (m->userns_clone_off && !m->is_root && is_refusal(sys)) {
    say_sysctl("kernel.unprivileged_userns_clone", "1", ret, n);
    return true;
  }
  if (filter_may_be_it(m, sys) || (is_refusal(sys) && m->apparmor_profile[0] && m->container != MF_CONTAINER_NONE)) {
    say_container(m, ret, n);
    return true;
  }
  if (m->chrooted && is_refusal(sys)) {
    say_chroot(ret, n);
    return true;
  }
  if (m->apparmor_restricts && !m->is_root && is_refusal(sys)) {
    say_apparmor(m, ret, n);
    return true;
  }
  return false;
}

static void say_namespace(const struct mf_machine *m, const struct step_row *row, int sys, char *ret, size_t n)
{
  if (m->zero_namespaces & row->layer) {
    say_sysctl(row->sysctl, "15000", ret, n);
  } else if (say_userns(m, sys, ret, n)) {
    return;
  } else if (sys == ENOSPC || sys == EUSERS) {
    snprintf(ret, n, "all namespaces that this user may have are in use: sudo sysctl -w %s=15000", row->sysctl);
  } else if (sys == ENOSYS || sys == EINVAL) {
    snprintf(ret, n, "this kernel (%s) cannot make it: run one with %s", m->kernel, row->feature);
  } else {
    snprintf(ret, n,
             "a chroot, a security module or a container around this process forbids it: try 'unshare -Ur true' in the "
             "same place, and look for the reason in 'sudo dmesg | tail' and 'sudo ausearch -m avc'");
  }
}

static void say_mount(const struct mf_machine *m, const struct step_row *row, int sys, char *ret, size_t n)
{
  if (say_userns(m, sys, ret, n))
    return;
  if (m->is_root && is_refusal(sys) && m->apparmor_profile[0])
    snprintf(ret, n, "the AppArmor profile '%s' of this process forbids mounts: start mayfly unconfined",
             m->apparmor_profile);
  else if (sys == ENODEV || sys == ENOSYS)
    snprintf(ret, n, "this kernel (%s) cannot do it: run one with %s", m->kernel, row->feature);
  else if (sys == ENOENT || sys == ENOTDIR)
    snprintf(ret, n, "the runtime is not whole: make it anew with scripts/setup-runtime");
  else
    snprintf(ret, n,
             "a security module forbids mounts in a user namespace: look for the reason in 'sudo dmesg | tail' and "
             "'sudo ausearch -m avc'");
}

static void say_landlock(const struct mf_machine *m, int sys, char *ret, size_t n)
{
  if (sys == EOPNOTSUPP || m->landlock_absent) {
    snprintf(
        ret, n,
        "the kernel has Landlock switched off: add lsm=landlock,%s to GRUB_CMDLINE_LINUX in /etc/default/grub, then: "
        "sudo update-grub && sudo reboot",
        m->lsm[0] ? m->lsm : "lockdown,yama,integrity,apparmor,bpf");
  } else if (filter_may_be_it(m, sys)) {
    say_container(m, ret, n);
  } else {
    snprintf(ret, n,
             "Landlock needs Linux 5.13 or newer with CONFIG_SECURITY_LANDLOCK=y and landlock in CONFIG_LSM (this "
             "kernel is %s)",
             m->kernel);
  }
}

static void say_cgroup(const struct mf_machine *m, char *ret, size_t n)
{
  switch (m->container) {
  case MF_CONTAINER_DOCKER:
  case MF_CONTAINER_PODMAN:
    snprintf(ret, n,
             "optional, for exact memory limits: docker run --cgroupns=private "
             "--security-opt writable-cgroups=true … (Docker 28 and newer; cgroup v2 hosts)");
    break;
  case MF_CONTAINER_KUBERNETES:
  case MF_CONTAINER_OTHER:
    snprintf(ret, n,
             "optional, for exact memory limits: give the container a writable /sys/fs/cgroup (containerd 2.1: "
             "cgroup_writable = true)");
    break;
  case MF_CONTAINER_NONE:
    if (m->is_root)
      snprintf(ret, n,
               "optional, for exact memory limits: systemd-run --scope -p Delegate=yes mayfly …, or Delegate=yes "
               "in its unit");
    else
      snprintf(ret, n, "optional, for exact memory limits: systemd-run --user --scope -p Delegate=yes mayfly …");
    break;
  }
}

static void say_pages(const struct mf_machine *m, char *ret, size_t n)
{
  if (m->thp_never)
    snprintf(ret, n,
             "optional, for faster starts: echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled");
  else
    snprintf(ret, n, "optional, for faster starts: run a kernel with CONFIG_TRANSPARENT_HUGEPAGE=y");
}

void mf_machine_remedy(const struct mf_machine *m, const char *step, int sys, char *ret, size_t n)
{
  const struct step_row *row = find_step(step);
  if (!row) {
    snprintf(ret, n, "run 'mayfly doctor' for what this machine can do");
    return;
  }
  switch (row->family) {
  case FAMILY_NAMESPACE:
    say_namespace(m, row, sys, ret, n);
    break;
  case FAMILY_PROC:
    if (m->proc_masked)
      say_masked_proc(m, ret, n);
    else
      say_mount(m, row, sys, ret, n);
    break;
  case FAMILY_MOUNT:
    say_mount(m, row, sys, ret, n);
    break;
  case FAMILY_LANDLOCK:
    say_landlock(m, sys, ret, n);
    break;
  case FAMILY_CGROUP:
    say_cgroup(m, ret, n);
    break;
  case FAMILY_RUNTIME:
    snprintf(ret, n,
             "make the runtime (anew): scripts/setup-runtime, or name one with --runtime DIR or MAYFLY_RUNTIME");
    break;
  case FAMILY_PAGES:
    say_pages(m, ret, n);
    break;
  case FAMILY_LIMITS:
    snprintf(ret, n,
             "this process has too low hard limits of its own: see 'ulimit -Ha' and raise them, in a unit with "
             "LimitNOFILE= and LimitNPROC=");
    break;
  case FAMILY_SECCOMP:
  case FAMILY_SYSCALL:
    if (filter_may_be_it(m, sys))
      say_container(m, ret, n);
    else
      snprintf(ret, n, "it needs %s (this kernel is %s)", row->feature, m->kernel);
    break;
  }
}

bool mf_local_is_layer_step(const char *step)
{
  const struct step_row *row = find_step(step);
  return row && row->family != FAMILY_RUNTIME && row->family != FAMILY_PAGES;
}

void mf_local_remedy(const char *step, int sys, char *ret, size_t n)
{
  struct mf_machine m;
  mf_machine_read("", &m);
  mf_machine_remedy(&m, step, sys, ret, n);
}

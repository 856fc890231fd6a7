/* What the machine says of itself: the settings that stop a sandbox, and where we run. Reading never fails: what cannot
 * be read is not so. */
#ifndef MF_LOCAL_MACHINE_H
#define MF_LOCAL_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mf_container {
  MF_CONTAINER_NONE,
  MF_CONTAINER_KUBERNETES,
  MF_CONTAINER_DOCKER,
  MF_CONTAINER_PODMAN,
  MF_CONTAINER_OTHER, /* LXC, systemd-nspawn … */
};

struct mf_machine {
  bool is_root;              /* effective uid 0 */
  uint32_t zero_namespaces;  /* MF_LAYER_* whose user.max_*_namespaces is 0 */
  bool userns_clone_off;     /* kernel.unprivileged_userns_clone = 0 (Debian's kernels) */
  bool apparmor_restricts;   /* kernel.apparmor_restrict_unprivileged_userns = 1 (Ubuntu 23.10+) */
  char apparmor_profile[64]; /* ours: "docker-default", "" when unconfined or unknown */
  enum mf_container container;
  int seccomp_mode;     /* of /proc/self/status: 2 means that somebody filters our system calls */
  bool proc_masked;     /* something is mounted over a part of /proc */
  char proc_mask[64];   /* its first such place */
  bool chrooted;        /* our root directory is not our mount namespace's */
  bool landlock_absent; /* the list of security modules is known and has no landlock */
  char lsm[160];        /* that list, "" when unknown */
  bool thp_never;       /* transparent huge pages are switched off */
  char kernel[64];
  char program[256]; /* this program's file, for an AppArmor profile */
};

/* `root` goes before each path ("" for the real machine; a test gives a folder with fake /proc and /sys). */
void mf_machine_read(const char *root, struct mf_machine *ret);

/* mf_local_remedy, for a machine that was read before. */
void mf_machine_remedy(const struct mf_machine *m, const char *step, int sys, char *ret, size_t n);

#endif

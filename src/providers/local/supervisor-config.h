/* What the provider tells its supervisor: one struct on descriptor 3, written and read by the same binary. */
#ifndef MF_LOCAL_SUPERVISOR_CONFIG_H
#define MF_LOCAL_SUPERVISOR_CONFIG_H

#include <stdint.h>

#define MF_SUP_CONFIG_FD 3
#define MF_SUP_SOCKET_FD 4
#define MF_SUP_PATH_MAX 1024
#define MF_SUPERVISOR_ARGV0 "mayfly-supervisor"

struct mf_supervisor_config {
  uint32_t version; /* MF_FRAMES_VERSION */
  uint32_t max_running;
  uint32_t pool_stdlib, pool_data;
  uint32_t start_stdlib, start_data;
  uint32_t warm, checkpoint; /* checkpoint: enum mf_checkpoint */
  uint32_t use_cgroup;
  uint32_t zygote_max_forks, zygote_max_age_s;
  uint32_t disable_layers; /* tests only */
  uint32_t disk_inodes;
  uint64_t disk_bytes;
  uint64_t default_memory_bytes; /* preset of new cgroups, so that a run with this limit writes nothing */
  uint32_t default_pids, pad;
  char rootfs[MF_SUP_PATH_MAX];
  char zygote_dir[MF_SUP_PATH_MAX];
  char python_path[MF_SUP_PATH_MAX];
};

#endif

/* Layer bits → words. */
#include "layers.h"

#include <stdio.h>

#include "base/compiler.h"
#include "base/banned.h"

static const struct {
  uint32_t bit;
  const char *name;
} layer_rows[] = {
  { MF_LAYER_USER, "user" },
  { MF_LAYER_PID, "pid" },
  { MF_LAYER_MOUNT, "mount" },
  { MF_LAYER_NET, "network" },
  { MF_LAYER_IPC, "ipc" },
  { MF_LAYER_UTS, "uts" },
  { MF_LAYER_PROC, "proc" },
  { MF_LAYER_LANDLOCK, "landlock" }, /* with its ABI */
  { MF_LAYER_LANDLOCK_SCOPE, "landlock_scope" },
  { MF_LAYER_SECCOMP, "seccomp" },
  { MF_LAYER_NNP, "no_new_privs" },
  { MF_LAYER_CAPS, "capabilities" },
  { MF_LAYER_RLIMIT, "rlimits" },
  { MF_LAYER_CGROUP, "cgroup" },
};

void mf_layers_words(uint32_t layers, int landlock_abi, char *ret, size_t n)
{
  size_t at = 0;
  ret[0] = '\0';
  for (size_t i = 0; i < MF_ARRAY_N(layer_rows) && at < n; i++) {
    if (!(layers & layer_rows[i].bit))
      continue;
    const char *comma = at > 0 ? "," : "";
    int more = layer_rows[i].bit == MF_LAYER_LANDLOCK
                   ? snprintf(ret + at, n - at, "%s%s:%d", comma, layer_rows[i].name, landlock_abi)
                   : snprintf(ret + at, n - at, "%s%s", comma, layer_rows[i].name);
    at += (size_t)more;
  }
}

const char *mf_memory_control_name(uint32_t memory_control)
{
  switch (memory_control) {
  case MF_MEMORY_CGROUP2:
    return "cgroup2";
  case MF_MEMORY_CGROUP1:
    return "cgroup1";
  case MF_MEMORY_WATCHDOG:
    return "watchdog";
  default:
    return "none";
  }
}

/* The names of the isolation layers, as a receipt shows them. */
#ifndef MF_LOCAL_LAYERS_H
#define MF_LOCAL_LAYERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/frames.h"

/* What isolation "full" means. Outside of it: a cgroup (its absence shows as memory_control), /proc (without one
 * nothing of the host is seen either) and Landlock's scopes (a second wall behind the pid namespace, kernel 6.12+). */
#define MF_LAYERS_FULL                                                                                                 \
  ((uint32_t)(MF_LAYER_USER | MF_LAYER_PID | MF_LAYER_MOUNT | MF_LAYER_NET | MF_LAYER_IPC | MF_LAYER_UTS |             \
              MF_LAYER_LANDLOCK | MF_LAYER_SECCOMP | MF_LAYER_NNP | MF_LAYER_CAPS | MF_LAYER_RLIMIT))

/* "user,pid,mount,…,landlock:7,…"; an unknown bit is left out. */
void mf_layers_words(uint32_t layers, int landlock_abi, char *ret, size_t n);
/* "cgroup2" | "cgroup1" | "watchdog" | "none" */
const char *mf_memory_control_name(uint32_t memory_control);

#endif

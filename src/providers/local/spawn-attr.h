/* What every process has in common that this room spawns from the gateway. */
#ifndef MF_LOCAL_SPAWN_ATTR_H
#define MF_LOCAL_SPAWN_ATTR_H

#include <spawn.h>

/* A session of its own, no signal blocked, every signal's action the default. Returns 0 or errno. Thread: any. */
int mf_spawn_plan_attr(posix_spawnattr_t *attr);

#endif

/* The watchdog: how much memory and processor time a sandbox has used, and when to look again.
 *
 * It stands in where no memory cgroup counts, and it holds the processor limit of a whole tree, since RLIMIT_CPU knows
 * only one process. Looking is adaptive: never later than the limit could be reached. Thread: the supervisor's. */
#ifndef MF_LOCAL_WATCHDOG_H
#define MF_LOCAL_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sandbox/frames.h"

struct mf_watchdog {
  pid_t guest, init;
  uint64_t memory_bytes; /* 0: somebody else counts */
  uint64_t cpu_us;       /* 0: no limit */
  uint64_t baseline;     /* memory at the start, for kernels that tell no proportional size */
  bool has_baseline;
  bool was_over;                  /* at the last look; one alone is not believed */
  uint64_t memory_seen, cpu_seen; /* the most that was seen */
  unsigned cpu_n;
};

void mf_watchdog_init(struct mf_watchdog *w, pid_t guest, pid_t init, uint64_t memory_bytes, uint64_t cpu_us,
                      unsigned cpu_n);
bool mf_watchdog_is_needed(const struct mf_watchdog *w);
/* Looks once. `group_cpu_us` is what the control group says (0: unknown). Returns the limit that is broken, or
 * MF_KILL_NONE and how long to wait in *ret_wait_ns. */
enum mf_kill_cause mf_watchdog_look(struct mf_watchdog *w, uint64_t group_cpu_us, uint64_t *ret_wait_ns);

/* The pure parts, for tests. */

/* A Python allocates at most about 2 MB/ms per core: clamp(headroom / (4 MB/ms), 1..50 ms). */
uint64_t mf_watchdog_memory_wait_ns(uint64_t used, uint64_t limit);
/* The earliest time at which cpu_n busy processors could reach the limit, 1 ms..1 s. */
uint64_t mf_watchdog_cpu_wait_ns(uint64_t used_us, uint64_t limit_us, unsigned cpu_n);

#endif

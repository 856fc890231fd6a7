/* The watchdog's decisions; proctree.c does the looking. Thread: the supervisor's. */
#include "watchdog.h"

#include "base/compiler.h"
#include "base/time.h"
#include "proctree.h"

#include "base/banned.h"

#define ALLOC_BYTES_PER_MS (4ull << 20)
#define MEMORY_WAIT_MIN_MS 1ull
#define MEMORY_WAIT_MAX_MS 50ull
#define CPU_WAIT_MIN_NS (1 * MF_NS_PER_MS)
#define CPU_WAIT_MAX_NS (1 * MF_NS_PER_S)

uint64_t mf_watchdog_memory_wait_ns(uint64_t used, uint64_t limit)
{
  uint64_t headroom = used < limit ? limit - used : 0;
  uint64_t ms = headroom / ALLOC_BYTES_PER_MS;
  ms = MF_MIN(MF_MAX(ms, MEMORY_WAIT_MIN_MS), MEMORY_WAIT_MAX_MS);
  return ms * MF_NS_PER_MS;
}

uint64_t mf_watchdog_cpu_wait_ns(uint64_t used_us, uint64_t limit_us, unsigned cpu_n)
{
  uint64_t left_us = used_us < limit_us ? limit_us - used_us : 0;
  uint64_t ns = left_us / MF_MAX(cpu_n, 1u);
  ns = ns < CPU_WAIT_MAX_NS / 1000 ? ns * 1000 : CPU_WAIT_MAX_NS;
  return MF_MAX(ns, CPU_WAIT_MIN_NS);
}

void mf_watchdog_init(struct mf_watchdog *w, pid_t guest, pid_t init, uint64_t memory_bytes, uint64_t cpu_us,
                      unsigned cpu_n)
{
  *w = (struct mf_watchdog){
    .guest = guest,
    .init = init,
    .memory_bytes = memory_bytes,
    .cpu_us = cpu_us,
    .cpu_n = cpu_n,
  };
}

bool mf_watchdog_is_needed(const struct mf_watchdog *w)
{
  return w->memory_bytes > 0 || w->cpu_us > 0;
}

/* The cheap sum first: it is never below the truth, so the costly one is read only when the cheap one is too high, and
 * the costliest only before a kill. */
static uint64_t look_at_memory(struct mf_watchdog *w, struct mf_proctree *t)
{
  uint64_t used = mf_proctree_rss_bytes(t);
  if (!w->has_baseline) {
    w->has_baseline = true;
    w->baseline = used;
  }
  if (used > w->memory_bytes) {
    uint64_t pss;
    used = mf_proctree_pss_bytes(t, &pss) ? pss : used - MF_MIN(used, w->baseline);
    if (used > w->memory_bytes) {
      mf_proctree_drop_same_memory(t);
      used = mf_proctree_pss_bytes(t, &pss) ? pss : used;
    }
  }
  return used;
}

/* Over the limit twice in a row: a process that starts or ends while the tree is read can be counted twice. */
static bool is_over(struct mf_watchdog *w, uint64_t used)
{
  bool was_over = w->was_over;
  w->was_over = used > w->memory_bytes;
  if (!w->was_over || was_over)
    w->memory_seen = MF_MAX(w->memory_seen, used);
  return w->was_over && was_over;
}

enum mf_kill_cause mf_watchdog_look(struct mf_watchdog *w, uint64_t group_cpu_us, uint64_t *ret_wait_ns)
{
  struct mf_proctree t;
  mf_proctree_read(&t, w->guest, w->init, MF_PROCTREE_MAX);
  uint64_t wait_ns = CPU_WAIT_MAX_NS;
  if (w->cpu_us > 0) {
    uint64_t used = mf_proctree_cpu_us(&t, w->guest, w->init);
    used = MF_MAX(used, group_cpu_us);
    w->cpu_seen = MF_MAX(w->cpu_seen, used); /* a process that ended unseen takes its time with it */
    if (w->cpu_seen >= w->cpu_us)
      return MF_KILL_CPU;
    wait_ns = mf_watchdog_cpu_wait_ns(w->cpu_seen, w->cpu_us, w->cpu_n);
  }
  if (w->memory_bytes > 0) {
    uint64_t used = look_at_memory(w, &t);
    if (is_over(w, used))
      return MF_KILL_MEMORY;
    uint64_t memory_wait_ns = mf_watchdog_memory_wait_ns(used, w->memory_bytes);
    wait_ns = MF_MIN(wait_ns, memory_wait_ns);
  }
  *ret_wait_ns = wait_ns;
  return MF_KILL_NONE;
}

/* What a run used: processor time, memory, kills by the kernel. Thread: the supervisor's. */
#include "base/time.h"
#include "proctree.h"
#include "supervisor-internal.h"

#include "base/banned.h"

/* A run so short has no children worth a walk through /proc, and the answer waits for the walk. */
#define TREE_WALK_FROM_US 50000u
/* How often a run under cgroup v1 is asked whether the kernel has killed a part of it. */
#define OOM_LOOK_NS (50 * MF_NS_PER_MS)

/* The kernel ends one process of a v1 group that is full and leaves the rest (v2 has memory.oom.group): the limit is of
 * the whole sandbox, so the rest is ours to end. */
static bool is_group_ours_to_end(struct mf_supervisor *sup)
{
  return mf_cgroup_kind(sup->cgroup) == MF_CGROUP_V1;
}

void mf_meter_begin(struct mf_sup_run *run)
{
  struct mf_slot *slot = run->slot;
  struct mf_supervisor *sup = run->sup;
  if (!mf_proc_cpu_us(slot->guest.pid, &run->cpu_base_us))
    run->cpu_base_us = 0;
  uint64_t memory = mf_cgroup_kind(sup->cgroup) == MF_CGROUP_NONE ? run->spec.memory_bytes : 0;
  uint64_t cpu_us = run->spec.cpu_ms <= UINT64_MAX / 1000 ? run->spec.cpu_ms * 1000 : 0;
  mf_watchdog_init(&run->watchdog, slot->guest.pid, slot->init.pid, memory, cpu_us, sup->cpu_n);
  uint64_t wait = UINT64_MAX;
  if (is_group_ours_to_end(sup))
    wait = OOM_LOOK_NS;
  else if (!mf_watchdog_is_needed(&run->watchdog))
    return;
  if (memory > 0)
    wait = mf_watchdog_memory_wait_ns(0, memory);
  if (cpu_us > 0) {
    uint64_t cpu_wait = mf_watchdog_cpu_wait_ns(0, cpu_us, run->watchdog.cpu_n);
    wait = MF_MIN(wait, cpu_wait);
  }
  mf_timer_arm(slot->meter, run->begin_ns + wait);
}

void mf_meter_look(struct mf_sup_run *run)
{
  struct mf_cgroup *cgroup = run->sup->cgroup;
  unsigned slot = run->slot->index;
  uint64_t wait = MF_NS_PER_S;
  enum mf_kill_cause cause = MF_KILL_NONE;
  if (mf_watchdog_is_needed(&run->watchdog)) {
    uint64_t group_cpu_us = mf_cgroup_slot_cpu_us(cgroup, slot);
    cause = mf_watchdog_look(&run->watchdog, group_cpu_us, &wait);
  }
  if (cause == MF_KILL_NONE && is_group_ours_to_end(run->sup)) {
    cause = mf_cgroup_slot_oom_kills(cgroup, slot) > 0 ? MF_KILL_MEMORY : MF_KILL_NONE;
    wait = MF_MIN(wait, OOM_LOOK_NS);
  }
  if (cause != MF_KILL_NONE)
    mf_sup_run_kill(run, cause);
  else
    mf_timer_arm(run->slot->meter, mf_now_ns() + wait);
}

static uint64_t tree_others_us(const struct mf_slot *slot, uint64_t guest_us)
{
  struct mf_proctree t;
  mf_proctree_read(&t, slot->guest.pid, slot->init.pid, MF_PROCTREE_BRIEF);
  uint64_t all = mf_proctree_cpu_us(&t, slot->guest.pid, slot->init.pid);
  return all - MF_MIN(all, guest_us);
}

void mf_meter_end(struct mf_sup_run *run, uint64_t children_cpu_us)
{
  struct mf_slot *slot = run->slot;
  struct mf_supervisor *sup = run->sup;
  struct mf_sup_finished *fin = &run->fin;
  uint64_t guest_us = 0, others_us;
  bool is_alive = !slot->guest_exited && mf_proc_cpu_us(slot->guest.pid, &guest_us);
  if (!is_alive) /* the zygote's figure, its waited-for descendants included */
    guest_us = MF_MAX(slot->status_cpu_us, guest_us);
  /* the child's own word about its children is bounded by what the machine could have done */
  uint64_t possible_us = fin->wall_us <= UINT64_MAX / sup->cpu_n ? fin->wall_us * sup->cpu_n : UINT64_MAX;
  others_us = MF_MIN(children_cpu_us, possible_us);
  if (is_alive && fin->wall_us >= TREE_WALK_FROM_US) {
    uint64_t seen_us = tree_others_us(slot, guest_us);
    others_us = MF_MAX(others_us, seen_us);
  }
  uint64_t cpu_us = guest_us - MF_MIN(guest_us, run->cpu_base_us) + others_us;
  fin->cpu_us = MF_MAX(cpu_us, run->watchdog.cpu_seen);

  if (mf_cgroup_kind(sup->cgroup) != MF_CGROUP_NONE) {
    fin->oom_kills = mf_cgroup_slot_oom_kills(sup->cgroup, slot->index);
    fin->memory_peak_bytes = mf_cgroup_slot_peak(sup->cgroup, slot->index);
  }
  if (fin->memory_peak_bytes == 0) {
    uint64_t peak = mf_proc_peak_bytes(slot->guest.pid);
    fin->memory_peak_bytes = MF_MAX(peak, run->watchdog.memory_seen);
  }
}

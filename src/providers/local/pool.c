/* The pool of a runtime: which child serves which run, and when to ask for more children. Thread: the supervisor's.
 *
 * A run that waits is served first. The pool is refilled when nothing runs, so that a fork never disturbs a job; with
 * jobs that go on and processors to spare it is refilled after a while. On a busy machine forks on demand serve. */
#include <assert.h>
#include <string.h>

#include "base/time.h"
#include "supervisor-internal.h"

#include "base/banned.h"

#define FORKS_IN_FLIGHT_MIN 2u
/* A job that lasts so long will not notice a fork on another processor. */
#define LONG_JOB_NS (20 * MF_NS_PER_MS)
/* Under a steady load a child that is made for the pool, which costs more than one that is waited for, only takes a
 * processor from the next run: the pool is refilled when no run has started for so long. */
#define QUIET_NS (5 * MF_NS_PER_MS)
#define FAILURE_WAIT_NS (100 * MF_NS_PER_MS)
#define FAILURE_WAIT_MAX_NS (5 * MF_NS_PER_S)
#define FAILURES_UNDER_ONE_RUN 2u

/* ---- the queue ---- */

void mf_lane_queue(struct mf_lane *lane, struct mf_sup_run *run, bool at_front)
{
  assert(!run->is_waiting);
  run->is_waiting = true;
  lane->is_wanted = true;
  lane->waiting_n++;
  if (at_front) {
    run->next = lane->first;
    lane->first = run;
    if (!run->next)
      lane->last_next = &run->next;
    return;
  }
  run->next = NULL;
  *lane->last_next = run;
  lane->last_next = &run->next;
}

void mf_lane_unqueue(struct mf_lane *lane, struct mf_sup_run *run)
{
  for (struct mf_sup_run **at = &lane->first; *at; at = &(*at)->next) {
    if (*at != run)
      continue;
    *at = run->next;
    if (!*at)
      lane->last_next = at;
    run->next = NULL;
    run->is_waiting = false;
    lane->waiting_n--;
    return;
  }
}

void mf_lane_fail_waiting(struct mf_lane *lane, const char *text)
{
  while (lane->first) {
    struct mf_sup_run *run = lane->first;
    mf_lane_unqueue(lane, run);
    mf_sup_run_refuse(run, MF_KILL_NONE, text);
  }
}

/* ---- counting ---- */

unsigned mf_lane_count(const struct mf_lane *lane, enum mf_slot_state state)
{
  unsigned n = 0;
  for (unsigned i = 0; i < MF_ZYGOTES_MAX; i++) {
    const struct mf_zygote *z = &lane->sup->zygotes[i];
    if (z->state != MF_ZYGOTE_NONE && z->lane == lane)
      n += z->slot_n[state];
  }
  return n;
}

static struct mf_slot *oldest_idle(const struct mf_lane *lane)
{
  struct mf_supervisor *sup = lane->sup;
  struct mf_slot *best = NULL;
  for (unsigned i = 0; i < sup->slot_high; i++) {
    struct mf_slot *s = &sup->slots[i];
    if (s->state == MF_SLOT_IDLE && s->zygote && s->zygote->lane == lane && (!best || s->since_ns < best->since_ns))
      best = s;
  }
  return best;
}

/* ---- children ---- */

void mf_lane_child_ready(struct mf_slot *slot)
{
  struct mf_supervisor *sup = slot->sup;
  struct mf_lane *lane = slot->zygote->lane;
  lane->failure_n = 0;
  lane->refill_at_ns = 0;
  if (!sup->is_ready) {
    const struct mf_zyg_ready *z = &slot->zygote->ready;
    enum mf_cgroup_kind kind = mf_cgroup_kind(sup->cgroup);
    struct mf_sup_ready ready = {
      .type = MF_SUP_READY,
      .version = MF_FRAMES_VERSION,
      .layers = slot->ready.layers,
      .landlock_abi = slot->ready.landlock_abi,
      .memory_control = kind == MF_CGROUP_V2   ? MF_MEMORY_CGROUP2
                        : kind == MF_CGROUP_V1 ? MF_MEMORY_CGROUP1
                                               : MF_MEMORY_WATCHDOG,
      .pids_control = mf_cgroup_has_pids(sup->cgroup),
      .python_hex = z->python_hex,
      .checkpointed = z->checkpointed,
    };
    memcpy(ready.seccomp_sha256, sup->seccomp_sha256, sizeof ready.seccomp_sha256);
    mf_supervisor_text(ready.checkpoint_note, sizeof ready.checkpoint_note, z->checkpoint_note,
                       sizeof z->checkpoint_note);
    sup->is_ready = true;
    mf_supervisor_send(sup, &ready, sizeof ready);
  }
}

void mf_lane_child_failed(struct mf_slot *slot, const char *step, int error, const char *text)
{
  struct mf_supervisor *sup = slot->sup;
  struct mf_lane *lane = slot->zygote ? slot->zygote->lane : NULL;
  mf_slot_discard(slot);
  if (!sup->is_ready) {
    mf_supervisor_fatal(sup, step, error, text);
    return;
  }
  if (!lane)
    return;
  uint64_t wait = FAILURE_WAIT_NS << MF_MIN(lane->failure_n, 8u);
  lane->failure_n++;
  lane->refill_at_ns = mf_now_ns() + MF_MIN(wait, FAILURE_WAIT_MAX_NS);
  struct mf_sup_run *run = lane->first;
  if (run && ++run->tries >= FAILURES_UNDER_ONE_RUN) {
    mf_lane_unqueue(lane, run);
    mf_sup_run_refuse(run, MF_KILL_NONE, text);
  }
}

/* ---- deciding ---- */

static void bind_waiting(struct mf_lane *lane)
{
  /* a child that turns out to be of no use is discarded, so this ends */
  while (lane->first) {
    struct mf_slot *slot = oldest_idle(lane);
    if (!slot)
      break;
    struct mf_sup_run *run = lane->first;
    run->from_pool = !run->has_waited;
    mf_sup_run_bind(run, slot);
  }
  for (struct mf_sup_run *run = lane->first; run; run = run->next)
    run->has_waited = true;
}

static void arm_refill(struct mf_supervisor *sup, uint64_t at_ns)
{
  if (sup->refill_timer_ns && sup->refill_timer_ns <= at_ns)
    return;
  sup->refill_timer_ns = at_ns;
  mf_timer_arm(sup->refill, at_ns);
}

/* How many children the pool lacks and may have now. */
static unsigned refill_n(struct mf_lane *lane, unsigned coming, uint64_t now_ns)
{
  struct mf_supervisor *sup = lane->sup;
  struct mf_zygote *z = lane->current;
  /* before READY one child must show that it all works, wanted or not */
  unsigned target = sup->is_ready ? lane->pool_target : MF_MAX(lane->pool_target, 1u);
  unsigned have = z->slot_n[MF_SLOT_IDLE] + coming;
  if (have >= target)
    return 0;
  if (now_ns < lane->refill_at_ns) {
    arm_refill(sup, lane->refill_at_ns);
    return 0;
  }
  unsigned running = sup->state_n[MF_SLOT_STARTING] + sup->state_n[MF_SLOT_BUSY];
  if (running == 0 && sup->last_start_ns != 0 && now_ns - MF_MIN(now_ns, sup->last_start_ns) < QUIET_NS) {
    arm_refill(sup, sup->last_start_ns + QUIET_NS);
    return 0;
  }
  if (running == 0)
    return target - have;
  if (running >= sup->cpu_n)
    return 0; /* asked again when one of them has ended */
  if (now_ns - MF_MIN(now_ns, sup->last_start_ns) < LONG_JOB_NS) {
    arm_refill(sup, sup->last_start_ns + LONG_JOB_NS);
    return 0;
  }
  return 1;
}

void mf_lane_serve(struct mf_lane *lane, uint64_t now_ns)
{
  struct mf_supervisor *sup = lane->sup;
  bind_waiting(lane);
  struct mf_zygote *z = lane->current;
  if (!z || z->state != MF_ZYGOTE_READY)
    return;
  unsigned coming = z->slot_n[MF_SLOT_FORKING] + z->slot_n[MF_SLOT_PREPARING];
  unsigned need = lane->waiting_n > coming ? lane->waiting_n - coming : 0;
  if (need > 0 && now_ns < lane->refill_at_ns && lane->failure_n > 1) {
    arm_refill(sup, lane->refill_at_ns); /* forks fail again and again: not faster than that */
    return;
  }
  bool for_pool = need == 0;
  if (for_pool)
    need = refill_n(lane, coming - MF_MIN(coming, lane->waiting_n), now_ns);
  unsigned in_flight = sup->state_n[MF_SLOT_FORKING] + sup->state_n[MF_SLOT_PREPARING];
  unsigned in_flight_max = MF_MAX(FORKS_IN_FLIGHT_MIN, sup->cpu_n);
  for (; need > 0 && in_flight < in_flight_max; need--, in_flight++) {
    struct mf_slot *slot = mf_slot_find_free(sup);
    if (!slot)
      return; /* the next slot that becomes free asks again */
    if (mf_zygote_fork(z, slot, for_pool) != MF_OK)
      return;
    if (z->state != MF_ZYGOTE_READY)
      return;
  }
}

/* The slot table and its one setter. Thread: the supervisor's. */
#include "slots.h"

#include <assert.h>
#include <string.h>

#include "base/time.h"
#include "supervisor-internal.h"

#include "base/banned.h"

#define FORKING_MAX_NS (30 * MF_NS_PER_S)
#define PREPARING_MAX_NS (15 * MF_NS_PER_S)
#define STARTING_MAX_NS (30 * MF_NS_PER_S)
#define DRAINING_LOOK_NS (100 * MF_NS_PER_MS)
#define RELEASE_WAIT_NS (50 * MF_NS_PER_MS)
#define RELEASE_WAIT_MAX_NS (1 * MF_NS_PER_S)

#define TO(state) (1u << MF_SLOT_##state)

static const struct {
  const char *name;
  uint32_t next;
} states[MF_SLOT_STATE_N] = {
  [MF_SLOT_FREE] = { "FREE", TO(FORKING) },
  [MF_SLOT_FORKING] = { "FORKING", TO(PREPARING) | TO(DRAINING) },
  [MF_SLOT_PREPARING] = { "PREPARING", TO(IDLE) | TO(DRAINING) },
  [MF_SLOT_IDLE] = { "IDLE", TO(STARTING) | TO(DRAINING) },
  [MF_SLOT_STARTING] = { "STARTING", TO(BUSY) | TO(DRAINING) },
  [MF_SLOT_BUSY] = { "BUSY", TO(DRAINING) },
  [MF_SLOT_DRAINING] = { "DRAINING", TO(DEAD) },
  [MF_SLOT_DEAD] = { "DEAD", TO(FREE) },
};

const char *mf_slot_state_name(enum mf_slot_state state)
{
  return states[state].name;
}

bool mf_slot_may_move(enum mf_slot_state from, enum mf_slot_state to)
{
  return from < MF_SLOT_STATE_N && to < MF_SLOT_STATE_N && (states[from].next & (1u << to));
}

enum mf_code mf_slot_write_diagram(struct mf_buf *out)
{
  enum mf_code code = mf_buf_printf(out, "stateDiagram-v2\n    [*] --> FREE\n");
  for (unsigned from = 0; from < MF_SLOT_STATE_N; from++) {
    for (unsigned to = 0; to < MF_SLOT_STATE_N && code == MF_OK; to++) {
      if (states[from].next & (1u << to))
        code = mf_buf_printf(out, "    %s --> %s\n", states[from].name, states[to].name);
    }
  }
  return code;
}

void mf_slot_set(struct mf_slot *slot, enum mf_slot_state to)
{
  assert(mf_slot_may_move(slot->state, to));
  if (slot->zygote) {
    if (slot->state != MF_SLOT_FREE)
      slot->zygote->slot_n[slot->state]--;
    if (to != MF_SLOT_FREE)
      slot->zygote->slot_n[to]++;
  }
  if (slot->state != MF_SLOT_FREE)
    slot->sup->state_n[slot->state]--;
  if (to != MF_SLOT_FREE)
    slot->sup->state_n[to]++;
  slot->state = to;
  slot->since_ns = mf_now_ns();
  if (to == MF_SLOT_FREE)
    slot->zygote = NULL;
}

struct mf_slot *mf_slot_find_free(struct mf_supervisor *sup)
{
  /* the lowest first: fewer control groups are made, and the warm ones are used again */
  for (unsigned i = 0; i < sup->slot_n; i++) {
    if (sup->slots[i].state == MF_SLOT_FREE) {
      sup->slot_high = MF_MAX(sup->slot_high, i + 1);
      return &sup->slots[i];
    }
  }
  return NULL;
}

void mf_slot_kill(struct mf_slot *slot)
{
  if (slot->is_killed)
    return;
  slot->is_killed = true;
  if (slot->init.fd >= 0)
    slot->sup->hooks.kill(&slot->init);
}

void mf_slot_discard(struct mf_slot *slot)
{
  assert(!slot->run);
  mf_slot_kill(slot);
  mf_child_detach(slot);
  mf_close_ptr(&slot->workdir);
  mf_slot_set(slot, MF_SLOT_DRAINING);
}

static void forget_child(struct mf_slot *slot)
{
  mf_child_detach(slot);
  mf_close_ptr(&slot->workdir);
  mf_pidref_done(&slot->guest);
  mf_pidref_done(&slot->init);
  slot->is_killed = slot->guest_exited = slot->init_exited = slot->is_gone = false;
  slot->is_flooding = slot->has_status = false;
  slot->status = 0;
  slot->status_cpu_us = 0;
  slot->frame_n = slot->release_tries = 0;
  slot->release_at_ns = 0;
  slot->ready = (struct mf_child_ready){ 0 };
}

static void release_group(struct mf_slot *slot)
{
  uint64_t now = mf_now_ns();
  if (now < slot->release_at_ns)
    return;
  if (mf_cgroup_slot_release(slot->sup->cgroup, slot->index, slot->release_tries, NULL) != MF_OK) {
    uint64_t wait = RELEASE_WAIT_NS << MF_MIN(slot->release_tries, 8u);
    slot->release_at_ns = now + MF_MIN(wait, RELEASE_WAIT_MAX_NS);
    slot->release_tries++;
    return;
  }
  forget_child(slot);
  mf_slot_set(slot, MF_SLOT_FREE);
}

void mf_slot_advance(struct mf_slot *slot)
{
  if (slot->state == MF_SLOT_DRAINING) {
    if (slot->init_exited)
      slot->is_gone = true;
    if (!slot->is_gone)
      return;
    /* the permit goes back at once; the slot waits for the zygote's last frame, which names it by number */
    if (slot->run)
      mf_sup_run_gone(slot->run);
    if (!slot->run && slot->init_exited)
      mf_slot_set(slot, MF_SLOT_DEAD);
  }
  if (slot->state == MF_SLOT_DEAD)
    release_group(slot);
}

static void check_draining(struct mf_slot *slot, uint64_t age_ns)
{
  if (age_ns < DRAINING_LOOK_NS || slot->is_gone)
    return;
  /* a zygote that is stopped tells nothing, but the pidfd does: an init ends last in its namespace */
  if (mf_pidref_is_dead(&slot->init) && slot->init.fd >= 0)
    slot->is_gone = true;
}

void mf_slot_check(struct mf_slot *slot, uint64_t now_ns)
{
  uint64_t age_ns = now_ns - MF_MIN(slot->since_ns, now_ns);
  slot->frame_n = 0;
  if (slot->is_flooding) {
    slot->is_flooding = false;
    if (slot->control_watch)
      mf_watch_set(slot->control_watch, MF_WATCH_READ);
  }
  switch (slot->state) {
  case MF_SLOT_FORKING:
    if (age_ns > FORKING_MAX_NS)
      mf_zygote_down(slot->zygote, "fork", 0, "the zygote does not fork");
    break;
  case MF_SLOT_PREPARING:
    if (age_ns > PREPARING_MAX_NS)
      mf_lane_child_failed(slot, "prepare", 0, "the sandbox did not become ready in time");
    break;
  case MF_SLOT_STARTING:
    if (age_ns > STARTING_MAX_NS)
      mf_sup_run_crash(slot->run, "the sandbox did not start its job");
    break;
  case MF_SLOT_DRAINING:
    check_draining(slot, age_ns);
    break;
  case MF_SLOT_FREE:
  case MF_SLOT_IDLE:
  case MF_SLOT_BUSY:
  case MF_SLOT_DEAD:
  case MF_SLOT_STATE_N:
    break;
  }
  mf_slot_advance(slot);
}

void mf_slot_done(struct mf_slot *slot)
{
  forget_child(slot);
  slot->wall = mf_timer_free(slot->wall);
  slot->meter = mf_timer_free(slot->meter);
}

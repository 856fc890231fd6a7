/* Slots: the places in which children live, and the one table of what may follow what.
 *
 * A slot is FREE, or it holds one child from the request to fork it until every process of it is gone and its control
 * group was seen empty. A run is bound to a slot from STARTING on. Thread: the supervisor's. */
#ifndef MF_LOCAL_SLOTS_H
#define MF_LOCAL_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum mf_slot_state {
  MF_SLOT_FREE,      /* nothing */
  MF_SLOT_FORKING,   /* the zygote was asked */
  MF_SLOT_PREPARING, /* the child builds its sandbox */
  MF_SLOT_IDLE,      /* ready, in the pool */
  MF_SLOT_STARTING,  /* the job was sent */
  MF_SLOT_BUSY,      /* the user's code runs, and the wall clock with it */
  MF_SLOT_DRAINING,  /* it has ended or was told to: the last output, the answer, the kill, the reap */
  MF_SLOT_DEAD,      /* every process is gone; the control group is being cleaned */
  MF_SLOT_STATE_N
};

const char *mf_slot_state_name(enum mf_slot_state state);
bool mf_slot_may_move(enum mf_slot_state from, enum mf_slot_state to);
/* The table as the diagram of docs/rooms/local-supervisor.md (mermaid); a test holds them together. */
MF_MUST_USE enum mf_code mf_slot_write_diagram(struct mf_buf *out);

struct mf_slot;
/* The one setter: asserts that the move is legal, keeps the counts, notes the time. */
void mf_slot_set(struct mf_slot *slot, enum mf_slot_state to);

struct mf_supervisor;
/* A free slot bound to nothing; NULL when all are taken. */
struct mf_slot *mf_slot_find_free(struct mf_supervisor *sup);
/* Ends every process of the slot. Idempotent. */
void mf_slot_kill(struct mf_slot *slot);
/* Ends a child that has no run: kill, and wait for the reap. */
void mf_slot_discard(struct mf_slot *slot);
/* Called whenever something about its end was learnt: moves on through DEAD to FREE as far as is true by now. */
void mf_slot_advance(struct mf_slot *slot);
/* Deadlines of the states that have one; from the supervisor's tick. */
void mf_slot_check(struct mf_slot *slot, uint64_t now_ns);
/* At the supervisor's end: gives back what the slot holds, in any state. */
void mf_slot_done(struct mf_slot *slot);

#endif

/* Room in memory for large submissions, or for large answers: so many bytes of them at a time. One key has half of it
 * at most, so that a client that sends nothing, or takes nothing, holds up no other key's. Thread: the loop's; from the
 * request's fiber. */
#ifndef MF_GATEWAY_BULK_H
#define MF_GATEWAY_BULK_H

#include "loop/fiber.h"

struct mf_gw_bulk_place {
  struct mf_fiber *fiber; /* the caller's */
  const char *owner;      /* whose; "": there are no keys */
  size_t bytes;           /* at most half of MF_GW_TASK_BULK_MAX */
  bool is_given;          /* private, as next */
  struct mf_gw_bulk_place *next;
};
struct mf_gw_bulk {
  struct mf_gw_bulk_place *waiting, *given;
  size_t busy_bytes;
};

/* Without waiting. False: there is no room now. */
bool mf_gw_bulk_try(struct mf_gw_bulk *b, struct mf_gw_bulk_place *p);
/* Waits for its turn. MF_E_CANCELLED. Released in both cases, and by the same fiber. */
MF_MUST_USE enum mf_code mf_gw_bulk_take(struct mf_gw_bulk *b, struct mf_gw_bulk_place *p);
void mf_gw_bulk_release(struct mf_gw_bulk *b, struct mf_gw_bulk_place *p); /* one that was never taken is fine */

#endif

/* Two lists: who waits, in the order they came, and who has a place. */
#include "bulk.h"

#include "tasks.h"
#include "base/banned.h"

static void unlink_place(struct mf_gw_bulk_place **at, const struct mf_gw_bulk_place *p)
{
  while (*at && *at != p)
    at = &(*at)->next;
  if (*at)
    *at = p->next;
}

static bool is_within_share(const struct mf_gw_bulk *b, const struct mf_gw_bulk_place *p)
{
  size_t bytes = p->bytes;
  for (const struct mf_gw_bulk_place *i = b->given; i; i = i->next)
    bytes += strcmp(i->owner, p->owner) == 0 ? i->bytes : 0;
  return !p->owner[0] || bytes <= MF_GW_TASK_BULK_MAX / 2;
}

/* Who has its share already is passed over; who only finds no room is not. */
static void give_places(struct mf_gw_bulk *b)
{
  struct mf_gw_bulk_place *next;
  for (struct mf_gw_bulk_place *p = b->waiting; p; p = next) {
    next = p->next;
    if (!is_within_share(b, p))
      continue;
    if (p->bytes > MF_GW_TASK_BULK_MAX - b->busy_bytes)
      break;
    unlink_place(&b->waiting, p);
    p->next = b->given;
    b->given = p;
    b->busy_bytes += p->bytes;
    p->is_given = true;
    mf_fiber_wake(p->fiber);
  }
}

static void queue_up(struct mf_gw_bulk *b, struct mf_gw_bulk_place *p)
{
  struct mf_gw_bulk_place **at = &b->waiting;
  while (*at)
    at = &(*at)->next;
  *at = p;
  p->next = NULL;
  give_places(b);
}

bool mf_gw_bulk_try(struct mf_gw_bulk *b, struct mf_gw_bulk_place *p)
{
  queue_up(b, p);
  if (!p->is_given)
    unlink_place(&b->waiting, p);
  return p->is_given;
}

enum mf_code mf_gw_bulk_take(struct mf_gw_bulk *b, struct mf_gw_bulk_place *p)
{
  enum mf_code code = MF_OK;
  queue_up(b, p);
  while (!p->is_given && code != MF_E_CANCELLED)
    code = mf_fiber_wait(p->fiber, 0);
  return p->is_given ? MF_OK : MF_E_CANCELLED;
}

void mf_gw_bulk_release(struct mf_gw_bulk *b, struct mf_gw_bulk_place *p)
{
  if (p->is_given)
    b->busy_bytes -= p->bytes;
  unlink_place(p->is_given ? &b->given : &b->waiting, p);
  give_places(b);
}

/* Which round a request gets: conversations and how far each has come. Thread: one owner. */
#ifndef MF_MODEL_PLAN_H
#define MF_MODEL_PLAN_H

#include "ask.h"

enum { MF_PLAN_SESSIONS_MAX = 4096 };

struct mf_plan;

struct mf_plan *mf_plan_new(void);
void mf_plan_free(struct mf_plan *p);  /* NULL is fine */
void mf_plan_reset(struct mf_plan *p); /* every conversation begins anew */

/* The index of the round. By order: the first one that this session has not had and that fits. By turn: of those that
 * fit, the one whose number is that of the runs of tool outputs in this turn. MF_E_GONE: none is left and the script
 * does not loop; MF_E_LIMIT: too many sessions, or a name that is too long. */
MF_MUST_USE enum mf_code mf_plan_next(struct mf_plan *p, const struct mf_model_script *script, struct mf_str session,
                                      const struct mf_model_ask *a, size_t *ret_round, struct mf_err *err);

#endif

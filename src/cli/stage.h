/* What every command that waits for something begins with: a loop, and signals that ask it to end. */
#ifndef MF_CLI_STAGE_H
#define MF_CLI_STAGE_H

#include "signals.h"

struct mf_stage {
  struct mf_loop *loop;
  struct mf_signals *signals;
};
/* on_signal NULL: signals keep their defaults. After an error mf_stage_done is fine too. */
MF_MUST_USE enum mf_code mf_stage_init(struct mf_stage *s, void (*on_signal)(void *user, int sig), void *user,
                                       struct mf_err *err);
/* Everything on the loop must be freed before. With `leak` the loop is left alone: something on it could not be closed,
 * and the process ends now. */
void mf_stage_done(struct mf_stage *s, bool leak);

#endif

/* A loop and its signals. */
#include "stage.h"

#include "base/banned.h"

enum mf_code mf_stage_init(struct mf_stage *s, void (*on_signal)(void *user, int sig), void *user, struct mf_err *err)
{
  *s = (struct mf_stage){ 0 };
  enum mf_code code = mf_loop_new(&s->loop, err);
  if (!code && on_signal)
    code = mf_signals_new(s->loop, on_signal, user, &s->signals, err);
  return code;
}

void mf_stage_done(struct mf_stage *s, bool leak)
{
  s->signals = mf_signals_free(s->signals);
  if (s->loop && !leak)
    mf_loop_free(s->loop);
  s->loop = NULL;
}

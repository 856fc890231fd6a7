/* The calls that go down to a provider: thin, but the one place where a spec is checked.
 * Thread: the provider's loop. Neighbours: spec.c; the providers behind struct mf_provider_ops. */
#include "sandbox/sandbox.h"

#include <assert.h>
#include <stdlib.h>

#include "base/banned.h"

enum mf_code mf_sandbox_start(struct mf_provider *p, const struct mf_sandbox_spec *spec,
                              const struct mf_sandbox_events *events, void *user, struct mf_run **ret,
                              struct mf_err *err)
{
  assert(events->finished != NULL); /* it owns the result */
  enum mf_code code = mf_sandbox_spec_check(spec, err);
  if (code != MF_OK)
    return code;
  struct mf_run *run = NULL;
  code = p->ops->start(p, spec, events, user, &run, err);
  if (code != MF_OK)
    return code;
  assert(run != NULL && run->provider == p);
  *ret = run;
  return MF_OK;
}

void mf_sandbox_cancel(struct mf_run *run)
{
  run->provider->ops->cancel(run);
}

void mf_provider_close(struct mf_provider *p, void (*closed)(void *user), void *user)
{
  p->ops->close(p, closed, user);
}

uint32_t mf_provider_caps(const struct mf_provider *p)
{
  /* An instance can do less than its kind, never more. */
  return p->ops->instance_caps != NULL ? p->ops->instance_caps(p) & p->ops->caps : p->ops->caps;
}

unsigned mf_provider_busy(const struct mf_provider *p)
{
  return p->ops->busy(p);
}

/* ---- one run at a time ---- */

struct sync_run {
  struct mf_loop *loop;
  struct mf_sandbox_result *result;
  bool finished;
  bool abandoned; /* nobody waits any more: the result goes, and this with it */
};

static void sync_finished(void *user, struct mf_sandbox_result *result)
{
  struct sync_run *s = user;
  if (s->abandoned) {
    mf_sandbox_result_free(result);
    free(s);
    return;
  }
  s->result = result;
  s->finished = true;
  mf_loop_stop(s->loop);
}

static const struct mf_sandbox_events sync_events = { .finished = sync_finished };

enum mf_code mf_sandbox_run_sync(struct mf_loop *loop, struct mf_provider *p, const struct mf_sandbox_spec *spec,
                                 struct mf_sandbox_result **ret, struct mf_err *err)
{
  /* On the heap, since a loop that fails leaves a run which still points here. */
  struct sync_run *s = mf_xcalloc(1, sizeof(*s));
  s->loop = loop;
  struct mf_run *run = NULL;
  enum mf_code code = mf_sandbox_start(p, spec, &sync_events, s, &run, err);
  if (code != MF_OK) {
    free(s);
    return code;
  }
  while (!s->finished) {
    code = mf_loop_run(loop, err);
    if (s->finished)
      break;
    if (code != MF_OK) {
      s->abandoned = true;
      mf_sandbox_cancel(run);
      return mf_wrap(err, code, "wait for the run");
    }
    /* Somebody else stopped the loop (a signal): the run is to end, and its result is still owed. */
    mf_sandbox_cancel(run);
  }
  *ret = s->result;
  free(s);
  return MF_OK;
}

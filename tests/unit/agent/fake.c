/* See harness.h. */
#include "harness.h"

#include <stdlib.h>

#include "base/banned.h"

struct fake_run {
  struct mf_run base;
  const struct mf_sandbox_events *events;
  void *user;
  char *source;
  unsigned step;
  bool is_cancelled, is_finished;
};

static void step(void *user);

static void next(struct fake_run *r)
{
  assert_int_equal(mf_loop_defer(((struct fake *)r->base.provider)->loop, step, r, NULL), MF_OK);
}

static void finish(struct fake_run *r)
{
  struct mf_sandbox_result *result = mf_sandbox_result_new();
  mf_buf_init(&result->out, 1u << 20);
  mf_buf_init(&result->err, 1u << 20);
  bool fails = strcmp(r->source, "raise") == 0;
  result->status = r->is_cancelled ? MF_RUN_CANCELLED : fails ? MF_RUN_FAILED : MF_RUN_SUCCEEDED;
  result->reason = r->is_cancelled ? MF_REASON_CANCELLED : fails ? MF_REASON_EXCEPTION : MF_REASON_EXIT;
  if (strncmp(r->source, "print(", 6) == 0)
    assert_int_equal(mf_buf_printf(&result->out, "%.*s\n", (int)strcspn(r->source + 6, ")"), r->source + 6), MF_OK);
  r->is_finished = true;
  r->events->finished(r->user, result);
}

static void step(void *user)
{
  struct fake_run *r = user;
  struct fake *f = (struct fake *)r->base.provider;
  bool hangs = strcmp(r->source, "hang") == 0 && !r->is_cancelled;
  switch (r->step++) {
  case 0:
    r->events->started(r->user);
    next(r);
    return;
  case 1:
  case 2:
  case 3:
    next(r);
    return;
  default:
    break;
  }
  if (hangs)
    return;
  if (!r->is_finished) {
    finish(r);
    next(r);
    return;
  }
  f->busy--;
  r->events->released(r->user);
  free(r->source);
  free(r);
}

static enum mf_code fake_start(struct mf_provider *p, const struct mf_sandbox_spec *spec,
                               const struct mf_sandbox_events *events, void *user, struct mf_run **ret,
                               struct mf_err *err)
{
  struct fake *f = (struct fake *)p;
  struct fake_run *r = mf_xcalloc(1, sizeof(*r));
  *r = (struct fake_run){ .base = { p }, .events = events, .user = user };
  r->source = mf_xasprintf("%.*s", MF_STR_ARG(spec->source));
  f->start_n++;
  f->busy++;
  f->busy_max = MF_MAX(f->busy_max, f->busy);
  *ret = &r->base;
  next(r);
  return MF_OK;
}

static void fake_cancel(struct mf_run *run)
{
  struct fake_run *r = (struct fake_run *)run;
  ((struct fake *)run->provider)->cancel_n++;
  bool was_hanging = strcmp(r->source, "hang") == 0 && r->step > 4 && !r->is_cancelled;
  r->is_cancelled = true;
  if (was_hanging)
    next(r);
}

static unsigned fake_busy(const struct mf_provider *p)
{
  return ((const struct fake *)p)->busy;
}

static const struct mf_provider_ops fake_ops = {
  .name = "fake", .start = fake_start, .cancel = fake_cancel, .busy = fake_busy
};

void fake_init(struct fake *f, struct mf_loop *loop)
{
  *f = (struct fake){ .base = { &fake_ops }, .loop = loop };
}

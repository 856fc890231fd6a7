/* Measuring. */
#include "measure.h"

#include <stdlib.h>

#include "base/time.h"

#include "base/banned.h"

/* ---- samples ---- */

void mf_samples_add(struct mf_samples *s, double ms)
{
  if (s->n == s->cap) {
    s->cap = s->cap ? s->cap * 2 : 256;
    s->ms = mf_xrealloc(s->ms, s->cap * sizeof(*s->ms));
  }
  s->ms[s->n++] = ms;
}

void mf_samples_done(struct mf_samples *s)
{
  free(s->ms);
  *s = (struct mf_samples){ 0 };
}

static int compare(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double mf_samples_at(struct mf_samples *s, double q)
{
  if (s->n == 0)
    return 0;
  qsort(s->ms, s->n, sizeof(*s->ms), compare);
  unsigned i = (unsigned)(q * s->n);
  return s->ms[MF_MIN(i, s->n - 1)];
}

/* ---- a provider ---- */

struct waiting {
  struct mf_loop *loop;
  enum mf_code code;
  struct mf_err err;
  struct mf_local_info info;
};

static void on_ready(void *user, enum mf_code code, const struct mf_err *err)
{
  struct waiting *w = user;
  w->code = code;
  if (code != MF_OK)
    w->err = *err;
  mf_loop_stop(w->loop);
}

static void on_stop(void *user)
{
  mf_loop_stop(user);
}

void mf_measure_close(struct mf_loop *loop, struct mf_provider *p)
{
  if (!p)
    return;
  mf_provider_close(p, on_stop, loop);
  (void)!mf_loop_run(loop, NULL);
}

enum mf_code mf_measure_open(struct mf_loop *loop, const struct mf_provider_config *config, struct mf_provider **ret,
                             struct mf_err *err)
{
  struct waiting w = { .loop = loop };
  struct mf_provider *p = NULL;
  enum mf_code code = mf_provider_new(loop, config, on_ready, &w, &p, err);
  if (code == MF_OK)
    code = mf_loop_run(loop, err);
  if (code == MF_OK && w.code != MF_OK) {
    code = w.code;
    *err = w.err;
  }
  if (code != MF_OK)
    mf_measure_close(loop, p);
  else
    *ret = p;
  return code;
}

enum mf_code mf_measure_idle(struct mf_loop *loop, unsigned ms, struct mf_err *err)
{
  struct mf_timer *t;
  enum mf_code code = mf_timer_new(loop, on_stop, loop, &t, err);
  if (code != MF_OK)
    return code;
  mf_timer_arm(t, mf_now_ns() + ms * MF_NS_PER_MS);
  code = mf_loop_run(loop, err);
  mf_timer_free(t);
  return code;
}

static void on_info(void *user, const struct mf_local_info *info)
{
  struct waiting *w = user;
  if (info)
    w->info = *info;
  mf_loop_stop(w->loop);
}

enum mf_code mf_measure_info(struct mf_loop *loop, struct mf_provider *p, struct mf_local_info *ret, struct mf_err *err)
{
  struct waiting w = { .loop = loop };
  mf_local_info(p, on_info, &w);
  enum mf_code code = mf_loop_run(loop, err);
  if (code == MF_OK)
    *ret = w.info;
  return code;
}

/* ---- latency ---- */

static enum mf_code check_result(const struct mf_sandbox_result *r, struct mf_err *err)
{
  if (r->status == MF_RUN_SUCCEEDED && r->has_exit_code && r->exit_code == 0)
    return MF_OK;
  const char *last = r->err.len ? strrchr(r->err.ptr, ' ') : NULL;
  return mf_fail(err, MF_E_INTERNAL, 0, "a measured run ended as %s (%s)%s%s%s%.100s", mf_run_status_name(r->status),
                 mf_run_reason_name(r->reason), r->diagnostic[0] ? ": " : "", r->diagnostic, last ? ": …" : "",
                 last ? last : "");
}

enum mf_code mf_measure_one(struct mf_loop *loop, struct mf_provider *p, const struct mf_sandbox_spec *spec,
                            struct mf_samples *s, struct mf_err *err)
{
  struct mf_sandbox_result *r;
  uint64_t since_ns = mf_now_ns();
  enum mf_code code = mf_sandbox_run_sync(loop, p, spec, &r, err);
  uint64_t until_ns = mf_now_ns();
  if (code != MF_OK)
    return code;
  code = check_result(r, err);
  if (code == MF_OK) {
    mf_samples_add(s, (double)(until_ns - since_ns) / 1e6);
    s->pool_n += strcmp(r->receipt.start, "pool") == 0;
  }
  mf_sandbox_result_free(r);
  return code;
}

/* ---- rate ---- */

struct rate {
  struct mf_loop *loop;
  struct mf_provider *provider;
  const struct mf_sandbox_spec *spec;
  struct mf_timer *retry;
  unsigned want, flying;
  uint64_t until_ns, done_n, last_ns;
  enum mf_code code;
  struct mf_err err;
};

static void rate_fill(void *user);

static void rate_finished(void *user, struct mf_sandbox_result *r)
{
  struct rate *x = user;
  x->flying--;
  x->last_ns = mf_now_ns();
  if (x->code == MF_OK)
    x->code = check_result(r, &x->err);
  x->done_n++;
  mf_sandbox_result_free(r);
  rate_fill(x);
}

static const struct mf_sandbox_events rate_events = { .finished = rate_finished };

static void rate_fill(void *user)
{
  struct rate *x = user;
  while (x->code == MF_OK && x->flying < x->want && mf_now_ns() < x->until_ns) {
    struct mf_run *run;
    enum mf_code code = mf_sandbox_start(x->provider, x->spec, &rate_events, x, &run, &x->err);
    if (code == MF_E_CAPACITY) { /* places of the finished ones are still being reaped */
      mf_timer_arm(x->retry, mf_now_ns() + MF_NS_PER_MS / 4);
      return;
    }
    if (code != MF_OK)
      x->code = code;
    else
      x->flying++;
  }
  if (x->flying == 0)
    mf_loop_stop(x->loop);
}

enum mf_code mf_measure_rate(struct mf_loop *loop, struct mf_provider *p, const struct mf_sandbox_spec *spec,
                             unsigned concurrency, double seconds, double *ret_rate, struct mf_err *err)
{
  struct rate x = { .loop = loop, .provider = p, .spec = spec, .want = concurrency };
  enum mf_code code = mf_timer_new(loop, rate_fill, &x, &x.retry, err);
  if (code != MF_OK)
    return code;

  uint64_t since_ns = mf_now_ns();
  x.until_ns = since_ns + (uint64_t)(seconds * 1e9);
  mf_timer_arm(x.retry, since_ns);
  code = mf_loop_run(loop, err);
  mf_timer_free(x.retry);
  if (code == MF_OK && x.code != MF_OK) {
    code = x.code;
    *err = x.err;
  }
  if (code == MF_OK)
    *ret_rate = x.last_ns > since_ns ? (double)x.done_n / ((double)(x.last_ns - since_ns) / 1e9) : 0;
  return code;
}

/* Measuring runs of a provider that is kept alive: latency one at a time, and the rate when many wait. */
#ifndef MF_CLI_MEASURE_H
#define MF_CLI_MEASURE_H

#include "providers/providers.h"

struct mf_samples {
  double *ms; /* owned */
  unsigned n, cap;
  unsigned pool_n; /* runs that started from the pool */
};
void mf_samples_add(struct mf_samples *s, double ms);
void mf_samples_done(struct mf_samples *s);
/* The value below which the share q (0..1) of the samples lies; sorts them. 0 without samples. */
double mf_samples_at(struct mf_samples *s, double q);

/* Starts a provider and waits until it is ready. */
MF_MUST_USE enum mf_code mf_measure_open(struct mf_loop *loop, const struct mf_provider_config *config,
                                         struct mf_provider **ret, struct mf_err *err);
void mf_measure_close(struct mf_loop *loop, struct mf_provider *p); /* waits for it; NULL is fine */
/* Runs the loop for so long: pools refill, the dead are reaped. */
MF_MUST_USE enum mf_code mf_measure_idle(struct mf_loop *loop, unsigned ms, struct mf_err *err);
/* Of a local provider. */
MF_MUST_USE enum mf_code mf_measure_info(struct mf_loop *loop, struct mf_provider *p, struct mf_local_info *ret,
                                         struct mf_err *err);

/* One run from the call to its result. A run that does not succeed is an error that says how it ended. */
MF_MUST_USE enum mf_code mf_measure_one(struct mf_loop *loop, struct mf_provider *p, const struct mf_sandbox_spec *spec,
                                        struct mf_samples *s, struct mf_err *err);

/* Keeps `concurrency` runs under way for `seconds`. *ret_rate: results a second. */
MF_MUST_USE enum mf_code mf_measure_rate(struct mf_loop *loop, struct mf_provider *p,
                                         const struct mf_sandbox_spec *spec, unsigned concurrency, double seconds,
                                         double *ret_rate, struct mf_err *err);

#endif

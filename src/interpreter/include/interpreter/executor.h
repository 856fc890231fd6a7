/* The executor: process-wide permits over a provider. Admission never waits, but for callers that say they are patient;
 * a permit is held until the sandbox is reaped, also after the caller has gone. Thread: the loop's; run is called from
 * a fiber. */
#ifndef MF_INTERPRETER_EXECUTOR_H
#define MF_INTERPRETER_EXECUTOR_H

#include "loop/fiber.h"
#include "sandbox/sandbox.h"

/* ---- [code_interpreter] ---- */

/* Names, defaults and ceilings are those of the system that Mayfly can replace, so that its configuration works here.
 */
struct mf_interpreter_config {
  bool enabled;
  uint64_t max_source_bytes, execution_wall_time_seconds, max_fuel, max_guest_memory_bytes, max_stdout_bytes,
      max_stderr_bytes, max_concurrent_guests, max_aggregate_guest_memory_bytes, max_worker_memory_bytes,
      max_aggregate_worker_memory_bytes;
  /* No key, but a fact of the provider: the most memory that its guest inside a worker can have. Then a program's
   * memory is max_guest_memory_bytes. 0: there is no guest of that kind, and it is max_worker_memory_bytes. */
  uint64_t guest_ceiling_bytes;
};
void mf_interpreter_config_default(struct mf_interpreter_config *c);
/* MF_E_INPUT: the message names the keys that do not fit together and their numbers. */
MF_MUST_USE enum mf_code mf_interpreter_config_check(const struct mf_interpreter_config *c, struct mf_err *err);
/* The smallest of max_concurrent_guests, the provider's places, and what both aggregates have room for. At least 1 for
 * a checked configuration and a provider with a place. */
unsigned mf_interpreter_permits(const struct mf_interpreter_config *c, unsigned provider_max);
/* The limits of one gateway call: text only, no artifacts, stopped when it prints too much. Numbers that the
 * configuration allows and a sandbox does not are brought into its range. */
void mf_interpreter_limits(const struct mf_interpreter_config *c, struct mf_sandbox_limits *ret);

/* ---- the executor ---- */

struct mf_executor;
/* Borrows the provider, which must outlive it until `closed`. permits: at least 1. */
MF_MUST_USE enum mf_code mf_executor_new(struct mf_loop *loop, struct mf_provider *provider, unsigned permits,
                                         struct mf_executor **ret, struct mf_err *err);
/* When busy is 0 and no fiber is inside run: after the provider was closed every permit is back. NULL is fine. */
void mf_executor_free(struct mf_executor *e);

struct mf_executor_stats {
  unsigned permits;
  unsigned busy;    /* permits out */
  unsigned waiting; /* callers inside run; the rest of busy are sandboxes that die or were left behind */
  uint64_t by_status[MF_RUN_STATUS_N], by_reason[MF_REASON_N]; /* of runs that have ended, cancelled ones too */
  uint64_t refused;                                            /* no permit */
  uint64_t seconds_us_total;                                   /* microseconds of guests' wall time */
};
struct mf_executor_stats mf_executor_stats(const struct mf_executor *e);

/* Runs one program; the calling fiber waits. spec is borrowed until the return. Whatever the provider says, the texts
 * of the result are within the spec's limits.
 *
 * MF_OK: a result, the caller's; a crash of the machinery, a provider that is down and one that does not answer are
 * results too. MF_E_CAPACITY: programs use all permits, or no place at the provider: at once, nothing ran. Only a
 * permit whose program has ended is waited for, while its sandbox is taken down, and one that a patient caller has; 2 s
 * at most. MF_E_CANCELLED: the fiber was
 * cancelled: the sandbox is ended first. Nothing is started for one that is cancelled already. MF_E_INPUT: the spec. */
MF_MUST_USE enum mf_code mf_executor_run(struct mf_executor *e, struct mf_fiber *self,
                                         const struct mf_sandbox_spec *spec, struct mf_sandbox_result **ret,
                                         struct mf_err *err);

struct mf_executor_options {
  /* Waits for a permit as long as it takes, instead of MF_E_CAPACITY for those that are taken; behind every caller that
   * does not, so that none of them waits longer because of it. */
  bool is_patient;
  /* On MF_E_CANCELLED *ret is what the sandbox gave nevertheless, or NULL. */
  bool keeps_cancelled;
  /* Live events, from the loop and not from the fiber, none after the return; each may be NULL. The joined text is that
   * of the result, but where the provider stopped answering. */
  void (*started)(void *user);
  void (*output)(void *user, bool is_stderr, struct mf_str text);
  void *user;
};
/* mf_executor_run with options (NULL: none). */
MF_MUST_USE enum mf_code mf_executor_run_with(struct mf_executor *e, struct mf_fiber *self,
                                              const struct mf_sandbox_spec *spec,
                                              const struct mf_executor_options *options, struct mf_sandbox_result **ret,
                                              struct mf_err *err);

#endif

/* A provider whose other side (a supervisor, a worker) says what the input says, and the runs on it: what the fuzzers
 * of providers share. Whatever comes, each run ends exactly once with a sound result, closing ends, and no descriptor
 * is left.
 *
 * Input: a byte of settings, then steps: an operation byte and what it needs. */
#ifndef MF_TESTS_FUZZ_WORLD_H
#define MF_TESTS_FUZZ_WORLD_H

#include "fuzz.h"
#include "sandbox/sandbox.h"

#define RUNS_MAX 16
#define STEPS_MAX 200
#define OUT_MAX 64u

struct world;
struct one {
  struct world *world;
  struct mf_run *run;
  unsigned finished_n, released_n;
  uint8_t inside; /* what its events do */
};
/* The first member of a target's own. */
struct world {
  struct mf_loop *loop;
  struct mf_provider *provider;
  const uint8_t *data;
  size_t n;
  struct mf_str source;
  struct mf_sandbox_limits limits, other_limits;          /* a run has one of them */
  void (*check_result)(const struct mf_sandbox_result *); /* what this provider promises besides; NULL */
  struct mf_timer *slice;
  unsigned ready_n, closed_n;
  bool is_closing;
  struct one runs[RUNS_MAX];
  unsigned run_n;
};

/* What the input has next; zeros at its end. */
uint8_t take_byte(struct world *w);
void take_bytes(struct world *w, void *to, size_t n);

/* Of mf_provider's start. */
void world_on_ready(void *user, enum mf_code code, const struct mf_err *err);

/* One turn of the loop, or as many as there are in that time. */
void turn(struct world *w);
void turn_for_ms(struct world *w, uint64_t ms);

/* The operations that any provider has: a turn, a start, a cancel, closing. false: it is none of them. */
bool world_step(struct world *w, uint8_t op);

/* Plays an input: `begin` makes the provider, `step` does one operation that is not world_step's, `end` frees what
 * the other side had. */
void world_play(struct world *w, const uint8_t *data, size_t n, void (*begin)(struct world *w, uint8_t how),
                void (*step)(struct world *w, uint8_t op), void (*end)(struct world *w));

#endif

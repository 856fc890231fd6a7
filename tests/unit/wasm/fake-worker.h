/* A provider whose workers are the test itself: frames are taken and sent by hand, step by step. */
#ifndef MF_TESTS_WASM_FAKE_WORKER_H
#define MF_TESTS_WASM_FAKE_WORKER_H

#include "provider.h"

#define FAKE_RUNS_MAX 32
#define FAKE_WORKERS_MAX 64

struct fake;

/* What came up about one run. */
struct fake_run {
  struct fake *fake;
  struct mf_run *run;
  unsigned started_n, finished_n, released_n, output_n;
  struct mf_buf out; /* as streamed */
  struct mf_sandbox_result *result;
  void (*on_finished)(struct fake_run *r);
};

struct fake {
  struct mf_loop *loop;
  struct mf_timer *slice;
  struct mf_provider *provider;
  struct mf_wasm_config config;
  struct mf_wasm_seam seam;

  int socks[FAKE_WORKERS_MAX];           /* the workers' ends, in the order of their births; -1: "dead" */
  struct mf_worker_config worker_config; /* of the last one */
  unsigned spawn_n, sweep_n, sweep_busy_n;
  bool refuses_spawn;
  int spawn_sys; /* with this errno */

  unsigned ready_n, closed_n;
  enum mf_code ready_code;
  struct mf_err ready_err;
  struct fake_run runs[FAKE_RUNS_MAX];
  unsigned run_n;
};

void fake_init(struct fake *f);
void fake_open(struct fake *f);    /* mf_wasm_new_with */
void fake_open_up(struct fake *f); /* and a worker, and its probe, and waits for `ready` */
void fake_close(struct fake *f);   /* close, wait for `closed` (if open), free everything */

void fake_slice(struct fake *f); /* runs the loop for a moment */
/* Runs the loop until the expression holds; fails after half a minute. */
#define UNTIL(f, expression)                                                                                           \
  do {                                                                                                                 \
    for (unsigned slices_ = 0; !(expression); slices_++) {                                                             \
      if (slices_ > 30000)                                                                                             \
        fail_msg("never came: %s", #expression);                                                                       \
      fake_slice(f);                                                                                                   \
    }                                                                                                                  \
  } while (0)

struct mf_sandbox_spec fake_spec(const char *source);
enum mf_code fake_try(struct fake *f, const struct mf_sandbox_spec *spec, struct fake_run **ret, struct mf_err *err);
struct fake_run *fake_start(struct fake *f, const struct mf_sandbox_spec *spec);

/* The next frame that the provider sent to worker i, waited for; it must have this type and size. */
void fake_take(struct fake *f, unsigned i, uint32_t type, void *frame, size_t size, int *ret_fd);
bool fake_has_frame(struct fake *f, unsigned i);
bool fake_is_gone(struct fake *f, unsigned i); /* the provider has closed its socket; closes ours */
/* HELLO, GO, READY. */
void fake_get_ready(struct fake *f, unsigned i);
/* Takes a CALL; returns its serial. */
uint64_t fake_take_call(struct fake *f, unsigned i);

void fake_send(struct fake *f, unsigned i, const void *frame, size_t size, int fd);
void fake_send_hello(struct fake *f, unsigned i);
void fake_send_ready(struct fake *f, unsigned i);
void fake_send_began(struct fake *f, unsigned i, uint64_t serial);
void fake_send_output(struct fake *f, unsigned i, uint64_t serial, bool is_stderr, const char *text, bool is_dropped);
void fake_send_file(struct fake *f, unsigned i, uint64_t serial, const char *name, const char *data); /* NULL: none */
struct mf_worker_done fake_done(uint64_t serial);                                                     /* exit code 0 */
void fake_send_done(struct fake *f, unsigned i, const struct mf_worker_done *done);
void fake_die(struct fake *f, unsigned i);

/* The run has ended so, once. */
void assert_ended(const struct fake_run *r, enum mf_run_status status, enum mf_run_reason reason,
                  const char *diagnostic);
/* A run that succeeds at once in worker i: the provider works. */
void assert_works(struct fake *f, unsigned i);

unsigned fake_open_fds(void); /* descriptors of this process */

#endif

/* The provider's side, private to it: the instance, its workers, its runs.
 *
 *   provider.c     birth, the vtable, the one timer that does what is due, closing
 *   pool.c         which workers there are, and which of them takes which run
 *   worker-link.c  one worker seen from outside: birth, frames, death
 *   run.c          one run, from its spec to its result
 *   collect.c      its files, on a thread where there are many
 *
 * Everything belongs to the loop's thread. Runs are freed and events called only from callbacks of the loop, never
 * inside a call from above (start, cancel, close), so that those are safe inside every event. */
#ifndef MF_WASM_PROVIDER_H
#define MF_WASM_PROVIDER_H

#include "base/pidref.h"
#include "collect.h"
#include "confine/cgroup.h"
#include "frames.h"
#include "sandbox/sandbox.h"
#include "verdict.h"
#include "wasm/wasm.h"

/* ---- the seam: what tests put in place of the machine ---- */

struct mf_wasm_times {
  uint64_t ready_ms;                       /* from birth to READY */
  uint64_t silence_ms;                     /* from CALL to BEGAN */
  uint64_t grace_ms;                       /* a call's wall time is over for so long, and it has not said DONE */
  uint64_t reap_ms;                        /* a killed worker must have ended */
  uint64_t idle_ms;                        /* a worker that is not among the ready ones ends after so long */
  uint64_t backoff_min_ms, backoff_max_ms; /* after a worker that did not become ready */
  uint64_t clean_ms;                       /* between two looks at a control group that is not clean yet */
};
void mf_wasm_times_default(struct mf_wasm_times *ret);

struct mf_wasm_seam {
  /* Gives the socket of a worker that was born with this configuration; *ret_proc may stay MF_PIDREF_NULL (no process
   * to wait for). cgroup_fds: config->cgroup_n of them, borrowed, as is code_fd. */
  enum mf_code (*spawn)(void *user, const char *program, const struct mf_worker_config *config, int code_fd,
                        const int *cgroup_fds, struct mf_pidref *ret_proc, int *ret_sock, struct mf_err *err);
  /* Removes the control groups of dead ones; returns how many are busy yet. NULL: there are none. */
  unsigned (*sweep)(void *user);
  void *user;
  struct mf_wasm_times times;
};

/* mf_wasm_new with everything that depends on the machine given. code_fd is borrowed for this call only; a seam that
 * needs none gets -1. */
MF_MUST_USE enum mf_code mf_wasm_new_with(struct mf_loop *loop, const struct mf_wasm_config *config,
                                          const struct mf_wasm_runtime_info *runtime, int code_fd,
                                          const struct mf_wasm_seam *seam,
                                          void (*ready)(void *user, enum mf_code code, const struct mf_err *err),
                                          void *user, struct mf_provider **ret, struct mf_err *err);

/* ---- workers ---- */

enum worker_state {
  WORKER_NONE,
  WORKER_JOINING, /* born; HELLO is due */
  WORKER_LOADING, /* GO is out; READY is due */
  WORKER_IDLE,
  WORKER_BUSY,
  WORKER_LEAVING,  /* killed; its end is due */
  WORKER_CLEANING, /* gone; its control group is not yet fit for the next one */
};

struct wasm;
struct wasm_run;

struct worker {
  struct wasm *wasm;
  unsigned slot;
  enum worker_state state;
  struct mf_pidref proc;
  int sock;
  struct mf_watch *sock_watch, *proc_watch;
  struct wasm_run *run; /* BUSY; LEAVING: the one that ends or is released with it */
  uint64_t data_bytes;  /* what its calls may have as memory where no control group counts */
  uint64_t ready_ns, idle_ns, deadline_ns;
  unsigned calls_n, clean_tries;
  uint32_t layers;
  char seccomp_sha256[MF_SHA256_HEX_N];
  bool is_silent;  /* killed because it did not answer */
  bool was_short;  /* of descriptors, here: it was said in the log */
  bool has_failed; /* in JOINING or LOADING: `why` says it */
  struct mf_err why;
};

/* ---- runs ---- */

enum run_state {
  RUN_QUEUED,     /* no worker yet */
  RUN_SENT,       /* CALL is out */
  RUN_COLLECTING, /* DONE is here; a thread adopts the files, and nobody else touches what it was given */
  RUN_LINGER,     /* `finished` was called; the place waits for the worker's end */
};

struct wasm_run {
  struct mf_run base; /* first */
  struct wasm *wasm;
  struct wasm_run *prev, *next;
  uint64_t serial;
  enum run_state state;
  bool is_probe;
  const struct mf_sandbox_events *events;
  void *user;
  struct mf_sandbox_limits limits;
  uint64_t start_ns, began_ns; /* 0: not yet */
  int job_fd;
  unsigned file_n;
  uint64_t raw_left[2]; /* bytes that may still come of each stream */
  bool has_dropped[2];
  unsigned frame_n; /* FILE frames */
  struct mf_output *out, *err;
  struct mf_sandbox_result *result; /* NULL once it was given away */
  struct mf_offers offers;
  struct mf_collect_job *collect; /* in COLLECTING */
  struct mf_worker_done done;     /* from DONE on */
  struct worker *worker;          /* in SENT and LINGER */
  unsigned sent_n;                /* how often CALL was sent: a worker may be gone before it begins */
  uint64_t deadline_ns;           /* in SENT; 0: none */
  bool cancel_asked, is_over_output;
};

/* ---- the instance ---- */

enum wasm_state { WASM_PROBING, WASM_UP, WASM_FAILED, WASM_CLOSING };

struct wasm {
  struct mf_provider base; /* first */
  struct mf_loop *loop;
  struct mf_wasm_seam seam;
  struct mf_wasm_config config;
  char *program; /* NULL: this one */
  struct mf_wasm_runtime_info runtime;
  int code_fd;              /* -1: the seam needs none */
  struct mf_cgroup *cgroup; /* NULL: not wanted */

  enum wasm_state state;
  void (*ready)(void *user, enum mf_code code, const struct mf_err *err);
  void *ready_user;
  bool is_ready_done;
  struct mf_err down; /* why FAILED, or why the last worker did not become ready */
  unsigned start_fail_n;
  uint64_t retry_ns; /* no birth before */

  struct worker *workers; /* config.max_running of them */
  struct wasm_run *first, *last;
  unsigned run_n; /* without the probe */
  uint64_t next_serial;
  uint64_t need_bytes; /* of the largest run so far: workers are born with it */
  void *frame;         /* room for the largest */
  unsigned started_n, calls_n;

  struct mf_timer *timer;
  uint64_t armed_ns;
  struct mf_cgroup_sweeper sweeper;
  void (*closed)(void *user);
  void *closed_user;
  uint64_t close_ns; /* patience of closing */
};

/* provider.c */
void wasm_arm(struct wasm *w, uint64_t deadline_ns); /* service is called then or before */
void wasm_kick(struct wasm *w);                      /* service is called soon */
uint64_t wasm_after_ms(uint64_t ms);
void wasm_fail_first(struct wasm *w, const struct mf_err *why);                /* nothing will ever run */
void wasm_probe_ended(struct wasm *w, const struct mf_sandbox_result *result); /* of the run with is_probe */

/* pool.c */
void pool_assign(struct wasm *w);                  /* idle workers take queued runs; no event comes from inside */
void pool_settle(struct wasm *w, uint64_t now_ns); /* births and retirements that are due */
uint64_t pool_need_bytes(const struct wasm *w, const struct wasm_run *r); /* of a worker that runs it */
const char *pool_memory_control(const struct wasm *w);

/* worker-link.c */
void worker_spawn(struct worker *k, uint64_t data_bytes); /* k is NONE; failures are counted, not told */
void worker_kill(struct worker *k);                       /* idempotent; its run stays with it until it has ended */
bool worker_call(struct worker *k, struct wasm_run *r);   /* k is IDLE; false: it was killed instead */
void worker_tick(struct worker *k, uint64_t now_ns);      /* deadlines */
void worker_on_frame(struct worker *k, const void *p, size_t n, int fds[], unsigned fd_n); /* fds are consumed */

/* run.c */
MF_MUST_USE enum mf_code wasm_run_new(struct wasm *w, const struct mf_sandbox_spec *spec,
                                      const struct mf_sandbox_events *events, void *user, struct wasm_run **ret,
                                      struct mf_err *err);
void wasm_run_note_spec(struct wasm_run *r, const struct mf_sandbox_spec *spec); /* digests for the receipt */
void wasm_run_free(struct wasm_run *r);                                          /* unlinks it: the place is free */
void wasm_run_release(struct wasm_run *r);                                       /* the same, and says so */
void wasm_run_on_sent(struct wasm_run *r, struct worker *k);                     /* CALL is out */
/* The three frames of a run's worker. False: it is hostile, or not ours. */
bool wasm_run_on_began(struct wasm_run *r);
bool wasm_run_on_output(struct wasm_run *r, bool is_stderr, struct mf_str raw, bool is_dropped);
bool wasm_run_on_file(struct wasm_run *r, struct mf_str name, uint64_t size, int fd); /* fd consumed */
/* DONE. The run goes on without its worker, unless that one is to be replaced (`leaves`). r may be gone after it. */
void wasm_run_on_done(struct wasm_run *r, const struct mf_worker_done *done, bool leaves);
/* Its worker has ended. is_gone false: it should have, and the kernel is not done with it. r may be gone after it. */
void wasm_run_on_lost(struct wasm_run *r, bool is_gone);
/* Ends a queued run for a reason of ours. */
void wasm_run_end_queued(struct wasm_run *r, enum mf_run_status status, enum mf_run_reason reason,
                         const char *diagnostic);
void wasm_run_stop_collecting(struct wasm_run *r);

#endif

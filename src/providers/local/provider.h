/* The provider side of the local provider, private to it: the instance, its link to the supervisor, its runs.
 *
 *   provider.c       birth, the vtable, the one timer that does what is due, closing
 *   provider-link.c  the supervisor: spawn, frames in and out, its death and its successor
 *   provider-run.c   one run, from its spec to its result
 *   collect.c        its files, on a thread where there are many
 *
 * Everything belongs to the loop's thread. Runs are freed only by a callback of the loop, never inside a call from
 * above (start, cancel, close), so that those are safe inside every event. */
#ifndef MF_LOCAL_PROVIDER_H
#define MF_LOCAL_PROVIDER_H

#include "base/pidref.h"
#include "collect.h"
#include "confine/cgroup.h"
#include "direct.h"
#include "sandbox/job.h"
#include "local/local.h"
#include "route.h"
#include "sandbox/frames.h"
#include "supervisor-config.h"
#include "verdict.h"

/* ---- the seam: what tests put in place of the machine ---- */

struct mf_local_times {
  uint64_t ready_ms; /* a supervisor must have said READY */
  uint64_t reap_ms;  /* files are waited for so long after FINISHED */
  uint64_t gap_ms;   /* a start waits so long for the successor of a dead supervisor */
  uint64_t backoff_min_ms, backoff_max_ms;
  uint64_t silence_ms; /* START must be answered by STARTED */
  uint64_t grace_ms;   /* and a run's wall time or a cancel by FINISHED */
  uint64_t close_ms;   /* a supervisor must have ended after the socket was closed */
  uint64_t sweep_ms;   /* between two sweeps while some cgroups are busy */
};

struct mf_local_seam {
  /* Gives the socket of a supervisor; *ret_sup may stay MF_PIDREF_NULL (no process to wait for). program: the file that
   * becomes it; NULL: this one. */
  enum mf_code (*spawn)(void *user, const char *program, const struct mf_supervisor_config *config,
                        struct mf_pidref *ret_sup, int *ret_sock, struct mf_err *err);
  /* Removes the cgroups of dead supervisors; returns how many are busy yet, since their processes are about to die. */
  unsigned (*sweep)(void *user);
  void *user;
  struct mf_local_times times;
};
void mf_local_times_default(struct mf_local_times *ret);

/* mf_local_new with everything that depends on the machine given. `runtime` is copied. */
MF_MUST_USE enum mf_code mf_local_new_with(struct mf_loop *loop, const struct mf_local_config *config,
                                           const char *zygote_dir, const struct mf_runtime_info *runtime,
                                           const struct mf_local_seam *seam,
                                           void (*ready)(void *user, enum mf_code code, const struct mf_err *err),
                                           void *user, struct mf_provider **ret, struct mf_err *err);

/* ---- the instance ---- */

enum link_state {
  LINK_STARTING, /* a supervisor was spawned and has not said READY */
  LINK_UP,
  LINK_GAP,    /* it died; the next one is spawned at link_deadline_ns */
  LINK_FAILED, /* the first one could not start: nothing will ever run */
  LINK_DIRECT, /* it lacks a layer, and isolation is "prefer" */
  LINK_CLOSING,
};

enum run_state {
  RUN_QUEUED,     /* waits for the link */
  RUN_SENT,       /* START is out */
  RUN_DRAINING,   /* FINISHED is here; files wait for REAPED */
  RUN_COLLECTING, /* REAPED is here; a thread collects the files, and nobody else touches what it was given */
  RUN_LINGER,     /* `finished` was called; the place waits for REAPED */
};

struct local;

struct local_run {
  struct mf_run base; /* first */
  struct local *local;
  struct local_run *prev, *next;
  uint64_t id;
  enum run_state state;
  const struct mf_sandbox_events *events;
  void *user;
  struct mf_sandbox_limits limits;
  enum mf_route route;
  int job_fd; /* until START is out, or, with inputs, until the files were collected */
  unsigned file_n;
  struct mf_output *out, *err;
  struct mf_sandbox_result *result; /* NULL once it was given away */
  bool cancel_asked, cancel_sent, is_over_output;
  struct mf_sup_finished finished; /* in DRAINING */
  int dir_fd;                      /* in DRAINING and COLLECTING: the work directory */
  struct mf_collect *collect;      /* in COLLECTING */
  uint64_t deadline_ns;            /* of the present state; 0: none */
  uint64_t started_ns;             /* 0: not yet */
  struct mf_direct *direct;        /* isolation "none" */
};

struct info_ask {
  struct info_ask *next;
  uint64_t id;
  bool is_sent;
  void (*fn)(void *user, const struct mf_local_info *info);
  void *user;
};

struct local {
  struct mf_provider base; /* first */
  struct mf_loop *loop;
  struct mf_local_seam seam;
  struct mf_supervisor_config config;
  enum mf_isolation isolation;
  char *rootfs;
  char *program; /* NULL: this one */
  struct mf_runtime_info runtime;

  void (*ready)(void *user, enum mf_code code, const struct mf_err *err);
  void *ready_user;
  bool is_ready_due, is_ready_done;
  enum mf_code ready_code;

  enum link_state link;
  struct mf_err down; /* why the link is not up */
  uint64_t link_deadline_ns;
  uint64_t gap_until_ns; /* starts are queued until then; 0: no supervisor has died since the last one came up */
  uint64_t backoff_ms;
  int sock;
  struct mf_watch *sock_watch;
  struct mf_pidref sup; /* also a dead one's, until it was reaped */
  struct mf_watch *sup_watch;
  int sup_status; /* of the last one, as wait(2); -1 unknown */
  void *frame;    /* room for the largest */
  unsigned bad_frame_n;
  bool is_broken;      /* a send failed: the link goes down at the next tick */
  bool has_told_fatal; /* the supervisor said itself why it ends: `down` is its word */
  bool lacks_layer;    /* and that is a layer which this machine cannot make */
  struct mf_sup_ready told;
  struct mf_local_info info;

  struct local_run *first, *last;
  unsigned run_n, max_running;
  uint64_t next_id;
  struct info_ask *asks;

  struct mf_timer *timer;
  uint64_t armed_ns;
  struct mf_cgroup_sweeper sweeper;
  void (*closed)(void *user);
  void *closed_user;
  bool is_close_killed;
};

/* provider.c */
void local_arm(struct local *l, uint64_t deadline_ns);      /* service is called then or before */
void local_kick(struct local *l);                           /* service is called soon */
uint64_t local_after_ms(uint64_t ms);                       /* the monotonic time so far ahead */
void local_fail_first(struct local *l);                     /* the first supervisor did not come up; l->down says why */
void local_answer_asks(struct local *l, uint64_t up_to_id); /* calls back with what is known now */

/* provider-link.c */
void link_open(struct local *l);                  /* spawns; sets the state */
void link_flush(struct local *l);                 /* sends what waits to be sent; no event comes from inside */
void link_down(struct local *l, const char *why); /* the supervisor is lost: runs end, a successor is due */
size_t link_frame_max(void);
void link_close_sock(struct local *l);
void link_kill(struct local *l); /* SIGKILL, when there is a process */
void link_tick(struct local *l, uint64_t now_ns);
uint64_t link_next_ns(const struct local *l);
/* One frame, as received; fds are consumed. */
void link_on_frame(struct local *l, const void *p, size_t n, int fds[], unsigned fd_n);

/* provider-run.c */
MF_MUST_USE enum mf_code run_new(struct local *l, const struct mf_sandbox_spec *spec,
                                 const struct mf_sandbox_events *events, void *user, struct local_run **ret,
                                 struct mf_err *err);
struct local_run *run_find(struct local *l, uint64_t id);
void run_free(struct local_run *r);                                          /* unlinks it: the place is free */
void run_release(struct local_run *r);                                       /* the same, and says so: the last event */
void run_note_spec(struct local_run *r, const struct mf_sandbox_spec *spec); /* digests for the receipt */
MF_MUST_USE enum mf_code run_start_direct(struct local_run *r, struct mf_err *err);
void run_stop(struct local_run *r, enum mf_kill_cause cause);
void run_on_started(struct local_run *r, bool from_pool);
void run_on_output(struct local_run *r, bool is_stderr, struct mf_str raw, bool is_dropped);
void run_on_hint(struct local_run *r, struct mf_str text);
void run_on_finished(struct local_run *r, const struct mf_sup_finished *f,
                     int dir_fd);        /* dir_fd consumed; MF_OFFERED_LOST */
void run_on_reaped(struct local_run *r); /* r may be gone after it */
/* Ends a run for a reason of ours, at once: `finished` is called. */
void run_end(struct local_run *r, enum mf_run_status status, enum mf_run_reason reason, const char *diagnostic);
/* For closing: gives the result, with what is known, if it was not given; frees the place if nothing of it lives. */
void run_settle(struct local_run *r);
void runs_tick(struct local *l, uint64_t now_ns);
uint64_t runs_next_ns(const struct local *l);

#endif

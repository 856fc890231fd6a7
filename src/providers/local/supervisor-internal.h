/* The supervisor's one state. Its files: supervisor.c (life, provider frames), zygotes.c, pool.c, slots.c, child.c
 * (what a child says and writes), runs.c (a run from START to REAPED), meter.c (what it used), supq.c, cgroup*.c,
 * watchdog.c.
 *
 * Everything runs on one loop in one thread. Handlers change state and push frames; each callback ends with
 * mf_supervisor_settle, which draws the conclusions: pipes paused or read, waiting runs served, children forked. */
#ifndef MF_LOCAL_SUPERVISOR_INTERNAL_H
#define MF_LOCAL_SUPERVISOR_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fd.h"
#include "base/pidref.h"
#include "confine/cgroup.h"
#include "loop/loop.h"
#include "outer.h"
#include "sandbox/frames.h"
#include "slots.h"
#include "supervisor-config.h"
#include "supq.h"
#include "watchdog.h"

#define MF_RUNTIME_N 2u   /* stdlib, data */
#define MF_ZYGOTES_MAX 8u /* of both runtimes: current, next, and old ones whose last child still runs */
#define MF_RUNS_MAX 256u

struct mf_supervisor;
struct mf_zygote;
struct mf_sup_run;

/* What tests and fuzzers put in the place of real processes. */
struct mf_supervisor_hooks {
  enum mf_code (*outer_start)(const struct mf_outer_spec *spec, struct mf_pidref *ret_init, int *ret_sock,
                              struct mf_err *err);
  enum mf_code (*seccomp_sha256)(int shared_anon_ok, char ret_hex[65], struct mf_err *err);
  void (*kill)(const struct mf_pidref *init); /* SIGKILL to an init */
};
extern const struct mf_supervisor_hooks mf_supervisor_real_hooks;

struct mf_slot {
  struct mf_supervisor *sup;
  struct mf_zygote *zygote; /* NULL when FREE, or when its zygote is gone */
  struct mf_sup_run *run;   /* from STARTING until REAPED was sent */
  unsigned index;
  enum mf_slot_state state;
  uint64_t since_ns; /* when it came into this state */

  struct mf_pidref guest, init;
  int control, pipe[2], workdir;
  struct mf_watch *control_watch, *pipe_watch[2], *guest_watch;
  struct mf_timer *wall, *meter; /* made once, kept */
  struct mf_child_ready ready;

  bool is_killed, guest_exited, init_exited;
  bool is_gone;     /* its pid namespace is empty, however we know */
  bool is_flooding; /* its control socket is left alone until the next tick */
  bool has_status;
  int status; /* of the guest's first process, as wait(2) */
  uint64_t status_cpu_us;
  unsigned frame_n;       /* control frames since the last tick */
  unsigned release_tries; /* of its control group */
  uint64_t release_at_ns;
};

struct mf_sup_run {
  struct mf_supervisor *sup;
  bool is_used;
  struct mf_sup_start spec;
  int job; /* memfd; -1 once the child has it */
  struct mf_slot *slot;
  struct mf_sup_run *next;                /* in its lane's queue */
  bool is_waiting, has_waited, from_pool; /* has_waited: no child was ready when it came */
  unsigned tries;                         /* children that failed under it */

  uint64_t begin_ns, cpu_base_us;
  uint64_t sent[2];  /* bytes of each stream */
  bool is_capped[2]; /* the provider was told that bytes were dropped */
  unsigned hint_n;
  struct mf_watchdog watchdog;

  bool has_word; /* and waits for the zygote's figures: see mf_sup_run_word */
  struct mf_child_word word;
  bool is_ending;    /* no more input from the child counts */
  bool is_finished;  /* FINISHED was sent */
  size_t budget[2];  /* bytes that may still be read of each pipe at the end, */
  unsigned reads[2]; /* and in how many reads */
  struct mf_sup_finished fin;
};

enum mf_zygote_state {
  MF_ZYGOTE_NONE,     /* the entry is unused */
  MF_ZYGOTE_STARTING, /* imports, rehearses */
  MF_ZYGOTE_READY,
  MF_ZYGOTE_RETIRING, /* forks no more, ends with its last child */
  MF_ZYGOTE_DYING,    /* killed or crashed; its namespace is not yet empty */
};
struct mf_zygote {
  struct mf_supervisor *sup;
  struct mf_lane *lane;
  enum mf_zygote_state state;
  struct mf_pidref init;
  int sock;
  struct mf_watch *sock_watch, *init_watch;
  struct mf_zyg_ready ready;
  uint64_t since_ns, ready_ns;
  uint32_t forks;
  unsigned slot_n[MF_SLOT_STATE_N]; /* its slots in each state */
};

/* One runtime: its zygotes, its pool, the runs that wait for a child of it. */
struct mf_lane {
  struct mf_supervisor *sup;
  uint32_t runtime; /* as mf_sup_start.runtime */
  unsigned pool_target;
  bool is_wanted;                   /* a zygote is to be there */
  struct mf_zygote *current, *next; /* next: starting, to replace current */
  struct mf_sup_run *first, **last_next;
  unsigned waiting_n;
  unsigned crash_n;      /* in a row: back-off of the restart */
  uint64_t start_at_ns;  /* no earlier */
  unsigned failure_n;    /* children in a row that failed to prepare: back-off of the refill */
  uint64_t refill_at_ns; /* no earlier */
};

struct mf_supervisor {
  struct mf_loop *loop;
  struct mf_supervisor_config config;
  struct mf_supervisor_hooks hooks;
  int sock; /* to the provider; owned */
  struct mf_watch *sock_watch;
  struct mf_supq out;
  bool had_room;
  struct mf_cgroup *cgroup;
  struct mf_lane lanes[MF_RUNTIME_N];
  struct mf_zygote zygotes[MF_ZYGOTES_MAX];
  struct mf_slot *slots;
  unsigned slot_n, slot_high;        /* slots at and above slot_high were never used */
  unsigned state_n[MF_SLOT_STATE_N]; /* slots in each state but FREE */
  struct mf_sup_run *runs;
  unsigned run_n; /* not yet REAPED */
  uint64_t last_start_ns;
  struct mf_timer *tick, *refill;
  uint64_t tick_at_ns, refill_timer_ns; /* 0: not armed */
  unsigned cpu_n;
  uint32_t forks, zygote_restarts;
  bool is_ready, is_ending;
  char seccomp_sha256[65];
  /* one OUTPUT frame is built here: header, then the bytes as they are read */
  struct {
    struct mf_sup_output head;
    char bytes[MF_CHUNK_MAX];
  } chunk;
};

/* ---- supervisor.c ---- */
/* Takes `sock`; hooks NULL: the real ones. Starts the zygotes. Never fails: what goes wrong is a FATAL frame and the
 * end of the loop. */
struct mf_supervisor *mf_supervisor_new(struct mf_loop *loop, const struct mf_supervisor_config *config,
                                        const struct mf_supervisor_hooks *hooks, int sock);
/* Kills every zygote, waits for the end of their namespaces, removes the control groups. */
void mf_supervisor_free(struct mf_supervisor *sup);
void mf_supervisor_settle(struct mf_supervisor *sup);
/* Has mf_slot_check called for every slot at that time or before. */
void mf_supervisor_tick_at(struct mf_supervisor *sup, uint64_t at_ns);
/* Tells why nothing can run, and ends. Before READY only. */
void mf_supervisor_fatal(struct mf_supervisor *sup, const char *step, int error, const char *text);
void mf_supervisor_send(struct mf_supervisor *sup, const void *frame, size_t n);
/* One frame from the provider. Descriptors that it keeps are set to -1. */
void mf_supervisor_frame(struct mf_supervisor *sup, const void *frame, size_t n, int *fds, unsigned fd_n);
/* At most n - 1 printable ASCII bytes of a bounded text from a child. */
void mf_supervisor_text(char *ret, size_t n, const char *text, size_t text_max);
MF_MUST_USE enum mf_code mf_supervisor_config_check(const struct mf_supervisor_config *c, struct mf_err *err);

/* ---- zygotes.c ---- */
void mf_lane_init(struct mf_lane *lane, struct mf_supervisor *sup, uint32_t runtime);
/* Starts, restarts and replaces zygotes as is due. */
void mf_lane_keep(struct mf_lane *lane, uint64_t now_ns);
/* When mf_lane_keep must look again for certain; UINT64_MAX: never. */
uint64_t mf_lane_next_ns(const struct mf_lane *lane, uint64_t now_ns);
void mf_zygote_frame(struct mf_zygote *z, const void *frame, size_t n, int *fds, unsigned fd_n);
/* It crashed, or must end: kills it, answers its runs. `text` may be NULL. */
void mf_zygote_down(struct mf_zygote *z, const char *step, int error, const char *text);
/* Ends it without ado: retired, or the supervisor's end. */
void mf_zygote_kill(struct mf_zygote *z);
/* Its namespace is empty: lets go of its slots and of the entry. */
void mf_zygote_gone(struct mf_zygote *z);
unsigned mf_zygote_child_n(const struct mf_zygote *z);
/* Asks for a child in `slot`, which is FREE; for_pool: no run waits for it. */
MF_MUST_USE enum mf_code mf_zygote_fork(struct mf_zygote *z, struct mf_slot *slot, bool for_pool);

/* ---- pool.c ---- */
void mf_lane_queue(struct mf_lane *lane, struct mf_sup_run *run, bool at_front);
void mf_lane_unqueue(struct mf_lane *lane, struct mf_sup_run *run);
void mf_lane_fail_waiting(struct mf_lane *lane, const char *text);
/* Binds waiting runs to idle children, asks for forks. */
void mf_lane_serve(struct mf_lane *lane, uint64_t now_ns);
unsigned mf_lane_count(const struct mf_lane *lane, enum mf_slot_state state);
/* A child became ready, or failed before it was. */
void mf_lane_child_ready(struct mf_slot *slot);
void mf_lane_child_failed(struct mf_slot *slot, const char *step, int error, const char *text);

/* ---- child.c ---- */
/* The zygote made it: takes the five descriptors of MF_ZYG_FORKED. */
void mf_child_attach(struct mf_slot *slot, int fds[5]);
/* Closes control and pipes; the work directory stays. */
void mf_child_detach(struct mf_slot *slot);
void mf_child_frame(struct mf_slot *slot, const void *frame, size_t n, int *fds, unsigned fd_n);
/* Reads at most `max` frames that are there. */
void mf_child_read_control(struct mf_slot *slot, unsigned max);
/* Reads and forwards at most max bytes (a chunk) of one stream. False when nothing more is there. */
bool mf_child_read_pipe(struct mf_slot *slot, unsigned stream, size_t max, size_t *ret_n);
void mf_child_set_reading(struct mf_slot *slot, bool reading);
/* The guest's first process has ended; status as wait(2), has_status false when nobody knows. */
void mf_child_exited(struct mf_slot *slot, bool has_status, int status, uint64_t cpu_us);

/* ---- runs.c ---- */
void mf_sup_run_start(struct mf_supervisor *sup, const struct mf_sup_start *spec, int *job);
/* Answers a START that cannot become a run. */
void mf_sup_run_reject(struct mf_supervisor *sup, const struct mf_sup_start *spec, const char *text);
void mf_sup_run_cancel(struct mf_supervisor *sup, uint64_t id);
/* Gives the job to an idle child. False when that child is of no use; the run still waits then. */
bool mf_sup_run_bind(struct mf_sup_run *run, struct mf_slot *slot);
void mf_sup_run_begin(struct mf_sup_run *run);
void mf_sup_run_word(struct mf_sup_run *run, const struct mf_child_word *word);
void mf_sup_run_exited(struct mf_sup_run *run);
void mf_sup_run_kill(struct mf_sup_run *run, enum mf_kill_cause cause);
void mf_sup_run_crash(struct mf_sup_run *run, const char *text);
/* Goes on with the last output after room was made. */
void mf_sup_run_pump(struct mf_sup_run *run);
/* Every process is gone: REAPED, once FINISHED is out. */
void mf_sup_run_gone(struct mf_sup_run *run);
/* A run without a child ends here: FINISHED and REAPED. */
void mf_sup_run_refuse(struct mf_sup_run *run, enum mf_kill_cause cause, const char *text);
void mf_sup_run_on_wall(void *user); /* timers of a slot */
void mf_sup_run_on_meter(void *user);

/* ---- meter.c ---- */
void mf_meter_begin(struct mf_sup_run *run);
void mf_meter_look(struct mf_sup_run *run);
/* Fills cpu_us, memory_peak_bytes and oom_kills of run->fin; before the kill, while processes can still be asked. */
void mf_meter_end(struct mf_sup_run *run, uint64_t children_cpu_us);

#endif

/* A supervisor with a played world around it: the test is its provider, its zygotes and their children.
 *
 * Processes are real only where the supervisor needs something to kill: each init and each guest is a sleeping process.
 * Everything else is scripted, frame by frame. One rig at a time. */
#ifndef MF_TESTS_FAKE_ZYGOTE_H
#define MF_TESTS_FAKE_ZYGOTE_H

#include "supervisor-internal.h"

#define RIG_ZYGOTES 8
#define RIG_CHILDREN 64
#define RIG_FRAMES 4096

struct rig_child {
  bool is_used, is_forked, is_gone;
  unsigned zygote;
  uint32_t slot, prefault;
  pid_t init, guest;
  int control, out, err; /* its ends */
  int job;               /* memfd; -1 until it came */
  struct mf_child_job frame;
};

struct rig_zygote {
  bool is_used, is_ready, is_dead; /* dead: its init was killed or ended */
  uint32_t data;
  pid_t init;
  int sock;
  unsigned fork_n;
};

struct rig_frame {
  uint32_t type;
  uint64_t id;
  size_t n;
  int fd;
  union {
    struct mf_sup_ready ready;
    struct mf_zyg_fatal fatal;
    struct mf_sup_started started;
    struct mf_sup_output output;
    struct mf_sup_hint hint;
    struct mf_sup_finished finished;
    struct mf_sup_stats stats;
  };
  char *bytes; /* of an output */
};

struct rig {
  struct mf_loop *loop;
  struct mf_supervisor *sup;
  int sock;          /* the provider's end; -1 once closed */
  bool is_deaf;      /* the provider reads nothing */
  bool hold_forks;   /* FORK frames stay unanswered */
  bool hold_ready;   /* children stay in PREPARING */
  bool hold_exits;   /* killed children are not reported */
  bool hold_zygotes; /* zygotes do not become READY */
  bool fail_start;   /* outer_start fails */
  struct rig_zygote zygotes[RIG_ZYGOTES];
  struct rig_child children[RIG_CHILDREN];
  struct rig_frame frames[RIG_FRAMES];
  unsigned frame_n;
  bool has_ended; /* the loop was stopped by the supervisor */
};

/* One stdlib zygote, no pool, one child that shows that it works. Not yet READY. */
void rig_config(struct mf_supervisor_config *c);
struct rig *rig_new(const struct mf_supervisor_config *c);
/* No zygote can be started. */
struct rig *rig_new_failing(const struct mf_supervisor_config *c);
/* READY was seen. */
struct rig *rig_new_ready(const struct mf_supervisor_config *c);
void rig_free(struct rig *r);

/* One turn of the loop and of the played world. */
void rig_step(struct rig *r);
/* Turns until cond holds; the test fails after ten seconds. */
#define rig_until(r, cond)                                                                                             \
  do {                                                                                                                 \
    for (unsigned rig_i = 0; !(cond); rig_i++) {                                                                       \
      if (rig_i > 20000)                                                                                               \
        fail_msg("never: %s", #cond);                                                                                  \
      rig_step(r);                                                                                                     \
    }                                                                                                                  \
  } while (0)
/* Some turns in which nothing should happen. */
void rig_idle(struct rig *r);

/* ---- as the provider ---- */
void rig_start(struct rig *r, uint64_t id); /* stdlib, 60 s, 1 MiB each */
void rig_start_spec(struct rig *r, const struct mf_sup_start *spec);
struct mf_sup_start rig_spec(uint64_t id);
void rig_cancel(struct rig *r, uint64_t id);
unsigned rig_count(const struct rig *r, uint32_t type, uint64_t id);
/* The only frame of that kind, after waiting for it. */
const struct rig_frame *rig_wait(struct rig *r, uint32_t type, uint64_t id);
/* All output of a stream, concatenated: its length, whether bytes were dropped and how often that was told. */
size_t rig_output(const struct rig *r, uint64_t id, uint32_t is_stderr, unsigned *ret_dropped);

/* ---- as a zygote ---- */
struct rig_zygote *rig_zygote(struct rig *r, unsigned i); /* the i-th that was started */
unsigned rig_zygote_n(const struct rig *r);
void rig_zygote_send(struct rig_zygote *z, const void *frame, size_t n);
void rig_zygote_die(struct rig_zygote *z);

/* ---- as a child ---- */
/* The child that has the job; jobs carry the run's id in their memory limit (see rig_spec). */
struct rig_child *rig_child_of(struct rig *r, uint64_t id);
struct rig_child *rig_child_at(struct rig *r, unsigned i); /* the i-th that was forked */
void rig_say(struct rig_child *c, const void *frame, size_t n);
void rig_begin(struct rig_child *c);
void rig_word(struct rig_child *c, int32_t exit_code);
/* The guest ends: its EXITED frame goes out, status as wait(2). */
void rig_exit(struct rig *r, struct rig_child *c, int32_t status);
/* START, until the child of the run has begun. */
struct rig_child *rig_run(struct rig *r, uint64_t id);

#endif

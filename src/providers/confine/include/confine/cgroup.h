/* Control groups of the sandboxes: one per slot, made by the supervisor, joined by the guest itself.
 *
 *   <our own group>/mayfly-<pid>-<start time>/<slot>, with -<n> at the name of a process's second manager and on
 *
 * v2 where memory and pids are delegated to us, v1 on hybrid hosts, else nothing (the watchdog then counts). The parent
 * directory is locked (flock) for as long as its supervisor lives, so that nobody sweeps what is in use. Only groups
 * with our name, made by us or left by a dead supervisor, are ever removed. Thread: a manager belongs to the
 * supervisor; parsing and sweeping: any. */
#ifndef MF_CONFINE_CGROUP_H
#define MF_CONFINE_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define MF_CGROUP_PATH_MAX 1024

/* ---- where we are ---- */

/* Directories of the groups that this process is in; "" where there is none. */
struct mf_cgroup_place {
  char v2[MF_CGROUP_PATH_MAX];
  char v1_memory[MF_CGROUP_PATH_MAX];
  char v1_pids[MF_CGROUP_PATH_MAX];
};

/* From the texts of /proc/self/mountinfo and /proc/self/cgroup. MF_E_UNAVAILABLE when no group of use is mounted. */
MF_MUST_USE enum mf_code mf_cgroup_place_parse(const char *mountinfo, const char *cgroup, struct mf_cgroup_place *ret,
                                               struct mf_err *err);
MF_MUST_USE enum mf_code mf_cgroup_place_self(struct mf_cgroup_place *ret, struct mf_err *err);

/* For a process that has joined groups: all of them end with `tail` (mf_cgroup_slot_tail) by the kernel's own word.
 * MF_E_UNAVAILABLE: less than `n` do. */
MF_MUST_USE enum mf_code mf_cgroup_check_self(const char *tail, unsigned n, struct mf_err *err);
/* The same of the text of /proc/self/cgroup. */
unsigned mf_cgroup_count_tail(const char *cgroup, const char *tail);

/* "mayfly-<pid>-<start time>[-<n>]" → the first two numbers; false for any other name. */
bool mf_cgroup_name_parse(const char *name, pid_t *ret_pid, uint64_t *ret_start);
/* The start time of a live process in clock ticks since boot; 0 when there is none. */
uint64_t mf_cgroup_start_time(pid_t pid);

/* Removes the groups that dead supervisors left at this place. Returns how many are still busy (their processes are
 * about to die): call again a little later. Never waits. */
unsigned mf_cgroup_sweep_at(const struct mf_cgroup_place *place);
unsigned mf_cgroup_sweep(void *user); /* at our own place; user: not used */

/* Sweeps again while some are busy: soon and often at first, then now and then. Its owner fills in the first three and
 * has the timer: a tick is due at due_ns. Thread: one. */
struct mf_cgroup_sweeper {
  unsigned (*sweep)(void *user); /* as mf_cgroup_sweep; NULL: nothing is ever due */
  void *user;
  uint64_t pause_ms;
  uint64_t due_ns; /* 0: none */
  unsigned soon_left;
  bool is_closing;
};
#define MF_CGROUP_SWEEP_PAUSE_MS 50u

void mf_cgroup_sweeper_begin(struct mf_cgroup_sweeper *s, uint64_t at_ns); /* the first sweep is due then */
void mf_cgroup_sweeper_tick(struct mf_cgroup_sweeper *s, uint64_t now_ns); /* sweeps when it is due */
/* For an owner that ends: sweeps now, whatever was due. Returns when to call it again, for 2 s at most; 0: it is over.
 */
uint64_t mf_cgroup_sweeper_close(struct mf_cgroup_sweeper *s, uint64_t now_ns);

/* ---- the manager ---- */

enum mf_cgroup_kind { MF_CGROUP_NONE, MF_CGROUP_V1, MF_CGROUP_V2 };

/* The calls that differ on a plain file system; a test's fake tree fills a new group with its files and plays the
 * kernel's rules. */
struct mf_cgroup_dirs {
  int (*make)(const char *path);                  /* as mkdir(path, 0755) */
  int (*remove)(const char *path);                /* as rmdir(path) */
  int (*put)(const char *path, const char *text); /* writes a control file of a group on the way; 0 or an errno */
};

struct mf_cgroup_options {
  const struct mf_cgroup_place *place; /* NULL: our own */
  const struct mf_cgroup_dirs *dirs;   /* NULL: mkdir and rmdir */
  unsigned slot_n;
  uint64_t memory_bytes; /* preset limits of a slot, so that a run with these writes nothing */
  uint32_t pids;
  bool without_parent; /* our parent is a stranger: never moved to make room */
  bool probe_join;     /* also try to move a short-lived process in and out */
};

struct mf_cgroup;

/* Finds out what works by really doing it. Never fails for want of cgroups: the kind is then NONE and `why` (when not
 * NULL) says what was tried. The groups of slots are made when first used. */
struct mf_cgroup *mf_cgroup_new(const struct mf_cgroup_options *options, struct mf_err *why);
/* Removes every group that we made. Waits at most 100 ms for the last process to leave. */
void mf_cgroup_free(struct mf_cgroup *cg); /* NULL is fine */

enum mf_cgroup_kind mf_cgroup_kind(const struct mf_cgroup *cg); /* NONE: no memory control */
bool mf_cgroup_has_pids(const struct mf_cgroup *cg);
bool mf_cgroup_is_active(const struct mf_cgroup *cg); /* memory or pids: a child must join */

/* Makes slot's group ready and gives the cgroup.procs descriptors that the child writes "0" to (borrowed). */
MF_MUST_USE enum mf_code mf_cgroup_slot_join(struct mf_cgroup *cg, unsigned slot, int ret_fds[2], unsigned *ret_n,
                                             struct mf_err *err);
/* The end of the path of a slot's group in each hierarchy: "mayfly-<pid>-<start time>[-<n>]/<slot>". */
void mf_cgroup_slot_tail(const struct mf_cgroup *cg, unsigned slot, char *ret, size_t n);
/* Whether a process is in all groups of a slot, by the kernel's own word. True where there are none. */
bool mf_cgroup_slot_holds(struct mf_cgroup *cg, unsigned slot, pid_t pid);
/* Sets the limits of the next run; writes nothing when they are as they are. */
MF_MUST_USE enum mf_code mf_cgroup_slot_limit(struct mf_cgroup *cg, unsigned slot, uint64_t memory_bytes, uint32_t pids,
                                              struct mf_err *err);
/* Since the slot was last released. 0 when not known. */
uint32_t mf_cgroup_slot_oom_kills(struct mf_cgroup *cg, unsigned slot);
uint64_t mf_cgroup_slot_peak(struct mf_cgroup *cg, unsigned slot);
uint64_t mf_cgroup_slot_cpu_us(struct mf_cgroup *cg, unsigned slot); /* v2 only */

/* Makes the group fit for the next run: seen empty, preset limits, counters at zero. `tries` is how often this was
 * refused before: what the last run left charged (files in memory whose directory is still held, page cache) is waited
 * for, then reclaimed, then the group is made anew. MF_E_CAPACITY: not yet, try again later. */
MF_MUST_USE enum mf_code mf_cgroup_slot_release(struct mf_cgroup *cg, unsigned slot, unsigned tries,
                                                struct mf_err *err);

#endif

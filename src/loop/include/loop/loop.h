/* The event loop (libevent behind one door): descriptors, timers, signals, deferred calls.
 *
 * A loop belongs to one thread, and every object here to one loop. All functions: the loop's thread. */
#ifndef MF_LOOP_LOOP_H
#define MF_LOOP_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct mf_loop;
struct mf_watch;
struct mf_timer;

MF_MUST_USE enum mf_code mf_loop_new(struct mf_loop **ret, struct mf_err *err);
void mf_loop_free(struct mf_loop *loop); /* every watch and timer must be freed before */
/* Runs until mf_loop_stop, and may run again afterwards. A stop that came before the run ends it at once. */
MF_MUST_USE enum mf_code mf_loop_run(struct mf_loop *loop, struct mf_err *err);
void mf_loop_stop(struct mf_loop *loop);

enum { MF_WATCH_READ = 1u << 0, MF_WATCH_WRITE = 1u << 1 };
typedef void mf_watch_fn(void *user, unsigned events);
/* Watches fd (borrowed; must stay open until mf_watch_free). Level-triggered; `events` may be 0 (paused).
 * Hang-up and error arrive as READ (as WRITE where only WRITE is watched). A watch may be freed inside its own
 * call; so may a timer. */
MF_MUST_USE enum mf_code mf_watch_new(struct mf_loop *loop, int fd, unsigned events, mf_watch_fn *fn, void *user,
                                      struct mf_watch **ret, struct mf_err *err);
void mf_watch_set(struct mf_watch *w, unsigned events);
struct mf_watch *mf_watch_free(struct mf_watch *w); /* NULL is fine; returns NULL */

typedef void mf_timer_fn(void *user);
MF_MUST_USE enum mf_code mf_timer_new(struct mf_loop *loop, mf_timer_fn *fn, void *user, struct mf_timer **ret,
                                      struct mf_err *err);
/* One shot at an absolute monotonic time (mf_now_ns); the past means at once, from the loop. Replaces an earlier
 * deadline. */
void mf_timer_arm(struct mf_timer *t, uint64_t deadline_ns);
void mf_timer_disarm(struct mf_timer *t);
struct mf_timer *mf_timer_free(struct mf_timer *t);

/* Calls fn once from the loop, after the current callback, in the order of deferring. What a deferred call defers
 * waits for the next turn. Calls still waiting in mf_loop_free are dropped. */
MF_MUST_USE enum mf_code mf_loop_defer(struct mf_loop *loop, mf_timer_fn *fn, void *user, struct mf_err *err);

#endif

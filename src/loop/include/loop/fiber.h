/* Fibers: straight-line code on the loop. A fiber has its own guard-paged stack and runs on the loop's thread until it
 * waits; a turn, a request, a background job is one fiber. All functions: the loop's thread.
 *
 * Cancelling is a request: it wakes the fiber, and every wait from then on returns MF_E_CANCELLED at once, so that the
 * code unwinds through its ordinary clean-up. A fiber that must wait while unwinding (to reap, to close) shields
 * itself.
 *
 * A fiber's function never runs inside another callback: starting and waking take effect from the loop, after the
 * current callback. Between two waits nothing else runs on the loop's thread. */
#ifndef MF_LOOP_FIBER_H
#define MF_LOOP_FIBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "loop/loop.h"

struct mf_fiber;
typedef void mf_fiber_fn(void *user);

/* Starts fn from the loop, after the current callback. stack_bytes 0: the default (256 KiB). ret NULL: detached at
 * once. A fiber that is cancelled before it began runs nevertheless, so that it can release what it was given.
 * MF_E_SYS: no memory for the stack. */
MF_MUST_USE enum mf_code mf_fiber_start(struct mf_loop *loop, mf_fiber_fn *fn, void *user, size_t stack_bytes,
                                        struct mf_fiber **ret, struct mf_err *err);
struct mf_fiber *mf_fiber_self(struct mf_loop *loop); /* NULL outside a fiber */
struct mf_loop *mf_fiber_loop(const struct mf_fiber *f);

/* Waits until mf_fiber_wake (a wake that came before is not lost: one is remembered) or cancel or deadline_ns (0: none;
 * in the past: lets the others run, then returns). MF_OK, MF_E_CANCELLED, MF_E_TIMEOUT. Spurious returns are possible:
 * check your condition. Never inside a callback of a library that is on the stack below (libcurl, http parser). */
MF_MUST_USE enum mf_code mf_fiber_wait(struct mf_fiber *self, uint64_t deadline_ns);
/* MF_OK or MF_E_CANCELLED. A wake that comes meanwhile is kept for the next wait; 0 ns lets the others run. */
MF_MUST_USE enum mf_code mf_fiber_sleep(struct mf_fiber *self, uint64_t ns);
void mf_fiber_wake(struct mf_fiber *f);
void mf_fiber_cancel(struct mf_fiber *f); /* idempotent */
bool mf_fiber_is_cancelled(const struct mf_fiber *f);
bool mf_fiber_must_unwind(const struct mf_fiber *f); /* cancelled and not shielded: its waits return at once */
/* While shielded (counted) waits do not return MF_E_CANCELLED. */
void mf_fiber_shield(struct mf_fiber *self);
void mf_fiber_unshield(struct mf_fiber *self);
/* Waits for another fiber's end, cancelled or not; the pointer is dead afterwards. Every fiber is joined once or
 * detached. */
void mf_fiber_join(struct mf_fiber *self, struct mf_fiber *other);
void mf_fiber_detach(struct mf_fiber *f);

#endif

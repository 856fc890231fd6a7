/* A bounded pool of worker threads for what blocks or computes: SQL, large JSON, files, hashing.
 * Thread: the loop's, but for mf_mailbox_post. */
#ifndef MF_LOOP_WORK_H
#define MF_LOOP_WORK_H

#include <stdatomic.h>

#include "loop/fiber.h"

struct mf_pool;
/* queue_max: how many calls may wait for a thread. Workers take no signals. */
MF_MUST_USE enum mf_code mf_pool_new(struct mf_loop *loop, unsigned threads, unsigned queue_max, struct mf_pool **ret,
                                     struct mf_err *err);
/* Waits for what runs or is queued; fibers that wait for it go on when the loop runs again. NULL is fine. */
void mf_pool_free(struct mf_pool *p);
/* Runs fn(user) on a worker while the calling fiber waits. Not interrupted by cancel: when this returns, fn has
 * returned or never ran (MF_E_CAPACITY: queue full). fn owns what it touches meanwhile. */
MF_MUST_USE enum mf_code mf_pool_run(struct mf_pool *p, struct mf_fiber *self, void (*fn)(void *user), void *user,
                                     struct mf_err *err);
/* Work that takes long and must not wait for that of others: on a thread of its own, which ends with it. Runs fn(user,
 * stop) there, then done(user, what fn returned) once on the loop; the mf_aside is gone by then, and until then user is
 * lent to the thread and the loop may not be freed. MF_E_SYS: no thread; nothing was called. */
struct mf_aside;
typedef enum mf_code mf_aside_fn(void *user, const atomic_bool *stop);
MF_MUST_USE enum mf_code mf_aside_start(struct mf_loop *loop, mf_aside_fn *fn,
                                        void (*done)(void *user, enum mf_code code), void *user, struct mf_aside **ret,
                                        struct mf_err *err);
/* Sets *stop: fn should end soon, with what it has. Idempotent. */
void mf_aside_stop(struct mf_aside *a);
/* Thread: any, while the loop exists. Calls fn(user) on the loop; one thread's posts keep their order. What still waits
 * in mf_loop_free is dropped. */
void mf_mailbox_post(struct mf_loop *loop, void (*fn)(void *user), void *user);

#endif

/* mf_pool: threads that take calls from one bounded queue. What crosses threads is the call itself, which lives on the
 * stack of the fiber that waits for it. */
#include "loop/work.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "loop-internal.h"
#include "base/banned.h"

struct job {
  struct job *next;
  void (*fn)(void *user);
  void *user;
  struct mf_loop *loop;
  struct mf_fiber *fiber;
  struct mf_loop_call done_call;
  bool is_done; /* the loop's thread only */
};

struct mf_pool {
  struct mf_loop *loop;
  unsigned queue_max, thread_n;
  pthread_mutex_t lock; /* of what follows */
  pthread_cond_t not_empty;
  struct job *first, **last_next;
  unsigned queued_n;
  bool is_ending;
  pthread_t threads[];
};

static void on_done(void *user)
{
  struct job *j = user;
  j->is_done = true;
  mf_fiber_unpark(j->fiber);
}

static void *work(void *user)
{
  struct mf_pool *p = user;
  pthread_mutex_lock(&p->lock);
  for (;;) {
    while (!p->first && !p->is_ending)
      pthread_cond_wait(&p->not_empty, &p->lock);
    struct job *j = p->first;
    if (!j)
      break;
    p->first = j->next;
    if (!p->first)
      p->last_next = &p->first;
    p->queued_n--;
    pthread_mutex_unlock(&p->lock);
    j->fn(j->user);
    /* The job is gone as soon as it is posted. */
    mf_mailbox_add(j->loop, &j->done_call);
    pthread_mutex_lock(&p->lock);
  }
  pthread_mutex_unlock(&p->lock);
  return NULL;
}

enum mf_code mf_pool_new(struct mf_loop *loop, unsigned threads, unsigned queue_max, struct mf_pool **ret,
                         struct mf_err *err)
{
  enum { THREADS_MAX = 256, STACK_BYTES = 1024 * 1024 };
  if (threads < 1 || threads > THREADS_MAX)
    return mf_fail(err, MF_E_INPUT, 0, "a pool of %u threads: must be 1 to %d", threads, THREADS_MAX);

  struct mf_pool *p = mf_xcalloc(1, sizeof(*p) + threads * sizeof(p->threads[0]));
  p->loop = loop;
  p->queue_max = queue_max;
  p->last_next = &p->first;
  pthread_mutex_init(&p->lock, NULL);
  pthread_cond_init(&p->not_empty, NULL);

  pthread_attr_t attr;
  pthread_attr_init(&attr);
  pthread_attr_setstacksize(&attr, STACK_BYTES);
  /* Signals are the main thread's; a worker inherits the mask of its creator. */
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int sys = 0;
  while (p->thread_n < threads && sys == 0) {
    sys = pthread_create(&p->threads[p->thread_n], &attr, work, p);
    if (sys == 0)
      p->thread_n++;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attr);
  if (sys) {
    mf_pool_free(p);
    return mf_fail(err, MF_E_SYS, sys, "start worker thread");
  }
  *ret = p;
  return MF_OK;
}

void mf_pool_free(struct mf_pool *p)
{
  if (!p)
    return;
  pthread_mutex_lock(&p->lock);
  p->is_ending = true;
  pthread_cond_broadcast(&p->not_empty);
  pthread_mutex_unlock(&p->lock);
  for (unsigned i = 0; i < p->thread_n; i++)
    pthread_join(p->threads[i], NULL);
  pthread_cond_destroy(&p->not_empty);
  pthread_mutex_destroy(&p->lock);
  free(p);
}

enum mf_code mf_pool_run(struct mf_pool *p, struct mf_fiber *self, void (*fn)(void *user), void *user,
                         struct mf_err *err)
{
  assert(mf_fiber_self(p->loop) == self);
  struct job j = { .fn = fn, .user = user, .loop = p->loop, .fiber = self };
  j.done_call = (struct mf_loop_call){ .fn = on_done, .user = &j };

  pthread_mutex_lock(&p->lock);
  bool is_full = p->queued_n >= p->queue_max;
  if (!is_full) {
    *p->last_next = &j;
    p->last_next = &j.next;
    p->queued_n++;
  }
  pthread_mutex_unlock(&p->lock);
  if (!is_full)
    pthread_cond_signal(&p->not_empty); /* with the lock held, it would wake up only to wait for that */
  else
    return mf_fail(err, MF_E_CAPACITY, 0, "all workers are busy and %u calls wait", p->queue_max);

  while (!j.is_done)
    mf_fiber_park(self);
  return MF_OK;
}

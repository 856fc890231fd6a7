/* mf_aside: see work.h. The thread's last act is to post itself; the loop joins it. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "loop/work.h"
#include "base/banned.h"

#define STACK_BYTES (1u << 20)

struct mf_aside {
  struct mf_loop *loop;
  mf_aside_fn *fn;
  void (*done)(void *user, enum mf_code code);
  void *user;
  atomic_bool stop;
  enum mf_code code; /* the thread's, then the loop's */
  pthread_t thread;
};

static void on_thread_done(void *user)
{
  struct mf_aside *a = user;
  (void)pthread_join(a->thread, NULL); /* it has nothing left to do but to end */
  void (*done)(void *user, enum mf_code code) = a->done;
  void *done_user = a->user;
  enum mf_code code = a->code;
  free(a);
  done(done_user, code);
}

static void *thread_main(void *user)
{
  struct mf_aside *a = user;
  a->code = a->fn(a->user, &a->stop);
  mf_mailbox_post(a->loop, on_thread_done, a);
  return NULL;
}

static int start_thread(struct mf_aside *a)
{
  pthread_attr_t attr;
  sigset_t all, before;
  sigfillset(&all);
  int sys = pthread_attr_init(&attr);
  if (sys)
    return sys;
  sys = pthread_attr_setstacksize(&attr, STACK_BYTES);
  if (!sys) {
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the loop */
    sys = pthread_create(&a->thread, &attr, thread_main, a);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  }
  (void)pthread_attr_destroy(&attr);
  return sys;
}

enum mf_code mf_aside_start(struct mf_loop *loop, mf_aside_fn *fn, void (*done)(void *user, enum mf_code code),
                            void *user, struct mf_aside **ret, struct mf_err *err)
{
  struct mf_aside *a = mf_xcalloc(1, sizeof(*a));
  a->loop = loop;
  a->fn = fn;
  a->done = done;
  a->user = user;
  int sys = start_thread(a);
  if (sys) {
    free(a);
    return mf_fail(err, MF_E_SYS, sys, "start a thread");
  }
  *ret = a;
  return MF_OK;
}

void mf_aside_stop(struct mf_aside *a)
{
  atomic_store(&a->stop, true);
}

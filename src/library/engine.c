/* One fiber of the loop starts the parts in order, waits to be told to stop, and closes them in the opposite order, as
 * that of the server does. What the threads share is the state, under the lock. */
#include "engine.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "base/time.h"

#include "base/banned.h"

enum { POOL_THREADS = 2, POOL_QUEUE_MAX = 4096 };
#define FUEL_PLENTY 1000000000000u /* more than a task can execute in its time */

enum state { STARTING, READY, FAILED };

struct mf_engine {
  struct mf_engine_config config;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  enum state state; /* under the lock, with err */
  struct mf_err err;

  /* the thread's own */
  struct mf_loop *loop;
  struct mf_fiber *fiber;
  bool must_stop;
  struct mf_provider *provider;
  bool is_told;
  enum mf_code provider_code;
  struct mf_err provider_err;
  bool is_closed;
  struct mf_executor *executor;
  struct mf_pool *pool;
  struct mf_tasks *tasks;
};

static void set_state(struct mf_engine *e, enum state state, const struct mf_err *err)
{
  pthread_mutex_lock(&e->lock);
  e->state = state;
  if (err)
    e->err = *err;
  pthread_cond_broadcast(&e->changed);
  pthread_mutex_unlock(&e->lock);
}

/* ---- in the fiber ---- */

static void on_provider_ready(void *user, enum mf_code code, const struct mf_err *err)
{
  struct mf_engine *e = user;
  e->is_told = true;
  e->provider_code = code;
  if (code)
    e->provider_err = *err;
  mf_fiber_wake(e->fiber);
}

static enum mf_code start_provider(struct mf_engine *e, struct mf_err *err)
{
  struct mf_provider_config p;
  mf_provider_config_default(&p);
  p.kind = e->config.kind;
  p.local.program = p.wasm.program = e->config.program;
  p.local.runtime_dir = p.wasm.runtime_dir = e->config.runtime;
  p.local.max_running = p.wasm.max_running = e->config.running_max;
  p.wasm.default_fuel = FUEL_PLENTY;
  enum mf_code code = mf_provider_new(e->loop, &p, on_provider_ready, e, &e->provider, err);
  while (!code && !e->is_told && !e->must_stop)
    (void)!mf_fiber_wait(e->fiber, 0);
  if (!code && e->provider_code) {
    *err = e->provider_err;
    return e->provider_code;
  }
  return code;
}

static enum mf_code start_up(struct mf_engine *e, struct mf_err *err)
{
  enum mf_code code = start_provider(e, err);
  if (!code)
    code = mf_executor_new(e->loop, e->provider, e->config.running_max, &e->executor, err);
  if (!code)
    code = mf_pool_new(e->loop, POOL_THREADS, POOL_QUEUE_MAX, &e->pool, err);
  if (code)
    return code;
  struct mf_tasks_config config;
  mf_tasks_config_default(&config);
  config.queue_max = e->config.queue_max;
  if (e->config.kind == MF_PROVIDER_WASM)
    config.memory_mb_max = MF_WASM_GUEST_MEMORY_MAX >> 20;
  const struct mf_tasks_parts parts = { .loop = e->loop, .pool = e->pool, .executor = e->executor };
  return mf_tasks_new(&config, &parts, e->fiber, &e->tasks, err);
}

static void on_closed(void *user)
{
  struct mf_engine *e = user;
  e->is_closed = true;
  mf_fiber_wake(e->fiber);
}

static void shut_down(struct mf_engine *e)
{
  if (e->tasks)
    mf_tasks_close(e->tasks, e->fiber, mf_now_ns());
  if (e->provider) {
    mf_provider_close(e->provider, on_closed, e);
    while (!e->is_closed)
      (void)!mf_fiber_wait(e->fiber, 0);
  }
  mf_executor_free(e->executor);
}

static void live(void *user)
{
  struct mf_engine *e = user;
  struct mf_err err = { 0 };
  enum mf_code code = start_up(e, &err);
  set_state(e, code ? FAILED : READY, code ? &err : NULL);
  while (!code && !e->must_stop)
    (void)!mf_fiber_wait(e->fiber, 0);
  shut_down(e);
  mf_fiber_detach(e->fiber);
  mf_loop_stop(e->loop);
}

/* ---- the thread ---- */

static void *run_thread(void *user)
{
  struct mf_engine *e = user;
  struct mf_err err = { 0 };
  enum mf_code code = mf_fiber_start(e->loop, live, e, 0, &e->fiber, &err);
  if (!code)
    code = mf_loop_run(e->loop, &err);
  if (code)
    set_state(e, FAILED, &err);
  mf_pool_free(e->pool);
  return NULL;
}

/* Signals are for the threads of the program that we are a guest in. */
static int start_thread(struct mf_engine *e)
{
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  int sys = pthread_create(&e->thread, NULL, run_thread, e);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  return sys;
}

static void dispose(struct mf_engine *e)
{
  mf_loop_free(e->loop);
  pthread_cond_destroy(&e->changed);
  pthread_mutex_destroy(&e->lock);
  free(e->config.program);
  free(e->config.runtime);
  free(e);
}

static void stop(void *user)
{
  struct mf_engine *e = user;
  e->must_stop = true;
  mf_fiber_wake(e->fiber);
}

void mf_engine_free(struct mf_engine *e)
{
  if (!e)
    return;
  if (e->state == READY)
    mf_mailbox_post(e->loop, stop, e);
  pthread_join(e->thread, NULL);
  dispose(e);
}

enum mf_code mf_engine_new(struct mf_engine_config *config, struct mf_engine **ret, struct mf_err *err)
{
  struct mf_engine *e = mf_xcalloc(1, sizeof(*e));
  e->config = *config;
  pthread_mutex_init(&e->lock, NULL);
  pthread_cond_init(&e->changed, NULL);
  enum mf_code code = mf_loop_new(&e->loop, err);
  int sys = code ? 0 : start_thread(e);
  if (sys)
    code = mf_fail(err, MF_E_SYS, sys, "start a thread");
  if (code) {
    dispose(e);
    return code;
  }
  pthread_mutex_lock(&e->lock);
  while (e->state == STARTING)
    pthread_cond_wait(&e->changed, &e->lock);
  pthread_mutex_unlock(&e->lock);
  if (e->state == READY) {
    *ret = e;
    return MF_OK;
  }
  code = e->err.code;
  if (err)
    *err = e->err;
  mf_engine_free(e);
  return code;
}

/* ---- calls ---- */

struct call {
  struct mf_engine *engine;
  mf_engine_fn *fn;
  void *user;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool is_done; /* under the lock */
  enum mf_code code;
  struct mf_err err;
};

static void finish(struct call *c, enum mf_code code)
{
  pthread_mutex_lock(&c->lock);
  c->code = code;
  c->is_done = true;
  pthread_cond_signal(&c->changed);
  pthread_mutex_unlock(&c->lock); /* the last touch: the caller's stack holds c */
}

static void in_fiber(void *user)
{
  struct call *c = user;
  struct mf_fiber *self = mf_fiber_self(c->engine->loop);
  finish(c, c->fn(c->user, c->engine->tasks, self, &c->err));
}

static void on_loop(void *user)
{
  struct call *c = user;
  enum mf_code code = mf_fiber_start(c->engine->loop, in_fiber, c, 0, NULL, &c->err);
  if (code)
    finish(c, code);
}

enum mf_code mf_engine_call(struct mf_engine *e, mf_engine_fn *fn, void *user, struct mf_err *err)
{
  struct call c = { .engine = e, .fn = fn, .user = user };
  pthread_mutex_init(&c.lock, NULL);
  pthread_cond_init(&c.changed, NULL);
  mf_mailbox_post(e->loop, on_loop, &c);
  pthread_mutex_lock(&c.lock);
  while (!c.is_done)
    pthread_cond_wait(&c.changed, &c.lock);
  pthread_mutex_unlock(&c.lock);
  pthread_cond_destroy(&c.changed);
  pthread_mutex_destroy(&c.lock);
  if (c.code && err)
    *err = c.err;
  return c.code;
}

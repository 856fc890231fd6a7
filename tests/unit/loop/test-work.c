/* The worker pool and the mailbox. Nothing here measures how long something takes. */
#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "loop/work.h"
#include "base/banned.h"

struct fixture {
  struct mf_loop *loop;
  struct mf_pool *pool;
  struct mf_fiber *fiber;
  sem_t begun, gate; /* a job posts one and waits for the other */
  atomic_uint ran;
  unsigned live;
  enum mf_code code, code2;
  pthread_t loop_thread;
  char trace[32];
  size_t trace_n;
};

static int set_up(void **state)
{
  struct fixture *f = mf_xcalloc(1, sizeof(*f));
  *state = f;
  f->loop_thread = pthread_self();
  sem_init(&f->begun, 0, 0);
  sem_init(&f->gate, 0, 0);
  return mf_loop_new(&f->loop, NULL) ? -1 : 0;
}

static int tear_down(void **state)
{
  struct fixture *f = *state;
  mf_pool_free(f->pool);
  mf_loop_free(f->loop);
  sem_destroy(&f->begun);
  sem_destroy(&f->gate);
  free(f);
  return 0;
}

static void run(struct fixture *f)
{
  struct mf_err err = { 0 };
  assert_ok(mf_loop_run(f->loop, &err), &err);
}

static void new_pool(struct fixture *f, unsigned threads, unsigned queue_max)
{
  struct mf_err err = { 0 };
  assert_ok(mf_pool_new(f->loop, threads, queue_max, &f->pool, &err), &err);
}

static void start(struct fixture *f, mf_fiber_fn *fn, struct mf_fiber **ret)
{
  struct mf_err err = { 0 };
  assert_ok(mf_fiber_start(f->loop, fn, f, 0, ret, &err), &err);
  f->live++;
}

static void end(struct fixture *f)
{
  if (--f->live == 0)
    mf_loop_stop(f->loop);
}

static void trace(struct fixture *f, char c)
{
  assert_true(f->trace_n + 1 < sizeof(f->trace));
  f->trace[f->trace_n++] = c;
}

/* ---- the pool ---- */

static void job_count(void *user)
{
  struct fixture *f = user;
  atomic_fetch_add(&f->ran, 1);
}

static void job_where(void *user)
{
  struct fixture *f = user;
  if (!pthread_equal(pthread_self(), f->loop_thread))
    atomic_fetch_add(&f->ran, 1);
  /* Signals are the main thread's. */
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, NULL, &mask);
  if (sigismember(&mask, SIGTERM) && sigismember(&mask, SIGINT))
    atomic_fetch_add(&f->ran, 1);
}

static void fiber_where(void *user)
{
  struct fixture *f = user;
  struct mf_err err = { 0 };
  assert_ok(mf_pool_run(f->pool, mf_fiber_self(f->loop), job_where, f, &err), &err);
  assert_int_equal(atomic_load(&f->ran), 2);
  assert_true(pthread_equal(pthread_self(), f->loop_thread));
  end(f);
}

static void runs_on_another_thread(void **state)
{
  struct fixture *f = *state;
  new_pool(f, 1, 1);
  start(f, fiber_where, NULL);
  run(f);
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, NULL, &mask);
  assert_false(sigismember(&mask, SIGTERM));
}

static void fiber_count(void *user)
{
  struct fixture *f = user;
  for (int i = 0; i < 20; i++) {
    struct mf_err err = { 0 };
    assert_ok(mf_pool_run(f->pool, mf_fiber_self(f->loop), job_count, f, &err), &err);
  }
  end(f);
}

static void many_fibers_many_jobs(void **state)
{
  struct fixture *f = *state;
  new_pool(f, 4, 1000);
  for (int i = 0; i < 100; i++)
    start(f, fiber_count, NULL);
  run(f);
  assert_int_equal(atomic_load(&f->ran), 2000);
}

static void job_gate(void *user)
{
  struct fixture *f = user;
  sem_post(&f->begun);
  while (sem_wait(&f->gate))
    ;
  atomic_fetch_add(&f->ran, 1);
}

static void fiber_gate(void *user)
{
  struct fixture *f = user;
  struct mf_err err = { 0 };
  assert_ok(mf_pool_run(f->pool, mf_fiber_self(f->loop), job_gate, f, &err), &err);
  end(f);
}

/* One thread is held; two wait; the next is refused at once, and the pool works on as soon as there is room. */
static void fiber_fill(void *user)
{
  struct fixture *f = user;
  struct mf_fiber *self = mf_fiber_self(f->loop);
  while (sem_wait(&f->begun))
    ;
  start(f, fiber_count, NULL);
  start(f, fiber_count, NULL);
  assert_int_equal(mf_fiber_sleep(self, 0), MF_OK);
  struct mf_err err = { 0 };
  assert_int_equal(mf_pool_run(f->pool, self, job_count, f, &err), MF_E_CAPACITY);
  assert_string_equal(err.msg, "all workers are busy and 2 calls wait");
  assert_int_equal(atomic_load(&f->ran), 0);
  sem_post(&f->gate);
  end(f);
}

static void a_full_queue_refuses(void **state)
{
  struct fixture *f = *state;
  new_pool(f, 1, 2);
  start(f, fiber_gate, NULL);
  start(f, fiber_fill, NULL);
  run(f);
  assert_int_equal(atomic_load(&f->ran), 41);
}

/* Cancelled and woken while the job runs: returns when the job has, and tells both afterwards. */
static void fiber_uninterrupted(void *user)
{
  struct fixture *f = user;
  struct mf_fiber *self = mf_fiber_self(f->loop);
  f->code = mf_pool_run(f->pool, self, job_gate, f, NULL);
  assert_int_equal(atomic_load(&f->ran), 1);
  mf_fiber_shield(self);
  assert_int_equal(mf_fiber_wait(self, 0), MF_OK);
  mf_fiber_unshield(self);
  f->code2 = mf_fiber_wait(self, 0);
  end(f);
}

static void fiber_disturb(void *user)
{
  struct fixture *f = user;
  struct mf_fiber *self = mf_fiber_self(f->loop);
  while (sem_wait(&f->begun))
    ;
  mf_fiber_cancel(f->fiber);
  mf_fiber_wake(f->fiber);
  for (int i = 0; i < 3; i++)
    assert_int_equal(mf_fiber_sleep(self, 0), MF_OK);
  sem_post(&f->gate);
  end(f);
}

static void not_interrupted(void **state)
{
  struct fixture *f = *state;
  new_pool(f, 2, 2);
  start(f, fiber_uninterrupted, &f->fiber);
  start(f, fiber_disturb, NULL);
  run(f);
  assert_int_equal(f->code, MF_OK);
  assert_int_equal(f->code2, MF_E_CANCELLED);
  mf_fiber_detach(f->fiber);
}

static void on_free_pool(void *user)
{
  struct fixture *f = user;
  while (sem_wait(&f->begun))
    ;
  sem_post(&f->gate);
  mf_pool_free(f->pool);
  f->pool = NULL;
  assert_int_equal(atomic_load(&f->ran), 2);
}

static void fiber_one(void *user)
{
  struct fixture *f = user;
  f->code = mf_pool_run(f->pool, mf_fiber_self(f->loop), job_count, f, NULL);
  end(f);
}

static void freeing_waits_for_what_is_queued(void **state)
{
  struct fixture *f = *state;
  f->code = MF_E_INTERNAL;
  new_pool(f, 1, 2);
  start(f, fiber_gate, NULL);
  start(f, fiber_one, NULL);
  assert_int_equal(mf_loop_defer(f->loop, on_free_pool, f, NULL), MF_OK);
  run(f); /* the fibers go on without the pool */
  assert_int_equal(f->code, MF_OK);
}

static void a_pool_without_work(void **state)
{
  struct fixture *f = *state;
  new_pool(f, 8, 0);
  mf_pool_free(f->pool);
  mf_pool_free(NULL);
  f->pool = NULL;
  struct mf_err err = { 0 };
  assert_int_equal(mf_pool_new(f->loop, 0, 1, &f->pool, &err), MF_E_INPUT);
  assert_int_equal(mf_pool_new(f->loop, 257, 1, &f->pool, &err), MF_E_INPUT);
  assert_string_equal(err.msg, "a pool of 257 threads: must be 1 to 256");
  assert_null(f->pool);
}

/* ---- the mailbox ---- */

static void on_a(void *user)
{
  trace(user, 'a');
}

static void on_c_stops(void *user)
{
  struct fixture *f = user;
  trace(f, 'c');
  mf_loop_stop(f->loop);
}

static void on_b_posts_c(void *user)
{
  struct fixture *f = user;
  trace(f, 'b');
  mf_mailbox_post(f->loop, on_c_stops, f);
  trace(f, '.');
}

static void posts_keep_their_order(void **state)
{
  struct fixture *f = *state;
  mf_mailbox_post(f->loop, on_a, f);
  mf_mailbox_post(f->loop, on_b_posts_c, f);
  mf_mailbox_post(f->loop, on_a, f);
  assert_int_equal(f->trace_n, 0);
  run(f);
  assert_string_equal(f->trace, "ab.ac");
}

static void a_stop_leaves_the_rest(void **state)
{
  struct fixture *f = *state;
  mf_mailbox_post(f->loop, on_c_stops, f);
  mf_mailbox_post(f->loop, on_a, f);
  mf_mailbox_post(f->loop, on_c_stops, f);
  mf_mailbox_post(f->loop, on_a, f); /* dropped with the loop */
  run(f);
  assert_string_equal(f->trace, "c");
  run(f);
  assert_string_equal(f->trace, "cac");
}

enum { POSTERS = 4, POSTS = 5000 };

static void on_count(void *user)
{
  struct fixture *f = user;
  assert_true(pthread_equal(pthread_self(), f->loop_thread));
  if (++f->live == POSTERS * POSTS)
    mf_loop_stop(f->loop);
}

static void *post_often(void *user)
{
  struct fixture *f = user;
  for (int i = 0; i < POSTS; i++)
    mf_mailbox_post(f->loop, on_count, f);
  return NULL;
}

static void from_many_threads(void **state)
{
  struct fixture *f = *state;
  pthread_t threads[POSTERS];
  for (int i = 0; i < POSTERS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, post_often, f), 0);
  run(f);
  for (int i = 0; i < POSTERS; i++)
    assert_int_equal(pthread_join(threads[i], NULL), 0);
  assert_int_equal(f->live, POSTERS * POSTS);
}

/* ---- aside ---- */

struct errand {
  struct fixture *f;
  struct mf_aside *aside;
  bool was_elsewhere, took_signals;
  enum mf_code code;
};

/* Until it is told to stop. */
static enum mf_code wait_for_stop(void *user, const atomic_bool *stop)
{
  struct errand *e = user;
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, NULL, &mask);
  e->took_signals = sigismember(&mask, SIGTERM) != 1;
  e->was_elsewhere = !pthread_equal(pthread_self(), e->f->loop_thread);
  while (!atomic_load(stop))
    sched_yield();
  return MF_E_GONE;
}

static void on_errand(void *user, enum mf_code code)
{
  struct errand *e = user;
  e->code = code;
  assert_true(pthread_equal(pthread_self(), e->f->loop_thread));
  if (--e->f->live == 0)
    mf_loop_stop(e->f->loop);
}

static void errands_stop_alone(void **state)
{
  enum { N = 8 };
  struct fixture *f = *state;
  struct errand errands[N];
  for (unsigned i = 0; i < N; i++) {
    errands[i] = (struct errand){ .f = f };
    assert_int_equal(mf_aside_start(f->loop, wait_for_stop, on_errand, &errands[i], &errands[i].aside, NULL), MF_OK);
    f->live++;
  }
  for (unsigned i = 0; i < N; i++) {
    mf_aside_stop(errands[i].aside);
    mf_aside_stop(errands[i].aside);
  }
  run(f);
  for (unsigned i = 0; i < N; i++) {
    assert_int_equal(errands[i].code, MF_E_GONE);
    assert_true(errands[i].was_elsewhere);
    assert_false(errands[i].took_signals);
  }
}

#define WORK_TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
  const struct CMUnitTest tests[] = {
    WORK_TEST(runs_on_another_thread),
    WORK_TEST(many_fibers_many_jobs),
    WORK_TEST(a_full_queue_refuses),
    WORK_TEST(not_interrupted),
    WORK_TEST(freeing_waits_for_what_is_queued),
    WORK_TEST(a_pool_without_work),
    WORK_TEST(posts_keep_their_order),
    WORK_TEST(a_stop_leaves_the_rest),
    WORK_TEST(from_many_threads),
    WORK_TEST(errands_stop_alone),
  };
  return cmocka_run_group_tests_name("loop/work", tests, NULL, NULL);
}

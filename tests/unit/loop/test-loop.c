/* The loop: order and life cycles. Nothing here measures how long something takes. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/time.h"
#include "loop/loop.h"
#include "base/banned.h"

/* What the callbacks of one test share. */
struct fixture {
  struct mf_loop *loop;
  int pair[2]; /* non-blocking stream sockets */
  struct mf_watch *watch, *other;
  struct mf_timer *timer, *timer2;
  unsigned events, calls, other_calls;
  uint64_t deadline_ns, fired_ns;
  char trace[64];
  size_t trace_n;
};

static int set_up(void **state)
{
  struct fixture *f = mf_xcalloc(1, sizeof(*f));
  *state = f;
  if (mf_loop_new(&f->loop, NULL))
    return -1;
  return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, f->pair);
}

static int tear_down(void **state)
{
  struct fixture *f = *state;
  f->watch = mf_watch_free(f->watch);
  f->other = mf_watch_free(f->other);
  f->timer = mf_timer_free(f->timer);
  f->timer2 = mf_timer_free(f->timer2);
  mf_close_ptr(&f->pair[0]);
  mf_close_ptr(&f->pair[1]);
  mf_loop_free(f->loop);
  free(f);
  return 0;
}

static void run(struct fixture *f)
{
  struct mf_err err = { 0 };
  assert_ok(mf_loop_run(f->loop, &err), &err);
}

static void trace(struct fixture *f, char c)
{
  assert_true(f->trace_n + 1 < sizeof(f->trace));
  f->trace[f->trace_n++] = c;
}

static void on_stop(void *user)
{
  struct fixture *f = user;
  mf_loop_stop(f->loop);
}

/* Runs until nothing that is ready now is left: two turns later, by deferring from a deferred call. */
static void on_settle(void *user)
{
  struct fixture *f = user;
  assert_int_equal(mf_loop_defer(f->loop, on_stop, f, NULL), MF_OK);
}

static void run_what_is_ready(struct fixture *f)
{
  assert_int_equal(mf_loop_defer(f->loop, on_settle, f, NULL), MF_OK);
  run(f);
}

/* ---- stopping ---- */

static void stop_before_run_ends_it_at_once(void **state)
{
  struct fixture *f = *state;
  mf_loop_stop(f->loop);
  mf_loop_stop(f->loop);
  run(f);
  /* That stop is used up: this run ends by its own. */
  assert_int_equal(mf_loop_defer(f->loop, on_stop, f, NULL), MF_OK);
  run(f);
}

static void runs_again_and_again(void **state)
{
  struct fixture *f = *state;
  for (int i = 0; i < 100; i++) {
    assert_int_equal(mf_loop_defer(f->loop, on_stop, f, NULL), MF_OK);
    run(f);
  }
}

/* ---- watches ---- */

static void on_ready(void *user, unsigned events)
{
  struct fixture *f = user;
  f->events = events;
  f->calls++;
  mf_loop_stop(f->loop);
}

static void watch(struct fixture *f, unsigned events, mf_watch_fn *fn)
{
  struct mf_err err = { 0 };
  assert_ok(mf_watch_new(f->loop, f->pair[0], events, fn, f, &f->watch, &err), &err);
}

static void reading_is_level_triggered(void **state)
{
  struct fixture *f = *state;
  watch(f, MF_WATCH_READ, on_ready);
  assert_int_equal(mf_write_all(f->pair[1], "ab", 2, NULL), MF_OK);
  for (unsigned i = 1; i <= 3; i++) {
    run(f);
    assert_int_equal(f->calls, i);
    assert_int_equal(f->events, MF_WATCH_READ);
  }
  char in[2];
  assert_int_equal(mf_read_all(f->pair[0], in, 2, NULL), MF_OK);
  run_what_is_ready(f);
  assert_int_equal(f->calls, 3);
}

static void writing(void **state)
{
  struct fixture *f = *state;
  watch(f, MF_WATCH_WRITE, on_ready);
  run(f);
  assert_int_equal(f->events, MF_WATCH_WRITE);

  static char block[65536];
  while (write(f->pair[0], block, sizeof(block)) > 0)
    ;
  assert_int_equal(errno, EAGAIN);
  run_what_is_ready(f);
  assert_int_equal(f->calls, 1);
  while (read(f->pair[1], block, sizeof(block)) > 0)
    ;
  run(f);
  assert_int_equal(f->calls, 2);
}

static void reading_and_writing_arrive_together(void **state)
{
  struct fixture *f = *state;
  watch(f, MF_WATCH_READ | MF_WATCH_WRITE, on_ready);
  assert_int_equal(mf_write_all(f->pair[1], "a", 1, NULL), MF_OK);
  run(f);
  assert_int_equal(f->calls, 1);
  assert_int_equal(f->events, MF_WATCH_READ | MF_WATCH_WRITE);
}

static void paused_and_changed(void **state)
{
  struct fixture *f = *state;
  watch(f, 0, on_ready);
  assert_int_equal(mf_write_all(f->pair[1], "a", 1, NULL), MF_OK);
  run_what_is_ready(f);
  assert_int_equal(f->calls, 0);

  mf_watch_set(f->watch, MF_WATCH_READ);
  mf_watch_set(f->watch, MF_WATCH_READ);
  run(f);
  assert_int_equal(f->calls, 1);
  mf_watch_set(f->watch, MF_WATCH_WRITE);
  run(f);
  assert_int_equal(f->events, MF_WATCH_WRITE);
  mf_watch_set(f->watch, 0);
  run_what_is_ready(f);
  assert_int_equal(f->calls, 2);
}

static void hang_up_is_read(void **state)
{
  struct fixture *f = *state;
  watch(f, MF_WATCH_READ, on_ready);
  mf_close_ptr(&f->pair[1]);
  run(f);
  assert_int_equal(f->events, MF_WATCH_READ);
  char c;
  assert_int_equal(read(f->pair[0], &c, 1), 0);
}

static void hang_up_wakes_a_writer(void **state)
{
  struct fixture *f = *state;
  static char block[65536];
  while (write(f->pair[0], block, sizeof(block)) > 0)
    ;
  watch(f, MF_WATCH_WRITE, on_ready);
  mf_close_ptr(&f->pair[1]);
  run(f);
  assert_int_equal(f->events, MF_WATCH_WRITE);
}

/* The writing end of a pipe has nothing to read: only the reader's end shows there. */
static void the_end_of_a_reader_is_read(void **state)
{
  struct fixture *f = *state;
  int p[2];
  assert_int_equal(pipe2(p, O_CLOEXEC | O_NONBLOCK), 0);
  mf_close_ptr(&f->pair[0]);
  f->pair[0] = p[1];
  watch(f, MF_WATCH_READ, on_ready);
  run_what_is_ready(f);
  assert_int_equal(f->calls, 0);
  close(p[0]);
  run(f);
  assert_int_equal(f->events, MF_WATCH_READ);
}

static void on_free_self(void *user, unsigned events)
{
  struct fixture *f = user;
  f->calls++;
  f->watch = mf_watch_free(f->watch);
  mf_loop_stop(f->loop);
}

static void freed_inside_its_own_call(void **state)
{
  struct fixture *f = *state;
  watch(f, MF_WATCH_READ | MF_WATCH_WRITE, on_free_self);
  assert_int_equal(mf_write_all(f->pair[1], "a", 1, NULL), MF_OK);
  run(f);
  run_what_is_ready(f);
  assert_int_equal(f->calls, 1);
}

static void on_free_both(void *user, unsigned events)
{
  struct fixture *f = user;
  f->calls++;
  f->watch = mf_watch_free(f->watch);
  f->other = mf_watch_free(f->other);
}

/* Both are ready in the same turn; whichever is called first, the other must not be called any more. */
static void freed_by_a_neighbour_in_the_same_turn(void **state)
{
  struct fixture *f = *state;
  watch(f, MF_WATCH_WRITE, on_free_both);
  assert_int_equal(mf_watch_new(f->loop, f->pair[1], MF_WATCH_WRITE, on_free_both, f, &f->other, NULL), MF_OK);
  run_what_is_ready(f);
  assert_int_equal(f->calls, 1);
}

static void on_other(void *user, unsigned events)
{
  struct fixture *f = user;
  f->other_calls++;
  mf_watch_set(f->other, 0);
}

static void on_first(void *user, unsigned events)
{
  struct fixture *f = user;
  f->calls++;
  mf_watch_set(f->watch, 0);
}

static void two_watches_of_one_descriptor(void **state)
{
  struct fixture *f = *state;
  watch(f, MF_WATCH_READ, on_first);
  assert_int_equal(mf_watch_new(f->loop, f->pair[0], MF_WATCH_WRITE, on_other, f, &f->other, NULL), MF_OK);
  assert_int_equal(mf_write_all(f->pair[1], "a", 1, NULL), MF_OK);
  run_what_is_ready(f);
  assert_int_equal(f->calls, 1);
  assert_int_equal(f->other_calls, 1);
}

static void what_cannot_be_watched_is_an_error(void **state)
{
  struct fixture *f = *state;
  struct mf_err err = { 0 };
  mf_auto_close int file = -1;
  assert_int_equal(mf_memfd("mf-test", &file, NULL), MF_OK);
  assert_int_equal(mf_watch_new(f->loop, file, MF_WATCH_READ, on_ready, f, &f->watch, &err), MF_E_SYS);
  assert_int_equal(err.sys, EPERM);
  assert_null(f->watch);
}

static void free_of_null(void **state)
{
  assert_null(mf_watch_free(NULL));
  assert_null(mf_timer_free(NULL));
  mf_loop_free(NULL);
}

/* ---- timers ---- */

static void on_timer_a(void *user)
{
  trace(user, 'a');
}

static void on_timer_stop(void *user)
{
  trace(user, 's');
  on_stop(user);
}

static void new_timer(struct fixture *f, mf_timer_fn *fn, struct mf_timer **ret)
{
  struct mf_err err = { 0 };
  assert_ok(mf_timer_new(f->loop, fn, f, ret, &err), &err);
}

static void the_earlier_deadline_comes_first(void **state)
{
  struct fixture *f = *state;
  new_timer(f, on_timer_stop, &f->timer);
  new_timer(f, on_timer_a, &f->timer2);
  uint64_t now = mf_now_ns();
  mf_timer_arm(f->timer, now + 20 * MF_NS_PER_MS);
  mf_timer_arm(f->timer2, now + 10 * MF_NS_PER_MS);
  run(f);
  assert_string_equal(f->trace, "as");
}

static void on_note_time(void *user)
{
  struct fixture *f = user;
  f->fired_ns = mf_now_ns();
  on_stop(f);
}

/* Never early is a promise; how late is the machine's affair. */
static void never_early(void **state)
{
  struct fixture *f = *state;
  new_timer(f, on_note_time, &f->timer);
  for (uint64_t i = 0; i < 40; i++) {
    uint64_t deadline = mf_now_ns() + i * 97777;
    mf_timer_arm(f->timer, deadline);
    run(f);
    assert_true(f->fired_ns >= deadline);
  }
}

static void on_arm_late(void *user)
{
  struct fixture *f = user;
  /* The time libevent read before this call is older than now; the deadline must not count from it. */
  uint64_t until = mf_now_ns() + 3 * MF_NS_PER_MS;
  while (mf_now_ns() < until)
    ;
  f->deadline_ns = mf_now_ns() + MF_NS_PER_MS;
  mf_timer_arm(f->timer, f->deadline_ns);
}

static void never_early_from_inside_a_slow_call(void **state)
{
  struct fixture *f = *state;
  new_timer(f, on_note_time, &f->timer);
  assert_int_equal(mf_loop_defer(f->loop, on_arm_late, f, NULL), MF_OK);
  run(f);
  assert_true(f->fired_ns >= f->deadline_ns);
}

static void the_past_means_at_once_but_from_the_loop(void **state)
{
  struct fixture *f = *state;
  new_timer(f, on_timer_stop, &f->timer);
  mf_timer_arm(f->timer, 0);
  assert_int_equal(f->trace_n, 0);
  run(f);
  assert_string_equal(f->trace, "s");
  /* One shot. */
  run_what_is_ready(f);
  assert_string_equal(f->trace, "s");
}

static void arming_replaces_the_deadline(void **state)
{
  struct fixture *f = *state;
  new_timer(f, on_timer_stop, &f->timer);
  mf_timer_arm(f->timer, UINT64_MAX);
  mf_timer_arm(f->timer, mf_now_ns() + MF_NS_PER_MS);
  run(f);
  mf_timer_arm(f->timer, 0);
  mf_timer_arm(f->timer, UINT64_MAX);
  run_what_is_ready(f);
  assert_string_equal(f->trace, "s");
}

static void disarmed_is_not_called(void **state)
{
  struct fixture *f = *state;
  new_timer(f, on_timer_a, &f->timer);
  mf_timer_disarm(f->timer);
  mf_timer_arm(f->timer, 0);
  mf_timer_disarm(f->timer);
  mf_timer_disarm(f->timer);
  run_what_is_ready(f);
  assert_int_equal(f->trace_n, 0);
}

static void on_rearm(void *user)
{
  struct fixture *f = user;
  trace(f, 'r');
  if (++f->calls < 5)
    mf_timer_arm(f->timer, 0);
  else
    on_stop(f);
}

static void armed_again_inside_its_call(void **state)
{
  struct fixture *f = *state;
  new_timer(f, on_rearm, &f->timer);
  mf_timer_arm(f->timer, 0);
  run(f);
  assert_string_equal(f->trace, "rrrrr");
}

static void on_timer_free_self(void *user)
{
  struct fixture *f = user;
  trace(f, 'f');
  f->timer = mf_timer_free(f->timer);
  on_stop(f);
}

static void timer_freed_inside_its_own_call(void **state)
{
  struct fixture *f = *state;
  new_timer(f, on_timer_free_self, &f->timer);
  mf_timer_arm(f->timer, 0);
  run(f);
  assert_string_equal(f->trace, "f");
}

static void on_timer_free_both(void *user)
{
  struct fixture *f = user;
  trace(f, 'f');
  f->timer = mf_timer_free(f->timer);
  f->timer2 = mf_timer_free(f->timer2);
}

static void timer_freed_by_a_neighbour_in_the_same_turn(void **state)
{
  struct fixture *f = *state;
  new_timer(f, on_timer_free_both, &f->timer);
  new_timer(f, on_timer_free_both, &f->timer2);
  mf_timer_arm(f->timer, 0);
  mf_timer_arm(f->timer2, 0);
  run_what_is_ready(f);
  assert_string_equal(f->trace, "f");
}

/* ---- deferred calls ---- */

static void on_b(void *user)
{
  trace(user, 'b');
}

static void on_a_defers_c(void *user)
{
  struct fixture *f = user;
  trace(f, 'a');
  assert_int_equal(mf_loop_defer(f->loop, on_timer_stop, f, NULL), MF_OK);
  trace(f, '.');
}

static void deferred_in_order_and_after_the_current_call(void **state)
{
  struct fixture *f = *state;
  assert_int_equal(mf_loop_defer(f->loop, on_a_defers_c, f, NULL), MF_OK);
  assert_int_equal(mf_loop_defer(f->loop, on_b, f, NULL), MF_OK);
  assert_int_equal(f->trace_n, 0);
  run(f);
  assert_string_equal(f->trace, "a.bs");
}

static void a_stop_leaves_the_rest_for_the_next_run(void **state)
{
  struct fixture *f = *state;
  assert_int_equal(mf_loop_defer(f->loop, on_timer_stop, f, NULL), MF_OK);
  assert_int_equal(mf_loop_defer(f->loop, on_b, f, NULL), MF_OK);
  assert_int_equal(mf_loop_defer(f->loop, on_timer_stop, f, NULL), MF_OK);
  run(f);
  assert_string_equal(f->trace, "s");
  run(f);
  assert_string_equal(f->trace, "sbs");
}

static void on_defer_for_ever(void *user)
{
  struct fixture *f = user;
  f->other_calls++;
  assert_int_equal(mf_loop_defer(f->loop, on_defer_for_ever, f, NULL), MF_OK);
}

static void an_endless_chain_starves_nobody(void **state)
{
  struct fixture *f = *state;
  watch(f, MF_WATCH_READ, on_ready);
  assert_int_equal(mf_loop_defer(f->loop, on_defer_for_ever, f, NULL), MF_OK);
  assert_int_equal(mf_write_all(f->pair[1], "a", 1, NULL), MF_OK);
  run(f);
  assert_int_equal(f->calls, 1);
  /* mf_loop_free drops the call that still waits. */
}

/* ---- two loops in two threads share nothing ---- */

static void *run_often(void *user)
{
  struct fixture *f = user;
  for (int i = 0; i < 200; i++) {
    mf_timer_arm(f->timer, 0);
    if (mf_loop_run(f->loop, NULL))
      return NULL;
  }
  return f;
}

static void on_count_stop(void *user)
{
  struct fixture *f = user;
  f->calls++;
  mf_loop_stop(f->loop);
}

static void a_loop_of_its_own_for_each_thread(void **state)
{
  enum { N = 4 };
  struct fixture f[N] = { { 0 } };
  pthread_t threads[N];
  for (int i = 0; i < N; i++) {
    assert_int_equal(mf_loop_new(&f[i].loop, NULL), MF_OK);
    new_timer(&f[i], on_count_stop, &f[i].timer);
    assert_int_equal(pthread_create(&threads[i], NULL, run_often, &f[i]), 0);
  }
  for (int i = 0; i < N; i++) {
    void *ret = NULL;
    assert_int_equal(pthread_join(threads[i], &ret), 0);
    assert_ptr_equal(ret, &f[i]);
    assert_int_equal(f[i].calls, 200);
    f[i].timer = mf_timer_free(f[i].timer);
    mf_loop_free(f[i].loop);
  }
}

#define LOOP_TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
  const struct CMUnitTest tests[] = {
    LOOP_TEST(stop_before_run_ends_it_at_once),
    LOOP_TEST(runs_again_and_again),
    LOOP_TEST(reading_is_level_triggered),
    LOOP_TEST(writing),
    LOOP_TEST(reading_and_writing_arrive_together),
    LOOP_TEST(paused_and_changed),
    LOOP_TEST(hang_up_is_read),
    LOOP_TEST(hang_up_wakes_a_writer),
    LOOP_TEST(the_end_of_a_reader_is_read),
    LOOP_TEST(freed_inside_its_own_call),
    LOOP_TEST(freed_by_a_neighbour_in_the_same_turn),
    LOOP_TEST(two_watches_of_one_descriptor),
    LOOP_TEST(what_cannot_be_watched_is_an_error),
    cmocka_unit_test(free_of_null),
    LOOP_TEST(the_earlier_deadline_comes_first),
    LOOP_TEST(never_early),
    LOOP_TEST(never_early_from_inside_a_slow_call),
    LOOP_TEST(the_past_means_at_once_but_from_the_loop),
    LOOP_TEST(arming_replaces_the_deadline),
    LOOP_TEST(disarmed_is_not_called),
    LOOP_TEST(armed_again_inside_its_call),
    LOOP_TEST(timer_freed_inside_its_own_call),
    LOOP_TEST(timer_freed_by_a_neighbour_in_the_same_turn),
    LOOP_TEST(deferred_in_order_and_after_the_current_call),
    LOOP_TEST(a_stop_leaves_the_rest_for_the_next_run),
    LOOP_TEST(an_endless_chain_starves_nobody),
    cmocka_unit_test(a_loop_of_its_own_for_each_thread),
  };
  return cmocka_run_group_tests_name("loop/loop", tests, NULL, NULL);
}

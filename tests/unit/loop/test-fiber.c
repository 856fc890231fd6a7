/* Fibers: life, waiting, waking, cancelling, stacks. Nothing here measures how long something takes. Built twice: with
 * the room's own switch and with the portable one. */
#include "unit.h"

#include <fenv.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/time.h"
#include "loop/fiber.h"
#include "base/banned.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

struct fixture {
  struct mf_loop *loop;
  struct mf_timer *timer;
  struct mf_fiber *a, *b;
  enum mf_code code, code2;
  unsigned n, live;
  uint64_t deadline_ns, woke_ns;
  char trace[64];
  size_t trace_n;
};

static int set_up(void **state)
{
  struct fixture *f = mf_xcalloc(1, sizeof(*f));
  *state = f;
  return mf_loop_new(&f->loop, NULL) ? -1 : 0;
}

static int tear_down(void **state)
{
  struct fixture *f = *state;
  f->timer = mf_timer_free(f->timer);
  mf_loop_free(f->loop); /* asserts that no fiber is left */
  free(f);
  return 0;
}

static void run(struct fixture *f)
{
  struct mf_err err = { 0 };
  assert_ok(mf_loop_run(f->loop, &err), &err);
}

static void on_stop(void *user)
{
  struct fixture *f = user;
  mf_loop_stop(f->loop);
}

/* Runs until nothing that is ready now is left. */
static void on_settle(void *user)
{
  struct fixture *f = user;
  if (++f->n < 8)
    assert_int_equal(mf_loop_defer(f->loop, on_settle, f, NULL), MF_OK);
  else
    mf_loop_stop(f->loop);
}

static void settle(struct fixture *f)
{
  f->n = 0;
  assert_int_equal(mf_loop_defer(f->loop, on_settle, f, NULL), MF_OK);
  run(f);
}

static void trace(struct fixture *f, char c)
{
  assert_true(f->trace_n + 1 < sizeof(f->trace));
  f->trace[f->trace_n++] = c;
}

static struct mf_fiber *start(struct fixture *f, mf_fiber_fn *fn, void *user)
{
  struct mf_fiber *ret = NULL;
  struct mf_err err = { 0 };
  assert_ok(mf_fiber_start(f->loop, fn, user, 0, &ret, &err), &err);
  return ret;
}

static void start_detached(struct fixture *f, mf_fiber_fn *fn, void *user, size_t stack_bytes)
{
  struct mf_err err = { 0 };
  assert_ok(mf_fiber_start(f->loop, fn, user, stack_bytes, NULL, &err), &err);
}

/* ---- life ---- */

static void say_x(void *user)
{
  struct fixture *f = user;
  struct mf_fiber *self = mf_fiber_self(f->loop);
  assert_non_null(self);
  assert_ptr_equal(mf_fiber_loop(self), f->loop);
  trace(f, 'x');
}

static void starts_from_the_loop(void **state)
{
  struct fixture *f = *state;
  start_detached(f, say_x, f, 0);
  trace(f, '1');
  assert_null(mf_fiber_self(f->loop));
  settle(f);
  assert_string_equal(f->trace, "1x");
  assert_null(mf_fiber_self(f->loop));
}

static void starts_another(void *user)
{
  struct fixture *f = user;
  trace(f, '1');
  start_detached(f, say_x, f, 0);
  trace(f, '2');
}

static void a_fiber_starts_a_fiber(void **state)
{
  struct fixture *f = *state;
  start_detached(f, starts_another, f, 0);
  settle(f);
  assert_string_equal(f->trace, "12x");
}

static void joins_b(void *user)
{
  struct fixture *f = user;
  trace(f, 'j');
  mf_fiber_join(mf_fiber_self(f->loop), f->b);
  trace(f, '.');
}

static void join_waits_for_the_end(void **state)
{
  struct fixture *f = *state;
  start_detached(f, joins_b, f, 0);
  f->b = start(f, say_x, f);
  settle(f);
  assert_string_equal(f->trace, "jx.");
}

static void join_after_the_end(void **state)
{
  struct fixture *f = *state;
  f->b = start(f, say_x, f);
  settle(f);
  /* What is done to one that has ended does nothing. */
  mf_fiber_wake(f->b);
  mf_fiber_cancel(f->b);
  settle(f);
  start_detached(f, joins_b, f, 0);
  settle(f);
  assert_string_equal(f->trace, "xj.");
}

static void waits_once(void *user)
{
  struct fixture *f = user;
  trace(f, 'w');
  f->code = mf_fiber_wait(mf_fiber_self(f->loop), 0);
  trace(f, 'e');
}

static void detached_before_and_after_the_end(void **state)
{
  struct fixture *f = *state;
  f->a = start(f, waits_once, f);
  f->b = start(f, say_x, f);
  settle(f);
  mf_fiber_detach(f->b);
  mf_fiber_detach(f->a);
  mf_fiber_wake(f->a);
  settle(f);
  assert_string_equal(f->trace, "wxe");
}

static void detaches_itself(void *user)
{
  struct fixture *f = user;
  struct mf_fiber *self = mf_fiber_self(f->loop);
  mf_fiber_detach(self);
  assert_int_equal(mf_fiber_sleep(self, 0), MF_OK);
  trace(f, 'd');
}

static void a_fiber_detaches_itself(void **state)
{
  struct fixture *f = *state;
  f->a = start(f, detaches_itself, f);
  settle(f);
  assert_string_equal(f->trace, "d");
}

/* Neither wakes nor a cancel end a join early, and neither is lost. */
static void joins_then_waits(void *user)
{
  struct fixture *f = user;
  struct mf_fiber *self = mf_fiber_self(f->loop);
  mf_fiber_join(self, f->b);
  trace(f, 'j');
  mf_fiber_shield(self);
  f->code = mf_fiber_wait(self, 0); /* the wake that was kept */
  mf_fiber_unshield(self);
  f->code2 = mf_fiber_wait(self, 0);
  trace(f, 'e');
}

static void a_join_is_not_interrupted(void **state)
{
  struct fixture *f = *state;
  f->b = start(f, waits_once, f);
  f->a = start(f, joins_then_waits, f);
  settle(f);
  mf_fiber_wake(f->a);
  mf_fiber_cancel(f->a);
  settle(f);
  assert_string_equal(f->trace, "w");
  mf_fiber_wake(f->b);
  settle(f);
  assert_string_equal(f->trace, "weje");
  assert_int_equal(f->code, MF_OK);
  assert_int_equal(f->code2, MF_E_CANCELLED);
  mf_fiber_detach(f->a);
}

/* ---- waking ---- */

static void waits_thrice(void *user)
{
  struct fixture *f = user;
  for (int i = 0; i < 3; i++) {
    assert_int_equal(mf_fiber_wait(mf_fiber_self(f->loop), 0), MF_OK);
    trace(f, (char)('1' + i));
  }
}

static void one_wake_is_remembered(void **state)
{
  struct fixture *f = *state;
  f->a = start(f, waits_thrice, f);
  mf_fiber_wake(f->a);
  mf_fiber_wake(f->a);
  settle(f);
  assert_string_equal(f->trace, "1");
  mf_fiber_wake(f->a);
  mf_fiber_wake(f->a);
  assert_string_equal(f->trace, "1"); /* from the loop */
  settle(f);
  assert_string_equal(f->trace, "12");
  mf_fiber_wake(f->a);
  settle(f);
  assert_string_equal(f->trace, "123");
  mf_fiber_detach(f->a);
}

static void pings(void *user)
{
  struct fixture *f = user;
  for (int i = 0; i < 3; i++) {
    trace(f, 'a');
    mf_fiber_wake(f->b);
    assert_int_equal(mf_fiber_wait(f->a, 0), MF_OK);
  }
}

static void pongs(void *user)
{
  struct fixture *f = user;
  for (int i = 0; i < 3; i++) {
    assert_int_equal(mf_fiber_wait(f->b, 0), MF_OK);
    trace(f, 'b');
    mf_fiber_wake(f->a);
  }
}

static void two_fibers_wake_each_other(void **state)
{
  struct fixture *f = *state;
  f->a = start(f, pings, f);
  f->b = start(f, pongs, f);
  settle(f);
  settle(f);
  assert_string_equal(f->trace, "ababab");
  mf_fiber_detach(f->a);
  mf_fiber_detach(f->b);
}

static void wakes_a_for_ever(void *user)
{
  struct fixture *f = user;
  do
    mf_fiber_wake(f->a);
  while (mf_fiber_wait(f->b, 0) == MF_OK);
}

static void wakes_b_for_ever(void *user)
{
  struct fixture *f = user;
  do
    mf_fiber_wake(f->b);
  while (mf_fiber_wait(f->a, 0) == MF_OK);
}

static void on_timer_stop(void *user)
{
  struct fixture *f = user;
  trace(f, 't');
  mf_fiber_cancel(f->a);
  mf_fiber_cancel(f->b);
  on_stop(f);
}

static void busy_fibers_starve_no_timer(void **state)
{
  struct fixture *f = *state;
  f->a = start(f, wakes_b_for_ever, f);
  f->b = start(f, wakes_a_for_ever, f);
  assert_int_equal(mf_timer_new(f->loop, on_timer_stop, f, &f->timer, NULL), MF_OK);
  mf_timer_arm(f->timer, mf_now_ns() + 5 * MF_NS_PER_MS);
  run(f);
  assert_string_equal(f->trace, "t");
  settle(f);
  mf_fiber_detach(f->a);
  mf_fiber_detach(f->b);
}

/* ---- time ---- */

static void waits_until(void *user)
{
  struct fixture *f = user;
  f->deadline_ns = mf_now_ns() + 3 * MF_NS_PER_MS;
  f->code = mf_fiber_wait(mf_fiber_self(f->loop), f->deadline_ns);
  f->woke_ns = mf_now_ns();
  on_stop(f);
}

static void a_deadline_ends_a_wait(void **state)
{
  struct fixture *f = *state;
  start_detached(f, waits_until, f, 0);
  run(f);
  assert_int_equal(f->code, MF_E_TIMEOUT);
  assert_true(f->woke_ns >= f->deadline_ns);
}

/* The timer of the first wait is left armed; it must end neither a later wait without a deadline nor one with a later
 * one. */
static void waits_short_then_long(void *user)
{
  struct fixture *f = user;
  struct mf_fiber *self = mf_fiber_self(f->loop);
  uint64_t first = mf_now_ns() + 5 * MF_NS_PER_MS;
  assert_int_equal(mf_fiber_wait(self, first), MF_OK); /* woken at once */
  f->deadline_ns = first + 5 * MF_NS_PER_MS;
  assert_int_equal(mf_fiber_wait(self, f->deadline_ns), MF_E_TIMEOUT);
  assert_true(mf_now_ns() >= f->deadline_ns);
  /* And an earlier one takes its place. */
  mf_fiber_wake(self);
  assert_int_equal(mf_fiber_wait(self, UINT64_MAX), MF_OK);
  mf_fiber_wake(self);
  assert_int_equal(mf_fiber_wait(self, 0), MF_OK);
  assert_int_equal(mf_fiber_wait(self, mf_now_ns() + MF_NS_PER_MS), MF_E_TIMEOUT);
  assert_int_equal(mf_fiber_wait(self, 1), MF_E_TIMEOUT);
  on_stop(f);
}

static void deadlines_follow_each_other(void **state)
{
  struct fixture *f = *state;
  f->a = start(f, waits_short_then_long, f);
  mf_fiber_wake(f->a);
  run(f);
  mf_fiber_detach(f->a);
}

static void sleeps(void *user)
{
  struct fixture *f = user;
  struct mf_fiber *self = mf_fiber_self(f->loop);
  f->deadline_ns = mf_now_ns() + 3 * MF_NS_PER_MS;
  f->code = mf_fiber_sleep(self, 3 * MF_NS_PER_MS);
  f->woke_ns = mf_now_ns();
  f->code2 = mf_fiber_wait(self, 0); /* the wake that came meanwhile */
  on_stop(f);
}

static void a_sleep_is_not_cut_by_a_wake(void **state)
{
  struct fixture *f = *state;
  f->a = start(f, sleeps, f);
  settle(f);
  mf_fiber_wake(f->a);
  run(f);
  assert_int_equal(f->code, MF_OK);
  assert_int_equal(f->code2, MF_OK);
  assert_true(f->woke_ns >= f->deadline_ns);
  mf_fiber_detach(f->a);
}

static void sleeps_for_ever(void *user)
{
  struct fixture *f = user;
  f->code = mf_fiber_sleep(mf_fiber_self(f->loop), UINT64_MAX);
}

static void a_sleep_is_cut_by_a_cancel(void **state)
{
  struct fixture *f = *state;
  f->a = start(f, sleeps_for_ever, f);
  settle(f);
  mf_fiber_cancel(f->a);
  settle(f);
  assert_int_equal(f->code, MF_E_CANCELLED);
  mf_fiber_detach(f->a);
}

/* ---- cancelling ---- */

static void waits_and_shields(void *user)
{
  struct fixture *f = user;
  struct mf_fiber *self = mf_fiber_self(f->loop);
  f->code = mf_fiber_wait(self, 0);
  assert_int_equal(mf_fiber_wait(self, 0), MF_E_CANCELLED); /* at once, each time */
  assert_int_equal(mf_fiber_sleep(self, UINT64_MAX), MF_E_CANCELLED);
  assert_true(mf_fiber_is_cancelled(self) && mf_fiber_must_unwind(self));
  trace(f, 'c');
  mf_fiber_shield(self);
  mf_fiber_shield(self);
  mf_fiber_unshield(self);
  f->code2 = mf_fiber_wait(self, 0);
  trace(f, 's');
  assert_int_equal(mf_fiber_wait(self, 1), MF_E_TIMEOUT);
  assert_int_equal(mf_fiber_sleep(self, 1), MF_OK);
  assert_true(mf_fiber_is_cancelled(self) && !mf_fiber_must_unwind(self));
  mf_fiber_unshield(self);
  assert_int_equal(mf_fiber_wait(self, 0), MF_E_CANCELLED);
  trace(f, 'e');
  on_stop(f);
}

static void cancel_and_shield(void **state)
{
  struct fixture *f = *state;
  f->a = start(f, waits_and_shields, f);
  settle(f);
  assert_false(mf_fiber_is_cancelled(f->a));
  mf_fiber_cancel(f->a);
  mf_fiber_cancel(f->a);
  settle(f);
  assert_int_equal(f->code, MF_E_CANCELLED);
  assert_string_equal(f->trace, "c");
  mf_fiber_cancel(f->a);
  settle(f);
  assert_string_equal(f->trace, "c");
  mf_fiber_wake(f->a);
  run(f);
  assert_int_equal(f->code2, MF_OK);
  assert_string_equal(f->trace, "cse");
  mf_fiber_detach(f->a);
}

static void cancelled_before_it_began(void **state)
{
  struct fixture *f = *state;
  f->a = start(f, waits_once, f);
  mf_fiber_cancel(f->a);
  settle(f);
  assert_string_equal(f->trace, "we");
  assert_int_equal(f->code, MF_E_CANCELLED);
  mf_fiber_detach(f->a);
}

/* A cancel is told before a wake that came as well, and the wake is still there for the clean-up. */
static void is_cancelled_and_woken(void *user)
{
  struct fixture *f = user;
  struct mf_fiber *self = mf_fiber_self(f->loop);
  f->code = mf_fiber_wait(self, 0);
  mf_fiber_shield(self);
  f->code2 = mf_fiber_wait(self, 0);
}

static void cancel_comes_before_wake(void **state)
{
  struct fixture *f = *state;
  f->a = start(f, is_cancelled_and_woken, f);
  settle(f);
  mf_fiber_wake(f->a);
  mf_fiber_cancel(f->a);
  settle(f);
  assert_int_equal(f->code, MF_E_CANCELLED);
  assert_int_equal(f->code2, MF_OK);
  mf_fiber_detach(f->a);
}

/* ---- stacks ---- */

static void waits_with_locals(void *user)
{
  struct fixture *f = user;
  struct mf_fiber *self = mf_fiber_self(f->loop);
  f->live++;
  volatile uint64_t own[16];
  for (uint64_t i = 0; i < 16; i++)
    own[i] = (uintptr_t)self + i;
  volatile double d = (double)(uintptr_t)self;
  assert_int_equal(mf_fiber_wait(self, 0), MF_E_CANCELLED);
  for (uint64_t i = 0; i < 16; i++)
    assert_true(own[i] == (uintptr_t)self + i);
  assert_true(d == (double)(uintptr_t)self);
  f->live--;
}

static void ten_thousand_at_a_time(void **state)
{
  struct fixture *f = *state;
  /* ThreadSanitizer counts each as a thread and has room for fewer; AddressSanitizer keeps megabytes for each. */
  size_t n = SANITIZED ? 1000 : 10000;
  struct mf_fiber **all = mf_xcalloc(n, sizeof(struct mf_fiber *));
  for (int round = 0; round < 2; round++) {
    for (size_t i = 0; i < n; i++)
      all[i] = start(f, waits_with_locals, f);
    settle(f);
    assert_int_equal(f->live, n);
    for (size_t i = 0; i < n; i++) {
      mf_fiber_detach(all[i]);
      mf_fiber_cancel(all[i]);
    }
    settle(f);
    assert_int_equal(f->live, 0);
  }
  free(all);
}

/* Each frame is used after the call, so that no compiler makes a loop of it. */
static __attribute__((noinline)) unsigned go_deep(unsigned depth)
{
  volatile char frame[1024];
  memset((char *)frame, (int)(depth & 0x7f), sizeof(frame));
  unsigned below = depth ? go_deep(depth - 1) : 0;
  return below + (unsigned char)frame[depth % sizeof(frame)];
}

static void goes_deep(void *user)
{
  unsigned *depth = user;
  unsigned sum = 0;
  for (unsigned i = 0; i <= *depth; i++)
    sum += i & 0x7f;
  assert_int_equal(go_deep(*depth), sum);
}

static void a_deep_stack(void **state)
{
  struct fixture *f = *state;
  unsigned depth = SANITIZED ? 60 : 200; /* sanitizers make frames larger */
  for (int i = 0; i < 3; i++) {
    start_detached(f, goes_deep, &depth, 0);
    settle(f);
  }
  unsigned deeper = depth * 30;
  start_detached(f, goes_deep, &deeper, 8 * 1024 * 1024);
  settle(f);
}

static void a_stack_that_no_machine_has(void **state)
{
  struct fixture *f = *state;
  struct mf_err err = { 0 };
  struct mf_fiber *none = NULL;
  assert_int_equal(mf_fiber_start(f->loop, say_x, f, (size_t)1 << 62, &none, &err), MF_E_SYS);
  assert_int_equal(mf_fiber_start(f->loop, say_x, f, SIZE_MAX, &none, &err), MF_E_INPUT);
  assert_null(none);
  settle(f);
  assert_int_equal(f->trace_n, 0);
}

/* What lies below a stack is not another fiber's: the process dies there. */
static void an_overflow_hits_the_guard(void **state)
{
  fflush(stdout);
  fflush(stderr);
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    /* Neither a core file nor a report of a sanitizer. */
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
    signal(SIGSEGV, SIG_DFL);
    (void)!freopen("/dev/null", "w", stderr);
    struct mf_loop *loop;
    unsigned depth = 2000000;
    if (mf_loop_new(&loop, NULL) == MF_OK && mf_fiber_start(loop, goes_deep, &depth, 0, NULL, NULL) == MF_OK)
      (void)!mf_loop_run(loop, NULL);
    _exit(0); /* still alive: the parent takes this for the failure it is */
  }
  int status = 0;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  if (!SANITIZED) {
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSEGV);
  } else {
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
  }
}

/* The rounding mode is the callee's to keep, so a fiber that changes it changes it for itself only. */
static void rounds_up(void *user)
{
  struct fixture *f = user;
  fesetround(FE_UPWARD);
  assert_int_equal(mf_fiber_sleep(mf_fiber_self(f->loop), 0), MF_OK);
  assert_int_equal(fegetround(), FE_UPWARD);
  trace(f, 'u');
}

static void looks_at_rounding(void *user)
{
  struct fixture *f = user;
  assert_int_equal(fegetround(), FE_TONEAREST);
  trace(f, 'n');
}

static void floating_point_control_is_kept(void **state)
{
  struct fixture *f = *state;
#if defined(__x86_64__)
  start_detached(f, rounds_up, f, 0);
  start_detached(f, looks_at_rounding, f, 0);
  settle(f);
  assert_int_equal(fegetround(), FE_TONEAREST);
  assert_string_equal(f->trace, "nu");
#else
  (void)f;
  (void)rounds_up;
  (void)looks_at_rounding;
  print_message("# only the x86-64 ABI has control bits that a callee keeps\n");
  skip();
#endif
}

#define FIBER_TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
  const struct CMUnitTest tests[] = {
    FIBER_TEST(starts_from_the_loop),
    FIBER_TEST(a_fiber_starts_a_fiber),
    FIBER_TEST(join_waits_for_the_end),
    FIBER_TEST(join_after_the_end),
    FIBER_TEST(detached_before_and_after_the_end),
    FIBER_TEST(a_fiber_detaches_itself),
    FIBER_TEST(a_join_is_not_interrupted),
    FIBER_TEST(one_wake_is_remembered),
    FIBER_TEST(two_fibers_wake_each_other),
    FIBER_TEST(busy_fibers_starve_no_timer),
    FIBER_TEST(a_deadline_ends_a_wait),
    FIBER_TEST(deadlines_follow_each_other),
    FIBER_TEST(a_sleep_is_not_cut_by_a_wake),
    FIBER_TEST(a_sleep_is_cut_by_a_cancel),
    FIBER_TEST(cancel_and_shield),
    FIBER_TEST(cancelled_before_it_began),
    FIBER_TEST(cancel_comes_before_wake),
    FIBER_TEST(ten_thousand_at_a_time),
    FIBER_TEST(a_deep_stack),
    FIBER_TEST(a_stack_that_no_machine_has),
    cmocka_unit_test(an_overflow_hits_the_guard),
    FIBER_TEST(floating_point_control_is_kept),
  };
  return cmocka_run_group_tests_name("loop/fiber", tests, NULL, NULL);
}

/* Fibers: life cycle, waiting, waking. Thread: the loop's. Neighbours: context.h changes stacks, the loop makes the
 * calls that resume. */
#include "loop/fiber.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/time.h"
#include "context.h"
#include "loop-internal.h"
#include "sanitizer.h"
#include "base/banned.h"

enum {
  STACK_BYTES = 256 * 1024,
  /* More than a page, so that a function with a large frame cannot step over it. */
  GUARD_BYTES = 64 * 1024,
};

struct mf_fiber {
  struct mf_loop *loop;
  mf_fiber_fn *fn;
  void *user;
  void *sp;
  struct mf_stack stack;
  struct mf_loop_call resume; /* in the loop's list while is_queued */
  /* Armed for timer_ns, at the latest for deadline_ns. A timer that was armed for an earlier wait stays armed: firing
   * once in vain is cheaper than changing it at each wait. */
  struct mf_timer *timer;
  uint64_t timer_ns, deadline_ns;
  struct mf_fiber *joiner;
  unsigned shield_n;
  bool is_queued, is_waiting;
  bool wakeable, cancellable; /* what ends the present wait */
  bool is_woken;              /* the one wake that is remembered */
  bool is_cancelled, is_timed_out, is_done, is_detached;
  void *fake_stack, *tsan_fiber;
};

/* ---- stacks ---- */

static enum mf_code map_stack(size_t bytes, struct mf_stack *ret, struct mf_err *err)
{
  bytes += GUARD_BYTES;
  char *base =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (base == MAP_FAILED)
    return mf_fail(err, MF_E_SYS, errno, "map a stack of %zu bytes", bytes);
  if (mprotect(base, GUARD_BYTES, PROT_NONE)) {
    int sys = errno;
    munmap(base, bytes);
    return mf_fail(err, MF_E_SYS, sys, "guard a stack");
  }
  *ret = (struct mf_stack){ base, bytes };
  return MF_OK;
}

static enum mf_code take_stack(struct mf_fiber_host *h, size_t bytes, struct mf_stack *ret, struct mf_err *err)
{
  if (bytes == STACK_BYTES && h->kept_n > 0) {
    *ret = h->kept[--h->kept_n];
    return MF_OK;
  }
  return map_stack(bytes, ret, err);
}

static void release_stack(struct mf_fiber_host *h, struct mf_stack *s)
{
  /* The last frame never returned. */
  mf_san_forget(s->base + GUARD_BYTES, s->bytes - GUARD_BYTES);
  if (s->bytes == STACK_BYTES + GUARD_BYTES && h->kept_n < MF_STACKS_KEPT)
    h->kept[h->kept_n++] = *s;
  else
    munmap(s->base, s->bytes);
  *s = (struct mf_stack){ 0 };
}

void mf_fiber_host_done(struct mf_fiber_host *h)
{
  assert(h->fiber_n == 0 && !h->current);
  while (h->kept_n > 0) {
    struct mf_stack s = h->kept[--h->kept_n];
    munmap(s.base, s.bytes);
  }
}

/* ---- changing over ---- */

static void free_fiber(struct mf_fiber *f)
{
  f->loop->fibers.fiber_n--;
  free(f);
}

static void queue(struct mf_fiber *f)
{
  if (f->is_queued)
    return;
  f->is_queued = true;
  mf_loop_calls_add(&f->loop->calls, &f->resume);
}

/* On the loop's stack: the fiber has returned from its function. */
static void bury(struct mf_fiber *f)
{
  mf_san_end_fiber(f->tsan_fiber);
  release_stack(&f->loop->fibers, &f->stack);
  f->timer = mf_timer_free(f->timer);
  if (f->joiner)
    mf_fiber_unpark(f->joiner);
  else if (f->is_detached)
    free_fiber(f);
}

static void on_resume(void *user)
{
  struct mf_fiber *f = user;
  struct mf_fiber_host *h = &f->loop->fibers;
  assert(!h->current && !f->is_done);
  f->is_queued = f->is_waiting = false;
  h->current = f;
  mf_san_leave(&h->fake_stack, f->stack.base + GUARD_BYTES, f->stack.bytes - GUARD_BYTES);
  h->tsan_fiber = mf_san_change_fiber(f->tsan_fiber);
  mf_context_switch(&h->sp, f->sp);
  mf_san_arrive(h->fake_stack, NULL, NULL);
  h->current = NULL;
  if (f->is_done)
    bury(f);
}

/* From the fiber's stack to the loop's. */
static void leave(struct mf_fiber *f)
{
  struct mf_fiber_host *h = &f->loop->fibers;
  mf_san_leave(f->is_done ? NULL : &f->fake_stack, h->bottom, h->bytes);
  mf_san_change_fiber(h->tsan_fiber);
  mf_context_switch(&f->sp, h->sp);
  /* Back again. The loop may run on another thread by now; its stack is another then. */
  mf_san_arrive(f->fake_stack, &h->bottom, &h->bytes);
}

static void enter(void *arg)
{
  struct mf_fiber *f = arg;
  mf_san_arrive(NULL, &f->loop->fibers.bottom, &f->loop->fibers.bytes);
  f->fn(f->user);
  f->is_done = true;
  leave(f);
  abort();
}

static void on_timer(void *user)
{
  struct mf_fiber *f = user;
  f->timer_ns = 0;
  if (!f->is_waiting || f->deadline_ns == 0)
    return;
  if (mf_now_ns() < f->deadline_ns) {
    f->timer_ns = f->deadline_ns;
    mf_timer_arm(f->timer, f->timer_ns);
    return;
  }
  f->is_timed_out = true;
  queue(f);
}

/* ---- life ---- */

enum mf_code mf_fiber_start(struct mf_loop *loop, mf_fiber_fn *fn, void *user, size_t stack_bytes,
                            struct mf_fiber **ret, struct mf_err *err)
{
  enum { PAGE = 65536 }; /* a multiple of every page size we meet */
  if (stack_bytes > SIZE_MAX / 2)
    return mf_fail(err, MF_E_INPUT, 0, "a stack of %zu bytes", stack_bytes);
  size_t bytes = stack_bytes ? (stack_bytes + PAGE - 1) / PAGE * PAGE : STACK_BYTES;
  struct mf_stack stack;
  enum mf_code code = take_stack(&loop->fibers, bytes, &stack, err);
  if (code)
    return mf_wrap(err, code, "start fiber");

  struct mf_fiber *f = mf_xcalloc(1, sizeof(*f));
  *f = (struct mf_fiber){ .loop = loop, .fn = fn, .user = user, .stack = stack, .is_detached = !ret };
  f->resume = (struct mf_loop_call){ .fn = on_resume, .user = f };
  loop->fibers.fiber_n++;
  code = mf_timer_new(loop, on_timer, f, &f->timer, err);
  if (code) {
    release_stack(&loop->fibers, &f->stack);
    free_fiber(f);
    return mf_wrap(err, code, "start fiber");
  }
  f->sp = mf_context_make(stack.base + stack.bytes, enter, f);
  f->tsan_fiber = mf_san_new_fiber();
  queue(f);
  if (ret)
    *ret = f;
  return MF_OK;
}

struct mf_fiber *mf_fiber_self(struct mf_loop *loop)
{
  return loop->fibers.current;
}

struct mf_loop *mf_fiber_loop(const struct mf_fiber *f)
{
  return f->loop;
}

void mf_fiber_join(struct mf_fiber *self, struct mf_fiber *other)
{
  assert(self != other && self->loop == other->loop && !other->joiner && !other->is_detached);
  other->joiner = self;
  while (!other->is_done)
    mf_fiber_park(self);
  free_fiber(other);
}

void mf_fiber_detach(struct mf_fiber *f)
{
  assert(!f->joiner && !f->is_detached);
  f->is_detached = true;
  /* One that detaches itself is freed when it has ended. */
  if (f->is_done)
    free_fiber(f);
}

/* ---- waiting and waking ---- */

static void wait_here(struct mf_fiber *self)
{
  assert(self->loop->fibers.current == self);
  self->is_waiting = true;
  leave(self);
  self->wakeable = self->cancellable = false;
  self->deadline_ns = 0;
}

void mf_fiber_park(struct mf_fiber *self)
{
  wait_here(self);
}

void mf_fiber_unpark(struct mf_fiber *f)
{
  if (f->is_waiting)
    queue(f);
}

bool mf_fiber_must_unwind(const struct mf_fiber *f)
{
  return f->is_cancelled && f->shield_n == 0;
}

static void wait_until(struct mf_fiber *self, uint64_t deadline_ns, bool wakeable)
{
  self->is_timed_out = false;
  self->wakeable = wakeable;
  self->cancellable = self->shield_n == 0;
  self->deadline_ns = deadline_ns;
  if (deadline_ns && (self->timer_ns == 0 || self->timer_ns > deadline_ns)) {
    self->timer_ns = deadline_ns;
    mf_timer_arm(self->timer, deadline_ns);
  }
  wait_here(self);
}

enum mf_code mf_fiber_wait(struct mf_fiber *self, uint64_t deadline_ns)
{
  if (mf_fiber_must_unwind(self))
    return MF_E_CANCELLED;
  if (!self->is_woken) {
    wait_until(self, deadline_ns, true);
    if (mf_fiber_must_unwind(self))
      return MF_E_CANCELLED;
  }
  if (self->is_woken) {
    self->is_woken = false;
    return MF_OK;
  }
  return self->is_timed_out ? MF_E_TIMEOUT : MF_OK;
}

enum mf_code mf_fiber_sleep(struct mf_fiber *self, uint64_t ns)
{
  uint64_t now = mf_now_ns();
  uint64_t deadline_ns = ns < UINT64_MAX - now ? now + ns : UINT64_MAX;
  do {
    if (mf_fiber_must_unwind(self))
      return MF_E_CANCELLED;
    wait_until(self, deadline_ns, false);
  } while (!self->is_timed_out);
  return mf_fiber_must_unwind(self) ? MF_E_CANCELLED : MF_OK;
}

void mf_fiber_wake(struct mf_fiber *f)
{
  f->is_woken = true;
  if (f->is_waiting && f->wakeable)
    queue(f);
}

void mf_fiber_cancel(struct mf_fiber *f)
{
  f->is_cancelled = true;
  if (f->is_waiting && f->cancellable)
    queue(f);
}

bool mf_fiber_is_cancelled(const struct mf_fiber *f)
{
  return f->is_cancelled;
}

void mf_fiber_shield(struct mf_fiber *self)
{
  self->shield_n++;
}

void mf_fiber_unshield(struct mf_fiber *self)
{
  assert(self->shield_n > 0);
  self->shield_n--;
}

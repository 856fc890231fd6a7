/* mf_loop over libevent_core. Thread: the one that owns the loop; libevent is told to take no locks.
 *
 * Neighbours see no libevent type. */
#include "loop/loop.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <pthread.h>
#include <string.h>

#include "base/log.h"
#include "base/time.h"
#include "loop-internal.h"
#include "base/banned.h"

struct mf_watch {
  struct mf_loop *loop;
  struct event *event;
  int fd;
  unsigned events;
  mf_watch_fn *fn;
  void *user;
};

struct mf_timer {
  struct mf_loop *loop;
  struct event *event;
  uint64_t deadline_ns;
  mf_timer_fn *fn;
  void *user;
};

/* libevent fails to change a registered event only when memory (ours or the kernel's) has run out; going on would
 * mean to wait for an event that never comes. */
static MF_NORETURN void die(const char *what)
{
  mf_log(MF_LOG_ERROR, "event loop: cannot %s: %s", what, strerrordesc_np(errno));
  abort();
}

/* ---- the loop ---- */

/* libevent would print to standard error itself. Its warnings describe errors that we return as well. */
static void on_libevent_log(int severity, const char *msg)
{
  mf_log(severity == EVENT_LOG_ERR ? MF_LOG_ERROR : MF_LOG_DEBUG, "libevent: %s", msg);
}

static void set_up_libevent(void)
{
  event_set_log_callback(on_libevent_log);
}

void mf_loop_calls_drop(struct mf_loop_calls *l)
{
  struct mf_loop_call *c;
  while ((c = mf_loop_calls_take(l)))
    if (c->is_heap)
      free(c);
}

/* Only what is there at the start is called. What these calls defer waits for the next turn, so that a chain of them
 * cannot starve descriptors. A stop leaves the rest in the list. */
static void make_calls(struct mf_loop *loop)
{
  struct mf_loop_calls *l = &loop->calls;
  struct mf_loop_call **end = l->last_next;
  while (l->first && !loop->stop_asked) {
    struct mf_loop_call *c = mf_loop_calls_take(l);
    /* The call may be gone when fn returns. */
    bool is_last = &c->next == end;
    mf_timer_fn *fn = c->fn;
    void *arg = c->user;
    if (c->is_heap)
      free(c);
    fn(arg);
    if (is_last)
      break;
  }
}

enum mf_code mf_loop_new(struct mf_loop **ret, struct mf_err *err)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, set_up_libevent);
  struct event_config *config = event_config_new();
  if (!config)
    return mf_fail(err, MF_E_SYS, ENOMEM, "create event loop");
  /* Deadlines are compared with mf_now_ns, so libevent must read the same clock and must not work with the time it
   * read at the start of the turn. */
  int failed = event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK | EVENT_BASE_FLAG_PRECISE_TIMER |
                                                 EVENT_BASE_FLAG_NO_CACHE_TIME | EVENT_BASE_FLAG_IGNORE_ENV);
  struct event_base *base = failed ? NULL : event_base_new_with_config(config);
  event_config_free(config);
  if (!base)
    return mf_fail(err, MF_E_SYS, errno, "create event loop");

  struct mf_loop *loop = mf_xcalloc(1, sizeof(*loop));
  loop->base = base;
  mf_loop_calls_init(&loop->calls);
  enum mf_code code = mf_mailbox_init(loop, err);
  if (code) {
    mf_loop_free(loop);
    return mf_wrap(err, code, "create event loop");
  }
  *ret = loop;
  return MF_OK;
}

void mf_loop_free(struct mf_loop *loop)
{
  if (!loop)
    return;
  assert(!loop->is_running);
  mf_mailbox_done(loop);
  assert(loop->object_n == 0);
  mf_loop_calls_drop(&loop->calls);
  mf_fiber_host_done(&loop->fibers);
  event_base_free(loop->base);
  free(loop);
}

enum mf_code mf_loop_run(struct mf_loop *loop, struct mf_err *err)
{
  assert(!loop->is_running);
  int failed = 0;
  loop->is_running = true;
  /* One turn at a time, so that what a batch of callbacks woke runs right after it, without asking the kernel again.
   * The flag is ours because libevent forgets a break that was asked for before the loop runs. */
  while (!loop->stop_asked && !failed) {
    int flags = EVLOOP_ONCE | EVLOOP_NO_EXIT_ON_EMPTY | (loop->calls.first ? EVLOOP_NONBLOCK : 0);
    failed = event_base_loop(loop->base, flags) < 0;
    make_calls(loop);
  }
  loop->is_running = false;
  loop->stop_asked = false;
  if (failed)
    return mf_fail(err, MF_E_SYS, errno, "run event loop");
  return MF_OK;
}

void mf_loop_stop(struct mf_loop *loop)
{
  loop->stop_asked = true;
  if (loop->is_running)
    event_base_loopbreak(loop->base);
}

enum mf_code mf_loop_defer(struct mf_loop *loop, mf_timer_fn *fn, void *user, struct mf_err *err)
{
  struct mf_loop_call *c = mf_xcalloc(1, sizeof(*c));
  *c = (struct mf_loop_call){ .fn = fn, .user = user, .is_heap = true };
  mf_loop_calls_add(&loop->calls, c);
  return MF_OK;
}

/* ---- watches ---- */

static short to_libevent(unsigned events)
{
  return (short)((events & MF_WATCH_READ ? EV_READ : 0) | (events & MF_WATCH_WRITE ? EV_WRITE : 0) | EV_PERSIST);
}

static void on_watch(evutil_socket_t fd, short what, void *user)
{
  struct mf_watch *w = user;
  /* libevent reports hang-up and error as both, cut to what is watched. The call may free w. */
  unsigned events = (what & EV_READ ? MF_WATCH_READ : 0u) | (what & EV_WRITE ? MF_WATCH_WRITE : 0u);
  w->fn(w->user, events);
}

enum mf_code mf_watch_new(struct mf_loop *loop, int fd, unsigned events, mf_watch_fn *fn, void *user,
                          struct mf_watch **ret, struct mf_err *err)
{
  struct mf_watch *w = mf_xcalloc(1, sizeof(*w));
  *w = (struct mf_watch){ .loop = loop, .fd = fd, .events = events, .fn = fn, .user = user };
  loop->object_n++;
  w->event = event_new(loop->base, fd, to_libevent(events), on_watch, w);
  if (!w->event) {
    mf_watch_free(w);
    return mf_fail(err, MF_E_SYS, ENOMEM, "watch descriptor %d", fd);
  }
  if (events && event_add(w->event, NULL)) {
    int sys = errno;
    mf_watch_free(w);
    return mf_fail(err, MF_E_SYS, sys, "watch descriptor %d", fd);
  }
  *ret = w;
  return MF_OK;
}

void mf_watch_set(struct mf_watch *w, unsigned events)
{
  if (events == w->events)
    return;
  if (event_del(w->event) || event_assign(w->event, w->loop->base, w->fd, to_libevent(events), on_watch, w) ||
      (events && event_add(w->event, NULL)))
    die("change a watch");
  w->events = events;
}

struct mf_watch *mf_watch_free(struct mf_watch *w)
{
  if (!w)
    return NULL;
  w->loop->object_n--;
  if (w->event)
    event_free(w->event);
  free(w);
  return NULL;
}

/* ---- timers ---- */

static void start_timer(struct mf_timer *t, uint64_t now_ns)
{
  uint64_t wait_us = t->deadline_ns > now_ns ? (t->deadline_ns - now_ns + 999) / 1000 : 0;
  /* About 31 years; "never" as UINT64_MAX must not overflow libevent's sums. */
  wait_us = MF_MIN(wait_us, 1000000000000000ull);
  struct timeval tv = { (time_t)(wait_us / 1000000), (suseconds_t)(wait_us % 1000000) };
  if (event_add(t->event, &tv))
    die("arm a timer");
}

static void on_timer(evutil_socket_t fd, short what, void *user)
{
  struct mf_timer *t = user;
  uint64_t now_ns = mf_now_ns();
  /* Never early: what the deadline promises is compared with the clock it was made from. */
  if (now_ns < t->deadline_ns)
    start_timer(t, now_ns);
  else
    t->fn(t->user);
}

enum mf_code mf_timer_new(struct mf_loop *loop, mf_timer_fn *fn, void *user, struct mf_timer **ret, struct mf_err *err)
{
  struct mf_timer *t = mf_xcalloc(1, sizeof(*t));
  *t = (struct mf_timer){ .loop = loop, .fn = fn, .user = user };
  loop->object_n++;
  t->event = event_new(loop->base, -1, 0, on_timer, t);
  if (!t->event) {
    mf_timer_free(t);
    return mf_fail(err, MF_E_SYS, ENOMEM, "create timer");
  }
  *ret = t;
  return MF_OK;
}

void mf_timer_arm(struct mf_timer *t, uint64_t deadline_ns)
{
  t->deadline_ns = deadline_ns;
  start_timer(t, mf_now_ns());
}

void mf_timer_disarm(struct mf_timer *t)
{
  event_del(t->event);
}

struct mf_timer *mf_timer_free(struct mf_timer *t)
{
  if (!t)
    return NULL;
  t->loop->object_n--;
  if (t->event)
    event_free(t->event);
  free(t);
  return NULL;
}

/* What the nouns of this room know of each other: the loop, the list of calls to make, the fibers' host, the mailbox.
 */
#ifndef MF_LOOP_INTERNAL_H
#define MF_LOOP_INTERNAL_H

#include <pthread.h>

#include "loop/fiber.h"
#include "loop/loop.h"
#include "loop/work.h"

struct event_base;

/* A call to make. It lives in whoever asks for it, or on the heap. */
struct mf_loop_call {
  struct mf_loop_call *next;
  mf_timer_fn *fn;
  void *user;
  bool is_heap; /* freed before the call is made */
};
struct mf_loop_calls {
  struct mf_loop_call *first, **last_next;
};

static inline void mf_loop_calls_init(struct mf_loop_calls *l)
{
  l->first = NULL;
  l->last_next = &l->first;
}
static inline void mf_loop_calls_add(struct mf_loop_calls *l, struct mf_loop_call *c)
{
  c->next = NULL;
  *l->last_next = c;
  l->last_next = &c->next;
}
static inline struct mf_loop_call *mf_loop_calls_take(struct mf_loop_calls *l)
{
  struct mf_loop_call *c = l->first;
  if (c) {
    l->first = c->next;
    if (!l->first)
      l->last_next = &l->first;
  }
  return c;
}
void mf_loop_calls_drop(struct mf_loop_calls *l); /* calls nobody; frees those of the heap */

/* Stacks of the default size, kept for the next fiber. */
struct mf_stack {
  char *base; /* guard and stack */
  size_t bytes;
};
enum { MF_STACKS_KEPT = 64 };

struct mf_fiber_host {
  struct mf_fiber *current;
  void *sp;         /* where the loop's own stack stands while a fiber runs */
  unsigned fiber_n; /* those whose memory is not back */
  struct mf_stack kept[MF_STACKS_KEPT];
  unsigned kept_n;
  /* What the sanitizers want to know of the loop's own stack; unused without them. */
  void *fake_stack, *tsan_fiber;
  const void *bottom;
  size_t bytes;
};

/* The only thing here that other threads touch; `lock` guards `calls`. */
struct mf_mailbox {
  int event_fd;
  pthread_mutex_t lock;
  struct mf_loop_calls calls;
  struct mf_watch *watch;
};

struct mf_loop {
  struct event_base *base;
  struct mf_loop_calls calls; /* to make after the current callback */
  unsigned object_n;          /* watches and timers that were not freed */
  bool is_running, stop_asked;
  struct mf_fiber_host fibers;
  struct mf_mailbox mailbox;
};

void mf_fiber_host_done(struct mf_fiber_host *h);
MF_MUST_USE enum mf_code mf_mailbox_init(struct mf_loop *loop, struct mf_err *err);
void mf_mailbox_done(struct mf_loop *loop);
/* mf_mailbox_post with the caller's memory. Thread: any. */
void mf_mailbox_add(struct mf_loop *loop, struct mf_loop_call *c);

/* Waits for mf_fiber_unpark and nothing else: neither wake (kept for the next wait) nor cancel nor time. */
void mf_fiber_park(struct mf_fiber *self);
void mf_fiber_unpark(struct mf_fiber *f);

#endif

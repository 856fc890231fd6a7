/* The mailbox: how other threads call something on the loop. An eventfd wakes the loop when the list was empty. */
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "loop-internal.h"
#include "base/banned.h"

static void on_mail(void *user, unsigned events)
{
  struct mf_loop *loop = user;
  struct mf_mailbox *m = &loop->mailbox;
  eventfd_t n;
  (void)eventfd_read(m->event_fd, &n);

  /* All go behind what the loop has to call already, so that a stop leaves the rest for the next run. Posts that come
   * while these are called write to the eventfd again. */
  pthread_mutex_lock(&m->lock);
  if (m->calls.first) {
    *loop->calls.last_next = m->calls.first;
    loop->calls.last_next = m->calls.last_next;
    mf_loop_calls_init(&m->calls);
  }
  pthread_mutex_unlock(&m->lock);
}

enum mf_code mf_mailbox_init(struct mf_loop *loop, struct mf_err *err)
{
  struct mf_mailbox *m = &loop->mailbox;
  mf_loop_calls_init(&m->calls);
  pthread_mutex_init(&m->lock, NULL);
  m->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (m->event_fd < 0)
    return mf_fail(err, MF_E_SYS, errno, "create the loop's mailbox");
  return mf_watch_new(loop, m->event_fd, MF_WATCH_READ, on_mail, loop, &m->watch, err);
}

void mf_mailbox_done(struct mf_loop *loop)
{
  struct mf_mailbox *m = &loop->mailbox;
  m->watch = mf_watch_free(m->watch);
  mf_loop_calls_drop(&m->calls);
  pthread_mutex_destroy(&m->lock);
  mf_close_ptr(&m->event_fd);
}

void mf_mailbox_add(struct mf_loop *loop, struct mf_loop_call *c)
{
  struct mf_mailbox *m = &loop->mailbox;
  pthread_mutex_lock(&m->lock);
  bool was_empty = !m->calls.first;
  mf_loop_calls_add(&m->calls, c);
  /* Under the lock: once the call can be taken, its receiver may end the loop and close the descriptor. */
  if (was_empty)
    (void)eventfd_write(m->event_fd, 1);
  pthread_mutex_unlock(&m->lock);
}

void mf_mailbox_post(struct mf_loop *loop, void (*fn)(void *user), void *user)
{
  struct mf_loop_call *c = mf_xcalloc(1, sizeof(*c));
  *c = (struct mf_loop_call){ .fn = fn, .user = user, .is_heap = true };
  mf_mailbox_add(loop, c);
}

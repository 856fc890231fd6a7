/* Signals into the loop. Handlers rather than a signalfd: a blocked mask would be inherited by what we exec. */
#include "signals.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/time.h"

#include "base/banned.h"

#define ECHO_NS (200 * MF_NS_PER_MS)

/* The fatal-signal flag, one of the two named exceptions to "no globals": a handler has no other way. */
static volatile sig_atomic_t first_signal;
static volatile uint64_t first_ns;
static volatile sig_atomic_t wake_fd = -1;

static const int caught[] = { SIGINT, SIGTERM, SIGHUP };

struct mf_signals {
  void (*fn)(void *user, int sig);
  void *user;
  int fd;
  struct mf_watch *watch;
};

static void on_signal(int sig)
{
  int saved = errno;
  uint64_t now = mf_now_ns(); /* clock_gettime is async-signal-safe */
  if (first_signal == 0) {
    first_signal = sig;
    first_ns = now;
    uint64_t one = 1;
    (void)!write((int)wake_fd, &one, sizeof(one));
  } else if (now - first_ns > ECHO_NS) {
    _exit(128 + sig);
  }
  errno = saved;
}

static void on_wake(void *user, unsigned events)
{
  struct mf_signals *s = user;
  uint64_t n;
  (void)events;
  if (read(s->fd, &n, sizeof(n)) == (ssize_t)sizeof(n))
    s->fn(s->user, (int)first_signal);
}

static void set_handlers(void (*handler)(int))
{
  struct sigaction sa = { .sa_handler = handler }; /* no SA_RESTART: a waiting write must come back to the loop */
  sigemptyset(&sa.sa_mask);
  for (size_t i = 0; i < MF_ARRAY_N(caught); i++) {
    struct sigaction old;
    /* nohup and shells without job control ignore on purpose. */
    if (sigaction(caught[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
      (void)sigaction(caught[i], &sa, NULL);
  }
}

enum mf_code mf_signals_new(struct mf_loop *loop, void (*fn)(void *user, int sig), void *user, struct mf_signals **ret,
                            struct mf_err *err)
{
  struct mf_signals *s = mf_xcalloc(1, sizeof(*s));
  s->fn = fn;
  s->user = user;
  s->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  enum mf_code code = s->fd < 0 ? mf_fail(err, MF_E_SYS, errno, "eventfd") : MF_OK;
  if (code == MF_OK)
    code = mf_watch_new(loop, s->fd, MF_WATCH_READ, on_wake, s, &s->watch, err);
  if (code != MF_OK) {
    mf_signals_free(s);
    return code;
  }
  first_signal = 0;
  wake_fd = s->fd;
  set_handlers(on_signal);
  *ret = s;
  return MF_OK;
}

struct mf_signals *mf_signals_free(struct mf_signals *s)
{
  if (!s)
    return NULL;
  if ((int)wake_fd == s->fd && s->fd >= 0) {
    set_handlers(SIG_DFL);
    wake_fd = -1;
  }
  mf_watch_free(s->watch);
  mf_close_ptr(&s->fd);
  free(s);
  return NULL;
}

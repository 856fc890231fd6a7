/* What a guest may ask of the world: the time, chance, to write, to sleep, to end. */
#include "host.h"

#include <errno.h>
#include <sys/random.h>
#include <time.h>

#include "base/compiler.h"
#include "base/time.h"
#include "wasm/abi.h"
#include "base/banned.h"

#define RANDOM_CHUNK_N (1u << 20) /* between two looks at the clock */

uint8_t *mf_host_at(struct mf_host_view memory, uint32_t ptr, uint64_t n)
{
  /* Both are below 2^33 here, so the difference cannot wrap. */
  if (ptr > memory.n || n > memory.n - ptr)
    return NULL;
  return memory.ptr + ptr;
}

static bool is_late(struct mf_host *h)
{
  if (mf_now_ns() < h->deadline_ns)
    return false;
  h->end = MF_HOST_WALL;
  return true;
}

static uint64_t clock_ns(clockid_t id)
{
  struct timespec t;
  if (clock_gettime(id, &t) != 0)
    return 0;
  return (uint64_t)t.tv_sec * MF_NS_PER_S + (uint64_t)t.tv_nsec;
}

uint64_t mf_host_cpu_ns(void)
{
  return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

int64_t mf_host_clock(const struct mf_host *h, int32_t id)
{
  switch (id) {
  case MF_GUEST_CLOCK_REALTIME:
    return (int64_t)clock_ns(CLOCK_REALTIME);
  case MF_GUEST_CLOCK_MONOTONIC:
    return (int64_t)clock_ns(CLOCK_MONOTONIC);
  case MF_GUEST_CLOCK_CPUTIME:
    return (int64_t)(mf_host_cpu_ns() - h->cpu_base_ns);
  default:
    return -1;
  }
}

int32_t mf_host_random(struct mf_host *h, struct mf_host_view memory, int32_t ptr, int32_t n)
{
  size_t left = (uint32_t)n;
  uint8_t *at = mf_host_at(memory, (uint32_t)ptr, left);
  if (!at)
    return MF_GUEST_EFAULT;
  while (left > 0) {
    ssize_t got = getrandom(at, MF_MIN(left, (size_t)RANDOM_CHUNK_N), 0);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0) {
      h->end = MF_HOST_BROKEN;
      break;
    }
    at += got;
    left -= (size_t)got;
    /* It costs no fuel, and gigabytes take long. */
    if (left > 0 && is_late(h))
      break;
  }
  return 0;
}

static void send_some(struct mf_host *h, bool is_stderr, const void *p, size_t n, bool is_dropped)
{
  switch (h->sink(h->user, is_stderr, p, n, is_dropped, h->deadline_ns)) {
  case MF_SENT:
    return;
  case MF_SENT_LATE:
    h->end = MF_HOST_WALL;
    return;
  case MF_SENT_NEVER:
    h->end = MF_HOST_BROKEN;
    return;
  }
}

int32_t mf_host_write(struct mf_host *h, struct mf_host_view memory, int32_t fd, int32_t ptr, int32_t n)
{
  if (fd != 1 && fd != 2)
    return -MF_GUEST_EBADF;
  /* A length that the answer cannot hold is nothing that a C library asks for. */
  uint8_t *at = n < 0 ? NULL : mf_host_at(memory, (uint32_t)ptr, (uint32_t)n);
  if (!at)
    return -MF_GUEST_EFAULT;
  if (n == 0)
    return 0;
  struct mf_host_stream *s = &h->streams[fd - 1];
  size_t keep = (size_t)MF_MIN((uint64_t)n, s->left);
  bool drops = keep < (size_t)n;
  bool is_news = drops && !s->is_dropped;
  s->left -= keep;
  s->is_dropped = s->is_dropped || drops;
  if (keep > 0 || is_news)
    send_some(h, fd == 2, at, keep, drops);
  bool is_past_cap = drops || s->left < h->spare_n;
  if (is_past_cap && h->stop_on_output && h->end == MF_HOST_RUNS)
    h->end = MF_HOST_OUTPUT;
  return n;
}

void mf_host_sleep(struct mf_host *h, int64_t ns)
{
  uint64_t now = mf_now_ns();
  if (ns <= 0 || now >= h->deadline_ns) {
    (void)is_late(h);
    return;
  }
  uint64_t until = MF_MIN(h->deadline_ns, (uint64_t)ns > h->deadline_ns - now ? h->deadline_ns : now + (uint64_t)ns);
  const struct timespec t = { .tv_sec = (time_t)(until / MF_NS_PER_S), .tv_nsec = (long)(until % MF_NS_PER_S) };
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
    ;
  (void)is_late(h);
}

void mf_host_exit(struct mf_host *h, int32_t code)
{
  h->exit_code = code & 0xff;
  h->end = MF_HOST_EXITED;
}

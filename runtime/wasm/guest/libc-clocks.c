/* The C library's clocks, put in the place of its own: there the id of a clock is a pointer, which it follows, and a
 * program of Python may give any number. */
#include <errno.h>
#include <time.h>

#include "guest.h"

/* -1: there is no such clock. */
static int clock_of(clockid_t id)
{
  if (id == CLOCK_REALTIME)
    return MF_GUEST_CLOCK_REALTIME;
  if (id == CLOCK_PROCESS_CPUTIME_ID || id == CLOCK_THREAD_CPUTIME_ID)
    return MF_GUEST_CLOCK_CPUTIME;
  return id == CLOCK_MONOTONIC ? MF_GUEST_CLOCK_MONOTONIC : -1;
}

int clock_gettime(clockid_t id, struct timespec *ret)
{
  int clock = clock_of(id);
  if (clock < 0) {
    errno = EINVAL;
    return -1;
  }
  uint64_t ns = mfg_clock_ns(clock);
  *ret = (struct timespec){ .tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u) };
  return 0;
}

int clock_getres(clockid_t id, struct timespec *ret)
{
  if (clock_of(id) < 0) {
    errno = EINVAL;
    return -1;
  }
  if (ret)
    *ret = (struct timespec){ .tv_nsec = 1 };
  return 0;
}

/* The two clocks. Thread: any. */
#include "base/time.h"

#include <stdio.h>
#include <time.h>

#include "base/banned.h"

uint64_t mf_now_ns(void)
{
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (uint64_t)ts.tv_sec * MF_NS_PER_S + (uint64_t)ts.tv_nsec;
}

uint64_t mf_wall_ms(void)
{
  struct timespec ts;
  clock_gettime(CLOCK_REALTIME, &ts);
  return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / MF_NS_PER_MS;
}

void mf_wall_format(uint64_t wall_ms, char ret[32])
{
  /* RFC 3339 has four digits for the year; what lies beyond is shown as the last moment that fits. */
  const uint64_t last_ms = 253402300799999ull;
  if (wall_ms > last_ms)
    wall_ms = last_ms;
  time_t s = (time_t)(wall_ms / 1000);
  struct tm tm;
  gmtime_r(&s, &tm);
  /* The remainders change nothing; they tell the compiler that every part fits. */
  snprintf(ret, 32, "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ", (unsigned)(tm.tm_year + 1900) % 10000,
           (unsigned)(tm.tm_mon + 1) % 100, (unsigned)tm.tm_mday % 100, (unsigned)tm.tm_hour % 100,
           (unsigned)tm.tm_min % 100, (unsigned)tm.tm_sec % 100, (unsigned)(wall_ms % 1000));
}

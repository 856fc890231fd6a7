/* Time: monotonic nanoseconds inside; wall clock only in API output. */
#ifndef MF_BASE_TIME_H
#define MF_BASE_TIME_H

#include <stdint.h>

#define MF_NS_PER_MS 1000000ull
#define MF_NS_PER_S 1000000000ull

uint64_t mf_now_ns(void);  /* CLOCK_MONOTONIC */
uint64_t mf_wall_ms(void); /* CLOCK_REALTIME, Unix epoch */
/* RFC 3339 UTC with milliseconds, "2026-01-02T03:04:05.678Z". */
void mf_wall_format(uint64_t wall_ms, char ret[32]);

#endif

/* The five functions of the host (../abi.h). */
#include "guest.h"

#include <string.h>

#define IMPORT(name) __attribute__((import_module(MF_GUEST_MODULE), import_name(name)))

IMPORT("clock") int64_t host_clock(int32_t id);
IMPORT("random") int32_t host_random(void *to, int32_t n);
IMPORT("write") int32_t host_write(int32_t fd, const void *data, int32_t n);
IMPORT("sleep") void host_sleep(int64_t ns);
IMPORT("exit") void host_exit(int32_t code);

#define BUILD_TIME_NS 1735689600000000000ull /* 2025-01-01 */

static bool is_begun;

void mfg_host_begin(void)
{
  is_begun = true;
}

uint64_t mfg_clock_ns(int id)
{
  int64_t ns = is_begun ? host_clock(id) : (int64_t)BUILD_TIME_NS;
  return ns < 0 ? 0 : (uint64_t)ns;
}

int mfg_random(void *to, size_t n)
{
  if (is_begun)
    return n <= INT32_MAX && host_random(to, (int32_t)n) == 0 ? 0 : -1;
  for (size_t i = 0; i < n; i++)
    ((uint8_t *)to)[i] = (uint8_t)(i * 167 + 13);
  return 0;
}

int32_t mfg_write(int fd, const void *data, uint32_t n)
{
  if (!is_begun && fd == 1)
    return (int32_t)n; /* rehearsals; what goes wrong is told on 2 */
  return host_write(fd, data, (int32_t)(n <= INT32_MAX ? n : INT32_MAX));
}

void mfg_sleep(uint64_t ns)
{
  if (is_begun)
    host_sleep(ns <= INT64_MAX ? (int64_t)ns : INT64_MAX);
}

void mfg_exit(int code)
{
  host_exit(code);
  __builtin_trap();
}

void mfg_die(const char *where, const char *why)
{
  const char *parts[] = { "guest: ", where, ": ", why ? why : "failed", "\n" };
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    mfg_write(2, parts[i], (uint32_t)strlen(parts[i]));
  __builtin_trap();
}

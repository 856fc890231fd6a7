/* The C library's searches for a byte, sixteen at a time: bytes.find, splitting text and Python's own tokenizer spend
 * their time there. A load of sixteen bytes from an address that sixteen divides never leaves the memory. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <wasm_simd128.h>

#define STEP 16u
#define SIMD __attribute__((target("simd128")))

/* A bit for each of the sixteen bytes at `at` that is `wanted`. */
SIMD static inline unsigned found_at(const char *at, v128_t wanted)
{
  return wasm_i8x16_bitmask(wasm_i8x16_eq(wasm_v128_load(at), wanted));
}

SIMD size_t strlen(const char *s)
{
  const char *at = (const char *)((uintptr_t)s & ~(uintptr_t)(STEP - 1));
  v128_t nul = wasm_i8x16_splat(0);
  unsigned found = found_at(at, nul) & (~0u << (unsigned)(s - at));
  while (!found)
    found = found_at(at += STEP, nul);
  return (size_t)(at + __builtin_ctz(found) - s);
}

SIMD void *memchr(const void *data, int byte, size_t n)
{
  if (n == 0)
    return NULL;
  const char *s = data, *at = (const char *)((uintptr_t)s & ~(uintptr_t)(STEP - 1));
  size_t skipped = (size_t)(s - at), end = n < SIZE_MAX - skipped ? n + skipped : SIZE_MAX, place = 0; /* from `at` */
  v128_t wanted = wasm_i8x16_splat((int8_t)byte);
  unsigned found = found_at(at, wanted) & (~0u << skipped);
  while (!found) {
    place += STEP;
    if (place >= end)
      return NULL;
    found = found_at(at + place, wanted);
  }
  place += (size_t)__builtin_ctz(found);
  return place < end ? (void *)(uintptr_t)(at + place) : NULL;
}

char *strncpy(char *restrict to, const char *restrict from, size_t n)
{
  const char *end = memchr(from, 0, n);
  size_t length = end ? (size_t)(end - from) : n;
  memcpy(to, from, length);
  memset(to + length, 0, n - length);
  return to;
}

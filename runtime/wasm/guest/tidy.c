/* The heap as a program finds it. What is freed while the snapshot is made leaves holes all over it, and a program that
 * fills them writes to a page for nearly each: in every call each such page is copied. So the holes are filled here,
 * for good; a program's objects then lie side by side. */
#include "python.h"

#include <stdlib.h>

/* Objects/obmalloc.c: sizes up to 512 come from pools, by classes of 8 bytes; a pool's first block follows its head. */
#define CLASS_BYTES 8u
#define CLASS_MAX 512u
#define POOL_BYTES (16u << 10)
#define POOL_HEAD_BYTES 32u

#define TOP_BYTES (1u << 20)
#define LARGE_BYTES (128u << 10) /* a hole of this size is room like any other */
#define LARGE_MAX 512u
#define HOLE_MIN 576u

/* Until the next block is the first of a pool that nobody has used. */
static void fill_pools(size_t size)
{
  uintptr_t at;
  do {
    at = (uintptr_t)PyObject_Malloc(size);
  } while (at && at % POOL_BYTES != POOL_HEAD_BYTES);
}

/* A block below `top`, above which all is free in one piece; NULL: there is none of this size. */
static void *below(size_t size, uintptr_t top)
{
  void *p = malloc(size);
  if ((uintptr_t)p < top)
    return p;
  free(p);
  return NULL;
}

void mfg_tidy(void)
{
  for (size_t size = CLASS_BYTES; size <= CLASS_MAX; size += CLASS_BYTES)
    fill_pools(size);
  void *volatile top = malloc(TOP_BYTES); /* volatile: else the compiler takes it away */
  void *large[LARGE_MAX];
  unsigned n = 0;
  while (n < LARGE_MAX && (large[n] = below(LARGE_BYTES, (uintptr_t)top)))
    n++;
  for (size_t size = LARGE_BYTES; size >= HOLE_MIN; size -= size / 4) {
    while (below(size, (uintptr_t)top))
      continue;
  }
  while (n > 0)
    free(large[--n]);
  free(top);
}

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
#define HOLE_MAX (512u << 10)
#define HOLE_MIN 576u

/* Until the next block is the first of a pool that nobody has used. */
static void fill_pools(size_t size)
{
  uintptr_t at;
  do {
    at = (uintptr_t)PyObject_Malloc(size);
  } while (at && at % POOL_BYTES != POOL_HEAD_BYTES);
}

/* What lies above `top` is free in one piece. */
static void fill_holes(size_t size, uintptr_t top)
{
  void *p;
  while ((p = malloc(size)) && (uintptr_t)p < top)
    continue;
  free(p);
}

void mfg_tidy(void)
{
  for (size_t size = CLASS_BYTES; size <= CLASS_MAX; size += CLASS_BYTES)
    fill_pools(size);
  void *volatile top = malloc(TOP_BYTES); /* volatile: else the compiler takes it away */
  for (size_t size = HOLE_MAX; size >= HOLE_MIN; size -= size / 4)
    fill_holes(size, (uintptr_t)top);
  free(top);
}

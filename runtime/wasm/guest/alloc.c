/* Small blocks that were just freed wait here for the next who wants one of their size. Most of what a program
 * allocates (numbers, tuples, iterators) lives for an instant, and in WebAssembly the way through Python's own
 * allocator costs much more than elsewhere: calls through a table, each counted.
 *
 * It stands in front of Python's allocator, which still owns all memory and to which what is beyond a shelf's room goes
 * back at once. scripts/wasmruntime/guest.py links with --wrap, so that calls of PyObject_Malloc and the other three
 * come here and __real_* leads on. */
#define Py_BUILD_CORE
#include <Python.h>

#include "pycore_obmalloc.h"
#include "pycore_pymem_init.h"
#include "pycore_runtime.h"

#define SHELF_BYTES (32u << 10) /* of blocks of one size */
#define LIKELY(x) __builtin_expect(!!(x), 1)

struct shelf {
  void *first;     /* its first word leads to the next */
  uint32_t room_n; /* how many more blocks it takes */
};
static struct shelf shelves[NB_SMALL_SIZE_CLASSES];
/* Whether this part of the address space is an arena of Python's allocator: only there a block has a pool's head, with
 * its size. They are aligned to their size, so that a part is all of one arena. */
static uint8_t is_arena[(1ull << 32) / ARENA_SIZE];

void *__real_PyObject_Malloc(size_t n);
void *__real_PyMem_Malloc(size_t n);
void __real_PyObject_Free(void *p);
void __real_PyMem_Free(void *p);
void *__wrap_PyObject_Malloc(size_t n);
void *__wrap_PyMem_Malloc(size_t n);
void __wrap_PyObject_Free(void *p);
void __wrap_PyMem_Free(void *p);

/* Other sizes are of other things than arenas: frames of Python functions. */
static void *new_arena(void *ctx, size_t n)
{
  if (n != ARENA_SIZE)
    return malloc(n);
  void *p = aligned_alloc(ARENA_SIZE, n);
  if (p)
    is_arena[(uintptr_t)p / ARENA_SIZE] = 1;
  return p;
}

static void free_arena(void *ctx, void *p, size_t n)
{
  if (n == ARENA_SIZE)
    is_arena[(uintptr_t)p / ARENA_SIZE] = 0;
  free(p);
}

/* Before Python allocates anything. */
__attribute__((constructor)) static void set_up(void)
{
  for (uint32_t i = 0; i < NB_SMALL_SIZE_CLASSES; i++)
    shelves[i].room_n = SHELF_BYTES / INDEX2SIZE(i);
  PyObjectArenaAllocator ours = { NULL, new_arena, free_arena };
  PyObject_SetArenaAllocator(&ours);
}

/* tracemalloc puts itself between: then it has to see each call. */
static inline bool is_plain(const PyMemAllocatorEx *domain)
{
  return domain->malloc == _PyObject_Malloc;
}

static inline void *take(size_t n)
{
  size_t class = (n - 1) / ALIGNMENT; /* of 0 bytes: beyond them all */
  if (class >= NB_SMALL_SIZE_CLASSES)
    return NULL;
  struct shelf *s = &shelves[class];
  void **p = s->first;
  if (!p)
    return NULL;
  s->first = *p;
  s->room_n++;
  return p;
}

static inline bool put(void *p)
{
  if (!is_arena[(uintptr_t)p / ARENA_SIZE])
    return false;
  struct shelf *s = &shelves[POOL_ADDR(p)->szidx];
  if (s->room_n == 0)
    return false;
  *(void **)p = s->first;
  s->first = p;
  s->room_n--;
  return true;
}

void *__wrap_PyObject_Malloc(size_t n)
{
  void *p = LIKELY(is_plain(&_PyRuntime.allocators.standard.obj)) ? take(n) : NULL;
  return LIKELY(p) ? p : __real_PyObject_Malloc(n);
}

void *__wrap_PyMem_Malloc(size_t n)
{
  void *p = LIKELY(is_plain(&_PyRuntime.allocators.standard.mem)) ? take(n) : NULL;
  return LIKELY(p) ? p : __real_PyMem_Malloc(n);
}

void __wrap_PyObject_Free(void *p)
{
  if (!LIKELY(is_plain(&_PyRuntime.allocators.standard.obj)) || !LIKELY(put(p)))
    __real_PyObject_Free(p);
}

void __wrap_PyMem_Free(void *p)
{
  if (!LIKELY(is_plain(&_PyRuntime.allocators.standard.mem)) || !LIKELY(put(p)))
    __real_PyMem_Free(p);
}

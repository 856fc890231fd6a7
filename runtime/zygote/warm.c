/* W, the warm-up: what makes a fork of this process cheap. Copying a page costs some two microseconds, and nearly all
 * that a child copies is allocator bookkeeping and reference counts:
 * - malloc is tidied, so that a child's first allocations come from fresh memory, not from old chunks on shared pages;
 * - the same for Python's own small blocks, of which there are a pool for each size;
 * - the fork hooks are run once without forking, so that what they write lazily is written;
 * - reference counts of all reachable objects are made immortal (PEP 683), so that using an object writes nothing. */
#include "zygote-internal.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096u

/* While the zygote warms up, large blocks must come from the heap too: a later mremap of a checkpointed mapping would
 * show its neighbours' bytes. */
void zyg_warm_malloc_begin(void)
{
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_ARENA_MAX, 1);
}

void zyg_warm_malloc_tidy(void)
{
  mallopt(M_MMAP_MAX, 65536);
  mallopt(M_MMAP_THRESHOLD, 131072);
  malloc_trim(0);
  /* a large request sorts the unsorted bin */
  void *sorted[8];
  for (int i = 0; i < 8; i++)
    sorted[i] = malloc(100000u + 1000u * (unsigned)i);
  for (int i = 0; i < 8; i++)
    free(sorted[i]);
  /* Use up every free chunk below the top, for good: what a child allocates then lies in untouched memory. */
  struct mallinfo2 info = mallinfo2();
  const char *top = (const char *)sbrk(0) - info.keepcost;
  size_t size = 120000;
  for (long n = 0; size >= 24 && n < 400000; n++) {
    char *p = malloc(size);
    if (p && p < top)
      continue; /* deliberately kept */
    free(p);
    size = size > 2048 ? size * 15 / 16 : size - 16;
  }
}

/* Each size of Python's small blocks has its own list of half-used pools, all over memory. They are used up, for good,
 * until blocks come one after the other from the first page of a pool (16 KiB since 3.10): a new one, whose
 * book-keeping is on the same page, and which lies beside the new pools of the other sizes. */
void zyg_warm_pools_tidy(void)
{
  enum { STEP = 16, LARGEST = 512, IN_A_ROW = 3, POOL = 16384, TRIES = 20000 };
  for (size_t size = STEP; size <= LARGEST; size += STEP) {
    const char *last = NULL;
    int in_a_row = 0;
    for (int i = 0; i < TRIES && in_a_row < IN_A_ROW; i++) {
      const char *p = PyObject_Malloc(size); /* deliberately kept */
      bool next = last && p == last + size && (uintptr_t)p % POOL < PAGE - size;
      in_a_row = next ? in_a_row + 1 : 0;
      last = p;
    }
  }
}

PyObject *zyg_warm_fake_fork(PyObject *self, PyObject *unused)
{
  (void)self;
  (void)unused;
  PyOS_BeforeFork();
  PyOS_AfterFork_Child();
  Py_RETURN_NONE;
}

/* ---- immortal objects ---- */

extern int PyObject_IS_GC(PyObject *); /* exported, not in the limited API's headers */

#define IMMORTAL_MAX 20000000u

struct walk {
  PyObject **stack;
  size_t n, made;
  PyObject *code_type;
};

static int push(PyObject *o, void *user)
{
  struct walk *w = user;
#if SIZEOF_VOID_P == 8
  if (!o || (uint32_t)o->ob_refcnt >= 0x7fffffffu || w->n == IMMORTAL_MAX)
    return 0;
  o->ob_refcnt = 0xffffffff; /* _Py_IMMORTAL_REFCNT of 3.12 and 3.13 */
  w->made++;
  w->stack[w->n++] = o;
#else
  (void)o;
  (void)w;
#endif
  return 0;
}

static void push_attr(struct walk *w, PyObject *o, const char *name)
{
  PyObject *v = PyObject_GetAttrString(o, name);
  if (!v) {
    PyErr_Clear();
    return;
  }
  push(v, w);
  Py_DECREF(v);
}

/* Code objects and most dicts of strings are unknown to the collector, so their parts are walked by hand. */
static void visit(struct walk *w, PyObject *o)
{
  PyTypeObject *type = Py_TYPE(o);
  push((PyObject *)type, w);
  if (PyDict_Check(o)) {
    Py_ssize_t at = 0;
    PyObject *k, *v;
    while (PyDict_Next(o, &at, &k, &v)) {
      push(k, w);
      push(v, w);
    }
    return;
  }
  if ((PyObject *)type == w->code_type) {
    static const char *const parts[] = { "co_consts",   "co_names", "co_linetable", "co_exceptiontable",
                                         "co_filename", "co_name",  "co_qualname" };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
      push_attr(w, o, parts[i]);
    PyObject *names = PyObject_GetAttrString(o, "co_varnames");
    for (Py_ssize_t i = 0; names && i < PyTuple_Size(names); i++)
      push(PyTuple_GetItem(names, i), w);
    Py_XDECREF(names);
    PyErr_Clear();
    return;
  }
  traverseproc traverse = (traverseproc)PyType_GetSlot(type, Py_tp_traverse);
  if (traverse && PyObject_IS_GC(o))
    traverse(o, push, w);
}

/* immortal(list_of_objects) -> how many. Nothing where the layout is not known for certain. */
PyObject *zyg_warm_immortal(PyObject *self, PyObject *list)
{
  (void)self;
  if (Py_Version < 0x030c0000 || Py_Version >= 0x030e0000 || sizeof(void *) != 8)
    return PyLong_FromLong(0);
  PyObject *types = PyImport_ImportModule("types");
  struct walk w = { .code_type = types ? PyObject_GetAttrString(types, "CodeType") : NULL };
  Py_XDECREF(types);
  if (!w.code_type)
    return NULL;
  size_t bytes = sizeof(PyObject *) * (size_t)IMMORTAL_MAX;
  void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) {
    Py_DECREF(w.code_type);
    return PyErr_NoMemory();
  }
  w.stack = p;
  for (Py_ssize_t i = 0; i < PyList_Size(list); i++)
    push(PyList_GetItem(list, i), &w);
  while (w.n)
    visit(&w, w.stack[--w.n]);
  munmap(p, bytes);
  Py_DECREF(w.code_type);
  return PyLong_FromSize_t(w.made);
}

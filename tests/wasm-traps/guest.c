/* A guest that Python could never be: it traps in each way there is and lies in everything that the host reads from it
 * (runtime/wasm/abi.h). Its program's first letters say what to do. No C library; built by run.py. */
#include "wasm/abi.h"

#define IMPORT(name) __attribute__((import_module(MF_GUEST_MODULE), import_name(name)))
#define EXPORT(name) __attribute__((export_name(name)))

IMPORT("clock") int64_t host_clock(int32_t id);
IMPORT("random") int32_t host_random(uint32_t ptr, uint32_t n);
IMPORT("write") int32_t host_write(int32_t fd, uint32_t ptr, uint32_t n);
IMPORT("sleep") void host_sleep(int64_t ns);
IMPORT("exit") void host_exit(int32_t code);

#define JOB_BYTES 65536
#define HEADER_BYTES 28 /* struct mf_job_header; the source follows */
#define ADDRESS(x) ((uint32_t)(uintptr_t)(x))

static unsigned char job[JOB_BYTES];
static struct mf_guest_files list;
static struct mf_guest_file files[MF_GUEST_FILES_MAX];
static char lie; /* what mayfly_files is to do */
static volatile int zero, seven = 7;
static volatile unsigned char sink;

static uint32_t memory_bytes(void)
{
  return (uint32_t)(__builtin_wasm_memory_size(0) << 16);
}

static __attribute__((noinline)) int recurse(int n)
{
  volatile int here[64];
  here[n & 63] = n;
  return recurse(n + 1) + here[(n + 1) & 63];
}

/* Native frames only: the shadow stack in memory is not touched, so the engine's own bound is what is met. */
static __attribute__((noinline)) int recurse_bare(int n)
{
  return zero ? n : recurse_bare(n + 1) * 3 + 1;
}

/* How many of these are refused as they should be. */
static int wild_calls(void)
{
  uint32_t end = memory_bytes();
  int n = 0;
  n += host_write(1, end, 1) == -MF_GUEST_EFAULT;
  n += host_write(1, end - 1, 2) == -MF_GUEST_EFAULT;
  n += host_write(2, 0, 0x7fffffff) == -MF_GUEST_EFAULT;
  n += host_write(1, 0xffffffffu, 0xffffffffu) == -MF_GUEST_EFAULT;
  n += host_write(0, 0, 1) == -MF_GUEST_EBADF;
  n += host_write(3, 0, 1) == -MF_GUEST_EBADF;
  n += host_write(-1, 0xffffffffu, 1) == -MF_GUEST_EBADF;
  n += host_random(end, 1) == MF_GUEST_EFAULT;
  n += host_random(end - 1, 2) == MF_GUEST_EFAULT;
  n += host_random(0xffffffffu, 0xffffffffu) == MF_GUEST_EFAULT;
  n += host_random(1, 0xffffffffu) == MF_GUEST_EFAULT;
  n += host_clock(3) == -1;
  n += host_clock(-1) == -1;
  host_sleep(-1);
  host_sleep((int64_t)1 << 63);
  return n;
}

static int grow(void)
{
  int n = 0;
  while (__builtin_wasm_memory_grow(0, 16) != (unsigned long)-1)
    n++;
  return n > 0;
}

static int32_t act(char what)
{
  switch (what) {
  case 'o': /* far out, and one byte out */
    sink = *(volatile unsigned char *)(uintptr_t)0xfffffff0u;
    return 0;
  case 'e':
    sink = *(volatile unsigned char *)(uintptr_t)memory_bytes();
    return 0;
  case 'w':
    *(volatile unsigned char *)(uintptr_t)0xfffffff0u = 1;
    return 0;
  case 's':
    return recurse(1);
  case 'b':
    return recurse_bare(1);
  case 'u':
    __builtin_trap();
  case 'd':
    return seven / zero;
  case 'i': {
    void (*volatile f)(void) = (void (*)(void))(uintptr_t)(zero + 0x7ffffff);
    f();
    return 0;
  }
  case 'n': {
    void (*volatile f)(void) = (void (*)(void))(uintptr_t)zero;
    f();
    return 0;
  }
  case 'l':
    for (;;)
      sink++;
  case 'z':
    host_sleep((int64_t)1 << 62);
    return 0;
  case 'c':
    return wild_calls();
  case 'g':
    return MF_GUEST_WORD(grow(), 2); /* as an uncaught MemoryError */
  case 'G':
    grow();
    __builtin_trap();
  case 'x':
    host_exit(256 + 7);
    return 0;
  case 'W':
    return -1;
  default:
    return 0;
  }
}

EXPORT("mayfly_prepare") void mayfly_prepare(void)
{
}

EXPORT("mayfly_reserve") uint32_t mayfly_reserve(uint32_t n)
{
#ifdef WILD_RESERVE
  return memory_bytes() - n + 1;
#else
  return n <= sizeof(job) ? ADDRESS(job) : 0;
#endif
}

/* "p": the program of the readiness probe. "k": says that it works. "F" and a letter: the list of files is to lie. */
EXPORT("mayfly_run") int32_t mayfly_run(uint32_t n)
{
  char what = n > HEADER_BYTES ? (char)job[HEADER_BYTES] : 'p';
  lie = what == 'F' ? (char)job[HEADER_BYTES + 1] : 0;
  if (what == 'k')
    (void)host_write(1, ADDRESS("ok\n"), 3);
  return act(what);
}

static void put(uint32_t i, uint32_t name, uint32_t name_n, uint32_t data, uint32_t data_n)
{
  files[i] = (struct mf_guest_file){ name, name_n, data, data_n };
}

EXPORT("mayfly_files") uint32_t mayfly_files(void)
{
  static const char name[] = "file.txt";
  list = (struct mf_guest_files){ .n = 1, .files = ADDRESS(files) };
  put(0, ADDRESS(name), 8, ADDRESS("hello"), 5);
  switch (lie) {
  case 0:
    list.n = 0;
    break;
  case 'g': /* no lie */
    break;
  case 'a': /* the struct itself */
    return 0xfffffffcu;
  case 'b':
    return memory_bytes() - 4;
  case '0':
    return 0;
  case 'n':
    list.n = 0xffffffffu;
    break;
  case 'm':
    list.n = MF_GUEST_FILES_MAX + 1;
    break;
  case 'f':
    list.files = 0xfffffff8u;
    break;
  case 'F':
    list.files = memory_bytes() - 8;
    break;
  case 'N':
    put(0, 0xffffffffu, 0xffffffffu, ADDRESS("x"), 1);
    break;
  case 'D':
    put(0, ADDRESS(name), 8, memory_bytes() - 4, 5);
    break;
  case 'H': /* all of the memory as one file, and then a good one */
    list.n = 2;
    put(0, ADDRESS("all"), 3, 0, memory_bytes());
    put(1, ADDRESS(name), 8, ADDRESS("hello"), 5);
    break;
  case 'L': /* a name of 64 KiB */
    put(0, ADDRESS(job), sizeof(job), ADDRESS("x"), 1);
    break;
  case 'U':
    put(0, ADDRESS("../../up"), 8, ADDRESS("x"), 1);
    break;
  case 'M': /* as many as there may be, all of one name */
    list.n = MF_GUEST_FILES_MAX;
    for (uint32_t i = 0; i < MF_GUEST_FILES_MAX; i++)
      put(i, ADDRESS(name), 8, ADDRESS("hello"), 5);
    break;
  case 'T':
    __builtin_trap();
  case 'S':
    return (uint32_t)recurse(1);
  case 'R':
    for (;;)
      sink++;
  case 'X':
    host_exit(0);
    break;
  case 'W':
    (void)host_write(1, ADDRESS("late"), 4);
    break;
  case 'l':
    list.left_n = list.other_n = 0xffffffffu;
    break;
  default:
    break;
  }
  return ADDRESS(&list);
}

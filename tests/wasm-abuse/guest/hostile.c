/* A guest that keeps to the form of runtime/wasm/abi.h and to nothing else. What it does stands in the job's program:
 * "#" and the number of an act. RESERVE (given by the compiler) is what it does before there is a job. */
#include "wasm/abi.h"

#define IMPORT(name) __attribute__((import_module(MF_GUEST_MODULE), import_name(name)))
#define EXPORT(name) __attribute__((export_name(name)))
#define PAGE 65536u
#define JOB_HEADER 28u /* bytes before the source */

IMPORT("clock") int64_t host_clock(int32_t id);
IMPORT("random") int32_t host_random(uint32_t to, uint32_t n);
IMPORT("write") int32_t host_write(int32_t fd, uint32_t data, uint32_t n);
IMPORT("sleep") void host_sleep(int64_t ns);
IMPORT("exit") void host_exit(int32_t code);
#ifdef IMPORT_MORE
__attribute__((import_module("wasi_snapshot_preview1"), import_name("path_open"))) int32_t path_open(int32_t a);
#endif

static uint8_t job[1 << 20];
static struct mf_guest_file files[MF_GUEST_FILES_MAX];
static struct mf_guest_files list;
static int act;
static volatile int32_t zero;
static volatile uint8_t room[8 * PAGE]; /* what nobody has written is 0 */
static volatile int32_t given = 77;     /* from the module */
extern uint8_t __heap_base;

static uint32_t memory_bytes(void)
{
  return (uint32_t)__builtin_wasm_memory_size(0) * PAGE;
}

static void say(const char *text)
{
  uint32_t n = 0;
  while (text[n])
    n++;
  host_write(1, (uint32_t)text, n);
}

static void say_number(int64_t v)
{
  char digits[24];
  uint32_t at = sizeof(digits);
  uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
  digits[--at] = ' ';
  do
    digits[--at] = (char)('0' + u % 10);
  while (u /= 10);
  if (v < 0)
    digits[--at] = '-';
  host_write(1, (uint32_t)digits + at, sizeof(digits) - at);
}

static void loop(void)
{
  for (;;)
    __asm__ volatile("");
}

__attribute__((noinline)) static int32_t deeper(int32_t n)
{
  volatile char room[64];
  room[n & 63] = (char)n;
  return n + deeper(n + 1) + room[0];
}

static void grow_to_the_end(void)
{
  uint32_t pages = 1024;
  while (pages > 0) {
    if (__builtin_wasm_memory_grow(0, pages) == 0xffffffffu) {
      pages /= 2;
      continue;
    }
    *(volatile uint8_t *)(memory_bytes() - 1) = 1;
  }
}

static void write_wrong(void)
{
  static const struct {
    int32_t fd;
    uint32_t at, n;
  } rows[] = {
    { 1, 0xffffffffu, 1 }, { 1, 0xffffffffu, 0xffffffffu },
    { 1, 0, 0xffffffffu }, { 1, 0, 0x80000000u },
    { 1, 0, 0x7fffffffu }, { 1, 0xfffffff0u, 0x20 },
    { 0, 0, 4 },           { 3, 0, 4 },
    { -1, 0, 4 },          { 0x7fffffff, 0, 4 },
    { 2, 0, 0 },
  };
  for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    say_number(host_write(rows[i].fd, rows[i].at, rows[i].n));
  say_number(host_write(1, memory_bytes(), 1));
  say_number(host_write(1, memory_bytes() - 1, 2));
  say_number(host_write(1, memory_bytes(), 0));
}

static void random_wrong(void)
{
  say_number(host_random(0xffffffffu, 1));
  say_number(host_random(0, 0xffffffffu));
  say_number(host_random(memory_bytes() - 1, 2));
  say_number(host_random(memory_bytes(), 0));
  say_number(host_random(0x80000000u, 0x80000000u));
}

static void clock_wrong(void)
{
  static const int32_t ids[] = { 3, -1, 0x7fffffff, (int32_t)0x80000000u };
  for (uint32_t i = 0; i < 4; i++)
    say_number(host_clock(ids[i]));
  for (int32_t id = 0; id < 3; id++)
    say(host_clock(id) >= 0 ? "good " : "bad ");
  int64_t first = host_clock(1);
  for (uint32_t i = 0; i < 1000; i++) {
    int64_t next = host_clock(1);
    if (next < first)
      say("back ");
    first = next;
  }
}

static int32_t call_wrong(int32_t which)
{
  typedef int32_t (*other)(int64_t, int64_t, int64_t);
  /* 0 is no function, 1 is one of another type, the last is none at all. */
  static const uint32_t at[] = { 0, 1, 0x7fffffffu };
  volatile other fn = (other)at[which];
  return fn(1, 2, 3);
}

/* Leaves something wherever it can. */
static void leave_marks(void)
{
  grow_to_the_end();
  given = 0x5a5a5a5a;
  __builtin_memset((void *)room, 0x5a, sizeof(room));
  __builtin_memset(&__heap_base, 0x5a, memory_bytes() - (uint32_t)&__heap_base);
}

static uint32_t count_marks(const volatile uint8_t *at, const volatile uint8_t *end)
{
  uint32_t n = 0;
  while (at < end)
    n += *at++ != 0;
  return n;
}

/* What somebody left: the memory as it is at first, and as it is when it grows. */
static void look_for_marks(void)
{
  say_number((int64_t)__builtin_wasm_memory_size(0));
  say_number(given);
  say_number(count_marks(room, room + sizeof(room)));
  say_number(count_marks(&__heap_base, (uint8_t *)memory_bytes()));
  grow_to_the_end();
  say_number(count_marks(&__heap_base, (uint8_t *)(memory_bytes() - PAGE)));
}

static int32_t run_act(uint32_t n)
{
  switch (act) {
  case 1:
    write_wrong();
    return 0;
  case 2:
    random_wrong();
    return 0;
  case 3:
    clock_wrong();
    return 0;
  case 4:
    host_sleep(-1);
    host_sleep(INT64_MIN);
    host_sleep(0);
    say("slept");
    return 0;
  case 5:
    host_sleep(INT64_MAX);
    say("never");
    return 0;
  case 6:
    host_exit(-1);
    say("never");
    return 0;
  case 7:
    host_exit(0x7fffff00);
    return 1;
  case 8:
    return -1;
  case 9:
    return MF_GUEST_WORD(0, 0x7fffff);
  case 10:
    grow_to_the_end();
    say_number((int64_t)__builtin_wasm_memory_size(0));
    return 0;
  case 11:
    __builtin_trap();
  case 12:
    return 7 / zero;
  case 13:
    return *(volatile int32_t *)(memory_bytes() - 3);
  case 14:
    return deeper(0);
  case 15:
  case 16:
  case 17:
    return call_wrong(act - 15);
  case 18:
    loop();
  case 19: /* much work for little fuel */
    grow_to_the_end();
    for (;;)
      __builtin_memset((void *)(PAGE * 64u), zero, memory_bytes() - PAGE * 64u);
  case 20: /* all of its memory at once, itself too */
    host_random(0, memory_bytes());
    return 0;
  case 21:
    grow_to_the_end();
    for (;;)
      host_random(PAGE * 64u, memory_bytes() - PAGE * 64u);
  case 22:
    grow_to_the_end();
    host_write(1, 0, memory_bytes());
    return 0;
  case 23: /* a flood without an end after the cap */
    grow_to_the_end();
    for (;;)
      host_write(2, 0, memory_bytes());
  case 25:
    leave_marks();
    return 0;
  case 26: /* and ends in each way */
    leave_marks();
    __builtin_trap();
  case 27:
    leave_marks();
    loop();
  case 28:
    leave_marks();
    host_exit(0);
    return 0;
  case 29:
    look_for_marks();
    return 0;
  case 24: /* the job is what it was told */
    say_number(n);
    return 0;
  default:
    return 0;
  }
}

/* ---- files: acts from 40 on ---- */

static void add(const void *name, uint32_t name_n, uint32_t data, uint32_t data_n)
{
  files[list.n++] = (struct mf_guest_file){ (uint32_t)name, name_n, data, data_n };
}

static void add_names(void)
{
  static const char *const names[] = { "..", "../up", "/etc/passwd", "a/../../b", "a//b",      "./c",      "",
                                       ".",  "x/",    "a\\..\\b",    "\xff\xfe",  "new\nline", "\x1b[31m", "good" };
  for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    uint32_t n = 0;
    while (names[i][n])
      n++;
    add(names[i], n, (uint32_t) "data", 4);
  }
  add("a\0b", 3, (uint32_t) "data", 4);
  add("\0", 1, (uint32_t) "data", 4);
  add(job, 4096, (uint32_t) "data", 4);
  add("good", 4, (uint32_t) "again", 5);
}

static uint32_t fill_list(void)
{
  list.files = (uint32_t)files;
  switch (act) {
  case 40:
    return 0;
  case 41:
    return 0xffffffffu;
  case 42:
    return memory_bytes() - 4;
  case 43:
    list.n = 0xffffffffu;
    break;
  case 44:
    list.n = MF_GUEST_FILES_MAX + 1;
    break;
  case 45:
    list.n = MF_GUEST_FILES_MAX;
    list.files = memory_bytes() - 8;
    break;
  case 46:
    add("before", 6, (uint32_t) "data", 4);
    add((void *)0xfffffff0u, 0x20, (uint32_t) "data", 4);
    add("after", 5, (uint32_t) "data", 4);
    break;
  case 47:
    add("name", 0xffffffffu, (uint32_t) "data", 4);
    break;
  case 48:
    add("name", 4, 0xffffff00u, 0x1000);
    break;
  case 49:
    add("name", 4, 0, 0xffffffffu);
    break;
  case 50: /* all of its memory, many times */
    for (uint32_t i = 0; i < MF_GUEST_FILES_MAX; i++) {
      uint8_t *name = job + i * 8;
      for (uint32_t d = 0, v = i; d < 8; d++, v /= 10)
        name[d] = (uint8_t)('0' + v % 10);
      add(name, 8, 0, memory_bytes());
    }
    break;
  case 51: /* tables that overlap: names, data and entries are the entries */
    for (uint32_t i = 0; i < MF_GUEST_FILES_MAX; i++)
      add(files, sizeof(files[0]), (uint32_t)files, sizeof(files));
    break;
  case 52:
    loop();
    break;
  case 53:
    host_sleep(INT64_MAX);
    break;
  case 54:
    host_exit(7);
    break;
  case 55:
    __builtin_trap();
  case 56:
    say("words after the end");
    break;
  case 57:
    grow_to_the_end();
    add("good", 4, (uint32_t) "data", 4);
    break;
  case 58:
    add_names();
    break;
  case 59:
    list.left_n = list.other_n = 0xffffffffu;
    break;
  case 60:
    deeper(0);
    break;
  case 61: /* as many as there may be, each with nothing in it */
    for (uint32_t i = 0; i < MF_GUEST_FILES_MAX; i++)
      add("same", 4, 0, 0);
    break;
  default:
    break;
  }
  return (uint32_t)&list;
}

EXPORT("mayfly_prepare") void mayfly_prepare(void)
{
#ifdef IMPORT_MORE
  path_open(0);
#endif
}

#ifndef NO_RESERVE
EXPORT("mayfly_reserve") uint32_t mayfly_reserve(uint32_t n)
{
  switch (RESERVE) {
  case 1:
    return 0;
  case 2:
    return 0xffffffffu;
  case 3:
    return memory_bytes() - n + 1;
  case 4:
    host_exit(64);
    break;
  case 5:
    loop();
    break;
  case 6:
    __builtin_trap();
  case 7:
    say("words before the beginning");
    break;
  case 8:
    grow_to_the_end();
    return 16;
  case 9:
    return 0x80000000u;
  default:
    break;
  }
  return n <= sizeof(job) ? (uint32_t)job : 0;
}
#endif

EXPORT("mayfly_run") uint32_t mayfly_run(uint32_t n)
{
  act = 0;
  if (n > JOB_HEADER && job[JOB_HEADER] == '#')
    for (uint32_t i = JOB_HEADER + 1; i < n && job[i] >= '0' && job[i] <= '9'; i++)
      act = act * 10 + (job[i] - '0');
  return (uint32_t)run_act(n);
}

EXPORT("mayfly_files") uint32_t mayfly_files(void)
{
  list = (struct mf_guest_files){ 0 };
  return fill_list();
}

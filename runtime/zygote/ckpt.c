/* The checkpoint: every private mapping of this quiet, single-threaded process is copied into a file on a private tmpfs
 * and mapped back from it, MAP_PRIVATE, at the same address. fork(2) copies no page tables for such memory: it is
 * refilled from the file when touched. With huge pages behind the file those faults are few.
 *
 * Rules: one thread, all signals blocked. From the snapshot on nothing may write private memory but this stack and the
 * thread pointer's page, both of which are left out; hence raw system calls, and scratch space in a shared mapping,
 * which the scan skips. Before the swap loop a failure leaves the process as it was; inside it, old and new mappings
 * are mixed but hold the same bytes. Known traps: MADV_DONTNEED on such memory shows the checkpoint's bytes, not zeros
 * (glibc never relies on that here), and a growing mremap would show the neighbour's (malloc's mmap is off while
 * warming up). */
#include "zygote-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rawcall.h"

#define PAGE 4096ul
#define HUGE (2ul << 20)
#define SEGS_MAX 16384u
#define MAPS_MAX (16ul << 20)
#define PAGEMAP_N (1ul << 16)
#define HOLE_PAGES 64ul /* untouched runs of at least this many pages stay plain zero-fill memory */

struct seg {
  uint64_t start, end, off;
  int prot;
  int anon; /* becomes fresh anonymous memory */
};

struct work {
  int proc;
  char *maps; /* /proc/self/smaps */
  struct seg *segs;
  unsigned seg_n;
  uint64_t *pagemap;
  int pagemap_fd;
  const char *step;
};

static bool is_error(long r)
{
  return (unsigned long)r > -4096ul;
}

static const char *parse_hex(const char *p, uint64_t *ret)
{
  for (*ret = 0;; p++) {
    if (*p >= '0' && *p <= '9')
      *ret = *ret * 16 + (uint64_t)(*p - '0');
    else if (*p >= 'a' && *p <= 'f')
      *ret = *ret * 16 + (uint64_t)(*p - 'a' + 10);
    else
      return p;
  }
}

static bool starts(const char *s, const char *prefix)
{
  while (*prefix) {
    if (*s++ != *prefix++)
      return false;
  }
  return true;
}

/* Mappings that must keep their own kind: wipe-on-fork, don't-copy, droppable, locked, I/O, pfn, hugetlb, userfaultfd,
 * grows-down, shadow stack, sealed. `p` is just after "VmFlags:". */
static bool has_special_flag(const char *p)
{
  static const char special[] = "wf dc dp lo io pf ht um uw gd ss sl ";
  for (; *p != '\n'; p++) {
    for (const char *s = special; *s; s += 3) {
      if (p[-1] == ' ' && p[0] == s[0] && p[1] == s[1])
        return true;
    }
  }
  return false;
}

static bool add_seg(struct work *w, uint64_t start, uint64_t end, int prot, int anon)
{
  if (start >= end)
    return true;
  struct seg *last = w->seg_n ? &w->segs[w->seg_n - 1] : NULL;
  if (last && last->end == start && last->prot == prot && last->anon == anon) {
    last->end = end;
    return true;
  }
  if (w->seg_n == SEGS_MAX)
    return false;
  w->segs[w->seg_n++] = (struct seg){ .start = start, .end = end, .prot = prot, .anon = anon };
  return true;
}

/* Anonymous memory: long untouched runs are split out. */
static int scan_anonymous(struct work *w, uint64_t start, uint64_t end, int prot)
{
  uint64_t run = start, hole = 0;
  for (uint64_t a = start; a < end;) {
    uint64_t pages = (end - a) / PAGE;
    if (pages > PAGEMAP_N)
      pages = PAGEMAP_N;
    long want = (long)(pages * 8);
    if (zyg_raw(SYS_pread64, w->pagemap_fd, (long)w->pagemap, want, (long)(a / PAGE * 8), 0, 0) != want)
      return -EIO;
    for (uint64_t i = 0; i < pages; i++, a += PAGE) {
      bool present = w->pagemap[i] >> 62 != 0; /* present or swapped */
      if (!present) {
        hole = hole ? hole : a;
        continue;
      }
      if (hole && a - hole >= HOLE_PAGES * PAGE) {
        if (!add_seg(w, run, hole, prot, 0) || !add_seg(w, hole, a, prot, 1))
          return -E2BIG;
        run = a;
      }
      hole = 0;
    }
  }
  if (hole && end - hole >= HOLE_PAGES * PAGE) {
    if (!add_seg(w, run, hole, prot, 0) || !add_seg(w, hole, end, prot, 1))
      return -E2BIG;
    return 0;
  }
  return add_seg(w, run, end, prot, 0) ? 0 : -E2BIG;
}

/* Decides for each mapping whether it is taken. r-- file mappings become r-x, so that a library is two mappings, not
 * five: fewer to copy at each fork. */
static int scan_maps(struct work *w, uint64_t thread_pointer)
{
  for (const char *p = w->maps, *nl; *p; p = nl + 1) {
    uint64_t start, end, skip, inode = 0;
    const char *q = parse_hex(p, &start);
    q = parse_hex(q + 1, &end);
    const char *perm = q + 1;
    q = parse_hex(perm + 5, &skip);
    while (*++q != ' ') {
    }
    while (*++q >= '0' && *q <= '9')
      inode = inode * 10 + (uint64_t)(*q - '0');
    while (*q == ' ')
      q++;
    const char *name = q; /* or '\n' */
    const char *flags = q;
    while (*flags && !starts(flags, "VmFlags:")) {
      while (*flags && *flags++ != '\n') {
      }
    }
    if (!*flags)
      return -EIO;
    for (nl = flags; *nl != '\n'; nl++) {
    }
    int prot = (perm[0] == 'r' ? PROT_READ : 0) | (perm[1] == 'w' ? PROT_WRITE : 0) | (perm[2] == 'x' ? PROT_EXEC : 0);
    if (perm[3] == 's' || !prot || starts(name, "[stack") || starts(name, "[v") || has_special_flag(flags + 8) ||
        (thread_pointer >= start && thread_pointer < end))
      continue;
    int error = 0;
    if (inode == 0)
      error = scan_anonymous(w, start, end, prot);
    else if (!add_seg(w, start, end, prot == PROT_READ ? PROT_READ | PROT_EXEC : prot, 0))
      error = -E2BIG;
    if (error != 0)
      return error;
  }
  return 0;
}

static int read_maps(struct work *w)
{
  long fd = zyg_raw(SYS_openat, w->proc, (long)"self/smaps", O_RDONLY | O_CLOEXEC, 0, 0, 0);
  if (is_error(fd))
    return (int)fd;
  size_t len = 0;
  for (;;) {
    long k = zyg_raw(SYS_read, fd, (long)(w->maps + len), (long)(MAPS_MAX - 1 - len), 0, 0, 0);
    if (k == 0)
      break;
    if (is_error(k) || len + (size_t)k >= MAPS_MAX - 1) {
      zyg_raw(SYS_close, fd, 0, 0, 0, 0, 0);
      return -E2BIG;
    }
    len += (size_t)k;
  }
  w->maps[len] = 0;
  zyg_raw(SYS_close, fd, 0, 0, 0, 0, 0);
  return 0;
}

/* Neighbours in memory are neighbours in the file, so equal mappings merge; address and offset agree modulo 2 MB, so
 * that huge pages fit. Returns the file's size. */
static uint64_t lay_out(struct work *w)
{
  uint64_t top = 0, prev = 0;
  for (unsigned i = 0; i < w->seg_n; i++) {
    struct seg *s = &w->segs[i];
    if (s->anon)
      continue;
    if (s->start != prev) {
      uint64_t want = s->start & (HUGE - 1), have = top & (HUGE - 1);
      top += want >= have ? want - have : HUGE - have + want;
    }
    s->off = top;
    top += s->end - s->start;
    prev = s->end;
  }
  return (top + HUGE - 1) & ~(HUGE - 1);
}

/* One touch per 2 MB through an aligned shared mapping makes the tmpfs allocate huge pages. */
static int allocate_huge(int fd, uint64_t size)
{
  long area = zyg_raw(SYS_mmap, 0, (long)(size + HUGE), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (is_error(area))
    return (int)area;
  uint64_t at = ((uint64_t)area + HUGE - 1) & ~(HUGE - 1);
  long m = zyg_raw(SYS_mmap, (long)at, (long)size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
  if (!is_error(m)) {
    zyg_raw(SYS_madvise, (long)at, (long)size, MADV_HUGEPAGE, 0, 0, 0);
    for (uint64_t o = 0; o < size; o += HUGE)
      *(volatile char *)(at + o) = 0;
  }
  zyg_raw(SYS_munmap, area, (long)(size + HUGE), 0, 0, 0, 0);
  return is_error(m) ? (int)m : 0;
}

static int write_out(const struct work *w, int fd)
{
  for (unsigned i = 0; i < w->seg_n; i++) {
    const struct seg *s = &w->segs[i];
    if (s->anon)
      continue;
    uint64_t off = s->off;
    for (uint64_t a = s->start; a < s->end;) {
      /* from the live addresses: an unreadable page is an error here, not a signal */
      long k = zyg_raw(SYS_pwrite64, fd, (long)a, (long)(s->end - a), (long)off, 0, 0);
      if (is_error(k) || k == 0)
        return k ? (int)k : -EIO;
      a += (uint64_t)k;
      off += (uint64_t)k;
    }
  }
  return 0;
}

static int swap_in(const struct work *w, int fd)
{
  for (unsigned i = 0; i < w->seg_n; i++) {
    const struct seg *s = &w->segs[i];
    long flags = MAP_PRIVATE | MAP_FIXED | (s->anon ? MAP_ANONYMOUS : 0);
    long m = zyg_raw(SYS_mmap, (long)s->start, (long)(s->end - s->start), s->prot, flags, s->anon ? -1 : fd,
                     s->anon ? 0 : (long)s->off);
    if (is_error(m))
      return (int)m;
  }
  return 0;
}

/* The file again, for reading only: a private mapping needs no more, and a shared writable one can then be made by
 * nobody. */
static long reopen_read_only(int proc, int fd)
{
  char path[32] = "self/fd/";
  char *d = path + 8;
  int div = 1;
  while (fd / div >= 10)
    div *= 10;
  for (; div; div /= 10)
    *d++ = (char)('0' + fd / div % 10);
  *d = 0;
  return zyg_raw(SYS_openat, proc, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
}

static __attribute__((noinline)) int run(struct work *w, int file_fd, uint64_t thread_pointer)
{
  w->step = "read mappings";
  int error = read_maps(w);
  if (error == 0)
    error = scan_maps(w, thread_pointer);
  if (error != 0)
    return error;
  uint64_t size = lay_out(w);
  w->step = "allocate the file";
  error = (int)zyg_raw(SYS_ftruncate, file_fd, (long)size, 0, 0, 0, 0);
  if (error == 0)
    error = allocate_huge(file_fd, size);
  if (error != 0)
    return error;
  w->step = "write the file";
  error = write_out(w, file_fd);
  /* no holes: a hole would let a child's read fault allocate page cache that outlives the child */
  if (error == 0)
    error = (int)zyg_raw(SYS_fallocate, file_fd, 0, 0, (long)size, 0, 0);
  long ro = error == 0 ? reopen_read_only(w->proc, file_fd) : -1;
  if (error == 0 && is_error(ro))
    error = (int)ro;
  if (error != 0)
    return error;
  w->step = "swap mappings";
  error = swap_in(w, (int)ro);
  zyg_raw(SYS_close, ro, 0, 0, 0, 0, 0);
  return error;
}

int zyg_checkpoint(int proc_fd, int file_fd, char *note, size_t note_n)
{
  if (sysconf(_SC_PAGESIZE) != (long)PAGE) {
    snprintf(note, note_n, "page size is not 4096");
    close(file_fd);
    return -ENOTSUP;
  }
  size_t bytes = MAPS_MAX + sizeof(struct seg) * SEGS_MAX + PAGEMAP_N * 8;
  void *scratch = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (scratch == MAP_FAILED) {
    close(file_fd);
    return -errno;
  }
  struct work w = { .proc = proc_fd };
  w.maps = scratch;
  w.segs = (struct seg *)(void *)((char *)scratch + MAPS_MAX);
  w.pagemap = (uint64_t *)(void *)(w.segs + SEGS_MAX);
  w.pagemap_fd = openat(proc_fd, "self/pagemap", O_RDONLY | O_CLOEXEC);
  int error = w.pagemap_fd < 0 ? -errno : 0;
  w.step = "open pagemap";
  if (error == 0)
    error = run(&w, file_fd, (uint64_t)(uintptr_t)__builtin_thread_pointer());
  if (w.pagemap_fd >= 0)
    close(w.pagemap_fd);
  close(file_fd);
  munmap(scratch, bytes);
  if (error != 0)
    snprintf(note, note_n, "%s: %s", w.step, strerror(-error));
  return error;
}

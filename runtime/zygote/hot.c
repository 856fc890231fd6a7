/* Hot pages: which pages of the zygote a small program reads and copies, learnt once by running one in a throwaway
 * child. A child that waits in the pool maps and copies them before its job comes, so that these faults leave the
 * latency path; the job still starts from exactly the zygote's state (rehearsing in the child itself would not). It
 * costs some milliseconds and up to WRITE_PAGES_MAX pages, so it is never done by a child that is waited for. */
#include "zygote-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

#define PAGE 4096ul
#define WRITE_PAGES_MAX 640u /* 2.5 MiB: what an idle child may cost */
#define READ_GAP (16ul * PAGE)

struct emitter {
  int fd;
  bool reads; /* after a checkpoint only: before it, all memory is there from the fork on */
  struct zyg_hot_range cur;
};

static void emit(struct emitter *e, uint64_t at, uint64_t end, int advice)
{
  struct zyg_hot_range *c = &e->cur;
  uint64_t gap = advice == MADV_POPULATE_READ ? READ_GAP : 0;
  if (c->bytes && c->advice == advice && at >= c->start && at <= c->start + c->bytes + gap) {
    c->bytes = end - c->start;
    return;
  }
  if (c->bytes && write(e->fd, c, sizeof *c) != sizeof *c)
    _exit(1);
  *c = (struct zyg_hot_range){ at, end - at, advice, 0 };
}

/* Runs of one mapping: pages that this process has alone are those it has copied (pagemap bit 56, "exclusively
 * mapped"). */
static void scan_mapping(struct emitter *e, int pagemap, uint64_t start, uint64_t end, bool writable)
{
  static uint64_t entries[4096];
  for (uint64_t at = start; at < end;) {
    uint64_t n = (end - at) / PAGE;
    n = n > 4096 ? 4096 : n;
    if (pread(pagemap, entries, n * 8, (off_t)(at / PAGE * 8)) != (ssize_t)(n * 8))
      return;
    for (uint64_t i = 0; i < n; i++, at += PAGE) {
      uint64_t x = entries[i];
      if (!(x >> 63))
        continue;
      bool file = x >> 61 & 1, alone = x >> 56 & 1;
      if (writable && !file && alone)
        emit(e, at, at + PAGE, MADV_POPULATE_WRITE);
      else if (e->reads && file)
        emit(e, at, at + PAGE, MADV_POPULATE_READ);
    }
  }
}

__attribute__((noreturn)) static void scan(int out, bool reads)
{
  FILE *maps = fdopen(openat(ZYG_PROC_FD, "self/maps", O_RDONLY), "r");
  int pagemap = openat(ZYG_PROC_FD, "self/pagemap", O_RDONLY);
  if (!maps || pagemap < 0)
    _exit(1);
  struct emitter e = { .fd = out, .reads = reads };
  char line[512];
  while (fgets(line, sizeof line, maps)) {
    unsigned long start, end;
    char perm[8];
    if (sscanf(line, "%lx-%lx %7s", &start, &end, perm) != 3 || perm[0] != 'r' || perm[3] != 'p' ||
        strstr(line, "[v") || strstr(line, "[stack"))
      continue;
    scan_mapping(&e, pagemap, start, end, perm[1] == 'w');
  }
  emit(&e, 0, 0, -1);
  _exit(0);
}

/* The child that is learnt from: no sandbox, no user, a program of ours, output to nowhere. */
__attribute__((noreturn)) static void rehearse(struct zygote *z, const char *source, bool reads, int out)
{
  zyg_after_fork(z);
  PyObject *r = PyObject_CallNoArgs(z->prepare);
  if (!r)
    _exit(1);
  struct zyg_job job;
  zyg_job_of(&job, source);
  struct mf_child_word word = { 0 };
  zyg_script_run(z, &job, &word);
  if (word.exit_code != 0)
    _exit(1);
  scan(out, reads);
}

void zyg_hot_learn(struct zygote *z, const char *source, bool checkpointed)
{
  int p[2];
  void *area = mmap(NULL, ZYG_HOT_MAX * sizeof *z->hot, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (area == MAP_FAILED || pipe2(p, O_CLOEXEC) != 0)
    return;
  z->hot = area;
  pid_t pid = _Fork();
  if (pid == 0)
    rehearse(z, source, checkpointed, p[1]);
  close(p[1]);
  unsigned pages = 0;
  struct zyg_hot_range r;
  while (pid > 0 && read(p[0], &r, sizeof r) == (ssize_t)sizeof r) {
    unsigned n = r.advice == MADV_POPULATE_WRITE ? (unsigned)(r.bytes / PAGE) : 0;
    if (z->hot_n < ZYG_HOT_MAX && pages + n <= WRITE_PAGES_MAX) {
      z->hot[z->hot_n++] = r;
      pages += n;
    }
  }
  close(p[0]);
  if (pid > 0)
    waitpid(pid, NULL, 0);
}

void zyg_hot_fetch(const struct zygote *z)
{
  /* best effort: a page that cannot be had now is had when it is touched */
  for (unsigned i = 0; i < z->hot_n; i++)
    (void)madvise((void *)(uintptr_t)z->hot[i].start, z->hot[i].bytes, z->hot[i].advice);
}

/* Pages that every program writes. */
#include <sys/mman.h>
#include <unistd.h>

#include "guest.h"
#include "base/banned.h"

#define PAGE 4096u
#define TRIES_MAX 8u
#define PAGES_MAX 1024u /* 4 MiB; a program that wrote more is not small, and says nothing of others */
#define GAP 2u          /* so few clean pages between two written ones are taken along: cheaper than another call */
#define CHUNK 512u

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* Linux, Documentation/admin-guide/mm/pagemap.rst: present, and no page of a file: the guest's own copy. */
static bool is_own(uint64_t entry)
{
  return entry >> 63 & 1 && !(entry >> 61 & 1);
}

static bool add_page(struct mf_hot *h, uint32_t page)
{
  if (h->run_n > 0) {
    uint32_t end = h->runs[h->run_n - 1].first + h->runs[h->run_n - 1].n;
    if (page - end <= GAP) {
      h->runs[h->run_n - 1].n += page - end + 1;
      return true;
    }
  }
  if (h->run_n == MF_HOT_RUNS_MAX)
    return false;
  h->runs[h->run_n].first = page;
  h->runs[h->run_n++].n = 1;
  return true;
}

static bool learn(struct mf_hot *h, struct mf_host_view memory)
{
  uint64_t entries[CHUNK];
  size_t page_n = memory.n / PAGE, first = (size_t)(uintptr_t)memory.ptr / PAGE;
  unsigned own_n = 0;
  for (size_t at = 0; at < page_n; at += CHUNK) {
    size_t n = MF_MIN(page_n - at, (size_t)CHUNK);
    ssize_t want = (ssize_t)(n * sizeof(entries[0]));
    if (pread(h->pagemap, entries, (size_t)want, (off_t)((first + at) * sizeof(entries[0]))) != want)
      return false;
    for (size_t i = 0; i < n; i++) {
      if (is_own(entries[i]) && (++own_n > PAGES_MAX || !add_page(h, (uint32_t)(at + i))))
        return false;
    }
  }
  return true;
}

void mf_hot_learn(struct mf_hot *h, struct mf_host_view memory)
{
  if (h->pagemap < 0 || h->run_n > 0 || h->tries >= TRIES_MAX || sysconf(_SC_PAGESIZE) != PAGE)
    return;
  h->tries++;
  if (!learn(h, memory))
    h->run_n = 0;
}

void mf_hot_take(const struct mf_hot *h, struct mf_host_view memory)
{
  for (unsigned i = 0; i < h->run_n; i++) {
    size_t at = (size_t)h->runs[i].first * PAGE, n = (size_t)h->runs[i].n * PAGE;
    /* A kernel that cannot do it lets the guest fault, as it would anyway. */
    if (at + n > memory.n || madvise(memory.ptr + at, n, MADV_POPULATE_WRITE) != 0)
      return;
  }
}

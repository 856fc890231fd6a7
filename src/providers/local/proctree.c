/* Reads /proc/PID/{task/TID/children,status,stat,smaps_rollup}. Thread: any; no state. */
#include "proctree.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/num.h"
#include "base/str.h"

#include "base/banned.h"

/* Reads a file of a process into a buffer on the stack; false when the process is gone. */
static bool read_proc(pid_t pid, const char *file, char *ret, size_t n)
{
  char path[96];
  snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
  mf_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return false;
  size_t have = 0;
  while (have + 1 < n) {
    ssize_t got = read(fd, ret + have, n - 1 - have);
    if (got <= 0)
      break;
    have += (size_t)got;
  }
  ret[have] = '\0';
  return have > 0;
}

/* ---- the tree ---- */

static bool tree_add(struct mf_proctree *t, pid_t pid)
{
  for (unsigned i = 0; i < t->n; i++) {
    if (t->pids[i] == pid)
      return false;
  }
  if (t->n >= t->max)
    return false;
  t->pids[t->n++] = pid;
  return true;
}

static void add_children_of_thread(struct mf_proctree *t, pid_t pid, const char *tid, pid_t skip)
{
  char file[64], text[8192];
  snprintf(file, sizeof file, "task/%.20s/children", tid);
  if (!read_proc(pid, file, text, sizeof text))
    return;
  for (const char *at = text; *at;) {
    size_t n = strspn(at, "0123456789");
    uint64_t child;
    if (n > 0 && mf_parse_u64((struct mf_str){ at, n }, "pid", 1, INT32_MAX, &child, NULL) == MF_OK &&
        (pid_t)child != skip)
      tree_add(t, (pid_t)child);
    at += n;
    if (*at && n == 0 && *at != ' ')
      return;
    at += strspn(at, " ");
  }
}

/* Children belong to the thread that made them, so each thread has a list. */
static void add_children(struct mf_proctree *t, pid_t pid, pid_t skip)
{
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
  DIR *d = opendir(path);
  if (!d)
    return;
  for (struct dirent *e; (e = readdir(d));) {
    if (e->d_name[0] != '.')
      add_children_of_thread(t, pid, e->d_name, skip);
  }
  closedir(d);
}

void mf_proctree_read(struct mf_proctree *t, pid_t guest, pid_t init, unsigned max)
{
  t->n = 0;
  t->max = MF_MIN(max, MF_PROCTREE_MAX);
  if (guest > 0)
    tree_add(t, guest);
  if (init > 0)
    add_children(t, init, 0);
  for (unsigned i = 0; i < t->n; i++)
    add_children(t, t->pids[i], init);
}

pid_t mf_proc_first_child(pid_t pid)
{
  struct mf_proctree t;
  t.n = 0;
  t.max = 1;
  add_children(&t, pid, 0);
  return t.n > 0 ? t.pids[0] : 0;
}

/* ---- memory ---- */

bool mf_proc_kb(const char *text, const char *key, uint64_t *ret_bytes)
{
  size_t key_n = strlen(key);
  for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
    if (strncmp(line, key, key_n) != 0 || line[key_n] != ':')
      continue;
    const char *at = line + key_n + 1;
    at += strspn(at, " \t");
    uint64_t kb;
    if (mf_parse_u64((struct mf_str){ at, strspn(at, "0123456789") }, key, 0, UINT64_MAX >> 10, &kb, NULL) != MF_OK)
      return false;
    *ret_bytes = kb << 10;
    return true;
  }
  return false;
}

static uint64_t sum_kb(const char *text, const char *a, const char *b)
{
  uint64_t x = 0, y = 0;
  (void)mf_proc_kb(text, a, &x);
  (void)mf_proc_kb(text, b, &y);
  return x + y;
}

static uint64_t kb_of(const char *text, const char *key)
{
  uint64_t v = 0;
  return mf_proc_kb(text, key, &v) ? v : 0;
}

static bool read_with(pid_t pid, const char *file, const char *key, char *ret, size_t n)
{
  uint64_t v;
  return read_proc(pid, file, ret, n) && mf_proc_kb(ret, key, &v);
}

/* The memory of a process shows in the files of each of its threads. The first thread may have ended before the others
 * (its own exit, not the process's), and then the process's file, which is the first thread's, has no such lines.
 * *ret_tid (may be NULL): the thread in whose file they are. */
static bool read_memory(pid_t pid, const char *file, const char *key, char *ret, size_t n, pid_t *ret_tid)
{
  if (ret_tid)
    *ret_tid = pid;
  if (read_with(pid, file, key, ret, n))
    return true;
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
  DIR *d = opendir(path);
  if (!d)
    return false;
  bool found = false;
  for (struct dirent *e; !found && (e = readdir(d));) {
    uint64_t tid;
    if (mf_parse_u64((struct mf_str){ e->d_name, strlen(e->d_name) }, "tid", 1, INT32_MAX, &tid, NULL) != MF_OK)
      continue;
    snprintf(path, sizeof path, "task/%d/%.20s", (int)tid, file);
    found = read_with(pid, path, key, ret, n);
    if (found && ret_tid)
      *ret_tid = (pid_t)tid;
  }
  closedir(d);
  return found;
}

/* A thread that has memory; 0 for a process that has none any more. */
static pid_t memory_thread(pid_t pid)
{
  char text[4096];
  pid_t tid;
  return read_memory(pid, "status", "VmPTE", text, sizeof text, &tid) ? tid : 0;
}

struct memory {
  pid_t pid, thread; /* thread: 0 for none */
};

/* Compared by the kernel: what a process shows of itself another could show too. Two that have just ended are equal to
 * it, in having none. */
static bool is_same_memory(const struct memory *a, const struct memory *b)
{
  return a->thread > 0 && b->thread > 0 && syscall(SYS_kcmp, a->thread, b->thread, KCMP_VM, 0ul, 0ul) == 0 &&
         memory_thread(a->pid) == a->thread && memory_thread(b->pid) == b->thread;
}

/* Each process is read once; pairs cost one system call. */
void mf_proctree_drop_same_memory(struct mf_proctree *t)
{
  unsigned kept = 0;
  mf_auto_free struct memory *memories = mf_xcalloc(t->n + 1, sizeof(*memories));
  for (unsigned i = 0; i < t->n; i++) {
    struct memory m = { t->pids[i], memory_thread(t->pids[i]) };
    bool is_new = true;
    for (unsigned k = 0; k < kept && is_new; k++)
      is_new = !is_same_memory(&memories[k], &m);
    if (is_new) {
      t->pids[kept] = m.pid;
      memories[kept++] = m;
    }
  }
  t->n = kept;
}

/* Not only pages: reading one byte in each 2 MB of an empty mapping makes gigabytes of page tables and no page, and a
 * process can send its pages to the swap itself (MADV_PAGEOUT). */
uint64_t mf_proctree_rss_bytes(const struct mf_proctree *t)
{
  char text[4096];
  uint64_t sum = 0;
  for (unsigned i = 0; i < t->n; i++) {
    if (read_memory(t->pids[i], "status", "VmPTE", text, sizeof text, NULL))
      sum += kb_of(text, "RssAnon") + sum_kb(text, "VmPTE", "VmSwap");
  }
  return sum;
}

bool mf_proctree_pss_bytes(const struct mf_proctree *t, uint64_t *ret)
{
  char text[4096];
  uint64_t sum = 0;
  unsigned seen = 0;
  for (unsigned i = 0; i < t->n; i++) {
    uint64_t pss;
    if (!read_memory(t->pids[i], "smaps_rollup", "Pss", text, sizeof text, NULL) || !mf_proc_kb(text, "Pss", &pss))
      continue;
    seen++;
    uint64_t anon;
    /* the parts are told apart since Linux 5.4; what is mapped from files is not the guest's to answer for: it is the
     * image's, the zygote's checkpoint, or counted as disk */
    sum += mf_proc_kb(text, "Pss_Anon", &anon) ? anon : pss;
    sum += kb_of(text, "SwapPss");
    if (read_memory(t->pids[i], "status", "VmPTE", text, sizeof text, NULL))
      sum += kb_of(text, "VmPTE");
  }
  *ret = sum;
  return seen > 0;
}

uint64_t mf_proc_peak_bytes(pid_t pid)
{
  char text[4096];
  uint64_t v = 0;
  return pid > 0 && read_memory(pid, "status", "VmHWM", text, sizeof text, NULL) && mf_proc_kb(text, "VmHWM", &v) ? v
                                                                                                                  : 0;
}

uint64_t mf_proc_private_bytes(pid_t pid)
{
  char text[4096];
  return pid > 0 && read_proc(pid, "smaps_rollup", text, sizeof text) ? sum_kb(text, "Private_Clean", "Private_Dirty")
                                                                      : 0;
}

/* ---- processor time ---- */

bool mf_proc_stat_ticks(const char *text, uint64_t *ret_own, uint64_t *ret_waited)
{
  /* fields 14 to 17; field 2 is the program's name and may hold anything */
  const char *at = strrchr(text, ')');
  uint64_t v[4] = { 0 };
  for (int field = 2; at && field < 14; field++)
    at = strchr(at + 1, ' ');
  for (int i = 0; i < 4; i++) {
    if (!at)
      return false;
    struct mf_str s = { at + 1, strspn(at + 1, "0123456789") };
    if (mf_parse_u64(s, "ticks", 0, UINT64_MAX >> 1, &v[i], NULL) != MF_OK)
      return false;
    at = strchr(at + 1, ' ');
  }
  *ret_own = v[0] + v[1];
  *ret_waited = v[2] + v[3];
  return true;
}

bool mf_proc_cpu_us(pid_t pid, uint64_t *ret)
{
  struct timespec ts;
  /* The id that clock_getcpuclockid(3) would give, without the system call with which it checks it first. */
  clockid_t clock = (clockid_t)(~(unsigned)pid << 3 | 2);
  if (pid <= 0 || clock_gettime(clock, &ts) != 0)
    return false;
  *ret = (uint64_t)ts.tv_sec * 1000000u + (uint64_t)ts.tv_nsec / 1000u;
  return true;
}

uint64_t mf_proctree_cpu_us(const struct mf_proctree *t, pid_t guest, pid_t init)
{
  char text[1024];
  uint64_t us_per_tick = 1000000u / (uint64_t)MF_MAX(sysconf(_SC_CLK_TCK), 1);
  uint64_t sum = 0, own, waited;
  for (unsigned i = 0; i < t->n; i++) {
    if (!read_proc(t->pids[i], "stat", text, sizeof text) || !mf_proc_stat_ticks(text, &own, &waited))
      continue;
    uint64_t precise;
    sum += waited * us_per_tick;
    sum += t->pids[i] == guest && mf_proc_cpu_us(guest, &precise) ? precise : own * us_per_tick;
  }
  /* what the init reaped: orphans that have ended */
  if (init > 0 && read_proc(init, "stat", text, sizeof text) && mf_proc_stat_ticks(text, &own, &waited))
    sum += waited * us_per_tick;
  return sum;
}

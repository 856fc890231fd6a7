/* The processes of one sandbox, seen from outside through /proc. Samples, not truths: the tree changes while it is
 * read, so a process that vanishes counts as nothing. Thread: any; no state. */
#ifndef MF_LOCAL_PROCTREE_H
#define MF_LOCAL_PROCTREE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define MF_PROCTREE_MAX 1024u
#define MF_PROCTREE_BRIEF 64u /* where a bounded time matters more than the last process */

struct mf_proctree {
  unsigned n, max;
  pid_t pids[MF_PROCTREE_MAX];
};

/* The guest, its descendants, and what became the namespace init's: orphans; at most `max` of them. The init itself is
 * left out, since its memory is the zygote's. Either pid may be 0. */
void mf_proctree_read(struct mf_proctree *t, pid_t guest, pid_t init, unsigned max);

/* Memory that the processes hold: RssAnon + page tables + swap. Shared memory is a file of the work tmpfs, whose size
 * is the limit, or the zygote's checkpoint. Cheap (10 µs a process), but counts what processes share in each. */
uint64_t mf_proctree_rss_bytes(const struct mf_proctree *t);
/* Each page shared by n processes counts 1/n. Costs 0.2 ms per 100 MB. False when the kernel will not tell. */
bool mf_proctree_pss_bytes(const struct mf_proctree *t, uint64_t *ret);

/* Leaves one of those that have the same memory (a child between vfork and exec has its parent's). Costs some 20 µs for
 * each pair. Where kcmp(2) is not allowed, all stay. */
void mf_proctree_drop_same_memory(struct mf_proctree *t);

/* Processor time of the tree: the guest by its precise clock, the others in clock ticks, the waited-for included. */
uint64_t mf_proctree_cpu_us(const struct mf_proctree *t, pid_t guest, pid_t init);
/* Of one process, its waited-for children left out, precise; false when it is gone. */
bool mf_proc_cpu_us(pid_t pid, uint64_t *ret);

/* A "Key:   123 kB" of a /proc file; false when it is missing. */
bool mf_proc_kb(const char *text, const char *key, uint64_t *ret_bytes);
/* VmHWM of one process; 0 when not known. */
uint64_t mf_proc_peak_bytes(pid_t pid);
/* Private_Clean + Private_Dirty of one process; 0 when not known. */
uint64_t mf_proc_private_bytes(pid_t pid);
/* The first child of a process; 0 when it has none. */
pid_t mf_proc_first_child(pid_t pid);
/* utime + stime and cutime + cstime of a /proc/PID/stat text, in clock ticks. */
bool mf_proc_stat_ticks(const char *text, uint64_t *ret_own, uint64_t *ret_waited);

#endif

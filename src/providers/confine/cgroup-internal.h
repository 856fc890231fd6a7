/* Shared by cgroup.c and its cgroup-….c only. */
#ifndef MF_CONFINE_CGROUP_INTERNAL_H
#define MF_CONFINE_CGROUP_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "confine/cgroup.h"

#define MF_CGROUP_PREFIX "mayfly-"
/* The leaf into which the provider and the supervisor step aside, so that their v2 group may have children. */
#define MF_CGROUP_HOST_PREFIX "mayfly-host-"

#define MF_CGROUP_NAME_MAX 80
#define MF_CGROUP_SERIAL_MAX 255u

/* One slot's group: a directory in v2, up to two in v1. */
struct mf_cgroup_group {
  bool is_made;
  bool peak_is_reset; /* the kernel lets us set the peak back */
  int procs[2];       /* O_WRONLY cgroup.procs */
  int oom, peak, cpu; /* kept open: read when a run ends */
  int task_n, usage;  /* and these between two runs */
  uint64_t memory_bytes, oom_base, cpu_base;
  uint32_t pids;
};

/* What the thread of cgroup-reclaim.c is at. */
struct mf_cgroup_reclaim {
  bool is_started; /* the thread is there, or waits to be joined */
  atomic_bool is_done;
  pthread_t thread;
  unsigned slot;
  int fd;
  char text[24];
};

struct mf_cgroup {
  enum mf_cgroup_kind kind; /* of memory */
  bool has_pids;
  bool is_v2;
  bool without_parent;
  unsigned serial; /* 0, or its number among the managers of this process */
  struct mf_cgroup_dirs dirs;
  uint64_t memory_bytes;
  uint32_t pids;
  uint64_t slack_bytes; /* what a group may have left charged and still be clean: the kernel batches per CPU */
  /* the parents of the slots' groups; v2 uses only the first. fd holds the lock. */
  struct {
    char path[MF_CGROUP_PATH_MAX];
    int fd;
  } root[2];
  /* v2: what must be undone at the end */
  char own[MF_CGROUP_PATH_MAX], host[MF_CGROUP_PATH_MAX];
  bool controllers_enabled;
  unsigned slot_n;
  struct mf_cgroup_group *groups;
  struct mf_cgroup_reclaim reclaim;
};

enum { MF_CGROUP_ROOT_MEMORY, MF_CGROUP_ROOT_PIDS };

/* Writes a control file; 0 or an errno. */
int mf_cgroup_put(int dirfd, const char *path, const char *text);
int mf_cgroup_put_u64(int dirfd, const char *path, uint64_t v);
/* Reads a control file whole into a small buffer; false when it cannot be read. */
bool mf_cgroup_get(int dirfd, const char *path, char *ret, size_t n);
/* The number after `key` in "key N\n…" lines; the first number of the text when key is "". */
bool mf_cgroup_number(const char *text, const char *key, uint64_t *ret);

/* The name of the directory that holds our groups. */
void mf_cgroup_name(const struct mf_cgroup *cg, char *ret, size_t n);

void mf_cgroup_group_drop(struct mf_cgroup *cg, unsigned slot, int *ret_error);

/* cgroup-reclaim.c: in a thread, since it takes long. While it is busy with a group, removing that group would wait. */
void mf_cgroup_reclaim_start(struct mf_cgroup *cg, unsigned slot, uint64_t usage);
bool mf_cgroup_reclaim_is_busy(struct mf_cgroup *cg, unsigned slot);
void mf_cgroup_reclaim_end(struct mf_cgroup *cg);

#endif

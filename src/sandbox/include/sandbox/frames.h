/* The frames between the processes of the local provider. Plain structs: all ends are built together and run on
 * one machine; each is one SOCK_SEQPACKET message. Nothing that a guest can send is trusted: a frame of the wrong size
 * or type is dropped, a text is bounded and repaired.
 *
 *   provider (gateway process)  ── client frames ──  supervisor  ── zygote frames ──  zygote
 *                                                        └────────── child frames ──────  guest child
 *
 * This header is also compiled into the zygote module, so it includes nothing of ours. */
#ifndef MF_SANDBOX_FRAMES_H
#define MF_SANDBOX_FRAMES_H

#include <stdint.h>

#define MF_FRAMES_VERSION 3u
#define MF_TEXT_MAX 240u
#define MF_CHUNK_MAX 65536u

/* ---- what a zygote is told at its birth: descriptor 4, read once; descriptor 3 is its socket ---- */
struct mf_zygote_config {
  uint32_t version;
  uint32_t data;           /* 1: import numpy, pandas, matplotlib, openpyxl */
  uint32_t warm;           /* rehearse typical code */
  uint32_t checkpoint;     /* 0 off, 1 when it works, 2 or fail */
  uint32_t layers;         /* MF_LAYER_* that a child must apply; a failure of one is MF_CHILD_FAILED */
  uint32_t fail_layers;    /* tests only: made to fail */
  uint32_t shared_anon_ok; /* 0: mmap(MAP_SHARED|MAP_ANONYMOUS) is denied, since no memory cgroup counts it */
  uint32_t disk_inodes;
  uint64_t disk_bytes;
  /* Instructions (8 bytes each) of the two parts of the seccomp program, which follow this struct: for the zygote
   * itself, and for each child. */
  uint32_t bpf_base_n, bpf_last_n;
  uint32_t files; /* RLIMIT_NOFILE of a guest; lower where the machinery's own limit is low */
  uint32_t pad;
};

/* ---- supervisor ↔ zygote ---- */
enum mf_zyg_type {
  MF_ZYG_READY = 1, /* zygote → supervisor, once, when warm: struct mf_zyg_ready */
  MF_ZYG_FORK,      /* supervisor → zygote: struct mf_zyg_fork + cgroup.procs fds (0..2), the child joins them */
  MF_ZYG_FORKED, /* zygote → supervisor: struct mf_zyg_forked + {guest pidfd, init pidfd, control, stdout, stderr} */
  MF_ZYG_EXITED, /* zygote → supervisor: struct mf_zyg_exited, after the reap */
  MF_ZYG_FATAL,  /* zygote → supervisor: struct mf_zyg_fatal, then it exits */
};
struct mf_zyg_ready {
  uint32_t type, version;
  uint32_t python_hex;   /* PY_VERSION_HEX */
  uint32_t checkpointed; /* 1 when fork copies no page tables */
  uint64_t warm_us;
  char checkpoint_note[120]; /* why not, when not */
};
struct mf_zyg_fork {
  uint32_t type, slot;
  uint32_t prefault, pad; /* 1: the child will wait in the pool, so it may spend time now to be quicker then */
};
struct mf_zyg_forked {
  uint32_t type, slot;
  int32_t error; /* errno; no fds then */
  uint32_t fork_us;
};
struct mf_zyg_exited {
  uint32_t type, slot;
  int32_t what;    /* 0: the guest's first process; 1: its namespace's init, so every process is gone */
  int32_t status;  /* as wait(2) */
  uint64_t cpu_us; /* user + system, waited-for descendants included */
};
struct mf_zyg_fatal {
  uint32_t type;
  int32_t error;
  char step[64];
  char text[MF_TEXT_MAX];
};

/* ---- supervisor ↔ child (control socket) ---- */
enum mf_child_type {
  MF_CHILD_READY = 1, /* child → supervisor: struct mf_child_ready + {work directory fd} */
  MF_CHILD_JOB,       /* supervisor → child: struct mf_child_job + {job memfd} */
  MF_CHILD_BEGIN,     /* child → supervisor: the user's code starts now (the wall clock starts) */
  MF_CHILD_HINT,      /* child → supervisor: struct mf_child_hint, untrusted */
  MF_CHILD_WORD,      /* child → supervisor: struct mf_child_word, untrusted */
  MF_CHILD_FAILED,    /* child → supervisor: struct mf_zyg_fatal: a sandbox layer could not be set up */
};
enum mf_layer { /* bits of mf_child_ready.layers: what this child has really applied */
                MF_LAYER_USER = 1u << 0,
                MF_LAYER_PID = 1u << 1,
                MF_LAYER_MOUNT = 1u << 2,
                MF_LAYER_NET = 1u << 3,
                MF_LAYER_IPC = 1u << 4,
                MF_LAYER_UTS = 1u << 5,
                MF_LAYER_PROC = 1u << 6,
                MF_LAYER_LANDLOCK = 1u << 7,
                MF_LAYER_SECCOMP = 1u << 8,
                MF_LAYER_NNP = 1u << 9,
                MF_LAYER_CAPS = 1u << 10,
                MF_LAYER_RLIMIT = 1u << 11,
                MF_LAYER_CGROUP = 1u << 12,
                MF_LAYER_LANDLOCK_SCOPE = 1u << 13,
};
struct mf_child_ready {
  uint32_t type, layers;
  int32_t landlock_abi;
  uint32_t pad;
};
struct mf_child_job {
  uint32_t type, pids;
  uint64_t memory_bytes, cpu_ms;
  uint32_t use_rlimit_data, pad; /* 1: lower RLIMIT_DATA to what is mapped now + memory_bytes + slack */
};
enum mf_hint_kind { MF_HINT_DENIED = 1 };
struct mf_child_hint {
  uint32_t type, kind;
  uint32_t len;
  char text[MF_TEXT_MAX];
};
enum mf_uncaught { MF_UNCAUGHT_NONE, MF_UNCAUGHT_EXCEPTION, MF_UNCAUGHT_MEMORY, MF_UNCAUGHT_DISK, MF_UNCAUGHT_PIDS };
struct mf_child_word {
  uint32_t type;
  int32_t exit_code;  /* 0..255 */
  uint32_t uncaught;  /* enum mf_uncaught */
  uint32_t has_files; /* the work directory holds something */
  uint64_t children_cpu_us;
};

/* The job memfd: header, then source, name, then argv and files as records {uint32 name_n, uint32 pad, uint64 data_n,
 * name, data}, all unpadded and packed one after another. argv records have data_n 0. Written by the provider. */
#define MF_JOB_MAGIC 0x3142464au /* "JFB1" */
#define MF_JOB_DISPLAY_LAST 1u   /* the value of a last expression is shown */
struct mf_job_header {
  uint32_t magic, version;
  uint32_t source_n, name_n;
  uint32_t argv_n, file_n;
  uint32_t flags; /* MF_JOB_*; others are refused */
};
struct mf_job_record {
  uint32_t name_n, pad;
  uint64_t data_n;
};

/* ---- provider ↔ supervisor ---- */
enum mf_sup_type {
  MF_SUP_READY = 1, /* supervisor → provider: struct mf_sup_ready: one child was seen to reach READY */
  MF_SUP_FATAL,     /* supervisor → provider: struct mf_zyg_fatal; then it exits */
  MF_SUP_START,     /* provider → supervisor: struct mf_sup_start + {job memfd} */
  MF_SUP_CANCEL,    /* provider → supervisor: struct mf_sup_cancel */
  MF_SUP_STARTED,   /* supervisor → provider: struct mf_sup_started */
  MF_SUP_OUTPUT,    /* supervisor → provider: struct mf_sup_output, then `len` raw guest bytes */
  MF_SUP_HINT,      /* supervisor → provider: struct mf_sup_hint */
  MF_SUP_FINISHED,  /* supervisor → provider: struct mf_sup_finished + {work directory fd, when there was one} */
  MF_SUP_REAPED,    /* supervisor → provider: struct mf_sup_reaped: every process is gone, the place is free */
  MF_SUP_STATS,     /* provider → supervisor (struct mf_sup_cancel, id echoed) and back: struct mf_sup_stats */
};
enum mf_memory_control { MF_MEMORY_NONE, MF_MEMORY_CGROUP2, MF_MEMORY_CGROUP1, MF_MEMORY_WATCHDOG };
struct mf_sup_ready {
  uint32_t type, version;
  uint32_t layers; /* of the first child */
  int32_t landlock_abi;
  uint32_t memory_control; /* enum mf_memory_control */
  uint32_t pids_control;   /* 1: a pids cgroup; 0: RLIMIT_NPROC in the user namespace */
  uint32_t python_hex;
  uint32_t checkpointed;
  char seccomp_sha256[65];
  char checkpoint_note[120];
  char pad[7];
};
struct mf_sup_start {
  uint32_t type, runtime; /* 1: stdlib, 2: data */
  uint64_t id;
  uint64_t wall_ms, cpu_ms, memory_bytes;
  uint64_t stdout_bytes, stderr_bytes; /* raw bytes forwarded at most; what comes after is read and dropped */
  uint32_t pids;
  uint32_t stop_on_output; /* 1: end the run when a stream passes its cap */
};
struct mf_sup_cancel {
  uint32_t type, pad;
  uint64_t id;
};
struct mf_sup_started {
  uint32_t type, from_pool;
  uint64_t id;
};
struct mf_sup_output {
  uint32_t type, is_stderr;
  uint64_t id;
  uint32_t len, dropped; /* dropped 1: bytes past the cap were thrown away (len may be 0) */
};
struct mf_sup_hint {
  uint32_t type, len;
  uint64_t id;
  char text[MF_TEXT_MAX];
};
enum mf_kill_cause { MF_KILL_NONE, MF_KILL_WALL, MF_KILL_CPU, MF_KILL_MEMORY, MF_KILL_OUTPUT, MF_KILL_CANCEL };
struct mf_sup_finished {
  uint32_t type;
  uint32_t killed; /* enum mf_kill_cause: why the supervisor ended it; NONE: it ended by itself */
  uint64_t id;
  uint32_t by_word;   /* 1: exit_code and uncaught are the child's word; 0: from the wait status */
  int32_t exit_code;  /* 0..255, -1 unknown */
  int32_t signal;     /* 0 or the signal that ended the first process */
  uint32_t uncaught;  /* enum mf_uncaught */
  uint32_t oom_kills; /* by the memory cgroup */
  uint32_t has_files; /* 0: the work directory is empty by the child's word */
  uint32_t crashed;   /* 1: the machinery failed (zygote died, child setup failed); see text */
  uint32_t begun;     /* 1: the user's code had started */
  uint64_t wall_us, cpu_us, memory_peak_bytes;
  char text[120]; /* ours, for crashed */
};
struct mf_sup_reaped {
  uint32_t type, pad;
  uint64_t id;
};
struct mf_sup_stats {
  uint32_t type, busy;
  uint64_t id;
  uint32_t pool_stdlib, pool_data; /* idle children */
  uint32_t zygote_restarts, forks;
  int32_t zygote_stdlib_pid, zygote_data_pid; /* in the supervisor's pid namespace; 0 when down */
  uint64_t idle_private_bytes;                /* private memory of one idle data child; 0 when none */
};

#endif

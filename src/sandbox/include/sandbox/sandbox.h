/* The provider contract: what it means to run one Python program in one sandbox.
 *
 * Calls go down (start, cancel, close), events come up (started, output, finished). A *run* is born by
 * mf_sandbox_start, works once and ends with exactly one `finished` event. Everything here belongs to the
 * provider's loop thread. What the guest does is a result, never an mf_err.
 *
 * Which files hold what: limits.c (defaults, ceilings, checks), result.c (life cycle, JSON), output.c (guest bytes →
 * bounded UTF-8), artifacts.c (collection from outside), adopt.c (files that are handed over), mime.c, receipt.c. */
#ifndef MF_SANDBOX_SANDBOX_H
#define MF_SANDBOX_SANDBOX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "json/json.h"
#include "loop/loop.h"

/* ---- limits ---- */

enum mf_output_policy {
  MF_OUTPUT_TRUNCATE, /* past the cap the text is cut and flagged; the program runs on */
  MF_OUTPUT_STOP,     /* past the cap the program is stopped: status limit, reason output */
};

struct mf_sandbox_limits {
  uint64_t wall_ms;                    /* from the start of the user's code */
  uint64_t cpu_ms;                     /* of the whole process tree; 0: no limit of its own */
  uint64_t memory_bytes;               /* of the whole sandbox, files in memory included where a cgroup counts */
  uint32_t pids;                       /* processes and threads */
  uint64_t fuel;                       /* wasm only; 0: the provider's default */
  uint64_t stdout_bytes, stderr_bytes; /* of repaired UTF-8 text */
  uint64_t artifact_bytes;             /* all artifacts together */
  uint32_t artifact_count;
  enum mf_output_policy output_policy;
};

#define MF_WALL_MS_MAX 3600000ull /* an hour: the most that any door may ask for */
#define MF_SOURCE_BYTES_MAX (1u << 20)
#define MF_INPUT_BYTES_MAX (20u << 20) /* all inputs together */
#define MF_INPUT_COUNT_MAX 256u
#define MF_ARGV_COUNT_MAX 1024u
#define MF_ARGV_BYTES_MAX (128u << 10) /* all arguments together */
#define MF_CPU_MS_MAX 86400000ull      /* a day of processor time: many processes in an hour */
#define MF_MEMORY_BYTES_MIN (64ull << 20)
#define MF_MEMORY_BYTES_MAX (1ull << 40)
#define MF_PIDS_MAX 4096u
#define MF_OUTPUT_BYTES_MAX (16u << 20) /* each stream */
#define MF_ARTIFACT_BYTES_MAX (20u << 20)
#define MF_ARTIFACT_COUNT_MAX 256u /* each holds a descriptor until the result is freed */
#define MF_REJECTED_MAX 64u        /* rejected artifacts listed; one more entry counts the rest */
#define MF_MIME_HEAD_N 4096u       /* bytes of a file's start that mf_mime_sniff likes to see */
#define MF_DENIED_MAX 32u          /* hints kept of one run */
#define MF_DENIED_TEXT_MAX 240u    /* bytes of one hint */

/* 60 s, 1 GiB, 64 pids, 1 MiB of each stream, 20 MiB and 256 artifacts, truncate. */
void mf_sandbox_limits_default(struct mf_sandbox_limits *ret);
MF_MUST_USE enum mf_code mf_sandbox_limits_check(const struct mf_sandbox_limits *l, struct mf_err *err);

/* ---- spec ---- */

struct mf_sandbox_file {
  struct mf_str name; /* relative, as mf_name_check */
  struct mf_str data;
};

enum mf_runtime_hint { MF_RUNTIME_AUTO, MF_RUNTIME_STDLIB, MF_RUNTIME_DATA };

struct mf_sandbox_spec {
  struct mf_str source;      /* valid UTF-8 without NUL, at most MF_SOURCE_BYTES_MAX; may be empty */
  struct mf_str source_name; /* a file name for tracebacks; empty: "main.py" */
  const struct mf_str *argv; /* sys.argv[1:] */
  unsigned argv_n;
  const struct mf_sandbox_file *files; /* written into the work directory byte for byte */
  unsigned file_n;
  struct mf_sandbox_limits limits;
  enum mf_runtime_hint runtime;
  /* The value of a last statement that is an expression goes to sys.displayhook, as in a notebook; a line that ends in
   * a semicolon shows nothing. */
  bool display_last_expression;
};

/* Everything a door must know before a provider sees the spec: names valid and different, sizes, UTF-8, limits.
 * The message names the part that is wrong. Thread: any. */
MF_MUST_USE enum mf_code mf_sandbox_spec_check(const struct mf_sandbox_spec *spec, struct mf_err *err);

/* ---- result ---- */

enum mf_run_status {
  MF_RUN_SUCCEEDED,
  MF_RUN_FAILED,
  MF_RUN_TIMED_OUT,
  MF_RUN_CANCELLED,
  MF_RUN_LIMIT,
  MF_RUN_STATUS_N
};
enum mf_run_reason {
  MF_REASON_EXIT,      /* ended by itself (exit code says how) */
  MF_REASON_EXCEPTION, /* uncaught exception */
  MF_REASON_SIGNAL,    /* killed by a signal of its own making */
  MF_REASON_WALL_TIME,
  MF_REASON_CPU,
  MF_REASON_FUEL,
  MF_REASON_MEMORY,
  MF_REASON_OUTPUT,
  MF_REASON_PIDS,
  MF_REASON_DISK,
  MF_REASON_CANCELLED,
  MF_REASON_CAPACITY,     /* no free place */
  MF_REASON_WORKER_CRASH, /* the machinery around the guest ended */
  MF_REASON_UNAVAILABLE,  /* the provider cannot run anything now */
  MF_REASON_N
};
const char *mf_run_status_name(enum mf_run_status s);
const char *mf_run_reason_name(enum mf_run_reason r);

struct mf_artifact {
  char *path; /* relative, valid as mf_name_check */
  uint64_t size_bytes;
  char sha256[MF_SHA256_HEX_N];
  const char *mime_type; /* a constant, sniffed from the content, the name only breaking ties */
  int fd;                /* a sealed memfd with the content, offset 0; owned by the result */
};
struct mf_rejected_artifact {
  char *path;   /* escaped when it is not a valid name */
  char *reason; /* "symbolic link", "not a regular file", "over the size limit (…)", … */
};

/* What really held the guest: filled by the provider from what was seen to work, not from what was asked. */
struct mf_receipt {
  char provider[16];
  char isolation[16];                   /* "full", "degraded", "none" */
  char layers[512];                     /* "user,pid,mount,network,ipc,uts,seccomp,landlock:7,no_new_privs,…" */
  char seccomp_sha256[MF_SHA256_HEX_N]; /* of the BPF program; "" without */
  int landlock_abi;                     /* 0 without */
  char memory_control[16];              /* cgroup2 | cgroup1 | watchdog | rlimit | none */
  char runtime_id[64];                  /* "python-data-analysis-v1" */
  char runtime_digest[80];              /* "sha256:…" */
  char python_version[32];
  char start[16]; /* "pool" | "fork" | "cold" */
  char code_sha256[MF_SHA256_HEX_N];
  struct mf_sandbox_limits limits;
  struct {
    char *name;
    uint64_t size_bytes;
    char sha256[MF_SHA256_HEX_N];
  } * inputs; /* owned */
  unsigned input_n;
};

struct mf_sandbox_result {
  enum mf_run_status status;
  enum mf_run_reason reason;
  bool has_exit_code;
  int exit_code;          /* 0..255 */
  int signal;             /* 0 when not ended by one */
  struct mf_buf out, err; /* valid UTF-8, within the limits */
  bool out_truncated, err_truncated;
  struct mf_artifact *artifacts;
  unsigned artifact_n;
  struct mf_rejected_artifact *rejected;
  unsigned rejected_n;
  char *denied[MF_DENIED_MAX];
  unsigned denied_n;    /* words about what the sandbox refused; untrusted, valid UTF-8 */
  char diagnostic[200]; /* ours, for worker_crash / unavailable / capacity; "" otherwise. Never guest text */
  uint64_t duration_ms; /* of the user's code */
  uint64_t duration_us;
  uint64_t cpu_ms;
  uint64_t memory_peak_bytes; /* 0 when not known */
  uint64_t fuel;              /* instructions executed; 0 when not known, or not counted */
  struct mf_receipt receipt;
};
struct mf_sandbox_result *mf_sandbox_result_new(void);
void mf_sandbox_result_free(struct mf_sandbox_result *r); /* NULL is fine; closes artifact fds */
/* Adds one hint: repaired to UTF-8, control characters escaped, cut to MF_DENIED_TEXT_MAX, duplicates dropped,
 * at most MF_DENIED_MAX kept. */
void mf_sandbox_result_deny(struct mf_sandbox_result *r, struct mf_str text);

/* The JSON that `mayfly run --json` prints and the task API returns: taskId, status, reason, exitCode, signal, stdout,
 * stderr, truncated{stdout,stderr}, artifacts[{path,sizeBytes,sha256,mimeType}], rejectedArtifacts[{path,reason}],
 * denied[], usage{durationMs,cpuMs,memoryMb,fuel?}, receipt{…}. status is projected for the task API: a reached limit
 * is "failed" with its reason. exitCode and signal are null when there is none, memoryMb (MiB) when it is not known;
 * fuel is only there where it was counted. */
void mf_sandbox_result_write_json(const struct mf_sandbox_result *r, const char *task_id, struct mf_json_writer *w);
/* The members of that object from `reason` to `receipt`, for a door that knows more than the result does. */
struct mf_result_members {
  const char *reason;                                                 /* NULL: null */
  bool has_run;                                                       /* false: usage and receipt are null */
  void (*artifact)(void *user, unsigned i, struct mf_json_writer *w); /* more members of one; NULL: none */
  void *user;
};
void mf_sandbox_result_write_members(const struct mf_sandbox_result *r, const struct mf_result_members *m,
                                     struct mf_json_writer *w);
void mf_receipt_write_json(const struct mf_receipt *r, struct mf_json_writer *w);
/* code and input digests, limits: the part of a receipt that every provider fills alike */
void mf_receipt_fill_from_spec(struct mf_receipt *r, const struct mf_sandbox_spec *spec);

/* ---- guest bytes → text ---- */

/* Collects one stream: repairs UTF-8 as it comes, keeps at most max bytes, cuts on a character boundary. */
struct mf_output;
struct mf_output *mf_output_new(uint64_t max_bytes);
void mf_output_free(struct mf_output *o);
/* Returns, in *ret_new, the newly retained text (borrowed until the next call) for live streaming. */
void mf_output_feed(struct mf_output *o, struct mf_str raw, struct mf_str *ret_new);
void mf_output_finish(struct mf_output *o, struct mf_str *ret_new);
/* The feeder threw bytes away after the last ones it fed (a raw cap of its own): a character that they cut in two is
 * forgotten instead of becoming U+FFFD, the text is flagged as truncated and takes nothing more. */
void mf_output_drop(struct mf_output *o);
bool mf_output_is_truncated(const struct mf_output *o);
/* Moves the text into *ret (initialised by this call). */
void mf_output_take(struct mf_output *o, struct mf_buf *ret);

/* ---- artifacts ---- */

/* Walks the directory `dirfd` after every process of the run is dead and fills artifacts and rejected of `r`.
 * Regular files only, found with openat2(RESOLVE_BENEATH|NO_SYMLINKS|NO_MAGICLINKS|NO_XDEV); bounded in count, depth
 * (16 parts), entries visited (65,536), bytes (limits) and time (5 s). Inputs that are byte for byte unchanged are left
 * out; a hard link counts once per name. Sorted by path. Folders named __pycache__ and *.pyc files are skipped
 * silently. At most MF_REJECTED_MAX refusals are listed, then one entry "… and N more"; what a bound left unseen is
 * said of ".". Modes that deny reading to their owner are changed on the way. MF_E_SYS: the directory itself cannot be
 * read, or not to its end; what was found is in `r` all the same. Blocks for up to 5 s, but ends soon after another
 * thread has set *stop (NULL: nobody will). Thread: any. */
MF_MUST_USE enum mf_code mf_artifacts_collect(int dirfd, const struct mf_sandbox_limits *limits,
                                              const struct mf_sandbox_file *inputs, unsigned input_n,
                                              const atomic_bool *stop, struct mf_sandbox_result *r, struct mf_err *err);

/* A file that a sandbox hands over instead of leaving it in a folder. Nothing of it is trusted. */
struct mf_offered_file {
  struct mf_str name;  /* any bytes */
  uint64_t size_bytes; /* as told, where there is no content */
  int fd;              /* a sealed memfd; -1: withheld, since it is past a limit; MF_OFFERED_LOST */
};
#define MF_OFFERED_LOST (-2) /* it was handed over, and this process had no room for the descriptor */
/* Fills artifacts and rejected of `r` from n offered files, under the same rules as mf_artifacts_collect: names,
 * limits, unchanged inputs, lists, time, stop. What is kept is copied; the descriptors stay the caller's. left_n: so
 * many more were not offered one by one; other_n: so many things were no files. Thread: any. */
void mf_artifacts_adopt(const struct mf_offered_file *files, unsigned n, uint64_t left_n, uint64_t other_n,
                        const struct mf_sandbox_limits *limits, const struct mf_sandbox_file *inputs, unsigned input_n,
                        const atomic_bool *stop, struct mf_sandbox_result *r);
const char *mf_mime_sniff(struct mf_str name, struct mf_str head);

/* ---- providers ---- */

enum mf_sandbox_cap {
  MF_CAP_FILES = 1u << 0,     /* inputs and artifacts */
  MF_CAP_PROCESSES = 1u << 1, /* subprocess, multiprocessing */
  MF_CAP_THREADS = 1u << 2,
  MF_CAP_NUMPY = 1u << 3,
  MF_CAP_PANDAS = 1u << 4,
  MF_CAP_PLOT = 1u << 5,
  MF_CAP_FUEL = 1u << 6,
  MF_CAP_SIGNALS = 1u << 7,
  MF_CAP_DENIED = 1u << 8, /* words about refused operations */
  MF_CAP_MEMORY = 1u << 9, /* a hard memory limit on the whole sandbox */
  MF_CAP_CPU = 1u << 10,
};

/* `started`, `output` and `released` may be NULL: nobody listens. */
struct mf_sandbox_events {
  void (*started)(void *user);                                    /* the user's code is about to run */
  void (*output)(void *user, bool is_stderr, struct mf_str text); /* live, valid UTF-8, already within the cap */
  void (*finished)(void *user, struct mf_sandbox_result *result); /* takes `result`; the run is gone */
  /* The last event, once for each run that was started, after `finished` and from the loop: every process of the run is
   * gone and its place is free (mf_provider_busy). Where it is not NULL, `user` must live until then. */
  void (*released)(void *user);
};

struct mf_provider;             /* an instance */
struct mf_run {                 /* one run of it: first member of every provider's own run struct */
  struct mf_provider *provider; /* set by ops->start, so that mf_sandbox_cancel finds the way back */
};

struct mf_provider_ops {
  const char *name;
  uint32_t caps; /* the most it can ever do; mf_provider_caps says what this instance can */
  MF_MUST_USE enum mf_code (*start)(struct mf_provider *p, const struct mf_sandbox_spec *spec,
                                    const struct mf_sandbox_events *events, void *user, struct mf_run **ret,
                                    struct mf_err *err);
  void (*cancel)(struct mf_run *run);
  void (*close)(struct mf_provider *p, void (*closed)(void *user), void *user);
  uint32_t (*instance_caps)(const struct mf_provider *p);
  unsigned (*busy)(const struct mf_provider *p);
};
struct mf_provider {
  const struct mf_provider_ops *ops; /* first member of every provider's own struct */
};

/* Starts a run. Checks the spec; copies what it needs of it; `events` must outlive the run.
 * Returns MF_OK: `finished` will be called exactly once, from the loop (never inside this call), also after cancel.
 * MF_E_CAPACITY: no free place (nothing is ever queued here). MF_E_INPUT: the spec. MF_E_UNAVAILABLE: the provider is
 * down; the message says why. */
MF_MUST_USE enum mf_code mf_sandbox_start(struct mf_provider *p, const struct mf_sandbox_spec *spec,
                                          const struct mf_sandbox_events *events, void *user, struct mf_run **ret,
                                          struct mf_err *err);
/* Asks a run to end; `finished` follows with status cancelled, or with what happened before. Idempotent until
 * `finished` has been called; afterwards the pointer is dead. */
void mf_sandbox_cancel(struct mf_run *run);
/* Cancels what runs, releases everything, then calls `closed` once from the loop. The provider is freed. */
void mf_provider_close(struct mf_provider *p, void (*closed)(void *user), void *user);
uint32_t mf_provider_caps(const struct mf_provider *p);
/* Places taken: runs that have not been reaped yet, finished ones included. */
unsigned mf_provider_busy(const struct mf_provider *p);

/* A convenience for doors that run one thing at a time: start, run the loop until `finished`. The loop must be idle. */
MF_MUST_USE enum mf_code mf_sandbox_run_sync(struct mf_loop *loop, struct mf_provider *p,
                                             const struct mf_sandbox_spec *spec, struct mf_sandbox_result **ret,
                                             struct mf_err *err);

#endif

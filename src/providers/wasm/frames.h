/* The messages between the provider (in the gateway's process) and a worker. Each is one SOCK_SEQPACKET message; both
 * ends are the same program on the same machine, so they are plain structs.
 *
 * A guest that broke out of WebAssembly owns its worker. So the provider believes nothing: frames.c checks the form of
 * each frame, the provider its place in the order below, and one that does not fit ends the worker and its call. What
 * a forged DONE says can hurt only the result of the call that the forger was given.
 *
 *   worker                             provider
 *   HELLO  it is in its control group → looks for itself
 *                                     ← GO
 *   READY  loaded and locked in        →
 *                                     ← CALL + job memfd
 *   BEGAN  the user's code starts      →
 *   OUTPUT …                           →
 *   FILE + sealed memfd …              →
 *   DONE                               →   (and the next CALL)
 */
#ifndef MF_WASM_FRAMES_H
#define MF_WASM_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MF_WORKER_VERSION 1u
#define MF_WORKER_ARGV0 "mayfly-wasm-worker"
#define MF_WORKER_CONFIG_FD 3
#define MF_WORKER_SOCKET_FD 4
#define MF_WORKER_CODE_FD 5
#define MF_WORKER_CGROUP_FD 6 /* and 7: cgroup.procs to join, as many as the configuration says */

#define MF_WORKER_TEXT_MAX 200u
#define MF_WORKER_CHUNK_MAX 65536u /* bytes of guest output in one frame */
#define MF_WORKER_NAME_MAX 1024u   /* bytes of a file's name in a frame; longer ones are cut, and so refused */
#define MF_WORKER_FILES_MAX 4096u  /* FILE frames of one call */
/* Of a stream a character more than its cap goes up, so that one which the cap cuts in two is known whole. */
#define MF_WORKER_SPARE_BYTES 4u

/* Descriptor 3, read once. */
struct mf_worker_config {
  uint32_t version, abi;
  uint32_t cgroup_n;    /* descriptors to join; 0: none */
  int32_t parent_pid;   /* who must still be there after PR_SET_PDEATHSIG */
  uint64_t data_bytes;  /* RLIMIT_DATA; 0: a control group holds the memory */
  char cgroup_tail[64]; /* what the path of its group must end with, as "mayfly-1-2/0"; "": none */
};

enum mf_worker_layer { /* what a worker has really applied */
                       MF_WORKER_NNP = 1u << 0,
                       MF_WORKER_SECCOMP = 1u << 1,
                       MF_WORKER_RLIMIT = 1u << 2,
                       MF_WORKER_CGROUP = 1u << 3,
};
#define MF_WORKER_LAYERS_FULL (MF_WORKER_NNP | MF_WORKER_SECCOMP | MF_WORKER_RLIMIT)

enum mf_worker_frame {
  MF_WORKER_HELLO = 1,
  MF_WORKER_GO,
  MF_WORKER_READY,
  MF_WORKER_FATAL, /* instead of HELLO or READY; then it ends */
  MF_WORKER_CALL,
  MF_WORKER_BEGAN,
  MF_WORKER_OUTPUT,
  MF_WORKER_FILE,
  MF_WORKER_DONE,
};

struct mf_worker_hello { /* and GO, the other way */
  uint32_t type, version;
};
struct mf_worker_ready {
  uint32_t type, layers;
  char seccomp_sha256[65];
  char pad[7];
};
struct mf_worker_fatal {
  uint32_t type;
  int32_t sys; /* errno or 0 */
  char text[MF_WORKER_TEXT_MAX];
};
struct mf_worker_call { /* + {job memfd} */
  uint32_t type, stop_on_output;
  uint64_t serial; /* comes back in every frame of this call */
  uint64_t wall_ns, fuel, memory_bytes;
  uint64_t stdout_bytes, stderr_bytes; /* raw bytes sent up at most: the cap and MF_WORKER_SPARE_BYTES */
  uint64_t artifact_bytes;
  uint32_t artifact_count, pad;
};
struct mf_worker_began {
  uint32_t type, pad;
  uint64_t serial;
};
struct mf_worker_output { /* then `len` bytes of the guest's */
  uint32_t type, is_stderr;
  uint64_t serial;
  uint32_t len, dropped; /* dropped 1: bytes past the cap were thrown away; len may be 0 then */
};
struct mf_worker_file { /* then `name_n` bytes; + {sealed memfd}, or nothing where it is past a limit */
  uint32_t type, name_n;
  uint64_t serial;
  uint64_t size;
};

enum mf_worker_end {
  MF_END_WORD,   /* mayfly_run returned or the guest called exit: `word` */
  MF_END_FUEL,   /* all of it is used */
  MF_END_WALL,   /* the deadline has passed */
  MF_END_OUTPUT, /* a stream passed its cap under the policy "stop" */
  MF_END_MEMORY, /* it could not even take its job */
  MF_END_FAULT,  /* out of bounds, stack overflow, a wrong indirect call */
  MF_END_ABORT,  /* unreachable, a division by zero */
  MF_END_BROKEN, /* the machinery failed; the worker ends */
  MF_END_N
};
struct mf_worker_done {
  uint32_t type;
  uint32_t end; /* enum mf_worker_end */
  uint64_t serial;
  int32_t word;            /* MF_GUEST_WORD */
  uint32_t is_memory_full; /* 1: the guest's memory had grown to its limit */
  uint64_t fuel_used, memory_bytes, wall_us, cpu_us;
  uint32_t file_left_n, file_other_n; /* as struct mf_guest_files */
  uint32_t files_failed;              /* 1: the guest could not list its files */
  uint32_t pad;
};

/* ---- reading ---- */

#define MF_WORKER_FRAME_MAX (sizeof(struct mf_worker_output) + MF_WORKER_CHUNK_MAX)

/* One frame of a worker; the fixed part is copied, `tail` points into the message. */
struct mf_worker_msg {
  enum mf_worker_frame type;
  union {
    struct mf_worker_hello hello;
    struct mf_worker_ready ready;
    struct mf_worker_fatal fatal;
    struct mf_worker_began began;
    struct mf_worker_output output;
    struct mf_worker_file file;
    struct mf_worker_done done;
  } u;
  const char *tail; /* output, name */
  size_t tail_n;
  uint64_t serial; /* of the frames of a call, else 0 */
};

/* Checks a message of n bytes that came with fd_n descriptors: a type that a worker may send, the exact length, every
 * number in its range, texts with their NUL, no descriptor too many. False: the sender is broken or hostile.
 * Thread: any. */
bool mf_worker_parse(const void *p, size_t n, unsigned fd_n, struct mf_worker_msg *ret);

#endif

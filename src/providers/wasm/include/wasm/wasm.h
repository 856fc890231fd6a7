/* The wasm provider: CPython in WebAssembly inside limited worker processes. No namespaces, no setuid, no image: a
 * guest that cannot reach a system call, metered by fuel.
 *
 * This is the only header that others (cli, tests, bench) may include. It is always there; a program that was built
 * without the feature `embedded_code_interpreter` says so from mf_wasm_new. */
#ifndef MF_WASM_WASM_H
#define MF_WASM_WASM_H

#include "loop/loop.h"
#include "sandbox/sandbox.h"

/* Whether this program was built with the feature `embedded_code_interpreter`. */
bool mf_wasm_is_built(void);

struct mf_wasm_config {
  const char *program;     /* the mayfly program, which becomes the workers; NULL: this very one */
  const char *runtime_dir; /* holds manifest.json and guest.cwasm (scripts/setup-wasm-runtime); NULL: looked for as
                              mf_wasm_find_runtime does, beside `program` */
  unsigned max_running;    /* places = workers at most, 1..256; one call at a time in each */
  unsigned ready_workers;  /* started at once and kept; the others start when needed and end when idle; default 1 */
  unsigned calls_max;      /* a worker is replaced after so many calls; 1: a process for each call; default 1000 */
  uint64_t worker_memory_bytes; /* memory.max of a worker's cgroup, RLIMIT_DATA without; default 1 GiB. A call whose
                                   own limit needs more gets that and MF_WASM_WORKER_OVERHEAD_BYTES */
  uint64_t default_fuel;        /* where limits.fuel is 0; default 10,000,000,000 */
  bool use_cgroup;              /* false: as on a host without cgroups */
};
#define MF_WASM_WORKER_OVERHEAD_BYTES (128ull << 20)
#define MF_WASM_GUEST_MEMORY_MIN (48ull << 20) /* the snapshot itself has some 42: print(1) needs no more */
#define MF_WASM_GUEST_MEMORY_MAX (4ull << 30)  /* 32-bit addresses */
void mf_wasm_config_default(struct mf_wasm_config *c);

/* Verifies the runtime's digest, starts the first worker, runs `pass` in it. `ready` is called once from the loop:
 * MF_OK when that ended as it should, else the reason with its remedy (the provider must still be closed).
 * MF_E_UNAVAILABLE from the call itself: not built in, no runtime, one of another version or with another digest.
 * Thread: the loop's. Owns: copies config. */
MF_MUST_USE enum mf_code mf_wasm_new(struct mf_loop *loop, const struct mf_wasm_config *config,
                                     void (*ready)(void *user, enum mf_code code, const struct mf_err *err), void *user,
                                     struct mf_provider **ret, struct mf_err *err);

/* The worker's main, for a process exec'ed as "mayfly-wasm-worker" with an empty environment: configuration, socket and
 * guest code arrive on descriptors 3, 4 and 5. Returns the exit status. */
int mf_wasm_worker_main(void);
/* True when this process was exec'ed as a worker: main asks this first, before anything else is read. */
bool mf_wasm_is_worker(int argc, char **argv);

/* Where the runtime is: explicit path, else MAYFLY_WASM_RUNTIME, else beside the binary ("wasm"), else the installed
 * place. MF_E_UNAVAILABLE says how to make one. *ret malloc'ed. */
MF_MUST_USE enum mf_code mf_wasm_find_runtime(const char *explicit_path, char **ret, struct mf_err *err);

struct mf_wasm_runtime_info {
  char id[64], digest[80], python_version[32], wasmtime_version[32];
};
MF_MUST_USE enum mf_code mf_wasm_read_runtime(const char *runtime_dir, struct mf_wasm_runtime_info *ret,
                                              struct mf_err *err);

/* ---- for doctor, bench and tests ---- */

struct mf_wasm_info {
  unsigned workers, busy, started_n, calls_n; /* workers alive; started and calls since the beginning */
  pid_t worker_pids[256];                     /* of those alive */
  char memory_control[16];                    /* cgroup2 | cgroup1 | rlimit */
  uint64_t worker_private_bytes;              /* of one idle worker; 0 when none */
};
void mf_wasm_info(struct mf_provider *p, struct mf_wasm_info *ret);

#endif

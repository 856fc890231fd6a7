/* The local provider: Linux namespaces, seccomp, Landlock and cgroups around children forked from warm zygotes.
 *
 * This is the only header that others (cli, tests, bench) may include. */
#ifndef MF_LOCAL_LOCAL_H
#define MF_LOCAL_LOCAL_H

#include "loop/loop.h"
#include "sandbox/sandbox.h"

enum mf_isolation { MF_ISOLATION_REQUIRE, MF_ISOLATION_PREFER };
enum mf_checkpoint { MF_CHECKPOINT_AUTO, MF_CHECKPOINT_OFF, MF_CHECKPOINT_REQUIRE };

struct mf_local_config {
  const char *program;     /* the mayfly program, which becomes the supervisor; NULL: this very one */
  const char *runtime_dir; /* holds rootfs/ and manifest.json (scripts/setup-runtime) */
  const char *zygote_dir; /* holds _mayfly.so and boot.py; NULL: "zygote" beside the binary, else the installed place */
  enum mf_isolation isolation;
  enum mf_checkpoint checkpoint;
  unsigned max_running;            /* places, 1..256 */
  unsigned pool_stdlib, pool_data; /* idle children kept ready, 0..64 */
  bool start_stdlib, start_data;   /* zygotes started at once; the other starts when first needed */
  bool warm;                       /* rehearse typical code in the zygote (W); false for a one-shot run */
  bool use_cgroup;                 /* false: watchdog and rlimits, as on a host without cgroups */
  uint64_t disk_bytes;             /* size of a sandbox's private file system; default 256 MiB */
  uint32_t disk_inodes;            /* default 32768 */
  unsigned zygote_max_forks;       /* replaced after so many children; 0: default 20000 */
  unsigned zygote_max_age_s;       /* and after so long; 0: default 3600 */
  uint32_t disable_layers;         /* tests only: MF_LAYER_* bits that are made to fail, as on a host without them */
};
void mf_local_config_default(struct mf_local_config *c);

/* Starts the supervisor. `ready` is called once from the loop: MF_OK when a real child was seen to start with every
 * required layer, else the reason with its remedy (the provider must still be closed). With isolation "prefer" and a
 * layer that this machine lacks it is MF_OK, a warning is logged once and every receipt says "none"; any other failure
 * (no answer in time, a crash) stays one.
 * Thread: the loop's. Owns: copies config. */
MF_MUST_USE enum mf_code mf_local_new(struct mf_loop *loop, const struct mf_local_config *config,
                                      void (*ready)(void *user, enum mf_code code, const struct mf_err *err),
                                      void *user, struct mf_provider **ret, struct mf_err *err);

/* The supervisor's main, for a process exec'ed as "mayfly-supervisor" with an empty environment: configuration and
 * socket arrive on descriptors 3 and 4. Returns the exit status. */
int mf_local_supervisor_main(void);
/* True when this process was exec'ed as a supervisor: main asks this first, before anything else is read. */
bool mf_local_is_supervisor(int argc, char **argv);

/* Which warm Python the provider would take for this program, MF_RUNTIME_STDLIB or MF_RUNTIME_DATA: for a door that
 * starts a provider for one run. Thread: any. */
enum mf_runtime_hint mf_local_route(const struct mf_sandbox_spec *spec);

/* What the supervisor last told of itself, for doctor, bench and tests. */
struct mf_local_info {
  uint32_t layers;
  int landlock_abi;
  uint32_t memory_control, pids_control, python_hex;
  bool checkpointed;
  char checkpoint_note[120];
  pid_t supervisor_pid, zygote_stdlib_pid, zygote_data_pid;
  unsigned pool_stdlib, pool_data, busy, zygote_restarts, forks;
  uint64_t idle_private_bytes;
};
/* Asks the supervisor and calls back from the loop. */
void mf_local_info(struct mf_provider *p, void (*fn)(void *user, const struct mf_local_info *info), void *user);

/* ---- probing, for `mayfly doctor` ---- */
enum mf_probe_state { MF_PROBE_OK, MF_PROBE_WARN, MF_PROBE_FAIL };
struct mf_probe_row {
  const char *layer;         /* "user namespace", "seccomp", … */
  enum mf_probe_state state; /* FAIL: isolation "require" would refuse */
  char detail[400];          /* what was seen */
  char remedy[500];          /* the exact commands; "" when OK */
};
#define MF_PROBE_ROWS_MAX 32
/* Really tries each layer in short-lived processes, then the whole through a supervisor. Thread: any, with no loop
 * running. Returns the number of rows. `disable_layers` as in the config. */
unsigned mf_local_probe(const struct mf_local_config *config, struct mf_probe_row rows[MF_PROBE_ROWS_MAX]);

/* The remedy for a failed setup step by the name of its step ("unshare user", "landlock", …), after looking at the
 * machine (AppArmor, Docker's seccomp profile, sysctls). Never NULL. */
void mf_local_remedy(const char *step, int sys, char *ret, size_t n);
/* True when a failure of this step means that the machine lacks a layer of the sandbox: it would fail again. */
bool mf_local_is_layer_step(const char *step);

/* Where the runtime is: explicit path, else MAYFLY_RUNTIME, else beside the binary ("runtime"), else the installed
 * place. MF_E_UNAVAILABLE says how to make one. *ret malloc'ed. */
MF_MUST_USE enum mf_code mf_local_find_runtime(const char *explicit_path, char **ret, struct mf_err *err);

/* Reads runtime_dir/manifest.json into the receipt's runtime fields. */
struct mf_runtime_info {
  char id[64], digest[80], python_version[32];
  char python_path[64];                 /* inside the rootfs: "/opt/python/bin/python3.12" */
  char host_python[256];                /* the interpreter it was made from, for isolation "none" */
  char site_packages[128];              /* inside the rootfs */
  bool has_numpy, has_pandas, has_plot; /* by its list of packages */
};
MF_MUST_USE enum mf_code mf_local_read_runtime(const char *runtime_dir, struct mf_runtime_info *ret,
                                               struct mf_err *err);

#endif

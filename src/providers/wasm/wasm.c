/* The door of the room: the provider on the real machine. */
#include "wasm/wasm.h"

#include <fcntl.h>
#include <stdio.h>

#include "base/fd.h"
#include "base/num.h"
#include "confine/cgroup.h"
#include "confine/spawn.h"
#include "provider.h"
#include "runtime.h"
#include "base/banned.h"

bool mf_wasm_is_built(void)
{
#ifdef MF_WITH_WASM
  return true;
#else
  return false;
#endif
}

void mf_wasm_config_default(struct mf_wasm_config *c)
{
  *c = (struct mf_wasm_config){
    .max_running = 4,
    .ready_workers = 1,
    .calls_max = 1000,
    .worker_memory_bytes = 1ull << 30,
    .default_fuel = 10000000000ull,
    .use_cgroup = true,
  };
}

bool mf_wasm_is_worker(int argc, char **argv)
{
  return argc > 0 && argv[0] && strcmp(argv[0], MF_WORKER_ARGV0) == 0;
}

#ifndef MF_WITH_WASM
int mf_wasm_worker_main(void)
{
  return 1;
}
#endif

/* ---- the machine ---- */

static enum mf_code spawn_worker(void *user, const char *program, const struct mf_worker_config *config, int code_fd,
                                 const int *cgroup_fds, struct mf_pidref *ret_proc, int *ret_sock, struct mf_err *err)
{
  mf_auto_close int config_fd = -1, ours = -1, theirs = -1;
  enum mf_code code = mf_spawn_config_fd(config, sizeof(*config), &config_fd, err);
  if (code == MF_OK)
    code = mf_spawn_socket(&ours, &theirs, err);
  if (code != MF_OK)
    return code;
  _Static_assert(MF_WORKER_CONFIG_FD == 3 && MF_WORKER_SOCKET_FD == 4 && MF_WORKER_CODE_FD == 5 &&
                     MF_WORKER_CGROUP_FD == 6,
                 "the order of these");
  int fds[5] = { config_fd, theirs, code_fd };
  unsigned n = 3;
  for (unsigned i = 0; i < config->cgroup_n && n < MF_ARRAY_N(fds); i++)
    fds[n++] = cgroup_fds[i];
  const struct mf_spawn_spec spec = { .program = program, .argv0 = MF_WORKER_ARGV0, .fds = fds, .fd_n = n };
  code = mf_spawn(&spec, ret_proc, err);
  if (code == MF_OK)
    *ret_sock = mf_take_fd(&ours);
  return code;
}

enum mf_code mf_wasm_new(struct mf_loop *loop, const struct mf_wasm_config *config,
                         void (*ready)(void *user, enum mf_code code, const struct mf_err *err), void *user,
                         struct mf_provider **ret, struct mf_err *err)
{
  if (!mf_wasm_is_built())
    return mf_fail(err, MF_E_UNAVAILABLE, 0,
                   "this program was built without the wasm provider; build it with "
                   "-Dembedded_code_interpreter=enabled (make wasm), or choose the provider 'local'");
  mf_auto_free char *dir = NULL;
  enum mf_code code = mf_wasm_find_runtime_of(config->program, config->runtime_dir, &dir, err);
  if (code != MF_OK)
    return code;
  mf_auto_close int code_fd = -1;
  struct mf_wasm_runtime_info info;
  code = mf_wasm_load_code(dir, &code_fd, &info, err);
  if (code != MF_OK)
    return code;
  struct mf_wasm_seam seam = { .spawn = spawn_worker, .sweep = config->use_cgroup ? mf_cgroup_sweep : NULL };
  mf_wasm_times_default(&seam.times);
  return mf_wasm_new_with(loop, config, &info, code_fd, &seam, ready, user, ret, err);
}

/* ---- what doctor and tests ask ---- */

/* Private_Clean and Private_Dirty of a process; 0 when they cannot be read (its memory is not ours to look at). */
static uint64_t private_bytes(pid_t pid)
{
  char path[64];
  snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
  mf_auto_free char *text = NULL;
  size_t n;
  if (mf_read_file(AT_FDCWD, path, 8192, &text, &n, NULL) != MF_OK)
    return 0;
  uint64_t sum = 0;
  for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
    if (strncmp(line, "Private_Clean:", 14) != 0 && strncmp(line, "Private_Dirty:", 14) != 0)
      continue;
    const char *digits = line + 14 + strspn(line + 14, " ");
    uint64_t kib = 0;
    const struct mf_str s = { digits, strspn(digits, "0123456789") };
    if (mf_parse_u64(s, "memory", 0, UINT32_MAX, &kib, NULL) == MF_OK)
      sum += kib << 10;
  }
  return sum;
}

void mf_wasm_info(struct mf_provider *p, struct mf_wasm_info *ret)
{
  const struct wasm *w = (const struct wasm *)(uintptr_t)p; /* base is the first member */
  struct mf_wasm_info info = { .started_n = w->started_n, .calls_n = w->calls_n };
  for (unsigned i = 0; i < w->config.max_running; i++) {
    const struct worker *k = &w->workers[i];
    if (k->state == WORKER_NONE || k->state == WORKER_CLEANING)
      continue;
    info.busy += k->state == WORKER_BUSY;
    if (info.workers < MF_ARRAY_N(info.worker_pids))
      info.worker_pids[info.workers] = k->proc.pid;
    info.workers++;
    if (k->state == WORKER_IDLE && info.worker_private_bytes == 0)
      info.worker_private_bytes = private_bytes(k->proc.pid);
  }
  snprintf(info.memory_control, sizeof(info.memory_control), "%s", pool_memory_control(w));
  *ret = info;
}

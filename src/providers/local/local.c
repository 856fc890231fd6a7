/* The local provider on the real machine: its configuration, its runtime, its supervisor. */
#include "local/local.h"

#include "confine/cgroup.h"
#include "provider.h"
#include "runtime.h"
#include "supervisor-spawn.h"
#include "base/banned.h"

static enum mf_code spawn_real(void *user, const char *program, const struct mf_supervisor_config *config,
                               struct mf_pidref *ret_sup, int *ret_sock, struct mf_err *err)
{
  return mf_spawn_supervisor(program, config, ret_sup, ret_sock, err);
}

enum mf_code mf_local_new(struct mf_loop *loop, const struct mf_local_config *config,
                          void (*ready)(void *user, enum mf_code code, const struct mf_err *err), void *user,
                          struct mf_provider **ret, struct mf_err *err)
{
  mf_auto_free char *runtime_dir = NULL;
  mf_auto_free char *zygote_dir = NULL;
  struct mf_runtime_info runtime;
  enum mf_code code = mf_local_find_runtime_of(config->program, config->runtime_dir, &runtime_dir, err);
  if (code == MF_OK)
    code = mf_local_read_runtime(runtime_dir, &runtime, err);
  if (code == MF_OK)
    code = mf_local_find_zygote(config->program, config->zygote_dir, &zygote_dir, err);
  if (code != MF_OK)
    return code;
  struct mf_local_config found = *config;
  found.runtime_dir = runtime_dir;
  struct mf_local_seam seam = { .spawn = spawn_real, .sweep = mf_cgroup_sweep };
  mf_local_times_default(&seam.times);
  return mf_local_new_with(loop, &found, zygote_dir, &runtime, &seam, ready, user, ret, err);
}

void mf_local_config_default(struct mf_local_config *c)
{
  *c = (struct mf_local_config){
    .isolation = MF_ISOLATION_REQUIRE,
    .checkpoint = MF_CHECKPOINT_AUTO,
    .max_running = 8,
    .pool_stdlib = 2,
    .pool_data = 2,
    .start_stdlib = true,
    .start_data = true,
    .warm = true,
    .use_cgroup = true,
    .disk_bytes = 256ull << 20,
    .disk_inodes = 32768,
  };
}

/* The door of the room: what a program without the feature says. */
#include "wasm/wasm.h"

#include <string.h>

#include "frames.h"
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

enum mf_code mf_wasm_new(struct mf_loop *loop, const struct mf_wasm_config *config,
                         void (*ready)(void *user, enum mf_code code, const struct mf_err *err), void *user,
                         struct mf_provider **ret, struct mf_err *err)
{
  return mf_fail(err, MF_E_UNAVAILABLE, 0,
                 "this program was built without the wasm provider; build it with "
                 "-Dembedded_code_interpreter=enabled, or choose the provider 'local'");
}

void mf_wasm_info(struct mf_provider *p, struct mf_wasm_info *ret)
{
  *ret = (struct mf_wasm_info){ 0 };
}

#ifndef MF_WITH_WASM
int mf_wasm_worker_main(void)
{
  return 1;
}
#endif

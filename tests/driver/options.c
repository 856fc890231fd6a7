/* mf-driver's options. Those of the other provider mean nothing. */
#include "options.h"

#include <getopt.h>
#include <stdio.h>

#include "base/num.h"
#include "sandbox/frames.h"

#include "base/banned.h"

enum option_id {
  OPT_RUNTIME = 1,
  OPT_ZYGOTE,
  OPT_CHECKPOINT,
  OPT_ISOLATION,
  OPT_NO_CGROUP,
  OPT_NO_WARM,
  OPT_POOL,
  OPT_POOL_STDLIB,
  OPT_POOL_DATA,
  OPT_MAX_RUNNING,
  OPT_DISABLE,
  OPT_DISK_BYTES,
  OPT_DISK_INODES,
  OPT_MAX_FORKS,
  OPT_NO_DATA,
  OPT_PROVIDER,
  OPT_WASM_RUNTIME,
  OPT_WASM_PROGRAM,
  OPT_CALLS
};
static const struct option options[] = {
  { "provider", required_argument, NULL, OPT_PROVIDER },
  { "runtime", required_argument, NULL, OPT_RUNTIME },
  { "zygote", required_argument, NULL, OPT_ZYGOTE },
  { "wasm-runtime", required_argument, NULL, OPT_WASM_RUNTIME },
  { "wasm-program", required_argument, NULL, OPT_WASM_PROGRAM },
  { "calls-per-worker", required_argument, NULL, OPT_CALLS },
  { "checkpoint", required_argument, NULL, OPT_CHECKPOINT },
  { "isolation", required_argument, NULL, OPT_ISOLATION },
  { "no-cgroup", no_argument, NULL, OPT_NO_CGROUP },
  { "no-warm", no_argument, NULL, OPT_NO_WARM },
  { "no-data", no_argument, NULL, OPT_NO_DATA },
  { "pool", required_argument, NULL, OPT_POOL },
  { "pool-stdlib", required_argument, NULL, OPT_POOL_STDLIB },
  { "pool-data", required_argument, NULL, OPT_POOL_DATA },
  { "max-running", required_argument, NULL, OPT_MAX_RUNNING },
  { "disable-layers", required_argument, NULL, OPT_DISABLE },
  { "disk-bytes", required_argument, NULL, OPT_DISK_BYTES },
  { "disk-inodes", required_argument, NULL, OPT_DISK_INODES },
  { "zygote-max-forks", required_argument, NULL, OPT_MAX_FORKS },
  { 0 },
};

static const struct {
  const char *name;
  uint32_t bit;
} layer_names[] = {
  { "user", MF_LAYER_USER },       { "pid", MF_LAYER_PID },
  { "mount", MF_LAYER_MOUNT },     { "net", MF_LAYER_NET },
  { "ipc", MF_LAYER_IPC },         { "uts", MF_LAYER_UTS },
  { "proc", MF_LAYER_PROC },       { "landlock", MF_LAYER_LANDLOCK },
  { "seccomp", MF_LAYER_SECCOMP }, { "nnp", MF_LAYER_NNP },
  { "caps", MF_LAYER_CAPS },       { "rlimit", MF_LAYER_RLIMIT },
  { "cgroup", MF_LAYER_CGROUP },   { "landlock_scope", MF_LAYER_LANDLOCK_SCOPE },
};

static bool parse_layers(struct mf_str s, uint32_t *ret)
{
  uint32_t bits = 0;
  while (s.len > 0) {
    const char *comma = memchr(s.ptr, ',', s.len);
    struct mf_str one = { s.ptr, comma ? (size_t)(comma - s.ptr) : s.len };
    size_t i = 0;
    while (i < MF_ARRAY_N(layer_names) && !mf_str_is(one, layer_names[i].name))
      i++;
    if (i == MF_ARRAY_N(layer_names))
      return false;
    bits |= layer_names[i].bit;
    s.ptr += one.len + (comma != NULL);
    s.len -= one.len + (comma != NULL);
  }
  *ret = bits;
  return true;
}

static bool take_number(int opt, struct mf_provider_config *c)
{
  uint64_t v = 0;
  struct mf_err err;
  if (mf_parse_u64(mf_str_of(optarg), "option", 0, UINT32_MAX, &v, &err) != MF_OK) {
    fprintf(stderr, "mf-driver: %s\n", err.msg);
    return false;
  }
  if (opt == OPT_POOL || opt == OPT_POOL_STDLIB)
    c->local.pool_stdlib = (unsigned)v;
  if (opt == OPT_POOL || opt == OPT_POOL_DATA)
    c->local.pool_data = (unsigned)v;
  if (opt == OPT_POOL)
    c->wasm.ready_workers = MF_MAX((unsigned)v, 1u);
  if (opt == OPT_CALLS)
    c->wasm.calls_max = (unsigned)v;
  if (opt == OPT_MAX_RUNNING)
    c->local.max_running = c->wasm.max_running = (unsigned)v;
  if (opt == OPT_DISK_BYTES)
    c->local.disk_bytes = v;
  if (opt == OPT_DISK_INODES)
    c->local.disk_inodes = (uint32_t)v;
  if (opt == OPT_MAX_FORKS)
    c->local.zygote_max_forks = (unsigned)v;
  return true;
}

static bool take_option(int opt, struct mf_provider_config *c)
{
  struct mf_str arg = mf_str_of(optarg);
  switch (opt) {
  case OPT_PROVIDER:
    return mf_provider_kind_find(optarg, &c->kind, NULL) == MF_OK;
  case OPT_WASM_RUNTIME:
    c->wasm.runtime_dir = optarg;
    return true;
  case OPT_WASM_PROGRAM:
    c->wasm.program = optarg;
    return true;
  case OPT_RUNTIME:
    c->local.runtime_dir = optarg;
    return true;
  case OPT_ZYGOTE:
    c->local.zygote_dir = optarg;
    return true;
  case OPT_CHECKPOINT:
    c->local.checkpoint = mf_str_is(arg, "off")       ? MF_CHECKPOINT_OFF
                          : mf_str_is(arg, "require") ? MF_CHECKPOINT_REQUIRE
                                                      : MF_CHECKPOINT_AUTO;
    return mf_str_is(arg, "off") || mf_str_is(arg, "require") || mf_str_is(arg, "auto");
  case OPT_ISOLATION:
    c->local.isolation = mf_str_is(arg, "prefer") ? MF_ISOLATION_PREFER : MF_ISOLATION_REQUIRE;
    return mf_str_is(arg, "prefer") || mf_str_is(arg, "require");
  case OPT_NO_CGROUP:
    c->local.use_cgroup = c->wasm.use_cgroup = false;
    return true;
  case OPT_NO_WARM:
    c->local.warm = false;
    return true;
  case OPT_NO_DATA:
    c->local.start_data = false;
    return true;
  case OPT_DISABLE:
    return parse_layers(arg, &c->local.disable_layers);
  case '?':
    return false;
  default:
    return take_number(opt, c);
  }
}

bool mf_driver_options(int argc, char **argv, struct mf_provider_config *ret)
{
  mf_provider_config_default(ret);
  /* A fast processor has used up the usual fuel within a second: where no test asks for it, time is what ends a
   * program.
   */
  ret->wasm.default_fuel = 1000ull * 1000 * 1000 * 1000;
  ret->local.start_stdlib = ret->local.start_data = true;
  int opt;
  while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1)
    if (!take_option(opt, ret))
      return false;
  return true;
}

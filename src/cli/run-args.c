/* The words after `mayfly run`. */
#include "run-args.h"

#include <stdio.h>

#include "base/num.h"
#include "base/path.h"

#include "base/banned.h"

#define FUEL_PLENTY 10000000000000u /* more than can be executed in MF_WALL_MS_MAX */

enum {
  OPT_FILE = 2,
  OPT_OUTPUT,
  OPT_FORCE,
  OPT_TIMEOUT,
  OPT_MEMORY,
  OPT_CPU,
  OPT_PIDS,
  OPT_OUTPUT_LIMIT,
  OPT_SERVER,
  OPT_PROVIDER,
  OPT_FUEL,
  OPT_ISOLATION,
  OPT_RUNTIME,
  OPT_WASM_RUNTIME,
  OPT_STDLIB,
  OPT_DATA,
  OPT_DISPLAY_LAST,
  OPT_JSON,
  OPT_RECEIPT,
  OPT_NO_CGROUP,
  OPT_DISABLE_LAYERS,
};

const struct mf_opt mf_run_opts[] = {
  { OPT_FILE, 'f', "file", "FILE[:NAME]", "give the program an input file, under NAME; may be repeated", "@file" },
  { OPT_OUTPUT, 'o', "output", "DIR", "where files that it made go (default ./mayfly-out)", "@dir" },
  { OPT_FORCE, 0, "force", NULL, "let them replace files of the same name in DIR", NULL },
  { OPT_TIMEOUT, 't', "timeout", "MS", "wall time for the program (default 60000)", NULL },
  { OPT_MEMORY, 'm', "memory", "MB", "memory of the whole sandbox (default 1024)", NULL },
  { OPT_CPU, 0, "cpu", "MS", "processor time of all its processes (default: no own limit)", NULL },
  { OPT_PIDS, 0, "pids", "N", "processes and threads (default 64)", NULL },
  { OPT_OUTPUT_LIMIT, 0, "output-limit", "BYTES", "of standard output, and of standard error (default 1048576)", NULL },
  { OPT_SERVER, 0, "server", "WHERE",
    "auto (default, or $MAYFLY_SERVER): this user's server if it runs; off; unix:PATH; a URL", NULL },
  { OPT_PROVIDER, 0, "provider", "NAME", "what runs it: local (default), or wasm where that was built in",
    "local wasm" },
  { OPT_FUEL, 0, "fuel", "N", "wasm: instructions that it may execute (default: no own limit)", NULL },
  { OPT_ISOLATION, 0, "isolation", "POLICY", "require (default): refuse without every layer; prefer: warn",
    "require prefer" },
  { OPT_RUNTIME, 0, "runtime", "DIR", "the Python runtime (default $MAYFLY_RUNTIME, else beside this program)",
    "@dir" },
  { OPT_WASM_RUNTIME, 0, "wasm-runtime", "DIR",
    "wasm: its runtime (default $MAYFLY_WASM_RUNTIME, else beside this program)", "@dir" },
  { OPT_STDLIB, 0, "stdlib", NULL, "it needs the standard library only (default: its imports decide)", NULL },
  { OPT_DATA, 0, "data", NULL, "it needs numpy, pandas, matplotlib or openpyxl", NULL },
  { OPT_DISPLAY_LAST, 0, "display-last", NULL,
    "show the value of a last line that is an expression, as a notebook does", NULL },
  { OPT_JSON, 'j', "json", NULL, "print one JSON object at the end and stream nothing", NULL },
  { OPT_RECEIPT, 'r', "receipt", NULL, "print what really held the program, as JSON on standard error", NULL },
  { OPT_NO_CGROUP, 0, "no-cgroup", NULL, NULL, NULL },
  { OPT_DISABLE_LAYERS, 0, "test-disable-layers", "BITS", NULL, NULL },
  MF_OPT_HELP_ROW,
  MF_OPT_END,
};

static enum mf_code take_number(const struct mf_opt *o, const char *value, uint64_t min, uint64_t max, uint64_t *ret,
                                struct mf_err *err)
{
  char what[40];
  snprintf(what, sizeof(what), "--%s", o->name);
  return mf_parse_u64(mf_str_of(value), what, min, max, ret, err);
}

/* Options that say what the request of a task has no word for, and those of them that one provider alone knows. */
static const struct {
  int id;
  bool is_of_one;
  enum mf_provider_kind kind;
} special[] = {
  { OPT_CPU, true, MF_PROVIDER_LOCAL },
  { OPT_PIDS, true, MF_PROVIDER_LOCAL },
  { OPT_ISOLATION, true, MF_PROVIDER_LOCAL },
  { OPT_RUNTIME, true, MF_PROVIDER_LOCAL },
  { OPT_STDLIB, true, MF_PROVIDER_LOCAL },
  { OPT_DATA, true, MF_PROVIDER_LOCAL },
  { OPT_DISABLE_LAYERS, true, MF_PROVIDER_LOCAL },
  { OPT_FUEL, true, MF_PROVIDER_WASM },
  { OPT_WASM_RUNTIME, true, MF_PROVIDER_WASM },
  { OPT_OUTPUT_LIMIT, .is_of_one = false },
  { OPT_PROVIDER, .is_of_one = false },
  { OPT_NO_CGROUP, .is_of_one = false },
};

static void note_special(struct mf_run_args *a, const struct mf_opt *o)
{
  for (size_t i = 0; i < MF_ARRAY_N(special); i++) {
    if (special[i].id != o->id)
      continue;
    a->is_special = true;
    if (special[i].is_of_one)
      a->only[special[i].kind] = o->name;
  }
}

static enum mf_code take_option(void *args, const struct mf_opt *o, const char *value, struct mf_err *err)
{
  struct mf_run_args *a = args;
  uint64_t n = 0;
  enum mf_code code = MF_OK;

  note_special(a, o);
  switch (o->id) {
  case OPT_FILE:
    if (a->file_n < MF_ARRAY_N(a->files))
      a->files[a->file_n++] = value;
    break;
  case OPT_OUTPUT:
    a->form.output = value;
    break;
  case OPT_FORCE:
    a->form.force = true;
    break;
  case OPT_TIMEOUT:
    code = take_number(o, value, 1, MF_WALL_MS_MAX, &a->limits.wall_ms, err);
    break;
  case OPT_MEMORY:
    code = take_number(o, value, MF_MEMORY_BYTES_MIN >> 20, MF_MEMORY_BYTES_MAX >> 20, &n, err);
    if (code == MF_OK)
      a->limits.memory_bytes = n << 20;
    break;
  case OPT_CPU:
    code = take_number(o, value, 1, MF_CPU_MS_MAX, &a->limits.cpu_ms, err);
    break;
  case OPT_PIDS:
    code = take_number(o, value, 1, MF_PIDS_MAX, &n, err);
    if (code == MF_OK)
      a->limits.pids = (uint32_t)n;
    break;
  case OPT_OUTPUT_LIMIT:
    code = take_number(o, value, 1, MF_OUTPUT_BYTES_MAX, &n, err);
    if (code == MF_OK)
      a->limits.stdout_bytes = a->limits.stderr_bytes = n;
    break;
  case OPT_SERVER:
    a->server = value;
    break;
  case OPT_PROVIDER:
    code = mf_provider_kind_find(value, &a->provider.kind, err);
    break;
  case OPT_FUEL:
    code = take_number(o, value, 1, UINT64_MAX, &a->limits.fuel, err);
    break;
  case OPT_ISOLATION:
    a->provider.local.isolation = strcmp(value, "prefer") == 0 ? MF_ISOLATION_PREFER : MF_ISOLATION_REQUIRE;
    break;
  case OPT_RUNTIME:
    a->provider.local.runtime_dir = value;
    break;
  case OPT_WASM_RUNTIME:
    a->provider.wasm.runtime_dir = value;
    break;
  case OPT_STDLIB:
    a->runtime = MF_RUNTIME_STDLIB;
    break;
  case OPT_DATA:
    a->runtime = MF_RUNTIME_DATA;
    break;
  case OPT_DISPLAY_LAST:
    a->display_last = true;
    break;
  case OPT_JSON:
    a->form.json = true;
    break;
  case OPT_RECEIPT:
    a->form.receipt = true;
    break;
  case OPT_NO_CGROUP:
    a->provider.local.use_cgroup = a->provider.wasm.use_cgroup = false;
    break;
  case OPT_DISABLE_LAYERS:
    code = take_number(o, value, 0, UINT32_MAX, &n, err);
    a->provider.local.disable_layers = (uint32_t)n;
    break;
  default:
    return mf_fail(err, MF_E_INTERNAL, 0, "option --%s has no meaning", o->name);
  }
  return code;
}

static enum mf_code take_word(void *args, const char *word, bool ended, struct mf_err *err)
{
  struct mf_run_args *a = args;
  char shown[120];
  if (!a->source) {
    a->source = word;
    return MF_OK;
  }
  if (!ended) {
    mf_escape(mf_str_of(word), shown, sizeof(shown));
    return mf_fail(err, MF_E_INPUT, 0,
                   "unexpected word '%s': arguments of the program go after --, input files after -f", shown);
  }
  if (a->argv_n >= MF_ARGV_COUNT_MAX)
    return mf_fail(err, MF_E_LIMIT, 0, "more than %u arguments", MF_ARGV_COUNT_MAX);
  a->argv[a->argv_n++] = mf_str_of(word);
  return MF_OK;
}

/* What the chosen provider cannot do is said, and not passed over. */
static enum mf_code check_provider(const struct mf_run_args *a, struct mf_err *err)
{
  enum mf_provider_kind kind = a->provider.kind;
  for (unsigned i = 0; i < MF_PROVIDER_KIND_N; i++)
    if (i != kind && a->only[i])
      return mf_fail(err, MF_E_INPUT, 0, "--%s: only the %s provider has that, and this is %s", a->only[i],
                     mf_provider_kind_name((enum mf_provider_kind)i), mf_provider_kind_name(kind));
  if (kind == MF_PROVIDER_WASM && a->limits.memory_bytes > MF_WASM_GUEST_MEMORY_MAX)
    return mf_fail(err, MF_E_INPUT, 0, "--memory: the wasm provider has at most %llu",
                   (unsigned long long)MF_WASM_GUEST_MEMORY_MAX >> 20);
  return MF_OK;
}

static enum mf_code check(const void *args, struct mf_err *err)
{
  const struct mf_run_args *a = args;
  return a->source ? check_provider(a, err)
                   : mf_fail(err, MF_E_INPUT, 0, "run: needs a program: a file, or - for standard input");
}

const struct mf_words mf_run_words = { .take_option = take_option, .take_word = take_word, .check = check };

void mf_run_args_init(struct mf_run_args *a)
{
  *a = (struct mf_run_args){ .source = NULL };
  mf_sandbox_limits_default(&a->limits);
  mf_provider_config_default(&a->provider);
  /* Nothing that pays off from the second run on. */
  struct mf_local_config *local = &a->provider.local;
  local->max_running = 1;
  local->pool_stdlib = local->pool_data = 0;
  local->warm = false;
  local->checkpoint = MF_CHECKPOINT_OFF;
  a->provider.wasm.default_fuel = FUEL_PLENTY;
  a->provider.wasm.max_running = a->provider.wasm.ready_workers = a->provider.wasm.calls_max = 1;
}

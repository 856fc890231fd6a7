/* The words after `mayfly run`. */
#include "run-args.h"

#include <stdio.h>

#include "base/num.h"
#include "base/path.h"

#include "base/banned.h"

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
  OPT_ISOLATION,
  OPT_RUNTIME,
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
  { OPT_PROVIDER, 0, "provider", "NAME", "what runs it (default local)", NULL },
  { OPT_ISOLATION, 0, "isolation", "POLICY", "require (default): refuse without every layer; prefer: warn",
    "require prefer" },
  { OPT_RUNTIME, 0, "runtime", "DIR", "the Python runtime (default $MAYFLY_RUNTIME, else beside this program)",
    "@dir" },
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

static const char *const providers[] = { "local" };

static enum mf_code check_provider(const char *name, struct mf_err *err)
{
  char shown[80], known[80] = "";
  size_t at = 0;
  for (size_t i = 0; i < MF_ARRAY_N(providers); i++) {
    if (strcmp(providers[i], name) == 0)
      return MF_OK;
    at += (size_t)snprintf(known + at, sizeof(known) - at, "%s%s", i ? ", " : "", providers[i]);
  }
  mf_escape(mf_str_of(name), shown, sizeof(shown));
  return mf_fail(err, MF_E_INPUT, 0, "--provider: there is no '%s' here; available: %s", shown, known);
}

static enum mf_code take_number(const struct mf_opt *o, const char *value, uint64_t min, uint64_t max, uint64_t *ret,
                                struct mf_err *err)
{
  char what[40];
  snprintf(what, sizeof(what), "--%s", o->name);
  return mf_parse_u64(mf_str_of(value), what, min, max, ret, err);
}

/* What the request of a task has no word for. */
static bool is_special(int id)
{
  static const int ids[] = { OPT_CPU,     OPT_PIDS,   OPT_OUTPUT_LIMIT, OPT_PROVIDER,  OPT_ISOLATION,
                             OPT_RUNTIME, OPT_STDLIB, OPT_DATA,         OPT_NO_CGROUP, OPT_DISABLE_LAYERS };
  for (size_t i = 0; i < MF_ARRAY_N(ids); i++)
    if (ids[i] == id)
      return true;
  return false;
}

static enum mf_code take_option(void *args, const struct mf_opt *o, const char *value, struct mf_err *err)
{
  struct mf_run_args *a = args;
  uint64_t n = 0;
  enum mf_code code = MF_OK;

  a->is_special |= is_special(o->id);
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
    code = check_provider(value, err);
    break;
  case OPT_ISOLATION:
    a->config.isolation = strcmp(value, "prefer") == 0 ? MF_ISOLATION_PREFER : MF_ISOLATION_REQUIRE;
    break;
  case OPT_RUNTIME:
    a->runtime_dir = value;
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
    a->config.use_cgroup = false;
    break;
  case OPT_DISABLE_LAYERS:
    code = take_number(o, value, 0, UINT32_MAX, &n, err);
    a->config.disable_layers = (uint32_t)n;
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

static enum mf_code check(const void *args, struct mf_err *err)
{
  const struct mf_run_args *a = args;
  return a->source ? MF_OK : mf_fail(err, MF_E_INPUT, 0, "run: needs a program: a file, or - for standard input");
}

const struct mf_words mf_run_words = { .take_option = take_option, .take_word = take_word, .check = check };

void mf_run_args_init(struct mf_run_args *a)
{
  *a = (struct mf_run_args){ .source = NULL };
  mf_sandbox_limits_default(&a->limits);
  mf_local_config_default(&a->config);
  a->config.max_running = 1;
  a->config.pool_stdlib = a->config.pool_data = 0;
  a->config.warm = false;
  a->config.checkpoint = MF_CHECKPOINT_OFF;
}

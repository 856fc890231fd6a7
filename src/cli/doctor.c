/* `mayfly doctor`: what this machine can do, why not, and what helps. */
#include <stdio.h>
#include <unistd.h>

#include "base/num.h"
#include "doctor-wasm.h"
#include "json/json.h"
#include "words.h"

#include "base/banned.h"

#define TEXT_BYTES_MAX 131072u
#define NAME_COLUMN 20

enum { OPT_JSON = 2, OPT_PROVIDER, OPT_RUNTIME, OPT_WASM_RUNTIME, OPT_NO_CGROUP, OPT_DISABLE_LAYERS };

static const struct mf_opt doctor_opts[] = {
  { OPT_JSON, 'j', "json", NULL, "print one JSON object", NULL },
  { OPT_PROVIDER, 0, "provider", "NAME", "look at this one only: local or wasm (default: both)", "local wasm" },
  { OPT_RUNTIME, 0, "runtime", "DIR", "the Python runtime (default $MAYFLY_RUNTIME, else beside this program)",
    "@dir" },
  { OPT_WASM_RUNTIME, 0, "wasm-runtime", "DIR", "that of wasm (default $MAYFLY_WASM_RUNTIME, else beside this program)",
    "@dir" },
  { OPT_NO_CGROUP, 0, "no-cgroup", NULL, NULL, NULL },
  { OPT_DISABLE_LAYERS, 0, "test-disable-layers", "BITS", NULL, NULL },
  MF_OPT_HELP_ROW,
  MF_OPT_END,
};

struct doctor_args {
  struct mf_provider_config config;
  bool only_one; /* that of config.kind */
  bool json;
};

/* What was found out; rows of one provider stand together. */
struct report {
  struct mf_probe_row local[MF_PROBE_ROWS_MAX];
  unsigned local_n, local_fail_n;
  struct mf_wasm_diagnosis wasm;
  unsigned wasm_fail_n;
  bool has_local, has_wasm;
  bool is_ok; /* the exit status */
};

static enum mf_code take_option(void *args, const struct mf_opt *o, const char *value, struct mf_err *err)
{
  struct doctor_args *a = args;
  uint64_t n;
  enum mf_code code = MF_OK;
  switch (o->id) {
  case OPT_JSON:
    a->json = true;
    break;
  case OPT_PROVIDER:
    a->only_one = true;
    code = mf_provider_kind_find(value, &a->config.kind, err);
    break;
  case OPT_RUNTIME:
    a->config.local.runtime_dir = value;
    break;
  case OPT_WASM_RUNTIME:
    a->config.wasm.runtime_dir = value;
    break;
  case OPT_NO_CGROUP:
    a->config.local.use_cgroup = a->config.wasm.use_cgroup = false;
    break;
  case OPT_DISABLE_LAYERS:
    code = mf_parse_u64(mf_str_of(value), "--test-disable-layers", 0, UINT32_MAX, &n, err);
    if (!code)
      a->config.local.disable_layers = (uint32_t)n;
    break;
  default:
    break;
  }
  return code;
}

static const struct {
  const char *name, *mark, *color;
} states[] = {
  [MF_PROBE_OK] = { "ok", "✓", "\033[32m" },
  [MF_PROBE_WARN] = { "warn", "!", "\033[33m" },
  [MF_PROBE_FAIL] = { "fail", "✗", "\033[31m" },
};

/* ---- looking ---- */

static unsigned count(const struct mf_probe_row *rows, unsigned n, enum mf_probe_state state)
{
  unsigned found = 0;
  for (unsigned i = 0; i < n; i++)
    found += rows[i].state == state;
  return found;
}

static void look(const struct doctor_args *a, struct report *r)
{
  r->has_local = !a->only_one || a->config.kind == MF_PROVIDER_LOCAL;
  r->has_wasm = !a->only_one || a->config.kind == MF_PROVIDER_WASM;
  if (r->has_local)
    r->local_n = mf_local_probe(&a->config.local, r->local);
  if (r->has_wasm)
    mf_wasm_diagnose(&a->config.wasm, &r->wasm);
  if (!r->has_local && !r->wasm.is_built)
    r->wasm.rows[0].state = MF_PROBE_FAIL;
  r->local_fail_n = count(r->local, r->local_n, MF_PROBE_FAIL);
  r->wasm_fail_n = count(r->wasm.rows, r->wasm.row_n, MF_PROBE_FAIL);
  /* Whoever does not ask for wasm by name may well do without it. */
  r->is_ok = r->has_local ? r->local_fail_n == 0 : r->wasm.is_built && r->wasm_fail_n == 0;
}

/* ---- telling ---- */

static void put_rows(const struct mf_probe_row *rows, unsigned n, struct mf_buf *out)
{
  const char *no_color = getenv("NO_COLOR");
  bool color = isatty(STDOUT_FILENO) == 1 && !(no_color && no_color[0]);
  for (unsigned i = 0; i < n; i++) {
    const struct mf_probe_row *r = &rows[i];
    mf_put(out, "%s%s%s %-*s%s\n", color ? states[r->state].color : "", states[r->state].mark, color ? "\033[0m" : "",
           NAME_COLUMN, r->layer, r->detail);
    if (r->remedy[0])
      mf_put(out, "  %*s→ %s\n", NAME_COLUMN, "", r->remedy);
  }
}

static void put_text(const struct report *r, struct mf_buf *out)
{
  put_rows(r->local, r->local_n, out);
  if (r->has_local && r->local_fail_n == 0)
    mf_put(out, "\nThis machine can run programs with full isolation%s.\n",
           count(r->local, r->local_n, MF_PROBE_WARN) ? "; what is marked ! would only make it better" : "");
  else if (r->has_local)
    mf_put(out, "\nIsolation \"require\" would refuse to start: %u of %u rows failed.\n", r->local_fail_n, r->local_n);
  if (r->has_local && r->has_wasm)
    mf_put(out, "\n");
  put_rows(r->wasm.rows, r->wasm.row_n, out);
  if (r->wasm.is_built)
    mf_put(out, "\nThe wasm provider %s.\n", r->wasm_fail_n ? "cannot run programs here" : "can run programs here");
}

static void put_rows_json(const char *provider, const struct mf_probe_row *rows, unsigned n, struct mf_json_writer *w)
{
  for (unsigned i = 0; i < n; i++) {
    mf_jw_obj(w);
    mf_jw_kstrz(w, "provider", provider);
    mf_jw_kstrz(w, "layer", rows[i].layer);
    mf_jw_kstrz(w, "state", states[rows[i].state].name);
    mf_jw_kstrz(w, "detail", rows[i].detail);
    mf_jw_kstrz(w, "remedy", rows[i].remedy);
    mf_jw_obj_end(w);
  }
}

static void put_wasm_json(const struct report *r, struct mf_json_writer *w)
{
  const struct mf_wasm_runtime_info *runtime = &r->wasm.runtime;
  mf_jw_key(w, "wasm");
  mf_jw_obj(w);
  mf_jw_kbool(w, "built", r->wasm.is_built);
  mf_jw_kbool(w, "ok", r->wasm.is_built && r->wasm_fail_n == 0);
  if (r->wasm.has_runtime) {
    mf_jw_kstrz(w, "runtime", runtime->id);
    mf_jw_kstrz(w, "digest", runtime->digest);
    mf_jw_kstrz(w, "python", runtime->python_version);
    mf_jw_kstrz(w, "wasmtime", runtime->wasmtime_version);
  }
  mf_jw_obj_end(w);
}

static void put_json(const struct report *r, struct mf_buf *out)
{
  struct mf_json_writer w;
  mf_jw_init(&w, out, true);
  mf_jw_obj(&w);
  mf_jw_kbool(&w, "ok", r->is_ok);
  mf_jw_kstrz(&w, "version", MAYFLY_VERSION);
  if (r->has_wasm)
    put_wasm_json(r, &w);
  mf_jw_key(&w, "rows");
  mf_jw_arr(&w);
  put_rows_json("local", r->local, r->local_n, &w);
  put_rows_json("wasm", r->wasm.rows, r->wasm.row_n, &w);
  mf_jw_arr_end(&w);
  mf_jw_obj_end(&w);
  mf_put(out, "\n");
}

static int run_doctor(const struct mf_command *self, int argc, char **argv)
{
  static const struct mf_words words = { .take_option = take_option };
  struct doctor_args a = { .json = false };
  int status;
  mf_provider_config_default(&a.config);
  a.config.local.warm = false; /* whether it works, not how fast */
  if (!mf_words_read(self, &words, &a, argc, argv, &status))
    return status;

  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, TEXT_BYTES_MAX);
  struct report *r = mf_xcalloc(1, sizeof(*r));
  look(&a, r);
  if (a.json)
    put_json(r, &out);
  else
    put_text(r, &out);
  status = r->is_ok ? 0 : 1;
  free(r);
  (void)mf_print(mf_buf_str(&out), &status);
  return status;
}

const struct mf_command mf_command_doctor = {
  .name = "doctor",
  .usage = "[--json] [--provider NAME]",
  .summary = "say what this machine can do, and what helps where it cannot",
  .about = "Tries each layer of the sandbox for real, in processes that end at once, then a whole sandbox. A\n"
           "row is ✓ when it works, ! when runs are possible without it, ✗ when isolation \"require\" (the\n"
           "default) refuses to start; below it stands what helps. The exit status is 0 only when \"require\"\n"
           "would start.\n\n"
           "Below are the rows of the wasm provider: whether this program was built with it, its runtime, a worker\n"
           "that ran a program. They count for the exit status only with --provider wasm.",
  .examples = "  mayfly doctor\n  mayfly doctor --provider wasm\n  mayfly doctor --json | jq '.rows[] | select(.state "
              "!= \"ok\")'",
  .opts = doctor_opts,
  .run = run_doctor,
};

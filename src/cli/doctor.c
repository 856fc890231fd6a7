/* `mayfly doctor`: what this machine can do, why not, and what helps. */
#include <stdio.h>
#include <unistd.h>

#include "base/num.h"
#include "json/json.h"
#include "local/local.h"
#include "words.h"

#include "base/banned.h"

#define TEXT_BYTES_MAX 131072u
#define NAME_COLUMN 20

enum { OPT_JSON = 2, OPT_RUNTIME, OPT_NO_CGROUP, OPT_DISABLE_LAYERS };

static const struct mf_opt doctor_opts[] = {
  { OPT_JSON, 'j', "json", NULL, "print one JSON object", NULL },
  { OPT_RUNTIME, 0, "runtime", "DIR", "the Python runtime (default $MAYFLY_RUNTIME, else beside this program)",
    "@dir" },
  { OPT_NO_CGROUP, 0, "no-cgroup", NULL, NULL, NULL },
  { OPT_DISABLE_LAYERS, 0, "test-disable-layers", "BITS", NULL, NULL },
  MF_OPT_HELP_ROW,
  MF_OPT_END,
};

struct doctor_args {
  struct mf_local_config config;
  bool json;
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
  case OPT_RUNTIME:
    a->config.runtime_dir = value;
    break;
  case OPT_NO_CGROUP:
    a->config.use_cgroup = false;
    break;
  case OPT_DISABLE_LAYERS:
    code = mf_parse_u64(mf_str_of(value), "--test-disable-layers", 0, UINT32_MAX, &n, err);
    if (!code)
      a->config.disable_layers = (uint32_t)n;
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

static void put_text(const struct mf_probe_row *rows, unsigned n, unsigned fail_n, struct mf_buf *out)
{
  const char *no_color = getenv("NO_COLOR");
  bool color = isatty(STDOUT_FILENO) == 1 && !(no_color && no_color[0]);
  unsigned warn_n = 0;

  for (unsigned i = 0; i < n; i++) {
    const struct mf_probe_row *r = &rows[i];
    warn_n += r->state == MF_PROBE_WARN;
    mf_put(out, "%s%s%s %-*s%s\n", color ? states[r->state].color : "", states[r->state].mark, color ? "\033[0m" : "",
           NAME_COLUMN, r->layer, r->detail);
    if (r->remedy[0])
      mf_put(out, "  %*s→ %s\n", NAME_COLUMN, "", r->remedy);
  }
  if (fail_n == 0)
    mf_put(out, "\nThis machine can run programs with full isolation%s.\n",
           warn_n ? "; what is marked ! would only make it better" : "");
  else
    mf_put(out, "\nIsolation \"require\" would refuse to start: %u of %u rows failed.\n", fail_n, n);
}

static void put_json(const struct mf_probe_row *rows, unsigned n, unsigned fail_n, struct mf_buf *out)
{
  struct mf_json_writer w;
  mf_jw_init(&w, out, true);
  mf_jw_obj(&w);
  mf_jw_kbool(&w, "ok", fail_n == 0);
  mf_jw_kstrz(&w, "version", MAYFLY_VERSION);
  mf_jw_key(&w, "rows");
  mf_jw_arr(&w);
  for (unsigned i = 0; i < n; i++) {
    mf_jw_obj(&w);
    mf_jw_kstrz(&w, "layer", rows[i].layer);
    mf_jw_kstrz(&w, "state", states[rows[i].state].name);
    mf_jw_kstrz(&w, "detail", rows[i].detail);
    mf_jw_kstrz(&w, "remedy", rows[i].remedy);
    mf_jw_obj_end(&w);
  }
  mf_jw_arr_end(&w);
  mf_jw_obj_end(&w);
  mf_put(out, "\n");
}

static int run_doctor(const struct mf_command *self, int argc, char **argv)
{
  static const struct mf_words words = { .take_option = take_option };
  struct doctor_args a = { .json = false };
  int status;
  mf_local_config_default(&a.config);
  a.config.warm = false; /* whether it works, not how fast */
  if (!mf_words_read(self, &words, &a, argc, argv, &status))
    return status;

  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, TEXT_BYTES_MAX);
  struct mf_probe_row *rows = mf_xcalloc(MF_PROBE_ROWS_MAX, sizeof(*rows));
  unsigned fail_n = 0, n = mf_local_probe(&a.config, rows);
  for (unsigned i = 0; i < n; i++)
    fail_n += rows[i].state == MF_PROBE_FAIL;
  if (a.json)
    put_json(rows, n, fail_n, &out);
  else
    put_text(rows, n, fail_n, &out);
  free(rows);

  status = fail_n ? 1 : 0;
  (void)mf_print(mf_buf_str(&out), &status);
  return status;
}

const struct mf_command mf_command_doctor = {
  .name = "doctor",
  .usage = "[--json] [--runtime DIR]",
  .summary = "say what this machine can do, and what helps where it cannot",
  .about = "Tries each layer of the sandbox for real, in processes that end at once, then a whole sandbox. A\n"
           "row is ✓ when it works, ! when runs are possible without it, ✗ when isolation \"require\" (the\n"
           "default) refuses to start; below it stands what helps. The exit status is 0 only when \"require\"\n"
           "would start.",
  .examples = "  mayfly doctor\n  mayfly doctor --json | jq '.rows[] | select(.state != \"ok\")'",
  .opts = doctor_opts,
  .run = run_doctor,
};

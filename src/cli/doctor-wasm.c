/* Diagnosing the wasm provider: each row is something that was tried. */
#include "doctor-wasm.h"

#include <stdio.h>

#include "measure.h"

#include "base/banned.h"

#define MAKE_RUNTIME                                                                                                   \
  "make it with scripts/setup-wasm-runtime, or name one with --wasm-runtime DIR or MAYFLY_WASM_RUNTIME"

static struct mf_probe_row *add(struct mf_wasm_diagnosis *d, const char *layer, enum mf_probe_state state,
                                const char *remedy)
{
  struct mf_probe_row *row = &d->rows[d->row_n++];
  *row = (struct mf_probe_row){ .layer = layer, .state = state };
  snprintf(row->remedy, sizeof(row->remedy), "%s", state == MF_PROBE_OK ? "" : remedy);
  return row;
}

static void fail(struct mf_wasm_diagnosis *d, const char *layer, const char *detail, const char *remedy)
{
  struct mf_probe_row *row = add(d, layer, MF_PROBE_FAIL, remedy);
  snprintf(row->detail, sizeof(row->detail), "%.*s", (int)sizeof(row->detail) - 1, detail);
}

static bool see_feature(struct mf_wasm_diagnosis *d)
{
  d->is_built = mf_wasm_is_built();
  struct mf_probe_row *row = add(d, "wasm provider", d->is_built ? MF_PROBE_OK : MF_PROBE_WARN,
                                 "optional: make wasm, or meson configure -Dembedded_code_interpreter=enabled");
  snprintf(row->detail, sizeof(row->detail), "%s", d->is_built ? "built in" : "this program was built without it");
  return d->is_built;
}

static bool see_runtime(struct mf_wasm_diagnosis *d, const struct mf_wasm_config *config, char **ret_dir)
{
  struct mf_err err = { 0 };
  if (mf_wasm_find_runtime(config->runtime_dir, ret_dir, &err) != MF_OK ||
      mf_wasm_read_runtime(*ret_dir, &d->runtime, &err) != MF_OK) {
    fail(d, "wasm runtime", err.msg, MAKE_RUNTIME);
    return false;
  }
  d->has_runtime = true;
  struct mf_probe_row *row = add(d, "wasm runtime", MF_PROBE_OK, "");
  snprintf(row->detail, sizeof(row->detail), "%s at %.100s: Python %s, Wasmtime %s, %s", d->runtime.id, *ret_dir,
           d->runtime.python_version, d->runtime.wasmtime_version, d->runtime.digest);
  return true;
}

/* From the receipt of a program that ran: what held it, and not what was asked for. */
static void see_receipt(struct mf_wasm_diagnosis *d, const struct mf_receipt *r)
{
  char remedy[500];
  struct mf_probe_row *row;
  if (r->seccomp_sha256[0]) {
    row = add(d, "wasm seccomp", MF_PROBE_OK, "");
    snprintf(row->detail, sizeof(row->detail), "around the worker, sha256 %.16s…; isolation %s, layers %.150s",
             r->seccomp_sha256, r->isolation, r->layers);
  } else {
    mf_local_remedy("seccomp", 0, remedy, sizeof(remedy));
    fail(d, "wasm seccomp", "there is no filter around the worker", remedy);
  }
  bool has_cgroup = strncmp(r->memory_control, "cgroup", strlen("cgroup")) == 0;
  mf_local_remedy("cgroup", 0, remedy, sizeof(remedy));
  row = add(d, "wasm memory", has_cgroup ? MF_PROBE_OK : MF_PROBE_WARN, remedy);
  snprintf(row->detail, sizeof(row->detail), "of the guest: its own limit; of the worker: %s", r->memory_control);
}

static enum mf_code run_one(struct mf_loop *loop, struct mf_provider *p, struct mf_sandbox_result **ret,
                            struct mf_err *err)
{
  struct mf_sandbox_spec spec = { .source = MF_STR("print(1)\n") };
  mf_sandbox_limits_default(&spec.limits);
  enum mf_code code = mf_sandbox_run_sync(loop, p, &spec, ret, err);
  if (code == MF_OK && ((*ret)->status != MF_RUN_SUCCEEDED || !mf_str_is(mf_buf_str(&(*ret)->out), "1\n")))
    code = mf_fail(err, MF_E_UNAVAILABLE, 0, "print(1) ended as %s (%s)%s%s", mf_run_status_name((*ret)->status),
                   mf_run_reason_name((*ret)->reason), (*ret)->diagnostic[0] ? ": " : "", (*ret)->diagnostic);
  return code;
}

static void see_worker(struct mf_wasm_diagnosis *d, const struct mf_wasm_config *config, const char *dir)
{
  struct mf_provider_config c;
  struct mf_err err = { 0 };
  struct mf_loop *loop = NULL;
  struct mf_provider *p = NULL;
  struct mf_sandbox_result *r = NULL;
  mf_provider_config_default(&c);
  c.kind = MF_PROVIDER_WASM;
  c.wasm = *config;
  c.wasm.runtime_dir = dir;
  c.wasm.max_running = c.wasm.ready_workers = 1;
  enum mf_code code = mf_loop_new(&loop, &err);
  if (!code)
    code = mf_measure_open(loop, &c, &p, &err);
  if (!code)
    code = run_one(loop, p, &r, &err);
  if (code) {
    fail(d, "wasm worker", err.msg, "make its runtime anew: scripts/setup-wasm-runtime");
  } else {
    struct mf_probe_row *row = add(d, "wasm worker", MF_PROBE_OK, "");
    snprintf(row->detail, sizeof(row->detail), "one ran a program");
    see_receipt(d, &r->receipt);
  }
  mf_sandbox_result_free(r);
  if (loop) {
    mf_measure_close(loop, p);
    mf_loop_free(loop);
  }
}

void mf_wasm_diagnose(const struct mf_wasm_config *config, struct mf_wasm_diagnosis *ret)
{
  mf_auto_free char *dir = NULL;
  *ret = (struct mf_wasm_diagnosis){ .row_n = 0 };
  if (see_feature(ret) && see_runtime(ret, config, &dir))
    see_worker(ret, config, dir);
}

/* `mayfly bench`: our own figures on this machine. The comparison with others is in bench/. */
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/num.h"
#include "base/time.h"
#include "json/json.h"
#include "measure.h"
#include "stage.h"
#include "words.h"

#include "base/banned.h"

#define WARM_UP_RUNS 5
#define POOL_N 2
#define JSON_BYTES_MAX (32u << 20)

enum {
  OPT_JSON = 2,
  OPT_RUNS,
  OPT_SECONDS,
  OPT_MODE,
  OPT_KIND,
  OPT_JOB,
  OPT_CHECKPOINT,
  OPT_CONCURRENCY,
  OPT_GAP,
  OPT_PROVIDER,
  OPT_RUNTIME,
  OPT_WASM_RUNTIME,
  OPT_SAMPLES,
  OPT_SHOW_JOB,
  OPT_NO_CGROUP,
};

static const struct mf_opt bench_opts[] = {
  { OPT_RUNS, 'n', "runs", "N", "latency samples of each variant (default 200; 0: none)", NULL },
  { OPT_SECONDS, 's', "seconds", "S", "how long the rate of each variant is measured (default 3; 0: not)", NULL },
  { OPT_PROVIDER, 0, "provider", "NAME", "local (default), or wasm where that was built in", "local wasm" },
  { OPT_MODE, 0, "mode", "MODE",
    "pool: kept ready; demand: forked (wasm: a process for each) when asked for (default: both)", "pool demand" },
  { OPT_KIND, 0, "runtime-kind", "KIND", "stdlib or data (default: both)", "stdlib data" },
  { OPT_JOB, 0, "job", "JOB", "print: print(1); pandas: group-by over 10,000 rows (default: both)", "print pandas" },
  { OPT_CHECKPOINT, 0, "checkpoint", "WHEN", "auto (default) or off", "auto off" },
  { OPT_CONCURRENCY, 'c', "concurrency", "N", "runs at a time while the rate is measured (default: processors)", NULL },
  { OPT_GAP, 0, "gap", "MS", "rest between latency samples (default 20)", NULL },
  { OPT_RUNTIME, 0, "runtime", "DIR", "the Python runtime (default $MAYFLY_RUNTIME, else beside this program)",
    "@dir" },
  { OPT_WASM_RUNTIME, 0, "wasm-runtime", "DIR", "that of wasm (default $MAYFLY_WASM_RUNTIME, else beside this program)",
    "@dir" },
  { OPT_SAMPLES, 0, "samples", NULL, "with --json: every single sample too", NULL },
  { OPT_SHOW_JOB, 0, "show-job", "JOB", "print the source of a job and end", "print pandas" },
  { OPT_JSON, 'j', "json", NULL, "print one JSON object", NULL },
  { OPT_NO_CGROUP, 0, "no-cgroup", NULL, NULL, NULL },
  MF_OPT_HELP_ROW,
  MF_OPT_END,
};

enum mode { MODE_POOL, MODE_DEMAND, MODE_N };
static const char *const mode_names[] = { [MODE_POOL] = "pool", [MODE_DEMAND] = "demand" };

static const struct job {
  const char *name, *source;
} jobs[] = {
  { "print", "print(1)\n" },
  { "pandas", "import numpy as np, pandas as pd\n"
              "rng = np.random.default_rng(0)\n"
              "df = pd.DataFrame({'k': rng.integers(0, 50, 10000), 'v': rng.random(10000)})\n"
              "print(df.groupby('k').v.agg(['mean', 'sum', 'count']).head(3))\n" },
};

struct bench_args {
  struct mf_provider_config config;
  uint64_t runs, seconds, concurrency, gap_ms;
  const char *mode, *kind, *job, *show_job;
  bool json, samples;
};

struct variant {
  enum mode mode;
  bool data;
  const struct job *job;
  struct mf_sandbox_spec spec;
  struct mf_samples samples;
  double rate;
};
#define VARIANTS_MAX 8

struct bench {
  const struct bench_args *args;
  struct mf_stage stage;
  struct mf_provider *providers[MODE_N];
  struct variant variants[VARIANTS_MAX];
  unsigned variant_n;
  struct mf_local_info info; /* of the local provider */
  uint64_t idle_private_bytes;
};

/* ---- words ---- */

static enum mf_code take_option(void *args, const struct mf_opt *o, const char *value, struct mf_err *err)
{
  struct bench_args *a = args;
  struct mf_str text = mf_str_of(value);
  switch (o->id) {
  case OPT_JSON:
    a->json = true;
    return MF_OK;
  case OPT_SAMPLES:
    a->samples = true;
    return MF_OK;
  case OPT_NO_CGROUP:
    a->config.local.use_cgroup = a->config.wasm.use_cgroup = false;
    return MF_OK;
  case OPT_RUNS:
    return mf_parse_u64(text, "--runs", 0, 1000000, &a->runs, err);
  case OPT_SECONDS:
    return mf_parse_u64(text, "--seconds", 0, 3600, &a->seconds, err);
  case OPT_CONCURRENCY:
    return mf_parse_u64(text, "--concurrency", 1, 64, &a->concurrency, err);
  case OPT_GAP:
    return mf_parse_u64(text, "--gap", 0, 10000, &a->gap_ms, err);
  case OPT_MODE:
    a->mode = value;
    return MF_OK;
  case OPT_KIND:
    a->kind = value;
    return MF_OK;
  case OPT_JOB:
    a->job = value;
    return MF_OK;
  case OPT_SHOW_JOB:
    a->show_job = value;
    return MF_OK;
  case OPT_CHECKPOINT:
    a->config.local.checkpoint = strcmp(value, "off") == 0 ? MF_CHECKPOINT_OFF : MF_CHECKPOINT_AUTO;
    return MF_OK;
  case OPT_PROVIDER:
    return mf_provider_kind_find(value, &a->config.kind, err);
  case OPT_RUNTIME:
    a->config.local.runtime_dir = value;
    return MF_OK;
  case OPT_WASM_RUNTIME:
    a->config.wasm.runtime_dir = value;
    return MF_OK;
  default:
    return mf_fail(err, MF_E_INTERNAL, 0, "option --%s has no meaning", o->name);
  }
}

static enum mf_code check(const void *args, struct mf_err *err)
{
  const struct bench_args *a = args;
  bool wants_data = (a->kind && strcmp(a->kind, "data") == 0) || (a->job && strcmp(a->job, "pandas") == 0);
  if (a->config.kind == MF_PROVIDER_WASM && wants_data)
    return mf_fail(err, MF_E_INPUT, 0, "bench: the wasm provider has the standard library only, and the job print");
  return MF_OK;
}

/* ---- measuring ---- */

static bool is_wanted(const char *only, const char *name)
{
  return !only || strcmp(only, name) == 0;
}

static void add_variants(struct bench *b)
{
  const struct bench_args *a = b->args;
  for (unsigned data = 0; data < (a->config.kind == MF_PROVIDER_WASM ? 1 : 2); data++) {
    for (size_t j = 0; j < MF_ARRAY_N(jobs); j++) {
      /* pandas loaded anew in each run says nothing, unless that is just what was asked for */
      bool asked = a->kind && a->job;
      if (!is_wanted(a->kind, data ? "data" : "stdlib") || !is_wanted(a->job, jobs[j].name) ||
          (!data && j > 0 && !asked))
        continue;
      for (enum mode m = 0; m < MODE_N; m++) {
        if (!is_wanted(a->mode, mode_names[m]))
          continue;
        struct variant *v = &b->variants[b->variant_n++];
        *v = (struct variant){ .mode = m, .data = data, .job = &jobs[j] };
        v->spec.source = mf_str_of(jobs[j].source);
        v->spec.runtime = data ? MF_RUNTIME_DATA : MF_RUNTIME_STDLIB;
        mf_sandbox_limits_default(&v->spec.limits);
      }
    }
  }
}

/* Whatever the variants of this mode need, and nothing else. */
static struct mf_provider_config config_of(const struct bench *b, enum mode m)
{
  struct mf_provider_config c = b->args->config;
  struct mf_local_config *local = &c.local;
  local->start_stdlib = local->start_data = false;
  for (unsigned i = 0; i < b->variant_n; i++) {
    local->start_data |= b->variants[i].mode == m && b->variants[i].data;
    local->start_stdlib |= b->variants[i].mode == m && !b->variants[i].data;
  }
  local->pool_stdlib = m == MODE_POOL && local->start_stdlib ? POOL_N : 0;
  local->pool_data = m == MODE_POOL && local->start_data ? POOL_N : 0;
  if (m == MODE_POOL)
    c.wasm.ready_workers = MF_MIN((unsigned)b->args->concurrency, c.wasm.max_running);
  else
    c.wasm.calls_max = 1;
  return c;
}

static enum mf_code open_providers(struct bench *b, struct mf_err *err)
{
  for (enum mode m = 0; m < MODE_N; m++) {
    struct mf_provider_config c = config_of(b, m);
    bool used = c.local.start_stdlib || c.local.start_data;
    enum mf_code code = used ? mf_measure_open(b->stage.loop, &c, &b->providers[m], err) : MF_OK;
    if (code != MF_OK)
      return code;
  }
  return MF_OK;
}

static enum mf_code ask_info(struct bench *b, struct mf_err *err)
{
  struct mf_provider *asked = b->providers[MODE_POOL] ? b->providers[MODE_POOL] : b->providers[MODE_DEMAND];
  enum mf_code code = MF_OK;
  if (b->args->config.kind == MF_PROVIDER_WASM) {
    struct mf_wasm_info info;
    mf_wasm_info(asked, &info);
    b->idle_private_bytes = info.worker_private_bytes;
  } else {
    code = mf_measure_info(b->stage.loop, asked, &b->info, err);
    b->idle_private_bytes = b->info.idle_private_bytes;
  }
  return code;
}

static enum mf_code measure_round(struct bench *b, bool keep, struct mf_err *err)
{
  struct mf_samples thrown = { 0 };
  enum mf_code code = MF_OK;
  for (unsigned i = 0; code == MF_OK && i < b->variant_n; i++) {
    struct variant *v = &b->variants[i];
    code = mf_measure_one(b->stage.loop, b->providers[v->mode], &v->spec, keep ? &v->samples : &thrown, err);
    if (code == MF_OK && b->args->gap_ms)
      code = mf_measure_idle(b->stage.loop, (unsigned)b->args->gap_ms, err);
  }
  mf_samples_done(&thrown);
  return code;
}

static enum mf_code measure_all(struct bench *b, struct mf_err *err)
{
  const struct bench_args *a = b->args;
  enum mf_code code = mf_stage_init(&b->stage, NULL, NULL, err);
  if (code == MF_OK)
    code = open_providers(b, err);
  for (unsigned i = 0; code == MF_OK && i < WARM_UP_RUNS; i++)
    code = measure_round(b, false, err);
  /* Interleaved: what the machine does meanwhile meets every variant alike. */
  for (uint64_t i = 0; code == MF_OK && i < a->runs; i++)
    code = measure_round(b, true, err);

  if (code == MF_OK)
    code = mf_measure_idle(b->stage.loop, 500, err);
  if (code == MF_OK)
    code = ask_info(b, err);
  for (unsigned i = 0; code == MF_OK && a->seconds && i < b->variant_n; i++) {
    struct variant *v = &b->variants[i];
    code = mf_measure_rate(b->stage.loop, b->providers[v->mode], &v->spec, (unsigned)a->concurrency, (double)a->seconds,
                           &v->rate, err);
    if (code == MF_OK)
      code = mf_measure_idle(b->stage.loop, 300, err);
  }
  return code;
}

static void bench_done(struct bench *b)
{
  for (enum mode m = 0; m < MODE_N; m++)
    mf_measure_close(b->stage.loop, b->providers[m]);
  for (unsigned i = 0; i < b->variant_n; i++)
    mf_samples_done(&b->variants[i].samples);
  mf_stage_done(&b->stage, false);
}

/* ---- telling ---- */

static double mean_of(const struct mf_samples *s)
{
  double sum = 0;
  for (unsigned i = 0; i < s->n; i++)
    sum += s->ms[i];
  return s->n ? sum / s->n : 0;
}

static void put_variant_json(struct mf_json_writer *w, struct variant *v, const struct bench_args *a)
{
  mf_jw_obj(w);
  mf_jw_kstrz(w, "mode", mode_names[v->mode]);
  mf_jw_kstrz(w, "runtimeKind", v->data ? "data" : "stdlib");
  mf_jw_kstrz(w, "job", v->job->name);
  mf_jw_ku64(w, "runs", v->samples.n);
  mf_jw_ku64(w, "fromPool", v->samples.pool_n);
  if (a->samples) { /* before they are sorted: in the order of time */
    mf_jw_key(w, "samplesMs");
    mf_jw_arr(w);
    for (unsigned i = 0; i < v->samples.n; i++)
      mf_jw_f64(w, v->samples.ms[i]);
    mf_jw_arr_end(w);
  }
  mf_jw_kf64(w, "p50Ms", mf_samples_at(&v->samples, 0.50));
  mf_jw_kf64(w, "p95Ms", mf_samples_at(&v->samples, 0.95));
  mf_jw_kf64(w, "p99Ms", mf_samples_at(&v->samples, 0.99));
  mf_jw_kf64(w, "minMs", mf_samples_at(&v->samples, 0));
  mf_jw_kf64(w, "maxMs", mf_samples_at(&v->samples, 1));
  mf_jw_kf64(w, "meanMs", mean_of(&v->samples));
  if (a->seconds)
    mf_jw_kf64(w, "perSecond", v->rate);
  mf_jw_obj_end(w);
}

static void put_json(struct bench *b, struct mf_buf *out)
{
  const struct bench_args *a = b->args;
  struct utsname u = { 0 };
  struct mf_json_writer w;
  char now[32];

  (void)uname(&u);
  mf_wall_format(mf_wall_ms(), now);
  mf_jw_init(&w, out, true);
  mf_jw_obj(&w);
  mf_jw_kstrz(&w, "program", "mayfly");
  mf_jw_kstrz(&w, "version", MAYFLY_VERSION);
  mf_jw_kstrz(&w, "time", now);
  mf_jw_kstrz(&w, "kernel", u.release);
  mf_jw_ku64(&w, "processors", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
  mf_jw_kstrz(&w, "provider", mf_provider_kind_name(a->config.kind));
  if (a->config.kind == MF_PROVIDER_LOCAL) {
    mf_jw_kbool(&w, "checkpointed", b->info.checkpointed);
    mf_jw_kstrz(&w, "checkpointNote", b->info.checkpoint_note);
  }
  mf_jw_ku64(&w, "concurrency", a->concurrency);
  mf_jw_ku64(&w, "seconds", a->seconds);
  mf_jw_ku64(&w, "gapMs", a->gap_ms);
  mf_jw_ku64(&w, "idlePrivateBytes", b->idle_private_bytes);
  mf_jw_key(&w, "variants");
  mf_jw_arr(&w);
  for (unsigned i = 0; i < b->variant_n; i++)
    put_variant_json(&w, &b->variants[i], a);
  mf_jw_arr_end(&w);
  mf_jw_obj_end(&w);
  mf_put(out, "\n");
}

static void put_text(struct bench *b, struct mf_buf *out)
{
  mf_put(out, "%-8s %-8s %-8s %9s %9s %9s %10s %10s\n", "mode", "runtime", "job", "p50 ms", "p95 ms", "p99 ms",
         "from pool", "runs/s");
  for (unsigned i = 0; i < b->variant_n; i++) {
    struct variant *v = &b->variants[i];
    mf_put(out, "%-8s %-8s %-8s %9.2f %9.2f %9.2f %5u/%-4u %10.0f\n", mode_names[v->mode], v->data ? "data" : "stdlib",
           v->job->name, mf_samples_at(&v->samples, 0.50), mf_samples_at(&v->samples, 0.95),
           mf_samples_at(&v->samples, 0.99), v->samples.pool_n, v->samples.n, v->rate);
  }
  if (b->idle_private_bytes)
    mf_put(out, "\nprivate memory of an idle %s: %.2f MiB",
           b->args->config.kind == MF_PROVIDER_WASM ? "worker" : "sandbox", (double)b->idle_private_bytes / (1 << 20));
  if (b->args->config.kind == MF_PROVIDER_LOCAL)
    mf_put(out, "\ncheckpoint: %s%s%s", b->info.checkpointed ? "used" : "not used",
           b->info.checkpoint_note[0] ? ": " : "", b->info.checkpoint_note);
  mf_put(out, "\n");
}

static int run_measured(struct bench_args *a)
{
  struct mf_err err = { 0 };
  int status = 1;
  mf_auto_buf struct mf_buf out;

  mf_buf_init(&out, JSON_BYTES_MAX);
  struct bench b = { .args = a };
  add_variants(&b);
  if (measure_all(&b, &err) != MF_OK) {
    mf_say("%s", err.msg);
  } else {
    if (a->json)
      put_json(&b, &out);
    else
      put_text(&b, &out);
    status = mf_print_exit(mf_buf_str(&out));
  }
  bench_done(&b);
  return status;
}

static int run_bench(const struct mf_command *self, int argc, char **argv)
{
  static const struct mf_words words = { .take_option = take_option, .check = check };
  struct bench_args a = { .runs = 200, .seconds = 3, .gap_ms = 20 };
  int exit;
  long processors = sysconf(_SC_NPROCESSORS_ONLN);

  a.concurrency = (uint64_t)MF_MIN(MF_MAX(processors, 1L), 64L);
  mf_provider_config_default(&a.config);
  a.config.local.max_running = a.config.wasm.max_running = 96; /* above any concurrency: a place is taken until its run
                                                                  is reaped */
  a.config.local.warm = true;
  if (!mf_words_read(self, &words, &a, argc, argv, &exit))
    return exit;
  for (size_t i = 0; a.show_job && i < MF_ARRAY_N(jobs); i++)
    if (strcmp(jobs[i].name, a.show_job) == 0)
      return mf_print_exit(mf_str_of(jobs[i].source));
  return run_measured(&a);
}

const struct mf_command mf_command_bench = {
  .name = "bench",
  .usage = "[options]",
  .summary = "measure how fast sandboxes start on this machine",
  .about = "Measures fresh sandboxes on this machine: how long one takes from the call to the result, how many\n"
           "a second can be had, and what an idle one costs in memory. All variants are measured in turns by\n"
           "one process.",
  .examples = "  mayfly bench\n  mayfly bench --runs 1000 --mode pool --job print --json\n"
              "  mayfly bench --show-job pandas",
  .opts = bench_opts,
  .run = run_bench,
};

/* Measures runs of one provider as a user of the library sees them: from the call of mf_sandbox_start to the
 * `finished` event, result in hand; a single run also to `released`, when nothing of it is left. The provider lives as
 * long as this program, and the loop runs between the commands, so that pools refill as they would in a gateway.
 *
 *   mf-bench-driver --runtime DIR --zygote DIR [--checkpoint auto|off] [--pool N] [--job NAME=FILE]… [--file NAME=FILE]
 *   mf-bench-driver --wasm DIR [--pool N] [--job NAME=FILE]…: the wasm provider, N workers; no info
 *   commands: once stdlib|data JOB; rate stdlib|data JOB RUNNING MS; info */
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <unistd.h>

#include "answer.h"
#include "base/fd.h"
#include "base/num.h"
#include "base/time.h"
#include "providers/providers.h"

#include "base/banned.h"

#define LINE_BYTES_MAX 256
#define JOBS_MAX 8
/* A run's place is taken until its processes are reaped, so places outnumber what is asked for at a time. */
#define PLACES 96u

struct job {
  char *name, *source;
  size_t source_n;
};

struct bench {
  struct mf_loop *loop;
  struct mf_provider *provider;
  struct mf_provider_config config;
  struct mf_watch *in_watch;
  struct mf_timer *retry;
  char in[LINE_BYTES_MAX];
  size_t in_n;
  struct job jobs[JOBS_MAX];
  unsigned job_n;
  struct job input; /* a file that each run is given; name NULL: none */
  struct mf_sandbox_file input_file;
  int status;

  /* the command that is being carried out */
  struct mf_sandbox_spec spec;
  bool is_rate;
  uint64_t begin_ns, until_ns, last_ns;
  unsigned want, flying;
  uint64_t done_n, pool_n;
  struct mf_sandbox_result *only; /* of a single run, until that is released */
  struct mf_err failure;
};

/* ---- the end ---- */

static void on_closed(void *user)
{
  struct bench *b = user;
  b->provider = NULL;
  mf_loop_stop(b->loop);
}

static void close_down(struct bench *b)
{
  b->in_watch = mf_watch_free(b->in_watch);
  mf_provider_close(b->provider, on_closed, b);
}

/* ---- runs ---- */

static void keep_failure(struct bench *b, const struct mf_sandbox_result *r)
{
  if (r->status == MF_RUN_SUCCEEDED && r->has_exit_code && r->exit_code == 0)
    return;
  size_t tail_n = MF_MIN(r->err.len, (size_t)200);
  mf_fail(&b->failure, MF_E_INTERNAL, 0, "a run ended as %s (%s) %s %.*s", mf_run_status_name(r->status),
          mf_run_reason_name(r->reason), r->diagnostic, (int)tail_n, r->err.ptr + r->err.len - tail_n);
}

static void answer_once(struct bench *b, const struct mf_sandbox_result *r)
{
  struct mf_answer a;
  mf_answer_begin(&a);
  mf_jw_kf64(&a.w, "ms", (double)(b->last_ns - b->begin_ns) / 1e6);
  mf_jw_kf64(&a.w, "releasedMs", (double)(mf_now_ns() - b->begin_ns) / 1e6);
  mf_jw_kstr(&a.w, "out", mf_buf_str(&r->out));
  mf_jw_kstrz(&a.w, "start", r->receipt.start);
  mf_jw_kstrz(&a.w, "isolation", r->receipt.isolation);
  mf_jw_kstrz(&a.w, "layers", r->receipt.layers);
  mf_jw_kstrz(&a.w, "memoryControl", r->receipt.memory_control);
  mf_answer_send(&a);
}

static void answer_rate(struct bench *b)
{
  struct mf_answer a;
  double seconds = (double)(b->last_ns - b->begin_ns) / 1e9;
  mf_answer_begin(&a);
  mf_jw_kf64(&a.w, "perSecond", seconds > 0 ? (double)b->done_n / seconds : 0);
  mf_jw_ku64(&a.w, "runs", b->done_n);
  mf_jw_ku64(&a.w, "fromPool", b->pool_n);
  mf_answer_send(&a);
}

static void begin_runs(void *user);

static void on_finished(void *user, struct mf_sandbox_result *r)
{
  struct bench *b = user;
  b->last_ns = mf_now_ns();
  b->flying--;
  b->done_n++;
  b->pool_n += strcmp(r->receipt.start, "pool") == 0;
  keep_failure(b, r);
  if (b->is_rate)
    mf_sandbox_result_free(r);
  else
    b->only = r;
  if (b->is_rate)
    begin_runs(b);
}

static void on_released(void *user)
{
  struct bench *b = user;
  if (!b->only)
    return;
  if (b->failure.code == MF_OK)
    answer_once(b, b->only);
  mf_sandbox_result_free(b->only);
  b->only = NULL;
  begin_runs(b);
}

static const struct mf_sandbox_events events = { .finished = on_finished, .released = on_released };

/* Keeps as many runs going as are wanted, and answers when the last one has ended. */
static void begin_runs(void *user)
{
  struct bench *b = user;
  bool first = !b->is_rate && b->done_n == 0;
  while (b->failure.code == MF_OK && b->flying < b->want && (first || mf_now_ns() < b->until_ns)) {
    struct mf_run *run;
    struct mf_err err = { 0 };
    enum mf_code code = mf_sandbox_start(b->provider, &b->spec, &events, b, &run, &err);
    if (code == MF_E_CAPACITY && b->is_rate) { /* the places of finished runs are still being reaped */
      mf_timer_arm(b->retry, mf_now_ns() + MF_NS_PER_MS / 4);
      return;
    }
    if (code != MF_OK)
      b->failure = err;
    else
      b->flying++;
    first = false;
  }
  if (b->flying > 0 || b->want == 0)
    return;
  b->want = 0; /* answered */
  mf_timer_disarm(b->retry);
  if (b->failure.code != MF_OK)
    mf_answer_error(b->failure.msg);
  else if (b->is_rate)
    answer_rate(b);
}

/* ---- commands ---- */

static void on_info(void *user, const struct mf_local_info *info)
{
  (void)user;
  struct mf_answer a;
  if (!info) {
    mf_answer_error("the supervisor did not say");
    return;
  }
  mf_answer_begin(&a);
  mf_jw_kbool(&a.w, "checkpointed", info->checkpointed);
  mf_jw_kstrz(&a.w, "checkpointNote", info->checkpoint_note);
  mf_jw_ku64(&a.w, "idlePrivateBytes", info->idle_private_bytes);
  mf_jw_ku64(&a.w, "poolStdlib", info->pool_stdlib);
  mf_jw_ku64(&a.w, "poolData", info->pool_data);
  mf_jw_ku64(&a.w, "landlockAbi", (uint64_t)info->landlock_abi);
  mf_answer_send(&a);
}

static const struct job *find_job(const struct bench *b, const char *name)
{
  for (unsigned i = 0; i < b->job_n; i++)
    if (strcmp(b->jobs[i].name, name) == 0)
      return &b->jobs[i];
  return NULL;
}

static void take_command(struct bench *b, char *line)
{
  char *w[5];
  unsigned n = mf_words(line, w, MF_ARRAY_N(w));
  uint64_t running = 1, ms = 0;
  struct mf_err err = { 0 };
  if (n == 1 && strcmp(w[0], "info") == 0 && b->config.kind == MF_PROVIDER_LOCAL) {
    mf_local_info(b->provider, on_info, b);
    return;
  }
  bool is_rate = n == 5 && strcmp(w[0], "rate") == 0;
  const struct job *job = n >= 3 ? find_job(b, w[2]) : NULL;
  bool is_data = n >= 3 && strcmp(w[1], "data") == 0;
  if ((!is_rate && !(n == 3 && strcmp(w[0], "once") == 0)) || !job || (!is_data && strcmp(w[1], "stdlib") != 0)) {
    mf_answer_error("expected: once stdlib|data JOB, rate stdlib|data JOB RUNNING MS, or info");
    return;
  }
  if (is_rate && (mf_parse_u64(mf_str_of(w[3]), "RUNNING", 1, MF_BENCH_RUNNING_MAX, &running, &err) != MF_OK ||
                  mf_parse_u64(mf_str_of(w[4]), "MS", 1, MF_BENCH_RATE_MS_MAX, &ms, &err) != MF_OK)) {
    mf_answer_error(err.msg);
    return;
  }
  b->spec = (struct mf_sandbox_spec){ .source = { job->source, job->source_n },
                                      .runtime = is_data ? MF_RUNTIME_DATA : MF_RUNTIME_STDLIB };
  mf_sandbox_limits_default(&b->spec.limits);
  bool has_fuel = mf_provider_caps(b->provider) & MF_CAP_FUEL;
  b->spec.limits.fuel = has_fuel ? UINT64_MAX / 2 : 0; /* it is counted all the same */
  if (b->input.name) {
    b->input_file = (struct mf_sandbox_file){ mf_str_of(b->input.name), { b->input.source, b->input.source_n } };
    b->spec.files = &b->input_file;
    b->spec.file_n = 1;
  }
  b->is_rate = is_rate;
  b->want = (unsigned)running;
  b->done_n = b->pool_n = 0;
  b->failure = (struct mf_err){ 0 };
  b->begin_ns = b->last_ns = mf_now_ns();
  b->until_ns = b->begin_ns + ms * MF_NS_PER_MS;
  begin_runs(b);
}

static void on_stdin(void *user, unsigned what)
{
  struct bench *b = user;
  (void)what;
  ssize_t n = read(STDIN_FILENO, b->in + b->in_n, sizeof(b->in) - 1 - b->in_n);
  if (n <= 0) { /* the end of the commands ends the program */
    close_down(b);
    return;
  }
  b->in_n += (size_t)n;
  b->in[b->in_n] = 0;
  char *nl = strchr(b->in, '\n');
  if (!nl) {
    if (b->in_n == sizeof(b->in) - 1) {
      fprintf(stderr, "mf-bench-driver: a command is too long\n");
      b->status = 2;
      close_down(b);
    }
    return;
  }
  *nl = 0;
  b->in_n = 0; /* bench/run sends one command and waits for its answer */
  take_command(b, b->in);
}

static void on_ready(void *user, enum mf_code code, const struct mf_err *err)
{
  struct bench *b = user;
  struct mf_answer a;
  mf_answer_begin(&a);
  mf_jw_kbool(&a.w, "ready", code == MF_OK);
  if (code != MF_OK)
    mf_jw_kstrz(&a.w, "error", err ? err->msg : mf_code_name(code));
  mf_answer_send(&a);
  if (code == MF_OK) {
    mf_watch_set(b->in_watch, MF_WATCH_READ);
    return;
  }
  b->status = 1;
  close_down(b);
}

/* ---- options ---- */

enum option_id { OPT_RUNTIME = 1, OPT_ZYGOTE, OPT_WASM, OPT_CHECKPOINT, OPT_POOL, OPT_JOB, OPT_FILE };
static const struct option options[] = {
  { "runtime", required_argument, NULL, OPT_RUNTIME }, { "zygote", required_argument, NULL, OPT_ZYGOTE },
  { "wasm", required_argument, NULL, OPT_WASM },       { "checkpoint", required_argument, NULL, OPT_CHECKPOINT },
  { "pool", required_argument, NULL, OPT_POOL },       { "job", required_argument, NULL, OPT_JOB },
  { "file", required_argument, NULL, OPT_FILE },       { 0 },
};

static enum mf_code read_named(const char *option, const char *arg, struct job *ret, struct mf_err *err)
{
  const char *eq = strchr(arg, '=');
  if (!eq || ret->name)
    return mf_fail(err, MF_E_INPUT, 0, "%s: expected one NAME=FILE, got '%s'", option, arg);
  enum mf_code code = mf_read_file(AT_FDCWD, eq + 1, MF_SOURCE_BYTES_MAX, &ret->source, &ret->source_n, err);
  if (code == MF_OK)
    ret->name = mf_xasprintf("%.*s", (int)(eq - arg), arg);
  return code;
}

static enum mf_code add_job(struct bench *b, const char *arg, struct mf_err *err)
{
  if (b->job_n == JOBS_MAX)
    return mf_fail(err, MF_E_INPUT, 0, "--job: at most %d", JOBS_MAX);
  enum mf_code code = read_named("--job", arg, &b->jobs[b->job_n], err);
  b->job_n += code == MF_OK;
  return code;
}

static enum mf_code take_option(struct bench *b, int opt, struct mf_err *err)
{
  struct mf_provider_config *c = &b->config;
  uint64_t n = 0;
  enum mf_code code;
  switch (opt) {
  case OPT_RUNTIME:
    c->local.runtime_dir = optarg;
    return MF_OK;
  case OPT_ZYGOTE:
    c->local.zygote_dir = optarg;
    return MF_OK;
  case OPT_WASM:
    c->wasm.runtime_dir = optarg;
    c->kind = MF_PROVIDER_WASM;
    return MF_OK;
  case OPT_CHECKPOINT:
    c->local.checkpoint = strcmp(optarg, "off") == 0 ? MF_CHECKPOINT_OFF : MF_CHECKPOINT_AUTO;
    return strcmp(optarg, "off") == 0 || strcmp(optarg, "auto") == 0
               ? MF_OK
               : mf_fail(err, MF_E_INPUT, 0, "--checkpoint: expected auto or off, got '%s'", optarg);
  case OPT_POOL:
    code = mf_parse_u64(mf_str_of(optarg), "--pool", 0, 64, &n, err);
    c->local.pool_stdlib = c->local.pool_data = (unsigned)n;
    c->wasm.ready_workers = (unsigned)MF_MAX(n, 1u);
    return code;
  case OPT_JOB:
    return add_job(b, optarg, err);
  case OPT_FILE:
    return read_named("--file", optarg, &b->input, err);
  default:
    return mf_fail(err, MF_E_INPUT, 0, "unknown option; see the top of mf-bench-driver.c");
  }
}

int main(int argc, char **argv)
{
  struct bench b = { 0 };
  if (mf_provider_was_helper(argc, argv, &b.status))
    return b.status;

  struct mf_err err = { 0 };
  enum mf_code code = MF_OK;
  int opt;
  mf_provider_config_default(&b.config);
  b.config.local.max_running = b.config.wasm.max_running = PLACES;
  while (code == MF_OK && (opt = getopt_long(argc, argv, "", options, NULL)) != -1)
    code = take_option(&b, opt, &err);
  if (code == MF_OK)
    code = mf_loop_new(&b.loop, &err);
  if (code == MF_OK)
    code = mf_timer_new(b.loop, begin_runs, &b, &b.retry, &err);
  if (code == MF_OK)
    code = mf_watch_new(b.loop, STDIN_FILENO, 0, on_stdin, &b, &b.in_watch, &err);
  if (code == MF_OK)
    code = mf_provider_new(b.loop, &b.config, on_ready, &b, &b.provider, &err);
  if (code == MF_OK)
    code = mf_loop_run(b.loop, &err);
  if (code != MF_OK) {
    mf_answer_error(err.msg);
    b.status = 1;
  }
  mf_watch_free(b.in_watch);
  mf_timer_free(b.retry);
  if (b.loop)
    mf_loop_free(b.loop);
  for (unsigned i = 0; i < b.job_n; i++) {
    free(b.jobs[i].name);
    free(b.jobs[i].source);
  }
  free(b.input.name);
  free(b.input.source);
  return b.status;
}

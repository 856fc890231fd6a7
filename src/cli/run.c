/* `mayfly run`: one program, one sandbox, and the result where the person wants it. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/num.h"
#include "base/path.h"
#include "console.h"
#include "deliver.h"
#include "input.h"
#include "local/local.h"
#include "report.h"
#include "stage.h"
#include "words.h"

#include "base/banned.h"

#define DEFAULT_OUTPUT "mayfly-out"
#define JSON_BYTES_MAX (256u << 20) /* two streams of 16 MiB, each byte escaped as six */

enum {
  OPT_FILE = 2,
  OPT_OUTPUT,
  OPT_FORCE,
  OPT_TIMEOUT,
  OPT_MEMORY,
  OPT_CPU,
  OPT_PIDS,
  OPT_OUTPUT_LIMIT,
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

static const struct mf_opt run_opts[] = {
  { OPT_FILE, 'f', "file", "FILE[:NAME]", "give the program an input file, under NAME; may be repeated", "@file" },
  { OPT_OUTPUT, 'o', "output", "DIR", "where files that it made go (default ./mayfly-out)", "@dir" },
  { OPT_FORCE, 0, "force", NULL, "let them replace files of the same name in DIR", NULL },
  { OPT_TIMEOUT, 't', "timeout", "MS", "wall time for the program (default 60000)", NULL },
  { OPT_MEMORY, 'm', "memory", "MB", "memory of the whole sandbox (default 1024)", NULL },
  { OPT_CPU, 0, "cpu", "MS", "processor time of all its processes (default: no own limit)", NULL },
  { OPT_PIDS, 0, "pids", "N", "processes and threads (default 64)", NULL },
  { OPT_OUTPUT_LIMIT, 0, "output-limit", "BYTES", "of standard output, and of standard error (default 1048576)", NULL },
  { OPT_PROVIDER, 0, "provider", "NAME", "what runs it (default local)", NULL },
  { OPT_ISOLATION, 0, "isolation", "POLICY", "require (default): refuse without every layer; prefer: warn",
    "require prefer" },
  { OPT_RUNTIME, 0, "runtime", "DIR", "the Python runtime (default $MAYFLY_RUNTIME, else beside this program)",
    "@dir" },
  { OPT_STDLIB, 0, "stdlib", NULL, "it needs the standard library only (default: its imports decide)", NULL },
  { OPT_DATA, 0, "data", NULL, "it needs numpy, pandas, matplotlib or openpyxl", NULL },
  { OPT_DISPLAY_LAST, 0, "display-last", NULL, "show the value of a last line that is an expression, as a notebook does",
    NULL },
  { OPT_JSON, 'j', "json", NULL, "print one JSON object at the end and stream nothing", NULL },
  { OPT_RECEIPT, 'r', "receipt", NULL, "print what really held the program, as JSON on standard error", NULL },
  { OPT_NO_CGROUP, 0, "no-cgroup", NULL, NULL, NULL },
  { OPT_DISABLE_LAYERS, 0, "test-disable-layers", "BITS", NULL, NULL },
  MF_OPT_HELP_ROW,
  MF_OPT_END,
};

static const char *const providers[] = { "local" };

struct run_args {
  struct mf_sandbox_limits limits;
  struct mf_local_config config;
  enum mf_runtime_hint runtime;
  const char *output, *runtime_dir;
  const char *source;
  const char *files[MF_INPUT_COUNT_MAX + 1]; /* one more than allowed: mf_input_add refuses it by name */
  unsigned file_n;
  struct mf_str argv[MF_ARGV_COUNT_MAX];
  unsigned argv_n;
  bool json, receipt, force, display_last;
};

struct run_state {
  const struct run_args *args;
  const struct mf_sandbox_spec *spec;
  struct mf_stage stage;
  struct mf_console *console;
  struct mf_provider *provider; /* NULL when closed */
  struct mf_run *run;           /* NULL when none is under way */
  struct mf_sandbox_result *result;
  struct mf_err err; /* why there is no result */
  bool failed;
  int signal;     /* that asked us to end */
  int broken_sys; /* standard output failed so; 0: it did not */
  bool closing;
};

/* ---- the words on the command line ---- */

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

static enum mf_code take_option(void *args, const struct mf_opt *o, const char *value, struct mf_err *err)
{
  struct run_args *a = args;
  uint64_t n = 0;
  enum mf_code code = MF_OK;

  switch (o->id) {
  case OPT_FILE:
    if (a->file_n < MF_ARRAY_N(a->files))
      a->files[a->file_n++] = value;
    break;
  case OPT_OUTPUT:
    a->output = value;
    break;
  case OPT_FORCE:
    a->force = true;
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
    a->json = true;
    break;
  case OPT_RECEIPT:
    a->receipt = true;
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
  struct run_args *a = args;
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
  const struct run_args *a = args;
  return a->source ? MF_OK : mf_fail(err, MF_E_INPUT, 0, "run: needs a program: a file, or - for standard input");
}

/* ---- the run ---- */

static void on_closed(void *user)
{
  struct run_state *s = user;
  s->provider = NULL;
  mf_loop_stop(s->stage.loop);
}

static void close_now(void *user)
{
  struct run_state *s = user;
  mf_provider_close(s->provider, on_closed, s);
}

/* Ends the loop by way of the provider, from a fresh call: the provider may be in the middle of one of its own. */
static void close_later(struct run_state *s)
{
  if (s->closing)
    return;
  s->closing = true;
  mf_console_progress_end(s->console);
  if (mf_loop_defer(s->stage.loop, close_now, s, NULL) != MF_OK)
    mf_loop_stop(s->stage.loop);
}

static void give_up(struct run_state *s, const struct mf_err *err)
{
  s->failed = true;
  s->err = *err;
  close_later(s);
}

static void close_when_written(struct run_state *s)
{
  if (s->result && mf_console_is_drained(s->console))
    close_later(s);
}

static void on_drained(void *user)
{
  close_when_written(user);
}

static void on_broken(void *user, int sys)
{
  struct run_state *s = user;
  s->broken_sys = sys;
  if (s->run)
    mf_sandbox_cancel(s->run);
}

static void on_started(void *user)
{
  struct run_state *s = user;
  mf_console_progress(s->console, "running", s->spec->limits.wall_ms);
}

static void on_output(void *user, bool is_stderr, struct mf_str text)
{
  struct run_state *s = user;
  if (!s->args->json)
    mf_console_write(s->console, is_stderr, text);
}

static void on_finished(void *user, struct mf_sandbox_result *result)
{
  struct run_state *s = user;
  s->run = NULL;
  s->result = result;
  mf_console_progress_end(s->console);
  mf_console_end(s->console);
  close_when_written(s);
}

static const struct mf_sandbox_events run_events = { on_started, on_output, on_finished };
static const struct mf_console_events console_events = { on_broken, on_drained };

static void on_ready(void *user, enum mf_code code, const struct mf_err *err)
{
  struct run_state *s = user;
  struct mf_err why = { 0 };

  if (s->closing)
    return;
  if (code != MF_OK) {
    give_up(s, err);
    return;
  }
  if (mf_sandbox_start(s->provider, s->spec, &run_events, s, &s->run, &why) != MF_OK)
    give_up(s, &why);
}

static void on_signal(void *user, int sig)
{
  struct run_state *s = user;
  s->signal = sig;
  if (s->run)
    mf_sandbox_cancel(s->run);
  else
    close_later(s); /* not begun yet, or waiting for a reader that does not read */
}

static enum mf_code run_loop(struct run_state *s, struct mf_err *err)
{
  /* Repaired text can be three times the raw bytes but never more than the limit; one byte of slack for each. */
  size_t kept_max = (size_t)MF_MAX(s->spec->limits.stdout_bytes, s->spec->limits.stderr_bytes) + 4096;

  enum mf_code code = mf_stage_init(&s->stage, on_signal, s, err);
  if (code == MF_OK)
    code = mf_console_new(s->stage.loop, kept_max, &console_events, s, &s->console, err);
  if (code == MF_OK) {
    mf_console_progress(s->console, "starting", 0);
    code = mf_local_new(s->stage.loop, &s->args->config, on_ready, s, &s->provider, err);
  }
  if (code == MF_OK)
    code = mf_loop_run(s->stage.loop, err);
  return code;
}

static void run_state_done(struct run_state *s)
{
  mf_sandbox_result_free(s->result);
  mf_console_free(s->console);
  mf_stage_done(&s->stage, s->provider != NULL);
}

/* ---- afterwards ---- */

static bool print_json(const struct mf_sandbox_result *r, int *ret_exit)
{
  char id[MF_TASK_ID_N];
  struct mf_err err = { 0 };
  struct mf_json_writer w;
  mf_auto_buf struct mf_buf out;

  mf_buf_init(&out, JSON_BYTES_MAX);
  enum mf_code code = mf_task_id(id, &err);
  if (code == MF_OK) {
    mf_jw_init(&w, &out, false);
    mf_sandbox_result_write_json(r, id, &w);
    code = w.code == MF_OK ? mf_buf_append(&out, "\n", 1) : w.code;
    if (code != MF_OK)
      (void)!mf_fail(&err, code, 0, "the result is too large for JSON");
  }
  if (code != MF_OK) {
    mf_say("%s", err.msg);
    *ret_exit = MF_EXIT_OURS;
    return false;
  }
  return mf_print(mf_buf_str(&out), ret_exit);
}

static void print_receipt(const struct mf_sandbox_result *r)
{
  struct mf_json_writer w;
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, 1u << 20);
  mf_jw_init(&w, &out, true);
  mf_receipt_write_json(&r->receipt, &w);
  if (w.code == MF_OK && mf_buf_append(&out, "\n", 1) == MF_OK)
    (void)!write(STDERR_FILENO, out.ptr, out.len);
}

/* Writes the files. The default folder is ours, so an earlier run's files in it are replaced; in a folder that the
 * person named nothing is, unless they say so. Nor are the results of a long run thrown away for a name that is taken:
 * all of them go to a new folder beside, and the exit status tells. NULL: not written, or not where they should be. */
static const char *deliver(const struct run_args *a, struct mf_sandbox_result *r)
{
  const char *dir = a->output ? a->output : DEFAULT_OUTPUT;
  bool may_replace = !a->output || a->force;
  mf_auto_free char *taken = may_replace ? NULL : mf_deliver_taken(dir, r);
  mf_auto_free char *aside = taken ? mf_deliver_aside(dir) : NULL;
  struct mf_err err = { 0 };

  if (mf_deliver(aside ? aside : dir, may_replace, r, &err) != MF_OK) {
    mf_say("%s", err.msg);
    return NULL;
  }
  if (!aside)
    return dir;
  mf_say("%s exists already: nothing was replaced (--force does); the files are in %s", taken, aside);
  return NULL;
}

static void say_files(const struct mf_sandbox_result *r, const char *dir)
{
  char size_text[32];
  for (unsigned i = 0; i < r->artifact_n; i++) {
    mf_size_text(r->artifacts[i].size_bytes, size_text);
    mf_say("wrote %s/%s (%s, %s)", dir, r->artifacts[i].path, size_text, r->artifacts[i].mime_type);
  }
}

static void say_result(const struct mf_sandbox_result *r, const struct mf_sandbox_limits *l)
{
  char words[400];
  mf_result_words(r, l, words, sizeof(words));
  if (words[0])
    mf_say("%s", words);
  if (r->out_truncated)
    mf_say("standard output was cut at its limit of %llu bytes", (unsigned long long)l->stdout_bytes);
  if (r->err_truncated)
    mf_say("standard error was cut at its limit of %llu bytes", (unsigned long long)l->stderr_bytes);
  for (unsigned i = 0; r->status != MF_RUN_SUCCEEDED && i < r->denied_n; i++)
    mf_say("refused: %s", r->denied[i]);
  for (unsigned i = 0; i < r->rejected_n; i++)
    mf_say("not taken: %s: %s", r->rejected[i].path, r->rejected[i].reason);
}

static bool has_words(const struct mf_sandbox_result *r)
{
  return r->status != MF_RUN_SUCCEEDED || r->out_truncated || r->err_truncated || r->rejected_n || r->artifact_n;
}

/* The result is there: its files, its words, its exit status. */
static int conclude(struct run_state *s)
{
  struct mf_sandbox_result *r = s->result;
  const struct run_args *a = s->args;
  int status = mf_result_exit_status(r);
  bool cancelled = r->status == MF_RUN_CANCELLED;

  if (s->signal && cancelled)
    status = 128 + s->signal;
  if (!a->json && (has_words(r) || a->receipt))
    mf_console_new_line(s->console);
  if (!a->json)
    say_result(r, &s->spec->limits);

  /* A person who pressed ^C wants no half of a file. */
  const char *dir = cancelled ? NULL : deliver(a, r);
  if (!dir && !cancelled)
    status = MF_EXIT_OURS;
  else if (dir && !a->json)
    say_files(r, dir);

  int print_status = 0;
  if (a->json && !print_json(r, &print_status))
    return print_status;
  if (a->receipt && !a->json)
    print_receipt(r);
  return status;
}

static int run_spec(const struct run_args *a, const struct mf_sandbox_spec *spec)
{
  struct run_state s = { .args = a, .spec = spec };
  struct mf_err err = { 0 };
  int status = MF_EXIT_OURS;

  enum mf_code code = run_loop(&s, &err);
  if (s.console)
    mf_console_progress_end(s.console);
  if (code != MF_OK)
    mf_say("%s", err.msg);
  else if (s.broken_sys == EPIPE)
    status = 128 + SIGPIPE;
  else if (s.broken_sys)
    mf_say("standard output: %s", strerror(s.broken_sys));
  else if (s.result && !(s.signal && !mf_console_is_drained(s.console)))
    status = conclude(&s);
  else if (s.signal) /* before there was a result, or before its output found a reader */
    status = 128 + s.signal;
  else if (s.failed)
    mf_say("%s%s", s.err.msg, s.err.code == MF_E_UNAVAILABLE ? " (see 'mayfly doctor')" : "");
  run_state_done(&s);
  return status;
}

static int fail_input(const struct mf_err *err)
{
  mf_say("%s", err->msg);
  return MF_EXIT_OURS;
}

static int run_with_args(struct run_args *a)
{
  struct mf_err err = { 0 };
  mf_auto_free char *runtime_dir = NULL;
  int status = MF_EXIT_OURS;

  struct mf_input *in = mf_xcalloc(1, sizeof(*in));
  enum mf_code code = mf_input_source(in, a->source, &err);
  for (unsigned i = 0; code == MF_OK && i < a->file_n; i++)
    code = mf_input_add(in, a->files[i], &err);
  if (code == MF_OK)
    code = mf_deliver_check(a->output ? a->output : DEFAULT_OUTPUT, &err);

  struct mf_sandbox_spec spec = {
    .source = { in->source, in->source_n },
    .source_name = mf_str_of(in->source_name),
    .argv = a->argv,
    .argv_n = a->argv_n,
    .files = in->files,
    .file_n = in->file_n,
    .limits = a->limits,
    .runtime = a->runtime,
    .display_last_expression = a->display_last,
  };
  if (code == MF_OK)
    code = mf_sandbox_spec_check(&spec, &err);
  if (code == MF_OK)
    code = mf_local_find_runtime(a->runtime_dir, &runtime_dir, &err);
  if (code == MF_OK) {
    /* Only the zygote that this program needs, and nothing that pays off from the second run on. */
    bool data = mf_local_route(&spec) == MF_RUNTIME_DATA;
    spec.runtime = data ? MF_RUNTIME_DATA : MF_RUNTIME_STDLIB;
    a->config.start_data = data;
    a->config.start_stdlib = !data;
    a->config.runtime_dir = runtime_dir;
    status = run_spec(a, &spec);
  } else {
    status = fail_input(&err);
  }
  mf_input_done(in);
  free(in);
  return status;
}

static int run_run(const struct mf_command *self, int argc, char **argv)
{
  static const struct mf_words words = { .take_option = take_option, .take_word = take_word, .check = check };
  int status;

  struct run_args *a = mf_xcalloc(1, sizeof(*a));
  mf_sandbox_limits_default(&a->limits);
  mf_local_config_default(&a->config);
  a->config.max_running = 1;
  a->config.pool_stdlib = a->config.pool_data = 0;
  a->config.warm = false;
  a->config.checkpoint = MF_CHECKPOINT_OFF;

  if (mf_words_read(self, &words, a, argc, argv, &status))
    status = run_with_args(a);
  else if (status == MF_EXIT_USAGE)
    status = MF_EXIT_OURS;
  free(a);
  return status;
}

const struct mf_command mf_command_run = {
  .name = "run",
  .usage = "[options] FILE|- [-- ARGS…]",
  .summary = "run a Python program in a fresh sandbox",
  .about = "Runs FILE, or standard input for -, in a sandbox of its own: no network, no file of this machine\n"
           "but the inputs given with -f, bounded time, memory, processes and output. What it prints is shown\n"
           "as it comes. Files that it leaves in its working directory are written to the output directory\n"
           "when it has ended: ./mayfly-out, where files of an earlier run are replaced, or DIR of -o, where\n"
           "nothing is replaced without --force: should a name be taken there, all files go to a new folder\n"
           "DIR/mayfly-out-N and the exit status is 125.\n\n"
           "The exit status is the program's own; 128 + N when signal N ended it; 124 when it timed out; 137\n"
           "when it was over its memory; 125 when Mayfly itself could not do its part.",
  .examples = "  mayfly run analysis.py -f sales.csv\n"
              "  mayfly run plot.py -f /data/2026-01.csv:in.csv -o pictures\n"
              "  echo 'print(6 * 7)' | mayfly run -\n"
              "  mayfly run job.py --timeout 5000 --memory 256 --json -- --verbose input",
  .opts = run_opts,
  .words = "@file",
  .run = run_run,
};

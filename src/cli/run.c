/* `mayfly run`: one program, one sandbox, and the result where the person wants it. */
#include "run.h"

#include "deliver.h"
#include "input.h"

#include "base/banned.h"

static int fail(const struct mf_err *err)
{
  mf_say("%s", err->msg);
  return MF_EXIT_OURS;
}

/* Only the zygote that this program needs. */
static int run_here(struct mf_run_args *a, struct mf_sandbox_spec *spec)
{
  struct mf_local_config *local = &a->provider.local;
  if (a->provider.kind == MF_PROVIDER_LOCAL)
    spec->runtime = mf_local_route(spec);
  local->start_data = spec->runtime == MF_RUNTIME_DATA;
  local->start_stdlib = !local->start_data;
  return mf_run_local(a, spec);
}

static int run_with_args(struct mf_run_args *a)
{
  struct mf_err err = { 0 };
  int status = MF_EXIT_OURS;

  struct mf_input *in = mf_xcalloc(1, sizeof(*in));
  enum mf_code code = mf_input_source(in, a->source, &err);
  for (unsigned i = 0; code == MF_OK && i < a->file_n; i++)
    code = mf_input_add(in, a->files[i], &err);
  if (code == MF_OK)
    code = mf_deliver_check(a->form.output ? a->form.output : MF_OUTPUT_DEFAULT, &err);

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
  if (code != MF_OK)
    status = fail(&err);
  else if (!mf_run_remote(a, &spec, &status))
    status = run_here(a, &spec);
  mf_input_done(in);
  free(in);
  return status;
}

static int run_run(const struct mf_command *self, int argc, char **argv)
{
  int status;
  struct mf_run_args *a = mf_xmalloc(sizeof(*a));
  mf_run_args_init(a);
  if (mf_words_read(self, &mf_run_words, a, argc, argv, &status))
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
           "When `mayfly serve` of the same user runs, it does the work, warm (--server off: never; a program's\n"
           "arguments and options that tasks have not got need a sandbox of their own anyway).\n\n"
           "The exit status is the program's own; 128 + N when signal N ended it; 124 when it timed out; 137\n"
           "when it was over its memory; 125 when Mayfly itself could not do its part.",
  .examples = "  mayfly run analysis.py -f sales.csv\n"
              "  mayfly run plot.py -f /data/2026-01.csv:in.csv -o pictures\n"
              "  echo 'print(6 * 7)' | mayfly run -\n"
              "  mayfly run job.py --timeout 5000 --memory 256 --json -- --verbose input",
  .opts = mf_run_opts,
  .words = "@file",
  .run = run_run,
};

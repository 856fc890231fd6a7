/* `mayfly submit`: a program and its files to a server. */
#include <stdio.h>

#include "base/num.h"
#include "input.h"
#include "remote-task.h"
#include "task-show.h"
#include "task-words.h"

#include "base/banned.h"

enum { OPT_FILE = 2, OPT_TIMEOUT, OPT_MEMORY, OPT_DISPLAY_LAST, OPT_WAIT };

static const struct mf_opt submit_opts[] = {
  { OPT_FILE, 'f', "file", "FILE[:NAME]", "give the program an input file, under NAME; may be repeated", "@file" },
  { OPT_TIMEOUT, 't', "timeout", "MS", "wall time for the program (default and most 60000)", NULL },
  { OPT_MEMORY, 'm', "memory", "MB", "memory of the whole sandbox (default 1024)", NULL },
  { OPT_DISPLAY_LAST, 0, "display-last", NULL,
    "show the value of a last line that is an expression, as a notebook does", NULL },
  { OPT_WAIT, 'w', "wait", NULL, "show what it prints until it ends; end as it does", NULL },
  MF_TASK_ROWS MF_OPT_HELP_ROW,
  MF_OPT_END,
};

struct submit_args {
  struct mf_task_words task;
  const char *source;
  const char *files[MF_INPUT_COUNT_MAX + 1]; /* one more than allowed: mf_input_add refuses it by name */
  unsigned file_n;
  struct mf_sandbox_limits limits;
  bool wait, display_last;
  struct mf_sandbox_spec spec;
};

static enum mf_code take_option(void *args, const struct mf_opt *o, const char *value, struct mf_err *err)
{
  struct submit_args *a = args;
  uint64_t n = 0;
  enum mf_code code = MF_OK;
  if (mf_task_take(&a->task, o, value))
    return MF_OK;
  switch (o->id) {
  case OPT_FILE:
    if (a->file_n < MF_ARRAY_N(a->files))
      a->files[a->file_n++] = value;
    break;
  case OPT_TIMEOUT:
    code = mf_parse_u64(mf_str_of(value), "--timeout", 1, MF_REMOTE_WALL_MS_MAX, &a->limits.wall_ms, err);
    break;
  case OPT_MEMORY:
    code = mf_parse_u64(mf_str_of(value), "--memory", MF_MEMORY_BYTES_MIN >> 20, MF_MEMORY_BYTES_MAX >> 20, &n, err);
    if (!code)
      a->limits.memory_bytes = n << 20;
    break;
  case OPT_DISPLAY_LAST:
    a->display_last = true;
    break;
  case OPT_WAIT:
    a->wait = true;
    break;
  default:
    return mf_fail(err, MF_E_INTERNAL, 0, "option --%s has no meaning", o->name);
  }
  return code;
}

static enum mf_code take_word(void *args, const char *word, bool ended, struct mf_err *err)
{
  struct submit_args *a = args;
  if (a->source)
    return mf_fail(err, MF_E_INPUT, 0, "submit: one program at a time; input files go after -f");
  a->source = word;
  return MF_OK;
}

static enum mf_code check(const void *args, struct mf_err *err)
{
  const struct submit_args *a = args;
  return a->source ? MF_OK : mf_fail(err, MF_E_INPUT, 0, "submit: needs a program: a file, or - for standard input");
}

static int work(struct mf_session *s)
{
  const struct submit_args *a = s->user;
  char id[MF_REMOTE_ID_N];
  mf_auto_json struct mf_json *task = NULL;
  struct mf_err err = { 0 };
  mf_console_progress(s->console, "sending", 0);
  enum mf_code code = mf_remote_submit(s->remote, s->self, &a->spec, 0, id, &task, &err);
  mf_console_progress_end(s->console);
  if (code)
    return mf_session_fail(s, &err);
  if (a->wait)
    return mf_task_follow(s, id, a->task.json, true);
  if (a->task.json)
    return mf_session_print(mf_json_root(task));
  char line[MF_REMOTE_ID_N + 1];
  int n = snprintf(line, sizeof(line), "%s\n", id);
  return mf_print_exit((struct mf_str){ line, (size_t)n });
}

static int submit(struct submit_args *a)
{
  struct mf_err err = { 0 };
  int status = MF_EXIT_OURS;
  struct mf_input *in = mf_xcalloc(1, sizeof(*in));
  enum mf_code code = mf_input_source(in, a->source, &err);
  for (unsigned i = 0; !code && i < a->file_n; i++)
    code = mf_input_add(in, a->files[i], &err);
  a->spec = (struct mf_sandbox_spec){ .source = { in->source, in->source_n },
                                      .source_name = mf_str_of(in->source_name),
                                      .files = in->files,
                                      .file_n = in->file_n,
                                      .limits = a->limits,
                                      .display_last_expression = a->display_last };
  if (!code)
    code = mf_sandbox_spec_check(&a->spec, &err);
  if (code)
    mf_say("%s", err.msg);
  else
    status = mf_task_session(&a->task, work, a);
  mf_input_done(in);
  free(in);
  return status;
}

static int run_submit(const struct mf_command *self, int argc, char **argv)
{
  static const struct mf_words words = { .take_option = take_option, .take_word = take_word, .check = check };
  struct submit_args *a = mf_xcalloc(1, sizeof(*a));
  int status;
  mf_sandbox_limits_default(&a->limits);
  if (mf_task_words_read(self, &words, a, argc, argv, &status))
    status = submit(a);
  free(a);
  return status;
}

const struct mf_command mf_command_submit = {
  .name = "submit",
  .usage = "[options] FILE|-",
  .summary = "give a program to a server that runs it as a task",
  .about =
      "Sends FILE, or standard input for -, with its input files to a server (`mayfly serve`) and prints the task's\n"
      "id. With --wait it shows what the program prints as it comes and ends with its exit status, as `mayfly run`\n"
      "does; ^C then cancels the task. Results are kept for an hour after the end. The key of a server that wants\n"
      "one is taken from MAYFLY_API_KEY. The exit status is 125 when Mayfly itself could not do its part.",
  .examples = "  mayfly submit analysis.py -f sales.csv\n"
              "  mayfly submit --wait --timeout 5000 job.py\n"
              "  MAYFLY_API_KEY=… mayfly submit job.py --server https://mayfly.example.org",
  .opts = submit_opts,
  .words = "@file",
  .run = run_submit,
};

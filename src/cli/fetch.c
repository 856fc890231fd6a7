/* `mayfly fetch`: the files of a task. */
#include "deliver.h"
#include "outcome.h"
#include "remote-result.h"
#include "remote-task.h"
#include "task-words.h"

#include "base/banned.h"

enum { OPT_OUTPUT = 2, OPT_FORCE };
enum { JSON_BYTES_MAX = 16 << 20 };

static const struct mf_opt fetch_opts[] = {
  { OPT_OUTPUT, 'o', "output", "DIR", "where they go (default ./mayfly-out)", "@dir" },
  { OPT_FORCE, 0, "force", NULL, "let them replace files of the same name in DIR", NULL },
  MF_TASK_ROWS MF_OPT_HELP_ROW,
  MF_OPT_END,
};

struct fetch_args {
  struct mf_task_words task;
  struct mf_outcome_form form;
};

static enum mf_code take_option(void *args, const struct mf_opt *o, const char *value, struct mf_err *err)
{
  struct fetch_args *a = args;
  if (mf_task_take(&a->task, o, value))
    return MF_OK;
  if (o->id == OPT_OUTPUT)
    a->form.output = value;
  a->form.force |= o->id == OPT_FORCE;
  return MF_OK;
}

static enum mf_code take_word(void *args, const char *word, bool ended, struct mf_err *err)
{
  return mf_task_take_id(&((struct fetch_args *)args)->task, word, err);
}

static enum mf_code check(const void *args, struct mf_err *err)
{
  const struct fetch_args *a = args;
  enum mf_code code = mf_task_check_id(&a->task, "fetch", err);
  return code ? code : mf_deliver_check(a->form.output ? a->form.output : MF_OUTPUT_DEFAULT, err);
}

static enum mf_code load(struct mf_session *s, const char *id, struct mf_json **ret_task,
                         struct mf_sandbox_result **ret, struct mf_err *err)
{
  enum mf_code code = mf_remote_get(s->remote, s->self, id, 0, ret_task, err);
  if (code)
    return code;
  const struct mf_json_val *task = mf_json_root(*ret_task);
  if (!mf_remote_has_ended(task))
    return mf_fail(err, MF_E_INPUT, 0, "%s is %.*s: it has files when it has ended ('mayfly get --wait')", id,
                   MF_STR_ARG(mf_remote_status(task)));
  code = mf_remote_result(task, ret, err);
  return code ? code : mf_remote_fetch(s->remote, s->self, task, *ret, err);
}

static int print_json(const struct fetch_args *a, const struct mf_json_val *task)
{
  struct mf_json_writer w;
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, JSON_BYTES_MAX);
  mf_jw_init(&w, &out, false);
  mf_jw_obj(&w);
  mf_jw_kstrz(&w, "taskId", a->task.id);
  mf_jw_kstrz(&w, "directory", a->form.output ? a->form.output : MF_OUTPUT_DEFAULT);
  mf_jw_key(&w, "artifacts");
  mf_jw_val(&w, mf_json_get(task, "artifacts"));
  mf_jw_obj_end(&w);
  if (!w.code && mf_buf_append(&out, "\n", 1) == MF_OK)
    return mf_print_exit(mf_buf_str(&out));
  mf_say("the answer is too large for JSON");
  return MF_EXIT_OURS;
}

static int work(struct mf_session *s)
{
  const struct fetch_args *a = s->user;
  struct mf_sandbox_result *r = NULL;
  mf_auto_json struct mf_json *task = NULL;
  struct mf_err err = { 0 };
  int status = 0;
  mf_console_progress(s->console, "fetching", 0);
  enum mf_code code = load(s, a->task.id, &task, &r, &err);
  mf_console_progress_end(s->console);
  if (code)
    status = mf_session_fail(s, &err);
  else if (!mf_outcome_deliver(&a->form, r))
    status = MF_EXIT_OURS;
  else if (a->task.json)
    status = print_json(a, mf_json_root(task));
  else if (r->artifact_n == 0)
    mf_say("%s has no files", a->task.id);
  mf_sandbox_result_free(r);
  return status;
}

static int run_fetch(const struct mf_command *self, int argc, char **argv)
{
  static const struct mf_words words = { .take_option = take_option, .take_word = take_word, .check = check };
  struct fetch_args a = { .form.json = false };
  int status;
  if (!mf_task_words_read(self, &words, &a, argc, argv, &status))
    return status;
  a.form.json = a.task.json;
  return mf_task_session(&a.task, work, &a);
}

const struct mf_command mf_command_fetch = {
  .name = "fetch",
  .usage = "[options] ID",
  .summary = "write the files that a task of a server has made",
  .about =
      "Writes the files of an ended task, all or none, after their sizes and SHA-256 were found to be what the server\n"
      "has promised: to ./mayfly-out, where earlier files are replaced, or to DIR of -o, where nothing is replaced\n"
      "without --force.",
  .examples = "  mayfly fetch task_… -o results",
  .opts = fetch_opts,
  .run = run_fetch,
};

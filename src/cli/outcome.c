/* What a person gets of a result. */
#include "outcome.h"

#include <stdio.h>
#include <unistd.h>

#include "cli.h"
#include "deliver.h"
#include "input.h"
#include "report.h"

#include "base/banned.h"

#define JSON_BYTES_MAX (256u << 20) /* two streams of 16 MiB, each byte escaped as six */

static bool print_json(const struct mf_sandbox_result *r, const char *task_id, int *ret_exit)
{
  char id[MF_TASK_ID_N];
  struct mf_err err = { 0 };
  struct mf_json_writer w;
  mf_auto_buf struct mf_buf out;

  mf_buf_init(&out, JSON_BYTES_MAX);
  enum mf_code code = task_id ? MF_OK : mf_task_id(id, &err);
  if (code == MF_OK) {
    mf_jw_init(&w, &out, false);
    mf_sandbox_result_write_json(r, task_id ? task_id : id, &w);
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

static void say_file(const struct mf_artifact *a, const char *dir)
{
  char size_text[32];
  mf_size_text(a->size_bytes, size_text);
  mf_say("wrote %s/%s (%s, %s)", dir, a->path, size_text, a->mime_type);
}

/* Writes the files. The default folder is ours, so an earlier run's files in it are replaced; in a folder that the
 * person named nothing is, unless they say so. Nor are the results of a long run thrown away for a name that is taken:
 * all of them go to a new folder beside, and the exit status tells. */
bool mf_outcome_deliver(const struct mf_outcome_form *a, struct mf_sandbox_result *r)
{
  const char *dir = a->output ? a->output : MF_OUTPUT_DEFAULT;
  bool may_replace = !a->output || a->force;
  mf_auto_free char *taken = may_replace ? NULL : mf_deliver_taken(dir, r);
  mf_auto_free char *aside = taken ? mf_deliver_aside(dir) : NULL;
  struct mf_err err = { 0 };

  if (mf_deliver(aside ? aside : dir, may_replace, r, &err) != MF_OK) {
    mf_say("%s", err.msg);
    return false;
  }
  for (unsigned i = 0; !aside && !a->json && i < r->artifact_n; i++)
    say_file(&r->artifacts[i], dir);
  if (!aside)
    return true;
  mf_say("%s exists already: nothing was replaced (--force does); the files are in %s", taken, aside);
  return false;
}

void mf_outcome_words(const struct mf_sandbox_result *r, const struct mf_sandbox_limits *l)
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

bool mf_outcome_has_words(const struct mf_sandbox_result *r)
{
  return r->status != MF_RUN_SUCCEEDED || r->out_truncated || r->err_truncated || r->rejected_n || r->artifact_n;
}

int mf_outcome(const struct mf_outcome *o)
{
  struct mf_sandbox_result *r = o->result;
  const struct mf_outcome_form *a = o->form;
  int status = mf_result_exit_status(r);
  bool cancelled = r->status == MF_RUN_CANCELLED;

  if (o->signal && cancelled)
    status = 128 + o->signal;
  if (!a->json && (mf_outcome_has_words(r) || a->receipt))
    mf_console_new_line(o->console);
  if (!a->json)
    mf_outcome_words(r, o->limits);

  /* A person who pressed ^C wants no half of a file. */
  if (!cancelled && !mf_outcome_deliver(a, r))
    status = MF_EXIT_OURS;

  int print_status = 0;
  if (a->json && !print_json(r, o->task_id, &print_status))
    return print_status;
  if (a->receipt && !a->json)
    print_receipt(r);
  return status;
}

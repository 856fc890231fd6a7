/* What the commands about tasks of a server share. */
#include "task-words.h"

#include "base/banned.h"

bool mf_task_take(struct mf_task_words *t, const struct mf_opt *o, const char *value)
{
  if (o->id == MF_TASK_OPT_SERVER)
    t->server = value;
  else if (o->id == MF_TASK_OPT_JSON)
    t->json = true;
  else
    return false;
  return true;
}

enum mf_code mf_task_take_id(struct mf_task_words *t, const char *word, struct mf_err *err)
{
  if (t->id)
    return mf_fail(err, MF_E_INPUT, 0, "one task at a time");
  if (!mf_remote_is_id(mf_str_of(word)))
    return mf_fail(err, MF_E_INPUT, 0, "that is no id of a task ('mayfly tasks' lists them)");
  t->id = word;
  return MF_OK;
}

enum mf_code mf_task_check_id(const struct mf_task_words *t, const char *command, struct mf_err *err)
{
  return t->id ? MF_OK : mf_fail(err, MF_E_INPUT, 0, "%s: needs the id of a task", command);
}

int mf_task_session(const struct mf_task_words *t, int (*work)(struct mf_session *s), void *user)
{
  struct mf_remote_place place = { 0 };
  struct mf_err err = { 0 };
  int exit = MF_EXIT_OURS;
  enum mf_code code = mf_remote_find(t->server, &place, &err);
  if (!code)
    code = mf_session_run(&place, work, user, &exit, &err);
  if (!code)
    return exit;
  mf_say("%s", err.msg);
  return MF_EXIT_OURS;
}

bool mf_task_words_read(const struct mf_command *self, const struct mf_words *words, void *args, int argc, char **argv,
                        int *ret_exit)
{
  if (mf_words_read(self, words, args, argc, argv, ret_exit))
    return true;
  if (*ret_exit == MF_EXIT_USAGE)
    *ret_exit = MF_EXIT_OURS;
  return false;
}

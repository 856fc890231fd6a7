/* The table of commands. */
#include "base/near.h"
#include "base/path.h"
#include "cli.h"

#include "base/banned.h"

const struct mf_command *const mf_commands[] = {
  &mf_command_run,
  &mf_command_submit,
  &mf_command_get,
  &mf_command_cancel,
  &mf_command_tasks,
  &mf_command_fetch,
  &mf_command_serve,
  &mf_command_key,
  &mf_command_demo,
  &mf_command_config,
  &mf_command_doctor,
  &mf_command_bench,
  &mf_command_model,
  &mf_command_version,
  &mf_command_help,
  &mf_command_completion,
  NULL,
};

const struct mf_command *mf_command_find(const char *name)
{
  for (const struct mf_command *const *c = mf_commands; *c; c++)
    if (strcmp((*c)->name, name) == 0)
      return *c;
  return NULL;
}

static const char *next_name(void *user)
{
  const struct mf_command *const **at = user;
  return **at ? (*(*at)++)->name : NULL;
}

enum mf_code mf_command_unknown(const char *name, struct mf_err *err)
{
  char shown[120];
  mf_escape(mf_str_of(name), shown, sizeof(shown));

  const struct mf_command *const *at = mf_commands;
  const char *near = mf_nearest(name, next_name, &at);
  if (near)
    return mf_fail(err, MF_E_INPUT, 0, "unknown command '%s': did you mean '%s'?", shown, near);
  /* The commonest slip: the file without the command. */
  size_t n = strlen(name);
  if (n > 3 && strcmp(name + n - 3, ".py") == 0)
    return mf_fail(err, MF_E_INPUT, 0, "unknown command '%s': did you mean 'mayfly run %s'?", shown, shown);
  return mf_fail(err, MF_E_INPUT, 0, "unknown command '%s': see 'mayfly help'", shown);
}

/* --help of every command, `mayfly help`, and the list of commands. */
#include <stdio.h>

#include "base/path.h"
#include "words.h"

#include "base/banned.h"

#define HELP_BYTES_MAX 65536u
#define NAME_COLUMN 30 /* where the words about an option begin */

static void put_option(const struct mf_opt *o, struct mf_buf *out)
{
  char left[80], optional[24] = "";
  if (o->arg && !mf_opt_takes_word(o)) /* "[S]" is written "[=S]" */
    snprintf(optional, sizeof(optional), "[=%s", o->arg + 1);
  int n = snprintf(left, sizeof(left), "  %c%c%s --%s%s%s", o->letter ? '-' : ' ', o->letter ? o->letter : ' ',
                   o->letter ? "," : " ", o->name, mf_opt_takes_word(o) ? " " : optional,
                   mf_opt_takes_word(o) ? o->arg : "");
  if (n >= NAME_COLUMN)
    mf_put(out, "%s\n%*s%s\n", left, NAME_COLUMN, "", o->help);
  else
    mf_put(out, "%-*s%s\n", NAME_COLUMN, left, o->help);
}

void mf_help_command(const struct mf_command *c, struct mf_buf *out)
{
  mf_put(out, "Usage: mayfly %s %s\n\n%s\n\nOptions:\n", c->name, c->usage, c->about);
  for (const struct mf_opt *o = c->opts; o->name; o++)
    if (o->help)
      put_option(o, out);
  mf_put(out, "\nExamples:\n%s\n", c->examples);
}

void mf_help_overview(struct mf_buf *out)
{
  mf_put(out,
         "Usage: mayfly COMMAND [options]\n\n"
         "Runs Python that somebody else wrote in a fresh Linux sandbox: born ready, works once, dies.\n\nCommands:\n");
  for (const struct mf_command *const *c = mf_commands; *c; c++)
    mf_put(out, "  %-12s%s\n", (*c)->name, (*c)->summary);
  mf_put(out,
         "\n'mayfly COMMAND --help' shows the options and examples of a command.\n"
         "First steps: 'mayfly doctor' says what this machine can do, then 'mayfly run analysis.py -f sales.csv'.\n");
}

static enum mf_code take_word(void *args, const char *word, bool ended, struct mf_err *err)
{
  const struct mf_command **about = args;
  if (*about)
    return mf_fail(err, MF_E_INPUT, 0, "help: one command at a time");
  *about = mf_command_find(word);
  return *about ? MF_OK : mf_command_unknown(word, err);
}

static int run_help(const struct mf_command *self, int argc, char **argv)
{
  static const struct mf_words words = { .take_word = take_word };
  const struct mf_command *about = NULL;
  int exit;
  if (!mf_words_read(self, &words, (void *)&about, argc, argv, &exit))
    return exit;

  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, HELP_BYTES_MAX);
  if (about)
    mf_help_command(about, &out);
  else
    mf_help_overview(&out);
  return mf_print_exit(mf_buf_str(&out));
}

static const struct mf_opt help_opts[] = { MF_OPT_HELP_ROW, MF_OPT_END };

const struct mf_command mf_command_help = {
  .name = "help",
  .usage = "[COMMAND]",
  .summary = "show help of a command",
  .about = "Shows the list of commands, or the options and examples of one.",
  .examples = "  mayfly help run",
  .opts = help_opts,
  .words = "@command",
  .run = run_help,
};

/* The words after a command's name. */
#include "words.h"

#include "base/banned.h"

enum { HELP_BYTES_MAX = 65536 };

static enum mf_code take(const struct mf_command *self, const struct mf_words *words, void *args,
                         struct mf_opt_parser *p, bool *wants_help, struct mf_err *err)
{
  const struct mf_opt *o;
  const char *value;
  for (;;) {
    enum mf_code code = mf_opt_next(p, &o, &value, err);
    if (code || (!o && !value))
      return code;
    if (!o)
      code = words->take_word ? words->take_word(args, value, p->ended, err)
                              : mf_fail(err, MF_E_INPUT, 0, "%s: takes no arguments", self->name);
    else if (o->id == MF_OPT_HELP)
      *wants_help = true;
    else
      code = words->take_option(args, o, value, err);
    if (code)
      return code;
  }
}

bool mf_words_read(const struct mf_command *self, const struct mf_words *words, void *args, int argc, char **argv,
                   int *ret_exit)
{
  struct mf_opt_parser p;
  struct mf_err err = { 0 };
  bool wants_help = false;
  mf_opt_init(&p, self->opts, argc, argv);
  enum mf_code code = take(self, words, args, &p, &wants_help, &err);
  if (!code && !wants_help && words->check)
    code = words->check(args, &err);
  if (code) {
    mf_say("%s", err.msg);
    *ret_exit = MF_EXIT_USAGE;
    return false;
  }
  if (!wants_help)
    return true;
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, HELP_BYTES_MAX);
  mf_help_command(self, &out);
  *ret_exit = mf_print_exit(mf_buf_str(&out));
  return false;
}

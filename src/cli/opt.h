/* Command-line options as a table: the parser, --help and shell completion all read the same rows.
 *
 * Long options take a value after "=" or as the next word; short ones may be joined ("-j", "-oDIR"); "--" ends the
 * options. The last row of a table has no name. Thread: any. */
#ifndef MF_CLI_OPT_H
#define MF_CLI_OPT_H

#include <stdbool.h>

#include "base/err.h"

struct mf_opt {
  int id;              /* the command's own enum; not 0 */
  char letter;         /* short form, or 0 */
  const char *name;    /* long form without dashes; NULL ends the table */
  const char *arg;     /* placeholder of the value; "[S]": it may be left out, and is given as --wait=S; NULL: a flag */
  const char *help;    /* one line; NULL: a seam for tests, not shown in --help and completion */
  const char *choices; /* "a b c": the only values; "@file" or "@dir": what completion offers; NULL: free */
};

enum { MF_OPT_HELP = 1 }; /* the id of MF_OPT_HELP_ROW; own ids start at 2 */
/* clang-format off */
#define MF_OPT_HELP_ROW { MF_OPT_HELP, 'h', "help", NULL, "show this help and end", NULL }
#define MF_OPT_END { 0, 0, NULL, NULL, NULL, NULL }
/* clang-format on */

/* Whether the word after the option belongs to it. */
static inline bool mf_opt_takes_word(const struct mf_opt *o)
{
  return o->arg && o->arg[0] != '[';
}

struct mf_opt_parser {
  const struct mf_opt *table; /* borrowed */
  char **argv;                /* borrowed; argv[0] is the first word to look at */
  int argc, i;
  const char *joined; /* the rest of a word of joined short flags */
  bool ended;         /* "--" was seen */
};

void mf_opt_init(struct mf_opt_parser *p, const struct mf_opt *table, int argc, char **argv);

/* The next option (*ret_opt set; *ret_value its value, NULL for a flag), or the next plain word (*ret_opt NULL,
 * *ret_value the word), or the end (both NULL). MF_E_INPUT names the wrong option and the nearest known one. */
MF_MUST_USE enum mf_code mf_opt_next(struct mf_opt_parser *p, const struct mf_opt **ret_opt, const char **ret_value,
                                     struct mf_err *err);

#endif

/* The words after a command's name: options go to the command one by one, plain words too; --help and what is wrong end
 * the program here. Thread: any. */
#ifndef MF_CLI_WORDS_H
#define MF_CLI_WORDS_H

#include "cli.h"

/* What a command does with its words. `args` is its own. */
struct mf_words {
  /* Never --help. NULL: that is the only option. */
  enum mf_code (*take_option)(void *args, const struct mf_opt *o, const char *value, struct mf_err *err);
  /* A plain word; `ended`: it came after "--". NULL: the command takes none. */
  enum mf_code (*take_word)(void *args, const char *word, bool ended, struct mf_err *err);
  /* After the last word, without --help. NULL: nothing to check. */
  enum mf_code (*check)(const void *args, struct mf_err *err);
};

/* False: *ret_exit is the exit status. Either --help was shown, or what is wrong was said: MF_EXIT_USAGE. */
bool mf_words_read(const struct mf_command *self, const struct mf_words *words, void *args, int argc, char **argv,
                   int *ret_exit);

#endif

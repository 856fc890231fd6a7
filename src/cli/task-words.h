/* What the commands about tasks of a server share: options, one id, how they begin. */
#ifndef MF_CLI_TASK_WORDS_H
#define MF_CLI_TASK_WORDS_H

#include "session.h"
#include "words.h"

enum { MF_TASK_OPT_SERVER = 100, MF_TASK_OPT_JSON };
/* clang-format off */
#define MF_TASK_ROWS                                                                                                   \
  { MF_TASK_OPT_JSON, 'j', "json", NULL, "print one JSON object", NULL },                                              \
  { MF_TASK_OPT_SERVER, 0, "server", "WHERE",                                                                          \
    "auto (default, or $MAYFLY_SERVER): this user's socket, else port 9000 here; unix:PATH; a URL", NULL },
/* clang-format on */

struct mf_task_words {
  const char *server, *id;
  bool json;
};
/* False: the option is the command's own. */
bool mf_task_take(struct mf_task_words *t, const struct mf_opt *o, const char *value);
/* The one word of a command that is about one task. */
MF_MUST_USE enum mf_code mf_task_take_id(struct mf_task_words *t, const char *word, struct mf_err *err);
MF_MUST_USE enum mf_code mf_task_check_id(const struct mf_task_words *t, const char *command, struct mf_err *err);
/* Runs `work` with the server of t; returns the exit status. */
int mf_task_session(const struct mf_task_words *t, int (*work)(struct mf_session *s), void *user);
/* mf_words_read, with the exit status of these commands for wrong words: MF_EXIT_OURS, as nothing of a program's. */
bool mf_task_words_read(const struct mf_command *self, const struct mf_words *words, void *args, int argc, char **argv,
                        int *ret_exit);

#endif

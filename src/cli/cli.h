/* The command line: what all commands share. Private to the cli room. */
#ifndef MF_CLI_CLI_H
#define MF_CLI_CLI_H

#include "base/buf.h"
#include "base/err.h"
#include "opt.h"

enum {
  MF_EXIT_USAGE = 2,  /* wrong words on the command line (commands other than run) */
  MF_EXIT_OURS = 125, /* `run`: we failed, not the program; its usage errors too */
  MF_EXIT_TIMEOUT = 124,
  MF_EXIT_MEMORY = 137,
};

struct mf_command {
  const char *name;
  const char *usage;    /* after "mayfly NAME " */
  const char *summary;  /* one line, for the list of commands */
  const char *about;    /* paragraphs for --help */
  const char *examples; /* lines for --help */
  const struct mf_opt *opts;
  const char *words; /* "bash zsh fish": what completion offers for plain words; "@file"; "@command"; NULL: nothing */
  /* argv[0] is the first word after the command's name. Returns the exit status. */
  int (*run)(const struct mf_command *self, int argc, char **argv);
};

extern const struct mf_command mf_command_run, mf_command_submit, mf_command_get, mf_command_cancel, mf_command_tasks,
    mf_command_fetch, mf_command_serve, mf_command_key, mf_command_demo, mf_command_doctor, mf_command_config,
    mf_command_bench, mf_command_model, mf_command_version, mf_command_help, mf_command_completion;

/* All commands, in the order of the help; NULL ends the list. */
extern const struct mf_command *const mf_commands[];
const struct mf_command *mf_command_find(const char *name);
/* The error for an unknown command, with the nearest known one. */
enum mf_code mf_command_unknown(const char *name, struct mf_err *err);

/* Writes "mayfly: …" as one line to standard error: control characters of the text become spaces or \xNN. */
void mf_say(const char *fmt, ...) MF_PRINTF(1, 2);

/* Writes all of it to standard output. False with a message on standard error when that failed; a closed pipe is
 * silent. *ret_exit: the exit status that fits (141 for a closed pipe). */
bool mf_print(struct mf_str text, int *ret_exit);
/* The same for a command that only prints: returns the exit status, 0 when all was written. */
int mf_print_exit(struct mf_str text);

/* The text of `mayfly NAME --help`, or of `mayfly --help`. */
void mf_help_command(const struct mf_command *c, struct mf_buf *out);
void mf_help_overview(struct mf_buf *out);
/* Completion scripts, made from the same tables. */
void mf_complete_bash(struct mf_buf *out);
void mf_complete_zsh(struct mf_buf *out);
void mf_complete_fish(struct mf_buf *out);

/* Appends to a buffer that is known to be large enough for what this program has to say. */
void mf_put(struct mf_buf *out, const char *fmt, ...) MF_PRINTF(2, 3);

#endif

/* Shell completion, made from the same tables as the parser and the help. */
#include "words.h"

#include "base/banned.h"

#define SCRIPT_BYTES_MAX 131072u

/* ---- quoting: every text goes into single quotes of its shell ---- */

static void put_quoted(struct mf_buf *out, const char *text, const char *escape, const char *quote)
{
  for (const char *c = text; *c; c++) {
    if (*c == '\'')
      mf_put(out, "%s", quote);
    else if (strchr(escape, *c))
      mf_put(out, "\\%c", *c);
    else
      mf_put(out, "%c", *c);
  }
}

static void put_zsh(struct mf_buf *out, const char *text)
{
  put_quoted(out, text, "[]:\\", "'\\''");
}

static void put_fish(struct mf_buf *out, const char *text)
{
  put_quoted(out, text, "\\", "\\'");
}

/* ---- what may follow: one rule for values of options and for plain words ---- */

static void put_command_names(struct mf_buf *out)
{
  for (const struct mf_command *const *c = mf_commands; *c; c++)
    mf_put(out, "%s%s", c == mf_commands ? "" : " ", (*c)->name);
}

/* How a shell says it. */
struct offer_form {
  const char *nothing, *file, *dir;
  const char *before, *after; /* of a list of words */
};

/* `choices` as in struct mf_opt, or "@command". */
static void put_offer(struct mf_buf *out, const char *choices, const struct offer_form *f)
{
  if (!choices) {
    mf_put(out, "%s", f->nothing);
  } else if (strcmp(choices, "@file") == 0) {
    mf_put(out, "%s", f->file);
  } else if (strcmp(choices, "@dir") == 0) {
    mf_put(out, "%s", f->dir);
  } else {
    mf_put(out, "%s", f->before);
    if (strcmp(choices, "@command") == 0)
      put_command_names(out);
    else
      mf_put(out, "%s", choices);
    mf_put(out, "%s", f->after);
  }
}

/* ---- bash ---- */

static const struct offer_form bash_offer = {
  .nothing = "",
  .file = "compopt -o filenames; COMPREPLY=($(compgen -f -- \"$cur\"))",
  .dir = "compopt -o filenames; COMPREPLY=($(compgen -d -- \"$cur\"))",
  .before = "COMPREPLY=($(compgen -W '",
  .after = "' -- \"$cur\"))",
};

static void put_bash_value(struct mf_buf *out, const struct mf_opt *o)
{
  if (o->letter)
    mf_put(out, "      -%c|", o->letter);
  else
    mf_put(out, "      ");
  mf_put(out, "--%s) ", o->name);
  put_offer(out, o->choices, &bash_offer);
  mf_put(out, "%sreturn ;;\n", o->choices ? "; " : "");
}

void mf_complete_bash(struct mf_buf *out)
{
  mf_put(out, "# bash completion of mayfly: source <(mayfly completion bash)\n"
              "_mayfly() {\n"
              "  local cur=\"${COMP_WORDS[COMP_CWORD]}\" prev=\"${COMP_WORDS[COMP_CWORD-1]}\" cmd=\"\"\n"
              "  COMPREPLY=()\n"
              "  if [ \"$COMP_CWORD\" -gt 1 ]; then cmd=\"${COMP_WORDS[1]}\"; fi\n"
              "  case \"$cmd\" in\n"
              "  '') COMPREPLY=($(compgen -W '");
  put_command_names(out);
  mf_put(out, "' -- \"$cur\")); return ;;\n");

  for (const struct mf_command *const *c = mf_commands; *c; c++) {
    mf_put(out, "  %s)\n    case \"$prev\" in\n", (*c)->name);
    for (const struct mf_opt *o = (*c)->opts; o->name; o++)
      if (mf_opt_takes_word(o) && o->help)
        put_bash_value(out, o);
    mf_put(out, "    esac\n    case \"$cur\" in\n      -*) COMPREPLY=($(compgen -W '");
    for (const struct mf_opt *o = (*c)->opts; o->name; o++)
      if (o->help)
        mf_put(out, "--%s ", o->name);
    mf_put(out, "' -- \"$cur\")); return ;;\n    esac\n");
    if ((*c)->words) {
      mf_put(out, "    ");
      put_offer(out, (*c)->words, &bash_offer);
      mf_put(out, "\n");
    }
    mf_put(out, "    ;;\n");
  }
  mf_put(out, "  esac\n}\ncomplete -F _mayfly mayfly\n");
}

/* ---- zsh ---- */

static const struct offer_form zsh_offer = {
  .nothing = " ",
  .file = "_files",
  .dir = "_files -/",
  .before = "(",
  .after = ")",
};

static void put_zsh_option(struct mf_buf *out, const struct mf_opt *o)
{
  /* "*" lets an option come again: only harmless for those that may not. */
  mf_put(out, " \\\n        ");
  if (o->letter)
    mf_put(out, "'*'{-%c,--%s}'[", o->letter, o->name);
  else
    mf_put(out, "'*--%s[", o->name);
  put_zsh(out, o->help);
  mf_put(out, "]");
  if (mf_opt_takes_word(o)) {
    mf_put(out, ":");
    put_zsh(out, o->arg);
    mf_put(out, ":");
    put_offer(out, o->choices, &zsh_offer);
  }
  mf_put(out, "'");
}

void mf_complete_zsh(struct mf_buf *out)
{
  mf_put(out, "#compdef mayfly\n"
              "# zsh completion of mayfly: mayfly completion zsh > \"${fpath[1]}/_mayfly\"\n"
              "_mayfly() {\n"
              "  local -a commands\n"
              "  commands=(\n");
  for (const struct mf_command *const *c = mf_commands; *c; c++) {
    mf_put(out, "    '%s:", (*c)->name);
    put_zsh(out, (*c)->summary);
    mf_put(out, "'\n");
  }
  mf_put(out, "  )\n"
              "  if (( CURRENT == 2 )); then _describe 'command' commands; return; fi\n"
              "  local cmd=$words[2]\n"
              "  shift words; (( CURRENT-- ))\n"
              "  case $cmd in\n");
  for (const struct mf_command *const *c = mf_commands; *c; c++) {
    mf_put(out, "    %s)\n      _arguments", (*c)->name);
    for (const struct mf_opt *o = (*c)->opts; o->name; o++)
      if (o->help)
        put_zsh_option(out, o);
    const char *words = (*c)->words;
    if (words) {
      mf_put(out, " \\\n        '%s:word:", strcmp(words, "@file") == 0 ? "*" : "1");
      put_offer(out, words, &zsh_offer);
      mf_put(out, "'");
    }
    mf_put(out, "\n      ;;\n");
  }
  mf_put(out, "  esac\n}\nif [ \"$funcstack[1]\" = _mayfly ]; then _mayfly \"$@\"; else compdef _mayfly mayfly; fi\n");
}

/* ---- fish ---- */

static const struct offer_form fish_word = { .nothing = "", .file = "-F", .dir = "-F", .before = "-a '", .after = "'" };
static const struct offer_form fish_value = {
  .nothing = "-x",
  .file = "-r -F",
  .dir = "-r -F",
  .before = "-x -a '",
  .after = "'",
};

void mf_complete_fish(struct mf_buf *out)
{
  mf_put(out, "# fish completion of mayfly: mayfly completion fish > ~/.config/fish/completions/mayfly.fish\n"
              "complete -c mayfly -f\n");
  for (const struct mf_command *const *c = mf_commands; *c; c++) {
    mf_put(out, "complete -c mayfly -n __fish_use_subcommand -a %s -d '", (*c)->name);
    put_fish(out, (*c)->summary);
    mf_put(out, "'\n");
  }
  for (const struct mf_command *const *c = mf_commands; *c; c++) {
    if ((*c)->words) {
      mf_put(out, "complete -c mayfly -n '__fish_seen_subcommand_from %s' ", (*c)->name);
      put_offer(out, (*c)->words, &fish_word);
      mf_put(out, "\n");
    }
    for (const struct mf_opt *o = (*c)->opts; o->name; o++) {
      if (!o->help)
        continue;
      mf_put(out, "complete -c mayfly -n '__fish_seen_subcommand_from %s' -l %s", (*c)->name, o->name);
      if (o->letter)
        mf_put(out, " -s %c", o->letter);
      if (mf_opt_takes_word(o)) {
        mf_put(out, " ");
        put_offer(out, o->choices, &fish_value);
      }
      mf_put(out, " -d '");
      put_fish(out, o->help);
      mf_put(out, "'\n");
    }
  }
}

/* ---- the command ---- */

static const struct {
  const char *shell;
  void (*write)(struct mf_buf *out);
} scripts[] = {
  { "bash", mf_complete_bash },
  { "zsh", mf_complete_zsh },
  { "fish", mf_complete_fish },
};

static enum mf_code take_word(void *args, const char *word, bool ended, struct mf_err *err)
{
  const char **shell = args;
  if (*shell)
    return mf_fail(err, MF_E_INPUT, 0, "completion: one shell at a time");
  *shell = word;
  return MF_OK;
}

static int run_completion(const struct mf_command *self, int argc, char **argv)
{
  static const struct mf_words words = { .take_word = take_word };
  const char *shell = NULL;
  int exit;
  if (!mf_words_read(self, &words, (void *)&shell, argc, argv, &exit))
    return exit;

  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, SCRIPT_BYTES_MAX);
  for (size_t i = 0; shell && i < MF_ARRAY_N(scripts); i++) {
    if (strcmp(scripts[i].shell, shell) == 0) {
      scripts[i].write(&out);
      return mf_print_exit(mf_buf_str(&out));
    }
  }
  mf_say("completion: name a shell: bash, zsh or fish");
  return MF_EXIT_USAGE;
}

static const struct mf_opt completion_opts[] = { MF_OPT_HELP_ROW, MF_OPT_END };

const struct mf_command mf_command_completion = {
  .name = "completion",
  .usage = "bash|zsh|fish",
  .summary = "print a completion script for a shell",
  .about = "Prints a script that completes commands, options and their values in your shell.",
  .examples = "  source <(mayfly completion bash)\n"
              "  mayfly completion zsh > \"${fpath[1]}/_mayfly\"\n"
              "  mayfly completion fish > ~/.config/fish/completions/mayfly.fish",
  .opts = completion_opts,
  .words = "bash zsh fish",
  .run = run_completion,
};

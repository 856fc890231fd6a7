/* The configuration's keys as options of a command, and what the command line said of them. */
#ifndef MF_CLI_SETTINGS_H
#define MF_CLI_SETTINGS_H

#include "config/config.h"
#include "opt.h"

/* Ids of these options begin here; one option has two names. */
enum { MF_SETTINGS_ID = 1000, MF_SETTINGS_OTHER_DB = MF_SETTINGS_ID + MF_CONFIG_N };

/* Rows for a table of options: static const struct mf_opt opts[] = { MF_SETTINGS_ROWS … MF_OPT_HELP_ROW, MF_OPT_END };
 * keys.h has defaults in its rows: here they become words of the help. */
#define IS(text) " (default " text ")"
#define OFF ""
#define ON ""
#define NONE ""
/* clang-format off */
#define MF_SETTINGS_ROW(id, flag, arg, env, path, type, field, preset, min, max, choices, traits, help)                \
  { MF_SETTINGS_ID + MF_CONFIG_##id, 0, flag, arg, help preset, choices },
#define MF_SETTINGS_NO_ROW(...)
#define MF_SETTINGS_ROWS                                                                                               \
  MF_CONFIG_KEYS(MF_SETTINGS_ROW, MF_SETTINGS_NO_ROW)                                                                  \
  { MF_SETTINGS_OTHER_DB, 0, "database-url", "URL", "the other name of --db-url", NULL },
/* clang-format on */

/* With this program's environment. */
void mf_settings_init(struct mf_config_input *in);
/* False: the option is the command's own. The value is borrowed. */
bool mf_settings_take(struct mf_config_input *in, const struct mf_opt *o, const char *value);
/* Overwrites secrets in what others can see of this process: its environment and its command line. */
void mf_settings_hide(struct mf_config_input *in);

#endif

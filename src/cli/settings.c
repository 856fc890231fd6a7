/* Options that are keys of the configuration. */
#include "settings.h"

#include <unistd.h>

#include "base/banned.h"

void mf_settings_init(struct mf_config_input *in)
{
  *in = (struct mf_config_input){ .environ = environ };
}

bool mf_settings_take(struct mf_config_input *in, const struct mf_opt *o, const char *value)
{
  if (o->id < MF_SETTINGS_ID)
    return false;
  int id = o->id == MF_SETTINGS_OTHER_DB ? MF_CONFIG_DATABASE_URL : o->id - MF_SETTINGS_ID;
  in->flags[id] = value ? value : mf_config_keys[id].traits & MF_KEY_NEGATED ? "false" : "true";
  return true;
}

void mf_settings_hide(struct mf_config_input *in)
{
  mf_config_wipe_environment(environ);
  for (unsigned i = 0; i < MF_CONFIG_N; i++) {
    const char *said = in->flags[i];
    if (!said || !(mf_config_keys[i].traits & MF_KEY_SECRET))
      continue;
    /* The words of the command line are ours to change; /proc/PID/cmdline shows what stands there now. */
    char *word = (char *)said;
    memset(word, '*', strlen(word));
  }
}

/* The rows of keys.h as data, and names among them. Thread: any. */
#include "config-internal.h"

#include "base/near.h"

#include "base/banned.h"

#define IS(text) text
#define OFF "false"
#define ON "true"
#define NONE NULL
#define WITH_FLAG(id, flag_, arg_, env_, path_, type_, field_, preset_, min_, max_, choices_, traits_, help_)          \
  [MF_CONFIG_##id] = { .flag = flag_,                                                                                  \
                       .env = env_,                                                                                    \
                       .path = path_,                                                                                  \
                       .type = MF_KEY_##type_,                                                                         \
                       .traits = traits_,                                                                              \
                       .offset = offsetof(struct mf_config, field_),                                                   \
                       .preset = preset_,                                                                              \
                       .min = min_,                                                                                    \
                       .max = max_,                                                                                    \
                       .choices = choices_,                                                                            \
                       .help = help_ },
#define WITHOUT(id, env_, path_, type_, field_, preset_, min_, max_, choices_, traits_, help_)                         \
  WITH_FLAG(id, NULL, NULL, env_, path_, type_, field_, preset_, min_, max_, choices_, traits_, help_)

const struct mf_config_key mf_config_keys[MF_CONFIG_N] = { MF_CONFIG_KEYS(WITH_FLAG, WITHOUT) };

enum mf_config_id config_find(const char *path)
{
  for (unsigned i = 0; i < MF_CONFIG_N; i++)
    if (strcmp(mf_config_keys[i].path, path) == 0)
      return (enum mf_config_id)i;
  return MF_CONFIG_N;
}

bool config_is_table(const char *path)
{
  size_t n = strlen(path);
  for (unsigned i = 0; i < MF_CONFIG_N; i++)
    if (strncmp(mf_config_keys[i].path, path, n) == 0 && mf_config_keys[i].path[n] == '.')
      return true;
  return false;
}

static const char *next_path(void *user)
{
  unsigned *i = user;
  return *i < MF_CONFIG_N ? mf_config_keys[(*i)++].path : NULL;
}

static const char *next_env(void *user)
{
  unsigned *i = user;
  while (*i < MF_CONFIG_N && !mf_config_keys[*i].env)
    (*i)++;
  return *i < MF_CONFIG_N ? mf_config_keys[(*i)++].env : NULL;
}

const char *config_nearest(const char *path)
{
  unsigned i = 0;
  const char *near = mf_nearest(path, next_path, &i);
  const char *dot = strrchr(path, '.');
  if (near || !dot)
    return near;
  /* The right name in the wrong table. */
  for (i = 0; i < MF_CONFIG_N; i++) {
    const char *known = strrchr(mf_config_keys[i].path, '.');
    if (strcmp(known ? known + 1 : mf_config_keys[i].path, dot + 1) == 0)
      return mf_config_keys[i].path;
  }
  return NULL;
}

const char *config_nearest_env(const char *name)
{
  unsigned i = 0;
  return mf_nearest(name, next_env, &i);
}

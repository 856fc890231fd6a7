/* Loading: defaults, then the command line, the environment and the file, each for what is not set yet. Thread: the one
 * that starts the program. */
#include "config-internal.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/path.h"

#include "base/banned.h"

void config_warn(struct mf_config *c, const char *fmt, ...)
{
  char text[600];
  va_list ap;
  if (c->warning_n == MF_CONFIG_WARNINGS_MAX)
    return;
  va_start(ap, fmt);
  vsnprintf(text, sizeof(text), fmt, ap);
  va_end(ap);
  c->warnings[c->warning_n++] = mf_xstrdup(text);
}

static enum mf_code set_presets(struct mf_config *c, struct mf_err *err)
{
  enum mf_code code = MF_OK;
  for (unsigned i = 0; !code && i < MF_CONFIG_N; i++)
    if (mf_config_keys[i].preset)
      code = config_set_text(c, (enum mf_config_id)i, mf_config_keys[i].preset, mf_config_keys[i].path, err);
  return code;
}

static enum mf_code set_from_words(struct mf_config *c, const struct mf_config_input *in, bool secrets,
                                   struct mf_err *err)
{
  char where[200];
  enum mf_code code = MF_OK;
  for (unsigned i = 0; !code && i < MF_CONFIG_N; i++) {
    const struct mf_config_key *k = &mf_config_keys[i];
    enum mf_config_id id = (enum mf_config_id)i;
    if (config_is_secret(id) != secrets)
      continue;
    const char *env = k->env ? config_env(in->environ, k->env) : NULL;
    if (in->flags[i]) {
      c->from[i] = MF_FROM_FLAG;
      snprintf(where, sizeof(where), "option --%s", k->flag);
      code = config_set_text(c, id, in->flags[i], where, err);
    } else if (env) {
      c->from[i] = MF_FROM_ENV;
      snprintf(where, sizeof(where), "environment %s", k->env);
      code = config_set_text(c, id, env, where, err);
    }
  }
  return code;
}

/* A variable that looks like one of ours and is none was meant to be one. */
static void warn_of_variables(struct mf_config *c, char *const *env)
{
  static const char *const prefixes[] = { "AGENTIC_CODE_INTERPRETER_", "AGENTIC_MAX_" };
  for (char *const *e = env; e && *e; e++) {
    char name[100];
    size_t n = strcspn(*e, "=");
    bool looks = false;
    for (size_t i = 0; i < MF_ARRAY_N(prefixes); i++)
      looks |= strncmp(*e, prefixes[i], strlen(prefixes[i])) == 0;
    if (!looks || n >= sizeof(name))
      continue;
    snprintf(name, sizeof(name), "%.*s", (int)n, *e);
    bool known = false;
    for (unsigned i = 0; i < MF_CONFIG_N; i++)
      known |= mf_config_keys[i].env && strcmp(mf_config_keys[i].env, name) == 0;
    if (known)
      continue;
    const char *near = config_nearest_env(name);
    char shown[200];
    mf_escape(mf_str_of(name), shown, sizeof(shown));
    config_warn(c, "environment %s is not known and does nothing%s%s%s", shown, near ? ": did you mean " : "",
                near ? near : "", near ? "?" : "");
  }
}

static void warn_of_later(struct mf_config *c)
{
  char origin[3300];
  for (unsigned i = 0; i < MF_CONFIG_N; i++) {
    if (mf_config_keys[i].type != MF_KEY_LATER || c->from[i] == MF_FROM_DEFAULT)
      continue;
    mf_config_origin(c, (enum mf_config_id)i, origin, sizeof(origin));
    config_warn(c, "%s (%s) does nothing: this version has not got %s", mf_config_keys[i].path, origin,
                mf_config_keys[i].help);
  }
}

enum mf_code mf_config_load(const struct mf_config_input *in, struct mf_config **ret, struct mf_err *err)
{
  struct mf_err own = { 0 }; /* the file's reader looks into it */
  struct mf_config *c = mf_xcalloc(1, sizeof(*c));
  enum mf_code code = config_find_home(c, in->environ, &own);
  if (!code)
    code = set_presets(c, &own);
  if (!code)
    code = set_from_words(c, in, false, &own);
  if (!code)
    code = config_read_file(c, false, &own);
  if (!code)
    code = config_check(c, &own);
  if (code) {
    if (err)
      *err = own;
    mf_config_free(c);
    return code;
  }
  warn_of_variables(c, in->environ);
  warn_of_later(c);
  *ret = c;
  return MF_OK;
}

enum mf_code mf_config_load_secrets(struct mf_config *c, const struct mf_config_input *in, struct mf_err *err)
{
  struct mf_err own = { 0 };
  enum mf_code code = set_from_words(c, in, true, &own);
  if (!code)
    code = config_read_file(c, true, &own);
  if (!code && c->api_keys_file)
    code = config_read_api_keys(c, &own);
  if (!code)
    code = config_check_secrets(c, &own);
  if (code && err)
    *err = own;
  return code;
}

void mf_config_free(struct mf_config *c)
{
  if (!c)
    return;
  for (unsigned i = 0; i < MF_CONFIG_N; i++)
    config_value_free(c, (enum mf_config_id)i);
  for (unsigned i = 0; i < c->warning_n; i++)
    free(c->warnings[i]);
  free(c->home);
  free(c->file_path);
  free(c);
}

void mf_config_wipe_environment(char **env)
{
  for (unsigned i = 0; i < MF_CONFIG_N; i++) {
    const struct mf_config_key *k = &mf_config_keys[i];
    if (!k->env || !config_is_secret((enum mf_config_id)i))
      continue;
    size_t n = strlen(k->env);
    char **to = env;
    for (char **e = env; *e; e++) {
      if (strncmp(*e, k->env, n) == 0 && (*e)[n] == '=')
        explicit_bzero(*e, strlen(*e));
      else
        *to++ = *e;
    }
    *to = NULL;
  }
}

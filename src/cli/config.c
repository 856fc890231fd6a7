/* `mayfly config`: the effective configuration, and where each value came from. */
#include "key.h"
#include "settings.h"
#include "words.h"

#include "base/banned.h"

#define TEXT_BYTES_MAX (1u << 20)
#define VALUE_BYTES_MAX 131072u
#define ORIGIN_BYTES 3300
#define NAME_COLUMN 50

enum { OPT_JSON = 2, OPT_REFERENCE };

static const struct mf_opt config_opts[] = {
  { OPT_JSON, 'j', "json", NULL, "print one JSON object", NULL },
  { OPT_REFERENCE, 0, "reference", NULL, "print every key with its meaning, as Markdown", NULL },
  MF_SETTINGS_ROWS MF_OPT_HELP_ROW,
  MF_OPT_END,
};

struct config_args {
  struct mf_config_input in;
  bool json, reference;
};

static enum mf_code take_option(void *args, const struct mf_opt *o, const char *value, struct mf_err *err)
{
  struct config_args *a = args;
  if (mf_settings_take(&a->in, o, value))
    return MF_OK;
  a->json |= o->id == OPT_JSON;
  a->reference |= o->id == OPT_REFERENCE;
  return MF_OK;
}

static void show(const struct mf_config *c, enum mf_config_id id, struct mf_buf *value, char origin[ORIGIN_BYTES])
{
  mf_buf_truncate(value, 0);
  mf_config_show(c, id, value);
  mf_config_origin(c, id, origin, ORIGIN_BYTES);
}

static void put_text(const struct mf_config *c, struct mf_buf *out)
{
  char origin[ORIGIN_BYTES];
  mf_auto_buf struct mf_buf value;
  mf_buf_init(&value, VALUE_BYTES_MAX);

  mf_put(out, "# %s (%s)\n", c->file_path, c->has_file ? "read" : "there is none yet");
  for (unsigned i = 0; i < MF_CONFIG_N; i++) {
    if (mf_config_keys[i].type == MF_KEY_LATER && c->from[i] == MF_FROM_DEFAULT)
      continue;
    show(c, (enum mf_config_id)i, &value, origin);
    mf_put(out, "%-*s ", NAME_COLUMN, mf_config_keys[i].path);
    if (mf_buf_append_str(out, mf_buf_str(&value)) != MF_OK)
      return;
    mf_put(out, "%*s # %s\n", (int)MF_MAX(0, 24 - (long)value.len), "", origin);
  }
}

static void put_json(const struct mf_config *c, struct mf_buf *out)
{
  char origin[ORIGIN_BYTES];
  struct mf_json_writer w;
  mf_auto_buf struct mf_buf value;
  mf_buf_init(&value, VALUE_BYTES_MAX);

  mf_jw_init(&w, out, true);
  mf_jw_obj(&w);
  mf_jw_kstrz(&w, "home", c->home);
  mf_jw_kstrz(&w, "file", c->has_file ? c->file_path : NULL);
  mf_jw_key(&w, "keys");
  mf_jw_obj(&w);
  for (unsigned i = 0; i < MF_CONFIG_N; i++) {
    if (mf_config_keys[i].type == MF_KEY_LATER && c->from[i] == MF_FROM_DEFAULT)
      continue;
    show(c, (enum mf_config_id)i, &value, origin);
    mf_jw_key(&w, mf_config_keys[i].path);
    mf_jw_obj(&w);
    mf_jw_kstr(&w, "value", mf_buf_str(&value));
    mf_jw_kstrz(&w, "from", origin);
    mf_jw_obj_end(&w);
  }
  mf_jw_obj_end(&w);
  mf_jw_key(&w, "warnings");
  mf_jw_arr(&w);
  for (unsigned i = 0; i < c->warning_n; i++)
    mf_jw_strz(&w, c->warnings[i]);
  mf_jw_arr_end(&w);
  mf_jw_obj_end(&w);
  mf_put(out, "\n");
}

static int show_config(struct config_args *a, struct mf_buf *out)
{
  struct mf_err err = { 0 };
  struct mf_config *c = NULL;
  enum mf_code code = mf_config_load(&a->in, &c, &err);
  if (code == MF_OK)
    code = mf_config_load_secrets(c, &a->in, &err);
  /* The database is only looked into when its answer counts. */
  if (code == MF_OK && mf_config_check_exposed(c, false, &err) != MF_OK)
    code = mf_config_check_exposed(c, mf_key_is_any_stored(c), &err);
  if (code != MF_OK) {
    mf_say("%s", err.msg);
    mf_config_free(c);
    return 1;
  }
  if (a->json)
    put_json(c, out);
  else
    put_text(c, out);
  for (unsigned i = 0; i < c->warning_n && !a->json; i++)
    mf_say("%s", c->warnings[i]);
  mf_config_free(c);
  return mf_print_exit(mf_buf_str(out));
}

static int run_config(const struct mf_command *self, int argc, char **argv)
{
  static const struct mf_words words = { .take_option = take_option };
  struct config_args a = { .json = false };
  int exit;
  mf_settings_init(&a.in);
  if (!mf_words_read(self, &words, &a, argc, argv, &exit))
    return exit;

  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, TEXT_BYTES_MAX);
  if (!a.reference)
    return show_config(&a, &out);
  mf_config_reference(&out);
  return mf_print_exit(mf_buf_str(&out));
}

const struct mf_command mf_command_config = {
  .name = "config",
  .usage = "[--json] [options of serve]",
  .summary = "show the configuration of serve, and where each value came from",
  .about = "Shows what `mayfly serve` would start with: each key, its value, and where that came from: an option, the\n"
           "environment, config.toml in the home folder ($AGENTIC_API_HOME, else ~/.agentic-api), or the default.\n"
           "Secrets are not shown. Ends with 1 and says why when the configuration is wrong.",
  .examples = "  mayfly config\n  mayfly config --gateway-port 8080 --json | jq .keys\n  mayfly config --reference",
  .opts = config_opts,
  .run = run_config,
};

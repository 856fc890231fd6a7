/* `mayfly version`. */
#include "json/json.h"
#include "words.h"

#include "base/banned.h"

enum { OPT_JSON = 2 };
static const struct mf_opt version_opts[] = {
  { OPT_JSON, 'j', "json", NULL, "print one JSON object", NULL },
  MF_OPT_HELP_ROW,
  MF_OPT_END,
};

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

static enum mf_code take_option(void *args, const struct mf_opt *o, const char *value, struct mf_err *err)
{
  bool *json = args;
  *json = true;
  return MF_OK;
}

static int run_version(const struct mf_command *self, int argc, char **argv)
{
  static const struct mf_words words = { .take_option = take_option };
  bool json = false;
  int exit;
  if (!mf_words_read(self, &words, &json, argc, argv, &exit))
    return exit;

  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, 16384);
  if (json) {
    struct mf_json_writer w;
    mf_jw_init(&w, &out, true);
    mf_jw_obj(&w);
    mf_jw_kstrz(&w, "name", "mayfly");
    mf_jw_kstrz(&w, "version", MAYFLY_VERSION);
    mf_jw_kstrz(&w, "compiler", COMPILER);
    mf_jw_key(&w, "providers");
    mf_jw_arr(&w);
    mf_jw_strz(&w, "local");
    mf_jw_arr_end(&w);
    mf_jw_obj_end(&w);
    mf_put(&out, "\n");
  } else {
    mf_put(&out, "mayfly %s\n", MAYFLY_VERSION);
  }
  return mf_print_exit(mf_buf_str(&out));
}

const struct mf_command mf_command_version = {
  .name = "version",
  .usage = "[--json]",
  .summary = "show the version",
  .about = "Shows the version of this program; with --json also what it was built with.",
  .examples = "  mayfly version\n  mayfly version --json",
  .opts = version_opts,
  .run = run_version,
};

/* `mayfly model`: a language model that follows a script. */
#include <fcntl.h>

#include "announce.h"
#include "base/fd.h"
#include "base/num.h"
#include "base/time.h"
#include "model/model.h"
#include "stage.h"
#include "words.h"

#include "base/banned.h"

enum { SCENARIO_BYTES_MAX = 64 << 20, STOP_MS = 500 };
enum { OPT_HOST = 2, OPT_PORT, OPT_PORT_FILE, OPT_QUIET };

static const struct mf_opt model_opts[] = {
  { OPT_HOST, 0, "host", "ADDRESS", "where to listen (default 127.0.0.1)", NULL },
  { OPT_PORT, 'p', "port", "N", "the port (default 0: any that is free)", NULL },
  { OPT_PORT_FILE, 0, "port-file", "FILE", "write the port to FILE when it listens", "@file" },
  { OPT_QUIET, 'q', "quiet", NULL, "do not print the address", NULL },
  MF_OPT_HELP_ROW,
  MF_OPT_END,
};

struct model_args {
  const char *scenario, *host, *port_file;
  uint64_t port;
  bool quiet;
};

static enum mf_code take_option(void *args, const struct mf_opt *o, const char *value, struct mf_err *err)
{
  struct model_args *a = args;
  if (o->id == OPT_PORT)
    return mf_parse_u64(mf_str_of(value), "--port", 0, 65535, &a->port, err);
  if (o->id == OPT_HOST)
    a->host = value;
  else if (o->id == OPT_PORT_FILE)
    a->port_file = value;
  a->quiet |= o->id == OPT_QUIET;
  return MF_OK;
}

static enum mf_code take_word(void *args, const char *word, bool ended, struct mf_err *err)
{
  struct model_args *a = args;
  if (a->scenario)
    return mf_fail(err, MF_E_INPUT, 0, "model: one scenario at a time");
  a->scenario = word;
  return MF_OK;
}

static enum mf_code check(const void *args, struct mf_err *err)
{
  const struct model_args *a = args;
  return a->scenario ? MF_OK : mf_fail(err, MF_E_INPUT, 0, "model: name a scenario file");
}

struct serving {
  struct mf_stage stage;
  struct mf_model *model;
};

static void on_stopped(void *user)
{
  struct serving *s = user;
  mf_loop_stop(s->stage.loop);
}

static void on_signal(void *user, int sig)
{
  struct serving *s = user;
  mf_model_stop(s->model, mf_now_ns() + STOP_MS * MF_NS_PER_MS, on_stopped, s);
}

static enum mf_code serve(struct serving *s, const struct model_args *a, struct mf_str text, struct mf_err *err)
{
  const struct mf_model_config config = { .scenario = text, .host = a->host, .port = (uint16_t)a->port };
  enum mf_code code = mf_stage_init(&s->stage, on_signal, s, err);
  if (!code)
    code = mf_model_new(s->stage.loop, &config, &s->model, err);
  if (!code) {
    const struct mf_address address = { .host = a->host, .port = mf_model_port(s->model) };
    code = mf_announce(&address, a->port_file, a->quiet, err);
  }
  return code ? code : mf_loop_run(s->stage.loop, err);
}

static int run_model(const struct mf_command *self, int argc, char **argv)
{
  static const struct mf_words words = { .take_option = take_option, .take_word = take_word, .check = check };
  struct model_args a = { 0 };
  struct mf_err err = { 0 };
  int exit;
  if (!mf_words_read(self, &words, &a, argc, argv, &exit))
    return exit;

  mf_auto_free char *text = NULL;
  size_t n = 0;
  enum mf_code code = mf_read_file(AT_FDCWD, a.scenario, SCENARIO_BYTES_MAX, &text, &n, &err);
  struct serving s = { 0 };
  if (!code)
    code = serve(&s, &a, (struct mf_str){ text, n }, &err);
  if (code)
    mf_say("model: %s", err.msg);
  mf_model_free(s.model);
  mf_stage_done(&s.stage, false);
  return code ? 1 : 0;
}

const struct mf_command mf_command_model = {
  .name = "model",
  .usage = "SCENARIO [--host ADDRESS] [--port N] [--port-file FILE] [--quiet]",
  .summary = "serve a scripted model, for tests and demos",
  .about = "Serves the Responses API from a scenario, a JSON file that says what the model answers: texts, calls of\n"
           "tools, delays and faults. Nothing is asked of a real model, and every request is the caller's to see at\n"
           "/_scenario/requests. Ends at SIGINT or SIGTERM. docs/rooms/model.md tells what a scenario may hold.",
  .examples = "  mayfly model examples/scenario/sales.json\n"
              "  mayfly model examples/scenario/sales.json --port 8081 --quiet",
  .opts = model_opts,
  .words = "@file",
  .run = run_model,
};

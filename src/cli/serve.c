/* `mayfly serve`: the gateway. */
#include <stdio.h>

#include "announce.h"
#include "base/log.h"
#include "service.h"
#include "settings.h"
#include "stage.h"
#include "words.h"

#include "base/banned.h"

enum { DRAIN_MS = 8000 };
enum { OPT_PORT_FILE = 2, OPT_QUIET };

static const struct mf_opt serve_opts[] = {
  MF_SETTINGS_ROWS{ OPT_PORT_FILE, 0, "port-file", "FILE", "write the port to FILE when it listens", "@file" },
  { OPT_QUIET, 'q', "quiet", NULL, "do not print the address", NULL },
  MF_OPT_HELP_ROW,
  MF_OPT_END,
};

struct serve_args {
  struct mf_config_input in;
  const char *port_file;
  bool quiet;
};

struct serving {
  const struct serve_args *args;
  struct mf_config *config;
  struct mf_stage stage;
  struct mf_service *service;
  bool has_ended;
  enum mf_code code; /* how it ended */
  struct mf_err err;
};

static enum mf_code take_option(void *args, const struct mf_opt *o, const char *value, struct mf_err *err)
{
  struct serve_args *a = args;
  if (mf_settings_take(&a->in, o, value))
    return MF_OK;
  if (o->id == OPT_PORT_FILE)
    a->port_file = value;
  a->quiet |= o->id == OPT_QUIET;
  return MF_OK;
}

static enum mf_code take_word(void *args, const char *word, bool ended, struct mf_err *err)
{
  return mf_fail(err, MF_E_INPUT, 0,
                 "serve: unexpected word '%.80s': it starts no LLM server; name one that runs with --llm-api-base",
                 word);
}

static void set_log(const struct mf_config *c)
{
  static const char *const levels[] = {
    [MF_LOG_ERROR] = "error", [MF_LOG_WARN] = "warn", [MF_LOG_INFO] = "info", [MF_LOG_DEBUG] = "debug"
  };
  mf_log_set_format(strcmp(c->log_format, "json") == 0 ? MF_LOG_JSON : MF_LOG_TEXT);
  for (unsigned i = 0; i < MF_ARRAY_N(levels); i++)
    if (strcmp(levels[i], c->log_level) == 0)
      mf_log_set_level((enum mf_log_level)i);
}

static void log_warnings(const struct mf_config *c, bool has_stored_key)
{
  for (unsigned i = 0; i < c->warning_n; i++)
    mf_log(MF_LOG_WARN, "%s", c->warnings[i]);
  if (mf_config_is_local(c) || c->api_keys.n || has_stored_key)
    return;
  if (c->openai_api_key)
    mf_log(MF_LOG_WARN, "who reaches %s can use OPENAI_API_KEY and run programs: MAYFLY_API_KEYS asks them for a key",
           c->host);
  else
    mf_log(MF_LOG_WARN, "who reaches %s can run programs: MAYFLY_API_KEYS asks them for a key", c->host);
}

static enum mf_code on_ready(void *user, unsigned port, struct mf_err *err)
{
  const struct serving *s = user;
  const struct mf_config *c = s->config;
  const struct mf_address address = { c->host, port, c->unix_socket, c->tls_cert != NULL };
  char where[300], interpreter[100];
  struct mf_err why = { 0 };

  log_warnings(c, mf_service_has_stored_key(s->service));
  /* Only now: what did not work is not worth keeping. */
  if (mf_config_write_first(c, &why))
    mf_log(MF_LOG_INFO, "no config.toml is kept: %s", why.msg);
  mf_address_text(&address, where, sizeof(where));
  mf_service_words(s->service, interpreter, sizeof(interpreter));
  mf_log(MF_LOG_INFO, "ready at %s; LLM server %s; code interpreter: %s", where,
         c->llm_api_base ? c->llm_api_base : "none", interpreter);
  return mf_announce(&address, s->args->port_file, s->args->quiet, err);
}

static void on_ended(void *user, enum mf_code code, const struct mf_err *err)
{
  struct serving *s = user;
  s->has_ended = true;
  s->code = code;
  if (code)
    s->err = *err;
  mf_loop_stop(s->stage.loop);
}

static void on_signal(void *user, int sig)
{
  struct serving *s = user;
  mf_log(MF_LOG_INFO, "signal %d: requests under way have %d s", sig, DRAIN_MS / 1000);
  mf_service_stop(s->service, DRAIN_MS);
}

static const struct mf_service_events serve_events = { on_ready, on_ended };

static enum mf_code serve(struct serving *s, struct mf_config_input *in, struct mf_err *err)
{
  enum mf_code code = mf_config_load(in, &s->config, err);
  if (!code)
    code = mf_config_check_serve(s->config, err);
  if (code)
    return code;
  set_log(s->config);
  code = mf_stage_init(&s->stage, on_signal, s, err);
  if (!code)
    code = mf_service_new(s->stage.loop, s->config, in, &serve_events, s, &s->service, err);
  if (code)
    return code;
  code = mf_loop_run(s->stage.loop, err);
  if (code || s->code == MF_OK || s->code == MF_E_CANCELLED)
    return code;
  *err = s->err;
  return s->code;
}

static int run_serve(const struct mf_command *self, int argc, char **argv)
{
  static const struct mf_words words = { .take_option = take_option, .take_word = take_word };
  struct serve_args a = { .quiet = false };
  struct mf_err err = { 0 };
  int exit;
  mf_settings_init(&a.in);
  if (!mf_words_read(self, &words, &a, argc, argv, &exit))
    return exit;
  struct serving s = { .args = &a };
  enum mf_code code = serve(&s, &a.in, &err);
  if (code)
    mf_say("%s", err.msg);
  /* A loop that broke leaves things open: the process ends now. */
  if (s.has_ended)
    mf_service_free(s.service);
  mf_stage_done(&s.stage, s.service && !s.has_ended);
  if (!s.service || s.has_ended)
    mf_config_free(s.config);
  return code ? 1 : 0;
}

const struct mf_command mf_command_serve = {
  .name = "serve",
  .usage = "[--llm-api-base URL] [options]",
  .summary = "serve the Responses API in front of an LLM server, and the task API",
  .about =
      "Serves the OpenAI Responses API over any LLM server that has one, and with --code-interpreter runs the\n"
      "Python that the model writes, and the task API (/v1/tasks), each program in a fresh sandbox. Without an LLM\n"
      "server it is the task API alone. Every option is also a key of config.toml in the home folder\n"
      "($AGENTIC_API_HOME, else ~/.agentic-api) and, mostly, a variable of the environment: 'mayfly config' shows\n"
      "what counts, docs/configuration.md tells of each.\n\n"
      "It listens on this machine only, unless --gateway-host says otherwise; then it wants keys of its clients\n"
      "('mayfly key create', MAYFLY_API_KEYS). It also listens on mayfly.sock in the home folder, which only the\n"
      "same user can reach: `mayfly run` and the task commands find it there. SIGTERM or SIGINT: requests under\n"
      "way have 8 seconds; a second signal ends it at once.",
  .examples =
      "  mayfly serve --code-interpreter\n"
      "  mayfly serve --llm-api-base http://127.0.0.1:8000 --code-interpreter\n"
      "  OPENAI_API_KEY=… mayfly serve --llm-api-base https://api.openai.com --skip-llm-ready-check\n"
      "  MAYFLY_API_KEYS=… mayfly serve --llm-api-base http://llm:8000 --gateway-host 0.0.0.0 --log-format json",
  .opts = serve_opts,
  .run = run_serve,
};

/* `mayfly demo`: the whole way once, with a scripted model: question, program, sandbox, answer. */
#include <stdio.h>

#include "base/log.h"
#include "base/time.h"
#include "http/client.h"
#include "http/sse.h"
#include "json/json.h"
#include "model/model.h"
#include "service.h"
#include "settings.h"
#include "stage.h"
#include "transcript.h"
#include "words.h"

/* Made from examples/demo when the program is built. */
#include "demo-orders.h"
#include "demo-question.h"
#include "demo-scenario.h"

#include "base/banned.h"

enum { OPT_JSON = 2, OPT_ISOLATION, OPT_RUNTIME };
enum { EVENT_BYTES_MAX = 16 << 20, IDLE_MS = 60000 };

static const struct mf_opt demo_opts[] = {
  { OPT_JSON, 'j', "json", NULL, "print the events as they come, one JSON object a line", NULL },
  { OPT_ISOLATION, 0, "isolation", "POLICY", "require (default): refuse without every layer; prefer: warn",
    "require prefer" },
  { OPT_RUNTIME, 0, "runtime", "DIR", "the Python runtime (default $MAYFLY_RUNTIME, else beside this program)",
    "@dir" },
  MF_OPT_HELP_ROW,
  MF_OPT_END,
};

struct demo_args {
  const char *isolation, *runtime;
  bool json;
};

struct demo {
  const struct demo_args *args;
  struct mf_stage stage;
  struct mf_config *config;
  struct mf_config_input in;
  struct mf_model *model;
  struct mf_service *service;
  bool has_ended;
  struct mf_http_client *client;
  struct mf_fiber *asker; /* NULL when it does not run */
  unsigned port;
  char base[64]; /* the model's address */
  int exit;
  enum mf_code code; /* the first thing that went wrong */
  struct mf_err err;
};

static void fail(struct demo *d, enum mf_code code, const struct mf_err *err)
{
  if (d->code == MF_OK) {
    d->code = code;
    d->err = *err;
  }
}

/* ---- the question, in a fiber ---- */

static enum mf_code write_request(struct mf_buf *out)
{
  mf_auto_free char *question = mf_xasprintf("%.*s%.*s", (int)sizeof(demo_question), (const char *)demo_question,
                                             (int)sizeof(demo_orders), (const char *)demo_orders);
  struct mf_json_writer w;
  mf_jw_init(&w, out, false);
  mf_jw_obj(&w);
  mf_jw_kstrz(&w, "model", "demo");
  mf_jw_kbool(&w, "stream", true);
  mf_jw_kstrz(&w, "input", question);
  mf_jw_key(&w, "tools");
  mf_jw_raw(&w, MF_STR("[{\"type\":\"code_interpreter\",\"container\":{\"type\":\"auto\"}}]"));
  mf_jw_obj_end(&w);
  return w.code;
}

static enum mf_code print(struct demo *d, struct mf_str text, struct mf_err *err)
{
  if (text.len == 0 || mf_print(text, &d->exit))
    return MF_OK;
  return mf_fail(err, MF_E_GONE, 0, "nobody reads the output");
}

static enum mf_code show_event(struct demo *d, struct mf_transcript *t, struct mf_str data, struct mf_buf *out,
                               struct mf_err *err)
{
  static const struct mf_json_limits limits = { .bytes_max = EVENT_BYTES_MAX, .depth_max = 128 };
  struct mf_buf unseen;
  struct mf_json *event = NULL;
  if (mf_str_is(data, "[DONE]"))
    return MF_OK;
  enum mf_code code = mf_json_parse(data, &limits, &event, err);
  if (code)
    return code;
  mf_buf_init(&unseen, out->max);
  mf_buf_truncate(out, 0);
  code = mf_transcript_event(t, mf_json_root(event), d->args->json ? &unseen : out, err);
  if (!code && d->args->json)
    code = mf_buf_printf(out, "%.*s\n", MF_STR_ARG(data));
  if (!code)
    code = print(d, mf_buf_str(out), err);
  mf_buf_done(&unseen);
  mf_json_free(event);
  return code;
}

static enum mf_code read_stream(struct demo *d, struct mf_http_call *call, struct mf_transcript *t, struct mf_err *err)
{
  mf_auto_buf struct mf_buf out;
  struct mf_sse_event event;
  struct mf_str piece;
  enum mf_code code;

  mf_buf_init(&out, (size_t)2 * EVENT_BYTES_MAX);
  struct mf_sse_reader *reader = mf_sse_reader_new(EVENT_BYTES_MAX);
  do {
    code = mf_http_call_read(call, d->asker, &piece, err);
    if (!code && piece.len)
      code = mf_sse_feed(reader, piece, err);
    else if (!code)
      mf_sse_finish(reader);
    while (!code && mf_sse_next(reader, &event))
      code = show_event(d, t, event.data, &out, err);
  } while (!code && piece.len);
  mf_sse_reader_free(reader);
  return code;
}

static enum mf_code introduce(struct demo *d, struct mf_err *err)
{
  char words[100];
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, 65536);
  if (d->args->json)
    return MF_OK;
  mf_service_words(d->service, words, sizeof(words));
  mf_put(&out,
         "A scripted model at http://127.0.0.1:%u, the gateway at http://127.0.0.1:%u/v1; programs run in sandboxes\n"
         "(%s). POST /v1/responses with the tool code_interpreter and stream: true:\n\n[the question]\n",
         mf_model_port(d->model), d->port, words);
  const char *parts[] = { (const char *)demo_question, (const char *)demo_orders };
  const size_t sizes[] = { sizeof(demo_question), sizeof(demo_orders) };
  for (size_t p = 0; p < MF_ARRAY_N(parts); p++)
    for (size_t at = 0; at < sizes[p];) {
      const char *end = memchr(parts[p] + at, '\n', sizes[p] - at);
      size_t n = (end ? (size_t)(end - parts[p]) + 1 : sizes[p]) - at;
      mf_put(&out, "%s%.*s", n > 1 ? "  " : "", (int)n, parts[p] + at);
      at += n;
    }
  return print(d, mf_buf_str(&out), err);
}

static enum mf_code ask(struct demo *d, struct mf_err *err)
{
  mf_auto_free char *url = mf_xasprintf("http://127.0.0.1:%u/v1/responses", d->port);
  mf_auto_buf struct mf_buf body;
  mf_buf_init(&body, 65536);
  enum mf_code code = write_request(&body);
  if (code)
    return mf_fail(err, code, 0, "the demo's request is too large");
  const struct mf_http_header type = { MF_STR("Content-Type"), MF_STR("application/json") };
  const struct mf_http_request request = {
    .method = "POST", .url = url, .headers = &type, .header_n = 1, .body = mf_buf_str(&body), .idle_ms = IDLE_MS
  };
  struct mf_http_call *call = NULL;
  struct mf_transcript t;
  mf_transcript_init(&t);
  code = introduce(d, err);
  if (!code)
    code = mf_http_call_open(d->client, d->asker, &request, &call, err);
  if (!code && mf_http_call_status(call) != 200)
    code = mf_fail(err, MF_E_INTERNAL, 0, "the gateway answered with status %d", mf_http_call_status(call));
  if (!code)
    code = read_stream(d, call, &t, err);
  mf_http_call_close(call);
  if (!code && !(t.has_completed && t.has_run))
    code = mf_fail(err, MF_E_UNAVAILABLE, 0, "%s", t.words[0] ? t.words : "the program did not end well");
  return code;
}

static void asking(void *user)
{
  struct demo *d = user;
  struct mf_err err = { 0 };
  enum mf_code code = ask(d, &err);
  if (code && code != MF_E_CANCELLED && !d->exit)
    fail(d, code, &err);
  mf_fiber_detach(d->asker);
  d->asker = NULL;
  mf_service_stop(d->service, 0);
}

/* ---- what goes on around it ---- */

static enum mf_code on_ready(void *user, unsigned port, struct mf_err *err)
{
  struct demo *d = user;
  d->port = port;
  return mf_fiber_start(d->stage.loop, asking, d, 0, &d->asker, err);
}

static void on_model_stopped(void *user)
{
  struct demo *d = user;
  mf_loop_stop(d->stage.loop);
}

static void on_ended(void *user, enum mf_code code, const struct mf_err *err)
{
  struct demo *d = user;
  d->has_ended = true;
  if (code && code != MF_E_CANCELLED)
    fail(d, code, err);
  mf_model_stop(d->model, mf_now_ns(), on_model_stopped, d);
}

static void on_signal(void *user, int sig)
{
  struct demo *d = user;
  d->exit = 128 + sig;
  if (d->asker)
    mf_fiber_cancel(d->asker);
  else
    mf_service_stop(d->service, 0);
}

static const struct mf_service_events demo_events = { on_ready, on_ended };

/* Nothing of this machine's configuration counts: no home, no environment. */
static enum mf_code configure(struct demo *d, char *const *no_environment, struct mf_err *err)
{
  d->in = (struct mf_config_input){ .environ = no_environment };
  d->in.flags[MF_CONFIG_LLM_API_BASE] = d->base;
  d->in.flags[MF_CONFIG_PORT] = "0";
  d->in.flags[MF_CONFIG_DATABASE_URL] = "sqlite::memory:";
  d->in.flags[MF_CONFIG_LOCAL_SOCKET] = d->in.flags[MF_CONFIG_TASKS_ENABLED] = "false"; /* they need a home */
  d->in.flags[MF_CONFIG_CI_ENABLED] = "true";
  d->in.flags[MF_CONFIG_CI_ISOLATION] = d->args->isolation;
  d->in.flags[MF_CONFIG_CI_RUNTIME] = d->args->runtime;
  return mf_config_load(&d->in, &d->config, err);
}

static enum mf_code run_stage(struct demo *d, struct mf_err *err)
{
  static char home[] = "AGENTIC_API_HOME=/nonexistent";
  static char *const no_environment[] = { home, NULL };
  const struct mf_model_config model = { .scenario = { (const char *)demo_scenario, sizeof(demo_scenario) } };

  mf_log_set_level(MF_LOG_WARN);
  enum mf_code code = mf_stage_init(&d->stage, on_signal, d, err);
  if (!code)
    code = mf_model_new(d->stage.loop, &model, &d->model, err);
  if (code)
    return code;
  snprintf(d->base, sizeof(d->base), "http://127.0.0.1:%u", mf_model_port(d->model));
  code = configure(d, no_environment, err);
  if (!code)
    code = mf_http_client_new(d->stage.loop, &d->client, err);
  if (!code)
    code = mf_service_new(d->stage.loop, d->config, &d->in, &demo_events, d, &d->service, err);
  return code ? code : mf_loop_run(d->stage.loop, err);
}

static enum mf_code take_option(void *args, const struct mf_opt *o, const char *value, struct mf_err *err)
{
  struct demo_args *a = args;
  if (o->id == OPT_ISOLATION)
    a->isolation = value;
  else if (o->id == OPT_RUNTIME)
    a->runtime = value;
  a->json |= o->id == OPT_JSON;
  return MF_OK;
}

static int run_demo(const struct mf_command *self, int argc, char **argv)
{
  static const struct mf_words words = { .take_option = take_option };
  struct demo_args a = { .json = false };
  struct mf_err err = { 0 };
  int exit;
  if (!mf_words_read(self, &words, &a, argc, argv, &exit))
    return exit;
  struct demo d = { .args = &a };
  enum mf_code code = run_stage(&d, &err);
  if (code)
    fail(&d, code, &err);
  if (d.code)
    mf_say("demo: %s", d.err.msg);
  bool leak = d.service && !d.has_ended; /* the loop broke: the process ends now */
  if (!leak) {
    mf_service_free(d.service);
    mf_http_client_free(d.client);
    mf_model_free(d.model);
  }
  mf_stage_done(&d.stage, leak);
  if (!leak)
    mf_config_free(d.config);
  return d.code ? 1 : d.exit;
}

const struct mf_command mf_command_demo = {
  .name = "demo",
  .usage = "[--json] [--isolation POLICY] [--runtime DIR]",
  .summary = "show the whole way once, with a scripted model",
  .about = "Starts a scripted model and the gateway on free ports of this machine, asks a question about a CSV file,\n"
           "and shows the stream that a client gets: the model writes a pandas program, the gateway runs it in a\n"
           "fresh sandbox, the model quotes its output. No model is asked, nothing is kept, no configuration is read.",
  .examples = "  mayfly demo\n  mayfly demo --json | jq -r .type",
  .opts = demo_opts,
  .run = run_demo,
};

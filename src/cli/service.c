/* One fiber starts everything in order, waits to be told to stop, and closes everything in the opposite order. */
#include "service.h"

#include <stdio.h>
#include <sys/resource.h>

#include "agent/turn.h"
#include "base/log.h"
#include "base/time.h"
#include "gateway/gateway.h"
#include "providers/providers.h"
#include "settings.h"
#include "storage/tasks.h"
#include "task-service.h"
#include "upstream.h"

#include "base/banned.h"

enum { POOL_THREADS = 4, POOL_QUEUE_MAX = 1024, PLACES_MAX = 256 };
/* Descriptors of the database, the sandboxes and the loop; and of connections where there are few. */
enum { FILES_KEPT = 128, CONNECTIONS_MAX = 4096, CONNECTIONS_LEAST = 8 };

/* Of a provider that is not built in. */
#define REMEDY "build with -Dembedded_code_interpreter=enabled (make wasm), or say --provider local"

struct mf_service {
  struct mf_loop *loop;
  struct mf_config *c;
  const struct mf_service_events *events;
  void *user;
  struct mf_fiber *fiber;
  bool must_stop;
  uint64_t drain_ms;
  enum mf_code start_code; /* of what was done before the loop ran */
  struct mf_err start_err;

  enum mf_provider_kind kind;
  struct mf_provider *provider; /* NULL: the interpreter is off, this program has no such provider, or it is closed */
  bool is_provider_told;
  enum mf_code provider_code;
  struct mf_err provider_err;
  bool has_stored_key;
  unsigned permits;
  char isolation[16];

  struct mf_executor *executor;
  struct mf_pool *pool;
  struct mf_storage *storage;
  struct mf_task_service tasks;
  struct mf_http_client *client;
  struct mf_agent agent;
  struct mf_gateway *gateway;
};

/* ---- waiting for what calls back ---- */

struct event {
  struct mf_fiber *waiter;
  bool happened;
};

static void on_event(void *user)
{
  struct event *e = user;
  e->happened = true;
  mf_fiber_wake(e->waiter);
}

/* The fiber is shielded: what was begun must end before the memory goes. */
static void wait_event(struct event *e)
{
  while (!e->happened)
    (void)!mf_fiber_wait(e->waiter, 0);
}

/* ---- before the loop runs ---- */

static void on_provider_ready(void *user, enum mf_code code, const struct mf_err *err)
{
  struct mf_service *s = user;
  s->is_provider_told = true;
  s->provider_code = code;
  if (code)
    s->provider_err = *err;
  if (s->fiber)
    mf_fiber_wake(s->fiber);
}

static struct mf_provider_config provider_config(const struct mf_service *s)
{
  const struct mf_config *c = s->c;
  struct mf_provider_config p;
  mf_provider_config_default(&p);
  p.kind = s->kind;
  p.local.runtime_dir = c->runtime;
  p.local.isolation = strcmp(c->isolation, "prefer") == 0 ? MF_ISOLATION_PREFER : MF_ISOLATION_REQUIRE;
  p.local.max_running = s->permits;
  p.local.pool_stdlib = (unsigned)c->pool_stdlib;
  p.local.pool_data = (unsigned)c->pool_data;
  p.local.start_data = c->pool_data > 0;
  p.wasm.runtime_dir = c->wasm_runtime;
  p.wasm.max_running = s->permits;
  p.wasm.ready_workers = MF_MIN(MF_MAX((unsigned)c->pool_stdlib, 1u), s->permits);
  p.wasm.calls_max = (unsigned)c->wasm_calls_per_worker;
  p.wasm.worker_memory_bytes = c->interpreter.max_worker_memory_bytes;
  p.wasm.default_fuel = c->tasks_fuel; /* calls of the gateway have their own */
  return p;
}

/* As the replaced system does it: who declares the tool is told, and everything else is served. */
static enum mf_code go_without(const struct mf_service *s, struct mf_err *err)
{
  const char *name = mf_provider_kind_name(s->kind);
  if (!s->c->llm_api_base)
    return mf_fail(err, MF_E_UNAVAILABLE, 0,
                   "code_interpreter.provider: this program was built without %s, and without an LLM server there is "
                   "nothing else to serve; " REMEDY,
                   name);
  mf_log(MF_LOG_WARN,
         "code_interpreter.provider: this program was built without %s: requests with the tool code_interpreter are "
         "refused, and there is no task API; " REMEDY,
         name);
  return MF_OK;
}

static enum mf_code start_provider(struct mf_service *s, struct mf_err *err)
{
  struct mf_config *c = s->c;
  enum mf_code code = mf_provider_kind_find(c->provider, &s->kind, err);
  if (code || !c->interpreter.enabled)
    return code;
  if (!mf_provider_kind_is_built(s->kind))
    return go_without(s, err);
  if (s->kind == MF_PROVIDER_WASM)
    c->interpreter.guest_ceiling_bytes = MF_WASM_GUEST_MEMORY_MAX;
  s->permits = mf_interpreter_permits(&c->interpreter, PLACES_MAX);
  struct mf_provider_config p = provider_config(s);
  code = mf_provider_new(s->loop, &p, on_provider_ready, s, &s->provider, err);
  return code ? mf_wrap(err, code, "code interpreter") : MF_OK;
}

static enum mf_code open_storage(struct mf_service *s, struct mf_err *err)
{
  char origin[200];
  enum mf_code code = mf_pool_new(s->loop, POOL_THREADS, POOL_QUEUE_MAX, &s->pool, err);
  if (code)
    return code;
  if (s->c->from[MF_CONFIG_DATABASE_URL] == MF_FROM_DEFAULT)
    code = mf_config_make_home(s->c, err);
  if (code)
    return mf_wrap(err, code, "no place for the database (AGENTIC_API_HOME or DATABASE_URL can name another)");
  code = mf_storage_open(s->loop, s->pool, s->c->database_url, &s->storage, err);
  if (code == MF_OK && strcmp(s->c->sqlite_synchronous, "full") == 0)
    code = mf_storage_sync_every_commit(s->storage, err);
  if (code == MF_OK)
    return MF_OK;
  mf_config_origin(s->c, MF_CONFIG_DATABASE_URL, origin, sizeof(origin));
  return mf_wrap(err, code, "database_url (%s)", origin);
}

static void fill_agent(struct mf_service *s)
{
  const struct mf_config *c = s->c;
  struct mf_agent *a = &s->agent;
  *a = (struct mf_agent){ .loop = s->loop, .client = s->client, .storage = s->storage };
  a->tools = (struct mf_tools_env){
    .executor = s->executor,
    .interpreter = &c->interpreter,
    .interpreter_built = mf_provider_kind_is_built(s->kind),
    .ignore_unsupported = strcmp(c->tools_unsupported, "ignore") == 0,
    .loop = s->loop,
  };
  mf_agent_config_default(&a->config);
  a->config.llm_api_base = c->llm_api_base;
  a->config.api_key = c->openai_api_key;
  a->config.chunk_timeout_ms = c->chunk_timeout_s * 1000;
  a->config.retained_max = c->retained_bytes;
  a->config.upstream_json_max = c->upstream_json_bytes;
  a->config.upstream_line_max = c->upstream_line_bytes;
  a->config.event_max = c->event_bytes;
  a->config.concurrent_calls = (unsigned)c->concurrent_calls;
}

/* ---- in the fiber ---- */

/* One program to its end: what answers a probe may still be unable to run Python. */
static enum mf_code run_one(struct mf_service *s, enum mf_runtime_hint runtime, struct mf_err *err)
{
  struct mf_sandbox_spec spec = { .source = MF_STR("pass\n"), .runtime = runtime };
  struct mf_sandbox_result *r = NULL;
  mf_interpreter_limits(&s->c->interpreter, &spec.limits);
  enum mf_code code = mf_executor_run(s->executor, s->fiber, &spec, &r, err);
  if (code == MF_E_CANCELLED)
    return code;
  if (!code && r->status != MF_RUN_SUCCEEDED)
    code = mf_fail(err, MF_E_UNAVAILABLE, 0, "a program that does nothing ended as %s (%s)%s%s: see 'mayfly doctor'",
                   mf_run_status_name(r->status), mf_run_reason_name(r->reason), r->diagnostic[0] ? ": " : "",
                   r->diagnostic);
  if (!code)
    snprintf(s->isolation, sizeof(s->isolation), "%s", r->receipt.isolation);
  mf_sandbox_result_free(r);
  return code;
}

static enum mf_code start_interpreter(struct mf_service *s, struct mf_err *err)
{
  if (!s->provider)
    return MF_OK;
  /* It takes seconds on a busy machine: better a word than silence. */
  mf_log(MF_LOG_INFO, "starting the code interpreter");
  while (!s->is_provider_told)
    if (mf_fiber_wait(s->fiber, 0) == MF_E_CANCELLED)
      return MF_E_CANCELLED;
  if (s->provider_code) {
    *err = s->provider_err;
    return mf_wrap(err, s->provider_code, "code interpreter");
  }
  enum mf_code code = mf_executor_new(s->loop, s->provider, s->permits, &s->executor, err);
  if (!code)
    code = run_one(s, MF_RUNTIME_STDLIB, err);
  /* Loading pandas takes its time: better before the first client than while it waits. With an empty
   * pool the operator has chosen otherwise. */
  if (!code && s->c->pool_data > 0 && (mf_provider_caps(s->provider) & MF_CAP_PANDAS))
    code = run_one(s, MF_RUNTIME_DATA, err);
  return code && code != MF_E_CANCELLED ? mf_wrap(err, code, "code interpreter") : code;
}

/* A client needs a second descriptor, for its request to the LLM server: who would find none waits to be accepted. */
static unsigned connections_max(void)
{
  struct rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur >= 2 * CONNECTIONS_MAX + FILES_KEPT)
    return CONNECTIONS_MAX;
  if (files.rlim_cur <= 2 * CONNECTIONS_LEAST + FILES_KEPT)
    return CONNECTIONS_LEAST;
  return (unsigned)(files.rlim_cur - FILES_KEPT) / 2;
}

static enum mf_code listen_now(struct mf_service *s, struct mf_err *err)
{
  const struct mf_config *c = s->c;
  const struct mf_gateway_config gateway = {
    .http = { .host = c->unix_socket ? NULL : c->host,
              .port = (uint16_t)c->port,
              .unix_path = c->unix_socket,
              .tls_cert = c->tls_cert,
              .tls_key = c->tls_key,
              .connections_max = connections_max(),
              .body_bytes_max = c->body_bytes },
    .api_keys = (const char *const *)c->api_keys.items,
    .api_key_n = c->api_keys.n,
    .openai_api_key = c->openai_api_key,
    .cors_origins = (const char *const *)c->cors_origins.items,
    .cors_origin_n = c->cors_origins.n,
    .check_host = mf_config_is_local(c) && !c->unix_socket,
    .skip_llm_ready_check = c->skip_llm_ready_check,
    .openapi_docs = c->openapi_docs,
    .version = MAYFLY_VERSION,
  };
  const struct mf_gateway_parts parts = { .loop = s->loop,
                                          .agent = &s->agent,
                                          .executor = s->executor,
                                          .provider = s->provider,
                                          .tasks = s->tasks.tasks,
                                          .files = s->tasks.files,
                                          .pool = s->pool };
  fill_agent(s);
  enum mf_code code = mf_gateway_new(&gateway, &parts, &s->gateway, err);
  if (code == MF_E_INPUT && c->tls_cert)
    return mf_wrap(err, code, "server.tls_cert %.120s, server.tls_key %.120s", c->tls_cert, c->tls_key);
  return code;
}

/* The keys of `mayfly key`. They must be known of before anybody can ask. */
static enum mf_code check_keys(struct mf_service *s, struct mf_err *err)
{
  struct mf_stored_keys *none = NULL;
  enum mf_code code = mf_storage_find_key(s->storage, s->fiber, MF_STR(""), &none, &s->has_stored_key, err);
  mf_stored_keys_free(none);
  return code ? mf_wrap(err, code, "API keys") : mf_config_check_exposed(s->c, s->has_stored_key, err);
}

/* The socket in the home folder, for the same user's commands: a convenience, nothing that the service needs. */
static void listen_local(struct mf_service *s)
{
  struct mf_err err = { 0 };
  if (!s->c->local_socket)
    return;
  mf_auto_free char *path = mf_config_local_socket(s->c);
  if (s->c->unix_socket && strcmp(s->c->unix_socket, path) == 0)
    return;
  enum mf_code code = mf_config_make_home(s->c, &err);
  if (!code)
    code = mf_config_check_home(s->c, &err);
  if (!code)
    code = mf_gateway_listen_local(s->gateway, path, &err);
  if (code)
    mf_log(MF_LOG_WARN, "no local socket (--no-local-socket does without): %s", err.msg);
}

static enum mf_code start_tasks(struct mf_service *s, struct mf_err *err)
{
  const struct mf_tasks_parts parts = {
    .loop = s->loop, .pool = s->pool, .executor = s->executor, .storage = s->storage
  };
  if (!s->executor || !s->c->tasks_enabled)
    return MF_OK;
  return mf_task_service_open(&s->tasks, s->c, &parts, s->fiber, err);
}

static enum mf_code start_up(struct mf_service *s, struct mf_err *err)
{
  enum mf_code code = s->start_code;
  if (code)
    *err = s->start_err;
  else
    code = check_keys(s, err);
  if (!code)
    code = start_interpreter(s, err);
  if (!code && s->c->llm_api_base && !s->c->skip_llm_ready_check)
    code = mf_upstream_wait(s->client, s->fiber, s->c, err);
  if (!code)
    code = start_tasks(s, err);
  if (!code)
    code = listen_now(s, err);
  if (!code)
    listen_local(s);
  if (!code)
    code = s->events->ready(s->user, mf_gateway_port(s->gateway), err);
  return code;
}

static void shut_down(struct mf_service *s)
{
  uint64_t deadline_ns = mf_now_ns() + s->drain_ms * MF_NS_PER_MS;
  if (s->tasks.tasks)
    mf_tasks_drain(s->tasks.tasks);
  if (s->gateway) {
    struct event stopped = { .waiter = s->fiber };
    mf_gateway_stop(s->gateway, deadline_ns, on_event, &stopped);
    wait_event(&stopped);
    mf_gateway_free(s->gateway);
    s->gateway = NULL;
  }
  mf_task_service_close(&s->tasks, s->fiber, deadline_ns);
  if (s->provider) {
    struct event closed = { .waiter = s->fiber };
    mf_provider_close(s->provider, on_event, &closed);
    wait_event(&closed);
    s->provider = NULL;
  }
  mf_executor_free(s->executor);
  s->executor = NULL;
}

static void live(void *user)
{
  struct mf_service *s = user;
  struct mf_err err = { 0 };
  enum mf_code code = start_up(s, &err);
  while (!code && !s->must_stop)
    if (mf_fiber_wait(s->fiber, 0) == MF_E_CANCELLED)
      break;
  mf_fiber_shield(s->fiber);
  shut_down(s);
  mf_fiber_detach(s->fiber);
  s->fiber = NULL;
  s->events->ended(s->user, code, &err);
}

/* ---- the door ---- */

static enum mf_code start_parts(struct mf_service *s, struct mf_config_input *in, struct mf_err *err)
{
  enum mf_code code = start_provider(s, err);
  if (!code)
    code = mf_config_load_secrets(s->c, in, err);
  if (code)
    return code;
  mf_settings_hide(in);
  code = open_storage(s, err);
  return code ? code : mf_http_client_new(s->loop, &s->client, err);
}

enum mf_code mf_service_new(struct mf_loop *loop, struct mf_config *c, struct mf_config_input *in,
                            const struct mf_service_events *events, void *user, struct mf_service **ret,
                            struct mf_err *err)
{
  struct mf_service *s = mf_xcalloc(1, sizeof(*s));
  s->loop = loop;
  s->c = c;
  s->events = events;
  s->user = user;
  /* First, so that whatever fails has a fiber that closes what was opened. It runs when the loop does. */
  enum mf_code code = mf_fiber_start(loop, live, s, 0, &s->fiber, err);
  if (code) {
    mf_service_free(s);
    return code;
  }
  s->start_code = start_parts(s, in, &s->start_err);
  *ret = s;
  return MF_OK;
}

void mf_service_stop(struct mf_service *s, uint64_t drain_ms)
{
  s->must_stop = true;
  s->drain_ms = drain_ms;
  if (s->fiber)
    mf_fiber_cancel(s->fiber);
}

void mf_service_free(struct mf_service *s)
{
  if (!s)
    return;
  mf_http_client_free(s->client);
  mf_storage_close(s->storage);
  mf_pool_free(s->pool);
  free(s);
}

bool mf_service_has_stored_key(const struct mf_service *s)
{
  return s->has_stored_key;
}

void mf_service_words(const struct mf_service *s, char *ret, size_t n)
{
  const char *name = mf_provider_kind_name(s->kind);
  if (!s->executor && s->c->interpreter.enabled)
    snprintf(ret, n, "off (built without %s)", name);
  else if (!s->executor)
    snprintf(ret, n, "off");
  else
    snprintf(ret, n, "%s, %u program%s at a time, isolation %s", name, s->permits, s->permits == 1 ? "" : "s",
             s->isolation);
}

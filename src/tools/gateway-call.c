/* A call that the gateway executes, whatever its kind: a fiber of its own with a time limit, an output for the model
 * in every case. Thread: the loop's. */
#include "kind.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/time.h"
#include "base/banned.h"

#define TIMEOUT_MS 60000u

struct mf_gateway_call {
  const struct mf_tools_env *env;
  const struct mf_tool_kind *kind;
  void *state;
  char *name;
  struct mf_buf output;
  /* of the fiber that executes */
  struct mf_fiber *waiter, *child;
  enum mf_code code;
  bool is_done;
};

struct mf_gateway_call *mf_gateway_call_new(const struct mf_tools_env *env, struct mf_tool_binding b,
                                            const struct mf_tool_call *call)
{
  struct mf_gateway_call *c = mf_xcalloc(1, sizeof(*c));
  c->env = env;
  c->kind = b.kind;
  c->name = mf_xasprintf("%.*s", MF_STR_ARG(call->name));
  mf_buf_init(&c->output, b.kind->gateway->output_max(env));
  c->state = b.kind->gateway->open(env, call);
  return c;
}

void mf_gateway_call_free(struct mf_gateway_call *c)
{
  if (!c)
    return;
  c->kind->gateway->close(c->state);
  mf_buf_done(&c->output);
  free(c->name);
  free(c);
}

enum mf_code mf_gateway_call_emit_start(struct mf_gateway_call *c, const struct mf_event_sink *sink, struct mf_err *err)
{
  return c->kind->gateway->emit_start(c->state, sink, err);
}

/* {"error":…}: the form of every fault that the model hears of. */
static void fault(struct mf_gateway_call *c, const char *text)
{
  struct mf_json_writer w;
  mf_buf_truncate(&c->output, 0);
  mf_jw_init(&w, &c->output, false);
  mf_jw_obj(&w);
  mf_jw_kstrz(&w, "error", text);
  mf_jw_obj_end(&w);
  c->kind->gateway->fail(c->state);
}

static void execute(void *user)
{
  struct mf_gateway_call *c = user;
  c->code = c->kind->gateway->run(c->state, c->child, &c->output);
  c->is_done = true;
  mf_fiber_wake(c->waiter);
}

/* Whole seconds are said as seconds. */
static void fault_timeout(struct mf_gateway_call *c, uint64_t ms)
{
  char text[200];
  bool whole = ms % 1000 == 0;
  snprintf(text, sizeof(text), "gateway tool '%.100s' timed out after %" PRIu64 "%s", c->name, whole ? ms / 1000 : ms,
           whole ? "s" : "ms");
  fault(c, text);
}

enum mf_code mf_gateway_call_run(struct mf_gateway_call *c, struct mf_fiber *self)
{
  if (mf_fiber_is_cancelled(self))
    return MF_E_CANCELLED;
  uint64_t ms = c->env->call_timeout_ms ? c->env->call_timeout_ms : TIMEOUT_MS;
  uint64_t deadline = mf_now_ns() + ms * MF_NS_PER_MS;
  c->waiter = self;
  c->is_done = false;
  if (mf_fiber_start(mf_fiber_loop(self), execute, c, 0, &c->child, NULL) != MF_OK) {
    char text[200];
    snprintf(text, sizeof(text), "gateway tool '%.100s' could not be started", c->name);
    fault(c, text);
    return MF_OK;
  }
  enum mf_code code = MF_OK;
  while (!c->is_done && !code)
    code = mf_fiber_wait(self, deadline);
  if (!c->is_done)
    mf_fiber_cancel(c->child);
  mf_fiber_join(self, c->child);
  c->child = NULL;
  if (code == MF_E_CANCELLED)
    return code;
  /* A result that came in the last moment counts. */
  if (c->code)
    fault_timeout(c, ms);
  return MF_OK;
}

void mf_gateway_call_refuse(struct mf_gateway_call *c, struct mf_str text)
{
  mf_buf_truncate(&c->output, 0);
  if (mf_buf_append_str(&c->output, text) != MF_OK)
    mf_buf_truncate(&c->output, 0);
  c->kind->gateway->fail(c->state);
}

struct mf_str mf_gateway_call_output(const struct mf_gateway_call *c)
{
  return mf_buf_str(&c->output);
}

enum mf_code mf_gateway_call_emit_end(struct mf_gateway_call *c, const struct mf_event_sink *sink, struct mf_err *err)
{
  return c->kind->gateway->emit_end(c->state, sink, err);
}

void mf_gateway_call_write_item(const struct mf_gateway_call *c, struct mf_json_writer *w)
{
  c->kind->gateway->write_item(c->state, w);
}

struct mf_str mf_gateway_call_item_id(const struct mf_gateway_call *c)
{
  return c->kind->gateway->item_id(c->state);
}

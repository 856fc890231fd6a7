/* Readiness. The probe is a fiber of its own, because a disk that hangs cannot be called back: its asker leaves, it
 * stays, and everyone is told "no" until it is through. Thread: the loop's. */
#include "ready.h"

#include "base/log.h"
#include "base/time.h"
#include "reply.h"
#include "base/banned.h"

enum { STORAGE_MS = 1000, LLM_MS = 2000 };

void mf_gw_ready_init(struct mf_gw_ready *y, struct mf_agent *agent, bool skip_llm)
{
  *y = (struct mf_gw_ready){ .agent = agent, .skip_llm = skip_llm };
}

/* ---- the probe ---- */

static enum mf_code check_llm(struct mf_gw_ready *y, struct mf_fiber *self, struct mf_err *err)
{
  mf_auto_free char *url = mf_xasprintf("%s/health", y->agent->config.llm_api_base);
  mf_auto_free char *key = y->agent->config.api_key ? mf_xasprintf("Bearer %s", y->agent->config.api_key) : NULL;
  const struct mf_http_header authorization = { MF_STR("Authorization"), mf_str_of(key) };
  const struct mf_http_request request = {
    .url = url, .headers = &authorization, .header_n = key ? 1 : 0, .connect_ms = LLM_MS, .idle_ms = LLM_MS
  };
  struct mf_http_call *call = NULL;
  enum mf_code code = mf_http_call_open(y->agent->client, self, &request, &call, err);
  if (code)
    return mf_wrap(err, code, "the LLM server's /health");
  int status = mf_http_call_status(call);
  mf_http_call_close(call);
  if (status < 200 || status > 299)
    return mf_fail(err, MF_E_UNAVAILABLE, 0, "the LLM server's /health: status %d", status);
  return MF_OK;
}

/* The reason is logged once for each time that it stops being ready. */
static void set(struct mf_gw_ready *y, bool is_ready, const char *why)
{
  if (!is_ready && !y->is_told)
    mf_log(MF_LOG_WARN, "not ready: %s", why);
  y->is_told = !is_ready;
  y->is_ready = is_ready;
}

static void probe(void *user)
{
  struct mf_gw_ready *y = user;
  struct mf_fiber *self = y->probe;
  struct mf_err err = { 0 };
  enum mf_code code = mf_storage_ping(y->agent->storage, self, &err);
  y->deadline_ns = mf_now_ns() + LLM_MS * MF_NS_PER_MS;
  if (code)
    code = mf_wrap(&err, code, "storage");
  else if (!y->skip_llm)
    code = check_llm(y, self, &err);
  if (!mf_fiber_is_cancelled(self)) /* else its asker has said "no" already */
    set(y, code == MF_OK, err.msg);
  y->probe = NULL;
  mf_fiber_detach(self);
  if (y->asker)
    mf_fiber_wake(y->asker);
  if (y->must_stop)
    y->ended(y->user);
}

/* ---- asking ---- */

enum mf_code mf_gw_ready_ask(struct mf_gw_ready *y, struct mf_fiber *self, bool *ret)
{
  *ret = y->is_ready;
  if (y->probe || y->must_stop)
    return MF_OK;
  y->deadline_ns = mf_now_ns() + STORAGE_MS * MF_NS_PER_MS;
  if (mf_fiber_start(y->agent->loop, probe, y, 0, &y->probe, NULL)) {
    *ret = y->is_ready = false;
    return MF_OK;
  }
  y->asker = self;
  enum mf_code code = MF_OK;
  while (y->probe && code != MF_E_CANCELLED) {
    code = mf_fiber_wait(self, y->deadline_ns);
    if (y->probe && code == MF_E_TIMEOUT && mf_now_ns() >= y->deadline_ns) {
      set(y, false, "storage or the LLM server did not answer in time");
      mf_fiber_cancel(y->probe);
      break;
    }
  }
  y->asker = NULL;
  *ret = y->is_ready;
  return code == MF_E_CANCELLED ? code : MF_OK;
}

void mf_gw_ready_stop(struct mf_gw_ready *y, void (*ended)(void *user), void *user)
{
  y->must_stop = true;
  y->ended = ended;
  y->user = user;
  if (y->probe)
    mf_fiber_cancel(y->probe);
  else
    ended(user);
}

/* ---- routes ---- */

enum mf_code mf_gw_get_health(struct mf_gw_request *r)
{
  return mf_gw_respond(r, 200, NULL, 0, MF_STR(""));
}

enum mf_code mf_gw_get_ready(struct mf_gw_request *r)
{
  bool is_ready = false;
  enum mf_code code = mf_gw_ready_ask(&r->g->ready, r->self, &is_ready);
  return code ? code : mf_gw_respond(r, is_ready ? 200 : 503, NULL, 0, MF_STR(""));
}

/* Is the LLM server there? */
#include "upstream.h"

#include <stdio.h>

#include "base/log.h"
#include "base/time.h"

#include "base/banned.h"

enum { PROBE_MS = 2000 };

/* MF_OK: it is healthy. MF_E_UNAVAILABLE: `why` says what came instead. */
static enum mf_code ask(struct mf_http_client *client, struct mf_fiber *self, const struct mf_config *c, char *why,
                        size_t why_n)
{
  mf_auto_free char *url = mf_xasprintf("%s/health", c->llm_api_base);
  mf_auto_free char *key = c->openai_api_key ? mf_xasprintf("Bearer %s", c->openai_api_key) : NULL;
  const struct mf_http_header authorization = { MF_STR("Authorization"), mf_str_of(key) };
  const struct mf_http_request request = {
    .url = url, .headers = &authorization, .header_n = key ? 1 : 0, .connect_ms = PROBE_MS, .idle_ms = PROBE_MS
  };
  struct mf_http_call *call = NULL;
  struct mf_err err = { 0 };
  enum mf_code code = mf_http_call_open(client, self, &request, &call, &err);
  if (code == MF_OK) {
    int status = mf_http_call_status(call);
    snprintf(why, why_n, "HTTP status %d", status);
    if (status < 200 || status > 299)
      code = MF_E_UNAVAILABLE;
  } else {
    snprintf(why, why_n, "%s", err.msg);
    if (code != MF_E_CANCELLED)
      code = MF_E_UNAVAILABLE;
  }
  mf_http_call_close(call);
  return code;
}

/* Where the address is from: one that a file has is soon forgotten. */
static void log_wait(const struct mf_config *c, const char *why)
{
  char origin[400];
  mf_config_origin(c, MF_CONFIG_LLM_API_BASE, origin, sizeof(origin));
  mf_log(MF_LOG_WARN,
         "waiting for the LLM server: GET %s/health (llm_api_base is from: %s): %s; --skip-llm-ready-check "
         "does without",
         c->llm_api_base, origin, why);
}

enum mf_code mf_upstream_wait(struct mf_http_client *client, struct mf_fiber *self, const struct mf_config *c,
                              struct mf_err *err)
{
  uint64_t end_ns = mf_now_ns() + c->llm_ready_timeout_s * 1000 * MF_NS_PER_MS;
  char why[400] = "";
  for (bool is_first = true;; is_first = false) {
    enum mf_code code = ask(client, self, c, why, sizeof(why));
    if (code != MF_E_UNAVAILABLE)
      return code;
    if (is_first)
      log_wait(c, why);
    uint64_t now_ns = mf_now_ns(), pause_ns = c->llm_ready_interval_s * 1000 * MF_NS_PER_MS;
    if (now_ns >= end_ns)
      return mf_fail(
          err, MF_E_TIMEOUT, 0,
          "the LLM server was not ready for %llu s: GET %s/health: %.200s (--skip-llm-ready-check does without)",
          (unsigned long long)c->llm_ready_timeout_s, c->llm_api_base, why);
    code = mf_fiber_sleep(self, MF_MIN(pause_ns, end_ns - now_ns));
    if (code)
      return code;
  }
}

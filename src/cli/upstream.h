/* Waiting for the LLM server at start. */
#ifndef MF_CLI_UPSTREAM_H
#define MF_CLI_UPSTREAM_H

#include "config/config.h"
#include "http/client.h"

/* Asks for {llm_api_base}/health every llm_ready_interval_s until it answers 2xx. MF_E_TIMEOUT after
 * llm_ready_timeout_s, MF_E_CANCELLED. Logs once that it waits. */
MF_MUST_USE enum mf_code mf_upstream_wait(struct mf_http_client *client, struct mf_fiber *self,
                                          const struct mf_config *c, struct mf_err *err);

#endif

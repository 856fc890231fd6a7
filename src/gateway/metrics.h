/* What the gateway counts. Labels come from our own tables, never from a client. Thread: the loop's. */
#ifndef MF_GATEWAY_METRICS_H
#define MF_GATEWAY_METRICS_H

#include <stdint.h>

#include "base/buf.h"

#define MF_GW_ROUTES_MAX 32
#define MF_GW_STATUS_N 31 /* rows of metrics.c */
#define MF_GW_BOUND_N 14

struct mf_gw_histogram {
  uint64_t bucket[MF_GW_BOUND_N + 1]; /* each by itself; the last: above every bound */
  uint64_t sum_ns, count;
};
struct mf_gw_metrics {
  /* The last route: none. */
  uint64_t requests[MF_GW_ROUTES_MAX + 1][MF_GW_STATUS_N];
  uint64_t refusals[MF_GW_STATUS_N];
  struct mf_gw_histogram seconds[MF_GW_ROUTES_MAX + 1], first_event;
  uint64_t tasks_refused; /* for a full queue, before they were read */
  uint64_t unfinished;    /* answers that began and did not come to their end */
};
void mf_gw_histogram_add(struct mf_gw_histogram *h, uint64_t ns);
/* route_i: of the table, or MF_GW_ROUTES_MAX; status 0: the client had gone before an answer. */
void mf_gw_metrics_request(struct mf_gw_metrics *m, size_t route_i, int status, uint64_t ns, bool is_finished);

void mf_gw_metrics_refusal(struct mf_gw_metrics *m, int status); /* by the server itself; it has no duration */

struct mf_gateway;
/* Prometheus text, version 0.0.4. MF_E_LIMIT of out. */
MF_MUST_USE enum mf_code mf_gw_metrics_write(const struct mf_gateway *g, struct mf_buf *out);

#endif

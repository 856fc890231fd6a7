/* What the gateway counts, and the text of /metrics. Thread: the loop's. */
#include "metrics.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/time.h"
#include "tasks.h"
#include "base/banned.h"

static const struct {
  uint64_t ns;
  const char *text;
} bounds[MF_GW_BOUND_N] = {
  { 5 * MF_NS_PER_MS, "0.005" }, { 10 * MF_NS_PER_MS, "0.01" },  { 25 * MF_NS_PER_MS, "0.025" },
  { 50 * MF_NS_PER_MS, "0.05" }, { 100 * MF_NS_PER_MS, "0.1" },  { 250 * MF_NS_PER_MS, "0.25" },
  { 500 * MF_NS_PER_MS, "0.5" }, { 1000 * MF_NS_PER_MS, "1" },   { 2500 * MF_NS_PER_MS, "2.5" },
  { 5000 * MF_NS_PER_MS, "5" },  { 10000 * MF_NS_PER_MS, "10" }, { 30000 * MF_NS_PER_MS, "30" },
  { 60 * MF_NS_PER_S, "60" },    { 300 * MF_NS_PER_S, "300" },
};

/* Codes that are counted by themselves; upstream may invent others, which are counted by their class. */
static const struct {
  int status;
  const char *text;
} statuses[MF_GW_STATUS_N] = {
  { 0, "none" },  { 200, "200" }, { 202, "202" }, { 204, "204" }, { 206, "206" }, { 304, "304" },
  { 400, "400" }, { 401, "401" }, { 403, "403" }, { 404, "404" }, { 405, "405" }, { 408, "408" },
  { 409, "409" }, { 410, "410" }, { 413, "413" }, { 415, "415" }, { 416, "416" }, { 422, "422" },
  { 429, "429" }, { 500, "500" }, { 501, "501" }, { 502, "502" }, { 503, "503" }, { 504, "504" },
  { 507, "507" }, { -2, "2xx" },  { -3, "3xx" },  { -4, "4xx" },  { -5, "5xx" },  { -1, "other" },
};

void mf_gw_histogram_add(struct mf_gw_histogram *h, uint64_t ns)
{
  size_t i = 0;
  while (i < MF_GW_BOUND_N && ns > bounds[i].ns)
    i++;
  h->bucket[i]++;
  h->sum_ns += ns;
  h->count++;
}

static size_t status_row(int status)
{
  size_t other = 0;
  for (size_t i = 0; i < MF_GW_STATUS_N && statuses[i].text; i++) {
    if (statuses[i].status == status || statuses[i].status == -(status / 100))
      return i;
    other = i;
  }
  return other;
}

void mf_gw_metrics_request(struct mf_gw_metrics *m, size_t route_i, int status, uint64_t ns, bool is_finished)
{
  m->requests[route_i][status_row(status)]++;
  mf_gw_histogram_add(&m->seconds[route_i], ns);
  m->unfinished += status > 0 && !is_finished;
}

void mf_gw_metrics_refusal(struct mf_gw_metrics *m, int status)
{
  m->refusals[status_row(status)]++;
}

/* ---- the text ---- */

/* As in json: the first failure sticks. */
struct text {
  struct mf_buf *out;
  enum mf_code code;
};

#define line(t, ...) ((t)->code = (t)->code ? (t)->code : mf_buf_printf((t)->out, __VA_ARGS__))

static void head(struct text *t, const char *name, const char *type, const char *help)
{
  line(t, "# HELP mayfly_%s %s\n# TYPE mayfly_%s %s\n", name, help, name, type);
}

static void single(struct text *t, const char *name, const char *type, const char *help, uint64_t v)
{
  head(t, name, type, help);
  line(t, "mayfly_%s %" PRIu64 "\n", name, v);
}

/* labels: `route="…",` or empty. */
static void histogram(struct text *t, const char *name, const char *labels, const struct mf_gw_histogram *h)
{
  uint64_t sum = 0;
  for (size_t i = 0; i < MF_GW_BOUND_N; i++) {
    sum += h->bucket[i];
    line(t, "mayfly_%s_bucket{%sle=\"%s\"} %" PRIu64 "\n", name, labels, bounds[i].text, sum);
  }
  line(t, "mayfly_%s_bucket{%sle=\"+Inf\"} %" PRIu64 "\n", name, labels, h->count);
  size_t n = strlen(labels);
  const char *open = n ? "{" : "", *close = n ? "}" : "";
  int labels_n = n ? (int)n - 1 : 0;
  line(t, "mayfly_%s_sum%s%.*s%s %.6f\n", name, open, labels_n, labels, close, (double)h->sum_ns / 1e9);
  line(t, "mayfly_%s_count%s%.*s%s %" PRIu64 "\n", name, open, labels_n, labels, close, h->count);
}

static void write_requests(struct text *t, const struct mf_gateway *g)
{
  const struct mf_gw_route *routes;
  size_t n = mf_gw_routes(&routes);
  head(t, "http_requests_total", "counter", "Requests by route and status; none: the client left before an answer.");
  for (size_t i = 0; i <= MF_GW_ROUTES_MAX; i++)
    for (size_t j = 0; j < MF_GW_STATUS_N; j++)
      if (g->metrics.requests[i][j] > 0)
        line(t, "mayfly_http_requests_total{method=\"%s\",route=\"%s\",status=\"%s\"} %" PRIu64 "\n",
             i < n ? routes[i].method : "", i < n ? routes[i].path : "", statuses[j].text, g->metrics.requests[i][j]);
  head(t, "http_request_seconds", "histogram", "From a request's head to the end of its answer.");
  for (size_t i = 0; i <= MF_GW_ROUTES_MAX; i++)
    if (g->metrics.seconds[i].count > 0) {
      char labels[160];
      snprintf(labels, sizeof(labels), "method=\"%s\",route=\"%s\",", i < n ? routes[i].method : "",
               i < n ? routes[i].path : "");
      histogram(t, "http_request_seconds", labels, &g->metrics.seconds[i]);
    }
  head(t, "http_refusals_total", "counter", "Requests that HTTP itself refused before any route, by status.");
  for (size_t j = 0; j < MF_GW_STATUS_N; j++)
    if (g->metrics.refusals[j] > 0)
      line(t, "mayfly_http_refusals_total{status=\"%s\"} %" PRIu64 "\n", statuses[j].text, g->metrics.refusals[j]);
  struct mf_http_server_stats s = mf_http_server_stats(g->main.server);
  if (g->local.server) {
    struct mf_http_server_stats local = mf_http_server_stats(g->local.server);
    s.requests += local.requests;
    s.connections += local.connections;
  }
  single(t, "http_requests_in_flight", "gauge", "Requests that run now, this one too.", s.requests);
  single(t, "http_connections", "gauge", "Connections of clients.", s.connections);
  single(t, "http_answers_cut_total", "counter", "Answers that began and did not come to their end.",
         g->metrics.unfinished);
}

static void write_turns(struct text *t, const struct mf_gateway *g)
{
  static const char *const ends[MF_TURN_END_N] = {
    [MF_TURN_RESPONSE] = "response",
    [MF_TURN_ERROR] = "error",
    [MF_TURN_VERBATIM] = "upstream_error",
    [MF_TURN_CANCELLED] = "cancelled",
  };
  const struct mf_turn_stats *s = &g->parts.agent->stats;
  head(t, "turns_total", "counter", "Turns by how they ended.");
  for (size_t i = 0; i < MF_TURN_END_N; i++)
    line(t, "mayfly_turns_total{end=\"%s\"} %" PRIu64 "\n", ends[i], s->by_end[i]);
  single(t, "turn_requests_total", "counter", "Requests of turns.", s->requests);
  single(t, "turn_rounds_total", "counter", "Requests to the model server.", s->rounds);
  single(t, "gateway_calls_total", "counter", "Tool calls that the gateway executed.", s->gateway_calls);
  single(t, "upstream_errors_total", "counter", "Failures of the model server.", s->upstream_errors);
  head(t, "first_event_seconds", "histogram", "From a streamed request's head to its first event.");
  histogram(t, "first_event_seconds", "", &g->metrics.first_event);
}

static void write_executions(struct text *t, const struct mf_gateway *g)
{
  if (g->parts.executor) {
    struct mf_executor_stats s = mf_executor_stats(g->parts.executor);
    head(t, "executions_total", "counter", "Programs that have ended, by status.");
    for (unsigned i = 0; i < MF_RUN_STATUS_N; i++)
      line(t, "mayfly_executions_total{status=\"%s\"} %" PRIu64 "\n", mf_run_status_name((enum mf_run_status)i),
           s.by_status[i]);
    head(t, "execution_reasons_total", "counter", "Programs that have ended, by reason.");
    for (unsigned i = 0; i < MF_REASON_N; i++)
      line(t, "mayfly_execution_reasons_total{reason=\"%s\"} %" PRIu64 "\n", mf_run_reason_name((enum mf_run_reason)i),
           s.by_reason[i]);
    head(t, "execution_seconds_total", "counter", "Wall time of programs.");
    line(t, "mayfly_execution_seconds_total %.6f\n", (double)s.seconds_us_total / 1e6);
    single(t, "executions_refused_total", "counter", "Programs that found no permit.", s.refused);
    single(t, "executor_permits", "gauge", "Programs that may run at once.", s.permits);
    single(t, "executor_permits_busy", "gauge", "Permits that are out.", s.busy);
    single(t, "executor_waiting", "gauge", "Calls that wait for their program.", s.waiting);
  }
  if (g->parts.provider)
    single(t, "provider_busy", "gauge", "Sandboxes that have not been reaped.", mf_provider_busy(g->parts.provider));
}

static void write_tasks(struct text *t, const struct mf_gateway *g)
{
  if (!g->parts.tasks)
    return;
  struct mf_tasks_stats s = mf_tasks_stats(g->parts.tasks);
  single(t, "tasks_submitted_total", "counter", "Tasks that were taken.", s.submitted);
  single(t, "tasks_refused_total", "counter", "Tasks that found the queue full.", s.refused + g->metrics.tasks_refused);
  head(t, "tasks_total", "counter", "Tasks that have ended, by status.");
  for (unsigned i = MF_TASK_SUCCEEDED; i < MF_TASK_STATE_N; i++)
    line(t, "mayfly_tasks_total{status=\"%s\"} %" PRIu64 "\n", mf_gw_task_state_name((enum mf_task_state)i),
         s.by_state[i]);
  head(t, "task_reasons_total", "counter", "Tasks that have ended, by reason.");
  for (unsigned i = 0; i <= MF_REASON_N; i++)
    line(t, "mayfly_task_reasons_total{reason=\"%s\"} %" PRIu64 "\n",
         i < MF_REASON_N ? mf_run_reason_name((enum mf_run_reason)i) : "interrupted", s.by_reason[i]);
  single(t, "tasks_expired_total", "counter", "Tasks whose files and results were deleted after their time.",
         s.expired);
  single(t, "tasks_queued", "gauge", "Tasks that wait.", s.queued);
  single(t, "tasks_running", "gauge", "Tasks that run.", s.running);
  single(t, "task_files_bytes", "gauge", "Inputs and artifacts on the disk.", s.files_bytes);
}

enum mf_code mf_gw_metrics_write(const struct mf_gateway *g, struct mf_buf *out)
{
  struct text t = { .out = out };
  head(&t, "build_info", "gauge", "The program's version.");
  line(&t, "mayfly_build_info{version=\"%s\"} 1\n", g->version);
  single(&t, "ready", "gauge", "The last answer of /ready.", g->ready.is_ready);
  write_requests(&t, g);
  write_turns(&t, g);
  write_executions(&t, g);
  write_tasks(&t, g);
  return t.code;
}

enum mf_code mf_gw_get_metrics(struct mf_gw_request *r)
{
  static const struct mf_http_header type = { { "Content-Type", 12 },
                                              { "text/plain; version=0.0.4; charset=utf-8", 40 } };
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, MF_GW_METRICS_MAX);
  enum mf_code code = mf_gw_metrics_write(r->g, &out);
  if (code)
    return mf_gw_refuse(r, 500, "server_error", "server_error", "the metrics do not fit their buffer");
  return mf_gw_respond(r, 200, &type, 1, mf_buf_str(&out));
}

/* One round's answer from the model: a request, then its events or its body into the accumulator. What upstream does
 * wrong is decided here. Thread: the loop's, in the turn's fiber. */
#include "rounds.h"

#include <stdlib.h>
#include <strings.h>

#include "base/log.h"
#include "base/time.h"
#include "base/utf8.h"
#include "base/banned.h"

/* Of an answer that is no success. */
#define ERROR_BODY_MAX ((size_t)1 << 20)

/* The call itself has failed: err is for the operator. */
static bool fail_call(struct run *run, enum mf_code code, const struct mf_err *err)
{
  if (code == MF_E_CANCELLED)
    return run_cancel(run);
  run->t.agent->stats.upstream_errors++;
  mf_log(MF_LOG_WARN, "upstream: %s", err->msg);
  if (code == MF_E_TIMEOUT)
    return run_fail(run, 504, "upstream_error", "upstream_error", "LLM timeout");
  return run_fail(run, 502, "upstream_error", "upstream_error", "LLM unavailable");
}

/* ---- an answer that is no success ---- */

static const char *status_words(int status)
{
  static const struct {
    int status;
    const char *words;
  } rows[] = {
    { 300, "Multiple Choices" },
    { 301, "Moved Permanently" },
    { 302, "Found" },
    { 303, "See Other" },
    { 304, "Not Modified" },
    { 307, "Temporary Redirect" },
    { 308, "Permanent Redirect" },
    { 400, "Bad Request" },
    { 401, "Unauthorized" },
    { 402, "Payment Required" },
    { 403, "Forbidden" },
    { 404, "Not Found" },
    { 405, "Method Not Allowed" },
    { 406, "Not Acceptable" },
    { 408, "Request Timeout" },
    { 409, "Conflict" },
    { 410, "Gone" },
    { 413, "Payload Too Large" },
    { 415, "Unsupported Media Type" },
    { 422, "Unprocessable Entity" },
    { 424, "Failed Dependency" },
    { 425, "Too Early" },
    { 429, "Too Many Requests" },
    { 500, "Internal Server Error" },
    { 501, "Not Implemented" },
    { 502, "Bad Gateway" },
    { 503, "Service Unavailable" },
    { 504, "Gateway Timeout" },
    { 529, "Overloaded" },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++)
    if (rows[i].status == status)
      return rows[i].words;
  return "<unknown status code>";
}

static bool are_same(struct mf_str a, struct mf_str b)
{
  return a.len == b.len && strncasecmp(a.ptr, b.ptr, a.len) == 0;
}

/* Whether a list such as Connection's names the field. */
static bool list_names(struct mf_str list, struct mf_str name)
{
  while (list.len > 0) {
    const char *comma = memchr(list.ptr, ',', list.len);
    struct mf_str one = { list.ptr, comma ? (size_t)(comma - list.ptr) : list.len };
    list = (struct mf_str){ list.ptr + one.len + (comma ? 1 : 0), list.len - one.len - (comma ? 1 : 0) };
    while (one.len > 0 && (one.ptr[0] == ' ' || one.ptr[0] == '\t'))
      one = (struct mf_str){ one.ptr + 1, one.len - 1 };
    while (one.len > 0 && (one.ptr[one.len - 1] == ' ' || one.ptr[one.len - 1] == '\t'))
      one.len--;
    if (are_same(one, name))
      return true;
  }
  return false;
}

/* RFC 9110, 7.6.1; the length is that of our own message. */
static bool is_hop_by_hop(const struct mf_http_call *call, struct mf_str name)
{
  static const struct mf_str own[] = {
    MF_STR("connection"), MF_STR("keep-alive"),        MF_STR("proxy-authenticate"), MF_STR("proxy-authorization"),
    MF_STR("te"),         MF_STR("trailer"),           MF_STR("trailers"),           MF_STR("proxy-connection"),
    MF_STR("upgrade"),    MF_STR("transfer-encoding"), MF_STR("content-length"),
  };
  for (size_t i = 0; i < MF_ARRAY_N(own); i++)
    if (are_same(name, own[i]))
      return true;
  return list_names(mf_http_call_header(call, "connection"), name);
}

/* One block: the array, then the texts. */
static void copy_headers(struct mf_turn_result *ret, const struct mf_http_call *call)
{
  const struct mf_http_header *from = NULL;
  size_t n = mf_http_call_headers(call, &from), bytes = n * sizeof(*from);
  for (size_t i = 0; i < n; i++)
    bytes += from[i].name.len + from[i].value.len;
  if (n == 0)
    return;
  ret->upstream_headers = mf_xcalloc(1, bytes);
  char *text = (char *)(ret->upstream_headers + n);
  for (size_t i = 0; i < n; i++) {
    if (is_hop_by_hop(call, from[i].name))
      continue;
    struct mf_http_header *to = &ret->upstream_headers[ret->upstream_header_n++];
    to->name = (struct mf_str){ memcpy(text, from[i].name.ptr, from[i].name.len), from[i].name.len };
    text += from[i].name.len;
    if (from[i].value.len > 0)
      memcpy(text, from[i].value.ptr, from[i].value.len);
    to->value = (struct mf_str){ text, from[i].value.len };
    text += from[i].value.len;
  }
}

static bool refused(struct run *run, struct mf_http_call *call)
{
  struct mf_err err = { 0 };
  mf_auto_buf struct mf_buf body = { 0 };
  int status = mf_http_call_status(call);
  enum mf_code code = mf_http_call_read_all(call, run->t.self, ERROR_BODY_MAX, &body, &err);
  if (code == MF_E_LIMIT)
    return run_fail_limit(run, 502, "upstream error body exceeded %zu bytes", ERROR_BODY_MAX);
  if (code)
    return fail_call(run, code, &err);
  run->t.agent->stats.upstream_errors++;
  mf_log(MF_LOG_WARN, "upstream: status %d", status);
  if (run->sink) {
    struct mf_str shown = { body.ptr, mf_utf8_prefix(mf_buf_str(&body), sizeof(run->ret->error.message)) };
    return run_fail(run, status, "upstream_error", "upstream_error", "LLM request failed (%d %s): %.*s", status,
                    status_words(status), MF_STR_ARG(shown));
  }
  run->ret->upstream_status = status;
  copy_headers(run->ret, call);
  run->ret->upstream_body = body;
  body = (struct mf_buf){ 0 };
  return run_verbatim(run);
}

/* ---- a successful answer ---- */

static bool fail_feed(struct run *run, enum mf_code code, const struct mf_err *err)
{
  run->t.agent->stats.upstream_errors++;
  if (code == MF_E_LIMIT)
    return run_fail_limit(run, 500, "%s", err->msg);
  return run_fail(run, 502, "upstream_error", "upstream_error", "%s", err->msg);
}

static bool take_events(struct run *run, struct mf_sse_reader *reader)
{
  struct mf_sse_event event;
  while (mf_sse_next(reader, &event)) {
    struct mf_err err = { 0 };
    struct mf_acc_event e;
    enum mf_code code = mf_acc_feed(run->acc, event.event, event.data, &e, &err);
    if (code)
      return fail_feed(run, code, &err);
    if (!deliver_upstream(run, &e, event.data))
      return false;
  }
  return true;
}

static bool read_events(struct run *run, struct mf_http_call *call, struct mf_sse_reader *reader)
{
  bool has_ended = false;
  while (!has_ended && mf_acc_state(run->acc) == MF_UPSTREAM_OPEN) {
    struct mf_err err = { 0 };
    struct mf_str chunk;
    enum mf_code code = mf_http_call_read(call, run->t.self, &chunk, &err);
    if (code == MF_E_CANCELLED || code == MF_E_TIMEOUT)
      return fail_call(run, code, &err);
    if (code)
      mf_log(MF_LOG_WARN, "upstream: %s", err.msg);
    /* However it ended: an event without its blank line is still one, and one that was cut is no JSON. */
    has_ended = code || chunk.len == 0;
    if (has_ended)
      mf_sse_finish(reader);
    else
      code = mf_sse_feed(reader, chunk, &err);
    if (!take_events(run, reader))
      return false;
    if (code == MF_E_LIMIT)
      return run_fail_limit(run, 502, "upstream SSE line exceeded %zu bytes", run->t.agent->config.upstream_line_max);
  }
  if (mf_acc_state(run->acc) == MF_UPSTREAM_OPEN)
    run->t.agent->stats.upstream_errors++;
  mf_acc_end(run->acc);
  return true;
}

static bool take_stream(struct run *run, struct mf_http_call *call)
{
  struct mf_sse_reader *reader = mf_sse_reader_new(run->t.agent->config.upstream_line_max);
  bool ok = read_events(run, call, reader);
  mf_sse_reader_free(reader);
  return ok;
}

static bool take_body(struct run *run, struct mf_http_call *call)
{
  struct mf_err err = { 0 };
  mf_auto_buf struct mf_buf body = { 0 };
  size_t max = run->t.agent->config.upstream_json_max;
  enum mf_code code = mf_http_call_read_all(call, run->t.self, max, &body, &err);
  if (code == MF_E_LIMIT)
    return run_fail_limit(run, 502, "upstream JSON body exceeded %zu bytes", max);
  if (code)
    return fail_call(run, code, &err);
  code = mf_acc_feed_json(run->acc, mf_buf_str(&body), &err);
  if (code == MF_E_INPUT) {
    run->t.agent->stats.upstream_errors++;
    mf_log(MF_LOG_WARN, "%s", err.msg);
    return run_fail(run, 400, "invalid_request_error", "invalid_request_error", "json error: %s", err.msg);
  }
  return code ? fail_feed(run, code, &err) : true;
}

/* ---- asking ---- */

static bool open_call(struct run *run)
{
  struct mf_err err = { 0 };
  const struct mf_agent_config *c = &run->t.agent->config;
  mf_auto_buf struct mf_buf body;
  mf_buf_init(&body, MF_STORE_BYTES_MAX + c->retained_max);
  bool without_gateway = run->dispatched >= run->t.r->max_tool_calls;
  if (turn_write_upstream(&run->t, run->round, without_gateway, &body, &err) != MF_OK)
    return run_fail(run, 413, "invalid_request_error", "body_too_large", "the request for the model is too large");

  mf_auto_free char *url = mf_xasprintf("%s/v1/responses", c->llm_api_base);
  struct mf_str key = run->t.bearer.len > 0 ? run->t.bearer : mf_str_of(c->api_key);
  mf_auto_free char *bearer = mf_xasprintf("Bearer %.*s", MF_STR_ARG(key));
  const struct mf_http_header headers[] = {
    { MF_STR("Content-Type"), MF_STR("application/json") },
    { MF_STR("Accept"), MF_STR("*/*") },
    { MF_STR("Authorization"), mf_str_of(bearer) },
  };
  const struct mf_http_request req = {
    .method = "POST",
    .url = url,
    .headers = headers,
    .header_n = key.len > 0 ? 3 : 2,
    .body = mf_buf_str(&body),
    .idle_ms = c->chunk_timeout_ms,
  };
  enum mf_code code = mf_http_call_open(run->t.agent->client, run->t.self, &req, &run->call, &err);
  return code ? fail_call(run, code, &err) : true;
}

bool ask(struct run *run)
{
  run->t.agent->stats.rounds++;
  if (!open_call(run))
    return false;
  int status = mf_http_call_status(run->call);
  if (status < 200 || status > 299)
    return refused(run, run->call);
  if (run->sink)
    return take_stream(run, run->call);
  bool ok = take_body(run, run->call);
  mf_http_call_close(run->call);
  run->call = NULL;
  return ok;
}

/* A stream's terminal event is not the end of its HTTP message, and only a connection whose message has ended can be
 * used again. The end is close behind, as a rule: it is waited for when there is nothing else to do, and not long. */
void ask_leave(struct run *run)
{
  enum { TRIES = 8 };
  bool has_ended = false;
  for (int i = 0; i < TRIES && !has_ended && run->call; i++) {
    struct mf_str rest = { .len = 1 };
    while (!has_ended && mf_http_call_is_ready(run->call))
      has_ended = mf_http_call_read(run->call, run->t.self, &rest, NULL) != MF_OK || rest.len == 0;
    if (!has_ended && mf_fiber_sleep(run->t.self, i == 0 ? 0 : MF_NS_PER_MS) != MF_OK)
      has_ended = true;
  }
  mf_http_call_close(run->call);
  run->call = NULL;
}

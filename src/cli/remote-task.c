/* Tasks of a server. */
#include "remote-task.h"

#include <stdio.h>

#include "base/base64.h"
#include "base/time.h"
#include "http/sse.h"

#include "base/banned.h"

enum {
  REQUEST_BYTES_MAX = 48 << 20, /* 20 MiB of files as base64, 1 MiB of code escaped */
  EVENT_BYTES_MAX = 16 << 20,
  EVENT_DEPTH_MAX = 16,
  WAIT_MS = 60000,        /* the longest that a server waits for us */
  STREAM_IDLE_MS = 40000, /* it sends something every 15 s */
  SILENCE_MS = 40000,     /* a server that says nothing for so long is not asked again */
  CANCEL_IDLE_MS = 10000, /* it takes 5 s at most */
  SLACK_MS = 10000,
  RETRY_MS = 500,
  RETRIES = 20,
  TEXT_BYTES_MAX = 1 << 20, /* a task prints no more, on each stream */
};

/* ---- submit, get, cancel ---- */

bool mf_remote_can_run(const struct mf_sandbox_spec *spec)
{
  const struct mf_sandbox_limits *l = &spec->limits;
  return spec->argv_n == 0 && l->wall_ms <= MF_REMOTE_WALL_MS_MAX && l->memory_bytes % (1 << 20) == 0;
}

static enum mf_code write_request(const struct mf_sandbox_spec *spec, struct mf_buf *out)
{
  struct mf_json_writer w;
  mf_jw_init(&w, out, false);
  mf_jw_obj(&w);
  mf_jw_kstrz(&w, "language", "python");
  mf_jw_kstr(&w, "code", spec->source);
  mf_jw_key(&w, "limits");
  mf_jw_obj(&w);
  mf_jw_ku64(&w, "timeoutMs", spec->limits.wall_ms);
  mf_jw_ku64(&w, "memoryMb", spec->limits.memory_bytes >> 20);
  mf_jw_obj_end(&w);
  if (spec->source_name.len > 0)
    mf_jw_kstr(&w, "source_name", spec->source_name);
  if (spec->display_last_expression)
    mf_jw_kbool(&w, "display_last_expression", true);
  if (spec->file_n > 0) {
    mf_jw_key(&w, "files");
    mf_jw_arr(&w);
  }
  for (unsigned i = 0; i < spec->file_n && !w.code; i++) {
    mf_jw_obj(&w);
    mf_jw_kstr(&w, "name", spec->files[i].name);
    mf_jw_key(&w, "content");
    mf_jw_raw(&w, MF_STR("\""));
    if (!w.code)
      w.code = mf_base64_encode(spec->files[i].data, out);
    if (!w.code)
      w.code = mf_buf_append(out, "\"", 1);
    mf_jw_obj_end(&w);
  }
  if (spec->file_n > 0)
    mf_jw_arr_end(&w);
  mf_jw_obj_end(&w);
  return w.code;
}

static enum mf_code fail_answer(struct mf_err *err)
{
  return mf_fail(err, MF_E_UNAVAILABLE, 0, "the server's answer is not a task");
}

static enum mf_code take_id(const struct mf_json_val *task, char ret[MF_REMOTE_ID_N], struct mf_err *err)
{
  const struct mf_json_val *v = mf_json_get(task, "taskId");
  if (mf_json_type_of(v) != MF_JSON_STR || !mf_remote_is_id(mf_json_str(v)))
    return fail_answer(err);
  snprintf(ret, MF_REMOTE_ID_N, "%.*s", MF_STR_ARG(mf_json_str(v)));
  return MF_OK;
}

enum mf_code mf_remote_submit(struct mf_remote *r, struct mf_fiber *self, const struct mf_sandbox_spec *spec,
                              uint64_t idle_ms, char ret_id[MF_REMOTE_ID_N], struct mf_json **ret, struct mf_err *err)
{
  mf_auto_buf struct mf_buf body;
  mf_auto_json struct mf_json *task = NULL;
  mf_buf_init(&body, REQUEST_BYTES_MAX);
  if (write_request(spec, &body))
    return mf_fail(err, MF_E_LIMIT, 0, "the request is too large");
  const struct mf_remote_request req = {
    .method = "POST", .path = "/v1/tasks", .body = mf_buf_str(&body), .idle_ms = idle_ms
  };
  enum mf_code code = mf_remote_ask(r, self, &req, &task, err);
  if (!code)
    code = take_id(mf_json_root(task), ret_id, err);
  if (!code && ret) {
    *ret = task;
    task = NULL;
  }
  return code;
}

enum mf_code mf_remote_cancel(struct mf_remote *r, struct mf_fiber *self, const char *id, struct mf_json **ret,
                              struct mf_err *err)
{
  mf_auto_free char *path = mf_xasprintf("/v1/tasks/%s/cancel", id);
  mf_auto_json struct mf_json *task = NULL;
  const struct mf_remote_request req = { .method = "POST", .path = path, .idle_ms = CANCEL_IDLE_MS };
  enum mf_code code = mf_remote_ask(r, self, &req, &task, err);
  if (!code && mf_remote_status(mf_json_root(task)).len == 0)
    return fail_answer(err);
  if (!code && ret) {
    *ret = task;
    task = NULL;
  }
  return code;
}

enum mf_code mf_remote_get(struct mf_remote *r, struct mf_fiber *self, const char *id, uint64_t wait_ms,
                           struct mf_json **ret, struct mf_err *err)
{
  uint64_t wait_s = MF_MIN(wait_ms, (uint64_t)WAIT_MS) / 1000;
  mf_auto_free char *path = mf_xasprintf("/v1/tasks/%s?wait=%llu", id, (unsigned long long)wait_s);
  if (wait_s == 0)
    *strchr(path, '?') = 0;
  const struct mf_remote_request req = { .method = "GET", .path = path, .idle_ms = wait_s * 1000 + SLACK_MS };
  enum mf_code code = mf_remote_ask(r, self, &req, ret, err);
  if (!code && mf_remote_status(mf_json_root(*ret)).len == 0) {
    mf_json_free(*ret);
    *ret = NULL;
    return fail_answer(err);
  }
  return code;
}

enum mf_code mf_remote_pause(struct mf_fiber *self, uint64_t since_ns)
{
  uint64_t pause_ns = RETRY_MS * MF_NS_PER_MS, passed_ns = mf_now_ns() - since_ns;
  return passed_ns < pause_ns ? mf_fiber_sleep(self, pause_ns - passed_ns) : MF_OK;
}

static const char *const status_names[] = { "queued", "running", "succeeded", "failed", "timed_out", "cancelled" };

struct mf_str mf_remote_status(const struct mf_json_val *task)
{
  const struct mf_json_val *v = mf_json_get(task, "status");
  for (size_t i = 0; mf_json_type_of(v) == MF_JSON_STR && i < MF_ARRAY_N(status_names); i++)
    if (mf_str_is(mf_json_str(v), status_names[i]))
      return mf_json_str(v);
  return MF_STR("");
}

bool mf_remote_has_ended(const struct mf_json_val *task)
{
  struct mf_str s = mf_remote_status(task);
  return s.len > 0 && !mf_str_is(s, "queued") && !mf_str_is(s, "running");
}

/* ---- follow ---- */

static void show_status(struct mf_follow *f, const struct mf_json_val *task)
{
  uint64_t place = 0;
  if (mf_str_is(mf_remote_status(task), "running")) {
    mf_console_progress(f->console, "running", f->wall_ms);
  } else if (mf_str_is(mf_remote_status(task), "queued")) {
    if (mf_json_u64(mf_json_get(task, "queuePosition"), &place) && place > 0)
      snprintf(f->verb, sizeof(f->verb), "queued, number %llu", (unsigned long long)place);
    else
      snprintf(f->verb, sizeof(f->verb), "queued");
    mf_console_progress(f->console, f->verb, 0);
  }
}

/* Text of a stream: what an earlier connection has shown of it is passed over. */
static enum mf_code show_text(struct mf_follow *f, unsigned stream, const struct mf_json_val *data, uint64_t *seen,
                              struct mf_err *err)
{
  const struct mf_json_val *v = mf_json_get(data, "text");
  if (mf_json_type_of(v) != MF_JSON_STR)
    return fail_answer(err);
  struct mf_str text = mf_json_str(v);
  uint64_t known = f->shown[stream] > *seen ? f->shown[stream] - *seen : 0;
  *seen += text.len;
  if (*seen > TEXT_BYTES_MAX)
    return mf_fail(err, MF_E_LIMIT, 0, "the server sends more than a task may print");
  if (known >= text.len)
    return MF_OK;
  f->shown[stream] = *seen;
  mf_console_write(f->console, stream == 1, (struct mf_str){ text.ptr + known, text.len - known });
  return MF_OK;
}

static enum mf_code take_event(struct mf_follow *f, const struct mf_sse_event *e, uint64_t seen[2], bool *ret_ended,
                               struct mf_err *err)
{
  static const struct mf_json_limits limits = { EVENT_BYTES_MAX, EVENT_DEPTH_MAX };
  mf_auto_json struct mf_json *doc = NULL;
  if (mf_json_parse(e->data, &limits, &doc, NULL))
    return fail_answer(err);
  const struct mf_json_val *data = mf_json_root(doc);
  if (mf_str_is(e->event, "stdout"))
    return show_text(f, 0, data, &seen[0], err);
  if (mf_str_is(e->event, "stderr"))
    return show_text(f, 1, data, &seen[1], err);
  if (mf_str_is(e->event, "status")) {
    show_status(f, data);
    *ret_ended = mf_remote_has_ended(data);
  }
  return MF_OK;
}

/* One connection: MF_OK after the last event; MF_E_TIMEOUT: it was cut, and may be made again. */
static enum mf_code read_events(struct mf_follow *f, struct mf_fiber *self, struct mf_err *err)
{
  mf_auto_free char *path = mf_xasprintf("/v1/tasks/%s/events", f->id);
  const struct mf_remote_request req = { .method = "GET", .path = path, .idle_ms = STREAM_IDLE_MS };
  struct mf_http_call *call = NULL;
  enum mf_code code = mf_remote_open(f->remote, self, &req, &call, err);
  if (code)
    return code == MF_E_UNAVAILABLE ? MF_E_TIMEOUT : code;
  struct mf_sse_reader *reader = mf_sse_reader_new(EVENT_BYTES_MAX);
  uint64_t seen[2] = { 0, 0 };
  bool has_ended = false;
  while (!code && !has_ended) {
    struct mf_str piece;
    struct mf_sse_event e;
    code = mf_http_call_read(call, self, &piece, err);
    if (!code && piece.len == 0)
      code = mf_fail(err, MF_E_GONE, 0, "the server's events ended before the task");
    if (code && code != MF_E_CANCELLED)
      code = MF_E_TIMEOUT;
    f->heard_ns = code ? f->heard_ns : mf_now_ns();
    if (!code)
      code = mf_sse_feed(reader, piece, err);
    while (!code && !has_ended && mf_sse_next(reader, &e))
      code = take_event(f, &e, seen, &has_ended, err);
  }
  mf_sse_reader_free(reader);
  mf_http_call_close(call);
  return code;
}

static enum mf_code get_when_ended(struct mf_follow *f, struct mf_fiber *self, struct mf_json **ret, struct mf_err *err)
{
  for (;;) {
    uint64_t asked_ns = mf_now_ns();
    enum mf_code code = mf_remote_get(f->remote, self, f->id, WAIT_MS, ret, err);
    if (code || mf_remote_has_ended(mf_json_root(*ret)))
      return code == MF_E_UNAVAILABLE ? MF_E_TIMEOUT : code;
    mf_json_free(*ret);
    *ret = NULL;
    f->heard_ns = mf_now_ns();
    if (mf_remote_pause(self, asked_ns))
      return mf_fail(err, MF_E_CANCELLED, 0, "cancelled");
  }
}

static enum mf_code follow_once(struct mf_follow *f, struct mf_fiber *self, struct mf_json **ret, struct mf_err *err)
{
  enum mf_code code = f->console ? read_events(f, self, err) : MF_OK;
  return code ? code : get_when_ended(f, self, ret, err);
}

enum mf_code mf_remote_follow(struct mf_follow *f, struct mf_fiber *self, struct mf_json **ret, struct mf_err *err)
{
  f->heard_ns = mf_now_ns();
  enum mf_code code = follow_once(f, self, ret, err);
  for (unsigned i = 0; code == MF_E_TIMEOUT && i < RETRIES; i++) {
    f->is_lost = mf_now_ns() - f->heard_ns >= SILENCE_MS * MF_NS_PER_MS;
    if (f->is_lost)
      break;
    if (mf_fiber_sleep(self, RETRY_MS * MF_NS_PER_MS))
      return mf_fail(err, MF_E_CANCELLED, 0, "cancelled");
    code = follow_once(f, self, ret, err);
  }
  return code == MF_E_TIMEOUT ? MF_E_UNAVAILABLE : code;
}

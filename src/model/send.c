/* Pieces, delays and faults. */
#include "base/time.h"
#include "send.h"
#include "base/banned.h"

enum { HEADERS_MAX = 33, HUGE_LINE_BYTES = 32 << 20 };

static const char html[] = "<!doctype html>\n<html><head><title>Bad Gateway</title></head>\n"
                           "<body><h1>Bad Gateway</h1></body></html>\n";

/* ---- what is sent ---- */

/* Where the piece that begins at `at` ends. `next` walks along split_at. */
static size_t piece_end(const struct mf_model_round *r, struct mf_str body, bool is_events, size_t at, size_t *next)
{
  if (r->split_every)
    return at + (size_t)MF_MIN(r->split_every, (uint64_t)(body.len - at));
  if (r->split_at) {
    uint64_t offset = 0;
    const struct mf_json_val *v = mf_json_at(r->split_at, (*next)++);
    return mf_json_u64(v, &offset) && offset < body.len ? (size_t)offset : body.len;
  }
  const char *blank = is_events ? memmem(body.ptr + at, body.len - at, "\n\n", 2) : NULL;
  const char *crlf = is_events ? memmem(body.ptr + at, body.len - at, "\r\n\r\n", 4) : NULL;
  if (blank)
    return (size_t)(blank - body.ptr) + 2;
  return crlf ? (size_t)(crlf - body.ptr) + 4 : body.len;
}

/* Each piece leaves by itself: the loop sends what waits before this fiber goes on. */
static enum mf_code send_pieces(struct mf_http_exchange *x, struct mf_fiber *self, const struct mf_model_round *r,
                                struct mf_str body, bool is_events, struct mf_err *err)
{
  enum mf_code code = MF_OK;
  size_t at = 0, next = 0;
  while (!code && at < body.len) {
    size_t end = piece_end(r, body, is_events, at, &next);
    code = mf_http_write(x, (struct mf_str){ body.ptr + at, end - at }, err);
    at = end;
    if (!code && (r->delay_ms == 0 || at < body.len))
      code = mf_fiber_sleep(self, r->delay_ms * MF_NS_PER_MS);
  }
  return code;
}

static size_t half_way(struct mf_str body, bool is_events, bool in_event)
{
  size_t half = body.len / 2;
  const char *blank = is_events ? memmem(body.ptr + half, body.len - half, "\n\n", 2) : NULL;
  if (!blank)
    return half;
  size_t end = (size_t)(blank - body.ptr) + 2;
  return in_event ? end - 3 : end;
}

static enum mf_code send_huge_line(struct mf_http_exchange *x, struct mf_err *err)
{
  static const char begin[] = "event: response.output_text.delta\n"
                              "data: {\"type\":\"response.output_text.delta\",\"delta\":\"";
  char block[8192];
  memset(block, 'x', sizeof(block));
  enum mf_code code = mf_http_write(x, (struct mf_str){ begin, sizeof(begin) - 1 }, err);
  for (size_t n = 0; n < HUGE_LINE_BYTES && !code; n += sizeof(block))
    code = mf_http_write(x, (struct mf_str){ block, sizeof(block) }, err);
  return code ? code : mf_http_end(x, err);
}

static enum mf_code wait_for_end(struct mf_fiber *self, struct mf_err *err)
{
  enum mf_code code = MF_OK;
  while (!code)
    code = mf_fiber_wait(self, 0);
  return mf_fail(err, code, 0, "the client has left");
}

/* "\n" becomes "\r\n". */
static enum mf_code to_crlf(struct mf_str body, struct mf_buf *out, struct mf_err *err)
{
  enum mf_code code = MF_OK;
  mf_buf_init(out, body.len * 2 + 1);
  while (!code && body.len > 0) {
    const char *line = memchr(body.ptr, '\n', body.len);
    size_t n = line ? (size_t)(line - body.ptr) : body.len;
    code = mf_buf_append(out, body.ptr, n);
    if (!code && line)
      code = mf_buf_append(out, "\r\n", 2);
    n += line != NULL;
    body = (struct mf_str){ body.ptr + n, body.len - n };
  }
  return code ? mf_fail(err, code, 0, "the reply is too large") : MF_OK;
}

/* ---- the response ---- */

static bool is_content_type(struct mf_str name)
{
  return name.len == 12 && strncasecmp(name.ptr, "content-type", 12) == 0;
}

static enum mf_code begin(struct mf_http_exchange *x, const struct mf_model_round *r, bool is_events,
                          struct mf_err *err)
{
  struct mf_http_header headers[HEADERS_MAX];
  size_t n = 0;
  bool has_type = false;
  struct mf_json_iter it = mf_json_iter(r->headers);
  while (r->headers && mf_json_next(&it)) {
    headers[n++] = (struct mf_http_header){ it.key, mf_json_str(it.val) };
    has_type |= is_content_type(it.key);
  }
  bool says_events = is_events != (r->fault == MF_FAULT_WRONG_TYPE);
  const char *type = r->fault == MF_FAULT_HTML ? "text/html; charset=utf-8"
                     : says_events             ? "text/event-stream; charset=utf-8"
                                               : "application/json";
  if (!has_type)
    headers[n++] = (struct mf_http_header){ MF_STR("Content-Type"), mf_str_of(type) };
  return mf_http_begin(x, r->status, headers, n, err);
}

enum mf_code mf_model_send(struct mf_http_exchange *x, struct mf_fiber *self, const struct mf_model_round *r,
                           struct mf_str body, bool is_events, struct mf_err *err)
{
  mf_auto_buf struct mf_buf lines = { 0 };
  bool is_event_text = is_events && r->fault != MF_FAULT_HTML;
  if (r->fault == MF_FAULT_REFUSE) {
    mf_http_abort(x);
    return MF_OK;
  }
  enum mf_code code = begin(x, r, is_events || r->fault == MF_FAULT_HUGE_LINE, err);
  if (code)
    return code;
  if (r->fault == MF_FAULT_HUGE_LINE)
    return send_huge_line(x, err);
  if (r->fault == MF_FAULT_HTML)
    body = (struct mf_str){ html, sizeof(html) - 1 };
  if (r->fault == MF_FAULT_CRLF && is_events) {
    code = to_crlf(body, &lines, err);
    body = mf_buf_str(&lines);
  }
  bool is_half = r->fault == MF_FAULT_HANG || r->fault == MF_FAULT_CUT || r->fault == MF_FAULT_RESET_MID_EVENT;
  if (is_half)
    body.len = half_way(body, is_events, r->fault == MF_FAULT_RESET_MID_EVENT);
  if (!code)
    code = send_pieces(x, self, r, body, is_event_text, err);
  if (code)
    return code;
  if (r->fault == MF_FAULT_HANG)
    return wait_for_end(self, err);
  if (r->fault == MF_FAULT_RESET_MID_EVENT) {
    mf_http_abort(x);
    return MF_OK;
  }
  return mf_http_end(x, err);
}

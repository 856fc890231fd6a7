/* Heads of responses. */
#include <assert.h>
#include <http_parser.h>
#include <stdio.h>

#include "server-internal.h"
#include "base/banned.h"

enum { ERROR_BODY_MAX = 64 * 1024 };

/* These describe the connection and the framing, which are the server's. */
static bool is_ours(struct mf_str name)
{
  static const char *const names[] = { "content-length", "transfer-encoding", "connection", "keep-alive", "date" };
  for (size_t i = 0; i < MF_ARRAY_N(names); i++)
    if (mf_http_str_is(name, names[i]))
      return true;
  return false;
}

bool mf_http_response_wants_close(const struct mf_http_header *headers, size_t header_n)
{
  for (size_t i = 0; i < header_n; i++)
    if (mf_http_str_is(headers[i].name, "connection") && mf_http_str_is(headers[i].value, "close"))
      return true;
  return false;
}

static void append_z(struct mf_http_bytes *out, const char *z)
{
  mf_http_bytes_append(out, z, strlen(z));
}

static void append_field(struct mf_http_bytes *out, struct mf_str name, struct mf_str value)
{
  mf_http_bytes_append(out, name.ptr, name.len);
  mf_http_bytes_append(out, ": ", 2);
  mf_http_bytes_append(out, value.ptr, value.len);
  mf_http_bytes_append(out, "\r\n", 2);
}

enum mf_code mf_http_response_head(struct mf_http_server *s, const struct mf_http_response *r,
                                   struct mf_http_bytes *out, struct mf_err *err)
{
  if (r->status < 200 || r->status > 599)
    return mf_fail(err, MF_E_INPUT, 0, "status %d cannot be sent", r->status);
  for (size_t i = 0; i < r->header_n; i++)
    if (!mf_http_is_token(r->headers[i].name) || !mf_http_is_field_value(r->headers[i].value))
      return mf_fail(err, MF_E_INPUT, 0, "header field %zu cannot be sent", i + 1);

  char line[96];
  const char *reason = http_status_str((enum http_status)r->status);
  int n = snprintf(line, sizeof(line), "HTTP/1.1 %d %s\r\n", r->status,
                   strcmp(reason, "<unknown>") == 0 ? "Unknown" : reason);
  mf_http_bytes_append(out, line, (size_t)n);
  append_field(out, MF_STR("Date"), mf_str_of(mf_http_server_date(s)));
  for (size_t i = 0; i < r->header_n; i++)
    if (!is_ours(r->headers[i].name))
      append_field(out, r->headers[i].name, r->headers[i].value);
  if (r->has_length) {
    n = snprintf(line, sizeof(line), "Content-Length: %llu\r\n", (unsigned long long)r->length);
    mf_http_bytes_append(out, line, (size_t)n);
  }
  if (r->is_chunked)
    append_z(out, "Transfer-Encoding: chunked\r\n");
  if (!r->keep)
    append_z(out, "Connection: close\r\n");
  else if (r->is_http_1_0)
    append_z(out, "Connection: keep-alive\r\n");
  append_z(out, "\r\n");
  return MF_OK;
}

void mf_http_response_error(struct mf_http_server *s, const struct mf_http_refusal *why, bool is_head, bool keep,
                            bool is_http_1_0, struct mf_http_bytes *out)
{
  struct mf_http_header headers[2];
  size_t header_n = 0;
  mf_auto_buf struct mf_buf body;
  mf_buf_init(&body, ERROR_BODY_MAX);
  if (s->config.error_header)
    s->config.error_header(s->user, &headers[header_n++]);
  if (s->config.error_body)
    s->config.error_body(s->user, why->status, why->why, &body);
  if (body.len > 0)
    headers[header_n++] = (struct mf_http_header){ MF_STR("Content-Type"), MF_STR("application/json") };
  struct mf_http_response r = { .status = why->status,
                                .headers = headers,
                                .header_n = header_n,
                                .has_length = true,
                                .length = body.len,
                                .keep = keep,
                                .is_http_1_0 = is_http_1_0 };
  enum mf_code code = mf_http_response_head(s, &r, out, NULL);
  assert(code == MF_OK);
  if (code == MF_OK && !is_head)
    mf_http_bytes_append(out, body.ptr, body.len);
}

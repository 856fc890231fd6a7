/* HTTP requests, as bytes of a connection: the same whatever the pieces they come in, nothing ambiguous accepted, and
 * what is accepted means to http-parser, reading all of it by itself, what it means to us.
 * Input: a byte that chooses the pieces, then the stream. */
#include <http_parser.h>
#include <string.h>

#include "base/buf.h"
#include "body.h"
#include "fuzz.h"
#include "base/banned.h"

enum { REQUESTS_MAX = 32 };

/* What became of one request. */
struct outcome {
  enum mf_http_scanned scanned;
  struct mf_http_refusal refusal;
  struct mf_http_head *head;
  size_t head_n, body_n; /* bytes of the stream */
  enum mf_code body_code;
  bool is_done;
  struct mf_buf body;
};

static size_t piece_size(uint8_t how, size_t i)
{
  return how == 0 ? SIZE_MAX : 1 + (how * (i + 7) * 2654435761u >> 16) % how;
}

static void read_body(struct outcome *o, struct mf_str in, uint8_t how)
{
  struct mf_http_body b;
  mf_http_body_init(&b, o->head);
  char room[512];
  size_t end = 0, i = 0;
  while (!mf_http_body_is_done(&b) && (o->body_n < end || end < in.len)) {
    size_t piece = piece_size(how, i++);
    if (o->body_n == end)
      end += MF_MIN(piece, in.len - end);
    size_t used = 0, n = 0;
    o->body_code = mf_http_body_decode(&b, (struct mf_str){ in.ptr + o->body_n, end - o->body_n }, &used, room,
                                       how ? how : sizeof(room), &n, NULL);
    if (o->body_code)
      return;
    CHECK(used <= end - o->body_n && n <= sizeof(room));
    CHECK(used > 0 || mf_http_body_is_done(&b));
    o->body_n += used;
    CHECK(mf_buf_append(&o->body, room, n) == MF_OK);
  }
  o->is_done = mf_http_body_is_done(&b);
}

static struct outcome read_request(struct mf_str in, uint8_t how)
{
  struct outcome o = { 0 };
  mf_buf_init(&o.body, in.len);
  struct mf_http_scan scan = { 0 };
  for (size_t at = 0, i = 0; o.scanned == MF_HTTP_SCAN_MORE && at < in.len; i++) {
    size_t piece = piece_size(how, i);
    at += MF_MIN(piece, in.len - at);
    o.scanned = mf_http_head_scan(&scan, (struct mf_str){ in.ptr, at }, &o.head_n, &o.refusal);
    CHECK(o.scanned != MF_HTTP_SCAN_DONE || (o.head_n > 0 && o.head_n <= at && o.head_n <= MF_HTTP_HEAD_MAX));
  }
  if (o.scanned == MF_HTTP_SCAN_DONE)
    o.head = mf_http_head_parse((struct mf_str){ in.ptr, o.head_n }, &o.refusal);
  CHECK((o.head != NULL) == (o.refusal.status == 0 && o.scanned == MF_HTTP_SCAN_DONE));
  if (o.head)
    read_body(&o, (struct mf_str){ in.ptr + o.head_n, in.len - o.head_n }, how);
  return o;
}

static void done(struct outcome *o)
{
  mf_http_head_free(o->head);
  mf_buf_done(&o->body);
}

static void check_same(const struct outcome *a, const struct outcome *b)
{
  CHECK(a->scanned == b->scanned && a->refusal.status == b->refusal.status && a->refusal.why == b->refusal.why);
  CHECK(!a->head == !b->head && a->body_code == b->body_code && a->is_done == b->is_done);
  if (!a->head)
    return;
  CHECK(a->head_n == b->head_n && a->head->header_n == b->head->header_n);
  CHECK(mf_str_eq(a->head->path, b->head->path) && mf_str_eq(a->head->query, b->head->query));
  if (!a->body_code)
    CHECK(a->body_n == b->body_n && mf_str_eq(mf_buf_str(&a->body), mf_buf_str(&b->body)));
}

static void check_visible(struct mf_str s)
{
  for (size_t i = 0; i < s.len; i++)
    CHECK(s.ptr[i] > 0x20 && s.ptr[i] < 0x7f);
}

static void check_unambiguous(const struct mf_http_head *h)
{
  unsigned host_n = 0, length_n = 0, coding_n = 0;
  CHECK(h->header_n <= MF_HTTP_FIELDS_MAX);
  for (size_t i = 0; i < h->header_n; i++) {
    CHECK(mf_http_is_token(h->headers[i].name) && mf_http_is_field_value(h->headers[i].value));
    host_n += mf_http_str_is(h->headers[i].name, "host");
    length_n += mf_http_str_is(h->headers[i].name, "content-length");
    coding_n += mf_http_str_is(h->headers[i].name, "transfer-encoding");
  }
  CHECK(host_n == 1 || (host_n == 0 && h->is_http_1_0));
  CHECK(length_n + coding_n <= 1 && h->is_chunked == (coding_n == 1));
  CHECK(h->is_chunked ? h->content_length == 0 && !h->is_http_1_0 : length_n == 1 || h->content_length == 0);
  CHECK(mf_http_is_token(h->method) && h->path.len > 0);
  CHECK(h->path.ptr[0] == '/' || (mf_str_is(h->path, "*") && mf_str_is(h->method, "OPTIONS")));
  check_visible(h->path);
  check_visible(h->query);
}

/* ---- the other reader ---- */

struct other {
  struct mf_buf body;
  bool is_complete;
};

static int on_body(http_parser *p, const char *at, size_t n)
{
  struct other *o = p->data;
  return mf_buf_append(&o->body, at, n) != MF_OK;
}

static int on_complete(http_parser *p)
{
  struct other *o = p->data;
  o->is_complete = true;
  http_parser_pause(p, 1);
  return 0;
}

static void check_against_http_parser(const struct outcome *o, struct mf_str in)
{
  static const http_parser_settings settings = { .on_body = on_body, .on_message_complete = on_complete };
  struct other other = { 0 };
  mf_buf_init(&other.body, in.len);
  http_parser p;
  http_parser_init(&p, HTTP_REQUEST);
  p.data = &other;
  const char *start = memchr(in.ptr, ' ', in.len);
  CHECK(start && http_parser_execute(&p, &settings, "GET", 3) == 3);
  size_t n = (size_t)(in.ptr + o->head_n + o->body_n - start);
  size_t used = http_parser_execute(&p, &settings, start, n);
  enum http_errno e = HTTP_PARSER_ERRNO(&p);
  /* Whatever it reads to the end must be what we read, and end where we end. It may say no: to a trailer, which we
   * drop, and to a field whose name only begins with Transfer-Encoding. */
  if (other.is_complete)
    CHECK(used + 1 >= n && used <= n && mf_str_eq(mf_buf_str(&other.body), mf_buf_str(&o->body)));
  else
    CHECK(e == HPE_INVALID_TRANSFER_ENCODING || (o->head->is_chunked && e != HPE_OK));
  mf_buf_done(&other.body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  if (n < 1 || n > (1u << 20))
    return 0;
  struct mf_str in = { (const char *)data + 1, n - 1 };
  for (unsigned i = 0; i < REQUESTS_MAX && in.len > 0; i++) {
    struct outcome whole = read_request(in, 0), pieces = read_request(in, data[0]);
    check_same(&whole, &pieces);
    bool goes_on = whole.head && whole.is_done;
    if (whole.head)
      check_unambiguous(whole.head);
    if (goes_on)
      check_against_http_parser(&whole, in);
    size_t used = whole.head_n + whole.body_n;
    done(&whole);
    done(&pieces);
    if (!goes_on)
      break;
    in = (struct mf_str){ in.ptr + used, in.len - used };
  }
  return 0;
}

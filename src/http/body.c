/* Bodies of requests: by length, or in chunks. */
#include "body.h"

#include "base/err.h"
#include "base/banned.h"

enum {
  SIZE_DIGITS_MAX = 15, /* cannot overflow 64 bits */
  OVERHEAD_MAX = 16 * 1024,
  OVERHEAD_FREE = 16, /* what a chunk may cost beside its data */
  TRAILERS_MAX = 8 * 1024,
};

void mf_http_body_init(struct mf_http_body *b, const struct mf_http_head *head)
{
  *b = (struct mf_http_body){ 0 };
  if (head->is_chunked) {
    b->state = MF_HTTP_CHUNK_SIZE;
  } else if (head->content_length > 0) {
    b->state = MF_HTTP_BODY_LENGTH;
    b->left = head->content_length;
  }
}

static int hex_value(char c)
{
  if (c >= '0' && c <= '9')
    return c - '0';
  char lower = (char)(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

static bool is_value_char(char c)
{
  return mf_http_is_field_value((struct mf_str){ &c, 1 });
}

static bool is_name_char(char c)
{
  return mf_http_is_token((struct mf_str){ &c, 1 });
}

/* Many tiny chunks with long extensions would make us work much for little: they get a budget, which honest chunks pay
 * back with their data. */
static bool pay(struct mf_http_body *b)
{
  return ++b->overhead <= OVERHEAD_MAX;
}

static void start_data(struct mf_http_body *b)
{
  uint64_t back = OVERHEAD_FREE + 2 * b->left;
  b->overhead = b->overhead > back ? b->overhead - back : 0;
  b->digit_n = 0;
  b->state = b->left > 0 ? MF_HTTP_CHUNK_DATA : MF_HTTP_TRAILER_START;
}

/* One byte of framing. False: not a chunked body. */
static bool step(struct mf_http_body *b, char c)
{
  int digit;
  bool ok = true;
  switch (b->state) {
  case MF_HTTP_CHUNK_SIZE:
    digit = hex_value(c);
    if (digit >= 0) {
      b->left = b->left * 16 + (uint64_t)digit;
      return ++b->digit_n <= SIZE_DIGITS_MAX && pay(b);
    }
    /* No white space before the extension: RFC 9112 has it as "bad" and parsers differ about it. */
    b->state = c == ';' ? MF_HTTP_CHUNK_EXT : MF_HTTP_CHUNK_SIZE_LF;
    return b->digit_n > 0 && (c == ';' || c == '\r');
  case MF_HTTP_CHUNK_EXT:
    if (c == '\r')
      b->state = MF_HTTP_CHUNK_SIZE_LF;
    else
      ok = is_value_char(c) && pay(b);
    return ok;
  case MF_HTTP_CHUNK_SIZE_LF:
    start_data(b);
    return c == '\n';
  case MF_HTTP_CHUNK_DATA_CR:
    b->state = MF_HTTP_CHUNK_DATA_LF;
    return c == '\r';
  case MF_HTTP_CHUNK_DATA_LF:
    b->state = MF_HTTP_CHUNK_SIZE;
    return c == '\n';
  case MF_HTTP_TRAILER_START:
    b->state = c == '\r' ? MF_HTTP_TRAILER_LAST_LF : MF_HTTP_TRAILER_NAME;
    return c == '\r' || (is_name_char(c) && ++b->trailer_n <= TRAILERS_MAX);
  case MF_HTTP_TRAILER_NAME:
    if (c == ':')
      b->state = MF_HTTP_TRAILER_VALUE;
    else
      ok = is_name_char(c);
    return ok && ++b->trailer_n <= TRAILERS_MAX;
  case MF_HTTP_TRAILER_VALUE:
    if (c == '\r')
      b->state = MF_HTTP_TRAILER_LF;
    else
      ok = is_value_char(c);
    return ok && ++b->trailer_n <= TRAILERS_MAX;
  case MF_HTTP_TRAILER_LF:
    b->state = MF_HTTP_TRAILER_START;
    return c == '\n';
  case MF_HTTP_TRAILER_LAST_LF:
    b->state = MF_HTTP_BODY_DONE;
    return c == '\n';
  case MF_HTTP_BODY_DONE:
  case MF_HTTP_BODY_LENGTH:
  case MF_HTTP_CHUNK_DATA:
    break;
  }
  return false;
}

enum mf_code mf_http_body_decode(struct mf_http_body *b, struct mf_str in, size_t *ret_used, char *p, size_t n,
                                 size_t *ret_n, struct mf_err *err)
{
  size_t used = 0, got = 0;
  while (used < in.len && b->state != MF_HTTP_BODY_DONE) {
    if (b->state != MF_HTTP_BODY_LENGTH && b->state != MF_HTTP_CHUNK_DATA) {
      if (!step(b, in.ptr[used++]))
        return mf_fail(err, MF_E_INPUT, 0, "malformed chunked body");
      continue;
    }
    size_t piece = (size_t)MF_MIN((uint64_t)MF_MIN(in.len - used, n - got), b->left);
    if (piece == 0)
      break;
    if (p)
      memcpy(p + got, in.ptr + used, piece);
    used += piece;
    got += piece;
    b->left -= piece;
    if (b->left == 0)
      b->state = b->state == MF_HTTP_CHUNK_DATA ? MF_HTTP_CHUNK_DATA_CR : MF_HTTP_BODY_DONE;
  }
  *ret_used = used;
  *ret_n = got;
  return MF_OK;
}

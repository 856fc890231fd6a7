/* Server-sent events: framing and its reader. A line is read where it lies in the chunk; only one that a chunk ends in
 * the middle of is put aside. Thread: any, one at a time. */
#include "http/sse.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/banned.h"

/* ---- writing ---- */

static bool has_line_break(struct mf_str s)
{
  return s.len > 0 && (memchr(s.ptr, '\n', s.len) || memchr(s.ptr, '\r', s.len));
}

enum mf_code mf_sse_write(struct mf_buf *out, struct mf_str event, struct mf_str data)
{
  if (has_line_break(event) || has_line_break(data))
    return MF_E_INPUT;
  size_t before = out->len;
  enum mf_code code = MF_OK;
  if (event.len > 0) {
    code = mf_buf_append_str(out, MF_STR("event: "));
    if (code == MF_OK)
      code = mf_buf_append_str(out, event);
    if (code == MF_OK)
      code = mf_buf_append_str(out, MF_STR("\n"));
  }
  if (code == MF_OK)
    code = mf_buf_append_str(out, MF_STR("data: "));
  if (code == MF_OK)
    code = mf_buf_append_str(out, data);
  if (code == MF_OK)
    code = mf_buf_append_str(out, MF_STR("\n\n"));
  if (code)
    mf_buf_truncate(out, before);
  return code;
}

/* ---- reading ---- */

/* In the queue each event is its head, its data, its type. The last may still be without a type: it is being read. */
struct head {
  size_t data_len, type_len;
};

struct mf_sse_reader {
  size_t line_max;
  struct mf_buf line; /* the beginning of a line whose end has not come */
  struct mf_buf type; /* of the event being read */
  struct mf_buf queue;
  size_t next, open; /* in the queue: the event to give out next, the event being read */
  bool has_data;     /* there is an event being read */
  bool is_begun;     /* the first line, which may have a byte order mark, is read */
  bool skip_lf;      /* the last line ended with CR; an LF belongs to it */
  bool is_over;      /* a limit was passed */
};

struct mf_sse_reader *mf_sse_reader_new(size_t line_max)
{
  struct mf_sse_reader *r = mf_xcalloc(1, sizeof(*r));
  r->line_max = line_max;
  mf_buf_init(&r->line, line_max);
  mf_buf_init(&r->type, line_max);
  /* Each chunk adds what it holds at most, plus heads; whoever feeds bounds the chunks. */
  mf_buf_init(&r->queue, SIZE_MAX / 4);
  return r;
}

void mf_sse_reader_free(struct mf_sse_reader *r)
{
  if (!r)
    return;
  mf_buf_done(&r->line);
  mf_buf_done(&r->type);
  mf_buf_done(&r->queue);
  free(r);
}

static enum mf_code add_data(struct mf_sse_reader *r, struct mf_str value)
{
  enum mf_code code;
  if (!r->has_data) {
    r->open = r->queue.len;
    code = mf_buf_append(&r->queue, &(struct head){ 0 }, sizeof(struct head));
    r->has_data = true;
  } else {
    code = mf_buf_append_str(&r->queue, MF_STR("\n"));
  }
  if (code == MF_OK)
    code = mf_buf_append_str(&r->queue, value);
  if (code == MF_OK && r->queue.len - r->open - sizeof(struct head) > r->line_max)
    code = MF_E_LIMIT;
  return code;
}

/* A blank line: the event is complete. One without data is none, whatever else it said. */
static enum mf_code end_event(struct mf_sse_reader *r)
{
  enum mf_code code = MF_OK;
  if (r->has_data) {
    struct head h = { r->queue.len - r->open - sizeof(h), r->type.len };
    code = mf_buf_append_str(&r->queue, mf_buf_str(&r->type));
    memcpy(r->queue.ptr + r->open, &h, sizeof(h));
    r->has_data = false;
  }
  mf_buf_truncate(&r->type, 0);
  return code;
}

static enum mf_code read_line(struct mf_sse_reader *r, struct mf_str line)
{
  if (!r->is_begun && mf_str_starts(line, "\xef\xbb\xbf"))
    line = (struct mf_str){ line.ptr + 3, line.len - 3 };
  r->is_begun = true;
  if (line.len == 0)
    return end_event(r);

  const char *colon = memchr(line.ptr, ':', line.len);
  struct mf_str name = { line.ptr, colon ? (size_t)(colon - line.ptr) : line.len };
  struct mf_str value = { line.ptr + line.len, 0 };
  if (colon) {
    value.ptr = colon + 1 + (colon + 1 < value.ptr && colon[1] == ' ');
    value.len = (size_t)(line.ptr + line.len - value.ptr);
  }
  if (mf_str_is(name, "data"))
    return add_data(r, value);
  if (mf_str_is(name, "event")) {
    mf_buf_truncate(&r->type, 0);
    return mf_buf_append_str(&r->type, value);
  }
  return MF_OK; /* a comment, id, retry, or what we do not know */
}

/* A buffer that one large event has blown up is given back. */
static void empty(struct mf_buf *b)
{
  enum { KEPT = 64 * 1024 };
  size_t max = b->max;
  if (b->cap > KEPT) {
    mf_buf_done(b);
    mf_buf_init(b, max);
  } else {
    mf_buf_truncate(b, 0);
  }
}

/* A line's end, whose beginning may have been put aside. */
static enum mf_code take_line(struct mf_sse_reader *r, struct mf_str piece)
{
  if (r->line.len == 0)
    return piece.len > r->line_max ? MF_E_LIMIT : read_line(r, piece);
  enum mf_code code = mf_buf_append_str(&r->line, piece);
  if (code == MF_OK)
    code = read_line(r, mf_buf_str(&r->line));
  empty(&r->line);
  return code;
}

/* What was given out makes room. */
static void drop_given_out(struct mf_sse_reader *r)
{
  if (r->next == r->queue.len)
    empty(&r->queue);
  else if (r->next > 0)
    mf_buf_consume(&r->queue, r->next);
  r->open -= r->has_data ? r->next : 0;
  r->next = 0;
}

static enum mf_code feed(struct mf_sse_reader *r, struct mf_str chunk)
{
  const char *p = chunk.ptr, *end = p + chunk.len;
  /* The next LF is looked for once, however many lines end with CR before it. */
  const char *lf = NULL;
  while (p < end) {
    if (r->skip_lf) {
      r->skip_lf = false;
      if (*p == '\n') {
        p++;
        continue;
      }
    }
    if (!lf || lf < p) {
      lf = memchr(p, '\n', (size_t)(end - p));
      lf = lf ? lf : end;
    }
    const char *cr = memchr(p, '\r', (size_t)(lf - p));
    const char *stop = cr ? cr : lf;
    struct mf_str piece = { p, (size_t)(stop - p) };
    if (stop == end)
      return mf_buf_append_str(&r->line, piece);
    enum mf_code code = take_line(r, piece);
    if (code)
      return code;
    r->skip_lf = cr != NULL;
    p = stop + 1;
  }
  return MF_OK;
}

enum mf_code mf_sse_feed(struct mf_sse_reader *r, struct mf_str chunk, struct mf_err *err)
{
  drop_given_out(r);
  if (!r->is_over && chunk.len > 0)
    r->is_over = feed(r, chunk) != MF_OK;
  if (r->is_over)
    return mf_fail(err, MF_E_LIMIT, 0, "a line or event of the stream exceeded %zu bytes", r->line_max);
  return MF_OK;
}

bool mf_sse_next(struct mf_sse_reader *r, struct mf_sse_event *ret)
{
  size_t end = r->has_data ? r->open : r->queue.len;
  if (r->next == end)
    return false;
  struct head h;
  memcpy(&h, r->queue.ptr + r->next, sizeof(h));
  const char *data = r->queue.ptr + r->next + sizeof(h);
  *ret = (struct mf_sse_event){ .data = { data, h.data_len }, .event = { data + h.data_len, h.type_len } };
  r->next += sizeof(h) + h.data_len + h.type_len;
  return true;
}

void mf_sse_finish(struct mf_sse_reader *r)
{
  drop_given_out(r);
  if (r->is_over)
    return;
  if (r->line.len > 0)
    r->is_over = take_line(r, (struct mf_str){ "", 0 }) != MF_OK;
  if (!r->is_over)
    r->is_over = end_event(r) != MF_OK;
}

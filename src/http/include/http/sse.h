/* Server-sent events, both ways (WHATWG HTML, "Server-sent events"): writing is framing; reading accepts LF, CRLF and
 * CR, comments, missing event lines, several data lines, a missing last blank line. Bounded by line and event size.
 *
 * Thread: any, one at a time. Bytes are not looked at: whether they are UTF-8 is the reader's affair. */
#ifndef MF_HTTP_SSE_H
#define MF_HTTP_SSE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/* Appends "event: T\ndata: D\n\n", without the first line when event is empty. All or nothing: MF_E_LIMIT of `out`;
 * MF_E_INPUT: a line break in event or data (JSON has none). */
MF_MUST_USE enum mf_code mf_sse_write(struct mf_buf *out, struct mf_str event, struct mf_str data);

struct mf_sse_reader;
struct mf_sse_event {
  struct mf_str event; /* empty when there was no such line */
  struct mf_str data;  /* lines joined by LF */
};
/* line_max: of one line, and of one event's data. */
struct mf_sse_reader *mf_sse_reader_new(size_t line_max);
void mf_sse_reader_free(struct mf_sse_reader *r); /* NULL is fine */
/* Feeds a chunk (copied). MF_E_LIMIT over line_max, now and for ever; the events before it are still there. */
MF_MUST_USE enum mf_code mf_sse_feed(struct mf_sse_reader *r, struct mf_str chunk, struct mf_err *err);
/* The next complete event; false when more is needed. Borrowed until the next feed or finish. */
bool mf_sse_next(struct mf_sse_reader *r, struct mf_sse_event *ret);
/* At the end of the input: a last event without its blank line becomes available. */
void mf_sse_finish(struct mf_sse_reader *r);

#endif

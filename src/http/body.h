/* Where a request's body ends, and the strict decoder of the chunked coding (RFC 9112 §7.1). No sockets here.
 *
 * Not http-parser's: as packaged it is compiled without its strict checks and then takes any two bytes for the CRLF
 * after a chunk. The fuzz target holds this decoder against it: what is accepted here must mean the same there. */
#ifndef MF_HTTP_BODY_H
#define MF_HTTP_BODY_H

#include "request.h"

enum mf_http_body_state {
  MF_HTTP_BODY_DONE,
  MF_HTTP_BODY_LENGTH,
  MF_HTTP_CHUNK_SIZE,
  MF_HTTP_CHUNK_EXT,
  MF_HTTP_CHUNK_SIZE_LF,
  MF_HTTP_CHUNK_DATA,
  MF_HTTP_CHUNK_DATA_CR,
  MF_HTTP_CHUNK_DATA_LF,
  MF_HTTP_TRAILER_START,
  MF_HTTP_TRAILER_NAME,
  MF_HTTP_TRAILER_VALUE,
  MF_HTTP_TRAILER_LF,
  MF_HTTP_TRAILER_LAST_LF,
};

struct mf_http_body {
  enum mf_http_body_state state;
  uint64_t left;      /* of the body or of this chunk */
  unsigned digit_n;   /* of this chunk's size */
  uint64_t overhead;  /* bytes of framing beyond what honest chunks need */
  unsigned trailer_n; /* bytes of trailers */
};

void mf_http_body_init(struct mf_http_body *b, const struct mf_http_head *head);
static inline bool mf_http_body_is_done(const struct mf_http_body *b)
{
  return b->state == MF_HTTP_BODY_DONE;
}
/* Takes *ret_used bytes of `in` and puts *ret_n <= n bytes of the body into p (NULL: throws them away). Stops when p is
 * full, when `in` is used up or when the body is done. Trailers are checked and dropped. MF_E_INPUT: bad chunks. */
MF_MUST_USE enum mf_code mf_http_body_decode(struct mf_http_body *b, struct mf_str in, size_t *ret_used, char *p,
                                             size_t n, size_t *ret_n, struct mf_err *err);

#endif

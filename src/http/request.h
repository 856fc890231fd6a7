/* The head of a request: from bytes to something that cannot be read in two ways. No sockets here, so that a fuzzer can
 * come in directly.
 *
 * Two layers: the scanner holds every line to the letter of RFC 9112 (and is what decides where the head ends), then
 * http-parser reads what it let through, then both must agree about the framing. */
#ifndef MF_HTTP_REQUEST_H
#define MF_HTTP_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "http/server.h"

enum { MF_HTTP_HEAD_MAX = 64 * 1024, MF_HTTP_FIELDS_MAX = 128 };

/* Why a request gets no handler. `why` is one static sentence for the client. */
struct mf_http_refusal {
  int status;
  const char *why;
};

/* Where the scan of one head stands; start with a zeroed struct. */
struct mf_http_scan {
  size_t line, seen; /* start of the current line; how far was looked */
  unsigned line_n;   /* complete ones, the request line included */
  bool had_blank;    /* an empty line before the request line (RFC 9112 §2.2), allowed once */
};
enum mf_http_scanned { MF_HTTP_SCAN_MORE, MF_HTTP_SCAN_DONE, MF_HTTP_SCAN_REFUSED };
/* `in` starts where the head starts and grows from call to call. DONE: *ret_n bytes are the head. Faults are found as
 * soon as their line is there. */
enum mf_http_scanned mf_http_head_scan(struct mf_http_scan *s, struct mf_str in, size_t *ret_n,
                                       struct mf_http_refusal *ret_refusal);

/* All strings point into `bytes`. */
struct mf_http_head {
  char *bytes;
  struct mf_str method, path, query;
  struct mf_http_header *headers;
  size_t header_n;
  bool is_http_1_0, is_head; /* HEAD: an answer without its body */
  bool keep_alive, is_chunked, expects_continue;
  uint64_t content_length; /* 0 when there is none */
};
/* `in` is what the scan called a head. Returns NULL and fills the refusal when it is refused after all. */
struct mf_http_head *mf_http_head_parse(struct mf_str in, struct mf_http_refusal *ret_refusal);
void mf_http_head_free(struct mf_http_head *h);
/* The first of that name; {NULL, 0} when there is none. */
struct mf_str mf_http_head_find(const struct mf_http_head *h, const char *name);

/* Tokens and field values of RFC 9110 §5; a value may be empty. */
bool mf_http_is_token(struct mf_str s);
bool mf_http_is_field_value(struct mf_str s);
bool mf_http_str_is(struct mf_str s, const char *z); /* ignoring the case of ASCII letters */

#endif

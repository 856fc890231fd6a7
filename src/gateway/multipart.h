/* multipart/form-data (RFC 7578, RFC 2046 §5.1), read in pieces of any size: of a part only its head is kept.
 *
 * Strict where readers differ: lines end with CRLF, heads are not folded, a part has one Content-Disposition with a
 * name, everything is UTF-8. Refused: a body without its end, a part that is multipart itself, a transfer encoding that
 * changes the bytes, another charset. Bounds: below.
 *
 *   while (there is input)
 *     do
 *       next(m, &input, …)        MORE: all of it was taken; else one thing after the other
 *     while (it was not MORE)
 *   finish(m)
 *
 * Thread: one at a time. */
#ifndef MF_GATEWAY_MULTIPART_H
#define MF_GATEWAY_MULTIPART_H

#include "base/err.h"
#include "base/str.h"

enum {
  MF_MULTIPART_BOUNDARY_MAX = 70, /* RFC 2046 */
  MF_MULTIPART_HEAD_MAX = 8 * 1024,
  MF_MULTIPART_PARTS_MAX = 300,
};

struct mf_multipart;
/* content_type: the request's, whose type the caller has looked at. MF_E_INPUT: no boundary, or not one. */
MF_MUST_USE enum mf_code mf_multipart_new(struct mf_str content_type, struct mf_multipart **ret, struct mf_err *err);
void mf_multipart_free(struct mf_multipart *m); /* NULL is fine */

enum mf_multipart_event {
  MF_MULTIPART_MORE,     /* the input is used up */
  MF_MULTIPART_PART,     /* a part begins: mf_multipart_part */
  MF_MULTIPART_DATA,     /* some of its content */
  MF_MULTIPART_PART_END, /* it was whole */
  MF_MULTIPART_END,      /* after the last part; what follows is thrown away */
};
/* Goes on in *in, which is moved. ret_data: of DATA, never empty; borrowed from *in or from m until the next call.
 * MF_E_INPUT, MF_E_LIMIT: now and for ever. */
MF_MUST_USE enum mf_code mf_multipart_next(struct mf_multipart *m, struct mf_str *in, enum mf_multipart_event *ret,
                                           struct mf_str *ret_data, struct mf_err *err);
/* The input has ended. MF_E_INPUT: before the body did. */
MF_MUST_USE enum mf_code mf_multipart_finish(struct mf_multipart *m, struct mf_err *err);

/* The head of the present part, borrowed until the next PART. */
struct mf_multipart_part {
  struct mf_str name;         /* never empty */
  struct mf_str filename;     /* {NULL, 0}: it has none. Names are what the client says: any UTF-8 */
  struct mf_str content_type; /* {NULL, 0}: not said */
};
const struct mf_multipart_part *mf_multipart_part(const struct mf_multipart *m);

#endif

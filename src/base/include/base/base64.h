/* Base64 (RFC 4648 §4): the alphabet with + and /, padded, in one piece. Thread: any. */
#ifndef MF_BASE_BASE64_H
#define MF_BASE_BASE64_H

#include "base/buf.h"

/* Appends the text of `in`. MF_E_LIMIT of out. */
MF_MUST_USE enum mf_code mf_base64_encode(struct mf_str in, struct mf_buf *out);
/* Appends the bytes that `in` stands for. Strict: no white space, no other alphabet, no missing padding, no bits that
 * are left over, so that two texts never stand for the same bytes; MF_E_INPUT. MF_E_LIMIT of out. What was appended
 * before an error stays. */
MF_MUST_USE enum mf_code mf_base64_decode(struct mf_str in, struct mf_buf *out);

#endif

/* Base64 (RFC 4648) for the driver's lines: file contents travel inside JSON. */
#ifndef MF_DRIVER_BASE64_H
#define MF_DRIVER_BASE64_H

#include <stdbool.h>

#include "base/buf.h"

/* Appends the text of `in` to out. */
MF_MUST_USE enum mf_code mf_base64_encode(struct mf_str in, struct mf_buf *out);
/* Appends the bytes of `in` to out; MF_E_INPUT when it is not padded base64. */
MF_MUST_USE enum mf_code mf_base64_decode(struct mf_str in, struct mf_buf *out);

#endif

/* /openapi.json: openapi.json of this folder, with the version. Thread: any. */
#ifndef MF_GATEWAY_OPENAPI_H
#define MF_GATEWAY_OPENAPI_H

#include "base/buf.h"

/* *ret is initialised here; release it with mf_buf_done. */
MF_MUST_USE enum mf_code mf_gw_openapi_write(const char *version, struct mf_buf *ret, struct mf_err *err);

#endif

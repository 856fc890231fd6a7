/* /openapi.json: openapi.json of this folder, with the version. Thread: any. */
#include "openapi.h"

#include "openapi-text.h" /* generated from openapi.json */
#include "reply.h"
#include "base/banned.h"

enum { TEXT_MAX = 1 << 20 };

enum mf_code mf_gw_openapi_write(const char *version, struct mf_buf *ret, struct mf_err *err)
{
  static const char place[] = "@VERSION@";
  mf_buf_init(ret, TEXT_MAX);
  struct mf_str text = { (const char *)openapi_text, sizeof(openapi_text) };
  const char *at = memmem(text.ptr, text.len, place, sizeof(place) - 1);
  size_t before = at ? (size_t)(at - text.ptr) : text.len, skip = at ? sizeof(place) - 1 : 0;
  enum mf_code code = mf_buf_append(ret, text.ptr, before);
  if (!code && at)
    code = mf_buf_append_str(ret, mf_str_of(version));
  if (!code)
    code = mf_buf_append(ret, text.ptr + before + skip, text.len - before - skip);
  return code ? mf_fail(err, code, 0, "the OpenAPI document exceeds %d bytes", TEXT_MAX) : MF_OK;
}

enum mf_code mf_gw_get_openapi(struct mf_gw_request *r)
{
  if (r->g->openapi.len == 0)
    return mf_gw_refuse(r, 404, "invalid_request_error", "unknown_url",
                        "This server does not publish its OpenAPI document.");
  return mf_gw_json(r, 200, mf_buf_str(&r->g->openapi));
}

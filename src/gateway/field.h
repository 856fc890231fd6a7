/* Values of header fields that have parameters: `form-data; name="a"; filename="b"`. Thread: any. */
#ifndef MF_GATEWAY_FIELD_H
#define MF_GATEWAY_FIELD_H

#include "base/str.h"

/* Takes what stands before the first ';' off *field, without white space around it. */
struct mf_str mf_gw_field_head(struct mf_str *field);

enum mf_gw_field { MF_GW_FIELD_END, MF_GW_FIELD_PARAM, MF_GW_FIELD_BAD };
/* Takes the next `; name=value` off *field. A value in quotes is unescaped: \" and \\ only, because browsers of old
 * sent paths of Windows as they are. ret_value has n bytes with the NUL. BAD: no such form, or too long. */
enum mf_gw_field mf_gw_field_next(struct mf_str *field, struct mf_str *ret_name, char *ret_value, size_t n);

bool mf_gw_field_is(struct mf_str s, const char *z); /* without case */

/* Whether a Content-Type names this type, and no charset but UTF-8. */
enum mf_gw_type { MF_GW_TYPE_OK, MF_GW_TYPE_OTHER, MF_GW_TYPE_CHARSET, MF_GW_TYPE_BAD };
enum mf_gw_type mf_gw_field_type(struct mf_str content_type, const char *wanted);

#endif

/* UTF-8 as RFC 3629: no surrogates, no overlong forms, nothing above U+10FFFF. */
#ifndef MF_BASE_UTF8_H
#define MF_BASE_UTF8_H

#include <stdbool.h>

#include "base/buf.h"

bool mf_utf8_is_valid(struct mf_str s);

/* The length of the longest prefix of s that has at most max bytes and ends on a character boundary.
 * s must be valid UTF-8. */
size_t mf_utf8_prefix(struct mf_str s, size_t max);

/* A streaming repairer: bytes in, valid UTF-8 out. Each maximal invalid part becomes one U+FFFD (the practice
 * of the WHATWG Encoding Standard, as Python's errors="replace"). An incomplete character at the end of a
 * chunk is held back (at most 3 bytes) until the next chunk or mf_utf8_repair_finish. On MF_E_LIMIT `out` was
 * filled with as many whole characters as fit, and the repairer is done with. Start with a zeroed struct. */
struct mf_utf8_repair {
  unsigned char held[4];
  unsigned held_n;
};
MF_MUST_USE enum mf_code mf_utf8_repair_feed(struct mf_utf8_repair *r, struct mf_str in, struct mf_buf *out);
MF_MUST_USE enum mf_code mf_utf8_repair_finish(struct mf_utf8_repair *r, struct mf_buf *out);

#endif

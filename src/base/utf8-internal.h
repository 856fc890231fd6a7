/* One step of a UTF-8 reader, shared by the files of this room. */
#ifndef MF_BASE_UTF8_INTERNAL_H
#define MF_BASE_UTF8_INTERNAL_H

#include "base/str.h"

struct mf_utf8_step {
  enum { MF_UTF8_CHAR, MF_UTF8_BAD, MF_UTF8_CUT } kind;
  unsigned n; /* bytes of the character, of the maximal invalid part, or all that is left of a cut character */
};

/* Looks at the first character of s, which must not be empty. MF_UTF8_CUT: s ends inside a character that is right
 * so far. */
struct mf_utf8_step mf_utf8_step(struct mf_str s);

#endif

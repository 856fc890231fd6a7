/* File names that come from outside are data: validated here before they are used anywhere. */
#ifndef MF_BASE_PATH_H
#define MF_BASE_PATH_H

#include "base/err.h"
#include "base/str.h"

/* A relative name of an input or artifact: valid UTF-8, 1..255 bytes per part, at most 1023 in all, at most 16
 * parts, no empty, "." or ".." part, no leading '/', no control characters (below 0x20, 0x7f). `what` starts the
 * error message, which shows the name escaped. */
MF_MUST_USE enum mf_code mf_name_check(struct mf_str name, const char *what, struct mf_err *err);

/* Writes s with control bytes, quotes, backslashes and invalid UTF-8 as \xNN, cut to fit n with "…". */
void mf_escape(struct mf_str s, char *ret, size_t n);

#endif

/* Names of one set of files, compared as a person sees them: an accented letter written in one code point or in two is
 * the same letter. */
#ifndef MF_SANDBOX_NAMES_H
#define MF_SANDBOX_NAMES_H

#include "sandbox/sandbox.h"

/* No two names are canonically equivalent (so equal in NFC), and none is also a folder of another. Every name must have
 * passed mf_name_check. Thread: any. */
MF_MUST_USE enum mf_code names_check_different(const struct mf_sandbox_file *files, unsigned file_n,
                                               struct mf_err *err);

/* The canonical decomposition (NFD) of valid UTF-8 as code points. Writes at most max and returns how many. */
size_t names_nfd(struct mf_str name, uint32_t *ret, size_t max);

#endif

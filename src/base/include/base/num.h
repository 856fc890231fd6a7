/* Numbers from outside pass through here, and nowhere else. */
#ifndef MF_BASE_NUM_H
#define MF_BASE_NUM_H

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

/* Decimal digits only, min <= value <= max. `what` names the thing in the error:
 * "--timeout: expected a whole number from 1 to 60000, got 'x'". */
MF_MUST_USE enum mf_code mf_parse_u64(struct mf_str s, const char *what, uint64_t min, uint64_t max, uint64_t *ret,
                                      struct mf_err *err);

#endif

/* The one parser of whole numbers from outside. Thread: any. */
#include "base/num.h"

#include <inttypes.h>

#include "base/path.h"
#include "base/banned.h"

static bool parse_digits(struct mf_str s, uint64_t *ret)
{
  if (s.len == 0)
    return false;
  uint64_t v = 0;
  for (size_t i = 0; i < s.len; i++) {
    if (s.ptr[i] < '0' || s.ptr[i] > '9')
      return false;
    uint64_t digit = (uint64_t)(s.ptr[i] - '0');
    if (v > (UINT64_MAX - digit) / 10)
      return false;
    v = v * 10 + digit;
  }
  *ret = v;
  return true;
}

enum mf_code mf_parse_u64(struct mf_str s, const char *what, uint64_t min, uint64_t max, uint64_t *ret,
                          struct mf_err *err)
{
  uint64_t v = 0;
  if (!parse_digits(s, &v) || v < min || v > max) {
    char shown[80];
    mf_escape(s, shown, sizeof(shown));
    return mf_fail(err, MF_E_INPUT, 0, "%s: expected a whole number from %" PRIu64 " to %" PRIu64 ", got '%s'", what,
                   min, max, shown);
  }
  *ret = v;
  return MF_OK;
}

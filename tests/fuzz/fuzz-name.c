/* Names and numbers from outside: the rules are stated here a second time, in the plainest way. */
#include <errno.h>

#include "base/num.h"
#include "base/path.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "base/banned.h"

static void check_escape(struct mf_str in, size_t room)
{
  char out[300];
  CHECK(room > 0 && room <= sizeof(out));
  mf_escape(in, out, room);
  struct mf_str shown = { out, strnlen(out, room) };
  CHECK(shown.len < room && mf_utf8_is_valid(shown));
  for (size_t i = 0; i < shown.len; i++)
    CHECK((unsigned char)out[i] >= 0x20 && out[i] != 0x7f && out[i] != '\'' && out[i] != '"');
}

static void check_name(struct mf_str in)
{
  struct mf_err err = { 0 };
  enum mf_code code = mf_name_check(in, "file", &err);
  CHECK(code == err.code && (code == MF_OK || code == MF_E_INPUT));
  if (code) {
    CHECK(mf_utf8_is_valid(mf_str_of(err.msg)));
    return;
  }
  CHECK(in.len > 0 && in.len < 1024 && mf_utf8_is_valid(in));
  char z[1024 + 2];
  snprintf(z, sizeof(z), "/%.*s/", MF_STR_ARG(in));
  CHECK(strlen(z) == in.len + 2); /* no NUL inside */
  CHECK(!strstr(z, "//") && !strstr(z, "/./") && !strstr(z, "/../"));
  unsigned slashes = 0;
  for (size_t i = 0; z[i]; i++) {
    CHECK((unsigned char)z[i] >= 0x20 && z[i] != 0x7f);
    slashes += z[i] == '/';
  }
  CHECK(slashes <= 17);
}

static void check_number(struct mf_str in)
{
  uint64_t v = 0;
  enum mf_code code = mf_parse_u64(in, "n", 0, UINT64_MAX, &v, NULL);
  char z[64];
  if (in.len == 0 || in.len >= sizeof(z))
    return;
  memcpy(z, in.ptr, in.len);
  z[in.len] = 0;
  errno = 0;
  uint64_t want = strtoull(z, NULL, 10);
  bool fits = strspn(z, "0123456789") == in.len && errno == 0;
  CHECK((code == MF_OK) == fits);
  if (fits)
    CHECK(v == want);

  /* A range accepts what lies in it and leaves the rest untouched. */
  uint64_t ranged = 77;
  code = mf_parse_u64(in, "n", 10, 1000, &ranged, NULL);
  CHECK((code == MF_OK) == (fits && want >= 10 && want <= 1000));
  CHECK(ranged == (code ? 77 : want));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  struct mf_str in = { (const char *)data, n };
  check_name(in);
  check_number(in);
  check_escape(in, n % 300 + 1);
  check_escape(in, 300);
  return 0;
}

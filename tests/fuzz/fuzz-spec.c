/* Specs and words from outside: names of one set of files, and hints about what was denied. Input: lines; each is a
 * file name, an argument and a hint. */
#include <string.h>

#include "base/path.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "sandbox/sandbox.h"
#include "base/banned.h"

#define LINES_MAX 64

static void check_hints(const struct mf_sandbox_result *r)
{
  CHECK(r->denied_n <= MF_DENIED_MAX);
  for (unsigned i = 0; i < r->denied_n; i++) {
    struct mf_str hint = mf_str_of(r->denied[i]);
    CHECK(hint.len > 0 && hint.len <= MF_DENIED_TEXT_MAX && mf_utf8_is_valid(hint));
    for (size_t k = 0; k < hint.len; k++)
      CHECK((unsigned char)hint.ptr[k] >= 0x20 && hint.ptr[k] != 0x7f);
    for (unsigned k = 0; k < i; k++)
      CHECK(strcmp(r->denied[i], r->denied[k]) != 0);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  struct mf_sandbox_file files[LINES_MAX];
  struct mf_str lines[LINES_MAX];
  struct mf_sandbox_spec spec = { .source = { (const char *)data, n }, .files = files, .argv = lines };
  mf_sandbox_limits_default(&spec.limits);
  struct mf_sandbox_result *r = mf_sandbox_result_new();
  const char *at = (const char *)data, *end = at + n;
  while (at < end && spec.file_n < LINES_MAX) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    struct mf_str line = { at, (size_t)((stop != NULL ? stop : end) - at) };
    files[spec.file_n++].name = line;
    files[spec.file_n - 1].data = line;
    lines[spec.argv_n++] = line;
    mf_sandbox_result_deny(r, line);
    at = line.ptr + line.len + 1;
  }
  check_hints(r);
  struct mf_err err = { 0 };
  enum mf_code code = mf_sandbox_spec_check(&spec, &err);
  CHECK(code == err.code && (code == MF_OK || code == MF_E_INPUT));
  CHECK(mf_utf8_is_valid(mf_str_of(err.msg)));
  if (code == MF_OK) {
    for (unsigned i = 0; i < spec.file_n; i++) {
      CHECK(mf_name_check(files[i].name, "file", NULL) == MF_OK);
      for (unsigned k = 0; k < i; k++)
        CHECK(!mf_str_eq(files[i].name, files[k].name));
    }
    mf_receipt_fill_from_spec(&r->receipt, &spec);
    CHECK(r->receipt.input_n == spec.file_n);
  }
  mf_sandbox_result_free(r);
  return 0;
}

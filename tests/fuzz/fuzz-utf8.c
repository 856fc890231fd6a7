/* UTF-8 repair: the outcome is valid, the same for any chunks, and repaired text stays as it is. */
#include "base/utf8.h"
#include "fuzz.h"
#include "base/banned.h"

static enum mf_code repair(struct mf_str in, size_t step, size_t max, struct mf_buf *out)
{
  mf_buf_init(out, max);
  struct mf_utf8_repair r = { .held_n = 0 };
  for (size_t i = 0; i < in.len; i += step) {
    enum mf_code code = mf_utf8_repair_feed(&r, (struct mf_str){ in.ptr + i, MF_MIN(step, in.len - i) }, out);
    if (code)
      return code;
  }
  return mf_utf8_repair_finish(&r, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  if (n < 2)
    return 0;
  /* The first two bytes choose the chunks and the limit. */
  size_t step = data[0] % 16u + 1, cap = data[1];
  struct mf_str in = { (const char *)data + 2, n - 2 };

  mf_auto_buf struct mf_buf whole, chunks, again, cut;
  CHECK(repair(in, in.len + 1, 3 * in.len, &whole) == MF_OK);
  CHECK(repair(in, step, 3 * in.len, &chunks) == MF_OK);
  CHECK(mf_utf8_is_valid(mf_buf_str(&whole)));
  CHECK(mf_str_eq(mf_buf_str(&whole), mf_buf_str(&chunks)));
  CHECK(mf_utf8_is_valid(in) == mf_str_eq(in, mf_buf_str(&whole)));

  CHECK(repair(mf_buf_str(&whole), step, whole.len, &again) == MF_OK);
  CHECK(mf_str_eq(mf_buf_str(&whole), mf_buf_str(&again)));

  enum mf_code code = repair(in, step, cap, &cut);
  CHECK(code == (whole.len > cap ? MF_E_LIMIT : MF_OK));
  size_t prefix = mf_utf8_prefix(mf_buf_str(&whole), cap);
  CHECK(cut.len == prefix && prefix <= cap && prefix + 4 > MF_MIN(cap, whole.len));
  CHECK(mf_str_eq(mf_buf_str(&cut), (struct mf_str){ whole.ptr, prefix }));
  CHECK(mf_utf8_is_valid(mf_buf_str(&cut)));
  return 0;
}

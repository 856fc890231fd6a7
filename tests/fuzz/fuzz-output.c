/* Guest bytes to text: however the bytes are cut into chunks, the result is the repaired whole cut on a character
 * boundary. Input: cap (2 bytes, little endian), chunk size, mode, then the stream. */
#include "base/utf8.h"
#include "fuzz.h"
#include "sandbox/sandbox.h"
#include "base/banned.h"

/* The repaired whole. */
static void repair_whole(struct mf_str raw, struct mf_buf *ret)
{
  mf_buf_init(ret, 3 * raw.len + 16);
  struct mf_utf8_repair repair = { .held_n = 0 };
  CHECK(mf_utf8_repair_feed(&repair, raw, ret) == MF_OK);
  CHECK(mf_utf8_repair_finish(&repair, ret) == MF_OK);
}

static void append_live(struct mf_buf *live, struct mf_str fresh)
{
  CHECK(mf_utf8_is_valid(fresh));
  CHECK(mf_buf_append_str(live, fresh) == MF_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  if (n < 4)
    return 0;
  uint64_t cap = data[0] | (uint64_t)data[1] << 8;
  size_t chunk_n = data[2] + 1u;
  bool drop = (data[3] & 1) != 0;
  struct mf_str raw = { (const char *)data + 4, n - 4 };

  struct mf_output *o = mf_output_new(cap);
  mf_auto_buf struct mf_buf live, text, whole;
  mf_buf_init(&live, cap);
  struct mf_str fresh;
  for (size_t at = 0; at < raw.len; at += chunk_n) {
    mf_output_feed(o, (struct mf_str){ raw.ptr + at, MF_MIN(chunk_n, raw.len - at) }, &fresh);
    append_live(&live, fresh);
  }
  if (drop)
    mf_output_drop(o);
  mf_output_finish(o, &fresh);
  append_live(&live, fresh);
  bool truncated = mf_output_is_truncated(o);
  mf_output_take(o, &text);
  mf_output_free(o);

  repair_whole(raw, &whole);
  CHECK(text.len <= cap && mf_utf8_is_valid(mf_buf_str(&text)));
  CHECK(mf_str_eq(mf_buf_str(&live), mf_buf_str(&text)));
  CHECK(text.len <= whole.len && (text.len == 0 || memcmp(text.ptr, whole.ptr, text.len) == 0));
  if (drop) {
    CHECK(truncated);
  } else {
    CHECK(text.len == mf_utf8_prefix(mf_buf_str(&whole), cap));
    CHECK(truncated == (whole.len > cap));
  }
  return 0;
}

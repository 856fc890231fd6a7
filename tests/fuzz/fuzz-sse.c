/* The SSE reader: what it says does not depend on how the input is cut, agrees with the rules stated here a second time
 * in the plainest way, and what is written is read back. The first byte says how the input is cut. */
#include "http/sse.h"

#include "fuzz.h"
#include "base/banned.h"

enum { LINE_MAX_BYTES = 200 };

/* Each event as its type, 0x1e, its data, 0x1f; these two bytes may be in the data as well, which does not matter. */
static void collect(struct mf_sse_reader *r, struct mf_buf *out)
{
  struct mf_sse_event e;
  while (mf_sse_next(r, &e)) {
    CHECK(e.data.len <= LINE_MAX_BYTES && e.event.len <= LINE_MAX_BYTES);
    CHECK(mf_buf_append_str(out, e.event) == MF_OK && mf_buf_append(out, "\x1e", 1) == MF_OK);
    CHECK(mf_buf_append_str(out, e.data) == MF_OK && mf_buf_append(out, "\x1f", 1) == MF_OK);
  }
}

static bool read_in_steps(struct mf_str in, unsigned step, struct mf_buf *out)
{
  struct mf_sse_reader *r = mf_sse_reader_new(LINE_MAX_BYTES);
  bool is_over = false;
  for (size_t at = 0; at < in.len; at += step) {
    struct mf_err err = { 0 };
    enum mf_code code = mf_sse_feed(r, (struct mf_str){ in.ptr + at, MF_MIN(step, in.len - at) }, &err);
    CHECK(code == err.code && (code == MF_OK || code == MF_E_LIMIT));
    CHECK(!is_over || code == MF_E_LIMIT);
    is_over = code != MF_OK;
    if ((at / step) % 3 == 0)
      collect(r, out);
  }
  mf_sse_finish(r);
  collect(r, out);
  mf_sse_reader_free(r);
  return !is_over;
}

/* The rules; false, and nothing more is read, where a line or an event is too long. */
static bool read_plainly(struct mf_str in, struct mf_buf *out)
{
  struct mf_buf type, data;
  mf_buf_init(&type, LINE_MAX_BYTES);
  mf_buf_init(&data, LINE_MAX_BYTES);
  bool has_data = false, fits = true;
  size_t at = 0;
  bool is_first = true;
  /* A line more than there is: the end of the input ends the last event. */
  while (fits && at <= in.len) {
    size_t end = at;
    while (end < in.len && in.ptr[end] != '\n' && in.ptr[end] != '\r')
      end++;
    struct mf_str line = { in.ptr + at, end - at };
    bool is_last = end == in.len;
    at = end + (end + 1 < in.len && in.ptr[end] == '\r' && in.ptr[end + 1] == '\n') + 1;
    fits = line.len <= LINE_MAX_BYTES;
    if (is_first && mf_str_starts(line, "\xef\xbb\xbf"))
      line = (struct mf_str){ line.ptr + 3, line.len - 3 };
    is_first = false;
    for (int pass = 0; fits && pass < (is_last && line.len ? 2 : 1); pass++) {
      if (line.len == 0 || pass == 1) {
        if (has_data) {
          CHECK(mf_buf_append_str(out, mf_buf_str(&type)) == MF_OK && mf_buf_append(out, "\x1e", 1) == MF_OK);
          CHECK(mf_buf_append_str(out, mf_buf_str(&data)) == MF_OK && mf_buf_append(out, "\x1f", 1) == MF_OK);
        }
        mf_buf_truncate(&type, 0);
        mf_buf_truncate(&data, 0);
        has_data = false;
        continue;
      }
      size_t name_len = 0;
      while (name_len < line.len && line.ptr[name_len] != ':')
        name_len++;
      struct mf_str name = { line.ptr, name_len };
      size_t skip = MF_MIN(name_len + 1, line.len);
      skip += skip < line.len && line.ptr[skip] == ' ';
      struct mf_str value = { line.ptr + skip, line.len - skip };
      if (mf_str_is(name, "event")) {
        mf_buf_truncate(&type, 0);
        CHECK(mf_buf_append_str(&type, value) == MF_OK);
      } else if (mf_str_is(name, "data")) {
        if (has_data)
          fits = mf_buf_append(&data, "\n", 1) == MF_OK;
        has_data = true;
        fits = fits && mf_buf_append_str(&data, value) == MF_OK;
      }
    }
  }
  mf_buf_done(&type);
  mf_buf_done(&data);
  return fits;
}

static void check_written(struct mf_str in)
{
  struct mf_buf out;
  mf_buf_init(&out, (size_t)LINE_MAX_BYTES * 4);
  struct mf_str type = { in.ptr, MF_MIN(in.len / 4, 20u) };
  struct mf_str data = { in.ptr + type.len, MF_MIN(in.len - type.len, LINE_MAX_BYTES - 6u) };
  bool has_break = memchr(in.ptr, '\n', type.len + data.len) || memchr(in.ptr, '\r', type.len + data.len);
  enum mf_code code = mf_sse_write(&out, type, data);
  CHECK(code == (has_break ? MF_E_INPUT : MF_OK));
  if (code == MF_OK) {
    struct mf_sse_reader *r = mf_sse_reader_new(LINE_MAX_BYTES);
    struct mf_sse_event e;
    CHECK(mf_sse_feed(r, mf_buf_str(&out), NULL) == MF_OK && mf_sse_next(r, &e));
    CHECK(mf_str_eq(e.event, type) && mf_str_eq(e.data, data) && !mf_sse_next(r, &e));
    mf_sse_reader_free(r);
  }
  mf_buf_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  if (n == 0)
    return 0;
  struct mf_str in = { (const char *)data + 1, n - 1 };
  struct mf_buf whole, cut, plain;
  mf_buf_init(&whole, 1u << 24);
  mf_buf_init(&cut, 1u << 24);
  mf_buf_init(&plain, 1u << 24);
  bool fits = read_in_steps(in, (unsigned)MF_MAX(in.len, 1u), &whole);
  CHECK(read_in_steps(in, data[0] % 32u + 1, &cut) == fits);
  CHECK(mf_str_eq(mf_buf_str(&whole), mf_buf_str(&cut)));
  /* A limit that only the end of the input reaches is told by nobody: the last event is just not there. */
  CHECK(!read_plainly(in, &plain) || fits);
  CHECK(mf_str_eq(mf_buf_str(&whole), mf_buf_str(&plain)));
  if (in.len > 0)
    check_written(in);
  mf_buf_done(&whole);
  mf_buf_done(&cut);
  mf_buf_done(&plain);
  return 0;
}

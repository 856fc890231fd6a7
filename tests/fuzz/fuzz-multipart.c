/* multipart/form-data: what comes out does not depend on how the input is cut, a part begins before its content and
 * ends after it, and names are UTF-8. The first byte says how the input is cut, and whether the boundary comes from the
 * input as well. */
#include "multipart.h"
#include "base/buf.h"
#include "base/utf8.h"

#include "fuzz.h"
#include "base/banned.h"

enum { STEPS = 32 };

/* Content is gathered, so that the pieces it came in cannot be told. */
static enum mf_code read_in_steps(struct mf_str type, struct mf_str in, unsigned seed, struct mf_buf *out)
{
  struct mf_multipart *m = NULL;
  struct mf_err err = { 0 };
  enum mf_code code = mf_multipart_new(type, &m, &err);
  CHECK(code == err.code && (code == MF_OK || code == MF_E_INPUT));
  bool is_inside = false, has_ended = false;
  for (size_t at = 0; !code && at < in.len;) {
    seed = seed * 1103515245u + 12345u;
    size_t step = seed == 0 ? in.len : (seed >> 16) % STEPS + 1;
    struct mf_str piece = { in.ptr + at, MF_MIN(step, in.len - at) }, data;
    at += piece.len;
    enum mf_multipart_event event;
    do {
      code = mf_multipart_next(m, &piece, &event, &data, &err);
      if (code)
        break;
      CHECK((event == MF_MULTIPART_DATA) == (data.len > 0));
      CHECK(event != MF_MULTIPART_MORE || piece.len == 0);
      CHECK((event != MF_MULTIPART_PART && event != MF_MULTIPART_END) || !is_inside);
      CHECK((event != MF_MULTIPART_PART_END && event != MF_MULTIPART_DATA) || is_inside);
      CHECK(event == MF_MULTIPART_MORE || !has_ended);
      const struct mf_multipart_part *p = mf_multipart_part(m);
      if (event == MF_MULTIPART_PART) {
        CHECK(p->name.len > 0 && mf_utf8_is_valid(p->name) && mf_utf8_is_valid(p->filename));
        CHECK(mf_buf_printf(out, "[%.*s|%d%.*s|%.*s]", MF_STR_ARG(p->name), p->filename.ptr != NULL,
                            MF_STR_ARG(p->filename), MF_STR_ARG(p->content_type)) == MF_OK);
      } else if (event == MF_MULTIPART_DATA) {
        CHECK(mf_buf_append_str(out, data) == MF_OK);
      } else if (event != MF_MULTIPART_MORE) {
        CHECK(mf_buf_append(out, event == MF_MULTIPART_END ? "." : "/", 1) == MF_OK);
      }
      is_inside = event == MF_MULTIPART_PART || (is_inside && event != MF_MULTIPART_PART_END);
      has_ended |= event == MF_MULTIPART_END;
    } while (event != MF_MULTIPART_MORE);
  }
  if (code && m)
    CHECK(mf_multipart_finish(m, NULL) == code);
  if (!code) {
    code = mf_multipart_finish(m, &err);
    CHECK((code == MF_OK) == has_ended);
  }
  if (code)
    CHECK(mf_buf_printf(out, "!%s", err.msg) == MF_OK);
  mf_multipart_free(m);
  return code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  if (n == 0)
    return 0;
  struct mf_str in = { (const char *)data + 1, n - 1 }, type = MF_STR("multipart/form-data; boundary=B");
  /* A first line that is a Content-Type. */
  const char *line_end = in.len > 0 ? memchr(in.ptr, '\n', in.len) : NULL;
  if (data[0] >= 128 && line_end) {
    type = (struct mf_str){ in.ptr, (size_t)(line_end - in.ptr) };
    in = (struct mf_str){ line_end + 1, in.len - type.len - 1 };
  }
  struct mf_buf whole, cut;
  mf_buf_init(&whole, 1u << 24);
  mf_buf_init(&cut, 1u << 24);
  /* A seed whose first step takes everything. */
  enum mf_code code = MF_OK;
  for (unsigned seed = data[0] % 128u, i = 0; i < 3; i++, seed += 977) {
    struct mf_buf *to = i == 0 ? &whole : &cut;
    mf_buf_truncate(to, 0);
    enum mf_code c = read_in_steps(type, in, seed, to);
    CHECK(i == 0 || (c == code && mf_str_eq(mf_buf_str(&whole), mf_buf_str(&cut))));
    code = c;
  }
  mf_buf_done(&whole);
  mf_buf_done(&cut);
  return 0;
}

/* JSON: whatever is accepted can be walked, written in both ways and read back as the same. */
#include "base/utf8.h"
#include "fuzz.h"
#include "json/json.h"
#include "base/banned.h"

/* Longer inputs, written prettily and escaped, would pass the limit. */
enum { INPUT_MAX = 65536 };

static const struct mf_json_limits limits = { .bytes_max = 8 << 20, .depth_max = 64 };

static void walk(const struct mf_json_val *v, unsigned depth)
{
  CHECK(depth <= limits.depth_max);
  uint64_t u;
  int64_t i;
  double f;
  bool u_ok = mf_json_u64(v, &u), i_ok = mf_json_i64(v, &i);
  if (mf_json_f64(v, &f) && u_ok)
    CHECK(f >= 0);
  if (u_ok && i_ok)
    CHECK((uint64_t)i == u);
  if (mf_json_type_of(v) == MF_JSON_STR)
    CHECK(mf_utf8_is_valid(mf_json_str(v)));
  if (mf_json_type_of(v) == MF_JSON_NUM)
    CHECK(mf_json_num_text(v).len > 0);

  size_t n = 0;
  for (struct mf_json_iter it = mf_json_iter(v); mf_json_next(&it); n++) {
    CHECK(mf_utf8_is_valid(it.key));
    if (mf_json_type_of(v) == MF_JSON_ARR && n < 16)
      CHECK(mf_json_at(v, n) == it.val);
    walk(it.val, depth + 1);
  }
  CHECK(n == mf_json_len(v));
}

static void write_out(const struct mf_json *doc, bool pretty, struct mf_buf *out)
{
  mf_buf_init(out, limits.bytes_max);
  struct mf_json_writer w;
  mf_jw_init(&w, out, pretty);
  mf_jw_val(&w, mf_json_root(doc));
  CHECK(w.code == MF_OK && w.depth == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  if (n > INPUT_MAX)
    return 0;
  mf_auto_json struct mf_json *doc = NULL, *again = NULL;
  struct mf_err err = { 0 };
  enum mf_code code = mf_json_parse((struct mf_str){ (const char *)data, n }, &limits, &doc, &err);
  CHECK(code == err.code && (code == MF_OK) == (doc != NULL));
  if (code) {
    CHECK(code == MF_E_INPUT || code == MF_E_LIMIT);
    CHECK(mf_utf8_is_valid(mf_str_of(err.msg)));
    return 0;
  }
  walk(mf_json_root(doc), 0);

  mf_auto_buf struct mf_buf compact, pretty, twice;
  write_out(doc, false, &compact);
  write_out(doc, true, &pretty);
  CHECK(mf_json_parse(mf_buf_str(&pretty), &limits, &again, &err) == MF_OK);
  write_out(again, false, &twice);
  CHECK(mf_str_eq(mf_buf_str(&compact), mf_buf_str(&twice)));
  return 0;
}

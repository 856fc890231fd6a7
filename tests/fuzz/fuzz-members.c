/* The members of an upstream event, taken from its text, are those that writing its values anew gives. A line break at
 * the end of the text makes members_write go the second way. The first byte says what stands in for id and item. */
#include "fuzz.h"
#include "members.h"
#include "base/banned.h"

enum { INPUT_MAX = 65536 };

static const struct mf_json_limits limits = { .bytes_max = 1 << 20, .depth_max = 256 };

/* The result as an object, parsed and written again: spaces and escapes do not matter. */
static void members(const struct mf_json_val *root, struct mf_str data, struct mf_str id, struct mf_str item,
                    struct mf_buf *ret)
{
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, 1u << 20);
  CHECK(mf_buf_append(&out, "{\"_\":0", 6) == MF_OK);
  CHECK(members_write(&out, root, data, id, item) == MF_OK);
  CHECK(mf_buf_append(&out, "}", 1) == MF_OK);
  mf_auto_json struct mf_json *doc = NULL;
  CHECK(mf_json_parse(mf_buf_str(&out), &limits, &doc, NULL) == MF_OK);
  struct mf_json_writer w;
  mf_buf_init(ret, 1u << 20);
  mf_jw_init(&w, ret, false);
  mf_jw_val(&w, mf_json_root(doc));
  CHECK(w.code == MF_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  if (n == 0 || n > INPUT_MAX)
    return 0;
  struct mf_str text = { (const char *)data + 1, n - 1 };
  struct mf_str id = data[0] & 1 ? MF_STR("new \"id\"") : (struct mf_str){ 0 };
  struct mf_str item = data[0] & 2 ? MF_STR("{\"id\":\"i\"}") : (struct mf_str){ 0 };
  mf_auto_json struct mf_json *doc = NULL;
  if (mf_json_parse(text, &limits, &doc, NULL) || mf_json_type_of(mf_json_root(doc)) != MF_JSON_OBJ)
    return 0;
  if (mf_json_get(mf_json_root(doc), "_")) /* our own, above */
    return 0;

  mf_auto_free char *lines = mf_xmalloc(text.len + 1);
  memcpy(lines, text.ptr, text.len);
  lines[text.len] = '\n';
  mf_auto_buf struct mf_buf spliced, written;
  members(mf_json_root(doc), text, id, item, &spliced);
  members(mf_json_root(doc), (struct mf_str){ lines, text.len + 1 }, id, item, &written);
  CHECK(mf_str_eq(mf_buf_str(&spliced), mf_buf_str(&written)));
  return 0;
}

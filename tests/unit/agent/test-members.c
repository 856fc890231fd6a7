/* The members of an event, taken from its text, are those that writing them anew gives: a line break at the end of the
 * text, which is no line then, makes members_write go that way. */
#include "unit.h"

#include <stdlib.h>

#include "members.h"
#include "base/banned.h"

static struct mf_json *parsed(struct mf_str text)
{
  const struct mf_json_limits limits = { SIZE_MAX, 256 };
  struct mf_err err = { 0 };
  struct mf_json *doc = NULL;
  assert_ok(mf_json_parse(text, &limits, &doc, &err), &err);
  return doc;
}

/* The text is exactly as long as its bytes, so that reading past them is seen. */
static char *members(const char *json, const char *after, struct mf_str id, struct mf_str item)
{
  size_t n = strlen(json), m = strlen(after);
  mf_auto_free char *bytes = mf_xmalloc(n + m);
  memcpy(bytes, json, n);
  memcpy(bytes + n, after, m);
  struct mf_str data = { bytes, n + m };
  mf_auto_json struct mf_json *doc = parsed(data);
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, 1u << 20);
  assert_int_equal(mf_buf_append(&out, "{\"_\":0", 6), MF_OK);
  assert_int_equal(members_write(&out, mf_json_root(doc), data, id, item), MF_OK);
  assert_int_equal(mf_buf_append(&out, "}", 1), MF_OK);

  /* As values, so that spaces and escapes do not matter. */
  mf_auto_json struct mf_json *result = parsed(mf_buf_str(&out));
  struct mf_buf text;
  struct mf_json_writer w;
  mf_buf_init(&text, 1u << 20);
  mf_jw_init(&w, &text, false);
  mf_jw_val(&w, mf_json_root(result));
  assert_int_equal(w.code, MF_OK);
  return mf_buf_take(&text, NULL);
}

static void test_same(void **state)
{
  static const char *const texts[] = {
    "{}",
    " { } ",
    "{\"type\":\"t\",\"sequence_number\":1,\"output_index\":2}",
    "{\"type\":\"t\",\"delta\":\"a\\\"b\\\\\",\"item_id\":\"x\"}",
    "{\"delta\":\"\\\\\\\\\\\"\\\\\",\"type\":\"t\"}",
    "{\"a\":\"}],{[\\\"\",\"b\":[1,{\"c\":\"]\"},[[],{}]],\"type\":[\"x\"],\"d\":{\"item_id\":1}}",
    "{ \"a\" : 1.10e2 ,\t\"b\" : -0, \"c\":true , \"d\" : null,\"e\":false }",
    "{\"item\":{\"id\":\"x\",\"item\":{}},\"item_id\":null,\"output_index\":\"no number\"}",
    "{\"ty\\u0070e\":\"t\",\"a\":1}",
    "{\"it\\u0065m_id\":\"t\",\"a\":1,\"item\":2}",
    "{\"\":1,\"\\u0000\":2}",
    "{\"type\":\"a\",\"x\":\"\303\251\\u00e9\"}",
  };
  static const struct {
    struct mf_str id, item;
  } names[] = { { { 0 }, { 0 } }, { MF_STR("new \"id\""), { 0 } }, { MF_STR("i"), MF_STR("{\"id\":\"i\"}") } };
  for (size_t i = 0; i < MF_ARRAY_N(texts); i++)
    for (size_t k = 0; k < MF_ARRAY_N(names); k++) {
      mf_auto_free char *spliced = members(texts[i], "", names[k].id, names[k].item);
      mf_auto_free char *written = members(texts[i], "\n", names[k].id, names[k].item);
      assert_string_equal(spliced, written);
    }
}

static void test_what(void **state)
{
  mf_auto_free char *got =
      members("{\"type\":\"t\",\"item_id\":\"old\",\"output_index\":1,\"item\":{\"id\":\"old\"},\"sequence_number\":4,"
              "\"delta\":\"d\"}",
              "", MF_STR("new"), MF_STR("[5]"));
  assert_string_equal(got, "{\"_\":0,\"item_id\":\"new\",\"item\":[5],\"delta\":\"d\"}");
}

static void test_limit(void **state)
{
  struct mf_str data = MF_STR("{\"delta\":\"0123456789\"}");
  mf_auto_json struct mf_json *doc = parsed(data);
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, 10);
  assert_int_equal(members_write(&out, mf_json_root(doc), data, (struct mf_str){ 0 }, (struct mf_str){ 0 }),
                   MF_E_LIMIT);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_same),
    cmocka_unit_test(test_what),
    cmocka_unit_test(test_limit),
  };
  return cmocka_run_group_tests_name("agent/members", tests, NULL, NULL);
}

/* Writing JSON: exact bytes, and failures that stick. */
#include "unit.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "json/json.h"
#include "base/banned.h"

static const struct mf_json_limits limits = { .bytes_max = 1 << 20, .depth_max = 64 };

static void write_all_kinds(struct mf_json_writer *w)
{
  mf_jw_obj(w);
  mf_jw_kstr(w, "s", MF_STR("x\"y"));
  mf_jw_kstrz(w, "z", NULL);
  mf_jw_ku64(w, "u", UINT64_MAX);
  mf_jw_ki64(w, "i", INT64_MIN);
  mf_jw_kf64(w, "f", 0.1);
  mf_jw_kbool(w, "b", true);
  mf_jw_key(w, "a");
  mf_jw_arr(w);
  mf_jw_null(w);
  mf_jw_arr(w);
  mf_jw_arr_end(w);
  mf_jw_obj(w);
  mf_jw_obj_end(w);
  mf_jw_bool(w, false);
  mf_jw_raw(w, MF_STR("{\"r\":1}"));
  mf_jw_arr_end(w);
  mf_jw_obj_end(w);
}

static void compact(void **state)
{
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, 1000);
  struct mf_json_writer w;
  mf_jw_init(&w, &out, false);
  write_all_kinds(&w);
  assert_int_equal(w.code, MF_OK);
  assert_int_equal(w.depth, 0);
  assert_string_equal(out.ptr,
                      "{\"s\":\"x\\\"y\",\"z\":null,\"u\":18446744073709551615,\"i\":-9223372036854775808,\"f\":0.1,"
                      "\"b\":true,\"a\":[null,[],{},false,{\"r\":1}]}");
}

static void pretty(void **state)
{
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, 1000);
  struct mf_json_writer w;
  mf_jw_init(&w, &out, true);
  write_all_kinds(&w);
  assert_int_equal(w.code, MF_OK);
  assert_string_equal(out.ptr, "{\n"
                               "  \"s\": \"x\\\"y\",\n"
                               "  \"z\": null,\n"
                               "  \"u\": 18446744073709551615,\n"
                               "  \"i\": -9223372036854775808,\n"
                               "  \"f\": 0.1,\n"
                               "  \"b\": true,\n"
                               "  \"a\": [\n"
                               "    null,\n"
                               "    [],\n"
                               "    {},\n"
                               "    false,\n"
                               "    {\"r\":1}\n"
                               "  ]\n"
                               "}");
}

static void strings(void **state)
{
  static const struct {
    struct mf_str in;
    const char *out;
  } rows[] = {
    { MF_STR(""), "\"\"" },
    { { NULL, 0 }, "\"\"" },
    { MF_STR("plain /☕𝄞"), "\"plain /☕𝄞\"" },
    { MF_STR("\b\t\n\f\r\"\\"), "\"\\b\\t\\n\\f\\r\\\"\\\\\"" },
    { MF_STR("\0\x01\x0b\x1f\x7f"), "\"\\u0000\\u0001\\u000b\\u001f\\u007f\"" },
    { MF_STR("\xc2\x80 \xc2\x9b"
             "31m\xc2\x9f\xc2\xa0\xc3\x9b"),
      "\"\\u0080 \\u009b31m\\u009f\xc2\xa0\xc3\x9b\"" },
    { MF_STR("a\nb"), "\"a\\nb\"" },
    { MF_STR("a\xff\nb\xe2\x98"), "\"a\xef\xbf\xbd\\nb\xef\xbf\xbd\"" },
    { MF_STR("\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    mf_auto_buf struct mf_buf out;
    mf_buf_init(&out, 1000);
    struct mf_json_writer w;
    mf_jw_init(&w, &out, false);
    mf_jw_str(&w, rows[i].in);
    assert_int_equal(w.code, MF_OK);
    assert_string_equal(out.ptr, rows[i].out);
  }
}

/* Every byte sequence of two, as a value and as a key, reads back. */
static void strings_read_back(void **state)
{
  for (unsigned a = 0; a < 128; a++)
    for (unsigned b = 0; b < 128; b++) {
      const char text[2] = { (char)a, (char)b };
      mf_auto_buf struct mf_buf out;
      mf_buf_init(&out, 100);
      struct mf_json_writer w;
      mf_jw_init(&w, &out, false);
      mf_jw_str(&w, (struct mf_str){ text, 2 });
      mf_auto_json struct mf_json *doc = NULL;
      struct mf_err err = { 0 };
      assert_ok(mf_json_parse(mf_buf_str(&out), &limits, &doc, &err), &err);
      assert_true(mf_str_eq(mf_json_str(mf_json_root(doc)), (struct mf_str){ text, 2 }));
    }
}

/* Long and short texts, and each byte at each place of a word: as key and as value, among others. */
static void an_odd_byte_is_seen_wherever_it_stands(void **state)
{
  char text[120];
  for (size_t len = 1; len < sizeof(text); len += len < 20 ? 1 : 11)
    for (size_t at = 0; at < len; at++)
      for (unsigned c = 0; c < 128; c++) {
        memset(text, 'a' + (int)(len % 26), len);
        text[at] = (char)c;
        bool is_plain = c >= 0x20 && c != 0x7f && c != '"' && c != '\\';
        struct mf_str s = { text, len };
        mf_auto_buf struct mf_buf out;
        mf_buf_init(&out, 1000);
        struct mf_json_writer w;
        mf_jw_init(&w, &out, false);
        mf_jw_obj(&w);
        mf_jw_ku64(&w, "u64", 10);
        mf_jw_key_str(&w, s);
        mf_jw_str(&w, s);
        mf_jw_obj_end(&w);
        assert_int_equal(w.code, MF_OK);
        assert_int_equal(memchr(out.ptr, '\\', out.len) == NULL && out.len == 16 + 2 * len, is_plain);
        mf_auto_json struct mf_json *doc = NULL;
        struct mf_err err = { 0 };
        assert_ok(mf_json_parse(mf_buf_str(&out), &limits, &doc, &err), &err);
        struct mf_json_iter it = mf_json_iter(mf_json_root(doc));
        assert_true(mf_json_next(&it) && mf_json_next(&it));
        assert_true(mf_str_eq(it.key, s) && mf_str_eq(mf_json_str(it.val), s));
      }
}

static void doubles(void **state)
{
  static const struct {
    double value;
    const char *text;
  } rows[] = {
    { 0.1, "0.1" },        { 0.30000000000000004, "0.30000000000000004" },
    { NAN, "null" },       { INFINITY, "null" },
    { -INFINITY, "null" }, { 5e-324, "5e-324" },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    mf_auto_buf struct mf_buf out;
    mf_buf_init(&out, 100);
    struct mf_json_writer w;
    mf_jw_init(&w, &out, false);
    mf_jw_f64(&w, rows[i].value);
    assert_int_equal(w.code, MF_OK);
    assert_string_equal(out.ptr, rows[i].text);
  }
}

static void doubles_read_back(void **state)
{
  uint64_t seed = 88172645463325252u;
  for (int i = 0; i < 20000; i++) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    double v, back = 0;
    memcpy(&v, &seed, sizeof(v));
    static const double special[] = { 0.0, -0.0, 1.0, 1e15, 1e16, 1e21, 1e22, DBL_MAX, DBL_MIN, -DBL_MAX };
    if (i < (int)MF_ARRAY_N(special))
      v = special[i];
    if (!isfinite(v))
      continue;
    mf_auto_buf struct mf_buf out;
    mf_buf_init(&out, 40);
    struct mf_json_writer w;
    mf_jw_init(&w, &out, false);
    mf_jw_f64(&w, v);
    assert_int_equal(w.code, MF_OK);
    mf_auto_json struct mf_json *doc = NULL;
    struct mf_err err = { 0 };
    assert_ok(mf_json_parse(mf_buf_str(&out), &limits, &doc, &err), &err);
    assert_true(mf_json_f64(mf_json_root(doc), &back));
    assert_memory_equal(&back, &v, sizeof(v));
  }
}

static void copies_a_parsed_value(void **state)
{
  static const char text[] = "{\"a\":[1.10,-0,1e2,123456789012345678901234567890,{}],\"k\\u0000\\n\":\"\\u0000é\","
                             "\"t\":true,\"f\":false,\"n\":null,\"e\":[]}";
  mf_auto_json struct mf_json *doc = NULL;
  assert_int_equal(mf_json_parse(mf_str_of(text), &limits, &doc, NULL), MF_OK);
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, 1000);
  struct mf_json_writer w;
  mf_jw_init(&w, &out, false);
  mf_jw_arr(&w);
  mf_jw_val(&w, mf_json_root(doc));
  mf_jw_val(&w, mf_json_get(mf_json_root(doc), "absent"));
  mf_jw_arr_end(&w);
  assert_int_equal(w.code, MF_OK);
  char want[sizeof(text) + 10];
  snprintf(want, sizeof(want), "[%s,null]", text);
  assert_string_equal(out.ptr, want);
}

static void copies_the_deepest_document(void **state)
{
  enum { N = 1024 };
  char text[2 * N + 1];
  memset(text, ']', sizeof(text));
  memset(text, '[', N);
  text[sizeof(text) - 1] = 0;
  const struct mf_json_limits deep = { .bytes_max = sizeof(text), .depth_max = N };
  mf_auto_json struct mf_json *doc = NULL;
  assert_int_equal(mf_json_parse(mf_str_of(text), &deep, &doc, NULL), MF_OK);
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, sizeof(text));
  struct mf_json_writer w;
  mf_jw_init(&w, &out, false);
  mf_jw_val(&w, mf_json_root(doc));
  assert_int_equal(w.code, MF_OK);
  assert_string_equal(out.ptr, text);
}

/* At every size that is too small the code is MF_E_LIMIT and no byte too many is written. */
static void the_first_failure_sticks(void **state)
{
  mf_auto_buf struct mf_buf whole;
  mf_buf_init(&whole, 1000);
  struct mf_json_writer w;
  mf_jw_init(&w, &whole, true);
  write_all_kinds(&w);
  for (size_t max = 0; max < whole.len; max++) {
    mf_auto_buf struct mf_buf out;
    mf_buf_init(&out, max);
    mf_jw_init(&w, &out, true);
    write_all_kinds(&w);
    assert_int_equal(w.code, MF_E_LIMIT);
    assert_true(out.len <= max);
    assert_memory_equal(out.ptr, whole.ptr, out.len);
    size_t len = out.len;
    mf_jw_null(&w);
    assert_int_equal(out.len, len);
  }
}

static void repair_obeys_the_limit(void **state)
{
  char bad[100];
  memset(bad, 0xff, sizeof(bad));
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, 200);
  struct mf_json_writer w;
  mf_jw_init(&w, &out, false);
  mf_jw_str(&w, (struct mf_str){ bad, sizeof(bad) });
  assert_int_equal(w.code, MF_E_LIMIT);
}

static void wrong_nesting_is_an_error(void **state)
{
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, 100);
  struct mf_json_writer w;
  mf_jw_init(&w, &out, false);
  mf_jw_obj_end(&w);
  assert_int_equal(w.code, MF_E_INTERNAL);
  mf_jw_init(&w, &out, false);
  mf_jw_obj(&w);
  mf_jw_key(&w, "a");
  mf_jw_obj_end(&w);
  assert_int_equal(w.code, MF_E_INTERNAL);
  mf_jw_init(&w, &out, false);
  mf_jw_obj(&w);
  mf_jw_key(&w, "a");
  mf_jw_key(&w, "b");
  assert_int_equal(w.code, MF_E_INTERNAL);
  mf_jw_init(&w, &out, false);
  mf_jw_key(&w, "a");
  assert_int_equal(w.code, MF_E_INTERNAL);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(compact),
    cmocka_unit_test(pretty),
    cmocka_unit_test(strings),
    cmocka_unit_test(strings_read_back),
    cmocka_unit_test(an_odd_byte_is_seen_wherever_it_stands),
    cmocka_unit_test(doubles),
    cmocka_unit_test(doubles_read_back),
    cmocka_unit_test(copies_a_parsed_value),
    cmocka_unit_test(copies_the_deepest_document),
    cmocka_unit_test(the_first_failure_sticks),
    cmocka_unit_test(repair_obeys_the_limit),
    cmocka_unit_test(wrong_nesting_is_an_error),
  };
  return cmocka_run_group_tests_name("json/writer", tests, NULL, NULL);
}

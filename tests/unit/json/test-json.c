/* Reading JSON: what is accepted, what is refused and where, and what values say. */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "json/json.h"
#include "base/banned.h"

static const struct mf_json_limits limits = { .bytes_max = 64 << 20, .depth_max = 64 };

static struct mf_json *parse(const char *text)
{
  struct mf_json *doc = NULL;
  struct mf_err err = { 0 };
  assert_ok(mf_json_parse(mf_str_of(text), &limits, &doc, &err), &err);
  return doc;
}

static void assert_str(struct mf_str s, const char *want)
{
  assert_int_equal(s.len, strlen(want));
  assert_memory_equal(s.ptr, want, s.len);
}

static void types_and_values(void **state)
{
  mf_auto_json struct mf_json *doc =
      parse(" {\"n\":null, \"t\":true, \"f\":false, \"i\":-12, \"s\":\"x\\u00e9\\ud834\\udd1e\\n\", \"a\":[1,[2],{}], "
            "\"o\":{\"p\":{\"q\":7}}} \n");
  const struct mf_json_val *root = mf_json_root(doc);
  assert_int_equal(mf_json_type_of(root), MF_JSON_OBJ);
  assert_int_equal(mf_json_len(root), 7);
  assert_int_equal(mf_json_type_of(mf_json_get(root, "n")), MF_JSON_NULL);
  assert_int_equal(mf_json_type_of(mf_json_get(root, "t")), MF_JSON_BOOL);
  assert_true(mf_json_bool(mf_json_get(root, "t")));
  assert_false(mf_json_bool(mf_json_get(root, "f")));
  assert_int_equal(mf_json_type_of(mf_json_get(root, "i")), MF_JSON_NUM);
  assert_str(mf_json_num_text(mf_json_get(root, "i")), "-12");
  assert_int_equal(mf_json_type_of(mf_json_get(root, "s")), MF_JSON_STR);
  assert_str(mf_json_str(mf_json_get(root, "s")), "xé𝄞\n");

  const struct mf_json_val *arr = mf_json_get(root, "a");
  assert_int_equal(mf_json_type_of(arr), MF_JSON_ARR);
  assert_int_equal(mf_json_len(arr), 3);
  assert_str(mf_json_num_text(mf_json_at(arr, 0)), "1");
  assert_str(mf_json_num_text(mf_json_at(mf_json_at(arr, 1), 0)), "2");
  assert_int_equal(mf_json_type_of(mf_json_at(arr, 2)), MF_JSON_OBJ);
  assert_null(mf_json_at(arr, 3));

  uint64_t seven = 0;
  assert_true(mf_json_u64(mf_json_get(mf_json_get(mf_json_get(root, "o"), "p"), "q"), &seven));
  assert_int_equal(seven, 7);
}

static void what_is_missing_is_harmless(void **state)
{
  mf_auto_json struct mf_json *doc = parse("{\"a\":[1]}");
  const struct mf_json_val *root = mf_json_root(doc), *arr = mf_json_get(root, "a");
  assert_null(mf_json_get(root, "b"));
  assert_null(mf_json_get(root, ""));
  assert_null(mf_json_get(arr, "a"));
  assert_null(mf_json_at(root, 0));
  assert_null(mf_json_get(NULL, "a"));
  assert_null(mf_json_at(NULL, 0));
  assert_int_equal(mf_json_len(NULL), 0);
  assert_int_equal(mf_json_type_of(NULL), MF_JSON_NULL);
  uint64_t u;
  int64_t i;
  double f;
  assert_false(mf_json_u64(NULL, &u) || mf_json_i64(NULL, &i) || mf_json_f64(NULL, &f));
  assert_false(mf_json_u64(arr, &u) || mf_json_i64(arr, &i) || mf_json_f64(arr, &f));
  struct mf_json_iter it = mf_json_iter(NULL);
  assert_false(mf_json_next(&it));
  it = mf_json_iter(mf_json_at(arr, 0));
  assert_false(mf_json_next(&it));
}

static void single_values(void **state)
{
  static const struct {
    const char *text;
    enum mf_json_type type;
  } rows[] = {
    { "null", MF_JSON_NULL }, { " true ", MF_JSON_BOOL }, { "\"\"", MF_JSON_STR },
    { "0", MF_JSON_NUM },     { "[]", MF_JSON_ARR },      { "\t\r\n{}", MF_JSON_OBJ },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    mf_auto_json struct mf_json *doc = parse(rows[i].text);
    assert_int_equal(mf_json_type_of(mf_json_root(doc)), rows[i].type);
    assert_int_equal(mf_json_len(mf_json_root(doc)), 0);
  }
}

static void strings_may_hold_nul(void **state)
{
  mf_auto_json struct mf_json *doc = parse("{\"a\\u0000b\":\"c\\u0000d\"}");
  struct mf_json_iter it = mf_json_iter(mf_json_root(doc));
  assert_true(mf_json_next(&it));
  assert_true(mf_str_eq(it.key, MF_STR("a\0b")));
  assert_true(mf_str_eq(mf_json_str(it.val), MF_STR("c\0d")));
  assert_null(mf_json_get(mf_json_root(doc), "a"));
}

/* The text need not be NUL-terminated, and is copied. */
static void the_text_is_copied(void **state)
{
  char text[] = { '[', '"', 'a', '"', ',', '1', '2', ']', '9', '9' };
  struct mf_json *doc = NULL;
  assert_int_equal(mf_json_parse((struct mf_str){ text, 8 }, &limits, &doc, NULL), MF_OK);
  memset(text, 'x', sizeof(text));
  assert_str(mf_json_str(mf_json_at(mf_json_root(doc), 0)), "a");
  assert_str(mf_json_num_text(mf_json_at(mf_json_root(doc), 1)), "12");
  mf_json_free(doc);
  mf_json_free(NULL);
}

static void refuses_what_rfc_8259_refuses(void **state)
{
  static const struct mf_str rows[] = {
    MF_STR("nul"),
    MF_STR("nullx"),
    MF_STR("True"),
    MF_STR("1 2"),
    MF_STR("{} {}"),
    MF_STR("[1,]"),
    MF_STR("[,1]"),
    MF_STR("[1 2]"),
    MF_STR("{\"a\":1,}"),
    MF_STR("{a:1}"),
    MF_STR("{'a':1}"),
    MF_STR("{\"a\" 1}"),
    MF_STR("{\"a\"}"),
    MF_STR("{1:2}"),
    MF_STR("// x\n1"),
    MF_STR("1 /* x */"),
    MF_STR("NaN"),
    MF_STR("Infinity"),
    MF_STR("-Infinity"),
    MF_STR("+1"),
    MF_STR("01"),
    MF_STR("-01"),
    MF_STR("1."),
    MF_STR(".5"),
    MF_STR("1e"),
    MF_STR("1e+"),
    MF_STR("-"),
    MF_STR("0x10"),
    MF_STR("1_0"),
    MF_STR("\"a"),
    MF_STR("\"a\nb\""),
    MF_STR("\"a\tb\""),
    MF_STR("\"a\0b\""),
    MF_STR("\"\\x41\""),
    MF_STR("\"\\u12\""),
    MF_STR("\"\\ud834\""),
    MF_STR("\"\\udd1e\""),
    MF_STR("\"\\ud834\\u0041\""),
    MF_STR("\"\xff\""),
    MF_STR("\"\xc0\xaf\""),
    MF_STR("\"\xed\xa0\x80\""),
    MF_STR("\"\xf4\x90\x80\x80\""),
    MF_STR("\"\xe2\x98\""),
    MF_STR("\xef\xbb\xbf{}"),
    MF_STR("[1]\0"),
    MF_STR("\0"),
    MF_STR("["),
    MF_STR("{"),
    MF_STR("]"),
    MF_STR("}"),
    MF_STR("[}"),
    MF_STR("{]"),
    MF_STR("[[1]"),
    MF_STR("\"\\"),
    MF_STR("{\"a\":"),
    MF_STR("\\"),
    MF_STR("\f1"),
    MF_STR("\xc2\xa0"
           "1"),
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    struct mf_json *doc = NULL;
    struct mf_err err = { 0 };
    if (mf_json_parse(rows[i], &limits, &doc, &err) != MF_E_INPUT)
      fail_msg("row %zu: %.*s", i, MF_STR_ARG(rows[i]));
    assert_null(doc);
    assert_true(mf_str_starts(mf_str_of(err.msg), "JSON line "));
  }
}

static void errors_name_the_place(void **state)
{
  static const struct {
    const char *text, *place;
  } rows[] = {
    { "", "JSON line 1, column 1: the text is empty" },
    { "x", "JSON line 1, column 1: " },
    { "[1,\n 2,\n  x]", "JSON line 3, column 3: " },
    { "[\"é☕𝄞\", x]", "JSON line 1, column 9: " },
    { "{\"a\":1,\n\"b\":2\n\"c\":3}", "JSON line 3, column 1: " },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    struct mf_json *doc = NULL;
    struct mf_err err = { 0 };
    assert_int_equal(mf_json_parse(mf_str_of(rows[i].text), &limits, &doc, &err), MF_E_INPUT);
    if (!mf_str_starts(mf_str_of(err.msg), rows[i].place))
      fail_msg("row %zu: %s", i, err.msg);
  }
}

static void refuses_duplicate_keys(void **state)
{
  static const struct {
    const char *text, *msg;
  } rows[] = {
    { "{\"a\":1,\"a\":1}", "JSON line 1, column 8: duplicate key 'a'" },
    { "{\"a\":1,\n \"b\":2,\n \"a\":3}", "JSON line 3, column 2: duplicate key 'a'" },
    { "[{\"x\":{\"k\":[{\"q\":1,\"r\":2,\"q\":3}]}}]", "JSON line 1, column 26: duplicate key 'q'" },
    { "{\"\":1,\"\":2}", "JSON line 1, column 7: duplicate key ''" },
    /* The same key spelled in two ways. */
    { "{\"\\u0061\":1,\"a\":2}", "JSON line 1, column 13: duplicate key 'a'" },
    { "{\"a\":1,\"\\u0061\":2}", "JSON line 1, column 8: duplicate key 'a'" },
    { "{\"a\\u0000\":1,\"a\\u0000\":2}", "JSON line 1, column 14: duplicate key 'a\\x00'" },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    struct mf_json *doc = NULL;
    struct mf_err err = { 0 };
    assert_int_equal(mf_json_parse(mf_str_of(rows[i].text), &limits, &doc, &err), MF_E_INPUT);
    assert_string_equal(err.msg, rows[i].msg);
    assert_null(doc);
  }
  mf_json_free(parse("{\"a\":{\"a\":[{\"a\":1},{\"a\":2}]},\"b\":{\"a\":1},\"A\":0,\"aa\":0,\"a\\u0000\":0}"));
}

/* Objects of every size around the change of method, with the pair at both ends. */
static void refuses_duplicate_keys_of_any_number(void **state)
{
  for (unsigned n = 2; n <= 40; n++)
    for (unsigned pair = 0; pair <= n; pair++) {
      mf_auto_buf struct mf_buf text;
      mf_buf_init(&text, 10000);
      assert_int_equal(mf_buf_printf(&text, "{"), MF_OK);
      for (unsigned i = 0; i < n; i++)
        assert_int_equal(mf_buf_printf(&text, "%s\"key%u\":%u", i ? "," : "", i, i), MF_OK);
      if (pair < n)
        assert_int_equal(mf_buf_printf(&text, ",\"key%u\":0", pair), MF_OK);
      assert_int_equal(mf_buf_printf(&text, "}"), MF_OK);

      mf_auto_json struct mf_json *doc = NULL;
      struct mf_err err = { 0 };
      enum mf_code code = mf_json_parse(mf_buf_str(&text), &limits, &doc, &err);
      if (pair == n) {
        assert_ok(code, &err);
        assert_int_equal(mf_json_len(mf_json_root(doc)), n);
      } else {
        char want[40];
        snprintf(want, sizeof(want), "duplicate key 'key%u'", pair);
        assert_int_equal(code, MF_E_INPUT);
        assert_non_null(strstr(err.msg, want));
        /* The second of the two is named: it is the last member. */
        snprintf(want, sizeof(want), "column %zu:", text.len - strlen("\"key:0}") - (pair < 10 ? 1 : 2));
        assert_non_null(strstr(err.msg, want));
      }
    }
}

static void the_size_is_bounded(void **state)
{
  const struct mf_json_limits small = { .bytes_max = 4, .depth_max = 4 };
  struct mf_json *doc = NULL;
  struct mf_err err = { 0 };
  assert_int_equal(mf_json_parse(MF_STR("12345"), &small, &doc, &err), MF_E_LIMIT);
  assert_string_equal(err.msg, "JSON of 5 bytes is larger than 4");
  assert_int_equal(mf_json_parse(MF_STR("1234"), &small, &doc, &err), MF_OK);
  mf_json_free(doc);
}

static char *nest(char open, char close, size_t n)
{
  char *text = mf_xmalloc(2 * n + 1);
  memset(text, open, n);
  memset(text + n, close, n);
  text[2 * n] = 0;
  return text;
}

static void the_depth_is_bounded(void **state)
{
  for (unsigned depth = 0; depth <= 70; depth++) {
    mf_auto_free char *text = nest('[', ']', depth);
    struct mf_str s = depth ? mf_str_of(text) : MF_STR("1");
    mf_auto_json struct mf_json *doc = NULL;
    struct mf_err err = { 0 };
    enum mf_code code = mf_json_parse(s, &limits, &doc, &err);
    assert_int_equal(code, depth <= 64 ? MF_OK : MF_E_LIMIT);
    if (code)
      assert_string_equal(err.msg, "JSON line 1, column 65: nested deeper than 64 levels");
  }
  const struct mf_json_limits flat = { .bytes_max = 100, .depth_max = 0 };
  struct mf_json *doc = NULL;
  assert_int_equal(mf_json_parse(MF_STR("[]"), &flat, &doc, NULL), MF_E_LIMIT);
  assert_int_equal(mf_json_parse(MF_STR("\"[{\\\"[\""), &flat, &doc, NULL), MF_OK);
  mf_json_free(doc);
}

/* Brackets in strings and side by side do not nest. */
static void only_open_brackets_count(void **state)
{
  const struct mf_json_limits two = { .bytes_max = 1000, .depth_max = 2 };
  struct mf_json *doc = NULL;
  struct mf_err err = { 0 };
  assert_ok(mf_json_parse(MF_STR("[[],{},[],\"[[[\\\"[[{{\\\\\",{\"[[[\":1}]"), &two, &doc, &err), &err);
  mf_json_free(doc);
  assert_int_equal(mf_json_parse(MF_STR("[[],{\"a\":[]}]"), &two, &doc, &err), MF_E_LIMIT);
}

static void a_million_levels_are_a_clean_error(void **state)
{
  enum { N = 1000000 };
  const struct mf_json_limits wide = { .bytes_max = SIZE_MAX, .depth_max = ~0u };
  mf_auto_free char *closed = nest('[', ']', N);
  struct mf_json *doc = NULL;
  struct mf_err err = { 0 };
  assert_int_equal(mf_json_parse(mf_str_of(closed), &limits, &doc, &err), MF_E_LIMIT);
  /* No caller can switch the bound off. */
  assert_int_equal(mf_json_parse(mf_str_of(closed), &wide, &doc, &err), MF_E_LIMIT);
  assert_string_equal(err.msg, "JSON line 1, column 1025: nested deeper than 1024 levels");
  assert_int_equal(mf_json_parse((struct mf_str){ closed, N }, &wide, &doc, &err), MF_E_LIMIT);

  mf_auto_buf struct mf_buf objects;
  mf_buf_init(&objects, 16000000);
  for (int i = 0; i < N; i++)
    assert_int_equal(mf_buf_append_str(&objects, MF_STR("{\"a\":")), MF_OK);
  assert_int_equal(mf_json_parse(mf_buf_str(&objects), &wide, &doc, &err), MF_E_LIMIT);
  assert_null(doc);
}

static void many_members_and_elements(void **state)
{
  enum { N = 100000 };
  mf_auto_buf struct mf_buf text;
  mf_buf_init(&text, 64 << 20);
  assert_int_equal(mf_buf_printf(&text, "{\"list\":["), MF_OK);
  for (int i = 0; i < N; i++)
    assert_int_equal(mf_buf_printf(&text, "%s{\"v\":%d}", i ? "," : "", i), MF_OK);
  assert_int_equal(mf_buf_printf(&text, "],\"map\":{"), MF_OK);
  for (int i = 0; i < N; i++)
    assert_int_equal(mf_buf_printf(&text, "%s\"%d\":[%d]", i ? "," : "", i, i), MF_OK);
  assert_int_equal(mf_buf_printf(&text, "}}"), MF_OK);

  mf_auto_json struct mf_json *doc = NULL;
  struct mf_err err = { 0 };
  assert_ok(mf_json_parse(mf_buf_str(&text), &limits, &doc, &err), &err);
  const struct mf_json_val *list = mf_json_get(mf_json_root(doc), "list");
  const struct mf_json_val *map = mf_json_get(mf_json_root(doc), "map");
  assert_int_equal(mf_json_len(list), N);
  assert_int_equal(mf_json_len(map), N);

  /* Elements that are containers: a step must pass over them whole. */
  uint64_t want = 0, got = 0;
  for (struct mf_json_iter it = mf_json_iter(list); mf_json_next(&it); want++) {
    assert_null(it.key.ptr);
    assert_true(mf_json_u64(mf_json_get(it.val, "v"), &got));
    assert_true(got == want);
  }
  assert_int_equal(want, N);
  want = 0;
  for (struct mf_json_iter it = mf_json_iter(map); mf_json_next(&it); want++) {
    char key[16];
    snprintf(key, sizeof(key), "%u", (unsigned)want);
    assert_true(mf_str_is(it.key, key));
    assert_true(mf_json_u64(mf_json_at(it.val, 0), &got));
    assert_true(got == want);
  }
  assert_int_equal(want, N);
}

static void iteration_stays_ended(void **state)
{
  mf_auto_json struct mf_json *doc = parse("[[],{}]");
  struct mf_json_iter it = mf_json_iter(mf_json_root(doc));
  assert_true(mf_json_next(&it));
  assert_int_equal(mf_json_type_of(it.val), MF_JSON_ARR);
  assert_true(mf_json_next(&it));
  assert_int_equal(mf_json_type_of(it.val), MF_JSON_OBJ);
  assert_false(mf_json_next(&it));
  assert_false(mf_json_next(&it));
  it = mf_json_iter(mf_json_at(mf_json_root(doc), 1));
  assert_false(mf_json_next(&it));
}

static void numbers_keep_their_form(void **state)
{
  static const char *const rows[] = {
    "0",
    "-0",
    "1.0",
    "1.10",
    "1e2",
    "1E+2",
    "1e-0007",
    "123456789012345678901234567890",
    "0.1000000000000000055511151231257827",
    "1e999999",
    "-1.5E-400",
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    mf_auto_json struct mf_json *doc = parse(rows[i]);
    assert_str(mf_json_num_text(mf_json_root(doc)), rows[i]);
    char text[80];
    snprintf(text, sizeof(text), "[%s,%s]", rows[i], rows[i]);
    mf_auto_json struct mf_json *list = parse(text);
    assert_str(mf_json_num_text(mf_json_at(mf_json_root(list), 0)), rows[i]);
    assert_str(mf_json_num_text(mf_json_at(mf_json_root(list), 1)), rows[i]);
  }
}

static void whole_numbers(void **state)
{
  static const struct {
    const char *text;
    bool u_ok, i_ok;
    uint64_t u;
    int64_t i;
  } rows[] = {
    { "0", true, true, 0, 0 },
    { "-0", true, true, 0, 0 },
    { "42", true, true, 42, 42 },
    { "-42", false, true, 0, -42 },
    { "9223372036854775807", true, true, INT64_MAX, INT64_MAX },
    { "9223372036854775808", true, false, 9223372036854775808u, 0 },
    { "-9223372036854775808", false, true, 0, INT64_MIN },
    { "-9223372036854775809", false, false, 0, 0 },
    { "18446744073709551615", true, false, UINT64_MAX, 0 },
    { "18446744073709551616", false, false, 0, 0 },
    { "1.0", false, false, 0, 0 },
    { "1e2", false, false, 0, 0 },
    { "true", false, false, 0, 0 },
    { "\"1\"", false, false, 0, 0 },
    { "null", false, false, 0, 0 },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    mf_auto_json struct mf_json *doc = parse(rows[i].text);
    uint64_t u = 77;
    int64_t s = 77;
    assert_int_equal(mf_json_u64(mf_json_root(doc), &u), rows[i].u_ok);
    assert_true(u == (rows[i].u_ok ? rows[i].u : 77));
    assert_int_equal(mf_json_i64(mf_json_root(doc), &s), rows[i].i_ok);
    assert_true(s == (rows[i].i_ok ? rows[i].i : 77));
  }
}

static void doubles(void **state)
{
  static const struct {
    const char *text;
    double value;
  } rows[] = {
    { "0", 0.0 },
    { "1", 1.0 },
    { "-2.5", -2.5 },
    { "0.1", 0.1 },
    { "1e2", 100.0 },
    { "5e-324", 5e-324 },
    { "1e-999", 0.0 },
    { "1.7976931348623157e308", 1.7976931348623157e308 },
    { "18446744073709551616", 18446744073709551616.0 },
    { "9007199254740993", 9007199254740992.0 },
    /* Exactly between two doubles: the even one. */
    { "0.3000000000000000166533453693773481063544750213623046875", 0.30000000000000004 },
    { "0.3000000000000000166533453693773481063544750213623046874", 0.3 },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    mf_auto_json struct mf_json *doc = parse(rows[i].text);
    double f = 77;
    assert_true(mf_json_f64(mf_json_root(doc), &f));
    assert_memory_equal(&f, &rows[i].value, sizeof(f));
  }
  mf_auto_json struct mf_json *minus = parse("-0.0");
  double f = 77;
  assert_true(mf_json_f64(mf_json_root(minus), &f) && f == 0 && signbit(f));
  mf_auto_json struct mf_json *large = parse("[1e999,\"1\"]");
  f = 77;
  assert_false(mf_json_f64(mf_json_at(mf_json_root(large), 0), &f));
  assert_false(mf_json_f64(mf_json_at(mf_json_root(large), 1), &f));
  assert_true(f == 77);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(types_and_values),
    cmocka_unit_test(what_is_missing_is_harmless),
    cmocka_unit_test(single_values),
    cmocka_unit_test(strings_may_hold_nul),
    cmocka_unit_test(the_text_is_copied),
    cmocka_unit_test(refuses_what_rfc_8259_refuses),
    cmocka_unit_test(errors_name_the_place),
    cmocka_unit_test(refuses_duplicate_keys),
    cmocka_unit_test(refuses_duplicate_keys_of_any_number),
    cmocka_unit_test(the_size_is_bounded),
    cmocka_unit_test(the_depth_is_bounded),
    cmocka_unit_test(only_open_brackets_count),
    cmocka_unit_test(a_million_levels_are_a_clean_error),
    cmocka_unit_test(many_members_and_elements),
    cmocka_unit_test(iteration_stays_ended),
    cmocka_unit_test(numbers_keep_their_form),
    cmocka_unit_test(whole_numbers),
    cmocka_unit_test(doubles),
  };
  return cmocka_run_group_tests_name("json/json", tests, NULL, NULL);
}

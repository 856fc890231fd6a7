/* multipart/form-data: what comes out does not depend on how the input is cut; names as clients write them; what is
 * refused, and with which words. */
#include "unit.h"

#include "field.h"
#include "multipart.h"
#include "base/buf.h"
#include "base/banned.h"

#define TYPE "multipart/form-data; boundary=B"

/* What a body gives, as text: "[name|filename|type]" where a part begins, its bytes, "/" where it ends, "." at the end;
 * "!" and the message for an error. step 0: in one piece. */
static void read_all(const char *type, struct mf_str body, size_t step, struct mf_buf *out)
{
  struct mf_err err = { 0 };
  struct mf_multipart *m = NULL;
  mf_buf_init(out, 1 << 20);
  enum mf_code code = mf_multipart_new(mf_str_of(type), &m, &err);
  for (size_t at = 0; !code && at < body.len;) {
    struct mf_str in = { body.ptr + at, step ? MF_MIN(step, body.len - at) : body.len }, data;
    enum mf_multipart_event event;
    at += in.len;
    do {
      code = mf_multipart_next(m, &in, &event, &data, &err);
      const struct mf_multipart_part *p = mf_multipart_part(m);
      if (!code && event == MF_MULTIPART_PART)
        assert_int_equal(mf_buf_printf(out, "[%.*s|%s%.*s|%.*s]", MF_STR_ARG(p->name), p->filename.ptr ? "" : "-",
                                       MF_STR_ARG(p->filename), MF_STR_ARG(p->content_type)),
                         MF_OK);
      if (!code && event == MF_MULTIPART_DATA) {
        assert_int_not_equal(data.len, 0);
        assert_int_equal(mf_buf_append_str(out, data), MF_OK);
      }
      if (!code && (event == MF_MULTIPART_PART_END || event == MF_MULTIPART_END))
        assert_int_equal(mf_buf_append(out, event == MF_MULTIPART_END ? "." : "/", 1), MF_OK);
    } while (!code && event != MF_MULTIPART_MORE);
    assert_true(code || in.len == 0);
  }
  if (!code)
    code = mf_multipart_finish(m, &err);
  else if (m) /* for ever */
    assert_int_equal(mf_multipart_finish(m, NULL), code);
  if (code)
    assert_int_equal(mf_buf_printf(out, "!%s", err.msg), MF_OK);
  mf_multipart_free(m);
}

static void check(const char *type, struct mf_str body, const char *expected)
{
  for (size_t step = 0; step < 12; step++) {
    mf_auto_buf struct mf_buf out;
    read_all(type, body, step, &out);
    if (out.len != strlen(expected) || memcmp(out.ptr, expected, out.len) != 0)
      fail_msg("in steps of %zu: '%.*s', not '%s'", step, (int)MF_MIN(out.len, (size_t)500), out.ptr, expected);
  }
}

#define PART(head, content) "--B\r\n" head "\r\n\r\n" content "\r\n"
#define A "Content-Disposition: form-data; name=a"

static void test_parts(void **state)
{
  static const struct {
    const char *body, *expected;
  } rows[] = {
    { "--B--", "." },
    { "--B--\r\n", "." },
    { PART(A, "1") "--B--\r\n", "[a|-|]1/." },
    { PART(A, "") "--B--", "[a|-|]/." },
    { PART(A, "\r\n") "--B--", "[a|-|]\r\n/." },
    { PART(A, "1\r\n--\r\n-B\r\n--A\r\r\n--") "--B--", "[a|-|]1\r\n--\r\n-B\r\n--A\r\r\n--/." },
    { PART(A, "1\r") "--B--", "[a|-|]1\r/." },
    { PART(A, "--B") "--B--", "[a|-|]--B/." }, /* not at the start of a line */
    { "before\r\nthe first"
      "\r\n" PART(A, "1") "--B--after\r\n--B\r\n\r\n",
      "[a|-|]1/." },
    { "\r\n" PART(A, "1") "--B--", "[a|-|]1/." },
    { "--B \t \r\n" A "\r\n\r\n1\r\n--B--", "[a|-|]1/." },
    { PART(A, "1") PART("content-disposition:FORM-DATA;NAME=\"b c\"; filename=\"x\"\r\nContent-type: text/csv ; a=b",
                        "2") "--B--",
      "[a|-|]1/[b c|x|text/csv ; a=b]2/." },
    { PART("X-Other: a: b\r\n" A "; size=12; filename=\"\"\r\nContent-Transfer-Encoding: Binary", "1") "--B--",
      "[a||]1/." },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++)
    check(TYPE, mf_str_of(rows[i].body), rows[i].expected);
}

static void test_all_bytes(void **state)
{
  static const char head[] = "--B\r\n" A "\r\n\r\n", tail[] = "\r\n--B--";
  char body[sizeof(head) + 3 * 256 + sizeof(tail)];
  size_t n = sizeof(head) - 1;
  memcpy(body, head, n);
  for (unsigned i = 0; i < 3 * 256; i++)
    body[n++] = (char)(i % 3 == 0 ? '\r' : i);
  memcpy(body + n, tail, sizeof(tail) - 1);
  n += sizeof(tail) - 1;
  for (size_t step = 0; step < 300; step += 7) {
    mf_auto_buf struct mf_buf out;
    read_all(TYPE, (struct mf_str){ body, n }, step, &out);
    assert_int_equal(out.len, 6 + 3 * 256 + 2);
    assert_memory_equal(out.ptr + 6, body + sizeof(head) - 1, 3 * 256);
  }
}

static void test_names(void **state)
{
  static const struct {
    const char *disposition, *expected;
  } rows[] = {
    { "form-data; name=\"files\"; filename=\"d\xc3\xa4ta/s.csv\"", "[files|d\xc3\xa4ta/s.csv|]/." },
    { "form-data; name=files; filename=\"we\\\"ird\\\\\"", "[files|we\"ird\\|]/." },      /* curl before 7.81 */
    { "form-data; name=files; filename=\"we%22ird %0d%0A\"", "[files|we\"ird \r\n|]/." }, /* browsers, curl */
    { "form-data; name=files; filename=\"100%25 %2g %\"", "[files|100%25 %2g %|]/." },
    { "form-data; name=files; filename=\"C:\\new\\x\"", "[files|C:\\new\\x|]/." },
    { "form-data; name=files; filename=\"a;b=c\"", "[files|a;b=c|]/." },
    { "form-data; name=files; filename=\"x\"; filename*=utf-8'de'%C3%A4%25%22", "[files|\xc3\xa4%\"|]/." },
    { "form-data; name=files; filename*=UTF-8''b; filename=x", "[files|b|]/." },
    { "form-data; name=files; filename=../../etc/passwd", "[files|../../etc/passwd|]/." }, /* the next one judges */
    { "form-data; name=files; filename*=iso-8859-1''%e4", "!part 1: filename*: expected UTF-8''NAME, percent-encoded" },
    { "form-data; name=files; filename*=UTF-8''%e4", "!part 1: its names are not UTF-8" },
    { "form-data; name=files; filename*=UTF-8''a%00b", "!part 1: filename*: expected UTF-8''NAME, percent-encoded" },
    { "form-data; name=files; filename*=UTF-8''%4", "!part 1: filename*: expected UTF-8''NAME, percent-encoded" },
    { "form-data; name=files; filename*=b", "!part 1: filename*: expected UTF-8''NAME, percent-encoded" },
    { "form-data; name=files; filename=\"\xe4\"", "!part 1: its names are not UTF-8" },
    { "form-data; name=files; filename=a; filename=b", "!part 1: Content-Disposition has a parameter twice" },
    { "form-data; name=a; NAME=b", "!part 1: Content-Disposition has a parameter twice" },
    { "form-data", "!part 1: expected 'Content-Disposition: form-data; name=…'" },
    { "form-data; name=\"\"", "!part 1: expected 'Content-Disposition: form-data; name=…'" },
    { "form-data; name=", "!part 1: expected 'Content-Disposition: form-data; name=…'" },
    { "form-data; name=\"a", "!part 1: expected 'Content-Disposition: form-data; name=…'" },
    { "form-data; name=\"a\"b", "!part 1: expected 'Content-Disposition: form-data; name=…'" },
    { "attachment; name=a", "!part 1: expected 'Content-Disposition: form-data; name=…'" },
    { "", "!part 1: expected 'Content-Disposition: form-data; name=…'" },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    char body[300];
    int n = snprintf(body, sizeof(body), "--B\r\nContent-Disposition: %s\r\n\r\n\r\n--B--", rows[i].disposition);
    check(TYPE, (struct mf_str){ body, (size_t)n }, rows[i].expected);
  }
}

static void test_refused(void **state)
{
  static const struct {
    const char *body, *expected;
  } rows[] = {
    { "", "!the boundary is nowhere in the body" },
    { "no boundary at all", "!the boundary is nowhere in the body" },
    { "x--B\r\n", "!the boundary is nowhere in the body" },
    { "--B", "!the boundary is nowhere in the body" },
    { "--B\r\n", "!the body ends before its last boundary" },
    { PART(A, "1"), "[a|-|]1!the body ends before its last boundary" },
    { PART(A, "1") "--B", "[a|-|]1/!the body ends before its last boundary" },
    { PART(A, "1") "--B-", "[a|-|]1/!the body ends before its last boundary" },
    { PART(A, "1") "--BC\r\n", "[a|-|]1/!a boundary is not followed by a line's end or '--'" },
    { PART(A, "1") "--B-\r\n", "[a|-|]1/!a boundary is not followed by a line's end or '--'" },
    { "--B\n" A "\n\n1\n--B--", "!a boundary is not followed by a line's end or '--'" },
    { "--B\r\n\r\n1\r\n--B--", "!part 1: expected 'Content-Disposition: form-data; name=…'" },
    { PART(A "\r\n" A, "1"), "!part 1: its head has content-disposition twice" },
    { PART(A "\r\nContent-Type: a/b\r\ncontent-type: a/b", "1"), "!part 1: its head has content-type twice" },
    { PART(A "\r\n folded", "1"), "!part 1: a line of its head is not 'Name: value'" },
    { PART("no colon", "1"), "!part 1: a line of its head is not 'Name: value'" },
    { PART("Content-Disposition : form-data; name=a", "1"), "!part 1: a line of its head is not 'Name: value'" },
    { PART(A "\nX: y", "1"), "!part 1: a line of its head is not 'Name: value'" },
    { PART(A "\rX: y", "1"), "!part 1: a line of its head is not 'Name: value'" },
    { PART(A "\r\nContent-Transfer-Encoding: base64", "MQ=="),
      "!part 1: Content-Transfer-Encoding 'base64' is not for form-data: send the bytes as they are" },
    { PART(A, "1") PART(A "\r\nContent-Transfer-Encoding: quoted-printable", "1"),
      "[a|-|]1/!part 2: Content-Transfer-Encoding 'quoted-printable' is not for form-data: send the bytes as they "
      "are" },
    { PART(A "\r\nContent-Type: Multipart/Mixed; boundary=C", "--C--"),
      "!part 1: it is multipart itself: give each file a part of its own" },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++)
    check(TYPE, mf_str_of(rows[i].body), rows[i].expected);
  check(TYPE, (struct mf_str){ "--B\r\n" A "\0\r\n\r\n", sizeof("--B\r\n" A) + 5 - 1 },
        "!part 1: a line of its head is not 'Name: value'");
}

#define NO_BOUNDARY "!Content-Type: multipart/form-data needs a boundary"
#define BAD_BOUNDARY "!Content-Type: expected one boundary of 1 to 70 letters, digits and '()+_,-./:=? "

static void test_boundaries(void **state)
{
  static const char s70[] = "0123456789012345678901234567890123456789012345678901234567890123456789";
  char type[200], body[200];
  snprintf(type, sizeof(type), "multipart/form-data; boundary=%s", s70);
  snprintf(body, sizeof(body), "--%s\r\n" A "\r\n\r\n1\r\n--%s--", s70, s70);
  check(type, mf_str_of(body), "[a|-|]1/.");
  snprintf(type, sizeof(type), "multipart/form-data; boundary=%s0", s70);
  check(type, mf_str_of(body), BAD_BOUNDARY);
  check("multipart/form-data; charset=utf-8; boundary=\"a b:c\"", MF_STR("--a b:c--"), ".");
  check("multipart/form-data;boundary=a/b=c", MF_STR("--a/b=c--"), ".");
  check("multipart/form-data", MF_STR("--B--"), NO_BOUNDARY);
  check("multipart/form-data; boundary", MF_STR("--B--"), NO_BOUNDARY);
  check("multipart/form-data; boundary=\"\"", MF_STR("----"), BAD_BOUNDARY);
  check("multipart/form-data; boundary=\"a \"", MF_STR("--a --"), BAD_BOUNDARY);
  check("multipart/form-data; boundary=\"a*\"", MF_STR("--a*--"), BAD_BOUNDARY);
  check("multipart/form-data; boundary=a; boundary=a", MF_STR("--a--"), BAD_BOUNDARY);
  check("multipart/form-data; boundary=a; b", MF_STR("--a--"), "!Content-Type: malformed parameters");
}

/* One more than the bound is refused, and the bound itself is not. */
static void test_bounds(void **state)
{
  mf_auto_buf struct mf_buf body, out;
  mf_buf_init(&body, 1 << 20);
  for (unsigned i = 0; i < MF_MULTIPART_PARTS_MAX; i++)
    assert_int_equal(mf_buf_append_str(&body, MF_STR(PART(A, ""))), MF_OK);
  size_t n = body.len;
  assert_int_equal(mf_buf_append_str(&body, MF_STR("--B--")), MF_OK);
  read_all(TYPE, mf_buf_str(&body), 0, &out);
  assert_int_equal(out.ptr[out.len - 1], '.');
  mf_buf_done(&out);
  mf_buf_truncate(&body, n);
  assert_int_equal(mf_buf_append_str(&body, MF_STR("--B\r\n")), MF_OK);
  read_all(TYPE, mf_buf_str(&body), 0, &out);
  assert_non_null(strstr(out.ptr, "!more than 300 parts"));
  mf_buf_done(&out);

  for (size_t over = 0; over < 2; over++) {
    size_t head_n = sizeof(A "\r\nX: \r\n\r\n") - 1, fill = MF_MULTIPART_HEAD_MAX - head_n + over;
    mf_buf_truncate(&body, 0);
    assert_int_equal(mf_buf_append_str(&body, MF_STR("--B\r\n" A "\r\nX: ")), MF_OK);
    for (size_t i = 0; i < fill; i++)
      assert_int_equal(mf_buf_append(&body, "x", 1), MF_OK);
    assert_int_equal(mf_buf_append_str(&body, MF_STR("\r\n\r\n1\r\n--B--")), MF_OK);
    read_all(TYPE, mf_buf_str(&body), 0, &out);
    assert_string_equal(out.ptr, over ? "!part 1: its head is over 8192 bytes" : "[a|-|]1/.");
    mf_buf_done(&out);
  }
  mf_buf_init(&out, 1); /* released on the way out */
}

static void test_types(void **state)
{
  static const struct {
    const char *type;
    enum mf_gw_type expected;
  } rows[] = {
    { "application/json", MF_GW_TYPE_OK },
    { "Application/JSON ; charset=UTF-8", MF_GW_TYPE_OK },
    { "application/json; charset=\"utf8\"; x=y", MF_GW_TYPE_OK },
    { "application/json;", MF_GW_TYPE_OK },
    { "application/json; charset=latin1", MF_GW_TYPE_CHARSET },
    { "application/json; charset", MF_GW_TYPE_BAD },
    { "application/json charset=utf-8", MF_GW_TYPE_OTHER },
    { "application/jsonp", MF_GW_TYPE_OTHER },
    { "text/plain", MF_GW_TYPE_OTHER },
    { "", MF_GW_TYPE_OTHER },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++)
    assert_int_equal(mf_gw_field_type(mf_str_of(rows[i].type), "application/json"), rows[i].expected);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_parts),   cmocka_unit_test(test_all_bytes),  cmocka_unit_test(test_names),
    cmocka_unit_test(test_refused), cmocka_unit_test(test_boundaries), cmocka_unit_test(test_bounds),
    cmocka_unit_test(test_types),
  };
  return cmocka_run_group_tests_name("gateway/multipart", tests, NULL, NULL);
}

/* mf_err: filling, prefixing, cutting. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "base/banned.h"

static void fail_fills_and_returns(void **state)
{
  struct mf_err err = { 0 };
  assert_int_equal(mf_fail(&err, MF_E_INPUT, 0, "field '%s' is %d", "x", 7), MF_E_INPUT);
  assert_int_equal(err.code, MF_E_INPUT);
  assert_int_equal(err.sys, 0);
  assert_string_equal(err.msg, "field 'x' is 7");
}

static void fail_appends_errno(void **state)
{
  struct mf_err err = { 0 };
  assert_int_equal(mf_fail(&err, MF_E_SYS, ENOENT, "open '%s'", "/x"), MF_E_SYS);
  assert_int_equal(err.sys, ENOENT);
  assert_string_equal(err.msg, "open '/x': No such file or directory");
  assert_int_equal(mf_fail(&err, MF_E_SYS, 99999, "open"), MF_E_SYS);
  assert_string_equal(err.msg, "open: unknown error");
}

static void err_may_be_null(void **state)
{
  assert_int_equal(mf_fail(NULL, MF_E_GONE, EPIPE, "x"), MF_E_GONE);
  assert_int_equal(mf_wrap(NULL, MF_E_TIMEOUT, "x"), MF_E_TIMEOUT);
}

static void wrap_reads_like_a_path(void **state)
{
  struct mf_err err = { 0 };
  enum mf_code code = mf_fail(&err, MF_E_SYS, EACCES, "open '/x'");
  code = mf_wrap(&err, code, "mount %s", "root");
  code = mf_wrap(&err, code, "start run");
  assert_int_equal(code, MF_E_SYS);
  assert_int_equal(err.sys, EACCES);
  assert_string_equal(err.msg, "start run: mount root: open '/x': Permission denied");
}

static void wrap_without_inner_error(void **state)
{
  struct mf_err err = { 0 };
  assert_int_equal(mf_wrap(&err, MF_E_LIMIT, "collect"), MF_E_LIMIT);
  assert_int_equal(err.code, MF_E_LIMIT);
  assert_string_equal(err.msg, "collect");
}

static void own_message_may_be_an_argument(void **state)
{
  struct mf_err err = { 0 };
  (void)mf_fail(&err, MF_E_INPUT, 0, "inner");
  (void)mf_fail(&err, MF_E_INTERNAL, 0, "outer (%s)", err.msg);
  assert_string_equal(err.msg, "outer (inner)");
  (void)mf_wrap(&err, MF_E_INTERNAL, "again %s", err.msg);
  assert_string_equal(err.msg, "again outer (inner): outer (inner)");
}

/* For each remainder, a text that is cut must stay whole characters. */
static void cut_keeps_whole_characters(void **state)
{
  for (int lead = 0; lead < 8; lead++) {
    char text[1000];
    int at = snprintf(text, sizeof(text), "%.*s", lead, "xxxxxxxx");
    while (at + 8 < (int)sizeof(text))
      at += snprintf(text + at, sizeof(text) - (size_t)at, "%s", at % 2 ? "☕" : "𝄞");
    struct mf_err err = { 0 };
    (void)mf_fail(&err, MF_E_INPUT, EIO, "%s", text);
    size_t n = strlen(err.msg);
    assert_in_range(n, sizeof(err.msg) - 4, sizeof(err.msg) - 1);
    assert_true(mf_utf8_is_valid(mf_str_of(err.msg)));
    assert_memory_equal(err.msg, text, n);
    (void)mf_wrap(&err, MF_E_INPUT, "é");
    assert_true(mf_utf8_is_valid(mf_str_of(err.msg)));
  }
}

static void allocations(void **state)
{
  mf_auto_free char *a = mf_xstrdup("abc");
  assert_string_equal(a, "abc");
  mf_auto_free char *b = mf_xasprintf("%s-%d", a, 5);
  assert_string_equal(b, "abc-5");
  mf_auto_free int *c = mf_xcalloc(3, sizeof(int));
  assert_int_equal(c[0] | c[1] | c[2], 0);
  c = mf_xrealloc(c, 5 * sizeof(int));
  assert_int_equal(c[2], 0);
  mf_auto_free void *d = mf_xmalloc(0);
  assert_non_null(d);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(fail_fills_and_returns),
    cmocka_unit_test(fail_appends_errno),
    cmocka_unit_test(err_may_be_null),
    cmocka_unit_test(wrap_reads_like_a_path),
    cmocka_unit_test(wrap_without_inner_error),
    cmocka_unit_test(own_message_may_be_an_argument),
    cmocka_unit_test(cut_keeps_whole_characters),
    cmocka_unit_test(allocations),
  };
  return cmocka_run_group_tests_name("base/err", tests, NULL, NULL);
}

/* The spec check: every part that can be wrong, and the words that say so. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/sandbox.h"

static struct mf_sandbox_spec make_spec(void)
{
  struct mf_sandbox_spec spec = { .source = MF_STR("print(1)\n") };
  mf_sandbox_limits_default(&spec.limits);
  return spec;
}

static void accept(const struct mf_sandbox_spec *spec)
{
  struct mf_err err = { .msg = "" };
  enum mf_code code = mf_sandbox_spec_check(spec, &err);
  assert_string_equal(err.msg, "");
  assert_int_equal(code, MF_OK);
}

static void refuse(const struct mf_sandbox_spec *spec, const char *text)
{
  struct mf_err err = { .msg = "" };
  assert_int_equal(mf_sandbox_spec_check(spec, &err), MF_E_INPUT);
  assert_string_equal(err.msg, text);
  assert_int_equal(mf_sandbox_spec_check(spec, NULL), MF_E_INPUT);
}

static void test_source(void **state)
{
  struct mf_sandbox_spec spec = make_spec();
  accept(&spec);
  spec.source = (struct mf_str){ NULL, 0 };
  accept(&spec);
  spec.source = MF_STR("print('\xe5\x91\xa8')");
  accept(&spec);
  spec.source = MF_STR("print(1)\0print(2)");
  refuse(&spec, "source: has a NUL byte");
  spec.source = MF_STR("print('\xff')");
  refuse(&spec, "source: is not valid UTF-8");
  spec.source = MF_STR("x = '\xe5\x91"); /* cut in a character */
  refuse(&spec, "source: is not valid UTF-8");

  char *big = malloc(MF_SOURCE_BYTES_MAX + 1);
  memset(big, '#', MF_SOURCE_BYTES_MAX + 1);
  spec.source = (struct mf_str){ big, MF_SOURCE_BYTES_MAX };
  accept(&spec);
  spec.source.len++;
  refuse(&spec, "source: has 1048577 bytes, more than the limit of 1048576");
  free(big);
}

static void test_source_name(void **state)
{
  struct mf_sandbox_spec spec = make_spec();
  spec.source_name = MF_STR("analysis.py");
  accept(&spec);
  spec.source_name = MF_STR("<stdin>");
  accept(&spec);
  spec.source_name = MF_STR("a/b.py");
  refuse(&spec, "source: its name must be a plain file name, without a folder");
  spec.source_name = MF_STR("..");
  refuse(&spec, "source: the name '..' has a '.' or '..' part");
  spec.source_name = MF_STR("a\nb.py");
  refuse(&spec, "source: the name 'a\\x0ab.py' has a control character");
}

static void test_argv(void **state)
{
  struct mf_sandbox_spec spec = make_spec();
  struct mf_str few[] = { MF_STR("--n"), MF_STR(""), MF_STR("3") };
  spec.argv = few;
  spec.argv_n = 3;
  accept(&spec);
  few[1] = MF_STR("a\0b");
  refuse(&spec, "argument 2: has a NUL byte");
  few[1] = MF_STR("\xc0\x80");
  refuse(&spec, "argument 2: is not valid UTF-8");

  struct mf_str *many = calloc(MF_ARGV_COUNT_MAX + 1, sizeof(*many));
  spec.argv = many;
  spec.argv_n = MF_ARGV_COUNT_MAX;
  accept(&spec);
  spec.argv_n++;
  refuse(&spec, "arguments: 1025 are more than the limit of 1024");
  free(many);

  char *big = malloc(MF_ARGV_BYTES_MAX + 1);
  memset(big, 'a', MF_ARGV_BYTES_MAX + 1);
  struct mf_str one = { big, MF_ARGV_BYTES_MAX };
  spec.argv = &one;
  spec.argv_n = 1;
  accept(&spec);
  one.len++;
  refuse(&spec, "arguments: together more than the limit of 131072 bytes");
  free(big);
}

static void test_file_names(void **state)
{
  struct mf_sandbox_spec spec = make_spec();
  struct mf_sandbox_file files[3] = {
    { MF_STR("sales.csv"), MF_STR("x\n1\n") },
    { MF_STR("d/e/f.csv"), MF_STR("") },
    { MF_STR("d/sales.csv"), MF_STR("\xff\x00\xfe") }, /* contents are bytes */
  };
  spec.files = files;
  spec.file_n = 3;
  accept(&spec);

  static const struct {
    struct mf_str name;
    const char *text;
  } bad[] = {
    { { "", 0 }, "input file: the name '' is empty" },
    { { "/etc/passwd", 11 }, "input file: the name '/etc/passwd' is not relative" },
    { { "../x", 4 }, "input file: the name '../x' has a '.' or '..' part" },
    { { "a//b", 4 }, "input file: the name 'a//b' has an empty part" },
    { { "a\0b", 3 }, "input file: the name 'a\\x00b' has a control character" },
    { { "a\nb", 3 }, "input file: the name 'a\\x0ab' has a control character" },
    { { "a\xff"
        "b",
        3 },
      "input file: the name 'a\\xffb' is not valid UTF-8" },
  };
  for (size_t i = 0; i < MF_ARRAY_N(bad); i++) {
    files[1].name = bad[i].name;
    refuse(&spec, bad[i].text);
  }
  char name[257];
  memset(name, 'n', sizeof(name));
  files[1].name = (struct mf_str){ name, 255 };
  accept(&spec);
  files[1].name.len = 256;
  struct mf_err err;
  assert_int_equal(mf_sandbox_spec_check(&spec, &err), MF_E_INPUT);
  assert_non_null(strstr(err.msg, "has a part of more than 255 bytes"));
}

static void test_same_names(void **state)
{
  struct mf_sandbox_spec spec = make_spec();
  struct mf_sandbox_file files[4] = { { MF_STR("b"), MF_STR("") },
                                      { MF_STR("a"), MF_STR("") },
                                      { MF_STR("c/d"), MF_STR("") },
                                      { MF_STR("a.b"), MF_STR("") } };
  spec.files = files;
  spec.file_n = 4;
  accept(&spec);
  files[3].name = MF_STR("b");
  refuse(&spec, "two input files have the name 'b'");
  /* A file cannot be a folder too, wherever "a.b" sorts. */
  files[3].name = MF_STR("a/x/y");
  refuse(&spec, "input file 'a' is also the folder of another input file");
  files[1].name = MF_STR("a.b");
  accept(&spec);
  files[1].name = MF_STR("a/x");
  refuse(&spec, "input file 'a/x' is also the folder of another input file");

  static const struct {
    struct mf_str a, b;
    bool same;
  } pairs[] = {
    { { "caf\xc3\xa9", 5 }, { "cafe\xcc\x81", 6 }, true }, /* é: one code point, two code points */
    { { "caf\xc3\xa9", 5 }, { "cafe", 4 }, false },
    { { "\xea\xb0\x81", 3 }, { "\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8", 9 }, true }, /* Hangul gag, three jamo */
    { { "\xea\xb0\x80", 3 }, { "\xe1\x84\x80\xe1\x85\xa1", 6 }, true },             /* ga */
    { { "\xe2\x84\xab", 3 }, { "\xc3\x85", 2 }, true },                             /* the angstrom sign is Å */
    { { "\xe1\xba\xad", 3 }, { "a\xcc\x82\xcc\xa3", 5 }, true },                    /* ậ, its marks in either order */
    { { "\xe1\xba\xad", 3 }, { "a\xcc\xa3\xcc\x82", 5 }, true },
    { { "\xef\xac\x81", 3 }, { "fi", 2 }, false }, /* a ligature is only compatible */
    { { "A", 1 }, { "a", 1 }, false },
    { { "\xf0\x9d\x85\x9e", 4 }, { "\xf0\x9d\x85\x97\xf0\x9d\x85\xa5", 8 }, true }, /* a half note */
  };
  spec.file_n = 2;
  for (size_t i = 0; i < MF_ARRAY_N(pairs); i++) {
    files[0].name = pairs[i].a;
    files[1].name = pairs[i].b;
    assert_int_equal(mf_sandbox_spec_check(&spec, NULL), pairs[i].same ? MF_E_INPUT : MF_OK);
  }
}

static void test_file_sizes(void **state)
{
  struct mf_sandbox_spec spec = make_spec();
  char *big = calloc(1, MF_INPUT_BYTES_MAX + 1);
  struct mf_sandbox_file two[2] = { { MF_STR("a"), { big, MF_INPUT_BYTES_MAX } }, { MF_STR("b"), { big, 0 } } };
  spec.files = two;
  spec.file_n = 2;
  accept(&spec);
  two[1].data.len = 1;
  refuse(&spec, "input files: with 'b' they are over the limit of 20971520 bytes in all");
  two[0].data.len = SIZE_MAX; /* the sum must not wrap */
  two[1].data.len = 2;
  refuse(&spec, "input files: with 'a' they are over the limit of 20971520 bytes in all");
  free(big);

  struct mf_sandbox_file *many = calloc(MF_INPUT_COUNT_MAX + 1, sizeof(*many));
  char(*names)[8] = calloc(MF_INPUT_COUNT_MAX + 1, sizeof(*names));
  for (unsigned i = 0; i <= MF_INPUT_COUNT_MAX; i++) {
    snprintf(names[i], sizeof(names[i]), "f%u", i);
    many[i].name = mf_str_of(names[i]);
  }
  spec.files = many;
  spec.file_n = MF_INPUT_COUNT_MAX;
  accept(&spec);
  spec.file_n++;
  refuse(&spec, "input files: 257 are more than the limit of 256");
  free(names);
  free(many);
}

static void test_limits_and_runtime(void **state)
{
  struct mf_sandbox_spec spec = make_spec();
  spec.limits.wall_ms = 0;
  refuse(&spec, "limit wall_ms: must be from 1 to 3600000, got 0");
  spec.limits.wall_ms = 1000;
  spec.runtime = MF_RUNTIME_DATA;
  accept(&spec);
  spec.runtime = (enum mf_runtime_hint)9;
  refuse(&spec, "runtime: unknown value 9");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_source),
    cmocka_unit_test(test_source_name),
    cmocka_unit_test(test_argv),
    cmocka_unit_test(test_file_names),
    cmocka_unit_test(test_same_names),
    cmocka_unit_test(test_file_sizes),
    cmocka_unit_test(test_limits_and_runtime),
  };
  return cmocka_run_group_tests_name("spec", tests, NULL, NULL);
}

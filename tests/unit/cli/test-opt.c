/* The option parser and the search for the nearest word. */
#include "unit.h"

#include <string.h>

#include "cli.h"

enum { FILE_ = 2, LIMIT, FLAG, MODE, SECRET, WAIT };
static const struct mf_opt table[] = {
  { FILE_, 'f', "file", "FILE", "a file", "@file" },
  { LIMIT, 0, "output-limit", "N", "a limit", NULL },
  { FLAG, 'q', "quiet", NULL, "a flag", NULL },
  { MODE, 'm', "mode", "MODE", "a choice", "fast slow" },
  { SECRET, 0, "secret", NULL, NULL, NULL },
  { WAIT, 'w', "wait", "[S]", "a value that may be left out", NULL },
  MF_OPT_HELP_ROW,
  MF_OPT_END,
};

struct expected {
  int id; /* 0: a word, -1: the end */
  const char *value;
};

static void check(int argc, const char *const *argv, const struct expected *want)
{
  struct mf_opt_parser p;
  mf_opt_init(&p, table, argc, (char **)(uintptr_t)argv);
  for (;; want++) {
    const struct mf_opt *o;
    const char *value;
    struct mf_err err = { 0 };
    assert_ok(mf_opt_next(&p, &o, &value, &err), &err);
    if (want->id == -1) {
      assert_null(o);
      assert_null(value);
      return;
    }
    assert_int_equal(o ? o->id : 0, want->id);
    if (want->value)
      assert_string_equal(value, want->value);
    else
      assert_null(value);
  }
}

#define CHECK(words, ...)                                                                                              \
  do {                                                                                                                 \
    const char *const argv_[] = words;                                                                                 \
    const struct expected want_[] = { __VA_ARGS__, { -1, NULL } };                                                     \
    check((int)MF_ARRAY_N(argv_), argv_, want_);                                                                       \
  } while (0)
#define W(...)                                                                                                         \
  {                                                                                                                    \
    __VA_ARGS__                                                                                                        \
  }

static void long_and_short_forms(void **state)
{
  (void)state;
  CHECK(W("--file", "a", "--file=b", "-f", "c", "-fd"), { FILE_, "a" }, { FILE_, "b" }, { FILE_, "c" }, { FILE_, "d" });
  CHECK(W("--quiet", "-q", "-qqfx"), { FLAG, NULL }, { FLAG, NULL }, { FLAG, NULL }, { FLAG, NULL }, { FILE_, "x" });
  CHECK(W("--file="), { FILE_, "" });
  CHECK(W("--file=a=b"), { FILE_, "a=b" });
  CHECK(W("--output-limit", "-5"), { LIMIT, "-5" }); /* a value may look like an option: its range is checked later */
  CHECK(W("--secret"), { SECRET, NULL });
}

static void a_value_that_may_be_left_out(void **state)
{
  CHECK(W("--wait"), { WAIT, NULL });
  CHECK(W("--wait=5"), { WAIT, "5" });
  CHECK(W("--wait="), { WAIT, "" });
  CHECK(W("--wait", "5"), { WAIT, NULL }, { 0, "5" }); /* the next word is its own */
  CHECK(W("-wq", "-w", "x"), { WAIT, NULL }, { FLAG, NULL }, { WAIT, NULL }, { 0, "x" });
}

static void words_and_the_end_of_options(void **state)
{
  (void)state;
  CHECK(W("one", "-q", "two"), { 0, "one" }, { FLAG, NULL }, { 0, "two" });
  CHECK(W("-"), { 0, "-" });
  CHECK(W("-q", "--", "-q", "--file", "--"), { FLAG, NULL }, { 0, "-q" }, { 0, "--file" }, { 0, "--" });
  CHECK(W("--"), { -1, NULL });
  CHECK(W(""), { 0, "" });
}

static void choices(void **state)
{
  (void)state;
  CHECK(W("--mode", "fast", "-mslow"), { MODE, "fast" }, { MODE, "slow" });
}

static const char *fail_of(const char *a, const char *b)
{
  static struct mf_err err;
  const char *argv[] = { a, b };
  struct mf_opt_parser p;
  const struct mf_opt *o;
  const char *value;
  enum mf_code code;

  err = (struct mf_err){ 0 };
  mf_opt_init(&p, table, b ? 2 : 1, (char **)(uintptr_t)argv);
  do
    code = mf_opt_next(&p, &o, &value, &err);
  while (code == MF_OK && (o || value));
  assert_int_equal(code, MF_E_INPUT);
  return err.msg;
}

static void errors_name_the_option(void **state)
{
  (void)state;
  assert_string_equal(fail_of("--fiel", NULL), "unknown option '--fiel': did you mean --file?");
  assert_string_equal(fail_of("--output", NULL), "unknown option '--output': did you mean --output-limit?");
  assert_string_equal(fail_of("--quite=1", NULL), "unknown option '--quite': did you mean --quiet?");
  assert_string_equal(fail_of("--xyzzy", NULL), "unknown option '--xyzzy': see --help");
  assert_string_equal(fail_of("--secre", NULL), "unknown option '--secre': see --help"); /* hidden */
  assert_string_equal(fail_of("-z", NULL), "unknown option '-z': see --help");
  assert_string_equal(fail_of("-qz", NULL), "unknown option '-z': see --help");
  assert_string_equal(fail_of("--file", NULL), "--file: needs a value: FILE");
  assert_string_equal(fail_of("-f", NULL), "--file: needs a value: FILE");
  assert_string_equal(fail_of("--quiet=1", NULL), "--quiet: takes no value");
  assert_string_equal(fail_of("--mode", "quick"), "--mode: expected one of: fast slow; got 'quick'");
  assert_string_equal(fail_of("--mode=fas", NULL), "--mode: expected one of: fast slow; got 'fas'");
  assert_string_equal(fail_of("--mode=fast slow", NULL), "--mode: expected one of: fast slow; got 'fast slow'");
}

static void hostile_words_are_escaped_and_bounded(void **state)
{
  (void)state;
  assert_null(strchr(fail_of("--a\nb", NULL), '\n'));
  assert_null(strchr(fail_of("-\n", NULL), '\n'));
  char word[4096];
  memset(word, 'a', sizeof(word) - 1);
  memcpy(word, "--", 2);
  word[sizeof(word) - 1] = '\0';
  assert_true(strlen(fail_of(word, NULL)) < 400);
}

static void commands_have_neighbours(void **state)
{
  (void)state;
  struct mf_err err = { 0 };
  assert_int_equal(mf_command_unknown("rnu", &err), MF_E_INPUT);
  assert_string_equal(err.msg, "unknown command 'rnu': did you mean 'run'?");
  assert_int_equal(mf_command_unknown("doc", &err), MF_E_INPUT);
  assert_string_equal(err.msg, "unknown command 'doc': did you mean 'doctor'?");
  assert_int_equal(mf_command_unknown("analysis.py", &err), MF_E_INPUT);
  assert_string_equal(err.msg, "unknown command 'analysis.py': did you mean 'mayfly run analysis.py'?");
  assert_int_equal(mf_command_unknown("zzz", &err), MF_E_INPUT);
  assert_string_equal(err.msg, "unknown command 'zzz': see 'mayfly help'");
  assert_null(mf_command_find("rnu"));
  assert_ptr_equal(mf_command_find("run"), &mf_command_run);
}

/* Tables are data that people read: they keep some rules. */
static void every_command_is_whole(void **state)
{
  (void)state;
  for (const struct mf_command *const *c = mf_commands; *c; c++) {
    assert_non_null((*c)->summary);
    assert_non_null((*c)->examples);
    bool has_help = false;
    for (const struct mf_opt *o = (*c)->opts; o->name; o++) {
      assert_true(o->id > 0);
      assert_true(!o->help || !strchr(o->help, '\n'));
      assert_true(o->help || strcmp(o->name, "no-cgroup") == 0 || strcmp(o->name, "test-disable-layers") == 0);
      has_help |= o->id == MF_OPT_HELP;
      for (const struct mf_opt *other = o + 1; other->name; other++) {
        assert_int_not_equal(o->id, other->id);
        assert_string_not_equal(o->name, other->name);
        assert_true(o->letter == 0 || o->letter != other->letter);
      }
    }
    assert_true(has_help);

    struct mf_buf out;
    mf_buf_init(&out, 65536);
    mf_help_command(*c, &out);
    assert_non_null(strstr(out.ptr, "Examples:"));
    assert_non_null(strstr(out.ptr, "--help"));
    for (const char *line = out.ptr; *line; line += strcspn(line, "\n") + 1)
      assert_true(strcspn(line, "\n") <= 124); /* bytes; a few characters have more than one */
    mf_buf_done(&out);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(long_and_short_forms),         cmocka_unit_test(a_value_that_may_be_left_out),
    cmocka_unit_test(words_and_the_end_of_options), cmocka_unit_test(choices),
    cmocka_unit_test(errors_name_the_option),       cmocka_unit_test(hostile_words_are_escaped_and_bounded),
    cmocka_unit_test(commands_have_neighbours),     cmocka_unit_test(every_command_is_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Programs and input files from outside. */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "input.h"

struct place {
  char dir[64];
  struct mf_input in;
};

static int set_up(void **state)
{
  struct place *p = calloc(1, sizeof(*p));
  assert_non_null(p);
  snprintf(p->dir, sizeof(p->dir), "/tmp/mf-input-XXXXXX");
  assert_non_null(mkdtemp(p->dir));
  assert_int_equal(chdir(p->dir), 0);
  *state = p;
  return 0;
}

static int tear_down(void **state)
{
  struct place *p = *state;
  mf_input_done(&p->in);
  assert_int_equal(chdir("/"), 0);
  char command[100];
  snprintf(command, sizeof(command), "rm -rf '%s'", p->dir);
  assert_int_equal(system(command), 0);
  free(p);
  return 0;
}

static void put(const char *name, const void *bytes, size_t n)
{
  int fd = open(name, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0644);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, bytes, n), n);
  close(fd);
}

static void utf8_places(void **state)
{
  (void)state;
  static const struct {
    const char *text;
    size_t at;
  } rows[] = {
    { "", 0 },
    { "abc", 3 },
    { "é☕😀", 9 },
    { "a\xff", 1 },
    { "a\x80", 1 },
    { "\xc0\x80", 0 },
    { "\xe0\x80\x80", 0 },
    { "\xed\xa0\x80", 0 },
    { "\xf4\x90\x80\x80", 0 },
    { "ab\xe2\x98", 2 },
    { "ab\xc3", 2 },
    { "\xf0\x8f\x80\x80", 0 },
    { "\xef\xbf\xbf", 3 },
    { "\xf4\x8f\xbf\xbf", 4 },
    { "x\xf0\x9f\x98", 1 },
    { "\xed\x9f\xbf", 3 },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++)
    assert_int_equal(mf_utf8_bad_at((struct mf_str){ rows[i].text, strlen(rows[i].text) }), rows[i].at);
}

static void sizes(void **state)
{
  (void)state;
  char text[32];
  mf_size_text(0, text);
  assert_string_equal(text, "0 bytes");
  mf_size_text(1, text);
  assert_string_equal(text, "1 byte");
  mf_size_text(1536, text);
  assert_string_equal(text, "1.5 KiB");
  mf_size_text(5u << 20, text);
  assert_string_equal(text, "5.0 MiB");
}

static void a_program(void **state)
{
  struct place *p = *state;
  struct mf_err err = { 0 };
  put("a.py", "print(1)\n", 9);
  assert_ok(mf_input_source(&p->in, "a.py", &err), &err);
  assert_int_equal(p->in.source_n, 9);
  assert_string_equal(p->in.source, "print(1)\n");
  assert_string_equal(p->in.source_name, "a.py");
}

static void an_empty_program(void **state)
{
  struct place *p = *state;
  struct mf_err err = { 0 };
  put("empty.py", "", 0);
  assert_ok(mf_input_source(&p->in, "./empty.py", &err), &err);
  assert_int_equal(p->in.source_n, 0);
  assert_string_equal(p->in.source_name, "empty.py");
}

static void assert_source_fails(const char *path, const char *msg)
{
  struct mf_input in = { 0 };
  struct mf_err err = { 0 };
  assert_int_not_equal(mf_input_source(&in, path, &err), MF_OK);
  assert_string_equal(err.msg, msg);
  mf_input_done(&in);
}

static void bad_programs(void **state)
{
  (void)state;
  put("nul.py", "a\nb\0c", 5);
  assert_source_fails("nul.py", "nul.py: NUL byte at offset 3 (line 2)");
  put("latin1.py", "# caf\xe9\n", 7);
  assert_source_fails("latin1.py", "latin1.py: invalid UTF-8 at byte offset 5 (line 1)");
  put("both.py", "\xff\0", 2);
  assert_source_fails("both.py", "both.py: invalid UTF-8 at byte offset 0 (line 1)");
  assert_source_fails("none.py", "none.py: No such file or directory");
  assert_source_fails(".", ".: is a directory");
  assert_source_fails("none.py/x", "none.py/x: No such file or directory");
  char *big = malloc(MF_SOURCE_BYTES_MAX + 1);
  assert_non_null(big);
  memset(big, ' ', MF_SOURCE_BYTES_MAX + 1);
  put("big.py", big, MF_SOURCE_BYTES_MAX + 1);
  assert_source_fails("big.py", "big.py: a program may have at most 1048576 bytes");
  assert_source_fails("/dev/zero", "/dev/zero: a program may have at most 1048576 bytes");
  put("fits.py", big, MF_SOURCE_BYTES_MAX);
  free(big);
  struct mf_input in = { 0 };
  struct mf_err err = { 0 };
  assert_ok(mf_input_source(&in, "fits.py", &err), &err);
  assert_int_equal(in.source_n, MF_SOURCE_BYTES_MAX);
  mf_input_done(&in);
}

static void inputs(void **state)
{
  struct place *p = *state;
  struct mf_err err = { 0 };
  put("a.csv", "1\0002", 3);
  put("odd:name", "x", 1);
  assert_ok(mf_input_add(&p->in, "a.csv", &err), &err);
  assert_ok(mf_input_add(&p->in, "./a.csv:sub/b.csv", &err), &err);
  assert_ok(mf_input_add(&p->in, "odd:name", &err), &err); /* the file is there: the colon is part of it */
  assert_ok(mf_input_add(&p->in, "odd:name:plain", &err), &err);
  static const char *const names[] = { "a.csv", "sub/b.csv", "odd:name", "plain" };
  assert_int_equal(p->in.file_n, 4);
  assert_int_equal(p->in.bytes, 8);
  for (unsigned i = 0; i < 4; i++)
    assert_true(mf_str_is(p->in.files[i].name, names[i]));
  assert_int_equal(p->in.files[0].data.len, 3);
  assert_memory_equal(p->in.files[0].data.ptr, "1\0002", 3);
}

static void assert_input_fails(struct mf_input *in, const char *arg, const char *part)
{
  struct mf_err err = { 0 };
  unsigned n = in->file_n;
  assert_int_not_equal(mf_input_add(in, arg, &err), MF_OK);
  if (!strstr(err.msg, part))
    fail_msg("'%s' does not say '%s'", err.msg, part);
  assert_null(strchr(err.msg, '\n'));
  assert_int_equal(in->file_n, n);
}

static void bad_inputs(void **state)
{
  struct place *p = *state;
  struct mf_err err = { 0 };
  put("a", "1", 1);
  assert_int_equal(mkdir("d", 0755), 0);
  assert_int_equal(mkfifo("pipe", 0644), 0);
  assert_input_fails(&p->in, "none", "none: No such file or directory");
  assert_input_fails(&p->in, "d", "d: is a directory");
  assert_input_fails(&p->in, "pipe", "pipe: is a pipe");
  assert_input_fails(&p->in, "/dev/null", "/dev/null: is a device");
  static const char *const bad[] = { "a:../x",      "a:/abs", "a:x/../y", "a:.", "a:x//y",
                                     "a:new\nline", "a:\xff", "a:",       "a:x/" };
  for (size_t i = 0; i < MF_ARRAY_N(bad); i++)
    assert_input_fails(&p->in, bad[i], "input name");
  char name[300] = "a:";
  memset(name + 2, 'n', 256);
  assert_input_fails(&p->in, name, "input name");
  name[2 + 255] = '\0';
  assert_ok(mf_input_add(&p->in, name, &err), &err);

  assert_ok(mf_input_add(&p->in, "a", &err), &err);
  assert_input_fails(&p->in, "a", "would both be 'a' in the sandbox");
  assert_input_fails(&p->in, "a:a/b", "would both be");
  assert_ok(mf_input_add(&p->in, "a:ab", &err), &err);
}

static void the_limit_is_for_all_together(void **state)
{
  struct place *p = *state;
  struct mf_err err = { 0 };
  put("half", "", 0);
  assert_int_equal(truncate("half", MF_INPUT_BYTES_MAX / 2), 0);
  put("one", "1", 1);
  assert_ok(mf_input_add(&p->in, "half:1", &err), &err);
  assert_ok(mf_input_add(&p->in, "half:2", &err), &err); /* exactly full */
  assert_int_equal(p->in.bytes, MF_INPUT_BYTES_MAX);
  assert_input_fails(&p->in, "one", "all inputs together may hold 20 MiB");
  put("none", "", 0);
  assert_ok(mf_input_add(&p->in, "none", &err), &err);
}

static void too_many(void **state)
{
  struct place *p = *state;
  struct mf_err err = { 0 };
  put("a", "1", 1);
  char(*args)[16] = calloc(MF_INPUT_COUNT_MAX, sizeof(*args));
  assert_non_null(args);
  for (unsigned i = 0; i < MF_INPUT_COUNT_MAX; i++) {
    snprintf(args[i], sizeof(args[i]), "a:f%u", i);
    assert_ok(mf_input_add(&p->in, args[i], &err), &err);
  }
  assert_input_fails(&p->in, "a:more", "at most 256 input files");
  mf_input_done(&p->in);
  free(args);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
  const struct CMUnitTest tests[] = {
    T(utf8_places),  T(sizes),  T(a_program),  T(an_empty_program),
    T(bad_programs), T(inputs), T(bad_inputs), T(the_limit_is_for_all_together),
    T(too_many),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

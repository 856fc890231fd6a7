/* Files that a sandbox hands over: by an honest one, and by one that hostile code owns. */
#include "unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/sandbox.h"
#include "base/banned.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)
#define OFFERS_MAX 300

struct offer {
  struct mf_offered_file files[OFFERS_MAX];
  unsigned n;
  struct mf_sandbox_limits limits;
};

static void begin(struct offer *o)
{
  *o = (struct offer){ .n = 0 };
  mf_sandbox_limits_default(&o->limits);
}

static int make_memfd(struct mf_str data, int seals)
{
  int fd = -1;
  struct mf_err err;
  assert_ok(mf_memfd("file", &fd, &err), &err);
  assert_ok(mf_write_all(fd, data.ptr, data.len, &err), &err);
  assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
  return fd;
}

static void add(struct offer *o, struct mf_str name, int fd, uint64_t size)
{
  assert_true(o->n < OFFERS_MAX);
  o->files[o->n++] = (struct mf_offered_file){ .name = name, .fd = fd, .size_bytes = size };
}

static void add_text(struct offer *o, const char *name, const char *text)
{
  add(o, mf_str_of(name), make_memfd(mf_str_of(text), SEALS), 0);
}

static struct mf_sandbox_result *adopt(struct offer *o, const struct mf_sandbox_file *inputs, unsigned input_n,
                                       uint64_t left_n, uint64_t other_n, const atomic_bool *stop)
{
  struct mf_sandbox_result *r = mf_sandbox_result_new();
  mf_artifacts_adopt(o->files, o->n, left_n, other_n, &o->limits, inputs, input_n, stop, r);
  for (unsigned i = 0; i < o->n; i++)
    mf_close_ptr(&o->files[i].fd);
  return r;
}

static void assert_rejected(const struct mf_sandbox_result *r, const char *path, const char *words)
{
  for (unsigned i = 0; i < r->rejected_n; i++) {
    if (strcmp(r->rejected[i].path, path) == 0 && strstr(r->rejected[i].reason, words))
      return;
  }
  fail_msg("'%s' was not refused with '%s'", path, words);
}

static void honest_files_are_kept_as_copies(void **state)
{
  struct offer o;
  begin(&o);
  add_text(&o, "b.json", "{}");
  add_text(&o, "a/deep/c.txt", "abc");
  add_text(&o, "empty", "");
  int original = o.files[1].fd;
  assert_int_equal(lseek(original, 2, SEEK_SET), 2); /* the offset is the other's business */
  struct mf_sandbox_result *r = adopt(&o, NULL, 0, 0, 0, NULL);
  assert_int_equal(r->artifact_n, 3);
  assert_string_equal(r->artifacts[0].path, "a/deep/c.txt");
  assert_string_equal(r->artifacts[0].sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  assert_string_equal(r->artifacts[1].path, "b.json");
  assert_string_equal(r->artifacts[1].mime_type, "application/json");
  assert_string_equal(r->artifacts[2].path, "empty");
  assert_int_equal(r->artifacts[2].size_bytes, 0);
  char text[8] = "";
  assert_int_equal(read(r->artifacts[0].fd, text, sizeof(text)), 3);
  assert_string_equal(text, "abc");
  assert_int_equal(write(r->artifacts[0].fd, "x", 1), -1); /* sealed */
  assert_int_equal(r->rejected_n, 0);
  mf_sandbox_result_free(r);
}

static void unchanged_inputs_are_left_out(void **state)
{
  static const struct mf_sandbox_file inputs[] = { { MF_STR("z.txt"), MF_STR("same") },
                                                   { MF_STR("a.txt"), MF_STR("before") },
                                                   { MF_STR("c.txt"), MF_STR("longer") } };
  struct offer o;
  begin(&o);
  add_text(&o, "z.txt", "same");
  add_text(&o, "a.txt", "after!");
  add_text(&o, "c.txt", "long");
  struct mf_sandbox_result *r = adopt(&o, inputs, MF_ARRAY_N(inputs), 0, 0, NULL);
  assert_int_equal(r->artifact_n, 2);
  assert_string_equal(r->artifacts[0].path, "a.txt");
  assert_string_equal(r->artifacts[1].path, "c.txt");
  assert_int_equal(r->rejected_n, 0);
  mf_sandbox_result_free(r);
}

static void wrong_names_are_refused(void **state)
{
  struct offer o;
  begin(&o);
  static const char *const names[] = { "/etc/passwd", "../x", "a/../b", "a//b", "./a", "a/", "", "x\ny", "\xff\xfe" };
  for (size_t i = 0; i < MF_ARRAY_N(names); i++)
    add_text(&o, names[i], "x");
  add(&o, (struct mf_str){ "nul\0byte", 8 }, make_memfd(MF_STR("x"), SEALS), 0);
  char longest[1100];
  memset(longest, 'a', sizeof(longest));
  add(&o, (struct mf_str){ longest, sizeof(longest) }, make_memfd(MF_STR("x"), SEALS), 0);
  struct mf_sandbox_result *r = adopt(&o, NULL, 0, 0, 0, NULL);
  assert_int_equal(r->artifact_n, 0);
  assert_int_equal(r->rejected_n, MF_ARRAY_N(names) + 2);
  assert_rejected(r, "x\\x0ay", "control character");
  assert_rejected(r, "\\xff\\xfe", "not valid UTF-8");
  assert_rejected(r, ".", "no name");
  mf_sandbox_result_free(r);
}

static void one_name_is_one_file(void **state)
{
  struct offer o;
  begin(&o);
  add_text(&o, "a", "first");
  add_text(&o, "a", "second");
  add_text(&o, "a/b", "its folder is a file");
  add_text(&o, "c/d", "x");
  add_text(&o, "c", "a folder already");
  add_text(&o, "ab", "another name");
  struct mf_sandbox_result *r = adopt(&o, NULL, 0, 0, 0, NULL);
  assert_int_equal(r->artifact_n, 3);
  assert_string_equal(r->artifacts[0].path, "a");
  assert_int_equal(r->artifacts[0].size_bytes, 5);
  assert_string_equal(r->artifacts[1].path, "ab");
  assert_string_equal(r->artifacts[2].path, "c/d");
  assert_int_equal(r->rejected_n, 3);
  mf_sandbox_result_free(r);
}

static void only_sealed_memory_is_read(void **state)
{
  struct offer o;
  begin(&o);
  int pipe_fds[2];
  assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
  add(&o, MF_STR("pipe"), pipe_fds[0], 0); /* reading it would wait for ever */
  add(&o, MF_STR("passwd"), open("/etc/passwd", O_RDONLY | O_CLOEXEC), 0);
  add(&o, MF_STR("null"), open("/dev/zero", O_RDONLY | O_CLOEXEC), 0);
  add(&o, MF_STR("folder"), open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), 0);
  add(&o, MF_STR("unsealed"), make_memfd(MF_STR("x"), 0), 0);
  add(&o, MF_STR("grows"), make_memfd(MF_STR("x"), F_SEAL_SHRINK | F_SEAL_WRITE), 0);
  add(&o, MF_STR("shrinks"), make_memfd(MF_STR("x"), F_SEAL_GROW | F_SEAL_WRITE), 0);
  add(&o, MF_STR("changes"), make_memfd(MF_STR("x"), F_SEAL_GROW | F_SEAL_SHRINK), 0);
  struct mf_sandbox_result *r = adopt(&o, NULL, 0, 0, 0, NULL);
  close(pipe_fds[1]);
  assert_int_equal(r->artifact_n, 0);
  assert_int_equal(r->rejected_n, 8);
  for (unsigned i = 0; i < r->rejected_n; i++)
    assert_string_equal(r->rejected[i].reason, "its content is not sealed");
  mf_sandbox_result_free(r);
}

static void limits_hold_whatever_is_told(void **state)
{
  struct offer o;
  begin(&o);
  o.limits.artifact_bytes = 10;
  o.limits.artifact_count = 2;
  int sparse = -1;
  struct mf_err err;
  assert_ok(mf_memfd("sparse", &sparse, &err), &err);
  assert_int_equal(ftruncate(sparse, (off_t)1 << 50), 0);
  assert_int_equal(fcntl(sparse, F_ADD_SEALS, SEALS), 0);
  add(&o, MF_STR("pebibyte"), sparse, 1); /* a lie: refused by what the kernel says, before a byte is read */
  add_text(&o, "six", "123456");
  add_text(&o, "five", "12345");
  add_text(&o, "four", "1234");
  add_text(&o, "none", "");
  add(&o, MF_STR("withheld-big"), -1, 1u << 30);
  add(&o, MF_STR("withheld-many"), -1, 0);
  add(&o, MF_STR("lost"), MF_OFFERED_LOST, 1);
  struct mf_sandbox_result *r = adopt(&o, NULL, 0, 0, 0, NULL);
  assert_int_equal(r->artifact_n, 2);
  assert_string_equal(r->artifacts[0].path, "four");
  assert_string_equal(r->artifacts[1].path, "six");
  assert_rejected(r, "pebibyte", "over the size limit (10 bytes");
  assert_rejected(r, "five", "over the size limit");
  assert_rejected(r, "none", "over the count limit (2 artifacts)");
  assert_rejected(r, "withheld-big", "over the size limit");
  assert_rejected(r, "withheld-many", "over the count limit");
  assert_rejected(r, "lost", "cannot be read (Too many open files)");
  mf_sandbox_result_free(r);
}

static void what_was_not_listed_is_counted(void **state)
{
  struct offer o;
  begin(&o);
  char names[100][16];
  for (unsigned i = 0; i < MF_ARRAY_N(names); i++) {
    snprintf(names[i], sizeof(names[i]), "../%02u", i);
    add_text(&o, names[i], "x");
  }
  struct mf_sandbox_result *r = adopt(&o, NULL, 0, UINT32_MAX, 3, NULL);
  assert_int_equal(r->rejected_n, MF_REJECTED_MAX + 1);
  assert_rejected(r, ".", "neither a file nor a folder");
  char more[64]; /* 100, a note, those left; 64 of them listed */
  snprintf(more, sizeof(more), "\xe2\x80\xa6 and %llu more", 100ull + 1 + UINT32_MAX - MF_REJECTED_MAX);
  assert_rejected(r, more, "not listed one by one");
  mf_sandbox_result_free(r);
}

static void it_stops_when_asked(void **state)
{
  struct offer o;
  begin(&o);
  add_text(&o, "a", "x");
  const atomic_bool stop = true;
  struct mf_sandbox_result *r = adopt(&o, NULL, 0, 0, 0, &stop);
  assert_int_equal(r->artifact_n, 0);
  assert_rejected(r, ".", "stopped");
  mf_sandbox_result_free(r);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(honest_files_are_kept_as_copies), cmocka_unit_test(unchanged_inputs_are_left_out),
    cmocka_unit_test(wrong_names_are_refused),         cmocka_unit_test(one_name_is_one_file),
    cmocka_unit_test(only_sealed_memory_is_read),      cmocka_unit_test(limits_hold_whatever_is_told),
    cmocka_unit_test(what_was_not_listed_is_counted),  cmocka_unit_test(it_stops_when_asked),
  };
  return cmocka_run_group_tests_name("adopt", tests, NULL, NULL);
}

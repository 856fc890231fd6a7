/* Artifacts into a directory. */
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "deliver.h"

static int set_up(void **state)
{
  char *dir = strdup("/tmp/mf-deliver-XXXXXX");
  assert_non_null(dir);
  assert_non_null(mkdtemp(dir));
  assert_int_equal(chdir(dir), 0);
  *state = dir;
  return 0;
}

static int tear_down(void **state)
{
  char command[100];
  assert_int_equal(chdir("/"), 0);
  snprintf(command, sizeof(command), "rm -rf '%s'", (char *)*state);
  assert_int_equal(system(command), 0);
  free(*state);
  return 0;
}

static struct mf_sandbox_result *result_of(unsigned n, const char *const *names)
{
  struct mf_sandbox_result *r = mf_sandbox_result_new();
  r->artifacts = mf_xcalloc(n, sizeof(*r->artifacts));
  r->artifact_n = n;
  for (unsigned i = 0; i < n; i++) {
    struct mf_artifact *a = &r->artifacts[i];
    a->path = mf_xstrdup(names[i]);
    a->fd = memfd_create("artifact", MFD_CLOEXEC);
    assert_true(a->fd >= 0);
    a->size_bytes = strlen(names[i]);
    assert_int_equal(write(a->fd, names[i], a->size_bytes), a->size_bytes); /* the content is the name */
  }
  return r;
}

static void assert_content(const char *path, const char *text)
{
  char got[300] = "";
  int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0)
    fail_msg("no %s", path);
  assert_true(read(fd, got, sizeof(got) - 1) >= 0);
  close(fd);
  assert_string_equal(got, text);
}

static unsigned count(const char *dir)
{
  unsigned n = 0;
  DIR *d = opendir(dir);
  assert_non_null(d);
  for (struct dirent *e; (e = readdir(d)) != NULL;)
    n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
  closedir(d);
  return n;
}

static void writes_and_makes_folders(void **state)
{
  (void)state;
  static const char *const names[] = { "a.csv", "sub/deep/b.csv", "sub/c.csv" };
  struct mf_err err = { 0 };
  struct mf_sandbox_result *r = result_of(3, names);
  assert_ok(mf_deliver("x/y/out", true, r, &err), &err);
  assert_content("x/y/out/a.csv", names[0]);
  assert_content("x/y/out/sub/deep/b.csv", names[1]);
  assert_content("x/y/out/sub/c.csv", names[2]);
  assert_int_equal(count("x/y/out"), 2);
  mf_sandbox_result_free(r);
}

static void nothing_to_write_makes_nothing(void **state)
{
  (void)state;
  struct mf_err err = { 0 };
  struct mf_sandbox_result *r = mf_sandbox_result_new();
  assert_ok(mf_deliver("out", true, r, &err), &err);
  assert_int_equal(count("."), 0);
  mf_sandbox_result_free(r);
}

static void replaces_files(void **state)
{
  (void)state;
  static const char *const names[] = { "a" };
  struct mf_err err = { 0 };
  assert_int_equal(mkdir("out", 0755), 0);
  assert_int_equal(system("echo older and longer > out/a; ln out/a kept"), 0);
  struct mf_sandbox_result *r = result_of(1, names);
  assert_ok(mf_deliver("out/", true, r, &err), &err);
  assert_content("out/a", "a");
  assert_content("kept", "older and longer\n"); /* a new file under the name, not new bytes in the old file */
  assert_int_equal(count("out"), 1);
  mf_sandbox_result_free(r);
}

static void replaces_nothing_unasked(void **state)
{
  (void)state;
  static const char *const names[] = { "a", "sub/b" };
  struct mf_err err = { 0 };
  struct mf_sandbox_result *r = result_of(2, names);
  assert_null(mf_deliver_taken("out", r)); /* not there yet */
  assert_int_equal(mkdir("out", 0755), 0);
  assert_null(mf_deliver_taken("out", r));

  assert_int_equal(system("echo mine > out/sub"), 0); /* a file where a folder should be */
  char *path = mf_deliver_taken("out", r);
  assert_string_equal(path, "out/sub/b");
  free(path);
  assert_int_equal(system("rm out/sub; mkdir out/sub; ln -s nowhere out/sub/b"), 0);
  path = mf_deliver_taken("out", r);
  assert_string_equal(path, "out/sub/b");
  free(path);
  assert_int_equal(mf_deliver("out", false, r, &err), MF_E_INPUT);
  assert_non_null(strstr(err.msg, "out/sub/b: exists already"));
  mf_sandbox_result_free(r);

  path = mf_deliver_aside("out");
  assert_string_equal(path, "out/mayfly-out-1");
  free(path);
  assert_int_equal(system("ln -s nowhere out/mayfly-out-1; mkdir out/mayfly-out-2"), 0);
  path = mf_deliver_aside("out");
  assert_string_equal(path, "out/mayfly-out-3");
  r = result_of(2, names);
  assert_ok(mf_deliver(path, false, r, &err), &err);
  assert_content("out/mayfly-out-3/a", "a");
  assert_content("out/mayfly-out-3/sub/b", "sub/b");
  free(path);
  mf_sandbox_result_free(r);
}

static void follows_no_links(void **state)
{
  (void)state;
  static const char *const file[] = { "a" };
  static const char *const deep[] = { "b", "sub/a" };
  struct mf_err err = { 0 };
  assert_int_equal(system("mkdir out victim; echo mine > target; ln -s ../target out/a; ln -s ../victim out/sub"), 0);

  struct mf_sandbox_result *r = result_of(1, file);
  assert_ok(mf_deliver("out", true, r, &err), &err);
  assert_content("out/a", "a"); /* the link itself was replaced */
  assert_content("target", "mine\n");
  mf_sandbox_result_free(r);

  r = result_of(2, deep);
  assert_int_equal(mf_deliver("out", true, r, &err), MF_E_INPUT);
  assert_string_equal(err.msg, "out/sub: is a symbolic link, which is not followed");
  assert_int_equal(count("victim"), 0);
  assert_int_equal(count("out"), 2); /* b was not left behind */
  mf_sandbox_result_free(r);
}

static void a_failure_leaves_nothing(void **state)
{
  (void)state;
  static const char *const names[] = { "new/a", "new/sub/b", "taken" };
  struct mf_err err = { 0 };
  assert_int_equal(system("mkdir -p out/taken"), 0);
  struct mf_sandbox_result *r = result_of(3, names);
  assert_int_not_equal(mf_deliver("out", true, r, &err), MF_OK);
  assert_string_equal(err.msg, "write out/taken: Is a directory");
  assert_int_equal(count("out"), 1);
  mf_sandbox_result_free(r);

  err = (struct mf_err){ 0 };
  static const char *const clash[] = { "f", "f/g" }; /* no sandbox leaves that, but nothing breaks */
  r = result_of(2, clash);
  enum mf_code code = mf_deliver("p/q", true, r, &err);
  assert_int_not_equal(code, MF_OK);
  assert_int_not_equal(access("p", F_OK), 0);
  mf_sandbox_result_free(r);
}

static void a_short_artifact_is_an_error(void **state)
{
  (void)state;
  static const char *const names[] = { "a" };
  struct mf_err err = { 0 };
  struct mf_sandbox_result *r = result_of(1, names);
  r->artifacts[0].size_bytes = 100;
  assert_int_not_equal(mf_deliver("out", true, r, &err), MF_OK);
  assert_int_not_equal(access("out", F_OK), 0);
  mf_sandbox_result_free(r);
}

static void checks_early(void **state)
{
  (void)state;
  struct mf_err err = { 0 };
  assert_int_equal(system("mkdir d; echo x > f"), 0);
  assert_ok(mf_deliver_check("d", &err), &err);
  assert_ok(mf_deliver_check("new", &err), &err);
  assert_int_equal(mf_deliver_check("f", &err), MF_E_INPUT);
  assert_string_equal(err.msg, "--output f: is not a directory");
  assert_int_equal(mf_deliver_check("", &err), MF_E_INPUT);
  assert_int_equal(mf_deliver_check("f/x", &err), MF_E_INPUT);
  assert_int_not_equal(access("new", F_OK), 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
  const struct CMUnitTest tests[] = {
    T(writes_and_makes_folders),
    T(nothing_to_write_makes_nothing),
    T(replaces_files),
    T(replaces_nothing_unasked),
    T(follows_no_links),
    T(a_failure_leaves_nothing),
    T(a_short_artifact_is_an_error),
    T(checks_early),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

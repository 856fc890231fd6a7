/* Temporary directories: what is left of killed processes goes, and nothing else. */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tempdir.h"
#include "base/banned.h"

static int set_up(void **state)
{
  char *dir = strdup("/tmp/test-tempdir-XXXXXX");
  assert_non_null(mkdtemp(dir));
  assert_int_equal(setenv("TMPDIR", dir, 1), 0);
  *state = dir;
  return 0;
}

static int tear_down(void **state)
{
  char command[100];
  snprintf(command, sizeof(command), "rm -rf '%s'", (char *)*state);
  assert_int_equal(system(command), 0);
  unsetenv("TMPDIR");
  free(*state);
  return 0;
}

static bool exists(const char *path)
{
  struct stat st;
  return lstat(path, &st) == 0;
}

/* The path of a directory of a process that ended without removing it. malloc'ed. */
static char *leave_one(void)
{
  int pipe_fds[2];
  assert_int_equal(pipe(pipe_fds), 0);
  pid_t pid = fork();
  if (pid == 0) {
    struct mf_tempdir d;
    if (mf_tempdir_make(&d, NULL) != MF_OK || mf_tempdir_write(&d, MF_STR("a/b/c"), MF_STR("x"), NULL) != MF_OK ||
        write(pipe_fds[1], d.path, strlen(d.path)) < 0)
      _exit(1);
    _exit(0);
  }
  int status;
  char path[200] = "";
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(status, 0);
  assert_true(read(pipe_fds[0], path, sizeof(path) - 1) > 0);
  close(pipe_fds[0]);
  close(pipe_fds[1]);
  return strdup(path);
}

static void sweeps_what_the_dead_left(void **state)
{
  struct mf_tempdir ours;
  struct mf_err err;
  char path[200];
  assert_ok(mf_tempdir_make(&ours, &err), &err);
  char *left = leave_one(), *locked = leave_one(), *opened = leave_one();
  /* One whose maker lives in another PID namespace, one that is not as we make them, and names of a person's. */
  int fd = open(locked, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
  assert_int_equal(chmod(opened, 0755), 0);
  static const char *const names[] = { "mayfly-backup",          "mayfly-1-2",         "mayfly-99999999-1",
                                       "mayfly-x-1-abcdef",      "mayfly-1-2-toolong", "mayfly--XXXXXX",
                                       "other-99999999-1-abcdef" };
  for (size_t i = 0; i < MF_ARRAY_N(names); i++) {
    snprintf(path, sizeof(path), "%s/%s", (char *)*state, names[i]);
    assert_int_equal(mkdir(path, 0700), 0);
  }
  snprintf(path, sizeof(path), "%s/target", (char *)*state);
  assert_int_equal(mkdir(path, 0700), 0);
  char link[220];
  snprintf(link, sizeof(link), "%s/mayfly-99999999-1-abcdef", (char *)*state);
  assert_int_equal(symlink(path, link), 0);

  mf_tempdir_sweep();
  assert_false(exists(left));
  assert_true(exists(ours.path) && exists(locked) && exists(opened) && exists(path) && exists(link));
  for (size_t i = 0; i < MF_ARRAY_N(names); i++) {
    snprintf(path, sizeof(path), "%s/%s", (char *)*state, names[i]);
    assert_true(exists(path));
  }
  close(fd);
  mf_tempdir_sweep();
  assert_false(exists(locked));
  mf_tempdir_remove(&ours);
  free(left);
  free(locked);
  free(opened);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(sweeps_what_the_dead_left, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

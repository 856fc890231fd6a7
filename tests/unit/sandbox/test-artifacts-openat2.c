/* Collecting where openat2(2) is not to be had: ENOSYS as before Linux 5.6, EPERM as under old container profiles. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect.h"

/* From now on openat2 fails with this errno. The filter that came last decides between two. */
static bool deny_openat2(int sys)
{
  scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
  bool ok = ctx != NULL && seccomp_rule_add(ctx, SCMP_ACT_ERRNO((uint16_t)sys), SCMP_SYS(openat2), 0) == 0 &&
            seccomp_load(ctx) == 0;
  seccomp_release(ctx);
  return ok && syscall(SYS_openat2, AT_FDCWD, "/", NULL, 0) == -1 && errno == sys;
}

static void check_tree(void)
{
  struct tree t;
  tree_make(&t);
  tree_text(&t, "ok.csv", "x\n1\n");
  tree_folder(&t, "d");
  tree_text(&t, "d/ok.csv", "x\n1\n");
  assert_int_equal(symlinkat("/etc/passwd", t.fd, "users.csv"), 0);
  assert_int_equal(symlinkat("/etc", t.fd, "d/etc"), 0);
  assert_int_equal(mkfifoat(t.fd, "d/pipe", 0600), 0);
  unsigned before = count_fds();
  struct mf_sandbox_result *r = collect_tree(&t, NULL, NULL, 0);
  assert_int_equal(r->artifact_n, 2);
  assert_string_equal(r->artifacts[0].path, "d/ok.csv");
  assert_string_equal(r->artifacts[1].path, "ok.csv");
  assert_int_equal(r->rejected_n, 3);
  assert_string_equal(find_reason(r, "users.csv"), "symbolic link");
  assert_string_equal(find_reason(r, "d/etc"), "symbolic link");
  assert_string_equal(find_reason(r, "d/pipe"), "not a regular file");
  assert_int_equal(count_fds(), before + 2);
  mf_sandbox_result_free(r);
  tree_remove(&t);
}

static void test_with(void **state)
{
  check_tree();
}

static void need_filter(int sys)
{
  if (!deny_openat2(sys)) {
    print_message("# no seccomp filter can be set here: %s\n", strerror(errno));
    skip();
  }
}

static void test_enosys(void **state)
{
  need_filter(ENOSYS);
  check_tree();
}

static void test_mounts_without(void **state)
{
  if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
    print_message("# mounts cannot be made here: %s\n", strerror(errno));
    skip();
  }
  struct tree t;
  tree_make(&t);
  tree_text(&t, "file.csv", "x\n");
  tree_folder(&t, "d");
  tree_text(&t, "ok.csv", "x\n");
  char file[96], folder[96];
  snprintf(file, sizeof(file), "%s/file.csv", t.path);
  snprintf(folder, sizeof(folder), "%s/d", t.path);
  assert_int_equal(mount("/etc/passwd", file, NULL, MS_BIND, NULL), 0);
  assert_int_equal(mount("/etc", folder, NULL, MS_BIND, NULL), 0);
  struct mf_sandbox_result *r = collect_tree(&t, NULL, NULL, 0);
  assert_int_equal(umount2(folder, MNT_DETACH), 0);
  assert_int_equal(umount2(file, MNT_DETACH), 0);
  assert_int_equal(r->artifact_n, 1);
  assert_string_equal(find_reason(r, "file.csv"), "on another file system");
  assert_string_equal(find_reason(r, "d"), "on another file system");
  mf_sandbox_result_free(r);
  tree_remove(&t);
}

static void test_eperm(void **state)
{
  need_filter(EPERM);
  check_tree();
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_with),
    cmocka_unit_test(test_enosys),
    cmocka_unit_test(test_mounts_without),
    cmocka_unit_test(test_eperm),
  };
  return cmocka_run_group_tests_name("artifacts without openat2", tests, NULL, NULL);
}

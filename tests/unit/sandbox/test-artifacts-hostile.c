/* Artifacts of a hostile program: nothing outside is ever read, nothing hangs, everything is bounded. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect.h"
#include "descriptors.h"

#define SECRET "the secret of the host\n"

/* reports.md, case 8, and more kinds of things that are not files. */
static void test_links_and_specials(void **state)
{
  struct tree t;
  tree_make(&t);
  assert_int_equal(symlinkat("/etc/passwd", t.fd, "users.csv"), 0);
  assert_int_equal(symlinkat("/proc/self/environ", t.fd, "env.csv"), 0);
  assert_int_equal(symlinkat("/proc/self/fd/0", t.fd, "fd.csv"), 0);
  assert_int_equal(symlinkat("nowhere", t.fd, "dangling.csv"), 0);
  assert_int_equal(symlinkat("loop.csv", t.fd, "loop.csv"), 0);
  assert_int_equal(mkfifoat(t.fd, "pipe.csv", 0600), 0);
  tree_folder(&t, "d");
  assert_int_equal(symlinkat("/", t.fd, "d/root"), 0);
  assert_int_equal(symlinkat("..", t.fd, "d/up"), 0);
  assert_int_equal(symlinkat("d", t.fd, "__pycache__"), 0); /* only a folder is skipped */
  assert_int_equal(symlinkat("/etc/passwd", t.fd, "m.pyc"), 0);
  tree_text(&t, "ok.csv", "x\n1\n");
  assert_int_equal(linkat(t.fd, "ok.csv", t.fd, "hard.csv", 0), 0);
  assert_int_equal(symlinkat("ok.csv", t.fd, "inner.csv"), 0);
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket.csv", t.path);
  int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_int_equal(bind(sock, (struct sockaddr *)&address, sizeof(address)), 0);

  unsigned before = count_fds();
  struct mf_sandbox_result *r = collect_tree(&t, NULL, NULL, 0);
  assert_int_equal(r->artifact_n, 2);
  assert_non_null(find_artifact(r, "ok.csv"));
  assert_non_null(find_artifact(r, "hard.csv"));
  static const char *const links[] = { "users.csv", "env.csv", "fd.csv",      "dangling.csv", "loop.csv",
                                       "d/root",    "d/up",    "__pycache__", "m.pyc",        "inner.csv" };
  for (size_t i = 0; i < MF_ARRAY_N(links); i++)
    assert_string_equal(find_reason(r, links[i]), "symbolic link");
  assert_string_equal(find_reason(r, "pipe.csv"), "not a regular file");
  assert_string_equal(find_reason(r, "socket.csv"), "not a regular file");
  assert_int_equal(r->rejected_n, MF_ARRAY_N(links) + 2);
  assert_int_equal(count_fds(), before + 2);
  mf_sandbox_result_free(r);
  close(sock);
  tree_remove(&t);
}

static void test_device_nodes(void **state)
{
  struct tree t;
  tree_make(&t);
  if (mknodat(t.fd, "zero.csv", S_IFCHR | 0666, makedev(1, 5)) != 0) {
    tree_remove(&t);
    print_message("# device nodes cannot be made here: %s\n", strerror(errno));
    skip();
  }
  assert_int_equal(mknodat(t.fd, "disk.csv", S_IFBLK | 0666, makedev(7, 0)), 0);
  struct mf_sandbox_result *r = collect_tree(&t, NULL, NULL, 0);
  assert_int_equal(r->artifact_n, 0);
  assert_string_equal(find_reason(r, "zero.csv"), "not a regular file");
  assert_string_equal(find_reason(r, "disk.csv"), "not a regular file");
  mf_sandbox_result_free(r);
  tree_remove(&t);
}

/* Refused by its size: reading a pebibyte of zeros would take days. */
static void test_sparse_file(void **state)
{
  struct tree t;
  tree_make(&t);
  tree_text(&t, "sparse.bin", "");
  tree_text(&t, "ok.csv", "x\n");
  int fd = openat(t.fd, "sparse.bin", O_WRONLY | O_CLOEXEC);
  if (ftruncate(fd, 1ll << 50) != 0) {
    close(fd);
    tree_remove(&t);
    print_message("# this file system has no file of a pebibyte\n");
    skip();
  }
  close(fd);
  struct mf_sandbox_result *r = collect_tree(&t, NULL, NULL, 0);
  assert_int_equal(r->artifact_n, 1);
  assert_string_equal(find_reason(r, "sparse.bin"), "over the size limit (20971520 bytes for all artifacts)");
  mf_sandbox_result_free(r);
  tree_remove(&t);
}

static void test_names(void **state)
{
  struct tree t;
  tree_make(&t);
  char longest[256];
  memset(longest, 'n', 255);
  longest[255] = 0;
  tree_text(&t, longest, "x");
  tree_text(&t, "two\nlines.csv", "x");
  tree_text(&t, "bad\xff\xfe.csv", "x");
  tree_text(&t, "esc\x1b[31m.csv", "x");
  tree_text(&t, "del\x7f", "x");
  /* clang-format off */
  tree_text(&t, "csi\xc2\x9b" "31m", "x");
  /* clang-format on */
  tree_text(&t, "quote\"'\\ ok.csv", "x");
  tree_text(&t, "-rf", "x");
  tree_folder(&t, "f\xff");
  tree_text(&t, "f\xff/inside", "x");
  assert_int_equal(symlinkat("x", t.fd, "l\xff"), 0);
  struct mf_sandbox_result *r = collect_tree(&t, NULL, NULL, 0);
  assert_int_equal(r->artifact_n, 3);
  assert_non_null(find_artifact(r, longest));
  assert_non_null(find_artifact(r, "quote\"'\\ ok.csv"));
  assert_non_null(find_artifact(r, "-rf"));
  assert_int_equal(r->rejected_n, 7);
  assert_string_equal(find_reason(r, "two\\x0alines.csv"), "its name has a control character");
  assert_string_equal(find_reason(r, "bad\\xff\\xfe.csv"), "its name is not valid UTF-8");
  assert_string_equal(find_reason(r, "esc\\x1b[31m.csv"), "its name has a control character");
  assert_string_equal(find_reason(r, "del\\x7f"), "its name has a control character");
  assert_string_equal(find_reason(r, "csi\\xc2\\x9b31m"), "its name has a control character");
  assert_string_equal(find_reason(r, "f\\xff"), "its name is not valid UTF-8");
  assert_string_equal(find_reason(r, "l\\xff"), "symbolic link");
  mf_sandbox_result_free(r);
  tree_remove(&t);
}

/* Folder in folder, by descriptor: the whole path is longer than PATH_MAX allows for one call. */
static void make_deep(const struct tree *t, const char *name, int depth)
{
  int at = dup(t->fd);
  for (int i = 0; i < depth; i++) {
    assert_int_equal(mkdirat(at, name, 0700), 0);
    int next = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(next >= 0);
    close(at);
    at = next;
    int fd = openat(at, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, "x", 1), 1);
    close(fd);
  }
  close(at);
}

static void test_deep(void **state)
{
  struct tree t;
  tree_make(&t);
  make_deep(&t, "d", 1000);
  unsigned before = count_fds();
  struct mf_sandbox_result *r = collect_tree(&t, NULL, NULL, 0);
  assert_int_equal(r->artifact_n, 15); /* d/f to d/…/d/f of 16 parts */
  assert_string_equal(r->artifacts[14].path, "d/f");
  assert_string_equal(r->artifacts[0].path, "d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/f");
  assert_int_equal(r->rejected_n, 1);
  assert_string_equal(r->rejected[0].path, "d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d");
  assert_string_equal(r->rejected[0].reason, "too deep: a path has at most 16 parts");
  assert_int_equal(count_fds(), before + 15);
  mf_sandbox_result_free(r);
  tree_remove(&t);
}

static void test_long_path(void **state)
{
  struct tree t;
  tree_make(&t);
  char part[201];
  memset(part, 'p', 200);
  part[200] = 0;
  make_deep(&t, part, 7);
  struct mf_sandbox_result *r = collect_tree(&t, NULL, NULL, 0);
  assert_int_equal(r->artifact_n, 5); /* 5 * 201 + 1 = 1006 bytes */
  assert_int_equal(r->rejected_n, 1);
  assert_string_equal(r->rejected[0].reason, "its path has more than 1023 bytes");
  mf_sandbox_result_free(r);
  tree_remove(&t);
}

static void test_100000_files(void **state)
{
  struct tree t;
  tree_make(&t);
  char name[32];
  tree_folder(&t, "many");
  for (int i = 0; i < 100000; i++) {
    snprintf(name, sizeof(name), "many/%05d", i);
    int fd = openat(t.fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
  }
  tree_text(&t, "result.csv", "x\n");
  struct mf_sandbox_result *r = collect_tree(&t, NULL, NULL, 0);
  assert_int_equal(r->artifact_n, 256);
  assert_non_null(find_artifact(r, "result.csv"));
  assert_int_equal(r->rejected_n, 65);
  assert_string_equal(r->rejected[0].path, ".");
  assert_string_equal(r->rejected[0].reason, "more than 65536 entries: the rest was not looked at");
  assert_string_equal(r->rejected[1].reason, "over the count limit (256 artifacts)");
  /* 65,534 files of "many" were seen, 255 kept; with the note 65,280 are refused, of which 64 are listed. */
  assert_string_equal(r->rejected[64].path, "\xe2\x80\xa6 and 65216 more");
  mf_sandbox_result_free(r);
  tree_remove(&t);
}

/* ---- an ordinary user meets modes that deny reading ---- */

#define CHILD_CHECK(condition)                                                                                         \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      fprintf(stderr, "%s:%d: not true: %s (%s)\n", __FILE__, __LINE__, #condition, strerror(errno));                  \
      _exit(1);                                                                                                        \
    }                                                                                                                  \
  } while (0)

/* In a child, since the way back from another user or namespace is closed. `need` is why it may be skipped. */
static void run_in_child(void (*fn)(void), const char *need)
{
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    fn();
    _exit(0);
  }
  int status;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
    print_message("# %s\n", need);
    skip();
  }
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void locked_modes(void)
{
  if (geteuid() == 0)
    CHILD_CHECK(setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0);
  struct tree t;
  tree_make(&t);
  tree_text(&t, "locked.csv", "x\n");
  tree_folder(&t, "d");
  tree_text(&t, "d/inside.csv", "x\n");
  tree_folder(&t, "e");
  tree_text(&t, "e/unsearchable.csv", "x\n");
  CHILD_CHECK(fchmodat(t.fd, "locked.csv", 0, 0) == 0);
  CHILD_CHECK(fchmodat(t.fd, "d/inside.csv", 0222, 0) == 0);
  CHILD_CHECK(fchmodat(t.fd, "d", 0, 0) == 0);
  CHILD_CHECK(fchmodat(t.fd, "e", 0400, 0) == 0);
  CHILD_CHECK(fchmod(t.fd, 0) == 0);
  struct mf_sandbox_result *r = collect_tree(&t, NULL, NULL, 0);
  CHILD_CHECK(r->artifact_n == 3 && r->rejected_n == 0);
  CHILD_CHECK(find_artifact(r, "locked.csv") != NULL);
  CHILD_CHECK(find_artifact(r, "d/inside.csv") != NULL);
  CHILD_CHECK(find_artifact(r, "e/unsearchable.csv") != NULL);
  mf_sandbox_result_free(r);
  tree_remove(&t);
}

static void test_locked_modes(void **state)
{
  run_in_child(locked_modes, "");
}

/* Only root can make a file that its collector does not own. */
static void foreign_file(void)
{
  if (geteuid() != 0)
    _exit(77);
  struct tree t;
  tree_make(&t);
  tree_text(&t, "theirs.csv", "x\n");
  tree_text(&t, "ours.csv", "x\n");
  CHILD_CHECK(fchmodat(t.fd, "theirs.csv", 0600, 0) == 0);
  CHILD_CHECK(fchownat(t.fd, "ours.csv", 65534, 65534, 0) == 0 && fchown(t.fd, 65534, 65534) == 0);
  pid_t pid = fork();
  if (pid == 0) {
    CHILD_CHECK(setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0);
    struct mf_sandbox_result *r = collect_tree(&t, NULL, NULL, 0);
    CHILD_CHECK(r->artifact_n == 1 && r->rejected_n == 1);
    CHILD_CHECK(strcmp(find_reason(r, "theirs.csv"), "cannot be read (Permission denied)") == 0);
    _exit(0);
  }
  int status;
  CHILD_CHECK(waitpid(pid, &status, 0) == pid && status == 0);
  tree_remove(&t);
}

static void test_foreign_file(void **state)
{
  run_in_child(foreign_file, "only root can make another user's file");
}

/* Without descriptors each file is refused with the reason, and the call still ends well. */
static void test_no_descriptors(void **state)
{
  struct tree t;
  tree_make(&t);
  char name[16];
  for (int i = 0; i < 10; i++) {
    snprintf(name, sizeof(name), "f%d", i);
    tree_text(&t, name, "x");
  }
  const struct rlimit before = leave_descriptors(6); /* the folder, two or three at work, and so three artifacts */
  struct mf_sandbox_result *r = collect_tree(&t, NULL, NULL, 0);
  give_descriptors(&before);
  assert_in_range(r->artifact_n, 1, 5);
  assert_int_equal(r->artifact_n + r->rejected_n, 10);
  assert_string_equal(find_reason(r, "f9"), "cannot be read (Too many open files)");
  mf_sandbox_result_free(r);
  tree_remove(&t);
}

/* ---- mounts ---- */

static void mounts(void)
{
  /* First the namespace, then the folder: a descriptor shows the mounts of the namespace that it was opened in. */
  bool can = unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
  struct tree t;
  tree_make(&t);
  tree_text(&t, "file.csv", "x\n");
  tree_folder(&t, "d");
  tree_text(&t, "ok.csv", "x\n");
  char path[96];
  snprintf(path, sizeof(path), "%s/file.csv", t.path);
  can = can && mount("/etc/passwd", path, NULL, MS_BIND, NULL) == 0;
  snprintf(path, sizeof(path), "%s/d", t.path);
  can = can && mount("/etc", path, NULL, MS_BIND, NULL) == 0;
  if (!can) {
    tree_remove(&t);
    _exit(77);
  }
  struct mf_sandbox_result *r = collect_tree(&t, NULL, NULL, 0);
  CHILD_CHECK(r->artifact_n == 1 && r->rejected_n == 2);
  CHILD_CHECK(strcmp(find_reason(r, "file.csv"), "on another file system") == 0);
  CHILD_CHECK(strcmp(find_reason(r, "d"), "on another file system") == 0);
  mf_sandbox_result_free(r);
  CHILD_CHECK(umount2(path, MNT_DETACH) == 0);
  snprintf(path, sizeof(path), "%s/file.csv", t.path);
  CHILD_CHECK(umount2(path, MNT_DETACH) == 0);
  tree_remove(&t);
}

static void test_mounts(void **state)
{
  run_in_child(mounts, "mounts cannot be made here");
}

/* ---- entries that change while they are collected ---- */

struct swapper {
  const struct tree *t;
  atomic_bool stop;
  atomic_uint rounds;
};

/* Exchanges files and folders with links to a secret outside, and with FIFOs, as fast as it can. */
static void *swap_entries(void *user)
{
  struct swapper *s = user;
  while (!s->stop) {
    renameat2(s->t->fd, "f", s->t->fd, "f-link", RENAME_EXCHANGE);
    renameat2(s->t->fd, "d", s->t->fd, "d-link", RENAME_EXCHANGE);
    renameat2(s->t->fd, "g", s->t->fd, "g-fifo", RENAME_EXCHANGE);
    renameat2(s->t->fd, "d/h", s->t->fd, "f", RENAME_EXCHANGE);
    int fd = openat(s->t->fd, "grows", O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
    static const char bytes[997];
    if (s->rounds % 64 == 0)
      (void)!ftruncate(fd, 0);
    (void)!write(fd, bytes, sizeof(bytes));
    close(fd);
    s->rounds++;
  }
  return NULL;
}

static void test_swaps(void **state)
{
  struct tree outside, t;
  tree_make(&outside);
  tree_make(&t);
  tree_text(&outside, "secret", SECRET);
  char path[96], secret_sha[MF_SHA256_HEX_N];
  mf_sha256_of(MF_STR(SECRET), secret_sha);
  snprintf(path, sizeof(path), "%s/secret", outside.path);
  assert_int_equal(symlinkat(path, t.fd, "f-link"), 0);
  assert_int_equal(symlinkat(outside.path, t.fd, "d-link"), 0);
  assert_int_equal(mkfifoat(t.fd, "g-fifo", 0600), 0);
  tree_text(&t, "f", "f\n");
  tree_text(&t, "g", "g\n");
  tree_text(&t, "grows", "");
  tree_folder(&t, "d");
  tree_text(&t, "d/h", "h\n");
  tree_text(&t, "d/secret", "not the one\n"); /* what the link to the folder would show instead */

  struct swapper s = { .t = &t };
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, swap_entries, &s), 0);
  while (s.rounds == 0)
    sched_yield();
  struct mf_sandbox_limits limits;
  mf_sandbox_limits_default(&limits);
  limits.artifact_bytes = 20000;
  unsigned before = count_fds(), kept = 0;
  for (int i = 0; i < 1000; i++) {
    struct mf_sandbox_result *r = collect_tree(&t, &limits, NULL, 0);
    for (unsigned k = 0; k < r->artifact_n; k++)
      assert_string_not_equal(r->artifacts[k].sha256, secret_sha);
    kept += r->artifact_n;
    mf_sandbox_result_free(r);
  }
  s.stop = true;
  pthread_join(thread, NULL);
  assert_true(kept > 0);
  assert_in_range(count_fds(), before - 1, before); /* the swapper may have had one open */
  tree_remove(&t);
  tree_remove(&outside);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_links_and_specials),
    cmocka_unit_test(test_device_nodes),
    cmocka_unit_test(test_sparse_file),
    cmocka_unit_test(test_names),
    cmocka_unit_test(test_deep),
    cmocka_unit_test(test_long_path),
    cmocka_unit_test(test_100000_files),
    cmocka_unit_test(test_locked_modes),
    cmocka_unit_test(test_foreign_file),
    cmocka_unit_test(test_no_descriptors),
    cmocka_unit_test(test_mounts),
    cmocka_unit_test(test_swaps),
  };
  return cmocka_run_group_tests_name("artifacts of a hostile program", tests, NULL, NULL);
}

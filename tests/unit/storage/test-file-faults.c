/* What goes wrong with the disk under files of tasks: each is a clear error, nothing is left, nothing stays counted. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files-internal.h"
#include "harness.h"
#include "base/banned.h"

enum { LARGE = 3 << 20 };

/* Everything runs in a child, which has no test framework. */
struct fixture {
  struct harness h;
  struct mf_files *files;
  struct mf_fiber *self;
  char *folder, *dir, *text;
  bool has_names;
  struct mf_err err;
  void (*body)(struct fixture *f);
};

#define CHECK(expression)                                                                                              \
  do {                                                                                                                 \
    if (!(expression)) {                                                                                               \
      fprintf(stderr, "line %d: %s: %s\n", __LINE__, #expression, f->err.msg);                                         \
      _exit(1);                                                                                                        \
    }                                                                                                                  \
  } while (0)

static void run_body(void *user)
{
  struct fixture *f = user;
  f->self = mf_fiber_self(f->h.loop);
  f->body(f);
}

static void be_child(void *user)
{
  struct fixture *f = user;
  CHECK(harness_open(&f->h, ":memory:") == MF_OK);
  CHECK(mf_files_open(f->h.pool, f->dir, 1u << 30, &f->files, &f->err) == MF_OK);
  if (f->has_names)
    f->files->dir.has_tmpfile = false;
  harness_call(&f->h, run_body, f);
  mf_files_close(f->files);
  harness_close(&f->h);
}

static void set_up(struct fixture *f, bool has_names, void (*body)(struct fixture *f))
{
  *f = (struct fixture){
    .folder = harness_folder(), .text = mf_xcalloc(1, LARGE), .has_names = has_names, .body = body
  };
  f->dir = mf_xasprintf("%s/files", f->folder);
}

static void tear_down(struct fixture *f)
{
  harness_remove(f->folder);
  free(f->dir);
  free(f->text);
}

static void in_a_child(void (*body)(struct fixture *f))
{
  for (int has_names = 0; has_names < 2; has_names++) {
    struct fixture f;
    set_up(&f, has_names, body);
    fflush(stdout);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
      be_child(&f);
      _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    tear_down(&f);
  }
}

static void in_a_small_file_system(void (*body)(struct fixture *f))
{
  for (int has_names = 0; has_names < 2; has_names++) {
    struct fixture f;
    set_up(&f, has_names, body);
    bool could = harness_in_small_file_system(f.folder, "size=2m,nr_inodes=40", be_child, &f);
    tear_down(&f);
    if (!could) {
      print_message("# this user cannot mount a file system\n");
      skip();
    }
  }
}

static enum mf_code put(struct fixture *f, const char *task, size_t n)
{
  struct mf_file_put *p = NULL;
  struct mf_file_ref ref;
  f->err = (struct mf_err){ 0 };
  enum mf_code code = mf_file_put_new(f->files, f->self, mf_str_of(task), &p, &f->err);
  CHECK(code == MF_OK);
  code = mf_file_put_write(p, f->self, (struct mf_str){ f->text, n }, &f->err);
  if (code == MF_OK)
    return mf_file_put_finish(p, f->self, &ref, &f->err);
  mf_file_put_abort(p, f->self);
  return code;
}

static bool is_there(struct fixture *f, const char *task)
{
  struct stat st;
  return fstatat(f->files->dir.fd, task, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* A put that fails with that errno, those words, and without a trace. */
static void fails(struct fixture *f, size_t n, int sys, const char *words)
{
  uint64_t used = mf_files_used(f->files);
  CHECK(put(f, "failing", n) == MF_E_UNAVAILABLE);
  CHECK(f->err.sys == sys);
  CHECK(strstr(f->err.msg, "store a file in '") && strstr(f->err.msg, words));
  CHECK(mf_files_used(f->files) == used);
  CHECK(!is_there(f, "failing"));
}

/* ---- the disk ---- */

static void fill_disk(struct fixture *f)
{
  CHECK(put(f, "good", 1 << 20) == MF_OK);
  fails(f, LARGE, ENOSPC, "the disk is full; free some space");
  CHECK(put(f, "good", 10) == MF_OK);
  /* Where the file has a folder already, the folder stays with what is in it. */
  CHECK(put(f, "good", LARGE) == MF_E_UNAVAILABLE);
  CHECK(mf_files_used(f->files) == (1 << 20) + 10);
  CHECK(mf_files_remove(f->files, f->self, MF_STR("good"), &f->err) == MF_OK);
  CHECK(mf_files_used(f->files) == 0);
  CHECK(put(f, "good", 3 << 19) == MF_OK); /* there is room again */
}

static void a_full_disk(void **state)
{
  in_a_small_file_system(fill_disk);
}

static void use_up_inodes(struct fixture *f)
{
  char task[20];
  unsigned n = 0;
  enum mf_code code = MF_OK;
  while (code == MF_OK && n < 100) {
    snprintf(task, sizeof(task), "t%u", n++);
    code = put(f, task, 1);
  }
  CHECK(code == MF_E_UNAVAILABLE && f->err.sys == ENOSPC);
  CHECK(!is_there(f, task));
  CHECK(mf_files_used(f->files) == n - 1);
  fails(f, 1, ENOSPC, "the disk is full");
  CHECK(mf_files_remove(f->files, f->self, MF_STR("t0"), &f->err) == MF_OK);
  CHECK(mf_files_used(f->files) == n - 2);
}

static void no_inodes(void **state)
{
  in_a_small_file_system(use_up_inodes);
}

static void go_read_only(struct fixture *f)
{
  CHECK(put(f, "good", 10) == MF_OK);
  CHECK(mount(NULL, f->folder, NULL, MS_REMOUNT | MS_RDONLY, NULL) == 0);
  fails(f, 10, EROFS, "the file system is read-only; make it writable");
  CHECK(mf_files_remove(f->files, f->self, MF_STR("good"), &f->err) == MF_E_UNAVAILABLE);
  CHECK(strstr(f->err.msg, "remove files in '") && f->err.sys == EROFS);
  CHECK(mf_files_used(f->files) == 10);
  mf_files_close(f->files);
  CHECK(mf_files_open(f->h.pool, f->dir, 1u << 30, &f->files, &f->err) == MF_OK); /* reading goes on */
  CHECK(mf_files_used(f->files) == 10);
  CHECK(mount(NULL, f->folder, NULL, MS_REMOUNT, NULL) == 0);
  CHECK(put(f, "good", 20) == MF_OK);
}

static void a_read_only_disk(void **state)
{
  in_a_small_file_system(go_read_only);
}

/* ---- limits of the process ---- */

static void set_limit(struct fixture *f, int what, rlim_t n, struct rlimit *ret_before)
{
  CHECK(getrlimit((__rlimit_resource_t)what, ret_before) == 0);
  struct rlimit limit = { n, ret_before->rlim_max };
  CHECK(setrlimit((__rlimit_resource_t)what, &limit) == 0);
}

static void limit_sizes(struct fixture *f)
{
  struct rlimit before;
  signal(SIGXFSZ, SIG_IGN);
  set_limit(f, RLIMIT_FSIZE, 1 << 20, &before);
  fails(f, LARGE, EFBIG, "a file of that size is not allowed");
  CHECK(put(f, "good", 1 << 20) == MF_OK);
  CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
  CHECK(put(f, "good", LARGE) == MF_OK);
}

static void a_limit_of_file_sizes(void **state)
{
  in_a_child(limit_sizes);
}

/* Each number of descriptors that are free: wherever it runs out, nothing is left. */
static void limit_descriptors(struct fixture *f)
{
  CHECK(put(f, "good", 10) == MF_OK);
  int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
  CHECK(next >= 0 && close(next) == 0);
  enum mf_code code = MF_E_UNAVAILABLE;
  for (unsigned free_n = 0; code != MF_OK; free_n++) {
    struct rlimit before;
    CHECK(free_n < 10);
    set_limit(f, RLIMIT_NOFILE, (rlim_t)next + free_n, &before);
    uint64_t used = mf_files_used(f->files);
    code = put(f, "failing", LARGE);
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
    if (code == MF_OK)
      break;
    CHECK(code == MF_E_UNAVAILABLE && f->err.sys == EMFILE);
    CHECK(strstr(f->err.msg, "too many open files; raise this process's limit"));
    CHECK(mf_files_used(f->files) == used);
    CHECK(!is_there(f, "failing"));
  }
  CHECK(is_there(f, "failing"));
}

static void no_descriptors(void **state)
{
  in_a_child(limit_descriptors);
}

static void take_away(struct fixture *f)
{
  CHECK(put(f, "good", 10) == MF_OK);
  char *other = mf_xasprintf("%s/moved", f->folder);
  CHECK(mf_files_remove(f->files, f->self, MF_STR("good"), &f->err) == MF_OK);
  CHECK(unlinkat(f->files->dir.fd, "mayfly-files", 0) == 0 && rmdir(f->dir) == 0);
  fails(f, 10, ENOENT, "it was removed while it was in use; restart Mayfly");
  free(other);
}

static void a_folder_that_is_taken_away(void **state)
{
  in_a_child(take_away);
}

/* A process that ends in the middle of a put: what it staged is counted by the next one, and swept. */
static void stage_and_stop(struct fixture *f)
{
  struct mf_file_put *p = NULL;
  CHECK(put(f, "good", 10) == MF_OK);
  CHECK(mf_file_put_new(f->files, f->self, MF_STR("good"), &p, &f->err) == MF_OK);
  CHECK(mf_file_put_write(p, f->self, (struct mf_str){ f->text, 700000 }, &f->err) == MF_OK);
  _exit(0);
}

static bool keeps_all(void *user, struct mf_fiber *self, struct mf_str task_id)
{
  return true;
}

static void find_staged(struct fixture *f)
{
  CHECK(mf_files_used(f->files) == (f->has_names ? 700010 : 10));
  CHECK(mf_files_sweep(f->files, f->self, keeps_all, NULL, &f->err) == MF_OK);
  CHECK(mf_files_used(f->files) == 10);
  CHECK(mf_files_remove(f->files, f->self, MF_STR("good"), &f->err) == MF_OK);
  CHECK(mf_files_used(f->files) == 0);
}

static void what_a_stop_leaves(void **state)
{
  for (int has_names = 0; has_names < 2; has_names++) {
    struct fixture f;
    set_up(&f, has_names, stage_and_stop);
    for (unsigned life = 0; life < 2; life++) {
      fflush(stdout);
      pid_t child = fork();
      assert_true(child >= 0);
      if (child == 0) {
        be_child(&f);
        _exit(0);
      }
      int status = -1;
      assert_int_equal(waitpid(child, &status, 0), child);
      assert_int_equal(status, 0);
      f.body = find_staged;
    }
    tear_down(&f);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_full_disk),        cmocka_unit_test(no_inodes),
    cmocka_unit_test(a_read_only_disk),   cmocka_unit_test(a_limit_of_file_sizes),
    cmocka_unit_test(no_descriptors),     cmocka_unit_test(a_folder_that_is_taken_away),
    cmocka_unit_test(what_a_stop_leaves),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

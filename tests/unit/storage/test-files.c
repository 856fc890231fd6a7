/* Files of tasks: what is put comes back, is counted, and goes; nothing else is reached. Each test runs twice: with
 * files that have no name until they are whole, and with temporary names, as on file systems without the former. */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files-internal.h"
#include "harness.h"
#include "base/fd.h"
#include "base/banned.h"

#define SHA_ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define SHA_EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
enum { QUOTA = 8 << 20 };

struct fixture {
  struct harness h;
  struct mf_files *files;
  struct mf_fiber *self;
  char *folder, *dir;
  bool has_names; /* temporary ones */
  struct mf_err err;
  void (*body)(struct fixture *f);
};

static void open_files(struct fixture *f)
{
  assert_ok(mf_files_open(f->h.pool, f->dir, QUOTA, &f->files, &f->err), &f->err);
  if (f->has_names)
    f->files->dir.has_tmpfile = false;
}

static void reopen(struct fixture *f)
{
  mf_files_close(f->files);
  open_files(f);
}

static void run_body(void *user)
{
  struct fixture *f = user;
  f->self = mf_fiber_self(f->h.loop);
  f->body(f);
}

static void both_ways(void (*body)(struct fixture *f))
{
  for (int has_names = 0; has_names < 2; has_names++) {
    struct fixture f = { .folder = harness_folder(), .has_names = has_names, .body = body };
    f.dir = mf_xasprintf("%s/files", f.folder);
    assert_ok(harness_open(&f.h, ":memory:"), &f.h.err);
    open_files(&f);
    harness_call(&f.h, run_body, &f);
    mf_files_close(f.files);
    harness_close(&f.h);
    harness_remove(f.folder);
    free(f.dir);
  }
}

/* ---- calls ---- */

static enum mf_code try_put(struct fixture *f, const char *task, struct mf_str content, struct mf_file_ref *ret)
{
  struct mf_file_put *p = NULL;
  struct mf_fiber *self = mf_fiber_self(f->h.loop);
  enum mf_code code = mf_file_put_new(f->files, self, mf_str_of(task), &p, &f->err);
  if (code)
    return code;
  code = mf_file_put_write(p, self, content, &f->err);
  if (!code)
    return mf_file_put_finish(p, self, ret, &f->err);
  mf_file_put_abort(p, self);
  return code;
}

static struct mf_file_ref put(struct fixture *f, const char *task, struct mf_str content)
{
  struct mf_file_ref ref = { 0 };
  assert_ok(try_put(f, task, content, &ref), &f->err);
  assert_int_equal(ref.size_bytes, content.len);
  return ref;
}

static enum mf_code read_file(struct fixture *f, const char *task, const struct mf_file_ref *ref, struct mf_buf *ret)
{
  return mf_files_read(f->files, f->self, mf_str_of(task), ref, ret, &f->err);
}

static void assert_content(struct fixture *f, const char *task, const struct mf_file_ref *ref, struct mf_str content)
{
  struct mf_buf got;
  assert_ok(read_file(f, task, ref, &got), &f->err);
  assert_true(mf_str_eq(mf_buf_str(&got), content));
  assert_int_equal(got.ptr[got.len], 0);
  mf_buf_done(&got);
}

static void assert_none(struct fixture *f, const char *task, const struct mf_file_ref *ref)
{
  struct mf_buf got;
  int fd = -1;
  assert_int_equal(read_file(f, task, ref, &got), MF_E_NOT_FOUND);
  assert_int_equal(mf_files_open_one(f->files, f->self, mf_str_of(task), ref, &fd, &f->err), MF_E_NOT_FOUND);
  assert_string_equal(f->err.msg, "there is no such file");
}

static void remove_task(struct fixture *f, const char *task)
{
  assert_ok(mf_files_remove(f->files, f->self, mf_str_of(task), &f->err), &f->err);
}

/* How many entries a folder has; 0 when it is not there. */
static unsigned entries(struct fixture *f, const char *name)
{
  mf_auto_free char *path = mf_xasprintf("%s/%s", f->dir, name);
  DIR *dir = opendir(path);
  unsigned n = 0;
  if (!dir)
    return 0;
  for (struct dirent *e; (e = readdir(dir)) != NULL;)
    if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
      n++;
  closedir(dir);
  return n;
}

/* In DIR, besides the marker. */
static unsigned folders(struct fixture *f)
{
  return entries(f, ".") - 1;
}

static char *path_of(struct fixture *f, const char *name)
{
  return mf_xasprintf("%s/%s", f->dir, name);
}

static void make_file(const char *path, const char *text)
{
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

static char *pattern(size_t n)
{
  char *p = mf_xmalloc(n);
  for (size_t i = 0; i < n; i++)
    p[i] = (char)(i * 31 + i / 257);
  return p;
}

/* ---- what is put comes back ---- */

static void round_trip(struct fixture *f)
{
  struct mf_file_ref abc = put(f, "task_1", MF_STR("abc")), empty = put(f, "task_1", MF_STR(""));
  assert_string_equal(abc.sha256, SHA_ABC);
  assert_string_equal(empty.sha256, SHA_EMPTY);
  assert_int_equal(mf_files_used(f->files), 3);
  assert_int_equal(entries(f, "task_1"), 2);
  assert_content(f, "task_1", &abc, MF_STR("abc"));
  assert_content(f, "task_1", &empty, MF_STR(""));

  /* In pieces of every size, around what is gathered. */
  enum { N = 700001 };
  mf_auto_free char *text = pattern(N);
  struct mf_file_put *p = NULL;
  assert_ok(mf_file_put_new(f->files, f->self, MF_STR("task_2"), &p, &f->err), &f->err);
  for (size_t at = 0, n = 0; at < N; at += n) {
    n = MF_MIN(at / 2 + 1, N - at);
    assert_ok(mf_file_put_write(p, f->self, (struct mf_str){ text + at, n }, &f->err), &f->err);
    assert_int_equal(mf_files_used(f->files), 3 + at + n);
  }
  struct mf_file_ref large;
  assert_ok(mf_file_put_finish(p, f->self, &large, &f->err), &f->err);
  assert_content(f, "task_2", &large, (struct mf_str){ text, N });
  char sha256[MF_SHA256_HEX_N];
  mf_sha256_of((struct mf_str){ text, N }, sha256);
  assert_string_equal(large.sha256, sha256);

  /* After a restart it is there and counted. */
  reopen(f);
  assert_int_equal(mf_files_used(f->files), 3 + N);
  assert_content(f, "task_2", &large, (struct mf_str){ text, N });
  assert_none(f, "task_1", &large);
  assert_none(f, "task_3", &large);
  remove_task(f, "task_2");
  remove_task(f, "task_2");
  assert_none(f, "task_2", &large);
  assert_int_equal(mf_files_used(f->files), 3);
  remove_task(f, "task_1");
  assert_int_equal(mf_files_used(f->files), 0);
  assert_int_equal(folders(f), 0);
}

static void what_is_put_comes_back(void **state)
{
  both_ways(round_trip);
}

static void share(struct fixture *f)
{
  struct mf_file_ref one = put(f, "a", MF_STR("abc")), two = put(f, "a", MF_STR("abc"));
  assert_string_equal(one.sha256, two.sha256);
  assert_int_equal(mf_files_used(f->files), 3);
  assert_int_equal(entries(f, "a"), 1);
  put(f, "b", MF_STR("abc"));
  assert_int_equal(mf_files_used(f->files), 6);
  remove_task(f, "a");
  assert_none(f, "a", &one);
  assert_content(f, "b", &one, MF_STR("abc"));
  assert_int_equal(mf_files_used(f->files), 3);
}

static void the_same_content_twice(void **state)
{
  both_ways(share);
}

static void copy(struct fixture *f)
{
  enum { N = 300007 };
  mf_auto_free char *text = pattern(N);
  mf_auto_close int fd = -1;
  assert_ok(mf_memfd("source", &fd, &f->err), &f->err);
  assert_ok(mf_write_all(fd, text, N, &f->err), &f->err); /* its position is at the end */
  struct mf_file_ref ref;
  assert_ok(mf_file_put_fd(f->files, f->self, MF_STR("a"), fd, N, &ref, &f->err), &f->err);
  assert_content(f, "a", &ref, (struct mf_str){ text, N });
  assert_ok(mf_file_put_fd(f->files, f->self, MF_STR("b"), fd, 5, &ref, &f->err), &f->err);
  assert_content(f, "b", &ref, (struct mf_str){ text, 5 });
  assert_int_equal(mf_files_used(f->files), N + 5);
  assert_int_equal(mf_file_put_fd(f->files, f->self, MF_STR("c"), fd, N + 1, &ref, &f->err), MF_E_INPUT);
  assert_int_equal(mf_file_put_fd(f->files, f->self, MF_STR("c"), fd, QUOTA, &ref, &f->err), MF_E_LIMIT);
  assert_int_equal(mf_file_put_fd(f->files, f->self, MF_STR("c"), fd, UINT64_MAX, &ref, &f->err), MF_E_LIMIT);
  int ends[2];
  assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
  assert_int_equal(mf_file_put_fd(f->files, f->self, MF_STR("c"), ends[0], 1, &ref, &f->err), MF_E_SYS);
  close(ends[0]);
  close(ends[1]);
  assert_int_equal(mf_files_used(f->files), N + 5);
  assert_int_equal(folders(f), 2);
}

static void from_a_descriptor(void **state)
{
  both_ways(copy);
}

static void read_parts(struct fixture *f)
{
  struct mf_file_ref abc = put(f, "a", MF_STR("abc"));
  mf_auto_close int fd = -1;
  char got[8] = "";
  size_t n = 0;
  assert_ok(mf_files_open_one(f->files, f->self, MF_STR("a"), &abc, &fd, &f->err), &f->err);
  assert_ok(mf_files_pread(f->files, f->self, fd, got, sizeof(got), 1, &n, &f->err), &f->err);
  assert_int_equal(n, 2);
  assert_string_equal(got, "bc");
  remove_task(f, "a"); /* a download goes on */
  assert_ok(mf_files_pread(f->files, f->self, fd, got, 1, 0, &n, &f->err), &f->err);
  assert_int_equal(got[0], 'a');
  assert_ok(mf_files_pread(f->files, f->self, fd, got, 1, 3, &n, &f->err), &f->err);
  assert_int_equal(n, 0);
  assert_int_equal(mf_files_pread(f->files, f->self, fd, got, 1, UINT64_MAX, &n, &f->err), MF_E_INPUT);
  assert_int_not_equal(write(fd, "x", 1), 1);
}

static void a_file_in_parts(void **state)
{
  both_ways(read_parts);
}

/* ---- what must not happen ---- */

static void abort_puts(struct fixture *f)
{
  enum { N = 600000 };
  mf_auto_free char *text = pattern(N);
  struct mf_file_put *p = NULL;
  assert_ok(mf_file_put_new(f->files, f->self, MF_STR("a"), &p, &f->err), &f->err);
  mf_file_put_abort(p, f->self);
  assert_ok(mf_file_put_new(f->files, f->self, MF_STR("a"), &p, &f->err), &f->err);
  assert_ok(mf_file_put_write(p, f->self, (struct mf_str){ text, N }, &f->err), &f->err);
  assert_int_equal(mf_files_used(f->files), N);
  assert_int_equal(folders(f), 1);
  mf_file_put_abort(p, f->self);
  assert_int_equal(mf_files_used(f->files), 0);
  assert_int_equal(folders(f), 0);
  mf_file_put_abort(NULL, f->self);
  /* One that is there stays. */
  put(f, "a", MF_STR("abc"));
  assert_ok(mf_file_put_new(f->files, f->self, MF_STR("a"), &p, &f->err), &f->err);
  assert_ok(mf_file_put_write(p, f->self, (struct mf_str){ text, N }, &f->err), &f->err);
  mf_file_put_abort(p, f->self);
  assert_int_equal(entries(f, "a"), 1);
  assert_int_equal(mf_files_used(f->files), 3);
}

static void an_abort_leaves_nothing(void **state)
{
  both_ways(abort_puts);
}

static void use_odd_names(struct fixture *f)
{
  static const struct mf_str ids[] = {
    MF_STR(""),           MF_STR("."),
    MF_STR(".."),         MF_STR("../x"),
    MF_STR("a/b"),        MF_STR("/etc"),
    MF_STR("a\0b"),       MF_STR("a b"),
    MF_STR("\xc3\xa4"),   MF_STR("mayfly-files"),
    MF_STR("task\n"),     MF_STR("a.b"),
    MF_STR("lost+found"), MF_STR("0123456789012345678901234567890123456789012345678901234567890123456"),
  };
  struct mf_file_ref abc = put(f, "a", MF_STR("abc")), ref = abc;
  for (unsigned i = 0; i < MF_ARRAY_N(ids); i++) {
    struct mf_file_put *p = NULL;
    struct mf_buf got;
    int fd = -1;
    assert_int_equal(mf_file_put_new(f->files, f->self, ids[i], &p, &f->err), MF_E_INPUT);
    assert_null(p);
    assert_int_equal(mf_file_put_fd(f->files, f->self, ids[i], 0, 0, &ref, &f->err), MF_E_INPUT);
    assert_int_equal(mf_files_read(f->files, f->self, ids[i], &abc, &got, &f->err), MF_E_NOT_FOUND);
    assert_int_equal(mf_files_open_one(f->files, f->self, ids[i], &abc, &fd, &f->err), MF_E_NOT_FOUND);
    assert_ok(mf_files_remove(f->files, f->self, ids[i], &f->err), &f->err);
  }
  static const char *const digests[] = {
    "", ".", "..", "../mayfly-files", "BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD", "ba78"
  };
  for (unsigned i = 0; i < MF_ARRAY_N(digests); i++) {
    memset(ref.sha256, 0, sizeof(ref.sha256));
    memcpy(ref.sha256, digests[i], strlen(digests[i]));
    assert_none(f, "a", &ref);
  }
  memset(ref.sha256, 'a', sizeof(ref.sha256)); /* without an end */
  assert_none(f, "a", &ref);
  assert_content(f, "a", &abc, MF_STR("abc"));
  assert_int_equal(folders(f), 1);
  assert_int_equal(entries(f, ".."), 1);
}

static void names_that_are_none(void **state)
{
  both_ways(use_odd_names);
}

static void look_at_modes(struct fixture *f)
{
  mf_auto_free char *folder = path_of(f, "a"), *file = path_of(f, "a/" SHA_ABC), *marker = path_of(f, "mayfly-files");
  static const mode_t masks[] = { 0, 0777 };
  const char *const paths[] = { f->dir, folder, file, marker };
  for (unsigned i = 0; i < MF_ARRAY_N(masks); i++) {
    mode_t before = umask(masks[i]);
    put(f, "a", MF_STR("abc"));
    umask(before);
    for (unsigned k = 0; k < MF_ARRAY_N(paths); k++) {
      struct stat st;
      assert_int_equal(stat(paths[k], &st), 0);
      assert_int_equal(st.st_mode & 07777, S_ISDIR(st.st_mode) ? 0700 : 0600);
    }
    remove_task(f, "a");
  }
  struct stat st;
  assert_int_equal(chmod(f->dir, 0755), 0);
  reopen(f);
  assert_int_equal(stat(f->dir, &st), 0);
  assert_int_equal(st.st_mode & 0777, 0700);

  mf_auto_free char *other = mf_xasprintf("%s/other", f->folder);
  struct mf_files *files = NULL;
  mode_t before = umask(0777);
  assert_ok(mf_files_open(f->h.pool, other, QUOTA, &files, &f->err), &f->err);
  umask(before);
  mf_files_close(files);
  assert_int_equal(stat(other, &st), 0);
  assert_int_equal(st.st_mode & 0777, 0700);
}

static void modes_whatever_the_umask(void **state)
{
  both_ways(look_at_modes);
}

static void meet_links(struct fixture *f)
{
  mf_auto_free char *outside = mf_xasprintf("%s/outside", f->folder), *target = mf_xasprintf("%s/%s", outside, SHA_ABC);
  mf_auto_free char *link_folder = path_of(f, "linked"), *link_file = path_of(f, "b/" SHA_ABC),
                    *pipe_file = path_of(f, "c/" SHA_ABC);
  assert_int_equal(mkdir(outside, 0700), 0);
  make_file(target, "abc");
  struct mf_file_ref abc = { SHA_ABC, 3 }, ref;
  struct mf_buf got;

  assert_int_equal(symlink(outside, link_folder), 0);
  assert_int_equal(read_file(f, "linked", &abc, &got), MF_E_UNAVAILABLE);
  assert_int_equal(try_put(f, "linked", MF_STR("other"), &ref), MF_E_UNAVAILABLE);
  assert_int_equal(mf_files_used(f->files), 0);
  remove_task(f, "linked"); /* the link, not what it names */
  assert_int_equal(access(link_folder, F_OK), -1);

  put(f, "b", MF_STR("x"));
  put(f, "c", MF_STR("x"));
  assert_int_equal(symlink(target, link_file), 0);
  assert_int_equal(mkfifo(pipe_file, 0600), 0);
  assert_int_equal(read_file(f, "b", &abc, &got), MF_E_UNAVAILABLE);
  assert_int_equal(read_file(f, "c", &abc, &got), MF_E_UNAVAILABLE); /* and waits for nobody */
  assert_int_equal(try_put(f, "b", MF_STR("abc"), &ref), MF_E_UNAVAILABLE);
  assert_int_equal(try_put(f, "c", MF_STR("abc"), &ref), MF_E_UNAVAILABLE);
  assert_int_equal(mf_files_used(f->files), 2);
  remove_task(f, "b");
  remove_task(f, "c");
  assert_int_equal(mf_files_used(f->files), 0);
  assert_int_equal(access(target, F_OK), 0);
  assert_int_equal(folders(f), 0);
}

static void links_lead_nowhere(void **state)
{
  both_ways(meet_links);
}

static void change_content(struct fixture *f)
{
  mf_auto_free char *path = path_of(f, "a/" SHA_ABC);
  struct mf_file_ref abc = put(f, "a", MF_STR("abc"));
  struct mf_buf got;
  int fd = -1;
  make_file(path, "abd");
  assert_int_equal(read_file(f, "a", &abc, &got), MF_E_UNAVAILABLE);
  assert_non_null(strstr(f->err.msg, "is damaged"));
  assert_null(strstr(f->err.msg, SHA_ABC));
  make_file(path, "ab");
  assert_int_equal(read_file(f, "a", &abc, &got), MF_E_UNAVAILABLE);
  assert_int_equal(mf_files_open_one(f->files, f->self, MF_STR("a"), &abc, &fd, &f->err), MF_E_UNAVAILABLE);
  abc.size_bytes = MF_FILES_READ_MAX + 1u;
  assert_int_equal(read_file(f, "a", &abc, &got), MF_E_LIMIT);
}

static void damaged_content(void **state)
{
  both_ways(change_content);
}

static void a_folder_of_somebody_else(void **state)
{
  mf_auto_free char *file = NULL;
  char *folder = harness_folder();
  struct harness h;
  struct mf_files *files = NULL;
  struct mf_err err = { 0 };
  file = mf_xasprintf("%s/letter", folder);
  make_file(file, "mine");
  assert_ok(harness_open(&h, ":memory:"), &h.err);
  assert_int_equal(mf_files_open(h.pool, folder, QUOTA, &files, &err), MF_E_UNAVAILABLE);
  assert_non_null(strstr(err.msg, "has other things in it and was left as it is"));
  assert_int_equal(mf_files_open(h.pool, file, QUOTA, &files, &err), MF_E_UNAVAILABLE);
  mf_auto_free char *deep = mf_xasprintf("%s/no/files", folder);
  assert_int_equal(mf_files_open(h.pool, deep, QUOTA, &files, &err), MF_E_UNAVAILABLE);
  assert_null(files);
  assert_int_equal(access(file, F_OK), 0);
  assert_int_equal(unlink(file), 0);
  assert_ok(mf_files_open(h.pool, folder, QUOTA, &files, &err), &err); /* an empty one is fine */
  mf_files_close(files);
  mf_files_close(NULL);
  harness_close(&h);
  harness_remove(folder);
}

static void open_twice(struct fixture *f)
{
  struct mf_files *other = NULL;
  put(f, "a", MF_STR("abc"));
  assert_int_equal(mf_files_open(f->h.pool, f->dir, QUOTA, &other, &f->err), MF_E_UNAVAILABLE);
  assert_non_null(strstr(f->err.msg, "is used by another process; end that one, or name another folder"));
  assert_null(other);
  reopen(f);
  assert_int_equal(mf_files_used(f->files), 3);
}

static void one_process_at_a_time(void **state)
{
  both_ways(open_twice);
}

/* ---- quota ---- */

static void fill(struct fixture *f)
{
  mf_auto_free char *text = pattern(QUOTA + 1);
  struct mf_file_ref ref;
  assert_int_equal(try_put(f, "a", (struct mf_str){ text, QUOTA + 1 }, &ref), MF_E_LIMIT);
  assert_int_equal(mf_files_used(f->files), 0);
  assert_int_equal(folders(f), 0);
  struct mf_file_ref full = put(f, "a", (struct mf_str){ text, QUOTA });
  put(f, "a", MF_STR(""));
  struct mf_file_put *p = NULL;
  assert_ok(mf_file_put_new(f->files, f->self, MF_STR("b"), &p, &f->err), &f->err);
  assert_int_equal(mf_file_put_write(p, f->self, MF_STR("x"), &f->err), MF_E_LIMIT);
  assert_int_equal(mf_file_put_write(p, f->self, MF_STR(""), &f->err), MF_E_LIMIT); /* it stays so */
  assert_int_equal(mf_file_put_finish(p, f->self, &ref, &f->err), MF_E_LIMIT);
  assert_string_equal(f->err.msg, "files of tasks would exceed 8388608 bytes");
  assert_int_equal(mf_files_used(f->files), QUOTA);
  assert_content(f, "a", &full, (struct mf_str){ text, QUOTA });
  remove_task(f, "a");
  put(f, "b", (struct mf_str){ text, QUOTA });
}

static void the_quota(void **state)
{
  both_ways(fill);
}

/* Whatever the file system says then: the one who puts makes the folder once more, and does not call the disk ill. */
static void remove_under_a_put(struct fixture *f)
{
  int folder = -1, other = -1, fd = -1, unused = -1;
  char staged[FILES_STAGED_N], second[FILES_STAGED_N];
  const struct files_dir *d = &f->files->dir;
  assert_int_equal(files_folder_make(d, "a", &folder), 0);
  assert_int_equal(files_stage(d, folder, 1, &fd, staged), 0);
  if (staged[0])
    assert_int_equal(unlinkat(folder, staged, 0), 0);
  assert_int_equal(unlinkat(d->fd, "a", AT_REMOVEDIR), 0);
  assert_int_equal(files_publish(folder, fd, staged, SHA_EMPTY), ENOENT);
  assert_int_equal(files_stage(d, folder, 2, &unused, second), ENOENT);
  assert_int_equal(unused, -1);
  assert_int_equal(files_folder_make(d, "a", &other), 0); /* another one of that name does not count */
  assert_int_equal(files_stage(d, folder, 3, &unused, second), ENOENT);
  close(folder);
  close(other);
  close(fd);
}

static void a_folder_removed_under_a_put(void **state)
{
  both_ways(remove_under_a_put);
}

enum { CROWD = 24, ROUNDS = 12, SIZE_MAX_BYTES = 300000 };

struct member {
  struct fixture *f;
  unsigned number;
  uint64_t kept_bytes; /* of its last file */
};

/* Each has a task of its own and one that all of them share, puts, aborts, fails and removes. */
static void be_member(void *user)
{
  struct member *m = user;
  struct fixture *f = m->f;
  struct mf_fiber *self = mf_fiber_self(f->h.loop);
  mf_auto_free char *text = pattern(SIZE_MAX_BYTES + CROWD * ROUNDS);
  char task[20];
  snprintf(task, sizeof(task), "task-%u", m->number);
  for (unsigned i = 0; i < ROUNDS; i++) {
    unsigned salt = m->number * ROUNDS + i;
    struct mf_str part = { text + salt, salt * 7919 % SIZE_MAX_BYTES };
    struct mf_file_ref ref;
    struct mf_err err = { 0 };
    struct mf_file_put *p = NULL;
    enum mf_code shared = try_put(f, "shared", (struct mf_str){ text, 5000 + i }, &ref);
    assert_true(shared == MF_OK || shared == MF_E_LIMIT || shared == MF_E_GONE);
    assert_ok(mf_file_put_new(f->files, self, mf_str_of(task), &p, &err), &err);
    enum mf_code code = mf_file_put_write(p, self, part, &err);
    if (code || salt % 3 == 0) {
      mf_file_put_abort(p, self);
    } else {
      assert_ok(mf_file_put_finish(p, self, &ref, &err), &err);
      assert_ok(mf_files_remove(f->files, self, mf_str_of(task), &err), &err);
    }
    if (salt % 5 == 0)
      assert_ok(mf_files_remove(f->files, self, MF_STR("shared"), &err), &err);
  }
  if (try_put(f, task, (struct mf_str){ text, 1000 + m->number }, &(struct mf_file_ref){ 0 }) == MF_OK)
    m->kept_bytes = 1000 + m->number;
}

static void count_in_a_crowd(struct fixture *f)
{
  struct member members[CROWD];
  struct mf_fiber *fibers[CROWD];
  for (unsigned i = 0; i < CROWD; i++) {
    members[i] = (struct member){ .f = f, .number = i };
    assert_ok(mf_fiber_start(f->h.loop, be_member, &members[i], 0, &fibers[i], &f->err), &f->err);
  }
  uint64_t bytes = 0;
  for (unsigned i = 0; i < CROWD; i++) {
    mf_fiber_join(f->self, fibers[i]);
    bytes += members[i].kept_bytes;
  }
  remove_task(f, "shared");
  assert_true(bytes > 0);
  assert_int_equal(mf_files_used(f->files), bytes);
  reopen(f);
  assert_int_equal(mf_files_used(f->files), bytes);
}

static void counting_is_exact_in_a_crowd(void **state)
{
  both_ways(count_in_a_crowd);
}

/* ---- sweeping ---- */

static bool keeps_some(void *user, struct mf_fiber *self, struct mf_str task_id)
{
  unsigned *asked = user;
  ++*asked;
  assert_int_equal(mf_fiber_sleep(self, 0), MF_OK); /* it may wait */
  return mf_str_starts(task_id, "keep");
}

static void sweep_ok(struct fixture *f, unsigned expected_asked)
{
  unsigned asked = 0;
  assert_ok(mf_files_sweep(f->files, f->self, keeps_some, &asked, &f->err), &f->err);
  assert_int_equal(asked, expected_asked);
}

static void sweep(struct fixture *f)
{
  mf_auto_free char *outside = mf_xasprintf("%s/outside", f->folder), *letter = mf_xasprintf("%s/letter", outside);
  assert_int_equal(mkdir(outside, 0700), 0);
  make_file(letter, "mine");
  sweep_ok(f, 0);
  struct mf_file_ref kept = put(f, "keep-1", MF_STR("abc"));
  put(f, "drop-1", MF_STR("12345"));
  put(f, "drop-2", MF_STR("123"));
  char name[40];
  for (unsigned i = 0; i < 300; i++) {
    snprintf(name, sizeof(name), "%s-%u", i % 2 ? "keep" : "drop", i + 10);
    put(f, name, MF_STR("y"));
  }
  static const char *const strangers[] = { "file.txt", ".hidden", "odd name" };
  for (unsigned i = 0; i < MF_ARRAY_N(strangers); i++) {
    mf_auto_free char *path = path_of(f, strangers[i]);
    make_file(path, "?");
  }
  mf_auto_free char *link_path = path_of(f, "keep-link"), *deep = path_of(f, "keep-1/sub"), *folder = path_of(f, "a.b"),
                    *inner = path_of(f, "a.b/c"), *link_in = path_of(f, "keep-1/sub/link"),
                    *tmp = path_of(f, "keep-1/.put-00000000-7"), *upper = path_of(f, "keep-1/FILE");
  assert_int_equal(symlink(outside, link_path), 0);
  assert_int_equal(mkdir(deep, 0700) | mkdir(folder, 0700) | mkdir(inner, 0700), 0);
  assert_int_equal(symlink(outside, link_in), 0);
  make_file(tmp, "staged by another");
  make_file(upper, "?");
  reopen(f);
  assert_int_equal(mf_files_used(f->files), 3 + 5 + 3 + 300 + 17);

  struct mf_file_put *p = NULL; /* under way meanwhile */
  mf_auto_free char *text = pattern(300000);
  assert_ok(mf_file_put_new(f->files, f->self, MF_STR("keep-1"), &p, &f->err), &f->err);
  assert_ok(mf_file_put_write(p, f->self, (struct mf_str){ text, 300000 }, &f->err), &f->err);
  sweep_ok(f, 303);
  assert_int_equal(folders(f), 151);
  assert_int_equal(mf_files_used(f->files), 3 + 150 + 300000);
  struct mf_file_ref large;
  assert_ok(mf_file_put_finish(p, f->self, &large, &f->err), &f->err);
  assert_content(f, "keep-1", &kept, MF_STR("abc"));
  assert_content(f, "keep-1", &large, (struct mf_str){ text, 300000 });
  assert_int_equal(entries(f, "keep-1"), 2);
  assert_int_equal(access(letter, F_OK), 0);
  sweep_ok(f, 151);
  reopen(f);
  assert_int_equal(mf_files_used(f->files), 3 + 150 + 300000);
}

static void a_sweep(void **state)
{
  both_ways(sweep);
}

static void put_on_a_busy_pool(struct fixture *f)
{
  struct mf_pool *pool = NULL;
  assert_ok(mf_pool_new(f->h.loop, 1, 0, &pool, &f->err), &f->err); /* nothing may ever wait */
  struct mf_file_ref abc = put(f, "a", MF_STR("abc")), ref;
  struct mf_pool *good = f->files->pool;
  mf_auto_free char *text = pattern(600000);
  struct mf_file_put *p = NULL;
  struct mf_buf got;
  f->files->pool = pool;
  assert_ok(mf_file_put_new(f->files, f->self, MF_STR("b"), &p, &f->err), &f->err);
  assert_int_equal(mf_file_put_write(p, f->self, (struct mf_str){ text, 600000 }, &f->err), MF_E_CAPACITY);
  assert_int_equal(mf_files_used(f->files), 3);
  assert_int_equal(read_file(f, "a", &abc, &got), MF_E_CAPACITY);
  assert_int_equal(mf_files_remove(f->files, f->self, MF_STR("a"), &f->err), MF_E_CAPACITY);
  unsigned asked = 0;
  assert_int_equal(mf_files_sweep(f->files, f->self, keeps_some, &asked, &f->err), MF_E_CAPACITY);
  f->files->pool = good;
  assert_ok(mf_file_put_write(p, f->self, (struct mf_str){ text, 600000 }, &f->err), &f->err); /* the same again */
  f->files->pool = pool;
  mf_file_put_abort(p, f->self); /* leaves nothing all the same */
  f->files->pool = good;
  assert_int_equal(folders(f), 1);
  assert_int_equal(mf_files_used(f->files), 3);
  assert_ok(try_put(f, "a", MF_STR("abcd"), &ref), &f->err);
  mf_pool_free(pool);
}

static void a_full_pool(void **state)
{
  both_ways(put_on_a_busy_pool);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(what_is_put_comes_back),
    cmocka_unit_test(the_same_content_twice),
    cmocka_unit_test(from_a_descriptor),
    cmocka_unit_test(a_file_in_parts),
    cmocka_unit_test(an_abort_leaves_nothing),
    cmocka_unit_test(names_that_are_none),
    cmocka_unit_test(modes_whatever_the_umask),
    cmocka_unit_test(links_lead_nowhere),
    cmocka_unit_test(damaged_content),
    cmocka_unit_test(a_folder_of_somebody_else),
    cmocka_unit_test(one_process_at_a_time),
    cmocka_unit_test(the_quota),
    cmocka_unit_test(a_folder_removed_under_a_put),
    cmocka_unit_test(counting_is_exact_in_a_crowd),
    cmocka_unit_test(a_sweep),
    cmocka_unit_test(a_full_pool),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The guest's files in memory under random use, with memory and without; its job parser on bytes that are wrong. The
 * same sources as in the guest, compiled for this machine. There is one file system in a process, and one job: the
 * tests run in order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "guest.h"
#include "memfs.h"
#include "sandbox/frames.h"

#define STEPS 150000
#define HELD_MAX 64
#define DATA_MAX 70000u

/* ---- what the rest of the guest gives ---- */

static uint64_t now_ns;

uint64_t mfg_clock_ns(int id)
{
  (void)id;
  return ++now_ns;
}

/* ---- malloc that fails ---- */

static uint64_t random_state = 88172645463325252ull;
static bool fails;

static uint32_t below(uint32_t n)
{
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (uint32_t)(random_state >> 11) % n;
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

void *__wrap_malloc(size_t n)
{
  return fails && below(20) == 0 ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
  return fails && below(20) == 0 ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
  return fails && below(20) == 0 ? NULL : __real_realloc(p, n);
}

/* ---- the tree ---- */

/* Every entry can be found by its name, listings go forward, and folders know where they are. */
static void check_folder(const struct mfs_node *folder, unsigned depth)
{
  uint32_t live_n = 0, last = 0;
  const struct mfs_entry *e;
  for (uint64_t seq = 0; (e = mfs_next(folder, seq)) != NULL; seq = (uint64_t)e->seq + 1) {
    assert_true(e->seq > last);
    last = e->seq;
    live_n++;
    assert_ptr_equal(mfs_find(folder, e->name, e->name_n), e->node);
    assert_true(e->node->links > 0);
    if (e->node->type != MFS_FOLDER)
      continue;
    assert_ptr_equal(e->node->parent, folder);
    assert_int_equal(e->node->own_seq, e->seq);
    if (depth < 60)
      check_folder(e->node, depth + 1);
  }
  assert_int_equal(live_n, folder->live_n);
}

static size_t random_path(char *ret)
{
  static const char *const names[] = { "a", "b", "c", "d", "..", ".", "l1", "l2", "a-longer-name" };
  size_t n = 0;
  if (below(6) == 0)
    ret[n++] = '/';
  for (uint32_t i = 0, parts = 1 + below(5); i < parts; i++) {
    if (below(3) == 0)
      n += (size_t)sprintf(ret + n, "f%u", below(40)); /* more than are searched one by one */
    else
      n += (size_t)sprintf(ret + n, "%s", names[below(sizeof names / sizeof *names)]);
    if (i + 1 < parts || below(10) == 0)
      ret[n++] = '/';
  }
  return n;
}

static uint8_t data[DATA_MAX], got[DATA_MAX];
static struct mfs_node *held[HELD_MAX];

static mfs_errno make_file(struct mfs_node *base, const char *path, size_t n)
{
  static struct mfs_place place;
  struct mfs_node *node;
  mfs_errno error = mfs_walk(base, path, n, below(2), &place);
  if (error || place.node || place.must_be_folder)
    return error;
  error = mfs_make(&place, MFS_FILE, 0666, &node);
  if (error == 0 && below(2))
    mfs_borrow(node, data, below(1000));
  return error;
}

static mfs_errno change_content(struct mfs_node *node)
{
  if (node->type != MFS_FILE)
    return 0;
  uint32_t n = below(below(4) ? 300 : 60000), at = below(3000);
  if (below(2))
    return mfs_resize(node, below(below(4) ? 5000 : 200000));
  mfs_errno error = mfs_write(node, at, data + 7, n);
  if (error == 0) {
    assert_int_equal(mfs_read(node, at, got, n), n);
    assert_memory_equal(got, data + 7, n);
    assert_true(node->n >= (n ? at + n : 0));
  }
  return error;
}

static void hold_or_drop(struct mfs_node *node)
{
  uint32_t i = below(HELD_MAX);
  mfs_unref(held[i]);
  held[i] = node;
  node->refs++;
}

static mfs_errno step(struct mfs_node *base)
{
  char p[400], q[400];
  size_t p_n = random_path(p), q_n = random_path(q);
  struct mfs_node *node, *from = below(10) ? base : mfs.cwd;
  mfs_errno error;
  switch (below(10)) {
  case 0:
    return mfs_mkdir(from, p, p_n);
  case 1:
    return below(3) ? mfs_unlink(from, p, p_n) : mfs_rmdir(from, p, p_n);
  case 2:
    return mfs_rename(from, p, p_n, base, q, q_n);
  case 3:
    return mfs_link(from, p, p_n, below(2), base, q, q_n);
  case 4:
    return mfs_symlink(q, q_n, from, p, p_n);
  case 5:
  case 6:
    return make_file(from, p, p_n);
  default:
    error = mfs_lookup(from, p, p_n, true, &node);
    if (error)
      return error;
    if (node->type == MFS_FOLDER && below(4) == 0) {
      node->refs++;
      mfs_unref(mfs.cwd);
      mfs.cwd = node;
      (void)mfs_path_of(node, p, below(sizeof p));
    }
    hold_or_drop(node);
    return change_content(node);
  }
}

static void random_use(void **state)
{
  (void)state;
  struct mfs_node *base;
  unsigned worked_n = 0, full_n = 0;
  for (size_t i = 0; i < sizeof data; i++)
    data[i] = (uint8_t)(i * 31 + 7);
  assert_int_equal(mfs_lookup(mfs.root, MFG_DATA, sizeof MFG_DATA - 1, false, &base), 0);
  base->refs++;
  for (unsigned i = 0; i < STEPS; i++) {
    fails = i % 2000 >= 1500;
    mfs_errno error = step(base);
    worked_n += error == 0;
    full_n += error == __WASI_ERRNO_NOSPC;
    fails = false;
    if (i % 5000 == 0)
      check_folder(mfs.root, 0);
  }
  check_folder(mfs.root, 0);
  assert_true(worked_n > STEPS / 20);
  assert_true(full_n > 100);
  for (unsigned i = 0; i < HELD_MAX; i++) {
    mfs_unref(held[i]);
    held[i] = NULL;
  }
}

static void what_is_ours_stays(void **state)
{
  (void)state;
  struct mfs_node *node;
  assert_int_equal(mfs_mkdir(mfs.root, "/mnt/x", 6), __WASI_ERRNO_ROFS);
  assert_int_equal(mfs_unlink(mfs.root, "/dev/null", 9), __WASI_ERRNO_ROFS);
  assert_int_equal(mfs_rename(mfs.root, "/tmp", 4, mfs.root, "/home/x", 7), __WASI_ERRNO_ROFS);
  assert_int_equal(mfs_rmdir(mfs.root, "/", 1), __WASI_ERRNO_BUSY);
  assert_int_equal(mfs_lookup(mfs.root, "/../../dev/./null", 17, true, &node), 0);
  assert_int_equal(node->type, MFS_NULL);
}

/* ---- the job ---- */

struct job_bytes {
  uint8_t p[4096];
  size_t n;
};

static void put(struct job_bytes *b, const void *p, size_t n)
{
  memcpy(b->p + b->n, p, n);
  b->n += n;
}

static void put_record(struct job_bytes *b, const char *name, const char *text)
{
  struct mf_job_record rec = { .name_n = (uint32_t)strlen(name), .data_n = strlen(text) };
  put(b, &rec, sizeof rec);
  put(b, name, strlen(name));
  put(b, text, strlen(text));
}

static void make_job(struct job_bytes *b, const char *input)
{
  struct mf_job_header head = { MF_JOB_MAGIC, MF_FRAMES_VERSION, 8, 7, 1, 1, MF_JOB_DISPLAY_LAST };
  b->n = 0;
  put(b, &head, sizeof head);
  put(b, "print(1)main.py", 15);
  put_record(b, "argument", "");
  put_record(b, input, "content");
}

static void wrong_jobs(void **state)
{
  (void)state;
  struct job_bytes b;
  struct mfg_job job;
  static const char *const names[] = { "", "..", "../x", "a/../../x", "a/.." };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    make_job(&b, names[i]);
    const char *wrong = mfg_job_read(b.p, b.n, &job);
    assert_non_null(wrong);
    assert_non_null(strstr(wrong, "an input's name"));
    assert_int_equal(mfs_unlink(mfs.root, MFG_TASK "/main.py", sizeof MFG_TASK "/main.py" - 1), 0);
  }
  make_job(&b, "in.txt");
  for (size_t n = 0; n < b.n; n++) { /* cut anywhere, in a block of just that size, so that a byte too far is seen */
    uint8_t *exact = malloc(n ? n : 1);
    memcpy(exact, b.p, n);
    assert_non_null(mfg_job_read(exact, n, &job));
    free(exact);
    (void)mfs_unlink(mfs.root, MFG_TASK "/main.py", sizeof MFG_TASK "/main.py" - 1);
  }
  for (size_t at = 0; at < b.n; at += 4) { /* any number as large as can be */
    uint8_t *exact = malloc(b.n);
    memcpy(exact, b.p, b.n);
    memset(exact + at, 0xff, b.n - at < 4 ? b.n - at : 4);
    (void)mfg_job_read(exact, b.n, &job);
    (void)mfs_unlink(mfs.root, MFG_TASK "/main.py", sizeof MFG_TASK "/main.py" - 1);
    (void)mfs_unlink(mfs.root, MFG_DATA "/in.txt", sizeof MFG_DATA "/in.txt" - 1);
    free(exact);
  }
}

static void right_job(void **state)
{
  (void)state;
  static struct job_bytes b; /* files lie in it from now on */
  struct mfg_job job;
  struct mfs_node *node;
  const char *arg;
  size_t n;
  make_job(&b, "new/in.txt");
  assert_null(mfg_job_read(b.p, b.n, &job));
  assert_string_equal(job.path, MFG_TASK "/main.py");
  assert_true(job.display_last);
  const char *at = job.argv;
  assert_int_equal(job.argv_n, 1);
  mfg_job_arg(&at, &arg, &n);
  assert_int_equal(n, 8);
  assert_memory_equal(arg, "argument", 8);
  assert_int_equal(mfs_lookup(mfs.root, MFG_DATA "/new/in.txt", sizeof MFG_DATA "/new/in.txt" - 1, false, &node), 0);
  assert_int_equal(node->n, 7);
  assert_memory_equal(node->data, "content", 7);
  assert_true(mfg_job_is_input("new/in.txt", 10, node->data, node->n));
  assert_false(mfg_job_is_input("new/other", 9, node->data, node->n));
  assert_int_equal(mfs_write(node, 0, "C", 1), 0);
  assert_false(mfg_job_is_input("new/in.txt", 10, node->data, node->n));
  assert_int_equal(mfs_write(node, 0, "c", 1), 0); /* as it was, in a copy */
  assert_true(mfg_job_is_input("new/in.txt", 10, node->data, node->n));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(wrong_jobs),
    cmocka_unit_test(right_job),
    cmocka_unit_test(random_use),
    cmocka_unit_test(what_is_ours_stays),
  };
  if (mfs_init() != 0)
    return 1;
  mfs_fix();
  return cmocka_run_group_tests_name("wasm-guest", tests, NULL, NULL);
}

/* Artifacts of a well-behaved program: manifest, inputs left out, limits. */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect.h"

static void test_empty(void **state)
{
  struct tree t;
  tree_make(&t);
  struct mf_sandbox_result *r = collect_tree(&t, NULL, NULL, 0);
  assert_int_equal(r->artifact_n, 0);
  assert_int_equal(r->rejected_n, 0);
  mf_sandbox_result_free(r);
  tree_remove(&t);
}

static void test_manifest(void **state)
{
  struct tree t;
  tree_make(&t);
  tree_text(&t, "b.csv", "x\n1\n");
  tree_text(&t, "a.txt", "abc");
  tree_folder(&t, "a");
  tree_text(&t, "a/z.json", "{}");
  tree_folder(&t, "a/b");
  tree_write(&t, "a/b/p.png", "\x89PNG\r\n\x1a\n", 8);
  tree_folder(&t, "empty-folder");
  tree_text(&t, ".hidden", "");
  tree_text(&t, "\xe6\x9c\x80\xe9\xab\x98.txt", "\xe6\xb0\x94");
  unsigned before = count_fds();
  struct mf_sandbox_result *r = collect_tree(&t, NULL, NULL, 0);
  static const struct {
    const char *path;
    uint64_t size;
    const char *type;
  } want[] = {
    { ".hidden", 0, "text/plain; charset=utf-8" },
    { "a.txt", 3, "text/plain; charset=utf-8" },
    { "a/b/p.png", 8, "image/png" },
    { "a/z.json", 2, "application/json" },
    { "b.csv", 4, "text/csv" },
    { "\xe6\x9c\x80\xe9\xab\x98.txt", 3, "text/plain; charset=utf-8" },
  };
  assert_int_equal(r->artifact_n, MF_ARRAY_N(want));
  for (unsigned i = 0; i < MF_ARRAY_N(want); i++) {
    assert_string_equal(r->artifacts[i].path, want[i].path);
    assert_int_equal(r->artifacts[i].size_bytes, want[i].size);
    assert_string_equal(r->artifacts[i].mime_type, want[i].type);
  }
  assert_string_equal(r->artifacts[1].sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  assert_int_equal(r->rejected_n, 0);
  assert_int_equal(count_fds(), before + MF_ARRAY_N(want));
  assert_int_equal(write(r->artifacts[1].fd, "x", 1), -1); /* sealed */
  mf_sandbox_result_free(r);
  assert_int_equal(count_fds(), before);
  tree_remove(&t);
}

/* The content is more than one chunk, and its end is not on a chunk's edge. */
static void test_large_file(void **state)
{
  struct tree t;
  tree_make(&t);
  size_t n = 3 * 65536 + 17;
  char *content = malloc(n);
  for (size_t i = 0; i < n; i++)
    content[i] = (char)(i * 131 >> 3);
  tree_write(&t, "large.bin", content, n);
  tree_write(&t, "chunk.bin", content, 65536);
  struct mf_sandbox_result *r = collect_tree(&t, NULL, NULL, 0);
  assert_int_equal(r->artifact_n, 2);
  assert_int_equal(find_artifact(r, "large.bin")->size_bytes, n);
  assert_int_equal(find_artifact(r, "chunk.bin")->size_bytes, 65536);
  char sha256[MF_SHA256_HEX_N];
  mf_sha256_of((struct mf_str){ content, n }, sha256);
  assert_string_equal(find_artifact(r, "large.bin")->sha256, sha256);
  mf_sandbox_result_free(r);
  free(content);
  tree_remove(&t);
}

static void test_inputs(void **state)
{
  struct tree t;
  tree_make(&t);
  char *big = calloc(1, 200000);
  const struct mf_sandbox_file inputs[] = {
    { MF_STR("same.csv"), MF_STR("abc") },   { MF_STR("changed.csv"), MF_STR("abc") },
    { MF_STR("longer.csv"), MF_STR("abc") }, { MF_STR("removed.csv"), MF_STR("abc") },
    { MF_STR("d/same.csv"), MF_STR("abc") }, { MF_STR("empty"), { NULL, 0 } },
    { MF_STR("big"), { big, 200000 } },      { MF_STR("link.csv"), MF_STR("abc") },
  };
  tree_text(&t, "same.csv", "abc");
  tree_text(&t, "changed.csv", "abd");
  tree_text(&t, "longer.csv", "abcd");
  tree_folder(&t, "d");
  tree_text(&t, "d/same.csv", "abc");
  tree_text(&t, "empty", "");
  tree_write(&t, "big", big, 200000);
  tree_text(&t, "copy.csv", "abc");
  assert_int_equal(linkat(t.fd, "same.csv", t.fd, "hard.csv", 0), 0);
  assert_int_equal(symlinkat("same.csv", t.fd, "link.csv"), 0);

  struct mf_sandbox_limits limits;
  mf_sandbox_limits_default(&limits);
  limits.artifact_bytes = 1000; /* an unchanged input does not count */
  struct mf_sandbox_result *r = collect_tree(&t, &limits, inputs, MF_ARRAY_N(inputs));
  assert_int_equal(r->artifact_n, 4);
  assert_non_null(find_artifact(r, "changed.csv"));
  assert_non_null(find_artifact(r, "longer.csv"));
  assert_non_null(find_artifact(r, "copy.csv"));
  assert_non_null(find_artifact(r, "hard.csv")); /* another name for the same bytes */
  assert_int_equal(r->rejected_n, 1);
  assert_string_equal(find_reason(r, "link.csv"), "symbolic link");
  mf_sandbox_result_free(r);

  big[199999] = 1; /* the last byte differs: an artifact now, and too big */
  r = collect_tree(&t, &limits, inputs, MF_ARRAY_N(inputs));
  assert_int_equal(r->artifact_n, 4);
  assert_string_equal(find_reason(r, "big"), "over the size limit (1000 bytes for all artifacts)");
  mf_sandbox_result_free(r);
  free(big);
  tree_remove(&t);
}

static void test_python_leftovers(void **state)
{
  struct tree t;
  tree_make(&t);
  tree_folder(&t, "__pycache__");
  tree_text(&t, "__pycache__/m.cpython-312.pyc", "x");
  tree_text(&t, "__pycache__/other", "x");
  tree_folder(&t, "p");
  tree_folder(&t, "p/__pycache__");
  tree_text(&t, "p/__pycache__/x", "x");
  tree_text(&t, "p/m.py", "x = 1\n");
  tree_text(&t, "m.pyc", "x");
  tree_text(&t, "__pycache__.txt", "x");
  struct mf_sandbox_result *r = collect_tree(&t, NULL, NULL, 0);
  assert_int_equal(r->artifact_n, 2);
  assert_string_equal(r->artifacts[0].path, "__pycache__.txt");
  assert_string_equal(r->artifacts[1].path, "p/m.py");
  assert_int_equal(r->rejected_n, 0);
  mf_sandbox_result_free(r);
  tree_remove(&t);
}

static void test_size_limit(void **state)
{
  struct tree t;
  tree_make(&t);
  char content[100] = "";
  tree_write(&t, "a", content, 60);
  tree_write(&t, "b", content, 60);
  tree_write(&t, "c", content, 40);
  tree_write(&t, "d", content, 1);
  tree_write(&t, "e", content, 0);
  struct mf_sandbox_limits limits;
  mf_sandbox_limits_default(&limits);
  limits.artifact_bytes = 100;
  struct mf_sandbox_result *r = collect_tree(&t, &limits, NULL, 0);
  assert_int_equal(r->artifact_n, 3);
  assert_non_null(find_artifact(r, "a"));
  assert_non_null(find_artifact(r, "c"));
  assert_non_null(find_artifact(r, "e"));
  assert_int_equal(r->rejected_n, 2);
  assert_string_equal(find_reason(r, "b"), "over the size limit (100 bytes for all artifacts)");
  assert_string_equal(find_reason(r, "d"), "over the size limit (100 bytes for all artifacts)");
  mf_sandbox_result_free(r);

  limits.artifact_bytes = 0;
  r = collect_tree(&t, &limits, NULL, 0);
  assert_int_equal(r->artifact_n, 1);
  assert_int_equal(r->rejected_n, 4);
  mf_sandbox_result_free(r);
  tree_remove(&t);
}

static void test_count_limit(void **state)
{
  struct tree t;
  tree_make(&t);
  tree_folder(&t, "a");
  tree_text(&t, "a/first-by-name", "x");
  tree_text(&t, "b", "x");
  tree_text(&t, "c", "x");
  tree_text(&t, "d", "x");
  struct mf_sandbox_limits limits;
  mf_sandbox_limits_default(&limits);
  limits.artifact_count = 2;
  struct mf_sandbox_result *r = collect_tree(&t, &limits, NULL, 0);
  assert_int_equal(r->artifact_n, 2); /* files come before folders */
  assert_non_null(find_artifact(r, "b"));
  assert_non_null(find_artifact(r, "c"));
  assert_int_equal(r->rejected_n, 2);
  assert_string_equal(r->rejected[0].path, "a/first-by-name");
  assert_string_equal(r->rejected[0].reason, "over the count limit (2 artifacts)");
  assert_string_equal(r->rejected[1].path, "d");
  mf_sandbox_result_free(r);
  limits.artifact_count = 0;
  r = collect_tree(&t, &limits, NULL, 0);
  assert_int_equal(r->artifact_n, 0);
  assert_int_equal(r->rejected_n, 4);
  mf_sandbox_result_free(r);
  tree_remove(&t);
}

/* More refusals than are listed: 64 of them and how many more. */
static void test_rejected_list_is_bounded(void **state)
{
  struct tree t;
  tree_make(&t);
  char name[32];
  for (int i = 0; i < 64; i++) {
    snprintf(name, sizeof(name), "link-%03d", i);
    assert_int_equal(symlinkat("x", t.fd, name), 0);
  }
  struct mf_sandbox_result *r = collect_tree(&t, NULL, NULL, 0);
  assert_int_equal(r->rejected_n, 64);
  assert_string_equal(r->rejected[63].path, "link-063");
  mf_sandbox_result_free(r);
  for (int i = 64; i < 200; i++) {
    snprintf(name, sizeof(name), "link-%03d", i);
    assert_int_equal(symlinkat("x", t.fd, name), 0);
  }
  tree_text(&t, "ok.csv", "x\n");
  r = collect_tree(&t, NULL, NULL, 0);
  assert_int_equal(r->artifact_n, 1);
  assert_int_equal(r->rejected_n, 65);
  assert_string_equal(r->rejected[0].path, "link-000");
  assert_string_equal(r->rejected[63].path, "link-063");
  assert_string_equal(r->rejected[64].path, "\xe2\x80\xa6 and 136 more");
  assert_string_equal(r->rejected[64].reason, "not listed one by one");
  mf_sandbox_result_free(r);
  tree_remove(&t);
}

static void test_not_a_folder(void **state)
{
  struct mf_sandbox_limits limits;
  mf_sandbox_limits_default(&limits);
  int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  struct mf_sandbox_result *r = mf_sandbox_result_new();
  struct mf_err err;
  assert_int_equal(mf_artifacts_collect(fd, &limits, NULL, 0, NULL, r, &err), MF_E_SYS);
  assert_string_equal(err.msg, "read the work directory: Not a directory");
  assert_int_equal(r->artifact_n, 0);
  close(fd);
  mf_sandbox_result_free(r);
  r = mf_sandbox_result_new();
  assert_int_equal(mf_artifacts_collect(-1, &limits, NULL, 0, NULL, r, &err), MF_E_SYS);
  mf_sandbox_result_free(r);
}

/* A path-only descriptor does as well, and the caller's descriptor keeps its own place. */
static void test_path_only_folder(void **state)
{
  struct tree t;
  tree_make(&t);
  tree_text(&t, "a", "abc");
  int keep = t.fd;
  t.fd = open(t.path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  struct mf_sandbox_result *r = collect_tree(&t, NULL, NULL, 0);
  assert_int_equal(r->artifact_n, 1);
  mf_sandbox_result_free(r);
  close(t.fd);
  t.fd = keep;
  for (int i = 0; i < 2; i++) { /* twice with one descriptor */
    r = collect_tree(&t, NULL, NULL, 0);
    assert_int_equal(r->artifact_n, 1);
    mf_sandbox_result_free(r);
  }
  tree_remove(&t);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_empty),
    cmocka_unit_test(test_manifest),
    cmocka_unit_test(test_large_file),
    cmocka_unit_test(test_inputs),
    cmocka_unit_test(test_python_leftovers),
    cmocka_unit_test(test_size_limit),
    cmocka_unit_test(test_count_limit),
    cmocka_unit_test(test_rejected_list_is_bounded),
    cmocka_unit_test(test_not_a_folder),
    cmocka_unit_test(test_path_only_folder),
  };
  return cmocka_run_group_tests_name("artifacts", tests, NULL, NULL);
}

/* Where the runtime is and what its manifest says. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "local/local.h"
#include "runtime.h"
#include "tempdir.h"
#include "base/banned.h"

#define GOOD                                                                                                           \
  "{\"id\":\"python-data-analysis-v1\",\"digest\":\"sha256:ab\",\"pythonVersion\":\"3.12.11\","                        \
  "\"python\":\"/opt/python/bin/python3.12\",\"hostPython\":\"/usr/bin/python3.12\","                                  \
  "\"sitePackages\":\"/opt/python/lib/python3.12/site-packages\","                                                     \
  "\"packages\":{\"numpy\":\"2.3.1\",\"matplotlib\":\"3.10.3\"},\"font\":{\"family\":\"x\"}}"

static struct mf_tempdir dir;

static int make_dir(void **state)
{
  return mf_tempdir_make(&dir, NULL) != MF_OK;
}

static int remove_dir(void **state)
{
  mf_tempdir_remove(&dir);
  return 0;
}

static void write_manifest(const char *text)
{
  struct mf_err err;
  unlinkat(dir.fd, "manifest.json", 0);
  assert_ok(mf_tempdir_write(&dir, MF_STR("manifest.json"), mf_str_of(text), &err), &err);
}

static void reads_a_manifest(void **state)
{
  struct mf_err err;
  struct mf_runtime_info info;
  write_manifest(GOOD);
  assert_ok(mf_local_read_runtime(dir.path, &info, &err), &err);
  assert_string_equal(info.id, "python-data-analysis-v1");
  assert_string_equal(info.digest, "sha256:ab");
  assert_string_equal(info.python_version, "3.12.11");
  assert_string_equal(info.python_path, "/opt/python/bin/python3.12");
  assert_string_equal(info.host_python, "/usr/bin/python3.12");
  assert_string_equal(info.site_packages, "/opt/python/lib/python3.12/site-packages");
  assert_true(info.has_numpy);
  assert_false(info.has_pandas);
  assert_true(info.has_plot);
}

static void does_without_what_only_direct_runs_need(void **state)
{
  struct mf_err err;
  struct mf_runtime_info info;
  write_manifest("{\"id\":\"a\",\"digest\":\"b\",\"pythonVersion\":\"c\",\"python\":\"/d\",\"hostPython\":null}");
  assert_ok(mf_local_read_runtime(dir.path, &info, &err), &err);
  assert_string_equal(info.host_python, "");
  assert_string_equal(info.site_packages, "");
  assert_false(info.has_numpy);
}

static void refuses_bad_manifests(void **state)
{
  static const struct {
    const char *text, *part;
  } rows[] = {
    { "", "manifest.json" },
    { "[]", "not an object" },
    { "{", "manifest.json" },
    { "{}", "'id'" },
    { "{\"id\":1,\"digest\":\"b\",\"pythonVersion\":\"c\",\"python\":\"/d\"}", "'id'" },
    { "{\"id\":\"\",\"digest\":\"b\",\"pythonVersion\":\"c\",\"python\":\"/d\"}", "'id'" },
    { "{\"id\":\"a\\u0000b\",\"digest\":\"b\",\"pythonVersion\":\"c\",\"python\":\"/d\"}", "'id'" },
    { "{\"id\":\"a\",\"digest\":\"b\",\"pythonVersion\":\"0123456789012345678901234567890123456789\","
      "\"python\":\"/d\"}",
      "'pythonVersion' is empty or longer than 31 bytes" },
    { "{\"id\":\"a\",\"digest\":\"b\",\"pythonVersion\":\"c\",\"python\":\"bin/python\"}",
      "'python' is not an absolute path" },
    { "{\"id\":\"a\",\"digest\":\"b\",\"pythonVersion\":\"c\",\"python\":\"/d\",\"hostPython\":\"e\"}",
      "'hostPython' is not an absolute path" },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    struct mf_err err = { 0 };
    struct mf_runtime_info info = { .id = "untouched" };
    write_manifest(rows[i].text);
    assert_int_equal(mf_local_read_runtime(dir.path, &info, &err), MF_E_UNAVAILABLE);
    if (!strstr(err.msg, rows[i].part))
      fail_msg("'%s' does not say %s", err.msg, rows[i].part);
    assert_string_equal(info.id, "untouched");
  }
}

static void finds_a_named_runtime(void **state)
{
  struct mf_err err = { 0 };
  mf_auto_free char *found = NULL;
  write_manifest(GOOD);
  assert_ok(mf_local_find_runtime(dir.path, &found, &err), &err);
  assert_string_equal(found, dir.path);

  mf_auto_free char *by_env = NULL;
  setenv("MAYFLY_RUNTIME", dir.path, 1);
  assert_ok(mf_local_find_runtime(NULL, &by_env, &err), &err);
  assert_string_equal(by_env, dir.path);
  unsetenv("MAYFLY_RUNTIME");
}

/* A name that is wrong is an error, not a reason to take another one. */
static void says_where_it_looked(void **state)
{
  struct mf_err err = { 0 };
  char *found = NULL;
  assert_int_equal(mf_local_find_runtime("/nonexistent", &found, &err), MF_E_UNAVAILABLE);
  assert_non_null(strstr(err.msg, "/nonexistent"));
  setenv("MAYFLY_RUNTIME", "/also-not", 1);
  assert_int_equal(mf_local_find_runtime("", &found, &err), MF_E_UNAVAILABLE);
  assert_non_null(strstr(err.msg, "MAYFLY_RUNTIME '/also-not'"));
  unsetenv("MAYFLY_RUNTIME");
  /* Beside this test program there is none. */
  assert_int_equal(mf_local_find_runtime(NULL, &found, &err), MF_E_UNAVAILABLE);
  assert_non_null(strstr(err.msg, "scripts/setup-runtime"));
  assert_int_equal(mf_local_find_zygote(NULL, "/nonexistent", &found, &err), MF_E_UNAVAILABLE);
  assert_non_null(strstr(err.msg, "boot.py"));
  assert_null(found);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(reads_a_manifest),      cmocka_unit_test(does_without_what_only_direct_runs_need),
    cmocka_unit_test(refuses_bad_manifests), cmocka_unit_test(finds_a_named_runtime),
    cmocka_unit_test(says_where_it_looked),
  };
  return cmocka_run_group_tests(tests, make_dir, remove_dir);
}

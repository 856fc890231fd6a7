/* Where the runtime folder is, what its manifest says, and that nothing but the verified code is ever run. */
#include "unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "runtime.h"
#include "base/banned.h"

#define CODE "this is the compiled guest"

struct folder {
  char path[64];
};

static void put(const struct folder *f, const char *name, const char *text)
{
  mf_auto_free char *path = mf_xasprintf("%s/%s", f->path, name);
  mf_auto_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  assert_true(fd >= 0);
  assert_ok(mf_write_all(fd, text, strlen(text), NULL), &(struct mf_err){ .msg = "write" });
}

static void put_manifest(const struct folder *f, const char *format, const char *abi, const char *file,
                         const char *sha256, size_t bytes)
{
  mf_auto_free char *text =
      mf_xasprintf("{\"format\":%s,\"abi\":%s,\"id\":\"python-wasm-3.13.5\",\"python\":\"3.13.5\","
                   "\"wasmtime\":\"48.0.8\",\"guest\":{\"file\":\"%s\",\"sha256\":\"%s\","
                   "\"bytes\":%zu},\"snapshot_sha256\":\"aa\",\"inputs_sha256\":\"bb\"}",
                   format, abi, file, sha256, bytes);
  put(f, "manifest.json", text);
}

static void digest_of(const char *text, char ret[MF_SHA256_HEX_N])
{
  mf_sha256_of(mf_str_of(text), ret);
}

static int set_up(void **state)
{
  struct folder *f = mf_xcalloc(1, sizeof(*f));
  snprintf(f->path, sizeof(f->path), "/tmp/mayfly-test-XXXXXX");
  if (!mkdtemp(f->path))
    return -1;
  char sha256[MF_SHA256_HEX_N];
  digest_of(CODE, sha256);
  put(f, "guest.cwasm", CODE);
  put_manifest(f, "1", "1", "guest.cwasm", sha256, strlen(CODE));
  *state = f;
  return 0;
}

static int tear_down(void **state)
{
  struct folder *f = *state;
  static const char *const names[] = { "guest.cwasm", "manifest.json" };
  for (size_t i = 0; i < MF_ARRAY_N(names); i++) {
    mf_auto_free char *path = mf_xasprintf("%s/%s", f->path, names[i]);
    (void)unlink(path);
  }
  (void)rmdir(f->path);
  free(f);
  return 0;
}

static void reads_a_manifest(void **state)
{
  const struct folder *f = *state;
  struct mf_wasm_runtime_info info;
  struct mf_err err;
  char sha256[MF_SHA256_HEX_N];
  digest_of(CODE, sha256);
  assert_ok(mf_wasm_read_runtime(f->path, &info, &err), &err);
  assert_string_equal(info.id, "python-wasm-3.13.5");
  assert_string_equal(info.python_version, "3.13.5");
  assert_string_equal(info.wasmtime_version, "48.0.8");
  assert_memory_equal(info.digest, "sha256:", 7);
  assert_string_equal(info.digest + 7, sha256);
}

static void refuse_manifest(const struct folder *f, const char *words)
{
  struct mf_wasm_runtime_info info;
  struct mf_err err = { 0 };
  assert_int_equal(mf_wasm_read_runtime(f->path, &info, &err), MF_E_UNAVAILABLE);
  if (!strstr(err.msg, words))
    fail_msg("'%s' does not say '%s'", err.msg, words);
}

static void refuses_another_version_with_a_remedy(void **state)
{
  const struct folder *f = *state;
  char sha256[MF_SHA256_HEX_N];
  digest_of(CODE, sha256);
  put_manifest(f, "2", "1", "guest.cwasm", sha256, strlen(CODE));
  refuse_manifest(f, "'format' is 2, and this program needs 1");
  put_manifest(f, "1", "99", "guest.cwasm", sha256, strlen(CODE));
  refuse_manifest(f, "scripts/setup-wasm-runtime");
  put_manifest(f, "1", "\"1\"", "guest.cwasm", sha256, strlen(CODE));
  refuse_manifest(f, "'abi' is missing or not a whole number");
}

static void refuses_a_damaged_manifest(void **state)
{
  const struct folder *f = *state;
  char sha256[MF_SHA256_HEX_N];
  digest_of(CODE, sha256);
  put(f, "manifest.json", "{");
  refuse_manifest(f, "manifest.json");
  put(f, "manifest.json", "[]");
  refuse_manifest(f, "not an object");
  put(f, "manifest.json", "{\"format\":1,\"abi\":1,\"id\":\"a\",\"python\":\"b\",\"wasmtime\":\"c\"}");
  refuse_manifest(f, "'guest' is missing");
  static const char *const files[] = { "../guest.cwasm", "/etc/passwd", "a/b", ".", ".." };
  for (size_t i = 0; i < MF_ARRAY_N(files); i++) {
    put_manifest(f, "1", "1", files[i], sha256, strlen(CODE));
    refuse_manifest(f, "not a plain file name");
  }
  put_manifest(f, "1", "1", "guest.cwasm", "ABCD", strlen(CODE));
  refuse_manifest(f, "'guest.sha256'");
  put_manifest(f, "1", "1", "guest.cwasm", sha256, 0);
  refuse_manifest(f, "'guest.bytes'");
}

static void loads_what_it_has_verified_and_seals_it(void **state)
{
  const struct folder *f = *state;
  struct mf_wasm_runtime_info info;
  struct mf_err err;
  mf_auto_close int fd = -1;
  assert_ok(mf_wasm_load_code(f->path, &fd, &info, &err), &err);
  char text[64] = "";
  assert_int_equal(pread(fd, text, sizeof(text), 0), strlen(CODE));
  assert_string_equal(text, CODE);
  assert_int_equal(pwrite(fd, "x", 1, 0), -1); /* nobody changes it any more */
  assert_int_equal(ftruncate(fd, 0), -1);
  put(f, "guest.cwasm", "another guest, of some length"); /* not what was verified is run, but what is here */
  assert_int_equal(pread(fd, text, sizeof(text), 0), strlen(CODE));
  assert_string_equal(text, CODE);
}

static void refuse_code(const struct folder *f, const char *words)
{
  struct mf_wasm_runtime_info info;
  struct mf_err err = { 0 };
  int fd = -1;
  assert_int_equal(mf_wasm_load_code(f->path, &fd, &info, &err), MF_E_UNAVAILABLE);
  assert_int_equal(fd, -1);
  if (!strstr(err.msg, words))
    fail_msg("'%s' does not say '%s'", err.msg, words);
}

static void refuses_code_that_is_not_the_manifests(void **state)
{
  const struct folder *f = *state;
  put(f, "guest.cwasm", "this is the compiled guesT");
  refuse_code(f, "not what the manifest describes");
  put(f, "guest.cwasm", CODE "!");
  refuse_code(f, "scripts/setup-wasm-runtime");
  put(f, "guest.cwasm", "short");
  refuse_code(f, "not what the manifest describes");
  mf_auto_free char *path = mf_xasprintf("%s/guest.cwasm", f->path);
  assert_int_equal(unlink(path), 0);
  refuse_code(f, "No such file");
  assert_int_equal(mkdir(path, 0700), 0);
  refuse_code(f, "not a regular file");
  assert_int_equal(rmdir(path), 0);
}

static void finds_the_folder_that_was_named(void **state)
{
  const struct folder *f = *state;
  struct mf_err err = { 0 };
  mf_auto_free char *found = NULL, *from_env = NULL;
  assert_ok(mf_wasm_find_runtime(f->path, &found, &err), &err);
  assert_string_equal(found, f->path);
  char *none = NULL;
  assert_int_equal(mf_wasm_find_runtime("/nowhere", &none, &err), MF_E_UNAVAILABLE);
  assert_non_null(strstr(err.msg, "/nowhere"));

  assert_int_equal(setenv("MAYFLY_WASM_RUNTIME", f->path, 1), 0);
  assert_ok(mf_wasm_find_runtime(NULL, &from_env, &err), &err);
  assert_string_equal(from_env, f->path);
  assert_int_equal(setenv("MAYFLY_WASM_RUNTIME", "/nowhere", 1), 0);
  assert_int_equal(mf_wasm_find_runtime("", &none, &err), MF_E_UNAVAILABLE); /* what a person named must be right */
  assert_non_null(strstr(err.msg, "MAYFLY_WASM_RUNTIME"));
  assert_int_equal(unsetenv("MAYFLY_WASM_RUNTIME"), 0);
}

static void says_how_to_make_one(void **state)
{
  struct mf_err err = { 0 };
  char *none = NULL;
  assert_int_equal(unsetenv("MAYFLY_WASM_RUNTIME"), 0);
  assert_int_equal(mf_wasm_find_runtime_of("/bin/sh", NULL, &none, &err), MF_E_UNAVAILABLE);
  assert_non_null(strstr(err.msg, "scripts/setup-wasm-runtime"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
  const struct CMUnitTest tests[] = {
    TEST(reads_a_manifest),
    TEST(refuses_another_version_with_a_remedy),
    TEST(refuses_a_damaged_manifest),
    TEST(loads_what_it_has_verified_and_seals_it),
    TEST(refuses_code_that_is_not_the_manifests),
    TEST(finds_the_folder_that_was_named),
    TEST(says_how_to_make_one),
  };
  return cmocka_run_group_tests_name("wasm runtime", tests, NULL, NULL);
}

/* Finding the runtime folder, reading its manifest, verifying its code. */
#include "runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wasm/abi.h"
#include "base/fd.h"
#include "base/hash.h"
#include "json/json.h"
#include "base/banned.h"

#define MANIFEST "manifest.json"
#define MANIFEST_BYTES_MAX (64u << 10)
#define CODE_BYTES_MAX (512ull << 20)
#define CHUNK_N (256u << 10)
#define HINT "make one with scripts/setup-wasm-runtime, or name one with MAYFLY_WASM_RUNTIME"

/* ---- where ---- */

/* The folder of `program` (NULL: this one); NULL with errno. */
static char *find_bindir(const char *program)
{
  char self[PATH_MAX];
  char *path = NULL;
  if (program) {
    path = realpath(program, NULL);
  } else {
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (n > 0) {
      self[n] = '\0';
      path = mf_xstrdup(self);
    }
  }
  char *slash = path ? strrchr(path, '/') : NULL;
  if (slash)
    *(slash == path ? slash + 1 : slash) = '\0';
  return path;
}

/* The absolute path of `dir` when it holds a manifest, else NULL with errno. */
static char *resolve(const char *dir)
{
  mf_auto_free char *path = mf_xasprintf("%s/" MANIFEST, dir);
  return access(path, R_OK) == 0 ? realpath(dir, NULL) : NULL;
}

enum mf_code mf_wasm_find_runtime_of(const char *program, const char *explicit_path, char **ret, struct mf_err *err)
{
  const char *named = explicit_path, *named_by = "the WebAssembly runtime folder";
  if (!named || !*named) {
    named = getenv("MAYFLY_WASM_RUNTIME");
    named_by = "MAYFLY_WASM_RUNTIME";
  }
  if (named && *named) {
    char *found = resolve(named);
    if (!found)
      return mf_fail(err, MF_E_UNAVAILABLE, errno, "%s '%s' does not hold " MANIFEST, named_by, named);
    *ret = found;
    return MF_OK;
  }
  mf_auto_free char *bindir = find_bindir(program);
  if (!bindir)
    return mf_fail(err, MF_E_UNAVAILABLE, errno, "find the folder of the program '%s'",
                   program ? program : "/proc/self/exe");
  mf_auto_free char *beside = mf_xasprintf("%s/wasm", bindir);
  mf_auto_free char *installed = mf_xasprintf("%s/../lib/mayfly/wasm", bindir);
  char *found = resolve(beside);
  if (!found)
    found = resolve(installed);
  if (!found)
    return mf_fail(err, MF_E_UNAVAILABLE, 0, "no WebAssembly runtime at '%s' or '%s'; " HINT, beside, installed);
  *ret = found;
  return MF_OK;
}

enum mf_code mf_wasm_find_runtime(const char *explicit_path, char **ret, struct mf_err *err)
{
  return mf_wasm_find_runtime_of(NULL, explicit_path, ret, err);
}

/* ---- the manifest ---- */

struct manifest {
  struct mf_wasm_runtime_info info;
  char file[128]; /* of the code, in the folder itself */
  char sha256[MF_SHA256_HEX_N];
  uint64_t bytes;
};

static enum mf_code read_text(const struct mf_json_val *obj, const char *key, char *ret, size_t n, struct mf_err *err)
{
  const struct mf_json_val *v = mf_json_get(obj, key);
  if (!v || mf_json_type_of(v) != MF_JSON_STR)
    return mf_fail(err, MF_E_INPUT, 0, "'%s' is missing or not a text", key);
  struct mf_str s = mf_json_str(v);
  if (s.len == 0 || s.len >= n || memchr(s.ptr, '\0', s.len))
    return mf_fail(err, MF_E_INPUT, 0, "'%s' is empty or longer than %zu bytes", key, n - 1);
  memcpy(ret, s.ptr, s.len);
  ret[s.len] = '\0';
  return MF_OK;
}

/* A runtime of another make is not damaged, so it is told apart. */
static enum mf_code read_number(const struct mf_json_val *obj, const char *key, uint64_t want, struct mf_err *err)
{
  uint64_t got = 0;
  if (!mf_json_u64(mf_json_get(obj, key), &got))
    return mf_fail(err, MF_E_INPUT, 0, "'%s' is missing or not a whole number", key);
  if (got != want)
    return mf_fail(err, MF_E_INPUT, 0, "'%s' is %llu, and this program needs %llu: " HINT, key, (unsigned long long)got,
                   (unsigned long long)want);
  return MF_OK;
}

static bool is_hex_digest(const char *s)
{
  return strlen(s) == MF_SHA256_HEX_N - 1 && strspn(s, "0123456789abcdef") == MF_SHA256_HEX_N - 1;
}

static enum mf_code parse_manifest(const struct mf_json_val *root, struct manifest *ret, struct mf_err *err)
{
  if (mf_json_type_of(root) != MF_JSON_OBJ)
    return mf_fail(err, MF_E_INPUT, 0, "not an object");
  enum mf_code code = read_number(root, "format", MF_GUEST_FORMAT, err);
  if (code == MF_OK)
    code = read_number(root, "abi", MF_GUEST_ABI, err);
  const struct mf_json_val *guest = mf_json_get(root, "guest");
  struct {
    const struct mf_json_val *obj;
    const char *key;
    char *to;
    size_t n;
  } rows[] = {
    { root, "id", ret->info.id, sizeof(ret->info.id) },
    { root, "python", ret->info.python_version, sizeof(ret->info.python_version) },
    { root, "wasmtime", ret->info.wasmtime_version, sizeof(ret->info.wasmtime_version) },
    { guest, "file", ret->file, sizeof(ret->file) },
    { guest, "sha256", ret->sha256, sizeof(ret->sha256) },
  };
  for (size_t i = 0; code == MF_OK && i < MF_ARRAY_N(rows); i++) {
    if (!rows[i].obj || mf_json_type_of(rows[i].obj) != MF_JSON_OBJ)
      return mf_fail(err, MF_E_INPUT, 0, "'guest' is missing or not an object");
    code = read_text(rows[i].obj, rows[i].key, rows[i].to, rows[i].n, err);
  }
  if (code != MF_OK)
    return code;
  if (strchr(ret->file, '/') || ret->file[0] == '.')
    return mf_fail(err, MF_E_INPUT, 0, "'guest.file' is not a plain file name");
  if (!is_hex_digest(ret->sha256))
    return mf_fail(err, MF_E_INPUT, 0, "'guest.sha256' is not a SHA-256 in lower-case hex");
  if (!mf_json_u64(mf_json_get(guest, "bytes"), &ret->bytes) || ret->bytes == 0 || ret->bytes > CODE_BYTES_MAX)
    return mf_fail(err, MF_E_INPUT, 0, "'guest.bytes' is missing or not from 1 to %llu",
                   (unsigned long long)CODE_BYTES_MAX);
  snprintf(ret->info.digest, sizeof(ret->info.digest), "sha256:%s", ret->sha256);
  return MF_OK;
}

static enum mf_code read_manifest(const char *runtime_dir, struct manifest *ret, struct mf_err *err)
{
  mf_auto_free char *path = mf_xasprintf("%s/" MANIFEST, runtime_dir);
  mf_auto_free char *text = NULL;
  size_t text_n = 0;
  struct mf_err why = { 0 };
  if (mf_read_file(AT_FDCWD, path, MANIFEST_BYTES_MAX, &text, &text_n, &why) != MF_OK)
    return mf_fail(err, MF_E_UNAVAILABLE, 0, "the WebAssembly runtime cannot be used: %s", why.msg);
  mf_auto_json struct mf_json *doc = NULL;
  const struct mf_json_limits limits = { .bytes_max = MANIFEST_BYTES_MAX, .depth_max = 16 };
  struct manifest m = { 0 };
  enum mf_code code = mf_json_parse((struct mf_str){ text, text_n }, &limits, &doc, &why);
  if (code == MF_OK)
    code = parse_manifest(mf_json_root(doc), &m, &why);
  if (code != MF_OK)
    return mf_fail(err, MF_E_UNAVAILABLE, 0, "the WebAssembly runtime cannot be used: '%s': %s", path, why.msg);
  *ret = m;
  return MF_OK;
}

enum mf_code mf_wasm_read_runtime(const char *runtime_dir, struct mf_wasm_runtime_info *ret, struct mf_err *err)
{
  struct manifest m;
  enum mf_code code = read_manifest(runtime_dir, &m, err);
  if (code == MF_OK)
    *ret = m.info;
  return code;
}

/* ---- the code ---- */

/* Reads from `fd`, writes to `to`, until the end or one byte more than max. */
static enum mf_code copy_hashed(int fd, int to, uint64_t max, struct mf_sha256 *hash, uint64_t *ret_n,
                                struct mf_err *err)
{
  mf_auto_free char *chunk = mf_xmalloc(CHUNK_N);
  uint64_t n = 0;
  while (n <= max) {
    ssize_t got = read(fd, chunk, CHUNK_N);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return mf_fail(err, MF_E_SYS, errno, "read");
    if (got == 0)
      break;
    mf_sha256_update(hash, chunk, (size_t)got);
    enum mf_code code = mf_write_all(to, chunk, (size_t)got, err);
    if (code != MF_OK)
      return code;
    n += (uint64_t)got;
  }
  *ret_n = n;
  return MF_OK;
}

static enum mf_code copy_verified(const char *path, const struct manifest *m, int *ret_fd, struct mf_err *err)
{
  mf_auto_close int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  struct stat st;
  if (file < 0 || fstat(file, &st) != 0)
    return mf_fail(err, MF_E_SYS, errno, "open");
  if (!S_ISREG(st.st_mode))
    return mf_fail(err, MF_E_INPUT, 0, "not a regular file");
  mf_auto_close int fd = -1;
  enum mf_code code = mf_memfd("mayfly-guest", &fd, err);
  if (code != MF_OK)
    return code;
  char sha256[MF_SHA256_HEX_N];
  uint64_t n = 0;
  struct mf_sha256 *hash = mf_sha256_new();
  code = copy_hashed(file, fd, m->bytes, hash, &n, err);
  mf_sha256_finish(hash, sha256);
  if (code != MF_OK)
    return code;
  if (n != m->bytes || strcmp(sha256, m->sha256) != 0)
    return mf_fail(err, MF_E_INPUT, 0,
                   "it is not what the manifest describes; make the runtime anew with "
                   "scripts/setup-wasm-runtime");
  if (fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0)
    return mf_fail(err, MF_E_SYS, errno, "seal the code");
  *ret_fd = mf_take_fd(&fd);
  return MF_OK;
}

enum mf_code mf_wasm_load_code(const char *runtime_dir, int *ret_fd, struct mf_wasm_runtime_info *ret_info,
                               struct mf_err *err)
{
  struct manifest m;
  enum mf_code code = read_manifest(runtime_dir, &m, err);
  if (code != MF_OK)
    return code;
  mf_auto_free char *path = mf_xasprintf("%s/%s", runtime_dir, m.file);
  struct mf_err why = { 0 };
  if (copy_verified(path, &m, ret_fd, &why) != MF_OK)
    return mf_fail(err, MF_E_UNAVAILABLE, 0, "the WebAssembly runtime cannot be used: '%s': %s", path, why.msg);
  *ret_info = m.info;
  return MF_OK;
}

/* Finding the runtime folder, reading its manifest, verifying its code. */
#include "runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wasm/abi.h"
#include "base/fd.h"
#include "base/hash.h"
#include "confine/folder.h"
#include "base/banned.h"

#define CODE_BYTES_MAX (512ull << 20)
#define CHUNK_N (256u << 10)
#define HINT "make one with scripts/setup-wasm-runtime, or name one with MAYFLY_WASM_RUNTIME"

static const struct mf_folder runtime_folder = {
  .noun = "WebAssembly runtime",
  .leaf = "wasm",
  .mark = MF_FOLDER_MANIFEST,
  .env = "MAYFLY_WASM_RUNTIME",
  .hint = HINT,
};

enum mf_code mf_wasm_find_runtime_of(const char *program, const char *explicit_path, char **ret, struct mf_err *err)
{
  return mf_folder_find(&runtime_folder, program, explicit_path, ret, err);
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

static enum mf_code take_manifest(const struct mf_json_val *root, void *to, struct mf_err *err)
{
  struct manifest *ret = to;
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
    code = mf_manifest_text(rows[i].obj, rows[i].key, false, rows[i].to, rows[i].n, err);
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
  *ret = (struct manifest){ 0 };
  return mf_folder_read_manifest(&runtime_folder, runtime_dir, take_manifest, ret, err);
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

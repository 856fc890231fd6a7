/* The runtime image and the zygote module: where they are, what the manifest says. */
#include "local/local.h"
#include "runtime.h"

#include "confine/folder.h"
#include "base/banned.h"

static const struct mf_folder runtime_folder = {
  .noun = "runtime",
  .leaf = "runtime",
  .mark = MF_FOLDER_MANIFEST,
  .env = "MAYFLY_RUNTIME",
  .hint = "make one with scripts/setup-runtime, or name one with MAYFLY_RUNTIME",
};
static const struct mf_folder zygote_folder = {
  .noun = "zygote",
  .leaf = "zygote",
  .mark = "boot.py",
  .hint = "build it with 'make build'",
};

enum mf_code mf_local_find_runtime_of(const char *program, const char *explicit_path, char **ret, struct mf_err *err)
{
  return mf_folder_find(&runtime_folder, program, explicit_path, ret, err);
}

enum mf_code mf_local_find_runtime(const char *explicit_path, char **ret, struct mf_err *err)
{
  return mf_local_find_runtime_of(NULL, explicit_path, ret, err);
}

enum mf_code mf_local_find_zygote(const char *program, const char *explicit_path, char **ret, struct mf_err *err)
{
  return mf_folder_find(&zygote_folder, program, explicit_path, ret, err);
}

static bool has_package(const struct mf_json_val *root, const char *name)
{
  const struct mf_json_val *packages = mf_json_get(root, "packages");
  return packages && mf_json_type_of(packages) == MF_JSON_OBJ && mf_json_get(packages, name);
}

static enum mf_code take_manifest(const struct mf_json_val *root, void *to, struct mf_err *err)
{
  struct mf_runtime_info *ret = to;
  const struct {
    const char *key;
    char *to;
    size_t n;
    bool is_path, optional; /* the last two serve only isolation "none" */
  } rows[] = {
    { "id", ret->id, sizeof(ret->id), false, false },
    { "digest", ret->digest, sizeof(ret->digest), false, false },
    { "pythonVersion", ret->python_version, sizeof(ret->python_version), false, false },
    { "python", ret->python_path, sizeof(ret->python_path), true, false },
    { "hostPython", ret->host_python, sizeof(ret->host_python), true, true },
    { "sitePackages", ret->site_packages, sizeof(ret->site_packages), true, true },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    enum mf_code code = mf_manifest_text(root, rows[i].key, rows[i].optional, rows[i].to, rows[i].n, err);
    if (code != MF_OK)
      return code;
    if (rows[i].is_path && rows[i].to[0] != '/' && rows[i].to[0] != '\0')
      return mf_fail(err, MF_E_INPUT, 0, "'%s' is not an absolute path", rows[i].key);
  }
  ret->has_numpy = has_package(root, "numpy");
  ret->has_pandas = has_package(root, "pandas");
  ret->has_plot = has_package(root, "matplotlib");
  return MF_OK;
}

enum mf_code mf_local_read_runtime(const char *runtime_dir, struct mf_runtime_info *ret, struct mf_err *err)
{
  struct mf_runtime_info info = { 0 };
  enum mf_code code = mf_folder_read_manifest(&runtime_folder, runtime_dir, take_manifest, &info, err);
  if (code == MF_OK)
    *ret = info;
  return code;
}

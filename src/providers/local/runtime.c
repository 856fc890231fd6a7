/* Finding the runtime image and the zygote module, and reading the manifest. */
#include "local/local.h"
#include "runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "json/json.h"
#include "base/banned.h"

#define MANIFEST "manifest.json"
#define MANIFEST_BYTES_MAX (256u * 1024u)

/* This program's file; its folder is right also when the file was replaced meanwhile. */
static char *own_path(void)
{
  char self[PATH_MAX];
  ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
  if (n <= 0)
    return NULL;
  self[n] = '\0';
  return mf_xstrdup(self);
}

/* The folder that holds the program; NULL: this one. */
static enum mf_code find_bindir(const char *program, char **ret, struct mf_err *err)
{
  mf_auto_free char *path = program ? realpath(program, NULL) : own_path();
  if (!path)
    return mf_fail(err, MF_E_UNAVAILABLE, errno, "find the folder of the program '%s'",
                   program ? program : "/proc/self/exe");
  char *slash = strrchr(path, '/');
  if (!slash)
    return mf_fail(err, MF_E_UNAVAILABLE, 0, "this program has no folder ('%s')", path);
  *(slash == path ? slash + 1 : slash) = '\0';
  *ret = mf_xstrdup(path);
  return MF_OK;
}

/* The absolute path of `dir` when it holds the file `mark`, else NULL with errno. */
static char *resolve_with(const char *dir, const char *mark)
{
  mf_auto_free char *path = mf_xasprintf("%s/%s", dir, mark);
  if (access(path, R_OK) != 0)
    return NULL;
  return realpath(dir, NULL);
}

/* What the person named must be right; the other places are only looked at. */
static enum mf_code find_place(const char *program, const char *named, const char *named_by, const char *leaf,
                               const char *mark, const char *hint, char **ret, struct mf_err *err)
{
  if (named) {
    char *found = resolve_with(named, mark);
    if (!found)
      return mf_fail(err, MF_E_UNAVAILABLE, errno, "%s '%s' does not hold %s", named_by, named, mark);
    *ret = found;
    return MF_OK;
  }
  mf_auto_free char *bindir = NULL;
  enum mf_code code = find_bindir(program, &bindir, err);
  if (code != MF_OK)
    return code;
  mf_auto_free char *beside = mf_xasprintf("%s/%s", bindir, leaf);
  mf_auto_free char *installed = mf_xasprintf("%s/../lib/mayfly/%s", bindir, leaf);
  char *found = resolve_with(beside, mark);
  if (!found)
    found = resolve_with(installed, mark);
  if (!found)
    return mf_fail(err, MF_E_UNAVAILABLE, 0, "no %s at '%s' or '%s'; %s", leaf, beside, installed, hint);
  *ret = found;
  return MF_OK;
}

enum mf_code mf_local_find_runtime_of(const char *program, const char *explicit_path, char **ret, struct mf_err *err)
{
  const char *named = explicit_path, *named_by = "the runtime folder";
  if (!named || !*named) {
    named = getenv("MAYFLY_RUNTIME");
    named_by = "MAYFLY_RUNTIME";
  }
  if (named && !*named)
    named = NULL;
  return find_place(program, named, named_by, "runtime", MANIFEST,
                    "make one with scripts/setup-runtime, or name one with MAYFLY_RUNTIME", ret, err);
}

enum mf_code mf_local_find_runtime(const char *explicit_path, char **ret, struct mf_err *err)
{
  return mf_local_find_runtime_of(NULL, explicit_path, ret, err);
}

enum mf_code mf_local_find_zygote(const char *program, const char *explicit_path, char **ret, struct mf_err *err)
{
  return find_place(program, explicit_path && *explicit_path ? explicit_path : NULL, "the zygote folder", "zygote",
                    "boot.py", "build it with 'make build'", ret, err);
}

/* A text member without NUL that fits. */
static enum mf_code read_text(const struct mf_json_val *root, const char *key, bool optional, char *ret, size_t n,
                              struct mf_err *err)
{
  const struct mf_json_val *v = mf_json_get(root, key);
  if (optional && (!v || mf_json_type_of(v) == MF_JSON_NULL))
    return MF_OK;
  if (!v || mf_json_type_of(v) != MF_JSON_STR)
    return mf_fail(err, MF_E_INPUT, 0, "'%s' is missing or not a text", key);
  struct mf_str s = mf_json_str(v);
  if (s.len == 0 || s.len >= n || memchr(s.ptr, '\0', s.len))
    return mf_fail(err, MF_E_INPUT, 0, "'%s' is empty or longer than %zu bytes", key, n - 1);
  memcpy(ret, s.ptr, s.len);
  ret[s.len] = '\0';
  return MF_OK;
}

static bool has_package(const struct mf_json_val *root, const char *name)
{
  const struct mf_json_val *packages = mf_json_get(root, "packages");
  return packages && mf_json_type_of(packages) == MF_JSON_OBJ && mf_json_get(packages, name);
}

static enum mf_code read_manifest(const struct mf_json_val *root, struct mf_runtime_info *ret, struct mf_err *err)
{
  if (mf_json_type_of(root) != MF_JSON_OBJ)
    return mf_fail(err, MF_E_INPUT, 0, "not an object");
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
    enum mf_code code = read_text(root, rows[i].key, rows[i].optional, rows[i].to, rows[i].n, err);
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
  mf_auto_free char *path = mf_xasprintf("%s/" MANIFEST, runtime_dir);
  mf_auto_free char *text = NULL;
  size_t text_n = 0;
  struct mf_err why = { 0 };
  if (mf_read_file(AT_FDCWD, path, MANIFEST_BYTES_MAX, &text, &text_n, &why) != MF_OK)
    return mf_fail(err, MF_E_UNAVAILABLE, 0, "the runtime cannot be used: %s", why.msg);
  mf_auto_json struct mf_json *doc = NULL;
  const struct mf_json_limits limits = { .bytes_max = MANIFEST_BYTES_MAX, .depth_max = 16 };
  struct mf_runtime_info info = { 0 };
  enum mf_code code = mf_json_parse((struct mf_str){ text, text_n }, &limits, &doc, &why);
  if (code == MF_OK)
    code = read_manifest(mf_json_root(doc), &info, &why);
  if (code != MF_OK)
    return mf_fail(err, MF_E_UNAVAILABLE, 0, "the runtime cannot be used: '%s': %s", path, why.msg);
  *ret = info;
  return MF_OK;
}

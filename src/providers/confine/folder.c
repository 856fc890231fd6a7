/* Finding a folder that comes with the program, and reading its manifest. */
#include "confine/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "base/banned.h"

#define MANIFEST_BYTES_MAX (256u << 10)

/* ---- where ---- */

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

static enum mf_code find_beside(const struct mf_folder *f, const char *program, char **ret, struct mf_err *err)
{
  mf_auto_free char *bindir = NULL;
  enum mf_code code = find_bindir(program, &bindir, err);
  if (code != MF_OK)
    return code;
  mf_auto_free char *beside = mf_xasprintf("%s/%s", bindir, f->leaf);
  mf_auto_free char *installed = mf_xasprintf("%s/../lib/mayfly/%s", bindir, f->leaf);
  char *found = resolve_with(beside, f->mark);
  if (!found)
    found = resolve_with(installed, f->mark);
  if (!found)
    return mf_fail(err, MF_E_UNAVAILABLE, 0, "no %s at '%s' or '%s'; %s", f->noun, beside, installed, f->hint);
  *ret = found;
  return MF_OK;
}

enum mf_code mf_folder_find(const struct mf_folder *f, const char *program, const char *named, char **ret,
                            struct mf_err *err)
{
  bool is_by_env = (!named || !*named) && f->env;
  if (is_by_env)
    named = getenv(f->env);
  if (!named || !*named)
    return find_beside(f, program, ret, err);
  char *found = resolve_with(named, f->mark);
  if (!found && is_by_env)
    return mf_fail(err, MF_E_UNAVAILABLE, errno, "%s '%s' does not hold %s", f->env, named, f->mark);
  if (!found)
    return mf_fail(err, MF_E_UNAVAILABLE, errno, "the %s folder '%s' does not hold %s", f->noun, named, f->mark);
  *ret = found;
  return MF_OK;
}

/* ---- the manifest ---- */

enum mf_code mf_manifest_text(const struct mf_json_val *obj, const char *key, bool is_optional, char *ret, size_t n,
                              struct mf_err *err)
{
  const struct mf_json_val *v = mf_json_get(obj, key);
  if (is_optional && (!v || mf_json_type_of(v) == MF_JSON_NULL))
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

enum mf_code mf_folder_read_manifest(const struct mf_folder *f, const char *dir,
                                     enum mf_code (*take)(const struct mf_json_val *root, void *ret,
                                                          struct mf_err *err),
                                     void *ret, struct mf_err *err)
{
  mf_auto_free char *path = mf_xasprintf("%s/" MF_FOLDER_MANIFEST, dir);
  mf_auto_free char *text = NULL;
  size_t text_n = 0;
  struct mf_err why = { 0 };
  if (mf_read_file(AT_FDCWD, path, MANIFEST_BYTES_MAX, &text, &text_n, &why) != MF_OK)
    return mf_fail(err, MF_E_UNAVAILABLE, 0, "the %s cannot be used: %s", f->noun, why.msg);
  mf_auto_json struct mf_json *doc = NULL;
  const struct mf_json_limits limits = { .bytes_max = MANIFEST_BYTES_MAX, .depth_max = 16 };
  enum mf_code code = mf_json_parse((struct mf_str){ text, text_n }, &limits, &doc, &why);
  if (code == MF_OK && mf_json_type_of(mf_json_root(doc)) != MF_JSON_OBJ)
    code = mf_fail(&why, MF_E_INPUT, 0, "not an object");
  if (code == MF_OK)
    code = take(mf_json_root(doc), ret, &why);
  if (code != MF_OK)
    return mf_fail(err, MF_E_UNAVAILABLE, 0, "the %s cannot be used: '%s': %s", f->noun, path, why.msg);
  return MF_OK;
}

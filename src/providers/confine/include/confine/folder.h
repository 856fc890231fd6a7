/* A folder that comes with the program (a runtime, the zygote module): where it is, and what its manifest says.
 * Thread: any. */
#ifndef MF_CONFINE_FOLDER_H
#define MF_CONFINE_FOLDER_H

#include "base/err.h"
#include "json/json.h"

#define MF_FOLDER_MANIFEST "manifest.json"

struct mf_folder {
  const char *noun; /* "runtime": in messages */
  const char *leaf; /* its name beside the program and below ../lib/mayfly */
  const char *mark; /* a file that it holds */
  const char *env;  /* the variable that may name it; NULL: none */
  const char *hint; /* what to do when there is none */
};

/* `named`, else what the variable says, else beside `program` (NULL: this one), else the installed place. What a person
 * named must be right; the other places are only looked at. MF_E_UNAVAILABLE says where it was looked for. *ret
 * malloc'ed, absolute. */
MF_MUST_USE enum mf_code mf_folder_find(const struct mf_folder *folder, const char *program, const char *named,
                                        char **ret, struct mf_err *err);

/* Reads the manifest in `dir` and gives its object to `take`, which fills *ret. MF_E_UNAVAILABLE for whatever is wrong
 * with it, with the words of `take`. */
MF_MUST_USE enum mf_code mf_folder_read_manifest(const struct mf_folder *folder, const char *dir,
                                                 enum mf_code (*take)(const struct mf_json_val *root, void *ret,
                                                                      struct mf_err *err),
                                                 void *ret, struct mf_err *err);

/* A text member without NUL that fits; where `is_optional`, none or null leaves *ret as it is. MF_E_INPUT. */
MF_MUST_USE enum mf_code mf_manifest_text(const struct mf_json_val *obj, const char *key, bool is_optional, char *ret,
                                          size_t n, struct mf_err *err);

#endif

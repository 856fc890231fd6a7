/* Reading TOML: toml++ behind a function that C can call. Private to the config room. */
#ifndef MF_CONFIG_TOML_H
#define MF_CONFIG_TOML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum mf_toml_kind {
  MF_TOML_BOOL,
  MF_TOML_INTEGER,
  MF_TOML_STRING,
  MF_TOML_ARRAY,
  MF_TOML_TABLE,
  MF_TOML_OTHER, /* a float, a date, a time */
};

/* One key of the file, borrowed for the call. */
struct mf_toml_node {
  const char *path; /* "a.b"; a part that is no bare key is in quotes */
  unsigned line;    /* from 1 */
  enum mf_toml_kind kind;
  const char *kind_name; /* "a string" … */
  bool boolean;
  int64_t integer;
  const char *text; /* of a string, or NULL when it holds a NUL */
  /* Of an array of strings; NULL when something else is in it, or a NUL. */
  const char *const *items;
  size_t item_n;
};
/* A table comes before what is in it, which is left out when the answer is false. Other answers have no meaning. */
typedef bool mf_toml_visit(void *user, const struct mf_toml_node *node);

/* False: the text is no TOML; *line and why say what is wrong: NUL-terminated, cut on a character's boundary, control
 * characters as '?'. why_n > 0. Thread: any. */
bool mf_toml_read(const char *text, size_t n, mf_toml_visit *visit, void *user, unsigned *line, char *why,
                  size_t why_n);

#ifdef __cplusplus
}
#endif

#endif

/* JSON (yyjson behind one door): strict reading with limits, and a streaming writer.
 *
 * Reading: RFC 8259, UTF-8 checked, no duplicate keys, depth and size bounded; numbers keep their lexical form.
 * Errors of parsing name line and column; readers of a document name the place as a path ("tools[2].type").
 * Writing: straight into an mf_buf; commas and nesting are kept by the writer. */
#ifndef MF_JSON_JSON_H
#define MF_JSON_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/* ---- reading ---- */

struct mf_json;     /* a parsed document; owns every value */
struct mf_json_val; /* borrowed from its document */

struct mf_json_limits {
  size_t bytes_max;
  unsigned depth_max;
};

/* Parses a whole text, which is copied. MF_E_INPUT with line and column (in characters, from 1) on bad text;
 * MF_E_LIMIT over a limit. depth_max counts open brackets and is at most 1024. Thread: any. */
MF_MUST_USE enum mf_code mf_json_parse(struct mf_str text, const struct mf_json_limits *limits, struct mf_json **ret,
                                       struct mf_err *err);
void mf_json_free(struct mf_json *doc);
void mf_json_free_ptr(struct mf_json **doc);
#define mf_auto_json MF_CLEANUP(mf_json_free_ptr)

enum mf_json_type { MF_JSON_NULL, MF_JSON_BOOL, MF_JSON_NUM, MF_JSON_STR, MF_JSON_ARR, MF_JSON_OBJ };

const struct mf_json_val *mf_json_root(const struct mf_json *doc);
enum mf_json_type mf_json_type_of(const struct mf_json_val *v);
/* A missing value (NULL) has type NULL, length 0 and no members, so that a path of gets needs one check. */
size_t mf_json_len(const struct mf_json_val *v);                                       /* members or elements */
const struct mf_json_val *mf_json_get(const struct mf_json_val *obj, const char *key); /* NULL when absent; O(n) */
const struct mf_json_val *mf_json_at(const struct mf_json_val *arr, size_t i);         /* NULL past the end; O(i) */
bool mf_json_bool(const struct mf_json_val *v);                                        /* v must be a BOOL */
struct mf_str mf_json_str(const struct mf_json_val *v);      /* v must be a STR; may hold NUL */
struct mf_str mf_json_num_text(const struct mf_json_val *v); /* the number as written */
/* false unless a number that fits; a whole number is one written without fraction and exponent. */
bool mf_json_u64(const struct mf_json_val *v, uint64_t *ret);
bool mf_json_i64(const struct mf_json_val *v, int64_t *ret);
bool mf_json_f64(const struct mf_json_val *v, double *ret);

/* Iteration in document order, each step O(1): struct mf_json_iter it = mf_json_iter(v); while (mf_json_next(&it)) … */
struct mf_json_iter {
  const struct mf_json_val *container;
  const struct mf_json_val *cur; /* private */
  size_t i, n;                   /* private */
  struct mf_str key;             /* of an object's member */
  const struct mf_json_val *val;
};
struct mf_json_iter mf_json_iter(const struct mf_json_val *container);
bool mf_json_next(struct mf_json_iter *it);

/* ---- writing ---- */

struct mf_json_writer {
  struct mf_buf *out; /* borrowed */
  enum mf_code code; /* the first failure sticks (MF_E_LIMIT of the buffer; MF_E_INTERNAL: wrong nesting); check once */
  bool pretty;       /* two-space indentation */
  unsigned depth;
  bool need_comma, after_key;
};

void mf_jw_init(struct mf_json_writer *w, struct mf_buf *out, bool pretty);
void mf_jw_obj(struct mf_json_writer *w);
void mf_jw_obj_end(struct mf_json_writer *w);
void mf_jw_arr(struct mf_json_writer *w);
void mf_jw_arr_end(struct mf_json_writer *w);
void mf_jw_key(struct mf_json_writer *w, const char *key);
void mf_jw_key_str(struct mf_json_writer *w, struct mf_str key); /* a parsed object's; may hold NUL */
void mf_jw_str(struct mf_json_writer *w, struct mf_str s);       /* invalid UTF-8 becomes U+FFFD */
void mf_jw_strz(struct mf_json_writer *w, const char *z);        /* NULL writes null */
void mf_jw_u64(struct mf_json_writer *w, uint64_t v);
void mf_jw_i64(struct mf_json_writer *w, int64_t v);
void mf_jw_f64(struct mf_json_writer *w, double v); /* shortest text that reads back the same; NaN/inf are null */
void mf_jw_bool(struct mf_json_writer *w, bool v);
void mf_jw_null(struct mf_json_writer *w);
void mf_jw_raw(struct mf_json_writer *w, struct mf_str json);          /* already JSON */
void mf_jw_val(struct mf_json_writer *w, const struct mf_json_val *v); /* copies a parsed value, numbers as written */

/* "key": value in one call */
void mf_jw_kstr(struct mf_json_writer *w, const char *key, struct mf_str s);
void mf_jw_kstrz(struct mf_json_writer *w, const char *key, const char *z);
void mf_jw_ku64(struct mf_json_writer *w, const char *key, uint64_t v);
void mf_jw_ki64(struct mf_json_writer *w, const char *key, int64_t v);
void mf_jw_kf64(struct mf_json_writer *w, const char *key, double v);
void mf_jw_kbool(struct mf_json_writer *w, const char *key, bool v);

#endif

/* mf_json: strict reading with limits, over yyjson. Thread: any; a document is read-only once parsed.
 *
 * Neighbours see no yyjson type: a struct mf_json_val is a yyjson_val under another name. */
#include "json/json.h"

#include <assert.h>
#include <yyjson.h>

#include "base/num.h"
#include "base/path.h"
#include "base/utf8.h"
#include "base/banned.h"

/* Functions here and in neighbours may recurse over values, so that no caller can ask for more. */
#define DEPTH_MAX_HARD 1024u

struct mf_json {
  yyjson_doc *doc;
  char *text; /* the text, which strings and numbers point into; unescaped in place */
};

static yyjson_val *to_yy(const struct mf_json_val *v)
{
  return (yyjson_val *)v;
}

static const struct mf_json_val *from_yy(const yyjson_val *v)
{
  return (const struct mf_json_val *)v;
}

/* ---- errors with a place ---- */

struct place {
  size_t line, column; /* from 1; columns are characters */
};

static struct place place_of(struct mf_str text, size_t pos)
{
  struct place at = { 1, 1 };
  for (size_t i = 0; i < pos && i < text.len; i++) {
    if (text.ptr[i] == '\n')
      at = (struct place){ at.line + 1, 1 };
    else if (((unsigned char)text.ptr[i] & 0xc0) != 0x80)
      at.column++;
  }
  return at;
}

static enum mf_code fail_at(struct mf_err *err, enum mf_code code, struct mf_str text, size_t pos, const char *what)
{
  struct place at = place_of(text, pos);
  return mf_fail(err, code, 0, "JSON line %zu, column %zu: %s", at.line, at.column, what);
}

/* ---- limits that are checked before parsing ---- */

/* Counts brackets outside strings. Where the text is not JSON the count means little, and the parser will say so. */
static enum mf_code check_depth(struct mf_str text, unsigned depth_max, struct mf_err *err)
{
  /* Most texts do not have so many brackets at all. The bit is what '[' and '{' differ in. */
  size_t opened = 0;
  for (size_t i = 0; i < text.len; i++)
    opened += (text.ptr[i] | 0x20) == '{';
  if (opened <= depth_max)
    return MF_OK;

  unsigned depth = 0;
  for (size_t i = 0; i < text.len; i++) {
    switch (text.ptr[i]) {
    case '"':
      for (i++; i < text.len && text.ptr[i] != '"'; i++)
        if (text.ptr[i] == '\\')
          i++;
      break;
    case '[':
    case '{':
      if (depth == depth_max) {
        struct place at = place_of(text, i);
        return mf_fail(err, MF_E_LIMIT, 0, "JSON line %zu, column %zu: nested deeper than %u levels", at.line,
                       at.column, depth_max);
      }
      depth++;
      break;
    case ']':
    case '}':
      if (depth > 0)
        depth--;
      break;
    default:
      break;
    }
  }
  return MF_OK;
}

/* ---- duplicate keys ---- */

static int compare_keys(const void *a, const void *b)
{
  yyjson_val *x = *(yyjson_val *const *)a, *y = *(yyjson_val *const *)b;
  size_t xn = unsafe_yyjson_get_len(x), yn = unsafe_yyjson_get_len(y);
  if (xn != yn)
    return xn < yn ? -1 : 1;
  int order = memcmp(unsafe_yyjson_get_str(x), unsafe_yyjson_get_str(y), xn);
  if (order)
    return order;
  /* Equal keys stay in document order, so that the second of two is the one that is named. */
  return x < y ? -1 : x > y;
}

static bool same_key(yyjson_val *x, yyjson_val *y)
{
  size_t n = unsafe_yyjson_get_len(x);
  return n == unsafe_yyjson_get_len(y) && memcmp(unsafe_yyjson_get_str(x), unsafe_yyjson_get_str(y), n) == 0;
}

/* *ret is the second key of a pair, or NULL. Small objects are compared pair by pair; large ones are sorted, because
 * the time must not grow with the square of what a client sends. */
static enum mf_code find_duplicate(yyjson_val *obj, yyjson_val **ret)
{
  enum { SMALL_N = 32 };
  size_t n = yyjson_obj_size(obj);
  *ret = NULL;
  yyjson_val *small[SMALL_N];
  mf_auto_free yyjson_val **large = NULL;
  if (n > SMALL_N) {
    large = malloc(n * sizeof(yyjson_val *));
    if (!large)
      return MF_E_LIMIT;
  }

  yyjson_val **keys = large ? large : small;
  yyjson_obj_iter it = yyjson_obj_iter_with(obj);
  for (size_t i = 0; i < n; i++) {
    keys[i] = yyjson_obj_iter_next(&it);
    for (size_t k = 0; !large && k < i; k++)
      if (same_key(keys[k], keys[i])) {
        *ret = keys[i];
        return MF_OK;
      }
  }
  if (!large)
    return MF_OK;
  qsort(keys, n, sizeof(yyjson_val *), compare_keys);
  for (size_t i = 1; i < n; i++)
    if (same_key(keys[i - 1], keys[i])) {
      *ret = keys[i];
      break;
    }
  return MF_OK;
}

/* Values lie one after another in document order (yyjson promises that), so no recursion is needed to see them all. */
static enum mf_code check_duplicates(const struct mf_json *json, struct mf_str text, struct mf_err *err)
{
  yyjson_val *root = yyjson_doc_get_root(json->doc);
  size_t n = yyjson_doc_get_val_count(json->doc);
  for (size_t i = 0; i < n; i++) {
    if (!yyjson_is_obj(root + i))
      continue;
    yyjson_val *key = NULL;
    if (find_duplicate(root + i, &key))
      return mf_fail(err, MF_E_LIMIT, 0, "no memory for JSON of %zu bytes", text.len);
    if (!key)
      continue;
    /* A string is unescaped in place and starts where it started in the text, after its quote. */
    struct place at = place_of(text, (size_t)(yyjson_get_str(key) - json->text) - 1);
    char shown[80];
    mf_escape((struct mf_str){ yyjson_get_str(key), yyjson_get_len(key) }, shown, sizeof(shown));
    return mf_fail(err, MF_E_INPUT, 0, "JSON line %zu, column %zu: duplicate key '%s'", at.line, at.column, shown);
  }
  return MF_OK;
}

/* ---- documents ---- */

enum mf_code mf_json_parse(struct mf_str text, const struct mf_json_limits *limits, struct mf_json **ret,
                           struct mf_err *err)
{
  if (text.len > limits->bytes_max)
    return mf_fail(err, MF_E_LIMIT, 0, "JSON of %zu bytes is larger than %zu", text.len, limits->bytes_max);
  enum mf_code code = check_depth(text, MF_MIN(limits->depth_max, DEPTH_MAX_HARD), err);
  if (code)
    return code;

  mf_auto_json struct mf_json *json = mf_xcalloc(1, sizeof(*json));
  /* The size comes from a request, so running out of memory is a limit. */
  json->text = malloc(text.len + YYJSON_PADDING_SIZE);
  if (!json->text)
    return mf_fail(err, MF_E_LIMIT, 0, "no memory for JSON of %zu bytes", text.len);
  if (text.len > 0)
    memcpy(json->text, text.ptr, text.len);
  memset(json->text + text.len, 0, YYJSON_PADDING_SIZE);

  yyjson_read_err fault;
  json->doc = yyjson_read_opts(json->text, text.len, YYJSON_READ_INSITU | YYJSON_READ_NUMBER_AS_RAW, NULL, &fault);
  if (!json->doc) {
    if (fault.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
      return mf_fail(err, MF_E_LIMIT, 0, "no memory for JSON of %zu bytes", text.len);
    return fail_at(err, MF_E_INPUT, text, fault.pos, text.len ? fault.msg : "the text is empty");
  }
  code = check_duplicates(json, text, err);
  if (code)
    return code;
  *ret = json;
  json = NULL;
  return MF_OK;
}

void mf_json_free(struct mf_json *doc)
{
  if (!doc)
    return;
  yyjson_doc_free(doc->doc);
  free(doc->text);
  free(doc);
}

void mf_json_free_ptr(struct mf_json **doc)
{
  mf_json_free(*doc);
  *doc = NULL;
}

/* ---- values ---- */

const struct mf_json_val *mf_json_root(const struct mf_json *doc)
{
  return from_yy(yyjson_doc_get_root(doc->doc));
}

enum mf_json_type mf_json_type_of(const struct mf_json_val *v)
{
  switch (yyjson_get_type(to_yy(v))) {
  case YYJSON_TYPE_BOOL:
    return MF_JSON_BOOL;
  case YYJSON_TYPE_RAW:
    return MF_JSON_NUM;
  case YYJSON_TYPE_STR:
    return MF_JSON_STR;
  case YYJSON_TYPE_ARR:
    return MF_JSON_ARR;
  case YYJSON_TYPE_OBJ:
    return MF_JSON_OBJ;
  default:
    return MF_JSON_NULL;
  }
}

size_t mf_json_len(const struct mf_json_val *v)
{
  return yyjson_is_ctn(to_yy(v)) ? unsafe_yyjson_get_len(to_yy(v)) : 0;
}

const struct mf_json_val *mf_json_get(const struct mf_json_val *obj, const char *key)
{
  return from_yy(yyjson_obj_get(to_yy(obj), key));
}

const struct mf_json_val *mf_json_at(const struct mf_json_val *arr, size_t i)
{
  return from_yy(yyjson_arr_get(to_yy(arr), i));
}

bool mf_json_bool(const struct mf_json_val *v)
{
  assert(yyjson_is_bool(to_yy(v)));
  return yyjson_get_bool(to_yy(v));
}

struct mf_str mf_json_str(const struct mf_json_val *v)
{
  assert(yyjson_is_str(to_yy(v)));
  return (struct mf_str){ unsafe_yyjson_get_str(to_yy(v)), unsafe_yyjson_get_len(to_yy(v)) };
}

struct mf_str mf_json_num_text(const struct mf_json_val *v)
{
  assert(yyjson_is_raw(to_yy(v)));
  return (struct mf_str){ unsafe_yyjson_get_raw(to_yy(v)), unsafe_yyjson_get_len(to_yy(v)) };
}

bool mf_json_u64(const struct mf_json_val *v, uint64_t *ret)
{
  if (mf_json_type_of(v) != MF_JSON_NUM)
    return false;
  struct mf_str text = mf_json_num_text(v);
  if (mf_str_is(text, "-0"))
    text = MF_STR("0");
  return mf_parse_u64(text, "number", 0, UINT64_MAX, ret, NULL) == MF_OK;
}

bool mf_json_i64(const struct mf_json_val *v, int64_t *ret)
{
  if (mf_json_type_of(v) != MF_JSON_NUM)
    return false;
  struct mf_str text = mf_json_num_text(v);
  bool negative = text.ptr[0] == '-';
  if (negative)
    text = (struct mf_str){ text.ptr + 1, text.len - 1 };
  uint64_t magnitude = 0;
  if (mf_parse_u64(text, "number", 0, (uint64_t)INT64_MAX + negative, &magnitude, NULL))
    return false;
  /* Subtracting first keeps INT64_MIN, whose magnitude no int64_t holds. */
  *ret = negative && magnitude > 0 ? -(int64_t)(magnitude - 1) - 1 : (int64_t)magnitude;
  return true;
}

bool mf_json_f64(const struct mf_json_val *v, double *ret)
{
  if (mf_json_type_of(v) != MF_JSON_NUM)
    return false;
  /* yyjson's reader rounds correctly and, unlike strtod, knows no locale. It wants a NUL at the end. */
  struct mf_str text = mf_json_num_text(v);
  char *z = malloc(text.len + 1);
  if (!z)
    return false;
  memcpy(z, text.ptr, text.len);
  z[text.len] = 0;
  yyjson_val num = { 0 };
  /* It fails for what is too large for a double. */
  bool ok = yyjson_read_number(z, &num, YYJSON_READ_NOFLAG, NULL, NULL);
  free(z);
  if (ok)
    *ret = yyjson_get_num(&num);
  return ok;
}

/* ---- iteration ---- */

struct mf_json_iter mf_json_iter(const struct mf_json_val *container)
{
  struct mf_json_iter it = { .container = container, .n = mf_json_len(container) };
  if (it.n > 0)
    it.cur = from_yy(unsafe_yyjson_get_first(to_yy(container)));
  return it;
}

bool mf_json_next(struct mf_json_iter *it)
{
  if (it->i == it->n)
    return false;
  yyjson_val *cur = to_yy(it->cur);
  it->key = (struct mf_str){ NULL, 0 };
  if (yyjson_is_obj(to_yy(it->container))) {
    it->key = (struct mf_str){ unsafe_yyjson_get_str(cur), unsafe_yyjson_get_len(cur) };
    cur++; /* a member's value lies behind its key */
  }
  it->val = from_yy(cur);
  it->i++;
  /* Behind the last one there may be no value to look at. */
  if (it->i < it->n)
    it->cur = from_yy(unsafe_yyjson_get_next(cur));
  return true;
}

/* Reading a request: what is there, of which type, in which range; what is wrong is named by its path.
 * Thread: any. */
#include <stdio.h>
#include <stdlib.h>

#include "base/near.h"
#include "base/path.h"
#include "interpreter/tasks.h"
#include "base/banned.h"

/* What is being read, and where a fault goes. */
struct reader {
  struct mf_task_request *request;
  struct mf_task_file_text *files;
  unsigned file_n;
  struct mf_task_fault *fault;
  struct mf_err *err;
};

/* The message is in err already; the path and the code make the rest of it. */
static enum mf_code blame(struct reader *r, const char *param, const char *code)
{
  snprintf(r->fault->param, sizeof(r->fault->param), "%s", param);
  snprintf(r->fault->code, sizeof(r->fault->code), "%s", code);
  return MF_E_INPUT;
}

/* ---- single values ---- */

static const char *type_name(const struct mf_json_val *v)
{
  static const char *const names[] = {
    [MF_JSON_NULL] = "null",    [MF_JSON_BOOL] = "a boolean", [MF_JSON_NUM] = "a number",
    [MF_JSON_STR] = "a string", [MF_JSON_ARR] = "an array",   [MF_JSON_OBJ] = "an object",
  };
  return names[mf_json_type_of(v)];
}

static enum mf_code need_type(struct reader *r, const struct mf_json_val *v, enum mf_json_type type, const char *param,
                              const char *words)
{
  if (mf_json_type_of(v) == type)
    return MF_OK;
  (void)!mf_fail(r->err, MF_E_INPUT, 0, "%s must be %s, got %s", param[0] ? param : "the request", words, type_name(v));
  return blame(r, param, "invalid_type");
}

static enum mf_code need_word(struct reader *r, const struct mf_json_val *v, const char *word, const char *param)
{
  char shown[80];
  enum mf_code code = need_type(r, v, MF_JSON_STR, param, "a string");
  if (code || mf_str_is(mf_json_str(v), word))
    return code;
  mf_escape(mf_json_str(v), shown, sizeof(shown));
  (void)!mf_fail(r->err, MF_E_INPUT, 0, "%s must be '%s', got '%s'", param, word, shown);
  return blame(r, param, "invalid_value");
}

static enum mf_code need_number(struct reader *r, const struct mf_json_val *v, uint64_t min, uint64_t max,
                                const char *param, uint64_t *ret)
{
  enum mf_code code = need_type(r, v, MF_JSON_NUM, param, "a whole number");
  if (code)
    return code;
  double number = 0;
  uint64_t whole = 0;
  struct mf_str text = mf_json_num_text(v);
  bool is_whole = mf_json_u64(v, &whole);
  if (is_whole && whole >= min && whole <= max) {
    *ret = whole;
    return MF_OK;
  }
  (void)!mf_fail(r->err, MF_E_INPUT, 0, "%s must be a whole number from %llu to %llu, got %.*s", param,
                 (unsigned long long)min, (unsigned long long)max, (int)MF_MIN(text.len, 40u), text.ptr);
  if (is_whole)
    number = (double)whole;
  else if (!mf_json_f64(v, &number))
    return blame(r, param, "integer_above_max_value");
  if (number < (double)min)
    return blame(r, param, "integer_below_min_value");
  return blame(r, param, number > (double)max ? "integer_above_max_value" : "invalid_type");
}

/* ---- members ---- */

/* A member of an object: how it is read. */
struct member {
  const char *name;
  enum mf_code (*read)(struct reader *r, const struct mf_json_val *v);
};

struct names {
  const struct member *members;
  unsigned n, i;
};

static const char *next_name(void *user)
{
  struct names *n = user;
  return n->i < n->n ? n->members[n->i++].name : NULL;
}

static enum mf_code refuse_unknown(struct reader *r, const char *prefix, struct mf_str key,
                                   const struct member *members, unsigned member_n)
{
  char shown[60], path[120];
  mf_escape(key, shown, sizeof(shown));
  snprintf(path, sizeof(path), "%s%s", prefix, shown);
  const char *near = mf_nearest(shown, next_name, &(struct names){ members, member_n, 0 });
  (void)!mf_fail(r->err, MF_E_INPUT, 0,
                 near ? "unknown parameter '%s'; did you mean '%s%s'?" : "unknown parameter '%s'", path, prefix,
                 near ? near : "");
  return blame(r, path, "unknown_parameter");
}

static enum mf_code read_members(struct reader *r, const struct mf_json_val *obj, const char *prefix,
                                 const struct member *members, unsigned member_n)
{
  struct mf_json_iter it = mf_json_iter(obj);
  while (mf_json_next(&it)) {
    unsigned i = 0;
    while (i < member_n && !mf_str_is(it.key, members[i].name))
      i++;
    enum mf_code code =
        i < member_n ? members[i].read(r, it.val) : refuse_unknown(r, prefix, it.key, members, member_n);
    if (code)
      return code;
  }
  return MF_OK;
}

static enum mf_code need_member(struct reader *r, const struct mf_json_val *obj, const char *name, const char *param)
{
  if (mf_json_get(obj, name))
    return MF_OK;
  (void)!mf_fail(r->err, MF_E_INPUT, 0, "missing required parameter '%s'", param);
  return blame(r, param, "missing_required_parameter");
}

/* ---- limits and policy ---- */

static enum mf_code read_timeout(struct reader *r, const struct mf_json_val *v)
{
  return need_number(r, v, 1, MF_TASK_TIMEOUT_MS_MAX, "limits.timeoutMs", &r->request->timeout_ms);
}

/* What this machine has is known to the service, which looks at it again. */
static enum mf_code read_memory(struct reader *r, const struct mf_json_val *v)
{
  uint64_t mb = 0;
  enum mf_code code = need_number(r, v, MF_TASK_MEMORY_MB_MIN, MF_MEMORY_BYTES_MAX >> 20, "limits.memoryMb", &mb);
  if (!code)
    r->request->memory_mb = (unsigned)mb;
  return code;
}

static enum mf_code read_limits(struct reader *r, const struct mf_json_val *v)
{
  static const struct member members[] = { { "timeoutMs", read_timeout }, { "memoryMb", read_memory } };
  enum mf_code code = need_type(r, v, MF_JSON_OBJ, "limits", "an object");
  return code ? code : read_members(r, v, "limits.", members, MF_ARRAY_N(members));
}

static enum mf_code read_network(struct reader *r, const struct mf_json_val *v)
{
  return need_word(r, v, "disabled", "policy.network");
}

static enum mf_code read_packages(struct reader *r, const struct mf_json_val *v)
{
  return need_word(r, v, "base", "policy.packages");
}

static enum mf_code read_policy(struct reader *r, const struct mf_json_val *v)
{
  static const struct member members[] = { { "network", read_network }, { "packages", read_packages } };
  enum mf_code code = need_type(r, v, MF_JSON_OBJ, "policy", "an object");
  return code ? code : read_members(r, v, "policy.", members, MF_ARRAY_N(members));
}

/* ---- files ---- */

static enum mf_code read_file_text(struct reader *r, const struct mf_json_val *file, const char *key,
                                   struct mf_str *ret)
{
  char param[40];
  snprintf(param, sizeof(param), "files[%u].%s", r->file_n, key);
  const struct mf_json_val *v = mf_json_get(file, key);
  enum mf_code code = need_member(r, file, key, param);
  if (!code)
    code = need_type(r, v, MF_JSON_STR, param, "a string");
  if (!code)
    *ret = mf_json_str(v);
  return code;
}

static enum mf_code ignore(struct reader *r, const struct mf_json_val *v)
{
  return MF_OK; /* read by its name, with its index */
}

static enum mf_code read_file(struct reader *r, const struct mf_json_val *v)
{
  static const struct member members[] = { { "name", ignore }, { "content", ignore } };
  char param[40], prefix[41];
  snprintf(param, sizeof(param), "files[%u]", r->file_n);
  snprintf(prefix, sizeof(prefix), "%s.", param);
  struct mf_task_file_text *file = &r->files[r->file_n];
  enum mf_code code = need_type(r, v, MF_JSON_OBJ, param, "an object");
  if (!code)
    code = read_members(r, v, prefix, members, MF_ARRAY_N(members));
  if (!code)
    code = read_file_text(r, v, "name", &file->name);
  if (!code)
    code = read_file_text(r, v, "content", &file->base64);
  if (code)
    return code;
  if (mf_name_check(file->name, "input file", r->err) != MF_OK) {
    snprintf(param, sizeof(param), "files[%u].name", r->file_n);
    return blame(r, param, "invalid_value");
  }
  r->file_n++;
  return MF_OK;
}

static enum mf_code read_files(struct reader *r, const struct mf_json_val *v)
{
  enum mf_code code = need_type(r, v, MF_JSON_ARR, "files", "an array");
  if (code)
    return code;
  if (mf_json_len(v) > MF_INPUT_COUNT_MAX) {
    (void)!mf_fail(r->err, MF_E_INPUT, 0, "files: %zu are more than the limit of %u", mf_json_len(v),
                   MF_INPUT_COUNT_MAX);
    return blame(r, "files", "array_above_max_length");
  }
  r->files = mf_xcalloc(mf_json_len(v) + 1, sizeof(*r->files));
  struct mf_json_iter it = mf_json_iter(v);
  while (!code && mf_json_next(&it))
    code = read_file(r, it.val);
  return code;
}

/* ---- the request ---- */

static enum mf_code read_language(struct reader *r, const struct mf_json_val *v)
{
  return need_word(r, v, "python", "language");
}

static enum mf_code read_code(struct reader *r, const struct mf_json_val *v)
{
  enum mf_code code = need_type(r, v, MF_JSON_STR, "code", "a string");
  if (code)
    return code;
  struct mf_str text = mf_json_str(v);
  if (text.len > MF_SOURCE_BYTES_MAX) {
    (void)!mf_fail(r->err, MF_E_INPUT, 0, "code has %zu bytes, more than the limit of %u", text.len,
                   MF_SOURCE_BYTES_MAX);
    return blame(r, "code", "string_above_max_length");
  }
  if (text.len > 0 && memchr(text.ptr, 0, text.len)) {
    (void)!mf_fail(r->err, MF_E_INPUT, 0, "code has a NUL character");
    return blame(r, "code", "invalid_value");
  }
  r->request->code = text;
  return MF_OK;
}

static enum mf_code read_display(struct reader *r, const struct mf_json_val *v)
{
  enum mf_code code = need_type(r, v, MF_JSON_BOOL, "display_last_expression", "a boolean");
  if (!code)
    r->request->display_last_expression = mf_json_bool(v);
  return code;
}

static enum mf_code read_source_name(struct reader *r, const struct mf_json_val *v)
{
  enum mf_code code = need_type(r, v, MF_JSON_STR, "source_name", "a string");
  if (!code)
    r->request->source_name = mf_json_str(v);
  return code;
}

static const struct member request_members[] = {
  { "language", read_language },       { "code", read_code },     { "files", read_files },
  { "limits", read_limits },           { "policy", read_policy }, { "display_last_expression", read_display },
  { "source_name", read_source_name },
};

void mf_task_request_default(struct mf_task_request *r)
{
  *r = (struct mf_task_request){ .code = MF_STR(""), .source_name = MF_STR(""), .timeout_ms = MF_TASK_TIMEOUT_MS_MAX };
}

enum mf_code mf_task_request_parse(const struct mf_json_val *root, struct mf_task_request *ret,
                                   struct mf_task_file_text **ret_files, unsigned *ret_file_n,
                                   struct mf_task_fault *fault, struct mf_err *err)
{
  struct mf_task_request request;
  struct reader r = { .request = &request, .fault = fault, .err = err };
  mf_task_request_default(&request);
  enum mf_code code = need_type(&r, root, MF_JSON_OBJ, "", "an object");
  if (!code)
    code = need_member(&r, root, "language", "language");
  if (!code)
    code = need_member(&r, root, "code", "code");
  if (!code)
    code = read_members(&r, root, "", request_members, MF_ARRAY_N(request_members));
  if (code) {
    free(r.files);
    return code;
  }
  *ret = request;
  *ret_files = r.files;
  *ret_file_n = r.file_n;
  return MF_OK;
}

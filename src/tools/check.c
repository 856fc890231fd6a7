/* What the checks of declarations have in common: words of their errors, names, optional members. */
#include "kind.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"
#include "base/banned.h"

#define REQUEST_ERROR "invalid_request_error"

bool tool_config_fail(struct mf_api_error *e, const char *fmt, ...)
{
  char text[560];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof(text), fmt, ap);
  va_end(ap);
  return mf_api_fail(e, 400, REQUEST_ERROR, REQUEST_ERROR, NULL, "tool error: invalid tool config: %s", text);
}

bool tool_json_fail(struct mf_api_error *e, const char *at, const char *fmt, ...)
{
  char text[480];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof(text), fmt, ap);
  va_end(ap);
  return mf_api_fail(e, 400, REQUEST_ERROR, REQUEST_ERROR, NULL, "json error: %s at %s", text, at);
}

void tool_value_words(const struct mf_json_val *v, char *ret, size_t n)
{
  switch (mf_json_type_of(v)) {
  case MF_JSON_NULL:
    snprintf(ret, n, "null");
    return;
  case MF_JSON_BOOL:
    snprintf(ret, n, "boolean `%s`", mf_json_bool(v) ? "true" : "false");
    return;
  case MF_JSON_NUM: {
    struct mf_str s = mf_json_num_text(v);
    snprintf(ret, n, "number `%.*s`", (int)MF_MIN(s.len, (size_t)40), s.ptr);
    return;
  }
  case MF_JSON_STR: {
    struct mf_str s = mf_json_str(v);
    snprintf(ret, n, "string \"%.*s\"", (int)mf_utf8_prefix(s, 60), s.ptr);
    return;
  }
  case MF_JSON_ARR:
    snprintf(ret, n, "sequence");
    return;
  case MF_JSON_OBJ:
    snprintf(ret, n, "map");
    return;
  }
}

static bool fail_type(const struct mf_json_val *v, const char *what, const char *at, struct mf_api_error *e)
{
  char words[120];
  tool_value_words(v, words, sizeof(words));
  return tool_json_fail(e, at, "invalid type: %s, expected %s", words, what);
}

bool check_object(const struct mf_json_val *v, const char *what, const char *at, struct mf_api_error *e)
{
  return mf_json_type_of(v) == MF_JSON_OBJ || fail_type(v, what, at, e);
}

bool check_name(const struct mf_json_val *decl, const struct tool_place *at, struct mf_str *ret, struct mf_api_error *e)
{
  const struct mf_json_val *v = mf_json_get(decl, "name");
  char where[80];
  snprintf(where, sizeof(where), "%s.name", at->text);
  if (!v)
    return tool_json_fail(e, at->text, "missing field `name`");
  if (mf_json_type_of(v) != MF_JSON_STR)
    return fail_type(v, "a string", where, e);
  *ret = mf_json_str(v);
  if (ret->len == 0)
    return tool_json_fail(e, where, "tool name must not be empty");
  /* Names are kept as C strings. */
  if (memchr(ret->ptr, 0, ret->len))
    return tool_json_fail(e, where, "tool name must not contain NUL");
  return true;
}

bool check_optional(const struct mf_json_val *decl, const char *key, enum mf_json_type type, const char *what,
                    const struct tool_place *at, struct mf_api_error *e)
{
  const struct mf_json_val *v = mf_json_get(decl, key);
  if (!v || mf_json_type_of(v) == MF_JSON_NULL || mf_json_type_of(v) == type)
    return true;
  char where[100];
  snprintf(where, sizeof(where), "%s.%s", at->text, key);
  return fail_type(v, what, where, e);
}

bool check_function(const struct mf_json_val *decl, const struct tool_place *at, struct fn_spec *ret,
                    struct mf_api_error *e)
{
  *ret = (struct fn_spec){ .description = mf_json_get(decl, "description"),
                           .parameters = mf_json_get(decl, "parameters"),
                           .strict = mf_json_get(decl, "strict") };
  if (!check_name(decl, at, &ret->public_name, e) ||
      !check_optional(decl, "description", MF_JSON_STR, "a string", at, e) ||
      !check_optional(decl, "parameters", MF_JSON_OBJ, "a JSON schema", at, e) ||
      !check_optional(decl, "strict", MF_JSON_BOOL, "a boolean", at, e) ||
      !check_optional(decl, "defer_loading", MF_JSON_BOOL, "a boolean", at, e))
    return false;
  const struct mf_json_val *deferred = mf_json_get(decl, "defer_loading");
  ret->is_deferred = mf_json_type_of(deferred) == MF_JSON_BOOL && mf_json_bool(deferred);
  return true;
}

bool check_custom(const struct mf_json_val *decl, const struct tool_place *at, struct fn_spec *ret,
                  struct mf_api_error *e)
{
  *ret = (struct fn_spec){ .description = mf_json_get(decl, "description") };
  if (!check_name(decl, at, &ret->public_name, e) ||
      !check_optional(decl, "description", MF_JSON_STR, "a string", at, e) ||
      !check_optional(decl, "defer_loading", MF_JSON_BOOL, "a boolean", at, e))
    return false;
  const struct mf_json_val *format = mf_json_get(decl, "format");
  if (format && mf_json_type_of(format) != MF_JSON_NULL) {
    const struct mf_json_val *type = mf_json_type_of(format) == MF_JSON_OBJ ? mf_json_get(format, "type") : NULL;
    if (mf_json_type_of(type) != MF_JSON_STR || !mf_str_is(mf_json_str(type), "text"))
      return tool_config_fail(e,
                              "custom tool '%.*s' uses an unsupported format; gateway normalization cannot preserve "
                              "constrained decoding",
                              TOOL_SHOWN(ret->public_name));
  }
  const struct mf_json_val *deferred = mf_json_get(decl, "defer_loading");
  ret->is_deferred = mf_json_type_of(deferred) == MF_JSON_BOOL && mf_json_bool(deferred);
  ret->parameters_text = MF_STR("{\"type\":\"object\",\"properties\":{\"input\":{\"type\":\"string\","
                                "\"description\":\"The whole input of the tool, as plain text.\"}},"
                                "\"required\":[\"input\"],\"additionalProperties\":false}");
  ret->is_strict = true;
  return true;
}

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

bool check_object(const struct mf_json_val *v, const char *what, const char *at, struct mf_api_error *e)
{
  return mf_json_type_of(v) == MF_JSON_OBJ || mf_api_fail_type(e, v, what, at);
}

bool check_name(const struct mf_json_val *decl, const struct tool_place *at, struct mf_str *ret, struct mf_api_error *e)
{
  const struct mf_json_val *v = mf_json_get(decl, "name");
  char where[80];
  snprintf(where, sizeof(where), "%s.name", at->text);
  if (!v)
    return mf_api_fail_json(e, at->text, "missing field `name`");
  if (mf_json_type_of(v) != MF_JSON_STR)
    return mf_api_fail_type(e, v, "a string", where);
  *ret = mf_json_str(v);
  if (ret->len == 0)
    return mf_api_fail_json(e, where, "tool name must not be empty");
  /* Names are kept as C strings. */
  if (memchr(ret->ptr, 0, ret->len))
    return mf_api_fail_json(e, where, "tool name must not contain NUL");
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
  return mf_api_fail_type(e, v, what, where);
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

/* The table of tool kinds: a new tool is a file and a row here. */
#include "kind.h"

#include <stdio.h>

#include "base/banned.h"

static const struct mf_tool_kind *const kinds[] = {
  &tool_function, &tool_custom, &tool_namespace, &tool_search, &tool_shell, &tool_code_interpreter,
};

const struct mf_tool_kind *tool_kind_find(struct mf_str type)
{
  for (size_t i = 0; i < MF_ARRAY_N(kinds); i++)
    if (mf_str_is(type, kinds[i]->type))
      return kinds[i];
  return NULL;
}

void tool_kind_list(char *ret, size_t n)
{
  size_t at = 0;
  ret[0] = 0;
  for (size_t i = 0; i < MF_ARRAY_N(kinds) && at < n; i++)
    at += (size_t)snprintf(ret + at, n - at, "%s'%s'", i ? ", " : "", kinds[i]->type);
}

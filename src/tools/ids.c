/* Public ids are made of the function call's own, so that a stream, its terminal event and a retrieval agree without a
 * table: ci_S and cntr_S of fc_S. */
#include "kind.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/banned.h"

uint64_t tool_fnv1a(uint64_t h, const void *p, size_t n)
{
  const unsigned char *bytes = p;
  for (size_t i = 0; i < n; i++)
    h = (h ^ bytes[i]) * 0x100000001b3ull;
  return h;
}

struct mf_str tool_id_suffix(const struct mf_tool_call *call, char hash[TOOL_ID_HASH_N])
{
  if (mf_str_starts(call->item_id, "fc_")) {
    struct mf_str rest = { call->item_id.ptr + 3, call->item_id.len - 3 };
    if (rest.len > 0 && !mf_str_starts(rest, "fc_"))
      return rest;
  }
  uint64_t h = tool_fnv1a(TOOL_FNV_START, call->item_id.ptr, call->item_id.len);
  h = tool_fnv1a(h, "", 1);
  h = tool_fnv1a(h, call->call_id.ptr, call->call_id.len);
  snprintf(hash, TOOL_ID_HASH_N, "h%016" PRIx64, h);
  return mf_str_of(hash);
}

char *tool_id(const char *prefix, const struct mf_tool_call *call)
{
  char hash[TOOL_ID_HASH_N];
  struct mf_str s = tool_id_suffix(call, hash);
  return mf_xasprintf("%s%.*s", prefix, MF_STR_ARG(s));
}

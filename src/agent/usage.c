/* Token counts: read from whatever upstream wrote, and added without wrapping around. */
#include "acc-internal.h"

#include "base/banned.h"

/* Negative ones and what is no number count as nothing; what is too large stays the largest. */
static uint64_t count_of(const struct mf_json_val *v)
{
  uint64_t n = 0;
  double f = 0;
  if (mf_json_u64(v, &n))
    return n;
  if (!mf_json_f64(v, &f)) {
    /* A number that no double holds is an integer of hundreds of digits or a huge exponent. */
    if (mf_json_type_of(v) != MF_JSON_NUM)
      return 0;
    return mf_json_num_text(v).ptr[0] == '-' ? 0 : UINT64_MAX;
  }
  if (!(f > 0))
    return 0;
  return f >= 18446744073709551615.0 ? UINT64_MAX : (uint64_t)f;
}

static uint64_t add(uint64_t a, uint64_t b)
{
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

struct mf_usage acc_usage_read(const struct mf_json_val *usage)
{
  struct mf_usage u = { 0 };
  if (mf_json_type_of(usage) != MF_JSON_OBJ)
    return u;
  const struct mf_json_val *in = mf_json_get(usage, "input_tokens_details");
  const struct mf_json_val *out = mf_json_get(usage, "output_tokens_details");
  const struct mf_json_val *total = mf_json_get(usage, "total_tokens");
  const struct mf_json_val *written = mf_json_get(in, "cache_write_tokens");
  u.present = true;
  u.input_tokens = count_of(mf_json_get(usage, "input_tokens"));
  u.output_tokens = count_of(mf_json_get(usage, "output_tokens"));
  u.total_tokens = mf_json_type_of(total) == MF_JSON_NUM ? count_of(total) : add(u.input_tokens, u.output_tokens);
  u.cached_tokens = count_of(mf_json_get(in, "cached_tokens"));
  u.has_cache_write = mf_json_type_of(written) == MF_JSON_NUM;
  u.cache_write_tokens = count_of(written);
  u.reasoning_tokens = count_of(mf_json_get(out, "reasoning_tokens"));
  return u;
}

void mf_usage_add(struct mf_usage *sum, const struct mf_usage *u)
{
  if (!u->present)
    return;
  sum->present = true;
  sum->input_tokens = add(sum->input_tokens, u->input_tokens);
  sum->output_tokens = add(sum->output_tokens, u->output_tokens);
  sum->total_tokens = add(sum->total_tokens, u->total_tokens);
  sum->cached_tokens = add(sum->cached_tokens, u->cached_tokens);
  sum->cache_write_tokens = add(sum->cache_write_tokens, u->cache_write_tokens);
  sum->reasoning_tokens = add(sum->reasoning_tokens, u->reasoning_tokens);
  sum->has_cache_write = sum->has_cache_write || u->has_cache_write;
}

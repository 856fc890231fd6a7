/* Cutting what a provider returned past its limits. */
#include "retained.h"

#include "base/utf8.h"
#include "base/banned.h"

/* Text that is not UTF-8 would end the JSON of a whole response: it is repaired before it is cut. */
static void hold(struct mf_buf *text, uint64_t max, bool *is_truncated)
{
  if (!text->ptr)
    mf_buf_init(text, 0); /* a provider that never had any */
  if (!mf_utf8_is_valid(mf_buf_str(text))) {
    struct mf_output *o = mf_output_new(max);
    struct mf_str part;
    mf_output_feed(o, mf_buf_str(text), &part);
    mf_output_finish(o, &part);
    *is_truncated = *is_truncated || mf_output_is_truncated(o);
    mf_buf_done(text);
    mf_output_take(o, text);
    mf_output_free(o);
  } else if (text->len > max) {
    mf_buf_truncate(text, mf_utf8_prefix(mf_buf_str(text), (size_t)max));
    *is_truncated = true;
  }
}

void mf_retained_apply(struct mf_sandbox_result *r, const struct mf_sandbox_limits *limits)
{
  hold(&r->out, limits->stdout_bytes, &r->out_truncated);
  hold(&r->err, limits->stderr_bytes, &r->err_truncated);
  if (limits->output_policy != MF_OUTPUT_STOP || (!r->out_truncated && !r->err_truncated))
    return;
  /* Past its cap a program is at its end, also when the provider let it run on. What ended it by force is stronger. */
  if (r->status == MF_RUN_SUCCEEDED ||
      (r->status == MF_RUN_FAILED && (r->reason == MF_REASON_EXIT || r->reason == MF_REASON_EXCEPTION))) {
    r->status = MF_RUN_LIMIT;
    r->reason = MF_REASON_OUTPUT;
  }
}

/* Events to text. Thread: any. */
#include "transcript.h"

#include <stdio.h>

#include "base/banned.h"

void mf_transcript_init(struct mf_transcript *t)
{
  *t = (struct mf_transcript){ .is_new_line = true };
}

static struct mf_str text_of(const struct mf_json_val *v)
{
  return mf_json_type_of(v) == MF_JSON_STR ? mf_json_str(v) : MF_STR("");
}

static bool is(const struct mf_json_val *v, const char *text)
{
  return mf_str_is(text_of(v), text);
}

/* What an error says, as much of it as has room. */
static struct mf_str message_of(const struct mf_json_val *error)
{
  struct mf_str text = text_of(mf_json_get(error, "message"));
  return (struct mf_str){ text.ptr, MF_MIN(text.len, 300u) };
}

/* Indented below a heading, which is written when it changes. */
static enum mf_code put(struct mf_transcript *t, const char *section, struct mf_str text, struct mf_buf *out)
{
  enum mf_code code = MF_OK;
  if (!t->section || strcmp(t->section, section) != 0) {
    code = mf_buf_printf(out, "%s\n[%s]\n", t->is_new_line ? "" : "\n", section);
    t->section = section;
    t->is_new_line = true;
  }
  for (size_t i = 0; !code && i < text.len; i++) {
    if (t->is_new_line && text.ptr[i] != '\n')
      code = mf_buf_append(out, "  ", 2);
    if (!code)
      code = mf_buf_append(out, text.ptr + i, 1);
    t->is_new_line = text.ptr[i] == '\n';
  }
  return code;
}

static enum mf_code put_outputs(struct mf_transcript *t, const struct mf_json_val *item, struct mf_buf *out)
{
  enum mf_code code = MF_OK;
  struct mf_json_iter it = mf_json_iter(mf_json_get(item, "outputs"));
  t->has_run |= is(mf_json_get(item, "status"), "completed");
  while (!code && mf_json_next(&it))
    code = put(t, "output of the sandbox", text_of(mf_json_get(it.val, "logs")), out);
  return code;
}

static enum mf_code put_end(struct mf_transcript *t, const struct mf_json_val *event, struct mf_buf *out)
{
  const struct mf_json_val *r = mf_json_get(event, "response"), *usage = mf_json_get(r, "usage");
  struct mf_str status = text_of(mf_json_get(r, "status"));
  uint64_t in = 0, made = 0;
  (void)mf_json_u64(mf_json_get(usage, "input_tokens"), &in);
  (void)mf_json_u64(mf_json_get(usage, "output_tokens"), &made);
  t->has_completed = mf_str_is(status, "completed");
  if (!t->has_completed) {
    struct mf_str why = message_of(mf_json_get(r, "error"));
    snprintf(t->words, sizeof(t->words), "the response is %.*s: %.*s", MF_STR_ARG(status), MF_STR_ARG(why));
  }
  return mf_buf_printf(out, "%s\n%.*s: %zu items, %llu tokens in, %llu out (the scripted model's own count)\n",
                       t->is_new_line ? "" : "\n", MF_STR_ARG(status), mf_json_len(mf_json_get(r, "output")),
                       (unsigned long long)in, (unsigned long long)made);
}

enum mf_code mf_transcript_event(struct mf_transcript *t, const struct mf_json_val *event, struct mf_buf *out,
                                 struct mf_err *err)
{
  const struct mf_json_val *type = mf_json_get(event, "type"), *item = mf_json_get(event, "item");
  struct mf_str delta = text_of(mf_json_get(event, "delta"));
  enum mf_code code = MF_OK;

  if (is(type, "response.reasoning_text.delta"))
    code = put(t, "the model thinks", delta, out);
  else if (is(type, "response.code_interpreter_call_code.delta"))
    code = put(t, "the model's program", delta, out);
  else if (is(type, "response.output_item.done") && is(mf_json_get(item, "type"), "code_interpreter_call"))
    code = put_outputs(t, item, out);
  else if (is(type, "response.output_text.delta"))
    code = put(t, "the model answers", delta, out);
  else if (is(type, "response.completed") || is(type, "response.incomplete") || is(type, "response.failed"))
    code = put_end(t, event, out);
  else if (is(type, "error"))
    snprintf(t->words, sizeof(t->words), "the stream ended with an error: %.*s",
             MF_STR_ARG(message_of(mf_json_get(event, "error"))));
  return code ? mf_fail(err, code, 0, "an event is too large to show") : MF_OK;
}

/* The words between the model and the interpreter: its arguments, and what a run's end means for it. Nothing here names
 * a path or a process of this machine. */
#include "code-interpreter.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/banned.h"

#define ARGUMENTS_MAX ((size_t)64 << 20)
#define ARGUMENTS_DEPTH_MAX 128u

#define NOT_JSON "code_interpreter arguments must be valid JSON"
#define NOT_CODE "code_interpreter arguments must contain exactly one string field 'code'"
#define CRASHED "code interpreter isolated worker failed"
#define FULL "code interpreter capacity is temporarily unavailable"
#define START_MEMORY "code interpreter worker exceeded its memory limit"
#define RAISED "Python execution raised an exception."
#define OVER "Code execution exceeded a resource limit."
#define CUT "\n[output truncated]"

/* ---- arguments ---- */

const char *interpreter_arguments(struct mf_str arguments, uint64_t source_max, struct mf_json **doc,
                                  struct mf_str *code, char *words, size_t words_n)
{
  const struct mf_json_limits limits = { ARGUMENTS_MAX, ARGUMENTS_DEPTH_MAX };
  struct mf_err err = { 0 };
  mf_auto_json struct mf_json *parsed = NULL;
  /* A repeated member is good JSON that our reader refuses. */
  if (mf_json_parse(arguments, &limits, &parsed, &err) != MF_OK)
    return strstr(err.msg, "duplicate key '") ? NOT_CODE : NOT_JSON;
  const struct mf_json_val *root = mf_json_root(parsed);
  const struct mf_json_val *v = mf_json_type_of(root) == MF_JSON_OBJ ? mf_json_get(root, "code") : NULL;
  if (mf_json_len(root) != 1 || mf_json_type_of(v) != MF_JSON_STR)
    return NOT_CODE;
  struct mf_str s = mf_json_str(v);
  if (s.len > source_max) {
    snprintf(words, words_n, "code_interpreter source is %zu bytes, exceeding the %" PRIu64 "-byte limit", s.len,
             source_max);
    return words;
  }
  *code = s;
  *doc = parsed;
  parsed = NULL;
  return NULL;
}

/* ---- the end of a run ---- */

void interpreter_outcome_init(struct interpreter_outcome *o, const struct mf_sandbox_limits *limits)
{
  /* The diagnostics may stand where a limit is smaller than they are. */
  *o = (struct interpreter_outcome){ .status = "failed" };
  mf_buf_init(&o->out, (size_t)limits->stdout_bytes + 128);
  mf_buf_init(&o->err, (size_t)limits->stderr_bytes + 128);
}

void interpreter_outcome_done(struct interpreter_outcome *o)
{
  mf_buf_done(&o->out);
  mf_buf_done(&o->err);
}

static void put(struct mf_buf *b, struct mf_str s)
{
  /* Guests' text is within its limit, which the buffer was made for. */
  enum mf_code code = mf_buf_append_str(b, (struct mf_str){ s.ptr, mf_utf8_prefix(s, b->max - b->len) });
  if (code)
    mf_buf_truncate(b, 0); /* no memory */
}

/* The text and the words that it was cut fit into the limit together. */
static void take(struct mf_buf *b, struct mf_str text, bool is_cut, uint64_t max)
{
  struct mf_str note = MF_STR(CUT);
  if (!is_cut) {
    put(b, text);
    return;
  }
  note.len = MF_MIN(note.len, (size_t)max);
  put(b, (struct mf_str){ text.ptr, mf_utf8_prefix(text, (size_t)max - note.len) });
  put(b, note);
}

static void set_fault(struct interpreter_outcome *o, const char *words)
{
  o->status = "failed";
  o->fault = words;
}

static const char *fault_of(const struct mf_sandbox_result *r)
{
  switch (r->status) {
  case MF_RUN_SUCCEEDED:
  case MF_RUN_TIMED_OUT:
  case MF_RUN_LIMIT:
    return NULL;
  case MF_RUN_FAILED:
    return r->reason == MF_REASON_CAPACITY ? FULL
           : r->reason == MF_REASON_WORKER_CRASH || r->reason == MF_REASON_UNAVAILABLE ||
                   r->reason == MF_REASON_CANCELLED
               ? CRASHED
           : r->reason == MF_REASON_MEMORY ? START_MEMORY
                                           : NULL;
  case MF_RUN_CANCELLED:
  case MF_RUN_STATUS_N:
    break;
  }
  return CRASHED;
}

void interpreter_outcome_set(struct interpreter_outcome *o, enum mf_code code, const struct mf_sandbox_result *r,
                             const struct mf_sandbox_limits *limits)
{
  if (code == MF_E_CAPACITY) {
    set_fault(o, FULL);
    return;
  }
  if (code || !r) {
    set_fault(o, CRASHED);
    return;
  }
  const char *words = fault_of(r);
  if (words) {
    set_fault(o, words);
    return;
  }
  take(&o->out, mf_buf_str(&r->out), r->out_truncated, limits->stdout_bytes);
  take(&o->err, mf_buf_str(&r->err), r->err_truncated, limits->stderr_bytes);
  bool is_cut = r->out_truncated || r->err_truncated;
  if (r->status == MF_RUN_TIMED_OUT || r->status == MF_RUN_LIMIT || is_cut) {
    o->status = "incomplete";
    /* A cut text says by itself what happened. */
    if (!is_cut && o->err.len == 0)
      put(&o->err, MF_STR(OVER));
  } else if (r->status == MF_RUN_FAILED) {
    if (o->err.len == 0)
      put(&o->err, MF_STR(RAISED));
  } else {
    o->status = "completed";
  }
}

void interpreter_outcome_write(const struct interpreter_outcome *o, struct mf_json_writer *w)
{
  mf_jw_obj(w);
  if (o->fault) {
    mf_jw_kstrz(w, "error", o->fault);
  } else {
    mf_jw_kstrz(w, "status", o->status);
    mf_jw_kstr(w, "stdout", mf_buf_str(&o->out));
    mf_jw_kstr(w, "stderr", mf_buf_str(&o->err));
  }
  mf_jw_obj_end(w);
}

/* The words between the model and the interpreter: its arguments, and what a run's end means for it. Nothing here names
 * a path or a process of this machine. */
#include "code-interpreter.h"

#include <inttypes.h>
#include <stdarg.h>
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
#define NOTE_MAX 400u

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

/* A line of ours below what the program wrote. One that the limit has no room for is left out: it never takes the place
 * of the program's own words. */
static void note(struct mf_buf *b, uint64_t max, const char *fmt, ...) MF_PRINTF(3, 4);
static void note(struct mf_buf *b, uint64_t max, const char *fmt, ...)
{
  char line[NOTE_MAX];
  va_list ap;
  va_start(ap, fmt);
  int n = vsnprintf(line, sizeof(line), fmt, ap);
  va_end(ap);
  bool is_open = b->len > 0 && b->ptr[b->len - 1] != '\n';
  if (n < 0 || (size_t)n >= sizeof(line) || b->len + (size_t)n + is_open > MF_MIN((size_t)max, b->max))
    return;
  if (is_open)
    put(b, MF_STR("\n"));
  put(b, (struct mf_str){ line, (size_t)n });
}

/* figure-N.png, which the runtime makes of what was shown or left open and not saved. */
static bool is_figure(const char *path)
{
  if (strncmp(path, "figure-", 7) != 0)
    return false;
  size_t digits = strspn(path + 7, "0123456789");
  return digits > 0 && strcmp(path + 7 + digits, ".png") == 0;
}

/* No file comes back through this door. Who shows a figure must be told, because nobody has seen it. */
static void note_figures(struct mf_buf *b, uint64_t max, const struct mf_sandbox_result *r)
{
  unsigned n = 0;
  for (unsigned i = 0; i < r->rejected_n; i++)
    n += is_figure(r->rejected[i].path);
  if (n > 0)
    note(b, max, "[%u figure%s made; pictures are not returned here]\n", n, n == 1 ? " was" : "s were");
}

/* "Operation not permitted" alone would leave the model to guess. */
static void note_denied(struct mf_buf *b, uint64_t max, const struct mf_sandbox_result *r)
{
  for (unsigned i = 0; i < r->denied_n; i++)
    note(b, max, "[refused by the sandbox: %s]\n", r->denied[i]);
}

static void note_time(struct mf_buf *b, const struct mf_sandbox_limits *limits)
{
  uint64_t s = limits->wall_ms / 1000, ms = limits->wall_ms % 1000;
  if (ms == 0)
    note(b, limits->stderr_bytes, "[timed out after %" PRIu64 " s]", s);
  else
    note(b, limits->stderr_bytes, "[timed out after %" PRIu64 ".%03" PRIu64 " s]", s, ms);
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
    if (!is_cut && r->reason == MF_REASON_WALL_TIME)
      note_time(&o->err, limits);
  } else if (r->status == MF_RUN_FAILED) {
    if (o->err.len == 0)
      put(&o->err, MF_STR(RAISED));
    if (!is_cut)
      note_denied(&o->err, limits->stderr_bytes, r);
  } else {
    o->status = "completed";
  }
  if (!r->out_truncated)
    note_figures(&o->out, limits->stdout_bytes, r);
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

/* Following a task: the next thing behind a cursor, now or when it comes.
 *
 * A cursor counts what was given: 1 for `queued`, 2 for `running`, 3 for the end (a status that was passed over is not
 * given later), and bytes of text. Nothing else is kept of a follower, so any cursor can be taken up at any time.
 * Thread: the loop's. */
#include <stdio.h>

#include "base/num.h"
#include "base/time.h"
#include "base/utf8.h"
#include "tasks-internal.h"
#include "base/banned.h"

enum { TEXT_PIECE_N = 65536, STATUS_END = 3 };

/* ---- cursors ---- */

enum mf_code mf_task_cursor_parse(struct mf_str text, struct mf_task_cursor *ret, struct mf_err *err)
{
  enum { PARTS = 4 };
  uint64_t n[PARTS] = { 0 };
  for (unsigned i = 0; i < PARTS; i++) {
    const char *dot = text.len > 0 ? memchr(text.ptr, '.', text.len) : NULL;
    size_t len = dot ? (size_t)(dot - text.ptr) : text.len;
    if ((i + 1 < PARTS) != (dot != NULL))
      return mf_fail(err, MF_E_INPUT, 0, "the event id must be four numbers with dots between them");
    enum mf_code code =
        mf_parse_u64((struct mf_str){ text.ptr, len }, "a number of the event id", 0, UINT32_MAX, &n[i], err);
    if (code)
      return code;
    text = dot ? (struct mf_str){ dot + 1, text.len - len - 1 } : (struct mf_str){ NULL, 0 };
  }
  *ret = (struct mf_task_cursor){ (unsigned)n[0], n[1], n[2], (unsigned)n[3] };
  return MF_OK;
}

void mf_task_cursor_write(const struct mf_task_cursor *c, char ret[MF_TASK_CURSOR_N])
{
  snprintf(ret, MF_TASK_CURSOR_N, "%u.%llu.%llu.%u", c->statuses, (unsigned long long)c->out_bytes,
           (unsigned long long)c->err_bytes, c->artifacts);
}

/* ---- one event ---- */

/* Where it stands, as a follower sees it. */
struct view {
  struct mf_str out, err;
  const struct mf_json_val *artifacts;
  unsigned status; /* that can be given now: 1 to 3 */
};

static struct mf_str text_of(const struct mf_json_val *root, const char *key)
{
  const struct mf_json_val *v = mf_json_get(root, key);
  return mf_json_type_of(v) == MF_JSON_STR ? mf_json_str(v) : (struct mf_str){ NULL, 0 };
}

static enum mf_code look(struct task *k, struct mf_fiber *self, struct view *ret, struct mf_err *err)
{
  const struct mf_json_val *root = NULL;
  *ret = (struct view){ .out = mf_buf_str(&k->out), .err = mf_buf_str(&k->err), .status = 1u + k->state };
  if (!task_has_ended(k))
    return MF_OK;
  enum mf_code code = task_doc(k, self, &root, err);
  *ret = (struct view){ text_of(root, "stdout"), text_of(root, "stderr"), mf_json_get(root, "artifacts"), STATUS_END };
  return code;
}

/* The piece of text behind *at, whole characters. A cursor of somebody else's making may lie inside one. */
static struct mf_str next_piece(struct mf_str text, uint64_t *at)
{
  size_t from = (size_t)MF_MIN(*at, (uint64_t)text.len);
  while (from < text.len && ((unsigned char)text.ptr[from] & 0xc0) == 0x80)
    from++;
  struct mf_str rest = { text.ptr + from, text.len - from };
  rest.len = mf_utf8_prefix(rest, TEXT_PIECE_N);
  if (rest.len > 0)
    *at = from + rest.len;
  return rest;
}

static bool give_text(struct mf_str text, const char *type, uint64_t *at, struct mf_task_event *ret,
                      struct mf_json_writer *w)
{
  struct mf_str piece = next_piece(text, at);
  if (piece.len == 0)
    return false;
  ret->type = type;
  mf_jw_obj(w);
  mf_jw_kstr(w, "text", piece);
  mf_jw_obj_end(w);
  return true;
}

static bool give_status(const struct task *k, unsigned status, struct mf_task_cursor *c, struct mf_task_event *ret,
                        struct mf_json_writer *w)
{
  if (c->statuses >= status)
    return false;
  c->statuses = status;
  ret->type = "status";
  ret->is_last = status == STATUS_END;
  task_json_write_status(k, w);
  return true;
}

static bool give_artifact(const struct view *v, struct mf_task_cursor *c, struct mf_task_event *ret,
                          struct mf_json_writer *w)
{
  const struct mf_json_val *a = mf_json_at(v->artifacts, c->artifacts);
  if (!a)
    return false;
  c->artifacts++;
  ret->type = "artifact";
  mf_jw_val(w, a);
  return true;
}

/* The end is the last that is told; every other status comes before what is printed in it. */
static bool give_next(const struct task *k, const struct view *v, struct mf_task_cursor *c, struct mf_task_event *ret,
                      struct mf_json_writer *w)
{
  return (v->status < STATUS_END && give_status(k, v->status, c, ret, w)) ||
         give_text(v->out, "stdout", &c->out_bytes, ret, w) || give_text(v->err, "stderr", &c->err_bytes, ret, w) ||
         give_artifact(v, c, ret, w) || (v->status == STATUS_END && give_status(k, v->status, c, ret, w));
}

static enum mf_code try_next(struct task *k, struct mf_fiber *self, struct mf_task_cursor *c, struct mf_task_event *ret,
                             struct mf_err *err)
{
  struct view v;
  struct mf_json_writer w;
  *ret = (struct mf_task_event){ .type = NULL };
  enum mf_code code = look(k, self, &v, err);
  if (code)
    return code;
  mf_buf_init(&ret->json, TASK_JSON_MAX);
  mf_jw_init(&w, &ret->json, false);
  if (!give_next(k, &v, c, ret, &w)) {
    ret->is_last = v.status == STATUS_END;
    return MF_OK;
  }
  if (w.code) {
    mf_buf_done(&ret->json);
    return mf_fail(err, w.code, 0, "an event is too large to be shown");
  }
  return MF_OK;
}

static enum mf_code next(struct task *k, struct mf_fiber *self, struct mf_task_cursor *c, uint64_t deadline_ns,
                         struct mf_task_event *ret, struct mf_err *err)
{
  for (;;) {
    enum mf_code code = tasks_check_kept(k, err);
    if (!code)
      code = try_next(k, self, c, ret, err);
    if (code || ret->type || ret->is_last)
      return code;
    if (k->tasks->is_closed) {
      mf_buf_done(&ret->json);
      return mf_fail(err, MF_E_GONE, 0, "the server is stopping");
    }
    if (deadline_ns > 0 && mf_now_ns() >= deadline_ns)
      return MF_OK;
    mf_buf_done(&ret->json);
    if (task_wait(k, self, deadline_ns) == MF_E_CANCELLED)
      return mf_fail(err, MF_E_CANCELLED, 0, "following the task was cancelled");
  }
}

enum mf_code mf_tasks_next(struct mf_tasks *t, struct mf_fiber *self, struct mf_str owner, struct mf_str id,
                           struct mf_task_cursor *c, uint64_t deadline_ns, struct mf_task_event *ret,
                           struct mf_err *err)
{
  struct task *k = NULL;
  tasks_enter(t);
  enum mf_code code = tasks_find(t, self, owner, id, &k, err);
  if (!code) {
    code = next(k, self, c, deadline_ns, ret, err);
    task_unref(k);
  }
  tasks_leave(t);
  return code;
}

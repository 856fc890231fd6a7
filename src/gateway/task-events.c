/* GET /v1/tasks/{id}/events: what happens to a task, as server-sent events. Thread: the loop's; in the request's fiber,
 * which follows; a client that leaves ends that and nothing else. */
#include "base/time.h"
#include "http/sse.h"
#include "query.h"
#include "tasks.h"
#include "base/banned.h"

enum { PULSE_S = 15, FRAME_MAX = MF_GW_TASK_TEXT_MAX };

struct follower {
  struct mf_gw_request *r;
  struct mf_task_cursor at;
  struct mf_buf frame;
};

/* Where a client that comes back was: the header that browsers send counts before the address they keep. */
static bool find_cursor(const struct mf_gw_request *r, struct mf_task_cursor *ret, const char **ret_param)
{
  char text[MF_TASK_CURSOR_N] = "";
  struct mf_str last = mf_http_header(r->x, "last-event-id");
  *ret = (struct mf_task_cursor){ 0 };
  *ret_param = "Last-Event-ID";
  if (last.len == 0) {
    *ret_param = "after";
    if (mf_gw_query_get(mf_http_query(r->x), "after", text, sizeof(text)) == MF_GW_PARAM_BAD)
      return false;
    last = mf_str_of(text);
  }
  return last.len == 0 || mf_task_cursor_parse(last, ret, NULL) == MF_OK;
}

static enum mf_code begin(struct mf_gw_request *r)
{
  static const struct mf_http_header headers[] = {
    { { "Content-Type", 12 }, { "text/event-stream; charset=utf-8", 32 } },
    { { "Cache-Control", 13 }, { "no-store", 8 } },
    { { "X-Accel-Buffering", 17 }, { "no", 2 } },
  };
  return mf_gw_begin(r, 200, headers, MF_ARRAY_N(headers));
}

/* A client that reads slowly is waited for here: it is given what happened meanwhile later, and nobody is held up. */
static enum mf_code send(struct follower *f, const struct mf_task_event *e)
{
  char id[MF_TASK_CURSOR_N];
  if (!e->type)
    return mf_http_write(f->r->x, MF_STR(":\n\n"), NULL);
  mf_task_cursor_write(&f->at, id);
  mf_buf_truncate(&f->frame, 0);
  enum mf_code code = mf_buf_printf(&f->frame, "id: %s\n", id);
  if (!code)
    code = mf_sse_write(&f->frame, mf_str_of(e->type), mf_buf_str(&e->json));
  return code ? code : mf_http_write(f->r->x, mf_buf_str(&f->frame), NULL);
}

static enum mf_code next(struct follower *f, uint64_t deadline_ns, struct mf_task_event *ret, struct mf_err *err)
{
  *ret = (struct mf_task_event){ 0 };
  return mf_tasks_next(f->r->g->parts.tasks, f->r->self, mf_str_of(f->r->owner), mf_str_of(f->r->match.args[0]), &f->at,
                       deadline_ns, ret, err);
}

/* From the first event, which is at hand or is none, to the last. A task that is deleted meanwhile leaves the stream
 * without its end. */
static enum mf_code follow(struct follower *f, struct mf_task_event *e)
{
  enum mf_code code = begin(f->r);
  if (mf_str_is(mf_http_method(f->r->x), "HEAD"))
    return code ? code : mf_http_end(f->r->x, NULL);
  bool is_first = true;
  while (!code) {
    if (e->type || !is_first)
      code = send(f, e);
    is_first = false;
    if (code || e->is_last)
      break;
    mf_buf_done(&e->json);
    code = next(f, mf_now_ns() + PULSE_S * MF_NS_PER_S, e, NULL);
  }
  return code ? code : mf_http_end(f->r->x, NULL);
}

enum mf_code mf_gw_get_task_events(struct mf_gw_request *r)
{
  enum mf_code code;
  const char *param;
  struct follower f = { .r = r };
  struct mf_task_event e;
  struct mf_err err = { 0 };
  if (mf_gw_has_no_tasks(r, &code))
    return code;
  if (!find_cursor(r, &f.at, &param))
    return mf_gw_refuse_param(r, param, "the id of an event of this task");
  mf_buf_init(&f.frame, FRAME_MAX);
  /* Without waiting: what is wrong is told before a stream begins. */
  code = next(&f, mf_now_ns(), &e, &err);
  if (code)
    code = mf_gw_refuse_find(r, code, &err);
  else if (e.is_last && !e.type) /* it has seen the end: WHATWG HTML has 204 for "do not come back" */
    code = mf_gw_respond(r, 204, NULL, 0, MF_STR(""));
  else
    code = follow(&f, &e);
  mf_buf_done(&e.json);
  mf_buf_done(&f.frame);
  return code;
}

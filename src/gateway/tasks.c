/* /v1/tasks: get, list, cancel, delete, and the errors of all. Thread: the loop's; in the request's fiber. */
#include "tasks.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/log.h"
#include "base/num.h"
#include "base/time.h"
#include "query.h"
#include "base/banned.h"

enum { LIST_DEFAULT = 20, LIST_MAX = 100, RETRY_S = 1 };

/* ---- errors ---- */

MF_PRINTF(3, 0)
static enum mf_code refuse_v(struct mf_gw_request *r, const struct mf_gw_fault *f, const char *fmt, va_list ap)
{
  char message[1024], retry[16];
  vsnprintf(message, sizeof(message), fmt, ap);
  snprintf(retry, sizeof(retry), "%u", f->retry_s);
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, MF_GW_ERROR_MAX);
  mf_gw_write_error(&out, f->type, f->code, f->param, message);
  const struct mf_http_header headers[] = { { MF_STR("Content-Type"), MF_STR("application/json") },
                                            { MF_STR("Retry-After"), mf_str_of(retry) } };
  return mf_gw_respond(r, f->status, headers, f->retry_s ? 2 : 1, mf_buf_str(&out));
}

enum mf_code mf_gw_refuse_fault(struct mf_gw_request *r, const struct mf_gw_fault *f, const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  enum mf_code code = refuse_v(r, f, fmt, ap);
  va_end(ap);
  return code;
}

enum mf_code mf_gw_refuse_param(struct mf_gw_request *r, const char *param, const char *expected)
{
  const struct mf_gw_fault f = { 400, "invalid_request_error", "invalid_value", param, 0 };
  return mf_gw_refuse_fault(r, &f, "Invalid '%s': expected %s.", param, expected);
}

/* Trouble that no client can do anything about, but come again. */
static enum mf_code refuse_trouble(struct mf_gw_request *r, enum mf_code code, const struct mf_err *err)
{
  const struct mf_gw_fault later = { 503, "server_error", "unavailable", NULL, RETRY_S };
  if (code == MF_E_CANCELLED)
    return code;
  if (code == MF_E_CAPACITY)
    return mf_gw_refuse_fault(r, &later, "Too many requests wait for storage; try again later.");
  mf_log_request(MF_LOG_ERROR, r->id, "tasks: %s", err->msg);
  if (code == MF_E_UNAVAILABLE || code == MF_E_TIMEOUT || code == MF_E_SYS)
    return mf_gw_refuse_fault(r, &later, "The server cannot do this at the moment; try again later.");
  return mf_gw_refuse(r, 500, "server_error", "server_error", "Internal server error");
}

enum mf_code mf_gw_refuse_find(struct mf_gw_request *r, enum mf_code code, const struct mf_err *err)
{
  static const struct mf_gw_fault absent = { 404, "not_found", "not_found", NULL, 0 };
  static const struct mf_gw_fault expired = { 410, "invalid_request_error", "task_expired", NULL, 0 };
  if (code == MF_E_NOT_FOUND)
    return mf_gw_refuse_fault(r, &absent, "%s", err->msg);
  if (code == MF_E_GONE)
    return mf_gw_refuse_fault(r, &expired, "%s", err->msg);
  return refuse_trouble(r, code, err);
}

/* The disk, or the quota: of files, or of the database. */
static bool is_full(const struct mf_gw_submit_fault *s)
{
  return strcmp(s->fault.code, "storage_full") == 0 || s->err.sys == ENOSPC || s->err.sys == EDQUOT;
}

static enum mf_code refuse_full(struct mf_gw_request *r, const struct mf_gw_submit_fault *s)
{
  static const struct mf_gw_fault full = { 507, "server_error", "storage_full", NULL, 0 };
  mf_log_request(MF_LOG_WARN, r->id, "tasks: %s", s->err.msg);
  return mf_gw_refuse_fault(r, &full, "The server has no room for more files at the moment.");
}

static enum mf_code refuse_size(struct mf_gw_request *r, const struct mf_gw_submit_fault *s)
{
  const struct mf_gw_fault large = { 413, "invalid_request_error", s->fault.code,
                                     s->fault.param[0] ? s->fault.param : NULL, 0 };
  return is_full(s) ? refuse_full(r, s) : mf_gw_refuse_fault(r, &large, "%s", s->err.msg);
}

enum mf_code mf_gw_refuse_submit(struct mf_gw_request *r, enum mf_code code, const struct mf_gw_submit_fault *s)
{
  const struct mf_gw_fault input = { 400, "invalid_request_error", s->fault.code[0] ? s->fault.code : "invalid_value",
                                     s->fault.param[0] ? s->fault.param : NULL, 0 };
  const struct mf_gw_fault reused = { 409, "conflict_error", "idempotency_key_reused", "Idempotency-Key", 0 };
  const struct mf_gw_fault full = { 429, "rate_limit_error", "queue_full", NULL, s->retry_s };
  const struct mf_gw_fault stopping = { 503, "server_error", "unavailable", NULL, RETRY_S };
  if (code == MF_E_INPUT)
    return mf_gw_refuse_fault(r, &input, "%s", s->err.msg);
  if (code == MF_E_LIMIT)
    return refuse_size(r, s);
  if (code == MF_E_EXISTS)
    return mf_gw_refuse_fault(r, &reused, "%s", s->err.msg);
  if (code == MF_E_CAPACITY && s->retry_s)
    return mf_gw_refuse_fault(r, &full, "%s", s->err.msg);
  if (code == MF_E_GONE)
    return mf_gw_refuse_fault(r, &stopping, "The server is stopping.");
  return code == MF_E_UNAVAILABLE && is_full(s) ? refuse_full(r, s) : refuse_trouble(r, code, &s->err);
}

bool mf_gw_has_no_tasks(struct mf_gw_request *r, enum mf_code *ret_code)
{
  static const struct mf_gw_fault off = { 503, "server_error", "unavailable", NULL, 0 };
  if (r->g->parts.tasks)
    return false;
  *ret_code = mf_gw_refuse_fault(r, &off,
                                 "This server runs no tasks: start it with --code-interpreter, with a provider "
                                 "that it was built with, and with tasks.enabled if that was switched off.");
  return true;
}

/* ---- a task as an answer ---- */

static struct mf_str owner_of(const struct mf_gw_request *r)
{
  return mf_str_of(r->owner);
}

static struct mf_str id_of(const struct mf_gw_request *r)
{
  return mf_str_of(r->match.args[0]);
}

static enum mf_code respond_task(struct mf_gw_request *r, int status, const struct mf_http_header *more, size_t more_n,
                                 struct mf_str json)
{
  struct mf_http_header headers[8] = { { MF_STR("Content-Type"), MF_STR("application/json") },
                                       { MF_STR("Cache-Control"), MF_STR("private, no-store") } };
  size_t n = 2;
  for (size_t i = 0; i < more_n && n < MF_ARRAY_N(headers); i++)
    headers[n++] = more[i];
  return mf_gw_respond(r, status, headers, n, json);
}

/* A large answer is in memory until the client has taken it: it has a place, and waits for that without a copy. */
static enum mf_code get_task(struct mf_gw_request *r, struct mf_str id, uint64_t deadline_ns,
                             struct mf_gw_bulk_place *place, struct mf_buf *ret, struct mf_err *err)
{
  struct mf_tasks *tasks = r->g->parts.tasks;
  enum mf_code code = mf_tasks_get(tasks, r->self, owner_of(r), id, deadline_ns, ret, err);
  place->bytes = MF_MIN(ret->len, (size_t)MF_GW_TASK_TEXT_MAX);
  if (code || ret->len <= MF_GW_TASK_SMALL || mf_gw_bulk_try(&r->g->answers, place))
    return code;
  mf_buf_done(ret);
  code = mf_gw_bulk_take(&r->g->answers, place);
  return code ? code : mf_tasks_get(tasks, r->self, owner_of(r), id, 0, ret, err);
}

enum mf_code mf_gw_reply_task(struct mf_gw_request *r, int status, struct mf_str id, uint64_t deadline_ns,
                              const struct mf_http_header *more, size_t more_n)
{
  struct mf_buf json = { 0 };
  struct mf_err err = { 0 };
  struct mf_gw_bulk_place place = { .fiber = r->self, .owner = r->owner };
  enum mf_code code = get_task(r, id, deadline_ns, &place, &json, &err);
  code = code ? mf_gw_refuse_find(r, code, &err) : respond_task(r, status, more, more_n, mf_buf_str(&json));
  mf_buf_done(&json);
  mf_gw_bulk_release(&r->g->answers, &place);
  return code;
}

bool mf_gw_wait_parse(const char *text, uint64_t *ret_ns)
{
  uint64_t s = 0, ns = 0;
  const char *dot = strchr(text, '.');
  struct mf_str whole = { text, dot ? (size_t)(dot - text) : strlen(text) };
  if (whole.len > 2 || mf_parse_u64(whole, "wait", 0, MF_GW_TASK_WAIT_MAX_S, &s, NULL))
    return false;
  struct mf_str part = mf_str_of(dot ? dot + 1 : NULL);
  if (dot && (part.len > 9 || mf_parse_u64(part, "wait", 0, MF_NS_PER_S - 1, &ns, NULL)))
    return false;
  for (size_t i = part.len; dot && i < 9; i++)
    ns *= 10;
  *ret_ns = s * MF_NS_PER_S + ns;
  return *ret_ns <= MF_GW_TASK_WAIT_MAX_S * MF_NS_PER_S;
}

enum mf_code mf_gw_get_task(struct mf_gw_request *r)
{
  enum mf_code code;
  char text[32];
  uint64_t wait_ns = 0;
  if (mf_gw_has_no_tasks(r, &code))
    return code;
  enum mf_gw_param has = mf_gw_query_get(mf_http_query(r->x), "wait", text, sizeof(text));
  if (has == MF_GW_PARAM_BAD || (has == MF_GW_PARAM_OK && !mf_gw_wait_parse(text, &wait_ns)))
    return mf_gw_refuse_param(r, "wait", "seconds from 0 to 60, such as 30 or 0.5");
  return mf_gw_reply_task(r, 200, id_of(r), wait_ns ? mf_now_ns() + wait_ns : 0, NULL, 0);
}

enum mf_code mf_gw_cancel_task(struct mf_gw_request *r)
{
  enum mf_code code;
  struct mf_err err = { 0 };
  if (mf_gw_has_no_tasks(r, &code))
    return code;
  code = mf_tasks_cancel(r->g->parts.tasks, r->self, owner_of(r), id_of(r), &err);
  return code ? mf_gw_refuse_find(r, code, &err) : mf_gw_reply_task(r, 200, id_of(r), 0, NULL, 0);
}

enum mf_code mf_gw_delete_task(struct mf_gw_request *r)
{
  enum mf_code code;
  struct mf_err err = { 0 };
  if (mf_gw_has_no_tasks(r, &code))
    return code;
  code = mf_tasks_delete(r->g->parts.tasks, r->self, owner_of(r), id_of(r), &err);
  if (code)
    return mf_gw_refuse_find(r, code, &err);
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, MF_GW_ERROR_MAX);
  struct mf_json_writer w;
  mf_jw_init(&w, &out, false);
  mf_jw_obj(&w);
  mf_jw_kstr(&w, "taskId", id_of(r));
  mf_jw_kbool(&w, "deleted", true);
  mf_jw_obj_end(&w);
  return w.code ? w.code : mf_gw_json(r, 200, mf_buf_str(&out));
}

/* ---- the list ---- */

static const char *const states[MF_TASK_STATE_N] = {
  [MF_TASK_QUEUED] = "queued", [MF_TASK_RUNNING] = "running",     [MF_TASK_SUCCEEDED] = "succeeded",
  [MF_TASK_FAILED] = "failed", [MF_TASK_TIMED_OUT] = "timed_out", [MF_TASK_CANCELLED] = "cancelled",
};

const char *mf_gw_task_state_name(enum mf_task_state state)
{
  return states[state];
}

static bool state_parse(const char *text, enum mf_task_state *ret)
{
  for (unsigned i = 0; i < MF_TASK_STATE_N; i++)
    if (strcmp(text, states[i]) == 0) {
      *ret = (enum mf_task_state)i;
      return true;
    }
  return false;
}

struct page {
  uint64_t limit;
  char after[MF_GW_ARG_MAX + 1];
  enum mf_task_state state;
};

/* NULL, or what was expected of *ret_param. */
static const char *page_parse(struct mf_str query, struct page *p, const char **ret_param)
{
  char text[32];
  *p = (struct page){ .limit = LIST_DEFAULT, .state = MF_TASK_STATE_N };
  *ret_param = "limit";
  enum mf_gw_param has = mf_gw_query_get(query, "limit", text, sizeof(text));
  if (has == MF_GW_PARAM_BAD ||
      (has == MF_GW_PARAM_OK && mf_parse_u64(mf_str_of(text), "limit", 1, LIST_MAX, &p->limit, NULL)))
    return "a whole number from 1 to 100";
  *ret_param = "status";
  has = mf_gw_query_get(query, "status", text, sizeof(text));
  if (has == MF_GW_PARAM_BAD || (has == MF_GW_PARAM_OK && !state_parse(text, &p->state)))
    return "queued, running, succeeded, failed, timed_out or cancelled";
  *ret_param = "after";
  if (mf_gw_query_get(query, "after", p->after, sizeof(p->after)) == MF_GW_PARAM_BAD)
    return "the id of a task";
  return NULL;
}

enum mf_code mf_gw_list_tasks(struct mf_gw_request *r)
{
  static const struct mf_gw_fault absent = { 404, "not_found", "not_found", "after", 0 };
  struct page p;
  const char *param;
  enum mf_code code;
  if (mf_gw_has_no_tasks(r, &code))
    return code;
  const char *expected = page_parse(mf_http_query(r->x), &p, &param);
  if (expected)
    return mf_gw_refuse_param(r, param, expected);
  mf_auto_buf struct mf_buf json = { 0 };
  struct mf_err err = { 0 };
  code = mf_tasks_list(r->g->parts.tasks, r->self, owner_of(r), mf_str_of(p.after), p.state, (unsigned)p.limit, &json,
                       &err);
  if (code == MF_E_NOT_FOUND)
    return mf_gw_refuse_fault(r, &absent, "There is no task with the id that 'after' names.");
  return code ? mf_gw_refuse_find(r, code, &err) : mf_gw_json(r, 200, mf_buf_str(&json));
}

/* The accumulator itself: one event or body in, what it means out. Thread: one at a time. */
#include "acc-internal.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/banned.h"

/* A caller has bounded the text; depth is bounded because readers of values may recurse. */
static const struct mf_json_limits event_limits = { .bytes_max = SIZE_MAX, .depth_max = 256 };

/* ---- memory that is counted ---- */

static enum mf_code too_large(const struct mf_acc *a, struct mf_err *err)
{
  return mf_fail(err, MF_E_LIMIT, 0, "the upstream response is larger than %zu bytes", a->max);
}

enum mf_code acc_charge(struct mf_acc *a, size_t n, struct mf_err *err)
{
  if (n > a->max - a->used)
    return too_large(a, err);
  a->used += n;
  return MF_OK;
}

enum mf_code acc_add(struct mf_acc *a, struct mf_buf *b, struct mf_str s, struct mf_err *err)
{
  enum mf_code code = acc_charge(a, s.len, err);
  if (code)
    return code;
  if (mf_buf_append_str(b, s) == MF_OK)
    return MF_OK;
  a->used -= s.len;
  return mf_fail(err, MF_E_LIMIT, 0, "no memory for an upstream response");
}

void acc_drop(struct mf_acc *a, struct mf_buf *b)
{
  a->used -= b->len;
  mf_buf_done(b);
}

/* What does not fit leaves what was there. */
enum mf_code acc_set(struct mf_acc *a, struct mf_buf *b, struct mf_str s, struct mf_err *err)
{
  if (s.len > a->max - a->used + b->len)
    return too_large(a, err);
  a->used -= b->len;
  mf_buf_truncate(b, 0);
  return acc_add(a, b, s, err);
}

enum mf_code acc_set_val(struct mf_acc *a, struct mf_buf *b, const struct mf_json_val *v, struct mf_err *err)
{
  mf_auto_buf struct mf_buf text;
  mf_buf_init(&text, a->max);
  struct mf_json_writer w;
  mf_jw_init(&w, &text, false);
  mf_jw_val(&w, v);
  if (w.code)
    return too_large(a, err);
  return acc_set(a, b, mf_buf_str(&text), err);
}

/* ---- small things ---- */

bool acc_has_str(const struct mf_json_val *obj, const char *key)
{
  return mf_json_type_of(mf_json_get(obj, key)) == MF_JSON_STR;
}

struct mf_str acc_get_str(const struct mf_json_val *obj, const char *key)
{
  return acc_has_str(obj, key) ? mf_json_str(mf_json_get(obj, key)) : (struct mf_str){ 0 };
}

bool acc_get_index(const struct mf_json_val *obj, const char *key, uint32_t *ret)
{
  uint64_t n = 0;
  if (!mf_json_u64(mf_json_get(obj, key), &n) || n > UINT32_MAX)
    return false;
  *ret = (uint32_t)n;
  return true;
}

enum mf_code acc_complain(struct mf_acc *a, struct mf_acc_event *e, struct mf_err *err, const char *fmt, ...)
{
  if (!a->strict) {
    e->verdict = MF_ACC_SWALLOW;
    return MF_OK;
  }
  char text[300];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof(text), fmt, ap);
  va_end(ap);
  return mf_fail(err, MF_E_INPUT, 0, "%s", text);
}

/* ---- life ---- */

struct mf_acc *mf_acc_new(bool strict, size_t retained_max)
{
  struct mf_acc *a = mf_xcalloc(1, sizeof(*a));
  a->strict = strict;
  a->max = retained_max;
  a->view = mf_xcalloc(1, sizeof(*a->view));
  mf_buf_init(&a->error, a->max);
  mf_buf_init(&a->incomplete, a->max);
  return a;
}

void mf_acc_free(struct mf_acc *a)
{
  if (!a)
    return;
  for (size_t i = 0; i < a->item_n; i++)
    acc_item_free(a->items[i]);
  free(a->items);
  free(a->view->items);
  free(a->view);
  mf_buf_done(&a->error);
  mf_buf_done(&a->incomplete);
  mf_json_free(a->doc);
  mf_json_free(a->last);
  free(a);
}

/* ---- the response object ---- */

static enum mf_code keep_end(struct mf_acc *a, const struct mf_json_val *response, struct mf_err *err)
{
  const struct mf_json_val *error = mf_json_get(response, "error");
  const struct mf_json_val *incomplete = mf_json_get(response, "incomplete_details");
  enum mf_code code = MF_OK;
  if (mf_json_type_of(error) != MF_JSON_NULL)
    code = acc_set_val(a, &a->error, error, err);
  if (!code && mf_json_type_of(incomplete) != MF_JSON_NULL)
    code = acc_set_val(a, &a->incomplete, incomplete, err);
  a->usage = acc_usage_read(mf_json_get(response, "usage"));
  return code ? code : acc_merge_output(a, mf_json_get(response, "output"), err);
}

static enum mf_upstream_state state_of(struct mf_str status)
{
  if (mf_str_is(status, "completed"))
    return MF_UPSTREAM_COMPLETED;
  if (mf_str_is(status, "incomplete"))
    return MF_UPSTREAM_INCOMPLETE;
  return MF_UPSTREAM_FAILED;
}

/* ---- events ---- */

/* created, in_progress, anything else, a terminal event: lenient takes what comes. */
static enum mf_code check_order(struct mf_acc *a, const struct event_row *row, const struct mf_json_val *root,
                                struct mf_acc_event *e, struct mf_err *err)
{
  if (!a->strict)
    return MF_OK;
  uint64_t sequence = 0;
  if (!mf_json_u64(mf_json_get(root, "sequence_number"), &sequence))
    return acc_complain(a, e, err, "%.*s: sequence_number is missing", MF_STR_ARG(e->type));
  if (a->saw_sequence && sequence <= a->sequence)
    return acc_complain(a, e, err, "%.*s: sequence_number does not grow", MF_STR_ARG(e->type));
  a->saw_sequence = true;
  a->sequence = sequence;
  if (row->class == EVENT_KEEPALIVE || row->class == EVENT_ERROR)
    return MF_OK;

  bool is_created = strcmp(row->name, "response.created") == 0;
  if (is_created == a->saw_created)
    return acc_complain(a, e, err, "%.*s: %s", MF_STR_ARG(e->type),
                        is_created ? "a second time" : "before response.created");
  bool is_in_progress = strcmp(row->name, "response.in_progress") == 0;
  if (is_in_progress && a->saw_in_progress)
    return acc_complain(a, e, err, "%.*s: a second time", MF_STR_ARG(e->type));
  if (!is_created && !is_in_progress && !a->saw_in_progress && row->class != EVENT_LIFECYCLE)
    return acc_complain(a, e, err, "%.*s: before response.in_progress", MF_STR_ARG(e->type));
  a->saw_created = true;
  a->saw_in_progress = a->saw_in_progress || is_in_progress;
  return MF_OK;
}

static enum mf_code feed_lifecycle(struct mf_acc *a, const struct event_row *row, const struct mf_json_val *root,
                                   struct mf_acc_event *e, struct mf_err *err)
{
  const struct mf_json_val *response = mf_json_get(root, "response");
  struct mf_str status = acc_get_str(response, "status");
  bool is_object = mf_json_type_of(response) == MF_JSON_OBJ;
  if (a->strict && !is_object)
    return mf_fail(err, MF_E_INPUT, 0, "%s: response is not an object", row->name);
  /* A response that waits for its turn is queued from the start. */
  bool may_be_queued = strcmp(row->name, "response.created") == 0;
  if (a->strict && row->status && !mf_str_is(status, row->status) && !(may_be_queued && mf_str_is(status, "queued")))
    return mf_fail(err, MF_E_INPUT, 0, "%s: response.status is '%.*s'", row->name, (int)MF_MIN(status.len, 40u),
                   status.ptr);

  e->verdict = MF_ACC_SWALLOW;
  if (row->class == EVENT_LIFECYCLE)
    return MF_OK;
  e->verdict = MF_ACC_TERMINAL;
  a->state = row->status || status.len == 0 ? row->state : state_of(status);
  a->response = is_object ? response : NULL;
  a->last = a->doc;
  a->doc = NULL;
  enum mf_code code = keep_end(a, response, err);
  for (size_t i = 0; i < a->item_n && !code && a->strict && a->state == MF_UPSTREAM_COMPLETED; i++)
    if (!a->items[i]->pub.is_done)
      code = mf_fail(err, MF_E_INPUT, 0, "%s: an item is still open", row->name);
  return code;
}

/* OpenAI's has code, message and param beside its type; others have an error object. */
static enum mf_code feed_error(struct mf_acc *a, const struct mf_json_val *root, struct mf_acc_event *e,
                               struct mf_err *err)
{
  e->verdict = MF_ACC_TERMINAL;
  a->state = MF_UPSTREAM_FAILED;
  const struct mf_json_val *error = mf_json_get(root, "error");
  if (mf_json_type_of(error) != MF_JSON_NULL)
    return acc_set_val(a, &a->error, error, err);
  static const char *const keys[] = { "code", "message", "param" };
  mf_auto_buf struct mf_buf text;
  mf_buf_init(&text, a->max);
  struct mf_json_writer w;
  mf_jw_init(&w, &text, false);
  mf_jw_obj(&w);
  for (size_t i = 0; i < MF_ARRAY_N(keys); i++) {
    const struct mf_json_val *v = mf_json_get(root, keys[i]);
    if (!v)
      continue;
    mf_jw_key(&w, keys[i]);
    mf_jw_val(&w, v);
  }
  mf_jw_obj_end(&w);
  if (w.code)
    return mf_fail(err, MF_E_LIMIT, 0, "the upstream response is larger than %zu bytes", a->max);
  return acc_set(a, &a->error, mf_buf_str(&text), err);
}

/* An event that speaks of an item: by index, by id, or by neither when there is just one. */
static enum mf_code feed_of_item(struct mf_acc *a, const struct event_row *row, const struct mf_json_val *root,
                                 struct mf_acc_event *e, struct mf_err *err)
{
  uint32_t index = 0;
  bool has_index = acc_get_index(root, "output_index", &index);
  struct mf_str id = acc_get_str(root, "item_id");
  struct acc_item *it = acc_find_open(a, has_index, index, id);
  /* The events of a shell call's commands have no item_id in OpenAI's types. */
  if (a->strict && (!has_index || (!acc_has_str(root, "item_id") && row->group != PART_COMMAND)))
    return acc_complain(a, e, err, "%s: output_index or item_id is missing", row->name);
  if (!it || (a->strict && it->raw_index != index))
    return acc_complain(a, e, err, "%s: no such open item", row->name);
  acc_event_names(e, it);
  if (row->class == EVENT_PROGRESS)
    return MF_OK;
  enum mf_code code = acc_part_event(a, it, row, root, e, err);
  acc_item_refresh(it);
  return code;
}

static enum mf_code feed_unknown(struct mf_acc *a, const struct mf_json_val *root, struct mf_acc_event *e)
{
  uint32_t index = 0;
  bool has_index = acc_get_index(root, "output_index", &index);
  struct mf_str id = acc_get_str(root, "item_id");
  const struct acc_item *it = has_index || id.len > 0 ? acc_find_open(a, has_index, index, id) : NULL;
  e->has_index = has_index;
  e->upstream_index = index;
  if (it)
    acc_event_names(e, it);
  return MF_OK;
}

static enum mf_code feed_object(struct mf_acc *a, const struct event_row *row, const struct mf_json_val *root,
                                struct mf_acc_event *e, struct mf_err *err)
{
  enum mf_code code = check_order(a, row, root, e, err);
  if (code)
    return code;
  switch (row->class) {
  case EVENT_UNKNOWN:
    return feed_unknown(a, root, e);
  case EVENT_KEEPALIVE:
    return MF_OK;
  case EVENT_LIFECYCLE:
  case EVENT_TERMINAL:
    return feed_lifecycle(a, row, root, e, err);
  case EVENT_ERROR:
    return feed_error(a, root, e, err);
  case EVENT_ITEM_ADDED:
    return acc_item_added(a, root, e, err);
  case EVENT_ITEM_DONE:
    return acc_item_done(a, root, e, err);
  case EVENT_PART_ADDED:
  case EVENT_PART_DONE:
  case EVENT_DELTA:
  case EVENT_TEXT_ADDED:
  case EVENT_TEXT_DONE:
  case EVENT_PROGRESS:
    return feed_of_item(a, row, root, e, err);
  }
  return mf_fail(err, MF_E_INTERNAL, 0, "no such class of events");
}

/* A type stands in a line of its own in the client's stream, so one with a line break names nothing. */
static bool is_type(struct mf_str s)
{
  return s.len > 0 && !memchr(s.ptr, '\n', s.len) && !memchr(s.ptr, '\r', s.len);
}

static enum mf_code feed(struct mf_acc *a, struct mf_str type, struct mf_str data, struct mf_acc_event *e,
                         struct mf_err *err)
{
  e->verdict = MF_ACC_SWALLOW;
  if (data.len == 0)
    return MF_OK;
  if (mf_str_is(data, "[DONE]"))
    return a->state == MF_UPSTREAM_OPEN ? acc_complain(a, e, err, "[DONE] before a terminal event") : MF_OK;
  struct mf_err fault = { 0 };
  enum mf_code code = mf_json_parse(data, &event_limits, &a->doc, &fault);
  if (code == MF_E_LIMIT)
    return mf_fail(err, code, 0, "upstream event: %s", fault.msg);
  if (code)
    return acc_complain(a, e, err, "upstream event: %s", fault.msg);
  const struct mf_json_val *root = mf_json_root(a->doc);
  if (mf_json_type_of(root) != MF_JSON_OBJ)
    return acc_complain(a, e, err, "upstream event: not an object");

  e->doc = a->doc;
  e->type = acc_has_str(root, "type") ? acc_get_str(root, "type") : type;
  if (!is_type(e->type))
    return acc_complain(a, e, err, "upstream event: no type");
  if (a->strict && (!acc_has_str(root, "type") || (type.len > 0 && !mf_str_eq(type, e->type))))
    return acc_complain(a, e, err, "upstream event: its type is not that of its data");
  if (a->state != MF_UPSTREAM_OPEN)
    return acc_complain(a, e, err, "%.*s: after the terminal event", MF_STR_ARG(e->type));
  e->verdict = MF_ACC_DELIVER;
  return feed_object(a, event_find(e->type), root, e, err);
}

enum mf_code mf_acc_feed(struct mf_acc *a, struct mf_str type, struct mf_str data, struct mf_acc_event *ret,
                         struct mf_err *err)
{
  mf_json_free(a->doc);
  a->doc = NULL;
  struct mf_acc_event e = { 0 };
  enum mf_code code = feed(a, type, data, &e, err);
  if (code) {
    /* What was kept is half a response; it must never pass for a completed one. */
    a->state = MF_UPSTREAM_FAILED;
    return code;
  }
  *ret = e;
  return MF_OK;
}

void mf_acc_end(struct mf_acc *a)
{
  if (a->state != MF_UPSTREAM_OPEN)
    return;
  a->state = MF_UPSTREAM_FAILED;
  static const char text[] =
      "{\"code\":\"server_error\",\"message\":\"upstream stream ended without a terminal event\"}";
  /* Of our own and small, so that it is not held against upstream's bytes. */
  a->used -= a->error.len;
  mf_buf_done(&a->error);
  mf_buf_init(&a->error, sizeof(text));
  if (mf_buf_append(&a->error, text, sizeof(text) - 1) != MF_OK)
    mf_buf_truncate(&a->error, 0);
}

/* ---- a body ---- */

static enum mf_code feed_body(struct mf_acc *a, struct mf_str body, struct mf_err *err)
{
  enum mf_code code = mf_json_parse(body, &event_limits, &a->doc, err);
  if (code)
    return mf_wrap(err, code, "upstream response");
  const struct mf_json_val *root = mf_json_root(a->doc), *output = mf_json_get(root, "output");
  struct mf_str status = acc_get_str(root, "status");
  bool has_error = mf_json_type_of(mf_json_get(root, "error")) != MF_JSON_NULL;
  if (mf_json_type_of(root) != MF_JSON_OBJ || (mf_json_type_of(output) != MF_JSON_ARR && !has_error))
    return mf_fail(err, MF_E_INPUT, 0, "upstream response: not a response object");
  if (a->strict && (status.len == 0 || !acc_has_str(root, "id")))
    return mf_fail(err, MF_E_INPUT, 0, "upstream response: id or status is missing");

  a->state = status.len > 0 ? state_of(status) : has_error ? MF_UPSTREAM_FAILED : MF_UPSTREAM_COMPLETED;
  a->response = root;
  return keep_end(a, root, err);
}

enum mf_code mf_acc_feed_json(struct mf_acc *a, struct mf_str body, struct mf_err *err)
{
  if (a->state != MF_UPSTREAM_OPEN || a->item_n > 0 || a->doc)
    return mf_fail(err, MF_E_INTERNAL, 0, "a body is fed to a fresh accumulator");
  enum mf_code code = feed_body(a, body, err);
  if (code)
    a->state = MF_UPSTREAM_FAILED;
  return code;
}

/* ---- what was found ---- */

enum mf_upstream_state mf_acc_state(const struct mf_acc *a)
{
  return a->state;
}

size_t mf_acc_items(const struct mf_acc *a, const struct mf_acc_item **ret)
{
  struct acc_view *view = a->view;
  if (view->cap < a->item_n) {
    view->cap = a->item_n;
    view->items = mf_xrealloc(view->items, view->cap * sizeof(*view->items));
  }
  for (size_t i = 0; i < a->item_n; i++) {
    struct acc_item *it = a->items[i];
    view->items[i] = it->pub;
    if (!it->pub.is_done && acc_item_assemble(it, a->state == MF_UPSTREAM_COMPLETED ? "completed" : "incomplete"))
      view->items[i].json = mf_buf_str(&it->assembled);
  }
  *ret = view->items;
  return a->item_n;
}

struct mf_usage mf_acc_usage(const struct mf_acc *a)
{
  return a->usage;
}

struct mf_str mf_acc_error(const struct mf_acc *a)
{
  return mf_buf_str(&a->error);
}

struct mf_str mf_acc_incomplete(const struct mf_acc *a)
{
  return mf_buf_str(&a->incomplete);
}

const struct mf_json_val *mf_acc_response(const struct mf_acc *a)
{
  return a->response;
}

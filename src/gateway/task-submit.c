/* POST /v1/tasks: what is asked for as JSON, and the submission itself. Thread: the loop's; in the request's fiber. */
#include <stdio.h>

#include "base/base64.h"
#include "base/num.h"
#include "field.h"
#include "tasks.h"
#include "base/banned.h"

enum {
  DEPTH_MAX = 32,
  SLICE_TEXT = 1 << 20, /* of base64, decoded at a time: a multiple of four */
  SLICE_BYTES = SLICE_TEXT / 4 * 3,
};

/* ---- the submission ---- */

static enum mf_code reply_submitted(struct mf_gw_request *r, const struct mf_task_submitted *s)
{
  char location[sizeof("/v1/tasks/") + MF_ID_N];
  snprintf(location, sizeof(location), "/v1/tasks/%s", s->id);
  const struct mf_http_header more[] = { { MF_STR("Location"), mf_str_of(location) },
                                         { MF_STR("Idempotent-Replayed"), MF_STR("true") } };
  return mf_gw_reply_task(r, s->is_replay ? 200 : 202, mf_str_of(s->id), 0, more, s->is_replay ? 2 : 1);
}

enum mf_code mf_gw_submit(struct mf_gw_request *r, struct mf_task_draft *draft, const struct mf_task_request *request)
{
  struct mf_gw_submit_fault f = { 0 };
  struct mf_task_submitted submitted;
  struct mf_str key = mf_http_header(r->x, "idempotency-key");
  enum mf_code code =
      mf_tasks_submit(r->g->parts.tasks, r->self, draft, request, key, &submitted, &f.retry_s, &f.fault, &f.err);
  return code ? mf_gw_refuse_submit(r, code, &f) : reply_submitted(r, &submitted);
}

/* ---- reading JSON ---- */

struct reading {
  struct mf_str json;
  struct mf_gw_task_text *text;
  struct mf_gw_submit_fault *f;
  enum mf_code code;
};

/* Thread: any. */
static void read_text(void *user)
{
  struct reading *a = user;
  struct mf_gw_task_text *t = a->text;
  const struct mf_json_limits limits = { MF_GW_TASK_BODY_MAX, DEPTH_MAX };
  a->code = mf_json_parse(a->json, &limits, &t->doc, &a->f->err);
  if (a->code) {
    a->code = MF_E_INPUT; /* too deep as well: no request looks like that */
    snprintf(a->f->fault.code, sizeof(a->f->fault.code), "invalid_json");
    (void)mf_wrap(&a->f->err, MF_E_INPUT, "not JSON");
    return;
  }
  a->code = mf_task_request_parse(mf_json_root(t->doc), &t->request, &t->files, &t->file_n, &a->f->fault, &a->f->err);
}

enum mf_code mf_gw_task_text_read(struct mf_gw_request *r, struct mf_str json, struct mf_gw_task_text *ret,
                                  struct mf_gw_submit_fault *f)
{
  struct reading a = { .json = json, .text = ret, .f = f };
  *ret = (struct mf_gw_task_text){ 0 };
  if (json.len <= MF_GW_TASK_INLINE) {
    read_text(&a);
    return a.code;
  }
  enum mf_code code = mf_pool_run(r->g->parts.pool, r->self, read_text, &a, &f->err);
  return code ? code : a.code;
}

void mf_gw_task_text_done(struct mf_gw_task_text *t)
{
  free(t->files);
  mf_json_free(t->doc);
  *t = (struct mf_gw_task_text){ 0 };
}

/* ---- files in the JSON ---- */

struct decoding {
  struct mf_str base64;
  struct mf_buf *bytes;
  enum mf_code code;
};

/* Thread: any. */
static void decode(void *user)
{
  struct decoding *d = user;
  d->code = mf_base64_decode(d->base64, d->bytes);
}

static enum mf_code fail_base64(unsigned i, struct mf_gw_submit_fault *f)
{
  snprintf(f->fault.param, sizeof(f->fault.param), "files[%u].content", i);
  snprintf(f->fault.code, sizeof(f->fault.code), "invalid_base64");
  return mf_fail(&f->err, MF_E_INPUT, 0,
                 "files[%u].content: expected base64 (RFC 4648) with its padding and without line breaks", i);
}

static enum mf_code put_slice(struct mf_gw_request *r, struct mf_task_draft *draft, struct decoding *d, bool is_last,
                              unsigned i, struct mf_gw_submit_fault *f)
{
  mf_buf_truncate(d->bytes, 0);
  if (d->base64.len <= MF_GW_TASK_INLINE) {
    decode(d);
  } else {
    enum mf_code code = mf_pool_run(r->g->parts.pool, r->self, decode, d, &f->err);
    if (code)
      return code;
  }
  /* Padding in the middle: each slice alone would be right. */
  if (d->code || (!is_last && d->base64.ptr[d->base64.len - 1] == '='))
    return fail_base64(i, f);
  return mf_task_draft_data(draft, r->self, mf_buf_str(d->bytes), &f->fault, &f->err);
}

static enum mf_code put_file(struct mf_gw_request *r, struct mf_task_draft *draft, const struct mf_task_file_text *file,
                             unsigned i, struct mf_gw_submit_fault *f)
{
  mf_auto_buf struct mf_buf bytes;
  mf_buf_init(&bytes, SLICE_BYTES);
  struct mf_str rest = file->base64;
  enum mf_code code = mf_task_draft_file(draft, r->self, file->name, &f->fault, &f->err);
  while (!code && rest.len > 0) {
    struct decoding d = { .base64 = { rest.ptr, MF_MIN(rest.len, (size_t)SLICE_TEXT) }, .bytes = &bytes };
    rest = (struct mf_str){ rest.ptr + d.base64.len, rest.len - d.base64.len };
    code = put_slice(r, draft, &d, rest.len == 0, i, f);
  }
  return code ? code : mf_task_draft_file_end(draft, r->self, &f->fault, &f->err);
}

static enum mf_code submit_text(struct mf_gw_request *r, const struct mf_gw_task_text *t)
{
  struct mf_gw_submit_fault f = { 0 };
  struct mf_task_draft *draft = mf_task_draft_new(r->g->parts.tasks, mf_str_of(r->owner));
  enum mf_code code = MF_OK;
  for (unsigned i = 0; !code && i < t->file_n; i++)
    code = put_file(r, draft, &t->files[i], i, &f);
  if (!code)
    return mf_gw_submit(r, draft, &t->request);
  mf_task_draft_free(draft, r->self);
  return mf_gw_refuse_submit(r, code, &f);
}

/* ---- the body ---- */

/* What its body may take; a body in chunks may be anything. */
static uint64_t body_bytes(const struct mf_gw_request *r)
{
  uint64_t n = 0;
  struct mf_str length = mf_http_header(r->x, "content-length");
  if (!length.ptr || mf_parse_u64(length, "content-length", 0, UINT64_MAX, &n, NULL))
    return MF_GW_TASK_BODY_MAX;
  return n;
}

static enum mf_code read_and_submit(struct mf_gw_request *r)
{
  mf_auto_buf struct mf_buf body = { 0 };
  enum mf_code code = mf_http_read_body(r->x, MF_GW_TASK_BODY_MAX, &body, NULL);
  if (code)
    return mf_gw_refuse_body(r, code);
  struct mf_gw_task_text text;
  struct mf_gw_submit_fault f = { 0 };
  code = mf_gw_task_text_read(r, mf_buf_str(&body), &text, &f);
  mf_buf_done(&body); /* the document has its own copy */
  code = code ? mf_gw_refuse_submit(r, code, &f) : submit_text(r, &text);
  mf_gw_task_text_done(&text);
  return code;
}

static enum mf_code submit_json(struct mf_gw_request *r)
{
  struct mf_gw_bulk_place place = { .fiber = r->self, .owner = r->owner, .bytes = (size_t)body_bytes(r) };
  if (place.bytes <= MF_GW_TASK_SMALL)
    return read_and_submit(r);
  enum mf_code code = mf_gw_bulk_take(&r->g->bulk, &place);
  if (!code)
    code = read_and_submit(r);
  mf_gw_bulk_release(&r->g->bulk, &place);
  return code;
}

/* ---- the route ---- */

static enum mf_code refuse_type(struct mf_gw_request *r, enum mf_gw_type type)
{
  static const struct mf_gw_fault f = { 415, "invalid_request_error", "unsupported_media_type", "Content-Type", 0 };
  return mf_gw_refuse_fault(r, &f, "%s",
                            type == MF_GW_TYPE_CHARSET ? "Content-Type: the only charset is UTF-8"
                                                       : "Content-Type: expected application/json or "
                                                         "multipart/form-data");
}

/* A header that may come once. */
static bool is_repeated(const struct mf_gw_request *r, const char *name)
{
  const struct mf_http_header *headers;
  size_t n = mf_http_headers(r->x, &headers), times = 0;
  for (size_t i = 0; i < n; i++)
    times += mf_gw_field_is(headers[i].name, name);
  return times > 1;
}

/* To say no before an upload. A key may be one that was used before: its task is there, full or not. */
static bool has_no_room(struct mf_gw_request *r, enum mf_code *ret_code)
{
  struct mf_gw_submit_fault f = { 0 };
  if (mf_http_header(r->x, "idempotency-key").len > 0 ||
      mf_tasks_has_room(r->g->parts.tasks, mf_str_of(r->owner), &f.retry_s))
    return false;
  r->g->metrics.tasks_refused++;
  (void)!mf_fail(&f.err, MF_E_CAPACITY, 0, "the queue is full; try again in %u s", f.retry_s);
  *ret_code = mf_gw_refuse_submit(r, MF_E_CAPACITY, &f);
  return true;
}

enum mf_code mf_gw_post_task(struct mf_gw_request *r)
{
  static const struct mf_gw_fault coded = { 415, "invalid_request_error", "unsupported_media_type", "Content-Encoding",
                                            0 };
  enum mf_code code;
  struct mf_str type = mf_http_header(r->x, "content-type"), key = mf_http_header(r->x, "idempotency-key");
  struct mf_str encoding = mf_http_header(r->x, "content-encoding");
  if (mf_gw_has_no_tasks(r, &code))
    return code;
  if (encoding.len > 0 && !mf_gw_field_is(encoding, "identity"))
    return mf_gw_refuse_fault(r, &coded, "Content-Encoding: send the body as it is");
  if ((key.ptr && key.len == 0) || is_repeated(r, "idempotency-key"))
    return mf_gw_refuse_param(r, "Idempotency-Key", "one key of 1 to 255 printable ASCII characters");
  if (body_bytes(r) > MF_GW_TASK_BODY_MAX)
    return mf_gw_refuse_body(r, MF_E_LIMIT);
  enum mf_gw_type as_json = mf_gw_field_type(type, "application/json");
  enum mf_gw_type as_form = mf_gw_field_type(type, "multipart/form-data");
  if (is_repeated(r, "content-type"))
    return refuse_type(r, MF_GW_TYPE_BAD);
  if (as_json != MF_GW_TYPE_OK && as_form != MF_GW_TYPE_OK)
    return refuse_type(r, MF_MAX(as_json, as_form));
  if (has_no_room(r, &code))
    return code;
  return as_json == MF_GW_TYPE_OK ? submit_json(r) : mf_gw_upload_task(r);
}

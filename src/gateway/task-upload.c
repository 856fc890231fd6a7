/* POST /v1/tasks with multipart/form-data: files go to the disk as they come. Thread: the loop's; in the request's
 * fiber. */
#include <stdio.h>

#include "base/path.h"
#include "field.h"
#include "multipart.h"
#include "tasks.h"
#include "base/banned.h"

enum { PIECE_BYTES = 64 * 1024 };

enum place { BEFORE_REQUEST, IN_REQUEST, BETWEEN, IN_FILE, ENDED };

struct upload {
  struct mf_gw_request *r;
  struct mf_multipart *parts;
  enum place place;
  struct mf_buf json;           /* the part `request` */
  struct mf_gw_bulk_place bulk; /* of a large one */
  struct mf_gw_task_text text;
  struct mf_task_draft *draft;
  unsigned file_n;
  struct mf_gw_submit_fault f;
};

static enum mf_code fail(struct upload *u, const char *code, const char *param, const char *message)
{
  snprintf(u->f.fault.code, sizeof(u->f.fault.code), "%s", code);
  snprintf(u->f.fault.param, sizeof(u->f.fault.param), "%s", param);
  return mf_fail(&u->f.err, MF_E_INPUT, 0, "%s%s%s", param, param[0] ? ": " : "", message);
}

/* ---- the request ---- */

static enum mf_code begin_request(struct upload *u, const struct mf_multipart_part *part)
{
  if (u->place != BEFORE_REQUEST)
    return fail(u, "invalid_value", "request", "this part comes once, before all others");
  if (part->content_type.len > 0 && mf_gw_field_type(part->content_type, "application/json") != MF_GW_TYPE_OK)
    return fail(u, "invalid_value", "request", "expected a part of type application/json in UTF-8");
  u->place = IN_REQUEST;
  return MF_OK;
}

static enum mf_code end_request(struct upload *u)
{
  enum mf_code code = mf_gw_task_text_read(u->r, mf_buf_str(&u->json), &u->text, &u->f);
  mf_buf_done(&u->json);
  if (code)
    return code;
  if (mf_json_get(mf_json_root(u->text.doc), "files"))
    return fail(u, "invalid_value", "files", "with multipart/form-data each file is a part named 'files'");
  u->draft = mf_task_draft_new(u->r->g->parts.tasks, mf_str_of(u->r->owner));
  u->place = BETWEEN;
  return MF_OK;
}

/* ---- files ---- */

static enum mf_code begin_file(struct upload *u, const struct mf_multipart_part *part)
{
  char param[40];
  if (u->place == BEFORE_REQUEST)
    return fail(u, "missing_required_parameter", "request", "this part must come before the files");
  snprintf(param, sizeof(param), "files[%u].name", u->file_n);
  if (!part->filename.ptr)
    return fail(u, "missing_required_parameter", param, "the part has no filename");
  enum mf_code code = mf_task_draft_file(u->draft, u->r->self, part->filename, &u->f.fault, &u->f.err);
  u->place = IN_FILE;
  u->file_n++;
  return code;
}

static enum mf_code begin_part(struct upload *u)
{
  const struct mf_multipart_part *part = mf_multipart_part(u->parts);
  if (mf_str_is(part->name, "request"))
    return begin_request(u, part);
  if (mf_str_is(part->name, "files"))
    return begin_file(u, part);
  char shown[80];
  mf_escape(part->name, shown, sizeof(shown));
  return fail(u, "unknown_parameter", shown, "unknown part; expected 'request' and then 'files'");
}

static enum mf_code take_data(struct upload *u, struct mf_str data)
{
  if (u->place == IN_FILE)
    return mf_task_draft_data(u->draft, u->r->self, data, &u->f.fault, &u->f.err);
  if (u->json.len + data.len > MF_GW_TASK_SMALL && !u->bulk.is_given) {
    enum mf_code code = mf_gw_bulk_take(&u->r->g->bulk, &u->bulk);
    if (code)
      return code;
  }
  if (mf_buf_append_str(&u->json, data) == MF_OK)
    return MF_OK;
  (void)fail(u, "request_too_large", "request", "the part is over 8 MiB");
  return MF_E_LIMIT;
}

static enum mf_code end_part(struct upload *u)
{
  if (u->place == IN_REQUEST)
    return end_request(u);
  u->place = BETWEEN;
  return mf_task_draft_file_end(u->draft, u->r->self, &u->f.fault, &u->f.err);
}

/* ---- the body ---- */

static enum mf_code take_event(struct upload *u, enum mf_multipart_event event, struct mf_str data)
{
  switch (event) {
  case MF_MULTIPART_PART:
    return begin_part(u);
  case MF_MULTIPART_DATA:
    return take_data(u, data);
  case MF_MULTIPART_PART_END:
    return end_part(u);
  case MF_MULTIPART_END:
    if (u->place == BEFORE_REQUEST)
      return fail(u, "missing_required_parameter", "request", "the part is missing");
    u->place = ENDED;
    break;
  case MF_MULTIPART_MORE:
    break;
  }
  return MF_OK;
}

static enum mf_code fail_multipart(struct upload *u, enum mf_code code)
{
  snprintf(u->f.fault.code, sizeof(u->f.fault.code), "%s", code == MF_E_LIMIT ? "body_too_large" : "invalid_multipart");
  return mf_wrap(&u->f.err, code, "multipart/form-data");
}

static enum mf_code take_piece(struct upload *u, struct mf_str piece)
{
  enum mf_multipart_event event;
  do {
    struct mf_str data;
    enum mf_code code = mf_multipart_next(u->parts, &piece, &event, &data, &u->f.err);
    if (code)
      return fail_multipart(u, code);
    code = take_event(u, event, data);
    if (code)
      return code;
  } while (event != MF_MULTIPART_MORE);
  return MF_OK;
}

/* *ret_http: why the body could not be read. */
static enum mf_code take_body(struct upload *u, char *piece, enum mf_code *ret_http)
{
  uint64_t total = 0;
  for (;;) {
    size_t n = 0;
    *ret_http = mf_http_read_some(u->r->x, piece, PIECE_BYTES, &n, NULL);
    total += n;
    if (!*ret_http && total > MF_GW_TASK_BODY_MAX)
      *ret_http = MF_E_LIMIT;
    if (*ret_http)
      return *ret_http;
    if (n == 0)
      break;
    enum mf_code code = take_piece(u, (struct mf_str){ piece, n });
    if (code)
      return code;
  }
  enum mf_code code = mf_multipart_finish(u->parts, &u->f.err);
  return code ? fail_multipart(u, code) : MF_OK;
}

static enum mf_code receive(struct upload *u)
{
  enum mf_code http = MF_OK;
  mf_auto_free char *piece = mf_xmalloc(PIECE_BYTES);
  enum mf_code code = mf_multipart_new(mf_http_header(u->r->x, "content-type"), &u->parts, &u->f.err);
  code = code ? fail_multipart(u, code) : take_body(u, piece, &http);
  struct mf_task_draft *draft = u->draft;
  u->draft = NULL;
  if (!code)
    return mf_gw_submit(u->r, draft, &u->text.request);
  mf_task_draft_free(draft, u->r->self); /* who is told of an error can be sure that nothing was kept */
  return http ? mf_gw_refuse_body(u->r, http) : mf_gw_refuse_submit(u->r, code, &u->f);
}

enum mf_code mf_gw_upload_task(struct mf_gw_request *r)
{
  struct upload u = { .r = r, .bulk = { .fiber = r->self, .owner = r->owner, .bytes = MF_GW_TASK_REQUEST_MAX } };
  mf_buf_init(&u.json, MF_GW_TASK_REQUEST_MAX);
  enum mf_code code = receive(&u);
  mf_multipart_free(u.parts);
  mf_gw_task_text_done(&u.text);
  mf_buf_done(&u.json);
  mf_gw_bulk_release(&r->g->bulk, &u.bulk);
  return code;
}

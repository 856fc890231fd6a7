/* Stored responses: retrieve, delete, what the model was given, cancel. Thread: the loop's; in the request's fiber. */
#include "items.h"
#include "query.h"
#include "reply.h"
#include "base/banned.h"

static struct mf_str id_of(const struct mf_gw_request *r)
{
  return mf_str_of(r->match.args[0]);
}

static void free_stored(struct mf_stored **h)
{
  mf_stored_free(*h);
}
#define auto_stored MF_CLEANUP(free_stored)

/* Without its items: who reads slowly holds what was loaded. */
static enum mf_code load(struct mf_gw_request *r, struct mf_stored **ret, struct mf_err *err)
{
  return mf_storage_get_payload(r->g->parts.agent->storage, r->self, id_of(r), ret, err);
}

enum mf_code mf_gw_get_response(struct mf_gw_request *r)
{
  char text[16];
  enum mf_gw_param streams = mf_gw_query_get(mf_http_query(r->x), "stream", text, sizeof(text));
  if (streams == MF_GW_PARAM_BAD ||
      (streams == MF_GW_PARAM_OK && strcmp(text, "false") != 0 && strcmp(text, "0") != 0)) {
    struct mf_api_error e;
    (void)mf_api_fail(&e, 400, "invalid_request_error", "invalid_value", "stream",
                      "A stored response cannot be streamed: only background responses can be followed, and this "
                      "server does not run any. Leave out 'stream' to get the response as JSON.");
    return mf_gw_error(r, &e);
  }
  struct mf_err err = { 0 };
  auto_stored struct mf_stored *h = NULL;
  enum mf_code code = load(r, &h, &err);
  return code ? mf_gw_refuse_storage(r, code, &err) : mf_gw_json(r, 200, mf_stored_response(h)->payload);
}

enum mf_code mf_gw_delete_response(struct mf_gw_request *r)
{
  struct mf_err err = { 0 };
  enum mf_code code = mf_storage_delete_response(r->g->parts.agent->storage, r->self, id_of(r), &err);
  if (code)
    return mf_gw_refuse_storage(r, code, &err);
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, MF_GW_ERROR_MAX);
  struct mf_json_writer w;
  mf_jw_init(&w, &out, false);
  mf_jw_obj(&w);
  mf_jw_kstr(&w, "id", id_of(r));
  mf_jw_kstrz(&w, "object", "response");
  mf_jw_kbool(&w, "deleted", true);
  mf_jw_obj_end(&w);
  return w.code ? w.code : mf_gw_json(r, 200, mf_buf_str(&out));
}

enum mf_code mf_gw_cancel_response(struct mf_gw_request *r)
{
  struct mf_err err = { 0 };
  auto_stored struct mf_stored *h = NULL;
  enum mf_code code = load(r, &h, &err);
  if (code)
    return mf_gw_refuse_storage(r, code, &err);
  return mf_gw_refuse(r, 400, "invalid_request_error", "invalid_request_error",
                      "Only background responses can be cancelled, and this one was not created with "
                      "'background': true. To end a response that is being made, close its connection.");
}

enum mf_code mf_gw_get_input_items(struct mf_gw_request *r)
{
  struct mf_gw_page page;
  struct mf_api_error e;
  if (!mf_gw_page_parse(mf_http_query(r->x), &page, &e))
    return mf_gw_error(r, &e);
  struct mf_err err = { 0 };
  auto_stored struct mf_stored *own = NULL, *history = NULL;
  enum mf_code code = mf_storage_get_response(r->g->parts.agent->storage, r->self, id_of(r), &own, &err);
  if (!code)
    code = mf_storage_get_history(r->g->parts.agent->storage, r->self, id_of(r), &history, &err);
  if (code)
    return mf_gw_refuse_storage(r, code, &err);
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, MF_STORE_BYTES_MAX + MF_GW_PAGE_SLACK);
  if (!mf_gw_items_write(mf_stored_response(history), mf_stored_response(own)->item_n, &page, &out, &e))
    return mf_gw_error(r, &e);
  return mf_gw_json(r, 200, mf_buf_str(&out));
}

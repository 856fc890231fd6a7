/* Any body as a request of the Responses API. The first byte chooses what the server has. What is taken has a model and
 * an input whose every item can be stored and shown to the model as JSON; what is refused says why in valid UTF-8. */
#include "agent/turn.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "item.h"
#include "pending.h"
#include "turn-internal.h"
#include "base/banned.h"

static void check_json(const struct mf_buf *text)
{
  const struct mf_json_limits limits = { .bytes_max = 64u << 20, .depth_max = 1024 };
  struct mf_json *doc = NULL;
  CHECK(mf_json_parse(mf_buf_str(text), &limits, &doc, NULL) == MF_OK);
  CHECK(mf_json_type_of(mf_json_root(doc)) == MF_JSON_OBJ);
  mf_json_free(doc);
}

static void check_error(const struct mf_api_error *e)
{
  CHECK(e->status == 400 || e->status == 413);
  CHECK(e->message[0] != 0 && e->type);
  mf_auto_buf struct mf_buf text;
  mf_buf_init(&text, 1u << 16);
  struct mf_json_writer w;
  mf_jw_init(&w, &text, false);
  mf_api_error_write(e, &w);
  CHECK(w.code == MF_OK);
  check_json(&text);
}

static void check_stored(const struct mf_json_val *item)
{
  mf_auto_buf struct mf_buf stored;
  struct mf_json_writer w;
  mf_buf_init(&stored, 16u << 20);
  mf_jw_init(&w, &stored, false);
  item_write_stored(item, &w);
  CHECK(w.code == MF_OK);
  check_json(&stored);
}

static void check_item(const struct mf_json_val *item)
{
  mf_auto_buf struct mf_buf text;
  struct mf_json_writer w;
  mf_buf_init(&text, 16u << 20);
  mf_jw_init(&w, &text, false);
  bool is_shown = item_write_model(item, &w);
  CHECK(w.code == MF_OK && is_shown == (text.len > 0));
  if (is_shown)
    check_json(&text);
  if (item_kind_of(item))
    check_stored(item);
}

static void check_request(const struct mf_turn_request *r)
{
  CHECK(r->model.ptr && r->input && mf_json_type_of(r->input) != MF_JSON_NULL);
  CHECK(!r->is_proxy || (!r->is_store && r->previous_id.len == 0));
  CHECK(r->max_tool_calls >= 1);
  if (r->is_proxy)
    return;
  struct mf_json_iter it = mf_json_iter(mf_json_type_of(r->input) == MF_JSON_ARR ? r->input : NULL);
  while (mf_json_next(&it))
    check_item(it.val);
  struct mf_api_error e = { 0 };
  if (!pending_check(r->input, r->input, &e))
    check_error(&e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  if (n == 0)
    return 0;
  struct mf_interpreter_config interpreter;
  mf_interpreter_config_default(&interpreter);
  interpreter.enabled = true;
  const struct mf_agent agent = {
    .tools = { .executor = data[0] & 1 ? NULL : (struct mf_executor *)&interpreter, /* is only looked at */
               .interpreter = &interpreter,
               .interpreter_built = !(data[0] & 2),
               .ignore_unsupported = data[0] & 4 },
  };
  struct mf_turn_request *r = NULL;
  struct mf_api_error e = { 0 };
  if (mf_turn_request_new(&agent, (struct mf_str){ (const char *)data + 1, n - 1 }, &r, &e)) {
    check_request(r);
    mf_turn_request_free(r);
  } else {
    CHECK(!r);
    check_error(&e);
  }
  return 0;
}

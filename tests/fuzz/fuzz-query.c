/* Percent-decoding, the parameters of a query and the pages of a list. The first byte says how much room there is. What
 * is decoded is text without control characters that, escaped again, decodes to itself. */
#include <stdio.h>

#include "base/utf8.h"
#include "fuzz.h"
#include "items.h"
#include "query.h"
#include "base/banned.h"

#define S(z)                                                                                                           \
  {                                                                                                                    \
    z, sizeof(z) - 1                                                                                                   \
  }
static const struct mf_store_item chain[] = {
  { S(""), S("{\"role\":\"user\",\"content\":\"hi\"}"), true, true, false },
  { S("fc_1"), S("{\"type\":\"function_call\",\"id\":\"fc_1\"}"), true, false, false },
  { S("ci_1"), S("{\"type\":\"code_interpreter_call\",\"id\":\"ci_1\"}"), false, true, true },
  { S("in_2"), S("{\"type\":\"message\",\"role\":\"user\",\"content\":[]}"), true, true, false },
};
static const struct mf_store_response history = { .items = chain, .item_n = 4 };

static void check_text(const char *text, size_t room)
{
  size_t n = strlen(text);
  CHECK(n < room && mf_utf8_is_valid(mf_str_of(text)));
  char escaped[3 * 256 + 1], again[257];
  for (size_t i = 0; i < n; i++) {
    unsigned char c = (unsigned char)text[i];
    CHECK(c >= 0x20 && c != 0x7f);
    snprintf(escaped + 3 * i, 4, "%%%02x", c);
  }
  CHECK(mf_gw_decode((struct mf_str){ escaped, 3 * n }, true, again, sizeof(again)));
  CHECK(strcmp(text, again) == 0);
}

static void check_error(const struct mf_api_error *e)
{
  CHECK((e->status == 400 || e->status == 404) && e->type && e->has_param);
  CHECK(e->message[0] && mf_utf8_is_valid(mf_str_of(e->message)));
}

static void check_page(const struct mf_gw_page *page)
{
  CHECK(page->limit >= 1 && page->limit <= MF_GW_PAGE_MAX);
  check_text(page->after, sizeof(page->after));
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, 65536);
  struct mf_api_error e = { 0 };
  if (!mf_gw_items_write(&history, 1, page, &out, &e)) {
    check_error(&e);
    CHECK(page->after[0]);
    return;
  }
  const struct mf_json_limits limits = { 65536, 64 };
  mf_auto_json struct mf_json *doc = NULL;
  CHECK(mf_json_parse(mf_buf_str(&out), &limits, &doc, NULL) == MF_OK);
  const struct mf_json_val *data = mf_json_get(mf_json_root(doc), "data");
  CHECK(mf_json_type_of(data) == MF_JSON_ARR && mf_json_len(data) <= page->limit);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  if (n == 0)
    return 0;
  struct mf_str query = { (const char *)data + 1, n - 1 };
  size_t room = data[0] + 1u;
  char text[256];
  if (mf_gw_decode(query, true, text, room))
    check_text(text, room);
  if (mf_gw_decode(query, false, text, room))
    check_text(text, room);
  if (mf_gw_query_get(query, "a", text, room) == MF_GW_PARAM_OK)
    check_text(text, room);

  struct mf_gw_page page;
  struct mf_api_error e = { 0 };
  if (mf_gw_page_parse(query, &page, &e))
    check_page(&page);
  else
    check_error(&e);
  return 0;
}

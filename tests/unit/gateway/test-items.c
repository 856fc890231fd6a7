/* The list of input items: what is shown, pages, cursors, forms. */
#include "unit.h"

#include "items.h"
#include "base/banned.h"

#define S(z)                                                                                                           \
  {                                                                                                                    \
    z, sizeof(z) - 1                                                                                                   \
  }

/* Two turns: the first asked, called a tool and answered; the second asks and has answered. */
static const struct mf_store_item chain[] = {
  { S(""), S("{\"role\":\"user\",\"content\":\"hi\"}"), true, true, false },
  { S("fc_1"), S("{\"type\":\"function_call\",\"id\":\"fc_1\"}"), true, false, false },
  { S("ci_1"), S("{\"type\":\"code_interpreter_call\",\"id\":\"ci_1\",\"n\":1.50}"), false, true, true },
  { S("msg_1"), S("{\"type\":\"message\",\"id\":\"old\",\"role\":\"assistant\",\"content\":\"yes\"}"), false, true,
    false },
  { S("in_2"), S("{\"type\":\"message\",\"role\":\"user\",\"status\":\"completed\",\"content\":[]}"), true, true,
    false },
  { S("msg_2"), S("{\"type\":\"message\",\"role\":\"assistant\",\"content\":[]}"), false, true, false },
};
static const struct mf_store_response history = { .items = chain, .item_n = 6 };

static struct mf_json *list(const char *query, struct mf_api_error *e)
{
  struct mf_gw_page page;
  *e = (struct mf_api_error){ 0 };
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, 65536);
  if (!mf_gw_page_parse(mf_str_of(query), &page, e) || !mf_gw_items_write(&history, 2, &page, &out, e))
    return NULL;
  const struct mf_json_limits limits = { 65536, 64 };
  struct mf_json *doc = NULL;
  struct mf_err err = { 0 };
  assert_ok(mf_json_parse(mf_buf_str(&out), &limits, &doc, &err), &err);
  return doc;
}

static void expect(const char *query, const char *const *ids, size_t n, bool has_more)
{
  struct mf_api_error e;
  mf_auto_json struct mf_json *doc = list(query, &e);
  if (!doc)
    fail_msg("%s: %s", query, e.message);
  const struct mf_json_val *root = mf_json_root(doc), *data = mf_json_get(root, "data");
  assert_true(mf_str_is(mf_json_str(mf_json_get(root, "object")), "list"));
  assert_int_equal(mf_json_len(data), n);
  for (size_t i = 0; i < n; i++)
    assert_true(mf_str_is(mf_json_str(mf_json_get(mf_json_at(data, i), "id")), ids[i]));
  assert_int_equal(mf_json_bool(mf_json_get(root, "has_more")), has_more);
  if (n == 0) {
    assert_int_equal(mf_json_type_of(mf_json_get(root, "first_id")), MF_JSON_NULL);
    return;
  }
  assert_true(mf_str_is(mf_json_str(mf_json_get(root, "first_id")), ids[0]));
  assert_true(mf_str_is(mf_json_str(mf_json_get(root, "last_id")), ids[n - 1]));
}

static void test_pages(void **state)
{
  static const char *const ascending[] = { "item_0", "ci_1", "msg_1", "in_2" };
  static const char *const descending[] = { "in_2", "msg_1", "ci_1", "item_0" };
  expect("", descending, 4, false);
  expect("order=desc", descending, 4, false);
  expect("order=asc", ascending, 4, false);
  expect("order=asc&limit=2", ascending, 2, true);
  expect("order=asc&limit=2&after=ci_1", ascending + 2, 2, false);
  expect("limit=1", descending, 1, true);
  expect("limit=100&after=in_2&include=x", descending + 1, 3, false);
  expect("after=item_0", NULL, 0, false);
}

static void expect_error(const char *query, int status, const char *param)
{
  struct mf_api_error e;
  struct mf_json *doc = list(query, &e);
  if (doc)
    fail_msg("%s was taken", query);
  assert_int_equal(e.status, status);
  assert_true(e.has_param);
  assert_string_equal(e.param, param);
  assert_true(strlen(e.message) > 10);
}

static void test_bad_parameters(void **state)
{
  expect_error("limit=0", 400, "limit");
  expect_error("limit=101", 400, "limit");
  expect_error("limit=", 400, "limit");
  expect_error("limit=-1", 400, "limit");
  expect_error("limit=5x", 400, "limit");
  expect_error("limit=%ff", 400, "limit");
  expect_error("limit=99999999999999999999999999", 400, "limit");
  expect_error("order=up", 400, "order");
  expect_error("order=", 400, "order");
  expect_error("after=%zz", 400, "after");
  expect_error("after=msg_2", 404, "after");
  expect_error("after=fc_1", 404, "after");
}

static void test_forms(void **state)
{
  struct mf_api_error e;
  mf_auto_json struct mf_json *doc = list("order=asc", &e);
  assert_non_null(doc);
  const struct mf_json_val *data = mf_json_get(mf_json_root(doc), "data");
  const struct mf_json_val *user = mf_json_at(data, 0), *code = mf_json_at(data, 1), *answer = mf_json_at(data, 2);
  assert_true(mf_str_is(mf_json_str(mf_json_get(user, "type")), "message"));
  assert_true(mf_str_is(mf_json_str(mf_json_get(user, "status")), "completed"));
  const struct mf_json_val *part = mf_json_at(mf_json_get(user, "content"), 0);
  assert_true(mf_str_is(mf_json_str(mf_json_get(part, "type")), "input_text"));
  assert_true(mf_str_is(mf_json_str(mf_json_get(part, "text")), "hi"));
  assert_true(mf_str_is(mf_json_num_text(mf_json_get(code, "n")), "1.50"));
  assert_null(mf_json_get(code, "status"));
  part = mf_json_at(mf_json_get(answer, "content"), 0);
  assert_true(mf_str_is(mf_json_str(mf_json_get(part, "type")), "output_text"));
  assert_int_equal(mf_json_len(mf_json_get(answer, "content")), 1);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_pages),
    cmocka_unit_test(test_bad_parameters),
    cmocka_unit_test(test_forms),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

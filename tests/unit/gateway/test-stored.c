/* Stored responses over HTTP. */
#include "house.h"

#include "base/banned.h"

#define S(z)                                                                                                           \
  {                                                                                                                    \
    z, sizeof(z) - 1                                                                                                   \
  }

struct putting {
  struct house *h;
  const struct mf_store_response *response;
  enum mf_code code;
  unsigned done;
};

static void put(void *user)
{
  struct putting *p = user;
  p->code = mf_storage_put_response(p->h->storage, mf_fiber_self(p->h->loop), p->response, NULL);
  p->done = 1;
  mf_loop_stop(p->h->loop);
}

static void store(struct house *h, const struct mf_store_response *response)
{
  struct putting p = { .h = h, .response = response };
  assert_int_equal(mf_fiber_start(h->loop, put, &p, 0, NULL, NULL), MF_OK);
  house_run_until(h, &p.done, 1);
  assert_int_equal(p.code, MF_OK);
}

static const struct mf_store_item first_items[] = {
  { S("in_1"), S("{\"type\":\"message\",\"role\":\"user\",\"content\":\"hi\"}"), true, true, false },
  { S("out_1"), S("{\"type\":\"message\",\"role\":\"assistant\",\"content\":[]}"), false, true, false },
};
static const struct mf_store_item second_items[] = {
  { S("in_2"), S("{\"type\":\"message\",\"role\":\"user\",\"content\":\"more\"}"), true, true, false },
  { S("out_2"), S("{\"type\":\"message\",\"role\":\"assistant\",\"content\":[]}"), false, true, false },
};
#define PAYLOAD "{\"id\":\"resp_1\",\"object\":\"response\",\"n\":1.0}"
static const struct mf_store_response first = {
  .id = S("resp_1"), .created_at = 1, .payload = S(PAYLOAD), .items = first_items, .item_n = 2
};
static const struct mf_store_response second = {
  .id = S("resp_2"), .previous_id = S("resp_1"), .created_at = 2, .payload = S("{}"), .items = second_items, .item_n = 2
};

static void expect(struct house *h, const char *method, const char *path, int status, const char *text)
{
  struct reply r;
  house_ask(h, &(const struct ask){ .method = method, .path = path }, &r);
  assert_int_equal(r.code, MF_OK);
  if (r.status != status)
    fail_msg("%s %s: %d %s", method, path, r.status, r.body.ptr);
  if (!strstr(r.body.ptr, text))
    fail_msg("%s %s: no '%s' in %s", method, path, text, r.body.ptr);
  reply_done(&r);
}

#define NOT_FOUND                                                                                                      \
  "storage error: not found: Response with id 'resp_9'\",\"type\":\"not_found\",\"code\":\"not_found\"}}"

static void test_get_and_delete(void **state)
{
  struct house h;
  house_open(&h, &(struct mf_gateway_config){ 0 });
  store(&h, &first);
  struct reply r;
  house_ask(&h, &(const struct ask){ .method = "GET", .path = "/v1/responses/resp_1" }, &r);
  assert_int_equal(r.status, 200);
  assert_string_equal(r.body.ptr, PAYLOAD);
  reply_done(&r);
  expect(&h, "GET", "/v1/responses/resp%5F1?stream=false", 200, PAYLOAD);
  house_ask(&h, &(const struct ask){ .method = "HEAD", .path = "/v1/responses/resp_1" }, &r);
  assert_int_equal(r.status, 200);
  assert_int_equal(r.body.len, 0);
  reply_done(&r);
  expect(&h, "GET", "/v1/responses/resp_1?stream=true", 400, "\"param\":\"stream\"");
  expect(&h, "POST", "/v1/responses/resp_1/cancel", 400, "Only background responses can be cancelled");
  expect(&h, "GET", "/v1/responses/resp_9", 404, NOT_FOUND);
  expect(&h, "DELETE", "/v1/responses/resp_9", 404, NOT_FOUND);
  expect(&h, "GET", "/v1/responses/resp_9/input_items", 404, NOT_FOUND);
  expect(&h, "POST", "/v1/responses/resp_9/cancel", 404, NOT_FOUND);
  expect(&h, "GET", "/v1/responses/a%00b", 400, "invalid_value");
  expect(&h, "DELETE", "/v1/responses/resp_1", 200, "{\"id\":\"resp_1\",\"object\":\"response\",\"deleted\":true}");
  expect(&h, "GET", "/v1/responses/resp_1", 404, "resp_1");
  expect(&h, "DELETE", "/v1/responses/resp_1", 404, "resp_1");
  house_close(&h);
}

/* What the model was given: everything of the chain before, and the response's own inputs; also when the one before was
 * deleted. */
static void test_input_items(void **state)
{
  struct house h;
  house_open(&h, &(struct mf_gateway_config){ 0 });
  store(&h, &first);
  store(&h, &second);
  expect(&h, "GET", "/v1/responses/resp_1/input_items", 200,
         "\"first_id\":\"in_1\",\"last_id\":\"in_1\",\"has_more\":false");
  expect(&h, "GET", "/v1/responses/resp_2/input_items", 200,
         "\"first_id\":\"in_2\",\"last_id\":\"in_1\",\"has_more\":false");
  expect(&h, "GET", "/v1/responses/resp_2/input_items?order=asc&limit=2", 200,
         "\"first_id\":\"in_1\",\"last_id\":\"out_1\",\"has_more\":true");
  expect(&h, "GET", "/v1/responses/resp_2/input_items?limit=0", 400, "\"param\":\"limit\"");
  expect(&h, "GET", "/v1/responses/resp_2/input_items?after=out_2", 404, "\"param\":\"after\"");
  expect(&h, "DELETE", "/v1/responses/resp_1", 200, "deleted");
  expect(&h, "GET", "/v1/responses/resp_2/input_items", 200,
         "\"first_id\":\"in_2\",\"last_id\":\"in_1\",\"has_more\":false");
  house_close(&h);
}

/* Each of the two may be stored; together they are more than is read at a time. */
static void test_input_items_of_too_long_a_history(void **state)
{
  struct house h;
  house_open(&h, &(struct mf_gateway_config){ 0 });
  size_t n = MF_STORE_BYTES_MAX / 2;
  char *big = mf_xmalloc(n);
  memset(big, ' ', n);
  memcpy(big, "{}", 2);
  const struct mf_store_item item = { .id = S("in_3"), .json = { big, n }, .is_input = true, .is_public = true };
  struct mf_store_response r = first;
  r.items = &item;
  r.item_n = 1;
  store(&h, &r);
  r.id = MF_STR("resp_2");
  r.previous_id = MF_STR("resp_1");
  store(&h, &r);
  expect(&h, "GET", "/v1/responses/resp_2", 200, PAYLOAD);
  expect(&h, "GET", "/v1/responses/resp_2/input_items", 500,
         "storage error: the history of response 'resp_2' exceeds 67108864 bytes\",\"type\":\"server_error\","
         "\"code\":\"response_resource_limit_exceeded\"");
  house_close(&h);
  free(big);
}

static void test_owner(void **state)
{
  static const char *const paths[][2] = { { "GET", "/v1/responses/resp_1" },
                                          { "HEAD", "/v1/responses/resp_1" },
                                          { "GET", "/v1/responses/resp_1/input_items" },
                                          { "POST", "/v1/responses/resp_1/cancel" },
                                          { "DELETE", "/v1/responses/resp_1" } };
  static const int allowed[] = { 200, 200, 200, 400, 200 };
  struct house h;
  house_open(&h, &(struct mf_gateway_config){ .openai_api_key = "upstream-key" });
  store(&h, &first);
  for (size_t i = 0; i < MF_ARRAY_N(paths); i++) {
    struct ask a = { .method = paths[i][0], .path = paths[i][1] };
    struct reply r;
    house_ask(&h, &a, &r);
    assert_int_equal(r.status, 401);
    assert_true(reply_has(&r, "WWW-Authenticate: Bearer"));
    if (strcmp(paths[i][0], "HEAD") != 0)
      assert_string_equal(r.body.ptr,
                          "{\"error\":{\"message\":\"missing bearer token\",\"type\":\"authentication_error\","
                          "\"param\":null,\"code\":\"missing_bearer_token\"}}");
    reply_done(&r);
    a.headers[0] = "Authorization";
    a.headers[1] = "Bearer other";
    assert_int_equal(house_status(&h, &a), 401);
    a.headers[1] = "Bearer upstream-key";
    assert_int_equal(house_status(&h, &a), allowed[i]);
  }
  house_close(&h);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_get_and_delete),
    cmocka_unit_test(test_input_items),
    cmocka_unit_test(test_input_items_of_too_long_a_history),
    cmocka_unit_test(test_owner),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Finding a row: paths as they are sent, methods, ids, what is allowed. And the parameters of a query. */
#include "unit.h"

#include "query.h"
#include "routes.h"
#include "base/banned.h"

static const struct {
  const char *method, *path;
  const char *route; /* NULL: none */
  const char *arg;
  const char *allow;
  bool is_malformed;
} rows[] = {
  { "GET", "/health", "/health", "", "GET, HEAD, OPTIONS" },
  { "HEAD", "/health", "/health", "", "GET, HEAD, OPTIONS" },
  { "POST", "/health", NULL, "", "GET, HEAD, OPTIONS" },
  { "get", "/health", NULL, "", "GET, HEAD, OPTIONS" },
  { "GET", "/health/", NULL, "", "" },
  { "GET", "//health", NULL, "", "" },
  { "GET", "/", NULL, "", "" },
  { "GET", "*", NULL, "", "" },
  { "GET", "health", NULL, "", "" },
  { "GET", "/%68ealth", NULL, "", "" },
  { "POST", "/v1/responses", "/v1/responses", "", "POST, OPTIONS" },
  { "GET", "/v1/responses/", NULL, "", "" },
  { "GET", "/v1/responses/resp_1", "/v1/responses/{id}", "resp_1", "GET, HEAD, DELETE, OPTIONS" },
  { "DELETE", "/v1/responses/resp_1", "/v1/responses/{id}", "resp_1", "GET, HEAD, DELETE, OPTIONS" },
  { "GET", "/v1/responses/a%2Fb%C3%BC", "/v1/responses/{id}", "a/b\xc3\xbc", "GET, HEAD, DELETE, OPTIONS" },
  { "GET", "/v1/responses/a+b", "/v1/responses/{id}", "a+b", "GET, HEAD, DELETE, OPTIONS" },
  { "GET", "/v1/responses/a%", "/v1/responses/{id}", NULL, "GET, HEAD, DELETE, OPTIONS", true },
  { "GET", "/v1/responses/a%4", "/v1/responses/{id}", NULL, "GET, HEAD, DELETE, OPTIONS", true },
  { "GET", "/v1/responses/a%zz", "/v1/responses/{id}", NULL, "GET, HEAD, DELETE, OPTIONS", true },
  { "GET", "/v1/responses/a%00", "/v1/responses/{id}", NULL, "GET, HEAD, DELETE, OPTIONS", true },
  { "GET", "/v1/responses/a%ff", "/v1/responses/{id}", NULL, "GET, HEAD, DELETE, OPTIONS", true },
  { "GET", "/v1/responses/x/input_items", "/v1/responses/{id}/input_items", "x", "GET, HEAD, OPTIONS" },
  { "GET", "/v1/responses//input_items", NULL, "", "" },
  { "GET", "/v1/responses/x/cancel", NULL, "x", "POST, OPTIONS" },
  { "POST", "/v1/responses/x/cancel", "/v1/responses/{id}/cancel", "x", "POST, OPTIONS" },
  { "POST", "/v1/responses/x/nothing", NULL, "", "" },
  { "GET", "/v1/responses/x/input_items/y", NULL, "", "" },
};

static void test_find(void **state)
{
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    struct mf_gw_match m;
    mf_gw_route_find(mf_str_of(rows[i].method), mf_str_of(rows[i].path), &m);
    if ((m.route != NULL) != (rows[i].route != NULL))
      fail_msg("%s %s: %s", rows[i].method, rows[i].path, m.route ? m.route->path : "none");
    if (m.route)
      assert_string_equal(m.route->path, rows[i].route);
    assert_string_equal(m.allow, rows[i].allow);
    assert_int_equal(m.knows_path, rows[i].allow[0] != 0);
    assert_int_equal(m.is_malformed, rows[i].is_malformed);
    if (rows[i].arg && m.knows_path)
      assert_string_equal(m.args[0], rows[i].arg);
  }
}

static void test_long_id(void **state)
{
  char path[MF_GW_ARG_MAX + 40] = "/v1/responses/";
  size_t n = strlen(path);
  struct mf_gw_match m;
  memset(path + n, 'x', MF_GW_ARG_MAX);
  mf_gw_route_find(MF_STR("GET"), (struct mf_str){ path, n + MF_GW_ARG_MAX }, &m);
  assert_false(m.is_malformed);
  assert_int_equal(strlen(m.args[0]), MF_GW_ARG_MAX);
  path[n + MF_GW_ARG_MAX] = 'x';
  mf_gw_route_find(MF_STR("GET"), (struct mf_str){ path, n + MF_GW_ARG_MAX + 1 }, &m);
  assert_true(m.is_malformed);
}

static void test_two_ids(void **state)
{
  struct mf_gw_match m;
  mf_gw_route_find(MF_STR("GET"), MF_STR("/v1/tasks/a%2Fb/artifacts/c"), &m);
  assert_string_equal(m.route->path, "/v1/tasks/{taskId}/artifacts/{artifactId}");
  assert_string_equal(m.args[0], "a/b");
  assert_string_equal(m.args[1], "c");
  mf_gw_route_find(MF_STR("GET"), MF_STR("/v1/tasks/a/artifacts/%00"), &m);
  assert_true(m.is_malformed);
  mf_gw_route_find(MF_STR("GET"), MF_STR("/v1/tasks/a/artifacts/"), &m);
  assert_false(m.knows_path);
  mf_gw_route_find(MF_STR("GET"), MF_STR("/v1/tasks//artifacts/b"), &m);
  assert_false(m.knows_path);
  mf_gw_route_find(MF_STR("PATCH"), MF_STR("/v1/tasks/a"), &m);
  assert_null(m.route);
  assert_string_equal(m.allow, "GET, HEAD, DELETE, OPTIONS");
}

static void test_query(void **state)
{
  struct mf_str q = MF_STR("limit=5&order=&flag&after=a%20b+c&limit=9&bad=%zz&limits=1");
  char text[8];
  assert_int_equal(mf_gw_query_get(q, "limit", text, sizeof(text)), MF_GW_PARAM_OK);
  assert_string_equal(text, "5");
  assert_int_equal(mf_gw_query_get(q, "order", text, sizeof(text)), MF_GW_PARAM_OK);
  assert_string_equal(text, "");
  assert_int_equal(mf_gw_query_get(q, "flag", text, sizeof(text)), MF_GW_PARAM_OK);
  assert_string_equal(text, "");
  assert_int_equal(mf_gw_query_get(q, "after", text, sizeof(text)), MF_GW_PARAM_OK);
  assert_string_equal(text, "a b c");
  assert_int_equal(mf_gw_query_get(q, "bad", text, sizeof(text)), MF_GW_PARAM_BAD);
  assert_int_equal(mf_gw_query_get(q, "limits", text, sizeof(text)), MF_GW_PARAM_OK);
  assert_int_equal(mf_gw_query_get(q, "lim", text, sizeof(text)), MF_GW_PARAM_ABSENT);
  assert_int_equal(mf_gw_query_get(MF_STR(""), "limit", text, sizeof(text)), MF_GW_PARAM_ABSENT);
  assert_int_equal(mf_gw_query_get(MF_STR("a=1234567"), "a", text, sizeof(text)), MF_GW_PARAM_OK);
  assert_int_equal(mf_gw_query_get(MF_STR("a=12345678"), "a", text, sizeof(text)), MF_GW_PARAM_BAD);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_find),
    cmocka_unit_test(test_long_id),
    cmocka_unit_test(test_two_ids),
    cmocka_unit_test(test_query),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

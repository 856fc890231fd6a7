/* The document and the table of routes say the same. */
#include "unit.h"

#include <strings.h>

#include "json/json.h"
#include "openapi.h"
#include "routes.h"
#include "base/banned.h"

/* "{id}" is "{response_id}" in the document. */
static void public_path(const char *path, char *ret, size_t n)
{
  const char *id = strstr(path, "{id}");
  if (id)
    snprintf(ret, n, "%.*s{response_id}%s", (int)(id - path), path, id + 4);
  else
    snprintf(ret, n, "%s", path);
}

static bool is_route(struct mf_str path, struct mf_str method)
{
  const struct mf_gw_route *routes;
  size_t n = mf_gw_routes(&routes);
  for (size_t i = 0; i < n; i++) {
    char text[128];
    public_path(routes[i].path, text, sizeof(text));
    if (mf_str_is(path, text) && strlen(routes[i].method) == method.len &&
        strncasecmp(routes[i].method, method.ptr, method.len) == 0)
      return true;
  }
  return false;
}

static void test_routes(void **state)
{
  mf_auto_buf struct mf_buf text = { 0 };
  struct mf_err err = { 0 };
  assert_ok(mf_gw_openapi_write("1.2.3", &text, &err), &err);
  const struct mf_json_limits limits = { 1 << 20, 64 };
  mf_auto_json struct mf_json *doc = NULL;
  assert_ok(mf_json_parse(mf_buf_str(&text), &limits, &doc, &err), &err);
  const struct mf_json_val *root = mf_json_root(doc);
  assert_true(mf_str_is(mf_json_str(mf_json_get(root, "openapi")), "3.1.0"));
  assert_true(mf_str_is(mf_json_str(mf_json_get(mf_json_get(root, "info"), "version")), "1.2.3"));
  size_t operations = 0;
  struct mf_json_iter path = mf_json_iter(mf_json_get(root, "paths"));
  while (mf_json_next(&path)) {
    struct mf_json_iter method = mf_json_iter(path.val);
    while (mf_json_next(&method)) {
      if (mf_str_is(method.key, "parameters"))
        continue;
      if (!is_route(path.key, method.key))
        fail_msg("%.*s %.*s is documented and not served", MF_STR_ARG(method.key), MF_STR_ARG(path.key));
      assert_true(mf_json_len(mf_json_get(method.val, "responses")) > 0);
      operations++;
    }
  }
  const struct mf_gw_route *routes;
  assert_int_equal(operations, mf_gw_routes(&routes));
}

int main(void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test(test_routes) };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

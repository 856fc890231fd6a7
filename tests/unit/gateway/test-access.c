/* Keys, CORS, and hosts that are this machine. */
#include "unit.h"

#include "access.h"
#include "base/banned.h"

static const char *const client_keys[] = { "key-one", "key-two" };
static const char *const origins[] = { "https://app.example", "http://localhost:3000" };
static const char *const any[] = { "*" };

static void test_bearer(void **state)
{
  assert_true(mf_str_is(mf_gw_bearer(MF_STR("Bearer abc")), "abc"));
  assert_true(mf_str_is(mf_gw_bearer(MF_STR("bearer  abc")), "abc"));
  static const char *const none[] = { "", "Bearer", "Bearer ", "Bearer   ", "Basic abc", "Bearerabc" };
  for (size_t i = 0; i < MF_ARRAY_N(none); i++)
    assert_int_equal(mf_gw_bearer(mf_str_of(none[i])).len, 0);
}

struct ask {
  enum mf_gw_auth auth;
  const char *authorization;
  enum mf_gw_verdict verdict;
  const char *owner; /* NULL: "" */
};

static void expect(const struct mf_gateway_config *config, const struct ask *asks, size_t n)
{
  struct mf_gw_access a;
  mf_gw_access_init(&a, config, NULL);
  for (size_t i = 0; i < n; i++) {
    const struct mf_gw_asker asker = { asks[i].auth, false, mf_str_of(asks[i].authorization) };
    enum mf_gw_verdict verdict;
    char owner[MF_TASK_OWNER_MAX + 1];
    struct mf_err err = { 0 };
    assert_ok(mf_gw_authorize(&a, NULL, &asker, &verdict, owner, &err), &err);
    if (verdict != asks[i].verdict || strcmp(owner, asks[i].owner ? asks[i].owner : "") != 0)
      fail_msg("ask %zu: verdict %d, owner '%s'", i, verdict, owner);
  }
  mf_gw_access_done(&a);
}

static void test_no_keys(void **state)
{
  static const struct ask asks[] = {
    { MF_GW_ANYONE, "", MF_GW_PASS },
    { MF_GW_CLIENT, "", MF_GW_PASS },
    { MF_GW_OWNER, "Bearer whatever", MF_GW_PASS },
  };
  expect(&(struct mf_gateway_config){ 0 }, asks, MF_ARRAY_N(asks));
}

static void test_client_keys(void **state)
{
  static const struct ask asks[] = {
    { MF_GW_ANYONE, "", MF_GW_PASS },
    { MF_GW_CLIENT, "", MF_GW_NO_TOKEN },
    { MF_GW_CLIENT, "Basic a2V5LW9uZQ==", MF_GW_NO_TOKEN },
    { MF_GW_CLIENT, "Bearer key-one", MF_GW_PASS, "cfg_9b346041bc9a4957" },
    { MF_GW_CLIENT, "Bearer key-two", MF_GW_PASS, "cfg_c8df51469c308a59" },
    { MF_GW_CLIENT, "Bearer key-on", MF_GW_BAD_TOKEN },
    { MF_GW_CLIENT, "Bearer key-one ", MF_GW_BAD_TOKEN },
    { MF_GW_CLIENT, "Bearer upstream", MF_GW_BAD_TOKEN },
    { MF_GW_OWNER, "Bearer key-two", MF_GW_PASS, "cfg_c8df51469c308a59" },
    { MF_GW_OWNER, "Bearer upstream", MF_GW_BAD_TOKEN },
  };
  const struct mf_gateway_config config = { .api_keys = client_keys, .api_key_n = 2, .openai_api_key = "upstream" };
  expect(&config, asks, MF_ARRAY_N(asks));
}

static void test_upstream_key_alone(void **state)
{
  static const struct ask asks[] = {
    { MF_GW_CLIENT, "", MF_GW_PASS },
    { MF_GW_CLIENT, "Bearer somebody's", MF_GW_PASS },
    { MF_GW_OWNER, "", MF_GW_NO_TOKEN },
    { MF_GW_OWNER, "Bearer somebody's", MF_GW_BAD_TOKEN },
    { MF_GW_OWNER, "Bearer upstream", MF_GW_PASS },
  };
  expect(&(struct mf_gateway_config){ .openai_api_key = "upstream" }, asks, MF_ARRAY_N(asks));
}

/* A key in our own form that is not known here is another server's, and goes nowhere. */
#define OWN_FORM "Bearer mayfly_0123456789abcdefghijklmn_0123456789abcdefghijklmnopqrstuv"

static void test_a_key_of_another_server(void **state)
{
  static const struct ask asks[] = {
    { MF_GW_CLIENT, OWN_FORM, MF_GW_BAD_TOKEN },
    { MF_GW_CLIENT, OWN_FORM "x", MF_GW_PASS },
    { MF_GW_ANYONE, OWN_FORM, MF_GW_PASS },
  };
  expect(&(struct mf_gateway_config){ 0 }, asks, MF_ARRAY_N(asks));
}

static void test_the_local_socket(void **state)
{
  static const char *const sent[] = { "", "Bearer whatever", "Bearer key-one", OWN_FORM };
  static const char *const owner[] = { "local", "local", "cfg_9b346041bc9a4957", "local" };
  const struct mf_gateway_config config = { .api_keys = client_keys, .api_key_n = 2 };
  struct mf_gw_access a;
  mf_gw_access_init(&a, &config, NULL);
  for (size_t i = 0; i < MF_ARRAY_N(sent); i++) {
    const struct mf_gw_asker asker = { MF_GW_CLIENT, true, mf_str_of(sent[i]) };
    enum mf_gw_verdict verdict;
    char got[MF_TASK_OWNER_MAX + 1];
    assert_int_equal(mf_gw_authorize(&a, NULL, &asker, &verdict, got, NULL), MF_OK);
    assert_int_equal(verdict, MF_GW_PASS);
    assert_string_equal(got, owner[i]);
  }
  mf_gw_access_done(&a);
}

static void test_whose_token(void **state)
{
  struct mf_gw_access a;
  mf_gw_access_init(&a, &(struct mf_gateway_config){ .openai_api_key = "upstream" }, NULL);
  assert_true(mf_gw_bearer_is_clients(&a, MF_STR("Bearer sk-x")));
  assert_false(mf_gw_bearer_is_clients(&a, MF_STR(OWN_FORM)));
  mf_gw_access_done(&a);
  mf_gw_access_init(&a, &(struct mf_gateway_config){ .api_keys = client_keys, .api_key_n = 2 }, NULL);
  assert_false(mf_gw_bearer_is_clients(&a, MF_STR("Bearer sk-x")));
  /* The keys themselves are not kept. */
  assert_null(memmem(a.keys, 2 * sizeof(*a.keys), "key-one", 7));
  mf_gw_access_done(&a);
}

static void test_cors(void **state)
{
  struct mf_gw_access a;
  mf_gw_access_init(&a, &(struct mf_gateway_config){ 0 }, NULL);
  assert_int_equal(mf_gw_cors(&a, MF_STR("https://app.example")).len, 0);
  mf_gw_access_done(&a);
  mf_gw_access_init(&a, &(struct mf_gateway_config){ .cors_origins = origins, .cors_origin_n = 2 }, NULL);
  assert_true(mf_str_is(mf_gw_cors(&a, MF_STR("https://app.example")), "https://app.example"));
  assert_int_equal(mf_gw_cors(&a, MF_STR("https://app.example.evil")).len, 0);
  assert_int_equal(mf_gw_cors(&a, MF_STR("http://app.example")).len, 0);
  assert_int_equal(mf_gw_cors(&a, MF_STR("null")).len, 0);
  assert_int_equal(mf_gw_cors(&a, MF_STR("")).len, 0);
  mf_gw_access_done(&a);
  mf_gw_access_init(&a, &(struct mf_gateway_config){ .cors_origins = any, .cors_origin_n = 1 }, NULL);
  assert_true(mf_str_is(mf_gw_cors(&a, MF_STR("https://x.example")), "*"));
  assert_int_equal(mf_gw_cors(&a, MF_STR("")).len, 0);
  mf_gw_access_done(&a);
}

static void test_local_hosts(void **state)
{
  static const char *const local[] = { "localhost", "LocalHost:9000", "127.0.0.1",     "127.0.0.1:9000", "127.1.2.3",
                                       "[::1]",     "[::1]:80",       "app.localhost", "a.localhost:1" };
  static const char *const foreign[] = { "",
                                         "example.com",
                                         "localhost.example.com",
                                         "127.0.0.1.example.com",
                                         "127.0.0.1.nip.io:9000",
                                         "128.0.0.1",
                                         "0.0.0.0",
                                         "[::2]",
                                         "[::1",
                                         "[::1]x",
                                         ".localhost",
                                         "localhost:80.evil.com",
                                         "localhost:x.evil.com",
                                         "127.0.0.1:80:80",
                                         "evil.com:x.localhost",
                                         "evil.com/.localhost",
                                         "[::1]:80.evil.com",
                                         "xlocalhost",
                                         "2130706433",
                                         "127.1" };
  for (size_t i = 0; i < MF_ARRAY_N(local); i++)
    if (!mf_gw_host_is_local(mf_str_of(local[i])))
      fail_msg("%s is this machine", local[i]);
  for (size_t i = 0; i < MF_ARRAY_N(foreign); i++)
    if (mf_gw_host_is_local(mf_str_of(foreign[i])))
      fail_msg("%s is another machine", foreign[i]);
}

static void test_host_check(void **state)
{
  struct mf_gw_access a;
  mf_gw_access_init(&a, &(struct mf_gateway_config){ 0 }, NULL);
  assert_true(mf_gw_host_passes(&a, MF_STR("evil.example"), MF_STR("http://evil.example")));
  mf_gw_access_done(&a);
  mf_gw_access_init(&a, &(struct mf_gateway_config){ .check_host = true, .cors_origins = origins, .cors_origin_n = 2 },
                    NULL);
  assert_true(mf_gw_host_passes(&a, MF_STR("127.0.0.1:9000"), MF_STR("")));
  assert_true(mf_gw_host_passes(&a, MF_STR("localhost"), MF_STR("http://localhost:5173")));
  assert_true(mf_gw_host_passes(&a, MF_STR("localhost"), MF_STR("https://app.example")));
  assert_false(mf_gw_host_passes(&a, MF_STR("evil.example"), MF_STR("")));
  assert_false(mf_gw_host_passes(&a, MF_STR("evil.example"), MF_STR("https://app.example")));
  assert_false(mf_gw_host_passes(&a, MF_STR("localhost"), MF_STR("http://evil.example")));
  assert_false(mf_gw_host_passes(&a, MF_STR("localhost"), MF_STR("http://localhost.evil.example")));
  assert_false(mf_gw_host_passes(&a, MF_STR("localhost"), MF_STR("null")));
  assert_false(mf_gw_host_passes(&a, MF_STR("localhost"), MF_STR("file://localhost")));
  mf_gw_access_done(&a);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_bearer),
    cmocka_unit_test(test_no_keys),
    cmocka_unit_test(test_client_keys),
    cmocka_unit_test(test_upstream_key_alone),
    cmocka_unit_test(test_a_key_of_another_server),
    cmocka_unit_test(test_the_local_socket),
    cmocka_unit_test(test_whose_token),
    cmocka_unit_test(test_cors),
    cmocka_unit_test(test_local_hosts),
    cmocka_unit_test(test_host_check),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

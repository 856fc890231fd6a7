/* What the handlers of tasks decide alone: seconds to wait, names of downloads, ranges, entity tags; and a gateway that
 * runs no tasks, or has no LLM server. */
#include "house.h"

#include "base/time.h"
#include "tasks.h"
#include "base/banned.h"

static void test_wait(void **state)
{
  static const struct {
    const char *text;
    uint64_t ns;
  } rows[] = { { "0", 0 },
               { "60", 60 * MF_NS_PER_S },
               { "00", 0 },
               { "0.5", 500000000 },
               { "1.000000001", 1000000001 },
               { "59.999999999", 59999999999 },
               { "60.000", 60 * MF_NS_PER_S } };
  static const char *const bad[] = { "",   "61",  "60.000000001", "-1", "+1",   " 1",    "1 ",           ".5",
                                     "1.", "1,5", "1e1",          "x",  "0x10", "1.5.5", "1.0000000000", "000" };
  uint64_t ns;
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    assert_true(mf_gw_wait_parse(rows[i].text, &ns));
    assert_int_equal(ns, rows[i].ns);
  }
  for (size_t i = 0; i < MF_ARRAY_N(bad); i++)
    if (mf_gw_wait_parse(bad[i], &ns))
      fail_msg("taken: '%s'", bad[i]);
}

static void test_disposition(void **state)
{
  static const char *const rows[][2] = {
    { "plot.png", "attachment; filename=\"plot.png\"" },
    { "out/deep/plot.png", "attachment; filename=\"plot.png\"" },
    { "a b;c='d'.csv", "attachment; filename=\"a b;c='d'.csv\"" },
    { "a\"b\\c%d", "attachment; filename=\"a_b_c_d\"; filename*=UTF-8''a%22b%5Cc%25d" },
    { "\xc3\xa9\xe2\x98\x95", "attachment; filename=\"_____\"; filename*=UTF-8''%C3%A9%E2%98%95" },
    { "x\r\nSet-Cookie: a", "attachment; filename=\"x__Set-Cookie: a\"; filename*=UTF-8''x%0D%0ASet-Cookie%3A%20a" },
    { "\xff\x7f", "attachment; filename=\"__\"; filename*=UTF-8''%FF%7F" },
    { "d/", "attachment; filename=\"\"" },
    { "", "attachment; filename=\"\"" },
  };
  char got[MF_GW_DISPOSITION_N];
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    mf_gw_disposition(mf_str_of(rows[i][0]), got);
    assert_string_equal(got, rows[i][1]);
  }
  /* The longest that there is, and one that is longer. */
  char name[400];
  memset(name, 0xe9, sizeof(name));
  mf_gw_disposition((struct mf_str){ name, 255 }, got);
  assert_int_equal(strlen(got), strlen("attachment; filename=\"\"; filename*=UTF-8''") + 255 * 4);
  mf_gw_disposition((struct mf_str){ name, sizeof(name) }, got);
  assert_int_equal(strlen(got), strlen("attachment; filename=\"\"; filename*=UTF-8''") + 255 * 4);
}

static void test_ranges(void **state)
{
  static const struct {
    const char *text;
    uint64_t size;
    enum mf_gw_range expected;
    uint64_t from, n;
  } rows[] = {
    { "", 10, MF_GW_RANGE_ALL },
    { "bytes=0-0", 10, MF_GW_RANGE_PART, 0, 1 },
    { "bytes=0-9", 10, MF_GW_RANGE_PART, 0, 10 },
    { "bytes=3-", 10, MF_GW_RANGE_PART, 3, 7 },
    { "bytes=9-99", 10, MF_GW_RANGE_PART, 9, 1 },
    { "bytes=-3", 10, MF_GW_RANGE_PART, 7, 3 },
    { "bytes=-30", 10, MF_GW_RANGE_PART, 0, 10 },
    { "bytes=0-18446744073709551615", 10, MF_GW_RANGE_PART, 0, 10 },
    { "bytes= 1-2 ", 10, MF_GW_RANGE_PART, 1, 2 },
    { "bytes=10-", 10, MF_GW_RANGE_NONE },
    { "bytes=18446744073709551615-", 10, MF_GW_RANGE_NONE },
    { "bytes=-0", 10, MF_GW_RANGE_NONE },
    { "bytes=0-", 0, MF_GW_RANGE_NONE },
    { "bytes=0-0", 0, MF_GW_RANGE_NONE },
    { "bytes=-1", 0, MF_GW_RANGE_NONE },
    { "bytes=2-1", 10, MF_GW_RANGE_ALL },
    { "bytes=0-1,3-4", 10, MF_GW_RANGE_ALL },
    { "bytes=-", 10, MF_GW_RANGE_ALL },
    { "bytes=", 10, MF_GW_RANGE_ALL },
    { "bytes=1", 10, MF_GW_RANGE_ALL },
    { "bytes=a-b", 10, MF_GW_RANGE_ALL },
    { "bytes=-1-2", 10, MF_GW_RANGE_ALL },
    { "bytes=0-99999999999999999999", 10, MF_GW_RANGE_ALL },
    { "chars=0-1", 10, MF_GW_RANGE_ALL },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    uint64_t from = 0, n = 0;
    enum mf_gw_range got = mf_gw_range_parse(mf_str_of(rows[i].text), rows[i].size, &from, &n);
    if (got != rows[i].expected || from != rows[i].from || n != rows[i].n)
      fail_msg("'%s' of %d: %d, %d from %d", rows[i].text, (int)rows[i].size, got, (int)n, (int)from);
  }
}

static void test_etags(void **state)
{
  static const struct {
    const char *list;
    bool expected;
  } rows[] = {
    { "\"ab\"", true },    { "*", true },   { " \"x\" ,W/\"ab\",\"y\"", true },
    { "\"ab\"x", false },  { "ab", false }, { "\"abc\"", false },
    { "\"a\"", false },    { "", false },   { ",,", false },
    { "w/\"ab\"", false },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++)
    assert_int_equal(mf_gw_etag_matches(mf_str_of(rows[i].list), MF_STR("ab")), rows[i].expected);
}

static void expect(struct house *h, const char *method, const char *path, int status, const char *text)
{
  struct reply r;
  house_ask(h, &(const struct ask){ .method = method, .path = path, .body = "{}" }, &r);
  if (r.status != status || !strstr(r.body.ptr, text))
    fail_msg("%s %s: %d %s", method, path, r.status, r.body.ptr);
  reply_done(&r);
}

static void test_no_tasks(void **state)
{
  static const char *const calls[][2] = { { "POST", "/v1/tasks" },
                                          { "GET", "/v1/tasks" },
                                          { "GET", "/v1/tasks/x" },
                                          { "DELETE", "/v1/tasks/x" },
                                          { "POST", "/v1/tasks/x/cancel" },
                                          { "GET", "/v1/tasks/x/events" },
                                          { "GET", "/v1/tasks/x/artifacts/y" } };
  struct house h;
  house_open(&h, &(struct mf_gateway_config){ 0 });
  for (size_t i = 0; i < MF_ARRAY_N(calls); i++)
    expect(&h, calls[i][0], calls[i][1], 503, "\"param\":null,\"code\":\"unavailable\"");
  expect(&h, "GET", "/v1/tasks/%00", 400, "invalid_value");
  expect(&h, "GET", "/v1/tasks/x/artifacts/%ff", 400, "invalid_value");
  expect(&h, "PUT", "/v1/tasks/x", 405, "GET, HEAD, DELETE, OPTIONS");
  house_close(&h);
}

static void test_no_llm(void **state)
{
  static const char *const calls[][2] = { { "POST", "/v1/responses" },
                                          { "POST", "/v1/chat/completions" },
                                          { "POST", "/v1/completions" },
                                          { "GET", "/v1/models" } };
  struct house h;
  house_open(&h, &(struct mf_gateway_config){ 0 });
  h.agent.config.llm_api_base = NULL;
  for (size_t i = 0; i < MF_ARRAY_N(calls); i++)
    expect(&h, calls[i][0], calls[i][1], 503, "llm_not_configured");
  expect(&h, "GET", "/v1/responses/resp_9", 404, "not_found"); /* storage is there */
  assert_int_equal(fake_turns.started, 0);
  assert_int_equal(h.saw[0], 0);
  house_close(&h);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_wait),  cmocka_unit_test(test_disposition), cmocka_unit_test(test_ranges),
    cmocka_unit_test(test_etags), cmocka_unit_test(test_no_tasks),    cmocka_unit_test(test_no_llm),
  };
  return cmocka_run_group_tests_name("gateway/tasks", tests, NULL, NULL);
}

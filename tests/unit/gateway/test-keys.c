/* Stored keys: who gets in when one is made, used and revoked while the gateway runs. */
#include "house.h"

#include "base/key.h"
#include "base/time.h"
#include "storage/tasks.h"
#include "base/banned.h"

struct change {
  struct house *h;
  struct mf_fiber *fiber;
  const struct mf_key *key;
  bool revokes;
  unsigned done;
};

static void change_keys(void *user)
{
  struct change *c = user;
  struct mf_err err = { 0 };
  const struct mf_store_key stored = {
    .id = mf_str_of(c->key->id), .name = MF_STR("test"), .sha256 = mf_str_of(c->key->sha256), .created_ms = 1
  };
  if (c->revokes)
    assert_ok(mf_storage_revoke_key(c->h->storage, c->fiber, stored.id, 2, &err), &err);
  else
    assert_ok(mf_storage_put_key(c->h->storage, c->fiber, &stored, &err), &err);
  mf_fiber_detach(c->fiber);
  c->done = 1;
  mf_loop_stop(c->h->loop);
}

static void change(struct house *h, const struct mf_key *key, bool revokes)
{
  struct change c = { .h = h, .key = key, .revokes = revokes };
  struct mf_err err = { 0 };
  assert_ok(mf_fiber_start(h->loop, change_keys, &c, 0, &c.fiber, &err), &err);
  house_run_until(h, &c.done, 1);
}

static int ask_models(struct house *h, const char *authorization)
{
  const struct ask a = { .method = "GET",
                         .path = "/v1/models",
                         .headers = { authorization ? "Authorization" : NULL, authorization } };
  return house_status(h, &a);
}

/* A change counts soon, not at once: asks until the answer is the one that must come. */
static void expect_soon(struct house *h, const char *authorization, int status)
{
  while (ask_models(h, authorization) != status)
    continue;
}

static void test_a_key_comes_and_goes(void **state)
{
  char text[MF_KEY_N], other_text[MF_KEY_N];
  struct mf_key key, other;
  struct house h;
  mf_key_new(text, &key);
  mf_key_new(other_text, &other);
  mf_auto_free char *good = mf_xasprintf("Bearer %s", text), *unknown = mf_xasprintf("Bearer %s", other_text);
  mf_auto_free char *wrong = mf_xasprintf("Bearer %s", text);
  wrong[strlen(wrong) - 1] = wrong[strlen(wrong) - 1] == 'a' ? 'b' : 'a';
  house_open(&h, &(struct mf_gateway_config){ 0 });
  assert_int_equal(ask_models(&h, NULL), 200);
  assert_int_equal(ask_models(&h, "Bearer sk-of-the-client"), 200);
  assert_non_null(strstr(h.saw, "Bearer sk-of-the-client"));

  change(&h, &key, false);
  /* A key that is used at once is looked up, whatever was believed before. */
  assert_int_equal(ask_models(&h, good), 200);
  assert_null(strstr(h.saw, "Bearer"));
  assert_int_equal(ask_models(&h, NULL), 401);
  assert_int_equal(ask_models(&h, "Bearer sk-of-the-client"), 401);
  assert_int_equal(ask_models(&h, wrong), 401);
  assert_int_equal(ask_models(&h, unknown), 401);

  change(&h, &key, true);
  expect_soon(&h, good, 401);
  assert_int_equal(ask_models(&h, NULL), 401); /* a revoked key closes the door for all, it does not open it */

  change(&h, &other, false);
  assert_int_equal(ask_models(&h, unknown), 200);
  house_close(&h);
}

static void test_the_first_key_is_noticed(void **state)
{
  char text[MF_KEY_N];
  struct mf_key key;
  struct house h;
  mf_key_new(text, &key);
  house_open(&h, &(struct mf_gateway_config){ .openai_api_key = "upstream" });
  assert_int_equal(ask_models(&h, NULL), 200);
  change(&h, &key, false);
  expect_soon(&h, NULL, 401);
  house_close(&h);
}

static void test_more_keys_than_are_remembered(void **state)
{
  struct house h;
  char texts[70][MF_KEY_N];
  struct mf_key key;
  house_open(&h, &(struct mf_gateway_config){ 0 });
  for (size_t i = 0; i < MF_ARRAY_N(texts); i++) {
    mf_key_new(texts[i], &key);
    change(&h, &key, false);
  }
  for (unsigned round = 0; round < 2; round++)
    for (size_t i = 0; i < MF_ARRAY_N(texts); i++) {
      mf_auto_free char *good = mf_xasprintf("Bearer %s", texts[i]);
      assert_int_equal(ask_models(&h, good), 200);
    }
  house_close(&h);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_key_comes_and_goes),
    cmocka_unit_test(test_the_first_key_is_noticed),
    cmocka_unit_test(test_more_keys_than_are_remembered),
  };
  return cmocka_run_group_tests_name("gateway/keys", tests, NULL, NULL);
}

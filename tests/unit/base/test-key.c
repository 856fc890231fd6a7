/* API keys. */
#include "unit.h"

#include "base/key.h"
#include "base/banned.h"

static void a_new_key_is_taken_apart(void **state)
{
  char text[MF_KEY_N], other[MF_KEY_N];
  struct mf_key made, parsed, second;
  mf_key_new(text, &made);
  assert_int_equal(strlen(text), MF_KEY_N - 1);
  assert_true(mf_key_parse(mf_str_of(text), &parsed));
  assert_string_equal(parsed.id, made.id);
  assert_string_equal(parsed.sha256, made.sha256);
  assert_true(mf_key_is_id(mf_str_of(made.id)));
  assert_memory_equal(text + 7, made.id + 4, 24);

  /* The digest is of the secret alone: a known value, not what the code says. */
  char hex[MF_SHA256_HEX_N];
  mf_sha256_of(mf_str_of(text + 32), hex);
  assert_string_equal(made.sha256, hex);

  mf_key_new(other, &second);
  assert_string_not_equal(made.id, second.id);
  assert_string_not_equal(text + 32, other + 32);
}

static void what_is_no_key(void **state)
{
  static const char good[] = "mayfly_0123456789abcdefghijklmn_0123456789abcdefghijklmnopqrstuv";
  struct mf_key k;
  assert_true(mf_key_parse(mf_str_of(good), &k));
  assert_string_equal(k.id, "key_0123456789abcdefghijklmn");
  /* Cut at each byte, one more byte, and each byte changed into one that does not belong there. */
  for (size_t n = 0; n < sizeof(good) - 1; n++)
    assert_false(mf_key_parse((struct mf_str){ good, n }, &k));
  assert_false(mf_key_parse((struct mf_str){ good, sizeof(good) }, &k));
  for (size_t i = 0; i < sizeof(good) - 1; i++) {
    char bad[sizeof(good)];
    memcpy(bad, good, sizeof(good));
    bad[i] = bad[i] == '_' ? 'a' : 'A';
    assert_false(mf_key_parse(mf_str_of(bad), &k));
  }
  assert_false(mf_key_is_id(MF_STR("")));
  assert_false(mf_key_is_id(MF_STR("key_")));
  assert_false(mf_key_is_id(MF_STR("key_0123456789abcdefghijklmN")));
  assert_false(mf_key_is_id(MF_STR("local")));
}

static void digests_are_compared_whole(void **state)
{
  char a[MF_SHA256_HEX_N], b[MF_SHA256_HEX_N];
  mf_sha256_of(MF_STR("x"), a);
  memcpy(b, a, sizeof(a));
  assert_true(mf_sha256_eq(a, b));
  for (size_t i = 0; i < sizeof(a) - 1; i++) {
    b[i] ^= 1;
    assert_false(mf_sha256_eq(a, b));
    b[i] ^= 1;
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_new_key_is_taken_apart),
    cmocka_unit_test(what_is_no_key),
    cmocka_unit_test(digests_are_compared_whole),
  };
  return cmocka_run_group_tests_name("base/key", tests, NULL, NULL);
}

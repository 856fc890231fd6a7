/* SHA-256: the examples of FIPS 180-4. */
#include "unit.h"

#include "base/hash.h"
#include "base/banned.h"

static const char abc_hex[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

static void known_answers(void **state)
{
  char hex[MF_SHA256_HEX_N];
  mf_sha256_of(MF_STR("abc"), hex);
  assert_string_equal(hex, abc_hex);
  mf_sha256_of(MF_STR(""), hex);
  assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  mf_sha256_of((struct mf_str){ NULL, 0 }, hex);
  assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  mf_sha256_of(MF_STR("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"), hex);
  assert_string_equal(hex, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

static void in_parts(void **state)
{
  struct mf_sha256 *h = mf_sha256_new();
  mf_sha256_update(h, "a", 1);
  mf_sha256_update(h, "", 0);
  mf_sha256_update(h, "bc", 2);
  char hex[MF_SHA256_HEX_N];
  mf_sha256_finish(h, hex);
  assert_string_equal(hex, abc_hex);
}

int main(void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test(known_answers), cmocka_unit_test(in_parts) };
  return cmocka_run_group_tests_name("base/hash", tests, NULL, NULL);
}

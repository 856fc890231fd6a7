/* Base64: the vectors of RFC 4648, every length around a block, and what is not base64. */
#include "unit.h"

#include "base/base64.h"
#include "base/banned.h"

static void test_vectors(void **state)
{
  static const char *const rows[][2] = { { "", "" },
                                         { "f", "Zg==" },
                                         { "fo", "Zm8=" },
                                         { "foo", "Zm9v" },
                                         { "foob", "Zm9vYg==" },
                                         { "fooba", "Zm9vYmE=" },
                                         { "foobar", "Zm9vYmFy" },
                                         { "\xfb\xff\xbf", "+/+/" } };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    mf_auto_buf struct mf_buf text, bytes;
    mf_buf_init(&text, 64);
    mf_buf_init(&bytes, 64);
    assert_int_equal(mf_base64_encode(mf_str_of(rows[i][0]), &text), MF_OK);
    assert_string_equal(text.ptr, rows[i][1]);
    assert_int_equal(mf_base64_decode(mf_buf_str(&text), &bytes), MF_OK);
    assert_string_equal(bytes.ptr, rows[i][0]);
  }
}

static void test_every_length(void **state)
{
  static char data[3 * 1024 * 2 + 4];
  for (size_t i = 0; i < sizeof(data); i++)
    data[i] = (char)(i * 31 + i / 256);
  for (size_t n = 0; n <= sizeof(data); n += n < 20 || n > 3060 ? 1 : 200) {
    mf_auto_buf struct mf_buf text, bytes;
    mf_buf_init(&text, sizeof(data) * 2);
    mf_buf_init(&bytes, n); /* exactly as many as there are */
    assert_int_equal(mf_base64_encode((struct mf_str){ data, n }, &text), MF_OK);
    assert_int_equal(text.len, (n + 2) / 3 * 4);
    assert_int_equal(mf_base64_decode(mf_buf_str(&text), &bytes), MF_OK);
    assert_int_equal(bytes.len, n);
    assert_memory_equal(bytes.ptr, data, n);
  }
}

static void test_refused(void **state)
{
  static const char *const rows[] = {
    "Z",        "Zg",     "Zg=",   "Zg===",    "=",    "====",    "=AAA", "A=AA", "AA=A",       "Zg==Zg==",
    "Zm8=Zm9v", "Zm9v\n", "Zm 9v", "Zm9v    ", "-_-_", "Zm9\x80", "Zh==", "Zm9=", "Zm9v%3D%3D", "Zm9v\r\nZm9v",
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    mf_auto_buf struct mf_buf bytes;
    mf_buf_init(&bytes, 64);
    if (mf_base64_decode(mf_str_of(rows[i]), &bytes) != MF_E_INPUT)
      fail_msg("taken: '%s'", rows[i]);
  }
  mf_auto_buf struct mf_buf bytes;
  mf_buf_init(&bytes, 64);
  assert_int_equal(mf_base64_decode((struct mf_str){ "Zm9\0", 4 }, &bytes), MF_E_INPUT);
}

static void test_no_room(void **state)
{
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, 5);
  assert_int_equal(mf_base64_encode(MF_STR("foobar"), &out), MF_E_LIMIT);
  assert_int_equal(mf_base64_decode(MF_STR("Zm9vYmFy"), &out), MF_E_LIMIT);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_vectors),
    cmocka_unit_test(test_every_length),
    cmocka_unit_test(test_refused),
    cmocka_unit_test(test_no_room),
  };
  return cmocka_run_group_tests_name("base/base64", tests, NULL, NULL);
}

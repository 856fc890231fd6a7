/* Hints for tables: encodings and delimiters. */
#include "unit.h"

#include "csv-hint.h"
#include "base/compiler.h"
#include "base/banned.h"

#define BYTES(lit)                                                                                                     \
  {                                                                                                                    \
    "" lit, sizeof(lit) - 1                                                                                            \
  }

static void tables(void **state)
{
  static const struct {
    const char *name;
    struct mf_str head;
    const char *encoding;
    char delimiter;
    bool bom;
  } rows[] = {
    { "a.csv", BYTES("a,b\n1,2\n"), "utf-8", ',', false },
    { "a.csv", BYTES("a,b"), "utf-8", ',', false },
    { "a.csv", BYTES("a;b\n1,5;2,5\n3,5;4,5\n"), "utf-8", ';', false },
    { "a.tsv", BYTES("a\tb,c\n1\t2\n"), "utf-8", '\t', false },
    { "A.CSV", BYTES("a|b|c\r\n1|2|3\r\n"), "utf-8", '|', false },
    { "a.txt", BYTES("just words, and more\nof them\n"), "utf-8", 0, false },
    { "data", BYTES("a,b\n1,2\n"), "utf-8", ',', false },
    { "a.csv", BYTES("x\n1\n2\n"), "utf-8", 0, false },
    { "a.csv", BYTES("a,b\n\"1,;\n;;\",2\n\"x;;\",3\n"), "utf-8", ',', false },
    { "a.csv",
      BYTES("\xef\xbb\xbf"
            "n\xc3\xa4me;x\n1;2\n"),
      "utf-8-sig", ';', true },
    { "a.csv",
      BYTES("\xff\xfe"
            "a\0,\0b\0\n\0"),
      "utf-16le", ',', true },
    { "a.csv",
      BYTES("\xfe\xff"
            "\0a\0;\0b\0\n"),
      "utf-16be", ';', true },
    { "a.csv", BYTES("a\0,\0b\0\n\0"), "utf-16le", ',', false },
    { "a.csv", BYTES("\0a\0,\0b\0\n"), "utf-16be", ',', false },
    { "a.csv", BYTES("\xe5\x9f\x8e\xe5\xb8\x82,\xe4\xba\xba\n\xe5\x8c\x97,1\n"), "utf-8", ',', false },
    /* Müller;Köln and a euro sign */
    { "a.csv", BYTES("name;ort\nM\xfcller;K\xf6ln\n\x80 5;x\n"), "windows-1252", ';', false },
    /* 城市,人口 / 北京,2100 / 上海,2400 */
    { "a.csv", BYTES("\xb3\xc7\xca\xd0,\xc8\xcb\xbf\xda\n\xb1\xb1\xbe\xa9,2100\n\xc9\xcf\xba\xa3,2400\n"), "gb18030",
      ',', false },
    /* 名前,ひと / テスト,1 : the second byte of one is a backslash, of another a bar */
    { "a.csv", BYTES("\x96\xbc\x91\x4f,\x82\xd0\x82\xc6\n\x83\x65\x83\x58\x83\x67,1\n\x83\x5c\x83\x7c,2\n"),
      "shift_jis", ',', false },
    { "a.csv", BYTES(""), NULL, 0, false },
    { "a.csv", BYTES("\0\1\2\3\4"), NULL, 0, false },
    { "a.csv", BYTES("\x81\x8d\x8f\xff\xff\n"), NULL, 0, false },
    { "a.csv", BYTES("\xff\xfe\0\0a\0\0\0"), NULL, 0, false },
    { "a.xlsx", BYTES("PK\3\4abc,def\n"), NULL, 0, false },
    { "a.json", BYTES("{\"a\":1,\n\"b\":2}"), NULL, 0, false },
    { "a.png", BYTES("\x89PNG\r\n\x1a\n"), NULL, 0, false },
  };
  for (unsigned i = 0; i < MF_ARRAY_N(rows); i++) {
    print_message("# row %u\n", i);
    struct csv_hint h = csv_hint_of(mf_str_of(rows[i].name), rows[i].head, true);
    if (rows[i].encoding)
      assert_string_equal(h.encoding, rows[i].encoding);
    else
      assert_null(h.encoding);
    assert_int_equal(h.delimiter, rows[i].delimiter);
    assert_int_equal(h.bom, rows[i].bom);
    if (h.encoding)
      assert_ptr_equal(csv_hint_encoding(mf_str_of(h.encoding)), h.encoding);
  }
  assert_null(csv_hint_encoding(MF_STR("latin-9")));
}

/* The window cuts a character and a record in two. */
static void a_window_of_a_large_file(void **state)
{
  static char text[CSV_HINT_HEAD_N + 1];
  size_t n = 0;
  while (n + 8 <= sizeof(text)) {
    memcpy(text + n, "\xc3\xa4;\xc3\xb6,1\n", 8);
    n += 8;
  }
  text[CSV_HINT_HEAD_N - 1] = '\xc3';
  struct csv_hint h = csv_hint_of(MF_STR("a.csv"), (struct mf_str){ text, CSV_HINT_HEAD_N }, false);
  assert_string_equal(h.encoding, "utf-8");
  assert_int_equal(h.delimiter, ','); /* both are in every record: the first of the list */
  h = csv_hint_of(MF_STR("a.csv"), (struct mf_str){ text, CSV_HINT_HEAD_N }, true);
  assert_string_not_equal(h.encoding, "utf-8");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(tables),
    cmocka_unit_test(a_window_of_a_large_file),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

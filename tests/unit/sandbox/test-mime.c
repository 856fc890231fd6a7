/* What a file is, told from its first bytes. */
#include "unit.h"

#include <string.h>

#include "sandbox/sandbox.h"

#define XLSX "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
#define TEXT "text/plain; charset=utf-8"
#define BINARY "application/octet-stream"
#define BYTES(lit)                                                                                                     \
  {                                                                                                                    \
    "" lit, sizeof(lit) - 1                                                                                            \
  }

static const struct {
  const char *name;
  struct mf_str head;
  const char *type;
} rows[] = {
  { "plot.png", BYTES("\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), "image/png" },
  { "plot.csv", BYTES("\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), "image/png" }, /* content wins over the name */
  { "plot.png", BYTES("\x89PNG"), BINARY },
  { "a.jpg", BYTES("\xff\xd8\xff\xe0\0\x10JFIF"), "image/jpeg" },
  { "a.gif", BYTES("GIF89a\1\0\1\0"), "image/gif" },
  { "a.gif", BYTES("GIF87a\1\0\1\0"), "image/gif" },
  { "a.webp", BYTES("RIFF\x24\0\0\0WEBPVP8 "), "image/webp" },
  { "a.bin", BYTES("JUNK\x24\0\0\0WEBPVP8 "), BINARY },
  { "a.pdf", BYTES("%PDF-1.4\n%\xac\xdc"), "application/pdf" },
  { "a.svg", BYTES("<svg xmlns=\"http://www.w3.org/2000/svg\"/>"), "image/svg+xml" },
  { "a", BYTES("<?xml version=\"1.0\"?>\n<!DOCTYPE svg PUBLIC \"x\">\n<!-- made -->\n<svg>"), "image/svg+xml" },
  { "a.txt", BYTES("<svgx>"), TEXT },
  { "a.txt", BYTES("a line about <svg>"), TEXT },
  { "a.html", BYTES("<!DOCTYPE html>\n<p>"), "text/html" },
  { "a", BYTES("\xef\xbb\xbf\n<HTML><body>"), "text/html" },
  { "table.html", BYTES("<table border=\"1\">"), "text/html" },
  { "table.txt", BYTES("<table border=\"1\">"), TEXT },
  { "a.csv", BYTES("x,y\n1,2\n"), "text/csv" },
  { "a.CSV", BYTES("x,y\n1,2\n"), "text/csv" },
  { "a.csv", BYTES("\xef\xbb\xbfx,\xe5\x91\xa8\n"), "text/csv" },
  { "a.csv", BYTES(""), "text/csv" },
  { "a.csv", BYTES("x,y\n\0\1\2"), BINARY },
  { "a.csv", BYTES("x,\xd6\xdc\n"), BINARY }, /* GBK is not UTF-8 */
  { ".csv", BYTES("x\n"), TEXT },
  { "a.tsv", BYTES("x\ty\n"), "text/tab-separated-values" },
  { "a.json", BYTES("  {\"a\": 1}"), "application/json" },
  { "a.json", BYTES("[1]"), "application/json" },
  { "a.json", BYTES("NaN"), "application/json" },
  { "a.json", BYTES("hello"), TEXT },
  { "a.json", BYTES(""), TEXT },
  { "a.txt", BYTES("{\"a\": 1}"), TEXT },
  { "back.xlsx", BYTES("PK\3\4\x14\0\0\0\b\0"), XLSX },
  { "BACK.XLSX", BYTES("PK\3\4\x14\0\0\0\b\0"), XLSX },
  { "back.zip", BYTES("PK\3\4\x14\0\0\0\b\0"), "application/zip" },
  { "back.csv", BYTES("PK\3\4\x14\0\0\0\b\0"), "application/zip" },
  { "empty.zip", BYTES("PK\5\6\0\0\0\0"), "application/zip" },
  { "back.xlsx", BYTES("not a workbook"), TEXT },
  { "a.csv.gz", BYTES("\x1f\x8b\b\0\0\0\0\0"), "application/gzip" },
  { "a.parquet", BYTES("PAR1\x15\4\x15"), "application/vnd.apache.parquet" },
  { "a.feather", BYTES("ARROW1\0\0\xff\xff"), "application/vnd.apache.arrow.file" },
  { "a.db", BYTES("SQLite format 3\0\x10\0"), "application/vnd.sqlite3" },
  { "notes", BYTES("hello\tworld\r\n"), TEXT },
  { "log", BYTES("\x1b[31mred\x1b[0m\n"), TEXT },
  { "empty", BYTES(""), TEXT },
  { "x", BYTES("caf\xe9"), BINARY },
  { "x", BYTES("ab\x7f"), BINARY },
  { "x", BYTES("\x93NUMPY\1\0v\0"), BINARY },
  { "x.pkl", BYTES("\x80\4\x95"), BINARY },
};

static void test_rows(void **state)
{
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    const char *type = mf_mime_sniff(mf_str_of(rows[i].name), rows[i].head);
    if (strcmp(type, rows[i].type) != 0)
      fail_msg("row %zu, %s: %s instead of %s", i, rows[i].name, type, rows[i].type);
  }
}

/* A head that fills the window may end inside a character; a shorter one is the whole file and may not. */
static void test_cut_head(void **state)
{
  char head[MF_MIME_HEAD_N];
  memset(head, 'a', sizeof(head));
  static const char emoji[] = "\xf0\x9f\x98\x80";
  for (size_t k = 1; k <= 3; k++) {
    memset(head, 'a', sizeof(head));
    memcpy(head + sizeof(head) - k, emoji, k);
    assert_string_equal(mf_mime_sniff(MF_STR("x"), (struct mf_str){ head, sizeof(head) }), TEXT);
    assert_string_equal(mf_mime_sniff(MF_STR("x"), (struct mf_str){ head + 1, sizeof(head) - 1 }), BINARY);
  }
  memset(head + sizeof(head) - 4, 0x80, 4);
  assert_string_equal(mf_mime_sniff(MF_STR("x"), (struct mf_str){ head, sizeof(head) }), BINARY);
  memset(head, 'a', sizeof(head));
  head[10] = (char)0xff;
  assert_string_equal(mf_mime_sniff(MF_STR("x"), (struct mf_str){ head, sizeof(head) }), BINARY);
}

static void test_no_name(void **state)
{
  assert_string_equal(mf_mime_sniff((struct mf_str){ NULL, 0 }, MF_STR("x")), TEXT);
  assert_string_equal(mf_mime_sniff((struct mf_str){ NULL, 0 }, (struct mf_str){ NULL, 0 }), TEXT);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_rows),
    cmocka_unit_test(test_cut_head),
    cmocka_unit_test(test_no_name),
  };
  return cmocka_run_group_tests_name("mime", tests, NULL, NULL);
}

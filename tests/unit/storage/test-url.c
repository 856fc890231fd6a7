/* Where the database is, as people and other programs write it. */
#include "unit.h"

#include <stdlib.h>

#include "url.h"
#include "base/banned.h"

static void paths(void **state)
{
  static const struct {
    const char *url, *path;
  } rows[] = {
    { "sqlite:///var/lib/mayfly.db", "/var/lib/mayfly.db" },
    { "sqlite:///var/lib/mayfly.db?mode=rwc", "/var/lib/mayfly.db" },
    { "sqlite://mayfly.db?mode=rw", "mayfly.db" },
    { "sqlite:mayfly.db", "mayfly.db" },
    { "sqlite:///a%20b/%E5%91%A8.db", "/a b/\xe5\x91\xa8.db" },
    { "/var/lib/a%20b?c.db", "/var/lib/a%20b?c.db" }, /* a plain path is taken as it is */
    { "mayfly.db", "mayfly.db" },
    { "sqlite::memory:", NULL },
    { "sqlite://:memory:", NULL },
    { ":memory:", NULL },
  };
  for (unsigned i = 0; i < MF_ARRAY_N(rows); i++) {
    char *path = (char *)"unset";
    struct mf_err err = { 0 };
    assert_ok(mf_storage_url_parse(rows[i].url, &path, &err), &err);
    if (rows[i].path)
      assert_string_equal(path, rows[i].path);
    else
      assert_null(path);
    free(path);
  }
}

static void refused(void **state)
{
  static const struct {
    const char *url;
    enum mf_code code;
    const char *text;
  } rows[] = {
    { "", MF_E_INPUT, "database URL: is empty" },
    { "sqlite:", MF_E_INPUT, "database URL: names no file" },
    { "sqlite://?mode=rwc", MF_E_INPUT, "database URL: names no file" },
    { "sqlite:///x?mode=ro", MF_E_INPUT,
      "database URL: '?mode=ro' is not understood; only ?mode=rwc and ?mode=rw are" },
    { "sqlite:///a%2", MF_E_INPUT, "database URL: has a broken percent escape" },
    { "sqlite:///a%zz", MF_E_INPUT, "database URL: has a broken percent escape" },
    { "sqlite:///a%00", MF_E_INPUT, "database URL: has a broken percent escape" },
    { "mysql://host/db", MF_E_INPUT, "database URL: must be sqlite:///path or a plain path" },
    { "postgresql://user:secret@host/db", MF_E_UNAVAILABLE,
      "database URL: PostgreSQL is not supported by this version; use sqlite:///path" },
  };
  for (unsigned i = 0; i < MF_ARRAY_N(rows); i++) {
    char *path = NULL;
    struct mf_err err = { 0 };
    assert_int_equal(mf_storage_url_parse(rows[i].url, &path, &err), rows[i].code);
    assert_string_equal(err.msg, rows[i].text);
    assert_null(path);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test(paths), cmocka_unit_test(refused) };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

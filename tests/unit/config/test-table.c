/* The table of keys: what must hold of every row. */
#include "unit.h"

#include "config/config.h"

#include "base/banned.h"

#define FOR_EACH_KEY(k) for (const struct mf_config_key *k = mf_config_keys; k < mf_config_keys + MF_CONFIG_N; k++)

static bool same(const char *a, const char *b)
{
  return a && b && strcmp(a, b) == 0;
}

static void names_are_unique(void **state)
{
  FOR_EACH_KEY(a)
  FOR_EACH_KEY(b)
  if (a != b && (same(a->path, b->path) || same(a->env, b->env) || same(a->flag, b->flag)))
    fail_msg("%s and %s share a name", a->path, b->path);
}

static void every_row_is_whole(void **state)
{
  FOR_EACH_KEY(k)
  {
    assert_non_null(k->path);
    assert_true(k->help && k->help[0]);
    assert_true(k->offset < sizeof(struct mf_config));
    if (k->type == MF_KEY_NUMBER)
      assert_true(k->min <= k->max && k->max > 0 && k->preset);
    if (k->type == MF_KEY_BOOL && k->flag)
      assert_string_equal(k->preset, k->traits & MF_KEY_NEGATED ? "true" : "false"); /* a switch turns it round */
    if (k->type == MF_KEY_LATER)
      assert_null(k->preset);
  }
}

/* No key may share a field with another, but those that are not used yet. */
static void fields_are_unique(void **state)
{
  FOR_EACH_KEY(a)
  FOR_EACH_KEY(b)
  if (a != b && a->offset == b->offset && a->type != MF_KEY_LATER)
    fail_msg("%s and %s share a field", a->path, b->path);
}

static void secrets_have_no_default(void **state)
{
  unsigned n = 0;
  FOR_EACH_KEY(k)
  {
    if (!(k->traits & MF_KEY_SECRET))
      continue;
    n++;
    assert_null(k->preset);
    assert_non_null(k->env);
  }
  assert_int_equal(n, 2);
}

/* The interpreter's own defaults and these are the same numbers, written twice. */
static void interpreter_defaults_agree(void **state)
{
  char home[] = "AGENTIC_API_HOME=/nonexistent";
  char *const environment[] = { home, NULL };
  const struct mf_config_input in = { .environ = environment };
  struct mf_interpreter_config own;
  struct mf_config *c = NULL;
  struct mf_err err = { 0 };

  mf_interpreter_config_default(&own);
  assert_ok(mf_config_load(&in, &c, &err), &err);
  assert_int_equal(c->interpreter.enabled, own.enabled);
  assert_int_equal(c->interpreter.max_source_bytes, own.max_source_bytes);
  assert_int_equal(c->interpreter.execution_wall_time_seconds, own.execution_wall_time_seconds);
  assert_int_equal(c->interpreter.max_fuel, own.max_fuel);
  assert_int_equal(c->interpreter.max_guest_memory_bytes, own.max_guest_memory_bytes);
  assert_int_equal(c->interpreter.max_stdout_bytes, own.max_stdout_bytes);
  assert_int_equal(c->interpreter.max_stderr_bytes, own.max_stderr_bytes);
  assert_int_equal(c->interpreter.max_concurrent_guests, own.max_concurrent_guests);
  assert_int_equal(c->interpreter.max_aggregate_guest_memory_bytes, own.max_aggregate_guest_memory_bytes);
  assert_int_equal(c->interpreter.max_worker_memory_bytes, own.max_worker_memory_bytes);
  assert_int_equal(c->interpreter.max_aggregate_worker_memory_bytes, own.max_aggregate_worker_memory_bytes);
  mf_config_free(c);
}

static void the_reference_names_every_key(void **state)
{
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, 1u << 20);
  mf_config_reference(&out);
  FOR_EACH_KEY(k)
  {
    char row[200];
    snprintf(row, sizeof(row), "| `%s` |", k->path);
    if (!strstr(out.ptr, row))
      fail_msg("%s is missing", k->path);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(names_are_unique),           cmocka_unit_test(every_row_is_whole),
    cmocka_unit_test(fields_are_unique),          cmocka_unit_test(secrets_have_no_default),
    cmocka_unit_test(interpreter_defaults_agree), cmocka_unit_test(the_reference_names_every_key),
  };
  return cmocka_run_group_tests_name("config/table", tests, NULL, NULL);
}

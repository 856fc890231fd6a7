/* Loading: precedence, every kind of bad value, unknown keys, secrets. */
#include "unit.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "config/config.h"

#include "base/banned.h"

#define ENV_MAX 16

/* A home folder of its own, and the environment that names it. */
struct place {
  char home[64], home_word[100];
  char *environment[ENV_MAX + 2];
  unsigned env_n;
  struct mf_config_input in;
  struct mf_config *c;
  struct mf_err err;
};

static int set_up(void **state)
{
  struct place *p = mf_xcalloc(1, sizeof(*p));
  snprintf(p->home, sizeof(p->home), "/tmp/mf-config-XXXXXX");
  assert_non_null(mkdtemp(p->home));
  snprintf(p->home_word, sizeof(p->home_word), "AGENTIC_API_HOME=%s", p->home);
  p->environment[0] = p->home_word;
  p->env_n = 1;
  p->in.environ = p->environment;
  *state = p;
  return 0;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
  return remove(path);
}

static int tear_down(void **state)
{
  struct place *p = *state;
  mf_config_free(p->c);
  for (unsigned i = 1; i < p->env_n; i++)
    free(p->environment[i]);
  nftw(p->home, remove_one, 8, FTW_DEPTH | FTW_PHYS);
  free(p);
  return 0;
}

static void env(struct place *p, const char *name, const char *value)
{
  assert_true(p->env_n < ENV_MAX);
  p->environment[p->env_n++] = mf_xasprintf("%s=%s", name, value);
  p->environment[p->env_n] = NULL;
}

static void file(struct place *p, const char *text)
{
  char path[100];
  snprintf(path, sizeof(path), "%s/config.toml", p->home);
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  assert_true(fd >= 0);
  assert_int_equal(mf_write_all(fd, text, strlen(text), NULL), MF_OK);
  close(fd);
}

static void load(struct place *p)
{
  mf_config_free(p->c);
  p->c = NULL;
  memset(&p->err, 0, sizeof(p->err));
  assert_ok(mf_config_load(&p->in, &p->c, &p->err), &p->err);
}

/* The sentence of an error must hold each of the parts. */
static void expect_words(const struct mf_err *err, const char *a, const char *b)
{
  if (!strstr(err->msg, a) || !strstr(err->msg, b))
    fail_msg("'%s' does not say '%s' and '%s'", err->msg, a, b);
}

static void expect_failure(struct place *p, const char *a, const char *b)
{
  memset(&p->err, 0, sizeof(p->err));
  enum mf_code code = mf_config_load(&p->in, &p->c, &p->err);
  if (code == MF_OK)
    fail_msg("no failure where '%s' and '%s' were expected", a, b);
  assert_null(p->c);
  assert_int_equal(code, p->err.code);
  expect_words(&p->err, a, b);
}

static const char *shown(const struct place *p, enum mf_config_id id)
{
  static char text[4096];
  struct mf_buf out;
  mf_buf_init(&out, sizeof(text) - 1);
  mf_config_show(p->c, id, &out);
  snprintf(text, sizeof(text), "%s", out.ptr);
  mf_buf_done(&out);
  return text;
}

static void expect_origin(const struct place *p, enum mf_config_id id, const char *want)
{
  char origin[400];
  mf_config_origin(p->c, id, origin, sizeof(origin));
  assert_non_null(strstr(origin, want));
}

/* ---- precedence ---- */

static void the_nearest_word_counts(void **state)
{
  struct place *p = *state;
  load(p);
  assert_int_equal(p->c->port, 9000);
  expect_origin(p, MF_CONFIG_PORT, "default");

  file(p, "[server]\nport = 1\n");
  load(p);
  assert_int_equal(p->c->port, 1);
  expect_origin(p, MF_CONFIG_PORT, "/config.toml:2");

  env(p, "GATEWAY_PORT", " 2 ");
  load(p);
  assert_int_equal(p->c->port, 2);
  expect_origin(p, MF_CONFIG_PORT, "environment GATEWAY_PORT");

  p->in.flags[MF_CONFIG_PORT] = "3";
  load(p);
  assert_int_equal(p->c->port, 3);
  expect_origin(p, MF_CONFIG_PORT, "option --gateway-port");
}

static void every_kind_of_value_in_a_file(void **state)
{
  struct place *p = *state;
  file(p, "llm_api_base = \"http://h:8000/v1/\"\ndatabase_url = 'sqlite:///x'\n"
          "server.cors_allowed_origins = [\"https://a\", \"https://b\"]\n"
          "[tools]\nunsupported = \"ignore\"\n"
          "[code_interpreter]\nenabled = true\nmax_stdout_bytes = 1_000\nisolation = \"prefer\"\n"
          "[mcp_servers.x]\nurl = \"http://y\"\n[models.\"a/b\"]\ninput_modalities = [\"text\"]\n");
  load(p);
  assert_string_equal(p->c->llm_api_base, "http://h:8000");
  assert_string_equal(p->c->database_url, "sqlite:///x");
  assert_int_equal(p->c->cors_origins.n, 2);
  assert_string_equal(p->c->cors_origins.items[1], "https://b");
  assert_string_equal(p->c->tools_unsupported, "ignore");
  assert_true(p->c->interpreter.enabled);
  assert_int_equal(p->c->interpreter.max_stdout_bytes, 1000);
  assert_string_equal(p->c->isolation, "prefer");
  assert_int_equal(p->c->warning_n, 2); /* mcp_servers, models */
  assert_non_null(strstr(p->c->warnings[0], "mcp_servers"));
}

static void defaults_are_safe(void **state)
{
  struct place *p = *state;
  char db[100];
  load(p);
  assert_string_equal(p->c->host, "127.0.0.1");
  assert_true(mf_config_is_local(p->c));
  assert_false(p->c->interpreter.enabled);
  assert_false(p->c->insecure_no_auth);
  assert_string_equal(p->c->isolation, "require");
  assert_string_equal(p->c->tools_unsupported, "reject");
  assert_int_equal(p->c->cors_origins.n, 0);
  snprintf(db, sizeof(db), "%s/mayfly.db", p->home);
  assert_string_equal(p->c->database_url, db);
  assert_int_equal(mf_config_check_serve(p->c, &p->err), MF_E_INPUT);
  expect_words(&p->err, "there is nothing to serve", "LLM_API_BASE");
}

static void empty_variables_are_unset(void **state)
{
  struct place *p = *state;
  env(p, "GATEWAY_PORT", "");
  env(p, "OPENAI_API_KEY", "");
  load(p);
  assert_int_equal(p->c->port, 9000);
  assert_ok(mf_config_load_secrets(p->c, &p->in, &p->err), &p->err);
  assert_null(p->c->openai_api_key);
}

/* Word by word over a file that says the opposite. */
static void booleans_of_the_environment(void **state)
{
  static const struct {
    const char *value;
    bool on;
  } words[] = {
    { "true", true }, { " TRUE ", true }, { "1", true }, { "false", false }, { "False", false }, { " 0 ", false },
  };
  struct place *p = *state;
  for (size_t i = 0; i < MF_ARRAY_N(words); i++) {
    file(p, words[i].on ? "[code_interpreter]\nenabled = false\n" : "[code_interpreter]\nenabled = true\n");
    load(p);
    assert_int_equal(p->c->interpreter.enabled, !words[i].on);
    env(p, "AGENTIC_CODE_INTERPRETER_ENABLED", words[i].value);
    load(p);
    assert_int_equal(p->c->interpreter.enabled, words[i].on);
    expect_origin(p, MF_CONFIG_CI_ENABLED, "environment AGENTIC_CODE_INTERPRETER_ENABLED");
    free(p->environment[--p->env_n]);
    p->environment[p->env_n] = NULL;
  }
}

/* ---- bad values ---- */

static const struct {
  const char *name, *value, *a, *b;
} bad_env[] = {
  { "AGENTIC_CODE_INTERPRETER_ENABLED", "yes", "AGENTIC_CODE_INTERPRETER_ENABLED", "true, false, 1 or 0" },
  { "SKIP_LLM_READY_CHECK", "2", "SKIP_LLM_READY_CHECK", "got '2'" },
  { "AGENTIC_CODE_INTERPRETER_MAX_FUEL", "0", "AGENTIC_CODE_INTERPRETER_MAX_FUEL", "at least 1" },
  { "AGENTIC_CODE_INTERPRETER_MAX_SOURCE_BYTES", "524289", "AGENTIC_CODE_INTERPRETER_MAX_SOURCE_BYTES", "524288" },
  { "AGENTIC_CODE_INTERPRETER_EXECUTION_WALL_TIME_SECONDS", "-1", "environment", "whole number" },
  { "AGENTIC_CODE_INTERPRETER_MAX_STDOUT_BYTES", "2097152", "max_stdout_bytes", "max_stderr_bytes" },
  { "AGENTIC_CODE_INTERPRETER_MAX_WORKER_MEMORY_BYTES", "134217728", "must exceed", "is from: environment" },
  { "AGENTIC_CODE_INTERPRETER_MAX_GUEST_MEMORY_BYTES", "268435457", "max_aggregate_guest_memory_bytes", "268435457" },
  { "AGENTIC_CODE_INTERPRETER_PROVIDER", "docker", "AGENTIC_CODE_INTERPRETER_PROVIDER", "local wasm" },
  { "AGENTIC_CODE_INTERPRETER_WASM_CALLS_PER_WORKER", "0", "WASM_CALLS_PER_WORKER", "1 to 1000000" },
  { "AGENTIC_CODE_INTERPRETER_ISOLATION", "none", "one of: require prefer", "'none'" },
  { "AGENTIC_CODE_INTERPRETER_POOL_DATA", "65", "POOL_DATA", "0 to 64" },
  { "AGENTIC_MAX_REQUEST_BODY_SIZE_BYTES", "0", "AGENTIC_MAX_REQUEST_BODY_SIZE_BYTES", "1 to" },
  { "AGENTIC_MAX_RETAINED_RESPONSE_BYTES", "16777216", "max_upstream_json_bytes", "AGENTIC_MAX_RETAINED" },
  { "AGENTIC_MAX_STREAM_EVENT_BYTES", "8388608", "max_stream_event_bytes", "10485760" },
  { "AGENTIC_MAX_CONCURRENT_GATEWAY_CALLS", "0", "AGENTIC_MAX_CONCURRENT_GATEWAY_CALLS", "got '0'" },
  { "GATEWAY_PORT", "65536", "GATEWAY_PORT", "0 to 65535" },
  { "GATEWAY_PORT", "9000x", "GATEWAY_PORT", "'9000x'" },
  { "LLM_API_BASE", "localhost:8000", "LLM_API_BASE", "http://HOST" },
  { "LLM_API_BASE", "http://", "LLM_API_BASE", "http://HOST" },
  { "LLM_API_BASE", "http://h/?x=1", "LLM_API_BASE", "'?'" },
  { "LLM_API_BASE", "http://u:p@h", "LLM_API_BASE", "OPENAI_API_KEY" },
  { "LLM_API_BASE", "http://a b", "LLM_API_BASE", "'http://a b'" },
  { "OIDC_ISSUER", "https://i", "oidc_issuer (environment OIDC_ISSUER)", "oidc_audience" },
  { "OIDC_AUDIENCE", "a", "oidc_audience", "oidc_issuer" },
  { "DATABASE_URL", "postgres://h/d", "DATABASE_URL", "PostgreSQL" },
  { "DATABASE_URL", "mysql://u:p@h/d", "DATABASE_URL", "expected sqlite:///path or a plain path" },
  { "MAYFLY_TLS_CERT", "/c.pem", "server.tls_cert", "server.tls_key" },
  { "MAYFLY_LOG_FORMAT", "xml", "MAYFLY_LOG_FORMAT", "text json" },
  { "AGENTIC_API_HOME", "relative", "AGENTIC_API_HOME", "absolute" },
};

static void bad_variables(void **state)
{
  for (size_t i = 0; i < MF_ARRAY_N(bad_env); i++) {
    struct place *p = NULL;
    void *own = NULL;
    assert_int_equal(set_up(&own), 0);
    p = own;
    if (strcmp(bad_env[i].name, "AGENTIC_API_HOME") == 0)
      p->environment[0] = p->home_word + strlen(p->home_word); /* "" is no variable */
    env(p, bad_env[i].name, bad_env[i].value);
    expect_failure(p, bad_env[i].a, bad_env[i].b);
    tear_down(&own);
  }
}

static const struct {
  const char *text, *a, *b;
} bad_files[] = {
  { "[code_interpreter]\nenabeld = true\n", "config.toml:2: unknown key code_interpreter.enabeld",
    "did you mean code_interpreter.enabled?" },
  { "enabled = true\n", "config.toml:1: unknown key enabled", "lists every key" },
  { "[code_interpretr]\nenabled = true\n", "unknown key code_interpretr", "config.toml:1" },
  { "[server]\nunsupported = 1\n", "server.unsupported", "did you mean tools.unsupported?" },
  { "[tools.deeper]\nx = 1\n", "unknown key tools.deeper", "config.toml" },
  { "\"code_interpreter.enabled\" = true\n", "unknown key", "code_interpreter.enabled" },
  { "[server]\nport = \"9000\"\n", "server.port: expected a whole number", "got a string" },
  { "[server]\nport = 1.5\n", "server.port", "got a fraction" },
  { "[server]\nport = -1\n", "server.port", "0 to 65535" },
  { "[code_interpreter]\nenabled = 1\n", "code_interpreter.enabled: expected true or false", "got a number" },
  { "code_interpreter = 5\n", "unknown key code_interpreter", "config.toml:1" },
  { "llm_api_base = 5\n", "llm_api_base: expected a string", "got a number" },
  { "llm_api_base = \"a\\u0000b\"\n", "llm_api_base: expected a string", "config.toml:1" },
  { "[server]\ncors_allowed_origins = \"a\"\n", "cors_allowed_origins", "an array of strings" },
  { "[server]\ncors_allowed_origins = [1]\n", "cors_allowed_origins", "an array of strings" },
  { "[server\n", "config.toml:1", "expected" },
  { "[\n", "config.toml:1", "expected bare key" },
  { "\xc3\xa9 = 1\n", "config.toml:1", "expected keys" },
  { "port = f\x01\n", "config.toml:1", "saw 'f?'" },
  { "a = 1\na = 2\n", "config.toml:2", "redefin" },
  { "[code_interpreter]\nmax_source_bytes = 524289\n", "config.toml:2: code_interpreter.max_source_bytes", "524288" },
  { "[code_interpreter]\nmax_worker_memory_bytes = 1\n", "must exceed", "config.toml:2" },
  { "[web_search]\nprovidr = \"x\"\n", "web_search.providr", "did you mean web_search.provider?" },
};

static void bad_files_name_the_line(void **state)
{
  struct place *p = *state;
  for (size_t i = 0; i < MF_ARRAY_N(bad_files); i++) {
    file(p, bad_files[i].text);
    expect_failure(p, bad_files[i].a, bad_files[i].b);
  }
}

/* What is overruled is not looked at, but an unknown key always is. */
static void an_overruled_value_is_no_matter(void **state)
{
  struct place *p = *state;
  file(p, "[server]\nport = 99999\n");
  p->in.flags[MF_CONFIG_PORT] = "1";
  load(p);
  assert_int_equal(p->c->port, 1);
  file(p, "[server]\nport = 99999\nprt = 1\n");
  mf_config_free(p->c);
  p->c = NULL;
  expect_failure(p, "server.prt", "server.port");
}

static void a_folder_is_no_file(void **state)
{
  struct place *p = *state;
  char path[100];
  snprintf(path, sizeof(path), "%s/config.toml", p->home);
  assert_int_equal(mkdir(path, 0700), 0);
  expect_failure(p, "config.toml", "regular");
}

static void misspelt_variables_are_told(void **state)
{
  struct place *p = *state;
  env(p, "AGENTIC_CODE_INTERPRETER_ENABLE", "1");
  load(p);
  assert_false(p->c->interpreter.enabled);
  assert_int_equal(p->c->warning_n, 1);
  assert_non_null(strstr(p->c->warnings[0], "did you mean AGENTIC_CODE_INTERPRETER_ENABLED?"));
}

/* ---- secrets ---- */

static void secrets_come_second_and_are_masked(void **state)
{
  struct place *p = *state;
  env(p, "OPENAI_API_KEY", "sk-hidden");
  file(p, "[server]\napi_keys = [\"first-key\", \"second-key\"]\n");
  load(p);
  assert_null(p->c->openai_api_key);
  assert_int_equal(p->c->api_keys.n, 0);
  assert_ok(mf_config_load_secrets(p->c, &p->in, &p->err), &p->err);
  assert_string_equal(p->c->openai_api_key, "sk-hidden");
  assert_int_equal(p->c->api_keys.n, 2);
  assert_string_equal(p->c->api_keys.items[1], "second-key");
  assert_string_equal(shown(p, MF_CONFIG_OPENAI_API_KEY), "(set)");
  assert_string_equal(shown(p, MF_CONFIG_API_KEYS), "(set)");
}

static void keys_from_every_place(void **state)
{
  struct place *p = *state;
  char path[100], text[] = "# ours\nk3\n\n k4 \n";
  snprintf(path, sizeof(path), "%s/keys", p->home);
  int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  assert_int_equal(mf_write_all(fd, text, strlen(text), NULL), MF_OK);
  close(fd);
  env(p, "MAYFLY_API_KEYS", "k1, k2,,");
  env(p, "MAYFLY_API_KEYS_FILE", path);
  load(p);
  assert_ok(mf_config_load_secrets(p->c, &p->in, &p->err), &p->err);
  assert_int_equal(p->c->api_keys.n, 4);
  assert_string_equal(p->c->api_keys.items[0], "k1");
  assert_string_equal(p->c->api_keys.items[3], "k4");
}

static void bad_keys_are_not_shown(void **state)
{
  struct place *p = *state;
  env(p, "OPENAI_API_KEY", "sk-hid den");
  load(p);
  assert_int_equal(mf_config_load_secrets(p->c, &p->in, &p->err), MF_E_INPUT);
  expect_words(&p->err, "openai_api_key", "visible ASCII");
  assert_null(strstr(p->err.msg, "hid"));
  env(p, "MAYFLY_API_KEYS_FILE", "/nonexistent/keys");
  load(p);
  p->environment[1][0] = '_';
  assert_int_equal(mf_config_load_secrets(p->c, &p->in, &p->err), MF_E_NOT_FOUND);
  expect_words(&p->err, "server.api_keys_file", "MAYFLY_API_KEYS_FILE");
}

/* As `serve` does it: the secrets, then whether others may reach it. */
static enum mf_code load_exposed(struct place *p, bool has_stored_key)
{
  load(p);
  assert_ok(mf_config_load_secrets(p->c, &p->in, &p->err), &p->err);
  return mf_config_check_exposed(p->c, has_stored_key, &p->err);
}

static void beyond_this_machine_only_with_a_key(void **state)
{
  static const char *const reachable[] = { "0.0.0.0", "::", "192.0.2.1", "127.0.0.1.example.org", "example.org" };
  static const char *const local[] = { "127.0.0.1", "127.9.9.9", "::1", "localhost" };
  struct place *p = *state;
  for (size_t i = 0; i < MF_ARRAY_N(reachable); i++) {
    p->in.flags[MF_CONFIG_HOST] = reachable[i];
    assert_int_equal(load_exposed(p, false), MF_E_INPUT);
    expect_words(&p->err, "server.host", "--insecure-no-auth");
    assert_ok(load_exposed(p, true), &p->err);
  }
  for (size_t i = 0; i < MF_ARRAY_N(local); i++) {
    p->in.flags[MF_CONFIG_HOST] = local[i];
    assert_ok(load_exposed(p, false), &p->err);
  }
  p->in.flags[MF_CONFIG_HOST] = "0.0.0.0";
  p->in.flags[MF_CONFIG_INSECURE_NO_AUTH] = "true";
  assert_ok(load_exposed(p, false), &p->err);
  p->in.flags[MF_CONFIG_INSECURE_NO_AUTH] = NULL;
  env(p, "MAYFLY_API_KEYS", "k");
  assert_ok(load_exposed(p, false), &p->err);
}

static void a_home_that_others_can_write_to(void **state)
{
  static const mode_t wide[] = { 0720, 0702, 01777 };
  struct place *p = *state;
  load(p);
  assert_int_equal(rmdir(p->home), 0);
  assert_int_equal(mf_config_check_home(p->c, &p->err), MF_E_NOT_FOUND);
  assert_ok(mf_config_make_home(p->c, &p->err), &p->err);
  assert_ok(mf_config_check_home(p->c, &p->err), &p->err);
  for (size_t i = 0; i < MF_ARRAY_N(wide); i++) {
    assert_int_equal(chmod(p->home, wide[i]), 0);
    assert_int_equal(mf_config_check_home(p->c, &p->err), MF_E_INPUT);
    expect_words(&p->err, "home folder", "others may write");
  }
  assert_int_equal(chmod(p->home, 0700), 0);
}

static void secrets_leave_the_environment(void **state)
{
  struct place *p = *state;
  env(p, "OPENAI_API_KEY", "sk-hidden");
  env(p, "GATEWAY_PORT", "1");
  env(p, "MAYFLY_API_KEYS", "k");
  char *key = p->environment[1], *keys = p->environment[3];
  size_t n = strlen(key);
  mf_config_wipe_environment(p->environment);
  assert_null(p->environment[2]);
  assert_string_equal(p->environment[1], "GATEWAY_PORT=1");
  for (size_t i = 0; i < n; i++)
    assert_int_equal(key[i], 0);
  p->env_n = 2;
  free(key);
  free(keys);
}

/* ---- the first file ---- */

static void the_first_start_writes_a_file(void **state)
{
  struct place *p = *state;
  struct stat st;
  char path[100];
  env(p, "LLM_API_BASE", "http://h:1/v1");
  env(p, "OPENAI_API_KEY", "sk-hidden");
  load(p);
  assert_ok(mf_config_load_secrets(p->c, &p->in, &p->err), &p->err);
  assert_ok(mf_config_write_first(p->c, &p->err), &p->err);
  snprintf(path, sizeof(path), "%s/config.toml", p->home);
  assert_int_equal(stat(path, &st), 0);
  assert_int_equal(st.st_mode & 07737, 0600); /* 0640, or less by the umask */

  char *text = NULL;
  size_t n = 0;
  assert_int_equal(mf_read_file(AT_FDCWD, path, 4096, &text, &n, NULL), MF_OK);
  assert_non_null(strstr(text, "llm_api_base = \"http://h:1\"\n"));
  assert_null(strstr(text, "hidden"));
  free(text);

  p->environment[1][0] = '_';
  load(p); /* it says what was written, and nothing is written again */
  assert_string_equal(p->c->llm_api_base, "http://h:1");
  expect_origin(p, MF_CONFIG_LLM_API_BASE, "config.toml:2");
}

static void an_unwritable_home_is_an_error_of_its_own(void **state)
{
  struct place *p = *state;
  char home[] = "AGENTIC_API_HOME=/dev/null/deep/home";
  p->environment[0] = home;
  env(p, "LLM_API_BASE", "http://h:1");
  load(p);
  assert_int_equal(mf_config_write_first(p->c, &p->err), MF_E_SYS);
  expect_words(&p->err, "/dev/null/deep", "Not a directory");
}

#define IN_A_HOME(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
  const struct CMUnitTest tests[] = {
    IN_A_HOME(the_nearest_word_counts),
    IN_A_HOME(every_kind_of_value_in_a_file),
    IN_A_HOME(defaults_are_safe),
    IN_A_HOME(empty_variables_are_unset),
    IN_A_HOME(booleans_of_the_environment),
    cmocka_unit_test(bad_variables),
    IN_A_HOME(bad_files_name_the_line),
    IN_A_HOME(an_overruled_value_is_no_matter),
    IN_A_HOME(a_folder_is_no_file),
    IN_A_HOME(misspelt_variables_are_told),
    IN_A_HOME(secrets_come_second_and_are_masked),
    IN_A_HOME(keys_from_every_place),
    IN_A_HOME(bad_keys_are_not_shown),
    IN_A_HOME(beyond_this_machine_only_with_a_key),
    IN_A_HOME(a_home_that_others_can_write_to),
    IN_A_HOME(secrets_leave_the_environment),
    IN_A_HOME(the_first_start_writes_a_file),
    IN_A_HOME(an_unwritable_home_is_an_error_of_its_own),
  };
  return cmocka_run_group_tests_name("config/config", tests, NULL, NULL);
}

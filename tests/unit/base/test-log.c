/* The log: one line an event, on standard error. */
#include "unit.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/banned.h"

/* Runs fn with standard error going to a file and returns what it wrote. */
static char *capture(void (*fn)(void))
{
  int file = -1;
  assert_int_equal(mf_memfd("mf-test", &file, NULL), MF_OK);
  int saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  assert_true(saved >= 0);
  dup2(file, STDERR_FILENO);
  fn();
  dup2(saved, STDERR_FILENO);
  close(saved);
  static char text[8192];
  ssize_t n = pread(file, text, sizeof(text) - 1, 0);
  close(file);
  assert_true(n >= 0);
  text[n] = 0;
  return text;
}

static void log_each_level(void)
{
  mf_log(MF_LOG_ERROR, "one %d", 1);
  mf_log(MF_LOG_WARN, "two");
  mf_log(MF_LOG_INFO, "three");
  mf_log(MF_LOG_DEBUG, "four");
}

static unsigned count_lines(const char *text)
{
  unsigned n = 0;
  for (; *text; text++)
    n += *text == '\n';
  return n;
}

static void levels(void **state)
{
  assert_int_equal(count_lines(capture(log_each_level)), 3); /* info is the default */
  mf_log_set_level(MF_LOG_DEBUG);
  assert_int_equal(count_lines(capture(log_each_level)), 4);
  mf_log_set_level(MF_LOG_ERROR);
  char *text = capture(log_each_level);
  assert_int_equal(count_lines(text), 1);
  assert_string_equal(text + strlen("2026-01-02T03:04:05.678Z"), " error one 1\n");
  mf_log_set_level(MF_LOG_INFO);
}

static void log_lines(void)
{
  mf_log(MF_LOG_INFO, "a\nb\x1b[1m");
}

static void log_long(void)
{
  char big[5000];
  memset(big, 'x', sizeof(big));
  mf_log(MF_LOG_INFO, "%.*s", (int)sizeof(big), big);
}

static void always_one_line(void **state)
{
  char *text = capture(log_lines);
  assert_int_equal(count_lines(text), 1);
  assert_non_null(strstr(text, " info a?b?[1m\n"));
  text = capture(log_long);
  assert_int_equal(count_lines(text), 1);
  assert_int_equal(strlen(text), strlen("2026-01-02T03:04:05.678Z info \n") + 999);
}

static void log_about_requests(void)
{
  mf_log_request(MF_LOG_WARN, "req_1", "a \"b\" \\ \x01 \xc3\xa9");
  mf_log_request(MF_LOG_INFO, NULL, "cut \xc3");
  mf_log_request(MF_LOG_INFO, "x\"}\n{", "forged");
}

static void as_json(void **state)
{
  const char *time = "{\"time\":\"2026-01-02T03:04:05.678Z";
  mf_log_set_format(MF_LOG_JSON);
  char *text = capture(log_about_requests);
  mf_log_set_format(MF_LOG_TEXT);

  char *second = strchr(text, '\n') + 1, *third = strchr(second, '\n') + 1;
  assert_int_equal(count_lines(text), 3);
  second[-1] = third[-1] = 0;
  assert_string_equal(text + strlen(time),
                      "\",\"level\":\"warn\",\"message\":\"a \\\"b\\\" \\\\ ? \xc3\xa9\",\"request_id\":\"req_1\"}");
  assert_string_equal(second + strlen(time), "\",\"level\":\"info\",\"message\":\"cut ?\"}");
  assert_string_equal(third + strlen(time),
                      "\",\"level\":\"info\",\"message\":\"forged\",\"request_id\":\"x\\\"}?{\"}\n");
}

static void request_in_text(void **state)
{
  char *text = capture(log_about_requests);
  assert_non_null(strstr(text, " warn request=req_1 a \"b\""));
}

int main(void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test(levels), cmocka_unit_test(always_one_line),
                                      cmocka_unit_test(as_json), cmocka_unit_test(request_in_text) };
  return cmocka_run_group_tests_name("base/log", tests, NULL, NULL);
}

/* Results and receipts: names, words about what was denied, JSON. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "sandbox/sandbox.h"

static void test_names(void **state)
{
  static const char *const statuses[MF_RUN_STATUS_N] = { "succeeded", "failed", "timed_out", "cancelled", "limit" };
  static const char *const reasons[MF_REASON_N] = {
    "exit",   "exception", "signal", "wall_time", "cpu",      "fuel",         "memory",
    "output", "pids",      "disk",   "cancelled", "capacity", "worker_crash", "unavailable",
  };
  for (int i = 0; i < MF_RUN_STATUS_N; i++)
    assert_string_equal(mf_run_status_name((enum mf_run_status)i), statuses[i]);
  for (int i = 0; i < MF_REASON_N; i++)
    assert_string_equal(mf_run_reason_name((enum mf_run_reason)i), reasons[i]);
  assert_string_equal(mf_run_status_name((enum mf_run_status)99), "unknown");
  assert_string_equal(mf_run_reason_name((enum mf_run_reason)99), "unknown");
}

static void test_empty(void **state)
{
  mf_sandbox_result_free(NULL);
  struct mf_sandbox_result *r = mf_sandbox_result_new();
  assert_string_equal(r->out.ptr, "");
  assert_string_equal(r->err.ptr, "");
  mf_sandbox_result_free(r);
}

static void expect_hint(struct mf_str text, const char *want)
{
  struct mf_sandbox_result *r = mf_sandbox_result_new();
  mf_sandbox_result_deny(r, text);
  assert_int_equal(r->denied_n, want != NULL);
  if (want != NULL)
    assert_string_equal(r->denied[0], want);
  mf_sandbox_result_free(r);
}

static void test_deny_text(void **state)
{
  expect_hint(MF_STR("network is disabled: 'example.com':443"), "network is disabled: 'example.com':443");
  expect_hint(MF_STR(""), NULL);
  expect_hint(MF_STR("a\nb\x1b[31m\x7f"), "a\\x0ab\\x1b[31m\\x7f");
  expect_hint(MF_STR("a\0b"), "a\\x00b");
  expect_hint(MF_STR("a\xff"
                     "b\xe5\x91"),
              "a\xef\xbf\xbd"
              "b\xef\xbf\xbd");
  expect_hint(MF_STR("\xe5\x91\xa8"), "\xe5\x91\xa8");
  expect_hint(MF_STR("\xc2\x9b"
                     "1m \xe2\x80\xae"
                     "gnp.exe\xe2\x80\xa8"),
              "\\u009b1m \\u202egnp.exe\\u2028");
}

static void test_deny_is_cut(void **state)
{
  static const char week[] = { '\xe5', '\x91', '\xa8' };
  char text[1000];
  struct mf_sandbox_result *r = mf_sandbox_result_new();
  memset(text, 'a', sizeof(text));
  mf_sandbox_result_deny(r, (struct mf_str){ text, 240 });
  assert_int_equal(strlen(r->denied[0]), 240);
  assert_int_equal(r->denied[0][239], 'a');
  mf_sandbox_result_deny(r, (struct mf_str){ text, 241 });
  assert_int_equal(strlen(r->denied[1]), 240);
  assert_string_equal(r->denied[1] + 236, "a\xe2\x80\xa6");
  mf_sandbox_result_deny(r, (struct mf_str){ text, 1000 }); /* the same after the cut */
  assert_int_equal(r->denied_n, 2);

  memset(text, '\n', sizeof(text)); /* four bytes each when escaped */
  mf_sandbox_result_deny(r, (struct mf_str){ text, sizeof(text) });
  assert_int_equal(r->denied_n, 3);
  assert_true(strlen(r->denied[2]) <= MF_DENIED_TEXT_MAX);
  assert_string_equal(r->denied[2] + strlen(r->denied[2]) - 7, "\\x0a\xe2\x80\xa6");

  for (size_t i = 0; i + 3 <= sizeof(text); i += 3)
    memcpy(text + i, week, sizeof(week));
  mf_sandbox_result_deny(r, (struct mf_str){ text, 999 });
  assert_true(mf_utf8_is_valid(mf_str_of(r->denied[3])));
  assert_int_equal(strlen(r->denied[3]), 240); /* 79 characters and the mark */
  mf_sandbox_result_free(r);
}

static void test_deny_is_bounded(void **state)
{
  struct mf_sandbox_result *r = mf_sandbox_result_new();
  char text[32];
  for (int i = 0; i < 1000; i++) {
    snprintf(text, sizeof(text), "attempt %d", i % 500);
    mf_sandbox_result_deny(r, mf_str_of(text));
  }
  assert_int_equal(r->denied_n, MF_DENIED_MAX);
  assert_string_equal(r->denied[0], "attempt 0");
  assert_string_equal(r->denied[31], "attempt 31");
  mf_sandbox_result_free(r);
}

static char *to_json(const struct mf_sandbox_result *r, const char *task_id)
{
  struct mf_buf out;
  mf_buf_init(&out, 1u << 20);
  struct mf_json_writer w;
  mf_jw_init(&w, &out, false);
  mf_sandbox_result_write_json(r, task_id, &w);
  assert_int_equal(w.code, MF_OK);
  return mf_buf_take(&out, NULL);
}

#define NO_SHA "\"codeSha256\":\"\""
#define EMPTY_RECEIPT                                                                                                  \
  "\"receipt\":{\"provider\":\"\",\"isolation\":\"\",\"layers\":[],\"seccompSha256\":null,\"landlockAbi\":0,"          \
  "\"memoryControl\":\"\",\"runtime\":{\"id\":null,\"digest\":null,\"pythonVersion\":null},\"start\":null," NO_SHA     \
  ",\"inputs\":[],\"limits\":{\"wallMs\":0,\"cpuMs\":0,\"memoryBytes\":0,\"pids\":0,\"stdoutBytes\":0,"                \
  "\"stderrBytes\":0,\"artifactBytes\":0,\"artifactCount\":0}}"

static void test_json_of_an_empty_result(void **state)
{
  struct mf_sandbox_result *r = mf_sandbox_result_new();
  mf_auto_free char *json = to_json(r, NULL);
  assert_string_equal(json, "{\"taskId\":null,\"status\":\"succeeded\",\"reason\":\"exit\",\"exitCode\":null,"
                            "\"signal\":null,\"stdout\":\"\",\"stderr\":\"\",\"truncated\":{\"stdout\":false,"
                            "\"stderr\":false},\"artifacts\":[],\"rejectedArtifacts\":[],\"denied\":[],"
                            "\"usage\":{\"durationMs\":0,\"cpuMs\":0,\"memoryMb\":null}," EMPTY_RECEIPT "}");
  mf_sandbox_result_free(r);
}

static void test_json_of_a_full_result(void **state)
{
  struct mf_sandbox_result *r = mf_sandbox_result_new();
  r->status = MF_RUN_LIMIT;
  r->reason = MF_REASON_MEMORY;
  r->has_exit_code = true;
  r->exit_code = 137;
  r->signal = 9;
  r->out = (struct mf_buf){ .max = 100 };
  mf_buf_init(&r->out, 100);
  assert_int_equal(mf_buf_append_str(&r->out, MF_STR("a\n\xe2\x98\x95\"\x01")), MF_OK);
  r->err_truncated = true;
  r->artifacts = mf_xcalloc(1, sizeof(*r->artifacts));
  r->artifact_n = 1;
  r->artifacts[0] = (struct mf_artifact){
    .path = mf_xstrdup("d/\xe5\x91\xa8.csv"), .size_bytes = 4, .sha256 = "abc", .mime_type = "text/csv", .fd = -1
  };
  r->rejected = mf_xcalloc(1, sizeof(*r->rejected));
  r->rejected_n = 1;
  r->rejected[0] = (struct mf_rejected_artifact){ mf_xstrdup("x"), mf_xstrdup("symbolic link") };
  mf_sandbox_result_deny(r, MF_STR("program not available: /bin/sh"));
  snprintf(r->diagnostic, sizeof(r->diagnostic), "for the log, not for the object");
  r->duration_ms = 12;
  r->duration_us = 12345;
  r->cpu_ms = 11;
  r->memory_peak_bytes = 79429632; /* 75.75 MiB */
  r->fuel = 231456;
  mf_auto_free char *json = to_json(r, "task_1");
  assert_string_equal(
      json, "{\"taskId\":\"task_1\",\"status\":\"failed\",\"reason\":\"memory\",\"exitCode\":137,"
            "\"signal\":9,\"stdout\":\"a\\n\xe2\x98\x95\\\"\\u0001\",\"stderr\":\"\","
            "\"truncated\":{\"stdout\":false,\"stderr\":true},"
            "\"artifacts\":[{\"path\":\"d/\xe5\x91\xa8.csv\",\"sizeBytes\":4,\"sha256\":\"abc\","
            "\"mimeType\":\"text/csv\"}],"
            "\"rejectedArtifacts\":[{\"path\":\"x\",\"reason\":\"symbolic link\"}],"
            "\"denied\":[\"program not available: /bin/sh\"],"
            "\"usage\":{\"durationMs\":12,\"cpuMs\":11,\"memoryMb\":75.7,\"fuel\":231456}," EMPTY_RECEIPT "}");
  mf_sandbox_result_free(r);
}

static void add_number(void *user, unsigned i, struct mf_json_writer *w)
{
  mf_jw_ku64(w, "number", *(const unsigned *)user + i);
}

/* For a door that knows more than the result, of a run that never was. */
static void test_members(void **state)
{
  unsigned first = 7;
  const struct mf_result_members m = { .reason = NULL, .artifact = add_number, .user = &first };
  struct mf_sandbox_result *r = mf_sandbox_result_new();
  struct mf_json_writer w;
  mf_auto_buf struct mf_buf out;
  r->artifacts = mf_xcalloc(2, sizeof(*r->artifacts));
  r->artifact_n = 2;
  for (unsigned i = 0; i < 2; i++)
    r->artifacts[i] = (struct mf_artifact){ .path = mf_xstrdup("p"), .mime_type = "text/csv", .fd = -1 };
  mf_buf_init(&out, 1u << 20);
  mf_jw_init(&w, &out, false);
  mf_jw_obj(&w);
  mf_sandbox_result_write_members(r, &m, &w);
  mf_jw_obj_end(&w);
  assert_int_equal(w.code, MF_OK);
  assert_string_equal(
      out.ptr, "{\"reason\":null,\"exitCode\":null,\"signal\":null,\"stdout\":\"\",\"stderr\":\"\","
               "\"truncated\":{\"stdout\":false,\"stderr\":false},"
               "\"artifacts\":[{\"number\":7,\"path\":\"p\",\"sizeBytes\":0,\"sha256\":\"\",\"mimeType\":\"text/csv\"},"
               "{\"number\":8,\"path\":\"p\",\"sizeBytes\":0,\"sha256\":\"\",\"mimeType\":\"text/csv\"}],"
               "\"rejectedArtifacts\":[],\"denied\":[],\"usage\":null,\"receipt\":null}");
  mf_sandbox_result_free(r);
}

static void test_status_is_projected(void **state)
{
  static const char *const want[MF_RUN_STATUS_N] = { "succeeded", "failed", "timed_out", "cancelled", "failed" };
  for (int i = 0; i < MF_RUN_STATUS_N; i++) {
    struct mf_sandbox_result *r = mf_sandbox_result_new();
    r->status = (enum mf_run_status)i;
    mf_auto_free char *json = to_json(r, "t");
    mf_auto_free char *part = mf_xasprintf("\"status\":\"%s\",", want[i]);
    assert_non_null(strstr(json, part));
    mf_sandbox_result_free(r);
  }
}

#define SHA_ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define SHA_EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static void test_receipt(void **state)
{
  struct mf_sandbox_result *r = mf_sandbox_result_new();
  struct mf_receipt *receipt = &r->receipt;
  struct mf_sandbox_file files[2] = { { MF_STR("d/a.csv"), MF_STR("abc") }, { MF_STR("empty"), { NULL, 0 } } };
  struct mf_sandbox_spec spec = { .source = MF_STR("abc"), .files = files, .file_n = 2 };
  mf_sandbox_limits_default(&spec.limits);
  spec.limits.cpu_ms = 5000;
  mf_receipt_fill_from_spec(receipt, &spec);
  mf_receipt_fill_from_spec(receipt, &spec); /* again: the first fill is released */
  assert_int_equal(receipt->input_n, 2);
  snprintf(receipt->provider, sizeof(receipt->provider), "local");
  snprintf(receipt->isolation, sizeof(receipt->isolation), "full");
  snprintf(receipt->layers, sizeof(receipt->layers), "user,pid,,landlock:7,");
  snprintf(receipt->seccomp_sha256, sizeof(receipt->seccomp_sha256), SHA_ABC);
  receipt->landlock_abi = 7;
  snprintf(receipt->memory_control, sizeof(receipt->memory_control), "cgroup2");
  snprintf(receipt->runtime_id, sizeof(receipt->runtime_id), "python-data-analysis-v1");
  snprintf(receipt->runtime_digest, sizeof(receipt->runtime_digest), "sha256:00");
  snprintf(receipt->python_version, sizeof(receipt->python_version), "3.12.1");
  snprintf(receipt->start, sizeof(receipt->start), "pool");

  struct mf_buf out;
  mf_buf_init(&out, 10000);
  struct mf_json_writer w;
  mf_jw_init(&w, &out, false);
  mf_receipt_write_json(receipt, &w);
  assert_int_equal(w.code, MF_OK);
  assert_string_equal(
      out.ptr, "{\"provider\":\"local\",\"isolation\":\"full\",\"layers\":[\"user\",\"pid\",\"landlock:7\"],"
               "\"seccompSha256\":\"" SHA_ABC "\",\"landlockAbi\":7,\"memoryControl\":\"cgroup2\","
               "\"runtime\":{\"id\":\"python-data-analysis-v1\",\"digest\":\"sha256:00\",\"pythonVersion\":\"3.12.1\"},"
               "\"start\":\"pool\",\"codeSha256\":\"" SHA_ABC "\","
               "\"inputs\":[{\"name\":\"d/a.csv\",\"sizeBytes\":3,\"sha256\":\"" SHA_ABC "\"},"
               "{\"name\":\"empty\",\"sizeBytes\":0,\"sha256\":\"" SHA_EMPTY "\"}],"
               "\"limits\":{\"wallMs\":60000,\"cpuMs\":5000,\"memoryBytes\":1073741824,\"pids\":64,"
               "\"stdoutBytes\":1048576,\"stderrBytes\":1048576,\"artifactBytes\":20971520,\"artifactCount\":256}}");
  mf_buf_done(&out);
  mf_sandbox_result_free(r);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_names),
    cmocka_unit_test(test_empty),
    cmocka_unit_test(test_deny_text),
    cmocka_unit_test(test_deny_is_cut),
    cmocka_unit_test(test_deny_is_bounded),
    cmocka_unit_test(test_json_of_an_empty_result),
    cmocka_unit_test(test_json_of_a_full_result),
    cmocka_unit_test(test_members),
    cmocka_unit_test(test_status_is_projected),
    cmocka_unit_test(test_receipt),
  };
  return cmocka_run_group_tests_name("result", tests, NULL, NULL);
}

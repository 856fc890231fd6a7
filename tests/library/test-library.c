/* libmayfly from outside: its header only, real sandboxes. test-library [PROVIDER] */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"
#include "mayfly.h"

static struct mayfly *m;
static const char *provider; /* NULL: the default one */

static int open_engine(void **state)
{
  struct mayfly_error e = { 0 };
  const struct mayfly_options options = { .running_max = 2, .queue_max = 8, .provider = provider };
  if (mayfly_open(&options, &m, &e) == MAYFLY_OK)
    return 0;
  print_error("%s\n", e.message);
  return -1;
}

static int close_engine(void **state)
{
  mayfly_close(m);
  return 0;
}

static void submit(const struct mayfly_request *request, char id[MAYFLY_ID_N])
{
  struct mayfly_error e = { 0 };
  if (mayfly_submit(m, request, id, &e) != MAYFLY_OK)
    fail_msg("%s: %s", e.param, e.message);
}

static struct mayfly_result *finish(const char *id)
{
  struct mayfly_error e = { 0 };
  struct mayfly_result *r = NULL;
  if (mayfly_get(m, id, 60000, &r, &e) != MAYFLY_OK)
    fail_msg("%s", e.message);
  return r;
}

static struct mayfly_result *run(const struct mayfly_request *request)
{
  char id[MAYFLY_ID_N];
  submit(request, id);
  return finish(id);
}

static void runs_a_program(void **state)
{
  struct mayfly_result *r =
      run(&(struct mayfly_request){ .code = "import sys\nprint(6 * 7)\nprint('x', file=sys.stderr)" });
  assert_int_equal(r->status, MAYFLY_SUCCEEDED);
  assert_string_equal(r->reason, "exit");
  assert_true(r->has_exit_code);
  assert_int_equal(r->exit_code, 0);
  assert_string_equal(r->stdout_text, "42\n");
  assert_int_equal(r->stdout_size, 3);
  assert_string_equal(r->stderr_text, "x\n");
  assert_int_equal(r->artifact_n, 0);
  assert_non_null(strstr(r->json, "\"receipt\""));
  char wanted[40];
  snprintf(wanted, sizeof(wanted), "\"provider\":\"%s\"", provider ? provider : "local");
  assert_non_null(strstr(r->json, wanted));
  mayfly_result_free(r);
}

static void gives_files_and_takes_artifacts(void **state)
{
  const struct mayfly_file files[] = { { "in/a.bin", "\0\xff\n", 3 }, { "empty", NULL, 0 } };
  char id[MAYFLY_ID_N];
  submit(&(struct mayfly_request){ .code = "import os\n"
                                           "d = open('in/a.bin', 'rb').read()\n"
                                           "assert os.path.getsize('empty') == 0\n"
                                           "os.mkdir('out')\n"
                                           "open('out/b.bin', 'wb').write(d[::-1])\n",
                                   .files = files,
                                   .file_n = 2 },
         id);
  struct mayfly_result *r = finish(id);
  assert_string_equal(r->stderr_text, "");
  assert_int_equal(r->artifact_n, 1);
  assert_string_equal(r->artifacts[0].path, "out/b.bin");
  assert_int_equal(r->artifacts[0].size_bytes, 3);
  void *data = NULL;
  size_t size = 0;
  assert_int_equal(mayfly_artifact(m, id, r->artifacts[0].artifact_id, &data, &size, NULL), MAYFLY_OK);
  assert_int_equal(size, 3);
  assert_memory_equal(data, "\n\xff\0", 3);
  free(data);
  assert_int_equal(mayfly_artifact(m, id, "artifact_none", &data, &size, NULL), MAYFLY_E_NOT_FOUND);
  mayfly_result_free(r);
  assert_int_equal(mayfly_delete(m, id, NULL), MAYFLY_OK);
  assert_int_equal(mayfly_get(m, id, 0, &r, NULL), MAYFLY_E_NOT_FOUND);
}

static void tells_how_it_ended(void **state)
{
  static const struct {
    const char *code, *reason;
    unsigned timeout_ms;
    enum mayfly_status status;
    int exit_code; /* -1: none */
  } rows[] = {
    { "import sys; sys.exit(3)", "exit", 0, MAYFLY_FAILED, 3 },
    { "1 / 0", "exception", 0, MAYFLY_FAILED, 1 },
    { "while True: pass", "wall_time", 200, MAYFLY_TIMED_OUT, -1 },
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct mayfly_result *r = run(&(struct mayfly_request){ .code = rows[i].code, .timeout_ms = rows[i].timeout_ms });
    assert_int_equal(r->status, rows[i].status);
    assert_string_equal(r->reason, rows[i].reason);
    assert_int_equal(r->has_exit_code ? r->exit_code : -1, rows[i].exit_code);
    mayfly_result_free(r);
  }
}

static void cancels(void **state)
{
  char id[MAYFLY_ID_N];
  struct mayfly_result *r = NULL;
  submit(&(struct mayfly_request){ .code = "import time; time.sleep(50)" }, id);
  assert_int_equal(mayfly_get(m, id, 0, &r, NULL), MAYFLY_OK);
  assert_true(r->status == MAYFLY_QUEUED || r->status == MAYFLY_RUNNING);
  mayfly_result_free(r);
  assert_int_equal(mayfly_cancel(m, id, NULL), MAYFLY_OK);
  r = finish(id);
  assert_int_equal(r->status, MAYFLY_CANCELLED);
  mayfly_result_free(r);
  assert_int_equal(mayfly_cancel(m, id, NULL), MAYFLY_OK);
  assert_int_equal(mayfly_cancel(m, "task_of_nobody", NULL), MAYFLY_E_NOT_FOUND);
}

static void says_what_is_wrong(void **state)
{
  const struct mayfly_file up = { "../x", "", 0 }, no_name = { NULL, "x", 1 },
                           twice[] = { { "a", "1", 1 }, { "a", "2", 1 } };
  const struct mayfly_file no_data[] = { { "a", NULL, 0 }, { "b", NULL, 5 } }, huge = { "a", "x", SIZE_MAX };
  const struct {
    struct mayfly_request request;
    const char *param;
  } rows[] = {
    { { .code = NULL }, "code" },
    { { .code = "1", .timeout_ms = 60001 }, "limits.timeoutMs" },
    { { .code = "1", .memory_mb = 1 }, "limits.memoryMb" },
    { { .code = "1", .files = &up, .file_n = 1 }, "files[0].name" },
    { { .code = "1", .files = twice, .file_n = 2 }, "files[1].name" },
    { { .code = "\xff" }, "code" },
    { { .code = "1", .files = NULL, .file_n = 1 }, "files" },
    { { .code = "1", .files = &no_name, .file_n = 1 }, "files[0].name" },
    { { .code = "1", .files = no_data, .file_n = 2 }, "files[1].data" },
    { { .code = "1", .files = &huge, .file_n = 1 }, "files[0].content" },
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct mayfly_error e = { 0 };
    char id[MAYFLY_ID_N] = "untouched";
    assert_int_equal(mayfly_submit(m, &rows[i].request, id, &e), MAYFLY_E_INPUT);
    assert_string_equal(e.param, rows[i].param);
    assert_true(e.message[0] != 0);
    assert_string_equal(id, "untouched");
  }
}

static void is_busy_when_the_queue_is_full(void **state)
{
  char ids[10][MAYFLY_ID_N], more[MAYFLY_ID_N];
  struct mayfly_error e = { 0 };
  const struct mayfly_request sleeps = { .code = "import time; time.sleep(50)" };
  for (int i = 0; i < 10; i++) /* two run, eight wait */
    submit(&sleeps, ids[i]);
  assert_int_equal(mayfly_submit(m, &sleeps, more, &e), MAYFLY_E_BUSY);
  for (int i = 10; i-- > 0;)
    assert_int_equal(mayfly_delete(m, ids[i], NULL), MAYFLY_OK);
  struct mayfly_result *r = run(&(struct mayfly_request){ .code = "print('again')" });
  assert_string_equal(r->stdout_text, "again\n");
  mayfly_result_free(r);
}

enum { THREADS = 4, EACH = 5 };

static void *submit_some(void *user)
{
  const char **fault = user;
  for (long i = 0; i < EACH; i++) {
    char code[40], wanted[20];
    char id[MAYFLY_ID_N];
    struct mayfly_result *r = NULL;
    snprintf(code, sizeof(code), "print(%ld * 2)", i);
    snprintf(wanted, sizeof(wanted), "%ld\n", i * 2);
    if (mayfly_submit(m, &(struct mayfly_request){ .code = code }, id, NULL) != MAYFLY_OK ||
        mayfly_get(m, id, 60000, &r, NULL) != MAYFLY_OK) {
      *fault = "no result";
      return NULL;
    }
    if (strcmp(r->stdout_text, wanted) != 0)
      *fault = "another's result";
    mayfly_result_free(r);
  }
  return NULL;
}

static void serves_threads(void **state)
{
  pthread_t threads[THREADS];
  const char *faults[THREADS] = { NULL };
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, submit_some, &faults[i]), 0);
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_join(threads[i], NULL), 0);
  for (int i = 0; i < THREADS; i++)
    if (faults[i])
      fail_msg("%s", faults[i]);
}

static void refuses_to_open_without_its_parts(void **state)
{
  struct mayfly *none = NULL;
  struct mayfly_error e = { 0 };
  const struct mayfly_options no_runtime = { .runtime = "/nonexistent", .provider = provider };
  const struct mayfly_options no_program = { .program = "/nonexistent", .provider = provider };
  const struct mayfly_options no_provider = { .provider = "cloud" };
  assert_int_equal(mayfly_open(&no_runtime, &none, &e), MAYFLY_E_UNAVAILABLE);
  assert_non_null(strstr(e.message, "/nonexistent"));
  assert_int_equal(mayfly_open(&no_program, &none, &e), MAYFLY_E_UNAVAILABLE);
  assert_non_null(strstr(e.message, "/nonexistent"));
  assert_int_equal(mayfly_open(&no_provider, &none, &e), MAYFLY_E_INPUT);
  assert_string_equal(e.param, "provider");
  assert_non_null(strstr(e.message, "available: local, wasm"));
#ifndef MF_HAS_WASM
  const struct mayfly_options not_built = { .provider = "wasm" };
  assert_int_equal(mayfly_open(&not_built, &none, &e), MAYFLY_E_UNAVAILABLE);
  assert_non_null(strstr(e.message, "built without"));
#endif
  assert_null(none);
  mayfly_close(NULL);
  mayfly_result_free(NULL);
}

int main(int argc, char **argv)
{
  provider = argc > 1 ? argv[1] : NULL;
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(runs_a_program),     cmocka_unit_test(gives_files_and_takes_artifacts),
    cmocka_unit_test(tells_how_it_ended), cmocka_unit_test(cancels),
    cmocka_unit_test(says_what_is_wrong), cmocka_unit_test(is_busy_when_the_queue_is_full),
    cmocka_unit_test(serves_threads),     cmocka_unit_test(refuses_to_open_without_its_parts),
  };
  return cmocka_run_group_tests(tests, open_engine, close_engine);
}

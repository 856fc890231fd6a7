/* Isolation "none": the host's Python, through the provider. Needs a Python 3 of the system. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "fake.h"
#include "tempdir.h"
#include "base/banned.h"

#define PYTHON "/usr/bin/python3"

static bool has_python(void)
{
  return access(PYTHON, X_OK) == 0;
}

static void open_direct(struct fake *f)
{
  if (!has_python()) {
    print_message("# there is no " PYTHON " here\n");
    skip();
  }
  fake_init(f);
  f->config.isolation = MF_ISOLATION_PREFER;
  f->zygote_dir = getenv("MF_RUNTIME_PYTHON");
  assert_non_null(f->zygote_dir);
  snprintf(f->runtime.host_python, sizeof(f->runtime.host_python), PYTHON);
  fake_open(f);
  fake_send_fatal(f, "unshare user", EPERM);
  UNTIL(f, f->ready_n > 0);
  assert_int_equal(f->ready_code, MF_OK);
}

static struct fake_run *run(struct fake *f, const struct mf_sandbox_spec *spec)
{
  struct fake_run *r = fake_start(f, spec);
  UNTIL(f, r->finished_n > 0);
  return r;
}

static void assert_end(const struct fake_run *r, enum mf_run_status status, enum mf_run_reason reason, int exit_code)
{
  if (r->result->status != status || r->result->reason != reason)
    fail_msg("got %s/%s, expected %s/%s; stderr: %s", mf_run_status_name(r->result->status),
             mf_run_reason_name(r->result->reason), mf_run_status_name(status), mf_run_reason_name(reason),
             r->result->err.ptr);
  assert_int_equal(r->result->has_exit_code ? r->result->exit_code : -1, exit_code);
}

static void runs_with_files(void **state)
{
  struct fake f;
  open_direct(&f);
  const struct mf_str argv[] = { MF_STR("--n"), MF_STR("二") };
  const struct mf_sandbox_file files[] = {
    { MF_STR("in.csv"), MF_STR("1\n") },
    { MF_STR("pkg/helper.py"), MF_STR("x = 42\n") },
  };
  struct mf_sandbox_spec spec = fake_spec("import os, sys\nfrom pkg.helper import x\n"
                                          "print(__name__, sys.argv, x, sys.stdin.read() == '')\n"
                                          "open('out.txt', 'w').write(open('in.csv').read() * 2)\n"
                                          "print('to err', file=sys.stderr)\n"
                                          "print(sorted(k for k in os.environ if 'SECRET' in k))\n");
  spec.source_name = MF_STR("job.py");
  spec.argv = argv;
  spec.argv_n = 2;
  spec.files = files;
  spec.file_n = 2;
  setenv("MAYFLY_TEST_SECRET", "x", 1);
  struct fake_run *r = run(&f, &spec);
  assert_end(r, MF_RUN_SUCCEEDED, MF_REASON_EXIT, 0);
  assert_string_equal(r->result->out.ptr, "__main__ ['job.py', '--n', '二'] 42 True\n[]\n");
  assert_string_equal(r->result->err.ptr, "to err\n");
  assert_int_equal(r->started_n, 1);
  assert_int_equal(r->result->artifact_n, 1);
  assert_string_equal(r->result->artifacts[0].path, "out.txt");
  assert_int_equal(r->result->artifacts[0].size_bytes, 4);
  assert_string_equal(r->result->receipt.isolation, "none");
  assert_string_equal(r->result->receipt.layers, "");
  assert_string_equal(r->result->receipt.memory_control, "rlimit");
  assert_string_equal(r->result->receipt.start, "cold");
  assert_string_equal(r->result->receipt.seccomp_sha256, "");
  assert_int_equal(mf_provider_busy(f.provider), 0);
  fake_close(&f);
}

static void shows_a_last_expression(void **state)
{
  static const struct {
    const char *source, *out, *err;
  } rows[] = {
    { "x = 41\nx + 1\n", "42\n", "" },
    { "'a docstring'\n", "'a docstring'\n", "" },
    { "x = 1\nx;\n", "", "" },
    { "1 +\n", "", "  File \"main.py\", line 1\n    1 +\n       ^\nSyntaxError: invalid syntax\n" },
  };
  struct fake f;
  open_direct(&f);
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    struct mf_sandbox_spec spec = fake_spec(rows[i].source);
    spec.display_last_expression = true;
    const struct fake_run *r = run(&f, &spec);
    assert_string_equal(r->result->out.ptr, rows[i].out);
    assert_string_equal(r->result->err.ptr, rows[i].err);
    spec.display_last_expression = false;
    assert_string_equal(run(&f, &spec)->result->out.ptr, "");
  }
  fake_close(&f);
}

static void knows_the_ends(void **state)
{
  static const struct {
    const char *source;
    enum mf_run_status status;
    enum mf_run_reason reason;
    int exit_code;
  } rows[] = {
    { "raise SystemExit(3)", MF_RUN_FAILED, MF_REASON_EXIT, 3 },
    { "import os; os._exit(4)", MF_RUN_FAILED, MF_REASON_EXIT, 4 },
    { "1/0", MF_RUN_FAILED, MF_REASON_EXCEPTION, 1 },
    { "def (", MF_RUN_FAILED, MF_REASON_EXCEPTION, 1 },
    { "raise MemoryError", MF_RUN_LIMIT, MF_REASON_MEMORY, 1 },
    { "x = bytearray(1 << 40)", MF_RUN_LIMIT, MF_REASON_MEMORY, 1 },
    { "raise OSError(28, 'full')", MF_RUN_LIMIT, MF_REASON_DISK, 1 },
    { "import os; os.abort()", MF_RUN_FAILED, MF_REASON_SIGNAL, -1 },
    { "import os, signal; os.kill(os.getpid(), signal.SIGKILL)", MF_RUN_FAILED, MF_REASON_SIGNAL, -1 },
  };
  struct fake f;
  open_direct(&f);
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    const struct mf_sandbox_spec spec = fake_spec(rows[i].source);
    assert_end(run(&f, &spec), rows[i].status, rows[i].reason, rows[i].exit_code);
  }
  fake_close(&f);
}

static void tracebacks_show_only_the_program(void **state)
{
  struct fake f;
  open_direct(&f);
  const struct mf_sandbox_spec spec = fake_spec("def g():\n  return 1/0\ng()\n");
  struct fake_run *r = run(&f, &spec);
  const char *text = r->result->err.ptr;
  const char *start = "Traceback (most recent call last):\n  File \"main.py\", line 3, in <module>\n    g()\n";
  if (strncmp(text, start, strlen(start)) != 0)
    fail_msg("%s", text);
  assert_non_null(strstr(text, "ZeroDivisionError: division by zero\n"));
  fake_close(&f);
}

static void ends_at_the_deadline_with_its_group(void **state)
{
  struct fake f;
  open_direct(&f);
  struct mf_sandbox_spec spec = fake_spec("import os, time\n"
                                          "open('left.txt', 'w').write('x')\n"
                                          "pid = os.fork()\n"
                                          "print(os.getpid() if pid == 0 else pid, flush=True) if pid else None\n"
                                          "time.sleep(60)\n");
  /* On a busy machine the interpreter may need longer than this to come so far. */
  struct fake_run *r = NULL;
  for (spec.limits.wall_ms = 1000; spec.limits.wall_ms < 60000 && (!r || r->out.len == 0); spec.limits.wall_ms *= 2) {
    r = run(&f, &spec);
    assert_end(r, MF_RUN_TIMED_OUT, MF_REASON_WALL_TIME, -1);
  }
  assert_int_equal(r->result->artifact_n, 1);
  int pid = 0;
  assert_int_equal(sscanf(r->result->out.ptr, "%d", &pid), 1);
  /* Its child got the same signal; init reaps it in its own time. */
  for (unsigned i = 0; i < 20000 && kill(pid, 0) == 0; i++) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    mf_auto_free char *stat = NULL;
    size_t n;
    if (mf_read_file(AT_FDCWD, path, 4096, &stat, &n, NULL) == MF_OK && strstr(stat, ") Z "))
      break;
    fake_slice(&f);
  }
  fake_close(&f);
}

static void cancels_and_stops(void **state)
{
  struct fake f;
  open_direct(&f);
  struct mf_sandbox_spec spec = fake_spec("import time\nprint('up', flush=True)\ntime.sleep(60)\n");
  struct fake_run *r = fake_start(&f, &spec);
  UNTIL(&f, r->out.len == 3);
  mf_sandbox_cancel(r->run);
  UNTIL(&f, r->finished_n > 0);
  assert_end(r, MF_RUN_CANCELLED, MF_REASON_CANCELLED, -1);

  spec = fake_spec("while True: print('flood')\n");
  spec.limits.stdout_bytes = 1000;
  spec.limits.output_policy = MF_OUTPUT_STOP;
  struct fake_run *flood = run(&f, &spec);
  assert_end(flood, MF_RUN_LIMIT, MF_REASON_OUTPUT, -1);
  assert_int_equal(flood->result->out.len, 1000);
  assert_true(flood->result->out_truncated);
  fake_close(&f);
}

/* The end of the process counts, not the end of the pipe. */
static void does_not_wait_for_who_holds_the_pipe(void **state)
{
  struct fake f;
  open_direct(&f);
  const struct mf_sandbox_spec spec =
      fake_spec("import subprocess, sys\n"
                "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(40)'])\n"
                "print('launched')\n");
  struct fake_run *r = run(&f, &spec);
  assert_end(r, MF_RUN_SUCCEEDED, MF_REASON_EXIT, 0);
  assert_string_equal(r->result->out.ptr, "launched\n");
  assert_true(r->result->duration_ms < 30000);
  fake_close(&f);
}

static void closing_kills(void **state)
{
  struct fake f;
  open_direct(&f);
  const struct mf_sandbox_spec spec = fake_spec("import time\nprint('up', flush=True)\ntime.sleep(60)\n");
  struct fake_run *r = fake_start(&f, &spec), *other = fake_start(&f, &spec);
  UNTIL(&f, r->out.len == 3);
  fake_close(&f);
  assert_int_equal(r->finished_n, 1);
  assert_int_equal(other->finished_n, 1);
  assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
  assert_int_equal(errno, ECHILD);
}

/* ---- the directory ---- */

static void removes_any_tree(void **state)
{
  struct mf_tempdir dir;
  struct mf_err err;
  assert_ok(mf_tempdir_make(&dir, &err), &err);
  mf_auto_free char *path = mf_xstrdup(dir.path);
  assert_ok(mf_tempdir_write(&dir, MF_STR("a/b/c.txt"), MF_STR("x"), &err), &err);
  assert_int_equal(symlinkat("/", dir.fd, "a/root"), 0);
  assert_int_equal(symlinkat("/nonexistent", dir.fd, "dangling"), 0);
  assert_int_equal(mkfifoat(dir.fd, "a/fifo", 0), 0);
  assert_int_equal(mkdirat(dir.fd, "a/locked", 0700), 0);
  assert_ok(mf_tempdir_write(&dir, MF_STR("a/locked/in/x"), MF_STR("x"), &err), &err);
  assert_int_equal(fchmodat(dir.fd, "a/locked/in", 0, 0), 0);
  assert_int_equal(fchmodat(dir.fd, "a/locked", 0, 0), 0);
  /* Deeper than a path can be long. */
  mf_auto_close int at = dup(dir.fd);
  for (unsigned i = 0; i < 3000; i++) {
    assert_int_equal(mkdirat(at, "down", 0700), 0);
    int next = openat(at, "down", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(next >= 0);
    close(at);
    at = next;
  }
  mf_tempdir_remove(&dir);
  assert_int_equal(access(path, F_OK), -1);
  assert_int_equal(errno, ENOENT);
  mf_tempdir_remove(&dir); /* fine twice */
}

int main(void)
{
  signal(SIGPIPE, SIG_IGN);
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(runs_with_files),
    cmocka_unit_test(shows_a_last_expression),
    cmocka_unit_test(knows_the_ends),
    cmocka_unit_test(tracebacks_show_only_the_program),
    cmocka_unit_test(ends_at_the_deadline_with_its_group),
    cmocka_unit_test(cancels_and_stops),
    cmocka_unit_test(does_not_wait_for_who_holds_the_pipe),
    cmocka_unit_test(closing_kills),
    cmocka_unit_test(removes_any_tree),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

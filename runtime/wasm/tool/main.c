/* mayfly-wasm-tool: the command line around tool.h. Used by scripts/setup-wasm-runtime, never installed. */
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "wasm/engine.h"
#include "wasm/abi.h"
#include "module.h"

#include "base/banned.h"

static const char usage[] = "usage: mayfly-wasm-tool snapshot IN.wasm OUT.wasm\n"
                            "       mayfly-wasm-tool compile IN.wasm OUT.cwasm [default|native]\n";

struct job {
  int argc;
  char **argv;
  int status;
};

static enum mf_code write_file(const char *path, struct mf_str bytes, struct mf_err *err)
{
  mf_auto_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0)
    return mf_fail(err, MF_E_SYS, errno, "create '%s'", path);
  enum mf_code c = mf_write_all(fd, bytes.ptr, bytes.len, err);
  return c == MF_OK ? MF_OK : mf_wrap(err, c, "write '%s'", path);
}

static enum mf_code run(const char *command, const char *in, const char *out, const char *cpu, struct mf_err *err)
{
  mf_auto_free char *bytes = NULL;
  size_t n;
  enum mf_code c = mf_read_file(AT_FDCWD, in, MF_MODULE_MAX_BYTES, &bytes, &n, err);
  if (c != MF_OK)
    return c;
  struct mf_str module = { bytes, n };
  mf_auto_buf struct mf_buf made;
  mf_buf_init(&made, MF_MODULE_MAX_BYTES);
  c = strcmp(command, "snapshot") == 0 ? mf_tool_snapshot(module, &made, err)
                                       : mf_tool_compile(module, cpu, &made, err);
  return c == MF_OK ? write_file(out, mf_buf_str(&made), err) : mf_wrap(err, c, "%s '%s'", command, in);
}

static void *run_job(void *user)
{
  struct job *job = user;
  struct mf_err err;
  char **a = job->argv;
  if (run(a[1], a[2], a[3], job->argc > 4 ? a[4] : "", &err) == MF_OK)
    return NULL;
  fprintf(stderr, "mayfly-wasm-tool: %s\n", err.msg);
  job->status = 1;
  return NULL;
}

static bool is_valid(int argc, char **argv)
{
  if (argc < 4)
    return false;
  return (strcmp(argv[1], "snapshot") == 0 && argc == 4) || (strcmp(argv[1], "compile") == 0 && argc <= 5);
}

/* On a thread of its own, because only a thread's stack can be as large as the guest's must be. */
int main(int argc, char **argv)
{
  struct job job = { .argc = argc, .argv = argv };
  pthread_attr_t attr;
  pthread_t thread;
  if (!is_valid(argc, argv)) {
    fputs(usage, stderr);
    return 2;
  }
  pthread_attr_init(&attr);
  pthread_attr_setstacksize(&attr, MF_GUEST_STACK_BYTES + 8 * MF_ENGINE_HOST_STACK_BYTES);
  int failed = pthread_create(&thread, &attr, run_job, &job);
  pthread_attr_destroy(&attr);
  if (failed) {
    fprintf(stderr, "mayfly-wasm-tool: no thread: %s\n", strerror(failed));
    return 1;
  }
  pthread_join(thread, NULL);
  return job.status;
}

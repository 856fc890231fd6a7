/* Results as words and numbers. */
#include "report.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/random.h>

#include "cli.h"

#include "base/banned.h"

int mf_result_exit_status(const struct mf_sandbox_result *r)
{
  int own = r->has_exit_code && r->exit_code != 0 ? r->exit_code : 0;

  if (r->status == MF_RUN_SUCCEEDED)
    return own;
  switch (r->reason) {
  case MF_REASON_EXIT:
  case MF_REASON_EXCEPTION:
    return own ? own : 1;
  case MF_REASON_SIGNAL:
    return r->signal > 0 ? 128 + r->signal : own ? own : 1;
  case MF_REASON_WALL_TIME:
    return MF_EXIT_TIMEOUT;
  case MF_REASON_MEMORY:
    return MF_EXIT_MEMORY;
  case MF_REASON_CPU:
    return 128 + SIGXCPU;
  case MF_REASON_FUEL:
  case MF_REASON_OUTPUT:
  case MF_REASON_PIDS:
  case MF_REASON_DISK:
    return own ? own : r->signal > 0 ? 128 + r->signal : 1;
  case MF_REASON_CANCELLED:
    return 128 + SIGINT;
  case MF_REASON_CAPACITY:
  case MF_REASON_WORKER_CRASH:
  case MF_REASON_UNAVAILABLE:
  case MF_REASON_N:
    break;
  }
  return MF_EXIT_OURS;
}

void mf_result_words(const struct mf_sandbox_result *r, const struct mf_sandbox_limits *l, char *ret, size_t n)
{
  ret[0] = 0;
  if (r->status == MF_RUN_SUCCEEDED)
    return;
  switch (r->reason) {
  case MF_REASON_EXIT:
  case MF_REASON_EXCEPTION:
    break; /* a traceback or the program's own words */
  case MF_REASON_SIGNAL: {
    const char *name = sigabbrev_np(r->signal);
    snprintf(ret, n, "ended by signal %d%s%s", r->signal, name ? " SIG" : "", name ? name : "");
    break;
  }
  case MF_REASON_WALL_TIME:
    snprintf(ret, n, "timed out after %llu ms", (unsigned long long)l->wall_ms);
    break;
  case MF_REASON_CPU:
    snprintf(ret, n, "stopped: used the %llu ms of processor time that it may have", (unsigned long long)l->cpu_ms);
    break;
  case MF_REASON_FUEL:
    snprintf(ret, n, "stopped: used all the fuel that it may have");
    break;
  case MF_REASON_MEMORY:
    snprintf(ret, n, "stopped: over the memory limit of %llu MB", (unsigned long long)(l->memory_bytes >> 20));
    break;
  case MF_REASON_OUTPUT:
    snprintf(ret, n, "stopped: printed more than it may");
    break;
  case MF_REASON_PIDS:
    snprintf(ret, n, "failed: more than %u processes and threads", l->pids);
    break;
  case MF_REASON_DISK:
    snprintf(ret, n, "failed: the sandbox's disk is full");
    break;
  case MF_REASON_CANCELLED:
    snprintf(ret, n, "cancelled");
    break;
  case MF_REASON_CAPACITY:
  case MF_REASON_WORKER_CRASH:
  case MF_REASON_UNAVAILABLE:
  case MF_REASON_N:
    snprintf(ret, n, "%s%s%s", mf_run_reason_name(r->reason), r->diagnostic[0] ? ": " : "", r->diagnostic);
    break;
  }
}

enum mf_code mf_task_id(char ret[MF_TASK_ID_N], struct mf_err *err)
{
  static const char alphabet[] = "0123456789abcdefghijklmnopqrstuvwxyz";
  unsigned char raw[64];
  size_t at = 5, used = sizeof(raw);

  memcpy(ret, "task_", 5);
  while (at < MF_TASK_ID_N - 1) {
    if (used == sizeof(raw)) {
      if (getrandom(raw, sizeof(raw), 0) != (ssize_t)sizeof(raw))
        return mf_fail(err, MF_E_SYS, errno, "getrandom");
      used = 0;
    }
    unsigned char b = raw[used++];
    if (b < 252) /* 7 × 36: no character is likelier than another */
      ret[at++] = alphabet[b % 36];
  }
  ret[at] = 0;
  return MF_OK;
}

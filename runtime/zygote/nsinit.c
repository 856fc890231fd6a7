/* PID 1 of a guest's pid namespace: reaps orphans, ignores every signal from inside, and takes the namespace with it
 * when it is killed from outside.
 *
 * It is not a copy of the zygote but shares its memory (CLONE_VM): nothing is copied, so it costs tens of microseconds.
 * The price is a rule: it may touch only its own stack and raw system calls, never errno, the heap or a lock. Guests
 * cannot reach it: they live in a user namespace below its own (ptrace(2), "Ptrace access mode checking"). With the
 * guest as PID 2, default signal actions work as in any program: the kernel shields only PID 1 from them
 * (pid_namespaces(7)). */
#include "zygote-internal.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "rawcall.h"

#define STACK_BYTES 4096u /* serve() makes ZYG_SLOTS of them */

__attribute__((noreturn)) static int nsinit_main(void *arg)
{
  (void)arg;
  zyg_raw(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0, 0);
  zyg_raw(SYS_prctl, PR_SET_NAME, (long)"mayfly-ns", 0, 0, 0, 0);
  zyg_raw(SYS_close_range, 0, (long)~0u, 0, 0, 0, 0);
  zyg_raw(SYS_setsid, 0, 0, 0, 0, 0, 0);
  uint64_t all = ~0ull, chld = 1ull << (SIGCHLD - 1);
  zyg_raw(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, 0, sizeof all, 0, 0);
  for (;;) {
    while (zyg_raw(SYS_wait4, -1, 0, WNOHANG | __WALL, 0, 0, 0) > 0) {
    }
    zyg_raw(SYS_rt_sigtimedwait, (long)&chld, 0, 0, sizeof chld, 0, 0);
  }
}

pid_t zyg_nsinit_start(void *stacks, unsigned slot)
{
  char *top = (char *)stacks + (size_t)(slot % ZYG_SLOTS + 1) * STACK_BYTES;
  return clone(nsinit_main, top, CLONE_VM | SIGCHLD, NULL);
}

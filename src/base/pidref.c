/* mf_pidref: a process held by a pidfd. Thread: any, one owner at a time. */
#include "base/pidref.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/num.h"
#include "base/banned.h"

/* Finds "Pid:\t123" in a fdinfo text. The kernel writes -1 once the process was reaped and 0 when it is not
 * visible from the pid namespace of our /proc; neither is all digits above 0, so neither parses. */
static pid_t parse_fdinfo(const char *text)
{
  const char *at = strstr(text, "\nPid:");
  if (!at)
    return -1;
  at += strlen("\nPid:");
  at += strspn(at, " \t");
  struct mf_str digits = { at, strcspn(at, "\n") };
  uint64_t pid = 0;
  if (mf_parse_u64(digits, "pid", 1, INT32_MAX, &pid, NULL))
    return 0;
  return (pid_t)pid;
}

enum mf_code mf_pidref_from_fd(struct mf_pidref *ret, int pidfd, struct mf_err *err)
{
  mf_auto_close int fd = pidfd;
  char path[64];
  snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
  mf_auto_free char *text = NULL;
  size_t n = 0;
  enum mf_code code = mf_read_file(AT_FDCWD, path, 65536, &text, &n, err);
  if (code)
    return mf_wrap(err, code, "pidfd %d", fd);

  pid_t pid = parse_fdinfo(text);
  if (pid < 0)
    return mf_fail(err, MF_E_INPUT, 0, "descriptor %d is not a pidfd", fd);
  if (pid == 0)
    return mf_fail(err, MF_E_GONE, 0, "the process of pidfd %d has ended or is not visible here", fd);
  *ret = (struct mf_pidref){ pid, mf_take_fd(&fd) };
  return MF_OK;
}

enum mf_code mf_pidref_open(struct mf_pidref *ret, pid_t pid, struct mf_err *err)
{
  /* Close-on-exec is the kernel's default for a pidfd. */
  int fd = (int)syscall(SYS_pidfd_open, pid, 0);
  if (fd < 0)
    return mf_fail(err, errno == ESRCH ? MF_E_GONE : MF_E_SYS, errno, "open process %d", (int)pid);
  *ret = (struct mf_pidref){ pid, fd };
  return MF_OK;
}

void mf_pidref_done(struct mf_pidref *p)
{
  mf_close_ptr(&p->fd);
  p->pid = 0;
}

enum mf_code mf_pidref_signal(const struct mf_pidref *p, int sig, struct mf_err *err)
{
  if (syscall(SYS_pidfd_send_signal, p->fd, sig, NULL, 0) < 0 && errno != ESRCH)
    return mf_fail(err, MF_E_SYS, errno, "send signal %d to process %d", sig, (int)p->pid);
  return MF_OK;
}

bool mf_pidref_is_dead(const struct mf_pidref *p)
{
  if (p->fd < 0)
    return true;
  struct pollfd pfd = { .fd = p->fd, .events = POLLIN };
  int n;
  do
    n = poll(&pfd, 1, 0);
  while (n < 0 && errno == EINTR);
  return n > 0 && (pfd.revents & POLLIN);
}

/* mf_pidref: children of our own, held by pidfds. */
#include "unit.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/pidref.h"
#include "base/banned.h"

/* A child that waits for a signal. */
static pid_t start_child(void)
{
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0)
    for (;;)
      pause();
  return pid;
}

static int wait_for(pid_t pid)
{
  int status = 0;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  return status;
}

static void wait_until_dead(const struct mf_pidref *p)
{
  struct pollfd pfd = { .fd = p->fd, .events = POLLIN };
  assert_int_equal(poll(&pfd, 1, -1), 1);
}

static void life_and_death(void **state)
{
  pid_t pid = start_child();
  struct mf_pidref p = MF_PIDREF_NULL;
  struct mf_err err = { 0 };
  assert_ok(mf_pidref_open(&p, pid, &err), &err);
  assert_int_equal(p.pid, pid);
  assert_true(fcntl(p.fd, F_GETFD) & FD_CLOEXEC);
  assert_false(mf_pidref_is_dead(&p));
  assert_int_equal(mf_pidref_signal(&p, 0, NULL), MF_OK);

  assert_int_equal(mf_pidref_signal(&p, SIGKILL, NULL), MF_OK);
  wait_until_dead(&p);
  assert_true(mf_pidref_is_dead(&p)); /* a zombie has ended */
  assert_int_equal(WTERMSIG(wait_for(pid)), SIGKILL);
  assert_true(mf_pidref_is_dead(&p));
  assert_int_equal(mf_pidref_signal(&p, SIGKILL, NULL), MF_OK);
  mf_pidref_done(&p);
  assert_int_equal(p.fd, -1);
  assert_int_equal(p.pid, 0);
  mf_pidref_done(&p);
}

static void from_fd_learns_the_pid(void **state)
{
  pid_t pid = start_child();
  struct mf_pidref a = MF_PIDREF_NULL, b = MF_PIDREF_NULL;
  struct mf_err err = { 0 };
  assert_ok(mf_pidref_open(&a, pid, &err), &err);
  int copy = fcntl(a.fd, F_DUPFD_CLOEXEC, 3);
  assert_ok(mf_pidref_from_fd(&b, copy, &err), &err);
  assert_int_equal(b.pid, pid);
  assert_int_equal(b.fd, copy);
  assert_int_equal(mf_pidref_signal(&b, SIGTERM, NULL), MF_OK);
  assert_int_equal(WTERMSIG(wait_for(pid)), SIGTERM);
  mf_pidref_done(&a);
  mf_pidref_done(&b);
}

static void from_fd_consumes_what_it_refuses(void **state)
{
  pid_t pid = start_child();
  struct mf_pidref a = MF_PIDREF_NULL, b = MF_PIDREF_NULL;
  struct mf_err err = { 0 };
  assert_ok(mf_pidref_open(&a, pid, &err), &err);
  assert_int_equal(mf_pidref_signal(&a, SIGKILL, NULL), MF_OK);
  wait_for(pid);
  int copy = fcntl(a.fd, F_DUPFD_CLOEXEC, 3);
  assert_int_equal(mf_pidref_from_fd(&b, copy, &err), MF_E_GONE);
  assert_int_equal(fcntl(copy, F_GETFD), -1);
  mf_pidref_done(&a);

  int file = -1;
  assert_int_equal(mf_memfd("mf-test", &file, NULL), MF_OK);
  assert_int_equal(mf_pidref_from_fd(&b, file, &err), MF_E_INPUT);
  assert_int_equal(fcntl(file, F_GETFD), -1);
  assert_int_equal(b.fd, -1);
}

static void no_such_process(void **state)
{
  pid_t pid = start_child();
  kill(pid, SIGKILL);
  wait_for(pid);
  struct mf_pidref p = MF_PIDREF_NULL;
  struct mf_err err = { 0 };
  /* The number was free a moment ago and is not handed out again so soon. */
  assert_int_equal(mf_pidref_open(&p, pid, &err), MF_E_GONE);
  assert_int_equal(p.fd, -1);
  assert_true(mf_pidref_is_dead(&p));
}

static void signal_that_does_not_exist(void **state)
{
  struct mf_pidref p = MF_PIDREF_NULL;
  assert_int_equal(mf_pidref_open(&p, getpid(), NULL), MF_OK);
  struct mf_err err = { 0 };
  assert_int_equal(mf_pidref_signal(&p, 999, &err), MF_E_SYS);
  mf_pidref_done(&p);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(life_and_death),
    cmocka_unit_test(from_fd_learns_the_pid),
    cmocka_unit_test(from_fd_consumes_what_it_refuses),
    cmocka_unit_test(no_such_process),
    cmocka_unit_test(signal_that_does_not_exist),
  };
  return cmocka_run_group_tests_name("base/pidref", tests, NULL, NULL);
}

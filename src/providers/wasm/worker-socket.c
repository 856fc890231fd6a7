/* Messages of a worker, with a deadline where the guest's own holds. */
#include "worker-socket.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/time.h"
#include "base/banned.h"

/* Descriptors on their way count for our user, that is for all workers together, against our own limit. The provider
 * takes them out; there is no event for that. */
#define IN_FLIGHT_PAUSE_NS 500000

static bool wait_for_flight(uint64_t deadline_ns)
{
  const struct timespec pause = { .tv_nsec = IN_FLIGHT_PAUSE_NS };
  if (mf_now_ns() >= deadline_ns)
    return false;
  (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
  return true;
}

/* False: the deadline has passed. */
static bool wait_for(int sock, short events, uint64_t deadline_ns)
{
  struct pollfd p = { .fd = sock, .events = events };
  struct timespec left, *timeout = NULL;
  if (deadline_ns != UINT64_MAX) {
    uint64_t now = mf_now_ns();
    if (now >= deadline_ns)
      return false;
    left = (struct timespec){ .tv_sec = (time_t)((deadline_ns - now) / MF_NS_PER_S),
                              .tv_nsec = (long)((deadline_ns - now) % MF_NS_PER_S) };
    timeout = &left;
  }
  int n = ppoll(&p, 1, timeout, NULL);
  return n > 0 || (n < 0 && errno == EINTR);
}

enum mf_host_sent mf_worker_send(int sock, const void *head, size_t head_n, const void *tail, size_t tail_n, int fd,
                                 uint64_t deadline_ns)
{
  struct iovec iov[2] = { { (void *)(uintptr_t)head, head_n }, { (void *)(uintptr_t)tail, tail_n } };
  _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = { 0 };
  struct msghdr m = { .msg_iov = iov, .msg_iovlen = tail_n > 0 ? 2 : 1 };
  if (fd >= 0) {
    m.msg_control = control;
    m.msg_controllen = sizeof(control);
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    *c = (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int)) };
    memcpy(CMSG_DATA(c), &fd, sizeof(fd));
  }
  for (;;) {
    if (sendmsg(sock, &m, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
      return MF_SENT;
    if (errno == EINTR)
      continue;
    bool is_waiting;
    if (errno == ETOOMANYREFS)
      is_waiting = wait_for_flight(deadline_ns);
    else if (errno == EAGAIN || errno == ENOBUFS)
      is_waiting = wait_for(sock, POLLOUT, deadline_ns);
    else
      return MF_SENT_NEVER;
    if (!is_waiting)
      return MF_SENT_LATE;
  }
}

enum mf_code mf_worker_recv(int sock, void *p, size_t n, int *ret_fd, struct mf_err *err)
{
  int fds[MF_FDS_MAX];
  unsigned fd_n = 0;
  size_t got = 0;
  enum mf_code code;
  while ((code = mf_recv_msg(sock, p, n, &got, fds, &fd_n, err)) == MF_E_CAPACITY)
    (void)wait_for(sock, POLLIN, UINT64_MAX);
  if (code != MF_OK)
    return code;
  for (unsigned i = 1; i < fd_n; i++)
    mf_close_ptr(&fds[i]);
  mf_auto_close int fd = fd_n > 0 ? fds[0] : -1;
  if (got != n)
    return mf_fail(err, MF_E_INPUT, 0, "a frame of %zu bytes where %zu were due", got, n);
  *ret_fd = mf_take_fd(&fd);
  return MF_OK;
}

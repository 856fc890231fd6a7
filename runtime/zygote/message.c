/* Messages with descriptors, and what else a zygote and its children both say. No Python. */
#include "zygote-internal.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
  struct cmsghdr align;
  char bytes[CMSG_SPACE(ZYG_FDS_MAX * sizeof(int))];
};

int zyg_send_fds(int sock, const void *p, size_t n, const int *fds, unsigned fd_n)
{
  struct iovec iov = { (void *)(uintptr_t)p, n };
  union control control;
  memset(&control, 0, sizeof control);
  struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
  if (fd_n > 0) {
    msg.msg_control = &control;
    msg.msg_controllen = CMSG_SPACE(fd_n * sizeof(int));
    struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(fd_n * sizeof(int));
    memcpy(CMSG_DATA(c), fds, fd_n * sizeof(int));
  }
  return sendmsg(sock, &msg, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

ssize_t zyg_receive_fds(int sock, void *p, size_t n, int *fds, unsigned fd_max, unsigned *ret_fd_n)
{
  struct iovec iov = { p, n };
  union control control;
  struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control };
  msg.msg_controllen = CMSG_LEN(fd_max * sizeof(int)); /* not CMSG_SPACE, whose padding has room for one more */
  ssize_t got = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
  *ret_fd_n = 0;
  struct cmsghdr *c = got > 0 ? CMSG_FIRSTHDR(&msg) : NULL;
  if (c && c->cmsg_type == SCM_RIGHTS) {
    *ret_fd_n = (unsigned)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    memcpy(fds, CMSG_DATA(c), *ret_fd_n * sizeof(int));
  }
  return got;
}

void zyg_close_all(int *fds, unsigned n)
{
  for (unsigned i = 0; i < n; i++) {
    if (fds[i] >= 0)
      close(fds[i]);
  }
}

uint64_t zyg_cpu_us(const struct rusage *ru)
{
  return (uint64_t)(ru->ru_utime.tv_sec + ru->ru_stime.tv_sec) * 1000000u +
         (uint64_t)(ru->ru_utime.tv_usec + ru->ru_stime.tv_usec);
}

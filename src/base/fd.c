/* File descriptors: closing, whole reads and writes, and messages that carry descriptors. Thread: any. */
#include "base/fd.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/banned.h"

void mf_close_ptr(int *fd)
{
  if (*fd < 0)
    return;
  /* close is not retried on EINTR: on Linux the descriptor is gone, and its number may be another's already. */
  int saved = errno;
  close(*fd);
  errno = saved;
  *fd = -1;
}

enum mf_code mf_fd_set_nonblock(int fd, struct mf_err *err)
{
  int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
    return mf_fail(err, MF_E_SYS, errno, "set descriptor %d non-blocking", fd);
  return MF_OK;
}

enum mf_code mf_write_all(int fd, const void *p, size_t n, struct mf_err *err)
{
  const char *at = p;
  while (n > 0) {
    ssize_t done = write(fd, at, n);
    if (done < 0) {
      if (errno == EINTR)
        continue;
      return mf_fail(err, errno == EPIPE ? MF_E_GONE : MF_E_SYS, errno, "write %zu bytes", n);
    }
    at += done;
    n -= (size_t)done;
  }
  return MF_OK;
}

enum mf_code mf_read_all(int fd, void *p, size_t n, struct mf_err *err)
{
  char *at = p;
  while (n > 0) {
    ssize_t done = read(fd, at, n);
    if (done < 0) {
      if (errno == EINTR)
        continue;
      return mf_fail(err, errno == ECONNRESET ? MF_E_GONE : MF_E_SYS, errno, "read %zu bytes", n);
    }
    if (done == 0)
      return mf_fail(err, MF_E_GONE, 0, "read: the end came %zu bytes early", n);
    at += done;
    n -= (size_t)done;
  }
  return MF_OK;
}

enum mf_code mf_read_file(int dirfd, const char *path, size_t max, char **ret, size_t *ret_n, struct mf_err *err)
{
  /* O_NONBLOCK: opening a FIFO must not wait for a writer. It means nothing for a regular file. */
  mf_auto_close int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0)
    return mf_fail(err, errno == ENOENT ? MF_E_NOT_FOUND : MF_E_SYS, errno, "open '%s'", path);
  struct stat st;
  if (fstat(fd, &st) < 0)
    return mf_fail(err, MF_E_SYS, errno, "stat '%s'", path);
  if (!S_ISREG(st.st_mode))
    return mf_fail(err, MF_E_INPUT, 0, "'%s' is not a regular file", path);

  /* Files of /proc and cgroups claim a size of 0, so the size is only a hint and the end is where read says. */
  mf_auto_buf struct mf_buf b;
  mf_buf_init(&b, max);
  char chunk[16384];
  for (;;) {
    ssize_t n = read(fd, chunk, sizeof(chunk));
    if (n < 0) {
      if (errno == EINTR)
        continue;
      return mf_fail(err, MF_E_SYS, errno, "read '%s'", path);
    }
    if (n == 0)
      break;
    if (mf_buf_append(&b, chunk, (size_t)n))
      return mf_fail(err, MF_E_LIMIT, 0, "'%s' is larger than %zu bytes", path, max);
  }
  *ret = mf_buf_take(&b, ret_n);
  return MF_OK;
}

/* Room for the descriptors of one message, aligned as cmsg wants it. */
union fd_control {
  char bytes[CMSG_SPACE(sizeof(int) * MF_FDS_MAX)];
  struct cmsghdr align;
};

enum mf_code mf_send_msg(int sock, const void *p, size_t n, const int *fds, unsigned fd_n, struct mf_err *err)
{
  /* An empty packet cannot be told from the end of the connection. */
  assert(n > 0 && fd_n <= MF_FDS_MAX);

  struct iovec iov = { (void *)p, n };
  struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
  union fd_control control;
  if (fd_n > 0) {
    memset(&control, 0, sizeof(control));
    msg.msg_control = control.bytes;
    msg.msg_controllen = CMSG_SPACE(sizeof(int) * fd_n);
    struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int) * fd_n);
    memcpy(CMSG_DATA(c), fds, sizeof(int) * fd_n);
  }

  ssize_t done;
  do
    done = sendmsg(sock, &msg, MSG_NOSIGNAL);
  while (done < 0 && errno == EINTR);
  if (done == (ssize_t)n)
    return MF_OK;
  if (done >= 0)
    return mf_fail(err, MF_E_INTERNAL, 0, "send: %zd of %zu bytes went out (not a packet socket?)", done, n);

  int sys = errno;
  if (sys == EPIPE || sys == ECONNRESET || sys == ENOTCONN)
    return mf_fail(err, MF_E_GONE, sys, "send: the peer has ended");
  if (sys == EAGAIN || sys == ENOBUFS)
    return mf_fail(err, MF_E_CAPACITY, sys, "send: the socket is full");
  if (sys == EMSGSIZE)
    return mf_fail(err, MF_E_LIMIT, sys, "send: %zu bytes are too many for one packet", n);
  return mf_fail(err, MF_E_SYS, sys, "send %zu bytes", n);
}

static void close_fds(int fds[MF_FDS_MAX])
{
  for (unsigned i = 0; i < MF_FDS_MAX; i++)
    mf_close_ptr(&fds[i]);
}

/* Collects every descriptor the kernel installed, so that none can leak whatever else is wrong. */
static unsigned collect_fds(struct msghdr *msg, int fds[MF_FDS_MAX])
{
  unsigned fd_n = 0;
  for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
      continue;
    size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < n; i++) {
      int fd;
      memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
      if (fd_n < MF_FDS_MAX)
        fds[fd_n++] = fd;
      else
        close(fd);
    }
  }
  return fd_n;
}

enum mf_code mf_recv_msg(int sock, void *p, size_t max, size_t *ret_n, int fds[MF_FDS_MAX], unsigned *ret_fd_n,
                         struct mf_err *err)
{
  for (unsigned i = 0; i < MF_FDS_MAX; i++)
    fds[i] = -1;

  struct iovec iov = { p, max };
  union fd_control control;
  memset(&control, 0, sizeof(control));
  struct msghdr msg = {
    .msg_iov = &iov,
    .msg_iovlen = 1,
    .msg_control = control.bytes,
    .msg_controllen = sizeof(control.bytes),
  };
  ssize_t n;
  do
    n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
  while (n < 0 && errno == EINTR);
  if (n < 0) {
    int sys = errno;
    if (sys == EAGAIN)
      return mf_fail(err, MF_E_CAPACITY, sys, "receive: nothing is there");
    if (sys == ECONNRESET || sys == ENOTCONN)
      return mf_fail(err, MF_E_GONE, sys, "receive: the peer has ended");
    return mf_fail(err, MF_E_SYS, sys, "receive");
  }

  unsigned fd_n = collect_fds(&msg, fds);
  if (n == 0) {
    close_fds(fds);
    return mf_fail(err, MF_E_GONE, 0, "receive: the peer has ended");
  }
  if (msg.msg_flags & MSG_TRUNC) {
    close_fds(fds);
    return mf_fail(err, MF_E_INPUT, 0, "receive: the packet is larger than %zu bytes", max);
  }
  if (msg.msg_flags & MSG_CTRUNC) {
    close_fds(fds);
    /* There was room for more, but no free number in this process: the bytes are all here. */
    if (fd_n < MF_FDS_MAX) {
      *ret_n = (size_t)n;
      return mf_fail(err, MF_E_INPUT, EMFILE, "receive: a descriptor was lost");
    }
    return mf_fail(err, MF_E_INPUT, 0, "receive: more descriptors than the %d that fit", MF_FDS_MAX);
  }
  *ret_n = (size_t)n;
  *ret_fd_n = fd_n;
  return MF_OK;
}

const char *mf_fd_shortage(int sys)
{
  if (sys == EMFILE)
    return "too many open files; raise this process's limit (ulimit -n)";
  return sys == ENFILE ? "too many open files on this machine (fs.file-max)" : NULL;
}

enum mf_code mf_memfd(const char *name, int *ret_fd, struct mf_err *err)
{
  int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0)
    return mf_fail(err, MF_E_SYS, errno, "create memory file '%s'", name);
  *ret_fd = fd;
  return MF_OK;
}

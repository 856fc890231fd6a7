/* Listening sockets. */
#include "listen.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/banned.h"

enum { BACKLOG = 1024 };

/* ---- TCP ---- */

static int open_tcp(const struct addrinfo *a)
{
  mf_auto_close int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0)
    return -1;
  int on = 1, off = 0;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (a->ai_family == AF_INET6)
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)); /* "::" means both */
  if (bind(fd, a->ai_addr, a->ai_addrlen) || listen(fd, BACKLOG))
    return -1;
  return mf_take_fd(&fd);
}

static uint16_t port_of(int fd)
{
  union {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
  } a = { .six = { 0 } };
  socklen_t n = sizeof(a);
  if (getsockname(fd, &a.any, &n))
    return 0;
  return ntohs(a.any.sa_family == AF_INET6 ? a.six.sin6_port : a.four.sin_port);
}

enum mf_code mf_http_listen_tcp(struct mf_http_listener *l, const char *host, uint16_t port, struct mf_err *err)
{
  char service[8];
  snprintf(service, sizeof(service), "%u", port);
  struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV }, *list = NULL;
  int failed = getaddrinfo(host, service, &hints, &list);
  if (failed)
    return mf_fail(err, MF_E_INPUT, 0, "listen on '%s': %s", host, gai_strerror(failed));
  int fd = -1;
  for (const struct addrinfo *a = list; a && fd < 0; a = a->ai_next)
    fd = open_tcp(a);
  int sys = errno;
  freeaddrinfo(list);
  if (fd < 0)
    return mf_fail(err, sys == EADDRINUSE ? MF_E_EXISTS : MF_E_SYS, sys, "listen on %s port %u", host, port);
  *l = (struct mf_http_listener){ .fd = fd, .port = port_of(fd) };
  return MF_OK;
}

/* ---- Unix ---- */

static bool is_live(const struct sockaddr_un *a)
{
  mf_auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  /* Only a refusal proves that nobody listens; a full backlog is EAGAIN. */
  return fd < 0 || connect(fd, (const struct sockaddr *)a, sizeof(*a)) == 0 || errno != ECONNREFUSED;
}

/* Two starting at once must not take each other's fresh socket for a stale one: looking and replacing happen under a
 * lock of the folder. */
static int lock_folder(const char *path)
{
  char *folder = mf_xstrdup(path);
  char *slash = strrchr(folder, '/');
  if (slash)
    slash[slash == folder] = 0;
  int fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  free(folder);
  if (fd >= 0 && flock(fd, LOCK_EX)) {
    int sys = errno;
    close(fd);
    errno = sys;
    return -1;
  }
  return fd;
}

static enum mf_code bind_unix(int fd, const struct sockaddr_un *a, struct mf_err *err)
{
  if (bind(fd, (const struct sockaddr *)a, sizeof(*a)) == 0)
    return MF_OK;
  struct stat st;
  if (errno != EADDRINUSE || lstat(a->sun_path, &st))
    return mf_fail(err, MF_E_SYS, errno, "listen on '%s'", a->sun_path);
  if (!S_ISSOCK(st.st_mode))
    return mf_fail(err, MF_E_EXISTS, 0, "listen on '%s': there is a file that is not a socket", a->sun_path);
  if (is_live(a))
    return mf_fail(err, MF_E_EXISTS, 0, "listen on '%s': somebody listens there already", a->sun_path);
  if (unlink(a->sun_path) || bind(fd, (const struct sockaddr *)a, sizeof(*a)))
    return mf_fail(err, MF_E_SYS, errno, "listen on '%s': replace a stale socket", a->sun_path);
  return MF_OK;
}

enum mf_code mf_http_listen_unix(struct mf_http_listener *l, const char *path, struct mf_err *err)
{
  struct sockaddr_un a = { .sun_family = AF_UNIX };
  size_t n = strlen(path);
  if (n == 0 || n >= sizeof(a.sun_path))
    return mf_fail(err, MF_E_INPUT, 0, "listen on '%s': the path must have 1 to %zu bytes", path,
                   sizeof(a.sun_path) - 1);
  memcpy(a.sun_path, path, n);
  mf_auto_close int lock = lock_folder(path);
  if (lock < 0)
    return mf_fail(err, MF_E_SYS, errno, "listen on '%s': lock its folder", path);
  mf_auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  /* Linux gives the file the mode of the socket's own inode, so that there is no moment at which it is wider. */
  if (fd < 0 || fchmod(fd, 0600))
    return mf_fail(err, MF_E_SYS, errno, "listen on '%s'", path);
  enum mf_code code = bind_unix(fd, &a, err);
  if (code)
    return code;
  struct stat st;
  if (chmod(path, 0600) || lstat(path, &st) || listen(fd, BACKLOG)) {
    int sys = errno;
    unlink(path);
    return mf_fail(err, MF_E_SYS, sys, "listen on '%s'", path);
  }
  *l = (struct mf_http_listener){
    .fd = mf_take_fd(&fd), .unix_path = mf_xstrdup(path), .dev = st.st_dev, .ino = st.st_ino
  };
  return MF_OK;
}

void mf_http_listener_done(struct mf_http_listener *l)
{
  struct stat st;
  if (l->unix_path && lstat(l->unix_path, &st) == 0 && st.st_dev == l->dev && st.st_ino == l->ino)
    unlink(l->unix_path);
  free(l->unix_path);
  l->unix_path = NULL;
  mf_close_ptr(&l->fd);
}

/* File descriptors: one owner each, close-on-exec at birth, passed between processes as messages. */
#ifndef MF_BASE_FD_H
#define MF_BASE_FD_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* Closes *fd when >= 0 and sets it to -1. Keeps errno. */
void mf_close_ptr(int *fd);
#define mf_auto_close MF_CLEANUP(mf_close_ptr)

static inline int mf_take_fd(int *fd)
{
  int v = *fd;
  *fd = -1;
  return v;
}

MF_MUST_USE enum mf_code mf_fd_set_nonblock(int fd, struct mf_err *err);

/* Writes or reads all n bytes of a blocking fd, retrying EINTR. read: MF_E_GONE at an early end. */
MF_MUST_USE enum mf_code mf_write_all(int fd, const void *p, size_t n, struct mf_err *err);
MF_MUST_USE enum mf_code mf_read_all(int fd, void *p, size_t n, struct mf_err *err);

/* Reads a whole regular file (MF_E_INPUT when it is anything else) of at most `max` bytes (MF_E_LIMIT above);
 * MF_E_NOT_FOUND when there is none. Links are followed. *ret is malloc'ed and NUL-terminated; release with free. */
MF_MUST_USE enum mf_code mf_read_file(int dirfd, const char *path, size_t max, char **ret, size_t *ret_n,
                                      struct mf_err *err);

/* One SOCK_SEQPACKET message with up to MF_FDS_MAX descriptors.
 * send: n > 0; descriptors stay the caller's. MF_E_GONE when the peer has ended; MF_E_CAPACITY when a non-blocking
 *       socket is full.
 * recv: *ret_n is the message's size (truncation is MF_E_INPUT); received descriptors are close-on-exec, the
 *       caller's, unused places are -1. MF_E_GONE at end; MF_E_CAPACITY when nothing is there; MF_E_INPUT with sys
 *       EMFILE when this process had no room for a descriptor: all of them are lost, and the *ret_n bytes are there. */
#define MF_FDS_MAX 8
MF_MUST_USE enum mf_code mf_send_msg(int sock, const void *p, size_t n, const int *fds, unsigned fd_n,
                                     struct mf_err *err);
MF_MUST_USE enum mf_code mf_recv_msg(int sock, void *p, size_t max, size_t *ret_n, int fds[MF_FDS_MAX],
                                     unsigned *ret_fd_n, struct mf_err *err);

/* What to do where the errno `sys` says that there are no descriptors left; NULL for any other. */
const char *mf_fd_shortage(int sys);

/* A new close-on-exec memfd. */
MF_MUST_USE enum mf_code mf_memfd(const char *name, int *ret_fd, struct mf_err *err);

#endif

/* File descriptors: ownership, whole reads and writes, files, and messages that carry descriptors. */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "descriptors.h"
#include "base/banned.h"

static unsigned count_open_fds(void)
{
  DIR *d = opendir("/proc/self/fd");
  assert_non_null(d);
  unsigned n = 0;
  while (readdir(d))
    n++;
  closedir(d);
  return n;
}

static void make_pair(int ret[2], int flags)
{
  assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0, ret), 0);
}

static bool is_cloexec(int fd)
{
  return fcntl(fd, F_GETFD) & FD_CLOEXEC;
}

static void close_ptr_and_take(void **state)
{
  int pipe_fds[2];
  assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
  int number = pipe_fds[0];
  errno = E2BIG;
  mf_close_ptr(&pipe_fds[0]);
  assert_int_equal(errno, E2BIG);
  assert_int_equal(pipe_fds[0], -1);
  assert_int_equal(fcntl(number, F_GETFD), -1);
  mf_close_ptr(&pipe_fds[0]);

  int taken;
  number = pipe_fds[1];
  {
    mf_auto_close int fd = pipe_fds[1];
    taken = mf_take_fd(&fd);
    assert_int_equal(fd, -1);
  }
  assert_int_equal(taken, number);
  assert_true(is_cloexec(taken));
  close(taken);
}

static void nonblock(void **state)
{
  int p[2];
  assert_int_equal(pipe2(p, O_CLOEXEC), 0);
  assert_int_equal(mf_fd_set_nonblock(p[0], NULL), MF_OK);
  char c;
  assert_int_equal(read(p[0], &c, 1), -1);
  assert_int_equal(errno, EAGAIN);
  close(p[0]);
  close(p[1]);
  struct mf_err err = { 0 };
  assert_int_equal(mf_fd_set_nonblock(-1, &err), MF_E_SYS);
  assert_int_equal(err.sys, EBADF);
}

static void write_all_and_read_all(void **state)
{
  int p[2];
  assert_int_equal(pipe2(p, O_CLOEXEC), 0);
  char in[8] = { 0 };
  assert_int_equal(mf_write_all(p[1], "abcdefgh", 8, NULL), MF_OK);
  assert_int_equal(mf_read_all(p[0], in, 8, NULL), MF_OK);
  assert_memory_equal(in, "abcdefgh", 8);

  assert_int_equal(mf_write_all(p[1], "abc", 3, NULL), MF_OK);
  close(p[1]);
  struct mf_err err = { 0 };
  assert_int_equal(mf_read_all(p[0], in, 8, &err), MF_E_GONE);
  assert_string_equal(err.msg, "read: the end came 5 bytes early");
  close(p[0]);
  assert_int_equal(mf_read_all(-1, in, 8, &err), MF_E_SYS);
  assert_int_equal(mf_write_all(-1, in, 8, &err), MF_E_SYS);
  assert_int_equal(err.sys, EBADF);
}

static void write_to_a_closed_peer_is_gone(void **state)
{
  int s[2];
  assert_int_equal(pipe2(s, O_CLOEXEC), 0);
  close(s[0]);
  struct mf_err err = { 0 };
  assert_int_equal(mf_write_all(s[1], "x", 1, &err), MF_E_GONE);
  assert_int_equal(err.sys, EPIPE);
  close(s[1]);
}

/* A directory of our own with some files in it. */
struct fixture {
  char path[64];
  int dir;
};

static int make_dir(void **state)
{
  static struct fixture f;
  snprintf(f.path, sizeof(f.path), "/tmp/mf-test-fd-XXXXXX");
  if (!mkdtemp(f.path))
    return -1;
  f.dir = open(f.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  *state = &f;
  return f.dir < 0 ? -1 : 0;
}

static int remove_dir(void **state)
{
  struct fixture *f = *state;
  unlinkat(f->dir, "file", 0);
  unlinkat(f->dir, "fifo", 0);
  unlinkat(f->dir, "link", 0);
  close(f->dir);
  return rmdir(f->path);
}

static void put_file(int dir, const char *name, const char *text, size_t n)
{
  mf_auto_close int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  assert_true(fd >= 0);
  assert_int_equal(mf_write_all(fd, text, n, NULL), MF_OK);
}

static void read_file_reads_the_whole(void **state)
{
  struct fixture *f = *state;
  struct mf_err err = { 0 };
  mf_auto_free char *text = NULL;
  size_t n = 0;
  put_file(f->dir, "file", "a\0b", 3);
  assert_ok(mf_read_file(f->dir, "file", 3, &text, &n, &err), &err);
  assert_int_equal(n, 3);
  assert_memory_equal(text, "a\0b", 4);

  mf_auto_free char *none = NULL;
  put_file(f->dir, "file", "", 0);
  assert_ok(mf_read_file(f->dir, "file", 0, &none, &n, &err), &err);
  assert_int_equal(n, 0);
  assert_string_equal(none, "");

  assert_int_equal(symlinkat("file", f->dir, "link"), 0);
  mf_auto_free char *linked = NULL;
  assert_ok(mf_read_file(f->dir, "link", 10, &linked, &n, &err), &err);
}

static void read_file_of_many_chunks(void **state)
{
  struct fixture *f = *state;
  enum { N = 100003 };
  mf_auto_free char *big = mf_xmalloc(N);
  for (int i = 0; i < N; i++)
    big[i] = (char)(i * 7);
  put_file(f->dir, "file", big, N);
  mf_auto_free char *text = NULL;
  size_t n = 0;
  assert_int_equal(mf_read_file(f->dir, "file", N, &text, &n, NULL), MF_OK);
  assert_int_equal(n, N);
  assert_memory_equal(text, big, N);
}

static void read_file_of_proc(void **state)
{
  mf_auto_free char *text = NULL;
  size_t n = 0;
  assert_int_equal(mf_read_file(AT_FDCWD, "/proc/self/status", 1 << 20, &text, &n, NULL), MF_OK);
  assert_true(n > 0 && strlen(text) == n);
}

static void read_file_refuses(void **state)
{
  struct fixture *f = *state;
  struct mf_err err = { 0 };
  char *text = NULL;
  size_t n = 77;
  unsigned before = count_open_fds();
  put_file(f->dir, "file", "1234", 4);
  assert_int_equal(mf_read_file(f->dir, "file", 3, &text, &n, &err), MF_E_LIMIT);
  assert_string_equal(err.msg, "'file' is larger than 3 bytes");
  assert_int_equal(mf_read_file(f->dir, "absent", 3, &text, &n, &err), MF_E_NOT_FOUND);
  assert_int_equal(mf_read_file(AT_FDCWD, f->path, 3, &text, &n, &err), MF_E_INPUT);
  /* A FIFO must be refused without waiting for a writer. */
  assert_int_equal(mkfifoat(f->dir, "fifo", 0600), 0);
  assert_int_equal(mf_read_file(f->dir, "fifo", 3, &text, &n, &err), MF_E_INPUT);
  assert_string_equal(err.msg, "'fifo' is not a regular file");
  assert_int_equal(mf_read_file(AT_FDCWD, "/dev/zero", 3, &text, &n, &err), MF_E_INPUT);
  assert_null(text);
  assert_int_equal(n, 77);
  assert_int_equal(count_open_fds(), before);
}

static void message_without_descriptors(void **state)
{
  int s[2], fds[MF_FDS_MAX];
  make_pair(s, 0);
  char in[16];
  size_t n = 0;
  unsigned fd_n = 9;
  assert_int_equal(mf_send_msg(s[0], "hello", 5, NULL, 0, NULL), MF_OK);
  assert_int_equal(mf_send_msg(s[0], "!", 1, NULL, 0, NULL), MF_OK);
  assert_int_equal(mf_recv_msg(s[1], in, sizeof(in), &n, fds, &fd_n, NULL), MF_OK);
  assert_int_equal(n, 5);
  assert_memory_equal(in, "hello", 5);
  assert_int_equal(fd_n, 0);
  for (unsigned i = 0; i < MF_FDS_MAX; i++)
    assert_int_equal(fds[i], -1);
  assert_int_equal(mf_recv_msg(s[1], in, sizeof(in), &n, fds, &fd_n, NULL), MF_OK);
  assert_int_equal(n, 1);
  close(s[0]);
  close(s[1]);
}

static void message_with_each_count_of_descriptors(void **state)
{
  unsigned before = count_open_fds();
  int s[2];
  make_pair(s, 0);
  for (unsigned want = 1; want <= MF_FDS_MAX; want++) {
    int sent[MF_FDS_MAX], fds[MF_FDS_MAX];
    for (unsigned i = 0; i < want; i++) {
      assert_int_equal(mf_memfd("mf-test", &sent[i], NULL), MF_OK);
      assert_int_equal(mf_write_all(sent[i], &i, sizeof(i), NULL), MF_OK);
    }
    struct mf_err err = { 0 };
    assert_ok(mf_send_msg(s[0], "x", 1, sent, want, &err), &err);
    char in[4];
    size_t n = 0;
    unsigned fd_n = 0;
    assert_ok(mf_recv_msg(s[1], in, sizeof(in), &n, fds, &fd_n, &err), &err);
    assert_int_equal(fd_n, want);
    for (unsigned i = 0; i < MF_FDS_MAX; i++) {
      if (i >= want) {
        assert_int_equal(fds[i], -1);
        continue;
      }
      unsigned value = 99;
      assert_int_equal(pread(fds[i], &value, sizeof(value), 0), sizeof(value));
      assert_int_equal(value, i);
      assert_true(is_cloexec(fds[i]));
      close(fds[i]);
      close(sent[i]);
    }
  }
  close(s[0]);
  close(s[1]);
  assert_int_equal(count_open_fds(), before);
}

static void truncated_message_leaks_nothing(void **state)
{
  unsigned before = count_open_fds();
  int s[2], fds[MF_FDS_MAX];
  make_pair(s, 0);
  const int sent[2] = { STDERR_FILENO, STDERR_FILENO };
  char in[4];
  size_t n = 77;
  unsigned fd_n = 77;
  struct mf_err err = { 0 };
  assert_int_equal(mf_send_msg(s[0], "12345", 5, sent, 2, NULL), MF_OK);
  assert_int_equal(mf_recv_msg(s[1], in, sizeof(in), &n, fds, &fd_n, &err), MF_E_INPUT);
  assert_string_equal(err.msg, "receive: the packet is larger than 4 bytes");
  assert_int_equal(n, 77);
  for (unsigned i = 0; i < MF_FDS_MAX; i++)
    assert_int_equal(fds[i], -1);
  close(s[0]);
  close(s[1]);
  assert_int_equal(count_open_fds(), before);
}

/* The bytes are there all the same, and which of the two was at fault is told. */
static void descriptors_without_room_are_lost(void **state)
{
  unsigned before = count_open_fds();
  int s[2], fds[MF_FDS_MAX];
  make_pair(s, 0);
  const int sent[2] = { STDERR_FILENO, STDERR_FILENO };
  for (unsigned room = 0; room < 2; room++) {
    assert_int_equal(mf_send_msg(s[0], "12345", 5, sent, 2, NULL), MF_OK);
    const struct rlimit before_limit = leave_descriptors(room);
    char in[8];
    size_t n = 0;
    unsigned fd_n = 77;
    struct mf_err err = { 0 };
    enum mf_code code = mf_recv_msg(s[1], in, sizeof(in), &n, fds, &fd_n, &err);
    give_descriptors(&before_limit);
    assert_int_equal(code, MF_E_INPUT);
    assert_int_equal(err.sys, EMFILE);
    assert_int_equal(n, 5);
    assert_memory_equal(in, "12345", 5);
    for (unsigned i = 0; i < MF_FDS_MAX; i++)
      assert_int_equal(fds[i], -1);
  }
  close(s[0]);
  close(s[1]);
  assert_int_equal(count_open_fds(), before);
  assert_non_null(strstr(mf_fd_shortage(EMFILE), "ulimit -n"));
  assert_non_null(strstr(mf_fd_shortage(ENFILE), "fs.file-max"));
  assert_null(mf_fd_shortage(0));
  assert_null(mf_fd_shortage(ENOMEM));
}

/* A peer that does not use mf_send_msg may send more. */
static void too_many_descriptors_leak_nothing(void **state)
{
  enum { N = MF_FDS_MAX + 1 };
  unsigned before = count_open_fds();
  int s[2], fds[MF_FDS_MAX], sent[N];
  make_pair(s, 0);
  for (unsigned i = 0; i < N; i++)
    sent[i] = STDERR_FILENO;
  union {
    char bytes[CMSG_SPACE(sizeof(sent))];
    struct cmsghdr align;
  } control = { { 0 } };
  struct iovec iov = { &(char){ 'x' }, 1 };
  struct msghdr msg = {
    .msg_iov = &iov,
    .msg_iovlen = 1,
    .msg_control = control.bytes,
    .msg_controllen = sizeof(control.bytes),
  };
  struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SCM_RIGHTS;
  c->cmsg_len = CMSG_LEN(sizeof(sent));
  memcpy(CMSG_DATA(c), sent, sizeof(sent));
  assert_int_equal(sendmsg(s[0], &msg, 0), 1);

  char in[4];
  size_t n = 0;
  unsigned fd_n = 0;
  assert_int_equal(mf_recv_msg(s[1], in, sizeof(in), &n, fds, &fd_n, NULL), MF_E_INPUT);
  for (unsigned i = 0; i < MF_FDS_MAX; i++)
    assert_int_equal(fds[i], -1);
  close(s[0]);
  close(s[1]);
  assert_int_equal(count_open_fds(), before);
}

static void ended_peer_is_gone(void **state)
{
  int s[2], fds[MF_FDS_MAX];
  make_pair(s, 0);
  close(s[0]);
  char in[4];
  size_t n = 0;
  unsigned fd_n = 0;
  struct mf_err err = { 0 };
  assert_int_equal(mf_recv_msg(s[1], in, sizeof(in), &n, fds, &fd_n, &err), MF_E_GONE);
  assert_int_equal(mf_send_msg(s[1], "x", 1, NULL, 0, &err), MF_E_GONE);
  close(s[1]);
}

static void full_and_empty_sockets_are_capacity(void **state)
{
  int s[2], fds[MF_FDS_MAX];
  make_pair(s, SOCK_NONBLOCK);
  static char block[4096];
  size_t n = 0;
  unsigned fd_n = 0;
  assert_int_equal(mf_recv_msg(s[1], block, sizeof(block), &n, fds, &fd_n, NULL), MF_E_CAPACITY);
  unsigned sent_n = 0;
  enum mf_code code;
  while (!(code = mf_send_msg(s[0], block, sizeof(block), NULL, 0, NULL)))
    assert_true(++sent_n < 1000000);
  assert_int_equal(code, MF_E_CAPACITY);
  for (unsigned i = 0; i < sent_n; i++)
    assert_int_equal(mf_recv_msg(s[1], block, sizeof(block), &n, fds, &fd_n, NULL), MF_OK);
  assert_int_equal(mf_send_msg(s[0], block, 1, NULL, 0, NULL), MF_OK);
  close(s[0]);
  close(s[1]);
}

static void oversized_packet_is_a_limit(void **state)
{
  int s[2];
  make_pair(s, SOCK_NONBLOCK);
  enum { N = 64 << 20 };
  mf_auto_free char *big = mf_xcalloc(1, N);
  assert_int_equal(mf_send_msg(s[0], big, N, NULL, 0, NULL), MF_E_LIMIT);
  close(s[0]);
  close(s[1]);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(close_ptr_and_take),
    cmocka_unit_test(nonblock),
    cmocka_unit_test(write_all_and_read_all),
    cmocka_unit_test(write_to_a_closed_peer_is_gone),
    cmocka_unit_test_setup_teardown(read_file_reads_the_whole, make_dir, remove_dir),
    cmocka_unit_test_setup_teardown(read_file_of_many_chunks, make_dir, remove_dir),
    cmocka_unit_test(read_file_of_proc),
    cmocka_unit_test_setup_teardown(read_file_refuses, make_dir, remove_dir),
    cmocka_unit_test(message_without_descriptors),
    cmocka_unit_test(message_with_each_count_of_descriptors),
    cmocka_unit_test(truncated_message_leaks_nothing),
    cmocka_unit_test(descriptors_without_room_are_lost),
    cmocka_unit_test(too_many_descriptors_leak_nothing),
    cmocka_unit_test(ended_peer_is_gone),
    cmocka_unit_test(full_and_empty_sockets_are_capacity),
    cmocka_unit_test(oversized_packet_is_a_limit),
  };
  /* As in the program itself: a peer that has ended is an error, not a signal. */
  signal(SIGPIPE, SIG_IGN);
  return cmocka_run_group_tests_name("base/fd", tests, NULL, NULL);
}

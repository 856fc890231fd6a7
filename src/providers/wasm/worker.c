/* A worker's process: reads its configuration, lets itself be held, loads the guest, then takes one call after another.
 *
 * Two threads: the first waits on a timer and interrupts the guest at its deadline (there is no ticking: an idle worker
 * sleeps); the other one runs the guest on a stack of its own and speaks with the provider. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/time.h"
#include "call.h"
#include "wasm/abi.h"
#include "wasm/engine.h"
#include "wasm/wasm.h"
#include "worker-confine.h"
#include "worker-socket.h"
#include "base/banned.h"

#define CODE_PATH "/proc/self/fd/5" /* MF_WORKER_CODE_FD */
/* The guest has MF_GUEST_STACK_BYTES of it; the rest is for the host functions and for what the engine needs. */
#define STACK_BYTES (64ull << 20)
#define LARGE_BYTES (96ull << 20)
#define FILE_WALL_NS (20 * MF_NS_PER_S)
_Static_assert(STACK_BYTES >= MF_GUEST_STACK_BYTES + MF_ENGINE_HOST_STACK_BYTES, "the guest's stack fits");

struct worker {
  struct mf_worker_config config;
  struct mf_guest *guest;
  int timer;
  uint32_t layers;
  char seccomp_sha256[MF_SHA256_HEX_N];
  uint64_t serial; /* of the call that runs */
};

/* ---- events of a call ---- */

static void on_arm(void *user, uint64_t deadline_ns)
{
  struct worker *w = user;
  const struct itimerspec t = { .it_value = { .tv_sec = (time_t)(deadline_ns / MF_NS_PER_S),
                                              .tv_nsec = (long)(deadline_ns % MF_NS_PER_S) } };
  (void)timerfd_settime(w->timer, TFD_TIMER_ABSTIME, &t, NULL);
}

static bool on_began(void *user)
{
  struct worker *w = user;
  const struct mf_worker_began f = { .type = MF_WORKER_BEGAN, .serial = w->serial };
  return mf_worker_send(MF_WORKER_SOCKET_FD, &f, sizeof(f), NULL, 0, -1, UINT64_MAX) == MF_SENT;
}

static enum mf_host_sent on_output(void *user, bool is_stderr, const void *p, size_t n, bool is_dropped,
                                   uint64_t deadline_ns)
{
  struct worker *w = user;
  const char *at = p;
  do {
    size_t len = MF_MIN(n, (size_t)MF_WORKER_CHUNK_MAX);
    const struct mf_worker_output f = {
      .type = MF_WORKER_OUTPUT,
      .is_stderr = is_stderr,
      .serial = w->serial,
      .len = (uint32_t)len,
      .dropped = is_dropped && len == n, /* told with the last of them */
    };
    enum mf_host_sent sent = mf_worker_send(MF_WORKER_SOCKET_FD, &f, sizeof(f), at, len, -1, deadline_ns);
    if (sent != MF_SENT)
      return sent;
    at += len;
    n -= len;
  } while (n > 0);
  return MF_SENT;
}

/* A copy that nobody can change any more. */
static int seal_copy(const void *data, uint64_t n)
{
  mf_auto_close int fd = -1;
  if (mf_memfd("mayfly-file", &fd, NULL) != MF_OK || mf_write_all(fd, data, n, NULL) != MF_OK ||
      fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0)
    return -1;
  return mf_take_fd(&fd);
}

static bool on_file(void *user, const void *name, size_t name_n, const void *data, uint64_t data_n)
{
  struct worker *w = user;
  mf_auto_close int fd = -1;
  if (data && (fd = seal_copy(data, data_n)) < 0)
    return false;
  const struct mf_worker_file f = {
    .type = MF_WORKER_FILE, .name_n = (uint32_t)name_n, .serial = w->serial, .size = data_n
  };
  uint64_t deadline_ns = mf_now_ns() + FILE_WALL_NS;
  return mf_worker_send(MF_WORKER_SOCKET_FD, &f, sizeof(f), name, name_n, fd, deadline_ns) == MF_SENT;
}

static const struct mf_guest_events guest_events = {
  .arm = on_arm, .began = on_began, .output = on_output, .file = on_file
};

/* ---- the guest's thread ---- */

static bool say_ready(struct worker *w)
{
  struct mf_worker_ready f = { .type = MF_WORKER_READY, .layers = w->layers };
  memcpy(f.seccomp_sha256, w->seccomp_sha256, sizeof(f.seccomp_sha256));
  return mf_worker_send(MF_WORKER_SOCKET_FD, &f, sizeof(f), NULL, 0, -1, UINT64_MAX) == MF_SENT;
}

static void say_fatal(const struct mf_err *err)
{
  struct mf_worker_fatal f = { .type = MF_WORKER_FATAL, .sys = err->sys };
  size_t n = MF_MIN(strlen(err->msg), sizeof(f.text) - 1);
  memcpy(f.text, err->msg, n);
  (void)mf_worker_send(MF_WORKER_SOCKET_FD, &f, sizeof(f), NULL, 0, -1, mf_now_ns() + MF_NS_PER_S);
}

/* False: this process has to end. */
static bool take_call(struct worker *w)
{
  struct mf_worker_call call;
  mf_auto_close int job_fd = -1;
  if (mf_worker_recv(MF_WORKER_SOCKET_FD, &call, sizeof(call), &job_fd, NULL) != MF_OK)
    return false;
  if (call.type != MF_WORKER_CALL || job_fd < 0)
    return false;
  w->serial = call.serial;
  struct mf_worker_done done;
  mf_guest_call(w->guest, &call, job_fd, &guest_events, w, &done);
  /* The next call may have a lower limit, and giving back much takes a while. */
  if (done.memory_bytes > LARGE_BYTES)
    mf_guest_prepare(w->guest);
  done.type = MF_WORKER_DONE;
  done.serial = call.serial;
  bool is_sent =
      mf_worker_send(MF_WORKER_SOCKET_FD, &done, sizeof(done), NULL, 0, -1, mf_now_ns() + FILE_WALL_NS) == MF_SENT;
  if (!is_sent || done.end == MF_END_BROKEN)
    return false;
  mf_guest_prepare(w->guest); /* while nobody waits for it */
  return true;
}

static void *guest_main(void *user)
{
  struct worker *w = user;
  struct mf_err err = { 0 };
  if (mf_worker_seal(&w->layers, w->seccomp_sha256, &err) != MF_OK) {
    say_fatal(&err);
  } else {
    mf_guest_prepare(w->guest);
    bool goes_on = say_ready(w);
    while (goes_on)
      goes_on = take_call(w);
  }
  _exit(0);
}

static enum mf_code start_guest_thread(struct worker *w, struct mf_err *err)
{
  pthread_attr_t attr;
  pthread_t thread;
  int e = pthread_attr_init(&attr);
  if (!e) {
    e = pthread_attr_setstacksize(&attr, STACK_BYTES);
    if (!e)
      e = pthread_create(&thread, &attr, guest_main, w);
    (void)pthread_attr_destroy(&attr);
  }
  return e ? mf_fail(err, MF_E_SYS, e, "start the guest's thread") : MF_OK;
}

/* ---- the first thread ---- */

static enum mf_code read_config(struct worker *w, struct mf_err *err)
{
  enum mf_code code = mf_read_all(MF_WORKER_CONFIG_FD, &w->config, sizeof(w->config), err);
  if (code != MF_OK)
    return code;
  close(MF_WORKER_CONFIG_FD);
  if (w->config.version != MF_WORKER_VERSION || w->config.abi != MF_GUEST_ABI || w->config.cgroup_n > 2)
    return mf_fail(err, MF_E_INPUT, 0, "a configuration of another version");
  w->config.cgroup_tail[sizeof(w->config.cgroup_tail) - 1] = '\0';
  return mf_fd_set_nonblock(MF_WORKER_SOCKET_FD, err);
}

/* Nothing of the guest is touched before the provider has seen us in our group too. */
static enum mf_code wait_for_go(struct mf_err *err)
{
  struct mf_worker_hello f = { .type = MF_WORKER_HELLO, .version = MF_WORKER_VERSION };
  int fd = -1;
  if (mf_worker_send(MF_WORKER_SOCKET_FD, &f, sizeof(f), NULL, 0, -1, UINT64_MAX) != MF_SENT)
    return mf_fail(err, MF_E_GONE, 0, "the provider has ended");
  enum mf_code code = mf_worker_recv(MF_WORKER_SOCKET_FD, &f, sizeof(f), &fd, err);
  mf_close_ptr(&fd);
  if (code == MF_OK && f.type != MF_WORKER_GO)
    return mf_fail(err, MF_E_INPUT, 0, "another frame where GO was due");
  return code;
}

static enum mf_code set_up(struct worker *w, struct mf_err *err)
{
  enum mf_code code = read_config(w, err);
  if (code == MF_OK)
    code = mf_worker_attach(&w->config, err);
  if (code == MF_OK)
    code = wait_for_go(err);
  int pagemap = mf_worker_pagemap(); /* another user may not any more */
  if (code == MF_OK)
    code = mf_worker_limit(&w->config, &w->layers, err);
  if (code != MF_OK)
    return code;
  w->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  if (w->timer < 0)
    return mf_fail(err, MF_E_SYS, errno, "make a timer");
  code = mf_guest_load(CODE_PATH, pagemap, &w->guest, err);
  if (code != MF_OK)
    return code;
  close(MF_WORKER_CODE_FD); /* it is mapped */
  return start_guest_thread(w, err);
}

int mf_wasm_worker_main(void)
{
  struct worker *w = mf_xcalloc(1, sizeof(*w));
  struct mf_err err = { 0 };
  if (set_up(w, &err) != MF_OK) {
    say_fatal(&err);
    return 1;
  }
  for (;;) {
    uint64_t n;
    if (read(w->timer, &n, sizeof(n)) == (ssize_t)sizeof(n))
      mf_guest_interrupt(w->guest);
    else if (errno != EINTR && errno != EAGAIN)
      _exit(1);
  }
}

/* The calls of WASI that are about no file: arguments, environment, time, waiting, randomness, the end. */
#include "fd.h"
#include "guest.h"

#include <string.h>

/* As the local provider's guests see it; what speaks of folders of its image is left out. */
static const char *const environment[] = {
  "HOME=/mnt/data", "LOGNAME=sandbox",           "PATH=/usr/bin",      "LANG=C.UTF-8",           "TERM=dumb",
  "PYTHONUTF8=1",   "PYTHONDONTWRITEBYTECODE=1", "PYTHONNOUSERSITE=1", "OPENBLAS_NUM_THREADS=1", "MPLBACKEND=Agg",
};
#define ENVIRONMENT_N (sizeof environment / sizeof *environment)

__wasi_errno_t __wasi_args_sizes_get(__wasi_size_t *ret_n, __wasi_size_t *ret_bytes)
{
  *ret_n = *ret_bytes = 0;
  return 0;
}

__wasi_errno_t __wasi_args_get(uint8_t **argv, uint8_t *buf)
{
  (void)argv;
  (void)buf;
  return 0;
}

__wasi_errno_t __wasi_environ_sizes_get(__wasi_size_t *ret_n, __wasi_size_t *ret_bytes)
{
  *ret_n = ENVIRONMENT_N;
  *ret_bytes = 0;
  for (size_t i = 0; i < ENVIRONMENT_N; i++)
    *ret_bytes += strlen(environment[i]) + 1;
  return 0;
}

__wasi_errno_t __wasi_environ_get(uint8_t **env, uint8_t *buf)
{
  for (size_t i = 0; i < ENVIRONMENT_N; i++) {
    size_t n = strlen(environment[i]) + 1;
    memcpy(buf, environment[i], n);
    env[i] = buf;
    buf += n;
  }
  return 0;
}

static int clock_of(__wasi_clockid_t id)
{
  if (id == __WASI_CLOCKID_REALTIME)
    return MF_GUEST_CLOCK_REALTIME;
  return id == __WASI_CLOCKID_MONOTONIC ? MF_GUEST_CLOCK_MONOTONIC : MF_GUEST_CLOCK_CPUTIME;
}

__wasi_errno_t __wasi_clock_res_get(__wasi_clockid_t id, __wasi_timestamp_t *ret)
{
  *ret = 1;
  return id <= __WASI_CLOCKID_THREAD_CPUTIME_ID ? 0 : __WASI_ERRNO_INVAL;
}

__wasi_errno_t __wasi_clock_time_get(__wasi_clockid_t id, __wasi_timestamp_t precision, __wasi_timestamp_t *ret)
{
  (void)precision;
  if (id > __WASI_CLOCKID_THREAD_CPUTIME_ID)
    return __WASI_ERRNO_INVAL;
  *ret = mfg_clock_ns(clock_of(id));
  return 0;
}

__wasi_errno_t __wasi_random_get(uint8_t *buf, __wasi_size_t n)
{
  return mfg_random(buf, n) == 0 ? 0 : __WASI_ERRNO_IO;
}

__wasi_errno_t __wasi_sched_yield(void)
{
  return 0;
}

void __wasi_proc_exit(__wasi_exitcode_t code)
{
  mfg_exit((int)(code & 0xff));
}

/* How long until this moment; 0: it has come. */
static uint64_t wait_of(const __wasi_subscription_clock_t *c)
{
  if (!(c->flags & __WASI_SUBCLOCKFLAGS_SUBSCRIPTION_CLOCK_ABSTIME))
    return c->timeout;
  uint64_t now = mfg_clock_ns(clock_of(c->id));
  return c->timeout > now ? c->timeout - now : 0;
}

static void event_of(const __wasi_subscription_t *s, mfs_errno error, __wasi_event_t *ret)
{
  *ret = (__wasi_event_t){ .userdata = s->userdata, .error = error, .type = s->u.tag };
  if (s->u.tag == __WASI_EVENTTYPE_CLOCK || error)
    return;
  const struct mfg_open *o = mfg_fd_get((int)s->u.u.fd_read.file_descriptor);
  if (o->node->type == MFS_FILE && s->u.tag == __WASI_EVENTTYPE_FD_READ && o->node->n > o->at)
    ret->fd_readwrite.nbytes = o->node->n - o->at;
}

/* Nobody but the program itself can change a file, so descriptors are always ready; only clocks are waited for. */
__wasi_errno_t __wasi_poll_oneoff(const __wasi_subscription_t *in, __wasi_event_t *out, __wasi_size_t n,
                                  __wasi_size_t *ret)
{
  uint64_t least = UINT64_MAX;
  *ret = 0;
  for (__wasi_size_t i = 0; i < n; i++) {
    if (in[i].u.tag == __WASI_EVENTTYPE_CLOCK) {
      uint64_t wait = wait_of(&in[i].u.u.clock);
      least = wait < least ? wait : least;
    } else {
      bool is_open = mfg_fd_get((int)in[i].u.u.fd_read.file_descriptor) != NULL;
      event_of(&in[i], is_open ? 0 : __WASI_ERRNO_BADF, &out[(*ret)++]);
    }
  }
  if (n == 0)
    return __WASI_ERRNO_INVAL;
  if (*ret > 0)
    return 0;
  uint64_t waits[8]; /* relative ones cannot be asked again afterwards; more clocks than these all wait for the least */
  for (__wasi_size_t i = 0; i < n && i < 8; i++)
    waits[i] = wait_of(&in[i].u.u.clock);
  mfg_sleep(least);
  for (__wasi_size_t i = 0; i < n; i++) {
    if (i >= 8 || waits[i] <= least)
      event_of(&in[i], 0, &out[(*ret)++]);
  }
  return 0;
}

__wasi_errno_t __wasi_sock_accept(__wasi_fd_t fd, __wasi_fdflags_t flags, __wasi_fd_t *ret)
{
  (void)flags;
  (void)ret;
  return mfg_fd_get((int)fd) ? __WASI_ERRNO_NOTSOCK : __WASI_ERRNO_BADF;
}

__wasi_errno_t __wasi_sock_recv(__wasi_fd_t fd, const __wasi_iovec_t *iovs, size_t iovs_n, __wasi_riflags_t flags,
                                __wasi_size_t *ret, __wasi_roflags_t *ret_flags)
{
  (void)iovs;
  (void)iovs_n;
  (void)flags;
  (void)ret;
  (void)ret_flags;
  return mfg_fd_get((int)fd) ? __WASI_ERRNO_NOTSOCK : __WASI_ERRNO_BADF;
}

__wasi_errno_t __wasi_sock_send(__wasi_fd_t fd, const __wasi_ciovec_t *iovs, size_t iovs_n, __wasi_siflags_t flags,
                                __wasi_size_t *ret)
{
  (void)iovs;
  (void)iovs_n;
  (void)flags;
  (void)ret;
  return mfg_fd_get((int)fd) ? __WASI_ERRNO_NOTSOCK : __WASI_ERRNO_BADF;
}

__wasi_errno_t __wasi_sock_shutdown(__wasi_fd_t fd, __wasi_sdflags_t how)
{
  (void)how;
  return mfg_fd_get((int)fd) ? __WASI_ERRNO_NOTSOCK : __WASI_ERRNO_BADF;
}

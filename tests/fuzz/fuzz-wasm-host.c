/* The host functions of the wasm provider, called with anything: a guest chooses every number. Whatever comes, only the
 * guest's own memory is touched, no more goes up than was allowed, and a call that is over says so.
 *
 * Input: settings, then calls: a function's number and what it needs. */
#include <string.h>

#include "base/compiler.h"
#include "base/time.h"
#include "fuzz.h"
#include "host.h"
#include "wasm/abi.h"
#include "base/banned.h"

#define CALLS_MAX 256
#define GUARD 64u

struct world {
  struct mf_host host;
  struct mf_host_view memory;
  uint64_t cap[2], sent[2];
  bool is_dropped[2];
  uint8_t answer;
  const uint8_t *data;
  size_t n;
};

static void take(struct world *w, void *to, size_t n)
{
  memset(to, 0, n);
  size_t got = MF_MIN(n, w->n);
  memcpy(to, w->data, got);
  w->data += got;
  w->n -= got;
}

static uint8_t take_byte(struct world *w)
{
  uint8_t b;
  take(w, &b, 1);
  return b;
}

/* Numbers near what matters come more often than chance would bring them. */
static int32_t take_number(struct world *w)
{
  int32_t v;
  switch (take_byte(w) % 6) {
  case 0:
    take(w, &v, sizeof(v));
    return v;
  case 1:
    return (int32_t)(w->memory.n + take_byte(w) - 128u);
  case 2:
    return (int32_t)(UINT32_MAX - take_byte(w));
  case 3:
    return (int32_t)((uint32_t)INT32_MAX + take_byte(w) - 128u);
  case 4:
    return (int32_t)take_byte(w) - 8;
  default:
    return (int32_t)(w->memory.n / 2 + take_byte(w));
  }
}

static enum mf_host_sent on_output(void *user, bool is_stderr, const void *p, size_t n, bool is_dropped,
                                   uint64_t deadline_ns)
{
  struct world *w = user;
  const uint8_t *at = p;
  CHECK(n == 0 || (at >= w->memory.ptr && n <= w->memory.n && (size_t)(at - w->memory.ptr) <= w->memory.n - n));
  CHECK(n > 0 || is_dropped);
  CHECK(!w->is_dropped[is_stderr]); /* told once, and nothing after it */
  CHECK(deadline_ns == w->host.deadline_ns);
  w->is_dropped[is_stderr] = is_dropped;
  w->sent[is_stderr] += n;
  CHECK(w->sent[is_stderr] <= w->cap[is_stderr]);
  for (size_t i = 0; i < n; i += 4096) /* all of it can be read */
    w->answer ^= at[i] & 0;
  return w->answer % 16 == 1 ? MF_SENT_LATE : w->answer % 16 == 2 ? MF_SENT_NEVER : MF_SENT;
}

static bool is_inside(const struct world *w, int32_t ptr, int32_t n)
{
  return (uint64_t)(uint32_t)ptr + (uint32_t)n <= w->memory.n;
}

static void call_write(struct world *w)
{
  int32_t fd = (int8_t)take_byte(w), ptr = take_number(w), n = take_number(w);
  int32_t got = mf_host_write(&w->host, w->memory, fd, ptr, n);
  if (fd != 1 && fd != 2)
    CHECK(got == -MF_GUEST_EBADF);
  else if (n < 0 || !is_inside(w, ptr, n))
    CHECK(got == -MF_GUEST_EFAULT);
  else
    CHECK(got == n);
  for (unsigned i = 0; w->host.stop_on_output && i < 2; i++) /* past its cap it is over */
    CHECK(w->host.end != MF_HOST_RUNS || w->sent[i] + w->host.spare_n <= w->cap[i] || w->sent[i] == 0);
}

static void call_random(struct world *w)
{
  int32_t ptr = take_number(w), n = take_number(w);
  CHECK(mf_host_random(&w->host, w->memory, ptr, n) == (is_inside(w, ptr, n) ? 0 : MF_GUEST_EFAULT));
}

static void call_sleep(struct world *w)
{
  int64_t ns;
  take(w, &ns, sizeof(ns));
  mf_host_sleep(&w->host, take_byte(w) % 2 ? ns : -(ns / 2));
  if (w->host.deadline_ns == 0)
    CHECK(w->host.end != MF_HOST_RUNS);
}

static void call_one(struct world *w)
{
  uint8_t op = take_byte(w);
  w->answer = op >> 4;
  switch (op % 5) {
  case 0: {
    int32_t id = take_number(w);
    int64_t t = mf_host_clock(&w->host, id);
    CHECK(id >= 0 && id <= 2 ? t >= 0 : t == -1);
    return;
  }
  case 1:
    call_random(w);
    return;
  case 2:
    call_write(w);
    return;
  case 3:
    call_sleep(w);
    return;
  default:
    mf_host_exit(&w->host, take_number(w));
    CHECK(w->host.end == MF_HOST_EXITED && w->host.exit_code >= 0 && w->host.exit_code <= 255);
    return;
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  struct world w = { .data = data, .n = n };
  uint16_t size;
  take(&w, &size, sizeof(size));
  uint8_t *block = malloc(size + 2 * GUARD);
  CHECK(block);
  memset(block, 0x5a, size + 2 * GUARD);
  w.memory = (struct mf_host_view){ block + GUARD, size };
  w.cap[0] = take_byte(&w);
  w.cap[1] = (uint64_t)take_byte(&w) << 8;
  uint8_t how = take_byte(&w);
  w.host = (struct mf_host){
    .sink = on_output,
    .user = &w,
    .deadline_ns = how & 1 ? 0 : mf_now_ns() + 20000, /* past, or very near: sleeping is not what is looked for */
    .cpu_base_ns = mf_host_cpu_ns(),
    .stop_on_output = how & 2,
    .spare_n = how & 8 ? 4 : 0,
    .streams = { { .left = w.cap[0] }, { .left = w.cap[1] } },
  };
  /* The engine traps when the call is at its end; a glue that forgot it must do no harm either. */
  for (unsigned i = 0; i < CALLS_MAX && w.n > 0; i++) {
    call_one(&w);
    if (w.host.end != MF_HOST_RUNS && !(how & 4))
      break;
  }
  for (size_t i = 0; i < GUARD; i++)
    CHECK(block[i] == 0x5a && block[GUARD + size + i] == 0x5a);
  free(block);
  return 0;
}

/* The wasm provider against workers that say anything at any time, as one would whose guest broke out. Whatever comes,
 * each run ends exactly once with a sound result, closing ends, and no descriptor is left.
 *
 * Input: a byte of settings, then steps: an operation byte and what it needs. */
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "base/time.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "provider.h"
#include "base/banned.h"

#define RUNS_MAX 16
#define STEPS_MAX 200
#define SPAWNS_MAX 40
#define OUT_MAX 64u
#define FILES_MAX 3u

struct world;
struct one {
  struct world *world;
  struct mf_run *run;
  unsigned finished_n, released_n;
  uint8_t inside; /* what its events do */
};
struct world {
  struct mf_loop *loop;
  struct mf_timer *slice;
  struct mf_provider *provider;
  int socks[SPAWNS_MAX];
  unsigned spawn_n, ready_n, closed_n;
  bool is_closing;
  struct one runs[RUNS_MAX];
  unsigned run_n;
  const uint8_t *data;
  size_t n;
};

static uint8_t take_byte(struct world *w)
{
  if (w->n == 0)
    return 0;
  w->n--;
  return *w->data++;
}

static void take_bytes(struct world *w, void *to, size_t n)
{
  memset(to, 0, n);
  size_t got = MF_MIN(n, w->n);
  memcpy(to, w->data, got);
  w->data += got;
  w->n -= got;
}

/* ---- the seam ---- */

static enum mf_code spawn(void *user, const char *program, const struct mf_worker_config *config, int code_fd,
                          const int *cgroup_fds, struct mf_pidref *ret_proc, int *ret_sock, struct mf_err *err)
{
  struct world *w = user;
  int pair[2];
  /* Not for ever: a worker that is ended at once is followed by another as often. */
  if (w->spawn_n == SPAWNS_MAX || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0)
    return mf_fail(err, MF_E_SYS, 0, "no more");
  w->socks[w->spawn_n++] = pair[1];
  *ret_sock = pair[0];
  *ret_proc = MF_PIDREF_NULL;
  return MF_OK;
}

static void on_ready(void *user, enum mf_code code, const struct mf_err *err)
{
  struct world *w = user;
  w->ready_n++;
  CHECK((code == MF_OK) == (err == NULL));
  if (err)
    CHECK(mf_utf8_is_valid(mf_str_of(err->msg)));
}

static void on_closed(void *user)
{
  struct world *w = user;
  w->closed_n++;
  w->provider = NULL;
}

static void close_provider(struct world *w)
{
  if (w->is_closing)
    return;
  w->is_closing = true;
  mf_provider_close(w->provider, on_closed, w);
}

/* ---- runs ---- */

static void start_one(struct world *w);

static void act(struct one *o, uint8_t bit)
{
  if (!(o->inside & bit))
    return;
  if (o->inside & 0x10)
    close_provider(o->world);
  else if (o->inside & 0x20)
    start_one(o->world);
  else if (o->run)
    mf_sandbox_cancel(o->run);
}

static void on_started(void *user)
{
  struct one *o = user;
  CHECK(o->finished_n == 0);
  act(o, 1);
}

static void on_output(void *user, bool is_stderr, struct mf_str text)
{
  struct one *o = user;
  CHECK(o->finished_n == 0 && text.len > 0 && mf_utf8_is_valid(text));
  act(o, 2);
}

static void check_files(const struct mf_sandbox_result *r)
{
  CHECK(r->artifact_n <= FILES_MAX && r->rejected_n <= MF_REJECTED_MAX + 1);
  for (unsigned i = 0; i < r->artifact_n; i++) {
    CHECK(mf_name_check(mf_str_of(r->artifacts[i].path), "path", NULL) == MF_OK);
    CHECK(r->artifacts[i].fd >= 0 && strlen(r->artifacts[i].sha256) == 64);
    CHECK(i == 0 || strcmp(r->artifacts[i - 1].path, r->artifacts[i].path) < 0);
  }
  for (unsigned i = 0; i < r->rejected_n; i++)
    CHECK(mf_utf8_is_valid(mf_str_of(r->rejected[i].path)) && r->rejected[i].reason[0]);
}

static void on_finished(void *user, struct mf_sandbox_result *r)
{
  struct one *o = user;
  CHECK(++o->finished_n == 1);
  o->run = NULL;
  CHECK((unsigned)r->status < MF_RUN_STATUS_N && (unsigned)r->reason < MF_REASON_N);
  CHECK(!r->has_exit_code || (r->exit_code >= 0 && r->exit_code <= 255));
  CHECK(r->signal >= 0 && r->signal <= 64);
  CHECK(r->out.len <= OUT_MAX && r->err.len <= OUT_MAX);
  CHECK(mf_utf8_is_valid(mf_buf_str(&r->out)) && mf_utf8_is_valid(mf_buf_str(&r->err)));
  CHECK(mf_utf8_is_valid(mf_str_of(r->receipt.seccomp_sha256)));
  check_files(r);
  mf_sandbox_result_free(r);
  act(o, 4);
}

static void on_released(void *user)
{
  struct one *o = user;
  CHECK(o->finished_n == 1 && ++o->released_n == 1);
}

static const struct mf_sandbox_events events = { on_started, on_output, on_finished, on_released };

static void start_one(struct world *w)
{
  if (w->run_n == RUNS_MAX)
    return;
  static const struct mf_sandbox_file file = { MF_STR("in"), MF_STR("x") };
  uint8_t kind = take_byte(w);
  struct mf_sandbox_spec spec = { .source = MF_STR("pass"), .files = &file, .file_n = kind & 1 };
  mf_sandbox_limits_default(&spec.limits);
  spec.limits.stdout_bytes = spec.limits.stderr_bytes = OUT_MAX;
  spec.limits.artifact_count = FILES_MAX;
  spec.limits.artifact_bytes = 100;
  spec.limits.memory_bytes = kind & 4 ? 4ull << 30 : 64ull << 20;
  spec.limits.output_policy = kind & 2 ? MF_OUTPUT_STOP : MF_OUTPUT_TRUNCATE;
  struct one *o = &w->runs[w->run_n];
  *o = (struct one){ .world = w, .inside = take_byte(w) };
  if (mf_sandbox_start(w->provider, &spec, &events, o, &o->run, NULL) == MF_OK)
    w->run_n++;
}

/* ---- steps ---- */

static void stop(void *user)
{
  struct world *w = user;
  mf_loop_stop(w->loop);
}

static void turn(struct world *w)
{
  mf_timer_arm(w->slice, 0);
  CHECK(mf_loop_run(w->loop, NULL) == MF_OK);
}

/* Closing may wait for a thread that collects files. */
static void turn_for_ms(struct world *w, uint64_t ms)
{
  mf_timer_arm(w->slice, mf_now_ns() + ms * MF_NS_PER_MS);
  CHECK(mf_loop_run(w->loop, NULL) == MF_OK);
}

/* A sealed memfd, one without seals, or something else. */
static int make_fd(uint8_t how)
{
  int fd = -1;
  if (how & 1)
    return open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (mf_memfd("fuzz", &fd, NULL) != MF_OK)
    return -1;
  (void)!write(fd, "0123456789", how % 11);
  if (how & 2)
    (void)!ftruncate(fd, (off_t)1 << (how % 45)); /* holes cost nothing */
  if (how & 4)
    (void)fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
  return fd;
}

static void send_frame(struct world *w, const void *p, size_t n, bool with_fd, uint8_t how)
{
  if (w->spawn_n == 0 || n == 0)
    return;
  int sock = w->socks[w->spawn_n - 1 - (how & 0x40 && w->spawn_n > 1)];
  int fd = with_fd && sock >= 0 ? make_fd(how) : -1;
  if (sock >= 0)
    (void)!mf_send_msg(sock, p, n, &fd, fd >= 0, NULL);
  mf_close_ptr(&fd);
}

/* A frame of the right size with one of the first serials in its place, the rest from the input. */
static void send_shaped(struct world *w, uint32_t type)
{
  static const struct {
    size_t size, serial_at, tail_at;
  } shapes[] = {
    [MF_WORKER_HELLO] = { sizeof(struct mf_worker_hello), 0, 0 },
    [MF_WORKER_READY] = { sizeof(struct mf_worker_ready), 0, 0 },
    [MF_WORKER_FATAL] = { sizeof(struct mf_worker_fatal), 0, 0 },
    [MF_WORKER_BEGAN] = { sizeof(struct mf_worker_began), offsetof(struct mf_worker_began, serial), 0 },
    [MF_WORKER_OUTPUT] = { sizeof(struct mf_worker_output), offsetof(struct mf_worker_output, serial),
                           offsetof(struct mf_worker_output, len) },
    [MF_WORKER_FILE] = { sizeof(struct mf_worker_file), offsetof(struct mf_worker_file, serial),
                         offsetof(struct mf_worker_file, name_n) },
    [MF_WORKER_DONE] = { sizeof(struct mf_worker_done), offsetof(struct mf_worker_done, serial), 0 },
  };
  if (type >= MF_ARRAY_N(shapes) || shapes[type].size == 0)
    return;
  char bytes[sizeof(struct mf_worker_fatal) + 256];
  size_t n = shapes[type].size;
  uint8_t how = take_byte(w);
  memset(bytes, 0, sizeof(bytes));
  take_bytes(w, bytes + sizeof(type), how & 0x80 ? MF_MIN(n - sizeof(type), (size_t)48) : 4);
  memcpy(bytes, &type, sizeof(type));
  if (shapes[type].serial_at) {
    uint64_t serial = how % 8 + 1u;
    memcpy(bytes + shapes[type].serial_at, &serial, sizeof(serial));
  }
  if (type == MF_WORKER_HELLO && !(how & 0x20))
    memcpy(bytes + offsetof(struct mf_worker_hello, version), &(uint32_t){ MF_WORKER_VERSION }, 4);
  if (shapes[type].tail_at) {
    uint32_t len = take_byte(w) % 100;
    memcpy(bytes + shapes[type].tail_at, &len, sizeof(len));
    take_bytes(w, bytes + n, len);
    n += len;
  }
  send_frame(w, bytes, n, type == MF_WORKER_FILE || (how & 0xc0) == 0xc0, take_byte(w));
}

static void send_raw(struct world *w)
{
  char bytes[512];
  size_t n = (size_t)take_byte(w) * 2;
  take_bytes(w, bytes, n);
  send_frame(w, bytes, n, n & 4, take_byte(w));
}

static void step(struct world *w)
{
  uint8_t op = take_byte(w);
  if (w->closed_n > 0)
    return;
  switch (op % 16) {
  case 0:
  case 10:
    turn(w);
    return;
  case 11:
    if (!w->is_closing)
      start_one(w);
    return;
  case 12: {
    struct one *o = &w->runs[take_byte(w) % RUNS_MAX];
    if (o->run)
      mf_sandbox_cancel(o->run);
    return;
  }
  case 13:
    if (w->spawn_n > 0)
      mf_close_ptr(&w->socks[take_byte(w) % w->spawn_n]);
    return;
  case 14: {
    struct mf_wasm_info info;
    mf_wasm_info(w->provider, &info);
    CHECK(info.busy <= info.workers && info.workers <= 8);
    return;
  }
  case 15:
    if (op == 0xff)
      close_provider(w);
    else
      send_raw(w);
    return;
  default:
    send_shaped(w, op % 16);
    return;
  }
}

static void play(struct world *w)
{
  uint8_t how = take_byte(w);
  struct mf_wasm_config config;
  mf_wasm_config_default(&config);
  config.max_running = 1 + how % 8;
  config.ready_workers = how & 0x10 ? 2 : 1;
  config.calls_max = how & 0x20 ? 1 : 3;
  config.use_cgroup = false;
  const struct mf_wasm_runtime_info runtime = { .id = "fuzz" };
  struct mf_wasm_seam seam = { .spawn = spawn, .user = w };
  mf_wasm_times_default(&seam.times);
  seam.times.backoff_min_ms = seam.times.backoff_max_ms = 0;
  if (how & 0x40)
    seam.times.grace_ms = seam.times.silence_ms = 0;
  if (how & 0x80)
    seam.times.idle_ms = 0;
  CHECK(mf_wasm_new_with(w->loop, &config, &runtime, -1, &seam, on_ready, w, &w->provider, NULL) == MF_OK);
  turn(w);
  for (unsigned i = 0; i < STEPS_MAX && w->n > 0; i++)
    step(w);
  for (unsigned i = 0; i < 3 && w->closed_n == 0; i++)
    turn(w);
  if (w->closed_n == 0)
    close_provider(w);
  for (unsigned i = 0; i < 100 && w->closed_n == 0; i++)
    turn(w);
  for (unsigned i = 0; i < 10000 && w->closed_n == 0; i++)
    turn_for_ms(w, 1);
  CHECK(w->closed_n == 1 && w->ready_n == 1);
  for (unsigned i = 0; i < w->run_n; i++)
    CHECK(w->runs[i].finished_n == 1 && w->runs[i].released_n == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  mf_log_set_level(MF_LOG_ERROR);
  int probe = dup(STDERR_FILENO); /* the lowest free descriptor, as after it */
  close(probe);
  struct world w = { .data = data, .n = n };
  CHECK(mf_loop_new(&w.loop, NULL) == MF_OK);
  CHECK(mf_timer_new(w.loop, stop, &w, &w.slice, NULL) == MF_OK);
  play(&w);
  for (unsigned i = 0; i < w.spawn_n; i++)
    mf_close_ptr(&w.socks[i]);
  mf_timer_free(w.slice);
  mf_loop_free(w.loop);
  int after = dup(STDERR_FILENO);
  close(after);
  CHECK(after == probe);
  return 0;
}

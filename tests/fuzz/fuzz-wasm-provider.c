/* The wasm provider against workers that say anything at any time, as one would whose guest broke out (world.h). */
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/utf8.h"
#include "provider.h"
#include "world.h"
#include "base/banned.h"

#define SPAWNS_MAX 40
#define FILES_MAX 3u

struct workers {
  struct world world;
  int socks[SPAWNS_MAX];
  unsigned spawn_n;
};

/* ---- the seam ---- */

static enum mf_code spawn(void *user, const char *program, const struct mf_worker_config *config, int code_fd,
                          const int *cgroup_fds, struct mf_pidref *ret_proc, int *ret_sock, struct mf_err *err)
{
  struct workers *w = user;
  int pair[2];
  /* Not for ever: a worker that is ended at once is followed by another as often. */
  if (w->spawn_n == SPAWNS_MAX || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0)
    return mf_fail(err, MF_E_SYS, 0, "no more");
  w->socks[w->spawn_n++] = pair[1];
  *ret_sock = pair[0];
  *ret_proc = MF_PIDREF_NULL;
  return MF_OK;
}

static void check_result(const struct mf_sandbox_result *r)
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

/* ---- steps ---- */

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
  const struct workers *all = (struct workers *)w;
  if (all->spawn_n == 0 || n == 0)
    return;
  int sock = all->socks[all->spawn_n - 1 - (how & 0x40 && all->spawn_n > 1)];
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

static void step(struct world *w, uint8_t op)
{
  struct workers *all = (struct workers *)w;
  struct mf_wasm_info info;
  switch (op % 16) {
  case 10:
    turn(w);
    return;
  case 13:
    if (all->spawn_n > 0)
      mf_close_ptr(&all->socks[take_byte(w) % all->spawn_n]);
    return;
  case 14:
    mf_wasm_info(w->provider, &info);
    CHECK(info.busy <= info.workers && info.workers <= 8);
    return;
  case 15:
    send_raw(w);
    return;
  default:
    send_shaped(w, op % 16);
    return;
  }
}

static void begin(struct world *w, uint8_t how)
{
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
  w->limits.artifact_count = w->other_limits.artifact_count = FILES_MAX;
  w->limits.artifact_bytes = w->other_limits.artifact_bytes = 100;
  w->limits.memory_bytes = 64ull << 20;
  w->other_limits.memory_bytes = 4ull << 30;
  CHECK(mf_wasm_new_with(w->loop, &config, &runtime, -1, &seam, world_on_ready, w, &w->provider, NULL) == MF_OK);
  turn(w);
}

static void end(struct world *w)
{
  struct workers *all = (struct workers *)w;
  for (unsigned i = 0; i < all->spawn_n; i++)
    mf_close_ptr(&all->socks[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  struct workers all = { .world = { .source = MF_STR("pass"), .check_result = check_result } };
  world_play(&all.world, data, n, begin, step, end);
  return 0;
}

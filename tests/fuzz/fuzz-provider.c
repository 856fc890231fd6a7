/* The local provider against a supervisor that says anything at any time (world.h). */
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "provider.h"
#include "world.h"
#include "base/banned.h"

struct supervised {
  struct world world;
  int sock;
  unsigned spawn_n;
};

/* ---- the seam ---- */

static enum mf_code spawn(void *user, const char *program, const struct mf_supervisor_config *config,
                          struct mf_pidref *ret_sup, int *ret_sock, struct mf_err *err)
{
  struct supervised *s = user;
  int pair[2];
  /* Not for ever: a provider that is told off at once would come back as often. */
  if (s->spawn_n++ > 50 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0)
    return mf_fail(err, MF_E_SYS, 0, "no more");
  mf_close_ptr(&s->sock);
  s->sock = pair[1];
  *ret_sock = pair[0];
  return MF_OK;
}

static unsigned sweep(void *user)
{
  return 0;
}

static void on_info(void *user, const struct mf_local_info *info)
{
  CHECK(memchr(info->checkpoint_note, 0, sizeof(info->checkpoint_note)));
}

/* ---- steps ---- */

static void send_frame(struct world *w, const void *p, size_t n, bool with_fd)
{
  int sock = ((struct supervised *)w)->sock;
  if (sock < 0 || n == 0)
    return;
  int fd = with_fd ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
  (void)!mf_send_msg(sock, p, n, &fd, with_fd, NULL);
  mf_close_ptr(&fd);
}

/* A frame of the right size with one of the first ids in its place, the rest from the input. */
static void send_shaped(struct world *w, uint32_t type)
{
  static const struct {
    size_t size, id_at;
  } shapes[] = {
    [MF_SUP_READY] = { sizeof(struct mf_sup_ready), 0 },
    [MF_SUP_FATAL] = { sizeof(struct mf_zyg_fatal), 0 },
    [MF_SUP_STARTED] = { sizeof(struct mf_sup_started), offsetof(struct mf_sup_started, id) },
    [MF_SUP_OUTPUT] = { sizeof(struct mf_sup_output), offsetof(struct mf_sup_output, id) },
    [MF_SUP_HINT] = { sizeof(struct mf_sup_hint), offsetof(struct mf_sup_hint, id) },
    [MF_SUP_FINISHED] = { sizeof(struct mf_sup_finished), offsetof(struct mf_sup_finished, id) },
    [MF_SUP_REAPED] = { sizeof(struct mf_sup_reaped), offsetof(struct mf_sup_reaped, id) },
    [MF_SUP_STATS] = { sizeof(struct mf_sup_stats), offsetof(struct mf_sup_stats, id) },
  };
  if (type >= MF_ARRAY_N(shapes) || shapes[type].size == 0)
    return;
  char bytes[sizeof(struct mf_sup_stats) + sizeof(struct mf_zyg_fatal) + sizeof(struct mf_sup_ready) + 256];
  size_t n = shapes[type].size;
  uint8_t how = take_byte(w);
  take_bytes(w, bytes, MF_MIN(n, (size_t)64));
  memset(bytes + MF_MIN(n, (size_t)64), how, n - MF_MIN(n, (size_t)64));
  memcpy(bytes, &type, sizeof(type));
  if (shapes[type].id_at) {
    uint64_t id = how % 8 + 1u;
    memcpy(bytes + shapes[type].id_at, &id, sizeof(id));
  }
  if (type == MF_SUP_READY)
    memcpy(bytes + offsetof(struct mf_sup_ready, version), &(uint32_t){ MF_FRAMES_VERSION }, 4);
  if (type == MF_SUP_OUTPUT) {
    uint32_t len = take_byte(w);
    memcpy(bytes + offsetof(struct mf_sup_output, len), &len, sizeof(len));
    take_bytes(w, bytes + n, len);
    n += len;
  }
  send_frame(w, bytes, n, (how & 0x80) != 0);
}

static void send_raw(struct world *w)
{
  char bytes[512];
  size_t n = (size_t)take_byte(w) * 2;
  take_bytes(w, bytes, n);
  send_frame(w, bytes, n, n & 4);
}

static void step(struct world *w, uint8_t op)
{
  switch (op % 16) {
  case 13:
    mf_close_ptr(&((struct supervised *)w)->sock);
    return;
  case 14:
    if (!w->is_closing)
      mf_local_info(w->provider, on_info, w);
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
  struct mf_local_config config;
  mf_local_config_default(&config);
  config.runtime_dir = "/runtime";
  config.max_running = 1 + how % 8;
  config.isolation = how & 0x10 ? MF_ISOLATION_PREFER : MF_ISOLATION_REQUIRE;
  const struct mf_runtime_info runtime = { .id = "fuzz", .python_path = "/python" };
  struct mf_local_seam seam = { .spawn = spawn, .sweep = sweep, .user = w };
  mf_local_times_default(&seam.times);
  seam.times.backoff_min_ms = seam.times.backoff_max_ms = 0;
  if (how & 0x20)
    seam.times.reap_ms = 0;
  if (how & 0x40)
    seam.times.gap_ms = 0;
  if (how & 0x80)
    seam.times.grace_ms = 0;
  CHECK(mf_local_new_with(w->loop, &config, "/zygote", &runtime, &seam, world_on_ready, w, &w->provider, NULL) ==
        MF_OK);
}

static void end(struct world *w)
{
  mf_close_ptr(&((struct supervised *)w)->sock);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  struct supervised s = { .world.source = MF_STR("import numpy"), .sock = -1 };
  world_play(&s.world, data, n, begin, step, end);
  return 0;
}

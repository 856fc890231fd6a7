/* The local provider against a supervisor that says anything at any time. Whatever comes, each run ends exactly once
 * with a sound result, closing ends, and no descriptor is left.
 *
 * Input: a byte of settings, then steps: an operation byte and what it needs. */
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/time.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "provider.h"
#include "base/banned.h"

#define RUNS_MAX 16
#define STEPS_MAX 200

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
  int sock;
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

static enum mf_code spawn(void *user, const char *program, const struct mf_supervisor_config *config,
                          struct mf_pidref *ret_sup, int *ret_sock, struct mf_err *err)
{
  struct world *w = user;
  int pair[2];
  /* Not for ever: a provider that is told off at once would come back as often. */
  if (w->spawn_n++ > 50 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0)
    return mf_fail(err, MF_E_SYS, 0, "no more");
  mf_close_ptr(&w->sock);
  w->sock = pair[1];
  *ret_sock = pair[0];
  return MF_OK;
}

static unsigned sweep(void *user)
{
  return 0;
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

static void on_finished(void *user, struct mf_sandbox_result *r)
{
  struct one *o = user;
  CHECK(++o->finished_n == 1);
  o->run = NULL;
  CHECK((unsigned)r->status < MF_RUN_STATUS_N && (unsigned)r->reason < MF_REASON_N);
  CHECK(!r->has_exit_code || (r->exit_code >= 0 && r->exit_code <= 255));
  CHECK(r->signal >= 0 && r->signal <= 64);
  CHECK(r->out.len <= 64 && r->err.len <= 64);
  CHECK(mf_utf8_is_valid(mf_buf_str(&r->out)) && mf_utf8_is_valid(mf_buf_str(&r->err)));
  for (unsigned i = 0; i < r->denied_n; i++)
    CHECK(mf_utf8_is_valid(mf_str_of(r->denied[i])));
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
  struct mf_sandbox_spec spec = { .source = MF_STR("import numpy"), .files = &file, .file_n = kind & 1 };
  mf_sandbox_limits_default(&spec.limits);
  spec.limits.stdout_bytes = spec.limits.stderr_bytes = 64;
  spec.limits.output_policy = kind & 2 ? MF_OUTPUT_STOP : MF_OUTPUT_TRUNCATE;
  struct one *o = &w->runs[w->run_n];
  *o = (struct one){ .world = w, .inside = take_byte(w) };
  if (mf_sandbox_start(w->provider, &spec, &events, o, &o->run, NULL) == MF_OK)
    w->run_n++;
}

static void on_info(void *user, const struct mf_local_info *info)
{
  CHECK(memchr(info->checkpoint_note, 0, sizeof(info->checkpoint_note)));
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

static void send_frame(struct world *w, const void *p, size_t n, bool with_fd)
{
  if (w->sock < 0 || n == 0)
    return;
  int fd = with_fd ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
  (void)!mf_send_msg(w->sock, p, n, &fd, with_fd, NULL);
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

static void step(struct world *w)
{
  uint8_t op = take_byte(w);
  if (w->closed_n > 0)
    return;
  switch (op % 16) {
  case 0:
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
    mf_close_ptr(&w->sock);
    return;
  case 14:
    if (!w->is_closing)
      mf_local_info(w->provider, on_info, w);
    return;
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
  CHECK(mf_local_new_with(w->loop, &config, "/zygote", &runtime, &seam, on_ready, w, &w->provider, NULL) == MF_OK);
  for (unsigned i = 0; i < STEPS_MAX && w->n > 0; i++)
    step(w);
  for (unsigned i = 0; i < 3 && w->closed_n == 0; i++)
    turn(w);
  if (w->closed_n == 0)
    close_provider(w);
  for (unsigned i = 0; i < 1000 && w->closed_n == 0; i++)
    turn(w);
  CHECK(w->closed_n == 1 && w->ready_n == 1);
  for (unsigned i = 0; i < w->run_n; i++)
    CHECK(w->runs[i].finished_n == 1 && w->runs[i].released_n == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  mf_log_set_level(MF_LOG_ERROR);
  int probe = dup(STDERR_FILENO); /* the lowest free descriptor, as after it */
  close(probe);
  struct world w = { .sock = -1, .data = data, .n = n };
  CHECK(mf_loop_new(&w.loop, NULL) == MF_OK);
  CHECK(mf_timer_new(w.loop, stop, &w, &w.slice, NULL) == MF_OK);
  play(&w);
  mf_close_ptr(&w.sock);
  mf_timer_free(w.slice);
  mf_loop_free(w.loop);
  int after = dup(STDERR_FILENO);
  close(after);
  CHECK(after == probe);
  return 0;
}

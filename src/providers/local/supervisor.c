/* The supervisor's life: frames from the provider, the settling after each event, the end. Thread: its only one. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/time.h"
#include "proctree.h"
#include "supervisor-internal.h"

#include "base/banned.h"

#define FRAMES_PER_TURN 32u
#define TICK_NS (100 * MF_NS_PER_MS)
#define TICK_SLOW_NS (1 * MF_NS_PER_S)
#define POOL_MAX 64u
#define END_WAIT_MS 5000 /* for the namespaces of the zygotes to be empty */
#define FLUSH_WAIT_MS 500

/* ---- small things ---- */

void mf_supervisor_text(char *ret, size_t n, const char *text, size_t text_max)
{
  size_t w = 0;
  for (size_t i = 0; i < text_max && text[i] && w + 1 < n; i++)
    ret[w++] = text[i] >= 0x20 && text[i] < 0x7f ? text[i] : '?';
  ret[w] = '\0';
}

void mf_supervisor_send(struct mf_supervisor *sup, const void *frame, size_t n)
{
  mf_supq_push(&sup->out, frame, n, -1, false);
}

static void end(struct mf_supervisor *sup)
{
  if (sup->is_ending)
    return;
  sup->is_ending = true;
  mf_loop_stop(sup->loop);
}

void mf_supervisor_fatal(struct mf_supervisor *sup, const char *step, int error, const char *text)
{
  if (sup->is_ending)
    return;
  struct mf_zyg_fatal fatal = { .type = MF_SUP_FATAL, .error = error };
  snprintf(fatal.step, sizeof fatal.step, "%s", step);
  snprintf(fatal.text, sizeof fatal.text, "%s", text);
  mf_supervisor_send(sup, &fatal, sizeof fatal);
  end(sup);
}

static bool is_text(const char *s, size_t n)
{
  return s[0] && memchr(s, '\0', n);
}

enum mf_code mf_supervisor_config_check(const struct mf_supervisor_config *c, struct mf_err *err)
{
  if (c->version != MF_FRAMES_VERSION)
    return mf_fail(err, MF_E_INPUT, 0, "supervisor configuration: version %u, not %u", c->version, MF_FRAMES_VERSION);
  if (c->max_running < 1 || c->max_running > MF_RUNS_MAX)
    return mf_fail(err, MF_E_INPUT, 0, "supervisor configuration: max_running %u", c->max_running);
  if (c->pool_stdlib > POOL_MAX || c->pool_data > POOL_MAX)
    return mf_fail(err, MF_E_INPUT, 0, "supervisor configuration: pools of %u and %u", c->pool_stdlib, c->pool_data);
  if (!is_text(c->rootfs, sizeof c->rootfs) || !is_text(c->zygote_dir, sizeof c->zygote_dir) ||
      !is_text(c->python_path, sizeof c->python_path))
    return mf_fail(err, MF_E_INPUT, 0, "supervisor configuration: a path is missing");
  return MF_OK;
}

/* ---- frames from the provider ---- */

static void send_stats(struct mf_supervisor *sup, uint64_t id)
{
  struct mf_lane *stdlib = &sup->lanes[0], *data = &sup->lanes[1];
  struct mf_sup_stats stats = {
    .type = MF_SUP_STATS,
    .busy = sup->run_n,
    .id = id,
    .pool_stdlib = mf_lane_count(stdlib, MF_SLOT_IDLE),
    .pool_data = mf_lane_count(data, MF_SLOT_IDLE),
    .zygote_restarts = sup->zygote_restarts,
    .forks = sup->forks,
  };
  /* the zygote is its init's first child: the children that it forks are its own */
  if (stdlib->current && stdlib->current->init.pid > 0)
    stats.zygote_stdlib_pid = mf_proc_first_child(stdlib->current->init.pid);
  if (data->current && data->current->init.pid > 0)
    stats.zygote_data_pid = mf_proc_first_child(data->current->init.pid);
  for (unsigned i = 0; i < sup->slot_high; i++) {
    const struct mf_slot *slot = &sup->slots[i];
    if (slot->state == MF_SLOT_IDLE && slot->zygote && slot->zygote->lane == data) {
      stats.idle_private_bytes = mf_proc_private_bytes(slot->guest.pid);
      break;
    }
  }
  mf_supervisor_send(sup, &stats, sizeof stats);
}

static void on_start(struct mf_supervisor *sup, const struct mf_sup_start *start, int *fds, unsigned fd_n)
{
  if (start->runtime < 1 || start->runtime > MF_RUNTIME_N || start->wall_ms == 0 || fd_n < 1 || fds[0] < 0)
    mf_sup_run_reject(sup, start, "a request that makes no sense");
  else
    mf_sup_run_start(sup, start, &fds[0]);
}

void mf_supervisor_frame(struct mf_supervisor *sup, const void *frame, size_t n, int *fds, unsigned fd_n)
{
  union {
    uint32_t type;
    struct mf_sup_start start;
    struct mf_sup_cancel cancel;
  } f;
  if (n < sizeof f.type || n > sizeof f)
    return;
  memset(&f, 0, sizeof f);
  memcpy(&f, frame, n);
  if (f.type == MF_SUP_START && n == sizeof f.start)
    on_start(sup, &f.start, fds, fd_n);
  else if (f.type == MF_SUP_CANCEL && n == sizeof f.cancel)
    mf_sup_run_cancel(sup, f.cancel.id);
  else if (f.type == MF_SUP_STATS && n == sizeof f.cancel)
    send_stats(sup, f.cancel.id);
}

static void read_provider(struct mf_supervisor *sup)
{
  char frame[sizeof(struct mf_sup_start) + 64];
  for (unsigned i = 0; i < FRAMES_PER_TURN && !sup->is_ending; i++) {
    int fds[MF_FDS_MAX];
    unsigned fd_n = 0;
    size_t n = 0;
    enum mf_code code = mf_recv_msg(sup->sock, frame, sizeof frame, &n, fds, &fd_n, NULL);
    if (code == MF_E_CAPACITY)
      return;
    if (code == MF_E_INPUT)
      continue;
    if (code != MF_OK) {
      end(sup);
      return;
    }
    mf_supervisor_frame(sup, frame, n, fds, fd_n);
    for (unsigned k = 0; k < fd_n; k++)
      mf_close_ptr(&fds[k]);
  }
}

static void on_provider(void *user, unsigned events)
{
  struct mf_supervisor *sup = user;
  if (events & MF_WATCH_WRITE)
    mf_supq_flush(&sup->out);
  if (events & MF_WATCH_READ)
    read_provider(sup);
  mf_supervisor_settle(sup);
}

/* ---- settling ---- */

void mf_supervisor_tick_at(struct mf_supervisor *sup, uint64_t at_ns)
{
  if (sup->tick_at_ns && sup->tick_at_ns <= at_ns)
    return;
  sup->tick_at_ns = at_ns;
  mf_timer_arm(sup->tick, at_ns);
}

static void on_tick(void *user)
{
  struct mf_supervisor *sup = user;
  sup->tick_at_ns = 0;
  uint64_t now = mf_now_ns();
  for (unsigned i = 0; i < sup->slot_high; i++)
    mf_slot_check(&sup->slots[i], now);
  mf_supervisor_settle(sup);
}

static void on_refill(void *user)
{
  struct mf_supervisor *sup = user;
  sup->refill_timer_ns = 0;
  mf_supervisor_settle(sup);
}

/* When the provider reads no more, no guest is read either; its own writes then wait, and its wall clock goes on. */
static void follow_room(struct mf_supervisor *sup)
{
  bool room = mf_supq_has_room(&sup->out);
  if (room == sup->had_room)
    return;
  sup->had_room = room;
  for (unsigned i = 0; i < sup->slot_high; i++) {
    struct mf_slot *slot = &sup->slots[i];
    if (slot->run && slot->run->is_ending) {
      if (room)
        mf_sup_run_pump(slot->run);
    } else
      mf_child_set_reading(slot, room);
  }
}

static void arm_tick(struct mf_supervisor *sup, uint64_t now)
{
  static const enum mf_slot_state moving[] = { MF_SLOT_FORKING, MF_SLOT_PREPARING, MF_SLOT_STARTING, MF_SLOT_DRAINING,
                                               MF_SLOT_DEAD };
  uint64_t at = UINT64_MAX;
  for (size_t i = 0; i < MF_ARRAY_N(moving); i++) {
    if (sup->state_n[moving[i]] > 0)
      at = now + TICK_NS;
  }
  for (unsigned i = 0; i < MF_ZYGOTES_MAX && at == UINT64_MAX; i++) {
    if (sup->zygotes[i].state != MF_ZYGOTE_NONE && sup->zygotes[i].state != MF_ZYGOTE_READY)
      at = now + TICK_SLOW_NS;
  }
  for (unsigned i = 0; i < MF_RUNTIME_N; i++) {
    uint64_t next = mf_lane_next_ns(&sup->lanes[i], now);
    at = MF_MIN(at, next);
  }
  if (at != UINT64_MAX)
    mf_supervisor_tick_at(sup, MF_MAX(at, now + MF_NS_PER_MS));
}

void mf_supervisor_settle(struct mf_supervisor *sup)
{
  if (sup->is_ending)
    return;
  if (sup->out.is_gone) {
    end(sup);
    return;
  }
  follow_room(sup);
  uint64_t now = mf_now_ns();
  for (unsigned i = 0; i < MF_RUNTIME_N; i++) {
    mf_lane_keep(&sup->lanes[i], now);
    mf_lane_serve(&sup->lanes[i], now);
    if (sup->is_ending)
      return;
  }
  follow_room(sup);
  mf_watch_set(sup->sock_watch, mf_supq_is_empty(&sup->out) ? MF_WATCH_READ : MF_WATCH_READ | MF_WATCH_WRITE);
  arm_tick(sup, now);
}

/* ---- life ---- */

static void init_slots(struct mf_supervisor *sup)
{
  const struct mf_supervisor_config *c = &sup->config;
  /* as many again as may run: places whose group still holds the files of a run that was just answered */
  sup->slot_n = 2 * c->max_running + c->pool_stdlib + c->pool_data + 16;
  sup->slots = mf_xcalloc(sup->slot_n, sizeof *sup->slots);
  for (unsigned i = 0; i < sup->slot_n; i++) {
    sup->slots[i] = (struct mf_slot){
      .sup = sup,
      .index = i,
      .guest = MF_PIDREF_NULL,
      .init = MF_PIDREF_NULL,
      .control = -1,
      .pipe = { -1, -1 },
      .workdir = -1,
    };
  }
  sup->runs = mf_xcalloc(c->max_running, sizeof *sup->runs);
}

static enum mf_code init_loop(struct mf_supervisor *sup, struct mf_err *err)
{
  enum mf_code code = mf_timer_new(sup->loop, on_tick, sup, &sup->tick, err);
  if (code == MF_OK)
    code = mf_timer_new(sup->loop, on_refill, sup, &sup->refill, err);
  if (code == MF_OK)
    code = mf_fd_set_nonblock(sup->sock, err);
  if (code == MF_OK)
    code = mf_watch_new(sup->loop, sup->sock, MF_WATCH_READ, on_provider, sup, &sup->sock_watch, err);
  return code;
}

struct mf_supervisor *mf_supervisor_new(struct mf_loop *loop, const struct mf_supervisor_config *config,
                                        const struct mf_supervisor_hooks *hooks, int sock)
{
  struct mf_supervisor *sup = mf_xcalloc(1, sizeof *sup);
  sup->loop = loop;
  sup->config = *config;
  sup->hooks = hooks ? *hooks : mf_supervisor_real_hooks;
  sup->sock = sock;
  sup->had_room = true;
  struct mf_supervisor_config *c = &sup->config;
  c->zygote_max_forks = c->zygote_max_forks ? c->zygote_max_forks : 20000;
  c->zygote_max_age_s = c->zygote_max_age_s ? c->zygote_max_age_s : 3600;
  c->default_memory_bytes = c->default_memory_bytes ? c->default_memory_bytes : 1ull << 30;
  c->default_pids = c->default_pids ? c->default_pids : 64;
  if (!c->start_stdlib && !c->start_data)
    c->start_stdlib = 1; /* one child has to show that it all works */
  long cpu_n = sysconf(_SC_NPROCESSORS_ONLN);
  sup->cpu_n = (unsigned)MF_MAX(cpu_n, 1);
  mf_supq_init(&sup->out, sock);
  init_slots(sup);
  for (unsigned i = 0; i < MF_RUNTIME_N; i++)
    mf_lane_init(&sup->lanes[i], sup, i + 1);

  bool groups = c->use_cgroup && !(c->disable_layers & MF_LAYER_CGROUP);
  const struct mf_cgroup_place nowhere = { 0 };
  const struct mf_cgroup_options options = {
    .place = groups ? NULL : &nowhere,
    .slot_n = sup->slot_n,
    .memory_bytes = c->default_memory_bytes,
    .pids = c->default_pids,
    .probe_join = true,
  };
  sup->cgroup = mf_cgroup_new(&options, NULL);

  struct mf_err err;
  if (init_loop(sup, &err) != MF_OK) {
    mf_supervisor_fatal(sup, "supervisor", err.sys, err.msg);
    return sup;
  }
  mf_supervisor_settle(sup);
  /* computed while the zygotes import */
  if (!sup->is_ending &&
      sup->hooks.seccomp_sha256(mf_cgroup_kind(sup->cgroup) != MF_CGROUP_NONE, sup->seccomp_sha256, &err) != MF_OK)
    mf_supervisor_fatal(sup, "seccomp program", err.sys, err.msg);
  return sup;
}

static void flush_last(struct mf_supervisor *sup)
{
  for (uint64_t until = mf_now_ns() + FLUSH_WAIT_MS * MF_NS_PER_MS;;) {
    mf_supq_flush(&sup->out);
    if (sup->out.is_gone || mf_supq_is_empty(&sup->out) || mf_now_ns() >= until)
      return;
    struct pollfd p = { .fd = sup->sock, .events = POLLOUT };
    (void)poll(&p, 1, 50);
  }
}

static void end_zygotes(struct mf_supervisor *sup)
{
  for (unsigned i = 0; i < MF_ZYGOTES_MAX; i++) {
    enum mf_zygote_state state = sup->zygotes[i].state;
    if (state != MF_ZYGOTE_NONE && state != MF_ZYGOTE_DYING)
      mf_zygote_kill(&sup->zygotes[i]);
  }
  uint64_t until = mf_now_ns() + END_WAIT_MS * MF_NS_PER_MS;
  for (unsigned i = 0; i < MF_ZYGOTES_MAX; i++) {
    struct mf_zygote *z = &sup->zygotes[i];
    if (z->state == MF_ZYGOTE_NONE)
      continue;
    struct pollfd p = { .fd = z->init.fd, .events = POLLIN };
    uint64_t now;
    while ((now = mf_now_ns()) < until && poll(&p, 1, (int)((until - now) / MF_NS_PER_MS) + 1) < 0 && errno == EINTR)
      ;
    mf_zygote_gone(z);
  }
}

void mf_supervisor_free(struct mf_supervisor *sup)
{
  if (!sup)
    return;
  sup->is_ending = true;
  flush_last(sup);
  end_zygotes(sup);
  for (unsigned i = 0; i < sup->slot_n; i++)
    mf_slot_done(&sup->slots[i]);
  for (unsigned i = 0; i < sup->config.max_running; i++)
    if (sup->runs[i].is_used)
      mf_close_ptr(&sup->runs[i].job);
  mf_cgroup_free(sup->cgroup);
  sup->tick = mf_timer_free(sup->tick);
  sup->refill = mf_timer_free(sup->refill);
  sup->sock_watch = mf_watch_free(sup->sock_watch);
  mf_supq_done(&sup->out);
  mf_close_ptr(&sup->sock);
  free(sup->slots);
  free(sup->runs);
  free(sup);
}

/* Zygotes: started, restarted after a crash with a growing wait, replaced when old. Thread: the supervisor's.
 *
 * A lane has at most one zygote that forks (current) and one that is to follow it (next). A replaced one retires: it
 * forks no more and ends with its last child. */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/time.h"
#include "supervisor-internal.h"

#include "base/banned.h"

#define START_MAX_NS (180 * MF_NS_PER_S) /* imports, rehearsal and checkpoint on a slow, busy machine */
#define RESTART_WAIT_NS (100 * MF_NS_PER_MS)
#define RESTART_WAIT_MAX_NS (10 * MF_NS_PER_S)
#define STEADY_NS (10 * MF_NS_PER_S) /* a zygote that served so long has not failed to start */
#define FRAMES_PER_TURN 32u

/* Every layer. A child treats PROC and LANDLOCK_SCOPE as wishes: a masked /proc and an older Landlock are told in its
 * READY frame, and what must be there is the provider's decision. */
#define LAYERS_ALL                                                                                                     \
  (MF_LAYER_USER | MF_LAYER_PID | MF_LAYER_MOUNT | MF_LAYER_NET | MF_LAYER_IPC | MF_LAYER_UTS | MF_LAYER_PROC |        \
   MF_LAYER_LANDLOCK | MF_LAYER_SECCOMP | MF_LAYER_NNP | MF_LAYER_CAPS | MF_LAYER_RLIMIT | MF_LAYER_CGROUP |           \
   MF_LAYER_LANDLOCK_SCOPE)

union zygote_frame {
  uint32_t type;
  struct mf_zyg_ready ready;
  struct mf_zyg_forked forked;
  struct mf_zyg_exited exited;
  struct mf_zyg_fatal fatal;
};

void mf_lane_init(struct mf_lane *lane, struct mf_supervisor *sup, uint32_t runtime)
{
  bool is_data = runtime == 2;
  *lane = (struct mf_lane){
    .sup = sup,
    .runtime = runtime,
    .pool_target = is_data ? sup->config.pool_data : sup->config.pool_stdlib,
    .is_wanted = is_data ? sup->config.start_data : sup->config.start_stdlib,
  };
  lane->last_next = &lane->first;
}

unsigned mf_zygote_child_n(const struct mf_zygote *z)
{
  unsigned n = 0;
  for (unsigned i = 0; i < MF_SLOT_STATE_N; i++)
    n += z->slot_n[i];
  return n;
}

/* ---- start ---- */

static void on_zygote(void *user, unsigned events);
static void on_init_dead(void *user, unsigned events);

/* How many descriptors a guest may have. The kernel counts those that are on their way through a socket for the user,
 * not for the process, and refuses anybody of that user who has a lower limit (ETOOMANYREFS in unix(7)): where that
 * user is a person, sessions with the usual 1024 must not be in reach. Without a memory cgroup nobody counts what lies
 * in sockets. */
static uint32_t guest_files(const struct mf_supervisor *sup)
{
  if (mf_cgroup_kind(sup->cgroup) == MF_CGROUP_NONE)
    return 256;
  return geteuid() == 0 ? 1024 : 512;
}

static enum mf_code start_process(struct mf_zygote *z, struct mf_err *err)
{
  struct mf_supervisor *sup = z->sup;
  const struct mf_supervisor_config *c = &sup->config;
  bool groups = mf_cgroup_is_active(sup->cgroup);
  const struct mf_outer_spec spec = {
    .rootfs = c->rootfs,
    .zygote_dir = c->zygote_dir,
    .python_path = c->python_path,
    .config = {
      .version = MF_FRAMES_VERSION,
      .data = z->lane->runtime == 2,
      .warm = c->warm,
      .checkpoint = c->checkpoint == 1 ? 0 : c->checkpoint == 2 ? 2 : 1, /* enum mf_checkpoint: auto, off, require */
      .layers = LAYERS_ALL & ~(groups ? 0u : (uint32_t)MF_LAYER_CGROUP),
      .fail_layers = c->disable_layers & ~(uint32_t)MF_LAYER_CGROUP,
      .shared_anon_ok = mf_cgroup_kind(sup->cgroup) != MF_CGROUP_NONE,
      .disk_inodes = c->disk_inodes,
      .disk_bytes = c->disk_bytes,
      .files = guest_files(sup),
    },
  };
  enum mf_code code = sup->hooks.outer_start(&spec, &z->init, &z->sock, err);
  if (code != MF_OK)
    return code;
  code = mf_watch_new(sup->loop, z->sock, MF_WATCH_READ, on_zygote, z, &z->sock_watch, err);
  if (code == MF_OK && z->init.fd >= 0)
    code = mf_watch_new(sup->loop, z->init.fd, MF_WATCH_READ, on_init_dead, z, &z->init_watch, err);
  return code;
}

static void start_zygote(struct mf_lane *lane, struct mf_zygote **place, uint64_t now_ns)
{
  struct mf_supervisor *sup = lane->sup;
  struct mf_zygote *z = NULL;
  for (unsigned i = 0; i < MF_ZYGOTES_MAX && !z; i++) {
    if (sup->zygotes[i].state == MF_ZYGOTE_NONE)
      z = &sup->zygotes[i];
  }
  if (!z)
    return; /* old ones still have children: later */
  *z = (struct mf_zygote){
    .sup = sup,
    .lane = lane,
    .state = MF_ZYGOTE_STARTING,
    .init = MF_PIDREF_NULL,
    .sock = -1,
    .since_ns = now_ns,
  };
  *place = z;
  struct mf_err err;
  if (start_process(z, &err) != MF_OK)
    mf_zygote_down(z, "start zygote", err.sys, err.msg);
}

/* ---- end ---- */

static void end_slots(struct mf_zygote *z)
{
  struct mf_supervisor *sup = z->sup;
  for (unsigned i = 0; i < sup->slot_high; i++) {
    struct mf_slot *slot = &sup->slots[i];
    if (slot->zygote != z)
      continue;
    switch (slot->state) {
    case MF_SLOT_FORKING:
    case MF_SLOT_PREPARING:
    case MF_SLOT_IDLE:
      mf_slot_discard(slot);
      break;
    case MF_SLOT_STARTING:
    case MF_SLOT_BUSY:
      /* the word of a run that was just done is not lost with the zygote */
      mf_child_read_control(slot, FRAMES_PER_TURN);
      if (slot->run)
        mf_sup_run_crash(slot->run, "worker crashed");
      break;
    case MF_SLOT_FREE:
    case MF_SLOT_DRAINING:
    case MF_SLOT_DEAD:
    case MF_SLOT_STATE_N:
      break;
    }
  }
}

void mf_zygote_kill(struct mf_zygote *z)
{
  z->state = MF_ZYGOTE_DYING;
  z->since_ns = mf_now_ns();
  z->sock_watch = mf_watch_free(z->sock_watch);
  mf_close_ptr(&z->sock);
  if (z->init.fd >= 0)
    z->sup->hooks.kill(&z->init);
  end_slots(z);
  if (z->init.fd < 0)
    mf_zygote_gone(z);
}

/* The first restart comes at once; after that slower and slower. */
static void count_crash(struct mf_zygote *z, bool was_starting)
{
  struct mf_lane *lane = z->lane;
  uint64_t now = mf_now_ns();
  bool is_early = was_starting || now - z->ready_ns < STEADY_NS;
  lane->crash_n = is_early ? lane->crash_n + 1 : 1;
  uint64_t wait = lane->crash_n > 1 ? RESTART_WAIT_NS << MF_MIN(lane->crash_n - 2, 8u) : 0;
  lane->start_at_ns = now + MF_MIN(wait, RESTART_WAIT_MAX_NS);
  z->sup->zygote_restarts++;
}

void mf_zygote_down(struct mf_zygote *z, const char *step, int error, const char *text)
{
  struct mf_supervisor *sup = z->sup;
  struct mf_lane *lane = z->lane;
  if (z->state == MF_ZYGOTE_NONE || z->state == MF_ZYGOTE_DYING)
    return;
  if (!text)
    text = "the zygote ended";
  bool was_starting = z->state == MF_ZYGOTE_STARTING;
  bool was_current = lane->current == z;
  if (z->state != MF_ZYGOTE_RETIRING)
    count_crash(z, was_starting);
  if (was_current) { /* one that was to follow it soon does so now */
    lane->current = lane->next;
    lane->next = NULL;
  } else if (lane->next == z)
    lane->next = NULL;
  mf_zygote_kill(z);
  if (!sup->is_ready) {
    mf_supervisor_fatal(sup, step, error, text);
    return;
  }
  mf_log(MF_LOG_WARN, "zygote %s ended: %s: %s", lane->runtime == 2 ? "data" : "stdlib", step, text);
  if (was_starting && was_current && !lane->current) {
    mf_lane_fail_waiting(lane, text);
    /* one that nobody asked for at the start is tried again when it is needed again */
    lane->is_wanted = lane->runtime == 2 ? sup->config.start_data : sup->config.start_stdlib;
  }
}

void mf_zygote_gone(struct mf_zygote *z)
{
  struct mf_supervisor *sup = z->sup;
  assert(z->state == MF_ZYGOTE_DYING);
  z->init_watch = mf_watch_free(z->init_watch);
  if (z->init.fd >= 0)
    (void)waitid(P_PIDFD, (id_t)z->init.fd, &(siginfo_t){ 0 }, WEXITED | WNOHANG);
  mf_pidref_done(&z->init);
  for (unsigned i = 0; i < sup->slot_high; i++) {
    struct mf_slot *slot = &sup->slots[i];
    if (slot->zygote != z)
      continue;
    slot->guest_exited = slot->init_exited = true;
    mf_slot_advance(slot);
    if (slot->state == MF_SLOT_FREE)
      continue;
    /* its group is not clean yet, or its last output waits for room: it goes on without its zygote */
    z->slot_n[slot->state]--;
    slot->zygote = NULL;
  }
  z->state = MF_ZYGOTE_NONE;
}

/* ---- what a zygote says ---- */

static void on_ready(struct mf_zygote *z, const struct mf_zyg_ready *ready)
{
  struct mf_lane *lane = z->lane;
  if (z->state != MF_ZYGOTE_STARTING)
    return;
  if (ready->version != MF_FRAMES_VERSION) {
    mf_zygote_down(z, "zygote version", 0, "the zygote module is of another version");
    return;
  }
  z->ready = *ready;
  z->state = MF_ZYGOTE_READY;
  z->ready_ns = mf_now_ns();
  if (lane->next != z)
    return;
  lane->next = NULL;
  if (lane->current)
    lane->current->state = MF_ZYGOTE_RETIRING;
  lane->current = z;
}

static struct mf_slot *slot_of(struct mf_zygote *z, uint32_t index)
{
  struct mf_slot *slot = index < z->sup->slot_n ? &z->sup->slots[index] : NULL;
  return slot && slot->zygote == z ? slot : NULL;
}

static void on_forked(struct mf_zygote *z, const struct mf_zyg_forked *forked, int *fds, unsigned fd_n)
{
  struct mf_slot *slot = slot_of(z, forked->slot);
  if (!slot || slot->state != MF_SLOT_FORKING)
    return;
  if (forked->error || fd_n != 5) {
    /* nothing was made, or nothing that could be used; its group is seen empty before the slot is used again */
    if (forked->error) {
      slot->guest_exited = slot->init_exited = true;
      const char *text = strerrordesc_np(forked->error);
      mf_lane_child_failed(slot, "fork", forked->error, text ? text : "fork");
      mf_slot_advance(slot);
    } else
      mf_zygote_down(z, "fork", 0, "the zygote sent no descriptors");
    return;
  }
  mf_child_attach(slot, fds);
}

static void on_exited(struct mf_zygote *z, const struct mf_zyg_exited *exited)
{
  struct mf_slot *slot = slot_of(z, exited->slot);
  if (!slot || slot->state == MF_SLOT_FORKING || slot->init_exited)
    return;
  if (exited->what == 0)
    mf_child_exited(slot, true, exited->status, exited->cpu_us);
  else if (exited->what == 1) {
    /* an init that ends takes its guest along, whether or not there was somebody left to say so */
    slot->init_exited = true;
    if (!slot->guest_exited)
      mf_child_exited(slot, true, SIGKILL, 0);
  }
  mf_slot_advance(slot);
}

void mf_zygote_frame(struct mf_zygote *z, const void *frame, size_t n, int *fds, unsigned fd_n)
{
  union zygote_frame f;
  if (n < sizeof f.type || n > sizeof f)
    return;
  memset(&f, 0, sizeof f);
  memcpy(&f, frame, n);
  switch (f.type) {
  case MF_ZYG_READY:
    if (n == sizeof f.ready)
      on_ready(z, &f.ready);
    break;
  case MF_ZYG_FORKED:
    if (n == sizeof f.forked)
      on_forked(z, &f.forked, fds, fd_n);
    break;
  case MF_ZYG_EXITED:
    if (n == sizeof f.exited)
      on_exited(z, &f.exited);
    break;
  case MF_ZYG_FATAL:
    if (n == sizeof f.fatal) {
      char step[sizeof f.fatal.step], text[MF_TEXT_MAX];
      mf_supervisor_text(step, sizeof step, f.fatal.step, sizeof f.fatal.step);
      mf_supervisor_text(text, sizeof text, f.fatal.text, sizeof f.fatal.text);
      mf_zygote_down(z, step, f.fatal.error, text);
    }
    break;
  default:
    break;
  }
}

static void read_zygote(struct mf_zygote *z, unsigned max)
{
  union zygote_frame frame;
  for (unsigned i = 0; i < max && z->sock >= 0; i++) {
    int fds[MF_FDS_MAX];
    unsigned fd_n = 0;
    size_t n = 0;
    struct mf_err err;
    enum mf_code code = mf_recv_msg(z->sock, &frame, sizeof frame, &n, fds, &fd_n, &err);
    if (code == MF_E_CAPACITY)
      return;
    if (code == MF_E_INPUT && err.sys == 0) {
      /* a descriptor that did not fit: we are out of them, and the child it belongs to is lost */
      mf_zygote_down(z, "receive", 0, err.msg);
      return;
    }
    if (code != MF_OK) {
      mf_zygote_down(z, "zygote", err.sys, NULL);
      return;
    }
    mf_zygote_frame(z, &frame, n, fds, fd_n);
    for (unsigned k = 0; k < fd_n; k++)
      mf_close_ptr(&fds[k]);
  }
}

static void on_zygote(void *user, unsigned events)
{
  struct mf_zygote *z = user;
  struct mf_supervisor *sup = z->sup;
  read_zygote(z, FRAMES_PER_TURN);
  mf_supervisor_settle(sup);
}

static void on_init_dead(void *user, unsigned events)
{
  struct mf_zygote *z = user;
  struct mf_supervisor *sup = z->sup;
  /* a last frame may say why */
  if (z->state != MF_ZYGOTE_DYING)
    read_zygote(z, FRAMES_PER_TURN * 8);
  if (z->state != MF_ZYGOTE_NONE && z->state != MF_ZYGOTE_DYING)
    mf_zygote_down(z, "zygote", 0, NULL);
  if (z->state == MF_ZYGOTE_DYING)
    mf_zygote_gone(z);
  mf_supervisor_settle(sup);
}

/* ---- forks ---- */

enum mf_code mf_zygote_fork(struct mf_zygote *z, struct mf_slot *slot, bool for_pool)
{
  assert(slot->state == MF_SLOT_FREE && z->state == MF_ZYGOTE_READY);
  struct mf_supervisor *sup = z->sup;
  int fds[2];
  unsigned fd_n;
  struct mf_err why;
  slot->zygote = z;
  enum mf_code code = mf_cgroup_slot_join(sup->cgroup, slot->index, fds, &fd_n, &why);
  if (code != MF_OK) {
    mf_slot_set(slot, MF_SLOT_FORKING);
    slot->guest_exited = slot->init_exited = true;
    mf_lane_child_failed(slot, "control group", why.sys, why.msg);
    mf_slot_advance(slot);
    return code;
  }
  const struct mf_zyg_fork frame = { .type = MF_ZYG_FORK, .slot = slot->index, .prefault = for_pool };
  code = mf_send_msg(z->sock, &frame, sizeof frame, fds, fd_n, &why);
  if (code == MF_E_CAPACITY) {
    slot->zygote = NULL;
    return code; /* it is busy: the next turn asks again */
  }
  mf_slot_set(slot, MF_SLOT_FORKING);
  if (code != MF_OK) {
    mf_zygote_down(z, "fork", why.sys, NULL);
    return code;
  }
  z->forks++;
  sup->forks++;
  return MF_OK;
}

/* ---- upkeep ---- */

static bool is_due(const struct mf_zygote *z, uint64_t now_ns)
{
  const struct mf_supervisor_config *c = &z->sup->config;
  return z->forks >= c->zygote_max_forks || now_ns - z->ready_ns >= c->zygote_max_age_s * MF_NS_PER_S;
}

/* Its idle children serve until the new pool is full; without them it ends with its last run. */
static void keep_retiring(struct mf_zygote *z)
{
  struct mf_lane *lane = z->lane;
  const struct mf_zygote *current = lane->current;
  if (current && current->state == MF_ZYGOTE_READY && lane->waiting_n == 0 &&
      current->slot_n[MF_SLOT_IDLE] >= lane->pool_target) {
    for (unsigned i = 0; i < z->sup->slot_high; i++) {
      struct mf_slot *slot = &z->sup->slots[i];
      if (slot->zygote == z && slot->state == MF_SLOT_IDLE)
        mf_slot_discard(slot);
    }
  }
  if (mf_zygote_child_n(z) == 0)
    mf_zygote_kill(z);
}

void mf_lane_keep(struct mf_lane *lane, uint64_t now_ns)
{
  struct mf_supervisor *sup = lane->sup;
  for (unsigned i = 0; i < MF_ZYGOTES_MAX; i++) {
    struct mf_zygote *z = &sup->zygotes[i];
    if (z->lane != lane)
      continue;
    if (z->state == MF_ZYGOTE_STARTING && now_ns - z->since_ns > START_MAX_NS)
      mf_zygote_down(z, "zygote", 0, "the zygote did not become ready in time");
    else if (z->state == MF_ZYGOTE_RETIRING)
      keep_retiring(z);
  }
  if (sup->is_ending)
    return;
  if (!lane->current && lane->is_wanted && now_ns >= lane->start_at_ns)
    start_zygote(lane, &lane->current, now_ns);
  struct mf_zygote *z = lane->current;
  if (z && z->state == MF_ZYGOTE_READY && !lane->next && now_ns >= lane->start_at_ns && is_due(z, now_ns))
    start_zygote(lane, &lane->next, now_ns);
}

uint64_t mf_lane_next_ns(const struct mf_lane *lane, uint64_t now_ns)
{
  const struct mf_zygote *z = lane->current;
  if (!z)
    return lane->is_wanted ? MF_MAX(lane->start_at_ns, now_ns) : UINT64_MAX;
  if (z->state != MF_ZYGOTE_READY || lane->next)
    return UINT64_MAX;
  uint64_t due = z->ready_ns + z->sup->config.zygote_max_age_s * MF_NS_PER_S;
  return MF_MAX(due, lane->start_at_ns);
}

/* The local provider's instance: birth, the vtable, the one timer, closing. */
#include "provider.h"

#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/time.h"
#include "base/banned.h"

static const struct mf_provider_ops local_ops;

static struct local *local_of(const struct mf_provider *p)
{
  return (struct local *)(uintptr_t)p; /* base is the first member */
}

/* ---- time ---- */

static void service(void *user);

uint64_t local_after_ms(uint64_t ms)
{
  return mf_now_ns() + ms * MF_NS_PER_MS;
}

void local_arm(struct local *l, uint64_t deadline_ns)
{
  if (deadline_ns >= l->armed_ns)
    return;
  l->armed_ns = deadline_ns;
  mf_timer_arm(l->timer, deadline_ns);
}

void local_kick(struct local *l)
{
  local_arm(l, 0);
}

void mf_local_times_default(struct mf_local_times *ret)
{
  *ret = (struct mf_local_times){
    .ready_ms = 60000,
    .reap_ms = 5000,
    .gap_ms = 10000,
    .backoff_min_ms = 100,
    .backoff_max_ms = 5000,
    .silence_ms = 90000, /* a zygote may have to be started first */
    .grace_ms = 10000,
    .close_ms = 3000,
    .sweep_ms = MF_CGROUP_SWEEP_PAUSE_MS,
  };
}

/* ---- being ready ---- */

void local_fail_first(struct local *l)
{
  /* Only where no sandbox can be made: a machine that was too slow once must not run everything without one. */
  if (l->isolation == MF_ISOLATION_PREFER && l->lacks_layer) {
    l->link = LINK_DIRECT;
    l->ready_code = MF_OK;
    mf_tempdir_sweep();
    mf_log(MF_LOG_WARN, "programs run WITHOUT ISOLATION (isolation = \"prefer\"): %s", l->down.msg);
  } else {
    l->link = LINK_FAILED;
    l->ready_code = l->down.code != MF_OK ? l->down.code : MF_E_UNAVAILABLE;
  }
  l->is_ready_due = true;
  local_kick(l);
}

static void report_ready(struct local *l)
{
  if (!l->is_ready_due || l->is_ready_done)
    return;
  l->is_ready_done = true;
  struct mf_err err = l->down; /* a copy: the receiver may close us */
  l->ready(l->ready_user, l->ready_code, l->ready_code == MF_OK ? NULL : &err);
}

/* ---- asking the supervisor ---- */

void local_answer_asks(struct local *l, uint64_t up_to_id)
{
  while (l->asks && l->asks->id <= up_to_id) {
    struct info_ask *ask = l->asks;
    l->asks = ask->next;
    struct mf_local_info info = l->info;
    void (*fn)(void *user, const struct mf_local_info *info) = ask->fn;
    void *user = ask->user;
    free(ask);
    fn(user, &info);
  }
}

void mf_local_info(struct mf_provider *p, void (*fn)(void *user, const struct mf_local_info *info), void *user)
{
  struct local *l = local_of(p);
  struct info_ask *ask = mf_xcalloc(1, sizeof(*ask)), **end = &l->asks;
  *ask = (struct info_ask){ .id = ++l->next_id, .fn = fn, .user = user };
  while (*end)
    end = &(*end)->next;
  *end = ask;
  if (l->link == LINK_UP)
    link_flush(l);
  else
    local_kick(l);
}

/* ---- the vtable ---- */

static enum mf_code local_start(struct mf_provider *p, const struct mf_sandbox_spec *spec,
                                const struct mf_sandbox_events *events, void *user, struct mf_run **ret,
                                struct mf_err *err)
{
  struct local *l = local_of(p);
  if (l->link == LINK_CLOSING)
    return mf_fail(err, MF_E_UNAVAILABLE, 0, "the sandbox provider is closing");
  if (l->link == LINK_FAILED)
    return mf_fail(err, MF_E_UNAVAILABLE, 0, "%s", l->down.msg);
  if (l->run_n >= l->max_running)
    return mf_fail(err, MF_E_CAPACITY, 0, "all %u sandbox places are taken", l->max_running);
  bool is_gap = l->gap_until_ns > 0 && l->link != LINK_UP;
  if (is_gap && mf_now_ns() >= l->gap_until_ns)
    return mf_fail(err, MF_E_UNAVAILABLE, 0, "the sandbox supervisor does not come back: %s", l->down.msg);

  struct local_run *r = NULL;
  enum mf_code code = run_new(l, spec, events, user, &r, err);
  if (code != MF_OK)
    return code;
  if (l->link == LINK_DIRECT) {
    code = run_start_direct(r, err);
    if (code != MF_OK) {
      run_free(r);
      return code;
    }
  } else if (l->link == LINK_UP) {
    link_flush(l);
  } else if (is_gap) {
    r->deadline_ns = l->gap_until_ns;
    local_arm(l, r->deadline_ns);
  }
  /* After it is on its way: hashing is not on the path of the answer. */
  run_note_spec(r, spec);
  *ret = &r->base;
  return MF_OK;
}

static void local_cancel(struct mf_run *run)
{
  struct local_run *r = (struct local_run *)run; /* base is the first member */
  if (r->cancel_asked)
    return;
  r->cancel_asked = true;
  run_stop(r, MF_KILL_CANCEL);
}

static void local_close(struct mf_provider *p, void (*closed)(void *user), void *user)
{
  struct local *l = local_of(p);
  if (l->link == LINK_CLOSING)
    return;
  l->link = LINK_CLOSING;
  l->link_deadline_ns = local_after_ms(l->seam.times.close_ms);
  l->closed = closed;
  l->closed_user = user;
  link_close_sock(l); /* the supervisor kills everything when it sees the end of file */
  local_kick(l);
}

static uint32_t local_instance_caps(const struct mf_provider *p)
{
  const struct local *l = local_of(p);
  uint32_t caps = local_ops.caps;
  if (!l->runtime.has_numpy)
    caps &= ~(uint32_t)MF_CAP_NUMPY;
  if (!l->runtime.has_pandas)
    caps &= ~(uint32_t)MF_CAP_PANDAS;
  if (!l->runtime.has_plot)
    caps &= ~(uint32_t)MF_CAP_PLOT;
  if (l->link == LINK_DIRECT)
    caps &= ~(uint32_t)(MF_CAP_DENIED | MF_CAP_MEMORY); /* rlimits are per process */
  else if (l->told.type == MF_SUP_READY && l->told.memory_control == MF_MEMORY_NONE)
    caps &= ~(uint32_t)MF_CAP_MEMORY;
  return caps;
}

static unsigned local_busy(const struct mf_provider *p)
{
  return local_of(p)->run_n;
}

static const struct mf_provider_ops local_ops = {
  .name = "local",
  .caps = MF_CAP_FILES | MF_CAP_PROCESSES | MF_CAP_THREADS | MF_CAP_NUMPY | MF_CAP_PANDAS | MF_CAP_PLOT |
          MF_CAP_SIGNALS | MF_CAP_DENIED | MF_CAP_MEMORY | MF_CAP_CPU,
  .start = local_start,
  .cancel = local_cancel,
  .close = local_close,
  .instance_caps = local_instance_caps,
  .busy = local_busy,
};

/* ---- the end ---- */

static void free_local(struct local *l)
{
  while (l->first)
    run_release(l->first);
  link_close_sock(l);
  l->sup_watch = mf_watch_free(l->sup_watch);
  mf_pidref_done(&l->sup);
  mf_timer_free(l->timer);
  free(l->frame);
  free(l->rootfs);
  free(l->program);
  free(l);
}

/* The supervisor has time to end in order, then it is killed; a process that outlives even that (it sleeps in the
 * kernel) is left to the kernel, since `closed` is owed. */
static bool is_waiting(struct local *l)
{
  if (l->sup.fd < 0 && !l->first)
    return false;
  for (const struct local_run *r = l->first; r; r = r->next)
    if (r->collect)
      return true; /* its thread was told to stop; its end is an event */
  uint64_t now_ns = mf_now_ns();
  if (now_ns < l->link_deadline_ns) {
    local_arm(l, l->link_deadline_ns);
    return true;
  }
  if (l->is_close_killed)
    return false;
  l->is_close_killed = true;
  link_kill(l);
  l->link_deadline_ns = local_after_ms(l->seam.times.close_ms);
  local_arm(l, l->link_deadline_ns);
  return true;
}

static void close_step(struct local *l)
{
  /* A receiver of one of these cannot start another run, so the list only gets shorter. */
  struct local_run *next;
  for (struct local_run *r = l->first; r; r = next) {
    next = r->next;
    if (r->direct)
      mf_direct_kill(r->direct, MF_KILL_CANCEL);
    run_settle(r);
  }
  local_answer_asks(l, UINT64_MAX);
  if (!l->is_ready_due) {
    (void)mf_fail(&l->down, MF_E_GONE, 0, "the sandbox provider was closed before it was ready");
    l->is_ready_due = true;
    l->ready_code = MF_E_GONE;
  }
  report_ready(l);
  if (is_waiting(l))
    return;
  uint64_t sweep_ns = mf_cgroup_sweeper_close(&l->sweeper, mf_now_ns());
  if (sweep_ns) {
    local_arm(l, sweep_ns);
    return;
  }
  void (*closed)(void *user) = l->closed;
  void *user = l->closed_user;
  free_local(l);
  closed(user);
}

static void service(void *user)
{
  struct local *l = user;
  l->armed_ns = UINT64_MAX;
  if (l->link != LINK_CLOSING)
    report_ready(l);
  if (l->link != LINK_CLOSING)
    link_tick(l, mf_now_ns());
  if (l->link != LINK_CLOSING)
    runs_tick(l, mf_now_ns());
  if (l->link != LINK_CLOSING)
    mf_cgroup_sweeper_tick(&l->sweeper, mf_now_ns());
  if (l->link != LINK_CLOSING && l->link != LINK_UP)
    local_answer_asks(l, UINT64_MAX);
  if (l->link == LINK_CLOSING) {
    close_step(l); /* l may be gone */
    return;
  }
  uint64_t next_ns = MF_MIN(link_next_ns(l), runs_next_ns(l));
  if (l->sweeper.due_ns)
    next_ns = MF_MIN(next_ns, l->sweeper.due_ns);
  local_arm(l, next_ns);
}

/* ---- birth ---- */

static enum mf_code check_config(const struct mf_local_config *c, struct mf_err *err)
{
  if (c->max_running < 1 || c->max_running > 256)
    return mf_fail(err, MF_E_INPUT, 0, "max_running: expected 1 to 256, got %u", c->max_running);
  if (c->pool_stdlib > 64 || c->pool_data > 64)
    return mf_fail(err, MF_E_INPUT, 0, "pool size: expected 0 to 64, got %u", MF_MAX(c->pool_stdlib, c->pool_data));
  return MF_OK;
}

static enum mf_code copy_path(char to[MF_SUP_PATH_MAX], const char *path, const char *what, struct mf_err *err)
{
  if ((size_t)snprintf(to, MF_SUP_PATH_MAX, "%s", path) >= MF_SUP_PATH_MAX)
    return mf_fail(err, MF_E_INPUT, 0, "%s: the path is longer than %d bytes", what, MF_SUP_PATH_MAX - 1);
  return MF_OK;
}

static enum mf_code fill_supervisor_config(struct local *l, const struct mf_local_config *c, const char *zygote_dir,
                                           struct mf_err *err)
{
  struct mf_sandbox_limits limits;
  mf_sandbox_limits_default(&limits);
  struct mf_supervisor_config *to = &l->config;
  *to = (struct mf_supervisor_config){
    .version = MF_FRAMES_VERSION,
    .max_running = c->max_running,
    .pool_stdlib = c->pool_stdlib,
    .pool_data = c->pool_data,
    .start_stdlib = c->start_stdlib,
    .start_data = c->start_data,
    .warm = c->warm,
    .checkpoint = c->checkpoint,
    .use_cgroup = c->use_cgroup,
    .zygote_max_forks = c->zygote_max_forks,
    .zygote_max_age_s = c->zygote_max_age_s,
    .disable_layers = c->disable_layers,
    .disk_inodes = c->disk_inodes,
    .disk_bytes = c->disk_bytes,
    .default_memory_bytes = limits.memory_bytes,
    .default_pids = limits.pids,
  };
  enum mf_code code = copy_path(to->rootfs, l->rootfs, "runtime", err);
  if (code == MF_OK)
    code = copy_path(to->zygote_dir, zygote_dir, "zygote", err);
  if (code == MF_OK)
    code = copy_path(to->python_path, l->runtime.python_path, "python", err);
  return code;
}

enum mf_code mf_local_new_with(struct mf_loop *loop, const struct mf_local_config *config, const char *zygote_dir,
                               const struct mf_runtime_info *runtime, const struct mf_local_seam *seam,
                               void (*ready)(void *user, enum mf_code code, const struct mf_err *err), void *user,
                               struct mf_provider **ret, struct mf_err *err)
{
  enum mf_code code = check_config(config, err);
  if (code != MF_OK)
    return code;
  struct local *l = mf_xcalloc(1, sizeof(*l));
  l->base.ops = &local_ops;
  l->loop = loop;
  l->seam = *seam;
  l->sweeper = (struct mf_cgroup_sweeper){ .sweep = seam->sweep, .user = seam->user, .pause_ms = seam->times.sweep_ms };
  l->isolation = config->isolation;
  l->rootfs = mf_xasprintf("%s/rootfs", config->runtime_dir ? config->runtime_dir : "");
  l->program = config->program ? mf_xstrdup(config->program) : NULL;
  l->runtime = *runtime;
  l->ready = ready;
  l->ready_user = user;
  l->backoff_ms = seam->times.backoff_min_ms;
  l->sock = -1;
  l->sup = MF_PIDREF_NULL;
  l->max_running = config->max_running;
  l->armed_ns = UINT64_MAX;
  l->frame = mf_xmalloc(link_frame_max());
  code = fill_supervisor_config(l, config, zygote_dir, err);
  if (code == MF_OK)
    code = mf_timer_new(loop, service, l, &l->timer, err);
  if (code != MF_OK) {
    free_local(l);
    return code;
  }
  link_open(l);
  *ret = &l->base;
  return MF_OK;
}

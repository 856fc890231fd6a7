/* Which workers there are, and which of them takes which run. */
#include "provider.h"

#include <stdio.h>

#include "base/time.h"
#include "base/banned.h"

const char *pool_memory_control(const struct wasm *w)
{
  switch (w->cgroup ? mf_cgroup_kind(w->cgroup) : MF_CGROUP_NONE) {
  case MF_CGROUP_V2:
    return "cgroup2";
  case MF_CGROUP_V1:
    return "cgroup1";
  case MF_CGROUP_NONE:
    break;
  }
  return "rlimit";
}

uint64_t pool_need_bytes(const struct wasm *w, const struct wasm_run *r)
{
  uint64_t guest = MF_MIN(r->limits.memory_bytes, (uint64_t)MF_WASM_GUEST_MEMORY_MAX);
  return MF_MAX(w->config.worker_memory_bytes, guest + MF_WASM_WORKER_OVERHEAD_BYTES);
}

/* A control group's limit follows each call; RLIMIT_DATA is for life. */
static bool fits(const struct worker *k, const struct wasm_run *r)
{
  const struct wasm *w = k->wasm;
  bool is_fixed = !w->cgroup || mf_cgroup_kind(w->cgroup) == MF_CGROUP_NONE;
  return !is_fixed || k->data_bytes >= pool_need_bytes(w, r);
}

/* The one that worked last: its pages are in the caches. */
static struct worker *find_idle(struct wasm *w, const struct wasm_run *r)
{
  struct worker *best = NULL;
  for (unsigned i = 0; i < w->config.max_running; i++) {
    struct worker *k = &w->workers[i];
    if (k->state == WORKER_IDLE && fits(k, r) && (!best || k->idle_ns > best->idle_ns))
      best = k;
  }
  return best;
}

void pool_assign(struct wasm *w)
{
  if (w->state == WASM_CLOSING)
    return;
  for (struct wasm_run *r = w->first; r; r = r->next) {
    struct worker *k;
    if (r->state != RUN_QUEUED || r->cancel_asked)
      continue;
    while ((k = find_idle(w, r)) && !worker_call(k, r))
      ;
  }
}

/* ---- births and retirements ---- */

struct census {
  unsigned alive, starting, idle, queued;
};

static struct census take_census(struct wasm *w)
{
  struct census c = { 0 };
  for (unsigned i = 0; i < w->config.max_running; i++) {
    enum worker_state s = w->workers[i].state;
    c.starting += s == WORKER_JOINING || s == WORKER_LOADING;
    c.idle += s == WORKER_IDLE;
    c.alive += s == WORKER_JOINING || s == WORKER_LOADING || s == WORKER_IDLE || s == WORKER_BUSY;
  }
  for (const struct wasm_run *r = w->first; r; r = r->next) {
    if (r->state != RUN_QUEUED || r->cancel_asked)
      continue;
    c.queued++;
    w->need_bytes = MF_MAX(w->need_bytes, pool_need_bytes(w, r));
  }
  return c;
}

static struct worker *find_free(struct wasm *w)
{
  for (unsigned i = 0; i < w->config.max_running; i++)
    if (w->workers[i].state == WORKER_NONE)
      return &w->workers[i];
  return NULL;
}

/* Runs that wait have no idle worker that fits (pool_assign came first), so idle ones are in their way. */
static void make_room(struct wasm *w)
{
  for (unsigned i = 0; i < w->config.max_running; i++) {
    if (w->workers[i].state == WORKER_IDLE) {
      worker_kill(&w->workers[i]);
      return;
    }
  }
}

static void retire(struct wasm *w, struct census *c, uint64_t now_ns)
{
  for (unsigned i = 0; i < w->config.max_running && c->alive > w->config.ready_workers; i++) {
    struct worker *k = &w->workers[i];
    if (k->state != WORKER_IDLE)
      continue;
    uint64_t end_ns = k->idle_ns + w->seam.times.idle_ms * MF_NS_PER_MS;
    if (now_ns < end_ns) {
      wasm_arm(w, end_ns);
      continue;
    }
    worker_kill(k);
    c->alive--;
  }
}

void pool_settle(struct wasm *w, uint64_t now_ns)
{
  if (w->state == WASM_CLOSING || w->state == WASM_FAILED)
    return;
  pool_assign(w);
  struct census c = take_census(w);
  if (c.queued == 0)
    retire(w, &c, now_ns);
  unsigned wanted = c.queued > c.starting ? c.queued - c.starting : 0;
  if (c.alive + wanted < w->config.ready_workers)
    wanted = w->config.ready_workers - c.alive;
  if (wanted > 0 && now_ns < w->retry_ns) {
    wasm_arm(w, w->retry_ns);
    return;
  }
  while (wanted > 0) {
    struct worker *k = find_free(w);
    if (!k)
      break;
    worker_spawn(k, w->need_bytes);
    wanted--;
    if (k->state == WORKER_LEAVING)
      return; /* it could not even be born: not again before its end was counted */
  }
  if (wanted > 0 && c.queued > 0 && c.idle > 0)
    make_room(w);
}

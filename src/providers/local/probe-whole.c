/* The whole: a supervisor, a zygote and one sandbox with every layer, as a real run has them. */
#include "probe.h"

#include <stdio.h>

#include "base/time.h"

#include "base/banned.h"

#define GUARD_MS 60000u

struct whole {
  struct mf_loop *loop;
  struct mf_provider *provider;
  struct mf_timer *guard;
  struct mf_run *run;
  struct mf_attempt *out;
  struct mf_local_info *info;
  uint64_t since_ns;
  bool closing;
};

static void on_closed(void *user)
{
  struct whole *w = user;
  w->provider = NULL;
  mf_loop_stop(w->loop);
}

static void close_now(void *user)
{
  struct whole *w = user;
  mf_provider_close(w->provider, on_closed, w);
}

static void close_later(struct whole *w)
{
  if (w->closing)
    return;
  w->closing = true;
  if (mf_loop_defer(w->loop, close_now, w, NULL) != MF_OK)
    mf_loop_stop(w->loop);
}

static void fail(struct whole *w, const char *note)
{
  w->out->ok = false;
  snprintf(w->out->note, sizeof(w->out->note), "%.*s", (int)sizeof(w->out->note) - 1, note);
  close_later(w);
}

static void on_info(void *user, const struct mf_local_info *info)
{
  struct whole *w = user;
  if (info)
    *w->info = *info;
  close_later(w);
}

static void on_finished(void *user, struct mf_sandbox_result *r)
{
  struct whole *w = user;
  w->run = NULL;
  if (r->status != MF_RUN_SUCCEEDED || !mf_str_is(mf_buf_str(&r->out), "1\n")) {
    char note[sizeof(w->out->note)];
    snprintf(note, sizeof(note), "print(1) ended as %s (%s)%s%s", mf_run_status_name(r->status),
             mf_run_reason_name(r->reason), r->diagnostic[0] ? ": " : "", r->diagnostic);
    fail(w, note);
  } else if (strcmp(r->receipt.isolation, "full") != 0) {
    char note[sizeof(w->out->note)];
    snprintf(note, sizeof(note), "print(1) ran, but isolation was '%s'", r->receipt.isolation);
    fail(w, note);
  } else {
    w->out->ok = true;
    snprintf(w->out->note, sizeof(w->out->note), "print(1) ran with isolation \"%s\" in %.1f ms (memory: %s)",
             r->receipt.isolation, (double)(mf_now_ns() - w->since_ns) / 1e6, r->receipt.memory_control);
    mf_local_info(w->provider, on_info, w);
  }
  mf_sandbox_result_free(r);
}

static const struct mf_sandbox_events events = { .finished = on_finished };

static void on_ready(void *user, enum mf_code code, const struct mf_err *err)
{
  struct whole *w = user;
  struct mf_err why = { 0 };
  struct mf_sandbox_spec spec = { .source = MF_STR("print(1)\n"), .runtime = MF_RUNTIME_STDLIB };

  if (w->closing)
    return;
  if (code != MF_OK) {
    fail(w, err->msg);
    return;
  }
  mf_sandbox_limits_default(&spec.limits);
  w->since_ns = mf_now_ns();
  if (mf_sandbox_start(w->provider, &spec, &events, w, &w->run, &why) != MF_OK)
    fail(w, why.msg);
}

static void on_guard(void *user)
{
  fail(user, "it did not start within a minute");
}

void mf_probe_whole(const struct mf_local_config *config, struct mf_attempt *ret, struct mf_local_info *ret_info)
{
  struct mf_local_config c = *config;
  struct whole w = { .out = ret, .info = ret_info };
  struct mf_err err = { 0 };

  *ret = (struct mf_attempt){ .ok = false };
  *ret_info = (struct mf_local_info){ 0 };
  snprintf(ret->step, sizeof(ret->step), "whole");
  c.isolation = MF_ISOLATION_REQUIRE;
  c.max_running = 1;
  c.pool_stdlib = c.pool_data = 0;
  c.start_stdlib = true;
  c.start_data = false;
  c.checkpoint = MF_CHECKPOINT_AUTO;

  enum mf_code code = mf_loop_new(&w.loop, &err);
  if (code == MF_OK)
    code = mf_timer_new(w.loop, on_guard, &w, &w.guard, &err);
  if (code == MF_OK) {
    mf_timer_arm(w.guard, mf_now_ns() + GUARD_MS * MF_NS_PER_MS);
    code = mf_local_new(w.loop, &c, on_ready, &w, &w.provider, &err);
  }
  if (code == MF_OK)
    code = mf_loop_run(w.loop, &err);
  if (code != MF_OK) {
    ret->ok = false;
    ret->sys = err.sys;
    snprintf(ret->note, sizeof(ret->note), "%.*s", (int)sizeof(ret->note) - 1, err.msg);
  }
  mf_timer_free(w.guard);
  if (w.loop && !w.provider)
    mf_loop_free(w.loop);
}

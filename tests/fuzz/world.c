/* See world.h. */
#include "world.h"

#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/time.h"
#include "base/utf8.h"
#include "base/banned.h"

/* ---- the input ---- */

uint8_t take_byte(struct world *w)
{
  if (w->n == 0)
    return 0;
  w->n--;
  return *w->data++;
}

void take_bytes(struct world *w, void *to, size_t n)
{
  memset(to, 0, n);
  size_t got = MF_MIN(n, w->n);
  memcpy(to, w->data, got);
  w->data += got;
  w->n -= got;
}

/* ---- the provider ---- */

void world_on_ready(void *user, enum mf_code code, const struct mf_err *err)
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
  CHECK(r->out.len <= OUT_MAX && r->err.len <= OUT_MAX);
  CHECK(mf_utf8_is_valid(mf_buf_str(&r->out)) && mf_utf8_is_valid(mf_buf_str(&r->err)));
  CHECK(mf_utf8_is_valid(mf_str_of(r->receipt.seccomp_sha256)));
  for (unsigned i = 0; i < r->denied_n; i++)
    CHECK(mf_utf8_is_valid(mf_str_of(r->denied[i])));
  if (o->world->check_result)
    o->world->check_result(r);
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
  struct mf_sandbox_spec spec = {
    .source = w->source, .files = &file, .file_n = kind & 1, .limits = kind & 4 ? w->other_limits : w->limits
  };
  spec.limits.output_policy = kind & 2 ? MF_OUTPUT_STOP : MF_OUTPUT_TRUNCATE;
  struct one *o = &w->runs[w->run_n];
  *o = (struct one){ .world = w, .inside = take_byte(w) };
  if (mf_sandbox_start(w->provider, &spec, &events, o, &o->run, NULL) == MF_OK)
    w->run_n++;
}

static void cancel_one(struct world *w)
{
  struct one *o = &w->runs[take_byte(w) % RUNS_MAX];
  if (o->run)
    mf_sandbox_cancel(o->run);
}

/* ---- steps ---- */

static void stop(void *user)
{
  struct world *w = user;
  mf_loop_stop(w->loop);
}

void turn(struct world *w)
{
  mf_timer_arm(w->slice, 0);
  CHECK(mf_loop_run(w->loop, NULL) == MF_OK);
}

void turn_for_ms(struct world *w, uint64_t ms)
{
  mf_timer_arm(w->slice, mf_now_ns() + ms * MF_NS_PER_MS);
  CHECK(mf_loop_run(w->loop, NULL) == MF_OK);
}

bool world_step(struct world *w, uint8_t op)
{
  if (op % 16 == 0)
    turn(w);
  else if (op % 16 == 11 && !w->is_closing)
    start_one(w);
  else if (op % 16 == 12)
    cancel_one(w);
  else if (op == 0xff)
    close_provider(w);
  else
    return op % 16 == 11;
  return true;
}

/* Closing may wait for a thread that collects files. */
static void close_at_the_end(struct world *w)
{
  for (unsigned i = 0; i < 3 && w->closed_n == 0; i++)
    turn(w);
  if (w->closed_n == 0)
    close_provider(w);
  for (unsigned i = 0; i < 1000 && w->closed_n == 0; i++)
    turn(w);
  for (unsigned i = 0; i < 10000 && w->closed_n == 0; i++)
    turn_for_ms(w, 1);
  CHECK(w->closed_n == 1 && w->ready_n == 1);
  for (unsigned i = 0; i < w->run_n; i++)
    CHECK(w->runs[i].finished_n == 1 && w->runs[i].released_n == 1);
}

static int lowest_free_fd(void)
{
  int fd = dup(STDERR_FILENO);
  close(fd);
  return fd;
}

void world_play(struct world *w, const uint8_t *data, size_t n, void (*begin)(struct world *w, uint8_t how),
                void (*step)(struct world *w, uint8_t op), void (*end)(struct world *w))
{
  mf_log_set_level(MF_LOG_ERROR);
  int before = lowest_free_fd();
  w->data = data;
  w->n = n;
  mf_sandbox_limits_default(&w->limits);
  w->limits.stdout_bytes = w->limits.stderr_bytes = OUT_MAX;
  w->other_limits = w->limits;
  CHECK(mf_loop_new(&w->loop, NULL) == MF_OK);
  CHECK(mf_timer_new(w->loop, stop, w, &w->slice, NULL) == MF_OK);
  begin(w, take_byte(w));
  for (unsigned i = 0; i < STEPS_MAX && w->n > 0; i++) {
    uint8_t op = take_byte(w);
    if (w->closed_n == 0 && !world_step(w, op))
      step(w, op);
  }
  close_at_the_end(w);
  end(w);
  mf_timer_free(w->slice);
  mf_loop_free(w->loop);
  CHECK(lowest_free_fd() == before);
}
